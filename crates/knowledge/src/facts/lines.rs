//! The facts of a thing in outline: what they are called, which to keep, which come first.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use engine::ledger::{Line, Survey};
use model::ontology::EntityType;
use model::time::Interval;
use model::{FactId, KbId, RelationTypeId, Result, WorldTime};
use store::Tx;
use store::ontology::Ontology;

/// What to keep of the facts of a thing.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Part of a relation's key or label.
    pub predicate: Option<String>,
    /// Part of the key or label of the other thing's kind.
    pub object_type: Option<String>,
    /// World time: stated to hold then or later.
    pub since: Option<WorldTime>,
    /// World time: stated to hold then or earlier.
    pub until: Option<WorldTime>,
}

impl Filter {
    /// Whether nothing is filtered.
    pub fn is_empty(&self) -> bool {
        self.predicate.is_none()
            && self.object_type.is_none()
            && self.since.is_none()
            && self.until.is_none()
    }

    /// Leaves the lines that are kept, but for the kind of the other thing.
    pub fn keep(&self, labels: &Labels<'_>, lines: &mut Vec<Line>) {
        if self.is_empty() {
            return;
        }
        let mut fits: HashMap<RelationTypeId, bool> = HashMap::new();
        let mut fits_word = |line: &Line, part: &str| match line.outline.predicate {
            Some(id) => *fits.entry(id).or_insert_with(|| labels.has(line, part)),
            None => labels.has(line, part),
        };
        lines.retain(|line| {
            let predicate = self.predicate.as_deref();
            predicate.is_none_or(|part| fits_word(line, part)) && self.keeps_dates(line)
        });
    }

    fn keeps_dates(&self, line: &Line) -> bool {
        if self.since.is_none() && self.until.is_none() {
            return true;
        }
        let (starts, ends) = (line.outline.starts_at, line.outline.ends_at);
        let after = self.since.is_none_or(|since| since.start_micros() < ends);
        let before = self.until.is_none_or(|until| starts < until.end_micros());
        // A claim without a stated date is stated to hold at no time.
        line.is_stated() && after && before
    }

    /// Whether a thing of this kind is kept.
    pub fn keeps_type(&self, kind: Option<&EntityType>) -> bool {
        self.object_type.as_deref().is_none_or(|part| {
            kind.is_some_and(|kind| has(&kind.key, part) || has(&kind.label, part))
        })
    }
}

/// Whether a name has a part within it, in any case.
fn has(name: &str, part: &str) -> bool {
    model::text::fold(name).contains(&*model::text::fold(part.trim()))
}

/// The relations of a thing's facts, for people.
pub struct Labels<'a> {
    words: &'a Ontology,
    /// Of those that the base has no word for, the words of their sources.
    wordings: HashMap<FactId, String>,
}

impl<'a> Labels<'a> {
    /// Those of these facts.
    pub async fn read(tx: &mut Tx, kb: KbId, words: &'a Ontology, survey: &Survey) -> Result<Self> {
        let wordings = survey.wordings(tx, kb).await?;
        Ok(Self { words, wordings })
    }

    /// A fact's relation: the base's word, else its source's.
    pub fn of(&self, line: &Line) -> &str {
        let relation = line
            .outline
            .predicate
            .and_then(|id| self.words.relation(id));
        let wording = || self.wordings.get(&line.outline.fact).map(String::as_str);
        match relation {
            Some(relation) => &relation.label,
            None => wording().unwrap_or_default(),
        }
    }

    /// Whether its key or label has a part within it.
    fn has(&self, line: &Line, part: &str) -> bool {
        let relation = line
            .outline
            .predicate
            .and_then(|id| self.words.relation(id));
        let key = relation.map_or("", |relation| &relation.key);
        has(key, part) || has(self.of(line), part)
    }

    /// The places of these facts' relations in the order of their labels, which is quicker to
    /// compare.
    pub fn ranks(&self, lines: &[Line]) -> Vec<u32> {
        let known: HashSet<Option<RelationTypeId>> =
            lines.iter().map(|line| line.outline.predicate).collect();
        let mut all: BTreeSet<&str> = known
            .iter()
            .filter_map(|id| self.words.relation((*id)?))
            .map(|relation| relation.label.as_str())
            .collect();
        all.extend(self.wordings.values().map(String::as_str));
        all.insert("");
        let ranks: HashMap<&str, u32> = all.into_iter().zip(0..).collect();
        let mut by_predicate: HashMap<RelationTypeId, u32> = HashMap::new();
        let rank = |line: &Line| ranks[self.of(line)];
        lines
            .iter()
            .map(|line| match line.outline.predicate {
                Some(id) => *by_predicate.entry(id).or_insert_with(|| rank(line)),
                None => rank(line),
            })
            .collect()
    }
}

/// The first of these facts by direction and relation, then by when they hold, the latest first.
pub fn first(labels: &Labels<'_>, lines: &[Line], limit: usize) -> Vec<Line> {
    let ranks = labels.ranks(lines);
    let mut order: Vec<_> = lines
        .iter()
        .zip(ranks)
        .zip(0_usize..)
        .map(|((line, label), place)| {
            let starts = line.holds().map(Interval::from);
            let told = (line.outline.recorded_at, line.outline.fact);
            let latest = (Reverse(line.rank()), Reverse(starts), told);
            (line.side, label, latest, place)
        })
        .collect();
    if limit < order.len() {
        order.select_nth_unstable(limit);
        order.truncate(limit);
    }
    order.sort_unstable();
    order.into_iter().map(|(.., place)| lines[place]).collect()
}
