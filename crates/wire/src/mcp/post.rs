//! What a POST to an MCP address is, decided from its headers and body alone.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{
    BATCH_MAX, Era, HEADER_MISMATCH, META_CAPABILITIES, META_CLIENT, META_VERSION,
    UNSUPPORTED_VERSION, Version, negotiate, supported,
};
use crate::json::{self, Members, shown};
use crate::rpc::{
    self, Envelope, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RawId, Refusal,
};

/// The headers that decide, as they were sent, each through [`header_text`].
///
/// `Accept` is not among them: every answer is JSON, whatever the client says it would take. No
/// more is a session id, for there are no sessions.
#[derive(Debug, Clone, Copy, Default)]
pub struct PostHeaders<'a> {
    /// `Content-Type`.
    pub content_type: Option<&'a str>,
    /// `MCP-Protocol-Version`.
    pub protocol_version: Option<&'a str>,
    /// `Mcp-Method`.
    pub mcp_method: Option<&'a str>,
    /// `Mcp-Name`.
    pub mcp_name: Option<&'a str>,
}

/// What came in.
#[derive(Debug, PartialEq)]
pub enum Incoming {
    /// One message.
    One(Message),
    /// 1 to 20 messages under the rules of 2025-03-26, each judged alone; answered in order.
    Batch(Vec<Result<Message, Refusal>>),
}

/// A message and the rules it is under.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The rules for reading and answering it.
    pub era: Era,
    /// What it is.
    pub kind: Kind,
}

/// Whether a message wants an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// It does.
    Request(Box<Request>),
    /// It does not: HTTP 202, whatever its method.
    Notification {
        /// What is told.
        method: String,
    },
    /// An answer to a request that we never made: HTTP 202.
    Response,
}

/// A request that can be answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What the answer must carry.
    pub id: RawId,
    /// What is asked.
    pub call: Call,
    /// Who says it asks: `clientInfo` of `initialize` or of a modern `_meta`.
    pub client: Option<ClientInfo>,
    /// `_meta` as sent; empty if absent.
    pub meta: Map<String, Value>,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    /// `initialize`; the message's era holds the revision to answer with.
    Initialize {
        /// The revision it asked for, if it named one.
        requested: Option<String>,
    },
    /// `server/discover`, the modern era's opening.
    Discover,
    /// `ping`, of the legacy era.
    Ping,
    /// `tools/list`.
    ToolsList {
        /// Where to go on; we hand out none, so any is unknown.
        cursor: Option<String>,
    },
    /// `tools/call`.
    ToolsCall {
        /// The tool.
        name: String,
        /// Its arguments; empty if absent or null.
        arguments: Map<String, Value>,
    },
    /// A method that this era does not have here.
    Unknown(String),
}

/// A client as it names itself: unproven, and free of control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientInfo {
    /// At most 128 characters, not empty.
    pub name: String,
    /// At most 128 characters; empty if absent.
    pub version: String,
}

impl ClientInfo {
    fn read(value: &Value) -> Option<Self> {
        let text = |name| {
            let text = value.get(name).and_then(Value::as_str).unwrap_or_default();
            text.chars()
                .filter(|char| !char.is_control())
                .take(128)
                .collect::<String>()
        };
        let (name, version) = (text("name"), text("version"));
        (!name.trim().is_empty()).then_some(Self { name, version })
    }
}

/// One header's text from all the values it was sent with.
///
/// Several are joined by commas, and bytes that are not UTF-8 stand as U+FFFD: such a header says
/// nothing that we know, but it is not absent either. `None` if there are no values.
pub fn header_text<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Option<String> {
    let values: Vec<_> = values.into_iter().map(String::from_utf8_lossy).collect();
    (!values.is_empty()).then(|| values.join(", "))
}

/// Whether a content type is JSON, with or without parameters.
pub fn is_json(content_type: Option<&str>) -> bool {
    let essence = content_type
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

/// Reads a POST. Host, origin, method, credential and size are judged before it.
///
/// # Errors
/// Anything that is answered without looking at the target: a wrong content type (415), no JSON,
/// no message, a revision that is not ours, a modern request whose metadata lacks or contradicts
/// something, parameters that are not what their method takes.
pub fn read_post(headers: &PostHeaders<'_>, body: &[u8]) -> Result<Incoming, Refusal> {
    if !is_json(headers.content_type) {
        let code = model::Code::UnsupportedMedia;
        let sent = headers
            .content_type
            .map_or("none".into(), |sent| format!("`{}`", shown(sent)));
        let message = format!("the content type must be `application/json`, not {sent}");
        return Err(Refusal::new(code.rpc(), message).http(code.http()));
    }
    let text = rpc::read_text(body)?;
    if text.get().starts_with('[') {
        read_batch(headers, text).map(Incoming::Batch)
    } else {
        read_message(headers, text).map(Incoming::One)
    }
}

fn read_batch(
    headers: &PostHeaders<'_>,
    text: &RawValue,
) -> Result<Vec<Result<Message, Refusal>>, Refusal> {
    let invalid = |message: String| Refusal::new(INVALID_REQUEST, message);
    let batches = Version::V2025_03_26;
    let rules = PostHeaders {
        protocol_version: Some(batches.name()),
        ..PostHeaders::default()
    };
    if header_version(headers).is_some_and(|name| name != batches.name()) {
        return Err(invalid(format!(
            "only protocol revision {} takes batches; send one message per POST",
            batches.name()
        )));
    }
    let entries: Vec<&RawValue> =
        serde_json::from_str(text.get()).expect("an array, checked before");
    match entries.len() {
        0 => Err(invalid(
            "the batch is empty; send at least one message".into(),
        )),
        length if BATCH_MAX < length => Err(invalid(format!(
            "the batch has {length} messages; at most {BATCH_MAX} are taken"
        ))),
        _ => Ok(entries
            .into_iter()
            .map(|entry| read_entry(&rules, entry))
            .collect()),
    }
}

/// One message of a batch; what it may not hold is refused under its own id.
fn read_entry(rules: &PostHeaders<'_>, entry: &RawValue) -> Result<Message, Refusal> {
    let message = read_message(rules, entry).map_err(|refusal| match refusal.code {
        HEADER_MISMATCH => {
            let message =
                "a batch holds messages of protocol revision 2025-03-26 only; send this one alone";
            Refusal::new(INVALID_REQUEST, message).id(refusal.id)
        }
        _ => refusal,
    })?;
    match message.kind {
        Kind::Request(request) if matches!(request.call, Call::Initialize { .. }) => {
            let message = "`initialize` must be sent alone, not in a batch";
            Err(Refusal::new(INVALID_REQUEST, message).id(Some(request.id)))
        }
        kind => Ok(Message { kind, ..message }),
    }
}

fn read_message(headers: &PostHeaders<'_>, text: &RawValue) -> Result<Message, Refusal> {
    match rpc::read_envelope(text)? {
        Envelope::Request { id, method, params } => {
            let params = Params::read(params);
            let read = read_request(headers, &method, &params);
            let (era, call) = read.map_err(|refusal| refusal.id(Some(id.clone())))?;
            let sent = match call {
                Call::Initialize { .. } => params.member("clientInfo"),
                _ => params.meta.get(META_CLIENT).cloned(),
            };
            let client = sent.as_ref().and_then(ClientInfo::read);
            let request = Request {
                id,
                call,
                client,
                meta: params.meta,
            };
            Ok(Message {
                era,
                kind: Kind::Request(Box::new(request)),
            })
        }
        Envelope::Notification { method, params } => {
            let era = header_era(headers, Params::read(params).has_meta)?;
            Ok(Message {
                era,
                kind: Kind::Notification { method },
            })
        }
        Envelope::Response { .. } => match header_era(headers, false)? {
            Era::Modern => {
                let message =
                    "a client of this revision sends requests and notifications, no responses";
                Err(Refusal::new(INVALID_REQUEST, message))
            }
            era @ Era::Legacy(_) => Ok(Message {
                era,
                kind: Kind::Response,
            }),
        },
    }
}

/// A request's parameters, opened one level deep.
#[derive(Default)]
struct Params<'a> {
    members: Members<'a>,
    meta: Map<String, Value>,
    /// `_meta` stands there and is an object.
    has_meta: bool,
    /// What is wrong with them; said once the era is known.
    wrong: Option<String>,
}

impl<'a> Params<'a> {
    fn read(params: Option<&'a RawValue>) -> Self {
        let Some(params) = params else {
            return Self::default();
        };
        let Some(members) = Members::read(params.get()) else {
            let wrong = Some("`params` must be an object".into());
            return Self {
                wrong,
                ..Self::default()
            };
        };
        if let Some(name) = &members.twice {
            let wrong = Some(format!("`{}` is named twice in `params`", shown(name)));
            return Self {
                wrong,
                ..Self::default()
            };
        }
        match members.present("_meta").map(|meta| json::value(meta.get())) {
            None => Self {
                members,
                ..Self::default()
            },
            Some(Ok(Value::Object(meta))) => Self {
                members,
                meta,
                has_meta: true,
                wrong: None,
            },
            Some(Ok(_)) => Self {
                wrong: Some("`_meta` must be an object".into()),
                ..Self::default()
            },
            Some(Err(error)) => Self {
                wrong: Some(format!("`_meta` cannot be read: {error}")),
                ..Self::default()
            },
        }
    }

    /// A member's value; `null`, and what cannot be read, is absent.
    fn member(&self, name: &str) -> Option<Value> {
        json::value(self.members.present(name)?.get()).ok()
    }
}

fn read_request(
    headers: &PostHeaders<'_>,
    method: &str,
    params: &Params<'_>,
) -> Result<(Era, Call), Refusal> {
    if method == "initialize" {
        return read_initialize(params);
    }
    if params.meta.contains_key(META_VERSION) || method == "server/discover" {
        return read_modern(headers, method, params);
    }
    match header_era(headers, params.has_meta)? {
        Era::Modern => read_modern(headers, method, params),
        // A legacy error of a known request is an answer, so its HTTP status is 200.
        era @ Era::Legacy(_) => {
            let call = read_call(era, method, params).map_err(|refusal| refusal.http(200))?;
            Ok((era, call))
        }
    }
}

/// The handshake of the legacy era. The version header does not count yet.
fn read_initialize(params: &Params<'_>) -> Result<(Era, Call), Refusal> {
    if params.meta.contains_key(META_VERSION) {
        let message = "revision 2026-07-28 has no `initialize`; send `server/discover`, or leave \
                       the revision out of `_meta`";
        return Err(Refusal::new(METHOD_NOT_FOUND, message).http(404));
    }
    if let Some(wrong) = &params.wrong {
        return Err(Refusal::new(INVALID_PARAMS, wrong).http(200));
    }
    let requested = params.members.string("protocolVersion");
    let era = Era::Legacy(negotiate(requested.as_deref()));
    Ok((era, Call::Initialize { requested }))
}

fn read_modern(
    headers: &PostHeaders<'_>,
    method: &str,
    params: &Params<'_>,
) -> Result<(Era, Call), Refusal> {
    if let Some(wrong) = &params.wrong {
        return Err(Refusal::new(INVALID_PARAMS, wrong));
    }
    let Some(version) = params.meta.get(META_VERSION).and_then(Value::as_str) else {
        let message = format!("`_meta` must carry `{META_VERSION}`, a string, in this revision");
        return Err(Refusal::new(INVALID_PARAMS, message));
    };
    if !params
        .meta
        .get(META_CAPABILITIES)
        .is_some_and(Value::is_object)
    {
        let message =
            format!("`_meta` must carry `{META_CAPABILITIES}`, an object, in this revision");
        return Err(Refusal::new(INVALID_PARAMS, message));
    }
    same("MCP-Protocol-Version", header_version(headers), version)?;
    if !Version::read(version).is_some_and(Version::is_modern) {
        return Err(unsupported_version(version));
    }
    same("Mcp-Method", headers.mcp_method.map(str::trim), method)?;

    let call = match read_call(Era::Modern, method, params) {
        Ok(call) => call,
        Err(refusal) => return Err(refusal.http(200)),
    };
    if let Call::ToolsCall { name, .. } = &call {
        let decoded = headers.mcp_name.map(|sent| decode_header(sent.trim()));
        match decoded {
            None => same("Mcp-Name", None, name)?,
            Some(Some(sent)) => same("Mcp-Name", Some(&sent), name)?,
            Some(None) => {
                let message = "header mismatch: `Mcp-Name` holds no valid Base64 between `=?base64?` and `?=`";
                return Err(Refusal::new(HEADER_MISMATCH, message));
            }
        }
    }
    Ok((Era::Modern, call))
}

fn read_call(era: Era, method: &str, params: &Params<'_>) -> Result<Call, Refusal> {
    let call = match (method, era) {
        ("ping", Era::Legacy(_)) => Call::Ping,
        ("server/discover", Era::Modern) => Call::Discover,
        ("tools/list", _) => Call::ToolsList { cursor: None },
        ("tools/call", _) => Call::ToolsCall {
            name: String::new(),
            arguments: Map::new(),
        },
        (unknown, _) => return Ok(Call::Unknown(unknown.to_owned())),
    };
    let invalid = |message: String| Refusal::new(INVALID_PARAMS, message);
    if let Some(wrong) = &params.wrong {
        return Err(invalid(wrong.clone()));
    }
    match call {
        Call::ToolsList { .. } => {
            let cursor = match params.members.present("cursor") {
                None => None,
                Some(_) => Some(
                    params
                        .members
                        .string("cursor")
                        .ok_or_else(|| invalid("`cursor` must be a string".into()))?,
                ),
            };
            Ok(Call::ToolsList { cursor })
        }
        Call::ToolsCall { .. } => {
            let name = params
                .members
                .string("name")
                .filter(|name| !name.is_empty());
            let Some(name) = name else {
                return Err(invalid("`name` must be the name of a tool".into()));
            };
            let arguments = match params
                .members
                .present("arguments")
                .map(|sent| json::value(sent.get()))
            {
                None => Map::new(),
                Some(Ok(Value::Object(arguments))) => arguments,
                Some(Ok(_)) => return Err(invalid("`arguments` must be an object".into())),
                Some(Err(error)) => {
                    return Err(invalid(format!("`arguments` cannot be read: {error}")));
                }
            };
            Ok(Call::ToolsCall { name, arguments })
        }
        call => Ok(call),
    }
}

fn header_version<'a>(headers: &PostHeaders<'a>) -> Option<&'a str> {
    headers.protocol_version.map(str::trim)
}

/// The era that the version header alone names; absent, the revision that had no such header.
fn header_era(headers: &PostHeaders<'_>, has_meta: bool) -> Result<Era, Refusal> {
    let Some(name) = header_version(headers) else {
        return Ok(Era::Legacy(Version::V2025_03_26));
    };
    match Version::read(name) {
        Some(version) if version.is_modern() => Ok(Era::Modern),
        Some(version) => Ok(Era::Legacy(version)),
        None if has_meta => Err(unsupported_version(name)),
        None => {
            let refusal = unsupported_version(name);
            Err(Refusal {
                code: INVALID_REQUEST,
                ..refusal
            })
        }
    }
}

fn unsupported_version(requested: &str) -> Refusal {
    let supported = supported();
    let message = format!(
        "protocol version `{}` is not served in this form; use one of {}",
        shown(requested),
        supported.join(", ")
    );
    let data = json!({ "supported": supported, "requested": requested });
    Refusal::new(UNSUPPORTED_VERSION, message).data(data)
}

/// A header must be there and say what the body says.
fn same(header: &str, sent: Option<&str>, body: &str) -> Result<(), Refusal> {
    let message = match sent {
        Some(sent) if sent == body => return Ok(()),
        Some(sent) => format!(
            "header mismatch: `{header}` says `{}`, the body says `{}`",
            shown(sent),
            shown(body)
        ),
        None => format!(
            "header mismatch: `{header}` is missing; the body says `{}`",
            shown(body)
        ),
    };
    Err(Refusal::new(HEADER_MISMATCH, message))
}

/// Undoes `=?base64?…?=`; a value without both marks is literal. `None` if what stands between
/// them is not padded Base64 of UTF-8.
fn decode_header(sent: &str) -> Option<String> {
    let encoded = sent
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    match encoded {
        None => Some(sent.to_owned()),
        Some(encoded) => String::from_utf8(decode_base64(encoded)?).ok(),
    }
}

/// Padded standard Base64 (RFC 4648, section 4); spare bits must be zero.
fn decode_base64(encoded: &str) -> Option<Vec<u8>> {
    if !encoded.len().is_multiple_of(4) {
        return None;
    }
    let digits = encoded
        .strip_suffix("==")
        .or(encoded.strip_suffix('='))
        .unwrap_or(encoded);
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut held, mut bits) = (0_u32, 0_u32);
    for digit in digits.bytes() {
        let six = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = (held << 6) | u32::from(six);
        bits += 6;
        if 8 <= bits {
            bits -= 8;
            bytes.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    (held == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charset_beside_the_type_is_still_json() {
        assert!(is_json(Some("application/json")));
        assert!(is_json(Some("Application/JSON ; charset=utf-8")));
        for other in [
            None,
            Some(""),
            Some("text/plain"),
            Some("application/json-rpc"),
            Some("text/json"),
        ] {
            assert!(!is_json(other), "{other:?}");
        }
    }

    #[test]
    fn a_header_that_cannot_be_read_is_not_absent() {
        assert_eq!(header_text([]), None);
        assert_eq!(header_text([&b"a"[..]]).as_deref(), Some("a"));
        assert_eq!(header_text([&b"a"[..], &b"b"[..]]).as_deref(), Some("a, b"));
        assert_eq!(header_text([&b"\xff"[..]]).as_deref(), Some("\u{fffd}"));
    }

    #[test]
    fn encoded_names_are_compared_by_what_they_mean() {
        assert_eq!(
            decode_header("=?base64?SGVsbG8sIOS4lueVjA==?=").as_deref(),
            Some("Hello, 世界")
        );
        assert_eq!(
            decode_header("=?base64?IHBhZGRlZCA=?=").as_deref(),
            Some(" padded ")
        );
        assert_eq!(decode_header("SGVsbG8=").as_deref(), Some("SGVsbG8="));
        assert_eq!(
            decode_header("=?base64?SGVsbG8=").as_deref(),
            Some("=?base64?SGVsbG8=")
        );
        for bad in [
            "=?base64?SGVsbG8?=",
            "=?base64?SGVs!!!bG8=?=",
            "=?base64?/w==?=",
            "=?base64?SGVsbG9=?=",
        ] {
            assert_eq!(decode_header(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_client_without_a_name_is_nobody() {
        let read = |value| ClientInfo::read(&value);

        assert_eq!(read(json!({ "name": "a\u{7}b" })).unwrap().name, "ab");
        assert_eq!(read(json!({ "name": " ", "version": "1" })), None);
        assert_eq!(read(json!("claude")), None);
    }
}
