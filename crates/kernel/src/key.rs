//! Idempotency keys: one call and its repetitions do one thing, and get one answer.
//!
//! A key belongs to a principal, an operation and a base. The first call with it claims it; its
//! answer is stored in the transaction of what it did. A call that outlived its lease finds its
//! claim in other hands and can no longer finish or give back the key.

use model::{Code, KbId, Result, TenantId};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use store::Tx;
use store::idempotency::{self, Claim, Outcome, Record};
use uuid::Uuid;

use crate::cx::CallState;
use crate::operation::Answer;
use crate::principal::Principal;
use crate::target::Opened;
use crate::{Core, Error};

/// An idempotency key that this call holds.
pub(crate) struct KeyInUse {
    tenant: TenantId,
    principal: Uuid,
    operation: &'static str,
    base: Option<KbId>,
    key: String,
    /// Tells this call's claim from an earlier or a later one.
    claim: Uuid,
}

/// How long a key is remembered.
const KEY_HELD_SECONDS: i64 = 24 * 60 * 60;
/// How long a call holds a key beyond its own deadline, after which it cannot be running any more.
const KEY_LEASE_SECONDS: i64 = 60;
/// Longest key, in bytes.
const KEY_BYTES_MAX: usize = 255;

impl KeyInUse {
    fn row(&self) -> idempotency::Key<'_> {
        idempotency::Key {
            principal: self.principal,
            operation: self.operation,
            base: self.base,
            key: &self.key,
        }
    }

    /// Stores the outcome in the transaction of the call; `thing` is what the call was about, so
    /// that a purge of it finds the outcome.
    ///
    /// # Errors
    /// `idempotency_in_progress` if another call has taken the key over.
    pub(crate) async fn finish(
        &self,
        tx: &mut Tx,
        answer: &Answer,
        thing: Option<&str>,
    ) -> Result<()> {
        let outcome = json!({ "status": answer.status, "body": answer.json, "text": answer.text });
        let outcome = outcome.to_string();
        if idempotency::finish(tx, &self.row(), self.claim, &outcome, thing).await? {
            Ok(())
        } else {
            Err(still_running())
        }
    }

    /// Gives the key back after a call that did nothing.
    pub(crate) async fn release(&self, core: &Core) {
        let released = async {
            let mut tx = core.db.write(self.tenant).await?;
            idempotency::release(&mut tx, &self.row(), self.claim).await?;
            tx.commit().await
        };
        if let Err(error) = released.await {
            tracing::warn!(%error, "an idempotency key stays held until its lease ends");
        }
    }
}

fn still_running() -> Error {
    let sentence = "the first call with this `Idempotency-Key` is still running; try again shortly";
    Error::new(Code::StillRunning, sentence).retry_after(1)
}

/// Takes the key for this call, or finds the answer that was given to it before.
pub(crate) async fn claim(
    state: &CallState,
    opened: &Opened,
    key: String,
    arguments: &Map<String, Value>,
) -> Result<Result<KeyInUse, Answer>> {
    may_take(state, &key)?;
    let Some(principal) = &state.caller.principal else {
        return Err(crate::gate::unauthenticated());
    };
    let in_use = in_use(state, principal, opened, key);
    let args_hash = hash_of(arguments, state.upload_hash().as_ref());
    let now = state.core.clock.now();
    let deadline = i64::try_from(state.spec.deadline.as_secs()).unwrap_or(i64::MAX);
    let fresh = idempotency::NewClaim {
        claim: in_use.claim,
        args_hash: &args_hash,
        at: now,
        lease_until: now.plus_seconds(deadline.saturating_add(KEY_LEASE_SECONDS)),
    };
    let mut tx = state.core.db.write(principal.tenant).await?;
    idempotency::prune(&mut tx, now.plus_seconds(-KEY_HELD_SECONDS)).await?;
    let row = in_use.row();
    let replay = match idempotency::claim(&mut tx, &row, &fresh).await? {
        Claim::Ours => None,
        Claim::Theirs(record) => match answered(record, &args_hash)? {
            Some(answer) => Some(answer),
            None if idempotency::take_over(&mut tx, &row, &fresh).await? => None,
            None => return Err(still_running()),
        },
    };
    tx.commit().await?;
    Ok(match replay {
        None => Ok(in_use),
        Some(answer) => Err(answer),
    })
}

/// Refuses a key that the operation does not take, or that none could be.
fn may_take(state: &CallState, key: &str) -> Result<()> {
    let spec = &state.spec;
    if !spec.idempotent_by_key {
        let sentence = format!("`{}` takes no `Idempotency-Key`", spec.name);
        return Err(Error::invalid(sentence));
    }
    if key.is_empty() || KEY_BYTES_MAX < key.len() {
        let sentence = format!(
            "`Idempotency-Key` must have 1 to {KEY_BYTES_MAX} characters, not {}",
            key.len()
        );
        return Err(Error::invalid(sentence));
    }
    Ok(())
}

fn in_use(state: &CallState, principal: &Principal, opened: &Opened, key: String) -> KeyInUse {
    KeyInUse {
        tenant: principal.tenant,
        principal: principal.user.uuid(),
        operation: state.spec.name,
        base: match opened {
            Opened::Base(base) => Some(base.id()),
            _ => None,
        },
        key,
        claim: state.core.ids.next(),
    }
}

/// The answer of an earlier call with the key; none while it may still run.
fn answered(record: Record, args_hash: &[u8]) -> Result<Option<Answer>> {
    if record.args_hash != args_hash {
        return Err(Error::new(
            Code::KeyReused,
            "this `Idempotency-Key` was used with other arguments; take a new key for a new call",
        ));
    }
    match record.outcome {
        None => Ok(None),
        Some(Outcome::Kept(outcome)) => replay(&outcome).map(Some),
        Some(Outcome::Erased) => Err(Error::new(
            Code::Conflict,
            "what the first call with this `Idempotency-Key` did was purged since; take a new key for a new call",
        )),
    }
}

fn replay(outcome: &str) -> Result<Answer> {
    let outcome: Value = serde_json::from_str(outcome).map_err(Error::internal)?;
    Ok(Answer {
        json: outcome["body"].clone(),
        text: outcome["text"].as_str().unwrap_or_default().to_owned(),
        status: outcome["status"]
            .as_u64()
            .and_then(|status| u16::try_from(status).ok())
            .unwrap_or(200),
        replayed: true,
        flow: None,
    })
}

/// SHA-256 over the arguments with their names in order, and the upload's own hash.
fn hash_of(arguments: &Map<String, Value>, upload: Option<&[u8; 32]>) -> [u8; 32] {
    let mut names: Vec<_> = arguments.iter().collect();
    names.sort_by_key(|(name, _)| *name);
    let mut hash = Sha256::new();
    for (name, value) in names {
        hash.update(json!([name, value]).to_string());
    }
    hash.update(upload.map_or(&[][..], |hash| &hash[..]));
    hash.finalize().into()
}
