//! Backups: one tar file with every row and every document's bytes as of one moment.
//!
//! A backup is written and read as a stream, in this order: `about.json` (how much will follow),
//! `rows/TABLE/NUMBER.jsonl`, `blobs/TENANT/BASE/SHA256`, `manifest.json`, `manifest.sha256`. It
//! is whole if it ends with a manifest that says what stood before it. Rows are in a form that
//! either engine takes. See docs/decisions/0008.

pub(crate) mod archive;
pub(crate) mod check;
mod hold;
mod make;
pub(crate) mod manifest;
pub(crate) mod restore;

pub use check::{Checked, Progress, check};
pub use hold::Hold;
pub use make::{Now, make};
pub use manifest::{About, FileEntry, Head, Manifest, Tally};
pub use restore::{Restored, load, restore_blobs};

use store::StoreError;
use store::rows::LoadError;

/// What can go wrong with a backup, or another archive.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// It cannot be read or written.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// The cause.
        source: std::io::Error,
    },
    /// It is no such archive, or not all of one, or not as it was written.
    #[error("{0}")]
    Unsound(String),
    /// Whoever was receiving it went away.
    #[error("its receiver went away")]
    GoneAway,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A row of it cannot be loaded.
    #[error("`{path}`: {source}")]
    Row {
        /// The file it is in.
        path: String,
        /// What is wrong with it.
        source: LoadError,
    },
}

impl From<BackupError> for model::Error {
    fn from(error: BackupError) -> Self {
        match error {
            BackupError::Store(error) => error.into(),
            BackupError::Unsound(why) => model::Error::new(model::Code::Unreadable, why),
            BackupError::Row {
                path,
                source: source @ LoadError::NotARow { .. },
            } => model::Error::new(model::Code::Unreadable, format!("`{path}`: {source}")),
            other => model::Error::internal(other),
        }
    }
}
