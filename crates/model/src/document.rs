//! A document as text: headings, their bodies, and what could not be read.

use serde::{Deserialize, Serialize};

use crate::WorldTime;

/// What a parser made of a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ParsedDocument {
    /// The media type that the file turned out to be of.
    #[serde(default)]
    pub media_type: Option<String>,
    /// Title from the content or its metadata, if it has one.
    pub title: Option<String>,
    /// The document's date, if its content states one.
    pub date: Option<DocumentDate>,
    /// All text, in reading order. Never a heading without its section.
    pub sections: Vec<Section>,
    /// What was left out, one sentence each ("page 3 has no text layer").
    pub left_out: Vec<String>,
}

/// A heading and the text below it, up to the next heading of any level.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// Headings from the outermost to this section's own; empty before the first heading.
    pub heading_path: Vec<String>,
    /// Markdown text, trimmed at both ends; may be empty under a bare heading.
    pub body: String,
}

/// When a document is from, and how that is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DocumentDate {
    /// The date at the precision stated.
    pub value: WorldTime,
    /// Where it was read.
    pub source: DateSource,
}

/// Where a document's date was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DateSource {
    /// The text itself.
    Content,
    /// A metadata block: front matter, document properties, a mail's header.
    FrontMatter,
    /// The one who sent it said so.
    Source,
    /// The file's time of modification.
    File,
}

impl DateSource {
    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        [
            DateSource::Content,
            DateSource::FrontMatter,
            DateSource::Source,
            DateSource::File,
        ]
        .into_iter()
        .find(|source| source.name() == name)
    }

    /// Its name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            DateSource::Content => "content",
            DateSource::FrontMatter => "front_matter",
            DateSource::Source => "source",
            DateSource::File => "file",
        }
    }
}
