//! Numbers and bullets of lists.

use std::collections::HashMap;

use super::super::DocumentError;
use super::super::archive::Archive;
use super::super::xml::{Element, XmlReader};

/// Levels a list has.
const LEVELS: usize = 9;

/// What stands before a list item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marker {
    /// Its characters: "-", "3.", "2.1".
    pub(super) text: String,
    /// Whether it counts.
    pub(super) ordered: bool,
    /// How far in it stands, 0 outermost.
    pub(super) level: usize,
}

#[derive(Debug, Clone)]
struct Level {
    format: String,
    text: String,
    start: u32,
}

#[derive(Debug, Default)]
struct List {
    kind: String,
    starts: HashMap<usize, u32>,
    levels: HashMap<usize, Level>,
}

/// The lists of a document and how far each has counted.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    kinds: HashMap<String, HashMap<usize, Level>>,
    lists: HashMap<String, List>,
    counted: HashMap<String, [Option<u32>; LEVELS]>,
}

impl Numbering {
    pub(super) fn read(archive: &mut Archive<'_>, part: &str) -> Result<Numbering, DocumentError> {
        let mut numbering = Numbering::default();
        archive.stream(part, |stream| {
            let mut xml = XmlReader::new(part, stream);
            while let Some(element) =
                xml.next_of(&|name| matches!(name, "w:abstractNum" | "w:num"))?
            {
                if element.is("w:num") {
                    numbering.add_list(&element);
                } else {
                    numbering.add_kind(&element);
                }
            }
            Ok(())
        })?;
        Ok(numbering)
    }

    fn add_kind(&mut self, element: &Element) {
        let id = element
            .attribute("w:abstractNumId")
            .unwrap_or_default()
            .to_owned();
        let levels = element
            .elements()
            .filter(|child| child.is("w:lvl"))
            .filter_map(level)
            .collect();
        self.kinds.insert(id, levels);
    }

    fn add_list(&mut self, element: &Element) {
        let id = element.attribute("w:numId").unwrap_or_default().to_owned();
        let mut list = List {
            kind: element
                .value_of("w:abstractNumId")
                .unwrap_or_default()
                .to_owned(),
            ..List::default()
        };
        for change in element.elements().filter(|child| child.is("w:lvlOverride")) {
            let at = change
                .attribute("w:ilvl")
                .and_then(|at| at.parse().ok())
                .unwrap_or(0);
            if let Some(start) = change
                .value_of("w:startOverride")
                .and_then(|start| start.parse().ok())
            {
                list.starts.insert(at, start);
            }
            list.levels.extend(change.child("w:lvl").and_then(level));
        }
        self.lists.insert(id, list);
    }

    /// Counts one more item of `list` and says how it is marked; `None` outside any list.
    pub(super) fn next(&mut self, list: &str, level: usize) -> Option<Marker> {
        // List 0 takes a paragraph out of the list its style puts it into.
        if list == "0" {
            return None;
        }
        let level = level.min(LEVELS - 1);
        let known = self.lists.get(list)?;
        let kind = self.kinds.get(&known.kind);
        let of = |at: usize| {
            known
                .levels
                .get(&at)
                .or_else(|| kind.and_then(|kind| kind.get(&at)))
        };
        // Lists of one kind count on together unless they say where they start.
        let counter = if known.starts.is_empty() {
            format!("kind {}", known.kind)
        } else {
            format!("list {list}")
        };
        let counted = self.counted.entry(counter).or_default();
        let start = |at: usize| {
            known
                .starts
                .get(&at)
                .copied()
                .or(of(at).map(|level| level.start))
                .unwrap_or(1)
        };
        for (at, count) in counted.iter_mut().enumerate().take(level) {
            count.get_or_insert_with(|| start(at));
        }
        counted[level] =
            Some(counted[level].map_or_else(|| start(level), |count| count.saturating_add(1)));
        for count in counted.iter_mut().skip(level + 1) {
            *count = None;
        }
        let style = of(level)?;
        if style.format == "bullet" || style.format == "none" {
            return Some(Marker {
                text: "-".to_owned(),
                ordered: false,
                level,
            });
        }
        let mut text = style.text.clone();
        for (at, count) in counted.iter().enumerate().take(level + 1) {
            let count = count.unwrap_or(1);
            let format = of(at).map_or("decimal", |level| level.format.as_str());
            text = text.replace(&format!("%{}", at + 1), &number(count, format));
        }
        let mut text = text.trim().to_owned();
        // "1" alone is no list to Markdown.
        if text.ends_with(char::is_alphanumeric) {
            text.push('.');
        }
        (!text.is_empty()).then_some(Marker {
            text,
            ordered: true,
            level,
        })
    }
}

fn level(element: &Element) -> Option<(usize, Level)> {
    let at = element.attribute("w:ilvl")?.parse().ok()?;
    let format = element.value_of("w:numFmt").unwrap_or("decimal").to_owned();
    let text = element.value_of("w:lvlText").unwrap_or_default().to_owned();
    let start = element
        .value_of("w:start")
        .and_then(|start| start.parse().ok())
        .unwrap_or(1);
    Some((
        at,
        Level {
            format,
            text,
            start,
        },
    ))
}

/// `count` in a number format of Word; those of other scripts are written in digits.
fn number(count: u32, format: &str) -> String {
    match format {
        "lowerLetter" => letters(count).to_lowercase(),
        "upperLetter" => letters(count),
        "lowerRoman" => roman(count).to_lowercase(),
        "upperRoman" => roman(count),
        "decimalZero" => format!("{count:02}"),
        _ => count.to_string(),
    }
}

/// A, B, … Z, AA, BB, … as Word counts; in digits where that grows long.
fn letters(count: u32) -> String {
    match count {
        1..=260 => {
            let letter = char::from(b'A' + ((count - 1) % 26) as u8);
            std::iter::repeat_n(letter, (count - 1) as usize / 26 + 1).collect()
        }
        _ => count.to_string(),
    }
}

fn roman(count: u32) -> String {
    if count == 0 || count > 3999 {
        return count.to_string();
    }
    let mut out = String::new();
    let mut left = count;
    for (value, mark) in [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ] {
        while left >= value {
            out.push_str(mark);
            left -= value;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_word_writes_them() {
        assert_eq!(number(28, "lowerLetter"), "bb");
        assert_eq!(number(1994, "upperRoman"), "MCMXCIV");
        assert_eq!(number(7, "decimalZero"), "07");
        assert_eq!(number(7, "aiueo"), "7");
    }
}
