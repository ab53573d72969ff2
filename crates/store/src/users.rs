//! People with an account, and the links that let them set a password.

use model::{RecordTime, TenantId, UserId};

use crate::statement::statements;
use crate::value::{Row, params};
use crate::{StoreError, Tx};

/// A person with an account, of one tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub id: UserId,
    pub tenant: TenantId,
    /// One of a kind in the deployment, in the form the caller compares it in.
    pub email: String,
    pub name: String,
    /// Counts as owner of every base of the tenant.
    pub system_admin: bool,
    pub disabled_at: Option<RecordTime>,
    pub created_at: RecordTime,
}

statements! {
    tenant {
        INSERT: "INSERT INTO user_account (tenant_id, id, email, name, password_hash, system_admin, disabled_at, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        FIND: "SELECT id, tenant_id, email, name, system_admin, disabled_at, created_at FROM user_account WHERE tenant_id = $1 AND id = $2",
        LIST: "SELECT id, tenant_id, email, name, system_admin, disabled_at, created_at FROM user_account WHERE tenant_id = $1 ORDER BY created_at, id",
        SET_PASSWORD: "UPDATE user_account SET password_hash = $3 WHERE tenant_id = $1 AND id = $2",
        SET_EMAIL: "UPDATE user_account SET email = $3 WHERE tenant_id = $1 AND id = $2",
        SET_DISABLED: "UPDATE user_account SET disabled_at = $3 WHERE tenant_id = $1 AND id = $2",
        INSERT_LINK: "INSERT INTO setup_link (tenant_id, secret_hash, user_id, expires_at) VALUES ($1, $2, $3, $4)",
    }
    directory {
        BY_EMAIL: "SELECT id, tenant_id, email, name, system_admin, disabled_at, created_at, password_hash FROM user_account WHERE email = $1"
            because "who signs in names no tenant",
        FIRST_ADMIN: "SELECT id, tenant_id, email, name, system_admin, disabled_at, created_at, password_hash FROM user_account WHERE system_admin = TRUE AND disabled_at IS NULL ORDER BY created_at, id LIMIT 1"
            because "whoever owns the data folder names no tenant",
        LINK: "SELECT tenant_id, user_id FROM setup_link WHERE secret_hash = $1 AND used_at IS NULL AND expires_at > $2"
            because "who follows a link names no tenant",
        USE_LINK: "UPDATE setup_link SET used_at = $2 WHERE secret_hash = $1 AND used_at IS NULL AND expires_at > $2 RETURNING tenant_id, user_id"
            because "who follows a link names no tenant",
        PRUNE_LINKS: "DELETE FROM setup_link WHERE expires_at <= $1"
            because "housekeeping over all tenants",
    }
}

fn read(row: &mut Row) -> Result<User, StoreError> {
    Ok(User {
        id: row.take()?,
        tenant: row.take()?,
        email: row.take()?,
        name: row.take()?,
        system_admin: row.take()?,
        disabled_at: row.take()?,
        created_at: row.take()?,
    })
}

/// Adds a user to the transaction's tenant; without a password until one is set.
///
/// # Errors
/// `Unique` if the email is taken in the deployment.
pub async fn insert(
    tx: &mut Tx,
    user: &User,
    password_hash: Option<&str>,
) -> Result<(), StoreError> {
    let row = params![
        user.id,
        &user.email,
        &user.name,
        password_hash,
        user.system_admin,
        user.disabled_at,
        user.created_at,
    ];
    tx.execute(&INSERT, row).await.map(drop)
}

/// The user with this id.
pub async fn find(tx: &mut Tx, id: UserId) -> Result<Option<User>, StoreError> {
    tx.row(&FIND, params![id])
        .await?
        .as_mut()
        .map(read)
        .transpose()
}

/// The user with this email and the hash of the password, if one is set. In the directory.
pub async fn find_by_email(
    tx: &mut Tx,
    email: &str,
) -> Result<Option<(User, Option<String>)>, StoreError> {
    let Some(mut row) = tx.row(&BY_EMAIL, params![email]).await? else {
        return Ok(None);
    };
    Ok(Some((read(&mut row)?, row.take()?)))
}

/// The deployment's oldest system admin that is not disabled, and the hash of their password, if
/// one is set. In the directory.
pub async fn first_system_admin(tx: &mut Tx) -> Result<Option<(User, Option<String>)>, StoreError> {
    let Some(mut row) = tx.row(&FIRST_ADMIN, &[]).await? else {
        return Ok(None);
    };
    Ok(Some((read(&mut row)?, row.take()?)))
}

/// Sets the email; whether there is such a user.
///
/// # Errors
/// `Unique` if the email is taken in the deployment.
pub async fn set_email(tx: &mut Tx, id: UserId, email: &str) -> Result<bool, StoreError> {
    Ok(tx.execute(&SET_EMAIL, params![id, email]).await? == 1)
}

/// Every user of the tenant, oldest first.
pub async fn list(tx: &mut Tx) -> Result<Vec<User>, StoreError> {
    tx.rows(&LIST, &[]).await?.iter_mut().map(read).collect()
}

/// Sets the password's hash; whether there is such a user.
pub async fn set_password(
    tx: &mut Tx,
    id: UserId,
    password_hash: &str,
) -> Result<bool, StoreError> {
    Ok(tx
        .execute(&SET_PASSWORD, params![id, password_hash])
        .await?
        == 1)
}

/// Disables from a moment on, or enables with none; whether there is such a user.
pub async fn set_disabled(
    tx: &mut Tx,
    id: UserId,
    disabled_at: Option<RecordTime>,
) -> Result<bool, StoreError> {
    Ok(tx.execute(&SET_DISABLED, params![id, disabled_at]).await? == 1)
}

/// Remembers a link by the hash of its secret.
pub async fn insert_setup_link(
    tx: &mut Tx,
    secret_hash: &[u8; 32],
    user: UserId,
    expires_at: RecordTime,
) -> Result<(), StoreError> {
    tx.execute(&INSERT_LINK, params![secret_hash, user, expires_at])
        .await
        .map(drop)
}

/// Whose link it is, if it can still be used. In the directory.
pub async fn find_setup_link(
    tx: &mut Tx,
    secret_hash: &[u8; 32],
    now: RecordTime,
) -> Result<Option<(TenantId, UserId)>, StoreError> {
    let Some(mut row) = tx.row(&LINK, params![secret_hash, now]).await? else {
        return Ok(None);
    };
    Ok(Some((row.take()?, row.take()?)))
}

/// Uses a link up; whose it was, or none if it is unknown, used or expired. In the directory.
pub async fn use_setup_link(
    tx: &mut Tx,
    secret_hash: &[u8; 32],
    now: RecordTime,
) -> Result<Option<(TenantId, UserId)>, StoreError> {
    let Some(mut row) = tx.row(&USE_LINK, params![secret_hash, now]).await? else {
        return Ok(None);
    };
    Ok(Some((row.take()?, row.take()?)))
}

/// Forgets links that expired before `now`; how many. In the directory.
pub async fn prune_setup_links(tx: &mut Tx, now: RecordTime) -> Result<u64, StoreError> {
    tx.execute(&PRUNE_LINKS, params![now]).await
}
