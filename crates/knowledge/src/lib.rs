//! What can be asked of a base: its documents, where they come from and the search over them; its
//! things and the facts about them; all of it as a graph.

pub mod documents;
pub mod entities;
pub mod export;
pub mod facts;
pub mod models;
pub mod ontology;
pub mod search;
pub mod sources;

use kernel::{Entry, JobEntry};

/// The operations of this room, in the manual's order.
pub const OPS: &[Entry] = &[
    Entry::of::<search::SearchChunks>(),
    Entry::of::<documents::GetDocument>(),
    Entry::of::<entities::FindEntities>(),
    Entry::of::<facts::EntityFacts>(),
    Entry::of::<facts::Neighbors>(),
    Entry::of::<facts::Timeline>(),
    Entry::of::<facts::PathsBetween>(),
    Entry::of::<facts::Changes>(),
    Entry::of::<export::ExportGraph>(),
    Entry::of::<export::ExportBase>(),
    Entry::of::<export::ImportBase>(),
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
    Entry::of::<entities::AddEntity>(),
    Entry::of::<entities::SetEntityType>(),
    Entry::of::<entities::MergeEntities>(),
    Entry::of::<entities::UnmergeEntities>(),
    Entry::of::<entities::DifferentEntities>(),
    Entry::of::<entities::UndoDifferent>(),
    Entry::of::<facts::AssertFact>(),
    Entry::of::<facts::CorrectFact>(),
    Entry::of::<facts::EndFact>(),
    Entry::of::<facts::RetractFact>(),
    Entry::of::<ontology::ShowOntology>(),
    Entry::of::<ontology::ListOntologyPacks>(),
    Entry::of::<ontology::PreviewOntologyImport>(),
    Entry::of::<ontology::ApplyOntologyImport>(),
    Entry::of::<ontology::AddEntityType>(),
    Entry::of::<ontology::UpdateEntityType>(),
    Entry::of::<ontology::DeleteEntityType>(),
    Entry::of::<ontology::AddRelationType>(),
    Entry::of::<ontology::ChangeRelationType>(),
    Entry::of::<ontology::DeleteRelationType>(),
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
    JobEntry::of::<models::PruneVectors>(),
];
