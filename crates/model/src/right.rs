//! Who may do what: roles in a base, scopes of a credential.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A person's standing in a base. Each one may do what those before it may.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Role {
    /// Reads.
    Viewer,
    /// Adds and changes documents.
    Editor,
    /// Purges, reads the activity, manages members.
    Admin,
    /// All of it, the base itself included.
    Owner,
}

impl Role {
    /// Every role, lowest first.
    pub const ALL: [Role; 4] = [Role::Viewer, Role::Editor, Role::Admin, Role::Owner];

    /// Its name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Editor => "editor",
            Role::Admin => "admin",
            Role::Owner => "owner",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// The text names no role.
#[derive(Debug, thiserror::Error)]
#[error("must be `viewer`, `editor`, `admin` or `owner`, not `{0}`")]
pub struct NotARole(String);

impl FromStr for Role {
    type Err = NotARole;

    fn from_str(text: &str) -> Result<Self, NotARole> {
        Role::ALL
            .into_iter()
            .find(|role| role.name() == text)
            .ok_or_else(|| NotARole(text.to_owned()))
    }
}

/// Who can open a base without being a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Visibility {
    /// Everybody of the organisation reads it.
    Open,
    /// Members only; to others it does not exist.
    Restricted,
}

impl Visibility {
    /// Its name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Visibility::Open => "open",
            Visibility::Restricted => "restricted",
        }
    }
}

/// The text names no visibility.
#[derive(Debug, thiserror::Error)]
#[error("must be `open` or `restricted`, not `{0}`")]
pub struct NotAVisibility(String);

impl FromStr for Visibility {
    type Err = NotAVisibility;

    fn from_str(text: &str) -> Result<Self, NotAVisibility> {
        match text {
            "open" => Ok(Visibility::Open),
            "restricted" => Ok(Visibility::Restricted),
            other => Err(NotAVisibility(other.to_owned())),
        }
    }
}

/// What a person may do in a base of their organisation: `None` if it does not exist for them.
///
/// A system admin counts as owner; a member has their role; an open base makes everybody else of
/// the organisation a viewer.
pub const fn standing(
    system_admin: bool,
    membership: Option<Role>,
    visibility: Visibility,
) -> Option<Role> {
    match (system_admin, membership, visibility) {
        (true, _, _) => Some(Role::Owner),
        (false, Some(role), _) => Some(role),
        (false, None, Visibility::Open) => Some(Role::Viewer),
        (false, None, Visibility::Restricted) => None,
    }
}

/// One thing a credential may be used for. A ceiling, never a grant.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Scope {
    /// Reading.
    Read,
    /// Changing; implies `read`.
    Write,
    /// Recording through the capture door; implies `read`, not `write`.
    Capture,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Scope; 3] = [Scope::Read, Scope::Write, Scope::Capture];

    /// Its name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Write => "write",
            Scope::Capture => "capture",
        }
    }
}

/// The scopes of a credential, written as words with spaces between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scopes {
    write: bool,
    capture: bool,
}

impl Scopes {
    /// Reading only.
    pub const READ: Scopes = Scopes {
        write: false,
        capture: false,
    };
    /// Reading and changing.
    pub const WRITE: Scopes = Scopes {
        write: true,
        capture: false,
    };
    /// Everything, for the owner of the data folder.
    pub const ALL: Scopes = Scopes {
        write: true,
        capture: true,
    };

    /// Whether an operation that needs `scope` is below this ceiling.
    pub const fn allow(self, scope: Scope) -> bool {
        match scope {
            Scope::Read => true,
            Scope::Write => self.write,
            Scope::Capture => self.capture,
        }
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match (self.write, self.capture) {
            (false, false) => "read",
            (true, false) => "write",
            (false, true) => "capture",
            (true, true) => "write capture",
        })
    }
}

/// The text names no scopes.
#[derive(Debug, thiserror::Error)]
#[error("must be `read`, `write` or `capture` (several with spaces between), not `{0}`")]
pub struct NotAScope(String);

impl FromStr for Scopes {
    type Err = NotAScope;

    fn from_str(text: &str) -> Result<Self, NotAScope> {
        let mut scopes = Scopes::READ;
        let mut words = 0;
        for word in text.split_ascii_whitespace() {
            words += 1;
            match word {
                "read" => {}
                "write" => scopes.write = true,
                "capture" => scopes.capture = true,
                other => return Err(NotAScope(other.to_owned())),
            }
        }
        if words == 0 {
            Err(NotAScope(String::new()))
        } else {
            Ok(scopes)
        }
    }
}

impl Serialize for Scopes {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Scopes {
    fn deserialize<D: serde::Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(source)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Scopes {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Scopes".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}
