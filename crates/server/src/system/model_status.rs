use std::fmt::Write as _;

use kernel::{Cx, Method, Operation, Reply, Spec, Tenant};
use knowledge::models::{self, BaseReport};
use model::{KbId, Result};
use providers::embed::{LOCAL, NONE};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The embedding models: which are known, which one is wanted, and how far each base is.
///
/// A base is searched with the vectors of one model. When another one is wanted, its vectors are
/// made in the background; the base is switched when every passage has one.
#[derive(Deserialize, JsonSchema)]
pub struct ModelStatus {}

/// The state of the embedding models.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelState {
    /// Name of the model to use; `none` if search is to go by words only.
    pub wanted: String,
    /// Name of the model that `quipu models rollback` returns to; null if there is none.
    pub before: Option<String>,
    /// That model with its revision and prefixes; null if search goes by words only.
    pub model: Option<String>,
    /// The local model in a sentence: whether it is installed.
    pub installed: String,
    /// The models that can be named.
    pub models: Vec<ModelInfo>,
    /// The bases of all organisations.
    pub bases: Vec<BaseState>,
}

/// A model that can be named.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ModelInfo {
    /// Its name.
    pub name: String,
    /// Everything its vectors depend on: model, revision, prefixes; null if it cannot be used.
    pub model: Option<String>,
    /// What is wrong with it and how that is mended; null if nothing is known to be.
    pub trouble: Option<String>,
}

/// How far a base is.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct BaseState {
    /// The base.
    pub kb_id: KbId,
    /// Its slug.
    pub slug: String,
    /// The model whose vectors it is searched with; null for words only.
    pub serving: Option<String>,
    /// Whether questions can be read by that model here; if not, words alone decide.
    pub answers: bool,
    /// The model that it was searched with before, whose vectors are kept.
    pub previous: Option<String>,
    /// The model that is to take its place when every passage has a vector.
    pub building: Option<String>,
    /// Why no more vectors are made at the moment; null if nothing is in the way.
    pub waits_for: Option<String>,
    /// Passages of all versions.
    pub passages: u64,
    /// Vectors of each model.
    pub coverage: Vec<Coverage>,
}

/// How many passages of a base have a vector of a model.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Coverage {
    /// The model.
    pub model: String,
    /// Passages with a vector of it.
    pub vectors: u64,
    /// The share of all passages, from 0 to 1; 1 where there are none.
    pub share: f64,
}

impl From<BaseReport> for BaseState {
    fn from(report: BaseReport) -> Self {
        let passages = report.passages;
        let coverage = report.vectors.into_iter().map(|(model, vectors)| Coverage {
            model,
            vectors,
            share: share(vectors, passages),
        });
        Self {
            kb_id: report.kb,
            slug: report.slug,
            serving: report.serving,
            answers: report.can_ask,
            previous: report.previous,
            building: report.building,
            waits_for: report.waits_for,
            passages,
            coverage: coverage.collect(),
        }
    }
}

/// The share of passages with a vector.
pub(crate) fn share(vectors: u64, passages: u64) -> f64 {
    if passages == 0 {
        return 1.0;
    }
    vectors as f64 / passages as f64
}

impl Reply for ModelState {
    fn text(&self) -> String {
        let mut text = format!("wanted   {}", self.wanted);
        if let Some(before) = &self.before {
            let _ = write!(text, "  (before: {before})");
        }
        let _ = writeln!(text, "\nlocal    {}\n", self.installed);
        for known in &self.models {
            let model = known.model.as_deref().unwrap_or("cannot be used");
            let _ = write!(text, "model    {}  {model}", known.name);
            if let Some(trouble) = &known.trouble {
                let _ = write!(text, "\n         {trouble}");
            }
            text.push('\n');
        }
        for base in &self.bases {
            let serving = base.serving.as_deref().unwrap_or("words only");
            let _ = write!(text, "\nbase     {}  searched with {serving}", base.slug);
            if !base.answers {
                text.push_str("\n         that model reads no question here: words alone decide");
            }
            for covered in &base.coverage {
                let Coverage {
                    model,
                    vectors,
                    share,
                } = covered;
                let (passages, percent) = (base.passages, (share * 100.0).floor());
                let mark = match &base.building {
                    Some(building) if building == model => "  being made",
                    _ => "",
                };
                let _ = write!(
                    text,
                    "\n         {percent:3}%  {vectors} of {passages}  {model}{mark}"
                );
            }
            if let Some(why) = &base.waits_for {
                let _ = write!(text, "\n         waits: {why}");
            }
            text.push('\n');
        }
        text
    }
}

/// The state as it is now.
pub(super) async fn state(cx: &Cx<'_, Tenant>) -> Result<ModelState> {
    let report = models::report(cx.core()).await?;
    let known = cx
        .embedders
        .all()
        .into_iter()
        .map(|known| match known.embedder {
            Ok(embedder) => ModelInfo {
                name: known.name,
                model: Some(embedder.model_tag().to_owned()),
                trouble: embedder.fault(),
            },
            Err(why) => ModelInfo {
                name: known.name,
                model: None,
                trouble: Some(why),
            },
        });
    let mut known: Vec<ModelInfo> = known.collect();
    if report.wanted != NONE && !known.iter().any(|info| info.name == report.wanted) {
        known.push(no_more(&report.wanted));
    }
    Ok(ModelState {
        model: cx.embedders.tag_of(&report.wanted),
        installed: providers::models::status(&cx.models).sentence(),
        wanted: report.wanted,
        before: report.before,
        models: known,
        bases: report.bases.into_iter().map(BaseState::from).collect(),
    })
}

/// A model that was chosen and is in no settings any more.
fn no_more(name: &str) -> ModelInfo {
    let trouble = format!(
        "the settings describe no model `{name}` any more; put it back, or choose another, such as `quipu models use {LOCAL}`"
    );
    ModelInfo {
        name: name.to_owned(),
        model: None,
        trouble: Some(trouble),
    }
}

impl Operation for ModelStatus {
    type Target = Tenant;
    type Output = ModelState;
    const SPEC: Spec = Spec::read("model_status", "The embedding models")
        .system_admin()
        .route(Method::Get, "/models")
        .cli("models status", &[]);

    async fn run(self, cx: &Cx<'_, Tenant>) -> Result<ModelState> {
        state(cx).await
    }
}
