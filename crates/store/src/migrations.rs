//! The schema's steps, forward only.
//!
//! A step that was applied is never edited: each is remembered with its checksum, and a store
//! whose steps differ from these is refused rather than guessed at.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::StoreError;
use crate::value::hex;

/// One step of the schema.
pub(crate) struct Migration {
    pub(crate) number: i64,
    pub(crate) name: &'static str,
    text: &'static str,
}

/// A step that a store's schema has been through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaStep {
    /// Its number, from 1.
    pub number: i64,
    /// Its name.
    pub name: String,
    /// SHA-256 of its text, in hexadecimal.
    pub checksum: String,
}

/// Every step, in order.
pub(crate) const ALL: &[Migration] = &[
    Migration {
        number: 1,
        name: "library",
        text: include_str!("../migrations/0001_library.sql"),
    },
    Migration {
        number: 2,
        name: "sources",
        text: include_str!("../migrations/0002_sources.sql"),
    },
    Migration {
        number: 6,
        name: "claims_and_roles",
        text: include_str!("../migrations/0006_claims_and_roles.sql"),
    },
    Migration {
        number: 10,
        name: "ledger",
        text: include_str!("../migrations/0010_ledger.sql"),
    },
    Migration {
        number: 11,
        name: "erasures",
        text: include_str!("../migrations/0011_erasures.sql"),
    },
    Migration {
        number: 12,
        name: "models",
        text: include_str!("../migrations/0012_models.sql"),
    },
    Migration {
        number: 15,
        name: "outlines",
        text: include_str!("../migrations/0015_outlines.sql"),
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

    fn step(&self) -> SchemaStep {
        SchemaStep {
            number: self.number,
            name: self.name.to_owned(),
            checksum: self.checksum(),
        }
    }
}

/// `TEXT` as a type becomes `TEXT COLLATE "C"`, for an order that no locale changes.
pub(crate) fn collate(text: &str) -> String {
    text.replace(" TEXT", " TEXT COLLATE \"C\"")
}

/// The steps of this version, in order.
pub fn known_schema() -> Vec<SchemaStep> {
    ALL.iter().map(Migration::step).collect()
}

/// The steps that this version would still apply to a store that has been through these.
///
/// # Errors
/// If the store has a step that is not known here, or one that differs.
pub fn check_schema(applied: &[SchemaStep]) -> Result<Vec<SchemaStep>, StoreError> {
    Ok(pending(applied)?.iter().map(Migration::step).collect())
}

/// The steps still to be applied.
///
/// # Errors
/// If the store has a step that is not known here, or one that differs.
pub(crate) fn pending(applied: &[SchemaStep]) -> Result<&'static [Migration], StoreError> {
    let refuse = |why: String| Err(StoreError::failed("open the store", why));
    for (index, step) in applied.iter().enumerate() {
        let (number, name) = (step.number, &step.name);
        match ALL.get(index) {
            None => {
                return refuse(format!(
                    "a newer version of quipu made it: this one does not know its migration \
                     {number} `{name}`; install that version or a later one"
                ));
            }
            Some(known) if known.number != number || known.name != name => {
                return refuse(format!(
                    "its migration {number} is `{name}`, where this version has {} `{}`",
                    known.number, known.name
                ));
            }
            Some(known) if known.checksum() != step.checksum => {
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
