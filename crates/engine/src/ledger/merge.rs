//! Saying that two things are one, taking it back, and saying that they are not.

use std::collections::{BTreeMap, BTreeSet};

use model::fact::Fact;
use model::identity::{Identity, Link};
use model::ontology::RelationType;
use model::{Code, EntityId, Error, EventId, KbId, RecordTime, RelationTypeId, Result};
use serde_json::json;
use store::fact_holds::View;
use store::{Tx, fact_holds, identity, ontology};

use super::{Decision, holding, people};

/// A link that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The decision: what takes it back again.
    pub event: EventId,
    /// The entity that stands for both.
    pub keep: EntityId,
    /// The entity that it stands for now.
    pub fold: EntityId,
    /// When.
    pub at: RecordTime,
}

/// Says from now on that two things are one. No claim is touched.
///
/// # Errors
/// `not_found` if the base has no such entity; `conflict` if they are one already, or it was said
/// that they are not.
pub async fn merge(
    tx: &mut Tx,
    decision: &Decision<'_>,
    (keep, fold): (EntityId, EntityId),
    reason: Option<&str>,
) -> Result<Merged> {
    let at = decision.begin(tx).await?;
    let kb = decision.kb;
    let (one, other) = pair(tx, kb, (keep, fold), at).await?;
    if let Some((a, b)) = said_different(tx, kb, (&one.members, &other.members), at).await? {
        return Err(Error::new(
            Code::Conflict,
            format!("it was said that {a} and {b} are different; take that back first"),
        ));
    }
    let link = Link {
        keep: one.canonical,
        fold: other.canonical,
    };
    let payload = json!({ "keep": link.keep, "fold": link.fold, "reason": reason });
    let event = decision.record(tx, "merge", &payload, at).await?;
    identity::link(tx, kb, link, event, at).await?;
    let both: Vec<EntityId> = one.members.into_iter().chain(other.members).collect();
    restand(tx, kb, &both, at).await?;
    Ok(Merged {
        event,
        keep: link.keep,
        fold: link.fold,
        at,
    })
}

/// Says from now on what was said before a merge: the two are two. When.
///
/// Merges may be taken back in any order; what was linked to either side since stays with it.
///
/// # Errors
/// `not_found` if no merge of the base has that id; `conflict` if it was taken back already.
pub async fn unmerge(
    tx: &mut Tx,
    decision: &Decision<'_>,
    event: EventId,
    reason: Option<&str>,
) -> Result<Merged> {
    let at = decision.begin(tx).await?;
    let kb = decision.kb;
    let Some(linked) = identity::of_event(tx, kb, event).await? else {
        return Err(Error::not_found("no merge with that id in this base"));
    };
    if let Some(end) = linked.rec_to {
        return Err(Error::new(
            Code::Conflict,
            format!("the merge was taken back already, at {end}"),
        ));
    }
    let known = people::members(tx, kb, linked.link.fold, at).await?;
    let both = known.map(|known| known.members).unwrap_or_default();
    identity::unlink(tx, kb, linked.link.fold, at).await?;
    restand(tx, kb, &both, at).await?;
    let payload = json!({ "merge": event, "reason": reason });
    let undone = decision.record(tx, "unmerge", &payload, at).await?;
    Ok(Merged {
        event: undone,
        keep: linked.link.keep,
        fold: linked.link.fold,
        at,
    })
}

/// Says from now on that two things are different; a merge of them is refused.
///
/// # Errors
/// `not_found` if the base has no such entity; `conflict` if they are one, or it was said already.
pub async fn set_different(
    tx: &mut Tx,
    decision: &Decision<'_>,
    entities: (EntityId, EntityId),
    reason: Option<&str>,
) -> Result<RecordTime> {
    let at = decision.begin(tx).await?;
    let kb = decision.kb;
    let (one, other) = pair(tx, kb, entities, at).await?;
    if said_different(tx, kb, (&one.members, &other.members), at)
        .await?
        .is_some()
    {
        let sentence = "it was said already that the two are different";
        return Err(Error::new(Code::Conflict, sentence));
    }
    let payload = json!({ "one": entities.0, "other": entities.1, "reason": reason });
    let event = decision.record(tx, "different", &payload, at).await?;
    identity::set_different(tx, kb, entities, event, at).await?;
    Ok(at)
}

/// Takes back that two things are different. When.
///
/// # Errors
/// `conflict` if it was not said of these two.
pub async fn unset_different(
    tx: &mut Tx,
    decision: &Decision<'_>,
    entities: (EntityId, EntityId),
    reason: Option<&str>,
) -> Result<RecordTime> {
    let at = decision.begin(tx).await?;
    if !identity::unset_different(tx, decision.kb, entities, at).await? {
        let sentence = "it is not said that these two are different";
        return Err(Error::new(Code::Conflict, sentence));
    }
    let payload = json!({ "one": entities.0, "other": entities.1, "reason": reason });
    decision.record(tx, "not_different", &payload, at).await?;
    Ok(at)
}

/// Both things, which are two.
async fn pair(
    tx: &mut Tx,
    kb: KbId,
    (one, other): (EntityId, EntityId),
    at: RecordTime,
) -> Result<(people::Known, people::Known)> {
    let absent = || Error::not_found("no entity with that id in this base");
    let one = people::members(tx, kb, one, at).await?.ok_or_else(absent)?;
    let other = people::members(tx, kb, other, at)
        .await?
        .ok_or_else(absent)?;
    if one.canonical == other.canonical {
        let sentence = "the two are the same entity already";
        return Err(Error::new(Code::Conflict, sentence));
    }
    Ok((one, other))
}

async fn said_different(
    tx: &mut Tx,
    kb: KbId,
    (one, other): (&[EntityId], &[EntityId]),
    at: RecordTime,
) -> Result<Option<(EntityId, EntityId)>> {
    let pairs = identity::different_from(tx, kb, one, at).await?;
    Ok(pairs.into_iter().find(|(_, second)| other.contains(second)))
}

/// Works out anew who stands for whom among these entities, and for when their claims hold.
async fn restand(tx: &mut Tx, kb: KbId, entities: &[EntityId], at: RecordTime) -> Result<()> {
    let links = identity::links_among(tx, kb, entities, at).await?;
    let held = Identity::of(links.into_iter().map(|linked| linked.link));
    let closure: Vec<(EntityId, EntityId)> = held.closure().into_iter().collect();
    identity::replace_closure(tx, kb, entities, &closure, at).await?;

    let view = View {
        at: None,
        as_of: at,
    };
    let about = fact_holds::of_subjects(tx, kb, entities, view).await?;
    let leading = fact_holds::of_objects(tx, kb, entities, view).await?;
    let mut touched: BTreeMap<RelationTypeId, Vec<Fact>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for held in about.into_iter().chain(leading) {
        if let Some(predicate) = held.fact.predicate
            && seen.insert(held.fact.id)
        {
            touched.entry(predicate).or_default().push(held.fact);
        }
    }
    let neighbours =
        |relation: &RelationType| relation.axioms.functional || relation.axioms.inverse_functional;
    for relation in ontology::relations(tx, kb).await? {
        if neighbours(&relation)
            && let Some(facts) = touched.remove(&relation.id)
        {
            holding::refresh(tx, kb, Some(&relation), &facts, at).await?;
        }
    }
    Ok(())
}
