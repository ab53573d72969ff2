//! Changing what is true of a relation.

use std::collections::BTreeSet;

use model::ontology::RelationType;
use model::{EntityId, FactId, Result};
use serde_json::json;
use store::{Tx, facts, ontology};

use super::{Decision, holding, read};

/// Changes a relation, and reads out again for when its claims hold. Pairs of claims that then
/// say different things of one thing for one moment.
pub async fn change_relation(
    tx: &mut Tx,
    decision: &Decision<'_>,
    changed: &RelationType,
) -> Result<Vec<(FactId, FactId)>> {
    let at = decision.begin(tx).await?;
    let kb = decision.kb;
    ontology::update_relation(tx, kb, changed).await?;
    let held = facts::of_predicate(tx, kb, changed.id).await?;
    holding::refresh(tx, kb, Some(changed), &held, at).await?;
    let payload = json!({ "relation": changed.id, "temporal": changed.temporality, "axioms": changed.axioms });
    decision.record(tx, "change_relation", &payload, at).await?;
    if !changed.axioms.functional {
        return Ok(Vec::new());
    }
    let subjects: BTreeSet<EntityId> = held.iter().map(|fact| fact.subject).collect();
    let mut pairs = BTreeSet::new();
    for subject in subjects {
        pairs.extend(read::contradictions(tx, kb, changed, subject, at).await?);
    }
    Ok(pairs.into_iter().collect())
}
