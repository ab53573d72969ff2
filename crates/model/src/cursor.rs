//! Where a listing goes on: opaque to callers, exact to us.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::RecordTime;

/// The last row of a page: its moment and its id, by which listings are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The row's moment.
    pub at: RecordTime,
    /// The row's id.
    pub id: Uuid,
}

impl fmt::Display for Cursor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:x}.{}", self.at.micros(), self.id.simple())
    }
}

/// The text is no cursor.
#[derive(Debug, thiserror::Error)]
#[error("must be the `next_cursor` of the page before")]
pub struct NotACursor;

impl FromStr for Cursor {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, NotACursor> {
        let (at, id) = text.split_once('.').ok_or(NotACursor)?;
        let at = i64::from_str_radix(at, 16).map_err(|_| NotACursor)?;
        let id = Uuid::try_parse(id).map_err(|_| NotACursor)?;
        Ok(Self {
            at: RecordTime::from_micros(at),
            id,
        })
    }
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(source)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Cursor {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Cursor".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_as_it_was_written() {
        let cursor = Cursor {
            at: RecordTime::from_micros(1_764_500_000_000_001),
            id: Uuid::max(),
        };
        assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
        assert!("page 2".parse::<Cursor>().is_err());
    }
}
