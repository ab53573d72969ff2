//! A base as an RDF graph: reified statements with their evidence and both clocks, beside the
//! plain triples of what holds now.
//!
//! Both formats write the same triples, subject by subject, so nothing but the writer's present
//! subject is kept in memory. There are no blank nodes: two exports can be compared line by line.
//! See docs/decisions/0015.

mod literal;
mod names;
mod terms;
mod words;
mod writer;

use model::fact::{Bound, End, Fact, Object, Rank, Validity};
use model::{DocumentId, EntityId, EntityTypeId, FactId, RecordTime, RelationTypeId, WorldTime};
use oxrdf::vocab::{rdf, rdfs};
use oxrdf::{NamedNodeRef, Term};

pub use names::{Names, NotABase};
pub use words::Words;

use terms::{owl, prov, schema, utopia};
use writer::Writer;

/// How a graph is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Turtle (W3C Recommendation of 2014).
    Turtle,
    /// JSON-LD 1.1, expanded, in the order of Streaming JSON-LD.
    JsonLd,
}

impl Format {
    /// Its media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Format::Turtle => "text/turtle",
            Format::JsonLd => "application/ld+json",
        }
    }

    /// How names of its files end.
    pub const fn extension(self) -> &'static str {
        match self {
            Format::Turtle => "ttl",
            Format::JsonLd => "jsonld",
        }
    }
}

/// A thing, as the reader may see it.
#[derive(Debug, Clone, Copy)]
pub struct Thing<'a> {
    /// Its id.
    pub id: EntityId,
    /// Its name, if the reader may see one.
    pub name: Option<&'a str>,
    /// What kind it is said to be now.
    pub kind: Option<EntityTypeId>,
    /// The entity that stands for it now, if that is another.
    pub canonical: Option<EntityId>,
    /// Things that it was said not to be.
    pub different_from: &'a [EntityId],
}

/// A document, as the reader may see it.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its id.
    pub id: DocumentId,
    /// Its file name and what its sender knows it by; none once it was purged.
    pub named: Option<(&'a str, &'a str)>,
    /// Its date, where its own text or its sender gives one.
    pub date: Option<WorldTime>,
    /// When it was added.
    pub created_at: RecordTime,
    /// When it was deleted.
    pub deleted_at: Option<RecordTime>,
}

/// A claim with all that is told beside it, as far as the reader may see it.
#[derive(Debug, Clone, Copy)]
pub struct Statement<'a> {
    /// The claim as it was recorded.
    pub fact: &'a Fact,
    /// What it is about, as that is known now.
    pub subject: EntityId,
    /// What it leads to, as that is known now.
    pub object: Option<EntityId>,
    /// The claim that it took the place of.
    pub supersedes: Option<FactId>,
    /// Whether it is held now and holds now.
    pub holds_now: bool,
    /// The documents that it rests on, each once.
    pub documents: &'a [DocumentId],
    /// The quotes that it rests on, each with its origin.
    pub quotes: &'a [(&'a str, &'a str)],
    /// Details on it.
    pub details: &'a [(RelationTypeId, Object)],
}

/// A graph that is being written.
pub struct Graph {
    writer: Writer,
    names: Names,
    words: Words,
    triples: u64,
}

impl Graph {
    /// Begins a graph.
    pub fn new(format: Format, names: Names, words: Words) -> Self {
        Self {
            writer: Writer::new(format, &names),
            names,
            words,
            triples: 0,
        }
    }

    /// Triples so far.
    pub const fn triples(&self) -> u64 {
        self.triples
    }

    /// The bytes that are written and were not taken yet.
    pub fn take(&mut self) -> Vec<u8> {
        self.writer.take()
    }

    /// Bytes that wait to be taken.
    pub fn waiting(&self) -> usize {
        self.writer.waiting()
    }

    /// Ends the graph; its last bytes.
    pub fn finish(self) -> Vec<u8> {
        self.writer.finish()
    }

    /// Writes what the base has words for.
    pub fn words(&mut self) {
        let words = std::mem::take(&mut self.words);
        words.declare(|subject, predicate, object| self.triple(subject, predicate, object));
        self.words = words;
    }

    /// Writes a thing.
    pub fn thing(&mut self, thing: &Thing<'_>) {
        let iri = self.names.entity(thing.id);
        let iri = iri.as_ref();
        if let Some(name) = thing.name {
            self.triple(iri, rdfs::LABEL, literal::text(name));
        }
        let kind = thing.kind.and_then(|kind| self.words.class(kind)).cloned();
        if let Some(kind) = kind {
            self.triple(iri, rdf::TYPE, kind);
        }
        if let Some(canonical) = thing.canonical {
            let canonical = self.names.entity(canonical);
            self.triple(iri, owl::SAME_AS, canonical);
        }
        for &other in thing.different_from {
            let other = self.names.entity(other);
            self.triple(iri, owl::DIFFERENT_FROM, other);
        }
    }

    /// Writes a document.
    pub fn source(&mut self, source: &Source<'_>) {
        let iri = self.names.document(source.id);
        let iri = iri.as_ref();
        self.triple(iri, rdf::TYPE, prov::ENTITY.into_owned());
        if let Some((filename, key)) = source.named {
            self.triple(iri, rdfs::LABEL, literal::text(filename));
            self.triple(iri, utopia::EXTERNAL_KEY, literal::text(key));
        }
        if let Some(date) = source.date {
            self.triple(iri, schema::DATE_PUBLISHED, literal::date(date));
        }
        self.life(iri, source.created_at, source.deleted_at);
    }

    /// Writes a claim: the statement about it and, where it holds now, the plain triple.
    pub fn statement(&mut self, statement: &Statement<'_>) {
        let fact = statement.fact;
        let iri = self.names.fact(fact.id);
        let iri = iri.as_ref();
        let predicate = fact.predicate.and_then(|id| self.words.property(id));
        let predicate = predicate.map(|property| property.iri.clone());
        let subject = self.names.entity(statement.subject);
        let object = self.object(fact, statement.object);

        self.triple(iri, rdf::TYPE, rdf::STATEMENT.into_owned());
        self.triple(iri, rdf::SUBJECT, subject.clone());
        match (&predicate, &fact.wording) {
            (Some(predicate), _) => self.triple(iri, rdf::PREDICATE, predicate.clone()),
            (None, Some(words)) => {
                self.triple(iri, utopia::PROPOSED_PREDICATE, literal::text(words));
            }
            (None, None) => {}
        }
        self.triple(iri, rdf::OBJECT, object.clone());
        self.as_recorded(iri, statement);
        self.validity(iri, fact.validity);
        self.life(iri, fact.recorded_at, fact.invalidated_at);
        self.triple(
            iri,
            utopia::CONFIDENCE,
            literal::confidence(fact.confidence),
        );
        if fact.rank != Rank::Normal {
            self.triple(iri, utopia::RANK, literal::text(fact.rank.name()));
        }
        if let Some(former) = statement.supersedes {
            let former = self.names.fact(former);
            self.triple(iri, utopia::SUPERSEDES, former);
        }
        self.evidence(iri, statement);
        self.details(iri, statement.details);

        if let (true, Some(predicate)) = (statement.holds_now, predicate) {
            self.triple(subject.as_ref(), predicate.as_ref(), object);
        }
    }

    /// The object of a claim: the thing as it is known now, or the value.
    fn object(&self, fact: &Fact, known_as: Option<EntityId>) -> Term {
        match &fact.object {
            Object::Entity(id) => self.names.entity(known_as.unwrap_or(*id)).into(),
            Object::Value(value) => {
                let property = fact.predicate.and_then(|id| self.words.property(id));
                literal::value(&value.value, property.and_then(|known| known.datatype)).into()
            }
        }
    }

    /// What the source said in its own words, and of whom before things were found to be one.
    fn as_recorded(&mut self, iri: NamedNodeRef<'_>, statement: &Statement<'_>) {
        let fact = statement.fact;
        if statement.subject != fact.subject {
            let recorded = self.names.entity(fact.subject);
            self.triple(iri, utopia::RECORDED_SUBJECT, recorded);
        }
        match (&fact.object, statement.object) {
            (Object::Entity(id), Some(known)) if *id != known => {
                let recorded = self.names.entity(*id);
                self.triple(iri, utopia::RECORDED_OBJECT, recorded);
            }
            _ => {}
        }
        if let Object::Value(value) = &fact.object
            && let Some(unit) = &value.unit
        {
            self.triple(iri, utopia::UNIT, literal::text(unit));
        }
        if let (Some(_), Some(words)) = (fact.predicate, &fact.wording) {
            self.triple(iri, utopia::WORDING, literal::text(words));
        }
        if let Some(text) = &fact.date_text {
            self.triple(iri, utopia::DATE_TEXT, literal::text(text));
        }
        if let Some(calendar) = &fact.calendar {
            self.triple(iri, utopia::CALENDAR, literal::text(calendar));
        }
    }

    fn validity(&mut self, iri: NamedNodeRef<'_>, validity: Validity) {
        if let Some(from) = validity.from {
            self.bound(iri, from.earliest(), from, &terms::FROM);
        }
        match validity.to {
            End::Open => {}
            End::Unknown => self.triple(iri, utopia::ENDED_UNKNOWN, literal::truth(true)),
            End::On(to) => self.bound(iri, to.latest(), to, &terms::THROUGH),
        }
    }

    /// A bound by the date it is known by, and how exactly it is known.
    fn bound(
        &mut self,
        iri: NamedNodeRef<'_>,
        date: WorldTime,
        bound: Bound,
        terms: &terms::BoundTerms,
    ) {
        self.triple(iri, terms.date, literal::date(date));
        if let Some(precision) = literal::precision_below_day(date) {
            self.triple(iri, terms.precision, literal::text(precision));
        }
        if bound.earliest() != bound.latest() {
            let other = if date == bound.earliest() {
                bound.latest()
            } else {
                bound.earliest()
            };
            self.triple(iri, terms.other, literal::date(other));
        }
        if bound.approximate {
            self.triple(iri, terms.approximate, literal::truth(true));
        }
    }

    /// The record-time life of a thing that the base holds.
    fn life(&mut self, iri: NamedNodeRef<'_>, from: RecordTime, to: Option<RecordTime>) {
        self.triple(iri, prov::GENERATED_AT_TIME, literal::moment(from));
        if let Some(to) = to {
            self.triple(iri, prov::INVALIDATED_AT_TIME, literal::moment(to));
        }
    }

    fn evidence(&mut self, iri: NamedNodeRef<'_>, statement: &Statement<'_>) {
        for &document in statement.documents {
            let document = self.names.document(document);
            self.triple(iri, prov::WAS_DERIVED_FROM, document);
        }
        // A set of triples holds each once.
        let mut seen: Vec<&str> = Vec::new();
        for &(quote, _) in statement.quotes {
            if !quote.is_empty() && !seen.contains(&quote) {
                seen.push(quote);
                self.triple(iri, utopia::QUOTE, literal::text(quote));
            }
        }
        seen.clear();
        for &(_, origin) in statement.quotes {
            if !seen.contains(&origin) {
                seen.push(origin);
                self.triple(iri, utopia::EVIDENCE_ORIGIN, literal::text(origin));
            }
        }
    }

    fn details(&mut self, iri: NamedNodeRef<'_>, details: &[(RelationTypeId, Object)]) {
        for (kind, object) in details {
            let Some(property) = self.words.property(*kind) else {
                continue;
            };
            let (predicate, datatype) = (property.iri.clone(), property.datatype);
            let object: Term = match object {
                Object::Entity(id) => self.names.entity(*id).into(),
                Object::Value(value) => literal::value(&value.value, datatype).into(),
            };
            self.triple(iri, predicate.as_ref(), object);
        }
    }

    fn triple(
        &mut self,
        subject: NamedNodeRef<'_>,
        predicate: NamedNodeRef<'_>,
        object: impl Into<Term>,
    ) {
        self.triples += 1;
        self.writer.triple(subject, predicate, &object.into());
    }
}
