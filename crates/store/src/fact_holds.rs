//! For when claims hold, as it was read out, each reading with a record-time life of its own.

use std::collections::HashMap;

use model::fact::{Fact, Rank};
use model::time::{Interval, OPEN_END, OPEN_START};
use model::{EntityId, FactId, KbId, RecordTime, RelationTypeId};
use uuid::Uuid;

use crate::statement::statements;
use crate::value::{Cells, Param, Row, params};
use crate::{StoreError, Tx, facts};

/// A reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    pub fact: FactId,
    pub subject: EntityId,
    pub predicate: Option<RelationTypeId>,
    pub object: Option<EntityId>,
    /// None for a claim that holds at no moment.
    pub holds: Option<Interval>,
    pub rec_from: RecordTime,
    /// None while it is the reading.
    pub rec_to: Option<RecordTime>,
}

/// A claim with the reading of it that was held.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    pub fact: Fact,
    pub holds: Option<Interval>,
}

/// A claim without what it says: what it is counted, ordered and narrowed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outline {
    pub fact: FactId,
    pub predicate: Option<RelationTypeId>,
    /// The thing at its other end; none for a value.
    pub other: Option<EntityId>,
    pub rank: Rank,
    /// None for a claim that holds at no moment.
    pub holds: Option<Interval>,
    pub recorded_at: RecordTime,
    /// The first instant of the stated beginning; open if none was stated.
    pub starts_at: i64,
    /// The first instant after the stated end; open if none was stated.
    pub ends_at: i64,
}

/// What to read of the two clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// World time: what holds at some instant of this; whatever holds, and when, if none.
    pub at: Option<Interval>,
    /// Record time: what was held at this moment.
    pub as_of: RecordTime,
}

/// The end of what is not ended.
pub(crate) const NOT_ENDED: i64 = i64::MAX;

statements! {
    tenant {
        INSERT: "INSERT INTO fact_hold (tenant_id, base_id, fact_id, subject_id, predicate_id, object_id, holds_from, holds_to, rec_from, rec_to, \
            rank, recorded_at, starts_at, ends_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        CLOSE: "UPDATE fact_hold SET rec_to = $5 WHERE tenant_id = $1 AND base_id = $2 AND fact_id = $3 AND rec_from = $4",
        OPEN_OF_FACTS: "SELECT fact_id, subject_id, predicate_id, object_id, holds_from, holds_to, rec_from, rec_to \
            FROM fact_hold WHERE tenant_id = $1 AND base_id = $2 AND fact_id = ANY($3) AND +rec_to = 9223372036854775807 ORDER BY fact_id",
        OF_SUBJECTS: "SELECT fact.id, fact.subject_id, fact.predicate_id, fact.object_id, fact.value, fact.unit, fact.wording, fact.rank, \
            fact.valid_from, fact.valid_from_latest, fact.valid_from_approximate, fact.valid_to, fact.valid_to_earliest, fact.valid_to_approximate, \
            fact.ended_unknown, fact.date_text, fact.calendar, fact.confidence, fact.recorded_at, fact.invalidated_at, fact.supersedes, \
            fact_hold.holds_from, fact_hold.holds_to \
            FROM fact_hold JOIN fact ON fact.tenant_id = fact_hold.tenant_id AND fact.base_id = fact_hold.base_id AND fact.id = fact_hold.fact_id \
            WHERE fact_hold.tenant_id = $1 AND fact_hold.base_id = $2 AND fact_hold.subject_id = ANY($3) \
            AND fact_hold.rec_from <= $4 AND fact_hold.rec_to > $4 AND fact_hold.holds_from <= $6 AND fact_hold.holds_to >= $5",
        OF_OBJECTS: "SELECT fact.id, fact.subject_id, fact.predicate_id, fact.object_id, fact.value, fact.unit, fact.wording, fact.rank, \
            fact.valid_from, fact.valid_from_latest, fact.valid_from_approximate, fact.valid_to, fact.valid_to_earliest, fact.valid_to_approximate, \
            fact.ended_unknown, fact.date_text, fact.calendar, fact.confidence, fact.recorded_at, fact.invalidated_at, fact.supersedes, \
            fact_hold.holds_from, fact_hold.holds_to \
            FROM fact_hold JOIN fact ON fact.tenant_id = fact_hold.tenant_id AND fact.base_id = fact_hold.base_id AND fact.id = fact_hold.fact_id \
            WHERE fact_hold.tenant_id = $1 AND fact_hold.base_id = $2 AND fact_hold.object_id = ANY($3) \
            AND fact_hold.rec_from <= $4 AND fact_hold.rec_to > $4 AND fact_hold.holds_from <= $6 AND fact_hold.holds_to >= $5",
        OUTLINES_FROM: "SELECT fact_id, predicate_id, object_id, rank, holds_from, holds_to, recorded_at, starts_at, ends_at FROM fact_hold \
            WHERE tenant_id = $1 AND base_id = $2 AND subject_id = $3 AND rec_from <= $4 AND rec_to > $4 AND holds_from <= $6 AND holds_to >= $5",
        OUTLINES_TO: "SELECT fact_id, predicate_id, subject_id, rank, holds_from, holds_to, recorded_at, starts_at, ends_at FROM fact_hold \
            WHERE tenant_id = $1 AND base_id = $2 AND object_id = $3 AND rec_from <= $4 AND rec_to > $4 AND holds_from <= $6 AND holds_to >= $5",
        OVERLAPPING: "SELECT fact_id FROM fact_hold WHERE tenant_id = $1 AND base_id = $2 AND subject_id = ANY($3) AND predicate_id = $4 \
            AND holds_from <= $6 AND holds_to >= $5 AND rec_to = 9223372036854775807",
        EDGES_FROM: "SELECT fact_id, subject_id, predicate_id, object_id, holds_from, holds_to, rec_from, rec_to FROM fact_hold \
            WHERE tenant_id = $1 AND base_id = $2 AND subject_id = $3 AND rec_from <= $4 AND rec_to > $4 AND holds_from <= $6 AND holds_to >= $5 \
            AND object_id <> $7 ORDER BY predicate_id, holds_from, holds_to, rec_from, rec_to, object_id, fact_id LIMIT $8",
        EDGES_TO: "SELECT fact_id, subject_id, predicate_id, object_id, holds_from, holds_to, rec_from, rec_to FROM fact_hold \
            WHERE tenant_id = $1 AND base_id = $2 AND object_id = $3 AND rec_from <= $4 AND rec_to > $4 AND holds_from <= $6 AND holds_to >= $5 \
            ORDER BY predicate_id, holds_from, holds_to, rec_from, rec_to, subject_id, fact_id LIMIT $7",
        COUNT_OF: "SELECT subject_id, COUNT(*) FROM fact_hold WHERE tenant_id = $1 AND base_id = $2 AND subject_id = ANY($3) AND rec_from <= $4 AND rec_to > $4 GROUP BY subject_id",
        COUNT_TO: "SELECT object_id, COUNT(*) FROM fact_hold WHERE tenant_id = $1 AND base_id = $2 AND object_id = ANY($3) AND rec_from <= $4 AND rec_to > $4 GROUP BY object_id",
    }
}

/// The nil id stands in the index where there is nothing.
fn or_nil(id: Option<Uuid>) -> Uuid {
    id.unwrap_or(Uuid::nil())
}

/// What is asked of `holds_from` and `holds_to`: the greatest and the least that will do.
///
/// A claim that holds at no moment is stored as beginning and ending at the end of time.
fn bounds(at: Option<Interval>) -> (i64, i64) {
    match at {
        // A whole interval may be open; then one instant more or less is beside the point.
        Some(at) => (at.from().saturating_add(1), at.to().saturating_sub(1)),
        None => (OPEN_START, OPEN_END),
    }
}

fn interval(row: &mut Row) -> Result<Option<Interval>, StoreError> {
    Ok(Interval::new(row.take()?, row.take()?))
}

fn read(row: &mut Row) -> Result<Hold, StoreError> {
    let some = |id: Uuid| (!id.is_nil()).then_some(id);
    let (fact, subject) = (row.take()?, row.take()?);
    let (predicate, object) = (some(row.take()?), some(row.take()?));
    let holds = interval(row)?;
    let rec_from = row.take()?;
    let rec_to: i64 = row.take()?;
    Ok(Hold {
        fact,
        subject,
        predicate: predicate.map(RelationTypeId::new),
        object: object.map(EntityId::new),
        holds,
        rec_from,
        rec_to: (rec_to != NOT_ENDED).then(|| RecordTime::from_micros(rec_to)),
    })
}

fn read_held(row: &mut Row) -> Result<Held, StoreError> {
    Ok(Held {
        fact: facts::read(row)?,
        holds: interval(row)?,
    })
}

fn read_outline(cells: &dyn Cells) -> Option<Outline> {
    let some = |id: Uuid| (!id.is_nil()).then_some(id);
    Some(Outline {
        fact: FactId::new(cells.uuid(0)?),
        predicate: some(cells.uuid(1)?).map(RelationTypeId::new),
        other: some(cells.uuid(2)?).map(EntityId::new),
        rank: match cells.int(3)? {
            0 => Rank::Deprecated,
            1 => Rank::Normal,
            2 => Rank::Preferred,
            _ => return None,
        },
        holds: Interval::new(cells.int(4)?, cells.int(5)?),
        recorded_at: RecordTime::from_micros(cells.int(6)?),
        starts_at: cells.int(7)?,
        ends_at: cells.int(8)?,
    })
}

/// Adds readings of these claims from `rec_from` on, which is the transaction's record time.
pub async fn insert(tx: &mut Tx, kb: KbId, holds: &[(Hold, &Fact)]) -> Result<(), StoreError> {
    let rows: Vec<Vec<Param<'_>>> = holds
        .iter()
        .map(|(hold, fact)| {
            let (from, to) = hold
                .holds
                .map_or((OPEN_END, OPEN_END), |at| (at.from(), at.to()));
            params![
                kb,
                hold.fact,
                hold.subject,
                or_nil(hold.predicate.map(RelationTypeId::uuid)),
                or_nil(hold.object.map(EntityId::uuid)),
                from,
                to,
                hold.rec_from,
                hold.rec_to.map_or(NOT_ENDED, RecordTime::micros),
                fact.rank as i64,
                fact.recorded_at,
                fact.validity.starts_at(),
                fact.validity.ends_at(),
            ]
            .to_vec()
        })
        .collect();
    tx.bulk(&INSERT, &rows).await.map(drop)
}

/// Ends these readings. `at` is the transaction's record time.
pub async fn close(
    tx: &mut Tx,
    kb: KbId,
    readings: &[Hold],
    at: RecordTime,
) -> Result<(), StoreError> {
    let rows: Vec<Vec<Param<'_>>> = readings
        .iter()
        .map(|hold| params![kb, hold.fact, hold.rec_from, at].to_vec())
        .collect();
    tx.bulk(&CLOSE, &rows).await.map(drop)
}

/// The readings of these claims that are not ended, by claim.
pub async fn open_of(tx: &mut Tx, kb: KbId, facts: &[FactId]) -> Result<Vec<Hold>, StoreError> {
    let rows = tx.rows(&OPEN_OF_FACTS, params![kb, facts]).await?;
    rows.into_iter().map(|mut row| read(&mut row)).collect()
}

/// The claims about these entities that the view shows, in no order.
pub async fn of_subjects(
    tx: &mut Tx,
    kb: KbId,
    subjects: &[EntityId],
    view: View,
) -> Result<Vec<Held>, StoreError> {
    let (from, to) = bounds(view.at);
    let row = params![kb, subjects, view.as_of, from, to];
    let rows = tx.rows(&OF_SUBJECTS, row).await?;
    rows.into_iter()
        .map(|mut row| read_held(&mut row))
        .collect()
}

/// The claims that lead to these entities and that the view shows, in no order.
pub async fn of_objects(
    tx: &mut Tx,
    kb: KbId,
    objects: &[EntityId],
    view: View,
) -> Result<Vec<Held>, StoreError> {
    let (from, to) = bounds(view.at);
    let row = params![kb, objects, view.as_of, from, to];
    let rows = tx.rows(&OF_OBJECTS, row).await?;
    rows.into_iter()
        .map(|mut row| read_held(&mut row))
        .collect()
}

/// Which end of a claim a thing stands at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The claim is about it.
    Subject,
    /// The claim leads to it.
    Object,
}

/// Hands over the outline of each claim that has a thing at one end and that the view shows, in
/// no order. Reads one index and none of the claims.
pub async fn outlines(
    tx: &mut Tx,
    kb: KbId,
    (thing, end): (EntityId, At),
    view: View,
    take: &mut (dyn FnMut(Outline) + Send),
) -> Result<(), StoreError> {
    let (from, to) = bounds(view.at);
    let statement = match end {
        At::Subject => &OUTLINES_FROM,
        At::Object => &OUTLINES_TO,
    };
    let row = params![kb, thing, view.as_of, from, to];
    let mut read = |cells: &dyn Cells| {
        take(read_outline(cells)?);
        Some(())
    };
    tx.scan(statement, row, &mut read).await
}

/// The claims of a relation about these subjects that are read to hold at some instant of an
/// interval, as the base stands.
pub async fn overlapping(
    tx: &mut Tx,
    kb: KbId,
    (subjects, predicate): (&[EntityId], RelationTypeId),
    interval: Interval,
) -> Result<Vec<FactId>, StoreError> {
    let (from, to) = bounds(Some(interval));
    let rows = tx
        .rows(&OVERLAPPING, params![kb, subjects, predicate, from, to])
        .await?;
    rows.into_iter().map(|mut row| row.take()).collect()
}

/// The readings of claims from a thing to others, without the claims, `limit` at most, in the
/// order of the index: those left out of a thing with more are not even looked at.
pub async fn edges_from(
    tx: &mut Tx,
    kb: KbId,
    subject: EntityId,
    view: View,
    limit: u32,
) -> Result<Vec<Hold>, StoreError> {
    let (from, to) = bounds(view.at);
    let row = params![kb, subject, view.as_of, from, to, Uuid::nil(), limit];
    let rows = tx.rows(&EDGES_FROM, row).await?;
    rows.into_iter().map(|mut row| read(&mut row)).collect()
}

/// The readings of claims that lead to a thing, in the same way.
pub async fn edges_to(
    tx: &mut Tx,
    kb: KbId,
    object: EntityId,
    view: View,
    limit: u32,
) -> Result<Vec<Hold>, StoreError> {
    let (from, to) = bounds(view.at);
    let row = params![kb, object, view.as_of, from, to, limit];
    let rows = tx.rows(&EDGES_TO, row).await?;
    rows.into_iter().map(|mut row| read(&mut row)).collect()
}

/// How many claims about each of these entities, or leading to it, were held at a moment; those
/// without any are left out.
pub async fn counts_of(
    tx: &mut Tx,
    kb: KbId,
    entities: &[EntityId],
    as_of: RecordTime,
) -> Result<HashMap<EntityId, u64>, StoreError> {
    let mut counts = HashMap::new();
    for statement in [&COUNT_OF, &COUNT_TO] {
        for mut row in tx.rows(statement, params![kb, entities, as_of]).await? {
            let (entity, count): (EntityId, u64) = (row.take()?, row.take()?);
            *counts.entry(entity).or_default() += count;
        }
    }
    Ok(counts)
}
