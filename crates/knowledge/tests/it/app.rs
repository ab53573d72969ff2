//! A house to tell stories in: a base, people in it, a clock that stands still.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use kernel::core::{Limits, Parts};
use kernel::gate::{self, Carried};
use kernel::manual::{Manual, ManualSection};
use kernel::packs::Packs;
use kernel::principal::Caller;
use kernel::{Answer, Chance, Clock, Core, Credential, Door, Principal, Registry, Upload, job};
use knowledge::{JOBS, OPS};
use model::{Code, Error, KbId, RecordTime, RequestId, Role, TenantId, UserId, Visibility};
use providers::embed::LOCAL;
use providers::{Embedder, Embedders, Fetcher, KnownModel, ParserOptions, ParserPool};
use serde_json::{Value, json};
use store::bases::{self, Base};
use store::blobs::Blobs;
use store::index::Indexes;
use store::tenants::{self, Tenant};
use store::users::{self, User};
use store::{Db, Options};
use uuid::Uuid;

/// Runs a story on each engine.
macro_rules! on_both_engines {
    ($($(#[$doc:meta])* async fn $name:ident($app:ident: &App) $body:block)*) => {$(
        mod $name {
            use super::*;

            async fn story($app: &App) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                story(&App::sqlite().await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                if let Some(app) = App::postgres().await {
                    story(&app).await;
                }
            }
        }
    )*};
}
pub(crate) use on_both_engines;

/// The house.
pub struct App {
    pub core: Arc<Core>,
    registry: Registry,
    pub tenant: TenantId,
    pub kb: KbId,
    pub data: tempfile::TempDir,
    _database: Option<Database>,
}

/// Somebody with a role in the base.
pub struct Person<'a> {
    app: &'a App,
    user: UserId,
}

/// Id and slug of the base.
const HERE: (u128, &str) = (3, "papers");

/// 2026-03-01, a second for each step.
const BEGIN: RecordTime = RecordTime::from_micros(1_772_323_200_000_000);

const PEOPLE: [(u128, Role); 4] = [
    (11, Role::Viewer),
    (12, Role::Editor),
    (13, Role::Admin),
    (14, Role::Owner),
];

impl App {
    pub async fn sqlite() -> App {
        let db = Db::open("sqlite::memory:", Options::default())
            .await
            .unwrap();
        App::on(db, None, HERE).await
    }

    /// A house with no base of the others' id or slug, on an engine that is not this one's where
    /// there are two.
    pub async fn elsewhere(&self) -> App {
        let database = match self.core.db.engine_name() {
            "sqlite" => Database::fresh(),
            _ => None,
        };
        let url = database.as_ref().map_or("sqlite::memory:", |it| &it.url);
        let db = Db::open(url, Options::default()).await.unwrap();
        App::on(db, database, (5, "others")).await
    }

    pub async fn postgres() -> Option<App> {
        let database = Database::fresh()?;
        let db = Db::open(&database.url, Options::default()).await.unwrap();
        Some(App::on(db, Some(database), HERE).await)
    }

    async fn on(db: Db, database: Option<Database>, (id, slug): (u128, &str)) -> App {
        let (tenant, kb) = (
            TenantId::new(Uuid::from_u128(1)),
            KbId::new(Uuid::from_u128(id)),
        );
        lay(&db, tenant, (kb, slug)).await;
        let data = tempfile::tempdir().unwrap();
        let place = |name: &str| data.path().join(name);
        let section = |title: &str, text: String| ManualSection {
            title: title.to_owned(),
            text,
        };
        let manual = Manual::new(vec![
            section(
                "Tokens",
                format!("A token expires after 90 days. {}", "x".repeat(2000)),
            ),
            section("Bases", "A base holds documents.".to_owned()),
        ]);
        let indexes = Indexes::open(db.clone(), place("index")).unwrap();
        let parts = Parts {
            db,
            blobs: Blobs::open(place("blobs").to_str().unwrap()).await.unwrap(),
            indexes,
            embedders: Embedders::new(vec![KnownModel::new(LOCAL, Embedder::hash(64))]),
            parser: ParserPool::new(ParserOptions::new(
                PathBuf::from(env!("CARGO_BIN_EXE_document_parser_child")),
                [],
            )),
            fetcher: Fetcher::scripted([]),
            models: place("models"),
            manual,
            packs: Packs::default(),
            clock: Clock::set_to(BEGIN),
            chance: Chance::counted(),
            limits: Limits::default(),
        };
        let (core, registry) = (Core::new(parts), Registry::new(&[OPS, crate::calls::OPS]));
        App {
            core,
            registry,
            tenant,
            kb,
            data,
            _database: database,
        }
    }

    pub fn viewer(&self) -> Person<'_> {
        self.person(Role::Viewer)
    }

    pub fn editor(&self) -> Person<'_> {
        self.person(Role::Editor)
    }

    pub fn admin(&self) -> Person<'_> {
        self.person(Role::Admin)
    }

    fn person(&self, role: Role) -> Person<'_> {
        let (id, _) = PEOPLE.into_iter().find(|&(_, held)| held == role).unwrap();
        Person {
            app: self,
            user: UserId::new(Uuid::from_u128(id)),
        }
    }

    /// Takes the model away, and answers it.
    pub fn without_model(&self) -> KnownModel {
        let known = self.core.embedders.by_name(LOCAL).unwrap();
        let absent = Err("it is not installed".to_owned());
        self.core.embedders.put(KnownModel {
            embedder: absent,
            ..known.clone()
        });
        known
    }

    /// Makes everybody of the story a member of a base, each in their role.
    pub async fn join(&self, kb: KbId) {
        let mut tx = self.core.db.write(self.tenant).await.unwrap();
        for (id, role) in PEOPLE {
            let user = UserId::new(Uuid::from_u128(id));
            bases::set_member(&mut tx, kb, user, role, BEGIN)
                .await
                .unwrap();
        }
        tx.commit().await.unwrap();
    }

    /// Takes a base in as a system admin.
    pub async fn import(&self, archive: &[u8]) -> Result<Answer, Error> {
        let owner = self.person(Role::Owner);
        let carried = Carried {
            upload: Some(owner.upload("base.tar", archive).await),
            key: None,
        };
        owner
            .carry_to(None, "import_base", json!({}), carried)
            .await
    }

    pub fn owner(&self) -> Person<'_> {
        self.person(Role::Owner)
    }

    /// Runs every job that is due now.
    pub async fn work(&self) {
        while job::run_next(&self.core, &[JOBS]).await.unwrap() {}
    }

    /// Runs every job and the attempts that are due later.
    pub async fn work_until_given_up(&self) {
        for _ in 0..10 {
            self.work().await;
            self.core.clock.advance_seconds(70);
        }
    }

    /// A second passes; the moment before it.
    pub fn tick(&self) -> RecordTime {
        let now = self.core.clock.now();
        self.core.clock.advance_seconds(1);
        now
    }

    /// Adds a document of the editor's and waits until it is ready.
    pub async fn document(&self, filename: &str, text: &str) -> String {
        let added = self.editor().add(filename, text, json!({})).await.unwrap();
        self.work().await;
        self.tick();
        added.json["document_id"].as_str().unwrap().to_owned()
    }
}

impl Person<'_> {
    /// Calls an operation as the REST door would.
    pub async fn call(&self, name: &str, arguments: Value) -> Result<Answer, Error> {
        self.carry(name, arguments, Carried::default()).await
    }

    /// Sends a file.
    pub async fn add(&self, filename: &str, text: &str, more: Value) -> Result<Answer, Error> {
        self.add_bytes(filename, text.as_bytes(), more).await
    }

    /// The person's id.
    pub fn id(&self) -> Uuid {
        self.user.uuid()
    }

    /// Calls an operation with an idempotency key.
    pub async fn call_with_key(
        &self,
        name: &str,
        arguments: Value,
        key: &str,
    ) -> Result<Answer, Error> {
        let key = Some(key.to_owned());
        self.carry(name, arguments, Carried { key, upload: None })
            .await
    }

    /// Sends a file with an idempotency key.
    pub async fn add_with_key(
        &self,
        filename: &str,
        text: &str,
        key: &str,
    ) -> Result<Answer, Error> {
        let carried = Carried {
            upload: Some(self.upload(filename, text.as_bytes()).await),
            key: Some(key.to_owned()),
        };
        self.carry("add_document", json!({}), carried).await
    }

    pub async fn add_bytes(
        &self,
        filename: &str,
        bytes: &[u8],
        more: Value,
    ) -> Result<Answer, Error> {
        let carried = Carried {
            upload: Some(self.upload(filename, bytes).await),
            key: None,
        };
        self.carry("add_document", more, carried).await
    }

    async fn upload(&self, filename: &str, bytes: &[u8]) -> Upload {
        let mut staging = self.app.core.blobs.stage(1 << 30).await.unwrap();
        staging.write(bytes).await.unwrap();
        Upload {
            staged: staging.finish().await.unwrap(),
            filename: Some(filename.to_owned()),
        }
    }

    async fn carry(&self, name: &str, arguments: Value, carried: Carried) -> Result<Answer, Error> {
        self.carry_to(Some(self.app.kb), name, arguments, carried)
            .await
    }

    /// All parts of an answer about a base that comes part by part, and their media type.
    pub async fn flow(
        &self,
        kb: KbId,
        name: &str,
        arguments: Value,
    ) -> Result<(Vec<u8>, Option<&'static str>), Error> {
        let answer = loop {
            let carried = Carried::default();
            match self
                .carry_to(Some(kb), name, arguments.clone(), carried)
                .await
            {
                // The places for exports are the whole process's.
                Err(busy) if busy.code == Code::Unavailable => tokio::task::yield_now().await,
                answer => break answer?,
            }
        };
        let mut flow = answer.flow.unwrap();
        let mut all = Vec::new();
        while let Some(part) = flow.parts.recv().await {
            all.extend_from_slice(&part?);
        }
        Ok((all, flow.media_type))
    }

    /// Calls an operation about another base than the house's.
    pub async fn call_in(&self, kb: KbId, name: &str, arguments: Value) -> Value {
        let answer = self.carry_to(Some(kb), name, arguments, Carried::default());
        answer.await.unwrap().json
    }

    /// Calls an operation about a base, or about the organisation as a system admin.
    async fn carry_to(
        &self,
        kb: Option<KbId>,
        name: &str,
        arguments: Value,
        carried: Carried,
    ) -> Result<Answer, Error> {
        let registered = self.app.registry.get(name).unwrap();
        let principal = Principal {
            tenant: self.app.tenant,
            user: self.user,
            label: "somebody@acme.test".to_owned(),
            system_admin: kb.is_none(),
            credential: Credential::local(),
            client: None,
        };
        let caller = Caller {
            principal: Some(principal),
            client: None,
            door: Door::Rest,
            request: RequestId::new(Uuid::from_u128(99)),
        };
        let admitted = gate::admit(&self.app.core, registered, caller, kb).await?;
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        gate::run(admitted, arguments, carried).await
    }

    /// The texts that a search finds, best first.
    pub async fn found(&self, query: &str) -> Vec<String> {
        self.found_as_of(query, None).await
    }

    pub async fn found_as_of(&self, query: &str, as_of: Option<RecordTime>) -> Vec<String> {
        let as_of = as_of.map(|as_of| as_of.to_string());
        let arguments = json!({ "query": query, "as_of": as_of });
        let answer = self.call("search_chunks", arguments).await.unwrap();
        texts(&answer.json["chunks"])
    }

    /// A document's text as agents read it.
    pub async fn read(&self, document: &str) -> Result<String, Error> {
        let answer = self
            .call("get_document", json!({ "document_id": document }))
            .await?;
        Ok(answer.text)
    }
}

fn texts(list: &Value) -> Vec<String> {
    let texts = list.as_array().unwrap().iter();
    texts
        .map(|one| one["text"].as_str().unwrap().to_owned())
        .collect()
}

/// Lays a tenant, its people and a restricted base.
async fn lay(db: &Db, tenant: TenantId, (kb, base): (KbId, &str)) {
    let mut tx = db.write(tenant).await.unwrap();
    let (name, slug) = ("Acme".to_owned(), "acme".to_owned());
    let row = Tenant {
        id: tenant,
        name,
        slug,
        created_at: BEGIN,
    };
    tenants::insert(&mut tx, &row).await.unwrap();
    let base = Base {
        id: kb,
        name: "Papers".to_owned(),
        slug: base.to_owned(),
        visibility: Visibility::Restricted,
        created_at: BEGIN,
        clock: BEGIN,
    };
    bases::insert(&mut tx, &base).await.unwrap();
    for (id, role) in PEOPLE {
        let user = UserId::new(Uuid::from_u128(id));
        let row = User {
            id: user,
            tenant,
            email: format!("{role}@acme.test"),
            name: role.to_string(),
            system_admin: false,
            disabled_at: None,
            created_at: BEGIN,
        };
        users::insert(&mut tx, &row, None).await.unwrap();
        bases::set_member(&mut tx, kb, user, role, BEGIN)
            .await
            .unwrap();
    }
    tx.commit().await.unwrap();
}

/// A database of a story's own, dropped with it.
struct Database {
    admin: String,
    name: String,
    url: String,
}

impl Database {
    fn fresh() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        #[expect(
            clippy::disallowed_methods,
            reason = "tests are told by the environment where things are"
        )]
        let Ok(admin) = std::env::var("QUIPU_TEST_POSTGRES") else {
            println!("skipped: QUIPU_TEST_POSTGRES names no server");
            return None;
        };
        let count = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("quipu_knowledge_{}_{count}", std::process::id());
        let (server, _) = admin.rsplit_once('/').unwrap();
        let url = format!("{server}/{name}");
        let database = Self { admin, name, url };
        database.tell("DROP DATABASE IF EXISTS");
        database.tell("CREATE DATABASE");
        Some(database)
    }

    fn tell(&self, what: &str) {
        let statement = format!("{what} {}", self.name);
        let mut psql = Command::new("psql");
        let told = psql
            .args(["--quiet", "--no-psqlrc", &self.admin, "-c", &statement])
            .output();
        let told = told.expect("psql comes with the PostgreSQL that the tests use");
        assert!(
            told.status.success(),
            "{}",
            String::from_utf8_lossy(&told.stderr)
        );
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let statement = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        let mut psql = Command::new("psql");
        // What is left behind goes with the test server.
        let _ = psql
            .args(["--quiet", "--no-psqlrc", &self.admin, "-c", &statement])
            .output();
    }
}
