//! What the paragraph styles of a document mean: headings, code, lists.

use std::collections::HashMap;

use super::super::DocumentError;
use super::super::archive::Archive;
use super::super::xml::{Element, XmlReader};

/// Styles a style may be based on, one upon the other.
const CHAIN_MAX: usize = 20;

/// What a paragraph is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A heading; 0 is the title.
    Heading(u8),
    /// A line of code.
    Code,
    /// Anything else.
    Text,
}

#[derive(Debug, Default)]
struct Style {
    name: String,
    based_on: Option<String>,
    outline: Option<u8>,
    list: Option<(Option<String>, Option<usize>)>,
}

/// The paragraph styles of a document.
#[derive(Debug, Default)]
pub(super) struct Styles {
    by_id: HashMap<String, Style>,
    default: Option<String>,
}

impl Styles {
    pub(super) fn read(archive: &mut Archive<'_>, part: &str) -> Result<Styles, DocumentError> {
        let mut styles = Styles::default();
        archive.stream(part, |stream| {
            let mut xml = XmlReader::new(part, stream);
            while let Some(element) = xml.next_of(&|name| name == "w:style")? {
                styles.add(&element);
            }
            Ok(())
        })?;
        Ok(styles)
    }

    fn add(&mut self, element: &Element) {
        let Some(id) = element.attribute("w:styleId") else {
            return;
        };
        if element
            .attribute("w:type")
            .is_some_and(|kind| kind != "paragraph")
        {
            return;
        }
        if matches!(element.attribute("w:default"), Some("1" | "true")) {
            self.default = Some(id.to_owned());
        }
        let properties = element.child("w:pPr");
        let list = properties.and_then(|properties| properties.child("w:numPr"));
        let style = Style {
            name: element
                .value_of("w:name")
                .unwrap_or_default()
                .to_lowercase(),
            based_on: element.value_of("w:basedOn").map(str::to_owned),
            outline: properties
                .and_then(|properties| properties.value_of("w:outlineLvl"))
                .and_then(|level| level.parse().ok()),
            list: list.map(|list| {
                (
                    list.value_of("w:numId").map(str::to_owned),
                    list.value_of("w:ilvl").and_then(|level| level.parse().ok()),
                )
            }),
        };
        self.by_id.insert(id.to_owned(), style);
    }

    /// The style and those it is based on, nearest first.
    fn chain<'s>(&'s self, style: Option<&'s str>) -> impl Iterator<Item = &'s Style> {
        let mut next = style.or(self.default.as_deref());
        std::iter::from_fn(move || {
            let style = self.by_id.get(next?)?;
            next = style.based_on.as_deref();
            Some(style)
        })
        .take(CHAIN_MAX)
    }

    /// What a paragraph of this style with these own properties is.
    pub(super) fn kind(&self, style: Option<&str>, own: Option<&Element>) -> Kind {
        let own_level = own
            .and_then(|properties| properties.value_of("w:outlineLvl"))
            .and_then(|level| level.parse().ok());
        // 9 is "body text", said of a style based on a heading.
        let level: Option<u8> =
            own_level.or_else(|| self.chain(style).find_map(|style| style.outline));
        match level {
            Some(level @ 0..=8) => return Kind::Heading(level + 1),
            Some(_) => return Kind::Text,
            None => {}
        }
        // A style that the file names but does not define still says what it is.
        let undefined = style.filter(|style| !self.by_id.contains_key(*style));
        let undefined = undefined.map(|style| style.to_lowercase());
        let names = self
            .chain(style)
            .map(|style| style.name.as_str())
            .chain(undefined.as_deref());
        for name in names {
            if let Some(level) = name.strip_prefix("heading")
                && let Ok(level @ 1..=9) = level.trim().parse::<u8>()
            {
                return Kind::Heading(level);
            }
            match name {
                "title" => return Kind::Heading(0),
                _ if name.contains("code") && !name.contains("barcode") => return Kind::Code,
                "html preformatted" | "preformatted text" | "macro" => return Kind::Code,
                _ => {}
            }
        }
        Kind::Text
    }

    /// The list that a style puts its paragraphs into, and the level.
    pub(super) fn numbering(&self, style: Option<&str>) -> Option<(String, usize)> {
        let mut level = None;
        for style in self.chain(style) {
            let Some((list, at)) = &style.list else {
                continue;
            };
            level = level.or(*at);
            if let Some(list) = list {
                return Some((list.clone(), level.unwrap_or(0)));
            }
        }
        None
    }
}
