use kernel::{Cx, Method, Operation, Reply, Spec, Tenant};
use model::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which embedding model is installed, and whether it is in use.
#[derive(Deserialize, JsonSchema)]
pub struct ModelStatus {}

/// The state of the embedding model.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelState {
    /// The model in use, with its revision; null if search goes by words only.
    pub model: Option<String>,
    /// What is installed, in a sentence.
    pub installed: String,
}

impl Reply for ModelState {
    fn text(&self) -> String {
        let in_use = self
            .model
            .as_deref()
            .unwrap_or("none: search goes by words only");
        format!("{}\nin use: {in_use}\n", self.installed)
    }
}

/// The state as it is now.
pub(super) async fn state(cx: &Cx<'_, Tenant>) -> ModelState {
    let model = cx
        .embedder()
        .await
        .map(|embedder| embedder.model_tag().to_owned());
    ModelState {
        model,
        installed: providers::models::status(&cx.models).sentence(),
    }
}

impl Operation for ModelStatus {
    type Target = Tenant;
    type Output = ModelState;
    const SPEC: Spec = Spec::read("model_status", "The embedding model")
        .system_admin()
        .route(Method::Get, "/models")
        .cli("models status", &[]);

    async fn run(self, cx: &Cx<'_, Tenant>) -> Result<ModelState> {
        Ok(state(cx).await)
    }
}
