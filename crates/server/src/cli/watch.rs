//! `quipu ingest PATH --watch`: a folder as a source, followed.
//!
//! What is said is always found by comparing: what the base has of the source against what lies
//! in the folder. What the system tells of changes only says where to look, so nothing hangs on
//! hearing all of it, and what happened while nobody watched is found like anything else.

mod compare;
mod events;
mod folder;
mod quiet;
mod report;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::ArgMatches;
use formats::document::Format;
use futures::{StreamExt, stream};
use http::Method;
use kernel::{Clock, Registry};
use model::KbId;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use self::compare::{Memory, Sent, Verdict};
use self::events::{Events, Told};
pub use self::folder::is_passed_over;
use self::folder::{Folder, Identity, Stamp, Unread, is_below};
use self::quiet::Quiet;
use self::report::Report;
use super::house::{Ask, House, Needs, encoded};
use super::pause::Pause;
use super::{Failure, output};

/// What the command line says about following.
struct Options {
    /// Look at intervals instead of being told.
    poll: Option<Duration>,
    /// How long something must be at rest before it is taken.
    rest: Duration,
    /// Whether an empty folder is meant.
    allow_empty: bool,
    /// Whether to end when all is said.
    once: bool,
}

/// Files on their way at the same time.
const AT_ONCE: usize = 4;
/// Files read before they are sent, at most; they are in memory meanwhile.
const READ_AT_ONCE: usize = 16;
/// Bytes of those files, unless one alone has more.
const READ_BYTES: u64 = 32 * 1024 * 1024;
/// Largest file that is sent, in bytes; the server has a bound of its own.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// Items said at once to be missing.
const MISSING_AT_ONCE: usize = 200;
/// Longest pause before a server that does not answer is tried again.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// How often to look for a folder that is not there.
const LOST: Duration = Duration::from_secs(2);
/// How often to ask after documents that are being read.
const ASK: Duration = Duration::from_secs(1);
/// Documents asked after at a time.
const ASKED_AT_ONCE: usize = 16;
/// How long files that are still being written may keep back the word that the folder is watched.
const ANNOUNCE: Duration = Duration::from_secs(10);
/// Longest name of a source, in characters.
const NAME_LENGTH_MAX: usize = 200;

/// Runs the verb.
pub async fn run(registry: Registry, path: &Path, matches: &ArgMatches) -> Result<(), Failure> {
    let unreadable = |error| Failure::wrong(format!("cannot read {}: {error}", path.display()));
    let folder = Folder::at(path).map_err(unreadable)?;
    if !folder.path().is_dir() {
        let shown = path.display();
        return Err(Failure::wrong(format!(
            "{shown} is no folder; a source is one"
        )));
    }
    let seconds = |name: &str| {
        matches
            .get_one::<f64>(name)
            .copied()
            .map(Duration::from_secs_f64)
    };
    let options = Options {
        poll: seconds("poll"),
        rest: seconds("settle").unwrap_or(Duration::from_secs(1)),
        allow_empty: matches.get_flag("allow-empty"),
        once: !matches.get_flag("watch"),
    };
    let mut house = House::open(registry, matches, Needs::Deployment).await?;
    if !options.once {
        house.open_socket()?;
    }
    let outcome = match Follower::of(&house, folder, options, matches).await {
        Ok(mut follower) => follower.follow().await,
        Err(failure) => Err(failure),
    };
    house.close().await;
    outcome
}

/// Resolves when the end was asked for by SIGTERM or Ctrl-C; a second one ends the process.
fn end_asked() -> watch::Receiver<bool> {
    let (tell, told) = watch::channel(false);
    tokio::spawn(async move {
        let (Ok(mut terminate), Ok(mut interrupt)) = (
            signal(SignalKind::terminate()),
            signal(SignalKind::interrupt()),
        ) else {
            return std::future::pending().await;
        };
        for _ in 0..2 {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if tell.send_replace(true) {
                std::process::exit(130);
            }
        }
    });
    told
}

/// A file that was read and is news.
struct Ready {
    path: String,
    from: Option<String>,
    sent: Sent,
    bytes: Bytes,
}

/// What came of a look.
enum Pass {
    Done,
    /// The folder is not there.
    Lost,
    /// The end was asked for in the middle.
    CutOff,
}

struct Follower<'a> {
    house: &'a House,
    kb: KbId,
    source: String,
    folder: Folder,
    options: Options,
    report: Report,
    clock: Clock,
    end: watch::Receiver<bool>,
    /// What the base has; none until it was asked, and after it could not be reached.
    memory: Option<Memory>,
    quiet: Quiet,
    /// Files written to a moment ago, as they were then.
    young: HashMap<String, Stamp>,
    /// Files that are no documents, as they were when that was found out.
    refused: HashMap<String, Stamp>,
    identity: Option<Identity>,
    /// Whether what is not in the folder is known to be gone: not where another folder may lie.
    is_trusted: bool,
    /// Documents that are being read, with their paths.
    reading: VecDeque<(String, String)>,
}

impl<'a> Follower<'a> {
    async fn of(
        house: &'a House,
        folder: Folder,
        options: Options,
        matches: &ArgMatches,
    ) -> Result<Self, Failure> {
        let wished = matches.get_one::<String>("base").map(String::as_str);
        let kb = house.base(wished).await?;
        let place = folder.path().display().to_string();
        let name = matches.get_one::<String>("source").unwrap_or(&place);
        if NAME_LENGTH_MAX < name.chars().count() {
            let sentence = format!(
                "the folder's path is longer than {NAME_LENGTH_MAX} characters; name the source with --source"
            );
            return Err(Failure::wrong(sentence));
        }
        let least_role = matches.get_one::<String>("least-role").map(String::as_str);
        Ok(Self {
            source: source_of(house, kb, name, &place, least_role).await?,
            report: Report::new(matches.get_flag("json"), name.clone()),
            quiet: Quiet::new(options.rest),
            clock: Clock::system(),
            end: end_asked(),
            memory: None,
            young: HashMap::new(),
            refused: HashMap::new(),
            identity: None,
            is_trusted: false,
            reading: VecDeque::new(),
            house,
            kb,
            folder,
            options,
        })
    }

    fn ends(&self) -> bool {
        *self.end.borrow()
    }

    /// Follows the folder until the end is asked for, or once through it.
    async fn follow(&mut self) -> Result<(), Failure> {
        let (mut events, why) = Events::of(&self.folder, self.options.poll);
        if let Some(why) = why {
            self.report
                .warn(&format!("the system does not tell of changes ({why})"));
        }
        let mut look_at = Instant::now();
        let mut pause = Duration::ZERO;
        let begun = Instant::now();
        let mut is_announced = false;
        let mut ask_at = Instant::now();
        let outcome = loop {
            let mut wake = look_at;
            if pause.is_zero() {
                wake = self.quiet.next().map_or(wake, |next| wake.min(next));
            }
            if !self.reading.is_empty() {
                wake = wake.min(ask_at);
            }
            let mut end = self.end.clone();
            tokio::select! {
                _ = end.wait_for(|end| *end) => break Ok(()),
                told = events.next() => {
                    self.hear(told, &mut look_at);
                    continue;
                }
                () = tokio::time::sleep_until(wake.into()) => {}
            }
            let now = Instant::now();
            if ask_at <= now && !self.reading.is_empty() {
                // What cannot be asked now is asked later.
                let _ = self.ask_after().await;
                ask_at = Instant::now() + ASK;
            }
            let mut scope = if pause.is_zero() {
                self.quiet.take(now)
            } else {
                BTreeSet::new()
            };
            let is_whole = look_at <= now;
            if is_whole {
                scope.insert(String::new());
            }
            if scope.is_empty() {
                continue;
            }
            let before = self.identity;
            match self.pass(scope).await {
                Ok(Pass::CutOff) => break Ok(()),
                Ok(Pass::Lost) => look_at = Instant::now() + LOST,
                Ok(Pass::Done) => {
                    pause = Duration::ZERO;
                    self.report.looked();
                    if before.is_some() && before != self.identity {
                        // What told of the folder before tells nothing of this one.
                        events = Events::of(&self.folder, self.options.poll).0;
                        look_at = Instant::now();
                    } else if is_whole {
                        look_at = Instant::now() + events.look_every();
                    }
                    let settled = self.quiet.next().is_none() || ANNOUNCE < begun.elapsed();
                    if !is_announced && settled && !self.options.once {
                        is_announced = true;
                        let documents = self.memory.as_ref().map_or(0, Memory::len);
                        let place = self.folder.path().display().to_string();
                        self.report.watching(&place, documents, &events.how());
                    }
                    if self.options.once && self.quiet.next().is_none() {
                        break self.await_ready().await;
                    }
                }
                Err(failure) if failure.may_pass() && !self.options.once => {
                    pause = (pause * 2).clamp(Duration::from_millis(500), PAUSE_MAX);
                    self.report
                        .warn(&format!("{failure}; trying again until it works"));
                    // What it took in before that is not known.
                    self.memory = None;
                    look_at = Instant::now() + pause;
                }
                Err(failure) => break Err(failure),
            }
        };
        self.report.summary();
        outcome
    }

    fn hear(&mut self, told: Told, look_at: &mut Instant) {
        let now = Instant::now();
        match told {
            Told::Changed(path) => self.quiet.changed(&path, now),
            Told::Written(path) => self.quiet.written(&path, now),
            Told::Closed(path) => self.quiet.closed(&path, now),
            Told::Anything => *look_at = (*look_at).min(now + self.options.rest),
        }
    }

    /// Looks at some paths, and says what is news.
    async fn pass(&mut self, scope: BTreeSet<String>) -> Result<Pass, Failure> {
        let mut scope = scope;
        self.report.look();
        let identity = match self.folder.identity() {
            Ok(identity) => identity,
            Err(why) => {
                self.report.warn(&format!(
                    "{why}; nothing is marked missing, and it is waited for"
                ));
                (self.is_trusted, self.memory) = (false, None);
                return if self.options.once {
                    Err(Failure::local(why))
                } else {
                    Ok(Pass::Lost)
                };
            }
        };
        if self.identity != Some(identity) {
            (self.identity, self.is_trusted) = (Some(identity), false);
            scope.insert(String::new());
        }
        let mut memory = if let Some(memory) = self.memory.take() {
            memory
        } else {
            scope.insert(String::new());
            self.list().await?
        };
        let done = self.compare(&scope, &mut memory).await;
        self.memory = Some(memory);
        done
    }

    async fn compare(
        &mut self,
        scope: &BTreeSet<String>,
        memory: &mut Memory,
    ) -> Result<Pass, Failure> {
        let look = self.folder.look(scope);
        for (path, why) in &look.passed {
            self.report.skipped(path, why);
        }
        for (path, why) in &look.unread {
            let sentence =
                format!("the folder `{path}` cannot be read ({why}); what is in it stays");
            self.report.warn(&sentence);
        }
        let in_scope = |path: &str| scope.iter().any(|one| is_below(path, one));
        let mut vanished: BTreeSet<String> = memory
            .paths()
            .filter(|path| in_scope(path))
            .filter(|path| !look.files.contains_key(*path) && !look.is_unsure_of(path))
            .cloned()
            .collect();
        let changed = self.changed(&look.files, memory);
        for paths in portions(changed) {
            if self.ends() {
                return Ok(Pass::CutOff);
            }
            let ready = self.read(&paths, memory, &mut vanished);
            self.send(ready, memory).await?;
        }
        self.settle_vanished(scope, vanished, memory).await?;
        Ok(Pass::Done)
    }

    /// The files that are not known to be as they were, without those still being written.
    fn changed(&mut self, files: &BTreeMap<String, Stamp>, memory: &Memory) -> Vec<(String, u64)> {
        let rest = i64::try_from(self.options.rest.as_micros()).unwrap_or(i64::MAX);
        let at_rest = self.clock.now().micros().saturating_sub(rest);
        let mut changed = Vec::new();
        for (path, stamp) in files {
            if memory.knows(path, *stamp) || self.refused.get(path) == Some(stamp) {
                continue;
            }
            // One that was written a moment ago may be written to again.
            let is_young = at_rest < stamp.modified;
            if is_young && self.young.get(path) != Some(stamp) {
                self.young.insert(path.clone(), *stamp);
                self.quiet.changed(path, Instant::now());
                continue;
            }
            self.young.remove(path);
            changed.push((path.clone(), stamp.size));
        }
        changed
    }

    /// Reads files, and keeps those that are news.
    fn read(
        &mut self,
        paths: &[String],
        memory: &mut Memory,
        vanished: &mut BTreeSet<String>,
    ) -> Vec<Ready> {
        let mut ready = Vec::new();
        for path in paths {
            let (bytes, stamp) = match self.folder.read(path, FILE_BYTES_MAX) {
                Ok(read) => read,
                Err(Unread::Changed) => {
                    self.quiet.changed(path, Instant::now());
                    continue;
                }
                Err(Unread::Refused(why)) => {
                    self.report.skipped(path, &why);
                    continue;
                }
            };
            let no_document = if bytes.is_empty() {
                Some("it is empty".to_owned())
            } else {
                Format::detect(path, &bytes)
                    .err()
                    .map(|refusal| refusal.to_string())
            };
            if let Some(why) = no_document {
                self.refused.insert(path.clone(), stamp);
                self.report.skipped(path, &why);
                continue;
            }
            let sha256: String = Sha256::digest(&bytes)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            match memory.judge(path, &sha256, vanished) {
                Verdict::Same => memory.saw(path, stamp),
                Verdict::News { external_id, from } => {
                    memory.reserve(&external_id);
                    if let Some(from) = &from {
                        vanished.remove(from);
                    }
                    let sent = Sent {
                        external_id,
                        sha256,
                        stamp: Some(stamp),
                    };
                    ready.push(Ready {
                        path: path.clone(),
                        from,
                        sent,
                        bytes: bytes.into(),
                    });
                }
            }
        }
        ready
    }

    async fn send(&mut self, ready: Vec<Ready>, memory: &mut Memory) -> Result<(), Failure> {
        let (house, source) = (self.house, self.source.as_str());
        let mut answers = stream::iter(ready)
            .map(|one| async move {
                let answer = send_file(house, source, &one).await;
                (one, answer)
            })
            .buffered(AT_ONCE);
        let mut failed = None;
        while let Some((one, answer)) = answers.next().await {
            match answer {
                Ok(answer) => {
                    let word = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
                    let (action, document) = (word("action"), word("document_id"));
                    self.report
                        .sent(&action, &one.path, one.from.as_deref(), &document);
                    memory.put(&one.path, one.from.as_deref(), one.sent);
                    if action != "unchanged" {
                        self.reading.push_back((one.path, document));
                    }
                }
                Err(failure) => match failure.code() {
                    Some("too_large" | "unreadable" | "invalid_argument") => {
                        if let Some(stamp) = one.sent.stamp {
                            self.refused.insert(one.path.clone(), stamp);
                        }
                        self.report.skipped(&one.path, &failure.to_string());
                    }
                    _ => failed = Some(failure),
                },
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Says what is gone, unless it is the whole folder that went.
    async fn settle_vanished(
        &mut self,
        scope: &BTreeSet<String>,
        vanished: BTreeSet<String>,
        memory: &mut Memory,
    ) -> Result<(), Failure> {
        if scope.contains("") {
            let all = !vanished.is_empty() && vanished.len() == memory.len();
            if all && !self.is_trusted && !self.options.allow_empty {
                let sentence = format!(
                    "none of the {} documents of this source lies in {} any more; nothing is marked \
                     missing: is it mounted, and the right folder? If this is meant, say --allow-empty",
                    memory.len(),
                    self.folder.path().display()
                );
                if self.options.once {
                    return Err(Failure::local(sentence));
                }
                self.report.warn(&sentence);
                return Ok(());
            }
            self.is_trusted = true;
        }
        if !self.is_trusted {
            return Ok(());
        }
        // What a look at all of it misses for the first time may be about to be written anew.
        let is_settled = |path: &String| {
            let mut told = scope.iter().filter(|one| !one.is_empty());
            told.any(|one| is_below(path, one))
        };
        let (vanished, fresh): (Vec<String>, Vec<String>) =
            vanished.into_iter().partition(is_settled);
        for path in &fresh {
            self.quiet.hint(path, Instant::now());
        }
        for paths in vanished.chunks(MISSING_AT_ONCE) {
            let ids = paths.iter().filter_map(|path| memory.id_at(path));
            let items: Vec<Value> = ids
                .map(|id| json!({ "external_id": id, "deleted": true }))
                .collect();
            let body = json!({ "items": items }).to_string();
            let ask = Ask {
                method: Method::POST,
                path: format!("/sources/{}/ingest", self.source),
                body: Some((body.into(), "application/json")),
                text: false,
            };
            let answer = self.house.json(ask).await?;
            for (path, item) in paths
                .iter()
                .zip(answer["items"].as_array().into_iter().flatten())
            {
                let document = item["document_id"].as_str().unwrap_or_default();
                self.report.sent("marked_missing", path, None, document);
                memory.lose(path);
            }
        }
        Ok(())
    }

    /// What the base has of the source.
    async fn list(&self) -> Result<Memory, Failure> {
        let mut memory = Memory::default();
        let mut cursor = String::new();
        loop {
            let (kb, source) = (self.kb, &self.source);
            let path = format!("/kbs/{kb}/sources/{source}/items?limit=1000{cursor}");
            let page = self.house.json(Ask::get(path)).await?;
            for item in page["items"].as_array().into_iter().flatten() {
                let word = |name: &str| item[name].as_str().unwrap_or_default();
                memory.learn(
                    word("filename"),
                    word("external_id"),
                    word("sha256"),
                    !item["missing_at"].is_null(),
                );
            }
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(memory),
            }
        }
    }

    /// Asks after some of the documents that are being read, up to the first that still is.
    async fn ask_after(&mut self) -> Result<(), Failure> {
        for _ in 0..self.reading.len().min(ASKED_AT_ONCE) {
            let Some((path, id)) = self.reading.pop_front() else {
                break;
            };
            let ask = Ask::get(format!("/kbs/{}/documents/{id}", self.kb));
            let document = match self.house.json(ask).await {
                Ok(document) => document,
                // It was taken away meanwhile.
                Err(failure) if failure.code() == Some("not_found") => continue,
                Err(failure) => {
                    self.reading.push_back((path, id));
                    return Err(failure);
                }
            };
            match document["state"].as_str() {
                Some("ready") => self.report.ready(&path, &id),
                Some("failed") => {
                    let why = document["failure"].as_str().unwrap_or("no reason given");
                    self.report.failed(&path, why);
                }
                _ if !document["deleted_at"].is_null() => {}
                _ => {
                    self.reading.push_back((path, id));
                    break;
                }
            }
        }
        Ok(())
    }

    async fn await_ready(&mut self) -> Result<(), Failure> {
        let mut pause = Pause::new();
        while !self.reading.is_empty() && !self.ends() {
            let before = self.reading.len();
            self.ask_after().await?;
            if self.reading.len() < before {
                pause.reset();
            } else {
                pause.wait().await;
            }
        }
        match self.report.failures() {
            0 => Ok(()),
            count => Err(Failure::local(format!("{count} of the files failed"))),
        }
    }
}

/// Files, by their paths and sizes, in portions that are in memory at once.
fn portions(files: Vec<(String, u64)>) -> Vec<Vec<String>> {
    let mut portions: Vec<Vec<String>> = Vec::new();
    let mut bytes = 0;
    for (path, size) in files {
        match portions.last_mut() {
            Some(last) if last.len() < READ_AT_ONCE && bytes + size <= READ_BYTES => {
                bytes += size;
                last.push(path);
            }
            _ => {
                bytes = size;
                portions.push(vec![path]);
            }
        }
    }
    portions
}

async fn send_file(house: &House, source: &str, one: &Ready) -> Result<Value, Failure> {
    let (name, id) = (encoded(&one.path), encoded(&one.sent.external_id));
    let path = format!("/sources/{source}/ingest/file?filename={name}&external_id={id}");
    let ask = Ask {
        method: Method::POST,
        path,
        body: Some((one.bytes.clone(), "application/octet-stream")),
        text: false,
    };
    house.json(ask).await
}

/// The id of the source of that name, which is made if it is not there.
async fn source_of(
    house: &House,
    kb: KbId,
    name: &str,
    place: &str,
    least_role: Option<&str>,
) -> Result<String, Failure> {
    let path = format!("/kbs/{kb}/sources");
    let listed = house.json(Ask::get(path.clone())).await?;
    let mut sources = listed["sources"].as_array().into_iter().flatten();
    let id = |source: &Value| source["id"].as_str().unwrap_or_default().to_owned();
    if let Some(source) = sources.find(|source| source["name"] == name) {
        if source["kind"] == "pull" {
            let sentence = format!("the source `{name}` pulls its documents; take another name");
            return Err(Failure::wrong(sentence));
        }
        return match least_role {
            Some(role) if source["least_role"] != role => Err(Failure::wrong(format!(
                "the source `{name}` is for {} and above, not for {role}; take another name with --source",
                source["least_role"].as_str().unwrap_or_default()
            ))),
            _ => Ok(id(source)),
        };
    }
    let documents = house
        .json(Ask::get(format!("/kbs/{kb}/documents?limit=1")))
        .await?;
    if let Some(count @ 1..) = documents["total"].as_u64() {
        output::warn(&format!(
            "the base has {count} documents already; those of them that lie in this folder will be there twice, once as the source's own"
        ));
    }
    let body = json!({ "name": name, "kind": "folder", "path": place, "least_role": least_role });
    let ask = Ask {
        method: Method::POST,
        path,
        body: Some((body.to_string().into(), "application/json")),
        text: false,
    };
    Ok(id(&house.json(ask).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_in_portions_of_some_bytes_and_a_larger_one_alone() {
        let sizes = [1, READ_BYTES * 2, READ_BYTES, 1, 1];
        let files = (0..).zip(sizes).map(|(n, size)| (format!("{n}"), size));
        let many = (0..40).map(|n| (format!("{n}"), 1));

        assert_eq!(
            portions(files.collect()),
            [vec!["0"], vec!["1"], vec!["2"], vec!["3", "4"]]
        );
        let counts: Vec<usize> = portions(many.collect()).iter().map(Vec::len).collect();
        assert_eq!(counts, [16, 16, 8]);
    }
}
