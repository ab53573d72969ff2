//! From text to the terms a search compares: the same rules for documents and for questions.
//!
//! Text is normalised (NFKC, full case folding), cut into words by UAX #29 with combining marks
//! kept, and each word gives a surface form, a stem and, outside English, character 4-grams.
//! Scripts written without spaces give overlapping pairs of characters instead of words. Codes
//! such as `INV-2024-7831`, `GB/s` or `foo.bar()` are kept whole and split. Everything here is a
//! pure function of the text, so that an index can be thrown away and rebuilt to the same terms.

mod fold;
mod irregular;
mod language;
mod words;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

pub use fold::fold;
pub use language::{Language, Languages};

use language::Asker;
use words::Piece;
pub(crate) use words::is_dense;

/// Counts up whenever the terms of some text change; an index made with another number is rebuilt.
pub const ANALYSER_VERSION: u32 = 3;

/// Characters in one gram: 4 measured best of 3 to 5 on XQuAD outside English (research, 2026).
const GRAM: usize = 4;

/// Longest term in bytes; longer runs (base64, long URLs) are cut so that they still match.
const TERM_BYTES_MAX: usize = 128;

/// What a term is; each kind is counted and weighed apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A word as written (case folded), a code kept whole, or a pair of characters.
    Word,
    /// The stem of a word, without accents; for codes and pairs the same as the word.
    Stem,
    /// Four characters of a word, or one character of a script written without spaces.
    Gram,
}

/// The terms of a stretch of stored text, in reading order, repetitions kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Terms {
    /// Surface forms.
    pub words: Vec<String>,
    /// Stems.
    pub stems: Vec<String>,
    /// Grams.
    pub grams: Vec<String>,
    /// The language whose stemmer was used.
    pub language: Language,
}

/// One term of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// What kind of term to look for.
    pub kind: Kind,
    /// The term as the index holds it.
    pub text: String,
    /// How much it counts: its repetitions, less for function words. Above 0.
    pub weight: f32,
}

/// The terms of stored text.
///
/// Text with a visible character (a letter, a number or a symbol) has at least one word.
pub fn of_document(text: &str) -> Terms {
    let folded = fold(text);
    let language = Language::of(&folded);
    of_folded(&folded, language)
}

/// The terms of a heading or title that stands above text in `language`.
pub fn of_heading(text: &str, language: Language) -> Terms {
    of_folded(&fold(text), language)
}

fn of_folded(folded: &str, language: Language) -> Terms {
    let mut terms = Terms {
        language,
        ..Terms::default()
    };
    words::each(folded, &mut |piece| match piece {
        Piece::Word(word) => {
            terms.stems.push(cut(&language.stem(word)));
            if language.wants_grams() || !word.is_ascii() {
                grams(word, &mut |gram| terms.grams.push(gram.to_owned()));
            }
            terms.words.push(cut(word));
        }
        Piece::Code(code) => {
            terms.words.push(cut(code));
            terms.stems.push(cut(code));
        }
        Piece::Pair(pair) => {
            terms.words.push(pair.to_owned());
            terms.stems.push(pair.to_owned());
        }
        Piece::Single(character) => terms.grams.push(character.to_owned()),
        Piece::Lone(character) => {
            terms.words.push(character.to_owned());
            terms.stems.push(character.to_owned());
            terms.grams.push(character.to_owned());
        }
    });
    terms
}

/// The terms of a question put to text in `languages`, each once, in order of first appearance.
///
/// A question is too short for its language to be told, so every language that the asked text is
/// written in lends its stemmer. Function words count little unless there is nothing else.
pub fn of_query(text: &str, languages: Languages) -> Vec<Asked> {
    let folded = fold(text);
    let asker = Asker::of(&folded, languages);
    // Text in English has no grams of plain words: an English question would meet only accidents.
    let wants_grams = languages.any_grams() && !asker.is_english;
    let mut asking = Asking::default();
    let mut content = false;
    words::each(&folded, &mut |piece| match piece {
        Piece::Word(word) => {
            let function = asker.is_function_word(word);
            content |= !function;
            let weight = if function { FUNCTION_WORD } else { 1.0 };
            let mut stems: Vec<String> = Vec::with_capacity(2);
            for language in languages.stemming() {
                let stem = cut(&language.stem(word));
                if !stems.contains(&stem) {
                    stems.push(stem);
                }
            }
            for stem in stems {
                asking.add(Kind::Stem, &stem, weight);
            }
            asking.add(Kind::Word, &cut(word), weight);
            if wants_grams || !word.is_ascii() {
                grams(word, &mut |gram| asking.add(Kind::Gram, gram, weight));
            }
        }
        Piece::Code(code) => {
            content = true;
            asking.add(Kind::Stem, &cut(code), 1.0);
            asking.add(Kind::Word, &cut(code), 1.0);
        }
        Piece::Pair(pair) => {
            content = true;
            asking.add(Kind::Stem, pair, 1.0);
            asking.add(Kind::Word, pair, 1.0);
        }
        // Pairs say more than single characters, which are asked for only when alone.
        Piece::Single(_) => content = true,
        Piece::Lone(character) => {
            content = true;
            asking.add(Kind::Gram, character, 1.0);
        }
    });
    let mut asked = asking.asked;
    if !content {
        for term in &mut asked {
            term.weight /= FUNCTION_WORD;
        }
    }
    asked
}

/// Terms asked at most: some 150 words. What a longer question adds changes little.
const ASKED_MAX: usize = 512;

/// The terms of a question so far.
#[derive(Default)]
struct Asking {
    asked: Vec<Asked>,
    places: HashMap<(Kind, String), usize>,
}

impl Asking {
    fn add(&mut self, kind: Kind, text: &str, weight: f32) {
        match self.places.entry((kind, text.to_owned())) {
            Entry::Occupied(place) => self.asked[*place.get()].weight += weight,
            Entry::Vacant(place) if self.asked.len() < ASKED_MAX => {
                place.insert(self.asked.len());
                self.asked.push(Asked {
                    kind,
                    text: text.to_owned(),
                    weight,
                });
            }
            Entry::Vacant(_) => {}
        }
    }
}

/// Whether a question may be in one of the languages (ISO 639-1), as far as can be told: whether
/// a model of these languages is to be asked.
///
/// A text in Latin letters that is clearly in none of them is not; nor is one in another script,
/// unless it is the script of one of them.
pub fn is_in(text: &str, codes: &[&str]) -> bool {
    let folded = fold(text);
    let (mut latin, mut other) = (0, 0);
    for c in folded.chars().filter(|c| c.is_alphabetic()) {
        *(if language::is_latin(c) {
            &mut latin
        } else {
            &mut other
        }) += 1;
    }
    if latin < other {
        return language::is_in_script(&folded, codes);
    }
    match Language::of(&folded) {
        Language::Other => codes.iter().any(|code| language::is_latin_code(code)),
        language => codes
            .iter()
            .any(|code| Language::with_code(code) == Some(language)),
    }
}

/// A question without the names in it, and the names; none if it has none, or little else.
///
/// A name is a word with a capital that does not begin the question. In a vector of a whole
/// question names outweigh what is asked of them.
pub fn without_names(question: &str) -> Option<(String, Vec<String>)> {
    const LEFT_MIN: usize = 2;
    let (mut names, mut left) = (Vec::new(), Vec::new());
    for (n, word) in question.split_whitespace().enumerate() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let bare = bare.strip_suffix("'s").unwrap_or(bare);
        let bare = bare.strip_suffix("\u{2019}s").unwrap_or(bare);
        let mut letters = bare.chars();
        let is_name = letters.next().is_some_and(char::is_uppercase)
            && !letters.as_str().is_empty()
            && letters.all(char::is_lowercase);
        if 0 < n && is_name {
            names.push(bare.to_owned());
        } else {
            left.push(word);
        }
    }
    let left = left.join(" ");
    let folded = fold(&left);
    let asker = Asker::of(&folded, Languages::default());
    let mut content = 0;
    words::each(&folded, &mut |piece| {
        content += usize::from(matches!(piece, Piece::Word(word) if !asker.is_function_word(word)));
    });
    (!names.is_empty() && LEFT_MIN <= content).then_some((left, names))
}

/// What a function word ("what", "did", "the") counts in a question.
const FUNCTION_WORD: f32 = 0.25;

/// The grams of a word; the word itself where it is no longer than one.
fn grams(word: &str, found: &mut dyn FnMut(&str)) {
    let starts: Vec<usize> = word.char_indices().map(|(at, _)| at).collect();
    if starts.len() <= GRAM {
        if !word.is_empty() {
            found(word);
        }
        return;
    }
    for (n, &start) in starts.iter().enumerate().take(starts.len() - GRAM + 1) {
        let end = starts.get(n + GRAM).copied().unwrap_or(word.len());
        found(&word[start..end]);
    }
}

/// At most [`TERM_BYTES_MAX`] bytes of a term, cut between characters.
fn cut(term: &str) -> String {
    let mut end = term.len().min(TERM_BYTES_MAX);
    while !term.is_char_boundary(end) {
        end -= 1;
    }
    term[..end].to_owned()
}

#[cfg(test)]
mod tests;
