use kernel::{Cx, Method, Operation, Reply, Spec, Tenant};
use knowledge::models;
use model::{KbId, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Remove the vectors of models that no search asks for.
///
/// Those of the wanted model, and of the one that a base is still searched with, stay. After this
/// `models rollback` has to make the vectors anew. It goes on in the background.
#[derive(Deserialize, JsonSchema)]
pub struct PruneModels {}

/// What is being removed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Pruned {
    /// By base and model.
    pub pruned: Vec<PrunedModel>,
}

/// A model's vectors that are being removed from a base.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct PrunedModel {
    /// The base.
    pub kb_id: KbId,
    /// The model.
    pub model: String,
    /// How many vectors.
    pub vectors: u64,
}

impl Reply for Pruned {
    fn text(&self) -> String {
        if self.pruned.is_empty() {
            return "nothing to remove: every vector is of a model in use\n".to_owned();
        }
        let lines = self.pruned.iter().map(|one| {
            let PrunedModel {
                kb_id,
                model,
                vectors,
            } = one;
            format!("{kb_id}  {vectors} vectors of {model}\n")
        });
        lines.collect()
    }
}

impl Operation for PruneModels {
    type Target = Tenant;
    type Output = Pruned;
    const SPEC: Spec = Spec::destroy("prune_models", "Remove vectors of models not in use")
        .system_admin()
        .route(Method::Post, "/models/prune")
        .cli("models prune", &[]);

    async fn run(self, cx: &Cx<'_, Tenant>) -> Result<Pruned> {
        let pruned = models::prune(cx.core()).await?.into_iter();
        let pruned = pruned.map(|(kb_id, model, vectors)| PrunedModel {
            kb_id,
            model,
            vectors,
        });
        Ok(Pruned {
            pruned: pruned.collect(),
        })
    }
}
