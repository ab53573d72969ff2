//! Values on their way into a statement and out of a row.

use std::borrow::Cow;

use model::{
    AuditId, ChunkId, CredentialId, DocumentId, EntityId, EntityTypeId, EventId, FactId, JobId,
    KbId, RecordTime, RelationTypeId, RequestId, Role, SourceId, TenantId, UserId,
};
use uuid::Uuid;

use crate::StoreError;

/// A value bound to a statement.
#[derive(Debug, Clone)]
pub(crate) enum Param<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Real(f64),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
    Uuid(Uuid),
    /// A set, for `= ANY($n)`.
    Uuids(Vec<Uuid>),
    Ints(Cow<'a, [i64]>),
    Texts(Vec<&'a str>),
}

/// A value read from a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
    Uuid(Uuid),
}

impl Value {
    /// What kind of value it is, for a message; never the value itself.
    fn kind(&self) -> &'static str {
        match self {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Int(_) => "an integer",
            Value::Real(_) => "a real number",
            Value::Text(_) => "text",
            Value::Bytes(_) => "bytes",
            Value::Uuid(_) => "a UUID",
        }
    }
}

/// One row of an answer, read from the first column to the last.
#[derive(Debug)]
pub(crate) struct Row {
    statement: &'static str,
    column: usize,
    values: std::vec::IntoIter<Value>,
}

impl Row {
    pub(crate) fn new(statement: &'static str, values: Vec<Value>) -> Self {
        Self {
            statement,
            column: 0,
            values: values.into_iter(),
        }
    }

    /// The next column.
    ///
    /// # Errors
    /// If there is none, or it does not hold a `T`: the schema and this code disagree.
    pub(crate) fn take<T: Column>(&mut self) -> Result<T, StoreError> {
        self.column += 1;
        let Some(value) = self.values.next() else {
            return Err(self.disagree("ends before it"));
        };
        let kind = value.kind();
        T::read(value).ok_or_else(|| self.disagree(kind))
    }

    /// All columns, as the engine has them.
    pub(crate) fn into_values(self) -> Vec<Value> {
        self.values.collect()
    }

    /// The next column, a name that `T` has.
    pub(crate) fn named<T: std::str::FromStr>(&mut self) -> Result<T, StoreError> {
        let text: String = self.take()?;
        text.parse()
            .map_err(|_| self.disagree("a name this version does not know"))
    }

    /// The next column, a name that `T` has, or nothing.
    pub(crate) fn named_or_none<T: std::str::FromStr>(&mut self) -> Result<Option<T>, StoreError> {
        let text: Option<String> = self.take()?;
        text.map(|text| text.parse())
            .transpose()
            .map_err(|_| self.disagree("a name this version does not know"))
    }

    /// The next column, a JSON array of texts.
    pub(crate) fn texts(&mut self) -> Result<Vec<String>, StoreError> {
        let text: String = self.take()?;
        serde_json::from_str(&text).map_err(|_| self.disagree("text that is no JSON list"))
    }

    fn disagree(&self, found: &str) -> StoreError {
        StoreError::failed(
            "read a row",
            format!(
                "column {} of `{}` holds {found}",
                self.column, self.statement
            ),
        )
    }
}

/// The texts as a JSON array.
pub(crate) fn json(texts: &[String]) -> String {
    serde_json::to_string(texts).expect("a list of texts is JSON")
}

/// The bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).expect("four bits are a digit");
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// One row of an answer while it is passed by, its columns counted from 0.
///
/// None where a column holds something else, or nothing.
pub(crate) trait Cells {
    fn int(&self, column: usize) -> Option<i64>;
    fn uuid(&self, column: usize) -> Option<Uuid>;
}

/// What a column can be read as.
pub(crate) trait Column: Sized {
    fn read(value: Value) -> Option<Self>;
}

impl<T: Column> Column for Option<T> {
    fn read(value: Value) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::read(value).map(Some),
        }
    }
}

impl Column for i64 {
    fn read(value: Value) -> Option<Self> {
        match value {
            Value::Int(number) => Some(number),
            _ => None,
        }
    }
}

impl Column for u64 {
    fn read(value: Value) -> Option<Self> {
        i64::read(value)?.try_into().ok()
    }
}

impl Column for u32 {
    fn read(value: Value) -> Option<Self> {
        i64::read(value)?.try_into().ok()
    }
}

impl Column for bool {
    fn read(value: Value) -> Option<Self> {
        match value {
            Value::Bool(truth) => Some(truth),
            // SQLite keeps booleans as 0 and 1.
            Value::Int(0) => Some(false),
            Value::Int(1) => Some(true),
            _ => None,
        }
    }
}

impl Column for f64 {
    fn read(value: Value) -> Option<Self> {
        match value {
            Value::Real(number) => Some(number),
            _ => None,
        }
    }
}

impl Column for String {
    fn read(value: Value) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl Column for Vec<u8> {
    fn read(value: Value) -> Option<Self> {
        match value {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

impl Column for [u8; 32] {
    fn read(value: Value) -> Option<Self> {
        Vec::<u8>::read(value)?.try_into().ok()
    }
}

impl Column for Uuid {
    fn read(value: Value) -> Option<Self> {
        match value {
            Value::Uuid(id) => Some(id),
            // SQLite keeps UUIDs as 16 bytes.
            Value::Bytes(bytes) => Uuid::from_slice(&bytes).ok(),
            _ => None,
        }
    }
}

impl Column for RecordTime {
    fn read(value: Value) -> Option<Self> {
        i64::read(value).map(RecordTime::from_micros)
    }
}

macro_rules! ids {
    ($($id:ident)*) => {$(
        impl Column for $id {
            fn read(value: Value) -> Option<Self> {
                Uuid::read(value).map($id::new)
            }
        }

        impl From<$id> for Param<'_> {
            fn from(id: $id) -> Self {
                Param::Uuid(id.uuid())
            }
        }

        impl From<&[$id]> for Param<'_> {
            fn from(ids: &[$id]) -> Self {
                Param::Uuids(ids.iter().map(|id| id.uuid()).collect())
            }
        }
    )*};
}
ids! {
    TenantId UserId KbId CredentialId DocumentId ChunkId JobId AuditId RequestId SourceId
    EntityId EntityTypeId EventId FactId RelationTypeId
}

impl From<Uuid> for Param<'_> {
    fn from(id: Uuid) -> Self {
        Param::Uuid(id)
    }
}

impl From<bool> for Param<'_> {
    fn from(truth: bool) -> Self {
        Param::Bool(truth)
    }
}

impl From<i64> for Param<'_> {
    fn from(number: i64) -> Self {
        Param::Int(number)
    }
}

impl From<u32> for Param<'_> {
    fn from(number: u32) -> Self {
        Param::Int(number.into())
    }
}

impl From<u64> for Param<'_> {
    fn from(number: u64) -> Self {
        // Sizes and counts; the half that does not fit is beyond any disk.
        Param::Int(number as i64)
    }
}

impl From<f64> for Param<'_> {
    fn from(number: f64) -> Self {
        Param::Real(number)
    }
}

impl From<RecordTime> for Param<'_> {
    fn from(at: RecordTime) -> Self {
        Param::Int(at.micros())
    }
}

impl From<Role> for Param<'_> {
    fn from(role: Role) -> Self {
        Param::Text(Cow::Borrowed(role.name()))
    }
}

impl<'a> From<&'a str> for Param<'a> {
    fn from(text: &'a str) -> Self {
        Param::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for Param<'a> {
    fn from(text: &'a String) -> Self {
        Param::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Param<'_> {
    fn from(text: String) -> Self {
        Param::Text(Cow::Owned(text))
    }
}

impl<'a> From<&'a [u8]> for Param<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Param::Bytes(Cow::Borrowed(bytes))
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Param<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Param::Bytes(Cow::Borrowed(bytes))
    }
}

impl From<Vec<u8>> for Param<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Param::Bytes(Cow::Owned(bytes))
    }
}

impl<'a> From<&'a [i64]> for Param<'a> {
    fn from(numbers: &'a [i64]) -> Self {
        Param::Ints(Cow::Borrowed(numbers))
    }
}

impl<'a> From<Vec<&'a str>> for Param<'a> {
    fn from(texts: Vec<&'a str>) -> Self {
        Param::Texts(texts)
    }
}

impl<'a, T: Into<Param<'a>>> From<Option<T>> for Param<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Param::Null, Into::into)
    }
}

/// The values for a statement, in the order of their numbers.
macro_rules! params {
    ($($value:expr),* $(,)?) => { &[$($crate::value::Param::from($value)),*] };
}
pub(crate) use params;
