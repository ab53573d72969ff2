use std::sync::Arc;

use engine::soundness::{self, Files, Place};
use kernel::{Cx, Flowing, Method, Operation, Spec, Tenant};
use model::Result;
use schemars::JsonSchema;
use serde::Deserialize;

use super::lines;

/// Check everything that must hold in the deployment while it serves: rows among one another,
/// every document's file against its hash, the activity log's chain, the search caches, the queue.
///
/// The answer comes line by line, each a JSON object: `progress`, `finding` (what is wrong, where,
/// and how to mend it), and at the end `done`. `quipu verify` prints it.
#[derive(Deserialize, JsonSchema)]
pub struct Verify {
    /// Look only at whether files are there and as large as they should be, instead of reading
    /// every byte of them.
    #[serde(default)]
    sizes_only: bool,
}

impl Operation for Verify {
    type Target = Tenant;
    type Output = Flowing;
    const SPEC: Spec = Spec::read("verify", "Check the deployment")
        .system_admin()
        .route(Method::Get, "/verify")
        .flows(&[lines::MEDIA_TYPE]);

    async fn run(self, cx: &Cx<'_, Tenant>) -> Result<Flowing> {
        let (core, id) = (Arc::clone(cx.core()), cx.ids.next());
        let files = if self.sizes_only {
            Files::Sizes
        } else {
            Files::Bytes
        };
        Ok(lines::told(move |out| async move {
            let clock = core.clock.clone();
            let place = Place {
                db: &core.db,
                blobs: &core.blobs,
                indexes: &core.indexes,
                now: Arc::new(move || clock.now()),
            };
            soundness::look(&place, id, files, &out).await
        }))
    }
}
