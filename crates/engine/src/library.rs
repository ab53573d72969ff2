//! Documents, their versions, their passages, and the one search over them.
//!
//! A version is *accepted* when its bytes are kept, and *held* from the moment it is published
//! until another one takes its place or the document is deleted. What was held stays readable at
//! its record time; only a purge erases.

mod accept;
mod embed;
mod files;
mod key;
pub mod models;
mod publish;
mod push;
mod read;
mod reclass;
mod remove;
mod search;

pub use accept::{Accept, Accepted, Action, accept};
pub use embed::{BATCH, Embedded, Meant, Without, embed_next, mean};
pub use files::{Files, KeptFile, still_kept};
pub use key::{ExternalKey, NotAKey};
pub use publish::{Prepared, Published, publish, read_anew, read_before};
pub use push::{Push, PushAction, Pushed, Work, is_set_aside, mark_missing, push, standing};
pub use read::{PAGE_CHARS, Page, PageSection, page, seen};
pub use reclass::set_least_role;
pub use remove::{Purged, Revived, delete, purge, restore};
pub use search::{Answer, Found, Search, hybrid, search};
