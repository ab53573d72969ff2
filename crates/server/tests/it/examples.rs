//! One worked example per operation: a call that is really made, and its answer.

mod facts;

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::Request;
use http::Method;
use providers::{Embedder, KnownModel};
use serde_json::{Value, json};

use crate::house::House;

/// Operations without an example, and why.
pub const WITHOUT: &[(&str, &str)] = &[
    ("back_up", "its answer is a tar file"),
    ("export_base", "its answer is a tar file"),
    ("import_base", "what it is sent is a tar file"),
    ("reindex", "its answer comes line by line"),
    ("verify", "its answer comes line by line"),
    ("install_model", "it reaches out to a package index"),
];

/// Longest text shown of an answer, in characters.
const SHOWN_MAX: usize = 900;

struct Story {
    house: House,
    token: String,
    examples: BTreeMap<&'static str, String>,
}

impl Story {
    /// Makes the call, keeps it as the example of `name`, and gives the answer.
    async fn tell(&mut self, name: &'static str, path: &str, body: Value) -> Value {
        let registered = self
            .house
            .app
            .registry
            .get(name)
            .expect("the operation is registered");
        let (method, _) = registered.entry.spec.route.expect("examples go over REST");
        let method: Method = method.name().parse().unwrap();
        self.house.clock.advance_seconds(1);
        let answer = self
            .house
            .call(&self.token, method.clone(), path, body.clone())
            .await
            .ok();
        let sent = if body.is_null() {
            String::new()
        } else {
            format!("\n\n{}", pretty(&body))
        };
        self.keep(name, &format!("{method} {path}{sent}"), &answer);
        answer
    }

    fn keep(&mut self, name: &'static str, call: &str, answer: &Value) {
        let answer: String = pretty(answer);
        let cut = answer.chars().count() > SHOWN_MAX;
        let mut shown: String = answer.chars().take(SHOWN_MAX).collect();
        if cut {
            shown.push('…');
        }
        let example = format!("```http\n{call}\n```\n\n```json\n{shown}\n```\n");
        self.examples.insert(name, without_secrets(&example));
    }

    async fn upload(&mut self, kb: &str, filename: &str, text: &str) -> Value {
        let path = format!("/api/v1/kbs/{kb}/documents?filename={filename}");
        let request = Request::builder()
            .method(Method::POST)
            .uri(&path)
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "text/markdown")
            .body(Body::from(text.to_owned()))
            .unwrap();
        self.house.clock.advance_seconds(1);
        let answer = self.house.send(request).await.ok();
        self.keep("add_document", &format!("POST {path}\n\n{text}"), &answer);
        self.house.work().await;
        answer
    }
}

impl Story {
    async fn push_file(&mut self, path: &str, filename: &str, text: &str) {
        let path = format!("{path}?filename={filename}");
        self.send_file("push_file", &path, text).await;
    }

    /// Sends a file to an operation that takes one, and keeps it as its example.
    async fn send_file(&mut self, name: &'static str, path: &str, text: &str) -> Value {
        let request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "text/plain")
            .body(Body::from(text.to_owned()))
            .unwrap();
        self.house.clock.advance_seconds(1);
        let answer = self.house.send(request).await.ok();
        self.keep(name, &format!("POST {path}\n\n{text}"), &answer);
        answer
    }
}

impl Story {
    /// The start of a base's graph.
    async fn graph(&mut self, kb: &str) {
        let path = format!("/api/v1/kbs/{kb}/export?format=turtle");
        let answer = self.house.get(&self.token, &path).await;
        assert_eq!(answer.status, 200);
        let graph = String::from_utf8(answer.body).unwrap();
        let shown: String = graph.chars().take(SHOWN_MAX).collect();
        let example = format!("```http\nGET {path}\n```\n\n```turtle\n{shown}…\n```\n");
        self.examples.insert("export_graph", example);
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

/// Secrets look like secrets wherever they are printed, so none are.
fn without_secrets(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = ["utp_pat_", "quipu_setup_"]
        .iter()
        .filter_map(|mark| rest.find(mark))
        .min()
    {
        let end = at + rest[at..].find(['"', '…']).unwrap_or(rest.len() - at);
        let mark = if rest[at..].starts_with("utp") {
            "utp_pat_…"
        } else {
            "quipu_setup_…"
        };
        out.push_str(&rest[..at]);
        out.push_str(mark);
        rest = rest[end..].trim_start_matches('…');
    }
    out + rest
}

/// The examples by operation.
pub async fn of_every_operation() -> BTreeMap<&'static str, String> {
    let house = House::repeatable().await;
    let secret = accounts::start::start(&house.app.core)
        .await
        .unwrap()
        .set_up_secret
        .unwrap();
    let mut story = Story {
        house,
        token: String::new(),
        examples: BTreeMap::new(),
    };
    let words = json!({ "secret": secret, "email": "ann@example.org", "password": "correct horse battery" });
    story.tell("set_up", "/api/v1/setup", words).await;
    let words = json!({ "email": "ann@example.org", "password": "correct horse battery" });
    let session = story.tell("log_in", "/api/v1/login", words).await;
    story.token = session["token"].as_str().unwrap().to_owned();
    people_and_bases(&mut story).await;
    story.examples
}

async fn people_and_bases(story: &mut Story) {
    story.tell("show_me", "/api/v1/me", Value::Null).await;
    story
        .tell(
            "add_user",
            "/api/v1/users",
            json!({ "email": "bob@example.org", "name": "Bob" }),
        )
        .await;
    story.tell("list_users", "/api/v1/users", Value::Null).await;
    let base = story
        .tell("create_base", "/api/v1/kbs", json!({ "name": "Papers" }))
        .await;
    let kb = base["id"].as_str().unwrap().to_owned();
    story.tell("list_bases", "/api/v1/kbs", Value::Null).await;
    story
        .tell(
            "update_base",
            &format!("/api/v1/kbs/{kb}"),
            json!({ "visibility": "open" }),
        )
        .await;
    let member = format!("/api/v1/kbs/{kb}/members/bob@example.org");
    story
        .tell("set_member", &member, json!({ "role": "editor" }))
        .await;
    story
        .tell(
            "list_members",
            &format!("/api/v1/kbs/{kb}/members"),
            Value::Null,
        )
        .await;
    let token = json!({ "name": "laptop", "scope": "read", "kb_ids": [kb] });
    let token = story.tell("create_token", "/api/v1/me/tokens", token).await;
    story
        .tell("list_tokens", "/api/v1/me/tokens", Value::Null)
        .await;
    let id = token["info"]["id"].as_str().unwrap();
    story
        .tell(
            "revoke_token",
            &format!("/api/v1/me/tokens/{id}"),
            Value::Null,
        )
        .await;
    documents(story, &kb).await;
    facts::facts(story, &kb).await;
    story.graph(&kb).await;
    story.tell("remove_member", &member, Value::Null).await;
    story
        .tell("disable_user", "/api/v1/users/bob@example.org", Value::Null)
        .await;
    story.house.work().await;
    story
        .tell(
            "list_activity",
            &format!("/api/v1/kbs/{kb}/audit?limit=2"),
            Value::Null,
        )
        .await;
    story
        .tell("list_all_activity", "/api/v1/audit?limit=2", Value::Null)
        .await;
    story.tell("doctor", "/api/v1/doctor", Value::Null).await;
    models(story).await;
}

async fn models(story: &mut Story) {
    // A model of its own, that is the same on every machine.
    let small = KnownModel::new("small", Embedder::hash_named("small", 64, &[]));
    story.house.app.core.embedders.put(small);
    let name = json!({ "name": "small" });
    story.tell("use_model", "/api/v1/models/use", name).await;
    story.house.work().await;
    story
        .tell("model_status", "/api/v1/models", Value::Null)
        .await;
    let none = json!({ "name": "none" });
    let none = story
        .house
        .call(&story.token, Method::POST, "/api/v1/models/use", none);
    none.await.ok();
    story
        .tell("roll_back_model", "/api/v1/models/rollback", Value::Null)
        .await;
    story
        .tell("prune_models", "/api/v1/models/prune", Value::Null)
        .await;
}

async fn documents(story: &mut Story, kb: &str) {
    let text = "# Support\n\n## Hours\n\nThe desk answers from eight to six, Monday to Friday.\n";
    let added = story.upload(kb, "support.md", text).await;
    let all = format!("/api/v1/kbs/{kb}/documents");
    let one = format!("{all}/{}", added["document_id"].as_str().unwrap());
    story
        .tell(
            "search_chunks",
            &format!("/api/v1/kbs/{kb}/search?query=support%20hours"),
            Value::Null,
        )
        .await;
    story
        .tell("get_document", &format!("{one}/text"), Value::Null)
        .await;
    story
        .tell(
            "search_docs",
            &format!("/api/v1/kbs/{kb}/manual?query=revoke%20a%20token"),
            Value::Null,
        )
        .await;
    story.tell("list_documents", &all, Value::Null).await;
    story.tell("show_document", &one, Value::Null).await;
    story
        .tell("list_versions", &format!("{one}/versions"), Value::Null)
        .await;
    story
        .tell("update_document", &one, json!({ "least_role": "admin" }))
        .await;
    story.tell("delete_document", &one, Value::Null).await;
    story
        .tell("restore_document", &format!("{one}/restore"), Value::Null)
        .await;
    story
        .tell("purge_document", &format!("{one}/purge"), Value::Null)
        .await;
    sources(story, kb).await;
}

async fn sources(story: &mut Story, kb: &str) {
    let all = format!("/api/v1/kbs/{kb}/sources");
    let wiki = story
        .tell("create_source", &all, json!({ "name": "wiki" }))
        .await;
    let id = wiki["id"].as_str().unwrap().to_owned();
    let one = format!("{all}/{id}");
    let ingest = format!("/api/v1/sources/{id}/ingest");
    let items = json!({ "items": [
        { "external_id": "7", "filename": "hours.md", "content": "The desk answers from nine to five.", "doc_time": "2026-03" },
        { "external_id": "8", "deleted": true },
        { "external_id": "9", "filename": "empty.md" },
    ] });
    story.tell("push_items", &ingest, items).await;
    story
        .push_file(
            &format!("{ingest}/file"),
            "tides.md",
            "High water is at noon.",
        )
        .await;
    story.house.work().await;
    story.tell("list_sources", &all, Value::Null).await;
    story.tell("show_source", &one, Value::Null).await;
    story
        .tell("list_source_items", &format!("{one}/items"), Value::Null)
        .await;
    story
        .tell("update_source", &one, json!({ "name": "handbook" }))
        .await;
    let site = json!({
        "name": "site", "kind": "pull", "lists": ["https://example.org/sitemap.xml"], "interval_minutes": 60,
    });
    let path = format!("/api/v1/kbs/{kb}/sources");
    let site = story
        .house
        .call(&story.token, Method::POST, &path, site)
        .await
        .ok();
    let site = format!("{all}/{}", site["id"].as_str().unwrap());
    story
        .tell("pull_source", &format!("{site}/pull"), Value::Null)
        .await;
    story
        .house
        .call(&story.token, Method::DELETE, &site, Value::Null)
        .await
        .ok();
    story.tell("delete_source", &one, Value::Null).await;
}
