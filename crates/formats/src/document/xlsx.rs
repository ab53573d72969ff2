//! Excel workbooks: a section a sheet, its tables row by row with the values as they are shown.

mod number;

use std::collections::BTreeMap;

use model::document::ParsedDocument;

use self::number::Formats;
use super::archive::Archive;
use super::ooxml::{self, Relations};
use super::outline::Outline;
use super::sheet::{CELLS_MAX, Sheet};
use super::xml::{Element, Found, XmlReader};
use super::{DocumentError, Limits};

/// Reads a workbook. Hidden sheets are named, not read.
pub(super) fn parse(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, DocumentError> {
    let mut archive = Archive::open(bytes, limits)?;
    let main = ooxml::main_part(&mut archive, "xl/workbook.xml")?;
    let relations = Relations::of(&mut archive, &main)?;
    let properties = ooxml::properties(&mut archive)?;
    let (sheets, epoch_1904) = sheets(&mut archive, &main)?;
    let part = |kind: &str| {
        relations
            .of_kind(kind)
            .map(|(_, target)| target.to_owned())
            .next()
    };
    let shared = match part("/sharedStrings") {
        Some(name) => shared_strings(&mut archive, &name)?,
        None => Vec::new(),
    };
    let formats = match part("/styles") {
        Some(name) => Formats::read(&mut archive, &name, epoch_1904)?,
        None => Formats::default(),
    };
    let persons = persons(&mut archive, &relations)?;
    let mut outline = Outline::default();
    let mut left_out = Vec::new();
    for (name, id, state) in sheets {
        if state != "visible" {
            left_out.push(format!("sheet `{name}` is hidden"));
            continue;
        }
        let Some(part) = relations.target(&id).map(str::to_owned) else {
            continue;
        };
        outline.heading(1, &name);
        let read = Workbook {
            shared: &shared,
            formats: &formats,
        }
        .sheet(&mut archive, &part)?;
        let Some((sheet, empty_formulas)) = read else {
            left_out.push(format!("sheet `{name}` is not in the file"));
            continue;
        };
        if empty_formulas > 0 {
            left_out.push(format!(
                "{empty_formulas} formulas of sheet `{name}` have no stored value"
            ));
        }
        for table in sheet.tables() {
            outline.text(&table);
        }
        beside(&mut archive, &part, &persons, &mut outline, &mut left_out)?;
    }
    Ok(ParsedDocument {
        title: properties.title,
        date: properties.date,
        sections: outline.finish(),
        left_out,
        ..ParsedDocument::default()
    })
}

/// Name, relation and visibility of a sheet.
type SheetEntry = (String, String, String);

/// The sheets in their order, and whether days count from 1904.
fn sheets(archive: &mut Archive<'_>, main: &str) -> Result<(Vec<SheetEntry>, bool), DocumentError> {
    let found = archive.stream(main, |stream| {
        let mut xml = XmlReader::new(main, stream);
        let (mut sheets, mut epoch_1904) = (Vec::new(), false);
        while let Some(element) = xml.next_of(&|name| matches!(name, "s:sheet" | "s:workbookPr"))? {
            let of = |name: &str| element.attribute(name).unwrap_or_default().to_owned();
            if element.is("s:workbookPr") {
                epoch_1904 = matches!(element.attribute("date1904"), Some("1" | "true"));
            } else {
                let state = element.attribute("state").unwrap_or("visible").to_owned();
                sheets.push((of("name"), of("r:id"), state));
            }
        }
        Ok((sheets, epoch_1904))
    })?;
    found.ok_or_else(|| DocumentError::broken(format!("the workbook has no part `{main}`")))
}

fn shared_strings(archive: &mut Archive<'_>, name: &str) -> Result<Vec<Box<str>>, DocumentError> {
    let strings = archive.stream(name, |stream| {
        let mut xml = XmlReader::new(name, stream);
        let mut strings = Vec::new();
        while let Some(element) = xml.next_of(&|name| name == "s:si")? {
            strings.push(rich_text(&element).into());
        }
        Ok(strings)
    })?;
    Ok(strings.unwrap_or_default())
}

/// The text of a string with runs, without the readings that stand above it.
fn rich_text(element: &Element) -> String {
    let mut out = String::new();
    for child in element.elements() {
        match &*child.name {
            "s:t" => out.push_str(&child.text()),
            "s:r" => out.push_str(&rich_text(child)),
            _ => {}
        }
    }
    out
}

/// Names of those who comment, by id.
fn persons(
    archive: &mut Archive<'_>,
    relations: &Relations,
) -> Result<BTreeMap<String, String>, DocumentError> {
    let mut persons = BTreeMap::new();
    for (_, part) in relations.of_kind("/person") {
        archive.stream(part, |stream| {
            let mut xml = XmlReader::new(part, stream);
            while let Some(person) = xml.next_of(&|name| name == "person")? {
                let of = |name: &str| person.attribute(name).unwrap_or_default().to_owned();
                persons.insert(of("id"), of("displayName"));
            }
            Ok(())
        })?;
    }
    Ok(persons)
}

struct Workbook<'w> {
    shared: &'w [Box<str>],
    formats: &'w Formats,
}

impl Workbook<'_> {
    /// The cells of a sheet, and how many formulas have no value.
    fn sheet(
        &self,
        archive: &mut Archive<'_>,
        part: &str,
    ) -> Result<Option<(Sheet, usize)>, DocumentError> {
        archive.stream(part, |stream| {
            let mut xml = XmlReader::new(part, stream);
            let mut sheet = Sheet::default();
            let (mut empty_formulas, mut next, mut cells) = (0, 0, 0);
            while let Some(found) =
                xml.next_of_either(&|_| false, &|name| matches!(name, "s:row" | "s:mergeCell"))?
            {
                let Found::Whole(element) = found else {
                    continue;
                };
                if element.is("s:mergeCell") {
                    if let Some((rows, columns)) = element.attribute("ref").and_then(area) {
                        sheet.merge(rows, columns);
                    }
                    continue;
                }
                let stated = element
                    .attribute("r")
                    .and_then(|row| row.parse::<usize>().ok());
                let at = stated
                    .and_then(|row| row.checked_sub(1))
                    .unwrap_or(next)
                    .max(next);
                next = at + 1;
                let row = self.row(&element, &mut empty_formulas);
                cells += row.len();
                if cells > CELLS_MAX {
                    return Err(DocumentError::Block {
                        part: part.to_owned(),
                        limit: CELLS_MAX,
                    });
                }
                sheet.row(at, row);
            }
            Ok((sheet, empty_formulas))
        })
    }

    fn row(&self, row: &Element, empty_formulas: &mut usize) -> Vec<(usize, String)> {
        let mut cells = Vec::new();
        let mut next = 0;
        for cell in row.elements().filter(|cell| cell.is("s:c")) {
            let stated = cell
                .attribute("r")
                .and_then(place)
                .map(|(_, column)| column);
            let column = stated.unwrap_or(next).max(next);
            next = column + 1;
            let text = self.cell(cell);
            if text.is_empty() {
                *empty_formulas +=
                    usize::from(cell.child("s:f").is_some() && cell.child("s:v").is_none());
            } else {
                cells.push((column, text));
            }
        }
        cells
    }

    fn cell(&self, cell: &Element) -> String {
        let value = cell.child("s:v").map(Element::text).unwrap_or_default();
        match cell.attribute("t") {
            Some("s") => {
                let shared = value
                    .trim()
                    .parse::<usize>()
                    .ok()
                    .and_then(|at| self.shared.get(at));
                shared.map(|text| text.to_string()).unwrap_or_default()
            }
            Some("inlineStr") => cell.child("s:is").map(rich_text).unwrap_or_default(),
            Some("b") => match value.trim() {
                "1" => "TRUE".to_owned(),
                "0" => "FALSE".to_owned(),
                _ => value,
            },
            Some("str" | "e" | "d") => value,
            _ => self.formats.shown(&value, cell.attribute("s")),
        }
    }
}

/// What stands beside a sheet's cells: comments, text boxes and charts.
fn beside(
    archive: &mut Archive<'_>,
    part: &str,
    persons: &BTreeMap<String, String>,
    outline: &mut Outline,
    left_out: &mut Vec<String>,
) -> Result<(), DocumentError> {
    let relations = Relations::of(archive, part)?;
    for (_, drawing) in relations.of_kind("/drawing") {
        let read = ooxml::drawing(archive, drawing)?;
        for text in read.texts {
            outline.text(&text);
        }
        left_out.extend(read.left_out);
    }
    let threaded: Vec<String> = relations
        .of_kind("/threadedComment")
        .map(|(_, part)| part.to_owned())
        .collect();
    for part in &threaded {
        archive.stream(part, |stream| {
            let mut xml = XmlReader::new(part, stream);
            while let Some(comment) = xml.next_of(&|name| name == "threadedComment")? {
                let of = |name: &str| comment.attribute(name).unwrap_or_default();
                let author = persons.get(of("personId")).map_or("", String::as_str);
                outline.text(&remark(author, of("dT"), of("ref"), &comment.text()));
            }
            Ok(())
        })?;
    }
    for (_, part) in relations.of_kind("/comments") {
        archive.stream(part, |stream| {
            let mut xml = XmlReader::new(part, stream);
            let mut authors = Vec::new();
            while let Some(element) =
                xml.next_of(&|name| matches!(name, "s:author" | "s:comment"))?
            {
                if element.is("s:author") {
                    authors.push(element.text());
                    continue;
                }
                let author = element
                    .attribute("authorId")
                    .and_then(|at| at.parse::<usize>().ok());
                let author = author
                    .and_then(|at| authors.get(at))
                    .map_or("", String::as_str);
                // The old form of a threaded comment, kept for old programs.
                if author.starts_with("tc=") && !threaded.is_empty() {
                    continue;
                }
                let text = element.child("s:text").map(rich_text).unwrap_or_default();
                outline.text(&remark(
                    author,
                    "",
                    element.attribute("ref").unwrap_or_default(),
                    &text,
                ));
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn remark(author: &str, time: &str, place: &str, text: &str) -> String {
    let text = text.trim();
    // Excel writes the author's name above the text too.
    let text = text
        .strip_prefix(author)
        .map_or(text, |rest| rest.trim_start_matches(':').trim());
    match (author, time) {
        _ if text.is_empty() => String::new(),
        ("", _) => format!("Comment on {place}: {text}"),
        (author, "") => format!("Comment on {place} [author: {author}]: {text}"),
        (author, time) => format!("Comment on {place} [author: {author}, time: {time}]: {text}"),
    }
}

/// Row and column, from 0, of a cell called like "AB12".
fn place(name: &str) -> Option<(usize, usize)> {
    let split = name.find(|letter: char| letter.is_ascii_digit())?;
    let (letters, digits) = name.split_at(split);
    if letters.is_empty() || letters.len() > 3 {
        return None;
    }
    let mut column = 0;
    for letter in letters.bytes() {
        let letter = letter.to_ascii_uppercase();
        if !letter.is_ascii_uppercase() {
            return None;
        }
        column = column * 26 + usize::from(letter - b'A') + 1;
    }
    Some((digits.parse::<usize>().ok()?.checked_sub(1)?, column - 1))
}

/// Rows and columns of an area called like "A1:C3".
fn area(name: &str) -> Option<((usize, usize), (usize, usize))> {
    let (from, to) = name.split_once(':')?;
    let (from, to) = (place(from)?, place(to)?);
    Some(((from.0, to.0), (from.1, to.1)))
}
