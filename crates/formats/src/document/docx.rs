//! Word documents, transitional and strict.
//!
//! Paragraphs are read one at a time from the stream. Insertions are text, deletions are left out
//! and counted; notes and comments stand at the end of the section that refers to them; headers
//! come once before the text, footers once after it.

mod inline;
mod numbering;
mod styles;

use std::collections::{BTreeMap, BTreeSet};

use model::document::ParsedDocument;

use self::inline::{Inline, Left};
use self::numbering::Numbering;
use self::styles::{Kind, Styles};
use super::archive::Archive;
use super::ooxml::{self, Relations};
use super::outline::Outline;
use super::table;
use super::xml::{Element, XmlReader};
use super::{DocumentError, Limits};

/// Reads a Word document.
pub(super) fn parse(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, DocumentError> {
    let mut archive = Archive::open(bytes, limits)?;
    let main = ooxml::main_part(&mut archive, "word/document.xml")?;
    let relations = Relations::of(&mut archive, &main)?;
    let properties = ooxml::properties(&mut archive)?;

    let part = |kind: &str| {
        relations
            .of_kind(kind)
            .map(|(_, target)| target.to_owned())
            .next()
    };
    let styles = match part("/styles") {
        Some(name) => Styles::read(&mut archive, &name)?,
        None => Styles::default(),
    };
    let numbering = match part("/numbering") {
        Some(name) => Numbering::read(&mut archive, &name)?,
        None => Numbering::default(),
    };
    let mut reader = Reader {
        styles,
        numbering,
        drawings: drawings(&mut archive, &relations)?,
        relations: relations.clone(),
        notes: BTreeMap::new(),
        left: Left::default(),
        outline: Outline::default(),
        last: Last::Other,
        code: Vec::new(),
        due: Vec::new(),
        used: BTreeSet::new(),
    };
    for (kind, entry) in [
        ("/footnotes", "w:footnote"),
        ("/endnotes", "w:endnote"),
        ("/comments", "w:comment"),
    ] {
        if let Some(name) = part(kind) {
            reader.read_notes(&mut archive, &name, entry)?;
        }
    }
    reader.read_edges(&mut archive, "/header")?;
    let found = archive.stream(&main, |stream| {
        let mut xml = XmlReader::new(&main, stream);
        while let Some(block) = xml.next_of(&|name| matches!(name, "w:p" | "w:tbl"))? {
            reader.block(&block);
        }
        Ok(())
    })?;
    if found.is_none() {
        return Err(DocumentError::broken(format!(
            "the document has no part `{main}`"
        )));
    }
    reader.end_section();
    reader.unused_notes();
    reader.outline.leave();
    reader.read_edges(&mut archive, "/footer")?;
    reader.flush_code();
    Ok(ParsedDocument {
        title: properties.title,
        date: properties.date,
        sections: reader.outline.finish(),
        left_out: reader.left.sentences(),
        ..ParsedDocument::default()
    })
}

/// Texts of charts and diagrams, by the id that refers to them.
fn drawings(
    archive: &mut Archive<'_>,
    relations: &Relations,
) -> Result<BTreeMap<String, String>, DocumentError> {
    let mut texts = BTreeMap::new();
    for (kind, read) in [
        ("/chart", ooxml::chart as ooxml::ReadPart),
        ("/diagramData", ooxml::diagram),
    ] {
        for (id, target) in relations.of_kind(kind) {
            if let Some(text) = read(archive, target)? {
                texts.insert(id.to_owned(), text);
            }
        }
    }
    Ok(texts)
}

/// What the last block was: list items stand close together, code lines share a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Item,
    Other,
}

struct Reader {
    styles: Styles,
    numbering: Numbering,
    relations: Relations,
    drawings: BTreeMap<String, String>,
    /// Texts of notes and comments by kind and id.
    notes: BTreeMap<(String, String), String>,
    left: Left,
    outline: Outline,
    last: Last,
    code: Vec<String>,
    /// Notes that the section being read refers to.
    due: Vec<(String, String)>,
    used: BTreeSet<(String, String)>,
}

impl Reader {
    fn read_notes(
        &mut self,
        archive: &mut Archive<'_>,
        name: &str,
        entry: &str,
    ) -> Result<(), DocumentError> {
        let relations = Relations::of(archive, name)?;
        let outer = std::mem::replace(&mut self.relations, relations);
        archive.stream(name, |stream| {
            let mut xml = XmlReader::new(name, stream);
            while let Some(note) = xml.next_of(&|found| found == entry)? {
                let text = self.plain(&note, "\n");
                let id = note.attribute("w:id").unwrap_or_default().to_owned();
                if text.trim().is_empty() {
                    continue;
                }
                let author = note.attribute("w:author").filter(|_| entry == "w:comment");
                let text = match author {
                    Some(author) => format!("Comment by {author}: {}", text.trim()),
                    None if entry == "w:comment" => format!("Comment: {}", text.trim()),
                    None => text.trim().to_owned(),
                };
                self.notes.insert((entry.to_owned(), id), text);
            }
            Ok(())
        })?;
        self.relations = outer;
        Ok(())
    }

    /// Headers or footers, each text once.
    fn read_edges(&mut self, archive: &mut Archive<'_>, kind: &str) -> Result<(), DocumentError> {
        let targets: BTreeSet<String> = self
            .relations
            .of_kind(kind)
            .map(|(_, target)| target.to_owned())
            .collect();
        let mut seen = BTreeSet::new();
        for name in targets {
            let relations = Relations::of(archive, &name)?;
            let outer = std::mem::replace(&mut self.relations, relations);
            let mut texts = Vec::new();
            archive.stream(&name, |stream| {
                let mut xml = XmlReader::new(&name, stream);
                while let Some(block) = xml.next_of(&|found| matches!(found, "w:p" | "w:tbl"))? {
                    texts.push(self.plain_block(&block));
                }
                Ok(())
            })?;
            self.relations = outer;
            for text in texts {
                if seen.insert(text.split_whitespace().collect::<String>()) {
                    self.outline.text(&text);
                }
            }
        }
        Ok(())
    }

    fn block(&mut self, block: &Element) {
        if block.is("w:tbl") {
            self.table_block(block);
        } else {
            self.paragraph(block);
        }
    }

    fn paragraph(&mut self, paragraph: &Element) {
        let properties = paragraph.child("w:pPr");
        let style = properties.and_then(|properties| properties.value_of("w:pStyle"));
        let kind = self.styles.kind(style, properties);
        let inline = self.inline(paragraph);
        let marker = self.marker(style, properties, &inline.text);
        if kind == Kind::Code && !inline.text.is_empty() {
            self.code.push(inline.text);
        } else {
            self.flush_code();
            match kind {
                Kind::Heading(level) if !inline.text.trim().is_empty() => {
                    self.end_section();
                    let number = match &marker {
                        Some(marker) if marker.ordered => format!("{} ", marker.text),
                        _ => String::new(),
                    };
                    self.outline
                        .heading(level, &format!("{number}{}", inline.text.trim()));
                    self.last = Last::Other;
                }
                _ => self.text_or_item(&inline.text, marker),
            }
        }
        for (kind, id) in inline.notes {
            self.due.push((kind, id));
        }
        for float in inline.floats {
            self.flush_code();
            self.outline.text(&float);
            self.last = Last::Other;
        }
    }

    fn text_or_item(&mut self, text: &str, marker: Option<numbering::Marker>) {
        if text.trim().is_empty() {
            return;
        }
        let Some(marker) = marker else {
            self.outline.text(text.trim());
            self.last = Last::Other;
            return;
        };
        let margin = "  ".repeat(marker.level);
        let hanging = text.trim().replace('\n', &format!("\n{margin}  "));
        let item = format!("{margin}{} {hanging}", marker.text);
        match self.last {
            Last::Item => self.outline.line(&item),
            Last::Other => self.outline.text(&item),
        }
        self.last = Last::Item;
    }

    /// The marker of a list item or a numbered heading.
    fn marker(
        &mut self,
        style: Option<&str>,
        properties: Option<&Element>,
        text: &str,
    ) -> Option<numbering::Marker> {
        let own = properties.and_then(|properties| properties.child("w:numPr"));
        let from_style = self.styles.numbering(style);
        let list = own
            .and_then(|own| own.value_of("w:numId"))
            .or(from_style.as_ref().map(|(list, _)| list.as_str()))?
            .to_owned();
        let level = own
            .and_then(|own| own.value_of("w:ilvl"))
            .and_then(|level| level.parse().ok());
        let level = level.or(from_style.map(|(_, level)| level)).unwrap_or(0);
        // Word counts empty paragraphs too but shows nobody their number.
        (!text.trim().is_empty())
            .then(|| self.numbering.next(&list, level))
            .flatten()
    }

    fn inline(&mut self, element: &Element) -> Inline {
        let mut inline = Inline::default();
        self.run(element, &mut inline);
        inline.settle();
        inline
    }

    fn flush_code(&mut self) {
        if !self.code.is_empty() {
            let lines = std::mem::take(&mut self.code);
            self.outline
                .text(&format!("```\n{}\n```", lines.join("\n")));
            self.last = Last::Other;
        }
    }

    /// Writes the notes of the section that ends here.
    fn end_section(&mut self) {
        self.flush_code();
        for key in std::mem::take(&mut self.due) {
            if !self.used.insert(key.clone()) {
                continue;
            }
            let Some(text) = self.notes.get(&key) else {
                continue;
            };
            let text = match note_mark(&key.0, &key.1) {
                Some(mark) => format!("{mark}: {text}"),
                None => text.clone(),
            };
            self.outline.text(&text);
        }
    }

    /// Notes that nothing refers to are text all the same.
    fn unused_notes(&mut self) {
        let unused: Vec<_> = self
            .notes
            .keys()
            .filter(|key| !self.used.contains(*key))
            .cloned()
            .collect();
        self.due = unused;
        self.end_section();
    }

    fn table_block(&mut self, table: &Element) {
        self.flush_code();
        let rows = self.rows(table);
        self.last = Last::Other;
        if let [row] = rows.as_slice()
            && row.len() == 1
        {
            // A frame around text rather than a table.
            let mut cells = Vec::new();
            cells_of(table, &mut |cell| cells.push(cell.clone()));
            for cell in cells {
                for block in blocks_of(&cell) {
                    self.block(&block);
                }
            }
            return;
        }
        let text = table::markdown(&rows);
        self.outline.text(&text);
        let due = std::mem::take(&mut self.left.notes_in_cells);
        self.due.extend(due);
    }

    /// The cells of a table as text, spanning ones repeated.
    fn rows(&mut self, table: &Element) -> Vec<Vec<String>> {
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut found = Vec::new();
        rows_of(table, &mut |row| found.push(row));
        for row in found {
            let deleted = row
                .child("w:trPr")
                .is_some_and(|row| row.child("w:del").is_some());
            if deleted {
                self.left.deleted += row.text().chars().count();
                continue;
            }
            let before = row
                .child("w:trPr")
                .and_then(|row| row.value_of("w:gridBefore"));
            let before = before
                .and_then(|before| before.parse().ok())
                .unwrap_or(0_usize)
                .min(64);
            let mut texts: Vec<String> = vec![String::new(); before];
            let mut cells = Vec::new();
            cells_in(row, &mut |cell| cells.push(cell));
            for cell in cells {
                let properties = cell.child("w:tcPr");
                let span = properties.and_then(|cell| cell.value_of("w:gridSpan"));
                let span = span
                    .and_then(|span| span.parse().ok())
                    .unwrap_or(1_usize)
                    .clamp(1, 64);
                let merged = properties.and_then(|cell| cell.child("w:vMerge"));
                let goes_on =
                    merged.is_some_and(|merge| merge.attribute("w:val") != Some("restart"));
                let own = self.plain(cell, " ");
                let text = if goes_on && own.trim().is_empty() {
                    rows.last()
                        .and_then(|above| above.get(texts.len()))
                        .cloned()
                        .unwrap_or_default()
                } else {
                    own
                };
                for _ in 0..span {
                    texts.push(text.clone());
                }
            }
            rows.push(texts);
        }
        rows
    }

    /// The text of the blocks in `container`, one after the other.
    fn plain(&mut self, container: &Element, between: &str) -> String {
        let mut texts = Vec::new();
        for block in blocks_of(container) {
            let text = self.plain_block(&block);
            if !text.trim().is_empty() {
                texts.push(text.trim().to_owned());
            }
        }
        texts.join(between)
    }

    fn plain_block(&mut self, block: &Element) -> String {
        if block.is("w:tbl") {
            let rows = self.rows(block);
            let lines: Vec<String> = rows.iter().map(|row| row.join(" ")).collect();
            return lines.join("\n");
        }
        let properties = block.child("w:pPr");
        let style = properties.and_then(|properties| properties.value_of("w:pStyle"));
        let inline = self.inline(block);
        let marker = self.marker(style, properties, &inline.text);
        self.left.notes_in_cells.extend(inline.notes);
        let mut text = match marker {
            Some(marker) => format!("{} {}", marker.text, inline.text.trim()),
            None => inline.text.trim().to_owned(),
        };
        for float in inline.floats {
            text.push('\n');
            text.push_str(&float);
        }
        text
    }

    /// The blocks of a text box as Markdown.
    fn text_box(&mut self, container: &Element) -> String {
        let outer = std::mem::take(&mut self.outline);
        let (last, code) = (self.last, std::mem::take(&mut self.code));
        self.last = Last::Other;
        for block in blocks_of(container) {
            // A text box is no part of the outline, whatever its styles say.
            if block.is("w:tbl") {
                self.table_block(&block);
            } else {
                let properties = block.child("w:pPr");
                let style = properties.and_then(|properties| properties.value_of("w:pStyle"));
                let inline = self.inline(&block);
                let marker = self.marker(style, properties, &inline.text);
                self.text_or_item(&inline.text, marker);
                self.due.extend(inline.notes);
                for float in inline.floats {
                    self.outline.text(&float);
                }
            }
        }
        self.flush_code();
        (self.last, self.code) = (last, code);
        let inner = std::mem::replace(&mut self.outline, outer);
        inner
            .finish()
            .into_iter()
            .map(|section| section.body)
            .collect::<Vec<_>>()
            .join("\n\n")
    }
}

/// How the text refers to a note; comments are not marked, they would cut words.
fn note_mark(kind: &str, id: &str) -> Option<String> {
    match kind {
        "w:footnote" => Some(format!("[^{id}]")),
        "w:endnote" => Some(format!("[^e{id}]")),
        _ => None,
    }
}

/// Wrappers that hold blocks without being ones.
fn is_wrapper(name: &str) -> bool {
    matches!(
        name,
        "w:sdt"
            | "w:sdtContent"
            | "w:customXml"
            | "w:ins"
            | "w:moveTo"
            | "w:smartTag"
            | "w:txbxContent"
    )
}

/// Paragraphs and tables straight inside `container`, wrappers opened.
fn blocks_of(container: &Element) -> Vec<Element> {
    let mut blocks = Vec::new();
    for element in container.elements() {
        if element.is("w:p") || element.is("w:tbl") {
            blocks.push(element.clone());
        } else if is_wrapper(&element.name) {
            blocks.extend(blocks_of(element));
        }
    }
    blocks
}

fn rows_of<'e>(table: &'e Element, take: &mut dyn FnMut(&'e Element)) {
    for element in table.elements() {
        match element.is("w:tr") {
            true => take(element),
            false if is_wrapper(&element.name) => rows_of(element, take),
            false => {}
        }
    }
}

fn cells_in<'e>(row: &'e Element, take: &mut dyn FnMut(&'e Element)) {
    for element in row.elements() {
        match element.is("w:tc") {
            true => take(element),
            false if is_wrapper(&element.name) => cells_in(element, take),
            false => {}
        }
    }
}

fn cells_of<'e>(table: &'e Element, take: &mut dyn FnMut(&'e Element)) {
    rows_of(table, &mut |row| cells_in(row, take));
}
