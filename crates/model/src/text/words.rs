//! Cutting folded text into words, codes and pairs of characters.

use unicode_segmentation::UnicodeSegmentation;

/// What the cutter found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A word, or a part of a code.
    Word(&'a str),
    /// A code as written: letters and digits held together by other signs.
    Code(&'a str),
    /// Two neighbouring characters of a script written without spaces.
    Pair(&'a str),
    /// One character that also stands in a pair.
    Single(&'a str),
    /// One character without a neighbour, or a symbol by itself.
    Lone(&'a str),
}

/// Longest code kept whole, in bytes; what is longer is split only.
const CODE_BYTES_MAX: usize = 80;

/// Calls `found` with each piece of `folded`, in order.
pub(super) fn each<'a>(folded: &'a str, found: &mut dyn FnMut(Piece<'a>)) {
    for run in folded.split_whitespace() {
        let mut rest = run;
        while let Some(first) = rest.chars().next() {
            let dense = is_dense(first);
            let end = rest
                .char_indices()
                .find(|&(_, c)| is_dense(c) != dense && !is_mark(c))
                .map_or(rest.len(), |(at, _)| at);
            let (part, after) = rest.split_at(end);
            if dense {
                pairs(part, found);
            } else {
                spaced(part, found);
            }
            rest = after;
        }
    }
}

/// A run without white space in a script that puts spaces between words.
fn spaced<'a>(run: &'a str, found: &mut dyn FnMut(Piece<'a>)) {
    let bare = run.trim_matches(|c: char| !c.is_alphanumeric() && !is_mark(c) && c != '_');
    let after = &run[bare.as_ptr() as usize - run.as_ptr() as usize + bare.len()..];
    // `c++`, `c#`: the signs are the name.
    let signs = after
        .bytes()
        .take_while(|byte| matches!(byte, b'+' | b'#'))
        .count();
    let code = &run[bare.as_ptr() as usize - run.as_ptr() as usize..][..bare.len() + signs];
    if bare.is_empty() {
        symbols(run, found);
        return;
    }
    if bare.len() < code.len() && code.len() <= CODE_BYTES_MAX {
        found(Piece::Code(code));
    } else if is_code(bare) {
        found(Piece::Code(bare));
    }
    for word in bare.unicode_words() {
        parts(word, found);
    }
    if bare.unicode_words().next().is_none() {
        found(Piece::Word(bare));
    }
}

/// Whether the run is held together by signs that a word does not have.
fn is_code(run: &str) -> bool {
    run.len() <= CODE_BYTES_MAX
        && run
            .chars()
            .any(|c| !c.is_alphanumeric() && !is_mark(c) && !is_apostrophe(c))
}

/// A word of UAX #29, which keeps `a_b`, `foo.bar` and `l'homme` in one piece, in its parts.
fn parts<'a>(word: &'a str, found: &mut dyn FnMut(Piece<'a>)) {
    let joined = |c: char| matches!(c, '_' | '.' | ':' | ',' | ';' | '\u{b7}') || is_apostrophe(c);
    if !word.contains(joined) {
        found(Piece::Word(word));
        return;
    }
    let mut any = false;
    for part in word.split(joined).filter(|part| !part.is_empty()) {
        // The `s` of a possessive and the `l` of `l'homme` say nothing by themselves.
        let elided = part.len() == 1 && word.contains(is_apostrophe);
        if !elided {
            any = true;
            found(Piece::Word(part));
        }
    }
    if !any {
        found(Piece::Word(word));
    }
}

/// Characters of a script without spaces: each one, and each with the next.
fn pairs<'a>(run: &'a str, found: &mut dyn FnMut(Piece<'a>)) {
    let starts: Vec<usize> = run
        .grapheme_indices(true)
        .filter(|(_, cluster)| cluster.chars().any(|c| is_dense(c) || c.is_alphanumeric()))
        .map(|(at, _)| at)
        .collect();
    if let [only] = starts[..] {
        found(Piece::Lone(&run[only..]));
        return;
    }
    for (n, &start) in starts.iter().enumerate() {
        let end = starts.get(n + 1).copied().unwrap_or(run.len());
        found(Piece::Single(&run[start..end]));
        if n + 1 < starts.len() {
            let after = starts.get(n + 2).copied().unwrap_or(run.len());
            found(Piece::Pair(&run[start..after]));
        }
    }
}

/// A run of signs only: nothing if it is punctuation, else each symbol (`→`, `€`, an emoji).
fn symbols<'a>(run: &'a str, found: &mut dyn FnMut(Piece<'a>)) {
    for symbol in run
        .graphemes(true)
        .filter(|cluster| cluster.chars().any(is_symbol))
    {
        found(Piece::Lone(symbol));
    }
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}' | '\u{2bc}' | '\u{ff07}')
}

/// A sign with a meaning of its own, as opposed to punctuation and controls.
fn is_symbol(c: char) -> bool {
    matches!(c, '$' | '+' | '<' | '=' | '>' | '^' | '`' | '|' | '~')
        || (!c.is_ascii() && !c.is_control() && !c.is_whitespace() && !is_punctuation(c))
}

fn is_punctuation(c: char) -> bool {
    matches!(c,
        '\u{a1}' | '\u{a7}' | '\u{ab}' | '\u{b6}' | '\u{b7}' | '\u{bb}' | '\u{bf}'
        | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{3001}'..='\u{3003}'
        | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' | '\u{fe10}'..='\u{fe19}'
        | '\u{fe30}'..='\u{fe6b}' | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}'
        | '\u{ff3b}'..='\u{ff3d}' | '\u{ff5b}'..='\u{ff65}')
}

/// Combining marks, which belong to the character before them.
fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// Scripts written without spaces, or whose words are best found by pairs: Han, kana, bopomofo,
/// Hangul, Thai, Lao, Khmer, Burmese.
pub(crate) fn is_dense(c: char) -> bool {
    matches!(c,
        '\u{e01}'..='\u{e4f}' | '\u{e81}'..='\u{eff}' | '\u{1000}'..='\u{109f}'
        | '\u{1100}'..='\u{11ff}' | '\u{1780}'..='\u{17d3}' | '\u{17d7}' | '\u{17dc}' | '\u{17dd}'
        | '\u{2e80}'..='\u{2fd5}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}'
        | '\u{3031}'..='\u{3035}' | '\u{3041}'..='\u{3096}' | '\u{309d}'..='\u{309f}'
        | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{3105}'..='\u{312f}'
        | '\u{3131}'..='\u{318e}' | '\u{31a0}'..='\u{31bf}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{a960}'..='\u{a97c}'
        | '\u{aa60}'..='\u{aa7f}' | '\u{ac00}'..='\u{d7a3}' | '\u{d7b0}'..='\u{d7fb}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}' | '\u{1b000}'..='\u{1b16f}'
        | '\u{20000}'..='\u{2fa1f}' | '\u{30000}'..='\u{323af}')
}
