use kernel::{Base, Cx, Method, Operation, Reply, Spec};
use model::{AuditId, CredentialId, Cursor, Limit, RecordTime, Result, Role, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::audit::{self, Entry};

/// The activity of a base, newest first: one row per call, refused ones too.
#[derive(Deserialize, JsonSchema)]
pub struct ListActivity {
    /// Rows to return at most.
    #[serde(default)]
    limit: Limit<50, 500>,
    /// Where to go on: `next_cursor` of the page before.
    cursor: Option<Cursor>,
}

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
    /// The end user that the program says it acts for.
    pub actor: Option<String>,
    /// The door.
    pub door: String,
    /// The operation: over MCP, the tool.
    pub operation: String,
    /// What kind of thing it was about.
    pub target_kind: Option<String>,
    /// Which one.
    pub target_id: Option<String>,
    /// `ok`, or the code of the refusal.
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
        lines.collect()
    }
}

impl Operation for ListActivity {
    type Target = Base;
    type Output = Activity;
    const SPEC: Spec = Spec::read("list_activity", "Activity of a base")
        .least(Role::Admin)
        .route(Method::Get, "/kbs/{kb_id}/audit")
        .cli("activity", &[]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<Activity> {
        let mut tx = cx.read().await?;
        let before = self
            .cursor
            .map(|cursor| (cursor.at, AuditId::new(cursor.id)));
        let kb = Some(cx.target.id());
        let mut rows = audit::page(&mut tx, kb, before, self.limit.get() + 1).await?;
        let more = rows.len() > self.limit.rows();
        rows.truncate(self.limit.rows());
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
}
