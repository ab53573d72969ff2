//! JSON read strictly: bounded depth, and no member named twice.
//!
//! A member given twice means one thing to a filter in front of us and another to us, so an
//! object that we read the members of is refused for it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

/// Nesting that a message may have at most.
pub(crate) const DEPTH_MAX: usize = 64;

/// A text from outside, cut to a length that fits a sentence.
pub(crate) fn shown(text: &str) -> String {
    const CHARS_MAX: usize = 64;
    let mut cut: String = text.chars().take(CHARS_MAX).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

/// The deepest nesting of arrays and objects in valid JSON.
pub(crate) fn depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0_usize);
    let (mut in_string, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The members of one object, their values unread.
#[derive(Debug, Default)]
pub(crate) struct Members<'a> {
    values: HashMap<String, &'a RawValue>,
    /// The first name that stood there more than once.
    pub(crate) twice: Option<String>,
}

impl<'a> Members<'a> {
    /// Reads an object; `None` if `json` is something else, or a name in it is not Unicode.
    pub(crate) fn read(json: &'a str) -> Option<Self> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Members::default();
                while let Some(name) = map.next_key::<String>()? {
                    let value = map.next_value::<&'de RawValue>()?;
                    match members.values.entry(name) {
                        Entry::Vacant(free) => {
                            free.insert(value);
                        }
                        Entry::Occupied(taken) => {
                            members.twice.get_or_insert_with(|| taken.key().clone());
                        }
                    }
                }
                Ok(members)
            }
        }
        serde_json::Deserializer::from_str(json)
            .deserialize_map(Object)
            .ok()
    }

    /// A member's text as it was sent; `null` counts.
    pub(crate) fn raw(&self, name: &str) -> Option<&'a RawValue> {
        self.values.get(name).copied()
    }

    /// A member's text as it was sent; `null` is absent.
    pub(crate) fn present(&self, name: &str) -> Option<&'a RawValue> {
        self.raw(name).filter(|value| value.get() != "null")
    }

    /// A member that is a string.
    pub(crate) fn string(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.raw(name)?.get()).ok()
    }
}

/// A value read whole; a member named twice at any depth is an error.
pub(crate) fn value(json: &str) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = Strict.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Strict)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value_seed(Strict)?;
            if members.contains_key(&name) {
                let name = shown(&name);
                return Err(A::Error::custom(format!(
                    "`{name}` is named twice in one object"
                )));
            }
            members.insert(name, value);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn brackets_inside_strings_do_not_nest() {
        assert_eq!(depth(r#"{"a":"[[[\"[[","b":[[1]]}"#), 3);
        assert_eq!(depth("1"), 0);
    }

    #[test]
    fn a_name_spelled_with_escapes_is_the_same_name() {
        let members = Members::read(r#"{"id":1,"\u0069d":2}"#).expect("an object");

        assert_eq!(members.twice.as_deref(), Some("id"));
    }

    #[test]
    fn a_member_named_twice_at_any_depth_is_an_error() {
        assert!(value(r#"{"a":[{"b":1,"b":1}]}"#).is_err());
        assert_eq!(
            value(r#"{"a":[{"b":1},{"b":1}]}"#).unwrap(),
            json!({"a": [{"b": 1}, {"b": 1}]})
        );
    }

    #[test]
    fn strict_reading_agrees_with_plain_reading() {
        let text = r#"{"z":[null,true,-1,18446744073709551615,1.5e3,"é\n"],"a":{}}"#;

        assert_eq!(
            value(text).unwrap(),
            serde_json::from_str::<Value>(text).unwrap()
        );
    }
}
