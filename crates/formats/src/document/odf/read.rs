//! Paragraphs, lists and tables of OpenDocument files.

use std::collections::HashMap;

use model::document::Section;

use super::super::outline::Outline;
use super::super::xml::{Element, Node};
use super::super::{script, table};
use super::{apart, repeated};

/// Columns a repeated cell fills.
const REPEAT_MAX: usize = 64;

/// Styles a style may be based on, one upon the other.
const CHAIN_MAX: usize = 20;

/// Styles by name, as far as they say what text is.
#[derive(Debug, Default)]
pub(super) struct Styles {
    parents: HashMap<String, String>,
    levels: HashMap<String, u8>,
    /// List styles: what stands before the items of each level.
    lists: HashMap<String, Vec<Mark>>,
    /// Text styles that raise or lower: "super 58%", "sub 58%".
    positions: HashMap<String, String>,
}

/// What stands before an item of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Bullet,
    Number,
    /// A list that only indents: its style numbers in no format.
    Nothing,
}

impl Styles {
    pub(super) fn add(&mut self, style: &Element) {
        let Some(name) = style.attribute("style:name") else {
            return;
        };
        if style.is("text:list-style") {
            let marks = style
                .elements()
                .filter(|level| level.attribute("text:level").is_some())
                .map(|level| {
                    let format = level.attribute("style:num-format").unwrap_or_default();
                    match (level.is("text:list-level-style-number"), format) {
                        (false, _) => Mark::Bullet,
                        (true, "") => Mark::Nothing,
                        (true, _) => Mark::Number,
                    }
                })
                .collect();
            self.lists.insert(name.to_owned(), marks);
            return;
        }
        let text = style.child("style:text-properties");
        if let Some(position) = text.and_then(|text| text.attribute("style:text-position")) {
            self.positions.insert(name.to_owned(), position.to_owned());
        }
        if let Some(parent) = style.attribute("style:parent-style-name") {
            self.parents.insert(name.to_owned(), parent.to_owned());
        }
        if let Some(level) = style
            .attribute("style:default-outline-level")
            .and_then(|level| level.parse().ok())
        {
            self.levels.insert(name.to_owned(), level);
        }
    }

    /// The style and those it is based on, nearest first.
    fn chain<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s str> {
        std::iter::successors(Some(name), |name| {
            self.parents.get(*name).map(String::as_str)
        })
        .take(CHAIN_MAX)
    }

    /// The level of a paragraph that is a heading by its style; 0 is the title.
    fn heading(&self, name: &str) -> Option<u8> {
        self.chain(name).find_map(|style| match style {
            "Title" => Some(0),
            "Subtitle" => Some(1),
            _ => None,
        })
    }

    fn is_code(&self, name: &str) -> bool {
        self.chain(name)
            .any(|style| style.starts_with("Preformatted") || style.contains("Code"))
    }

    fn mark(&self, list: &str, level: usize) -> Mark {
        let marks = self.lists.get(list);
        let mark = marks.and_then(|levels| levels.get(level));
        mark.copied().unwrap_or(Mark::Bullet)
    }
}

/// Reads blocks into an outline.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) styles: Styles,
    pub(super) outline: Outline,
    notes: Vec<String>,
    floats: Vec<String>,
    code: Vec<String>,
    deleted: usize,
    pictures: usize,
    objects: usize,
    left_out: Vec<String>,
    /// Where the last list at each level stopped counting.
    counted: HashMap<usize, usize>,
}

impl Reader {
    pub(super) fn new(styles: Styles) -> Reader {
        Reader {
            styles,
            outline: Outline::default(),
            notes: Vec::new(),
            floats: Vec::new(),
            code: Vec::new(),
            deleted: 0,
            pictures: 0,
            objects: 0,
            left_out: Vec::new(),
            counted: HashMap::new(),
        }
    }

    pub(super) fn left_out(&mut self, sentence: String) {
        self.left_out.push(sentence);
    }

    pub(super) fn sentences(&self) -> Vec<String> {
        let counted = [
            (self.deleted, "characters of tracked deletions"),
            (self.pictures, "pictures (their text is not read)"),
            (self.objects, "embedded objects"),
        ];
        let counted = counted.into_iter().filter(|(count, _)| *count > 0);
        self.left_out
            .iter()
            .cloned()
            .chain(counted.map(|(count, what)| format!("{count} {what}")))
            .collect()
    }

    pub(super) fn finish(mut self) -> Vec<Section> {
        self.end_section();
        self.outline.finish()
    }

    /// Keeps a text for the end of the section.
    pub(super) fn later(&mut self, text: String) {
        if !text.trim().is_empty() {
            self.notes.push(text);
        }
    }

    /// Writes the notes of the section that ends here.
    pub(super) fn end_section(&mut self) {
        self.flush_code();
        for note in std::mem::take(&mut self.notes) {
            self.outline.text(&note);
        }
    }

    fn flush_code(&mut self) {
        if !self.code.is_empty() {
            let lines = std::mem::take(&mut self.code);
            self.outline
                .text(&format!("```\n{}\n```", lines.join("\n")));
        }
    }

    fn flush_floats(&mut self) {
        for float in std::mem::take(&mut self.floats) {
            self.outline.text(&float);
        }
    }

    /// Adds a block of a text.
    pub(super) fn block(&mut self, block: &Element) {
        match &*block.name {
            "text:h" => {
                let level = block
                    .attribute("text:outline-level")
                    .and_then(|level| level.parse().ok());
                let text = self.inline(block);
                self.heading(level.unwrap_or(1), &text);
            }
            "text:p" => {
                let style = block
                    .attribute("text:style-name")
                    .unwrap_or_default()
                    .to_owned();
                let text = self.inline(block);
                if self.styles.is_code(&style) && !text.trim().is_empty() {
                    self.code.push(text);
                } else if let Some(level) = self.styles.heading(&style) {
                    self.heading(level, &text);
                } else {
                    self.flush_code();
                    self.outline.text(text.trim());
                }
            }
            "text:list" => {
                self.flush_code();
                let mut lines = Vec::new();
                self.list(block, "", 0, &mut lines);
                self.outline.text(&lines.join("\n"));
            }
            "table:table" => {
                self.flush_code();
                let text = self.table(block);
                self.outline.text(&text);
            }
            "text:tracked-changes" => {
                block.each("text:deletion", &mut |deletion| {
                    for text in deletion
                        .elements()
                        .filter(|part| !part.is("office:change-info"))
                    {
                        self.deleted += text.text().chars().count();
                    }
                });
            }
            "draw:frame" => {
                let text = self.floating(block);
                self.outline.text(&text);
            }
            _ => {}
        }
        self.flush_floats();
    }

    fn heading(&mut self, level: u8, text: &str) {
        if !text.trim().is_empty() {
            self.end_section();
            self.outline.heading(level, text);
        }
    }

    /// The running text of a paragraph; what floats in it is kept for after it.
    fn inline(&mut self, element: &Element) -> String {
        let mut out = String::new();
        self.inline_into(element, &mut out);
        out
    }

    fn inline_into(&mut self, element: &Element, out: &mut String) {
        for node in &element.children {
            match node {
                Node::Text(text) => words(text, out),
                Node::Element(child) => self.inline_element(child, out),
            }
        }
    }

    fn inline_element(&mut self, element: &Element, out: &mut String) {
        match &*element.name {
            "text:s" => {
                let count = element
                    .attribute("text:c")
                    .and_then(|count| count.parse().ok())
                    .unwrap_or(1_usize);
                out.push_str(&" ".repeat(count.min(1000)));
            }
            "text:tab" => out.push('\t'),
            "text:line-break" => out.push('\n'),
            "text:a" => {
                let start = out.len();
                self.inline_into(element, out);
                let target = element.attribute("xlink:href").unwrap_or_default();
                let text = out[start..].to_owned();
                if !target.is_empty()
                    && !text.trim().is_empty()
                    && text.trim() != target
                    && !text.contains('\n')
                    && !target.contains([' ', '(', ')'])
                {
                    out.truncate(start);
                    let written = format!("[{text}]({target})");
                    out.push_str(&written);
                }
            }
            "text:note" => {
                let mark = element
                    .child("text:note-citation")
                    .map(Element::text)
                    .unwrap_or_default();
                let written = format!("[^{mark}]");
                out.push_str(&written);
                if let Some(body) = element.child("text:note-body") {
                    let text = self.plain(body, "\n");
                    self.later(format!("[^{mark}]: {text}"));
                }
            }
            "office:annotation" => {
                let author = element
                    .child("dc:creator")
                    .map(Element::text)
                    .unwrap_or_default();
                let text = self.plain(element, "\n");
                let by = if author.is_empty() {
                    String::new()
                } else {
                    format!(" by {author}")
                };
                if !text.is_empty() {
                    self.later(format!("Comment{by}: {text}"));
                }
            }
            "text:ruby" => {
                if let Some(base) = element.child("text:ruby-base") {
                    self.inline_into(base, out);
                }
                if let Some(reading) = element.child("text:ruby-text") {
                    let written = format!("({})", reading.text());
                    out.push_str(&written);
                }
            }
            "draw:frame" | "draw:custom-shape" | "draw:g" | "draw:rect" | "draw:ellipse"
            | "draw:line" | "draw:connector" | "draw:caption" => {
                let text = self.floating(element);
                if !text.trim().is_empty() {
                    self.floats.push(text);
                }
            }
            "text:span" => {
                let start = out.len();
                self.inline_into(element, out);
                let style = element.attribute("text:style-name").unwrap_or_default();
                let position = self.styles.positions.get(style).map_or("", String::as_str);
                let moved = match position.split(' ').next() {
                    Some("super") => script::raised(&out[start..]),
                    Some("sub") => script::lowered(&out[start..]),
                    _ => None,
                };
                if let Some(moved) = moved {
                    out.replace_range(start.., &moved);
                }
            }
            "office:event-listeners"
            | "text:tracked-changes"
            | "presentation:notes"
            | "svg:title"
            | "svg:desc" => {}
            _ => self.inline_into(element, out),
        }
    }

    /// The text in a frame or shape as Markdown.
    pub(super) fn floating(&mut self, element: &Element) -> String {
        let mut texts = Vec::new();
        self.floating_into(element, &mut texts);
        texts.retain(|text| !text.trim().is_empty());
        texts.join("\n\n")
    }

    fn floating_into(&mut self, element: &Element, texts: &mut Vec<String>) {
        let mut pictured = false;
        for child in element.elements() {
            match &*child.name {
                "text:p" | "text:h" => {
                    let text = self.inline(child);
                    texts.push(text.trim().to_owned());
                    texts.append(&mut self.floats);
                }
                "text:list" => {
                    let mut lines = Vec::new();
                    self.list(child, "", 0, &mut lines);
                    texts.push(lines.join("\n"));
                }
                "table:table" => {
                    let text = self.table(child);
                    texts.push(text);
                }
                // The picture of a table or an object repeats it.
                "draw:image" => {
                    let drawn = element.child("table:table").is_some()
                        || element.child("draw:object").is_some()
                        || element.child("draw:object-ole").is_some();
                    if !drawn && !pictured {
                        self.pictures += 1;
                        pictured = true;
                    }
                }
                "draw:object" | "draw:object-ole" => self.objects += 1,
                "svg:title" | "svg:desc" => texts.push(format!("![{}]()", child.text().trim())),
                "office:event-listeners" | "presentation:notes" => {}
                _ => self.floating_into(child, texts),
            }
        }
    }

    /// The items of a list, one a line, lists in it further in.
    fn list(&mut self, list: &Element, style: &str, level: usize, lines: &mut Vec<String>) {
        let style = list
            .attribute("text:style-name")
            .unwrap_or(style)
            .to_owned();
        let mark = self.styles.mark(&style, level);
        let goes_on = list.attribute("text:continue-numbering") == Some("true")
            || list.attribute("text:continue-list").is_some();
        let mut number = if goes_on {
            self.counted.get(&level).copied().unwrap_or(0)
        } else {
            0
        };
        let margin = "  ".repeat(level);
        for item in list.elements() {
            if !(item.is("text:list-item") || item.is("text:list-header")) {
                continue;
            }
            let start = item
                .attribute("text:start-value")
                .and_then(|start| start.parse().ok());
            number = start.unwrap_or(number + 1);
            let mut marked = item.is("text:list-header");
            for block in item.elements() {
                match &*block.name {
                    "text:list" => self.list(block, &style, level + 1, lines),
                    "text:p" | "text:h" => {
                        let text = self.inline(block);
                        let text = text.trim().replace('\n', &format!("\n{margin}  "));
                        if text.is_empty() {
                            continue;
                        }
                        let marker = match mark {
                            Mark::Nothing => String::new(),
                            _ if marked => "  ".to_owned(),
                            Mark::Number => format!("{number}. "),
                            Mark::Bullet => "- ".to_owned(),
                        };
                        marked = true;
                        lines.push(format!("{margin}{marker}{text}"));
                    }
                    "table:table" => {
                        let text = self.table(block);
                        lines.push(text);
                    }
                    _ => {}
                }
            }
        }
        self.counted.insert(level, number);
    }

    /// A table as Markdown, its spanning cells repeated.
    fn table(&mut self, table: &Element) -> String {
        let mut rows = Vec::new();
        self.rows(table, &mut rows);
        if let [row] = rows.as_slice()
            && row.len() == 1
        {
            return row[0].clone();
        }
        table::markdown(&rows)
    }

    fn rows(&mut self, table: &Element, rows: &mut Vec<Vec<String>>) {
        for element in table.elements() {
            match &*element.name {
                "table:table-row" => {
                    let above = rows.last().cloned().unwrap_or_default();
                    let mut row: Vec<String> = Vec::new();
                    let mut spanned: Option<(String, usize)> = None;
                    for cell in element.elements() {
                        let times = repeated(cell, "table:number-columns-repeated").min(REPEAT_MAX);
                        match &*cell.name {
                            "table:table-cell" => {
                                let text = self.plain(cell, " ");
                                let span = repeated(cell, "table:number-columns-spanned");
                                spanned = Some((text.clone(), span - 1));
                                row.extend(std::iter::repeat_n(text, times));
                            }
                            // Covered by the cell on its left or, when that has ended, above.
                            "table:covered-table-cell" => {
                                for _ in 0..times {
                                    let text = match &mut spanned {
                                        Some((text, left)) if *left > 0 => {
                                            *left -= 1;
                                            text.clone()
                                        }
                                        _ => above.get(row.len()).cloned().unwrap_or_default(),
                                    };
                                    row.push(text);
                                }
                            }
                            _ => {}
                        }
                    }
                    while row.last().is_some_and(|text| text.is_empty()) && row.len() > REPEAT_MAX {
                        row.pop();
                    }
                    rows.push(row);
                }
                "table:table-rows" | "table:table-header-rows" | "table:table-row-group" => {
                    self.rows(element, rows);
                }
                _ => {}
            }
        }
    }

    /// The filled cells of a sheet's row, by column.
    pub(super) fn sheet_row(&mut self, row: &Element) -> Vec<(usize, String)> {
        let mut cells = Vec::new();
        let mut column = 0;
        for cell in row.elements() {
            if !(cell.is("table:table-cell") || cell.is("table:covered-table-cell")) {
                continue;
            }
            let times = repeated(cell, "table:number-columns-repeated");
            let text = self.plain(cell, " ");
            let span = repeated(cell, "table:number-columns-spanned").min(REPEAT_MAX);
            if !text.is_empty() {
                for at in 0..times.min(REPEAT_MAX).max(span) {
                    cells.push((column + at, text.clone()));
                }
            }
            column += times;
        }
        cells.sort_by_key(|(column, _)| *column);
        cells.dedup_by_key(|(column, _)| *column);
        let floats = std::mem::take(&mut self.floats);
        self.notes.extend(floats);
        cells
    }

    /// The text of the blocks in `container`, one after the other.
    pub(super) fn plain(&mut self, container: &Element, between: &str) -> String {
        let mut texts = Vec::new();
        for block in container.elements() {
            match &*block.name {
                "text:p" | "text:h" => {
                    let text = self.inline(block);
                    texts.push(text.trim().to_owned());
                }
                "text:list" => {
                    let mut lines = Vec::new();
                    self.list(block, "", 0, &mut lines);
                    texts.push(lines.join(between));
                }
                "table:table" => {
                    let text = self.table(block);
                    texts.push(table::flat(&text));
                }
                "text:section" | "text:index-body" => {
                    let text = self.plain(block, between);
                    texts.push(text);
                }
                "office:annotation" => {
                    let mut out = String::new();
                    self.inline_element(block, &mut out);
                }
                "draw:frame" => {
                    let text = self.floating(block);
                    texts.push(text);
                }
                _ => {}
            }
            texts.append(&mut self.floats);
        }
        texts.retain(|text| !text.trim().is_empty());
        texts.join(between)
    }

    /// Adds a slide: its title, its shapes, its notes.
    pub(super) fn slide(&mut self, page: &Element, number: usize) {
        let of_class = |class: &str| {
            page.elements()
                .find(|frame| frame.attribute("presentation:class") == Some(class))
        };
        let title = of_class("title")
            .map(|frame| self.floating(frame))
            .unwrap_or_default();
        let named = page
            .attribute("draw:name")
            .filter(|name| !name.trim().is_empty());
        let named = named.map_or_else(|| format!("Slide {number}"), str::to_owned);
        if title.trim().is_empty() {
            self.heading(1, &named);
        } else {
            self.heading(1, &title);
        }
        for shape in page.elements() {
            match shape.attribute("presentation:class") {
                Some("title" | "page-number" | "date-time") => {}
                _ if shape.is("presentation:notes") => {
                    let mut notes = Vec::new();
                    for frame in shape.elements() {
                        if frame.attribute("presentation:class") == Some("notes") {
                            notes.push(self.floating(frame));
                        }
                    }
                    let notes = apart(|outline| notes.iter().for_each(|note| outline.text(note)));
                    if !notes.is_empty() {
                        self.later(format!("Notes: {notes}"));
                    }
                }
                _ if shape.is("office:annotation") => {
                    let mut out = String::new();
                    self.inline_element(shape, &mut out);
                }
                _ => {
                    let mut texts = Vec::new();
                    if shape.name.starts_with("draw:") {
                        self.floating_shape(shape, &mut texts);
                    }
                    for text in texts {
                        self.outline.text(&text);
                    }
                }
            }
        }
        self.end_section();
    }

    fn floating_shape(&mut self, shape: &Element, texts: &mut Vec<String>) {
        if shape.is("draw:g") {
            for inner in shape.elements() {
                self.floating_shape(inner, texts);
            }
        } else {
            self.floating_into(shape, texts);
        }
    }
}

/// Adds text with its white space collapsed, as the format says.
fn words(text: &str, out: &mut String) {
    for letter in text.chars() {
        if matches!(letter, ' ' | '\t' | '\n' | '\r') {
            if !out.is_empty() && !out.ends_with([' ', '\n', '\t']) {
                out.push(' ');
            }
        } else {
            out.push(letter);
        }
    }
}
