//! Documents: taking them in, reading them, taking them away.

mod add_document;
mod delete_document;
mod embed_base;
mod embed_document;
mod erase_blobs;
mod get_document;
mod index_base;
mod index_document;
mod list_documents;
mod list_versions;
mod parse_document;
mod pipeline;
mod purge_document;
mod read_again;
mod restore_document;
mod show_document;
mod update_document;

use std::sync::Arc;

use engine::library::{ExternalKey, Files};
use kernel::{Base, Core, Cx};
use model::{DocumentId, Error, RecordTime, Result, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::documents::{Document, DocumentState};
use store::{Tx, documents};

pub use add_document::{AddDocument, AddedDocument};
pub(crate) use add_document::{at_most, file_name};
pub use delete_document::{DeleteDocument, DeletedDocument};
pub use embed_base::{EmbedBase, enqueue_missing_vectors, key_of as embed_base_key};
pub use embed_document::EmbedDocument;
pub use erase_blobs::EraseBlobs;
pub use get_document::{DocumentText, GetDocument, TextSection};
pub use index_base::IndexBase;
pub use index_document::IndexDocument;
pub use list_documents::{Documents, ListDocuments};
pub(crate) use list_versions::hex;
pub use list_versions::{ListVersions, VersionInfo, Versions};
pub use parse_document::ParseDocument;
pub use purge_document::{PurgeDocument, PurgedDocument};
pub(crate) use read_again::take_up_unfinished;
pub use read_again::{ReadAgain, enqueue_readings, readings_changed, readings_left};
pub use restore_document::RestoreDocument;
pub use show_document::{ShowDocument, ShownDocument};
pub use update_document::UpdateDocument;

/// The files of documents, and the rows about them.
pub fn files(core: &Core) -> Files<'_> {
    let clock = core.clock.clone();
    Files {
        db: &core.db,
        blobs: &core.blobs,
        now: Arc::new(move || clock.now()),
    }
}

/// Where the latest version of a document stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum State {
    /// Accepted, and waiting to be read.
    Pending,
    /// Being read.
    Parsing,
    /// Its passages are being indexed.
    Indexing,
    /// It can be searched by words; its vectors are being made.
    Embedding,
    /// Done.
    Ready,
    /// Given up; `failure` says why. An earlier version stays readable.
    Failed,
}

impl State {
    /// Its name.
    pub const fn name(self) -> &'static str {
        self.stored().name()
    }

    pub(crate) const fn stored(self) -> DocumentState {
        match self {
            State::Pending => DocumentState::Pending,
            State::Parsing => DocumentState::Parsing,
            State::Indexing => DocumentState::Indexing,
            State::Embedding => DocumentState::Embedding,
            State::Ready => DocumentState::Ready,
            State::Failed => DocumentState::Failed,
        }
    }
}

impl From<DocumentState> for State {
    fn from(state: DocumentState) -> Self {
        match state {
            DocumentState::Pending => State::Pending,
            DocumentState::Parsing => State::Parsing,
            DocumentState::Indexing => State::Indexing,
            DocumentState::Embedding => State::Embedding,
            DocumentState::Ready => State::Ready,
            DocumentState::Failed => State::Failed,
        }
    }
}

/// A document, over all its versions.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct DocumentInfo {
    /// The document's id.
    pub document_id: DocumentId,
    /// The name of its file.
    pub filename: String,
    /// What its sender knows it by.
    pub external_id: String,
    /// The lowest role that sees it.
    pub least_role: Role,
    /// Where its latest version stands.
    pub state: State,
    /// Why its latest version failed.
    pub failure: Option<String>,
    /// Its latest version.
    pub version: u32,
    /// The version that can be searched and read now; null if none can.
    pub held_version: Option<u32>,
    /// When it was added.
    pub created_at: RecordTime,
    /// When something about it changed last.
    pub updated_at: RecordTime,
    /// When it was deleted; null if it is there.
    pub deleted_at: Option<RecordTime>,
}

impl From<Document> for DocumentInfo {
    fn from(document: Document) -> Self {
        Self {
            document_id: document.id,
            filename: document.filename,
            external_id: ExternalKey::shown(&document.external_key).to_owned(),
            least_role: document.least_role,
            state: document.state.into(),
            failure: document.failure,
            version: document.version,
            held_version: document.held_version,
            created_at: document.created_at,
            updated_at: document.updated_at,
            deleted_at: document.deleted_at,
        }
    }
}

impl DocumentInfo {
    fn line(&self) -> String {
        let (id, state) = (self.document_id, self.state.name());
        let state = if self.deleted_at.is_some() {
            "deleted"
        } else {
            state
        };
        let failure = self
            .failure
            .as_ref()
            .map(|why| format!("  ({why})"))
            .unwrap_or_default();
        format!("{id}  {state}  {}{failure}\n", self.filename)
    }
}

impl kernel::Reply for DocumentInfo {
    fn text(&self) -> String {
        self.line()
    }
}

/// The sentence for a document that is not there or not for the caller.
pub(crate) fn no_such_document() -> Error {
    Error::not_found("No document with that id in this knowledge base")
}

/// The document as the caller may know of it: deleted ones are for those who could restore them,
/// purged ones for nobody.
async fn known(tx: &mut Tx, cx: &Cx<'_, Base>, id: DocumentId) -> Result<Document> {
    let role = cx.target.role();
    let document = documents::find(tx, cx.target.id(), id).await?;
    document
        .filter(|document| {
            document.least_role <= role
                && document.purged_at.is_none()
                && (document.deleted_at.is_none() || Role::Editor <= role)
        })
        .ok_or_else(no_such_document)
}

/// Names the jobs about a version, so that a purge finds them.
fn version_key(document: DocumentId, version: u32) -> String {
    format!("{document}/{version}")
}
