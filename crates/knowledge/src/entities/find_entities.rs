use std::collections::HashMap;
use std::fmt::Write as _;

use kernel::{Base, Cx, Door, Method, Operation, Reply, Spec};
use model::{EntityId, KbId, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::names::Fit;
use store::ontology;

use super::{Candidate, candidates};

/// Find things by name, or by part of one.
///
/// Answers with at most eight candidates: exact names first, then those that most facts are
/// about. Where several share a name, each carries what tells it from the others.
#[derive(Deserialize, JsonSchema)]
pub struct FindEntities {
    /// The name, or part of it.
    name: String,
}

/// Things whose names fit.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EntityHits {
    /// The base.
    pub kb_id: KbId,
    /// The candidates, best first.
    pub entities: Vec<EntityHit>,
    /// Whether the first is clearly meant.
    #[serde(skip)]
    #[schemars(skip)]
    pub is_clear: bool,
}

/// A thing whose name fits.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct EntityHit {
    /// Its id.
    pub id: EntityId,
    /// Its name.
    pub name: String,
    /// Key of its kind; null if it has none.
    pub type_key: Option<String>,
    /// Its kind, for people; null if it has none.
    pub type_label: Option<String>,
    /// What tells it from others of its name; null if none has its name.
    pub disambiguator: Option<String>,
    /// How many facts are about it or lead to it.
    pub fact_count: u64,
}

/// Candidates of an answer.
const HITS_MAX: usize = 8;
/// How many times the facts of the next one make the first clear.
const CLEAR_RATIO: u64 = 3;

impl Reply for EntityHits {
    fn text(&self) -> String {
        let Some(first) = self.entities.first() else {
            return "No entity with a name like that.".to_owned();
        };
        let mut text = String::new();
        let line = |hit: &EntityHit| {
            let kind = hit.type_label.as_deref().unwrap_or("no type");
            let apart = hit.disambiguator.as_ref();
            let apart = apart.map(|apart| format!(", {apart}")).unwrap_or_default();
            let (name, id, facts) = (&hit.name, hit.id, hit.fact_count);
            format!("{name} ({kind}{apart}) — {facts} fact(s), id: {id}\n")
        };
        let rest = if self.is_clear {
            let _ = write!(text, "Best match: {}", line(first));
            &self.entities[1..]
        } else {
            text.push_str("Several entities match; ask which one is meant, or pass its id:\n");
            &self.entities[..]
        };
        if self.is_clear && !rest.is_empty() {
            text.push_str("Others:\n");
        }
        for hit in rest {
            let _ = write!(text, "- {}", line(hit));
        }
        text
    }
}

impl Operation for FindEntities {
    type Target = Base;
    type Output = EntityHits;
    const SPEC: Spec = Spec::read("find_entities", "Find things by name")
        .route(Method::Get, "/kbs/{kb_id}/entities")
        .tool(&[Door::Base])
        .structured()
        .cli("entity find", &["name"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<EntityHits> {
        let kb = cx.target.id();
        let mut tx = cx.read().await?;
        let words = ontology::read(&mut tx, kb).await?;
        let mut found = candidates(&mut tx, cx, &words, &self.name).await?;
        found.truncate(HITS_MAX);
        let is_clear = is_clear(&found);
        Ok(EntityHits {
            kb_id: kb,
            entities: shown(found),
            is_clear,
        })
    }
}

/// Whether the first candidate is the only one, the only exact one, or known far better.
fn is_clear(found: &[Candidate]) -> bool {
    let exact = found.iter().filter(|one| one.fit == Fit::Exact).count();
    match found {
        [] | [_] => true,
        [first, next, ..] => {
            exact == 1 || (exact == 0 && CLEAR_RATIO * next.facts.max(1) <= first.facts)
        }
    }
}

fn shown(found: Vec<Candidate>) -> Vec<EntityHit> {
    let mut names: HashMap<String, u32> = HashMap::new();
    for one in &found {
        *names.entry(one.info.name.clone()).or_default() += 1;
    }
    let hit = |one: Candidate| {
        let is_shared = 1 < names[&one.info.name];
        let id = one.info.id.to_string();
        EntityHit {
            disambiguator: is_shared.then(|| format!("…{}", &id[id.len() - 6..])),
            id: one.info.id,
            name: one.info.name,
            type_key: one.info.type_key,
            type_label: one.info.type_label,
            fact_count: one.facts,
        }
    };
    found.into_iter().map(hit).collect()
}
