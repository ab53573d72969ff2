//! Files made from the registry and committed: they must be what the registry says.

use std::path::Path;

use kernel::{Door, Registry};
use serde_json::Value;
use server::app::OPS;
use server::mcp::tools::Catalogue;

use crate::{access, examples};

#[expect(
    clippy::disallowed_methods,
    reason = "whoever changes an operation writes the files anew"
)]
fn is_blessing() -> bool {
    std::env::var_os("BLESS").is_some()
}

fn check(path: &str, made: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    if is_blessing() {
        std::fs::write(&file, made).unwrap();
        return;
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == made,
        "{path} is not what the operations say; `BLESS=1 cargo test -p server` writes it anew"
    );
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap() + "\n"
}

#[test]
fn the_api_document_is_what_the_operations_say() {
    check(
        "docs/openapi.json",
        &pretty(&server::openapi::document(&Registry::new(OPS))),
    );
}

#[test]
fn the_tools_of_the_base_door_are_what_the_operations_say() {
    let list = Catalogue::of(&Registry::new(OPS), Door::Base).list(u128::MAX);
    check(
        "docs/tools.json",
        &pretty(&serde_json::from_str(list.get()).unwrap()),
    );
}

#[test]
fn the_access_table_is_what_the_operations_say() {
    check("docs/access.md", &access::table(&Registry::new(OPS)));
}

#[tokio::test]
async fn the_manuals_page_of_operations_is_what_the_operations_say_and_answer() {
    let registry = Registry::new(OPS);
    let examples = examples::of_every_operation().await;
    let mut page = String::from(
        "# Operations\n\nMade from the operations, each with a call that was made and what it answered.\n",
    );
    for registered in registry.iter() {
        let section = server::manual::section_of(registered);
        let title = section.title.trim_start_matches("Operations › ");
        page.push_str(&format!("\n## {title}\n\n{}", section.text));
        match examples.get(registered.entry.spec.name) {
            Some(example) => page.push_str(&format!("\n{example}")),
            None => assert!(
                examples::WITHOUT
                    .iter()
                    .any(|(name, _)| *name == registered.entry.spec.name),
                "{} has no worked example",
                registered.entry.spec.name
            ),
        }
    }
    check("docs/operations.md", &page);
}

#[test]
fn every_operation_and_argument_says_what_it_means() {
    let registry = Registry::new(OPS);
    for registered in registry.iter() {
        let spec = &registered.entry.spec;
        assert!(!registered.description.is_empty(), "{}", spec.name);
        assert!(
            spec.name.len() <= 40
                && spec
                    .name
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c == '_'),
            "{}",
            spec.name
        );
        for argument in registered.table.iter() {
            assert!(
                !argument.description.is_empty(),
                "{} {}",
                spec.name,
                argument.name
            );
        }
        let Some((_, path)) = spec.route else {
            continue;
        };
        for word in path
            .split('/')
            .filter_map(|word| word.strip_prefix('{')?.strip_suffix('}'))
        {
            let known =
                word == "kb_id" || registered.table.get(word).is_some_and(|one| one.required);
            assert!(known, "{}: `{word}` of the path is no argument", spec.name);
        }
    }
}

#[test]
fn every_tool_says_whether_it_reads_or_destroys() {
    let list = Catalogue::of(&Registry::new(OPS), Door::Base).list(u128::MAX);
    let list: Value = serde_json::from_str(list.get()).unwrap();
    for tool in list.as_array().unwrap() {
        for hint in [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ] {
            assert!(
                tool["annotations"][hint].is_boolean(),
                "{} {hint}",
                tool["name"]
            );
        }
        assert_eq!(tool["inputSchema"]["type"], "object");
    }
}
