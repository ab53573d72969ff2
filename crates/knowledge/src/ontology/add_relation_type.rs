use kernel::{Base, Cx, Method, Operation, Spec};
use model::fact::Temporality;
use model::ontology::{Axioms, Datatype, RelationKind, RelationType};
use model::{EntityTypeId, Error, RelationTypeId, Result, Role};
use schemars::JsonSchema;
use serde::Deserialize;
use store::ontology::Ontology;
use store::{bases, ontology};

use super::{RelationTypeInfo, checked_key, checked_label, entity_type, relation, taken};

/// Add a relation ("leads") or an attribute ("revenue") to the base's words.
#[derive(Deserialize, JsonSchema)]
pub struct AddRelationType {
    /// Its name for people, at most 200 characters.
    label: String,
    /// Its short name: `a-z`, `0-9` and `_`, at most 40. Made from the label if absent.
    key: Option<String>,
    /// What it means.
    description: Option<String>,
    /// Whether it leads to a thing (`relation`) or to a value (`attribute`).
    #[serde(default)]
    kind: RelationKind,
    /// How its facts stand in time: `state` from one date to another, `event` at a date,
    /// `eternal` without dates.
    #[serde(default)]
    temporal: Temporality,
    /// A subject has one value at a time: a new one ends the one before.
    #[serde(default)]
    functional: bool,
    /// An object has one subject at a time.
    #[serde(default)]
    inverse_functional: bool,
    /// From a to b and from b to c: from a to c.
    #[serde(default)]
    transitive: bool,
    /// From a to b: from b to a.
    #[serde(default)]
    symmetric: bool,
    /// From a to b: never from b to a.
    #[serde(default)]
    asymmetric: bool,
    /// Never from a to a.
    #[serde(default)]
    irreflexive: bool,
    /// Key of the relation that says the same from the other end.
    inverse_of: Option<String>,
    /// Key of the wider relation that its facts imply.
    sub_property_of: Option<String>,
    /// What its values are, of an attribute: `text`, `number`, `date` or `bool`.
    datatype: Option<Datatype>,
    /// The unit of its values, of an attribute.
    unit: Option<String>,
    /// Keys of the kinds of things it is said of; a guide that drops nothing.
    #[serde(default)]
    domains: Vec<String>,
    /// Keys of the kinds of things it leads to; a guide that drops nothing.
    #[serde(default)]
    ranges: Vec<String>,
    /// Keys of the attributes that its facts may carry.
    #[serde(default)]
    qualifiers: Vec<String>,
    /// Its IRI elsewhere.
    iri: Option<String>,
}

impl Operation for AddRelationType {
    type Target = Base;
    type Output = RelationTypeInfo;
    const SPEC: Spec = Spec::write("add_relation_type", "Add a relation or attribute")
        .route(Method::Post, "/kbs/{kb_id}/ontology/relation-types")
        .least(Role::Admin)
        .idempotency_key()
        .cli("ontology add-relation", &["label"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<RelationTypeInfo> {
        let kb = cx.target.id();
        let mut tx = cx.write().await?;
        let created_at = bases::advance_clock(&mut tx, kb, cx.now()).await?;
        let mut words = ontology::read(&mut tx, kb).await?;
        let mut new = self.relation(&words, RelationTypeId::new(cx.ids.next()))?;
        new.created_at = created_at;
        cx.about("relation_type", new.id);
        let added = ontology::insert_relation(&mut tx, kb, &new).await;
        added.map_err(|error| taken(error, &new.key))?;
        words.relations.push(new.clone());
        tx.commit(RelationTypeInfo::of(&new, &words)).await
    }
}

impl AddRelationType {
    /// The relation that the arguments describe, among the base's words.
    fn relation(self, words: &Ontology, id: RelationTypeId) -> Result<RelationType> {
        let label = checked_label(&self.label)?;
        let kinds = |named: &[String]| -> Result<Vec<EntityTypeId>> {
            named
                .iter()
                .map(|named| Ok(entity_type(words, named)?.id))
                .collect()
        };
        let other = |named: &Option<String>| -> Result<Option<RelationTypeId>> {
            let found = named.as_deref().map(|named| relation(words, named));
            Ok(found.transpose()?.map(|found| found.id))
        };
        let qualifiers: Result<Vec<RelationTypeId>> = self
            .qualifiers
            .iter()
            .map(|named| Ok(relation(words, named)?.id))
            .collect();
        let is_attribute = self.kind == RelationKind::Attribute;
        if !is_attribute && (self.datatype.is_some() || self.unit.is_some()) {
            let sentence =
                "`datatype` and `unit` are for an `attribute`; a `relation` leads to a thing";
            return Err(Error::invalid(sentence));
        }
        if self.symmetric && self.asymmetric {
            let sentence = "`symmetric` and `asymmetric` rule each other out";
            return Err(Error::invalid(sentence));
        }
        Ok(RelationType {
            id,
            key: checked_key(self.key.as_deref(), &label)?,
            label,
            description: self.description.clone().unwrap_or_default(),
            iri: self.iri.clone(),
            kind: self.kind,
            temporality: self.temporal,
            axioms: Axioms {
                functional: self.functional,
                inverse_functional: self.inverse_functional,
                transitive: self.transitive,
                symmetric: self.symmetric,
                asymmetric: self.asymmetric,
                irreflexive: self.irreflexive,
            },
            inverse_of: other(&self.inverse_of)?,
            sub_property_of: other(&self.sub_property_of)?,
            datatype: match self.datatype {
                None if is_attribute => Some(Datatype::Text),
                datatype => datatype,
            },
            unit: self.unit.clone(),
            domains: kinds(&self.domains)?,
            ranges: kinds(&self.ranges)?,
            qualifiers: qualifiers?,
            created_at: model::RecordTime::from_micros(0),
        })
    }
}
