//! Made-up documents and questions whose words are as unevenly common as those of real ones.
//!
//! The commonest words are English function words, so that the analyser and the model take the
//! text for English; the others are syllables by rank. Some documents are in another script, and
//! all have headings, dates and identifiers here and there.

use std::fmt::Write as _;

use eval::chance::Chance;

/// Words there are in each script.
const WORDS: usize = 200_000;
/// How the frequency falls with the rank, and the shift of the first ones (Mandelbrot's form of
/// Zipf's law, about as in English).
const FALL: f64 = 1.05;
const SHIFT: f64 = 2.7;

const FUNCTION_WORDS: &[&str] = &[
    "the", "of", "and", "to", "in", "is", "that", "for", "it", "as", "was", "with", "on", "by",
    "are", "this", "be", "from", "at", "or", "an", "have", "not", "which", "but", "had", "they",
    "their", "were", "has", "its", "can", "all", "there", "been", "if", "more", "when", "will",
    "would", "who", "so", "no", "we", "may", "than", "other", "some", "these", "into",
];

const LATIN: &[&str] = &[
    "ba", "re", "ti", "mon", "la", "ser", "do", "ka", "ven", "pri", "tor", "nal", "che", "gu",
    "fo", "lin", "sta", "mer", "ro", "den", "vi", "pa", "cor", "sul", "ne", "har", "ot", "em",
];
const CYRILLIC: &[&str] = &[
    "ба", "ре", "ти", "мон", "ла", "сер", "до", "ка", "вен", "при", "тор", "нал", "че", "гу", "фо",
    "лин", "ста", "мер",
];
const ARABIC: &[&str] = &[
    "با", "ري", "تي", "مون", "لا", "سر", "دو", "كا", "فن", "بر", "تور", "نل", "جو", "قا",
];
const HAN_FIRST: u32 = 0x4e00;
const HAN_SPAN: usize = 3000;

/// A script to write in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Cyrillic,
    Arabic,
    Han,
}

/// What the words of all documents are drawn from.
pub struct Words {
    /// The share of all words that have this rank or a lower one.
    up_to: Vec<f64>,
}

impl Words {
    pub fn new() -> Self {
        let mut sum = 0.0;
        let mut up_to: Vec<f64> = (1..=WORDS)
            .map(|rank| {
                sum += (rank as f64 + SHIFT).powf(-FALL);
                sum
            })
            .collect();
        for share in &mut up_to {
            *share /= sum;
        }
        Self { up_to }
    }

    /// The rank of a word as common as chance has it.
    fn rank(&self, chance: &mut Chance) -> usize {
        let share = chance.share();
        self.up_to
            .partition_point(|&up_to| up_to < share)
            .min(WORDS - 1)
    }

    /// The document of a number: Markdown, and its file's name.
    pub fn document(&self, number: u64) -> (String, String) {
        let mut chance = Chance::new(number);
        let script = script(&mut chance);
        let mut text = String::with_capacity(16_000);
        text.push_str("# ");
        self.sentence(&mut text, &mut chance, script, 6);
        // Many short ones and a few long ones.
        let sections = 3 + (4.0 / (0.05 + chance.share())) as usize;
        for _ in 0..sections {
            text.push_str("\n\n## ");
            self.sentence(&mut text, &mut chance, script, 4);
            for _ in 0..chance.between(1, 5) {
                text.push_str("\n\n");
                let sentences = chance.between(2, 6);
                for n in 0..sentences {
                    if n > 0 {
                        text.push(' ');
                    }
                    let words = chance.between(8, 24);
                    self.sentence(&mut text, &mut chance, script, words);
                    text.push('.');
                }
            }
        }
        text.push('\n');
        let folder = number % 100;
        (format!("notes/{folder:02}/document-{number}.md"), text)
    }

    /// Writes words, with an identifier or a date here and there.
    fn sentence(&self, text: &mut String, chance: &mut Chance, script: Script, words: usize) {
        for n in 0..words {
            if n > 0 && script != Script::Han {
                text.push(' ');
            }
            match chance.between(0, 150) {
                0 => identifier(text, chance),
                1 => date(text, chance),
                _ => word(text, self.rank(chance), script),
            }
        }
    }

    /// A question that some document answers: words of a sentence of it, bare or as one would ask.
    pub fn question(&self, chance: &mut Chance, documents: u64) -> String {
        let (_, text) = self.document(chance.number() % documents.max(1));
        let sentences: Vec<&str> = text
            .split(['.', '\n'])
            .filter(|sentence| sentence.len() > 20)
            .collect();
        let sentence = sentences[chance.between(0, sentences.len())];
        if !sentence.contains(' ') {
            // Without spaces: some characters in a row.
            let characters: Vec<char> = sentence.chars().collect();
            let length = chance.between(3, 8).min(characters.len());
            let start = chance.between(0, characters.len() - length + 1);
            return characters[start..start + length].iter().collect();
        }
        let words: Vec<&str> = sentence
            .split_whitespace()
            .filter(|word| !word.starts_with('#'))
            .collect();
        let content: Vec<&str> = words
            .iter()
            .copied()
            .filter(|word| !FUNCTION_WORDS.contains(word))
            .collect();
        let from = if content.is_empty() { &words } else { &content };
        let mut pick = || from[chance.between(0, from.len())];
        let (first, second, third, fourth) = (pick(), pick(), pick(), pick());
        match chance.between(0, 4) {
            0 => format!("{first} {second}"),
            1 => format!("{first} {second} {third} {fourth}"),
            2 => format!("what is the {first} of the {second} in {third}"),
            _ => format!("when was the {first} {second} with {third} and why is it not {fourth}"),
        }
    }
}

/// One document in ten is in another script.
fn script(chance: &mut Chance) -> Script {
    match chance.between(0, 30) {
        0 => Script::Cyrillic,
        1 => Script::Arabic,
        2 => Script::Han,
        _ => Script::Latin,
    }
}

fn word(text: &mut String, rank: usize, script: Script) {
    let syllables = match script {
        Script::Latin => match FUNCTION_WORDS.get(rank) {
            Some(word) => return text.push_str(word),
            None => LATIN,
        },
        Script::Cyrillic => CYRILLIC,
        Script::Arabic => ARABIC,
        Script::Han => {
            let mut rest = rank;
            loop {
                let place = HAN_FIRST + (rest % HAN_SPAN) as u32;
                text.push(char::from_u32(place).expect("a place among the Han characters"));
                rest /= HAN_SPAN;
                if rest == 0 {
                    return;
                }
            }
        }
    };
    // Two syllables at least, so that no word is of one letter.
    let mut rest = rank + syllables.len();
    while rest > 0 {
        text.push_str(syllables[rest % syllables.len()]);
        rest /= syllables.len();
    }
}

fn identifier(text: &mut String, chance: &mut Chance) {
    let number = chance.between(1000, 10_000);
    let _ = match chance.between(0, 3) {
        0 => write!(text, "INV-20{}-{number}", chance.between(10, 30)),
        1 => write!(text, "part::unit_{number}()"),
        _ => write!(text, "{}.{}.{}", number % 9, number % 70, number % 13),
    };
}

fn date(text: &mut String, chance: &mut Chance) {
    let (year, month, day) = (
        chance.between(1990, 2027),
        chance.between(1, 13),
        chance.between(1, 29),
    );
    let _ = write!(text, "{year}-{month:02}-{day:02}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_always_the_same_document() {
        let words = Words::new();
        assert_eq!(words.document(7), words.document(7));
        assert_ne!(words.document(7).1, words.document(8).1);
    }

    #[test]
    fn common_words_are_much_commoner_than_rare_ones() {
        let words = Words::new();
        let mut chance = Chance::new(1);
        let ranks: Vec<usize> = (0..10_000).map(|_| words.rank(&mut chance)).collect();
        let count = |least: usize, most: usize| {
            ranks
                .iter()
                .filter(|&&rank| (least..most).contains(&rank))
                .count()
        };
        assert!(count(0, 10) > 1_000, "{}", count(0, 10));
        assert!(count(50_000, WORDS) > 100, "{}", count(50_000, WORDS));
    }

    #[test]
    fn a_question_has_words_in_it() {
        let words = Words::new();
        let mut chance = Chance::new(3);
        for _ in 0..200 {
            assert!(!words.question(&mut chance, 50).trim().is_empty());
        }
    }
}
