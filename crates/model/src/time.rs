//! The two clocks. `WorldTime`: when it was true. `RecordTime`: when we held it.

mod interval;
mod record;
mod world;

pub use interval::{Interval, OPEN_END, OPEN_START};
pub use record::{NotARecordTime, RecordTime};
pub use world::{NotAWorldTime, Precision, WorldTime};
