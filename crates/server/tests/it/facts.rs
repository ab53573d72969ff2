//! The four questions that the demo's story answers, over MCP only; and the structure of answers.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use server::demo::{self, Demo};

use crate::house::{House, on_both_engines};

/// The demo, told while a worker does what is to be done.
pub async fn told(house: &House) -> Demo {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples");
    let working = async {
        loop {
            house.work().await;
            house.clock.advance_seconds(1);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        demo = demo::make(&house.router, &samples) => demo.unwrap(),
        () = working => unreachable!("the worker never ends"),
    }
}

pub async fn asked(house: &House, demo: &Demo, name: &str, arguments: Value) -> Value {
    let answer = house.tool(&demo.token, &demo.kb, name, arguments).await;
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

fn others(result: &Value) -> Vec<&str> {
    let facts = result["structuredContent"]["facts"].as_array().unwrap();
    facts
        .iter()
        .map(|fact| fact["other_name"].as_str().unwrap())
        .collect()
}

#[test]
fn the_demo_answers_who_led_the_firm_then_what_was_held_before_what_changed_and_how_two_are_joined()
{
    on_both_engines(async |house| {
        let demo = told(&house).await;
        let led = json!({ "entity": "Kestrel Instruments", "predicate": "led", "at": "2021" });

        let now = asked(&house, &demo, "entity_facts", led.clone()).await;
        assert_eq!(others(&now), ["Tomas Reyes"]);

        // Before the memo of February arrived, the base held that Maren Holt led on.
        let changes = asked(&house, &demo, "changes", json!({ "since": "2020" })).await;
        let events = changes["structuredContent"]["changes"].as_array().unwrap();
        let arrived = events.iter().rfind(|event| {
            event["filename"] == "memo-2025-02-03.md" && event["kind"] == "corrected"
        });
        let mut before = led.clone();
        before["before"] = arrived.unwrap()["at"].clone();
        let before = asked(&house, &demo, "entity_facts", before).await;
        assert_eq!(others(&before), ["Maren Holt"]);

        // What changed: two corrections of each date, with the words of the memo they rest on.
        let corrected = json!({ "since": "2020", "kinds": ["corrected"] });
        let corrected = asked(&house, &demo, "changes", corrected).await;
        let events = corrected["structuredContent"]["changes"]
            .as_array()
            .unwrap();
        assert_eq!(events.len(), 3);
        assert_eq!(
            events[0]["quote"],
            "Tomas Reyes took over on 1 September 2020."
        );
        assert_eq!(events[0]["valid_from"], "2020-09-01");
        assert_eq!(events[0]["valid_from_precision"], "day");

        let joined = json!({ "from": "Tomas Reyes", "to": "Lumen Glass" });
        let joined = asked(&house, &demo, "paths_between", joined).await;
        assert!(
            text(&joined).contains("Kestrel Instruments"),
            "{}",
            text(&joined)
        );

        let line = asked(
            &house,
            &demo,
            "timeline",
            json!({ "entity": "Kestrel Instruments" }),
        )
        .await;
        assert!(text(&line).contains("2020-09-01"), "{}", text(&line));
        let near = asked(
            &house,
            &demo,
            "neighbors",
            json!({ "entity": "Lumen Glass", "at": "2024-06" }),
        )
        .await;
        assert!(
            text(&near).starts_with("Lumen Glass is linked to 3 entities."),
            "{}",
            text(&near)
        );
    });
}

/// Every documented field, in order; one that goes needs a decision record.
#[test]
fn the_documented_fields_of_facts_do_not_disappear() {
    on_both_engines(async |house| {
        let demo = told(&house).await;
        let fields =
            |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };

        let found = asked(&house, &demo, "find_entities", json!({ "name": "kestrel" })).await;
        let found = &found["structuredContent"];
        assert_eq!(fields(found), ["kb_id", "entities"]);
        assert_eq!(
            fields(&found["entities"][0]),
            [
                "id",
                "name",
                "type_key",
                "type_label",
                "disambiguator",
                "fact_count"
            ]
        );

        let facts = asked(
            &house,
            &demo,
            "entity_facts",
            json!({ "entity": "Kestrel Instruments" }),
        )
        .await;
        let facts = &facts["structuredContent"];
        assert_eq!(
            fields(facts),
            [
                "kb_id",
                "entity",
                "at",
                "as_of",
                "before",
                "total_facts",
                "matched_facts",
                "limit",
                "truncated",
                "facts",
                "derived_facts",
                "names"
            ]
        );
        assert_eq!(
            fields(&facts["entity"]),
            ["id", "name", "type_key", "type_label"]
        );
        let documented = [
            "id",
            "direction",
            "predicate_key",
            "predicate_label",
            "inferred",
            "temporal",
            "other_id",
            "other_name",
            "object_value",
            "confidence",
            "valid_from",
            "valid_to",
            "valid_from_precision",
            "valid_to_precision",
            "holds_from",
            "holds_to",
            "recorded_at",
            "invalidated_at",
            "supersedes",
            "document_ids",
            "qualifiers",
        ];
        assert_eq!(fields(&facts["facts"][0])[..documented.len()], documented);

        let changes = asked(&house, &demo, "changes", json!({ "since": "2020" })).await;
        let changes = &changes["structuredContent"];
        assert_eq!(
            fields(changes),
            [
                "kb_id",
                "since",
                "until",
                "limit",
                "limit_reached",
                "changes"
            ]
        );
        assert_eq!(
            fields(&changes["changes"][0]),
            [
                "fact_id",
                "at",
                "kind",
                "subject_id",
                "subject_name",
                "predicate_label",
                "object_name",
                "object_value",
                "confidence",
                "valid_from",
                "valid_to",
                "valid_from_precision",
                "valid_to_precision",
                "document_id",
                "filename",
                "quote"
            ]
        );
    });
}

#[test]
fn an_unknown_entity_is_an_error_of_entity_facts_and_an_answer_of_the_others() {
    on_both_engines(async |house| {
        let kb = house.base("Papers", "open").await;
        let token = house.person("reader@example.org", "read").await;
        for (name, arguments, is_error) in [
            ("entity_facts", json!({ "entity": "Nemo" }), json!(true)),
            (
                "entity_facts",
                json!({ "entity_id": "0198c5f2-7c1e-7b8a-9f5e-2b1c6a7d8e90" }),
                json!(true),
            ),
            ("neighbors", json!({ "entity": "Nemo" }), Value::Null),
            ("timeline", json!({ "entity": "Nemo" }), Value::Null),
            (
                "paths_between",
                json!({ "from": "Nemo", "to": "Nemo" }),
                Value::Null,
            ),
            ("find_entities", json!({ "name": "Nemo" }), Value::Null),
            (
                "changes",
                json!({ "since": "2026-01-01", "until": "2026" }),
                Value::Null,
            ),
        ] {
            let answer = house.tool(&token, &kb, name, arguments).await;
            let result = &answer["result"];
            assert_eq!(result["isError"], is_error, "{name}: {answer}");
            if name != "find_entities" && name != "changes" {
                assert!(text(result).starts_with("Unknown entity: "), "{answer}");
                assert!(result["structuredContent"].is_null());
            }
        }
    });
}

/// Nothing in one base changes a byte of an answer in another.
#[test]
fn what_happens_in_one_base_changes_no_answer_in_another() {
    on_both_engines(async |house| {
        let demo = told(&house).await;
        let questions = [
            ("find_entities", json!({ "name": "e" })),
            ("entity_facts", json!({ "entity": "Kestrel Instruments" })),
            ("neighbors", json!({ "entity": "Lumen Glass" })),
            ("timeline", json!({ "entity": "Maren Holt" })),
            (
                "paths_between",
                json!({ "from": "Tomas Reyes", "to": "Ines Okafor" }),
            ),
            ("changes", json!({ "since": "2020", "until": "2030" })),
        ];
        let mut before = Vec::new();
        for (name, arguments) in &questions {
            before.push(asked(&house, &demo, name, arguments.clone()).await);
        }

        let other = house.base("Other", "open").await;
        let base = format!("/api/v1/kbs/{other}");
        let relation = json!({ "label": "is led by" });
        house
            .local(
                http::Method::POST,
                &format!("{base}/ontology/relation-types"),
                relation,
            )
            .await
            .ok();
        let mut ids = Vec::new();
        for name in ["Kestrel Instruments", "Maren Holt", "Lumen Glass"] {
            let added = house
                .local(
                    http::Method::POST,
                    &format!("{base}/entities"),
                    json!({ "name": name }),
                )
                .await
                .ok();
            ids.push(added["id"].as_str().unwrap().to_owned());
        }
        let claim = json!({ "subject_id": ids[0], "predicate": "is_led_by", "object_id": ids[1] });
        house
            .local(http::Method::POST, &format!("{base}/facts"), claim)
            .await
            .ok();
        let merge = json!({ "keep_id": ids[0], "merge_id": ids[2] });
        house
            .local(http::Method::POST, &format!("{base}/entities/merge"), merge)
            .await
            .ok();

        for ((name, arguments), before) in questions.iter().zip(before) {
            assert_eq!(
                asked(&house, &demo, name, arguments.clone()).await,
                before,
                "{name}"
            );
        }
    });
}
