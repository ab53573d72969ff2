use std::sync::Arc;

use engine::{backup, base_archive};
use kernel::{Base, Cx, Flow, Flowing, Method, Operation, Spec};
use model::{Result, Role};
use schemars::JsonSchema;
use serde::Deserialize;
use store::bases;

/// Export a base whole, as an archive that `import_base` takes in.
///
/// The answer is one tar file with all that belongs to the base as of one moment, whoever may see
/// it: its words, entities and facts with their whole history, who is one with whom, its documents
/// in all versions with their bytes, and the sources they come from. Members, tokens and the
/// activity log stay here. It ends with a manifest; a file without one is not whole: throw it away.
#[derive(Deserialize, JsonSchema)]
pub struct ExportBase {}

impl Operation for ExportBase {
    type Target = Base;
    type Output = Flowing;
    const SPEC: Spec = Spec::read("export_base", "Export a base as an archive")
        .least(Role::Owner)
        .route(Method::Get, "/kbs/{kb_id}/archive")
        .flows(&["application/x-tar"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<Flowing> {
        let clock = cx.clock.clone();
        let now: backup::Now = Arc::new(move || clock.now());
        let (tenant, kb) = (cx.target.tenant(), cx.target.id());
        let slug = bases::find(&mut cx.read().await?, kb).await?;
        let slug = slug.map_or_else(|| kb.to_string(), |base| base.slug);
        let parts = base_archive::make(
            (&cx.db, &cx.blobs),
            env!("CARGO_PKG_VERSION"),
            (tenant, kb),
            cx.ids.next(),
            now,
        );
        Ok(Flowing(Flow {
            filename: Some(format!("{slug}.tar")),
            media_type: None,
            parts: parts.await?,
        }))
    }
}
