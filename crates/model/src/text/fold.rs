//! One spelling for what a reader takes as the same: compatibility forms and case.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// NFKC with full case folding: `ﬁ` is `fi`, `Straße` is `strasse`, `ΣΑΣ` is `σασ`.
///
/// Folding what is folded changes nothing.
pub fn fold(text: &str) -> Cow<'_, str> {
    if text
        .bytes()
        .all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase())
    {
        return Cow::Borrowed(text);
    }
    if text.is_ascii() {
        return Cow::Owned(text.to_ascii_lowercase());
    }
    let mut once = fold_once(text);
    // A folded letter may compose with the mark after it and so need folding again.
    loop {
        let again = fold_once(&once);
        if again == once {
            return Cow::Owned(once);
        }
        once = again;
    }
}

fn fold_once(text: &str) -> String {
    text.nfkc()
        // Upper case first, for the letters whose two forms meet only there (`ß`, `ς`, `ı`).
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .filter(|&c| !is_invisible(c))
        .nfkc()
        .collect()
}

/// Characters that change nothing a reader sees: soft hyphen, joiners, marks of direction, the
/// Arabic stretching stroke, variation selectors.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{640}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{2069}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// A word without the accents that writers leave out: Latin and Greek diacritics, Arabic vowel
/// signs, Hebrew points. Marks of Indic and Southeast Asian scripts are letters and stay.
pub(super) fn without_accents(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return Cow::Borrowed(word);
    }
    let bare = word
        .nfd()
        .filter(|&c| !is_accent(c))
        .map(plain)
        .nfc()
        .collect();
    Cow::Owned(bare)
}

fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{64b}'..='\u{65f}' | '\u{670}')
}

/// The plain form of letters that no decomposition reaches.
fn plain(c: char) -> char {
    match c {
        'ø' => 'o',
        'ł' => 'l',
        'đ' => 'd',
        'ħ' => 'h',
        'ي' | 'ى' => 'ی',
        'ك' => 'ک',
        other => other,
    }
}
