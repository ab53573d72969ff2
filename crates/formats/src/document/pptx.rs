//! PowerPoint presentations: a section a slide, headed by its title.

use std::collections::BTreeSet;

use model::document::ParsedDocument;

use super::archive::Archive;
use super::ooxml::{self, Relations};
use super::outline::Outline;
use super::xml::{Element, XmlReader};
use super::{DocumentError, Limits, omml, table};

/// Reads a presentation. Hidden slides are named, not read.
pub(super) fn parse(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, DocumentError> {
    let mut archive = Archive::open(bytes, limits)?;
    let main = ooxml::main_part(&mut archive, "ppt/presentation.xml")?;
    let relations = Relations::of(&mut archive, &main)?;
    let properties = ooxml::properties(&mut archive)?;
    let slides = archive.stream(&main, |stream| {
        let mut xml = XmlReader::new(&main, stream);
        let mut slides = Vec::new();
        while let Some(slide) = xml.next_of(&|name| name == "p:sldId")? {
            slides.extend(slide.attribute("r:id").map(str::to_owned));
        }
        Ok(slides)
    })?;
    let slides = slides
        .ok_or_else(|| DocumentError::broken(format!("the presentation has no part `{main}`")))?;
    let mut deck = Deck {
        outline: Outline::default(),
        pictures: 0,
        once: BTreeSet::new(),
    };
    let mut left_out = Vec::new();
    for (at, id) in slides.iter().enumerate() {
        let number = at + 1;
        let Some(part) = relations.target(id).map(str::to_owned) else {
            continue;
        };
        if !deck.slide(&mut archive, &part, number)? {
            left_out.push(format!("slide {number} is hidden"));
        }
    }
    if deck.pictures > 0 {
        left_out.push(format!(
            "{} pictures (their text is not read)",
            deck.pictures
        ));
    }
    Ok(ParsedDocument {
        title: properties.title,
        date: properties.date,
        sections: deck.outline.finish(),
        left_out,
        ..ParsedDocument::default()
    })
}

struct Deck {
    outline: Outline,
    pictures: usize,
    /// Footers and dates seen: every slide repeats them.
    once: BTreeSet<String>,
}

/// A shape's text on its way to the outline.
enum Piece {
    Title(String),
    Text(String),
    /// A chart or diagram, by its relation.
    Part(String),
}

impl Deck {
    /// Reads a slide; false if it is hidden.
    fn slide(
        &mut self,
        archive: &mut Archive<'_>,
        part: &str,
        number: usize,
    ) -> Result<bool, DocumentError> {
        let relations = Relations::of(archive, part)?;
        let slide = archive.stream(part, |stream| {
            XmlReader::new(part, stream).next_of(&|name| name == "p:sld")
        })?;
        let Some(slide) = slide.flatten() else {
            return Ok(true);
        };
        if matches!(slide.attribute("show"), Some("0" | "false")) {
            return Ok(false);
        }
        let mut pieces = Vec::new();
        if let Some(tree) = slide.find("p:spTree") {
            self.shapes(tree, &relations, &mut pieces);
        }
        let title = pieces.iter().find_map(|piece| match piece {
            Piece::Title(title) => Some(title.clone()),
            _ => None,
        });
        self.outline
            .heading(1, title.as_deref().unwrap_or(&format!("Slide {number}")));
        let mut titles = 0;
        for piece in pieces {
            match piece {
                // The first is the heading already.
                Piece::Title(text) => {
                    titles += 1;
                    if titles > 1 {
                        self.outline.text(&text);
                    }
                }
                Piece::Text(text) => self.outline.text(&text),
                Piece::Part(id) => {
                    let Some(part) = relations.target(&id) else {
                        continue;
                    };
                    if let Some(text) = ooxml::chart_or_diagram(archive, part)? {
                        self.outline.text(&text);
                    }
                }
            }
        }
        self.remarks(archive, &relations)?;
        Ok(true)
    }

    /// Notes below a slide and comments on it.
    fn remarks(
        &mut self,
        archive: &mut Archive<'_>,
        relations: &Relations,
    ) -> Result<(), DocumentError> {
        for (_, part) in relations.of_kind("/notesSlide") {
            let notes = archive.stream(part, |stream| {
                XmlReader::new(part, stream).next_of(&|name| name == "p:notes")
            })?;
            let mut lines = Vec::new();
            if let Some(notes) = notes.flatten() {
                notes.each("p:sp", &mut |shape| {
                    if placeholder(shape).is_some_and(|kind| kind == "body")
                        && let Some(body) = shape.child("p:txBody")
                    {
                        lines.extend(paragraphs(body).into_iter().map(|line| line.text));
                    }
                });
            }
            lines.retain(|line| !line.trim().is_empty());
            if !lines.is_empty() {
                self.outline.text(&format!("Notes: {}", lines.join("\n")));
            }
        }
        for (_, part) in relations.of_kind("/comments") {
            archive.stream(part, |stream| {
                let mut xml = XmlReader::new(part, stream);
                while let Some(comment) = xml.next_of(&|name| name.ends_with("cm"))? {
                    let text = comment.text();
                    if !text.trim().is_empty() {
                        self.outline.text(&format!("Comment: {}", text.trim()));
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn shapes(&mut self, tree: &Element, relations: &Relations, out: &mut Vec<Piece>) {
        for shape in tree.elements() {
            match &*shape.name {
                "p:sp" => self.shape(shape, relations, out),
                "p:grpSp" => self.shapes(shape, relations, out),
                "p:pic" => {
                    self.pictures += 1;
                    let described = shape
                        .find("p:cNvPr")
                        .and_then(|about| about.attribute("descr"));
                    let described = described
                        .unwrap_or_default()
                        .split_whitespace()
                        .collect::<Vec<_>>();
                    if !described.is_empty() {
                        out.push(Piece::Text(format!("![{}]()", described.join(" "))));
                    }
                }
                "p:graphicFrame" => {
                    shape.each("a:tbl", &mut |table| out.push(Piece::Text(grid(table))));
                    for (name, id) in [("c:chart", "r:id"), ("dgm:relIds", "r:dm")] {
                        let found = shape.find(name).and_then(|found| found.attribute(id));
                        out.extend(found.map(|id| Piece::Part(id.to_owned())));
                    }
                }
                "mc:AlternateContent" => {
                    // Of the ways to show one thing, the first that says something.
                    for way in shape.elements() {
                        let before = out.len();
                        self.shapes(way, relations, out);
                        if out.len() > before {
                            break;
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn shape(&mut self, shape: &Element, relations: &Relations, out: &mut Vec<Piece>) {
        let Some(body) = shape.child("p:txBody") else {
            return;
        };
        let kind = placeholder(shape);
        let mut lines = paragraphs_linked(body, relations);
        lines.retain(|line| !line.text.trim().is_empty());
        if lines.is_empty() {
            return;
        }
        let plain = || {
            lines
                .iter()
                .map(|line| line.text.trim())
                .collect::<Vec<_>>()
        };
        match kind.as_deref() {
            Some("title" | "ctrTitle") => out.push(Piece::Title(plain().join(" "))),
            Some("sldNum") => {}
            Some("ftr" | "dt" | "hdr") => {
                let text = plain().join("\n");
                if self.once.insert(text.clone()) {
                    out.push(Piece::Text(text));
                }
            }
            _ => {
                // Body text is a list unless it says otherwise; any other shape only if it says so.
                let listed = matches!(kind.as_deref(), Some("body" | "obj")) && lines.len() > 1;
                out.push(Piece::Text(markdown(&lines, listed)));
            }
        }
    }
}

/// What a placeholder is for; `None` for a free shape. One without a kind holds content.
fn placeholder(shape: &Element) -> Option<String> {
    let place = shape.child("p:nvSpPr")?.find("p:ph")?;
    Some(place.attribute("type").unwrap_or("obj").to_owned())
}

/// A paragraph of a shape.
struct Line {
    text: String,
    level: usize,
    bullet: Option<Bullet>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bullet {
    None,
    Mark,
    Number,
}

fn paragraphs(body: &Element) -> Vec<Line> {
    paragraphs_linked(body, &Relations::default())
}

fn paragraphs_linked(body: &Element, relations: &Relations) -> Vec<Line> {
    let mut lines = Vec::new();
    for paragraph in body.elements().filter(|child| child.is("a:p")) {
        let properties = paragraph.child("a:pPr");
        let has = |name: &str| properties.is_some_and(|found| found.child(name).is_some());
        let bullet = match () {
            () if has("a:buAutoNum") => Some(Bullet::Number),
            () if has("a:buChar") || has("a:buBlip") => Some(Bullet::Mark),
            () if has("a:buNone") => Some(Bullet::None),
            () => None,
        };
        let level = properties
            .and_then(|found| found.attribute("lvl")?.parse().ok())
            .unwrap_or(0);
        let mut text = String::new();
        runs(paragraph, relations, &mut text);
        lines.push(Line {
            text,
            level,
            bullet,
        });
    }
    lines
}

fn runs(element: &Element, relations: &Relations, out: &mut String) {
    for child in element.elements() {
        match &*child.name {
            "a:t" => out.push_str(&child.text()),
            "a:br" => out.push('\n'),
            "a:tab" => out.push('\t'),
            "m:oMath" | "m:oMathPara" => {
                let written = format!("${}$", omml::text(child));
                out.push_str(&written);
            }
            "a:r" => {
                let start = out.len();
                runs(child, relations, out);
                let link = child
                    .child("a:rPr")
                    .and_then(|run| run.child("a:hlinkClick"));
                let target = link.and_then(|link| relations.target(link.attribute("r:id")?));
                let words = out[start..].to_owned();
                if let Some(target) = target
                    && target.contains(':')
                    && !target.contains([' ', '(', ')'])
                    && !words.trim().is_empty()
                    && words.trim() != target
                {
                    out.truncate(start);
                    let written = format!("[{words}]({target})");
                    out.push_str(&written);
                }
            }
            "mc:Fallback" => {}
            _ => runs(child, relations, out),
        }
    }
}

fn markdown(lines: &[Line], listed: bool) -> String {
    let mut out = String::new();
    let mut counts = [0_usize; 10];
    let mut before = false;
    for line in lines {
        let level = line.level.min(9);
        counts[level + 1..].fill(0);
        let marker = match line.bullet {
            Some(Bullet::Number) => {
                counts[level] += 1;
                Some(format!("{}. ", counts[level]))
            }
            Some(Bullet::Mark) => Some("- ".to_owned()),
            None if listed => Some("- ".to_owned()),
            Some(Bullet::None) | None => None,
        };
        if line.bullet != Some(Bullet::Number) {
            counts[level] = 0;
        }
        let item = marker.is_some();
        if !out.is_empty() {
            out.push_str(if item && before { "\n" } else { "\n\n" });
        }
        if let Some(marker) = marker {
            out.push_str(&"  ".repeat(level));
            out.push_str(&marker);
        }
        out.push_str(
            &line
                .text
                .trim()
                .replace('\n', if item { "\n  " } else { "\n" }),
        );
        before = item;
    }
    out
}

/// A table of a slide, its spanning cells repeated.
fn grid(table: &Element) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for row in table.elements().filter(|row| row.is("a:tr")) {
        let mut texts: Vec<String> = Vec::new();
        for cell in row.elements().filter(|cell| cell.is("a:tc")) {
            let set = |name: &str| matches!(cell.attribute(name), Some("1" | "true"));
            let text = if set("hMerge") {
                texts.last().cloned().unwrap_or_default()
            } else if set("vMerge") {
                rows.last()
                    .and_then(|above| above.get(texts.len()))
                    .cloned()
                    .unwrap_or_default()
            } else {
                let lines = cell.child("a:txBody").map(paragraphs).unwrap_or_default();
                let lines: Vec<&str> = lines.iter().map(|line| line.text.trim()).collect();
                lines.join(" ")
            };
            texts.push(text);
        }
        rows.push(texts);
    }
    table::markdown(&rows)
}
