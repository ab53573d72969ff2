//! Values as literals: typed as exactly as they are known, and never with a type they are not of.

use model::ontology::Datatype;
use model::{Precision, RecordTime, WorldTime};
use oxrdf::Literal;
use oxrdf::vocab::xsd;
use serde_json::Value;

pub(super) fn text(text: &str) -> Literal {
    Literal::new_simple_literal(text)
}

pub(super) fn truth(truth: bool) -> Literal {
    Literal::new_typed_literal(truth.to_string(), xsd::BOOLEAN)
}

/// How sure a claim is, to two places.
pub(super) fn confidence(confidence: f64) -> Literal {
    Literal::new_typed_literal(format!("{confidence:.2}"), xsd::DECIMAL)
}

/// A moment of the record, to the microsecond.
pub(super) fn moment(moment: RecordTime) -> Literal {
    Literal::new_typed_literal(moment.to_string(), xsd::DATE_TIME)
}

/// A date at the precision it is stated at. Years are astronomical, as XML Schema 1.1 counts them;
/// an hour or a minute is written as its first second, since there is no type for less.
pub(super) fn date(date: WorldTime) -> Literal {
    let written = date.to_string();
    let (written, datatype) = match date.precision() {
        Precision::Year => (written, xsd::G_YEAR),
        Precision::Month => (written, xsd::G_YEAR_MONTH),
        Precision::Day => (written, xsd::DATE),
        Precision::Hour => (written.replace('Z', ":00:00Z"), xsd::DATE_TIME),
        Precision::Minute => (written.replace('Z', ":00Z"), xsd::DATE_TIME),
        Precision::Second => (written, xsd::DATE_TIME),
    };
    Literal::new_typed_literal(written, datatype)
}

/// The precision that the type of a date does not tell.
pub(super) fn precision_below_day(date: WorldTime) -> Option<&'static str> {
    match date.precision() {
        Precision::Year | Precision::Month | Precision::Day => None,
        Precision::Hour => Some("hour"),
        Precision::Minute => Some("minute"),
        Precision::Second => Some("second"),
    }
}

/// A value as a literal of its attribute's type. One that is not of that type is text: a literal
/// with a type that it does not fit is refused by strict readers.
pub(super) fn value(value: &Value, datatype: Option<Datatype>) -> Literal {
    let written = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let typed = match datatype {
        None | Some(Datatype::Text) => None,
        Some(Datatype::Number) => decimal(&written).map(|it| (it, xsd::DECIMAL)),
        Some(Datatype::Bool) => {
            let is_truth = matches!(written.as_str(), "true" | "false");
            is_truth.then(|| (written.clone(), xsd::BOOLEAN))
        }
        Some(Datatype::Date) => return written.parse().map_or_else(|_| text(&written), date),
    };
    match typed {
        Some((written, datatype)) => Literal::new_typed_literal(written, datatype),
        None => text(&written),
    }
}

/// Digits of a number at most, when its exponent is written out.
const DIGITS_MAX: usize = 400;

/// A number as `xsd:decimal` writes it, which has no exponents; none if it is no number.
fn decimal(number: &str) -> Option<String> {
    let (sign, rest) = match number.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", number),
    };
    let (digits, exponent) = match rest.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (rest, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    if exponent == 0 {
        return Some(number.split(['e', 'E']).next()?.to_owned());
    }
    // Where the point stands among all digits.
    let point = i32::try_from(whole.len()).ok()?.checked_add(exponent)?;
    let all = format!("{whole}{fraction}");
    let width = point.unsigned_abs() as usize + all.len();
    if DIGITS_MAX < width {
        return None;
    }
    let written = match usize::try_from(point) {
        Ok(point) if all.len() <= point => format!("{all:0<point$}"),
        Ok(point) if 0 < point => format!("{}.{}", &all[..point], &all[point..]),
        _ => format!("0.{}{all}", "0".repeat(point.unsigned_abs() as usize)),
    };
    Some(format!("{sign}{written}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_date_has_the_type_of_its_precision_and_is_never_padded_below_the_day() {
        for (given, written) in [
            ("1861", "\"1861\"^^<http://www.w3.org/2001/XMLSchema#gYear>"),
            ("0360", "\"0360\"^^<http://www.w3.org/2001/XMLSchema#gYear>"),
            (
                "-0043",
                "\"-0043\"^^<http://www.w3.org/2001/XMLSchema#gYear>",
            ),
            (
                "1861-03",
                "\"1861-03\"^^<http://www.w3.org/2001/XMLSchema#gYearMonth>",
            ),
            (
                "1861-03-04",
                "\"1861-03-04\"^^<http://www.w3.org/2001/XMLSchema#date>",
            ),
            (
                "1861-03-04T17",
                "\"1861-03-04T17:00:00Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime>",
            ),
            (
                "1861-03-04T17:05",
                "\"1861-03-04T17:05:00Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime>",
            ),
            (
                "1861-03-04T17:05:09",
                "\"1861-03-04T17:05:09Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime>",
            ),
        ] {
            let stated: WorldTime = given.parse().unwrap();
            assert_eq!(date(stated).to_string(), written);
        }
    }

    #[test]
    fn a_value_has_its_attribute_s_type_only_if_it_is_of_it() {
        use Datatype::{Bool, Date, Number, Text};
        for (given, datatype, lexical, of) in [
            (json!(42), Some(Number), "42", xsd::DECIMAL),
            (json!(-0.5), Some(Number), "-0.5", xsd::DECIMAL),
            (
                json!(1e21),
                Some(Number),
                "1000000000000000000000",
                xsd::DECIMAL,
            ),
            (json!(-1.25e-7), Some(Number), "-0.000000125", xsd::DECIMAL),
            (json!(1.5e3), Some(Number), "1500.0", xsd::DECIMAL),
            (json!("12"), Some(Number), "12", xsd::DECIMAL),
            (json!("a dozen"), Some(Number), "a dozen", xsd::STRING),
            (json!(""), Some(Number), "", xsd::STRING),
            (json!(42), None, "42", xsd::STRING),
            (json!("x"), Some(Text), "x", xsd::STRING),
            (json!(true), Some(Bool), "true", xsd::BOOLEAN),
            (json!("yes"), Some(Bool), "yes", xsd::STRING),
            (json!("1861-03"), Some(Date), "1861-03", xsd::G_YEAR_MONTH),
            (
                json!("45 days after"),
                Some(Date),
                "45 days after",
                xsd::STRING,
            ),
        ] {
            let literal = value(&given, datatype);
            assert_eq!(
                (literal.value(), literal.datatype()),
                (lexical, of),
                "{given}"
            );
        }
    }

    #[test]
    fn an_exponent_is_written_out_unless_it_fills_a_page() {
        assert_eq!(decimal("12.5e1").unwrap(), "125");
        assert_eq!(decimal("12.5E-3").unwrap(), "0.0125");
        assert_eq!(decimal("1e3").unwrap(), "1000");
        assert_eq!(decimal("1.234e2").unwrap(), "123.4");
        assert_eq!(decimal("1e900"), None);
        assert_eq!(decimal("1e99999999999"), None);
        assert_eq!(decimal(".5"), None);
        assert_eq!(decimal("+5"), None);
    }
}
