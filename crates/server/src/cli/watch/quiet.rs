//! When something that changed has come to rest: editors write in steps, copies take their time.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::{Duration, Instant};

/// Changes that belong together (both names of a move) come within this time.
const TOGETHER: Duration = Duration::from_millis(100);
/// A file that somebody keeps open is taken all the same after so many times the rest.
const OPEN_TIMES: u32 = 10;

/// Paths that changed, each until it has been at rest for a while.
#[derive(Debug)]
pub struct Quiet {
    rest: Duration,
    changed: BTreeMap<String, Instant>,
    /// Files that were written to and not closed since.
    open: HashSet<String>,
}

impl Quiet {
    /// Nothing has changed; what does is at rest after `rest`.
    pub fn new(rest: Duration) -> Self {
        Self {
            rest,
            changed: BTreeMap::new(),
            open: HashSet::new(),
        }
    }

    /// A path changed.
    pub fn changed(&mut self, path: &str, at: Instant) {
        self.changed.insert(path.to_owned(), at);
    }

    /// A path is worth a look, if nothing is known of it; changes put that off as ever.
    pub fn hint(&mut self, path: &str, at: Instant) {
        self.changed.entry(path.to_owned()).or_insert(at);
    }

    /// A file was written to, and its writer may go on.
    pub fn written(&mut self, path: &str, at: Instant) {
        self.changed(path, at);
        self.open.insert(path.to_owned());
    }

    /// The file's writer has closed it.
    pub fn closed(&mut self, path: &str, at: Instant) {
        self.changed(path, at);
        self.open.remove(path);
    }

    fn due_at(&self, path: &str, changed: Instant) -> Instant {
        let times = if self.open.contains(path) {
            OPEN_TIMES
        } else {
            1
        };
        changed + self.rest * times
    }

    /// When the next path is at rest, with time for what belongs to it.
    pub fn next(&self) -> Option<Instant> {
        let due = self.changed.iter().map(|(path, at)| self.due_at(path, *at));
        due.min().map(|due| due + TOGETHER)
    }

    /// Takes the paths that are at rest.
    pub fn take(&mut self, now: Instant) -> BTreeSet<String> {
        let at_rest: BTreeSet<String> = self
            .changed
            .iter()
            .filter(|(path, at)| self.due_at(path, **at) <= now)
            .map(|(path, _)| path.clone())
            .collect();
        for path in &at_rest {
            self.changed.remove(path);
            self.open.remove(path);
        }
        at_rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: Duration = Duration::from_secs(1);

    fn after(start: Instant, millis: u64) -> Instant {
        start + Duration::from_millis(millis)
    }

    fn taken(quiet: &mut Quiet, at: Instant) -> Vec<String> {
        quiet.take(at).into_iter().collect()
    }

    #[test]
    fn a_path_is_taken_once_when_it_has_been_at_rest() {
        let (start, mut quiet) = (Instant::now(), Quiet::new(REST));
        quiet.changed("a", start);
        quiet.changed("a", after(start, 900));

        assert!(taken(&mut quiet, after(start, 1800)).is_empty());
        assert_eq!(taken(&mut quiet, after(start, 1900)), ["a"]);
        assert!(taken(&mut quiet, after(start, 9000)).is_empty());
    }

    #[test]
    fn both_names_of_a_move_are_taken_together() {
        let (start, mut quiet) = (Instant::now(), Quiet::new(REST));
        quiet.changed("a", start);
        quiet.changed("b", after(start, 5));

        let due = quiet.next().unwrap();
        assert_eq!(taken(&mut quiet, due), ["a", "b"]);
        assert_eq!(quiet.next(), None);
    }

    #[test]
    fn a_file_that_is_being_written_is_waited_for_until_it_is_closed() {
        let (start, mut quiet) = (Instant::now(), Quiet::new(REST));
        quiet.written("a", start);

        assert!(taken(&mut quiet, after(start, 5000)).is_empty());
        quiet.closed("a", after(start, 5000));
        assert_eq!(taken(&mut quiet, after(start, 6000)), ["a"]);
    }

    #[test]
    fn a_file_that_is_never_closed_is_taken_in_the_end() {
        let (start, mut quiet) = (Instant::now(), Quiet::new(REST));
        quiet.written("log", start);

        assert_eq!(taken(&mut quiet, after(start, 10_000)), ["log"]);
    }
}
