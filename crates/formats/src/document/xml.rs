//! XML of office files: streamed, and only as deep and as large as documents are.
//!
//! Names are given with a fixed prefix for each known namespace ("w:p"), whatever prefix the file
//! uses and whether it is of the transitional or the strict kind. A document type is refused, so
//! there are no entities but the five of XML.

use std::collections::HashSet;
use std::io::BufRead;
use std::rc::Rc;

use quick_xml::NsReader;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;

use super::DocumentError;

/// Levels of nesting that are read.
const DEPTH_MAX: u32 = 256;

/// Bytes that one block read as a whole may take in memory.
const BLOCK_BYTES_MAX: usize = 192 << 20;

/// What an element weighs beside its text.
const ELEMENT_BYTES: usize = 96;

/// An element with all below it.
#[derive(Debug, Clone, Default)]
pub(super) struct Element {
    /// Name with the fixed prefix of its namespace.
    pub(super) name: Rc<str>,
    attributes: Vec<(Rc<str>, Box<str>)>,
    /// What it holds, in order.
    pub(super) children: Vec<Node>,
}

/// A piece of an element.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// A nested element.
    Element(Element),
    /// Characters.
    Text(Box<str>),
}

impl Element {
    /// Whether it is called `name`.
    pub(super) fn is(&self, name: &str) -> bool {
        &*self.name == name
    }

    /// The value of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(key, _)| &**key == name)
            .map(|(_, value)| &**value)
    }

    /// Its child elements, in order.
    pub(super) fn elements(&self) -> impl Iterator<Item = &Element> {
        self.children.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// Its first child element called `name`.
    pub(super) fn child(&self, name: &str) -> Option<&Element> {
        self.elements().find(|element| element.is(name))
    }

    /// The attribute `val` of its child `name`, as office files keep properties.
    pub(super) fn value_of(&self, name: &str) -> Option<&str> {
        let child = self.child(name)?;
        child.attribute("w:val").or_else(|| child.attribute("val"))
    }

    /// The first element below it called `name`, depth first.
    pub(super) fn find(&self, name: &str) -> Option<&Element> {
        self.elements().find_map(|element| {
            if element.is(name) {
                Some(element)
            } else {
                element.find(name)
            }
        })
    }

    /// Calls `visit` for each element below it called `name`, not looking inside those.
    pub(super) fn each(&self, name: &str, visit: &mut dyn FnMut(&Element)) {
        for element in self.elements() {
            if element.is(name) {
                visit(element);
            } else {
                element.each(name, visit);
            }
        }
    }

    /// All characters below it.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        self.text_into(&mut out);
        out
    }

    fn text_into(&self, out: &mut String) {
        for node in &self.children {
            match node {
                Node::Element(element) => element.text_into(out),
                Node::Text(text) => out.push_str(text),
            }
        }
    }
}

/// An element met in a stream.
#[derive(Debug)]
pub(super) enum Found {
    /// Its start: a name and attributes.
    Opened(Element),
    /// All of it.
    Whole(Element),
}

/// A stream of elements.
pub(super) struct XmlReader<'r> {
    reader: NsReader<&'r mut dyn BufRead>,
    buffer: Vec<u8>,
    part: &'r str,
    names: HashSet<Rc<str>>,
    depth: u32,
}

enum Step {
    Open { element: Element, empty: bool },
    Close,
    Text(Box<str>),
    End,
}

impl<'r> XmlReader<'r> {
    /// Reads `part` from `stream`.
    pub(super) fn new(part: &'r str, stream: &'r mut dyn BufRead) -> XmlReader<'r> {
        let mut reader = NsReader::from_reader(stream);
        reader.config_mut().check_end_names = false;
        reader.config_mut().allow_dangling_amp = true;
        XmlReader {
            reader,
            buffer: Vec::new(),
            part,
            names: HashSet::new(),
            depth: 0,
        }
    }

    /// The next element that `whole` names, with all below it. Elements it does not name are
    /// entered, so that what they hold is found.
    pub(super) fn next_of(
        &mut self,
        whole: &dyn Fn(&str) -> bool,
    ) -> Result<Option<Element>, DocumentError> {
        loop {
            match self.step()? {
                Step::Open { element, empty } if whole(&element.name) => {
                    return if empty {
                        Ok(Some(element))
                    } else {
                        self.rest_of(element).map(Some)
                    };
                }
                Step::End => return Ok(None),
                Step::Open { .. } | Step::Close | Step::Text(_) => {}
            }
        }
    }

    /// The next element that `whole` names with all below it, or that `opened` names with only
    /// its attributes: what that one holds comes next.
    pub(super) fn next_of_either(
        &mut self,
        opened: &dyn Fn(&str) -> bool,
        whole: &dyn Fn(&str) -> bool,
    ) -> Result<Option<Found>, DocumentError> {
        loop {
            match self.step()? {
                Step::Open { element, .. } if opened(&element.name) => {
                    return Ok(Some(Found::Opened(element)));
                }
                Step::Open { element, empty } if whole(&element.name) => {
                    return if empty {
                        Ok(Some(Found::Whole(element)))
                    } else {
                        self.rest_of(element)
                            .map(|element| Some(Found::Whole(element)))
                    };
                }
                Step::End => return Ok(None),
                Step::Open { .. } | Step::Close | Step::Text(_) => {}
            }
        }
    }

    fn rest_of(&mut self, element: Element) -> Result<Element, DocumentError> {
        let mut weight = 0_usize;
        let mut open = vec![element];
        loop {
            let step = self.step()?;
            weight += ELEMENT_BYTES;
            let closed = match step {
                Step::Open { element, empty } => {
                    weight += element
                        .attributes
                        .iter()
                        .map(|(_, value)| value.len() + 40)
                        .sum::<usize>();
                    if !empty {
                        open.push(element);
                        continue;
                    }
                    Node::Element(element)
                }
                Step::Text(text) => {
                    weight += text.len();
                    Node::Text(text)
                }
                Step::Close => {
                    let element = open.pop().expect("one is open until the first is closed");
                    if open.is_empty() {
                        return Ok(element);
                    }
                    Node::Element(element)
                }
                Step::End => {
                    return Err(DocumentError::broken(format!(
                        "`{}` ends too early",
                        self.part
                    )));
                }
            };
            if weight > BLOCK_BYTES_MAX {
                return Err(DocumentError::Block {
                    part: self.part.to_owned(),
                    limit: BLOCK_BYTES_MAX,
                });
            }
            open.last_mut()
                .expect("the first is not closed yet")
                .children
                .push(closed);
        }
    }

    fn step(&mut self) -> Result<Step, DocumentError> {
        loop {
            self.buffer.clear();
            let event = self
                .reader
                .read_event_into(&mut self.buffer)
                .map_err(|error| {
                    DocumentError::broken(format!(
                        "`{}` is not well formed XML ({error})",
                        self.part
                    ))
                })?;
            return Ok(match event {
                Event::Start(start) => {
                    self.depth += 1;
                    if self.depth > DEPTH_MAX {
                        return Err(DocumentError::Depth {
                            part: self.part.to_owned(),
                            limit: DEPTH_MAX,
                        });
                    }
                    let element = element(&self.reader, &mut self.names, &start);
                    Step::Open {
                        element,
                        empty: false,
                    }
                }
                Event::Empty(start) => {
                    let element = element(&self.reader, &mut self.names, &start);
                    Step::Open {
                        element,
                        empty: true,
                    }
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    Step::Close
                }
                Event::Text(text) => Step::Text(text.xml10_content().into()),
                Event::CData(text) => Step::Text(text.xml10_content().into()),
                Event::GeneralRef(name) => {
                    let letter = match name.resolve_char_ref() {
                        Ok(Some(letter)) => letter.to_string(),
                        _ => match &*name.xml10_content() {
                            "amp" => "&".to_owned(),
                            "lt" => "<".to_owned(),
                            "gt" => ">".to_owned(),
                            "quot" => "\"".to_owned(),
                            "apos" => "'".to_owned(),
                            other => format!("&{other};"),
                        },
                    };
                    Step::Text(letter.into())
                }
                Event::DocType(_) => {
                    return Err(DocumentError::Doctype {
                        part: self.part.to_owned(),
                    });
                }
                Event::Eof => Step::End,
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => continue,
            });
        }
    }
}

fn element(
    reader: &NsReader<&mut dyn BufRead>,
    names: &mut HashSet<Rc<str>>,
    start: &BytesStart<'_>,
) -> Element {
    let mut shared = |space: &ResolveResult<'_>, local: &str| {
        let name = match space {
            ResolveResult::Bound(space) => match prefix(space.as_ref()) {
                Some(prefix) => format!("{prefix}:{local}"),
                None => local.to_owned(),
            },
            ResolveResult::Unbound | ResolveResult::Unknown(_) => local.to_owned(),
        };
        if let Some(known) = names.get(name.as_str()) {
            Rc::clone(known)
        } else {
            let name: Rc<str> = name.into();
            names.insert(Rc::clone(&name));
            name
        }
    };
    let (space, local) = reader.resolver().resolve_element(start.name());
    let name = shared(&space, local.as_ref());
    let mut attributes = Vec::new();
    for attribute in start.attributes().with_checks(false).flatten() {
        let (space, local) = reader.resolver().resolve_attribute(attribute.key);
        let value = unescape(&attribute.value);
        attributes.push((shared(&space, local.as_ref()), value.into()));
    }
    Element {
        name,
        attributes,
        children: Vec::new(),
    }
}

fn unescape(value: &str) -> String {
    match quick_xml::escape::unescape(value) {
        Ok(value) => value.into_owned(),
        Err(_) => value.to_owned(),
    }
}

/// The fixed prefix of a namespace: what follows the last part of its address tells the
/// transitional and the strict kind of OOXML alike.
fn prefix(space: &str) -> Option<&'static str> {
    const OOXML: [(&str, &str); 14] = [
        ("/wordprocessingml/main", "w"),
        ("/word/2010/wordprocessingShape", "wps"),
        ("/word/2010/wordprocessingGroup", "wpg"),
        ("/drawingml/main", "a"),
        ("/drawingml/wordprocessingDrawing", "wp"),
        ("/drawingml/picture", "pic"),
        ("/drawingml/chart", "c"),
        ("/drawingml/diagram", "dgm"),
        ("/officeDocument/math", "m"),
        ("/officeDocument/relationships", "r"),
        ("/presentationml/main", "p"),
        ("/spreadsheetml/main", "s"),
        ("/markup-compatibility/2006", "mc"),
        ("/package/relationships", "rel"),
    ];
    const WHOLE: [(&str, &str); 22] = [
        ("urn:schemas-microsoft-com:vml", "v"),
        ("urn:schemas-microsoft-com:office:office", "o"),
        ("http://purl.org/dc/elements/1.1/", "dc"),
        ("http://purl.org/dc/terms/", "dcterms"),
        ("http://www.idpf.org/2007/opf", "opf"),
        ("urn:oasis:names:tc:opendocument:xmlns:container", "ocf"),
        ("urn:oasis:names:tc:opendocument:xmlns:office:1.0", "office"),
        ("urn:oasis:names:tc:opendocument:xmlns:text:1.0", "text"),
        ("urn:oasis:names:tc:opendocument:xmlns:table:1.0", "table"),
        ("urn:oasis:names:tc:opendocument:xmlns:drawing:1.0", "draw"),
        (
            "urn:oasis:names:tc:opendocument:xmlns:presentation:1.0",
            "presentation",
        ),
        ("urn:oasis:names:tc:opendocument:xmlns:style:1.0", "style"),
        ("urn:oasis:names:tc:opendocument:xmlns:meta:1.0", "meta"),
        (
            "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0",
            "manifest",
        ),
        (
            "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0",
            "svg",
        ),
        (
            "urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0",
            "fo",
        ),
        ("http://www.w3.org/1998/Math/MathML", "math"),
        ("http://www.w3.org/1999/xlink", "xlink"),
        ("http://www.w3.org/XML/1998/namespace", "xml"),
        (
            "http://schemas.microsoft.com/office/drawing/2008/diagram",
            "dsp",
        ),
        (
            "http://schemas.microsoft.com/office/word/2010/wordml",
            "w14",
        ),
        (
            "http://schemas.microsoft.com/office/drawing/2010/main",
            "a14",
        ),
    ];
    if let Some((_, prefix)) = WHOLE.iter().find(|(whole, _)| *whole == space) {
        return Some(prefix);
    }
    // `…/wordprocessingml/2006/main` and `…/wordprocessingml/main` alike.
    let space = if space.contains("markup-compatibility") {
        space.to_owned()
    } else {
        space.replace("/2006/", "/")
    };
    OOXML
        .iter()
        .find(|(end, _)| space.ends_with(end))
        .map(|(_, prefix)| *prefix)
}
