//! Reading claims as the base held them at a moment.

use std::collections::BTreeMap;

use model::fact::{Fact, Object};
use model::holds::{Claim, contradictions as pairs};
use model::ontology::RelationType;
use model::time::Interval;
use model::{EntityId, FactId, KbId, RecordTime, Result};
use store::fact_holds::View;
use store::{Tx, fact_holds};

use super::holding::{self, End};
use super::people::{self, Known};
use super::survey::{Line, Survey};

/// Where an entity stands in a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// It is what the claim is about.
    Subject,
    /// It is what the claim leads to.
    Object,
}

/// A claim as it was held.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldFact {
    /// The claim.
    pub fact: Fact,
    /// For when it was read to hold.
    pub holds: Option<Interval>,
    /// Where the entity that was asked for stands in it.
    pub side: Side,
    /// The thing it is about, as it was known then.
    pub subject: EntityId,
    /// The thing it leads to, as it was known then.
    pub object: Option<EntityId>,
    /// Later claims that say the same since their things are one.
    pub same_as: Vec<FactId>,
}

impl HeldFact {
    /// The thing at the other end.
    pub fn other(&self) -> Option<EntityId> {
        match self.side {
            Side::Subject => self.object,
            Side::Object => Some(self.subject),
        }
    }
}

/// All claims about an entity or leading to it.
#[derive(Debug, Clone, PartialEq)]
pub struct EntityFacts {
    /// The thing as it was known.
    pub known: Known,
    /// The claims, by recording, the oldest first.
    pub facts: Vec<HeldFact>,
}

/// A view of all that is held now.
pub const fn latest() -> RecordTime {
    RecordTime::from_micros(i64::MAX - 1)
}

/// The claims about an entity and those that lead to it, as the view shows them; none if the base
/// had no such entity then.
///
/// Claims that are equal since their things are one are shown once, under the oldest.
pub async fn facts_of(
    tx: &mut Tx,
    kb: KbId,
    entity: EntityId,
    view: View,
) -> Result<Option<EntityFacts>> {
    let Some(mut survey) = Survey::read(tx, kb, entity, view).await? else {
        return Ok(None);
    };
    survey.once(tx, kb).await?;
    survey.lines.sort_by_key(Line::told);
    let facts = survey.facts(tx, kb, &survey.lines).await?;
    Ok(Some(EntityFacts {
        known: survey.known,
        facts,
    }))
}

/// Pairs of claims of a single-valued relation about one thing that say different things for one
/// moment, as the base stands.
pub async fn contradictions(
    tx: &mut Tx,
    kb: KbId,
    relation: &RelationType,
    subject: EntityId,
    at: RecordTime,
) -> Result<Vec<(FactId, FactId)>> {
    let groups = holding::groups(tx, kb, relation, [subject].into_iter(), End::Subject, at).await?;
    let Some(group) = groups.into_iter().next() else {
        return Ok(Vec::new());
    };
    let ids: Vec<FactId> = group.iter().map(|fact| fact.id).collect();
    let intervals: BTreeMap<FactId, Option<Interval>> = fact_holds::open_of(tx, kb, &ids)
        .await?
        .into_iter()
        .map(|hold| (hold.fact, hold.holds))
        .collect();
    let objects: Vec<EntityId> = group
        .iter()
        .filter_map(|fact| fact.object.entity())
        .collect();
    let known_as = people::canonicals(tx, kb, &objects, at).await?;
    let claims: Vec<Claim> = group
        .iter()
        .map(|fact| Claim {
            id: fact.id,
            says: match &fact.object {
                Object::Entity(id) => {
                    Object::Entity(known_as.get(id).copied().unwrap_or(*id)).key()
                }
                Object::Value(value) => value.key(),
            },
            validity: fact.validity,
            rank: fact.rank,
            attested: None,
        })
        .collect();
    let read: Vec<Option<Interval>> = group
        .iter()
        .map(|fact| intervals.get(&fact.id).copied().flatten())
        .collect();
    Ok(pairs(&claims, &read))
}
