//! Each rule that rows are checked by finds the rows that break it, and nothing else.

use serde_json::{Value, json};
use store::{faults, rows};

use crate::stores::{World, on_both_engines, uuid};

/// The end of what has not ended.
const OPEN: i64 = i64::MAX;

/// A row of a table: of nothing in particular, but for what is said.
fn row(world: &World, table: &rows::Table, said: &Value) -> Value {
    let columns = table.columns().map(|column| {
        let given = said.get(column).cloned();
        given.unwrap_or_else(|| match column {
            "tenant_id" => json!(world.tenant),
            "base_id" => json!(world.kb),
            // An entity, a fact and a document that are there.
            "subject_id" | "entity_id" | "one_id" | "fold_id" => json!(uuid(1)),
            "other_id" | "keep_id" => json!(uuid(2)),
            "fact_id" => json!(uuid(3)),
            "document_id" => json!(uuid(4)),
            "source_id" => json!(uuid(5)),
            "relation_id" => json!(uuid(6)),
            "type_id" | "parent_id" => json!(uuid(7)),
            name if name.starts_with("is_") || name.ends_with("_approximate") => json!(false),
            "ended_unknown" | "functional" | "inverse_functional" | "transitive" | "symmetric"
            | "asymmetric" | "irreflexive" => json!(false),
            "id" | "event_id" | "chunk_id" | "qualifier_type_id" => json!(uuid(8)),
            "rec_to" => json!(OPEN),
            "recorded_at" | "rec_from" | "created_at" | "starts_at" | "ends_at" | "n" | "run"
            | "version" | "holds_from" | "holds_to" | "char_start" | "char_end" | "asked_at"
            | "gone" | "updated_at" | "deleted" => json!(1),
            "rank" if table.name() == "fact_hold" => json!(1),
            "confidence" => json!("1"),
            "predicate_id" | "object_id" if table.name() == "fact_hold" => json!(uuid(0)),
            "payload_hash" => json!(""),
            name if name.ends_with("_at") || name.ends_with("_id") => Value::Null,
            "held_version" | "inverse_of" | "sub_property_of" | "supersedes" => Value::Null,
            "external_key" => said["id"].clone(),
            _ => json!("x"),
        })
    });
    Value::Array(columns.collect())
}

/// What breaks each rule of facts and sources: its sentence, and a row that is wrong beside those
/// that are right.
fn wrong() -> Vec<(&'static str, &'static str, Value)> {
    let nobody = uuid(99);
    let later = i64::MAX - 1;
    vec![
        (
            "documents of a source that is not there",
            "source_item",
            json!({ "document_id": uuid(4), "source_id": nobody }),
        ),
        (
            "things of a source without their document",
            "source_item",
            json!({ "document_id": nobody }),
        ),
        (
            "pages of a source that is not there",
            "source_page",
            json!({ "source_id": nobody }),
        ),
        (
            "facts about an entity that is not there",
            "fact",
            json!({ "subject_id": nobody, "invalidated_at": 1 }),
        ),
        (
            "facts that lead to an entity that is not there",
            "fact",
            json!({ "object_id": nobody, "invalidated_at": 1 }),
        ),
        (
            "facts of a relation that is not there",
            "fact",
            json!({ "predicate_id": nobody, "invalidated_at": 1 }),
        ),
        (
            "facts that correct one that is not there",
            "fact",
            json!({ "supersedes": nobody, "invalidated_at": 1 }),
        ),
        (
            "facts held no longer before they were held, or dated after the base's last write",
            "fact",
            json!({ "recorded_at": later, "invalidated_at": later }),
        ),
        (
            "facts that are held and whose time is not read out",
            "fact",
            json!({}),
        ),
        (
            "times read out of a fact that is not held",
            "fact_hold",
            json!({ "fact_id": nobody }),
        ),
        (
            "times of a fact that are read out twice at one moment",
            "fact_hold",
            json!({ "rec_from": 0, "rec_to": 5 }),
        ),
        (
            "evidence without its fact",
            "fact_evidence",
            json!({ "fact_id": nobody }),
        ),
        (
            "evidence from a document that is not there",
            "fact_evidence",
            json!({ "document_id": nobody }),
        ),
        (
            "quotations from a purged document",
            "document",
            json!({ "id": uuid(10), "purged_at": 1, "state": "failed" }),
        ),
        (
            "qualifiers without their fact",
            "fact_qualifier",
            json!({ "fact_id": nobody }),
        ),
        (
            "kinds of an entity that is not there",
            "entity_kind",
            json!({ "entity_id": nobody }),
        ),
        (
            "entities of a type that is not there",
            "entity_kind",
            json!({ "entity_id": uuid(2), "type_id": nobody }),
        ),
        (
            "entities that are of two types at one moment",
            "entity_kind",
            json!({ "rec_from": 0, "rec_to": 5 }),
        ),
        (
            "merges of an entity that is not there",
            "same_as",
            json!({ "fold_id": uuid(2), "keep_id": nobody, "rec_to": 2 }),
        ),
        (
            "entities merged into two at one moment",
            "same_as",
            json!({ "rec_from": 0, "rec_to": 5 }),
        ),
        (
            "merged entities that are not known by the one that stays",
            "same_as",
            json!({ "fold_id": uuid(11), "keep_id": uuid(2) }),
        ),
        (
            "entities known by one that is merged into another itself",
            "identity",
            json!({ "entity_id": uuid(12), "canonical_id": uuid(1) }),
        ),
        (
            "entities said to differ from one that is not there",
            "different_from",
            json!({ "one_id": nobody }),
        ),
        (
            "events dated after the base's last write",
            "event",
            json!({ "id": uuid(13), "recorded_at": later }),
        ),
        (
            "contents of an event that is not there",
            "event_payload",
            json!({ "event_id": nobody }),
        ),
        (
            "types below a type that is not there",
            "entity_type_parent",
            json!({ "parent_id": nobody }),
        ),
        (
            "links of a relation that is not there",
            "relation_type_link",
            json!({ "relation_id": nobody }),
        ),
    ]
}

/// Rows that are as they should be, for the wrong ones to stand beside.
fn right() -> Vec<(&'static str, Value)> {
    vec![
        ("entity", json!({ "id": uuid(1) })),
        ("entity", json!({ "id": uuid(2) })),
        ("entity", json!({ "id": uuid(11) })),
        ("fact", json!({ "id": uuid(3) })),
        ("fact_hold", json!({})),
        ("document", json!({ "id": uuid(4), "state": "failed" })),
        ("source", json!({ "id": uuid(5) })),
        ("source_item", json!({ "document_id": uuid(14) })),
        ("document", json!({ "id": uuid(14), "state": "failed" })),
        ("relation_type", json!({ "id": uuid(6) })),
        ("entity_type", json!({ "id": uuid(7) })),
        ("entity_kind", json!({})),
        ("same_as", json!({})),
        ("identity", json!({ "canonical_id": uuid(2) })),
        ("fact_evidence", json!({ "n": 7 })),
        (
            "fact_evidence",
            json!({ "document_id": uuid(10), "n": 8, "quote": "lost words" }),
        ),
    ]
}

async fn load(world: &World, rows: &[(&str, Value)]) {
    let mut tx = world.db.write_directory().await.unwrap();
    for (name, said) in rows {
        let table = rows::tables()
            .iter()
            .find(|table| table.name() == *name)
            .unwrap();
        let line = row(world, table, said).to_string();
        rows::load(&mut tx, table, &line)
            .await
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    tx.commit().await.unwrap();
}

on_both_engines! {
    async fn rows_without_what_they_belong_to_are_named(world: &World) {
        load(world, &right()).await;
        let of_facts_and_sources: Vec<&str> = wrong().iter().map(|(says, ..)| *says).collect();
        let broken = async || {
            let mut tx = world.db.read(world.tenant).await.unwrap();
            let mut broken = Vec::new();
            for rule in faults::rules().filter(|rule| of_facts_and_sources.contains(&rule.says)) {
                broken.extend(faults::broken(&mut tx, world.kb, rule).await.unwrap());
            }
            broken
        };
        // The purged document is among the wrong rows: without it, its quotation is of no document.
        let before: Vec<&str> = broken().await.iter().map(|broken| broken.says).collect();
        assert_eq!(before, ["evidence from a document that is not there"]);

        let rows = wrong();
        for (n, (_, name, said)) in rows.iter().enumerate() {
            let mut said = said.clone();
            if *name == "fact" {
                said["id"] = json!(uuid(1_000 + n as u128));
            }
            if *name == "fact_evidence" {
                said["n"] = json!(100 + n);
            }
            load(world, &[(*name, said)]).await;
        }

        let found = broken().await;
        let mut says: Vec<&str> = found.iter().map(|broken| broken.says).collect();
        let mut expected = of_facts_and_sources.clone();
        says.sort_unstable();
        expected.sort_unstable();
        assert_eq!(says, expected);
        let all = format!("{found:?}");
        assert!(all.contains(&format!("fact {}", uuid(99))), "{all}");
        assert!(!all.contains("lost words"), "no stored text is shown");
    }

    async fn there_is_a_test_for_each_rule_of_facts_and_sources(_world: &World) {
        let tested: Vec<&str> = wrong().iter().map(|(says, ..)| *says).collect();
        let library = 14;
        let untested: Vec<&str> = faults::rules()
            .skip(library)
            .map(|rule| rule.says)
            .filter(|says| !tested.contains(says))
            .collect();
        assert_eq!(untested, [] as [&str; 0]);
    }
}
