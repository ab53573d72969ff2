use kernel::{Cx, Method, Operation, Spec, Tenant};
use knowledge::models;
use model::Result;
use schemars::JsonSchema;
use serde::Deserialize;

use super::model_status::{ModelState, state};

/// Use another embedding model from now on, or none.
///
/// Search goes on with the vectors that are there while those of the new model are made in the
/// background; each base is switched when every passage has one. Nothing is thrown away: `models
/// rollback` returns at once. `none` stops at once; search then goes by words only.
#[derive(Deserialize, JsonSchema)]
pub struct UseModel {
    /// The model: `local`, `none`, `endpoint`, or a name of the settings' tables `[models.NAME]`.
    name: String,
}

impl Operation for UseModel {
    type Target = Tenant;
    type Output = ModelState;
    const SPEC: Spec = Spec::write("use_model", "Use another embedding model")
        .system_admin()
        .route(Method::Post, "/models/use")
        .cli("models use", &["name"]);

    async fn run(self, cx: &Cx<'_, Tenant>) -> Result<ModelState> {
        models::choose(cx.core(), &self.name).await?;
        state(cx).await
    }
}
