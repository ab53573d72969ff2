//! What is wrong with an ontology file.

/// Why a file is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OwlError {
    /// It is in no syntax that is read.
    #[error("the file is {found}; only Turtle and RDF/XML are read")]
    Syntax {
        /// What it looks like.
        found: &'static str,
    },
    /// It is not text in UTF-8.
    #[error("the file is not UTF-8 at byte {at}; save it as UTF-8")]
    NotUtf8 {
        /// The first byte that is not.
        at: usize,
    },
    /// It does not follow its syntax.
    #[error("the file is no well-formed {syntax}: {fault}")]
    Broken {
        /// The syntax it is in.
        syntax: &'static str,
        /// What is wrong, and where.
        fault: String,
    },
    /// It has relative IRIs and does not say to what.
    #[error(
        "the file has relative IRIs and does not say what they are relative to; give `base_iri`"
    )]
    NoBase,
    /// What relative IRIs are to be relative to is no IRI.
    #[error("`base_iri` must be an absolute IRI such as `http://example.org/words`")]
    BadBase,
    /// It has more of something than is read.
    #[error("the file has more than {most} {what}")]
    TooLarge {
        /// Of what.
        what: &'static str,
        /// How many are read.
        most: usize,
    },
    /// Its XML declares an entity that is more than a piece of text.
    #[error("the file declares the entity `{name}`, {fault}")]
    Entity {
        /// Its name.
        name: String,
        /// Why it is not taken.
        fault: &'static str,
    },
    /// A list leads back into itself, or forks.
    #[error("the file has a list that is none: {0}")]
    List(&'static str),
}
