//! What a call costs when there is more: told by the statements that run, not by a clock.

use std::collections::BTreeMap;

use serde_json::json;

use crate::app::{App, on_both_engines};

/// Adds documents numbered from `first`, and how often each statement ran until all were ready.
async fn ingested(app: &App, first: usize, documents: usize) -> BTreeMap<&'static str, usize> {
    let recording = app.core.db.record_statements();
    for n in first..first + documents {
        let text = format!("Ship number {n} enters the harbour.");
        app.editor()
            .add(&format!("ship-{n}.md"), &text, json!({}))
            .await
            .unwrap();
    }
    app.work().await;
    let mut counts = BTreeMap::new();
    for statement in recording.statements() {
        *counts.entry(statement).or_default() += 1;
    }
    counts
}

/// The statements of one search.
async fn searched(app: &App) -> Vec<&'static str> {
    app.viewer().found("harbour").await;
    let recording = app.core.db.record_statements();
    app.viewer().found("harbour").await;
    recording.statements()
}

on_both_engines! {
    async fn documents_that_wait_together_are_taken_together(app: &App) {
        app.without_model();

        let counts = ingested(app, 0, 60).await;

        // One for the parsing, one for the indexing, and a look at each queue that finds nothing.
        assert!(counts["store::jobs::CLAIM"] <= 5, "{counts:?}");
        assert!(counts["store::chunks::SINCE"] <= 4, "{counts:?}");
        assert_eq!(counts["store::chunks::INSERT"], 60);
        let listed = app.viewer().call("list_documents", json!({ "state": "ready", "limit": 500 })).await.unwrap();
        assert_eq!(listed.json["documents"].as_array().unwrap().len(), 60);
    }

    async fn a_document_costs_the_same_statements_however_many_there_are(app: &App) {
        app.without_model();

        // The very first open the search cache.
        ingested(app, 0, 1).await;

        let first = ingested(app, 1, 20).await;
        ingested(app, 21, 100).await;
        let later = ingested(app, 121, 20).await;

        assert_eq!(first, later);
    }

    async fn a_search_of_ten_times_as_much_runs_the_same_statements(app: &App) {
        ingested(app, 0, 8).await;
        let few = searched(app).await;
        ingested(app, 8, 72).await;
        let many = searched(app).await;

        assert_eq!(few, many);
    }

    async fn text_is_found_before_its_vectors_are_made(app: &App) {
        for n in 0..3 {
            app.editor().add(&format!("ship-{n}.md"), &format!("Ship number {n}."), json!({})).await.unwrap();
        }

        for _ in ["parse_document", "index_document"] {
            assert!(kernel::job::run_next(&app.core, &[knowledge::JOBS]).await.unwrap());
        }

        let listed = app.viewer().call("list_documents", json!({ "state": "embedding" })).await.unwrap().json;
        assert_eq!(listed["documents"].as_array().unwrap().len(), 3);
        assert_eq!(app.viewer().found("ship").await.len(), 3);
    }

    async fn one_that_cannot_be_read_does_not_hold_up_those_beside_it(app: &App) {
        for n in 0..5 {
            app.editor().add(&format!("ship-{n}.md"), &format!("Ship {n}."), json!({})).await.unwrap();
            app.editor().add_bytes(&format!("noise-{n}.md"), &[0xff, 0xfe, 0x00], json!({})).await.unwrap();
        }
        app.work_until_given_up().await;

        let states = app.viewer().call("list_documents", json!({ "limit": 1 })).await.unwrap().json["states"].clone();
        assert_eq!(states, json!([{ "state": "failed", "documents": 5 }, { "state": "ready", "documents": 5 }]));
    }
}
