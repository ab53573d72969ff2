use std::fmt::Write as _;

use kernel::{Base, Cx, Method, Operation, Reply, Spec};
use model::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::ontology;

use super::{EntityTypeInfo, RelationTypeInfo};

/// Show the words of a base: its kinds of things, its relations and its attributes.
#[derive(Deserialize, JsonSchema)]
pub struct ShowOntology {}

/// The words of a base.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OntologyInfo {
    /// Kinds of things, by key.
    pub entity_types: Vec<EntityTypeInfo>,
    /// Relations and attributes, by key.
    pub relation_types: Vec<RelationTypeInfo>,
}

impl Reply for OntologyInfo {
    fn text(&self) -> String {
        let mut text = String::new();
        for kind in &self.entity_types {
            let _ = writeln!(text, "type      {}  {}", kind.key, kind.label);
        }
        for relation in &self.relation_types {
            let (kind, key, label) = (relation.kind.name(), &relation.key, &relation.label);
            let _ = writeln!(text, "{kind:<9} {key}  {label}");
        }
        if text.is_empty() {
            text.push_str("No words yet.\n");
        }
        text
    }
}

impl Operation for ShowOntology {
    type Target = Base;
    type Output = OntologyInfo;
    const SPEC: Spec = Spec::read("show_ontology", "Show the ontology")
        .route(Method::Get, "/kbs/{kb_id}/ontology")
        .cli("ontology show", &[]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<OntologyInfo> {
        let words = ontology::read(&mut cx.read().await?, cx.target.id()).await?;
        Ok(OntologyInfo {
            entity_types: words
                .types
                .iter()
                .map(|kind| EntityTypeInfo::of(kind, &words))
                .collect(),
            relation_types: words
                .relations
                .iter()
                .map(|relation| RelationTypeInfo::of(relation, &words))
                .collect(),
        })
    }
}
