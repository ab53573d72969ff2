use std::fmt::Write as _;

use engine::ledger::Line;
use kernel::{Base, Cx, Door, Method, Operation, Reply, Spec};
use model::{FactId, KbId, Limit, RecordTime, Result, WorldTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::ontology;

use super::lines::{Filter, Labels};
use super::shown::{Asked, Direction, FactInfo, Shower};
use super::sources::{sources, survey};
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
        let survey = survey(&mut tx, cx, picked.id, &asked).await?;
        let mut survey = survey.ok_or_else(|| unknown(&self.entity))?;
        let labels = Labels::read(&mut tx, kb, &words, &survey).await?;
        let by_word = Filter {
            predicate: self.predicate,
            ..Filter::default()
        };
        let by_date = Filter {
            since: self.since,
            until: self.until,
            ..Filter::default()
        };
        let mut lines = std::mem::take(&mut survey.lines);
        by_word.keep(&labels, &mut lines);
        let all = lines.len();
        lines.retain(Line::is_dated);
        let undated = all - lines.len();
        by_date.keep(&labels, &mut lines);
        let total = lines.len();
        let lines = earliest(lines, self.limit.rows());
        let shown: Vec<FactId> = lines.iter().map(|line| line.outline.fact).collect();
        let documents = sources(&mut tx, cx, &shown).await?.shown;
        let dated = survey.facts(&mut tx, kb, &lines).await?;
        let shower = Shower {
            kb,
            role: cx.target.role(),
            words: &words,
            as_of: asked.record(),
            documents: &documents,
        };
        let facts = shower.show(&mut tx, &dated).await?;
        let things = [survey.known.canonical];
        let described = Described::read(
            &mut tx,
            (kb, cx.target.role()),
            &words,
            &things,
            asked.record(),
        )
        .await?;
        Ok(TimelineOf {
            kb_id: kb,
            entity: described.of(survey.known.canonical),
            asked,
            total,
            undated,
            facts,
            note: picked.note,
        })
    }
}

/// The first of these facts by their stated dates.
fn earliest(mut lines: Vec<Line>, limit: usize) -> Vec<Line> {
    let dates = |line: &Line| {
        let outline = &line.outline;
        (outline.starts_at, outline.ends_at, outline.fact, line.side)
    };
    if limit < lines.len() {
        lines.select_nth_unstable_by_key(limit, dates);
        lines.truncate(limit);
    }
    lines.sort_unstable_by_key(dates);
    lines
}
