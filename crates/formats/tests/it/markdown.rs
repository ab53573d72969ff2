//! Markdown loses nothing.

use formats::document::Format;
use proptest::prelude::*;

use crate::{read, told};

#[test]
fn markdown_is_cut_at_its_headings_and_kept_as_written() {
    let source = b"Intro *text*.\r\n\r\n# One\n\n```\n# no heading\n```\n\nTwo\n---\n\n> # quoted\n\n- # listed\n\n#### Deep `code`\nend";

    let document = read(Format::Markdown, source).unwrap();

    assert_eq!(
        told(&document),
        [
            ": Intro *text*.",
            "One: ```\n# no heading\n```",
            "One / Two: > # quoted\n\n- # listed",
            "One / Two / Deep code: end",
        ]
    );
    assert_eq!(document.title.as_deref(), Some("One"));
}

#[test]
fn front_matter_states_title_and_date_and_stays_text() {
    let source = b"---\ntitle: \"The plan\"\ndate: 2024-05-06\n---\n# One\nText.";

    let document = read(Format::Markdown, source).unwrap();

    assert_eq!(document.title.as_deref(), Some("The plan"));
    assert_eq!(document.date.unwrap().value.to_string(), "2024-05-06");
    assert_eq!(
        document.sections[0].body,
        "---\ntitle: \"The plan\"\ndate: 2024-05-06\n---\n\nText."
    );
    assert_eq!(document.sections[0].heading_path, ["One"]);
    assert_eq!(document.sections.len(), 1, "it is no section of its own");
}

fn visible(text: &str) -> String {
    text.chars()
        .filter(|letter| letter.is_alphanumeric())
        .collect()
}

proptest! {
    #[test]
    fn every_letter_of_markdown_is_in_a_heading_or_a_body(
        lines in proptest::collection::vec(
            prop_oneof![
                "[ a-zäß日本1-9*_`>-]{0,20}",
                "#{1,7} [a-z1-9 ]{0,10}",
                Just("---".to_owned()),
                Just("===".to_owned()),
                Just("```".to_owned()),
                Just(String::new()),
                "    [a-z]{1,5}",
                "\\| [a-z]{1,3} \\| [a-z]{1,3} \\|",
            ],
            0..30,
        )
    ) {
        // Front matter stands below the heading that follows it.
        let source = format!("\n{}", lines.join("\n"));

        let document = read(Format::Markdown, source.as_bytes()).unwrap();

        let mut found = String::new();
        for section in &document.sections {
            if let Some(heading) = section.heading_path.last() {
                found.push_str(heading);
            }
            found.push_str(&section.body);
        }
        prop_assert_eq!(visible(&found), visible(&source));
    }
}
