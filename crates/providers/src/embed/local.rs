//! all-MiniLM-L6-v2 with int8 weights, run in this process.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures::{StreamExt, TryStreamExt};
use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, Tensor};
use tokio::sync::{OnceCell, Semaphore};

use super::words::Words;
use super::{EmbedError, normalise};
use crate::models::{self, Manifest};

/// Numbers in a vector of this model.
pub const WIDTH: usize = 384;

/// Languages it was trained on, as ISO 639-1 codes.
pub const LANGUAGES: &[&str] = &["en"];

/// Tokens read of a text, the two marks at its ends included
/// (`max_seq_length` in the model's `sentence_bert_config.json`).
const TOKENS: usize = 256;

/// Bytes of a text worth cutting into tokens: beyond them only blanks could still leave room.
const BYTES: usize = 32 * 1024;

/// The installed model; its weights are read with the first text.
#[derive(Debug)]
pub struct Local {
    folder: PathBuf,
    manifest: Manifest,
    passages_at_once: NonZeroUsize,
    encoder: OnceCell<Arc<Encoder>>,
}

impl Local {
    /// The model installed in `dir`, if there is one.
    pub fn find(dir: &Path, passages_at_once: NonZeroUsize) -> Result<Option<Local>, EmbedError> {
        let Some((folder, manifest)) = models::find(dir)? else {
            return Ok(None);
        };
        Ok(Some(Local {
            folder,
            manifest,
            passages_at_once,
            encoder: OnceCell::new(),
        }))
    }

    /// Name and revision; "plain" as this model wants no prefix before queries or passages.
    pub fn tag(&self) -> String {
        format!(
            "{}@{}:plain:{TOKENS}",
            self.manifest.name, self.manifest.revision
        )
    }

    /// The longest first: at the end of a batch no processor is left with a long one alone.
    pub async fn passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let encoder = self.encoder().await?;
        let mut owned: Vec<(usize, String)> = texts
            .iter()
            .map(|text| head(text).to_owned())
            .enumerate()
            .collect();
        owned.sort_by_key(|(_, text)| std::cmp::Reverse(text.len()));
        // As many at once as there are permits: more would only queue up before others' passages.
        let mut vectors: Vec<(usize, Vec<f32>)> = futures::stream::iter(owned)
            .map(|(place, text)| {
                let encoding = encoder.clone().encode(text, |encoder| &encoder.passages);
                async move { Ok::<_, EmbedError>((place, encoding.await?)) }
            })
            .buffer_unordered(self.passages_at_once.get())
            .try_collect()
            .await?;
        vectors.sort_by_key(|&(place, _)| place);
        Ok(vectors.into_iter().map(|(_, vector)| vector).collect())
    }

    pub async fn query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let encoder = self.encoder().await?;
        encoder
            .encode(head(text).to_owned(), |encoder| &encoder.queries)
            .await
    }

    async fn encoder(&self) -> Result<Arc<Encoder>, EmbedError> {
        let read = || async {
            let (folder, manifest) = (self.folder.clone(), self.manifest.clone());
            let lanes = self.passages_at_once;
            off_thread(move || Encoder::read(&folder, &manifest, lanes))
                .await
                .map(Arc::new)
        };
        self.encoder.get_or_try_init(read).await.cloned()
    }
}

/// The first [`BYTES`] of a text.
fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(BYTES)]
}

struct Encoder {
    model: Model,
    words: Words,
    ids: NodeId,
    mask: NodeId,
    kinds: Option<NodeId>,
    hidden: NodeId,
    passages: Lanes,
    queries: Lanes,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Encoder").finish_non_exhaustive()
    }
}

impl Encoder {
    fn read(
        folder: &Path,
        manifest: &Manifest,
        lanes: NonZeroUsize,
    ) -> Result<Encoder, EmbedError> {
        let model_file = folder.join("model.onnx");
        let words_file = folder.join("tokenizer.json");
        let unusable = |file: &Path, wrong: String| EmbedError::Damaged {
            file: file.to_owned(),
            wrong,
        };

        let words = models::read_checked(folder, manifest, "tokenizer.json")?;
        let words = Words::read(&words).map_err(|wrong| unusable(&words_file, wrong))?;

        let weights = models::read_checked(folder, manifest, "model.onnx")?;
        // Laid out for the processor once: 40 MB more, and a question takes half the time.
        let model = ModelOptions::with_all_ops()
            .prepack_weights(true)
            .load(weights)
            .map_err(|error| unusable(&model_file, format!("is no model: {error}")))?;
        let node = |name: &str| {
            model
                .node_id(name)
                .map_err(|_| unusable(&model_file, format!("lacks `{name}`")))
        };
        let (ids, mask) = (node("input_ids")?, node("attention_mask")?);
        let hidden = node("last_hidden_state")?;
        let kinds = model.find_node("token_type_ids");
        let passages = Lanes::new(lanes.get());
        Ok(Encoder {
            ids,
            mask,
            kinds,
            hidden,
            model,
            words,
            passages,
            queries: Lanes::new(1),
        })
    }

    async fn encode(
        self: Arc<Self>,
        text: String,
        lanes: impl Fn(&Encoder) -> &Lanes + Send + 'static,
    ) -> Result<Vec<f32>, EmbedError> {
        let permit = lanes(&self).permits.clone().acquire_owned().await;
        let permit = permit.expect("the semaphore is never closed");
        off_thread(move || {
            // Held by the work and not by the waiting: a caller who leaves does not make room.
            let _permit = permit;
            let lane = lanes(&self).take();
            let vector = self.vector(&text, &lane);
            lanes(&self).give_back(lane);
            vector
        })
        .await
    }

    /// The mean of the last layer over all tokens, scaled to unit length.
    ///
    /// One text at a time: a batch would be padded to its longest text, which costs more than it
    /// saves, and its sums may round differently, while a rebuilt index must be the same to the
    /// byte. So there is no padding, and the mask is all ones.
    fn vector(&self, text: &str, lane: &Arc<ThreadPool>) -> Result<Vec<f32>, EmbedError> {
        let tokens = self
            .words
            .pieces(text, TOKENS)
            .map_err(EmbedError::Tokenise)?;
        let count = tokens.len();
        let row = |numbers: Vec<i32>| Tensor::from_data(&[1, count], numbers);
        let mut inputs = vec![
            (self.ids, row(tokens).into()),
            (self.mask, row(vec![1; count]).into()),
        ];
        if let Some(kinds) = self.kinds {
            inputs.push((kinds, row(vec![0; count]).into()));
        }

        let options = RunOptions::default().with_thread_pool(Some(lane.clone()));
        let run = self.model.run_n(inputs, [self.hidden], Some(options));
        let [hidden]: [Value; 1] = run.map_err(|error| EmbedError::Run(error.into()))?;
        let hidden: NdTensor<f32, 3> = hidden
            .try_into()
            .map_err(|error: rten::TryFromValueError| EmbedError::Run(error.into()))?;

        let mut vector = vec![0.0; WIDTH];
        for token in 0..count {
            for (sum, number) in vector.iter_mut().zip(hidden.slice((0, token)).iter()) {
                *sum += number;
            }
        }
        normalise(&mut vector);
        Ok(vector)
    }
}

/// Threads to run the model on, each one text at a time.
struct Lanes {
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Arc<ThreadPool>>>,
}

impl Lanes {
    fn new(count: usize) -> Lanes {
        let idle = (0..count)
            .map(|_| Arc::new(ThreadPool::with_num_threads(1)))
            .collect();
        Lanes {
            permits: Arc::new(Semaphore::new(count)),
            idle: Mutex::new(idle),
        }
    }

    fn take(&self) -> Arc<ThreadPool> {
        let lane = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        // None only if a run has panicked and never came back.
        lane.unwrap_or_else(|| Arc::new(ThreadPool::with_num_threads(1)))
    }

    fn give_back(&self, lane: Arc<ThreadPool>) {
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(lane);
    }
}

/// Runs `work` on a thread that may block. A panic there is an error here.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, EmbedError> + Send + 'static,
) -> Result<T, EmbedError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(stopped) => Err(EmbedError::Run(stopped.into())),
    }
}
