//! The best rows of one tantivy index, with the filter inside.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::{Mutex, PoisonError};

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::Column;
use tantivy::query::Weight;
use tantivy::{DocId, Score, SegmentOrdinal, SegmentReader};

use super::class::ORDINAL;

/// A row and its BM25 score; the greater one is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scored {
    pub(super) score: Score,
    pub(super) ordinal: u32,
}

impl Eq for Scored {}

impl Ord for Scored {
    fn cmp(&self, other: &Self) -> Ordering {
        // On equal scores the older row is better, whatever segment it lies in.
        self.score
            .total_cmp(&other.score)
            .then_with(|| other.ordinal.cmp(&self.ordinal))
    }
}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Collects the best `depth` rows for which `keep` is true, over all that it is given to.
///
/// The filter is asked before a row enters the list, and only about rows that would enter it, so
/// that blocks which cannot reach the list are still skipped: those of later segments too, as they
/// are held against what was found in earlier ones.
pub(super) struct Best<F> {
    depth: usize,
    keep: F,
    /// The worst on top.
    kept: Mutex<BinaryHeap<Reverse<Scored>>>,
}

impl<F> Best<F> {
    pub(super) fn new(depth: usize, keep: F) -> Self {
        Self {
            depth,
            keep,
            kept: Mutex::new(BinaryHeap::with_capacity(depth + 1)),
        }
    }
}

impl<F: Fn(u32) -> bool + Send + Sync> Collector for Best<F> {
    /// What the collector holds at the end.
    type Fruit = Vec<Scored>;
    type Child = NoChild;

    fn for_segment(&self, _: SegmentOrdinal, _: &SegmentReader) -> tantivy::Result<NoChild> {
        Ok(NoChild)
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn collect_segment(
        &self,
        weight: &dyn Weight,
        _: SegmentOrdinal,
        reader: &SegmentReader,
    ) -> tantivy::Result<Vec<Scored>> {
        let ordinals: Column<u64> = reader.fast_fields().u64(ORDINAL)?;
        let mut best = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // Just below the worst: an equal score may still belong to an older row.
        let floor_of = |best: &BinaryHeap<Reverse<Scored>>| match best.peek() {
            Some(worst) if best.len() >= self.depth => worst.0.score.next_down(),
            _ => Score::MIN,
        };
        let mut floor = floor_of(&best);
        weight.for_each_pruning(floor, reader, &mut |doc: DocId, score: Score| {
            if let Some(ordinal) = ordinals.first(doc) {
                let found = Reverse(Scored {
                    score,
                    ordinal: ordinal as u32,
                });
                let full = best.len() >= self.depth;
                let enters = !full || best.peek().is_some_and(|worst| found.0 > worst.0);
                if enters
                    && reader
                        .alive_bitset()
                        .is_none_or(|alive| alive.is_alive(doc))
                    && (self.keep)(found.0.ordinal)
                {
                    best.push(found);
                    if full {
                        best.pop();
                    }
                    floor = floor_of(&best);
                }
            }
            floor
        })?;
        Ok(Vec::new())
    }

    fn merge_fruits(&self, _: Vec<Vec<Scored>>) -> tantivy::Result<Vec<Scored>> {
        let mut best = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(best.drain().map(|found| found.0).collect())
    }
}

/// Never used: [`Best`] walks a segment by itself.
pub(super) struct NoChild;

impl SegmentCollector for NoChild {
    type Fruit = Vec<Scored>;

    fn collect(&mut self, _: DocId, _: Score) {}

    fn harvest(self) -> Vec<Scored> {
        Vec::new()
    }
}
