//! Secrets that stand for a person or a tenant, known by their hash only.

use std::str::FromStr;

use model::{CredentialId, KbId, RecordTime, Scopes, TenantId, UserId};

use crate::statement::statements;
use crate::value::{Param, Row, params};
use crate::{StoreError, Tx};

/// A token or key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    pub id: CredentialId,
    pub tenant: TenantId,
    /// Whose it is; none for one that stands for no person.
    pub user: Option<UserId>,
    pub kind: CredentialKind,
    pub name: String,
    /// The end of the secret, by which its owner knows it again.
    pub hint: String,
    pub scopes: Scopes,
    pub bases: Reach,
    pub created_at: RecordTime,
    /// From then on it is refused; none: never.
    pub expires_at: Option<RecordTime>,
    pub last_used_at: Option<RecordTime>,
    pub revoked_at: Option<RecordTime>,
    /// The program that last introduced itself with it, and when.
    pub client: Option<(String, RecordTime)>,
}

/// Which bases a credential may be used for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// All that its owner may reach.
    All,
    /// These at most, in the order of their ids.
    Only(Vec<KbId>),
}

impl Reach {
    /// The bases, if not all.
    pub fn listed(&self) -> Option<&[KbId]> {
        match self {
            Reach::All => None,
            Reach::Only(bases) => Some(bases),
        }
    }
}

/// What a credential is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialKind {
    /// A personal access token.
    Personal,
    /// A token that a password bought, for some hours.
    SignedIn,
}

impl CredentialKind {
    /// Its name in the store.
    pub const fn name(self) -> &'static str {
        match self {
            CredentialKind::Personal => "personal",
            CredentialKind::SignedIn => "signed_in",
        }
    }
}

/// The text names no kind of credential.
#[derive(Debug, thiserror::Error)]
#[error("a credential is `personal` or `signed_in`, not `{0}`")]
pub struct NotACredentialKind(String);

impl FromStr for CredentialKind {
    type Err = NotACredentialKind;

    fn from_str(text: &str) -> Result<Self, NotACredentialKind> {
        match text {
            "personal" => Ok(CredentialKind::Personal),
            "signed_in" => Ok(CredentialKind::SignedIn),
            other => Err(NotACredentialKind(other.to_owned())),
        }
    }
}

/// Whose a credential is, as they stand now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub id: UserId,
    pub email: String,
    pub name: String,
    pub system_admin: bool,
    pub disabled_at: Option<RecordTime>,
}

/// A credential as it is found by its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub credential: Credential,
    /// None for a credential that stands for no person, or whose person is gone.
    pub owner: Option<Owner>,
}

statements! {
    tenant {
        INSERT: "INSERT INTO credential (tenant_id, id, user_id, kind, name, secret_hash, hint, scopes, all_bases, created_at, expires_at) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        INSERT_BASE: "INSERT INTO credential_base (tenant_id, credential_id, base_id) VALUES ($1, $2, $3)",
        FIND: "SELECT id, tenant_id, user_id, kind, name, hint, scopes, all_bases, created_at, expires_at, last_used_at, revoked_at, client_name, client_seen_at \
            FROM credential WHERE tenant_id = $1 AND id = $2",
        LIST: "SELECT id, tenant_id, user_id, kind, name, hint, scopes, all_bases, created_at, expires_at, last_used_at, revoked_at, client_name, client_seen_at \
            FROM credential WHERE tenant_id = $1 AND user_id = $2 ORDER BY created_at, id",
        BASES: "SELECT credential_id, base_id FROM credential_base WHERE tenant_id = $1 AND credential_id = ANY($2) ORDER BY credential_id, base_id",
        REVOKE: "UPDATE credential SET revoked_at = $3 WHERE tenant_id = $1 AND id = $2 AND revoked_at IS NULL",
        NOTE_CLIENT: "UPDATE credential SET client_name = $3, client_seen_at = $4 WHERE tenant_id = $1 AND id = $2",
    }
    directory {
        BY_SECRET: "SELECT credential.id, credential.tenant_id, credential.user_id, credential.kind, credential.name, credential.hint, credential.scopes, \
            credential.all_bases, credential.created_at, credential.expires_at, credential.last_used_at, credential.revoked_at, credential.client_name, \
            credential.client_seen_at, owner.id, owner.email, owner.name, owner.system_admin, owner.disabled_at \
            FROM credential LEFT JOIN user_account owner ON owner.id = credential.user_id AND owner.tenant_id = credential.tenant_id \
            WHERE credential.secret_hash = $1"
            because "who calls names no tenant; the secret finds it",
        BASES_OF: "SELECT base_id FROM credential_base WHERE tenant_id = $1 AND credential_id = $2 ORDER BY base_id"
            because "belongs to the look-up by secret, which has just learned the tenant",
        TOUCH: "UPDATE credential SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)"
            because "uses are noted in batches over all tenants",
    }
}

/// A credential without its bases, and whether it reaches all.
fn read(row: &mut Row) -> Result<(Credential, bool), StoreError> {
    let mut credential = Credential {
        id: row.take()?,
        tenant: row.take()?,
        user: row.take()?,
        kind: row.named()?,
        name: row.take()?,
        hint: row.take()?,
        scopes: row.named()?,
        bases: Reach::Only(Vec::new()),
        created_at: RecordTime::from_micros(0),
        expires_at: None,
        last_used_at: None,
        revoked_at: None,
        client: None,
    };
    let all: bool = row.take()?;
    if all {
        credential.bases = Reach::All;
    }
    credential.created_at = row.take()?;
    credential.expires_at = row.take()?;
    credential.last_used_at = row.take()?;
    credential.revoked_at = row.take()?;
    let (name, seen): (Option<String>, Option<RecordTime>) = (row.take()?, row.take()?);
    credential.client = name.zip(seen);
    Ok((credential, all))
}

/// The credential with this secret, with its owner as they stand now: revoked, expired and
/// disabled ones too, for the caller to judge. In the directory; at most two statements.
pub async fn find_by_secret_hash(
    tx: &mut Tx,
    secret_hash: &[u8; 32],
) -> Result<Option<Found>, StoreError> {
    let Some(mut row) = tx.row(&BY_SECRET, params![secret_hash]).await? else {
        return Ok(None);
    };
    let (mut credential, all) = read(&mut row)?;
    let owner: Option<UserId> = row.take()?;
    let owner = match owner {
        None => None,
        Some(id) => Some(Owner {
            id,
            email: row.take()?,
            name: row.take()?,
            system_admin: row.take()?,
            disabled_at: row.take()?,
        }),
    };
    if !all {
        let rows = tx
            .rows(&BASES_OF, params![credential.tenant, credential.id])
            .await?;
        let bases = rows
            .into_iter()
            .map(|mut row| row.take())
            .collect::<Result<_, _>>()?;
        credential.bases = Reach::Only(bases);
    }
    Ok(Some(Found { credential, owner }))
}

/// Adds a credential, unused.
///
/// # Errors
/// `Unique` if the secret or the id is known already.
pub async fn insert(
    tx: &mut Tx,
    credential: &Credential,
    secret_hash: &[u8; 32],
) -> Result<(), StoreError> {
    let row = params![
        credential.id,
        credential.user,
        credential.kind.name(),
        &credential.name,
        secret_hash,
        &credential.hint,
        credential.scopes.to_string(),
        credential.bases == Reach::All,
        credential.created_at,
        credential.expires_at,
    ];
    tx.execute(&INSERT, row).await?;
    if let Reach::Only(bases) = &credential.bases {
        let rows: Vec<_> = bases
            .iter()
            .map(|kb| params![credential.id, *kb].to_vec())
            .collect();
        tx.bulk(&INSERT_BASE, &rows).await?;
    }
    Ok(())
}

/// The credential with this id.
pub async fn find(tx: &mut Tx, id: CredentialId) -> Result<Option<Credential>, StoreError> {
    let row = tx.row(&FIND, params![id]).await?;
    Ok(with_bases(tx, row.into_iter().collect()).await?.pop())
}

/// The user's credentials, oldest first, revoked ones too.
pub async fn list(tx: &mut Tx, user: UserId) -> Result<Vec<Credential>, StoreError> {
    let rows = tx.rows(&LIST, params![user]).await?;
    with_bases(tx, rows).await
}

async fn with_bases(tx: &mut Tx, rows: Vec<Row>) -> Result<Vec<Credential>, StoreError> {
    let mut credentials = Vec::with_capacity(rows.len());
    let mut limited = Vec::new();
    for mut row in rows {
        let (credential, all) = read(&mut row)?;
        if !all {
            limited.push(credential.id);
        }
        credentials.push(credential);
    }
    if limited.is_empty() {
        return Ok(credentials);
    }
    for mut row in tx.rows(&BASES, params![limited.as_slice()]).await? {
        let (id, kb): (CredentialId, KbId) = (row.take()?, row.take()?);
        for credential in &mut credentials {
            if let Reach::Only(bases) = &mut credential.bases
                && credential.id == id
            {
                bases.push(kb);
            }
        }
    }
    Ok(credentials)
}

/// Revokes for good; whether it was there and not revoked.
pub async fn revoke(tx: &mut Tx, id: CredentialId, at: RecordTime) -> Result<bool, StoreError> {
    Ok(tx.execute(&REVOKE, params![id, at]).await? == 1)
}

/// Notes when credentials were last used. In the directory.
pub async fn touch(tx: &mut Tx, uses: &[(CredentialId, RecordTime)]) -> Result<(), StoreError> {
    // In one order in every transaction, so that two batches cannot wait for each other.
    let mut uses = uses.to_vec();
    uses.sort_unstable();
    let rows: Vec<_> = uses
        .iter()
        .map(|(id, at)| vec![Param::from(*id), Param::from(*at)])
        .collect();
    tx.bulk(&TOUCH, &rows).await.map(drop)
}

/// Notes the program that introduced itself with the credential.
pub async fn note_client(
    tx: &mut Tx,
    id: CredentialId,
    client: &str,
    at: RecordTime,
) -> Result<(), StoreError> {
    tx.execute(&NOTE_CLIENT, params![id, client, at])
        .await
        .map(drop)
}
