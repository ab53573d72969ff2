//! Making the vectors that a whole base lacks, after a model was installed.

use engine::library;
use kernel::{Core, Job, JobCx, JobError, job};
use model::{KbId, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::{bases, jobs, tenants, vectors};

use super::index_document::catch_up;

/// Makes the vectors that a base lacks of a model, batch by batch.
#[derive(Debug, Serialize, Deserialize)]
pub struct EmbedBase {
    /// The model.
    pub model: String,
    /// The base: one such job for each base and model.
    pub kb: KbId,
}

impl Job for EmbedBase {
    const KIND: &'static str = "embed_base";
    const ATTEMPTS: u32 = 5;

    fn key(&self) -> String {
        format!("{}/{}", self.kb, self.model)
    }

    async fn run(&self, cx: &JobCx) -> Result<(), JobError> {
        let (core, kb) = (&cx.core, self.kb);
        // Another model has come since; its own job does the work.
        let embedder = core
            .embedder()
            .await
            .filter(|embedder| embedder.model_tag() == self.model);
        let Some(embedder) = embedder else {
            return Ok(());
        };
        let mut next = Some(0);
        while let Some(after) = next {
            let now = core.clock.now();
            next =
                library::embed_next(&core.db, &embedder, (cx.tenant, kb), None, after, now).await?;
            if let Some(ordinal) = next {
                let mut tx = core.db.write(cx.tenant).await?;
                let progress = json!({ "ordinal": ordinal }).to_string();
                jobs::progress(&mut tx, cx.id, &progress).await?;
                tx.commit().await?;
            }
        }
        catch_up(core, cx.tenant, kb).await?;
        Ok(())
    }
}

/// Queues a job for every base in which passages lack a vector of the installed model; how many
/// were needed. For the start of a server and for when a model was installed.
pub async fn enqueue_missing_vectors(core: &Core) -> Result<usize> {
    let Some(embedder) = core.embedder().await else {
        return Ok(0);
    };
    let model = embedder.model_tag();
    let mut directory = core.db.read_directory().await?;
    let tenants = tenants::list(&mut directory).await?;
    drop(directory);
    let mut needed = 0;
    for tenant in tenants {
        // Looked for in a reading transaction: over a large base it takes a while.
        let mut tx = core.db.read(tenant.id).await?;
        let mut lacking = Vec::new();
        for base in bases::list(&mut tx).await? {
            let missing = vectors::missing(&mut tx, base.id, model, 0, 1).await?;
            lacking.extend((!missing.is_empty()).then_some(base.id));
        }
        drop(tx);
        if lacking.is_empty() {
            continue;
        }
        let mut tx = core.db.write(tenant.id).await?;
        for kb in lacking {
            let work = EmbedBase {
                model: model.to_owned(),
                kb,
            };
            job::enqueue(core, &mut tx, Some(kb), &work).await?;
            needed += 1;
        }
        tx.commit().await?;
    }
    core.job_bell.notify_one();
    Ok(needed)
}
