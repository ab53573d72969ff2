use engine::ledger;
use kernel::{Base, Cx, Method, Operation, Reply, Spec};
use model::{FactId, RecordTime, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ontology::decision;

/// Retract a fact: it should never have been held. From now on it is not read; with `as_of`
/// before this moment it is.
#[derive(Deserialize, JsonSchema)]
pub struct RetractFact {
    /// Id of the fact.
    fact_id: FactId,
    /// Why, for those who read the history.
    reason: Option<String>,
}

/// A fact that is held no more.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RetractedFact {
    /// Its id.
    pub fact_id: FactId,
    /// From when it is held no more.
    pub invalidated_at: RecordTime,
}

impl Reply for RetractedFact {
    fn text(&self) -> String {
        format!("{}  retracted\n", self.fact_id)
    }
}

impl Operation for RetractFact {
    type Target = Base;
    type Output = RetractedFact;
    const SPEC: Spec = Spec::destroy("retract_fact", "Retract a fact")
        .route(Method::Post, "/kbs/{kb_id}/facts/{fact_id}/retract")
        .idempotency_key()
        .cli("fact retract", &["fact_id"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<RetractedFact> {
        cx.about("fact", self.fact_id);
        let mut tx = cx.write().await?;
        let ids = || cx.ids.next();
        let reason = self.reason.as_deref();
        let at = ledger::retract(&mut tx, &decision(cx, &ids), self.fact_id, reason).await?;
        tx.commit(RetractedFact {
            fact_id: self.fact_id,
            invalidated_at: at,
        })
        .await
    }
}
