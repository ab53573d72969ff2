//! New things, their names and what kind they are.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use model::fact::{Fact, Object, Rank, Validity, Value};
use model::ontology::RelationType;
use model::{EntityId, EntityTypeId, Error, FactId, KbId, RecordTime, Result};
use serde_json::json;
use store::entities::{self, KindSource};
use store::{Tx, facts, ontology};

use super::{Decision, holding};

/// A thing to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntity {
    /// Its name.
    pub name: String,
    /// What kind it is, if that is known.
    pub kind: Option<EntityTypeId>,
    /// Who says so.
    pub source: KindSource,
}

/// Adds a thing with its name, which is a claim like any other; its id and its name's.
///
/// Things of the same name may stand side by side.
///
/// # Errors
/// `invalid_argument` for an empty name; `not_found` if the base has no such kind.
pub async fn add_entity(
    tx: &mut Tx,
    decision: &Decision<'_>,
    new: &NewEntity,
) -> Result<(EntityId, FactId, RecordTime)> {
    let at = decision.begin(tx).await?;
    let kb = decision.kb;
    let name = new.name.split_whitespace().collect::<Vec<_>>().join(" ");
    if name.is_empty() || NAME_CHARS_MAX < name.chars().count() {
        return Err(Error::invalid(format!(
            "`name` must have 1 to {NAME_CHARS_MAX} characters"
        )));
    }
    if let Some(kind) = new.kind {
        known_kind(tx, kb, kind).await?;
    }
    let relation = known_as(tx, kb, at).await?;
    let entity = decision.entity();
    entities::insert(tx, kb, &[entity], at).await?;
    if new.kind.is_some() {
        entities::set_kinds(tx, kb, &[(entity, new.kind, new.source)], at).await?;
    }
    let fact = Fact {
        id: FactId::new((decision.ids)()),
        subject: entity,
        predicate: Some(relation.id),
        object: Object::Value(Value::text(name)),
        wording: None,
        rank: Rank::Normal,
        validity: Validity::default(),
        date_text: None,
        calendar: None,
        confidence: 1.0,
        recorded_at: at,
        invalidated_at: None,
        supersedes: None,
    };
    facts::insert(tx, kb, std::slice::from_ref(&fact)).await?;
    holding::refresh(tx, kb, Some(&relation), std::slice::from_ref(&fact), at).await?;
    let payload = json!({ "entity": entity, "name": fact.id, "type": new.kind });
    decision.record(tx, "add_entity", &payload, at).await?;
    Ok((entity, fact.id, at))
}

/// Longest name, in characters.
pub const NAME_CHARS_MAX: usize = 400;

/// Says from now on what kind a thing is; none says that it is of no kind.
///
/// # Errors
/// `not_found` if the base has no such entity or kind.
pub async fn set_kind(
    tx: &mut Tx,
    decision: &Decision<'_>,
    (entity, kind): (EntityId, Option<EntityTypeId>),
    source: KindSource,
) -> Result<RecordTime> {
    let at = decision.begin(tx).await?;
    let kb = decision.kb;
    if entities::known(tx, kb, &[entity], at).await?.is_empty() {
        return Err(Error::not_found("no entity with that id in this base"));
    }
    if let Some(kind) = kind {
        known_kind(tx, kb, kind).await?;
    }
    entities::set_kinds(tx, kb, &[(entity, kind, source)], at).await?;
    let payload = json!({ "entity": entity, "type": kind });
    decision.record(tx, "set_type", &payload, at).await?;
    Ok(at)
}

async fn known_kind(tx: &mut Tx, kb: KbId, kind: EntityTypeId) -> Result<()> {
    ontology::has_type(tx, kb, kind)
        .await?
        .then_some(())
        .ok_or_else(|| Error::not_found("no entity type with that id in this base"))
}

/// The attribute that names are claims of; added to a base with its first thing.
pub(super) async fn known_as(tx: &mut Tx, kb: KbId, at: RecordTime) -> Result<RelationType> {
    let id = RelationType::known_as_id(kb);
    if let Some(known) = ontology::relation(tx, kb, id).await? {
        return Ok(known);
    }
    let new = RelationType::known_as(kb, at);
    ontology::insert_relation(tx, kb, &new).await?;
    Ok(new)
}

/// The claims of what these things were called at a moment. They are claims as others are: who
/// may not see what one rests on may not see the name.
pub async fn name_claims(
    tx: &mut Tx,
    kb: KbId,
    things: &[EntityId],
    as_of: RecordTime,
) -> Result<Vec<Fact>> {
    if things.is_empty() {
        return Ok(Vec::new());
    }
    let known_as = RelationType::known_as_id(kb);
    Ok(facts::of_subjects(tx, kb, (things, known_as), as_of).await?)
}

/// Of claims that give names, by thing the name that is preferred, else the oldest.
pub fn best_names(claims: impl IntoIterator<Item = Fact>) -> HashMap<EntityId, String> {
    let mut best: HashMap<EntityId, (Rank, Reverse<RecordTime>, Reverse<FactId>, String)> =
        HashMap::new();
    for fact in claims {
        let Object::Value(Value {
            value: serde_json::Value::String(name),
            ..
        }) = fact.object
        else {
            continue;
        };
        let name = (fact.rank, Reverse(fact.recorded_at), Reverse(fact.id), name);
        match best.entry(fact.subject) {
            Entry::Occupied(mut known) if *known.get() < name => {
                known.insert(name);
            }
            Entry::Occupied(_) => {}
            Entry::Vacant(place) => {
                place.insert(name);
            }
        }
    }
    let named = best
        .into_iter()
        .map(|(thing, (_, _, _, name))| (thing, name));
    named.collect()
}
