//! Which syntax a file is in, what its XML may declare, and its statements.

use std::collections::HashMap;

use oxrdfxml::RdfXmlParser;
use oxttl::TurtleParser;
use quick_xml::Reader;
use quick_xml::events::Event;

use super::graph::Graph;
use super::{Limits, OwlError};

const TURTLE: &str = "Turtle";
const RDF_XML: &str = "RDF/XML";

/// The statements of a file.
pub(super) fn graph_of(
    bytes: &[u8],
    base: Option<&str>,
    limits: &Limits,
) -> Result<Graph, OwlError> {
    let text = std::str::from_utf8(bytes).map_err(|error| match found_otherwise(bytes) {
        Some(found) => OwlError::Syntax { found },
        None => OwlError::NotUtf8 {
            at: error.valid_up_to(),
        },
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match syntax_of(text)? {
        RDF_XML => {
            check_xml(text, limits)?;
            of_xml(text, base, limits)
        }
        _ => of_turtle(text, base, limits),
    }
}

/// What bytes are that are no text.
fn found_otherwise(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("text in UTF-16"),
        [b'P', b'K', 3, 4, ..] => Some("a ZIP archive"),
        [0x1f, 0x8b, ..] => Some("packed with gzip"),
        [b'%', b'P', b'D', b'F', ..] => Some("a PDF"),
        _ => None,
    }
}

/// Tells the syntax by how a text begins.
fn syntax_of(text: &str) -> Result<&'static str, OwlError> {
    let refused = |found| Err(OwlError::Syntax { found });
    let begun = without_comments(text);
    if begun.is_empty() {
        return refused("empty");
    }
    if begun.starts_with('{') || begun.starts_with("[{") || begun.starts_with("[ {") {
        return refused("JSON");
    }
    for (start, found) in [
        ("Prefix(", "OWL in functional syntax"),
        ("Ontology(", "OWL in functional syntax"),
        ("Prefix:", "OWL in Manchester syntax"),
        ("Ontology:", "OWL in Manchester syntax"),
        ("format-version:", "in the OBO format"),
    ] {
        if begun.starts_with(start) {
            return refused(found);
        }
    }
    let is_markup = begun.starts_with("<?xml") || begun.starts_with("<!");
    let first_tag = first_element(begun);
    if !is_markup && !first_tag.contains("xmlns") {
        return Ok(TURTLE);
    }
    let name = first_tag
        .split([' ', '\t', '\r', '\n', '>', '/'])
        .next()
        .unwrap_or_default();
    match name.rsplit(':').next().unwrap_or_default() {
        "Ontology" if !first_tag.contains("22-rdf-syntax-ns#RDF") && !name.contains(':') => {
            refused("OWL/XML")
        }
        "html" | "HTML" => refused("HTML"),
        _ => Ok(RDF_XML),
    }
}

/// The text from its first line on that is neither empty nor a comment of Turtle.
fn without_comments(text: &str) -> &str {
    let mut rest = text.trim_start();
    while rest.starts_with('#') {
        rest = rest
            .split_once('\n')
            .map_or("", |(_, rest)| rest)
            .trim_start();
    }
    rest
}

/// The inside of the first tag of an element, without declarations and comments before it.
fn first_element(text: &str) -> &str {
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let tag = &rest[start + 1..];
        if let Some(comment) = tag.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
        } else if tag.starts_with("!DOCTYPE") {
            let inner = tag.find('[').filter(|at| !tag[..*at].contains('>'));
            let end = match inner {
                Some(at) => tag[at..].find("]>").map(|end| at + end + 2),
                None => tag.find('>').map(|end| end + 1),
            };
            rest = end.map_or("", |end| &tag[end..]);
        } else if tag.starts_with(['?', '!']) {
            rest = tag.split_once('>').map_or("", |(_, rest)| rest);
        } else {
            return &tag[..tag.find('>').unwrap_or(tag.len())];
        }
    }
    ""
}

fn of_turtle(text: &str, base: Option<&str>, limits: &Limits) -> Result<Graph, OwlError> {
    let mut parser = TurtleParser::new();
    if let Some(base) = base {
        parser = parser.with_base_iri(base).map_err(|_| OwlError::BadBase)?;
    }
    let mut graph = Graph::default();
    for triple in parser.for_slice(text) {
        let triple = triple.map_err(|error| broken(TURTLE, &error.to_string()))?;
        graph.add(triple, limits)?;
    }
    Ok(graph)
}

fn of_xml(text: &str, base: Option<&str>, limits: &Limits) -> Result<Graph, OwlError> {
    let mut parser = RdfXmlParser::new();
    if let Some(base) = base {
        parser = parser.with_base_iri(base).map_err(|_| OwlError::BadBase)?;
    }
    let mut graph = Graph::default();
    for triple in parser.for_slice(text) {
        let triple = triple.map_err(|error| broken(RDF_XML, &error.to_string()))?;
        graph.add(triple, limits)?;
    }
    Ok(graph)
}

/// A parser's fault; its words may quote the file, so they are cut.
fn broken(syntax: &'static str, fault: &str) -> OwlError {
    // What both parsers say of a relative IRI that has nothing to be relative to.
    if fault.contains("No scheme found in an absolute IRI") {
        return OwlError::NoBase;
    }
    let fault: String = fault
        .chars()
        .filter(|letter| !letter.is_control())
        .take(300)
        .collect();
    OwlError::Broken { syntax, fault }
}

/// Refuses XML that is nested without end, or whose entities are more than pieces of text: those
/// made of others, those of other files, and those that make the file much longer than it is.
fn check_xml(text: &str, limits: &Limits) -> Result<(), OwlError> {
    let mut reader = Reader::from_str(text);
    let mut depth = 0_usize;
    loop {
        match reader.read_event() {
            Ok(Event::Start(_)) => {
                depth += 1;
                if limits.depth < depth {
                    return Err(OwlError::TooLarge {
                        what: "levels of elements within one another",
                        most: limits.depth,
                    });
                }
            }
            Ok(Event::End(_)) => depth = depth.saturating_sub(1),
            Ok(Event::DocType(declared)) => {
                check_entities(&entities_of(&declared)?, text, limits)?;
            }
            // The reader of RDF/XML says what is wrong.
            Ok(Event::Eof) | Err(_) => return Ok(()),
            Ok(_) => {}
        }
    }
}

/// The entities that a document type declares, with their text.
fn entities_of(declared: &str) -> Result<HashMap<&str, &str>, OwlError> {
    const ENTITIES_MAX: usize = 200;
    let mut entities = HashMap::new();
    for declaration in declared.split("<!ENTITY").skip(1) {
        let declaration = declaration.trim_start();
        let (name, rest) = declaration
            .split_once(|letter: char| letter.is_ascii_whitespace())
            .unwrap_or((declaration, ""));
        let refused = |fault| {
            Err(OwlError::Entity {
                name: name.chars().take(40).collect(),
                fault,
            })
        };
        if name == "%" {
            return refused("which stands for declarations; only pieces of text are taken");
        }
        let rest = rest.trim_start();
        let quote = rest
            .chars()
            .next()
            .filter(|letter| matches!(letter, '"' | '\''));
        let Some((value, _)) = quote.and_then(|quote| rest[1..].split_once(quote)) else {
            return refused("which is no text in quotes; nothing outside of the file is read");
        };
        if value.contains('&') || value.contains('%') {
            return refused("which is made of other entities");
        }
        if 1_000 < value.len() {
            return refused("which is longer than 1000 bytes");
        }
        entities.insert(name, value);
        if ENTITIES_MAX < entities.len() {
            return Err(OwlError::TooLarge {
                what: "entities",
                most: ENTITIES_MAX,
            });
        }
    }
    Ok(entities)
}

/// Refuses a file that is longer than is read once its entities are written out.
fn check_entities(
    entities: &HashMap<&str, &str>,
    text: &str,
    limits: &Limits,
) -> Result<(), OwlError> {
    let mut bytes = text.len();
    for part in text.split('&').skip(1) {
        let name = part.get(..part.find(';').unwrap_or(0)).unwrap_or_default();
        bytes += entities.get(name).map_or(0, |value| value.len());
        if limits.bytes < bytes {
            return Err(OwlError::TooLarge {
                what: "bytes once its entities are written out",
                most: limits.bytes,
            });
        }
    }
    Ok(())
}
