//! Passwords: argon2id, two at a time.

use std::sync::Arc;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use kernel::Chance;
use model::{Code, Error, Result};
use tokio::sync::Semaphore;

use crate::secret::Password;

/// Memory, passes and lanes: OWASP Password Storage Cheat Sheet, argon2id.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// Hashes computed at the same time.
const AT_ONCE: usize = 2;
/// Hashes that may wait; more are refused rather than piled up.
const WAITING_MAX: usize = 16;

static PERMITS: Semaphore = Semaphore::const_new(AT_ONCE);
static PLACES: Semaphore = Semaphore::const_new(AT_ONCE + WAITING_MAX);

fn argon2() -> Argon2<'static> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).expect("the parameters are valid");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

/// Runs a hash on its own thread, within the bounds.
async fn hashing<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let busy = || Error::new(Code::Unavailable, "too many sign-ins at once").retry_after(2);
    let _place = PLACES.try_acquire().map_err(|_| busy())?;
    let permit = PERMITS.acquire().await.map_err(Error::internal)?;
    tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    })
    .await
    .map_err(Error::internal)
}

/// The hash of a password, with its salt and parameters, as a PHC string.
///
/// # Errors
/// `unavailable` when too many are being hashed.
pub async fn hash(password: Password, chance: &Chance) -> Result<String> {
    let salt = chance.bytes::<16>();
    hashing(move || {
        let hashed = argon2().hash_password_with_salt(password.expose(), &salt);
        hashed
            .map(|hash| hash.to_string())
            .map_err(|error| Error::internal(error.to_string()))
    })
    .await?
}

/// Whether the password is the one of `known`. An account without one costs as much as any.
///
/// # Errors
/// `unavailable` when too many are being hashed.
pub async fn matches(password: Password, known: Option<String>) -> Result<bool> {
    let known: Arc<Option<String>> = Arc::new(known);
    hashing(move || {
        if let Some(known) = known.as_deref() {
            PasswordHash::new(known)
                .is_ok_and(|known| argon2().verify_password(password.expose(), &known).is_ok())
        } else {
            let _ = argon2().hash_password_with_salt(password.expose(), &[0; 16]);
            false
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Password {
        Password::typed(text.to_owned().into())
    }

    #[tokio::test]
    async fn only_the_right_password_matches() {
        let known = hash(typed("correct horse battery"), &Chance::system())
            .await
            .unwrap();

        assert!(
            known.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{known}"
        );
        assert!(
            matches(typed("correct horse battery"), Some(known.clone()))
                .await
                .unwrap()
        );
        assert!(
            !matches(typed("correct horse batterz"), Some(known))
                .await
                .unwrap()
        );
        assert!(!matches(typed("correct horse battery"), None).await.unwrap());
    }
}
