use std::time::Duration;

use kernel::{Cx, Method, Operation, Reply, Spec, Tenant};
use knowledge::models::BaseReport;
use model::Result;
use providers::embed::{LOCAL, NONE};
use providers::models::{self, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::jobs::JobState;
use store::{audit, jobs, tenants};

/// Look the deployment over: the database, the chain of the activity log, the store of the
/// documents' bytes, the queue, the models.
///
/// Each finding says in a sentence what is right or wrong; `healthy` is false if one is wrong.
#[derive(Deserialize, JsonSchema)]
pub struct Doctor {}

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Findings {
    /// Whether nothing is wrong.
    pub healthy: bool,
    /// The findings.
    pub findings: Vec<Finding>,
}

/// One finding.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Finding {
    /// What was looked at.
    pub about: String,
    /// Whether it is as it should be.
    pub right: bool,
    /// What is right or wrong.
    pub sentence: String,
}

impl Reply for Findings {
    fn text(&self) -> String {
        let lines = self.findings.iter().map(|finding| {
            let mark = if finding.right { "ok   " } else { "WRONG" };
            format!("{mark}  {:9}  {}\n", finding.about, finding.sentence)
        });
        lines.collect()
    }
}

fn finding(about: &str, right: bool, sentence: impl Into<String>) -> Finding {
    Finding {
        about: about.to_owned(),
        right,
        sentence: sentence.into(),
    }
}

impl Operation for Doctor {
    type Target = Tenant;
    type Output = Findings;
    const SPEC: Spec = Spec::read("doctor", "Look the deployment over")
        .system_admin()
        .deadline(Duration::from_mins(5))
        .route(Method::Get, "/doctor")
        .cli("doctor", &[]);

    async fn run(self, cx: &Cx<'_, Tenant>) -> Result<Findings> {
        let mut findings = vec![database(cx).await?];
        findings.extend(activity(cx).await?);
        findings.push(blobs(cx).await);
        findings.push(queue(cx).await?);
        findings.extend(model_findings(cx).await?);
        Ok(Findings {
            healthy: findings.iter().all(|one| one.right),
            findings,
        })
    }
}

async fn database(cx: &Cx<'_, Tenant>) -> Result<Finding> {
    let faults = cx.db.check().await?;
    let engine = cx.db.engine_name();
    Ok(match faults.as_slice() {
        [] => finding(
            "database",
            true,
            format!("{engine} finds no fault in its files"),
        ),
        faults => finding(
            "database",
            false,
            format!("{engine} finds: {}", faults.join("; ")),
        ),
    })
}

async fn blobs(cx: &Cx<'_, Tenant>) -> Finding {
    let name = cx.caller().request.to_string();
    match cx.blobs.probe(&name).await {
        Ok(()) => {
            let sentence = format!("{} can be written and read", cx.blobs.place());
            finding("blobs", true, sentence)
        }
        Err(why) => finding("blobs", false, why),
    }
}

async fn activity(cx: &Cx<'_, Tenant>) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for tenant in tenants::list(&mut cx.db.read_directory().await?).await? {
        let chain = audit::verify(&mut cx.db.read(tenant.id).await?).await?;
        let sealed = format!(
            "{} rows of `{}` are sealed, {} wait for their seal",
            chain.sealed, tenant.slug, chain.unsealed
        );
        findings.push(match chain.broken {
            None => finding("activity", true, format!("the chain holds: {sealed}")),
            Some((number, why)) => finding(
                "activity",
                false,
                format!("the chain breaks at row {number}: {why}; {sealed}"),
            ),
        });
    }
    Ok(findings)
}

async fn queue(cx: &Cx<'_, Tenant>) -> Result<Finding> {
    let counts = jobs::counts(&mut cx.db.read_directory().await?).await?;
    let in_state = |state: JobState| -> u64 {
        counts
            .iter()
            .filter(|count| count.state == state)
            .map(|count| count.jobs)
            .sum()
    };
    let (waiting, running, failed) = (
        in_state(JobState::Waiting),
        in_state(JobState::Running),
        in_state(JobState::Failed),
    );
    Ok(finding(
        "queue",
        true,
        format!("{waiting} jobs wait, {running} run, {failed} have failed"),
    ))
}

/// The wanted model, and the bases that are searched otherwise than is wanted.
async fn model_findings(cx: &Cx<'_, Tenant>) -> Result<Vec<Finding>> {
    let report = knowledge::models::report(cx.core()).await?;
    let mut findings = vec![wanted(cx, &report.wanted).await];
    findings.extend(report.bases.iter().filter_map(base));
    Ok(findings)
}

async fn wanted(cx: &Cx<'_, Tenant>, name: &str) -> Finding {
    if name == NONE {
        return finding("model", true, "none is wanted; search goes by words only");
    }
    let Some(known) = cx.embedders.by_name(name) else {
        let sentence = format!(
            "`{name}` is wanted, and the settings describe no such model any more; put it back, or choose another with `quipu models use`"
        );
        return finding("model", false, sentence);
    };
    if name == LOCAL {
        let folder = cx.models.clone();
        let verified = tokio::task::spawn_blocking(move || models::verify(&folder)).await;
        match verified {
            Ok(Status::Absent) => return finding("model", true, Status::Absent.sentence()),
            Ok(Status::Damaged(why)) => return finding("model", false, why),
            Ok(Status::Installed(_)) | Err(_) => {}
        }
    }
    match known.embedder {
        Err(why) => finding("model", false, format!("`{name}` cannot be used: {why}")),
        Ok(embedder) => match embedder.embed_passages(&["quipu"]).await {
            Ok(_) => {
                let sentence = format!("`{name}` answers ({})", embedder.model_tag());
                finding("model", true, sentence)
            }
            Err(error) => {
                let sentence = format!(
                    "`{name}` does not answer: {error}; search goes by words, and vectors are made when it answers again"
                );
                finding("model", false, sentence)
            }
        },
    }
}

/// A base whose vectors are not those of the wanted model, or not all there.
fn base(base: &BaseReport) -> Option<Finding> {
    let slug = &base.slug;
    if !base.can_ask {
        let serving = base.serving.as_deref().unwrap_or_default();
        let sentence = format!(
            "base `{slug}` has vectors of {serving}, which reads no question here: it is searched by words until another model's vectors are all made, or that model is back"
        );
        return Some(finding("vectors", false, sentence));
    }
    let tag = base.building.as_ref().or(base.serving.as_ref())?;
    let (_, vectors) = base.vectors.iter().find(|(known, _)| known == tag)?;
    let passages = base.passages;
    if base.building.is_none() && *vectors == passages {
        return None;
    }
    let what = match &base.building {
        Some(_) => "is searched with the model before while",
        None => "is searched with what is there while",
    };
    let why = base.waits_for.as_ref();
    let waits = why.map(|why| format!("; that waits: {why}"));
    let sentence = format!(
        "base `{slug}` {what} vectors of {tag} are made: {vectors} of {passages}{}",
        waits.unwrap_or_default()
    );
    Some(finding("vectors", why.is_none(), sentence))
}
