//! Making a version's passages searchable.

use engine::library;
use kernel::{Core, Job, JobCx, JobError, job};
use model::{DocumentId, Error, KbId, Result, TenantId};
use serde::{Deserialize, Serialize};
use store::documents::{self, DocumentState};
use store::models;

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
    const TOGETHER: u32 = 64;

    fn key(&self) -> String {
        version_key(self.document, self.version)
    }

    async fn run(&self, cx: &JobCx) -> Result<(), JobError> {
        Ok(make_searchable(cx, base(cx)?, std::slice::from_ref(self)).await?)
    }

    async fn run_together(cx: &JobCx, jobs: &[Self]) -> Vec<Result<(), JobError>> {
        let done = match base(cx) {
            Ok(kb) => make_searchable(cx, kb, jobs).await.map_err(JobError::from),
            Err(error) => Err(error),
        };
        match done {
            Ok(()) => jobs.iter().map(|_| Ok(())).collect(),
            Err(error) => error.of_all(jobs.len()),
        }
    }

    async fn failed(&self, cx: &JobCx, error: &Error) -> Result<()> {
        give_up(cx, (self.document, self.version), error).await
    }
}

/// Brings the cache up to the base's head, which is after these versions were published.
async fn make_searchable(cx: &JobCx, kb: KbId, versions: &[IndexDocument]) -> Result<()> {
    let core = &cx.core;
    catch_up(core, cx.tenant, kb).await?;
    let mut tx = core.db.write(cx.tenant).await?;
    let standing = library::models::standing(&mut tx, kb, &core.embedders).await?;
    let has_model = !standing.embedders(&core.embedders).is_empty();
    let state = if has_model {
        DocumentState::Embedding
    } else {
        DocumentState::Ready
    };
    for &IndexDocument { document, version } in versions {
        let now = core.clock.now();
        documents::set_state(&mut tx, kb, (document, version), state, None, now).await?;
        if has_model {
            let next = EmbedDocument { document, version };
            job::enqueue(core, &mut tx, Some(kb), &next).await?;
        }
    }
    tx.commit().await?;
    core.job_bell.notify_one();
    Ok(())
}

/// Feeds the search cache until it knows the base's last write.
pub(super) async fn catch_up(core: &Core, tenant: TenantId, kb: KbId) -> Result<()> {
    let serving = models::of_base(&mut core.db.read(tenant).await?, kb)
        .await?
        .serving;
    // Vectors that no question can be compared with are not read.
    let serving = serving.filter(|serving| core.embedders.by_tag(&serving.model).is_some());
    core.indexes.synced(tenant, kb, serving.as_ref()).await?;
    Ok(())
}
