use kernel::{Base, Cx, Method, Operation, Reply, Spec};
use model::{RecordTime, Result, Role, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::bases;

/// List the members of a base, by address.
#[derive(Deserialize, JsonSchema)]
pub struct ListMembers {}

/// The members of a base.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Members {
    /// The members, by address.
    pub members: Vec<Member>,
}

/// A member of a base.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Member {
    /// The person.
    pub user_id: UserId,
    /// Their address.
    pub email: String,
    /// What they may do.
    pub role: Role,
    /// Since when.
    pub granted_at: RecordTime,
}

impl Reply for Members {
    fn text(&self) -> String {
        self.members
            .iter()
            .map(|member| format!("{}  {}\n", member.email, member.role))
            .collect()
    }
}

impl Operation for ListMembers {
    type Target = Base;
    type Output = Members;
    const SPEC: Spec = Spec::read("list_members", "List members")
        .least(Role::Admin)
        .route(Method::Get, "/kbs/{kb_id}/members")
        .cli("base members", &[]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<Members> {
        let rows = bases::members(&mut cx.read().await?, cx.target.id()).await?;
        let members = rows.into_iter().map(|row| Member {
            user_id: row.user,
            email: row.email,
            role: row.role,
            granted_at: row.granted_at,
        });
        Ok(Members {
            members: members.collect(),
        })
    }
}
