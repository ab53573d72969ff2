//! What a sender knows a document by.

use model::Role;

/// The text cannot be a key.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("must be 1 to {LENGTH_MAX} characters without line breaks or control characters")]
pub struct NotAKey;

/// Longest key, in characters.
const LENGTH_MAX: usize = 1000;

/// Stands between a key and the role that its document asks for; no key contains it.
const ROLE_MARK: char = '\u{1f}';

/// A key as its sender writes it: a path, an address, a number of another system.
///
/// Documents that ask for different roles have keys of their own, so that nobody learns from a
/// key that is taken what they may not see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalKey(String);

impl ExternalKey {
    /// The key in `text`, trimmed.
    ///
    /// # Errors
    /// If it is empty, too long, or has control characters.
    pub fn new(text: &str) -> Result<Self, NotAKey> {
        let text = text.trim();
        let length = text.chars().count();
        if length == 0 || LENGTH_MAX < length || text.chars().any(char::is_control) {
            return Err(NotAKey);
        }
        Ok(Self(text.to_owned()))
    }

    /// The key as its sender wrote it.
    pub fn shown(stored: &str) -> &str {
        stored.split(ROLE_MARK).next().unwrap_or(stored)
    }

    /// The key as it is stored for a document that asks for `least_role`.
    pub(super) fn stored(&self, least_role: Role) -> String {
        match least_role {
            Role::Viewer => self.0.clone(),
            role => format!("{}{ROLE_MARK}{role}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_as_it_was_sent_whatever_role_its_document_asks_for() {
        let key = ExternalKey::new(" notes/plan.md ").unwrap();
        for role in Role::ALL {
            assert_eq!(ExternalKey::shown(&key.stored(role)), "notes/plan.md");
        }
        assert_ne!(key.stored(Role::Viewer), key.stored(Role::Admin));
    }

    #[test]
    fn a_key_that_could_pass_for_another_roles_is_refused() {
        for text in ["", "  ", "a\u{1f}admin", "a\nb", &"k".repeat(1001)] {
            assert_eq!(ExternalKey::new(text), Err(NotAKey));
        }
    }
}
