//! SQLite: one lane for writers with group commit, a pool of snapshots for readers.
//!
//! Every logical write is a savepoint within a shared physical transaction. A writer that commits
//! lets those go first that already wait for the lane; then the whole group is flushed at once,
//! and only then do its members hear that they are done. One flush serves many.
//!
//! After a failed flush the kernel may have dropped the unwritten pages and report the next flush
//! as good (PostgreSQL's "fsyncgate", 2018), so none is tried: the lane refuses until a restart,
//! which replays the log from what is really on the disk. A full disk is not such a failure.
//!
//! Statements run on the calling task: they take microseconds, a change of threads takes more.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use model::TenantId;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql, ffi};
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore, watch};
use uuid::Uuid;

use crate::StoreError;
use crate::migrations::{self, SchemaStep};
use crate::sql::{Found, Options};
use crate::statement::Statement;
use crate::value::{Cells, Param, Row, Value};

/// Members after which a group is flushed without waiting for more.
const GROUP_MEMBERS: u32 = 64;
/// Age after which a group is flushed without waiting for more.
const GROUP_AGE: Duration = Duration::from_millis(5);
/// Pages in the log after which it is moved into the database file: 16 MB. With SQLite's own
/// default of a quarter, pages that a load fills again and again are moved four times as often.
const CHECKPOINT_PAGES: i32 = 4000;
/// Memory of the writing connection, in KiB. Ids are scattered over their indexes: a load touches
/// pages all over them, and reads each again that does not fit.
const WRITER_CACHE_KIB: u32 = 32 * 1024;
/// Prepared statements kept per connection.
const STATEMENTS: usize = 128;

#[derive(Clone)]
pub(crate) struct Sqlite {
    lane: Arc<tokio::sync::Mutex<Lane>>,
    readers: Arc<Readers>,
}

/// The one writing connection and the group it is filling.
struct Lane {
    // Before the folder, so that the files are closed when the folder goes.
    connection: Connection,
    group: Option<Group>,
    groups: u64,
    /// Why no more writes are taken.
    refused: Option<String>,
    /// Pages in the log, as the last commit left it.
    log_pages: Arc<AtomicI32>,
}

/// Writes that share one flush.
struct Group {
    number: u64,
    opened: Instant,
    members: u32,
    outcome: watch::Sender<Option<Outcome>>,
}

/// What became of a group, told to each member.
type Outcome = Result<(), Lost>;

/// Why a group was lost.
#[derive(Debug, Clone)]
enum Lost {
    Full(String),
    Failed(String),
}

impl From<Lost> for StoreError {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Full(why) => StoreError::Full(why),
            Lost::Failed(why) => StoreError::failed("commit", why),
        }
    }
}

struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
    /// The folder of a store that lives as long as the process wants it.
    _folder: Option<tempfile::TempDir>,
}

impl Sqlite {
    pub(crate) async fn open(path: &str, options: Options) -> Result<Self, StoreError> {
        let path = path.to_owned();
        blocking(move || {
            let folder = if path == ":memory:" {
                let folder = tempfile::Builder::new().prefix("quipu-store-").tempdir();
                Some(folder.map_err(|source| StoreError::failed("make a folder", source))?)
            } else {
                None
            };
            let path = match &folder {
                Some(folder) => folder.path().join("store.db"),
                None => PathBuf::from(path),
            };
            let mut connection = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            let doing = || "open the store".to_owned();
            // A store that is gone with the process need not be flushed.
            let synchronous = if folder.is_some() { "OFF" } else { "FULL" };
            connection
                .execute_batch(&format!(
                    "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; \
                     PRAGMA secure_delete = ON; \
                     PRAGMA cache_size = -{WRITER_CACHE_KIB}; \
                     PRAGMA journal_size_limit = 67108864;"
                ))
                .map_err(|error| failure(doing, error))?;
            let log_pages = Arc::new(AtomicI32::new(0));
            let pages = log_pages.clone();
            // Takes the place of SQLite's own checkpoints, which hide a failed flush.
            connection
                .wal_hook(Some(move |_: &mut _, found| {
                    pages.store(found, Ordering::Relaxed);
                    Ok(())
                }))
                .map_err(|error| failure(doing, error))?;
            migrate(&mut connection, &options)?;
            let lane = Lane {
                connection,
                group: None,
                groups: 0,
                refused: None,
                log_pages,
            };
            let readers = Readers {
                path,
                idle: Mutex::default(),
                permits: Arc::new(Semaphore::new(options.readers.max(1))),
                _folder: folder,
            };
            Ok(Sqlite {
                lane: Arc::new(tokio::sync::Mutex::new(lane)),
                readers: Arc::new(readers),
            })
        })
        .await
    }

    /// A reader; waits in order of arrival when all connections are in use.
    pub(crate) async fn read(&self) -> Result<Read, StoreError> {
        let permit = self.readers.permits.clone().acquire_owned().await;
        let permit = permit.map_err(|_| StoreError::failed("read", "the store is closed"))?;
        let idle = self.readers.idle().pop();
        let connection = if let Some(connection) = idle {
            connection
        } else {
            let readers = self.readers.clone();
            blocking(move || reader(&readers.path)).await?
        };
        connection
            .execute_batch("BEGIN")
            .map_err(|error| failure(|| "begin to read".to_owned(), error))?;
        Ok(Read {
            connection: Some(connection),
            readers: self.readers.clone(),
            _permit: permit,
        })
    }

    /// A writer; waits in order of arrival for the lane.
    pub(crate) async fn write(&self) -> Result<Write, StoreError> {
        let mut lane = self.lane.clone().lock_owned().await;
        let group = lane.enter()?;
        Ok(Write {
            lane: Some(lane),
            home: self.lane.clone(),
            group,
        })
    }

    pub(crate) async fn prepare(&self, statement: &'static Statement) -> Result<(), StoreError> {
        let lane = self.lane.lock().await;
        let prepared = lane.connection.prepare(statement.sqlite());
        prepared
            .map(drop)
            .map_err(|error| failure(|| statement.doing(), error))
    }

    pub(crate) async fn check(&self) -> Result<Vec<String>, StoreError> {
        let readers = self.readers.clone();
        blocking(move || {
            let doing = || "check the database".to_owned();
            let connection = reader(&readers.path)?;
            let mut statement = connection
                .prepare("PRAGMA integrity_check(20)")
                .map_err(|error| failure(doing, error))?;
            let lines = statement
                .query_map([], |row| row.get::<_, String>(0))
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(|error| failure(doing, error))?;
            Ok(lines.into_iter().filter(|line| line != "ok").collect())
        })
        .await
    }

    /// Moves the log into the database and truncates it, between two groups of writes.
    pub(crate) async fn empty_log(&self) -> Result<(), StoreError> {
        let mut lane = self.lane.clone().lock_owned().await;
        blocking(move || {
            lane.flush();
            let busy = lane
                .connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
                    row.get::<_, i64>(0)
                })
                .map_err(|error| failure(|| "empty the log".to_owned(), error))?;
            if busy == 0 {
                return Ok(());
            }
            Err(StoreError::Busy("a reader holds the log".to_owned()))
        })
        .await
    }

    pub(crate) async fn close(self) {
        self.readers.permits.close();
        self.readers.idle().clear();
        let mut lane = self.lane.lock_owned().await;
        let done = blocking(move || {
            lane.flush();
            if lane.refused.is_some() {
                return Ok(());
            }
            lane.refused = Some("the store is closed".to_owned());
            lane.connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
                .map_err(|error| failure(|| "move the log into the database".to_owned(), error))
        });
        if let Err(error) = done.await {
            tracing::warn!(error = %error, "the store was closed with its log unmoved");
        }
    }
}

impl Readers {
    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs file work off the async threads.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|source| Err(StoreError::failed("run a task of the store", source)))
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, StoreError> {
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let flags = if access.contains(OpenFlags::SQLITE_OPEN_READ_WRITE) {
        flags | OpenFlags::SQLITE_OPEN_CREATE
    } else {
        flags
    };
    let open = || -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        // No memory map: it would count several times over as memory of the process, and turn a
        // failing disk into a signal instead of an error.
        connection.execute_batch("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -4096;")?;
        rusqlite::vtab::array::load_module(&connection)?;
        Ok(connection)
    };
    open().map_err(|error| failure(|| format!("open `{}`", path.display()), error))
}

fn reader(path: &Path) -> Result<Connection, StoreError> {
    // Opened for writing, since a reader of a log may have to recover its index; `query_only`
    // forbids the rest.
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection
        .execute_batch("PRAGMA query_only = ON; PRAGMA wal_autocheckpoint = 0;")
        .map_err(|error| failure(|| "open a reader".to_owned(), error))?;
    Ok(connection)
}

/// A row of the table of migrations.
fn step(row: &rusqlite::Row<'_>) -> rusqlite::Result<SchemaStep> {
    Ok(SchemaStep {
        number: row.get(0)?,
        name: row.get(1)?,
        checksum: row.get(2)?,
    })
}

/// Looks at a database file without changing it; none if there is no file.
pub(crate) async fn inspect(path: &str) -> Result<Option<Found>, StoreError> {
    let path = PathBuf::from(path);
    blocking(move || {
        if !path.exists() {
            return Ok(None);
        }
        let look = || -> rusqlite::Result<Found> {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(&path, flags)?;
            connection.busy_timeout(Duration::from_secs(5))?;
            let has = |table: &str| -> rusqlite::Result<bool> {
                connection
                    .prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1")?
                    .exists([table])
            };
            let mut found = Found::default();
            if has("migration")? {
                found.schema = connection
                    .prepare(migrations::APPLIED)?
                    .query_map([], step)?
                    .collect::<Result<Vec<_>, _>>()?;
            }
            found.has_tenants =
                has("tenant")? && connection.prepare("SELECT 1 FROM tenant")?.exists([])?;
            found.bytes = connection.query_row(
                "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
                [],
                |row| row.get::<_, i64>(0),
            )? as u64;
            Ok(found)
        };
        look()
            .map(Some)
            .map_err(|error| failure(|| format!("look at `{}`", path.display()), error))
    })
    .await
}

fn migrate(connection: &mut Connection, options: &Options) -> Result<(), StoreError> {
    let mut run = || -> rusqlite::Result<Result<(), StoreError>> {
        let tx = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        tx.execute_batch(migrations::TABLE)?;
        let applied = tx
            .prepare(migrations::APPLIED)?
            .query_map([], step)?
            .collect::<Result<Vec<_>, _>>()?;
        let pending = match migrations::pending(&applied) {
            Ok(pending) => pending,
            Err(refused) => return Ok(Err(refused)),
        };
        for migration in options.wanted(pending) {
            tx.execute_batch(migration.sqlite())?;
            tx.execute(
                migrations::REMEMBER,
                (
                    migration.number,
                    migration.name,
                    migration.checksum(),
                    options.opened_at.micros(),
                ),
            )?;
        }
        tx.commit()?;
        Ok(Ok(()))
    };
    run().map_err(|error| failure(|| "bring the schema up to date".to_owned(), error))?
}

impl Lane {
    /// Begins a member of the open group, or of a fresh one; the group's number.
    fn enter(&mut self) -> Result<u64, StoreError> {
        if let Some(why) = &self.refused {
            return Err(StoreError::failed("write", why.clone()));
        }
        let doing = || "begin to write".to_owned();
        if self.group.is_none() {
            self.run("BEGIN IMMEDIATE")
                .map_err(|error| failure(doing, error))?;
            self.groups += 1;
            self.group = Some(Group {
                number: self.groups,
                opened: Instant::now(),
                members: 0,
                outcome: watch::Sender::new(None),
            });
        }
        if let Err(error) = self.run("SAVEPOINT member") {
            self.lose_if_rolled_back(&error);
            self.flush_if_empty();
            return Err(failure(doing, error));
        }
        Ok(self.groups)
    }

    fn run(&self, text: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(text)?.execute([]).map(drop)
    }

    fn holds(&self, number: u64) -> bool {
        self.group
            .as_ref()
            .is_some_and(|group| group.number == number)
    }

    /// Some errors make SQLite roll back the physical transaction by itself.
    fn lose_if_rolled_back(&mut self, error: &rusqlite::Error) {
        if self.connection.is_autocommit() {
            self.lose(error);
        }
    }

    /// Tells every member that the group is lost, and whether the lane can go on.
    fn lose(&mut self, error: &rusqlite::Error) {
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::error!(error = %error, "a lost group of writes could not be rolled back");
        }
        let lost = if is_full(error) {
            Lost::Full(error.to_string())
        } else {
            Lost::Failed(error.to_string())
        };
        self.refuse_after(error);
        if let Some(group) = self.group.take() {
            group.outcome.send_replace(Some(Err(lost)));
        }
    }

    /// No flush is tried again after one that failed.
    fn refuse_after(&mut self, error: &rusqlite::Error) {
        let broken = matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::SystemIoFailure | ErrorCode::DatabaseCorrupt)
        );
        if broken && !is_full(error) && self.refused.is_none() {
            tracing::error!(error = %error, "the disk failed: writes are refused until a restart");
            self.refused = Some(format!(
                "the disk failed an earlier write ({error}), so what is on it is uncertain; check \
                 the disk and restart"
            ));
        }
    }

    fn flush_if_empty(&mut self) {
        if self.group.as_ref().is_some_and(|group| group.members == 0) {
            self.flush();
        }
    }

    /// Ends the physical transaction and tells the members.
    fn flush(&mut self) {
        let Some(group) = &self.group else { return };
        if group.members == 0 {
            self.group = None;
            if let Err(error) = self.run("ROLLBACK") {
                self.refuse_after(&error);
            }
            return;
        }
        if let Err(error) = self.run("COMMIT") {
            return self.lose(&error);
        }
        if let Some(group) = self.group.take() {
            group.outcome.send_replace(Some(Ok(())));
        }
        self.checkpoint();
    }

    fn checkpoint(&mut self) {
        if self.log_pages.load(Ordering::Relaxed) < CHECKPOINT_PAGES {
            return;
        }
        let moved = self
            .connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        if let Err(error) = moved {
            tracing::warn!(error = %error, "the log could not be moved into the database");
            self.refuse_after(&error);
        }
    }
}

/// A writing transaction: a savepoint in the lane's group.
pub(crate) struct Write {
    lane: Option<OwnedMutexGuard<Lane>>,
    home: Arc<tokio::sync::Mutex<Lane>>,
    group: u64,
}

impl Write {
    pub(crate) fn rows(
        &mut self,
        statement: &'static Statement,
        tenant: Option<TenantId>,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        self.with(statement, |connection| {
            rows(connection, statement, tenant, params)
        })
    }

    pub(crate) fn execute(
        &mut self,
        statement: &'static Statement,
        tenant: Option<TenantId>,
        params: &[Param<'_>],
    ) -> Result<u64, StoreError> {
        self.with(statement, |connection| {
            execute(connection, statement, tenant, params)
        })
    }

    pub(crate) fn scan(
        &mut self,
        statement: &'static Statement,
        tenant: Option<TenantId>,
        params: &[Param<'_>],
        take: &mut (dyn FnMut(&dyn Cells) -> Option<()> + Send),
    ) -> Result<Option<()>, StoreError> {
        self.with(statement, |connection| {
            scan(connection, statement, tenant, params, take)
        })
    }

    fn with<T>(
        &mut self,
        statement: &'static Statement,
        run: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let lane = self
            .lane
            .as_mut()
            .expect("the lane is held until commit or drop");
        if !lane.holds(self.group) {
            return Err(StoreError::failed(
                statement.doing(),
                "its transaction was lost",
            ));
        }
        run(&lane.connection).map_err(|error| {
            lane.lose_if_rolled_back(&error);
            lane.refuse_after(&error);
            failure(|| statement.doing(), error)
        })
    }

    /// Returns when the group is on disk.
    pub(crate) async fn commit(mut self) -> Result<(), StoreError> {
        let mut lane = self.lane.take().expect("a transaction is committed once");
        if !lane.holds(self.group) {
            return Err(StoreError::failed("commit", "its transaction was lost"));
        }
        if let Err(error) = lane.run("RELEASE member") {
            lane.lose(&error);
            return Err(failure(|| "commit".to_owned(), error));
        }
        let group = lane
            .group
            .as_mut()
            .expect("the group is held, as asked above");
        group.members += 1;
        let mut outcome = group.outcome.subscribe();
        if group.members >= GROUP_MEMBERS || group.opened.elapsed() >= GROUP_AGE {
            tokio::task::spawn_blocking(move || lane.flush());
        } else if group.members == 1 {
            // Takes its place behind those who wait now, so that they share the flush. A task of
            // its own, since the caller may give up at any await.
            let (home, number) = (self.home.clone(), self.group);
            drop(lane);
            tokio::spawn(async move {
                let mut lane = home.lock_owned().await;
                if lane.holds(number) {
                    tokio::task::spawn_blocking(move || lane.flush());
                }
            });
        } else {
            drop(lane);
        }
        let heard = outcome.wait_for(Option::is_some).await;
        let heard = heard.ok().and_then(|outcome| outcome.clone());
        heard.unwrap_or(Err(Lost::Failed("the store was closed".to_owned())))?;
        Ok(())
    }
}

impl Drop for Write {
    fn drop(&mut self) {
        let Some(lane) = &mut self.lane else { return };
        if !lane.holds(self.group) {
            return;
        }
        let undone = lane
            .run("ROLLBACK TO member")
            .and_then(|()| lane.run("RELEASE member"));
        match undone {
            Ok(()) => lane.flush_if_empty(),
            Err(error) => lane.lose(&error),
        }
    }
}

/// A reading transaction.
pub(crate) struct Read {
    connection: Option<Connection>,
    readers: Arc<Readers>,
    _permit: OwnedSemaphorePermit,
}

impl Read {
    pub(crate) fn rows(
        &mut self,
        statement: &'static Statement,
        tenant: Option<TenantId>,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let connection = self
            .connection
            .as_ref()
            .expect("the connection is held until drop");
        rows(connection, statement, tenant, params)
            .map_err(|error| failure(|| statement.doing(), error))
    }

    pub(crate) fn execute(
        &mut self,
        statement: &'static Statement,
        tenant: Option<TenantId>,
        params: &[Param<'_>],
    ) -> Result<u64, StoreError> {
        let connection = self
            .connection
            .as_ref()
            .expect("the connection is held until drop");
        execute(connection, statement, tenant, params)
            .map_err(|error| failure(|| statement.doing(), error))
    }
}

impl Read {
    pub(crate) fn scan(
        &mut self,
        statement: &'static Statement,
        tenant: Option<TenantId>,
        params: &[Param<'_>],
        take: &mut (dyn FnMut(&dyn Cells) -> Option<()> + Send),
    ) -> Result<Option<()>, StoreError> {
        let connection = self
            .connection
            .as_ref()
            .expect("the connection is held until drop");
        scan(connection, statement, tenant, params, take)
            .map_err(|error| failure(|| statement.doing(), error))
    }
}

impl Drop for Read {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        // One that cannot end its snapshot would keep the log from being moved: close it.
        if connection.execute_batch("ROLLBACK").is_ok() && !self.readers.permits.is_closed() {
            self.readers.idle().push(connection);
        }
    }
}

fn bind(
    prepared: &mut rusqlite::CachedStatement<'_>,
    tenant: Option<TenantId>,
    params: &[Param<'_>],
) -> rusqlite::Result<()> {
    let mut number = 0;
    if let Some(tenant) = tenant {
        number = 1;
        prepared.raw_bind_parameter(number, tenant.uuid().as_bytes().as_slice())?;
    }
    for param in params {
        number += 1;
        prepared.raw_bind_parameter(number, param)?;
    }
    if number == prepared.parameter_count() {
        Ok(())
    } else {
        Err(rusqlite::Error::InvalidParameterCount(
            number,
            prepared.parameter_count(),
        ))
    }
}

fn rows(
    connection: &Connection,
    statement: &'static Statement,
    tenant: Option<TenantId>,
    params: &[Param<'_>],
) -> rusqlite::Result<Vec<Row>> {
    let mut prepared = connection.prepare_cached(statement.sqlite())?;
    bind(&mut prepared, tenant, params)?;
    let columns = prepared.column_count();
    let mut found = Vec::new();
    let mut answer = prepared.raw_query();
    while let Some(row) = answer.next()? {
        let mut values = Vec::with_capacity(columns);
        for column in 0..columns {
            values.push(match row.get_ref(column)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => Value::Int(number),
                ValueRef::Real(number) => Value::Real(number),
                ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
                ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
            });
        }
        found.push(Row::new(statement.name(), values));
    }
    Ok(found)
}

/// A row while the statement stands on it.
struct Passing<'a>(&'a rusqlite::Row<'a>);

impl Cells for Passing<'_> {
    fn int(&self, column: usize) -> Option<i64> {
        self.0.get_ref(column).ok()?.as_i64().ok()
    }

    fn uuid(&self, column: usize) -> Option<Uuid> {
        let bytes = self.0.get_ref(column).ok()?.as_blob().ok()?;
        Uuid::from_slice(bytes).ok()
    }
}

/// None if `take` could not read a row.
fn scan(
    connection: &Connection,
    statement: &'static Statement,
    tenant: Option<TenantId>,
    params: &[Param<'_>],
    take: &mut (dyn FnMut(&dyn Cells) -> Option<()> + Send),
) -> rusqlite::Result<Option<()>> {
    let mut prepared = connection.prepare_cached(statement.sqlite())?;
    bind(&mut prepared, tenant, params)?;
    let mut answer = prepared.raw_query();
    while let Some(row) = answer.next()? {
        if take(&Passing(row)).is_none() {
            return Ok(None);
        }
    }
    Ok(Some(()))
}

fn execute(
    connection: &Connection,
    statement: &'static Statement,
    tenant: Option<TenantId>,
    params: &[Param<'_>],
) -> rusqlite::Result<u64> {
    let mut prepared = connection.prepare_cached(statement.sqlite())?;
    bind(&mut prepared, tenant, params)?;
    prepared.raw_execute().map(|rows| rows as u64)
}

impl ToSql for Param<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let list =
            |values: Vec<rusqlite::types::Value>| ToSqlOutput::from_rc(Rc::new(values), c"rarray");
        Ok(match self {
            Param::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Param::Bool(truth) => ToSqlOutput::Borrowed(ValueRef::Integer((*truth).into())),
            Param::Int(number) => ToSqlOutput::Borrowed(ValueRef::Integer(*number)),
            Param::Real(number) => ToSqlOutput::Borrowed(ValueRef::Real(*number)),
            Param::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Param::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
            Param::Uuid(id) => ToSqlOutput::Borrowed(ValueRef::Blob(id.as_bytes())),
            Param::Uuids(ids) => list(ids.iter().map(|id| id.as_bytes().to_vec().into()).collect()),
            Param::Ints(numbers) => list(numbers.iter().map(|number| (*number).into()).collect()),
            Param::Texts(texts) => {
                list(texts.iter().map(|text| (*text).to_owned().into()).collect())
            }
        })
    }
}

/// Whether the disk takes no more, as against being broken.
fn is_full(error: &rusqlite::Error) -> bool {
    let Some(code) = error.sqlite_error() else {
        return false;
    };
    matches!(code.code, ErrorCode::DiskFull | ErrorCode::ReadOnly)
        || matches!(
            code.extended_code,
            ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE
        )
}

fn failure(doing: impl FnOnce() -> String, error: rusqlite::Error) -> StoreError {
    if is_full(&error) {
        return StoreError::Full(error.to_string());
    }
    match error
        .sqlite_error()
        .map(|found| (found.code, found.extended_code))
    {
        Some((ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _)) => {
            StoreError::Busy(error.to_string())
        }
        Some((
            ErrorCode::ConstraintViolation,
            ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY,
        )) => StoreError::Unique(table_of(&error.to_string()).to_owned()),
        _ => StoreError::failed(doing(), error),
    }
}

/// The table in "UNIQUE constraint failed: base.tenant_id, base.slug".
fn table_of(message: &str) -> &str {
    let columns = message.rsplit(": ").next().unwrap_or(message);
    columns.split('.').next().unwrap_or(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Statements that walk a whole base, tenant or table, and why they may.
    const WALKS: &[(&str, &str)] = &[
        (
            "store::audit::COUNT_UNSEALED",
            "the index holds the unsealed only",
        ),
        ("store::audit::LAST_SEAL", "ends after one row"),
        ("store::audit::UNCOVERED", "doctor reads the whole log"),
        (
            "store::audit::UNSEALED",
            "the index holds the unsealed only",
        ),
        ("store::base_rows::READ_base_model", "a base has one row"),
        ("store::bases::HEADS", "a deployment has few bases"),
        ("store::bases::LIST", "a tenant has few bases"),
        ("store::bases::VISIBLE", "a tenant has few bases"),
        ("store::bases::MEMBERS", "lists them"),
        ("store::entities::COUNT", "counts them"),
        ("store::identity::ALL", "walks the whole ledger"),
        ("store::identity::FOLDED", "lists what was merged"),
        ("store::ontology::CLEAR_DISJOINT", "a base has few words"),
        ("store::ontology::DISJOINT", "a base has few words"),
        ("store::ontology::LINKS", "a base has few words"),
        ("store::ontology::PARENTS", "a base has few words"),
        ("store::ontology::RELATIONS", "a base has few words"),
        ("store::ontology::TYPES", "a base has few words"),
        ("store::documents::STATS", "counts the documents of a base"),
        ("store::holds::ALL", "few are held at a time"),
        ("store::models::FORGET", "a base has one row"),
        ("store::models::OF_BASE", "a base has one row"),
        ("store::vectors::MODELS", "counts the vectors of a base"),
        ("store::vectors::PASSAGES", "counts the passages of a base"),
        ("store::holds::CLEAR", "few are held at a time"),
        ("store::jobs::COUNTS", "counts the jobs of the deployment"),
        ("store::jobs::HAND_BACK_ALL", "once at an end"),
        ("store::jobs::OF_BASE", "ends after a page"),
        ("store::jobs::UNFINISHED", "ended jobs are forgotten"),
        ("store::jobs::RELEASE_ALL", "once at a start"),
        ("store::rows::BLOBS", "a backup names them all"),
        (
            "store::sources::COUNTS",
            "counts the documents of a base's sources",
        ),
        ("store::sources::LIST", "a base has few sources"),
        ("store::tenants::LIST", "lists them"),
        ("store::users::FIRST_ADMIN", "a deployment has few users"),
        ("store::users::LIST", "lists them"),
        ("store::users::PRUNE_LINKS", "few are open at a time"),
    ];

    /// The lines of the plan that look rows up by no more than tenant and base.
    fn walks(connection: &Connection, statement: &'static Statement) -> Vec<String> {
        let explain = format!("EXPLAIN QUERY PLAN {}", statement.sqlite());
        let mut prepared = connection.prepare(&explain).unwrap();
        let mut lines = Vec::new();
        let mut rows = prepared.raw_query();
        while let Some(row) = rows.next().unwrap() {
            lines.push(row.get::<_, String>("detail").unwrap());
        }
        lines.retain(|line| !line.contains("rarray"));
        lines.retain(|line| {
            line.starts_with("SCAN")
                || line.ends_with("(tenant_id=?)")
                || line.ends_with("(tenant_id=? AND base_id=?)")
        });
        lines
    }

    #[tokio::test]
    async fn no_other_statement_walks_a_whole_base() {
        let sqlite = Sqlite::open(":memory:", Options::default()).await.unwrap();
        let lane = sqlite.lane.lock().await;

        let mut walking = Vec::new();
        for statement in crate::statements() {
            let lines = walks(&lane.connection, statement);
            // A backup counts every table, an archive those of its base, and a check looks at every row.
            let counts = statement.name().starts_with("store::rows::COUNT_")
                || statement.name().starts_with("store::base_rows::COUNT_")
                || statement.name().starts_with("store::faults::");
            let known = WALKS.iter().any(|(known, _)| *known == statement.name());
            if !lines.is_empty() && !known && !counts {
                walking.push((statement.name(), lines));
            }
        }

        assert!(walking.is_empty(), "{walking:#?}");
    }
}
