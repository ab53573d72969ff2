//! Answers and refusals as HTTP.

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use futures::{TryStreamExt, stream};
use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{HeaderValue, StatusCode};
use kernel::{Answer, Flow};
use model::{Code, Error, RequestId};
use serde_json::json;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// The body of every refusal on REST.
pub fn refusal_body(error: &Error, request: RequestId) -> serde_json::Value {
    json!({
        "error": error.message,
        "code": error.code.name(),
        "details": error.details,
        "request_id": request,
        "retry_after": error.retry_after,
    })
}

/// A refusal: status, sentence, code, request id; a cause of ours goes to the log, once, here.
pub fn refusal(error: &Error, request: RequestId) -> Response {
    log_fault(error);
    let status =
        StatusCode::from_u16(error.code.http()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = bytes(status, JSON, refusal_body(error, request).to_string());
    let headers = response.headers_mut();
    if error.code == Code::Unauthenticated {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if let Some(seconds) = error.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Writes the cause of a fault to the log.
pub fn log_fault(error: &Error) {
    if matches!(error.code, Code::Internal | Code::StorageFull) {
        tracing::error!(cause = %kernel::job::describe(error), "a call failed");
    }
}

/// The answer of an operation, as JSON or, where the caller asks for it, as text; one that comes
/// part by part in the media type it has, else in this one.
pub fn answer(answer: Answer, media_type: Option<&'static str>, as_text: bool) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    if let Some(flow) = answer.flow {
        let media_type = flow.media_type.or(media_type);
        return flowing(
            status,
            media_type.unwrap_or("application/octet-stream"),
            flow,
        );
    }
    let mut response = if as_text {
        bytes(status, TEXT, answer.text)
    } else {
        bytes(status, JSON, answer.json.to_string())
    };
    if answer.replayed {
        let replayed = HeaderValue::from_static("true");
        response
            .headers_mut()
            .insert("idempotent-replayed", replayed);
    }
    response
}

fn flowing(status: StatusCode, media_type: &'static str, flow: Flow) -> Response {
    let parts = stream::unfold(flow.parts, async |mut parts| {
        parts.recv().await.map(|part| (part, parts))
    });
    let body = Body::from_stream(parts.inspect_err(log_fault));
    let mut response = bytes(status, HeaderValue::from_static(media_type), body);
    let named = flow
        .filename
        .and_then(|name| HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")).ok());
    if let Some(named) = named {
        response.headers_mut().insert(CONTENT_DISPOSITION, named);
    }
    response
}

fn bytes(status: StatusCode, media_type: HeaderValue, body: impl Into<Body>) -> Response {
    let mut response = (status, body.into()).into_response();
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// 405; the router adds `Allow`.
pub async fn method_not_allowed(request: Request) -> Response {
    let sentence = format!(
        "{} is not served here; `Allow` says what is",
        request.method()
    );
    let error = Error::invalid(sentence);
    let mut response = refusal(&error, super::request_id(&request));
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    response
}
