//! Making a version's passages searchable.

use kernel::{Core, Job, JobCx, JobError, job};
use model::{DocumentId, Error, KbId, Result, TenantId};
use serde::{Deserialize, Serialize};
use store::documents::{self, DocumentState};

use super::parse_document::{base, give_up};
use super::{EmbedDocument, version_key};

/// Brings the search cache up to the base, so that a version is found.
#[derive(Debug, Serialize, Deserialize)]
pub struct IndexDocument {
    /// The document.
    pub document: DocumentId,
    /// Its version.
    pub version: u32,
}

impl Job for IndexDocument {
    const KIND: &'static str = "index_document";
    const ATTEMPTS: u32 = 8;

    fn key(&self) -> String {
        version_key(self.document, self.version)
    }

    async fn run(&self, cx: &JobCx) -> Result<(), JobError> {
        let (core, kb) = (&cx.core, base(cx)?);
        catch_up(core, cx.tenant, kb).await?;
        let this = (self.document, self.version);
        let has_model = core.embedder().await.is_some();
        let mut tx = core.db.write(cx.tenant).await?;
        let state = if has_model {
            DocumentState::Embedding
        } else {
            DocumentState::Ready
        };
        documents::set_state(&mut tx, kb, this, state, None, core.clock.now()).await?;
        if has_model {
            let next = EmbedDocument {
                document: self.document,
                version: self.version,
            };
            job::enqueue(core, &mut tx, Some(kb), &next).await?;
        }
        tx.commit().await?;
        core.job_bell.notify_one();
        Ok(())
    }

    async fn failed(&self, cx: &JobCx, error: &Error) -> Result<()> {
        give_up(cx, (self.document, self.version), error).await
    }
}

/// Feeds the search cache until it knows the base's last write.
pub(super) async fn catch_up(core: &Core, tenant: TenantId, kb: KbId) -> Result<()> {
    let embedder = core.embedder().await;
    let model = embedder.as_ref().map(|embedder| embedder.model_tag());
    core.indexes.synced(tenant, kb, model).await?;
    Ok(())
}
