//! The clock, ids and randomness: arguments everywhere, so that a test can fix them.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use model::RecordTime;
use uuid::Uuid;

/// What time it is.
#[derive(Debug, Clone)]
pub struct Clock(ClockKind);

#[derive(Debug, Clone)]
enum ClockKind {
    System,
    Set(Arc<AtomicI64>),
}

impl Clock {
    /// The machine's clock.
    pub const fn system() -> Self {
        Self(ClockKind::System)
    }

    /// A clock that stands still until it is moved.
    pub fn set_to(moment: RecordTime) -> Self {
        Self(ClockKind::Set(Arc::new(AtomicI64::new(moment.micros()))))
    }

    /// The present moment.
    pub fn now(&self) -> RecordTime {
        match &self.0 {
            ClockKind::System => {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "the one place that asks the machine"
                )]
                let now = std::time::SystemTime::now();
                let since = now
                    .duration_since(std::time::UNIX_EPOCH)
                    .unwrap_or_default();
                RecordTime::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
            }
            ClockKind::Set(micros) => RecordTime::from_micros(micros.load(Ordering::SeqCst)),
        }
    }

    /// Moves a set clock forward; the machine's clock moves by itself.
    pub fn advance_seconds(&self, seconds: i64) {
        if let ClockKind::Set(micros) = &self.0 {
            micros.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
        }
    }
}

/// Random bytes for secrets and ids.
#[derive(Debug, Clone)]
pub struct Chance(ChanceKind);

#[derive(Debug, Clone)]
enum ChanceKind {
    System,
    Counted(Arc<AtomicU64>),
}

impl Chance {
    /// The machine's source of randomness.
    pub const fn system() -> Self {
        Self(ChanceKind::System)
    }

    /// 1, 2, 3, … as bytes: for tests that compare whole answers.
    pub fn counted() -> Self {
        Self(ChanceKind::Counted(Arc::new(AtomicU64::new(1))))
    }

    /// Fresh bytes.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        match &self.0 {
            ChanceKind::System => {
                getrandom::fill(&mut bytes).expect("the machine has a source of randomness");
            }
            ChanceKind::Counted(next) => {
                let count = next.fetch_add(1, Ordering::SeqCst).to_le_bytes();
                for (byte, counted) in bytes.iter_mut().zip(count.into_iter().cycle()) {
                    *byte = counted;
                }
            }
        }
        bytes
    }
}

/// Makes ids: UUIDv7, so that they sort by the moment they were made.
#[derive(Debug, Clone)]
pub struct Ids {
    clock: Clock,
    chance: Chance,
}

impl Ids {
    /// Ids from this clock and chance.
    pub const fn new(clock: Clock, chance: Chance) -> Self {
        Self { clock, chance }
    }

    /// A fresh id.
    pub fn next(&self) -> Uuid {
        let millis = u64::try_from(self.clock.now().micros() / 1000).unwrap_or(0);
        uuid::Builder::from_unix_timestamp_millis(millis, &self.chance.bytes::<10>()).into_uuid()
    }
}
