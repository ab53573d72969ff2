//! `quipu backup`: a file with everything as of one moment, kept only if it is whole.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command};
use engine::backup::{self, Checked, Progress};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kernel::Registry;
use serde_json::{Value, json};

use super::house::{Ask, House, Needs};
use super::received::{self, Destination};
use super::{Failure, output};

/// The verb.
pub fn command() -> Command {
    Command::new("backup")
        .about("Save everything as of one moment into one file, while the server runs")
        .long_about(
            "Save everything as of one moment into one file, while the server runs.\n\n\
             The file is a tar archive with every row, the bytes of every document and a manifest. \
             It is written under another name, checked against its manifest, flushed to disk, and \
             only then gets its name. `quipu restore` puts it back, into SQLite or PostgreSQL.\n\n\
             With --server and the token of a system admin the backup of another server comes over \
             the network.",
        )
        .arg(
            Arg::new("dest")
                .value_name("DEST")
                .required(true)
                .index(1)
                .help("The file to write; a folder, for a file named by the time; `-` for standard output"),
        )
}

/// Runs the verb.
pub async fn run(registry: Registry, matches: &ArgMatches) -> Result<(), Failure> {
    let word = matches.get_one::<String>("dest").expect("clap requires it");
    let destination = Destination::of(word)?;
    let house = House::open(registry, matches, Needs::Deployment).await?;
    let received = receive(&house, &destination, matches.get_flag("json")).await;
    house.close().await;
    let received = received?;
    received.print(matches.get_flag("json"));
    received.lost()
}

/// A backup that is safe.
struct Received {
    /// Where it is; none if it went to standard output.
    path: Option<PathBuf>,
    bytes: u64,
    checked: Checked,
}

async fn receive(
    house: &House,
    destination: &Destination,
    as_json: bool,
) -> Result<Received, Failure> {
    let bar = bar(as_json);
    let shown = bar.clone();
    let arrived = received::receive(
        house,
        Ask::post("/backup", &json!({})),
        destination,
        move |arriving| backup::check(arriving, |progress| show(&shown, progress)),
    );
    let arrived = arrived.await;
    bar.finish_and_clear();
    let arrived = arrived?;
    let bytes = arrived.bytes;
    let (path, checked) = arrived.keep(destination, |checked: &Checked| {
        let moment = checked.manifest.made_at.to_string().replace(':', "-");
        format!("quipu-{moment}.tar")
    })?;
    Ok(Received {
        path,
        bytes,
        checked,
    })
}

/// A bar that first counts rows and then bytes of documents.
pub fn bar(quiet: bool) -> ProgressBar {
    let target = if quiet || !io::stderr().is_terminal() {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    ProgressBar::with_draw_target(None, target)
}

/// Shows how far it is.
pub fn show(bar: &ProgressBar, progress: Progress) {
    let Some(about) = progress.about else { return };
    let (template, length, position) = if progress.rows < about.rows {
        (
            "{bar:30} {human_pos}/{human_len} rows, {elapsed}",
            about.rows,
            progress.rows,
        )
    } else {
        (
            "{bar:30} {binary_bytes}/{binary_total_bytes} of documents, {elapsed}",
            about.blob_bytes,
            progress.blob_bytes,
        )
    };
    if bar.length() != Some(length) {
        bar.set_length(length);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
    }
    bar.set_position(position);
}

impl Received {
    fn print(&self, as_json: bool) {
        let path = self.path.as_ref().map(|path| path.display().to_string());
        if as_json {
            let mut answer = about(&self.checked);
            answer["path"] = json!(path);
            answer["bytes"] = json!(self.bytes);
            // Where the backup itself goes to standard output, what is said of it does not.
            match &path {
                Some(_) => output::print(&answer.to_string()),
                None => eprintln!("{answer}"),
            }
            return;
        }
        let size = indicatif::BinaryBytes(self.bytes);
        match path {
            Some(path) => output::print(&format!("{path}  {size}\n{}", sentence(&self.checked))),
            None => eprintln!("{size}\n{}", sentence(&self.checked)),
        }
    }

    /// A failure if the backup is whole but what it was made of was not.
    fn lost(&self) -> Result<(), Failure> {
        let manifest = &self.checked.manifest;
        let lost: Vec<&String> = manifest.missing.iter().chain(&manifest.damaged).collect();
        match lost.first() {
            None => Ok(()),
            Some(first) => Err(Failure::local(format!(
                "the backup is kept, but {} of the documents' files were missing or damaged \
                 already, such as `{first}`; `quipu verify` names them",
                lost.len()
            ))),
        }
    }
}

/// What a backup holds, for programs.
pub fn about(checked: &Checked) -> Value {
    let manifest = &checked.manifest;
    json!({
        "made_at": manifest.made_at,
        "product_version": manifest.product_version,
        "engine": manifest.engine,
        "schema": manifest.schema.last().map(|step| step.number),
        "heads": manifest.heads,
        "tables": manifest.tables,
        "blobs": manifest.blobs,
        "missing": manifest.missing,
        "damaged": manifest.damaged,
    })
}

/// What a backup holds, for people.
pub fn sentence(checked: &Checked) -> String {
    let manifest = &checked.manifest;
    let rows: u64 = manifest.tables.values().sum();
    format!(
        "made {} by quipu {} on {}: {rows} rows of {} bases, {} files of documents ({})",
        manifest.made_at,
        manifest.product_version,
        manifest.engine,
        manifest.heads.len(),
        manifest.blobs.count,
        indicatif::BinaryBytes(manifest.blobs.bytes)
    )
}
