//! The words that the graph is written in.

use oxrdf::NamedNodeRef;

/// Prefixes that Turtle is shortened by, the most frequent first.
pub(super) const PREFIXES: &[(&str, &str)] = &[
    ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
    ("xsd", "http://www.w3.org/2001/XMLSchema#"),
    ("prov", "http://www.w3.org/ns/prov#"),
    ("utopia", "urn:utopia:ns:"),
    ("schema", "https://schema.org/"),
    ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
    ("owl", "http://www.w3.org/2002/07/owl#"),
];

macro_rules! terms {
    ($($module:ident $space:literal { $($name:ident = $word:literal,)* })*) => {$(
        pub(super) mod $module {
            use super::NamedNodeRef;

            $(pub(in crate::graph) const $name: NamedNodeRef<'static> =
                NamedNodeRef::new_unchecked(concat!($space, $word));)*
        }
    )*};
}

terms! {
    owl "http://www.w3.org/2002/07/owl#" {
        CLASS = "Class",
        DISJOINT_WITH = "disjointWith",
        OBJECT_PROPERTY = "ObjectProperty",
        DATATYPE_PROPERTY = "DatatypeProperty",
        FUNCTIONAL = "FunctionalProperty",
        INVERSE_FUNCTIONAL = "InverseFunctionalProperty",
        TRANSITIVE = "TransitiveProperty",
        SYMMETRIC = "SymmetricProperty",
        ASYMMETRIC = "AsymmetricProperty",
        IRREFLEXIVE = "IrreflexiveProperty",
        INVERSE_OF = "inverseOf",
        SAME_AS = "sameAs",
        DIFFERENT_FROM = "differentFrom",
    }
    prov "http://www.w3.org/ns/prov#" {
        ENTITY = "Entity",
        GENERATED_AT_TIME = "generatedAtTime",
        INVALIDATED_AT_TIME = "invalidatedAtTime",
        WAS_DERIVED_FROM = "wasDerivedFrom",
    }
    schema "https://schema.org/" {
        DATE_PUBLISHED = "datePublished",
        VALID_FROM = "validFrom",
        VALID_THROUGH = "validThrough",
    }
    utopia "urn:utopia:ns:" {
        CALENDAR = "calendar",
        CONFIDENCE = "confidence",
        DATE_TEXT = "dateText",
        ENDED_UNKNOWN = "endedUnknown",
        EVIDENCE_ORIGIN = "evidenceOrigin",
        EXTERNAL_KEY = "externalKey",
        PROPOSED_PREDICATE = "proposedPredicate",
        QUOTE = "quote",
        RANK = "rank",
        RECORDED_OBJECT = "recordedObject",
        RECORDED_SUBJECT = "recordedSubject",
        SUPERSEDES = "supersedes",
        TEMPORAL = "temporal",
        UNIT = "unit",
        VALID_FROM_APPROXIMATE = "validFromApproximate",
        VALID_FROM_LATEST = "validFromLatest",
        VALID_FROM_PRECISION = "validFromPrecision",
        VALID_THROUGH_APPROXIMATE = "validThroughApproximate",
        VALID_THROUGH_EARLIEST = "validThroughEarliest",
        VALID_THROUGH_PRECISION = "validThroughPrecision",
        WORDING = "wording",
    }
}

/// What a bound of a claim's validity is told in.
pub(super) struct BoundTerms {
    pub(super) date: NamedNodeRef<'static>,
    pub(super) precision: NamedNodeRef<'static>,
    /// The other end of the range that the date lies in.
    pub(super) other: NamedNodeRef<'static>,
    pub(super) approximate: NamedNodeRef<'static>,
}

/// Where a claim begins to hold.
pub(super) const FROM: BoundTerms = BoundTerms {
    date: schema::VALID_FROM,
    precision: utopia::VALID_FROM_PRECISION,
    other: utopia::VALID_FROM_LATEST,
    approximate: utopia::VALID_FROM_APPROXIMATE,
};

/// Until where it holds.
pub(super) const THROUGH: BoundTerms = BoundTerms {
    date: schema::VALID_THROUGH,
    precision: utopia::VALID_THROUGH_PRECISION,
    other: utopia::VALID_THROUGH_EARLIEST,
    approximate: utopia::VALID_THROUGH_APPROXIMATE,
};
