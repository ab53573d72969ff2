//! OpenDocument texts, spreadsheets and presentations.

mod read;

use std::collections::BTreeSet;

use model::document::ParsedDocument;

use self::read::Reader;
use super::archive::Archive;
use super::outline::Outline;
use super::sheet::{CELLS_MAX, Sheet};
use super::xml::{Element, Found, XmlReader};
use super::{DocumentError, Limits, date};

/// Rows of a sheet; those beyond are the empty rest that programs write.
const ROWS_MAX: usize = 1 << 21;

const CONTENT: &str = "content.xml";

/// Reads a text.
pub(super) fn text(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, DocumentError> {
    let mut archive = open(bytes, limits)?;
    let mut reader = Reader::new(styles(&mut archive)?);
    edges(&mut archive, &mut reader, "style:header")?;
    content(&mut archive, |xml| {
        let whole = |name: &str| {
            matches!(
                name,
                "text:h"
                    | "text:p"
                    | "text:list"
                    | "table:table"
                    | "text:tracked-changes"
                    | "style:style"
                    | "text:list-style"
                    | "draw:frame"
                    | "office:forms"
            )
        };
        while let Some(block) = xml.next_of(&whole)? {
            if matches!(&*block.name, "style:style" | "text:list-style") {
                reader.styles.add(&block);
            } else {
                reader.block(&block);
            }
        }
        Ok(())
    })?;
    reader.end_section();
    reader.outline.leave();
    edges(&mut archive, &mut reader, "style:footer")?;
    finish(&mut archive, reader)
}

/// Reads a spreadsheet: a section a sheet.
pub(super) fn spreadsheet(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, DocumentError> {
    let mut archive = open(bytes, limits)?;
    let mut reader = Reader::new(styles(&mut archive)?);
    content(&mut archive, |xml| {
        let mut hidden = BTreeSet::new();
        let mut sheet: Option<Sheet> = None;
        let (mut next, mut cells, mut skip) = (0, 0, false);
        let whole = |name: &str| {
            matches!(
                name,
                "table:table-row" | "style:style" | "draw:frame" | "draw:custom-shape"
            )
        };
        while let Some(found) = xml.next_of_either(&|name| name == "table:table", &whole)? {
            match found {
                Found::Opened(table) => {
                    close(&mut sheet, &mut reader);
                    let name = table.attribute("table:name").unwrap_or("Sheet").to_owned();
                    let style = table.attribute("table:style-name").unwrap_or_default();
                    skip = hidden.contains(style);
                    if skip {
                        reader.left_out(format!("sheet `{name}` is hidden"));
                    } else {
                        reader.outline.heading(1, &name);
                        sheet = Some(Sheet::default());
                    }
                    next = 0;
                }
                Found::Whole(style) if style.is("style:style") => {
                    let shown = style.child("style:table-properties");
                    if shown.and_then(|shown| shown.attribute("table:display")) == Some("false") {
                        hidden.extend(style.attribute("style:name").map(str::to_owned));
                    }
                    reader.styles.add(&style);
                }
                Found::Whole(row) if row.is("table:table-row") => {
                    let times = repeated(&row, "table:number-rows-repeated");
                    if let Some(sheet) = sheet.as_mut().filter(|_| next < ROWS_MAX) {
                        let texts = reader.sheet_row(&row);
                        // A filled row repeated is data; a long run of empty ones is the rest.
                        let kept = if texts.is_empty() { 0 } else { times.min(1000) };
                        cells += texts.len() * kept;
                        if cells > CELLS_MAX {
                            return Err(DocumentError::Block {
                                part: CONTENT.to_owned(),
                                limit: CELLS_MAX,
                            });
                        }
                        for at in 0..kept {
                            sheet.row(next + at, texts.clone());
                        }
                    }
                    next += times;
                }
                Found::Whole(drawn) if !skip => {
                    let text = reader.floating(&drawn);
                    reader.later(text);
                }
                Found::Whole(_) => {}
            }
        }
        close(&mut sheet, &mut reader);
        Ok(())
    })?;
    finish(&mut archive, reader)
}

fn close(sheet: &mut Option<Sheet>, reader: &mut Reader) {
    for table in sheet.take().map(Sheet::tables).unwrap_or_default() {
        reader.outline.text(&table);
    }
    reader.end_section();
}

/// Reads a presentation: a section a slide.
pub(super) fn presentation(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, DocumentError> {
    let mut archive = open(bytes, limits)?;
    let mut reader = Reader::new(styles(&mut archive)?);
    let mut number = 0;
    content(&mut archive, |xml| {
        while let Some(page) =
            xml.next_of(&|name| matches!(name, "draw:page" | "style:style" | "text:list-style"))?
        {
            if !page.is("draw:page") {
                reader.styles.add(&page);
                continue;
            }
            number += 1;
            reader.slide(&page, number);
        }
        Ok(())
    })?;
    finish(&mut archive, reader)
}

fn open<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Archive<'a>, DocumentError> {
    let mut archive = Archive::open(bytes, limits)?;
    // A password protects the parts, not the archive around them.
    let part = "META-INF/manifest.xml";
    let encrypted = archive.stream(part, |stream| {
        let mut xml = XmlReader::new(part, stream);
        Ok(xml
            .next_of(&|name| name == "manifest:encryption-data")?
            .is_some())
    })?;
    match encrypted {
        Some(true) => Err(DocumentError::Encrypted),
        _ => Ok(archive),
    }
}

fn content(
    archive: &mut Archive<'_>,
    read: impl FnOnce(&mut XmlReader<'_>) -> Result<(), DocumentError>,
) -> Result<(), DocumentError> {
    let found = archive.stream(CONTENT, |stream| read(&mut XmlReader::new(CONTENT, stream)))?;
    found.ok_or_else(|| DocumentError::broken(format!("the document has no part `{CONTENT}`")))
}

fn styles(archive: &mut Archive<'_>) -> Result<read::Styles, DocumentError> {
    let mut styles = read::Styles::default();
    archive.stream("styles.xml", |stream| {
        let mut xml = XmlReader::new("styles.xml", stream);
        while let Some(style) =
            xml.next_of(&|name| matches!(name, "style:style" | "text:list-style"))?
        {
            styles.add(&style);
        }
        Ok(())
    })?;
    Ok(styles)
}

/// Headers or footers of all page styles, each text once.
fn edges(archive: &mut Archive<'_>, reader: &mut Reader, name: &str) -> Result<(), DocumentError> {
    let mut seen = BTreeSet::new();
    archive.stream("styles.xml", |stream| {
        let mut xml = XmlReader::new("styles.xml", stream);
        while let Some(edge) = xml.next_of(&|found| found == name)? {
            let text = reader.plain(&edge, "\n");
            if seen.insert(text.clone()) {
                reader.outline.text(&text);
            }
        }
        Ok(())
    })?;
    Ok(())
}

fn finish(archive: &mut Archive<'_>, reader: Reader) -> Result<ParsedDocument, DocumentError> {
    let (mut title, mut changed, mut made) = (None, None, None);
    archive.stream("meta.xml", |stream| {
        let mut xml = XmlReader::new("meta.xml", stream);
        let wanted = |name: &str| matches!(name, "dc:title" | "dc:date" | "meta:creation-date");
        while let Some(element) = xml.next_of(&wanted)? {
            let text = element.text().trim().to_owned();
            match &*element.name {
                "dc:title" => title = Some(text).filter(|text| !text.is_empty()),
                "dc:date" => changed = date::iso(&text),
                _ => made = date::iso(&text),
            }
        }
        Ok(())
    })?;
    let left_out = reader.sentences();
    Ok(ParsedDocument {
        title,
        date: date::stated(changed.or(made)),
        sections: reader.finish(),
        left_out,
        ..ParsedDocument::default()
    })
}

/// How often an element stands for itself.
fn repeated(element: &Element, attribute: &str) -> usize {
    element
        .attribute(attribute)
        .and_then(|times| times.parse().ok())
        .unwrap_or(1_usize)
        .clamp(1, ROWS_MAX)
}

/// An outline for what stands apart from the text around it.
fn apart(fill: impl FnOnce(&mut Outline)) -> String {
    let mut outline = Outline::default();
    fill(&mut outline);
    outline
        .finish()
        .into_iter()
        .map(|section| section.body)
        .collect::<Vec<_>>()
        .join("\n\n")
}
