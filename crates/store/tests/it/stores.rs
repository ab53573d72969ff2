//! Stores to test with: SQLite always, PostgreSQL when `QUIPU_TEST_POSTGRES` names a server.

use std::sync::atomic::{AtomicU32, Ordering};

use model::{KbId, RecordTime, Role, TenantId, UserId, Visibility};
use store::bases::{self, Base};
use store::tenants::{self, Tenant};
use store::users::{self, User};
use store::{Db, Options};
use tokio_postgres::NoTls;
use uuid::Uuid;

/// Runs a story on each engine.
macro_rules! on_both_engines {
    ($($(#[$doc:meta])* async fn $name:ident($world:ident: &World) $body:block)*) => {$(
        mod $name {
            use super::*;

            async fn story($world: &World) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn sqlite() {
                story(&World::sqlite().await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn postgres() {
                if let Some(world) = World::postgres().await {
                    story(&world).await;
                }
            }
        }
    )*};
}
pub(crate) use on_both_engines;

/// A store with a tenant, a user and a base.
pub struct World {
    pub db: Db,
    pub tenant: TenantId,
    pub user: UserId,
    pub kb: KbId,
}

pub fn at(micros: i64) -> RecordTime {
    RecordTime::from_micros(micros)
}

pub fn uuid(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

impl World {
    pub async fn sqlite() -> World {
        World::on(
            Db::open("sqlite::memory:", Options::default())
                .await
                .unwrap(),
        )
        .await
    }

    pub async fn postgres() -> Option<World> {
        let url = postgres_database().await?;
        Some(World::on(Db::open(&url, Options::default()).await.unwrap()).await)
    }

    /// Lays the tenant, the user and the base.
    pub async fn on(db: Db) -> World {
        World::numbered(db, 0).await
    }

    /// One of several worlds in a store.
    pub async fn numbered(db: Db, number: u128) -> World {
        let id = |n: u128| uuid(number * 1_000_000 + n);
        let (tenant, user, kb) = (TenantId::new(id(1)), UserId::new(id(2)), KbId::new(id(3)));
        let mut tx = db.write(tenant).await.unwrap();
        let row = Tenant {
            id: tenant,
            name: "Acme".into(),
            slug: numbered("acme", number),
            created_at: at(1),
        };
        tenants::insert(&mut tx, &row).await.unwrap();
        let row = User {
            id: user,
            tenant,
            email: numbered("ann@acme.test", number),
            name: "Ann".into(),
            system_admin: false,
            disabled_at: None,
            created_at: at(2),
        };
        users::insert(&mut tx, &row, None).await.unwrap();
        bases::insert(&mut tx, &base(kb, "papers")).await.unwrap();
        bases::set_member(&mut tx, kb, user, Role::Editor, at(4))
            .await
            .unwrap();
        tx.commit().await.unwrap();
        World {
            db,
            tenant,
            user,
            kb,
        }
    }
}

fn numbered(name: &str, number: u128) -> String {
    if number == 0 {
        name.to_owned()
    } else {
        format!("{name}{number}")
    }
}

pub fn base(kb: KbId, slug: &str) -> Base {
    Base {
        id: kb,
        name: slug.to_owned(),
        slug: slug.to_owned(),
        visibility: Visibility::Restricted,
        created_at: at(3),
        clock: at(3),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "tests are told by the environment where things are"
)]
pub fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

pub fn cases() -> u32 {
    setting("QUIPU_TEST_CASES")
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(64)
}

/// The URL of a fresh database, a copy of a template with the schema in it.
pub async fn postgres_database() -> Option<String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let Some(admin) = setting("QUIPU_TEST_POSTGRES") else {
        println!("skipped: QUIPU_TEST_POSTGRES names no server");
        return None;
    };
    let (client, connection) = tokio_postgres::connect(&admin, NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    let template = format!("quipu_template_{}", schema_mark());
    // One test process at a time makes the template; the others wait and find it.
    client
        .batch_execute("SELECT pg_advisory_lock(7341)")
        .await
        .unwrap();
    let known = "SELECT 1 FROM pg_database WHERE datname = $1 AND datistemplate";
    if client.query(known, &[&template]).await.unwrap().is_empty() {
        client
            .batch_execute(&format!("DROP DATABASE IF EXISTS {template}"))
            .await
            .unwrap();
        client
            .batch_execute(&format!("CREATE DATABASE {template}"))
            .await
            .unwrap();
        let db = Db::open(&database_url(&admin, &template), Options::default())
            .await
            .unwrap();
        db.close().await;
        // Its connections go a moment later than `close`; what is asked next ends the rest.
        let end = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{template}'"
        );
        client.batch_execute(&end).await.unwrap();
        let mark = format!("ALTER DATABASE {template} IS_TEMPLATE true");
        client.batch_execute(&mark).await.unwrap();
    }
    forget_databases_of_ended_tests(&client).await;
    let name = format!(
        "quipu_test_{}_{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    );
    client
        .batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        .await
        .unwrap();
    let copy = format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY");
    let mut copied = client.batch_execute(&copy).await;
    while copied
        .as_ref()
        .is_err_and(|error| format!("{error:?}").contains("being accessed"))
    {
        copied = client.batch_execute(&copy).await;
    }
    copied.unwrap();
    client
        .batch_execute("SELECT pg_advisory_unlock(7341)")
        .await
        .unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
    Some(database_url(&admin, &name))
}

async fn forget_databases_of_ended_tests(client: &tokio_postgres::Client) {
    let named = "SELECT datname FROM pg_database WHERE starts_with(datname, 'quipu_test_')";
    for row in client.query(named, &[]).await.unwrap() {
        let name: String = row.get(0);
        let process = name.split('_').nth(2).unwrap_or_default();
        if !std::path::Path::new("/proc").join(process).exists() {
            client
                .batch_execute(&format!("DROP DATABASE IF EXISTS {name}"))
                .await
                .unwrap();
        }
    }
}

/// The URL with another database in it.
fn database_url(admin: &str, name: &str) -> String {
    let (server, _) = admin.rsplit_once('/').unwrap();
    format!("{server}/{name}")
}

/// Another number for another schema.
fn schema_mark() -> u64 {
    let checksums = store::known_schema();
    checksums
        .iter()
        .flat_map(|step| step.checksum.bytes())
        .fold(0xcbf2_9ce4_8422_2325, |mark, byte| {
            (mark ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}
