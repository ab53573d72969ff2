//! Things that claims are about, and what kind each was said to be.

use std::collections::BTreeSet;

use model::{EntityId, EntityTypeId, KbId, RecordTime};

use crate::fact_holds::NOT_ENDED;
use crate::statement::statements;
use crate::value::{Param, params};
use crate::{StoreError, Tx};

/// What kind a thing is, and who said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    pub entity: EntityId,
    /// None: of no kind, and a person may have said so.
    pub kind: Option<EntityTypeId>,
    pub source: KindSource,
    pub rec_from: RecordTime,
    pub rec_to: Option<RecordTime>,
}

/// Who said what kind a thing is. What a person said is not overwritten by what was read out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KindSource {
    /// Concluded by a rule.
    Inferred,
    /// Read from a document.
    Extracted,
    /// Said by a person.
    Human,
}

impl KindSource {
    /// Its name in the store.
    pub const fn name(self) -> &'static str {
        match self {
            KindSource::Inferred => "inferred",
            KindSource::Extracted => "extracted",
            KindSource::Human => "human",
        }
    }
}

impl std::str::FromStr for KindSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "inferred" => Ok(KindSource::Inferred),
            "extracted" => Ok(KindSource::Extracted),
            "human" => Ok(KindSource::Human),
            other => Err(other.to_owned()),
        }
    }
}

statements! {
    tenant {
        INSERT: "INSERT INTO entity (tenant_id, base_id, id, recorded_at) VALUES ($1, $2, $3, $4)",
        KNOWN: "SELECT id, recorded_at FROM entity WHERE tenant_id = $1 AND base_id = $2 AND id = ANY($3) AND +recorded_at <= $4 ORDER BY id",
        AFTER: "SELECT id, recorded_at FROM entity WHERE tenant_id = $1 AND base_id = $2 AND id > $3 ORDER BY id LIMIT $4",
        SET_KIND: "INSERT INTO entity_kind (tenant_id, base_id, entity_id, type_id, source, rec_from, rec_to) VALUES ($1, $2, $3, $4, $5, $6, 9223372036854775807)",
        END_KIND: "UPDATE entity_kind SET rec_to = $4 WHERE tenant_id = $1 AND base_id = $2 AND entity_id = ANY($3) AND rec_to = 9223372036854775807",
        KINDS: "SELECT entity_id, type_id, source, rec_from, rec_to FROM entity_kind \
            WHERE tenant_id = $1 AND base_id = $2 AND entity_id = ANY($3) AND rec_from <= $4 AND rec_to > $4 ORDER BY entity_id",
        KINDS_EVER: "SELECT entity_id, type_id, source, rec_from, rec_to FROM entity_kind WHERE tenant_id = $1 AND base_id = $2 AND entity_id = ANY($3) ORDER BY entity_id, rec_from",
        EVER_OF_KIND: "SELECT entity_id FROM entity_kind WHERE tenant_id = $1 AND base_id = $2 AND type_id = $3 ORDER BY rec_to DESC LIMIT $4",
        COUNT: "SELECT COUNT(*) FROM entity WHERE tenant_id = $1 AND base_id = $2",
    }
}

/// Adds things. `at` is the transaction's record time.
pub async fn insert(
    tx: &mut Tx,
    kb: KbId,
    entities: &[EntityId],
    at: RecordTime,
) -> Result<(), StoreError> {
    let rows: Vec<Vec<Param<'_>>> = entities
        .iter()
        .map(|&entity| params![kb, entity, at].to_vec())
        .collect();
    tx.bulk(&INSERT, &rows).await.map(drop)
}

/// Those of these things that the base held at a moment, by id.
pub async fn known(
    tx: &mut Tx,
    kb: KbId,
    entities: &[EntityId],
    as_of: RecordTime,
) -> Result<Vec<(EntityId, RecordTime)>, StoreError> {
    let rows = tx.rows(&KNOWN, params![kb, entities, as_of]).await?;
    rows.into_iter()
        .map(|mut row| Ok((row.take()?, row.take()?)))
        .collect()
}

/// Things after an id, by id.
pub async fn after(
    tx: &mut Tx,
    kb: KbId,
    after: EntityId,
    limit: u32,
) -> Result<Vec<(EntityId, RecordTime)>, StoreError> {
    let rows = tx.rows(&AFTER, params![kb, after, limit]).await?;
    rows.into_iter()
        .map(|mut row| Ok((row.take()?, row.take()?)))
        .collect()
}

/// Says from `at` on what kind each thing is, instead of what was said before.
pub async fn set_kinds(
    tx: &mut Tx,
    kb: KbId,
    kinds: &[(EntityId, Option<EntityTypeId>, KindSource)],
    at: RecordTime,
) -> Result<(), StoreError> {
    let entities: Vec<EntityId> = kinds.iter().map(|kind| kind.0).collect();
    tx.execute(&END_KIND, params![kb, entities.as_slice(), at])
        .await?;
    let rows: Vec<Vec<Param<'_>>> = kinds
        .iter()
        .map(|&(entity, kind, source)| params![kb, entity, kind, source.name(), at].to_vec())
        .collect();
    tx.bulk(&SET_KIND, &rows).await.map(drop)
}

fn read(mut row: crate::value::Row) -> Result<Kind, StoreError> {
    let (entity, kind, source, rec_from) = (row.take()?, row.take()?, row.named()?, row.take()?);
    let rec_to: i64 = row.take()?;
    Ok(Kind {
        entity,
        kind,
        source,
        rec_from,
        rec_to: (rec_to != NOT_ENDED).then(|| RecordTime::from_micros(rec_to)),
    })
}

/// What kind these things were said to be at a moment, by thing; nothing for those never said.
pub async fn kinds(
    tx: &mut Tx,
    kb: KbId,
    entities: &[EntityId],
    as_of: RecordTime,
) -> Result<Vec<Kind>, StoreError> {
    let rows = tx.rows(&KINDS, params![kb, entities, as_of]).await?;
    rows.into_iter().map(read).collect()
}

/// All that was ever said of what kind these things are, by thing and time.
pub async fn kinds_ever(
    tx: &mut Tx,
    kb: KbId,
    entities: &[EntityId],
) -> Result<Vec<Kind>, StoreError> {
    let rows = tx.rows(&KINDS_EVER, params![kb, entities]).await?;
    rows.into_iter().map(read).collect()
}

/// Things that are or once were said to be of a kind, by id, `limit` at most; those that are first.
pub async fn ever_of_kind(
    tx: &mut Tx,
    kb: KbId,
    kind: EntityTypeId,
    limit: usize,
) -> Result<Vec<EntityId>, StoreError> {
    let row = params![kb, kind, limit as u32];
    let rows = tx.rows(&EVER_OF_KIND, row).await?;
    let things: Result<BTreeSet<EntityId>, StoreError> =
        rows.into_iter().map(|mut row| row.take()).collect();
    Ok(things?.into_iter().collect())
}

/// How many things the base has, those folded into others counted too.
pub async fn count(tx: &mut Tx, kb: KbId) -> Result<u64, StoreError> {
    match tx.row(&COUNT, params![kb]).await? {
        Some(mut row) => row.take(),
        None => Ok(0),
    }
}
