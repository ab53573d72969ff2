use engine::library;
use kernel::{Base, Cx, Method, Operation, Spec, job};
use model::{DocumentId, Error, Result, Role};
use schemars::JsonSchema;
use serde::Deserialize;
use store::documents;

use super::{DocumentInfo, IndexBase, known, no_such_document};

/// Change who sees a document. Its content is changed by sending other bytes under the same
/// `external_id`.
///
/// It counts at once and for every version: a search with `as_of`, too, finds only what its asker
/// may see today.
#[derive(Deserialize, JsonSchema)]
pub struct UpdateDocument {
    /// The document's id.
    document_id: DocumentId,
    /// The lowest role that is to see the document, at most your own.
    least_role: Role,
}

impl Operation for UpdateDocument {
    type Target = Base;
    type Output = DocumentInfo;
    const SPEC: Spec = Spec::write("update_document", "Change who sees a document")
        .least(Role::Admin)
        .route(Method::Patch, "/kbs/{kb_id}/documents/{document_id}")
        .idempotency_key()
        .cli("document update", &["document_id"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<DocumentInfo> {
        cx.about("document", self.document_id);
        let (kb, role) = (cx.target.id(), cx.target.role());
        if role < self.least_role {
            let sentence = format!(
                "`least_role` must be at most your own role `{role}`, not `{}`",
                self.least_role
            );
            return Err(Error::invalid(sentence));
        }
        let mut tx = cx.write().await?;
        let document = known(&mut tx, cx, self.document_id).await?;
        if library::set_least_role(&mut tx, kb, &document, self.least_role, cx.now()).await? {
            job::enqueue(cx, &mut tx, Some(kb), &IndexBase::of(kb)).await?;
        }
        let updated = documents::find(&mut tx, kb, document.id).await?;
        tx.commit(updated.ok_or_else(no_such_document)?.into())
            .await
    }
}
