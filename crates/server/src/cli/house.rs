//! Where a verb acts: another server, the owner of the data folder, or this process.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bytes::{Bytes, BytesMut};
use clap::ArgMatches;
use client::Server;
use futures::stream;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use kernel::{Core, Registry};
use model::{KbId, SourceId};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{Failure, settings, variable};
use crate::app::{self, App, Surroundings};
use crate::config::Settings;
use crate::folder::{self, Owner};
use crate::http::listen;
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

/// What a verb needs to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// A deployment. Where there is none, the data folder is likely not the one that was meant.
    Deployment,
    /// Nothing: the verb may be the first one, and makes a deployment where there is none.
    Nothing,
}

/// An answer that comes part by part.
pub struct Arriving(ArrivingKind);

enum ArrivingKind {
    Server(Incoming),
    Process(Body),
}

impl Arriving {
    /// The next part; none at the end.
    ///
    /// # Errors
    /// If the answer broke off.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            let frame = match &mut self.0 {
                ArrivingKind::Server(body) => body.frame().await.transpose().map_err(broke_off)?,
                ArrivingKind::Process(body) => body.frame().await.transpose().map_err(broke_off)?,
            };
            let Some(frame) = frame else { return Ok(None) };
            if let Ok(part) = frame.into_data() {
                return Ok(Some(part));
            }
        }
    }
}

fn broke_off(error: impl std::error::Error) -> Failure {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        told = format!("{told}: {source}");
        cause = source.source();
    }
    Failure::local(format!("the answer broke off: {told}"))
}

impl Ask {
    /// A request to do something, with arguments.
    pub fn post(path: impl Into<String>, arguments: &Value) -> Self {
        Self {
            method: Method::POST,
            path: path.into(),
            body: Some((Bytes::from(arguments.to_string()), "application/json")),
            text: false,
        }
    }

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
    ///
    /// # Errors
    /// If it cannot be reached or opened, or the verb needs a deployment and there is none.
    pub async fn open(
        registry: Registry,
        matches: &ArgMatches,
        needs: Needs,
    ) -> Result<Self, Failure> {
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
        if needs == Needs::Deployment {
            must_be_there(&settings)?;
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

    /// Lets other verbs act through this process while it has the data folder; nothing to do where
    /// another one has it.
    pub fn open_socket(&mut self) -> Result<(), Failure> {
        let Kind::Process(process) = &mut self.0 else {
            return Ok(());
        };
        let path = folder::socket(&process.app.settings.data);
        let socket = listen::bind_socket(&path).map_err(|error| {
            Failure::local(format!(
                "cannot open the socket in the data folder: {error}"
            ))
        })?;
        let (router, ended) = (process.router.clone(), process.end.subscribe());
        process.tasks.spawn(async move {
            listen::serve_socket(socket, router, ended).await;
            let _ = std::fs::remove_file(path);
        });
        Ok(())
    }

    /// Sends a call and reads the answer: JSON, or text where that was asked for.
    pub async fn send(&self, ask: Ask) -> Result<(StatusCode, Bytes), Failure> {
        self.answer(request(ask)?).await
    }

    /// Sends a file as the body of a call, part by part, and reads the answer.
    pub async fn send_file(&self, ask: Ask, file: File) -> Result<(StatusCode, Bytes), Failure> {
        let (head, _) = request(ask)?.into_parts();
        self.answer(Request::from_parts(head, parts_of(file))).await
    }

    async fn answer(&self, request: Request<client::Body>) -> Result<(StatusCode, Bytes), Failure> {
        match &self.0 {
            Kind::Server(server) => {
                let answer = server
                    .send(request)
                    .await
                    .map_err(|error| Failure::local(error.to_string()))?;
                Ok((answer.status(), answer.into_body()))
            }
            Kind::Process(process) => {
                let request = request.map(Body::new);
                let answer = listen::in_process(&process.router, request).await;
                let status = answer.status();
                let body = answer.into_body().collect().await;
                let body = body.map_err(|error| Failure::local(error.to_string()))?;
                Ok((status, body.to_bytes()))
            }
        }
    }

    /// The answer to a call that must succeed, as it comes in.
    pub async fn flow(&self, ask: Ask) -> Result<Arriving, Failure> {
        let request = request(ask)?;
        let (status, mut arriving) = match &self.0 {
            Kind::Server(server) => {
                let answer = server
                    .open(request)
                    .await
                    .map_err(|error| Failure::local(error.to_string()))?;
                let status = answer.status();
                (status, Arriving(ArrivingKind::Server(answer.into_body())))
            }
            Kind::Process(process) => {
                let request = request.map(Body::new);
                let answer = crate::http::listen::in_process(&process.router, request).await;
                let status = answer.status();
                (status, Arriving(ArrivingKind::Process(answer.into_body())))
            }
        };
        if status.is_success() {
            return Ok(arriving);
        }
        let mut told = Vec::new();
        while let Some(part) = arriving.next().await? {
            told.extend_from_slice(&part);
        }
        let told = serde_json::from_slice(&told)
            .map_err(|_| Failure::local(format!("the server answered {status} without JSON")))?;
        Err(Failure::refused(told))
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

    /// The id of the source of that id or name, in the base of that id, slug or name.
    pub async fn source(&self, base: Option<&str>, wished: &str) -> Result<String, Failure> {
        if wished.parse::<SourceId>().is_ok() {
            return Ok(wished.to_owned());
        }
        let kb = self.base(base).await?;
        let answer = self.json(Ask::get(format!("/kbs/{kb}/sources"))).await?;
        let sources = answer["sources"].as_array().cloned().unwrap_or_default();
        let named = |source: &&Value| source["name"].as_str() == Some(wished);
        let id = sources
            .iter()
            .find(named)
            .and_then(|source| source["id"].as_str());
        id.map(str::to_owned).ok_or_else(|| {
            let names: Vec<_> = sources
                .iter()
                .filter_map(|source| source["name"].as_str())
                .collect();
            let known = match names.as_slice() {
                [] => "there is none yet; `quipu source create NAME` makes one".to_owned(),
                names => format!("there are: {}", names.join(", ")),
            };
            Failure::refused(serde_json::json!({
                "code": "not_found",
                "error": format!("no source of the base is called `{wished}`; {known}"),
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

/// Bytes of a file that are read at once.
const PART: usize = 256 << 10;

/// A file as a body.
fn parts_of(file: File) -> client::Body {
    let parts = stream::try_unfold(file, async |mut file| {
        let mut part = BytesMut::with_capacity(PART);
        let read = file.read_buf(&mut part).await?;
        Ok((0 < read).then(|| (Frame::data(part.freeze()), file)))
    });
    StreamBody::new(parts).boxed_unsync()
}

fn request(ask: Ask) -> Result<Request<client::Body>, Failure> {
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
    request
        .body(client::whole(body))
        .map_err(|error| Failure::wrong(error.to_string()))
}

/// Refuses a data folder that holds no deployment, which a mistyped one does not.
fn must_be_there(settings: &Settings) -> Result<(), Failure> {
    let is_there = match settings.database.strip_prefix("sqlite:") {
        Some(file) => Path::new(file).exists(),
        // A database elsewhere says for itself whether it is there.
        None => true,
    };
    if is_there {
        return Ok(());
    }
    let folder = settings.data.display();
    let known = settings.shown().iter().find(|shown| shown.key == "data");
    let said_by = known.map_or("default", |shown| shown.origin.as_str());
    Err(Failure::refused(serde_json::json!({
        "code": "not_found",
        "error": format!(
            "there is no deployment in {folder} ({said_by}); check --data, or make one with \
             `quipu serve` or `quipu base create NAME`"
        ),
    })))
}

/// Writes what waits, hands back work that was cut off, and closes the stores.
pub async fn finish(app: &App) {
    let core = &app.core;
    core.indexes.stop();
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
