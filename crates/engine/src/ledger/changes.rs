//! What the ledger learned or revised from one moment of record time to another.

use std::collections::HashSet;

use model::fact::{Fact, Object, Value};
use model::ontology::RelationType;
use model::{EntityId, FactId, KbId, RecordTime, Result};
use store::identity::Linked;
use store::{Tx, facts, identity};
use uuid::Uuid;

use super::people;

/// What happened to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// It was recorded.
    Asserted,
    /// It took the place of another, or a merge was taken back.
    Corrected,
    /// It was held no more, and nothing took its place.
    Rejected,
    /// Two things were said to be one.
    Merged,
}

/// An event of the ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// When.
    pub at: RecordTime,
    /// What happened.
    pub kind: ChangeKind,
    /// The claim it happened to; of a merge, the name of the thing that was folded.
    pub fact: Fact,
    /// The thing that the change is about: of a merge, the one that stays.
    pub subject: EntityId,
    /// Of a merge, the name of the thing that was folded.
    pub absorbed: Option<String>,
}

/// What to look for.
#[derive(Debug, Clone)]
pub struct Window {
    /// The first moment.
    pub since: RecordTime,
    /// The first moment after it.
    pub until: RecordTime,
    /// Only what concerns this thing.
    pub entity: Option<EntityId>,
    /// Only these kinds; all if empty.
    pub kinds: Vec<ChangeKind>,
    /// Events at most.
    pub limit: usize,
}

/// The events of a window, newest first.
pub async fn changes(tx: &mut Tx, kb: KbId, window: &Window) -> Result<Vec<Change>> {
    let members: Option<HashSet<EntityId>> = match window.entity {
        None => None,
        Some(entity) => {
            let known = people::members(tx, kb, entity, super::latest()).await?;
            Some(known.map_or_else(HashSet::new, |known| known.members.into_iter().collect()))
        }
    };
    let concerns = |fact: &Fact| {
        members.as_ref().is_none_or(|members| {
            members.contains(&fact.subject)
                || fact
                    .object
                    .entity()
                    .is_some_and(|object| members.contains(&object))
        })
    };
    let wanted = |kind| window.kinds.is_empty() || window.kinds.contains(&kind);

    let mut changes = Vec::new();
    if wanted(ChangeKind::Asserted) || wanted(ChangeKind::Corrected) {
        recorded(tx, kb, window, (&concerns, &wanted), &mut changes).await?;
    }
    if wanted(ChangeKind::Rejected) {
        rejected(tx, kb, window, &concerns, &mut changes).await?;
    }
    if wanted(ChangeKind::Merged) || wanted(ChangeKind::Corrected) {
        let linked = identity::between(tx, kb, (window.since, window.until)).await?;
        for link in linked {
            let ends = [link.link.keep, link.link.fold];
            if members
                .as_ref()
                .is_none_or(|members| ends.iter().any(|end| members.contains(end)))
            {
                let events = merge_events(tx, kb, window, &link).await?;
                changes.extend(events.into_iter().filter(|change| wanted(change.kind)));
            }
        }
    }
    changes.sort_by_key(|change| std::cmp::Reverse((change.at, change.fact.id, change.kind)));
    changes.truncate(window.limit);
    Ok(changes)
}

/// Whether a claim is one that is looked for.
type Concerns<'a> = &'a (dyn Fn(&Fact) -> bool + Sync);
/// Whether an event of this kind is.
type Wanted<'a> = &'a (dyn Fn(ChangeKind) -> bool + Sync);

/// Claims read at a time while looking for those that are wanted.
const BATCH: u32 = 400;

/// Where the walk back through a window begins.
fn end_of(window: &Window) -> (RecordTime, FactId) {
    (window.until, FactId::new(Uuid::nil()))
}

async fn recorded(
    tx: &mut Tx,
    kb: KbId,
    window: &Window,
    (concerns, wanted): (Concerns<'_>, Wanted<'_>),
    changes: &mut Vec<Change>,
) -> Result<()> {
    let (mut before, mut found) = (end_of(window), 0);
    while found < window.limit {
        let batch = facts::recorded_between(tx, kb, window.since, before, BATCH).await?;
        let Some(last) = batch.last() else { break };
        before = (last.recorded_at, last.id);
        for fact in batch {
            let kind = match fact.supersedes {
                None => ChangeKind::Asserted,
                Some(_) => ChangeKind::Corrected,
            };
            if wanted(kind) && concerns(&fact) {
                found += 1;
                changes.push(of_fact(fact.recorded_at, kind, fact));
            }
        }
    }
    Ok(())
}

async fn rejected(
    tx: &mut Tx,
    kb: KbId,
    window: &Window,
    concerns: Concerns<'_>,
    changes: &mut Vec<Change>,
) -> Result<()> {
    let (mut before, mut found) = (end_of(window), 0);
    while found < window.limit {
        let batch = facts::closed_between(tx, kb, window.since, before, BATCH).await?;
        let Some(last) = batch.last() else { break };
        before = (last.invalidated_at.unwrap_or(window.since), last.id);
        let ids: Vec<FactId> = batch.iter().map(|fact| fact.id).collect();
        let replaced: HashSet<FactId> =
            facts::superseded(tx, kb, &ids).await?.into_iter().collect();
        for fact in batch {
            if let Some(at) = fact.invalidated_at
                && !replaced.contains(&fact.id)
                && concerns(&fact)
            {
                found += 1;
                changes.push(of_fact(at, ChangeKind::Rejected, fact));
            }
        }
    }
    Ok(())
}

fn of_fact(at: RecordTime, kind: ChangeKind, fact: Fact) -> Change {
    Change {
        at,
        kind,
        subject: fact.subject,
        fact,
        absorbed: None,
    }
}

/// What a link's beginning and end within the window are.
async fn merge_events(
    tx: &mut Tx,
    kb: KbId,
    window: &Window,
    linked: &Linked,
) -> Result<Vec<Change>> {
    let known_as = RelationType::known_as_id(kb);
    let names =
        facts::of_subjects(tx, kb, (&[linked.link.fold], known_as), linked.rec_from).await?;
    let Some(name) = names
        .into_iter()
        .min_by_key(|fact| (fact.recorded_at, fact.id))
    else {
        return Ok(Vec::new());
    };
    let absorbed = match &name.object {
        Object::Value(Value {
            value: serde_json::Value::String(name),
            ..
        }) => Some(name.clone()),
        _ => None,
    };
    let within = |at: RecordTime| window.since <= at && at < window.until;
    let event = |at, kind, absorbed| Change {
        at,
        kind,
        subject: linked.link.keep,
        fact: name.clone(),
        absorbed,
    };
    let begun = within(linked.rec_from)
        .then(|| event(linked.rec_from, ChangeKind::Merged, absorbed.clone()));
    let ended = linked
        .rec_to
        .filter(|&end| within(end))
        .map(|end| event(end, ChangeKind::Corrected, absorbed));
    Ok(begun.into_iter().chain(ended).collect())
}
