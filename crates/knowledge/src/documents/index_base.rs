//! Bringing the search cache of a base up to its last write.

use kernel::{Job, JobCx, JobError};
use model::KbId;
use serde::{Deserialize, Serialize};

use super::index_document::catch_up;

/// Brings the search cache of a base up to its last write.
#[derive(Debug, Serialize, Deserialize)]
pub struct IndexBase {
    kb: KbId,
}

impl IndexBase {
    pub(super) const fn of(kb: KbId) -> Self {
        Self { kb }
    }
}

impl Job for IndexBase {
    const KIND: &'static str = "index_base";
    const ATTEMPTS: u32 = 3;

    fn key(&self) -> String {
        self.kb.to_string()
    }

    async fn run(&self, cx: &JobCx) -> Result<(), JobError> {
        Ok(catch_up(&cx.core, cx.tenant, self.kb).await?)
    }
}
