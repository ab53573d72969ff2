//! A small S3 in this process that can be told to fail: enough of the protocol for our client.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use tokio::net::TcpListener;

/// The one bucket.
pub const BUCKET: &str = "papers";

/// How the next request fails.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// The store answers that it cannot.
    Status(u16, &'static str),
    /// The connection breaks.
    Dropped,
    /// Nothing comes back.
    Silence,
}

/// A running store. Clones share it.
#[derive(Clone)]
pub struct FakeS3 {
    pub endpoint: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Bytes>,
    uploads: HashMap<String, BTreeMap<u32, Bytes>>,
    faults: VecDeque<Fault>,
    /// For every request from now on.
    down: Option<Fault>,
    /// For every part of an upload.
    bad_parts: Option<Fault>,
    requests: Vec<String>,
    under_way: usize,
    under_way_most: usize,
}

struct Broken;

impl std::fmt::Debug for Broken {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("broken on purpose")
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("broken on purpose")
    }
}

impl std::error::Error for Broken {}

impl FakeS3 {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let fake = Self {
            endpoint: format!("http://{}", listener.local_addr().unwrap()),
            state: Arc::default(),
        };
        let served = fake.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let served = served.clone();
                tokio::spawn(async move {
                    let answer = service_fn(move |request| {
                        let served = served.clone();
                        async move { served.answer(request).await }
                    });
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), answer)
                        .await;
                });
            }
        });
        fake
    }

    /// The next requests fail like that, one each.
    pub fn fail(&self, faults: impl IntoIterator<Item = Fault>) {
        self.state().faults.extend(faults);
    }

    /// Every request fails like that, until it is told otherwise.
    pub fn set_down(&self, fault: Option<Fault>) {
        self.state().down = fault;
    }

    /// Every part of an upload fails like that.
    pub fn refuse_parts(&self, fault: Fault) {
        self.state().bad_parts = Some(fault);
    }

    /// Keys of what is stored.
    pub fn keys(&self) -> Vec<String> {
        self.state().objects.keys().cloned().collect()
    }

    /// Method and query of each request so far.
    pub fn requests(&self) -> Vec<String> {
        self.state().requests.clone()
    }

    /// Uploads in parts that were neither completed nor aborted.
    pub fn open_uploads(&self) -> usize {
        self.state().uploads.len()
    }

    /// Parts that were on their way at the same time, at most.
    pub fn parts_most(&self) -> usize {
        self.state().under_way_most
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Broken> {
        let (head, body) = request.into_parts();
        let query = head.uri.query().unwrap_or_default().to_owned();
        let is_part = query.contains("partNumber=");
        let fault = {
            let mut state = self.state();
            state.requests.push(format!("{} {query}", head.method));
            let bad_part = state.bad_parts.filter(|_| is_part);
            bad_part.or(state.down).or_else(|| state.faults.pop_front())
        };
        match fault {
            Some(Fault::Dropped) => return Err(Broken),
            Some(Fault::Silence) => return std::future::pending().await,
            _ => {}
        }
        if is_part {
            let mut state = self.state();
            state.under_way += 1;
            state.under_way_most = state.under_way_most.max(state.under_way);
        }
        let body = body.collect().await.map_err(|_| Broken)?.to_bytes();
        if is_part {
            self.state().under_way -= 1;
        }
        if let Some(Fault::Status(status, code)) = fault {
            let text = format!("<Error><Code>{code}</Code><Message>told to</Message></Error>");
            return Ok(reply(status, text));
        }
        let path = percent_decode_str(head.uri.path())
            .decode_utf8_lossy()
            .into_owned();
        let path = path.trim_start_matches('/');
        let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
        if bucket != BUCKET {
            let text = "<Error><Code>NoSuchBucket</Code></Error>";
            return Ok(reply(404, text));
        }
        let words: HashMap<String, String> = query
            .split('&')
            .map(|word| word.split_once('=').unwrap_or((word, "")))
            .map(|(name, value)| {
                let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
                (name.to_owned(), value)
            })
            .collect();
        Ok(self.serve(&head.method, key, &words, &head.headers, body))
    }

    fn serve(
        &self,
        method: &Method,
        key: &str,
        words: &HashMap<String, String>,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Response<Full<Bytes>> {
        let mut state = self.state();
        let upload = words.get("uploadId");
        match (method.as_str(), upload) {
            ("POST", None) if words.contains_key("uploads") => {
                let id = format!("upload-{}", state.requests.len());
                state.uploads.insert(id.clone(), BTreeMap::new());
                reply(
                    200,
                    format!(
                        "<InitiateMultipartUploadResult><Bucket>{BUCKET}</Bucket><Key>{key}</Key><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
                    ),
                )
            }
            ("PUT", Some(id)) => {
                let number = words["partNumber"].parse().unwrap();
                state.uploads.get_mut(id).unwrap().insert(number, body);
                etag(reply(200, ""))
            }
            ("POST", Some(id)) => {
                let parts = state.uploads.remove(id).unwrap();
                let mut parts: Vec<Bytes> = parts.into_values().collect();
                let last = parts.pop().unwrap();
                assert!(parts.iter().all(|part| 5 * 1024 * 1024 <= part.len()));
                let whole = [parts.concat(), last.to_vec()].concat();
                state.objects.insert(key.to_owned(), whole.into());
                reply(
                    200,
                    format!(
                        "<CompleteMultipartUploadResult><Bucket>{BUCKET}</Bucket><Key>{key}</Key><ETag>\"e\"</ETag></CompleteMultipartUploadResult>"
                    ),
                )
            }
            ("DELETE", Some(id)) => {
                state.uploads.remove(id);
                reply(204, "")
            }
            ("PUT", None) => {
                state.objects.insert(key.to_owned(), body);
                etag(reply(200, ""))
            }
            ("DELETE", None) => {
                state.objects.remove(key);
                reply(204, "")
            }
            ("GET", None) if key.is_empty() => list(&state.objects, words),
            (_, _) => match state.objects.get(key) {
                Some(object) => etag(part_of(method, object, headers)),
                None => reply(404, "<Error><Code>NoSuchKey</Code></Error>"),
            },
        }
    }
}

fn list(
    objects: &BTreeMap<String, Bytes>,
    words: &HashMap<String, String>,
) -> Response<Full<Bytes>> {
    let prefix = words.get("prefix").map_or("", String::as_str);
    let found = objects.iter().filter(|(key, _)| key.starts_with(prefix));
    let found: String = found
        .map(|(key, object)| {
            let size = object.len();
            format!("<Contents><Key>{key}</Key><Size>{size}</Size><LastModified>2026-03-01T00:00:00.000Z</LastModified><ETag>\"e\"</ETag></Contents>")
        })
        .collect();
    reply(
        200,
        format!(
            "<ListBucketResult><Name>{BUCKET}</Name><Prefix>{prefix}</Prefix><IsTruncated>false</IsTruncated>{found}</ListBucketResult>"
        ),
    )
}

fn part_of(method: &Method, object: &Bytes, headers: &HeaderMap) -> Response<Full<Bytes>> {
    let range = headers.get(header::RANGE).and_then(|range| {
        let (start, end) = range
            .to_str()
            .ok()?
            .strip_prefix("bytes=")?
            .split_once('-')?;
        let last = object.len() - 1;
        let end = end.parse().unwrap_or(last).min(last);
        Some(start.parse::<usize>().ok()?..end + 1)
    });
    let (status, part, told) = match range {
        Some(range) => {
            let told = format!("bytes {}-{}/{}", range.start, range.end - 1, object.len());
            (206, object.slice(range), Some(told))
        }
        None => (200, object.clone(), None),
    };
    let size = part.len();
    let sent = if method == Method::HEAD {
        Bytes::new()
    } else {
        part
    };
    let mut reply = reply(status, sent);
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_LENGTH, size.into());
    if let Some(told) = told {
        headers.insert(header::CONTENT_RANGE, told.parse().unwrap());
    }
    reply
}

fn etag(mut reply: Response<Full<Bytes>>) -> Response<Full<Bytes>> {
    let headers = reply.headers_mut();
    headers.insert(header::ETAG, "\"e\"".parse().unwrap());
    let then = "Sun, 01 Mar 2026 00:00:00 GMT".parse().unwrap();
    headers.insert(header::LAST_MODIFIED, then);
    reply
}

fn reply(status: u16, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut reply = Response::new(Full::new(body.into()));
    *reply.status_mut() = StatusCode::from_u16(status).unwrap();
    reply
}
