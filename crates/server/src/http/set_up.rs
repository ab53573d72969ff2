//! The page behind the set-up link: the first admin chooses a password.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY};
use http::{HeaderValue, StatusCode};
use http_body_util::{BodyExt, Limited};
use kernel::Door;
use kernel::gate::{self, Carried};
use kernel::principal::Caller;
use model::{Error, RequestId};
use serde_json::{Map, Value};

use super::request_id;
use crate::app::App;

/// `/setup`: the form, and what it sends.
pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/setup", get(form).post(submit))
}

const FORM: &str = include_str!("set_up.html");
const DONE: &str = include_str!("set_up_done.html");
/// Largest form, in bytes.
const FORM_BYTES_MAX: usize = 16 * 1024;

async fn form(request: Request) -> Response {
    let query = request.uri().query().unwrap_or_default();
    let secret = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "secret");
    let secret = secret
        .map(|(_, secret)| secret.into_owned())
        .unwrap_or_default();
    page(
        StatusCode::OK,
        FORM,
        &[("{{secret}}", &secret), ("{{fault}}", "")],
    )
}

async fn submit(State(app): State<Arc<App>>, request: Request) -> Response {
    let id = request_id(&request);
    let client = super::rest::client_name(request.headers());
    let words = match read_form(request).await {
        Ok(words) => words,
        Err(error) => return fault("", &error),
    };
    let secret = words
        .get("secret")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    match set_up(&app, words, client, id).await {
        Ok(email) => page(StatusCode::OK, DONE, &[("{{email}}", &email)]),
        Err(error) => fault(&secret, &error),
    }
}

async fn read_form(request: Request) -> Result<Map<String, Value>, Error> {
    let body = Limited::new(request.into_body(), FORM_BYTES_MAX)
        .collect()
        .await;
    let body = body
        .map_err(|_| Error::invalid("the form is too large"))?
        .to_bytes();
    let words = form_urlencoded::parse(&body);
    Ok(words
        .map(|(name, value)| (name.into_owned(), Value::String(value.into_owned())))
        .collect())
}

async fn set_up(
    app: &Arc<App>,
    words: Map<String, Value>,
    client: Option<String>,
    request: RequestId,
) -> Result<String, Error> {
    let registered = app
        .registry
        .get("set_up")
        .expect("the operation is in the registry");
    let caller = Caller {
        principal: None,
        client,
        door: Door::Rest,
        request,
    };
    let admitted = gate::admit(&app.core, registered, caller, None).await?;
    let answer = gate::run(admitted, words, Carried::default()).await?;
    Ok(answer.json["email"].as_str().unwrap_or_default().to_owned())
}

fn fault(secret: &str, error: &Error) -> Response {
    super::reply::log_fault(error);
    let status = StatusCode::from_u16(error.code.http()).unwrap_or(StatusCode::BAD_REQUEST);
    let sentence = format!("<p role=\"alert\">{}</p>", escaped(&error.message));
    page(
        status,
        &FORM.replace("{{fault}}", &sentence),
        &[("{{secret}}", secret)],
    )
}

fn page(status: StatusCode, template: &str, values: &[(&str, &str)]) -> Response {
    let mut text = template.to_owned();
    for (mark, value) in values {
        text = text.replace(mark, &escaped(value));
    }
    let mut response = (status, Html(text)).into_response();
    let policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, policy),
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("x-content-type-options"), "nosniff"),
    ] {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
