//! Making the vectors of a document's passages.

use engine::library;
use kernel::{Job, JobCx, JobError};
use model::{DocumentId, Error, Result};
use serde::{Deserialize, Serialize};
use store::documents::{self, DocumentState};

use super::index_document::catch_up;
use super::parse_document::base;
use super::version_key;

/// Makes the vectors of a document's passages, batch by batch.
#[derive(Debug, Serialize, Deserialize)]
pub struct EmbedDocument {
    /// The document.
    pub document: DocumentId,
    /// Its version.
    pub version: u32,
}

impl Job for EmbedDocument {
    const KIND: &'static str = "embed_document";
    const ATTEMPTS: u32 = 5;

    fn key(&self) -> String {
        version_key(self.document, self.version)
    }

    async fn run(&self, cx: &JobCx) -> Result<(), JobError> {
        let (core, kb) = (&cx.core, base(cx)?);
        if let Some(embedder) = core.embedder().await {
            let (place, document) = ((cx.tenant, kb), Some(self.document));
            let mut next = Some(0);
            while let Some(after) = next {
                let now = core.clock.now();
                next =
                    library::embed_next(&core.db, &embedder, place, document, after, now).await?;
            }
            catch_up(core, cx.tenant, kb).await?;
        }
        self.done(cx).await?;
        Ok(())
    }

    /// Without vectors the document is still found by its words.
    async fn failed(&self, cx: &JobCx, _: &Error) -> Result<()> {
        self.done(cx).await
    }
}

impl EmbedDocument {
    async fn done(&self, cx: &JobCx) -> Result<()> {
        let Some(kb) = cx.base else { return Ok(()) };
        let mut tx = cx.core.db.write(cx.tenant).await?;
        let (this, ready) = ((self.document, self.version), DocumentState::Ready);
        documents::set_state(&mut tx, kb, this, ready, None, cx.core.clock.now()).await?;
        Ok(tx.commit().await?)
    }
}
