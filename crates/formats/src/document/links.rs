//! The links of a sitemap, a feed or a page, as a document of links.
//!
//! A sitemap (sitemaps.org), RSS 1.0 and 2.0, and Atom are told by their elements; all else is
//! read as a web page. Only what a list is there to name is a link: pages and sitemaps, not the
//! pictures beside them.

use std::io::Cursor;

use model::WorldTime;
use model::document::{ParsedDocument, Section};

use super::xml::{Element, XmlReader};
use super::{DocumentError, date, encoding, html};

/// Links of one list that are read; what sitemaps.org allows in a file.
const LINKS_MAX: usize = 50_000;

/// What a list is, which is the title of the document made of it.
const SITEMAP: &str = "sitemap";
const SITEMAPS: &str = "sitemaps";
const FEED: &str = "feed";
const PAGE: &str = "page";

struct Link {
    href: String,
    date: Option<WorldTime>,
}

/// Reads a list. Each link is a section: its address as it is written is the body; the date of
/// publication, where a feed gives one, its heading. The title says what the list is: `sitemap`,
/// `sitemaps` (a list of sitemaps), `feed` or `page`.
pub fn parse(bytes: &[u8]) -> Result<ParsedDocument, DocumentError> {
    let decoded = encoding::decode(bytes)?;
    let (title, mut links) = if is_list(&decoded.text) {
        from_xml(&decoded.text)?
    } else {
        (PAGE, from_page(&decoded.text)?)
    };
    let mut left_out = decoded.left_out;
    if LINKS_MAX < links.len() {
        left_out.push(format!(
            "{} links after the first {LINKS_MAX}",
            links.len() - LINKS_MAX
        ));
        links.truncate(LINKS_MAX);
    }
    let section = |link: Link| Section {
        heading_path: link.date.map(|date| date.to_string()).into_iter().collect(),
        body: link.href.trim().to_owned(),
    };
    Ok(ParsedDocument {
        title: Some(title.to_owned()),
        sections: links.into_iter().map(section).collect(),
        left_out,
        ..ParsedDocument::default()
    })
}

/// Whether the text begins as one of the lists does.
fn is_list(text: &str) -> bool {
    let head = &text[..text.floor_char_boundary(2048)];
    ["<urlset", "<sitemapindex", "<rss", "<feed", "<rdf:RDF"]
        .iter()
        .any(|root| head.contains(root))
        && !head.contains("<html")
}

fn from_xml(text: &str) -> Result<(&'static str, Vec<Link>), DocumentError> {
    let mut stream = Cursor::new(text.as_bytes());
    let mut reader = XmlReader::new("the list", &mut stream);
    let (mut kind, mut links) = (FEED, Vec::new());
    let is_entry = |name: &str| matches!(name, "url" | "sitemap" | "item" | "entry");
    while let Some(entry) = reader.next_of(&is_entry)? {
        let link = match &*entry.name {
            "url" => {
                kind = SITEMAP;
                text_of(&entry, &["loc"]).map(|href| Link { href, date: None })
            }
            "sitemap" => {
                kind = SITEMAPS;
                text_of(&entry, &["loc"]).map(|href| Link { href, date: None })
            }
            _ => of_feed(&entry),
        };
        links.extend(link);
    }
    Ok((kind, links))
}

fn of_feed(entry: &Element) -> Option<Link> {
    let is_page = |link: &&Element| {
        link.is("link")
            && link.attribute("rel").is_none_or(|rel| rel == "alternate")
            && link.attribute("href").is_some()
    };
    let href = match entry.elements().find(is_page) {
        Some(link) => link.attribute("href")?.to_owned(),
        None => text_of(entry, &["link"]).or_else(|| permanent(entry))?,
    };
    let stated = text_of(entry, &["published", "pubDate", "dc:date", "issued"]);
    let date = stated.and_then(|text| date::iso(&text).or_else(|| date::mail(&text)));
    Some(Link { href, date })
}

/// The `guid` of an RSS item, which is its address unless it says otherwise.
fn permanent(entry: &Element) -> Option<String> {
    let guid = entry.child("guid")?;
    let is_address = guid
        .attribute("isPermaLink")
        .is_none_or(|word| word == "true");
    Some(guid.text()).filter(|text| is_address && text.trim().starts_with("http"))
}

/// The text of the first child of one of these names that has some.
fn text_of(entry: &Element, names: &[&str]) -> Option<String> {
    names
        .iter()
        .filter_map(|name| entry.child(name))
        .map(|child| child.text().trim().to_owned())
        .find(|text| !text.is_empty())
}

fn from_page(text: &str) -> Result<Vec<Link>, DocumentError> {
    let links = html::links(text)?.into_iter();
    Ok(links.map(|href| Link { href, date: None }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, Vec<(String, String)>) {
        let parsed = parse(text.as_bytes()).unwrap();
        let links = parsed.sections.into_iter().map(|section| {
            let date = section.heading_path.first().cloned().unwrap_or_default();
            (section.body, date)
        });
        (parsed.title.unwrap(), links.collect())
    }

    fn undated(hrefs: &[&str]) -> Vec<(String, String)> {
        hrefs
            .iter()
            .map(|href| ((*href).to_owned(), String::new()))
            .collect()
    }

    #[test]
    fn a_sitemap_names_pages_and_a_list_of_sitemaps_names_sitemaps() {
        let pages = "<?xml version=\"1.0\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" xmlns:image=\"http://www.google.com/schemas/sitemap-image/1.1\">\
            <url><loc>\n https://a.test/?x=1&amp;y=2 </loc><lastmod>2024-05-06</lastmod><image:image><image:loc>https://a.test/i.png</image:loc></image:image></url><url><loc>https://a.test/b</loc></url><url/></urlset>";
        let maps =
            "<sitemapindex><sitemap><loc>https://a.test/1.xml</loc></sitemap></sitemapindex>";

        assert_eq!(
            read(pages),
            (
                "sitemap".to_owned(),
                undated(&["https://a.test/?x=1&y=2", "https://a.test/b"])
            )
        );
        assert_eq!(
            read(maps),
            ("sitemaps".to_owned(), undated(&["https://a.test/1.xml"]))
        );
    }

    #[test]
    fn a_feed_gives_each_entrys_page_and_the_day_it_was_published() {
        let rss = "<rss version=\"2.0\"><channel><link>https://a.test/</link><item><title>One</title><link>https://a.test/1</link><pubDate>Mon, 06 May 2024 07:08:09 GMT</pubDate></item>\
            <item><guid>https://a.test/2</guid></item><item><guid isPermaLink=\"false\">7</guid></item></channel></rss>";
        let atom = "<feed xmlns=\"http://www.w3.org/2005/Atom\"><link href=\"https://a.test/\"/><entry><link rel=\"enclosure\" href=\"/a.mp3\"/><link href=\"/1\"/><published>2024-05-06T07:08:09Z</published></entry></feed>";

        let (kind, links) = read(rss);
        assert_eq!(kind, "feed");
        assert_eq!(
            links[0],
            (
                "https://a.test/1".to_owned(),
                "2024-05-06T07:08:09Z".to_owned()
            )
        );
        assert_eq!(links[1..], undated(&["https://a.test/2"]));
        assert_eq!(
            read(atom).1,
            [("/1".to_owned(), "2024-05-06T07:08:09Z".to_owned())]
        );
    }

    #[test]
    fn a_page_gives_its_links_in_their_order() {
        let page = "<!doctype html><title>x</title><p><a href='b.html'>b</a> <a>no</a> <a href=\"/c?d=1&amp;e\">c</a>";
        assert_eq!(
            read(page),
            ("page".to_owned(), undated(&["b.html", "/c?d=1&e"]))
        );
    }

    #[test]
    fn a_list_with_a_document_type_or_without_an_end_is_refused() {
        let bomb = "<!DOCTYPE rss [<!ENTITY a \"b\">]><rss><channel><item><link>&a;</link></item></channel></rss>";
        assert!(matches!(
            parse(bomb.as_bytes()),
            Err(DocumentError::Doctype { .. })
        ));
        assert!(matches!(
            parse(b"<rss><channel><item><link>https://a.test/"),
            Err(DocumentError::Broken(_))
        ));
    }
}
