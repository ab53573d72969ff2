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

/// Makes the folder, or takes one that is there and empty, for its owner's eyes only. A folder with
/// something in it may be other people's too and is left as it is, with a word in the log.
fn make_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    if !folder.is_dir() {
        return std::fs::DirBuilder::new()
            .recursive(true)
            .mode(PRIVATE)
            .create(folder);
    }
    let mode = std::fs::metadata(folder)?.permissions().mode() & 0o777;
    if mode & !PRIVATE == 0 {
        return Ok(());
    }
    if std::fs::read_dir(folder)?.next().is_none() {
        return std::fs::set_permissions(folder, std::fs::Permissions::from_mode(PRIVATE));
    }
    tracing::warn!(
        folder = %folder.display(),
        mode = format!("{mode:o}"),
        "others can open the data folder; `chmod 700` keeps them out"
    );
    Ok(())
}

/// Mode of a folder that only its owner can open.
const PRIVATE: u32 = 0o700;

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
    fn an_empty_folder_becomes_its_owners_alone_and_another_is_left_as_it_is() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().unwrap();
        let mode = |folder: &Path| folder.metadata().unwrap().permissions().mode() & 0o777;
        for (name, file, expected) in [("empty", None, 0o700), ("full", Some("notes"), 0o755)] {
            let folder = parent.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
            if let Some(file) = file {
                std::fs::write(folder.join(file), "").unwrap();
            }

            drop(Owner::of(&folder).unwrap());

            assert_eq!(mode(&folder), expected, "{name}");
        }
    }

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
