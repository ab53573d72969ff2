//! `quipu verify`: whether a backup is whole, or whether a deployment is sound.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command};
use engine::backup::{self, Checked};
use kernel::Registry;
use serde_json::{Value, json};

use super::house::{Ask, House, Needs};
use super::{Failure, backup as shown, output, told};

/// The verb.
pub fn command() -> Command {
    Command::new("verify")
        .about("Check a backup against its manifest, or everything that must hold in a deployment")
        .long_about(
            "Check a backup against its manifest, or everything that must hold in a deployment.\n\n\
             With SOURCE every byte of that backup is read and nothing else is touched. Without, \
             the deployment is checked while it serves: rows among one another, the documents' \
             files, the activity log, the search caches and the queue. Each finding says what is \
             wrong, where, and how to mend it; with one, the exit code is 1.",
        )
        .arg(
            Arg::new("source")
                .value_name("SOURCE")
                .index(1)
                .help("The backup; the deployment if absent"),
        )
        .arg(
            Arg::new("sizes-only")
                .long("sizes-only")
                .action(ArgAction::SetTrue)
                .help("Do not read the documents' files, only look at their sizes"),
        )
}

/// Runs the verb.
pub async fn run(registry: Registry, matches: &ArgMatches) -> Result<(), Failure> {
    let as_json = matches.get_flag("json");
    let Some(source) = matches.get_one::<String>("source") else {
        return deployment(registry, matches, as_json).await;
    };
    let checked = check(PathBuf::from(source), as_json).await?;
    if as_json {
        output::print(&shown::about(&checked).to_string());
    } else {
        output::print(&format!("{source} is whole\n{}", shown::sentence(&checked)));
    }
    let manifest = &checked.manifest;
    match manifest.missing.len() + manifest.damaged.len() {
        0 => Ok(()),
        count => Err(Failure::local(format!(
            "{count} of the documents' files were missing or damaged when it was made: {}",
            [manifest.missing.as_slice(), &manifest.damaged]
                .concat()
                .join(", ")
        ))),
    }
}

/// Reads a backup from its first byte to its last.
pub async fn check(source: PathBuf, as_json: bool) -> Result<Checked, Failure> {
    let named = source.display().to_string();
    let bar = shown::bar(as_json);
    let moving = bar.clone();
    let checking = tokio::task::spawn_blocking(move || {
        let file = File::open(&source).map_err(|source| backup::BackupError::Io {
            what: "open it".to_owned(),
            source,
        })?;
        backup::check(BufReader::new(file), |progress| {
            shown::show(&moving, progress);
        })
    });
    let checked = checking.await;
    bar.finish_and_clear();
    checked
        .map_err(|error| Failure::local(error.to_string()))?
        .map_err(|error| Failure::wrong(format!("{named}: {error}")))
}

async fn deployment(
    registry: Registry,
    matches: &ArgMatches,
    as_json: bool,
) -> Result<(), Failure> {
    let house = House::open(registry, matches, Needs::Deployment).await?;
    let looked = look(&house, matches.get_flag("sizes-only"), as_json).await;
    house.close().await;
    let (findings, done) = looked?;
    if as_json {
        output::print(&json!({ "findings": findings, "looked_at": done }).to_string());
    } else {
        let number = |name: &str| done[name].as_u64().unwrap_or_default();
        output::print(&format!(
            "looked at {} bases, {} files of documents ({}), {} sealed lines of the activity log: {}",
            number("bases"),
            number("files"),
            indicatif::BinaryBytes(number("bytes")),
            number("sealed"),
            if findings.is_empty() {
                "everything is as it should be"
            } else {
                "not everything is as it should be"
            }
        ));
    }
    match findings.len() {
        0 => Ok(()),
        count => Err(Failure::local(format!("{count} findings"))),
    }
}

async fn look(
    house: &House,
    sizes_only: bool,
    as_json: bool,
) -> Result<(Vec<Value>, Value), Failure> {
    let path = if sizes_only {
        "/verify?sizes_only=true"
    } else {
        "/verify"
    };
    let arriving = house.flow(Ask::get(path)).await?;
    let mut findings = Vec::new();
    let done = told::read(arriving, as_json, |line, bar| {
        let Some(finding) = line.get("finding") else {
            return;
        };
        findings.push(finding.clone());
        if !as_json {
            let word = |name: &str| finding[name].as_str().unwrap_or_default();
            bar.suspend(|| {
                output::print(&format!(
                    "WRONG  {}\n       where: {}\n       mend: {}",
                    word("what"),
                    word("place"),
                    word("mend")
                ));
            });
        }
    });
    let done = done.await?;
    Ok((findings, done))
}
