//! One SQL text for both engines, and the little that is rewritten.
//!
//! A statement binds the tenant of its transaction as `$1`, without being asked; its own
//! parameters begin at `$2`. The few that run before a tenant is known, or over all of them, are
//! declared under `directory` with the reason, and number their parameters from `$1`.
//!
//! A column with a `+` before it is one by which SQLite is not to look rows up: it keeps no
//! statistics, and would take any index that fits over the one that finds few rows. A test in
//! `engine/sqlite.rs` reads its plans.

use std::sync::OnceLock;

/// One SQL text, declared once and known by name.
#[derive(Debug)]
pub struct Statement {
    name: &'static str,
    text: &'static str,
    reason: Option<&'static str>,
    sqlite: OnceLock<String>,
    postgres: OnceLock<String>,
}

impl Statement {
    /// A statement that binds the tenant as `$1`.
    pub(crate) const fn of_tenant(name: &'static str, text: &'static str) -> Self {
        Self {
            name,
            text,
            reason: None,
            sqlite: OnceLock::new(),
            postgres: OnceLock::new(),
        }
    }

    /// A statement that stands outside of any tenant, and why it may.
    pub(crate) const fn of_directory(
        name: &'static str,
        text: &'static str,
        reason: &'static str,
    ) -> Self {
        Self {
            name,
            text,
            reason: Some(reason),
            sqlite: OnceLock::new(),
            postgres: OnceLock::new(),
        }
    }

    /// `file::NAME`, as in this crate's source.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The text as declared.
    pub fn text(&self) -> &'static str {
        self.text
    }

    /// Why it need not bind a tenant; none for one that binds it.
    pub fn directory_reason(&self) -> Option<&'static str> {
        self.reason
    }

    /// Whether it changes nothing.
    pub(crate) fn reads(&self) -> bool {
        self.text.starts_with("SELECT ")
    }

    /// What running it is called in an error.
    pub(crate) fn doing(&self) -> String {
        format!("run `{}`", self.name)
    }

    /// The text for SQLite.
    pub(crate) fn sqlite(&self) -> &str {
        self.sqlite.get_or_init(|| for_sqlite(self.text))
    }

    /// The text for PostgreSQL.
    pub(crate) fn postgres(&self) -> &str {
        self.postgres
            .get_or_init(|| self.text.replace(SKIP_LOCKED, "FOR UPDATE SKIP LOCKED"))
    }
}

/// Stands where PostgreSQL is to pass over rows that another node is claiming. SQLite has one
/// writer and reads it as the comment it is.
const SKIP_LOCKED: &str = "/* skip locked */";

/// `$n` becomes `?n`, since SQLite binds a bare `$n` by order of appearance and would silently
/// swap arguments; `= ANY($n)` becomes a table made of the list.
fn for_sqlite(text: &str) -> String {
    const LIST: &str = "= ANY($";
    let mut out = String::with_capacity(text.len() + 32);
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = after.split_at(digits);
        let list = rest[..=at].ends_with(LIST) && tail.starts_with(')');
        if list {
            out.push_str(&before[..=at - LIST.len()]);
            out.push_str("IN (SELECT value FROM rarray(?");
            out.push_str(number);
            out.push_str("))");
            rest = &tail[1..];
        } else {
            out.push_str(before);
            out.push('?');
            out.push_str(number);
            rest = tail;
        }
    }
    out.push_str(rest);
    out
}

/// Declares the statements of a file and the table `STATEMENTS` that lists them.
macro_rules! statements {
    (
        $(tenant { $($name:ident: $text:literal,)* })?
        $(directory { $($free:ident: $free_text:literal because $reason:literal,)* })?
    ) => {
        $($(static $name: $crate::statement::Statement = $crate::statement::Statement::of_tenant(
            concat!(module_path!(), "::", stringify!($name)), $text);)*)?
        $($(static $free: $crate::statement::Statement = $crate::statement::Statement::of_directory(
            concat!(module_path!(), "::", stringify!($free)), $free_text, $reason);)*)?

        /// Every statement of this file.
        pub(crate) static STATEMENTS: &[&$crate::statement::Statement] =
            &[$($(&$name,)*)? $($(&$free,)*)?];
    };
}
pub(crate) use statements;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_keep_their_numbers_whatever_their_order() {
        assert_eq!(
            for_sqlite("a = $2 AND b = $10 AND c = $1"),
            "a = ?2 AND b = ?10 AND c = ?1"
        );
    }

    #[test]
    fn a_list_becomes_a_table() {
        assert_eq!(
            for_sqlite("a = $1 AND id = ANY($2) AND b = $3"),
            "a = ?1 AND id IN (SELECT value FROM rarray(?2)) AND b = ?3"
        );
    }
}
