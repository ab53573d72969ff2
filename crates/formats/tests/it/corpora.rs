//! The documents of `QUIPU_CORPORA`, whole and damaged.

use std::fs;
use std::path::{Path, PathBuf};

use formats::document::{Format, Limits, parse};

/// The corpora's documents that have a reference text; empty when there are no corpora.
fn documents() -> Vec<PathBuf> {
    #[expect(
        clippy::disallowed_methods,
        reason = "where the corpora are is told to the tests only"
    )]
    let Some(corpora) = std::env::var_os("QUIPU_CORPORA") else {
        println!("skipped: QUIPU_CORPORA is not set");
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut folders = vec![Path::new(&corpora).join("documents")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if PathBuf::from(format!("{}.expected.md", path.display())).exists() {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn open(path: &Path) -> (Format, String, Vec<u8>) {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let bytes = fs::read(path).unwrap();
    (Format::detect(&name, &bytes).unwrap(), name, bytes)
}

#[test]
fn every_document_of_the_corpora_is_read() {
    for path in documents() {
        let (format, name, bytes) = open(&path);

        let document = parse(format, &name, &bytes, &Limits::default());

        let document = document.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!document.sections.is_empty(), "{name} has no text");
    }
}

#[test]
fn cut_and_damaged_documents_never_panic() {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    // Reproducible, and different for each file and round.
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    for path in documents() {
        let (format, name, bytes) = open(&path);
        for round in 0..6 {
            let mut damaged = bytes.clone();
            match round % 2 {
                0 => damaged.truncate(next() % bytes.len().max(1)),
                _ => {
                    for _ in 0..30 {
                        let at = next() % damaged.len().max(1);
                        damaged[at] = next() as u8;
                    }
                }
            }

            let _ = parse(format, &name, &damaged, &Limits::default());
        }
    }
}
