//! What a call with an idempotency key came to. The rule over it stands in the kernel.

use model::{KbId, RecordTime};
use uuid::Uuid;

use crate::statement::statements;
use crate::value::{Param, params};
use crate::{StoreError, Tx};

/// What an idempotency key is scoped to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key<'a> {
    /// Who pays and decides: a user, or a credential that stands for none.
    pub principal: Uuid,
    pub operation: &'a str,
    /// None for an operation about no base.
    pub base: Option<KbId>,
    pub key: &'a str,
}

/// A call that is running or done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub args_hash: Vec<u8>,
    /// What it came to; none while it runs.
    pub outcome: Option<String>,
    pub created_at: RecordTime,
    /// Until when it is held to be running.
    pub lease_until: RecordTime,
}

/// Who has a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// This call, from now on.
    Ours,
    /// An earlier one.
    Theirs(Record),
}

statements! {
    tenant {
        CLAIM: "INSERT INTO idempotency (tenant_id, principal_id, operation, base_id, key, args_hash, created_at, lease_until) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (tenant_id, principal_id, operation, base_id, key) DO NOTHING",
        FIND: "SELECT args_hash, outcome, created_at, lease_until FROM idempotency \
            WHERE tenant_id = $1 AND principal_id = $2 AND operation = $3 AND base_id = $4 AND key = $5",
        TAKE_OVER: "UPDATE idempotency SET args_hash = $6, created_at = $7, lease_until = $8 \
            WHERE tenant_id = $1 AND principal_id = $2 AND operation = $3 AND base_id = $4 AND key = $5 AND outcome IS NULL AND lease_until <= $7",
        FINISH: "UPDATE idempotency SET outcome = $6 \
            WHERE tenant_id = $1 AND principal_id = $2 AND operation = $3 AND base_id = $4 AND key = $5",
        RELEASE: "DELETE FROM idempotency \
            WHERE tenant_id = $1 AND principal_id = $2 AND operation = $3 AND base_id = $4 AND key = $5 AND outcome IS NULL",
        PRUNE: "DELETE FROM idempotency WHERE tenant_id = $1 AND created_at < $2",
    }
}

fn scope<'a>(key: &Key<'a>) -> Vec<Param<'a>> {
    let base = key.base.map_or(Uuid::nil(), KbId::uuid);
    params![key.principal, key.operation, base, key.key].to_vec()
}

/// Takes the key for a call that runs until `lease_until` at most, unless an earlier call has it.
///
/// Two calls at once are told apart on both engines: the second waits for the first's transaction.
pub async fn claim(
    tx: &mut Tx,
    key: &Key<'_>,
    args_hash: &[u8],
    now: RecordTime,
    lease_until: RecordTime,
) -> Result<Claim, StoreError> {
    let mut row = scope(key);
    row.extend_from_slice(params![args_hash, now, lease_until]);
    if tx.execute(&CLAIM, &row).await? == 1 {
        return Ok(Claim::Ours);
    }
    match find(tx, key).await? {
        Some(record) => Ok(Claim::Theirs(record)),
        // Released between the two statements.
        None => Err(StoreError::Busy(
            "the idempotency key is changing hands".to_owned(),
        )),
    }
}

/// The earlier call with this key.
pub async fn find(tx: &mut Tx, key: &Key<'_>) -> Result<Option<Record>, StoreError> {
    let Some(mut row) = tx.row(&FIND, &scope(key)).await? else {
        return Ok(None);
    };
    Ok(Some(Record {
        args_hash: row.take()?,
        outcome: row.take()?,
        created_at: row.take()?,
        lease_until: row.take()?,
    }))
}

/// Takes over from a call that did not finish within its lease; whether that was so.
pub async fn take_over(
    tx: &mut Tx,
    key: &Key<'_>,
    args_hash: &[u8],
    now: RecordTime,
    lease_until: RecordTime,
) -> Result<bool, StoreError> {
    let mut row = scope(key);
    row.extend_from_slice(params![args_hash, now, lease_until]);
    Ok(tx.execute(&TAKE_OVER, &row).await? == 1)
}

/// Stores what the call came to; whether its key is still there.
pub async fn finish(tx: &mut Tx, key: &Key<'_>, outcome: &str) -> Result<bool, StoreError> {
    let mut row = scope(key);
    row.push(outcome.into());
    Ok(tx.execute(&FINISH, &row).await? == 1)
}

/// Gives the key back after a call that came to nothing.
pub async fn release(tx: &mut Tx, key: &Key<'_>) -> Result<(), StoreError> {
    tx.execute(&RELEASE, &scope(key)).await.map(drop)
}

/// Forgets the tenant's calls from before a moment; how many.
pub async fn prune(tx: &mut Tx, before: RecordTime) -> Result<u64, StoreError> {
    tx.execute(&PRUNE, params![before]).await
}
