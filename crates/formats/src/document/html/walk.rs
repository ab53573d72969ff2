//! From the tree of a page to Markdown blocks.

use super::super::outline::Block;
use super::super::{script, table};
use super::tree::{DOCUMENT, Dom, NodeId};

/// Levels of nesting whose structure is kept; what lies deeper is plain text.
const DEPTH_MAX: usize = 200;

/// Columns and rows a cell may span; more is a mistake or an attack.
const SPAN_MAX: usize = 64;

/// The visible text of `dom` in reading order, and what was left out.
pub(super) fn blocks(dom: &Dom) -> (Vec<Block>, Vec<String>) {
    let mut walker = Walker {
        dom,
        hidden: 0,
        embedded: 0,
    };
    let mut flow = Flow::default();
    walker.node(DOCUMENT, &mut flow, 0);
    let mut left_out = Vec::new();
    if walker.hidden > 0 {
        left_out.push(format!("{} hidden parts of the page", walker.hidden));
    }
    if walker.embedded > 0 {
        left_out.push(format!("{} embedded frames or objects", walker.embedded));
    }
    (flow.finish(), left_out)
}

/// Blocks gathered so far, and the line that is being written.
#[derive(Debug, Default)]
struct Flow {
    blocks: Vec<Block>,
    line: String,
}

impl Flow {
    /// Adds running text, white space collapsed as a browser does.
    fn words(&mut self, text: &str) {
        for letter in text.chars() {
            if matches!(letter, ' ' | '\t' | '\n' | '\r' | '\x0C') {
                if !self.line.is_empty() && !self.line.ends_with([' ', '\n']) {
                    self.line.push(' ');
                }
            } else {
                self.line.push(letter);
            }
        }
    }

    fn line_break(&mut self) {
        let kept = self.line.trim_end_matches(' ').len();
        self.line.truncate(kept);
        if !self.line.is_empty() {
            self.line.push('\n');
        }
    }

    /// Ends the paragraph being written.
    fn end(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = line.trim();
        if !line.is_empty() {
            self.blocks.push(Block::Text(line.to_owned()));
        }
    }

    fn block(&mut self, block: Block) {
        self.end();
        self.blocks.push(block);
    }

    fn finish(mut self) -> Vec<Block> {
        self.end();
        self.blocks
    }
}

struct Walker<'d> {
    dom: &'d Dom,
    hidden: u32,
    embedded: u32,
}

impl Walker<'_> {
    fn children(&mut self, node: NodeId, flow: &mut Flow, depth: usize) {
        for child in self.dom.children(node) {
            self.node(child, flow, depth + 1);
        }
    }

    /// What lies below `node`, apart.
    fn inside(&mut self, node: NodeId, depth: usize) -> Vec<Block> {
        let mut flow = Flow::default();
        self.children(node, &mut flow, depth);
        flow.finish()
    }

    fn node(&mut self, node: NodeId, flow: &mut Flow, depth: usize) {
        if let Some(text) = self.dom.characters(node) {
            flow.words(&text);
            return;
        }
        let tag = self.dom.tag(node);
        if depth > DEPTH_MAX {
            flow.words(&self.dom.text(node));
            return;
        }
        if self.is_hidden(node, &tag) {
            return;
        }
        match tag.as_str() {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.heading(node, &tag, flow, depth),
            "br" => flow.line_break(),
            "hr" => flow.end(),
            "pre" | "listing" | "xmp" => self.code(node, flow),
            "code" | "kbd" | "samp" | "tt" => self.inline_code(node, flow, depth),
            "a" => self.link(node, flow, depth),
            "img" => self.image(node, flow),
            "input" => self.input(node, flow),
            "ul" | "ol" | "menu" | "dir" => self.list(node, &tag, flow, depth),
            "dl" | "dt" => self.children_apart(node, flow, depth),
            "dd" => self.definition(node, flow, depth),
            "blockquote" => self.quote(node, flow, depth),
            "table" => self.table(node, flow, depth),
            "li" => self.list_item("- ", node, flow, depth),
            "sup" | "sub" => self.raised_or_lowered(node, &tag, flow, depth),
            _ if is_block(&tag) => self.children_apart(node, flow, depth),
            _ => self.children(node, flow, depth),
        }
    }

    fn children_apart(&mut self, node: NodeId, flow: &mut Flow, depth: usize) {
        flow.end();
        self.children(node, flow, depth);
        flow.end();
    }

    fn is_hidden(&mut self, node: NodeId, tag: &str) -> bool {
        match tag {
            "script" | "style" | "template" | "noscript" | "title" | "meta" | "link" | "base"
            | "annotation" | "annotation-xml" | "datalist" | "colgroup" | "param" | "source"
            | "track" => return true,
            "iframe" | "object" | "embed" | "applet" | "audio" | "video" | "canvas" => {
                self.embedded += 1;
                return true;
            }
            "" => return false,
            _ => {}
        }
        let style = self.dom.attribute(node, "style").unwrap_or_default();
        let style: String = style
            .chars()
            .filter(|letter| !letter.is_whitespace())
            .collect::<String>()
            .to_lowercase();
        let hidden = self.dom.attribute(node, "hidden").is_some()
            || style.contains("display:none")
            || style.contains("visibility:hidden");
        if hidden && !self.dom.text(node).trim().is_empty() {
            self.hidden += 1;
        }
        hidden
    }

    fn heading(&mut self, node: NodeId, tag: &str, flow: &mut Flow, depth: usize) {
        flow.end();
        let level = tag.as_bytes()[1] - b'0';
        // A picture or a list in a heading is text of it.
        let words = joined(self.inside(node, depth), " ");
        if !words.trim().is_empty() {
            flow.block(Block::Heading(level, words));
        }
    }

    fn code(&mut self, node: NodeId, flow: &mut Flow) {
        let text = self.dom.text(node);
        let text = text.trim_matches('\n');
        if text.trim().is_empty() {
            return;
        }
        let fence = fence_for(text);
        let language = self.language(node).unwrap_or_default();
        flow.block(Block::Text(format!("{fence}{language}\n{text}\n{fence}")));
    }

    /// The language that `class="language-…"` of a code block states.
    fn language(&self, node: NodeId) -> Option<String> {
        let inner = self
            .dom
            .children(node)
            .into_iter()
            .find(|child| self.dom.tag(*child) == "code");
        [Some(node), inner].into_iter().flatten().find_map(|node| {
            let class = self.dom.attribute(node, "class")?;
            let language = class
                .split_whitespace()
                .find_map(|class| class.strip_prefix("language-"))?;
            language
                .chars()
                .all(|letter| letter.is_alphanumeric() || "+-#_".contains(letter))
                .then(|| language.to_owned())
        })
    }

    fn inline_code(&mut self, node: NodeId, flow: &mut Flow, depth: usize) {
        let words = joined(self.inside(node, depth), " ");
        if words.trim().is_empty() {
            flow.words(" ");
        } else if words.contains('`') || words.contains('\n') {
            flow.words(&words);
        } else {
            flow.line.push('`');
            flow.line.push_str(&words);
            flow.line.push('`');
        }
    }

    /// "10<sup>6</sup>" is not 106.
    fn raised_or_lowered(&mut self, node: NodeId, tag: &str, flow: &mut Flow, depth: usize) {
        let text = self.dom.text(node);
        let script = match tag {
            "sup" => script::raised(text.trim()),
            _ => script::lowered(text.trim()),
        };
        match script {
            Some(script) => flow.words(&script),
            None => self.children(node, flow, depth),
        }
    }

    fn link(&mut self, node: NodeId, flow: &mut Flow, depth: usize) {
        let target = self
            .dom
            .attribute(node, "href")
            .map(|target| target.trim().to_owned());
        let target = target.filter(|target| is_shown(target));
        let blocks = self.inside(node, depth);
        let words = match (blocks.as_slice(), target) {
            ([Block::Text(words)], Some(target)) if !words.contains('\n') && words != &target => {
                format!("[{words}]({target})")
            }
            ([Block::Text(words)], _) => words.clone(),
            // A link around whole blocks is written without its target.
            _ => {
                for block in blocks {
                    flow.block(block);
                }
                return;
            }
        };
        // The white space inside a link is the only one between it and its neighbours.
        let raw = self.dom.text(node);
        if raw.starts_with(char::is_whitespace) {
            flow.words(" ");
        }
        flow.line.push_str(&words);
        if raw.ends_with(char::is_whitespace) {
            flow.words(" ");
        }
    }

    fn image(&mut self, node: NodeId, flow: &mut Flow) {
        let alternative = self.dom.attribute(node, "alt").unwrap_or_default();
        let alternative = alternative.split_whitespace().collect::<Vec<_>>().join(" ");
        if alternative.is_empty() {
            return;
        }
        let source = self.dom.attribute(node, "src").unwrap_or_default();
        let source = if is_shown(&source) { source.trim() } else { "" };
        let written = format!("![{alternative}]({source})");
        flow.line.push_str(&written);
    }

    /// What a browser writes on a control.
    fn input(&mut self, node: NodeId, flow: &mut Flow) {
        let kind = self
            .dom
            .attribute(node, "type")
            .unwrap_or_default()
            .to_ascii_lowercase();
        match kind.as_str() {
            "checkbox" | "radio" => {
                let mark = match self.dom.attribute(node, "checked") {
                    Some(_) => "[x] ",
                    None => "[ ] ",
                };
                flow.words(mark);
            }
            "hidden" | "password" | "file" | "image" => {}
            _ => {
                let shown = self
                    .dom
                    .attribute(node, "value")
                    .filter(|value| !value.trim().is_empty());
                let shown = shown.or_else(|| self.dom.attribute(node, "placeholder"));
                flow.words(&format!(" {} ", shown.unwrap_or_default()));
            }
        }
    }

    fn list(&mut self, node: NodeId, tag: &str, flow: &mut Flow, depth: usize) {
        flow.end();
        let mut number = self
            .dom
            .attribute(node, "start")
            .and_then(|start| start.trim().parse().ok());
        let mut items: Vec<String> = Vec::new();
        for child in self.dom.children(node) {
            let mut apart = Flow::default();
            if self.dom.tag(child) == "li" {
                let value = self.dom.attribute(child, "value");
                number = value.and_then(|value| value.trim().parse().ok()).or(number);
                let marker = match tag {
                    "ol" => format!("{}. ", number.unwrap_or(1_i64)),
                    _ => "- ".to_owned(),
                };
                number = Some(number.unwrap_or(1).saturating_add(1));
                self.list_item(&marker, child, &mut apart, depth + 1);
            } else {
                self.node(child, &mut apart, depth + 1);
            }
            let blocks = apart.finish();
            if blocks
                .iter()
                .any(|block| matches!(block, Block::Heading(..)))
            {
                // A list that lays out a page: its headings matter more than its bullets.
                flush_list(&mut items, flow);
                for block in blocks {
                    flow.block(block);
                }
            } else {
                // A list straight inside a list continues the item above it.
                let nested =
                    matches!(self.dom.tag(child).as_str(), "ul" | "ol") && !items.is_empty();
                for block in blocks {
                    let text = block.into_text();
                    items.push(if nested { indented(&text, 2) } else { text });
                }
            }
        }
        flush_list(&mut items, flow);
    }

    fn list_item(&mut self, marker: &str, node: NodeId, flow: &mut Flow, depth: usize) {
        flow.end();
        let blocks = self.inside(node, depth);
        if blocks
            .iter()
            .any(|block| matches!(block, Block::Heading(..)))
        {
            for block in blocks {
                flow.block(block);
            }
            return;
        }
        let text = joined(blocks, "\n");
        if !text.is_empty() {
            let hanging = indented(&text, marker.len());
            flow.block(Block::Text(format!("{marker}{}", hanging.trim_start())));
        }
    }

    fn definition(&mut self, node: NodeId, flow: &mut Flow, depth: usize) {
        flow.end();
        for block in self.inside(node, depth) {
            match block {
                Block::Text(text) => {
                    let hanging = indented(&text, 2);
                    flow.block(Block::Text(format!(": {}", hanging.trim_start())));
                }
                Block::Heading(..) => flow.block(block),
            }
        }
    }

    fn quote(&mut self, node: NodeId, flow: &mut Flow, depth: usize) {
        flow.end();
        for block in self.inside(node, depth) {
            match block {
                Block::Text(text) => {
                    let lines: Vec<String> = text.lines().map(|line| format!("> {line}")).collect();
                    flow.block(Block::Text(lines.join("\n")));
                }
                Block::Heading(..) => flow.block(block),
            }
        }
    }

    fn table(&mut self, node: NodeId, flow: &mut Flow, depth: usize) {
        flow.end();
        let mut grid = Grid::default();
        let mut around = Vec::new();
        let mut lays_out = false;
        self.rows(node, depth, &mut |row| match row {
            Row::Around(blocks) => around.extend(blocks),
            Row::Cells(cells) => {
                lays_out |= cells.iter().any(|cell| {
                    cell.blocks
                        .iter()
                        .any(|block| matches!(block, Block::Heading(..)))
                });
                grid.row(cells);
            }
        });
        for block in around {
            flow.block(block);
        }
        if lays_out {
            // A table that lays out a page: its cells are blocks of it.
            for cell in grid.cells {
                for block in cell {
                    flow.block(block);
                }
            }
            return;
        }
        let text = table::markdown(&grid.rows);
        if !text.trim().is_empty() {
            flow.block(Block::Text(text));
        }
    }

    fn rows(&mut self, node: NodeId, depth: usize, take: &mut dyn FnMut(Row)) {
        for child in self.dom.children(node) {
            let tag = self.dom.tag(child);
            if self.is_hidden(child, &tag) {
                continue;
            }
            match tag.as_str() {
                "thead" | "tbody" | "tfoot" => self.rows(child, depth + 1, take),
                "tr" => {
                    let mut cells = Vec::new();
                    for cell in self.dom.children(child) {
                        let tag = self.dom.tag(cell);
                        if matches!(tag.as_str(), "td" | "th") && !self.is_hidden(cell, &tag) {
                            cells.push(Cell {
                                blocks: self.inside(cell, depth + 3),
                                columns: self.span(cell, "colspan"),
                                rows: self.span(cell, "rowspan"),
                            });
                        }
                    }
                    take(Row::Cells(cells));
                }
                _ => take(Row::Around(self.inside_or_text(child, depth + 1))),
            }
        }
    }

    fn inside_or_text(&mut self, node: NodeId, depth: usize) -> Vec<Block> {
        let mut flow = Flow::default();
        self.node(node, &mut flow, depth);
        flow.finish()
    }

    fn span(&self, cell: NodeId, attribute: &str) -> usize {
        let stated = self.dom.attribute(cell, attribute);
        stated
            .and_then(|span| span.trim().parse().ok())
            .unwrap_or(1)
            .clamp(1, SPAN_MAX)
    }
}

enum Row {
    Cells(Vec<Cell>),
    /// What stands in a table outside its rows: its caption.
    Around(Vec<Block>),
}

struct Cell {
    blocks: Vec<Block>,
    columns: usize,
    rows: usize,
}

/// A table with its spanning cells repeated, so that each row says all it means.
#[derive(Debug, Default)]
struct Grid {
    rows: Vec<Vec<String>>,
    cells: Vec<Vec<Block>>,
    /// Texts that reach down into the rows to come: column, rows left, text.
    reaching: Vec<(usize, usize, String)>,
}

impl Grid {
    fn row(&mut self, cells: Vec<Cell>) {
        let mut row: Vec<String> = Vec::new();
        let mut reaching = Vec::new();
        let mut above = std::mem::take(&mut self.reaching).into_iter().peekable();
        let mut fill =
            |row: &mut Vec<String>, reaching: &mut Vec<(usize, usize, String)>, all: bool| {
                while let Some((column, left, text)) =
                    above.next_if(|(column, ..)| all || *column <= row.len())
                {
                    if left > 1 {
                        reaching.push((column, left - 1, text.clone()));
                    }
                    row.resize(row.len().max(column), String::new());
                    row.push(text);
                }
            };
        for cell in cells {
            fill(&mut row, &mut reaching, false);
            let text = flat(cell.blocks.clone());
            for _ in 0..cell.columns {
                if cell.rows > 1 {
                    reaching.push((row.len(), cell.rows - 1, text.clone()));
                }
                row.push(text.clone());
            }
            self.cells.push(cell.blocks);
        }
        fill(&mut row, &mut reaching, true);
        reaching.sort_by_key(|(column, ..)| *column);
        self.reaching = reaching;
        self.rows.push(row);
    }
}

fn flush_list(items: &mut Vec<String>, flow: &mut Flow) {
    if !items.is_empty() {
        flow.block(Block::Text(std::mem::take(items).join("\n")));
    }
}

fn joined(blocks: Vec<Block>, between: &str) -> String {
    blocks
        .into_iter()
        .map(Block::into_text)
        .collect::<Vec<_>>()
        .join(between)
}

/// Blocks on the one line of a cell; a table among them without its bars.
fn flat(blocks: Vec<Block>) -> String {
    let mut texts = Vec::new();
    for block in blocks {
        let text = block.into_text();
        texts.push(if text.starts_with("| ") {
            table::flat(&text)
        } else {
            text
        });
    }
    texts.join(" ")
}

fn indented(text: &str, spaces: usize) -> String {
    let margin = " ".repeat(spaces);
    let lines: Vec<String> = text
        .lines()
        .map(|line| {
            if line.is_empty() {
                String::new()
            } else {
                format!("{margin}{line}")
            }
        })
        .collect();
    lines.join("\n")
}

/// A fence that no line of `code` closes.
fn fence_for(code: &str) -> String {
    let mut fence = "```".to_owned();
    while code
        .lines()
        .any(|line| line.trim_start().starts_with(&fence))
    {
        fence.push('`');
    }
    fence
}

/// Whether the target of a link is worth writing: an address, not a program or a picture's bytes.
fn is_shown(target: &str) -> bool {
    let scheme = target
        .trim_start()
        .get(..11)
        .unwrap_or(target)
        .to_ascii_lowercase();
    !target.trim().is_empty()
        && target.len() <= 2048
        && !scheme.starts_with("javascript:")
        && !scheme.starts_with("data:")
        && !target.contains(['\n', ')', '('])
}

fn is_block(tag: &str) -> bool {
    matches!(
        tag,
        "html"
            | "body"
            | "address"
            | "article"
            | "aside"
            | "center"
            | "details"
            | "dialog"
            | "div"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "header"
            | "hgroup"
            | "legend"
            | "main"
            | "nav"
            | "option"
            | "optgroup"
            | "p"
            | "search"
            | "section"
            | "select"
            | "summary"
            | "textarea"
            | "caption"
            | "tr"
            | "td"
            | "th"
            | "svg"
            | "text"
            | "frameset"
    )
}
