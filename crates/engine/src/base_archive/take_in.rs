//! Taking a base in that was archived elsewhere, under its own ids.

use std::collections::BTreeMap;
use std::path::Path;

use model::TenantId;
use store::base_rows::{self, BaseTable, Lines};
use store::blobs::{BlobKey, Blobs};
use store::rows::LoadError;
use store::{StoreError, Tx, check_schema, known_schema};

use super::Manifest;
use crate::backup::check::check_as;
use crate::backup::manifest::{ABOUT, BLOBS, ROWS};
use crate::backup::restore::{files, open, read_rows as text_of, stage, table_of};
use crate::backup::{BackupError, Checked, FileEntry, Progress};
use crate::soundness;

/// How many rows an archive was found to hold, table by table.
pub type Read = BTreeMap<&'static str, u64>;

/// Reads an archive of a base from its first byte to its last, and holds it against its manifest.
///
/// # Errors
/// If it is no archive of a base, ends early, is of a newer form or another schema, or if a file is
/// missing, left over, out of place, or not as its manifest says; the file is named.
pub fn check(
    source: impl std::io::Read,
    told: impl FnMut(Progress),
) -> Result<Checked<Manifest>, BackupError> {
    let checked: Checked<Manifest> = check_as(source, told)?;
    let manifest = &checked.manifest;
    let pending = check_schema(&manifest.schema)
        .map_err(|error| unsound(format!("it cannot be taken in here: {error}")))?;
    if let (Some(first), Some(last)) = (pending.first(), known_schema().last()) {
        return Err(unsound(format!(
            "quipu {} made it under the schema before migration {} `{}`, and this version has {}: \
             take it in with that version, upgrade there, and export again",
            manifest.product_version, first.number, first.name, last.number
        )));
    }
    for file in &manifest.files {
        if !is_in_place(&file.path) {
            let path = &file.path;
            return Err(unsound(format!(
                "`{path}` is no file of an archive of a base"
            )));
        }
    }
    Ok(checked)
}

fn is_in_place(path: &str) -> bool {
    let is_numbered = |file: &str| {
        let number = file.strip_suffix(".jsonl");
        number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
    };
    if let Some(path) = path.strip_prefix(ROWS) {
        return path
            .split_once('/')
            .is_some_and(|(table, file)| table_named(table).is_some() && is_numbered(file));
    }
    path == ABOUT
        || path
            .strip_prefix(BLOBS)
            .is_some_and(|hex| hash_of(hex).is_some())
}

fn table_named(name: &str) -> Option<&'static BaseTable> {
    base_rows::tables()
        .iter()
        .find(|table| table.name() == name)
}

/// The hash that 64 lower case hexadecimal digits write.
fn hash_of(hex: &str) -> Option<[u8; 32]> {
    let digits = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if hex.len() != 64 || !hex.bytes().all(digits) {
        return None;
    }
    let mut hash = [0; 32];
    for (n, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).ok()?;
    }
    Some(hash)
}

/// Reads every row of an archive without keeping any; how many there are.
///
/// # Errors
/// If a line is no row of its table; the file and the line are named.
pub async fn read_rows(file: &Path, checked: &Checked<Manifest>) -> Result<Read, BackupError> {
    let mut source = open(file).await?;
    let mut read = Read::new();
    for (entry, place) in files(checked, ROWS) {
        let lines = lines_of(entry, &text_of(&mut source, (entry, place)).await?)?;
        *read.entry(lines.table()).or_default() += lines.count();
    }
    Ok(read)
}

fn lines_of(entry: &FileEntry, text: &str) -> Result<Lines, BackupError> {
    let table = table_named(table_of(entry));
    let table = table.ok_or_else(|| unsound(format!("`{}` is of no table", entry.path)))?;
    Lines::of(table, text).map_err(|source| row(entry, source))
}

/// Keeps the archive's documents for its base; what was kept. Those that were damaged when it was
/// made are left out.
///
/// # Errors
/// If one cannot be read or kept; [`forget_blobs`] takes back what was.
pub async fn keep_blobs(
    file: &Path,
    checked: &Checked<Manifest>,
    blobs: &Blobs,
    tenant: TenantId,
    kept: &mut Vec<BlobKey>,
) -> Result<(), BackupError> {
    let kb = checked.manifest.base.id;
    let mut source = open(file).await?;
    for (entry, place) in files(checked, BLOBS) {
        let staged = stage(&mut source, (entry, place), blobs, |_| ()).await?;
        let named = entry.path.strip_prefix(BLOBS).and_then(hash_of);
        if named == Some(staged.hash) {
            kept.push(blobs.keep(staged, tenant, kb).await?);
        }
    }
    Ok(())
}

/// Takes back what [`keep_blobs`] kept, for a base that did not come to be. What cannot be deleted
/// now is swept up in a day, as nothing refers to it.
pub async fn forget_blobs(blobs: &Blobs, kept: &[BlobKey]) {
    for key in kept {
        if let Err(error) = blobs.delete(key).await {
            tracing::warn!(%error, "a file of a base that was not taken in is left to the sweep");
        }
    }
}

/// Loads the archive's rows for a base that is not there. Its documents are kept already.
///
/// # Errors
/// `Unique` if the base's id or its slug is taken; if a row cannot be loaded, or rows do not hold
/// together. The transaction is then to be dropped.
pub async fn load(
    tx: &mut Tx,
    file: &Path,
    checked: &Checked<Manifest>,
) -> Result<(), BackupError> {
    let base = &checked.manifest.base;
    base_rows::insert(tx, base).await?;
    // The one file that is read within a writing transaction. It is on this machine, and the rows
    // of a base may be more than fit into memory.
    let mut source = open(file).await?;
    for (entry, place) in files(checked, ROWS) {
        let lines = lines_of(entry, &text_of(&mut source, (entry, place)).await?)?;
        match lines.load(tx, base.id).await {
            Ok(()) => {}
            Err(StoreError::Unique(table)) => {
                let path = &entry.path;
                return Err(unsound(format!("`{path}` holds a row of `{table}` twice")));
            }
            Err(error) => return Err(row(entry, error.into())),
        }
    }
    let broken = soundness::rows_of(tx, base.id).await;
    let broken = broken.map_err(|error| StoreError::failed("check what was loaded", error))?;
    match broken.first() {
        None => Ok(()),
        Some(broken) => Err(unsound(format!(
            "it holds {}: {}",
            broken.says,
            broken.places.join("; ")
        ))),
    }
}

fn row(entry: &FileEntry, source: LoadError) -> BackupError {
    BackupError::Row {
        path: entry.path.clone(),
        source,
    }
}

fn unsound(why: String) -> BackupError {
    BackupError::Unsound(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rows_of_kept_tables_and_blobs_by_their_hash_are_in_place() {
        let hash = "0123456789abcdef".repeat(4);
        for path in [
            "about.json".to_owned(),
            "rows/fact/000001.jsonl".to_owned(),
            format!("blobs/{hash}"),
        ] {
            assert!(is_in_place(&path), "{path}");
        }
        for path in [
            "rows/audit/000001.jsonl".to_owned(),
            "rows/fact/x/000001.jsonl".to_owned(),
            "rows/fact".to_owned(),
            "rows/fact/one.jsonl".to_owned(),
            "blobs/../fact".to_owned(),
            format!("blobs/{}", hash.to_uppercase()),
            format!("blobs/x/{hash}"),
            "passwd".to_owned(),
        ] {
            assert!(!is_in_place(&path), "{path}");
        }
    }
}
