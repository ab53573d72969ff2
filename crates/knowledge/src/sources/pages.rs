//! Which pages a pull asks for, and what their documents are called.

use std::collections::HashSet;

use providers::fetch;
use store::sources::Page;

use super::{ADDRESS_BYTES_MAX, Settings};

/// A page to be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) url: String,
    /// When it was published, as a feed states it.
    pub(super) date: Option<String>,
}

/// The pages of one pull, each once, and how many did not find room.
///
/// First those that the source was told, then those that lists name now, in their order, then
/// those known from earlier, of which the ones not asked for the longest come first.
pub(super) fn plan(
    settings: &Settings,
    listed: Vec<Wanted>,
    known: &[Page],
) -> (Vec<Wanted>, usize) {
    let undated = |url: &String| Wanted {
        url: url.clone(),
        date: None,
    };
    let told = settings.urls.iter().map(undated);
    let before = known.iter().map(|page| undated(&page.url));
    let mut seen = HashSet::new();
    let mut wanted: Vec<Wanted> = told
        .chain(listed)
        .chain(before)
        .filter(|page| page.url.len() <= ADDRESS_BYTES_MAX && seen.insert(page.url.clone()))
        .collect();
    let left_out = wanted.len().saturating_sub(settings.pages_max());
    wanted.truncate(settings.pages_max());
    (wanted, left_out)
}

/// What a list names, as its sections tell: see `providers::parser::LINKS`.
pub(super) enum Listed {
    Pages(Vec<Wanted>),
    /// Further lists.
    Lists(Vec<String>),
}

/// The links of the list at `url`. A page's links count only within its own host: the rest of the
/// web is a click away from everywhere.
pub(super) fn listed(url: &str, list: model::document::ParsedDocument) -> Listed {
    let kind = list.title.unwrap_or_default();
    let links = list.sections.into_iter().filter_map(|link| {
        let target = fetch::linked(url, &link.body)?;
        let stays = kind == "feed" || fetch::same_host(url, &target);
        stays.then(|| Wanted {
            url: target,
            date: link.heading_path.into_iter().next(),
        })
    });
    if kind == "sitemaps" {
        Listed::Lists(links.map(|link| link.url).collect())
    } else {
        Listed::Pages(links.filter(|link| link.url != url).collect())
    }
}

/// Endings that tell what a document is, by the media type that servers give it.
const ENDINGS: &[(&str, &[&str])] = &[
    ("text/html", &["html", "htm", "xhtml"]),
    ("application/xhtml+xml", &["html", "htm", "xhtml"]),
    ("application/pdf", &["pdf"]),
    ("text/markdown", &["md", "markdown"]),
    (
        "text/plain",
        &["txt", "text", "md", "markdown", "csv", "rst"],
    ),
    ("text/csv", &["csv"]),
    ("application/rtf", &["rtf"]),
    ("application/epub+zip", &["epub"]),
    (
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        &["docx"],
    ),
    (
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        &["xlsx"],
    ),
    (
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        &["pptx"],
    ),
    ("application/vnd.oasis.opendocument.text", &["odt"]),
    ("application/vnd.oasis.opendocument.spreadsheet", &["ods"]),
    ("application/vnd.oasis.opendocument.presentation", &["odp"]),
];

/// Longest name, in characters, before its ending.
const NAME_LENGTH_MAX: usize = 300;

/// The name of a page's document: its host and path, with the ending that its media type has.
pub(super) fn name_of(url: &str, content_type: Option<&str>) -> String {
    let whole = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = whole.split(['?', '#']).next().unwrap_or(whole);
    let mut name: String = path.chars().take(NAME_LENGTH_MAX).collect();
    if name.ends_with('/') {
        name.push_str("index");
    }
    let media_type = media_type(content_type);
    let endings = ENDINGS.iter().find(|(known, _)| *known == media_type);
    let Some((_, endings)) = endings else {
        return name;
    };
    let file = name.rsplit('/').next().unwrap_or_default();
    let ending = file
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase());
    if ending.is_none_or(|ending| !endings.contains(&ending.as_str())) {
        name.push('.');
        name.push_str(endings[0]);
    }
    name
}

/// Whether an answer is something that documents are not: pictures, sound, programs of pages.
pub(super) fn is_no_document(content_type: Option<&str>) -> bool {
    let media_type = media_type(content_type);
    let group = media_type.split('/').next().unwrap_or_default();
    matches!(group, "image" | "audio" | "video" | "font")
        || matches!(
            media_type.as_str(),
            "text/css" | "text/javascript" | "application/javascript"
        )
}

fn media_type(content_type: Option<&str>) -> String {
    let content_type = content_type.unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default();
    media_type.trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use model::RecordTime;
    use model::document::{ParsedDocument, Section};

    use super::*;

    fn wanted(url: &str) -> Wanted {
        Wanted {
            url: url.to_owned(),
            date: None,
        }
    }

    fn page(url: &str) -> Page {
        Page {
            url: url.to_owned(),
            etag: None,
            last_modified: None,
            asked_at: RecordTime::from_micros(0),
            run: 1,
            gone: 0,
            fault: None,
        }
    }

    #[test]
    fn a_pull_asks_for_what_it_was_told_then_what_is_listed_then_what_is_known() {
        let settings = Settings {
            urls: vec!["a".to_owned()],
            pages_max: Some(serde_json::from_str("3").unwrap()),
            ..Settings::default()
        };

        let (pages, left_out) = plan(
            &settings,
            vec![wanted("b"), wanted("a"), wanted("b")],
            &[page("a"), page("c"), page("d")],
        );

        assert_eq!(pages, ["a", "b", "c"].map(wanted));
        assert_eq!(left_out, 1);
    }

    #[test]
    fn a_page_lists_its_own_host_and_a_feed_what_it_likes() {
        let list = |kind: &str| ParsedDocument {
            title: Some(kind.to_owned()),
            sections: ["b.html#x", "https://other.test/c", "mailto:x@a.test", "/a/"]
                .map(|body| Section {
                    body: body.to_owned(),
                    ..Section::default()
                })
                .to_vec(),
            ..ParsedDocument::default()
        };
        let urls = |kind| match listed("https://a.test/a/", list(kind)) {
            Listed::Pages(pages) => pages.into_iter().map(|page| page.url).collect(),
            Listed::Lists(lists) => lists,
        };

        assert_eq!(urls("page"), ["https://a.test/a/b.html"]);
        assert_eq!(
            urls("feed"),
            ["https://a.test/a/b.html", "https://other.test/c"]
        );
        assert_eq!(
            urls("sitemaps"),
            ["https://a.test/a/b.html", "https://a.test/a/"]
        );
    }

    #[test]
    fn a_document_is_called_by_host_and_path_with_an_ending_that_fits() {
        let html = Some("text/html; charset=utf-8");
        for (url, content_type, name) in [
            ("https://a.test/", html, "a.test/index.html"),
            ("https://a.test/b/c?d=e", html, "a.test/b/c.html"),
            ("https://a.test/b.htm", html, "a.test/b.htm"),
            ("https://a.test/b.php", html, "a.test/b.php.html"),
            (
                "https://a.test/b.pdf",
                Some("application/octet-stream"),
                "a.test/b.pdf",
            ),
            ("https://a.test/b.md", Some("text/plain"), "a.test/b.md"),
            (
                "https://a.test/report",
                Some("application/pdf"),
                "a.test/report.pdf",
            ),
            ("https://a.test/b", None, "a.test/b"),
        ] {
            assert_eq!(name_of(url, content_type), name);
        }
    }
}
