//! Taking documents away: deleting, which can be undone, and purging, which cannot.

use std::collections::HashMap;

use model::{DocumentId, KbId, RecordTime, Result};
use store::documents::Restored;
use store::{Tx, bases, chunks, documents, evidence, idempotency, jobs, sources, vectors};

use super::ExternalKey;

/// A document that came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revived {
    /// Its latest version.
    pub version: u32,
    /// Whether that version holds what was deleted.
    pub holds: bool,
    /// Whether its latest version is still to be read by a worker.
    pub to_parse: bool,
}

/// What a purge leaves to be done outside the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purged {
    /// Hashes of the files that nothing in the base refers to any more.
    pub blobs: Vec<[u8; 32]>,
}

/// Deletes a document: from now on it is not there, before that it was. False if it was deleted
/// already.
pub async fn delete(tx: &mut Tx, kb: KbId, id: DocumentId, now: RecordTime) -> Result<bool> {
    let at = bases::advance_clock(tx, kb, now).await?;
    if !documents::delete(tx, kb, id, at).await? {
        return Ok(false);
    }
    chunks::close_document(tx, kb, id, at).await?;
    Ok(true)
}

/// Undoes a deletion from now on; none if the document is not deleted.
///
/// What it held is held again as a version of its own. A later version that was accepted but not
/// published when the document was deleted is accepted again after that.
pub async fn restore(
    tx: &mut Tx,
    kb: KbId,
    id: DocumentId,
    now: RecordTime,
) -> Result<Option<Revived>> {
    let at = bases::advance_clock(tx, kb, now).await?;
    let Some(before) = documents::find(tx, kb, id).await? else {
        return Ok(None);
    };
    let (version, copy_of, deleted_at) = match documents::restore(tx, kb, id, at).await? {
        Restored::No => return Ok(None),
        Restored::Empty => {
            let waiting = documents::DocumentState::Pending;
            documents::set_state(tx, kb, (id, before.version), waiting, None, at).await?;
            return Ok(Some(Revived {
                version: before.version,
                holds: false,
                to_parse: true,
            }));
        }
        Restored::Held {
            version,
            copy_of,
            deleted_at,
        } => (version, copy_of, deleted_at),
    };
    let pairs = chunks::reopen_document(tx, kb, id, deleted_at, at).await?;
    let renumbered: HashMap<i64, i64> = pairs.into_iter().collect();
    if let Some(old) = documents::version(tx, kb, (id, copy_of)).await? {
        let order = old.chunk_order.unwrap_or_default();
        let order: Vec<i64> = order
            .iter()
            .filter_map(|row| renumbered.get(row).copied())
            .collect();
        documents::set_chunk_order(tx, kb, (id, version), &order).await?;
    }
    if copy_of < before.version
        && let Some(unread) = documents::version(tx, kb, (id, before.version)).await?
    {
        let again = documents::NewVersion {
            blob_hash: unread.blob_hash,
            size: unread.size,
            media_type: &unread.media_type,
            filename: &unread.filename,
            accepted_at: at,
        };
        if let Some(version) = documents::add_version(tx, kb, id, &again).await? {
            return Ok(Some(Revived {
                version,
                holds: true,
                to_parse: true,
            }));
        }
    }
    Ok(Some(Revived {
        version,
        holds: true,
        to_parse: false,
    }))
}

/// Erases a document's text, names, passages, vectors, waiting jobs and the stored answers about
/// it for good; none if it was purged already. Its row and its activity stay, without a word of it.
///
/// `job_keys` name the jobs about it. The caller erases the blobs after the commit.
pub async fn purge(
    tx: &mut Tx,
    kb: KbId,
    id: DocumentId,
    job_keys: &[String],
    now: RecordTime,
) -> Result<Option<Purged>> {
    let at = bases::advance_clock(tx, kb, now).await?;
    if let Some(document) = documents::find(tx, kb, id).await? {
        let key = ExternalKey::shown(&document.external_key);
        sources::forget_document(tx, kb, id, key).await?;
    }
    let Some(blobs) = documents::purge(tx, kb, id, at).await? else {
        return Ok(None);
    };
    let passages = chunks::ids_of_document(tx, kb, id).await?;
    vectors::delete_chunks(tx, kb, &passages).await?;
    chunks::purge_document(tx, kb, id, at).await?;
    evidence::erase_document(tx, kb, id).await?;
    for key in job_keys {
        jobs::remove_by_key(tx, kb, key).await?;
    }
    idempotency::erase(tx, kb, &id.to_string()).await?;
    Ok(Some(Purged { blobs }))
}
