//! How well search finds, measured on whatever judged sets lie in a folder.
//!
//! Not part of the product: `make eval` runs it and keeps the table in `docs/quality.md`. Each
//! set goes through the product's own passages, analyser, index and ranking. Sets are read as
//! found, by format, never by name; what a constant was tuned on and what is reported are
//! different halves of a set.

mod base;
mod cranfield;
mod embed;
mod locomo;
mod measure;
mod report;
mod xquad;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use embed::Vectors;
use report::Report;

/// Measures search on judged sets.
#[derive(Parser)]
struct Options {
    /// Folder with `xquad`, `locomo` and `cranfield`; sets that are not there are passed over.
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
    /// Measure these sets only.
    #[arg(long)]
    only: Vec<String>,
    /// Try other weights: `neighbour=0.2,parent=0.3,cosine=1.0`.
    #[arg(long, default_value = "")]
    weights: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let Some(corpora) = &options.corpora else {
        println!("nothing measured: QUIPU_CORPORA names no folder of judged sets");
        return ExitCode::SUCCESS;
    };
    match run(&options, corpora).await {
        Ok(report) => {
            print!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("could not measure: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Anything that went wrong, as a sentence.
type Failure = Box<dyn std::error::Error>;

async fn run(options: &Options, corpora: &std::path::Path) -> Result<Report, Failure> {
    let mut vectors = Vectors::open(options.models.as_deref(), &options.vectors)?;
    let weights = measure::weights(&options.weights)?;
    let mut report = Report::default();
    let wanted = |set: &str| options.only.is_empty() || options.only.iter().any(|only| only == set);
    if wanted("xquad") {
        xquad::measure(&corpora.join("xquad"), &mut vectors, weights, &mut report).await?;
    }
    if wanted("locomo") {
        locomo::measure(&corpora.join("locomo"), &mut vectors, weights, &mut report).await?;
    }
    if wanted("cranfield") {
        cranfield::measure(
            &corpora.join("cranfield"),
            &mut vectors,
            weights,
            &mut report,
        )
        .await?;
    }
    vectors.close()?;
    report.write(&options.out)?;
    Ok(report)
}
