//! REST from outside: uploads, keys, limits, guards.

use axum::body::Body;
use axum::extract::Request;
use http::Method;
use serde_json::{Value, json};

use crate::house::{House, on_both_engines, on_sqlite_with};

fn upload(token: &str, path: &str, content_type: &str, body: impl Into<Body>) -> Request {
    Request::builder()
        .method(Method::POST)
        .uri(path)
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", content_type)
        .body(body.into())
        .unwrap()
}

async fn editor(house: &House) -> (String, String) {
    let kb = house.base("Papers", "open").await;
    let token = house.person("ann@example.org", "write").await;
    house.grant(&kb, "ann@example.org", "editor").await;
    (kb, token)
}

#[test]
fn a_file_may_come_as_the_body_or_as_a_form() {
    on_both_engines(async |house| {
        let (kb, token) = editor(&house).await;
        let path = format!("/api/v1/kbs/{kb}/documents");
        let form = "--x\r\nContent-Disposition: form-data; name=\"external_id\"\r\n\r\nkey-7\r\n--x\r\n\
            Content-Disposition: form-data; name=\"file\"; filename=\"otter.md\"\r\nContent-Type: text/markdown\r\n\r\n\
            # Otters\n\nOtters hold hands.\r\n--x--\r\n";

        let raw = house
            .send(upload(
                &token,
                &format!("{path}?filename=bear.md"),
                "text/markdown",
                "Bears sleep.",
            ))
            .await;
        let form = house
            .send(upload(
                &token,
                &path,
                "multipart/form-data; boundary=x",
                form,
            ))
            .await;
        let twice = house
            .send(upload(
                &token,
                &format!("{path}?filename=bear.md"),
                "text/markdown",
                "Bears sleep.",
            ))
            .await;
        house.work().await;

        assert_eq!((raw.status, form.status), (202, 202));
        assert_eq!(
            (&raw.json()["action"], &twice.json()["action"]),
            (&json!("created"), &json!("unchanged"))
        );
        for word in ["otters", "bears"] {
            let found = house
                .get(&token, &format!("/api/v1/kbs/{kb}/search?query={word}"))
                .await
                .ok();
            assert_eq!(found["chunks"].as_array().unwrap().len(), 1, "{word}");
        }
        let broken = house
            .send(upload(
                &token,
                &path,
                "multipart/form-data; boundary=x",
                "--x\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\nx\r\n--x--\r\n",
            ))
            .await;
        assert_eq!(broken.status, 400);
        assert!(broken.json()["error"].as_str().unwrap().contains("`file`"));
    });
}

#[test]
fn nothing_is_taken_in_before_the_caller_may_put_it_there() {
    on_both_engines(async |house| {
        let (kb, _) = editor(&house).await;
        let viewer = house.person("viewer@example.org", "write").await;
        // A body that would fail if anybody read it.
        let never = Body::from_stream(futures::stream::once(async {
            Err::<bytes::Bytes, _>(std::io::Error::other("read"))
        }));

        let refused = house
            .send(upload(
                &viewer,
                &format!("/api/v1/kbs/{kb}/documents?filename=a.md"),
                "text/markdown",
                never,
            ))
            .await;

        assert_eq!(
            (refused.status, refused.json()["code"].clone()),
            (403, json!("forbidden"))
        );
    });
}

#[test]
fn a_repeated_key_gives_the_first_answer_again() {
    on_both_engines(async |house| {
        let token = house.token("admin@localhost", "write").await;
        let ask = |key: &str, name: &str| {
            let mut request = upload(
                &token,
                "/api/v1/kbs",
                "application/json",
                json!({ "name": name }).to_string(),
            );
            request
                .headers_mut()
                .insert("idempotency-key", key.parse().unwrap());
            request
        };

        let first = house.send(ask("k1", "Papers")).await;
        let again = house.send(ask("k1", "Papers")).await;
        let other = house.send(ask("k1", "Other")).await;
        let refused = {
            let mut request = upload(
                &token,
                "/api/v1/me/tokens",
                "application/json",
                r#"{"name":"x"}"#,
            );
            request
                .headers_mut()
                .insert("idempotency-key", "k2".parse().unwrap());
            house.send(request).await
        };

        assert_eq!((first.status, again.status), (201, 201));
        assert_eq!(first.json(), again.json());
        assert_eq!(again.headers["idempotent-replayed"], "true");
        assert_eq!(
            (other.status, other.json()["code"].clone()),
            (422, json!("idempotency_key_reused"))
        );
        assert_eq!(refused.status, 400);
        let kbs = house.get(&token, "/api/v1/kbs").await.ok();
        assert_eq!(kbs["kbs"].as_array().unwrap().len(), 1);
    });
}

#[test]
fn a_refused_call_gives_its_key_back() {
    on_both_engines(async |house| {
        let token = house.token("admin@localhost", "write").await;
        house.base("Papers", "open").await;
        let ask = |slug: &str| {
            let body = json!({ "name": "New", "slug": slug }).to_string();
            let mut request = upload(&token, "/api/v1/kbs", "application/json", body);
            request
                .headers_mut()
                .insert("idempotency-key", "k".parse().unwrap());
            request
        };

        assert_eq!(house.send(ask("papers")).await.status, 409);
        assert_eq!(house.send(ask("fresh")).await.status, 201);
    });
}

#[test]
fn requests_for_other_hosts_and_from_other_pages_are_refused() {
    on_both_engines(async |house| {
        let token = house.token("admin@localhost", "read").await;
        let ask = |host: &str, origin: Option<&str>| {
            let mut request = Request::builder()
                .uri("/api/v1/me")
                .header("host", host)
                .header("authorization", format!("Bearer {token}"));
            if let Some(origin) = origin {
                request = request.header("origin", origin);
            }
            request.body(Body::empty()).unwrap()
        };

        assert_eq!(house.send(ask("localhost:7341", None)).await.status, 200);
        assert_eq!(house.send(ask("evil.example.com", None)).await.status, 403);
        assert_eq!(
            house
                .send(ask("localhost", Some("https://evil.example.com")))
                .await
                .status,
            403
        );
        let page = house
            .send(ask("localhost", Some("http://localhost:6274")))
            .await;
        assert_eq!(
            (
                page.status,
                page.headers["access-control-allow-origin"]
                    .to_str()
                    .unwrap()
            ),
            (200, "http://localhost:6274")
        );
        assert!(
            !page
                .headers
                .contains_key("access-control-allow-credentials")
        );
    });
}

#[test]
fn what_is_not_there_says_so_in_json() {
    on_both_engines(async |house| {
        let token = house.token("admin@localhost", "read").await;

        let nothing = house.get(&token, "/api/v1/nothing").await;
        let method = house
            .call(&token, Method::PUT, "/api/v1/kbs", json!({}))
            .await;

        assert_eq!(
            (nothing.status, nothing.json()["code"].clone()),
            (404, json!("not_found"))
        );
        assert_eq!(method.status, 405);
        assert!(method.headers["allow"].to_str().unwrap().contains("GET"));
        assert_eq!(
            nothing.headers["x-request-id"].to_str().unwrap(),
            nothing.json()["request_id"].as_str().unwrap()
        );
    });
}

#[test]
fn more_bytes_than_the_server_takes_are_refused() {
    on_sqlite_with(
        &[
            ("QUIPU_UPLOAD_BYTES_MAX", "100"),
            ("QUIPU_BODY_BYTES_MAX", "200"),
        ],
        async |house| {
            let (kb, token) = editor(&house).await;
            let path = format!("/api/v1/kbs/{kb}/documents?filename=a.md");
            let chunked =
                Body::from_stream(futures::stream::iter((0..30).map(|_| {
                    Ok::<_, std::io::Error>(bytes::Bytes::from_static(b"0123456789"))
                })));

            assert_eq!(
                house
                    .send(upload(&token, &path, "text/plain", "x".repeat(100)))
                    .await
                    .status,
                202
            );
            assert_eq!(
                house
                    .send(upload(&token, &path, "text/plain", "x".repeat(101)))
                    .await
                    .status,
                413
            );
            assert_eq!(
                house
                    .send(upload(&token, &path, "text/plain", chunked))
                    .await
                    .status,
                413
            );
            let body = json!({ "name": "x".repeat(300) });
            assert_eq!(house.post(&token, "/api/v1/kbs", body).await.status, 413);
        },
    );
}

#[test]
fn a_spent_budget_says_when_to_come_back() {
    on_sqlite_with(&[("QUIPU_CALLS_PER_MINUTE", "2")], async |house| {
        let token = house.token("admin@localhost", "read").await;
        let mut statuses = Vec::new();
        for _ in 0..3 {
            statuses.push(house.get(&token, "/api/v1/me").await.status);
        }
        let spent = house.get(&token, "/api/v1/me").await;

        assert_eq!(statuses, [200, 200, 429]);
        assert!(
            spent.headers.contains_key("retry-after") && spent.json()["retry_after"].is_number()
        );
    });
}

#[test]
fn a_document_that_cannot_be_read_fails_alone_and_says_why() {
    on_both_engines(async |house| {
        let (kb, token) = editor(&house).await;
        let path = format!("/api/v1/kbs/{kb}/documents?filename=photo.png");
        let sent = house
            .send(upload(
                &token,
                &path,
                "image/png",
                &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..],
            ))
            .await
            .ok();
        let sound = house.document(&kb, "sound.md", "All is well.").await;

        let broken = house
            .get(
                &token,
                &format!(
                    "/api/v1/kbs/{kb}/documents/{}",
                    sent["document_id"].as_str().unwrap()
                ),
            )
            .await
            .ok();
        let sound = house
            .get(&token, &format!("/api/v1/kbs/{kb}/documents/{sound}"))
            .await
            .ok();

        assert_eq!(broken["state"], "failed");
        assert!(
            broken["failure"].as_str().unwrap().contains("PNG"),
            "{broken}"
        );
        assert_eq!(sound["state"], "ready");
    });
}

#[test]
fn health_tells_nothing_but_that() {
    on_both_engines(async |house| {
        for path in ["/livez", "/readyz", "/health"] {
            let answer = house
                .send(Request::builder().uri(path).body(Body::empty()).unwrap())
                .await;
            assert_eq!(answer.status, 200, "{path}");
        }
        let nothing = house.get("", "/api/v1/doctor").await;
        assert_eq!(
            (nothing.status, nothing.json()["details"].clone()),
            (401, Value::Null)
        );
    });
}

#[test]
fn text_that_repeats_is_ready_and_calls_go_on_meanwhile() {
    on_both_engines(async |house| {
        let kb = house.base("Papers", "open").await;
        for (name, text) in [
            ("star.md", "*a **b ".repeat(100_000)),
            ("log.txt", "ok\n".repeat(100_000)),
        ] {
            let document = house.document(&kb, name, &text).await;
            let path = format!("/api/v1/kbs/{kb}/documents/{document}");
            let shown = house.local(Method::GET, &path, Value::Null).await.ok();
            assert_eq!(shown["state"], "ready", "{shown}");
        }
    });
}

#[test]
fn a_base_keeps_an_owner() {
    on_both_engines(async |house| {
        let kb = house.base("Papers", "open").await;
        let path = format!("/api/v1/kbs/{kb}/members/admin@localhost");
        let refused = house.local(Method::DELETE, &path, Value::Null).await;
        assert_eq!(
            (refused.status, refused.json()["code"].clone()),
            (409, json!("conflict"))
        );
    });
}
