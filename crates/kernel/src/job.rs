//! Work that goes on after the call that asked for it: durable, resumable, with progress.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use model::{JobId, KbId, RecordTime, TenantId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use store::{Tx, jobs};

use crate::{Core, Error, Result};

/// A piece of work. Mirrors an operation: a struct, constants, a `run`.
///
/// It may be run again from its start at any time (a crash, a lost lease), so each step must
/// find out what is already done.
pub trait Job: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Its name in the queue.
    const KIND: &'static str;
    /// How often it is tried before it counts as failed.
    const ATTEMPTS: u32;

    /// Two unfinished jobs of one kind and key are one.
    fn key(&self) -> String;

    /// Does it.
    fn run(&self, cx: &JobCx) -> impl Future<Output = Result<(), JobError>> + Send;

    /// What to leave behind when it will not be tried again.
    fn failed(&self, cx: &JobCx, error: &Error) -> impl Future<Output = Result<()>> + Send {
        let _ = (cx, error);
        async { Ok(()) }
    }
}

/// Why a job stopped.
#[derive(Debug)]
pub enum JobError {
    /// It may work later.
    Retry(Error),
    /// It never will.
    Fail(Error),
}

impl<E: Into<Error>> From<E> for JobError {
    /// Faults of the stores and providers pass; refusals of the content do not.
    fn from(error: E) -> Self {
        let error = error.into();
        match error.code {
            model::Code::Internal => JobError::Retry(error),
            code if code.retryable() => JobError::Retry(error),
            _ => JobError::Fail(error),
        }
    }
}

/// The context of a running job.
pub struct JobCx {
    /// The services of the house.
    pub core: Arc<Core>,
    /// The organisation.
    pub tenant: TenantId,
    /// The base, if it is about one.
    pub base: Option<KbId>,
    /// The job.
    pub id: JobId,
}

type Running<'a, E> = Pin<Box<dyn Future<Output = Result<(), E>> + Send + 'a>>;

/// A kind of job without its type.
pub struct JobEntry {
    /// Its name in the queue.
    pub kind: &'static str,
    /// How often it is tried.
    pub attempts: u32,
    run: for<'a> fn(&'a JobCx, &'a str) -> Running<'a, JobError>,
    failed: for<'a> fn(&'a JobCx, &'a str, &'a Error) -> Running<'a, Error>,
}

impl JobEntry {
    /// The entry of a job.
    pub const fn of<J: Job>() -> Self {
        Self {
            kind: J::KIND,
            attempts: J::ATTEMPTS,
            run: |cx, payload| {
                Box::pin(async move {
                    let job: J = serde_json::from_str(payload)
                        .map_err(|error| JobError::Fail(Error::internal(error)))?;
                    job.run(cx).await
                })
            },
            failed: |cx, payload, error| {
                Box::pin(async move {
                    let job: J = serde_json::from_str(payload).map_err(Error::internal)?;
                    job.failed(cx, error).await
                })
            },
        }
    }
}

/// Adds a job in the transaction that makes it needed.
pub async fn enqueue<J: Job>(core: &Core, tx: &mut Tx, base: Option<KbId>, job: &J) -> Result<()> {
    enqueue_at(core, tx, base, job, core.clock.now()).await
}

/// The same, for a job that is not to begin before `run_at`.
pub async fn enqueue_at<J: Job>(
    core: &Core,
    tx: &mut Tx,
    base: Option<KbId>,
    job: &J,
    run_at: RecordTime,
) -> Result<()> {
    let payload = serde_json::to_string(job).map_err(Error::internal)?;
    let now = core.clock.now();
    let new = jobs::NewJob {
        id: JobId::new(core.ids.next()),
        base,
        queue: QUEUE,
        kind: J::KIND,
        key: &job.key(),
        payload: &payload,
        run_at,
        created_at: now,
    };
    jobs::enqueue(tx, &new).await?;
    Ok(())
}

/// The one queue; jobs of different weight may part later.
pub const QUEUE: &str = "default";
/// How long a job may go without a sign of life before another worker takes it.
pub const LEASE_SECONDS: i64 = 60;

/// Runs the next job that is due, if there is one. Says whether there was.
///
/// # Errors
/// When the store refuses; the job comes back when its lease ends.
pub async fn run_next(core: &Arc<Core>, entries: &[&'static [JobEntry]]) -> Result<bool> {
    let now = core.clock.now();
    let mut tx = core.db.write_directory().await?;
    let claimed = jobs::claim(&mut tx, QUEUE, now, now.plus_seconds(LEASE_SECONDS)).await?;
    tx.commit().await?;
    let Some(job) = claimed else { return Ok(false) };
    let cx = JobCx {
        core: Arc::clone(core),
        tenant: job.tenant,
        base: job.base,
        id: job.id,
    };
    let entry = entries
        .iter()
        .copied()
        .flatten()
        .find(|entry| entry.kind == job.kind);
    let outcome = match entry {
        Some(entry) if job.attempts > entry.attempts => Err(JobError::Fail(Error::new(
            model::Code::Internal,
            format!(
                "it was begun {} times and the server ended each time before it did",
                entry.attempts
            ),
        ))),
        Some(entry) => with_heartbeat(&cx, &job, (entry.run)(&cx, &job.payload)).await,
        None => Err(JobError::Fail(Error::internal(format!(
            "no job is called {}",
            job.kind
        )))),
    };
    let attempts_left = entry.map_or(0, |entry| entry.attempts.saturating_sub(job.attempts));
    settle(&cx, entry, &job, outcome, attempts_left).await?;
    Ok(true)
}

/// Runs the job and renews its lease beside it.
///
/// Both go on at once: a renewal that waits for its turn to write must not keep the job, which may
/// have that turn, from going on.
async fn with_heartbeat(
    cx: &JobCx,
    job: &jobs::Job,
    running: Running<'_, JobError>,
) -> Result<(), JobError> {
    tokio::select! {
        outcome = running => outcome,
        lost = beat(cx, job) => Err(JobError::Retry(lost)),
    }
}

/// Renews the job's lease for as long as it is this attempt's.
async fn beat(cx: &JobCx, job: &jobs::Job) -> Error {
    let pause = std::time::Duration::from_secs(LEASE_SECONDS.unsigned_abs() / 3);
    loop {
        tokio::time::sleep(pause).await;
        let renewed = async {
            let lease = cx.core.clock.now().plus_seconds(LEASE_SECONDS);
            let mut tx = cx.core.db.write(cx.tenant).await?;
            let is_ours = jobs::heartbeat(&mut tx, job, lease).await?;
            tx.commit().await?;
            Ok::<_, store::StoreError>(is_ours)
        };
        match renewed.await {
            Ok(true) => {}
            Ok(false) => return Error::internal("the job's lease ran out and another has it"),
            Err(error) => return error.into(),
        }
    }
}

async fn settle(
    cx: &JobCx,
    entry: Option<&JobEntry>,
    job: &jobs::Job,
    outcome: Result<(), JobError>,
    attempts_left: u32,
) -> Result<()> {
    let now = cx.core.clock.now();
    let failure = match outcome {
        Ok(()) => None,
        Err(JobError::Retry(error)) if attempts_left > 0 => {
            tracing::warn!(kind = job.kind, job = %job.id, error = %describe(&error), "a job will be tried again");
            let mut tx = cx.core.db.write(cx.tenant).await?;
            let run_at = now.plus_seconds(retry_delay_seconds(job.attempts));
            jobs::retry(&mut tx, job, run_at, &error.message).await?;
            return Ok(tx.commit().await?);
        }
        Err(JobError::Retry(error) | JobError::Fail(error)) => Some(error),
    };
    if let (Some(error), Some(entry)) = (&failure, entry) {
        tracing::warn!(kind = job.kind, job = %job.id, error = %describe(error), "a job failed");
        (entry.failed)(cx, &job.payload, error).await?;
    }
    let mut tx = cx.core.db.write(cx.tenant).await?;
    match failure {
        None => jobs::finish(&mut tx, job, now).await?,
        Some(error) => jobs::fail(&mut tx, job, now, &error.message).await?,
    };
    Ok(tx.commit().await?)
}

/// 1, 2, 4, … 64 seconds.
const fn retry_delay_seconds(attempts: u32) -> i64 {
    1 << (if attempts < 1 {
        0
    } else if attempts > 7 {
        6
    } else {
        attempts - 1
    })
}

/// An error with its causes, for the log.
pub fn describe(error: &Error) -> String {
    let mut text = error.message.clone();
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        text.push_str(": ");
        text.push_str(&source.to_string());
        cause = source.source();
    }
    text
}
