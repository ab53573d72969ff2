use kernel::{Cx, Method, Operation, Spec, Tenant};
use model::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use store::users;

use super::UserInfo;

/// Disable a person's account: their tokens and password stop working with the next call.
#[derive(Deserialize, JsonSchema)]
pub struct DisableUser {
    /// Their e-mail address.
    email: String,
}

impl Operation for DisableUser {
    type Target = Tenant;
    type Output = UserInfo;
    const SPEC: Spec = Spec::destroy("disable_user", "Disable an account")
        .system_admin()
        .route(Method::Delete, "/users/{email}")
        .cli("user disable", &["email"]);

    async fn run(self, cx: &Cx<'_, Tenant>) -> Result<UserInfo> {
        let mut user = super::known(cx, cx.target.id(), &self.email).await?;
        if cx.principal().user == user.id {
            return Err(Error::invalid(
                "`email` must be another person's: nobody disables themself",
            ));
        }
        cx.about("user", user.id);
        user.disabled_at = user.disabled_at.or(Some(cx.now()));
        let mut tx = cx.write().await?;
        users::set_disabled(&mut tx, user.id, user.disabled_at).await?;
        tx.commit(user.into()).await
    }
}
