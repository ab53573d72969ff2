use kernel::{Base, Cx, Method, Operation, Reply, Spec};
use model::cursor::Cursor;
use model::{Code, DocumentId, Error, Limit, Result, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::documents::{self, Listing};

use super::{DocumentInfo, State};

/// List the documents of a base that you can see, in the order they were added.
#[derive(Deserialize, JsonSchema)]
pub struct ListDocuments {
    /// Documents to return at most.
    #[serde(default)]
    limit: Limit<50, 500>,
    /// Where to go on: `next_cursor` of the page before.
    cursor: Option<Cursor>,
    /// Only documents whose latest version stands here.
    state: Option<State>,
    /// `true` lists deleted documents instead, for those who could restore them.
    #[serde(default)]
    deleted: bool,
}

/// A page of documents.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Documents {
    /// The documents, in the order they were added.
    pub documents: Vec<DocumentInfo>,
    /// Where to go on; null at the end.
    pub next_cursor: Option<Cursor>,
    /// How many documents you can see in all, deleted ones not counted.
    pub total: u64,
    /// How many of them are in each state; states without any are left out.
    pub states: Vec<StateCount>,
}

/// How many documents are in a state.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct StateCount {
    /// The state.
    pub state: State,
    /// How many documents.
    pub documents: u64,
}

impl Reply for Documents {
    fn text(&self) -> String {
        if self.documents.is_empty() {
            return "No documents.\n".to_owned();
        }
        let lines: String = self.documents.iter().map(DocumentInfo::line).collect();
        lines + &kernel::more(self.next_cursor)
    }
}

impl Operation for ListDocuments {
    type Target = Base;
    type Output = Documents;
    const SPEC: Spec = Spec::read("list_documents", "List documents")
        .route(Method::Get, "/kbs/{kb_id}/documents")
        .cli("document list", &[]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<Documents> {
        let (kb, role) = (cx.target.id(), cx.target.role());
        if self.deleted && role < Role::Editor {
            let sentence = "`deleted` needs the role `editor` in this base";
            return Err(Error::new(Code::Forbidden, sentence));
        }
        let state = self.state.map(State::stored);
        let listing = Listing {
            role,
            state,
            deleted: self.deleted,
        };
        let after = self
            .cursor
            .map(|cursor| (cursor.at, DocumentId::new(cursor.id)));
        let mut tx = cx.read().await?;
        let mut rows = documents::page(&mut tx, kb, &listing, after, self.limit.get() + 1).await?;
        let more = self.limit.rows() < rows.len();
        rows.truncate(self.limit.rows());
        let last = rows.last().filter(|_| more);
        let next_cursor = last.map(|row| Cursor {
            at: row.created_at,
            id: row.id.uuid(),
        });
        let counts = documents::stats(&mut tx, kb, role).await?;
        Ok(Documents {
            documents: rows.into_iter().map(DocumentInfo::from).collect(),
            next_cursor,
            total: counts.iter().map(|count| count.documents).sum(),
            states: counts
                .into_iter()
                .map(|count| StateCount {
                    state: count.state.into(),
                    documents: count.documents,
                })
                .collect(),
        })
    }
}
