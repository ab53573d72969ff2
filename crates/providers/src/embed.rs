//! Text to vectors.
//!
//! A vector is only comparable with vectors of the same [`Embedder::model_tag`]; whoever stores
//! one stores the tag beside it. Without an installed model there is no embedder, and search
//! stays lexical.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

mod endpoint;
mod hash;
mod known;
mod local;
mod words;

pub use endpoint::EndpointOptions;
pub use known::{Embedders, KnownModel, LOCAL, NONE};

use endpoint::Endpoint;
use hash::Hash;
use local::Local;

/// Why a text has no vector.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// A file of the model cannot be read.
    #[error("the model's file {} cannot be read", file.display())]
    Read {
        /// Which file.
        file: PathBuf,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
    /// A file of the model is not the one that was installed.
    #[error("the model's file {} {wrong}; remove the model's folder and run `quipu models install`", file.display())]
    Damaged {
        /// Which file.
        file: PathBuf,
        /// What is wrong with it.
        wrong: String,
    },
    /// A text could not be cut into the model's words.
    #[error("a text could not be tokenised")]
    Tokenise(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The model failed on a text.
    #[error("the model failed on a text")]
    Run(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The embedding server takes no such text: it is too long, or of a kind it does not read.
    #[error("the embedding server `{host}` answered {status}")]
    Refused {
        /// Which server.
        host: String,
        /// Its answer.
        status: u16,
    },
    /// A question is not put to a server that failed a moment ago.
    #[error("{0}; it is not asked again for a few seconds")]
    Resting(String),
    /// The embedding server cannot be asked as configured.
    #[error("the embedding server's {0}")]
    Configured(String),
    /// The embedding server failed.
    #[error("the embedding server `{host}` {why}")]
    Endpoint {
        /// Which server.
        host: String,
        /// What it did.
        why: String,
        /// The connection's failure, if that is it.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
}

impl EmbedError {
    /// Whether a text may be to blame, rather than the model as a whole.
    pub fn may_be_the_texts_fault(&self) -> bool {
        matches!(
            self,
            EmbedError::Tokenise(_) | EmbedError::Run(_) | EmbedError::Refused { .. }
        )
    }
}

/// Makes vectors of texts. Cheap to hold: a model is read when the first text arrives.
#[derive(Debug)]
pub struct Embedder {
    kind: Kind,
    tag: String,
    width: usize,
    fault: Mutex<Option<Fault>>,
}

#[derive(Debug)]
enum Kind {
    Local(Local),
    Endpoint(Endpoint),
    Hash(Hash),
}

/// The last failure, if nothing has succeeded since.
#[derive(Debug)]
struct Fault {
    sentence: String,
    at: Instant,
}

/// How long a server that failed is asked no question: each would wait in vain for its time.
const REST: Duration = Duration::from_secs(10);

impl Embedder {
    /// The embedder over the model installed in `dir`, or none if none is installed.
    ///
    /// Reads the manifest only; contents are checked against it when the model is first used.
    /// Passages take every processor; a query has a thread of its own beside them.
    ///
    /// # Errors
    /// The manifest is there but cannot be read, or is not one of ours.
    pub fn load(dir: &Path) -> Result<Option<Embedder>, EmbedError> {
        let processors = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self::load_with(dir, processors)
    }

    /// Like [`Embedder::load`], with at most `passages_at_once` passages worked on at a time.
    pub fn load_with(
        dir: &Path,
        passages_at_once: NonZeroUsize,
    ) -> Result<Option<Embedder>, EmbedError> {
        let Some(local) = Local::find(dir, passages_at_once)? else {
            return Ok(None);
        };
        let (tag, width) = (local.tag(), local::WIDTH);
        Ok(Some(Self::of(Kind::Local(local), tag, width)))
    }

    /// An embedder over a server of the operator's choice. Asks nothing yet.
    ///
    /// # Errors
    /// Its address is no `http` or `https` URL, or TLS cannot be set up.
    pub fn endpoint(options: EndpointOptions) -> Result<Embedder, EmbedError> {
        let endpoint = Endpoint::new(options)?;
        let (tag, width) = (endpoint.tag(), endpoint.width());
        Ok(Self::of(Kind::Endpoint(endpoint), tag, width))
    }

    /// A deterministic embedder without a model: texts that share words have similar vectors.
    ///
    /// # Panics
    /// If `width` is 0.
    pub fn hash(width: usize) -> Embedder {
        Self::hash_named("hash", width, &[])
    }

    /// Like [`Embedder::hash`] under a name of its own, which makes other vectors of the same
    /// words; the two words of a pair of `same` mean the same.
    ///
    /// # Panics
    /// If `width` is 0.
    pub fn hash_named(name: &str, width: usize, same: &[(&str, &str)]) -> Embedder {
        assert!(0 < width, "a vector has at least one number");
        let kind = Kind::Hash(Hash::new(name, same));
        Self::of(kind, format!("{name}-{width}@1"), width)
    }

    fn of(kind: Kind, tag: String, width: usize) -> Embedder {
        Embedder {
            kind,
            tag,
            width,
            fault: Mutex::new(None),
        }
    }

    /// Name, revision and reading scheme; vectors of different tags never compare.
    pub fn model_tag(&self) -> &str {
        &self.tag
    }

    /// Numbers in a vector.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether a question may be in a language that the model was trained on.
    pub fn reads(&self, question: &str) -> bool {
        let may_be_in = |codes: &[&str]| model::text::is_in(question, codes);
        match &self.kind {
            Kind::Local(_) => may_be_in(local::LANGUAGES),
            Kind::Endpoint(endpoint) => {
                let codes: Vec<&str> = endpoint.languages().collect();
                codes.is_empty() || may_be_in(&codes)
            }
            Kind::Hash(_) => true,
        }
    }

    /// What failed last, if nothing has succeeded since: a sentence.
    pub fn fault(&self) -> Option<String> {
        self.last_fault()
            .as_ref()
            .map(|fault| fault.sentence.clone())
    }

    /// Whether the model's server failed a moment ago, so that asking it again is for later.
    pub fn rests(&self) -> bool {
        matches!(self.kind, Kind::Endpoint(_))
            && self
                .last_fault()
                .as_ref()
                .is_some_and(|fault| fault.at.elapsed() < REST)
    }

    fn last_fault(&self) -> std::sync::MutexGuard<'_, Option<Fault>> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers how it went.
    fn noted<T>(&self, done: Result<T, EmbedError>) -> Result<T, EmbedError> {
        *self.last_fault() = match &done {
            Err(error) if !matches!(error, EmbedError::Refused { .. }) => Some(Fault {
                sentence: error.to_string(),
                at: Instant::now(),
            }),
            _ => None,
        };
        done
    }

    /// Vectors of passages, in their order, each of unit length (of zeros for a text without a
    /// word under [`Embedder::hash`]). A passage beyond the model's length is read as far as
    /// that; the same text gives the same vector whatever stands beside it.
    pub async fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let done = match &self.kind {
            Kind::Local(local) => local.passages(texts).await,
            Kind::Endpoint(endpoint) => endpoint.passages(texts).await,
            Kind::Hash(hash) => Ok(texts
                .iter()
                .map(|text| hash.vector(text, self.width))
                .collect()),
        };
        self.noted(done)
    }

    /// Vector of a question. It never waits behind a queue of passages, nor for a server that
    /// failed a moment ago.
    pub async fn embed_query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        if let Some(sentence) = self.fault().filter(|_| self.rests()) {
            return Err(EmbedError::Resting(sentence));
        }
        let done = match &self.kind {
            Kind::Local(local) => local.query(text).await,
            Kind::Endpoint(endpoint) => endpoint.query(text).await,
            Kind::Hash(hash) => Ok(hash.vector(text, self.width)),
        };
        self.noted(done)
    }
}

/// A vector as bytes: the number `i` is about `scale * code[i]`.
///
/// The largest magnitude becomes 127, so the error of a number is at most half a `scale`.
pub fn quantise(vector: &[f32]) -> (f32, Vec<i8>) {
    let largest = vector
        .iter()
        .fold(0.0f32, |largest, number| largest.max(number.abs()));
    let scale = largest / 127.0;
    if scale <= 0.0 {
        return (0.0, vec![0; vector.len()]);
    }
    (
        scale,
        vector
            .iter()
            .map(|number| (number / scale).round() as i8)
            .collect(),
    )
}

/// Scales a vector to unit length; zeros stay zeros.
fn normalise(vector: &mut [f32]) {
    let length = vector
        .iter()
        .map(|number| number * number)
        .sum::<f32>()
        .sqrt();
    if 0.0 < length {
        for number in vector {
            *number /= length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[tokio::test]
    async fn texts_that_share_words_are_nearer_than_texts_that_share_none() {
        let embedder = Embedder::hash(64);

        let vectors = embedder
            .embed_passages(&[
                "The bridge over the Elbe",
                "elbe BRIDGE",
                "a recipe for bread",
            ])
            .await
            .unwrap();

        assert!(cosine(&vectors[0], &vectors[2]) + 0.2 < cosine(&vectors[0], &vectors[1]));
        assert_eq!(
            vectors[1],
            embedder.embed_query("Bridge, Elbe").await.unwrap()
        );
    }

    #[tokio::test]
    async fn hash_vectors_are_of_unit_length_but_for_texts_without_words() {
        let embedder = Embedder::hash(16);

        let word = embedder.embed_query("word").await.unwrap();
        let none = embedder.embed_query(" - ").await.unwrap();

        assert!((cosine(&word, &word) - 1.0).abs() < 1e-6);
        assert_eq!(none, vec![0.0; 16]);
    }

    #[tokio::test]
    async fn words_that_mean_the_same_are_near_under_one_name_and_far_under_two() {
        let same = [("car", "automobile")];
        let (one, other) = (
            Embedder::hash_named("one", 64, &same),
            Embedder::hash_named("other", 64, &same),
        );

        let car = one.embed_query("car").await.unwrap();

        assert_eq!(car, one.embed_query("automobile").await.unwrap());
        assert!(cosine(&car, &other.embed_query("car").await.unwrap()) < 0.5);
        assert_ne!(one.model_tag(), other.model_tag());
    }

    #[test]
    fn quantising_errs_by_half_a_step_at_most() {
        let vector = [0.5f32, -0.25, 0.001, -1.0, 0.0];

        let (scale, codes) = quantise(&vector);

        assert_eq!(codes[3], -127);
        for (number, code) in vector.iter().zip(codes) {
            assert!((number - scale * f32::from(code)).abs() <= scale / 2.0 + f32::EPSILON);
        }
        assert_eq!(quantise(&[0.0, 0.0]), (0.0, vec![0, 0]));
    }

    #[test]
    fn a_folder_without_a_model_gives_no_embedder() {
        let dir = tempfile::tempdir().unwrap();

        assert!(Embedder::load(dir.path()).unwrap().is_none());
        assert!(
            Embedder::load(&dir.path().join("absent"))
                .unwrap()
                .is_none()
        );
    }
}
