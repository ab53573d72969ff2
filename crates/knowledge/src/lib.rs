//! What can be asked of a base: its documents, where they come from, and the search over them.

pub mod documents;
pub mod search;
pub mod sources;

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
    Entry::of::<documents::UpdateDocument>(),
    Entry::of::<documents::DeleteDocument>(),
    Entry::of::<documents::RestoreDocument>(),
    Entry::of::<documents::PurgeDocument>(),
    Entry::of::<sources::CreateSource>(),
    Entry::of::<sources::ListSources>(),
    Entry::of::<sources::ShowSource>(),
    Entry::of::<sources::ListSourceItems>(),
    Entry::of::<sources::UpdateSource>(),
    Entry::of::<sources::PushItems>(),
    Entry::of::<sources::PushFile>(),
    Entry::of::<sources::StartPull>(),
    Entry::of::<sources::DeleteSource>(),
];

/// The jobs of this room.
pub const JOBS: &[JobEntry] = &[
    JobEntry::of::<documents::ParseDocument>(),
    JobEntry::of::<documents::IndexDocument>(),
    JobEntry::of::<documents::IndexBase>(),
    JobEntry::of::<documents::EmbedDocument>(),
    JobEntry::of::<documents::EmbedBase>(),
    JobEntry::of::<documents::EraseBlobs>(),
    JobEntry::of::<documents::ReadAgain>(),
    JobEntry::of::<sources::PullSource>(),
    JobEntry::of::<sources::EmptySource>(),
];
