//! Which model a base's vectors are of, and the step from one model to the next.
//!
//! A base is searched with the vectors of one model, the one it *serves*. The house *wants* one,
//! by name. Where the two differ, the wanted model's vectors are made beside the others, and when
//! no passage lacks one, the base is switched in one transaction. Vectors are only ever taken away
//! by a purge of their passage or when somebody prunes.

use model::{KbId, RecordTime, Result};
use providers::embed::{LOCAL, NONE};
use providers::{Embedder, Embedders};
use std::sync::Arc;
use store::models::{self, BaseModels, Choice};
use store::{Tx, bases, vectors};

/// Name of the model that the house is to use.
pub async fn wanted_name(tx: &mut Tx) -> Result<String> {
    Ok(name_of(&models::choice(tx).await?).to_owned())
}

/// Name of the model of a choice: the local one where nobody has chosen.
pub fn name_of(choice: &Choice) -> &str {
    choice.name.as_deref().unwrap_or(LOCAL)
}

/// Tag of the model that the house is to use, if it can be used here.
pub async fn wanted(tx: &mut Tx, embedders: &Embedders) -> Result<Option<String>> {
    let name = wanted_name(tx).await?;
    Ok(match name.as_str() {
        NONE => None,
        name => embedders.tag_of(name),
    })
}

/// A base's models, and the one that the house wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Those of the base.
    pub base: BaseModels,
    /// Tag of the wanted one, if it can be used here.
    pub wanted: Option<String>,
}

impl Standing {
    /// Tag of the model that searches ask for.
    pub fn serving(&self) -> Option<&str> {
        let serving = self.base.serving.as_ref()?;
        Some(&serving.model)
    }

    /// Whether passages are to have vectors of this model.
    pub fn asks_for(&self, tag: &str) -> bool {
        self.serving() == Some(tag) || self.wanted.as_deref() == Some(tag)
    }

    /// Tags of the models that passages are to have vectors of; first the one that searches ask
    /// for, unless nothing is wanted any more.
    pub fn tags(&self) -> Vec<&str> {
        let serving = self.serving();
        let wanted = self.wanted.as_deref().filter(|tag| Some(*tag) != serving);
        serving.into_iter().chain(wanted).collect()
    }

    /// Those models, as far as they can be used here.
    pub fn embedders(&self, embedders: &Embedders) -> Vec<Arc<Embedder>> {
        let known = |tag: &str| embedders.by_tag(tag);
        self.tags().into_iter().filter_map(known).collect()
    }
}

/// How a base stands with models.
pub async fn standing(tx: &mut Tx, kb: KbId, embedders: &Embedders) -> Result<Standing> {
    Ok(Standing {
        base: models::of_base(tx, kb).await?,
        wanted: wanted(tx, embedders).await?,
    })
}

/// What came of an attempt to switch a base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switched {
    /// The base serves the model.
    Serves,
    /// Passages after the ordinal lack a vector.
    Lacks,
    /// Another model is wanted by now.
    Unwanted,
}

/// Switches the base to the wanted model if no passage after the ordinal lacks its vector.
///
/// The base's one place for a writer is taken, so that no passage is added in between.
pub async fn switch(
    tx: &mut Tx,
    embedders: &Embedders,
    kb: KbId,
    (tag, after): (&str, i64),
    now: RecordTime,
) -> Result<Switched> {
    let at = bases::advance_clock(tx, kb, now).await?;
    let standing = standing(tx, kb, embedders).await?;
    if standing.serving() == Some(tag) {
        return Ok(Switched::Serves);
    }
    if standing.wanted.as_deref() != Some(tag) {
        return Ok(Switched::Unwanted);
    }
    if !vectors::missing(tx, kb, tag, after, 1).await?.is_empty() {
        return Ok(Switched::Lacks);
    }
    models::serve(tx, kb, Some(tag), at).await?;
    Ok(Switched::Serves)
}

/// Returns the base to the model it came from, whatever was added since; whether it came from it.
pub async fn switch_back(tx: &mut Tx, kb: KbId, tag: &str, now: RecordTime) -> Result<bool> {
    let at = bases::advance_clock(tx, kb, now).await?;
    if models::of_base(tx, kb).await?.previous.as_deref() != Some(tag) {
        return Ok(false);
    }
    models::serve(tx, kb, Some(tag), at).await?;
    Ok(true)
}

/// Searches the base by words only from now on. Its vectors stay.
pub async fn serve_none(tx: &mut Tx, kb: KbId, now: RecordTime) -> Result<()> {
    if models::of_base(tx, kb).await?.serving.is_some() {
        let at = bases::advance_clock(tx, kb, now).await?;
        models::serve(tx, kb, None, at).await?;
    }
    Ok(())
}
