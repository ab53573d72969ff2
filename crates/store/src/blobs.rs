//! The bytes of documents, by the SHA-256 of their content, apart for each base: in a folder, or
//! in a bucket that several nodes share.
//!
//! Bytes are staged first: written to a file of their own while they are counted and hashed. Kept
//! bytes are on disk, or with the store, before `keep` returns, so a transaction that refers to
//! them may commit. One that never does leaves a blob that nothing refers to; the sweep takes it
//! after a day.

mod bucket;

use std::collections::HashMap;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use model::{Code, Error, KbId, RecordTime, TenantId};
use object_store::local::LocalFileSystem;
use object_store::{ObjectStore, ObjectStoreExt};
use sha2::{Digest, Sha256};
use tempfile::TempPath;
use tokio::io::AsyncWriteExt;

use crate::StoreError;
use crate::value::hex;

pub use bucket::{Access, Bucket, NotABucket, Patience, split_url};

/// Where the bytes of documents are. Clones share it.
#[derive(Clone)]
pub struct Blobs {
    inner: Arc<Inner>,
}

struct Inner {
    store: Box<dyn ObjectStore>,
    /// Where kept bytes are.
    kept: Kept,
    staging: PathBuf,
    /// Folders that blobs were put into.
    folders: Mutex<HashMap<PathBuf, Arc<Folder>>>,
    /// Held while a blob is put in place or swept, so that no fresh one is taken for an old one.
    place: tokio::sync::Mutex<()>,
}

#[expect(
    clippy::large_enum_variant,
    reason = "a store of blobs is made once in a process"
)]
enum Kept {
    Folder(PathBuf),
    Bucket(Bucket),
}

/// A folder whose entries are to be on disk. One flush serves all that wait for it.
#[derive(Default)]
struct Folder {
    /// Files put into it so far.
    placed: AtomicU64,
    /// How many of them are on disk. Held by the one that flushes.
    flushed: tokio::sync::Mutex<u64>,
}

/// Which blob: its base and the SHA-256 of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlobKey {
    pub tenant: TenantId,
    pub kb: KbId,
    pub hash: [u8; 32],
}

impl BlobKey {
    /// `tenant/base/hash`, the hash in hexadecimal.
    pub fn path(&self) -> String {
        format!("{}/{}/{}", self.tenant, self.kb, hex(&self.hash))
    }

    /// The key of a path that [`BlobKey::path`] made.
    pub fn parse(path: &str) -> Option<Self> {
        let mut parts = path.split('/');
        let (tenant, kb, hex) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || hex.len() != 64 || !hex.is_ascii() {
            return None;
        }
        let mut hash = [0; 32];
        for (n, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).ok()?;
        }
        Some(Self {
            tenant: tenant.parse().ok()?,
            kb: kb.parse().ok()?,
            hash,
        })
    }
}

/// Why bytes were not taken.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// There are more of them than the caller allows.
    #[error("it has more than {0} bytes, which is the most that is taken")]
    TooLarge(u64),
    /// The sender broke off.
    #[error("the upload broke off: {0}")]
    BrokenOff(String),
    /// They could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<BlobError> for Error {
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::TooLarge(_) => Error::new(Code::TooLarge, error.to_string()),
            BlobError::BrokenOff(_) => {
                Error::invalid("the upload broke off before its end; send it again")
                    .caused_by(error)
            }
            BlobError::Store(error) => error.into(),
        }
    }
}

/// Bytes that were taken and counted, and belong to no base yet. Dropping them deletes them.
#[derive(Debug)]
pub struct Staged {
    /// SHA-256 of the bytes.
    pub hash: [u8; 32],
    /// How many they are.
    pub size: u64,
    path: TempPath,
}

impl Staged {
    /// The file they are in for now.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Bytes on their way into a staging file.
pub struct Staging {
    path: TempPath,
    file: tokio::fs::File,
    hash: Sha256,
    size: u64,
    size_max: u64,
}

impl Staging {
    /// Takes some more bytes.
    ///
    /// # Errors
    /// `TooLarge` as soon as there are more than allowed.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.size += bytes.len() as u64;
        if self.size > self.size_max {
            return Err(BlobError::TooLarge(self.size_max));
        }
        self.hash.update(bytes);
        let written = self.file.write_all(bytes).await;
        Ok(written.map_err(|error| failure("write an upload to disk", error))?)
    }

    /// All bytes are here; they are on disk when this returns.
    pub async fn finish(mut self) -> Result<Staged, BlobError> {
        let done = async {
            self.file.flush().await?;
            self.file.sync_all().await
        };
        done.await
            .map_err(|error| failure("write an upload to disk", error))?;
        Ok(Staged {
            hash: self.hash.finalize().into(),
            size: self.size,
            path: self.path,
        })
    }
}

impl Blobs {
    /// Opens the blobs in a folder, which is made if it is not there; what an earlier process left
    /// in staging is deleted.
    ///
    /// # Errors
    /// If the folder cannot be made or read, or `place` is a URL; see [`Blobs::open_bucket`].
    pub async fn open(place: &str) -> Result<Self, StoreError> {
        if place.contains("://") {
            let why = format!("it must be a folder, not `{}`", scheme(place));
            return Err(StoreError::failed("open the blobs", why));
        }
        let folder = PathBuf::from(place);
        let opened = blocking("open the blobs", move || {
            let (kept, staging) = (folder.join("kept"), fresh_staging(&folder)?);
            std::fs::create_dir_all(&kept)?;
            sync_folder(&folder)?;
            Ok((kept, staging))
        });
        let (kept, staging) = opened.await?;
        let store = LocalFileSystem::new_with_prefix(&kept)
            .map_err(|source| StoreError::failed("open the blobs", source))?;
        let store = Box::new(store.with_fsync(true));
        Ok(Self::around(store, Kept::Folder(kept), staging))
    }

    /// Opens the blobs in a bucket that others may use as well. The folder is this process's own:
    /// uploads wait in it for their end; what an earlier process left there is deleted.
    ///
    /// Nothing is asked of the bucket yet; see [`Blobs::probe`].
    ///
    /// # Errors
    /// If the folder cannot be made, or the settings contradict one another.
    pub async fn open_bucket(bucket: Bucket, folder: &Path) -> Result<Self, StoreError> {
        let folder = folder.to_owned();
        let staging = blocking("open the blobs", move || fresh_staging(&folder)).await?;
        let store = Box::new(bucket.open()?);
        Ok(Self::around(store, Kept::Bucket(bucket), staging))
    }

    fn around(store: Box<dyn ObjectStore>, kept: Kept, staging: PathBuf) -> Self {
        Self {
            inner: Arc::new(Inner {
                store,
                kept,
                staging,
                folders: Mutex::default(),
                place: tokio::sync::Mutex::new(()),
            }),
        }
    }

    /// Where kept blobs are, for people; without a secret in it.
    pub fn place(&self) -> String {
        match &self.inner.kept {
            Kept::Folder(_) => "the data folder".to_owned(),
            Kept::Bucket(bucket) => bucket.to_string(),
        }
    }

    /// Writes, reads, lists and deletes an object of this name, to see whether all that works.
    ///
    /// # Errors
    /// What does not, in a sentence.
    pub async fn probe(&self, name: &str) -> Result<(), String> {
        let (store, place) = (&self.inner.store, object_store::path::Path::from(PROBES));
        let path = place.clone().join(name);
        let wrong = |what: &str| {
            let what = what.to_owned();
            let place = self.place();
            move |error: object_store::Error| {
                format!("cannot {what} {place}: {}", bucket::explain(&error))
            }
        };
        let content = Bytes::from_static(b"Quipu looks whether it can write here.");
        let put = store.put(&path, content.clone().into()).await;
        put.map_err(wrong("write to"))?;
        let read = async { store.get(&path).await?.bytes().await };
        let read = read.await.map_err(wrong("read from"))?;
        let mut listed = store.list(Some(&place));
        let mut is_listed = false;
        while let Some(found) = listed.next().await {
            is_listed |= found.map_err(wrong("list what is in"))?.location == path;
        }
        store.delete(&path).await.map_err(wrong("delete from"))?;
        let place = self.place();
        match (read == content, is_listed) {
            (true, true) => Ok(()),
            (false, _) => Err(format!("{place} gives back other bytes than were written")),
            (true, false) => Err(format!("{place} does not list what was just written")),
        }
    }

    /// Begins to take bytes, `size_max` at most.
    pub async fn stage(&self, size_max: u64) -> Result<Staging, BlobError> {
        let staging = self.inner.staging.clone();
        let file = blocking("begin an upload", move || {
            tempfile::NamedTempFile::new_in(staging)
        });
        let (file, path) = file.await?.into_parts();
        let file = tokio::fs::File::from_std(file);
        Ok(Staging {
            path,
            file,
            hash: Sha256::new(),
            size: 0,
            size_max,
        })
    }

    /// Takes a stream of bytes, `size_max` at most.
    pub async fn put_staged<E: std::fmt::Display>(
        &self,
        bytes: impl Stream<Item = Result<Bytes, E>>,
        size_max: u64,
    ) -> Result<Staged, BlobError> {
        let mut staging = self.stage(size_max).await?;
        let mut bytes = std::pin::pin!(bytes);
        while let Some(part) = bytes.next().await {
            let part = part.map_err(|error| BlobError::BrokenOff(error.to_string()))?;
            staging.write(&part).await?;
        }
        staging.finish().await
    }

    /// Keeps staged bytes for a base. When this returns they are on disk under their key, so a
    /// transaction that refers to them may commit. Keeping what is there already makes it young
    /// again.
    pub async fn keep(
        &self,
        staged: Staged,
        tenant: TenantId,
        kb: KbId,
    ) -> Result<BlobKey, StoreError> {
        let key = BlobKey {
            tenant,
            kb,
            hash: staged.hash,
        };
        let inner = self.inner.clone();
        let kept = match &inner.kept {
            Kept::Folder(folder) => folder.clone(),
            // Without the lock: an upload may take minutes. Other nodes do not hold it anyway;
            // whoever refers to the blob looks whether it may be gone, see `erasures`.
            Kept::Bucket(_) => {
                let file = (staged.path(), staged.size);
                bucket::upload(inner.store.as_ref(), &key.path(), file).await?;
                return Ok(key);
            }
        };
        let target = kept.join(key.path());
        let folder = target.parent().expect("a key has folders").to_owned();
        let within = folder.clone();
        let place = inner.place.lock().await;
        blocking("keep an upload", move || {
            std::fs::create_dir_all(within)?;
            staged.path.persist(&target).map_err(|error| error.error)?;
            Ok(())
        })
        .await?;
        drop(place);
        self.inner.flush(folder).await?;
        Ok(key)
    }

    /// The bytes; none if they are not there.
    pub async fn get(&self, key: &BlobKey) -> Result<Option<Bytes>, StoreError> {
        let read = async {
            self.inner
                .store
                .get(&key.path().into())
                .await?
                .bytes()
                .await
        };
        found(read.await)
    }

    /// The blob's size and its bytes, part by part; none if it is not there.
    pub async fn open_stream(
        &self,
        key: &BlobKey,
    ) -> Result<Option<(u64, BoxStream<'static, Result<Bytes, StoreError>>)>, StoreError> {
        let Some(blob) = found(self.inner.store.get(&key.path().into()).await)? else {
            return Ok(None);
        };
        let size = blob.meta.size;
        let parts = blob.into_stream();
        let parts = parts.map(|part| part.map_err(|error| object_failure("read a blob", error)));
        Ok(Some((size, parts.boxed())))
    }

    /// Some of the bytes; none if the blob is not there. The range ends at the blob's end if that
    /// comes first.
    pub async fn get_range(
        &self,
        key: &BlobKey,
        range: Range<u64>,
    ) -> Result<Option<Bytes>, StoreError> {
        let Some(size) = self.size(key).await? else {
            return Ok(None);
        };
        let range = range.start.min(size)..range.end.min(size);
        if range.start >= range.end {
            return Ok(Some(Bytes::new()));
        }
        found(self.inner.store.get_range(&key.path().into(), range).await)
    }

    /// How many bytes the blob has; none if it is not there.
    pub async fn size(&self, key: &BlobKey) -> Result<Option<u64>, StoreError> {
        let head = found(self.inner.store.head(&key.path().into()).await)?;
        Ok(head.map(|head| head.size))
    }

    /// Whether the blob is there.
    pub async fn exists(&self, key: &BlobKey) -> Result<bool, StoreError> {
        Ok(self.size(key).await?.is_some())
    }

    /// Deletes the blob if it is there.
    pub async fn delete(&self, key: &BlobKey) -> Result<(), StoreError> {
        found(self.inner.store.delete(&key.path().into()).await).map(drop)
    }

    /// The blobs last kept before `cutoff`, in no order.
    pub fn kept_before(
        &self,
        cutoff: RecordTime,
    ) -> BoxStream<'static, Result<BlobKey, StoreError>> {
        let old = move |meta: object_store::Result<object_store::ObjectMeta>| async move {
            match meta {
                Ok(meta) if is_before(&meta, cutoff) => {
                    BlobKey::parse(meta.location.as_ref()).map(Ok)
                }
                Ok(_) => None,
                Err(error) => Some(Err(object_failure("list the blobs", error))),
            }
        };
        self.inner.store.list(None).filter_map(old).boxed()
    }

    /// Deletes the blob if it is there and was not kept again since `cutoff`; whether it did.
    pub async fn delete_kept_before(
        &self,
        key: &BlobKey,
        cutoff: RecordTime,
    ) -> Result<bool, StoreError> {
        let _place = self.inner.place.lock().await;
        let head = found(self.inner.store.head(&key.path().into()).await)?;
        let is_old = head.is_some_and(|meta| is_before(&meta, cutoff));
        if is_old {
            self.delete(key).await?;
        }
        Ok(is_old)
    }
}

fn is_before(meta: &object_store::ObjectMeta, cutoff: RecordTime) -> bool {
    meta.last_modified.timestamp_micros() < cutoff.micros()
}

impl Inner {
    /// Brings what was put into a base's folder before this call to disk.
    async fn flush(&self, path: PathBuf) -> Result<(), StoreError> {
        let folder = {
            let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
            folders.entry(path.clone()).or_default().clone()
        };
        let ours = folder.placed.fetch_add(1, Ordering::SeqCst) + 1;
        let mut flushed = folder.flushed.lock().await;
        if ours <= *flushed {
            return Ok(());
        }
        let placed = folder.placed.load(Ordering::SeqCst);
        // The first time, the folders above it may be new as well.
        let above = if *flushed == 0 { 2 } else { 0 };
        blocking("keep an upload", move || {
            path.ancestors().take(1 + above).try_for_each(sync_folder)
        })
        .await?;
        *flushed = placed;
        Ok(())
    }
}

/// Where [`Blobs::probe`] writes; no blob's key begins like that.
const PROBES: &str = "doctor";

/// The folder for uploads on their way, emptied.
fn fresh_staging(folder: &Path) -> std::io::Result<PathBuf> {
    let staging = folder.join("staging");
    match std::fs::remove_dir_all(&staging) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::fs::create_dir_all(&staging)?;
    Ok(staging)
}

fn scheme(url: &str) -> &str {
    url.split("://").next().unwrap_or_default()
}

fn sync_folder(folder: &Path) -> std::io::Result<()> {
    std::fs::File::open(folder)?.sync_all()
}

/// Runs file work off the async threads.
async fn blocking<T: Send + 'static>(
    what: &'static str,
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| failure(what, error)),
        Err(source) => Err(StoreError::failed(what, source)),
    }
}

fn failure(what: &str, error: std::io::Error) -> StoreError {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::ReadOnlyFilesystem => {
            StoreError::Full(format!("could not {what}: {error}"))
        }
        _ => StoreError::failed(what, error),
    }
}

/// The answer, or none if the object is not there.
fn found<T>(answer: object_store::Result<T>) -> Result<Option<T>, StoreError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(object_failure("read a blob", error)),
    }
}

fn object_failure(what: &str, error: object_store::Error) -> StoreError {
    match error {
        // A folder's fault is told as it is.
        object_store::Error::Generic {
            store: "LocalFileSystem",
            source,
        } => StoreError::failed(what, source),
        error => bucket::refusal(what, error),
    }
}
