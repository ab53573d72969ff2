use engine::ledger;
use kernel::{Base, Cx, Method, Operation, Spec};
use model::{EntityId, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use store::entities::KindSource;
use store::ontology;

use super::{Described, EntityInfo};
use crate::ontology::{decision, entity_type};

/// Say what kind a thing is. What a person says here is not overwritten by what is read out.
#[derive(Deserialize, JsonSchema)]
pub struct SetEntityType {
    /// The thing's id.
    entity_id: EntityId,
    /// Key of its kind; of no kind if absent.
    entity_type: Option<String>,
}

impl kernel::Reply for EntityInfo {
    fn text(&self) -> String {
        let kind = self.type_label.as_deref().unwrap_or("no kind");
        format!("{}  {}  ({kind})\n", self.id, self.name)
    }
}

impl Operation for SetEntityType {
    type Target = Base;
    type Output = EntityInfo;
    const SPEC: Spec = Spec::write("set_entity_type", "Say what kind a thing is")
        .route(Method::Put, "/kbs/{kb_id}/entities/{entity_id}/type")
        .cli("entity set-type", &["entity_id", "entity_type"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<EntityInfo> {
        cx.about("entity", self.entity_id);
        let kb = cx.target.id();
        let mut tx = cx.write().await?;
        let words = ontology::read(&mut tx, kb).await?;
        let kind = self
            .entity_type
            .as_deref()
            .map(|named| entity_type(&words, named));
        let kind = kind.transpose()?.map(|kind| kind.id);
        let ids = || cx.ids.next();
        let said = (self.entity_id, kind);
        let at = ledger::set_kind(&mut tx, &decision(cx, &ids), said, KindSource::Human).await?;
        let described = Described::read(
            &mut tx,
            (kb, cx.target.role()),
            &words,
            &[self.entity_id],
            at,
        )
        .await?;
        tx.commit(described.of(self.entity_id)).await
    }
}
