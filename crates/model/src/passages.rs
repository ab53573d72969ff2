//! Cutting a document into passages, the units of search.
//!
//! A passage lies within one section and is a verbatim slice of its body, of about
//! [`TOKENS_MIN`] to [`TOKENS_MAX`] tokens, cut between paragraphs where it can be, else between
//! lines, sentences, words. Where to cut is chosen by a hash of the text beside each place, the
//! smallest first, so that an edit moves only the cuts near it and the other passages keep their
//! text and with it their ids and vectors.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::document::ParsedDocument;
use crate::text::is_dense;
use crate::{ChunkId, DocumentId};

/// A longer stretch is cut only where this many tokens are left on both sides, if it can be.
pub const TOKENS_MIN: usize = 120;

/// A stretch of more tokens is cut. Embedding models of the local kind read 256.
pub const TOKENS_MAX: usize = 280;

/// A passage and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The headings above it.
    pub heading_path: Vec<String>,
    /// Its text: a slice of the section's body, after the header row if it begins inside a table.
    pub text: String,
    /// The section's place in the document, from 0.
    pub section: usize,
}

/// The passages of a document, in reading order. Every character of a body that is no white
/// space is in one; a section without text has none.
pub fn split(document: &ParsedDocument) -> Vec<Passage> {
    let mut passages = Vec::new();
    for (section, found) in document.sections.iter().enumerate() {
        for text in split_body(&found.body) {
            let heading_path = found.heading_path.clone();
            passages.push(Passage {
                heading_path,
                text,
                section,
            });
        }
    }
    passages
}

/// The id of each passage, from the headings above it, its text, and how many equal ones stand
/// before it.
pub fn identify(document: DocumentId, passages: &[Passage]) -> Vec<ChunkId> {
    let mut seen: HashMap<(&[String], &str), u32> = HashMap::new();
    passages
        .iter()
        .map(|passage| {
            let before = seen
                .entry((&passage.heading_path, &passage.text))
                .or_default();
            let id = ChunkId::of(document, &passage.heading_path, &passage.text, *before);
            *before += 1;
            id
        })
        .collect()
}

/// About how many tokens a model would make of the text: four letters and a half each, one sign,
/// or one character of a script written without spaces.
pub fn tokens(text: &str) -> usize {
    let (mut letters, mut others) = (0_usize, 0);
    for c in text.chars() {
        if is_dense(c) {
            others += 1;
        } else if c.is_alphanumeric() {
            letters += 1;
        } else if !c.is_whitespace() {
            others += 1;
        }
    }
    others + (letters * 2).div_ceil(9)
}

/// How good a place is to cut at, the best last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Seam {
    Letter,
    Word,
    Sentence,
    Line,
    Paragraph,
}

/// A piece that is not cut further.
#[derive(Debug, Clone)]
struct Unit {
    /// Where it lies in the body.
    range: Range<usize>,
    tokens: usize,
    /// The place before it.
    seam: Seam,
    /// The hash of the text on both sides of that place.
    hash: u64,
    /// The header rows of the table that it stands in, if it is not among them itself.
    header: Option<Range<usize>>,
}

fn split_body(body: &str) -> Vec<String> {
    let units = units(body);
    let mut passages = Vec::new();
    // Stretches still to be looked at, the first in the text on top.
    let mut open = Vec::from([(0, units.len(), 0)]);
    let depth_max = depth_max(units.len());
    while let Some((start, end, depth)) = open.pop() {
        if start == end {
            continue;
        }
        let choice = if depth < depth_max {
            Choice::Seam
        } else {
            Choice::Middle
        };
        if let Some(at) = cut(&units[start..end], choice) {
            open.push((start + at, end, depth + 1));
            open.push((start, start + at, depth + 1));
            continue;
        }
        let first = &units[start];
        let slice = body[first.range.start..units[end - 1].range.end].trim();
        passages.push(match &first.header {
            Some(header) => format!("{}\n{slice}", body[header.clone()].trim()),
            None => slice.to_owned(),
        });
    }
    passages.retain(|text| !text.is_empty());
    passages
}

/// How a place to cut at is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// The best seam, and of equal ones the one nearest to the middle.
    Seam,
    /// The middle.
    Middle,
}

/// Cuts within cuts before the middle is taken instead of the best seam: well above what hashes
/// of ordinary text lead to, so that text made to be cut badly costs n log n, not n².
fn depth_max(units: usize) -> u32 {
    4 * (usize::BITS - units.leading_zeros()) + 16
}

/// Before which unit to cut the stretch; none if it is short enough.
fn cut(stretch: &[Unit], choice: Choice) -> Option<usize> {
    let total: usize = stretch.iter().map(|unit| unit.tokens).sum();
    if total <= TOKENS_MAX || stretch.len() < 2 {
        return None;
    }
    let mut before = 0;
    let mut best = None;
    for (n, unit) in stretch.iter().enumerate() {
        if 0 < n {
            let roomy = TOKENS_MIN <= before && TOKENS_MIN <= total - before;
            let off_middle = Reverse((2 * before).abs_diff(total));
            let seam = match choice {
                Choice::Seam => Some((roomy, unit.seam, Reverse(unit.hash))),
                Choice::Middle => None,
            };
            best = best.max(Some((seam, off_middle, n)));
        }
        before += unit.tokens;
    }
    best.map(|(_, _, at)| at)
}

/// The body in pieces of at most [`TOKENS_MAX`] tokens, each as large as its kind of seam allows.
fn units(body: &str) -> Vec<Unit> {
    let mut units = Vec::new();
    for block in blocks(body) {
        let table = table_header(body, &block);
        if table.is_none() && tokens(&body[block.clone()]) <= TOKENS_MAX {
            push(&mut units, body, block, Seam::Paragraph, None);
            continue;
        }
        let mut seam = Seam::Paragraph;
        for line in pieces(body, &block, |text| text.split_inclusive('\n').collect()) {
            let header = table.clone().filter(|header| header.end <= line.start);
            // The rows of a header stay together.
            let inside = table
                .as_ref()
                .is_some_and(|header| header.start < line.start && line.start < header.end);
            if inside {
                let last = units.last_mut().expect("a header has a first row");
                extend(last, body, line);
            } else {
                push_line(&mut units, body, line, seam, header);
            }
            seam = Seam::Line;
        }
    }
    units
}

/// A line, in sentences, words or letters if it is too long.
fn push_line(
    units: &mut Vec<Unit>,
    body: &str,
    line: Range<usize>,
    seam: Seam,
    header: Option<Range<usize>>,
) {
    if tokens(&body[line.clone()]) <= TOKENS_MAX {
        push(units, body, line, seam, header);
        return;
    }
    let mut seam = seam;
    for sentence in pieces(body, &line, |text| text.split_sentence_bounds().collect()) {
        if tokens(&body[sentence.clone()]) <= TOKENS_MAX {
            push(units, body, sentence, seam, header.clone());
            seam = Seam::Sentence;
            continue;
        }
        seam = seam.max(Seam::Sentence);
        for word in pieces(body, &sentence, |text| text.split_word_bounds().collect()) {
            if tokens(&body[word.clone()]) <= TOKENS_MAX {
                push(units, body, word, seam, header.clone());
                seam = Seam::Word;
                continue;
            }
            let letters = pieces(body, &word, |text| text.graphemes(true).collect());
            for some in letters.chunks(TOKENS_MAX) {
                let range = some[0].start..some[some.len() - 1].end;
                push(units, body, range, seam, header.clone());
                seam = Seam::Letter;
            }
        }
        seam = Seam::Sentence;
    }
}

fn push(
    units: &mut Vec<Unit>,
    body: &str,
    range: Range<usize>,
    seam: Seam,
    header: Option<Range<usize>>,
) {
    let text = &body[range.clone()];
    let before = units.last().map_or("", |unit| &body[unit.range.clone()]);
    let hash = hash(before, text);
    units.push(Unit {
        tokens: tokens(text),
        range,
        seam,
        hash,
        header,
    });
}

fn extend(unit: &mut Unit, body: &str, by: Range<usize>) {
    unit.range.end = by.end;
    unit.tokens = tokens(&body[unit.range.clone()]);
}

/// The end of what is before a seam and the start of what is after it (FNV-1a, 64 bits).
fn hash(before: &str, after: &str) -> u64 {
    const BESIDE: usize = 48;
    let tail = before.trim_end().as_bytes();
    let head = after.trim_start().as_bytes();
    let beside = tail[tail.len().saturating_sub(BESIDE)..]
        .iter()
        .chain(&[0xff])
        .chain(&head[..head.len().min(BESIDE)]);
    let hash = beside.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // The high bits of FNV hardly depend on the last bytes.
    (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// Paragraphs: what stands between blank lines, a fenced block of code being one.
fn blocks(body: &str) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut start = None;
    let mut fence: Option<&str> = None;
    for line in pieces(body, &(0..body.len()), |text| {
        text.split_inclusive('\n').collect()
    }) {
        let text = body[line.clone()].trim();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| text.starts_with(mark));
        match (fence, mark) {
            (None, Some(_)) => fence = mark,
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        if text.is_empty() && fence.is_none() {
            if let Some(start) = start.take() {
                blocks.push(start..line.start);
            }
        } else {
            start.get_or_insert(line.start);
        }
    }
    if let Some(start) = start {
        blocks.push(start..body.len());
    }
    blocks
}

/// The header of the block, if it is a table in Markdown's pipes whose header is short enough to
/// be repeated.
fn table_header(body: &str, block: &Range<usize>) -> Option<Range<usize>> {
    let mut lines = body[block.clone()].split_inclusive('\n');
    let (head, rule) = (lines.next()?, lines.next()?);
    let is_row = head.trim_start().starts_with('|');
    let is_rule = rule.contains('-')
        && rule
            .trim()
            .chars()
            .all(|c| matches!(c, '|' | '-' | ':' | ' '));
    let end = block.start + head.len() + rule.len();
    (is_row && is_rule && tokens(head) <= TOKENS_MIN).then_some(block.start..end)
}

/// The parts of a range, as ranges.
fn pieces<'a>(
    body: &'a str,
    range: &Range<usize>,
    parts: impl Fn(&'a str) -> Vec<&'a str>,
) -> Vec<Range<usize>> {
    let mut start = range.start;
    parts(&body[range.clone()])
        .into_iter()
        .map(|part| {
            let piece = start..start + part.len();
            start = piece.end;
            piece
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::document::Section;

    fn document(bodies: &[&str]) -> ParsedDocument {
        let sections = bodies
            .iter()
            .enumerate()
            .map(|(n, body)| Section {
                heading_path: vec![format!("h{n}")],
                body: body.trim().to_owned(),
            })
            .collect();
        ParsedDocument {
            sections,
            ..ParsedDocument::default()
        }
    }

    fn texts(body: &str) -> Vec<String> {
        split(&document(&[body]))
            .into_iter()
            .map(|passage| passage.text)
            .collect()
    }

    fn paragraphs(count: usize) -> Vec<String> {
        let sentence = |n: usize| format!("Paragraph {n} tells of the harvest in the valley {n}. ");
        (0..count).map(|n| sentence(n).repeat(3 + n % 4)).collect()
    }

    #[test]
    fn text_that_repeats_is_cut_in_little_more_than_linear_time() {
        for body in ["*a **b ".repeat(60_000), "ok\n".repeat(60_000)] {
            let units = units(&body);
            let mut looked_at = 0;
            let mut open = vec![(0, units.len(), 0)];
            while let Some((start, end, depth)) = open.pop() {
                looked_at += end - start;
                assert!(depth <= depth_max(units.len()) + 20);
                if let Some(at) = cut(&units[start..end], Choice::Seam) {
                    open.push((start, start + at, depth + 1));
                    open.push((start + at, end, depth + 1));
                }
            }
            assert!(
                looked_at < 40 * units.len(),
                "{looked_at} of {}",
                units.len()
            );
        }
    }

    #[test]
    fn the_middle_is_taken_where_seams_lead_nowhere() {
        let body = (0..20_000)
            .map(|n| format!("line {n}\n"))
            .collect::<String>();
        let units = units(&body);

        let at = cut(&units, Choice::Middle).unwrap();

        assert!(
            units.len().abs_diff(2 * at) < units.len() / 10,
            "{at} of {}",
            units.len()
        );
    }

    #[test]
    fn a_short_section_is_one_passage_and_an_empty_one_none() {
        assert_eq!(texts("One.\n\nTwo."), ["One.\n\nTwo."]);
        assert!(split(&document(&["", "  "])).is_empty());
    }

    #[test]
    fn no_passage_crosses_a_heading() {
        let passages = split(&document(&["One.", "Two."]));

        assert_eq!(passages.len(), 2);
        assert_eq!(
            (passages[1].section, passages[1].heading_path[0].as_str()),
            (1, "h1")
        );
    }

    #[test]
    fn a_long_section_is_cut_between_paragraphs() {
        let found = texts(&paragraphs(60).join("\n\n"));

        assert!(found.len() > 5);
        for text in &found {
            assert!(
                text.starts_with("Paragraph") && text.ends_with('.'),
                "{text}"
            );
            assert!(
                (TOKENS_MIN / 2..=TOKENS_MAX).contains(&tokens(text)),
                "{}",
                tokens(text)
            );
        }
    }

    #[test]
    fn a_table_that_is_split_repeats_its_header() {
        let rows: Vec<String> = (0..240)
            .map(|n| format!("| item {n} | price {n} |"))
            .collect();
        let found = texts(&format!(
            "| name | price |\n| --- | --- |\n{}",
            rows.join("\n")
        ));

        assert!(found.len() > 2);
        assert!(
            found
                .iter()
                .all(|text| text.starts_with("| name | price |\n| --- | --- |\n| item"))
        );
        assert_eq!(
            found.iter().flat_map(|text| text.lines().skip(2)).count(),
            240
        );
    }

    #[test]
    fn a_line_without_end_is_cut_between_whole_characters() {
        for body in ["x".repeat(9_000), "👩‍👩‍👧‍👦".repeat(2_000), "北京".repeat(2_000)]
        {
            let found = texts(&body);
            assert!(found.len() > 1);
            assert_eq!(found.concat(), body);
            assert!(found.iter().all(|text| tokens(text) <= TOKENS_MAX * 8));
        }
    }

    #[test]
    fn equal_passages_have_ids_of_their_own() {
        let passages = split(&ParsedDocument {
            sections: vec![
                Section {
                    body: "Same.".into(),
                    ..Section::default()
                };
                3
            ],
            ..ParsedDocument::default()
        });
        let ids = identify(DocumentId::new(Uuid::from_u128(1)), &passages);

        assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
    }

    #[test]
    fn a_paragraph_added_in_the_middle_leaves_distant_passages_alone() {
        let mut body = paragraphs(200);
        let before = texts(&body.join("\n\n"));
        body.insert(100, "Something new was said here.".into());

        let after = texts(&body.join("\n\n"));

        let kept = after.iter().filter(|text| before.contains(text)).count();
        assert!(kept + 4 >= after.len(), "{kept} of {}", after.len());
    }

    proptest! {
        #[test]
        fn every_visible_character_is_in_some_passage(
            body in "(\\PC{0,40}|[a-z]{1,600}|\n|\n\n|\\| a \\| b \\|\n\\|---\\|---\\|\n|```\n){0,25}",
        ) {
            let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let found = texts(&body);
            let mut rest = visible(&body);
            // In order, each passage's text past a repeated header stands at the front.
            for text in &found {
                let text = visible(text);
                let own = (0..=text.len())
                    .filter(|&at| text.is_char_boundary(at))
                    .map(|at| &text[at..])
                    .find(|own| rest.starts_with(own))
                    .unwrap();
                rest = rest[own.len()..].to_owned();
            }
            prop_assert_eq!(rest, "");
        }

        #[test]
        fn what_an_edit_leaves_alone_keeps_its_id(
            count in 1_usize..60,
            edits in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..3), 1..6),
        ) {
            let id = DocumentId::new(Uuid::from_u128(1));
            let mut body = paragraphs(count);
            let before = split(&document(&[&body.join("\n\n")]));
            for (n, (place, kind)) in edits.into_iter().enumerate() {
                let at = place.index(body.len());
                match kind {
                    0 => body.insert(at, format!("Inserted number {n}.")),
                    1 => body[at].push_str(" Changed."),
                    _ if body.len() > 1 => drop(body.remove(at)),
                    _ => {}
                }
            }
            let after = split(&document(&[&body.join("\n\n")]));

            let old: HashMap<_, _> = before.iter().zip(identify(id, &before)).map(|(p, id)| (&p.text, id)).collect();
            let new = identify(id, &after);
            for (passage, id) in after.iter().zip(&new) {
                if let Some(known) = old.get(&passage.text) {
                    prop_assert_eq!(known, id);
                }
            }
            let changed = after.iter().filter(|p| !old.contains_key(&p.text)).count();
            prop_assert!(changed <= 5 * 6, "{} of {}", changed, after.len());
        }
    }
}
