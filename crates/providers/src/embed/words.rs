//! Text to the word pieces that BERT models count in.
//!
//! The steps are those of BERT's uncased tokenizer: clean, set ideographs apart, strip accents,
//! lower, split at blanks and punctuation, cut each word into the longest known pieces. Marks
//! such as `[SEP]` written in a text are text.

use std::collections::HashMap;

use rten_text::models::{Model, WordPiece, WordPieceOptions};
use rten_text::normalizers::{Bert as Normal, BertOptions, Normalizer};
use rten_text::pre_tokenizers::{Bert as Splitter, PreTokenizer};
use serde::Deserialize;

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Longer words are unknown ones, in the reference too.
const WORD_LETTERS: usize = 100;

/// A vocabulary, ready to read texts with.
pub struct Words {
    normal: Normal,
    splitter: Splitter,
    pieces: WordPiece,
    start: u32,
    end: u32,
    unknown: u32,
}

#[derive(Deserialize)]
struct TokenizerFile {
    model: Vocabulary,
}

#[derive(Deserialize)]
struct Vocabulary {
    vocab: HashMap<String, u32>,
}

impl Words {
    /// Reads the vocabulary of a `tokenizer.json` of the WordPiece kind.
    ///
    /// # Errors
    /// A sentence saying what the file lacks.
    pub fn read(json: &[u8]) -> Result<Words, String> {
        let file = serde_json::from_slice::<TokenizerFile>(json)
            .map_err(|error| format!("is no WordPiece tokenizer: {error}"))?;
        let options = WordPieceOptions {
            max_word_len: Some(WORD_LETTERS),
        };
        let pieces = WordPiece::from_vocab(file.model.vocab, options);
        let id = |mark: &str| {
            pieces
                .get_token_id(mark)
                .ok_or(format!("lacks the piece {mark}"))
        };
        let (start, end, unknown) = (id("[CLS]")?, id("[SEP]")?, id("[UNK]")?);
        let normal = Normal::new(BertOptions {
            lowercase: true,
            strip_accents: true,
        });
        Ok(Words {
            normal,
            splitter: Splitter::new(),
            pieces,
            start,
            end,
            unknown,
        })
    }

    /// The pieces of a text between the marks of start and end, `most` in all.
    pub fn pieces(&self, text: &str, most: usize) -> Result<Vec<i32>, Fault> {
        let (normal, _) = self.normal.normalize(&clean(text))?;
        let mut pieces = vec![self.start];
        for word in self.splitter.pre_tokenize(&normal)? {
            if most <= pieces.len() {
                break;
            }
            let known = pieces.len();
            self.pieces
                .encode_with_offsets(word, &mut |_, piece| pieces.push(piece))?;
            // A word with one unknown piece is unknown as a whole.
            if pieces[known..].contains(&self.unknown) {
                pieces.truncate(known);
                pieces.push(self.unknown);
            }
        }
        pieces.truncate(most - 1);
        pieces.push(self.end);
        Ok(pieces.into_iter().map(|piece| piece as i32).collect())
    }
}

/// What BERT's normaliser does and `rten-text` leaves out: drops control characters, and sets
/// each ideograph apart as a word of its own.
fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\t' | '\n' | '\r' => cleaned.push(' '),
            '\u{fffd}' => {}
            _ if letter.is_control() || is_format(letter) => {}
            _ if letter.is_whitespace() => cleaned.push(' '),
            _ if is_ideograph(letter) => cleaned.extend([' ', letter, ' ']),
            _ => cleaned.push(letter),
        }
    }
    cleaned
}

/// The format characters (Unicode `Cf`) that occur in text.
fn is_format(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
        | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// The blocks that BERT's normaliser counts as Chinese.
fn is_ideograph(letter: char) -> bool {
    matches!(letter, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{20000}'..='\u{2a6df}' | '\u{2a700}'..='\u{2b73f}' | '\u{2b740}'..='\u{2b81f}'
        | '\u{2b820}'..='\u{2ceaf}' | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Words {
        let json = r###"{"model": {"vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "cord": 3, "##s": 4,
            "knot": 5, ",": 6, "[": 7, "]": 8, "sep": 9, "結": 10}}}"###;
        Words::read(json.as_bytes()).unwrap()
    }

    #[test]
    fn words_are_lowered_stripped_of_accents_and_cut_into_known_pieces() {
        assert_eq!(
            words().pieces("Cords,\tKNÓT", 16).unwrap(),
            [1, 3, 4, 6, 5, 2]
        );
    }

    #[test]
    fn a_word_with_an_unknown_piece_is_unknown_as_a_whole() {
        assert_eq!(words().pieces("cordx knot", 16).unwrap(), [1, 0, 5, 2]);
    }

    #[test]
    fn a_mark_written_in_a_text_is_text() {
        assert_eq!(words().pieces("[SEP]", 16).unwrap(), [1, 7, 9, 8, 2]);
    }

    #[test]
    fn control_characters_vanish_and_ideographs_stand_alone() {
        assert_eq!(
            words().pieces("kn\u{0}o\u{200b}t結結", 16).unwrap(),
            [1, 5, 10, 10, 2]
        );
    }

    #[test]
    fn a_long_text_keeps_its_end_mark() {
        assert_eq!(
            words().pieces("cords cords cords", 4).unwrap(),
            [1, 3, 4, 2]
        );
        assert_eq!(words().pieces("", 4).unwrap(), [1, 2]);
    }

    #[test]
    fn a_file_without_the_marks_is_refused() {
        let refused = Words::read(br#"{"model": {"vocab": {"[CLS]": 1}}}"#)
            .err()
            .unwrap();
        assert_eq!(refused, "lacks the piece [SEP]");
    }
}
