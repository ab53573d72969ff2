//! Bringing the search cache of a base up to its last write.

use kernel::{Core, Job, JobCx, JobError, job};
use model::{KbId, Result, TenantId};
use serde::{Deserialize, Serialize};

use super::index_document::catch_up;

/// Brings the search cache of a base up to its last write.
#[derive(Debug, Serialize, Deserialize)]
pub struct IndexBase {
    kb: KbId,
}

impl IndexBase {
    pub(super) const fn of(kb: KbId) -> Self {
        Self { kb }
    }
}

impl Job for IndexBase {
    const KIND: &'static str = "index_base";
    const ATTEMPTS: u32 = 3;

    fn key(&self) -> String {
        self.kb.to_string()
    }

    async fn run(&self, cx: &JobCx) -> Result<(), JobError> {
        Ok(catch_up(&cx.core, cx.tenant, self.kb).await?)
    }
}

/// Queues the job that brings the base's cache up.
pub(crate) async fn enqueue_index(core: &Core, tenant: TenantId, kb: KbId) -> Result<()> {
    let mut tx = core.db.write(tenant).await?;
    job::enqueue(core, &mut tx, Some(kb), &IndexBase::of(kb)).await?;
    tx.commit().await?;
    core.job_bell.notify_one();
    Ok(())
}
