//! Removing the vectors of a model that no search asks for.

use engine::library::models;
use kernel::{Job, JobCx, JobError, Queue};
use model::KbId;
use serde::{Deserialize, Serialize};
use store::{bases, models as rows, vectors};

/// Removes a base's vectors of a model, batch by batch, unless somebody asks for them again.
#[derive(Debug, Serialize, Deserialize)]
pub struct PruneVectors {
    /// The model's tag.
    pub model: String,
    /// The base.
    pub kb: KbId,
}

/// Vectors removed in one transaction.
const BATCH: u32 = 2_000;

impl Job for PruneVectors {
    const KIND: &'static str = "prune_vectors";
    const ATTEMPTS: u32 = 5;
    const QUEUE: Queue = Queue::Background;

    fn key(&self) -> String {
        format!("{}/{}", self.kb, self.model)
    }

    async fn run(&self, cx: &JobCx) -> Result<(), JobError> {
        let core = &cx.core;
        loop {
            cx.make_way(Self::QUEUE).await?;
            let mut tx = core.db.write(cx.tenant).await?;
            bases::advance_clock(&mut tx, self.kb, core.clock.now()).await?;
            let standing = models::standing(&mut tx, self.kb, &core.embedders).await?;
            if standing.asks_for(&self.model) {
                return Ok(());
            }
            rows::forget(&mut tx, self.kb, &self.model).await?;
            let gone = vectors::delete_model(&mut tx, self.kb, &self.model, BATCH).await?;
            tx.commit().await?;
            if gone < u64::from(BATCH) {
                return Ok(());
            }
        }
    }
}
