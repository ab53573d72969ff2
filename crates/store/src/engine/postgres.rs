//! PostgreSQL: a pool of connections, plain version 15 and nothing added.
//!
//! Connections are not encrypted: the database is expected on the same machine or on a network
//! of its own. A reader sees one snapshot (`REPEATABLE READ`); a writer takes the row lock of its
//! base when it advances the base's clock.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime,
};
use futures::future::try_join_all;
use model::TenantId;
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type};
use tokio_postgres::{Config, NoTls};
use uuid::Uuid;

use crate::StoreError;
use crate::migrations::{self, SchemaStep};
use crate::sql::{Found, Options};
use crate::statement::Statement;
use crate::value::{Cells, Param, Row, Value};

/// How long a call waits for a connection before it is told that the database is busy.
const WAIT: Duration = Duration::from_secs(10);
/// Rows of a bulk load under way at once.
const WINDOW: usize = 256;
/// Names the advisory lock under which one node at a time changes the schema ("quipu").
const SCHEMA_LOCK: i64 = 0x71_75_69_70_75;

#[derive(Clone)]
pub(crate) struct Postgres {
    pool: Pool,
    place: Arc<Place>,
}

/// Where a URL says that the database is, without the password.
#[derive(Debug)]
struct Place {
    server: String,
    database: String,
    user: String,
}

impl Place {
    fn of(config: &Config) -> Self {
        let host = match config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.clone(),
            Some(Host::Unix(path)) => path.display().to_string(),
            None => String::new(),
        };
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let user = config.get_user().unwrap_or_default();
        Self {
            server: format!("{host}:{port}"),
            database: config.get_dbname().unwrap_or(user).to_owned(),
            user: user.to_owned(),
        }
    }

    fn misaddressed(&self, why: impl Into<String>) -> StoreError {
        StoreError::Misaddressed {
            place: format!("`{}` on {}", self.database, self.server),
            why: why.into(),
        }
    }

    /// Why no connection was made.
    fn failure(&self, error: tokio_postgres::Error) -> StoreError {
        let Some(known) = error.as_db_error() else {
            let told = chain(&error);
            // The driver's words for a password that the server asks for and the URL lacks.
            if told.contains("password missing") {
                return self.misaddressed("it asks for a password, and the URL has none");
            }
            return StoreError::Busy(format!("{}: {told}", self.server));
        };
        let code = known.code();
        if *code == SqlState::INVALID_CATALOG_NAME {
            let why = "the server has no database of that name; make one with `createdb`";
            return self.misaddressed(why);
        }
        if *code == SqlState::INVALID_PASSWORD {
            let why = format!("the password of the user `{}` is wrong", self.user);
            return self.misaddressed(why);
        }
        if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION {
            return self.misaddressed(known.message());
        }
        failure(|| "connect to the database".to_owned(), error)
    }
}

/// What is written where a URL belongs.
fn read_url(url: &str) -> Result<Config, StoreError> {
    let right = "it must read `postgres://user:password@host:port/name`";
    let refused = |why: &str| StoreError::Misaddressed {
        place: "in the settings".to_owned(),
        why: format!("{why}; {right}"),
    };
    // The driver would take what stands behind the first `@` for the host, and name it.
    if has_bare_at(url) {
        return Err(refused(
            "its URL has an `@` in the user or the password, which must be written as `%40`",
        ));
    }
    // The driver's own message may quote a part of the password.
    let config: Config = url.parse().map_err(|_| refused(mistake(url)))?;
    match config.get_hosts() {
        [] => Err(refused("its URL names no host")),
        _ => Ok(config),
    }
}

/// Whether more than one `@` stands before the options.
fn has_bare_at(url: &str) -> bool {
    let mut parts = url.split('@');
    let first = parts.by_ref().take(2).last().unwrap_or_default();
    // What stands behind a `?` there is options, in which it is a sign like any other.
    parts.next().is_some() && !first.contains('?')
}

/// What is most likely wrong with a URL that cannot be read.
fn mistake(url: &str) -> &'static str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    let server = place.split(['/', '?']).next().unwrap_or_default();
    let port = server.rsplit_once(':').map(|(_, port)| port);
    if port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return "the port in its URL is no number up to 65535";
    }
    if place.contains('?') {
        return "its URL has an option behind the `?` that is not known";
    }
    "its URL cannot be read"
}

impl Postgres {
    pub(crate) async fn open(url: &str, options: Options) -> Result<Self, StoreError> {
        let doing = || "open the store".to_owned();
        let mut config = read_url(url)?;
        let place = Arc::new(Place::of(&config));
        config.connect_timeout(WAIT);
        config.application_name("quipu");
        let manager = Manager::from_config(
            config,
            NoTls,
            ManagerConfig {
                recycling_method: RecyclingMethod::Fast,
            },
        );
        let pool = Pool::builder(manager)
            .max_size(options.connections.max(1))
            .wait_timeout(Some(WAIT))
            .create_timeout(Some(WAIT))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|source| StoreError::failed(doing(), source))?;
        let postgres = Postgres { pool, place };
        postgres.migrate(&options).await?;
        Ok(postgres)
    }

    async fn migrate(&self, options: &Options) -> Result<(), StoreError> {
        let mut client = self.client().await?;
        let doing = || "bring the schema up to date".to_owned();
        let run = async {
            let tx = client.transaction().await?;
            tx.execute("SELECT pg_advisory_xact_lock($1)", &[&SCHEMA_LOCK])
                .await?;
            tx.batch_execute(&migrations::collate(migrations::TABLE))
                .await?;
            let applied = tx.query(migrations::APPLIED, &[]).await?;
            let applied: Vec<_> = applied.iter().map(step).collect();
            let pending = match migrations::pending(&applied) {
                Ok(pending) => pending,
                Err(refused) => return Ok(Err(refused)),
            };
            for migration in options.wanted(pending) {
                tx.batch_execute(&migration.postgres()).await?;
                tx.execute(
                    migrations::REMEMBER,
                    &[
                        &migration.number,
                        &migration.name,
                        &migration.checksum(),
                        &options.opened_at.micros(),
                    ],
                )
                .await?;
            }
            tx.commit().await?;
            Ok(Ok(()))
        };
        run.await.map_err(|error| failure(doing, error))?
    }

    async fn client(&self) -> Result<Object, StoreError> {
        self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) => self.place.failure(error),
            PoolError::Timeout(_) => {
                StoreError::Busy(format!("no connection was free for {} s", WAIT.as_secs()))
            }
            error => StoreError::failed("connect to the database", error),
        })
    }

    pub(crate) async fn read(&self) -> Result<Transaction, StoreError> {
        self.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            .await
    }

    pub(crate) async fn write(&self) -> Result<Transaction, StoreError> {
        self.begin("BEGIN").await
    }

    async fn begin(&self, how: &str) -> Result<Transaction, StoreError> {
        // From here on the transaction is undone if the caller gives up.
        let transaction = Transaction {
            client: Some(self.client().await?),
        };
        transaction
            .client()
            .batch_execute(how)
            .await
            .map_err(|error| failure(|| "begin a transaction".to_owned(), error))?;
        Ok(transaction)
    }

    pub(crate) async fn prepare(&self, statement: &'static Statement) -> Result<(), StoreError> {
        let prepared = self.client().await?.prepare(statement.postgres()).await;
        prepared
            .map(drop)
            .map_err(|error| failure(|| statement.doing(), error))
    }

    /// The server keeps its own files; what is asked here is whether the schema is whole.
    pub(crate) async fn check(&self) -> Result<Vec<String>, StoreError> {
        let client = self.client().await?;
        let applied = client
            .query(migrations::APPLIED, &[])
            .await
            .map_err(|error| failure(|| "check the database".to_owned(), error))?;
        let missing = migrations::ALL.iter().filter(|known| {
            !applied
                .iter()
                .any(|row| row.get::<_, i64>(0) == known.number)
        });
        Ok(missing
            .map(|known| format!("migration {} `{}` is not applied", known.number, known.name))
            .collect())
    }

    pub(crate) async fn analyze(&self) -> Result<(), StoreError> {
        let done = self.client().await?.batch_execute("ANALYZE").await;
        done.map_err(|error| failure(|| "count what was loaded".to_owned(), error))
    }

    pub(crate) fn close(self) {
        self.pool.close();
    }
}

/// Looks at a database without changing it.
pub(crate) async fn inspect(url: &str) -> Result<Found, StoreError> {
    let mut config = read_url(url)?;
    let place = Place::of(&config);
    config.connect_timeout(WAIT);
    let connected = config.connect(NoTls).await;
    let (client, connection) = connected.map_err(|error| place.failure(error))?;
    let connection = tokio::spawn(connection);
    let look = async {
        let has = async |table: &str| {
            let known = "SELECT to_regclass($1::TEXT) IS NOT NULL";
            Ok::<bool, tokio_postgres::Error>(client.query_one(known, &[&table]).await?.get(0))
        };
        let mut found = Found::default();
        if has("migration").await? {
            let applied = client.query(migrations::APPLIED, &[]).await?;
            found.schema = applied.iter().map(step).collect();
        }
        if has("tenant").await? {
            let some = client.query("SELECT 1 FROM tenant LIMIT 1", &[]).await?;
            found.has_tenants = !some.is_empty();
        }
        let size = "SELECT pg_database_size(current_database())";
        let bytes: i64 = client.query_one(size, &[]).await?.get(0);
        found.bytes = bytes as u64;
        Ok(found)
    };
    let found = look
        .await
        .map_err(|error| failure(|| "look at the database".to_owned(), error));
    drop(client);
    let _ = connection.await;
    found
}

/// A row of the table of migrations.
fn step(row: &tokio_postgres::Row) -> SchemaStep {
    SchemaStep {
        number: row.get(0),
        name: row.get(1),
        checksum: row.get(2),
    }
}

/// A transaction on a connection of its own.
pub(crate) struct Transaction {
    client: Option<Object>,
}

impl Transaction {
    fn client(&self) -> &Object {
        self.client
            .as_ref()
            .expect("the connection is held until commit or drop")
    }

    pub(crate) async fn rows(
        &mut self,
        statement: &'static Statement,
        tenant: Option<TenantId>,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let client = self.client();
        let run = async {
            let prepared = client.prepare_cached(statement.postgres()).await?;
            let tenant = tenant.map(Param::from);
            let rows = client
                .query(&prepared, &bound(tenant.as_ref(), params))
                .await?;
            rows.iter()
                .map(|row| read(statement, row))
                .collect::<Result<Vec<_>, _>>()
        };
        run.await
            .map_err(|error| failure(|| statement.doing(), error))
    }

    /// None if `take` could not read a row.
    pub(crate) async fn scan(
        &mut self,
        statement: &'static Statement,
        tenant: Option<TenantId>,
        params: &[Param<'_>],
        take: &mut (dyn FnMut(&dyn Cells) -> Option<()> + Send),
    ) -> Result<Option<()>, StoreError> {
        let client = self.client();
        let run = async {
            let prepared = client.prepare_cached(statement.postgres()).await?;
            let tenant = tenant.map(Param::from);
            let values = bound(tenant.as_ref(), params);
            let rows = client.query(&prepared, &values).await?;
            Ok(rows.iter().try_for_each(|row| take(&Passing(row))))
        };
        run.await
            .map_err(|error| failure(|| statement.doing(), error))
    }

    pub(crate) async fn execute(
        &mut self,
        statement: &'static Statement,
        tenant: Option<TenantId>,
        params: &[Param<'_>],
    ) -> Result<u64, StoreError> {
        let client = self.client();
        let run = async {
            let prepared = client.prepare_cached(statement.postgres()).await?;
            let tenant = tenant.map(Param::from);
            client
                .execute(&prepared, &bound(tenant.as_ref(), params))
                .await
        };
        run.await
            .map_err(|error| failure(|| statement.doing(), error))
    }

    /// Sends rows without waiting for the answer to each.
    pub(crate) async fn bulk(
        &mut self,
        statement: &'static Statement,
        tenant: Option<TenantId>,
        rows: &[Vec<Param<'_>>],
    ) -> Result<u64, StoreError> {
        let client = self.client();
        let run = async {
            let prepared = client.prepare_cached(statement.postgres()).await?;
            let tenant = tenant.map(Param::from);
            let mut changed = 0;
            for window in rows.chunks(WINDOW) {
                let sent = window.iter().map(|row| {
                    let (prepared, values) = (&prepared, bound(tenant.as_ref(), row));
                    async move { client.execute(prepared, &values).await }
                });
                changed += try_join_all(sent).await?.into_iter().sum::<u64>();
            }
            Ok(changed)
        };
        run.await
            .map_err(|error| failure(|| statement.doing(), error))
    }

    pub(crate) async fn commit(mut self) -> Result<(), StoreError> {
        let done = self.client().batch_execute("COMMIT").await;
        done.map_err(|error| failure(|| "commit".to_owned(), error))?;
        // Done: nothing is left to roll back.
        drop(self.client.take());
        Ok(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else {
            return;
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                runtime.spawn(async move {
                    if client.batch_execute("ROLLBACK").await.is_err() {
                        // Not back into the pool: its state is unknown.
                        drop(Object::take(client));
                    }
                });
            }
            // Closing the connection rolls back as well.
            Err(_) => drop(Object::take(client)),
        }
    }
}

/// A row of an answer.
struct Passing<'a>(&'a tokio_postgres::Row);

impl Cells for Passing<'_> {
    fn int(&self, column: usize) -> Option<i64> {
        self.0.try_get(column).ok()
    }

    fn uuid(&self, column: usize) -> Option<Uuid> {
        self.0.try_get(column).ok()
    }
}

fn bound<'a>(
    tenant: Option<&'a Param<'a>>,
    params: &'a [Param<'a>],
) -> Vec<&'a (dyn ToSql + Sync)> {
    tenant
        .into_iter()
        .chain(params)
        .map(|param| param as &(dyn ToSql + Sync))
        .collect()
}

fn read(
    statement: &'static Statement,
    row: &tokio_postgres::Row,
) -> Result<Row, tokio_postgres::Error> {
    let mut values = Vec::with_capacity(row.len());
    for (column, described) in row.columns().iter().enumerate() {
        let value = match *described.type_() {
            Type::BOOL => row.try_get::<_, Option<_>>(column)?.map(Value::Bool),
            Type::INT8 => row.try_get::<_, Option<_>>(column)?.map(Value::Int),
            Type::INT4 => row
                .try_get::<_, Option<i32>>(column)?
                .map(|number| Value::Int(number.into())),
            Type::FLOAT8 => row.try_get::<_, Option<_>>(column)?.map(Value::Real),
            Type::BYTEA => row.try_get::<_, Option<_>>(column)?.map(Value::Bytes),
            Type::UUID => row.try_get::<_, Option<_>>(column)?.map(Value::Uuid),
            // The driver refuses what is no text.
            _ => row.try_get::<_, Option<_>>(column)?.map(Value::Text),
        };
        values.push(value.unwrap_or(Value::Null));
    }
    Ok(Row::new(statement.name(), values))
}

impl ToSql for Param<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match (self, kind) {
            (Param::Null, _) => Ok(IsNull::Yes),
            (Param::Bool(truth), &Type::BOOL) => truth.to_sql(kind, out),
            (Param::Int(number), &Type::INT8) => number.to_sql(kind, out),
            (Param::Int(number), &Type::INT4) => i32::try_from(*number)?.to_sql(kind, out),
            (Param::Real(number), &Type::FLOAT8) => number.to_sql(kind, out),
            (Param::Text(text), &Type::TEXT | &Type::VARCHAR) => text.to_sql(kind, out),
            (Param::Bytes(bytes), &Type::BYTEA) => bytes.to_sql(kind, out),
            (Param::Uuid(id), &Type::UUID) => id.to_sql(kind, out),
            (Param::Uuids(ids), &Type::UUID_ARRAY) => ids.to_sql(kind, out),
            (Param::Ints(numbers), &Type::INT8_ARRAY) => numbers.as_ref().to_sql(kind, out),
            (Param::Texts(texts), &Type::TEXT_ARRAY) => texts.to_sql(kind, out),
            _ => Err(format!("a parameter is bound where {kind} is expected").into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    tokio_postgres::types::to_sql_checked!();
}

fn failure(doing: impl FnOnce() -> String, error: tokio_postgres::Error) -> StoreError {
    if error.is_closed() {
        return StoreError::Busy("the connection was lost".to_owned());
    }
    let Some(known) = error.as_db_error() else {
        return StoreError::failed(doing(), error);
    };
    let code = known.code();
    if *code == SqlState::UNIQUE_VIOLATION {
        return StoreError::Unique(known.table().unwrap_or("a table").to_owned());
    }
    let full = [
        SqlState::DISK_FULL,
        SqlState::READ_ONLY_SQL_TRANSACTION,
        SqlState::CONFIGURATION_LIMIT_EXCEEDED,
    ];
    if full.contains(code) {
        return StoreError::Full(known.message().to_owned());
    }
    let busy = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::ADMIN_SHUTDOWN,
    ];
    if busy.contains(code) {
        return StoreError::Busy(known.message().to_owned());
    }
    StoreError::failed(doing(), error)
}

/// An error and what caused it, on one line.
fn chain(error: &dyn StdError) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line = format!("{line}: {error}");
        cause = error.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_url_is_named_by_its_mistake_and_without_its_password() {
        for (url, mistake) in [
            ("postgres://me:hu@nter2@db/quipu", "written as `%40`"),
            ("postgres://me:hunter2@db:54x2/quipu", "the port in its URL"),
            (
                "postgres://me:hunter2@db/quipu?tls=hunter2",
                "behind the `?`",
            ),
            ("postgres:///quipu", "names no host"),
        ] {
            let told = read_url(url).err().map(|error| error.to_string());
            let told = told.unwrap_or_else(|| panic!("`{url}` was read"));
            assert!(told.contains(mistake), "{url}: {told}");
            assert!(
                !told.contains("hunter2") && !told.contains("nter"),
                "{told}"
            );
        }
        for url in [
            "postgres://me:hunter2@db/quipu",
            "postgres://me:h%40n#te/r2@db/quipu?application_name=me@home",
        ] {
            assert!(read_url(url).is_ok(), "{url}");
        }
    }
}
