use kernel::{Base, Cx, Method, Operation, Spec};
use model::{Code, Error, Result, Role};
use schemars::JsonSchema;
use serde::Deserialize;
use store::bases;

use super::list_members::Member;

/// Make a person a member of a base, or change what they may do in it.
#[derive(Deserialize, JsonSchema)]
pub struct SetMember {
    /// Their e-mail address.
    email: String,
    /// What they may do.
    role: Role,
}

impl kernel::Reply for Member {
    fn text(&self) -> String {
        format!("{}  {}\n", self.email, self.role)
    }
}

impl Operation for SetMember {
    type Target = Base;
    type Output = Member;
    const SPEC: Spec = Spec::write("set_member", "Set a member")
        .least(Role::Admin)
        .route(Method::Put, "/kbs/{kb_id}/members/{email}")
        .cli("base grant", &["email", "role"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<Member> {
        let kb = cx.target.id();
        let user = crate::users::known(cx, cx.target.tenant(), &self.email).await?;
        if user.disabled_at.is_some() {
            let sentence = format!("the account `{}` is disabled", user.email);
            return Err(Error::new(Code::Conflict, sentence));
        }
        let mut tx = cx.write().await?;
        let before = bases::stand_of(&mut tx, kb, user.id)
            .await?
            .and_then(|stand| stand.role);
        if self.role.max(before.unwrap_or(Role::Viewer)) > cx.target.role() {
            let sentence = format!(
                "an `{}` cannot make or change an `{}`",
                cx.target.role(),
                Role::Owner
            );
            return Err(Error::new(Code::Forbidden, sentence));
        }
        let now = cx.now();
        if self.role < Role::Owner {
            super::keep_an_owner(&mut tx, kb, user.id, now).await?;
        }
        cx.about("user", user.id);
        bases::set_member(&mut tx, kb, user.id, self.role, now).await?;
        let (user_id, email) = (user.id, user.email);
        tx.commit(Member {
            user_id,
            email,
            role: self.role,
            granted_at: now,
        })
        .await
    }
}
