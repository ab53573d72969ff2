//! People: the first one, the others, and signing in.

mod add_user;
mod disable_user;
mod list_users;
mod log_in;
mod set_up;
mod show_me;

use kernel::Core;
use model::{Error, RecordTime, Result, TenantId, UserId};
use schemars::JsonSchema;
use serde::Serialize;
use store::users::User;

pub use add_user::AddUser;
pub use disable_user::DisableUser;
pub use list_users::{ListUsers, Users};
pub use log_in::LogIn;
pub use set_up::SetUp;
pub use show_me::{Me, ShowMe};

/// A person as others of the deployment see them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct UserInfo {
    /// The person's id.
    pub id: UserId,
    /// Their e-mail address.
    pub email: String,
    /// Their name.
    pub name: String,
    /// Whether they count as owner everywhere.
    pub system_admin: bool,
    /// When the account was made.
    pub created_at: RecordTime,
    /// When it was disabled; null while it is not.
    pub disabled_at: Option<RecordTime>,
}

impl From<User> for UserInfo {
    fn from(row: User) -> Self {
        Self {
            id: row.id,
            email: row.email,
            name: row.name,
            system_admin: row.system_admin,
            created_at: row.created_at,
            disabled_at: row.disabled_at,
        }
    }
}

impl kernel::Reply for UserInfo {
    fn text(&self) -> String {
        let role = if self.system_admin {
            "system admin"
        } else {
            "user"
        };
        let state = if self.disabled_at.is_some() {
            ", disabled"
        } else {
            ""
        };
        format!("{}  {}  {role}{state}\n", self.id, self.email)
    }
}

/// Longest e-mail address (RFC 5321), in bytes.
const EMAIL_LENGTH_MAX: usize = 254;

/// An e-mail address as it is stored: trimmed, in lower case.
///
/// # Errors
/// `invalid_argument` if it cannot be one.
pub(crate) fn normal_email(email: &str) -> Result<String> {
    let email = email.trim().to_lowercase();
    let parts = email.split_once('@');
    let plausible = parts
        .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty() && !host.contains('@'));
    let plain = !email
        .chars()
        .any(|character| character.is_whitespace() || character.is_control());
    if plausible && plain && email.len() <= EMAIL_LENGTH_MAX {
        return Ok(email);
    }
    let shown: String = email.chars().take(80).collect();
    Err(Error::invalid(format!(
        "`email` must be an address such as `ann@example.org`, not `{shown}`"
    )))
}

/// The person of this tenant with that address.
///
/// # Errors
/// `not_found` if there is none here; addresses of other tenants are nobody's.
pub(crate) async fn known(core: &Core, tenant: TenantId, email: &str) -> Result<User> {
    let email = normal_email(email)?;
    let found = store::users::find_by_email(&mut core.db.read_directory().await?, &email).await?;
    let here = found
        .map(|(user, _)| user)
        .filter(|user| user.tenant == tenant);
    here.ok_or_else(|| Error::not_found(format!("no user with the address `{email}`")))
}
