//! The access matrix: every operation × role × scope × kind of base × door.

use std::fmt::Write;

use http::Method;
use kernel::{Door, Effect, Registered, TargetKind};
use serde_json::{Value, json};

use crate::house::{House, on_both_engines, reason};

/// Who asks: in a base, or of the deployment.
const STANDINGS: &[&str] = &[
    "stranger",
    "viewer",
    "editor",
    "admin",
    "owner",
    "system_admin",
];
const SCOPES: &[&str] = &["read", "write", "capture"];
const KINDS: &[&str] = &["open", "restricted"];

/// What the documents say should happen, said again without looking at the gate.
fn expected(registered: &Registered, standing: &str, scope: &str, kind: &str) -> u16 {
    let spec = &registered.entry.spec;
    let rank = |role: &str| {
        ["viewer", "editor", "admin", "owner"]
            .iter()
            .position(|known| *known == role)
    };
    let role = match (standing, kind) {
        ("system_admin", _) => rank("owner"),
        ("stranger", "open") => rank("viewer"),
        ("stranger", _) => None,
        (role, _) => rank(role),
    };
    if registered.entry.target == TargetKind::Base && role.is_none() {
        return 404;
    }
    if spec.effect != Effect::Read && scope != "write" {
        return 403;
    }
    if spec.system_admin && standing != "system_admin" {
        return 403;
    }
    if registered.entry.target == TargetKind::Base && role < rank(spec.least_role.name()) {
        return 403;
    }
    200
}

/// The call with words that lead nowhere, so that what passes the gate changes nothing.
fn path_of(registered: &Registered, kb: &str, source: &str) -> Option<(Method, String)> {
    let (method, path) = registered.entry.spec.route?;
    let mut path = path
        .replace("{kb_id}", kb)
        .replace("{source_id}", source)
        .replace("{email}", "nobody@example.org");
    while let (Some(start), Some(end)) = (path.find('{'), path.find('}')) {
        path.replace_range(start..=end, "0198c5f2-7c1e-7b8a-9f5e-2b1c6a7d8e90");
    }
    // An argument that nobody has stops the call right behind the gate.
    Some((
        method.name().parse().unwrap(),
        format!("/api/v1{path}?stop_here=1"),
    ))
}

/// The status of the gate: what passes it is stopped by the unknown argument.
fn seen(status: u16, body: &Value) -> u16 {
    let stopped = body["error"]
        .as_str()
        .is_some_and(|error| error.contains("`stop_here`"));
    if stopped { 200 } else { status }
}

async fn people(house: &House) -> Vec<(&'static str, &'static str, String)> {
    let mut tokens = Vec::new();
    for standing in STANDINGS {
        let email = format!("{standing}@example.org");
        let body = json!({ "email": email, "admin": *standing == "system_admin" });
        house.local(Method::POST, "/api/v1/users", body).await.ok();
        for scope in SCOPES {
            tokens.push((*standing, *scope, house.token(&email, scope).await));
        }
    }
    tokens
}

#[test]
fn every_operation_lets_in_exactly_whom_the_table_says() {
    on_both_engines(async |house| {
        let tokens = people(&house).await;
        let mut cells = 0;
        for kind in KINDS {
            let kb = house.base(kind, kind).await;
            for role in ["viewer", "editor", "admin", "owner"] {
                house.grant(&kb, &format!("{role}@example.org"), role).await;
            }
            let sources = format!("/api/v1/kbs/{kb}/sources");
            let made = house
                .local(Method::POST, &sources, json!({ "name": "wiki" }))
                .await
                .ok();
            let source = made["id"].as_str().unwrap().to_owned();
            for registered in house.app.registry.iter() {
                let name = registered.entry.spec.name;
                for (standing, scope, token) in &tokens {
                    let wanted = expected(registered, standing, scope, kind);
                    if let Some((method, path)) = path_of(registered, &kb, &source)
                        && registered.entry.target != TargetKind::Public
                    {
                        let answer = house.call(token, method, &path, Value::Null).await;
                        let got = seen(answer.status, &answer.json());
                        assert_eq!(
                            got,
                            wanted,
                            "{name} as {standing} with {scope} in an {kind} base over REST: {}",
                            reason(answer.status)
                        );
                        cells += 1;
                    }
                    if registered.entry.spec.tool_doors.contains(&Door::Base) {
                        let got = over_mcp(&house, token, &kb, name).await;
                        assert_eq!(
                            got, wanted,
                            "{name} as {standing} with {scope} in an {kind} base over MCP"
                        );
                        cells += 1;
                    }
                }
            }
        }
        assert!(cells > 500, "{cells} cells");
    });
}

async fn over_mcp(house: &House, token: &str, kb: &str, name: &str) -> u16 {
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": name, "arguments": { "stop_here": 1 } },
    });
    let answer = house
        .post(token, &format!("/api/v1/kbs/{kb}/mcp"), message)
        .await;
    let body = answer.json();
    let text = body["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default();
    match (
        answer.status,
        text.contains("`stop_here`"),
        body["result"]["isError"] == true,
    ) {
        (200, true, _) => 200,
        (200, false, true) => 403,
        (status, _, _) => status,
    }
}

#[test]
fn a_token_reaches_only_the_bases_it_names() {
    on_both_engines(async |house| {
        let (inside, outside) = (
            house.base("Inside", "open").await,
            house.base("Outside", "open").await,
        );
        let body = json!({ "name": "narrow", "scope": "write", "kb_ids": [inside] });
        let made = house
            .local(Method::POST, "/api/v1/me/tokens", body)
            .await
            .ok();
        let token = made["token"].as_str().unwrap();

        assert_eq!(
            house
                .get(token, &format!("/api/v1/kbs/{inside}/documents"))
                .await
                .status,
            200
        );
        assert_eq!(
            house
                .get(token, &format!("/api/v1/kbs/{outside}/documents"))
                .await
                .status,
            404
        );
        let listed = house.get(token, "/api/v1/kbs").await.ok();
        assert_eq!(listed["kbs"].as_array().unwrap().len(), 1);
        let wider = house
            .post(
                token,
                "/api/v1/me/tokens",
                json!({ "name": "wider", "scope": "read" }),
            )
            .await;
        assert_eq!(
            (wider.status, wider.json()["code"].clone()),
            (403, json!("insufficient_scope"))
        );
        let made = house
            .post(token, "/api/v1/kbs", json!({ "name": "New" }))
            .await;
        assert_eq!(made.status, 403);
    });
}

#[test]
fn a_token_of_some_bases_has_no_say_over_the_organisation() {
    on_both_engines(async |house| {
        let (kb, other) = (
            house.base("Inside", "open").await,
            house.base("Outside", "open").await,
        );
        let narrow = |kb: &str| json!({ "name": "narrow", "scope": "write", "kb_ids": [kb] });
        let made = house
            .local(Method::POST, "/api/v1/me/tokens", narrow(&kb))
            .await
            .ok();
        let elsewhere = house
            .local(Method::POST, "/api/v1/me/tokens", narrow(&other))
            .await
            .ok();
        let token = made["token"].as_str().unwrap();
        let admin = json!({ "email": "evil@example.org", "admin": true });
        let for_another = json!({ "name": "x", "user": "ann@example.org", "kb_ids": [kb] });
        house.person("ann@example.org", "read").await;

        assert_eq!(house.post(token, "/api/v1/users", admin).await.status, 403);
        assert_eq!(house.get(token, "/api/v1/users").await.status, 403);
        assert_eq!(house.get(token, "/api/v1/doctor").await.status, 403);
        assert_eq!(
            house
                .post(token, "/api/v1/me/tokens", for_another)
                .await
                .status,
            403
        );
        let listed = house.get(token, "/api/v1/me/tokens").await.ok();
        assert_eq!(listed["tokens"].as_array().unwrap().len(), 1, "{listed}");
        let path = format!(
            "/api/v1/me/tokens/{}",
            elsewhere["info"]["id"].as_str().unwrap()
        );
        assert_eq!(
            house
                .call(token, Method::DELETE, &path, Value::Null)
                .await
                .status,
            404
        );
    });
}

#[test]
fn a_token_never_makes_one_that_outlives_it() {
    on_both_engines(async |house| {
        let day = json!({ "name": "a day", "scope": "write", "expires_in_days": 1 });
        let day = house
            .local(Method::POST, "/api/v1/me/tokens", day)
            .await
            .ok();
        let token = day["token"].as_str().unwrap();
        let make = |days: Value| json!({ "name": "child", "expires_in_days": days });

        assert_eq!(
            house
                .post(token, "/api/v1/me/tokens", make(json!(0)))
                .await
                .status,
            403
        );
        assert_eq!(
            house
                .post(token, "/api/v1/me/tokens", make(json!(2)))
                .await
                .status,
            403
        );
        let child = house
            .post(token, "/api/v1/me/tokens", make(Value::Null))
            .await
            .ok();
        assert_eq!(child["info"]["expires_at"], day["info"]["expires_at"]);
    });
}

#[test]
fn foreign_deleted_hidden_and_made_up_ids_cannot_be_told_apart() {
    on_both_engines(async |house| {
        let token = house.person("reader@example.org", "read").await;
        let kb = house.base("Mine", "open").await;
        let hidden_base = house.base("Theirs", "restricted").await;
        let foreign = house
            .document(&hidden_base, "foreign.md", "the foreign text")
            .await;
        let hidden = house
            .document_for(&kb, "hidden.md", "the hidden text", "admin")
            .await;
        let deleted = house.document(&kb, "deleted.md", "the deleted text").await;
        house
            .local(
                Method::DELETE,
                &format!("/api/v1/kbs/{kb}/documents/{deleted}"),
                Value::Null,
            )
            .await
            .ok();
        house.work().await;
        let made_up = "0198c5f2-7c1e-7b8a-9f5e-2b1c6a7d8e90".to_owned();

        let mut answers = Vec::new();
        for id in [&foreign, &hidden, &deleted, &made_up] {
            let recording = house.app.core.db.record_statements();
            let rest = house
                .get(&token, &format!("/api/v1/kbs/{kb}/documents/{id}/text"))
                .await;
            let tool = house
                .tool(&token, &kb, "get_document", json!({ "document_id": id }))
                .await;
            answers.push((
                rest.status,
                rest.without_request_id(),
                tool,
                recording.statements(),
            ));
        }
        let mut bases = Vec::new();
        for id in [&hidden_base, &made_up] {
            let recording = house.app.core.db.record_statements();
            let rest = house
                .get(&token, &format!("/api/v1/kbs/{id}/documents"))
                .await;
            let door = house
                .tool(&token, id, "search_chunks", json!({ "query": "text" }))
                .await;
            bases.push((
                rest.status,
                rest.without_request_id(),
                door,
                recording.statements(),
            ));
        }

        assert!(
            answers.iter().all(|answer| *answer == answers[0]),
            "{answers:#?}"
        );
        assert_eq!(answers[0].0, 404);
        assert!(
            answers[0].2["result"]["isError"].is_null(),
            "a missing document is an answer"
        );
        assert_eq!(bases[0], bases[1]);
        assert_eq!(bases[0].0, 404);
    });
}

/// The table that people read.
pub fn table(registry: &kernel::Registry) -> String {
    let mut page = String::from(
        "# Who may do what\n\nMade from the operations. \
         Rights are decided at each call from the token's scope and bases and its owner's role at that moment.\n\n\
         | operation | effect | about | scope | role in the base | doors |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for registered in registry.iter() {
        let spec = &registered.entry.spec;
        let about = format!("{:?}", registered.entry.target).to_lowercase();
        let (scope, role) = server::manual::needed(registered);
        let mut doors = Vec::new();
        doors.extend(spec.route.map(|_| "REST"));
        doors.extend(spec.tool_doors.iter().map(|_| "MCP"));
        doors.extend(spec.cli.map(|_| "command line"));
        let effect = format!("{:?}", spec.effect).to_lowercase();
        writeln!(
            page,
            "| `{}` | {effect} | {about} | {scope} | {role} | {} |",
            spec.name,
            doors.join(", ")
        )
        .unwrap();
    }
    page
}
