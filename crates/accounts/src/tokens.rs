//! Personal access tokens.

mod create_token;
mod list_tokens;
mod revoke_token;

use kernel::Core;
use model::{CredentialId, KbId, RecordTime, Result, Scopes, UserId};
use schemars::JsonSchema;
use serde::Serialize;
use store::Tx;
use store::credentials::{self, Credential, CredentialKind, Reach};

use crate::secret::{PERSONAL_PREFIX, Secret};

pub use create_token::{CreateToken, CreatedToken};
pub use list_tokens::{ListTokens, Tokens};
pub use revoke_token::{RevokeToken, RevokedToken};

/// A token as its owner sees it; never its secret.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TokenInfo {
    /// The token's id.
    pub id: CredentialId,
    /// The name its owner gave it.
    pub name: String,
    /// Its scopes, with spaces between.
    pub scope: Scopes,
    /// The bases it reaches; null for all that its owner can open.
    pub kb_ids: Option<Vec<KbId>>,
    /// How it begins, to recognise it by.
    pub token_prefix: String,
    /// When it was made.
    pub created_at: RecordTime,
    /// When it ends; null for never.
    pub expires_at: Option<RecordTime>,
    /// When it was last used, to about a second; null for never.
    pub last_used_at: Option<RecordTime>,
    /// When it was revoked; null while it is not.
    pub revoked_at: Option<RecordTime>,
}

impl From<Credential> for TokenInfo {
    fn from(row: Credential) -> Self {
        Self {
            id: row.id,
            name: row.name,
            scope: row.scopes,
            kb_ids: match row.bases {
                Reach::All => None,
                Reach::Only(bases) => Some(bases),
            },
            token_prefix: row.hint,
            created_at: row.created_at,
            expires_at: row.expires_at,
            last_used_at: row.last_used_at,
            revoked_at: row.revoked_at,
        }
    }
}

/// A personal token that begins now.
pub(crate) struct NewToken {
    pub owner: UserId,
    pub kind: CredentialKind,
    pub name: String,
    pub scopes: Scopes,
    pub kb_ids: Option<Vec<KbId>>,
    pub expires_at: Option<RecordTime>,
}

/// Mints and stores a token of the transaction's tenant.
pub(crate) async fn issue(core: &Core, tx: &mut Tx, new: NewToken) -> Result<CreatedToken> {
    let secret = Secret::mint(PERSONAL_PREFIX, &core.chance);
    let row = Credential {
        id: CredentialId::new(core.ids.next()),
        tenant: tx.tenant(),
        user: Some(new.owner),
        kind: new.kind,
        name: new.name,
        hint: secret.hint(PERSONAL_PREFIX),
        scopes: new.scopes,
        bases: new.kb_ids.map_or(Reach::All, Reach::Only),
        created_at: core.clock.now(),
        expires_at: new.expires_at,
        last_used_at: None,
        revoked_at: None,
        client: None,
    };
    credentials::insert(tx, &row, &secret.hash()).await?;
    Ok(CreatedToken {
        token: secret.reveal(),
        info: row.into(),
    })
}
