//! A folder for tantivy that never waits for the disk.
//!
//! What lies in it is a cache: after a crash of the machine it is checked and, if it does not
//! hold, made again. So a commit need not reach the platter before a search may see it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::{
    DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError,
};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};

/// [`MmapDirectory`] without its calls to `fsync`.
#[derive(Debug, Clone)]
pub(super) struct CacheDirectory {
    root: PathBuf,
    mapped: MmapDirectory,
}

impl CacheDirectory {
    /// The folder, made if it is not there.
    pub(super) fn open(root: &Path) -> Result<Self, OpenDirectoryError> {
        let failed = |error| OpenDirectoryError::IoError {
            io_error: Arc::new(error),
            directory_path: root.to_owned(),
        };
        fs::create_dir_all(root).map_err(failed)?;
        Ok(Self {
            root: root.to_owned(),
            mapped: MmapDirectory::open(root)?,
        })
    }
}

impl Directory for CacheDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.mapped.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.mapped.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.mapped.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        match File::create_new(self.root.join(path)) {
            Ok(file) => Ok(BufWriter::new(Box::new(Unsynced(file)))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(OpenWriteError::FileAlreadyExists(path.to_owned()))
            }
            Err(error) => Err(OpenWriteError::wrap_io_error(error, path.to_owned())),
        }
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.mapped.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let target = self.root.join(path);
        let beside = target.with_extension("new");
        fs::write(&beside, data)?;
        fs::rename(beside, target)
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.mapped.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.mapped.watch(callback)
    }
}

/// A file whose end is a flush to the operating system, no further.
struct Unsynced(File);

impl Write for Unsynced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl TerminatingWrite for Unsynced {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.0.flush()
    }
}
