//! What facts rest on, and which of them a caller may see for it.

use std::collections::{BTreeSet, HashMap, HashSet};

use engine::ledger::{Line, Survey};
use kernel::{Base, Cx};
use model::{DocumentId, EntityId, FactId, KbId, Result, Role};
use store::evidence::Evidence;
use store::{Tx, documents, evidence};

use super::shown::Asked;

/// Above this many facts it is looked up what the caller may not see, and not what each rests on.
const LOOKED_UP_MAX: usize = 2_000;

/// Leaves the facts that the caller may see: those that rest on no document, or on one that the
/// caller may see; and of equal ones, one.
pub async fn survey(
    tx: &mut Tx,
    cx: &Cx<'_, Base>,
    entity: EntityId,
    asked: &Asked,
) -> Result<Option<Survey>> {
    let kb = cx.target.id();
    let Some(mut survey) = Survey::read(tx, kb, entity, asked.view()).await? else {
        return Ok(None);
    };
    let hidden = hidden(tx, cx, &survey.lines).await?;
    if !hidden.is_empty() {
        survey
            .lines
            .retain(|line| !hidden.contains(&line.outline.fact));
    }
    survey.once(tx, kb).await?;
    Ok(Some(survey))
}

/// Those of the facts that the caller may not see.
async fn hidden(tx: &mut Tx, cx: &Cx<'_, Base>, lines: &[Line]) -> Result<HashSet<FactId>> {
    let (kb, role) = (cx.target.id(), cx.target.role());
    let all = || lines.iter().map(|line| line.outline.fact);
    let mut suspects: Vec<FactId> = all().collect();
    if LOOKED_UP_MAX < suspects.len() {
        let limit = LOOKED_UP_MAX as u32 + 1;
        let documents = documents::hidden_from(tx, kb, role, limit).await?;
        if documents.len() <= LOOKED_UP_MAX {
            let resting = evidence::resting_on(tx, kb, &documents).await?;
            let resting: HashSet<FactId> = resting.into_iter().collect();
            suspects.retain(|fact| resting.contains(fact));
        }
    }
    let sources = sources(tx, cx, &suspects).await?;
    suspects.retain(|&fact| !sources.may_see(fact));
    Ok(suspects.into_iter().collect())
}

/// All facts that rest only on what the caller may not see: to be taken out before anything is
/// counted, ranked or cut.
pub async fn unseen(tx: &mut Tx, cx: &Cx<'_, Base>) -> Result<HashSet<FactId>> {
    let (kb, role) = (cx.target.id(), cx.target.role());
    let documents = documents::hidden_from(tx, kb, role, u32::MAX).await?;
    if documents.is_empty() {
        return Ok(HashSet::new());
    }
    let resting = evidence::resting_on(tx, kb, &documents).await?;
    let sources = sources(tx, cx, &resting).await?;
    let unseen = resting.into_iter().filter(|&fact| !sources.may_see(fact));
    Ok(unseen.collect())
}

/// The documents that facts rest on.
pub struct Sources {
    /// Those that the reader may see, by fact, each once.
    pub shown: HashMap<FactId, Vec<DocumentId>>,
    /// Their quotes that the reader may see, by fact and number.
    pub quotes: HashMap<FactId, Vec<Evidence>>,
    resting: BTreeSet<FactId>,
}

impl Sources {
    /// Whether the caller may see a fact.
    pub fn may_see(&self, fact: FactId) -> bool {
        !self.resting.contains(&fact) || self.shown.contains_key(&fact)
    }
}

/// The documents that these facts rest on, as far as the caller may see them.
pub async fn sources(tx: &mut Tx, cx: &Cx<'_, Base>, facts: &[FactId]) -> Result<Sources> {
    sources_for(tx, (cx.target.id(), cx.target.role()), facts).await
}

/// The documents that these facts rest on, as far as a reader of this role may see them.
pub async fn sources_for(
    tx: &mut Tx,
    (kb, role): (KbId, Role),
    facts: &[FactId],
) -> Result<Sources> {
    let quotes = evidence::of_facts(tx, kb, facts).await?;
    let all: BTreeSet<DocumentId> = quotes.iter().map(|quote| quote.document).collect();
    let all: Vec<DocumentId> = all.into_iter().collect();
    let found = match all.as_slice() {
        [] => Vec::new(),
        some => documents::find_many(tx, kb, some).await?,
    };
    let seen: BTreeSet<DocumentId> = found
        .into_iter()
        .filter(|document| document.least_role <= role)
        .map(|document| document.id)
        .collect();
    let mut shown: HashMap<FactId, Vec<DocumentId>> = HashMap::new();
    let mut seen_quotes: HashMap<FactId, Vec<Evidence>> = HashMap::new();
    let resting = quotes.iter().map(|quote| quote.fact).collect();
    for quote in quotes {
        if !seen.contains(&quote.document) {
            continue;
        }
        let documents = shown.entry(quote.fact).or_default();
        if !documents.contains(&quote.document) {
            documents.push(quote.document);
        }
        seen_quotes.entry(quote.fact).or_default().push(quote);
    }
    Ok(Sources {
        shown,
        quotes: seen_quotes,
        resting,
    })
}
