//! PostgreSQL: a pool of connections, plain version 15 and nothing added.
//!
//! Connections are not encrypted: the database is expected on the same machine or on a network
//! of its own. A reader sees one snapshot (`REPEATABLE READ`); a writer takes the row lock of its
//! base when it advances the base's clock.

use std::error::Error as StdError;
use std::time::Duration;

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime,
};
use futures::future::try_join_all;
use model::TenantId;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type};
use tokio_postgres::{Config, NoTls};

use crate::StoreError;
use crate::migrations;
use crate::sql::Options;
use crate::statement::Statement;
use crate::value::{Param, Row, Value};

/// How long a call waits for a connection before it is told that the database is busy.
const WAIT: Duration = Duration::from_secs(10);
/// Rows of a bulk load under way at once.
const WINDOW: usize = 256;
/// Names the advisory lock under which one node at a time changes the schema ("quipu").
const SCHEMA_LOCK: i64 = 0x71_75_69_70_75;

#[derive(Clone)]
pub(crate) struct Postgres {
    pool: Pool,
}

impl Postgres {
    pub(crate) async fn open(url: &str, options: Options) -> Result<Self, StoreError> {
        let doing = || "open the store".to_owned();
        let mut config: Config = url.parse().map_err(|error| failure(doing, error))?;
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
        let postgres = Postgres { pool };
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
            let applied: Vec<_> = applied
                .iter()
                .map(|row| (row.get(0), row.get(1), row.get(2)))
                .collect();
            let pending = match migrations::pending(&applied) {
                Ok(pending) => pending,
                Err(refused) => return Ok(Err(refused)),
            };
            for migration in pending {
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
            PoolError::Backend(error) if error.as_db_error().is_none() => {
                StoreError::Busy(chain(&error))
            }
            PoolError::Backend(error) => failure(|| "connect to the database".to_owned(), error),
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

    pub(crate) fn close(self) {
        self.pool.close();
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
