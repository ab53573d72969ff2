use kernel::{Cx, Method, Operation, Spec, Tenant};
use knowledge::models;
use model::Result;
use schemars::JsonSchema;
use serde::Deserialize;

use super::model_status::{ModelState, state};

/// Return to the embedding model that was used before.
///
/// Every base that was switched away from it is searched with its vectors at once; those of
/// passages that came since are made in the background. Doing it twice returns to where it began.
#[derive(Deserialize, JsonSchema)]
pub struct RollBackModel {}

impl Operation for RollBackModel {
    type Target = Tenant;
    type Output = ModelState;
    const SPEC: Spec = Spec::write("roll_back_model", "Return to the embedding model before")
        .system_admin()
        .route(Method::Post, "/models/rollback")
        .cli("models rollback", &[]);

    async fn run(self, cx: &Cx<'_, Tenant>) -> Result<ModelState> {
        models::roll_back(cx.core()).await?;
        state(cx).await
    }
}
