//! Archives of one base: one tar file with all that belongs to it, wherever it lives.
//!
//! In the form of a backup and checked by the same rules, but without the organisation: rows and
//! blobs are named by what they are within their base, so a base that was taken in elsewhere makes
//! the same archive again, byte for byte. Who may see it, and what was done with it, stays with the
//! deployment. See docs/decisions/0015.

mod make;
mod take_in;

pub use make::make;
pub use take_in::{Read, check, forget_blobs, keep_blobs, load, read_rows};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use store::SchemaStep;
use store::base_rows::BaseRow;

use crate::backup::manifest::Described;
use crate::backup::{FileEntry, Tally};

/// Everything that an archive of a base holds; its last file but one.
///
/// It says nothing of when, where and by whom it was made: the same base has the same archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// `quipu-base`.
    pub format: String,
    /// Version of the form.
    pub format_version: u32,
    /// Version of the program that made it.
    pub product_version: String,
    /// The migrations that its rows have been through.
    pub schema: Vec<SchemaStep>,
    /// The base; everything of it up to its clock is in the archive, and nothing after.
    pub base: BaseRow,
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

/// The word by which a manifest is known.
const FORMAT: &str = "quipu-base";
/// Counts up whenever a reader of the form before would misread what is written.
const FORMAT_VERSION: u32 = 1;

impl Described for Manifest {
    const FORMAT: &'static str = FORMAT;
    const FORMAT_VERSION: u32 = FORMAT_VERSION;
    const CALLED: &'static str = "archive of a base";

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
