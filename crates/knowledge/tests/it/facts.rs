//! Facts as their callers see them: on two clocks, with identity that can be undone.

use serde_json::{Value, json};

use crate::app::{App, on_both_engines};

impl App {
    async fn wrote(&self, name: &str, arguments: Value) -> Value {
        let answer = self.admin().call(name, arguments).await.unwrap();
        self.tick();
        answer.json
    }

    async fn refused(&self, name: &str, arguments: Value) -> String {
        self.tick();
        self.admin()
            .call(name, arguments)
            .await
            .unwrap_err()
            .message
    }

    async fn thing(&self, name: &str) -> String {
        id(
            &self.wrote("add_entity", json!({ "name": name })).await,
            "id",
        )
    }

    async fn relation(&self, label: &str, more: Value) -> Value {
        let mut arguments = json!({ "label": label });
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        self.wrote("add_relation_type", arguments).await
    }

    async fn fact(&self, subject: &str, predicate: &str, object: &str, dates: Value) -> String {
        let mut arguments =
            json!({ "subject_id": subject, "predicate": predicate, "object_id": object });
        arguments
            .as_object_mut()
            .unwrap()
            .extend(dates.as_object().unwrap().clone());
        id(&self.wrote("assert_fact", arguments).await, "fact_id")
    }

    async fn asked(&self, name: &str, arguments: Value) -> Value {
        self.viewer().call(name, arguments).await.unwrap().json
    }

    /// The names at the other ends of a thing's facts.
    async fn others(&self, thing: &str, more: Value) -> Vec<String> {
        let mut arguments = json!({ "entity_id": thing });
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let answer = self.asked("entity_facts", arguments).await;
        names(&answer["facts"], "other_name")
    }
}

fn id(answer: &Value, field: &str) -> String {
    answer[field].as_str().unwrap().to_owned()
}

fn names(list: &Value, field: &str) -> Vec<String> {
    let names = list.as_array().unwrap().iter();
    names
        .map(|one| one[field].as_str().unwrap_or_default().to_owned())
        .collect()
}

on_both_engines! {
    /// A new fact retired unrelated facts about the same entity (graphiti 1728).
    async fn a_contradiction_is_named_and_retires_nothing(app: &App) {
        app.relation("leads", json!({ "functional": true })).await;
        app.relation("lives in", json!({})).await;
        let (ann, acme, beta) = (app.thing("Ann").await, app.thing("Acme").await, app.thing("Beta").await);
        let first = app.fact(&ann, "leads", &acme, json!({ "valid_from": "2020", "valid_to": "2023" })).await;
        app.fact(&ann, "lives_in", &beta, json!({ "valid_from": "2020" })).await;

        let second = app.wrote("assert_fact", json!({
            "subject_id": ann, "predicate": "leads", "object_id": beta, "valid_from": "2021" })).await;

        assert_eq!(second["contradicts"], json!([first]));
        let held = app.asked("entity_facts", json!({ "entity_id": ann })).await;
        assert_eq!(held["total_facts"], 3);
        assert_eq!(app.others(&ann, json!({ "at": "2022", "predicate": "leads" })).await.len(), 2);
    }

    /// The same text in a later, disjoint period collapsed into the old fact (graphiti 1865).
    async fn two_terms_of_office_are_two_facts_and_the_same_term_twice_is_one(app: &App) {
        app.relation("leads", json!({})).await;
        let (ann, acme) = (app.thing("Ann").await, app.thing("Acme").await);
        let first = app.fact(&ann, "leads", &acme, json!({ "valid_from": "2010", "valid_to": "2012" })).await;
        let second = app.fact(&ann, "leads", &acme, json!({ "valid_from": "2018", "valid_to": "2020" })).await;

        let again = app.wrote("assert_fact", json!({
            "subject_id": ann, "predicate": "leads", "object_id": acme, "valid_from": "2010", "valid_to": "2012" })).await;

        assert_ne!(first, second);
        assert_eq!((again["fact_id"].as_str(), &again["was_held"]), (Some(first.as_str()), &json!(true)));
        assert_eq!(app.others(&ann, json!({ "at": "2015" })).await, [] as [&str; 0]);
        assert_eq!(app.others(&ann, json!({ "at": "2019" })).await, ["Acme"]);
    }

    /// Default search returned invalidated edges and could not separate the axes (graphiti 1664);
    /// an as-of read returned both the old fact and its correction (memanto 1695).
    async fn a_correction_is_read_from_its_moment_on_and_the_former_before_it(app: &App) {
        app.relation("leads", json!({})).await;
        let (ann, acme, beta) = (app.thing("Ann").await, app.thing("Acme").await, app.thing("Beta").await);
        let first = app.fact(&ann, "leads", &acme, json!({ "valid_from": "2020" })).await;
        let corrected = app.wrote("correct_fact", json!({ "fact_id": first, "object_id": beta })).await;
        let at = id(&corrected, "recorded_at");

        assert_eq!(app.others(&ann, json!({})).await, ["Beta"]);
        assert_eq!(app.others(&ann, json!({ "as_of": at })).await, ["Beta"]);
        assert_eq!(app.others(&ann, json!({ "before": at })).await, ["Acme"]);
        let facts = app.asked("entity_facts", json!({ "entity_id": ann })).await;
        assert_eq!(facts["facts"][0]["supersedes"].as_str(), Some(first.as_str()));
        assert_eq!(facts["facts"][0]["valid_from"], "2020");
    }

    /// "What was my previous number" was unanswerable (mentedb 338).
    async fn what_was_replaced_can_be_followed(app: &App) {
        app.relation("phone", json!({ "kind": "attribute" })).await;
        let ann = app.thing("Ann").await;
        let phone = |value: &str| json!({ "subject_id": ann, "predicate": "phone", "value": value });
        let first = id(&app.wrote("assert_fact", phone("555 100")).await, "fact_id");
        app.wrote("correct_fact", json!({ "fact_id": first, "value": "555 200" })).await;

        let changes = app.asked("changes", json!({ "since": "2026", "kinds": ["asserted", "corrected"] })).await;
        let values: Vec<&Value> = changes["changes"].as_array().unwrap().iter()
            .filter(|change| change["predicate_label"] == "phone")
            .map(|change| &change["object_value"]["value"]).collect();
        assert_eq!(values, ["555 200", "555 100"]);
    }

    /// A list that only grows surfaced a stale employer (mem0 4956).
    async fn the_current_employer_is_the_last_one_and_history_stays_readable(app: &App) {
        app.relation("works at", json!({ "functional": true })).await;
        let ann = app.thing("Ann").await;
        for (employer, year) in [("Acme", "2015"), ("Beta", "2019"), ("Core", "2024-06")] {
            let employer = app.thing(employer).await;
            app.fact(&ann, "works_at", &employer, json!({ "valid_from": year })).await;
        }

        assert_eq!(app.others(&ann, json!({ "at": "2026" })).await, ["Core"]);
        assert_eq!(app.others(&ann, json!({ "at": "2017-05" })).await, ["Acme"]);
        assert_eq!(app.others(&ann, json!({ "at": "2024" })).await, ["Core", "Beta"]);
        let line = app.asked("timeline", json!({ "entity": "Ann" })).await;
        assert_eq!(names(&line["facts"], "other_name"), ["Acme", "Beta", "Core"]);
        assert_eq!(names(&line["facts"], "holds_to"), ["2019-01-01T00:00:00Z", "2024-06-01T00:00:00Z", ""]);
    }

    /// A month or a year was stored as its first day (pyorcidator 50); far dates overflowed
    /// (xtdb 3304).
    async fn a_date_is_given_back_as_it_was_stated_however_far(app: &App) {
        app.relation("ruled", json!({})).await;
        let rome = app.thing("Rome").await;
        for (name, from, to) in [("Julian", "0360", "0363-06-26"), ("Caesar", "-0048", "-0043-03"), ("Nobody", "-9999", "9999-12-31")] {
            let ruler = app.thing(name).await;
            app.fact(&ruler, "ruled", &rome, json!({ "valid_from": from, "valid_to": to })).await;
        }

        let line = app.asked("timeline", json!({ "entity": rome })).await;
        assert_eq!(names(&line["facts"], "valid_from"), ["-9999", "-0048", "0360"]);
        assert_eq!(names(&line["facts"], "valid_to"), ["9999-12-31", "-0043-03", "0363-06-26"]);
        assert_eq!(names(&line["facts"], "valid_from_precision"), ["year", "year", "year"]);
        assert_eq!(app.others(&rome, json!({ "at": "0363" })).await, ["Julian", "Nobody"]);
        assert_eq!(app.others(&rome, json!({ "at": "-0043-04" })).await, ["Nobody"]);
    }

    /// Asking for all of one axis dropped the default of the other (xtdb 2258).
    async fn the_two_clocks_are_asked_apart_and_together(app: &App) {
        app.relation("leads", json!({})).await;
        let (ann, acme) = (app.thing("Ann").await, app.thing("Acme").await);
        let fact = app.fact(&ann, "leads", &acme, json!({ "valid_from": "2020", "valid_to": "2021" })).await;
        let during = app.tick().to_string();
        app.tick();
        app.wrote("retract_fact", json!({ "fact_id": fact, "reason": "wrong person" })).await;

        for (asked, held) in [
            (json!({}), 0),
            (json!({ "at": "2020" }), 0),
            (json!({ "as_of": during }), 1),
            (json!({ "as_of": during, "at": "2020" }), 1),
            (json!({ "as_of": during, "at": "2022" }), 0),
            (json!({ "as_of": "2026-01-01", "at": "2020" }), 0),
        ] {
            if asked["as_of"] == "2026-01-01" {
                let unknown = app.viewer().call("entity_facts", json!({ "entity_id": ann, "as_of": "2026-01-01" })).await;
                assert!(unknown.unwrap_err().message.starts_with("Unknown entity"));
                continue;
            }
            assert_eq!(app.others(&ann, asked.clone()).await.len(), held, "{asked}");
        }
    }

    /// Non-Latin names normalised to the empty string and merged or never matched (graphiti 1850).
    async fn names_in_any_script_are_found_and_kept_apart(app: &App) {
        for name in ["东京大学", "京都大学", "Юлия", "أحمد", "Łukasz"] {
            app.thing(name).await;
        }

        for (asked, found) in [("东京", vec!["东京大学"]), ("юлия", vec!["Юлия"]), ("أحمد", vec!["أحمد"]), ("łUKASZ", vec!["Łukasz"])] {
            let hits = app.asked("find_entities", json!({ "name": asked })).await;
            assert_eq!(names(&hits["entities"], "name"), found);
        }
        let hits = app.asked("find_entities", json!({ "name": "大学" })).await;
        assert_eq!(hits["entities"].as_array().unwrap().len(), 2);
    }

    /// A merge had no inverse (neotoma 2004).
    async fn a_merge_is_taken_back_after_later_merges_and_new_facts(app: &App) {
        app.relation("leads", json!({})).await;
        let (ann, anna, anne) = (app.thing("Ann Lee").await, app.thing("Anna Lee").await, app.thing("Anne Lee").await);
        let (acme, beta) = (app.thing("Acme").await, app.thing("Beta").await);
        app.fact(&ann, "leads", &acme, json!({ "valid_from": "2020" })).await;
        app.fact(&anna, "leads", &acme, json!({ "valid_from": "2020" })).await;
        let before = app.tick().to_string();
        app.tick();
        let first = app.wrote("merge_entities", json!({ "keep_id": ann, "merge_id": anna, "reason": "same person" })).await;
        let merged = app.asked("entity_facts", json!({ "entity_id": anna })).await;
        app.wrote("merge_entities", json!({ "keep_id": anne, "merge_id": ann })).await;
        app.fact(&anna, "leads", &beta, json!({ "valid_from": "2021" })).await;

        // One thing, by every id; equal facts are shown once, under the older.
        assert_eq!(merged["entity"]["id"].as_str(), Some(ann.as_str()));
        assert_eq!(merged["total_facts"], 1);
        assert_eq!(merged["facts"][0]["same_as"].as_array().unwrap().len(), 1);
        assert_eq!(app.others(&anne, json!({})).await, ["Beta", "Acme"]);
        assert_eq!(app.others(&acme, json!({ "as_of": before })).await, ["Ann Lee", "Anna Lee"]);

        app.wrote("unmerge_entities", json!({ "merge_id": first["merge_id"] })).await;

        assert_eq!(app.others(&anna, json!({})).await, ["Beta", "Acme"]);
        assert_eq!(app.others(&ann, json!({})).await, ["Acme"]);
        let again = app.refused("unmerge_entities", json!({ "merge_id": first["merge_id"] })).await;
        assert!(again.contains("taken back already"), "{again}");
        let changes = app.asked("changes", json!({ "since": "2026", "kinds": ["merged"] })).await;
        assert_eq!(names(&changes["changes"], "subject_name").len(), 2);
        assert_eq!(names(&changes["changes"], "object_name"), ["Ann Lee", "Anna Lee"]);
    }

    async fn things_said_to_be_different_are_not_merged(app: &App) {
        let (senior, junior) = (app.thing("John Smith").await, app.thing("John Smith").await);
        let pair = json!({ "entity_id": senior, "other_id": junior, "reason": "father and son" });
        app.wrote("different_entities", pair.clone()).await;
        let merge = json!({ "keep_id": senior, "merge_id": junior });

        let refused = app.refused("merge_entities", merge.clone()).await;

        assert!(refused.contains("are different; take that back first"), "{refused}");
        app.wrote("undo_different", pair).await;
        app.wrote("merge_entities", merge).await;
        let hits = app.asked("find_entities", json!({ "name": "John Smith" })).await;
        assert_eq!(hits["entities"].as_array().unwrap().len(), 1);
    }

    async fn a_fact_rests_on_words_that_stand_in_a_passage(app: &App) {
        app.relation("leads", json!({})).await;
        let (ann, acme) = (app.thing("Ann").await, app.thing("Acme").await);
        app.document("memo.md", "# Memo\n\nFrom May, Ann leads Acme. She followed Ben.").await;
        let found = app.asked("search_chunks", json!({ "query": "who leads Acme" })).await;
        let chunk = found["chunks"][0]["chunk_id"].clone();
        let claim = |quote: &str| json!({ "subject_id": ann, "predicate": "leads", "object_id": acme,
            "evidence": [{ "chunk_id": chunk, "quote": quote }] });

        let refused = app.refused("assert_fact", claim("Ann led Acme")).await;
        app.wrote("assert_fact", claim("Ann leads Acme")).await;

        assert!(refused.contains("word for word"), "{refused}");
        let facts = app.asked("entity_facts", json!({ "entity_id": ann })).await;
        assert_eq!(facts["facts"][0]["document_ids"].as_array().unwrap().len(), 1);
        let changes = app.asked("changes", json!({ "since": "2026", "entity_id": ann })).await;
        assert_eq!(changes["changes"][0]["quote"], "Ann leads Acme");
        assert_eq!(changes["changes"][0]["filename"], "memo.md");
    }

    async fn paths_join_two_things_and_hold_together_at_a_date(app: &App) {
        app.relation("leads", json!({})).await;
        app.relation("owns", json!({})).await;
        let (ann, acme, beta, ben) = (app.thing("Ann").await, app.thing("Acme").await, app.thing("Beta").await, app.thing("Ben").await);
        app.fact(&ann, "leads", &acme, json!({ "valid_from": "2020", "valid_to": "2021" })).await;
        app.fact(&beta, "owns", &acme, json!({ "valid_from": "2021" })).await;
        app.fact(&ben, "leads", &beta, json!({ "valid_from": "2023" })).await;

        let any = app.asked("paths_between", json!({ "from": "Ann", "to": "Ben" })).await;
        let then = app.asked("paths_between", json!({ "from": "Ann", "to": "Ben", "at": "2021" })).await;
        let near = app.asked("paths_between", json!({ "from": ann, "to": beta, "at": "2021" })).await;

        let path = &any["paths"][0];
        assert_eq!(names(&path["steps"], "to_name"), ["Acme", "Beta", "Ben"]);
        assert_eq!(path["holds_together"], false);
        assert_eq!(then["paths"], json!([]));
        assert_eq!(near["paths"].as_array().unwrap().len(), 1);
        let nobody = app.viewer().call("paths_between", json!({ "from": "Ann", "to": "Nemo" })).await;
        assert_eq!(nobody.unwrap_err().message, "Unknown entity: Nemo");
        assert_eq!(app.asked("paths_between", json!({ "from": ann, "to": ann })).await["paths"], json!([]));
    }

    async fn making_a_relation_single_valued_lists_what_it_breaks_first(app: &App) {
        app.relation("leads", json!({})).await;
        let (ann, acme, beta) = (app.thing("Ann").await, app.thing("Acme").await, app.thing("Beta").await);
        for firm in [&acme, &beta] {
            app.fact(&ann, "leads", firm, json!({ "valid_from": "2020", "valid_to": "2025" })).await;
        }
        let change = json!({ "relation_type": "leads", "functional": true });

        let refused = app.refused("change_relation_type", change.clone()).await;

        assert!(refused.starts_with("1 contradiction(s)"), "{refused}");
        let words = app.asked("show_ontology", json!({})).await;
        let leads = words["relation_types"].as_array().unwrap().iter().find(|one| one["key"] == "leads").unwrap();
        assert_eq!(leads["functional"], false);
        let mut anyway = change;
        anyway["accept_contradictions"] = json!(true);
        assert_eq!(app.wrote("change_relation_type", anyway).await["contradictions"].as_array().unwrap().len(), 1);
    }

    async fn viewers_read_facts_and_do_not_write_them(app: &App) {
        let refused = app.viewer().call("add_entity", json!({ "name": "Ann" })).await;
        assert_eq!(refused.unwrap_err().code, model::Code::Forbidden);
        let refused = app.editor().call("add_entity_type", json!({ "label": "Company" })).await;
        assert_eq!(refused.unwrap_err().code, model::Code::Forbidden);
    }
}
