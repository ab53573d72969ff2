//! Erasing the files of a purged document, and its words from the search cache.

use kernel::{Core, Job, JobCx, JobError};
use model::{DocumentId, Error, KbId, Result, TenantId};
use serde::{Deserialize, Serialize};

use super::files;
use super::index_document::catch_up;

/// Erases files that nothing refers to since a document was purged.
#[derive(Debug, Serialize, Deserialize)]
pub struct EraseBlobs {
    document: DocumentId,
    blobs: Vec<[u8; 32]>,
}

impl EraseBlobs {
    pub(super) fn of(document: DocumentId, blobs: &[[u8; 32]]) -> Self {
        Self {
            document,
            blobs: blobs.to_vec(),
        }
    }

    pub(super) async fn erase(&self, core: &Core, tenant: TenantId, kb: KbId) -> Result<()> {
        files(core).erase((tenant, kb), &self.blobs).await
    }
}

impl Job for EraseBlobs {
    const KIND: &'static str = "erase_blobs";
    // A backup or a long reader stands in its way for as long as it takes: some hours, by then a
    // minute between two attempts.
    const ATTEMPTS: u32 = 600;

    fn key(&self) -> String {
        self.document.to_string()
    }

    async fn run(&self, cx: &JobCx) -> Result<(), JobError> {
        let kb = cx
            .base
            .ok_or_else(|| JobError::Fail(Error::internal("the job names no base")))?;
        self.erase(&cx.core, cx.tenant, kb).await?;
        catch_up(&cx.core, cx.tenant, kb).await?;
        cx.core.indexes.settled(kb).await.map_err(Error::from)?;
        cx.core.db.empty_log().await.map_err(Error::from)?;
        Ok(())
    }
}
