//! The guarded fetcher against servers on this machine, under names from a table.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use providers::fetch::{
    Answered, FetchError, FetchLimits, FetchOptions, Fetched, Fetcher, Known, Names,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A server on 127.0.0.1 that answers by the request's path.
struct Site {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
}

impl Site {
    async fn start() -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(async move {
                    let mut request = vec![0; 8192];
                    let read = stream.read(&mut request).await.unwrap_or(0);
                    let request = String::from_utf8_lossy(&request[..read]).into_owned();
                    let answer = answer(&request, address.port());
                    let _ = stream.write_all(answer.as_bytes()).await;
                    if request.starts_with("GET /hang") {
                        std::future::pending::<()>().await;
                    }
                });
            }
        });
        Site { address, asked }
    }

    fn url(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.address.port())
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// A fetcher that may ask this site, and whose names are the given ones.
    fn fetcher(&self, names: Names) -> Fetcher {
        Fetcher::new(FetchOptions {
            ports: vec![80, self.address.port()],
            networks: vec!["127.0.0.1".parse().unwrap()],
            names,
            ..FetchOptions::default()
        })
        .unwrap()
    }
}

fn answer(request: &str, port: u16) -> String {
    let path = request.split(' ').nth(1).unwrap_or_default();
    let redirect =
        |to: &str| format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
    let body = |body: &str| {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    match path.split_once("/to?").map_or(path, |(_, to)| to) {
        "/page" => body("knots"),
        "/request" => body(request),
        "/known" if request.contains("if-none-match: \"7\"") => {
            "HTTP/1.1 304 Not Modified\r\nETag: \"7\"\r\n\r\n".into()
        }
        "/known" => "HTTP/1.1 200 OK\r\nETag: \"7\"\r\nLast-Modified: Wed, 01 May 2024 00:00:00 GMT\r\nContent-Length: 5\r\n\r\nknots".into(),
        "/unasked" => "HTTP/1.1 304 Not Modified\r\n\r\n".into(),
        "/hang" => "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n".into(),
        "/absent" => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".into(),
        "/announced" => format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 1u64 << 40),
        "/endless" => {
            format!(
                "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}",
                "x".repeat(4096)
            )
        }
        "/loop" => redirect("/loop"),
        "/one" => redirect("/page"),
        "/three" => redirect("/two"),
        "/two" => redirect("/one"),
        "/elsewhere" => redirect(&format!("http://other.test:{port}/page")),
        to => redirect(to),
    }
}

fn ip(address: &str) -> IpAddr {
    address.parse().unwrap()
}

fn local() -> Names {
    Names::scripted([("site.test", vec![vec![ip("127.0.0.1")]])])
}

async fn get(fetcher: &Fetcher, url: &str) -> Result<Fetched, FetchError> {
    fetcher
        .get(
            url,
            &FetchLimits {
                bytes: 1024,
                ..FetchLimits::default()
            },
        )
        .await
}

#[tokio::test]
async fn a_page_is_fetched_by_name_and_by_address() {
    let site = Site::start().await;
    let fetcher = site.fetcher(local());

    let fetched = get(&fetcher, &site.url("site.test", "/page#part"))
        .await
        .unwrap();
    assert_eq!(&fetched.bytes[..], b"knots");
    assert_eq!(fetched.header("content-type"), Some("text/plain"));
    assert_eq!(fetched.url, site.url("site.test", "/page"));

    let fetched = get(&fetcher, &site.url("127.0.0.1", "/page"))
        .await
        .unwrap();
    assert_eq!(&fetched.bytes[..], b"knots");
}

#[tokio::test]
async fn a_request_says_who_asks_and_carries_nothing_else() {
    let site = Site::start().await;

    let fetched = get(&site.fetcher(local()), &site.url("site.test", "/request"))
        .await
        .unwrap();

    let request = String::from_utf8(fetched.bytes.to_vec())
        .unwrap()
        .to_lowercase();
    let names = request
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(':'));
    let mut names = names.map(|(name, _)| name).collect::<Vec<_>>();
    names.sort_unstable();
    assert_eq!(names, ["accept", "host", "user-agent"]);
    assert!(request.contains("user-agent: quipu/"));
}

#[tokio::test]
async fn names_that_lead_inside_are_refused_without_a_connection() {
    let site = Site::start().await;
    let names = Names::scripted([
        ("inside.test", vec![vec![ip("10.0.0.1")]]),
        ("mixed.test", vec![vec![ip("127.0.0.1"), ip("127.0.0.2")]]),
        ("mapped.test", vec![vec![ip("::ffff:169.254.169.254")]]),
        ("empty.test", vec![vec![]]),
    ]);
    let fetcher = site.fetcher(names);

    for name in ["inside.test", "mixed.test", "mapped.test"] {
        let refused = get(&fetcher, &site.url(name, "/page")).await.unwrap_err();
        assert!(
            matches!(refused, FetchError::Address { .. }),
            "{name}: {refused:?}"
        );
    }
    for name in ["empty.test", "unknown.test"] {
        let refused = get(&fetcher, &site.url(name, "/page")).await.unwrap_err();
        assert!(
            matches!(refused, FetchError::NoAddress(_)),
            "{name}: {refused:?}"
        );
    }
    assert_eq!(site.asked(), 0);
}

#[tokio::test]
async fn a_refusal_names_the_host_and_not_its_address() {
    let site = Site::start().await;
    let fetcher = site.fetcher(Names::scripted([("db.test", vec![vec![ip("10.9.8.7")]])]));

    let refused = get(&fetcher, &site.url("db.test", "/page?key=secret"))
        .await
        .unwrap_err();

    assert_eq!(
        refused.to_string(),
        "`db.test` is private; only public addresses are fetched"
    );
}

#[tokio::test]
async fn a_name_that_turns_inside_between_two_fetches_is_judged_again() {
    let site = Site::start().await;
    let turning = vec![vec![ip("127.0.0.1")], vec![ip("192.168.0.1")]];
    let fetcher = site.fetcher(Names::scripted([("turning.test", turning)]));
    let url = site.url("turning.test", "/page");

    assert!(get(&fetcher, &url).await.is_ok());
    assert!(matches!(
        get(&fetcher, &url).await,
        Err(FetchError::Address { .. })
    ));
    assert_eq!(site.asked(), 1);
}

#[tokio::test]
async fn a_name_is_resolved_once_for_a_fetch() {
    let site = Site::start().await;
    let turning = vec![vec![ip("127.0.0.1")], vec![ip("10.0.0.1")]];
    let fetcher = site.fetcher(Names::scripted([("turning.test", turning)]));

    let fetched = get(&fetcher, &site.url("turning.test", "/page"))
        .await
        .unwrap();

    assert_eq!(&fetched.bytes[..], b"knots");
}

#[tokio::test]
async fn three_redirects_are_followed_and_no_more() {
    let site = Site::start().await;
    let fetcher = site.fetcher(local());

    let fetched = get(&fetcher, &site.url("site.test", "/three"))
        .await
        .unwrap();
    assert_eq!(fetched.url, site.url("site.test", "/page"));

    let looped = get(&fetcher, &site.url("site.test", "/loop")).await;
    assert!(matches!(looped, Err(FetchError::TooManyRedirects(3))));

    let none = FetchLimits {
        redirects: 0,
        ..FetchLimits::default()
    };
    let refused = fetcher.get(&site.url("site.test", "/one"), &none).await;
    assert!(matches!(refused, Err(FetchError::TooManyRedirects(0))));
}

#[tokio::test]
async fn each_redirect_is_judged_like_the_first_url() {
    let site = Site::start().await;
    let names = Names::scripted([
        ("site.test", vec![vec![ip("127.0.0.1")]]),
        ("other.test", vec![vec![ip("172.16.0.1")]]),
    ]);
    let fetcher = site.fetcher(names);
    let to = |target: &str| site.url("site.test", &format!("/to?{target}"));

    for target in [
        "http://127.0.0.2/",
        "http://[::1]/",
        "//169.254.169.254/",
        "http://0x7f000002/",
    ] {
        let refused = get(&fetcher, &to(target)).await;
        assert!(
            matches!(refused, Err(FetchError::Address { .. })),
            "{target}: {refused:?}"
        );
    }
    let elsewhere = get(&fetcher, &site.url("site.test", "/elsewhere")).await;
    assert!(
        matches!(elsewhere, Err(FetchError::Address { .. })),
        "{elsewhere:?}"
    );
    assert!(matches!(
        get(&fetcher, &to("file:///etc/passwd")).await,
        Err(FetchError::Scheme(_))
    ));
    assert!(matches!(
        get(&fetcher, &to("http://a:b@site.test/")).await,
        Err(FetchError::Credentials)
    ));
    assert!(matches!(
        get(&fetcher, &to("http://site.test:6379/")).await,
        Err(FetchError::Port { .. })
    ));
    assert!(matches!(
        get(&fetcher, &to("http://[")).await,
        Err(FetchError::NotAUrl(_))
    ));
}

#[tokio::test]
async fn a_long_body_is_given_up_whether_announced_or_not() {
    let site = Site::start().await;
    let fetcher = site.fetcher(local());

    for path in ["/announced", "/endless"] {
        let long = get(&fetcher, &site.url("site.test", path)).await;
        assert!(
            matches!(long, Err(FetchError::TooLarge(1024))),
            "{path}: {long:?}"
        );
    }
}

#[tokio::test]
async fn a_server_that_stops_in_the_middle_is_given_up() {
    let site = Site::start().await;
    let limits = FetchLimits {
        time: Duration::from_millis(200),
        ..FetchLimits::default()
    };

    let hung = site
        .fetcher(local())
        .get(&site.url("site.test", "/hang"), &limits)
        .await;

    assert!(matches!(hung, Err(FetchError::TooLong(_))), "{hung:?}");
}

#[tokio::test]
async fn a_refusal_of_the_server_is_its_status() {
    let site = Site::start().await;

    let absent = get(&site.fetcher(local()), &site.url("site.test", "/absent")).await;

    assert!(
        matches!(absent, Err(FetchError::Status { status: 404, .. })),
        "{absent:?}"
    );
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_not_read_over_https() {
    let site = Site::start().await;
    let url = site.url("site.test", "/page").replace("http:", "https:");

    let failed = get(&site.fetcher(local()), &url).await.unwrap_err();

    assert!(matches!(failed, FetchError::Failed { .. }), "{failed:?}");
    assert_eq!(
        failed.to_string(),
        "`site.test` could not be reached or broke off"
    );
}

#[tokio::test]
async fn without_the_operators_word_this_machine_is_not_asked() {
    let site = Site::start().await;
    let ports = vec![site.address.port()];
    let fetcher = Fetcher::new(FetchOptions {
        ports,
        ..FetchOptions::default()
    })
    .unwrap();

    for host in ["127.0.0.1", "localhost", "[::1]", "0.0.0.0"] {
        let refused = get(&fetcher, &site.url(host, "/page")).await;
        assert!(
            matches!(refused, Err(FetchError::Address { .. })),
            "{host}: {refused:?}"
        );
    }
    assert_eq!(site.asked(), 0);
}

#[tokio::test]
async fn a_scripted_fetcher_knows_its_pages_only() {
    let page = Fetched::page("https://example.org/page", "text/plain", "knots");
    let fetcher = Fetcher::scripted([page]);

    assert_eq!(
        &get(&fetcher, "https://example.org/page")
            .await
            .unwrap()
            .bytes[..],
        b"knots"
    );
    let absent = get(&fetcher, "https://example.org/other").await;
    assert!(matches!(absent, Err(FetchError::NoAddress(_))));
}

#[tokio::test]
async fn what_is_known_is_not_sent_again_behind_redirects_too() {
    let site = Site::start().await;
    let fetcher = site.fetcher(local());
    let url = site.url("site.test", "/to?/known");
    let limits = FetchLimits::default();

    let first = get(&fetcher, &url).await.unwrap();
    let known = first.known();
    let again = fetcher.ask(&url, &known, &limits).await.unwrap();
    let other = Known {
        etag: Some("\"8\"".to_owned()),
        ..known.clone()
    };
    let changed = fetcher.ask(&url, &other, &limits).await.unwrap();

    assert_eq!(known.etag.as_deref(), Some("\"7\""));
    assert_eq!(
        known.last_modified.as_deref(),
        Some("Wed, 01 May 2024 00:00:00 GMT")
    );
    assert!(matches!(again, Answered::NotModified));
    assert!(matches!(changed, Answered::Fetched(page) if page.bytes == "knots"));
}

#[tokio::test]
async fn a_server_that_says_not_modified_to_somebody_who_knows_nothing_is_refused() {
    let site = Site::start().await;

    let refused = get(&site.fetcher(local()), &site.url("site.test", "/unasked")).await;

    assert!(matches!(
        refused,
        Err(FetchError::Status { status: 304, .. })
    ));
}
