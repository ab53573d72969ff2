//! The demo's story: a firm, its people, and three memos that correct one another.
//!
//! Told through the same operations that anyone has: a memo is put in, and when it can be searched
//! its facts are recorded with the words they rest on. So record time runs along with the memos.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{call, upload};

/// The file that tells what the memos say.
const STORY: &str = "story.json";

#[derive(Deserialize)]
struct Story {
    entity_types: Vec<Value>,
    relation_types: Vec<Value>,
    entities: Vec<Value>,
    memos: Vec<Memo>,
}

#[derive(Deserialize)]
struct Memo {
    document: String,
    facts: Vec<Claim>,
}

#[derive(Deserialize)]
struct Claim {
    /// What later memos call it.
    name: String,
    /// The claim that it corrects.
    corrects: Option<String>,
    subject: Option<String>,
    predicate: Option<String>,
    object: Option<String>,
    quote: String,
    /// What else is said of it, as the operation takes it.
    #[serde(flatten)]
    more: Map<String, Value>,
}

/// Tells the story that lies in `folder` to a base.
///
/// # Errors
/// The sentence of whatever refused.
pub async fn tell(router: &Router, kb: &str, folder: &Path) -> Result<(), String> {
    let path = folder.join(STORY);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let story: Story = serde_json::from_str(&text)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let base = format!("/kbs/{kb}");
    for kind in &story.entity_types {
        let path = format!("{base}/ontology/entity-types");
        call(router, Method::POST, &path, kind.to_string()).await?;
    }
    for relation in &story.relation_types {
        let path = format!("{base}/ontology/relation-types");
        call(router, Method::POST, &path, relation.to_string()).await?;
    }
    let mut things: HashMap<String, String> = HashMap::new();
    for thing in &story.entities {
        let path = format!("{base}/entities");
        let added = call(router, Method::POST, &path, thing.to_string()).await?;
        let id = text_of(&added, "id");
        things.insert(text_of(thing, "name"), id);
    }
    let mut facts: HashMap<String, String> = HashMap::new();
    for memo in story.memos {
        let added = upload(router, kb, &folder.join(&memo.document)).await?;
        searchable(router, &base, &text_of(&added, "document_id")).await?;
        for claim in memo.facts {
            let name = claim.name.clone();
            let fact = record(router, &base, claim, &things, &facts).await?;
            facts.insert(name, fact);
        }
    }
    Ok(())
}

fn text_of(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}

/// Waits until a memo can be searched.
async fn searchable(router: &Router, base: &str, document: &str) -> Result<(), String> {
    for _ in 0..600 {
        let path = format!("{base}/documents/{document}");
        let shown = call(router, Method::GET, &path, Body::empty()).await?;
        match shown["state"].as_str() {
            Some("embedding" | "ready") => return Ok(()),
            Some("failed") => return Err(text_of(&shown, "failure")),
            _ => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
    Err("the memos of the demo could not be searched within a minute".to_owned())
}

/// The passage that has these words.
async fn passage(router: &Router, base: &str, quote: &str) -> Result<String, String> {
    let query: String = form_urlencoded::Serializer::new(String::new())
        .append_pair("query", quote)
        .finish();
    let path = format!("{base}/search?{query}");
    let found = call(router, Method::GET, &path, Body::empty()).await?;
    let hits = found["chunks"].as_array().cloned().unwrap_or_default();
    let hit = hits
        .iter()
        .find(|hit| text_of(hit, "text").contains(quote))
        .ok_or_else(|| format!("no passage of the demo has the words {quote:?}"))?;
    Ok(text_of(hit, "chunk_id"))
}

/// Records a claim, or corrects an earlier one; the fact's id.
async fn record(
    router: &Router,
    base: &str,
    claim: Claim,
    things: &HashMap<String, String>,
    facts: &HashMap<String, String>,
) -> Result<String, String> {
    let chunk = passage(router, base, &claim.quote).await?;
    let mut body = claim.more;
    body.insert(
        "evidence".to_owned(),
        json!([{ "chunk_id": chunk, "quote": claim.quote }]),
    );
    for (field, name) in [("subject_id", &claim.subject), ("object_id", &claim.object)] {
        if let Some(id) = name.as_ref().and_then(|name| things.get(name)) {
            body.insert(field.to_owned(), json!(id));
        }
    }
    if let Some(predicate) = claim.predicate {
        body.insert("predicate".to_owned(), json!(predicate));
    }
    let path = match claim.corrects.as_ref().and_then(|former| facts.get(former)) {
        Some(former) => format!("{base}/facts/{former}/correct"),
        None => format!("{base}/facts"),
    };
    let recorded = call(router, Method::POST, &path, Value::Object(body).to_string()).await?;
    Ok(text_of(&recorded, "fact_id"))
}
