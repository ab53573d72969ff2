//! Who asks, with which credential.

use model::{CredentialId, KbId, RecordTime, RequestId, Scopes, TenantId, UserId};
use uuid::Uuid;

/// Who pays and decides, and the secret that was used to say so.
#[derive(Debug, Clone)]
pub struct Principal {
    /// The organisation.
    pub tenant: TenantId,
    /// The person; every right is theirs, now.
    pub user: UserId,
    /// How the activity log names the person: their address at this moment.
    pub label: String,
    /// Whether the person counts as owner everywhere in the deployment.
    pub system_admin: bool,
    /// What was shown to prove it.
    pub credential: Credential,
    /// The program that asks, by its own account.
    pub client: Option<String>,
}

/// The secret used, without the secret.
#[derive(Debug, Clone)]
pub struct Credential {
    /// Its id; nil for the data folder's owner.
    pub id: CredentialId,
    /// The name its owner gave it.
    pub name: String,
    /// Which kind it is.
    pub kind: CredentialKind,
    /// What it may be used for at most.
    pub scopes: Scopes,
    /// Where it may be used at most.
    pub bases: Bases,
    /// When it ends; none for never.
    pub expires_at: Option<RecordTime>,
}

/// Kinds of credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialKind {
    /// A personal access token.
    Personal,
    /// A token that a password bought, for some hours.
    SignedIn,
    /// Being able to open the data folder or its socket.
    Local,
}

/// Which bases a credential reaches, at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bases {
    /// All that its owner can open.
    All,
    /// These.
    Only(Vec<KbId>),
}

impl Bases {
    /// Whether `kb` is below this ceiling.
    pub fn cover(&self, kb: KbId) -> bool {
        match self {
            Bases::All => true,
            Bases::Only(bases) => bases.contains(&kb),
        }
    }

    /// Whether `others` (none for all) are below this ceiling.
    pub fn contain(&self, others: Option<&[KbId]>) -> bool {
        match (self, others) {
            (Bases::All, _) => true,
            (Bases::Only(_), None) => false,
            (Bases::Only(_), Some(others)) => others.iter().all(|&kb| self.cover(kb)),
        }
    }
}

impl Credential {
    /// The credential of whoever can open the data folder.
    pub fn local() -> Self {
        Self {
            id: CredentialId::new(Uuid::nil()),
            name: "local".to_owned(),
            kind: CredentialKind::Local,
            scopes: Scopes::ALL,
            bases: Bases::All,
            expires_at: None,
        }
    }
}

/// A call as the door saw it, before anything is decided.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Who asks; nobody on operations that are open to all.
    pub principal: Option<Principal>,
    /// The program that asks, by its own account, where the principal does not say.
    pub client: Option<String>,
    /// The door.
    pub door: crate::Door,
    /// Names the request in answers, logs and the activity.
    pub request: RequestId,
}
