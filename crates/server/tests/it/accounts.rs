//! People, tokens, the set-up link, the trail.

use http::Method;
use serde_json::{Value, json};
use store::audit;

use crate::house::{House, on_both_engines};

async fn set_up_secret(house: &House) -> String {
    ::accounts::start::start(&house.app.core)
        .await
        .unwrap()
        .set_up_secret
        .unwrap()
}

#[test]
fn a_set_up_link_works_once_and_for_fifteen_minutes() {
    on_both_engines(async |house| {
        let late = set_up_secret(&house).await;
        house.clock.advance_seconds(15 * 60 + 1);
        let words = |secret: &str| json!({ "secret": secret, "email": "Ann@Example.org", "password": "correct horse battery" });

        assert_eq!(
            house.post("", "/api/v1/setup", words(&late)).await.status,
            404
        );
        let secret = set_up_secret(&house).await;
        let admin = house.post("", "/api/v1/setup", words(&secret)).await.ok();
        assert_eq!(admin["email"], "ann@example.org");
        assert_eq!(
            house.post("", "/api/v1/setup", words(&secret)).await.status,
            404
        );
        let started = ::accounts::start::start(&house.app.core).await.unwrap();
        assert!(
            started.set_up_secret.is_none(),
            "an administrator with a password needs no link"
        );

        let wrong = json!({ "email": "ann@example.org", "password": "wrong horse battery" });
        let nobody = json!({ "email": "bob@example.org", "password": "wrong horse battery" });
        let (wrong, nobody) = (
            house.post("", "/api/v1/login", wrong).await,
            house.post("", "/api/v1/login", nobody).await,
        );
        assert_eq!(
            (wrong.status, wrong.without_request_id()),
            (401, nobody.without_request_id())
        );
        let right = json!({ "email": "ann@example.org", "password": "correct horse battery" });
        let token = house.post("", "/api/v1/login", right).await.ok();
        let me = house
            .get(token["token"].as_str().unwrap(), "/api/v1/me")
            .await
            .ok();
        assert_eq!(me["user"]["system_admin"], true);
    });
}

#[test]
fn a_token_ends_when_it_was_said_to() {
    on_both_engines(async |house| {
        let make = |days: u32| json!({ "name": format!("{days} days"), "expires_in_days": days });
        let usual = house
            .local(
                Method::POST,
                "/api/v1/me/tokens",
                json!({ "name": "usual" }),
            )
            .await
            .ok();
        let day = house
            .local(Method::POST, "/api/v1/me/tokens", make(1))
            .await
            .ok();
        let ever = house
            .local(Method::POST, "/api/v1/me/tokens", make(0))
            .await
            .ok();
        let token = |made: &Value| made["token"].as_str().unwrap().to_owned();

        assert_eq!(usual["info"]["expires_at"], "2026-06-18T09:00:00Z");
        assert_eq!(ever["info"]["expires_at"], Value::Null);
        assert_eq!(house.get(&token(&day), "/api/v1/me").await.status, 200);
        house.clock.advance_seconds(86_400);
        assert_eq!(house.get(&token(&day), "/api/v1/me").await.status, 401);
        house.clock.advance_seconds(89 * 86_400);
        assert_eq!(house.get(&token(&usual), "/api/v1/me").await.status, 401);
        assert_eq!(house.get(&token(&ever), "/api/v1/me").await.status, 200);
    });
}

#[test]
fn each_call_leaves_one_row_with_its_owner_token_tool_and_verdict() {
    on_both_engines(async |house| {
        let kb = house.base("Papers", "open").await;
        let token = house.person("ann@example.org", "write").await;
        let hello = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "otter", "version": "1.2" } },
        });
        house
            .post(&token, &format!("/api/v1/kbs/{kb}/mcp"), hello)
            .await
            .ok();
        house.work().await;
        let before = rows(&house, &kb).await.len();

        house
            .tool(&token, &kb, "search_chunks", json!({ "query": "a" }))
            .await;
        house.clock.advance_seconds(1);
        house
            .tool(&token, &kb, "search_chunks", json!({ "qery": "a" }))
            .await;
        house.clock.advance_seconds(1);
        house
            .call(
                &token,
                Method::DELETE,
                &format!("/api/v1/kbs/{kb}/documents/{kb}"),
                Value::Null,
            )
            .await;
        house.work().await;

        let rows = rows(&house, &kb).await;
        let new: Vec<_> = rows[..rows.len() - before].iter().rev().collect();
        let told: Vec<_> = new
            .iter()
            .map(|row| {
                (
                    row["operation"].as_str().unwrap(),
                    row["verdict"].as_str().unwrap(),
                    row["door"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("search_chunks", "ok", "mcp_base"),
                ("search_chunks", "invalid_argument", "mcp_base"),
                ("delete_document", "forbidden", "rest"),
            ]
        );
        assert!(new.iter().all(|row| row["user"] == "ann@example.org"
            && row["credential_name"] == "ann@example.org write"));
        assert_eq!(new[0]["client"], "otter 1.2");
        assert!(!serde_json::to_string(&rows).unwrap().contains(&token));
    });
}

async fn rows(house: &House, kb: &str) -> Vec<Value> {
    let page = house
        .local(
            Method::GET,
            &format!("/api/v1/kbs/{kb}/audit?limit=500"),
            Value::Null,
        )
        .await
        .ok();
    // The reading itself is logged after it.
    page["activity"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["operation"] != "list_activity")
        .cloned()
        .collect()
}

#[test]
fn the_sealed_trail_holds_and_a_changed_row_is_found() {
    on_both_engines(async |house| {
        for name in ["One", "Two", "Three"] {
            house.base(name, "open").await;
        }
        house.work().await;
        house.app.core.activity.seal(&house.app.core).await.unwrap();

        let found = house
            .local(Method::GET, "/api/v1/doctor", Value::Null)
            .await
            .ok();

        assert_eq!(found["healthy"], true, "{found}");
        let tenants = store::tenants::list(&mut house.app.core.db.read_directory().await.unwrap())
            .await
            .unwrap();
        let chain = audit::verify(&mut house.app.core.db.read(tenants[0].id).await.unwrap())
            .await
            .unwrap();
        assert!(chain.sealed >= 3 && chain.broken.is_none());
    });
}

#[test]
fn an_admin_of_a_base_does_not_make_owners() {
    on_both_engines(async |house| {
        let kb = house.base("Papers", "restricted").await;
        let admin = house.person("admin2@example.org", "write").await;
        house.person("bob@example.org", "read").await;
        house.grant(&kb, "admin2@example.org", "admin").await;
        let path = format!("/api/v1/kbs/{kb}/members/bob@example.org");

        assert_eq!(
            house
                .call(&admin, Method::PUT, &path, json!({ "role": "owner" }))
                .await
                .status,
            403
        );
        assert_eq!(
            house
                .call(&admin, Method::PUT, &path, json!({ "role": "editor" }))
                .await
                .status,
            200
        );
        let listed = house
            .get(&admin, &format!("/api/v1/kbs/{kb}/members"))
            .await
            .ok();
        assert!(
            listed["members"]
                .as_array()
                .unwrap()
                .iter()
                .any(|one| one["email"] == "bob@example.org" && one["role"] == "editor")
        );
        assert_eq!(
            house
                .call(&admin, Method::DELETE, &path, Value::Null)
                .await
                .status,
            200
        );
    });
}

#[test]
fn passwords_cannot_be_guessed_without_end() {
    on_both_engines(async |house| {
        let email = format!("{}@example.org", house.app.core.ids.next());
        let words = json!({ "email": email, "password": "wrong horse battery" });
        let mut statuses = Vec::new();
        for _ in 0..12 {
            statuses.push(house.post("", "/api/v1/login", words.clone()).await.status);
        }
        assert_eq!(statuses[0], 401);
        assert!(statuses.contains(&429), "{statuses:?}");
    });
}

#[test]
fn signing_in_and_what_is_about_no_base_stand_in_the_activity_of_the_organisation() {
    on_both_engines(async |house| {
        let secret = set_up_secret(&house).await;
        let email = format!("{}@example.org", house.app.core.ids.next());
        let password = "correct horse battery";
        let words = json!({ "secret": secret, "email": email, "password": password });
        house.post("", "/api/v1/setup", words).await.ok();
        house.clock.advance_seconds(1);
        let wrong = json!({ "email": email, "password": "wrong horse battery" });
        assert_eq!(house.post("", "/api/v1/login", wrong).await.status, 401);
        house.clock.advance_seconds(1);
        let nobody = json!({ "email": "nobody@example.org", "password": password });
        assert_eq!(house.post("", "/api/v1/login", nobody).await.status, 401);
        let right = json!({ "email": email, "password": password });
        let token = house.post("", "/api/v1/login", right).await.ok();
        let token = token["token"].as_str().unwrap();
        house.clock.advance_seconds(1);
        let made_up = "0198c5f2-7c1e-7b8a-9f5e-2b1c6a7d8e90";
        let absent = house
            .get(token, &format!("/api/v1/kbs/{made_up}/members"))
            .await;
        assert_eq!(absent.status, 404);
        house.work().await;

        let page = house.get(token, "/api/v1/audit?limit=3").await.ok();
        let rest = format!(
            "/api/v1/audit?cursor={}",
            page["next_cursor"].as_str().unwrap()
        );
        let rest = house.get(token, &rest).await.ok();

        let told = |page: &Value| -> Vec<Value> {
            let rows = page["activity"].as_array().unwrap().iter();
            rows.map(|row| {
                json!([
                    row["operation"],
                    row["verdict"],
                    row["target_kind"],
                    row["kb_id"]
                ])
            })
            .collect()
        };
        assert_eq!(
            told(&page),
            [
                json!(["list_members", "not_found", "base", null]),
                json!(["log_in", "ok", "token", null]),
                json!(["log_in", "unauthenticated", null, null]),
            ]
        );
        assert_eq!(page["activity"][0]["target_id"], made_up);
        assert_eq!(page["activity"][1]["user"], email);
        assert_eq!(told(&rest)[0], json!(["set_up", "ok", "user", null]));
        let all = page.to_string() + &rest.to_string();
        assert!(!all.contains("horse") && !all.contains(token) && !all.contains("nobody@"));

        let reader = house.person("reader@example.org", "read").await;
        assert_eq!(house.get(&reader, "/api/v1/audit").await.status, 403);
    });
}

#[test]
fn a_disabled_account_is_given_no_role() {
    on_both_engines(async |house| {
        let kb = house.base("Papers", "restricted").await;
        house.person("gone@example.org", "read").await;
        house
            .local(
                Method::DELETE,
                "/api/v1/users/gone@example.org",
                Value::Null,
            )
            .await
            .ok();

        let path = format!("/api/v1/kbs/{kb}/members/gone@example.org");
        let refused = house
            .local(Method::PUT, &path, json!({ "role": "viewer" }))
            .await;

        assert_eq!(refused.status, 409);
        assert_eq!(
            refused.json()["error"],
            "the account `gone@example.org` is disabled"
        );
    });
}
