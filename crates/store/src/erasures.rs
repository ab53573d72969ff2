//! Files that are being erased, or were a short while ago.
//!
//! A file and the rows that refer to it cannot change together. So an erasing is committed before
//! the file is touched, where nothing refers to it; and whoever is about to refer to a file that
//! is there looks whether an erasing of it began since then.

use model::{KbId, RecordTime};

use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

statements! {
    tenant {
        FIND: "SELECT begun_at, ended_at FROM erasure WHERE tenant_id = $1 AND base_id = $2 AND blob_hash = $3",
        BEGIN: "INSERT INTO erasure (tenant_id, base_id, blob_hash, begun_at) VALUES ($1, $2, $3, $4) \
            ON CONFLICT (tenant_id, base_id, blob_hash) DO UPDATE SET begun_at = excluded.begun_at, ended_at = NULL",
        END: "UPDATE erasure SET ended_at = $5 WHERE tenant_id = $1 AND base_id = $2 AND blob_hash = $3 AND begun_at = $4",
        PRUNE: "DELETE FROM erasure WHERE tenant_id = $1 AND begun_at < $2",
    }
}

/// An erasing of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Erasure {
    /// When it began; no other erasing of the file began then.
    pub begun_at: RecordTime,
    /// When the file was gone; none while it is being erased.
    pub ended_at: Option<RecordTime>,
}

/// The latest erasing of a base's file.
pub async fn find(tx: &mut Tx, kb: KbId, hash: &[u8; 32]) -> Result<Option<Erasure>, StoreError> {
    let Some(mut row) = tx.row(&FIND, params![kb, hash]).await? else {
        return Ok(None);
    };
    Ok(Some(Erasure {
        begun_at: row.take()?,
        ended_at: row.take()?,
    }))
}

/// Notes that the erasing of a file begins, at a moment of the base's clock.
pub async fn begin(
    tx: &mut Tx,
    kb: KbId,
    hash: &[u8; 32],
    at: RecordTime,
) -> Result<(), StoreError> {
    tx.execute(&BEGIN, params![kb, hash, at]).await.map(drop)
}

/// Notes that a file is gone, unless another erasing of it began meanwhile.
pub async fn end(
    tx: &mut Tx,
    kb: KbId,
    hash: &[u8; 32],
    (begun_at, now): (RecordTime, RecordTime),
) -> Result<(), StoreError> {
    tx.execute(&END, params![kb, hash, begun_at, now])
        .await
        .map(drop)
}

/// Forgets erasings that began before `cutoff`; how many.
pub async fn prune(tx: &mut Tx, cutoff: RecordTime) -> Result<u64, StoreError> {
    tx.execute(&PRUNE, params![cutoff]).await
}
