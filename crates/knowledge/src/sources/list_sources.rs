use std::collections::HashMap;

use kernel::{Base, Cx, Method, Operation, Reply, Spec};
use model::{Result, SourceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::sources::{self, ItemCount};

use super::SourceInfo;

/// List the sources of a base that you can see, in the order they were made.
#[derive(Deserialize, JsonSchema)]
pub struct ListSources {}

/// The sources of a base.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Sources {
    /// The sources, in the order they were made.
    pub sources: Vec<SourceInfo>,
}

impl Reply for Sources {
    fn text(&self) -> String {
        if self.sources.is_empty() {
            return "No sources.\n".to_owned();
        }
        self.sources.iter().map(SourceInfo::line).collect()
    }
}

impl Operation for ListSources {
    type Target = Base;
    type Output = Sources;
    const SPEC: Spec = Spec::read("list_sources", "List sources")
        .route(Method::Get, "/kbs/{kb_id}/sources")
        .cli("source list", &[]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<Sources> {
        let kb = cx.target.id();
        let mut tx = cx.read().await?;
        let counts: HashMap<SourceId, ItemCount> =
            sources::counts(&mut tx, kb).await?.into_iter().collect();
        let listed = sources::list(&mut tx, kb, cx.target.role()).await?;
        let infos = listed.into_iter().map(|source| {
            let count = counts.get(&source.id).copied().unwrap_or_default();
            SourceInfo::of(kb, source, count)
        });
        Ok(Sources {
            sources: infos.collect::<Result<_>>()?,
        })
    }
}
