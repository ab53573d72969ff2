use std::sync::Arc;

use engine::backup;
use kernel::{Cx, Flow, Flowing, Method, Operation, Spec, Tenant};
use model::Result;
use schemars::JsonSchema;
use serde::Deserialize;

/// Back the whole deployment up while it serves.
///
/// The answer is one tar file with every row of every organisation and the bytes of every document
/// as of one moment; it ends with a manifest. A file without one is not whole: throw it away.
/// `quipu backup DEST` receives it, checks it on the way and keeps it only if it is whole.
#[derive(Deserialize, JsonSchema)]
pub struct BackUp {}

impl Operation for BackUp {
    type Target = Tenant;
    type Output = Flowing;
    const SPEC: Spec = Spec::write("back_up", "Back the deployment up")
        .system_admin()
        .route(Method::Post, "/backup")
        .flows(&["application/x-tar"]);

    async fn run(self, cx: &Cx<'_, Tenant>) -> Result<Flowing> {
        let clock = cx.clock.clone();
        let now: backup::Now = Arc::new(move || clock.now());
        let version = env!("CARGO_PKG_VERSION");
        let parts = backup::make(&cx.db, &cx.blobs, version, cx.ids.next(), now).await?;
        Ok(Flowing(Flow {
            filename: Some("quipu-backup.tar".to_owned()),
            media_type: None,
            parts,
        }))
    }
}
