//! Keeping the read-out of claims in step with what stands beside them.

use std::collections::{BTreeSet, HashMap};

use model::fact::{Fact, Object};
use model::holds::{Claim, Reading, read_out};
use model::ontology::RelationType;
use model::time::Interval;
use model::{EntityId, FactId, KbId, RecordTime, Result, WorldTime};
use store::evidence::{self, Evidence};
use store::fact_holds::Hold;
use store::{Tx, fact_holds, facts, identity};

use super::people;

/// Reads out again for when the claims of a relation hold that stand beside those touched, and
/// records what is different from `at` on. The ids of all that stand beside.
///
/// `touched` are claims that were added, closed or whose things were merged or parted;
/// `relation` is theirs, none for claims outside the ontology.
pub async fn refresh(
    tx: &mut Tx,
    kb: KbId,
    relation: Option<&RelationType>,
    touched: &[Fact],
    at: RecordTime,
) -> Result<Vec<FactId>> {
    let read = recompute(tx, kb, relation, touched, at).await?;
    let ids: Vec<FactId> = read.iter().map(|hold| hold.fact).collect();
    let mut known: BTreeSet<FactId> = ids.iter().copied().collect();
    known.extend(touched.iter().map(|fact| fact.id));
    let known: Vec<FactId> = known.into_iter().collect();
    let open: HashMap<FactId, Hold> = fact_holds::open_of(tx, kb, &known)
        .await?
        .into_iter()
        .map(|hold| (hold.fact, hold))
        .collect();

    let stands = |hold: &Hold| {
        open.get(&hold.fact)
            .is_some_and(|known| known.holds == hold.holds)
    };
    let new: Vec<Hold> = read.into_iter().filter(|hold| !stands(hold)).collect();
    let changed: BTreeSet<FactId> = new.iter().map(|hold| hold.fact).collect();
    let held: BTreeSet<FactId> = ids.iter().copied().collect();
    let ended: Vec<Hold> = open
        .into_values()
        .filter(|hold| changed.contains(&hold.fact) || !held.contains(&hold.fact))
        .collect();
    fact_holds::close(tx, kb, &ended, at).await?;
    fact_holds::insert(tx, kb, &new).await?;
    Ok(ids)
}

/// For when the claims hold that stand beside those touched, read out from the ledger alone.
pub async fn recompute(
    tx: &mut Tx,
    kb: KbId,
    relation: Option<&RelationType>,
    touched: &[Fact],
    at: RecordTime,
) -> Result<Vec<Hold>> {
    let axioms = relation.map(|relation| relation.axioms).unwrap_or_default();
    let mut affected: HashMap<FactId, Fact> = touched
        .iter()
        .filter(|fact| fact.held_at(at))
        .map(|fact| (fact.id, fact.clone()))
        .collect();
    let mut by_subject = Vec::new();
    let mut by_object = Vec::new();
    if let Some(relation) = relation {
        if axioms.functional {
            let subjects = touched.iter().map(|fact| fact.subject);
            by_subject = groups(tx, kb, relation, subjects, End::Subject, at).await?;
        }
        if axioms.inverse_functional {
            let objects = touched.iter().filter_map(|fact| fact.object.entity());
            by_object = groups(tx, kb, relation, objects, End::Object, at).await?;
        }
        for fact in by_subject.iter().chain(&by_object).flatten() {
            affected.insert(fact.id, fact.clone());
        }
        // A claim found by one end stands among others at the other end too.
        if axioms.functional && axioms.inverse_functional {
            let subjects = affected.values().map(|fact| fact.subject);
            by_subject = groups(tx, kb, relation, subjects, End::Subject, at).await?;
            let objects = affected.values().filter_map(|fact| fact.object.entity());
            by_object = groups(tx, kb, relation, objects, End::Object, at).await?;
        }
    }

    let beside = by_subject.iter().chain(&by_object).flatten();
    let all: Vec<&Fact> = affected.values().chain(beside).collect();
    let dates = attestations(tx, kb, &all, at).await?;
    let things: BTreeSet<EntityId> = all
        .iter()
        .flat_map(|fact| [Some(fact.subject), fact.object.entity()])
        .flatten()
        .collect();
    let things: Vec<EntityId> = things.into_iter().collect();
    let known_as = people::canonicals(tx, kb, &things, at).await?;
    let reader = Reader {
        reading: relation.map(RelationType::reading).unwrap_or_default(),
        dates,
        known_as,
    };

    let mut intervals: HashMap<FactId, Option<Interval>> = HashMap::new();
    for fact in affected.values() {
        intervals.insert(fact.id, reader.alone(fact));
    }
    for (groups, end) in [(&by_subject, End::Subject), (&by_object, End::Object)] {
        for group in groups {
            for (fact, read) in group.iter().zip(reader.together(group, end)) {
                let Some(interval) = intervals.get_mut(&fact.id) else {
                    continue;
                };
                *interval = match (*interval, read) {
                    (Some(alone), Some(read)) => alone.intersection(read),
                    _ => None,
                };
            }
        }
    }
    let mut read: Vec<Hold> = affected
        .values()
        .map(|fact| Hold {
            fact: fact.id,
            subject: fact.subject,
            predicate: fact.predicate,
            object: fact.object.entity(),
            holds: intervals[&fact.id],
            rec_from: at,
            rec_to: None,
        })
        .collect();
    read.sort_by_key(|hold| hold.fact);
    Ok(read)
}

/// Which end of a claim has one other end at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Subject,
    Object,
}

/// The claims of a relation that are held at `at`, one group for each thing at that end.
pub(super) async fn groups(
    tx: &mut Tx,
    kb: KbId,
    relation: &RelationType,
    things: impl Iterator<Item = EntityId>,
    end: End,
    at: RecordTime,
) -> Result<Vec<Vec<Fact>>> {
    let things: BTreeSet<EntityId> = things.collect();
    let things: Vec<EntityId> = things.into_iter().collect();
    let roots: BTreeSet<EntityId> = people::canonicals(tx, kb, &things, at)
        .await?
        .into_values()
        .collect();
    let mut groups = Vec::with_capacity(roots.len());
    for root in roots {
        let mut members = vec![root];
        members.extend(identity::members(tx, kb, root, at).await?);
        let group = match end {
            End::Subject => facts::of_subjects(tx, kb, (&members, relation.id), at).await?,
            End::Object => facts::of_objects(tx, kb, (&members, relation.id), at).await?,
        };
        if !group.is_empty() {
            groups.push(group);
        }
    }
    Ok(groups)
}

/// The earliest and the latest date of the documents that attest each claim.
async fn attestations(
    tx: &mut Tx,
    kb: KbId,
    facts: &[&Fact],
    at: RecordTime,
) -> Result<HashMap<FactId, (WorldTime, WorldTime)>> {
    let ids: BTreeSet<FactId> = facts.iter().map(|fact| fact.id).collect();
    let ids: Vec<FactId> = ids.into_iter().collect();
    let mut dates = HashMap::new();
    for quote in evidence::of_facts(tx, kb, &ids).await? {
        if held(&quote, at)
            && let Some(date) = quote.document_date
        {
            let span = dates.entry(quote.fact).or_insert((date, date));
            *span = wider(*span, date);
        }
    }
    Ok(dates)
}

fn held(quote: &Evidence, at: RecordTime) -> bool {
    quote.recorded_at <= at && quote.invalidated_at.is_none_or(|end| at < end)
}

fn wider((earliest, latest): (WorldTime, WorldTime), date: WorldTime) -> (WorldTime, WorldTime) {
    (
        if date.start_micros() < earliest.start_micros() {
            date
        } else {
            earliest
        },
        if latest.end_micros() < date.end_micros() {
            date
        } else {
            latest
        },
    )
}

/// What the claims of one relation are read with.
struct Reader {
    reading: Reading,
    dates: HashMap<FactId, (WorldTime, WorldTime)>,
    known_as: HashMap<EntityId, EntityId>,
}

impl Reader {
    fn claim(&self, fact: &Fact, end: End) -> Claim {
        let thing = |id: EntityId| self.known_as.get(&id).copied().unwrap_or(id);
        let says = match (end, &fact.object) {
            (End::Object, _) => Object::Entity(thing(fact.subject)).key(),
            (End::Subject, Object::Entity(object)) => Object::Entity(thing(*object)).key(),
            (End::Subject, value) => value.key(),
        };
        Claim {
            id: fact.id,
            says,
            validity: fact.validity,
            rank: fact.rank,
            attested: self.dates.get(&fact.id).copied(),
        }
    }

    /// For when a claim holds if nothing stands beside it.
    fn alone(&self, fact: &Fact) -> Option<Interval> {
        let reading = Reading {
            single_valued: false,
            ..self.reading
        };
        read_out(&[self.claim(fact, End::Subject)], reading)[0]
    }

    /// For when the claims of a group hold that have one other end at a time.
    fn together(&self, group: &[Fact], end: End) -> Vec<Option<Interval>> {
        let claims: Vec<Claim> = group.iter().map(|fact| self.claim(fact, end)).collect();
        let reading = Reading {
            single_valued: true,
            ..self.reading
        };
        read_out(&claims, reading)
    }
}
