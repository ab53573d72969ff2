//! What keeps a deployment sound: the check of everything, and building derived things anew.

use engine::soundness::{self, Files, Finding, Place};
use http::Method;
use model::{DocumentId, KbId, TenantId};
use serde_json::{Value, json};
use std::sync::Arc;
use store::documents::{self, Parsed, StoredSection};
use store::{rows, tenants};

use crate::house::{House, on_both_engines};

/// Everything that is wrong in a house.
pub async fn findings(house: &House) -> Vec<Finding> {
    let core = &house.app.core;
    let clock = house.clock.clone();
    let place = Place {
        db: &core.db,
        blobs: &core.blobs,
        indexes: &core.indexes,
        now: Arc::new(move || clock.now()),
    };
    soundness::findings(&place, core.ids.next(), Files::Bytes)
        .await
        .unwrap()
}

pub async fn tenant(house: &House) -> TenantId {
    let mut directory = house.app.core.db.read_directory().await.unwrap();
    tenants::list(&mut directory).await.unwrap()[0].id
}

/// The lines of an answer that comes line by line, while the work it asks for is done.
async fn lines(house: &House, method: Method, path: &str, arguments: Value) -> Vec<Value> {
    let answering = house.local(method, path, arguments);
    let mut answering = std::pin::pin!(answering);
    let answer = loop {
        tokio::select! {
            answer = &mut answering => break answer,
            () = house.work() => tokio::task::yield_now().await,
        }
    };
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["content-type"], "application/x-ndjson");
    let text = String::from_utf8(answer.body).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

async fn chunks(house: &House, kb: &str, query: &str) -> Vec<(String, String)> {
    let path = format!("/api/v1/kbs/{kb}/search?query={query}");
    let answer = house.local(Method::GET, &path, Value::Null).await.ok();
    let word = |hit: &Value, name: &str| hit[name].as_str().unwrap().to_owned();
    let hits = answer["chunks"].as_array().unwrap().iter();
    hits.map(|hit| (word(hit, "chunk_id"), word(hit, "text")))
        .collect()
}

#[test]
fn a_check_finds_nothing_wrong_where_nothing_is() {
    on_both_engines(|house| async move {
        let kb = house.base("Papers", "restricted").await;
        let id = house
            .document(&kb, "otters.md", "# Otters\n\nOtters hold hands.")
            .await;
        house
            .document(&kb, "bears.md", "# Bears\n\nBears sleep.")
            .await;
        let path = format!("/api/v1/kbs/{kb}/documents/{id}");
        house.local(Method::DELETE, &path, Value::Null).await.ok();
        house.work().await;

        let told = lines(&house, Method::GET, "/api/v1/verify", Value::Null).await;

        assert_eq!(findings(&house).await, []);
        let done = &told.last().unwrap()["done"];
        assert_eq!(
            (&done["bases"], &done["files"], &done["findings"]),
            (&json!(1), &json!(2), &json!(0))
        );
        assert!(
            told.iter().all(|line| line.get("finding").is_none()),
            "{told:?}"
        );
    });
}

#[test]
fn a_check_names_what_is_wrong_where_and_how_it_is_mended() {
    on_both_engines(|house| async move {
        let kb = house.base("Papers", "restricted").await;
        let otters = house
            .document(&kb, "otters.md", "# Otters\n\nOtters hold hands.")
            .await;
        house
            .document(&kb, "bears.md", "# Bears\n\nBears sleep.")
            .await;
        let (core, tenant) = (&house.app.core, tenant(&house).await);
        let mut tx = core.db.read(tenant).await.unwrap();
        let kb_id: KbId = kb.parse().unwrap();
        let named = rows::named_blobs(&mut tx, kb_id).await.unwrap();
        drop(tx);
        let paths: Vec<_> = named
            .blobs
            .iter()
            .map(|(hash, _)| {
                store::blobs::BlobKey {
                    tenant,
                    kb: kb_id,
                    hash: *hash,
                }
                .path()
            })
            .map(|path| house.data().join("blobs/kept").join(path))
            .collect();
        std::fs::remove_file(&paths[0]).unwrap();
        std::fs::write(&paths[1], "something else").unwrap();
        // A vector of no passage, a section of no version, and a version nobody holds any more.
        let nobody = "0198c5f2-7c1e-7b8a-9f5e-2b1c6a7d8e90";
        let mut tx = core.db.write_directory().await.unwrap();
        let table = |name: &str| {
            rows::tables()
                .iter()
                .find(|table| table.name() == name)
                .unwrap()
        };
        let section = json!([tenant, kb, nobody, 1, 0, "[]", "lost words", 0, 10]).to_string();
        rows::load(&mut tx, table("section"), &section)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        let mut tx = core.db.write(tenant).await.unwrap();
        let id: DocumentId = otters.parse().unwrap();
        let nothing = documents::DocumentState::Embedding;
        documents::set_state(&mut tx, kb_id, (id, 1), nothing, None, house.now())
            .await
            .unwrap();
        tx.commit().await.unwrap();

        let found = findings(&house).await;

        let mut whats: Vec<&str> = found.iter().map(|finding| finding.what.as_str()).collect();
        whats.sort_unstable();
        assert_eq!(
            whats,
            [
                "documents on their way that no job brings further",
                "sections without their version",
                "the bytes of a document are missing",
                "the bytes of a document are not what was sent",
            ]
        );
        let all = format!("{found:?}");
        assert!(
            all.contains(&format!("papers: document {nobody}, version 1")),
            "{all}"
        );
        assert!(
            all.contains(&format!("document {otters}, version 1, embedding")),
            "{all}"
        );
        assert!(all.contains("quipu reindex --parse --base papers"), "{all}");
        assert!(!all.contains("lost words"), "no stored text is shown");
    });
}

#[test]
fn searches_go_on_while_a_cache_is_built_anew_and_find_the_same_after() {
    on_both_engines(|house| async move {
        let kb = house.base("Papers", "restricted").await;
        for number in 0..12 {
            let text = format!("# Otters {number}\n\nOtters hold hands, says report {number}.");
            house.document(&kb, &format!("{number}.md"), &text).await;
        }
        let before = chunks(&house, &kb, "otters").await;
        let folder = house.data().join("index").join(&kb);
        std::fs::write(folder.join("mark-of-the-old-one"), "").unwrap();

        let told = tokio::select! {
            told = lines(&house, Method::POST, "/api/v1/reindex", json!({ "base_id": kb })) => told,
            () = async {
                loop {
                    assert_eq!(chunks(&house, &kb, "otters").await, before);
                    tokio::task::yield_now().await;
                }
            } => unreachable!(),
        };

        let done = &told.last().unwrap()["done"];
        assert_eq!((&done["bases"], &done["passages"]), (&json!(1), &json!(12)));
        assert_eq!(chunks(&house, &kb, "otters").await, before);
        assert!(
            !folder.join("mark-of-the-old-one").exists(),
            "it is another cache"
        );
        house
            .document(&kb, "late.md", "# Late\n\nLate otters are found as well.")
            .await;
        assert_eq!(chunks(&house, &kb, "late").await.len(), 1);
        let beside: Vec<_> = std::fs::read_dir(house.data().join("index"))
            .unwrap()
            .collect();
        assert_eq!(beside.len(), 1, "{beside:?}");
        assert_eq!(findings(&house).await, []);
    });
}

#[test]
fn documents_that_read_as_before_keep_their_ids_when_they_are_read_again() {
    on_both_engines(|house| async move {
        let kb = house.base("Papers", "restricted").await;
        house
            .document(&kb, "otters.md", "# Otters\n\nOtters hold hands.")
            .await;
        let bears = house
            .document(&kb, "bears.md", "# Bears\n\nBears sleep.")
            .await;
        let otters = chunks(&house, &kb, "otters").await;
        let as_read = chunks(&house, &kb, "bears").await;
        misread(&house, &kb, &bears).await;
        house.clock.advance_seconds(10);
        let before = house.now();
        house.clock.advance_seconds(10);

        let told = lines(
            &house,
            Method::POST,
            "/api/v1/reindex",
            json!({ "parse": true }),
        )
        .await;

        let done = &told.last().unwrap()["done"];
        assert_eq!(
            (&done["documents"], &done["changed"]),
            (&json!(2), &json!(1))
        );
        house.work().await;
        assert_eq!(chunks(&house, &kb, "otters").await, otters);
        assert_eq!(chunks(&house, &kb, "bears").await, as_read);
        let text = format!("/api/v1/kbs/{kb}/documents/{bears}/text");
        let now = house
            .local(Method::GET, &text, Value::Null)
            .await
            .ok()
            .to_string();
        assert!(now.contains("Bears sleep."), "{now}");
        let path = format!("/api/v1/kbs/{kb}/documents/{bears}/versions");
        let versions = house.local(Method::GET, &path, Value::Null).await.ok();
        assert_eq!(versions["versions"].as_array().unwrap().len(), 2);
        let mut tx = house.app.core.db.read(tenant(&house).await).await.unwrap();
        let (kb_id, id) = (kb.parse().unwrap(), bears.parse().unwrap());
        let held = documents::version_at(&mut tx, kb_id, id, before)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(held.version, 1, "the past stays as it was");
        assert_eq!(findings(&house).await, []);
    });
}

/// Makes the stored text another one than the file has, as a worse reader would have.
async fn misread(house: &House, kb: &str, document: &str) {
    let (kb, id): (KbId, DocumentId) = (kb.parse().unwrap(), document.parse().unwrap());
    let mut tx = house.app.core.db.write(tenant(house).await).await.unwrap();
    let parsed = Parsed {
        media_type: None,
        title: Some("Bears"),
        document_date: None,
        date_source: None,
        left_out: &[],
        char_count: 4,
    };
    let section = StoredSection {
        seq: 0,
        heading_path: Vec::new(),
        body: "Be rs".to_owned(),
        char_start: 0,
        char_count: 5,
    };
    documents::put_parsed(&mut tx, kb, (id, 1), &parsed, &[section])
        .await
        .unwrap();
    tx.commit().await.unwrap();
}

#[test]
fn a_document_that_failed_is_tried_again_when_all_are_read_again() {
    on_both_engines(|house| async move {
        let kb = house.base("Papers", "restricted").await;
        let id = house
            .document(&kb, "otters.md", "# Otters\n\nOtters hold hands.")
            .await;
        let mut tx = house.app.core.db.write(tenant(&house).await).await.unwrap();
        let (kb_id, document) = (kb.parse().unwrap(), id.parse().unwrap());
        let failed = documents::DocumentState::Failed;
        let why = Some("it could not be read");
        documents::set_state(&mut tx, kb_id, (document, 1), failed, why, house.now())
            .await
            .unwrap();
        tx.commit().await.unwrap();

        lines(
            &house,
            Method::POST,
            "/api/v1/reindex",
            json!({ "parse": true }),
        )
        .await;
        house.work().await;

        let path = format!("/api/v1/kbs/{kb}/documents/{id}");
        let shown = house.local(Method::GET, &path, Value::Null).await.ok();
        assert_eq!(shown["state"], "ready", "{shown}");
    });
}
