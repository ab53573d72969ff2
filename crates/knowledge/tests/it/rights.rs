//! What one may not see does not exist.

use model::RecordTime;
use serde_json::json;

use crate::app::{App, Person, on_both_engines};

/// What a person finds of harbour and ferry, in the order of its words.
async fn all_of(person: &Person<'_>, as_of: Option<RecordTime>) -> Vec<String> {
    let mut found = person.found_as_of("harbour ferry", as_of).await;
    found.sort();
    found
}

on_both_engines! {
    async fn a_document_for_admins_does_not_exist_for_others(app: &App) {
        app.document("open.md", "The harbour opens.").await;
        let added = app.admin().add("secret.md", "The harbour closes.", json!({ "least_role": "admin" })).await.unwrap();
        app.work().await;
        let hidden = added.json["document_id"].as_str().unwrap();
        let made_up = "0198c5f2-7c1e-7b8a-9f5e-2b1c6a7d8e90";

        for person in [app.viewer(), app.editor()] {
            assert_eq!(person.found("harbour").await, ["The harbour opens."]);
            let listed = person.call("list_documents", json!({})).await.unwrap().json;
            assert_eq!((listed["documents"].as_array().unwrap().len(), &listed["total"]), (1, &json!(1)));
            for name in ["get_document", "show_document", "list_versions"] {
                let seen = person.call(name, json!({ "document_id": hidden })).await.unwrap_err();
                let unknown = person.call(name, json!({ "document_id": made_up })).await.unwrap_err();
                assert_eq!((seen.code, &seen.message), (unknown.code, &unknown.message), "{name}");
            }
        }
        for name in ["delete_document", "restore_document"] {
            let refused = app.editor().call(name, json!({ "document_id": hidden })).await.unwrap_err();
            assert_eq!(refused.message, "No document with that id in this knowledge base");
        }
        assert_eq!(app.admin().found("harbour").await.len(), 2);
    }

    async fn a_key_that_is_taken_tells_nobody_of_a_document_hidden_from_them(app: &App) {
        let secret = app.admin().add("plan.md", "Closes.", json!({ "least_role": "admin" })).await.unwrap();

        let own = app.editor().add("plan.md", "Opens.", json!({})).await.unwrap();
        let again = app.admin().add("plan.md", "Closes soon.", json!({ "least_role": "admin" })).await.unwrap();
        let mixed = app.editor().add("plan.md", "Opens.", json!({ "least_role": "editor" })).await.unwrap_err();

        assert_eq!(own.json["action"], "created");
        assert_ne!(own.json["document_id"], secret.json["document_id"]);
        assert_eq!(again.json["document_id"], secret.json["document_id"]);
        assert_eq!(mixed.code.name(), "conflict");
    }

    async fn ids_that_are_none_read_like_ids_that_are_not_there(app: &App) {
        for id in ["x", "0198c5f2-7c1e-7b8a-9f5e-2b1c6a7d8e90", "last week's plan"] {
            let refused = app.viewer().read(id).await.unwrap_err();
            assert_eq!(refused.message, "No document with that id in this knowledge base");
        }
    }

    async fn deleted_documents_are_listed_for_those_who_could_restore_them(app: &App) {
        let document = app.document("plan.md", "The harbour opens.").await;
        app.editor().call("delete_document", json!({ "document_id": document })).await.unwrap();

        let listed = app.editor().call("list_documents", json!({ "deleted": true })).await.unwrap().json;
        let refused = app.viewer().call("list_documents", json!({ "deleted": true })).await.unwrap_err();
        let hidden = app.viewer().call("show_document", json!({ "document_id": document })).await.unwrap_err();

        assert_eq!(listed["documents"][0]["document_id"], json!(document));
        assert_eq!((refused.code.name(), hidden.code.name()), ("forbidden", "not_found"));
    }

    async fn who_sees_a_document_is_asked_today_also_of_what_was_held_before(app: &App) {
        let text = |harbour: &str| format!("# Harbour\n\nThe harbour {harbour}.\n\n# Ferry\n\nThe ferry sails.");
        let document = app.document("plan.md", &text("opens")).await;
        app.document("other.md", "The harbour sleeps.").await;
        let first = app.tick();
        app.editor().add("plan.md", &text("closes"), json!({})).await.unwrap();
        app.work().await;
        let second = app.tick();
        let moments = [Some(first), Some(second), None];
        let everything = ["The ferry sails.", "The harbour opens.", "The harbour sleeps."];
        assert_eq!(all_of(&app.viewer(), Some(first)).await, everything);

        let hide = json!({ "document_id": document, "least_role": "admin" });
        let hidden = app.admin().call("update_document", hide).await.unwrap().json;

        assert_eq!((&hidden["least_role"], &hidden["external_id"]), (&json!("admin"), &json!("plan.md")));
        for as_of in moments {
            for person in [app.viewer(), app.editor()] {
                assert_eq!(all_of(&person, as_of).await, ["The harbour sleeps."], "{as_of:?}");
            }
        }
        assert_eq!(all_of(&app.admin(), Some(first)).await, everything);
        assert_eq!(all_of(&app.admin(), None).await, ["The ferry sails.", "The harbour closes.", "The harbour sleeps."]);
        assert!(app.viewer().read(&document).await.is_err());
        assert!(app.admin().read(&document).await.unwrap().contains("The ferry sails."));

        app.tick();
        let show = json!({ "document_id": document, "least_role": "viewer" });
        app.admin().call("update_document", show).await.unwrap();

        for as_of in moments {
            assert_eq!(all_of(&app.viewer(), as_of).await, all_of(&app.admin(), as_of).await, "{as_of:?}");
        }
        assert_eq!(all_of(&app.viewer(), Some(first)).await, everything);
        let again = app.editor().add("plan.md", "# Harbour\n\nThe harbour rests.", json!({})).await.unwrap().json;
        assert_eq!((&again["document_id"], &again["action"]), (&json!(document), &json!("updated")), "its key is its own still");
        app.work().await;
        assert_eq!(all_of(&app.viewer(), None).await, ["The harbour rests.", "The harbour sleeps."]);
    }

    async fn a_hidden_document_survives_a_restart_of_the_cache_and_a_restore(app: &App) {
        let document = app.document("plan.md", "The harbour opens.").await;
        assert_eq!(app.viewer().found("harbour").await.len(), 1);
        let hide = json!({ "document_id": document, "least_role": "admin" });
        app.admin().call("update_document", hide).await.unwrap();
        let shown = app.tick();
        app.admin().call("delete_document", json!({ "document_id": document })).await.unwrap();
        assert_eq!(app.admin().found("harbour").await, [] as [&str; 0]);
        app.admin().call("restore_document", json!({ "document_id": document })).await.unwrap();
        app.work().await;

        let cache = app.data.path().join("index").join(app.kb.to_string());
        for is_gone in [false, true, false] {
            assert_eq!(app.admin().found("harbour").await, ["The harbour opens."]);
            assert_eq!(app.admin().found_as_of("harbour", Some(shown)).await, ["The harbour opens."]);
            assert_eq!(app.editor().found("harbour").await, [] as [&str; 0]);
            assert_eq!(app.editor().found_as_of("harbour", Some(shown)).await, [] as [&str; 0]);
            app.core.indexes.forget(app.kb);
            if is_gone {
                std::fs::remove_dir_all(&cache).unwrap();
            }
        }
    }

    async fn who_sees_a_document_is_changed_by_admins_up_to_their_own_role(app: &App) {
        app.admin().add("plan.md", "Closes.", json!({ "least_role": "admin" })).await.unwrap();
        let document = app.document("plan.md", "The harbour opens.").await;
        let change = |role: &str| json!({ "document_id": document, "least_role": role });

        let low = app.editor().call("update_document", change("editor")).await.unwrap_err();
        let high = app.admin().call("update_document", change("owner")).await.unwrap_err();
        let taken = app.admin().call("update_document", change("admin")).await.unwrap_err();
        let same = app.admin().call("update_document", change("viewer")).await.unwrap().json;

        let codes = [low.code.name(), high.code.name(), taken.code.name()];
        assert_eq!(codes, ["forbidden", "invalid_argument", "conflict"]);
        assert_eq!(same["least_role"], "viewer");
        assert_eq!(app.viewer().found("harbour").await, ["The harbour opens."]);
    }
}
