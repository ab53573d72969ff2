//! Ids: one type per thing, so that two cannot be exchanged.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

/// The text is not an id.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("must be a UUID such as `0198c5f2-7c1e-7b8a-9f5e-2b1c6a7d8e90`, not `{0}`")]
pub struct NotAnId(String);

/// A UUID in text, or an error that shows (the start of) what was given.
fn parse(text: &str) -> Result<Uuid, NotAnId> {
    Uuid::try_parse(text.trim()).map_err(|_| NotAnId(text.chars().take(80).collect()))
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps the UUID.
            pub const fn new(id: Uuid) -> Self {
                Self(id)
            }

            /// The UUID itself, for storage and derivation.
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(out)
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<Self, NotAnId> {
                parse(text).map(Self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
                let text = Cow::<'de, str>::deserialize(source)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "format": "uuid" })
            }
        }
    )*};
}

ids! {
    /// An organisation.
    TenantId
    /// A person with an account.
    UserId
    /// A base: the container of documents and facts, called workspace on some doors.
    KbId
    /// A token, key or session.
    CredentialId
    /// A document, over all its versions.
    DocumentId
    /// A passage: the unit of search. Stable over versions that leave its text alone.
    ChunkId
    /// Where documents come from: a pusher, a folder, pages of the web.
    SourceId
    /// A thing that facts are about.
    EntityId
    /// A claim.
    FactId
    /// A kind of thing.
    EntityTypeId
    /// A kind of claim: a relation between things, or an attribute of one.
    RelationTypeId
    /// A decision that changed the ledger.
    EventId
    /// A piece of work in the queue.
    JobId
    /// A row of the audit log.
    AuditId
    /// One request, as named in answers and logs.
    RequestId
}

impl ChunkId {
    /// The id of a passage: UUIDv5 over the document, the headings above it, its text, and how
    /// many equal passages stand before it under the same headings.
    pub fn of(document: DocumentId, heading_path: &[String], text: &str, occurrence: u32) -> Self {
        let mut name = Vec::with_capacity(text.len() + 64);
        for heading in heading_path {
            name.extend_from_slice(&(heading.len() as u64).to_be_bytes());
            name.extend_from_slice(heading.as_bytes());
        }
        name.push(0xff);
        name.extend_from_slice(&occurrence.to_be_bytes());
        name.extend_from_slice(text.as_bytes());
        Self(Uuid::new_v5(&document.0, &name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_is_no_uuid_is_shown_back() {
        let refused = "last week".parse::<KbId>().unwrap_err().to_string();
        assert!(refused.ends_with("not `last week`"), "{refused}");
    }

    #[test]
    fn equal_passages_under_other_headings_have_other_ids() {
        let document = DocumentId::new(Uuid::from_u128(7));
        let (a, ab) = (vec!["a".to_owned()], vec!["a".to_owned(), "b".to_owned()]);
        let joined = vec!["ab".to_owned()];

        let ids = [
            ChunkId::of(document, &a, "text", 0),
            ChunkId::of(document, &a, "text", 1),
            ChunkId::of(document, &ab, "text", 0),
            ChunkId::of(document, &joined, "text", 0),
        ];

        for (n, id) in ids.iter().enumerate() {
            assert_eq!(ids.iter().position(|other| other == id), Some(n));
        }
    }
}
