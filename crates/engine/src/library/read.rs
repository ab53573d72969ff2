//! Reading a document page by page.

use model::{DocumentId, KbId, Result, Role};
use store::Tx;
use store::documents::{self, Document, StoredSection, Version};

/// Characters of text on one page: Unicode scalar values, headings not counted.
pub const PAGE_CHARS: u64 = 24_000;

/// A stretch of the text that is held now.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The version it is of.
    pub version: Version,
    /// Sections of the whole document.
    pub sections_total: u32,
    /// Characters of the whole document.
    pub chars_total: u64,
    /// The first character of the page.
    pub offset: u64,
    /// Where the next page begins; none at the end.
    pub next_offset: Option<u64>,
    /// The sections that have text on the page, in reading order.
    pub sections: Vec<PageSection>,
}

/// The part of a section that is on a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSection {
    /// Its place in the document, from 0.
    pub seq: u32,
    /// Headings from the outermost to its own.
    pub heading_path: Vec<String>,
    /// Whether it began on an earlier page.
    pub continued: bool,
    /// Its text on this page.
    pub text: String,
}

/// The document, if somebody of `role` can see it and it was neither deleted nor purged.
pub async fn seen(tx: &mut Tx, kb: KbId, id: DocumentId, role: Role) -> Result<Option<Document>> {
    let document = documents::find(tx, kb, id).await?;
    Ok(document.filter(|document| {
        document.least_role <= role && document.deleted_at.is_none() && document.purged_at.is_none()
    }))
}

/// A page of the version that is held now; none if none is.
///
/// At or past the end of the text the page is empty, except that a document without any text has
/// its headings at 0.
pub async fn page(tx: &mut Tx, kb: KbId, document: &Document, offset: u64) -> Result<Option<Page>> {
    let Some(held) = document.held_version else {
        return Ok(None);
    };
    let key = (document.id, held);
    let Some(version) = documents::version(tx, kb, key).await? else {
        return Ok(None);
    };
    let total = version.char_count;
    let sections_total = documents::count_sections(tx, kb, key).await?;
    let span = span(offset, total);
    let stored = match span {
        Some((start, end)) => documents::sections(tx, kb, key, start, end - start).await?,
        None => Vec::new(),
    };
    let end = offset.saturating_add(PAGE_CHARS);
    Ok(Some(Page {
        version,
        sections_total,
        chars_total: total,
        offset,
        next_offset: (end < total).then_some(end),
        sections: stored
            .iter()
            .map(|section| cut(section, offset, end))
            .collect(),
    }))
}

/// The characters to read for a page: one past the end on the last, for bare headings that stand
/// behind all text. None past the end.
fn span(offset: u64, total: u64) -> Option<(u64, u64)> {
    if total <= offset && 0 < offset {
        return None;
    }
    let end = offset.saturating_add(PAGE_CHARS);
    Some((offset, if total <= end { total + 1 } else { end }))
}

/// The part of a section between two characters of the document.
fn cut(section: &StoredSection, start: u64, end: u64) -> PageSection {
    let from = start.saturating_sub(section.char_start);
    let to = end
        .saturating_sub(section.char_start)
        .min(section.char_count);
    let text = section
        .body
        .chars()
        .skip(from as usize)
        .take(to.saturating_sub(from) as usize);
    PageSection {
        seq: section.seq,
        heading_path: section.heading_path.clone(),
        continued: 0 < from,
        text: text.collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What `documents::sections` selects.
    fn selected(sections: &[StoredSection], start: u64, end: u64) -> Vec<&StoredSection> {
        let shares = |s: &&StoredSection| {
            s.char_start < end
                && (start < s.char_start + s.char_count
                    || (s.char_count == 0 && start <= s.char_start))
        };
        sections.iter().filter(shares).collect()
    }

    fn stored(bodies: &[String]) -> Vec<StoredSection> {
        let mut char_start = 0;
        let sections = (0..).zip(bodies).map(|(seq, body)| {
            let char_count = body.chars().count() as u64;
            let start = char_start;
            char_start += char_count;
            StoredSection {
                seq,
                heading_path: vec![format!("h{seq}")],
                body: body.clone(),
                char_start: start,
                char_count,
            }
        });
        sections.collect()
    }

    /// Bodies of astral characters, combining marks, line ends of all kinds and nothing, some of
    /// them longer than a page.
    fn bodies() -> impl Strategy<Value = Vec<String>> {
        let piece = prop_oneof![
            Just("👩‍👩‍👧‍👦".to_owned()),
            Just("e\u{301}\u{323}".to_owned()),
            Just("a\r\nb\rc\n".to_owned()),
            Just("𝔘𐍈".to_owned()),
            Just("plain words ".to_owned()),
        ];
        let body = prop_oneof![
            Just(String::new()),
            proptest::collection::vec(piece.clone(), 1..6).prop_map(|pieces| pieces.concat()),
            (piece, 1_usize..9_000).prop_map(|(piece, times)| piece.repeat(times)),
        ];
        proptest::collection::vec(body, 0..8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn walking_the_pages_gives_back_the_whole_text_and_every_section(bodies in bodies()) {
            let sections = stored(&bodies);
            let total: u64 = sections.iter().map(|section| section.char_count).sum();
            let mut text = String::new();
            let mut begun = Vec::new();
            let mut offset = 0;
            while let Some((start, end)) = span(offset, total) {
                let mut chars = 0;
                for section in selected(&sections, start, end) {
                    let part = cut(section, offset, offset + PAGE_CHARS);
                    chars += part.text.chars().count() as u64;
                    text.push_str(&part.text);
                    if !part.continued {
                        begun.push(part.seq);
                    }
                }
                prop_assert!(chars <= PAGE_CHARS);
                offset += PAGE_CHARS;
            }
            prop_assert_eq!(text, bodies.concat());
            prop_assert_eq!(begun, (0..bodies.len() as u32).collect::<Vec<_>>());
        }
    }
}
