//! The models that this process knows of, usable or not.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use super::Embedder;
use crate::models::{self, Status};

/// Name of the model that runs in this process.
pub const LOCAL: &str = "local";

/// What stands for a model where none is to be used.
pub const NONE: &str = "none";

/// A model by the name that an operator calls it by.
#[derive(Debug, Clone)]
pub struct KnownModel {
    /// Its name: `local`, or that of the settings.
    pub name: String,
    /// The model, or a sentence that says why it cannot be used and how that is mended.
    pub embedder: Result<Arc<Embedder>, String>,
}

/// The models that this process knows of. A broken one is no reason to do without the others.
#[derive(Debug)]
pub struct Embedders {
    known: RwLock<Vec<KnownModel>>,
}

impl KnownModel {
    /// The model installed in `folder`, under the name [`LOCAL`].
    pub fn local(folder: &Path) -> KnownModel {
        let embedder = match Embedder::load(folder) {
            Ok(Some(embedder)) => Ok(Arc::new(embedder)),
            Ok(None) => Err(Status::Absent.sentence()),
            Err(error) => Err(models::Status::Damaged(error.to_string()).sentence()),
        };
        KnownModel {
            name: LOCAL.to_owned(),
            embedder,
        }
    }

    /// A model under a name.
    pub fn new(name: impl Into<String>, embedder: Embedder) -> KnownModel {
        KnownModel {
            name: name.into(),
            embedder: Ok(Arc::new(embedder)),
        }
    }
}

impl Embedders {
    /// These models, in this order.
    pub fn new(known: Vec<KnownModel>) -> Embedders {
        Embedders {
            known: RwLock::new(known),
        }
    }

    /// Every model, in order.
    pub fn all(&self) -> Vec<KnownModel> {
        self.known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The model of this name.
    pub fn by_name(&self, name: &str) -> Option<KnownModel> {
        self.all().into_iter().find(|known| known.name == name)
    }

    /// The model that makes vectors with this tag, if it can be used here.
    pub fn by_tag(&self, tag: &str) -> Option<Arc<Embedder>> {
        self.all()
            .into_iter()
            .filter_map(|known| known.embedder.ok())
            .find(|embedder| embedder.model_tag() == tag)
    }

    /// Tag of the model of this name, if it can be used here.
    pub fn tag_of(&self, name: &str) -> Option<String> {
        let embedder = self.by_name(name)?.embedder.ok()?;
        Some(embedder.model_tag().to_owned())
    }

    /// Adds a model, in place of the one with its name.
    pub fn put(&self, model: KnownModel) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        match known.iter_mut().find(|known| known.name == model.name) {
            Some(place) => *place = model,
            None => known.push(model),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_cannot_be_used_says_why_and_leaves_the_others_alone() {
        let folder = tempfile::tempdir().unwrap();
        let known = Embedders::new(vec![
            KnownModel::local(folder.path()),
            KnownModel::new("small", Embedder::hash(4)),
        ]);

        let local = known.by_name(LOCAL).unwrap().embedder.unwrap_err();

        assert!(local.contains("quipu models install"), "{local}");
        assert_eq!(known.tag_of("small").unwrap(), "hash-4@1");
        assert!(known.by_tag("hash-4@1").is_some());
        assert!(known.tag_of(LOCAL).is_none() && known.by_tag("hash-5@1").is_none());
    }

    #[test]
    fn a_model_takes_the_place_of_the_one_with_its_name() {
        let known = Embedders::new(vec![KnownModel::new("small", Embedder::hash(4))]);

        known.put(KnownModel::new("small", Embedder::hash(5)));
        known.put(KnownModel::new("large", Embedder::hash(6)));

        let names: Vec<_> = known.all().into_iter().map(|known| known.name).collect();
        assert_eq!(names, ["small", "large"]);
        assert_eq!(known.tag_of("small").unwrap(), "hash-5@1");
    }
}
