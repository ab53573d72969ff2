//! Random histories of the ledger, read on both engines and from a plain list of what was done.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

use engine::ledger::{self, Assertion, Decision, NewEntity};
use model::fact::{Bound, End, Fact, Object, Rank, Temporality, Validity, Value};
use model::holds::{Claim, Reading, read_out};
use model::identity::{Identity, Link};
use model::ontology::{Axioms, Datatype, RelationKind, RelationType};
use model::time::Interval;
use model::{EntityId, EventId, FactId, KbId, RecordTime, RelationTypeId, Visibility, WorldTime};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use store::bases::{self, Base};
use store::entities::KindSource;
use store::events::Decider;
use store::fact_holds::View;
use store::{Db, ontology};
use uuid::Uuid;

use crate::app::App;

const THINGS: u8 = 4;
const RELATIONS: u8 = 6;

/// One decision.
#[derive(Debug, Clone)]
pub enum Step {
    Assert(Saying),
    /// Corrects the nth claim that was ever recorded.
    Correct(u8, Saying),
    Retract(u8),
    Merge(u8, u8),
    /// Takes back the nth merge.
    Unmerge(u8),
}

#[derive(Debug, Clone)]
pub struct Saying {
    subject: u8,
    relation: u8,
    object: u8,
    from: Option<u16>,
    to: Ending,
    rank: Rank,
}

#[derive(Debug, Clone, Copy)]
pub enum Ending {
    Open,
    Unknown,
    After(u8),
}

fn saying() -> impl Strategy<Value = Saying> {
    let ending = prop_oneof![
        3 => Just(Ending::Open),
        1 => Just(Ending::Unknown),
        2 => (0_u8..4).prop_map(Ending::After),
    ];
    let rank = prop_oneof![5 => Just(Rank::Normal), 1 => Just(Rank::Deprecated)];
    let from = prop::option::weighted(0.8, 2000_u16..2006);
    (0..THINGS, 0..RELATIONS, 0..THINGS, from, ending, rank).prop_map(
        |(subject, relation, object, from, to, rank)| Saying {
            subject,
            relation,
            object,
            from,
            to,
            rank,
        },
    )
}

pub fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => saying().prop_map(Step::Assert),
        2 => (any::<u8>(), saying()).prop_map(|(which, saying)| Step::Correct(which, saying)),
        1 => any::<u8>().prop_map(Step::Retract),
        2 => (0..THINGS, 0..THINGS).prop_map(|(keep, fold)| Step::Merge(keep, fold)),
        1 => any::<u8>().prop_map(Step::Unmerge),
    ]
}

/// The relations of the world: single-valued, many-valued, single-valued from either end,
/// an event, an eternal one, and an attribute.
fn relation(kb: KbId, number: u8) -> RelationType {
    let axioms = |functional, inverse_functional| Axioms {
        functional,
        inverse_functional,
        ..Axioms::default()
    };
    let (temporality, axioms) = match number {
        0 | 5 => (Temporality::State, axioms(true, false)),
        1 => (Temporality::State, axioms(false, false)),
        2 => (Temporality::State, axioms(true, true)),
        3 => (Temporality::Event, axioms(false, false)),
        _ => (Temporality::Eternal, axioms(false, false)),
    };
    let is_attribute = number == 5;
    let id = RelationTypeId::new(Uuid::new_v5(&kb.uuid(), &[number]));
    RelationType {
        kind: if is_attribute {
            RelationKind::Attribute
        } else {
            RelationKind::Relation
        },
        temporality,
        axioms,
        datatype: is_attribute.then_some(Datatype::Number),
        ..RelationType::plain(id, &format!("r{number}"), at(0))
    }
}

pub const fn at(micros: i64) -> RecordTime {
    RecordTime::from_micros(1_772_323_200_000_000 + micros)
}

/// What was done, as a plain list.
#[derive(Debug, Clone, Default)]
pub struct Plain {
    pub facts: Vec<Fact>,
    /// The link, from when, until when, and the decision that made it.
    links: Vec<(Link, RecordTime, Option<RecordTime>, EventId)>,
}

impl Plain {
    fn identity(&self, as_of: RecordTime) -> Identity {
        let held = self
            .links
            .iter()
            .filter(|(_, from, to, _)| *from <= as_of && to.is_none_or(|to| as_of < to));
        Identity::of(held.map(|(link, ..)| *link))
    }

    /// For when each claim held at a moment holds, worked out from nothing but the list.
    fn holds(&self, kb: KbId, as_of: RecordTime) -> BTreeMap<FactId, Option<Interval>> {
        let identity = self.identity(as_of);
        let held: Vec<&Fact> = self
            .facts
            .iter()
            .filter(|fact| fact.held_at(as_of))
            .collect();
        let mut read = BTreeMap::new();
        for number in 0..RELATIONS {
            let relation = relation(kb, number);
            let of: Vec<&&Fact> = held
                .iter()
                .filter(|fact| fact.predicate == Some(relation.id))
                .collect();
            for fact in &of {
                let subject = |other: &Fact| identity.canonical(other.subject);
                let object = |other: &Fact| match &other.object {
                    Object::Entity(id) => Object::Entity(identity.canonical(*id)).key(),
                    Object::Value(value) => value.key(),
                };
                let alone = reading(&relation, false, &[fact], |one| object(one))[0];
                let mut interval = alone;
                if relation.axioms.functional {
                    let group: Vec<&Fact> = of
                        .iter()
                        .filter(|other| subject(other) == subject(fact))
                        .map(|other| **other)
                        .collect();
                    let place = group.iter().position(|other| other.id == fact.id).unwrap();
                    let together = reading(&relation, true, &group, |one| object(one))[place];
                    interval = shared(interval, together);
                }
                if relation.axioms.inverse_functional {
                    let group: Vec<&Fact> = of
                        .iter()
                        .filter(|other| object(other) == object(fact))
                        .map(|other| **other)
                        .collect();
                    let place = group.iter().position(|other| other.id == fact.id).unwrap();
                    let says = |one: &Fact| subject(one).to_string();
                    let together = reading(&relation, true, &group, says)[place];
                    interval = shared(interval, together);
                }
                read.insert(fact.id, interval);
            }
        }
        read
    }

    /// What is seen of a thing: for each claim its id and its ends as they were known.
    fn seen(&self, kb: KbId, thing: EntityId, view: View) -> BTreeSet<Seen> {
        let identity = self.identity(view.as_of);
        let holds = self.holds(kb, view.as_of);
        let members = identity.members(thing);
        let mut seen = BTreeSet::new();
        for fact in self.facts.iter().filter(|fact| fact.held_at(view.as_of)) {
            let interval = holds[&fact.id];
            let is_seen = match (view.at, interval) {
                (None, _) => true,
                (Some(at), Some(interval)) => at.overlaps(interval),
                (Some(_), None) => false,
            };
            let object = fact.object.entity();
            for (end, side) in [(Some(fact.subject), "out"), (object, "in")] {
                if is_seen && end.is_some_and(|end| members.contains(&end)) {
                    seen.insert((
                        fact.id,
                        side,
                        identity.canonical(fact.subject),
                        object.map(|object| identity.canonical(object)),
                    ));
                }
            }
        }
        seen
    }
}

type Seen = (FactId, &'static str, EntityId, Option<EntityId>);

fn shared(one: Option<Interval>, other: Option<Interval>) -> Option<Interval> {
    one?.intersection(other?)
}

fn reading(
    relation: &RelationType,
    single_valued: bool,
    facts: &[&Fact],
    says: impl Fn(&Fact) -> String,
) -> Vec<Option<Interval>> {
    let claims: Vec<Claim> = facts
        .iter()
        .map(|fact| Claim {
            id: fact.id,
            says: says(fact),
            validity: fact.validity,
            rank: fact.rank,
            attested: None,
        })
        .collect();
    let reading = Reading {
        temporality: relation.temporality,
        single_valued,
    };
    read_out(&claims, reading)
}

/// A base on one engine with its things.
pub struct World<'a> {
    db: &'a Db,
    app: &'a App,
    pub kb: KbId,
    pub things: Vec<EntityId>,
    next: AtomicU64,
}

impl<'a> World<'a> {
    pub async fn new(app: &'a App, case: u64) -> World<'a> {
        let kb = KbId::new(Uuid::from_u128(1_000_000 + u128::from(case)));
        let db = &app.core.db;
        let mut tx = db.write(app.tenant).await.unwrap();
        let base = Base {
            id: kb,
            name: "Facts".to_owned(),
            slug: format!("facts-{case}"),
            visibility: Visibility::Restricted,
            created_at: at(0),
            clock: at(0),
        };
        bases::insert(&mut tx, &base).await.unwrap();
        for number in 0..RELATIONS {
            ontology::insert_relation(&mut tx, kb, &relation(kb, number))
                .await
                .unwrap();
        }
        let mut world = World {
            db,
            app,
            kb,
            things: Vec::new(),
            next: AtomicU64::new(1),
        };
        let ids = || world.fresh();
        let mut things = Vec::new();
        for number in 0..THINGS {
            let new = NewEntity {
                name: format!("Thing {number}"),
                kind: None,
                source: KindSource::Human,
            };
            let decision = world.decision(&ids, at(1 + i64::from(number)));
            things.push(
                ledger::add_entity(&mut tx, &decision, &new)
                    .await
                    .unwrap()
                    .0,
            );
        }
        tx.commit().await.unwrap();
        world.things = things;
        world
    }

    fn fresh(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.next.fetch_add(1, Ordering::Relaxed)))
    }

    fn decision<'d>(&self, ids: &'d (dyn Fn() -> Uuid + Sync), now: RecordTime) -> Decision<'d> {
        Decision {
            kb: self.kb,
            decider: Decider::default(),
            now,
            ids,
        }
    }

    fn thing(&self, number: u8) -> EntityId {
        self.things[usize::from(number)]
    }

    fn assertion(&self, saying: &Saying) -> Option<Assertion> {
        let relation = relation(self.kb, saying.relation);
        let year = |year: u16| Bound::on(year.to_string().parse::<WorldTime>().unwrap());
        let validity = match relation.temporality {
            Temporality::Eternal => Validity::default(),
            Temporality::Event => Validity {
                from: saying.from.map(year),
                to: End::Open,
            },
            Temporality::State => Validity {
                from: saying.from.map(year),
                to: match saying.to {
                    Ending::Open => End::Open,
                    Ending::Unknown => End::Unknown,
                    Ending::After(years) => {
                        End::On(year(saying.from.unwrap_or(2000) + u16::from(years)))
                    }
                },
            },
        };
        validity.checked(relation.temporality).ok()?;
        Some(Assertion {
            subject: self.thing(saying.subject),
            predicate: Some(relation.id),
            object: match relation.kind {
                RelationKind::Relation => Object::Entity(self.thing(saying.object)),
                RelationKind::Attribute => Object::Value(Value {
                    value: saying.object.into(),
                    unit: None,
                }),
            },
            wording: None,
            rank: saying.rank,
            validity,
            date_text: None,
            calendar: None,
            confidence: 1.0,
            qualifiers: Vec::new(),
            evidence: Vec::new(),
        })
    }

    /// Takes a step in the ledger; what it did goes to the list, if there is one.
    pub async fn take(&self, step: &Step, now: RecordTime, plain: &Plain) -> Plain {
        let mut after = plain.clone();
        let mut tx = self.db.write(self.app.tenant).await.unwrap();
        let ids = || self.fresh();
        let decision = self.decision(&ids, now);
        let done = match step {
            Step::Assert(saying) => {
                let Some(assertion) = self.assertion(saying) else {
                    return after;
                };
                let asserted = ledger::assert(&mut tx, &decision, &assertion)
                    .await
                    .unwrap();
                if !asserted.was_held {
                    after.facts.push(fact(asserted.fact, &assertion, now, None));
                }
                true
            }
            Step::Correct(which, saying) => {
                let former = nth(&plain.facts, *which).map(|fact| fact.id);
                let (Some(former), Some(assertion)) = (former, self.assertion(saying)) else {
                    return after;
                };
                match ledger::correct(&mut tx, &decision, former, assertion.clone()).await {
                    Ok(corrected) => {
                        close(&mut after, former, now);
                        let new = fact(corrected.fact, &assertion, now, Some(former));
                        after.facts.push(new);
                        true
                    }
                    Err(refused) => refused_only(&refused),
                }
            }
            Step::Retract(which) => {
                let Some(former) = nth(&plain.facts, *which).map(|fact| fact.id) else {
                    return after;
                };
                match ledger::retract(&mut tx, &decision, former, None).await {
                    Ok(_) => {
                        close(&mut after, former, now);
                        true
                    }
                    Err(refused) => refused_only(&refused),
                }
            }
            Step::Merge(keep, fold) => {
                let pair = (self.thing(*keep), self.thing(*fold));
                match ledger::merge(&mut tx, &decision, pair, None).await {
                    Ok(merged) => {
                        let link = Link {
                            keep: merged.keep,
                            fold: merged.fold,
                        };
                        after.links.push((link, now, None, merged.event));
                        true
                    }
                    Err(refused) => refused_only(&refused),
                }
            }
            Step::Unmerge(which) => {
                let Some(&(_, _, _, event)) = nth(&plain.links, *which) else {
                    return after;
                };
                match ledger::unmerge(&mut tx, &decision, event, None).await {
                    Ok(_) => {
                        let link = after.links.iter_mut().find(|link| link.3 == event);
                        link.unwrap().2 = Some(now);
                        true
                    }
                    Err(refused) => refused_only(&refused),
                }
            }
        };
        if done {
            tx.commit().await.unwrap();
        }
        after
    }

    /// What the ledger shows of a thing, names left out, equal claims each by itself.
    async fn seen(&self, thing: EntityId, view: View) -> BTreeSet<Seen> {
        let mut tx = self.db.read(self.app.tenant).await.unwrap();
        let found = ledger::facts_of(&mut tx, self.kb, thing, view)
            .await
            .unwrap();
        let known_as = RelationType::known_as_id(self.kb);
        let mut seen = BTreeSet::new();
        for held in found.unwrap().facts {
            if held.fact.predicate == Some(known_as) {
                continue;
            }
            let side = match held.side {
                ledger::Side::Subject => "out",
                ledger::Side::Object => "in",
            };
            for id in std::iter::once(held.fact.id).chain(held.same_as) {
                seen.insert((id, side, held.subject, held.object));
            }
        }
        seen
    }
}

/// A refusal changes nothing; whatever else went wrong is a fault.
fn refused_only(refused: &model::Error) -> bool {
    assert_eq!(refused.code, model::Code::Conflict, "{refused:?}");
    false
}

fn nth<T>(list: &[T], which: u8) -> Option<&T> {
    (!list.is_empty()).then(|| &list[usize::from(which) % list.len()])
}

fn close(plain: &mut Plain, id: FactId, now: RecordTime) {
    let fact = plain.facts.iter_mut().find(|fact| fact.id == id).unwrap();
    fact.invalidated_at = Some(now);
}

fn fact(id: FactId, assertion: &Assertion, now: RecordTime, supersedes: Option<FactId>) -> Fact {
    Fact {
        id,
        subject: assertion.subject,
        predicate: assertion.predicate,
        object: assertion.object.clone(),
        wording: None,
        rank: assertion.rank,
        validity: assertion.validity,
        date_text: None,
        calendar: None,
        confidence: 1.0,
        recorded_at: now,
        invalidated_at: None,
        supersedes,
    }
}

/// Which thing, in which year, at which moment of record.
type Ask = (u8, Option<u16>, u8);

pub const BEGUN: i64 = 100;

async fn agree(
    apps: &[App],
    case: u64,
    (steps, asks): (&[Step], &[Ask]),
) -> Result<(), TestCaseError> {
    for app in apps {
        let world = World::new(app, case).await;
        let mut plain = Plain::default();
        for (n, step) in (0..).zip(steps) {
            let now = at(BEGUN + 10 * n);
            let before = world
                .seen(
                    world.thing(0),
                    View {
                        at: None,
                        as_of: at(BEGUN + 10 * n - 1),
                    },
                )
                .await;
            plain = world.take(step, now, &plain).await;
            let after = world
                .seen(
                    world.thing(0),
                    View {
                        at: None,
                        as_of: at(BEGUN + 10 * n - 1),
                    },
                )
                .await;
            prop_assert_eq!(before, after, "a step changed what was held before it");
        }
        for (thing, year, moment) in asks {
            let view = View {
                at: year.map(|year| year.to_string().parse::<WorldTime>().unwrap().interval()),
                // Before the first step, at steps and between them, and after the last.
                as_of: at(BEGUN - 5 + 5 * i64::from(*moment)),
            };
            let thing = world.thing(*thing);
            prop_assert_eq!(
                world.seen(thing, view).await,
                plain.seen(world.kb, thing, view),
                "{} {:?}",
                app.core.db.engine_name(),
                view
            );
        }
        maintained(app, &world, &plain).await?;
    }
    Ok(())
}

/// What is stored of when claims hold is what the list gives, at every moment.
async fn maintained(app: &App, world: &World<'_>, plain: &Plain) -> Result<(), TestCaseError> {
    let mut moments: BTreeSet<RecordTime> = BTreeSet::new();
    moments.extend(plain.facts.iter().map(|fact| fact.recorded_at));
    moments.extend(plain.facts.iter().filter_map(|fact| fact.invalidated_at));
    moments.extend(plain.links.iter().map(|link| link.1));
    moments.extend(plain.links.iter().filter_map(|link| link.2));
    let mut tx = app.core.db.read(app.tenant).await.unwrap();
    for as_of in moments {
        let view = View { at: None, as_of };
        let stored: BTreeMap<FactId, Option<Interval>> =
            store::fact_holds::of_subjects(&mut tx, world.kb, &world.things, view)
                .await
                .unwrap()
                .into_iter()
                .filter(|held| held.fact.predicate != Some(RelationType::known_as_id(world.kb)))
                .map(|held| (held.fact.id, held.holds))
                .collect();
        prop_assert_eq!(
            &stored,
            &plain.holds(world.kb, as_of),
            "{} as of {}",
            app.core.db.engine_name(),
            as_of
        );
    }
    Ok(())
}

#[test]
fn the_ledger_shows_at_any_two_times_what_a_plain_list_of_decisions_shows() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let history = (
        prop::collection::vec(step(), 1..14),
        prop::collection::vec(
            (0..THINGS, prop::option::of(1999_u16..2010), 0_u8..32),
            1..8,
        ),
    );
    for (app, cases) in [
        (Some(runtime.block_on(App::sqlite())), cases(256)),
        (runtime.block_on(App::postgres()), cases(64)),
    ] {
        let Some(app) = app else { continue };
        let apps = [app];
        let case = Cell::new(0_u64);
        let config = Config {
            cases,
            failure_persistence: None,
            ..Config::default()
        };
        let tried = TestRunner::new(config).run(&history, |(steps, asks)| {
            case.set(case.get() + 1);
            runtime.block_on(agree(&apps, case.get(), (&steps, &asks)))
        });
        if let Err(failed) = tried {
            panic!("{failed}");
        }
    }
}

/// How many histories are tried: `QUIPU_SOAK_CASES` instead of the usual number.
pub fn cases(usual: u32) -> u32 {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests are told by the environment how long to try"
    )]
    let asked = std::env::var("QUIPU_SOAK_CASES").ok();
    asked.and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}
