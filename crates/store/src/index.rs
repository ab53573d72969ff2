//! The search index of each base: a cache beside the database, thrown away and rebuilt at will.
//!
//! SQL holds the truth. From it each node keeps, per base, one tantivy index for every visibility
//! class, and in memory the record interval, class and vector of every chunk version by its
//! ordinal. Versions that are closed stay; a search says for which moment it asks and for whom,
//! and only rows that the asker saw held then are counted into its hits. Only a purge removes.

mod base;
mod blocks;
mod class;
mod collect;
mod directory;
mod follow;
mod rows;
mod vectors;

use std::path::Path;
use std::sync::Arc;

use model::rank::{Ranked, Weights};
use model::{DocumentId, RecordTime, Role};
use tokio::task::spawn_blocking;

pub use class::{GRAM_WEIGHT, HEAD_WEIGHT, LENGTH_EASE, STEM_WEIGHT, WORD_WEIGHT, form};
pub use follow::Indexes;
pub use rows::{ChunkRow, ChunkSpan};

use crate::StoreError;
use base::Base;

use crate::models::Serving;

/// How a cache is kept. The default is for the product; tests have habits of their own.
#[derive(Clone)]
pub struct Habits {
    /// Words of purged rows leave a segment of up to so many rows before anything is searched
    /// again: some tenths of a second. Larger segments are merged beside the searches.
    pub purged_at_once: u32,
    /// Called while a merge goes on, on the thread that waits for it.
    pub while_merging: Arc<dyn Fn() + Send + Sync>,
}

impl Default for Habits {
    fn default() -> Self {
        Self {
            purged_at_once: 20_000,
            while_merging: Arc::new(|| {}),
        }
    }
}

/// The cache could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The full-text index failed.
    #[error("the search cache failed: {0}")]
    Terms(#[from] tantivy::TantivyError),
    /// The folder failed.
    #[error("the search cache's folder failed: {0}")]
    Folder(#[from] std::io::Error),
}

/// What to search for, for whom, and as of when.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The question. Words only: no sign in it is an operator.
    pub text: &'a str,
    /// The asker's role: rows of a higher class are neither found nor counted.
    pub role: Role,
    /// The record time to search at; none for what is held now.
    pub as_of: Option<RecordTime>,
    /// The question's vector, by the model whose vectors the index was synced with; it is passed
    /// over where those are not at hand. Leave it out when the model does not know the question's
    /// language.
    pub vector: Option<&'a [f32]>,
    /// The question without its names, if it has some.
    pub nameless: Option<&'a Nameless>,
    /// Hits at most.
    pub limit: usize,
    /// How the lists are fused.
    pub weights: Weights,
}

/// A question without its names, as the model reads it: asked instead where the names are in so
/// many passages that they tell none of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Nameless {
    /// Its vector.
    pub vector: Vec<f32>,
    /// The names, as written.
    pub names: Vec<String>,
}

impl<'a> Query<'a> {
    /// A question about what is held now, without a vector.
    pub fn new(text: &'a str, role: Role, limit: usize) -> Self {
        Self {
            text,
            role,
            as_of: None,
            vector: None,
            nameless: None,
            limit,
            weights: Weights::default(),
        }
    }
}

/// A chunk version that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Its number in the base.
    pub ordinal: i64,
    /// Its document.
    pub document: DocumentId,
    /// The fused score, by which hits are ordered; about 4 at best.
    pub score: f32,
    /// BM25; 0 if no word was found.
    pub lexical: f32,
    /// Cosine to the question, if both have a vector.
    pub cosine: Option<f32>,
    /// Passages that say the same and that this one stands for.
    pub folded: u32,
}

impl From<Ranked> for Hit {
    fn from(ranked: Ranked) -> Self {
        Self {
            ordinal: i64::from(ranked.candidate.ordinal),
            document: ranked.candidate.document,
            score: ranked.score,
            lexical: ranked.candidate.lexical,
            cosine: ranked.candidate.cosine,
            folded: ranked.folded,
        }
    }
}

/// How large a base's cache is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// Chunk versions in it.
    pub rows: u64,
    /// Chunk versions with a vector of the model that searches ask for.
    pub vectors: u64,
    /// Segments of the full-text indexes.
    pub segments: usize,
}

/// A base's cache as of the moment that a transaction read: what is written later stays unseen.
#[derive(Clone)]
pub struct BaseIndex {
    base: Arc<Base>,
    head: RecordTime,
    /// The model whose vectors a search compares with; none: words only.
    model: Option<String>,
}

impl BaseIndex {
    /// The best hits, best first. Takes milliseconds of processor time: see [`BaseIndex::find`].
    pub fn search(&self, query: &Query<'_>) -> Result<Vec<Hit>, IndexError> {
        let model = self.model.as_deref();
        self.base.search(query, (self.head, model))
    }

    /// Whether a query's vector is compared with those of the model that was asked for.
    pub fn has_vectors(&self) -> bool {
        self.model.is_some()
    }

    /// The best hits, best first, searched off the async threads.
    ///
    /// # Errors
    /// If the cache's files cannot be read; the next search finds it made anew.
    pub async fn find(&self, query: Query<'_>) -> Result<Vec<Hit>, StoreError> {
        let (index, text) = (self.clone(), query.text.to_owned());
        let vector = query.vector.map(<[f32]>::to_vec);
        let nameless = query.nameless.cloned();
        let Query {
            role,
            as_of,
            limit,
            weights,
            ..
        } = query;
        let searched = spawn_blocking(move || {
            let query = Query {
                text: &text,
                role,
                as_of,
                vector: vector.as_deref(),
                nameless: nameless.as_ref(),
                limit,
                weights,
            };
            let found = index.search(&query);
            if found.is_err() {
                index.base.set_broken();
            }
            found
        });
        match searched.await {
            Ok(found) => Ok(found?),
            Err(stopped) => Err(StoreError::failed("search a base", stopped)),
        }
    }

    /// The record time up to which it knows the base.
    pub fn head(&self) -> RecordTime {
        self.head
    }

    /// How large the cache is.
    pub fn stats(&self) -> Stats {
        self.base.stats()
    }

    /// A cache in a folder of its own, fed by hand: for measuring ranking without a database.
    ///
    /// `vectors` are int8 codes by ordinal.
    pub fn of_rows(
        folder: &Path,
        rows: &[ChunkRow],
        vectors: &[(u32, Vec<i8>)],
    ) -> Result<Self, IndexError> {
        let base = Base::open(folder, &[], Habits::default())?;
        let head = RecordTime::from_micros(i64::MAX - 1);
        for batch in rows.chunks(2000) {
            base.feed(batch, head)?;
            while base.merge_next()? {}
        }
        let serving = Serving {
            model: "measured".to_owned(),
            since: head,
        };
        base.serve(&serving);
        base.put_vectors(&serving.model, vectors, None);
        base.rest()?;
        Ok(Self {
            base: Arc::new(base),
            head,
            model: Some(serving.model),
        })
    }
}
