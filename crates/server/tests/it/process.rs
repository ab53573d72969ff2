//! The binary itself: its verbs, its folder, its start and its end.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::openai::{Endpoint, Mood};

pub fn quipu(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quipu"));
    command
        .env_clear()
        .env("QUIPU_DATA", data)
        .env("HOME", data);
    command
}

pub fn run(data: &Path, words: &[impl AsRef<std::ffi::OsStr>]) -> Output {
    quipu(data).args(words).output().unwrap()
}

pub fn text(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn json(output: &Output) -> Value {
    serde_json::from_str(&text(output)).unwrap()
}

pub fn refused(output: &Output, code: i32) -> String {
    assert_eq!(
        output.status.code(),
        Some(code),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A server on a free port, ended with the test.
pub struct Server {
    pub child: Child,
    pub url: String,
}

impl Server {
    pub fn start(data: &Path) -> Self {
        Self::start_with(data, &[])
    }

    /// As `start`, with variables in its environment.
    pub fn start_with(data: &Path, environment: &[(&str, &str)]) -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut child = quipu(data)
            .envs(environment.iter().copied())
            .args(["serve", "--listen", &format!("127.0.0.1:{port}")])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Its first line is printed when it listens.
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert!(line.contains("serves"), "{line}");
        Self {
            child,
            url: format!("http://127.0.0.1:{port}"),
        }
    }

    pub fn end(mut self) -> std::process::ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn papers(folder: &Path) {
    std::fs::create_dir_all(folder.join("deep")).unwrap();
    std::fs::write(
        folder.join("otters.md"),
        "# Otters\n\nOtters hold hands while they sleep.",
    )
    .unwrap();
    std::fs::write(
        folder.join("deep/bears.txt"),
        "Bears sleep through the winter.",
    )
    .unwrap();
    std::fs::write(folder.join("photo.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
    std::fs::write(folder.join("empty.md"), "").unwrap();
    std::fs::write(folder.join(".hidden.md"), "not for us").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", folder.join("link.txt")).unwrap();
}

#[test]
fn a_folder_is_searched_without_a_server() {
    let data = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    papers(folder.path());
    let path = folder.path().to_str().unwrap();

    let base = json(&run(data.path(), &["base", "create", "Papers", "--json"]));
    let first = json(&run(
        data.path(),
        &["ingest", path, "--base", "papers", "--json"],
    ));
    let again = json(&run(
        data.path(),
        &["ingest", path, "--base", "Papers", "--json"],
    ));
    let found = text(&run(
        data.path(),
        &["search", "who sleeps in winter", "--base", "papers"],
    ));

    assert_eq!(base["slug"], "papers");
    assert_eq!((&first["created"], &first["ready"]), (&2.into(), &2.into()));
    let skipped = first["skipped"].as_array().unwrap();
    assert_eq!(skipped.len(), 3, "{first}");
    assert!(
        skipped
            .iter()
            .any(|one| one["reason"] == "it is a link, and links are not followed")
    );
    assert!(
        skipped
            .iter()
            .any(|one| one["reason"].as_str().unwrap().contains("PNG"))
    );
    assert_eq!(again["unchanged"], 2);
    assert!(
        found.starts_with("[1] \"deep/bears.txt\" section 0"),
        "{found}"
    );
}

#[test]
fn a_data_folder_in_use_is_reached_through_its_owner() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());

    let base = json(&run(data.path(), &["base", "create", "Papers", "--json"]));
    let made = json(&run(
        data.path(),
        &[
            "token", "create", "--name", "laptop", "--scope", "write", "--base", "papers", "--json",
        ],
    ));
    let token = made["token"].as_str().unwrap();
    let remote = [
        "base",
        "list",
        "--json",
        "--server",
        &server.url,
        "--token",
        token,
    ];
    let listed = json(&run(Path::new("/nonexistent"), &remote));
    let second = refused(&run(data.path(), &["serve", "--listen", "127.0.0.1:0"]), 1);
    text(&run(
        data.path(),
        &["token", "revoke", made["info"]["id"].as_str().unwrap()],
    ));
    let revoked = refused(&run(Path::new("/nonexistent"), &remote), 3);

    assert_eq!(listed["kbs"][0]["id"], base["id"]);
    assert!(second.contains("in use"), "{second}");
    assert!(revoked.contains("not expired or revoked"), "{revoked}");
    assert_eq!(server.end().code(), Some(0));
    assert!(text(&run(data.path(), &["base", "list"])).contains("papers"));
}

#[test]
fn the_second_start_finds_what_the_first_one_made() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    text(&run(data.path(), &["base", "create", "Papers"]));
    assert_eq!(server.end().code(), Some(0));

    let server = Server::start(data.path());
    let listed = json(&run(data.path(), &["base", "list", "--json"]));
    assert_eq!(listed["kbs"].as_array().unwrap().len(), 1);
    assert_eq!(
        json(&run(data.path(), &["user", "list", "--json"]))["users"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn mistakes_on_the_command_line_say_what_would_be_right() {
    let data = tempfile::tempdir().unwrap();
    text(&run(data.path(), &["base", "create", "Papers"]));
    text(&run(data.path(), &["base", "create", "Notes"]));

    let base = refused(&run(data.path(), &["search", "x", "--base", "paper"]), 4);
    let which = refused(&run(data.path(), &["search", "x"]), 4);
    let date = refused(
        &run(
            data.path(),
            &["search", "x", "--base", "papers", "--as-of", "last week"],
        ),
        2,
    );
    let flag = refused(&run(data.path(), &["search", "x", "--as-off", "2026"]), 2);
    let path = refused(
        &run(
            data.path(),
            &["ingest", "/no/such/folder", "--base", "papers"],
        ),
        2,
    );
    let setting = refused(
        &quipu(data.path())
            .env("QUIPU_LISTEN", "here")
            .args(["config", "show"])
            .output()
            .unwrap(),
        2,
    );

    assert!(
        base.contains("no base is called `paper`; there are: notes, papers"),
        "{base}"
    );
    assert!(which.contains("say which base, with --base"), "{which}");
    assert!(date.contains("`as_of` must be a date such as"), "{date}");
    assert!(flag.contains("--as-of"), "{flag}");
    assert!(path.contains("/no/such/folder"), "{path}");
    assert!(
        setting.contains("`listen` (environment QUIPU_LISTEN) must be an address"),
        "{setting}"
    );
}

#[test]
fn settings_tell_where_they_came_from_and_hide_passwords() {
    let data = tempfile::tempdir().unwrap();
    let mut command = quipu(data.path());
    command.env("QUIPU_DATABASE", "postgres://me:hush@localhost/quipu");

    let shown = text(
        &command
            .args(["config", "show", "--origin"])
            .output()
            .unwrap(),
    );

    assert!(
        shown.contains("postgres://…@localhost/quipu  (environment QUIPU_DATABASE)"),
        "{shown}"
    );
    assert!(shown.contains("127.0.0.1:7341  (default)") && !shown.contains("hush"));
}

#[test]
fn the_log_and_the_answers_never_show_a_token() {
    let data = tempfile::tempdir().unwrap();
    text(&run(data.path(), &["base", "create", "Papers"]));
    let made = json(&run(
        data.path(),
        &["token", "create", "--name", "laptop", "--json"],
    ));
    let token = made["token"].as_str().unwrap();

    let mut log = Vec::new();
    for words in [
        &["token", "list"][..],
        &["whoami"],
        &["activity", "--base", "papers"],
        &["doctor"],
    ] {
        let output = quipu(data.path())
            .env("QUIPU_LOG_LEVEL", "trace")
            .args(words)
            .output()
            .unwrap();
        log.extend(output.stdout);
        log.extend(output.stderr);
    }

    let log = String::from_utf8_lossy(&log);
    assert!(!log.contains(token));
    assert!(log.contains("laptop"));
}

#[test]
fn a_backup_through_a_running_server_is_restored_and_verified() {
    let data = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    papers(folder.path());
    let server = Server::start(data.path());
    text(&run(data.path(), &["base", "create", "Papers"]));
    let path = folder.path().to_str().unwrap();
    text(&run(data.path(), &["ingest", path, "--base", "papers"]));
    let backup = elsewhere.path().join("quipu.tar");
    let backup = backup.to_str().unwrap();

    let made = json(&run(data.path(), &["backup", backup, "--json"]));
    let again = refused(&run(data.path(), &["backup", backup]), 2);
    let nowhere = refused(&run(data.path(), &["backup", "/no/such/folder/x.tar"]), 2);
    let named = json(&run(
        data.path(),
        &["backup", elsewhere.path().to_str().unwrap(), "--json"],
    ));
    let piped = run(data.path(), &["backup", "-"]);
    let sound = text(&run(data.path(), &["verify"]));
    text(&run(data.path(), &["reindex", "--parse"]));
    assert_eq!(server.end().code(), Some(0));
    let copy = tempfile::tempdir().unwrap();
    let checked = json(&run(copy.path(), &["verify", backup, "--json"]));
    let restored = text(&run(copy.path(), &["restore", backup]));
    let found = text(&run(
        copy.path(),
        &["search", "who sleeps in winter", "--base", "papers"],
    ));

    assert_eq!(made["tables"]["document"], 2);
    assert_eq!(made["blobs"]["count"], 2);
    assert_eq!(made["path"], backup);
    assert!(again.contains("is there already"), "{again}");
    assert!(
        nowhere.contains("/no/such/folder is no folder"),
        "{nowhere}"
    );
    let named = named["path"].as_str().unwrap().to_owned();
    assert!(
        Path::new(&named).exists() && Path::new(&named).extension() == Some("tar".as_ref()),
        "{named}"
    );
    assert!(piped.stdout.len() > 10_000 && piped.status.success());
    assert!(sound.contains("everything is as it should be"), "{sound}");
    assert_eq!(checked["tables"], made["tables"]);
    assert!(
        restored.contains("the chain of the activity log holds"),
        "{restored}"
    );
    assert!(
        found.starts_with("[1] \"deep/bears.txt\" section 0"),
        "{found}"
    );
    let left: Vec<_> = std::fs::read_dir(elsewhere.path()).unwrap().collect();
    assert_eq!(left.len(), 2, "no partial file is left: {left:?}");
}

#[test]
fn a_mistyped_data_folder_is_named_and_not_made() {
    let parent = tempfile::tempdir().unwrap();
    let mistyped = parent.path().join("qiupu");
    for words in [
        &["search", "x"][..],
        &["token", "list"],
        &["doctor"],
        &["base", "list"],
        &["verify"],
        &["backup", "-"],
        &["ingest", "/etc/hostname", "--base", "papers"],
        &["models", "status"],
        &["token", "revoke", "0198c5f2-7c1e-7b8a-9f5e-2b1c6a7d8e90"],
    ] {
        let told = refused(&run(&mistyped, words), 4);
        let named = format!("there is no deployment in {}", mistyped.display());
        assert!(
            told.contains(&named) && told.contains("QUIPU_DATA"),
            "{words:?}: {told}"
        );
        assert!(!mistyped.exists(), "{words:?} made the folder");
    }
    text(&run(&mistyped, &["base", "create", "Papers"]));
    text(&run(&mistyped, &["base", "list"]));
}

#[test]
fn a_wrong_database_url_is_told_without_its_password() {
    let data = tempfile::tempdir().unwrap();
    for (url, code, says) in [
        ("postgres://me:hunter2@127.0.0.1:1/quipu", 75, "127.0.0.1:1"),
        (
            "postgres://me:hun@ter2@127.0.0.1/quipu",
            2,
            "written as `%40`",
        ),
        (
            "postgres://me:hunter2@127.0.0.1:port/quipu",
            2,
            "the port in its URL",
        ),
        ("postgres:///quipu", 2, "names no host"),
    ] {
        let told = refused(
            &run(data.path(), &["base", "list", "--database", url]),
            code,
        );
        assert!(told.contains(says), "{url}: {told}");
        assert!(!told.contains("ter2"), "{told}");
    }
}

#[test]
fn an_upgrade_is_checked_without_changing_anything() {
    let data = tempfile::tempdir().unwrap();
    let nothing = text(&run(data.path(), &["upgrade-check"]));
    assert!(nothing.contains("the first start makes one"), "{nothing}");
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0);
    text(&run(data.path(), &["base", "create", "Papers"]));

    let same = text(&run(data.path(), &["upgrade-check"]));
    let other = quipu(data.path())
        .env("QUIPU_LISEN", "127.0.0.1:1")
        .args(["upgrade-check", "--json"])
        .output()
        .unwrap();
    let database = data.path().join("quipu.sqlite");
    let newer = Command::new("python3")
        .arg("-c")
        .arg("import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(\"INSERT INTO migration VALUES (9999, 'telepathy', 'x', 0)\"); c.commit()")
        .arg(&database)
        .status()
        .unwrap();
    assert!(newer.success());
    let refused = run(data.path(), &["upgrade-check"]);

    assert!(same.contains("as this version has it"), "{same}");
    let other = json(&other);
    assert_eq!(other["refused"], false);
    assert!(other.to_string().contains("QUIPU_LISEN"), "{other}");
    assert_eq!(refused.status.code(), Some(5));
    let told = String::from_utf8(refused.stdout).unwrap();
    assert!(
        told.contains("REFUSED") && told.contains("9999 `telepathy`"),
        "{told}"
    );
}

#[test]
fn vectors_of_another_model_go_on_where_a_kill_cut_them_off() {
    let data = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::start(Mood::Answers(32));
    let table = |name: &str| {
        format!(
            "[models.{name}]\nurl = \"{}\"\nmodel = \"{name}\"\nwidth = 32\nat_once = 1\n",
            endpoint.url
        )
    };
    std::fs::write(data.path().join("quipu.toml"), table("one") + &table("two")).unwrap();
    let papers = tempfile::tempdir().unwrap();
    let sheds: String = (0..80)
        .map(|n| format!("# Shed {n}\n\nTool number {n} hangs here.\n\n"))
        .collect();
    std::fs::write(papers.path().join("sheds.md"), sheds).unwrap();
    text(&run(data.path(), &["base", "create", "Garage"]));
    let status = || json(&run(data.path(), &["models", "status", "--json"]));
    let base = || status()["bases"][0].clone();
    let until = |is_so: &dyn Fn(&Value) -> bool| {
        let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
        loop {
            let state = base();
            if is_so(&state) {
                return state;
            }
            assert!(std::time::Instant::now() < deadline, "{state}");
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    };

    let server = Server::start_with(data.path(), &[("QUIPU_MODEL", "one")]);
    let folder = papers.path().to_str().unwrap();
    text(&run(data.path(), &["ingest", folder, "--base", "garage"]));
    let whole = until(&|state| state["coverage"][0]["vectors"] == state["passages"]);
    let passages = usize::try_from(whole["passages"].as_u64().unwrap()).unwrap();
    assert!(64 < passages, "more than two batches: {whole}");
    assert_eq!(server.end().code(), Some(0));

    // One batch is answered; the next one never is.
    endpoint.set(Mood::Stops(32, 32));
    let mut server = Server::start_with(data.path(), &[("QUIPU_MODEL", "two")]);
    endpoint.wait_until_asked_in_vain();
    let half = base();
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    endpoint.set(Mood::Answers(32));
    let server = Server::start_with(data.path(), &[("QUIPU_MODEL", "two")]);
    let done = until(&|state| state["building"].is_null());

    let is = |state: &Value, model: &str| state["serving"].as_str().unwrap().starts_with(model);
    assert!(is(&half, "one@") && is(&done, "two@"), "{half} {done}");
    assert_eq!(done["previous"], half["serving"]);
    let stored = half["coverage"].as_array().unwrap().iter();
    let stored: u64 = stored
        .filter(|one| one["model"].as_str().unwrap().starts_with("two@"))
        .map(|one| one["vectors"].as_u64().unwrap())
        .sum();
    assert_eq!(stored, 32);
    // What was stored is not made again; only the batch that the kill cut off is asked for twice.
    let answered = endpoint.answered("two");
    assert!(
        (passages..=passages + 32).contains(&answered),
        "{answered} of {passages}"
    );
    assert_eq!(server.end().code(), Some(0));
}
