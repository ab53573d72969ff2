//! Writing a tar file into a channel, one file after the other, each hashed on its way.

use bytes::{Bytes, BytesMut};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc::Sender;

use super::BackupError;
use super::manifest::{FileEntry, hex};

/// Size of a block, to which every file is filled up (POSIX.1-1988, ustar).
const BLOCK: usize = 512;

/// The parts of a backup on their way to whoever receives it.
pub(super) type Out = Sender<Result<Bytes, model::Error>>;

/// A tar file that is being written.
pub(super) struct Archive {
    out: Out,
    /// Seconds since 1970, for every file.
    modified: u64,
    files: Vec<FileEntry>,
}

/// A file whose bytes are being written.
pub(super) struct Open<'a> {
    archive: &'a mut Archive,
    path: String,
    size: u64,
    written: u64,
    hash: Sha256,
}

impl Archive {
    pub(super) fn new(out: Out, modified: u64) -> Self {
        Self {
            out,
            modified,
            files: Vec::new(),
        }
    }

    /// The files so far.
    pub(super) fn take_files(&mut self) -> Vec<FileEntry> {
        std::mem::take(&mut self.files)
    }

    /// Writes a whole file; SHA-256 of its bytes.
    pub(super) async fn put(
        &mut self,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<[u8; 32], BackupError> {
        let mut file = self.begin(path, bytes.len() as u64).await?;
        file.write(bytes.into()).await?;
        file.end().await
    }

    /// Begins a file of a known size.
    pub(super) async fn begin(&mut self, path: &str, size: u64) -> Result<Open<'_>, BackupError> {
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

    /// Ends the tar file.
    pub(super) async fn finish(self) -> Result<(), BackupError> {
        self.send(BytesMut::zeroed(2 * BLOCK).freeze()).await
    }

    async fn send(&self, bytes: Bytes) -> Result<(), BackupError> {
        let sent = self.out.send(Ok(bytes)).await;
        sent.map_err(|_| BackupError::GoneAway)
    }
}

impl Open<'_> {
    pub(super) async fn write(&mut self, bytes: Bytes) -> Result<(), BackupError> {
        self.written += bytes.len() as u64;
        if self.written > self.size {
            return Err(self.changed());
        }
        self.hash.update(&bytes);
        self.archive.send(bytes).await
    }

    /// SHA-256 of what was written.
    pub(super) async fn end(self) -> Result<[u8; 32], BackupError> {
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
