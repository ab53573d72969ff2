use kernel::{Cx, Method, Operation, Spec, Tenant};
use model::{Cursor, Limit, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Activity;

/// The activity of the whole organisation, newest first: also what is about no base, such as
/// signing in, and calls about bases that are not there or not for the caller.
#[derive(Deserialize, JsonSchema)]
pub struct ListAllActivity {
    /// Rows to return at most.
    #[serde(default)]
    limit: Limit<50, 500>,
    /// Where to go on: `next_cursor` of the page before.
    cursor: Option<Cursor>,
}

impl Operation for ListAllActivity {
    type Target = Tenant;
    type Output = Activity;
    const SPEC: Spec = Spec::read("list_all_activity", "Activity of the organisation")
        .system_admin()
        .route(Method::Get, "/audit")
        .cli("audit", &[]);

    async fn run(self, cx: &Cx<'_, Tenant>) -> Result<Activity> {
        super::page(&mut cx.read().await?, None, self.cursor, self.limit).await
    }
}
