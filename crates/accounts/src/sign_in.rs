//! From a secret to the person behind it: looked up on every call, nothing remembered.

use kernel::principal::{Bases, Credential, CredentialKind};
use kernel::{Core, Principal, gate};
use model::{RecordTime, Result};
use store::credentials::{self, Found, Owner, Reach};
use store::users;

use crate::secret::{PERSONAL_PREFIX, Secret};

/// How long an agent's name from its last `initialize` counts, in seconds.
const CLIENT_NAME_HELD: i64 = 24 * 60 * 60;
/// How old a kept name may grow before the same one is written again, in seconds.
const CLIENT_NAME_RENEWED: i64 = 60 * 60;

/// The owner of a personal token that is valid now.
///
/// `user_agent` names the program, [`shortened`], where it has not named itself.
///
/// # Errors
/// `unauthenticated`, with one sentence for every reason.
pub async fn with_token(core: &Core, token: &str, user_agent: Option<String>) -> Result<Principal> {
    let secret = Secret::read(PERSONAL_PREFIX, token).ok_or_else(gate::unauthenticated)?;
    let mut tx = core.db.read_directory().await?;
    let found = credentials::find_by_secret_hash(&mut tx, &secret.hash()).await?;
    let now = core.clock.now();
    let valid = found.and_then(|found| valid_owner(found, now));
    let (credential, owner) = valid.ok_or_else(gate::unauthenticated)?;
    Ok(principal(credential, owner, now, user_agent))
}

fn valid_owner(found: Found, now: RecordTime) -> Option<(credentials::Credential, Owner)> {
    let Found { credential, owner } = found;
    let ended = credential.expires_at.is_some_and(|end| end <= now);
    let owner = owner.filter(|owner| owner.disabled_at.is_none());
    let valid = credential.revoked_at.is_none() && !ended;
    owner.filter(|_| valid).map(|owner| (credential, owner))
}

fn principal(
    credential: credentials::Credential,
    owner: Owner,
    now: RecordTime,
    user_agent: Option<String>,
) -> Principal {
    let noted = credential
        .client
        .filter(|(_, seen)| now < seen.plus_seconds(CLIENT_NAME_HELD));
    let client = noted.map(|(name, _)| name).or(user_agent);
    Principal {
        tenant: credential.tenant,
        user: owner.id,
        label: owner.email,
        system_admin: owner.system_admin,
        credential: Credential {
            id: credential.id,
            name: credential.name,
            kind: match credential.kind {
                credentials::CredentialKind::Personal => CredentialKind::Personal,
                credentials::CredentialKind::SignedIn => CredentialKind::SignedIn,
            },
            expires_at: credential.expires_at,
            scopes: credential.scopes,
            bases: match credential.bases {
                Reach::All => Bases::All,
                Reach::Only(bases) => Bases::Only(bases),
            },
        },
        client,
    }
}

/// A program's own name for itself: unproven, one line, at most 120 characters.
pub fn shortened(name: &str) -> String {
    name.chars()
        .filter(|character| !character.is_control())
        .take(120)
        .collect()
}

/// Whoever can open the data folder acts as its first system admin.
///
/// `None` before there is one.
pub async fn local_owner(core: &Core) -> Result<Option<Principal>> {
    let mut tx = core.db.read_directory().await?;
    let admin = users::first_system_admin(&mut tx).await?;
    Ok(admin.map(|(admin, _)| Principal {
        tenant: admin.tenant,
        user: admin.id,
        label: admin.email,
        system_admin: true,
        credential: Credential::local(),
        client: Some("command line".to_owned()),
    }))
}

/// Keeps the name that an agent gave itself, for the rows of its later calls.
pub async fn note_client(core: &Core, principal: &Principal, client: &str) -> Result<()> {
    let client = shortened(client);
    let now = core.clock.now();
    let renew_before = now.plus_seconds(-CLIENT_NAME_RENEWED);
    let id = principal.credential.id;
    let known = credentials::find(&mut core.db.read(principal.tenant).await?, id).await?;
    let known = known.and_then(|credential| credential.client);
    if known.is_some_and(|(name, seen)| name == client && seen > renew_before) {
        return Ok(());
    }
    let mut tx = core.db.write(principal.tenant).await?;
    credentials::note_client(&mut tx, id, &client, now).await?;
    Ok(tx.commit().await?)
}
