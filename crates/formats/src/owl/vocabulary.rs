//! The IRIs that mean something to a reader of ontologies.

/// A predicate that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Word {
    Type,
    First,
    Rest,
    SubClassOf,
    SubPropertyOf,
    Domain,
    Range,
    DomainIncludes,
    RangeIncludes,
    Label,
    PrefLabel,
    Comment,
    Definition,
    Description,
    Imports,
    EquivalentClass,
    EquivalentProperty,
    DisjointWith,
    DisjointUnionOf,
    Members,
    UnionOf,
    IntersectionOf,
    ComplementOf,
    OneOf,
    OnProperty,
    OnDatatype,
    HasKey,
    InverseOf,
    PropertyChain,
    PropertyDisjointWith,
    Temporal,
    Unit,
}

const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const RDFS: &str = "http://www.w3.org/2000/01/rdf-schema#";
const OWL: &str = "http://www.w3.org/2002/07/owl#";
const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
const SKOS: &str = "http://www.w3.org/2004/02/skos/core#";
const TERMS: &str = "http://purl.org/dc/terms/";
/// The namespace of what an export says of a base beyond OWL.
const BASE: &str = "urn:utopia:ns:";
const SCHEMA: [&str; 2] = ["https://schema.org/", "http://schema.org/"];

pub(super) const ONTOLOGY: &str = "http://www.w3.org/2002/07/owl#Ontology";
pub(super) const NAMED_INDIVIDUAL: &str = "http://www.w3.org/2002/07/owl#NamedIndividual";
pub(super) const NIL: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#nil";

/// The predicate of this IRI, if it is looked at.
pub(super) fn word(iri: &str) -> Option<Word> {
    let in_space = |space: &str| iri.strip_prefix(space);
    if let Some(name) = in_space(RDF) {
        return match name {
            "type" => Some(Word::Type),
            "first" => Some(Word::First),
            "rest" => Some(Word::Rest),
            _ => None,
        };
    }
    if let Some(name) = in_space(RDFS) {
        return match name {
            "subClassOf" => Some(Word::SubClassOf),
            "subPropertyOf" => Some(Word::SubPropertyOf),
            "domain" => Some(Word::Domain),
            "range" => Some(Word::Range),
            "label" => Some(Word::Label),
            "comment" => Some(Word::Comment),
            _ => None,
        };
    }
    if let Some(name) = in_space(OWL) {
        return of_owl(name);
    }
    if let Some(name) = in_space(SKOS) {
        return match name {
            "prefLabel" => Some(Word::PrefLabel),
            "definition" => Some(Word::Definition),
            _ => None,
        };
    }
    if let Some(name) = in_space(BASE) {
        return match name {
            "temporal" => Some(Word::Temporal),
            "unit" => Some(Word::Unit),
            _ => None,
        };
    }
    match in_space(TERMS).or_else(|| SCHEMA.iter().find_map(|space| iri.strip_prefix(space))) {
        Some("description") if iri.starts_with(TERMS) => Some(Word::Description),
        Some("domainIncludes") => Some(Word::DomainIncludes),
        Some("rangeIncludes") => Some(Word::RangeIncludes),
        _ => None,
    }
}

fn of_owl(name: &str) -> Option<Word> {
    Some(match name {
        "imports" => Word::Imports,
        "equivalentClass" => Word::EquivalentClass,
        "equivalentProperty" => Word::EquivalentProperty,
        "disjointWith" => Word::DisjointWith,
        "disjointUnionOf" => Word::DisjointUnionOf,
        "members" => Word::Members,
        "unionOf" => Word::UnionOf,
        "intersectionOf" => Word::IntersectionOf,
        "complementOf" => Word::ComplementOf,
        "oneOf" => Word::OneOf,
        "onProperty" => Word::OnProperty,
        "onDatatype" => Word::OnDatatype,
        "hasKey" => Word::HasKey,
        "inverseOf" => Word::InverseOf,
        "propertyChainAxiom" => Word::PropertyChain,
        "propertyDisjointWith" => Word::PropertyDisjointWith,
        _ => return None,
    })
}

/// The name of a type in RDF, RDFS or OWL; none for one elsewhere.
pub(super) fn built_in(iri: &str) -> Option<&str> {
    [OWL, RDFS, RDF]
        .iter()
        .find_map(|space| iri.strip_prefix(space))
}

/// Whether an IRI is of RDF, RDFS, OWL or XML Schema.
pub(super) fn is_built_in(iri: &str) -> bool {
    built_in(iri).is_some() || iri.starts_with(XSD)
}

/// Whether everything is of this kind, so that it says nothing.
pub(super) fn is_everything(iri: &str) -> bool {
    matches!(
        built_in(iri),
        Some("Thing" | "Resource" | "topObjectProperty" | "topDataProperty" | "Class")
    )
}

/// What a datatype's values are in a base; none if the IRI is of no datatype that is known.
pub(super) fn datatype(iri: &str) -> Option<model::ontology::Datatype> {
    use model::ontology::Datatype::{Bool, Date, Number, Text};
    if let Some(name) = iri.strip_prefix(XSD) {
        return Some(match name {
            "boolean" => Bool,
            "date" | "dateTime" | "dateTimeStamp" | "gYear" | "gYearMonth" => Date,
            "decimal" | "integer" | "float" | "double" | "long" | "int" | "short" | "byte"
            | "nonNegativeInteger" | "positiveInteger" | "nonPositiveInteger"
            | "negativeInteger" | "unsignedLong" | "unsignedInt" | "unsignedShort"
            | "unsignedByte" => Number,
            _ => Text,
        });
    }
    if let Some(name) = SCHEMA.iter().find_map(|space| iri.strip_prefix(space)) {
        return Some(match name {
            "Boolean" => Bool,
            "Date" | "DateTime" => Date,
            "Number" | "Integer" | "Float" => Number,
            "Text" | "URL" | "Time" | "DataType" | "CssSelectorType" | "PronounceableText"
            | "XPathType" => Text,
            _ => return None,
        });
    }
    match built_in(iri) {
        Some("Literal" | "langString" | "PlainLiteral" | "HTML" | "XMLLiteral") => Some(Text),
        Some("real" | "rational") => Some(Number),
        _ => None,
    }
}
