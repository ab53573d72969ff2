//! Books: the chapters in the order of their spine.

use std::collections::HashMap;

use model::document::ParsedDocument;

use super::archive::Archive;
use super::outline::Outline;
use super::xml::XmlReader;
use super::{DocumentError, Limits, date, encoding, html, ooxml};

/// Reads a book without copy protection.
pub(super) fn parse(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, DocumentError> {
    let mut archive = Archive::open(bytes, limits)?;
    if is_protected(&mut archive)? {
        return Err(DocumentError::Encrypted);
    }
    let package = package_part(&mut archive)?;
    let book = Book::read(&mut archive, &package)?;
    let folder = package.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut outline = Outline::default();
    let mut left_out = Vec::new();
    for id in &book.spine {
        let Some((target, kind)) = book.parts.get(id) else {
            continue;
        };
        if !kind.contains("html") {
            left_out.push(format!("`{target}` is no text ({kind})"));
            continue;
        }
        let name = ooxml::resolve(folder, &unescaped(target));
        let Some(bytes) = archive.bytes(&name)? else {
            left_out.push(format!("chapter `{target}` is not in the file"));
            continue;
        };
        let decoded = encoding::decode(&bytes)?;
        let page = html::read(&decoded.text)?;
        for block in page.blocks {
            outline.push(block);
        }
        left_out.extend(
            page.left_out
                .into_iter()
                .map(|what| format!("{what} in `{target}`")),
        );
    }
    if book.spine.is_empty() {
        return Err(DocumentError::broken(format!(
            "`{package}` lists no chapters"
        )));
    }
    Ok(ParsedDocument {
        title: book.title,
        date: date::stated(book.date.as_deref().and_then(date::iso)),
        sections: outline.finish(),
        left_out,
        ..ParsedDocument::default()
    })
}

/// Whether anything but fonts is encrypted.
fn is_protected(archive: &mut Archive<'_>) -> Result<bool, DocumentError> {
    let part = "META-INF/encryption.xml";
    let protected = archive.stream(part, |stream| {
        let mut xml = XmlReader::new(part, stream);
        while let Some(method) = xml.next_of(&|name| name == "EncryptionMethod")? {
            let method = method.attribute("Algorithm").unwrap_or_default();
            // The two ways to scramble fonts.
            let font = method.contains("idpf.org/2008/embedding")
                || method.contains("ns.adobe.com/pdf/enc#RC");
            if !font {
                return Ok(true);
            }
        }
        Ok(false)
    })?;
    Ok(protected.unwrap_or(false))
}

/// The part that lists all others.
fn package_part(archive: &mut Archive<'_>) -> Result<String, DocumentError> {
    let part = "META-INF/container.xml";
    let stated = archive.stream(part, |stream| {
        let mut xml = XmlReader::new(part, stream);
        let root = xml.next_of(&|name| name == "ocf:rootfile")?;
        Ok(root.and_then(|root| root.attribute("full-path").map(str::to_owned)))
    })?;
    let only = || {
        archive
            .names()
            .into_iter()
            .find(|name| name.rsplit('.').next() == Some("opf"))
    };
    stated
        .flatten()
        .or_else(only)
        .ok_or_else(|| DocumentError::broken("the book has no package file (opf)"))
}

#[derive(Debug, Default)]
struct Book {
    title: Option<String>,
    date: Option<String>,
    /// Address and media type of each part, by its id.
    parts: HashMap<String, (String, String)>,
    spine: Vec<String>,
}

impl Book {
    fn read(archive: &mut Archive<'_>, part: &str) -> Result<Book, DocumentError> {
        let book = archive.stream(part, |stream| {
            let mut xml = XmlReader::new(part, stream);
            let mut book = Book::default();
            let wanted =
                |name: &str| matches!(name, "dc:title" | "dc:date" | "opf:item" | "opf:itemref");
            while let Some(element) = xml.next_of(&wanted)? {
                let of = |name: &str| element.attribute(name).unwrap_or_default().to_owned();
                let text = Some(element.text().trim().to_owned()).filter(|text| !text.is_empty());
                match &*element.name {
                    "dc:title" => book.title = book.title.take().or(text),
                    "dc:date" => book.date = book.date.take().or(text),
                    "opf:item" => {
                        book.parts.insert(of("id"), (of("href"), of("media-type")));
                    }
                    _ => book.spine.push(of("idref")),
                }
            }
            Ok(book)
        })?;
        book.ok_or_else(|| DocumentError::broken(format!("the book has no part `{part}`")))
    }
}

/// An address without its percent escapes and fragment.
fn unescaped(address: &str) -> String {
    let address = address.split('#').next().unwrap_or_default();
    let mut bytes = Vec::with_capacity(address.len());
    let mut rest = address.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = match (first, tail) {
            (b'%', [high, low, ..]) => {
                let digits = [*high, *low];
                std::str::from_utf8(&digits)
                    .ok()
                    .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            }
            _ => None,
        };
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_an_address_are_undone_and_its_fragment_dropped() {
        assert_eq!(unescaped("text/ch%201.xhtml#top"), "text/ch 1.xhtml");
        assert_eq!(unescaped("100%"), "100%");
    }
}
