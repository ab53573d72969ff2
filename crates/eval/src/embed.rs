//! Vectors of texts, kept in a file between runs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::path::{Path, PathBuf};

use providers::{Embedder, quantise};
use store::index::Nameless;
use uuid::Uuid;

use crate::Failure;

/// The model, if one is installed, and the vectors it made so far.
pub struct Vectors {
    embedder: Option<Embedder>,
    known: HashMap<Uuid, Vec<f32>>,
    file: PathBuf,
}

impl Vectors {
    pub fn open(models: Option<&Path>, folder: &Path) -> Result<Self, Failure> {
        let embedder = match models {
            Some(models) => Embedder::load(models)?,
            None => None,
        };
        let tag = embedder.as_ref().map_or("none", Embedder::model_tag);
        let name: String = tag
            .chars()
            .map(|c| if c.is_alphanumeric() { c } else { '-' })
            .collect();
        let file = folder.join(name);
        let width = embedder.as_ref().map_or(0, Embedder::width);
        let mut known = HashMap::new();
        if let Ok(bytes) = fs::read(&file) {
            for row in bytes.chunks_exact(16 + width * 4) {
                let id = Uuid::from_slice(&row[..16])?;
                let numbers = row[16..].chunks_exact(4);
                let vector =
                    numbers.map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]));
                known.insert(id, vector.collect());
            }
        }
        Ok(Self {
            embedder,
            known,
            file,
        })
    }

    /// Whether there is a model.
    pub fn any(&self) -> bool {
        self.embedder.is_some()
    }

    /// Whether the model knows the text's language.
    pub fn know(&self, text: &str) -> bool {
        self.embedder
            .as_ref()
            .is_some_and(|embedder| embedder.reads(text))
    }

    /// The int8 codes of passages; none of them without a model.
    pub async fn codes(&mut self, texts: &[String]) -> Result<Vec<Vec<i8>>, Failure> {
        let Some(embedder) = &self.embedder else {
            return Ok(Vec::new());
        };
        let missing: Vec<&str> = texts
            .iter()
            .map(String::as_str)
            .filter(|text| !self.known.contains_key(&id(text)))
            .collect();
        for batch in missing.chunks(32) {
            for (text, vector) in batch.iter().zip(embedder.embed_passages(batch).await?) {
                self.known.insert(id(text), vector);
            }
        }
        Ok(texts
            .iter()
            .map(|text| quantise(&self.known[&id(text)]).1)
            .collect())
    }

    /// The vector of a question, if there is a model that knows its language.
    pub async fn question(&mut self, text: &str) -> Result<Option<Vec<f32>>, Failure> {
        if !self.know(text) {
            return Ok(None);
        }
        let Some(embedder) = &self.embedder else {
            return Ok(None);
        };
        let key = id(&format!("?{text}"));
        if let Entry::Vacant(place) = self.known.entry(key) {
            place.insert(embedder.embed_query(text).await?);
        }
        Ok(self.known.get(&key).cloned())
    }

    /// The question without its names, as the product asks it.
    pub async fn nameless(&mut self, text: &str) -> Result<Option<Nameless>, Failure> {
        let Some((left, names)) = model::text::without_names(text).filter(|_| self.know(text))
        else {
            return Ok(None);
        };
        let vector = self.question(&left).await?;
        Ok(vector.map(|vector| Nameless { vector, names }))
    }

    /// Writes what was made.
    pub fn close(&self) -> Result<(), Failure> {
        if self.embedder.is_none() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        for (id, vector) in &self.known {
            bytes.extend_from_slice(id.as_bytes());
            bytes.extend(vector.iter().flat_map(|number| number.to_le_bytes()));
        }
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&self.file, bytes)?;
        Ok(())
    }
}

fn id(text: &str) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, text.as_bytes())
}
