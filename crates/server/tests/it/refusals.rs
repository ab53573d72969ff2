//! The same mistake reads the same on every door.

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use futures::stream::{self, StreamExt};
use http::Method;
use serde_json::{Value, json};

use crate::house::{on_both_engines, on_sqlite_with};

#[test]
fn a_mistake_in_a_search_reads_the_same_over_rest_and_mcp() {
    on_both_engines(async |house| {
        let token = house.person("ann@example.org", "read").await;
        let kb = house.base("Papers", "open").await;
        let mistakes = [
            ("", json!({}), "`query` is missing"),
            (
                "query=",
                json!({ "query": " " }),
                "`query` must not be blank",
            ),
            (
                "query=a&as_of=last%20week",
                json!({ "query": "a", "as_of": "last week" }),
                "`as_of` must be a date such as",
            ),
            (
                "query=a&as_off=2026",
                json!({ "query": "a", "as_off": "2026" }),
                "there is no argument `as_off`; did you mean `as_of`?",
            ),
        ];
        for (query, arguments, sentence) in mistakes {
            let rest = house
                .get(&token, &format!("/api/v1/kbs/{kb}/search?{query}"))
                .await;
            let tool = house.tool(&token, &kb, "search_chunks", arguments).await;

            let rest_says = rest.json()["error"].as_str().unwrap().to_owned();
            assert_eq!(rest.status, 400);
            assert!(rest_says.starts_with(sentence), "{rest_says}");
            assert_eq!(tool["result"]["content"][0]["text"], rest_says);
            assert_eq!(tool["result"]["isError"], true);
            assert!(tool["result"]["structuredContent"].is_null());
        }
    });
}

#[test]
fn what_models_send_for_nothing_is_nothing() {
    on_both_engines(async |house| {
        let token = house.person("ann@example.org", "read").await;
        let kb = house.base("Papers", "open").await;
        let document = house.document(&kb, "a.md", "Otters swim.").await;
        for as_of in [json!(null), json!("")] {
            let answer = house
                .tool(
                    &token,
                    &kb,
                    "search_chunks",
                    json!({ "query": "otters", "as_of": as_of }),
                )
                .await;
            assert_eq!(
                answer["result"]["structuredContent"]["chunks"]
                    .as_array()
                    .unwrap()
                    .len(),
                1,
                "{answer}"
            );
        }
        for offset in [json!(null), json!("0"), json!(0)] {
            let answer = house
                .tool(
                    &token,
                    &kb,
                    "get_document",
                    json!({ "document_id": document, "offset": offset }),
                )
                .await;
            assert!(
                answer["result"]["content"][0]["text"]
                    .as_str()
                    .unwrap()
                    .contains("Otters swim."),
                "{answer}"
            );
        }
    });
}

#[test]
fn search_takes_any_text_as_text() {
    on_both_engines(async |house| {
        let token = house.person("ann@example.org", "read").await;
        let kb = house.base("Papers", "open").await;
        house
            .document(&kb, "a.md", "Otters AND bears (both) swim.")
            .await;
        for query in [
            "\"",
            "AND OR NOT",
            "title:(",
            "otters^9 ~2",
            "*",
            "[a TO b]",
            "' OR 1=1 --",
            "\\",
            "👩‍🚀",
            "\u{0}otters",
        ] {
            let answer = house
                .tool(&token, &kb, "search_chunks", json!({ "query": query }))
                .await;
            assert!(answer["result"]["isError"].is_null(), "{query}: {answer}");
        }
    });
}

#[test]
fn a_body_that_is_no_json_object_is_refused_in_a_sentence() {
    on_both_engines(async |house| {
        let token = house.token("admin@localhost", "write").await;
        let deep = format!("{{\"name\":{}1{}}}", "[".repeat(70), "]".repeat(70));
        for (body, content_type, status) in [
            ("{", "application/json", 400),
            ("[]", "application/json", 400),
            (r#"{"name":"a","name":"b"}"#, "application/json", 201),
            (deep.as_str(), "application/json", 400),
            ("name=a", "application/x-www-form-urlencoded", 415),
        ] {
            let request = axum::extract::Request::builder()
                .method(Method::POST)
                .uri("/api/v1/kbs")
                .header("authorization", format!("Bearer {token}"))
                .header("content-type", content_type)
                .body(axum::body::Body::from(body.to_owned()))
                .unwrap();
            let answer = house.send(request).await;
            assert_eq!(
                answer.status,
                status,
                "{body}: {}",
                String::from_utf8_lossy(&answer.body)
            );
        }
        let kbs = house.get(&token, "/api/v1/kbs").await.ok();
        assert_eq!(
            kbs["kbs"],
            Value::Array(
                kbs["kbs"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .take(1)
                    .cloned()
                    .collect()
            )
        );
    });
}

#[test]
fn numbers_out_of_bounds_are_shown_with_the_bounds() {
    on_both_engines(async |house| {
        let token = house.token("admin@localhost", "write").await;
        let kb = house.base("Papers", "open").await;
        let document = house.document(&kb, "a.md", "Otters swim.").await;
        for (offset, sentence) in [
            (json!(-1), "`offset` must be 0 or more, not -1"),
            (
                json!(9_223_372_036_854_775_808_u64),
                "`offset` must be below 2^63, not 9223372036854775808",
            ),
            (json!(1e30), "`offset` must be a whole number, not `1e+30`"),
        ] {
            let arguments = json!({ "document_id": document, "offset": offset });
            let answer = house.tool(&token, &kb, "get_document", arguments).await;
            assert_eq!(answer["result"]["content"][0]["text"], sentence);
        }
        let days = json!({ "name": "x", "expires_in_days": -1 });
        let refused = house.post(&token, "/api/v1/me/tokens", days).await;
        assert_eq!(
            refused.json()["error"],
            "`expires_in_days` must be from 0 to 4294967295, not -1"
        );
    });
}

#[test]
fn a_path_that_is_no_text_is_refused_in_json() {
    on_both_engines(async |house| {
        let token = house.token("admin@localhost", "read").await;
        let answer = house.get(&token, "/api/v1/kbs/%ff/documents").await;
        assert_eq!(
            (answer.status, answer.json()["code"].clone()),
            (400, json!("invalid_argument"))
        );
    });
}

#[test]
fn the_last_day_that_can_be_written_is_a_date() {
    on_both_engines(async |house| {
        let token = house.person("ann@example.org", "read").await;
        let kb = house.base("Papers", "open").await;
        house.document(&kb, "a.md", "Otters swim.").await;
        let answer = house
            .tool(
                &token,
                &kb,
                "search_chunks",
                json!({ "query": "otters", "as_of": "9999-12-31" }),
            )
            .await;
        assert_eq!(
            answer["result"]["structuredContent"]["chunks"]
                .as_array()
                .unwrap()
                .len(),
            1,
            "{answer}"
        );
    });
}

#[test]
fn a_refused_password_is_not_shown() {
    on_both_engines(async |house| {
        let words = json!({ "email": "ann@example.org", "password": 271_828_182 });
        let refused = house.post("", "/api/v1/login", words).await;
        assert_eq!(refused.json()["error"], "`password` must be text, not `…`");
    });
}

#[test]
fn a_body_that_never_comes_is_ended_on_every_door_and_leaves_a_row() {
    on_sqlite_with(&[("QUIPU_BODY_STRETCH_SECONDS", "1")], async |house| {
        let kb = house.base("Papers", "open").await;
        let token = house.token("admin@localhost", "write").await;
        for path in ["mcp", "documents?filename=a.md", "members"] {
            let begun = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"{"))]);
            let method = if path == "members" {
                Method::PUT
            } else {
                Method::POST
            };
            let path = if path == "members" {
                "members/admin@localhost"
            } else {
                path
            };
            let request = Request::builder()
                .method(method)
                .uri(format!("/api/v1/kbs/{kb}/{path}"))
                .header("authorization", format!("Bearer {token}"))
                .header("content-type", "application/json")
                .body(Body::from_stream(begun.chain(stream::pending())))
                .unwrap();

            let ended = house.send(request).await;

            assert_eq!(ended.status, 408, "{path}");
            assert_eq!(ended.headers["connection"], "close");
            assert_eq!(ended.json()["code"], "request_timeout");
        }
        house.work().await;
        let activity = house
            .get(&token, &format!("/api/v1/kbs/{kb}/audit"))
            .await
            .ok();
        assert_eq!(activity["activity"][0]["operation"], "add_document");
        assert_ne!(activity["activity"][0]["verdict"], "ok");
    });
}
