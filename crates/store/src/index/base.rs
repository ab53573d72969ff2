//! The cache of one base: its classes on disk, its rows and vectors in memory.

use std::array;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};

use model::rank::{self, Candidate};
use model::text::{self, Languages};
use model::{ChunkId, RecordTime, Role};
use tantivy::Searcher;

use super::class::{self, Class, Mark, Read, Statistics};
use super::collect::Scored;
use super::rows::{ChunkRow, ChunkSpan, Numbers, Rows};
use super::vectors::{Question, Reach, Vectors};
use super::{Habits, Hit, IndexError, Query, Stats};
use crate::models::Serving;

/// Candidates of each list, at least: a passage gains from neighbours and from its document, so
/// that one far down may come first. Half as many cost 2 points of recall at 10 on LoCoMo.
const DEPTH_MIN: usize = 400;

/// Candidates of each list for each hit asked.
const DEPTH_PER_HIT: usize = 20;

const CLASSES: usize = Role::ALL.len();

/// Scores that are nearer to one another than this are equal: sums of the same numbers in another
/// order, which depends on the segments.
const ROUNDING: f32 = 1e-5;

/// One base's cache.
///
/// A search reads a snapshot and waits for nobody. Of those that change the cache, the one that
/// holds `classes` changes files, and the one that holds `numbers` exchanges the snapshot, which
/// is a matter of microseconds. `classes` is taken first, and never held while segments merge.
pub(super) struct Base {
    folder: PathBuf,
    habits: Habits,
    snapshot: RwLock<Arc<Snapshot>>,
    numbers: Mutex<Numbers>,
    classes: Mutex<Classes>,
    /// Told when a merge has ended.
    merged: Condvar,
    /// Whether the files failed, so that the cache must be made anew.
    broken: AtomicBool,
}

type Classes = [Option<Class>; CLASSES];

/// What a search reads. Never changed: a change makes another.
#[derive(Default, Clone)]
struct Snapshot {
    rows: Rows,
    searchers: [Option<Searcher>; CLASSES],
    /// The first ordinal of each class that is not in its index.
    indexed: [u32; CLASSES],
    languages: [Languages; CLASSES],
    /// Of the model that searches ask for, and when the base was switched to it.
    vectors: Vectors,
    since: Option<RecordTime>,
    /// Of the model that the base is about to be switched to.
    warming: Option<Vectors>,
    /// Up to when closings and purges of its rows are known.
    known: i64,
    /// Up to when all rows and reading orders are in the cache: a feeder may stop half way.
    whole: Option<RecordTime>,
}

impl Snapshot {
    fn codes(&self, model: &str) -> Option<&Vectors> {
        let sets = std::iter::once(&self.vectors).chain(&self.warming);
        sets.into_iter().find(|set| set.model == model)
    }

    fn codes_mut(&mut self, model: &str) -> Option<&mut Vectors> {
        let sets = std::iter::once(&mut self.vectors).chain(&mut self.warming);
        sets.into_iter().find(|set| set.model == model)
    }
}

impl Base {
    /// Opens the cache in the folder against the rows as SQL has them (their text is not read).
    ///
    /// A class whose files are damaged, or hold other rows than SQL, is made empty;
    /// [`Base::missing`] then says from where to feed.
    pub(super) fn open(
        folder: &Path,
        known: &[ChunkSpan],
        habits: Habits,
    ) -> Result<Self, IndexError> {
        let mut state = Snapshot::default();
        let mut numbers = Numbers::new();
        for row in known {
            state.rows.put(row, &mut numbers);
        }
        let base = Self {
            folder: folder.to_owned(),
            habits,
            snapshot: RwLock::default(),
            numbers: Mutex::new(numbers),
            classes: Mutex::new(array::from_fn(|_| None)),
            merged: Condvar::new(),
            broken: AtomicBool::new(false),
        };
        let rebooted = base.is_rebooted()?;
        let mut classes = base.classes();
        for role in Role::ALL {
            let home = class::folder(folder, role);
            if home.exists() {
                let mut found = Class::open(&home)?;
                let mark = found.mark();
                let purged: Vec<u32> = known
                    .iter()
                    .filter(|row| row.purged_at.is_some_and(|at| mark.head < at.micros()))
                    .map(|row| row.ordinal as u32)
                    .collect();
                if !purged.is_empty() && 0 < mark.next {
                    found.purge(&purged, mark, u32::MAX)?;
                    found.sweep()?;
                }
                if (rebooted && !found.is_whole())
                    || found.rows() != state.rows.count(role, mark.next)
                {
                    tracing::warn!(class = %role, "search cache does not match its base and is made anew");
                    drop(found);
                    class::remove(&home)?;
                    found = Class::open(&home)?;
                }
                found.rest()?;
                state.indexed[role as usize] = found.mark().next;
                let searcher = found.searcher();
                for read in class::read(&searcher)? {
                    state.rows.set_print(read.ordinal, read.print);
                    state.languages[role as usize] =
                        state.languages[role as usize].or(read.languages);
                }
                state.searchers[role as usize] = Some(searcher);
                classes[role as usize] = Some(found);
            }
        }
        drop(classes);
        *base.place() = Arc::new(state);
        Ok(base)
    }

    /// The first ordinal whose text is not indexed; the one after the last if there is none.
    pub(super) fn missing(&self) -> u32 {
        let state = self.snapshot();
        let first = |role: Role| state.rows.first(role, state.indexed[role as usize]);
        Role::ALL
            .into_iter()
            .filter_map(first)
            .min()
            .unwrap_or(state.rows.next())
    }

    /// Up to when closings and purges of its rows are known.
    pub(super) fn known(&self) -> RecordTime {
        RecordTime::from_micros(self.snapshot().known)
    }

    /// Says that closings and purges up to the moment are.
    pub(super) fn set_known(&self, head: RecordTime) {
        self.change(|state, _| state.known = head.micros());
    }

    /// Up to when all rows and reading orders are in the cache.
    pub(super) fn whole(&self) -> Option<RecordTime> {
        self.snapshot().whole
    }

    /// Says that all rows and reading orders up to the moment are in the cache.
    pub(super) fn set_whole(&self, head: RecordTime) {
        self.change(|state, _| state.whole = Some(head));
    }

    /// Whether all rows and reading orders up to the moment are in the cache.
    pub(super) fn covers(&self, head: RecordTime) -> bool {
        !self.is_broken() && self.whole().is_some_and(|whole| head <= whole)
    }

    /// Whether the model's vectors up to the moment are in the cache, for searches.
    pub(super) fn serves(&self, head: RecordTime, serving: &Serving) -> bool {
        let vectors = &self.snapshot().vectors;
        vectors.model == serving.model && vectors.reach.head.is_some_and(|reach| head <= reach)
    }

    /// Whether searches ask for the vectors of a model that the base was switched to later.
    pub(super) fn serves_later(&self, serving: &Serving) -> bool {
        let state = self.snapshot();
        state.vectors.model != serving.model
            && state.since.is_some_and(|since| serving.since < since)
    }

    /// Lets searches ask for the vectors of a model, unless they ask for a later one's already.
    pub(super) fn serve(&self, serving: &Serving) {
        self.change(|state, _| {
            if state.since.is_some_and(|since| serving.since < since) {
                return;
            }
            state.since = Some(serving.since);
            if state.vectors.model != serving.model {
                let next = state.rows.next();
                let warm = state.warming.take();
                state.vectors = warm
                    .filter(|warm| warm.model == serving.model)
                    .unwrap_or_else(|| Vectors::new(&serving.model, next));
            }
        });
    }

    /// Makes room for the vectors of a model that the base is about to be switched to.
    pub(super) fn warm(&self, model: &str) {
        if self.reach(model).is_none() {
            self.change(|state, _| {
                let next = state.rows.next();
                state.warming = Some(Vectors::new(model, next));
            });
        }
    }

    /// How far the model's vectors are read; none if they are not kept.
    pub(super) fn reach(&self, model: &str) -> Option<Reach> {
        self.snapshot().codes(model).map(|codes| codes.reach)
    }

    /// Says that the model's vectors are read up to the moment, for all rows that are there.
    pub(super) fn set_reach(&self, model: &str, head: RecordTime) {
        self.change(|state, _| {
            let next = state.rows.next();
            if let Some(codes) = state.codes_mut(model) {
                codes.reach.head = Some(head);
                codes.reach.next = next;
            }
        });
    }

    /// Whether its files failed, so that it must be made anew.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// Says that its files failed. What is in the snapshot is still right.
    pub(super) fn set_broken(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }

    /// Adds rows in order of their ordinals; those indexed already are passed over. Purges up to
    /// `head` are known.
    pub(super) fn feed(&self, rows: &[ChunkRow], head: RecordTime) -> Result<(), IndexError> {
        let Some(last) = rows.last() else {
            return Ok(());
        };
        let mark = Mark {
            next: last.span.ordinal as u32 + 1,
            head: head.micros(),
        };
        let mut classes = self.classes();
        let mut told: Vec<(Role, Read)> = Vec::with_capacity(rows.len());
        let mut touched = [false; CLASSES];
        // A batch read before a purge may arrive after it.
        let before = self.snapshot();
        let known = before.rows.next();
        let is_gone = |row: &ChunkRow| {
            let ordinal = row.span.ordinal as u32;
            row.span.purged_at.is_some() || (ordinal < known && before.rows.get(ordinal).is_none())
        };
        for row in rows.iter().filter(|row| !is_gone(row)) {
            let slot = &mut classes[row.span.least_role as usize];
            if slot.is_none() {
                *slot = Some(Class::open(&class::folder(
                    &self.folder,
                    row.span.least_role,
                ))?);
            }
            let class = slot.as_mut().expect("opened above");
            if class.mark().next <= row.span.ordinal as u32 {
                told.push((row.span.least_role, class.add(row)?));
                touched[row.span.least_role as usize] = true;
            }
        }
        for role in Role::ALL {
            if let Some(class) = classes[role as usize]
                .as_mut()
                .filter(|_| touched[role as usize])
            {
                class.commit(mark)?;
            }
        }
        self.change(|state, numbers| {
            for row in rows.iter().filter(|row| known <= row.span.ordinal as u32) {
                state.rows.put(&row.span, numbers);
            }
            for (role, read) in told {
                state.rows.set_print(read.ordinal, read.print);
                let languages = &mut state.languages[role as usize];
                *languages = languages.or(read.languages);
            }
            refresh(state, &classes);
        });
        Ok(())
    }

    /// Rows that are held no longer, and since when.
    pub(super) fn close(&self, closed: &[(u32, RecordTime)]) {
        if closed.is_empty() {
            return;
        }
        self.change(|state, _| {
            for &(ordinal, at) in closed {
                state.rows.close(ordinal, at);
            }
        });
    }

    /// Rows in reading order of each document's latest version.
    pub(super) fn line_up(&self, orders: &[Vec<u32>]) {
        if orders.is_empty() {
            return;
        }
        self.change(|state, _| {
            for order in orders {
                state.rows.line_up(order);
            }
        });
    }

    /// Erases rows: no search that begins from now on finds them. From files of small segments
    /// they are gone when this returns, from those of large ones with the merge that follows.
    pub(super) fn purge(&self, ordinals: &[u32], head: RecordTime) -> Result<(), IndexError> {
        if ordinals.is_empty() {
            return Ok(());
        }
        self.change(|state, _| {
            for &ordinal in ordinals {
                state.rows.purge(ordinal);
                state.vectors.forget(ordinal);
                if let Some(warming) = &mut state.warming {
                    warming.forget(ordinal);
                }
            }
        });
        let mut classes = self.classes();
        for class in classes.iter_mut().flatten() {
            let mark = Mark {
                head: head.micros(),
                ..class.mark()
            };
            class.purge(ordinals, mark, self.habits.purged_at_once)?;
        }
        self.recount(&classes)
    }

    /// Does one merge that is worth it; whether there was one. Nothing is held while it goes on.
    pub(super) fn merge_next(&self) -> Result<bool, IndexError> {
        let mut classes = self.classes();
        let mut started = None;
        for (place, class) in classes.iter_mut().enumerate() {
            if let Some(class) = class
                && let Some(merge) = class.start_merge()?
            {
                started = Some((place, merge));
                break;
            }
        }
        drop(classes);
        let Some((place, merge)) = started else {
            return Ok(false);
        };
        (self.habits.while_merging)();
        let merged = merge.wait();
        let holed = merged.holed;
        let mut classes = self.classes();
        let class = classes[place].as_mut();
        let ended = class
            .expect("a class stays while it merges")
            .end_merge(merged);
        self.merged.notify_all();
        ended?;
        if holed {
            self.recount(&classes)?;
        } else {
            self.change(|state, _| refresh(state, &classes));
        }
        Ok(true)
    }

    /// Does every merge that is worth it, and waits for those that others do: nothing that was
    /// purged is in the files then.
    pub(super) fn settle(&self) -> Result<(), IndexError> {
        loop {
            while self.merge_next()? {}
            let classes = self.classes();
            if !classes.iter().flatten().any(Class::is_merging) {
                return Ok(());
            }
            drop(self.merged.wait(classes));
        }
    }

    /// Lets go of the files for good: from now on nothing of this cache is written. Searches under
    /// way go on.
    pub(super) fn retire(&self) {
        let mut classes = self.classes();
        while classes.iter().flatten().any(Class::is_merging) {
            classes = self
                .merged
                .wait(classes)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *classes = array::from_fn(|_| None);
    }

    /// The snapshot's files and the languages in them, after rows went.
    fn recount(&self, classes: &Classes) -> Result<(), IndexError> {
        let mut languages = [Languages::default(); CLASSES];
        for (set, class) in languages.iter_mut().zip(classes) {
            if let Some(class) = class {
                *set = class::read(&class.searcher())?
                    .iter()
                    .fold(*set, |set, read| set.or(read.languages));
            }
        }
        self.change(|state, _| {
            state.languages = languages;
            refresh(state, classes);
        });
        Ok(())
    }

    /// Adds vectors of a model, read up to `after` if they came in the order they were added.
    pub(super) fn put_vectors(
        &self,
        model: &str,
        rows: &[(u32, Vec<i8>)],
        after: Option<(RecordTime, ChunkId)>,
    ) {
        self.change(|state, _| {
            let Some(codes) = state.codes_mut(model) else {
                return;
            };
            for (ordinal, code) in rows {
                codes.put(*ordinal, code);
            }
            codes.reach.after = after.or(codes.reach.after);
        });
    }

    /// Lets go of the writers' threads and memory, where no merge needs them.
    pub(super) fn rest(&self) -> Result<(), IndexError> {
        let mut classes = self.classes();
        for class in classes.iter_mut().flatten() {
            class.rest()?;
        }
        Ok(())
    }

    /// The query's vector counts only against those of `model`, whatever is kept by now.
    pub(super) fn search(
        &self,
        query: &Query<'_>,
        (head, model): (RecordTime, Option<&str>),
    ) -> Result<Vec<Hit>, IndexError> {
        let state = self.snapshot();
        let at = query.as_of.map_or(head, |as_of| as_of.min(head)).micros();
        let keep = |ordinal: u32| {
            state
                .rows
                .get(ordinal)
                .is_some_and(|row| row.is_held(at, query.role))
        };
        let depth = DEPTH_MIN.max(query.limit * DEPTH_PER_HIT);
        let visible = || Role::ALL.into_iter().filter(|&class| class <= query.role);
        let searchers: Vec<&Searcher> = visible()
            .filter_map(|class| state.searchers[class as usize].as_ref())
            .collect();
        let languages = visible().fold(Languages::default(), |set, class| {
            set.or(state.languages[class as usize])
        });

        let asked = text::of_query(query.text, languages);
        let statistics = Statistics {
            searchers: &searchers,
        };
        let mut found = Vec::new();
        for searcher in &searchers {
            found.extend(class::best(searcher, &statistics, &asked, depth, keep)?);
        }
        level(&mut found);
        found.truncate(depth);
        let mut lexical: Vec<(u32, f32)> =
            found.iter().map(|hit| (hit.ordinal, hit.score)).collect();

        let vector = asked_vector(query, &statistics, languages)?;
        let question = vector
            .as_deref()
            .filter(|_| model == Some(state.vectors.model.as_str()))
            .map(Question::new);
        if let Some(question) = &question {
            let mut known: Vec<u32> = lexical.iter().map(|hit| hit.0).collect();
            known.sort_unstable();
            for (ordinal, _) in state.vectors.nearest(question, depth, keep) {
                if known.binary_search(&ordinal).is_err() {
                    lexical.push((ordinal, 0.0));
                }
            }
        }
        let candidates: Vec<Candidate> = lexical
            .into_iter()
            .filter_map(|(ordinal, lexical)| {
                let row = state.rows.get(ordinal)?;
                Some(Candidate {
                    ordinal,
                    document: state.rows.document(row),
                    neighbours: state.rows.neighbours(row),
                    lexical,
                    cosine: question
                        .as_ref()
                        .and_then(|q| state.vectors.cosine(ordinal, q)),
                    print: row.print(),
                })
            })
            .collect();
        let hits = rank::fuse(&candidates, query.weights, query.limit);
        Ok(hits.into_iter().map(Hit::from).collect())
    }

    pub(super) fn stats(&self) -> Stats {
        let state = self.snapshot();
        Stats {
            rows: state
                .searchers
                .iter()
                .flatten()
                .map(Searcher::num_docs)
                .sum(),
            vectors: state.vectors.len() as u64,
            segments: state
                .searchers
                .iter()
                .flatten()
                .map(|s| s.segment_readers().len())
                .sum(),
        }
    }

    /// Whether the machine started anew since the files were written, so that some may be torn.
    fn is_rebooted(&self) -> Result<bool, IndexError> {
        // Where the system does not tell, every start counts as one after a crash.
        let boot = fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let noted = self.folder.join("boot");
        if !boot.is_empty() && fs::read(&noted).is_ok_and(|known| known == boot) {
            return Ok(false);
        }
        fs::create_dir_all(&self.folder)?;
        fs::write(noted, boot)?;
        Ok(true)
    }

    /// What a search reads from now on; it stays as it is.
    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn place(&self) -> std::sync::RwLockWriteGuard<'_, Arc<Snapshot>> {
        self.snapshot
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a changed copy in place of the snapshot. Only memory may be touched within.
    fn change(&self, change: impl FnOnce(&mut Snapshot, &mut Numbers)) {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = Snapshot::clone(&self.snapshot());
        change(&mut next, &mut numbers);
        let before = std::mem::replace(&mut *self.place(), Arc::new(next));
        // After the lock: it may be the last to hold much.
        drop(before);
    }

    fn classes(&self) -> MutexGuard<'_, Classes> {
        self.classes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Searches that begin from now on read the last commit of each class.
fn refresh(state: &mut Snapshot, classes: &Classes) {
    for (place, class) in classes.iter().enumerate() {
        state.searchers[place] = class.as_ref().map(Class::searcher);
        state.indexed[place] = class.as_ref().map_or(0, |class| class.mark().next);
    }
}

/// Sorts the best first. Scores that only rounding tells apart become equal, so that the order is
/// the same on every node, whatever its segments.
fn level(found: &mut [Scored]) {
    found.sort_unstable_by(|a, b| b.cmp(a));
    let mut start = 0;
    while start < found.len() {
        let mut end = start + 1;
        while end < found.len() && found[end - 1].score - found[end].score < ROUNDING {
            end += 1;
        }
        let run = &mut found[start..end];
        let best = run[0].score;
        for hit in &mut *run {
            hit.score = best;
        }
        run.sort_unstable_by_key(|hit| hit.ordinal);
        start = end;
    }
}

/// How much the question without its names counts in the vector that is asked, where all of them
/// are common; tuned as the weights of [`rank`].
const NAMELESS: f32 = 0.7;

/// The vector to ask.
fn asked_vector(
    query: &Query<'_>,
    statistics: &Statistics<'_>,
    languages: Languages,
) -> Result<Option<Vec<f32>>, IndexError> {
    let Some(vector) = query.vector else {
        return Ok(None);
    };
    if let Some(nameless) = query.nameless
        && nameless.vector.len() == vector.len()
    {
        let mut all_common = true;
        for name in &nameless.names {
            all_common = all_common && statistics.is_common(name, languages)?;
        }
        if all_common {
            let length = |vector: &[f32]| vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            let whole = (1.0 - NAMELESS) / length(vector).max(f32::MIN_POSITIVE);
            let rest = NAMELESS / length(&nameless.vector).max(f32::MIN_POSITIVE);
            let both = vector.iter().zip(&nameless.vector);
            return Ok(Some(both.map(|(a, b)| a * whole + b * rest).collect()));
        }
    }
    Ok(Some(vector.to_vec()))
}
