//! All claims of a thing at once: counted, narrowed and ordered by their outlines.
//!
//! A thing may have hundreds of thousands of claims of which eighty are shown. One pass over one
//! index gives what decides which those are; only they are read themselves, and of the others
//! those few that may say the same as another.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use model::fact::{Fact, Object, Rank};
use model::time::{Interval, OPEN_END, OPEN_START};
use model::{EntityId, FactId, KbId, RecordTime, RelationTypeId, Result};
use store::fact_holds::{self, At, Outline, View};
use store::{Tx, facts};

use super::people::{self, Known};
use super::read::{HeldFact, Side};

/// A claim of a thing, in outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Where the thing stands in it.
    pub side: Side,
    /// The rest of it; the other end is the thing as it was known then.
    pub outline: Outline,
}

impl Line {
    /// The thing at its other end; none for a value.
    pub const fn other(&self) -> Option<EntityId> {
        self.outline.other
    }

    /// Whether a beginning was stated.
    pub const fn is_dated(&self) -> bool {
        OPEN_START < self.outline.starts_at
    }

    /// Whether a beginning or an end was stated.
    pub const fn is_stated(&self) -> bool {
        self.is_dated() || self.outline.ends_at < OPEN_END
    }

    /// When it was recorded: the order in which claims are told.
    pub const fn told(&self) -> (RecordTime, FactId, Side) {
        (self.outline.recorded_at, self.outline.fact, self.side)
    }

    /// For when it was read to hold.
    pub const fn holds(&self) -> Option<Interval> {
        self.outline.holds
    }

    /// How it ranks.
    pub const fn rank(&self) -> Rank {
        self.outline.rank
    }
}

/// The claims of a thing as a view shows them, in outline and in no order.
#[derive(Debug, Clone)]
pub struct Survey {
    /// The thing as it was known.
    pub known: Known,
    /// Its claims.
    pub lines: Vec<Line>,
    as_of: RecordTime,
    /// Later claims that say the same, by the one that is shown for them.
    same_as: HashMap<FactId, Vec<FactId>>,
}

impl Survey {
    /// The claims about a thing and those that lead to it; none if the base had no such thing
    /// then.
    pub async fn read(tx: &mut Tx, kb: KbId, entity: EntityId, view: View) -> Result<Option<Self>> {
        let Some(known) = people::members(tx, kb, entity, view.as_of).await? else {
            return Ok(None);
        };
        let mut lines = Vec::new();
        for &member in &known.members {
            for (end, side) in [(At::Subject, Side::Subject), (At::Object, Side::Object)] {
                let mut take = |outline: Outline| lines.push(Line { side, outline });
                fact_holds::outlines(tx, kb, (member, end), view, &mut take).await?;
            }
        }
        let others = lines.iter().filter_map(Line::other);
        let known_as = people::folded(tx, kb, others, view.as_of).await?;
        if !known_as.is_empty() {
            for other in lines
                .iter_mut()
                .filter_map(|line| line.outline.other.as_mut())
            {
                *other = known_as.get(other).copied().unwrap_or(*other);
            }
        }
        Ok(Some(Self {
            known,
            lines,
            as_of: view.as_of,
            same_as: HashMap::new(),
        }))
    }

    /// Leaves equal claims once, under the one recorded first.
    pub async fn once(&mut self, tx: &mut Tx, kb: KbId) -> Result<()> {
        let alike = alike(&self.lines);
        if alike.is_empty() {
            return Ok(());
        }
        let mut suspects: Vec<Line> = alike.iter().map(|&place| self.lines[place]).collect();
        suspects.sort_by_key(Line::told);
        let facts = by_id(tx, kb, &suspects).await?;
        let mut first = HashMap::new();
        let mut gone: HashSet<(FactId, Side)> = HashSet::new();
        for line in suspects {
            let fact = &facts[&line.outline.fact];
            let value = match &fact.object {
                Object::Entity(_) => None,
                Object::Value(value) => Some(value.key()),
            };
            let wording = match fact.predicate {
                Some(_) => None,
                None => fact.wording.clone(),
            };
            let saying = (line.side, line.other(), value, fact.predicate, wording);
            let shown = *first.entry((saying, fact.validity)).or_insert(fact.id);
            if shown != fact.id {
                self.same_as.entry(shown).or_default().push(fact.id);
                gone.insert((fact.id, line.side));
            }
        }
        self.lines
            .retain(|line| !gone.contains(&(line.outline.fact, line.side)));
        Ok(())
    }

    /// The words of their sources for the claims that the ontology has no word for, by claim.
    pub async fn wordings(&self, tx: &mut Tx, kb: KbId) -> Result<HashMap<FactId, String>> {
        let wordless = |line: &&Line| line.outline.predicate.is_none();
        let lines: Vec<Line> = self.lines.iter().filter(wordless).copied().collect();
        let facts = by_id(tx, kb, &lines).await?.into_iter();
        let worded = facts.filter_map(|(id, fact)| Some((id, fact.wording?)));
        Ok(worded.collect())
    }

    /// The claims themselves, in the order of their lines.
    pub async fn facts(&self, tx: &mut Tx, kb: KbId, lines: &[Line]) -> Result<Vec<HeldFact>> {
        let facts = by_id(tx, kb, lines).await?;
        let canonical = self.known.canonical;
        let held = lines.iter().map(|line| {
            let id = line.outline.fact;
            let (subject, object) = match line.side {
                Side::Subject => (canonical, line.other()),
                Side::Object => (line.other().unwrap_or(canonical), Some(canonical)),
            };
            HeldFact {
                fact: facts[&id].clone(),
                holds: line.holds(),
                side: line.side,
                subject,
                object,
                same_as: self.same_as.get(&id).cloned().unwrap_or_default(),
            }
        });
        Ok(held.collect())
    }

    /// The moment of record that it was read at.
    pub const fn as_of(&self) -> RecordTime {
        self.as_of
    }
}

/// The claims of these lines, by id.
async fn by_id(tx: &mut Tx, kb: KbId, lines: &[Line]) -> Result<HashMap<FactId, Fact>> {
    let mut ids: Vec<FactId> = lines.iter().map(|line| line.outline.fact).collect();
    ids.sort_unstable();
    ids.dedup();
    let facts = facts::by_ids(tx, kb, &ids).await?.into_iter();
    Ok(facts.map(|fact| (fact.id, fact)).collect())
}

/// What two lines of claims that say the same have in common.
type Likeness = (Side, Option<EntityId>, Option<RelationTypeId>, i64, i64);

fn likeness(line: &Line) -> Likeness {
    let outline = &line.outline;
    let dates = (outline.starts_at, outline.ends_at);
    (
        line.side,
        outline.other,
        outline.predicate,
        dates.0,
        dates.1,
    )
}

/// The places of the lines that look like another.
fn alike(lines: &[Line]) -> Vec<usize> {
    let random = RandomState::new();
    let hash = |line: &Line| random.hash_one(likeness(line));
    let mut seen: HashSet<u64> = HashSet::with_capacity(lines.len());
    let twice: HashSet<u64> = lines
        .iter()
        .map(hash)
        .filter(|&hash| !seen.insert(hash))
        .collect();
    if twice.is_empty() {
        return Vec::new();
    }
    let places = lines.iter().enumerate();
    places
        .filter(|(_, line)| twice.contains(&hash(line)))
        .map(|(place, _)| place)
        .collect()
}
