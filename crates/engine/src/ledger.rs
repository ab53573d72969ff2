//! Claims on two clocks: asserting, correcting, retracting and ending them, who is one with whom,
//! and reading it all as the base held it at a moment.
//!
//! Nothing recorded is changed. A correction is a claim that takes another's place, a retraction
//! closes one, a merge is a link, and for when a claim holds is read out beside it with a
//! record-time life of its own (`model::holds`).

mod assert;
mod changes;
mod holding;
mod merge;
mod names;
mod paths;
mod people;
mod read;
mod succession;
mod survey;
mod words;

use model::{EntityId, EventId, KbId, RecordTime, Result};
use store::events::{self, Decider};
use store::{Tx, bases};
use uuid::Uuid;

pub use assert::{Asserted, Assertion, Quote, assert, correct, retract};
pub use changes::{Change, ChangeKind, Window, changes};
pub use merge::{Merged, merge, set_different, unmerge, unset_different};
pub use names::{NAME_CHARS_MAX, NewEntity, add_entity, best_names, name_claims, set_kind};
pub use paths::{HOPS_MAX, PATHS_MAX, Path, Paths, Step, paths_between};
pub use people::{Known, canonical, canonicals, members};
pub use read::{EntityFacts, HeldFact, Side, contradictions, facts_of, latest};
pub use survey::{Line, Survey};
pub use words::{CONTRADICTIONS_MAX, Contradiction, Revision, revise};

/// Where a decision's ids come from and who makes it.
pub struct Decision<'a> {
    /// The base.
    pub kb: KbId,
    /// Whose right it is done with.
    pub decider: Decider,
    /// The present moment.
    pub now: RecordTime,
    /// Fresh ids.
    pub ids: &'a (dyn Fn() -> Uuid + Sync),
}

impl Decision<'_> {
    /// Takes the base's one place for a writer and the record time of what is written.
    async fn begin(&self, tx: &mut Tx) -> Result<RecordTime> {
        Ok(bases::advance_clock(tx, self.kb, self.now).await?)
    }

    /// Records what was decided.
    async fn record(
        &self,
        tx: &mut Tx,
        kind: &str,
        payload: &serde_json::Value,
        at: RecordTime,
    ) -> Result<EventId> {
        let event = EventId::new((self.ids)());
        let payload = payload.to_string();
        events::insert(tx, self.kb, (event, kind), self.decider, &payload, at).await?;
        Ok(event)
    }

    fn entity(&self) -> EntityId {
        EntityId::new((self.ids)())
    }
}
