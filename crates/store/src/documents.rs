//! Documents, their immutable versions, and the sections of those.

use std::collections::BTreeSet;
use std::str::FromStr;

use model::{DocumentId, KbId, RecordTime, Role};

use crate::statement::statements;
use crate::value::{Param, Row, json, params};
use crate::{StoreError, Tx};

/// Where the latest version of a document stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocumentState {
    /// Accepted, and waiting for a worker.
    Pending,
    /// Its text is being read.
    Parsing,
    /// Its passages are being indexed.
    Indexing,
    /// Its passages can be searched by words; their vectors are being made.
    Embedding,
    /// Done.
    Ready,
    /// Given up; the reason stands beside it.
    Failed,
}

impl DocumentState {
    /// Every state, in the order they are passed through.
    pub const ALL: [DocumentState; 6] = [
        DocumentState::Pending,
        DocumentState::Parsing,
        DocumentState::Indexing,
        DocumentState::Embedding,
        DocumentState::Ready,
        DocumentState::Failed,
    ];

    /// Its name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            DocumentState::Pending => "pending",
            DocumentState::Parsing => "parsing",
            DocumentState::Indexing => "indexing",
            DocumentState::Embedding => "embedding",
            DocumentState::Ready => "ready",
            DocumentState::Failed => "failed",
        }
    }
}

/// The text names no state of a document.
#[derive(Debug, thiserror::Error)]
#[error(
    "a document is `pending`, `parsing`, `indexing`, `embedding`, `ready` or `failed`, not `{0}`"
)]
pub struct NotADocumentState(String);

impl FromStr for DocumentState {
    type Err = NotADocumentState;

    fn from_str(text: &str) -> Result<Self, NotADocumentState> {
        DocumentState::ALL
            .into_iter()
            .find(|state| state.name() == text)
            .ok_or_else(|| NotADocumentState(text.to_owned()))
    }
}

/// A document, over all its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub id: DocumentId,
    /// What its sender knows it by; one of a kind in the base.
    pub external_key: String,
    pub filename: String,
    /// The lowest role that sees it.
    pub least_role: Role,
    pub state: DocumentState,
    /// Why it failed, in a sentence.
    pub failure: Option<String>,
    /// The latest version that was accepted, from 1.
    pub version: u32,
    /// The version that can be searched and read now.
    pub held_version: Option<u32>,
    pub created_at: RecordTime,
    pub updated_at: RecordTime,
    pub deleted_at: Option<RecordTime>,
    pub purged_at: Option<RecordTime>,
}

/// A document to be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewDocument<'a> {
    pub id: DocumentId,
    pub external_key: &'a str,
    pub least_role: Role,
}

/// Content to be added as a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewVersion<'a> {
    /// SHA-256 of its bytes, which the blobs keep.
    pub blob_hash: [u8; 32],
    /// Bytes.
    pub size: u64,
    pub media_type: &'a str,
    pub filename: &'a str,
    pub accepted_at: RecordTime,
}

/// One immutable version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    pub document: DocumentId,
    pub version: u32,
    pub blob_hash: [u8; 32],
    /// Bytes.
    pub size: u64,
    pub media_type: String,
    pub filename: String,
    pub accepted_at: RecordTime,
    /// Held from then on; none until it was published.
    pub recorded_at: Option<RecordTime>,
    /// Held until then: superseded, deleted or purged.
    pub invalidated_at: Option<RecordTime>,
    pub title: Option<String>,
    /// As `model::WorldTime` writes it.
    pub document_date: Option<String>,
    /// As `model::document::DateSource` names it.
    pub date_source: Option<String>,
    /// What could not be read, a sentence each.
    pub left_out: Vec<String>,
    /// Unicode scalar values in all sections' bodies.
    pub char_count: u64,
    /// Ordinals of its chunks in reading order, once indexed.
    pub chunk_order: Option<Vec<i64>>,
}

/// What reading a version's bytes brought to light, besides the sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parsed<'a> {
    /// What it is; none leaves it as it is.
    pub media_type: Option<&'a str>,
    pub title: Option<&'a str>,
    pub document_date: Option<&'a str>,
    pub date_source: Option<&'a str>,
    pub left_out: &'a [String],
    pub char_count: u64,
}

/// A heading's text within a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSection {
    /// Place in reading order, from 0.
    pub seq: u32,
    pub heading_path: Vec<String>,
    pub body: String,
    /// Unicode scalar values in all bodies before this one.
    pub char_start: u64,
    /// Unicode scalar values in this body.
    pub char_count: u64,
}

/// Which documents a page lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listing {
    /// The asker's role: documents that need a higher one are not there.
    pub role: Role,
    pub state: Option<DocumentState>,
    /// Whether deleted documents are listed instead of the others. Purged ones never are.
    pub deleted: bool,
}

/// How many documents are in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateCount {
    pub state: DocumentState,
    pub documents: u64,
}

statements! {
    tenant {
        INSERT: "INSERT INTO document (tenant_id, base_id, id, external_key, filename, least_role, state, version, created_at, updated_at) \
            VALUES ($1, $2, $3, $4, $5, $6, 'pending', 1, $7, $7)",
        INSERT_VERSION: "INSERT INTO document_version (tenant_id, base_id, document_id, version, blob_hash, size, media_type, filename, accepted_at, left_out, char_count) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, '[]', 0)",
        NEXT_VERSION: "UPDATE document SET version = version + 1, state = 'pending', failure = NULL, filename = $4, updated_at = $5 \
            WHERE tenant_id = $1 AND base_id = $2 AND id = $3 AND purged_at IS NULL RETURNING version",
        FIND: "SELECT id, external_key, filename, least_role, state, failure, version, held_version, created_at, updated_at, deleted_at, purged_at \
            FROM document WHERE tenant_id = $1 AND base_id = $2 AND id = $3",
        FIND_MANY: "SELECT id, external_key, filename, least_role, state, failure, version, held_version, created_at, updated_at, deleted_at, purged_at \
            FROM document WHERE tenant_id = $1 AND base_id = $2 AND id = ANY($3)",
        AFTER: "SELECT id, external_key, filename, least_role, state, failure, version, held_version, created_at, updated_at, deleted_at, purged_at \
            FROM document WHERE tenant_id = $1 AND base_id = $2 AND id > $3 ORDER BY id LIMIT $4",
        BY_KEY: "SELECT id, external_key, filename, least_role, state, failure, version, held_version, created_at, updated_at, deleted_at, purged_at \
            FROM document WHERE tenant_id = $1 AND base_id = $2 AND external_key = $3",
        SET_STATE: "UPDATE document SET state = $5, failure = $6, updated_at = $7 \
            WHERE tenant_id = $1 AND base_id = $2 AND id = $3 AND version = $4 AND purged_at IS NULL",
        SET_LEAST_ROLE: "UPDATE document SET external_key = $4, least_role = $5, updated_at = $6 WHERE tenant_id = $1 AND base_id = $2 AND id = $3 AND purged_at IS NULL",
        SET_PARSED: "UPDATE document_version SET title = $5, document_date = $6, date_source = $7, left_out = $8, char_count = $9, media_type = COALESCE($10, media_type) \
            WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 AND version = $4",
        CLEAR_SECTIONS: "DELETE FROM section WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 AND version = $4",
        INSERT_SECTION: "INSERT INTO section (tenant_id, base_id, document_id, version, seq, heading_path, body, char_start, char_count) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        SET_CHUNK_ORDER: "UPDATE document_version SET chunk_order = $5 WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 AND version = $4",
        RENUMBER: "UPDATE document_version SET chunk_order = $5, renumbered_at = $6 WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 AND version = $4",
        INVALIDATE: "UPDATE document_version SET invalidated_at = $4 \
            WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 AND recorded_at IS NOT NULL AND invalidated_at IS NULL",
        RECORD: "UPDATE document_version SET recorded_at = $5 \
            WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 AND version = $4 AND recorded_at IS NULL",
        HOLD: "UPDATE document SET held_version = $4, updated_at = $5 \
            WHERE tenant_id = $1 AND base_id = $2 AND id = $3 AND deleted_at IS NULL AND purged_at IS NULL AND (held_version IS NULL OR held_version < $4)",
        OF_LEAST_ROLES: "SELECT id FROM document WHERE tenant_id = $1 AND base_id = $2 AND least_role = ANY($3) LIMIT $4",
        PAGE: "SELECT id, external_key, filename, least_role, state, failure, version, held_version, created_at, updated_at, deleted_at, purged_at \
            FROM document WHERE tenant_id = $1 AND base_id = $2 AND (created_at, id) > ($3, $4) AND least_role = ANY($5) AND state = ANY($6) \
            AND purged_at IS NULL AND (deleted_at IS NOT NULL) = $7 ORDER BY created_at, id LIMIT $8",
        STATS: "SELECT state, COUNT(*) FROM document WHERE tenant_id = $1 AND base_id = $2 AND least_role = ANY($3) \
            AND deleted_at IS NULL AND purged_at IS NULL GROUP BY state ORDER BY state",
        VERSIONS: "SELECT document_id, version, blob_hash, size, media_type, filename, accepted_at, recorded_at, invalidated_at, title, document_date, date_source, left_out, char_count, chunk_order \
            FROM document_version WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 ORDER BY version DESC",
        VERSION: "SELECT document_id, version, blob_hash, size, media_type, filename, accepted_at, recorded_at, invalidated_at, title, document_date, date_source, left_out, char_count, chunk_order \
            FROM document_version WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 AND version = $4",
        VERSION_AT: "SELECT document_id, version, blob_hash, size, media_type, filename, accepted_at, recorded_at, invalidated_at, title, document_date, date_source, left_out, char_count, chunk_order \
            FROM document_version WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 AND +recorded_at <= $4 AND (invalidated_at IS NULL OR invalidated_at > $4)",
        HELD_AT: "SELECT document_id, version, blob_hash, size, media_type, filename, accepted_at, recorded_at, invalidated_at, title, document_date, date_source, left_out, char_count, chunk_order \
            FROM document_version WHERE tenant_id = $1 AND base_id = $2 AND document_id = ANY($3) AND +recorded_at <= $4 AND (invalidated_at IS NULL OR invalidated_at > $4)",
        ORDERS_SINCE: "SELECT recorded_at, document_id, chunk_order FROM document_version \
            WHERE tenant_id = $1 AND base_id = $2 AND recorded_at > $3 AND chunk_order IS NOT NULL \
            UNION ALL SELECT recorded_at, document_id, chunk_order FROM document_version \
            WHERE tenant_id = $1 AND base_id = $2 AND renumbered_at > $3 AND +recorded_at <= $3 AND chunk_order IS NOT NULL ORDER BY 1, 2",
        SECTIONS: "SELECT seq, heading_path, body, char_start, char_count FROM section \
            WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 AND version = $4 AND char_start < $6 \
            AND (char_start + char_count > $5 OR (char_count = 0 AND char_start >= $5)) ORDER BY seq",
        DELETE: "UPDATE document SET deleted_at = $4, held_version = NULL, updated_at = $4 \
            WHERE tenant_id = $1 AND base_id = $2 AND id = $3 AND deleted_at IS NULL AND purged_at IS NULL",
        COUNT_SECTIONS: "SELECT COUNT(*) FROM section WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 AND version = $4",
        LAST_HELD: "SELECT MAX(version) FROM document_version WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 AND recorded_at IS NOT NULL AND invalidated_at = $4",
        UNDELETE: "UPDATE document SET deleted_at = NULL, updated_at = $4 WHERE tenant_id = $1 AND base_id = $2 AND id = $3",
        BUMP: "UPDATE document SET version = version + 1, state = 'ready', failure = NULL WHERE tenant_id = $1 AND base_id = $2 AND id = $3 RETURNING version",
        COPY_VERSION: "INSERT INTO document_version (tenant_id, base_id, document_id, version, blob_hash, size, media_type, filename, accepted_at, title, document_date, date_source, left_out, char_count) \
            SELECT tenant_id, base_id, document_id, CAST($5 AS BIGINT), blob_hash, size, media_type, filename, CAST($6 AS BIGINT), title, document_date, date_source, left_out, char_count \
            FROM document_version WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 AND version = $4",
        COPY_SECTIONS: "INSERT INTO section (tenant_id, base_id, document_id, version, seq, heading_path, body, char_start, char_count) \
            SELECT tenant_id, base_id, document_id, CAST($5 AS BIGINT), seq, heading_path, body, char_start, char_count \
            FROM section WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 AND version = $4",
        PURGE: "UPDATE document SET external_key = $4, filename = $4, failure = NULL, held_version = NULL, purged_at = $5, updated_at = $5, \
            deleted_at = CASE WHEN deleted_at IS NULL THEN $5 ELSE deleted_at END \
            WHERE tenant_id = $1 AND base_id = $2 AND id = $3 AND purged_at IS NULL",
        PURGE_VERSIONS: "UPDATE document_version SET filename = $4, title = NULL, document_date = NULL, date_source = NULL, left_out = '[]' \
            WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3",
        PURGE_SECTIONS: "DELETE FROM section WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3",
        BLOBS: "SELECT blob_hash FROM document_version WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3",
        REFERENCED: "SELECT 1 FROM document_version JOIN document ON document.tenant_id = document_version.tenant_id AND document.base_id = document_version.base_id AND document.id = document_version.document_id \
            WHERE document_version.tenant_id = $1 AND document_version.base_id = $2 AND document_version.blob_hash = $3 AND document.purged_at IS NULL LIMIT 1",
    }
}

fn read(row: &mut Row) -> Result<Document, StoreError> {
    Ok(Document {
        id: row.take()?,
        external_key: row.take()?,
        filename: row.take()?,
        least_role: row.named()?,
        state: row.named()?,
        failure: row.take()?,
        version: row.take()?,
        held_version: row.take()?,
        created_at: row.take()?,
        updated_at: row.take()?,
        deleted_at: row.take()?,
        purged_at: row.take()?,
    })
}

fn read_version(row: &mut Row) -> Result<Version, StoreError> {
    Ok(Version {
        document: row.take()?,
        version: row.take()?,
        blob_hash: row.take()?,
        size: row.take()?,
        media_type: row.take()?,
        filename: row.take()?,
        accepted_at: row.take()?,
        recorded_at: row.take()?,
        invalidated_at: row.take()?,
        title: row.take()?,
        document_date: row.take()?,
        date_source: row.take()?,
        left_out: row.texts()?,
        char_count: row.take()?,
        chunk_order: row.take::<Option<Vec<u8>>>()?.map(|bytes| unpack(&bytes)),
    })
}

/// Ordinals, 8 bytes each, the most significant first.
fn pack(ordinals: &[i64]) -> Vec<u8> {
    ordinals
        .iter()
        .flat_map(|ordinal| ordinal.to_be_bytes())
        .collect()
}

pub(crate) fn unpack(bytes: &[u8]) -> Vec<i64> {
    let (ordinals, _) = bytes.as_chunks::<8>();
    ordinals
        .iter()
        .map(|ordinal| i64::from_be_bytes(*ordinal))
        .collect()
}

/// The names of the roles that a person of this role counts as.
pub(crate) fn roles_up_to(role: Role) -> Vec<&'static str> {
    Role::ALL
        .into_iter()
        .filter(|least| *least <= role)
        .map(Role::name)
        .collect()
}

/// Adds a document with its first version, pending.
///
/// # Errors
/// `Unique` if the base has a document with this external key.
pub async fn add(
    tx: &mut Tx,
    kb: KbId,
    document: &NewDocument<'_>,
    version: &NewVersion<'_>,
) -> Result<(), StoreError> {
    let row = params![
        kb,
        document.id,
        document.external_key,
        version.filename,
        document.least_role,
        version.accepted_at,
    ];
    tx.execute(&INSERT, row).await?;
    insert_version(tx, kb, document.id, 1, version).await
}

/// Adds a version to a document, which is then pending; its number, or none if there is no such
/// document or it was purged. The version held until now stays held.
pub async fn add_version(
    tx: &mut Tx,
    kb: KbId,
    id: DocumentId,
    version: &NewVersion<'_>,
) -> Result<Option<u32>, StoreError> {
    let row = params![kb, id, version.filename, version.accepted_at];
    let Some(mut row) = tx.row(&NEXT_VERSION, row).await? else {
        return Ok(None);
    };
    let number: u32 = row.take()?;
    insert_version(tx, kb, id, number, version).await?;
    Ok(Some(number))
}

async fn insert_version(
    tx: &mut Tx,
    kb: KbId,
    id: DocumentId,
    number: u32,
    version: &NewVersion<'_>,
) -> Result<(), StoreError> {
    let row = params![
        kb,
        id,
        number,
        &version.blob_hash,
        version.size,
        version.media_type,
        version.filename,
        version.accepted_at,
    ];
    tx.execute(&INSERT_VERSION, row).await.map(drop)
}

/// The document with this id, deleted and purged ones too.
pub async fn find(tx: &mut Tx, kb: KbId, id: DocumentId) -> Result<Option<Document>, StoreError> {
    tx.row(&FIND, params![kb, id])
        .await?
        .as_mut()
        .map(read)
        .transpose()
}

/// The documents with these ids, in no order.
pub async fn find_many(
    tx: &mut Tx,
    kb: KbId,
    ids: &[DocumentId],
) -> Result<Vec<Document>, StoreError> {
    tx.rows(&FIND_MANY, params![kb, ids])
        .await?
        .iter_mut()
        .map(read)
        .collect()
}

/// Documents after an id, whatever became of them, by id: for walking all of them.
pub async fn after(
    tx: &mut Tx,
    kb: KbId,
    after: DocumentId,
    limit: u32,
) -> Result<Vec<Document>, StoreError> {
    tx.rows(&AFTER, params![kb, after, limit])
        .await?
        .iter_mut()
        .map(read)
        .collect()
}

/// Documents that a role does not suffice for, in no order, `limit` at most.
pub async fn hidden_from(
    tx: &mut Tx,
    kb: KbId,
    role: Role,
    limit: u32,
) -> Result<Vec<DocumentId>, StoreError> {
    let above = Role::ALL.into_iter().filter(|&least| role < least);
    let above: Vec<&str> = above.map(Role::name).collect();
    let rows = tx.rows(&OF_LEAST_ROLES, params![kb, above, limit]).await?;
    rows.into_iter().map(|mut row| row.take()).collect()
}

/// The document that its sender knows by this key.
pub async fn find_by_key(
    tx: &mut Tx,
    kb: KbId,
    external_key: &str,
) -> Result<Option<Document>, StoreError> {
    tx.row(&BY_KEY, params![kb, external_key])
        .await?
        .as_mut()
        .map(read)
        .transpose()
}

/// Moves a document on; false if `version` is no longer its latest, or it was purged.
pub async fn set_state(
    tx: &mut Tx,
    kb: KbId,
    (id, version): (DocumentId, u32),
    state: DocumentState,
    failure: Option<&str>,
    at: RecordTime,
) -> Result<bool, StoreError> {
    let row = params![kb, id, version, state.name(), failure, at];
    Ok(tx.execute(&SET_STATE, row).await? == 1)
}

/// Sets the lowest role that sees a document, and its key, which depends on that; the chunks' is
/// set by `chunks::set_least_role`. False if there is no such document or it was purged.
///
/// # Errors
/// `Unique` if the base has another document with this external key.
pub async fn set_least_role(
    tx: &mut Tx,
    kb: KbId,
    id: DocumentId,
    (external_key, least_role): (&str, Role),
    at: RecordTime,
) -> Result<bool, StoreError> {
    let row = params![kb, id, external_key, least_role, at];
    Ok(tx.execute(&SET_LEAST_ROLE, row).await? == 1)
}

/// Stores what was read from a version's bytes, in place of an earlier attempt's.
pub async fn put_parsed(
    tx: &mut Tx,
    kb: KbId,
    (id, version): (DocumentId, u32),
    parsed: &Parsed<'_>,
    sections: &[StoredSection],
) -> Result<(), StoreError> {
    let row = params![
        kb,
        id,
        version,
        parsed.title,
        parsed.document_date,
        parsed.date_source,
        json(parsed.left_out),
        parsed.char_count,
        parsed.media_type,
    ];
    tx.execute(&SET_PARSED, row).await?;
    tx.execute(&CLEAR_SECTIONS, params![kb, id, version])
        .await?;
    let rows: Vec<Vec<Param<'_>>> = sections
        .iter()
        .map(|section| {
            params![
                kb,
                id,
                version,
                section.seq,
                json(&section.heading_path),
                &section.body,
                section.char_start,
                section.char_count,
            ]
            .to_vec()
        })
        .collect();
    tx.bulk(&INSERT_SECTION, &rows).await.map(drop)
}

/// Writes the ordinals that a document's chunks have now into the reading orders of its versions.
///
/// `pairs` are old and new ones, the old in order; `at` is the transaction's record time.
pub async fn renumber(
    tx: &mut Tx,
    kb: KbId,
    id: DocumentId,
    pairs: &[(i64, i64)],
    at: RecordTime,
) -> Result<(), StoreError> {
    let new = |old: i64| {
        let place = pairs.binary_search_by_key(&old, |pair| pair.0);
        place.map_or(old, |place| pairs[place].1)
    };
    for version in versions(tx, kb, id).await? {
        if let Some(order) = version.chunk_order {
            let order: Vec<i64> = order.into_iter().map(new).collect();
            let row = params![kb, id, version.version, pack(&order), at];
            tx.execute(&RENUMBER, row).await?;
        }
    }
    Ok(())
}

/// The reading orders of versions published or renumbered after a record time, oldest first:
/// ordinals each.
pub async fn chunk_orders_since(
    tx: &mut Tx,
    kb: KbId,
    after: RecordTime,
) -> Result<Vec<Vec<i64>>, StoreError> {
    let rows = tx.rows(&ORDERS_SINCE, params![kb, after]).await?;
    rows.into_iter()
        .map(|mut row| {
            let (_, _): (RecordTime, DocumentId) = (row.take()?, row.take()?);
            Ok(unpack(&row.take::<Vec<u8>>()?))
        })
        .collect()
}

/// Stores the order in which a version's chunks are read.
pub async fn set_chunk_order(
    tx: &mut Tx,
    kb: KbId,
    (id, version): (DocumentId, u32),
    ordinals: &[i64],
) -> Result<(), StoreError> {
    tx.execute(&SET_CHUNK_ORDER, params![kb, id, version, pack(ordinals)])
        .await
        .map(drop)
}

/// Holds `version` from `at` on, in place of the one held until then. False, and nothing changed,
/// if the document was deleted or purged, or a later version is held.
///
/// `at` is the transaction's record time.
pub async fn publish(
    tx: &mut Tx,
    kb: KbId,
    (id, version): (DocumentId, u32),
    at: RecordTime,
) -> Result<bool, StoreError> {
    if tx.execute(&HOLD, params![kb, id, version, at]).await? == 0 {
        return Ok(false);
    }
    tx.execute(&INVALIDATE, params![kb, id, at]).await?;
    tx.execute(&RECORD, params![kb, id, version, at]).await?;
    Ok(true)
}

/// Documents in the order they were added, those after the cursor.
pub async fn page(
    tx: &mut Tx,
    kb: KbId,
    listing: &Listing,
    after: Option<(RecordTime, DocumentId)>,
    limit: u32,
) -> Result<Vec<Document>, StoreError> {
    let (created_at, id) = after.unwrap_or((
        RecordTime::from_micros(i64::MIN),
        DocumentId::new(uuid::Uuid::nil()),
    ));
    let states = match listing.state {
        Some(state) => vec![state.name()],
        None => DocumentState::ALL.map(DocumentState::name).to_vec(),
    };
    let row = params![
        kb,
        created_at,
        id,
        roles_up_to(listing.role),
        states,
        listing.deleted,
        limit,
    ];
    tx.rows(&PAGE, row).await?.iter_mut().map(read).collect()
}

/// How many documents that `role` sees are in each state; states without any are left out.
pub async fn stats(tx: &mut Tx, kb: KbId, role: Role) -> Result<Vec<StateCount>, StoreError> {
    let rows = tx.rows(&STATS, params![kb, roles_up_to(role)]).await?;
    rows.into_iter()
        .map(|mut row| {
            Ok(StateCount {
                state: row.named()?,
                documents: row.take()?,
            })
        })
        .collect()
}

/// Every version of a document, latest first.
pub async fn versions(tx: &mut Tx, kb: KbId, id: DocumentId) -> Result<Vec<Version>, StoreError> {
    tx.rows(&VERSIONS, params![kb, id])
        .await?
        .iter_mut()
        .map(read_version)
        .collect()
}

/// One version of a document.
pub async fn version(
    tx: &mut Tx,
    kb: KbId,
    (id, version): (DocumentId, u32),
) -> Result<Option<Version>, StoreError> {
    tx.row(&VERSION, params![kb, id, version])
        .await?
        .as_mut()
        .map(read_version)
        .transpose()
}

/// The version that was held at a moment.
pub async fn version_at(
    tx: &mut Tx,
    kb: KbId,
    id: DocumentId,
    as_of: RecordTime,
) -> Result<Option<Version>, StoreError> {
    tx.row(&VERSION_AT, params![kb, id, as_of])
        .await?
        .as_mut()
        .map(read_version)
        .transpose()
}

/// The versions of these documents that were held at a moment, in no order.
pub async fn versions_at(
    tx: &mut Tx,
    kb: KbId,
    ids: &[DocumentId],
    as_of: RecordTime,
) -> Result<Vec<Version>, StoreError> {
    tx.rows(&HELD_AT, params![kb, ids, as_of])
        .await?
        .iter_mut()
        .map(read_version)
        .collect()
}

/// The sections that share text with `count` characters from `start` on, in reading order; a bare
/// heading counts where it stands.
pub async fn sections(
    tx: &mut Tx,
    kb: KbId,
    (id, version): (DocumentId, u32),
    start: u64,
    count: u64,
) -> Result<Vec<StoredSection>, StoreError> {
    // Kept within what the engines can count.
    let start = start.min(i64::MAX as u64);
    let end = start.saturating_add(count).min(i64::MAX as u64);
    let rows = tx
        .rows(&SECTIONS, params![kb, id, version, start, end])
        .await?;
    rows.into_iter()
        .map(|mut row| {
            Ok(StoredSection {
                seq: row.take()?,
                heading_path: row.texts()?,
                body: row.take()?,
                char_start: row.take()?,
                char_count: row.take()?,
            })
        })
        .collect()
}

/// How many sections a version has.
pub async fn count_sections(
    tx: &mut Tx,
    kb: KbId,
    (id, version): (DocumentId, u32),
) -> Result<u32, StoreError> {
    match tx.row(&COUNT_SECTIONS, params![kb, id, version]).await? {
        Some(mut row) => row.take(),
        None => Ok(0),
    }
}

/// Takes back a deletion without holding anything again: the document waits for a version.
pub async fn undelete(
    tx: &mut Tx,
    kb: KbId,
    id: DocumentId,
    at: RecordTime,
) -> Result<(), StoreError> {
    tx.execute(&UNDELETE, params![kb, id, at]).await.map(drop)
}

/// Deletes a document: nothing of it is held from `at` on. False if it was deleted already.
///
/// `at` is the transaction's record time. Its chunks are closed by `chunks::close_document`.
pub async fn delete(
    tx: &mut Tx,
    kb: KbId,
    id: DocumentId,
    at: RecordTime,
) -> Result<bool, StoreError> {
    if tx.execute(&DELETE, params![kb, id, at]).await? == 0 {
        return Ok(false);
    }
    tx.execute(&INVALIDATE, params![kb, id, at]).await?;
    Ok(true)
}

/// What a restored document holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restored {
    /// There is no such document, or it is not deleted, or it was purged.
    No,
    /// It held nothing when it was deleted: its latest version never got that far.
    Empty,
    /// A copy of the version held when it was deleted, under a number of its own.
    Held {
        /// The copy's number.
        version: u32,
        /// The number of the version it is a copy of.
        copy_of: u32,
        /// When it was deleted, which is when its chunks were closed.
        deleted_at: RecordTime,
    },
}

/// Undoes a deletion from `at` on. Between deletion and `at` the document stays absent, so what
/// it held is held again as a version of its own; its chunks come back by
/// `chunks::reopen_document`.
///
/// `at` is the transaction's record time.
pub async fn restore(
    tx: &mut Tx,
    kb: KbId,
    id: DocumentId,
    at: RecordTime,
) -> Result<Restored, StoreError> {
    let Some(document) = find(tx, kb, id).await? else {
        return Ok(Restored::No);
    };
    let (Some(deleted_at), None) = (document.deleted_at, document.purged_at) else {
        return Ok(Restored::No);
    };
    let held = tx.row(&LAST_HELD, params![kb, id, deleted_at]).await?;
    let held: Option<u32> = held.map(|mut row| row.take()).transpose()?.flatten();
    tx.execute(&UNDELETE, params![kb, id, at]).await?;
    let Some(copy_of) = held else {
        return Ok(Restored::Empty);
    };
    let Some(mut row) = tx.row(&BUMP, params![kb, id]).await? else {
        return Ok(Restored::No);
    };
    let version: u32 = row.take()?;
    tx.execute(&COPY_VERSION, params![kb, id, copy_of, version, at])
        .await?;
    tx.execute(&COPY_SECTIONS, params![kb, id, copy_of, version])
        .await?;
    publish(tx, kb, (id, version), at).await?;
    Ok(Restored::Held {
        version,
        copy_of,
        deleted_at,
    })
}

/// Erases a document's text and names for good, and keeps that it was there: ids, times, hashes.
/// The blobs that no other document refers to now; the caller deletes them once this lasts.
/// None if there is no such document or it was purged already.
///
/// `at` is the transaction's record time. Chunks, vectors and jobs have their own purge.
pub async fn purge(
    tx: &mut Tx,
    kb: KbId,
    id: DocumentId,
    at: RecordTime,
) -> Result<Option<Vec<[u8; 32]>>, StoreError> {
    let name = format!("purged-{id}");
    if tx.execute(&PURGE, params![kb, id, &name, at]).await? == 0 {
        return Ok(None);
    }
    tx.execute(&INVALIDATE, params![kb, id, at]).await?;
    tx.execute(&PURGE_VERSIONS, params![kb, id, &name]).await?;
    tx.execute(&PURGE_SECTIONS, params![kb, id]).await?;
    let rows = tx.rows(&BLOBS, params![kb, id]).await?;
    let hashes: Result<BTreeSet<[u8; 32]>, StoreError> =
        rows.into_iter().map(|mut row| row.take()).collect();
    let mut free = Vec::new();
    for hash in hashes? {
        if !refers_to_blob(tx, kb, &hash).await? {
            free.push(hash);
        }
    }
    Ok(Some(free))
}

/// Whether a document that was not purged refers to the blob.
pub async fn refers_to_blob(tx: &mut Tx, kb: KbId, hash: &[u8; 32]) -> Result<bool, StoreError> {
    Ok(tx.row(&REFERENCED, params![kb, hash]).await?.is_some())
}
