//! What a source has against what lies in the folder: what to say next.

use std::collections::{BTreeMap, BTreeSet};

use super::folder::Stamp;

/// A document as the base last knew the source to have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Which document of the source it is. It stays when the file moves.
    pub external_id: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// The file's stamp when it was read last; none if it was not since this process began.
    pub stamp: Option<Stamp>,
}

/// All that the base knows of the source.
#[derive(Debug, Default)]
pub struct Memory {
    /// What it has, by path.
    here: BTreeMap<String, Sent>,
    /// What it had, by the path it had last.
    missing: BTreeMap<String, String>,
    /// Every id that was ever used.
    ids: BTreeSet<String>,
}

/// What a file at a path is, compared with what is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// What the base has.
    Same,
    /// News of a document.
    News {
        external_id: String,
        /// The path that it had, if it moved.
        from: Option<String>,
    },
}

impl Memory {
    /// Takes in an item as the base lists it.
    pub fn learn(&mut self, path: &str, external_id: &str, sha256: &str, is_missing: bool) {
        self.ids.insert(external_id.to_owned());
        if is_missing {
            self.missing.insert(path.to_owned(), external_id.to_owned());
        } else {
            let sent = Sent {
                external_id: external_id.to_owned(),
                sha256: sha256.to_owned(),
                stamp: None,
            };
            self.here.insert(path.to_owned(), sent);
        }
    }

    /// How many documents the source has.
    pub fn len(&self) -> usize {
        self.here.len()
    }

    /// The paths of what the source has.
    pub fn paths(&self) -> impl Iterator<Item = &String> {
        self.here.keys()
    }

    /// Whether a file is known to be as it was, without reading it.
    pub fn knows(&self, path: &str, stamp: Stamp) -> bool {
        self.here
            .get(path)
            .is_some_and(|sent| sent.stamp == Some(stamp))
    }

    /// What the file at `path` is. `vanished` are the paths of the source where nothing lies now.
    ///
    /// A file at a known path is that document. A new one with the bytes of one that vanished is
    /// that one, moved; of several, the one of the same name, else the first. A file at the path
    /// of a document that was missing is that one come back.
    pub fn judge(&self, path: &str, sha256: &str, vanished: &BTreeSet<String>) -> Verdict {
        if let Some(sent) = self.here.get(path) {
            if sent.sha256 == sha256 {
                return Verdict::Same;
            }
            return Verdict::News {
                external_id: sent.external_id.clone(),
                from: None,
            };
        }
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let twins = || {
            vanished.iter().filter(|old| {
                self.here
                    .get(*old)
                    .is_some_and(|sent| sent.sha256 == sha256)
            })
        };
        let twin = twins()
            .find(|old| name(old) == name(path))
            .or_else(|| twins().next());
        if let Some(old) = twin {
            return Verdict::News {
                external_id: self.here[old].external_id.clone(),
                from: Some(old.clone()),
            };
        }
        let external_id = match self.missing.get(path) {
            Some(id) => id.clone(),
            None => self.fresh_id(path),
        };
        Verdict::News {
            external_id,
            from: None,
        }
    }

    /// The path, or with a number behind it if a document that moved has it for its id.
    fn fresh_id(&self, path: &str) -> String {
        let numbered = (2..).map(|n| format!("{path} ({n})"));
        std::iter::once(path.to_owned())
            .chain(numbered)
            .find(|id| !self.ids.contains(id))
            .expect("there are more numbers than ids")
    }

    /// Nothing else gets this id from now on.
    pub fn reserve(&mut self, external_id: &str) {
        self.ids.insert(external_id.to_owned());
    }

    /// The file was read and is the same: its stamp will tell next time.
    pub fn saw(&mut self, path: &str, stamp: Stamp) {
        if let Some(sent) = self.here.get_mut(path) {
            sent.stamp = Some(stamp);
        }
    }

    /// The base took in what the file is.
    pub fn put(&mut self, path: &str, from: Option<&str>, sent: Sent) {
        if let Some(from) = from {
            self.here.remove(from);
        }
        self.missing.retain(|_, id| *id != sent.external_id);
        self.ids.insert(sent.external_id.clone());
        self.here.insert(path.to_owned(), sent);
    }

    /// The id of the document at a path of the source.
    pub fn id_at(&self, path: &str) -> Option<&str> {
        self.here.get(path).map(|sent| sent.external_id.as_str())
    }

    /// The base took in that the document at a path is missing.
    pub fn lose(&mut self, path: &str) {
        if let Some(sent) = self.here.remove(path) {
            self.missing.insert(path.to_owned(), sent.external_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(items: &[(&str, &str, &str)]) -> Memory {
        let mut memory = Memory::default();
        for (path, id, sha) in items {
            memory.learn(path, id, sha, false);
        }
        memory
    }

    fn news(id: &str, from: Option<&str>) -> Verdict {
        Verdict::News {
            external_id: id.to_owned(),
            from: from.map(str::to_owned),
        }
    }

    fn paths(paths: &[&str]) -> BTreeSet<String> {
        paths.iter().map(|path| (*path).to_owned()).collect()
    }

    #[test]
    fn a_file_is_same_news_or_new_by_path_and_bytes() {
        let memory = memory(&[("a.md", "a.md", "1")]);

        assert_eq!(memory.judge("a.md", "1", &paths(&[])), Verdict::Same);
        assert_eq!(memory.judge("a.md", "2", &paths(&[])), news("a.md", None));
        assert_eq!(memory.judge("b.md", "1", &paths(&[])), news("b.md", None));
    }

    #[test]
    fn the_bytes_of_a_vanished_file_under_a_new_path_are_a_move_and_the_name_decides() {
        let memory = memory(&[
            ("x/a.md", "1", "s"),
            ("y/b.md", "2", "s"),
            ("c.md", "3", "t"),
        ]);
        let vanished = paths(&["x/a.md", "y/b.md"]);

        assert_eq!(
            memory.judge("z/b.md", "s", &vanished),
            news("2", Some("y/b.md"))
        );
        assert_eq!(
            memory.judge("new.md", "s", &vanished),
            news("1", Some("x/a.md"))
        );
        assert_eq!(memory.judge("new.md", "t", &vanished), news("new.md", None));
    }

    #[test]
    fn a_new_file_at_the_old_path_of_a_moved_one_is_another_document() {
        let mut memory = memory(&[("a.md", "a.md", "1")]);
        let sent = Sent {
            external_id: "a.md".to_owned(),
            sha256: "1".to_owned(),
            stamp: None,
        };
        memory.put("b.md", Some("a.md"), sent);

        assert_eq!(
            memory.judge("a.md", "9", &paths(&[])),
            news("a.md (2)", None)
        );
        assert_eq!(memory.judge("b.md", "1", &paths(&[])), Verdict::Same);
    }

    #[test]
    fn a_file_that_comes_back_is_the_document_that_was_missing() {
        let mut memory = memory(&[("b.md", "a.md", "1")]);
        memory.lose("b.md");

        assert_eq!(memory.len(), 0);
        assert_eq!(memory.judge("b.md", "1", &paths(&[])), news("a.md", None));
    }
}
