use std::num::NonZeroU32;
use std::sync::LazyLock;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use kernel::{Cx, Method, Operation, Public, Spec};
use model::{Code, Error, Result, Scopes};
use schemars::JsonSchema;
use serde::Deserialize;
use store::credentials::CredentialKind;
use store::users;

use super::normal_email;
use crate::password;
use crate::secret::Password;
use crate::tokens::{CreatedToken, NewToken, issue};

/// Sign in with a password: the answer holds a personal token that ends after twelve hours.
#[derive(Deserialize, JsonSchema)]
pub struct LogIn {
    /// Your e-mail address.
    email: String,
    /// Your password.
    #[schemars(with = "String", extend("format" = "password"))]
    password: secrecy::SecretString,
}

/// Life of a token that a password bought, in seconds.
const SESSION_SECONDS: i64 = 12 * 60 * 60;

/// Tries in a minute for one address, known or not, and how many at once.
const TRIES_PER_MINUTE: NonZeroU32 = NonZeroU32::new(6).expect("six is not zero");
const TRIES_AT_ONCE: NonZeroU32 = NonZeroU32::new(10).expect("ten is not zero");
/// Addresses remembered before those without recent tries are forgotten.
const ADDRESSES_MAX: usize = 10_000;

static TRIES: LazyLock<DefaultKeyedRateLimiter<String>> = LazyLock::new(|| {
    RateLimiter::keyed(Quota::per_minute(TRIES_PER_MINUTE).allow_burst(TRIES_AT_ONCE))
});

/// Counts a try before anything costly is done for it.
fn attempt(email: &str) -> Result<()> {
    if TRIES.len() > ADDRESSES_MAX {
        TRIES.retain_recent();
    }
    TRIES.check_key(&email.to_owned()).map_err(|_| {
        let wait = 60 / TRIES_PER_MINUTE;
        let sentence = format!("too many tries for this address; try again in {wait} s");
        Error::new(Code::RateLimited, sentence).retry_after(wait)
    })
}

impl Operation for LogIn {
    type Target = Public;
    type Output = CreatedToken;
    const SPEC: Spec = Spec::write("log_in", "Sign in").route(Method::Post, "/login");

    async fn run(self, cx: &Cx<'_, Public>) -> Result<CreatedToken> {
        let email = normal_email(&self.email)?;
        attempt(&email)?;
        let mut directory = cx.db.read_directory().await?;
        let found = users::find_by_email(&mut directory, &email).await?;
        drop(directory);
        let found = found.filter(|(user, _)| user.disabled_at.is_none());
        // From here on the call has a row in the activity of whose address it names.
        if let Some((user, _)) = &found {
            cx.recognise(user.tenant, user.id, &user.email);
        }
        // An unknown address costs as much as a wrong password.
        let known = found.as_ref().and_then(|(_, hash)| hash.clone());
        let right = password::matches(Password::typed(self.password), known).await?;
        let Some((user, _)) = found.filter(|_| right) else {
            let sentence = "no account with this address and password";
            return Err(Error::new(Code::Unauthenticated, sentence));
        };
        let mut tx = cx.write_tenant(user.tenant).await?;
        let new = NewToken {
            owner: user.id,
            kind: CredentialKind::SignedIn,
            name: "signed in".to_owned(),
            scopes: Scopes::WRITE,
            kb_ids: None,
            expires_at: Some(cx.now().plus_seconds(SESSION_SECONDS)),
        };
        let created = issue(cx, &mut tx, new).await?;
        cx.about("token", created.info.id);
        tx.commit(created).await
    }
}
