//! What can be asked of a base: its documents and the search over them.

pub mod documents;
pub mod search;

use kernel::{Entry, JobEntry};

/// The operations of this room, in the manual's order.
pub const OPS: &[Entry] = &[
    Entry::of::<search::SearchChunks>(),
    Entry::of::<documents::GetDocument>(),
    Entry::of::<search::SearchDocs>(),
    Entry::of::<documents::AddDocument>(),
    Entry::of::<documents::ListDocuments>(),
    Entry::of::<documents::ShowDocument>(),
    Entry::of::<documents::ListVersions>(),
    Entry::of::<documents::DeleteDocument>(),
    Entry::of::<documents::RestoreDocument>(),
    Entry::of::<documents::PurgeDocument>(),
];

/// The jobs of this room.
pub const JOBS: &[JobEntry] = &[
    JobEntry::of::<documents::ParseDocument>(),
    JobEntry::of::<documents::IndexDocument>(),
    JobEntry::of::<documents::EmbedDocument>(),
    JobEntry::of::<documents::EmbedBase>(),
    JobEntry::of::<documents::EraseBlobs>(),
];
