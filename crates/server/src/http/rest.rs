//! REST under `/api/v1`, made from the registry: a route per operation, nothing by hand.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter};
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, USER_AGENT};
use http::request::Parts;
use http_body_util::{BodyExt, Limited};
use kernel::gate::{self, Carried};
use kernel::principal::Caller;
use kernel::{Answer, Core, Door, Method, Registered, Registry, TargetKind, Upload};
use model::{Code, Error, KbId, Result};
use serde_json::{Map, Value};

use super::{LocalOwner, reply, request_id};
use crate::app::App;

/// Where REST lives.
pub const PREFIX: &str = "/api/v1";

fn filter_of(method: Method) -> MethodFilter {
    match method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Put => MethodFilter::PUT,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
    }
}

/// The words of the path, unless they are no text.
pub type Params = Result<RawPathParams, RawPathParamsRejection>;

/// The words of the path.
///
/// # Errors
/// `invalid_argument` if they are no UTF-8.
pub fn readable(params: &Params) -> Result<&RawPathParams> {
    params
        .as_ref()
        .map_err(|_| Error::invalid("the words of the path must be UTF-8 text"))
}

/// A route per operation.
pub fn routes(registry: &Registry) -> Router<Arc<App>> {
    let mut by_path: BTreeMap<&str, MethodRouter<Arc<App>>> = BTreeMap::new();
    for registered in registry.iter() {
        let Some((method, path)) = registered.entry.spec.route else {
            continue;
        };
        let name = registered.entry.spec.name;
        let handler = move |State(app): State<Arc<App>>, params: Params, request: Request| async move {
            handle(&app, name, params, request).await
        };
        let methods = by_path.remove(path).unwrap_or_default();
        by_path.insert(path, methods.on(filter_of(method), handler));
    }
    by_path
        .into_iter()
        .fold(Router::new(), |router, (path, methods)| {
            router.route(&format!("{PREFIX}{path}"), methods)
        })
}

async fn handle(app: &Arc<App>, name: &str, params: Params, request: Request) -> Response {
    let id = request_id(&request);
    let as_text = wants_text(request.headers());
    let registered = app
        .registry
        .get(name)
        .expect("the route was made from the registry");
    match serve(app, registered, &params, request).await {
        Ok(answer) => reply::answer(
            answer,
            registered.entry.spec.flows.first().copied(),
            as_text,
        ),
        Err(error) => reply::refusal(&error, id),
    }
}

fn wants_text(headers: &HeaderMap) -> bool {
    let accept = headers
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .unwrap_or_default();
    accept
        .split(',')
        .next()
        .is_some_and(|first| first.trim().starts_with("text/plain"))
}

async fn serve(
    app: &Arc<App>,
    registered: &Registered,
    params: &Params,
    request: Request,
) -> Result<Answer> {
    let (parts, body) = request.into_parts();
    let caller = caller(app, registered, &parts).await?;
    let mut words = Words::default();
    words.take_query(&parts)?;
    let kb = words.take_path(readable(params)?, registered.entry.target)?;
    let kb = match kb {
        Ok(None) if names_only_a_source(registered) => base_of_source(app, &caller, &words).await,
        kb => kb,
    };
    let key = parts
        .headers
        .get("idempotency-key")
        .map(|key| key.to_str().map(str::to_owned));
    let key = key
        .transpose()
        .map_err(|_| Error::invalid("`Idempotency-Key` must be ASCII text"))?;
    if registered.entry.spec.upload {
        // What a system admin alone may send is as large as they have it.
        let bytes_max = if registered.entry.spec.system_admin {
            u64::MAX
        } else {
            app.core.limits.upload_bytes
        };
        refuse_larger(&parts.headers, bytes_max)?;
        let admitted = admit(app, registered, caller, kb?).await?;
        let upload = take_file(&app.core, bytes_max, &parts.headers, body, &mut words)
            .await
            .inspect_err(|error| admitted.broken_off(error))?;
        let carried = Carried {
            upload: Some(upload),
            key,
        };
        return gate::run(admitted, words.0, carried).await;
    }
    words
        .take_json(&parts.headers, body, app.settings.body_bytes_max)
        .await?;
    let admitted = admit(app, registered, caller, kb?).await?;
    gate::run(
        admitted,
        words.0,
        Carried {
            key,
            ..Carried::default()
        },
    )
    .await
}

/// The gate, whose refusal names what the address names.
async fn admit<'a>(
    app: &App,
    registered: &'a Registered,
    caller: Caller,
    kb: Option<KbId>,
) -> Result<gate::Admitted<'a>> {
    let admitted = gate::admit(&app.core, registered, caller, kb).await;
    admitted.map_err(|error| match error.code {
        Code::NotFound if names_only_a_source(registered) => {
            Error::not_found("no source with that id")
        }
        _ => error,
    })
}

/// Whether an operation on a base has an address that names a source instead.
fn names_only_a_source(registered: &Registered) -> bool {
    let path = registered.entry.spec.route.map_or("", |(_, path)| path);
    registered.entry.target == TargetKind::Base && !path.contains("{kb_id}")
}

/// The base of the source that the path names.
async fn base_of_source(app: &App, caller: &Caller, words: &Words) -> Result<Option<KbId>> {
    let named = words.0.get("source_id").and_then(Value::as_str);
    let source = named.and_then(|source| source.parse().ok());
    match (source, &caller.principal) {
        (Some(source), Some(principal)) => {
            kernel::target::base_of_source(&app.core, principal, source).await
        }
        _ => Ok(None),
    }
}

/// Who calls: the data folder's owner, the owner of a token, or nobody where nobody is asked.
async fn caller(app: &App, registered: &Registered, parts: &Parts) -> Result<Caller> {
    let local = parts.extensions.get::<LocalOwner>().is_some();
    let public = registered.entry.target == TargetKind::Public;
    let principal = match (local, public) {
        (true, _) => accounts::sign_in::local_owner(&app.core).await?,
        (false, true) => None,
        (false, false) => Some(signed_in(app, &parts.headers).await?),
    };
    let door = if local { Door::Local } else { Door::Rest };
    let request = *parts
        .extensions
        .get()
        .expect("the outermost layer gives every request an id");
    Ok(Caller {
        principal,
        client: client_name(&parts.headers),
        door,
        request,
    })
}

/// The owner of the token in the headers.
///
/// # Errors
/// `unauthenticated` without one that is valid now.
pub async fn signed_in(app: &App, headers: &HeaderMap) -> Result<kernel::Principal> {
    let token = bearer(headers).ok_or_else(gate::unauthenticated)?;
    accounts::sign_in::with_token(&app.core, token, client_name(headers)).await
}

/// What the calling program calls itself.
pub fn client_name(headers: &HeaderMap) -> Option<String> {
    let agent = headers.get(USER_AGENT)?.to_str().ok()?;
    Some(accounts::sign_in::shortened(agent))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

pub fn refuse_larger(headers: &HeaderMap, bytes_max: u64) -> Result<()> {
    let length = headers
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    match length {
        Some(length) if length > bytes_max => Err(too_large(bytes_max)),
        _ => Ok(()),
    }
}

pub fn too_large(bytes_max: u64) -> Error {
    let sentence = format!("the body is larger than {bytes_max} bytes, the most this server takes");
    Error::new(Code::TooLarge, sentence).details(serde_json::json!({ "bytes_max": bytes_max }))
}

/// The media type without its parameters, in lower case.
fn media_type(headers: &HeaderMap) -> String {
    let value = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    value
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
}

/// Arguments gathered from path, query and body.
#[derive(Default)]
struct Words(Map<String, Value>);

impl Words {
    fn add(&mut self, name: String, value: Value) -> Result<()> {
        match self.0.get_mut(&name) {
            // `?kb_ids=a&kb_ids=b` is a list.
            Some(Value::Array(list)) if !value.is_array() => list.push(value),
            Some(before @ Value::String(_)) if value.is_string() => {
                *before = Value::Array(vec![before.take(), value]);
            }
            Some(_) => return Err(Error::invalid(format!("`{name}` is given twice"))),
            None => {
                self.0.insert(name, value);
            }
        }
        Ok(())
    }

    fn take_query(&mut self, parts: &Parts) -> Result<()> {
        let query = parts.uri.query().unwrap_or_default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            self.add(name.into_owned(), Value::String(value.into_owned()))?;
        }
        Ok(())
    }

    /// Takes the words of the path; the target's own id is told apart.
    ///
    /// An id in the path that cannot be one is as absent as one that is nobody's.
    fn take_path(
        &mut self,
        params: &RawPathParams,
        target: TargetKind,
    ) -> Result<Result<Option<KbId>>> {
        let mut kb = Ok(None);
        for (name, value) in params {
            if target == TargetKind::Base && name == "kb_id" {
                kb = value
                    .parse()
                    .map(Some)
                    .map_err(|_| Error::not_found("no base with that id"));
            } else {
                self.add(name.to_owned(), Value::String(value.to_owned()))?;
            }
        }
        Ok(kb)
    }

    async fn take_json(&mut self, headers: &HeaderMap, body: Body, bytes_max: usize) -> Result<()> {
        refuse_larger(headers, bytes_max as u64)?;
        let read = Limited::new(body, bytes_max).collect().await;
        let bytes = read
            .map_err(
                |error| match error.downcast_ref::<http_body_util::LengthLimitError>() {
                    Some(_) => too_large(bytes_max as u64),
                    None => Error::invalid("the body ended before its length"),
                },
            )?
            .to_bytes();
        if bytes.is_empty() {
            return Ok(());
        }
        let media_type = media_type(headers);
        if media_type != "application/json" {
            let sentence = format!("the body must be `application/json`, not `{media_type}`");
            return Err(Error::new(Code::UnsupportedMedia, sentence));
        }
        let fault = |fault: &dyn std::fmt::Display| {
            Error::invalid(format!("the body is no JSON object: {fault}"))
        };
        let text = wire::rpc::read_text(&bytes).map_err(|refusal| fault(&refusal.message))?;
        let body: Map<String, Value> =
            serde_json::from_str(text.get()).map_err(|error| fault(&error))?;
        for (name, value) in body {
            self.add(name, value)?;
        }
        Ok(())
    }
}

/// Longest argument beside a file, in bytes.
const FIELD_BYTES_MAX: u64 = 64 * 1024;

/// The file of an upload: the part `file` of a form, or the whole body.
async fn take_file(
    core: &Core,
    bytes_max: u64,
    headers: &HeaderMap,
    body: Body,
    words: &mut Words,
) -> Result<Upload> {
    if media_type(headers) != "multipart/form-data" {
        let staged = core
            .blobs
            .put_staged(body.into_data_stream(), bytes_max)
            .await?;
        return Ok(Upload {
            staged,
            filename: None,
        });
    }
    let content_type = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let unreadable =
        |error: multer::Error| Error::invalid(format!("the form cannot be read: {error}"));
    let boundary = multer::parse_boundary(content_type).map_err(unreadable)?;
    let mut form = multer::Multipart::new(body.into_data_stream(), boundary);
    let mut upload = None;
    while let Some(field) = form.next_field().await.map_err(unreadable)? {
        let name = field.name().unwrap_or_default().to_owned();
        if name == "file" {
            if upload.is_some() {
                return Err(Error::invalid(
                    "the form has two parts `file`; send one document a call",
                ));
            }
            let filename = field.file_name().map(str::to_owned);
            let staged = core.blobs.put_staged(field, bytes_max).await?;
            upload = Some(Upload { staged, filename });
        } else {
            let text = field_text(field, &name).await?;
            words.add(name, Value::String(text))?;
        }
    }
    upload.ok_or_else(|| Error::invalid("the form has no part `file`"))
}

async fn field_text(mut field: multer::Field<'_>, name: &str) -> Result<String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = field
        .chunk()
        .await
        .map_err(|error| Error::invalid(error.to_string()))?
    {
        bytes.extend_from_slice(&chunk);
        if bytes.len() as u64 > FIELD_BYTES_MAX {
            return Err(Error::invalid(format!(
                "`{name}` is longer than {FIELD_BYTES_MAX} bytes"
            )));
        }
    }
    String::from_utf8(bytes).map_err(|_| Error::invalid(format!("`{name}` is no UTF-8 text")))
}
