//! The OpenAPI document, made from the registry.

use kernel::{Effect, Registered, Registry, TargetKind};
use serde_json::{Map, Value, json};

use crate::http::rest::PREFIX;

/// The whole document (OpenAPI 3.1).
pub fn document(registry: &Registry) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for registered in registry.iter() {
        let Some((method, path)) = registered.entry.spec.route else {
            continue;
        };
        let item = paths
            .entry(format!("{PREFIX}{path}"))
            .or_insert_with(|| json!({}));
        item[method.name().to_lowercase()] = operation(registered, path);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Quipu",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A self-hosted knowledge ledger for people and their agents.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "security": [{ "personal_token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "personal_token": { "type": "http", "scheme": "bearer", "description": "A personal access token (`utp_pat_…`)." },
            },
            "schemas": { "Refusal": refusal_schema() },
        },
    })
}

fn refusal_schema() -> Value {
    json!({
        "type": "object",
        "required": ["error", "code", "request_id"],
        "properties": {
            "error": { "type": "string", "description": "What is wrong and what would be right." },
            "code": { "type": "string", "enum": model::Code::ALL.iter().map(|code| code.name()).collect::<Vec<_>>() },
            "details": { "description": "More for programs, or null." },
            "request_id": { "type": "string", "format": "uuid" },
            "retry_after": { "type": ["integer", "null"], "description": "Seconds after which to try again." },
        },
    })
}

fn operation(registered: &Registered, path: &str) -> Value {
    let spec = &registered.entry.spec;
    let properties = registered
        .arguments
        .get("properties")
        .and_then(Value::as_object)
        .cloned();
    let mut properties = properties.unwrap_or_default();
    let mut parameters = Vec::new();
    for word in path
        .split('/')
        .filter_map(|word| word.strip_prefix('{')?.strip_suffix('}'))
    {
        let schema = properties
            .remove(word)
            .unwrap_or(json!({ "type": "string", "format": "uuid" }));
        parameters.push(json!({ "name": word, "in": "path", "required": true, "schema": schema }));
    }
    let in_query = spec.effect == Effect::Read
        || spec.upload
        || spec
            .route
            .is_some_and(|(method, _)| method == kernel::Method::Delete);
    if in_query {
        for (name, schema) in &properties {
            let required = registered
                .table
                .get(name)
                .is_some_and(|argument| argument.required);
            parameters.push(
                json!({ "name": name, "in": "query", "required": required, "schema": schema }),
            );
        }
    }
    if spec.idempotent_by_key {
        parameters.push(json!({ "name": "Idempotency-Key", "in": "header", "required": false, "schema": { "type": "string", "maxLength": 255 } }));
    }
    let refusal = json!({ "description": "Refused.", "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Refusal" } } } });
    let (scope, role) = crate::manual::needed(registered);
    let media_types = match spec.flows {
        [] => &["application/json"],
        flows => flows,
    };
    let schema = json!({ "schema": registered.output.as_value() });
    let content: Map<String, Value> = media_types
        .iter()
        .map(|media_type| ((*media_type).to_owned(), schema.clone()))
        .collect();
    let mut operation = json!({
        "operationId": spec.name,
        "summary": spec.title,
        "description": format!("{}

Scope {scope}, role {role}.", registered.description),
        "parameters": parameters,
        "responses": {
            "default": refusal,
            "2XX": { "description": "Done.", "content": content },
        },
    });
    if registered.entry.target == TargetKind::Public {
        operation["security"] = json!([]);
    }
    if spec.upload {
        let binary = json!({ "type": "string", "contentMediaType": "application/octet-stream" });
        operation["requestBody"] = json!({
            "required": true,
            "content": {
                "application/octet-stream": { "schema": binary },
                "multipart/form-data": { "schema": { "type": "object", "required": ["file"], "properties": { "file": binary } } },
            },
        });
    } else if !in_query && !properties.is_empty() {
        let required: Vec<&str> = registered
            .table
            .iter()
            .filter(|one| one.required && properties.contains_key(&one.name))
            .map(|one| one.name.as_str())
            .collect();
        operation["requestBody"] = json!({
            "required": !required.is_empty(),
            "content": { "application/json": { "schema": { "type": "object", "properties": properties, "required": required } } },
        });
    }
    operation
}
