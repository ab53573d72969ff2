use engine::ledger;
use kernel::{Base, Cx, Method, Operation, Reply, Spec};
use model::{EntityId, RecordTime, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ontology::decision;

/// Say that two things are not the same one, however alike they look. A merge of them is refused
/// as long as this is held.
#[derive(Deserialize, JsonSchema)]
pub struct DifferentEntities {
    /// The one.
    entity_id: EntityId,
    /// The other.
    other_id: EntityId,
    /// Why, for those who read the history.
    reason: Option<String>,
}

/// Take back that two things are not the same one.
#[derive(Deserialize, JsonSchema)]
pub struct UndoDifferent {
    /// The one.
    entity_id: EntityId,
    /// The other.
    other_id: EntityId,
    /// Why, for those who read the history.
    reason: Option<String>,
}

/// Two things.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Differing {
    /// The one.
    pub entity_id: EntityId,
    /// The other.
    pub other_id: EntityId,
    /// Whether it is said now that they are different.
    pub different: bool,
    /// When it was recorded.
    pub recorded_at: RecordTime,
}

impl Reply for Differing {
    fn text(&self) -> String {
        let (one, other) = (self.entity_id, self.other_id);
        let says = if self.different {
            "are different"
        } else {
            "may be one"
        };
        format!("{one} and {other} {says}\n")
    }
}

impl Operation for DifferentEntities {
    type Target = Base;
    type Output = Differing;
    const SPEC: Spec = Spec::write("different_entities", "Say that two things are different")
        .route(Method::Post, "/kbs/{kb_id}/entities/different")
        .idempotency_key()
        .cli("entity different", &["entity_id", "other_id"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<Differing> {
        cx.about("entity", self.entity_id);
        let mut tx = cx.write().await?;
        let ids = || cx.ids.next();
        let pair = (self.entity_id, self.other_id);
        let reason = self.reason.as_deref();
        let recorded_at = ledger::set_different(&mut tx, &decision(cx, &ids), pair, reason).await?;
        tx.commit(Differing {
            entity_id: self.entity_id,
            other_id: self.other_id,
            different: true,
            recorded_at,
        })
        .await
    }
}

impl Operation for UndoDifferent {
    type Target = Base;
    type Output = Differing;
    const SPEC: Spec = Spec::write("undo_different", "Take back that two things are different")
        .route(Method::Post, "/kbs/{kb_id}/entities/different/revert")
        .idempotency_key()
        .cli("entity undo-different", &["entity_id", "other_id"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<Differing> {
        cx.about("entity", self.entity_id);
        let mut tx = cx.write().await?;
        let ids = || cx.ids.next();
        let pair = (self.entity_id, self.other_id);
        let reason = self.reason.as_deref();
        let recorded_at =
            ledger::unset_different(&mut tx, &decision(cx, &ids), pair, reason).await?;
        tx.commit(Differing {
            entity_id: self.entity_id,
            other_id: self.other_id,
            different: false,
            recorded_at,
        })
        .await
    }
}
