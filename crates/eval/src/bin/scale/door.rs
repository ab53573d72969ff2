//! Calls to the server, timed on both sides.

use std::time::{Duration, Instant};

use bytes::Bytes;
use client::Server;
use http::{Method, Request};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::Door;
use crate::Failure;

/// A connection to the base that is put under load. Calls beside each other have one each.
pub struct Caller {
    server: Server,
    base: String,
}

/// An answer, and how long it took.
pub struct Answer {
    pub status: u16,
    pub body: Value,
    /// As the server says it in `Server-Timing`.
    pub in_server: Duration,
    /// From the first byte sent to the last one read.
    pub at_client: Duration,
}

impl Caller {
    pub fn new(door: &Door) -> Result<Self, Failure> {
        Ok(Self {
            server: Server::at(&door.server, Some(&door.token))?,
            base: format!("/api/v1/kbs/{}", door.base),
        })
    }

    /// Sends a document under its file's name.
    pub async fn add(&self, filename: &str, text: String) -> Result<Answer, Failure> {
        let path = format!("/documents?filename={}", encoded(filename));
        self.call(Method::POST, &path, text.into()).await
    }

    pub async fn search(&self, question: &str) -> Result<Answer, Failure> {
        let path = format!("/search?query={}", encoded(question));
        self.call(Method::GET, &path, Bytes::new()).await
    }

    pub async fn get(&self, path: &str) -> Result<Answer, Failure> {
        self.call(Method::GET, path, Bytes::new()).await
    }

    async fn call(&self, method: Method, path: &str, body: Bytes) -> Result<Answer, Failure> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base));
        if !body.is_empty() {
            request = request.header("content-type", "application/octet-stream");
        }
        let request = request.body(client::whole(body))?;
        let begun = Instant::now();
        let answer = self.server.send(request).await?;
        let at_client = begun.elapsed();
        let timing = answer.headers().get("server-timing");
        let timing = timing.and_then(|timing| timing.to_str().ok());
        let in_server = timing
            .and_then(|timing| timing.rsplit_once("dur=")?.1.parse::<f64>().ok())
            .ok_or("the server does not say how long it took")?;
        Ok(Answer {
            status: answer.status().as_u16(),
            body: serde_json::from_slice(answer.body())?,
            in_server: Duration::from_secs_f64(in_server / 1000.0),
            at_client,
        })
    }
}

impl Answer {
    /// The body of an answer that is no refusal.
    pub fn accepted(self) -> Result<Value, Failure> {
        if self.status < 300 {
            return Ok(self.body);
        }
        Err(format!("HTTP {}: {}", self.status, self.body).into())
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}
