//! Embeddings over the wire, from a server on this machine that answers from a list.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use providers::{EmbedError, Embedder, EndpointOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A server that gives its answers in order and keeps what it was asked.
struct Server {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(answers: &[(&str, &str)]) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1/embeddings", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = asked.clone();
        let answers = answers.iter().map(|(status, body)| {
            let length = body.len();
            format!(
                "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
            )
        });
        let answers = answers.collect::<Vec<_>>();
        tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read(&mut stream).await;
                kept.lock().unwrap().push(request);
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Server { url, asked }
    }

    fn embedder(&self) -> Embedder {
        let width = NonZeroUsize::new(2).unwrap();
        let options = EndpointOptions {
            key: Some("a-secret".to_owned().into()),
            query_prefix: "query: ".into(),
            passage_prefix: "passage: ".into(),
            batch: NonZeroUsize::new(2).unwrap(),
            at_once: NonZeroUsize::MIN,
            attempts: NonZeroU32::new(2).unwrap(),
            pause: Duration::from_millis(1),
            ..EndpointOptions::new(&self.url, "small", width)
        };
        Embedder::endpoint(options).unwrap()
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// A request up to the end of its announced body.
async fn read(stream: &mut tokio::net::TcpStream) -> String {
    let mut request = String::new();
    let mut piece = [0; 4096];
    loop {
        let read = stream.read(&mut piece).await.unwrap();
        request.push_str(std::str::from_utf8(&piece[..read]).unwrap());
        let Some((head, body)) = request.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        if length.map_or(0, |length| length.parse().unwrap()) <= body.len() {
            return request;
        }
    }
}

const ONE: &str = r#"{"data": [{"index": 0, "embedding": [0, 2]}]}"#;
const TWO: &str =
    r#"{"data": [{"index": 1, "embedding": [0.6, 0.8]}, {"index": 0, "embedding": [3, 4]}]}"#;

#[tokio::test]
async fn passages_go_in_batches_and_come_back_in_order_at_unit_length() {
    let server = Server::start(&[("200 OK", TWO), ("200 OK", ONE)]).await;

    let vectors = server
        .embedder()
        .embed_passages(&["a", "b", "c"])
        .await
        .unwrap();

    assert_eq!(vectors, [[0.6, 0.8], [0.6, 0.8], [0.0, 1.0]]);
    let asked = server.asked();
    assert!(asked[0].contains(
        r#"{"model":"small","input":["passage: a","passage: b"],"encoding_format":"float"}"#
    ));
    assert!(asked[1].contains(r#""input":["passage: c"]"#));
    assert!(asked[0].contains("authorization: Bearer a-secret"));
}

#[tokio::test]
async fn a_busy_server_is_asked_again_and_a_refusing_one_is_not() {
    let busy = Server::start(&[("503 Busy", ""), ("200 OK", ONE)]).await;
    assert_eq!(
        busy.embedder().embed_query("why").await.unwrap(),
        [0.0, 1.0]
    );
    assert!(busy.asked()[1].contains(r#""input":["query: why"]"#));

    let refusing = Server::start(&[("401 Unauthorized", ""), ("200 OK", ONE)]).await;
    let refused = refusing.embedder().embed_query("why").await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the embedding server `127.0.0.1` answered 401"
    );
    assert_eq!(refusing.asked().len(), 1);

    let always = Server::start(&[("429 Slow", ""), ("429 Slow", "")]).await;
    assert!(
        always
            .embedder()
            .embed_query("why")
            .await
            .unwrap_err()
            .to_string()
            .contains("429")
    );
}

#[tokio::test]
async fn an_answer_of_another_shape_is_refused_by_what_is_wrong_with_it() {
    let shapes = [
        ("[]", "answered no embeddings"),
        (r#"{"data": []}"#, "answered fewer vectors than texts"),
        (
            r#"{"data": [{"index": 0, "embedding": [1]}]}"#,
            "answered 1 numbers and not 2",
        ),
        (
            r#"{"data": [{"index": 7, "embedding": [1, 0]}]}"#,
            "answered more vectors than texts",
        ),
    ];
    for (answer, wrong) in shapes {
        let server = Server::start(&[("200 OK", answer)]).await;
        let refused = server.embedder().embed_query("why").await.unwrap_err();
        assert!(refused.to_string().contains(wrong), "{refused}");
    }
}

#[test]
fn an_endpoint_without_a_web_address_is_refused() {
    for url in ["", "file:///x", "http://user:hunter2@host/"] {
        let options = EndpointOptions::new(url, "small", NonZeroUsize::MIN);
        let refused = Embedder::endpoint(options).unwrap_err();
        assert!(matches!(refused, EmbedError::Configured(_)), "{refused}");
        assert!(!refused.to_string().contains("hunter2"));
    }
}
