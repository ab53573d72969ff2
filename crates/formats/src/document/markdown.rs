//! Markdown: kept as it was written, cut at its headings.

use std::ops::Range;

use model::document::ParsedDocument;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::outline::{Outline, first_heading};
use super::{DocumentError, date, encoding, text};

/// Reads Markdown. Headings are those of CommonMark (`#` and underlined), not look-alikes in
/// code, lists or quotes; front matter in YAML or TOML states title and date and stays part of
/// the text: below a heading that follows it at once, so that it is no section of its own.
pub(super) fn parse(bytes: &[u8]) -> Result<ParsedDocument, DocumentError> {
    let decoded = encoding::decode(bytes)?;
    let source = text::line_ends(decoded.text);
    let front = FrontMatter::of(&source);
    let mut outline = Outline::default();
    let mut from = front.end;
    let mut block = &source[..front.end];
    for heading in headings(&source[front.end..]) {
        let (start, end) = (
            front.end + heading.place.start,
            front.end + heading.place.end,
        );
        if !source[from..start].trim().is_empty() {
            outline.text(std::mem::take(&mut block));
        }
        outline.text(&source[from..start]);
        if heading.text.trim().is_empty() {
            // A heading without words starts nothing, but its marks are text.
            outline.text(&source[start..end]);
        } else {
            outline.heading(heading.level, &heading.text);
            outline.text(std::mem::take(&mut block));
        }
        from = end;
    }
    outline.text(block);
    outline.text(&source[from..]);
    let sections = outline.finish();
    Ok(ParsedDocument {
        title: front.title.or_else(|| first_heading(&sections)),
        date: date::stated(front.date.as_deref().and_then(date::iso)),
        sections,
        left_out: decoded.left_out,
        ..ParsedDocument::default()
    })
}

struct Heading {
    level: u8,
    text: String,
    place: Range<usize>,
}

/// The headings at the outermost level of `source`, in order.
fn headings(source: &str) -> Vec<Heading> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_MATH;
    let mut found = Vec::new();
    let mut open: Option<Heading> = None;
    let mut depth = 0_u32;
    for (event, place) in Parser::new_ext(source, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                open = Some(Heading {
                    level: level as u8,
                    text: String::new(),
                    place,
                });
            }
            Event::End(TagEnd::Heading(_)) if depth == 0 => {
                // Only the words between the marks; what Markdown cannot show is taken as written.
                found.extend(open.take());
            }
            Event::Start(_) if open.is_none() => depth += 1,
            Event::End(_) if open.is_none() => depth = depth.saturating_sub(1),
            Event::Text(words)
            | Event::Code(words)
            | Event::InlineHtml(words)
            | Event::InlineMath(words)
            | Event::DisplayMath(words) => {
                if let Some(heading) = &mut open {
                    heading.text.push_str(&words);
                }
            }
            Event::FootnoteReference(name) => {
                if let Some(heading) = &mut open {
                    let written = format!("[^{name}]");
                    heading.text.push_str(&written);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(heading) = &mut open {
                    heading.text.push(' ');
                }
            }
            _ => {}
        }
    }
    found
}

#[derive(Debug, Default)]
struct FrontMatter {
    title: Option<String>,
    date: Option<String>,
    /// Where the text after it starts.
    end: usize,
}

impl FrontMatter {
    /// The block between two `---` (YAML) or `+++` (TOML) at the very start. Only its plain
    /// outermost `title` and `date` are read.
    fn of(source: &str) -> FrontMatter {
        let (fence, sign) = match source {
            _ if source.starts_with("---\n") => ("---", ':'),
            _ if source.starts_with("+++\n") => ("+++", '='),
            _ => return FrontMatter::default(),
        };
        let mut front = FrontMatter {
            end: fence.len() + 1,
            ..FrontMatter::default()
        };
        for line in source[front.end..].split_inclusive('\n') {
            front.end += line.len();
            let line = line.trim_end();
            if line == fence || (sign == ':' && line == "...") {
                return front;
            }
            let Some((key, value)) = line.split_once(sign) else {
                continue;
            };
            let value = unquoted(value.trim());
            if value.is_empty() {
                continue;
            }
            match key.trim_end() {
                "title" => front.title = Some(value),
                "date" => front.date = Some(value),
                _ => {}
            }
        }
        // Never closed: the first line was a rule, not a fence.
        FrontMatter::default()
    }
}

fn unquoted(value: &str) -> String {
    for quote in ['"', '\''] {
        if let Some(inner) = value
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
        {
            return inner.replace("\\\"", "\"").replace("''", "'");
        }
    }
    // A comment after a plain value.
    value.split(" #").next().unwrap_or(value).trim().to_owned()
}
