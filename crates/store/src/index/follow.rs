//! Bringing a base's cache up to its head, on threads of its own.
//!
//! A pass reads what the cache lacks in short transactions and feeds it, while searches go on over
//! what is there. Whoever needs more than that asks for a pass and waits for its end; a caller
//! that gives up waiting stops nothing.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use model::{ChunkId, KbId, RecordTime, TenantId};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio::task::spawn_blocking;

use super::base::Base;
use super::rows::{ChunkRow, ChunkSpan};
use super::{BaseIndex, Habits, IndexError, class};
use crate::chunks::{self, Chunk, Span};
use crate::models::Serving;
use crate::{Db, StoreError, Tx, bases, documents, vectors};

/// Bases kept open at once; the one used longest ago is closed for another.
const OPEN_MAX: usize = 64;

/// Passes that read and feed at the same time; each lets others in between its batches.
const FEEDERS: usize = 2;

/// Merges of one base at the same time.
const MERGERS: usize = 2;

/// Rows read from SQL and indexed at once: some 2 MB of text.
const BATCH: u32 = 1_000;

/// Rows read without their text at once.
const SPANS: u32 = 20_000;

/// Vectors read at once.
const VECTORS: u32 = 2_000;

/// Ending of the folder in which a cache is built anew.
const BESIDE: &str = "beside";

/// Ending of the folder of a cache whose place was taken.
const FORMER: &str = "former";

/// How long a writer is kept after its last batch.
const REST_AFTER: Duration = Duration::from_secs(5);

/// The caches of all bases, in one folder. Clones share it.
#[derive(Clone)]
pub struct Indexes {
    shared: Arc<Shared>,
}

struct Shared {
    db: Db,
    folder: PathBuf,
    habits: Habits,
    /// The one used last at the end.
    open: Mutex<Vec<(KbId, Arc<Slot>)>>,
    feeders: Semaphore,
    closed: AtomicBool,
}

/// A base's place among the open ones.
struct Slot {
    tenant: TenantId,
    kb: KbId,
    /// Where its cache is.
    folder: PathBuf,
    /// Set once opened; read without waiting for a pass.
    ready: Mutex<Option<Arc<Base>>>,
    asked: Mutex<Asked>,
    /// How many passes have ended, and how the last one did.
    ended: watch::Sender<Ended>,
    /// Counts the batches, so that a writer rests only when none came after.
    fed: AtomicU64,
    mergers: AtomicUsize,
    /// Whether it is never closed for another.
    kept: AtomicBool,
    /// Told how many rows are indexed, for who waits for a cache that is built anew.
    indexed: Arc<AtomicU64>,
}

/// What was asked of a base's passes.
#[derive(Default)]
struct Asked {
    /// Whether passes are being made.
    running: bool,
    /// Whether another is to follow the one under way.
    again: bool,
    /// A cache built anew that is to take the place of this one.
    beside: Option<Arc<Slot>>,
    wanted: Wanted,
}

/// The models whose vectors are wanted beside the words.
#[derive(Default)]
struct Wanted {
    /// The one that searches ask for.
    serving: Option<Serving>,
    /// The one that they will ask for soon.
    warming: Option<String>,
}

impl Wanted {
    /// Adds a wish for the vectors that searches ask for; the latest switch counts.
    fn serve(&mut self, serving: Option<&Serving>) {
        let since = self.serving.as_ref().map(|known| known.since);
        if let Some(serving) = serving.filter(|new| since.is_none_or(|since| since <= new.since)) {
            self.serving = Some(serving.clone());
            self.warming.take_if(|model| *model == serving.model);
        }
    }
}

#[derive(Clone, Default)]
struct Ended {
    passes: u64,
    failure: Option<Arc<StoreError>>,
}

impl Indexes {
    /// The caches of the store's bases in the folder, which is made if it is not there.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn open(db: Db, folder: PathBuf) -> Result<Self, StoreError> {
        Self::with(db, folder, Habits::default())
    }

    /// As [`Indexes::open`], with habits of its own.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn with(db: Db, folder: PathBuf, habits: Habits) -> Result<Self, StoreError> {
        fs::create_dir_all(&folder)
            .and_then(|()| remove_unfinished(&folder))
            .map_err(|error| StoreError::failed("make the search cache's folder", error))?;
        Ok(Self {
            shared: Arc::new(Shared {
                db,
                folder,
                habits,
                open: Mutex::default(),
                feeders: Semaphore::new(FEEDERS),
                closed: AtomicBool::new(false),
            }),
        })
    }

    /// The base's cache with everything in it that is written now: rows, closings, purges, reading
    /// orders, and the vectors of the model that the base is searched with. Waits for as long as
    /// that takes.
    ///
    /// What is written later stays unseen by the answer's searches; if the base was switched to
    /// another model since, the answer has no vectors. No transaction may be open meanwhile: the
    /// cache is fed by others.
    ///
    /// # Errors
    /// If SQL or the cache's folder fails. A cache that cannot be read is made anew first.
    pub async fn synced(
        &self,
        tenant: TenantId,
        kb: KbId,
        serving: Option<&Serving>,
    ) -> Result<BaseIndex, StoreError> {
        let head = self.head(tenant, kb).await?;
        let slot = self.slot(tenant, kb);
        loop {
            if let Some(base) = slot.ready().filter(|base| base.covers(head)) {
                let model = serving.filter(|serving| base.serves(head, serving));
                let is_over = |serving: &Serving| base.serves_later(serving);
                if model.is_some() || serving.is_none_or(is_over) {
                    let model = model.map(|serving| serving.model.clone());
                    return Ok(BaseIndex { base, head, model });
                }
            }
            let wanted = |asked: &mut Asked| asked.wanted.serve(serving);
            self.shared.passed(&slot, wanted).await?;
        }
    }

    /// Reads the vectors of a model beside those that searches ask for, so that the first search
    /// after the switch to it finds them at hand.
    ///
    /// # Errors
    /// As [`Indexes::synced`].
    pub async fn warm(&self, tenant: TenantId, kb: KbId, model: &str) -> Result<(), StoreError> {
        let head = self.head(tenant, kb).await?;
        let slot = self.slot(tenant, kb);
        let is_there = |base: &Arc<Base>| {
            let reach = base.reach(model).and_then(|reach| reach.head);
            base.covers(head) && reach.is_some_and(|reach| head <= reach)
        };
        let wanted = |asked: &mut Asked| asked.wanted.warming = Some(model.to_owned());
        while !slot.ready().as_ref().is_some_and(is_there) {
            self.shared.passed(&slot, wanted).await?;
        }
        Ok(())
    }

    /// The base's cache for words alone, if everything that is written now is in it. Waits for
    /// nothing.
    ///
    /// # Errors
    /// If SQL fails.
    pub async fn words_at_hand(
        &self,
        tenant: TenantId,
        kb: KbId,
    ) -> Result<Option<BaseIndex>, StoreError> {
        let head = self.head(tenant, kb).await?;
        let base = self.slot(tenant, kb).ready();
        Ok(base.filter(|base| base.covers(head)).map(|base| BaseIndex {
            base,
            head,
            model: None,
        }))
    }

    async fn head(&self, tenant: TenantId, kb: KbId) -> Result<RecordTime, StoreError> {
        let head = bases::head(&mut self.shared.db.read(tenant).await?, kb).await?;
        head.ok_or_else(|| {
            let source = format!("the tenant has no base `{kb}`");
            StoreError::failed("search a base", source)
        })
    }

    /// Asks for the base's cache to be brought up, with the vectors of the model that it is
    /// searched with; waits for nothing.
    pub fn follow(&self, tenant: TenantId, kb: KbId, serving: Option<&Serving>) {
        let slot = self.slot(tenant, kb);
        self.shared.ask(&slot, |asked| asked.wanted.serve(serving));
    }

    /// Whether the base's cache knows everything up to `head`, with the vectors of the model that
    /// it is searched with.
    pub fn covers(&self, kb: KbId, head: RecordTime, serving: Option<&Serving>) -> bool {
        self.opened(kb).is_some_and(|(_, base)| {
            base.covers(head) && serving.is_none_or(|serving| base.serves(head, serving))
        })
    }

    /// Whether the base's cache is open.
    pub fn is_open(&self, kb: KbId) -> bool {
        self.shared.open().iter().any(|(known, _)| *known == kb)
    }

    /// Whether there are files of a cache of the base, open or not.
    pub fn has_files(&self, kb: KbId) -> bool {
        self.shared.folder(kb).exists()
    }

    /// Keeps the base's cache open whatever others are searched.
    pub fn keep(&self, tenant: TenantId, kb: KbId) {
        self.slot(tenant, kb).kept.store(true, Ordering::Relaxed);
    }

    /// Merges what is worth merging and waits for it: the words of purged rows are in no file of
    /// the cache then. A cache that is not open is not opened for it.
    ///
    /// # Errors
    /// If the cache's files fail; it is made anew then.
    pub async fn settled(&self, kb: KbId) -> Result<(), StoreError> {
        let Some((slot, base)) = self.opened(kb) else {
            return Ok(());
        };
        let settling = spawn_blocking(move || base.settle()).await;
        let settled = settling.map_err(|stopped| StoreError::failed("merge a cache", stopped))?;
        settled.map_err(|error| {
            self.shared.break_down(&slot, &error);
            cache(error)
        })
    }

    /// Closes the base's cache; its files stay.
    pub fn forget(&self, kb: KbId) {
        self.shared.open().retain(|(open, _)| *open != kb);
    }

    /// Closes the base's cache after its merges; its files stay.
    ///
    /// # Errors
    /// If the files fail.
    pub async fn close(&self, kb: KbId) -> Result<(), StoreError> {
        self.settled(kb).await?;
        if let Some((_, base)) = self.opened(kb) {
            let resting = spawn_blocking(move || base.rest()).await;
            resting.map_err(|stopped| StoreError::failed("close a cache", stopped))??;
        }
        self.forget(kb);
        Ok(())
    }

    /// Builds the base's cache anew from SQL, beside the one that searches go on reading, and then
    /// takes its place. `indexed` tells meanwhile how many rows are in it.
    ///
    /// # Errors
    /// If SQL or the folder fails; the cache is then as it was, or is made at the next search.
    pub async fn rebuild(
        &self,
        tenant: TenantId,
        kb: KbId,
        indexed: Arc<AtomicU64>,
    ) -> Result<(), StoreError> {
        let folder = self.shared.folder(kb);
        let beside = folder.with_extension(BESIDE);
        let former = folder.with_extension(FORMER);
        let removing = [beside.clone(), former.clone()];
        remove_all(removing).await?;
        let fresh = Arc::new(Slot::new(tenant, kb, beside, indexed));
        self.shared.passed(&fresh, |_| {}).await?;
        // Nobody feeds the old one from there on; what was written meanwhile is fed to the new one.
        let slot = self.slot(tenant, kb);
        self.shared
            .passed(&slot, |asked| asked.beside = Some(fresh))
            .await?;
        remove_all([former]).await
    }

    /// Ends all passes after the batch that each is at; none begins any more.
    pub fn stop(&self) {
        self.shared.closed.store(true, Ordering::Relaxed);
    }

    fn opened(&self, kb: KbId) -> Option<(Arc<Slot>, Arc<Base>)> {
        let open = self.shared.open();
        let (_, slot) = open.iter().find(|(known, _)| *known == kb)?;
        Some((slot.clone(), slot.ready()?))
    }

    fn slot(&self, tenant: TenantId, kb: KbId) -> Arc<Slot> {
        let mut open = self.shared.open();
        let slot = if let Some(place) = open.iter().position(|(known, _)| *known == kb) {
            open.remove(place).1
        } else {
            // A base in use is not closed: two caches would write one folder.
            if open.len() >= OPEN_MAX
                && let Some(idle) = open.iter().position(|(_, slot)| slot.is_idle())
            {
                open.remove(idle);
            }
            let folder = self.shared.folder(kb);
            Arc::new(Slot::new(tenant, kb, folder, Arc::default()))
        };
        open.push((kb, slot.clone()));
        slot
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, Vec<(KbId, Arc<Slot>)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn folder(&self, kb: KbId) -> PathBuf {
        self.folder.join(kb.to_string())
    }

    /// Asks for a pass, and makes it on a thread of its own if nobody does.
    fn ask(self: &Arc<Self>, slot: &Arc<Slot>, what: impl FnOnce(&mut Asked)) {
        let mut asked = slot.asked();
        what(&mut asked);
        asked.again = true;
        if std::mem::replace(&mut asked.running, true) {
            return;
        }
        drop(asked);
        let (shared, slot) = (Arc::downgrade(self), slot.clone());
        // Not a task: it reads much, analyses text and writes files.
        spawn_blocking(move || Handle::current().block_on(passes(shared, slot)));
    }

    /// Asks for a pass and waits for the end of one.
    ///
    /// # Errors
    /// That of the pass.
    async fn passed(
        self: &Arc<Self>,
        slot: &Arc<Slot>,
        what: impl FnOnce(&mut Asked),
    ) -> Result<(), StoreError> {
        let mut ended = slot.ended.subscribe();
        self.ask(slot, what);
        // The sender lives in the slot, which is held here.
        let _ = ended.changed().await;
        match &ended.borrow().failure {
            Some(failure) => Err(again(failure)),
            None => Ok(()),
        }
    }

    /// The files of a base's cache failed: it is made anew at once.
    fn break_down(self: &Arc<Self>, slot: &Arc<Slot>, error: &IndexError) {
        tracing::warn!(%error, base = %slot.kb, "search cache failed and is made anew");
        if let Some(base) = slot.ready() {
            base.set_broken();
        }
        self.ask(slot, |_| {});
    }

    /// Merges what a pass left, beside it and the searches.
    fn merge_soon(self: &Arc<Self>, slot: &Arc<Slot>, base: &Arc<Base>) {
        if MERGERS <= slot.mergers.fetch_add(1, Ordering::Relaxed) {
            slot.mergers.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let (shared, slot, base) = (Arc::downgrade(self), slot.clone(), base.clone());
        spawn_blocking(move || {
            let merged = loop {
                match base.merge_next() {
                    Ok(true) => {}
                    Ok(false) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            slot.mergers.fetch_sub(1, Ordering::Relaxed);
            if let Err(error) = merged
                && let Some(shared) = shared.upgrade()
            {
                shared.break_down(&slot, &error);
            }
        });
    }

    /// Lets the writer go when no batch follows for a while and nothing is merged.
    fn rest_later(slot: &Arc<Slot>, base: &Arc<Base>) {
        let batch = slot.fed.fetch_add(1, Ordering::Relaxed) + 1;
        let (slot, base) = (Arc::downgrade(slot), Arc::downgrade(base));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(REST_AFTER).await;
                let (Some(slot), Some(base)) = (slot.upgrade(), base.upgrade()) else {
                    return;
                };
                if slot.fed.load(Ordering::Relaxed) != batch {
                    return;
                }
                if 0 < slot.mergers.load(Ordering::Relaxed) {
                    continue;
                }
                if let Ok(Err(error)) = spawn_blocking(move || base.rest()).await {
                    tracing::warn!(%error, "search cache's writer ended badly");
                }
                return;
            }
        });
    }

    /// Waits for a turn to read and feed; none once the caches are closed.
    async fn turn(&self) -> Result<SemaphorePermit<'_>, Failure> {
        let closed = || {
            let why = "the caches are being closed".to_owned();
            Failure::Store(StoreError::Busy(why))
        };
        if self.closed.load(Ordering::Relaxed) {
            return Err(closed());
        }
        self.feeders.acquire().await.map_err(|_| closed())
    }
}

impl Slot {
    fn new(tenant: TenantId, kb: KbId, folder: PathBuf, indexed: Arc<AtomicU64>) -> Self {
        Self {
            tenant,
            kb,
            folder,
            indexed,
            ready: Mutex::default(),
            asked: Mutex::default(),
            ended: watch::Sender::default(),
            fed: AtomicU64::new(0),
            mergers: AtomicUsize::new(0),
            kept: AtomicBool::new(false),
        }
    }

    fn ready(&self) -> Option<Arc<Base>> {
        self.ready
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set_ready(&self, base: Option<Arc<Base>>) {
        let before = std::mem::replace(
            &mut *self.ready.lock().unwrap_or_else(PoisonError::into_inner),
            base,
        );
        drop(before);
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody feeds or searches it, or is about to, and nobody wants it kept.
    fn is_idle(self: &Arc<Self>) -> bool {
        !self.kept.load(Ordering::Relaxed)
            && Arc::strong_count(self) == 1
            && self
                .ready()
                .is_none_or(|base| Arc::strong_count(&base) <= 2)
    }

    fn tell(&self, failure: Option<StoreError>) {
        let failure = failure.map(Arc::new);
        self.ended.send_modify(|ended| {
            ended.passes += 1;
            ended.failure = failure;
        });
    }
}

/// Says that nobody makes passes any more, however the thread ends.
struct Running<'a>(Option<&'a Slot>);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(slot) = self.0 {
            slot.asked().running = false;
            let why = "its thread ended before its time";
            slot.tell(Some(StoreError::failed("bring a search cache up", why)));
        }
    }
}

/// Makes passes for as long as they are asked for.
async fn passes(shared: Weak<Shared>, slot: Arc<Slot>) {
    let mut running = Running(Some(&slot));
    while let Some(shared) = shared.upgrade() {
        let (beside, wanted) = {
            let mut asked = slot.asked();
            if !std::mem::take(&mut asked.again) {
                asked.running = false;
                running.0 = None;
                return;
            }
            // Asked for anew by whoever still waits for it.
            let warming = asked.wanted.warming.take();
            let serving = asked.wanted.serving.clone();
            (asked.beside.take(), Wanted { serving, warming })
        };
        let feed = Feed {
            shared: &shared,
            slot: &slot,
            wanted: &wanted,
        };
        let done = feed.pass(beside).await;
        if let Err(error) = &done {
            tracing::warn!(%error, base = %slot.kb, "search cache could not be brought up");
        }
        slot.tell(done.err());
    }
}

/// What a pass works on.
#[derive(Clone, Copy)]
struct Feed<'a> {
    shared: &'a Arc<Shared>,
    slot: &'a Arc<Slot>,
    wanted: &'a Wanted,
}

impl Feed<'_> {
    async fn tx(&self) -> Result<Tx, Failure> {
        Ok(self.shared.db.read(self.slot.tenant).await?)
    }

    /// One pass, and another from nothing if the cache's files fail. A cache that was built beside
    /// this one takes its place first.
    async fn pass(&self, beside: Option<Arc<Slot>>) -> Result<(), StoreError> {
        if let Some(fresh) = beside {
            let taken = self.take_over(fresh).await;
            if taken.is_err() {
                // What is there now writes no more.
                self.slot.set_ready(None);
            }
            taken.map_err(Failure::store)?;
        } else if self.slot.ready().is_some_and(|base| base.is_broken()) {
            self.throw_away()?;
        }
        match self.once().await {
            Err(Failure::Cache(error)) => {
                tracing::warn!(%error, base = %self.slot.kb, "search cache failed and is made anew");
                self.throw_away()?;
                self.once().await.map_err(Failure::store)
            }
            done => done.map_err(Failure::store),
        }
    }

    /// Puts the files of a cache in the place of this one's. Searches go on in the old one until
    /// the new one is open.
    async fn take_over(&self, fresh: Arc<Slot>) -> Result<(), Failure> {
        // Once more, for what was written since it was built: the next pass finds little to do.
        let rest = Feed {
            slot: &fresh,
            wanted: &Wanted::default(),
            ..*self
        };
        rest.once().await?;
        for base in [fresh.ready(), self.slot.ready()].into_iter().flatten() {
            // Who writes no more cannot write to the folder that is moved under it.
            base.retire();
        }
        let former = self.slot.folder.with_extension(FORMER);
        let moved = match fs::rename(&self.slot.folder, former) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => fs::rename(&fresh.folder, &self.slot.folder),
        };
        moved.map_err(|error| Failure::Cache(error.into()))?;
        self.load().await.map(drop)
    }

    /// Closes the cache and removes its files.
    fn throw_away(&self) -> Result<(), StoreError> {
        if let Some(base) = self.slot.ready() {
            base.set_broken();
            base.retire();
        }
        self.slot.set_ready(None);
        class::remove(&self.slot.folder).map_err(|error| cache(error.into()))
    }

    async fn once(&self) -> Result<(), Failure> {
        let base = match self.slot.ready() {
            Some(base) => base,
            None => self.load().await?,
        };
        let head = self.changes(&base).await?;
        self.rows(&base, head).await?;
        self.orders(&base).await?;
        base.set_whole(head);
        if let Some(serving) = &self.wanted.serving {
            base.serve(serving);
            self.codes(&base, &serving.model, head).await?;
        }
        if let Some(model) = &self.wanted.warming {
            base.warm(model);
            self.codes(&base, model, head).await?;
        }
        Ok(())
    }

    /// Opens the cache against all rows of the base.
    async fn load(&self) -> Result<Arc<Base>, Failure> {
        let kb = self.slot.kb;
        let mut spans: Vec<ChunkSpan> = Vec::new();
        let mut began = None;
        loop {
            let _turn = self.shared.turn().await?;
            let mut tx = self.tx().await?;
            if began.is_none() {
                began = bases::head(&mut tx, kb).await?;
            }
            let after = spans.last().map_or(-1, |span| span.ordinal);
            let page = chunks::spans_since(&mut tx, kb, after, SPANS).await?;
            if page.is_empty() {
                break;
            }
            spans.extend(page.iter().map(ChunkSpan::from));
        }
        let habits = self.shared.habits.clone();
        let base = Base::open(&self.slot.folder, &spans, habits).map_err(Failure::Cache)?;
        let base = Arc::new(base);
        // Later pages may know more; what they do not is read again.
        base.set_known(began.unwrap_or(RecordTime::from_micros(0)));
        self.slot.set_ready(Some(base.clone()));
        Ok(base)
    }

    /// What was closed or purged since the cache was last brought up; the base's head then.
    async fn changes(&self, base: &Arc<Base>) -> Result<RecordTime, Failure> {
        let (kb, since) = (self.slot.kb, base.known());
        let _turn = self.shared.turn().await?;
        let mut tx = self.tx().await?;
        let head = bases::head(&mut tx, kb).await?.ok_or_else(|| {
            let why = format!("the tenant has no base `{kb}`");
            Failure::Store(StoreError::failed("search a base", why))
        })?;
        if head <= since {
            return Ok(head);
        }
        let closed: Vec<(u32, RecordTime)> = chunks::closed_since(&mut tx, kb, since)
            .await?
            .into_iter()
            .filter_map(|span| Some((span.ordinal as u32, span.invalidated_at?)))
            .collect();
        let purged: Vec<u32> = chunks::purged_since(&mut tx, kb, since)
            .await?
            .into_iter()
            .map(|span| span.ordinal as u32)
            .collect();
        drop(tx);
        base.close(&closed);
        if !purged.is_empty() {
            Shared::rest_later(self.slot, base);
            base.purge(&purged, head).map_err(Failure::Cache)?;
            self.shared.merge_soon(self.slot, base);
        }
        base.set_known(head);
        Ok(head)
    }

    /// Rows that the cache does not have. Purges up to `head` are known.
    async fn rows(&self, base: &Arc<Base>, head: RecordTime) -> Result<(), Failure> {
        let mut after = i64::from(base.missing()) - 1;
        loop {
            let _turn = self.shared.turn().await?;
            let page = chunks::since(&mut self.tx().await?, self.slot.kb, after, BATCH).await?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            after = last.ordinal;
            let batch: Vec<ChunkRow> = page.into_iter().map(ChunkRow::from).collect();
            base.feed(&batch, head).map_err(Failure::Cache)?;
            let count = batch.len() as u64;
            self.slot.indexed.fetch_add(count, Ordering::Relaxed);
            self.shared.merge_soon(self.slot, base);
            Shared::rest_later(self.slot, base);
        }
    }

    /// Reading orders of versions published since the cache was last whole.
    async fn orders(&self, base: &Arc<Base>) -> Result<(), Failure> {
        let first = RecordTime::from_micros(i64::MIN);
        let since = base.whole().unwrap_or(first);
        let _turn = self.shared.turn().await?;
        let mut tx = self.tx().await?;
        let orders: Vec<Vec<u32>> = documents::chunk_orders_since(&mut tx, self.slot.kb, since)
            .await?
            .into_iter()
            .map(|order| order.into_iter().map(|ordinal| ordinal as u32).collect())
            .collect();
        base.line_up(&orders);
        Ok(())
    }

    /// Vectors of the model that the cache does not have: those added since, and those that rows
    /// new to the cache took over from earlier versions. The rows are there up to `head`.
    async fn codes(&self, base: &Arc<Base>, model: &str, head: RecordTime) -> Result<(), Failure> {
        let kb = self.slot.kb;
        // A model that searches ask for no longer is not kept.
        let Some(reach) = base.reach(model) else {
            return Ok(());
        };
        let mut last_row = i64::from(reach.next) - 1;
        loop {
            let _turn = self.shared.turn().await?;
            let mut tx = self.tx().await?;
            let page = chunks::spans_since(&mut tx, kb, last_row, VECTORS).await?;
            let Some(last) = page.last() else { break };
            last_row = last.ordinal;
            let ids: Vec<ChunkId> = page.iter().map(|span| span.id).collect();
            let found = vectors::of_chunks(&mut tx, kb, model, &ids).await?;
            let rows: Vec<(ChunkId, u32)> = page
                .iter()
                .map(|span| (span.id, span.ordinal as u32))
                .collect();
            base.put_vectors(model, &placed(&rows, found), None);
        }
        let mut after = reach.after;
        loop {
            let _turn = self.shared.turn().await?;
            let mut tx = self.tx().await?;
            let page = vectors::since(&mut tx, kb, model, after, VECTORS).await?;
            let Some(last) = page.last() else { break };
            after = Some((last.added_at, last.vector.chunk));
            let ids: Vec<ChunkId> = page.iter().map(|added| added.vector.chunk).collect();
            let rows: Vec<(ChunkId, u32)> = chunks::ordinals_of(&mut tx, kb, &ids)
                .await?
                .into_iter()
                .map(|(id, ordinal)| (id, ordinal as u32))
                .collect();
            drop(tx);
            let found = page.into_iter().map(|added| added.vector).collect();
            base.put_vectors(model, &placed(&rows, found), after);
        }
        base.set_reach(model, head);
        Ok(())
    }
}

/// Removes what a rebuilding left that did not come to its end.
fn remove_unfinished(folder: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|end| end == BESIDE || end == FORMER)
        {
            class::remove(&path)?;
        }
    }
    Ok(())
}

async fn remove_all<const N: usize>(folders: [PathBuf; N]) -> Result<(), StoreError> {
    let removing =
        spawn_blocking(move || folders.iter().try_for_each(|folder| class::remove(folder)));
    match removing.await {
        Ok(removed) => removed.map_err(|error| cache(error.into())),
        Err(stopped) => Err(StoreError::failed("remove a search cache", stopped)),
    }
}

/// The code of each row whose passage has one.
fn placed(rows: &[(ChunkId, u32)], mut found: Vec<vectors::Vector>) -> Vec<(u32, Vec<i8>)> {
    found.sort_unstable_by_key(|vector| vector.chunk);
    rows.iter()
        .filter_map(|&(id, ordinal)| {
            let place = found
                .binary_search_by_key(&id, |vector| vector.chunk)
                .ok()?;
            Some((ordinal, found[place].code.clone()))
        })
        .collect()
}

/// Which side failed: the cache can be made anew, SQL cannot.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Cache(IndexError),
}

impl Failure {
    fn store(self) -> StoreError {
        match self {
            Failure::Store(error) => error,
            Failure::Cache(error) => cache(error),
        }
    }
}

/// The failure of a pass, as each of those who waited for it gets it.
fn again(failure: &Arc<StoreError>) -> StoreError {
    match failure.as_ref() {
        StoreError::Busy(why) => StoreError::Busy(why.clone()),
        StoreError::Full(why) => StoreError::Full(why.clone()),
        _ => StoreError::failed("bring a search cache up", failure.clone()),
    }
}

fn cache(error: IndexError) -> StoreError {
    StoreError::failed("use the search cache", error)
}

impl From<IndexError> for StoreError {
    fn from(error: IndexError) -> Self {
        cache(error)
    }
}

impl From<&Span> for ChunkSpan {
    fn from(span: &Span) -> Self {
        Self {
            ordinal: span.ordinal,
            document: span.document,
            recorded_at: span.recorded_at,
            invalidated_at: span.invalidated_at,
            purged_at: span.purged_at,
            least_role: span.least_role,
        }
    }
}

impl From<Chunk> for ChunkRow {
    fn from(chunk: Chunk) -> Self {
        Self {
            span: ChunkSpan {
                ordinal: chunk.ordinal,
                document: chunk.document,
                recorded_at: chunk.recorded_at,
                invalidated_at: chunk.invalidated_at,
                purged_at: chunk.purged_at,
                least_role: chunk.least_role,
            },
            title: chunk.title,
            heading_path: chunk.heading_path,
            text: chunk.text,
        }
    }
}
