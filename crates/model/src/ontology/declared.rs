//! What an ontology file says, before it is compared with what a base has.

use serde::{Deserialize, Serialize};

use super::{Axioms, Datatype, RelationKind};
use crate::fact::Temporality;

/// The words that a file declares, by their IRIs, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declarations {
    /// The IRI of the ontology itself.
    pub iri: Option<String>,
    /// Its kinds of things.
    pub classes: Vec<DeclaredClass>,
    /// Its relations and attributes.
    pub properties: Vec<DeclaredProperty>,
    /// What the file says and a base has no place for.
    pub left_out: Vec<LeftOut>,
}

/// A kind of thing as a file declares it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredClass {
    /// Its IRI.
    pub iri: String,
    /// Its name for people, in the best language there is.
    pub label: Option<String>,
    /// What it means.
    pub description: Option<String>,
    /// IRIs of the kinds it is a kind of, the primary one first.
    pub parents: Vec<String>,
    /// IRIs of the kinds that nothing of it is also of.
    pub disjoint_with: Vec<String>,
    /// IRIs of kinds that are said to be the same.
    pub same_as: Vec<String>,
}

/// A relation or an attribute as a file declares it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredProperty {
    /// Its IRI.
    pub iri: String,
    /// Its name for people, in the best language there is.
    pub label: Option<String>,
    /// What it means.
    pub description: Option<String>,
    /// Whether it leads to a thing or to a value.
    pub kind: RelationKind,
    /// How its claims stand in time, where the file says so.
    pub temporality: Option<Temporality>,
    /// What is true of all its claims.
    pub axioms: Axioms,
    /// IRI of the relation that says the same from the other end.
    pub inverse_of: Option<String>,
    /// IRI of the wider relation that its claims imply.
    pub sub_property_of: Option<String>,
    /// What its values are, of an attribute.
    pub datatype: Option<Datatype>,
    /// The unit of its values, of an attribute.
    pub unit: Option<String>,
    /// IRIs of the kinds it is said of.
    pub domains: Vec<String>,
    /// IRIs of the kinds it leads to.
    pub ranges: Vec<String>,
    /// IRIs of relations that are said to be the same.
    pub same_as: Vec<String>,
}

/// Something that a file says and that is not taken, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct LeftOut {
    /// The name or the IRI of what it is said of.
    pub name: String,
    /// What is left out of it, and why.
    pub reason: String,
}

impl LeftOut {
    /// What is left out of the thing of that name, and why.
    pub fn new(name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            reason: reason.into(),
        }
    }
}

/// The last part of an IRI: what stands after `#`, else after the last `/` or `:`.
pub fn local_name(iri: &str) -> &str {
    let iri = iri.trim_end_matches(['/', '#']);
    let start = iri
        .rfind('#')
        .or_else(|| iri.rfind('/'))
        .or_else(|| iri.rfind(':'));
    start.map_or(iri, |start| &iri[start + 1..])
}

/// The words of a local name: `worksFor` and `works_for` are two, `ISBNNumber` too.
pub fn words_of(local: &str) -> Vec<String> {
    let letters: Vec<char> = local.chars().collect();
    let mut words = vec![String::new()];
    for (place, &letter) in letters.iter().enumerate() {
        if !letter.is_alphanumeric() {
            words.push(String::new());
            continue;
        }
        let before = place.checked_sub(1).map(|place| letters[place]);
        let after = letters.get(place + 1);
        let is_start = letter.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_numeric()
                    || before.is_uppercase() && after.is_some_and(|after| after.is_lowercase())
            });
        if is_start {
            words.push(String::new());
        }
        words.last_mut().expect("it begins with one").push(letter);
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_local_name_of_an_iri_is_cut_into_words() {
        for (iri, local, words) in [
            ("https://schema.org/worksFor", "worksFor", "works For"),
            (
                "http://www.w3.org/ns/org#OrganizationalUnit",
                "OrganizationalUnit",
                "Organizational Unit",
            ),
            (
                "http://example.org/onto/is_led_by/",
                "is_led_by",
                "is led by",
            ),
            ("urn:example:ISBNNumber", "ISBNNumber", "ISBN Number"),
            (
                "http://purl.example/BFO_0000050",
                "BFO_0000050",
                "BFO 0000050",
            ),
            ("x", "x", "x"),
        ] {
            assert_eq!(local_name(iri), local);
            assert_eq!(words_of(local).join(" "), words);
        }
        assert!(words_of("--").is_empty());
    }
}
