use engine::ledger::{self, Assertion};
use kernel::{Base, Cx, Method, Operation, Spec};
use model::fact::End;
use model::{Code, Error, FactId, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use store::facts;

use super::AssertedFact;
use super::stated::DatesGiven;
use crate::ontology::decision;

/// Say that a fact has ended: it held, and holds no more. A correction of its end; with `as_of`
/// before this moment it is read as open.
#[derive(Deserialize, JsonSchema)]
pub struct EndFact {
    /// Id of the fact.
    fact_id: FactId,
    /// World time: until when it held, that date included; `unknown` if that is not known.
    valid_to: String,
    /// Whether the date is only about right.
    #[serde(default)]
    approximate: bool,
}

impl Operation for EndFact {
    type Target = Base;
    type Output = AssertedFact;
    const SPEC: Spec = Spec::write("end_fact", "Say that a fact has ended")
        .route(Method::Post, "/kbs/{kb_id}/facts/{fact_id}/end")
        .idempotency_key()
        .cli("fact end", &["fact_id", "valid_to"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<AssertedFact> {
        cx.about("fact", self.fact_id);
        let kb = cx.target.id();
        let mut tx = cx.write().await?;
        let former = facts::find(&mut tx, kb, self.fact_id).await?;
        let former = former.ok_or_else(|| Error::not_found("no fact with that id in this base"))?;
        if let End::On(end) = former.validity.to {
            let end = end.latest();
            return Err(Error::new(
                Code::Conflict,
                format!("the fact ended at {end} already; correct it if that is wrong"),
            ));
        }
        let dates = DatesGiven {
            valid_to: Some(self.valid_to),
            approximate: self.approximate,
            ..DatesGiven::default()
        };
        let mut validity = former.validity;
        validity.to = dates.validity()?.to;
        let assertion = Assertion {
            subject: former.subject,
            predicate: former.predicate,
            object: former.object,
            wording: former.wording,
            rank: former.rank,
            validity,
            date_text: former.date_text,
            calendar: former.calendar,
            confidence: former.confidence,
            qualifiers: Vec::new(),
            evidence: Vec::new(),
        };
        let ids = || cx.ids.next();
        let ended = ledger::correct(&mut tx, &decision(cx, &ids), self.fact_id, assertion).await?;
        tx.commit(ended.into()).await
    }
}
