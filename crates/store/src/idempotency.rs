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
    pub outcome: Option<Outcome>,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Its answer.
    Kept(String),
    /// What it was about was purged since, and the answer with it.
    Erased,
}

/// A call that wants a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewClaim<'a> {
    /// Tells its claim from any other: only who holds it can finish or give back the key.
    pub claim: Uuid,
    pub args_hash: &'a [u8],
    pub at: RecordTime,
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
        CLAIM: "INSERT INTO idempotency (tenant_id, principal_id, operation, base_id, key, claim, args_hash, created_at, lease_until) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (tenant_id, principal_id, operation, base_id, key) DO NOTHING",
        FIND: "SELECT args_hash, outcome FROM idempotency \
            WHERE tenant_id = $1 AND principal_id = $2 AND operation = $3 AND base_id = $4 AND key = $5",
        TAKE_OVER: "UPDATE idempotency SET claim = $6, args_hash = $7, created_at = $8, lease_until = $9 \
            WHERE tenant_id = $1 AND principal_id = $2 AND operation = $3 AND base_id = $4 AND key = $5 AND outcome IS NULL AND lease_until <= $8",
        FINISH: "UPDATE idempotency SET outcome = $7, thing = $8 \
            WHERE tenant_id = $1 AND principal_id = $2 AND operation = $3 AND base_id = $4 AND key = $5 AND claim = $6 AND outcome IS NULL",
        RELEASE: "DELETE FROM idempotency \
            WHERE tenant_id = $1 AND principal_id = $2 AND operation = $3 AND base_id = $4 AND key = $5 AND claim = $6 AND outcome IS NULL",
        ERASE: "UPDATE idempotency SET outcome = '' WHERE tenant_id = $1 AND base_id = $2 AND thing = $3",
        PRUNE: "DELETE FROM idempotency WHERE tenant_id = $1 AND created_at < $2",
    }
}

fn scope<'a>(key: &Key<'a>) -> Vec<Param<'a>> {
    let base = key.base.map_or(Uuid::nil(), KbId::uuid);
    params![key.principal, key.operation, base, key.key].to_vec()
}

fn claim_row<'a>(key: &Key<'a>, new: &NewClaim<'a>) -> Vec<Param<'a>> {
    let mut row = scope(key);
    row.extend_from_slice(params![new.claim, new.args_hash, new.at, new.lease_until]);
    row
}

/// Takes the key for a call, unless an earlier call has it.
///
/// Two calls at once are told apart on both engines: the second waits for the first's transaction.
pub async fn claim(tx: &mut Tx, key: &Key<'_>, new: &NewClaim<'_>) -> Result<Claim, StoreError> {
    if tx.execute(&CLAIM, &claim_row(key, new)).await? == 1 {
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
    let args_hash = row.take()?;
    let outcome = row.take::<Option<String>>()?.map(|outcome| {
        if outcome.is_empty() {
            Outcome::Erased
        } else {
            Outcome::Kept(outcome)
        }
    });
    Ok(Some(Record { args_hash, outcome }))
}

/// Takes over from a call that did not finish within its lease; whether that was so.
pub async fn take_over(tx: &mut Tx, key: &Key<'_>, new: &NewClaim<'_>) -> Result<bool, StoreError> {
    Ok(tx.execute(&TAKE_OVER, &claim_row(key, new)).await? == 1)
}

/// Stores what the call came to and the id of the thing that it was about; whether the key is
/// still its own.
pub async fn finish(
    tx: &mut Tx,
    key: &Key<'_>,
    claim: Uuid,
    outcome: &str,
    thing: Option<&str>,
) -> Result<bool, StoreError> {
    let mut row = scope(key);
    row.extend_from_slice(params![claim, outcome, thing]);
    Ok(tx.execute(&FINISH, &row).await? == 1)
}

/// Gives the key back after a call that came to nothing, if it is still that call's.
pub async fn release(tx: &mut Tx, key: &Key<'_>, claim: Uuid) -> Result<(), StoreError> {
    let mut row = scope(key);
    row.extend_from_slice(params![claim]);
    tx.execute(&RELEASE, &row).await.map(drop)
}

/// Erases the answers of calls about a thing in a base; the keys stay used. How many.
pub async fn erase(tx: &mut Tx, kb: KbId, thing: &str) -> Result<u64, StoreError> {
    tx.execute(&ERASE, params![kb, thing]).await
}

/// Forgets the tenant's calls from before a moment; how many.
pub async fn prune(tx: &mut Tx, before: RecordTime) -> Result<u64, StoreError> {
    tx.execute(&PRUNE, params![before]).await
}
