//! Who did what, by which door, and a chain of hashes that shows whether it was changed since.
//!
//! Rows are written unsealed, in the transaction of what they tell of. One sealer per tenant then
//! links them: each seal's hash covers the hash before it and every column of its row.

use model::{AuditId, CredentialId, KbId, RecordTime, RequestId, UserId};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::statement::statements;
use crate::value::{Param, Row, params};
use crate::{StoreError, Tx};

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub id: AuditId,
    pub at: RecordTime,
    pub base: Option<KbId>,
    pub user: Option<UserId>,
    /// What the person was called then, or `local` for the owner of the data folder.
    pub user_label: String,
    pub credential: Option<CredentialId>,
    pub credential_name: Option<String>,
    /// The program that called.
    pub client: Option<String>,
    /// The end user that an agent acted for.
    pub actor: Option<String>,
    pub door: String,
    pub operation: String,
    /// What it was about: kind and id.
    pub target: Option<(String, String)>,
    /// `ok`, or the code of the refusal.
    pub verdict: String,
    pub request: RequestId,
    /// More, as JSON; never a secret or stored text.
    pub detail: Option<String>,
}

/// What checking the chain came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chain {
    /// Seals that hold.
    pub sealed: u64,
    /// Rows that no seal covers yet.
    pub unsealed: u64,
    /// Number of the first seal that does not hold, and why.
    pub broken: Option<(i64, String)>,
}

statements! {
    tenant {
        INSERT: "INSERT INTO audit (tenant_id, id, at, base_id, user_id, user_label, credential_id, credential_name, client, actor, door, operation, target_kind, target_id, verdict, request_id, detail, sealed) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, FALSE)",
        PAGE: "SELECT id, at, base_id, user_id, user_label, credential_id, credential_name, client, actor, door, operation, target_kind, target_id, verdict, request_id, detail \
            FROM audit WHERE tenant_id = $1 AND base_id = $2 AND (at, id) < ($3, $4) ORDER BY at DESC, id DESC LIMIT $5",
        PAGE_OF_TENANT: "SELECT id, at, base_id, user_id, user_label, credential_id, credential_name, client, actor, door, operation, target_kind, target_id, verdict, request_id, detail \
            FROM audit WHERE tenant_id = $1 AND (at, id) < ($2, $3) ORDER BY at DESC, id DESC LIMIT $4",
        UNSEALED: "SELECT id, at, base_id, user_id, user_label, credential_id, credential_name, client, actor, door, operation, target_kind, target_id, verdict, request_id, detail \
            FROM audit WHERE tenant_id = $1 AND sealed = FALSE ORDER BY at, id LIMIT $2",
        COUNT_UNSEALED: "SELECT COUNT(*) FROM audit WHERE tenant_id = $1 AND sealed = FALSE",
        LAST_SEAL: "SELECT n, hash FROM audit_seal WHERE tenant_id = $1 ORDER BY n DESC LIMIT 1",
        INSERT_SEAL: "INSERT INTO audit_seal (tenant_id, n, audit_id, prev_hash, hash) VALUES ($1, $2, $3, $4, $5)",
        MARK_SEALED: "UPDATE audit SET sealed = TRUE WHERE tenant_id = $1 AND id = ANY($2)",
        CHAIN: "SELECT audit_seal.n, audit_seal.audit_id, audit_seal.prev_hash, audit_seal.hash, \
            audit.id, audit.at, audit.base_id, audit.user_id, audit.user_label, audit.credential_id, audit.credential_name, audit.client, audit.actor, audit.door, audit.operation, \
            audit.target_kind, audit.target_id, audit.verdict, audit.request_id, audit.detail \
            FROM audit_seal LEFT JOIN audit ON audit.tenant_id = audit_seal.tenant_id AND audit.id = audit_seal.audit_id \
            WHERE audit_seal.tenant_id = $1 AND audit_seal.n > $2 ORDER BY audit_seal.n LIMIT $3",
        UNCOVERED: "SELECT COUNT(*) FROM audit WHERE tenant_id = $1 AND sealed = TRUE \
            AND NOT EXISTS (SELECT 1 FROM audit_seal WHERE audit_seal.tenant_id = audit.tenant_id AND audit_seal.audit_id = audit.id)",
    }
}

/// Seals read at once while the chain is checked.
const WALK: u32 = 1000;

fn values(entry: &Entry) -> Vec<Param<'_>> {
    let (kind, target) = match &entry.target {
        Some((kind, target)) => (Some(kind.as_str()), Some(target.as_str())),
        None => (None, None),
    };
    params![
        entry.id,
        entry.at,
        entry.base,
        entry.user,
        &entry.user_label,
        entry.credential,
        entry.credential_name.as_deref(),
        entry.client.as_deref(),
        entry.actor.as_deref(),
        &entry.door,
        &entry.operation,
        kind,
        target,
        &entry.verdict,
        entry.request,
        entry.detail.as_deref(),
    ]
    .to_vec()
}

fn read(row: &mut Row) -> Result<Entry, StoreError> {
    let id = row.take()?;
    read_rest(row, id)
}

fn read_rest(row: &mut Row, id: AuditId) -> Result<Entry, StoreError> {
    Ok(Entry {
        id,
        at: row.take()?,
        base: row.take()?,
        user: row.take()?,
        user_label: row.take()?,
        credential: row.take()?,
        credential_name: row.take()?,
        client: row.take()?,
        actor: row.take()?,
        door: row.take()?,
        operation: row.take()?,
        target: {
            let (kind, target): (Option<String>, Option<String>) = (row.take()?, row.take()?);
            kind.zip(target)
        },
        verdict: row.take()?,
        request: row.take()?,
        detail: row.take()?,
    })
}

/// Writes a line, unsealed.
pub async fn insert(tx: &mut Tx, entry: &Entry) -> Result<(), StoreError> {
    tx.execute(&INSERT, &values(entry)).await.map(drop)
}

/// Writes many lines, unsealed.
pub async fn insert_many(tx: &mut Tx, entries: &[Entry]) -> Result<(), StoreError> {
    let rows: Vec<_> = entries.iter().map(values).collect();
    tx.bulk(&INSERT, &rows).await.map(drop)
}

/// Lines newest first, those before the cursor; of one base, or of the whole tenant with none.
pub async fn page(
    tx: &mut Tx,
    base: Option<KbId>,
    before: Option<(RecordTime, AuditId)>,
    limit: u32,
) -> Result<Vec<Entry>, StoreError> {
    let (at, id) = before.unwrap_or((RecordTime::from_micros(i64::MAX), AuditId::new(Uuid::max())));
    let mut rows = match base {
        Some(kb) => tx.rows(&PAGE, params![kb, at, id, limit]).await?,
        None => tx.rows(&PAGE_OF_TENANT, params![at, id, limit]).await?,
    };
    rows.iter_mut().map(read).collect()
}

/// Links unsealed lines in the order of their times, at most `limit`; how many.
///
/// One sealer per tenant at a time.
///
/// # Errors
/// `Unique` if another sealer was at work.
pub async fn seal(tx: &mut Tx, limit: u32) -> Result<u64, StoreError> {
    let (mut n, mut previous) = match tx.row(&LAST_SEAL, &[]).await? {
        Some(mut row) => (row.take::<i64>()?, row.take::<[u8; 32]>()?),
        None => (0, [0; 32]),
    };
    let mut entries = tx.rows(&UNSEALED, params![limit]).await?;
    let mut seals = Vec::with_capacity(entries.len());
    let mut ids = Vec::with_capacity(entries.len());
    for row in &mut entries {
        let entry = read(row)?;
        let hash = link(&previous, &entry);
        n += 1;
        let mut seal = params![n, entry.id].to_vec();
        seal.extend([Param::from(previous.to_vec()), Param::from(hash.to_vec())]);
        seals.push(seal);
        ids.push(entry.id);
        previous = hash;
    }
    if ids.is_empty() {
        return Ok(0);
    }
    tx.bulk(&INSERT_SEAL, &seals).await?;
    tx.execute(&MARK_SEALED, params![ids.as_slice()]).await
}

/// Walks the tenant's chain from its first seal.
pub async fn verify(tx: &mut Tx) -> Result<Chain, StoreError> {
    let mut chain = Chain::default();
    let (mut n, mut previous) = (0, [0; 32]);
    loop {
        let rows = tx.rows(&CHAIN, params![n, WALK]).await?;
        let last = rows.len() < WALK as usize;
        for mut row in rows {
            let number: i64 = row.take()?;
            let _audit: AuditId = row.take()?;
            let (prev_hash, hash): ([u8; 32], [u8; 32]) = (row.take()?, row.take()?);
            let why = match row.take::<Option<AuditId>>()? {
                _ if number != n + 1 => Some("a seal before it is gone"),
                _ if prev_hash != previous => Some("it does not follow the seal before it"),
                None => Some("its line is gone"),
                Some(id) if link(&previous, &read_rest(&mut row, id)?) != hash => {
                    Some("its line was changed")
                }
                Some(_) => None,
            };
            if let Some(why) = why {
                chain.broken = Some((number, why.to_owned()));
                return Ok(chain);
            }
            chain.sealed += 1;
            (n, previous) = (number, hash);
        }
        if last {
            break;
        }
    }
    let mut uncovered = 0_u64;
    if let Some(mut row) = tx.row(&UNCOVERED, &[]).await? {
        uncovered = row.take()?;
    }
    if uncovered > 0 {
        chain.broken = Some((n + 1, format!("seals after it are gone: {uncovered}")));
    }
    if let Some(mut row) = tx.row(&COUNT_UNSEALED, &[]).await? {
        chain.unsealed = row.take()?;
    }
    Ok(chain)
}

/// SHA-256 over the hash before it and the line's columns, each with its length before it (and a
/// byte that tells nothing from empty).
fn link(previous: &[u8; 32], entry: &Entry) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(previous);
    for value in values(entry) {
        let bytes: Vec<u8> = match value {
            Param::Uuid(id) => id.as_bytes().to_vec(),
            Param::Int(number) => number.to_be_bytes().to_vec(),
            Param::Text(text) => text.as_bytes().to_vec(),
            _ => {
                hash.update([0]);
                continue;
            }
        };
        hash.update([1]);
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    }
    hash.finalize().into()
}
