//! Making the vectors of a document's passages.

use engine::library;
use kernel::{Job, JobCx, JobError, Queue, job};
use model::{Code, DocumentId, Error, Result};
use providers::Embedder;
use serde::{Deserialize, Serialize};
use store::documents::{self, DocumentState};

use super::index_document::catch_up;
use super::parse_document::base;
use super::{EmbedBase, version_key};

/// Makes the vectors of a document's passages, batch by batch: those of the model that searches
/// ask for, then those of the model that is to take its place.
#[derive(Debug, Serialize, Deserialize)]
pub struct EmbedDocument {
    /// The document.
    pub document: DocumentId,
    /// Its version.
    pub version: u32,
}

/// Batches after which other documents have their turn.
const SHARE: u32 = 8;

impl Job for EmbedDocument {
    const KIND: &'static str = "embed_document";
    const ATTEMPTS: u32 = 5;
    const QUEUE: Queue = Queue::Vectors;

    fn key(&self) -> String {
        version_key(self.document, self.version)
    }

    async fn run(&self, cx: &JobCx) -> Result<(), JobError> {
        let (core, kb) = (&cx.core, base(cx)?);
        let mut tx = core.db.read(cx.tenant).await?;
        let standing = library::models::standing(&mut tx, kb, &core.embedders).await?;
        drop(tx);
        for embedder in standing.embedders(&core.embedders) {
            self.embed(cx, &embedder).await?;
        }
        catch_up(core, cx.tenant, kb).await?;
        self.done(cx).await?;
        Ok(())
    }

    /// Without vectors the document is still found by its words.
    async fn failed(&self, cx: &JobCx, _: &Error) -> Result<()> {
        self.done(cx).await
    }
}

impl EmbedDocument {
    /// Makes one model's vectors. A model that does not answer is left to a job that waits for it,
    /// so that the document is ready.
    async fn embed(&self, cx: &JobCx, embedder: &Embedder) -> Result<(), JobError> {
        let (core, kb) = (&cx.core, base(cx)?);
        let (place, document) = ((cx.tenant, kb), Some(self.document));
        let mut next = Some(0);
        for batch in 1.. {
            let Some(after) = next else { break };
            if batch % SHARE == 0 {
                cx.take_turns(Self::QUEUE).await?;
            } else {
                cx.make_way(Self::QUEUE).await?;
            }
            let (stores, now) = ((&core.db, &core.embedders), core.clock.now());
            let made = if embedder.rests() {
                Err(Error::new(Code::Unavailable, "the model does not answer"))
            } else {
                library::embed_next(stores, embedder, place, document, after, now).await
            };
            next = match made {
                Err(error) if error.code == Code::Unavailable => {
                    let rest = EmbedBase {
                        model: embedder.model_tag().to_owned(),
                        kb,
                    };
                    let mut tx = core.db.write(cx.tenant).await?;
                    job::enqueue(core, &mut tx, Some(kb), &rest).await?;
                    tx.commit().await?;
                    None
                }
                made => made?.map(|made| made.last),
            };
        }
        Ok(())
    }

    async fn done(&self, cx: &JobCx) -> Result<()> {
        let Some(kb) = cx.base else { return Ok(()) };
        let mut tx = cx.core.db.write(cx.tenant).await?;
        let (this, ready) = ((self.document, self.version), DocumentState::Ready);
        documents::set_state(&mut tx, kb, this, ready, None, cx.core.clock.now()).await?;
        Ok(tx.commit().await?)
    }
}
