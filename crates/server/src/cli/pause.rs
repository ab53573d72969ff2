//! How long to wait before asking again.

use std::time::Duration;

/// Twice as long each time, from a tenth of a second to two. Every question is a row of the
/// activity, so whoever waits long asks seldom.
pub struct Pause(Duration);

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(2);

impl Pause {
    /// The first one is short.
    pub const fn new() -> Self {
        Self(FIRST)
    }

    /// Something happened: the next one is short again.
    pub const fn reset(&mut self) {
        self.0 = FIRST;
    }

    /// Waits.
    pub async fn wait(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = LONGEST.min(self.0 * 2);
    }
}
