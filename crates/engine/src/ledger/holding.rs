//! Keeping the read-out of claims in step with what stands beside them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use model::fact::{Fact, Object, Rank, Temporality};
use model::holds::{Claim, Reading, read_out};
use model::ontology::RelationType;
use model::time::Interval;
use model::{EntityId, FactId, KbId, RecordTime, Result, WorldTime};
use store::evidence::{self, Evidence};
use store::fact_holds::{At, Hold};
use store::{Tx, fact_holds, facts, identity};

use super::people;
use super::succession::{Beside, Row};

/// Reads out again for when the claims of a relation hold that stand beside those touched, and
/// records what is different from `at` on.
///
/// `touched` are claims that were added, closed or whose things were merged or parted;
/// `relation` is theirs, none for claims outside the ontology.
pub async fn refresh(
    tx: &mut Tx,
    kb: KbId,
    relation: Option<&RelationType>,
    touched: &[Fact],
    at: RecordTime,
) -> Result<()> {
    let read = recompute(tx, kb, relation, touched, at).await?;
    let held: BTreeSet<FactId> = read.iter().map(|(fact, _)| fact.id).collect();
    let mut known = held.clone();
    known.extend(touched.iter().map(|fact| fact.id));
    let known: Vec<FactId> = known.into_iter().collect();
    let open: HashMap<FactId, Hold> = fact_holds::open_of(tx, kb, &known)
        .await?
        .into_iter()
        .map(|hold| (hold.fact, hold))
        .collect();

    let hold = |fact: &Fact, holds| Hold {
        fact: fact.id,
        subject: fact.subject,
        predicate: fact.predicate,
        object: fact.object.entity(),
        holds,
        rec_from: at,
        rec_to: None,
    };
    let new: Vec<(Hold, &Fact)> = read
        .iter()
        .filter(|(fact, holds)| open.get(&fact.id).is_none_or(|known| known.holds != *holds))
        .map(|(fact, holds)| (hold(fact, *holds), fact))
        .collect();
    let changed: BTreeSet<FactId> = new.iter().map(|(hold, _)| hold.fact).collect();
    let ended: Vec<Hold> = open
        .into_values()
        .filter(|hold| changed.contains(&hold.fact) || !held.contains(&hold.fact))
        .collect();
    fact_holds::close(tx, kb, &ended, at).await?;
    fact_holds::insert(tx, kb, &new).await?;
    Ok(())
}

/// Claims of a thing at one end, and those of them that are to be read.
struct Group {
    claims: Vec<Fact>,
    affected: BTreeSet<FactId>,
}

impl Group {
    fn whole(claims: Vec<Fact>) -> Self {
        Self {
            affected: claims.iter().map(|fact| fact.id).collect(),
            claims,
        }
    }
}

/// Claims touched at once up to which only those beside them are read, and not all of their things.
const FEW: usize = 4;

/// For when the claims hold that stand beside those touched, read out from the ledger alone, by
/// claim.
async fn recompute(
    tx: &mut Tx,
    kb: KbId,
    relation: Option<&RelationType>,
    touched: &[Fact],
    at: RecordTime,
) -> Result<Vec<(Fact, Option<Interval>)>> {
    let mut affected: BTreeMap<FactId, Fact> = touched
        .iter()
        .filter(|fact| fact.held_at(at))
        .map(|fact| (fact.id, fact.clone()))
        .collect();
    // Nothing ends an event, nor what always holds.
    let neighbours = relation.filter(|relation| relation.temporality == Temporality::State);
    let mut groups: Vec<(Group, End)> = Vec::new();
    if let Some(relation) = neighbours {
        groups = match (
            relation.axioms.functional,
            relation.axioms.inverse_functional,
        ) {
            (false, false) => Vec::new(),
            (true, false) => beside(tx, kb, relation, touched, End::Subject, at).await?,
            (false, true) => beside(tx, kb, relation, touched, End::Object, at).await?,
            (true, true) => at_both_ends(tx, kb, relation, touched, at).await?,
        };
    }
    for (group, _) in &groups {
        let read = group
            .claims
            .iter()
            .filter(|fact| group.affected.contains(&fact.id));
        affected.extend(read.map(|fact| (fact.id, fact.clone())));
    }

    let beside = groups.iter().flat_map(|(group, _)| &group.claims);
    let all: Vec<&Fact> = affected.values().chain(beside).collect();
    let reader = Reader::of(tx, kb, relation, &all, at).await?;
    let mut intervals: HashMap<FactId, Option<Interval>> = HashMap::new();
    for fact in affected.values() {
        intervals.insert(fact.id, reader.alone(fact));
    }
    for (group, end) in &groups {
        for (fact, read) in group
            .claims
            .iter()
            .zip(reader.together(&group.claims, *end))
        {
            if !group.affected.contains(&fact.id) {
                continue;
            }
            if let Some(interval) = intervals.get_mut(&fact.id) {
                *interval = match (*interval, read) {
                    (Some(alone), Some(read)) => alone.intersection(read),
                    _ => None,
                };
            }
        }
    }
    let read = affected
        .into_iter()
        .map(|(id, fact)| (fact, intervals[&id]));
    Ok(read.collect())
}

/// The claims beside those touched, one group for each thing at that end.
async fn beside(
    tx: &mut Tx,
    kb: KbId,
    relation: &RelationType,
    touched: &[Fact],
    end: End,
    at: RecordTime,
) -> Result<Vec<(Group, End)>> {
    let thing = |fact: &Fact| match end {
        End::Subject => Some(fact.subject),
        End::Object => fact.object.entity(),
    };
    let mut by_thing: BTreeMap<EntityId, Vec<&Fact>> = BTreeMap::new();
    if touched.len() <= FEW {
        for fact in touched {
            if let Some(thing) = thing(fact) {
                let root = people::canonical(tx, kb, thing, at).await?;
                by_thing.entry(root).or_default().push(fact);
            }
        }
    } else {
        let whole = groups(tx, kb, relation, touched.iter().filter_map(thing), end, at).await?;
        return Ok(whole
            .into_iter()
            .map(|group| (Group::whole(group), end))
            .collect());
    }
    let mut found = Vec::with_capacity(by_thing.len());
    for (root, touched) in by_thing {
        let mut members = vec![root];
        members.extend(identity::members(tx, kb, root, at).await?);
        let row = Row {
            members: &members,
            end: match end {
                End::Subject => At::Subject,
                End::Object => At::Object,
            },
            predicate: relation.id,
        };
        let group = match Beside::read(tx, kb, &row, &touched, at).await? {
            Some(beside) => Group {
                claims: beside.claims,
                affected: beside.affected,
            },
            None => Group::whole(all_of(tx, kb, &members, relation, end, at).await?),
        };
        found.push((group, end));
    }
    Ok(found)
}

/// All claims of the things at either end of those touched, and of the things at the other end of
/// those: a claim found by one end stands among others at the other end too.
async fn at_both_ends(
    tx: &mut Tx,
    kb: KbId,
    relation: &RelationType,
    touched: &[Fact],
    at: RecordTime,
) -> Result<Vec<(Group, End)>> {
    let mut affected: BTreeMap<FactId, Fact> =
        touched.iter().map(|fact| (fact.id, fact.clone())).collect();
    let mut found = Vec::new();
    for _ in 0..2 {
        let known: Vec<&Fact> = affected.values().collect();
        let subjects = known.iter().map(|fact| fact.subject);
        let objects = known.iter().filter_map(|fact| fact.object.entity());
        let by_subject = groups(tx, kb, relation, subjects, End::Subject, at).await?;
        let by_object = groups(tx, kb, relation, objects, End::Object, at).await?;
        let beside = by_subject.iter().chain(&by_object).flatten();
        let beside: Vec<(FactId, Fact)> = beside.map(|fact| (fact.id, fact.clone())).collect();
        if found.is_empty() {
            // The first round says what is read anew; the second, what that is read beside.
            affected.extend(beside);
            affected.retain(|_, fact| fact.held_at(at));
        }
        let ends = [(by_subject, End::Subject), (by_object, End::Object)];
        found = ends
            .into_iter()
            .flat_map(|(groups, end)| groups.into_iter().map(move |group| (group, end)))
            .map(|(claims, end)| {
                let read = claims.iter().map(|fact| fact.id);
                let read = read.filter(|id| affected.contains_key(id)).collect();
                let group = Group {
                    affected: read,
                    claims,
                };
                (group, end)
            })
            .collect();
        if found.is_empty() {
            break;
        }
    }
    Ok(found)
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
        let group = all_of(tx, kb, &members, relation, end, at).await?;
        if !group.is_empty() {
            groups.push(group);
        }
    }
    Ok(groups)
}

async fn all_of(
    tx: &mut Tx,
    kb: KbId,
    members: &[EntityId],
    relation: &RelationType,
    end: End,
    at: RecordTime,
) -> Result<Vec<Fact>> {
    Ok(match end {
        End::Subject => facts::of_subjects(tx, kb, (members, relation.id), at).await?,
        End::Object => facts::of_objects(tx, kb, (members, relation.id), at).await?,
    })
}

/// Claims that say something else than this one for the same moment, of a relation of which a
/// subject has one value at a time; by id.
pub(super) async fn contradicting(
    tx: &mut Tx,
    kb: KbId,
    relation: &RelationType,
    fact: &Fact,
    at: RecordTime,
) -> Result<Vec<FactId>> {
    let open = fact_holds::open_of(tx, kb, &[fact.id]).await?;
    let Some(interval) = open.first().and_then(|hold| hold.holds) else {
        return Ok(Vec::new());
    };
    if fact.rank == Rank::Deprecated {
        return Ok(Vec::new());
    }
    let known = people::members(tx, kb, fact.subject, at).await?;
    let members = known.map(|known| known.members).unwrap_or_default();
    let row = (members.as_slice(), relation.id);
    let overlapping = fact_holds::overlapping(tx, kb, row, interval).await?;
    let others = facts::by_ids(tx, kb, &overlapping).await?;
    let all: Vec<&Fact> = others.iter().chain([fact]).collect();
    let reader = Reader::of(tx, kb, Some(relation), &all, at).await?;
    let says = reader.claim(fact, End::Subject).says;
    let differs = |other: &&Fact| {
        Rank::Deprecated < other.rank && reader.claim(other, End::Subject).says != says
    };
    Ok(others.iter().filter(differs).map(|fact| fact.id).collect())
}

/// The earliest and the latest date of the documents that attest each claim.
pub(super) async fn attestations(
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
    async fn of(
        tx: &mut Tx,
        kb: KbId,
        relation: Option<&RelationType>,
        facts: &[&Fact],
        at: RecordTime,
    ) -> Result<Self> {
        let dates = attestations(tx, kb, facts, at).await?;
        let ends = |fact: &&Fact| [Some(fact.subject), fact.object.entity()];
        let things = facts.iter().flat_map(ends).flatten();
        Ok(Self {
            reading: relation.map(RelationType::reading).unwrap_or_default(),
            dates,
            known_as: people::folded(tx, kb, things, at).await?,
        })
    }

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
