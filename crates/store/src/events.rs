//! Decisions that changed the ledger: append-only, their words apart so that they can be erased.

use model::{CredentialId, EventId, KbId, RecordTime, UserId};
use sha2::{Digest, Sha256};

use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub id: EventId,
    pub recorded_at: RecordTime,
    /// What was done: `assert`, `correct`, `retract`, `merge`…
    pub kind: String,
    /// Whose right it was done with.
    pub user: Option<UserId>,
    pub credential: Option<CredentialId>,
    /// What was decided, as JSON; none once erased.
    pub payload: Option<String>,
    /// SHA-256 of the payload, which stays.
    pub payload_hash: [u8; 32],
}

statements! {
    tenant {
        INSERT: "INSERT INTO event (tenant_id, base_id, id, recorded_at, kind, user_id, credential_id, payload_hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        INSERT_PAYLOAD: "INSERT INTO event_payload (tenant_id, base_id, event_id, payload) VALUES ($1, $2, $3, $4)",
        FIND: "SELECT event.id, event.recorded_at, event.kind, event.user_id, event.credential_id, event_payload.payload, event.payload_hash \
            FROM event LEFT JOIN event_payload ON event_payload.tenant_id = event.tenant_id AND event_payload.base_id = event.base_id AND event_payload.event_id = event.id \
            WHERE event.tenant_id = $1 AND event.base_id = $2 AND event.id = $3",
        AFTER: "SELECT event.id, event.recorded_at, event.kind, event.user_id, event.credential_id, event_payload.payload, event.payload_hash \
            FROM event LEFT JOIN event_payload ON event_payload.tenant_id = event.tenant_id AND event_payload.base_id = event.base_id AND event_payload.event_id = event.id \
            WHERE event.tenant_id = $1 AND event.base_id = $2 AND event.id > $3 ORDER BY event.id LIMIT $4",
    }
}

fn read(mut row: crate::value::Row) -> Result<Event, StoreError> {
    Ok(Event {
        id: row.take()?,
        recorded_at: row.take()?,
        kind: row.take()?,
        user: row.take()?,
        credential: row.take()?,
        payload: row.take()?,
        payload_hash: row.take()?,
    })
}

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Decider {
    pub user: Option<UserId>,
    pub credential: Option<CredentialId>,
}

/// Adds a decision. `at` is the transaction's record time.
pub async fn insert(
    tx: &mut Tx,
    kb: KbId,
    (id, kind): (EventId, &str),
    decider: Decider,
    payload: &str,
    at: RecordTime,
) -> Result<(), StoreError> {
    let hash: [u8; 32] = Sha256::digest(payload).into();
    let row = params![
        kb,
        id,
        at,
        kind,
        decider.user,
        decider.credential,
        hash.as_slice()
    ];
    tx.execute(&INSERT, row).await?;
    tx.execute(&INSERT_PAYLOAD, params![kb, id, payload])
        .await
        .map(drop)
}

/// The decision with this id.
pub async fn find(tx: &mut Tx, kb: KbId, id: EventId) -> Result<Option<Event>, StoreError> {
    let row = tx.row(&FIND, params![kb, id]).await?;
    row.map(read).transpose()
}

/// Decisions after an id, by id.
pub async fn after(
    tx: &mut Tx,
    kb: KbId,
    after: EventId,
    limit: u32,
) -> Result<Vec<Event>, StoreError> {
    let rows = tx.rows(&AFTER, params![kb, after, limit]).await?;
    rows.into_iter().map(read).collect()
}
