use kernel::{Base, Cx, Method, Operation, Spec};
use model::ontology::EntityType;
use model::{EntityTypeId, Result, Role};
use schemars::JsonSchema;
use serde::Deserialize;
use store::{bases, ontology};

use super::update_entity_type::is_sound;
use super::{EntityTypeInfo, checked_colour, checked_key, checked_label, entity_type, taken};

/// Add a kind of thing to the base's words, such as "Company".
#[derive(Deserialize, JsonSchema)]
pub struct AddEntityType {
    /// Its name for people, at most 200 characters.
    label: String,
    /// Its short name: `a-z`, `0-9` and `_`, at most 40. Made from the label if absent.
    key: Option<String>,
    /// What it means.
    description: Option<String>,
    /// Keys of the kinds it is a kind of, the primary one first.
    #[serde(default)]
    parents: Vec<String>,
    /// Keys of the kinds that nothing of it is also of.
    #[serde(default)]
    disjoint_with: Vec<String>,
    /// Its IRI elsewhere, such as `https://schema.org/Organization`.
    iri: Option<String>,
    /// A colour such as `#4a7fb5`.
    colour: Option<String>,
}

impl Operation for AddEntityType {
    type Target = Base;
    type Output = EntityTypeInfo;
    const SPEC: Spec = Spec::write("add_entity_type", "Add a kind of thing")
        .route(Method::Post, "/kbs/{kb_id}/ontology/entity-types")
        .least(Role::Admin)
        .idempotency_key()
        .cli("ontology add-type", &["label"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<EntityTypeInfo> {
        let kb = cx.target.id();
        let label = checked_label(&self.label)?;
        let key = checked_key(self.key.as_deref(), &label)?;
        let mut tx = cx.write().await?;
        let created_at = bases::advance_clock(&mut tx, kb, cx.now()).await?;
        let mut words = ontology::read(&mut tx, kb).await?;
        let ids = |named: &[String]| -> Result<Vec<EntityTypeId>> {
            named
                .iter()
                .map(|named| Ok(entity_type(&words, named)?.id))
                .collect()
        };
        let kind = EntityType {
            id: EntityTypeId::new(cx.ids.next()),
            label,
            description: self.description.unwrap_or_default(),
            iri: self.iri,
            colour: self.colour.map(checked_colour).transpose()?,
            parents: ids(&self.parents)?,
            disjoint_with: ids(&self.disjoint_with)?,
            created_at,
            key,
        };
        is_sound(&kind, &words)?;
        cx.about("entity_type", kind.id);
        let added = ontology::insert_type(&mut tx, kb, &kind).await;
        added.map_err(|error| taken(error, &kind.key))?;
        words.types.push(kind.clone());
        tx.commit(EntityTypeInfo::of(&kind, &words)).await
    }
}
