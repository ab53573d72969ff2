//! How answers are spelled: status and body, in the words of the request's era.

use model::Error;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{
    Era, HEADER_MISMATCH, META_SERVER, MISSING_CAPABILITY, UNSUPPORTED_VERSION, Version, supported,
};
use crate::rpc::{
    INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, RawId, Refusal, error_json, result_json,
};

/// Milliseconds for which a modern client may keep a list.
pub const TTL_MS: u32 = 60_000;

/// An HTTP answer. A body is JSON; without one there is no content type either.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status.
    pub http: u16,
    /// Compact JSON, or nothing.
    pub body: Option<String>,
}

impl Reply {
    /// Answers a notification, or a response: 202 and no body.
    pub fn accepted() -> Self {
        Self {
            http: 202,
            body: None,
        }
    }

    /// A request's result. `result` is an object; the modern era adds `resultType`.
    pub fn result(id: &RawId, era: Era, mut result: Map<String, Value>) -> Self {
        if era == Era::Modern {
            result
                .entry("resultType")
                .or_insert_with(|| "complete".into());
        }
        let result = serde_json::to_string(&result).expect("values always serialize");
        Self {
            http: 200,
            body: Some(result_json(id, &result)),
        }
    }

    /// The one page of `tools/list` around an array that was serialized before.
    ///
    /// It depends on who asks, so a modern client keeps it for itself.
    pub fn tools(id: &RawId, era: Era, tools: &RawValue) -> Self {
        let result = match era {
            Era::Legacy(_) => format!(r#"{{"tools":{tools}}}"#),
            Era::Modern => format!(
                r#"{{"tools":{tools},"resultType":"complete","ttlMs":{TTL_MS},"cacheScope":"private"}}"#
            ),
        };
        Self {
            http: 200,
            body: Some(result_json(id, &result)),
        }
    }

    /// An error of the protocol under the status that its era gives it: 200 but for 400 where the
    /// message was no message, and in the modern era 404 for a method that is not there and 400
    /// for what only that era has.
    pub fn error(id: &RawId, era: Era, code: i32, message: &str, data: Option<&Value>) -> Self {
        let http = match (code, era) {
            (METHOD_NOT_FOUND, Era::Modern) => 404,
            (PARSE_ERROR | INVALID_REQUEST, _)
            | (HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION, Era::Modern) => 400,
            _ => 200,
        };
        Self {
            http,
            body: Some(error_json(Some(id), code, message, data)),
        }
    }

    /// No such method in this era.
    pub fn unknown_method(id: &RawId, era: Era, method: &str) -> Self {
        let message = format!("Method not found: {}", crate::json::shown(method));
        Self::error(id, era, METHOD_NOT_FOUND, &message, None)
    }

    /// The client must declare these capabilities first, an object such as `{"sampling":{}}`.
    pub fn missing_capability(id: &RawId, era: Era, required: Map<String, Value>) -> Self {
        let names: Vec<_> = required.keys().map(String::as_str).collect();
        let message = format!(
            "the client must declare {} in its capabilities",
            names.join(", ")
        );
        let data = json!({ "requiredCapabilities": required });
        Self::error(id, era, MISSING_CAPABILITY, &message, Some(&data))
    }

    /// A refusal of the house (target, scope, role, budget) under its own status and number.
    ///
    /// `data` says what a program needs to go on: `code`, `retryable`, and where they exist
    /// `retry_after_ms` and `details`.
    pub fn fault(id: Option<&RawId>, error: &Error) -> Self {
        let data = Value::Object(fault_data(error));
        let body = error_json(id, error.code.rpc(), &error.message, Some(&data));
        Self {
            http: error.code.http(),
            body: Some(body),
        }
    }

    /// The answers to a batch, in its order: 202 if there is nothing to say, else 200.
    ///
    /// The answers of a batch have no statuses of their own.
    pub fn batch(replies: impl IntoIterator<Item = Reply>) -> Self {
        let bodies: Vec<String> = replies.into_iter().filter_map(|reply| reply.body).collect();
        if bodies.is_empty() {
            return Self::accepted();
        }
        Self {
            http: 200,
            body: Some(format!("[{}]", bodies.join(","))),
        }
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        Self {
            http: refusal.http,
            body: Some(refusal.to_json()),
        }
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => unreachable!("only called with literals of objects"),
    }
}

/// The answer to `initialize`: tools, and nothing else, are served.
pub fn initialize_result(
    version: Version,
    server_name: &str,
    server_version: &str,
    instructions: Option<&str>,
) -> Map<String, Value> {
    let mut result = object(json!({
        "protocolVersion": version.name(),
        "capabilities": { "tools": {} },
        "serverInfo": { "name": server_name, "version": server_version },
    }));
    if let Some(instructions) = instructions {
        result.insert("instructions".into(), instructions.into());
    }
    result
}

/// The answer to `server/discover`: every revision, newest first, and the same capabilities.
pub fn discover_result(
    server_name: &str,
    server_version: &str,
    instructions: Option<&str>,
) -> Map<String, Value> {
    let mut result = object(json!({
        "supportedVersions": supported(),
        "capabilities": { "tools": {} },
    }));
    if let Some(instructions) = instructions {
        result.insert("instructions".into(), instructions.into());
    }
    result.insert("ttlMs".into(), TTL_MS.into());
    result.insert("cacheScope".into(), "private".into());
    result.insert(
        "_meta".into(),
        json!({ META_SERVER: { "name": server_name, "version": server_version } }),
    );
    result
}

/// What a program needs to go on after a refusal: `code`, `retryable`, and where they exist
/// `retry_after_ms` and `details`.
fn fault_data(error: &Error) -> Map<String, Value> {
    let mut data = object(json!({
        "code": error.code.name(),
        "retryable": error.code.retryable(),
    }));
    if let Some(seconds) = error.retry_after {
        data.insert("retry_after_ms".into(), (u64::from(seconds) * 1000).into());
    }
    if !error.details.is_null() {
        data.insert("details".into(), error.details.clone());
    }
    data
}

/// What a tool answered. `structured` stands beside the text and says the same.
pub fn tool_answer(
    text: &str,
    structured: Option<Map<String, Value>>,
    meta: Option<Map<String, Value>>,
) -> Map<String, Value> {
    let mut result = object(json!({ "content": [{ "type": "text", "text": text }] }));
    if let Some(structured) = structured {
        result.insert("structuredContent".into(), structured.into());
    }
    if let Some(meta) = meta {
        result.insert("_meta".into(), meta.into());
    }
    result
}

/// Why a tool did not do it, for the model to read. It never carries structured content, since
/// clients check that against the output schema and would hide the sentence behind their own.
pub fn tool_failure(text: &str, meta: Option<Map<String, Value>>) -> Map<String, Value> {
    let mut result = tool_answer(text, None, meta);
    result.insert("isError".into(), true.into());
    result
}

/// Why a tool did not do it. Where the same call may succeed later, `_meta` says so to programs,
/// as the data of a fault does: `retryable`, `retry_after_ms`.
pub fn tool_refusal(error: &Error) -> Map<String, Value> {
    let meta = error.code.retryable().then(|| fault_data(error));
    tool_failure(&error.message, meta)
}

#[cfg(test)]
mod tests {
    use model::Code;

    use super::*;

    const LEGACY: Era = Era::Legacy(Version::V2025_06_18);

    fn body(reply: &Reply) -> Value {
        serde_json::from_str(reply.body.as_deref().expect("a body")).expect("JSON")
    }

    #[test]
    fn a_modern_result_says_that_it_is_complete() {
        let id = RawId::of(1);

        let modern = body(&Reply::result(&id, Era::Modern, Map::new()));
        let legacy = body(&Reply::result(&id, LEGACY, Map::new()));

        assert_eq!(modern["result"], json!({ "resultType": "complete" }));
        assert_eq!(legacy["result"], json!({}));
    }

    #[test]
    fn an_unknown_method_is_404_in_the_modern_era_only() {
        let id = RawId::of(1);

        assert_eq!(Reply::unknown_method(&id, Era::Modern, "ping").http, 404);
        assert_eq!(Reply::unknown_method(&id, LEGACY, "prompts/list").http, 200);
    }

    #[test]
    fn a_spent_budget_says_when_to_come_back() {
        let error = Error::new(Code::RateLimited, "too many calls").retry_after(2);

        let reply = Reply::fault(None, &error);

        assert_eq!(reply.http, 429);
        let data = json!({ "code": "rate_limited", "retryable": true, "retry_after_ms": 2000 });
        assert_eq!(body(&reply)["error"]["data"], data);
    }

    #[test]
    fn a_batch_leaves_out_what_has_no_answer() {
        let id = RawId::of(7);
        let answer = Reply::result(&id, LEGACY, Map::new());

        assert_eq!(
            Reply::batch([Reply::accepted(), Reply::accepted()]),
            Reply::accepted()
        );
        let joined = Reply::batch([Reply::accepted(), answer]);
        assert_eq!(
            joined.body.as_deref(),
            Some(r#"[{"jsonrpc":"2.0","id":7,"result":{}}]"#)
        );
    }

    #[test]
    fn a_tool_that_may_succeed_later_says_when_to_call_again() {
        let later = tool_refusal(&Error::new(Code::Unavailable, "not yet").retry_after(2));
        let never = tool_refusal(&Error::invalid("no"));

        assert_eq!(later["isError"], true);
        assert_eq!(later["content"][0]["text"], "not yet");
        let meta = json!({ "code": "unavailable", "retryable": true, "retry_after_ms": 2000 });
        assert_eq!(later["_meta"], meta);
        assert!(!never.contains_key("_meta") && !later.contains_key("structuredContent"));
    }

    #[test]
    fn a_failure_has_no_structured_content() {
        let failure = tool_failure("no", None);

        assert_eq!(failure["isError"], true);
        assert!(!failure.contains_key("structuredContent"));
    }

    #[test]
    fn missing_capabilities_are_named_as_an_object() {
        let required = object(json!({ "sampling": {} }));

        let reply = Reply::missing_capability(&RawId::of(1), Era::Modern, required);

        assert_eq!(reply.http, 400);
        assert_eq!(
            body(&reply)["error"]["data"]["requiredCapabilities"],
            json!({ "sampling": {} })
        );
    }
}
