//! Wikidata12k and YAGO11k (temporal facts of Wikidata and of YAGO, as temporal link prediction
//! reads them), asserted in random order and read at random moments of both clocks.
//!
//! The sets lie in `$QUIPU_CORPORA/temporal-facts`; without it nothing is replayed. A part is
//! tried by default; `QUIPU_SOAK_READS=10000` replays all facts and reads so many times.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use engine::ledger::{self, Assertion, Decision};
use model::fact::{Bound, End, Fact, Object, Rank, Temporality, Validity};
use model::holds::{Claim, read_out};
use model::ontology::{Axioms, RelationType};
use model::time::Interval;
use model::{EntityId, FactId, KbId, Precision, RecordTime, RelationTypeId, WorldTime};
use store::events::Decider;
use store::fact_holds::View;
use store::{entities, ontology};
use uuid::Uuid;

use crate::app::App;

/// Facts and reads that are tried unless all are asked for.
const FACTS: usize = 2_500;
const READS: usize = 400;
/// Facts of one transaction.
const BATCH: usize = 500;

/// A record of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Record {
    subject: u32,
    relation: u32,
    object: u32,
    from: Stated,
    to: Stated,
}

/// A date as the sets write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stated {
    /// `####-##-##`
    Missing,
    /// A date, or a range that it lies in: `19##-##-##` is one of a hundred years.
    On(Bound),
    /// No date: `194-01959-04`.
    Unreadable,
}

/// Reads a date: `1861-##-##` a year, `360-##-##` the year 360, `-405-##-##` the year 405 before
/// Christ, which has no year 0 before the year 1.
fn stated(text: &str) -> Stated {
    let (before_christ, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let parts: Vec<&str> = digits.split('-').collect();
    let [year, month, day] = parts[..] else {
        return Stated::Unreadable;
    };
    if year.bytes().all(|byte| byte == b'#') {
        return Stated::Missing;
    }
    let written = |year: &str| -> Option<String> {
        let year: i32 = year.parse().ok()?;
        let year = if before_christ { 1 - year } else { year };
        let sign = if year < 0 { "-" } else { "" };
        Some(format!("{sign}{:04}", year.unsigned_abs()))
    };
    if year.contains('#') {
        let ends = ["0", "9"].map(|digit| written(&year.replace('#', digit)));
        let [Some(one), Some(other)] = ends.map(|end| end?.parse::<WorldTime>().ok()) else {
            return Stated::Unreadable;
        };
        return Bound::between(one, other).map_or(Stated::Unreadable, Stated::On);
    }
    let Some(mut date) = written(year) else {
        return Stated::Unreadable;
    };
    for part in [month, day] {
        if part == "##" {
            break;
        }
        date = format!("{date}-{part}");
    }
    match date.parse() {
        Ok(date) => Stated::On(Bound::on(date)),
        Err(_) => Stated::Unreadable,
    }
}

/// The records of a set: every line of five columns of any of its files.
fn records(set: &Path) -> Vec<Record> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(set)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    let mut records = Vec::new();
    for file in files {
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let columns: Vec<&str> = line.split('\t').collect();
            let [subject, relation, object, from, to] = columns[..] else {
                continue;
            };
            let (Ok(subject), Ok(relation), Ok(object)) =
                (subject.parse(), relation.parse(), object.parse())
            else {
                continue;
            };
            records.push(Record {
                subject,
                relation,
                object,
                from: stated(from),
                to: stated(to),
            });
        }
    }
    records
}

/// Numbers that a seed gives, one after another (SplitMix64; Steele, Lea and Flood, 2014).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for place in (1..list.len()).rev() {
            list.swap(place, self.below(place + 1));
        }
    }
}

const BEGIN: i64 = 1_772_400_000_000_000;

const fn at(micros: i64) -> RecordTime {
    RecordTime::from_micros(BEGIN + micros)
}

/// A set in a base, and the plain list of what was asserted.
struct Replay<'a> {
    app: &'a App,
    kb: KbId,
    /// What a missing end says: that it goes on, or that nobody knows when it ended.
    missing_end: End,
    facts: Vec<Fact>,
    by_thing: HashMap<EntityId, Vec<usize>>,
    refused: usize,
    unreadable: usize,
}

impl Replay<'_> {
    fn entity(&self, number: u32) -> EntityId {
        EntityId::new(Uuid::new_v5(&self.kb.uuid(), &number.to_be_bytes()))
    }

    /// Every third relation has one value at a time; every fourth of the others is an event.
    fn relation(&self, number: u32) -> RelationType {
        let functional = number.is_multiple_of(3);
        let name = format!("relation-{number}");
        let id = RelationTypeId::new(Uuid::new_v5(&self.kb.uuid(), name.as_bytes()));
        RelationType {
            temporality: if !functional && number % 4 == 1 {
                Temporality::Event
            } else {
                Temporality::State
            },
            axioms: Axioms {
                functional,
                ..Axioms::default()
            },
            ..RelationType::plain(id, &name, at(0))
        }
    }

    async fn lay(&self, records: &[Record]) {
        let mut tx = self.app.core.db.write(self.app.tenant).await.unwrap();
        let ends = records.iter().flat_map(|one| [one.subject, one.object]);
        let things: BTreeSet<u32> = ends.collect();
        let things: Vec<EntityId> = things.into_iter().map(|one| self.entity(one)).collect();
        entities::insert(&mut tx, self.kb, &things, at(0))
            .await
            .unwrap();
        let relations: BTreeSet<u32> = records.iter().map(|one| one.relation).collect();
        for number in relations {
            let relation = self.relation(number);
            ontology::insert_relation(&mut tx, self.kb, &relation)
                .await
                .unwrap();
        }
        tx.commit().await.unwrap();
    }

    /// The record's validity; none if a date of it cannot be read.
    fn validity(&self, record: &Record) -> Option<Validity> {
        let from = match record.from {
            Stated::Missing => None,
            Stated::On(bound) => Some(bound),
            Stated::Unreadable => return None,
        };
        let to = match record.to {
            Stated::Missing => self.missing_end,
            Stated::On(bound) => End::On(bound),
            Stated::Unreadable => return None,
        };
        Some(Validity { from, to })
    }

    async fn assert_all(&mut self, records: &[Record]) {
        let mut now = 10;
        for batch in records.chunks(BATCH) {
            let mut tx = self.app.core.db.write(self.app.tenant).await.unwrap();
            for record in batch {
                now += 10;
                let Some(validity) = self.validity(record) else {
                    self.unreadable += 1;
                    continue;
                };
                let relation = self.relation(record.relation);
                if validity.checked(relation.temporality).is_err() {
                    self.refused += 1;
                    continue;
                }
                let assertion = Assertion {
                    subject: self.entity(record.subject),
                    predicate: Some(relation.id),
                    object: Object::Entity(self.entity(record.object)),
                    wording: None,
                    rank: Rank::Normal,
                    validity,
                    date_text: None,
                    calendar: None,
                    confidence: 1.0,
                    qualifiers: Vec::new(),
                    evidence: Vec::new(),
                };
                let ids = || Uuid::new_v5(&self.kb.uuid(), format!("fact {now}").as_bytes());
                let decision = Decision {
                    kb: self.kb,
                    decider: Decider::default(),
                    now: at(now),
                    ids: &ids,
                };
                let done = ledger::assert(&mut tx, &decision, &assertion)
                    .await
                    .unwrap();
                assert_eq!(done.recorded_at, at(now), "{record:?} was held already");
                self.list(Fact {
                    id: done.fact,
                    subject: assertion.subject,
                    predicate: assertion.predicate,
                    object: assertion.object,
                    wording: None,
                    rank: Rank::Normal,
                    validity,
                    date_text: None,
                    calendar: None,
                    confidence: 1.0,
                    recorded_at: at(now),
                    invalidated_at: None,
                    supersedes: None,
                });
            }
            tx.commit().await.unwrap();
        }
    }

    fn list(&mut self, fact: Fact) {
        let place = self.facts.len();
        for thing in [Some(fact.subject), fact.object.entity()]
            .into_iter()
            .flatten()
        {
            let places = self.by_thing.entry(thing).or_default();
            if places.last() != Some(&place) {
                places.push(place);
            }
        }
        self.facts.push(fact);
    }

    /// For when a fact holds among those held at a moment, worked out from the list alone.
    fn holds(&self, relations: &Relations, fact: &Fact, as_of: RecordTime) -> Option<Interval> {
        let relation = &relations[&fact.predicate.unwrap()];
        let beside: Vec<&Fact> = self.by_thing[&fact.subject]
            .iter()
            .map(|&place| &self.facts[place])
            .filter(|other| other.subject == fact.subject && other.predicate == fact.predicate)
            .filter(|other| other.held_at(as_of))
            .collect();
        let claims: Vec<Claim> = beside
            .iter()
            .map(|other| Claim {
                id: other.id,
                says: other.object.key(),
                validity: other.validity,
                rank: other.rank,
                attested: None,
            })
            .collect();
        let place = beside.iter().position(|other| other.id == fact.id).unwrap();
        read_out(&claims, relation.reading())[place]
    }

    fn listed(&self, relations: &Relations, thing: EntityId, view: View) -> BTreeMap<Key, Seen> {
        let mut seen = BTreeMap::new();
        for &place in &self.by_thing[&thing] {
            let fact = &self.facts[place];
            if !fact.held_at(view.as_of) {
                continue;
            }
            let holds = self.holds(relations, fact, view.as_of);
            let is_seen = match (view.at, holds) {
                (None, _) => true,
                (Some(at), Some(holds)) => at.overlaps(holds),
                (Some(_), None) => false,
            };
            let ends = [(Some(fact.subject), "out"), (fact.object.entity(), "in")];
            for (_, side) in ends.into_iter().filter(|(end, _)| *end == Some(thing)) {
                if is_seen {
                    seen.insert((fact.id, side), (holds, fact.validity));
                }
            }
        }
        seen
    }

    async fn shown(&self, thing: EntityId, view: View) -> BTreeMap<Key, Seen> {
        let mut tx = self.app.core.db.read(self.app.tenant).await.unwrap();
        let found = ledger::facts_of(&mut tx, self.kb, thing, view)
            .await
            .unwrap();
        let mut seen = BTreeMap::new();
        for held in found.unwrap().facts {
            let side = match held.side {
                ledger::Side::Subject => "out",
                ledger::Side::Object => "in",
            };
            assert_eq!(held.same_as, [], "no two records are equal");
            seen.insert((held.fact.id, side), (held.holds, held.fact.validity));
        }
        seen
    }

    async fn read_at_random(&self, reads: usize, chance: &mut Chance) {
        let numbers: BTreeSet<Option<RelationTypeId>> =
            self.facts.iter().map(|fact| fact.predicate).collect();
        let relations: Relations = (0..64)
            .map(|number| self.relation(number))
            .filter(|relation| numbers.contains(&Some(relation.id)))
            .map(|relation| (relation.id, relation))
            .collect();
        let last = self.facts.last().unwrap().recorded_at.micros() - BEGIN;
        for read in 0..reads {
            let fact = &self.facts[chance.below(self.facts.len())];
            let thing = match chance.below(2) {
                0 => fact.subject,
                _ => fact.object.entity().unwrap(),
            };
            // Dates near one that is stated find more than dates anywhere.
            let near = fact
                .validity
                .from
                .map_or(1990, |from| from.earliest().year());
            let year = near + i32::try_from(chance.below(31)).unwrap() - 15;
            let date = match chance.below(4) {
                0 => None,
                1 => date(year, ""),
                2 => date(year, "-06"),
                _ => date(year, "-02-28"),
            };
            let view = View {
                at: date.map(WorldTime::interval),
                as_of: at(
                    i64::try_from(chance.below(usize::try_from(last + 20).unwrap())).unwrap(),
                ),
            };
            assert_eq!(
                self.shown(thing, view).await,
                self.listed(&relations, thing, view),
                "read {read}: {thing} at {date:?}, {view:?}"
            );
        }
    }
}

type Relations = BTreeMap<RelationTypeId, RelationType>;
type Key = (FactId, &'static str);
type Seen = (Option<Interval>, Validity);

fn date(year: i32, rest: &str) -> Option<WorldTime> {
    let sign = if year < 0 { "-" } else { "" };
    format!("{sign}{:04}{rest}", year.unsigned_abs())
        .parse()
        .ok()
}

/// How many reads are asked for, if all facts are.
fn asked() -> Option<usize> {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests are told by the environment how long to try"
    )]
    let asked = std::env::var("QUIPU_SOAK_READS").ok();
    asked.and_then(|reads| reads.parse().ok())
}

fn corpus() -> Option<PathBuf> {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests are told by the environment where things are"
    )]
    let corpora = std::env::var_os("QUIPU_CORPORA");
    let folder = corpora.map(|corpora| PathBuf::from(corpora).join("temporal-facts"));
    let found = folder.filter(|folder| folder.is_dir());
    if found.is_none() {
        println!("skipped: QUIPU_CORPORA names no folder with `temporal-facts` in it");
    }
    found
}

async fn replay(app: &App, set: &Path, seed: u64) {
    let name = set.file_name().unwrap().to_string_lossy().into_owned();
    let mut chance = Chance(seed);
    let mut records = records(set);
    assert!(
        1_000 < records.len(),
        "{name} has {} records",
        records.len()
    );
    chance.shuffle(&mut records);
    if asked().is_none() {
        // The odd dates are few: they are tried each time.
        let is_odd = |record: &Record| {
            let odd = |stated: Stated| match stated {
                Stated::On(bound) => {
                    bound.earliest().year() < 1000 || bound.earliest() != bound.latest()
                }
                Stated::Missing => false,
                Stated::Unreadable => true,
            };
            odd(record.from) || odd(record.to)
        };
        let (mut few, usual): (Vec<Record>, Vec<Record>) = records.into_iter().partition(is_odd);
        few.extend(usual.into_iter().take(FACTS));
        chance.shuffle(&mut few);
        records = few;
    }
    let mut replay = Replay {
        app,
        kb: app.kb,
        missing_end: if name.starts_with("wikidata") {
            End::Open
        } else {
            End::Unknown
        },
        facts: Vec::new(),
        by_thing: HashMap::new(),
        refused: 0,
        unreadable: 0,
    };
    replay.lay(&records).await;
    replay.assert_all(&records).await;
    let reads = asked().unwrap_or(READS);
    replay.read_at_random(reads, &mut chance).await;

    let listed = replay.facts.len();
    assert_eq!(listed + replay.refused + replay.unreadable, records.len());
    let engine = app.core.db.engine_name();
    println!(
        "{name} on {engine}: {listed} facts in random order, {reads} reads without a difference; \
         {} with an end before their beginning or an event without its date refused, {} with no \
         date that can be read left out",
        replay.refused, replay.unreadable
    );
}

async fn replay_all(app: impl AsyncFn() -> Option<App>) {
    let Some(corpus) = corpus() else { return };
    let mut sets: Vec<PathBuf> = std::fs::read_dir(corpus)
        .unwrap()
        .map(|set| set.unwrap().path())
        .filter(|set| set.is_dir())
        .collect();
    sets.sort();
    assert!(!sets.is_empty());
    for (set, seed) in sets.iter().zip(1..) {
        let Some(app) = app().await else { return };
        replay(&app, set, seed).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn public_facts_in_random_order_are_read_as_a_plain_list_of_them_on_sqlite() {
    replay_all(async || Some(App::sqlite().await)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn public_facts_in_random_order_are_read_as_a_plain_list_of_them_on_postgres() {
    replay_all(App::postgres).await;
}

#[test]
fn the_dates_of_the_sets_are_read_at_their_precision() {
    let on = |text: &str| match stated(text) {
        Stated::On(bound) => (bound.earliest().to_string(), bound.latest().to_string()),
        other => panic!("{text}: {other:?}"),
    };
    let same = |text: &str| (text.to_owned(), text.to_owned());

    assert_eq!(on("1861-##-##"), same("1861"));
    assert_eq!(on("1861-03-##"), same("1861-03"));
    assert_eq!(on("1925-04-23"), same("1925-04-23"));
    assert_eq!(on("360-##-##"), same("0360"));
    assert_eq!(on("-405-##-##"), same("-0404"));
    assert_eq!(on("19##-##-##"), ("1900".to_owned(), "1999".to_owned()));
    assert_eq!(stated("####-##-##"), Stated::Missing);
    assert_eq!(stated("194-01959-04"), Stated::Unreadable);
    let Stated::On(year) = stated("360-##-##") else {
        panic!()
    };
    assert_eq!(year.earliest().precision(), Precision::Year);
}
