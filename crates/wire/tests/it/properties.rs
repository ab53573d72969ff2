//! What holds for any bytes, any id and any order of members.

use proptest::prelude::*;
use serde_json::{Value, json};
use wire::framing::{Lines, line};
use wire::mcp::{Incoming, PostHeaders, read_post};

use crate::{door, json_headers};

fn version_header() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        Just(None),
        prop::sample::select(vec![
            "2024-11-05",
            "2025-03-26",
            "2025-06-18",
            "2025-11-25",
            "2026-07-28",
            "2030-01-01"
        ])
        .prop_map(|version| Some(version.to_owned())),
        any::<String>().prop_map(Some),
    ]
}

/// Values that look much like messages, and often are none.
fn like_a_message() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec![
            "2.0",
            "ping",
            "initialize",
            "tools/call",
            "tools/list",
            "server/discover",
            "2026-07-28",
            "a"
        ])
        .prop_map(Value::from),
    ];
    let name = prop::sample::select(vec![
        "jsonrpc",
        "id",
        "method",
        "params",
        "result",
        "error",
        "_meta",
        "name",
        "arguments",
        "cursor",
        "clientInfo",
        "protocolVersion",
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/clientCapabilities",
    ]);
    leaf.prop_recursive(4, 32, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..8).prop_map(|members| Value::Object(
                members
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect()
            )),
        ]
    })
}

/// JSON text of ids that must be taken.
fn id_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i128>().prop_map(|number| number.to_string()),
        "\\PC{0,128}".prop_map(|text| Value::from(text).to_string()),
        "[a-z]{0,20}".prop_map(|text| {
            let escaped: Vec<String> = text
                .chars()
                .map(|char| format!("\\u{:04X}", u32::from(char)))
                .collect();
            let escaped = escaped.concat();
            format!("\"{escaped}\"")
        }),
    ]
}

fn request() -> impl Strategy<Value = (Vec<(&'static str, String)>, bool)> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let method = prop::sample::select(vec![
        "ping",
        "initialize",
        "tools/call",
        "tools/list",
        "no/such",
    ]);
    (id_text(), method, any::<bool>()).prop_map(move |(id, method, modern)| {
        let mut params = json!({ "name": "search_chunks", "arguments": { "query": "x" } });
        if modern {
            params["_meta"] = meta.clone();
        }
        let members = vec![
            ("jsonrpc", "\"2.0\"".to_owned()),
            ("id", id),
            ("method", Value::from(method).to_string()),
            ("params", params.to_string()),
            ("extra", "[1,{\"id\":2}]".to_owned()),
        ];
        (members, modern)
    })
}

fn object(members: &[(&str, String)]) -> String {
    let members: Vec<_> = members
        .iter()
        .map(|(name, value)| format!("\"{name}\": {value}"))
        .collect();
    format!("{{{}}}", members.join(" , "))
}

proptest! {
    #[test]
    fn any_bytes_get_an_answer(body in prop::collection::vec(any::<u8>(), 0..256), version in version_header()) {
        let headers = PostHeaders { protocol_version: version.as_deref(), ..json_headers() };

        let reply = door(&headers, &body);

        prop_assert!([200, 202, 400, 404].contains(&reply.http));
    }

    #[test]
    fn any_json_gets_an_answer_that_is_json(body in like_a_message(), version in version_header(), method in any::<Option<String>>()) {
        let headers = PostHeaders {
            protocol_version: version.as_deref(),
            mcp_method: method.as_deref(),
            mcp_name: method.as_deref(),
            ..json_headers()
        };

        let reply = door(&headers, body.to_string().as_bytes());

        prop_assert!([200, 202, 400, 404].contains(&reply.http));
        prop_assert_eq!(reply.http == 202, reply.body.is_none());
        if let Some(body) = reply.body {
            let _: Value = serde_json::from_str(&body).expect("JSON");
        }
    }

    #[test]
    fn an_id_comes_back_byte_for_byte(id in id_text()) {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);

        let reply = door(&json_headers(), body.as_bytes());

        let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        prop_assert_eq!(reply.body, Some(expected));
    }

    #[test]
    fn the_order_of_members_changes_nothing(
        (members, shuffled, modern) in request().prop_flat_map(|(members, modern)| {
            (Just(members.clone()), Just(members).prop_shuffle(), Just(modern))
        })
    ) {
        let method = members[2].1.trim_matches('"').to_owned();
        let headers = PostHeaders {
            protocol_version: modern.then_some("2026-07-28"),
            mcp_method: Some(&method),
            mcp_name: Some("search_chunks"),
            ..json_headers()
        };

        let one = read_post(&headers, object(&members).as_bytes());
        let other = read_post(&headers, object(&shuffled).as_bytes());

        prop_assert_eq!(one.is_ok(), !(modern && method == "initialize"));
        prop_assert_eq!(one, other);
    }

    #[test]
    fn a_batch_of_one_is_read_as_its_message_alone((members, modern) in request()) {
        prop_assume!(!modern && members[2].1 != "\"initialize\"");
        let alone = object(&members);

        let one = read_post(&json_headers(), alone.as_bytes());
        let batch = read_post(&json_headers(), format!("[{alone}]").as_bytes());

        let Ok(Incoming::One(one)) = one else { panic!("not a message") };
        prop_assert_eq!(batch, Ok(Incoming::Batch(vec![Ok(one)])));
    }

    #[test]
    fn messages_come_out_of_a_stream_as_they_went_in(
        messages in prop::collection::vec(like_a_message(), 1..8),
        size in 1_usize..64,
    ) {
        let stream: String = messages
            .iter()
            .map(|message| line(&serde_json::to_string_pretty(message).expect("JSON")))
            .collect();
        prop_assert_eq!(stream.lines().count(), messages.len());

        let (mut lines, mut found) = (Lines::default(), Vec::new());
        for bytes in stream.as_bytes().chunks(size) {
            lines.push(bytes);
            while let Some(line) = lines.next_line() {
                found.push(serde_json::from_slice::<Value>(&line.unwrap()).expect("JSON"));
            }
        }
        let sent: Vec<Value> = messages.iter().map(|message| serde_json::from_str(&message.to_string()).expect("JSON")).collect();
        prop_assert_eq!(found, sent);
    }
}
