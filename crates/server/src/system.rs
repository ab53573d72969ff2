//! Operations about the deployment itself: its health, its embedding models.

mod back_up;
mod doctor;
mod install_model;
mod lines;
mod model_status;
mod prune_models;
mod reindex;
mod roll_back_model;
mod use_model;
mod verify;

use kernel::Entry;

pub(crate) use model_status::share;

/// The operations of this room, in the manual's order.
pub const OPS: &[Entry] = &[
    Entry::of::<back_up::BackUp>(),
    Entry::of::<verify::Verify>(),
    Entry::of::<reindex::Reindex>(),
    Entry::of::<doctor::Doctor>(),
    Entry::of::<model_status::ModelStatus>(),
    Entry::of::<install_model::InstallModel>(),
    Entry::of::<use_model::UseModel>(),
    Entry::of::<roll_back_model::RollBackModel>(),
    Entry::of::<prune_models::PruneModels>(),
];
