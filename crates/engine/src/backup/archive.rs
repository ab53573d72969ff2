//! Writing a tar file into a channel, one file after the other, each hashed on its way.

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use serde::Serialize;
use sha2::{Digest, Sha256};
use store::blobs::{BlobKey, Blobs};
use tokio::sync::mpsc::Sender;

use super::BackupError;
use super::manifest::{FileEntry, MANIFEST, MANIFEST_HASH, ROWS, hex};

/// Size of a block, to which every file is filled up (POSIX.1-1988, ustar).
const BLOCK: usize = 512;

/// Bytes of rows in one file, about.
const ROWS_BYTES: usize = 4 << 20;

/// The parts of an archive on their way to whoever receives it.
pub(crate) type Out = Sender<Result<Bytes, model::Error>>;

/// A tar file that is being written.
pub(crate) struct Archive {
    out: Out,
    /// Seconds since 1970, for every file.
    modified: u64,
    files: Vec<FileEntry>,
}

/// A file whose bytes are being written.
pub(crate) struct Open<'a> {
    archive: &'a mut Archive,
    path: String,
    size: u64,
    written: u64,
    hash: Sha256,
}

impl Archive {
    pub(crate) fn new(out: Out, modified: u64) -> Self {
        Self {
            out,
            modified,
            files: Vec::new(),
        }
    }

    /// The files so far, for the manifest.
    pub(crate) fn take_files(&mut self) -> Vec<FileEntry> {
        std::mem::take(&mut self.files)
    }

    /// Writes a whole file; SHA-256 of its bytes.
    pub(crate) async fn put(
        &mut self,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<[u8; 32], BackupError> {
        let mut file = self.begin(path, bytes.len() as u64).await?;
        file.write(bytes.into()).await?;
        file.end().await
    }

    /// Begins a file of a known size.
    pub(crate) async fn begin(&mut self, path: &str, size: u64) -> Result<Open<'_>, BackupError> {
        let mut header = tar::Header::new_ustar();
        header.set_path(path).map_err(|source| BackupError::Io {
            what: format!("name a file `{path}`"),
            source,
        })?;
        header.set_size(size);
        header.set_mode(0o600);
        header.set_mtime(self.modified);
        header.set_entry_type(tar::EntryType::Regular);
        header.set_cksum();
        self.send(Bytes::copy_from_slice(header.as_bytes())).await?;
        Ok(Open {
            archive: self,
            path: path.to_owned(),
            size,
            written: 0,
            hash: Sha256::new(),
        })
    }

    /// Writes what the archive says about itself.
    pub(crate) async fn put_json(
        &mut self,
        path: &str,
        value: &impl Serialize,
    ) -> Result<[u8; 32], BackupError> {
        let mut text = serde_json::to_vec_pretty(value).expect("a manifest is JSON");
        text.push(b'\n');
        self.put(path, text).await
    }

    /// Writes the bytes of a document. What is lost or damaged already must not keep the rest from
    /// being saved, so it is told.
    pub(crate) async fn put_blob(
        &mut self,
        blobs: &Blobs,
        key: &BlobKey,
        path: &str,
    ) -> Result<PutBlob, BackupError> {
        let Some((size, mut parts)) = blobs.open_stream(key).await? else {
            return Ok(PutBlob::Missing);
        };
        let mut file = self.begin(path, size).await?;
        while let Some(part) = parts.next().await {
            file.write(part?).await?;
        }
        let is_whole = file.end().await? == key.hash;
        Ok(if is_whole {
            PutBlob::Whole(size)
        } else {
            PutBlob::Damaged(size)
        })
    }

    /// Writes the manifest, and its hash as `sha256sum --check` reads it. All files stand before.
    pub(crate) async fn put_manifest(
        &mut self,
        manifest: &impl Serialize,
    ) -> Result<(), BackupError> {
        let hash = self.put_json(MANIFEST, manifest).await?;
        let line = format!("{}  {MANIFEST}\n", hex(&hash));
        self.put(MANIFEST_HASH, line.into_bytes()).await.map(drop)
    }

    /// Ends the tar file.
    pub(crate) async fn finish(self) -> Result<(), BackupError> {
        self.send(BytesMut::zeroed(2 * BLOCK).freeze()).await
    }

    async fn send(&self, bytes: Bytes) -> Result<(), BackupError> {
        let sent = self.out.send(Ok(bytes)).await;
        sent.map_err(|_| BackupError::GoneAway)
    }
}

/// How the bytes of a document went into an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PutBlob {
    /// So many, which are what their name says.
    Whole(u64),
    /// So many, which are something else than their name says.
    Damaged(u64),
    /// They are not there.
    Missing,
}

/// The rows of a table on their way into files of a few megabytes each.
pub(crate) struct RowFiles {
    table: &'static str,
    number: u32,
    /// Rows that are in no file yet.
    pub(crate) lines: Vec<u8>,
}

impl RowFiles {
    pub(crate) fn of(table: &'static str) -> Self {
        Self {
            table,
            number: 0,
            lines: Vec::new(),
        }
    }

    /// Writes a file, if there is enough for one or nothing more will come.
    pub(crate) async fn put(
        &mut self,
        archive: &mut Archive,
        is_last: bool,
    ) -> Result<(), BackupError> {
        if ROWS_BYTES <= self.lines.len() || (is_last && !self.lines.is_empty()) {
            self.number += 1;
            let path = format!("{ROWS}{}/{:06}.jsonl", self.table, self.number);
            archive.put(&path, std::mem::take(&mut self.lines)).await?;
        }
        Ok(())
    }
}

impl Open<'_> {
    pub(crate) async fn write(&mut self, bytes: Bytes) -> Result<(), BackupError> {
        self.written += bytes.len() as u64;
        if self.written > self.size {
            return Err(self.changed());
        }
        self.hash.update(&bytes);
        self.archive.send(bytes).await
    }

    /// SHA-256 of what was written.
    pub(crate) async fn end(self) -> Result<[u8; 32], BackupError> {
        if self.written != self.size {
            return Err(self.changed());
        }
        let over = (self.size % BLOCK as u64) as usize;
        if over > 0 {
            let filling = BytesMut::zeroed(BLOCK - over).freeze();
            self.archive.send(filling).await?;
        }
        let hash: [u8; 32] = self.hash.finalize().into();
        self.archive.files.push(FileEntry {
            path: self.path,
            size: self.size,
            sha256: hex(&hash),
        });
        Ok(hash)
    }

    fn changed(&self) -> BackupError {
        BackupError::Unsound(format!(
            "`{}` changed its size while it was read",
            self.path
        ))
    }
}
