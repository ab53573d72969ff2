//! The one file that knows there are two engines: `Db`, `Tx` and the four verbs.
//!
//! A `Tx` is opened for a tenant and binds it to every statement. After an error it can only be
//! dropped, which rolls it back: PostgreSQL would refuse every later statement anyway, and the
//! two engines are to behave alike. Nothing but the store may be awaited while a writing `Tx` is
//! open, and no task may hold two of them: on SQLite all writers pass through one lane.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use model::{RecordTime, TenantId};
use uuid::Uuid;

use crate::StoreError;
use crate::engine::{postgres, sqlite};
use crate::migrations::{Migration, SchemaStep};
use crate::statement::Statement;
use crate::value::{Cells, Param, Row};

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// SQLite: connections for reading. Each is opened when first needed.
    pub readers: usize,
    /// PostgreSQL: connections at most.
    pub connections: usize,
    /// The moment written beside migrations that this opening applies.
    pub opened_at: RecordTime,
    /// The last migration to apply, for a store that rows of an older schema are loaded into;
    /// none for all of them.
    pub schema: Option<i64>,
}

impl Options {
    /// The migrations to apply now.
    pub(crate) fn wanted<'a>(
        &self,
        pending: &'a [Migration],
    ) -> impl Iterator<Item = &'a Migration> {
        let last = self.schema.unwrap_or(i64::MAX);
        pending.iter().filter(move |step| step.number <= last)
    }
}

/// What is found in a store without opening it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The steps that its schema has been through; none in an empty database.
    pub schema: Vec<SchemaStep>,
    /// Whether anybody's rows are in it.
    pub has_tenants: bool,
    /// Bytes of its tables and indexes.
    pub bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            readers: 4,
            connections: 16,
            opened_at: RecordTime::from_micros(0),
            schema: None,
        }
    }
}

/// An open store. Clones share it.
#[derive(Clone)]
pub struct Db {
    engine: Engine,
    recorder: Arc<Recorder>,
}

#[derive(Clone)]
enum Engine {
    Sqlite(sqlite::Sqlite),
    Postgres(postgres::Postgres),
}

/// Which engine a URL names.
enum Place<'a> {
    Sqlite(&'a str),
    Postgres,
}

impl<'a> Place<'a> {
    fn of(url: &'a str) -> Result<Self, StoreError> {
        if let Some(path) = url.strip_prefix("sqlite:") {
            return Ok(Place::Sqlite(path));
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok(Place::Postgres);
        }
        let scheme = url.split(':').next().unwrap_or_default();
        Err(StoreError::failed(
            "open the store",
            format!("its URL must begin with `sqlite:` or `postgres://`, not `{scheme}:`"),
        ))
    }
}

enum Open {
    SqliteRead(sqlite::Read),
    SqliteWrite(sqlite::Write),
    Postgres(postgres::Transaction),
}

/// One transaction, for one tenant or for the directory. Dropping it rolls it back.
pub struct Tx {
    open: Open,
    tenant: Option<TenantId>,
    reads: bool,
    failed: bool,
    recorder: Arc<Recorder>,
}

impl Db {
    /// Opens the store at `url` and brings its schema up to date.
    ///
    /// `sqlite:/path/file.db`; `sqlite::memory:` for tests, gone when the last clone is;
    /// `postgres://user:password@host/database`, without TLS: the database is expected on the
    /// same machine or network.
    ///
    /// # Errors
    /// If it cannot be opened, was written by a newer version, or its applied migrations differ
    /// from those known here.
    pub async fn open(url: &str, options: Options) -> Result<Db, StoreError> {
        let engine = match Place::of(url)? {
            Place::Sqlite(path) => Engine::Sqlite(sqlite::Sqlite::open(path, options).await?),
            Place::Postgres => Engine::Postgres(postgres::Postgres::open(url, options).await?),
        };
        Ok(Db {
            engine,
            recorder: Arc::default(),
        })
    }

    /// Looks at the store at `url` without changing it; none if there is no file there.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn inspect(url: &str) -> Result<Option<Found>, StoreError> {
        match Place::of(url)? {
            Place::Sqlite(path) => sqlite::inspect(path).await,
            Place::Postgres => postgres::inspect(url).await.map(Some),
        }
    }

    /// A snapshot of a tenant's rows: every statement sees the same moment.
    pub async fn read(&self, tenant: TenantId) -> Result<Tx, StoreError> {
        self.begin_read(Some(tenant)).await
    }

    /// A transaction that changes a tenant's rows.
    pub async fn write(&self, tenant: TenantId) -> Result<Tx, StoreError> {
        self.begin_write(Some(tenant)).await
    }

    /// A snapshot of what is looked up before a tenant is known.
    pub async fn read_directory(&self) -> Result<Tx, StoreError> {
        self.begin_read(None).await
    }

    /// A transaction over what is looked up before a tenant is known, and for claiming jobs.
    pub async fn write_directory(&self) -> Result<Tx, StoreError> {
        self.begin_write(None).await
    }

    async fn begin_read(&self, tenant: Option<TenantId>) -> Result<Tx, StoreError> {
        let open = match &self.engine {
            Engine::Sqlite(sqlite) => Open::SqliteRead(sqlite.read().await?),
            Engine::Postgres(postgres) => Open::Postgres(postgres.read().await?),
        };
        Ok(Tx {
            open,
            tenant,
            reads: true,
            failed: false,
            recorder: self.recorder.clone(),
        })
    }

    async fn begin_write(&self, tenant: Option<TenantId>) -> Result<Tx, StoreError> {
        let open = match &self.engine {
            Engine::Sqlite(sqlite) => Open::SqliteWrite(sqlite.write().await?),
            Engine::Postgres(postgres) => Open::Postgres(postgres.write().await?),
        };
        Ok(Tx {
            open,
            tenant,
            reads: false,
            failed: false,
            recorder: self.recorder.clone(),
        })
    }

    /// `sqlite` or `postgres`.
    pub fn engine_name(&self) -> &'static str {
        match self.engine {
            Engine::Sqlite(_) => "sqlite",
            Engine::Postgres(_) => "postgres",
        }
    }

    /// What is wrong with the stored data, one sentence each; empty if nothing is.
    pub async fn check(&self) -> Result<Vec<String>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.check().await,
            Engine::Postgres(postgres) => postgres.check().await,
        }
    }

    /// Lets PostgreSQL count what was loaded, before it plans how to look it up. SQLite looks rows
    /// up the way the statements say.
    pub async fn count_what_was_loaded(&self) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(_) => Ok(()),
            Engine::Postgres(postgres) => postgres.analyze().await,
        }
    }

    /// Moves the log into the database file and empties it, so that what was erased is in no
    /// file of ours. PostgreSQL keeps its log to itself: nothing happens there.
    ///
    /// # Errors
    /// If a reader holds the log; the next one may succeed.
    pub async fn empty_log(&self) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.empty_log().await,
            Engine::Postgres(_) => Ok(()),
        }
    }

    /// Waits for open writes, moves the log into the database file, and closes.
    pub async fn close(self) {
        match self.engine {
            Engine::Sqlite(sqlite) => sqlite.close().await,
            Engine::Postgres(postgres) => postgres.close(),
        }
    }

    /// Prepares a statement without running it, for the proof that both engines accept it.
    pub async fn prepare(&self, statement: &'static Statement) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.prepare(statement).await,
            Engine::Postgres(postgres) => postgres.prepare(statement).await,
        }
    }

    /// Records the names of the statements that run on this store until the answer is dropped, so
    /// that a test can compare what two calls do.
    pub fn record_statements(&self) -> Recording {
        self.recorder.names().clear();
        self.recorder.on.store(true, Ordering::Relaxed);
        Recording {
            recorder: self.recorder.clone(),
        }
    }
}

impl Tx {
    /// The same snapshot seen as a tenant's, to read all tenants at one moment.
    ///
    /// # Panics
    /// If the transaction is one that writes: such a one is of one tenant to its end.
    pub fn visit(&mut self, tenant: TenantId) {
        assert!(
            self.reads,
            "only a reading transaction goes from tenant to tenant"
        );
        self.tenant = Some(tenant);
    }

    /// The tenant it is opened for; the nil id for the directory.
    pub fn tenant(&self) -> TenantId {
        self.tenant.unwrap_or(TenantId::new(Uuid::nil()))
    }

    /// Makes it last. On return it is on disk.
    ///
    /// # Errors
    /// If it could not be written, or an earlier statement failed. Nothing of it stays, except
    /// that after a failed flush or a lost connection this cannot be known.
    pub async fn commit(self) -> Result<(), StoreError> {
        if self.failed {
            return Err(StoreError::failed(
                "commit",
                "an earlier statement of it failed",
            ));
        }
        match self.open {
            Open::SqliteRead(read) => {
                drop(read);
                Ok(())
            }
            Open::SqliteWrite(write) => write.commit().await,
            Open::Postgres(transaction) => transaction.commit().await,
        }
    }

    /// All rows of the answer.
    pub(crate) async fn rows(
        &mut self,
        statement: &'static Statement,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let tenant = self.enter(statement, params)?;
        let done = match &mut self.open {
            Open::SqliteRead(read) => read.rows(statement, tenant, params),
            Open::SqliteWrite(write) => write.rows(statement, tenant, params),
            Open::Postgres(open) => open.rows(statement, tenant, params).await,
        };
        self.leave(done)
    }

    /// Hands each row of the answer to `take`, and keeps none: for answers that are long and of
    /// which little is wanted. `take` gives none where a row is not what it reads.
    pub(crate) async fn scan(
        &mut self,
        statement: &'static Statement,
        params: &[Param<'_>],
        take: &mut (dyn FnMut(&dyn Cells) -> Option<()> + Send),
    ) -> Result<(), StoreError> {
        let tenant = self.enter(statement, params)?;
        let done = match &mut self.open {
            Open::SqliteRead(read) => read.scan(statement, tenant, params, take),
            Open::SqliteWrite(write) => write.scan(statement, tenant, params, take),
            Open::Postgres(open) => open.scan(statement, tenant, params, take).await,
        };
        let done = done.and_then(|read| {
            read.ok_or_else(|| StoreError::failed(statement.doing(), "a row is not what it reads"))
        });
        self.leave(done)
    }

    /// The first row of the answer.
    pub(crate) async fn row(
        &mut self,
        statement: &'static Statement,
        params: &[Param<'_>],
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(statement, params).await?.into_iter().next())
    }

    /// How many rows were changed.
    pub(crate) async fn execute(
        &mut self,
        statement: &'static Statement,
        params: &[Param<'_>],
    ) -> Result<u64, StoreError> {
        let tenant = self.enter(statement, params)?;
        let done = match &mut self.open {
            Open::SqliteRead(read) => read.execute(statement, tenant, params),
            Open::SqliteWrite(write) => write.execute(statement, tenant, params),
            Open::Postgres(open) => open.execute(statement, tenant, params).await,
        };
        self.leave(done)
    }

    /// Runs one statement for many rows of parameters; how many rows were changed.
    pub(crate) async fn bulk(
        &mut self,
        statement: &'static Statement,
        rows: &[Vec<Param<'_>>],
    ) -> Result<u64, StoreError> {
        if rows.is_empty() {
            return Ok(0);
        }
        let tenant = self.enter(statement, rows.iter().flatten())?;
        let done =
            match &mut self.open {
                Open::SqliteRead(read) => rows.iter().try_fold(0, |sum, row| {
                    Ok(sum + read.execute(statement, tenant, row)?)
                }),
                Open::SqliteWrite(write) => rows.iter().try_fold(0, |sum, row| {
                    Ok(sum + write.execute(statement, tenant, row)?)
                }),
                Open::Postgres(open) => open.bulk(statement, tenant, rows).await,
            };
        self.leave(done)
    }

    /// The tenant to bind, if the statement binds one.
    fn enter<'a>(
        &mut self,
        statement: &'static Statement,
        params: impl IntoIterator<Item = &'a Param<'a>>,
    ) -> Result<Option<TenantId>, StoreError> {
        let entered = self.may_enter(statement, params);
        self.leave(entered)
    }

    fn may_enter<'a>(
        &self,
        statement: &'static Statement,
        params: impl IntoIterator<Item = &'a Param<'a>>,
    ) -> Result<Option<TenantId>, StoreError> {
        // PostgreSQL takes none, and SQLite is to hold nothing that PostgreSQL cannot.
        if params
            .into_iter()
            .any(|param| matches!(param, Param::Text(text) if text.contains('\0')))
        {
            return Err(StoreError::failed(
                statement.doing(),
                "a text has a NUL character in it",
            ));
        }
        if self.failed {
            return Err(StoreError::failed(
                statement.doing(),
                "an earlier statement of the transaction failed",
            ));
        }
        if self.reads && !statement.reads() {
            return Err(StoreError::failed(
                statement.doing(),
                "it changes rows, and the transaction is open for reading",
            ));
        }
        self.recorder.note(statement);
        match (statement.directory_reason(), self.tenant) {
            (Some(_), _) => Ok(None),
            (None, Some(tenant)) => Ok(Some(tenant)),
            (None, None) => Err(StoreError::failed(
                statement.doing(),
                "it is about a tenant, and the transaction is open for none",
            )),
        }
    }

    fn leave<T>(&mut self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        self.failed |= done.is_err();
        done
    }
}

/// Names of the statements that ran; see [`Db::record_statements`].
pub struct Recording {
    recorder: Arc<Recorder>,
}

impl Recording {
    /// The statements so far, in order; `file::NAME` each.
    pub fn statements(&self) -> Vec<&'static str> {
        self.recorder.names().clone()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.recorder.on.store(false, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Recorder {
    on: AtomicBool,
    names: Mutex<Vec<&'static str>>,
}

impl Recorder {
    fn names(&self) -> std::sync::MutexGuard<'_, Vec<&'static str>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, statement: &'static Statement) {
        if self.on.load(Ordering::Relaxed) {
            self.names().push(statement.name());
        }
    }
}
