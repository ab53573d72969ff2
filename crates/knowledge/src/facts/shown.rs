//! Facts as they are shown: with the names of what they are about, their dates and their sources.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use engine::ledger::{HeldFact, Side};
use model::fact::{End, Object, Temporality, Validity, Value};
use model::time::{Interval, OPEN_END, OPEN_START};
use model::{
    DocumentId, EntityId, Error, FactId, KbId, Precision, RecordTime, RelationTypeId, Result, Role,
    WorldTime,
};
use schemars::JsonSchema;
use serde::Serialize;
use store::ontology::Ontology;
use store::{Tx, evidence};

use crate::entities::Described;

/// Whether the thing asked about is what a fact is about, or what it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Direction {
    /// The fact is about it.
    Out,
    /// The fact leads to it.
    In,
}

/// A fact.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct FactInfo {
    /// Its id.
    pub id: FactId,
    /// `out`: it is about the thing asked for; `in`: it leads to it.
    pub direction: Direction,
    /// Key of its relation; null if the base has no word for it.
    pub predicate_key: Option<String>,
    /// Its relation, for people: the words of its source where the base has none.
    pub predicate_label: String,
    /// Whether its relation is only the wording of its source.
    pub inferred: bool,
    /// How it stands in time.
    pub temporal: Temporality,
    /// The thing at the other end; null for a value.
    pub other_id: Option<EntityId>,
    /// Its name.
    pub other_name: Option<String>,
    /// The value with its unit; null if it leads to a thing.
    pub object_value: Option<Value>,
    /// How sure it is, from 0 to 1.
    pub confidence: f64,
    /// World time: the stated beginning, at its precision.
    pub valid_from: Option<WorldTime>,
    /// World time: the stated end, at its precision; covered itself.
    pub valid_to: Option<WorldTime>,
    /// How exactly the beginning is stated.
    pub valid_from_precision: Option<Precision>,
    /// How exactly the end is stated; `unknown` if it ended and the date is not known.
    pub valid_to_precision: Option<String>,
    /// World time: the first moment that it is read to hold; null if open, or if it never does.
    pub holds_from: Option<String>,
    /// World time: the first moment that it is read to hold no more; null if open.
    pub holds_to: Option<String>,
    /// From when it was held.
    pub recorded_at: RecordTime,
    /// From when it was held no more.
    pub invalidated_at: Option<RecordTime>,
    /// The fact it took the place of.
    pub supersedes: Option<FactId>,
    /// The documents it rests on, each once.
    pub document_ids: Vec<DocumentId>,
    /// Details on the fact.
    pub qualifiers: Vec<QualifierInfo>,
    /// Facts that say the same since their things are one.
    pub same_as: Vec<FactId>,
    /// How it ranks among others.
    pub rank: model::fact::Rank,
}

/// A detail on a fact.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct QualifierInfo {
    /// Id of the attribute.
    pub qualifier_type_id: RelationTypeId,
    /// Its key.
    pub key: String,
    /// Its name for people.
    pub label: String,
    /// The value with its unit; null if it leads to a thing.
    pub value: Option<Value>,
    /// The thing it leads to; null for a value.
    pub entity_id: Option<EntityId>,
    /// Its name.
    pub entity_name: Option<String>,
}

/// What both clocks were asked.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Asked {
    /// World time asked about; null for any.
    pub at: Option<WorldTime>,
    /// Record time read at; null for now. With `before` the moment just before it.
    pub as_of: Option<RecordTime>,
    /// Record time that the reading stands just before; null if not given.
    pub before: Option<RecordTime>,
}

impl Asked {
    /// What the arguments ask; `before` wins over `as_of`.
    pub fn new(
        at: Option<WorldTime>,
        as_of: Option<RecordTime>,
        before: Option<RecordTime>,
    ) -> Self {
        Self {
            at,
            as_of: before.map(RecordTime::just_before).or(as_of),
            before,
        }
    }

    /// What is read of the ledger.
    pub fn view(&self) -> store::fact_holds::View {
        store::fact_holds::View {
            at: self.at.map(WorldTime::interval),
            as_of: self.record(),
        }
    }

    /// The moment of record that is read at.
    pub fn record(&self) -> RecordTime {
        self.as_of.unwrap_or(engine::ledger::latest())
    }
}

/// An instant of world time in text; none for an open end.
pub fn instant(micros: i64) -> Option<String> {
    if micros == OPEN_START || micros == OPEN_END {
        return None;
    }
    WorldTime::covering(micros, Precision::Second).map(|moment| moment.to_string())
}

/// The precision of an end, or that it is unknown.
pub fn end_precision(validity: Validity) -> Option<String> {
    match validity.to {
        End::Open => None,
        End::Unknown => Some(super::stated::UNKNOWN.to_owned()),
        End::On(bound) => Some(precision(bound.latest().precision()).to_owned()),
    }
}

fn precision(precision: Precision) -> &'static str {
    match precision {
        Precision::Year => "year",
        Precision::Month => "month",
        Precision::Day => "day",
        Precision::Hour => "hour",
        Precision::Minute => "minute",
        Precision::Second => "second",
    }
}

/// The stated dates in words: `[2019 → 2021]`; nothing if there are none.
pub fn dates(validity: Validity) -> String {
    let about = |bound: model::fact::Bound| if bound.approximate { "about " } else { "" };
    let from = validity.from.map(|from| {
        let (earliest, latest) = (from.earliest(), from.latest());
        if earliest == latest {
            format!("{}{earliest}", about(from))
        } else {
            format!("{earliest}…{latest}")
        }
    });
    let to = match validity.to {
        End::Open => None,
        End::Unknown => Some("ended, date unknown".to_owned()),
        End::On(to) => Some(format!("{}{}", about(to), to.latest())),
    };
    match (from, to) {
        (None, None) => String::new(),
        (Some(from), None) => format!(" [{from} →]"),
        (None, Some(to)) => format!(" [→ {to}]"),
        (Some(from), Some(to)) => format!(" [{from} → {to}]"),
    }
}

/// What is needed to show facts of a base.
pub struct Shower<'a> {
    /// The base.
    pub kb: KbId,
    /// The reader's role in it.
    pub role: Role,
    /// Its words.
    pub words: &'a Ontology,
    /// When it is read at.
    pub as_of: RecordTime,
    /// The documents that each fact rests on.
    pub documents: &'a HashMap<FactId, Vec<DocumentId>>,
}

impl Shower<'_> {
    /// The facts as they are shown, in the order given.
    pub async fn show(&self, tx: &mut Tx, facts: &[HeldFact]) -> Result<Vec<FactInfo>> {
        let ids: Vec<FactId> = facts.iter().map(|held| held.fact.id).collect();
        let mut details: BTreeMap<FactId, Vec<(RelationTypeId, Object)>> = BTreeMap::new();
        for detail in evidence::qualifiers(tx, self.kb, &ids).await? {
            let of_fact = details.entry(detail.fact).or_default();
            of_fact.push((detail.kind, detail.object));
        }
        let mut things: BTreeSet<EntityId> = facts.iter().filter_map(HeldFact::other).collect();
        let carried = details.values().flatten();
        things.extend(carried.filter_map(|(_, object)| object.entity()));
        let things: Vec<EntityId> = things.into_iter().collect();
        let described =
            Described::read(tx, (self.kb, self.role), self.words, &things, self.as_of).await?;
        let shown = facts.iter().map(|held| {
            let details = details.remove(&held.fact.id).unwrap_or_default();
            self.info(held, details, &described)
        });
        Ok(shown.collect())
    }

    fn info(
        &self,
        held: &HeldFact,
        details: Vec<(RelationTypeId, Object)>,
        described: &Described,
    ) -> FactInfo {
        let fact = &held.fact;
        let relation = fact.predicate.and_then(|id| self.words.relation(id));
        let validity = fact.validity;
        let other_id = held.other();
        let interval = |end: fn(Interval) -> i64| held.holds.and_then(|holds| instant(end(holds)));
        let from = validity.from.map(|from| from.earliest());
        FactInfo {
            id: fact.id,
            direction: match held.side {
                Side::Subject => Direction::Out,
                Side::Object => Direction::In,
            },
            predicate_key: relation.map(|relation| relation.key.clone()),
            predicate_label: label(self.words, fact),
            inferred: relation.is_none(),
            temporal: relation
                .map(|relation| relation.temporality)
                .unwrap_or_default(),
            other_id,
            other_name: other_id.map(|id| described.name(id).to_owned()),
            object_value: match (&fact.object, held.side) {
                (Object::Value(value), Side::Subject) => Some(value.clone()),
                _ => None,
            },
            confidence: fact.confidence,
            valid_from: from,
            valid_to: match validity.to {
                End::On(bound) => Some(bound.latest()),
                End::Open | End::Unknown => None,
            },
            valid_from_precision: from.map(WorldTime::precision),
            valid_to_precision: end_precision(validity),
            holds_from: interval(Interval::from),
            holds_to: interval(Interval::to),
            recorded_at: fact.recorded_at,
            invalidated_at: fact.invalidated_at,
            supersedes: fact.supersedes,
            document_ids: self.documents.get(&fact.id).cloned().unwrap_or_default(),
            qualifiers: details
                .into_iter()
                .map(|(kind, object)| self.qualifier(kind, object, described))
                .collect(),
            same_as: held.same_as.clone(),
            rank: fact.rank,
        }
    }

    fn qualifier(
        &self,
        kind: RelationTypeId,
        object: Object,
        described: &Described,
    ) -> QualifierInfo {
        let word = self.words.relation(kind);
        let entity_id = object.entity();
        QualifierInfo {
            qualifier_type_id: kind,
            key: word.map(|word| word.key.clone()).unwrap_or_default(),
            label: word.map(|word| word.label.clone()).unwrap_or_default(),
            value: match object {
                Object::Value(value) => Some(value),
                Object::Entity(_) => None,
            },
            entity_id,
            entity_name: entity_id.map(|id| described.name(id).to_owned()),
        }
    }
}

/// A fact's relation for people: the base's word, else its source's.
pub fn label(words: &Ontology, fact: &model::fact::Fact) -> String {
    let relation = fact.predicate.and_then(|id| words.relation(id));
    match (relation, &fact.wording) {
        (Some(relation), _) => relation.label.clone(),
        (None, Some(wording)) => wording.clone(),
        (None, None) => String::new(),
    }
}

impl FactInfo {
    /// What it leads to, in words.
    pub fn other(&self) -> String {
        match (&self.other_name, &self.object_value) {
            (Some(name), _) => name.clone(),
            (None, Some(value)) => value.to_string(),
            (None, None) => String::new(),
        }
    }

    /// The fact as a line below the heading of its relation.
    pub fn line(&self) -> String {
        let mut line = format!("- {}", self.other());
        if let Some(id) = self.other_id {
            let _ = write!(line, " ({id})");
        }
        line.push_str(&self.dates());
        for detail in &self.qualifiers {
            let value = match (&detail.entity_name, &detail.value) {
                (Some(name), _) => name.clone(),
                (None, Some(value)) => value.to_string(),
                (None, None) => continue,
            };
            let _ = write!(line, "; {}: {value}", detail.label);
        }
        if self.confidence < 1.0 {
            let _ = write!(line, "; confidence {:.2}", self.confidence);
        }
        if self.rank == model::fact::Rank::Deprecated {
            line.push_str("; deprecated");
        }
        line
    }

    /// Its stated dates in words.
    pub fn dates(&self) -> String {
        let unknown = self.valid_to_precision.as_deref() == Some(super::stated::UNKNOWN);
        let to = match (self.valid_to, unknown) {
            (Some(to), _) => Some(to.to_string()),
            (None, true) => Some("ended, date unknown".to_owned()),
            (None, false) => None,
        };
        match (self.valid_from, to) {
            (None, None) => String::new(),
            (Some(from), None) if self.temporal == Temporality::Event => format!(" [{from}]"),
            (Some(from), None) => format!(" [{from} →]"),
            (None, Some(to)) => format!(" [→ {to}]"),
            (Some(from), Some(to)) => format!(" [{from} → {to}]"),
        }
    }
}

/// The thing that the arguments name: by `entity_id`, or by an id or a name in `entity`.
pub fn named(entity_id: Option<EntityId>, entity: Option<String>) -> Result<String> {
    match (entity_id, entity) {
        (Some(id), _) => Ok(id.to_string()),
        (None, Some(given)) => Ok(given),
        (None, None) => Err(Error::invalid("`entity` is missing: give an id or a name")),
    }
}
