//! Parsers and the telling of formats.

use formats::document::{Format, Limits, parse};
use model::document::ParsedDocument;

use crate::bundle;

/// Small, so that a case is over soon whatever it asks for.
const LIMITS: Limits = Limits {
    output_bytes: 8 << 20,
    entries: 200,
    ratio: 100,
    pages: 50,
};

/// A document is read or refused; what is read keeps to its shape.
pub fn read(format: Format, bytes: &[u8]) {
    let bytes = bundle::unpacked(bytes);
    if let Ok(parsed) = parse(format, "a file", &bytes, &LIMITS) {
        assert_eq!(parsed.media_type.as_deref(), Some(format.media_type()));
        is_in_shape(&parsed);
        crate::texts::are_whole(&parsed);
    }
}

/// What `ParsedDocument` says of itself.
fn is_in_shape(parsed: &ParsedDocument) {
    for section in &parsed.sections {
        assert_eq!(section.body.trim(), section.body, "a body is trimmed");
        for heading in &section.heading_path {
            assert!(!heading.contains('\n'), "a heading is a line: {heading:?}");
        }
    }
    for left_out in &parsed.left_out {
        assert!(!left_out.trim().is_empty(), "what was left out is named");
    }
    let written = serde_json::to_vec(parsed).expect("a document can be written");
    let again: ParsedDocument = serde_json::from_slice(&written).expect("and read again");
    assert_eq!(
        &again, parsed,
        "it passes from process to process unchanged"
    );
}

/// The first line is a name, the rest the file: its format is told, by the first 64 KiB as by the
/// whole, and then it can be read as that.
pub fn detect(bytes: &[u8]) {
    let line_end = bytes.iter().position(|&byte| byte == b'\n');
    let (name, content) = bytes.split_at(line_end.unwrap_or(0));
    let name = String::from_utf8_lossy(name);
    let content = bundle::unpacked(content.strip_prefix(b"\n").unwrap_or(content));
    match Format::detect(&name, &content) {
        Ok(format) => {
            assert_eq!(Format::of_media_type(format.media_type()), Some(format));
            read(format, &content);
        }
        Err(refusal) => assert!(refusal.to_string().contains(&*name), "{refusal}"),
    }
}
