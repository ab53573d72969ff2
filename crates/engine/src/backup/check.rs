//! Reading a backup from its first byte to its last, and holding it against its manifest.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::Component;

use sha2::{Digest, Sha256};

use super::BackupError;
use super::manifest::{
    ABOUT, About, BLOBS, Described, FileEntry, MANIFEST, MANIFEST_HASH, Manifest, ROWS, Tally, hex,
};

/// Bytes read at once.
const PART: usize = 128 << 10;

/// How far the reading is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// How much there is, once that is known.
    pub about: Option<About>,
    /// Rows read.
    pub rows: u64,
    /// Bytes of documents read.
    pub blob_bytes: u64,
}

/// An archive that is whole and as it was written: a backup, unless it says otherwise.
#[derive(Debug)]
pub struct Checked<M = Manifest> {
    /// What it says about itself.
    pub manifest: M,
    /// Where each file of the manifest begins, in bytes from the start, in the same order.
    pub(crate) places: Vec<u64>,
}

/// What a file of a backup was found to be.
struct Seen {
    place: u64,
    size: u64,
    sha256: String,
}

/// Reads a backup, and says how far it is.
///
/// # Errors
/// If it is no backup, ends early, is of a newer form, or if a file is missing, left over, or not
/// as its manifest says; the file is named.
pub fn check(source: impl Read, told: impl FnMut(Progress)) -> Result<Checked, BackupError> {
    check_as(source, told)
}

/// Reads an archive of any kind, and says how far it is.
pub(crate) fn check_as<M: Described>(
    source: impl Read,
    mut told: impl FnMut(Progress),
) -> Result<Checked<M>, BackupError> {
    let mut archive = tar::Archive::new(source);
    let mut progress = Progress::default();
    let mut seen: HashMap<String, Seen> = HashMap::new();
    let mut held = Held::default();
    let (mut manifest, mut noted) = (None, None);
    for entry in archive.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let path = path_of(&entry)?;
        let (place, size) = (entry.raw_file_position(), entry.size());
        let mut kept = Vec::new();
        let keep = matches!(path.as_str(), ABOUT | MANIFEST | MANIFEST_HASH);
        let hash = read_through(&mut entry, |part| {
            if keep {
                kept.extend_from_slice(part);
            } else if let Some(file) = path.strip_prefix(ROWS) {
                let rows = memchr::memchr_iter(b'\n', part).count() as u64;
                progress.rows += rows;
                held.rows(file, rows);
            } else if path.starts_with(BLOBS) {
                progress.blob_bytes += part.len() as u64;
            }
            told(progress);
        })?;
        if path.starts_with(BLOBS) {
            held.blobs.count += 1;
            held.blobs.bytes += size;
        }
        match path.as_str() {
            MANIFEST => manifest = Some((kept, hash)),
            MANIFEST_HASH => noted = Some(String::from_utf8_lossy(&kept).into_owned()),
            _ => {
                if path == ABOUT {
                    progress.about = serde_json::from_slice(&kept).ok();
                    told(progress);
                }
                let found = Seen {
                    place,
                    size,
                    sha256: hash,
                };
                if seen.insert(path.clone(), found).is_some() {
                    return Err(unsound(format!("it holds `{path}` twice")));
                }
            }
        }
    }
    let (Some((text, hash)), Some(noted)) = (manifest, noted) else {
        let called = M::CALLED;
        return Err(unsound(if seen.is_empty() {
            format!("it is no {called}")
        } else {
            format!("it ends before its manifest: it was cut off, or is no {called}")
        }));
    };
    if noted.split_whitespace().next() != Some(hash.as_str()) {
        return Err(unsound(
            "`manifest.json` is not what `manifest.sha256` says",
        ));
    }
    let manifest: M = read_manifest(&text)?;
    let places = compare(manifest.files(), seen)?;
    held.compare(manifest.tables(), manifest.blobs())?;
    Ok(Checked { manifest, places })
}

/// The path of a file, which leads nowhere but into the archive.
fn path_of(entry: &tar::Entry<'_, impl Read>) -> Result<String, BackupError> {
    let path = entry.path().map_err(unreadable)?;
    let shown = path.to_string_lossy().into_owned();
    let is_plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if !is_plain || entry.header().entry_type() != tar::EntryType::Regular {
        return Err(unsound(format!(
            "it holds `{shown}`, which is no plain file"
        )));
    }
    Ok(shown)
}

/// How much an archive was found to hold.
#[derive(Default)]
struct Held {
    tables: BTreeMap<String, u64>,
    blobs: Tally,
}

impl Held {
    /// Counts rows of a file below `rows/`, which begins with its table.
    fn rows(&mut self, file: &str, rows: u64) {
        let table = file.split('/').next().unwrap_or_default();
        match self.tables.get_mut(table) {
            Some(count) => *count += rows,
            None => drop(self.tables.insert(table.to_owned(), rows)),
        }
    }

    fn compare(&self, tables: &BTreeMap<String, u64>, blobs: Tally) -> Result<(), BackupError> {
        let counted = |table: &String| self.tables.get(table).copied().unwrap_or(0);
        let said = |table: &String| tables.get(table).copied().unwrap_or(0);
        for table in tables.keys().chain(self.tables.keys()) {
            let (counted, said) = (counted(table), said(table));
            if counted != said {
                return Err(unsound(format!(
                    "it holds {counted} rows of `{table}`, where the manifest says {said}"
                )));
            }
        }
        if self.blobs != blobs {
            return Err(unsound(format!(
                "it holds {} files of documents with {} bytes, where the manifest says {} with {}",
                self.blobs.count, self.blobs.bytes, blobs.count, blobs.bytes
            )));
        }
        Ok(())
    }
}

/// Reads to the end, part by part; SHA-256 of it.
fn read_through(
    source: &mut impl Read,
    mut each: impl FnMut(&[u8]),
) -> Result<String, BackupError> {
    let mut hash = Sha256::new();
    let mut part = vec![0; PART];
    loop {
        let read = source.read(&mut part).map_err(unreadable)?;
        if read == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(&part[..read]);
        each(&part[..read]);
    }
}

/// What every form has had and will have.
#[derive(serde::Deserialize)]
struct Form {
    format: String,
    format_version: u32,
    product_version: String,
}

fn read_manifest<M: Described>(text: &[u8]) -> Result<M, BackupError> {
    let no_manifest = |error| unsound(format!("`manifest.json` cannot be read: {error}"));
    let form: Form = serde_json::from_slice(text).map_err(no_manifest)?;
    if form.format != M::FORMAT {
        return Err(unsound(format!(
            "it is no {}: it says that it is `{}`",
            M::CALLED,
            form.format.chars().take(40).collect::<String>()
        )));
    }
    if form.format_version > M::FORMAT_VERSION {
        return Err(unsound(format!(
            "quipu {} made it in form {}, and this version knows forms up to {}; \
             install that version or a later one",
            form.product_version,
            form.format_version,
            M::FORMAT_VERSION
        )));
    }
    serde_json::from_slice(text).map_err(no_manifest)
}

/// Where each file of the manifest is.
fn compare(files: &[FileEntry], mut seen: HashMap<String, Seen>) -> Result<Vec<u64>, BackupError> {
    let mut places = Vec::with_capacity(files.len());
    for file in files {
        let path = &file.path;
        let Some(found) = seen.remove(path) else {
            return Err(unsound(format!("`{path}` is missing from it")));
        };
        if found.size != file.size {
            return Err(unsound(format!(
                "`{path}` has {} bytes, where the manifest says {}",
                found.size, file.size
            )));
        }
        if found.sha256 != file.sha256 {
            return Err(unsound(format!(
                "`{path}` is not what was written: its SHA-256 is {}, where the manifest says {}",
                found.sha256, file.sha256
            )));
        }
        places.push(found.place);
    }
    match seen.into_keys().min() {
        Some(path) => Err(unsound(format!("its manifest does not know `{path}`"))),
        None => Ok(places),
    }
}

fn unsound(why: impl Into<String>) -> BackupError {
    BackupError::Unsound(why.into())
}

fn unreadable(source: std::io::Error) -> BackupError {
    match source.kind() {
        // The reader of tar files says so of what is cut off or is none.
        std::io::ErrorKind::Other
        | std::io::ErrorKind::UnexpectedEof
        | std::io::ErrorKind::InvalidData => unsound(format!("it is no whole tar file: {source}")),
        _ => BackupError::Io {
            what: "read it".to_owned(),
            source,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_backup_is_told_so() {
        let told = |bytes: &[u8]| check(bytes, |_| ()).unwrap_err().to_string();
        assert!(told(b"").contains("no backup of quipu"));
        assert!(told(&[0; 1024]).contains("no backup of quipu"));
        assert!(told(&[b'x'; 3000]).contains("no whole tar file"));
    }

    #[test]
    fn a_newer_form_is_refused_by_the_version_that_made_it() {
        let newer = br#"{"format":"quipu-backup","format_version":2,"product_version":"9.1"}"#;
        let told = read_manifest::<Manifest>(newer).unwrap_err().to_string();
        assert!(told.contains("quipu 9.1 made it in form 2"), "{told}");
    }
}
