//! Reading a backup from its first byte to its last, and holding it against its manifest.

use std::collections::HashMap;
use std::io::Read;

use sha2::{Digest, Sha256};

use super::BackupError;
use super::manifest::{
    ABOUT, About, BLOBS, FORMAT, FORMAT_VERSION, MANIFEST, MANIFEST_HASH, Manifest, ROWS, hex,
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

/// A backup that is whole and as it was written.
#[derive(Debug)]
pub struct Checked {
    /// What it says about itself.
    pub manifest: Manifest,
    /// Where each file of the manifest begins, in bytes from the start, in the same order.
    pub(super) places: Vec<u64>,
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
pub fn check(source: impl Read, mut told: impl FnMut(Progress)) -> Result<Checked, BackupError> {
    let mut archive = tar::Archive::new(source);
    let mut progress = Progress::default();
    let mut seen: HashMap<String, Seen> = HashMap::new();
    let (mut manifest, mut noted) = (None, None);
    for entry in archive.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let path = entry
            .path()
            .map_err(unreadable)?
            .to_string_lossy()
            .into_owned();
        let (place, size) = (entry.raw_file_position(), entry.size());
        let mut kept = Vec::new();
        let keep = matches!(path.as_str(), ABOUT | MANIFEST | MANIFEST_HASH);
        let hash = read_through(&mut entry, |part| {
            if keep {
                kept.extend_from_slice(part);
            } else if path.starts_with(ROWS) {
                progress.rows += memchr::memchr_iter(b'\n', part).count() as u64;
            } else if path.starts_with(BLOBS) {
                progress.blob_bytes += part.len() as u64;
            }
            told(progress);
        })?;
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
        let why = if seen.is_empty() {
            "it is no backup of quipu"
        } else {
            "it ends before its manifest: it was cut off, or is no backup of quipu"
        };
        return Err(unsound(why));
    };
    if noted.split_whitespace().next() != Some(hash.as_str()) {
        return Err(unsound(
            "`manifest.json` is not what `manifest.sha256` says",
        ));
    }
    let manifest = read_manifest(&text)?;
    let places = compare(&manifest, seen)?;
    Ok(Checked { manifest, places })
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

fn read_manifest(text: &[u8]) -> Result<Manifest, BackupError> {
    let no_manifest = |error| unsound(format!("`manifest.json` cannot be read: {error}"));
    let form: Form = serde_json::from_slice(text).map_err(no_manifest)?;
    if form.format != FORMAT {
        return Err(unsound("it is no backup of quipu"));
    }
    if form.format_version > FORMAT_VERSION {
        return Err(unsound(format!(
            "quipu {} made it in form {}, and this version knows forms up to {FORMAT_VERSION}; \
             install that version or a later one",
            form.product_version, form.format_version
        )));
    }
    serde_json::from_slice(text).map_err(no_manifest)
}

/// Where each file of the manifest is.
fn compare(manifest: &Manifest, mut seen: HashMap<String, Seen>) -> Result<Vec<u64>, BackupError> {
    let mut places = Vec::with_capacity(manifest.files.len());
    for file in &manifest.files {
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
            what: "read the backup".to_owned(),
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
        let told = read_manifest(newer).unwrap_err().to_string();
        assert!(told.contains("quipu 9.1 made it in form 2"), "{told}");
    }
}
