//! What the store can fail at.

use std::error::Error as StdError;

use model::{Code, Error};

/// A failure of the store: what was being done, and why it did not work.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk is full or takes no writes. Nothing of the transaction stays; reads go on.
    #[error("the disk is full or refuses writes: {0}")]
    Full(String),
    /// Others hold what this needs, or the database cannot be reached; the same may succeed in a
    /// moment.
    #[error("the database is busy or out of reach: {0}")]
    Busy(String),
    /// The store of blobs cannot be reached or is overcharged; the same may succeed in a moment.
    #[error("the blob store is out of reach: {0}")]
    Unreachable(String),
    /// The settings name a database that cannot be used; trying again is of no use. Holds no
    /// password.
    #[error("the database {place} cannot be used: {why}")]
    Misaddressed {
        /// Where it is said to be.
        place: String,
        /// What is wrong with that, and what would be right.
        why: String,
    },
    /// A row with this key is there already; names the table.
    #[error("`{0}` already has a row with this key")]
    Unique(String),
    /// Anything else.
    #[error("could not {what}: {source}")]
    Failed {
        /// What was being done, as "could not …" continues.
        what: String,
        /// Why it failed.
        source: Box<dyn StdError + Send + Sync>,
    },
}

impl StoreError {
    /// A failure with its cause.
    pub fn failed(
        what: impl Into<String>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        StoreError::Failed {
            what: what.into(),
            source: source.into(),
        }
    }
}

/// Seconds after which a full disk is worth another try.
const FULL_RETRY: u32 = 30;

/// Seconds after which a store of blobs that did not answer is worth another try.
const UNREACHABLE_RETRY: u32 = 5;

impl From<StoreError> for Error {
    fn from(failure: StoreError) -> Self {
        match failure {
            StoreError::Full(_) => Error::new(
                Code::StorageFull,
                "the disk is full or refuses writes; nothing was changed, and reading still works",
            )
            .retry_after(FULL_RETRY)
            .caused_by(failure),
            StoreError::Busy(_) => Error::new(
                Code::Unavailable,
                "the database is busy or out of reach; try again in a moment",
            )
            .retry_after(1)
            .caused_by(failure),
            StoreError::Unreachable(_) => Error::new(
                Code::Unavailable,
                "the store of the documents' bytes is busy or out of reach; try again in a moment",
            )
            .retry_after(UNREACHABLE_RETRY)
            .caused_by(failure),
            StoreError::Misaddressed { .. } => {
                Error::new(Code::InvalidArgument, failure.to_string())
            }
            StoreError::Unique(_) | StoreError::Failed { .. } => Error::internal(failure),
        }
    }
}
