use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

use engine::ledger::{Line, Side};
use kernel::{Base, Cx, Door, Method, Operation, Reply, Spec};
use model::{EntityId, FactId, KbId, Limit, RecordTime, Result, WorldTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::ontology;

use super::lines::{Filter, Labels, first};
use super::shown::{Asked, Direction};
use super::sources::survey;
use crate::entities::{Described, EntityInfo, Kinds, pick, unknown};

/// The things linked to one entity, one hop, grouped by relation.
///
/// Narrow them with `predicate` or `object_type`; `at` asks who was linked then, `as_of` what the
/// base held of it at a moment. Of more than 2,000 things those linked latest are shown.
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
        let survey = survey(&mut tx, cx, picked.id, &asked).await?;
        let mut survey = survey.ok_or_else(|| unknown(&self.entity))?;
        let labels = Labels::read(&mut tx, kb, &words, &survey).await?;
        let filter = Filter {
            predicate: self.predicate,
            object_type: self.object_type,
            since: self.since,
            until: self.until,
        };
        let mut links = std::mem::take(&mut survey.lines);
        links.retain(|line| line.other().is_some());
        filter.keep(&labels, &mut links);
        if filter.object_type.is_some() {
            let others = links.iter().filter_map(Line::other);
            let kinds = Kinds::read(&mut tx, kb, others, asked.record()).await?;
            links.retain(|line| {
                line.other()
                    .is_some_and(|other| filter.keeps_type(kinds.of(&words, other)))
            });
        }
        let all: HashSet<EntityId> = links.iter().filter_map(Line::other).collect();
        let total = all.len();
        let limit = self.limit.rows();
        let things = if total <= NAMED_MAX {
            all
        } else {
            latest(&labels, &links, limit)
        };
        links.retain(|line| line.other().is_some_and(|other| things.contains(&other)));
        links.sort_unstable_by_key(Line::told);
        let things: Vec<EntityId> = things.into_iter().chain([survey.known.canonical]).collect();
        let described = Described::read(
            &mut tx,
            (kb, cx.target.role()),
            &words,
            &things,
            asked.record(),
        )
        .await?;
        let groups = grouped(&labels, &links, &described, limit);
        let shown: Vec<Line> = groups
            .values()
            .flat_map(|things| things.values().flatten().copied())
            .collect();
        let dates: HashMap<FactId, String> = survey
            .facts(&mut tx, kb, &shown)
            .await?
            .into_iter()
            .map(|held| (held.fact.id, super::shown::dates(held.fact.validity)))
            .collect();
        let groups = groups
            .into_iter()
            .map(|(group, things)| shown_group(group, things, &described, &dates))
            .collect();
        Ok(NeighborsOf {
            kb_id: kb,
            entity: described.of(survey.known.canonical),
            asked,
            total,
            groups,
            note: picked.note,
        })
    }
}

/// Things linked up to which they are put in order by name; of more than these the latest linked
/// are taken first, since the names of hundreds of thousands take seconds to read.
const NAMED_MAX: usize = 2_000;

/// Things of the first links by direction and relation, and then by when they hold.
fn latest(labels: &Labels<'_>, links: &[Line], limit: usize) -> HashSet<EntityId> {
    // A thing may be linked many times over.
    let mut taken = limit;
    loop {
        let lines = first(labels, links, taken);
        let mut things = HashSet::new();
        for other in lines.iter().filter_map(Line::other) {
            if things.len() < limit {
                things.insert(other);
            }
        }
        if things.len() == limit || links.len() <= taken {
            return things;
        }
        taken = taken.saturating_mul(4);
    }
}

/// The links to each thing, by its name.
type Things = BTreeMap<(String, EntityId), Vec<Line>>;

/// The links by direction and relation, `limit` things in all.
fn grouped<'a>(
    labels: &'a Labels<'_>,
    links: &[Line],
    described: &Described,
    limit: usize,
) -> BTreeMap<(Side, &'a str), Things> {
    let mut groups: BTreeMap<(Side, &str), Things> = BTreeMap::new();
    for line in links {
        let Some(other) = line.other() else { continue };
        let things = groups.entry((line.side, labels.of(line))).or_default();
        let name = described.name(other).to_owned();
        things.entry((name, other)).or_default().push(*line);
    }
    let mut shown: BTreeSet<EntityId> = BTreeSet::new();
    for things in groups.values_mut() {
        things.retain(|(_, id), _| {
            let is_shown = shown.len() < limit || shown.contains(id);
            if is_shown {
                shown.insert(*id);
            }
            is_shown
        });
    }
    groups.retain(|_, things| !things.is_empty());
    groups
}

fn shown_group(
    (side, label): (Side, &str),
    things: Things,
    described: &Described,
    dates: &HashMap<FactId, String>,
) -> LinkGroup {
    let linked = |((_, id), lines): ((String, EntityId), Vec<Line>)| Linked {
        entity: described.of(id),
        dates: lines
            .iter()
            .filter_map(|line| dates.get(&line.outline.fact))
            .filter(|dates| !dates.is_empty())
            .cloned()
            .collect(),
    };
    LinkGroup {
        predicate_label: label.to_owned(),
        direction: match side {
            Side::Subject => Direction::Out,
            Side::Object => Direction::In,
        },
        entities: things.into_iter().map(linked).collect(),
    }
}
