//! A server to call: by URL, or by the socket in its data folder.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST, HeaderValue};
use http::uri::{PathAndQuery, Scheme};
use http::{Request, Response, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::UnixStream;

/// What is sent with a request: at once, or part by part.
pub type Body = UnsyncBoxBody<Bytes, std::io::Error>;

/// A body that is sent at once.
pub fn whole(bytes: Bytes) -> Body {
    Full::new(bytes)
        .map_err(|never| match never {})
        .boxed_unsync()
}

type HttpClient = Client<HttpsConnector<HttpConnector>, Body>;

/// Where a server listens, and how to call it.
pub struct Server(Kind);

enum Kind {
    Url {
        base: Uri,
        token: Option<HeaderValue>,
        http: Box<HttpClient>,
    },
    Socket(PathBuf),
}

/// How long a server may take to answer; uploads of large documents included.
const ANSWER_WITHIN: Duration = Duration::from_mins(15);
/// How long a server may take to accept a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Largest answer that is read.
const ANSWER_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Why a server could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The address is none.
    #[error("`--server` must be an address such as `https://quipu.example.org`, not `{0}`")]
    NotAnAddress(String),
    /// The address goes on after the server's name.
    #[error("`--server` is the address of a server, without `{path}`: {url}")]
    HasAPath {
        /// What is too much.
        path: String,
        /// The address.
        url: String,
    },
    /// The token cannot be sent.
    #[error("`--token` holds characters that no token has")]
    NotAToken,
    /// Nobody answers there.
    #[error("no answer from {place}: {}", root(source.as_ref()))]
    NoAnswer {
        /// The address or the socket's path.
        place: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It took too long.
    #[error("{place} took longer than {} s to answer", ANSWER_WITHIN.as_secs())]
    TooSlow {
        /// The address or the socket's path.
        place: String,
    },
}

/// What is at the bottom of it: the outer causes say only that connecting failed.
fn root<'a>(error: &'a (dyn std::error::Error + 'static)) -> &'a (dyn std::error::Error + 'static) {
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    root
}

impl Server {
    /// The server at a URL, called with a token.
    ///
    /// # Errors
    /// If the URL or the token cannot be one. A URL with a user name in it is refused: it would
    /// end in logs.
    pub fn at(url: &str, token: Option<&str>) -> Result<Self, CallError> {
        let refused = || CallError::NotAnAddress(url.to_owned());
        let base: Uri = url.trim_end_matches('/').parse().map_err(|_| refused())?;
        let known_scheme = matches!(base.scheme_str(), Some("http" | "https"));
        if !matches!(base.path(), "" | "/") {
            return Err(CallError::HasAPath {
                path: base.path().to_owned(),
                url: url.to_owned(),
            });
        }
        let authority = base.authority().ok_or_else(refused)?;
        if !known_scheme || authority.as_str().contains('@') || base.query().is_some() {
            return Err(refused());
        }
        let token = token.map(|token| {
            let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
                .map_err(|_| CallError::NotAToken)?;
            value.set_sensitive(true);
            Ok(value)
        });
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(CONNECT_WITHIN));
        let roots = HttpsConnectorBuilder::new().with_native_roots();
        let tls = match roots {
            Ok(builder) => builder
                .https_or_http()
                .enable_http1()
                .wrap_connector(connector),
            Err(source) => {
                return Err(CallError::NoAnswer {
                    place: url.to_owned(),
                    source: source.into(),
                });
            }
        };
        let http = Box::new(Client::builder(TokioExecutor::new()).build(tls));
        Ok(Self(Kind::Url {
            base,
            token: token.transpose()?,
            http,
        }))
    }

    /// The server that owns a data folder, through its socket.
    pub fn at_socket(path: PathBuf) -> Self {
        Self(Kind::Socket(path))
    }

    /// Sends a request whose URI is a path, and reads the whole answer.
    ///
    /// # Errors
    /// If nobody answers, or not in time. An answer that refuses is an answer.
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Bytes>, CallError> {
        let place = self.place();
        let no_answer = |source: Cause| CallError::NoAnswer {
            place: place.clone(),
            source,
        };
        let read = async {
            let answer = self.open(request).await?;
            let (head, body) = answer.into_parts();
            let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
            let body = body.map_err(no_answer)?.to_bytes();
            Ok(Response::from_parts(head, body))
        };
        match tokio::time::timeout(ANSWER_WITHIN, read).await {
            Ok(answer) => answer,
            Err(_) => Err(CallError::TooSlow { place }),
        }
    }

    /// Sends a request whose URI is a path, and gives the answer as it comes in. Only its head has
    /// to come in time.
    ///
    /// # Errors
    /// If nobody answers, or not in time. An answer that refuses is an answer.
    pub async fn open(&self, request: Request<Body>) -> Result<Response<Incoming>, CallError> {
        let place = self.place();
        let sent = async {
            match &self.0 {
                Kind::Url { base, token, http } => {
                    let request = request_to(base, token.as_ref(), request)?;
                    Ok(http.request(request).await?)
                }
                Kind::Socket(path) => send_to_socket(path, request).await,
            }
        };
        match tokio::time::timeout(ANSWER_WITHIN, sent).await {
            Ok(answer) => answer.map_err(|source: Cause| CallError::NoAnswer { place, source }),
            Err(_) => Err(CallError::TooSlow { place }),
        }
    }

    /// How messages name the server.
    pub fn place(&self) -> String {
        match &self.0 {
            Kind::Url { base, .. } => base.to_string(),
            Kind::Socket(path) => path.display().to_string(),
        }
    }
}

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// The request with the server's address and token.
fn request_to(
    base: &Uri,
    token: Option<&HeaderValue>,
    request: Request<Body>,
) -> Result<Request<Body>, Cause> {
    let (mut head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let path = format!("{}{path}", base.path().trim_end_matches('/'));
    head.uri = Uri::builder()
        .scheme(base.scheme().cloned().unwrap_or(Scheme::HTTPS))
        .authority(base.authority().cloned().ok_or("the address has no host")?)
        .path_and_query(path)
        .build()?;
    if let Some(token) = token {
        head.headers.insert(AUTHORIZATION, token.clone());
    }
    Ok(Request::from_parts(head, body))
}

async fn send_to_socket(
    path: &PathBuf,
    request: Request<Body>,
) -> Result<Response<Incoming>, Cause> {
    let stream = UnixStream::connect(path).await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let (mut head, body) = request.into_parts();
    head.headers
        .insert(HOST, HeaderValue::from_static("localhost"));
    Ok(sender.send_request(Request::from_parts(head, body)).await?)
}
