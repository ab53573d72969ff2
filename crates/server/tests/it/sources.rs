//! Sources through the doors: pushing over REST, and pulling from a site on this machine.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::Request;
use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::house::{House, on_both_engines, on_both_engines_with};

const MADE_UP: &str = "0198c5f2-7c1e-7b8a-9f5e-2b1c6a7d8e90";

async fn source(house: &House, kb: &str, body: Value) -> String {
    let path = format!("/api/v1/kbs/{kb}/sources");
    let made = house.local(Method::POST, &path, body).await.ok();
    made["id"].as_str().unwrap().to_owned()
}

async fn texts(house: &House, token: &str, kb: &str, query: &str) -> Vec<String> {
    let path = format!("/api/v1/kbs/{kb}/search?query={query}");
    let found = house.get(token, &path).await.ok();
    let chunks = found["chunks"].as_array().unwrap().iter();
    chunks
        .map(|chunk| chunk["text"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_program_pushes_to_a_source_by_its_address_alone() {
    on_both_engines(async |house| {
        let kb = house.base("Papers", "restricted").await;
        let writer = house.person("writer@example.org", "write").await;
        house.grant(&kb, "writer@example.org", "editor").await;
        let wiki = source(&house, &kb, json!({ "name": "wiki" })).await;
        let path = format!("/api/v1/sources/{wiki}/ingest");
        let item = json!({ "filename": "plan.md", "content": "The harbour opens.", "doc_time": "2024-03-05", "external_id": "7" });

        let first = house.post(&writer, &path, item.clone()).await.ok();
        house.work().await;
        let again = house.post(&writer, &path, item).await.ok();
        let moved =
            json!({ "filename": "b/plan.md", "content": "The harbour opens.", "external_id": "7" });
        let moved = house.post(&writer, &path, moved).await.ok();
        let gone = house
            .post(
                &writer,
                &path,
                json!({ "external_id": "7", "deleted": true }),
            )
            .await
            .ok();

        let actions =
            [&first, &again, &moved, &gone].map(|answer| answer["action"].as_str().unwrap());
        assert_eq!(actions, ["created", "unchanged", "moved", "marked_missing"]);
        assert!(
            [&first, &again, &moved, &gone]
                .iter()
                .all(|answer| answer["document_id"] == first["document_id"])
        );
    });
}

#[test]
fn a_large_file_is_pushed_as_the_body_and_its_date_is_kept() {
    on_both_engines(async |house| {
        let kb = house.base("Papers", "restricted").await;
        let writer = house.person("writer@example.org", "write").await;
        house.grant(&kb, "writer@example.org", "editor").await;
        let wiki = source(&house, &kb, json!({ "name": "wiki" })).await;
        let path = format!(
            "/api/v1/sources/{wiki}/ingest/file?filename=plan.md&external_id=7&doc_time=2024-03"
        );
        let long = format!(
            "The harbour opens.\n\n{}",
            "Gulls cry over the quay. ".repeat(300_000)
        );
        let send = async || {
            let request = Request::builder()
                .method(Method::POST)
                .uri(&path)
                .header("authorization", format!("Bearer {writer}"))
                .body(Body::from(long.clone()))
                .unwrap();
            house.send(request).await.ok()
        };

        let first = send().await;
        let again = send().await;

        assert!(4 * 1024 * 1024 < long.len());
        assert_eq!(
            (&first["action"], &again["action"]),
            (&json!("created"), &json!("unchanged"))
        );
        let document = first["document_id"].as_str().unwrap();
        let versions = house
            .get(
                &writer,
                &format!("/api/v1/kbs/{kb}/documents/{document}/versions"),
            )
            .await
            .ok();
        assert_eq!(
            (
                &versions["versions"][0]["date"],
                &versions["versions"][0]["date_source"]
            ),
            (&json!("2024-03"), &json!("source"))
        );
    });
}

#[test]
fn a_source_that_one_may_not_see_is_as_absent_as_one_that_is_not() {
    on_both_engines(async |house| {
        let (seen, hidden) = (
            house.base("Seen", "open").await,
            house.base("Hidden", "restricted").await,
        );
        let token = house.person("ann@example.org", "write").await;
        house.grant(&seen, "ann@example.org", "editor").await;
        let foreign = source(&house, &hidden, json!({ "name": "theirs" })).await;
        let above = source(
            &house,
            &seen,
            json!({ "name": "board", "least_role": "owner" }),
        )
        .await;
        let item = json!({ "filename": "a.md", "content": "x" });

        let mut answers = Vec::new();
        for id in [foreign.as_str(), above.as_str(), MADE_UP, "no-id"] {
            let push = house
                .post(
                    &token,
                    &format!("/api/v1/sources/{id}/ingest"),
                    item.clone(),
                )
                .await;
            answers.push((push.status, push.without_request_id()));
        }

        assert_eq!(answers[0].0, 404);
        assert!(
            answers.iter().all(|answer| *answer == answers[0]),
            "{answers:#?}"
        );
        assert_eq!(answers[0].1["error"], "no source with that id");
        let nobody = house
            .send(
                Request::post(format!("/api/v1/sources/{foreign}/ingest"))
                    .body(Body::empty())
                    .unwrap(),
            )
            .await;
        assert_eq!(nobody.status, 401);
    });
}

/// What a page of the site answers.
#[derive(Debug, Clone)]
struct Page {
    status: u16,
    content_type: &'static str,
    body: String,
    etag: Option<String>,
}

/// A site on 127.0.0.1 whose pages can be changed, and which knows what it was asked.
#[derive(Clone)]
struct Site {
    address: SocketAddr,
    pages: Arc<Mutex<BTreeMap<String, Page>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let site = Self {
            address: listener.local_addr().unwrap(),
            pages: Arc::default(),
            asked: Arc::default(),
        };
        let serving = site.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let site = serving.clone();
                tokio::spawn(async move {
                    let mut request = vec![0; 8192];
                    let read = stream.read(&mut request).await.unwrap_or(0);
                    let answer = site.answer(&String::from_utf8_lossy(&request[..read]));
                    let _ = stream.write_all(answer.as_bytes()).await;
                });
            }
        });
        site
    }

    fn answer(&self, request: &str) -> String {
        let path = request.split(' ').nth(1).unwrap_or_default();
        let known = request
            .lines()
            .find_map(|line| line.strip_prefix("if-none-match: "));
        let pages = self.pages.lock().unwrap();
        let (status, page) = match pages.get(path) {
            Some(page) if page.etag.is_some() && page.etag.as_deref() == known => (304, Some(page)),
            Some(page) => (page.status, Some(page)),
            None => (404, None),
        };
        self.asked.lock().unwrap().push(format!("{status} {path}"));
        let body = page.filter(|_| status == 200).map_or("", |page| &page.body);
        let etag = page.and_then(|page| page.etag.as_ref());
        let etag = etag
            .map(|etag| format!("ETag: {etag}\r\n"))
            .unwrap_or_default();
        let content_type = page.map_or("text/plain", |page| page.content_type);
        format!(
            "HTTP/1.1 {status} X\r\nContent-Type: {content_type}\r\n{etag}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    }

    fn put(&self, path: &str, content_type: &'static str, body: &str) {
        let page = Page {
            status: 200,
            content_type,
            body: body.replace("SITE", &self.url("")),
            etag: None,
        };
        self.pages.lock().unwrap().insert(path.to_owned(), page);
    }

    fn text(&self, path: &str, body: &str) {
        self.put(path, "text/plain", body);
    }

    fn change(&self, path: &str, change: impl FnOnce(&mut Page)) {
        change(self.pages.lock().unwrap().get_mut(path).unwrap());
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What was asked since the last time, in order of paths.
    fn asked(&self) -> Vec<String> {
        let mut asked = std::mem::take(&mut *self.asked.lock().unwrap());
        asked.sort_unstable();
        asked
    }
}

/// A house that may pull from the site, and a base in it.
fn with_site<Story: Future<Output = ()>>(story: impl Fn(House, Site, String, String) -> Story) {
    on_both_engines_with(async |make| {
        let site = Site::start().await;
        let port = site.address.port().to_string();
        let house = make(&[
            ("QUIPU_FETCH_NETWORKS", "127.0.0.1"),
            ("QUIPU_FETCH_PORTS", &port),
        ])
        .await;
        let kb = house.base("Papers", "restricted").await;
        let token = house.person("ann@example.org", "write").await;
        house.grant(&kb, "ann@example.org", "editor").await;
        story(house, site, kb, token).await;
    });
}

async fn show(house: &House, token: &str, kb: &str, id: &str) -> Value {
    house
        .get(token, &format!("/api/v1/kbs/{kb}/sources/{id}"))
        .await
        .ok()
}

async fn pull(house: &House, token: &str, kb: &str, id: &str) -> Value {
    house.clock.advance_seconds(1);
    house
        .post(
            token,
            &format!("/api/v1/kbs/{kb}/sources/{id}/pull"),
            Value::Null,
        )
        .await
        .ok();
    house.work().await;
    show(house, token, kb, id).await["pull"].clone()
}

#[test]
fn pages_are_pulled_at_once_and_again_when_they_are_due() {
    with_site(async |house, site, kb, token| {
        site.text("/a.txt", "The harbour opens.");
        site.text("/b.txt", "The harbour closes.");
        let body = json!({ "name": "site", "kind": "pull", "urls": [site.url("/a.txt"), site.url("/b.txt#end")], "interval_minutes": 60 });

        let id = source(&house, &kb, body).await;
        house.work().await;
        let first = show(&house, &token, &kb, &id).await;
        site.text("/a.txt", "The harbour opens again.");
        house.clock.advance_seconds(59 * 60);
        house.work().await;
        let early = site.asked();
        house.clock.advance_seconds(61);
        house.work().await;
        let second = show(&house, &token, &kb, &id).await["pull"].clone();

        assert_eq!(
            (&first["documents"], &first["pull"]["last"]["created"]),
            (&json!(2), &json!(2))
        );
        assert_eq!(
            (&first["pull"]["state"], &first["pull"]["due_at"]),
            (&json!("waiting"), &json!("2026-03-20T10:00:00Z"))
        );
        assert_eq!(early, ["200 /a.txt", "200 /b.txt"]);
        assert_eq!(
            (&second["last"]["updated"], &second["last"]["unchanged"]),
            (&json!(1), &json!(1))
        );
        let mut found = texts(&house, &token, &kb, "harbour").await;
        found.sort_unstable();
        assert_eq!(found, ["The harbour closes.", "The harbour opens again."]);
    });
}

#[test]
fn a_page_that_did_not_change_is_not_sent_again() {
    with_site(async |house, site, kb, token| {
        site.text("/a.txt", "The harbour opens.");
        site.change("/a.txt", |page| page.etag = Some("\"1\"".to_owned()));
        let id = source(
            &house,
            &kb,
            json!({ "name": "site", "kind": "pull", "urls": [site.url("/a.txt")] }),
        )
        .await;
        house.work().await;
        site.asked();

        let same = pull(&house, &token, &kb, &id).await;
        let asked = site.asked();
        site.change("/a.txt", |page| {
            (page.etag, page.body) = (Some("\"2\"".to_owned()), "The harbour closes.".to_owned());
        });
        let other = pull(&house, &token, &kb, &id).await;

        assert_eq!(
            (&same["last"]["unchanged"], asked),
            (&json!(1), vec!["304 /a.txt".to_owned()])
        );
        assert_eq!(other["last"]["updated"], 1);
        assert_eq!(
            texts(&house, &token, &kb, "harbour").await,
            ["The harbour closes."]
        );
    });
}

#[test]
fn a_page_is_missing_when_it_was_gone_twice_and_comes_back() {
    with_site(async |house, site, kb, token| {
        site.text("/a.txt", "The harbour opens.");
        site.change("/a.txt", |page| page.etag = Some("\"1\"".to_owned()));
        let id = source(
            &house,
            &kb,
            json!({ "name": "site", "kind": "pull", "urls": [site.url("/a.txt")] }),
        )
        .await;
        house.work().await;

        site.change("/a.txt", |page| (page.status, page.etag) = (410, None));
        let once = pull(&house, &token, &kb, &id).await;
        let still = texts(&house, &token, &kb, "harbour").await.len();
        site.change("/a.txt", |page| page.status = 503);
        let broken = pull(&house, &token, &kb, &id).await;
        site.change("/a.txt", |page| page.status = 404);
        let twice = pull(&house, &token, &kb, &id).await;
        let gone = texts(&house, &token, &kb, "harbour").await.len();
        let thrice = pull(&house, &token, &kb, &id).await;
        site.change("/a.txt", |page| {
            (page.status, page.etag) = (200, Some("\"1\"".to_owned()));
        });
        let back = pull(&house, &token, &kb, &id).await;

        assert_eq!(
            (
                &once["last"]["failed"],
                &once["last"]["marked_missing"],
                still
            ),
            (&json!(1), &json!(0), 1)
        );
        assert_eq!(once["faults"][0]["error"], "`127.0.0.1` answered 410");
        assert_eq!(
            (&broken["last"]["failed"], &broken["faults"][0]["error"]),
            (&json!(1), &json!("`127.0.0.1` answered 503"))
        );
        assert_eq!((&twice["last"]["marked_missing"], gone), (&json!(1), 0));
        assert_eq!(
            (
                &thrice["last"]["marked_missing"],
                &thrice["last"]["unchanged"]
            ),
            (&json!(0), &json!(1))
        );
        assert_eq!(
            (&back["last"]["updated"], &back["faults"]),
            (&json!(1), &json!([]))
        );
        assert_eq!(
            texts(&house, &token, &kb, "harbour").await,
            ["The harbour opens."]
        );
    });
}

#[test]
fn a_sitemap_a_feed_and_a_page_name_the_pages_that_are_pulled() {
    with_site(async |house, site, kb, token| {
        site.put(
            "/map.xml",
            "application/xml",
            "<sitemapindex><sitemap><loc>SITE/pages.xml</loc></sitemap></sitemapindex>",
        );
        site.put(
            "/pages.xml",
            "application/xml",
            "<urlset><url><loc>SITE/map.txt</loc></url></urlset>",
        );
        site.put("/feed.xml", "application/rss+xml", "<rss><channel><item><link>SITE/feed.txt</link><pubDate>Mon, 06 May 2024 07:08:09 GMT</pubDate></item></channel></rss>");
        site.put("/index.html", "text/html", "<title>x</title><a href='/page'>a</a><a href='http://other.test/'>b</a><a href='/i.png'>c</a>");
        site.text("/map.txt", "The mapped harbour.");
        site.text("/feed.txt", "The fed harbour.");
        site.put(
            "/page",
            "text/html",
            "<title>Page</title><p>The linked harbour.",
        );
        site.put("/i.png", "image/png", "x");
        let lists =
            ["/map.xml", "/feed.xml", "/index.html", "/none.xml"].map(|path| site.url(path));

        let id = source(
            &house,
            &kb,
            json!({ "name": "site", "kind": "pull", "lists": lists }),
        )
        .await;
        house.work().await;
        let pulled = show(&house, &token, &kb, &id).await["pull"].clone();

        assert_eq!(
            (&pulled["last"]["created"], &pulled["last"]["failed"]),
            (&json!(3), &json!(1)),
            "{pulled}"
        );
        let faults: Vec<&str> = pulled["faults"]
            .as_array()
            .unwrap()
            .iter()
            .map(|fault| fault["url"].as_str().unwrap())
            .collect();
        assert_eq!(faults, [site.url("/none.xml"), site.url("/i.png")]);
        let mut found = texts(&house, &token, &kb, "harbour").await;
        found.sort_unstable();
        assert_eq!(
            found,
            [
                "The fed harbour.",
                "The linked harbour.",
                "The mapped harbour."
            ]
        );
        let items = house
            .get(&token, &format!("/api/v1/kbs/{kb}/sources/{id}/items"))
            .await
            .ok();
        let fed = items["items"]
            .as_array()
            .unwrap()
            .iter()
            .find(|item| item["external_id"] == site.url("/feed.txt"))
            .unwrap();
        let document = fed["document_id"].as_str().unwrap();
        let versions = house
            .get(
                &token,
                &format!("/api/v1/kbs/{kb}/documents/{document}/versions"),
            )
            .await
            .ok();
        assert_eq!(
            (
                &versions["versions"][0]["date"],
                &versions["versions"][0]["date_source"]
            ),
            (&json!("2024-05-06T07:08:09Z"), &json!("source"))
        );
        let names: Vec<&str> = items["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["filename"].as_str().unwrap())
            .collect();
        assert!(
            names.contains(
                &"127.0.0.1:PORT/page.html"
                    .replace("PORT", &site.address.port().to_string())
                    .as_str()
            ),
            "{names:?}"
        );
    });
}

#[test]
fn a_pull_asks_for_no_more_pages_than_it_may() {
    with_site(async |house, site, kb, token| {
        let links: String = (0..5)
            .map(|n| format!("<a href='/{n}.txt'>{n}</a>"))
            .collect();
        site.put(
            "/index.html",
            "text/html",
            &format!("<title>x</title>{links}"),
        );
        for n in 0..5 {
            site.text(&format!("/{n}.txt"), &format!("Harbour number {n}."));
        }

        let id = source(&house, &kb, json!({ "name": "site", "kind": "pull", "lists": [site.url("/index.html")], "pages_max": 3 })).await;
        house.work().await;
        let pulled = show(&house, &token, &kb, &id).await["pull"].clone();

        assert_eq!(
            (&pulled["last"]["created"], &pulled["last"]["left_out"]),
            (&json!(3), &json!(2))
        );
        assert_eq!(
            (&pulled["done"], &pulled["of"]),
            (&Value::Null, &Value::Null)
        );
    });
}

#[test]
fn addresses_inside_are_refused_unless_the_operator_allows_them() {
    on_both_engines(async |house| {
        let site = Site::start().await;
        site.text("/a.txt", "The harbour opens.");
        let kb = house.base("Papers", "open").await;
        let token = house.person("ann@example.org", "read").await;
        let inside = [
            "http://127.0.0.1/a.txt",
            "http://169.254.169.254/latest/meta-data/",
            "http://[::1]/",
        ];

        let id = source(&house, &kb, json!({ "name": "site", "kind": "pull", "urls": inside, "lists": [site.url("/a.txt")] })).await;
        house.work().await;
        let pulled = show(&house, &token, &kb, &id).await;

        assert_eq!(
            (&pulled["documents"], &pulled["pull"]["last"]["failed"]),
            (&json!(0), &json!(3))
        );
        for fault in pulled["pull"]["faults"].as_array().unwrap() {
            let why = fault["error"].as_str().unwrap();
            assert!(
                why.contains("only public addresses") || why.contains("port"),
                "{why}"
            );
        }
        assert!(site.asked().is_empty());
    });
}

#[test]
fn a_page_whose_document_a_person_deleted_stays_deleted_until_it_changes() {
    with_site(async |house, site, kb, token| {
        site.text("/a.txt", "The harbour opens.");
        let id = source(
            &house,
            &kb,
            json!({ "name": "site", "kind": "pull", "urls": [site.url("/a.txt")] }),
        )
        .await;
        house.work().await;
        let items = house
            .get(&token, &format!("/api/v1/kbs/{kb}/sources/{id}/items"))
            .await
            .ok();
        let document = items["items"][0]["document_id"]
            .as_str()
            .unwrap()
            .to_owned();
        house
            .call(
                &token,
                Method::DELETE,
                &format!("/api/v1/kbs/{kb}/documents/{document}"),
                Value::Null,
            )
            .await
            .ok();

        let same = pull(&house, &token, &kb, &id).await;
        let still = texts(&house, &token, &kb, "harbour").await;
        site.text("/a.txt", "The harbour closes.");
        let other = pull(&house, &token, &kb, &id).await;

        assert_eq!((&same["last"]["unchanged"], still.len()), (&json!(1), 0));
        assert_eq!(other["last"]["updated"], 1);
        assert_eq!(
            texts(&house, &token, &kb, "harbour").await,
            ["The harbour closes."]
        );
    });
}

#[test]
fn what_a_source_is_told_is_checked_and_a_deleted_source_pulls_no_more() {
    with_site(async |house, site, kb, token| {
        site.text("/a.txt", "The harbour opens.");
        site.text("/b.txt", "The harbour closes.");
        let path = format!("/api/v1/kbs/{kb}/sources");
        let refuse = async |body: Value| {
            let answer = house.local(Method::POST, &path, body).await;
            assert_eq!(answer.status, 400);
            answer.json()["error"].as_str().unwrap().to_owned()
        };

        let nothing = refuse(json!({ "name": "a", "kind": "pull" })).await;
        let scheme =
            refuse(json!({ "name": "a", "kind": "pull", "urls": ["file:///etc/passwd"] })).await;
        let secret = refuse(
            json!({ "name": "a", "kind": "pull", "urls": ["https://me:hush@example.org/"] }),
        )
        .await;
        let other =
            refuse(json!({ "name": "a", "kind": "push", "urls": ["https://example.org/"] })).await;
        let id = source(
            &house,
            &kb,
            json!({ "name": "a", "kind": "pull", "urls": [site.url("/a.txt")] }),
        )
        .await;
        house.work().await;
        let own = format!("{path}/{id}");
        let changed = house
            .local(Method::PATCH, &own, json!({ "urls": [site.url("/b.txt")] }))
            .await
            .ok();
        let pulled = pull(&house, &token, &kb, &id).await;
        let pushed = house
            .post(
                &token,
                &format!("/api/v1/sources/{id}/ingest"),
                json!({ "filename": "a.md", "content": "x" }),
            )
            .await;
        house.local(Method::DELETE, &own, Value::Null).await.ok();
        site.asked();
        house.clock.advance_seconds(48 * 60 * 60);
        house.work().await;

        assert!(nothing.contains("needs `urls` or `lists`"), "{nothing}");
        assert!(scheme.contains("scheme is `file`"), "{scheme}");
        assert!(
            secret.contains("password") && !secret.contains("hush"),
            "{secret}"
        );
        assert!(
            other.contains("`urls` is for a source of the kind `pull`, not `push`"),
            "{other}"
        );
        assert_eq!(changed["settings"]["urls"], json!([site.url("/b.txt")]));
        assert_eq!(
            (&pulled["last"]["created"], &pulled["last"]["unchanged"]),
            (&json!(1), &json!(1))
        );
        assert_eq!(pushed.status, 409);
        assert!(site.asked().is_empty());
        assert_eq!(texts(&house, &token, &kb, "harbour").await.len(), 2);
    });
}
