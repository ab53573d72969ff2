//! Text out of bytes whose encoding nothing states.

use std::borrow::Cow;

use chardetng::EncodingDetector;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::DocumentError;

/// Bytes looked at to tell an encoding; a whole file of 100 MB tells no more.
const SAMPLE_BYTES: usize = 1 << 20;

/// Text of a file, and what is worth telling about how it was read.
pub(super) struct Decoded<'b> {
    /// The characters, without a byte order mark.
    pub(super) text: Cow<'b, str>,
    /// Sentences for `left_out`.
    pub(super) left_out: Vec<String>,
}

/// Decodes a text file: by its byte order mark, as UTF-8, as UTF-16 without a mark, then by the
/// frequencies of its bytes (Windows code pages, Shift JIS, GB18030, EUC, Big5).
///
/// # Errors
/// [`DocumentError::NotText`] if no text in a known encoding has such bytes.
pub(super) fn decode(bytes: &[u8]) -> Result<Decoded<'_>, DocumentError> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return Ok(decoded(encoding, &bytes[mark..]));
    }
    if let Some(encoding) = unmarked_utf_16(bytes) {
        return Ok(decoded(encoding, bytes));
    }
    if let Some(at) = bytes.iter().position(|byte| is_binary(*byte)) {
        return Err(DocumentError::NotText { at });
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(Decoded {
            text: text.into(),
            left_out: Vec::new(),
        });
    }
    Ok(decoded(guess(bytes), bytes))
}

/// Decodes bytes whose encoding a label states ("shift_jis"); as [`decode`] for an unknown label.
pub(super) fn decode_labelled<'b>(
    bytes: &'b [u8],
    label: &str,
) -> Result<Decoded<'b>, DocumentError> {
    match Encoding::for_label(label.as_bytes()) {
        Some(encoding) => {
            let (text, _, _) = encoding.decode(bytes);
            Ok(Decoded {
                text,
                left_out: Vec::new(),
            })
        }
        None => decode(bytes),
    }
}

/// The likeliest encoding of bytes that are not UTF-8.
pub(super) fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
    // A sample that starts where the file leaves ASCII tells more than its first bytes.
    let start = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(0);
    let start = start.saturating_sub(1 << 10);
    let end = bytes.len().min(start + SAMPLE_BYTES);
    detector.feed(&bytes[start..end], end == bytes.len());
    let guessed = detector.guess(None, chardetng::Utf8Detection::Allow);
    if guessed
        .decode_without_bom_handling_and_without_replacement(bytes)
        .is_none()
    {
        // GB18030 and Shift JIS share lead bytes with others; take the one that reads it all.
        for other in [
            UTF_8,
            encoding_rs::GB18030,
            encoding_rs::SHIFT_JIS,
            WINDOWS_1252,
        ] {
            if other
                .decode_without_bom_handling_and_without_replacement(bytes)
                .is_some()
            {
                return other;
            }
        }
    }
    match guessed.name() {
        // GB18030 holds all of GBK.
        "GBK" => encoding_rs::GB18030,
        _ => guessed,
    }
}

fn decoded<'b>(encoding: &'static Encoding, bytes: &'b [u8]) -> Decoded<'b> {
    let (text, damaged) = encoding.decode_without_bom_handling(bytes);
    let mut left_out = Vec::new();
    if damaged {
        let lost = text.chars().filter(|letter| *letter == '\u{FFFD}').count();
        left_out.push(format!("{lost} places are not valid {}", encoding.name()));
    }
    Decoded { text, left_out }
}

/// Control characters that no text file holds: all but tab, line ends, form feed and escape.
fn is_binary(byte: u8) -> bool {
    matches!(byte, 0..=6 | 14..=25 | 28..=31 | 127)
}

/// UTF-16 without a mark: a sample of mostly even or mostly odd zeroes, or, for scripts without
/// Latin letters, line ends and spaces of one byte order only.
fn unmarked_utf_16(bytes: &[u8]) -> Option<&'static Encoding> {
    let sample = &bytes[..bytes.len().min(64 << 10) & !1];
    if sample.len() < 4 || !bytes.len().is_multiple_of(2) || !sample.contains(&0) {
        return None;
    }
    let (mut little, mut big) = (0, 0);
    for pair in sample.chunks_exact(2) {
        match pair {
            [b' ' | b'\n' | b'\r' | b'\t' | b'!'..=b'~', 0] => little += 1,
            [0, b' ' | b'\n' | b'\r' | b'\t' | b'!'..=b'~'] => big += 1,
            _ => {}
        }
    }
    let encoding = if little > big { UTF_16LE } else { UTF_16BE };
    let (likely, unlikely) = (little.max(big), little.min(big));
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
    let binary = text
        .chars()
        .any(|letter| u8::try_from(letter).is_ok_and(is_binary));
    (!binary && likely > 0 && unlikely * 16 < likely && likely * 64 >= sample.len() / 2)
        .then_some(encoding)
}
