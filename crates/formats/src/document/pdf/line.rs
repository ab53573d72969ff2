//! A line of glyphs, in the order in which it is read.

use unicode_normalization::UnicodeNormalization;

/// A gap between glyphs, in sizes of the font, that is a space.
const SPACE: f64 = 0.15;

/// One glyph: where it starts, how wide it is, what it says.
#[derive(Debug, Clone)]
pub(super) struct Glyph {
    pub(super) x: f64,
    pub(super) width: f64,
    pub(super) text: String,
}

/// Glyphs on one base line.
#[derive(Debug)]
pub(super) struct Line {
    glyphs: Vec<Glyph>,
    /// Base line, growing down the page.
    pub(super) y: f64,
    /// Size of the largest font in it.
    pub(super) size: f64,
    direction: (f64, f64),
}

impl Line {
    pub(super) fn new(glyph: Glyph, y: f64, size: f64, direction: (f64, f64)) -> Line {
        Line {
            glyphs: vec![glyph],
            y,
            size,
            direction,
        }
    }

    /// Whether a glyph that follows in the file stands on this line.
    pub(super) fn holds(&self, glyph: &Glyph, y: f64, size: f64, direction: (f64, f64)) -> bool {
        let turned =
            (self.direction.0 - direction.0).abs() + (self.direction.1 - direction.1).abs();
        let apart = (y - self.y).abs();
        let height = self.size.max(size);
        let Some(last) = self.glyphs.last() else {
            return false;
        };
        let back = glyph.x < last.x + last.width - height;
        // Left of what came before: the next line, unless letters run to the left.
        let right_to_left = is_right_to_left(&last.text) || is_right_to_left(&glyph.text);
        turned < 0.1
            && if back && !right_to_left {
                apart < 0.1 * height && glyph.x > self.glyphs[0].x
            } else {
                apart < 0.5 * height
            }
    }

    pub(super) fn push(&mut self, glyph: Glyph, y: f64, size: f64) {
        // A raised or lowered figure does not move the base line.
        if size > self.size {
            self.y = y;
            self.size = size;
        }
        self.glyphs.push(glyph);
    }

    /// What the line says.
    pub(super) fn text(&self) -> String {
        let right_to_left = self
            .glyphs
            .iter()
            .filter(|glyph| is_right_to_left(&glyph.text))
            .count();
        let text = match right_to_left {
            0 => spaced(&self.glyphs, self.size),
            _ => logical(&self.visual(), self.glyphs.len() / 2 < right_to_left * 2),
        };
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        bullet_named(&text)
    }

    /// Letters from left to right as they are seen, spaces between words made explicit.
    fn visual(&self) -> Vec<String> {
        let mut glyphs = self.glyphs.clone();
        glyphs.sort_by(|a, b| a.x.total_cmp(&b.x));
        let mut out: Vec<String> = Vec::new();
        let mut end = f64::INFINITY;
        for glyph in glyphs {
            if glyph.x > end + SPACE * self.size {
                out.push(" ".to_owned());
            }
            end = glyph.x + glyph.width;
            // Arabic letters in the shape they take within a word become plain letters.
            out.push(if is_right_to_left(&glyph.text) {
                glyph.text.nfkc().collect()
            } else {
                glyph.text
            });
        }
        out
    }
}

/// `text` with a bullet at its start as Markdown writes it. Glyphs of picture fonts, which come
/// without any meaning, are bullets at the start of a line and nothing elsewhere.
fn bullet_named(text: &str) -> String {
    let picture = |letter: char| matches!(letter, '\u{E000}'..='\u{F8FF}');
    let bullet = |letter: char| picture(letter) || "•‣◦▪▫●○■□➢".contains(letter);
    let plain: String = text.chars().filter(|letter| !picture(*letter)).collect();
    let rest = text
        .strip_prefix(bullet)
        .map(|_| plain.trim_start_matches(bullet).trim());
    match rest {
        Some("") => String::new(),
        Some(rest) => format!("- {rest}"),
        None => plain,
    }
}

/// Glyphs in the file's order, with spaces where there are gaps.
fn spaced(glyphs: &[Glyph], size: f64) -> String {
    let mut out = String::new();
    let mut end = f64::INFINITY;
    for glyph in glyphs {
        if (glyph.x > end + SPACE * size || glyph.x < end - 2.0 * size && end.is_finite())
            && !out.ends_with(' ')
        {
            out.push(' ');
        }
        end = glyph.x + glyph.width;
        out.push_str(&glyph.text);
    }
    out
}

/// The reading order of letters given from left to right. `base` says that the line as a whole
/// runs from right to left.
fn logical(visual: &[String], base: bool) -> String {
    #[derive(Clone, Copy, PartialEq)]
    enum Way {
        Left,
        Right,
        Neutral,
    }
    let outer = if base { Way::Left } else { Way::Right };
    let mut ways: Vec<Way> = visual
        .iter()
        .map(|text| match text.chars().next() {
            _ if is_right_to_left(text) => Way::Left,
            Some(letter) if letter.is_alphanumeric() => Way::Right,
            _ => Way::Neutral,
        })
        .collect();
    // What stands between two of one kind goes with them, anything else with the line.
    let mut at = 0;
    while at < ways.len() {
        if ways[at] != Way::Neutral {
            at += 1;
            continue;
        }
        let end = (at..ways.len())
            .find(|next| ways[*next] != Way::Neutral)
            .unwrap_or(ways.len());
        let before = at.checked_sub(1).map_or(outer, |before| ways[before]);
        let after = ways.get(end).copied().unwrap_or(outer);
        ways[at..end].fill(if before == after { before } else { outer });
        at = end;
    }
    let mut runs: Vec<(Way, Vec<&str>)> = Vec::new();
    for (text, way) in visual.iter().zip(ways) {
        match runs.last_mut() {
            Some((known, run)) if *known == way => run.push(text),
            _ => runs.push((way, vec![text])),
        }
    }
    if base {
        runs.reverse();
    }
    let mut out = String::new();
    for (way, mut run) in runs {
        if way == Way::Left {
            run.reverse();
        }
        for text in run {
            match (way, text) {
                (Way::Left, "(") => out.push(')'),
                (Way::Left, ")") => out.push('('),
                (Way::Left, "[") => out.push(']'),
                (Way::Left, "]") => out.push('['),
                _ => out.push_str(text),
            }
        }
    }
    out
}

/// Whether `text` is of a script that runs to the left: Hebrew, Arabic, Syriac, Thaana, N'Ko and
/// their presentation forms.
fn is_right_to_left(text: &str) -> bool {
    text.chars().any(|letter| {
        matches!(letter, '\u{0590}'..='\u{08FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}'
            | '\u{10800}'..='\u{10FFF}' | '\u{1E800}'..='\u{1EFFF}')
            && !matches!(letter, '\u{0660}'..='\u{0669}' | '\u{06F0}'..='\u{06F9}')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(text: &str) -> Vec<String> {
        text.chars().map(|letter| letter.to_string()).collect()
    }

    #[test]
    fn a_line_of_hebrew_is_read_from_the_right() {
        assert_eq!(logical(&letters("םלוע םולש"), true), "שלום עולם");
    }

    #[test]
    fn numbers_and_latin_words_in_it_keep_their_order() {
        assert_eq!(logical(&letters("2024 תנש"), true), "שנת 2024");
        assert_eq!(
            logical(&letters("the word םולש here"), false),
            "the word שלום here"
        );
    }
}
