use engine::ledger::{self, Asserted};
use kernel::{Base, Cx, Method, Operation, Reply, Spec};
use model::fact::Rank;
use model::{EntityId, FactId, RecordTime, Result, WorldTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use store::ontology;

use super::stated::{DatesGiven, ObjectGiven, QualifierGiven, QuoteGiven, Stated};
use crate::ontology::decision;

/// Record a fact. One that says the same of the same thing for the same dates and is held already
/// is not recorded again; the new quotes are added to it. Facts that contradict it are named in
/// the answer and stay as they are.
#[derive(Deserialize, JsonSchema)]
pub struct AssertFact {
    /// Id of the thing it is about.
    subject_id: EntityId,
    /// Key of the relation or attribute; or `wording`, where the base has no word for it.
    predicate: Option<String>,
    /// Id of the thing it leads to; or `value`.
    object_id: Option<EntityId>,
    /// Its value: a text, a number, `true` or `false`; or `object_id`.
    value: Option<Json>,
    /// The unit of its value; the attribute's if absent.
    unit: Option<String>,
    /// The words that its source has for the relation.
    wording: Option<String>,
    /// World time: from when it holds, at the precision it is stated at (`2024`, `2024-03`).
    valid_from: Option<WorldTime>,
    /// The latest that `valid_from` may be, of a range.
    valid_from_latest: Option<WorldTime>,
    /// World time: until when it holds, that date included; `unknown` for an end without a date.
    valid_to: Option<String>,
    /// The earliest that `valid_to` may be, of a range.
    valid_to_earliest: Option<WorldTime>,
    /// Whether the dates are only about right.
    #[serde(default)]
    approximate: bool,
    /// The dates as they are written in the source.
    date_text: Option<String>,
    /// The calendar they are written in, where it is not the Gregorian.
    calendar: Option<String>,
    /// `preferred`, `normal` or `deprecated`. `normal` if absent.
    rank: Option<Rank>,
    /// How sure it is, from 0 to 1. 1 if absent.
    confidence: Option<f64>,
    /// Details: `{key, value | entity_id, unit}` each.
    #[serde(default)]
    qualifiers: Vec<QualifierGiven>,
    /// What it rests on: `{chunk_id, quote}` each, the quote word for word as it stands in the passage.
    #[serde(default)]
    evidence: Vec<QuoteGiven>,
}

/// A fact that was recorded.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AssertedFact {
    /// Its id.
    pub fact_id: FactId,
    /// When it was recorded.
    pub recorded_at: RecordTime,
    /// Whether it was held already.
    pub was_held: bool,
    /// Facts that say something else of the same thing for the same moment; nothing was done to them.
    pub contradicts: Vec<FactId>,
}

impl From<Asserted> for AssertedFact {
    fn from(asserted: Asserted) -> Self {
        Self {
            fact_id: asserted.fact,
            recorded_at: asserted.recorded_at,
            was_held: asserted.was_held,
            contradicts: asserted.contradicts,
        }
    }
}

impl Reply for AssertedFact {
    const STATUS: u16 = 201;

    fn text(&self) -> String {
        let mut text = self.fact_id.to_string();
        if self.was_held {
            text.push_str("  held already");
        }
        for other in &self.contradicts {
            text.push_str(&format!("\ncontradicts {other}"));
        }
        text + "\n"
    }
}

impl Operation for AssertFact {
    type Target = Base;
    type Output = AssertedFact;
    const SPEC: Spec = Spec::write("assert_fact", "Record a fact")
        .route(Method::Post, "/kbs/{kb_id}/facts")
        .idempotency_key()
        .cli("fact assert", &["subject_id", "predicate"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<AssertedFact> {
        let mut tx = cx.write().await?;
        let words = ontology::read(&mut tx, cx.target.id()).await?;
        let stated = Stated {
            subject: self.subject_id,
            predicate: self.predicate,
            object: ObjectGiven {
                object_id: self.object_id,
                value: self.value,
                unit: self.unit,
            },
            wording: self.wording,
            dates: DatesGiven {
                valid_from: self.valid_from,
                valid_from_latest: self.valid_from_latest,
                valid_to: self.valid_to,
                valid_to_earliest: self.valid_to_earliest,
                approximate: self.approximate,
            },
            date_text: self.date_text,
            calendar: self.calendar,
            rank: self.rank.unwrap_or_default(),
            confidence: self.confidence.unwrap_or(1.0),
            qualifiers: self.qualifiers,
            evidence: self.evidence,
        };
        let ids = || cx.ids.next();
        let assertion = stated.assertion(&words)?;
        let asserted = ledger::assert(&mut tx, &decision(cx, &ids), &assertion).await?;
        cx.about("fact", asserted.fact);
        tx.commit(asserted.into()).await
    }
}
