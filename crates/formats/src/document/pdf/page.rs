//! The glyphs of a page, gathered into lines and paragraphs.

use pdf_extract::{ColorSpace, MediaBox, OutputDev, OutputError, Path, Transform};

use super::line::{Glyph, Line};

/// Distance between base lines, in sizes of the font, from which a paragraph ends.
const PARAGRAPH: f64 = 1.75;

/// Characters of one page that are kept; more is not a page.
const GLYPHS_MAX: usize = 2_000_000;

/// Takes the glyphs of one page in the order in which the file writes them.
#[derive(Debug, Default)]
pub(super) struct PageText {
    lines: Vec<Line>,
    glyphs: usize,
}

impl PageText {
    /// The paragraphs of the page, hyphens at line ends joined.
    pub(super) fn paragraphs(self) -> Vec<String> {
        let mut paragraphs: Vec<Vec<String>> = Vec::new();
        let mut last: Option<(f64, f64)> = None;
        for line in self.lines {
            let text = line.text();
            if text.is_empty() {
                continue;
            }
            let size = line.size.max(1.0);
            let goes_on = last.is_some_and(|(y, height)| {
                let down = line.y - y;
                down > -0.5 * size
                    && down < PARAGRAPH * size.max(height)
                    && size.max(height) < 1.25 * size.min(height)
            });
            last = Some((line.y, size));
            match paragraphs.last_mut() {
                Some(paragraph) if goes_on => paragraph.push(text),
                _ => paragraphs.push(vec![text]),
            }
        }
        paragraphs
            .into_iter()
            .map(|lines| unhyphenated(&lines))
            .collect()
    }
}

impl OutputDev for PageText {
    fn begin_page(
        &mut self,
        _: u32,
        _: &MediaBox,
        _: Option<(f64, f64, f64, f64)>,
    ) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn output_character(
        &mut self,
        place: &Transform,
        width: f64,
        _: f64,
        size: f64,
        text: &str,
    ) -> Result<(), OutputError> {
        // How large the font is on the page, and which way its line runs.
        let along = (place.m11 * size, place.m12 * size);
        let up = (place.m21 * size, place.m22 * size);
        let height = up.0.hypot(up.1);
        let length = along.0.hypot(along.1);
        if !(height.is_finite()
            && length.is_finite()
            && place.m31.is_finite()
            && place.m32.is_finite())
            || length <= 0.0
        {
            return Ok(());
        }
        self.glyphs += 1;
        if self.glyphs > GLYPHS_MAX {
            return Err(OutputError::PdfError(pdf_extract::Error::InvalidStream(
                "too many glyphs on a page".to_owned(),
            )));
        }
        // Turned so that the line runs to the right, and y grows down the page.
        let (cos, sin) = (along.0 / length, along.1 / length);
        let x = place.m31 * cos + place.m32 * sin;
        let y = -(place.m32 * cos - place.m31 * sin);
        let glyph = Glyph {
            x,
            width: width * length,
            text: text.to_owned(),
        };
        match self.lines.last_mut() {
            Some(line) if line.holds(&glyph, y, height, (cos, sin)) => line.push(glyph, y, height),
            _ => self.lines.push(Line::new(glyph, y, height, (cos, sin))),
        }
        Ok(())
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn stroke(
        &mut self,
        _: &Transform,
        _: &ColorSpace,
        _: &[f64],
        _: &Path,
    ) -> Result<(), OutputError> {
        Ok(())
    }

    fn fill(
        &mut self,
        _: &Transform,
        _: &ColorSpace,
        _: &[f64],
        _: &Path,
    ) -> Result<(), OutputError> {
        Ok(())
    }
}

/// The lines of a paragraph, a word that a line's end cuts drawn up to its first half.
fn unhyphenated(lines: &[String]) -> String {
    let mut out = String::new();
    for line in lines {
        let mut line = line.as_str();
        let head = line.split(' ').next().unwrap_or_default();
        let last = out.rsplit([' ', '\n']).next().unwrap_or_default();
        let stem = last.strip_suffix(['-', '\u{AD}', '\u{2010}']);
        let cut = stem.is_some_and(|stem| {
            stem.chars().next_back().is_some_and(char::is_lowercase) && stem.chars().count() > 1
        }) && head.starts_with(char::is_lowercase);
        if cut {
            // "state-of-the-" + "art" keeps its hyphen, "exam-" + "ple" does not.
            if !stem.is_some_and(|stem| stem.contains('-')) {
                out.pop();
            }
            out.push_str(head);
            line = line[head.len()..].trim_start();
        }
        if !line.is_empty() {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(line);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_cut_at_the_end_of_a_line_is_whole_again() {
        let lines = ["an exam-", "ple of state-of-the-", "art and pre-", "War"].map(str::to_owned);

        assert_eq!(
            unhyphenated(&lines),
            "an example\nof state-of-the-art\nand pre-\nWar"
        );
    }
}
