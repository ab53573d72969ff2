//! How fast passages become vectors: one run over a list of texts for each line of input.
//!
//! `peers/bench/embed.py` starts it beside another runtime over the same model, and asks both in
//! turn. The texts go through the product's embedder in the product's batches.

use std::io::{BufRead, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use providers::Embedder;

/// Embeds a list of texts again and again.
#[derive(Parser)]
struct Options {
    /// Folder of the installed embedding model.
    #[arg(long)]
    models: PathBuf,
    /// A JSON list of texts.
    #[arg(long)]
    texts: PathBuf,
    /// Passages at once; as many as there are processors if absent.
    #[arg(long)]
    at_once: Option<NonZeroUsize>,
    /// Passages handed over at a time, as when documents are embedded.
    #[arg(long, default_value_t = 32)]
    batch: usize,
}

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("could not measure: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: &Options) -> Result<(), Failure> {
    let embedder = match options.at_once {
        Some(at_once) => Embedder::load_with(&options.models, at_once)?,
        None => Embedder::load(&options.models)?,
    };
    let embedder = embedder.ok_or("the folder holds no model")?;
    let texts: Vec<String> = serde_json::from_slice(&std::fs::read(&options.texts)?)?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut out = std::io::stdout();
    // The first vector, for the other side to compare; it also reads the model.
    let first = embedder.embed_passages(&texts[..1]).await?;
    writeln!(out, "{}", serde_json::to_string(&first[0])?)?;
    out.flush()?;
    for line in std::io::stdin().lock().lines() {
        line?;
        let began = Instant::now();
        for batch in texts.chunks(options.batch) {
            embedder.embed_passages(batch).await?;
        }
        writeln!(out, "{}", began.elapsed().as_secs_f64())?;
        out.flush()?;
    }
    Ok(())
}
