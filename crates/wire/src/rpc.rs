//! JSON-RPC 2.0 without a word of MCP: ids, one message, one refusal.
//!
//! The server's door, the client and the standard-input side read messages with this.

use std::fmt;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json::{self, Members};

/// The text is not JSON.
pub const PARSE_ERROR: i32 = -32700;
/// It is JSON, but no message.
pub const INVALID_REQUEST: i32 = -32600;
/// No such method here.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// The method is known, its parameters are wrong.
pub const INVALID_PARAMS: i32 = -32602;

/// Characters of an id at most.
pub const ID_CHARS_MAX: usize = 128;

/// An id as its sender spelled it: a string of at most 128 characters, or an integer.
///
/// Kept as text, since integers above 2^53 and escapes must come back byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RawId(String);

impl RawId {
    /// Reads an id from its JSON text; `None` for null, fractions, exponents, booleans,
    /// containers, and for more than 128 characters.
    pub fn read(json: &str) -> Option<Self> {
        let fits = if json.starts_with('"') {
            let text: String = serde_json::from_str(json).ok()?;
            text.chars().count() <= ID_CHARS_MAX
        } else {
            let digits = json.strip_prefix('-').unwrap_or(json);
            let plain = digits == "0" || !digits.starts_with('0');
            let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            plain && all_digits && json.len() <= ID_CHARS_MAX
        };
        fits.then(|| Self(json.to_owned()))
    }

    /// An id that we give to a request of ours.
    pub fn of(number: u64) -> Self {
        Self(number.to_string())
    }

    /// Its JSON text, as it was sent.
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RawId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// One message, its parameters and results unread.
#[derive(Debug)]
pub enum Envelope<'a> {
    /// Wants an answer.
    Request {
        /// What the answer must carry.
        id: RawId,
        /// What is asked.
        method: String,
        /// As sent; `null` counts as absent.
        params: Option<&'a RawValue>,
    },
    /// Wants none.
    Notification {
        /// What is told.
        method: String,
        /// As sent; `null` counts as absent.
        params: Option<&'a RawValue>,
    },
    /// Answers a request.
    Response {
        /// The request's id; `None` if the answerer could not read it.
        id: Option<RawId>,
        /// The result, or else the error object, as sent.
        outcome: Result<&'a RawValue, &'a RawValue>,
    },
}

/// Why a text is refused before anything is done for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// HTTP status, where HTTP carries it.
    pub http: u16,
    /// The request's id if it could be read.
    pub id: Option<RawId>,
    /// JSON-RPC number.
    pub code: i32,
    /// The sentence for the caller.
    pub message: String,
    /// More for programs.
    pub data: Option<Box<Value>>,
}

impl Refusal {
    /// A refusal under HTTP 400, without id or data.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            http: 400,
            id: None,
            code,
            message: message.into(),
            data: None,
        }
    }

    /// Names the request that is refused.
    #[must_use]
    pub fn id(self, id: Option<RawId>) -> Self {
        Self { id, ..self }
    }

    /// Adds data for programs.
    #[must_use]
    pub fn data(self, data: Value) -> Self {
        Self {
            data: Some(Box::new(data)),
            ..self
        }
    }

    /// Sets the HTTP status.
    #[must_use]
    pub fn http(self, http: u16) -> Self {
        Self { http, ..self }
    }

    /// The JSON-RPC error object that says so.
    pub fn to_json(&self) -> String {
        error_json(
            self.id.as_ref(),
            self.code,
            &self.message,
            self.data.as_deref(),
        )
    }
}

/// A whole error answer as compact JSON.
pub fn error_json(id: Option<&RawId>, code: i32, message: &str, data: Option<&Value>) -> String {
    #[derive(Serialize)]
    struct Body<'a> {
        code: i32,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<&'a Value>,
    }
    let id = id.map_or("null", RawId::as_json);
    let error = serde_json::to_string(&Body {
        code,
        message,
        data,
    })
    .expect("strings and values always serialize");
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
}

/// A whole answer as compact JSON around a result that is JSON already.
pub fn result_json(id: &RawId, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// A request as compact JSON around parameters that are JSON already.
pub fn request_json(id: &RawId, method: &str, params: Option<&RawValue>) -> String {
    let method = Value::from(method);
    match params {
        Some(params) => {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#)
        }
        None => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method}}}"#),
    }
}

/// Checks that a text is JSON, and not nested too deeply, and cuts the space around it.
///
/// # Errors
/// `-32700` if it is not JSON; `-32600` beyond 64 levels.
pub fn read_text(bytes: &[u8]) -> Result<&RawValue, Refusal> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        Refusal::new(
            PARSE_ERROR,
            format!("the message is not UTF-8 at byte {at}; send JSON in UTF-8"),
        )
    })?;
    let raw: &RawValue = serde_json::from_str(text)
        .map_err(|error| Refusal::new(PARSE_ERROR, format!("the message is not JSON: {error}")))?;
    let (depth, depth_max) = (json::depth(raw.get()), json::DEPTH_MAX);
    if depth_max < depth {
        let message =
            format!("the message is nested {depth} levels deep; at most {depth_max} are read");
        return Err(Refusal::new(INVALID_REQUEST, message));
    }
    Ok(raw)
}

/// Reads one message; an array is none.
///
/// # Errors
/// `-32600` if the text is no message of JSON-RPC 2.0, with the request's id where it is legible.
pub fn read_envelope(text: &RawValue) -> Result<Envelope<'_>, Refusal> {
    let invalid = |message: String| Refusal::new(INVALID_REQUEST, message);
    let Some(members) = Members::read(text.get()) else {
        return Err(invalid(
            "a message must be an object with `jsonrpc` and `method`".into(),
        ));
    };

    let sent_id = members.raw("id");
    let id = sent_id.and_then(|id| RawId::read(id.get()));
    if let Some(name) = &members.twice {
        // Of two ids neither is the request's.
        let id = id.filter(|_| name != "id");
        let name = json::shown(name);
        return Err(invalid(format!("`{name}` is named twice in the message")).id(id));
    }
    if members.string("jsonrpc").as_deref() != Some("2.0") {
        return Err(invalid("`jsonrpc` must be \"2.0\"".into()).id(id));
    }

    match (
        members.raw("method"),
        members.raw("result"),
        members.raw("error"),
    ) {
        (None, Some(result), None) => Ok(Envelope::Response {
            id,
            outcome: Ok(result),
        }),
        (None, None, Some(error)) => Ok(Envelope::Response {
            id,
            outcome: Err(error),
        }),
        (Some(_), None, None) => {
            let Some(method) = members.string("method") else {
                return Err(invalid("`method` must be a string".into()).id(id));
            };
            let params = members.present("params");
            match (sent_id, id) {
                (None, _) => Ok(Envelope::Notification { method, params }),
                (Some(_), Some(id)) => Ok(Envelope::Request { id, method, params }),
                (Some(sent), None) => {
                    let sent = json::shown(sent.get());
                    Err(invalid(format!(
                        "`id` must be an integer or a string of at most {ID_CHARS_MAX} characters, not `{sent}`"
                    )))
                }
            }
        }
        (None, ..) => Err(invalid(
            "a message needs a `method`, or else one of `result` and `error`".into(),
        )
        .id(id)),
        (Some(_), ..) => {
            Err(invalid("a message with a `method` has neither `result` nor `error`".into()).id(id))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_an_integer_or_a_short_string() {
        for good in [
            "0",
            "-0",
            "-7",
            "9007199254740993",
            "123456789012345678901234567890",
            r#""""#,
            r#""a\u0062""#,
        ] {
            assert_eq!(RawId::read(good).expect(good).as_json(), good);
        }
        for bad in [
            "null",
            "true",
            "1.0",
            "1e3",
            "{}",
            "[]",
            "-",
            "01",
            "",
            r#""\ud800""#,
        ] {
            assert_eq!(RawId::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_length_of_an_id_counts_characters_not_bytes() {
        let longest = format!("\"{}\"", "é".repeat(ID_CHARS_MAX));
        let longer = format!("\"{}\"", "é".repeat(ID_CHARS_MAX + 1));

        assert!(RawId::read(&longest).is_some());
        assert!(RawId::read(&longer).is_none());
    }

    #[test]
    fn an_error_without_data_has_no_such_member() {
        let refusal = Refusal::new(PARSE_ERROR, "no");

        assert_eq!(
            refusal.to_json(),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#
        );
    }

    #[test]
    fn an_answer_with_both_outcomes_is_refused_under_its_id() {
        let text = read_text(br#"{"jsonrpc":"2.0","id":5,"result":{},"error":{}}"#).unwrap();

        let refusal = read_envelope(text).unwrap_err();

        assert_eq!(
            (refusal.code, refusal.id),
            (INVALID_REQUEST, Some(RawId::of(5)))
        );
    }
}
