//! Taking a document in.

use model::document::DateSource;
use model::{Code, DocumentId, Error, KbId, RecordTime, Result, Role, WorldTime};
use store::documents::{self, Document, DocumentState, NewDocument, NewVersion, Parsed};
use store::{Tx, bases};

use super::ExternalKey;

/// A document that was sent, its bytes already kept in the blob store.
#[derive(Debug, Clone)]
pub struct Accept<'a> {
    /// What its sender knows it by.
    pub key: ExternalKey,
    /// Its name for people.
    pub filename: &'a str,
    /// The lowest role that is to see it; none leaves a known document's as it is.
    pub least_role: Option<Role>,
    /// The sender's own role.
    pub role: Role,
    /// The date that the sender gives it.
    pub date: Option<WorldTime>,
    /// SHA-256 of its bytes.
    pub blob_hash: [u8; 32],
    /// Bytes.
    pub size: u64,
    /// The id it gets if it is not known yet.
    pub fresh_id: DocumentId,
}

/// The media type of what was not read yet: what a file is, its content says.
pub(super) const UNREAD: &str = "application/octet-stream";

/// What became of a document that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It was not known.
    Created,
    /// It was known and has another version now.
    Updated,
    /// It is what it was.
    Unchanged,
}

/// A document that was taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// Which document it is.
    pub document: DocumentId,
    /// Its latest version.
    pub version: u32,
    /// What became of it.
    pub action: Action,
    /// Where it stands.
    pub state: DocumentState,
    /// Whether the version is to be read by a worker.
    pub to_parse: bool,
}

/// Adds a document, or a version to the one with its key that the sender can see.
///
/// The same bytes and date as the latest version's change nothing, but are tried again if that
/// version failed. A deleted document comes back with the new version, and holds nothing until it
/// is published.
///
/// # Errors
/// `conflict` if the document asks for another role than `least_role`, or if it was left out and
/// several documents have the key.
pub async fn accept(tx: &mut Tx, kb: KbId, sent: &Accept<'_>, now: RecordTime) -> Result<Accepted> {
    // One writer at a time, so that the same key cannot be added twice at once.
    let at = bases::advance_clock(tx, kb, now).await?;
    let known = known(tx, kb, sent).await?;
    let version = NewVersion {
        blob_hash: sent.blob_hash,
        size: sent.size,
        media_type: UNREAD,
        filename: sent.filename,
        accepted_at: at,
    };
    let Some(document) = known else {
        let least_role = sent.least_role.unwrap_or(Role::Viewer);
        let external_key = &sent.key.stored(least_role);
        let new = NewDocument {
            id: sent.fresh_id,
            external_key,
            least_role,
        };
        documents::add(tx, kb, &new, &version).await?;
        put_date(tx, kb, (sent.fresh_id, 1), sent.date).await?;
        return Ok(pending(sent.fresh_id, 1, Action::Created));
    };
    if document.deleted_at.is_none() && is_latest(tx, kb, &document, sent).await? {
        return again(tx, kb, &document, at).await;
    }
    if document.deleted_at.is_some() {
        documents::undelete(tx, kb, document.id, at).await?;
    }
    let number = documents::add_version(tx, kb, document.id, &version).await?;
    let number = number.ok_or_else(|| Error::internal("a document vanished under its lock"))?;
    put_date(tx, kb, (document.id, number), sent.date).await?;
    Ok(pending(document.id, number, Action::Updated))
}

const fn pending(document: DocumentId, version: u32, action: Action) -> Accepted {
    Accepted {
        document,
        version,
        action,
        state: DocumentState::Pending,
        to_parse: true,
    }
}

/// The document with the key among those the sender can see.
async fn known(tx: &mut Tx, kb: KbId, sent: &Accept<'_>) -> Result<Option<Document>> {
    let mut found = Vec::new();
    for least_role in Role::ALL.into_iter().filter(|&least| least <= sent.role) {
        let stored = sent.key.stored(least_role);
        found.extend(documents::find_by_key(tx, kb, &stored).await?);
    }
    let Some(asked) = sent.least_role else {
        return match found.len() {
            0 | 1 => Ok(found.pop()),
            _ => Err(Error::new(
                Code::Conflict,
                "documents for several roles have this key; say with `least_role` which one it is",
            )),
        };
    };
    let taken = found.first().map(|document| document.least_role);
    let same = found
        .into_iter()
        .find(|document| document.least_role == asked);
    match (same, taken) {
        (Some(document), _) => Ok(Some(document)),
        (None, None) => Ok(None),
        (None, Some(taken)) => Err(Error::new(
            Code::Conflict,
            format!(
                "the document with this key is for `{taken}` and above, not for `{asked}`; leave `least_role` out to add a version to it, or take another key"
            ),
        )),
    }
}

/// Whether what was sent is the document's latest version.
async fn is_latest(tx: &mut Tx, kb: KbId, document: &Document, sent: &Accept<'_>) -> Result<bool> {
    let Some(latest) = documents::version(tx, kb, (document.id, document.version)).await? else {
        return Ok(false);
    };
    let same_date = sent
        .date
        .is_none_or(|date| latest.document_date == Some(date.to_string()));
    Ok(latest.blob_hash == sent.blob_hash && same_date)
}

/// A known version that was sent again.
async fn again(tx: &mut Tx, kb: KbId, document: &Document, at: RecordTime) -> Result<Accepted> {
    let (id, version) = (document.id, document.version);
    let mut accepted = Accepted {
        document: id,
        version,
        action: Action::Unchanged,
        state: document.state,
        to_parse: document.state == DocumentState::Failed,
    };
    if accepted.to_parse {
        accepted.state = DocumentState::Pending;
        documents::set_state(tx, kb, (id, version), accepted.state, None, at).await?;
    }
    Ok(accepted)
}

/// Keeps the sender's date until the content is read.
pub(super) async fn put_date(
    tx: &mut Tx,
    kb: KbId,
    version: (DocumentId, u32),
    date: Option<WorldTime>,
) -> Result<()> {
    let Some(date) = date.map(|date| date.to_string()) else {
        return Ok(());
    };
    let parsed = Parsed {
        media_type: None,
        title: None,
        document_date: Some(&date),
        date_source: Some(DateSource::Source.name()),
        left_out: &[],
        char_count: 0,
    };
    Ok(documents::put_parsed(tx, kb, version, &parsed, &[]).await?)
}
