//! The statements of a file that are looked at, by what they are about.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use oxrdf::{NamedOrBlankNode, Term, Triple};

use super::vocabulary::{self, Word};
use super::{Limits, OwlError};

/// A node of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Node {
    Iri(String),
    Blank(String),
    Text { text: String, language: String },
}

/// The place of a node.
pub(super) type Id = usize;

/// Statements by their subject, each in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: Vec<Rc<Node>>,
    ids: HashMap<Rc<Node>, Id>,
    about: HashMap<Id, Vec<(Word, Id)>>,
    /// Subjects in the order of the file.
    order: Vec<Id>,
    statements: usize,
}

impl Graph {
    /// Keeps a statement if it is one that is looked at.
    ///
    /// # Errors
    /// If there are more than the limits allow.
    pub(super) fn add(&mut self, triple: Triple, limits: &Limits) -> Result<(), OwlError> {
        let Some(word) = vocabulary::word(triple.predicate.as_str()) else {
            return Ok(());
        };
        self.statements += 1;
        if limits.statements < self.statements {
            return Err(OwlError::TooLarge {
                what: "statements about words",
                most: limits.statements,
            });
        }
        let subject = self.id(match triple.subject {
            NamedOrBlankNode::NamedNode(node) => Node::Iri(node.into_string()),
            NamedOrBlankNode::BlankNode(node) => Node::Blank(node.as_str().to_owned()),
        });
        let object = self.id(match triple.object {
            Term::NamedNode(node) => Node::Iri(node.into_string()),
            Term::BlankNode(node) => Node::Blank(node.as_str().to_owned()),
            Term::Literal(literal) => Node::Text {
                language: literal.language().unwrap_or_default().to_ascii_lowercase(),
                text: literal.value().to_owned(),
            },
        });
        let about = self.about.entry(subject).or_insert_with(|| {
            self.order.push(subject);
            Vec::new()
        });
        about.push((word, object));
        Ok(())
    }

    fn id(&mut self, node: Node) -> Id {
        if let Some(&id) = self.ids.get(&node) {
            return id;
        }
        let (node, id) = (Rc::new(node), self.nodes.len());
        self.nodes.push(Rc::clone(&node));
        self.ids.insert(node, id);
        id
    }

    /// What statements are about, in the order of the file.
    pub(super) fn subjects(&self) -> impl Iterator<Item = Id> + '_ {
        self.order.iter().copied()
    }

    /// What is said of a subject, in the order of the file.
    pub(super) fn about(&self, subject: Id) -> &[(Word, Id)] {
        self.about.get(&subject).map_or(&[], Vec::as_slice)
    }

    /// The objects of one predicate, each once.
    pub(super) fn objects(&self, subject: Id, word: Word) -> impl Iterator<Item = Id> + '_ {
        let mut seen = HashSet::new();
        let about = self.about(subject).iter();
        about
            .filter(move |(known, object)| *known == word && seen.insert(*object))
            .map(|(_, object)| *object)
    }

    pub(super) fn iri(&self, id: Id) -> Option<&str> {
        match &*self.nodes[id] {
            Node::Iri(iri) => Some(iri),
            _ => None,
        }
    }

    pub(super) fn is_blank(&self, id: Id) -> bool {
        matches!(&*self.nodes[id], Node::Blank(_))
    }

    /// The letters of a text; none of another node.
    pub(super) fn letters(&self, id: Id) -> Option<&str> {
        match &*self.nodes[id] {
            Node::Text { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Whether a subject is said to be of the kind with this IRI.
    pub(super) fn is_a(&self, subject: Id, kind: &str) -> bool {
        let mut kinds = self.objects(subject, Word::Type);
        kinds.any(|found| self.iri(found) == Some(kind))
    }

    /// The names in RDF, RDFS and OWL of what a subject is said to be.
    pub(super) fn built_in_kinds(&self, subject: Id) -> HashSet<&str> {
        let kinds = self.objects(subject, Word::Type);
        kinds
            .filter_map(|kind| vocabulary::built_in(self.iri(kind)?))
            .collect()
    }

    /// A node as a person is told of it.
    pub(super) fn shown(&self, id: Id) -> String {
        match &*self.nodes[id] {
            Node::Iri(iri) => iri.clone(),
            Node::Blank(_) => self.form(id).to_owned(),
            Node::Text { text, .. } => text.chars().take(80).collect(),
        }
    }

    /// What a node without a name is made as.
    pub(super) fn form(&self, id: Id) -> &'static str {
        if self.letters(id).is_some() {
            return "a text";
        }
        let says = |word: Word| self.about(id).iter().any(|(known, _)| *known == word);
        for (word, form) in [
            (Word::OnProperty, "owl:Restriction"),
            (Word::UnionOf, "owl:unionOf"),
            (Word::IntersectionOf, "owl:intersectionOf"),
            (Word::ComplementOf, "owl:complementOf"),
            (Word::OneOf, "owl:oneOf"),
            (Word::OnDatatype, "owl:onDatatype"),
            (Word::InverseOf, "owl:inverseOf"),
            (Word::First, "a list"),
        ] {
            if says(word) {
                return form;
            }
        }
        "a node without a name"
    }

    /// The members of a list.
    ///
    /// # Errors
    /// If it leads back into itself, forks, or has more members than `most`.
    pub(super) fn list(&self, list: Id, most: usize) -> Result<Vec<Id>, OwlError> {
        let (mut members, mut seen, mut here) = (Vec::new(), HashSet::new(), list);
        while self.iri(here) != Some(vocabulary::NIL) {
            if !seen.insert(here) {
                return Err(OwlError::List("it leads back into itself"));
            }
            let mut firsts = self.objects(here, Word::First);
            let mut rests = self.objects(here, Word::Rest);
            let (Some(first), Some(rest)) = (firsts.next(), rests.next()) else {
                return Err(OwlError::List(
                    "a part of it has no `rdf:first` or no `rdf:rest`",
                ));
            };
            if firsts.next().is_some() || rests.next().is_some() {
                return Err(OwlError::List("it forks"));
            }
            members.push(first);
            if most < members.len() {
                return Err(OwlError::TooLarge {
                    what: "members of one list",
                    most,
                });
            }
            here = rest;
        }
        Ok(members)
    }

    /// The text of the first of these predicates that has one, in the best language: English, then
    /// one that is not said, then the first by its tag.
    pub(super) fn text(&self, subject: Id, words: &[Word]) -> Option<&str> {
        words.iter().find_map(|&word| {
            let texts = self
                .objects(subject, word)
                .filter_map(|id| match &*self.nodes[id] {
                    Node::Text { text, language } => Some((language.as_str(), text.as_str())),
                    _ => None,
                });
            let rank = |language: &str| match language {
                "en" => 0,
                _ if language.starts_with("en-") => 1,
                "" => 2,
                _ => 3,
            };
            // The first of the file where two are equally good.
            let best =
                texts.min_by(|(one, _), (other, _)| (rank(one), one).cmp(&(rank(other), other)));
            best.map(|(_, text)| text)
        })
    }
}
