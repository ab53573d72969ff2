use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use engine::ledger::{self, Change, ChangeKind, Window};
use kernel::{Base, Cx, Door, Method, Operation, Reply, Spec};
use model::fact::{End, Object, Value};
use model::{DocumentId, EntityId, Error, FactId, KbId, Precision, RecordTime, Result, WorldTime};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use store::{documents, evidence, ontology};

use super::sources::sources;
use crate::entities::Described;

/// What the graph learned or revised in a window of record time, the newest first.
///
/// Use it when the question names a period and not a subject: "what changed last week". Kinds are
/// `asserted`, `corrected`, `rejected` and `merged`.
#[derive(Deserialize, JsonSchema)]
pub struct Changes {
    /// Record time: from when, a year (`2026`), a date or an RFC 3339 moment.
    since: Bucket,
    /// Record time: until when. A year or a date is included to its end; a moment is itself the
    /// end. Now if absent.
    until: Option<Bucket>,
    /// Only what concerns this entity.
    entity_id: Option<EntityId>,
    /// Only these kinds.
    #[serde(default)]
    kinds: Vec<Kind>,
}

/// A stretch of record time by its name, or a moment of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    start: RecordTime,
    end: RecordTime,
}

impl<'de> Deserialize<'de> for Bucket {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(source)?;
        let text = text.trim();
        if let Ok(date) = text.parse::<WorldTime>()
            && date.precision() <= Precision::Day
        {
            return Ok(Self {
                start: RecordTime::from_micros(date.start_micros()),
                end: RecordTime::from_micros(date.end_micros()),
            });
        }
        let moment: RecordTime = text.parse().map_err(|_| {
            let shown: String = text.chars().take(80).collect();
            serde::de::Error::custom(format!(
                "must be a year (`2026`), a date (`2026-03-20`) or an RFC 3339 moment, not `{shown}`"
            ))
        })?;
        Ok(Self {
            start: moment,
            end: moment,
        })
    }
}

impl JsonSchema for Bucket {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Bucket".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// What happened to a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Kind {
    /// It was recorded.
    Asserted,
    /// It took the place of another, or a merge was taken back.
    Corrected,
    /// It was held no more, and nothing took its place.
    Rejected,
    /// Two things were said to be one.
    Merged,
}

impl From<Kind> for ChangeKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Asserted => ChangeKind::Asserted,
            Kind::Corrected => ChangeKind::Corrected,
            Kind::Rejected => ChangeKind::Rejected,
            Kind::Merged => ChangeKind::Merged,
        }
    }
}

impl From<ChangeKind> for Kind {
    fn from(kind: ChangeKind) -> Self {
        match kind {
            ChangeKind::Asserted => Kind::Asserted,
            ChangeKind::Corrected => Kind::Corrected,
            ChangeKind::Rejected => Kind::Rejected,
            ChangeKind::Merged => Kind::Merged,
        }
    }
}

/// What changed in a window.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangesSince {
    /// The base.
    pub kb_id: KbId,
    /// The first moment of the window.
    pub since: RecordTime,
    /// The first moment after it.
    pub until: RecordTime,
    /// Events at most.
    pub limit: u32,
    /// Whether there are as many events as the limit allows; there may be more.
    pub limit_reached: bool,
    /// The events, newest first.
    pub changes: Vec<ChangeInfo>,
}

/// An event.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ChangeInfo {
    /// The fact it happened to; of a merge, the name of the thing that was folded.
    pub fact_id: FactId,
    /// When; can be given to `before` as it is.
    pub at: RecordTime,
    /// What happened.
    pub kind: Kind,
    /// The thing that the fact is about; of a merge, the one that stays.
    pub subject_id: EntityId,
    /// Its name.
    pub subject_name: String,
    /// The relation.
    pub predicate_label: String,
    /// The thing that the fact leads to, or that was folded.
    pub object_name: Option<String>,
    /// The value with its unit.
    pub object_value: Option<Value>,
    /// How sure the fact is.
    pub confidence: f64,
    /// World time: the stated beginning.
    pub valid_from: Option<WorldTime>,
    /// World time: the stated end.
    pub valid_to: Option<WorldTime>,
    /// How exactly the beginning is stated.
    pub valid_from_precision: Option<Precision>,
    /// How exactly the end is stated, or `unknown`.
    pub valid_to_precision: Option<String>,
    /// The document that the fact rests on first.
    pub document_id: Option<DocumentId>,
    /// The name of its file.
    pub filename: Option<String>,
    /// The words that the fact rests on.
    pub quote: Option<String>,
}

/// Events of an answer.
const EVENTS_MAX: u32 = 40;

impl Reply for ChangesSince {
    fn text(&self) -> String {
        if self.changes.is_empty() {
            return format!("No changes from {} to {}.", self.since, self.until);
        }
        let mut text = format!("Changes from {} to {}:\n", self.since, self.until);
        for change in &self.changes {
            let kind = match change.kind {
                Kind::Asserted => "asserted",
                Kind::Corrected => "corrected",
                Kind::Rejected => "rejected",
                Kind::Merged => "merged",
            };
            let object = match (&change.object_name, &change.object_value) {
                (Some(name), _) => name.clone(),
                (None, Some(value)) => value.to_string(),
                (None, None) => String::new(),
            };
            let (at, subject, label) = (change.at, &change.subject_name, &change.predicate_label);
            let _ = write!(text, "- {at} {kind}: {subject} · {label} · {object}");
            if let (Some(filename), Some(quote)) = (&change.filename, &change.quote) {
                let _ = write!(text, " (\"{filename}\": \"{quote}\")");
            }
            text.push('\n');
        }
        if self.limit_reached {
            text.push_str("There may be more; narrow the window.\n");
        }
        text
    }
}

impl Operation for Changes {
    type Target = Base;
    type Output = ChangesSince;
    const SPEC: Spec = Spec::read("changes", "See what changed in a period")
        .route(Method::Get, "/kbs/{kb_id}/changes")
        .tool(&[Door::Base])
        .structured()
        .cli("changes", &["since"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<ChangesSince> {
        let kb = cx.target.id();
        let since = self.since.start;
        let until = self
            .until
            .map_or_else(|| cx.now().plus_seconds(1), |until| until.end);
        if until < since {
            return Err(Error::invalid(format!(
                "`until` must not lie before `since`: {until} is before {since}"
            )));
        }
        let mut tx = cx.read().await?;
        let words = ontology::read(&mut tx, kb).await?;
        let window = Window {
            since,
            until,
            entity: self.entity_id,
            kinds: self.kinds.into_iter().map(ChangeKind::from).collect(),
            limit: EVENTS_MAX as usize,
        };
        let changes = ledger::changes(&mut tx, kb, &window).await?;
        let changes = shown(&mut tx, cx, &words, changes).await?;
        Ok(ChangesSince {
            kb_id: kb,
            since,
            until,
            limit: EVENTS_MAX,
            limit_reached: EVENTS_MAX as usize <= changes.len(),
            changes,
        })
    }
}

/// The events as they are shown, without those that rest only on what the caller may not see.
async fn shown(
    tx: &mut store::Tx,
    cx: &Cx<'_, Base>,
    words: &ontology::Ontology,
    changes: Vec<Change>,
) -> Result<Vec<ChangeInfo>> {
    let kb = cx.target.id();
    let ids: Vec<FactId> = changes.iter().map(|change| change.fact.id).collect();
    let seen = sources(tx, cx, &ids).await?;
    let mut quotes: HashMap<FactId, evidence::Evidence> = HashMap::new();
    for quote in evidence::of_facts(tx, kb, &ids).await? {
        let may_see = seen.shown.get(&quote.fact);
        if may_see.is_some_and(|documents| documents.contains(&quote.document)) {
            quotes.entry(quote.fact).or_insert(quote);
        }
    }
    let files: BTreeSet<DocumentId> = quotes.values().map(|quote| quote.document).collect();
    let files: Vec<DocumentId> = files.into_iter().collect();
    let filenames: HashMap<DocumentId, String> = documents::find_many(tx, kb, &files)
        .await?
        .into_iter()
        .map(|document| (document.id, document.filename))
        .collect();
    let mut things: BTreeSet<EntityId> = changes.iter().map(|change| change.subject).collect();
    things.extend(
        changes
            .iter()
            .filter_map(|change| change.fact.object.entity()),
    );
    let things: Vec<EntityId> = things.into_iter().collect();
    let described =
        Described::read(tx, (kb, cx.target.role()), words, &things, ledger::latest()).await?;

    let info = |change: Change| {
        let fact = change.fact;
        let quote = quotes.get(&fact.id);
        let from = fact.validity.from.map(|from| from.earliest());
        let to = match fact.validity.to {
            End::On(bound) => Some(bound.latest()),
            End::Open | End::Unknown => None,
        };
        let object_name = match (&change.absorbed, &fact.object) {
            (Some(name), _) => Some(name.clone()),
            (None, Object::Entity(id)) => Some(described.name(*id).to_owned()),
            (None, Object::Value(_)) => None,
        };
        ChangeInfo {
            fact_id: fact.id,
            at: change.at,
            kind: change.kind.into(),
            subject_id: change.subject,
            subject_name: described.name(change.subject).to_owned(),
            predicate_label: super::shown::label(words, &fact),
            object_value: match &fact.object {
                Object::Value(value) if object_name.is_none() => Some(value.clone()),
                _ => None,
            },
            object_name,
            confidence: fact.confidence,
            valid_from: from,
            valid_to: to,
            valid_from_precision: from.map(WorldTime::precision),
            valid_to_precision: super::shown::end_precision(fact.validity),
            document_id: quote.map(|quote| quote.document),
            filename: quote.and_then(|quote| filenames.get(&quote.document).cloned()),
            quote: quote.map(|quote| quote.quote.clone()),
        }
    };
    Ok(changes
        .into_iter()
        .filter(|change| seen.may_see(change.fact.id))
        .map(info)
        .collect())
}
