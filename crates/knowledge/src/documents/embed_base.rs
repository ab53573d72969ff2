//! Making the vectors that a whole base lacks of a model, and switching the base to it.

use engine::library::models::{self, Switched};
use engine::library::{self, Embedded};
use kernel::{Core, Job, JobCx, JobError, Queue, job};
use model::{Code, KbId, Result, TenantId};
use providers::Embedder;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::{Tx, bases, jobs, tenants, vectors};

use super::index_document::catch_up;

/// Makes the vectors that a base lacks of a model, batch by batch; if it is the one that is
/// wanted, the base is switched to it when none is lacking.
///
/// It makes way for all other work, and what it made stays when it is cut off.
#[derive(Debug, Serialize, Deserialize)]
pub struct EmbedBase {
    /// The model's tag.
    pub model: String,
    /// The base: one such job for each base and model.
    pub kb: KbId,
}

/// How long it waits for a model that does not answer.
const WAIT_SECONDS: i64 = 30;

impl Job for EmbedBase {
    const KIND: &'static str = "embed_base";
    const ATTEMPTS: u32 = 20;
    const QUEUE: Queue = Queue::Background;

    fn key(&self) -> String {
        key_of(self.kb, &self.model)
    }

    async fn run(&self, cx: &JobCx) -> Result<(), JobError> {
        let core = &cx.core;
        // A model that is gone makes no vectors; when it is back, the start queues this anew.
        let Some(embedder) = core.embedders.by_tag(&self.model) else {
            return Ok(());
        };
        let mut done = 0;
        while let Some(last) = self.embed(cx, &embedder, done).await? {
            done = last;
            if self.switch(cx, done).await? {
                break;
            }
        }
        catch_up(core, cx.tenant, self.kb).await?;
        Ok(())
    }
}

impl EmbedBase {
    /// Embeds what lacks a vector after an ordinal; the last one that was looked at, or none if
    /// nobody asks for the model any more.
    async fn embed(
        &self,
        cx: &JobCx,
        embedder: &Embedder,
        after: i64,
    ) -> Result<Option<i64>, JobError> {
        let (core, place) = (&cx.core, (cx.tenant, self.kb));
        let mut progress = Progress::read(cx, self).await?;
        let mut last = after;
        loop {
            let mut tx = core.db.read(cx.tenant).await?;
            let standing = models::standing(&mut tx, self.kb, &core.embedders).await?;
            drop(tx);
            if !standing.asks_for(&self.model) {
                return Ok(None);
            }
            cx.make_way(Self::QUEUE).await?;
            let (stores, now) = ((&core.db, &core.embedders), core.clock.now());
            let made = library::embed_next(stores, embedder, place, None, last, now).await;
            let made = match made {
                Ok(Some(made)) => made,
                Ok(None) => return Ok(Some(last)),
                Err(error) if error.code == Code::Unavailable => {
                    return Err(JobError::Later {
                        seconds: WAIT_SECONDS,
                        why: Some(error),
                    });
                }
                Err(error) => return Err(error.into()),
            };
            last = made.last;
            progress.tell(cx, made).await?;
        }
    }

    /// Switches the base if the model is the wanted one; whether there is nothing left to do.
    async fn switch(&self, cx: &JobCx, after: i64) -> Result<bool, JobError> {
        let (core, kb) = (&cx.core, self.kb);
        // Before the switch, so that the first search after it need not wait for the reading.
        core.indexes.warm(cx.tenant, kb, &self.model).await?;
        let mut tx = core.db.write(cx.tenant).await?;
        let (this, now) = ((self.model.as_str(), after), core.clock.now());
        let switched = models::switch(&mut tx, &core.embedders, kb, this, now).await?;
        tx.commit().await?;
        if switched == Switched::Serves {
            tracing::info!(base = %kb, model = self.model, "searches ask for this model's vectors");
        }
        Ok(switched != Switched::Lacks)
    }
}

/// How far a base is, for those who look at the job.
struct Progress {
    vectors: u64,
    passages: u64,
}

impl Progress {
    async fn read(cx: &JobCx, job: &EmbedBase) -> Result<Self> {
        let mut tx = cx.core.db.read(cx.tenant).await?;
        Ok(Self {
            vectors: vectors::count(&mut tx, job.kb, &job.model).await?,
            passages: vectors::passages(&mut tx, job.kb).await?,
        })
    }

    async fn tell(&mut self, cx: &JobCx, made: Embedded) -> Result<()> {
        self.vectors += made.vectors;
        let (ordinal, vectors, passages) = (made.last, self.vectors, self.passages);
        let told = json!({ "ordinal": ordinal, "vectors": vectors, "passages": passages });
        let mut tx = cx.core.db.write(cx.tenant).await?;
        jobs::progress(&mut tx, cx.id, &told.to_string()).await?;
        Ok(tx.commit().await?)
    }
}

/// Names the job about a base and a model.
pub fn key_of(kb: KbId, tag: &str) -> String {
    format!("{kb}/{tag}")
}

/// Queues a job for every base that lacks vectors of a model that is asked for, or that is to be
/// switched to the wanted one; how many were needed. For the start of a server, and for when a
/// model has come or was chosen.
pub async fn enqueue_missing_vectors(core: &Core) -> Result<usize> {
    let mut directory = core.db.read_directory().await?;
    let tenants = tenants::list(&mut directory).await?;
    drop(directory);
    let mut needed = 0;
    for tenant in tenants {
        // Looked for in a reading transaction: over a large base it takes a while.
        let mut tx = core.db.read(tenant.id).await?;
        let mut lacking = Vec::new();
        for base in bases::list(&mut tx).await? {
            lacking.extend(lacking_in(core, &mut tx, base.id).await?);
        }
        drop(tx);
        needed += lacking.len();
        enqueue(core, tenant.id, &lacking).await?;
    }
    core.job_bell.notify_one();
    Ok(needed)
}

/// The work that a base needs.
async fn lacking_in(core: &Core, tx: &mut Tx, kb: KbId) -> Result<Vec<EmbedBase>> {
    let standing = models::standing(tx, kb, &core.embedders).await?;
    let mut lacking = Vec::new();
    for embedder in standing.embedders(&core.embedders) {
        let tag = embedder.model_tag();
        let is_to_serve = match standing.serving() {
            Some(serving) => serving != tag,
            None => 0 < vectors::count(tx, kb, tag).await?,
        };
        if is_to_serve || !vectors::missing(tx, kb, tag, 0, 1).await?.is_empty() {
            lacking.push(EmbedBase {
                model: tag.to_owned(),
                kb,
            });
        }
    }
    Ok(lacking)
}

async fn enqueue(core: &Core, tenant: TenantId, work: &[EmbedBase]) -> Result<()> {
    if work.is_empty() {
        return Ok(());
    }
    let mut tx = core.db.write(tenant).await?;
    for job in work {
        job::enqueue(core, &mut tx, Some(job.kb), job).await?;
    }
    Ok(tx.commit().await?)
}
