use std::fmt::Write as _;

use engine::library::{self, Page, PageSection};
use kernel::{Base, Cx, Door, Method, Operation, Reply, Spec};
use model::{DocumentId, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::documents::Document;

use super::{State, no_such_document};

/// Read a document: all its sections in order, up to 24,000 characters of text per call.
///
/// A longer document is read on by calling again with the `offset` that the notice at the end
/// names. What is read is the version that is held now.
#[derive(Deserialize, JsonSchema)]
pub struct GetDocument {
    /// The document's id, as a search hit names it.
    #[schemars(extend("format" = "uuid"))]
    document_id: String,
    /// Where to read on: the place of a character in the document's text, from 0, headings not
    /// counted. 0 if absent.
    #[schemars(range(min = 0))]
    offset: Option<Offset>,
}

/// A place in a text, from 0.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(try_from = "i64")]
#[schemars(inline)]
struct Offset(u64);

impl TryFrom<i64> for Offset {
    type Error = String;

    fn try_from(asked: i64) -> Result<Self, String> {
        u64::try_from(asked)
            .map(Self)
            .map_err(|_| format!("must be 0 or more, not {asked}"))
    }
}

/// A stretch of a document's text.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DocumentText {
    /// The document's id.
    pub document_id: DocumentId,
    /// The name of its file.
    pub filename: String,
    /// When the document is from, as exactly as is known; null if it is not known.
    pub date: Option<String>,
    /// Where its latest version stands.
    pub state: State,
    /// The version that was read; null if none can be read yet.
    pub version: Option<u32>,
    /// Sections of the whole document.
    pub sections_total: u32,
    /// Characters of the whole document, headings not counted.
    pub chars_total: u64,
    /// The first character of this page.
    pub offset: u64,
    /// Where to read on; null at the end.
    pub next_offset: Option<u64>,
    /// The sections with text on this page, in order.
    pub sections: Vec<TextSection>,
    /// Headings on this page that are not shown, because there are too many or too long ones.
    pub headings_left_out: u32,
}

/// The part of a section that is on a page.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TextSection {
    /// Its place in the document, from 0.
    pub seq: u32,
    /// Headings from the outermost to its own.
    pub heading_path: Vec<String>,
    /// Whether it began on an earlier page.
    pub continued: bool,
    /// Its text on this page, as Markdown.
    pub text: String,
}

impl DocumentText {
    fn unread(document: Document, offset: u64) -> Self {
        Self {
            document_id: document.id,
            filename: document.filename,
            date: None,
            state: document.state.into(),
            version: None,
            sections_total: 0,
            chars_total: 0,
            offset,
            next_offset: None,
            sections: Vec::new(),
            headings_left_out: 0,
        }
    }

    fn new(document: Document, page: Page) -> Self {
        let (sections, headings_left_out) = bounded(page.sections);
        Self {
            document_id: document.id,
            filename: page.version.filename,
            date: page.version.document_date,
            state: document.state.into(),
            version: Some(page.version.version),
            sections_total: page.sections_total,
            chars_total: page.chars_total,
            offset: page.offset,
            next_offset: page.next_offset,
            sections,
            headings_left_out,
        }
    }
}

/// Characters of headings on a page, which its offsets do not count: as many as of text.
const HEADING_CHARS_MAX: usize = 24_000;

/// The sections, and how many of them lost their headings so that the page stays within bounds.
fn bounded(sections: Vec<PageSection>) -> (Vec<TextSection>, u32) {
    let (mut shown, mut left_out) = (Vec::new(), 0);
    let mut room = HEADING_CHARS_MAX;
    for section in sections {
        let mut heading_path = section.heading_path;
        let chars: usize = heading_path
            .iter()
            .map(|heading| heading.chars().count())
            .sum();
        if let Some(rest) = room.checked_sub(chars) {
            room = rest;
        } else {
            left_out += 1;
            heading_path.clear();
            if section.text.is_empty() {
                continue;
            }
        }
        shown.push(TextSection {
            seq: section.seq,
            heading_path,
            continued: section.continued,
            text: section.text,
        });
    }
    (shown, left_out)
}

/// A heading deeper than Markdown knows is written at its deepest.
const HEADING_LEVEL_MAX: usize = 6;

impl TextSection {
    /// Its own heading, at its depth.
    fn heading(&self) -> Option<String> {
        let heading = self.heading_path.last()?;
        let marks = "#".repeat(self.heading_path.len().min(HEADING_LEVEL_MAX));
        let continued = if self.continued { " (continued)" } else { "" };
        Some(format!("{marks} {heading}{continued}"))
    }
}

impl Reply for DocumentText {
    fn text(&self) -> String {
        let filename = &self.filename;
        if self.version.is_none() {
            return match self.state {
                State::Failed => format!("\"{filename}\" could not be read, so it has no text"),
                state => format!("\"{filename}\" has no text yet: it is {}", state.name()),
            };
        }
        let (total, offset) = (self.chars_total, self.offset);
        if total <= offset && 0 < offset {
            return format!(
                "\"{filename}\": no text remains at offset {offset}; it has {total} characters"
            );
        }
        let date = self.date.as_deref().unwrap_or("no date");
        let mut text = format!(
            "\"{filename}\" ({date}) — {} section(s):",
            self.sections_total
        );
        for section in &self.sections {
            let parts = [
                section.heading(),
                Some(section.text.clone()).filter(|text| !text.is_empty()),
            ];
            for part in parts.into_iter().flatten() {
                text.push_str("\n\n");
                text.push_str(&part);
            }
        }
        if total == 0 {
            text.push_str("\n\n(no text)");
        }
        if 0 < self.headings_left_out {
            let _ = write!(text, "\n\n[{} heading(s) left out]", self.headings_left_out);
        }
        if let Some(next) = self.next_offset {
            let _ = write!(
                text,
                "\n\n[truncated: characters {offset} to {next} of {total}; call get_document again with \"offset\": {next} to continue]"
            );
        }
        text
    }
}

impl Operation for GetDocument {
    type Target = Base;
    type Output = DocumentText;
    const SPEC: Spec = Spec::read("get_document", "Read a document")
        .route(Method::Get, "/kbs/{kb_id}/documents/{document_id}/text")
        .tool(&[Door::Base])
        .absence_is_an_answer()
        .cli("document read", &["document_id"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<DocumentText> {
        let kb = cx.target.id();
        let id: DocumentId = self.document_id.parse().map_err(|_| no_such_document())?;
        cx.about("document", id);
        let offset = self.offset.map_or(0, |offset| offset.0);
        let mut tx = cx.read().await?;
        let document = library::seen(&mut tx, kb, id, cx.target.role()).await?;
        let document = document.ok_or_else(no_such_document)?;
        Ok(match library::page(&mut tx, kb, &document, offset).await? {
            Some(page) => DocumentText::new(document, page),
            None => DocumentText::unread(document, offset),
        })
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn text(sections: Vec<TextSection>, chars_total: u64) -> DocumentText {
        DocumentText {
            document_id: DocumentId::new(Uuid::nil()),
            filename: "plan.md".to_owned(),
            date: Some("2024-03".to_owned()),
            state: State::Ready,
            version: Some(1),
            sections_total: sections.len() as u32,
            chars_total,
            offset: 0,
            next_offset: None,
            sections,
            headings_left_out: 0,
        }
    }

    fn section(seq: u32, path: &[&str], text: &str) -> TextSection {
        let heading_path = path.iter().map(|&heading| heading.to_owned()).collect();
        TextSection {
            seq,
            heading_path,
            continued: false,
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_page_shows_its_sections_under_their_headings_and_how_to_go_on() {
        let mut page = text(
            vec![
                section(0, &[], "Before."),
                section(1, &["A", "B"], "Below."),
            ],
            9,
        );
        page.next_offset = Some(7);

        assert_eq!(
            page.text(),
            "\"plan.md\" (2024-03) — 2 section(s):\n\nBefore.\n\n## B\n\nBelow.\n\n[truncated: characters 0 to 7 of 9; call get_document again with \"offset\": 7 to continue]"
        );
    }

    #[test]
    fn a_document_without_text_says_so() {
        let mut page = text(vec![section(0, &["A"], "")], 0);
        page.date = None;

        assert_eq!(
            page.text(),
            "\"plan.md\" (no date) — 1 section(s):\n\n# A\n\n(no text)"
        );
    }

    #[test]
    fn past_the_end_no_text_remains() {
        let mut page = text(Vec::new(), 9);
        page.offset = 9;

        assert_eq!(
            page.text(),
            "\"plan.md\": no text remains at offset 9; it has 9 characters"
        );
    }
}
