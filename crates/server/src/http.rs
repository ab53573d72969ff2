//! The HTTP side of the house: what every request passes before its door, and how it is served.

pub mod guard;
pub mod health;
pub mod listen;
pub mod pace;
pub mod reply;
pub mod rest;
pub mod set_up;

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use http::Method;
use model::{Error, RequestId};
use tracing::Instrument;

use crate::app::App;

/// Set on requests of whoever can open the data folder: its socket, or its own process.
#[derive(Debug, Clone, Copy)]
pub struct LocalOwner;

/// All routes, behind the guards.
pub fn router(app: &Arc<App>) -> Router {
    Router::new()
        .merge(health::routes())
        .merge(set_up::routes())
        .merge(crate::mcp::routes())
        .merge(rest::routes(&app.registry))
        .fallback(nothing_here)
        .method_not_allowed_fallback(reply::method_not_allowed)
        .layer(from_fn_with_state(Arc::clone(app), pace::check))
        .layer(from_fn_with_state(Arc::clone(app), guard::check))
        .layer(from_fn_with_state(Arc::clone(app), trace))
        .with_state(Arc::clone(app))
}

async fn nothing_here(request: Request) -> Response {
    let mut sentence = format!(
        "there is nothing at {} {}",
        request.method(),
        request.uri().path()
    );
    if request.uri().path() == "/" {
        sentence.push_str(
            "; programs call /api/v1, agents /api/v1/kbs/{kb_id}/mcp, and /health says how the server is",
        );
    }
    reply::refusal(&Error::not_found(sentence), request_id(&request))
}

/// The id that the outermost layer gave the request.
pub fn request_id(request: &Request) -> RequestId {
    let id = request.extensions().get::<RequestId>();
    *id.expect("the outermost layer gives every request an id")
}

/// Gives the request its id, one log line and its place in the metrics.
async fn trace(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let id = RequestId::new(app.core.ids.next());
    request.extensions_mut().insert(id);
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map(|path| path.as_str().to_owned());
    let route = route.unwrap_or_else(|| "unmatched".to_owned());
    let method = request.method().clone();
    let span = tracing::info_span!("request", %id, %method, route);
    let begun = Instant::now();
    let mut response = next.run(request).instrument(span.clone()).await;
    let seconds = begun.elapsed().as_secs_f64();
    let status = response.status().as_u16();
    span.in_scope(|| tracing::debug!(status, ms = seconds * 1000.0, "answered"));
    let known = [
        Method::GET,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
    ];
    let method = if known.contains(&method) {
        method.as_str()
    } else {
        "other"
    };
    let labels = [
        ("method", method.to_owned()),
        ("route", route),
        ("status", status.to_string()),
    ];
    metrics::counter!("quipu_http_requests_total", &labels).increment(1);
    metrics::histogram!("quipu_http_request_seconds", &labels[..2]).record(seconds);
    if let Ok(value) = id.to_string().parse() {
        response.headers_mut().insert("x-request-id", value);
    }
    // W3C Server Timing: until the head of the answer, in milliseconds.
    if let Ok(value) = format!("app;dur={:.3}", seconds * 1000.0).parse() {
        response.headers_mut().insert("server-timing", value);
    }
    response
}
