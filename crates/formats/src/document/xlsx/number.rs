//! Numbers as a workbook shows them: dates, times and percentages are numbers with a format.

use std::collections::HashMap;

use jiff::civil::{Date, date};

use super::super::DocumentError;
use super::super::archive::Archive;
use super::super::ooxml::shown_number;
use super::super::xml::XmlReader;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Plain,
    Percent,
    Date,
    Time,
    DateTime,
    /// Hours beyond a day.
    Duration,
}

/// The number formats of a workbook.
#[derive(Debug, Default)]
pub(super) struct Formats {
    /// Of each cell style, in order.
    shapes: Vec<Shape>,
    epoch_1904: bool,
}

impl Formats {
    pub(super) fn read(
        archive: &mut Archive<'_>,
        part: &str,
        epoch_1904: bool,
    ) -> Result<Formats, DocumentError> {
        let shapes = archive.stream(part, |stream| {
            let mut xml = XmlReader::new(part, stream);
            let mut codes: HashMap<u32, String> = HashMap::new();
            let mut shapes = Vec::new();
            while let Some(element) =
                xml.next_of(&|name| matches!(name, "s:numFmt" | "s:cellXfs"))?
            {
                let id = |element: &super::Element| {
                    element
                        .attribute("numFmtId")
                        .and_then(|id| id.parse::<u32>().ok())
                        .unwrap_or(0)
                };
                if element.is("s:numFmt") {
                    codes.insert(
                        id(&element),
                        element
                            .attribute("formatCode")
                            .unwrap_or_default()
                            .to_owned(),
                    );
                    continue;
                }
                shapes = element
                    .elements()
                    .filter(|style| style.is("s:xf"))
                    .map(|style| match codes.get(&id(style)) {
                        Some(code) => shape(code),
                        None => builtin(id(style)),
                    })
                    .collect();
            }
            Ok(shapes)
        })?;
        Ok(Formats {
            shapes: shapes.unwrap_or_default(),
            epoch_1904,
        })
    }

    /// How a cell of this style shows `value`.
    pub(super) fn shown(&self, value: &str, style: Option<&str>) -> String {
        let value = value.trim();
        let shape = style
            .and_then(|style| style.parse::<usize>().ok())
            .and_then(|at| self.shapes.get(at));
        let shape = shape.copied().unwrap_or(Shape::Plain);
        match value.parse::<f64>() {
            Ok(number) if shape != Shape::Plain => self
                .shaped(number, shape)
                .unwrap_or_else(|| shown_number(value)),
            _ => shown_number(value),
        }
    }

    fn shaped(&self, number: f64, shape: Shape) -> Option<String> {
        if !number.is_finite() || number.abs() > 1e9 {
            return None;
        }
        if shape == Shape::Percent {
            return Some(format!("{}%", shown_number(&(number * 100.0).to_string())));
        }
        let seconds = (number * 86_400.0).round() as i64;
        if shape == Shape::Duration {
            let (sign, seconds) = if seconds < 0 {
                ("-", -seconds)
            } else {
                ("", seconds)
            };
            return Some(format!(
                "{sign}{}:{:02}:{:02}",
                seconds / 3600,
                seconds / 60 % 60,
                seconds % 60
            ));
        }
        if seconds < 0 {
            return None;
        }
        let (days, rest) = (seconds / 86_400, seconds % 86_400);
        let time = format!("{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
        let day = self.day(days);
        match shape {
            Shape::Time => Some(time),
            Shape::DateTime if days == 0 => Some(time),
            Shape::Date | Shape::DateTime if rest == 0 => Some(day?.to_string()),
            _ => Some(format!("{} {time}", day?)),
        }
    }

    fn day(&self, days: i64) -> Option<Date> {
        let epoch = match (self.epoch_1904, days) {
            (true, _) => date(1904, 1, 1),
            // Excel believes in 29 February 1900.
            (false, 60..) => date(1899, 12, 30),
            (false, _) => date(1899, 12, 31),
        };
        epoch
            .checked_add(jiff::Span::new().try_days(days).ok()?)
            .ok()
    }
}

/// The formats that every workbook has without listing them.
fn builtin(id: u32) -> Shape {
    match id {
        9 | 10 => Shape::Percent,
        14..=17 | 27..=31 | 36 | 50..=54 | 57 | 58 => Shape::Date,
        18..=21 | 32..=35 | 45 | 47 | 55 | 56 => Shape::Time,
        22 => Shape::DateTime,
        46 => Shape::Duration,
        _ => Shape::Plain,
    }
}

/// What a format's code shows, by the letters outside quotes, brackets and escapes.
fn shape(code: &str) -> Shape {
    let mut letters = String::new();
    let mut rest = code.split(';').next().unwrap_or_default().chars();
    while let Some(letter) = rest.next() {
        match letter {
            '"' => {
                rest.by_ref().find(|letter| *letter == '"');
            }
            '\\' | '_' | '*' => {
                rest.next();
            }
            '[' => {
                let inside: String = rest.by_ref().take_while(|letter| *letter != ']').collect();
                let inside = inside.to_ascii_lowercase();
                let lapse =
                    !inside.is_empty() && inside.chars().all(|letter| "hms".contains(letter));
                if lapse {
                    return Shape::Duration;
                }
            }
            _ => letters.push(letter.to_ascii_lowercase()),
        }
    }
    let letters = letters.replace("am/pm", "h").replace("general", "");
    let day = letters.contains(['y', 'd']);
    let time = letters.contains(['h', 's']);
    match (day, time) {
        _ if letters.contains('%') => Shape::Percent,
        (true, true) => Shape::DateTime,
        (true, false) => Shape::Date,
        (false, true) => Shape::Time,
        // Alone, "m" is a month.
        (false, false) if letters.contains('m') => Shape::Date,
        (false, false) => Shape::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_code_tells_what_a_number_is() {
        assert_eq!(shape("yyyy\\-mm\\-dd"), Shape::Date);
        assert_eq!(shape("[$-409]d/m/yy h:mm AM/PM;@"), Shape::DateTime);
        assert_eq!(shape("[h]:mm"), Shape::Duration);
        assert_eq!(shape("#,##0.00 \"days\""), Shape::Plain);
        assert_eq!(shape("0.0%"), Shape::Percent);
        assert_eq!(shape("General"), Shape::Plain);
    }

    #[test]
    fn a_number_is_shown_as_its_format_says() {
        let shapes = vec![Shape::Plain, Shape::Date, Shape::DateTime, Shape::Percent];
        let formats = Formats {
            shapes,
            epoch_1904: false,
        };

        assert_eq!(formats.shown("0.30000000000000004", Some("0")), "0.3");
        assert_eq!(formats.shown("45292", Some("1")), "2024-01-01");
        assert_eq!(formats.shown("1", Some("1")), "1900-01-01");
        assert_eq!(formats.shown("45292.75", Some("2")), "2024-01-01 18:00:00");
        assert_eq!(formats.shown("0.07", Some("3")), "7%");
        assert_eq!(formats.shown("-5", Some("1")), "-5");
    }
}
