use kernel::{Base, Cx, Method, Operation, Spec};
use model::{Code, Error, Result, Role};
use schemars::JsonSchema;
use serde::Deserialize;
use store::bases;

use super::list_members::Member;
use crate::users::normal_email;

/// Take a person's membership of a base away, with the next call.
#[derive(Deserialize, JsonSchema)]
pub struct RemoveMember {
    /// Their e-mail address.
    email: String,
}

impl Operation for RemoveMember {
    type Target = Base;
    type Output = Member;
    const SPEC: Spec = Spec::destroy("remove_member", "Remove a member")
        .least(Role::Admin)
        .route(Method::Delete, "/kbs/{kb_id}/members/{email}")
        .cli("base revoke", &["email"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<Member> {
        let email = normal_email(&self.email)?;
        let mut tx = cx.write().await?;
        let members = bases::members(&mut tx, cx.target.id()).await?;
        let member = members.into_iter().find(|member| member.email == email);
        let member = member
            .ok_or_else(|| Error::not_found(format!("`{email}` is no member of this base")))?;
        if member.role == Role::Owner && cx.target.role() < Role::Owner {
            return Err(Error::new(
                Code::Forbidden,
                "only an owner takes an owner's membership away",
            ));
        }
        super::keep_an_owner(&mut tx, cx.target.id(), member.user, cx.now()).await?;
        cx.about("user", member.user);
        bases::remove_member(&mut tx, cx.target.id(), member.user).await?;
        let (user_id, role, granted_at) = (member.user, member.role, member.granted_at);
        tx.commit(Member {
            user_id,
            email,
            role,
            granted_at,
        })
        .await
    }
}
