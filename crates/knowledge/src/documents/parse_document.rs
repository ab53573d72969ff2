//! Reading the text of versions and making them the ones that are held.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::library::{self, Prepared, Published};
use kernel::{Core, Job, JobCx, JobError, job};
use model::document::ParsedDocument;
use model::{Code, DocumentId, Error, KbId, Result, TenantId};
use providers::ParseFailure;
use serde::{Deserialize, Serialize};
use store::blobs::BlobKey;
use store::documents::{self, DocumentState, Version};

use super::pipeline::{self, Bounds};
use super::{IndexDocument, version_key};

/// Reads a version's text and makes it the one that is held.
#[derive(Debug, Serialize, Deserialize)]
pub struct ParseDocument {
    /// The document.
    pub document: DocumentId,
    /// Its version.
    pub version: u32,
}

/// The parser tells the format by name and bytes.
const FORMAT: &str = "";

/// Two parsers, and up to 32 MiB of files in memory.
const BOUNDS: Bounds = Bounds {
    readers: 2,
    weight: 32 * 1024,
    group: 32,
    group_weight: 1024,
    group_within: Duration::from_millis(50),
};

impl Job for ParseDocument {
    const KIND: &'static str = "parse_document";
    const ATTEMPTS: u32 = 3;
    const TOGETHER: u32 = 64;

    fn key(&self) -> String {
        version_key(self.document, self.version)
    }

    async fn run(&self, cx: &JobCx) -> Result<(), JobError> {
        let mut outcomes = Self::run_together(cx, std::slice::from_ref(self)).await;
        outcomes.pop().expect("one job has one outcome")
    }

    async fn run_together(cx: &JobCx, jobs: &[Self]) -> Vec<Result<(), JobError>> {
        let begun = match base(cx) {
            Ok(kb) => begin(cx, kb, jobs)
                .await
                .map(|to_read| (kb, to_read))
                .map_err(JobError::from),
            Err(error) => Err(error),
        };
        match begun {
            Ok((kb, to_read)) => read_and_publish(cx, kb, jobs.len(), to_read).await,
            Err(error) => error.of_all(jobs.len()),
        }
    }

    async fn failed(&self, cx: &JobCx, error: &Error) -> Result<()> {
        give_up(cx, (self.document, self.version), error).await
    }
}

/// A version to be read: which of the jobs is about it.
struct ToRead {
    job: usize,
    accepted: Version,
}

/// A version whose text is ready to be published.
struct ToPublish {
    job: usize,
    accepted: Version,
    prepared: Prepared,
}

/// The versions that are still to be read; after a crash some may be held already.
async fn begin(cx: &JobCx, kb: KbId, jobs: &[ParseDocument]) -> Result<Vec<ToRead>> {
    let core = &cx.core;
    let mut to_read = Vec::with_capacity(jobs.len());
    let mut tx = core.db.write(cx.tenant).await?;
    for (n, job) in jobs.iter().enumerate() {
        let this = (job.document, job.version);
        let Some(accepted) = documents::version(&mut tx, kb, this).await? else {
            continue;
        };
        if accepted.recorded_at.is_some() {
            job::enqueue(core, &mut tx, Some(kb), &job.next()).await?;
        } else {
            let (parsing, now) = (DocumentState::Parsing, core.clock.now());
            documents::set_state(&mut tx, kb, this, parsing, None, now).await?;
            to_read.push(ToRead { job: n, accepted });
        }
    }
    tx.commit().await?;
    Ok(to_read)
}

/// Reads the versions and makes each the one that is held; an outcome for each of `jobs` jobs.
async fn read_and_publish(
    cx: &JobCx,
    kb: KbId,
    jobs: usize,
    to_read: Vec<ToRead>,
) -> Vec<Result<(), JobError>> {
    let outcomes = Mutex::new((0..jobs).map(|_| Ok(())).collect::<Vec<_>>());
    let set = |job: usize, outcome| {
        outcomes.lock().expect("no holder of this lock panics")[job] = outcome;
    };
    let (core, tenant) = (Arc::clone(&cx.core), cx.tenant);
    pipeline::flow(
        to_read,
        BOUNDS,
        |version| u32::try_from(version.accepted.size / 1024).unwrap_or(u32::MAX),
        move |version| {
            let core = Arc::clone(&core);
            async move {
                let ToRead { job, accepted } = version;
                match prepare(&core, (tenant, kb), &accepted).await {
                    Ok(Some(prepared)) => Ok(Some(ToPublish {
                        job,
                        accepted,
                        prepared,
                    })),
                    Ok(None) => Ok(None),
                    Err(error) => Err((job, error)),
                }
            }
        },
        |read| {
            let mut ready = Vec::with_capacity(read.len());
            for outcome in read {
                match outcome {
                    Ok(version) => ready.extend(version),
                    Err((job, error)) => set(job, Err(error)),
                }
            }
            async move {
                match publish(cx, kb, &ready).await {
                    Ok(()) => {}
                    // One of them may be to blame: each by itself.
                    Err(_) if ready.len() > 1 => {
                        for version in &ready {
                            let published = publish(cx, kb, std::slice::from_ref(version)).await;
                            set(version.job, published.map_err(JobError::from));
                        }
                    }
                    Err(error) => set(ready[0].job, Err(error.into())),
                }
            }
        },
    )
    .await;
    outcomes
        .into_inner()
        .expect("no holder of this lock panics")
}

/// The text of a version as it will be stored; none if its document was purged meanwhile.
async fn prepare(
    core: &Core,
    (tenant, kb): (TenantId, KbId),
    accepted: &Version,
) -> Result<Option<Prepared>, JobError> {
    let before = library::read_before(&mut core.db.read(tenant).await?, kb, accepted).await?;
    let parsed = match before {
        Some(parsed) => Some(parsed),
        None => read_file(core, (tenant, kb), accepted).await?,
    };
    let Some(parsed) = parsed else {
        return Ok(None);
    };
    // Cutting a long text is arithmetic: on a thread of its own, so that calls go on.
    let (document, filename) = (accepted.document, accepted.filename.clone());
    let prepared = tokio::task::spawn_blocking(move || Prepared::new(document, &filename, parsed));
    Ok(Some(prepared.await.map_err(Error::internal)?))
}

/// Makes the versions the ones that are held, in one transaction.
async fn publish(cx: &JobCx, kb: KbId, ready: &[ToPublish]) -> Result<()> {
    if ready.is_empty() {
        return Ok(());
    }
    let core = &cx.core;
    let mut tx = core.db.write(cx.tenant).await?;
    for ToPublish {
        accepted, prepared, ..
    } in ready
    {
        let (document, version) = (accepted.document, accepted.version);
        let now = core.clock.now();
        let published = library::publish(&mut tx, kb, (document, version), prepared, now).await?;
        if let Published::Held(_) = published {
            let next = ParseDocument { document, version }.next();
            // In the place of its parsing: what came first is found first.
            let since = accepted.accepted_at.min(now);
            job::enqueue_at(core, &mut tx, Some(kb), &next, since).await?;
        }
        // On SQLite nothing above waits: let others have the thread.
        tokio::task::yield_now().await;
    }
    tx.commit().await?;
    core.job_bell.notify_one();
    Ok(())
}

impl ParseDocument {
    const fn next(&self) -> IndexDocument {
        IndexDocument {
            document: self.document,
            version: self.version,
        }
    }
}

/// What the file of a version says; none if a purge has erased it.
pub(super) async fn read_file(
    core: &Core,
    (tenant, kb): (TenantId, KbId),
    version: &Version,
) -> Result<Option<ParsedDocument>, JobError> {
    let blob = BlobKey {
        tenant,
        kb,
        hash: version.blob_hash,
    };
    let Some(bytes) = core.blobs.get(&blob).await? else {
        gone(core, (tenant, kb), version.document).await?;
        return Ok(None);
    };
    let parsed = core.parser.parse(FORMAT, &version.filename, bytes).await;
    Ok(Some(parsed.map_err(refusal)?))
}

/// The job's base.
pub(super) fn base(cx: &JobCx) -> Result<KbId, JobError> {
    cx.base
        .ok_or_else(|| JobError::Fail(Error::internal("the job names no base")))
}

/// Marks the version as failed, unless a later one is on its way.
pub(super) async fn give_up(cx: &JobCx, version: (DocumentId, u32), error: &Error) -> Result<()> {
    let Some(kb) = cx.base else { return Ok(()) };
    let mut tx = cx.core.db.write(cx.tenant).await?;
    let (failed, why) = (DocumentState::Failed, Some(error.message.as_str()));
    documents::set_state(&mut tx, kb, version, failed, why, cx.core.clock.now()).await?;
    Ok(tx.commit().await?)
}

/// A file is gone only with a purge; else the store has lost it, which nothing repairs but
/// sending it again.
async fn gone(core: &Core, (tenant, kb): (TenantId, KbId), id: DocumentId) -> Result<(), JobError> {
    let mut tx = core.db.read(tenant).await?;
    match documents::find(&mut tx, kb, id).await? {
        Some(document) if document.purged_at.is_none() => {
            let sentence = "the stored file is missing; send the document again";
            Err(JobError::Fail(Error::new(Code::Unreadable, sentence)))
        }
        _ => Ok(()),
    }
}

/// What the parser's failure means for the job: what the content is to blame for stays so.
fn refusal(failure: ParseFailure) -> JobError {
    let error = Error::new(Code::Unreadable, failure.to_string());
    match failure {
        ParseFailure::Refused(_)
        | ParseFailure::TooLarge { .. }
        | ParseFailure::TooMuchOutput { .. } => JobError::Fail(error),
        // Another load of the machine may let the same file pass.
        ParseFailure::TooLong { .. } | ParseFailure::TooMuchMemory | ParseFailure::Crashed => {
            JobError::Retry(error)
        }
        ParseFailure::NotRead(_) | ParseFailure::NotStarted(_) => {
            JobError::Retry(error.caused_by(failure))
        }
    }
}
