//! What a backup says about itself.

use std::collections::BTreeMap;

use model::{KbId, RecordTime, TenantId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use store::SchemaStep;

use super::archive::PutBlob;

/// The word by which a manifest is known.
pub(super) const FORMAT: &str = "quipu-backup";
/// Counts up whenever a reader of the form before would misread what is written.
pub(super) const FORMAT_VERSION: u32 = 1;

pub(crate) const ABOUT: &str = "about.json";
pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const MANIFEST_HASH: &str = "manifest.sha256";
pub(crate) const ROWS: &str = "rows/";
pub(crate) const BLOBS: &str = "blobs/";

/// How much will follow; the first file of a backup.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Rows of all tables.
    pub rows: u64,
    /// Bytes of all documents.
    pub blob_bytes: u64,
}

/// Everything that a backup holds; its last file but one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// `quipu-backup`.
    pub format: String,
    /// Version of the form.
    pub format_version: u32,
    /// Version of the program that made it.
    pub product_version: String,
    /// `sqlite` or `postgres`; it restores into either.
    pub engine: String,
    /// When it was made; what it holds is a little older.
    pub made_at: RecordTime,
    /// The migrations that its rows have been through.
    pub schema: Vec<SchemaStep>,
    /// The moment that it holds of each base.
    pub heads: Vec<Head>,
    /// Rows of each table.
    pub tables: BTreeMap<String, u64>,
    /// The documents' files.
    pub blobs: Tally,
    /// Files that rows name and that were not there any more.
    pub missing: Vec<String>,
    /// Files that were not what their name says.
    pub damaged: Vec<String>,
    /// Every file before this one.
    pub files: Vec<FileEntry>,
}

/// Record time of a base's last write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The organisation.
    pub tenant: TenantId,
    /// The base.
    pub base: KbId,
    /// Its human name.
    pub slug: String,
    /// Everything of it up to then is in the backup, and nothing after.
    pub head: RecordTime,
}

/// How many, and how large together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// How many.
    pub count: u64,
    /// Bytes together.
    pub bytes: u64,
}

impl Tally {
    /// Counts a document's bytes, if they went into the archive.
    pub(crate) fn add(&mut self, put: PutBlob) {
        if let PutBlob::Whole(size) | PutBlob::Damaged(size) = put {
            self.count += 1;
            self.bytes += size;
        }
    }
}

/// A manifest of either kind of archive, as far as an archive is held against it.
pub(crate) trait Described: DeserializeOwned {
    /// The word by which it is known.
    const FORMAT: &'static str;
    /// The newest version of the form that is known.
    const FORMAT_VERSION: u32;
    /// What the archive is called in messages.
    const CALLED: &'static str;

    /// Every file before the manifest.
    fn files(&self) -> &[FileEntry];
    /// Rows of each table.
    fn tables(&self) -> &BTreeMap<String, u64>;
    /// The documents' files.
    fn blobs(&self) -> Tally;
}

impl Described for Manifest {
    const FORMAT: &'static str = FORMAT;
    const FORMAT_VERSION: u32 = FORMAT_VERSION;
    const CALLED: &'static str = "backup of quipu";

    fn files(&self) -> &[FileEntry] {
        &self.files
    }

    fn tables(&self) -> &BTreeMap<String, u64> {
        &self.tables
    }

    fn blobs(&self) -> Tally {
        self.blobs
    }
}

/// A file of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its path inside the archive.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
