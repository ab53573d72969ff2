//! Things with more facts than are looked at one by one, and relations of which a thing has one
//! value after another.

use std::collections::{BTreeMap, BTreeSet};

use engine::ledger::{self, Assertion, Decision};
use model::fact::{Bound, End, Fact, Object, Rank, Validity, Value};
use model::holds::{Claim, contradictions, read_out};
use model::ontology::{Axioms, RelationKind, RelationType};
use model::time::Interval;
use model::{EntityId, FactId, RecordTime, RelationTypeId, WorldTime};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value as Json, json};
use store::events::Decider;
use store::fact_holds::View;
use store::{entities, facts, faults, ontology};
use uuid::Uuid;

use crate::app::{App, on_both_engines};

const fn at(micros: i64) -> RecordTime {
    RecordTime::from_micros(1_772_400_000_000_000 + micros)
}

fn thing(number: u128) -> EntityId {
    EntityId::new(Uuid::from_u128((9 << 64) + number))
}

fn relation(number: u128, key: &str, functional: bool, inverse_functional: bool) -> RelationType {
    let id = RelationTypeId::new(Uuid::from_u128((8 << 64) + number));
    RelationType {
        axioms: Axioms {
            functional,
            inverse_functional,
            ..Axioms::default()
        },
        ..RelationType::plain(id, key, at(0))
    }
}

fn assertion(
    subject: EntityId,
    predicate: RelationTypeId,
    object: Object,
    years: (Option<i32>, Option<i32>),
) -> Assertion {
    let year = |year: i32| Bound::on(format!("{year:04}").parse::<WorldTime>().unwrap());
    Assertion {
        subject,
        predicate: Some(predicate),
        object,
        wording: None,
        rank: Rank::Normal,
        validity: Validity {
            from: years.0.map(year),
            to: years.1.map_or(End::Open, |to| End::On(year(to))),
        },
        date_text: None,
        calendar: None,
        confidence: 1.0,
        qualifiers: Vec::new(),
        evidence: Vec::new(),
    }
}

impl App {
    async fn lay(&self, things: u128, relations: &[RelationType]) {
        let mut tx = self.core.db.write(self.tenant).await.unwrap();
        let things: Vec<EntityId> = (0..things).map(thing).collect();
        entities::insert(&mut tx, self.kb, &things, at(0))
            .await
            .unwrap();
        for relation in relations {
            ontology::insert_relation(&mut tx, self.kb, relation)
                .await
                .unwrap();
        }
        tx.commit().await.unwrap();
    }
}

/// What is done to the succession of one thing's values: the value, from which year, until which;
/// of one in four, an earlier claim is taken back instead.
type Act = (u8, Option<i32>, Option<i32>, u8, Rank);

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let from = prop::option::weighted(0.97, 1000_i32..2000);
    let length = prop::option::weighted(0.3, 0_i32..60);
    let rank = prop_oneof![12 => Just(Rank::Normal), 1 => Just(Rank::Deprecated)];
    // Few values make long runs of one value, which the look aside has to go beyond.
    let act = (0_u8..3, from, length, any::<u8>(), rank);
    prop::collection::vec(act, 60..160)
}

/// Takes the acts in a base of its own, for a relation with one value at a time at `end`.
async fn succession(
    app: &App,
    case: u128,
    acts: &[Act],
    by_subject: bool,
) -> Result<(), TestCaseError> {
    let relation = relation(100 + case, &format!("r{case}"), by_subject, !by_subject);
    let (one, values) = (thing(0), [thing(1), thing(2), thing(3)]);
    let mut tx = app.core.db.write(app.tenant).await.unwrap();
    ontology::insert_relation(&mut tx, app.kb, &relation)
        .await
        .unwrap();
    let mut plain: Vec<Fact> = Vec::new();
    for (n, &(value, from, length, which, rank)) in (0..).zip(acts) {
        let ids = || Uuid::new_v5(&relation.id.uuid(), format!("{n}").as_bytes());
        let decision = Decision {
            kb: app.kb,
            decider: Decider::default(),
            now: at(0),
            ids: &ids,
        };
        let held: Vec<FactId> = plain.iter().map(|fact| fact.id).collect();
        if which % 4 == 0 && !held.is_empty() {
            let gone = held[usize::from(which) % held.len()];
            ledger::retract(&mut tx, &decision, gone, None)
                .await
                .unwrap();
            plain.retain(|fact| fact.id != gone);
        } else {
            let other = values[usize::from(value)];
            let (subject, object) = if by_subject {
                (one, other)
            } else {
                (other, one)
            };
            let to = from.zip(length).map(|(from, length)| from + length);
            let mut claim = assertion(subject, relation.id, Object::Entity(object), (from, to));
            claim.rank = rank;
            let done = ledger::assert(&mut tx, &decision, &claim).await.unwrap();
            if !done.was_held {
                plain.push(Fact {
                    id: done.fact,
                    subject,
                    predicate: Some(relation.id),
                    object: claim.object,
                    wording: None,
                    rank,
                    validity: claim.validity,
                    date_text: None,
                    calendar: None,
                    confidence: 1.0,
                    recorded_at: done.recorded_at,
                    invalidated_at: None,
                    supersedes: None,
                });
                contradicts(&relation, &plain, &done, by_subject)?;
            }
        }
        if n % 10 == 0 || n as usize + 1 == acts.len() {
            let view = View {
                at: None,
                as_of: ledger::latest(),
            };
            let found = ledger::facts_of(&mut tx, app.kb, one, view).await.unwrap();
            let stored: BTreeMap<FactId, Option<Interval>> = found
                .unwrap()
                .facts
                .into_iter()
                .filter(|held| held.fact.predicate == Some(relation.id))
                .map(|held| (held.fact.id, held.holds))
                .collect();
            prop_assert_eq!(stored, read(&relation, &plain, by_subject), "after {}", n);
        }
    }
    drop(tx);
    Ok(())
}

fn claims(plain: &[Fact], by_subject: bool) -> Vec<Claim> {
    let says = |fact: &Fact| {
        if by_subject {
            fact.object.key()
        } else {
            Object::Entity(fact.subject).key()
        }
    };
    let claim = |fact: &Fact| Claim {
        id: fact.id,
        says: says(fact),
        validity: fact.validity,
        rank: fact.rank,
        attested: None,
    };
    plain.iter().map(claim).collect()
}

/// For when each claim holds, with all of them read together.
fn read(
    relation: &RelationType,
    plain: &[Fact],
    by_subject: bool,
) -> BTreeMap<FactId, Option<Interval>> {
    let reading = model::holds::Reading {
        temporality: relation.temporality,
        single_valued: true,
    };
    let holds = read_out(&claims(plain, by_subject), reading);
    plain.iter().map(|fact| fact.id).zip(holds).collect()
}

/// What an assertion says it contradicts is what all claims together say.
fn contradicts(
    relation: &RelationType,
    plain: &[Fact],
    done: &ledger::Asserted,
    by_subject: bool,
) -> Result<(), TestCaseError> {
    let claims = claims(plain, by_subject);
    let holds = read(relation, plain, by_subject);
    let holds: Vec<Option<Interval>> = holds.into_values().collect();
    let by_id: BTreeMap<FactId, usize> = claims
        .iter()
        .enumerate()
        .map(|(place, claim)| (claim.id, place))
        .collect();
    let ordered: Vec<Claim> = by_id.values().map(|&place| claims[place].clone()).collect();
    let expected: BTreeSet<FactId> = contradictions(&ordered, &holds)
        .into_iter()
        .filter(|(one, other)| [*one, *other].contains(&done.fact))
        .map(|(one, other)| if one == done.fact { other } else { one })
        .collect();
    let expected = if by_subject {
        expected
    } else {
        BTreeSet::new()
    };
    let named: BTreeSet<FactId> = done.contradicts.iter().copied().collect();
    prop_assert_eq!(named, expected);
    Ok(())
}

/// Only the claims beside a new one are read anew; that must be the same as reading all.
#[test]
fn a_long_succession_is_read_as_if_all_of_it_were_read_each_time() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    for (app, cases) in [
        (Some(runtime.block_on(App::sqlite())), 24),
        (runtime.block_on(App::postgres()), 4),
    ] {
        let Some(app) = app else { continue };
        runtime.block_on(app.lay(4, &[]));
        let case = std::cell::Cell::new(0_u128);
        let config = Config {
            cases,
            failure_persistence: None,
            ..Config::default()
        };
        let tried = TestRunner::new(config).run(&acts(), |acts| {
            case.set(case.get() + 1);
            let by_subject = case.get().is_multiple_of(2);
            runtime.block_on(succession(&app, case.get(), &acts, by_subject))
        });
        if let Err(failed) = tried {
            panic!("{failed}");
        }
    }
}

const FACTS: u128 = 2_300;

impl App {
    /// A thing with so many facts, one in a hundred by way of another name of the same person, and
    /// some that rest on what editors alone may see.
    async fn hub(&self) -> String {
        let works = relation(1, "works at", false, false);
        let owns = relation(2, "owns", false, false);
        self.lay(FACTS, &[works.clone(), owns.clone()]).await;
        let hub = self.wrote_entity("Acme").await;
        let id: EntityId = hub.parse().unwrap();
        let mut tx = self.core.db.write(self.tenant).await.unwrap();
        for number in 0..FACTS {
            let ids = || Uuid::from_u128((7 << 64) + number);
            let decision = Decision {
                kb: self.kb,
                decider: Decider::default(),
                now: at(0),
                ids: &ids,
            };
            let year = 1950 + i32::try_from(number % 60).unwrap();
            let claim = if number % 3 == 0 {
                assertion(id, owns.id, Object::Entity(thing(number)), (None, None))
            } else {
                let years = (Some(year), (number % 2 == 0).then_some(year + 10));
                assertion(thing(number), works.id, Object::Entity(id), years)
            };
            ledger::assert(&mut tx, &decision, &claim).await.unwrap();
        }
        // Two people with the same facts turn out to be one.
        for number in (100..FACTS - 200).step_by(300) {
            let ids = || Uuid::from_u128((6 << 64) + number);
            let decision = Decision {
                kb: self.kb,
                decider: Decider::default(),
                now: at(0),
                ids: &ids,
            };
            let pair = (thing(number), thing(number + 180));
            ledger::merge(&mut tx, &decision, pair, None).await.unwrap();
        }
        tx.commit().await.unwrap();
        hub
    }

    async fn wrote_entity(&self, name: &str) -> String {
        let added = self
            .admin()
            .call("add_entity", json!({ "name": name }))
            .await;
        added.unwrap().json["id"].as_str().unwrap().to_owned()
    }

    async fn told(&self, name: &str, arguments: Json) -> Json {
        self.viewer().call(name, arguments).await.unwrap().json
    }
}

fn ids(list: &Json) -> Vec<String> {
    let list = list.as_array().unwrap().iter();
    list.map(|one| one["id"].as_str().unwrap().to_owned())
        .collect()
}

on_both_engines! {
    /// What is counted and ordered by outlines is what reading every fact gives.
    async fn a_thing_with_thousands_of_facts_is_counted_and_ordered_as_one_with_few(app: &App) {
        let hub = app.hub().await;
        let mut tx = app.core.db.read(app.tenant).await.unwrap();
        let view = View { at: None, as_of: ledger::latest() };
        let all = ledger::facts_of(&mut tx, app.kb, hub.parse().unwrap(), view).await.unwrap().unwrap();
        drop(tx);
        let known_as = Some(RelationType::known_as_id(app.kb));
        let mut all: Vec<_> = all.facts.into_iter().filter(|held| held.fact.predicate != known_as).collect();
        let equal = all.iter().map(|held| held.same_as.len()).sum::<usize>();

        let facts = app.told("entity_facts", json!({ "entity_id": hub, "limit": 300 })).await;
        let people = app.told("neighbors", json!({ "entity": hub, "limit": 300 })).await;
        let line = app.told("timeline", json!({ "entity": hub, "limit": 300, "since": "1960", "until": "1965" })).await;
        let owned = app.told("entity_facts", json!({ "entity_id": hub, "predicate": "own" })).await;

        assert!(0 < equal && all.len() + equal == FACTS as usize);
        assert_eq!(facts["total_facts"], all.len());
        all.sort_by_key(|held| {
            let starts = held.holds.map(Interval::from);
            (held.side, std::cmp::Reverse(starts), held.fact.recorded_at, held.fact.id)
        });
        let first: Vec<String> = all.iter().take(300).map(|held| held.fact.id.to_string()).collect();
        assert_eq!(ids(&facts["facts"]), first);
        let things: BTreeSet<_> = all.iter().filter_map(|held| held.other()).collect();
        assert_eq!(people["total"], things.len());
        let shown: usize = people["groups"].as_array().unwrap().iter().map(|group| group["entities"].as_array().unwrap().len()).sum();
        assert_eq!(shown, 300);
        let (since, until) = ("1960".parse::<WorldTime>().unwrap(), "1965".parse::<WorldTime>().unwrap());
        let mut dated: Vec<_> = all.iter().filter(|held| {
            let stated = held.fact.validity;
            stated.from.is_some() && since.start_micros() < stated.ends_at() && stated.starts_at() < until.end_micros()
        }).collect();
        dated.sort_by_key(|held| (held.fact.validity.starts_at(), held.fact.validity.ends_at(), held.fact.id));
        assert_eq!(line["total"], dated.len());
        // Its name has no date either.
        assert_eq!(line["undated"], all.iter().filter(|held| held.fact.validity.from.is_none()).count() + 1);
        let first: Vec<String> = dated.iter().take(300).map(|held| held.fact.id.to_string()).collect();
        assert_eq!(ids(&line["facts"]), first);
        assert_eq!(owned["matched_facts"], all.iter().filter(|held| held.side == ledger::Side::Subject).count());
    }

    async fn a_thing_with_thousands_of_facts_does_not_tell_what_the_reader_may_not_see(app: &App) {
        let hub = app.hub().await;
        let before = app.told("entity_facts", json!({ "entity_id": hub })).await;
        let added = app.editor().add("memo.md", "# Memo\n\nAnn works at Acme.", json!({ "least_role": "editor" })).await.unwrap();
        app.work().await;
        app.tick();
        let found = app.editor().call("search_chunks", json!({ "query": "works at Acme" })).await.unwrap();
        let chunk = found.json["chunks"][0]["chunk_id"].clone();
        let ann = app.wrote_entity("Ann").await;
        app.admin().call("assert_fact", json!({ "subject_id": ann, "predicate": "works at", "object_id": hub,
            "valid_from": "2020", "evidence": [{ "chunk_id": chunk, "quote": "Ann works at Acme" }] })).await.unwrap();

        let hidden = app.told("entity_facts", json!({ "entity_id": hub })).await;
        let seen = app.editor().call("entity_facts", json!({ "entity_id": hub })).await.unwrap().json;

        assert!(added.json["document_id"].is_string());
        assert_eq!(hidden["total_facts"], before["total_facts"]);
        assert_eq!(hidden["facts"], before["facts"]);
        assert_eq!(seen["total_facts"], before["total_facts"].as_u64().unwrap() + 1);
    }

    /// One dangling edge made a restore roll back, and relation classes were dropped on the way
    /// (nowledge 549, engram 1231): what dangles is named, and nothing else is lost for it.
    async fn a_dangling_fact_is_reported_and_takes_nothing_with_it(app: &App) {
        let leads = relation(3, "leads", true, false);
        app.lay(2, std::slice::from_ref(&leads)).await;
        let ids = || Uuid::from_u128(77);
        let decision = Decision { kb: app.kb, decider: Decider::default(), now: at(0), ids: &ids };
        let mut tx = app.core.db.write(app.tenant).await.unwrap();
        let claim = assertion(thing(0), leads.id, Object::Entity(thing(1)), (Some(2020), None));
        let kept = ledger::assert(&mut tx, &decision, &claim).await.unwrap();
        let mut dangling = facts::find(&mut tx, app.kb, kept.fact).await.unwrap().unwrap();
        dangling.id = FactId::new(Uuid::from_u128(78));
        dangling.subject = thing(999);
        facts::insert(&mut tx, app.kb, &[dangling]).await.unwrap();
        tx.commit().await.unwrap();

        let mut tx = app.core.db.read(app.tenant).await.unwrap();
        let mut said = Vec::new();
        for rule in faults::rules() {
            let broken = faults::broken(&mut tx, app.kb, rule).await.unwrap();
            said.extend(broken.map(|broken| (broken.says, broken.places)));
        }
        drop(tx);

        let fact = format!("fact {}", Uuid::from_u128(78));
        let about = format!("{fact}, subject {}", thing(999));
        assert_eq!(said, [
            ("facts about an entity that is not there", vec![about]),
            ("facts that are held and whose time is not read out", vec![fact]),
        ]);
        let facts = app.told("entity_facts", json!({ "entity_id": thing(1) })).await;
        assert_eq!(crate::hubs::ids(&facts["facts"]), [kept.fact.to_string()]);
        assert_eq!(facts["facts"][0]["predicate_key"], "leads");
    }
}

/// The value of a single-valued attribute, as it would be of a price or a weight.
#[tokio::test]
async fn asserting_many_values_of_one_attribute_reads_no_more_for_the_last_than_for_the_first() {
    let app = App::sqlite().await;
    let mut price = relation(4, "price", true, false);
    price.kind = RelationKind::Attribute;
    app.lay(1, std::slice::from_ref(&price)).await;
    let mut tx = app.core.db.write(app.tenant).await.unwrap();
    let mut counts = Vec::new();
    for number in 0..400_u128 {
        let ids = || Uuid::from_u128((5 << 64) + number);
        let decision = Decision {
            kb: app.kb,
            decider: Decider::default(),
            now: at(0),
            ids: &ids,
        };
        let value = Object::Value(Value {
            value: json!(u64::try_from(number).unwrap()),
            unit: None,
        });
        let year = 1000 + i32::try_from(number).unwrap();
        let claim = assertion(thing(0), price.id, value, (Some(year), None));
        let recording = app.core.db.record_statements();
        ledger::assert(&mut tx, &decision, &claim).await.unwrap();
        counts.push(recording.statements().len());
    }
    assert_eq!(counts[399], counts[40], "{counts:?}");
}
