//! Who did what: of one base, and of the whole organisation.

mod list_activity;
mod list_all_activity;

use kernel::Reply;
use model::{AuditId, CredentialId, Cursor, KbId, Limit, RecordTime, Result, UserId};
use schemars::JsonSchema;
use serde::Serialize;
use store::Tx;
use store::audit::{self, Entry};

pub use list_activity::ListActivity;
pub use list_all_activity::ListAllActivity;

/// A page of the activity.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Activity {
    /// The rows, newest first.
    pub activity: Vec<ActivityRow>,
    /// Where to go on; null at the end.
    pub next_cursor: Option<Cursor>,
}

/// One call.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ActivityRow {
    /// The row's id.
    pub id: AuditId,
    /// When.
    pub at: RecordTime,
    /// The base it was about, if it was about one that the caller could see.
    pub kb_id: Option<KbId>,
    /// Who: the owner of the credential.
    pub user_id: Option<UserId>,
    /// Their address at that moment.
    pub user: String,
    /// The credential.
    pub credential_id: Option<CredentialId>,
    /// Its name.
    pub credential_name: Option<String>,
    /// The program, by its own account.
    pub client: Option<String>,
    /// The end user that the program says it acts for. Only credentials that may speak for others
    /// name one, and a personal token may not.
    pub actor: Option<String>,
    /// The door.
    pub door: String,
    /// The operation: over MCP, the tool.
    pub operation: String,
    /// What kind of thing it was about.
    pub target_kind: Option<String>,
    /// Which one.
    pub target_id: Option<String>,
    /// `ok`, the code of the refusal, or `cut_off` if the caller went away before the end.
    pub verdict: String,
    /// The request's id, as its answer and the log named it.
    pub request_id: String,
}

impl From<Entry> for ActivityRow {
    fn from(row: Entry) -> Self {
        let (target_kind, target_id) = row.target.unzip();
        Self {
            id: row.id,
            at: row.at,
            kb_id: row.base,
            user_id: row.user,
            user: row.user_label,
            credential_id: row.credential,
            credential_name: row.credential_name,
            client: row.client,
            actor: row.actor,
            door: row.door,
            operation: row.operation,
            target_kind,
            target_id,
            verdict: row.verdict,
            request_id: row.request.to_string(),
        }
    }
}

impl Reply for Activity {
    fn text(&self) -> String {
        let lines = self.activity.iter().map(|row| {
            let by = row.credential_name.as_deref().unwrap_or("-");
            format!(
                "{}  {}  {} ({by})  {}  {}\n",
                row.at, row.verdict, row.user, row.door, row.operation
            )
        });
        lines.collect::<String>() + &kernel::more(self.next_cursor)
    }
}

/// A page of it, newest first; of one base, or of the whole organisation with none.
async fn page(
    tx: &mut Tx,
    kb: Option<KbId>,
    cursor: Option<Cursor>,
    limit: Limit<50, 500>,
) -> Result<Activity> {
    let before = cursor.map(|cursor| (cursor.at, AuditId::new(cursor.id)));
    let mut rows = audit::page(tx, kb, before, limit.get() + 1).await?;
    let more = limit.rows() < rows.len();
    rows.truncate(limit.rows());
    let last = rows.last().filter(|_| more);
    let next_cursor = last.map(|row| Cursor {
        at: row.at,
        id: row.id.uuid(),
    });
    Ok(Activity {
        activity: rows.into_iter().map(ActivityRow::from).collect(),
        next_cursor,
    })
}
