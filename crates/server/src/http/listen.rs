//! Accepting connections: TCP and the data folder's socket, with time limits, and a quiet end.
//!
//! Built on hyper-util because `axum::serve` has no time limit on headers.

use std::path::Path;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use http::HeaderValue;
use http::header::HOST;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tower::ServiceExt;

use super::LocalOwner;

/// How long a client may take to send its headers.
const HEADERS_WITHIN: Duration = Duration::from_secs(10);
/// Largest head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// How long requests in flight may go on after the end was asked for.
const DRAIN_WITHIN: Duration = Duration::from_secs(30);
/// How long to wait after the machine refused a connection (no descriptors left).
const REFUSED_PAUSE: Duration = Duration::from_millis(50);

/// Resolves when the end was asked for.
pub async fn ended(mut end: watch::Receiver<bool>) {
    let _ = end.wait_for(|ended| *ended).await;
}

/// Where connections come from.
trait Connections {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next one.
    fn next(&self) -> impl Future<Output = std::io::Result<Self::Stream>> + Send;
}

impl Connections for TcpListener {
    type Stream = TcpStream;

    async fn next(&self) -> std::io::Result<TcpStream> {
        let (stream, _) = self.accept().await?;
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }
}

impl Connections for UnixListener {
    type Stream = UnixStream;

    async fn next(&self) -> std::io::Result<UnixStream> {
        Ok(self.accept().await?.0)
    }
}

/// Serves TCP until the end, then lets requests in flight finish.
pub async fn serve_tcp(listener: TcpListener, router: Router, end: watch::Receiver<bool>) {
    serve(listener, router, None, end).await;
}

/// Serves the data folder's socket until the end; whoever can open it is its owner.
pub async fn serve_socket(listener: UnixListener, router: Router, end: watch::Receiver<bool>) {
    serve(listener, router, Some(LocalOwner), end).await;
}

async fn serve(
    listener: impl Connections,
    router: Router,
    owner: Option<LocalOwner>,
    end: watch::Receiver<bool>,
) {
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.next() => accepted,
            () = ended(end.clone()) => break,
        };
        match accepted {
            Ok(stream) => serve_connection(stream, router.clone(), owner, &graceful),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(REFUSED_PAUSE).await;
            }
        }
    }
    drop(listener);
    drain(graceful).await;
}

async fn drain(graceful: GracefulShutdown) {
    if tokio::time::timeout(DRAIN_WITHIN, graceful.shutdown())
        .await
        .is_err()
    {
        tracing::warn!("requests still in flight were cut off");
    }
}

fn serve_connection<S>(
    stream: S,
    router: Router,
    owner: Option<LocalOwner>,
    graceful: &GracefulShutdown,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request: http::Request<Incoming>| {
        let mut request: Request = request.map(Body::new);
        if let Some(owner) = owner {
            request.extensions_mut().insert(owner);
        }
        router.clone().oneshot(request)
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended");
        }
    });
}

/// Opens the socket of a data folder, readable by its owner only.
///
/// # Errors
/// When the folder does not take one.
pub fn bind_socket(path: &Path) -> std::io::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt;
    // The lock is ours, so what lies there is a dead owner's.
    if path.exists() {
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Runs one request of the data folder's owner in this process, without any connection.
pub async fn in_process(router: &Router, request: Request) -> axum::response::Response {
    let mut request = request;
    request.extensions_mut().insert(LocalOwner);
    request
        .headers_mut()
        .insert(HOST, HeaderValue::from_static("localhost"));
    match router.clone().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}
