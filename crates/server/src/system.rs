//! Operations about the deployment itself: its health, its embedding model.

mod back_up;
mod doctor;
mod install_model;
mod lines;
mod model_status;
mod reindex;
mod verify;

use kernel::Entry;

/// The operations of this room, in the manual's order.
pub const OPS: &[Entry] = &[
    Entry::of::<back_up::BackUp>(),
    Entry::of::<verify::Verify>(),
    Entry::of::<reindex::Reindex>(),
    Entry::of::<doctor::Doctor>(),
    Entry::of::<model_status::ModelStatus>(),
    Entry::of::<install_model::InstallModel>(),
];
