//! Kinds of things: what is above them, and what they are disjoint with.

use std::collections::HashMap;

use model::ontology::declared::DeclaredClass;

use super::graph::Id;
use super::vocabulary::{self, Word};
use super::{OwlError, Reader, at_most};

impl Reader<'_> {
    /// The kinds of things of the file, in its order.
    pub(super) fn classes(&mut self) -> Result<Vec<DeclaredClass>, OwlError> {
        let graph = self.graph;
        let mut classes = Vec::new();
        let mut places = HashMap::new();
        for subject in graph.subjects() {
            let Some(iri) = graph.iri(subject).filter(|_| self.is_class(subject)) else {
                continue;
            };
            if vocabulary::is_built_in(iri) || !self.takes_iri(iri) {
                continue;
            }
            at_most(classes.len() + 1, self.limits.words, "words")?;
            places.insert(iri.to_owned(), classes.len());
            classes.push(self.class(subject, iri)?);
        }
        self.disjoint_unions(&mut classes, &places)?;
        self.all_disjoint(&mut classes, &places)?;
        Ok(classes)
    }

    /// Whether a subject is said to be a kind of things, or to be below one.
    fn is_class(&self, subject: Id) -> bool {
        let kinds = self.graph.built_in_kinds(subject);
        if kinds.contains("Datatype") || self.is_schema_datatype(subject) {
            return false;
        }
        let is_below = || {
            self.graph
                .objects(subject, Word::SubClassOf)
                .next()
                .is_some()
        };
        kinds.contains("Class") || is_below() && kinds.is_empty()
    }

    /// schema.org's own datatypes are declared as classes.
    fn is_schema_datatype(&self, subject: Id) -> bool {
        let iri = self.graph.iri(subject).unwrap_or_default();
        !vocabulary::is_built_in(iri) && vocabulary::datatype(iri).is_some()
    }

    fn class(&mut self, subject: Id, iri: &str) -> Result<DeclaredClass, OwlError> {
        let graph = self.graph;
        let (label, description) = self.texts(subject, iri);
        let mut class = DeclaredClass {
            iri: iri.to_owned(),
            label,
            description,
            ..DeclaredClass::default()
        };
        for (word, what, list) in [
            (Word::SubClassOf, "a wider kind", &mut class.parents),
            (
                Word::DisjointWith,
                "a disjoint kind",
                &mut class.disjoint_with,
            ),
            (Word::EquivalentClass, "an equal kind", &mut class.same_as),
        ] {
            for object in graph.objects(subject, word) {
                match graph.iri(object) {
                    Some(other) if vocabulary::is_everything(other) => {}
                    Some(other) => list.push(other.to_owned()),
                    None => {
                        let form = graph.form(object);
                        self.leave_out(iri, format!("{what} without a name ({form})"));
                    }
                }
            }
            at_most(list.len(), self.limits.list, "kinds beside one kind")?;
            self.pairs += if word == Word::DisjointWith {
                list.len()
            } else {
                0
            };
        }
        for (word, form) in [
            (Word::UnionOf, "owl:unionOf"),
            (Word::IntersectionOf, "owl:intersectionOf"),
            (Word::ComplementOf, "owl:complementOf"),
            (Word::OneOf, "owl:oneOf"),
            (Word::HasKey, "owl:hasKey"),
        ] {
            if graph.objects(subject, word).next().is_some() {
                self.leave_out(iri, format!("what it is made of ({form})"));
            }
        }
        at_most(self.pairs, self.limits.pairs, "pairs of disjoint kinds")?;
        Ok(class)
    }

    /// A kind that is the disjoint union of others: they are below it and disjoint.
    fn disjoint_unions(
        &mut self,
        classes: &mut [DeclaredClass],
        places: &HashMap<String, usize>,
    ) -> Result<(), OwlError> {
        let graph = self.graph;
        for subject in graph.subjects() {
            for list in graph.objects(subject, Word::DisjointUnionOf) {
                let name = graph.shown(subject);
                let members = self.named_members(list, &name, "owl:disjointUnionOf")?;
                for member in &members {
                    if let (Some(&place), Some(iri)) = (places.get(member), graph.iri(subject))
                        && !classes[place].parents.iter().any(|known| known == iri)
                    {
                        classes[place].parents.push(iri.to_owned());
                    }
                }
                self.make_disjoint(classes, places, (&members, &name))?;
            }
        }
        Ok(())
    }

    fn all_disjoint(
        &mut self,
        classes: &mut [DeclaredClass],
        places: &HashMap<String, usize>,
    ) -> Result<(), OwlError> {
        let graph = self.graph;
        for subject in graph.subjects() {
            if !graph.is_a(subject, "http://www.w3.org/2002/07/owl#AllDisjointClasses") {
                continue;
            }
            for list in graph.objects(subject, Word::Members) {
                let name = "owl:AllDisjointClasses";
                let members = self.named_members(list, name, "it")?;
                self.make_disjoint(classes, places, (&members, name))?;
            }
        }
        Ok(())
    }

    /// Makes kinds disjoint two by two.
    fn make_disjoint(
        &mut self,
        classes: &mut [DeclaredClass],
        places: &HashMap<String, usize>,
        (members, name): (&[String], &str),
    ) -> Result<(), OwlError> {
        self.pairs += members.len() * members.len().saturating_sub(1) / 2;
        at_most(self.pairs, self.limits.pairs, "pairs of disjoint kinds")?;
        for (n, one) in members.iter().enumerate() {
            for other in &members[n + 1..] {
                let (first, second) = match (places.get(one), places.get(other)) {
                    (Some(&place), _) => (place, other),
                    (None, Some(&place)) => (place, one),
                    (None, None) => {
                        let reason =
                            format!("that <{one}> and <{other}> are disjoint: neither is declared");
                        self.leave_out(name, reason);
                        continue;
                    }
                };
                let known = &mut classes[first].disjoint_with;
                if one != other && !known.contains(second) {
                    known.push(second.clone());
                }
            }
        }
        Ok(())
    }
}
