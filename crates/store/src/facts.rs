//! Claims, as they were recorded. Only `invalidated_at` is ever written afterwards, once.

use model::fact::{Bound, End, Fact, Object, Validity, Value};
use model::{EntityId, FactId, KbId, RecordTime, RelationTypeId, WorldTime};

use crate::fact_holds::At;
use crate::statement::statements;
use crate::value::{Param, Row, params};
use crate::{StoreError, Tx};

statements! {
    tenant {
        INSERT: "INSERT INTO fact (tenant_id, base_id, id, subject_id, predicate_id, object_id, value, unit, says, wording, rank, \
            valid_from, valid_from_latest, valid_from_approximate, valid_to, valid_to_earliest, valid_to_approximate, ended_unknown, \
            starts_at, ends_at, date_text, calendar, confidence, recorded_at, supersedes) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25)",
        CLOSE: "UPDATE fact SET invalidated_at = $4 WHERE tenant_id = $1 AND base_id = $2 AND id = $3 AND invalidated_at IS NULL",
        BY_IDS: "SELECT id, subject_id, predicate_id, object_id, value, unit, wording, rank, valid_from, valid_from_latest, valid_from_approximate, \
            valid_to, valid_to_earliest, valid_to_approximate, ended_unknown, date_text, calendar, confidence, recorded_at, invalidated_at, supersedes \
            FROM fact WHERE tenant_id = $1 AND base_id = $2 AND id = ANY($3) ORDER BY id",
        OF_SUBJECTS: "SELECT id, subject_id, predicate_id, object_id, value, unit, wording, rank, valid_from, valid_from_latest, valid_from_approximate, \
            valid_to, valid_to_earliest, valid_to_approximate, ended_unknown, date_text, calendar, confidence, recorded_at, invalidated_at, supersedes \
            FROM fact WHERE tenant_id = $1 AND base_id = $2 AND subject_id = ANY($3) AND predicate_id = $4 \
            AND +recorded_at <= $5 AND (invalidated_at IS NULL OR invalidated_at > $5)",
        OF_OBJECTS: "SELECT id, subject_id, predicate_id, object_id, value, unit, wording, rank, valid_from, valid_from_latest, valid_from_approximate, \
            valid_to, valid_to_earliest, valid_to_approximate, ended_unknown, date_text, calendar, confidence, recorded_at, invalidated_at, supersedes \
            FROM fact WHERE tenant_id = $1 AND base_id = $2 AND object_id = ANY($3) AND predicate_id = $4 \
            AND +recorded_at <= $5 AND (invalidated_at IS NULL OR invalidated_at > $5)",
        SAYING: "SELECT id, subject_id, predicate_id, object_id, value, unit, wording, rank, valid_from, valid_from_latest, valid_from_approximate, \
            valid_to, valid_to_earliest, valid_to_approximate, ended_unknown, date_text, calendar, confidence, recorded_at, invalidated_at, supersedes \
            FROM fact WHERE tenant_id = $1 AND base_id = $2 AND subject_id = ANY($3) AND predicate_id = $4 AND says = ANY($5) AND +invalidated_at IS NULL",
        SUBJECT_BEFORE: "SELECT id, subject_id, predicate_id, object_id, value, unit, wording, rank, valid_from, valid_from_latest, valid_from_approximate, \
            valid_to, valid_to_earliest, valid_to_approximate, ended_unknown, date_text, calendar, confidence, recorded_at, invalidated_at, supersedes \
            FROM fact WHERE tenant_id = $1 AND base_id = $2 AND subject_id = $3 AND predicate_id = $4 AND starts_at <= $5 AND +invalidated_at IS NULL ORDER BY starts_at DESC LIMIT $6",
        SUBJECT_AFTER: "SELECT id, subject_id, predicate_id, object_id, value, unit, wording, rank, valid_from, valid_from_latest, valid_from_approximate, \
            valid_to, valid_to_earliest, valid_to_approximate, ended_unknown, date_text, calendar, confidence, recorded_at, invalidated_at, supersedes \
            FROM fact WHERE tenant_id = $1 AND base_id = $2 AND subject_id = $3 AND predicate_id = $4 AND starts_at >= $5 AND +invalidated_at IS NULL ORDER BY starts_at ASC LIMIT $6",
        OBJECT_BEFORE: "SELECT id, subject_id, predicate_id, object_id, value, unit, wording, rank, valid_from, valid_from_latest, valid_from_approximate, \
            valid_to, valid_to_earliest, valid_to_approximate, ended_unknown, date_text, calendar, confidence, recorded_at, invalidated_at, supersedes \
            FROM fact WHERE tenant_id = $1 AND base_id = $2 AND object_id = $3 AND predicate_id = $4 AND starts_at <= $5 AND +invalidated_at IS NULL ORDER BY starts_at DESC LIMIT $6",
        OBJECT_AFTER: "SELECT id, subject_id, predicate_id, object_id, value, unit, wording, rank, valid_from, valid_from_latest, valid_from_approximate, \
            valid_to, valid_to_earliest, valid_to_approximate, ended_unknown, date_text, calendar, confidence, recorded_at, invalidated_at, supersedes \
            FROM fact WHERE tenant_id = $1 AND base_id = $2 AND object_id = $3 AND predicate_id = $4 AND starts_at >= $5 AND +invalidated_at IS NULL ORDER BY starts_at ASC LIMIT $6",
        SUCCESSORS: "SELECT supersedes FROM fact WHERE tenant_id = $1 AND base_id = $2 AND supersedes = ANY($3)",
        RECORDED_BETWEEN: "SELECT id, subject_id, predicate_id, object_id, value, unit, wording, rank, valid_from, valid_from_latest, valid_from_approximate, \
            valid_to, valid_to_earliest, valid_to_approximate, ended_unknown, date_text, calendar, confidence, recorded_at, invalidated_at, supersedes \
            FROM fact WHERE tenant_id = $1 AND base_id = $2 AND recorded_at >= $3 AND (recorded_at, id) < ($4, $5) ORDER BY recorded_at DESC, id DESC LIMIT $6",
        CLOSED_BETWEEN: "SELECT id, subject_id, predicate_id, object_id, value, unit, wording, rank, valid_from, valid_from_latest, valid_from_approximate, \
            valid_to, valid_to_earliest, valid_to_approximate, ended_unknown, date_text, calendar, confidence, recorded_at, invalidated_at, supersedes \
            FROM fact WHERE tenant_id = $1 AND base_id = $2 AND invalidated_at >= $3 AND (invalidated_at, id) < ($4, $5) ORDER BY invalidated_at DESC, id DESC LIMIT $6",
        COUNT_EVER: "SELECT COUNT(*) FROM fact WHERE tenant_id = $1 AND base_id = $2 AND predicate_id = $3",
        OF_PREDICATE: "SELECT id, subject_id, predicate_id, object_id, value, unit, wording, rank, valid_from, valid_from_latest, valid_from_approximate, \
            valid_to, valid_to_earliest, valid_to_approximate, ended_unknown, date_text, calendar, confidence, recorded_at, invalidated_at, supersedes \
            FROM fact WHERE tenant_id = $1 AND base_id = $2 AND predicate_id = $3 AND +invalidated_at IS NULL",
        AFTER: "SELECT id, subject_id, predicate_id, object_id, value, unit, wording, rank, valid_from, valid_from_latest, valid_from_approximate, \
            valid_to, valid_to_earliest, valid_to_approximate, ended_unknown, date_text, calendar, confidence, recorded_at, invalidated_at, supersedes \
            FROM fact WHERE tenant_id = $1 AND base_id = $2 AND id > $3 ORDER BY id LIMIT $4",
    }
}

/// The columns of a bound: earliest, latest if it is another date, approximate.
fn bound_columns(bound: Option<Bound>) -> (Option<String>, Option<String>, bool) {
    match bound {
        None => (None, None, false),
        Some(bound) => {
            let (earliest, latest) = (bound.earliest(), bound.latest());
            let other = (earliest != latest).then(|| latest.to_string());
            (Some(earliest.to_string()), other, bound.approximate)
        }
    }
}

fn bound(
    earliest: Option<WorldTime>,
    latest: Option<WorldTime>,
    approximate: bool,
) -> Option<Bound> {
    let earliest = earliest?;
    let bound = Bound::between(earliest, latest.unwrap_or(earliest))?;
    Some(if approximate {
        bound.approximately()
    } else {
        bound
    })
}

pub(crate) fn read(row: &mut Row) -> Result<Fact, StoreError> {
    let (id, subject, predicate) = (row.take()?, row.take()?, row.take()?);
    let (entity, value, unit): (Option<EntityId>, Option<String>, _) =
        (row.take()?, row.take()?, row.take()?);
    let object = match (entity, value) {
        (Some(entity), _) => Object::Entity(entity),
        (None, value) => Object::Value(Value {
            value: serde_json::from_str(&value.unwrap_or_default())
                .map_err(|error| StoreError::failed("read a value", error))?,
            unit,
        }),
    };
    let (wording, rank) = (row.take()?, row.named()?);
    let from = bound(row.named_or_none()?, row.named_or_none()?, row.take()?);
    let (to, to_earliest): (Option<WorldTime>, Option<WorldTime>) =
        (row.named_or_none()?, row.named_or_none()?);
    let to = bound(to_earliest.or(to), to, row.take()?);
    let ended_unknown: bool = row.take()?;
    let to = match (to, ended_unknown) {
        (Some(to), _) => End::On(to),
        (None, true) => End::Unknown,
        (None, false) => End::Open,
    };
    Ok(Fact {
        id,
        subject,
        predicate,
        object,
        wording,
        rank,
        validity: Validity { from, to },
        date_text: row.take()?,
        calendar: row.take()?,
        confidence: row.take()?,
        recorded_at: row.take()?,
        invalidated_at: row.take()?,
        supersedes: row.take()?,
    })
}

/// Adds claims, held from their `recorded_at` on, which is the transaction's record time.
pub async fn insert(tx: &mut Tx, kb: KbId, facts: &[Fact]) -> Result<(), StoreError> {
    let rows: Vec<Vec<Param<'_>>> = facts.iter().map(|fact| columns(kb, fact)).collect();
    tx.bulk(&INSERT, &rows).await.map(drop)
}

fn columns(kb: KbId, fact: &Fact) -> Vec<Param<'_>> {
    let (from, from_latest, from_approximate) = bound_columns(fact.validity.from);
    let end = match fact.validity.to {
        End::On(bound) => Some(bound),
        End::Open | End::Unknown => None,
    };
    // An end is known by its last day, as a beginning is by its first.
    let (to, to_earliest) = match end {
        Some(end) if end.earliest() != end.latest() => (
            Some(end.latest().to_string()),
            Some(end.earliest().to_string()),
        ),
        end => (end.map(|end| end.latest().to_string()), None),
    };
    let (value, unit) = match &fact.object {
        Object::Entity(_) => (None, None),
        Object::Value(value) => (Some(value.value.to_string()), value.unit.as_deref()),
    };
    params![
        kb,
        fact.id,
        fact.subject,
        fact.predicate,
        fact.object.entity(),
        value,
        unit,
        fact.object.key(),
        fact.wording.as_deref(),
        fact.rank.name(),
        from,
        from_latest,
        from_approximate,
        to,
        to_earliest,
        end.is_some_and(|end| end.approximate),
        fact.validity.to == End::Unknown,
        fact.validity.starts_at(),
        fact.validity.ends_at(),
        fact.date_text.as_deref(),
        fact.calendar.as_deref(),
        fact.confidence,
        fact.recorded_at,
        fact.supersedes,
    ]
    .to_vec()
}

/// Closes a claim that is still held; whether it was. `at` is the transaction's record time.
pub async fn close(
    tx: &mut Tx,
    kb: KbId,
    fact: FactId,
    at: RecordTime,
) -> Result<bool, StoreError> {
    Ok(tx.execute(&CLOSE, params![kb, fact, at]).await? == 1)
}

/// The claim with this id, held or not.
pub async fn find(tx: &mut Tx, kb: KbId, fact: FactId) -> Result<Option<Fact>, StoreError> {
    Ok(by_ids(tx, kb, &[fact]).await?.pop())
}

/// The claims with these ids, held or not, by id.
pub async fn by_ids(tx: &mut Tx, kb: KbId, ids: &[FactId]) -> Result<Vec<Fact>, StoreError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    read_all(tx.rows(&BY_IDS, params![kb, ids]).await?)
}

/// The claims by id. Sorted here: an order in the statement would have SQLite walk the base.
fn read_sorted(rows: Vec<Row>) -> Result<Vec<Fact>, StoreError> {
    let mut facts = read_all(rows)?;
    facts.sort_by_key(|fact| fact.id);
    Ok(facts)
}

fn read_all(mut rows: Vec<Row>) -> Result<Vec<Fact>, StoreError> {
    rows.iter_mut().map(read).collect()
}

/// The claims of a relation about any of these subjects that were held at a moment, by id.
pub async fn of_subjects(
    tx: &mut Tx,
    kb: KbId,
    (subjects, predicate): (&[EntityId], RelationTypeId),
    as_of: RecordTime,
) -> Result<Vec<Fact>, StoreError> {
    let row = params![kb, subjects, predicate, as_of];
    read_sorted(tx.rows(&OF_SUBJECTS, row).await?)
}

/// The claims of a relation that lead to any of these objects and were held at a moment, by id.
pub async fn of_objects(
    tx: &mut Tx,
    kb: KbId,
    (objects, predicate): (&[EntityId], RelationTypeId),
    as_of: RecordTime,
) -> Result<Vec<Fact>, StoreError> {
    let row = params![kb, objects, predicate, as_of];
    read_sorted(tx.rows(&OF_OBJECTS, row).await?)
}

/// The claims of a relation about any of these subjects that say one of these things
/// ([`Object::key`]) and are held now, by id.
pub async fn saying(
    tx: &mut Tx,
    kb: KbId,
    (subjects, predicate): (&[EntityId], RelationTypeId),
    says: &[String],
) -> Result<Vec<Fact>, StoreError> {
    let says: Vec<&str> = says.iter().map(String::as_str).collect();
    let row = params![kb, subjects, predicate, says];
    read_sorted(tx.rows(&SAYING, row).await?)
}

/// Where to look from a stated beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Towards {
    /// At those that begin then or earlier, the latest first.
    Before,
    /// At those that begin then or later, the earliest first.
    After,
}

/// The claims of a relation that have a thing at one end, are held now and are stated to begin
/// then or on one side of it, the nearest first, `limit` at most.
pub async fn succession(
    tx: &mut Tx,
    kb: KbId,
    (thing, end, predicate): (EntityId, At, RelationTypeId),
    (starts_at, towards): (i64, Towards),
    limit: u32,
) -> Result<Vec<Fact>, StoreError> {
    let statement = match (end, towards) {
        (At::Subject, Towards::Before) => &SUBJECT_BEFORE,
        (At::Subject, Towards::After) => &SUBJECT_AFTER,
        (At::Object, Towards::Before) => &OBJECT_BEFORE,
        (At::Object, Towards::After) => &OBJECT_AFTER,
    };
    read_all(
        tx.rows(statement, params![kb, thing, predicate, starts_at, limit])
            .await?,
    )
}

/// Which of these claims another one took the place of.
pub async fn superseded(
    tx: &mut Tx,
    kb: KbId,
    facts: &[FactId],
) -> Result<Vec<FactId>, StoreError> {
    let rows = tx.rows(&SUCCESSORS, params![kb, facts]).await?;
    rows.into_iter().map(|mut row| row.take()).collect()
}

/// Claims recorded from a moment on and before a place, newest first, `limit` of them at most.
///
/// A place is a moment and an id; the nil id stands before all that happened at its moment.
pub async fn recorded_between(
    tx: &mut Tx,
    kb: KbId,
    since: RecordTime,
    (before, before_id): (RecordTime, FactId),
    limit: u32,
) -> Result<Vec<Fact>, StoreError> {
    let row = params![kb, since, before, before_id, limit];
    read_all(tx.rows(&RECORDED_BETWEEN, row).await?)
}

/// Claims closed from a moment on and before a place, newest first, `limit` of them at most.
///
/// A place is a moment and an id; the nil id stands before all that happened at its moment.
pub async fn closed_between(
    tx: &mut Tx,
    kb: KbId,
    since: RecordTime,
    (before, before_id): (RecordTime, FactId),
    limit: u32,
) -> Result<Vec<Fact>, StoreError> {
    let row = params![kb, since, before, before_id, limit];
    read_all(tx.rows(&CLOSED_BETWEEN, row).await?)
}

/// Claims after an id, held or not, by id: for walking the whole ledger.
pub async fn after(
    tx: &mut Tx,
    kb: KbId,
    after: FactId,
    limit: u32,
) -> Result<Vec<Fact>, StoreError> {
    read_all(tx.rows(&AFTER, params![kb, after, limit]).await?)
}

/// How many claims of a relation were ever recorded.
pub async fn count_ever(
    tx: &mut Tx,
    kb: KbId,
    predicate: RelationTypeId,
) -> Result<u64, StoreError> {
    match tx.row(&COUNT_EVER, params![kb, predicate]).await? {
        Some(mut row) => row.take(),
        None => Ok(0),
    }
}

/// The claims of a relation that are held now, by id.
pub async fn of_predicate(
    tx: &mut Tx,
    kb: KbId,
    predicate: RelationTypeId,
) -> Result<Vec<Fact>, StoreError> {
    read_sorted(tx.rows(&OF_PREDICATE, params![kb, predicate]).await?)
}
