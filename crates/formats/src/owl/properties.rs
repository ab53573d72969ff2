//! Relations and attributes: where they lead, and what is true of them.

use std::collections::HashSet;

use model::fact::Temporality;
use model::ontology::declared::DeclaredProperty;
use model::ontology::{Axioms, Datatype, RelationKind};

use super::graph::Id;
use super::vocabulary::{self, Word};
use super::{OwlError, Reader, at_most};

/// The kinds of OWL that are properties which lead somewhere.
const LEADING: [&str; 6] = [
    "ObjectProperty",
    "InverseFunctionalProperty",
    "TransitiveProperty",
    "SymmetricProperty",
    "AsymmetricProperty",
    "IrreflexiveProperty",
];

/// Where a property leads.
#[derive(Debug, Default)]
struct Range {
    kinds: Vec<String>,
    datatype: Option<Datatype>,
}

impl Reader<'_> {
    /// The relations and attributes of the file, in its order. `words` is how many kinds it has.
    pub(super) fn properties(&mut self, words: usize) -> Result<Vec<DeclaredProperty>, OwlError> {
        let graph = self.graph;
        let mut properties = Vec::new();
        for subject in graph.subjects() {
            let kinds = graph.built_in_kinds(subject);
            let Some(iri) = graph.iri(subject).filter(|_| is_property(&kinds)) else {
                continue;
            };
            if vocabulary::is_built_in(iri) || !self.takes_iri(iri) {
                continue;
            }
            at_most(words + properties.len() + 1, self.limits.words, "words")?;
            let found = self.property(subject, iri, &kinds)?;
            properties.extend(found);
        }
        Ok(properties)
    }

    fn property(
        &mut self,
        subject: Id,
        iri: &str,
        kinds: &HashSet<&str>,
    ) -> Result<Option<DeclaredProperty>, OwlError> {
        let range = self.range(subject, iri)?;
        let Some(kind) = self.kind_of(iri, kinds, &range) else {
            return Ok(None);
        };
        let (label, description) = self.texts(subject, iri);
        let mut property = DeclaredProperty {
            iri: iri.to_owned(),
            label,
            description,
            kind,
            temporality: self.temporality(subject, iri),
            axioms: self.axioms(iri, kinds, kind),
            inverse_of: self.one(subject, iri, (Word::InverseOf, "an inverse")),
            sub_property_of: self.one(subject, iri, (Word::SubPropertyOf, "a wider relation")),
            domains: self.kinds_of(
                subject,
                iri,
                ("a domain", [Word::Domain, Word::DomainIncludes]),
            )?,
            same_as: self.same(subject, iri),
            ..DeclaredProperty::default()
        };
        match kind {
            RelationKind::Relation => {
                property.ranges = range.kinds;
                if range.datatype.is_some() {
                    let reason =
                        "that it also leads to values: it is taken as a relation to things";
                    self.leave_out(iri, reason);
                }
            }
            RelationKind::Attribute => {
                property.datatype = Some(range.datatype.unwrap_or(Datatype::Text));
                property.unit = self.unit(subject);
                for kind in range.kinds {
                    let reason =
                        format!("that it also leads to things (<{kind}>): it is an attribute");
                    self.leave_out(iri, reason);
                }
            }
        }
        self.leave_out_the_rest(subject, iri, kinds);
        Ok(Some(property))
    }

    /// Whether a property is a relation or an attribute; none if that cannot be told.
    fn kind_of(&mut self, iri: &str, kinds: &HashSet<&str>, range: &Range) -> Option<RelationKind> {
        let leads = LEADING.iter().any(|kind| kinds.contains(kind));
        match (leads, kinds.contains("DatatypeProperty")) {
            (true, true) => {
                let reason = "it is said to be a relation and an attribute at once";
                self.leave_out(iri, reason);
                return None;
            }
            (true, false) => return Some(RelationKind::Relation),
            (false, true) => return Some(RelationKind::Attribute),
            (false, false) => {}
        }
        if kinds.contains("AnnotationProperty") {
            self.leave_out(
                iri,
                "an annotation property: it says something of words, not of things",
            );
            return None;
        }
        match (range.kinds.is_empty(), range.datatype.is_some()) {
            (false, _) => Some(RelationKind::Relation),
            (true, true) => Some(RelationKind::Attribute),
            (true, false) => {
                let reason =
                    "neither its kind nor its range says whether it leads to things or to values";
                self.leave_out(iri, reason);
                None
            }
        }
    }

    fn axioms(&mut self, iri: &str, kinds: &HashSet<&str>, kind: RelationKind) -> Axioms {
        let said = |name: &str| kinds.contains(name);
        let leads = kind == RelationKind::Relation;
        if !leads && said("InverseFunctionalProperty") {
            let reason = "that it is inverse functional: that is for relations between things";
            self.leave_out(iri, reason);
        }
        Axioms {
            functional: said("FunctionalProperty"),
            inverse_functional: leads && said("InverseFunctionalProperty"),
            transitive: leads && said("TransitiveProperty"),
            symmetric: leads && said("SymmetricProperty"),
            asymmetric: leads && said("AsymmetricProperty"),
            irreflexive: leads && said("IrreflexiveProperty"),
        }
    }

    /// The one other property that is named; more than one, and those without a name, are told.
    fn one(&mut self, subject: Id, iri: &str, (word, what): (Word, &str)) -> Option<String> {
        let graph = self.graph;
        let mut found = None;
        for object in graph.objects(subject, word) {
            match graph.iri(object) {
                Some(other) if vocabulary::is_everything(other) => {}
                Some(other) if found.is_none() => found = Some(other.to_owned()),
                Some(other) => self.leave_out(iri, format!("{what} beside the first, <{other}>")),
                None => {
                    let form = graph.form(object);
                    self.leave_out(iri, format!("{what} without a name ({form})"));
                }
            }
        }
        found
    }

    fn same(&mut self, subject: Id, iri: &str) -> Vec<String> {
        let graph = self.graph;
        let mut same = Vec::new();
        for object in graph.objects(subject, Word::EquivalentProperty) {
            match graph.iri(object) {
                Some(other) => same.push(other.to_owned()),
                None => self.leave_out(iri, "an equal property without a name"),
            }
        }
        same
    }

    /// The kinds of things that are named as domain, those of a union each.
    fn kinds_of(
        &mut self,
        subject: Id,
        iri: &str,
        (what, words): (&str, [Word; 2]),
    ) -> Result<Vec<String>, OwlError> {
        let mut kinds = Vec::new();
        for node in self.parts(subject, iri, (what, words))? {
            match self.graph.iri(node) {
                Some(kind) if vocabulary::is_everything(kind) => {}
                Some(kind) => kinds.push(kind.to_owned()),
                None => {
                    let form = self.graph.form(node);
                    self.leave_out(iri, format!("{what} without a name ({form})"));
                }
            }
        }
        at_most(kinds.len(), self.limits.list, "kinds beside one relation")?;
        Ok(kinds)
    }

    /// Where a property leads: kinds of things, or what its values are.
    fn range(&mut self, subject: Id, iri: &str) -> Result<Range, OwlError> {
        let words = [Word::Range, Word::RangeIncludes];
        let mut range = Range::default();
        let mut datatypes: Vec<Datatype> = Vec::new();
        for node in self.parts(subject, iri, ("a range", words))? {
            match self.graph.iri(node) {
                Some(kind) if vocabulary::is_everything(kind) => {}
                Some(kind) => match self.datatype(node, kind) {
                    Some(datatype) => datatypes.push(datatype),
                    None => range.kinds.push(kind.to_owned()),
                },
                None => datatypes.extend(self.restricted(node, iri)),
            }
        }
        at_most(
            range.kinds.len(),
            self.limits.list,
            "kinds beside one relation",
        )?;
        datatypes.dedup();
        range.datatype = match datatypes.as_slice() {
            [] => None,
            [only] => Some(*only),
            _ => Some(Datatype::Text),
        };
        Ok(range)
    }

    /// What values of a named datatype are; none if the name is of no datatype.
    fn datatype(&self, node: Id, iri: &str) -> Option<Datatype> {
        let declared = || {
            self.graph
                .is_a(node, "http://www.w3.org/2000/01/rdf-schema#Datatype")
        };
        vocabulary::datatype(iri).or_else(|| declared().then_some(Datatype::Text))
    }

    /// A datatype with facets: what it restricts is taken, the facets are told.
    fn restricted(&mut self, node: Id, iri: &str) -> Option<Datatype> {
        let graph = self.graph;
        let mut of = graph
            .objects(node, Word::OnDatatype)
            .filter_map(|of| graph.iri(of));
        let datatype = of.next().and_then(vocabulary::datatype);
        let form = graph.form(node);
        let texts = graph.objects(node, Word::OneOf).next().is_some();
        self.leave_out(
            iri,
            match datatype {
                Some(_) => format!("the bounds of its values ({form})"),
                None => format!("a range without a name ({form})"),
            },
        );
        datatype.or_else(|| {
            (texts && graph.is_a(node, "http://www.w3.org/2000/01/rdf-schema#Datatype"))
                .then_some(Datatype::Text)
        })
    }

    /// The objects of some predicates, with the members of a union in its place.
    fn parts(
        &mut self,
        subject: Id,
        iri: &str,
        (what, words): (&str, [Word; 2]),
    ) -> Result<Vec<Id>, OwlError> {
        let graph = self.graph;
        let mut parts = Vec::new();
        let mut seen = HashSet::new();
        let said = words.iter().flat_map(|&word| graph.objects(subject, word));
        let mut open: Vec<Id> = said.collect();
        open.reverse();
        while let Some(node) = open.pop() {
            if !seen.insert(node) {
                continue;
            }
            let unions: Vec<Id> = if graph.is_blank(node) {
                graph.objects(node, Word::UnionOf).collect()
            } else {
                Vec::new()
            };
            if graph.letters(node).is_some() {
                self.leave_out(iri, format!("{what} that is a text"));
            } else if unions.is_empty() {
                parts.push(node);
            }
            for list in unions {
                let members = graph.list(list, self.limits.list)?;
                open.extend(members.into_iter().rev());
            }
            at_most(seen.len(), self.limits.list, "kinds beside one relation")?;
        }
        Ok(parts)
    }

    fn temporality(&mut self, subject: Id, iri: &str) -> Option<Temporality> {
        let graph = self.graph;
        let said = graph.objects(subject, Word::Temporal).next()?;
        let word = graph.letters(said).unwrap_or_default();
        let known = word.parse().ok();
        if known.is_none() {
            let reason = "how it stands in time, which is none of `state`, `event` and `eternal`";
            self.leave_out(iri, reason);
        }
        known
    }

    fn unit(&self, subject: Id) -> Option<String> {
        let unit = self.graph.text(subject, &[Word::Unit])?.trim();
        (1..=40)
            .contains(&unit.chars().count())
            .then(|| unit.to_owned())
    }

    /// Names what is said of a property that a base has no place for.
    fn leave_out_the_rest(&mut self, subject: Id, iri: &str, kinds: &HashSet<&str>) {
        let says = |word: Word| self.graph.objects(subject, word).next().is_some();
        let told = [
            (
                says(Word::PropertyChain),
                "what follows from a chain (owl:propertyChainAxiom)",
            ),
            (
                says(Word::PropertyDisjointWith),
                "with what it is disjoint (owl:propertyDisjointWith)",
            ),
            (
                kinds.contains("ReflexiveProperty"),
                "that everything has it to itself (owl:ReflexiveProperty)",
            ),
        ];
        for (_, reason) in told.into_iter().filter(|(is_said, _)| *is_said) {
            self.leave_out(iri, reason);
        }
    }
}

fn is_property(kinds: &HashSet<&str>) -> bool {
    let named = [
        "Property",
        "DatatypeProperty",
        "FunctionalProperty",
        "AnnotationProperty",
        "ReflexiveProperty",
    ];
    named
        .iter()
        .chain(&LEADING)
        .any(|kind| kinds.contains(kind))
}
