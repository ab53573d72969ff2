//! A house for tests: a temporary data folder, either engine, a clock that stands still.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use http::{HeaderMap, Method, StatusCode};
use http_body_util::BodyExt;
use kernel::{Chance, Clock, Registry, job};
use model::RecordTime;
use serde_json::{Value, json};
use server::app::{self, App, JOBS, OPS, Surroundings};
use server::config::{Settings, Sources};
use server::http::listen::in_process;
use tower::ServiceExt;

/// An engine to run a story on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// The admin URL of the PostgreSQL server that the test script starts.
#[expect(
    clippy::disallowed_methods,
    reason = "the test script says where PostgreSQL is"
)]
pub fn postgres() -> Option<String> {
    std::env::var("QUIPU_TEST_POSTGRES").ok()
}

/// A whole house.
pub struct House {
    pub app: Arc<App>,
    pub router: Router,
    pub clock: Clock,
    folder: tempfile::TempDir,
    database: Option<String>,
}

/// An answer over HTTP.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| {
            panic!(
                "no JSON under {}: {}",
                self.status,
                String::from_utf8_lossy(&self.body)
            )
        })
    }

    /// The body without what differs from call to call.
    pub fn without_request_id(&self) -> Value {
        let mut body = self.json();
        if let Some(members) = body.as_object_mut() {
            members.remove("request_id");
        }
        body
    }

    pub fn ok(self) -> Value {
        assert!(
            (200..300).contains(&self.status),
            "{} {}",
            self.status,
            String::from_utf8_lossy(&self.body)
        );
        self.json()
    }
}

/// Runs a story on SQLite, and on PostgreSQL where the script started one.
pub fn on_both_engines<F, Story>(story: F)
where
    F: Fn(House) -> Story,
    Story: Future<Output = ()>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        story(House::new(Engine::Sqlite, &[]).await).await;
        match postgres() {
            Some(_) => story(House::new(Engine::Postgres, &[]).await).await,
            None => println!("skipped on PostgreSQL: QUIPU_TEST_POSTGRES is not set"),
        }
    });
}

/// Runs a story on both engines that makes its house itself, with settings of its own.
pub fn on_both_engines_with(story: impl AsyncFn(&dyn Fn(&[(&str, &str)]) -> MadeHouse)) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let on = |engine: Engine| {
        move |extra: &[(&str, &str)]| -> MadeHouse {
            let extra: Vec<(String, String)> = extra
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            Box::pin(async move {
                let extra: Vec<(&str, &str)> = extra
                    .iter()
                    .map(|(name, value)| (name.as_str(), value.as_str()))
                    .collect();
                House::new(engine, &extra).await
            })
        }
    };
    runtime.block_on(async {
        story(&on(Engine::Sqlite)).await;
        match postgres() {
            Some(_) => story(&on(Engine::Postgres)).await,
            None => println!("skipped on PostgreSQL: QUIPU_TEST_POSTGRES is not set"),
        }
    });
}

/// A house on its way.
pub type MadeHouse = std::pin::Pin<Box<dyn Future<Output = House>>>;

/// Runs a story on SQLite with settings of its own.
pub fn on_sqlite_with<F, Story>(settings: &[(&str, &str)], story: F)
where
    F: Fn(House) -> Story,
    Story: Future<Output = ()>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async { story(House::new(Engine::Sqlite, settings).await).await });
}

/// The URL of an empty database.
pub async fn fresh_database() -> String {
    let admin = postgres().expect("only asked for where it is set");
    let name = format!(
        "quipu_{}",
        uuid::Uuid::from_bytes(Chance::system().bytes()).simple()
    );
    let (client, connection) = tokio_postgres::connect(&admin, tokio_postgres::NoTls)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    client
        .batch_execute(&format!("CREATE DATABASE {name}"))
        .await
        .unwrap();
    drop(client);
    let _ = connection.await;
    let (place, _) = admin.rsplit_once('/').unwrap();
    format!("{place}/{name}")
}

impl House {
    pub async fn new(engine: Engine, extra: &[(&str, &str)]) -> Self {
        Self::with(engine, extra, Chance::system()).await
    }

    /// A house whose ids and secrets are the same at each run.
    pub async fn repeatable() -> Self {
        Self::with(Engine::Sqlite, &[], Chance::counted()).await
    }

    async fn with(engine: Engine, extra: &[(&str, &str)], chance: Chance) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = match engine {
            Engine::Sqlite => None,
            Engine::Postgres => Some(fresh_database().await),
        };
        Self::in_folder(folder, database, extra, chance).await
    }

    /// A house on what a folder, and a database beside it, hold already.
    pub async fn in_folder(
        folder: tempfile::TempDir,
        database: Option<String>,
        extra: &[(&str, &str)],
        chance: Chance,
    ) -> Self {
        let clock = Clock::set_to("2026-03-20T09:00:00Z".parse().unwrap());
        Self::open((folder, database), extra, (clock, chance)).await
    }

    /// Another node on this one's database, with a folder of its own.
    pub async fn beside(&self, extra: &[(&str, &str)]) -> Self {
        let place = (
            tempfile::tempdir().unwrap(),
            Some(self.app.settings.database.clone()),
        );
        Self::open(place, extra, (self.clock.clone(), Chance::system())).await
    }

    /// The same folder and database opened again, by a process with other settings.
    pub async fn restarted(self, extra: &[(&str, &str)]) -> Self {
        self.app.core.db.clone().close().await;
        let (clock, place) = (self.clock.clone(), (self.folder, self.database));
        drop((self.app, self.router));
        Self::open(place, extra, (clock, Chance::system())).await
    }

    /// Writes the settings file, for the next start.
    pub fn write_settings(&self, text: &str) {
        std::fs::write(self.folder.path().join("quipu.toml"), text).unwrap();
    }

    async fn open(
        (folder, database): (tempfile::TempDir, Option<String>),
        extra: &[(&str, &str)],
        (clock, chance): (Clock, Chance),
    ) -> Self {
        let sqlite = format!("sqlite:{}", folder.path().join("quipu.sqlite").display());
        let url = database.clone().unwrap_or(sqlite);
        let data = folder.path().display().to_string();
        let flags = BTreeMap::from([("data", data), ("database", url)]);
        let environment = |name: &str| {
            extra
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        };
        let settings = Settings::read(&Sources {
            flags,
            environment: &environment,
            file: None,
        })
        .unwrap();
        let registry = Registry::new(OPS);
        let surroundings = Surroundings {
            clock: clock.clone(),
            chance,
            program: PathBuf::from(env!("CARGO_BIN_EXE_quipu")),
        };
        let core = app::open_core(&settings, &registry, surroundings)
            .await
            .unwrap();
        app::begin(&core, &settings).await.unwrap();
        ::accounts::start::start(&core).await.unwrap();
        let app = App::new(core, registry, settings);
        let router = server::http::router(&app);
        Self {
            app,
            router,
            clock,
            folder,
            database,
        }
    }

    /// The data folder.
    pub fn data(&self) -> &Path {
        self.folder.path()
    }

    pub fn now(&self) -> RecordTime {
        self.clock.now()
    }

    /// A request as a client sends it.
    pub async fn send(&self, request: Request) -> Answer {
        let mut request = request;
        request
            .headers_mut()
            .entry("host")
            .or_insert("localhost".parse().unwrap());
        let answer = self.router.clone().oneshot(request).await.unwrap();
        read(answer).await
    }

    /// A call of the data folder's owner.
    pub async fn local(&self, method: Method, path: &str, body: Value) -> Answer {
        let request = request(method, path, None, &body);
        read(in_process(&self.router, request).await).await
    }

    /// A call with a token.
    pub async fn call(&self, token: &str, method: Method, path: &str, body: Value) -> Answer {
        self.send(request(method, path, Some(token), &body)).await
    }

    pub async fn get(&self, token: &str, path: &str) -> Answer {
        self.call(token, Method::GET, path, Value::Null).await
    }

    pub async fn post(&self, token: &str, path: &str, body: Value) -> Answer {
        self.call(token, Method::POST, path, body).await
    }

    /// Makes a base as the data folder's owner.
    pub async fn base(&self, name: &str, visibility: &str) -> String {
        let body = json!({ "name": name, "visibility": visibility });
        let base = self.local(Method::POST, "/api/v1/kbs", body).await.ok();
        base["id"].as_str().unwrap().to_owned()
    }

    /// Makes a person and a token of theirs.
    pub async fn person(&self, email: &str, scope: &str) -> String {
        self.local(Method::POST, "/api/v1/users", json!({ "email": email }))
            .await
            .ok();
        self.token(email, scope).await
    }

    /// Makes a token for a person.
    pub async fn token(&self, email: &str, scope: &str) -> String {
        let body = json!({ "name": format!("{email} {scope}"), "scope": scope, "user": email });
        let made = self
            .local(Method::POST, "/api/v1/me/tokens", body)
            .await
            .ok();
        made["token"].as_str().unwrap().to_owned()
    }

    /// Gives a person a role in a base.
    pub async fn grant(&self, kb: &str, email: &str, role: &str) {
        let path = format!("/api/v1/kbs/{kb}/members/{email}");
        self.local(Method::PUT, &path, json!({ "role": role }))
            .await
            .ok();
    }

    /// Puts a document in as the data folder's owner and works until it can be searched.
    pub async fn document(&self, kb: &str, filename: &str, text: &str) -> String {
        self.document_for(kb, filename, text, "viewer").await
    }

    /// The same, for a least role.
    pub async fn document_for(&self, kb: &str, filename: &str, text: &str, role: &str) -> String {
        let made = self.upload(kb, filename, text, role).await.ok();
        self.work().await;
        made["document_id"].as_str().unwrap().to_owned()
    }

    /// Puts a document in, whoever is to read it; nothing is done about it yet.
    pub async fn upload(&self, kb: &str, filename: &str, text: &str, role: &str) -> Answer {
        let path = format!("/api/v1/kbs/{kb}/documents?filename={filename}&least_role={role}");
        let mut request = request(Method::POST, &path, None, &Value::Null);
        *request.body_mut() = Body::from(text.to_owned());
        read(in_process(&self.router, request).await).await
    }

    /// Does all waiting jobs and writes the activity.
    pub async fn work(&self) {
        while job::run_next(&self.app.core, JOBS).await.unwrap() {}
        self.app.core.activity.flush(&self.app.core).await.unwrap();
    }

    /// A call of a tool on the door of a base.
    pub async fn tool(&self, token: &str, kb: &str, name: &str, arguments: Value) -> Value {
        let message = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": name, "arguments": arguments },
        });
        self.post(token, &format!("/api/v1/kbs/{kb}/mcp"), message)
            .await
            .json()
    }
}

fn request(method: Method, path: &str, token: Option<&str>, body: &Value) -> Request {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    if body.is_null() {
        return request.body(Body::empty()).unwrap();
    }
    request
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .unwrap()
}

async fn read(answer: axum::response::Response) -> Answer {
    let (head, body) = answer.into_parts();
    let body = body.collect().await.unwrap().to_bytes().to_vec();
    Answer {
        status: head.status.as_u16(),
        headers: head.headers,
        body,
    }
}

/// The status as a word, for messages.
pub fn reason(status: u16) -> &'static str {
    StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or("?")
}
