//! Which word of a base each word of a file is.

use std::collections::{HashMap, HashSet};

use super::key_for;
use crate::ontology::declared::LeftOut;

/// Where the word of an IRI stands: those of the base first, then new ones.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) by_iri: HashMap<String, usize>,
    by_key: HashMap<String, usize>,
    /// For each declared word its place, if it has one, and whether it is only another name.
    pub(super) of_declared: Vec<Option<(usize, bool)>>,
    /// Words of the base that had no IRI and were found by their key.
    adopted: HashSet<usize>,
    count: usize,
}

/// A word as it is placed.
pub(super) struct Word<'a> {
    pub(super) iri: &'a str,
    pub(super) label: Option<&'a str>,
    pub(super) same_as: &'a [String],
}

impl Places {
    pub(super) fn of<'a>(known: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> Self {
        let mut places = Self::default();
        for (key, iri) in known {
            let place = places.count;
            places.by_key.insert(key.to_owned(), place);
            if let Some(iri) = iri {
                places.by_iri.entry(iri.to_owned()).or_insert(place);
            }
            places.count += 1;
        }
        places
    }

    /// Finds each declared word its place, or says why it has none.
    ///
    /// `iri_of` gives the IRI of the word of the base at a place; `fits` says why a word of the
    /// base cannot be the declared one.
    pub(super) fn declare(
        &mut self,
        words: &[Word<'_>],
        iri_of: &dyn Fn(usize) -> Option<String>,
        fits: &dyn Fn(usize, usize) -> Result<(), String>,
        left_out: &mut Vec<LeftOut>,
    ) {
        let known = self.count;
        let mut said_same: HashMap<&str, Vec<&str>> = HashMap::new();
        for word in words {
            for other in word.same_as {
                said_same.entry(word.iri).or_default().push(other);
                said_same.entry(other).or_default().push(word.iri);
            }
        }
        let mut refused: Vec<(usize, String)> = Vec::new();
        for (n, word) in words.iter().enumerate() {
            let place = self.place(word, &said_same, iri_of, known);
            let place = place.and_then(|(place, is_other_name)| {
                if place < known && !is_other_name {
                    fits(place, n)?;
                }
                Ok((place, is_other_name))
            });
            self.of_declared.push(place.as_ref().ok().copied());
            match place {
                Ok((place, _)) => {
                    self.by_iri.insert(word.iri.to_owned(), place);
                }
                Err(reason) => refused.push((n, reason)),
            }
        }
        // What has no place of its own may be the same as a word that comes later in the file.
        loop {
            let before = refused.len();
            refused.retain(|(n, _)| {
                let found = self.same_as(words[*n].iri, &said_same);
                if let Some(place) = found {
                    self.of_declared[*n] = Some((place, true));
                    self.by_iri.insert(words[*n].iri.to_owned(), place);
                }
                found.is_none()
            });
            if refused.len() == before {
                break;
            }
        }
        let told = refused.into_iter();
        left_out.extend(told.map(|(n, reason)| LeftOut::new(words[n].iri, reason)));
    }

    /// The place of a word that a word is said to be the same as; by the order of the file, which
    /// is the same the next time.
    fn same_as(&self, iri: &str, said_same: &HashMap<&str, Vec<&str>>) -> Option<usize> {
        let mut same = said_same.get(iri).into_iter().flatten();
        same.find_map(|iri| self.by_iri.get(*iri)).copied()
    }

    /// The place of one declared word, and whether it is only another name of the word there.
    fn place(
        &mut self,
        word: &Word<'_>,
        said_same: &HashMap<&str, Vec<&str>>,
        iri_of: &dyn Fn(usize) -> Option<String>,
        known: usize,
    ) -> Result<(usize, bool), String> {
        if let Some(&place) = self.by_iri.get(word.iri) {
            return Ok((place, false));
        }
        if let Some(place) = self.same_as(word.iri, said_same) {
            return Ok((place, true));
        }
        let Some(key) = key_for(word.iri, word.label) else {
            return Err("neither its name nor its label makes a key".to_owned());
        };
        match self.by_key.get(&key) {
            None => {
                let place = self.count;
                self.count += 1;
                self.by_key.insert(key, place);
                Ok((place, false))
            }
            // A word that a person added without an IRI: the file says what it is elsewhere.
            Some(&place)
                if place < known && iri_of(place).is_none() && self.adopted.insert(place) =>
            {
                Ok((place, false))
            }
            Some(&place) => Err(match iri_of(place) {
                Some(other) => format!("the key `{key}` is taken by <{other}>"),
                None => format!("the key `{key}` is taken by another word of the file"),
            }),
        }
    }
}
