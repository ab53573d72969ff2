//! Changing who sees a document.

use model::{Code, Error, KbId, RecordTime, Result, Role};
use store::documents::{self, Document};
use store::{Tx, bases, chunks};

use super::ExternalKey;

/// Gives a document another least role, from now on and for all times: who may see it is asked
/// today, also by a search for what was held before. False if it has that one already.
///
/// # Errors
/// `conflict` if another document for that role has its key.
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
    let key = ExternalKey::shown(&document.external_key);
    let stored = ExternalKey::new(key)
        .map_err(|_| Error::internal("a stored key is none"))?
        .stored(least_role);
    if documents::find_by_key(tx, kb, &stored).await?.is_some() {
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
