//! Organisations, and the few facts about the store itself.

use model::{RecordTime, TenantId};

use crate::statement::statements;
use crate::value::{Row, params};
use crate::{StoreError, Tx};

/// An organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    pub id: TenantId,
    pub name: String,
    /// Its second, human name; one of a kind.
    pub slug: String,
    pub created_at: RecordTime,
}

statements! {
    directory {
        INSERT: "INSERT INTO tenant (id, name, slug, created_at) VALUES ($1, $2, $3, $4)"
            because "the tenant's own row",
        FIND: "SELECT id, name, slug, created_at FROM tenant WHERE id = $1"
            because "the tenant's own row",
        LIST: "SELECT id, name, slug, created_at FROM tenant ORDER BY created_at, id"
            because "the owner of the deployment lists tenants; sealing visits each",
        META: "SELECT value FROM meta WHERE key = $1"
            because "about the deployment, not a tenant",
        SET_META: "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
            because "about the deployment, not a tenant",
    }
}

fn read(mut row: Row) -> Result<Tenant, StoreError> {
    Ok(Tenant {
        id: row.take()?,
        name: row.take()?,
        slug: row.take()?,
        created_at: row.take()?,
    })
}

/// Adds a tenant.
///
/// # Errors
/// `Unique` if its slug is taken.
pub async fn insert(tx: &mut Tx, tenant: &Tenant) -> Result<(), StoreError> {
    let row = params![tenant.id, &tenant.name, &tenant.slug, tenant.created_at];
    tx.execute(&INSERT, row).await.map(drop)
}

/// The tenant with this id.
pub async fn find(tx: &mut Tx, id: TenantId) -> Result<Option<Tenant>, StoreError> {
    tx.row(&FIND, params![id]).await?.map(read).transpose()
}

/// Every tenant, oldest first.
pub async fn list(tx: &mut Tx) -> Result<Vec<Tenant>, StoreError> {
    tx.rows(&LIST, &[]).await?.into_iter().map(read).collect()
}

/// A fact about the deployment, such as its id.
pub async fn meta(tx: &mut Tx, key: &str) -> Result<Option<String>, StoreError> {
    tx.row(&META, params![key])
        .await?
        .map(|mut row| row.take())
        .transpose()
}

/// Sets a fact about the deployment.
pub async fn set_meta(tx: &mut Tx, key: &str, value: &str) -> Result<(), StoreError> {
    tx.execute(&SET_META, params![key, value]).await.map(drop)
}
