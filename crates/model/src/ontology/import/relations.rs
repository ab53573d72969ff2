//! The relations and attributes of a base, with those of a file among them.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::places::{Places, Word};
use super::types::Types;
use super::{add_all, key_for, label_for, set, told_loop, told_other_name};
use crate::ontology::declared::{DeclaredProperty, LeftOut};
use crate::ontology::hierarchy::{Conflict, Edge, settle};
use crate::ontology::{Datatype, RelationKind, RelationType};
use crate::{RecordTime, RelationTypeId};

/// The relations and attributes with those of the file among them.
pub(super) struct Relations {
    places: Places,
    pub(super) all: Vec<RelationType>,
    pub(super) touched: HashSet<usize>,
}

impl Relations {
    pub(super) fn place(
        known: &[RelationType],
        properties: &[DeclaredProperty],
        left_out: &mut Vec<LeftOut>,
    ) -> Self {
        let mut places = Places::of(known.iter().map(|one| (&*one.key, one.iri.as_deref())));
        let words: Vec<Word<'_>> = properties
            .iter()
            .map(|property| Word {
                iri: &property.iri,
                label: property.label.as_deref(),
                same_as: &property.same_as,
            })
            .collect();
        let iri_of = |place: usize| known.get(place).and_then(|one| one.iri.clone());
        let fits = |place: usize, n: usize| -> Result<(), String> {
            let (known, declared) = (&known[place], properties[n].kind);
            if known.key == RelationType::KNOWN_AS {
                return Err(KNOWN_AS_STAYS.to_owned());
            }
            if known.kind == declared {
                return Ok(());
            }
            Err(format!(
                "`{}` is of the kind `{}` in the base, and in the file of the kind `{}`",
                known.key,
                known.kind.name(),
                declared.name()
            ))
        };
        // Every base has it, from its first thing on.
        let is_reserved = |n: usize| {
            let property = &properties[n];
            key_for(&property.iri, property.label.as_deref()).as_deref()
                == Some(RelationType::KNOWN_AS)
        };
        let (reserved, open): (Vec<usize>, Vec<usize>) =
            (0..properties.len()).partition(|&n| is_reserved(n));
        left_out.extend(
            reserved
                .iter()
                .map(|&n| LeftOut::new(&properties[n].iri, KNOWN_AS_STAYS)),
        );
        let mut words: Vec<Option<Word<'_>>> = words.into_iter().map(Some).collect();
        let taken: Vec<Word<'_>> = open.iter().filter_map(|&n| words[n].take()).collect();
        places.declare(&taken, &iri_of, &|place, n| fits(place, open[n]), left_out);
        let mut of_declared = vec![None; properties.len()];
        for (place, &n) in places.of_declared.iter().zip(&open) {
            of_declared[n] = *place;
        }
        places.of_declared = of_declared;
        Self {
            all: known.to_vec(),
            touched: HashSet::new(),
            places,
        }
    }

    pub(super) fn make(
        &mut self,
        properties: &[DeclaredProperty],
        types: &Types,
        (fresh, created_at): (&mut dyn FnMut() -> Uuid, RecordTime),
        left_out: &mut Vec<LeftOut>,
    ) {
        for (n, property) in properties.iter().enumerate() {
            if let Some((place, false)) = self.places.of_declared[n]
                && place == self.all.len()
            {
                let id = RelationTypeId::new(fresh());
                self.all.push(new_relation(id, property, created_at));
            }
        }
        for (n, property) in properties.iter().enumerate() {
            let Some((place, is_other_name)) = self.places.of_declared[n] else {
                continue;
            };
            if !is_other_name {
                self.link(place, property, types, left_out);
                self.name(place, property);
                continue;
            }
            let known = &self.all[place];
            left_out.push(told_other_name(&property.iri, &known.key));
            if known.kind == property.kind {
                self.link(place, property, types, left_out);
            }
        }
    }

    /// Writes what a relation is called, and what its claims are.
    fn name(&mut self, place: usize, property: &DeclaredProperty) {
        self.touched.insert(place);
        let relation = &mut self.all[place];
        relation.iri.get_or_insert_with(|| property.iri.clone());
        set(&mut relation.label, property.label.as_deref());
        set(&mut relation.description, property.description.as_deref());
        relation.temporality = property.temporality.unwrap_or(relation.temporality);
        relation.datatype = property.datatype.or(relation.datatype);
        if property.unit.is_some() {
            relation.unit.clone_from(&property.unit);
        }
    }

    /// Writes where a relation stands among others, where it leads and what is true of it.
    fn link(
        &mut self,
        place: usize,
        property: &DeclaredProperty,
        types: &Types,
        left_out: &mut Vec<LeftOut>,
    ) {
        let name = property.iri.as_str();
        let inverse = property.inverse_of.as_deref();
        let inverse = self.resolve(inverse, place, (name, "inverse"), left_out);
        let wider = property.sub_property_of.as_deref();
        let wider = self.resolve(wider, place, (name, "wider relation"), left_out);
        let had = &self.all[place];
        let (had_inverse, had_wider) = (had.inverse_of, had.sub_property_of);
        let inverse = self.stays(had_inverse, inverse, (name, "inverse"), left_out);
        let wider = self.stays(had_wider, wider, (name, "wider relation"), left_out);
        let domains = types.resolve(&property.domains, usize::MAX, (name, "domain"), left_out);
        let ranges = types.resolve(&property.ranges, usize::MAX, (name, "range"), left_out);
        let relation = &mut self.all[place];
        say_axioms(relation, property, left_out);
        (relation.inverse_of, relation.sub_property_of) = (inverse, wider);
        add_all(&mut relation.domains, domains);
        add_all(&mut relation.ranges, ranges);
    }

    fn resolve(
        &self,
        iri: Option<&str>,
        own: usize,
        (name, what): (&str, &str),
        left_out: &mut Vec<LeftOut>,
    ) -> Option<RelationTypeId> {
        let iri = iri?;
        let mut leave_out = |reason: String| left_out.push(LeftOut::new(name, reason));
        let Some(&place) = self.places.by_iri.get(iri) else {
            leave_out(format!(
                "its {what} <{iri}> is neither in the file nor in the base"
            ));
            return None;
        };
        let other = &self.all[place];
        if other.kind != self.all[own].kind {
            leave_out(format!(
                "its {what} `{}` is of the kind `{}`",
                other.key,
                other.kind.name()
            ));
            return None;
        }
        Some(other.id)
    }

    /// What the base says of a word that has one such; what the file says where it says nothing.
    fn stays(
        &self,
        had: Option<RelationTypeId>,
        said: Option<RelationTypeId>,
        (name, what): (&str, &str),
        left_out: &mut Vec<LeftOut>,
    ) -> Option<RelationTypeId> {
        let key = |id: RelationTypeId| {
            let known = self.all.iter().find(|one| one.id == id);
            known.map_or("", |known| known.key.as_str())
        };
        if let (Some(had), Some(said)) = (had, said)
            && had != said
        {
            let reason = format!("its {what} `{}`: the base has `{}`", key(said), key(had));
            left_out.push(LeftOut::new(name, reason));
        }
        had.or(said)
    }

    pub(super) fn break_loops(&mut self, known: &[RelationType], left_out: &mut Vec<LeftOut>) {
        let by_id: HashMap<RelationTypeId, usize> = self
            .all
            .iter()
            .enumerate()
            .map(|(n, relation)| (relation.id, n))
            .collect();
        let mut edges = Vec::new();
        for (below, relation) in self.all.iter().enumerate() {
            let Some(wider) = relation.sub_property_of else {
                continue;
            };
            let had = known.get(below).and_then(|known| known.sub_property_of);
            if let Some(&above) = by_id.get(&wider) {
                edges.push(Edge {
                    below,
                    above,
                    may_go: had != Some(wider),
                });
            }
        }
        for conflict in settle(self.all.len(), &edges, &[]) {
            if let Conflict::Loop(found) = conflict {
                let key = |n: usize| self.all[n].key.as_str();
                left_out.push(told_loop(&found.nodes, key, "relation"));
                self.all[edges[found.edge].below].sub_property_of = None;
            }
        }
    }
}

const KNOWN_AS_STAYS: &str = "`known_as` holds the names of things and is the same in every base";

fn new_relation(
    id: RelationTypeId,
    property: &DeclaredProperty,
    created_at: RecordTime,
) -> RelationType {
    let key = key_for(&property.iri, property.label.as_deref()).unwrap_or_default();
    RelationType {
        label: label_for(&property.iri),
        iri: Some(property.iri.clone()),
        kind: property.kind,
        temporality: property.temporality.unwrap_or_default(),
        datatype: match property.kind {
            RelationKind::Attribute => property.datatype.or(Some(Datatype::Text)),
            RelationKind::Relation => None,
        },
        ..RelationType::plain(id, &key, created_at)
    }
}

/// What the file says to be true of all claims, beside what the base says.
fn say_axioms(
    relation: &mut RelationType,
    property: &DeclaredProperty,
    left_out: &mut Vec<LeftOut>,
) {
    let (had, said) = (relation.axioms, property.axioms);
    let axioms = &mut relation.axioms;
    axioms.functional |= said.functional;
    axioms.inverse_functional |= said.inverse_functional;
    axioms.transitive |= said.transitive;
    axioms.irreflexive |= said.irreflexive;
    axioms.symmetric |= said.symmetric && !had.asymmetric;
    axioms.asymmetric |= said.asymmetric && !axioms.symmetric;
    if said.symmetric && !axioms.symmetric || said.asymmetric && !axioms.asymmetric {
        let (left, kept) = if axioms.symmetric {
            ("asymmetric", "symmetric")
        } else {
            ("symmetric", "asymmetric")
        };
        let reason = format!("that it is {left}: it is {kept}, and the two rule each other out");
        left_out.push(LeftOut::new(&property.iri, reason));
    }
}
