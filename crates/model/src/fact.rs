//! A claim, as it was stated: when it holds for, how sure it is, what it says.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use unicode_normalization::UnicodeNormalization;

use crate::named::named;
use crate::time::{OPEN_END, OPEN_START};
use crate::{EntityId, FactId, RecordTime, RelationTypeId, WorldTime};

/// How claims of one kind stand in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Temporality {
    /// Holds from one date to another: leads, lives in.
    #[default]
    State,
    /// Happens at a date: was founded, was born.
    Event,
    /// Has no date: is the father of.
    Eternal,
}

named! { Temporality { State = "state", Event = "event", Eternal = "eternal" } }

/// How a claim is ranked among others of its kind, lowest first.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Rank {
    /// Known to be wrong and kept: it holds nothing open and conflicts with nothing.
    Deprecated,
    /// As good as any other.
    #[default]
    Normal,
    /// The one to show first.
    Preferred,
}

named! { Rank { Deprecated = "deprecated", Normal = "normal", Preferred = "preferred" } }

/// One end of a claim's validity: a date, or a range that the date lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bound {
    earliest: WorldTime,
    latest: WorldTime,
    /// Whether the date is said to be about right ("about 1861").
    pub approximate: bool,
}

impl Bound {
    /// A date.
    pub const fn on(date: WorldTime) -> Self {
        Self {
            earliest: date,
            latest: date,
            approximate: false,
        }
    }

    /// A date that lies between two; none if the later one ends before the earlier one begins.
    pub fn between(earliest: WorldTime, latest: WorldTime) -> Option<Self> {
        (earliest.start_micros() < latest.end_micros()).then_some(Self {
            earliest,
            latest,
            approximate: false,
        })
    }

    /// The same, said to be about right.
    #[must_use]
    pub const fn approximately(self) -> Self {
        Self {
            approximate: true,
            ..self
        }
    }

    /// The date, or the first of the range.
    pub const fn earliest(self) -> WorldTime {
        self.earliest
    }

    /// The date, or the last of the range.
    pub const fn latest(self) -> WorldTime {
        self.latest
    }
}

/// How a claim ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum End {
    /// It has not ended, as far as was stated.
    #[default]
    Open,
    /// It has ended; when was not stated.
    Unknown,
    /// It ended then; the date itself is covered.
    On(Bound),
}

/// When a claim is stated to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Validity {
    /// From when; none if that was not stated.
    pub from: Option<Bound>,
    /// Until when.
    pub to: End,
}

/// Dates that do not make a validity of the claim's kind.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ValidityError {
    /// The end lies before the beginning.
    #[error("`valid_to` must not lie before `valid_from`: {to} ends before {from} begins")]
    EndsBeforeItBegins {
        /// The beginning.
        from: WorldTime,
        /// The end.
        to: WorldTime,
    },
    /// A claim that always holds has a date.
    #[error("a claim of an `eternal` relation has no date; leave `valid_from` and `valid_to` out")]
    DateOfTheEternal,
    /// An event that is said to have an unknown end, or an end and no beginning.
    #[error(
        "an `event` has one date: give it as `valid_from`, and `valid_to` only for its last day"
    )]
    EventWithoutItsDate,
}

impl Validity {
    /// The validity, if a claim of this kind can have it.
    ///
    /// # Errors
    /// If it ends before it begins, or its kind takes no such dates.
    pub fn checked(self, kind: Temporality) -> Result<Self, ValidityError> {
        match (kind, self.from, self.to) {
            (Temporality::Eternal, None, End::Open) => Ok(self),
            (Temporality::Eternal, ..) => Err(ValidityError::DateOfTheEternal),
            (Temporality::Event, None, End::On(_)) | (Temporality::Event, _, End::Unknown) => {
                Err(ValidityError::EventWithoutItsDate)
            }
            (_, Some(from), End::On(to))
                if to.latest.end_micros() <= from.earliest.start_micros() =>
            {
                Err(ValidityError::EndsBeforeItBegins {
                    from: from.earliest,
                    to: to.latest,
                })
            }
            _ => Ok(self),
        }
    }
}

impl Validity {
    /// The first instant of the stated beginning; open if none was stated.
    pub fn starts_at(self) -> i64 {
        self.from
            .map_or(OPEN_START, |from| from.earliest.start_micros())
    }

    /// The first instant after the stated end; open if none was stated.
    pub fn ends_at(self) -> i64 {
        match self.to {
            End::On(to) => to.latest.end_micros(),
            End::Open | End::Unknown => OPEN_END,
        }
    }
}

/// A claim as it was recorded. Only `invalidated_at` is ever written afterwards, once.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// Its id.
    pub id: FactId,
    /// What it is about.
    pub subject: EntityId,
    /// The relation; none if the base's ontology has no word for it, which `wording` then is.
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
    /// From when it was held.
    pub recorded_at: RecordTime,
    /// From when it was held no more.
    pub invalidated_at: Option<RecordTime>,
    /// The claim that it took the place of.
    pub supersedes: Option<FactId>,
}

impl Fact {
    /// Whether it was held at a moment.
    pub fn held_at(&self, as_of: RecordTime) -> bool {
        self.recorded_at <= as_of && self.invalidated_at.is_none_or(|end| as_of < end)
    }
}

impl Object {
    /// What makes two objects the same one.
    pub fn key(&self) -> String {
        match self {
            Object::Entity(id) => format!("e{id}"),
            Object::Value(value) => value.key(),
        }
    }

    /// The entity, if it is one.
    pub const fn entity(&self) -> Option<EntityId> {
        match self {
            Object::Entity(id) => Some(*id),
            Object::Value(_) => None,
        }
    }
}

/// What a claim says of its subject.
#[derive(Debug, Clone, PartialEq)]
pub enum Object {
    /// Another thing.
    Entity(EntityId),
    /// A value: text, number, truth or date, perhaps with a unit.
    Value(Value),
}

/// A value with its unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Value {
    /// Text, number, truth or date.
    pub value: Json,
    /// Its unit, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

impl Value {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            value: Json::String(text.into()),
            unit: None,
        }
    }

    /// What makes two values the same one: numbers by value, text by its letters after NFC with
    /// white space folded, both with their unit.
    pub fn key(&self) -> String {
        let value = match &self.value {
            Json::String(text) => {
                let text: String = text.nfc().collect();
                let words: Vec<&str> = text.split_whitespace().collect();
                format!("s{}", words.join(" "))
            }
            Json::Number(number) => match number.as_f64() {
                Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
                    format!("n{float:.0}")
                }
                _ => format!("n{number}"),
            },
            other => format!("j{other}"),
        };
        match &self.unit {
            Some(unit) => format!("{value}\u{1f}{unit}"),
            None => value,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Json::String(text) => out.write_str(text)?,
            other => write!(out, "{other}")?,
        }
        match &self.unit {
            Some(unit) => write!(out, " {unit}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn on(text: &str) -> Bound {
        Bound::on(text.parse().unwrap())
    }

    #[test]
    fn a_state_may_begin_and_end_in_one_year_and_not_end_before_it_begins() {
        let year = |from, to| Validity {
            from: Some(on(from)),
            to: End::On(on(to)),
        };

        assert!(year("1861", "1861").checked(Temporality::State).is_ok());
        assert!(year("1861-05", "1861").checked(Temporality::State).is_ok());
        let refused = year("1862", "1861")
            .checked(Temporality::State)
            .unwrap_err();
        assert!(refused.to_string().contains("1861 ends before 1862"));
    }

    #[test]
    fn the_eternal_takes_no_date_and_an_event_no_unknown_end() {
        let dated = Validity {
            from: Some(on("1861")),
            to: End::Open,
        };
        assert!(dated.checked(Temporality::Eternal).is_err());
        let ended = Validity {
            to: End::Unknown,
            ..dated
        };
        assert!(ended.checked(Temporality::Event).is_err());
        assert!(ended.checked(Temporality::State).is_ok());
    }

    #[test]
    fn values_are_the_same_by_what_they_mean() {
        let of = |value: Json| Value { value, unit: None }.key();

        assert_eq!(of(json!(3)), of(json!(3.0)));
        assert_eq!(of(json!("Cafe\u{301}  noir")), of(json!("Café noir")));
        assert_ne!(of(json!("3")), of(json!(3)));
        assert_ne!(of(json!("a")), of(json!("A")));
        let metres = Value {
            value: json!(3),
            unit: Some("m".to_owned()),
        };
        assert_ne!(metres.key(), of(json!(3)));
    }
}
