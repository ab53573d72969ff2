use std::fmt::Write as _;

use kernel::{Account, Cx, Method, Operation, Reply, Spec};
use model::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// List the packs: sets of words that come with Quipu and that a base can be given, when it is
/// made or later.
#[derive(Deserialize, JsonSchema)]
pub struct ListOntologyPacks {}

/// A set of words.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct PackInfo {
    /// The name by which it is asked for.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it has words for.
    pub description: &'static str,
    /// How many kinds of things it has.
    pub entity_types: usize,
    /// How many relations and attributes it has.
    pub relation_types: usize,
}

/// The sets of words.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OntologyPacks {
    /// The sets.
    pub packs: Vec<PackInfo>,
}

impl Reply for OntologyPacks {
    fn text(&self) -> String {
        let mut text = String::new();
        for pack in &self.packs {
            let (kinds, relations) = (pack.entity_types, pack.relation_types);
            let _ = writeln!(
                text,
                "{:<10} {}: {} ({kinds} kinds, {relations} relations and attributes)",
                pack.name, pack.title, pack.description
            );
        }
        text
    }
}

impl Operation for ListOntologyPacks {
    type Target = Account;
    type Output = OntologyPacks;
    const SPEC: Spec = Spec::read("list_ontology_packs", "List the packs")
        .route(Method::Get, "/ontology/packs")
        .cli("ontology packs", &[]);

    async fn run(self, cx: &Cx<'_, Account>) -> Result<OntologyPacks> {
        let packs = cx.packs.iter().map(|pack| PackInfo {
            name: pack.name,
            title: pack.title,
            description: pack.description,
            entity_types: pack.declared.classes.len(),
            relation_types: pack.declared.properties.len(),
        });
        Ok(OntologyPacks {
            packs: packs.collect(),
        })
    }
}
