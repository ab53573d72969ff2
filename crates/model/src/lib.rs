//! Values and pure rules. Nothing here reads a clock, a file, a database or chance.

#![warn(missing_docs)]

pub mod code;
pub mod cursor;
pub mod document;
pub mod id;
pub mod limit;
pub mod near;
pub mod passages;
pub mod rank;
pub mod right;
pub mod text;
pub mod time;

pub use code::{Code, Error, Result};
pub use cursor::Cursor;
pub use id::{
    AuditId, ChunkId, CredentialId, DocumentId, JobId, KbId, RequestId, TenantId, UserId,
};
pub use limit::Limit;
pub use right::{Role, Scope, Scopes, Visibility};
pub use time::{Precision, RecordTime, WorldTime};
