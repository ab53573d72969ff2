use kernel::{Account, Cx, Method, Operation, Reply, Spec};
use model::{CredentialId, Error, RecordTime, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::credentials;

/// Revoke a personal token. It stops working with the next call; its row stays as a trace.
#[derive(Deserialize, JsonSchema)]
pub struct RevokeToken {
    /// The token's id, as `list_tokens` tells it.
    token_id: CredentialId,
}

/// A token that no longer works.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RevokedToken {
    /// The token's id.
    pub id: CredentialId,
    /// When it was revoked.
    pub revoked_at: RecordTime,
}

impl Reply for RevokedToken {
    fn text(&self) -> String {
        format!("Token {} is revoked.\n", self.id)
    }
}

impl Operation for RevokeToken {
    type Target = Account;
    type Output = RevokedToken;
    const SPEC: Spec = Spec::destroy("revoke_token", "Revoke a token")
        .route(Method::Delete, "/me/tokens/{token_id}")
        .cli("token revoke", &["token_id"]);

    async fn run(self, cx: &Cx<'_, Account>) -> Result<RevokedToken> {
        let principal = cx.principal();
        cx.about("token", self.token_id);
        let mut tx = cx.write().await?;
        let token = credentials::find(&mut tx, self.token_id).await?;
        // A system admin may take anybody's token away.
        let within = |owner| principal.system_admin || owner == Some(principal.user);
        let own = &principal.credential.bases;
        let token = token.filter(|token| within(token.user) && own.contain(token.bases.listed()));
        let token = token.ok_or_else(|| Error::not_found("no token of yours with that id"))?;
        // Revoking twice tells when it was done.
        let revoked_at = token.revoked_at.unwrap_or(cx.now());
        credentials::revoke(&mut tx, self.token_id, revoked_at).await?;
        tx.commit(RevokedToken {
            id: self.token_id,
            revoked_at,
        })
        .await
    }
}
