//! The kinds of things of a base, with those of a file among them.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::places::{Places, Word};
use super::{add_all, key_for, label_of_type, set, told_loop, told_other_name};
use crate::ontology::EntityType;
use crate::ontology::declared::{DeclaredClass, LeftOut};
use crate::ontology::hierarchy::{Conflict, Edge, Loop, Pair, settle};
use crate::{EntityTypeId, RecordTime};

/// The kinds of things with those of the file among them.
pub(super) struct Types {
    pub(super) places: Places,
    pub(super) all: Vec<EntityType>,
    pub(super) touched: HashSet<usize>,
    by_id: HashMap<EntityTypeId, usize>,
}

impl Types {
    pub(super) fn place(
        known: &[EntityType],
        classes: &[DeclaredClass],
        left_out: &mut Vec<LeftOut>,
    ) -> Self {
        let mut places = Places::of(known.iter().map(|one| (&*one.key, one.iri.as_deref())));
        let words: Vec<Word<'_>> = classes
            .iter()
            .map(|class| Word {
                iri: &class.iri,
                label: class.label.as_deref(),
                same_as: &class.same_as,
            })
            .collect();
        let iri_of = |place: usize| known.get(place).and_then(|one| one.iri.clone());
        places.declare(&words, &iri_of, &|_, _| Ok(()), left_out);
        Self {
            by_id: known
                .iter()
                .enumerate()
                .map(|(n, one)| (one.id, n))
                .collect(),
            all: known.to_vec(),
            touched: HashSet::new(),
            places,
        }
    }

    /// Writes what the file says into the kinds, new ones first of all.
    pub(super) fn make(
        &mut self,
        classes: &[DeclaredClass],
        (fresh, created_at): (&mut dyn FnMut() -> Uuid, RecordTime),
        left_out: &mut Vec<LeftOut>,
    ) {
        for (n, class) in classes.iter().enumerate() {
            if let Some((place, false)) = self.places.of_declared[n]
                && place == self.all.len()
            {
                let id = EntityTypeId::new(fresh());
                self.by_id.insert(id, place);
                self.all.push(EntityType {
                    id,
                    key: key_for(&class.iri, class.label.as_deref()).unwrap_or_default(),
                    label: label_of_type(&class.iri),
                    description: String::new(),
                    iri: Some(class.iri.clone()),
                    colour: None,
                    parents: Vec::new(),
                    disjoint_with: Vec::new(),
                    created_at,
                });
            }
        }
        for (n, class) in classes.iter().enumerate() {
            let Some((place, is_other_name)) = self.places.of_declared[n] else {
                continue;
            };
            self.link(place, class, left_out);
            if is_other_name {
                left_out.push(told_other_name(&class.iri, &self.all[place].key));
            } else {
                self.name(place, class);
            }
        }
    }

    /// Writes what a kind is called.
    fn name(&mut self, place: usize, class: &DeclaredClass) {
        self.touched.insert(place);
        let kind = &mut self.all[place];
        kind.iri.get_or_insert_with(|| class.iri.clone());
        set(&mut kind.label, class.label.as_deref());
        set(&mut kind.description, class.description.as_deref());
    }

    /// Writes where a kind stands among others.
    fn link(&mut self, place: usize, class: &DeclaredClass, left_out: &mut Vec<LeftOut>) {
        let name = class.iri.as_str();
        let parents = self.resolve(&class.parents, place, (name, "wider kind"), left_out);
        let others = self.resolve(
            &class.disjoint_with,
            place,
            (name, "disjoint kind"),
            left_out,
        );
        let kind = &mut self.all[place];
        add_all(&mut kind.parents, parents);
        add_all(&mut kind.disjoint_with, others.iter().copied());
        // Both ways, as a base keeps it.
        let id = kind.id;
        for other in others {
            let other = self.by_id[&other];
            add_all(&mut self.all[other].disjoint_with, [id]);
        }
    }

    /// The kinds of these IRIs, told of those that are nowhere.
    pub(super) fn resolve(
        &self,
        iris: &[String],
        own: usize,
        (name, what): (&str, &str),
        left_out: &mut Vec<LeftOut>,
    ) -> Vec<EntityTypeId> {
        let mut ids = Vec::new();
        for iri in iris {
            match self.places.by_iri.get(iri) {
                Some(&place) if place == own => {
                    let reason = format!("its {what} is the kind itself");
                    left_out.push(LeftOut::new(name, reason));
                }
                Some(&place) => add_all(&mut ids, [self.all[place].id]),
                None => left_out.push(LeftOut::new(
                    name,
                    format!("its {what} <{iri}> is neither in the file nor in the base"),
                )),
            }
        }
        ids
    }

    /// Takes out what would make a loop, or leave a kind that nothing can be of.
    pub(super) fn settle(&mut self, known: &[EntityType], left_out: &mut Vec<LeftOut>) {
        let place = |id: &EntityTypeId| self.by_id.get(id).copied();
        let (mut edges, mut pairs) = (Vec::new(), Vec::new());
        for (n, kind) in self.all.iter().enumerate() {
            let had = known.get(n);
            let above = kind.parents.iter().enumerate();
            edges.extend(above.filter_map(|(at, id)| {
                Some(Edge {
                    below: n,
                    above: place(id)?,
                    may_go: had.is_none_or(|had| had.parents.len() <= at),
                })
            }));
            let others = kind.disjoint_with.iter();
            pairs.extend(others.filter_map(|id| {
                let other = place(id).filter(|&other| n < other)?;
                let may_go = had.is_none_or(|had| !had.disjoint_with.contains(id));
                Some(Pair {
                    one: n,
                    other,
                    may_go,
                })
            }));
        }
        for conflict in settle(self.all.len(), &edges, &pairs) {
            left_out.push(self.told(&conflict, &edges, &pairs));
            match conflict {
                Conflict::Loop(Loop { edge, .. }) | Conflict::Edge { edge, .. } => {
                    let Edge { below, above, .. } = edges[edge];
                    let gone = self.all[above].id;
                    self.all[below].parents.retain(|id| *id != gone);
                }
                Conflict::Pair { pair, .. } => {
                    let Pair { one, other, .. } = pairs[pair];
                    let (first, second) = (self.all[one].id, self.all[other].id);
                    self.all[one].disjoint_with.retain(|id| *id != second);
                    self.all[other].disjoint_with.retain(|id| *id != first);
                }
            }
        }
    }

    fn told(&self, conflict: &Conflict, edges: &[Edge], pairs: &[Pair]) -> LeftOut {
        let key = |n: usize| self.all[n].key.as_str();
        match conflict {
            Conflict::Loop(found) => told_loop(&found.nodes, key, "kind"),
            Conflict::Pair { pair, below } => {
                let Pair { one, other, .. } = pairs[*pair];
                let (other, below) = (key(other), key(*below));
                let reason = format!("that it is disjoint with `{other}`: `{below}` is of both");
                LeftOut::new(key(one), reason)
            }
            Conflict::Edge { edge, pair, below } => {
                let (edge, pair) = (edges[*edge], pairs[*pair]);
                let reason = format!(
                    "its wider kind `{}`: with it `{}` is of both `{}` and `{}`, which are disjoint",
                    key(edge.above),
                    key(*below),
                    key(pair.one),
                    key(pair.other)
                );
                LeftOut::new(key(edge.below), reason)
            }
        }
    }
}
