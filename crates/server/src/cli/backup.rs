//! `quipu backup`: a file with everything as of one moment, kept only if it is whole.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use clap::{Arg, ArgMatches, Command};
use engine::backup::{self, Checked, Progress};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kernel::Registry;
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::sync::mpsc::{self, Receiver};

use super::house::{Ask, House, Needs};
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

/// Where a backup goes.
enum Destination {
    File(PathBuf),
    Folder(PathBuf),
    Output,
}

impl Destination {
    /// Refuses what would be overwritten or cannot be written.
    fn of(word: &str) -> Result<Self, Failure> {
        if word == "-" {
            return Ok(Self::Output);
        }
        let path = PathBuf::from(word);
        if path.is_dir() {
            return Ok(Self::Folder(path));
        }
        if path.exists() {
            return Err(Failure::wrong(format!(
                "{word} is there already, and no backup is written over; take another name"
            )));
        }
        let folder = folder_of(&path);
        if folder.is_dir() {
            return Ok(Self::File(path));
        }
        Err(Failure::wrong(format!(
            "{} is no folder, so {word} cannot be written",
            folder.display()
        )))
    }

    fn folder(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(folder_of(path)),
            Self::Folder(path) => Some(path),
            Self::Output => None,
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
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
    let partial = match destination.folder() {
        Some(folder) => Some(partial_in(folder).map_err(|error| cannot_write(folder, &error))?),
        None => None,
    };
    let mut arriving = house.flow(Ask::post("/backup", &json!({}))).await?;
    let out: Box<dyn Write + Send> = match &partial {
        Some(partial) => {
            let file = partial.as_file().try_clone();
            Box::new(file.map_err(|error| cannot_write(partial.path(), &error))?)
        }
        None => Box::new(io::stdout()),
    };
    let (parts, taken) = mpsc::channel(8);
    let bar = bar(as_json);
    let shown = bar.clone();
    let taking =
        tokio::task::spawn_blocking(move || take(taken, out, |progress| show(&shown, progress)));
    let arrived = async {
        while let Some(part) = arriving.next().await? {
            // Whoever takes it has failed, and says why below.
            if parts.send(part).await.is_err() {
                break;
            }
        }
        Ok(())
    };
    let arrived: Result<(), Failure> = arrived.await;
    drop(parts);
    let taken = taking
        .await
        .map_err(|error| Failure::local(error.to_string()))?;
    bar.finish_and_clear();
    arrived?;
    let place = destination.folder().unwrap_or(Path::new("standard output"));
    let (checked, bytes) = match taken {
        Ok(taken) => taken,
        Err(NotTaken::Written(error)) => return Err(cannot_write(place, &error)),
        Err(NotTaken::Unsound(error)) => {
            return Err(Failure::local(format!("the backup is not whole: {error}")));
        }
    };
    let path = match (partial, destination) {
        (Some(partial), Destination::File(path)) => Some(keep(partial, path)?),
        (Some(partial), Destination::Folder(folder)) => {
            let moment = checked.manifest.made_at.to_string().replace(':', "-");
            Some(keep(partial, &folder.join(format!("quipu-{moment}.tar")))?)
        }
        _ => None,
    };
    Ok(Received {
        path,
        bytes,
        checked,
    })
}

fn partial_in(folder: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".quipu-backup-")
        .suffix(".partial")
        .tempfile_in(folder)
}

/// Gives the file its name once it is on disk.
fn keep(partial: NamedTempFile, path: &Path) -> Result<PathBuf, Failure> {
    let keep = || -> io::Result<()> {
        partial.as_file().sync_all()?;
        partial
            .persist_noclobber(path)
            .map_err(|error| error.error)?;
        File::open(folder_of(path))?.sync_all()
    };
    keep().map_err(|error| cannot_write(path, &error))?;
    Ok(path.to_owned())
}

fn cannot_write(place: &Path, error: &io::Error) -> Failure {
    let place = place.display();
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Failure::full(format!(
            "the disk of {place} is full; nothing of the backup was kept"
        )),
        io::ErrorKind::AlreadyExists => Failure::wrong(format!(
            "{place} is there by now, and no backup is written over; take another name"
        )),
        _ => Failure::local(format!("cannot write to {place}: {error}")),
    }
}

/// Why a backup was not taken.
enum NotTaken {
    Written(io::Error),
    Unsound(backup::BackupError),
}

/// The parts of a backup as a reader, each written out when it is reached.
struct Taking<'a> {
    parts: Receiver<Bytes>,
    part: Bytes,
    out: &'a mut (dyn Write + Send),
    bytes: u64,
    failed: Option<io::Error>,
}

impl Read for Taking<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.part.is_empty() {
            let Some(part) = self.parts.blocking_recv() else {
                return Ok(0);
            };
            if let Err(error) = self.out.write_all(&part) {
                self.failed = Some(error);
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            self.bytes += part.len() as u64;
            self.part = part;
        }
        let count = buffer.len().min(self.part.len());
        buffer[..count].copy_from_slice(&self.part.split_to(count));
        Ok(count)
    }
}

/// Writes what arrives and checks it on the way; the answer and how many bytes it was.
fn take(
    parts: Receiver<Bytes>,
    mut out: Box<dyn Write + Send>,
    told: impl FnMut(Progress),
) -> Result<(Checked, u64), NotTaken> {
    let mut taking = Taking {
        parts,
        part: Bytes::new(),
        out: &mut *out,
        bytes: 0,
        failed: None,
    };
    let checked = backup::check(&mut taking, told);
    // The reader of the archive stops at its end mark; what fills it up comes after that.
    let rest = checked
        .is_ok()
        .then(|| io::copy(&mut taking, &mut io::sink()));
    let bytes = taking.bytes;
    if let Some(error) = taking.failed {
        return Err(NotTaken::Written(error));
    }
    if let Some(Err(error)) = rest {
        return Err(NotTaken::Written(error));
    }
    let checked = checked.map_err(NotTaken::Unsound)?;
    out.flush().map_err(NotTaken::Written)?;
    Ok((checked, bytes))
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
