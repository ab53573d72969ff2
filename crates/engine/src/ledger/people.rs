//! Who stands for whom at a moment.

use std::collections::HashMap;

use model::{EntityId, KbId, RecordTime, Result};
use store::{Tx, entities, identity};

/// A thing as the base knew it at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The entity that stands for it.
    pub canonical: EntityId,
    /// All entities that are one with it, that one first.
    pub members: Vec<EntityId>,
}

/// The entity that stood for another at a moment.
pub async fn canonical(
    tx: &mut Tx,
    kb: KbId,
    entity: EntityId,
    as_of: RecordTime,
) -> Result<EntityId> {
    let found = identity::canonical_of(tx, kb, &[entity], as_of).await?;
    Ok(found.first().map_or(entity, |(_, canonical)| *canonical))
}

/// For each of these entities the one that stood for it at a moment; itself for most.
pub async fn canonicals(
    tx: &mut Tx,
    kb: KbId,
    entities: &[EntityId],
    as_of: RecordTime,
) -> Result<HashMap<EntityId, EntityId>> {
    let mut all: HashMap<EntityId, EntityId> = entities.iter().map(|&id| (id, id)).collect();
    all.extend(identity::canonical_of(tx, kb, entities, as_of).await?);
    Ok(all)
}

/// The thing that an entity was at a moment; none if the base had no such entity then.
pub async fn members(
    tx: &mut Tx,
    kb: KbId,
    entity: EntityId,
    as_of: RecordTime,
) -> Result<Option<Known>> {
    if entities::known(tx, kb, &[entity], as_of).await?.is_empty() {
        return Ok(None);
    }
    let canonical = canonical(tx, kb, entity, as_of).await?;
    let mut members = vec![canonical];
    members.extend(identity::members(tx, kb, canonical, as_of).await?);
    Ok(Some(Known { canonical, members }))
}
