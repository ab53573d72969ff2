//! What callers send: search questions, arguments, MCP messages.

use std::sync::LazyLock;

use kernel::arguments::ArgumentTable;
use model::{Cursor, DocumentId, KbId, Limit, RecordTime, Role, Visibility, WorldTime};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value};
use store::index::{BaseIndex, ChunkRow, ChunkSpan, Query};
use tempfile::TempDir;
use uuid::Uuid;
use wire::framing::Lines;
use wire::mcp::{Incoming, Kind, Message, PostHeaders};

/// A small base to ask.
static BASE: LazyLock<(TempDir, BaseIndex)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("the machine has a folder for passing files");
    let rows: Vec<ChunkRow> = (1..).zip(TEXTS).map(|(n, text)| row(n, text)).collect();
    let index = BaseIndex::of_rows(folder.path(), &rows, &[]).expect("a small index can be made");
    (folder, index)
});

const TEXTS: [&str; 8] = [
    "The harbour opens at six, and the ferry to Aker sails at seven.",
    "Invoice INV-2024-7831 was paid on 2024-03-05; see foo.bar() for 10 GB/s.",
    "Der Hafen öffnet um sechs Uhr, und die Fähre fährt um sieben.",
    "El puerto abre a las seis y el transbordador sale a las siete.",
    "Порт открывается в шесть часов, паром отходит в семь.",
    "يفتح الميناء في السادسة وتغادر العبارة في السابعة.",
    "港口六点开门，渡轮七点启航。フェリーは七時に出ます。",
    "बंदरगाह छह बजे खुलता है। ท่าเรือเปิดหกโมง",
];

fn row(ordinal: i64, text: &str) -> ChunkRow {
    ChunkRow {
        span: ChunkSpan {
            ordinal,
            document: DocumentId::new(Uuid::from_u128(ordinal as u128)),
            recorded_at: RecordTime::from_micros(ordinal),
            invalidated_at: None,
            purged_at: None,
            least_role: if ordinal % 2 == 0 {
                Role::Admin
            } else {
                Role::Viewer
            },
        },
        title: "Timetable".to_owned(),
        heading_path: vec!["Harbour".to_owned()],
        text: text.to_owned(),
    }
}

/// The query of a URL is read and searched for: whatever it says, it is words, and nobody finds
/// what is not for them.
pub fn search(bytes: &[u8]) {
    let words = form_urlencoded::parse(bytes);
    for (name, value) in words.take(4) {
        for (text, role) in [(&name, Role::Viewer), (&value, Role::Owner)] {
            let hits = BASE
                .1
                .search(&Query::new(text, role, 5))
                .expect("a search answers");
            assert!(hits.len() <= 5);
            assert!(hits.iter().all(|hit| hit.score.is_finite()));
            assert!(hits.windows(2).all(|pair| pair[1].score <= pair[0].score));
            assert!(role == Role::Owner || hits.iter().all(|hit| hit.ordinal % 2 == 1));
        }
    }
}

/// An argument of each kind.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "it is only read into")]
struct Ask {
    query: String,
    as_of: Option<RecordTime>,
    at: Option<WorldTime>,
    cursor: Option<Cursor>,
    kb_id: Option<KbId>,
    kb_ids: Option<Vec<KbId>>,
    role: Option<Role>,
    visibility: Option<Visibility>,
    exact: Option<bool>,
    share: Option<f64>,
    count: Option<u32>,
    #[serde(default)]
    limit: Limit<6, 20>,
}

static TABLE: LazyLock<ArgumentTable> =
    LazyLock::new(|| ArgumentTable::of(&Ask::json_schema(&mut SchemaGenerator::default())));

/// Lines `name=value`, values as JSON where they are some, else as words: they are read or refused
/// by name, and reading what was read changes nothing.
pub fn read_arguments(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let given: Map<String, Value> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| {
            let word = || Value::String(value.to_owned());
            let value = serde_json::from_str(value).unwrap_or_else(|_| word());
            (name.to_owned(), value)
        })
        .collect();
    match TABLE.normalise(given) {
        Ok(read) => {
            let again = TABLE.normalise(read.clone()).expect("what fits fits again");
            assert_eq!(again, read);
            if let Err(fault) = serde_json::from_value::<Ask>(Value::Object(read)) {
                assert!(!fault.to_string().is_empty());
            }
        }
        Err(refusal) => {
            assert!(refusal.message.contains('`'), "{}", refusal.message);
            assert!(refusal.message.len() < 1000, "a refusal is a sentence");
        }
    }
}

/// Three lines of headers (protocol version, method, name; `-` for none) and a body.
pub fn read_post(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.splitn(4, '\n');
    let mut header = || lines.next().filter(|&line| line != "-");
    let (protocol_version, mcp_method, mcp_name) = (header(), header(), header());
    let headers = PostHeaders {
        content_type: Some("application/json"),
        protocol_version,
        mcp_method,
        mcp_name,
    };
    // The bytes themselves, which need not be text.
    let body = bytes
        .splitn(4, |&byte| byte == b'\n')
        .nth(3)
        .unwrap_or_default();
    match wire::mcp::read_post(&headers, body) {
        Ok(Incoming::One(message)) => can_be_answered(&message),
        Ok(Incoming::Batch(messages)) => {
            assert!(!messages.is_empty());
            messages.iter().flatten().for_each(can_be_answered);
        }
        Err(refusal) => {
            serde_json::from_str::<Value>(&refusal.to_json()).expect("a refusal is JSON");
        }
    }
}

fn can_be_answered(message: &Message) {
    if let Kind::Request(request) = &message.kind {
        let answer = wire::rpc::result_json(&request.id, "{}");
        let answer: Value = serde_json::from_str(&answer).expect("an answer is JSON");
        assert!(
            answer["id"].is_string() || answer["id"].is_number(),
            "{answer}"
        );
    }
}

/// Bytes as they arrive, the first one saying in which portions: the same lines in any.
pub fn read_lines(bytes: &[u8]) {
    let Some((&portion, bytes)) = bytes.split_first() else {
        return;
    };
    let whole = lines_of(bytes, bytes.len().max(1));
    let parts = lines_of(bytes, usize::from(portion).max(1));
    assert_eq!(whole, parts);
    assert!(
        whole
            .iter()
            .all(|line| !line.is_empty() && !line.contains(&b'\n'))
    );
}

fn lines_of(bytes: &[u8], portion: usize) -> Vec<Vec<u8>> {
    let mut lines = Lines::default();
    let mut found = Vec::new();
    for portion in bytes.chunks(portion) {
        lines.push(portion);
        while let Some(line) = lines.next_line() {
            found.extend(line);
        }
    }
    found.extend(lines.finish());
    found
}
