//! World time: a date as it was stated, with the precision it was stated at.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How exactly a date is stated, coarsest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Precision {
    /// `1861`
    Year,
    /// `1861-03`
    Month,
    /// `1861-03-04`
    Day,
    /// `1861-03-04T17`
    Hour,
    /// `1861-03-04T17:05`
    Minute,
    /// `1861-03-04T17:05:09`
    Second,
}

/// When something was true: a date of the proleptic Gregorian calendar in UTC, at the precision
/// that was stated and never padded ("1861" stays "1861").
///
/// Years are astronomical: 0 is 1 BCE, -43 is 44 BCE; written with at least four digits and a
/// sign where negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WorldTime {
    year: i32,
    month: u8,
    day: u8,
    hour: u8,
    minute: u8,
    second: u8,
    precision: Precision,
}

impl WorldTime {
    /// Years that can be stated.
    pub const YEARS: std::ops::RangeInclusive<i32> = -9999..=9999;

    /// The precision that was stated.
    pub const fn precision(self) -> Precision {
        self.precision
    }

    /// The astronomical year.
    pub const fn year(self) -> i32 {
        self.year
    }
}

const fn days_in(year: i32, month: u8) -> u8 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl fmt::Display for WorldTime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.year < 0 { "-" } else { "" };
        write!(out, "{sign}{:04}", self.year.unsigned_abs())?;
        if self.precision >= Precision::Month {
            write!(out, "-{:02}", self.month)?;
        }
        if self.precision >= Precision::Day {
            write!(out, "-{:02}", self.day)?;
        }
        if self.precision >= Precision::Hour {
            write!(out, "T{:02}", self.hour)?;
        }
        if self.precision >= Precision::Minute {
            write!(out, ":{:02}", self.minute)?;
        }
        if self.precision >= Precision::Second {
            write!(out, ":{:02}", self.second)?;
        }
        if self.precision >= Precision::Hour {
            out.write_str("Z")
        } else {
            Ok(())
        }
    }
}

/// The text is no date.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "must be a date such as `1861`, `1861-03`, `1861-03-04` or `1861-03-04T17:05:09Z`, not `{0}`"
)]
pub struct NotAWorldTime(String);

/// Takes `digits` ASCII digits off the front of `text`.
fn number(text: &mut &str, digits: usize) -> Option<i32> {
    let (head, tail) = text.split_at_checked(digits)?;
    if !head.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    *text = tail;
    head.parse().ok()
}

fn parse(text: &str) -> Option<WorldTime> {
    let mut date = WorldTime {
        year: 0,
        month: 1,
        day: 1,
        hour: 0,
        minute: 0,
        second: 0,
        precision: Precision::Year,
    };
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let year = number(&mut rest, 4)?;
    date.year = if negative { -year } else { year };
    // From here on each part is there or the text ends.
    for (separator, precision) in [
        ('-', Precision::Month),
        ('-', Precision::Day),
        ('T', Precision::Hour),
        (':', Precision::Minute),
        (':', Precision::Second),
    ] {
        let Some(after) = rest.strip_prefix(separator) else {
            break;
        };
        rest = after;
        let value = u8::try_from(number(&mut rest, 2)?).ok()?;
        let (part, range) = match precision {
            Precision::Year => unreachable!("the year is read above"),
            Precision::Month => (&mut date.month, 1..=12),
            Precision::Day => (&mut date.day, 1..=days_in(date.year, date.month)),
            Precision::Hour => (&mut date.hour, 0..=23),
            Precision::Minute => (&mut date.minute, 0..=59),
            Precision::Second => (&mut date.second, 0..=59),
        };
        if !range.contains(&value) {
            return None;
        }
        *part = value;
        date.precision = precision;
    }
    if date.precision >= Precision::Hour {
        rest = rest.strip_suffix('Z').unwrap_or(rest);
    }
    rest.is_empty().then_some(date)
}

impl FromStr for WorldTime {
    type Err = NotAWorldTime;

    fn from_str(text: &str) -> Result<Self, NotAWorldTime> {
        parse(text.trim()).ok_or_else(|| NotAWorldTime(text.chars().take(80).collect()))
    }
}

impl Serialize for WorldTime {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for WorldTime {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(source)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for WorldTime {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "WorldTime".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_given_back_at_the_precision_it_was_stated_at() {
        for text in [
            "1861",
            "0360",
            "-0043",
            "1861-03",
            "1861-03-04",
            "1861-03-04T17Z",
            "2000-02-29T17:05:09Z",
        ] {
            assert_eq!(text.parse::<WorldTime>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_day_that_is_not_in_the_calendar_is_refused() {
        for text in [
            "1900-02-29",
            "2026-13",
            "2026-00-01",
            "2026-1-1",
            "20261",
            "last week",
            "",
        ] {
            assert!(text.parse::<WorldTime>().is_err(), "{text}");
        }
    }
}
