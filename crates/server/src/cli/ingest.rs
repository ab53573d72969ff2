//! `quipu ingest`: a file or a folder into a base, and waiting until it can be searched.

use std::collections::VecDeque;
use std::fmt::Write;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::{Arg, ArgAction, ArgMatches, Command};
use formats::document::Format;
use futures::{StreamExt, stream};
use http::Method;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use kernel::Registry;
use model::KbId;
use serde_json::{Value, json};

use super::house::{Ask, House, Needs, encoded};
use super::pause::Pause;
use super::watch::is_passed_over;
use super::{Failure, output, watch};

/// The verb.
pub fn command() -> Command {
    Command::new("ingest")
        .about("Put a file, or every document of a folder, into a base and wait until it is ready")
        .long_about(
            "Put a file, or every document of a folder, into a base and wait until it is ready.\n\n\
             A document's key is its path below the folder: the same folder again updates what \
             changed and leaves the rest alone. Hidden files, and those that editors \
             and browsers leave half written, are passed over; links, and files that are no documents, are skipped and named.\n\n\
             With --watch the folder becomes a source and is followed: files that change are sent \
             again, one that moves stays the same document, and one that is gone is marked missing \
             and comes back with its file. What changed while nobody watched is found at the next \
             start.",
        )
        .arg(
            Arg::new("path")
                .value_name("PATH")
                .required(true)
                .index(1)
                .help("The file or folder"),
        )
        .arg(
            Arg::new("base")
                .long("base")
                .value_name("BASE")
                .help("The base: its name, slug or id; the only one there is if absent"),
        )
        .arg(
            Arg::new("least-role")
                .long("least-role")
                .value_name("ROLE")
                .value_parser(["viewer", "editor", "admin", "owner"])
                .help("Least role that sees these documents [default: viewer]"),
        )
        .args(source_args())
}

/// The flags about a folder as a source.
fn source_args() -> Vec<Arg> {
    let of_source = |name: &'static str| Arg::new(name).long(name).help_heading("Source");
    let seconds = |arg: Arg| arg.value_name("SECONDS").value_parser(seconds_above_zero);
    vec![
        of_source("watch")
            .action(ArgAction::SetTrue)
            .help("Go on after that: take in what changes, until Ctrl-C"),
        of_source("source")
            .value_name("NAME")
            .help("The folder is this source of the base, which is made if it is not there: what moved stays one document, and what is gone is marked missing [default with --watch: the folder's path]"),
        seconds(of_source("poll").requires("watch"))
            .num_args(0..=1)
            .default_missing_value("5")
            .help("Look at the folder every so often instead of being told by the system, which does not know of other machines' changes [default: 5]"),
        seconds(of_source("settle"))
            .help("How long a file must be left alone before it is taken in [default: 1]"),
        of_source("allow-empty")
            .action(ArgAction::SetTrue)
            .help("Mark documents missing even if nothing of the source is in the folder any more"),
    ]
}

fn seconds_above_zero(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.05..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("it must be a number of seconds from 0.05 to 86400".to_owned()),
    }
}

/// Documents on their way at the same time.
const AT_ONCE: usize = 8;
/// Documents asked after in one round.
const ASKED_AT_ONCE: usize = 16;
/// How often a line tells how far it is, where no bar can.
const TOLD_EVERY: Duration = Duration::from_secs(10);
/// Bytes of a file that tell what it is.
const HEAD_BYTES: usize = 8192;

/// The exit code of a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;
/// What that leaves behind.
const STOPPED: &str = "stopped; what was sent is kept and the server goes on reading it, the same command again sends the rest";

/// What became of the files.
#[derive(Default)]
struct Tally {
    created: usize,
    updated: usize,
    unchanged: usize,
    skipped: Vec<(String, String)>,
    failed: Vec<(String, String)>,
}

/// Runs the verb.
pub async fn run(registry: Registry, matches: &ArgMatches) -> Result<(), Failure> {
    let path = PathBuf::from(matches.get_one::<String>("path").expect("clap requires it"));
    if matches.get_flag("watch") || matches.contains_id("source") {
        return watch::run(registry, &path, matches).await;
    }
    let found = files_below(&path)?;
    let house = House::open(registry, matches, Needs::Deployment).await?;
    let outcome = tokio::select! {
        outcome = ingest(&house, &path, found, matches) => Some(outcome),
        _ = tokio::signal::ctrl_c() => None,
    };
    house.close().await;
    let Some(outcome) = outcome else {
        return Err(Failure::with_exit(INTERRUPTED, STOPPED));
    };
    let (tally, seconds) = outcome?;
    tally.print(seconds, matches.get_flag("json"));
    let taken = tally.created + tally.updated + tally.unchanged;
    match (tally.failed.len(), tally.skipped.len()) {
        (0, 1..) if taken == 0 => Err(Failure::wrong("there was no document among the files")),
        (0, _) => Ok(()),
        (failed, _) => Err(Failure::local(format!("{failed} of the files failed"))),
    }
}

/// Files below a path in the order of their names; hidden ones are passed over.
fn files_below(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |path: &Path, error: std::io::Error| {
        Failure::wrong(format!("cannot read {}: {error}", path.display()))
    };
    let about = std::fs::metadata(path).map_err(|error| unreadable(path, error))?;
    if !about.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| unreadable(&folder, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&folder, error))?;
            if is_passed_over(&entry.file_name().to_string_lossy()) {
                continue;
            }
            let kind = entry
                .file_type()
                .map_err(|error| unreadable(&entry.path(), error))?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

async fn ingest(
    house: &House,
    root: &Path,
    files: Vec<PathBuf>,
    matches: &ArgMatches,
) -> Result<(Tally, f64), Failure> {
    let kb = house
        .base(matches.get_one::<String>("base").map(String::as_str))
        .await?;
    let least_role = matches.get_one::<String>("least-role").map(String::as_str);
    let begun = Instant::now();
    let mut progress = Progress::new(files.len(), matches.get_flag("json"));
    let mut tally = Tally::default();
    let mut waiting = VecDeque::new();
    let mut sent = stream::iter(files)
        .map(|file| async move {
            let key = key_of(root, &file);
            let outcome = send(house, kb, &file, &key, least_role).await;
            (key, outcome)
        })
        .buffered(AT_ONCE);
    while let Some((key, outcome)) = sent.next().await {
        match outcome? {
            Sent::Accepted { id, action } => {
                match action.as_str() {
                    "created" => tally.created += 1,
                    "updated" => tally.updated += 1,
                    _ => tally.unchanged += 1,
                }
                waiting.push_back((key, id));
                progress.tell("sent", waiting.len());
            }
            Sent::Skipped(why) => {
                progress.skip(&format!("skipped {key}: {why}"));
                tally.skipped.push((key, why));
            }
        }
    }
    await_ready(house, kb, waiting, &mut progress, &mut tally).await?;
    progress.bar.finish_and_clear();
    Ok((tally, begun.elapsed().as_secs_f64()))
}

/// How far it is, for who waits: a bar on a terminal, else a line now and then.
struct Progress {
    bar: ProgressBar,
    lines: bool,
    told: Instant,
}

impl Progress {
    fn new(files: usize, as_json: bool) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let target = if as_json || !is_terminal {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(Some(files as u64), target);
        let style =
            ProgressStyle::with_template("{bar:30} {pos}/{len} documents ready, {rate}, {elapsed}");
        let rate = |state: &ProgressState, out: &mut dyn Write| {
            // A line that cannot be drawn is drawn again.
            let _ = write!(out, "{:.1}/s", state.per_sec());
        };
        bar.set_style(
            style
                .unwrap_or_else(|_| ProgressStyle::default_bar())
                .with_key("rate", rate),
        );
        Self {
            bar,
            lines: !as_json && !is_terminal,
            told: Instant::now(),
        }
    }

    /// A file that will be no document.
    fn skip(&self, sentence: &str) {
        self.say(sentence);
        self.bar.dec_length(1);
    }

    fn say(&self, sentence: &str) {
        if self.lines {
            output::note(sentence);
        } else {
            self.bar.println(sentence);
        }
    }

    /// A line with a count, unless the last one is fresh.
    fn tell(&mut self, word: &str, count: usize) {
        if self.lines && TOLD_EVERY <= self.told.elapsed() {
            self.told = Instant::now();
            let of = self.bar.length().unwrap_or_default();
            output::note(&format!("{count} of {of} documents {word}"));
        }
    }
}

/// The path below the folder, with slashes: the document's key and name.
fn key_of(root: &Path, file: &Path) -> String {
    let below = file
        .strip_prefix(root)
        .ok()
        .filter(|below| !below.as_os_str().is_empty());
    let name = below.unwrap_or_else(|| file.file_name().map_or(file, Path::new));
    let words: Vec<_> = name
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    words.join("/")
}

enum Sent {
    Accepted { id: String, action: String },
    Skipped(String),
}

async fn send(
    house: &House,
    kb: KbId,
    file: &Path,
    key: &str,
    least_role: Option<&str>,
) -> Result<Sent, Failure> {
    let bytes = match read(file, key) {
        Ok(bytes) => bytes,
        Err(why) => return Ok(Sent::Skipped(why)),
    };
    let mut path = format!(
        "/kbs/{kb}/documents?filename={0}&external_id={0}",
        encoded(key)
    );
    if let Some(role) = least_role {
        path.push_str(&format!("&least_role={role}"));
    }
    let body = Some((bytes, "application/octet-stream"));
    let (status, answer) = house
        .send(Ask {
            method: Method::POST,
            path,
            body,
            text: false,
        })
        .await?;
    let answer: Value = serde_json::from_slice(&answer)
        .map_err(|_| Failure::local(format!("the server answered {status} without JSON")))?;
    if status.is_success() {
        let word = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        return Ok(Sent::Accepted {
            id: word("document_id"),
            action: word("action"),
        });
    }
    match answer["code"].as_str() {
        Some("too_large" | "unreadable" | "invalid_argument") => Ok(Sent::Skipped(
            answer["error"].as_str().unwrap_or_default().to_owned(),
        )),
        _ => Err(Failure::refused(answer)),
    }
}

/// The file's bytes, if it is a document by its first bytes and its name.
fn read(file: &Path, key: &str) -> Result<Bytes, String> {
    let failed = |error: std::io::Error| format!("cannot be read: {error}");
    // A link leads wherever whoever made it wanted, out of the folder too.
    let about = std::fs::symlink_metadata(file).map_err(failed)?;
    if about.is_symlink() {
        return Err("it is a link, and links are not followed".to_owned());
    }
    if !about.is_file() {
        return Err("it is no file".to_owned());
    }
    if file.to_str().is_none() {
        return Err("its name is no UTF-8 text".to_owned());
    }
    let mut open = std::fs::File::open(file).map_err(failed)?;
    let mut bytes = Vec::new();
    Read::by_ref(&mut open)
        .take(HEAD_BYTES as u64)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.is_empty() {
        return Err("it is empty".to_owned());
    }
    Format::detect(key, &bytes).map_err(|refusal| refusal.to_string())?;
    open.read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes.into())
}

/// Asks after the documents until each is ready or has failed, in rounds that end with the first
/// that is neither.
async fn await_ready(
    house: &House,
    kb: KbId,
    mut waiting: VecDeque<(String, String)>,
    progress: &mut Progress,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let mut pause = Pause::new();
    while !waiting.is_empty() {
        let before = waiting.len();
        for _ in 0..before.min(ASKED_AT_ONCE) {
            let Some((key, id)) = waiting.pop_front() else {
                break;
            };
            let document = house
                .json(Ask::get(format!("/kbs/{kb}/documents/{id}")))
                .await?;
            match document["state"].as_str() {
                Some("ready") => progress.bar.inc(1),
                Some("failed") => {
                    let why = document["failure"]
                        .as_str()
                        .unwrap_or("no reason given")
                        .to_owned();
                    progress.say(&format!("failed {key}: {why}"));
                    progress.bar.inc(1);
                    tally.failed.push((key, why));
                }
                _ => {
                    waiting.push_back((key, id));
                    break;
                }
            }
        }
        progress.tell("ready", progress.bar.position() as usize);
        if waiting.len() < before {
            pause.reset();
        } else {
            pause.wait().await;
        }
    }
    Ok(())
}

impl Tally {
    fn print(&self, seconds: f64, as_json: bool) {
        let ready = self.created + self.updated + self.unchanged - self.failed.len();
        if as_json {
            let named = |list: &[(String, String)]| -> Vec<Value> {
                list.iter()
                    .map(|(file, reason)| json!({ "file": file, "reason": reason }))
                    .collect()
            };
            let answer = json!({
                "created": self.created,
                "updated": self.updated,
                "unchanged": self.unchanged,
                "ready": ready,
                "skipped": named(&self.skipped),
                "failed": named(&self.failed),
                "seconds": seconds,
            });
            output::print(&answer.to_string());
            return;
        }
        let rate = ready as f64 / seconds.max(0.001);
        output::print(&format!(
            "{ready} documents ready in {seconds:.1} s ({rate:.1}/s): {} new, {} changed, {} as before",
            self.created, self.updated, self.unchanged
        ));
        for (word, list) in [("skipped", &self.skipped), ("failed", &self.failed)] {
            for (file, reason) in list {
                output::print(&format!("{word} {file}: {reason}"));
            }
        }
    }
}
