//! Facts as they are shown: with the names of what they are about, their dates and their sources.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

use engine::ledger::{HeldFact, Line, Side, Survey};
use kernel::{Base, Cx};
use model::fact::{End, Object, Temporality, Validity, Value};
use model::ontology::EntityType;
use model::time::{Interval, OPEN_END, OPEN_START};
use model::{
    DocumentId, EntityId, Error, FactId, KbId, Precision, RecordTime, RelationTypeId, Result, Role,
    WorldTime,
};
use schemars::JsonSchema;
use serde::Serialize;
use store::evidence::Evidence;
use store::ontology::Ontology;
use store::{Tx, documents, evidence};

use crate::entities::Described;

/// Whether the thing asked about is what a fact is about, or what it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Direction {
    /// The fact is about it.
    Out,
    /// The fact leads to it.
    In,
}

/// A fact.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct FactInfo {
    /// Its id.
    pub id: FactId,
    /// `out`: it is about the thing asked for; `in`: it leads to it.
    pub direction: Direction,
    /// Key of its relation; null if the base has no word for it.
    pub predicate_key: Option<String>,
    /// Its relation, for people: the words of its source where the base has none.
    pub predicate_label: String,
    /// Whether its relation is only the wording of its source.
    pub inferred: bool,
    /// How it stands in time.
    pub temporal: Temporality,
    /// The thing at the other end; null for a value.
    pub other_id: Option<EntityId>,
    /// Its name.
    pub other_name: Option<String>,
    /// The value with its unit; null if it leads to a thing.
    pub object_value: Option<Value>,
    /// How sure it is, from 0 to 1.
    pub confidence: f64,
    /// World time: the stated beginning, at its precision.
    pub valid_from: Option<WorldTime>,
    /// World time: the stated end, at its precision; covered itself.
    pub valid_to: Option<WorldTime>,
    /// How exactly the beginning is stated.
    pub valid_from_precision: Option<Precision>,
    /// How exactly the end is stated; `unknown` if it ended and the date is not known.
    pub valid_to_precision: Option<String>,
    /// World time: the first moment that it is read to hold; null if open, or if it never does.
    pub holds_from: Option<String>,
    /// World time: the first moment that it is read to hold no more; null if open.
    pub holds_to: Option<String>,
    /// From when it was held.
    pub recorded_at: RecordTime,
    /// From when it was held no more.
    pub invalidated_at: Option<RecordTime>,
    /// The fact it took the place of.
    pub supersedes: Option<FactId>,
    /// The documents it rests on, each once.
    pub document_ids: Vec<DocumentId>,
    /// Details on the fact.
    pub qualifiers: Vec<QualifierInfo>,
    /// Facts that say the same since their things are one.
    pub same_as: Vec<FactId>,
    /// How it ranks among others.
    pub rank: model::fact::Rank,
}

/// A detail on a fact.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct QualifierInfo {
    /// Id of the attribute.
    pub qualifier_type_id: RelationTypeId,
    /// Its key.
    pub key: String,
    /// Its name for people.
    pub label: String,
    /// The value with its unit; null if it leads to a thing.
    pub value: Option<Value>,
    /// The thing it leads to; null for a value.
    pub entity_id: Option<EntityId>,
    /// Its name.
    pub entity_name: Option<String>,
}

/// What both clocks were asked.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Asked {
    /// World time asked about; null for any.
    pub at: Option<WorldTime>,
    /// Record time read at; null for now. With `before` the moment just before it.
    pub as_of: Option<RecordTime>,
    /// Record time that the reading stands just before; null if not given.
    pub before: Option<RecordTime>,
}

impl Asked {
    /// What the arguments ask; `before` wins over `as_of`.
    pub fn new(
        at: Option<WorldTime>,
        as_of: Option<RecordTime>,
        before: Option<RecordTime>,
    ) -> Self {
        Self {
            at,
            as_of: before.map(RecordTime::just_before).or(as_of),
            before,
        }
    }

    /// What is read of the ledger.
    pub fn view(&self) -> store::fact_holds::View {
        store::fact_holds::View {
            at: self.at.map(WorldTime::interval),
            as_of: self.record(),
        }
    }

    /// The moment of record that is read at.
    pub fn record(&self) -> RecordTime {
        self.as_of.unwrap_or(engine::ledger::latest())
    }
}

/// An instant of world time in text; none for an open end.
pub fn instant(micros: i64) -> Option<String> {
    if micros == OPEN_START || micros == OPEN_END {
        return None;
    }
    WorldTime::covering(micros, Precision::Second).map(|moment| moment.to_string())
}

/// The precision of an end, or that it is unknown.
pub fn end_precision(validity: Validity) -> Option<String> {
    match validity.to {
        End::Open => None,
        End::Unknown => Some(super::stated::UNKNOWN.to_owned()),
        End::On(bound) => Some(precision(bound.latest().precision()).to_owned()),
    }
}

fn precision(precision: Precision) -> &'static str {
    match precision {
        Precision::Year => "year",
        Precision::Month => "month",
        Precision::Day => "day",
        Precision::Hour => "hour",
        Precision::Minute => "minute",
        Precision::Second => "second",
    }
}

/// The stated dates in words: `[2019 → 2021]`; nothing if there are none.
pub fn dates(validity: Validity) -> String {
    let about = |bound: model::fact::Bound| if bound.approximate { "about " } else { "" };
    let from = validity.from.map(|from| {
        let (earliest, latest) = (from.earliest(), from.latest());
        if earliest == latest {
            format!("{}{earliest}", about(from))
        } else {
            format!("{earliest}…{latest}")
        }
    });
    let to = match validity.to {
        End::Open => None,
        End::Unknown => Some("ended, date unknown".to_owned()),
        End::On(to) => Some(format!("{}{}", about(to), to.latest())),
    };
    match (from, to) {
        (None, None) => String::new(),
        (Some(from), None) => format!(" [{from} →]"),
        (None, Some(to)) => format!(" [→ {to}]"),
        (Some(from), Some(to)) => format!(" [{from} → {to}]"),
    }
}

/// Above this many facts it is looked up what the caller may not see, and not what each rests on.
const LOOKED_UP_MAX: usize = 2_000;

/// Leaves the facts that the caller may see: those that rest on no document, or on one that the
/// caller may see; and of equal ones, one.
pub async fn survey(
    tx: &mut Tx,
    cx: &Cx<'_, Base>,
    entity: EntityId,
    asked: &Asked,
) -> Result<Option<Survey>> {
    let kb = cx.target.id();
    let Some(mut survey) = Survey::read(tx, kb, entity, asked.view()).await? else {
        return Ok(None);
    };
    let hidden = hidden(tx, cx, &survey.lines).await?;
    if !hidden.is_empty() {
        survey
            .lines
            .retain(|line| !hidden.contains(&line.outline.fact));
    }
    survey.once(tx, kb).await?;
    Ok(Some(survey))
}

/// Those of the facts that the caller may not see.
async fn hidden(tx: &mut Tx, cx: &Cx<'_, Base>, lines: &[Line]) -> Result<HashSet<FactId>> {
    let (kb, role) = (cx.target.id(), cx.target.role());
    let all = || lines.iter().map(|line| line.outline.fact);
    let mut suspects: Vec<FactId> = all().collect();
    if LOOKED_UP_MAX < suspects.len() {
        let limit = LOOKED_UP_MAX as u32 + 1;
        let documents = documents::hidden_from(tx, kb, role, limit).await?;
        if documents.len() <= LOOKED_UP_MAX {
            let resting = evidence::resting_on(tx, kb, &documents).await?;
            let resting: HashSet<FactId> = resting.into_iter().collect();
            suspects.retain(|fact| resting.contains(fact));
        }
    }
    let sources = sources(tx, cx, &suspects).await?;
    suspects.retain(|&fact| !sources.may_see(fact));
    Ok(suspects.into_iter().collect())
}

/// The documents that facts rest on.
pub struct Sources {
    /// Those that the reader may see, by fact, each once.
    pub shown: HashMap<FactId, Vec<DocumentId>>,
    /// Their quotes that the reader may see, by fact and number.
    pub quotes: HashMap<FactId, Vec<Evidence>>,
    resting: BTreeSet<FactId>,
}

impl Sources {
    /// Whether the caller may see a fact.
    pub fn may_see(&self, fact: FactId) -> bool {
        !self.resting.contains(&fact) || self.shown.contains_key(&fact)
    }
}

/// The documents that these facts rest on, as far as the caller may see them.
pub async fn sources(tx: &mut Tx, cx: &Cx<'_, Base>, facts: &[FactId]) -> Result<Sources> {
    sources_for(tx, (cx.target.id(), cx.target.role()), facts).await
}

/// The documents that these facts rest on, as far as a reader of this role may see them.
pub async fn sources_for(
    tx: &mut Tx,
    (kb, role): (KbId, Role),
    facts: &[FactId],
) -> Result<Sources> {
    let quotes = evidence::of_facts(tx, kb, facts).await?;
    let all: BTreeSet<DocumentId> = quotes.iter().map(|quote| quote.document).collect();
    let all: Vec<DocumentId> = all.into_iter().collect();
    let found = match all.as_slice() {
        [] => Vec::new(),
        some => documents::find_many(tx, kb, some).await?,
    };
    let seen: BTreeSet<DocumentId> = found
        .into_iter()
        .filter(|document| document.least_role <= role)
        .map(|document| document.id)
        .collect();
    let mut shown: HashMap<FactId, Vec<DocumentId>> = HashMap::new();
    let mut seen_quotes: HashMap<FactId, Vec<Evidence>> = HashMap::new();
    let resting = quotes.iter().map(|quote| quote.fact).collect();
    for quote in quotes {
        if !seen.contains(&quote.document) {
            continue;
        }
        let documents = shown.entry(quote.fact).or_default();
        if !documents.contains(&quote.document) {
            documents.push(quote.document);
        }
        seen_quotes.entry(quote.fact).or_default().push(quote);
    }
    Ok(Sources {
        shown,
        quotes: seen_quotes,
        resting,
    })
}

/// What is needed to show facts of a base.
pub struct Shower<'a> {
    /// The base.
    pub kb: KbId,
    /// Its words.
    pub words: &'a Ontology,
    /// When it is read at.
    pub as_of: RecordTime,
    /// The documents that each fact rests on.
    pub documents: &'a HashMap<FactId, Vec<DocumentId>>,
}

impl Shower<'_> {
    /// The facts as they are shown, in the order given.
    pub async fn show(&self, tx: &mut Tx, facts: &[HeldFact]) -> Result<Vec<FactInfo>> {
        let ids: Vec<FactId> = facts.iter().map(|held| held.fact.id).collect();
        let mut details: BTreeMap<FactId, Vec<(RelationTypeId, Object)>> = BTreeMap::new();
        for detail in evidence::qualifiers(tx, self.kb, &ids).await? {
            let of_fact = details.entry(detail.fact).or_default();
            of_fact.push((detail.kind, detail.object));
        }
        let mut things: BTreeSet<EntityId> = facts.iter().filter_map(HeldFact::other).collect();
        let carried = details.values().flatten();
        things.extend(carried.filter_map(|(_, object)| object.entity()));
        let things: Vec<EntityId> = things.into_iter().collect();
        let described = Described::read(tx, self.kb, self.words, &things, self.as_of).await?;
        let shown = facts.iter().map(|held| {
            let details = details.remove(&held.fact.id).unwrap_or_default();
            self.info(held, details, &described)
        });
        Ok(shown.collect())
    }

    fn info(
        &self,
        held: &HeldFact,
        details: Vec<(RelationTypeId, Object)>,
        described: &Described,
    ) -> FactInfo {
        let fact = &held.fact;
        let relation = fact.predicate.and_then(|id| self.words.relation(id));
        let validity = fact.validity;
        let other_id = held.other();
        let interval = |end: fn(Interval) -> i64| held.holds.and_then(|holds| instant(end(holds)));
        let from = validity.from.map(|from| from.earliest());
        FactInfo {
            id: fact.id,
            direction: match held.side {
                Side::Subject => Direction::Out,
                Side::Object => Direction::In,
            },
            predicate_key: relation.map(|relation| relation.key.clone()),
            predicate_label: label(self.words, fact),
            inferred: relation.is_none(),
            temporal: relation
                .map(|relation| relation.temporality)
                .unwrap_or_default(),
            other_id,
            other_name: other_id.map(|id| described.name(id).to_owned()),
            object_value: match (&fact.object, held.side) {
                (Object::Value(value), Side::Subject) => Some(value.clone()),
                _ => None,
            },
            confidence: fact.confidence,
            valid_from: from,
            valid_to: match validity.to {
                End::On(bound) => Some(bound.latest()),
                End::Open | End::Unknown => None,
            },
            valid_from_precision: from.map(WorldTime::precision),
            valid_to_precision: end_precision(validity),
            holds_from: interval(Interval::from),
            holds_to: interval(Interval::to),
            recorded_at: fact.recorded_at,
            invalidated_at: fact.invalidated_at,
            supersedes: fact.supersedes,
            document_ids: self.documents.get(&fact.id).cloned().unwrap_or_default(),
            qualifiers: details
                .into_iter()
                .map(|(kind, object)| self.qualifier(kind, object, described))
                .collect(),
            same_as: held.same_as.clone(),
            rank: fact.rank,
        }
    }

    fn qualifier(
        &self,
        kind: RelationTypeId,
        object: Object,
        described: &Described,
    ) -> QualifierInfo {
        let word = self.words.relation(kind);
        let entity_id = object.entity();
        QualifierInfo {
            qualifier_type_id: kind,
            key: word.map(|word| word.key.clone()).unwrap_or_default(),
            label: word.map(|word| word.label.clone()).unwrap_or_default(),
            value: match object {
                Object::Value(value) => Some(value),
                Object::Entity(_) => None,
            },
            entity_id,
            entity_name: entity_id.map(|id| described.name(id).to_owned()),
        }
    }
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

/// A fact's relation for people: the base's word, else its source's.
pub fn label(words: &Ontology, fact: &model::fact::Fact) -> String {
    let relation = fact.predicate.and_then(|id| words.relation(id));
    match (relation, &fact.wording) {
        (Some(relation), _) => relation.label.clone(),
        (None, Some(wording)) => wording.clone(),
        (None, None) => String::new(),
    }
}

impl FactInfo {
    /// What it leads to, in words.
    pub fn other(&self) -> String {
        match (&self.other_name, &self.object_value) {
            (Some(name), _) => name.clone(),
            (None, Some(value)) => value.to_string(),
            (None, None) => String::new(),
        }
    }

    /// The fact as a line below the heading of its relation.
    pub fn line(&self) -> String {
        let mut line = format!("- {}", self.other());
        if let Some(id) = self.other_id {
            let _ = write!(line, " ({id})");
        }
        line.push_str(&self.dates());
        for detail in &self.qualifiers {
            let value = match (&detail.entity_name, &detail.value) {
                (Some(name), _) => name.clone(),
                (None, Some(value)) => value.to_string(),
                (None, None) => continue,
            };
            let _ = write!(line, "; {}: {value}", detail.label);
        }
        if self.confidence < 1.0 {
            let _ = write!(line, "; confidence {:.2}", self.confidence);
        }
        if self.rank == model::fact::Rank::Deprecated {
            line.push_str("; deprecated");
        }
        line
    }

    /// Its stated dates in words.
    pub fn dates(&self) -> String {
        let unknown = self.valid_to_precision.as_deref() == Some(super::stated::UNKNOWN);
        let to = match (self.valid_to, unknown) {
            (Some(to), _) => Some(to.to_string()),
            (None, true) => Some("ended, date unknown".to_owned()),
            (None, false) => None,
        };
        match (self.valid_from, to) {
            (None, None) => String::new(),
            (Some(from), None) if self.temporal == Temporality::Event => format!(" [{from}]"),
            (Some(from), None) => format!(" [{from} →]"),
            (None, Some(to)) => format!(" [→ {to}]"),
            (Some(from), Some(to)) => format!(" [{from} → {to}]"),
        }
    }
}

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

/// The thing that the arguments name: by `entity_id`, or by an id or a name in `entity`.
pub fn named(entity_id: Option<EntityId>, entity: Option<String>) -> Result<String> {
    match (entity_id, entity) {
        (Some(id), _) => Ok(id.to_string()),
        (None, Some(given)) => Ok(given),
        (None, None) => Err(Error::invalid("`entity` is missing: give an id or a name")),
    }
}
