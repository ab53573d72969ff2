//! A watched folder: the binary follows it, and the base has what lies in it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

use crate::process::{Server, json, quipu, refused, run, text};

/// How long something may take on a busy machine before it counts as not happening.
const PATIENCE: Duration = Duration::from_secs(90);

/// A data folder with the base "papers", and a folder to watch.
struct Place {
    data: tempfile::TempDir,
    outer: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self {
            data: tempfile::tempdir().unwrap(),
            outer: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(place.folder()).unwrap();
        text(&run(place.data.path(), &["base", "create", "Papers"]));
        place
    }

    fn folder(&self) -> PathBuf {
        self.outer.path().join("watched")
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    fn write(&self, name: &str, words: &str) {
        fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        fs::write(self.at(name), words).unwrap();
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.at(from), self.at(to)).unwrap();
    }

    fn watch(&self, more: &[&str]) -> Watch {
        let mut command = quipu(self.data.path());
        command.args([
            "ingest",
            self.folder().to_str().unwrap(),
            "--base",
            "papers",
        ]);
        command.args(["--watch", "--json"]);
        if !more.contains(&"--settle") {
            command.args(["--settle", "0.3"]);
        }
        Watch::start(command.args(more))
    }

    fn words(&self, more: &[&str]) -> Vec<String> {
        let folder = self.folder().display().to_string();
        let words = [
            "ingest", &folder, "--base", "papers", "--json", "--settle", "0.1",
        ];
        let source = ["--source", &folder];
        let all = words.iter().chain(&source).chain(more);
        all.map(|word| (*word).to_owned()).collect()
    }

    /// Looks once, and gives what was told.
    fn once(&self, more: &[&str]) -> Vec<Value> {
        let told = text(&run(self.data.path(), &self.words(more)));
        told.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn found(&self, query: &str) -> String {
        text(&run(
            self.data.path(),
            &["search", query, "--base", "papers"],
        ))
    }
}

/// A running `quipu ingest --watch`.
struct Watch {
    child: Child,
    told: Receiver<Value>,
}

impl Watch {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (tell, told) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = tell.send(serde_json::from_str(&line).unwrap());
            }
        });
        Self { child, told }
    }

    /// What was told up to and with the next `event`, without documents getting ready.
    fn until(&self, event: &str) -> Vec<Value> {
        self.until_file(event, None)
    }

    fn until_file(&self, event: &str, file: Option<&str>) -> Vec<Value> {
        let mut seen = Vec::new();
        loop {
            let line = self.told.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("no `{event}` after {seen:#?}"));
            let is_it = line["event"] == event && file.is_none_or(|file| line["file"] == file);
            if line["event"] != "ready" || event == "ready" {
                seen.push(line);
            }
            if is_it {
                return seen;
            }
        }
    }

    /// The one thing that is told next.
    fn next(&self, event: &str) -> Value {
        let mut seen = self.until(event);
        assert_eq!(seen.len(), 1, "{seen:#?}");
        seen.pop().unwrap()
    }

    fn end(mut self) -> Value {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let summary = self.until("summary").pop().unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        summary
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn events(told: &[Value]) -> Vec<(String, String)> {
    let word = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let mut events: Vec<_> = told
        .iter()
        .map(|line| (word(line, "event"), word(line, "file")))
        .filter(|(event, _)| event != "ready")
        .collect();
    events.sort_unstable();
    events
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(event, file)| ((*event).to_owned(), (*file).to_owned()))
        .collect()
}

#[test]
fn what_happens_in_a_watched_folder_happens_in_the_base() {
    let place = Place::new();
    place.write("a.md", "Otters hold hands.");
    let watch = place.watch(&[]);
    let first = watch.until("watching");
    assert_eq!(
        events(&first),
        pairs(&[("created", "a.md"), ("watching", "")])
    );
    assert_eq!(first[1]["documents"], 1);

    place.write("deep/b.md", "Bears sleep in winter.");
    let made = watch.next("created");
    place.write("deep/b.md", "Bears sleep in caves.");
    let changed = watch.next("updated");
    place.rename("deep/b.md", "deep/c.md");
    let moved = watch.next("moved");
    place.rename("deep", "other");
    let carried = watch.next("moved");
    fs::remove_file(place.at("other/c.md")).unwrap();
    let gone = watch.next("marked_missing");
    place.write("other/c.md", "Bears sleep in caves.");
    let back = watch.next("updated");
    watch.until_file("ready", Some("other/c.md"));
    // This process has the data folder, and serves it to other verbs.
    let found = place.found("bears");

    assert_eq!(made["file"], "deep/b.md");
    assert_eq!(
        (&moved["file"], &moved["from"]),
        (&"deep/c.md".into(), &"deep/b.md".into())
    );
    assert_eq!(
        (&carried["file"], &carried["from"]),
        (&"other/c.md".into(), &"deep/c.md".into())
    );
    let ids = [&changed, &moved, &carried, &gone, &back].map(|told| &told["document_id"]);
    assert!(ids.iter().all(|id| **id == made["document_id"]), "{ids:?}");
    assert!(
        found.contains("\"other/c.md\"") && found.contains("caves"),
        "{found}"
    );
    let summary = watch.end();
    assert_eq!(
        (
            &summary["created"],
            &summary["updated"],
            &summary["moved"],
            &summary["marked_missing"]
        ),
        (&2.into(), &2.into(), &2.into(), &1.into())
    );
}

#[test]
fn the_ways_that_editors_save_are_one_change_each() {
    let place = Place::new();
    place.write("a.md", "First words.");
    let watch = place.watch(&[]);
    watch.until("watching");

    place.write(".a.md.swp", "Second words.");
    place.rename(".a.md.swp", "a.md");
    let renamed = watch.next("updated");
    place.rename("a.md", "a.md~");
    place.write("a.md", "Third words.");
    fs::remove_file(place.at("a.md~")).unwrap();
    let with_backup = watch.next("updated");
    fs::remove_file(place.at("a.md")).unwrap();
    place.write("a.md", "Fourth");
    place.write("a.md", "Fourth words.");
    let removed = watch.next("updated");
    place.write("z.md", "The end.");
    watch.next("created");

    assert!(
        [renamed, with_backup, removed]
            .iter()
            .all(|told| told["file"] == "a.md")
    );
}

#[test]
fn a_file_that_is_still_being_written_is_waited_for() {
    let place = Place::new();
    let watch = place.watch(&["--settle", "1"]);
    watch.until("watching");

    let mut slow = fs::File::create(place.at("slow.md")).unwrap();
    slow.write_all(b"The story begins.\n\n").unwrap();
    place.write("other.md", "Another one.");
    let meanwhile = watch.next("created");
    slow.write_all(b"The story ends.\n").unwrap();
    drop(slow);
    let made = watch.next("created");
    watch.until_file("ready", Some("slow.md"));

    assert_eq!(
        (&meanwhile["file"], &made["file"]),
        (&"other.md".into(), &"slow.md".into())
    );
    assert!(place.found("story ends").contains("The story ends."));
}

#[test]
fn what_changed_while_nobody_watched_is_found_by_comparing() {
    let place = Place::new();
    for (name, words) in [
        ("stays.md", "One."),
        ("moves.md", "Two."),
        ("changes.md", "Three."),
        ("goes.md", "Four."),
    ] {
        place.write(name, words);
    }
    let watch = place.watch(&[]);
    watch.until("watching");
    watch.end();

    place.rename("moves.md", "moved.md");
    place.write("changes.md", "Five.");
    fs::remove_file(place.at("goes.md")).unwrap();
    place.write("comes.md", "Six.");
    let watch = place.watch(&[]);
    let told = watch.until("watching");

    let expected = [
        ("created", "comes.md"),
        ("marked_missing", "goes.md"),
        ("moved", "moved.md"),
        ("updated", "changes.md"),
        ("watching", ""),
    ];
    assert_eq!(events(&told), pairs(&expected));
}

#[test]
fn a_watch_goes_on_when_the_server_was_away() {
    let place = Place::new();
    let server = Server::start(place.data.path());
    let watch = place.watch(&[]);
    watch.until("watching");

    assert_eq!(server.end().code(), Some(0));
    place.write("a.md", "Otters hold hands.");
    let warned = watch.next("warning");
    let server = Server::start(place.data.path());
    let told = watch.until("created");

    assert!(
        warned["message"].as_str().unwrap().contains("trying again"),
        "{warned}"
    );
    assert_eq!(told.last().unwrap()["file"], "a.md");
    watch.until("ready");
    assert!(place.found("otters").contains("Otters"));
    watch.end();
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn an_editor_watches_over_the_network_into_a_source_that_an_admin_made() {
    let place = Place::new();
    let server = Server::start(place.data.path());
    let here = |words: &[&str]| json(&run(place.data.path(), words));
    here(&["user", "add", "ann@example.org", "--json"]);
    here(&[
        "base",
        "grant",
        "ann@example.org",
        "editor",
        "--base",
        "papers",
        "--json",
    ]);
    let made = here(&[
        "token",
        "create",
        "--name",
        "x",
        "--scope",
        "write",
        "--user",
        "ann@example.org",
        "--json",
    ]);
    let token = made["token"].as_str().unwrap();
    place.write("a.md", "Otters hold hands.");
    let folder = place.folder();
    let there = |more: &[&str]| {
        let mut command = quipu(Path::new("/nonexistent"));
        command.args([
            "ingest",
            folder.to_str().unwrap(),
            "--base",
            "papers",
            "--watch",
            "--json",
            "--settle",
            "0.1",
        ]);
        command
            .args(["--server", &server.url, "--token", token])
            .args(more);
        command
    };

    let refused = there(&[]).output().unwrap();
    here(&[
        "source", "create", "ann's", "--kind", "folder", "--base", "papers", "--json",
    ]);
    let watch = Watch::start(&mut there(&["--source", "ann's"]));
    let told = watch.until("watching");

    assert_eq!(refused.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("needs the role `admin`"));
    assert_eq!(
        events(&told),
        pairs(&[("created", "a.md"), ("watching", "")])
    );
    let listed = here(&["source", "items", "ann's", "--base", "papers", "--json"]);
    assert_eq!(listed["items"][0]["external_id"], "a.md");
}

#[test]
fn a_folder_that_vanishes_takes_nothing_with_it() {
    let place = Place::new();
    place.write("a.md", "Otters hold hands.");
    let watch = place.watch(&[]);
    watch.until("watching");

    let aside = place.outer.path().join("aside");
    fs::rename(place.folder(), &aside).unwrap();
    let lost = watch.next("warning");
    fs::create_dir(place.folder()).unwrap();
    let empty = watch.next("warning");
    fs::remove_dir(place.folder()).unwrap();
    fs::rename(&aside, place.folder()).unwrap();
    place.write("b.md", "Bears sleep.");
    let told = watch.until("created");

    assert!(
        lost["message"]
            .as_str()
            .unwrap()
            .contains("nothing is marked missing"),
        "{lost}"
    );
    assert!(
        empty["message"].as_str().unwrap().contains("is it mounted"),
        "{empty}"
    );
    assert!(
        told.iter().all(|line| line["event"] != "marked_missing"),
        "{told:#?}"
    );
    assert_eq!(watch.end()["marked_missing"], 0);
}

#[test]
fn an_empty_folder_is_believed_when_it_is_meant() {
    let place = Place::new();
    place.write("a.md", "Otters hold hands.");
    let first = place.once(&[]);
    fs::remove_file(place.at("a.md")).unwrap();

    let doubted = run(place.data.path(), &place.words(&[]));
    let meant = place.once(&["--allow-empty"]);
    let found = place.found("otters");

    assert_eq!(
        events(&first),
        pairs(&[("created", "a.md"), ("summary", "")])
    );
    let why = refused(&doubted, 1);
    assert!(why.contains("is it mounted"), "{why}");
    assert_eq!(
        events(&meant),
        pairs(&[("marked_missing", "a.md"), ("summary", "")])
    );
    assert!(!found.contains("hold hands"), "{found}");
}

#[test]
fn the_last_file_of_a_folder_that_is_still_there_can_go() {
    let place = Place::new();
    place.write("a.md", "Otters hold hands.");
    let watch = place.watch(&[]);
    watch.until("watching");

    fs::remove_file(place.at("a.md")).unwrap();

    assert_eq!(watch.next("marked_missing")["file"], "a.md");
}

#[test]
fn a_folder_that_the_system_tells_nothing_of_is_looked_at() {
    let place = Place::new();
    place.write("a.md", "Otters hold hands.");
    let watch = place.watch(&["--poll", "0.1"]);
    let told = watch.until("watching");
    assert_eq!(told.last().unwrap()["how"], "by a look every 0.1 s");

    place.write("b.md", "Bears sleep.");
    let made = watch.next("created");
    place.rename("b.md", "c.md");
    let moved = watch.next("moved");
    fs::remove_file(place.at("a.md")).unwrap();
    let gone = watch.next("marked_missing");

    assert_eq!(
        (&made["file"], &moved["file"], &gone["file"]),
        (&"b.md".into(), &"c.md".into(), &"a.md".into())
    );
    assert_eq!(moved["document_id"], made["document_id"]);
}

#[test]
fn what_is_no_document_is_named_once_and_links_are_not_followed() {
    let place = Place::new();
    place.write("a.md", "Otters hold hands.");
    fs::write(place.at("photo.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
    place.write(".hidden.md", "Not for us.");
    std::os::unix::fs::symlink(place.outer.path(), place.at("up")).unwrap();
    let watch = place.watch(&[]);

    let told = watch.until("watching");
    place.write("b.md", "Bears sleep.");
    let then = watch.next("created");

    let expected = [
        ("created", "a.md"),
        ("skipped", "photo.png"),
        ("skipped", "up"),
        ("watching", ""),
    ];
    assert_eq!(events(&told), pairs(&expected));
    assert_eq!(then["file"], "b.md");
}
