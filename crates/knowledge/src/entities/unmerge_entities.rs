use engine::ledger;
use kernel::{Base, Cx, Method, Operation, Spec};
use model::{EventId, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use super::MergedEntities;
use crate::ontology::decision;

/// Take back that two things are one. Merges may be taken back at any later time and in any order;
/// what was merged into either since stays with it, and reading `as_of` before shows what was
/// held before.
#[derive(Deserialize, JsonSchema)]
pub struct UnmergeEntities {
    /// The decision, as `merge_entities` answered it.
    merge_id: EventId,
    /// Why, for those who read the history.
    reason: Option<String>,
}

impl Operation for UnmergeEntities {
    type Target = Base;
    type Output = MergedEntities;
    const SPEC: Spec = Spec::write("unmerge_entities", "Take back that two things are one")
        .route(Method::Post, "/kbs/{kb_id}/merges/{merge_id}/revert")
        .idempotency_key()
        .cli("entity unmerge", &["merge_id"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<MergedEntities> {
        cx.about("merge", self.merge_id);
        let mut tx = cx.write().await?;
        let ids = || cx.ids.next();
        let reason = self.reason.as_deref();
        let undone = ledger::unmerge(&mut tx, &decision(cx, &ids), self.merge_id, reason).await?;
        tx.commit(undone.into()).await
    }
}
