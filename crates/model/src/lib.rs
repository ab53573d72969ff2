//! Values and pure rules. Nothing here reads a clock, a file, a database or chance.

#![warn(missing_docs)]

pub mod code;
pub mod cursor;
pub mod document;
pub mod fact;
pub mod holds;
pub mod id;
pub mod identity;
pub mod limit;
mod named;
pub mod near;
pub mod ontology;
pub mod passages;
pub mod rank;
pub mod right;
pub mod text;
pub mod time;

pub use code::{Code, Error, Result};
pub use cursor::Cursor;
pub use id::{
    AuditId, ChunkId, CredentialId, DocumentId, EntityId, EntityTypeId, EventId, FactId, JobId,
    KbId, RelationTypeId, RequestId, SourceId, TenantId, UserId,
};
pub use limit::Limit;
pub use named::NotAWord;
pub use right::{Role, Scope, Scopes, Visibility};
pub use time::{Precision, RecordTime, WorldTime};
