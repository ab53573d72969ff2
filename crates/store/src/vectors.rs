//! What passages mean to a model, as 8-bit numbers with a scale.

use std::borrow::Cow;

use model::{ChunkId, DocumentId, KbId, RecordTime};
use uuid::Uuid;

use crate::statement::statements;
use crate::value::{Param, params};
use crate::{StoreError, Tx};

/// A passage's vector: `scale * code[i]` is its i-th number.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    pub chunk: ChunkId,
    pub scale: f32,
    pub code: Vec<i8>,
}

/// A vector and when it was added: the cursor of [`since`].
#[derive(Debug, Clone, PartialEq)]
pub struct AddedVector {
    pub added_at: RecordTime,
    pub vector: Vector,
}

/// A passage that waits for its vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingVector {
    pub ordinal: i64,
    pub chunk: ChunkId,
    pub heading_path: Vec<String>,
    pub title: String,
    pub text: String,
}

statements! {
    tenant {
        INSERT: "INSERT INTO vector (tenant_id, base_id, model, chunk_id, added_at, scale, code) VALUES ($1, $2, $3, $4, $5, $6, $7) \
            ON CONFLICT (tenant_id, base_id, chunk_id, model) DO NOTHING",
        MISSING: "SELECT chunk.ordinal, chunk.id, chunk.heading_path, chunk.title, chunk.text FROM chunk \
            WHERE chunk.tenant_id = $1 AND chunk.base_id = $2 AND chunk.ordinal > $4 AND chunk.purged_at IS NULL \
            AND NOT EXISTS (SELECT 1 FROM vector WHERE vector.tenant_id = chunk.tenant_id AND vector.base_id = chunk.base_id AND vector.model = $3 AND vector.chunk_id = chunk.id) \
            ORDER BY chunk.ordinal LIMIT $5",
        MISSING_OF_DOCUMENT: "SELECT chunk.ordinal, chunk.id, chunk.heading_path, chunk.title, chunk.text FROM chunk \
            WHERE chunk.tenant_id = $1 AND chunk.base_id = $2 AND chunk.document_id = $4 AND chunk.ordinal > $5 AND chunk.purged_at IS NULL \
            AND NOT EXISTS (SELECT 1 FROM vector WHERE vector.tenant_id = chunk.tenant_id AND vector.base_id = chunk.base_id AND vector.model = $3 AND vector.chunk_id = chunk.id) \
            ORDER BY chunk.ordinal LIMIT $6",
        SINCE: "SELECT added_at, chunk_id, scale, code FROM vector \
            WHERE tenant_id = $1 AND base_id = $2 AND model = $3 AND (added_at, chunk_id) > ($4, $5) ORDER BY added_at, chunk_id LIMIT $6",
        OF_CHUNKS: "SELECT chunk_id, scale, code FROM vector WHERE tenant_id = $1 AND base_id = $2 AND model = $3 AND chunk_id = ANY($4)",
        DELETE_CHUNKS: "DELETE FROM vector WHERE tenant_id = $1 AND base_id = $2 AND chunk_id = ANY($3)",
        DELETE_MODEL: "DELETE FROM vector WHERE tenant_id = $1 AND base_id = $2 AND model = $3 AND chunk_id IN ( \
            SELECT chunk_id FROM vector WHERE tenant_id = $1 AND base_id = $2 AND model = $3 ORDER BY added_at, chunk_id LIMIT $4)",
        COUNT: "SELECT COUNT(*) FROM vector WHERE tenant_id = $1 AND base_id = $2 AND model = $3",
        MODELS: "SELECT model, COUNT(*) FROM vector WHERE tenant_id = $1 AND base_id = $2 GROUP BY model ORDER BY model",
        PASSAGES: "SELECT COUNT(DISTINCT id) FROM chunk WHERE tenant_id = $1 AND base_id = $2 AND purged_at IS NULL",
    }
}

/// Adds vectors; those of passages that have one from this model are passed over.
///
/// `at` is the transaction's record time, so that [`since`] misses none.
pub async fn insert(
    tx: &mut Tx,
    kb: KbId,
    model: &str,
    vectors: &[Vector],
    at: RecordTime,
) -> Result<(), StoreError> {
    let rows: Vec<Vec<Param<'_>>> = vectors
        .iter()
        .map(|vector| {
            let code: Vec<u8> = vector
                .code
                .iter()
                .map(|number| number.cast_unsigned())
                .collect();
            let mut row = params![kb, model, vector.chunk, at, f64::from(vector.scale)].to_vec();
            row.push(Param::Bytes(Cow::Owned(code)));
            row
        })
        .collect();
    tx.bulk(&INSERT, &rows).await.map(drop)
}

/// Passages of a base without a vector from this model, by ordinal, those after the cursor; old
/// versions too, which `as_of` searches.
pub async fn missing(
    tx: &mut Tx,
    kb: KbId,
    model: &str,
    after: i64,
    limit: u32,
) -> Result<Vec<MissingVector>, StoreError> {
    let rows = tx.rows(&MISSING, params![kb, model, after, limit]).await?;
    rows.into_iter().map(read_missing).collect()
}

/// As [`missing`], of one document.
pub async fn missing_of_document(
    tx: &mut Tx,
    kb: KbId,
    (model, document): (&str, DocumentId),
    after: i64,
    limit: u32,
) -> Result<Vec<MissingVector>, StoreError> {
    let row = params![kb, model, document, after, limit];
    let rows = tx.rows(&MISSING_OF_DOCUMENT, row).await?;
    rows.into_iter().map(read_missing).collect()
}

fn read_missing(mut row: crate::value::Row) -> Result<MissingVector, StoreError> {
    Ok(MissingVector {
        ordinal: row.take()?,
        chunk: row.take()?,
        heading_path: row.texts()?,
        title: row.take()?,
        text: row.take()?,
    })
}

/// Vectors in the order they were added, those after the cursor; none: from the first.
pub async fn since(
    tx: &mut Tx,
    kb: KbId,
    model: &str,
    after: Option<(RecordTime, ChunkId)>,
    limit: u32,
) -> Result<Vec<AddedVector>, StoreError> {
    let (added_at, chunk) =
        after.unwrap_or((RecordTime::from_micros(i64::MIN), ChunkId::new(Uuid::nil())));
    let rows = tx
        .rows(&SINCE, params![kb, model, added_at, chunk, limit])
        .await?;
    rows.into_iter()
        .map(|mut row| {
            Ok(AddedVector {
                added_at: row.take()?,
                vector: read(&mut row)?,
            })
        })
        .collect()
}

/// The vectors of these passages, in no order.
pub async fn of_chunks(
    tx: &mut Tx,
    kb: KbId,
    model: &str,
    chunks: &[ChunkId],
) -> Result<Vec<Vector>, StoreError> {
    tx.rows(&OF_CHUNKS, params![kb, model, chunks])
        .await?
        .iter_mut()
        .map(read)
        .collect()
}

fn read(row: &mut crate::value::Row) -> Result<Vector, StoreError> {
    let (chunk, scale): (ChunkId, f64) = (row.take()?, row.take()?);
    let code: Vec<u8> = row.take()?;
    let code = code.into_iter().map(u8::cast_signed).collect();
    Ok(Vector {
        chunk,
        scale: scale as f32,
        code,
    })
}

/// Removes every model's vectors of these passages, for a purge; how many.
pub async fn delete_chunks(tx: &mut Tx, kb: KbId, chunks: &[ChunkId]) -> Result<u64, StoreError> {
    tx.execute(&DELETE_CHUNKS, params![kb, chunks]).await
}

/// Removes vectors of a model, the oldest first; how many.
pub async fn delete_model(
    tx: &mut Tx,
    kb: KbId,
    model: &str,
    limit: u32,
) -> Result<u64, StoreError> {
    tx.execute(&DELETE_MODEL, params![kb, model, limit]).await
}

/// How many vectors of a model the base has.
pub async fn count(tx: &mut Tx, kb: KbId, model: &str) -> Result<u64, StoreError> {
    one(tx.row(&COUNT, params![kb, model]).await?)
}

/// The models that the base has vectors of, by tag, and how many of each.
pub async fn models(tx: &mut Tx, kb: KbId) -> Result<Vec<(String, u64)>, StoreError> {
    let rows = tx.rows(&MODELS, params![kb]).await?;
    rows.into_iter()
        .map(|mut row| Ok((row.take()?, row.take()?)))
        .collect()
}

/// How many passages are to have a vector: of every version, purged ones not counted.
pub async fn passages(tx: &mut Tx, kb: KbId) -> Result<u64, StoreError> {
    one(tx.row(&PASSAGES, params![kb]).await?)
}

fn one(row: Option<crate::value::Row>) -> Result<u64, StoreError> {
    row.map_or(Ok(0), |mut row| row.take())
}
