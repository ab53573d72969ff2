//! Dates as documents state them.

use jiff::Timestamp;
use jiff::civil::DateTime;
use model::WorldTime;
use model::document::{DateSource, DocumentDate};

/// A date written as in ISO 8601 or RFC 3339: `2024`, `2024-05`, `2024-05-06`,
/// `2024-05-06T07:08:09+02:00`. A time of day without its zone says only the day.
pub(super) fn iso(text: &str) -> Option<WorldTime> {
    let text = text.trim();
    if let Ok(at) = text.parse::<WorldTime>() {
        return Some(at);
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return utc(at);
    }
    let text = text.replacen(' ', "T", 1);
    if let Ok(at) = text.parse::<Timestamp>() {
        return utc(at);
    }
    let local: DateTime = text.trim_end_matches('Z').parse().ok()?;
    local.date().to_string().parse().ok()
}

fn utc(at: Timestamp) -> Option<WorldTime> {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().parse().ok()
}

/// A date of a mail's header (RFC 2822).
pub(super) fn mail(text: &str) -> Option<WorldTime> {
    let zoned = jiff::fmt::rfc2822::parse(text.trim()).ok()?;
    utc(zoned.timestamp())
}

/// A date as PDF writes them: `D:20240506070809+02'00'`, shorter where less is known.
pub(super) fn pdf(text: &str) -> Option<WorldTime> {
    let text = text.trim().trim_start_matches("D:");
    let digits: String = text
        .chars()
        .take_while(char::is_ascii_digit)
        .take(14)
        .collect();
    let part = |from: usize, to: usize| digits.get(from..to);
    let day = match (part(0, 4)?, part(4, 6), part(6, 8)) {
        (year, Some(month), Some(day)) => format!("{year}-{month}-{day}"),
        (year, Some(month), None) => return format!("{year}-{month}").parse().ok(),
        (year, None, _) => return year.parse().ok(),
    };
    let zone = text[digits.len()..].replace('\'', "");
    let offset = match zone.as_bytes() {
        [b'Z', ..] => Some("Z".to_owned()),
        [sign @ (b'+' | b'-'), h1, h2, rest @ ..] => {
            let minutes = std::str::from_utf8(rest)
                .ok()
                .and_then(|rest| rest.get(..2));
            Some(format!(
                "{}{}{}:{}",
                char::from(*sign),
                char::from(*h1),
                char::from(*h2),
                minutes.unwrap_or("00")
            ))
        }
        _ => None,
    };
    if let (Some(hour), Some(minute), Some(second), Some(offset)) =
        (part(8, 10), part(10, 12), part(12, 14), offset)
        && let Ok(at) = format!("{day}T{hour}:{minute}:{second}{offset}").parse::<Timestamp>()
    {
        return utc(at);
    }
    day.parse().ok()
}

/// A date that a metadata block states.
pub(super) fn stated(value: Option<WorldTime>) -> Option<DocumentDate> {
    Some(DocumentDate {
        value: value?,
        source: DateSource::FrontMatter,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: Option<WorldTime>) -> String {
        value.map_or_else(|| "-".to_owned(), |value| value.to_string())
    }

    #[test]
    fn a_date_keeps_the_precision_it_was_stated_at() {
        assert_eq!(shown(iso("1861")), "1861");
        assert_eq!(shown(iso("2024-05")), "2024-05");
        assert_eq!(
            shown(iso("2024-05-06T01:00:00+02:00")),
            "2024-05-05T23:00:00Z"
        );
        assert_eq!(shown(iso("2024-05-06 01:00:00")), "2024-05-06");
        assert_eq!(shown(iso("next week")), "-");
    }

    #[test]
    fn a_date_of_a_pdf_is_read_with_its_zone() {
        assert_eq!(
            shown(pdf("D:20240506010000+02'00'")),
            "2024-05-05T23:00:00Z"
        );
        assert_eq!(shown(pdf("D:20240506010000Z")), "2024-05-06T01:00:00Z");
        assert_eq!(shown(pdf("D:20240506")), "2024-05-06");
        assert_eq!(shown(pdf("D:2024")), "2024");
        assert_eq!(shown(pdf("(unknown)")), "-");
    }

    #[test]
    fn a_date_of_a_mail_is_read_in_utc() {
        assert_eq!(
            shown(mail("Mon, 6 May 2024 01:00:00 +0200")),
            "2024-05-05T23:00:00Z"
        );
    }
}
