//! Which `Host` and `Origin` are served: the bar against pages that reach for a local server.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, HOST,
    ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use model::{Code, Error};

use super::{LocalOwner, reply, request_id};
use crate::app::App;
use crate::config::Settings;

/// Names and origins that are served, read off the settings once.
#[derive(Debug, Clone)]
pub struct Names {
    hosts: Vec<String>,
    origins: Vec<String>,
    loopback_origins: bool,
}

impl Names {
    /// Loopback always; the public address, what the settings add, and the address listened on.
    pub fn of(settings: &Settings) -> Self {
        let public: Option<Uri> = settings.public_url.parse().ok();
        let public_host = public
            .as_ref()
            .and_then(|uri| uri.host())
            .map(str::to_ascii_lowercase);
        let mut hosts: Vec<String> = settings
            .allowed_hosts
            .iter()
            .map(|host| host.to_ascii_lowercase())
            .collect();
        hosts.extend(public_host);
        if !settings.listen.ip().is_unspecified() {
            hosts.push(settings.listen.ip().to_string());
        }
        let mut origins = settings.allowed_origins.clone();
        origins.extend(public.as_ref().and_then(origin_of));
        Self {
            hosts,
            origins,
            loopback_origins: settings.listen.ip().is_loopback(),
        }
    }

    /// Whether a request to this host is meant for us.
    pub fn serve_host(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        is_loopback(&name) || self.hosts.contains(&name)
    }

    /// Whether a page of this origin may call.
    pub fn serve_origin(&self, origin: &str) -> bool {
        if self
            .origins
            .iter()
            .any(|known| known.eq_ignore_ascii_case(origin))
        {
            return true;
        }
        let uri: Option<Uri> = origin.parse().ok();
        let host = uri.as_ref().and_then(|uri| uri.host());
        self.loopback_origins && host.is_some_and(is_loopback)
    }
}

fn origin_of(uri: &Uri) -> Option<String> {
    Some(format!("{}://{}", uri.scheme_str()?, uri.authority()?))
}

/// `example.org:80` and `[::1]:80` without the port.
fn without_port(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split_once(':').map_or(host, |(name, _)| name),
    }
}

fn is_loopback(name: &str) -> bool {
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Refuses requests that are not meant for us, before anything reads them.
pub async fn check(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    if request.extensions().get::<LocalOwner>().is_some() {
        return next.run(request).await;
    }
    let origin = match judge(&app.names, request.headers()) {
        Ok(origin) => origin,
        Err(error) => return reply::refusal(&error, request_id(&request)),
    };
    let preflight = request.method() == Method::OPTIONS
        && request
            .headers()
            .contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = match &origin {
        Some(_) if preflight => StatusCode::NO_CONTENT.into_response(),
        _ => next.run(request).await,
    };
    if let Some(origin) = origin {
        allow_page(response.headers_mut(), origin);
    }
    response
}

/// The page's origin, if the request is a page's.
fn judge(names: &Names, headers: &HeaderMap) -> Result<Option<HeaderValue>, Error> {
    let refused = |sentence: String| Err(Error::new(Code::Forbidden, sentence));
    let host = headers
        .get(HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    if !names.serve_host(host) {
        let shown: String = host.chars().take(80).collect();
        return refused(format!(
            "this server does not answer to the host `{shown}`; `allowed_hosts` adds one"
        ));
    }
    match headers.get(ORIGIN) {
        None => Ok(None),
        Some(origin) if origin.to_str().is_ok_and(|text| names.serve_origin(text)) => {
            Ok(Some(origin.clone()))
        }
        Some(origin) => {
            let shown: String = String::from_utf8_lossy(origin.as_bytes())
                .chars()
                .take(80)
                .collect();
            refused(format!(
                "pages of `{shown}` may not call this server; `allowed_origins` lets them"
            ))
        }
    }
}

/// What a browser needs to let a page of another origin read the answer. No cookies, ever.
fn allow_page(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(VARY, HeaderValue::from_static("Origin"));
    for (name, value) in [
        (
            ACCESS_CONTROL_ALLOW_METHODS,
            "GET, POST, PUT, PATCH, DELETE",
        ),
        (
            ACCESS_CONTROL_ALLOW_HEADERS,
            "Authorization, Content-Type, Idempotency-Key, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id",
        ),
        (
            ACCESS_CONTROL_EXPOSE_HEADERS,
            "WWW-Authenticate, MCP-Protocol-Version, Retry-After, X-Request-Id, Idempotent-Replayed",
        ),
        (ACCESS_CONTROL_MAX_AGE, "600"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        Names {
            hosts: vec!["quipu.example.org".to_owned()],
            origins: vec!["https://quipu.example.org".to_owned()],
            loopback_origins: true,
        }
    }

    #[test]
    fn only_our_names_and_loopback_are_served() {
        let names = names();
        for host in [
            "localhost",
            "LOCALHOST:7341",
            "127.0.0.1:80",
            "[::1]:7341",
            "quipu.example.org",
        ] {
            assert!(names.serve_host(host), "{host}");
        }
        for host in [
            "",
            "evil.example.com",
            "quipu.example.org.evil.com",
            "localhost.evil.com",
            "10.0.0.1",
        ] {
            assert!(!names.serve_host(host), "{host}");
        }
    }

    #[test]
    fn only_our_origin_and_local_pages_may_call() {
        let names = names();
        for origin in [
            "https://quipu.example.org",
            "http://localhost:6274",
            "http://127.0.0.1",
        ] {
            assert!(names.serve_origin(origin), "{origin}");
        }
        for origin in [
            "null",
            "https://evil.example.com",
            "http://quipu.example.org",
            "http://localhost.evil.com",
        ] {
            assert!(!names.serve_origin(origin), "{origin}");
        }
    }
}
