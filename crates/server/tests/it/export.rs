//! A base exported over REST and the command line, and taken in elsewhere whole or not at all.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Output};

use axum::body::Body;
use axum::extract::Request;
use http::Method;
use http_body_util::BodyExt;
use kernel::Chance;
use serde_json::{Value, json};
use server::http::listen::in_process;
use sha2::{Digest, Sha256};
use store::rows;

use crate::house::{Answer, Engine, House, on_both_engines, on_sqlite_with};

/// A base with a document, two things and a fact about them that rests on it.
async fn papers(house: &House) -> String {
    let kb = house.base("Papers", "restricted").await;
    let text = "# Memo\n\nFrom May, Ann leads Acme.";
    house.document(&kb, "memo.md", text).await;
    house
        .document(&kb, "otters.md", "# Otters\n\nOtters hold hands.")
        .await;
    let post = async |path: &str, body: Value| {
        house.clock.advance_seconds(1);
        let path = format!("/api/v1/kbs/{kb}/{path}");
        house.local(Method::POST, &path, body).await.ok()
    };
    let ann = post("entities", json!({ "name": "Ann" })).await["id"].clone();
    let acme = post("entities", json!({ "name": "Acme" })).await["id"].clone();
    post("ontology/relation-types", json!({ "label": "leads" })).await;
    let found = house
        .local(
            Method::GET,
            &format!("/api/v1/kbs/{kb}/search?query=leads"),
            Value::Null,
        )
        .await
        .ok();
    let chunk = found["chunks"][0]["chunk_id"].clone();
    post(
        "facts",
        json!({ "subject_id": ann, "predicate": "leads", "object_id": acme, "valid_from": "2024-05",
            "evidence": [{ "chunk_id": chunk, "quote": "Ann leads Acme" }] }),
    )
    .await;
    kb
}

async fn archive(house: &House, kb: &str) -> Vec<u8> {
    let answer = house
        .local(
            Method::GET,
            &format!("/api/v1/kbs/{kb}/archive"),
            Value::Null,
        )
        .await;
    assert_eq!(
        answer.status,
        200,
        "{}",
        String::from_utf8_lossy(&answer.body)
    );
    assert_eq!(answer.headers["content-type"], "application/x-tar");
    answer.body
}

async fn import(house: &House, archive: &[u8]) -> Answer {
    let request = Request::builder()
        .method(Method::POST)
        .uri("/api/v1/kbs/import")
        .header("content-type", "application/x-tar")
        .body(Body::from(archive.to_vec()))
        .unwrap();
    let (head, body) = in_process(&house.router, request).await.into_parts();
    Answer {
        status: head.status.as_u16(),
        headers: head.headers,
        body: body.collect().await.unwrap().to_bytes().to_vec(),
    }
}

#[test]
fn a_viewer_exports_and_to_an_outsider_the_base_does_not_exist() {
    on_both_engines(|house| async move {
        let kb = papers(&house).await;
        let viewer = house.person("vera@example.org", "read").await;
        house.grant(&kb, "vera@example.org", "viewer").await;
        let outsider = house.person("otto@example.org", "read").await;
        let made_up = "0198c5f2-7c1e-7b8a-9f5e-2b1c6a7d8e90";

        for (format, media_type, name) in [
            ("", "text/turtle", "papers.ttl"),
            ("?format=ttl", "text/turtle", "papers.ttl"),
            (
                "?format=turtle&base=https://example.org/",
                "text/turtle",
                "papers.ttl",
            ),
            ("?format=jsonld", "application/ld+json", "papers.jsonld"),
            ("?format=json-ld", "application/ld+json", "papers.jsonld"),
            ("?format=json", "application/ld+json", "papers.jsonld"),
        ] {
            let path = format!("/api/v1/kbs/{kb}/export{format}");
            let answer = house.get(&viewer, &path).await;
            assert_eq!(answer.status, 200, "{format}");
            assert_eq!(answer.headers["content-type"], media_type);
            let named = answer.headers["content-disposition"].to_str().unwrap();
            assert!(named.contains(name), "{named}");
            assert!(String::from_utf8_lossy(&answer.body).contains("Ann leads Acme"));
        }
        let theirs = house
            .get(&outsider, &format!("/api/v1/kbs/{kb}/export"))
            .await;
        let nobodys = house
            .get(&outsider, &format!("/api/v1/kbs/{made_up}/export"))
            .await;
        assert_eq!((theirs.status, nobodys.status), (404, 404));
        assert_eq!(theirs.without_request_id(), nobodys.without_request_id());
        assert_eq!(
            house
                .get(&viewer, &format!("/api/v1/kbs/{kb}/archive"))
                .await
                .status,
            403
        );
        let refused = house
            .get(&viewer, &format!("/api/v1/kbs/{kb}/export?base=x"))
            .await;
        assert_eq!(refused.status, 400);
    });
}

#[test]
fn every_export_and_import_leaves_a_row_of_activity() {
    on_both_engines(|house| async move {
        let kb = papers(&house).await;
        let viewer = house.person("vera@example.org", "read").await;
        house.grant(&kb, "vera@example.org", "viewer").await;

        house
            .get(&viewer, &format!("/api/v1/kbs/{kb}/export"))
            .await;
        house
            .get(&viewer, &format!("/api/v1/kbs/{kb}/archive"))
            .await;
        let bytes = archive(&house, &kb).await;
        assert_eq!(import(&house, &bytes).await.status, 409);
        house.work().await;

        let all = house
            .local(Method::GET, "/api/v1/audit?limit=200", Value::Null)
            .await
            .ok();
        let rows = all["activity"].as_array().unwrap();
        let verdicts = |operation: &str| -> Vec<&str> {
            let of = rows.iter().filter(|row| row["operation"] == operation);
            of.map(|row| row["verdict"].as_str().unwrap()).collect()
        };
        assert_eq!(verdicts("export_graph"), ["ok"]);
        let mut archives = verdicts("export_base");
        archives.sort_unstable();
        assert_eq!(archives, ["forbidden", "ok"]);
        assert_eq!(verdicts("import_base"), ["conflict"]);
        let row = rows
            .iter()
            .find(|row| row["operation"] == "export_graph")
            .unwrap();
        assert!(row.to_string().contains("vera@example.org"), "{row}");
    });
}

#[test]
fn only_a_system_admin_takes_a_base_in() {
    on_both_engines(|house| async move {
        let kb = papers(&house).await;
        let bytes = archive(&house, &kb).await;
        let token = house.person("ann@example.org", "write").await;
        let request = Request::builder()
            .method(Method::POST)
            .uri("/api/v1/kbs/import")
            .header("authorization", format!("Bearer {token}"))
            .body(Body::from(bytes))
            .unwrap();
        assert_eq!(house.send(request).await.status, 403);
    });
}

/// The files of a tar file, in order.
fn unpacked(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = tar::Archive::new(bytes);
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_string_lossy().into_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        (path, content)
    });
    entries.collect()
}

/// A tar file of these files, without asking whether their names are good ones.
fn packed(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut out = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_ustar();
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(content.len() as u64);
        header.set_mode(0o600);
        header.set_entry_type(tar::EntryType::Regular);
        header.set_cksum();
        out.append(&header, &content[..]).unwrap();
    }
    out.into_inner().unwrap()
}

fn hex(bytes: &[u8]) -> String {
    let hash: [u8; 32] = Sha256::digest(bytes).into();
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The archive with its files changed, and with a manifest that is true of what they are now but
/// for what `lie` makes of it: as somebody with bad intentions would write it.
fn forged(
    bytes: &[u8],
    change: impl FnOnce(&mut Vec<(String, Vec<u8>)>),
    lie: impl FnOnce(&mut Value),
) -> Vec<u8> {
    let mut files = unpacked(bytes);
    let manifest = files
        .iter()
        .position(|(path, _)| path == "manifest.json")
        .unwrap();
    let mut told: Value = serde_json::from_slice(&files[manifest].1).unwrap();
    files.truncate(manifest);
    change(&mut files);
    told["files"] = files
        .iter()
        .map(|(path, content)| json!({ "path": path, "size": content.len(), "sha256": hex(content) }))
        .collect();
    lie(&mut told);
    let told = serde_json::to_vec(&told).unwrap();
    let hash = format!("{}  manifest.json\n", hex(&told));
    files.push(("manifest.json".to_owned(), told));
    files.push(("manifest.sha256".to_owned(), hash.into_bytes()));
    packed(&files)
}

/// What a house holds: rows of each table but the log's, and the files of documents.
async fn holds(house: &House) -> Vec<String> {
    let mut tx = house.app.core.db.read_directory().await.unwrap();
    let mut all = Vec::new();
    for table in rows::tables() {
        if !["audit", "audit_seal", "meta"].contains(&table.name()) {
            let count = rows::count(&mut tx, table).await.unwrap();
            all.push(format!("{} {count}", table.name()));
        }
    }
    let kept = house.data().join("blobs/kept");
    let mut folders = vec![kept];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.push(path.display().to_string());
            }
        }
    }
    all
}

fn of<'a>(files: &'a mut [(String, Vec<u8>)], part: &str) -> &'a mut (String, Vec<u8>) {
    files
        .iter_mut()
        .find(|(path, _)| path.contains(part))
        .unwrap()
}

#[test]
fn a_damaged_or_forged_archive_is_refused_by_what_is_wrong_and_nothing_is_kept() {
    on_both_engines(|house| async move {
        let kb = papers(&house).await;
        let whole = archive(&house, &kb).await;
        assert_eq!(
            forged(&whole, |_| (), |_| ()).len(),
            forged(&whole, |_| (), |_| ()).len()
        );
        let engine = match house.app.core.db.engine_name() {
            "sqlite" => Engine::Sqlite,
            _ => Engine::Postgres,
        };
        let there = House::new(engine, &[]).await;
        let before = holds(&there).await;
        let place = |part: &str| {
            let mut archive = tar::Archive::new(&whole[..]);
            let mut entries = archive.entries().unwrap().map(Result::unwrap);
            let entry =
                entries.find(|entry| entry.path().unwrap().to_string_lossy().contains(part));
            entry.unwrap().raw_file_position() as usize
        };
        let flipped = |part: &str| {
            let mut bytes = whole.clone();
            bytes[place(part) + 2] ^= 1;
            bytes
        };
        let mut refused = vec![
            (
                "a bit of rows",
                flipped("rows/fact/"),
                "is not what was written",
            ),
            (
                "a bit of a document",
                flipped("blobs/"),
                "is not what was written",
            ),
            (
                "a bit of the manifest",
                flipped("manifest.json"),
                "is not what",
            ),
            ("nothing", Vec::new(), "no archive of a base"),
            ("no tar file", b"x".repeat(3000), "no whole tar file"),
            (
                "a newer form",
                forged(&whole, |_| (), |told| told["format_version"] = json!(2)),
                "form 2",
            ),
            (
                "another form",
                forged(
                    &whole,
                    |_| (),
                    |told| told["format"] = json!("quipu-backup"),
                ),
                "`quipu-backup`",
            ),
            (
                "a later schema",
                forged(
                    &whole,
                    |_| (),
                    |told| {
                        told["schema"]
                            .as_array_mut()
                            .unwrap()
                            .push(json!({ "number": 99, "name": "x", "checksum": "0" }));
                    },
                ),
                "newer version",
            ),
            (
                "an earlier schema",
                forged(
                    &whole,
                    |_| (),
                    |told| {
                        told["schema"].as_array_mut().unwrap().pop();
                    },
                ),
                "migration",
            ),
            (
                "a wrong count",
                forged(&whole, |_| (), |told| told["tables"]["fact"] = json!(7)),
                "rows of `fact`",
            ),
            (
                "a wrong count of files",
                forged(&whole, |_| (), |told| told["blobs"]["count"] = json!(7)),
                "files of documents",
            ),
            (
                "a row too many",
                forged(
                    &whole,
                    |files| {
                        let rows = &mut of(files, "rows/fact/").1;
                        let first = rows.iter().position(|&byte| byte == b'\n').unwrap();
                        let again = rows[..=first].to_vec();
                        rows.extend(again);
                    },
                    |_| (),
                ),
                "rows of `fact`",
            ),
            (
                "a row twice",
                forged(
                    &whole,
                    |files| {
                        let rows = &mut of(files, "rows/fact/").1;
                        let first = rows.iter().position(|&byte| byte == b'\n').unwrap();
                        let again = rows[..=first].to_vec();
                        rows.extend(again);
                    },
                    |told| {
                        told["tables"]["fact"] =
                            json!(told["tables"]["fact"].as_u64().unwrap() + 1);
                    },
                ),
                "holds a row of `fact` twice",
            ),
            (
                "no row",
                forged(
                    &whole,
                    |files| of(files, "rows/fact/").1 = b"{}\n".to_vec(),
                    |told| told["tables"]["fact"] = json!(1),
                ),
                "is no row of `fact`",
            ),
            (
                "a table of the deployment",
                forged(
                    &whole,
                    |files| {
                        files.push((
                            "rows/user_account/000001.jsonl".to_owned(),
                            b"[]\n".to_vec(),
                        ));
                    },
                    |told| told["tables"]["user_account"] = json!(1),
                ),
                "rows/user_account",
            ),
            (
                "a way out",
                forged(
                    &whole,
                    |files| files.push(("../../etc/cron.d/x".to_owned(), b"x".to_vec())),
                    |_| (),
                ),
                "no plain file",
            ),
            (
                "an absolute path",
                forged(
                    &whole,
                    |files| files.push(("/etc/cron.d/x".to_owned(), b"x".to_vec())),
                    |_| (),
                ),
                "no plain file",
            ),
            (
                "a way out below blobs",
                forged(
                    &whole,
                    |files| files.push(("blobs/../../x".to_owned(), b"x".to_vec())),
                    |_| (),
                ),
                "no plain file",
            ),
            (
                "a stray file",
                forged(
                    &whole,
                    |files| files.push(("readme.txt".to_owned(), b"x".to_vec())),
                    |_| (),
                ),
                "readme.txt",
            ),
            (
                "sections of no document",
                forged(
                    &whole,
                    |files| files.retain(|(path, _)| !path.starts_with("rows/document/")),
                    |told| told["tables"]["document"] = json!(0),
                ),
                "without their document",
            ),
        ];
        for part in 1..8 {
            refused.push(("cut off", whole[..whole.len() * part / 8].to_vec(), ""));
        }
        for (what, bytes, says) in refused {
            let answer = import(&there, &bytes).await;
            let told = String::from_utf8_lossy(&answer.body).into_owned();
            assert!(answer.status >= 400, "{what}: {told}");
            assert!(told.contains(says), "{what}: {told}");
            assert!(!told.contains("Otters"), "{what}: {told}");
            assert_eq!(holds(&there).await, before, "{what}");
        }
        assert_eq!(import(&there, &whole).await.status, 201);
        assert!(whole == archive(&there, &kb).await);
    });
}

fn run(data: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quipu"))
        .env_clear()
        .env("HOME", data)
        .env("QUIPU_DATA", data)
        .args(words)
        .output()
        .unwrap()
}

fn done(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_command_line_exports_and_imports_between_two_data_folders() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let files = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let kb = runtime.block_on(async {
        let house = House::in_folder(here, None, &[], Chance::system()).await;
        let kb = papers(&house).await;
        let here = house.data().to_owned();
        house.app.core.db.clone().close().await;
        let at = |name: &str| files.path().join(name).to_str().unwrap().to_owned();
        let (first, second) = (at("first.tar"), at("second.tar"));

        let told = done(&run(
            &here,
            &["export", &first, "--base", "papers", "--json"],
        ));
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["base"]["id"], json!(kb));
        assert_eq!(told["blobs"]["count"], 2);
        let imported = done(&run(there.path(), &["import", &first]));
        assert!(
            imported.contains(&kb) && imported.contains("papers"),
            "{imported}"
        );
        let again = run(there.path(), &["import", &first]);
        assert_eq!(again.status.code(), Some(5));
        let told = String::from_utf8_lossy(&again.stderr).into_owned();
        assert!(told.contains("`papers`") && told.contains(&kb), "{told}");
        done(&run(there.path(), &["export", &second, "--base", "papers"]));
        assert!(std::fs::read(&first).unwrap() == std::fs::read(&second).unwrap());

        done(&run(
            there.path(),
            &[
                "export",
                files.path().to_str().unwrap(),
                "--format",
                "turtle",
            ],
        ));
        let graph = std::fs::read_to_string(files.path().join(format!("{kb}.ttl"))).unwrap();
        assert!(graph.contains("\"Ann leads Acme\"") && graph.contains("urn:utopia:kb:"));
        let piped = run(
            there.path(),
            &[
                "export",
                "-",
                "--format",
                "jsonld",
                "--iri-base",
                "https://example.org/",
            ],
        );
        let graph: Value = serde_json::from_slice(&piped.stdout).unwrap();
        assert!(graph.to_string().contains("https://example.org/kb/"));
        let refused = run(
            there.path(),
            &["export", "-", "--iri-base", "https://example.org/"],
        );
        assert_eq!(refused.status.code(), Some(2));
        let found = done(&run(
            there.path(),
            &["search", "otters", "--base", "papers"],
        ));
        assert!(found.contains("otters.md"), "{found}");
        kb
    });
    let left = std::fs::read_dir(files.path()).unwrap().count();
    assert_eq!(left, 3, "no partial file is left, {kb}");
}

#[test]
fn a_receiver_that_goes_away_gives_its_place_for_an_export_back() {
    on_sqlite_with(&[], |house| async move {
        let kb = papers(&house).await;
        let path = format!("/api/v1/kbs/{kb}/export");
        for _ in 0..8 {
            let request = Request::builder().uri(&path).body(Body::empty()).unwrap();
            let mut answer = in_process(&house.router, request).await;
            while answer.status() == 503 {
                tokio::task::yield_now().await;
                let request = Request::builder().uri(&path).body(Body::empty()).unwrap();
                answer = in_process(&house.router, request).await;
            }
            assert_eq!(answer.status(), 200);
            drop(answer);
        }
    });
}
