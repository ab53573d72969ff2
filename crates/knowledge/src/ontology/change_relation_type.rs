use engine::ledger::{self, Revision};
use kernel::{Base, Cx, Method, Operation, Reply, Spec};
use model::fact::Temporality;
use model::{Error, Result, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::ontology;

use super::{ContradictionInfo, RelationTypeInfo, accepted, checked_label, decision, relation};

/// Change a relation or attribute. Facts are read anew with what changed; history keeps how they
/// were read before. Where stored facts would contradict it or one another, they are listed and
/// nothing is changed, unless `accept_contradictions` is set.
#[derive(Deserialize, JsonSchema)]
pub struct ChangeRelationType {
    /// Its key or id.
    relation_type: String,
    /// Its name for people.
    label: Option<String>,
    /// What it means.
    description: Option<String>,
    /// How its facts stand in time.
    temporal: Option<Temporality>,
    /// A subject has one value at a time.
    functional: Option<bool>,
    /// An object has one subject at a time.
    inverse_functional: Option<bool>,
    /// From a to b and from b to c: from a to c.
    transitive: Option<bool>,
    /// From a to b: from b to a.
    symmetric: Option<bool>,
    /// From a to b: never from b to a.
    asymmetric: Option<bool>,
    /// Never from a to a.
    irreflexive: Option<bool>,
    /// Make the change though stored facts then contradict it.
    #[serde(default)]
    accept_contradictions: bool,
}

/// A relation as it is now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangedRelationType {
    /// The relation.
    #[serde(flatten)]
    pub relation: RelationTypeInfo,
    /// Stored facts that contradict it since.
    pub contradictions: Vec<ContradictionInfo>,
}

impl Reply for ChangedRelationType {
    fn text(&self) -> String {
        let found = self.contradictions.len();
        format!("{}contradictions: {found}\n", self.relation.text())
    }
}

impl Operation for ChangeRelationType {
    type Target = Base;
    type Output = ChangedRelationType;
    const SPEC: Spec = Spec::write("change_relation_type", "Change a relation or attribute")
        .route(
            Method::Patch,
            "/kbs/{kb_id}/ontology/relation-types/{relation_type}",
        )
        .least(Role::Admin)
        .cli("ontology change-relation", &["relation_type"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<ChangedRelationType> {
        let kb = cx.target.id();
        let mut tx = cx.write().await?;
        let words = ontology::read(&mut tx, kb).await?;
        let mut changed = relation(&words, &self.relation_type)?.clone();
        cx.about("relation_type", changed.id);
        if let Some(label) = &self.label {
            changed.label = checked_label(label)?;
        }
        if let Some(description) = self.description {
            changed.description = description;
        }
        changed.temporality = self.temporal.unwrap_or(changed.temporality);
        let axioms = &mut changed.axioms;
        for (axiom, value) in [
            (&mut axioms.functional, self.functional),
            (&mut axioms.inverse_functional, self.inverse_functional),
            (&mut axioms.transitive, self.transitive),
            (&mut axioms.symmetric, self.symmetric),
            (&mut axioms.asymmetric, self.asymmetric),
            (&mut axioms.irreflexive, self.irreflexive),
        ] {
            *axiom = value.unwrap_or(*axiom);
        }
        if changed.axioms.symmetric && changed.axioms.asymmetric {
            let sentence = "`symmetric` and `asymmetric` rule each other out";
            return Err(Error::invalid(sentence));
        }
        let ids = || cx.ids.next();
        let payload = json!({ "relation": changed.id, "temporal": changed.temporality, "axioms": changed.axioms });
        let revision = Revision {
            changed_relations: std::slice::from_ref(&changed),
            ..Revision::default()
        };
        let what = ("change_relation", &payload);
        let found = ledger::revise(&mut tx, &decision(cx, &ids), what, revision).await?;
        let contradictions = accepted(found, self.accept_contradictions)?;
        let words = ontology::read(&mut tx, kb).await?;
        tx.commit(ChangedRelationType {
            relation: RelationTypeInfo::of(&changed, &words),
            contradictions,
        })
        .await
    }
}
