use engine::library;
use kernel::{Base, Cx, Method, Operation, Reply, Spec, job};
use model::{DocumentId, Result, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EraseBlobs, known, no_such_document, version_key};

/// Erase a document for good: its file, text, names, passages and vectors, in every version. It
/// cannot be brought back, and a search with `as_of` no longer finds it. That there was a
/// document, and who did what with it, stays in the activity.
///
/// Backups made before still have it.
#[derive(Deserialize, JsonSchema)]
pub struct PurgeDocument {
    /// The document's id.
    document_id: DocumentId,
}

/// A document that was erased.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PurgedDocument {
    /// The document's id, which is never given again.
    pub document_id: DocumentId,
    /// How many versions it had.
    pub versions: u32,
}

impl Reply for PurgedDocument {
    fn text(&self) -> String {
        format!("{}  purged\n", self.document_id)
    }
}

impl Operation for PurgeDocument {
    type Target = Base;
    type Output = PurgedDocument;
    const SPEC: Spec = Spec::destroy("purge_document", "Purge a document")
        .least(Role::Admin)
        .route(Method::Post, "/kbs/{kb_id}/documents/{document_id}/purge")
        .idempotency_key()
        .cli("document purge", &["document_id"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<PurgedDocument> {
        cx.about("document", self.document_id);
        let kb = cx.target.id();
        let mut tx = cx.write().await?;
        let document = known(&mut tx, cx, self.document_id).await?;
        let (id, versions) = (document.id, document.version);
        let job_keys: Vec<String> = (1..=versions)
            .map(|version| version_key(id, version))
            .collect();
        let purged = library::purge(&mut tx, kb, id, &job_keys, cx.now()).await?;
        let blobs = purged.ok_or_else(no_such_document)?.blobs;
        let erase = EraseBlobs::of(id, &blobs);
        job::enqueue(cx, &mut tx, Some(kb), &erase).await?;
        let purged = tx
            .commit(PurgedDocument {
                document_id: id,
                versions,
            })
            .await?;
        if let Err(error) = erase.erase(cx, cx.target.tenant(), kb).await {
            tracing::warn!(%error, "the job erases the files of a purged document");
        }
        Ok(purged)
    }
}
