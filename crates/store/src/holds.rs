//! Keeping files from being erased while a snapshot that names them is read.
//!
//! A hold is committed before the snapshot is opened, and looked for in the transaction that
//! erases, after it has seen that nothing refers to the file. Whoever erases without having seen
//! the hold did so on account of a purge that the snapshot sees too, so that it does not name the
//! file. A hold lapses unless it is renewed: one whose process was killed stands in nobody's way.

use model::RecordTime;
use uuid::Uuid;

use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

/// What the keys of holds begin with.
const PREFIX: &str = "hold/";

statements! {
    directory {
        SET: "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
            because "about the deployment, not a tenant",
        RELEASE: "DELETE FROM meta WHERE key = $1"
            because "about the deployment, not a tenant",
        ALL: "SELECT value FROM meta WHERE key >= 'hold/' AND key < 'hold0'"
            because "about the deployment, not a tenant",
        CLEAR: "DELETE FROM meta WHERE key >= 'hold/' AND key < 'hold0'"
            because "about the deployment, not a tenant",
    }
}

/// Takes a hold, or renews it, until a moment.
pub async fn set(tx: &mut Tx, id: Uuid, until: RecordTime) -> Result<(), StoreError> {
    let row = params![format!("{PREFIX}{id}"), until.micros().to_string()];
    tx.execute(&SET, row).await.map(drop)
}

/// Gives a hold up.
pub async fn release(tx: &mut Tx, id: Uuid) -> Result<(), StoreError> {
    let key = format!("{PREFIX}{id}");
    tx.execute(&RELEASE, params![key]).await.map(drop)
}

/// Whether files are held at a moment.
pub async fn is_held(tx: &mut Tx, now: RecordTime) -> Result<bool, StoreError> {
    for mut row in tx.rows(&ALL, &[]).await? {
        let until: String = row.take()?;
        if until.parse().is_ok_and(|until: i64| now.micros() < until) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes every hold: in a restored store they are of another deployment's processes.
pub async fn clear(tx: &mut Tx) -> Result<(), StoreError> {
    tx.execute(&CLEAR, &[]).await.map(drop)
}
