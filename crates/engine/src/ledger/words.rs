//! Changing the words of a base, and which stored claims the words then contradict.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use model::fact::{Fact, Object};
use model::ontology::misfit::{self, Kinds, Misfit, Rule, Standing};
use model::ontology::{EntityType, RelationType};
use model::{EntityId, EntityTypeId, FactId, KbId, RecordTime, Result};
use serde_json::Value as Json;
use store::fact_holds::Hold;
use store::ontology::Ontology;
use store::{Tx, entities, fact_holds, facts, identity, ontology};

use super::{Decision, holding, people};

/// Words to be added and words to be changed, in all but their ids and keys.
#[derive(Debug, Clone, Copy, Default)]
pub struct Revision<'a> {
    /// Kinds of things that the base does not have.
    pub added_types: &'a [EntityType],
    /// Kinds of things as they are to be.
    pub changed_types: &'a [EntityType],
    /// Relations and attributes that the base does not have.
    pub added_relations: &'a [RelationType],
    /// Relations and attributes as they are to be.
    pub changed_relations: &'a [RelationType],
}

/// Stored claims, or things that are one, which the words contradict.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Contradiction {
    /// What they contradict.
    pub rule: Rule,
    /// Key of the word of which that is said.
    pub word: String,
    /// The claims: one, or two that contradict each other by it.
    pub facts: Vec<FactId>,
    /// The things, where it is about no claim.
    pub entities: Vec<EntityId>,
}

/// Contradictions of one word and rule that are named at most.
pub const CONTRADICTIONS_MAX: usize = 1_000;

/// Changes words, and reads out again for when the claims of changed relations hold. The
/// contradictions that there were not before.
///
/// `what` and `payload` are the decision as it is recorded.
///
/// # Errors
/// `conflict` if the base has the key of an added word.
pub async fn revise(
    tx: &mut Tx,
    decision: &Decision<'_>,
    (what, payload): (&str, &Json),
    revision: Revision<'_>,
) -> Result<Vec<Contradiction>> {
    let at = decision.begin(tx).await?;
    let kb = decision.kb;
    let before = ontology::read(tx, kb).await?;
    let mut watched = Vec::new();
    for after in revision.changed_relations {
        if let Some(before) = before
            .relation(after.id)
            .filter(|before| reads_otherwise(before, after))
        {
            let known = misfits(tx, kb, before, at).await?;
            watched.push((after, known));
        }
    }

    write(tx, kb, revision).await?;
    let mut found = BTreeSet::new();
    for (after, known) in watched {
        let held = facts::of_predicate(tx, kb, after.id).await?;
        holding::refresh(tx, kb, Some(after), &held, at).await?;
        let misfits = misfits(tx, kb, after, at).await?;
        found.extend(
            misfits
                .difference(&known)
                .map(|(rule, facts)| Contradiction {
                    rule: *rule,
                    word: after.key.clone(),
                    facts: facts.clone(),
                    entities: Vec::new(),
                }),
        );
    }
    let after = ontology::read(tx, kb).await?;
    found.extend(strained(tx, kb, (&before, &after), at).await?);
    decision.record(tx, what, payload, at).await?;
    Ok(found.into_iter().collect())
}

/// Whether claims of a relation are read in another way after a change, or judged in another way.
fn reads_otherwise(before: &RelationType, after: &RelationType) -> bool {
    before.axioms != after.axioms
        || before.temporality != after.temporality
        || before.datatype != after.datatype
}

async fn write(tx: &mut Tx, kb: KbId, revision: Revision<'_>) -> Result<()> {
    ontology::insert_types(tx, kb, revision.added_types).await?;
    for kind in revision.changed_types {
        ontology::update_type(tx, kb, kind).await?;
    }
    ontology::insert_relations(tx, kb, revision.added_relations).await?;
    for relation in revision.changed_relations {
        ontology::update_relation(tx, kb, relation).await?;
    }
    Ok(())
}

/// The held claims of a relation that what is said of it does not fit.
async fn misfits(
    tx: &mut Tx,
    kb: KbId,
    relation: &RelationType,
    at: RecordTime,
) -> Result<BTreeSet<Misfit>> {
    let held = facts::of_predicate(tx, kb, relation.id).await?;
    let standing = standing(tx, kb, held, at).await?;
    Ok(misfit::misfits(relation, &standing, CONTRADICTIONS_MAX))
}

/// Claims as they stand, their things as they are known.
async fn standing(tx: &mut Tx, kb: KbId, held: Vec<Fact>, at: RecordTime) -> Result<Vec<Standing>> {
    let things: BTreeSet<EntityId> = held
        .iter()
        .flat_map(|fact| [Some(fact.subject), fact.object.entity()])
        .flatten()
        .collect();
    let things: Vec<EntityId> = things.into_iter().collect();
    let known_as = people::canonicals(tx, kb, &things, at).await?;
    let thing = |id: EntityId| known_as.get(&id).copied().unwrap_or(id);
    let ids: Vec<FactId> = held.iter().map(|fact| fact.id).collect();
    let holds: HashMap<FactId, Hold> = fact_holds::open_of(tx, kb, &ids)
        .await?
        .into_iter()
        .map(|hold| (hold.fact, hold))
        .collect();
    let standing = held.into_iter().map(|fact| Standing {
        id: fact.id,
        subject: thing(fact.subject),
        object: match fact.object {
            Object::Entity(object) => Object::Entity(thing(object)),
            value @ Object::Value(_) => value,
        },
        validity: fact.validity,
        rank: fact.rank,
        holds: holds.get(&fact.id).and_then(|hold| hold.holds),
    });
    Ok(standing.collect())
}

/// Claims and things that fitted what was said of kinds better than what is said now.
async fn strained(
    tx: &mut Tx,
    kb: KbId,
    (before, after): (&Ontology, &Ontology),
    at: RecordTime,
) -> Result<Vec<Contradiction>> {
    let known = |kind: &&EntityType| after.entity_type(kind.id).is_some();
    let kinds: Vec<EntityTypeId> = before
        .types
        .iter()
        .filter(known)
        .map(|kind| kind.id)
        .collect();
    let is_same_tree = before.types.iter().all(|kind| {
        let now = after.entity_type(kind.id);
        now.is_some_and(|now| {
            now.parents == kind.parents && now.disjoint_with == kind.disjoint_with
        })
    });
    let (were, are) = (Kinds::of(&before.types), Kinds::of(&after.types));
    let mut found = Vec::new();
    for relation in &after.relations {
        let Some(was) = before.relation(relation.id) else {
            continue;
        };
        for (rule, had, has) in [
            (Rule::Domain, &was.domains, &relation.domains),
            (Rule::Range, &was.ranges, &relation.ranges),
        ] {
            if is_same_tree && had == has {
                continue;
            }
            let worse = |kind: &&EntityTypeId| are.fit(**kind, has) < were.fit(**kind, had);
            let worse: BTreeSet<EntityTypeId> = kinds.iter().filter(worse).copied().collect();
            if !worse.is_empty() {
                found.extend(of_kinds(tx, kb, relation, (rule, &worse), at).await?);
            }
        }
    }
    if !is_same_tree {
        found.extend(parted(tx, kb, (&were, &are), after, at).await?);
    }
    Ok(found)
}

/// The held claims of a relation with things of some kinds at an end.
async fn of_kinds(
    tx: &mut Tx,
    kb: KbId,
    relation: &RelationType,
    (rule, kinds): (Rule, &BTreeSet<EntityTypeId>),
    at: RecordTime,
) -> Result<Vec<Contradiction>> {
    let held = facts::of_predicate(tx, kb, relation.id).await?;
    let end = |fact: &Fact| match rule {
        Rule::Domain => Some(fact.subject),
        _ => fact.object.entity(),
    };
    let things: BTreeSet<EntityId> = held.iter().filter_map(end).collect();
    let things: Vec<EntityId> = things.into_iter().collect();
    let of_kind: BTreeSet<EntityId> = entities::kinds(tx, kb, &things, at)
        .await?
        .into_iter()
        .filter(|said| said.kind.is_some_and(|kind| kinds.contains(&kind)))
        .map(|said| said.entity)
        .collect();
    let strained = held
        .iter()
        .filter(|fact| end(fact).is_some_and(|thing| of_kind.contains(&thing)));
    let told = strained.take(CONTRADICTIONS_MAX).map(|fact| Contradiction {
        rule,
        word: relation.key.clone(),
        facts: vec![fact.id],
        entities: Vec::new(),
    });
    Ok(told.collect())
}

/// Things that are one and of two kinds that nothing is both of since the change.
async fn parted(
    tx: &mut Tx,
    kb: KbId,
    (were, are): (&Kinds, &Kinds),
    words: &Ontology,
    at: RecordTime,
) -> Result<Vec<Contradiction>> {
    let mut groups: BTreeMap<EntityId, BTreeSet<EntityId>> = BTreeMap::new();
    for (entity, canonical) in identity::folded(tx, kb, at).await? {
        let group = groups.entry(canonical).or_default();
        group.extend([entity, canonical]);
    }
    let things: Vec<EntityId> = groups.values().flatten().copied().collect();
    let kinds: HashMap<EntityId, EntityTypeId> = entities::kinds(tx, kb, &things, at)
        .await?
        .into_iter()
        .filter_map(|said| Some((said.entity, said.kind?)))
        .collect();
    let mut found = Vec::new();
    for group in groups.values() {
        let of_kinds: Vec<(EntityId, EntityTypeId)> = group
            .iter()
            .filter_map(|thing| Some((*thing, *kinds.get(thing)?)))
            .collect();
        for (place, &(one, kind)) in of_kinds.iter().enumerate() {
            let others = of_kinds[place + 1..].iter();
            let parted = others.filter(|(_, other)| {
                are.are_disjoint(kind, *other) && !were.are_disjoint(kind, *other)
            });
            found.extend(parted.map(|&(other, _)| {
                Contradiction {
                    rule: Rule::Disjoint,
                    word: words
                        .entity_type(kind)
                        .map_or_else(String::new, |kind| kind.key.clone()),
                    facts: Vec::new(),
                    entities: vec![one, other],
                }
            }));
        }
        if CONTRADICTIONS_MAX <= found.len() {
            break;
        }
    }
    Ok(found)
}
