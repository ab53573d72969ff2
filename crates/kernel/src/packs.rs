//! Words that come with Quipu, for bases that want them.

use model::ontology::declared::Declarations;
use model::{Error, Result};

/// A set of words that a base can be given.
#[derive(Debug, Clone)]
pub struct Pack {
    /// The name by which it is asked for.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it has words for.
    pub description: &'static str,
    /// The file with its words, as it was read.
    pub declared: Declarations,
    /// The file itself, in Turtle.
    pub file: &'static str,
}

/// The sets of words that come with Quipu.
#[derive(Debug, Clone, Default)]
pub struct Packs(Vec<Pack>);

impl Packs {
    /// These sets, in this order.
    pub fn new(packs: Vec<Pack>) -> Self {
        Self(packs)
    }

    /// The sets.
    pub fn iter(&self) -> impl Iterator<Item = &Pack> {
        self.0.iter()
    }

    /// The set of that name.
    ///
    /// # Errors
    /// `invalid_argument` if there is none.
    pub fn get(&self, name: &str) -> Result<&Pack> {
        let found = self.0.iter().find(|pack| pack.name == name);
        found.ok_or_else(|| {
            let shown: String = name.chars().take(60).collect();
            let known: Vec<&str> = self.0.iter().map(|pack| pack.name).collect();
            Error::invalid(format!(
                "there is no pack `{shown}`; there are `{}`",
                known.join("`, `")
            ))
        })
    }
}
