//! The claims beside a stated beginning, where a thing has one value at a time.
//!
//! An open claim ends where the next other value begins. Whoever adds or takes away a claim changes
//! that for those before it up to the second other value and for no others, however many claims the
//! thing has; and to read those anew, the claims after it are needed up to the second other value.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use model::fact::{Fact, Object, Rank};
use model::time::OPEN_START;
use model::{EntityId, FactId, KbId, RecordTime, RelationTypeId, Result};
use store::fact_holds::At;
use store::facts::Towards;
use store::{Tx, facts};

use super::{holding, people};

/// Claims without a stated beginning, beyond which all claims of the thing are read: each of them
/// may begin anywhere.
const UNDATED_MAX: u32 = 50;
/// Claims read at a time at first, to one side of a beginning.
const STEP: u32 = 16;

/// The claims of a relation with a thing at one end.
pub(super) struct Row<'a> {
    /// All entities that are one with the thing.
    pub(super) members: &'a [EntityId],
    /// Where it stands in the claims.
    pub(super) end: At,
    /// The relation.
    pub(super) predicate: RelationTypeId,
}

/// What stands beside claims that were added or taken away.
pub(super) struct Beside {
    /// Enough claims to read those affected as if all were there.
    pub(super) claims: Vec<Fact>,
    /// Those that may be read otherwise than before.
    pub(super) affected: BTreeSet<FactId>,
}

impl Beside {
    /// The claims beside those touched; none where too many have no stated beginning.
    pub(super) async fn read(
        tx: &mut Tx,
        kb: KbId,
        row: &Row<'_>,
        touched: &[&Fact],
        at: RecordTime,
    ) -> Result<Option<Self>> {
        let mut undated = Vec::new();
        for &member in row.members {
            let place = (member, row.end, row.predicate);
            let from = (OPEN_START, Towards::Before);
            undated.extend(facts::succession(tx, kb, place, from, UNDATED_MAX + 1).await?);
        }
        if UNDATED_MAX as usize <= undated.len() {
            return Ok(None);
        }
        let mut claims: BTreeMap<FactId, Fact> = BTreeMap::new();
        let mut affected: BTreeSet<FactId> = undated.iter().map(|fact| fact.id).collect();
        let held = touched.iter().filter(|fact| fact.held_at(at));
        affected.extend(held.map(|fact| fact.id));
        let dated = touched.iter().map(|fact| fact.validity.starts_at());
        for start in dated.filter(|&start| OPEN_START < start) {
            let before = row.levels(tx, kb, (start, Towards::Before), at).await?;
            let earlier = before.iter().filter(|fact| start_of(fact) < start);
            affected.extend(earlier.map(|fact| fact.id));
            let after = row.levels(tx, kb, (start, Towards::After), at).await?;
            claims.extend(before.into_iter().chain(after).map(|fact| (fact.id, fact)));
        }
        let attested =
            holding::attestations(tx, kb, &undated.iter().collect::<Vec<_>>(), at).await?;
        for fact in &undated {
            let begun = attested
                .get(&fact.id)
                .map(|(earliest, _)| earliest.start_micros());
            let from = (begun.unwrap_or(OPEN_START), Towards::After);
            let after = row.levels(tx, kb, from, at).await?;
            claims.extend(after.into_iter().map(|fact| (fact.id, fact)));
        }
        claims.extend(undated.into_iter().map(|fact| (fact.id, fact)));
        Ok(Some(Self {
            claims: claims.into_values().collect(),
            affected,
        }))
    }
}

impl Row<'_> {
    /// The claims to one side of a beginning, that beginning included, as far as the second other
    /// value or the end; all of each beginning that is among them.
    async fn levels(
        &self,
        tx: &mut Tx,
        kb: KbId,
        (start, towards): (i64, Towards),
        at: RecordTime,
    ) -> Result<Vec<Fact>> {
        let mut limit = STEP;
        loop {
            let mut found = Vec::new();
            let mut edges = Vec::new();
            for &member in self.members {
                let place = (member, self.end, self.predicate);
                let some = facts::succession(tx, kb, place, (start, towards), limit).await?;
                if some.len() == limit as usize {
                    // More may begin where the last one does.
                    edges.extend(some.last().map(start_of));
                }
                found.extend(some);
            }
            match towards {
                Towards::Before => {
                    let edge = edges.iter().max();
                    found.retain(|fact| edge.is_none_or(|edge| *edge < start_of(fact)));
                }
                Towards::After => {
                    let edge = edges.iter().min();
                    found.retain(|fact| edge.is_none_or(|edge| start_of(fact) < *edge));
                }
            }
            if edges.is_empty() || 2 <= self.values(tx, kb, (&found, start), at).await? {
                return Ok(found);
            }
            limit = limit.saturating_mul(4);
        }
    }

    /// How many values begin elsewhere than at `start`.
    async fn values(
        &self,
        tx: &mut Tx,
        kb: KbId,
        (found, start): (&[Fact], i64),
        at: RecordTime,
    ) -> Result<usize> {
        let counts = |fact: &&Fact| {
            let begins = start_of(fact);
            Rank::Deprecated < fact.rank && begins != start && OPEN_START < begins
        };
        let value = |fact: &Fact| match self.end {
            At::Subject => fact.object.clone(),
            At::Object => Object::Entity(fact.subject),
        };
        let values: Vec<Object> = found.iter().filter(counts).map(value).collect();
        let things = values.iter().filter_map(Object::entity);
        let known_as = people::folded(tx, kb, things, at).await?;
        let keys = values.iter().map(|value| match value {
            Object::Entity(id) => Object::Entity(known_as.get(id).copied().unwrap_or(*id)).key(),
            Object::Value(value) => value.key(),
        });
        Ok(keys.collect::<HashSet<_>>().len())
    }
}

fn start_of(fact: &Fact) -> i64 {
    fact.validity.starts_at()
}
