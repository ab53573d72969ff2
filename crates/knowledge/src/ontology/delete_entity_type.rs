use kernel::{Base, Cx, Method, Operation, Reply, Spec};
use model::{Code, Error, Result, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{bases, entities, ontology};

use super::entity_type;

/// Take a kind of thing out of the base's words. Refused while things or narrower kinds are of it.
#[derive(Deserialize, JsonSchema)]
pub struct DeleteEntityType {
    /// Its key or id.
    entity_type: String,
}

/// A word that was taken out.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedType {
    /// Its key.
    pub key: String,
}

impl Reply for DeletedType {
    fn text(&self) -> String {
        format!("{}  deleted\n", self.key)
    }
}

impl Operation for DeleteEntityType {
    type Target = Base;
    type Output = DeletedType;
    const SPEC: Spec = Spec::destroy("delete_entity_type", "Delete a kind of thing")
        .route(
            Method::Delete,
            "/kbs/{kb_id}/ontology/entity-types/{entity_type}",
        )
        .least(Role::Admin)
        .cli("ontology delete-type", &["entity_type"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<DeletedType> {
        let kb = cx.target.id();
        let mut tx = cx.write().await?;
        bases::advance_clock(&mut tx, kb, cx.now()).await?;
        let words = ontology::read(&mut tx, kb).await?;
        let kind = entity_type(&words, &self.entity_type)?;
        cx.about("entity_type", kind.id);
        let things = entities::count_of_kind(&mut tx, kb, kind.id).await?;
        let narrower = words
            .types
            .iter()
            .filter(|one| one.parents.contains(&kind.id));
        let narrower = narrower.count();
        if 0 < things || 0 < narrower {
            let key = &kind.key;
            return Err(Error::new(
                Code::Conflict,
                format!(
                    "{things} thing(s) and {narrower} narrower kind(s) are of `{key}`; give them another first"
                ),
            ));
        }
        ontology::delete_type(&mut tx, kb, kind.id).await?;
        let key = kind.key.clone();
        tx.commit(DeletedType { key }).await
    }
}
