//! The analyser and the cutting into passages.

use std::collections::HashSet;

use model::DocumentId;
use model::document::{ParsedDocument, Section};
use model::text::{self, Kind, Languages};
use uuid::Uuid;

/// Text gives terms: the same after folding, none of them empty, and it finds itself.
pub fn analyse(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let terms = text::of_document(&text);
    let folded = text::fold(&text);
    assert_eq!(text::fold(&folded), folded, "folding twice is folding once");
    assert_eq!(text::of_document(&folded), terms);
    assert_eq!(terms.words.len(), terms.stems.len());
    let all = terms.words.iter().chain(&terms.stems).chain(&terms.grams);
    assert!(all.clone().all(|term| !term.is_empty()));

    let asked = text::of_query(&text, Languages::ALL);
    assert!(
        asked
            .iter()
            .all(|term| 0.0 < term.weight && term.weight.is_finite())
    );
    let words: HashSet<&str> = terms.words.iter().map(String::as_str).collect();
    let grams: HashSet<&str> = terms.grams.iter().map(String::as_str).collect();
    let finds = asked.iter().any(|term| match term.kind {
        Kind::Word => words.contains(term.text.as_str()),
        Kind::Gram => grams.contains(term.text.as_str()),
        Kind::Stem => false,
    });
    assert!(
        finds || terms.words.is_empty(),
        "a text is found by its own words"
    );
}

/// Text with `#` headings is cut into passages.
pub fn cut(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut sections = vec![Section::default()];
    for line in text.lines() {
        let heading = line.trim_start_matches('#');
        let level = line.len() - heading.len();
        let last = sections.last_mut().expect("it begins with one");
        if 0 < level && level <= 6 {
            let mut heading_path = last.heading_path.clone();
            heading_path.truncate(level - 1);
            heading_path.push(heading.trim().to_owned());
            let body = String::new();
            sections.push(Section { heading_path, body });
        } else {
            last.body.push_str(line);
            last.body.push('\n');
        }
    }
    for section in &mut sections {
        section.body = section.body.trim().to_owned();
    }
    are_whole(&ParsedDocument {
        sections,
        ..ParsedDocument::default()
    });
}

/// Every visible character of a body is in a passage of it, in order, and passages have ids of
/// their own.
pub fn are_whole(document: &ParsedDocument) {
    let passages = model::passages::split(document);
    for (place, section) in document.sections.iter().enumerate() {
        let of_section = passages.iter().filter(|passage| passage.section == place);
        let mut cut = of_section.flat_map(|passage| passage.text.chars());
        let mut visible = section.body.chars().filter(|c| !c.is_whitespace());
        assert!(
            visible.all(|wanted| cut.any(|found| found == wanted)),
            "a passage lacks what its section has"
        );
    }
    assert!(
        passages
            .iter()
            .all(|passage| !passage.text.trim().is_empty())
    );
    let ids = model::passages::identify(DocumentId::new(Uuid::nil()), &passages);
    let distinct: HashSet<_> = ids.iter().collect();
    assert_eq!(
        distinct.len(),
        passages.len(),
        "each passage has an id of its own"
    );
}
