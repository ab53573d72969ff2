//! Things: adding them, finding them by name, saying who is one with whom.

mod add_entity;
mod different_entities;
mod find_entities;
mod merge_entities;
mod set_entity_type;
mod unmerge_entities;

use std::collections::{BTreeSet, HashMap};

use engine::ledger;
use kernel::{Base, Cx};
use model::ontology::EntityType;
use model::{EntityId, EntityTypeId, Error, FactId, KbId, RecordTime, Result, Role};
use schemars::JsonSchema;
use serde::Serialize;
use store::names::Fit;
use store::ontology::Ontology;
use store::{Tx, entities, fact_holds, identity};

use crate::facts::sources::{sources_for, unseen};

pub use add_entity::{AddEntity, AddedEntity};
pub use different_entities::{DifferentEntities, Differing, UndoDifferent};
pub use find_entities::{EntityHit, EntityHits, FindEntities};
pub use merge_entities::{MergeEntities, MergedEntities};
pub use set_entity_type::SetEntityType;
pub use unmerge_entities::UnmergeEntities;

/// A thing.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct EntityInfo {
    /// Its id.
    pub id: EntityId,
    /// Its name.
    pub name: String,
    /// Key of its kind; null if it has none.
    pub type_key: Option<String>,
    /// Its kind, for people; null if it has none.
    pub type_label: Option<String>,
}

/// What things are called and what kind they are, as of a moment.
pub(crate) struct Described(HashMap<EntityId, EntityInfo>);

impl Described {
    /// Reads it for these things, as far as a reader of the role may see it.
    pub(crate) async fn read(
        tx: &mut Tx,
        (kb, role): (KbId, Role),
        words: &Ontology,
        things: &[EntityId],
        as_of: RecordTime,
    ) -> Result<Self> {
        let mut claims = ledger::name_claims(tx, kb, things, as_of).await?;
        let ids: Vec<FactId> = claims.iter().map(|claim| claim.id).collect();
        let sources = sources_for(tx, (kb, role), &ids).await?;
        claims.retain(|claim| sources.may_see(claim.id));
        let names = ledger::best_names(claims);
        let kinds: HashMap<EntityId, _> = entities::kinds(tx, kb, things, as_of)
            .await?
            .into_iter()
            .filter_map(|kind| Some((kind.entity, words.entity_type(kind.kind?)?)))
            .collect();
        let described = things.iter().map(|&id| {
            let kind = kinds.get(&id);
            let info = EntityInfo {
                id,
                name: names.get(&id).cloned().unwrap_or_else(|| id.to_string()),
                type_key: kind.map(|kind| kind.key.clone()),
                type_label: kind.map(|kind| kind.label.clone()),
            };
            (id, info)
        });
        Ok(Self(described.collect()))
    }

    /// What is known of a thing that was asked for.
    pub(crate) fn of(&self, id: EntityId) -> EntityInfo {
        self.0.get(&id).cloned().unwrap_or_else(|| EntityInfo {
            id,
            name: id.to_string(),
            type_key: None,
            type_label: None,
        })
    }

    /// Its name.
    pub(crate) fn name(&self, id: EntityId) -> &str {
        self.0.get(&id).map_or("", |info| &info.name)
    }
}

/// What kind things are, as of a moment.
pub(crate) struct Kinds(HashMap<EntityId, EntityTypeId>);

impl Kinds {
    /// Reads it for these things.
    pub(crate) async fn read(
        tx: &mut Tx,
        kb: KbId,
        things: impl Iterator<Item = EntityId>,
        as_of: RecordTime,
    ) -> Result<Self> {
        let things: BTreeSet<EntityId> = things.collect();
        let things: Vec<EntityId> = things.into_iter().collect();
        let kinds = entities::kinds(tx, kb, &things, as_of).await?.into_iter();
        let known = kinds.filter_map(|kind| Some((kind.entity, kind.kind?)));
        Ok(Self(known.collect()))
    }

    /// The kind of a thing that was asked for.
    pub(crate) fn of<'a>(&self, words: &'a Ontology, id: EntityId) -> Option<&'a EntityType> {
        words.entity_type(*self.0.get(&id)?)
    }
}

/// A thing that was named, and what to tell of how it was picked.
pub(crate) struct Picked {
    pub(crate) id: EntityId,
    /// A sentence, if a name was given and others would have fitted.
    pub(crate) note: Option<String>,
}

/// A name fits, with how much is known of the thing.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) info: EntityInfo,
    pub(crate) fit: Fit,
    pub(crate) facts: u64,
}

/// Names weighed by how much is known of their things at most.
const WEIGHED_MAX: usize = 400;

/// The things whose names fit, best first: exact names, then those of which most is known, then
/// by name. Things of no kind are left out where others fit, unless the name is exact.
pub(crate) async fn candidates(
    tx: &mut Tx,
    cx: &Cx<'_, Base>,
    words: &Ontology,
    name: &str,
) -> Result<Vec<Candidate>> {
    let (kb, now) = (cx.target.id(), ledger::latest());
    let unseen = unseen(tx, cx).await?;
    let found = cx.names.find(tx, kb, (name, WEIGHED_MAX), &unseen).await?;
    let things: Vec<EntityId> = found.iter().map(|found| found.entity).collect();
    let known_as = ledger::canonicals(tx, kb, &things, now).await?;
    let mut fits: HashMap<EntityId, Fit> = HashMap::new();
    for found in found {
        let fit = fits.entry(known_as[&found.entity]).or_insert(found.fit);
        *fit = found.fit.max(*fit);
    }
    let things: Vec<EntityId> = fits.keys().copied().collect();
    let place = (kb, cx.target.role());
    let described = Described::read(tx, place, words, &things, now).await?;
    let folded = identity::members_of(tx, kb, &things, now).await?;
    let folds = folded.iter().map(|(member, _)| *member);
    let members: Vec<EntityId> = things.iter().copied().chain(folds).collect();
    let mut counts = fact_holds::counts_of(tx, kb, &members, now).await?;
    let unseen: Vec<FactId> = unseen.into_iter().collect();
    for hold in fact_holds::open_of(tx, kb, &unseen).await? {
        for end in [Some(hold.subject), hold.object].into_iter().flatten() {
            if let Some(count) = counts.get_mut(&end) {
                *count -= 1;
            }
        }
    }
    let mut facts: HashMap<EntityId, u64> = HashMap::new();
    let own = things.iter().map(|&thing| (thing, thing));
    for (member, thing) in own.chain(folded) {
        *facts.entry(thing).or_default() += counts.get(&member).copied().unwrap_or_default();
    }
    let mut all: Vec<Candidate> = fits
        .into_iter()
        .map(|(id, fit)| Candidate {
            info: described.of(id),
            fit,
            facts: facts.get(&id).copied().unwrap_or_default(),
        })
        .collect();
    let has_kind = |candidate: &Candidate| candidate.info.type_key.is_some();
    if all.iter().any(has_kind) {
        all.retain(|candidate| has_kind(candidate) || candidate.fit == Fit::Exact);
    }
    all.sort_by(|one, other| {
        (other.fit == Fit::Exact)
            .cmp(&(one.fit == Fit::Exact))
            .then(other.facts.cmp(&one.facts))
            .then_with(|| one.info.name.cmp(&other.info.name))
            .then(one.info.id.cmp(&other.info.id))
    });
    Ok(all)
}

/// Other candidates named in a note at most.
const OTHERS_MAX: usize = 4;

/// The thing that an id or a name means; none if the base has none such.
pub(crate) async fn pick(
    tx: &mut Tx,
    cx: &Cx<'_, Base>,
    words: &Ontology,
    given: &str,
    as_of: RecordTime,
) -> Result<Option<Picked>> {
    let kb = cx.target.id();
    if let Ok(id) = given.parse::<EntityId>() {
        let is_known = !entities::known(tx, kb, &[id], as_of).await?.is_empty();
        return Ok(is_known.then_some(Picked { id, note: None }));
    }
    let found = candidates(tx, cx, words, given).await?;
    let Some(best) = found.first() else {
        return Ok(None);
    };
    let others: Vec<String> = found
        .iter()
        .skip(1)
        .take(OTHERS_MAX)
        .map(|other| format!("{} ({})", other.info.name, other.info.id))
        .collect();
    let id = best.info.id;
    if entities::known(tx, kb, &[id], as_of).await?.is_empty() {
        return Ok(None);
    }
    let shown: String = given.chars().take(80).collect();
    let note = match (others.is_empty(), best.fit) {
        (true, Fit::Exact) => None,
        (true, _) => Some(format!(
            "\"{shown}\" was read as {} ({id}).",
            best.info.name
        )),
        (false, _) => Some(format!(
            "\"{shown}\" was read as {} ({id}). Others it could be: {}.",
            best.info.name,
            others.join("; ")
        )),
    };
    Ok(Some(Picked { id, note }))
}

/// The answer for a thing that is not there.
pub(crate) fn unknown(given: &str) -> Error {
    let shown: String = given.chars().take(80).collect();
    Error::not_found(format!("Unknown entity: {shown}"))
}
