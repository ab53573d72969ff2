//! Who is one with whom: the links themselves, their closure, and who is not.

use model::identity::Link;
use model::{EntityId, EventId, KbId, RecordTime};

use crate::fact_holds::NOT_ENDED;
use crate::statement::statements;
use crate::value::{Param, params};
use crate::{StoreError, Tx};

/// A link with its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Linked {
    pub link: Link,
    pub rec_from: RecordTime,
    pub rec_to: Option<RecordTime>,
    /// The decision that made it.
    pub event: EventId,
}

statements! {
    tenant {
        LINK: "INSERT INTO same_as (tenant_id, base_id, fold_id, rec_from, keep_id, rec_to, event_id) VALUES ($1, $2, $3, $4, $5, 9223372036854775807, $6)",
        UNLINK: "UPDATE same_as SET rec_to = $4 WHERE tenant_id = $1 AND base_id = $2 AND fold_id = $3 AND +rec_to = 9223372036854775807",
        OF_EVENT: "SELECT keep_id, fold_id, rec_from, rec_to, event_id FROM same_as WHERE tenant_id = $1 AND base_id = $2 AND event_id = $3",
        LINKS_AMONG: "SELECT keep_id, fold_id, rec_from, rec_to, event_id FROM same_as \
            WHERE tenant_id = $1 AND base_id = $2 AND fold_id = ANY($3) AND +rec_from <= $4 AND +rec_to > $4 ORDER BY fold_id",
        BETWEEN: "SELECT keep_id, fold_id, rec_from, rec_to, event_id FROM same_as WHERE tenant_id = $1 AND base_id = $2 AND rec_from >= $3 AND rec_from < $4 \
            UNION SELECT keep_id, fold_id, rec_from, rec_to, event_id FROM same_as WHERE tenant_id = $1 AND base_id = $2 AND rec_to >= $3 AND rec_to < $4",
        CANONICAL: "SELECT entity_id, canonical_id FROM identity WHERE tenant_id = $1 AND base_id = $2 AND entity_id = ANY($3) AND rec_from <= $4 AND rec_to > $4",
        MEMBERS: "SELECT entity_id FROM identity WHERE tenant_id = $1 AND base_id = $2 AND canonical_id = $3 AND rec_to > $4 AND rec_from <= $4 ORDER BY entity_id",
        FOLDED: "SELECT entity_id, canonical_id FROM identity WHERE tenant_id = $1 AND base_id = $2 AND rec_to = 9223372036854775807 ORDER BY entity_id",
        CLOSE: "UPDATE identity SET rec_to = $4 WHERE tenant_id = $1 AND base_id = $2 AND entity_id = ANY($3) AND rec_to = 9223372036854775807",
        INSERT: "INSERT INTO identity (tenant_id, base_id, entity_id, rec_from, canonical_id, rec_to) VALUES ($1, $2, $3, $4, $5, 9223372036854775807)",
        ALL: "SELECT keep_id, fold_id, rec_from, rec_to, event_id FROM same_as WHERE tenant_id = $1 AND base_id = $2 ORDER BY rec_from, fold_id",
        DIFFERENT: "INSERT INTO different_from (tenant_id, base_id, one_id, other_id, rec_from, rec_to, event_id) VALUES ($1, $2, $3, $4, $5, 9223372036854775807, $6)",
        NOT_DIFFERENT: "UPDATE different_from SET rec_to = $5 WHERE tenant_id = $1 AND base_id = $2 AND one_id = $3 AND other_id = $4 AND rec_to = 9223372036854775807",
        DIFFERENT_FROM: "SELECT one_id, other_id FROM different_from WHERE tenant_id = $1 AND base_id = $2 AND one_id = ANY($3) AND rec_from <= $4 AND rec_to > $4 \
            UNION ALL SELECT other_id, one_id FROM different_from WHERE tenant_id = $1 AND base_id = $2 AND other_id = ANY($3) AND rec_from <= $4 AND rec_to > $4",
    }
}

fn read(mut row: crate::value::Row) -> Result<Linked, StoreError> {
    let (keep, fold, rec_from) = (row.take()?, row.take()?, row.take()?);
    let rec_to: i64 = row.take()?;
    Ok(Linked {
        link: Link { keep, fold },
        rec_from,
        rec_to: (rec_to != NOT_ENDED).then(|| RecordTime::from_micros(rec_to)),
        event: row.take()?,
    })
}

/// Adds a link from `at` on, the transaction's record time.
pub async fn link(
    tx: &mut Tx,
    kb: KbId,
    link: Link,
    event: EventId,
    at: RecordTime,
) -> Result<(), StoreError> {
    let row = params![kb, link.fold, at, link.keep, event];
    tx.execute(&LINK, row).await.map(drop)
}

/// Ends the link that folds an entity; whether there was one.
pub async fn unlink(
    tx: &mut Tx,
    kb: KbId,
    fold: EntityId,
    at: RecordTime,
) -> Result<bool, StoreError> {
    Ok(tx.execute(&UNLINK, params![kb, fold, at]).await? == 1)
}

/// The link that a decision made, held or not.
pub async fn of_event(tx: &mut Tx, kb: KbId, event: EventId) -> Result<Option<Linked>, StoreError> {
    let row = tx.row(&OF_EVENT, params![kb, event]).await?;
    row.map(read).transpose()
}

/// The links that fold any of these entities, as they were held at a moment.
pub async fn links_among(
    tx: &mut Tx,
    kb: KbId,
    entities: &[EntityId],
    as_of: RecordTime,
) -> Result<Vec<Linked>, StoreError> {
    let rows = tx.rows(&LINKS_AMONG, params![kb, entities, as_of]).await?;
    rows.into_iter().map(read).collect()
}

/// The links made or ended from one moment up to another.
pub async fn between(
    tx: &mut Tx,
    kb: KbId,
    (since, until): (RecordTime, RecordTime),
) -> Result<Vec<Linked>, StoreError> {
    let rows = tx.rows(&BETWEEN, params![kb, since, until]).await?;
    rows.into_iter().map(read).collect()
}

/// Every link there ever was, in the order they were made.
pub async fn all(tx: &mut Tx, kb: KbId) -> Result<Vec<Linked>, StoreError> {
    let rows = tx.rows(&ALL, params![kb]).await?;
    rows.into_iter().map(read).collect()
}

/// For those of these entities that another stood for at a moment: that other.
pub async fn canonical_of(
    tx: &mut Tx,
    kb: KbId,
    entities: &[EntityId],
    as_of: RecordTime,
) -> Result<Vec<(EntityId, EntityId)>, StoreError> {
    if entities.is_empty() {
        return Ok(Vec::new());
    }
    let rows = tx.rows(&CANONICAL, params![kb, entities, as_of]).await?;
    rows.into_iter()
        .map(|mut row| Ok((row.take()?, row.take()?)))
        .collect()
}

/// The entities that another one stood for at a moment, without itself, by id.
pub async fn members(
    tx: &mut Tx,
    kb: KbId,
    canonical: EntityId,
    as_of: RecordTime,
) -> Result<Vec<EntityId>, StoreError> {
    let rows = tx.rows(&MEMBERS, params![kb, canonical, as_of]).await?;
    rows.into_iter().map(|mut row| row.take()).collect()
}

/// All entities that another one stands for now, by id, with that other.
pub async fn folded(tx: &mut Tx, kb: KbId) -> Result<Vec<(EntityId, EntityId)>, StoreError> {
    let rows = tx.rows(&FOLDED, params![kb]).await?;
    rows.into_iter()
        .map(|mut row| Ok((row.take()?, row.take()?)))
        .collect()
}

/// Says from `at` on who stands for whom, instead of what was said of `entities` before.
pub async fn replace_closure(
    tx: &mut Tx,
    kb: KbId,
    entities: &[EntityId],
    closure: &[(EntityId, EntityId)],
    at: RecordTime,
) -> Result<(), StoreError> {
    tx.execute(&CLOSE, params![kb, entities, at]).await?;
    let rows: Vec<Vec<Param<'_>>> = closure
        .iter()
        .map(|&(entity, canonical)| params![kb, entity, at, canonical].to_vec())
        .collect();
    tx.bulk(&INSERT, &rows).await.map(drop)
}

/// The two, in the order they are stored in.
fn ordered((one, other): (EntityId, EntityId)) -> (EntityId, EntityId) {
    (one.min(other), one.max(other))
}

/// Says from `at` on that the two are not the same.
pub async fn set_different(
    tx: &mut Tx,
    kb: KbId,
    pair: (EntityId, EntityId),
    event: EventId,
    at: RecordTime,
) -> Result<(), StoreError> {
    let (one, other) = ordered(pair);
    let row = params![kb, one, other, at, event];
    tx.execute(&DIFFERENT, row).await.map(drop)
}

/// Says no longer that the two are not the same; whether it was said.
pub async fn unset_different(
    tx: &mut Tx,
    kb: KbId,
    pair: (EntityId, EntityId),
    at: RecordTime,
) -> Result<bool, StoreError> {
    let (one, other) = ordered(pair);
    let row = params![kb, one, other, at];
    Ok(tx.execute(&NOT_DIFFERENT, row).await? == 1)
}

/// Pairs of one of these entities and another that it was said not to be, at a moment.
pub async fn different_from(
    tx: &mut Tx,
    kb: KbId,
    entities: &[EntityId],
    as_of: RecordTime,
) -> Result<Vec<(EntityId, EntityId)>, StoreError> {
    let row = params![kb, entities, as_of];
    let rows = tx.rows(&DIFFERENT_FROM, row).await?;
    rows.into_iter()
        .map(|mut row| Ok((row.take()?, row.take()?)))
        .collect()
}
