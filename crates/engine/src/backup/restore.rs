//! Putting a backup back, into an empty place.

use std::path::Path;

use store::blobs::{BlobKey, Blobs, Staged};
use store::rows::{self, Table};
use store::{Db, StoreError, holds};
use tokio::io::{AsyncReadExt, AsyncSeekExt, SeekFrom};

use super::manifest::{BLOBS, Described, FileEntry, ROWS};
use super::{BackupError, Checked, Progress};

/// What was put back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Restored {
    /// Rows of all tables.
    pub rows: u64,
}

/// Bytes of a document read at once.
const PART: usize = 256 << 10;

/// Keeps the backup's documents in `blobs`, each under the hash of its bytes.
///
/// Those that were damaged when the backup was made are kept under the name that rows know them
/// by only if they are what it says, so they are left out.
///
/// # Errors
/// If one cannot be read or kept.
pub async fn restore_blobs(
    file: &Path,
    checked: &Checked,
    blobs: &Blobs,
    mut told: impl FnMut(Progress),
) -> Result<(), BackupError> {
    let mut source = open(file).await?;
    let mut progress = Progress::default();
    for (entry, place) in files(checked, BLOBS) {
        let path = &entry.path[BLOBS.len()..];
        let Some(key) = BlobKey::parse(path) else {
            return Err(BackupError::Unsound(format!(
                "`{}` is no name of a document's file",
                entry.path
            )));
        };
        let staged = stage(&mut source, (entry, place), blobs, |read| {
            progress.blob_bytes += read;
            told(progress);
        })
        .await?;
        if staged.hash == key.hash {
            blobs.keep(staged, key.tenant, key.kb).await?;
        }
    }
    Ok(())
}

/// Takes a document's bytes out of an archive.
pub(crate) async fn stage(
    source: &mut tokio::fs::File,
    (entry, place): (&FileEntry, u64),
    blobs: &Blobs,
    mut told: impl FnMut(u64),
) -> Result<Staged, BackupError> {
    seek(source, place).await?;
    let mut staging = blobs.stage(entry.size).await.map_err(kept)?;
    let mut part = vec![0; PART];
    let mut left = entry.size;
    while left > 0 {
        let most = left.min(PART as u64) as usize;
        let read = source.read(&mut part[..most]).await.map_err(unreadable)?;
        if read == 0 {
            return Err(unreadable(std::io::ErrorKind::UnexpectedEof.into()));
        }
        staging.write(&part[..read]).await.map_err(kept)?;
        left -= read as u64;
        told(read as u64);
    }
    staging.finish().await.map_err(kept)
}

/// The text of a file of rows.
pub(crate) async fn read_rows(
    source: &mut tokio::fs::File,
    (entry, place): (&FileEntry, u64),
) -> Result<String, BackupError> {
    seek(source, place).await?;
    let mut bytes = vec![0; entry.size as usize];
    source.read_exact(&mut bytes).await.map_err(unreadable)?;
    String::from_utf8(bytes)
        .map_err(|_| BackupError::Unsound(format!("`{}` is no UTF-8 text", entry.path)))
}

/// The table of a file of rows.
pub(crate) fn table_of(entry: &FileEntry) -> &str {
    let file = entry.path.strip_prefix(ROWS).unwrap_or_default();
    file.split('/').next().unwrap_or_default()
}

/// Loads the backup's rows into an empty store whose schema is the backup's, in one transaction.
///
/// # Errors
/// If a row cannot be loaded, or a table does not get as many rows as the manifest says; nothing
/// stays then.
pub async fn load(
    file: &Path,
    checked: &Checked,
    db: &Db,
    mut told: impl FnMut(Progress),
) -> Result<Restored, BackupError> {
    let tables: &'static [Table] = Box::leak(rows::tables_at(checked.manifest.schema.len()).into());
    let mut source = open(file).await?;
    let mut counts: Vec<u64> = vec![0; tables.len()];
    let mut progress = Progress::default();
    let mut tx = db.write_directory().await?;
    for (entry, place) in files(checked, ROWS) {
        let name = table_of(entry);
        let Some(number) = tables.iter().position(|table| table.name() == name) else {
            return Err(BackupError::Unsound(format!(
                "`{}` is of a table that its schema does not have",
                entry.path
            )));
        };
        let lines = read_rows(&mut source, (entry, place)).await?;
        let loaded = rows::load(&mut tx, &tables[number], &lines)
            .await
            .map_err(|source| BackupError::Row {
                path: entry.path.clone(),
                source,
            })?;
        counts[number] += loaded;
        progress.rows += loaded;
        told(progress);
    }
    for (table, &count) in tables.iter().zip(&counts) {
        let said = checked
            .manifest
            .tables
            .get(table.name())
            .copied()
            .unwrap_or(0);
        if said != count {
            return Err(BackupError::Unsound(format!(
                "it holds {count} rows of `{}`, where the manifest says {said}",
                table.name()
            )));
        }
    }
    // Whoever held files of the other deployment does not hold any of this one.
    holds::clear(&mut tx).await?;
    tx.commit().await?;
    Ok(Restored {
        rows: counts.iter().sum(),
    })
}

/// The files of an archive that are below a folder, each with its place.
pub(crate) fn files<'a, M: Described>(
    checked: &'a Checked<M>,
    folder: &str,
) -> impl Iterator<Item = (&'a FileEntry, u64)> {
    let all = checked
        .manifest
        .files()
        .iter()
        .zip(checked.places.iter().copied());
    all.filter(move |(entry, _)| entry.path.starts_with(folder))
}

pub(crate) async fn open(file: &Path) -> Result<tokio::fs::File, BackupError> {
    let opened = tokio::fs::File::open(file).await;
    opened.map_err(unreadable)
}

async fn seek(source: &mut tokio::fs::File, place: u64) -> Result<(), BackupError> {
    let sought = source.seek(SeekFrom::Start(place)).await;
    sought.map(drop).map_err(unreadable)
}

fn unreadable(source: std::io::Error) -> BackupError {
    BackupError::Io {
        what: "read it".to_owned(),
        source,
    }
}

pub(crate) fn kept(error: store::blobs::BlobError) -> BackupError {
    BackupError::Store(match error {
        store::blobs::BlobError::Store(error) => error,
        other => StoreError::failed("keep a document's file", other),
    })
}
