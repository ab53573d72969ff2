use kernel::{Account, Cx, Method, Operation, Reply, Spec};
use model::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::credentials;

use super::TokenInfo;

/// List your personal tokens, newest first, revoked ones included.
#[derive(Deserialize, JsonSchema)]
pub struct ListTokens {}

/// Somebody's tokens.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Tokens {
    /// The tokens, newest first.
    pub tokens: Vec<TokenInfo>,
}

impl Reply for Tokens {
    fn text(&self) -> String {
        if self.tokens.is_empty() {
            return "No tokens. `quipu token create --name laptop` makes one.\n".to_owned();
        }
        let lines = self.tokens.iter().map(|token| {
            let state = match (token.revoked_at, token.expires_at) {
                (Some(at), _) => format!("revoked {at}"),
                (None, Some(at)) => format!("ends {at}"),
                (None, None) => "never ends".to_owned(),
            };
            format!(
                "{}  {}  {}  {}  {state}\n",
                token.id, token.token_prefix, token.scope, token.name
            )
        });
        lines.collect()
    }
}

impl Operation for ListTokens {
    type Target = Account;
    type Output = Tokens;
    const SPEC: Spec = Spec::read("list_tokens", "List tokens")
        .route(Method::Get, "/me/tokens")
        .cli("token list", &[]);

    async fn run(self, cx: &Cx<'_, Account>) -> Result<Tokens> {
        let principal = cx.principal();
        let rows = credentials::list(&mut cx.read().await?, principal.user).await?;
        let tokens = rows.into_iter().rev().map(TokenInfo::from);
        // A token of some bases learns nothing about tokens of others.
        let own = &principal.credential.bases;
        let tokens = tokens
            .filter(|token| own.contain(token.kb_ids.as_deref()))
            .collect();
        Ok(Tokens { tokens })
    }
}
