use kernel::{Base, Cx, Method, Operation, Spec};
use model::{Cursor, Limit, Result, Role};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Activity;

/// The activity of a base, newest first: one row per call, refused ones too.
#[derive(Deserialize, JsonSchema)]
pub struct ListActivity {
    /// Rows to return at most.
    #[serde(default)]
    limit: Limit<50, 500>,
    /// Where to go on: `next_cursor` of the page before.
    cursor: Option<Cursor>,
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
        super::page(&mut tx, Some(cx.target.id()), self.cursor, self.limit).await
    }
}
