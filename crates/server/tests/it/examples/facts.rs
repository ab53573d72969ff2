//! Two people, a firm, and who leads it.

use serde_json::{Value, json};

use super::Story;

fn id<'a>(answer: &'a Value, field: &str) -> &'a str {
    answer[field].as_str().unwrap()
}

pub(super) async fn facts(story: &mut Story, kb: &str) {
    let base = format!("/api/v1/kbs/{kb}");
    let words = words(story, &base).await;
    let (ann, anna, acme, beta) = things(story, &base).await;
    let claims = format!("{base}/facts");

    let claim =
        json!({ "subject_id": ann, "predicate": "leads", "object_id": acme, "valid_from": "2019" });
    let leads = story.tell("assert_fact", &claims, claim).await;
    let leads = format!("{claims}/{}", id(&leads, "fact_id"));
    let correction = json!({ "valid_from": "2019-05" });
    let corrected = story
        .tell("correct_fact", &format!("{leads}/correct"), correction)
        .await;
    let corrected = format!("{claims}/{}", id(&corrected, "fact_id"));
    let end = json!({ "valid_to": "2024" });
    let ended = story
        .tell("end_fact", &format!("{corrected}/end"), end)
        .await;
    let claim =
        json!({ "subject_id": beta, "predicate": "owns", "object_id": acme, "valid_from": "2022" });
    story.tell("assert_fact", &claims, claim).await;

    for (name, path) in [
        ("find_entities", "entities?name=ann".to_owned()),
        (
            "entity_facts",
            "entity-facts?entity=Acme&at=2023".to_owned(),
        ),
        ("neighbors", "neighbors?entity=Acme".to_owned()),
        ("timeline", "timeline?entity=Acme".to_owned()),
        ("paths_between", "paths?from=Ann%20Lee&to=Beta".to_owned()),
        ("changes", "changes?since=2026".to_owned()),
    ] {
        story
            .tell(name, &format!("{base}/{path}"), Value::Null)
            .await;
    }

    let merge = json!({ "keep_id": ann, "merge_id": anna, "reason": "one person, two spellings" });
    let merged = story
        .tell("merge_entities", &format!("{base}/entities/merge"), merge)
        .await;
    let revert = format!("{base}/merges/{}/revert", id(&merged, "merge_id"));
    story
        .tell(
            "unmerge_entities",
            &revert,
            json!({ "reason": "mother and daughter" }),
        )
        .await;
    let pair = json!({ "entity_id": ann, "other_id": anna });
    let different = format!("{base}/entities/different");
    story
        .tell("different_entities", &different, pair.clone())
        .await;
    story
        .tell("undo_different", &format!("{different}/revert"), pair)
        .await;
    let gone = format!("{claims}/{}/retract", id(&ended, "fact_id"));
    story
        .tell("retract_fact", &gone, json!({ "reason": "another Acme" }))
        .await;
    unused_words(story, &words).await;
}

async fn words(story: &mut Story, base: &str) -> String {
    let ontology = format!("{base}/ontology");
    let types = format!("{ontology}/entity-types");
    story
        .tell(
            "add_entity_type",
            &types,
            json!({ "label": "Company", "colour": "#4a7fb5" }),
        )
        .await;
    let relations = format!("{ontology}/relation-types");
    let owns = json!({ "label": "owns", "ranges": ["company"] });
    story.tell("add_relation_type", &relations, owns).await;
    let leads = json!({ "label": "leads", "ranges": ["company"] });
    story.tell("add_relation_type", &relations, leads).await;
    let change = json!({ "inverse_functional": true });
    story
        .tell(
            "change_relation_type",
            &format!("{relations}/leads"),
            change,
        )
        .await;
    story.tell("show_ontology", &ontology, Value::Null).await;
    imports(story, &ontology).await;
    ontology
}

/// A file of words and the packs, which are looked at first.
async fn imports(story: &mut Story, ontology: &str) {
    story
        .tell("list_ontology_packs", "/api/v1/ontology/packs", Value::Null)
        .await;
    let file = "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n\
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n\
        @prefix ex: <http://example.org/> .\n\
        ex:Harbour a owl:Class ; rdfs:label 'Harbour'@en .\n\
        ex:calls_at a owl:ObjectProperty ; rdfs:range ex:Harbour .\n";
    let imports = format!("{ontology}/imports");
    let shown = story
        .send_file(
            "preview_ontology_import",
            &format!("{imports}/preview?filename=harbours.ttl"),
            file,
        )
        .await;
    let digest = id(&shown, "digest");
    story
        .send_file(
            "apply_ontology_import",
            &format!("{imports}?filename=harbours.ttl&digest={digest}"),
            file,
        )
        .await;
    story
        .tell(
            "update_entity_type",
            &format!("{ontology}/entity-types/harbour"),
            json!({ "label": "Port", "disjoint_with": ["company"] }),
        )
        .await;
}

async fn things(story: &mut Story, base: &str) -> (String, String, String, String) {
    let entities = format!("{base}/entities");
    let mut ids = Vec::new();
    for thing in [
        json!({ "name": "Ann Lee" }),
        json!({ "name": "Anna Lee" }),
        json!({ "name": "Acme", "entity_type": "company" }),
        json!({ "name": "Beta" }),
    ] {
        let added = story.tell("add_entity", &entities, thing).await;
        ids.push(id(&added, "id").to_owned());
    }
    let beta = format!("{entities}/{}/type", ids[3]);
    story
        .tell(
            "set_entity_type",
            &beta,
            json!({ "entity_type": "company" }),
        )
        .await;
    let mut ids = ids.into_iter();
    let mut next = || ids.next().unwrap();
    (next(), next(), next(), next())
}

async fn unused_words(story: &mut Story, ontology: &str) {
    let types = format!("{ontology}/entity-types");
    story
        .tell("add_entity_type", &types, json!({ "label": "Ship" }))
        .await;
    story
        .tell("delete_entity_type", &format!("{types}/ship"), Value::Null)
        .await;
    let relations = format!("{ontology}/relation-types");
    story
        .tell("add_relation_type", &relations, json!({ "label": "sails" }))
        .await;
    story
        .tell(
            "delete_relation_type",
            &format!("{relations}/sails"),
            Value::Null,
        )
        .await;
}
