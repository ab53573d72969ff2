use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use engine::ledger::{self, HeldFact, Side};
use kernel::{Base, Cx, Door, Method, Operation, Reply, Spec};
use model::{EntityId, KbId, Limit, RecordTime, Result, WorldTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::ontology;

use super::shown::{Asked, Direction, Filter, visible};
use crate::entities::{Described, EntityInfo, pick, unknown};

/// The things linked to one entity, one hop, grouped by relation.
///
/// Narrow them with `predicate` or `object_type`; `at` asks who was linked then, `as_of` what the
/// base held of it at a moment.
#[derive(Deserialize, JsonSchema)]
pub struct Neighbors {
    /// Entity id or name.
    entity: String,
    /// Part of a relation's key or label.
    predicate: Option<String>,
    /// Part of the key or label of the other thing's kind.
    object_type: Option<String>,
    /// World time: stated to hold then or later.
    since: Option<WorldTime>,
    /// World time: stated to hold then or earlier.
    until: Option<WorldTime>,
    /// World time: links that hold at this date.
    at: Option<WorldTime>,
    /// Record time: as the base held them at this moment.
    as_of: Option<RecordTime>,
    /// Record time: as the base held them just before this moment. Wins over `as_of`.
    before: Option<RecordTime>,
    /// Things to return at most.
    #[serde(default)]
    limit: Limit<40, 300>,
}

/// The things linked to one entity.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NeighborsOf {
    /// The base.
    pub kb_id: KbId,
    /// The entity.
    pub entity: EntityInfo,
    /// What both clocks were asked.
    #[serde(flatten)]
    pub asked: Asked,
    /// How many things are linked, whatever the limit.
    pub total: usize,
    /// The links, grouped by relation.
    pub groups: Vec<LinkGroup>,
    /// How the name was read.
    #[serde(skip)]
    #[schemars(skip)]
    pub note: Option<String>,
}

/// The things linked by one relation.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct LinkGroup {
    /// The relation.
    pub predicate_label: String,
    /// `out`: the facts are about the entity; `in`: they lead to it.
    pub direction: Direction,
    /// The things, each once, by name.
    pub entities: Vec<Linked>,
}

/// A thing that is linked.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Linked {
    /// The thing.
    #[serde(flatten)]
    pub entity: EntityInfo,
    /// The stated dates of its links, in words.
    pub dates: Vec<String>,
}

impl Reply for NeighborsOf {
    fn text(&self) -> String {
        let mut text = String::new();
        if let Some(note) = &self.note {
            let _ = writeln!(text, "{note}");
        }
        let name = &self.entity.name;
        let _ = writeln!(
            text,
            "{name} is linked to {} entit{}.",
            self.total,
            if self.total == 1 { "y" } else { "ies" }
        );
        let mut shown = 0;
        for group in &self.groups {
            let count = group.entities.len();
            let _ = match group.direction {
                Direction::Out => writeln!(text, "## {} → ({count})", group.predicate_label),
                Direction::In => writeln!(text, "## ← {} ({count})", group.predicate_label),
            };
            for linked in &group.entities {
                shown += 1;
                let kind = linked.entity.type_label.as_deref().unwrap_or("no type");
                let dates = linked.dates.join(",");
                let _ = writeln!(
                    text,
                    "- {} ({kind}, {}){dates}",
                    linked.entity.name, linked.entity.id
                );
            }
        }
        if shown < self.total {
            text.push_str("More are linked; raise `limit` or narrow the question.\n");
        }
        text
    }
}

impl Operation for Neighbors {
    type Target = Base;
    type Output = NeighborsOf;
    const SPEC: Spec = Spec::read("neighbors", "See what an entity is linked to")
        .route(Method::Get, "/kbs/{kb_id}/neighbors")
        .tool(&[Door::Base])
        .absence_is_an_answer()
        .cli("entity neighbors", &["entity"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<NeighborsOf> {
        let kb = cx.target.id();
        let asked = Asked::new(self.at, self.as_of, self.before);
        let mut tx = cx.read().await?;
        let words = ontology::read(&mut tx, kb).await?;
        let picked = pick(&mut tx, cx, &words, &self.entity, asked.record()).await?;
        let picked = picked.ok_or_else(|| unknown(&self.entity))?;
        cx.about("entity", picked.id);
        let found = ledger::facts_of(&mut tx, kb, picked.id, asked.view()).await?;
        let found = found.ok_or_else(|| unknown(&self.entity))?;
        let (facts, _) = visible(&mut tx, cx, found.facts).await?;
        let filter = Filter {
            predicate: self.predicate,
            object_type: self.object_type,
            since: self.since,
            until: self.until,
        };
        let links: Vec<HeldFact> = facts
            .into_iter()
            .filter(|held| held.object.is_some() && filter.keeps(&words, held))
            .collect();
        let mut things: BTreeSet<EntityId> = links.iter().filter_map(HeldFact::other).collect();
        things.insert(found.known.canonical);
        let things: Vec<EntityId> = things.into_iter().collect();
        let described = Described::read(&mut tx, kb, &words, &things, asked.record()).await?;
        let (groups, total) = group(&words, links, &filter, &described, self.limit.rows());
        Ok(NeighborsOf {
            kb_id: kb,
            entity: described.of(found.known.canonical),
            asked,
            total,
            groups,
            note: picked.note,
        })
    }
}

/// The dates of the links to each thing, by its name.
type Things = BTreeMap<(String, EntityId), Vec<String>>;

/// The links by direction and relation, `limit` things in all, and how many things there are.
fn group(
    words: &ontology::Ontology,
    links: Vec<HeldFact>,
    filter: &Filter,
    described: &Described,
    limit: usize,
) -> (Vec<LinkGroup>, usize) {
    let mut groups: BTreeMap<(Side, String), Things> = BTreeMap::new();
    let mut all = BTreeSet::new();
    for held in links {
        let Some(other) = held.other() else { continue };
        let info = described.of(other);
        if !filter.keeps_type(&info) {
            continue;
        }
        all.insert(other);
        let label = super::shown::label(words, &held.fact);
        let things = groups.entry((held.side, label)).or_default();
        let dates = things.entry((info.name, other)).or_default();
        let stated = super::shown::dates(held.fact.validity);
        if !stated.is_empty() {
            dates.push(stated);
        }
    }
    let mut shown: BTreeSet<EntityId> = BTreeSet::new();
    let mut kept = Vec::new();
    for ((side, predicate_label), things) in groups {
        let mut entities = Vec::new();
        for ((_, id), dates) in things {
            if shown.len() < limit || shown.contains(&id) {
                shown.insert(id);
                entities.push(Linked {
                    entity: described.of(id),
                    dates,
                });
            }
        }
        if !entities.is_empty() {
            kept.push(LinkGroup {
                predicate_label,
                direction: match side {
                    Side::Subject => Direction::Out,
                    Side::Object => Direction::In,
                },
                entities,
            });
        }
    }
    (kept, all.len())
}
