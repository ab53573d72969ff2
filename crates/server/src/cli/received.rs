//! Files that come part by part, kept only if they are whole.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use engine::backup::BackupError;
use tempfile::NamedTempFile;
use tokio::sync::mpsc::{self, Receiver};

use super::Failure;
use super::house::{Ask, House};

/// Where a file goes that comes part by part.
pub enum Destination {
    File(PathBuf),
    Folder(PathBuf),
    Output,
}

impl Destination {
    /// Refuses what would be overwritten or cannot be written.
    pub fn of(word: &str) -> Result<Self, Failure> {
        if word == "-" {
            return Ok(Self::Output);
        }
        let path = PathBuf::from(word);
        if path.is_dir() {
            return Ok(Self::Folder(path));
        }
        if path.exists() {
            return Err(Failure::wrong(format!(
                "{word} is there already, and nothing is written over; take another name"
            )));
        }
        let folder = folder_of(&path);
        if folder.is_dir() {
            return Ok(Self::File(path));
        }
        Err(Failure::wrong(format!(
            "{} is no folder, so {word} cannot be written",
            folder.display()
        )))
    }

    fn folder(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(folder_of(path)),
            Self::Folder(path) => Some(path),
            Self::Output => None,
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A file that has arrived whole and has no name yet.
pub struct Arrived<T> {
    partial: Option<NamedTempFile>,
    /// Bytes of it.
    pub bytes: u64,
    /// What was read of it on the way.
    read: T,
}

impl<T> Arrived<T> {
    /// Gives the file its name; where it is then, unless it went to standard output. In a folder it
    /// is called by what was read of it.
    ///
    /// # Errors
    /// If it cannot be written, or something has that name by now.
    pub fn keep(
        self,
        destination: &Destination,
        called: impl FnOnce(&T) -> String,
    ) -> Result<(Option<PathBuf>, T), Failure> {
        let path = match (self.partial, destination) {
            (Some(partial), Destination::File(path)) => Some(keep(partial, path)?),
            (Some(partial), Destination::Folder(folder)) => {
                Some(keep(partial, &folder.join(called(&self.read)))?)
            }
            _ => None,
        };
        Ok((path, self.read))
    }
}

/// Writes what comes, and reads it on the way.
///
/// # Errors
/// If it breaks off, cannot be written, or is not what it should be; nothing is kept then.
pub async fn receive<T: Send + 'static>(
    house: &House,
    ask: Ask,
    destination: &Destination,
    read: impl FnOnce(&mut dyn Read) -> Result<T, BackupError> + Send + 'static,
) -> Result<Arrived<T>, Failure> {
    let partial = match destination.folder() {
        Some(folder) => Some(partial_in(folder).map_err(|error| cannot_write(folder, &error))?),
        None => None,
    };
    let mut arriving = house.flow(ask).await?;
    let out: Box<dyn Write + Send> = match &partial {
        Some(partial) => {
            let file = partial.as_file().try_clone();
            Box::new(file.map_err(|error| cannot_write(partial.path(), &error))?)
        }
        None => Box::new(io::stdout()),
    };
    let (parts, taken) = mpsc::channel(8);
    let taking = tokio::task::spawn_blocking(move || take(taken, out, read));
    let arrived = async {
        while let Some(part) = arriving.next().await? {
            // Whoever takes it has failed, and says why below.
            if parts.send(part).await.is_err() {
                break;
            }
        }
        Ok(())
    };
    let arrived: Result<(), Failure> = arrived.await;
    drop(parts);
    let taken = taking
        .await
        .map_err(|error| Failure::local(error.to_string()))?;
    arrived?;
    let place = destination.folder().unwrap_or(Path::new("standard output"));
    let (read, bytes) = match taken {
        Ok(taken) => taken,
        Err(NotTaken::Written(error)) => return Err(cannot_write(place, &error)),
        Err(NotTaken::Unsound(error)) => {
            return Err(Failure::local(format!("it did not arrive whole: {error}")));
        }
    };
    Ok(Arrived {
        partial,
        bytes,
        read,
    })
}

fn partial_in(folder: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".quipu-")
        .suffix(".partial")
        .tempfile_in(folder)
}

/// Gives the file its name once it is on disk.
fn keep(partial: NamedTempFile, path: &Path) -> Result<PathBuf, Failure> {
    let keep = || -> io::Result<()> {
        partial.as_file().sync_all()?;
        partial
            .persist_noclobber(path)
            .map_err(|error| error.error)?;
        File::open(folder_of(path))?.sync_all()
    };
    keep().map_err(|error| cannot_write(path, &error))?;
    Ok(path.to_owned())
}

fn cannot_write(place: &Path, error: &io::Error) -> Failure {
    let place = place.display();
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Failure::full(format!(
            "the disk of {place} is full; nothing of it was kept"
        )),
        io::ErrorKind::AlreadyExists => Failure::wrong(format!(
            "{place} is there by now, and nothing is written over; take another name"
        )),
        _ => Failure::local(format!("cannot write to {place}: {error}")),
    }
}

/// Why a file was not taken.
enum NotTaken {
    Written(io::Error),
    Unsound(BackupError),
}

/// The parts of a file as a reader, each written out when it is reached.
struct Taking<'a> {
    parts: Receiver<Bytes>,
    part: Bytes,
    out: &'a mut (dyn Write + Send),
    bytes: u64,
    failed: Option<io::Error>,
}

impl Read for Taking<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.part.is_empty() {
            let Some(part) = self.parts.blocking_recv() else {
                return Ok(0);
            };
            if let Err(error) = self.out.write_all(&part) {
                self.failed = Some(error);
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            self.bytes += part.len() as u64;
            self.part = part;
        }
        let count = buffer.len().min(self.part.len());
        buffer[..count].copy_from_slice(&self.part.split_to(count));
        Ok(count)
    }
}

/// Writes what arrives and reads it on the way; what was read and how many bytes it was.
fn take<T>(
    parts: Receiver<Bytes>,
    mut out: Box<dyn Write + Send>,
    read: impl FnOnce(&mut dyn Read) -> Result<T, BackupError>,
) -> Result<(T, u64), NotTaken> {
    let mut taking = Taking {
        parts,
        part: Bytes::new(),
        out: &mut *out,
        bytes: 0,
        failed: None,
    };
    let was_read = read(&mut taking);
    // The reader of an archive stops at its end mark; what fills it up comes after that.
    let rest = was_read
        .is_ok()
        .then(|| io::copy(&mut taking, &mut io::sink()));
    let bytes = taking.bytes;
    if let Some(error) = taking.failed {
        return Err(NotTaken::Written(error));
    }
    if let Some(Err(error)) = rest {
        return Err(NotTaken::Written(error));
    }
    let was_read = was_read.map_err(NotTaken::Unsound)?;
    out.flush().map_err(NotTaken::Written)?;
    Ok((was_read, bytes))
}
