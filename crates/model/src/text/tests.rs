use proptest::prelude::*;

use super::*;

fn words(text: &str) -> Vec<String> {
    of_document(text).words
}

#[test]
fn codes_are_kept_whole_and_split() {
    for (text, expected) in [
        (
            "Invoice INV-2024-7831.",
            "invoice inv-2024-7831 inv 2024 7831",
        ),
        ("at 10 GB/s", "at 10 gb/s gb s"),
        ("call foo.bar()", "call foo.bar foo bar"),
        ("a_b", "a_b a b"),
        ("C++ and C#", "c++ c and c# c"),
        ("Caroline's l'homme", "caroline homme"),
    ] {
        assert_eq!(words(text).join(" "), expected);
    }
}

#[test]
fn scripts_without_spaces_give_pairs_and_split_from_latin_glued_to_them() {
    assert_eq!(words("iPhone手机壳"), ["iphone", "手机", "机壳"]);
    assert_eq!(of_document("猫").words, ["猫"]);
    assert!(of_document("黒猫だ").grams.contains(&"猫".to_owned()));
}

#[test]
fn a_single_character_asks_for_itself_inside_words() {
    let asked = of_query("猫", Languages::default());
    assert_eq!(
        asked,
        [Asked {
            kind: Kind::Gram,
            text: "猫".into(),
            weight: 1.0
        }]
    );
}

#[test]
fn indic_words_keep_their_marks() {
    assert_eq!(words("हिन्दी में"), ["हिन्दी", "में"]);
}

#[test]
fn case_and_compatibility_forms_fold() {
    assert_eq!(
        words("STRASSE Straße ﬁn ΣΑΣ"),
        ["strasse", "strasse", "fin", "σασ"]
    );
}

#[test]
fn short_texts_find_their_language_by_function_words() {
    for (text, language) in [
        (
            "hey mel! good to see you! how have you been?",
            Language::English,
        ),
        ("wer war der erste könig von preußen?", Language::German),
        (
            "¿cuál es la capital de francia y de qué país?",
            Language::Spanish,
        ),
        ("北京是中国的首都", Language::Other),
    ] {
        assert_eq!(Language::of(&fold(text)), language, "{text}");
    }
}

#[test]
fn function_words_count_little_unless_alone() {
    let asked = of_query("who is Caroline", Languages::default());
    let weight = |text: &str| asked.iter().find(|term| term.text == text).unwrap().weight;
    assert!(weight("who") < weight("caroline"));

    let asked = of_query("who is", Languages::default());
    assert!(asked.iter().all(|term| term.weight >= 1.0));
}

#[test]
fn a_model_is_asked_only_what_may_be_in_its_languages() {
    let asked = |question: &str, codes: &[&str]| is_in(question, codes);
    for question in ["what is the target", "Series C", "INV-2024"] {
        assert!(asked(question, &["en"]), "{question}");
        assert!(!asked(question, &["ja"]), "{question}");
    }
    for question in [
        "目標は何ですか",
        "какая цель",
        "was ist das Ziel und wer hat es",
    ] {
        assert!(!asked(question, &["en"]), "{question}");
    }
    assert!(asked("目標は何ですか", &["en", "ja"]));
    assert!(asked("was ist das Ziel und wer hat es", &["de"]));
    // Languages that cannot be told apart are given the benefit of the doubt.
    assert!(asked("jaki jest cel", &["pl"]));
}

proptest! {
    #[test]
    fn visible_text_has_a_term(text in "\\PC{1,40}") {
        let visible = text.chars().any(char::is_alphanumeric);
        let terms = of_document(&text);
        prop_assert!(!visible || !terms.words.is_empty() || fold(&text).trim().is_empty());
        prop_assert_eq!(terms.words.len(), terms.stems.len());
        prop_assert!(terms.words.iter().chain(&terms.stems).chain(&terms.grams).all(|t| !t.is_empty()));
    }

    #[test]
    fn folding_twice_is_folding_once(text in any::<String>()) {
        let once = fold(&text).into_owned();
        prop_assert_eq!(fold(&once).into_owned(), once.clone());
        prop_assert_eq!(of_document(&once), of_document(&text));
    }

    #[test]
    fn distinct_names_in_han_have_distinct_terms(a in "[一-龥]{1,6}", b in "[一-龥]{1,6}") {
        if a != b {
            prop_assert_ne!(of_document(&a), of_document(&b));
        }
    }

    #[test]
    fn a_text_is_found_by_its_own_words(text in "\\PC{1,60}") {
        let terms = of_document(&text);
        let asked = of_query(&text, Languages::ALL);
        let found = asked.iter().any(|term| {
            let stored = match term.kind {
                Kind::Word => &terms.words,
                Kind::Stem => &terms.stems,
                Kind::Gram => &terms.grams,
            };
            stored.contains(&term.text)
        });
        prop_assert!(terms.words.is_empty() || found);
    }
}
