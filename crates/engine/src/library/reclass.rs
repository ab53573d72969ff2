//! Changing who sees a document.

use model::{Code, Error, KbId, RecordTime, Result, Role};
use store::documents::{self, Document};
use store::{Tx, bases, chunks, sources};

use super::ExternalKey;

/// Gives a document another least role, from now on and for all times: who may see it is asked
/// today, also by a search for what was held before. False if it has that one already.
///
/// # Errors
/// `conflict` if it is of a source, which says for all of its documents who sees them, or if
/// another document for that role has its key.
pub async fn set_least_role(
    tx: &mut Tx,
    kb: KbId,
    document: &Document,
    least_role: Role,
    now: RecordTime,
) -> Result<bool> {
    if document.least_role == least_role {
        return Ok(false);
    }
    let at = bases::advance_clock(tx, kb, now).await?;
    if sources::of_document(tx, kb, document.id).await?.is_some() {
        let sentence = "the document is of a source, and for those whom the source is for; delete the source and keep its documents, or send it without the source";
        return Err(Error::new(Code::Conflict, sentence));
    }
    let stored = ExternalKey::reclassed(&document.external_key, least_role);
    let taken = documents::find_by_key(tx, kb, &stored).await?;
    if taken.is_some_and(|taken| taken.id != document.id) {
        let sentence = format!(
            "another document for `{least_role}` and above has the `external_id` of this one; purge that one first"
        );
        return Err(Error::new(Code::Conflict, sentence));
    }
    let id = document.id;
    documents::set_least_role(tx, kb, id, (&stored, least_role), at).await?;
    let roles = (document.least_role, least_role);
    let pairs = chunks::set_least_role(tx, kb, id, roles, at).await?;
    documents::renumber(tx, kb, id, &pairs, at).await?;
    Ok(true)
}
