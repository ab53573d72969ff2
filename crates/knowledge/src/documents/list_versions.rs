use std::fmt::Write as _;

use kernel::{Base, Cx, Method, Operation, Reply, Spec};
use model::{DocumentId, RecordTime, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::documents::{self, Version};

use super::known;

/// List the versions of a document, latest first, with the times between which each was held.
#[derive(Deserialize, JsonSchema)]
pub struct ListVersions {
    /// The document's id.
    document_id: DocumentId,
}

/// The versions of a document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Versions {
    /// The versions, latest first.
    pub versions: Vec<VersionInfo>,
}

/// One version of a document. Its content never changes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct VersionInfo {
    /// Its number, from 1.
    pub version: u32,
    /// The name of its file.
    pub filename: String,
    /// Bytes of its file.
    pub size: u64,
    /// SHA-256 of its file, in hexadecimal.
    pub sha256: String,
    /// What it is by its content; `application/octet-stream` until it was read.
    pub media_type: String,
    /// When it came in.
    pub accepted_at: RecordTime,
    /// Held from this record time on; null if it never was.
    pub recorded_at: Option<RecordTime>,
    /// Held until this record time; null while it is held.
    pub invalidated_at: Option<RecordTime>,
    /// The title that the document states.
    pub title: Option<String>,
    /// When the document is from, as exactly as is known.
    pub date: Option<String>,
    /// How that is known: `source` (its sender said so), `content`, `front_matter` or `file`.
    pub date_source: Option<String>,
    /// What could not be read, a sentence each.
    pub left_out: Vec<String>,
    /// Characters of its text.
    pub chars: u64,
}

impl From<Version> for VersionInfo {
    fn from(version: Version) -> Self {
        Self {
            version: version.version,
            filename: version.filename,
            size: version.size,
            sha256: hex(&version.blob_hash),
            media_type: version.media_type,
            accepted_at: version.accepted_at,
            recorded_at: version.recorded_at,
            invalidated_at: version.invalidated_at,
            title: version.title,
            date: version.document_date,
            date_source: version.date_source,
            left_out: version.left_out,
            chars: version.char_count,
        }
    }
}

/// The bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl Reply for Versions {
    fn text(&self) -> String {
        let line = |version: &VersionInfo| {
            let from = version
                .recorded_at
                .map_or("never held".to_owned(), |at| format!("held from {at}"));
            let until = version
                .invalidated_at
                .map(|at| format!(" until {at}"))
                .unwrap_or_default();
            format!(
                "{}  {}  {} bytes  {from}{until}\n",
                version.version, version.filename, version.size
            )
        };
        self.versions.iter().map(line).collect()
    }
}

impl Operation for ListVersions {
    type Target = Base;
    type Output = Versions;
    const SPEC: Spec = Spec::read("list_versions", "List versions")
        .route(Method::Get, "/kbs/{kb_id}/documents/{document_id}/versions")
        .cli("document versions", &["document_id"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<Versions> {
        cx.about("document", self.document_id);
        let mut tx = cx.read().await?;
        let document = known(&mut tx, cx, self.document_id).await?;
        let versions = documents::versions(&mut tx, cx.target.id(), document.id).await?;
        Ok(Versions {
            versions: versions.into_iter().map(VersionInfo::from).collect(),
        })
    }
}
