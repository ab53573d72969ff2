use engine::ledger::{self, Revision};
use kernel::{Base, Cx, Method, Operation, Reply, Spec};
use model::ontology::EntityType;
use model::ontology::misfit::Kinds;
use model::{EntityTypeId, Error, Result, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::ontology::{self, Ontology};

use super::{
    ContradictionInfo, EntityTypeInfo, accepted, checked_colour, checked_label, decision,
    entity_type,
};

/// Change a kind of thing: what it is called, what it is a kind of, what it is disjoint with. Its
/// key stays. Where stored facts would contradict it, they are listed and nothing is changed,
/// unless `accept_contradictions` is set: facts whose things fitted the kinds that a relation is
/// said of or leads to and would not any more, and things that are one and of disjoint kinds.
#[derive(Deserialize, JsonSchema)]
pub struct UpdateEntityType {
    /// Its key or id.
    entity_type: String,
    /// Its name for people, at most 200 characters.
    label: Option<String>,
    /// What it means.
    description: Option<String>,
    /// Keys of all kinds it is to be a kind of, the primary one first; `[]` for none.
    parents: Option<Vec<String>>,
    /// Key of the one among them that is to be the primary one.
    primary_parent: Option<String>,
    /// Keys of all kinds that nothing of it is also of; `[]` for none.
    disjoint_with: Option<Vec<String>>,
    /// A colour such as `#4a7fb5`.
    colour: Option<String>,
    /// Make the change though stored facts then contradict it.
    #[serde(default)]
    accept_contradictions: bool,
}

/// A kind of thing as it is now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UpdatedEntityType {
    /// The kind.
    #[serde(flatten)]
    pub kind: EntityTypeInfo,
    /// Stored facts that contradict it since.
    pub contradictions: Vec<ContradictionInfo>,
}

impl Reply for UpdatedEntityType {
    fn text(&self) -> String {
        let found = self.contradictions.len();
        format!("{}contradictions: {found}\n", self.kind.text())
    }
}

impl Operation for UpdateEntityType {
    type Target = Base;
    type Output = UpdatedEntityType;
    const SPEC: Spec = Spec::write("update_entity_type", "Change a kind of thing")
        .route(
            Method::Patch,
            "/kbs/{kb_id}/ontology/entity-types/{entity_type}",
        )
        .least(Role::Admin)
        .cli("ontology change-type", &["entity_type"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<UpdatedEntityType> {
        let kb = cx.target.id();
        let mut tx = cx.write().await?;
        let words = ontology::read(&mut tx, kb).await?;
        let changed = self.changed(&words)?;
        cx.about("entity_type", changed.id);
        let ids = || cx.ids.next();
        let payload = json!({
            "entity_type": changed.id,
            "parents": changed.parents,
            "disjoint_with": changed.disjoint_with,
        });
        let revision = Revision {
            changed_types: std::slice::from_ref(&changed),
            ..Revision::default()
        };
        let what = ("change_entity_type", &payload);
        let found = ledger::revise(&mut tx, &decision(cx, &ids), what, revision).await?;
        let contradictions = accepted(found, self.accept_contradictions)?;
        let words = ontology::read(&mut tx, kb).await?;
        tx.commit(UpdatedEntityType {
            kind: EntityTypeInfo::of(&changed, &words),
            contradictions,
        })
        .await
    }
}

impl UpdateEntityType {
    /// The kind as the arguments want it, among the base's words.
    fn changed(&self, words: &Ontology) -> Result<EntityType> {
        let mut changed = entity_type(words, &self.entity_type)?.clone();
        if let Some(label) = &self.label {
            changed.label = checked_label(label)?;
        }
        if let Some(description) = &self.description {
            changed.description.clone_from(description);
        }
        if let Some(colour) = &self.colour {
            changed.colour = Some(checked_colour(colour.clone())?);
        }
        let ids = |named: &[String]| -> Result<Vec<EntityTypeId>> {
            let mut ids = Vec::new();
            for named in named {
                let id = entity_type(words, named)?.id;
                if !ids.contains(&id) {
                    ids.push(id);
                }
            }
            Ok(ids)
        };
        if let Some(parents) = &self.parents {
            changed.parents = ids(parents)?;
        }
        if let Some(disjoint) = &self.disjoint_with {
            changed.disjoint_with = ids(disjoint)?;
        }
        if let Some(primary) = &self.primary_parent {
            let primary = entity_type(words, primary)?;
            let place = changed.parents.iter().position(|id| *id == primary.id);
            let Some(place) = place else {
                let sentence = format!(
                    "`primary_parent` must be one of its parents, and `{}` is none",
                    primary.key
                );
                return Err(Error::invalid(sentence));
            };
            changed.parents[..=place].rotate_right(1);
        }
        is_sound(&changed, words)?;
        Ok(changed)
    }
}

/// Refuses a kind that is above itself, and one that nothing can be of.
pub(super) fn is_sound(changed: &EntityType, words: &Ontology) -> Result<()> {
    let key = |id: EntityTypeId| {
        let known = words.entity_type(id);
        known.map_or(changed.key.as_str(), |kind| kind.key.as_str())
    };
    let before = Kinds::of(&words.types);
    if let Some(parent) = changed
        .parents
        .iter()
        .find(|parent| before.is_above(changed.id, **parent))
    {
        let (below, own) = (key(*parent), &changed.key);
        let sentence = format!("`{own}` cannot be a kind of `{below}`, which is a kind of `{own}`");
        return Err(Error::invalid(sentence));
    }
    let mut types = words.types.clone();
    if words.entity_type(changed.id).is_none() {
        types.push(changed.clone());
    }
    for kind in &mut types {
        if kind.id == changed.id {
            kind.clone_from(changed);
        } else {
            // A base keeps it both ways.
            kind.disjoint_with.retain(|other| *other != changed.id);
        }
    }
    let Some((below, (one, other))) = Kinds::of(&types).impossible() else {
        return Ok(());
    };
    if before.impossible().is_some() {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "nothing could be of `{}`: it would be of `{}` and `{}`, which are disjoint",
        key(below),
        key(one),
        key(other)
    )))
}
