use kernel::{Base, Cx, Method, Operation, Reply, Spec};
use model::{Code, Error, Result, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::{bases, entities, ontology};

use super::{SHOWN_MAX, entity_type};

/// Take a kind of thing out of the base's words. Refused while narrower kinds are of it, or things
/// are or once were of it: history keeps its words.
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
        let things = entities::ever_of_kind(&mut tx, kb, kind.id, SHOWN_MAX).await?;
        let narrower: Vec<&str> = words
            .types
            .iter()
            .filter(|one| one.parents.contains(&kind.id))
            .map(|one| one.key.as_str())
            .collect();
        if !things.is_empty() || !narrower.is_empty() {
            let (key, kinds) = (&kind.key, narrower.len());
            let count = match things.len() {
                many if many < SHOWN_MAX => many.to_string(),
                many => format!("{many} or more"),
            };
            let sentence = format!(
                "{count} thing(s) are or were of `{key}`, and {kinds} narrower kind(s) are of it; \
                 history keeps its words"
            );
            let details = json!({ "entities": things, "narrower": narrower });
            return Err(Error::new(Code::Conflict, sentence).details(details));
        }
        ontology::delete_type(&mut tx, kb, kind.id).await?;
        let key = kind.key.clone();
        tx.commit(DeletedType { key }).await
    }
}
