//! Asserting, correcting and retracting claims.

use model::fact::{Fact, Object, Rank, Temporality, Validity};
use model::ontology::misfit::fits_datatype;
use model::ontology::{Datatype, RelationKind, RelationType};
use model::{
    ChunkId, Code, EntityId, Error, FactId, KbId, RecordTime, RelationTypeId, Result, WorldTime,
};
use serde_json::{Value as Json, json};
use store::evidence::{self, Evidence, Qualifier};
use store::{Tx, chunks, documents, entities, facts, ontology};

use super::{Decision, holding, people};

/// A claim to be recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Assertion {
    /// What it is about.
    pub subject: EntityId,
    /// The relation; none if the ontology has no word for it, which `wording` then is.
    pub predicate: Option<RelationTypeId>,
    /// What it says.
    pub object: Object,
    /// The words that its source has for the relation.
    pub wording: Option<String>,
    /// How it ranks among others.
    pub rank: Rank,
    /// When it is stated to hold.
    pub validity: Validity,
    /// The dates as they are written in the source.
    pub date_text: Option<String>,
    /// The calendar they are written in, where it is not the Gregorian.
    pub calendar: Option<String>,
    /// How sure it is, from 0 to 1.
    pub confidence: f64,
    /// Details on the claim.
    pub qualifiers: Vec<(RelationTypeId, Object)>,
    /// What it rests on.
    pub evidence: Vec<Quote>,
}

/// Words of a passage that a claim rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// The passage.
    pub chunk: ChunkId,
    /// The words, exactly as they stand there.
    pub text: String,
}

/// What an assertion did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asserted {
    /// The claim: a new one, or the equal one that was held already.
    pub fact: FactId,
    /// When the claim was recorded.
    pub recorded_at: RecordTime,
    /// Whether an equal claim was held already; it then rests on the new quotes as well.
    pub was_held: bool,
    /// Claims of the same relation that say something else for the same moment. Nothing was done
    /// to them.
    pub contradicts: Vec<FactId>,
}

/// Records a claim.
///
/// An equal claim (one thing, one relation, one object, the same dates) that is held already is
/// not recorded again: the new quotes are added to it.
///
/// # Errors
/// `not_found` for a thing, relation or passage that the base does not have; `invalid_argument`
/// where the object or the dates are not what the relation takes, or a quote does not stand in
/// its passage.
pub async fn assert(
    tx: &mut Tx,
    decision: &Decision<'_>,
    assertion: &Assertion,
) -> Result<Asserted> {
    let at = decision.begin(tx).await?;
    let kb = decision.kb;
    let relation = check(tx, kb, assertion, at).await?;
    if let Some(held) = equal(tx, kb, assertion, at).await? {
        let added = rest_on(tx, kb, held.id, &assertion.evidence, at).await?;
        if added {
            holding::refresh(tx, kb, relation.as_ref(), std::slice::from_ref(&held), at).await?;
            let payload = json!({ "fact": held.id, "evidence": assertion.evidence.len() });
            decision.record(tx, "attest", &payload, at).await?;
        }
        return Ok(Asserted {
            fact: held.id,
            recorded_at: held.recorded_at,
            was_held: true,
            contradicts: Vec::new(),
        });
    }
    let fact = fact(decision, assertion, None, at);
    write(tx, kb, assertion, &fact).await?;
    holding::refresh(tx, kb, relation.as_ref(), std::slice::from_ref(&fact), at).await?;
    let payload = payload(&fact);
    decision.record(tx, "assert", &payload, at).await?;
    let contradicts = contradicted(tx, kb, relation.as_ref(), &fact, at).await?;
    Ok(Asserted {
        fact: fact.id,
        recorded_at: at,
        was_held: false,
        contradicts,
    })
}

/// Records a claim in the place of another, which is held no more.
///
/// Details and quotes that the new claim does not bring itself are taken over.
///
/// # Errors
/// As [`assert()`]; `conflict` if the former claim is held no more.
pub async fn correct(
    tx: &mut Tx,
    decision: &Decision<'_>,
    former: FactId,
    mut assertion: Assertion,
) -> Result<Asserted> {
    let at = decision.begin(tx).await?;
    let kb = decision.kb;
    let former = held(tx, kb, former).await?;
    let relation = check(tx, kb, &assertion, at).await?;
    if assertion.qualifiers.is_empty() {
        let carried = evidence::qualifiers(tx, kb, &[former.id]).await?;
        assertion.qualifiers = carried
            .into_iter()
            .map(|qualifier| (qualifier.kind, qualifier.object))
            .collect();
    }
    facts::close(tx, kb, former.id, at).await?;
    let fact = fact(decision, &assertion, Some(former.id), at);
    write(tx, kb, &assertion, &fact).await?;
    if assertion.evidence.is_empty() {
        carry_evidence(tx, kb, former.id, &fact).await?;
    }
    let gone = Fact {
        invalidated_at: Some(at),
        ..former
    };
    if gone.predicate == fact.predicate {
        holding::refresh(tx, kb, relation.as_ref(), &[fact.clone(), gone], at).await?;
    } else {
        let former_relation = relation_of(tx, kb, gone.predicate).await?;
        holding::refresh(tx, kb, former_relation.as_ref(), &[gone], at).await?;
        holding::refresh(tx, kb, relation.as_ref(), std::slice::from_ref(&fact), at).await?;
    }
    let mut payload = payload(&fact);
    payload["supersedes"] = json!(fact.supersedes);
    decision.record(tx, "correct", &payload, at).await?;
    let contradicts = contradicted(tx, kb, relation.as_ref(), &fact, at).await?;
    Ok(Asserted {
        fact: fact.id,
        recorded_at: at,
        was_held: false,
        contradicts,
    })
}

/// Holds a claim no more, with nothing in its place; when.
///
/// # Errors
/// `not_found` if the base has no such claim; `conflict` if it is held no more.
pub async fn retract(
    tx: &mut Tx,
    decision: &Decision<'_>,
    fact: FactId,
    reason: Option<&str>,
) -> Result<RecordTime> {
    let at = decision.begin(tx).await?;
    let kb = decision.kb;
    let fact = held(tx, kb, fact).await?;
    facts::close(tx, kb, fact.id, at).await?;
    let gone = Fact {
        invalidated_at: Some(at),
        ..fact
    };
    let relation = relation_of(tx, kb, gone.predicate).await?;
    holding::refresh(tx, kb, relation.as_ref(), std::slice::from_ref(&gone), at).await?;
    let payload = json!({ "fact": gone.id, "reason": reason });
    decision.record(tx, "retract", &payload, at).await?;
    Ok(at)
}

async fn held(tx: &mut Tx, kb: KbId, fact: FactId) -> Result<Fact> {
    let Some(found) = facts::find(tx, kb, fact).await? else {
        return Err(Error::not_found("no fact with that id in this base"));
    };
    match found.invalidated_at {
        None => Ok(found),
        Some(end) => Err(Error::new(
            Code::Conflict,
            format!(
                "the fact is held no more since {end}; correct or retract the one in its place"
            ),
        )),
    }
}

async fn relation_of(
    tx: &mut Tx,
    kb: KbId,
    predicate: Option<RelationTypeId>,
) -> Result<Option<RelationType>> {
    let Some(id) = predicate else {
        return Ok(None);
    };
    Ok(ontology::relation(tx, kb, id).await?)
}

fn fact(
    decision: &Decision<'_>,
    assertion: &Assertion,
    supersedes: Option<FactId>,
    at: RecordTime,
) -> Fact {
    Fact {
        id: FactId::new((decision.ids)()),
        subject: assertion.subject,
        predicate: assertion.predicate,
        object: assertion.object.clone(),
        wording: assertion.wording.clone(),
        rank: assertion.rank,
        validity: assertion.validity,
        date_text: assertion.date_text.clone(),
        calendar: assertion.calendar.clone(),
        confidence: assertion.confidence,
        recorded_at: at,
        invalidated_at: None,
        supersedes,
    }
}

fn payload(fact: &Fact) -> Json {
    json!({
        "fact": fact.id,
        "subject": fact.subject,
        "predicate": fact.predicate,
        "object": fact.object.key(),
    })
}

/// Writes a claim with its details and quotes; for when it holds is still to be read out.
async fn write(tx: &mut Tx, kb: KbId, assertion: &Assertion, fact: &Fact) -> Result<()> {
    facts::insert(tx, kb, std::slice::from_ref(fact)).await?;
    let qualifiers: Vec<Qualifier> = assertion
        .qualifiers
        .iter()
        .map(|(kind, object)| Qualifier {
            fact: fact.id,
            kind: *kind,
            object: object.clone(),
        })
        .collect();
    evidence::insert_qualifiers(tx, kb, &qualifiers).await?;
    rest_on(tx, kb, fact.id, &assertion.evidence, fact.recorded_at).await?;
    Ok(())
}

/// The quotes of a former claim, taken over by the one in its place.
async fn carry_evidence(tx: &mut Tx, kb: KbId, former: FactId, fact: &Fact) -> Result<()> {
    let carried: Vec<Evidence> = evidence::of_facts(tx, kb, &[former])
        .await?
        .into_iter()
        .filter(|quote| quote.invalidated_at.is_none())
        .zip(0..)
        .map(|(quote, n)| Evidence {
            fact: fact.id,
            n,
            recorded_at: fact.recorded_at,
            ..quote
        })
        .collect();
    Ok(evidence::insert(tx, kb, &carried).await?)
}

/// Adds quotes to what a claim rests on, those it has already left out; whether any was new.
async fn rest_on(
    tx: &mut Tx,
    kb: KbId,
    fact: FactId,
    quotes: &[Quote],
    at: RecordTime,
) -> Result<bool> {
    if quotes.is_empty() {
        return Ok(false);
    }
    let known = evidence::of_facts(tx, kb, &[fact]).await?;
    let mut new = Vec::new();
    let mut n = u32::try_from(known.len()).unwrap_or(u32::MAX);
    for quote in quotes {
        let is_known = known.iter().any(|known| {
            known.invalidated_at.is_none()
                && known.chunk == quote.chunk
                && known.quote == quote.text
        });
        if is_known {
            continue;
        }
        new.push(stand(tx, kb, (fact, n), quote, at).await?);
        n += 1;
    }
    evidence::insert(tx, kb, &new).await?;
    Ok(!new.is_empty())
}

/// The quote with its place in the passage, which must hold it word for word.
async fn stand(
    tx: &mut Tx,
    kb: KbId,
    (fact, n): (FactId, u32),
    quote: &Quote,
    at: RecordTime,
) -> Result<Evidence> {
    let passages = chunks::by_ids(tx, kb, &[quote.chunk], at).await?;
    let Some(passage) = passages.first() else {
        return Err(Error::not_found(
            "no passage with that `chunk_id` in this base",
        ));
    };
    let found = (!quote.text.is_empty())
        .then(|| passage.text.find(&quote.text))
        .flatten();
    let Some(start) = found else {
        return Err(Error::invalid(
            "`quote` must stand in its passage word for word; copy it from there",
        ));
    };
    let char_start = passage.text[..start].chars().count() as u64;
    let char_end = char_start + quote.text.chars().count() as u64;
    let document = documents::find(tx, kb, passage.document).await?;
    let version = document
        .and_then(|document| document.held_version)
        .unwrap_or(1);
    let stated = documents::version(tx, kb, (passage.document, version)).await?;
    let document_date = stated
        .filter(|version| {
            matches!(
                version.date_source.as_deref(),
                Some("content" | "front_matter" | "source")
            )
        })
        .and_then(|version| version.document_date)
        .and_then(|date| date.parse::<WorldTime>().ok());
    Ok(Evidence {
        fact,
        n,
        document: passage.document,
        version,
        chunk: quote.chunk,
        quote: quote.text.clone(),
        char_start,
        char_end,
        document_date,
        origin: "stated".to_owned(),
        recorded_at: at,
        invalidated_at: None,
    })
}

/// The relation, if the assertion is one that it takes.
async fn check(
    tx: &mut Tx,
    kb: KbId,
    assertion: &Assertion,
    at: RecordTime,
) -> Result<Option<RelationType>> {
    let mut things = vec![assertion.subject];
    things.extend(assertion.object.entity());
    let details = assertion.qualifiers.iter();
    things.extend(details.filter_map(|(_, object)| object.entity()));
    things.sort_unstable();
    things.dedup();
    if entities::known(tx, kb, &things, at).await?.len() < things.len() {
        return Err(Error::not_found("no entity with that id in this base"));
    }
    if !(0.0..=1.0).contains(&assertion.confidence) {
        return Err(Error::invalid(format!(
            "`confidence` must be from 0 to 1, not {}",
            assertion.confidence
        )));
    }
    if let Object::Value(value) = &assertion.object
        && (value.value.is_array() || value.value.is_object() || value.value.is_null())
    {
        return Err(Error::invalid(
            "`value` must be a text, a number, `true` or `false`",
        ));
    }
    let relation = match assertion.predicate {
        None if assertion
            .wording
            .as_deref()
            .unwrap_or_default()
            .trim()
            .is_empty() =>
        {
            return Err(Error::invalid(
                "a fact needs `predicate`, or `wording` where the ontology has no word for it",
            ));
        }
        None => None,
        Some(id) => {
            let relation = relation_of(tx, kb, Some(id)).await?;
            Some(
                relation
                    .ok_or_else(|| Error::not_found("no relation with that id in this base"))?,
            )
        }
    };
    let temporality = relation
        .as_ref()
        .map_or(Temporality::State, |relation| relation.temporality);
    let checked = assertion.validity.checked(temporality);
    checked.map_err(|error| Error::invalid(error.to_string()))?;
    if let Some(relation) = &relation {
        takes(relation, &assertion.object)?;
    }
    Ok(relation)
}

/// Whether a relation takes an object.
fn takes(relation: &RelationType, object: &Object) -> Result<()> {
    let key = &relation.key;
    match (relation.kind, object) {
        (RelationKind::Relation, Object::Value(_)) => Err(Error::invalid(format!(
            "`{key}` leads to an entity; give `object_id`, not `value`"
        ))),
        (RelationKind::Attribute, Object::Entity(_)) => Err(Error::invalid(format!(
            "`{key}` is an attribute; give `value`, not `object_id`"
        ))),
        (RelationKind::Relation, Object::Entity(_)) => Ok(()),
        (RelationKind::Attribute, Object::Value(value)) => {
            let fits = fits_datatype(relation.datatype, value);
            let datatype = relation.datatype.map_or("text", Datatype::name);
            fits.then_some(())
                .ok_or_else(|| Error::invalid(format!("a `value` of `{key}` must be a {datatype}")))
        }
    }
}

/// The held claim that says the same of the same thing for the same dates.
async fn equal(
    tx: &mut Tx,
    kb: KbId,
    assertion: &Assertion,
    at: RecordTime,
) -> Result<Option<Fact>> {
    let Some(predicate) = assertion.predicate else {
        return Ok(None);
    };
    let members = |known: Option<people::Known>| known.map(|known| known.members);
    let subjects = people::members(tx, kb, assertion.subject, at).await?;
    let subjects = members(subjects).unwrap_or_default();
    let says: Vec<String> = match &assertion.object {
        Object::Value(value) => vec![value.key()],
        Object::Entity(object) => {
            let objects = people::members(tx, kb, *object, at).await?;
            let objects = members(objects).unwrap_or_default();
            let key = |&object: &EntityId| Object::Entity(object).key();
            objects.iter().map(key).collect()
        }
    };
    let same = facts::saying(tx, kb, (&subjects, predicate), &says).await?;
    Ok(same
        .into_iter()
        .find(|fact| fact.validity == assertion.validity))
}

/// Claims that say something else than this one for the same moment, where one value can hold.
async fn contradicted(
    tx: &mut Tx,
    kb: KbId,
    relation: Option<&RelationType>,
    fact: &Fact,
    at: RecordTime,
) -> Result<Vec<FactId>> {
    let Some(relation) = relation.filter(|relation| relation.axioms.functional) else {
        return Ok(Vec::new());
    };
    holding::contradicting(tx, kb, relation, fact, at).await
}
