//! Vectors for passages and questions.

use model::{Code, DocumentId, Error, KbId, RecordTime, Result, TenantId, text};
use providers::{EmbedError, Embedder, Embedders, quantise};
use store::index::Nameless;
use store::models::{self, Serving};
use store::vectors::{self, MissingVector, Vector};
use store::{Db, bases};

use super::models::wanted;

/// Passages that are embedded at a time and stored in one transaction.
pub const BATCH: u32 = 32;

/// A word that every model takes, to tell a text that it does not take from a model that takes
/// none.
const PROBE: &str = "quipu";

/// Passages that were embedded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Embedded {
    /// The ordinal to go on after.
    pub last: i64,
    /// How many vectors were stored.
    pub vectors: u64,
}

/// Embeds the next passages without a vector of the model, of one document or of the whole base;
/// none when nothing is left.
///
/// No transaction is open while the model works. A batch that is lost is found again.
///
/// # Errors
/// `unavailable` if the model does not answer.
pub async fn embed_next(
    (db, embedders): (&Db, &Embedders),
    embedder: &Embedder,
    (tenant, kb): (TenantId, KbId),
    document: Option<DocumentId>,
    after: i64,
    now: RecordTime,
) -> Result<Option<Embedded>> {
    let model = embedder.model_tag();
    let mut tx = db.read(tenant).await?;
    let missing = match document {
        Some(document) => {
            vectors::missing_of_document(&mut tx, kb, (model, document), after, BATCH).await?
        }
        None => vectors::missing(&mut tx, kb, model, after, BATCH).await?,
    };
    drop(tx);
    let Some(last) = missing.last().map(|passage| passage.ordinal) else {
        return Ok(None);
    };

    let texts: Vec<String> = missing.iter().map(passage_text).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let embedded = embed_passages(embedder, &texts).await.map_err(no_answer)?;
    let made = missing.iter().zip(&embedded).map(|(passage, vector)| {
        let (scale, code) = quantise(vector);
        Vector {
            chunk: passage.chunk,
            scale,
            code,
        }
    });
    let made: Vec<Vector> = made.collect();

    let mut tx = db.write(tenant).await?;
    let at = bases::advance_clock(&mut tx, kb, now).await?;
    // A purge may have come in between, and its text must not live on in a vector.
    let ordinals: Vec<i64> = missing.iter().map(|passage| passage.ordinal).collect();
    let rows = store::chunks::by_ordinals(&mut tx, kb, &ordinals).await?;
    let there = |vector: &Vector| {
        rows.iter()
            .any(|row| row.id == vector.chunk && row.purged_at.is_none())
    };
    let kept: Vec<Vector> = made.into_iter().filter(there).collect();
    vectors::insert(&mut tx, kb, model, &kept, at).await?;
    // Where no vectors were asked so far, these are better than none.
    if models::of_base(&mut tx, kb).await?.serving.is_none()
        && wanted(&mut tx, embedders).await?.as_deref() == Some(model)
    {
        models::serve(&mut tx, kb, Some(model), at).await?;
    }
    tx.commit().await?;
    Ok(Some(Embedded {
        last,
        vectors: kept.len() as u64,
    }))
}

/// The vectors of passages. One that the model does not take has zeros, which are near nothing:
/// it is not to keep the others waiting for ever.
async fn embed_passages(
    embedder: &Embedder,
    texts: &[&str],
) -> std::result::Result<Vec<Vec<f32>>, EmbedError> {
    match embedder.embed_passages(texts).await {
        Err(error) if error.may_be_the_texts_fault() => {}
        done => return done,
    }
    let mut vectors = Vec::with_capacity(texts.len());
    let mut left_out = 0;
    for text in texts {
        match embedder.embed_passages(&[text]).await {
            Ok(alone) => vectors.extend(alone),
            Err(error) if error.may_be_the_texts_fault() => {
                embedder.embed_passages(&[PROBE]).await?;
                vectors.push(vec![0.0; embedder.width()]);
                left_out += 1;
            }
            Err(error) => return Err(error),
        }
    }
    tracing::warn!(
        left_out,
        model = embedder.model_tag(),
        "the model does not take some passages; they are found by their words"
    );
    Ok(vectors)
}

fn no_answer(error: EmbedError) -> Error {
    Error::new(Code::Unavailable, error.to_string()).caused_by(error)
}

/// What the model reads of a passage: what its id is made of, so that one vector serves all its
/// rows.
fn passage_text(passage: &MissingVector) -> String {
    if passage.heading_path.is_empty() {
        return passage.text.clone();
    }
    format!("{}\n{}", passage.heading_path.join(" > "), passage.text)
}

/// A question as the model of a base reads it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Meant {
    /// The model whose vectors the base was searched with when the question was put to it.
    pub serving: Option<Serving>,
    /// The question's vector; none without a model, or where it does not know the language.
    pub vector: Option<Vec<f32>>,
    /// The question without its names, if it has some and there is a vector.
    pub nameless: Option<Nameless>,
    /// Why there is none although there should be.
    pub without: Option<Without>,
}

/// Why words alone decided on an answer, in a base that has vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Without {
    /// The model that made the vectors is not on this machine any more.
    NoModel,
    /// It does not answer.
    NoAnswer,
    /// The vectors are being read.
    Reading,
}

impl Without {
    /// A sentence for whoever searches; it names no model, file or server.
    pub const fn sentence(self) -> &'static str {
        match self {
            Without::NoModel => {
                "Searched by words only: the model that this base's vectors are of is not available, and another's are not all made yet."
            }
            Without::NoAnswer => {
                "Searched by words only: the embedding model did not answer this question."
            }
            Without::Reading => "Searched by words only: the vectors are being read.",
        }
    }
}

/// Reads a question with the model whose vectors the base is searched with.
///
/// A model only adds: without its answer there is no vector, and that is no error.
pub async fn mean(embedders: &Embedders, serving: Option<Serving>, question: &str) -> Meant {
    let Some(tag) = serving.as_ref().map(|serving| serving.model.as_str()) else {
        return Meant::default();
    };
    let mut meant = Meant::default();
    match embedders.by_tag(tag) {
        None => meant.without = Some(Without::NoModel),
        Some(embedder) if !embedder.reads(question) => {}
        Some(embedder) => {
            let both = tokio::join!(
                embedder.embed_query(question),
                nameless(&embedder, question)
            );
            match both {
                (Ok(vector), nameless) => {
                    meant.vector = Some(vector);
                    meant.nameless = nameless;
                }
                (Err(error), _) => {
                    tracing::warn!(%error, model = tag, "the model gave no vector for a question");
                    meant.without = Some(Without::NoAnswer);
                }
            }
        }
    }
    Meant { serving, ..meant }
}

/// The question without its names, if it has some and the model reads what is left.
async fn nameless(embedder: &Embedder, question: &str) -> Option<Nameless> {
    let (left, names) = text::without_names(question)?;
    let vector = embedder.embed_query(&left).await.ok()?;
    Some(Nameless { vector, names })
}
