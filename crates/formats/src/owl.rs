//! The words of an ontology file, in Turtle or RDF/XML: kinds of things, relations, attributes.
//!
//! [`read()`] takes what OWL, RDFS, SKOS and schema.org say in ways that a base has a place for,
//! and names all else that it comes upon in what it left out. Nothing is fetched: an import is
//! named. Files come from strangers: every bound is one of [`Limits`], and an XML file may declare
//! only entities that are plain text.

mod classes;
mod error;
mod graph;
mod properties;
mod syntax;
mod vocabulary;

use model::ontology::declared::{Declarations, LeftOut};

pub use error::OwlError;
use graph::Graph;
use vocabulary::Word;

/// How much a file may ask of its reader. What passes it is refused by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the file.
    pub bytes: usize,
    /// Statements that are looked at; others, such as those of individuals, are not kept.
    pub statements: usize,
    /// Kinds, relations and attributes together.
    pub words: usize,
    /// Levels of elements in XML.
    pub depth: usize,
    /// Kinds directly above a kind, domains and ranges of a relation, members of a list.
    pub list: usize,
    /// Pairs of kinds that are disjoint.
    pub pairs: usize,
    /// Things named in `left_out`; the rest is counted.
    pub left_out: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 32 << 20,
            statements: 500_000,
            words: 10_000,
            depth: 200,
            list: 1_000,
            pairs: 100_000,
            left_out: 5_000,
        }
    }
}

/// Longest IRI that is taken, in bytes.
const IRI_BYTES_MAX: usize = 2_000;

/// Reads what a file declares. `base` is what its relative IRIs are relative to, where the file
/// does not say so itself.
///
/// # Errors
/// What is wrong with the file, or which of the `limits` it passes.
pub fn read(bytes: &[u8], base: Option<&str>, limits: &Limits) -> Result<Declarations, OwlError> {
    if limits.bytes < bytes.len() {
        return Err(OwlError::TooLarge {
            what: "bytes",
            most: limits.bytes,
        });
    }
    let graph = syntax::graph_of(bytes, base, limits)?;
    let mut reader = Reader {
        graph: &graph,
        limits,
        left_out: Vec::new(),
        pairs: 0,
    };
    reader.declarations()
}

/// Refuses a file with more of something than is read.
fn at_most(count: usize, most: usize, what: &'static str) -> Result<(), OwlError> {
    if most < count {
        return Err(OwlError::TooLarge { what, most });
    }
    Ok(())
}

/// Reads declarations out of a graph.
struct Reader<'a> {
    graph: &'a Graph,
    limits: &'a Limits,
    left_out: Vec<LeftOut>,
    /// Disjoint pairs so far.
    pairs: usize,
}

impl Reader<'_> {
    fn declarations(&mut self) -> Result<Declarations, OwlError> {
        let classes = self.classes()?;
        let properties = self.properties(classes.len())?;
        self.individuals();
        let iri = self.header();
        let mut left_out = std::mem::take(&mut self.left_out);
        if self.limits.left_out < left_out.len() {
            let more = left_out.len() - self.limits.left_out;
            left_out.truncate(self.limits.left_out);
            left_out.push(LeftOut::new("and more", format!("{more} other things")));
        }
        Ok(Declarations {
            iri,
            classes,
            properties,
            left_out,
        })
    }

    /// The IRI of the ontology; what it imports is named.
    fn header(&mut self) -> Option<String> {
        let graph = self.graph;
        let mut found = None;
        for subject in graph.subjects() {
            if !graph.is_a(subject, vocabulary::ONTOLOGY) {
                continue;
            }
            found = found.or_else(|| graph.iri(subject).map(str::to_owned));
            for import in graph.objects(subject, Word::Imports) {
                let reason =
                    "it is named by owl:imports and not fetched; import its file by itself";
                self.leave_out(graph.shown(import), reason);
            }
        }
        found
    }

    /// Things that are of a kind of the file: a base's things come another way.
    fn individuals(&mut self) {
        let graph = self.graph;
        let is_individual = |subject: &graph::Id| {
            let mut kinds = graph
                .objects(*subject, Word::Type)
                .filter_map(|kind| graph.iri(kind));
            graph.iri(*subject).is_some()
                && kinds.any(|kind| {
                    kind == vocabulary::NAMED_INDIVIDUAL || !vocabulary::is_built_in(kind)
                })
        };
        let all: Vec<graph::Id> = graph.subjects().filter(is_individual).collect();
        if all.is_empty() {
            return;
        }
        let mut names: Vec<&str> = all
            .iter()
            .take(5)
            .filter_map(|&one| graph.iri(one))
            .collect();
        if names.len() < all.len() {
            names.push("…");
        }
        let reason = format!(
            "{} individuals, which are no words: {}",
            all.len(),
            names.join(", ")
        );
        self.leave_out("individuals", reason);
    }

    fn leave_out(&mut self, name: impl Into<String>, reason: impl Into<String>) {
        self.left_out.push(LeftOut::new(name, reason));
    }

    /// Whether an IRI is one that is taken.
    fn takes_iri(&mut self, iri: &str) -> bool {
        let fits = iri.len() <= IRI_BYTES_MAX;
        if !fits {
            let shown: String = iri.chars().take(80).collect();
            let reason = format!("its IRI is longer than {IRI_BYTES_MAX} bytes");
            self.leave_out(format!("{shown}…"), reason);
        }
        fits
    }

    /// The named members of a list, told of those that have no name.
    fn named_members(
        &mut self,
        list: graph::Id,
        name: &str,
        what: &str,
    ) -> Result<Vec<String>, OwlError> {
        let members = self.graph.list(list, self.limits.list)?;
        let mut named = Vec::new();
        for member in members {
            if let Some(iri) = self.graph.iri(member) {
                named.push(iri.to_owned());
                continue;
            }
            let form = self.graph.form(member);
            self.leave_out(
                name,
                format!("a member of {what} that has no name ({form})"),
            );
        }
        Ok(named)
    }

    /// The label and the description of a word.
    fn texts(&mut self, subject: graph::Id, name: &str) -> (Option<String>, Option<String>) {
        /// Longest description that is taken, in characters.
        const DESCRIPTION_CHARS_MAX: usize = 10_000;
        let label = self.graph.text(subject, &[Word::Label, Word::PrefLabel]);
        let label = label.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
        let mut label = label.filter(|label| !label.is_empty());
        if label
            .as_ref()
            .is_some_and(|label| model::ontology::import::LABEL_CHARS_MAX < label.chars().count())
        {
            let most = model::ontology::import::LABEL_CHARS_MAX;
            self.leave_out(
                name,
                format!("its label, which is longer than {most} characters"),
            );
            label = None;
        }
        let words = [Word::Comment, Word::Definition, Word::Description];
        let text = self.graph.text(subject, &words);
        let mut text = text
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty());
        if text
            .as_ref()
            .is_some_and(|text| DESCRIPTION_CHARS_MAX < text.chars().count())
        {
            let most = DESCRIPTION_CHARS_MAX;
            self.leave_out(
                name,
                format!("its comment, which is longer than {most} characters"),
            );
            text = None;
        }
        (label, text)
    }
}

#[cfg(test)]
mod tests;
