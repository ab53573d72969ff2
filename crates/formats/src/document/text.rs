//! Plain text: one section without a heading.

use std::borrow::Cow;

use model::document::{ParsedDocument, Section};

use super::{DocumentError, encoding};

/// Reads plain text in any of the known encodings. Line ends become LF; nothing else changes.
pub(super) fn parse(bytes: &[u8]) -> Result<ParsedDocument, DocumentError> {
    let decoded = encoding::decode(bytes)?;
    let body = line_ends(decoded.text).trim().to_owned();
    let sections = if body.is_empty() {
        Vec::new()
    } else {
        vec![Section {
            heading_path: Vec::new(),
            body,
        }]
    };
    Ok(ParsedDocument {
        sections,
        left_out: decoded.left_out,
        ..ParsedDocument::default()
    })
}

/// `text` with every line end as LF.
pub(super) fn line_ends(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        text
    }
}
