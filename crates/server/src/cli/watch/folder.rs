//! A folder as it is now: what lies in it, and the bytes of a file, never by way of a link.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// What tells, without reading it, that a file is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Bytes.
    pub size: u64,
    /// When it was written last: UTC microseconds since 1970.
    pub modified: i64,
    inode: u64,
}

/// Which folder it is: another one may be mounted at its path, or it may be unmounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
}

/// A folder that is looked into.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
}

/// What lies in a folder.
#[derive(Debug, Default)]
pub struct Look {
    /// Its files by their path below the folder, with slashes.
    pub files: BTreeMap<String, Stamp>,
    /// What is passed over and why: links, what is no file, names that are no text.
    pub passed: BTreeMap<String, String>,
    /// Folders below that could not be read, and why: nobody knows what is in them.
    pub unread: BTreeMap<String, String>,
}

impl Look {
    /// Whether it is not known what lies at a path.
    pub fn is_unsure_of(&self, path: &str) -> bool {
        self.unread.keys().any(|folder| is_below(path, folder))
    }
}

/// Why a file's bytes were not had.
#[derive(Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is not there any more, or was written to meanwhile; another look will tell.
    Changed,
    /// The reason, which another look will not change.
    Refused(String),
}

/// Whether `path` is `folder` or lies below it.
pub fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a file or folder of that name is passed over without a word: hidden, or what editors
/// and browsers leave while they work.
pub fn is_passed_over(name: &str) -> bool {
    const ENDINGS: [&str; 6] = ["~", ".tmp", ".part", ".partial", ".crdownload", ".swp"];
    name.starts_with('.')
        || name.starts_with("~$")
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn stamp_of(about: &std::fs::Metadata) -> Stamp {
    Stamp {
        size: about.len(),
        modified: about.mtime() * 1_000_000 + about.mtime_nsec() / 1000,
        inode: about.ino(),
    }
}

impl Folder {
    /// The folder at a path, links in which are followed once and for all.
    ///
    /// # Errors
    /// If there is no such folder.
    pub fn at(path: &Path) -> std::io::Result<Self> {
        Ok(Self {
            path: path.canonicalize()?,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which folder is there now.
    ///
    /// # Errors
    /// A sentence, if none is or it cannot be read.
    pub fn identity(&self) -> Result<Identity, String> {
        let shown = self.path.display();
        let about = std::fs::symlink_metadata(&self.path);
        let about = about.map_err(|error| format!("{shown} is not there: {error}"))?;
        if !about.is_dir() {
            return Err(format!("{shown} is no folder any more"));
        }
        let listed = std::fs::read_dir(&self.path).map(drop);
        listed.map_err(|error| format!("{shown} cannot be read: {error}"))?;
        Ok(Identity {
            device: about.dev(),
            inode: about.ino(),
        })
    }

    /// The path of something in the folder, as documents are called; none if it is the folder
    /// itself, lies outside, or is passed over.
    pub fn below(&self, path: &Path) -> Option<String> {
        let below = path.strip_prefix(&self.path).ok()?;
        let mut words = Vec::new();
        for part in below.components() {
            let word = part.as_os_str().to_str()?;
            if is_passed_over(word) {
                return None;
            }
            words.push(word);
        }
        (!words.is_empty()).then(|| words.join("/"))
    }

    /// What lies at these paths and below them; the empty path is the whole folder.
    pub fn look(&self, scope: &BTreeSet<String>) -> Look {
        let mut look = Look::default();
        for path in scope {
            let covered = |other: &&String| *other != path && is_below(path, other);
            if !scope.iter().any(|other| covered(&other)) {
                self.look_at(path, &mut look);
            }
        }
        look
    }

    /// What lies at one path. A link on the way to it leads nowhere.
    fn look_at(&self, path: &str, look: &mut Look) {
        let mut place = self.path.clone();
        for word in path.split('/').filter(|word| !word.is_empty()) {
            if std::fs::symlink_metadata(&place).is_ok_and(|about| about.is_symlink()) {
                return;
            }
            place.push(word);
        }
        let mut open = vec![(place, path.to_owned())];
        while let Some((place, path)) = open.pop() {
            let about = match std::fs::symlink_metadata(&place) {
                Ok(about) => about,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => continue,
                Err(error) => {
                    look.unread.insert(path, error.to_string());
                    continue;
                }
            };
            if about.is_symlink() {
                let why = "it is a link, and links are not followed";
                look.passed.insert(path, why.to_owned());
            } else if about.is_file() {
                look.files.insert(path, stamp_of(&about));
            } else if about.is_dir() {
                match entries(&place) {
                    Ok(entries) => {
                        for (name, place) in entries {
                            let Some(name) = name else {
                                let shown = place.display().to_string();
                                let why = "its name is no UTF-8 text".to_owned();
                                look.passed.insert(shown, why);
                                continue;
                            };
                            let below = if path.is_empty() {
                                name
                            } else {
                                format!("{path}/{name}")
                            };
                            open.push((place, below));
                        }
                    }
                    Err(error) => {
                        look.unread.insert(path, error.to_string());
                    }
                }
            } else {
                look.passed.insert(path, "it is no file".to_owned());
            }
        }
    }

    /// The bytes of a file of the folder, and the stamp they have.
    ///
    /// Every folder on the way is opened in the one before, and none of them nor the file by way
    /// of a link: whatever is exchanged meanwhile, nothing outside is read.
    pub fn read(&self, path: &str, bytes_max: u64) -> Result<(Vec<u8>, Stamp), Unread> {
        let opened = self.open(path).map_err(|error| match error {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Unread::Changed,
            _ => Unread::Refused(format!("it cannot be read: {error}")),
        })?;
        let failed = |error: std::io::Error| Unread::Refused(format!("it cannot be read: {error}"));
        let before = opened.metadata().map_err(failed)?;
        if !before.is_file() {
            return Err(Unread::Changed);
        }
        if bytes_max < before.len() {
            let why = format!(
                "it has {} bytes; at most {bytes_max} are sent",
                before.len()
            );
            return Err(Unread::Refused(why));
        }
        let mut bytes = Vec::with_capacity(before.len() as usize);
        let mut reading = (&opened).take(bytes_max + 1);
        reading.read_to_end(&mut bytes).map_err(failed)?;
        let stamp = stamp_of(&opened.metadata().map_err(failed)?);
        if stamp != stamp_of(&before) || stamp.size != bytes.len() as u64 {
            return Err(Unread::Changed);
        }
        Ok((bytes, stamp))
    }

    fn open(&self, path: &str) -> rustix::io::Result<File> {
        let folder = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut place = rustix::fs::open(&self.path, folder, Mode::empty())?;
        let mut words = path.split('/').peekable();
        while let Some(word) = words.next() {
            let flags = match words.peek() {
                Some(_) => folder,
                // Opening a pipe would wait for its writer.
                None => OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
            };
            place = rustix::fs::openat(&place, word, flags, Mode::empty())?;
        }
        Ok(place.into())
    }
}

/// What lies in a folder, without what is passed over; no name where it is no text.
fn entries(place: &Path) -> std::io::Result<Vec<(Option<String>, PathBuf)>> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(place)? {
        let entry = entry?;
        let name = entry.file_name();
        if is_passed_over(&name.to_string_lossy()) {
            continue;
        }
        entries.push((name.into_string().ok(), entry.path()));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> BTreeSet<String> {
        BTreeSet::from([String::new()])
    }

    fn names(look: &Look) -> Vec<&str> {
        look.files.keys().map(String::as_str).collect()
    }

    #[test]
    fn links_out_of_the_folder_and_loops_within_are_seen_and_never_followed() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret.md"), "secret").unwrap();
        let inside = tempfile::tempdir().unwrap();
        let at = |name: &str| inside.path().join(name);
        std::fs::create_dir(at("deep")).unwrap();
        std::fs::write(at("deep/a.md"), "a").unwrap();
        std::os::unix::fs::symlink(inside.path(), at("deep/loop")).unwrap();
        std::os::unix::fs::symlink(outside.path(), at("out")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret.md"), at("b.md")).unwrap();
        let folder = Folder::at(inside.path()).unwrap();

        let look = folder.look(&whole());

        assert_eq!(names(&look), ["deep/a.md"]);
        let passed: Vec<&str> = look.passed.keys().map(String::as_str).collect();
        assert_eq!(passed, ["b.md", "deep/loop", "out"]);
        assert!(
            folder
                .look(&BTreeSet::from(["out/secret.md".to_owned()]))
                .files
                .is_empty()
        );
        for path in ["out/secret.md", "b.md", "deep/loop/deep/a.md"] {
            assert_eq!(folder.read(path, 100), Err(Unread::Changed), "{path}");
        }
        assert_eq!(folder.read("deep/a.md", 100).unwrap().0, b"a");
    }

    #[test]
    fn hidden_and_half_written_files_are_passed_over() {
        let inside = tempfile::tempdir().unwrap();
        std::fs::create_dir(inside.path().join(".git")).unwrap();
        for name in [
            "a.md",
            ".b.md",
            ".git/c.md",
            "a.md~",
            "~$d.docx",
            "e.pdf.part",
            "f.md.tmp",
        ] {
            std::fs::write(inside.path().join(name), "x").unwrap();
        }
        let folder = Folder::at(inside.path()).unwrap();

        assert_eq!(names(&folder.look(&whole())), ["a.md"]);
        let below = |name: &str| folder.below(&folder.path().join(name));
        assert_eq!(below("deep/a.md").as_deref(), Some("deep/a.md"));
        assert_eq!((below(".git/c.md"), below("e.pdf.part")), (None, None));
        assert_eq!(folder.below(Path::new("/elsewhere/a.md")), None);
    }

    #[test]
    fn a_look_at_some_paths_sees_what_lies_below_them() {
        let inside = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(inside.path().join("a/b")).unwrap();
        for name in ["a/b/1.md", "a/2.md", "ab.md", "3.md"] {
            std::fs::write(inside.path().join(name), "x").unwrap();
        }
        let folder = Folder::at(inside.path()).unwrap();
        let scope = ["a", "a/b", "3.md", "gone.md"].map(str::to_owned);

        assert_eq!(
            names(&folder.look(&scope.into())),
            ["3.md", "a/2.md", "a/b/1.md"]
        );
        assert!(is_below("a/b", "a") && is_below("a", "a") && !is_below("ab", "a"));
    }

    #[test]
    fn a_file_that_is_too_large_is_refused_by_its_size() {
        let inside = tempfile::tempdir().unwrap();
        std::fs::write(inside.path().join("a.md"), "12345").unwrap();
        let folder = Folder::at(inside.path()).unwrap();

        let Err(Unread::Refused(why)) = folder.read("a.md", 4) else {
            panic!("it was read")
        };
        assert_eq!(why, "it has 5 bytes; at most 4 are sent");
    }
}
