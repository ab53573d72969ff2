use kernel::{Base, Cx, Method, Operation, Spec};
use model::{Error, Result, Role, Visibility};
use schemars::JsonSchema;
use serde::Deserialize;
use store::bases;

use super::BaseInfo;

/// Rename a base or change who sees it.
#[derive(Deserialize, JsonSchema)]
pub struct UpdateBase {
    /// Its new name.
    name: Option<String>,
    /// Who sees it from now on.
    visibility: Option<Visibility>,
}

impl Operation for UpdateBase {
    type Target = Base;
    type Output = BaseInfo;
    const SPEC: Spec = Spec::write("update_base", "Change a base")
        .least(Role::Admin)
        .route(Method::Patch, "/kbs/{kb_id}")
        .cli("base update", &[]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<BaseInfo> {
        let name = self
            .name
            .map(|name| super::checked_name(&name))
            .transpose()?;
        let mut tx = cx.write().await?;
        let kb = cx.target.id();
        if let Some(name) = &name {
            bases::rename(&mut tx, kb, name).await?;
        }
        if let Some(visibility) = self.visibility {
            bases::set_visibility(&mut tx, kb, visibility).await?;
        }
        let base = bases::find(&mut tx, kb)
            .await?
            .ok_or_else(|| Error::not_found("no base with that id"))?;
        let info = BaseInfo {
            id: base.id,
            slug: base.slug,
            name: base.name,
            visibility: base.visibility,
            role: cx.target.role(),
            created_at: base.created_at,
        };
        tx.commit(info).await
    }
}
