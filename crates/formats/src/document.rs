//! The text of a document: headings, their bodies in reading order, and what could not be read.
//!
//! [`Format::detect`] names the format of a file or says why it is refused, [`parse`] reads it.
//! A parser keeps every visible run of characters or names in `left_out` what it dropped; it
//! never guesses a title or a date that the file does not state.

mod archive;
mod csv;
mod date;
mod detect;
mod docx;
mod eml;
mod encoding;
mod epub;
mod error;
mod html;
mod limits;
pub mod links;
mod markdown;
mod odf;
mod omml;
mod ooxml;
mod outline;
mod pdf;
mod pptx;
mod rtf;
mod script;
mod sheet;
mod table;
mod text;
mod xlsx;
mod xml;

use std::panic::{AssertUnwindSafe, catch_unwind};

use model::document::ParsedDocument;

pub use detect::{Format, Refusal};
pub use error::DocumentError;
pub use limits::Limits;

/// Reads `bytes` as `format`. The file's name only ever appears in messages.
///
/// Memory follows the bytes of the file and the text found in it, never the sizes a file claims;
/// run it in a process with limited memory and time all the same.
///
/// # Errors
/// What is wrong with the file, or which of the `limits` it passes. A parser that panics on a
/// broken file answers [`DocumentError::Broken`].
pub fn parse(
    format: Format,
    filename: &str,
    bytes: &[u8],
    limits: &Limits,
) -> Result<ParsedDocument, DocumentError> {
    // The PDF reader panics on damaged files; a broken document is the sender's error, not ours.
    let parsed = catch_unwind(AssertUnwindSafe(|| match format {
        Format::Markdown => markdown::parse(bytes),
        Format::Text => text::parse(bytes),
        Format::Html => html::parse(bytes),
        Format::Docx => docx::parse(bytes, limits),
        Format::Pdf => pdf::parse(bytes, limits),
        Format::Csv => csv::parse(filename, bytes),
        Format::Xlsx => xlsx::parse(bytes, limits),
        Format::Pptx => pptx::parse(bytes, limits),
        Format::Odt => odf::text(bytes, limits),
        Format::Ods => odf::spreadsheet(bytes, limits),
        Format::Odp => odf::presentation(bytes, limits),
        Format::Eml => eml::parse(bytes),
        Format::Epub => epub::parse(bytes, limits),
        Format::Rtf => rtf::parse(bytes),
    }));
    let mut parsed = parsed.unwrap_or_else(|_| {
        Err(DocumentError::Broken(format!(
            "`{filename}` is not a well formed {}",
            format.name()
        )))
    })?;
    parsed.media_type = Some(format.media_type().to_owned());
    Ok(parsed)
}
