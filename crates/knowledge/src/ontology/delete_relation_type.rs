use kernel::{Base, Cx, Method, Operation, Spec};
use model::ontology::RelationType;
use model::{Code, Error, Result, Role};
use schemars::JsonSchema;
use serde::Deserialize;
use store::{bases, facts, ontology};

use super::{DeletedType, relation};

/// Take a relation or attribute out of the base's words. Refused while it has facts, held or not.
#[derive(Deserialize, JsonSchema)]
pub struct DeleteRelationType {
    /// Its key or id.
    relation_type: String,
}

impl Operation for DeleteRelationType {
    type Target = Base;
    type Output = DeletedType;
    const SPEC: Spec = Spec::destroy("delete_relation_type", "Delete a relation or attribute")
        .route(
            Method::Delete,
            "/kbs/{kb_id}/ontology/relation-types/{relation_type}",
        )
        .least(Role::Admin)
        .cli("ontology delete-relation", &["relation_type"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<DeletedType> {
        let kb = cx.target.id();
        let mut tx = cx.write().await?;
        bases::advance_clock(&mut tx, kb, cx.now()).await?;
        let words = ontology::read(&mut tx, kb).await?;
        let gone = relation(&words, &self.relation_type)?;
        cx.about("relation_type", gone.id);
        if gone.key == RelationType::KNOWN_AS {
            let sentence = "`known_as` holds the names of things and stays";
            return Err(Error::new(Code::Conflict, sentence));
        }
        let facts = facts::count_ever(&mut tx, kb, gone.id).await?;
        let others = words
            .relations
            .iter()
            .filter(|one| one.inverse_of == Some(gone.id) || one.sub_property_of == Some(gone.id));
        let others = others.count();
        if 0 < facts || 0 < others {
            let key = &gone.key;
            return Err(Error::new(
                Code::Conflict,
                format!(
                    "{facts} fact(s) and {others} relation(s) rest on `{key}`; history keeps its words"
                ),
            ));
        }
        ontology::delete_relation(&mut tx, kb, gone.id).await?;
        let key = gone.key.clone();
        tx.commit(DeletedType { key }).await
    }
}
