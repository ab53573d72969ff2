//! Facts: recording them, and reading them as they were held.

mod assert_fact;
mod changes;
mod correct_fact;
mod end_fact;
mod entity_facts;
mod lines;
mod neighbors;
mod paths_between;
mod retract_fact;
mod shown;
pub(crate) mod sources;
mod stated;
mod timeline;

pub use assert_fact::{AssertFact, AssertedFact};
pub use changes::{ChangeInfo, Changes, ChangesSince};
pub use correct_fact::CorrectFact;
pub use end_fact::EndFact;
pub use entity_facts::{EntityFacts, FactsOfEntity};
pub use neighbors::{Neighbors, NeighborsOf};
pub use paths_between::{PathsBetween, PathsFound};
pub use retract_fact::{RetractFact, RetractedFact};
pub use timeline::{Timeline, TimelineOf};
