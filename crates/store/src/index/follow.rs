//! Bringing a base's cache up to its head, from the rows of a transaction.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::{ChunkId, KbId, RecordTime};
use tokio::task::spawn_blocking;

use super::base::Base;
use super::rows::{ChunkRow, ChunkSpan};
use super::{BaseIndex, IndexError, class};
use crate::chunks::{self, Chunk, Span};
use crate::{StoreError, Tx, bases, documents, vectors};

/// Bases kept open at once; the one used longest ago is closed for another.
const OPEN_MAX: usize = 64;

/// Rows read from SQL and indexed at once: some 2 MB of text.
const BATCH: u32 = 1_000;

/// Rows read without their text at once.
const SPANS: u32 = 20_000;

/// Vectors read at once.
const VECTORS: u32 = 2_000;

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
#[derive(Default)]
struct Slot {
    /// Set once opened; read without waiting for a feeder.
    ready: Mutex<Option<Arc<Base>>>,
    /// Held by the one that feeds. Others who wait find their rows fed when it is their turn.
    turn: tokio::sync::Mutex<Cursor>,
    /// Counts the batches, so that a writer rests only when none came after.
    fed: AtomicU64,
}

/// How far the vectors of a model were read.
#[derive(Default)]
struct Cursor {
    model: Option<String>,
    after: Option<(RecordTime, ChunkId)>,
}

impl Indexes {
    /// The caches in the folder, which is made if it is not there.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn open(folder: PathBuf) -> Result<Self, StoreError> {
        std::fs::create_dir_all(&folder)
            .map_err(|error| StoreError::failed("make the search cache's folder", error))?;
        Ok(Self {
            shared: Arc::new(Shared {
                folder,
                open: Mutex::default(),
            }),
        })
    }

    /// The base's cache with everything in it that the transaction sees: rows, closings, purges,
    /// reading orders, and the vectors of `model`.
    ///
    /// What is written after the transaction's snapshot stays unseen by the answer's searches.
    ///
    /// # Errors
    /// If SQL or the cache's folder fails. A cache that cannot be read is made anew first.
    pub async fn synced(
        &self,
        tx: &mut Tx,
        kb: KbId,
        model: Option<&str>,
    ) -> Result<BaseIndex, StoreError> {
        let Some(head) = bases::head(tx, kb).await? else {
            let source = format!("the tenant has no base `{kb}`");
            return Err(StoreError::failed("search a base", source));
        };
        let slot = self.slot(kb);
        if let Some(base) = slot.ready().filter(|base| base.covers(head, model)) {
            return Ok(BaseIndex { base, head });
        }
        let mut cursor = slot.turn.lock().await;
        let base = match self.follow(&slot, &mut cursor, tx, kb, (head, model)).await {
            Err(Failure::Cache(error)) => {
                tracing::warn!(%error, base = %kb, "search cache failed and is made anew");
                slot.set_ready(None);
                *cursor = Cursor::default();
                class::remove(&self.folder(kb)).map_err(|error| cache(error.into()))?;
                self.follow(&slot, &mut cursor, tx, kb, (head, model)).await
            }
            done => done,
        };
        Ok(BaseIndex {
            base: base.map_err(Failure::store)?,
            head,
        })
    }

    /// Closes the base's cache; its files stay.
    pub fn forget(&self, kb: KbId) {
        self.shared.open().retain(|(open, _)| *open != kb);
    }

    /// Throws the base's cache away; the next search makes it anew from SQL.
    ///
    /// # Errors
    /// If the files cannot be removed.
    pub async fn rebuild(&self, kb: KbId) -> Result<(), StoreError> {
        let slot = self.slot(kb);
        let mut cursor = slot.turn.lock().await;
        slot.set_ready(None);
        *cursor = Cursor::default();
        class::remove(&self.folder(kb)).map_err(|error| cache(error.into()))
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
            Arc::default()
        };
        open.push((kb, slot.clone()));
        slot
    }

    async fn follow(
        &self,
        slot: &Arc<Slot>,
        cursor: &mut Cursor,
        tx: &mut Tx,
        kb: KbId,
        (head, model): (RecordTime, Option<&str>),
    ) -> Result<Arc<Base>, Failure> {
        let known = slot.ready();
        if let Some(base) = known.as_ref().filter(|base| base.covers(head, model)) {
            return Ok(base.clone());
        }
        let (base, since) = match known {
            Some(base) => {
                let since = base.head();
                changes(&base, tx, kb, since, head).await?;
                (base, since)
            }
            None => (self.load(tx, kb).await?, RecordTime::from_micros(i64::MIN)),
        };
        let fresh = rows(slot, &base, tx, kb).await?;
        for order in documents::chunk_orders_since(tx, kb, since).await? {
            base.line_up(
                &order
                    .into_iter()
                    .map(|ordinal| ordinal as u32)
                    .collect::<Vec<_>>(),
            );
        }
        if let Some(model) = model {
            codes(&base, cursor, tx, kb, model, &fresh).await?;
        }
        base.set_head(head);
        slot.set_ready(Some(base.clone()));
        Ok(base)
    }

    /// Opens the cache against all rows of the base.
    async fn load(&self, tx: &mut Tx, kb: KbId) -> Result<Arc<Base>, Failure> {
        let mut known: Vec<ChunkSpan> = Vec::new();
        loop {
            let after = known.last().map_or(-1, |span| span.ordinal);
            let page = chunks::spans_since(tx, kb, after, SPANS).await?;
            if page.is_empty() {
                break;
            }
            known.extend(page.iter().map(ChunkSpan::from));
        }
        let folder = self.folder(kb);
        let base = blocking(move || Base::open(&folder, &known)).await?;
        Ok(Arc::new(base))
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, Vec<(KbId, Arc<Slot>)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
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

/// What was closed or purged since the cache was last brought up.
async fn changes(
    base: &Arc<Base>,
    tx: &mut Tx,
    kb: KbId,
    since: RecordTime,
    head: RecordTime,
) -> Result<(), Failure> {
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
    Ok(())
}

/// Rows that the cache does not have; the ids and ordinals of those that are new to it.
async fn rows(
    slot: &Arc<Slot>,
    base: &Arc<Base>,
    tx: &mut Tx,
    kb: KbId,
) -> Result<Vec<(ChunkId, u32)>, Failure> {
    let known = base.next();
    let mut after = i64::from(base.missing()) - 1;
    let mut fresh = Vec::new();
    loop {
        let page = chunks::since(tx, kb, after, BATCH).await?;
        let Some(last) = page.last() else { break };
        after = last.ordinal;
        let new = page.iter().map(|chunk| (chunk.id, chunk.ordinal as u32));
        fresh.extend(new.filter(|&(_, ordinal)| known <= ordinal));
        let (base, batch) = (
            base.clone(),
            page.into_iter().map(ChunkRow::from).collect::<Vec<_>>(),
        );
        blocking(move || base.feed(&batch)).await?;
    }
    if i64::from(known) - 1 < after || !fresh.is_empty() {
        slot.rest_later(base);
    }
    Ok(fresh)
}

/// Vectors of the model that the cache does not have: those added since, and those that rows new
/// to the cache took over from earlier versions.
async fn codes(
    base: &Arc<Base>,
    cursor: &mut Cursor,
    tx: &mut Tx,
    kb: KbId,
    model: &str,
    fresh: &[(ChunkId, u32)],
) -> Result<(), Failure> {
    if cursor.model.as_deref() != Some(model) {
        *cursor = Cursor {
            model: Some(model.to_owned()),
            after: None,
        };
    }
    base.use_model(model);
    for batch in fresh.chunks(VECTORS as usize) {
        let ids: Vec<ChunkId> = batch.iter().map(|row| row.0).collect();
        let found = vectors::of_chunks(tx, kb, model, &ids).await?;
        base.put_vectors(&placed(batch, found));
    }
    loop {
        let page = vectors::since(tx, kb, model, cursor.after, VECTORS).await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        cursor.after = Some((last.added_at, last.vector.chunk));
        let ids: Vec<ChunkId> = page.iter().map(|added| added.vector.chunk).collect();
        let rows: Vec<(ChunkId, u32)> = chunks::ordinals_of(tx, kb, &ids)
            .await?
            .into_iter()
            .map(|(id, ordinal)| (id, ordinal as u32))
            .collect();
        base.put_vectors(&placed(
            &rows,
            page.into_iter().map(|added| added.vector).collect(),
        ));
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
