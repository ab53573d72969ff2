//! The two clocks. `WorldTime`: when it was true. `RecordTime`: when we held it.

mod record;
mod world;

pub use record::{NotARecordTime, RecordTime};
pub use world::{NotAWorldTime, Precision, WorldTime};
