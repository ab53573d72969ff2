//! What claims rest on: quotes of documents; and the details that claims carry.

use model::fact::{Object, Value};
use model::{ChunkId, DocumentId, EntityId, FactId, KbId, RecordTime, RelationTypeId, WorldTime};

use crate::statement::statements;
use crate::value::{Param, params};
use crate::{StoreError, Tx};

/// A quote that a claim rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    pub fact: FactId,
    /// Its number among the claim's, from 0.
    pub n: u32,
    pub document: DocumentId,
    pub version: u32,
    pub chunk: ChunkId,
    /// The words, as they stand in the passage.
    pub quote: String,
    /// Where the quote stands in the passage, in characters.
    pub char_start: u64,
    pub char_end: u64,
    /// The document's date, where its own text or its sender gives one.
    pub document_date: Option<WorldTime>,
    /// `stated`, or how else the passage came to be: `ocr`, `transcribed`, `described`.
    pub origin: String,
    pub recorded_at: RecordTime,
    pub invalidated_at: Option<RecordTime>,
}

/// A detail on a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Qualifier {
    pub fact: FactId,
    pub kind: RelationTypeId,
    pub object: Object,
}

statements! {
    tenant {
        INSERT: "INSERT INTO fact_evidence (tenant_id, base_id, fact_id, n, document_id, version, chunk_id, quote, char_start, char_end, document_date, origin, recorded_at) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        OF_FACTS: "SELECT fact_id, n, document_id, version, chunk_id, quote, char_start, char_end, document_date, origin, recorded_at, invalidated_at \
            FROM fact_evidence WHERE tenant_id = $1 AND base_id = $2 AND fact_id = ANY($3) ORDER BY fact_id, n",
        OF_DOCUMENT: "SELECT fact_id, n, document_id, version, chunk_id, quote, char_start, char_end, document_date, origin, recorded_at, invalidated_at \
            FROM fact_evidence WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 ORDER BY recorded_at, fact_id, n",
        RESTING_ON: "SELECT fact_id FROM fact_evidence WHERE tenant_id = $1 AND base_id = $2 AND document_id = ANY($3)",
        CLOSE_DOCUMENT: "UPDATE fact_evidence SET invalidated_at = $4 WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3 AND invalidated_at IS NULL",
        ERASE_DOCUMENT: "UPDATE fact_evidence SET quote = '' WHERE tenant_id = $1 AND base_id = $2 AND document_id = $3",
        INSERT_QUALIFIER: "INSERT INTO fact_qualifier (tenant_id, base_id, fact_id, n, qualifier_type_id, value, unit, entity_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        QUALIFIERS: "SELECT fact_id, qualifier_type_id, value, unit, entity_id FROM fact_qualifier WHERE tenant_id = $1 AND base_id = $2 AND fact_id = ANY($3) ORDER BY fact_id, n",
    }
}

fn read(mut row: crate::value::Row) -> Result<Evidence, StoreError> {
    Ok(Evidence {
        fact: row.take()?,
        n: row.take()?,
        document: row.take()?,
        version: row.take()?,
        chunk: row.take()?,
        quote: row.take()?,
        char_start: row.take()?,
        char_end: row.take()?,
        document_date: row.named_or_none()?,
        origin: row.take()?,
        recorded_at: row.take()?,
        invalidated_at: row.take()?,
    })
}

/// Adds quotes. Their `recorded_at` is the transaction's record time.
pub async fn insert(tx: &mut Tx, kb: KbId, evidence: &[Evidence]) -> Result<(), StoreError> {
    let rows: Vec<Vec<Param<'_>>> = evidence
        .iter()
        .map(|quote| {
            params![
                kb,
                quote.fact,
                quote.n,
                quote.document,
                quote.version,
                quote.chunk,
                quote.quote.as_str(),
                quote.char_start,
                quote.char_end,
                quote.document_date.map(|date| date.to_string()),
                quote.origin.as_str(),
                quote.recorded_at,
            ]
            .to_vec()
        })
        .collect();
    tx.bulk(&INSERT, &rows).await.map(drop)
}

/// The quotes that these claims ever rested on, by claim and number.
pub async fn of_facts(
    tx: &mut Tx,
    kb: KbId,
    facts: &[FactId],
) -> Result<Vec<Evidence>, StoreError> {
    if facts.is_empty() {
        return Ok(Vec::new());
    }
    let rows = tx.rows(&OF_FACTS, params![kb, facts]).await?;
    rows.into_iter().map(read).collect()
}

/// The quotes of a document that claims ever rested on, the oldest first.
pub async fn of_document(
    tx: &mut Tx,
    kb: KbId,
    document: DocumentId,
) -> Result<Vec<Evidence>, StoreError> {
    let rows = tx.rows(&OF_DOCUMENT, params![kb, document]).await?;
    rows.into_iter().map(read).collect()
}

/// The claims that ever rested on any of these documents, some perhaps more than once.
pub async fn resting_on(
    tx: &mut Tx,
    kb: KbId,
    documents: &[DocumentId],
) -> Result<Vec<FactId>, StoreError> {
    let rows = tx.rows(&RESTING_ON, params![kb, documents]).await?;
    rows.into_iter().map(|mut row| row.take()).collect()
}

/// Claims rest on this document no more. `at` is the transaction's record time.
pub async fn close_document(
    tx: &mut Tx,
    kb: KbId,
    document: DocumentId,
    at: RecordTime,
) -> Result<u64, StoreError> {
    tx.execute(&CLOSE_DOCUMENT, params![kb, document, at]).await
}

/// Erases the words of a document that claims rested on.
pub async fn erase_document(
    tx: &mut Tx,
    kb: KbId,
    document: DocumentId,
) -> Result<u64, StoreError> {
    tx.execute(&ERASE_DOCUMENT, params![kb, document]).await
}

/// Adds details; those of one claim stand together and in order.
pub async fn insert_qualifiers(
    tx: &mut Tx,
    kb: KbId,
    qualifiers: &[Qualifier],
) -> Result<(), StoreError> {
    let mut rows: Vec<Vec<Param<'_>>> = Vec::with_capacity(qualifiers.len());
    let mut last: Option<(FactId, u32)> = None;
    for qualifier in qualifiers {
        let n = last
            .filter(|(fact, _)| *fact == qualifier.fact)
            .map_or(0, |(_, n)| n + 1);
        last = Some((qualifier.fact, n));
        let (value, unit) = match &qualifier.object {
            Object::Value(value) => (Some(value.value.to_string()), value.unit.as_deref()),
            Object::Entity(_) => (None, None),
        };
        rows.push(
            params![
                kb,
                qualifier.fact,
                n,
                qualifier.kind,
                value,
                unit,
                qualifier.object.entity(),
            ]
            .to_vec(),
        );
    }
    tx.bulk(&INSERT_QUALIFIER, &rows).await.map(drop)
}

/// The details of these claims, by claim and in order.
pub async fn qualifiers(
    tx: &mut Tx,
    kb: KbId,
    facts: &[FactId],
) -> Result<Vec<Qualifier>, StoreError> {
    if facts.is_empty() {
        return Ok(Vec::new());
    }
    let rows = tx.rows(&QUALIFIERS, params![kb, facts]).await?;
    rows.into_iter()
        .map(|mut row| {
            let (fact, kind) = (row.take()?, row.take()?);
            let (value, unit, entity): (Option<String>, _, Option<EntityId>) =
                (row.take()?, row.take()?, row.take()?);
            let object = match entity {
                Some(entity) => Object::Entity(entity),
                None => Object::Value(Value {
                    value: serde_json::from_str(&value.unwrap_or_default())
                        .map_err(|error| StoreError::failed("read a value", error))?,
                    unit,
                }),
            };
            Ok(Qualifier { fact, kind, object })
        })
        .collect()
}
