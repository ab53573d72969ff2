//! A claim as a caller states it.

use engine::ledger::{Assertion, Quote};
use model::fact::{Bound, End, Object, Rank, Validity, Value};
use model::ontology::{Datatype, RelationType};
use model::{ChunkId, EntityId, Error, RelationTypeId, Result, WorldTime};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;
use store::ontology::Ontology;

use crate::ontology::relation;

/// Words of a passage that a fact rests on.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub struct QuoteGiven {
    /// The passage.
    pub chunk_id: ChunkId,
    /// The words, exactly as they stand there.
    pub quote: String,
}

/// A detail on a fact.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub struct QualifierGiven {
    /// Key of the attribute or relation.
    pub key: String,
    /// Its value; or `entity_id`.
    pub value: Option<Json>,
    /// The unit of its value.
    pub unit: Option<String>,
    /// The thing it leads to; or `value`.
    pub entity_id: Option<EntityId>,
}

/// The dates of a fact as a caller states them.
#[derive(Debug, Clone, Default)]
pub struct DatesGiven {
    pub valid_from: Option<WorldTime>,
    pub valid_from_latest: Option<WorldTime>,
    pub valid_to: Option<String>,
    pub valid_to_earliest: Option<WorldTime>,
    pub approximate: bool,
}

/// The word for an end whose date is not known.
pub const UNKNOWN: &str = "unknown";

impl DatesGiven {
    /// The validity that the dates make.
    pub fn validity(&self) -> Result<Validity> {
        let between = |name: &str, earliest: WorldTime, latest: WorldTime| {
            let bound = Bound::between(earliest, latest).ok_or_else(|| {
                Error::invalid(format!("`{name}`: {latest} ends before {earliest} begins"))
            })?;
            Ok::<_, Error>(if self.approximate {
                bound.approximately()
            } else {
                bound
            })
        };
        let from = match (self.valid_from, self.valid_from_latest) {
            (None, Some(_)) => {
                return Err(Error::invalid(
                    "`valid_from_latest` needs `valid_from` beside it",
                ));
            }
            (None, None) => None,
            (Some(from), latest) => {
                Some(between("valid_from_latest", from, latest.unwrap_or(from))?)
            }
        };
        let to = match self.valid_to.as_deref().map(str::trim) {
            None => End::Open,
            Some(UNKNOWN) => End::Unknown,
            Some(text) => {
                let to: WorldTime = text.parse().map_err(|error| {
                    Error::invalid(format!("`valid_to` {error}; or `{UNKNOWN}`"))
                })?;
                let earliest = self.valid_to_earliest.unwrap_or(to);
                End::On(between("valid_to_earliest", earliest, to)?)
            }
        };
        Ok(Validity { from, to })
    }
}

/// What a fact says, as a caller states it.
#[derive(Debug, Clone, Default)]
pub struct ObjectGiven {
    pub object_id: Option<EntityId>,
    pub value: Option<Json>,
    pub unit: Option<String>,
}

impl ObjectGiven {
    /// The object, a value written as text brought to what the relation takes.
    pub fn object(self, relation: Option<&RelationType>) -> Result<Object> {
        match (self.object_id, self.value) {
            (Some(_), Some(_)) => Err(Error::invalid("give `object_id` or `value`, not both")),
            (None, None) => Err(Error::invalid("a fact needs `object_id` or `value`")),
            (Some(id), None) => Ok(Object::Entity(id)),
            (None, Some(value)) => Ok(Object::Value(Value {
                value: brought(value, relation.and_then(|relation| relation.datatype)),
                unit: self
                    .unit
                    .or_else(|| relation.and_then(|relation| relation.unit.clone())),
            })),
        }
    }
}

/// A number or a truth that a door could only carry as text.
fn brought(value: Json, datatype: Option<Datatype>) -> Json {
    match (&value, datatype) {
        (Json::String(text), Some(Datatype::Number | Datatype::Bool)) => {
            match serde_json::from_str::<Json>(text.trim()) {
                Ok(read @ (Json::Number(_) | Json::Bool(_))) => read,
                _ => value,
            }
        }
        _ => value,
    }
}

/// All of a fact as a caller states it.
pub struct Stated {
    pub subject: EntityId,
    pub predicate: Option<String>,
    pub object: ObjectGiven,
    pub wording: Option<String>,
    pub dates: DatesGiven,
    pub date_text: Option<String>,
    pub calendar: Option<String>,
    pub rank: Rank,
    pub confidence: f64,
    pub qualifiers: Vec<QualifierGiven>,
    pub evidence: Vec<QuoteGiven>,
}

impl Stated {
    /// The claim, in the base's words.
    pub fn assertion(self, words: &Ontology) -> Result<Assertion> {
        let named = self
            .predicate
            .as_deref()
            .map(|named| relation(words, named));
        let predicate = named.transpose()?;
        let qualifiers: Result<Vec<(RelationTypeId, Object)>> = self
            .qualifiers
            .into_iter()
            .map(|given| {
                let kind = relation(words, &given.key)?;
                let object = ObjectGiven {
                    object_id: given.entity_id,
                    value: given.value,
                    unit: given.unit,
                };
                Ok((kind.id, object.object(Some(kind))?))
            })
            .collect();
        let evidence = self.evidence.into_iter().map(|given| Quote {
            chunk: given.chunk_id,
            text: given.quote,
        });
        Ok(Assertion {
            subject: self.subject,
            predicate: predicate.map(|relation| relation.id),
            object: self.object.object(predicate)?,
            wording: self.wording,
            rank: self.rank,
            validity: self.dates.validity()?,
            date_text: self.date_text,
            calendar: self.calendar,
            confidence: self.confidence,
            qualifiers: qualifiers?,
            evidence: evidence.collect(),
        })
    }
}
