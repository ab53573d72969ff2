//! The cache of one base: its classes on disk, its rows and vectors in memory.

use std::array;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use model::rank::{self, Candidate};
use model::text::{self, Languages};
use model::{ChunkId, RecordTime, Role};
use tantivy::Searcher;

use super::class::{self, Class, Mark, Read, Statistics};
use super::rows::{ChunkRow, ChunkSpan, Rows};
use super::vectors::{Question, Reach, Vectors};
use super::{Hit, IndexError, Query, Stats};
use crate::models::Serving;

/// Candidates of each list, at least: a passage gains from neighbours and from its document, so
/// that one far down may come first. Half as many cost 2 points of recall at 10 on LoCoMo.
const DEPTH_MIN: usize = 400;

/// Candidates of each list for each hit asked.
const DEPTH_PER_HIT: usize = 20;

const CLASSES: usize = Role::ALL.len();

/// One base's cache. Searches share it; one feeder at a time changes it.
pub(super) struct Base {
    folder: PathBuf,
    state: RwLock<State>,
    classes: Mutex<[Option<Class>; CLASSES]>,
}

/// What a search reads. Changed between commits only, never while one is made.
#[derive(Default)]
struct State {
    rows: Rows,
    searchers: [Option<Searcher>; CLASSES],
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

impl State {
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
    pub(super) fn open(folder: &Path, known: &[ChunkSpan]) -> Result<Self, IndexError> {
        let mut state = State::default();
        for row in known {
            state.rows.put(row);
        }
        let base = Self {
            folder: folder.to_owned(),
            state: RwLock::default(),
            classes: Mutex::new(array::from_fn(|_| None)),
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
                    found.purge(&purged, mark)?;
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
        *base.write() = state;
        Ok(base)
    }

    /// The first ordinal whose text is not indexed; the one after the last if there is none.
    pub(super) fn missing(&self) -> u32 {
        // The classes first, as everywhere: two orders of taking them would lock up.
        let classes = self.classes();
        let state = self.read();
        let first = |role: Role| {
            let next = classes[role as usize]
                .as_ref()
                .map_or(0, |class| class.mark().next);
            state.rows.first(role, next)
        };
        Role::ALL
            .into_iter()
            .filter_map(first)
            .min()
            .unwrap_or(state.rows.next())
    }

    /// Up to when closings and purges of its rows are known.
    pub(super) fn known(&self) -> RecordTime {
        RecordTime::from_micros(self.read().known)
    }

    /// Says that closings and purges up to the moment are.
    pub(super) fn set_known(&self, head: RecordTime) {
        self.write().known = head.micros();
    }

    /// Up to when all rows and reading orders are in the cache.
    pub(super) fn whole(&self) -> Option<RecordTime> {
        self.read().whole
    }

    /// Says that all rows and reading orders up to the moment are in the cache.
    pub(super) fn set_whole(&self, head: RecordTime) {
        self.write().whole = Some(head);
    }

    /// Whether all rows and reading orders up to the moment are in the cache.
    pub(super) fn covers(&self, head: RecordTime) -> bool {
        self.read().whole.is_some_and(|whole| head <= whole)
    }

    /// Whether the model's vectors up to the moment are in the cache, for searches.
    pub(super) fn serves(&self, head: RecordTime, serving: &Serving) -> bool {
        let vectors = &self.read().vectors;
        vectors.model == serving.model && vectors.reach.head.is_some_and(|reach| head <= reach)
    }

    /// Lets searches ask for the vectors of a model; false if they ask for a later one already.
    pub(super) fn serve(&self, serving: &Serving) -> bool {
        let mut state = self.write();
        let is_late = state.since.is_some_and(|since| serving.since < since);
        if state.vectors.model != serving.model {
            if is_late {
                return false;
            }
            let next = state.rows.next();
            let warm = state.warming.take();
            state.vectors = warm
                .filter(|warm| warm.model == serving.model)
                .unwrap_or_else(|| Vectors::new(&serving.model, next));
        }
        if !is_late {
            state.since = Some(serving.since);
        }
        true
    }

    /// Makes room for the vectors of a model that the base is about to be switched to.
    pub(super) fn warm(&self, model: &str) {
        let mut state = self.write();
        if state.codes(model).is_none() {
            let next = state.rows.next();
            state.warming = Some(Vectors::new(model, next));
        }
    }

    /// How far the model's vectors are read; none if they are not kept.
    pub(super) fn reach(&self, model: &str) -> Option<Reach> {
        self.read().codes(model).map(|codes| codes.reach)
    }

    /// Says that the model's vectors are read up to the moment, for all rows that are there.
    pub(super) fn set_reach(&self, model: &str, head: RecordTime) {
        let mut state = self.write();
        let next = state.rows.next();
        if let Some(codes) = state.codes_mut(model) {
            codes.reach.head = Some(head);
            codes.reach.next = next;
        }
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
        let known = self.read().rows.next();
        let is_gone = |row: &ChunkRow| {
            let ordinal = row.span.ordinal as u32;
            row.span.purged_at.is_some()
                || (ordinal < known && self.read().rows.get(ordinal).is_none())
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
        let mut state = self.write();
        for row in rows.iter().filter(|row| known <= row.span.ordinal as u32) {
            state.rows.put(&row.span);
        }
        for (role, read) in told {
            state.rows.set_print(read.ordinal, read.print);
            let languages = &mut state.languages[role as usize];
            *languages = languages.or(read.languages);
        }
        refresh(&mut state, &classes);
        Ok(())
    }

    /// Rows that are held no longer, and since when.
    pub(super) fn close(&self, closed: &[(u32, RecordTime)]) {
        let mut state = self.write();
        for &(ordinal, at) in closed {
            state.rows.close(ordinal, at);
        }
    }

    /// Rows in reading order of a document's latest version.
    pub(super) fn line_up(&self, ordinals: &[u32]) {
        self.write().rows.line_up(ordinals);
    }

    /// Erases rows: from memory at once, from the files before this returns.
    pub(super) fn purge(&self, ordinals: &[u32], head: RecordTime) -> Result<(), IndexError> {
        if ordinals.is_empty() {
            return Ok(());
        }
        let mut classes = self.classes();
        {
            let mut state = self.write();
            for &ordinal in ordinals {
                state.rows.purge(ordinal);
                state.vectors.forget(ordinal);
                if let Some(warming) = &mut state.warming {
                    warming.forget(ordinal);
                }
            }
        }
        for class in classes.iter_mut().flatten() {
            let mark = Mark {
                head: head.micros(),
                ..class.mark()
            };
            class.purge(ordinals, mark)?;
        }
        let mut state = self.write();
        refresh(&mut state, &classes);
        for role in Role::ALL {
            if let Some(searcher) = &state.searchers[role as usize] {
                let all = class::read(searcher)?;
                state.languages[role as usize] = all
                    .iter()
                    .fold(Languages::default(), |set, read| set.or(read.languages));
            }
        }
        Ok(())
    }

    /// Adds vectors of a model, read up to `after` if they came in the order they were added.
    pub(super) fn put_vectors(
        &self,
        model: &str,
        rows: &[(u32, Vec<i8>)],
        after: Option<(RecordTime, ChunkId)>,
    ) {
        let mut state = self.write();
        let Some(codes) = state.codes_mut(model) else {
            return;
        };
        for (ordinal, code) in rows {
            codes.put(*ordinal, code);
        }
        codes.reach.after = after.or(codes.reach.after);
    }

    /// Lets go of the writers' threads and memory.
    pub(super) fn rest(&self) -> Result<(), IndexError> {
        let mut classes = self.classes();
        for class in classes.iter_mut().flatten() {
            class.rest()?;
        }
        refresh(&mut self.write(), &classes);
        Ok(())
    }

    /// The query's vector counts only against those of `model`, whatever is kept by now.
    pub(super) fn search(
        &self,
        query: &Query<'_>,
        (head, model): (RecordTime, Option<&str>),
    ) -> Result<Vec<Hit>, IndexError> {
        let state = self.read();
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
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.truncate(depth);
        let mut lexical: Vec<(u32, f32)> =
            found.iter().map(|hit| (hit.ordinal, hit.score)).collect();

        let question = query
            .vector
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
                    neighbours: row.neighbours(),
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
        let state = self.read();
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

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn classes(&self) -> MutexGuard<'_, [Option<Class>; CLASSES]> {
        self.classes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Searches opened from now on read the last commit of each class.
fn refresh(state: &mut State, classes: &[Option<Class>; CLASSES]) {
    for (searcher, class) in state.searchers.iter_mut().zip(classes) {
        *searcher = class.as_ref().map(Class::searcher);
    }
}
