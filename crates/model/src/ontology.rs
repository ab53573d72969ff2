//! What a base has words for: kinds of things, and kinds of claims about them.

pub mod declared;
pub mod hierarchy;
pub mod import;
pub mod misfit;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::fact::Temporality;
use crate::holds::Reading;
use crate::named::named;
use crate::{EntityTypeId, KbId, RecordTime, RelationTypeId};

/// Whether a claim leads to another thing or to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum RelationKind {
    /// Leads from one thing to another.
    #[default]
    Relation,
    /// Gives a thing a value.
    Attribute,
}
named! { RelationKind { Relation = "relation", Attribute = "attribute" } }

/// What the values of an attribute are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Datatype {
    /// Words.
    Text,
    /// A number.
    Number,
    /// A date at any precision, as text.
    Date,
    /// `true` or `false`.
    Bool,
}
named! { Datatype { Text = "text", Number = "number", Date = "date", Bool = "bool" } }

/// A kind of thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityType {
    /// Its id.
    pub id: EntityTypeId,
    /// Its short name: `a-z`, `0-9` and `_`, at most 40; one of a kind in the base.
    pub key: String,
    /// Its name for people.
    pub label: String,
    /// What it means.
    pub description: String,
    /// The IRI it was imported under.
    pub iri: Option<String>,
    /// A colour such as `#4a7fb5`.
    pub colour: Option<String>,
    /// The kinds it is a kind of, the primary one first.
    pub parents: Vec<EntityTypeId>,
    /// The kinds that nothing of it is also of.
    pub disjoint_with: Vec<EntityTypeId>,
    /// When it was added.
    pub created_at: RecordTime,
}

/// A kind of claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationType {
    /// Its id.
    pub id: RelationTypeId,
    /// Its short name: `a-z`, `0-9` and `_`, at most 40; one of a kind in the base.
    pub key: String,
    /// Its name for people.
    pub label: String,
    /// What it means.
    pub description: String,
    /// The IRI it was imported under.
    pub iri: Option<String>,
    /// Whether it leads to a thing or to a value.
    pub kind: RelationKind,
    /// How its claims stand in time.
    pub temporality: Temporality,
    /// What is true of all its claims.
    pub axioms: Axioms,
    /// The relation that says the same from the other end.
    pub inverse_of: Option<RelationTypeId>,
    /// The wider relation that its claims imply.
    pub sub_property_of: Option<RelationTypeId>,
    /// What its values are, of an attribute.
    pub datatype: Option<Datatype>,
    /// The unit of its values, of an attribute.
    pub unit: Option<String>,
    /// Kinds of things it is said of; a guide that drops nothing.
    pub domains: Vec<EntityTypeId>,
    /// Kinds of things it leads to; a guide that drops nothing.
    pub ranges: Vec<EntityTypeId>,
    /// The attributes that its claims may carry.
    pub qualifiers: Vec<RelationTypeId>,
    /// When it was added.
    pub created_at: RecordTime,
}

/// What is true of all claims of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(inline)]
pub struct Axioms {
    /// A subject has one value at a time.
    pub functional: bool,
    /// An object has one subject at a time.
    pub inverse_functional: bool,
    /// From a to b and from b to c: from a to c.
    pub transitive: bool,
    /// From a to b: from b to a.
    pub symmetric: bool,
    /// From a to b: never from b to a.
    pub asymmetric: bool,
    /// Never from a to a.
    pub irreflexive: bool,
}

impl RelationType {
    /// Key of the attribute that names are claims of.
    pub const KNOWN_AS: &str = "known_as";

    /// The attribute that names are claims of, the same in every base but for its id.
    pub fn known_as(kb: KbId, created_at: RecordTime) -> Self {
        Self {
            label: "known as".to_owned(),
            description: "A name that the thing goes by.".to_owned(),
            kind: RelationKind::Attribute,
            datatype: Some(Datatype::Text),
            ..Self::plain(Self::known_as_id(kb), Self::KNOWN_AS, created_at)
        }
    }

    /// A state between things, labelled by its key, of which nothing more is said.
    pub fn plain(id: RelationTypeId, key: &str, created_at: RecordTime) -> Self {
        Self {
            id,
            key: key.to_owned(),
            label: key.to_owned(),
            description: String::new(),
            iri: None,
            kind: RelationKind::Relation,
            temporality: Temporality::State,
            axioms: Axioms::default(),
            inverse_of: None,
            sub_property_of: None,
            datatype: None,
            unit: None,
            domains: Vec::new(),
            ranges: Vec::new(),
            qualifiers: Vec::new(),
            created_at,
        }
    }

    /// The id of [`RelationType::known_as`] in a base.
    pub fn known_as_id(kb: KbId) -> RelationTypeId {
        RelationTypeId::new(Uuid::new_v5(&kb.uuid(), Self::KNOWN_AS.as_bytes()))
    }

    /// How its claims are read.
    pub const fn reading(&self) -> Reading {
        Reading {
            temporality: self.temporality,
            single_valued: self.axioms.functional,
        }
    }
}

/// A key for a label: its letters and digits in lower case, words joined by `_`, at most 40.
pub fn key_of(label: &str) -> String {
    let mut key = String::new();
    for letter in deunicode(label).chars() {
        match letter.to_ascii_lowercase() {
            letter @ ('a'..='z' | '0'..='9') => key.push(letter),
            _ if !key.is_empty() && !key.ends_with('_') => key.push('_'),
            _ => {}
        }
    }
    key.truncate(40);
    key.trim_end_matches('_').to_owned()
}

/// Marks taken off letters; letters of other scripts stay and make no key.
fn deunicode(label: &str) -> String {
    use unicode_normalization::UnicodeNormalization;
    label
        .nfkd()
        .filter(|letter| !unicode_normalization::char::is_combining_mark(*letter))
        .collect()
}

/// Whether a text can be a key.
pub fn is_key(text: &str) -> bool {
    (1..=40).contains(&text.len())
        && text
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_makes_a_key() {
        assert_eq!(key_of("Works at"), "works_at");
        assert_eq!(
            key_of("  Chargé d’affaires (ad interim) "),
            "charge_d_affaires_ad_interim"
        );
        assert_eq!(key_of("首都"), "");
        assert!(is_key("works_at") && !is_key("Works") && !is_key(""));
    }
}
