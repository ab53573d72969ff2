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
fn a_single_word_that_another_language_has_too_does_not_make_a_text_foreign() {
    for text in ["take care!", "see ya!", "anna: on sale now"] {
        assert!(
            matches!(Language::of(text), Language::Other | Language::English),
            "{text}"
        );
    }
}

#[test]
fn words_of_another_language_count_in_full_in_an_english_question() {
    let languages = Languages::default().with(Language::Spanish);
    let weight = |text: &str, word: &str| {
        let asked = of_query(text, languages);
        let found = asked
            .iter()
            .find(|term| term.kind == Kind::Word && term.text == word);
        found.unwrap().weight
    };
    assert!(weight("what is the name of her son", "son") >= 1.0);
    assert!(weight("¿quiénes son los hijos de la reina?", "son") < 1.0);
}

#[test]
fn an_english_question_asks_for_no_grams_of_plain_words() {
    let languages = Languages::default().with(Language::German);
    let grams = |text: &str| {
        of_query(text, languages)
            .iter()
            .any(|term| term.kind == Kind::Gram)
    };
    assert!(!grams("what is the harvest of this year"));
    assert!(grams("what is the harvest of Köln"));
    assert!(grams("wie ist die Ernte in diesem Jahr"));
    assert!(grams("Ernte"));
}

#[test]
fn names_are_taken_out_of_a_question_unless_little_is_left() {
    let (left, names) = without_names("What did Ann's brother paint for Bob?").unwrap();
    assert_eq!(
        (left.as_str(), names),
        (
            "What did brother paint for",
            vec!["Ann".to_owned(), "Bob".into()]
        )
    );
    for question in [
        "Who is Ann Lee?",
        "Ann painted a house",
        "what is the LGBTQ parade",
        "",
    ] {
        assert_eq!(without_names(question), None, "{question}");
    }
}

#[test]
fn irregular_forms_of_english_words_meet() {
    let stems = |text: &str| of_document(text).stems.join(" ");
    assert_eq!(
        stems("she bought mice for the children"),
        stems("she buy mouse for the child")
    );
    // Other languages keep their words.
    assert!(stems("der Mann und die Frau sind nicht men und nicht met").contains("met"));
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

    /// One letter of any script is enough to be found by.
    #[test]
    fn letters_of_any_script_have_a_term(text in "[\\p{L}\\p{N}]{1,8}") {
        let visible = !fold(&text).trim().is_empty();
        let terms = of_document(&text);
        prop_assert!(!visible || !terms.words.is_empty(), "{:?}", terms);
        prop_assert!(!visible || !of_query(&text, Languages::ALL).is_empty());
    }

    #[test]
    fn any_text_is_analysed_and_asked(text in any::<String>()) {
        let terms = of_document(&text);
        prop_assert_eq!(terms.words.len(), terms.stems.len());
        for term in of_query(&text, Languages::ALL) {
            prop_assert!(!term.text.is_empty() && term.weight > 0.0);
        }
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
