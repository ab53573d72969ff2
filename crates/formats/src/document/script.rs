//! Raised and lowered figures: "10⁶" must not become "106".

const PLAIN: &str = "0123456789+-=()";
const RAISED: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾";
const LOWERED: &str = "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎";

/// `text` as superscript letters; `None` if not all of it can be.
pub(super) fn raised(text: &str) -> Option<String> {
    moved(text, RAISED)
}

/// `text` as subscript letters; `None` if not all of it can be.
pub(super) fn lowered(text: &str) -> Option<String> {
    moved(text, LOWERED)
}

fn moved(text: &str, to: &str) -> Option<String> {
    let place = |letter: char| {
        PLAIN
            .chars()
            .position(|plain| plain == letter || letter == '−' && plain == '-')
    };
    let moved: Option<String> = text
        .chars()
        .map(|letter| to.chars().nth(place(letter)?))
        .collect();
    moved.filter(|moved| !moved.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_move_and_words_stay() {
        assert_eq!(raised("-12").as_deref(), Some("⁻¹²"));
        assert_eq!(lowered("2").as_deref(), Some("₂"));
        assert_eq!(raised("th"), None);
    }
}
