//! Where a verb acts: another server, the owner of the data folder, or this process.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use clap::ArgMatches;
use client::Server;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::BodyExt;
use kernel::{Core, Registry};
use model::KbId;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{Failure, settings, variable};
use crate::app::{self, App, Surroundings};
use crate::folder::{self, Owner};
use crate::http::rest::PREFIX;
use crate::worker;

/// Where a verb acts.
pub struct House(Kind);

enum Kind {
    Server(Server),
    Process(Box<InProcess>),
}

/// The data folder opened by this process.
struct InProcess {
    app: Arc<App>,
    router: Router,
    _owner: Owner,
    tasks: JoinSet<()>,
    end: watch::Sender<bool>,
}

/// How long work in the background may hold up the end of a verb.
const LEAVE_WITHIN: Duration = Duration::from_secs(10);

/// A call of an operation over REST.
pub struct Ask {
    /// The method.
    pub method: Method,
    /// The path below `/api/v1`, with the query.
    pub path: String,
    /// The body and its media type.
    pub body: Option<(Bytes, &'static str)>,
    /// Whether to answer in text instead of JSON.
    pub text: bool,
}

impl Ask {
    /// A question.
    pub fn get(path: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            path: path.into(),
            body: None,
            text: false,
        }
    }
}

/// What may stand in a path or a query word as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A word of a path or a query.
pub fn encoded(word: &str) -> String {
    utf8_percent_encode(word, PLAIN).to_string()
}

impl House {
    /// Finds or opens it, as the flags say.
    pub async fn open(registry: Registry, matches: &ArgMatches) -> Result<Self, Failure> {
        let server = matches
            .get_one::<String>("server")
            .cloned()
            .or_else(|| variable("QUIPU_SERVER"));
        if let Some(url) = server {
            let token = matches
                .get_one::<String>("token")
                .cloned()
                .or_else(|| variable("QUIPU_TOKEN"));
            let server = Server::at(&url, token.as_deref())
                .map_err(|error| Failure::wrong(error.to_string()))?;
            return Ok(Self(Kind::Server(server)));
        }
        let settings = settings(matches)?;
        if folder::has_living_owner(&settings.data) {
            return Ok(Self(Kind::Server(Server::at_socket(folder::socket(
                &settings.data,
            )))));
        }
        let owner = Owner::of(&settings.data).map_err(|error| Failure::local(error.to_string()))?;
        let core = app::open_core(&settings, &registry, Surroundings::real()).await?;
        app::begin(&core, &settings).await?;
        accounts::start::start(&core).await?;
        let (end, ended) = watch::channel(false);
        let app = App::new(core, registry, settings);
        let tasks = worker::start(&app, app::JOBS, &ended);
        let router = crate::http::router(&app);
        Ok(Self(Kind::Process(Box::new(InProcess {
            app,
            router,
            _owner: owner,
            tasks,
            end,
        }))))
    }

    /// Sends a call and reads the answer: JSON, or text where that was asked for.
    pub async fn send(&self, ask: Ask) -> Result<(StatusCode, Bytes), Failure> {
        let mut request = Request::builder()
            .method(ask.method)
            .uri(format!("{PREFIX}{}", ask.path))
            .header(
                "user-agent",
                concat!("quipu-cli/", env!("CARGO_PKG_VERSION")),
            );
        if ask.text {
            request = request.header(ACCEPT, HeaderValue::from_static("text/plain"));
        }
        let body = match ask.body {
            Some((body, media_type)) => {
                request = request.header(CONTENT_TYPE, media_type);
                body
            }
            None => Bytes::new(),
        };
        let request = request
            .body(body)
            .map_err(|error| Failure::wrong(error.to_string()))?;
        match &self.0 {
            Kind::Server(server) => {
                let answer = server
                    .send(request)
                    .await
                    .map_err(|error| Failure::local(error.to_string()))?;
                Ok((answer.status(), answer.into_body()))
            }
            Kind::Process(process) => {
                let request = request.map(Body::from);
                let answer = crate::http::listen::in_process(&process.router, request).await;
                let status = answer.status();
                let body = answer.into_body().collect().await;
                let body = body.map_err(|error| Failure::local(error.to_string()))?;
                Ok((status, body.to_bytes()))
            }
        }
    }

    /// The answer to a call that must succeed, as JSON.
    pub async fn json(&self, ask: Ask) -> Result<Value, Failure> {
        let (status, body) = self.send(ask).await?;
        let body = serde_json::from_slice(&body)
            .map_err(|_| Failure::local(format!("the server answered {status} without JSON")))?;
        if status.is_success() {
            Ok(body)
        } else {
            Err(Failure::refused(body))
        }
    }

    /// The base of that id, slug or name; without one, the only base there is.
    pub async fn base(&self, wished: Option<&str>) -> Result<KbId, Failure> {
        if let Some(id) = wished.and_then(|wished| wished.parse().ok()) {
            return Ok(id);
        }
        let answer = self.json(Ask::get("/kbs")).await?;
        let bases = answer["kbs"].as_array().cloned().unwrap_or_default();
        let named = |base: &&Value, key: &str, wished: &str| {
            base[key]
                .as_str()
                .is_some_and(|known| known.eq_ignore_ascii_case(wished))
        };
        let found = match wished {
            Some(wished) => {
                let by_slug = bases.iter().find(|base| named(base, "slug", wished));
                by_slug.or_else(|| bases.iter().find(|base| named(base, "name", wished)))
            }
            None if bases.len() == 1 => bases.first(),
            None => None,
        };
        let id = found.and_then(|base| base["id"].as_str()?.parse().ok());
        id.ok_or_else(|| {
            let slugs: Vec<_> = bases
                .iter()
                .filter_map(|base| base["slug"].as_str())
                .collect();
            let known = match slugs.as_slice() {
                [] => "there is none yet; `quipu base create NAME` makes one".to_owned(),
                slugs => format!("there are: {}", slugs.join(", ")),
            };
            Failure::refused(serde_json::json!({
                "code": "not_found",
                "error": match wished {
                    Some(wished) => format!("no base is called `{wished}`; {known}"),
                    None => format!("say which base, with --base; {known}"),
                },
            }))
        })
    }

    /// Leaves: what still waits is written.
    pub async fn close(self) {
        let Kind::Process(process) = self.0 else {
            return;
        };
        let InProcess {
            app,
            router,
            tasks,
            end,
            _owner: owner,
        } = *process;
        drop(router);
        let _ = end.send(true);
        // A job that is cut off here goes on when somebody opens the folder again.
        let mut tasks = tasks;
        if tokio::time::timeout(LEAVE_WITHIN, async {
            while tasks.join_next().await.is_some() {}
        })
        .await
        .is_err()
        {
            tasks.abort_all();
        }
        finish(&app).await;
        drop(owner);
    }
}

/// Writes what waits, hands back work that was cut off, and closes the stores.
pub async fn finish(app: &App) {
    let core = &app.core;
    core.indexes.close();
    if let Err(error) = core.activity.flush(core).await {
        tracing::error!(cause = %kernel::job::describe(&error), "rows of the activity log are lost");
    }
    if app.settings.embedded()
        && let Err(error) = hand_back(core).await
    {
        tracing::warn!(cause = %kernel::job::describe(&error), "work that was cut off counts as tried");
    }
    core.db.clone().close().await;
}

async fn hand_back(core: &Core) -> model::Result<()> {
    let mut tx = core.db.write_directory().await?;
    store::jobs::hand_back_all(&mut tx).await?;
    Ok(tx.commit().await?)
}
