//! Vectors for passages and questions.

use model::text::{self, Language};
use model::{DocumentId, Error, KbId, RecordTime, Result, TenantId};
use providers::{Embedder, quantise};
use store::index::Nameless;
use store::vectors::{self, MissingVector, Vector};
use store::{Db, bases};

/// Passages that are embedded at a time and stored in one transaction.
pub const BATCH: u32 = 32;

/// Embeds the next passages without a vector, of one document or of the whole base; the ordinal
/// to go on after, or none when nothing is left.
///
/// No transaction is open while the model works. A batch that is lost is found again.
pub async fn embed_next(
    db: &Db,
    embedder: &Embedder,
    (tenant, kb): (TenantId, KbId),
    document: Option<DocumentId>,
    after: i64,
    now: RecordTime,
) -> Result<Option<i64>> {
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
    let embedded = embedder
        .embed_passages(&texts)
        .await
        .map_err(Error::internal)?;
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
    tx.commit().await?;
    Ok(Some(last))
}

/// What the model reads of a passage: what its id is made of, so that one vector serves all its
/// rows.
fn passage_text(passage: &MissingVector) -> String {
    if passage.heading_path.is_empty() {
        return passage.text.clone();
    }
    format!("{}\n{}", passage.heading_path.join(" > "), passage.text)
}

/// The vector of a question; none if the model was not trained on its language.
pub async fn embed_question(embedder: &Embedder, question: &str) -> Result<Option<Vec<f32>>> {
    if !speaks(embedder.languages(), question) {
        return Ok(None);
    }
    embedder
        .embed_query(question)
        .await
        .map(Some)
        .map_err(Error::internal)
}

/// The question without its names, if it has some and the model knows its language.
pub async fn embed_nameless(embedder: &Embedder, question: &str) -> Result<Option<Nameless>> {
    let Some((left, names)) = text::without_names(question) else {
        return Ok(None);
    };
    if !speaks(embedder.languages(), question) {
        return Ok(None);
    }
    let vector = embedder.embed_query(&left).await;
    let vector = vector.map_err(Error::internal)?;
    Ok(Some(Nameless { vector, names }))
}

/// Whether a model of these languages is of use for a question.
///
/// The language of a short question cannot be told; one in Latin letters that is not clearly
/// another language passes for English.
fn speaks(languages: Option<&[&str]>, question: &str) -> bool {
    let Some(languages) = languages else {
        return true;
    };
    let letters = || question.chars().filter(|c| c.is_alphabetic());
    let foreign = letters().filter(|c| !c.is_ascii()).count();
    match text::of_document(question).language {
        Language::English => languages.contains(&"en"),
        Language::Other => languages.contains(&"en") && foreign * 2 < letters().count(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_english_model_is_asked_only_what_may_be_english() {
        let english: Option<&[&str]> = Some(&["en"]);
        for question in ["what is the target", "Series C", "INV-2024"] {
            assert!(speaks(english, question), "{question}");
        }
        for question in [
            "目標は何ですか",
            "какая цель",
            "was ist das Ziel und wer hat es",
        ] {
            assert!(!speaks(english, question), "{question}");
            assert!(speaks(None, question), "{question}");
        }
    }
}
