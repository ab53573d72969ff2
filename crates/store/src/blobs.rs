//! The bytes of documents, by the SHA-256 of their content, apart for each base.
//!
//! Bytes are staged first: written to a file of their own while they are counted and hashed. Kept
//! bytes are on disk before `keep` returns, so a transaction that refers to them may commit. One
//! that never does leaves a blob that nothing refers to; the sweep takes it after a day.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::{Stream, StreamExt};
use model::{Code, Error, KbId, RecordTime, TenantId};
use object_store::local::LocalFileSystem;
use object_store::{ObjectStore, ObjectStoreExt};
use sha2::{Digest, Sha256};
use tempfile::TempPath;
use tokio::io::AsyncWriteExt;

use crate::StoreError;
use crate::value::hex;

/// Where the bytes of documents are. Clones share it.
#[derive(Clone)]
pub struct Blobs {
    inner: Arc<Inner>,
}

struct Inner {
    store: Box<dyn ObjectStore>,
    /// Kept bytes, where they are files.
    kept: PathBuf,
    staging: PathBuf,
    /// Folders that blobs were put into.
    folders: Mutex<HashMap<PathBuf, Arc<Folder>>>,
    /// Held while a blob is put in place or swept, so that no fresh one is taken for an old one.
    place: tokio::sync::Mutex<()>,
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
    fn path(&self) -> String {
        format!("{}/{}/{}", self.tenant, self.kb, hex(&self.hash))
    }

    /// The key of a path that [`BlobKey::path`] made.
    fn parse(path: &str) -> Option<Self> {
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
    /// If the folder cannot be made or read, or `place` is a URL: other stores than a folder are
    /// not built in.
    pub async fn open(place: &str) -> Result<Self, StoreError> {
        if place.contains("://") {
            let why = format!("it must be a folder, not `{}`", scheme(place));
            return Err(StoreError::failed("open the blobs", why));
        }
        let folder = PathBuf::from(place);
        let opened = blocking("open the blobs", move || {
            let (kept, staging) = (folder.join("kept"), folder.join("staging"));
            match std::fs::remove_dir_all(&staging) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            std::fs::create_dir_all(&kept)?;
            std::fs::create_dir_all(&staging)?;
            sync_folder(&folder)?;
            Ok((kept, staging))
        });
        let (kept, staging) = opened.await?;
        let store = LocalFileSystem::new_with_prefix(&kept)
            .map_err(|source| StoreError::failed("open the blobs", source))?;
        Ok(Self {
            inner: Arc::new(Inner {
                store: Box::new(store.with_fsync(true)),
                kept,
                staging,
                folders: Mutex::default(),
                place: tokio::sync::Mutex::new(()),
            }),
        })
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
        let target = self.inner.kept.join(key.path());
        let folder = target.parent().expect("a key has folders").to_owned();
        let within = folder.clone();
        let place = self.inner.place.lock().await;
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

    /// Deletes blobs last kept before `cutoff` that nothing refers to; how many.
    ///
    /// For each, `unreferenced` answers what to hold while it is deleted, such as a transaction
    /// that has the base's one place for a writer; none if something refers to it.
    pub async fn sweep<Hold, Answer>(
        &self,
        cutoff: RecordTime,
        mut unreferenced: impl FnMut(BlobKey) -> Answer,
    ) -> Result<u64, StoreError>
    where
        Answer: Future<Output = Result<Option<Hold>, StoreError>>,
    {
        let mut swept = 0;
        let mut listed = self.inner.store.list(None);
        while let Some(meta) = listed.next().await {
            let meta = meta.map_err(|error| object_failure("list the blobs", error))?;
            let young = |meta: &object_store::ObjectMeta| {
                meta.last_modified.timestamp_micros() >= cutoff.micros()
            };
            let Some(key) = BlobKey::parse(meta.location.as_ref()) else {
                continue;
            };
            if young(&meta) {
                continue;
            }
            let Some(_hold) = unreferenced(key).await? else {
                continue;
            };
            let _place = self.inner.place.lock().await;
            // It may have been kept again since it was listed.
            match found(self.inner.store.head(&meta.location).await)? {
                Some(meta) if !young(&meta) => {
                    self.delete(&key).await?;
                    swept += 1;
                }
                _ => {}
            }
        }
        Ok(swept)
    }
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
    StoreError::failed(what, error)
}
