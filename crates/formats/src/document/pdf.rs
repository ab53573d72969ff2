//! PDF files with a text layer.
//!
//! The pages are interpreted by `pdf-extract`, which says where each glyph stands; lines,
//! paragraphs and the order of right-to-left text are made here. A page that cannot be
//! interpreted is named, the others are read all the same.

mod line;
mod page;
mod strip;

use std::panic::{AssertUnwindSafe, catch_unwind};

use model::document::ParsedDocument;
use pdf_extract::{Document, Object, output_doc_page};

use self::page::PageText;
use super::outline::Outline;
use super::{DocumentError, Limits, date};

/// Reads a PDF. Pages without text are named in `left_out`.
pub(super) fn parse(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, DocumentError> {
    let mut document = Document::load_mem(bytes)
        .map_err(|error| DocumentError::broken(format!("the PDF cannot be read ({error})")))?;
    if document.is_encrypted() {
        // Most protected files open with the empty password; they only forbid printing.
        document.decrypt("").map_err(|_| DocumentError::Encrypted)?;
    }
    let pages = document.get_pages();
    if pages.len() > limits.pages as usize {
        return Err(DocumentError::Pages {
            found: pages.len() as u64,
            limit: limits.pages,
        });
    }
    if pages.is_empty() {
        return Err(DocumentError::broken("the PDF has no pages"));
    }
    let (title, stated) = information(&document);
    let mut outline = Outline::default();
    let (mut empty, mut unread) = (Vec::new(), Vec::new());
    let mut budget = strip::Budget::new(limits);
    for (&number, &id) in &pages {
        let content = strip::page(&mut document, id, &mut budget)?;
        strip::only_page(&mut document, id);
        let mut text = PageText::default();
        let read = catch_unwind(AssertUnwindSafe(|| {
            output_doc_page(&document, &mut text, 1).is_ok()
        }));
        // The text is out: a long document need not be held unpacked.
        if let Some(content) = content {
            document.objects.remove(&content);
        }
        if !read.unwrap_or(false) {
            unread.push(number);
        }
        let paragraphs = text.paragraphs();
        if paragraphs.is_empty() && unread.last() != Some(&number) {
            empty.push(number);
        }
        for paragraph in paragraphs {
            outline.text(&paragraph);
        }
    }
    if unread.len() == pages.len() {
        return Err(DocumentError::broken("no page of the PDF can be read"));
    }
    let mut left_out = Vec::new();
    left_out.extend(named(&empty, "has no text layer", "have no text layer"));
    left_out.extend(named(
        &unread,
        "could not be read in full",
        "could not be read in full",
    ));
    Ok(ParsedDocument {
        title,
        date: stated,
        sections: outline.finish(),
        left_out,
        ..ParsedDocument::default()
    })
}

/// "page 3 has no text layer", "pages 3-7, 9 have no text layer".
fn named(pages: &[u32], one: &str, many: &str) -> Option<String> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &page in pages {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == page => *last = page,
            _ => ranges.push((page, page)),
        }
    }
    let names: Vec<String> = ranges
        .iter()
        .map(|(from, to)| {
            if from == to {
                from.to_string()
            } else {
                format!("{from}-{to}")
            }
        })
        .collect();
    match pages.len() {
        0 => None,
        1 => Some(format!("page {} {one}", names.join(", "))),
        _ => Some(format!("pages {} {many}", names.join(", "))),
    }
}

/// Title and date of the file's information dictionary.
fn information(document: &Document) -> (Option<String>, Option<model::document::DocumentDate>) {
    let Ok(information) = document.trailer.get(b"Info") else {
        return (None, None);
    };
    let Ok((_, information)) = document.dereference(information) else {
        return (None, None);
    };
    let Ok(information) = information.as_dict() else {
        return (None, None);
    };
    let string = |key: &[u8]| match information
        .get(key)
        .and_then(|value| document.dereference(value))
    {
        Ok((_, Object::String(bytes, _))) => Some(words(bytes)),
        _ => None,
    };
    let title = string(b"Title")
        .map(|title| title.trim().to_owned())
        .filter(|title| !title.is_empty());
    let stated = string(b"CreationDate").or_else(|| string(b"ModDate"));
    (title, date::stated(stated.as_deref().and_then(date::pdf)))
}

/// A text string of a PDF: UTF-16 or UTF-8 with a mark, else (nearly) Latin 1.
fn words(bytes: &[u8]) -> String {
    match encoding_rs::Encoding::for_bom(bytes) {
        Some((encoding, mark)) => encoding
            .decode_without_bom_handling(&bytes[mark..])
            .0
            .into_owned(),
        None => encoding_rs::mem::decode_latin1(bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_without_text_are_named_in_ranges() {
        assert_eq!(named(&[3], "is", "are").as_deref(), Some("page 3 is"));
        assert_eq!(
            named(&[1, 3, 4, 5], "is", "are").as_deref(),
            Some("pages 1, 3-5 are")
        );
        assert_eq!(named(&[], "is", "are"), None);
    }
}
