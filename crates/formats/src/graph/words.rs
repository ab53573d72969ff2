//! What a base has words for, as an ontology.

use std::collections::HashMap;

use model::fact::Temporality;
use model::ontology::{Datatype, EntityType, RelationKind, RelationType};
use model::{EntityTypeId, RelationTypeId};
use oxrdf::vocab::{rdf, rdfs};
use oxrdf::{NamedNode, NamedNodeRef, Term};

use super::literal;
use super::names::Names;
use super::terms::{owl, utopia};

/// The words of a base with their IRIs.
#[derive(Debug, Default)]
pub struct Words {
    types: Vec<EntityType>,
    relations: Vec<RelationType>,
    classes: HashMap<EntityTypeId, NamedNode>,
    properties: HashMap<RelationTypeId, Property>,
}

/// What a claim of a relation is written with.
#[derive(Debug)]
pub(super) struct Property {
    pub(super) iri: NamedNode,
    pub(super) datatype: Option<Datatype>,
}

impl Words {
    /// Words that came with an IRI keep it; the others are named by their keys.
    pub fn new(names: &Names, types: Vec<EntityType>, relations: Vec<RelationType>) -> Self {
        let class = |kind: &EntityType| {
            let iri = names.word("class", &kind.key, kind.iri.as_deref());
            (kind.id, iri)
        };
        let property = |relation: &RelationType| {
            let property = Property {
                iri: names.word("relation", &relation.key, relation.iri.as_deref()),
                datatype: relation.datatype,
            };
            (relation.id, property)
        };
        Self {
            classes: types.iter().map(class).collect(),
            properties: relations.iter().map(property).collect(),
            types,
            relations,
        }
    }

    pub(super) fn class(&self, id: EntityTypeId) -> Option<&NamedNode> {
        self.classes.get(&id)
    }

    pub(super) fn property(&self, id: RelationTypeId) -> Option<&Property> {
        self.properties.get(&id)
    }

    /// Tells what is declared of each word: nothing is concluded or added.
    pub(super) fn declare(&self, mut out: impl FnMut(NamedNodeRef<'_>, NamedNodeRef<'_>, Term)) {
        for kind in &self.types {
            self.declare_class(kind, &mut out);
        }
        for relation in &self.relations {
            self.declare_property(relation, &mut out);
        }
    }

    fn declare_class(
        &self,
        kind: &EntityType,
        out: &mut impl FnMut(NamedNodeRef<'_>, NamedNodeRef<'_>, Term),
    ) {
        let iri = self.classes[&kind.id].as_ref();
        out(iri, rdf::TYPE, owl::CLASS.into());
        named(iri, &kind.label, &kind.description, out);
        for parent in kind.parents.iter().filter_map(|&id| self.class(id)) {
            out(iri, rdfs::SUB_CLASS_OF, parent.clone().into());
        }
        for other in kind.disjoint_with.iter().filter_map(|&id| self.class(id)) {
            out(iri, owl::DISJOINT_WITH, other.clone().into());
        }
    }

    fn declare_property(
        &self,
        relation: &RelationType,
        out: &mut impl FnMut(NamedNodeRef<'_>, NamedNodeRef<'_>, Term),
    ) {
        let iri = self.properties[&relation.id].iri.as_ref();
        let kind = match relation.kind {
            RelationKind::Relation => owl::OBJECT_PROPERTY,
            RelationKind::Attribute => owl::DATATYPE_PROPERTY,
        };
        let axioms = relation.axioms;
        out(iri, rdf::TYPE, kind.into());
        for (is_declared, axiom) in [
            (axioms.functional, owl::FUNCTIONAL),
            (axioms.inverse_functional, owl::INVERSE_FUNCTIONAL),
            (axioms.transitive, owl::TRANSITIVE),
            (axioms.symmetric, owl::SYMMETRIC),
            (axioms.asymmetric, owl::ASYMMETRIC),
            (axioms.irreflexive, owl::IRREFLEXIVE),
        ] {
            if is_declared {
                out(iri, rdf::TYPE, axiom.into());
            }
        }
        named(iri, &relation.label, &relation.description, out);
        let links = [
            (owl::INVERSE_OF, relation.inverse_of),
            (rdfs::SUB_PROPERTY_OF, relation.sub_property_of),
        ];
        for (link, other) in links {
            if let Some(other) = other.and_then(|id| self.property(id)) {
                out(iri, link, other.iri.clone().into());
            }
        }
        for domain in relation.domains.iter().filter_map(|&id| self.class(id)) {
            out(iri, rdfs::DOMAIN, domain.clone().into());
        }
        for range in relation.ranges.iter().filter_map(|&id| self.class(id)) {
            out(iri, rdfs::RANGE, range.clone().into());
        }
        if relation.temporality != Temporality::State {
            let temporality = literal::text(relation.temporality.name());
            out(iri, utopia::TEMPORAL, temporality.into());
        }
        if let Some(unit) = &relation.unit {
            out(iri, utopia::UNIT, literal::text(unit).into());
        }
    }
}

fn named(
    iri: NamedNodeRef<'_>,
    label: &str,
    description: &str,
    out: &mut impl FnMut(NamedNodeRef<'_>, NamedNodeRef<'_>, Term),
) {
    out(iri, rdfs::LABEL, literal::text(label).into());
    if !description.is_empty() {
        out(iri, rdfs::COMMENT, literal::text(description).into());
    }
}
