//! How to be an operation: one contract per thing that can be asked, one gate before all of them.
//!
//! An operation is a struct (its arguments), a [`Spec`] and a `run`. The doors of the server call
//! [`gate::admit`] and [`gate::run`]; nothing else may run an operation, and no operation can be
//! run about a thing that the gate has not opened, because targets have no public constructor.

#![warn(missing_docs)]

pub mod activity;
pub mod arguments;
pub mod chance;
pub mod core;
pub mod cx;
pub mod gate;
pub mod job;
mod key;
pub mod manual;
pub mod operation;
pub mod packs;
pub mod principal;
pub mod registry;
pub mod spec;
pub mod target;

pub use chance::{Chance, Clock, Ids};
pub use core::Core;
pub use cx::{Cx, Upload, WriteTx};
pub use job::{Job, JobCx, JobEntry, JobError, Queue};
pub use model::{Code, Error, Result};
pub use operation::{Answer, Entry, Flow, Flowing, Operation, Reply, more};
pub use principal::{Bases, Credential, CredentialKind, Principal};
pub use registry::{Registered, Registry};
pub use spec::{Cli, Door, Effect, Method, Spec};
pub use target::{Account, Base, Public, Target, TargetKind, Tenant};
