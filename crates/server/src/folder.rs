//! The data folder and its one owner.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// Name of the lock inside the folder.
const LOCK: &str = "lock";
/// Name of the owner's socket inside the folder.
const SOCKET: &str = "control.sock";

/// Holding it is being the folder's owner; dropping it gives it up.
pub struct Owner {
    _lock: File,
}

/// Why the folder cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Somebody else owns it.
    #[error(
        "the data folder {0} is in use by another process; stop it, or act through it (it serves {0}/{SOCKET})"
    )]
    InUse(PathBuf),
    /// It cannot be made or opened.
    #[error("cannot use the data folder {path}: {source}")]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

impl Owner {
    /// Makes the folder if needed and takes its lock.
    ///
    /// # Errors
    /// If it is in use or cannot be used.
    pub fn of(folder: &Path) -> Result<Self, FolderError> {
        let unusable = |source| FolderError::Unusable {
            path: folder.to_owned(),
            source,
        };
        make_private(folder).map_err(unusable)?;
        let lock = File::options()
            .create(true)
            .write(true)
            .truncate(false)
            .open(folder.join(LOCK))
            .map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(FolderError::InUse(folder.to_owned())),
            Err(TryLockError::Error(source)) => Err(unusable(source)),
        }
    }
}

fn make_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if folder.is_dir() {
        return Ok(());
    }
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

/// Path of the owner's socket.
pub fn socket(folder: &Path) -> PathBuf {
    folder.join(SOCKET)
}

/// Whether somebody answers on the folder's socket now.
pub fn has_living_owner(folder: &Path) -> bool {
    std::os::unix::net::UnixStream::connect(socket(folder)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_folder_has_one_owner_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("deep/data");

        let owner = Owner::of(&folder).unwrap();
        assert!(matches!(Owner::of(&folder), Err(FolderError::InUse(_))));
        drop(owner);

        assert!(Owner::of(&folder).is_ok());
    }
}
