use engine::library;
use kernel::{Base, Cx, Method, Operation, Reply, Spec};
use model::{DocumentId, RecordTime, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::documents;

use super::{known, no_such_document};

/// Delete a document: from now on it is neither found nor read. `restore_document` brings it
/// back, and a search with `as_of` before this moment still finds it.
#[derive(Deserialize, JsonSchema)]
pub struct DeleteDocument {
    /// The document's id.
    document_id: DocumentId,
}

/// A document that was deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedDocument {
    /// The document's id.
    pub document_id: DocumentId,
    /// When it was deleted.
    pub deleted_at: RecordTime,
}

impl Reply for DeletedDocument {
    fn text(&self) -> String {
        format!("{}  deleted\n", self.document_id)
    }
}

impl Operation for DeleteDocument {
    type Target = Base;
    type Output = DeletedDocument;
    const SPEC: Spec = Spec::destroy("delete_document", "Delete a document")
        .route(Method::Delete, "/kbs/{kb_id}/documents/{document_id}")
        .idempotency_key()
        .cli("document delete", &["document_id"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<DeletedDocument> {
        cx.about("document", self.document_id);
        let kb = cx.target.id();
        let mut tx = cx.write().await?;
        let document = known(&mut tx, cx, self.document_id).await?;
        library::delete(&mut tx, kb, document.id, cx.now()).await?;
        let deleted = documents::find(&mut tx, kb, document.id).await?;
        let deleted_at = deleted.and_then(|deleted| deleted.deleted_at);
        let deleted_at = deleted_at.ok_or_else(no_such_document)?;
        tx.commit(DeletedDocument {
            document_id: document.id,
            deleted_at,
        })
        .await
    }
}
