use kernel::{Cx, Method, Operation, Reply, Spec, Tenant};
use model::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::users;

use super::UserInfo;

/// List the people of the organisation, oldest first.
#[derive(Deserialize, JsonSchema)]
pub struct ListUsers {}

/// The people of an organisation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Users {
    /// The people, oldest first.
    pub users: Vec<UserInfo>,
}

impl Reply for Users {
    fn text(&self) -> String {
        self.users.iter().map(Reply::text).collect()
    }
}

impl Operation for ListUsers {
    type Target = Tenant;
    type Output = Users;
    const SPEC: Spec = Spec::read("list_users", "List people")
        .system_admin()
        .route(Method::Get, "/users")
        .cli("user list", &[]);

    async fn run(self, cx: &Cx<'_, Tenant>) -> Result<Users> {
        let rows = users::list(&mut cx.read().await?).await?;
        Ok(Users {
            users: rows.into_iter().map(UserInfo::from).collect(),
        })
    }
}
