//! How well search finds, measured on whatever judged sets lie in a folder.
//!
//! Not part of the product: `make eval` runs it and keeps the table in `docs/quality.md`. Each
//! set goes through the product's own passages, analyser, index and ranking. Sets are read as
//! found, by format, never by name; what a constant was tuned on and what is reported are
//! different parts of a set.

mod base;
mod embed;
mod measure;
mod report;
mod sets;
mod tally;
mod tune;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use base::Base;
use embed::Vectors;
use report::Report;
use sets::Part;
use tally::Tally;

/// Measures search on judged sets.
#[derive(Parser)]
struct Options {
    /// Folder with judged sets, in it or below.
    #[arg(long, env = "QUIPU_CORPORA")]
    corpora: Option<PathBuf>,
    /// Folder of the installed embedding model; without it only words are measured.
    #[arg(long, env = "QUIPU_MODELS")]
    models: Option<PathBuf>,
    /// Where the figures go, one JSON object a line.
    #[arg(long, default_value = "target/eval.jsonl")]
    out: PathBuf,
    /// Where vectors are kept between runs.
    #[arg(long, default_value = "target/eval-vectors")]
    vectors: PathBuf,
    /// Measure only the sets in folders whose name has this in it.
    #[arg(long)]
    only: Vec<String>,
    /// Try other weights: `neighbour=0.2,parent=0.3,cosine=1.0`.
    #[arg(long, default_value = "")]
    weights: String,
    /// Find the weights that are best on the parts of the sets that are for tuning, and print them.
    #[arg(long)]
    tune: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let Some(corpora) = &options.corpora else {
        println!("nothing measured: QUIPU_CORPORA names no folder of judged sets");
        return ExitCode::SUCCESS;
    };
    match run(&options, corpora).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("could not measure: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Anything that went wrong, as a sentence.
type Failure = Box<dyn std::error::Error>;

async fn run(options: &Options, corpora: &Path) -> Result<(), Failure> {
    let mut vectors = Vectors::open(options.models.as_deref(), &options.vectors)?;
    let weights = measure::weights(&options.weights)?;
    let sets = sets::read(corpora, &options.only)?;
    if options.tune {
        let best = tune::best(&sets, &mut vectors, weights).await?;
        vectors.close()?;
        println!("{best:?}");
        return Ok(());
    }
    let mut tally = Tally::default();
    for set in &sets {
        let base = Base::new(&set.documents, &mut vectors).await?;
        tally
            .ask((set, &base), &Part::ALL, &mut vectors, weights)
            .await?;
        // After each set: what was embedded is not lost if the run is stopped.
        vectors.close()?;
    }
    let mut report = Report::default();
    tally.report(&mut report);
    report.write(&options.out)?;
    print!("{report}");
    Ok(())
}
