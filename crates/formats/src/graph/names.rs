//! The IRIs of a base.

use model::{DocumentId, EntityId, FactId, KbId};
use oxrdf::NamedNode;

/// The text cannot be what IRIs begin with.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "must be the beginning of an address such as `https://example.org/`, without characters that an IRI cannot have, not `{0}`"
)]
pub struct NotABase(String);

/// How the things of a base are named: by ids that stay the same from export to export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// What every name begins with, up to the kind.
    prefix: String,
    /// Stands between the kind and the id.
    mark: char,
}

/// Kinds of things that have names of their own, the most frequent first.
const KINDS: [&str; 5] = ["fact", "entity", "relation", "document", "class"];

impl Names {
    /// Names under `urn:utopia:kb:`, or under an address.
    ///
    /// # Errors
    /// If the address is not of the web, or has characters that an IRI cannot have.
    pub fn new(kb: KbId, base: Option<&str>) -> Result<Self, NotABase> {
        let Some(given) = base else {
            return Ok(Self {
                prefix: format!("urn:utopia:kb:{kb}:"),
                mark: ':',
            });
        };
        let refused = || NotABase(given.chars().take(80).collect());
        let base = given.trim().trim_end_matches('/');
        let lower = base.to_ascii_lowercase();
        let place = lower
            .strip_prefix("https://")
            .or_else(|| lower.strip_prefix("http://"));
        // An address with a query or a fragment has no folders below it.
        let is_place = |place: &str| !place.is_empty() && !place.contains(['?', '#']);
        if !place.is_some_and(is_place) {
            return Err(refused());
        }
        let prefix = format!("{base}/kb/{kb}/");
        NamedNode::new(&prefix).map_err(|_| refused())?;
        Ok(Self { prefix, mark: '/' })
    }

    /// Prefixes for Turtle: what the names of each kind begin with.
    pub(super) fn prefixes(&self) -> impl Iterator<Item = (&'static str, String)> {
        let spaces = |kind| (kind, format!("{}{kind}{}", self.prefix, self.mark));
        KINDS.into_iter().map(spaces)
    }

    pub(super) fn entity(&self, id: EntityId) -> NamedNode {
        self.minted("entity", &id)
    }

    pub(super) fn fact(&self, id: FactId) -> NamedNode {
        self.minted("fact", &id)
    }

    pub(super) fn document(&self, id: DocumentId) -> NamedNode {
        self.minted("document", &id)
    }

    /// A kind of thing or of claim: by the IRI it came with, else by its key.
    pub(super) fn word(&self, kind: &str, key: &str, iri: Option<&str>) -> NamedNode {
        let own = iri.and_then(|iri| NamedNode::new(iri).ok());
        own.unwrap_or_else(|| self.minted(kind, &key))
    }

    /// Ids and keys are made of characters that every IRI may have.
    fn minted(&self, kind: &str, id: &dyn std::fmt::Display) -> NamedNode {
        NamedNode::new_unchecked(format!("{}{kind}{}{id}", self.prefix, self.mark))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(base: &str) -> Result<String, NotABase> {
        let kb = KbId::new("0198c5f2-7c1e-7b8a-9f5e-2b1c6a7d8e90".parse().unwrap());
        Names::new(kb, Some(base)).map(|names| names.prefix)
    }

    #[test]
    fn an_address_of_the_web_is_taken_without_its_last_slashes() {
        let under = |place: &str| format!("{place}/kb/0198c5f2-7c1e-7b8a-9f5e-2b1c6a7d8e90/");
        for (given, place) in [
            ("https://example.org/", "https://example.org"),
            ("https://example.org", "https://example.org"),
            (" http://example.org/data// ", "http://example.org/data"),
            ("HTTPS://Example.org:8443/é", "HTTPS://Example.org:8443/é"),
        ] {
            assert_eq!(of(given), Ok(under(place)), "{given}");
        }
    }

    #[test]
    fn what_no_iri_begins_with_is_refused() {
        for given in [
            "",
            "example.org",
            "ftp://example.org/",
            "urn:example",
            "http://",
            "https:///",
            "javascript://example.org/",
            "https://example.org/a b",
            "https://example.org/<x>",
            "https://example.org/\"x",
            "https://example.org/{x}",
            "https://example.org/x|y",
            "https://example.org/x\\y",
            "https://example.org/x^y",
            "https://example.org/x`y",
            "https://example.org/x\ny",
            "https://example.org/\u{0}",
            "https://example.org/%zz",
            "https://example.org/?a=b",
            "https://example.org/#a",
            "https://example.org:port/",
            "https://[1:2/",
        ] {
            assert!(of(given).is_err(), "{given:?} became {:?}", of(given));
        }
    }
}
