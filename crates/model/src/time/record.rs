//! Record time: a moment of the ledger's own clock, to the microsecond.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// When the ledger held something: UTC microseconds since 1970.
///
/// Written as RFC 3339 with the fraction kept. A bare date is the start of that day, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordTime(i64);

impl RecordTime {
    /// From UTC microseconds since 1970.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// UTC microseconds since 1970.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// The last moment before this one: what `before` means.
    #[must_use]
    pub const fn just_before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// This moment and so many seconds more.
    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(1_000_000)))
    }
}

impl fmt::Display for RecordTime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Timestamp::from_microsecond(self.0) {
            Ok(moment) => moment.fmt(out),
            Err(_) => write!(out, "{} µs", self.0),
        }
    }
}

/// The text is no moment.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "must be a date such as `2026-03-20` or an RFC 3339 moment such as `2026-03-20T09:30:00Z`, not `{0}`"
)]
pub struct NotARecordTime(String);

impl FromStr for RecordTime {
    type Err = NotARecordTime;

    fn from_str(text: &str) -> Result<Self, NotARecordTime> {
        let text = text.trim();
        let refused = || NotARecordTime(text.chars().take(80).collect());
        let moment = if text.len() == 10 {
            let day: Date = text.parse().map_err(|_| refused())?;
            TimeZone::UTC
                .to_timestamp(day.at(0, 0, 0, 0))
                .unwrap_or(Timestamp::MAX)
        } else {
            text.parse::<Timestamp>().map_err(|_| refused())?
        };
        Ok(Self(moment.as_microsecond()))
    }
}

impl Serialize for RecordTime {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RecordTime {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(source)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for RecordTime {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RecordTime".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_date_is_the_start_of_that_day() {
        assert_eq!(
            "2026-03-20".parse(),
            "2026-03-20T00:00:00Z".parse::<RecordTime>()
        );
    }

    #[test]
    fn a_moment_keeps_its_microseconds() {
        let moment: RecordTime = "2026-03-20T09:30:00.000001+02:00".parse().unwrap();
        assert_eq!(moment.to_string(), "2026-03-20T07:30:00.000001Z");
        assert_eq!(moment.just_before().to_string(), "2026-03-20T07:30:00Z");
    }

    #[test]
    fn words_are_refused_and_shown() {
        let refused = "last week".parse::<RecordTime>().unwrap_err();
        assert!(refused.to_string().ends_with("not `last week`"));
    }
}
