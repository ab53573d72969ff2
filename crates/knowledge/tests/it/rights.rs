//! What one may not see does not exist.

use serde_json::json;

use crate::app::{App, on_both_engines};

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
}
