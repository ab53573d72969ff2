//! World time: a date as it was stated, with the precision it was stated at.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Interval;

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

    /// The time that the statement covers: "1861" is the whole year, half-open.
    pub fn interval(self) -> Interval {
        Interval::new(self.start_micros(), self.end_micros()).expect("a date ends after it begins")
    }

    /// Its first instant, in UTC microseconds since 1970; never an open end.
    pub fn start_micros(self) -> i64 {
        let days = days_from_civil(self.year, self.month, self.day);
        let seconds = days * SECONDS_A_DAY
            + i64::from(self.hour) * 3600
            + i64::from(self.minute) * 60
            + i64::from(self.second);
        seconds * MICROS
    }

    /// The first instant after it: where the next date of its precision begins.
    pub fn end_micros(self) -> i64 {
        let (year, month) = (self.year, self.month);
        let next_day = |year, month| days_from_civil(year, month, 1) * SECONDS_A_DAY * MICROS;
        match self.precision {
            Precision::Year => next_day(year + 1, 1),
            Precision::Month if month == 12 => next_day(year + 1, 1),
            Precision::Month => next_day(year, month + 1),
            Precision::Day => self.start_micros() + SECONDS_A_DAY * MICROS,
            Precision::Hour => self.start_micros() + 3600 * MICROS,
            Precision::Minute => self.start_micros() + 60 * MICROS,
            Precision::Second => self.start_micros() + MICROS,
        }
    }

    /// The date of this precision that covers an instant; none outside of the years that can be
    /// stated.
    pub fn covering(micros: i64, precision: Precision) -> Option<Self> {
        let seconds = micros.div_euclid(MICROS);
        let (days, rest) = (
            seconds.div_euclid(SECONDS_A_DAY),
            seconds.rem_euclid(SECONDS_A_DAY),
        );
        let (year, month, day) = civil_from_days(days)?;
        let part = |value: i64| u8::try_from(value).expect("a part of a day is below 60");
        let at_least = |finest: Precision, value: u8, first: u8| {
            if finest <= precision { value } else { first }
        };
        Some(Self {
            year,
            month: at_least(Precision::Month, month, 1),
            day: at_least(Precision::Day, day, 1),
            hour: at_least(Precision::Hour, part(rest / 3600), 0),
            minute: at_least(Precision::Minute, part(rest / 60 % 60), 0),
            second: at_least(Precision::Second, part(rest % 60), 0),
            precision,
        })
    }
}

const MICROS: i64 = 1_000_000;
const SECONDS_A_DAY: i64 = 86_400;

/// Days since 1970-01-01 of a date of the proleptic Gregorian calendar, in 400-year eras that
/// begin in March, so that the leap day is a year's last (Hinnant, "chrono-compatible low-level
/// date algorithms", 2013).
fn days_from_civil(year: i32, month: u8, day: u8) -> i64 {
    let (month, day) = (i64::from(month), i64::from(day));
    let year = i64::from(year) - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of [`days_from_civil`]; none outside of [`WorldTime::YEARS`].
fn civil_from_days(days: i64) -> Option<(i32, u8, u8)> {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = (march_month + 2) % 12 + 1;
    let year = i32::try_from(year_of_era + era * 400 + i64::from(month <= 2)).ok()?;
    let part = |value: i64| u8::try_from(value).expect("a month and a day are below 32");
    WorldTime::YEARS
        .contains(&year)
        .then(|| (year, part(month), part(day)))
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
    fn a_date_covers_all_of_what_it_names_and_the_next_begins_where_it_ends() {
        for (text, next) in [
            ("1861", "1862"),
            ("-0001", "0000"),
            ("1861-12", "1862-01"),
            ("2000-02-28", "2000-02-29"),
            ("1900-02-28", "1900-03-01"),
            ("1969-12-31T23Z", "1970-01-01T00Z"),
            ("2026-01-01T00:59Z", "2026-01-01T01:00Z"),
            ("9999-12-31T23:59:58Z", "9999-12-31T23:59:59Z"),
        ] {
            let (date, next): (WorldTime, WorldTime) =
                (text.parse().unwrap(), next.parse().unwrap());
            assert_eq!(date.end_micros(), next.start_micros(), "{text}");
        }
        assert_eq!("1970".parse::<WorldTime>().unwrap().start_micros(), 0);
    }

    proptest::proptest! {
        #[test]
        fn the_date_that_covers_an_instant_of_a_date_is_that_date(
            micros in -377_000_000_000_000_000_i64..253_000_000_000_000_000,
        ) {
            for precision in [Precision::Year, Precision::Month, Precision::Day,
                Precision::Hour, Precision::Minute, Precision::Second] {
                let Some(date) = WorldTime::covering(micros, precision) else { continue };
                let covers = date.start_micros() <= micros && micros < date.end_micros();
                proptest::prop_assert!(covers, "{date} {micros}");
                proptest::prop_assert_eq!(WorldTime::covering(date.end_micros() - 1, precision), Some(date));
                proptest::prop_assert_eq!(date.to_string().parse::<WorldTime>().unwrap(), date);
            }
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
