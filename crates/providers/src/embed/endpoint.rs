//! Vectors from a server that speaks the OpenAI embeddings protocol.
//!
//! The operator names the server; texts leave the machine only by that decision.

use std::error::Error as StdError;
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use url::Url;

use super::{EmbedError, normalise};
use crate::fetch;

/// Which server, and how it is asked.
#[derive(Debug, Clone)]
pub struct EndpointOptions {
    /// The whole address, such as `https://models.example.org/v1/embeddings`.
    pub url: String,
    /// Sent as a bearer token.
    pub key: Option<SecretString>,
    /// The model's name at that server.
    pub model: String,
    /// Which build of the model, where its name does not say: another one means other vectors.
    pub revision: String,
    /// Languages it was trained on, as ISO 639-1 codes; none for any.
    pub languages: Vec<String>,
    /// Numbers in its vectors.
    pub width: NonZeroUsize,
    /// Set before a question, such as `query: `.
    pub query_prefix: String,
    /// Set before a passage, such as `passage: `.
    pub passage_prefix: String,
    /// Passages in one request at most.
    pub batch: NonZeroUsize,
    /// Requests at a time for one call.
    pub at_once: NonZeroUsize,
    /// For one request.
    pub time: Duration,
    /// Requests made for one batch at most.
    pub attempts: NonZeroU32,
    /// For a question, all its attempts together: whoever searches waits for it.
    pub question_time: Duration,
    /// Before the second attempt; doubled for each further one. A longer `Retry-After` wins.
    pub pause: Duration,
}

impl EndpointOptions {
    /// 32 passages a request, two requests at a time, 30 s each, three attempts; a question has 3 s.
    pub fn new(url: impl Into<String>, model: impl Into<String>, width: NonZeroUsize) -> Self {
        Self {
            url: url.into(),
            key: None,
            model: model.into(),
            revision: String::new(),
            languages: Vec::new(),
            width,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            batch: NonZeroUsize::new(32).expect("32 is not zero"),
            at_once: NonZeroUsize::new(2).expect("two is not zero"),
            time: Duration::from_secs(30),
            attempts: NonZeroU32::new(3).expect("three is not zero"),
            question_time: Duration::from_secs(3),
            pause: Duration::from_millis(500),
        }
    }
}

/// A server, ready to be asked.
#[derive(Debug)]
pub struct Endpoint {
    options: EndpointOptions,
    url: Url,
    client: reqwest::Client,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    index: usize,
    embedding: Vec<f32>,
}

/// What ended one attempt.
enum Fault {
    /// The next attempt may succeed, after so long at least.
    Passing(EmbedError, Duration),
    /// It will not.
    Lasting(EmbedError),
}

impl Endpoint {
    pub fn new(options: EndpointOptions) -> Result<Endpoint, EmbedError> {
        let wrong = EmbedError::Configured;
        let url = Url::parse(&options.url)
            .map_err(|error| wrong(format!("address is no URL ({error})")))?;
        let named = !url.username().is_empty() || url.password().is_some();
        if named || !matches!(url.scheme(), "http" | "https") {
            return Err(wrong(
                "address must be `http` or `https`, without a user or password".into(),
            ));
        }
        let client = |error: Box<dyn StdError + Send + Sync>| {
            wrong(format!("client cannot be set up: {error}"))
        };
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(fetch::tls().map_err(|error| client(error.into()))?)
            // A redirect would carry texts and key to someone whom the operator did not name.
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .timeout(options.time)
            .user_agent(concat!("quipu/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| client(error.into()))?;
        Ok(Endpoint {
            options,
            url,
            client,
        })
    }

    /// Model, revision, server and prefixes: what a vector depends on.
    pub fn tag(&self) -> String {
        let EndpointOptions {
            model,
            revision,
            query_prefix,
            passage_prefix,
            ..
        } = &self.options;
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port().map(|port| format!(":{port}"));
        let port = port.unwrap_or_default();
        let revision = match revision.as_str() {
            "" => String::new(),
            revision => format!("#{revision}"),
        };
        format!(
            "{model}{revision}@{host}{port}:{query_prefix:?}{passage_prefix:?}:{}",
            self.width()
        )
    }

    /// The languages that the operator says it was trained on.
    pub fn languages(&self) -> impl Iterator<Item = &str> {
        self.options.languages.iter().map(String::as_str)
    }

    pub fn width(&self) -> usize {
        self.options.width.get()
    }

    pub async fn passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let prefixed = texts
            .iter()
            .map(|text| format!("{}{text}", self.options.passage_prefix));
        let prefixed = prefixed.collect::<Vec<_>>();
        let batches = prefixed
            .chunks(self.options.batch.get())
            .map(<[String]>::to_vec);
        let vectors: Vec<Vec<Vec<f32>>> = futures::stream::iter(batches.collect::<Vec<_>>())
            .map(|batch| self.batch(batch))
            .buffered(self.options.at_once.get())
            .try_collect()
            .await?;
        Ok(vectors.into_iter().flatten().collect())
    }

    pub async fn query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let text = format!("{}{text}", self.options.query_prefix);
        let within = self.options.question_time;
        let Ok(answered) = tokio::time::timeout(within, self.batch(vec![text])).await else {
            let why = format!("gave no answer to a question within {within:?}");
            return Err(self.error(why, None));
        };
        Ok(answered?.pop().expect("one text has one vector"))
    }

    async fn batch(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut pause = self.options.pause;
        for _ in 1..self.options.attempts.get() {
            match self.attempt(&texts).await {
                Ok(vectors) => return Ok(vectors),
                Err(Fault::Lasting(error)) => return Err(error),
                Err(Fault::Passing(error, asked)) => {
                    tracing::warn!(%error, texts = texts.len(), "embedding is tried again");
                    tokio::time::sleep(pause.max(asked)).await;
                    pause *= 2;
                }
            }
        }
        match self.attempt(&texts).await {
            Ok(vectors) => Ok(vectors),
            Err(Fault::Lasting(error) | Fault::Passing(error, _)) => Err(error),
        }
    }

    async fn attempt(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Fault> {
        let model = &self.options.model;
        let body = Request {
            model,
            input: texts,
            encoding_format: "float",
        };
        let body = serde_json::to_vec(&body).expect("a request is plain data");
        let request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json");
        let request = match &self.options.key {
            Some(key) => request.bearer_auth(key.expose_secret()),
            None => request,
        };
        let broke_off = |error: reqwest::Error| {
            let error = self.error("could not be reached or broke off", Some(error));
            Fault::Passing(error, Duration::ZERO)
        };

        let mut response = request.body(body).send().await.map_err(broke_off)?;
        let status = response.status();
        if !status.is_success() {
            let error = self.error(format!("answered {}", status.as_u16()), None);
            return Err(match status {
                StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => {
                    Fault::Passing(error, self.asked_pause(&response))
                }
                StatusCode::BAD_REQUEST
                | StatusCode::PAYLOAD_TOO_LARGE
                | StatusCode::UNPROCESSABLE_ENTITY => Fault::Lasting(EmbedError::Refused {
                    host: self.host(),
                    status: status.as_u16(),
                }),
                _ if status.is_server_error() => Fault::Passing(error, self.asked_pause(&response)),
                _ => Fault::Lasting(error),
            });
        }
        let most = self.answer_bytes(texts.len());
        let mut answer = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(broke_off)? {
            if most < answer.len() + piece.len() {
                return Err(Fault::Lasting(
                    self.error("answered at too great length", None),
                ));
            }
            answer.extend_from_slice(&piece);
        }
        self.vectors(&answer, texts.len())
            .map_err(|why| Fault::Lasting(self.error(why, None)))
    }

    /// Seconds of `Retry-After`, but no longer than a request may take.
    fn asked_pause(&self, response: &reqwest::Response) -> Duration {
        let asked = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok());
        let seconds = asked.and_then(|value| value.parse().ok()).unwrap_or(0);
        Duration::from_secs(seconds).min(self.options.time)
    }

    /// A number takes 32 bytes in the most talkative JSON; the rest is names.
    fn answer_bytes(&self, texts: usize) -> usize {
        64 * 1024 + texts * (1024 + 32 * self.width())
    }

    fn vectors(&self, answer: &[u8], texts: usize) -> Result<Vec<Vec<f32>>, String> {
        let answer: Answer = serde_json::from_slice(answer)
            .map_err(|error| format!("answered no embeddings ({:?})", error.classify()))?;
        let mut vectors = vec![Vec::new(); texts];
        for Row {
            index,
            mut embedding,
        } in answer.data
        {
            let width = embedding.len();
            if width != self.width() {
                return Err(format!("answered {width} numbers and not {}", self.width()));
            }
            if !embedding.iter().all(|number| number.is_finite()) {
                return Err("answered a number that is none".into());
            }
            normalise(&mut embedding);
            *vectors
                .get_mut(index)
                .ok_or("answered more vectors than texts")? = embedding;
        }
        if vectors.iter().any(Vec::is_empty) {
            return Err("answered fewer vectors than texts".into());
        }
        Ok(vectors)
    }

    fn host(&self) -> String {
        self.url.host_str().unwrap_or_default().to_owned()
    }

    fn error(&self, why: impl Into<String>, source: Option<reqwest::Error>) -> EmbedError {
        let source = source.map(|error| error.without_url().into());
        let source: Option<Box<dyn StdError + Send + Sync>> = source;
        EmbedError::Endpoint {
            host: self.host(),
            why: why.into(),
            source,
        }
    }
}
