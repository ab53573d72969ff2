use engine::ledger::{self, Assertion};
use kernel::{Base, Cx, Method, Operation, Spec};
use model::fact::{Bound, End, Object, Rank};
use model::{EntityId, Error, FactId, Result, WorldTime};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;
use store::{facts, ontology};

use super::AssertedFact;
use super::stated::{DatesGiven, ObjectGiven, QuoteGiven};
use crate::ontology::{decision, relation};

/// Correct a fact: a new one takes its place from now on. What is not given stays as it was; with
/// `as_of` before this moment the former one is read.
#[derive(Deserialize, JsonSchema)]
pub struct CorrectFact {
    /// Id of the fact to correct.
    fact_id: FactId,
    /// Id of the thing it is about.
    subject_id: Option<EntityId>,
    /// Key of the relation or attribute.
    predicate: Option<String>,
    /// Id of the thing it leads to.
    object_id: Option<EntityId>,
    /// Its value.
    value: Option<Json>,
    /// The unit of its value.
    unit: Option<String>,
    /// World time: from when it holds; `none` takes the date away.
    valid_from: Option<String>,
    /// World time: until when it holds; `unknown` for an end without a date, `none` for no end.
    valid_to: Option<String>,
    /// Whether the dates are only about right.
    #[serde(default)]
    approximate: bool,
    /// `preferred`, `normal` or `deprecated`.
    rank: Option<Rank>,
    /// How sure it is, from 0 to 1.
    confidence: Option<f64>,
    /// What it rests on instead: `{chunk_id, quote}` each. What it rested on before if absent.
    #[serde(default)]
    evidence: Vec<QuoteGiven>,
}

/// The word that takes a date away.
const NONE: &str = "none";

impl Operation for CorrectFact {
    type Target = Base;
    type Output = AssertedFact;
    const SPEC: Spec = Spec::write("correct_fact", "Correct a fact")
        .route(Method::Post, "/kbs/{kb_id}/facts/{fact_id}/correct")
        .idempotency_key()
        .cli("fact correct", &["fact_id"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<AssertedFact> {
        cx.about("fact", self.fact_id);
        let kb = cx.target.id();
        let mut tx = cx.write().await?;
        let words = ontology::read(&mut tx, kb).await?;
        let former = facts::find(&mut tx, kb, self.fact_id).await?;
        let former = former.ok_or_else(|| Error::not_found("no fact with that id in this base"))?;
        let former_id = former.id;
        let predicate = match &self.predicate {
            Some(named) => Some(relation(&words, named)?.id),
            None => former.predicate,
        };
        let object = self.object(former.object, predicate.and_then(|id| words.relation(id)))?;
        let mut validity = former.validity;
        match self.valid_from.as_deref().map(str::trim) {
            None => {}
            Some(NONE) => validity.from = None,
            Some(text) => validity.from = Some(self.bound("valid_from", text)?),
        }
        match self.valid_to.as_deref().map(str::trim) {
            None => {}
            Some(NONE) => validity.to = End::Open,
            Some(_) => {
                let dates = DatesGiven {
                    valid_to: self.valid_to.clone(),
                    approximate: self.approximate,
                    ..DatesGiven::default()
                };
                validity.to = dates.validity()?.to;
            }
        }
        let evidence = self.evidence.into_iter().map(|given| ledger::Quote {
            chunk: given.chunk_id,
            text: given.quote,
        });
        let assertion = Assertion {
            subject: self.subject_id.unwrap_or(former.subject),
            predicate,
            object,
            wording: former.wording,
            rank: self.rank.unwrap_or(former.rank),
            validity,
            date_text: former.date_text,
            calendar: former.calendar,
            confidence: self.confidence.unwrap_or(former.confidence),
            qualifiers: Vec::new(),
            evidence: evidence.collect(),
        };
        let ids = || cx.ids.next();
        let corrected = ledger::correct(&mut tx, &decision(cx, &ids), former_id, assertion).await?;
        tx.commit(corrected.into()).await
    }
}

impl CorrectFact {
    fn object(
        &self,
        former: Object,
        relation: Option<&model::ontology::RelationType>,
    ) -> Result<Object> {
        if self.object_id.is_none() && self.value.is_none() {
            return Ok(former);
        }
        let given = ObjectGiven {
            object_id: self.object_id,
            value: self.value.clone(),
            unit: self.unit.clone(),
        };
        given.object(relation)
    }

    fn bound(&self, name: &str, text: &str) -> Result<Bound> {
        let date: WorldTime = text
            .parse()
            .map_err(|error| Error::invalid(format!("`{name}` {error}; or `{NONE}`")))?;
        let bound = Bound::on(date);
        Ok(if self.approximate {
            bound.approximately()
        } else {
            bound
        })
    }
}
