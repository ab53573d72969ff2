//! Holding files for as long as a backup or a check reads them.

use std::time::Duration;

use store::{Db, StoreError, holds};
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::Now;

/// How long a hold stands without being renewed, in seconds.
const HELD_SECONDS: i64 = 120;
/// How often it is renewed.
const RENEWED_EVERY: Duration = Duration::from_secs(20);

/// No file that a snapshot opened from now on names is erased, until this is released.
///
/// Dropped without that, it lapses after two minutes.
pub struct Hold {
    db: Db,
    id: Uuid,
    renewing: JoinHandle<()>,
}

impl Hold {
    /// Takes a hold under an id of its own; it is committed when this returns.
    pub async fn take(db: &Db, id: Uuid, now: Now) -> Result<Self, StoreError> {
        renew(db, id, &now).await?;
        let renewing = tokio::spawn({
            let db = db.clone();
            async move {
                loop {
                    tokio::time::sleep(RENEWED_EVERY).await;
                    if let Err(error) = renew(&db, id, &now).await {
                        tracing::warn!(%error, "files that are being read may be erased");
                    }
                }
            }
        });
        Ok(Self {
            db: db.clone(),
            id,
            renewing,
        })
    }

    /// Gives it up.
    pub async fn release(self) -> Result<(), StoreError> {
        self.renewing.abort();
        let mut tx = self.db.write_directory().await?;
        holds::release(&mut tx, self.id).await?;
        tx.commit().await
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

async fn renew(db: &Db, id: Uuid, now: &Now) -> Result<(), StoreError> {
    let mut tx = db.write_directory().await?;
    holds::set(&mut tx, id, now().plus_seconds(HELD_SECONDS)).await?;
    tx.commit().await
}
