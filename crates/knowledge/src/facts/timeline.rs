use std::fmt::Write as _;

use engine::ledger::{self, HeldFact};
use kernel::{Base, Cx, Door, Method, Operation, Reply, Spec};
use model::{KbId, Limit, RecordTime, Result, WorldTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::ontology;

use super::shown::{Asked, Direction, FactInfo, Filter, Shower, visible};
use crate::entities::{Described, EntityInfo, pick, unknown};

/// One entity's dated facts in the order of the world, the earliest first.
///
/// Only facts with a stated beginning have a place on the line; the answer says how many others
/// there are. `since` and `until` narrow the window.
#[derive(Deserialize, JsonSchema)]
pub struct Timeline {
    /// Entity id or name.
    entity: String,
    /// World time: stated to hold then or later.
    since: Option<WorldTime>,
    /// World time: stated to hold then or earlier.
    until: Option<WorldTime>,
    /// Part of a relation's key or label.
    predicate: Option<String>,
    /// Record time: as the base held them at this moment.
    as_of: Option<RecordTime>,
    /// Record time: as the base held them just before this moment. Wins over `as_of`.
    before: Option<RecordTime>,
    /// Facts to return at most.
    #[serde(default)]
    limit: Limit<60, 300>,
}

/// One entity's dated facts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TimelineOf {
    /// The base.
    pub kb_id: KbId,
    /// The entity.
    pub entity: EntityInfo,
    /// What both clocks were asked.
    #[serde(flatten)]
    pub asked: Asked,
    /// How many dated facts fit, whatever the limit.
    pub total: usize,
    /// How many facts that fit have no stated beginning.
    pub undated: usize,
    /// The facts, the earliest first.
    pub facts: Vec<FactInfo>,
    /// How the name was read.
    #[serde(skip)]
    #[schemars(skip)]
    pub note: Option<String>,
}

impl Reply for TimelineOf {
    fn text(&self) -> String {
        let mut text = String::new();
        if let Some(note) = &self.note {
            let _ = writeln!(text, "{note}");
        }
        let _ = writeln!(text, "Timeline of {}:", self.entity.name);
        if self.facts.is_empty() {
            text.push_str("No dated facts.\n");
        }
        for fact in &self.facts {
            let dates = fact.dates();
            let dates = dates.trim().trim_matches(['[', ']']);
            let (label, other) = (&fact.predicate_label, fact.other());
            let _ = match fact.direction {
                Direction::Out => writeln!(text, "- {dates}: {label} → {other}"),
                Direction::In => writeln!(text, "- {dates}: {other} → {label}"),
            };
        }
        if self.facts.len() < self.total {
            let left = self.total - self.facts.len();
            let _ = writeln!(text, "{left} more; raise `limit` or narrow the window.");
        }
        if 0 < self.undated {
            let _ = writeln!(
                text,
                "{} fact(s) without a stated beginning are left out.",
                self.undated
            );
        }
        text
    }
}

impl Operation for Timeline {
    type Target = Base;
    type Output = TimelineOf;
    const SPEC: Spec = Spec::read("timeline", "Read an entity's timeline")
        .route(Method::Get, "/kbs/{kb_id}/timeline")
        .tool(&[Door::Base])
        .absence_is_an_answer()
        .cli("entity timeline", &["entity"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<TimelineOf> {
        let kb = cx.target.id();
        let asked = Asked::new(None, self.as_of, self.before);
        let mut tx = cx.read().await?;
        let words = ontology::read(&mut tx, kb).await?;
        let picked = pick(&mut tx, cx, &words, &self.entity, asked.record()).await?;
        let picked = picked.ok_or_else(|| unknown(&self.entity))?;
        cx.about("entity", picked.id);
        let found = ledger::facts_of(&mut tx, kb, picked.id, asked.view()).await?;
        let found = found.ok_or_else(|| unknown(&self.entity))?;
        let (facts, documents) = visible(&mut tx, cx, found.facts).await?;
        let by_word = Filter {
            predicate: self.predicate,
            ..Filter::default()
        };
        let by_date = Filter {
            since: self.since,
            until: self.until,
            ..Filter::default()
        };
        let (mut dated, undated): (Vec<HeldFact>, Vec<HeldFact>) = facts
            .into_iter()
            .filter(|held| by_word.keeps(&words, held))
            .partition(|held| held.fact.validity.from.is_some());
        dated.retain(|held| by_date.is_empty() || by_date.keeps(&words, held));
        dated.sort_by_key(|held| {
            let validity = held.fact.validity;
            (
                validity.starts_at(),
                validity.ends_at(),
                held.fact.id,
                held.side,
            )
        });
        let total = dated.len();
        dated.truncate(self.limit.rows());
        let shower = Shower {
            kb,
            words: &words,
            as_of: asked.record(),
            documents: &documents,
        };
        let facts = shower.show(&mut tx, &dated).await?;
        let things = [found.known.canonical];
        let described = Described::read(&mut tx, kb, &words, &things, asked.record()).await?;
        Ok(TimelineOf {
            kb_id: kb,
            entity: described.of(found.known.canonical),
            asked,
            total,
            undated: undated.len(),
            facts,
            note: picked.note,
        })
    }
}
