//! Who stands for whom at a moment.

use std::collections::{BTreeSet, HashMap};

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

/// Above this many things it is looked up who was folded at all, and not each of them.
const LOOKED_UP_MAX: usize = 2_000;

/// For those of these entities that another stood for at a moment: that other, and perhaps for
/// more entities than these.
pub async fn folded(
    tx: &mut Tx,
    kb: KbId,
    entities: impl Iterator<Item = EntityId> + Clone,
    as_of: RecordTime,
) -> Result<HashMap<EntityId, EntityId>> {
    let folded = if LOOKED_UP_MAX < entities.clone().count() {
        identity::folded(tx, kb, as_of).await?
    } else {
        let few: BTreeSet<EntityId> = entities.collect();
        let few: Vec<EntityId> = few.into_iter().collect();
        identity::canonical_of(tx, kb, &few, as_of).await?
    };
    Ok(folded.into_iter().collect())
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
