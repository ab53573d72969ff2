//! The schema's steps, forward only.
//!
//! A step that was applied is never edited: each is remembered with its checksum, and a store
//! whose steps differ from these is refused rather than guessed at.

use sha2::{Digest, Sha256};

use crate::StoreError;
use crate::value::hex;

/// One step of the schema.
pub(crate) struct Migration {
    pub(crate) number: i64,
    pub(crate) name: &'static str,
    text: &'static str,
}

/// Every step, in order.
pub(crate) const ALL: &[Migration] = &[
    Migration {
        number: 1,
        name: "library",
        text: include_str!("../migrations/0001_library.sql"),
    },
    Migration {
        number: 10,
        name: "ledger",
        text: include_str!("../migrations/0010_ledger.sql"),
    },
];

/// The table of steps itself; the one that stands before the first.
pub(crate) const TABLE: &str = "CREATE TABLE IF NOT EXISTS migration (
    number BIGINT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    checksum TEXT NOT NULL,
    applied_at BIGINT NOT NULL
)";

/// The applied steps: number, name, checksum.
pub(crate) const APPLIED: &str = "SELECT number, name, checksum FROM migration ORDER BY number";

/// Remembers a step.
pub(crate) const REMEMBER: &str =
    "INSERT INTO migration (number, name, checksum, applied_at) VALUES ($1, $2, $3, $4)";

impl Migration {
    /// The text as SQLite takes it.
    pub(crate) fn sqlite(&self) -> &'static str {
        self.text
    }

    /// The text as PostgreSQL takes it: text compares by code point there too.
    pub(crate) fn postgres(&self) -> String {
        collate(self.text)
    }

    /// SHA-256 of the text, in hexadecimal.
    pub(crate) fn checksum(&self) -> String {
        hex(&Sha256::digest(self.text))
    }
}

/// `TEXT` as a type becomes `TEXT COLLATE "C"`, for an order that no locale changes.
pub(crate) fn collate(text: &str) -> String {
    text.replace(" TEXT", " TEXT COLLATE \"C\"")
}

/// The steps still to be applied.
///
/// # Errors
/// If the store has a step that is not known here, or one that differs.
pub(crate) fn pending(
    applied: &[(i64, String, String)],
) -> Result<&'static [Migration], StoreError> {
    let refuse = |why: String| Err(StoreError::failed("open the store", why));
    for (index, (number, name, checksum)) in applied.iter().enumerate() {
        match ALL.get(index) {
            None => {
                return refuse(format!(
                    "a newer version of quipu made it: this one does not know its migration \
                     {number} `{name}`; install that version or a later one"
                ));
            }
            Some(known) if known.number != *number || known.name != name => {
                return refuse(format!(
                    "its migration {number} is `{name}`, where this version has {} `{}`",
                    known.number, known.name
                ));
            }
            Some(known) if known.checksum() != *checksum => {
                return refuse(format!(
                    "its migration {number} `{name}` was applied from another text than this \
                     version has"
                ));
            }
            Some(_) => {}
        }
    }
    Ok(&ALL[applied.len()..])
}
