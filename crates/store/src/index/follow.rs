//! Bringing a base's cache up to its head, from the rows of a transaction.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::{ChunkId, KbId, RecordTime, TenantId};
use tokio::task::spawn_blocking;

use super::base::Base;
use super::rows::{ChunkRow, ChunkSpan};
use super::{BaseIndex, IndexError, class};
use crate::chunks::{self, Chunk, Span};
use crate::models::Serving;
use crate::{Db, StoreError, Tx, bases, documents, vectors};

/// Bases kept open at once; the one used longest ago is closed for another.
const OPEN_MAX: usize = 64;

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
    folder: PathBuf,
    /// The one used last at the end.
    open: Mutex<Vec<(KbId, Arc<Slot>)>>,
}

/// A base's place among the open ones.
struct Slot {
    /// Where its cache is.
    folder: PathBuf,
    /// Set once opened; read without waiting for a feeder.
    ready: Mutex<Option<Arc<Base>>>,
    /// Held by the one that feeds. Others who wait find their rows fed when it is their turn.
    turn: tokio::sync::Mutex<Progress>,
    /// Counts the batches, so that a writer rests only when none came after.
    fed: AtomicU64,
    /// Told how many rows are indexed, for who waits for a cache that is built anew.
    indexed: Arc<AtomicU64>,
}

/// How far a feeder came. Callers give up waiting; the next one goes on from here.
#[derive(Default)]
struct Progress {
    /// Rows read for a cache that is not open yet, and the head when their reading began.
    spans: Arc<Vec<ChunkSpan>>,
    began: Option<RecordTime>,
}

/// Whose vectors are wanted beside the words.
#[derive(Clone, Copy)]
enum Meaning<'a> {
    /// Nobody's.
    None,
    /// Those that searches ask for.
    Serving(&'a Serving),
    /// Those that searches will ask for soon.
    Warming(&'a str),
}

impl Indexes {
    /// The caches in the folder, which is made if it is not there.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn open(folder: PathBuf) -> Result<Self, StoreError> {
        fs::create_dir_all(&folder)
            .and_then(|()| remove_unfinished(&folder))
            .map_err(|error| StoreError::failed("make the search cache's folder", error))?;
        Ok(Self {
            shared: Arc::new(Shared {
                folder,
                open: Mutex::default(),
            }),
        })
    }

    /// The base's cache with everything in it that the transaction sees: rows, closings, purges,
    /// reading orders, and the vectors of the model that the base is searched with.
    ///
    /// What is written after the transaction's snapshot stays unseen by the answer's searches. If
    /// the base was switched to another model since, the answer has no vectors.
    ///
    /// # Errors
    /// If SQL or the cache's folder fails. A cache that cannot be read is made anew first.
    pub async fn synced(
        &self,
        tx: &mut Tx,
        kb: KbId,
        serving: Option<&Serving>,
    ) -> Result<BaseIndex, StoreError> {
        let meaning = serving.map_or(Meaning::None, Meaning::Serving);
        let (base, head) = self.brought_up(tx, kb, meaning).await?;
        let model = serving.filter(|serving| base.serves(head, serving));
        Ok(BaseIndex {
            base,
            head,
            model: model.map(|serving| serving.model.clone()),
        })
    }

    /// Reads the vectors of a model beside those that searches ask for, so that the first search
    /// after the switch to it finds them at hand.
    ///
    /// # Errors
    /// As [`Indexes::synced`].
    pub async fn warm(&self, tx: &mut Tx, kb: KbId, model: &str) -> Result<(), StoreError> {
        let meaning = Meaning::Warming(model);
        self.brought_up(tx, kb, meaning).await.map(drop)
    }

    /// The base's cache for words alone, if it has all rows that the transaction sees. Waits for
    /// nothing.
    pub async fn words_at_hand(
        &self,
        tx: &mut Tx,
        kb: KbId,
    ) -> Result<Option<BaseIndex>, StoreError> {
        let Some(head) = bases::head(tx, kb).await? else {
            return Ok(None);
        };
        let base = self.slot(kb).ready().filter(|base| base.covers(head));
        Ok(base.map(|base| BaseIndex {
            base,
            head,
            model: None,
        }))
    }

    async fn brought_up(
        &self,
        tx: &mut Tx,
        kb: KbId,
        meaning: Meaning<'_>,
    ) -> Result<(Arc<Base>, RecordTime), StoreError> {
        let Some(head) = bases::head(tx, kb).await? else {
            let source = format!("the tenant has no base `{kb}`");
            return Err(StoreError::failed("search a base", source));
        };
        let slot = self.slot(kb);
        if let Some(base) = slot.ready().filter(|base| meaning.is_in(base, head)) {
            return Ok((base, head));
        }
        let mut progress = slot.turn.lock().await;
        let base = match self
            .follow(&slot, &mut progress, tx, kb, (head, meaning))
            .await
        {
            Err(Failure::Cache(error)) => {
                tracing::warn!(%error, base = %kb, "search cache failed and is made anew");
                slot.set_ready(None);
                *progress = Progress::default();
                class::remove(&self.folder(kb)).map_err(|error| cache(error.into()))?;
                self.follow(&slot, &mut progress, tx, kb, (head, meaning))
                    .await
            }
            done => done,
        };
        Ok((base.map_err(Failure::store)?, head))
    }

    /// Closes the base's cache; its files stay.
    pub fn forget(&self, kb: KbId) {
        self.shared.open().retain(|(open, _)| *open != kb);
    }

    /// Closes the base's cache after its writer's merges; its files stay.
    ///
    /// # Errors
    /// If the writer fails.
    pub async fn close(&self, kb: KbId) -> Result<(), StoreError> {
        let slot = self.slot(kb);
        let _turn = slot.turn.lock().await;
        if let Some(base) = slot.ready() {
            blocking(move || base.rest())
                .await
                .map_err(Failure::store)?;
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
        db: &Db,
        tenant: TenantId,
        kb: KbId,
        indexed: Arc<AtomicU64>,
    ) -> Result<(), StoreError> {
        let folder = self.folder(kb);
        let (beside, former) = (folder.with_extension(BESIDE), folder.with_extension(FORMER));
        remove_all([&beside, &former]).await?;
        let fresh = Arc::new(Slot::at(beside.clone(), indexed));
        let mut progress = Progress::default();
        let mut tx = db.read(tenant).await?;
        self.build(&fresh, &mut progress, &mut tx, kb).await?;
        drop(tx);

        // From here on nobody feeds the old one. Searches read it until the new one is open.
        let slot = self.slot(kb);
        let mut turn = slot.turn.lock().await;
        let mut tx = db.read(tenant).await?;
        let head = self.build(&fresh, &mut progress, &mut tx, kb).await?;
        for base in [fresh.ready(), slot.ready()].into_iter().flatten() {
            // A writer at rest writes no more to the folder that is moved under it.
            blocking(move || Ok(base.rest()?))
                .await
                .map_err(Failure::store)?;
        }
        drop(fresh);
        blocking(move || {
            match fs::rename(&folder, &former) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
            Ok(fs::rename(&beside, &folder)?)
        })
        .await
        .map_err(Failure::store)?;
        *turn = Progress::default();
        let opened = self.load(&slot, &mut turn, &mut tx, kb, head).await;
        opened.map_err(Failure::store)?;
        let former = self.folder(kb).with_extension(FORMER);
        remove_all([&former]).await
    }

    /// Feeds a cache all that the transaction sees; the base's head.
    async fn build(
        &self,
        slot: &Arc<Slot>,
        progress: &mut Progress,
        tx: &mut Tx,
        kb: KbId,
    ) -> Result<RecordTime, StoreError> {
        let Some(head) = bases::head(tx, kb).await? else {
            let source = format!("the tenant has no base `{kb}`");
            return Err(StoreError::failed("build a search cache", source));
        };
        let built = self.follow(slot, progress, tx, kb, (head, None)).await;
        built.map_err(Failure::store)?;
        Ok(head)
    }

    fn folder(&self, kb: KbId) -> PathBuf {
        self.shared.folder.join(kb.to_string())
    }

    fn slot(&self, kb: KbId) -> Arc<Slot> {
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
            Arc::new(Slot::at(self.folder(kb), Arc::default()))
        };
        open.push((kb, slot.clone()));
        slot
    }

    async fn follow(
        &self,
        slot: &Arc<Slot>,
        progress: &mut Progress,
        tx: &mut Tx,
        kb: KbId,
        (head, meaning): (RecordTime, Meaning<'_>),
    ) -> Result<Arc<Base>, Failure> {
        let base = match slot.ready() {
            Some(base) if meaning.is_in(&base, head) => return Ok(base),
            Some(base) => base,
            None => self.load(slot, progress, tx, kb, head).await?,
        };
        changes(&base, tx, kb, head).await?;
        rows(slot, &base, tx, kb, head).await?;
        let since = base.whole().unwrap_or(RecordTime::from_micros(i64::MIN));
        for order in documents::chunk_orders_since(tx, kb, since).await? {
            let order: Vec<u32> = order.into_iter().map(|ordinal| ordinal as u32).collect();
            base.line_up(&order);
        }
        base.set_whole(head);
        match meaning {
            Meaning::None => {}
            Meaning::Serving(serving) => {
                if base.serve(serving) {
                    codes(&base, tx, kb, &serving.model, head).await?;
                }
            }
            Meaning::Warming(model) => {
                base.warm(model);
                codes(&base, tx, kb, model, head).await?;
            }
        }
        Ok(base)
    }

    /// Opens the cache against all rows of the base.
    async fn load(
        &self,
        slot: &Slot,
        progress: &mut Progress,
        tx: &mut Tx,
        kb: KbId,
        head: RecordTime,
    ) -> Result<Arc<Base>, Failure> {
        let began = *progress.began.get_or_insert(head);
        loop {
            let after = progress.spans.last().map_or(-1, |span| span.ordinal);
            let page = chunks::spans_since(tx, kb, after, SPANS).await?;
            if page.is_empty() {
                break;
            }
            Arc::make_mut(&mut progress.spans).extend(page.iter().map(ChunkSpan::from));
        }
        let (folder, spans) = (slot.folder.clone(), progress.spans.clone());
        let base = Arc::new(blocking(move || Base::open(&folder, &spans)).await?);
        base.set_known(began);
        *progress = Progress::default();
        slot.set_ready(Some(base.clone()));
        Ok(base)
    }
}

impl Meaning<'_> {
    /// Whether the cache has all of it up to the moment.
    fn is_in(self, base: &Base, head: RecordTime) -> bool {
        base.covers(head)
            && match self {
                Meaning::None => true,
                Meaning::Serving(serving) => base.serves(head, serving),
                Meaning::Warming(model) => {
                    let reach = base.reach(model).and_then(|reach| reach.head);
                    reach.is_some_and(|reach| head <= reach)
                }
            }
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, Vec<(KbId, Arc<Slot>)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn at(folder: PathBuf, indexed: Arc<AtomicU64>) -> Self {
        Self {
            folder,
            ready: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            fed: AtomicU64::default(),
            indexed,
        }
    }

    fn ready(&self) -> Option<Arc<Base>> {
        self.ready
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set_ready(&self, base: Option<Arc<Base>>) {
        *self.ready.lock().unwrap_or_else(PoisonError::into_inner) = base;
    }

    /// Whether nobody feeds or searches it, or is about to.
    fn is_idle(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) == 1
            && self
                .ready()
                .is_none_or(|base| Arc::strong_count(&base) <= 2)
    }

    /// Lets the writer go when no batch follows for a while.
    fn rest_later(self: &Arc<Self>, base: &Arc<Base>) {
        let batch = self.fed.fetch_add(1, Ordering::Relaxed) + 1;
        let (slot, base) = (self.clone(), base.clone());
        tokio::spawn(async move {
            tokio::time::sleep(REST_AFTER).await;
            if slot.fed.load(Ordering::Relaxed) == batch
                && let Err(error) = blocking(move || base.rest()).await
            {
                tracing::warn!(%error, "search cache's writer ended badly");
            }
        });
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

async fn remove_all<const N: usize>(folders: [&PathBuf; N]) -> Result<(), StoreError> {
    let folders = folders.map(Clone::clone);
    let removed = blocking(move || {
        for folder in &folders {
            class::remove(folder)?;
        }
        Ok(())
    });
    removed.await.map_err(Failure::store)
}

/// What was closed or purged since the cache was last brought up.
async fn changes(base: &Arc<Base>, tx: &mut Tx, kb: KbId, head: RecordTime) -> Result<(), Failure> {
    let since = base.known();
    if head <= since {
        return Ok(());
    }
    let closed: Vec<(u32, RecordTime)> = chunks::closed_since(tx, kb, since)
        .await?
        .into_iter()
        .filter_map(|span| Some((span.ordinal as u32, span.invalidated_at?)))
        .collect();
    base.close(&closed);
    let purged: Vec<u32> = chunks::purged_since(tx, kb, since)
        .await?
        .into_iter()
        .map(|span| span.ordinal as u32)
        .collect();
    if !purged.is_empty() {
        let base = base.clone();
        blocking(move || base.purge(&purged, head)).await?;
    }
    base.set_known(head);
    Ok(())
}

/// Rows that the cache does not have.
async fn rows(
    slot: &Arc<Slot>,
    base: &Arc<Base>,
    tx: &mut Tx,
    kb: KbId,
    head: RecordTime,
) -> Result<(), Failure> {
    let mut after = i64::from(base.missing()) - 1;
    let mut any = false;
    loop {
        let page = chunks::since(tx, kb, after, BATCH).await?;
        let Some(last) = page.last() else { break };
        after = last.ordinal;
        any = true;
        // Before the batch: whoever waits may give up during it.
        slot.rest_later(base);
        let base = base.clone();
        let batch: Vec<ChunkRow> = page.into_iter().map(ChunkRow::from).collect();
        let count = batch.len() as u64;
        blocking(move || base.feed(&batch, head)).await?;
        slot.indexed.fetch_add(count, Ordering::Relaxed);
    }
    if any {
        slot.rest_later(base);
    }
    Ok(())
}

/// Vectors of the model that the cache does not have: those added since, and those that rows new
/// to the cache took over from earlier versions.
async fn codes(
    base: &Arc<Base>,
    tx: &mut Tx,
    kb: KbId,
    model: &str,
    head: RecordTime,
) -> Result<(), Failure> {
    let Some(reach) = base.reach(model) else {
        return Ok(());
    };
    let mut last_row = i64::from(reach.next) - 1;
    loop {
        let page = chunks::spans_since(tx, kb, last_row, VECTORS).await?;
        let Some(last) = page.last() else { break };
        last_row = last.ordinal;
        let ids: Vec<ChunkId> = page.iter().map(|span| span.id).collect();
        let found = vectors::of_chunks(tx, kb, model, &ids).await?;
        let rows: Vec<(ChunkId, u32)> = page
            .iter()
            .map(|span| (span.id, span.ordinal as u32))
            .collect();
        base.put_vectors(model, &placed(&rows, found), None);
    }
    let mut after = reach.after;
    loop {
        let page = vectors::since(tx, kb, model, after, VECTORS).await?;
        let Some(last) = page.last() else { break };
        after = Some((last.added_at, last.vector.chunk));
        let ids: Vec<ChunkId> = page.iter().map(|added| added.vector.chunk).collect();
        let rows: Vec<(ChunkId, u32)> = chunks::ordinals_of(tx, kb, &ids)
            .await?
            .into_iter()
            .map(|(id, ordinal)| (id, ordinal as u32))
            .collect();
        let found = page.into_iter().map(|added| added.vector).collect();
        base.put_vectors(model, &placed(&rows, found), after);
    }
    base.set_reach(model, head);
    Ok(())
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

/// Runs what waits for the disk or the processor off the async threads.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, IndexError> + Send + 'static,
) -> Result<T, Failure> {
    match spawn_blocking(work).await {
        Ok(done) => done.map_err(Failure::Cache),
        Err(stopped) => Err(Failure::Store(StoreError::failed(
            "bring the search cache up to date",
            stopped,
        ))),
    }
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
