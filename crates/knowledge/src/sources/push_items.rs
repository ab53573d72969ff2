use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use bytes::Bytes;
use engine::library::ExternalKey;
use kernel::{Base, Cx, Method, Operation, Reply, Spec};
use model::{Code, Error, Result, SourceId, WorldTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::sources::SourceKind;

use super::take::{self, Content, Here, Said};
use super::{PushAction, PushedItem, known};
use crate::documents::file_name;

/// Say what a source has: one document by the arguments themselves, or up to 500 as `items`.
///
/// `external_id` is which document of the source it is. The same content and name change nothing;
/// other content is the next version; the same content under another name is a move. `deleted`
/// says that the source no longer has it: it is deleted here, and comes back when it is sent
/// again. Each item is answered by itself, a wrong one does not keep the others out, and sending
/// the same again is harmless. A larger file goes to `push_file`.
#[derive(Deserialize, JsonSchema)]
pub struct PushItems {
    /// The source's id.
    source_id: SourceId,
    /// The file's name, which may be a path.
    filename: Option<String>,
    /// What is in the file.
    content: Option<String>,
    /// How `content` is written; `text` if absent.
    #[serde(default)]
    encoding: Encoding,
    /// When the document is from, as exactly as is known (`2024`, `2024-03`, `2024-03-05`). Read
    /// from the document if absent.
    doc_time: Option<WorldTime>,
    /// Which document of the source it is: the same id always means the same document. The file's
    /// name if absent.
    external_id: Option<String>,
    /// `true` if the source no longer has it.
    #[serde(default)]
    deleted: bool,
    /// Several documents at once, each with these arguments, in the order in which they are
    /// taken in.
    #[schemars(with = "Option<Vec<PushItem>>")]
    items: Option<Vec<Value>>,
}

/// How content is written in JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Encoding {
    /// As text.
    #[default]
    Text,
    /// As bytes in base64.
    Base64,
}

/// What a source says of one document.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct PushItem {
    /// The file's name, which may be a path.
    filename: Option<String>,
    /// What is in the file.
    content: Option<String>,
    /// How `content` is written; `text` if absent.
    #[serde(default)]
    encoding: Encoding,
    /// When the document is from, as exactly as is known.
    doc_time: Option<WorldTime>,
    /// Which document of the source it is; the file's name if absent.
    external_id: Option<String>,
    /// `true` if the source no longer has it.
    #[serde(default)]
    deleted: bool,
}

/// Items in one call at most.
const ITEMS_MAX: usize = 500;

/// What became of the documents that were sent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PushedItems {
    /// What became of the document, where one was sent by the arguments themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<PushAction>,
    /// Its id, in the same case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_id: Option<model::DocumentId>,
    /// What became of each item, in their order.
    pub items: Vec<PushedItem>,
}

impl Reply for PushedItems {
    fn text(&self) -> String {
        self.items.iter().map(PushedItem::line).collect()
    }
}

impl PushItem {
    /// The item in a value, where null and blank count as absent.
    fn read(value: Value) -> Result<Self> {
        let Value::Object(mut fields) = value else {
            return Err(Error::invalid("an item must be an object"));
        };
        fields.retain(|name, value| {
            let blank = value.as_str().is_some_and(|text| text.trim().is_empty());
            !value.is_null() && (name == "content" || !blank)
        });
        serde_json::from_value(Value::Object(fields))
            .map_err(|fault| Error::invalid(fault.to_string()))
    }

    fn said(self, bytes_max: u64) -> Result<Said> {
        let key = match (&self.external_id, &self.filename) {
            (Some(id), _) => id,
            (None, Some(name)) => name,
            (None, None) => {
                let sentence = "say which document it is, with `external_id` or `filename`";
                return Err(Error::invalid(sentence));
            }
        };
        let key = ExternalKey::new(key)
            .map_err(|fault| Error::invalid(format!("`external_id` {fault}")))?;
        if self.deleted {
            return match self.content {
                None => Ok(Said { key, here: None }),
                Some(_) => Err(Error::invalid(
                    "`deleted` and `content` contradict each other; leave one of them out",
                )),
            };
        }
        let filename = file_name(self.filename)?;
        let content = self.content.ok_or_else(|| {
            Error::invalid("`content` is missing; say `deleted` if the source has it no longer")
        })?;
        let content = decoded(content, self.encoding)?;
        if content.is_empty() {
            let sentence = format!("the file `{filename}` is empty: it has 0 bytes");
            return Err(Error::invalid(sentence));
        }
        if bytes_max < content.len() as u64 {
            let sentence = format!("`content` has more than {bytes_max} bytes");
            return Err(Error::new(Code::TooLarge, sentence));
        }
        let here = Here {
            filename,
            date: self.doc_time,
            content: Content::Bytes(content),
        };
        Ok(Said {
            key,
            here: Some(here),
        })
    }
}

fn decoded(content: String, encoding: Encoding) -> Result<Bytes> {
    if encoding == Encoding::Text {
        return Ok(content.into());
    }
    let packed: String = content.split_ascii_whitespace().collect();
    let bytes = STANDARD
        .decode(&packed)
        .or_else(|_| STANDARD_NO_PAD.decode(&packed));
    bytes
        .map(Bytes::from)
        .map_err(|fault| Error::invalid(format!("`content` is no base64: {fault}")))
}

/// What a source is sent, if it is sent anything.
pub(super) fn may_be_pushed(source: &store::sources::Source) -> Result<()> {
    if source.kind == SourceKind::Pull {
        let sentence = format!(
            "the documents of `{}` are pulled, so none can be sent to it",
            source.name
        );
        return Err(Error::new(Code::Conflict, sentence));
    }
    Ok(())
}

/// The items or why each is none, the ids they were given, and whether one stands in the
/// arguments themselves.
type Items = (Vec<Result<PushItem>>, Vec<Option<String>>, bool);

impl PushItems {
    /// The items, and whether it is one that stands in the arguments themselves.
    fn items(self) -> Result<Items> {
        let own = PushItem {
            filename: self.filename,
            content: self.content,
            encoding: self.encoding,
            doc_time: self.doc_time,
            external_id: self.external_id,
            deleted: self.deleted,
        };
        let says_something = own.filename.is_some() || own.external_id.is_some();
        match self.items {
            None => {
                let id = own.external_id.clone().or_else(|| own.filename.clone());
                Ok((vec![Ok(own)], vec![id], true))
            }
            Some(_) if says_something => Err(Error::invalid(
                "`items` are given beside `filename` or `external_id`; send one document or several",
            )),
            Some(items) if items.len() > ITEMS_MAX => Err(Error::invalid(format!(
                "`items` must be at most {ITEMS_MAX}, not {}",
                items.len()
            ))),
            Some(items) => {
                let word = |item: &Value, name: &str| Some(item.get(name)?.as_str()?.to_owned());
                let ids = items
                    .iter()
                    .map(|item| word(item, "external_id").or_else(|| word(item, "filename")));
                let ids = ids.collect();
                Ok((items.into_iter().map(PushItem::read).collect(), ids, false))
            }
        }
    }
}

impl Operation for PushItems {
    type Target = Base;
    type Output = PushedItems;
    const SPEC: Spec = Spec::write("push_items", "Say what a source has")
        .route(Method::Post, "/sources/{source_id}/ingest")
        .idempotency_key()
        .deadline(std::time::Duration::from_mins(2))
        .cli("source push", &["source_id"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<PushedItems> {
        cx.about("source", self.source_id);
        let place = (cx.target.tenant(), cx.target.id());
        let source_id = self.source_id;
        let (items, ids, is_one) = self.items()?;
        let source = known(&mut cx.read().await?, cx, source_id).await?;
        may_be_pushed(&source)?;
        let mut said = Vec::new();
        let mut answers = Vec::new();
        for (item, id) in items.into_iter().zip(ids) {
            let one = item.and_then(|item| item.said(cx.limits.upload_bytes));
            answers.push(match one {
                Ok(one) => {
                    said.push(one);
                    Ok(id)
                }
                Err(error) if is_one => return Err(error),
                Err(error) => Err(PushedItem::refused(id, error)),
            });
        }

        let steps = take::prepare(cx, place, &source, said).await?;
        let mut tx = cx.write().await?;
        // It may have been deleted meanwhile.
        let source = known(&mut tx, cx, source_id).await?;
        let done = take::settle(cx, &mut tx, place.1, &source, &steps).await?;
        let mut done = done.into_iter();
        let items: Vec<PushedItem> = answers
            .into_iter()
            .map(|answer| match answer {
                Ok(id) => PushedItem::of(&id.unwrap_or_default(), done.next().flatten()),
                Err(refused) => refused,
            })
            .collect();
        let one = items.first().filter(|_| is_one);
        let pushed = PushedItems {
            action: one.and_then(|one| one.action),
            document_id: one.and_then(|one| one.document_id),
            items,
        };
        tx.commit(pushed).await
    }
}
