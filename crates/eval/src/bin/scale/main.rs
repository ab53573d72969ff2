//! Load for a running server, seeded: documents sent to it, questions put to it, and vectors
//! made up for what it holds.
//!
//! Driven by `peers/bench/scale.py`, which starts the servers and keeps the figures; each verb
//! prints one JSON object. It shares the machine with the server it measures, so it does as little
//! as it can while the clock runs.

mod door;
mod ingest;
mod search;
mod vectors;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use model::KbId;
use serde_json::Value;

/// Anything that went wrong, as a sentence.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Puts a server under load.
#[derive(Parser)]
struct Options {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Send documents until they have about so many passages, and wait until all can be found.
    Ingest {
        #[command(flatten)]
        door: Door,
        /// Passages, about.
        #[arg(long)]
        passages: usize,
        /// Documents on their way at the same time.
        #[arg(long, default_value_t = 8)]
        senders: usize,
        /// Number of the first document; the same number is the same document.
        #[arg(long, default_value_t = 0)]
        first: u64,
    },
    /// Search in a closed loop with several readers, and write beside them.
    Search {
        #[command(flatten)]
        door: Door,
        /// Documents that the base was made of.
        #[arg(long)]
        documents: u64,
        /// Searches under way at the same time.
        #[arg(long, default_value_t = 8)]
        readers: usize,
        /// Whether one writer adds documents meanwhile.
        #[arg(long)]
        writer: bool,
        /// Number of the first document that the writer adds.
        #[arg(long, default_value_t = 1 << 40)]
        first: u64,
        /// Seconds that are measured.
        #[arg(long, default_value_t = 10)]
        seconds: u64,
        /// Seconds before them that are not.
        #[arg(long, default_value_t = 2)]
        warm_up: u64,
        /// Which questions are asked.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Give every passage of a base that has none a vector made up from a few clusters, through
    /// the store, while no server runs. Prints how many passages there are.
    Vectors {
        /// The database.
        #[arg(long)]
        database: String,
        /// The base.
        #[arg(long)]
        base: KbId,
        /// Folder of the installed embedding model, whose tag and width the vectors get; without
        /// it passages are counted only.
        #[arg(long)]
        models: Option<PathBuf>,
    },
}

/// The server, and a base in it.
#[derive(Args, Clone)]
struct Door {
    /// Its address.
    #[arg(long)]
    server: String,
    /// A token that may write.
    #[arg(long)]
    token: String,
    /// The base.
    #[arg(long)]
    base: KbId,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Options::parse().verb).await {
        Ok(answer) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("could not put the server under load: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(verb: Verb) -> Result<Value, Failure> {
    match verb {
        Verb::Ingest {
            door,
            passages,
            senders,
            first,
        } => ingest::run(&door, passages, senders, first).await,
        Verb::Search {
            door,
            documents,
            readers,
            writer,
            first,
            seconds,
            warm_up,
            seed,
        } => {
            let load = search::Load {
                documents,
                readers,
                writer: writer.then_some(first),
                warm_up: Duration::from_secs(warm_up),
                measured: Duration::from_secs(seconds),
                seed,
            };
            search::run(&door, &load).await
        }
        Verb::Vectors {
            database,
            base,
            models,
        } => vectors::run(&database, base, models.as_deref()).await,
    }
}
