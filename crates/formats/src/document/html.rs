//! Web pages: the visible text of the tree a browser would build.

mod tree;
mod walk;

use html5ever::ParseOpts;
use html5ever::tendril::TendrilSink;
use html5ever::tree_builder::TreeBuilderOpts;
use model::document::{DateSource, DocumentDate, ParsedDocument};

use self::tree::{Dom, NodeId};
use super::outline::{Block, Outline, first_heading};
use super::{DocumentError, date, encoding};

/// Levels of nesting that are built; browsers stop at 512.
const DEPTH_MAX: u32 = 4096;

/// Bytes built between two looks at the depth.
const PIECE_BYTES: usize = 8 << 10;

/// Reads a page in the encoding that its mark, its `meta` or its bytes tell.
pub(super) fn parse(bytes: &[u8]) -> Result<ParsedDocument, DocumentError> {
    let decoded = match declared_charset(bytes) {
        Some(label) if !has_mark(bytes) && std::str::from_utf8(bytes).is_err() => {
            encoding::decode_labelled(bytes, &label)?
        }
        _ => encoding::decode(bytes)?,
    };
    let page = read(&decoded.text)?;
    let mut outline = Outline::default();
    for block in page.blocks {
        outline.push(block);
    }
    let sections = outline.finish();
    let mut left_out = decoded.left_out;
    left_out.extend(page.left_out);
    Ok(ParsedDocument {
        title: page.title.or_else(|| first_heading(&sections)),
        date: page.date,
        sections,
        left_out,
        ..ParsedDocument::default()
    })
}

/// What a page says.
pub(super) struct Page {
    /// Its title, if it states one.
    pub(super) title: Option<String>,
    /// Its date, if it states one.
    pub(super) date: Option<DocumentDate>,
    /// Its text.
    pub(super) blocks: Vec<Block>,
    /// Sentences naming what was left out.
    pub(super) left_out: Vec<String>,
}

/// Reads a page or a fragment of one.
///
/// # Errors
/// [`DocumentError::Depth`] for a page nested deeper than browsers build: the time to build its
/// tree grows with the square of its depth.
pub(super) fn read(source: &str) -> Result<Page, DocumentError> {
    let dom = tree_of(source)?;
    let (blocks, left_out) = walk::blocks(&dom);
    Ok(Page {
        title: title(&dom),
        date: stated_date(&dom),
        blocks,
        left_out,
    })
}

/// Where the links of a page lead, as they are written, in their order.
///
/// # Errors
/// As for [`read`].
pub(super) fn links(source: &str) -> Result<Vec<String>, DocumentError> {
    let dom = tree_of(source)?;
    let links = dom.all().filter(|node| dom.tag(*node) == "a");
    Ok(links
        .filter_map(|node| dom.attribute(node, "href"))
        .collect())
}

/// The tree of a page or a fragment of one.
///
/// # Errors
/// As for [`read`].
fn tree_of(source: &str) -> Result<Dom, DocumentError> {
    let options = ParseOpts {
        tree_builder: TreeBuilderOpts {
            scripting_enabled: true,
            ..TreeBuilderOpts::default()
        },
        ..ParseOpts::default()
    };
    let mut parser = html5ever::parse_document(Dom::default(), options);
    let mut rest = source;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES.min(rest.len())));
        rest = after;
        parser.process(piece.into());
        if parser.tokenizer.sink.sink.depth() > DEPTH_MAX {
            return Err(DocumentError::Depth {
                part: "the page".to_owned(),
                limit: DEPTH_MAX,
            });
        }
    }
    Ok(parser.finish())
}

fn has_mark(bytes: &[u8]) -> bool {
    encoding_rs::Encoding::for_bom(bytes).is_some()
}

/// The label after `charset=` in the first KiB, where a browser looks for it.
fn declared_charset(bytes: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(1024)]).to_ascii_lowercase();
    let (_, rest) = head
        .split_once("charset=")
        .or_else(|| head.split_once("encoding="))?;
    let label = rest.trim_start_matches(['"', '\'', ' ']);
    let end = label.find(['"', '\'', ' ', '>', ';', '/', '?'])?;
    Some(label[..end].to_owned())
}

fn title(dom: &Dom) -> Option<String> {
    let node = dom
        .all()
        .find(|node| dom.tag(*node) == "title" && !inside_svg(dom, *node))?;
    let title = dom
        .text(node)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    (!title.is_empty()).then_some(title)
}

fn inside_svg(dom: &Dom, node: NodeId) -> bool {
    dom.parent(node)
        .is_some_and(|parent| dom.tag(parent) == "svg")
}

/// The date that a `meta` or a marked `time` states.
fn stated_date(dom: &Dom) -> Option<DocumentDate> {
    for node in dom.all().filter(|node| dom.tag(*node) == "meta") {
        let name = dom
            .attribute(node, "name")
            .or_else(|| dom.attribute(node, "property"));
        let name = name
            .or_else(|| dom.attribute(node, "itemprop"))
            .unwrap_or_default();
        let named = matches!(
            name.to_ascii_lowercase().as_str(),
            "date"
                | "dc.date"
                | "dcterms.date"
                | "dcterms.created"
                | "dc.date.issued"
                | "article:published_time"
                | "datepublished"
        );
        if named
            && let Some(date) = date::stated(
                dom.attribute(node, "content")
                    .and_then(|text| date::iso(&text)),
            )
        {
            return Some(date);
        }
    }
    let time = dom.all().find(|node| {
        dom.tag(*node) == "time"
            && (dom.attribute(*node, "itemprop").as_deref() == Some("datePublished")
                || dom.attribute(*node, "pubdate").is_some())
    })?;
    let value = date::iso(&dom.attribute(time, "datetime")?)?;
    Some(DocumentDate {
        value,
        source: DateSource::Content,
    })
}
