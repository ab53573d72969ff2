//! What a sender knows a document by.

use model::{Role, SourceId};

/// The text cannot be a key.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "must be 1 to {LENGTH_MAX} characters, in at most {BYTES_MAX} bytes, without line breaks or control characters"
)]
pub struct NotAKey;

/// Longest key, in characters.
const LENGTH_MAX: usize = 1000;
/// Longest key, in bytes of UTF-8: an index of PostgreSQL takes no more than 2,704.
const BYTES_MAX: usize = 2000;

/// Stands between a key and the role that its document asks for, or the source that it is from;
/// no key contains it.
const MARK: char = '\u{1f}';

/// A key as its sender writes it: a path, an address, a number of another system.
///
/// Documents that ask for different roles have keys of their own, so that nobody learns from a
/// key that is taken what they may not see. So have those of a source: one sender's names are
/// nothing to another's.
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
        let fits = (1..=LENGTH_MAX).contains(&length) && text.len() <= BYTES_MAX;
        if !fits || text.chars().any(char::is_control) {
            return Err(NotAKey);
        }
        Ok(Self(text.to_owned()))
    }

    /// The key.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key as its sender wrote it.
    pub fn shown(stored: &str) -> &str {
        stored.split(MARK).next().unwrap_or(stored)
    }

    /// The key as it is stored for a document that asks for `least_role`.
    pub(super) fn stored(&self, least_role: Role) -> String {
        match least_role {
            Role::Viewer => self.0.clone(),
            role => format!("{}{MARK}{role}", self.0),
        }
    }

    /// The stored key of a document when it comes to ask for `least_role`; what a source left
    /// behind keeps its own.
    pub(super) fn reclassed(stored: &str, least_role: Role) -> String {
        let mark = stored.split_once(MARK).map(|(_, mark)| mark);
        if mark.is_some_and(|mark| mark.parse::<Role>().is_err()) {
            return stored.to_owned();
        }
        Self(Self::shown(stored).to_owned()).stored(least_role)
    }

    /// The key as it is stored for a document of a source.
    pub(super) fn of_source(&self, source: SourceId) -> String {
        format!("{}{MARK}{source}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

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
    fn a_key_follows_its_documents_role_unless_it_was_a_sources() {
        let key = ExternalKey::new("plan.md").unwrap();
        for (before, after) in [
            (Role::Viewer, Role::Admin),
            (Role::Admin, Role::Editor),
            (Role::Owner, Role::Viewer),
        ] {
            assert_eq!(
                ExternalKey::reclassed(&key.stored(before), after),
                key.stored(after)
            );
        }
        let pushed = key.of_source(SourceId::new(Uuid::from_u128(1)));
        assert_eq!(ExternalKey::reclassed(&pushed, Role::Admin), pushed);
    }

    #[test]
    fn two_sources_may_use_one_key() {
        let key = ExternalKey::new("7").unwrap();
        let [one, other] = [1, 2].map(|n| SourceId::new(Uuid::from_u128(n)));
        assert_eq!(ExternalKey::shown(&key.of_source(one)), "7");
        assert_ne!(key.of_source(one), key.of_source(other));
    }

    #[test]
    fn a_key_that_could_pass_for_another_roles_is_refused() {
        let long = ["k".repeat(1001), "結".repeat(700)];
        for text in ["", "  ", "a\u{1f}admin", "a\nb", &long[0], &long[1]] {
            assert_eq!(ExternalKey::new(text), Err(NotAKey));
        }
    }
}
