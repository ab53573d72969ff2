use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use engine::ledger::{Line, Side};
use kernel::{Base, Cx, Door, Method, Operation, Reply, Spec};

use model::ontology::RelationType;
use model::{DocumentId, EntityId, FactId, KbId, Limit, Precision, RecordTime, Result, WorldTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::ontology;

use super::lines::{Filter, Labels, first};
use super::shown::{Asked, Direction, FactInfo, Shower, named};
use super::sources::{sources, survey};
use crate::entities::{Described, EntityInfo, Kinds, pick, unknown};

/// One entity's facts, with the time each holds for.
///
/// `at` asks about the world ("who led X in 2024"); `as_of` asks about the record ("what did we
/// hold before the memo arrived"). The two combine. Facts are grouped by relation; narrow them
/// with `predicate`, `object_type`, `since` and `until`.
#[derive(Deserialize, JsonSchema)]
pub struct EntityFacts {
    /// Entity id.
    entity_id: Option<EntityId>,
    /// Entity id or name, where `entity_id` is not given.
    entity: Option<String>,
    /// World time: keep the facts that hold at this date.
    at: Option<WorldTime>,
    /// Record time: the facts as the base held them at this moment, a date (its start) or an
    /// RFC 3339 moment.
    as_of: Option<RecordTime>,
    /// Record time: as the base held them just before this moment. Wins over `as_of`.
    before: Option<RecordTime>,
    /// Part of a relation's key or label.
    predicate: Option<String>,
    /// Part of the key or label of the other thing's kind.
    object_type: Option<String>,
    /// World time: stated to hold then or later.
    since: Option<WorldTime>,
    /// World time: stated to hold then or earlier.
    until: Option<WorldTime>,
    /// Asserted facts to return at most.
    #[serde(default)]
    limit: Limit<80, 300>,
}

/// One entity's facts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FactsOfEntity {
    /// The base.
    pub kb_id: KbId,
    /// The entity.
    pub entity: EntityInfo,
    /// What both clocks were asked.
    #[serde(flatten)]
    pub asked: Asked,
    /// How many facts hold and are held, whatever the filters.
    pub total_facts: usize,
    /// How many of them the filters keep.
    pub matched_facts: usize,
    /// Facts at most.
    pub limit: u32,
    /// Whether matching facts were left out.
    pub truncated: bool,
    /// The facts, grouped by relation.
    pub facts: Vec<FactInfo>,
    /// Conclusions drawn by rules.
    pub derived_facts: Vec<DerivedInfo>,
    /// Its names.
    pub names: Vec<NameInfo>,
    /// How the name was read, and which relations there are if none fitted.
    #[serde(skip)]
    #[schemars(skip)]
    pub notes: Vec<String>,
}

/// A conclusion drawn by a rule. No rules are kept yet, so there are none.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct DerivedInfo {
    /// Its id.
    pub id: FactId,
}

/// A name of an entity.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct NameInfo {
    /// The fact that gives it.
    pub fact_id: FactId,
    /// The name.
    pub name: String,
    /// Whether it is the one the entity is shown by.
    pub canonical: bool,
    /// From when it was held.
    pub recorded_at: RecordTime,
    /// World time: from when it is stated to be its name.
    pub valid_from: Option<WorldTime>,
    /// World time: until when it is stated to be its name.
    pub valid_to: Option<WorldTime>,
    /// How exactly the beginning is stated.
    pub valid_from_precision: Option<Precision>,
    /// How exactly the end is stated, or `unknown`.
    pub valid_to_precision: Option<String>,
    /// The documents it rests on.
    pub document_ids: Vec<DocumentId>,
}

impl Reply for FactsOfEntity {
    fn text(&self) -> String {
        let mut text = String::new();
        for note in &self.notes {
            let _ = writeln!(text, "{note}");
        }
        let kind = self.entity.type_label.as_deref().unwrap_or("no type");
        let _ = writeln!(
            text,
            "# {} ({kind}) — id: {}",
            self.entity.name, self.entity.id
        );
        let others: Vec<&str> = self
            .names
            .iter()
            .filter(|name| !name.canonical)
            .map(|name| name.name.as_str())
            .collect();
        if !others.is_empty() {
            let _ = writeln!(text, "Also known as: {}", others.join("; "));
        }
        if self.facts.is_empty() {
            text.push_str("No facts.\n");
        }
        let mut group: Option<(Direction, &str)> = None;
        for fact in &self.facts {
            let this = (fact.direction, fact.predicate_label.as_str());
            if group != Some(this) {
                let count = self
                    .facts
                    .iter()
                    .filter(|other| (other.direction, other.predicate_label.as_str()) == this)
                    .count();
                let _ = match fact.direction {
                    Direction::Out => writeln!(text, "## {} → ({count})", this.1),
                    Direction::In => writeln!(text, "## ← {} ({count})", this.1),
                };
                group = Some(this);
            }
            let _ = writeln!(text, "{}", fact.line());
        }
        if self.truncated {
            let left = self.matched_facts - self.facts.len();
            let _ = writeln!(
                text,
                "{left} more fact(s); raise `limit` or narrow the question."
            );
        }
        text
    }
}

impl Operation for EntityFacts {
    type Target = Base;
    type Output = FactsOfEntity;
    const SPEC: Spec = Spec::read("entity_facts", "Read an entity's facts")
        .route(Method::Get, "/kbs/{kb_id}/entity-facts")
        .tool(&[Door::Base])
        .structured()
        .cli("entity facts", &["entity"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<FactsOfEntity> {
        let kb = cx.target.id();
        let asked = Asked::new(self.at, self.as_of, self.before);
        let given = named(self.entity_id, self.entity)?;
        let mut tx = cx.read().await?;
        let words = ontology::read(&mut tx, kb).await?;
        let picked = pick(&mut tx, cx, &words, &given, asked.record()).await?;
        let picked = picked.ok_or_else(|| unknown(&given))?;
        cx.about("entity", picked.id);
        let survey = survey(&mut tx, cx, picked.id, &asked).await?;
        let mut survey = survey.ok_or_else(|| unknown(&given))?;
        let mut notes: Vec<String> = picked.note.into_iter().collect();

        let known_as = Some(RelationType::known_as_id(kb));
        let is_name =
            |line: &&Line| line.outline.predicate == known_as && line.side == Side::Subject;
        let mut names: Vec<Line> = survey.lines.iter().filter(is_name).copied().collect();
        names.sort_by_key(Line::told);
        survey.lines.retain(|line| !is_name(&line));
        let total_facts = survey.lines.len();
        let labels = Labels::read(&mut tx, kb, &words, &survey).await?;
        let filter = Filter {
            predicate: self.predicate,
            object_type: self.object_type,
            since: self.since,
            until: self.until,
        };
        let mut kept = Cow::Borrowed(survey.lines.as_slice());
        if !filter.is_empty() {
            filter.keep(&labels, kept.to_mut());
        }
        if filter.object_type.is_some() {
            let others = kept.iter().filter_map(Line::other);
            let kinds = Kinds::read(&mut tx, kb, others, asked.record()).await?;
            kept.to_mut().retain(|line| {
                line.other()
                    .is_some_and(|other| filter.keeps_type(kinds.of(&words, other)))
            });
        }
        if kept.is_empty() && !survey.lines.is_empty() && !filter.is_empty() {
            let there = survey.lines.iter().map(|line| labels.of(line));
            let there: BTreeSet<&str> = there.collect();
            let there: Vec<&str> = there.into_iter().collect();
            notes.push(format!(
                "No fact fits. Relations that are there: {}.",
                there.join(", ")
            ));
        }
        let matched_facts = kept.len();
        let kept = first(&labels, &kept, self.limit.rows());
        let shown: Vec<FactId> = kept
            .iter()
            .chain(&names)
            .map(|line| line.outline.fact)
            .collect();
        let documents = sources(&mut tx, cx, &shown).await?.shown;
        let kept = survey.facts(&mut tx, kb, &kept).await?;
        let names = survey.facts(&mut tx, kb, &names).await?;

        let shower = Shower {
            kb,
            role: cx.target.role(),
            words: &words,
            as_of: asked.record(),
            documents: &documents,
        };
        let facts = shower.show(&mut tx, &kept).await?;
        let things = [survey.known.canonical];
        let described = Described::read(
            &mut tx,
            (kb, cx.target.role()),
            &words,
            &things,
            asked.record(),
        )
        .await?;
        let entity = described.of(survey.known.canonical);
        let names = shower.show(&mut tx, &names).await?;
        Ok(FactsOfEntity {
            kb_id: kb,
            names: name_infos(names, &entity.name),
            entity,
            asked,
            total_facts,
            matched_facts,
            limit: self.limit.get(),
            truncated: facts.len() < matched_facts,
            facts,
            derived_facts: Vec::new(),
            notes,
        })
    }
}

fn name_infos(names: Vec<FactInfo>, canonical: &str) -> Vec<NameInfo> {
    let mut is_marked = false;
    names
        .into_iter()
        .map(|fact| {
            let name = fact.other();
            let is_canonical = !is_marked && name == canonical;
            is_marked |= is_canonical;
            NameInfo {
                fact_id: fact.id,
                name,
                canonical: is_canonical,
                recorded_at: fact.recorded_at,
                valid_from: fact.valid_from,
                valid_to: fact.valid_to,
                valid_from_precision: fact.valid_from_precision,
                valid_to_precision: fact.valid_to_precision,
                document_ids: fact.document_ids,
            }
        })
        .collect()
}
