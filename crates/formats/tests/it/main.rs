//! Documents as bytes, read as sections: what each format says, and what is refused.

mod build;
mod corpora;
mod damaged;
mod each_format;
mod markdown;
mod refused;

use formats::document::{DocumentError, Format, Limits, parse};
use model::document::ParsedDocument;

/// Parses with the default limits.
fn read(format: Format, bytes: &[u8]) -> Result<ParsedDocument, DocumentError> {
    parse(format, "file", bytes, &Limits::default())
}

/// Sections as "heading / heading: body", for comparing at a glance.
fn told(document: &ParsedDocument) -> Vec<String> {
    let told = document.sections.iter();
    told.map(|section| format!("{}: {}", section.heading_path.join(" / "), section.body))
        .collect()
}
