//! What a source says of its documents: here is one, here it is again, it is no longer there.

use model::document::DateSource;
use model::{DocumentId, Error, KbId, RecordTime, Result, Role, SourceId, WorldTime};
use store::documents::{self, Document, DocumentState, NewDocument, NewVersion, Version};
use store::{Tx, bases, sources};

use super::accept::{UNREAD, put_date};
use super::{ExternalKey, remove};

/// A document that its source has, its bytes already kept in the blob store.
#[derive(Debug, Clone)]
pub struct Push<'a> {
    /// The source.
    pub source: SourceId,
    /// The lowest role that is to see it: the source's.
    pub least_role: Role,
    /// Which document of the source it is.
    pub key: &'a ExternalKey,
    /// Its name for people, now.
    pub filename: &'a str,
    /// The date that the source gives it.
    pub date: Option<WorldTime>,
    /// SHA-256 of its bytes.
    pub blob_hash: [u8; 32],
    /// Bytes.
    pub size: u64,
    /// The id it gets if it is not known yet.
    pub fresh_id: DocumentId,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushAction {
    /// It was not known.
    Created,
    /// It has another content or date, or it was missing and came back.
    Updated,
    /// It has another name and nothing else changed.
    Moved,
    /// It is what it was.
    Unchanged,
    /// It is no longer in its source, and deleted here; a later push brings it back.
    MarkedMissing,
}

/// What is left to a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Nothing.
    Nothing,
    /// The version is to be read.
    Parse,
    /// The version is held, and the search is to follow.
    Index,
}

/// A document after its source spoke of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pushed {
    /// Which document it is.
    pub document: DocumentId,
    /// Its latest version.
    pub version: u32,
    /// What became of it.
    pub action: PushAction,
    /// What is left to a worker.
    pub work: Work,
}

impl Pushed {
    const fn unchanged(document: &Document) -> Self {
        Self {
            document: document.id,
            version: document.version,
            action: PushAction::Unchanged,
            work: Work::Nothing,
        }
    }
}

/// Whether what was sent differs from the latest version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Nothing,
    Name,
    Content,
}

fn change(document: &Document, latest: &Version, sent: &Push<'_>) -> Change {
    let same_date = sent
        .date
        .is_none_or(|date| latest.document_date == Some(date.to_string()));
    if latest.blob_hash != sent.blob_hash || !same_date {
        Change::Content
    } else if document.filename == sent.filename {
        Change::Nothing
    } else {
        Change::Name
    }
}

/// The date that the source gave these bytes before.
fn given_date(latest: &Version, sent: &Push<'_>) -> Option<WorldTime> {
    let given = latest.date_source.as_deref() == Some(DateSource::Source.name());
    let date = latest.document_date.as_ref();
    date.filter(|_| given && latest.blob_hash == sent.blob_hash)
        .and_then(|date| date.parse().ok())
}

async fn known(
    tx: &mut Tx,
    kb: KbId,
    key: &ExternalKey,
    source: SourceId,
) -> Result<Option<Document>> {
    Ok(documents::find_by_key(tx, kb, &key.of_source(source)).await?)
}

async fn latest(tx: &mut Tx, kb: KbId, document: &Document) -> Result<Version> {
    documents::version(tx, kb, (document.id, document.version))
        .await?
        .ok_or_else(|| Error::internal("a document has no latest version"))
}

/// The document, if it is what was sent and there is nothing to do. Only reads.
pub async fn standing(tx: &mut Tx, kb: KbId, sent: &Push<'_>) -> Result<Option<Pushed>> {
    let Some(document) = known(tx, kb, sent.key, sent.source).await? else {
        return Ok(None);
    };
    let settled = document.deleted_at.is_none()
        && document.state != DocumentState::Failed
        && sources::missing_at(tx, kb, document.id).await?.is_none()
        && change(&document, &latest(tx, kb, &document).await?, sent) == Change::Nothing;
    Ok(settled.then(|| Pushed::unchanged(&document)))
}

/// Whether a person deleted the document, and its source still has the same bytes. Only reads.
///
/// A source that is looked at again and again (pages that are pulled) would else bring it back
/// each time.
pub async fn is_set_aside(
    tx: &mut Tx,
    kb: KbId,
    (source, key): (SourceId, &ExternalKey),
    blob_hash: [u8; 32],
) -> Result<bool> {
    let Some(document) = known(tx, kb, key, source).await? else {
        return Ok(false);
    };
    let by_source = sources::missing_at(tx, kb, document.id).await?.is_some();
    Ok(document.deleted_at.is_some()
        && !by_source
        && latest(tx, kb, &document).await?.blob_hash == blob_hash)
}

/// Takes in what a source has under a key.
///
/// Other content or another name is the next version; the one before stays searchable until that
/// one is read. What is the same changes nothing, but is tried again if it could not be read.
/// What was deleted comes back, at once if it is what it was.
pub async fn push(tx: &mut Tx, kb: KbId, sent: &Push<'_>, now: RecordTime) -> Result<Pushed> {
    // One writer at a time, so that the same key cannot be added twice at once.
    let at = bases::advance_clock(tx, kb, now).await?;
    let Some(document) = known(tx, kb, sent.key, sent.source).await? else {
        return create(tx, kb, sent, at).await;
    };
    sources::put_item(tx, kb, (document.id, sent.source), None).await?;
    let latest = latest(tx, kb, &document).await?;
    let change = change(&document, &latest, sent);
    let sent = &Push {
        date: sent.date.or(given_date(&latest, sent)),
        ..sent.clone()
    };
    match (document.deleted_at, change) {
        (None, Change::Nothing) => again(tx, kb, &document, at).await,
        (None, Change::Name) => succeed(tx, kb, &document, sent, (PushAction::Moved, at)).await,
        (None, Change::Content) => {
            succeed(tx, kb, &document, sent, (PushAction::Updated, at)).await
        }
        (Some(_), Change::Nothing) => revive(tx, kb, &document, sent, now).await,
        (Some(_), Change::Name | Change::Content) => {
            documents::undelete(tx, kb, document.id, at).await?;
            succeed(tx, kb, &document, sent, (PushAction::Updated, at)).await
        }
    }
}

fn version<'a>(sent: &Push<'a>, accepted_at: RecordTime) -> NewVersion<'a> {
    NewVersion {
        blob_hash: sent.blob_hash,
        size: sent.size,
        media_type: UNREAD,
        filename: sent.filename,
        accepted_at,
    }
}

async fn create(tx: &mut Tx, kb: KbId, sent: &Push<'_>, at: RecordTime) -> Result<Pushed> {
    let id = sent.fresh_id;
    let new = NewDocument {
        id,
        external_key: &sent.key.of_source(sent.source),
        least_role: sent.least_role,
    };
    documents::add(tx, kb, &new, &version(sent, at)).await?;
    put_date(tx, kb, (id, 1), sent.date).await?;
    sources::put_item(tx, kb, (id, sent.source), None).await?;
    Ok(Pushed {
        document: id,
        version: 1,
        action: PushAction::Created,
        work: Work::Parse,
    })
}

async fn again(tx: &mut Tx, kb: KbId, document: &Document, at: RecordTime) -> Result<Pushed> {
    let mut pushed = Pushed::unchanged(document);
    if document.state == DocumentState::Failed {
        let this = (document.id, document.version);
        documents::set_state(tx, kb, this, DocumentState::Pending, None, at).await?;
        pushed.work = Work::Parse;
    }
    Ok(pushed)
}

async fn succeed(
    tx: &mut Tx,
    kb: KbId,
    document: &Document,
    sent: &Push<'_>,
    (action, at): (PushAction, RecordTime),
) -> Result<Pushed> {
    let number = documents::add_version(tx, kb, document.id, &version(sent, at)).await?;
    let number = number.ok_or_else(|| Error::internal("a document vanished under its lock"))?;
    put_date(tx, kb, (document.id, number), sent.date).await?;
    Ok(Pushed {
        document: document.id,
        version: number,
        action,
        work: Work::Parse,
    })
}

async fn revive(
    tx: &mut Tx,
    kb: KbId,
    document: &Document,
    sent: &Push<'_>,
    now: RecordTime,
) -> Result<Pushed> {
    let revived = remove::restore(tx, kb, document.id, now).await?;
    let revived = revived.ok_or_else(|| Error::internal("a document vanished under its lock"))?;
    if revived.to_parse {
        put_date(tx, kb, (document.id, revived.version), sent.date).await?;
    }
    Ok(Pushed {
        document: document.id,
        version: revived.version,
        action: PushAction::Updated,
        work: if revived.to_parse {
            Work::Parse
        } else {
            Work::Index
        },
    })
}

/// Takes in that a source no longer has what it had under a key: it is deleted here. None if the
/// source never had it; nothing changes if that is known already.
pub async fn mark_missing(
    tx: &mut Tx,
    kb: KbId,
    (source, key): (SourceId, &ExternalKey),
    now: RecordTime,
) -> Result<Option<Pushed>> {
    let at = bases::advance_clock(tx, kb, now).await?;
    let Some(document) = known(tx, kb, key, source).await? else {
        return Ok(None);
    };
    let since = sources::missing_at(tx, kb, document.id).await?;
    if since.is_some() && document.deleted_at.is_some() {
        return Ok(Some(Pushed::unchanged(&document)));
    }
    remove::delete(tx, kb, document.id, now).await?;
    sources::put_item(tx, kb, (document.id, source), Some(at)).await?;
    Ok(Some(Pushed {
        action: PushAction::MarkedMissing,
        ..Pushed::unchanged(&document)
    }))
}
