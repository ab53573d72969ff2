//! Several servers on one database and one store of blobs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use kernel::job;
use model::{KbId, Role, TenantId};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use server::app::JOBS;
use server::warm;
use store::index::{Hit, Query};
use tokio::sync::watch;

use crate::fake_s3::{BUCKET, FakeS3, Fault};
use crate::house::{Engine, House, fresh_database, postgres};
use crate::process::{Server, json as read_json, quipu, text};

/// Runs a story of nodes where there is a PostgreSQL: SQLite has one owner.
fn on_postgres<Story: Future<Output = ()>>(story: impl FnOnce(FakeS3) -> Story) {
    if postgres().is_none() {
        println!("skipped: QUIPU_TEST_POSTGRES is not set");
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async { story(FakeS3::start().await).await });
}

/// Settings that put blobs into the bucket.
fn in_bucket(s3: &FakeS3) -> Vec<(&'static str, String)> {
    vec![
        ("QUIPU_BLOBS_URL", format!("s3://{BUCKET}/blobs")),
        ("QUIPU_BLOBS_ENDPOINT", s3.endpoint.clone()),
        ("QUIPU_BLOBS_ACCESS_KEY_ID", "test".to_owned()),
        ("QUIPU_BLOBS_SECRET_ACCESS_KEY", "hush".to_owned()),
    ]
}

fn borrowed<'a>(pairs: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    pairs
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect()
}

async fn two_nodes(s3: &FakeS3) -> (House, House) {
    let settings = in_bucket(s3);
    let one = House::new(Engine::Postgres, &borrowed(&settings)).await;
    let two = one.beside(&borrowed(&settings)).await;
    (one, two)
}

impl House {
    async fn search(&self, token: &str, kb: &str, question: &str, as_of: Option<&str>) -> Value {
        let question = utf8_percent_encode(question, NON_ALPHANUMERIC);
        let as_of = as_of
            .map(|as_of| format!("&as_of={as_of}"))
            .unwrap_or_default();
        let path = format!("/api/v1/kbs/{kb}/search?query={question}{as_of}");
        self.get(token, &path).await.ok()
    }

    /// What was found, without the ids that differ from house to house.
    async fn found(
        &self,
        token: &str,
        kb: &str,
        question: &str,
        as_of: Option<&str>,
    ) -> Vec<(String, u64, String)> {
        let answer = self.search(token, kb, question, as_of).await;
        let chunks = answer["chunks"].as_array().unwrap().clone();
        let hit = |chunk: &Value| {
            (
                chunk["filename"].as_str().unwrap().to_owned(),
                chunk["seq"].as_u64().unwrap(),
                chunk["text"].as_str().unwrap().to_owned(),
            )
        };
        chunks.iter().map(hit).collect()
    }

    async fn tenant(&self) -> TenantId {
        let mut directory = self.app.core.db.read_directory().await.unwrap();
        store::tenants::list(&mut directory).await.unwrap()[0].id
    }

    /// Ordinals and scores as the index gives them.
    async fn scores(&self, kb: &str, question: &str, role: Role) -> Vec<(i64, f32)> {
        let kb: KbId = kb.parse().unwrap();
        let core = &self.app.core;
        let index = core
            .indexes
            .synced(self.tenant().await, kb, None)
            .await
            .unwrap();
        let hits = index.find(Query::new(question, role, 50)).await.unwrap();
        let told = |hit: &Hit| (hit.ordinal, hit.score);
        hits.iter().map(told).collect()
    }
}

/// Members of a base with every role, in the order of the roles; a token each.
async fn readers(house: &House, kb: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    for role in ["viewer", "editor", "admin"] {
        let email = format!("{role}@example.org");
        let token = house.person(&email, "write").await;
        house.grant(kb, &email, role).await;
        tokens.push(token);
    }
    tokens
}

const PLACES: [&str; 5] = ["valley", "hill", "river", "Tal", "北京大学"];

fn note(n: usize) -> String {
    let place = PLACES[n % PLACES.len()];
    let year = 1900 + n % 7;
    format!(
        "# Note {n}\n\nThe harvest of {year} in the {place} was good.\n\n## Weather\n\nIt rained for {} days; die Ernte war {n} Zentner.",
        n % 4
    )
}

/// The same history, each step on the next of the nodes: documents, later versions, roles,
/// deletions, a restore, a purge. The moments between its parts.
async fn history(nodes: &[&House], kb: &str) -> Vec<String> {
    let mut moments = Vec::new();
    let mut ids = Vec::new();
    let mut turn = nodes.iter().cycle();
    let mut tick = async |house: &House| {
        house.clock.advance_seconds(60);
        moments.push(house.now().to_string());
        house.clock.advance_seconds(60);
    };
    for n in 0..24 {
        let role = ["viewer", "editor", "admin"][if n % 5 == 0 { n / 5 % 3 } else { 0 }];
        let house = turn.next().unwrap();
        ids.push(
            house
                .document_for(kb, &format!("note-{n}.md"), &note(n), role)
                .await,
        );
        house.clock.advance_seconds(1);
    }
    tick(nodes[0]).await;
    for n in [1, 7, 13] {
        let later = format!("{}\n\n## Later\n\nThe valley was sold in 1950.", note(n));
        turn.next()
            .unwrap()
            .document(kb, &format!("note-{n}.md"), &later)
            .await;
    }
    tick(nodes[0]).await;
    for n in [2, 3, 9] {
        let path = format!("/api/v1/kbs/{kb}/documents/{}", ids[n]);
        turn.next()
            .unwrap()
            .local(Method::DELETE, &path, Value::Null)
            .await
            .ok();
    }
    tick(nodes[0]).await;
    let path = format!("/api/v1/kbs/{kb}/documents/{}/restore", ids[3]);
    turn.next()
        .unwrap()
        .local(Method::POST, &path, json!({}))
        .await
        .ok();
    let path = format!("/api/v1/kbs/{kb}/documents/{}/purge", ids[11]);
    turn.next()
        .unwrap()
        .local(Method::POST, &path, json!({}))
        .await
        .ok();
    for house in nodes {
        house.work().await;
    }
    moments
}

const QUESTIONS: [&str; 6] = [
    "harvest in the valley",
    "how long did it rain in 1903",
    "Ernte",
    "北京大学",
    "what was sold in 1950",
    "note 11",
];

#[test]
fn two_nodes_answer_like_one_machine() {
    on_postgres(async |s3| {
        let alone = House::new(Engine::Sqlite, &[]).await;
        let (one, two) = two_nodes(&s3).await;
        let (kb_alone, kb) = (
            alone.base("Papers", "open").await,
            one.base("Papers", "open").await,
        );
        let (tokens_alone, tokens) = (readers(&alone, &kb_alone).await, readers(&one, &kb).await);

        let moments = history(&[&alone], &kb_alone).await;
        assert_eq!(moments, history(&[&one, &two], &kb).await);

        let mut answers = 0;
        for question in QUESTIONS {
            for (theirs, ours) in tokens_alone.iter().zip(&tokens) {
                for as_of in std::iter::once(None).chain(moments.iter().map(|at| Some(at.as_str())))
                {
                    let expected = alone.found(theirs, &kb_alone, question, as_of).await;
                    assert_eq!(
                        one.found(ours, &kb, question, as_of).await,
                        expected,
                        "{question} {as_of:?}"
                    );
                    assert_eq!(
                        two.found(ours, &kb, question, as_of).await,
                        expected,
                        "{question} {as_of:?}"
                    );
                    answers += usize::from(!expected.is_empty());
                }
            }
            for role in [Role::Viewer, Role::Editor, Role::Owner] {
                let expected = alone.scores(&kb_alone, question, role).await;
                assert_eq!(
                    one.scores(&kb, question, role).await,
                    expected,
                    "{question}"
                );
                assert_eq!(
                    two.scores(&kb, question, role).await,
                    expected,
                    "{question}"
                );
            }
        }
        assert!(50 < answers, "{answers} answers say something");
    });
}

#[test]
fn a_cache_deleted_while_its_node_runs_never_makes_an_answer_wrong() {
    on_postgres(async |s3| {
        let (one, two) = two_nodes(&s3).await;
        let kb = one.base("Papers", "open").await;
        let token = one.person("ann@example.org", "write").await;
        for n in 0..12 {
            one.document(&kb, &format!("note-{n}.md"), &note(n)).await;
        }
        let before = two.found(&token, &kb, "harvest in the valley", None).await;
        assert!(!before.is_empty());

        std::fs::remove_dir_all(two.data().join("index")).unwrap();
        assert_eq!(
            two.found(&token, &kb, "harvest in the valley", None).await,
            before
        );
        for n in 12..18 {
            one.document(&kb, &format!("note-{n}.md"), &note(n)).await;
            std::fs::remove_dir_all(two.data().join("index")).ok();
            let path = format!("/api/v1/kbs/{kb}/search?query=harvest%20in%20the%20valley");
            let answer = two.get(&token, &path).await;
            if answer.status != 200 {
                assert_eq!(
                    answer.status,
                    503,
                    "{:?}",
                    String::from_utf8_lossy(&answer.body)
                );
                continue;
            }
            let expected = one.search(&token, &kb, "harvest in the valley", None).await;
            assert_eq!(answer.json(), expected);
        }
        assert_eq!(
            two.found(&token, &kb, "note 17", None).await,
            one.found(&token, &kb, "note 17", None).await
        );
    });
}

#[test]
fn what_was_taken_away_on_one_node_is_refused_on_the_other_at_once() {
    on_postgres(async |s3| {
        let (one, two) = two_nodes(&s3).await;
        let kb = one.base("Papers", "restricted").await;
        let token = one.person("ann@example.org", "write").await;
        one.grant(&kb, "ann@example.org", "viewer").await;
        one.document_for(&kb, "secret.md", "the harvest", "editor")
            .await;
        let path = format!("/api/v1/kbs/{kb}/search?query=harvest");
        assert!(two.found(&token, &kb, "harvest", None).await.is_empty());

        one.grant(&kb, "ann@example.org", "editor").await;
        assert_eq!(two.found(&token, &kb, "harvest", None).await.len(), 1);
        one.grant(&kb, "ann@example.org", "viewer").await;
        assert!(two.found(&token, &kb, "harvest", None).await.is_empty());
        let member = format!("/api/v1/kbs/{kb}/members/ann@example.org");
        one.local(Method::DELETE, &member, Value::Null).await.ok();
        assert_eq!(two.get(&token, &path).await.status, 404);

        let tokens = one.get(&token, "/api/v1/me/tokens").await.ok();
        let id = tokens["tokens"][0]["id"].as_str().unwrap().to_owned();
        assert_eq!(two.get(&token, "/api/v1/me").await.status, 200);
        one.local(
            Method::DELETE,
            &format!("/api/v1/me/tokens/{id}"),
            Value::Null,
        )
        .await
        .ok();
        assert_eq!(two.get(&token, "/api/v1/me").await.status, 401);
    });
}

#[test]
fn two_nodes_write_one_base_at_once_and_both_find_everything_once() {
    on_postgres(async |s3| {
        let (one, two) = two_nodes(&s3).await;
        let kb = one.base("Papers", "open").await;
        let token = one.person("ann@example.org", "write").await;
        let (one, two) = (Arc::new(one), Arc::new(two));
        let mut writers = tokio::task::JoinSet::new();
        for (place, house) in [&one, &two, &one, &two].into_iter().enumerate() {
            let (house, kb) = (Arc::clone(house), kb.clone());
            writers.spawn(async move {
                for n in 0..5 {
                    let name = format!("w{place}n{n}");
                    let text = format!("The mark{name} stands in a field.");
                    house
                        .upload(&kb, &format!("{name}.md"), &text, "viewer")
                        .await
                        .ok();
                    while job::run_next(&house.app.core, JOBS).await.unwrap() {}
                }
            });
        }
        while let Some(done) = writers.join_next().await {
            done.unwrap();
        }
        one.work().await;

        for place in 0..4 {
            for n in 0..5 {
                let name = format!("w{place}n{n}");
                for house in [&one, &two] {
                    let hits = house.found(&token, &kb, &format!("mark{name}"), None).await;
                    let of_it = hits.iter().filter(|hit| hit.0 == format!("{name}.md"));
                    assert_eq!(of_it.count(), 1, "{name}: {hits:?}");
                }
            }
        }
    });
}

/// Files of the segments in a node's caches.
fn segments(house: &House) -> BTreeSet<PathBuf> {
    let mut open = vec![house.data().join("index")];
    let mut found = BTreeSet::new();
    while let Some(place) = open.pop() {
        for entry in std::fs::read_dir(&place).into_iter().flatten().flatten() {
            let path = entry.path();
            let ending = path.extension().and_then(|ending| ending.to_str());
            if path.is_dir() {
                open.push(path);
            } else if matches!(
                ending,
                Some("term" | "idx" | "fast" | "fieldnorm" | "store")
            ) {
                found.insert(path);
            }
        }
    }
    found
}

#[test]
fn a_purge_on_one_node_leaves_no_word_in_the_others_cache() {
    on_postgres(async |s3| {
        let (one, two) = two_nodes(&s3).await;
        let kb = one.base("Papers", "open").await;
        let token = one.person("ann@example.org", "write").await;
        let id = one
            .document(&kb, "secret.md", "The harvest of zyzzogeton.")
            .await;
        assert_eq!(two.found(&token, &kb, "zyzzogeton", None).await.len(), 1);
        let mut with_the_word = segments(&one);
        with_the_word.extend(segments(&two));
        assert!(!with_the_word.is_empty());
        one.document(&kb, "other.md", "Another harvest.").await;
        assert_eq!(two.found(&token, &kb, "harvest", None).await.len(), 2);

        let path = format!("/api/v1/kbs/{kb}/documents/{id}/purge");
        one.local(Method::POST, &path, json!({})).await.ok();
        one.work().await;
        // Nobody searches on the other node; it follows its bases by itself.
        let (end, ended) = watch::channel(false);
        let follow = tokio::spawn(warm::follow(Arc::clone(&two.app), ended));
        within_a_minute(|| segments(&two).is_disjoint(&with_the_word)).await;
        end.send(true).unwrap();
        follow.await.unwrap();

        assert!(segments(&one).is_disjoint(&with_the_word));
        assert_eq!(s3.keys().len(), 1, "the bytes are gone from the bucket too");
        assert_eq!(two.found(&token, &kb, "harvest", None).await.len(), 1);
        assert!(two.found(&token, &kb, "zyzzogeton", None).await.is_empty());
    });
}

/// Waits until it is so; a minute is long enough for any machine.
async fn within_a_minute(so: impl Fn() -> bool) {
    let waited = async {
        while !so() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_mins(1), waited).await;
    assert!(waited.is_ok(), "a minute was not enough");
}

#[test]
fn a_node_is_ready_once_the_bases_it_keeps_are_in_its_cache() {
    on_postgres(async |s3| {
        let settings = in_bucket(&s3);
        let one = House::new(Engine::Postgres, &borrowed(&settings)).await;
        let kb = one.base("Papers", "open").await;
        one.document(&kb, "note.md", "The harvest of zyzzogeton.")
            .await;
        let mut settings = in_bucket(&s3);
        settings.push(("QUIPU_WARM_BASES", "papers".to_owned()));
        settings.push(("QUIPU_WORKER", "false".to_owned()));
        let two = one.beside(&borrowed(&settings)).await;
        let ready = async || two.get("", "/readyz").await;

        let before = ready().await;
        assert_eq!(before.status, 503);
        assert_eq!(before.body, b"the search caches are being brought up\n");
        assert_eq!(
            one.get("", "/readyz").await.status,
            200,
            "it is to keep nothing"
        );
        let (end, ended) = watch::channel(false);
        let mut tasks = server::worker::start(&two.app, JOBS, &ended);
        tasks.spawn(warm::follow(Arc::clone(&two.app), ended.clone()));
        let readiness = Arc::clone(&two.app.readiness);
        within_a_minute(|| readiness.check().is_ok()).await;

        assert_eq!(ready().await.status, 200);
        assert!(
            !segments(&two).is_empty(),
            "though nobody searched on it yet"
        );
        // It does no work in the queue: what comes in waits for a worker.
        two.upload(&kb, "later.md", "The winter of qwyjibo.", "viewer")
            .await
            .ok();
        let counted = async || {
            let mut directory = one.app.core.db.read_directory().await.unwrap();
            store::jobs::counts(&mut directory).await.unwrap()
        };
        let waiting = counted().await;
        let is_waiting =
            |count: &store::jobs::JobCount| count.state == store::jobs::JobState::Waiting;
        assert_eq!(waiting.iter().filter(|count| is_waiting(count)).count(), 1);
        one.work().await;
        let token = one.person("ann@example.org", "read").await;
        assert_eq!(
            two.found(&token, &kb, "qwyjibo", None).await[0].0,
            "later.md"
        );
        end.send(true).unwrap();
        while tasks.join_next().await.is_some() {}
    });
}

#[test]
fn a_search_that_cannot_know_the_last_write_says_when_to_come_again() {
    on_postgres(async |s3| {
        let (one, two) = two_nodes(&s3).await;
        let kb = one.base("Papers", "open").await;
        let token = one.person("ann@example.org", "write").await;
        one.document(&kb, "note.md", "The harvest of zyzzogeton.")
            .await;
        let database = &one.app.settings.database;
        let (mut client, connection) = tokio_postgres::connect(database, tokio_postgres::NoTls)
            .await
            .unwrap();
        tokio::spawn(connection);
        // Passages cannot be read for longer than a search waits.
        let lock = client.transaction().await.unwrap();
        lock.batch_execute("LOCK TABLE chunk IN ACCESS EXCLUSIVE MODE")
            .await
            .unwrap();

        let refused = two
            .get(&token, &format!("/api/v1/kbs/{kb}/search?query=harvest"))
            .await;
        let tool = two
            .tool(&token, &kb, "search_chunks", json!({ "query": "harvest" }))
            .await;
        lock.rollback().await.unwrap();

        assert_eq!(
            (refused.status, &refused.json()["code"]),
            (503, &"unavailable".into())
        );
        assert_eq!(refused.headers["retry-after"], "2");
        let told = tool.to_string();
        assert!(
            told.contains("does not know the last documents yet"),
            "{told}"
        );
        assert!(told.contains("\"retry_after_ms\":2000"), "{told}");
        assert_eq!(two.found(&token, &kb, "zyzzogeton", None).await.len(), 1);
    });
}

#[test]
fn a_document_is_acknowledged_only_when_the_bucket_has_it() {
    on_postgres(async |s3| {
        let (one, two) = two_nodes(&s3).await;
        let kb = one.base("Papers", "open").await;
        s3.set_down(Some(Fault::Status(403, "AccessDenied")));

        let refused = one.upload(&kb, "note.md", "The harvest.", "viewer").await;
        let doctor = two
            .local(Method::GET, "/api/v1/doctor", Value::Null)
            .await
            .ok();
        s3.set_down(None);
        let listed = two
            .local(
                Method::GET,
                &format!("/api/v1/kbs/{kb}/documents"),
                Value::Null,
            )
            .await;
        let mended = two
            .local(Method::GET, "/api/v1/doctor", Value::Null)
            .await
            .ok();

        assert_eq!(refused.status, 500);
        assert_eq!(listed.ok()["documents"].as_array().unwrap().len(), 0);
        let about = |doctor: &Value| {
            let findings = doctor["findings"].as_array().unwrap();
            findings
                .iter()
                .find(|one| one["about"] == "blobs")
                .unwrap()
                .clone()
        };
        let wrong = about(&doctor);
        assert!(
            wrong["sentence"]
                .as_str()
                .unwrap()
                .contains("the access key may not do that")
        );
        assert_eq!(
            (&wrong["right"], &doctor["healthy"]),
            (&false.into(), &false.into())
        );
        let right = about(&mended)["sentence"].as_str().unwrap().to_owned();
        assert!(right.starts_with("s3://papers/blobs at http://"), "{right}");
        assert!(right.ends_with("can be written and read") && !right.contains("hush"));
    });
}

#[test]
fn work_of_a_killed_node_is_finished_by_another_and_nothing_is_there_twice() {
    on_postgres(async |s3| {
        let database = fresh_database().await;
        let mut environment = in_bucket(&s3);
        environment.push(("QUIPU_DATABASE", database.clone()));
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let papers = tempfile::tempdir().unwrap();
        for n in 0..12 {
            // Long enough that reading one takes a while.
            let filler = "It rained on the field and nobody was there. ".repeat(6_000);
            let text = format!("# Paper {n}\n\nThe mark{n}x stands here.\n\n{filler}");
            std::fs::write(papers.path().join(format!("paper-{n}.md")), text).unwrap();
        }
        let (client, connection) = tokio_postgres::connect(&database, tokio_postgres::NoTls)
            .await
            .unwrap();
        tokio::spawn(connection);
        let environment = borrowed(&environment);
        let words = |data: &Path, words: &[&str]| {
            quipu(data)
                .envs(environment.iter().copied())
                .args(words)
                .output()
                .unwrap()
        };

        let mut one = Server::start_with(first.path(), &environment);
        text(&words(first.path(), &["base", "create", "Papers"]));
        let made = read_json(&words(
            first.path(),
            &[
                "token", "create", "--name", "t", "--scope", "write", "--json",
            ],
        ));
        let token = made["token"].as_str().unwrap().to_owned();
        let path = papers.path().to_str().unwrap();
        // Acknowledged, not yet read.
        let mut sender = quipu(first.path())
            .args(["ingest", path, "--base", "papers"])
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let count = async |what: &str| -> i64 { client.query_one(what, &[]).await.unwrap().get(0) };
        let all = "SELECT COUNT(*) FROM document";
        let running = "SELECT COUNT(*) FROM job WHERE state = 'running'";
        let reached = tokio::time::timeout(Duration::from_mins(2), async {
            while count(all).await < 12 || count(running).await == 0 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        });
        reached
            .await
            .expect("all are accepted and one is being read");
        one.child.kill().unwrap();
        one.child.wait().unwrap();
        sender.kill().unwrap();
        sender.wait().unwrap();
        let left = count("SELECT COUNT(*) FROM job WHERE state IN ('waiting', 'running')").await;
        assert!(0 < left, "it was killed with work before it");
        // A minute later its leases have run out.
        client
            .execute(
                "UPDATE job SET lease_until = 0 WHERE state = 'running'",
                &[],
            )
            .await
            .unwrap();

        let two = Server::start_with(second.path(), &environment);
        let done = tokio::time::timeout(Duration::from_mins(4), async {
            let ready = "SELECT COUNT(*) FROM document WHERE state = 'ready'";
            while count(ready).await < 12 {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        done.await.expect("the other node reads the rest");
        for n in 0..12 {
            let mark = format!("mark{n}x");
            let remote = [
                "search", &mark, "--base", "papers", "--json", "--server", &two.url, "--token",
                &token,
            ];
            let hits = read_json(&words(Path::new("/nonexistent"), &remote));
            let chunks = hits["chunks"].as_array().unwrap();
            let with = chunks
                .iter()
                .filter(|hit| hit["text"].as_str().unwrap().contains(&mark));
            assert_eq!(with.count(), 1, "{mark}");
        }
        assert_eq!(two.end().code(), Some(0));
    });
}
