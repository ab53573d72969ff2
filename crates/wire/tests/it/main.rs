//! The wire room from outside: the golden table, and what holds for any bytes at all.

mod golden;
mod properties;

use serde_json::value::RawValue;
use wire::mcp::{
    self, Call, Incoming, Kind, Message, PostHeaders, Reply, discover_result, initialize_result,
    read_post,
};
use wire::rpc::INVALID_PARAMS;

/// A door without tools, around `read_post` and `Reply`.
pub fn door(headers: &PostHeaders<'_>, body: &[u8]) -> Reply {
    match read_post(headers, body) {
        Err(refusal) => refusal.into(),
        Ok(Incoming::One(message)) => answer(message),
        Ok(Incoming::Batch(messages)) => Reply::batch(
            messages
                .into_iter()
                .map(|message| message.map_or_else(Reply::from, answer)),
        ),
    }
}

fn answer(message: Message) -> Reply {
    let era = message.era;
    let Kind::Request(request) = message.kind else {
        return Reply::accepted();
    };
    let id = &request.id;
    match request.call {
        Call::Initialize { .. } => {
            Reply::result(id, era, initialize_result(era.version(), "wire", "1", None))
        }
        Call::Discover => Reply::result(id, era, discover_result("wire", "1", None)),
        Call::Ping => Reply::result(id, era, serde_json::Map::new()),
        Call::ToolsList { .. } => {
            let tools = RawValue::from_string("[]".into()).expect("an array");
            Reply::tools(id, era, &tools)
        }
        Call::ToolsCall { name, .. } => Reply::error(
            id,
            era,
            INVALID_PARAMS,
            &format!("Unknown tool: {name}"),
            None,
        ),
        Call::Unknown(method) => Reply::unknown_method(id, era, &method),
    }
}

/// Headers of a POST with JSON and nothing else.
pub fn json_headers() -> PostHeaders<'static> {
    PostHeaders {
        content_type: Some("application/json"),
        ..PostHeaders::default()
    }
}

#[test]
fn every_refusal_of_a_modern_request_carries_its_id() {
    let body = br#"{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{"_meta":{}}}"#;
    let headers = PostHeaders {
        protocol_version: Some("2026-07-28"),
        ..json_headers()
    };

    let refusal = read_post(&headers, body).unwrap_err();

    assert_eq!(
        (refusal.http, refusal.id.unwrap().as_json()),
        (400, r#""x""#)
    );
}

#[test]
fn the_client_is_known_by_what_either_era_says_of_it() {
    let client = |headers: &PostHeaders<'_>, body: &str| match read_post(headers, body.as_bytes()) {
        Ok(Incoming::One(Message {
            kind: Kind::Request(request),
            ..
        })) => request.client,
        other => panic!("not a request: {other:?}"),
    };
    let named = mcp::ClientInfo {
        name: "golden".into(),
        version: "1".into(),
    };

    let legacy = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"golden","version":"1"}}}"#;
    assert_eq!(client(&json_headers(), legacy).as_ref(), Some(&named));

    let modern = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{
        "io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientInfo":{"name":"golden","version":"1"},
        "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let headers = PostHeaders {
        protocol_version: Some("2026-07-28"),
        mcp_method: Some("tools/list"),
        ..json_headers()
    };
    assert_eq!(client(&headers, modern), Some(named));
}
