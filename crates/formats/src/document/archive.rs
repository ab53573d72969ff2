//! Zip archives, read with a bound on what really comes out of them.
//!
//! The sizes an archive declares are checked first, the bytes that come out are counted after:
//! a bomb lies about the former. Names of entries are keys, never paths.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use super::{DocumentError, Limits};

/// An opened archive.
pub(super) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    names: HashMap<String, usize>,
    meter: Meter,
}

/// Counts what comes out of all entries together.
#[derive(Debug, Default)]
struct Meter {
    out: Cell<u64>,
    file: u64,
    passed: Cell<Option<Bound>>,
    limits: Limits,
}

#[derive(Debug, Clone, Copy)]
enum Bound {
    Output,
    Ratio,
}

impl Meter {
    fn bound(&self, out: u64) -> Option<Bound> {
        if out > self.limits.output_bytes {
            return Some(Bound::Output);
        }
        let ratio = self.file.saturating_mul(u64::from(self.limits.ratio));
        (out > Limits::RATIO_FLOOR && out > ratio).then_some(Bound::Ratio)
    }

    fn error(&self, bound: Bound) -> DocumentError {
        match bound {
            Bound::Output => DocumentError::Output {
                limit: self.limits.output_bytes,
            },
            Bound::Ratio => DocumentError::Ratio {
                limit: self.limits.ratio,
            },
        }
    }
}

struct Metered<'m, R> {
    inner: R,
    meter: &'m Meter,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buf)?;
        let out = self.meter.out.get() + read as u64;
        self.meter.out.set(out);
        if let Some(bound) = self.meter.bound(out) {
            self.meter.passed.set(Some(bound));
            return Err(io::Error::other("more than the limit came out"));
        }
        Ok(read)
    }
}

impl<'a> Archive<'a> {
    /// Opens an archive and checks all it declares.
    ///
    /// # Errors
    /// Too many entries, encrypted ones, links, overlaps, or more declared than is read.
    pub(super) fn open(bytes: &'a [u8], limits: &Limits) -> Result<Archive<'a>, DocumentError> {
        // Before the directory is read: a million entries are memory too.
        refuse_entries(declared_entries(bytes), limits)?;
        let mut zip = ZipArchive::new(Cursor::new(bytes)).map_err(|error| broken(&error))?;
        refuse_entries(zip.len() as u64, limits)?;
        let meter = Meter {
            file: bytes.len() as u64,
            limits: limits.clone(),
            ..Meter::default()
        };
        let mut names = HashMap::new();
        let mut declared = 0_u64;
        for index in 0..zip.len() {
            let entry = zip.by_index_raw(index).map_err(|error| broken(&error))?;
            if entry.encrypted() {
                return Err(DocumentError::Encrypted);
            }
            if entry.is_symlink() {
                return Err(DocumentError::Link);
            }
            declared = declared.saturating_add(entry.size());
            if let Ok(name) = entry.name() {
                names.insert(key(&name), index);
            }
        }
        if let Some(bound) = meter.bound(declared) {
            return Err(meter.error(bound));
        }
        if zip.has_overlapping_entries().unwrap_or(true) {
            return Err(DocumentError::Overlap);
        }
        Ok(Archive { zip, names, meter })
    }

    /// Whether there is an entry of this name, case aside.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains_key(&key(name))
    }

    /// The names of all entries, lower case, in order.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.names.keys().cloned().collect();
        names.sort();
        names
    }

    /// Reads the entry `name` as a stream; `None` if there is none.
    pub(super) fn stream<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut dyn BufRead) -> Result<T, DocumentError>,
    ) -> Result<Option<T>, DocumentError> {
        let Some(&index) = self.names.get(&key(name)) else {
            return Ok(None);
        };
        let entry = self.zip.by_index(index).map_err(|error| broken(&error))?;
        let mut stream = BufReader::with_capacity(
            64 << 10,
            Metered {
                inner: entry,
                meter: &self.meter,
            },
        );
        let value = read(&mut stream);
        // The limit was the cause, whatever the reader made of the error.
        match self.meter.passed.get() {
            Some(bound) => Err(self.meter.error(bound)),
            None => value.map(Some),
        }
    }

    /// The whole entry `name`; `None` if there is none.
    pub(super) fn bytes(&mut self, name: &str) -> Result<Option<Vec<u8>>, DocumentError> {
        let part = name.to_owned();
        self.stream(name, |stream| {
            let mut bytes = Vec::new();
            match stream.read_to_end(&mut bytes) {
                Ok(_) => Ok(bytes),
                Err(_) => Err(DocumentError::broken(format!(
                    "`{part}` cannot be unpacked"
                ))),
            }
        })
    }
}

/// Entries that the end of the archive declares; 0 when it has no end.
fn declared_entries(bytes: &[u8]) -> u64 {
    let tail = bytes.len().saturating_sub((64 << 10) + 22);
    let at = bytes[tail..]
        .windows(4)
        .rposition(|window| window == b"PK\x05\x06");
    let count = at.and_then(|at| bytes.get(tail + at + 10..tail + at + 12));
    match count {
        // 65,535 says "see the 64 bit record".
        Some(&[0xFF, 0xFF]) | None => 0,
        Some(count) => u64::from(u16::from_le_bytes([count[0], count[1]])),
    }
}

fn refuse_entries(found: u64, limits: &Limits) -> Result<(), DocumentError> {
    if found > u64::from(limits.entries) {
        Err(DocumentError::Entries {
            found,
            limit: limits.entries,
        })
    } else {
        Ok(())
    }
}

fn key(name: &str) -> String {
    name.trim_start_matches('/')
        .replace('\\', "/")
        .to_lowercase()
}

fn broken(error: &ZipError) -> DocumentError {
    match error {
        ZipError::UnsupportedArchive(reason) if reason.contains("assword") => {
            DocumentError::Encrypted
        }
        _ => DocumentError::broken(format!("the archive cannot be read ({error})")),
    }
}
