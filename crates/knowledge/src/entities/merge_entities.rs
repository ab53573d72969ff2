use engine::ledger;
use kernel::{Base, Cx, Method, Operation, Reply, Spec};
use model::{EntityId, EventId, RecordTime, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ontology::decision;

/// Say that two things are one. No fact is rewritten: both ids stay valid, and
/// `unmerge_entities` takes it back at any later time.
#[derive(Deserialize, JsonSchema)]
pub struct MergeEntities {
    /// The thing that stays.
    keep_id: EntityId,
    /// The thing that is the same one.
    merge_id: EntityId,
    /// Why, for those who read the history.
    reason: Option<String>,
}

/// Who is one with whom now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MergedEntities {
    /// The decision: what `unmerge_entities` takes back.
    pub merge_id: EventId,
    /// The thing that stands for both.
    pub kept_id: EntityId,
    /// The thing that it stands for, or stood for.
    pub folded_id: EntityId,
    /// When it was recorded.
    pub recorded_at: RecordTime,
}

impl From<ledger::Merged> for MergedEntities {
    fn from(merged: ledger::Merged) -> Self {
        Self {
            merge_id: merged.event,
            kept_id: merged.keep,
            folded_id: merged.fold,
            recorded_at: merged.at,
        }
    }
}

impl Reply for MergedEntities {
    fn text(&self) -> String {
        let (merge, kept, folded) = (self.merge_id, self.kept_id, self.folded_id);
        format!("{merge}  {folded} and {kept}\n")
    }
}

impl Operation for MergeEntities {
    type Target = Base;
    type Output = MergedEntities;
    const SPEC: Spec = Spec::destroy("merge_entities", "Say that two things are one")
        .route(Method::Post, "/kbs/{kb_id}/entities/merge")
        .idempotency_key()
        .cli("entity merge", &["keep_id", "merge_id"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<MergedEntities> {
        cx.about("entity", self.keep_id);
        let mut tx = cx.write().await?;
        let ids = || cx.ids.next();
        let pair = (self.keep_id, self.merge_id);
        let reason = self.reason.as_deref();
        let merged = ledger::merge(&mut tx, &decision(cx, &ids), pair, reason).await?;
        tx.commit(merged.into()).await
    }
}
