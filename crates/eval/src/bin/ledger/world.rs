//! People who work somewhere, lead something and know each other; one employer of very many.

use engine::ledger::{Assertion, NewEntity};
use model::fact::{Bound, End, Object, Rank, Validity, Value};
use model::ontology::{Axioms, RelationKind, RelationType};
use model::{EntityId, RecordTime, RelationTypeId, WorldTime};
use serde_json::{Value as Json, json};
use store::entities::KindSource;
use uuid::Uuid;

use eval::chance::Chance;

/// Facts of the one employer at most, and their share of all before.
const HUB_FACTS_MAX: usize = 400_000;
const HUB_TENTHS: usize = 4;

const WORKS_AT: u64 = 0;
const LEADS: u64 = 1;
const KNOWS: u64 = 2;
const NOTED: u64 = 3;

/// A ledger of a size.
pub struct World {
    facts: usize,
    things: usize,
}

/// Ids that rise with their number; those of a kind are apart from others.
pub fn id(kind: u64, number: u64) -> Uuid {
    Uuid::from_u64_pair(
        (kind << 56) | number,
        Chance::new(number ^ (kind << 56)).number(),
    )
}

pub fn relations() -> [RelationType; 4] {
    [
        (WORKS_AT, "works_at", RelationKind::Relation, false),
        (LEADS, "leads", RelationKind::Relation, true),
        (KNOWS, "knows", RelationKind::Relation, false),
        (NOTED, "noted", RelationKind::Attribute, false),
    ]
    .map(|(number, key, kind, functional)| RelationType {
        label: key.replace('_', " "),
        kind,
        axioms: Axioms {
            functional,
            ..Axioms::default()
        },
        ..RelationType::plain(relation(number), key, RecordTime::from_micros(0))
    })
}

fn relation(number: u64) -> RelationTypeId {
    RelationTypeId::new(id(2, number))
}

pub fn thing(number: usize) -> EntityId {
    EntityId::new(id(3, number as u64))
}

pub fn named(number: usize) -> NewEntity {
    NewEntity {
        name: name(number),
        kind: None,
        source: KindSource::Human,
    }
}

impl World {
    pub fn new(facts: usize, things: usize) -> Self {
        Self {
            facts,
            things: things.max(2),
        }
    }

    pub fn facts(&self) -> usize {
        self.facts
    }

    pub fn things(&self) -> usize {
        self.things
    }

    pub fn hub_facts(&self) -> usize {
        let claims = self.facts.saturating_sub(self.things);
        HUB_FACTS_MAX.min(self.facts * HUB_TENTHS / 10).min(claims)
    }

    /// The employer of very many.
    pub fn hub() -> EntityId {
        thing(0)
    }

    /// Things other than the hub, spread over all of them.
    pub fn some(&self, count: usize) -> Vec<EntityId> {
        self.spread(count).map(thing).collect()
    }

    pub fn some_names(&self, count: usize) -> Vec<String> {
        self.spread(count).map(name).collect()
    }

    fn spread(&self, count: usize) -> impl Iterator<Item = usize> {
        let mut chance = Chance::new(7);
        let end = self.things;
        (0..count).map(move |_| chance.between(1, end))
    }

    /// The claim of a number: those of the hub are spread evenly among the others.
    pub fn assertion(&self, number: usize) -> Assertion {
        let mut chance = Chance::new(number as u64);
        let claims = self.facts - self.things;
        let before = number * self.hub_facts() / claims;
        let is_hub = before < (number + 1) * self.hub_facts() / claims;
        let subject = chance.between(1, self.things);
        let year = chance.between(1950, 2020);
        let other = Object::Entity(thing(chance.between(1, self.things)));
        let (kind, object) = match chance.between(0, 10) {
            _ if is_hub => (WORKS_AT, Object::Entity(Self::hub())),
            0..3 => (WORKS_AT, other),
            3..5 => (LEADS, other),
            5..9 => (KNOWS, other),
            _ => (NOTED, Object::Value(value(number))),
        };
        let month = chance.between(1, 13);
        let length = chance.between(0, 20);
        let bound = |text: String| text.parse::<WorldTime>().map(Bound::on);
        let from = bound(format!("{year:04}-{month:02}-{:02}", chance.between(1, 29)));
        let to = bound(format!("{:04}", year + length));
        Assertion {
            subject: thing(subject),
            predicate: Some(relation(kind)),
            object,
            wording: None,
            rank: Rank::Normal,
            validity: Validity {
                from: from.ok(),
                to: to.map_or(
                    End::Open,
                    |to| if length < 14 { End::On(to) } else { End::Open },
                ),
            },
            date_text: None,
            calendar: None,
            confidence: 1.0,
            qualifiers: Vec::new(),
            evidence: Vec::new(),
        }
    }
}

fn value(number: usize) -> Value {
    let value: Json = json!(format!("entry {number} of the book"));
    Value { value, unit: None }
}

/// Two or three words that many names share, and one that none other has.
fn name(number: usize) -> String {
    const FIRST: [&str; 16] = [
        "Anna", "Boris", "Chen", "Dora", "Emil", "Fatima", "Goran", "Hana", "Igor", "Jana", "Kofi",
        "Lena", "Milan", "Nora", "Omar", "Petra",
    ];
    const SECOND: [&str; 16] = [
        "Adler", "Brandt", "Costa", "Dubois", "Eriksen", "Ferrari", "Garcia", "Horvat", "Ivanov",
        "Jensen", "Keller", "Lindgren", "Moreau", "Novak", "Okafor", "Petrov",
    ];
    let mut chance = Chance::new(number as u64 + (1 << 60));
    let (first, second) = (chance.between(0, 16), chance.between(0, 16));
    format!("{} {} {number:x}", FIRST[first], SECOND[second])
}
