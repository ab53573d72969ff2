//! The words of a base: kinds of things, and relations and attributes that claims are made with.

mod add_entity_type;
mod add_relation_type;
mod apply_ontology_import;
mod change_relation_type;
mod delete_entity_type;
mod delete_relation_type;
mod import;
mod list_ontology_packs;
mod preview_ontology_import;
mod show_ontology;
mod update_entity_type;

use engine::ledger::{Contradiction, Decision};
use kernel::{Base, Cx};
use model::fact::Temporality;
use model::ontology::misfit::Rule;
use model::ontology::{Axioms, Datatype, EntityType, RelationKind, RelationType, is_key, key_of};
use model::{Code, EntityId, EntityTypeId, Error, FactId, RelationTypeId, Result};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use store::events::Decider;
use store::ontology::Ontology;

pub use add_entity_type::AddEntityType;
pub use add_relation_type::AddRelationType;
pub use apply_ontology_import::ApplyOntologyImport;
pub use change_relation_type::{ChangeRelationType, ChangedRelationType};
pub use delete_entity_type::{DeleteEntityType, DeletedType};
pub use delete_relation_type::DeleteRelationType;
pub use import::OntologyImport;
pub use list_ontology_packs::{ListOntologyPacks, OntologyPacks};
pub use preview_ontology_import::PreviewOntologyImport;
pub use show_ontology::{OntologyInfo, ShowOntology};
pub use update_entity_type::{UpdateEntityType, UpdatedEntityType};

/// A kind of thing.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct EntityTypeInfo {
    /// Its id.
    pub id: EntityTypeId,
    /// Its short name in this base.
    pub key: String,
    /// Its name for people.
    pub label: String,
    /// What it means.
    pub description: String,
    /// The IRI it was imported under.
    pub iri: Option<String>,
    /// Its colour.
    pub colour: Option<String>,
    /// Keys of the kinds it is a kind of, the primary one first.
    pub parents: Vec<String>,
    /// Keys of the kinds that nothing of it is also of.
    pub disjoint_with: Vec<String>,
}

/// A relation or an attribute.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct RelationTypeInfo {
    /// Its id.
    pub id: RelationTypeId,
    /// Its short name in this base.
    pub key: String,
    /// Its name for people.
    pub label: String,
    /// What it means.
    pub description: String,
    /// The IRI it was imported under.
    pub iri: Option<String>,
    /// Whether it leads to a thing (`relation`) or to a value (`attribute`).
    pub kind: RelationKind,
    /// How its claims stand in time.
    pub temporal: Temporality,
    /// What is true of all its claims.
    #[serde(flatten)]
    pub axioms: Axioms,
    /// Key of the relation that says the same from the other end.
    pub inverse_of: Option<String>,
    /// Key of the wider relation that its claims imply.
    pub sub_property_of: Option<String>,
    /// What its values are, of an attribute.
    pub datatype: Option<Datatype>,
    /// The unit of its values, of an attribute.
    pub unit: Option<String>,
    /// Keys of the kinds of things it is said of.
    pub domains: Vec<String>,
    /// Keys of the kinds of things it leads to.
    pub ranges: Vec<String>,
    /// Keys of the attributes that its claims may carry.
    pub qualifiers: Vec<String>,
}

impl EntityTypeInfo {
    fn of(kind: &EntityType, ontology: &Ontology) -> Self {
        let key = |id: &EntityTypeId| ontology.entity_type(*id).map(|kind| kind.key.clone());
        Self {
            id: kind.id,
            key: kind.key.clone(),
            label: kind.label.clone(),
            description: kind.description.clone(),
            iri: kind.iri.clone(),
            colour: kind.colour.clone(),
            parents: kind.parents.iter().filter_map(key).collect(),
            disjoint_with: kind.disjoint_with.iter().filter_map(key).collect(),
        }
    }
}

impl kernel::Reply for EntityTypeInfo {
    fn text(&self) -> String {
        format!("{}  {}  {}\n", self.id, self.key, self.label)
    }
}

impl RelationTypeInfo {
    fn of(relation: &RelationType, ontology: &Ontology) -> Self {
        let kind = |id: &EntityTypeId| ontology.entity_type(*id).map(|kind| kind.key.clone());
        let key = |id: &RelationTypeId| ontology.relation(*id).map(|other| other.key.clone());
        Self {
            id: relation.id,
            key: relation.key.clone(),
            label: relation.label.clone(),
            description: relation.description.clone(),
            iri: relation.iri.clone(),
            kind: relation.kind,
            temporal: relation.temporality,
            axioms: relation.axioms,
            inverse_of: relation.inverse_of.as_ref().and_then(key),
            sub_property_of: relation.sub_property_of.as_ref().and_then(key),
            datatype: relation.datatype,
            unit: relation.unit.clone(),
            domains: relation.domains.iter().filter_map(kind).collect(),
            ranges: relation.ranges.iter().filter_map(kind).collect(),
            qualifiers: relation.qualifiers.iter().filter_map(key).collect(),
        }
    }
}

impl kernel::Reply for RelationTypeInfo {
    fn text(&self) -> String {
        let (id, key, label) = (self.id, &self.key, &self.label);
        format!("{id}  {key}  {label}  ({})\n", self.kind.name())
    }
}

/// Something stored that what is said of a word contradicts.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ContradictionInfo {
    /// What is said of the word.
    pub rule: Rule,
    /// Key of the word.
    pub word: String,
    /// The fact, or the two that contradict each other by it.
    pub facts: Vec<FactId>,
    /// Two things that are one and of kinds that are disjoint.
    pub entities: Vec<EntityId>,
}

impl From<Contradiction> for ContradictionInfo {
    fn from(found: Contradiction) -> Self {
        Self {
            rule: found.rule,
            word: found.word,
            facts: found.facts,
            entities: found.entities,
        }
    }
}

/// Contradictions named in a refusal at most.
const SHOWN_MAX: usize = 20;

/// The contradictions, if they may be there.
///
/// # Errors
/// `conflict`, with the first of them, if there are some and nobody accepted that.
pub(crate) fn accepted(
    found: Vec<Contradiction>,
    are_accepted: bool,
) -> Result<Vec<ContradictionInfo>> {
    let found: Vec<ContradictionInfo> = found.into_iter().map(Into::into).collect();
    if found.is_empty() || are_accepted {
        return Ok(found);
    }
    let count = found.len();
    let shown = &found[..count.min(SHOWN_MAX)];
    let sentence = format!(
        "{count} contradiction(s) with stored facts would come of it; correct the facts, or set \
         `accept_contradictions`"
    );
    Err(Error::new(Code::Conflict, sentence).details(json!({ "contradictions": shown })))
}

/// What a decision of this call is made with.
pub(crate) fn decision<'a>(
    cx: &Cx<'_, Base>,
    ids: &'a (dyn Fn() -> uuid::Uuid + Sync),
) -> Decision<'a> {
    let principal = cx.principal();
    Decision {
        kb: cx.target.id(),
        decider: Decider {
            user: Some(principal.user),
            credential: Some(principal.credential.id),
        },
        now: cx.now(),
        ids,
    }
}

/// The relation with this key, id or label.
pub(crate) fn relation<'a>(ontology: &'a Ontology, named: &str) -> Result<&'a RelationType> {
    let id = named.parse::<RelationTypeId>().ok();
    let found = ontology.relations.iter().find(|relation| {
        Some(relation.id) == id
            || relation.key == named
            || relation.label.eq_ignore_ascii_case(named.trim())
    });
    found.ok_or_else(|| {
        let keys: Vec<&str> = ontology
            .relations
            .iter()
            .map(|one| one.key.as_str())
            .collect();
        absent("relation", named, &keys)
    })
}

/// The kind of thing with this key, id or label.
pub(crate) fn entity_type<'a>(ontology: &'a Ontology, named: &str) -> Result<&'a EntityType> {
    let id = named.parse::<EntityTypeId>().ok();
    let found = ontology.types.iter().find(|kind| {
        Some(kind.id) == id || kind.key == named || kind.label.eq_ignore_ascii_case(named.trim())
    });
    found.ok_or_else(|| {
        let keys: Vec<&str> = ontology.types.iter().map(|one| one.key.as_str()).collect();
        absent("entity type", named, &keys)
    })
}

fn absent(what: &str, named: &str, keys: &[&str]) -> Error {
    let shown: String = named.chars().take(80).collect();
    let known = match keys.len() {
        0 => "it has none yet".to_owned(),
        1..=30 => format!("it has `{}`", keys.join("`, `")),
        many => format!("it has {many}; see `show_ontology`"),
    };
    Error::not_found(format!("no {what} `{shown}` in this base; {known}"))
}

/// The key that was given, or the one that the label makes.
fn checked_key(key: Option<&str>, label: &str) -> Result<String> {
    let key = key.map_or_else(|| key_of(label), str::to_owned);
    if is_key(&key) {
        return Ok(key);
    }
    Err(Error::invalid(
        "`key` must have 1 to 40 of the characters a-z, 0-9 and `_`; give one where the label \
         has no such letters",
    ))
}

/// Longest label, in characters.
const LABEL_CHARS_MAX: usize = 200;

fn checked_label(label: &str) -> Result<String> {
    let label = label.split_whitespace().collect::<Vec<_>>().join(" ");
    if (1..=LABEL_CHARS_MAX).contains(&label.chars().count()) {
        return Ok(label);
    }
    Err(Error::invalid(format!(
        "`label` must have 1 to {LABEL_CHARS_MAX} characters"
    )))
}

fn checked_colour(colour: String) -> Result<String> {
    let digits = colour.strip_prefix('#').unwrap_or_default();
    let fits = digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    fits.then_some(colour)
        .ok_or_else(|| Error::invalid("`colour` must be `#` and six hexadecimal digits"))
}

/// The sentence for a key that is taken.
fn taken(error: store::StoreError, key: &str) -> Error {
    match error {
        store::StoreError::Unique(_) => Error::new(
            model::Code::Conflict,
            format!("the base has the key `{key}` already"),
        ),
        other => other.into(),
    }
}
