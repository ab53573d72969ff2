use kernel::{Account, Cx, Method, Operation, Reply, Spec};
use model::{Error, KbId, Result, Scopes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::users;

use super::UserInfo;

/// Who you are here, and what the token you came with may do.
#[derive(Deserialize, JsonSchema)]
pub struct ShowMe {}

/// A person and the token they came with.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Me {
    /// The person.
    pub user: UserInfo,
    /// The token's name.
    pub token_name: String,
    /// The token's scopes.
    pub scope: Scopes,
    /// The bases the token reaches; null for all that the person can open.
    pub kb_ids: Option<Vec<KbId>>,
}

impl Reply for Me {
    fn text(&self) -> String {
        format!(
            "{}with the token {} (scope {})\n",
            self.user.text(),
            self.token_name,
            self.scope
        )
    }
}

impl Operation for ShowMe {
    type Target = Account;
    type Output = Me;
    const SPEC: Spec = Spec::read("show_me", "Who you are")
        .route(Method::Get, "/me")
        .cli("whoami", &[]);

    async fn run(self, cx: &Cx<'_, Account>) -> Result<Me> {
        let principal = cx.principal();
        let user = users::find(&mut cx.read().await?, principal.user).await?;
        let user = user.ok_or_else(|| Error::not_found("this account is gone"))?;
        let kb_ids = match &principal.credential.bases {
            kernel::Bases::All => None,
            kernel::Bases::Only(bases) => Some(bases.clone()),
        };
        Ok(Me {
            user: user.into(),
            token_name: principal.credential.name.clone(),
            scope: principal.credential.scopes,
            kb_ids,
        })
    }
}
