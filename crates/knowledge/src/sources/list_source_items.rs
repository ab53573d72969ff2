use engine::library::ExternalKey;
use kernel::{Base, Cx, Method, Operation, Reply, Spec};
use model::{DocumentId, Limit, RecordTime, Result, SourceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::sources::{self, Item};

use super::known;
use crate::documents::{State, hex};

/// List what a source has and had, in the order it was first sent: enough to tell, by comparing,
/// what to send next.
#[derive(Deserialize, JsonSchema)]
pub struct ListSourceItems {
    /// The source's id.
    source_id: SourceId,
    /// Items to return at most.
    #[serde(default)]
    limit: Limit<100, 1000>,
    /// Where to go on: `next_cursor` of the page before.
    cursor: Option<DocumentId>,
}

/// A page of what a source has and had.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SourceItems {
    /// The items, in the order they were first sent.
    pub items: Vec<SourceItem>,
    /// Where to go on; null at the end.
    pub next_cursor: Option<DocumentId>,
}

/// A document as its source has it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct SourceItem {
    /// Which document of the source it is.
    pub external_id: String,
    /// Its name.
    pub filename: String,
    /// The document's id.
    pub document_id: DocumentId,
    /// Its latest version.
    pub version: u32,
    /// SHA-256 of that version's bytes, in hexadecimal.
    pub sha256: String,
    /// Where that version stands.
    pub state: State,
    /// Why it failed.
    pub failure: Option<String>,
    /// Since when the source no longer has it; null if it has it.
    pub missing_at: Option<RecordTime>,
    /// Since when it is deleted here, by its source or by a person; null if it is there.
    pub deleted_at: Option<RecordTime>,
}

impl From<Item> for SourceItem {
    fn from(item: Item) -> Self {
        Self {
            external_id: ExternalKey::shown(&item.external_key).to_owned(),
            filename: item.filename,
            document_id: item.document,
            version: item.version,
            sha256: hex(&item.blob_hash),
            state: item.state.into(),
            failure: item.failure,
            missing_at: item.missing_at,
            deleted_at: item.deleted_at,
        }
    }
}

impl Reply for SourceItems {
    fn text(&self) -> String {
        if self.items.is_empty() {
            return "Nothing.\n".to_owned();
        }
        let line = |item: &SourceItem| {
            let state = match (item.missing_at, item.deleted_at) {
                (Some(_), _) => "missing",
                (None, Some(_)) => "deleted",
                (None, None) => item.state.name(),
            };
            let (id, name) = (&item.external_id, &item.filename);
            let known_as = if id == name {
                String::new()
            } else {
                format!("  ({id})")
            };
            format!("{}  {state}  {name}{known_as}\n", item.document_id)
        };
        self.items.iter().map(line).collect::<String>() + &kernel::more(self.next_cursor)
    }
}

impl Operation for ListSourceItems {
    type Target = Base;
    type Output = SourceItems;
    const SPEC: Spec = Spec::read("list_source_items", "List what a source has")
        .route(Method::Get, "/kbs/{kb_id}/sources/{source_id}/items")
        .cli("source items", &["source_id"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<SourceItems> {
        cx.about("source", self.source_id);
        let mut tx = cx.read().await?;
        let source = known(&mut tx, cx, self.source_id).await?;
        let asked = self.limit.get() + 1;
        let mut rows =
            sources::items(&mut tx, cx.target.id(), source.id, self.cursor, asked).await?;
        let more = self.limit.rows() < rows.len();
        rows.truncate(self.limit.rows());
        Ok(SourceItems {
            next_cursor: rows.last().filter(|_| more).map(|row| row.document),
            items: rows.into_iter().map(SourceItem::from).collect(),
        })
    }
}
