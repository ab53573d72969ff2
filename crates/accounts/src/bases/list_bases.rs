use kernel::{Account, Cx, Method, Operation, Reply, Spec};
use model::Result;
use model::right::standing;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::bases;

use super::BaseInfo;

/// List the bases that you can open, by name.
#[derive(Deserialize, JsonSchema)]
pub struct ListBases {}

/// Bases that somebody can open.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Bases {
    /// The bases, by name.
    pub kbs: Vec<BaseInfo>,
}

impl Reply for Bases {
    fn text(&self) -> String {
        if self.kbs.is_empty() {
            return "No bases. `quipu base create NAME` makes one.\n".to_owned();
        }
        self.kbs.iter().map(Reply::text).collect()
    }
}

impl Operation for ListBases {
    type Target = Account;
    type Output = Bases;
    const SPEC: Spec = Spec::read("list_bases", "List bases")
        .route(Method::Get, "/kbs")
        .cli("base list", &[]);

    async fn run(self, cx: &Cx<'_, Account>) -> Result<Bases> {
        let principal = cx.principal();
        let mut tx = cx.read().await?;
        let stands = if principal.system_admin {
            let all = bases::list(&mut tx).await?;
            all.into_iter()
                .map(|base| bases::Stand { base, role: None })
                .collect()
        } else {
            bases::visible_to(&mut tx, principal.user).await?
        };
        let seen = stands
            .into_iter()
            .filter(|stand| principal.credential.bases.cover(stand.base.id));
        let kbs = seen.filter_map(|stand| {
            let base = stand.base;
            let role = standing(principal.system_admin, stand.role, base.visibility)?;
            Some(BaseInfo {
                id: base.id,
                slug: base.slug,
                name: base.name,
                visibility: base.visibility,
                role,
                created_at: base.created_at,
            })
        });
        Ok(Bases { kbs: kbs.collect() })
    }
}
