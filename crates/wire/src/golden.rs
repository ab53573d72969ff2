//! The golden HTTP table: what an MCP door must answer, as data, and the matcher that reads it.
//!
//! `golden/http.json` is run twice: here, through `read_post` alone, for the cases whose answer
//! depends on nothing else, and by the server's tests against the real door, at its address with
//! and without a trailing slash. For tests only.
//!
//! In an expected value these objects stand for more than themselves:
//!
//! - `{"$any": "string"}`: any value of that type (`string`, `integer`, `number`, `boolean`,
//!   `object`, `array`, `value`, or `tool_name`: 1 to 40 of `A-Z a-z 0-9 _ . / -`);
//! - `{"$contains": "text", "$lacks": "text"}`: a string, with the one and without the other;
//! - `{"$with": {...}}`: an object with at least these members; `{"$absent": true}` as a
//!   member's value forbids it;
//! - `{"$each": pattern, "$min": 1, "$max": 110}`: an array whose items all match.
//!
//! Anything else is compared as it stands, whatever the order of members.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

const TABLE: &str = include_str!("../golden/http.json");

/// The table's cases, in its order.
///
/// # Panics
/// If the data file is malformed; a test's setup.
pub fn cases() -> Vec<Case> {
    serde_json::from_str(TABLE).expect("golden/http.json is a list of cases")
}

/// One request and what must come back.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// A sentence; unique.
    pub name: String,
    /// Which credential goes along.
    #[serde(default)]
    pub credential: Credential,
    /// What is needed to run it.
    #[serde(default)]
    pub runs: Runs,
    /// What is sent.
    pub request: Request,
    /// What comes back.
    pub expect: Expect,
}

/// Which credential a case sends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Credential {
    /// One that may read.
    #[default]
    Valid,
    /// No `Authorization` header.
    None,
    /// One that was valid and has been revoked.
    Revoked,
    /// A token that was never issued.
    Garbage,
}

/// What a case needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Runs {
    /// Nothing but this room.
    #[default]
    Anywhere,
    /// Any real door.
    Door,
    /// The per-base door with its own tools.
    BaseDoor,
}

/// What a case sends.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// HTTP method.
    #[serde(default = "post")]
    pub method: String,
    #[serde(default)]
    headers: BTreeMap<String, Option<String>>,
    #[serde(default)]
    body: Option<Value>,
    #[serde(default)]
    raw: Option<String>,
    #[serde(default)]
    bytes: Option<Vec<u8>>,
    #[serde(default)]
    fill: Option<Fill>,
    #[serde(default)]
    larger_than_cap: bool,
}

fn post() -> String {
    "POST".to_owned()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fill {
    before: String,
    unit: String,
    times: usize,
    after: String,
}

impl Request {
    /// Its headers but `Authorization`. `Content-Type: application/json` is among them unless the
    /// case says otherwise; `{host}` in a value is the door's host and port. A name may come
    /// twice, in two spellings, and a value may hold bytes beyond ASCII: send both as they are.
    pub fn headers(&self, host: &str) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        if !self
            .headers
            .keys()
            .any(|name| name.eq_ignore_ascii_case("content-type"))
        {
            headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        }
        for (name, value) in &self.headers {
            if let Some(value) = value {
                headers.push((name.clone(), value.replace("{host}", host)));
            }
        }
        headers
    }

    /// Its body; one byte more than `cap_bytes` where the case asks for too much.
    pub fn body(&self, cap_bytes: usize) -> Vec<u8> {
        if self.larger_than_cap {
            return vec![b' '; cap_bytes + 1];
        }
        if let Some(fill) = &self.fill {
            return [&fill.before, &fill.unit.repeat(fill.times), &fill.after]
                .map(String::as_str)
                .concat()
                .into();
        }
        match (&self.body, &self.raw, &self.bytes) {
            (Some(body), ..) => body.to_string().into(),
            (_, Some(raw), _) => raw.clone().into(),
            (.., Some(bytes)) => bytes.clone(),
            (None, None, None) => Vec::new(),
        }
    }
}

/// What a case expects.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// HTTP status.
    pub status: u16,
    /// Headers by pattern; `null` forbids one.
    #[serde(default)]
    headers: BTreeMap<String, Value>,
    /// The body as JSON, by pattern.
    #[serde(default)]
    body: Option<Value>,
    /// Texts that stand in the body byte for byte.
    #[serde(default)]
    raw_contains: Vec<String>,
    /// The body has no bytes.
    #[serde(default)]
    empty: bool,
    /// The body has at most so many bytes.
    #[serde(default)]
    bytes_max: Option<usize>,
}

/// What a door answered.
#[derive(Debug)]
pub struct Answer<'a> {
    /// HTTP status.
    pub status: u16,
    /// Names in any case.
    pub headers: &'a [(String, String)],
    /// As received.
    pub body: &'a [u8],
}

impl Answer<'_> {
    fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

impl Case {
    /// Compares an answer with the case. No door may ever redirect or hand out a session id.
    ///
    /// # Errors
    /// A sentence with the case's name and what differs.
    pub fn check(&self, answer: &Answer<'_>) -> Result<(), String> {
        let body = String::from_utf8_lossy(answer.body);
        let wrong = |what: String| Err(format!("{}: {what}\nthe body: {body}", self.name));
        if answer.status != self.expect.status {
            return wrong(format!(
                "the status is {}, not {}",
                answer.status, self.expect.status
            ));
        }
        for name in ["Mcp-Session-Id", "Location"] {
            if let Some(value) = answer.header(name) {
                return wrong(format!("there is a header `{name}: {value}`"));
            }
        }
        for (name, pattern) in &self.expect.headers {
            let checked = match (answer.header(name), pattern) {
                (None, Value::Null) => Ok(()),
                (Some(value), Value::Null) => Err(format!("is `{value}`, but must be absent")),
                (None, _) => Err("is missing".to_owned()),
                (Some(value), pattern) => compare(pattern, &Value::from(value), name),
            };
            if let Err(difference) = checked {
                return wrong(format!("header `{name}` {difference}"));
            }
        }
        if self.expect.empty && !answer.body.is_empty() {
            return wrong("there is a body, but none must be".to_owned());
        }
        if self
            .expect
            .bytes_max
            .is_some_and(|max| max < answer.body.len())
        {
            return wrong(format!("the body has {} bytes", answer.body.len()));
        }
        if let Some(text) = self
            .expect
            .raw_contains
            .iter()
            .find(|text| !body.contains(*text))
        {
            return wrong(format!("the body lacks `{text}`"));
        }
        if let Some(pattern) = &self.expect.body {
            let json = answer
                .header("Content-Type")
                .is_some_and(|kind| kind.starts_with("application/json"));
            if !json {
                return wrong(format!(
                    "the content type is {:?}",
                    answer.header("Content-Type")
                ));
            }
            let found = match serde_json::from_slice(answer.body) {
                Ok(found) => found,
                Err(error) => return wrong(format!("the body is not JSON: {error}")),
            };
            if let Err(difference) = compare(pattern, &found, "body") {
                return wrong(difference);
            }
        }
        Ok(())
    }
}

/// Compares a value with a pattern; the error names the first place that differs.
///
/// # Errors
/// A phrase that begins with the place, which is called `at` at the top.
pub fn compare(pattern: &Value, found: &Value, at: &str) -> Result<(), String> {
    let differs = || Err(format!("{at} is {found}, which is not {pattern}"));
    match (pattern, found) {
        (Value::Object(wanted), _) if wanted.keys().any(|name| name.starts_with('$')) => {
            compare_marked(wanted, found, at)
        }
        (Value::Object(wanted), Value::Object(members)) => {
            if let Some(name) = members.keys().find(|name| !wanted.contains_key(*name)) {
                return Err(format!(
                    "{at}.{name} is {}, but must be absent",
                    members[name]
                ));
            }
            compare_members(wanted, members, at)
        }
        (Value::Array(wanted), Value::Array(items)) if wanted.len() == items.len() => {
            for (place, (wanted, item)) in wanted.iter().zip(items).enumerate() {
                compare(wanted, item, &format!("{at}[{place}]"))?;
            }
            Ok(())
        }
        _ if pattern == found => Ok(()),
        _ => differs(),
    }
}

fn compare_members(
    wanted: &Map<String, Value>,
    members: &Map<String, Value>,
    at: &str,
) -> Result<(), String> {
    for (name, pattern) in wanted {
        let forbidden = pattern.get("$absent").is_some();
        match members.get(name) {
            None if forbidden => {}
            None => return Err(format!("{at}.{name} is missing")),
            Some(found) if forbidden => {
                return Err(format!("{at}.{name} is {found}, but must be absent"));
            }
            Some(found) => compare(pattern, found, &format!("{at}.{name}"))?,
        }
    }
    Ok(())
}

fn compare_marked(marks: &Map<String, Value>, found: &Value, at: &str) -> Result<(), String> {
    for (mark, wanted) in marks {
        let holds = match (mark.as_str(), wanted, found) {
            ("$any", Value::String(kind), _) => is_kind(found, kind),
            ("$contains", Value::String(text), Value::String(found)) => found.contains(text),
            ("$lacks", Value::String(text), Value::String(found)) => !found.contains(text),
            ("$with", Value::Object(wanted), Value::Object(members)) => {
                compare_members(wanted, members, at)?;
                true
            }
            ("$each", pattern, Value::Array(items)) => {
                for (place, item) in items.iter().enumerate() {
                    compare(pattern, item, &format!("{at}[{place}]"))?;
                }
                true
            }
            ("$min", Value::Number(min), Value::Array(items)) => {
                min.as_u64() <= Some(items.len() as u64)
            }
            ("$max", Value::Number(max), Value::Array(items)) => {
                Some(items.len() as u64) <= max.as_u64()
            }
            _ => false,
        };
        if !holds {
            return Err(format!(
                "{at} is {found}, which is not {{\"{mark}\": {wanted}}}"
            ));
        }
    }
    Ok(())
}

fn is_kind(found: &Value, kind: &str) -> bool {
    match kind {
        "value" => true,
        "string" => found.is_string(),
        "integer" => found.is_i64() || found.is_u64(),
        "number" => found.is_number(),
        "boolean" => found.is_boolean(),
        "object" => found.is_object(),
        "array" => found.is_array(),
        "tool_name" => found.as_str().is_some_and(|name| {
            let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte);
            (1..=40).contains(&name.len()) && name.bytes().all(legal)
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pattern_is_exact_where_it_has_no_mark() {
        assert!(
            compare(
                &json!({ "a": [1, { "b": null }] }),
                &json!({ "a": [1, { "b": null }] }),
                "it"
            )
            .is_ok()
        );
        assert!(compare(&json!({ "a": 1 }), &json!({ "a": 1, "b": 2 }), "it").is_err());
        assert!(compare(&json!([1]), &json!([1, 2]), "it").is_err());
    }

    #[test]
    fn marks_loosen_it() {
        let pattern = json!({ "$with": { "a": { "$any": "string" }, "b": { "$absent": true } } });

        assert!(compare(&pattern, &json!({ "a": "x", "c": 1 }), "it").is_ok());
        assert_eq!(
            compare(&pattern, &json!({ "a": 1 }), "it").unwrap_err(),
            r#"it.a is 1, which is not {"$any": "string"}"#
        );
        assert!(compare(&pattern, &json!({ "a": "x", "b": 1 }), "it").is_err());

        let list = json!({ "$each": { "$any": "tool_name" }, "$min": 1, "$max": 2 });
        assert!(compare(&list, &json!(["a"]), "it").is_ok());
        assert!(compare(&list, &json!([]), "it").is_err());
        assert!(compare(&list, &json!(["a", "b", "c"]), "it").is_err());
        assert!(compare(&list, &json!(["a b"]), "it").is_err());
    }

    #[test]
    fn a_misspelt_mark_never_matches() {
        assert!(compare(&json!({ "$anny": "string" }), &json!("x"), "it").is_err());
    }
}
