//! Adding, searching, changing and taking away.

use serde_json::json;

use crate::app::{App, on_both_engines};

const PLAN: &str =
    "# Plan\nThe Series C target is 40 million.\n\n# Team\nAnn leads the harbour office.\n";

on_both_engines! {
    async fn a_document_that_was_added_is_found_and_read(app: &App) {
        let added = app.editor().add("plan.md", PLAN, json!({})).await.unwrap();
        let before = app.viewer().found("Series C target").await;
        app.work().await;

        let answer = app.viewer().call("search_chunks", json!({ "query": "Series C target" })).await.unwrap();

        assert_eq!((added.status, &added.json["action"], &added.json["state"]), (202, &json!("created"), &json!("pending")));
        assert!(before.is_empty());
        let hit = &answer.json["chunks"][0];
        assert_eq!(hit["text"], "The Series C target is 40 million.");
        assert_eq!(hit["document_id"], added.json["document_id"]);
        assert_eq!((&hit["filename"], &hit["seq"], &hit["truncated"]), (&json!("plan.md"), &json!(0), &json!(false)));
        assert_eq!((&answer.json["as_of"], &answer.json["limit"], &answer.json["limit_reached"]), (&json!(null), &json!(6), &json!(false)));
        let document = added.json["document_id"].as_str().unwrap();
        assert_eq!(
            app.viewer().read(document).await.unwrap(),
            "\"plan.md\" (no date) — 2 section(s):\n\n# Plan\n\nThe Series C target is 40 million.\n\n# Team\n\nAnn leads the harbour office."
        );
        let shown = app.viewer().call("show_document", json!({ "document_id": document })).await.unwrap();
        assert_eq!((&shown.json["state"], &shown.json["chunks"]), (&json!("ready"), &json!(2)));
    }

    async fn a_new_version_takes_the_place_of_the_old_one_which_as_of_still_finds(app: &App) {
        let document = app.document("plan.md", PLAN).await;
        let then = app.tick();
        let changed = PLAN.replace("40 million", "55 million");

        let updated = app.editor().add("plan.md", &changed, json!({})).await.unwrap();
        let meanwhile = app.viewer().found("Series C target").await;
        app.work().await;

        assert_eq!((&updated.json["action"], &updated.json["version"]), (&json!("updated"), &json!(2)));
        assert_eq!(updated.json["document_id"], json!(document));
        assert_eq!(meanwhile[0], "The Series C target is 40 million.");
        assert_eq!(app.viewer().found("Series C target").await[0], "The Series C target is 55 million.");
        assert_eq!(app.viewer().found_as_of("Series C target", Some(then)).await[0], "The Series C target is 40 million.");
        let ids = async |as_of: Option<String>| {
            let asked = json!({ "query": "harbour office", "as_of": as_of });
            app.viewer().call("search_chunks", asked).await.unwrap().json["chunks"][0]["chunk_id"].clone()
        };
        assert_eq!(ids(None).await, ids(Some(then.to_string())).await);
    }

    async fn the_same_bytes_change_nothing_and_a_given_date_does(app: &App) {
        let document = app.document("plan.md", PLAN).await;

        let again = app.editor().add("renamed.md", PLAN, json!({ "external_id": "plan.md" })).await.unwrap();
        let dated = app.editor().add("plan.md", PLAN, json!({ "doc_time": "2024-03" })).await.unwrap();
        app.work().await;

        assert_eq!((&again.json["action"], &again.json["version"], &again.json["state"]), (&json!("unchanged"), &json!(1), &json!("ready")));
        assert_eq!((&dated.json["action"], &dated.json["version"]), (&json!("updated"), &json!(2)));
        assert!(app.viewer().read(&document).await.unwrap().starts_with("\"plan.md\" (2024-03) — 2 section(s):"));
    }

    async fn a_deleted_document_is_absent_until_it_is_restored_but_not_before_its_deletion(app: &App) {
        let document = app.document("plan.md", PLAN).await;
        let then = app.tick();
        let named = json!({ "document_id": document });

        app.editor().call("delete_document", named.clone()).await.unwrap();
        let gone = app.tick();
        let absent = app.viewer().read(&document).await.unwrap_err();
        let found = app.viewer().found("Series C target").await;
        let listed = app.viewer().call("list_documents", json!({})).await.unwrap();
        let restored = app.editor().call("restore_document", named.clone()).await.unwrap();
        app.work().await;

        assert_eq!(absent.message, "No document with that id in this knowledge base");
        assert!(found.is_empty());
        assert_eq!((&listed.json["documents"], &listed.json["total"]), (&json!([]), &json!(0)));
        assert_eq!((&restored.json["deleted_at"], &restored.json["held_version"]), (&json!(null), &json!(2)));
        assert_eq!(app.viewer().found("Series C target").await[0], "The Series C target is 40 million.");
        assert_eq!(app.viewer().found_as_of("Series C target", Some(then)).await.len(), 2);
        assert!(app.viewer().found_as_of("Series C target", Some(gone)).await.is_empty());
        assert!(app.viewer().read(&document).await.unwrap().contains("harbour office"));
        let twice = app.editor().call("restore_document", named).await.unwrap_err();
        assert_eq!(twice.code.name(), "conflict");
    }

    async fn a_deleted_document_that_is_sent_again_shows_nothing_of_its_old_text(app: &App) {
        let document = app.document("plan.md", PLAN).await;
        app.editor().call("delete_document", json!({ "document_id": document })).await.unwrap();

        let sent = app.editor().add("plan.md", "A new start.", json!({})).await.unwrap();
        let meanwhile = app.viewer().found("Series C target").await;
        app.work().await;

        assert_eq!(sent.json["document_id"], json!(document));
        assert!(meanwhile.is_empty());
        assert_eq!(app.viewer().found("Series C target new start").await, ["A new start."]);
    }

    async fn a_version_that_waited_when_its_document_was_deleted_is_read_after_the_restore(app: &App) {
        let document = app.document("plan.md", PLAN).await;
        app.editor().add("plan.md", "A new start.", json!({})).await.unwrap();
        let named = json!({ "document_id": document });
        app.editor().call("delete_document", named.clone()).await.unwrap();
        app.work().await;
        app.tick();

        app.editor().call("restore_document", named).await.unwrap();
        let meanwhile = app.viewer().read(&document).await.unwrap();
        app.work().await;

        assert!(meanwhile.contains("harbour office"));
        assert!(app.viewer().read(&document).await.unwrap().ends_with("A new start."));
        assert_eq!(app.viewer().found("harbour start").await, ["A new start."]);
    }

    async fn a_purged_document_leaves_no_word_and_no_file(app: &App) {
        let document = app.document("qzxvplanwords.md", "# Qzxvheading\nThe word qzxvcanary stands here.\n").await;
        let then = app.tick();
        let other = app.document("other.md", "# Other\nA harbour.\n").await;
        let named = json!({ "document_id": document });

        let refused = app.editor().call("purge_document", named.clone()).await.unwrap_err();
        app.admin().call("purge_document", named.clone()).await.unwrap();
        app.work().await;

        assert_eq!(refused.code.name(), "forbidden");
        assert!(app.viewer().found_as_of("qzxvcanary", Some(then)).await.iter().all(|text| !text.contains("qzxv")));
        assert!(app.viewer().read(&document).await.is_err());
        assert!(app.admin().call("show_document", named.clone()).await.is_err());
        assert!(app.admin().call("purge_document", named).await.is_err());
        assert!(app.viewer().read(&other).await.unwrap().contains("harbour"));
        let files: Vec<_> = walk(app.data.path().join("blobs")).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        for file in walk(app.data.path().to_owned()) {
            let bytes = std::fs::read(&file).unwrap();
            assert!(!bytes.windows(10).any(|word| word == b"qzxvcanary"), "{}", file.display());
        }
        let again = app.editor().add("qzxvplanwords.md", "Afresh.", json!({})).await.unwrap();
        assert_eq!(again.json["action"], "created");
    }

    async fn a_file_that_another_document_has_too_outlives_a_purge(app: &App) {
        let first = app.document("a.md", PLAN).await;
        let second = app.document("b.md", PLAN).await;

        app.admin().call("purge_document", json!({ "document_id": first })).await.unwrap();
        app.work().await;

        assert_eq!(walk(app.data.path().join("blobs")).count(), 1);
        assert!(app.viewer().read(&second).await.unwrap().contains("harbour"));
    }

    async fn documents_are_listed_page_by_page_in_the_order_they_came(app: &App) {
        for name in ["a.md", "b.md", "c.md"] {
            app.document(name, name).await;
        }

        let first = app.viewer().call("list_documents", json!({ "limit": 2 })).await.unwrap().json;
        let cursor = first["next_cursor"].clone();
        let second = app.viewer().call("list_documents", json!({ "limit": 2, "cursor": cursor })).await.unwrap().json;

        let names = |page: &serde_json::Value| -> Vec<String> {
            let rows = page["documents"].as_array().unwrap().iter();
            rows.map(|row| row["filename"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!((names(&first), names(&second)), (vec!["a.md".into(), "b.md".into()], vec!["c.md".into()]));
        assert_eq!((&first["total"], &second["next_cursor"]), (&json!(3), &json!(null)));
    }
}

fn walk(folder: std::path::PathBuf) -> impl Iterator<Item = std::path::PathBuf> {
    let mut open = vec![folder];
    let mut files = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.into_iter()
}
