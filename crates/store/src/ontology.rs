//! What bases have words for: kinds of things and of claims.

use std::collections::HashMap;

use model::ontology::{Axioms, EntityType, RelationType};
use model::{EntityTypeId, KbId, RelationTypeId};
use uuid::Uuid;

use crate::statement::statements;
use crate::value::{Param, Row, params};
use crate::{StoreError, Tx};

statements! {
    tenant {
        INSERT_TYPE: "INSERT INTO entity_type (tenant_id, base_id, id, key, label, description, iri, colour, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        UPDATE_TYPE: "UPDATE entity_type SET label = $4, description = $5, iri = $6, colour = $7 WHERE tenant_id = $1 AND base_id = $2 AND id = $3",
        DELETE_TYPE: "DELETE FROM entity_type WHERE tenant_id = $1 AND base_id = $2 AND id = $3",
        TYPES: "SELECT id, key, label, description, iri, colour, created_at FROM entity_type WHERE tenant_id = $1 AND base_id = $2 ORDER BY key",
        PARENTS: "SELECT type_id, parent_id FROM entity_type_parent WHERE tenant_id = $1 AND base_id = $2 ORDER BY type_id, is_primary DESC, parent_id",
        INSERT_PARENT: "INSERT INTO entity_type_parent (tenant_id, base_id, type_id, parent_id, is_primary) VALUES ($1, $2, $3, $4, $5)",
        CLEAR_PARENTS: "DELETE FROM entity_type_parent WHERE tenant_id = $1 AND base_id = $2 AND type_id = $3",
        DISJOINT: "SELECT type_id, other_id FROM entity_type_disjoint WHERE tenant_id = $1 AND base_id = $2 ORDER BY type_id, other_id",
        INSERT_DISJOINT: "INSERT INTO entity_type_disjoint (tenant_id, base_id, type_id, other_id) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
        CLEAR_DISJOINT: "DELETE FROM entity_type_disjoint WHERE tenant_id = $1 AND base_id = $2 AND (type_id = $3 OR other_id = $3)",
        INSERT_RELATION: "INSERT INTO relation_type (tenant_id, base_id, id, key, label, description, iri, kind, temporality, functional, inverse_functional, \
            transitive, \"symmetric\", \"asymmetric\", irreflexive, inverse_of, sub_property_of, datatype, unit, created_at) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)",
        UPDATE_RELATION: "UPDATE relation_type SET label = $4, description = $5, iri = $6, kind = $7, temporality = $8, functional = $9, inverse_functional = $10, \
            transitive = $11, \"symmetric\" = $12, \"asymmetric\" = $13, irreflexive = $14, inverse_of = $15, sub_property_of = $16, datatype = $17, unit = $18 \
            WHERE tenant_id = $1 AND base_id = $2 AND id = $3",
        DELETE_RELATION: "DELETE FROM relation_type WHERE tenant_id = $1 AND base_id = $2 AND id = $3",
        RELATIONS: "SELECT id, key, label, description, iri, kind, temporality, functional, inverse_functional, transitive, \"symmetric\", \"asymmetric\", irreflexive, \
            inverse_of, sub_property_of, datatype, unit, created_at FROM relation_type WHERE tenant_id = $1 AND base_id = $2 ORDER BY key",
        RELATION: "SELECT id, key, label, description, iri, kind, temporality, functional, inverse_functional, transitive, \"symmetric\", \"asymmetric\", irreflexive, \
            inverse_of, sub_property_of, datatype, unit, created_at FROM relation_type WHERE tenant_id = $1 AND base_id = $2 AND id = $3",
        LINKS_OF: "SELECT relation_id, role, other_id FROM relation_type_link WHERE tenant_id = $1 AND base_id = $2 AND relation_id = $3 ORDER BY relation_id, role, other_id",
        HAS_TYPE: "SELECT id FROM entity_type WHERE tenant_id = $1 AND base_id = $2 AND id = $3",
        LINKS: "SELECT relation_id, role, other_id FROM relation_type_link WHERE tenant_id = $1 AND base_id = $2 ORDER BY relation_id, role, other_id",
        INSERT_LINK: "INSERT INTO relation_type_link (tenant_id, base_id, relation_id, role, other_id) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
        CLEAR_LINKS: "DELETE FROM relation_type_link WHERE tenant_id = $1 AND base_id = $2 AND relation_id = $3",
        FORGET_OTHER: "DELETE FROM relation_type_link WHERE tenant_id = $1 AND base_id = $2 AND other_id = $3",
    }
}

const DOMAIN: &str = "domain";
const RANGE: &str = "range";
const QUALIFIER: &str = "qualifier";

/// All that a base has words for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ontology {
    /// Kinds of things, by key.
    pub types: Vec<EntityType>,
    /// Kinds of claims, by key.
    pub relations: Vec<RelationType>,
}

impl Ontology {
    /// The kind of claim with this id.
    pub fn relation(&self, id: RelationTypeId) -> Option<&RelationType> {
        self.relations.iter().find(|relation| relation.id == id)
    }

    /// The kind of thing with this id.
    pub fn entity_type(&self, id: EntityTypeId) -> Option<&EntityType> {
        self.types.iter().find(|kind| kind.id == id)
    }
}

/// Pairs as lists by their first half.
fn grouped<K: std::hash::Hash + Eq, V>(
    pairs: impl IntoIterator<Item = (K, V)>,
) -> HashMap<K, Vec<V>> {
    let mut groups: HashMap<K, Vec<V>> = HashMap::new();
    for (key, value) in pairs {
        groups.entry(key).or_default().push(value);
    }
    groups
}

fn pair<A: crate::value::Column, B: crate::value::Column>(
    mut row: Row,
) -> Result<(A, B), StoreError> {
    Ok((row.take()?, row.take()?))
}

/// All that a base has words for, by key.
pub async fn read(tx: &mut Tx, kb: KbId) -> Result<Ontology, StoreError> {
    Ok(Ontology {
        types: types(tx, kb).await?,
        relations: relations(tx, kb).await?,
    })
}

/// The kinds of things, by key.
pub async fn types(tx: &mut Tx, kb: KbId) -> Result<Vec<EntityType>, StoreError> {
    let mut parents = pairs(tx, kb, &PARENTS).await?;
    let mut disjoint = pairs(tx, kb, &DISJOINT).await?;
    let rows = tx.rows(&TYPES, params![kb]).await?;
    rows.into_iter()
        .map(|mut row| {
            let id: EntityTypeId = row.take()?;
            Ok(EntityType {
                id,
                key: row.take()?,
                label: row.take()?,
                description: row.take()?,
                iri: row.take()?,
                colour: row.take()?,
                parents: parents.remove(&id).unwrap_or_default(),
                disjoint_with: disjoint.remove(&id).unwrap_or_default(),
                created_at: row.take()?,
            })
        })
        .collect()
}

async fn pairs(
    tx: &mut Tx,
    kb: KbId,
    statement: &'static crate::Statement,
) -> Result<HashMap<EntityTypeId, Vec<EntityTypeId>>, StoreError> {
    let rows = tx.rows(statement, params![kb]).await?;
    let pairs: Result<Vec<_>, _> = rows.into_iter().map(pair).collect();
    Ok(grouped(pairs?))
}

/// Whether the base has a kind of thing with this id.
pub async fn has_type(tx: &mut Tx, kb: KbId, id: EntityTypeId) -> Result<bool, StoreError> {
    Ok(tx.row(&HAS_TYPE, params![kb, id]).await?.is_some())
}

/// The kinds of claims, by key.
pub async fn relations(tx: &mut Tx, kb: KbId) -> Result<Vec<RelationType>, StoreError> {
    let mut links = links(tx.rows(&LINKS, params![kb]).await?)?;
    let rows = tx.rows(&RELATIONS, params![kb]).await?;
    rows.into_iter()
        .map(|row| relation_of(row, &mut links))
        .collect()
}

/// The kind of claim with this id.
pub async fn relation(
    tx: &mut Tx,
    kb: KbId,
    id: RelationTypeId,
) -> Result<Option<RelationType>, StoreError> {
    let Some(row) = tx.row(&RELATION, params![kb, id]).await? else {
        return Ok(None);
    };
    let mut links = links(tx.rows(&LINKS_OF, params![kb, id]).await?)?;
    relation_of(row, &mut links).map(Some)
}

/// What kinds of claims lead to, by the claim and the role.
type Links = HashMap<(RelationTypeId, String), Vec<Uuid>>;

fn links(rows: Vec<Row>) -> Result<Links, StoreError> {
    let mut links = Links::new();
    for mut row in rows {
        let key = (row.take()?, row.take()?);
        links.entry(key).or_default().push(row.take()?);
    }
    Ok(links)
}

fn relation_of(mut row: Row, links: &mut Links) -> Result<RelationType, StoreError> {
    let id: RelationTypeId = row.take()?;
    let mut of = |role: &str| links.remove(&(id, role.to_owned())).unwrap_or_default();
    let types = |ids: Vec<Uuid>| ids.into_iter().map(EntityTypeId::new).collect();
    Ok(RelationType {
        id,
        key: row.take()?,
        label: row.take()?,
        description: row.take()?,
        iri: row.take()?,
        kind: row.named()?,
        temporality: row.named()?,
        axioms: Axioms {
            functional: row.take()?,
            inverse_functional: row.take()?,
            transitive: row.take()?,
            symmetric: row.take()?,
            asymmetric: row.take()?,
            irreflexive: row.take()?,
        },
        inverse_of: row.take()?,
        sub_property_of: row.take()?,
        datatype: row.named_or_none()?,
        unit: row.take()?,
        domains: types(of(DOMAIN)),
        ranges: types(of(RANGE)),
        qualifiers: of(QUALIFIER).into_iter().map(RelationTypeId::new).collect(),
        created_at: row.take()?,
    })
}

/// Adds a kind of thing.
///
/// # Errors
/// `Unique` if the base has its key.
pub async fn insert_type(tx: &mut Tx, kb: KbId, kind: &EntityType) -> Result<(), StoreError> {
    tx.execute(&INSERT_TYPE, &type_row(kb, kind)).await?;
    insert_type_links(tx, kb, std::slice::from_ref(kind)).await
}

/// Adds kinds of things.
///
/// # Errors
/// `Unique` if the base has the key of one.
pub async fn insert_types(tx: &mut Tx, kb: KbId, kinds: &[EntityType]) -> Result<(), StoreError> {
    let rows: Vec<Vec<Param<'_>>> = kinds.iter().map(|kind| type_row(kb, kind)).collect();
    tx.bulk(&INSERT_TYPE, &rows).await?;
    insert_type_links(tx, kb, kinds).await
}

fn type_row(kb: KbId, kind: &EntityType) -> Vec<Param<'_>> {
    params![
        kb,
        kind.id,
        &kind.key,
        &kind.label,
        &kind.description,
        kind.iri.as_deref(),
        kind.colour.as_deref(),
        kind.created_at
    ]
    .to_vec()
}

/// Changes a kind of thing in all but id and key; whether there is one.
pub async fn update_type(tx: &mut Tx, kb: KbId, kind: &EntityType) -> Result<bool, StoreError> {
    let row = params![
        kb,
        kind.id,
        &kind.label,
        &kind.description,
        kind.iri.as_deref(),
        kind.colour.as_deref()
    ];
    if tx.execute(&UPDATE_TYPE, row).await? == 0 {
        return Ok(false);
    }
    tx.execute(&CLEAR_PARENTS, params![kb, kind.id]).await?;
    tx.execute(&CLEAR_DISJOINT, params![kb, kind.id]).await?;
    insert_type_links(tx, kb, std::slice::from_ref(kind)).await?;
    Ok(true)
}

async fn insert_type_links(tx: &mut Tx, kb: KbId, kinds: &[EntityType]) -> Result<(), StoreError> {
    let parents: Vec<Vec<Param<'_>>> = kinds
        .iter()
        .flat_map(|kind| {
            kind.parents
                .iter()
                .enumerate()
                .map(move |link| (kind, link))
        })
        .map(|(kind, (place, &parent))| params![kb, kind.id, parent, place == 0].to_vec())
        .collect();
    tx.bulk(&INSERT_PARENT, &parents).await?;
    // Both ways, so that either end finds it.
    let disjoint: Vec<Vec<Param<'_>>> = kinds
        .iter()
        .flat_map(|kind| {
            kind.disjoint_with
                .iter()
                .map(move |&other| (kind.id, other))
        })
        .flat_map(|(one, other)| [(one, other), (other, one)])
        .map(|(one, other)| params![kb, one, other].to_vec())
        .collect();
    tx.bulk(&INSERT_DISJOINT, &disjoint).await.map(drop)
}

/// Takes a kind of thing away, and every mention of it in the ontology.
pub async fn delete_type(tx: &mut Tx, kb: KbId, id: EntityTypeId) -> Result<bool, StoreError> {
    tx.execute(&CLEAR_PARENTS, params![kb, id]).await?;
    tx.execute(&CLEAR_DISJOINT, params![kb, id]).await?;
    tx.execute(&FORGET_OTHER, params![kb, id]).await?;
    Ok(tx.execute(&DELETE_TYPE, params![kb, id]).await? == 1)
}

/// Adds a kind of claim.
///
/// # Errors
/// `Unique` if the base has its key.
pub async fn insert_relation(
    tx: &mut Tx,
    kb: KbId,
    relation: &RelationType,
) -> Result<(), StoreError> {
    tx.execute(&INSERT_RELATION, &relation_row(kb, relation))
        .await?;
    insert_relation_links(tx, kb, std::slice::from_ref(relation)).await
}

/// Adds kinds of claims.
///
/// # Errors
/// `Unique` if the base has the key of one.
pub async fn insert_relations(
    tx: &mut Tx,
    kb: KbId,
    relations: &[RelationType],
) -> Result<(), StoreError> {
    let rows: Vec<Vec<Param<'_>>> = relations.iter().map(|one| relation_row(kb, one)).collect();
    tx.bulk(&INSERT_RELATION, &rows).await?;
    insert_relation_links(tx, kb, relations).await
}

fn relation_row(kb: KbId, relation: &RelationType) -> Vec<Param<'_>> {
    let mut row = params![kb, relation.id, &relation.key].to_vec();
    row.extend(relation_columns(relation));
    row.push(relation.created_at.into());
    row
}

/// Changes a kind of claim in all but id and key; whether there is one.
pub async fn update_relation(
    tx: &mut Tx,
    kb: KbId,
    relation: &RelationType,
) -> Result<bool, StoreError> {
    let mut row = params![kb, relation.id].to_vec();
    row.extend(relation_columns(relation));
    if tx.execute(&UPDATE_RELATION, &row).await? == 0 {
        return Ok(false);
    }
    tx.execute(&CLEAR_LINKS, params![kb, relation.id]).await?;
    insert_relation_links(tx, kb, std::slice::from_ref(relation)).await?;
    Ok(true)
}

fn relation_columns(relation: &RelationType) -> Vec<Param<'_>> {
    params![
        &relation.label,
        &relation.description,
        relation.iri.as_deref(),
        relation.kind.name(),
        relation.temporality.name(),
        relation.axioms.functional,
        relation.axioms.inverse_functional,
        relation.axioms.transitive,
        relation.axioms.symmetric,
        relation.axioms.asymmetric,
        relation.axioms.irreflexive,
        relation.inverse_of,
        relation.sub_property_of,
        relation.datatype.map(model::ontology::Datatype::name),
        relation.unit.as_deref(),
    ]
    .to_vec()
}

async fn insert_relation_links(
    tx: &mut Tx,
    kb: KbId,
    relations: &[RelationType],
) -> Result<(), StoreError> {
    let mut rows: Vec<Vec<Param<'_>>> = Vec::new();
    for relation in relations {
        let domains = relation.domains.iter().map(|id| (DOMAIN, id.uuid()));
        let ranges = relation.ranges.iter().map(|id| (RANGE, id.uuid()));
        let qualifiers = relation.qualifiers.iter().map(|id| (QUALIFIER, id.uuid()));
        let links = domains.chain(ranges).chain(qualifiers);
        rows.extend(links.map(|(role, other)| params![kb, relation.id, role, other].to_vec()));
    }
    tx.bulk(&INSERT_LINK, &rows).await.map(drop)
}

/// Takes a kind of claim away, and every mention of it in the ontology.
pub async fn delete_relation(
    tx: &mut Tx,
    kb: KbId,
    id: RelationTypeId,
) -> Result<bool, StoreError> {
    tx.execute(&CLEAR_LINKS, params![kb, id]).await?;
    tx.execute(&FORGET_OTHER, params![kb, id]).await?;
    Ok(tx.execute(&DELETE_RELATION, params![kb, id]).await? == 1)
}
