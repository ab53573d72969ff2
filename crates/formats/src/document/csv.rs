//! Values apart by commas, semicolons, tabs or bars: one table, a line a record.

use csv::ReaderBuilder;
use model::document::{ParsedDocument, Section};

use super::{DocumentError, encoding, table};

/// Lines looked at to tell the delimiter.
const SAMPLE_LINES: usize = 50;

/// Reads a table whose first record is its head. Records may differ in length.
pub(super) fn parse(filename: &str, bytes: &[u8]) -> Result<ParsedDocument, DocumentError> {
    let decoded = encoding::decode(bytes)?;
    let (hint, source) = stated_delimiter(&decoded.text);
    let delimiter = hint.unwrap_or_else(|| delimiter(filename, source));
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .has_headers(false)
        .from_reader(source.as_bytes());
    // A longer record anywhere widens the head: Markdown drops cells beyond it.
    let mut columns = 0;
    let mut record = csv::ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(broken)? {
        columns = columns.max(record.len());
    }
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .has_headers(false)
        .from_reader(source.as_bytes());
    let mut body = String::with_capacity(source.len() + source.len() / 4);
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(broken)? {
        if record.iter().all(|value| value.trim().is_empty()) {
            continue;
        }
        let first = body.is_empty();
        if !first {
            body.push('\n');
        }
        table::row_into(&mut body, record.iter(), if first { columns } else { 0 });
        if first {
            body.push('\n');
            body.push_str(&table::rule(
                columns.min(table::COLUMNS_FILLED).max(record.len()),
            ));
        }
    }
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

fn broken(error: csv::Error) -> DocumentError {
    DocumentError::broken(format!("the table cannot be read ({error})"))
}

/// The delimiter that a first line `sep=;` states, as Excel writes it, and what follows.
fn stated_delimiter(source: &str) -> (Option<u8>, &str) {
    let Some(rest) = source.strip_prefix("sep=") else {
        return (None, source);
    };
    match rest.as_bytes() {
        [delimiter, b'\r' | b'\n', ..] if delimiter.is_ascii() => {
            (Some(*delimiter), rest[1..].trim_start_matches(['\r', '\n']))
        }
        _ => (None, source),
    }
}

/// The delimiter that parts the first lines most evenly.
fn delimiter(filename: &str, source: &str) -> u8 {
    let mut best = (0, b',');
    for candidate in [b',', b';', b'\t', b'|'] {
        let mut reader = ReaderBuilder::new()
            .delimiter(candidate)
            .flexible(true)
            .has_headers(false)
            .from_reader(source.as_bytes());
        let mut widths = Vec::new();
        let mut record = csv::ByteRecord::new();
        while widths.len() < SAMPLE_LINES && reader.read_byte_record(&mut record).unwrap_or(false) {
            widths.push(record.len());
        }
        widths.sort_unstable();
        // The width that most lines have, and how many have it.
        let width = widths.get(widths.len() / 2).copied().unwrap_or(0);
        let alike = widths.iter().filter(|other| **other == width).count();
        let score = if width < 2 {
            0
        } else {
            alike * 1000 + width.min(999)
        };
        if score > best.0 {
            best = (score, candidate);
        }
    }
    let extension = filename
        .rsplit_once('.')
        .map(|(_, extension)| extension.to_ascii_lowercase());
    match (best.0, extension.as_deref()) {
        (0, Some("tsv" | "tab")) => b'\t',
        _ => best.1,
    }
}
