use engine::ledger::{self, NewEntity};
use kernel::{Base, Cx, Method, Operation, Reply, Spec};
use model::{EntityId, FactId, RecordTime, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::entities::KindSource;
use store::ontology;

use crate::ontology::{decision, entity_type};

/// Add a thing that facts can be about: a person, a company, a place. Things of the same name may
/// stand side by side; look with `find_entities` first.
#[derive(Deserialize, JsonSchema)]
pub struct AddEntity {
    /// Its name, at most 400 characters.
    name: String,
    /// Key of its kind; none if absent.
    entity_type: Option<String>,
}

/// A thing that was added.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AddedEntity {
    /// Its id.
    pub id: EntityId,
    /// The fact that is its name.
    pub name_fact_id: FactId,
    /// When it was recorded.
    pub recorded_at: RecordTime,
}

impl Reply for AddedEntity {
    const STATUS: u16 = 201;

    fn text(&self) -> String {
        format!("{}\n", self.id)
    }
}

impl Operation for AddEntity {
    type Target = Base;
    type Output = AddedEntity;
    const SPEC: Spec = Spec::write("add_entity", "Add a thing")
        .route(Method::Post, "/kbs/{kb_id}/entities")
        .idempotency_key()
        .cli("entity add", &["name"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<AddedEntity> {
        let mut tx = cx.write().await?;
        let words = ontology::read(&mut tx, cx.target.id()).await?;
        let kind = self
            .entity_type
            .as_deref()
            .map(|named| entity_type(&words, named));
        let new = NewEntity {
            name: self.name,
            kind: kind.transpose()?.map(|kind| kind.id),
            source: KindSource::Human,
        };
        let ids = || cx.ids.next();
        let (id, name_fact_id, recorded_at) =
            ledger::add_entity(&mut tx, &decision(cx, &ids), &new).await?;
        cx.about("entity", id);
        tx.commit(AddedEntity {
            id,
            name_fact_id,
            recorded_at,
        })
        .await
    }
}
