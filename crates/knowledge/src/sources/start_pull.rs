use kernel::{Base, Cx, Job, Method, Operation, Spec, job};
use model::{Code, Error, Result, SourceId};
use schemars::JsonSchema;
use serde::Deserialize;
use store::jobs;
use store::sources::{self, SourceKind};

use super::show_source::{PullInfo, ShownSource};
use super::{PullSource, SourceInfo, known};

/// Pull a source now instead of when it is due next. If it is being pulled already, that is the
/// pull. `show_source` tells how far it is.
#[derive(Deserialize, JsonSchema)]
pub struct StartPull {
    /// The source's id.
    source_id: SourceId,
}

impl Operation for StartPull {
    type Target = Base;
    type Output = ShownSource;
    const SPEC: Spec = Spec::write("pull_source", "Pull a source now")
        .route(Method::Post, "/kbs/{kb_id}/sources/{source_id}/pull")
        .idempotency_key()
        .cli("source pull", &["source_id"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<ShownSource> {
        cx.about("source", self.source_id);
        let kb = cx.target.id();
        let mut tx = cx.write().await?;
        let source = known(&mut tx, cx, self.source_id).await?;
        if source.kind != SourceKind::Pull {
            let sentence = format!(
                "the documents of `{}` are sent to it, so there is nothing to pull",
                source.name
            );
            return Err(Error::new(Code::Conflict, sentence));
        }
        let pull = PullSource::of(&source);
        let waits = jobs::hasten(&mut tx, PullSource::KIND, &pull.key(), cx.now()).await?;
        if !waits {
            // It runs, or is due, or was given up.
            job::enqueue(cx, &mut tx, Some(kb), &pull).await?;
        }
        let pull = Some(PullInfo::of(&mut tx, kb, &source).await?);
        let count = sources::count(&mut tx, kb, source.id).await?;
        let source = SourceInfo::of(kb, source, count)?;
        tx.commit(ShownSource { source, pull }).await
    }
}
