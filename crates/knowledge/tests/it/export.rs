//! Bases exported and taken in again: as archives, byte for byte, and as graphs, triple for triple.

use std::cell::Cell;
use std::collections::BTreeSet;

use engine::soundness::{Files, Place, findings};
use model::KbId;
use oxjsonld::JsonLdParser;
use oxrdf::{GraphName, Quad};
use oxttl::TurtleParser;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::app::{App, Person, on_both_engines};
use crate::ledger::{BEGUN, Plain, Step, World, at, cases, step};

/// A graph as a set of lines, read back by a parser.
type Triples = BTreeSet<String>;

fn turtle(bytes: &[u8]) -> Triples {
    let triples = TurtleParser::new().for_slice(bytes).map(Result::unwrap);
    triples
        .map(|triple| triple.in_graph(GraphName::DefaultGraph))
        .map(line)
        .collect()
}

fn json_ld(bytes: &[u8]) -> Triples {
    let quads = JsonLdParser::new().for_slice(bytes).map(Result::unwrap);
    quads.map(line).collect()
}

fn line(quad: Quad) -> String {
    assert!(quad.graph_name.is_default_graph());
    let line = quad.to_string();
    assert!(!line.contains("_:"), "a blank node: {line}");
    line
}

async fn archive(app: &App, kb: KbId) -> Vec<u8> {
    app.owner()
        .flow(kb, "export_base", json!({}))
        .await
        .unwrap()
        .0
}

/// What somebody may see of a base as a graph: the same in both formats.
async fn graph(person: Person<'_>, kb: KbId, more: Value) -> (Vec<u8>, Triples) {
    let mut arguments = json!({ "format": "turtle" });
    let given = more.as_object().unwrap().clone();
    arguments.as_object_mut().unwrap().extend(given);
    let (written, media_type) = person
        .flow(kb, "export_graph", arguments.clone())
        .await
        .unwrap();
    assert_eq!(media_type, Some("text/turtle"));
    arguments["format"] = json!("jsonld");
    let (as_json, media_type) = person.flow(kb, "export_graph", arguments).await.unwrap();
    assert_eq!(media_type, Some("application/ld+json"));
    let triples = turtle(&written);
    assert_eq!(triples, json_ld(&as_json));
    (written, triples)
}

/// The same base elsewhere makes the same archive and the same graph.
async fn round(here: &App, there: &App, kb: KbId) -> Result<(Vec<u8>, Triples), TestCaseError> {
    here.join(kb).await;
    let first = archive(here, kb).await;
    let imported = there.import(&first).await.unwrap();
    prop_assert_eq!(&imported.json["id"], &json!(kb));
    there.join(kb).await;
    let second = archive(there, kb).await;
    prop_assert!(first == second, "the archives differ");
    let (one, triples) = graph(here.viewer(), kb, json!({})).await;
    let (other, _) = graph(there.viewer(), kb, json!({})).await;
    prop_assert!(one == other, "the graphs differ");
    Ok((first, triples))
}

async fn survives(here: &App, there: &App, case: u64, steps: &[Step]) -> Result<(), TestCaseError> {
    let world = World::new(here, case).await;
    let mut plain = Plain::default();
    for (n, step) in (0..).zip(steps) {
        plain = world.take(step, at(BEGUN + 10 * n), &plain).await;
    }

    let (_, triples) = round(here, there, world.kb).await?;

    // Every claim ever recorded is a statement, and so is the name of each thing.
    let statements = triples.iter().filter(|line| {
        line.contains("#type> <http://www.w3.org/1999/02/22-rdf-syntax-ns#Statement>")
    });
    prop_assert_eq!(statements.count(), plain.facts.len() + world.things.len());
    let closed = triples
        .iter()
        .filter(|line| line.contains("#invalidatedAtTime>"));
    let held_no_more = plain
        .facts
        .iter()
        .filter(|fact| fact.invalidated_at.is_some());
    prop_assert_eq!(closed.count(), held_no_more.count());
    Ok(())
}

fn try_histories(runtime: &tokio::runtime::Runtime, apps: Option<(App, App)>, usual: u32) {
    let Some((here, there)) = apps else { return };
    let case = Cell::new(0_u64);
    let config = Config {
        cases: cases(usual),
        failure_persistence: None,
        ..Config::default()
    };
    let history = prop::collection::vec(step(), 1..14);
    let tried = TestRunner::new(config).run(&history, |steps| {
        case.set(case.get() + 1);
        runtime.block_on(survives(&here, &there, case.get(), &steps))
    });
    if let Err(failed) = tried {
        panic!("{failed}");
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn any_history_is_the_same_bytes_after_export_and_import_on_sqlite() {
    let runtime = runtime();
    let apps = runtime.block_on(async { (App::sqlite().await, App::sqlite().await) });
    try_histories(&runtime, Some(apps), 256);
}

#[test]
fn any_history_is_the_same_bytes_after_export_and_import_on_postgres() {
    let runtime = runtime();
    let apps = runtime.block_on(async { Some((App::postgres().await?, App::postgres().await?)) });
    try_histories(&runtime, apps, 64);
}

fn id(answer: &Value, field: &str) -> String {
    answer[field].as_str().unwrap().to_owned()
}

impl App {
    async fn by_admin(&self, name: &str, arguments: Value) -> Value {
        let answer = self.admin().call(name, arguments).await.unwrap();
        self.tick();
        answer.json
    }

    async fn claimed(&self, arguments: Value) -> String {
        id(&self.by_admin("assert_fact", arguments).await, "fact_id")
    }

    async fn named(&self, name: &str, kind: Option<&str>) -> String {
        let arguments = json!({ "name": name, "entity_type": kind });
        id(&self.by_admin("add_entity", arguments).await, "id")
    }

    /// The passage that a word finds.
    async fn passage(&self, word: &str) -> String {
        let found = self
            .admin()
            .call("search_chunks", json!({ "query": word }))
            .await;
        id(&found.unwrap().json["chunks"][0], "chunk_id")
    }

    async fn words(&self) {
        self.by_admin(
            "add_entity_type",
            json!({ "label": "Agent", "iri": "http://xmlns.com/foaf/0.1/Agent" }),
        )
        .await;
        self.by_admin("add_entity_type", json!({ "label": "Person", "description": "A \"human\" being\n\u{7}", "parents": ["agent"] })).await;
        self.by_admin(
            "add_entity_type",
            json!({ "label": "Company", "parents": ["agent"], "disjoint_with": ["person"] }),
        )
        .await;
        self.by_admin("add_relation_type", json!({ "label": "knows", "iri": "prov:knows", "symmetric": true, "irreflexive": true })).await;
        self.by_admin(
            "add_relation_type",
            json!({ "label": "share", "kind": "attribute", "datatype": "number", "unit": "%" }),
        )
        .await;
        self.by_admin("add_relation_type", json!({ "label": "leads", "functional": true, "inverse_functional": true,
            "domains": ["person"], "ranges": ["company"], "sub_property_of": "knows", "qualifiers": ["share"] })).await;
        self.by_admin(
            "add_relation_type",
            json!({ "label": "led by", "inverse_of": "leads" }),
        )
        .await;
        self.by_admin(
            "add_relation_type",
            json!({ "label": "founded", "temporal": "event" }),
        )
        .await;
        self.by_admin(
            "add_relation_type",
            json!({ "label": "father of", "temporal": "eternal", "asymmetric": true }),
        )
        .await;
        self.by_admin(
            "add_relation_type",
            json!({ "label": "revenue", "kind": "attribute", "datatype": "number", "unit": "EUR" }),
        )
        .await;
        self.by_admin(
            "add_relation_type",
            json!({ "label": "born", "kind": "attribute", "datatype": "date" }),
        )
        .await;
        self.by_admin(
            "add_relation_type",
            json!({ "label": "listed", "kind": "attribute", "datatype": "bool" }),
        )
        .await;
        self.by_admin(
            "add_relation_type",
            json!({ "label": "motto", "kind": "attribute" }),
        )
        .await;
    }
}

fn iri(app: &App, kind: &str, id: &str) -> String {
    format!("<urn:utopia:kb:{}:{kind}:{id}>", app.kb)
}

const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
const OWL: &str = "http://www.w3.org/2002/07/owl#";
const PROV: &str = "http://www.w3.org/ns/prov#";
const UTOPIA: &str = "urn:utopia:ns:";

/// What a graph says of something: predicates and objects, without the two spaces around them.
fn said_of(triples: &Triples, subject: &str) -> BTreeSet<(String, String)> {
    let of = triples
        .iter()
        .filter_map(|line| line.strip_prefix(subject)?.strip_prefix(' '));
    of.map(|rest| {
        let (predicate, object) = rest.split_once(' ').unwrap();
        let predicate = predicate.trim_matches(['<', '>']);
        let object = object.strip_suffix(" .").unwrap_or(object);
        (predicate.to_owned(), object.to_owned())
    })
    .collect()
}

fn has(triples: &Triples, subject: &str, predicate: &str, object: &str) -> bool {
    said_of(triples, subject).contains(&(predicate.to_owned(), object.to_owned()))
}

fn typed(lexical: &str, datatype: &str) -> String {
    format!("\"{lexical}\"^^<{XSD}{datatype}>")
}

on_both_engines! {
    async fn words_are_declared_by_their_keys_or_the_iris_they_came_with(app: &App) {
        app.words().await;

        let (_, graph) = graph(app.viewer(), app.kb, json!({})).await;

        let (agent, person) = ("<http://xmlns.com/foaf/0.1/Agent>", iri(app, "class", "person"));
        let (knows, leads) = ("<prov:knows>", iri(app, "relation", "leads"));
        let rdfs = "http://www.w3.org/2000/01/rdf-schema#";
        for (subject, predicate, object) in [
            (agent, format!("{RDF}type"), format!("<{OWL}Class>")),
            (&person, format!("{rdfs}subClassOf"), agent.to_owned()),
            (&person, format!("{rdfs}comment"), r#""A \"human\" being\n\u0007""#.to_owned()),
            (&iri(app, "class", "company"), format!("{OWL}disjointWith"), person.clone()),
            (knows, format!("{RDF}type"), format!("<{OWL}SymmetricProperty>")),
            (knows, format!("{RDF}type"), format!("<{OWL}IrreflexiveProperty>")),
            (&leads, format!("{RDF}type"), format!("<{OWL}ObjectProperty>")),
            (&leads, format!("{RDF}type"), format!("<{OWL}FunctionalProperty>")),
            (&leads, format!("{RDF}type"), format!("<{OWL}InverseFunctionalProperty>")),
            (&leads, format!("{rdfs}subPropertyOf"), knows.to_owned()),
            (&leads, format!("{rdfs}domain"), person.clone()),
            (&leads, format!("{rdfs}range"), iri(app, "class", "company")),
            (&iri(app, "relation", "led_by"), format!("{OWL}inverseOf"), leads.clone()),
            (&iri(app, "relation", "founded"), format!("{UTOPIA}temporal"), "\"event\"".to_owned()),
            (&iri(app, "relation", "father_of"), format!("{UTOPIA}temporal"), "\"eternal\"".to_owned()),
            (&iri(app, "relation", "revenue"), format!("{RDF}type"), format!("<{OWL}DatatypeProperty>")),
            (&iri(app, "relation", "revenue"), format!("{UTOPIA}unit"), "\"EUR\"".to_owned()),
        ] {
            assert!(has(&graph, subject, &predicate, &object), "{subject} {predicate} {object} in {graph:#?}");
        }
        // Nothing is concluded: the inverse is declared from the one end that says so.
        assert!(!graph.iter().any(|line| line.starts_with(&leads) && line.contains("inverseOf")));
        assert!(!said_of(&graph, &leads).iter().any(|(predicate, _)| predicate.ends_with("temporal")));
    }

    async fn a_fact_is_a_statement_with_both_clocks_its_quotes_and_its_details(app: &App) {
        app.words().await;
        let (ann, acme) = (app.named("Ann", Some("person")).await, app.named("Acme", None).await);
        let memo = app.document("memo.md", "Date: 2024-05-02\n# Memo\n\nFrom May, Ann leads Acme.").await;
        let chunk = app.passage("leads").await;

        let fact = app.claimed(json!({ "subject_id": ann, "predicate": "leads", "object_id": acme,
            "valid_from": "2024-05", "valid_to": "2031-02-03T10", "confidence": 0.9, "date_text": "from May",
            "calendar": "julian", "wording": "is head of", "qualifiers": [{ "key": "share", "value": 12.5 }],
            "evidence": [{ "chunk_id": chunk, "quote": "Ann leads Acme" }] })).await;
        let (_, graph) = graph(app.viewer(), app.kb, json!({})).await;

        let (statement, document) = (iri(app, "fact", &fact), iri(app, "document", &memo));
        let (ann, acme, leads) = (iri(app, "entity", &ann), iri(app, "entity", &acme), iri(app, "relation", "leads"));
        let mut said = said_of(&graph, &statement);
        let (generated, moment) = said.iter().find(|(predicate, _)| predicate.ends_with("generatedAtTime")).unwrap().clone();
        assert!(moment.starts_with("\"2026-03-01T00:") && moment.ends_with(&format!("^^<{XSD}dateTime>")), "{moment}");
        said.remove(&(generated, moment));
        let expected = [
            (format!("{RDF}type"), format!("<{RDF}Statement>")),
            (format!("{RDF}subject"), ann.clone()),
            (format!("{RDF}predicate"), leads.clone()),
            (format!("{RDF}object"), acme.clone()),
            ("https://schema.org/validFrom".to_owned(), typed("2024-05", "gYearMonth")),
            ("https://schema.org/validThrough".to_owned(), typed("2031-02-03T10:00:00Z", "dateTime")),
            (format!("{UTOPIA}validThroughPrecision"), "\"hour\"".to_owned()),
            (format!("{UTOPIA}confidence"), typed("0.90", "decimal")),
            (format!("{UTOPIA}dateText"), "\"from May\"".to_owned()),
            (format!("{UTOPIA}calendar"), "\"julian\"".to_owned()),
            (format!("{UTOPIA}wording"), "\"is head of\"".to_owned()),
            (format!("{UTOPIA}quote"), "\"Ann leads Acme\"".to_owned()),
            (format!("{UTOPIA}evidenceOrigin"), "\"stated\"".to_owned()),
            (format!("{PROV}wasDerivedFrom"), document.clone()),
            (iri(app, "relation", "share").trim_matches(['<', '>']).to_owned(), typed("12.5", "decimal")),
        ];
        assert_eq!(said, BTreeSet::from(expected));
        assert!(has(&graph, &ann, leads.trim_matches(['<', '>']), &acme));
        assert!(has(&graph, &ann, &format!("{RDF}type"), &iri(app, "class", "person")));
        assert!(!said_of(&graph, &acme).iter().any(|(predicate, _)| predicate.ends_with("#type")));
        assert!(has(&graph, &document, &format!("{RDF}type"), &format!("<{PROV}Entity>")));
        assert!(has(&graph, &document, &format!("{UTOPIA}externalKey"), "\"memo.md\""));
        assert!(has(&graph, &document, "https://schema.org/datePublished", &typed("2024-05-02", "date")));
    }

    async fn only_what_is_held_now_and_holds_now_is_a_plain_triple(app: &App) {
        app.words().await;
        let (ann, acme) = (app.named("Ann", None).await, app.named("Acme", None).await);
        let claim = |object: &str, more: Value| {
            let mut arguments = json!({ "subject_id": ann, "predicate": "motto", "value": object });
            arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            arguments
        };
        for (motto, more) in [
            ("holds", json!({ "valid_from": "2020" })),
            ("over", json!({ "valid_from": "2020", "valid_to": "2021" })),
            ("to come", json!({ "valid_from": "2040" })),
            ("ended some day", json!({ "valid_from": "2020", "valid_to": "unknown" })),
            ("long ago", json!({ "valid_from": "-0043", "valid_to": "0360" })),
            ("wrong", json!({ "rank": "deprecated" })),
            ("about", json!({ "valid_from": "2001", "valid_from_latest": "2003", "approximate": true })),
        ] {
            app.claimed(claim(motto, more)).await;
        }
        let retracted = app.claimed(claim("retracted", json!({}))).await;
        app.by_admin("retract_fact", json!({ "fact_id": retracted })).await;
        let former = app.claimed(claim("former", json!({}))).await;
        let corrected = app.by_admin("correct_fact", json!({ "fact_id": former, "value": "latter" })).await;
        let unnamed = app.claimed(json!({ "subject_id": ann, "wording": "is fond of", "object_id": acme })).await;
        let undated = app.claimed(json!({ "subject_id": ann, "predicate": "founded", "object_id": acme })).await;
        let eternal = app.claimed(json!({ "subject_id": ann, "predicate": "father_of", "object_id": acme })).await;

        let (_, graph) = graph(app.viewer(), app.kb, json!({})).await;

        let subject = iri(app, "entity", &ann);
        let motto = iri(app, "relation", "motto");
        let plain: Vec<String> = said_of(&graph, &subject).into_iter()
            .filter(|(predicate, _)| motto.contains(predicate.as_str())).map(|(_, object)| object).collect();
        assert_eq!(plain, ["\"about\"", "\"holds\"", "\"latter\""]);
        let statements: BTreeSet<&str> = graph.iter()
            .filter_map(|line| line.split_once(&format!(" <{RDF}object> ")).map(|(_, object)| object)).collect();
        for object in ["holds", "over", "to come", "ended some day", "long ago", "wrong", "about", "retracted", "former", "latter"] {
            assert!(statements.contains(format!("\"{object}\" .").as_str()) || statements.contains(format!("\"{object}\"").as_str()), "{object} in {statements:?}");
        }
        let of = |id: &str| said_of(&graph, &iri(app, "fact", id));
        let any = |id: &str, ending: &str| of(id).iter().any(|(predicate, _)| predicate.ends_with(ending));
        assert!(any(&retracted, "invalidatedAtTime") && any(&former, "invalidatedAtTime"));
        let latter = id(&corrected, "fact_id");
        assert!(has(&graph, &iri(app, "fact", &latter), &format!("{UTOPIA}supersedes"), &iri(app, "fact", &former)));
        assert!(any(&unnamed, "proposedPredicate") && !any(&unnamed, "#predicate"));
        let acme = iri(app, "entity", &acme);
        let held: Vec<(String, String)> = said_of(&graph, &subject).into_iter().filter(|(_, object)| *object == acme).collect();
        assert_eq!(held.len(), 1, "only the eternal one: {held:?}");
        assert!(any(&undated, "#Statement") || any(&undated, "#type"));
        assert!(any(&eternal, "#subject"));
        let dates: BTreeSet<&str> = graph.iter().filter(|line| line.contains("schema.org/valid"))
            .filter_map(|line| line.split(' ').nth(2)).collect();
        for (lexical, datatype) in [("-0043", "gYear"), ("0360", "gYear"), ("2020", "gYear")] {
            assert!(dates.contains(typed(lexical, datatype).as_str()), "{dates:?}");
        }
        assert!(graph.iter().any(|line| line.contains(":ns:endedUnknown")));
        assert!(graph.iter().any(|line| line.contains(":ns:rank> \"deprecated\"")));
        assert!(graph.iter().any(|line| line.contains(":ns:validFromLatest> \"2003\"")));
        assert!(graph.iter().any(|line| line.contains(":ns:validFromApproximate")));
    }

    async fn a_merge_shows_the_one_who_stands_for_both_and_whom_it_was_said_of(app: &App) {
        app.words().await;
        let (ann, anna, acme) = (app.named("Ann", None).await, app.named("Anna", None).await, app.named("Acme", None).await);
        let bob = app.named("Bob", None).await;
        let fact = app.claimed(json!({ "subject_id": anna, "predicate": "leads", "object_id": acme })).await;
        app.by_admin("merge_entities", json!({ "keep_id": ann, "merge_id": anna })).await;
        app.by_admin("different_entities", json!({ "entity_id": ann, "other_id": bob })).await;

        let (_, graph) = graph(app.viewer(), app.kb, json!({})).await;

        let (ann, anna, acme) = (iri(app, "entity", &ann), iri(app, "entity", &anna), iri(app, "entity", &acme));
        let (statement, bob) = (iri(app, "fact", &fact), iri(app, "entity", &bob));
        assert!(has(&graph, &statement, &format!("{RDF}subject"), &ann));
        assert!(has(&graph, &statement, &format!("{UTOPIA}recordedSubject"), &anna));
        assert!(has(&graph, &ann, iri(app, "relation", "leads").trim_matches(['<', '>']), &acme));
        assert!(has(&graph, &anna, &format!("{OWL}sameAs"), &ann));
        let apart = format!("{OWL}differentFrom");
        assert!(has(&graph, &ann, &apart, &bob) || has(&graph, &bob, &apart, &ann));
    }

    async fn values_of_any_shape_are_the_same_in_both_formats(app: &App) {
        app.words().await;
        let ann = app.named("Ann \"\\ \u{1F9A6} \u{202e}\u{7f} <b>", None).await;
        for (predicate, value) in [
            ("revenue", json!(1e21)), ("revenue", json!(-2.5e-9)), ("revenue", json!(0.1)),
            ("born", json!("1861-03")), ("born", json!("-0043")),
            ("listed", json!(true)),
            ("motto", json!("a\tb\r\n\"c\"\\d'''\u{1}\u{b}\u{1f}\u{85}\u{2028}\u{fffe}\u{10ffff}")), ("motto", json!(" ")), ("motto", json!("@en")),
            ("motto", json!("x\"^^<y>")), ("motto", json!("{\"@value\": 1}")),
        ] {
            app.claimed(json!({ "subject_id": ann, "predicate": predicate, "value": value })).await;
        }

        // Compared within.
        let (_, graph) = graph(app.viewer(), app.kb, json!({})).await;

        for object in [typed("1000000000000000000000", "decimal"), typed("-0.0000000025", "decimal"), typed("true", "boolean"),
            typed("1861-03", "gYearMonth"), "\"x\\\"^^<y>\"".to_owned()] {
            assert!(graph.iter().any(|line| line.contains(&object)), "{object}");
        }
    }

    async fn ids_become_addresses_under_a_base_that_can_be_one(app: &App) {
        app.words().await;
        let ann = app.named("Ann", None).await;

        let (_, graph) = graph(app.viewer(), app.kb, json!({ "base": "https://example.org/data/" })).await;
        let entity = format!("<https://example.org/data/kb/{}/entity/{ann}>", app.kb);
        assert!(!said_of(&graph, &entity).is_empty());
        assert!(graph.iter().any(|line| line.starts_with(&format!("<https://example.org/data/kb/{}/class/person>", app.kb))));
        assert!(graph.iter().any(|line| line.starts_with("<http://xmlns.com/foaf/0.1/Agent>")));

        for base in ["ftp://example.org/", "https://exa mple.org", "example.org"] {
            let refused = app.viewer().call("export_graph", json!({ "base": base })).await.unwrap_err();
            assert!(refused.message.starts_with("`base` must be") && refused.message.contains(base), "{refused:?}");
        }
        let refused = app.viewer().call("export_graph", json!({ "format": "xml" })).await.unwrap_err();
        assert!(refused.message.contains("format"), "{refused:?}");
    }

    async fn what_a_reader_may_not_see_is_in_no_byte_of_their_graph(app: &App) {
        app.words().await;
        let (ann, acme) = (app.named("Ann", None).await, app.named("Acme", None).await);
        let secret = app.admin().add("merger-plans.md", "# Plans\n\nAnn will sell Acme to Zebra.", json!({ "least_role": "admin" })).await.unwrap();
        app.work().await;
        app.tick();
        let (secret, chunk) = (id(&secret.json, "document_id"), app.passage("Zebra").await);
        let evidence = json!([{ "chunk_id": chunk, "quote": "Ann will sell Acme to Zebra" }]);
        let open = app.claimed(json!({ "subject_id": ann, "predicate": "motto", "value": "calm" })).await;
        let hidden = app.claimed(json!({ "subject_id": ann, "wording": "will sell", "object_id": acme, "evidence": evidence })).await;
        let nickname = app.claimed(json!({ "subject_id": ann, "predicate": "known_as", "value": "The Seller", "rank": "preferred", "evidence": evidence })).await;
        let corrected = app.by_admin("correct_fact", json!({ "fact_id": hidden, "valid_from": "2021" })).await;
        let corrected = id(&corrected, "fact_id");
        let later = app.by_admin("correct_fact", json!({ "fact_id": open, "value": "calmer" })).await;

        let (written, seen) = graph(app.viewer(), app.kb, json!({})).await;
        let (_, all) = graph(app.admin(), app.kb, json!({})).await;

        let text = String::from_utf8(written).unwrap();
        for part in ["Zebra", "merger-plans", "The Seller", "will sell", secret.as_str(), hidden.as_str(), nickname.as_str(), corrected.as_str()] {
            assert!(!text.contains(part), "{part}");
            assert!(all.iter().any(|line| line.contains(part)), "{part} is there for an admin");
        }
        assert!(seen.is_subset(&all) || seen.difference(&all).all(|line| line.contains("#label>")));
        assert!(seen.iter().any(|line| line.contains("#label> \"Ann\"")) && all.iter().any(|line| line.contains("#label> \"The Seller\"")));
        let later = iri(app, "fact", &id(&later, "fact_id"));
        assert!(has(&seen, &later, &format!("{UTOPIA}supersedes"), &iri(app, "fact", &open)));
    }

    async fn a_name_that_rests_on_what_a_reader_may_not_see_is_no_name_to_them(app: &App) {
        app.words().await;
        let (ann, acme) = (app.named("Ann", None).await, app.named("Acme", None).await);
        app.admin().add("cover.md", "# Cover\n\nAnn is Zebra to us.", json!({ "least_role": "admin" })).await.unwrap();
        app.work().await;
        app.tick();
        let evidence = json!([{ "chunk_id": app.passage("Zebra").await, "quote": "Ann is Zebra to us" }]);
        app.claimed(json!({ "subject_id": ann, "predicate": "known_as", "value": "Zebra", "rank": "preferred", "evidence": evidence })).await;
        app.claimed(json!({ "subject_id": ann, "wording": "works at", "object_id": acme })).await;
        let told = async |person: &crate::app::Person<'_>| {
            let mut told = Vec::new();
            for (name, arguments) in [
                ("find_entities", json!({ "name": "Zebra" })),
                ("find_entities", json!({ "name": "Ann" })),
                ("entity_facts", json!({ "entity_id": ann })),
                ("neighbors", json!({ "entity": acme })),
                ("timeline", json!({ "entity": ann })),
                ("paths_between", json!({ "from": ann, "to": acme })),
                ("changes", json!({ "since": "2000" })),
            ] {
                let answer = person.call(name, arguments).await.unwrap();
                told.push(format!("{}\n{}", answer.text, answer.json));
            }
            told
        };

        let (seen, all) = (told(&app.viewer()).await, told(&app.admin()).await);

        assert!(seen.iter().all(|answer| !answer.contains("Zebra")), "{seen:#?}");
        assert!(all.iter().filter(|answer| answer.contains("Zebra")).count() >= 6, "{all:#?}");
        assert!(seen[1].contains("Ann") && seen[2].contains("Ann"));
        // Counted is what the asker may see: the name, the work, and for an admin the other name.
        assert!(seen[1].contains("\"fact_count\":2"), "{}", seen[1]);
        assert!(all[1].contains("\"fact_count\":3"), "{}", all[1]);
    }

    async fn a_purged_document_leaves_no_word_in_a_graph_or_an_archive(app: &App) {
        app.words().await;
        let ann = app.named("Ann", None).await;
        let memo = app.document("canary-name.md", "# Memo\n\nAnn said qwertyuiopasdfgh once.").await;
        let chunk = app.passage("qwertyuiopasdfgh").await;
        let fact = app.claimed(json!({ "subject_id": ann, "predicate": "motto", "value": "said",
            "evidence": [{ "chunk_id": chunk, "quote": "qwertyuiopasdfgh" }] })).await;
        app.by_admin("purge_document", json!({ "document_id": memo })).await;
        app.work().await;

        let (written, triples) = graph(app.viewer(), app.kb, json!({})).await;
        let archive = archive(app, app.kb).await;

        for bytes in [&written, &archive] {
            let text = String::from_utf8_lossy(bytes);
            assert!(!text.contains("qwertyuiopasdfgh") && !text.contains("canary-name"));
        }
        let document = iri(app, "document", &memo);
        assert!(has(&triples, &iri(app, "fact", &fact), &format!("{PROV}wasDerivedFrom"), &document));
        assert!(said_of(&triples, &document).iter().any(|(predicate, _)| predicate.ends_with("invalidatedAtTime")));
    }

    async fn an_export_is_of_one_moment_whatever_is_written_meanwhile(app: &App) {
        for number in 0..1_200 {
            app.admin().call("add_entity", json!({ "name": format!("Thing {number}") })).await.unwrap();
        }
        let answer = app.viewer().call("export_graph", json!({})).await.unwrap();
        app.named("Late", None).await;
        let mut flow = answer.flow.unwrap();
        let mut bytes = Vec::new();
        while let Some(part) = flow.parts.recv().await {
            bytes.extend_from_slice(&part.unwrap());
        }
        let triples = turtle(&bytes);
        assert_eq!(triples.iter().filter(|line| line.contains("#label> \"Thing ")).count(), 1_200);
        assert!(!triples.iter().any(|line| line.contains("Late")));
    }

    async fn a_full_base_is_the_same_elsewhere_and_goes_on_there(app: &App) {
        let there = app.elsewhere().await;
        app.words().await;
        let (ann, anna, acme) = (app.named("Ann", Some("person")).await, app.named("Anna", None).await, app.named("Acme", Some("company")).await);
        let memo = app.document("memo.md", "# Memo\n\nFrom May, Ann leads Acme.").await;
        app.document("memo.md", "# Memo\n\nFrom June, Ann leads Acme. Otters hold hands.").await;
        let gone = app.document("gone.md", "# Gone\n\nNobody reads this.").await;
        let purged = app.document("purged.md", "# Purged\n\nNobody may read this.").await;
        let chunk = app.passage("leads").await;
        app.claimed(json!({ "subject_id": ann, "predicate": "leads", "object_id": acme, "valid_from": "2024-05",
            "qualifiers": [{ "key": "share", "value": 12.5, "unit": "%" }], "evidence": [{ "chunk_id": chunk, "quote": "Ann leads Acme" }] })).await;
        app.by_admin("merge_entities", json!({ "keep_id": ann, "merge_id": anna })).await;
        app.by_admin("different_entities", json!({ "entity_id": ann, "other_id": acme })).await;
        app.by_admin("set_entity_type", json!({ "entity_id": anna, "entity_type": "agent" })).await;
        app.by_admin("create_source", json!({ "name": "Feed", "kind": "push" })).await;
        app.by_admin("delete_document", json!({ "document_id": gone })).await;
        app.by_admin("purge_document", json!({ "document_id": purged })).await;
        app.work().await;
        let kb = app.kb;
        let first = archive(app, kb).await;

        there.import(&first).await.unwrap();
        let again = there.import(&first).await.unwrap_err();
        there.join(kb).await;
        there.work().await;

        assert_eq!(again.code, model::Code::Conflict);
        assert!(again.message.contains("`papers`") && again.message.contains(&kb.to_string()), "{again:?}");
        assert!(first == archive(&there, kb).await, "the archives differ");
        let place = Place { db: &there.core.db, blobs: &there.core.blobs, indexes: &there.core.indexes,
            now: { let clock = there.core.clock.clone(); std::sync::Arc::new(move || clock.now()) } };
        assert_eq!(findings(&place, uuid::Uuid::from_u128(77), Files::Bytes).await.unwrap(), []);
        let found = there.viewer().call_in(kb, "search_chunks", json!({ "query": "otters" })).await;
        assert_eq!(found["chunks"][0]["document_id"], json!(memo));
        let facts = there.viewer().call_in(kb, "entity_facts", json!({ "entity": "Ann" })).await;
        assert_eq!(facts["facts"][0]["other_name"], "Acme");
        // It goes on after its last moment, and what was deleted comes back with its bytes.
        let admin = there.admin();
        let restored = admin.call_in(kb, "restore_document", json!({ "document_id": gone })).await;
        assert!(restored.is_object());
        there.work().await;
        let found = admin.call_in(kb, "search_chunks", json!({ "query": "nobody reads" })).await;
        assert_eq!(found["chunks"][0]["document_id"], json!(gone));
    }
}
