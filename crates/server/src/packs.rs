//! The words that come with Quipu: Turtle files like any other, read by the reader that reads
//! those of strangers.

use formats::owl;
use kernel::packs::{Pack, Packs};
use model::{Error, Result};

/// Name, title, what it has words for, file.
const FILES: [(&str, &str, &str, &str); 3] = [
    (
        "schema",
        "schema.org core",
        "People, organisations, places, events, works, products and what joins them",
        include_str!("../packs/schema.ttl"),
    ),
    (
        "prov",
        "PROV-O",
        "Where things come from: what was made by whom, in what and out of what",
        include_str!("../packs/prov.ttl"),
    ),
    (
        "foaf-org",
        "FOAF and Org",
        "People and groups, and how organisations are built: units, posts, memberships, sites",
        include_str!("../packs/foaf-org.ttl"),
    ),
];

/// The words that come with Quipu.
///
/// # Errors
/// If a file of ours cannot be read, which a test rules out.
pub fn packs() -> Result<Packs> {
    let read = |(name, title, description, file): (_, _, _, &'static str)| {
        let declared = owl::read(file.as_bytes(), None, &owl::Limits::default());
        Ok(Pack {
            name,
            title,
            description,
            declared: declared.map_err(Error::internal)?,
            file,
        })
    };
    FILES
        .into_iter()
        .map(read)
        .collect::<Result<_>>()
        .map(Packs::new)
}
