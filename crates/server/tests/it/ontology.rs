//! Words that come from files and packs: looked at first, then taken in, as they were shown.

use std::collections::BTreeSet;

use axum::body::Body;
use http::{Method, Request};
use serde_json::{Value, json};

use crate::house::{Answer, House, on_both_engines};
use crate::process;

const FIRMS: &str = "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n\
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n\
    @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n\
    @prefix ex: <http://example.org/> .\n\
    ex:words a owl:Ontology ; owl:imports <http://other.example/more> .\n\
    ex:Agent a owl:Class ; rdfs:label 'Agent'@en .\n\
    ex:Person a owl:Class ; rdfs:subClassOf ex:Agent ; owl:disjointWith ex:Firm .\n\
    ex:Firm a owl:Class ; rdfs:label 'Company'@en, 'Firma'@de ; rdfs:subClassOf ex:Agent, ex:Owner .\n\
    ex:Owner a owl:Class ; rdfs:subClassOf [ a owl:Restriction ; owl:onProperty ex:owns ] .\n\
    ex:leads a owl:ObjectProperty, owl:FunctionalProperty ; rdfs:domain ex:Person ; rdfs:range ex:Firm .\n\
    ex:revenue a owl:DatatypeProperty ; rdfs:domain ex:Firm ; rdfs:range xsd:decimal .\n";

/// The admin of a base of their own.
struct Admin<'a> {
    house: &'a House,
    token: String,
    kb: String,
}

impl<'a> Admin<'a> {
    async fn of(house: &'a House) -> Self {
        let kb = house.base("Words", "restricted").await;
        let token = house.person("ann@example.org", "write").await;
        house.grant(&kb, "ann@example.org", "admin").await;
        Self { house, token, kb }
    }

    async fn send(&self, what: &str, query: &str, file: impl Into<Body>) -> Answer {
        self.house.clock.advance_seconds(1);
        let path = format!("/api/v1/kbs/{}/ontology/imports{what}?{query}", self.kb);
        let request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "text/turtle")
            .body(file.into());
        self.house.send(request.unwrap()).await
    }

    async fn preview(&self, file: &str) -> Value {
        let file = file.to_owned();
        self.send("/preview", "filename=words.ttl", file).await.ok()
    }

    async fn apply(&self, file: &str, digest: &Value, more: &str) -> Answer {
        let digest = digest.as_str().unwrap();
        let query = format!("filename=words.ttl&digest={digest}{more}");
        self.send("", &query, file.to_owned()).await
    }

    async fn import(&self, file: &str) -> Value {
        let digest = self.preview(file).await["digest"].clone();
        self.apply(file, &digest, "").await.ok()
    }

    async fn call(&self, method: Method, path: &str, body: Value) -> Answer {
        self.house.clock.advance_seconds(1);
        let path = format!("/api/v1/kbs/{}{path}", self.kb);
        self.house.call(&self.token, method, &path, body).await
    }

    async fn words(&self) -> Value {
        self.call(Method::GET, "/ontology", Value::Null).await.ok()
    }

    async fn thing(&self, name: &str, kind: Option<&str>) -> String {
        let body = json!({ "name": name, "entity_type": kind });
        let added = self.call(Method::POST, "/entities", body).await.ok();
        added["id"].as_str().unwrap().to_owned()
    }

    async fn fact(&self, subject: &str, predicate: &str, more: Value) -> String {
        let mut body = json!({ "subject_id": subject, "predicate": predicate });
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let added = self.call(Method::POST, "/facts", body).await.ok();
        added["fact_id"].as_str().unwrap().to_owned()
    }
}

fn keys(list: &Value) -> Vec<&str> {
    let list = list.as_array().unwrap().iter();
    list.map(|one| one["key"].as_str().unwrap()).collect()
}

fn find<'v>(list: &'v Value, key: &str) -> &'v Value {
    let mut list = list.as_array().unwrap().iter();
    list.find(|one| one["key"] == key).unwrap()
}

fn message(answer: &Answer, status: u16) -> String {
    assert_eq!(answer.status, status, "{}", answer.json());
    answer.json()["error"].as_str().unwrap().to_owned()
}

#[test]
fn an_import_is_shown_first_then_done_and_a_second_time_changes_nothing() {
    on_both_engines(async |house| {
        let admin = Admin::of(&house).await;

        let shown = admin.preview(FIRMS).await;

        assert_eq!(
            keys(&shown["added"]),
            ["agent", "person", "firm", "owner", "leads", "revenue"]
        );
        let firm = &find(&shown["added"], "firm")["fields"];
        assert_eq!(firm["label"], "Company");
        assert_eq!(firm["parents"], json!(["agent", "owner"]));
        assert_eq!(firm["disjoint_with"], json!(["person"]));
        assert_eq!(firm["iri"], "http://example.org/Firm");
        assert_eq!(
            (&shown["applied"], &shown["changed"]),
            (&json!(false), &json!([]))
        );
        assert_eq!(shown["ontology"], "http://example.org/words");
        let left_out: Vec<&str> = shown["left_out"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["name"].as_str().unwrap())
            .collect();
        assert_eq!(
            left_out,
            ["http://example.org/Owner", "http://other.example/more"]
        );
        assert_eq!(admin.words().await["entity_types"], json!([]));

        let done = admin.apply(FIRMS, &shown["digest"], "").await.ok();
        assert_eq!(
            (&done["applied"], &done["added"]),
            (&json!(true), &shown["added"])
        );
        let words = admin.words().await;
        assert_eq!(
            keys(&words["entity_types"]),
            ["agent", "firm", "owner", "person"]
        );
        let leads = find(&words["relation_types"], "leads");
        assert_eq!(
            (&leads["functional"], &leads["domains"], &leads["ranges"]),
            (&json!(true), &json!(["person"]), &json!(["firm"]))
        );
        assert_eq!(
            find(&words["relation_types"], "revenue")["datatype"],
            "number"
        );

        let again = admin.preview(FIRMS).await;
        assert_eq!(
            (&again["added"], &again["changed"], &again["unchanged"]),
            (&json!([]), &json!([]), &json!(6))
        );
        let again = admin.apply(FIRMS, &again["digest"], "").await.ok();
        assert_eq!(again["unchanged"], 6);
        assert_eq!(admin.words().await, words);
    });
}

#[test]
fn what_is_done_is_what_was_shown_or_nothing() {
    on_both_engines(async |house| {
        let admin = Admin::of(&house).await;
        let shown = admin.preview(FIRMS).await;
        let digest = shown["digest"].as_str().unwrap();

        let without = admin.send("", "filename=words.ttl", FIRMS).await;
        assert_eq!(message(&without, 400), "`digest` is missing");
        let other = format!("{FIRMS}ex:Place a owl:Class .\n");
        let refused = admin.apply(&other, &shown["digest"], "").await;
        assert!(message(&refused, 409).starts_with("`digest` is of another file"));

        // Another person changes the words meanwhile.
        let ship = json!({ "label": "Ship" });
        admin
            .call(Method::POST, "/ontology/entity-types", ship)
            .await
            .ok();
        let refused = admin.apply(FIRMS, &shown["digest"], "").await;
        assert!(message(&refused, 409).starts_with("`digest` is of another file"));
        assert_eq!(keys(&admin.words().await["entity_types"]), ["ship"]);

        let fresh = admin.preview(FIRMS).await;
        assert_ne!(fresh["digest"], digest);
        admin.apply(FIRMS, &fresh["digest"], "").await.ok();
        assert_eq!(
            admin.words().await["entity_types"]
                .as_array()
                .unwrap()
                .len(),
            5
        );
    });
}

#[test]
fn stored_facts_that_an_import_breaks_are_listed_and_have_to_be_accepted() {
    on_both_engines(async |house| {
        let admin = Admin::of(&house).await;
        for (label, kind) in [("leads", "relation"), ("revenue", "attribute")] {
            let relation = json!({ "label": label, "kind": kind });
            admin
                .call(Method::POST, "/ontology/relation-types", relation)
                .await
                .ok();
        }
        let (ann, acme, beta) = (
            admin.thing("Ann", None).await,
            admin.thing("Acme", None).await,
            admin.thing("Beta", None).await,
        );
        let dates = json!({ "valid_from": "2020", "valid_to": "2024" });
        let mut facts = Vec::new();
        for firm in [&acme, &beta] {
            let mut more = dates.clone();
            more["object_id"] = json!(firm);
            facts.push(admin.fact(&ann, "leads", more).await);
        }
        let much = admin
            .fact(&acme, "revenue", json!({ "value": "much" }))
            .await;

        let shown = admin.preview(FIRMS).await;

        let found = shown["contradictions"].as_array().unwrap();
        assert_eq!(found.len(), 2, "{found:#?}");
        assert_eq!(
            found[0],
            json!({ "rule": "functional", "word": "leads", "facts": facts, "entities": [] })
        );
        assert_eq!(
            found[1],
            json!({ "rule": "datatype", "word": "revenue", "facts": [much], "entities": [] })
        );
        let leads = find(&shown["changed"], "leads");
        let changes = leads["changes"].as_array().unwrap();
        let fields: Vec<&str> = changes
            .iter()
            .map(|one| one["field"].as_str().unwrap())
            .collect();
        assert_eq!(fields, ["iri", "functional", "domains", "ranges"]);

        let refused = admin.apply(FIRMS, &shown["digest"], "").await;
        assert!(message(&refused, 409).starts_with("2 contradiction(s)"));
        assert_eq!(
            refused.json()["details"]["contradictions"],
            shown["contradictions"]
        );
        assert_eq!(
            find(&admin.words().await["relation_types"], "leads")["functional"],
            false
        );

        // A fact that is retracted meanwhile makes it another import.
        let retract = format!("/facts/{much}/retract");
        admin.call(Method::POST, &retract, json!({})).await.ok();
        let accept = "&accept_contradictions=true";
        assert_eq!(
            admin.apply(FIRMS, &shown["digest"], accept).await.status,
            409
        );
        let shown = admin.preview(FIRMS).await;
        let done = admin.apply(FIRMS, &shown["digest"], accept).await.ok();
        assert_eq!(done["contradictions"].as_array().unwrap().len(), 1);
        assert_eq!(
            find(&admin.words().await["relation_types"], "leads")["functional"],
            true
        );
        // What contradicted the words before is no news.
        assert_eq!(admin.preview(FIRMS).await["contradictions"], json!([]));
    });
}

#[test]
fn files_that_cannot_be_read_are_refused_in_a_sentence_and_the_next_one_is_read() {
    on_both_engines(async |house| {
        let admin = Admin::of(&house).await;
        let bomb = "<!DOCTYPE r [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;\">]>\
             <r xmlns=\"http://example.org/\">&b;</r>";
        let many: String = (0..100_000)
            .map(|n| {
                format!("<http://example.org/C{n}> a <http://www.w3.org/2002/07/owl#Class> .\n")
            })
            .collect();
        for (file, told) in [
            ("ex:A a ex:B .", "the file is no well-formed Turtle"),
            (
                "<#A> a <http://www.w3.org/2002/07/owl#Class> .",
                "the file has relative IRIs",
            ),
            ("{}", "the file is JSON; only Turtle and RDF/XML are read"),
            (
                bomb,
                "the file declares the entity `b`, which is made of other entities",
            ),
            (&many, "the file has more than 10000 words"),
        ] {
            let refused = admin.send("/preview", "", file.to_owned()).await;
            let sentence = message(&refused, 422);
            assert!(sentence.starts_with(told), "{sentence}");
        }
        for (query, file, told) in [
            ("", "", "the file `ontology` is empty"),
            ("pack=schema", "x", "give a file or `pack`, not both"),
            (
                "pack=nothing",
                "",
                "there is no pack `nothing`; there are `schema`, `prov`, `foaf-org`",
            ),
        ] {
            let refused = admin.send("/preview", query, file).await;
            assert!(message(&refused, 400).starts_with(told));
        }
        let based = admin
            .send(
                "/preview",
                "base_iri=http://example.org/w",
                "<#Firm> a <http://www.w3.org/2002/07/owl#Class> .",
            )
            .await
            .ok();
        assert_eq!(
            based["added"][0]["fields"]["iri"],
            "http://example.org/w#Firm"
        );
    });
}

#[test]
fn a_base_begins_with_the_words_of_packs_or_takes_them_later_the_same_way() {
    on_both_engines(async |house| {
        let admin = Admin::of(&house).await;
        let listed = house.get(&admin.token, "/api/v1/ontology/packs").await.ok();
        let names: Vec<&str> = listed["packs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|pack| pack["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["schema", "prov", "foaf-org"]);

        let body = json!({ "name": "Begun", "packs": ["schema", "prov"] });
        let begun = house.post(&admin.token, "/api/v1/kbs", body).await.ok();
        let begun = Admin {
            kb: begun["id"].as_str().unwrap().to_owned(),
            token: admin.token.clone(),
            house: &house,
        };
        let words = begun.words().await;
        let person = find(&words["entity_types"], "person");
        assert_eq!(person["iri"], "https://schema.org/Person");
        assert_eq!(person["parents"], json!(["agent"]));
        assert_eq!(
            find(&words["relation_types"], "was_derived_from")["temporal"],
            "eternal"
        );

        for pack in ["schema", "prov"] {
            let query = format!("pack={pack}");
            let shown = admin.send("/preview", &query, "").await.ok();
            let query = format!("{query}&digest={}", shown["digest"].as_str().unwrap());
            admin.send("", &query, "").await.ok();
        }
        assert_eq!(without_ids(&admin.words().await), without_ids(&words));
        // And nothing of it is left to do in the other base.
        let shown = begun.send("/preview", "pack=schema", "").await.ok();
        assert_eq!(
            (&shown["added"], &shown["changed"]),
            (&json!([]), &json!([]))
        );

        let body = json!({ "name": "Not begun", "packs": ["nothing"] });
        let refused = house.post(&admin.token, "/api/v1/kbs", body).await;
        assert!(message(&refused, 400).starts_with("there is no pack `nothing`"));
        let bases = house.get(&admin.token, "/api/v1/kbs").await.ok();
        assert!(!bases.to_string().contains("Not begun"));
    });
}

fn without_ids(words: &Value) -> Value {
    let mut words = words.clone();
    for list in ["entity_types", "relation_types"] {
        for word in words[list].as_array_mut().unwrap() {
            word.as_object_mut().unwrap().remove("id");
            // Told by their ids, which differ from base to base.
            for field in ["parents", "disjoint_with", "domains", "ranges"] {
                if let Some(list) = word[field].as_array_mut() {
                    list.sort_by_key(|key| key.as_str().map(str::to_owned));
                }
            }
        }
    }
    words
}

/// What a base with these packs has, taken in in this order, without a house.
fn taken(order: &[&str]) -> (BTreeSet<String>, Vec<String>) {
    let packs = server::packs::packs().unwrap();
    let (mut types, mut relations) = (Vec::new(), Vec::new());
    let mut left_out = Vec::new();
    let mut count = 0;
    for name in order {
        let pack = packs.get(name).unwrap();
        let mut fresh = || {
            count += 1;
            uuid::Uuid::from_u128(count)
        };
        let words = (&*types, &*relations);
        let import = model::ontology::import::plan(
            words,
            &pack.declared,
            &mut fresh,
            model::RecordTime::from_micros(0),
        );
        left_out.extend(
            import
                .left_out
                .iter()
                .map(|one| format!("{}: {}", one.name, one.reason)),
        );
        import.take_into(&mut types, &mut relations);
    }
    let keys = types
        .iter()
        .map(|one: &model::ontology::EntityType| one.key.clone());
    let all = keys.chain(
        relations
            .iter()
            .map(|one: &model::ontology::RelationType| one.key.clone()),
    );
    (all.collect(), left_out)
}

#[test]
fn packs_fit_together_in_any_order_and_say_how_each_relation_stands_in_time() {
    for order in [
        ["schema", "prov", "foaf-org"],
        ["schema", "foaf-org", "prov"],
        ["prov", "schema", "foaf-org"],
        ["prov", "foaf-org", "schema"],
        ["foaf-org", "schema", "prov"],
        ["foaf-org", "prov", "schema"],
    ] {
        for some in 1..=3 {
            let (words, left_out) = taken(&order[..some]);
            assert!(30 < words.len());
            let odd: Vec<&String> = left_out
                .iter()
                .filter(|told| !told.contains("said to be the same as"))
                .collect();
            assert!(odd.is_empty(), "{order:?} {odd:#?}");
        }
    }
    for pack in server::packs::packs().unwrap().iter() {
        assert!(
            pack.declared.left_out.is_empty(),
            "{}: {:#?}",
            pack.name,
            pack.declared.left_out
        );
        for property in &pack.declared.properties {
            assert!(property.temporality.is_some(), "{}", property.iri);
            assert!(
                property.label.is_some() && property.description.is_some(),
                "{}",
                property.iri
            );
        }
        for class in &pack.declared.classes {
            assert!(
                class.label.is_some() && class.description.is_some(),
                "{}",
                class.iri
            );
        }
    }
}

#[test]
fn a_kind_is_changed_and_what_that_breaks_is_listed_first() {
    on_both_engines(async |house| {
        let admin = Admin::of(&house).await;
        admin.import(FIRMS).await;
        let (ann, acme) = (
            admin.thing("Ann", Some("person")).await,
            admin.thing("Acme", Some("firm")).await,
        );
        let led = json!({ "object_id": acme, "valid_from": "2020" });
        admin.fact(&ann, "leads", led).await;
        let club = json!({ "label": "Club", "parents": ["firm"] });
        admin
            .call(Method::POST, "/ontology/entity-types", club)
            .await
            .ok();
        let chess = admin.thing("Chess", Some("club")).await;
        let revenue = admin.fact(&chess, "revenue", json!({ "value": 7 })).await;
        let change = async |key: &str, body: Value| {
            let path = format!("/ontology/entity-types/{key}");
            admin.call(Method::PATCH, &path, body).await
        };

        let renamed = change(
            "firm",
            json!({ "label": "Business", "colour": "#112233", "primary_parent": "owner" }),
        )
        .await
        .ok();
        assert_eq!(
            (&renamed["label"], &renamed["key"]),
            (&json!("Business"), &json!("firm"))
        );
        assert_eq!(
            (&renamed["parents"], &renamed["contradictions"]),
            (&json!(["owner", "agent"]), &json!([]))
        );
        assert_eq!(
            find(&admin.words().await["entity_types"], "firm")["parents"],
            json!(["owner", "agent"])
        );

        for (key, body, told) in [
            (
                "agent",
                json!({ "parents": ["club"] }),
                "`agent` cannot be a kind of `club`, which is a kind of `agent`",
            ),
            (
                "agent",
                json!({ "parents": ["agent"] }),
                "`agent` cannot be a kind of `agent`",
            ),
            (
                "club",
                json!({ "parents": ["firm", "person"] }),
                "nothing could be of `club`",
            ),
            (
                "firm",
                json!({ "disjoint_with": ["agent"] }),
                "nothing could be of `",
            ),
            (
                "firm",
                json!({ "primary_parent": "person" }),
                "`primary_parent` must be one of its parents",
            ),
        ] {
            let refused = change(key, body).await;
            let sentence = message(&refused, 400);
            assert!(sentence.starts_with(told), "{sentence}");
        }

        // A club is no firm any more, and had a revenue.
        let refused = change("club", json!({ "parents": ["agent"] })).await;
        assert!(message(&refused, 409).starts_with("1 contradiction(s)"));
        let found = &refused.json()["details"]["contradictions"][0];
        assert_eq!(
            found,
            &json!({ "rule": "domain", "word": "revenue", "facts": [revenue], "entities": [] })
        );
        assert_eq!(
            find(&admin.words().await["entity_types"], "club")["parents"],
            json!(["firm"])
        );
        let done = change(
            "club",
            json!({ "parents": ["agent"], "accept_contradictions": true }),
        )
        .await
        .ok();
        assert_eq!(done["contradictions"][0]["rule"], "domain");
        // Once accepted it is no news.
        change("club", json!({ "label": "Society" })).await.ok();

        // Two things are one, and then of kinds that nothing is both of.
        let other = admin.thing("Chess club", Some("owner")).await;
        let merge = json!({ "keep_id": chess, "merge_id": other });
        admin
            .call(Method::POST, "/entities/merge", merge)
            .await
            .ok();
        let refused = change("club", json!({ "disjoint_with": ["owner"] })).await;
        let found = refused.json()["details"]["contradictions"].clone();
        assert_eq!(
            (refused.status, &found[0]["rule"], &found[1]["rule"]),
            (409, &json!("domain"), &json!("disjoint")),
            "{found}"
        );
        // A firm is an owner, so what can be none cannot have a revenue, which is a firm's.
        assert_eq!(found[0]["facts"], json!([revenue]));
        let mut both = [chess.as_str(), other.as_str()];
        both.sort_unstable();
        assert_eq!(found[1]["entities"], json!(both));
        assert_eq!(
            find(&admin.words().await["relation_types"], "leads")["ranges"],
            json!(["firm"])
        );
    });
}

#[test]
fn a_change_of_a_relation_lists_every_rule_that_facts_break() {
    on_both_engines(async |house| {
        let admin = Admin::of(&house).await;
        let relation = json!({ "label": "leads" });
        admin
            .call(Method::POST, "/ontology/relation-types", relation)
            .await
            .ok();
        let (ann, ben) = (
            admin.thing("Ann", None).await,
            admin.thing("Ben", None).await,
        );
        let there = admin
            .fact(
                &ann,
                "leads",
                json!({ "object_id": ben, "valid_from": "2020", "valid_to": "2030" }),
            )
            .await;
        let back = admin
            .fact(
                &ben,
                "leads",
                json!({ "object_id": ann, "valid_from": "2021", "valid_to": "2030" }),
            )
            .await;
        let own = admin
            .fact(
                &ann,
                "leads",
                json!({ "object_id": ann, "valid_from": "2022", "valid_to": "2030" }),
            )
            .await;
        let change = async |body: Value| {
            let path = "/ontology/relation-types/leads";
            admin.call(Method::PATCH, path, body).await
        };
        let rules = |answer: &Answer| -> Vec<(String, Vec<String>)> {
            let found = answer.json()["details"]["contradictions"].clone();
            let word = |value: &Value| value.as_str().unwrap().to_owned();
            let found = found.as_array().unwrap().iter();
            let facts = |one: &Value| one["facts"].as_array().unwrap().iter().map(word).collect();
            found.map(|one| (word(&one["rule"]), facts(one))).collect()
        };
        let mut pair = vec![there.clone(), back.clone()];
        pair.sort();
        let mut by_object = vec![back.clone(), own.clone()];
        by_object.sort();

        for (body, expected) in [
            (
                json!({ "asymmetric": true }),
                vec![("asymmetric", pair), ("irreflexive", vec![own.clone()])],
            ),
            (
                json!({ "irreflexive": true }),
                vec![("irreflexive", vec![own.clone()])],
            ),
            (
                json!({ "inverse_functional": true }),
                vec![("inverse_functional", by_object)],
            ),
        ] {
            let refused = change(body).await;
            let expected: Vec<(String, Vec<String>)> = expected
                .into_iter()
                .map(|(rule, facts)| (rule.to_owned(), facts))
                .collect();
            assert_eq!(refused.status, 409);
            assert_eq!(rules(&refused), expected);
        }
        let refused = change(json!({ "temporal": "eternal" })).await;
        assert_eq!(rules(&refused).len(), 3);
        change(json!({ "label": "heads", "transitive": true }))
            .await
            .ok();
    });
}

#[test]
fn a_kind_that_things_once_were_of_stays_in_the_words() {
    on_both_engines(async |house| {
        let admin = Admin::of(&house).await;
        for label in ["Ship", "Boat"] {
            admin
                .call(
                    Method::POST,
                    "/ontology/entity-types",
                    json!({ "label": label }),
                )
                .await
                .ok();
        }
        let argo = admin.thing("Argo", Some("ship")).await;
        let retype = format!("/entities/{argo}/type");
        admin
            .call(Method::PUT, &retype, json!({ "entity_type": "boat" }))
            .await
            .ok();

        let refused = admin
            .call(Method::DELETE, "/ontology/entity-types/ship", Value::Null)
            .await;

        assert!(message(&refused, 409).starts_with("1 thing(s) are or were of `ship`"));
        assert_eq!(refused.json()["details"]["entities"], json!([argo]));
        let narrow = json!({ "label": "Yacht", "parents": ["boat"] });
        admin
            .call(Method::POST, "/ontology/entity-types", narrow)
            .await
            .ok();
        admin
            .call(Method::DELETE, "/ontology/entity-types/yacht", Value::Null)
            .await
            .ok();
    });
}

#[test]
fn the_command_line_shows_an_import_and_does_it() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("firms.ttl");
    std::fs::write(&file, FIRMS).unwrap();
    let file = file.to_str().unwrap();

    let packs = process::text(&process::run(
        data.path(),
        &[
            "base", "create", "Papers", "--pack", "prov", "--pack", "schema",
        ],
    ));
    assert!(packs.contains("papers"), "{packs}");
    let packs = process::text(&process::run(data.path(), &["ontology", "packs"]));
    assert!(packs.starts_with("schema     schema.org core: "), "{packs}");

    let shown = process::run(data.path(), &["ontology", "preview", file, "--json"]);
    let shown = process::json(&shown);
    assert_eq!(shown["name"], "firms.ttl");
    let told = process::text(&process::run(data.path(), &["ontology", "preview", file]));
    assert!(
        told.contains("add       entity_type firm  Company"),
        "{told}"
    );
    assert!(
        told.contains("left out  http://example.org/Owner: a wider kind without a name"),
        "{told}"
    );
    assert!(
        told.contains("nothing is done yet; apply it with --digest"),
        "{told}"
    );

    let wrong = process::run(data.path(), &["ontology", "import", file, "--digest", "0"]);
    assert!(process::refused(&wrong, 5).contains("preview the import again"));
    let digest = shown["digest"].as_str().unwrap();
    let done = process::text(&process::run(
        data.path(),
        &["ontology", "import", file, "--digest", digest],
    ));
    assert!(done.ends_with("done\n"), "{done}");
    let words = process::text(&process::run(data.path(), &["ontology", "show"]));
    assert!(words.contains("type      firm  Company"), "{words}");

    let changed = [
        "ontology",
        "change-type",
        "firm",
        "--label",
        "Business",
        "--parents",
        "[]",
    ];
    assert!(process::text(&process::run(data.path(), &changed)).contains("firm  Business"));
    let pack = process::text(&process::run(
        data.path(),
        &["ontology", "preview", "--pack", "foaf-org"],
    ));
    assert!(pack.contains("formal_organization"), "{pack}");
    let missing = process::run(data.path(), &["ontology", "preview", "nowhere.ttl"]);
    assert!(process::refused(&missing, 2).contains("cannot read nowhere.ttl"));
}
