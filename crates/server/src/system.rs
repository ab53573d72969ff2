//! Operations about the deployment itself: its health, its embedding model.

mod doctor;
mod install_model;
mod model_status;

use kernel::Entry;

/// The operations of this room, in the manual's order.
pub const OPS: &[Entry] = &[
    Entry::of::<doctor::Doctor>(),
    Entry::of::<model_status::ModelStatus>(),
    Entry::of::<install_model::InstallModel>(),
];
