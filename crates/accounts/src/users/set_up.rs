use kernel::{Cx, Method, Operation, Public, Spec};
use model::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use store::users;

use super::{UserInfo, normal_email};
use crate::password;
use crate::secret::{Password, SET_UP_PREFIX, Secret};

/// Finish the set-up: the first administrator chooses an address and a password.
///
/// The secret stands in the link that `quipu serve` prints on an empty data folder. It works
/// once, for 15 minutes.
#[derive(Deserialize, JsonSchema)]
pub struct SetUp {
    /// The link's secret.
    secret: String,
    /// E-mail address of the administrator.
    email: String,
    /// The password, 12 to 256 characters.
    #[schemars(with = "String", extend("format" = "password"))]
    password: secrecy::SecretString,
}

impl Operation for SetUp {
    type Target = Public;
    type Output = UserInfo;
    const SPEC: Spec = Spec::write("set_up", "Finish the set-up").route(Method::Post, "/setup");

    async fn run(self, cx: &Cx<'_, Public>) -> Result<UserInfo> {
        let refused = || {
            Error::not_found(
                "this set-up link is unknown, used or older than 15 minutes; the next start of the server prints a new one",
            )
        };
        let email = normal_email(&self.email)?;
        let password = Password::chosen(self.password)?;
        let secret = Secret::read(SET_UP_PREFIX, self.secret.trim()).ok_or_else(refused)?;
        let mut directory = cx.db.read_directory().await?;
        let link = users::find_setup_link(&mut directory, &secret.hash(), cx.now()).await?;
        let taken = users::find_by_email(&mut directory, &email).await?;
        drop(directory);
        let (tenant, user) = link.ok_or_else(refused)?;
        let known = users::find(&mut cx.db.read(tenant).await?, user).await?;
        cx.recognise(tenant, user, &known.ok_or_else(refused)?.email);
        cx.about("user", user);
        if taken.is_some_and(|(taken, _)| taken.id != user) {
            return Err(Error::invalid(format!(
                "`email` must be free, and `{email}` has an account"
            )));
        }
        let hash = password::hash(password, &cx.chance).await?;
        // The link is used up first: of two who follow it at once, one sets the password.
        let mut directory = cx.db.write_directory().await?;
        let ours = users::use_setup_link(&mut directory, &secret.hash(), cx.now()).await?;
        directory.commit().await?;
        ours.ok_or_else(refused)?;
        let mut tx = cx.write_tenant(tenant).await?;
        users::set_email(&mut tx, user, &email).await?;
        users::set_password(&mut tx, user, &hash).await?;
        let user = users::find(&mut tx, user).await?.ok_or_else(refused)?;
        tx.commit(user.into()).await
    }
}
