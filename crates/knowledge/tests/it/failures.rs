//! What cannot be read, and what is refused.

use serde_json::json;

use crate::app::{App, on_both_engines};

on_both_engines! {
    async fn a_file_that_cannot_be_read_fails_with_the_reason_and_leaves_the_version_before(app: &App) {
        let document = app.document("plan.md", "The harbour opens.").await;

        app.editor().add_bytes("plan.md", &[0xff, 0xfe, 0x00], json!({})).await.unwrap();
        app.work_until_given_up().await;

        let shown = app.viewer().call("show_document", json!({ "document_id": document })).await.unwrap().json;
        assert_eq!((&shown["state"], &shown["failure"]), (&json!("failed"), &json!("`plan.md` is not text")));
        assert_eq!((&shown["version"], &shown["held_version"]), (&json!(2), &json!(1)));
        assert_eq!(app.viewer().found("harbour").await, ["The harbour opens."]);
        assert!(app.viewer().read(&document).await.unwrap().contains("The harbour opens."));
    }

    async fn a_failed_file_that_is_sent_again_is_tried_again(app: &App) {
        app.editor().add_bytes("plan.bin", &[0xff], json!({})).await.unwrap();
        app.work_until_given_up().await;

        let again = app.editor().add_bytes("plan.bin", &[0xff], json!({})).await.unwrap();

        assert_eq!((&again.json["action"], &again.json["version"], &again.json["state"]), (&json!("unchanged"), &json!(1), &json!("pending")));
        let document = again.json["document_id"].as_str().unwrap();
        assert_eq!(app.viewer().read(document).await.unwrap(), "\"plan.bin\" has no text yet: it is pending");
        app.work_until_given_up().await;
        assert_eq!(app.viewer().read(document).await.unwrap(), "\"plan.bin\" could not be read, so it has no text");
    }

    async fn what_makes_no_sense_is_refused_at_once(app: &App) {
        let empty = app.editor().add("a.md", "", json!({})).await.unwrap_err();
        let nameless = app.editor().add(" ", "text", json!({})).await.unwrap_err();
        let key = app.editor().add("a.md", "text", json!({ "external_id": "a\nb" })).await.unwrap_err();
        let role = app.editor().add("a.md", "text", json!({ "least_role": "admin" })).await.unwrap_err();
        let nothing = app.editor().call("add_document", json!({})).await.unwrap_err();

        assert_eq!(empty.message, "the file `a.md` is empty: it has 0 bytes");
        assert!(nameless.message.starts_with("`filename` must be 1 to 500 characters"));
        assert!(key.message.starts_with("`external_id` must be 1 to 1000 characters"));
        assert_eq!(role.message, "`least_role` must be at most your own role `editor`, not `admin`");
        assert!(nothing.message.starts_with("the call carries no file"));
        let listed = app.admin().call("list_documents", json!({})).await.unwrap();
        assert_eq!(listed.json["total"], 0);
    }

    async fn every_step_may_be_run_twice(app: &App) {
        use kernel::{Job, JobCx};
        use knowledge::documents::{EmbedDocument, IndexDocument, ParseDocument};

        let id = app.document("plan.md", "The harbour opens.").await;
        let (document, version) = (id.parse().unwrap(), 1);
        let cx = JobCx { core: app.core.clone(), tenant: app.tenant, base: Some(app.kb), id: model::JobId::new(uuid::Uuid::nil()) };

        ParseDocument { document, version }.run(&cx).await.unwrap();
        app.work().await;
        IndexDocument { document, version }.run(&cx).await.unwrap();
        EmbedDocument { document, version }.run(&cx).await.unwrap();
        app.work().await;

        assert_eq!(app.viewer().found("harbour").await, ["The harbour opens."]);
        let shown = app.viewer().call("show_document", json!({ "document_id": id })).await.unwrap().json;
        assert_eq!((&shown["state"], &shown["version"]), (&json!("ready"), &json!(1)));
    }

    async fn a_model_that_comes_later_gets_what_lacks_vectors(app: &App) {
        let known = app.without_model();
        app.document("plan.md", "The harbour opens.").await;
        assert_eq!(knowledge::documents::enqueue_missing_vectors(&app.core).await.unwrap(), 0);

        app.core.embedders.put(known);
        let needed = knowledge::documents::enqueue_missing_vectors(&app.core).await.unwrap();
        app.work().await;
        let left = knowledge::documents::enqueue_missing_vectors(&app.core).await.unwrap();

        assert_eq!((needed, left), (1, 0));
        assert_eq!(app.viewer().found("harbour").await, ["The harbour opens."]);
    }

    async fn a_short_document_does_not_wait_for_the_vectors_of_a_long_one(app: &App) {
        let long: String = (0..600).map(|n| format!("# Part {n}\n\nThe harbour in year {n}.\n\n")).collect();
        let sent = [("long.md", long.as_str()), ("short.md", "The lighthouse.")];
        for (filename, text) in sent {
            app.editor().add(filename, text, json!({})).await.unwrap();
        }
        let state = async |filename: &str| {
            let listed = app.viewer().call("list_documents", json!({})).await.unwrap().json;
            let documents = listed["documents"].as_array().unwrap().clone();
            let mut found = documents.iter().filter(|one| one["filename"] == filename);
            found.next().unwrap()["state"].as_str().unwrap().to_owned()
        };

        while state("short.md").await != "ready" {
            app.tick();
            assert!(kernel::job::run_next(&app.core, &[knowledge::JOBS]).await.unwrap());
        }

        assert_eq!(state("long.md").await, "embedding");
        app.work().await;
        assert_eq!(state("long.md").await, "ready");
    }
}
