use kernel::{Cx, Method, Operation, Spec, Tenant};
use model::{Code, Error, Result, UserId};
use schemars::JsonSchema;
use serde::Deserialize;
use store::StoreError;
use store::users::{self, User};

use super::{UserInfo, normal_email};
use crate::password;
use crate::secret::Password;

/// Add a person to the organisation.
///
/// Without a password they cannot sign in themselves, but tokens can be made for them.
#[derive(Deserialize, JsonSchema)]
pub struct AddUser {
    /// Their e-mail address; one account each.
    email: String,
    /// Their name; the part of the address before `@` if absent.
    name: Option<String>,
    /// A first password, 12 to 256 characters.
    #[schemars(with = "Option<String>", extend("format" = "password"))]
    password: Option<secrecy::SecretString>,
    /// Whether they administer the whole deployment. No if absent.
    #[serde(default)]
    admin: bool,
}

impl Operation for AddUser {
    type Target = Tenant;
    type Output = UserInfo;
    const SPEC: Spec = Spec::write("add_user", "Add a person")
        .system_admin()
        .route(Method::Post, "/users")
        .cli("user add", &["email"]);

    async fn run(self, cx: &Cx<'_, Tenant>) -> Result<UserInfo> {
        let email = normal_email(&self.email)?;
        let password_hash = match self.password {
            Some(password) => Some(password::hash(Password::chosen(password)?, &cx.chance).await?),
            None => None,
        };
        let before_at = email.split('@').next().unwrap_or_default().to_owned();
        let mut tx = cx.write().await?;
        let user = User {
            id: UserId::new(cx.ids.next()),
            tenant: cx.target.id(),
            name: crate::bases::checked_name(&self.name.unwrap_or(before_at))?,
            email,
            system_admin: self.admin,
            disabled_at: None,
            created_at: cx.now(),
        };
        cx.about("user", user.id);
        match users::insert(&mut tx, &user, password_hash.as_deref()).await {
            Err(StoreError::Unique(_)) => {
                let sentence = format!("`{}` has an account already", user.email);
                return Err(Error::new(Code::Conflict, sentence));
            }
            inserted => inserted?,
        }
        tx.commit(user.into()).await
    }
}
