use engine::library;
use kernel::{Base, Cx, Job, JobCx, JobError, Method, Operation, Reply, Spec, job};
use model::{Error, KbId, Result, Role, SourceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{jobs, sources};

use super::{PullSource, known};

/// What becomes of a deleted source's documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Documents {
    /// They stay, as documents of no source.
    #[default]
    Keep,
    /// They are deleted too, and each can be restored.
    Delete,
}

/// Delete a source: nothing comes from it any more. Its documents stay unless `documents` is
/// `delete`.
#[derive(Deserialize, JsonSchema)]
pub struct DeleteSource {
    /// The source's id.
    source_id: SourceId,
    /// What becomes of its documents; `keep` if absent.
    #[serde(default)]
    documents: Documents,
}

/// A source that was deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedSource {
    /// The source's id.
    pub source_id: SourceId,
    /// Documents that stay.
    pub kept: u64,
    /// Documents that a job deletes now.
    pub deleted: u64,
}

impl Reply for DeletedSource {
    fn text(&self) -> String {
        format!(
            "{}  deleted; {} document(s) stay, {} go\n",
            self.source_id, self.kept, self.deleted
        )
    }
}

impl Operation for DeleteSource {
    type Target = Base;
    type Output = DeletedSource;
    const SPEC: Spec = Spec::destroy("delete_source", "Delete a source")
        .least(Role::Admin)
        .route(Method::Delete, "/kbs/{kb_id}/sources/{source_id}")
        .idempotency_key()
        .cli("source delete", &["source_id"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<DeletedSource> {
        cx.about("source", self.source_id);
        let kb = cx.target.id();
        let mut tx = cx.write().await?;
        let source = known(&mut tx, cx, self.source_id).await?;
        let count = sources::count(&mut tx, kb, source.id).await?;
        let here = count.documents - count.missing;
        sources::delete(&mut tx, kb, source.id).await?;
        jobs::remove_by_key(&mut tx, kb, &PullSource::of(&source).key()).await?;
        let (kept, deleted) = match self.documents {
            Documents::Keep => {
                sources::release_items(&mut tx, kb, source.id).await?;
                (here, 0)
            }
            Documents::Delete => {
                let empty = EmptySource { source: source.id };
                job::enqueue(cx, &mut tx, Some(kb), &empty).await?;
                (0, here)
            }
        };
        tx.commit(DeletedSource {
            source_id: source.id,
            kept,
            deleted,
        })
        .await
    }
}

/// Deletes the documents of a source that is gone.
#[derive(Debug, Serialize, Deserialize)]
pub struct EmptySource {
    source: SourceId,
}

/// Documents deleted in one transaction: others write in between.
const AT_ONCE: u32 = 200;

impl Job for EmptySource {
    const KIND: &'static str = "empty_source";
    const ATTEMPTS: u32 = 8;

    fn key(&self) -> String {
        self.source.to_string()
    }

    async fn run(&self, cx: &JobCx) -> Result<(), JobError> {
        let kb = cx
            .base
            .ok_or_else(|| JobError::Fail(Error::internal("the job names no base")))?;
        let mut gone = 0;
        loop {
            let some = self.delete_some(cx, kb, gone).await?;
            if some == 0 {
                return Ok(());
            }
            gone += some;
        }
    }
}

impl EmptySource {
    /// Deletes the next few, and says how many they were.
    async fn delete_some(&self, cx: &JobCx, kb: KbId, gone: usize) -> Result<usize> {
        let mut tx = cx.core.db.write(cx.tenant).await?;
        let items = sources::items(&mut tx, kb, self.source, None, AT_ONCE).await?;
        for item in &items {
            if item.deleted_at.is_none() {
                library::delete(&mut tx, kb, item.document, cx.core.clock.now()).await?;
            }
            sources::release_item(&mut tx, kb, item.document).await?;
        }
        let progress = serde_json::json!({ "deleted": gone + items.len() });
        jobs::progress(&mut tx, cx.id, &progress.to_string()).await?;
        tx.commit().await?;
        Ok(items.len())
    }
}
