//! The cache of one base: its classes on disk, its rows and vectors in memory.

use std::array;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use model::rank::{self, Candidate};
use model::text::{self, Languages};
use model::{RecordTime, Role};
use tantivy::Searcher;

use super::class::{self, Class, Mark, Read, Statistics};
use super::rows::{ChunkRow, ChunkSpan, Rows};
use super::vectors::{Question, Vectors};
use super::{Hit, IndexError, Query, Stats};

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
    vectors: Vectors,
    /// Up to when closings and purges of its rows are known.
    known: i64,
    whole: Whole,
}

/// How far everything is in the cache: a feeder may stop half way.
#[derive(Clone, Default)]
pub(super) struct Whole {
    /// Up to when: rows, reading orders, vectors of the model.
    pub(super) head: Option<RecordTime>,
    /// The first ordinal that is not.
    pub(super) next: u32,
    /// The model whose vectors are.
    pub(super) model: Option<String>,
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

    /// How far everything is in the cache.
    pub(super) fn whole(&self) -> Whole {
        self.read().whole.clone()
    }

    /// Says that everything up to the moment is in the cache.
    pub(super) fn set_whole(&self, head: RecordTime, model: Option<&str>) {
        let mut state = self.write();
        let next = state.rows.next();
        let model = model.map(str::to_owned).or(state.whole.model.take());
        state.whole = Whole {
            head: Some(head),
            next,
            model,
        };
    }

    /// Whether everything up to the moment is in the cache, with the model's vectors.
    pub(super) fn covers(&self, head: RecordTime, model: Option<&str>) -> bool {
        let state = self.read();
        state.whole.head.is_some_and(|whole| head <= whole)
            && model.is_none_or(|model| state.whole.model.as_deref() == Some(model))
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

    /// Forgets all vectors unless they are of the model.
    pub(super) fn use_model(&self, model: &str) {
        if self.read().vectors.model != model {
            let mut state = self.write();
            state.vectors = Vectors::new(model);
            state.whole.model = None;
        }
    }

    /// Adds vectors of the model in use.
    pub(super) fn put_vectors(&self, codes: &[(u32, Vec<i8>)]) {
        let mut state = self.write();
        for (ordinal, code) in codes {
            state.vectors.put(*ordinal, code);
        }
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

    pub(super) fn search(
        &self,
        query: &Query<'_>,
        head: RecordTime,
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

        let vector = asked_vector(query, &statistics, languages)?;
        let question = vector.as_deref().map(Question::new);
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

/// Searches opened from now on read the last commit of each class.
fn refresh(state: &mut State, classes: &[Option<Class>; CLASSES]) {
    for (searcher, class) in state.searchers.iter_mut().zip(classes) {
        *searcher = class.as_ref().map(Class::searcher);
    }
}
