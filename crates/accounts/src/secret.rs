//! Secrets that are shown once and kept only as a hash.

use model::{Error, Result};
use sha2::{Digest, Sha256};

use kernel::Chance;

/// What a personal access token starts with.
pub const PERSONAL_PREFIX: &str = "utp_pat_";
/// What a set-up link's secret starts with.
pub const SET_UP_PREFIX: &str = "quipu_setup_";

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Random characters of a secret: 178 bits.
const BODY_LENGTH: usize = 30;
/// Characters that catch a typing mistake without a look into the store.
const CHECK_LENGTH: usize = 6;

/// A secret in clear, for the one moment it is shown. It cannot be printed by accident.
pub struct Secret(String);

impl Secret {
    /// A fresh secret: prefix, 30 random characters, 6 check characters.
    pub fn mint(prefix: &str, chance: &Chance) -> Self {
        let mut body = String::with_capacity(BODY_LENGTH);
        while body.len() < BODY_LENGTH {
            for byte in chance.bytes::<32>() {
                // 248 = 4 × 62: larger bytes would make the first digits likelier.
                if byte < 248 && body.len() < BODY_LENGTH {
                    body.push(char::from(DIGITS[usize::from(byte) % DIGITS.len()]));
                }
            }
        }
        let check = check_of(prefix, &body);
        Self(format!("{prefix}{body}{check}"))
    }

    /// Reads a secret that somebody sent.
    ///
    /// # Errors
    /// If it cannot be one with this prefix: wrong length, character or check.
    pub fn read(prefix: &str, text: &str) -> Option<Self> {
        let rest = text.strip_prefix(prefix)?;
        if rest.len() != BODY_LENGTH + CHECK_LENGTH || !rest.bytes().all(|b| DIGITS.contains(&b)) {
            return None;
        }
        let (body, check) = rest.split_at(BODY_LENGTH);
        (check == check_of(prefix, body)).then(|| Self(text.to_owned()))
    }

    /// What is stored in its place.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }

    /// Enough to recognise it in a list: the prefix and four characters.
    pub fn hint(&self, prefix: &str) -> String {
        format!("{}…", &self.0[..prefix.len() + 4])
    }

    /// The text itself, to be shown once.
    pub fn reveal(self) -> String {
        self.0
    }
}

fn check_of(prefix: &str, body: &str) -> String {
    let digest = Sha256::new()
        .chain_update(prefix)
        .chain_update(body)
        .finalize();
    let mut number = u64::from(u32::from_be_bytes([
        digest[0], digest[1], digest[2], digest[3],
    ]));
    let mut check = [b'0'; CHECK_LENGTH];
    for place in check.iter_mut().rev() {
        *place = DIGITS[(number % 62) as usize];
        number /= 62;
    }
    check.iter().copied().map(char::from).collect()
}

/// Shortest password.
const PASSWORD_LENGTH_MIN: usize = 12;
/// Longest password, so that hashing stays bounded.
const PASSWORD_LENGTH_MAX: usize = 256;

/// A password as it was typed; it cannot be printed by accident.
pub struct Password(secrecy::SecretString);

impl Password {
    /// A password for an account.
    ///
    /// # Errors
    /// `invalid_argument` if it is too short or too long.
    pub fn chosen(text: secrecy::SecretString) -> Result<Self> {
        use secrecy::ExposeSecret;
        let length = text.expose_secret().chars().count();
        if !(PASSWORD_LENGTH_MIN..=PASSWORD_LENGTH_MAX).contains(&length) {
            return Err(Error::invalid(format!(
                "`password` must have {PASSWORD_LENGTH_MIN} to {PASSWORD_LENGTH_MAX} characters, not {length}"
            )));
        }
        Ok(Self(text))
    }

    /// A password to be compared.
    pub fn typed(text: secrecy::SecretString) -> Self {
        Self(text)
    }

    pub(crate) fn expose(&self) -> &[u8] {
        use secrecy::ExposeSecret;
        let bytes = self.0.expose_secret().as_bytes();
        &bytes[..bytes.len().min(4 * PASSWORD_LENGTH_MAX)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minted_secret_is_read_back_and_a_mistyped_one_is_not() {
        let token = Secret::mint(PERSONAL_PREFIX, &Chance::system()).reveal();

        assert_eq!(token.len(), PERSONAL_PREFIX.len() + 36);
        assert!(Secret::read(PERSONAL_PREFIX, &token).is_some());
        for place in PERSONAL_PREFIX.len()..token.len() {
            let mut mistyped = token.clone().into_bytes();
            mistyped[place] = if mistyped[place] == b'x' { b'y' } else { b'x' };
            let mistyped = String::from_utf8(mistyped).unwrap();
            assert!(
                Secret::read(PERSONAL_PREFIX, &mistyped).is_none(),
                "{place}"
            );
        }
    }

    #[test]
    fn a_hint_shows_four_characters_of_the_secret() {
        let secret = Secret::mint(PERSONAL_PREFIX, &Chance::counted());
        assert_eq!(
            secret.hint(PERSONAL_PREFIX).chars().count(),
            PERSONAL_PREFIX.len() + 5
        );
    }
}
