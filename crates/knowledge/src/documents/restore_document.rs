use engine::library;
use kernel::{Base, Cx, Method, Operation, Spec, job};
use model::{Code, DocumentId, Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use store::documents;

use super::{DocumentInfo, IndexDocument, ParseDocument, known, no_such_document};

/// Bring a deleted document back. What it held is held again from now on, as a version of its
/// own; for the time between, the document stays absent.
#[derive(Deserialize, JsonSchema)]
pub struct RestoreDocument {
    /// The document's id.
    document_id: DocumentId,
}

impl Operation for RestoreDocument {
    type Target = Base;
    type Output = DocumentInfo;
    const SPEC: Spec = Spec::write("restore_document", "Restore a document")
        .route(Method::Post, "/kbs/{kb_id}/documents/{document_id}/restore")
        .idempotency_key()
        .cli("document restore", &["document_id"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<DocumentInfo> {
        cx.about("document", self.document_id);
        let kb = cx.target.id();
        let mut tx = cx.write().await?;
        let document = known(&mut tx, cx, self.document_id).await?.id;
        let Some(revived) = library::restore(&mut tx, kb, document, cx.now()).await? else {
            let sentence = "the document is not deleted, so there is nothing to restore";
            return Err(Error::new(Code::Conflict, sentence));
        };
        let version = revived.version;
        if revived.to_parse {
            job::enqueue(cx, &mut tx, Some(kb), &ParseDocument { document, version }).await?;
        } else {
            job::enqueue(cx, &mut tx, Some(kb), &IndexDocument { document, version }).await?;
        }
        let restored = documents::find(&mut tx, kb, document)
            .await?
            .ok_or_else(no_such_document)?;
        tx.commit(restored.into()).await
    }
}
