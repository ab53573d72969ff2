use std::collections::BTreeSet;
use std::fmt::Write as _;

use engine::ledger;
use kernel::{Base, Cx, Door, Method, Operation, Reply, Spec};
use model::time::Interval;
use model::{EntityId, FactId, KbId, Limit, RecordTime, Result, WorldTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{facts, ontology};

use super::shown::{Asked, instant};
use super::sources::sources;
use crate::entities::{Described, EntityInfo, pick, unknown};

/// The chains of facts that join two entities, up to three hops, the shortest first.
///
/// With `at` all facts of a chain hold at one moment of that date; with `as_of` the chains are
/// those that the base held then.
#[derive(Deserialize, JsonSchema)]
pub struct PathsBetween {
    /// Entity id or name to begin at.
    from: String,
    /// Entity id or name to end at.
    to: String,
    /// Hops of a chain at most.
    #[serde(default)]
    max_hops: Limit<3, 3>,
    /// World time: chains that hold together at this date.
    at: Option<WorldTime>,
    /// Record time: chains as the base held them at this moment.
    as_of: Option<RecordTime>,
    /// Record time: as the base held them just before this moment. Wins over `as_of`.
    before: Option<RecordTime>,
}

/// Chains between two entities.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PathsFound {
    /// The base.
    pub kb_id: KbId,
    /// Where the chains begin.
    pub from: EntityInfo,
    /// Where they end.
    pub to: EntityInfo,
    /// What both clocks were asked.
    #[serde(flatten)]
    pub asked: Asked,
    /// The chains, at most ten, the shortest first.
    pub paths: Vec<PathInfo>,
    /// Names of things with too many facts to be looked beyond.
    pub not_looked_beyond: Vec<String>,
    /// How the names were read.
    #[serde(skip)]
    #[schemars(skip)]
    pub notes: Vec<String>,
}

/// A chain.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct PathInfo {
    /// Its facts, in order.
    pub steps: Vec<StepInfo>,
    /// World time: the first moment that all hold together; null if open, or if there is none.
    pub holds_from: Option<String>,
    /// World time: the first moment that they hold together no more; null if open.
    pub holds_to: Option<String>,
    /// Whether there is a moment that all hold at.
    pub holds_together: bool,
    /// Mean confidence of its facts.
    pub confidence: f64,
}

/// A fact of a chain.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct StepInfo {
    /// The fact.
    pub fact_id: FactId,
    /// The thing it leaves.
    pub from_id: EntityId,
    /// Its name.
    pub from_name: String,
    /// The relation.
    pub predicate_label: String,
    /// Whether the fact is about the thing it leaves (else it leads to it).
    pub forward: bool,
    /// The thing it reaches.
    pub to_id: EntityId,
    /// Its name.
    pub to_name: String,
    /// The stated dates in words.
    pub dates: String,
}

impl Reply for PathsFound {
    fn text(&self) -> String {
        let mut text = String::new();
        for note in &self.notes {
            let _ = writeln!(text, "{note}");
        }
        let (from, to) = (&self.from.name, &self.to.name);
        if self.paths.is_empty() {
            let _ = writeln!(text, "No path between {from} and {to}.");
        } else {
            let _ = writeln!(
                text,
                "{} path(s) between {from} and {to}:",
                self.paths.len()
            );
        }
        for (n, path) in (1..).zip(&self.paths) {
            let _ = write!(text, "{n}. ");
            for (place, step) in path.steps.iter().enumerate() {
                if place == 0 {
                    text.push_str(&step.from_name);
                }
                let (label, dates) = (&step.predicate_label, &step.dates);
                let _ = if step.forward {
                    write!(text, " —{label}{dates}→ {}", step.to_name)
                } else {
                    write!(text, " ←{label}{dates}— {}", step.to_name)
                };
            }
            if !path.holds_together {
                text.push_str(" (never all at one moment)");
            }
            text.push('\n');
        }
        if !self.not_looked_beyond.is_empty() {
            let hubs = self.not_looked_beyond.join(", ");
            let _ = writeln!(
                text,
                "Not looked beyond, for they have too many facts: {hubs}."
            );
        }
        text
    }
}

impl Operation for PathsBetween {
    type Target = Base;
    type Output = PathsFound;
    const SPEC: Spec = Spec::read("paths_between", "See how two entities are connected")
        .route(Method::Get, "/kbs/{kb_id}/paths")
        .tool(&[Door::Base])
        .absence_is_an_answer()
        .cli("entity paths", &["from", "to"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<PathsFound> {
        let kb = cx.target.id();
        let asked = Asked::new(self.at, self.as_of, self.before);
        let mut tx = cx.read().await?;
        let words = ontology::read(&mut tx, kb).await?;
        let mut ends = Vec::with_capacity(2);
        let mut notes = Vec::new();
        for given in [&self.from, &self.to] {
            let picked = pick(&mut tx, cx, &words, given, asked.record()).await?;
            let picked = picked.ok_or_else(|| unknown(given))?;
            let end = ledger::canonical(&mut tx, kb, picked.id, asked.record()).await?;
            ends.push(end);
            notes.extend(picked.note);
        }
        cx.about("entity", ends[0]);
        let hops = self.max_hops.get();
        let mut found =
            ledger::paths_between(&mut tx, kb, (ends[0], ends[1]), hops, asked.view()).await?;

        let ids: BTreeSet<FactId> = found
            .paths
            .iter()
            .flat_map(|path| path.steps.iter().map(|step| step.fact))
            .collect();
        let ids: Vec<FactId> = ids.into_iter().collect();
        let seen = sources(&mut tx, cx, &ids).await?;
        found
            .paths
            .retain(|path| path.steps.iter().all(|step| seen.may_see(step.fact)));
        let mut things: BTreeSet<EntityId> = ends.iter().copied().collect();
        things.extend(found.hubs.iter().copied());
        for step in found.paths.iter().flat_map(|path| &path.steps) {
            things.extend([step.from, step.to]);
        }
        let things: Vec<EntityId> = things.into_iter().collect();
        let described = Described::read(
            &mut tx,
            (kb, cx.target.role()),
            &words,
            &things,
            asked.record(),
        )
        .await?;
        let facts: std::collections::HashMap<FactId, _> = facts::by_ids(&mut tx, kb, &ids)
            .await?
            .into_iter()
            .map(|fact| (fact.id, fact))
            .collect();
        let path = |path: &ledger::Path| {
            let interval =
                |end: fn(Interval) -> i64| path.holds.and_then(|holds| instant(end(holds)));
            PathInfo {
                steps: path
                    .steps
                    .iter()
                    .map(|step| StepInfo {
                        fact_id: step.fact,
                        from_id: step.from,
                        from_name: described.name(step.from).to_owned(),
                        predicate_label: super::shown::label(&words, &facts[&step.fact]),
                        forward: step.forward,
                        to_id: step.to,
                        to_name: described.name(step.to).to_owned(),
                        dates: super::shown::dates(facts[&step.fact].validity),
                    })
                    .collect(),
                holds_from: interval(Interval::from),
                holds_to: interval(Interval::to),
                holds_together: path.holds.is_some(),
                confidence: path.confidence,
            }
        };
        Ok(PathsFound {
            kb_id: kb,
            from: described.of(ends[0]),
            to: described.of(ends[1]),
            asked,
            paths: found.paths.iter().map(path).collect(),
            not_looked_beyond: found
                .hubs
                .iter()
                .map(|hub| described.name(*hub).to_owned())
                .collect(),
            notes,
        })
    }
}
