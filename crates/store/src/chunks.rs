//! Passages, each row one version of one: held from `recorded_at` until `invalidated_at`.
//!
//! Rows are numbered by ordinals that only rise in a base, so a cache follows a base by asking
//! for what is after the last ordinal it has, and for what was closed or purged since.

use std::collections::BTreeSet;

use model::{ChunkId, DocumentId, KbId, RecordTime, Role};

use crate::bases;
use crate::statement::{Statement, statements};
use crate::value::{Param, Row, json, params};
use crate::{StoreError, Tx};

/// A version of a passage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    pub ordinal: i64,
    pub id: ChunkId,
    pub document: DocumentId,
    pub recorded_at: RecordTime,
    pub invalidated_at: Option<RecordTime>,
    pub purged_at: Option<RecordTime>,
    /// The lowest role that sees it.
    pub least_role: Role,
    pub heading_path: Vec<String>,
    /// The document's title, which search reads too.
    pub title: String,
    pub text: String,
}

/// A passage to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChunk<'a> {
    pub id: ChunkId,
    pub heading_path: &'a [String],
    pub title: &'a str,
    pub text: &'a str,
}

/// A chunk version without its text: what decides whether it is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub ordinal: i64,
    pub id: ChunkId,
    pub document: DocumentId,
    pub recorded_at: RecordTime,
    pub invalidated_at: Option<RecordTime>,
    pub purged_at: Option<RecordTime>,
    pub least_role: Role,
}

statements! {
    tenant {
        LIVE: "SELECT ordinal, id FROM chunk WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 AND invalidated_at IS NULL ORDER BY ordinal",
        INSERT: "INSERT INTO chunk (tenant_id, base_id, ordinal, id, document_id, recorded_at, least_role, heading_path, title, text) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        CLOSE: "UPDATE chunk SET invalidated_at = $4 WHERE tenant_id = $1 AND base_id = $2 AND ordinal = ANY($3) AND +invalidated_at IS NULL",
        CLOSE_DOCUMENT: "UPDATE chunk SET invalidated_at = $4 WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 AND invalidated_at IS NULL",
        CLOSED_AT: "SELECT ordinal FROM chunk WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 AND invalidated_at = $4 AND purged_at IS NULL ORDER BY ordinal",
        COPY: "INSERT INTO chunk (tenant_id, base_id, ordinal, id, document_id, recorded_at, least_role, heading_path, title, text) \
            SELECT tenant_id, base_id, CAST($4 AS BIGINT), id, document_id, CAST($5 AS BIGINT), least_role, heading_path, title, text \
            FROM chunk WHERE tenant_id = $1 AND base_id = $2 AND ordinal = $3",
        BY_ORDINALS: "SELECT ordinal, id, document_id, recorded_at, invalidated_at, purged_at, least_role, heading_path, title, text \
            FROM chunk WHERE tenant_id = $1 AND base_id = $2 AND ordinal = ANY($3) ORDER BY ordinal",
        BY_IDS: "SELECT ordinal, id, document_id, recorded_at, invalidated_at, purged_at, least_role, heading_path, title, text \
            FROM chunk WHERE tenant_id = $1 AND base_id = $2 AND id = ANY($3) AND recorded_at <= $4 AND (invalidated_at IS NULL OR invalidated_at > $4) ORDER BY +ordinal",
        SINCE: "SELECT ordinal, id, document_id, recorded_at, invalidated_at, purged_at, least_role, heading_path, title, text \
            FROM chunk WHERE tenant_id = $1 AND base_id = $2 AND ordinal > $3 ORDER BY ordinal LIMIT $4",
        SPANS_SINCE: "SELECT ordinal, id, document_id, recorded_at, invalidated_at, purged_at, least_role \
            FROM chunk WHERE tenant_id = $1 AND base_id = $2 AND ordinal > $3 ORDER BY ordinal LIMIT $4",
        CLOSED_SINCE: "SELECT ordinal, id, document_id, recorded_at, invalidated_at, purged_at, least_role \
            FROM chunk WHERE tenant_id = $1 AND base_id = $2 AND invalidated_at > $3 ORDER BY ordinal",
        PURGED_SINCE: "SELECT ordinal, id, document_id, recorded_at, invalidated_at, purged_at, least_role \
            FROM chunk WHERE tenant_id = $1 AND base_id = $2 AND purged_at > $3 ORDER BY ordinal",
        HELD_AT: "SELECT ordinal, id, document_id, recorded_at, invalidated_at, purged_at, least_role \
            FROM chunk WHERE tenant_id = $1 AND base_id = $2 AND recorded_at <= $3 AND (invalidated_at IS NULL OR invalidated_at > $3) \
            AND least_role = ANY($4) AND ordinal > $5 ORDER BY ordinal LIMIT $6",
        NUMBERS: "SELECT ordinal FROM chunk WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 AND purged_at IS NULL ORDER BY ordinal",
        RENUMBER: "UPDATE chunk SET ordinal = $4, least_role = $5 WHERE tenant_id = $1 AND base_id = $2 AND ordinal = $3",
        LEAVE_BEHIND: "INSERT INTO chunk (tenant_id, base_id, ordinal, id, document_id, recorded_at, invalidated_at, purged_at, least_role, heading_path, title, text) \
            SELECT tenant_id, base_id, CAST($3 AS BIGINT), id, document_id, CAST($5 AS BIGINT), CAST($5 AS BIGINT), CAST($6 AS BIGINT), CAST($7 AS TEXT), '[]', '', '' \
            FROM chunk WHERE tenant_id = $1 AND base_id = $2 AND ordinal = $4",
        PURGE_DOCUMENT: "UPDATE chunk SET heading_path = '[]', title = '', text = '', purged_at = $4, \
            invalidated_at = CASE WHEN invalidated_at IS NULL THEN $4 ELSE invalidated_at END \
            WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 AND purged_at IS NULL",
        ORDINALS_OF_IDS: "SELECT id, ordinal FROM chunk WHERE tenant_id = $1 AND base_id = $2 AND id = ANY($3) AND +purged_at IS NULL ORDER BY +ordinal",
        IDS_OF_DOCUMENT: "SELECT id FROM chunk WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3",
        COUNT_HELD: "SELECT COUNT(*) FROM chunk WHERE tenant_id = $1 AND base_id = $2 AND invalidated_at IS NULL",
    }
}

fn read_span(row: &mut Row) -> Result<Span, StoreError> {
    Ok(Span {
        ordinal: row.take()?,
        id: row.take()?,
        document: row.take()?,
        recorded_at: row.take()?,
        invalidated_at: row.take()?,
        purged_at: row.take()?,
        least_role: row.named()?,
    })
}

fn read(row: &mut Row) -> Result<Chunk, StoreError> {
    let span = read_span(row)?;
    Ok(Chunk {
        ordinal: span.ordinal,
        id: span.id,
        document: span.document,
        recorded_at: span.recorded_at,
        invalidated_at: span.invalidated_at,
        purged_at: span.purged_at,
        least_role: span.least_role,
        heading_path: row.texts()?,
        title: row.take()?,
        text: row.take()?,
    })
}

async fn all<T>(
    tx: &mut Tx,
    statement: &'static Statement,
    params: &[Param<'_>],
    read: fn(&mut Row) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut rows = tx.rows(statement, params).await?;
    rows.iter_mut().map(read).collect()
}

/// The passages of a document that are held now, oldest row first.
pub async fn live(
    tx: &mut Tx,
    kb: KbId,
    document: DocumentId,
) -> Result<Vec<(i64, ChunkId)>, StoreError> {
    all(tx, &LIVE, params![kb, document], |row| {
        Ok((row.take()?, row.take()?))
    })
    .await
}

/// Adds passages that are held from `at` on; their ordinals, in the order given.
///
/// `at` is the transaction's record time.
pub async fn insert(
    tx: &mut Tx,
    kb: KbId,
    (document, least_role): (DocumentId, Role),
    chunks: &[NewChunk<'_>],
    at: RecordTime,
) -> Result<Vec<i64>, StoreError> {
    if chunks.is_empty() {
        return Ok(Vec::new());
    }
    let first = bases::reserve_ordinals(tx, kb, chunks.len() as i64).await?;
    let ordinals: Vec<i64> = (first..).take(chunks.len()).collect();
    let rows: Vec<Vec<Param<'_>>> = chunks
        .iter()
        .zip(&ordinals)
        .map(|(chunk, ordinal)| {
            params![
                kb,
                *ordinal,
                chunk.id,
                document,
                at,
                least_role,
                json(chunk.heading_path),
                chunk.title,
                chunk.text,
            ]
            .to_vec()
        })
        .collect();
    tx.bulk(&INSERT, &rows).await?;
    Ok(ordinals)
}

/// Closes rows that are still held; how many. `at` is the transaction's record time.
pub async fn close(
    tx: &mut Tx,
    kb: KbId,
    ordinals: &[i64],
    at: RecordTime,
) -> Result<u64, StoreError> {
    tx.execute(&CLOSE, params![kb, ordinals, at]).await
}

/// Closes what is held of a document; how many rows. `at` is the transaction's record time.
pub async fn close_document(
    tx: &mut Tx,
    kb: KbId,
    document: DocumentId,
    at: RecordTime,
) -> Result<u64, StoreError> {
    tx.execute(&CLOSE_DOCUMENT, params![kb, document, at]).await
}

/// Holds again from `at` on what was closed when the document was deleted, as rows of their own:
/// pairs of the closed row's ordinal and the new one's, in order.
///
/// `at` is the transaction's record time.
pub async fn reopen_document(
    tx: &mut Tx,
    kb: KbId,
    document: DocumentId,
    deleted_at: RecordTime,
    at: RecordTime,
) -> Result<Vec<(i64, i64)>, StoreError> {
    let closed: Vec<i64> =
        all(tx, &CLOSED_AT, params![kb, document, deleted_at], Row::take).await?;
    if closed.is_empty() {
        return Ok(Vec::new());
    }
    let first = bases::reserve_ordinals(tx, kb, closed.len() as i64).await?;
    let pairs: Vec<(i64, i64)> = closed.into_iter().zip(first..).collect();
    let rows: Vec<Vec<Param<'_>>> = pairs
        .iter()
        .map(|(old, new)| params![kb, *old, *new, at].to_vec())
        .collect();
    tx.bulk(&COPY, &rows).await?;
    Ok(pairs)
}

/// The rows with these ordinals, in their order.
pub async fn by_ordinals(
    tx: &mut Tx,
    kb: KbId,
    ordinals: &[i64],
) -> Result<Vec<Chunk>, StoreError> {
    all(tx, &BY_ORDINALS, params![kb, ordinals], read).await
}

/// The versions of these passages that were held at a moment, by ordinal.
pub async fn by_ids(
    tx: &mut Tx,
    kb: KbId,
    ids: &[ChunkId],
    as_of: RecordTime,
) -> Result<Vec<Chunk>, StoreError> {
    all(tx, &BY_IDS, params![kb, ids, as_of], read).await
}

/// Rows after an ordinal, in order; purged ones without text.
pub async fn since(
    tx: &mut Tx,
    kb: KbId,
    after: i64,
    limit: u32,
) -> Result<Vec<Chunk>, StoreError> {
    all(tx, &SINCE, params![kb, after, limit], read).await
}

/// As [`since`], without the texts.
pub async fn spans_since(
    tx: &mut Tx,
    kb: KbId,
    after: i64,
    limit: u32,
) -> Result<Vec<Span>, StoreError> {
    all(tx, &SPANS_SINCE, params![kb, after, limit], read_span).await
}

/// Rows closed after a record time, by ordinal.
pub async fn closed_since(
    tx: &mut Tx,
    kb: KbId,
    after: RecordTime,
) -> Result<Vec<Span>, StoreError> {
    all(tx, &CLOSED_SINCE, params![kb, after], read_span).await
}

/// Rows purged after a record time, by ordinal.
pub async fn purged_since(
    tx: &mut Tx,
    kb: KbId,
    after: RecordTime,
) -> Result<Vec<Span>, StoreError> {
    all(tx, &PURGED_SINCE, params![kb, after], read_span).await
}

/// What a person of `role` could see at a moment, by ordinal, those after the cursor.
pub async fn held_at(
    tx: &mut Tx,
    kb: KbId,
    (role, as_of): (Role, RecordTime),
    after: i64,
    limit: u32,
) -> Result<Vec<Span>, StoreError> {
    let row = params![kb, as_of, crate::documents::roles_up_to(role), after, limit];
    all(tx, &HELD_AT, row, read_span).await
}

/// Gives all of a document's rows, closed ones too, another least role: pairs of the old ordinal
/// and the new one, in order.
///
/// A right has no history, so the rows keep when they were held; but they get ordinals of their
/// own, and at the old ones rows are left behind that were never held and are purged, by which a
/// cache takes them out of where the wrong people would find them. `at` is the transaction's
/// record time.
pub async fn set_least_role(
    tx: &mut Tx,
    kb: KbId,
    document: DocumentId,
    (before, after): (Role, Role),
    at: RecordTime,
) -> Result<Vec<(i64, i64)>, StoreError> {
    let old: Vec<i64> = all(tx, &NUMBERS, params![kb, document], Row::take).await?;
    if old.is_empty() {
        return Ok(Vec::new());
    }
    let first = bases::reserve_ordinals(tx, kb, old.len() as i64).await?;
    let pairs: Vec<(i64, i64)> = old.into_iter().zip(first..).collect();
    let renumbered: Vec<Vec<Param<'_>>> = pairs
        .iter()
        .map(|(old, new)| params![kb, *old, *new, after].to_vec())
        .collect();
    tx.bulk(&RENUMBER, &renumbered).await?;
    let left: Vec<Vec<Param<'_>>> = pairs
        .iter()
        .map(|(old, new)| {
            // Before all time, and one of its own for each row.
            let never = RecordTime::from_micros(-1 - old);
            params![kb, *old, *new, never, at, before].to_vec()
        })
        .collect();
    tx.bulk(&LEAVE_BEHIND, &left).await?;
    Ok(pairs)
}

/// Erases the text of all of a document's rows and closes those still held; how many rows.
///
/// `at` is the transaction's record time.
pub async fn purge_document(
    tx: &mut Tx,
    kb: KbId,
    document: DocumentId,
    at: RecordTime,
) -> Result<u64, StoreError> {
    tx.execute(&PURGE_DOCUMENT, params![kb, document, at]).await
}

/// The ids of all passages that a document ever had, in their order.
pub async fn ids_of_document(
    tx: &mut Tx,
    kb: KbId,
    document: DocumentId,
) -> Result<Vec<ChunkId>, StoreError> {
    let ids: Vec<ChunkId> = all(tx, &IDS_OF_DOCUMENT, params![kb, document], Row::take).await?;
    Ok(ids
        .into_iter()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect())
}

/// The rows of these passages, all versions that are not purged, by ordinal.
pub async fn ordinals_of(
    tx: &mut Tx,
    kb: KbId,
    ids: &[ChunkId],
) -> Result<Vec<(ChunkId, i64)>, StoreError> {
    all(tx, &ORDINALS_OF_IDS, params![kb, ids], |row| {
        Ok((row.take()?, row.take()?))
    })
    .await
}

/// How many passages the base holds now.
pub async fn count(tx: &mut Tx, kb: KbId) -> Result<u64, StoreError> {
    match tx.row(&COUNT_HELD, params![kb]).await? {
        Some(mut row) => row.take(),
        None => Ok(0),
    }
}
