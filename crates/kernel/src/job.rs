//! Work that goes on after the call that asked for it: durable, resumable, with progress.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use model::{Code, JobId, KbId, RecordTime, TenantId};
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
    /// Whose turn it is when several are due.
    const QUEUE: Queue = Queue::Text;
    /// How many of the kind and of one base a worker takes at once.
    const TOGETHER: u32 = 1;

    /// Two unfinished jobs of one kind and key are one.
    fn key(&self) -> String;

    /// Does it.
    fn run(&self, cx: &JobCx) -> impl Future<Output = Result<(), JobError>> + Send;

    /// Does several that were taken at once, in the context of the first; an outcome for each, in
    /// their order.
    fn run_together(
        cx: &JobCx,
        jobs: &[Self],
    ) -> impl Future<Output = Vec<Result<(), JobError>>> + Send {
        async move {
            let mut outcomes = Vec::with_capacity(jobs.len());
            for job in jobs {
                outcomes.push(job.run(cx).await);
            }
            outcomes
        }
    }

    /// What to leave behind when it will not be tried again.
    fn failed(&self, cx: &JobCx, error: &Error) -> impl Future<Output = Result<()>> + Send {
        let _ = (cx, error);
        async { Ok(()) }
    }
}

/// What a job is for. Those of an earlier queue go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Queue {
    /// Making text searchable, and all that somebody waits for.
    Text,
    /// The vectors of what was just added.
    Vectors,
    /// What may take hours: another model's vectors of a whole base.
    Background,
}

impl Queue {
    /// Every queue, the most urgent first.
    pub const ALL: [Queue; 3] = [Queue::Text, Queue::Vectors, Queue::Background];

    /// Its name in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Queue::Text => "default",
            Queue::Vectors => "vectors",
            Queue::Background => "background",
        }
    }
}

/// Why a job stopped.
#[derive(Debug)]
pub enum JobError {
    /// It made way, or waits for something outside: it goes on after so many seconds, and the
    /// attempt does not count.
    Later {
        /// For how long.
        seconds: i64,
        /// What it waits for; none if it made way.
        why: Option<Error>,
    },
    /// It may work later.
    Retry(Error),
    /// It never will.
    Fail(Error),
}

impl JobError {
    /// The outcomes of several jobs that this one error stopped.
    pub fn of_all(self, jobs: usize) -> Vec<Result<(), JobError>> {
        let again = |error: &Error| Error::new(error.code, error.message.clone());
        let mut outcomes: Vec<_> = (1..jobs)
            .map(|_| {
                Err(match &self {
                    JobError::Later { seconds, why } => JobError::Later {
                        seconds: *seconds,
                        why: why.as_ref().map(again),
                    },
                    JobError::Retry(error) => JobError::Retry(again(error)),
                    JobError::Fail(error) => JobError::Fail(again(error)),
                })
            })
            .collect();
        outcomes.push(Err(self));
        outcomes
    }
}

impl<E: Into<Error>> From<E> for JobError {
    /// Faults of the stores and providers pass; refusals of the content do not.
    fn from(error: E) -> Self {
        let error = error.into();
        match error.code {
            Code::Internal => JobError::Retry(error),
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

impl JobCx {
    /// Makes way for more urgent work: to be asked between the steps of a long job.
    ///
    /// # Errors
    /// [`JobError::Later`] if some waits; when the store refuses.
    pub async fn make_way(&self, queue: Queue) -> Result<(), JobError> {
        self.let_pass(|other| other < queue).await
    }

    /// Makes way for more urgent work and for other work of its queue: to be asked when a long job
    /// has had its share, so that short ones need not wait for its end.
    ///
    /// # Errors
    /// As [`JobCx::make_way`].
    pub async fn take_turns(&self, queue: Queue) -> Result<(), JobError> {
        self.let_pass(|other| other <= queue).await
    }

    async fn let_pass(&self, is_first: impl Fn(Queue) -> bool) -> Result<(), JobError> {
        let now = self.core.clock.now();
        let mut tx = self.core.db.read_directory().await?;
        for urgent in Queue::ALL.into_iter().filter(|&other| is_first(other)) {
            let next = jobs::next_due(&mut tx, urgent.name()).await?;
            if next.is_some_and(|due| due <= now) {
                return Err(JobError::Later {
                    seconds: 0,
                    why: None,
                });
            }
        }
        Ok(())
    }
}

type Running<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A kind of job without its type.
pub struct JobEntry {
    /// Its name in the queue.
    pub kind: &'static str,
    /// How often it is tried.
    pub attempts: u32,
    /// How many a worker takes at once.
    pub together: u32,
    run: for<'a> fn(&'a JobCx, &'a [jobs::Job]) -> Running<'a, Outcomes>,
    failed: for<'a> fn(&'a JobCx, &'a str, &'a Error) -> Running<'a, Result<()>>,
}

/// What became of each of several jobs.
type Outcomes = Vec<Result<(), JobError>>;

impl JobEntry {
    /// The entry of a job.
    pub const fn of<J: Job>() -> Self {
        Self {
            kind: J::KIND,
            attempts: J::ATTEMPTS,
            together: J::TOGETHER,
            run: |cx, taken| Box::pin(run_taken::<J>(cx, taken)),
            failed: |cx, payload, error| {
                Box::pin(async move {
                    let job: J = serde_json::from_str(payload).map_err(Error::internal)?;
                    job.failed(cx, error).await
                })
            },
        }
    }
}

/// Runs those whose payload can be read; the others fail.
async fn run_taken<J: Job>(cx: &JobCx, taken: &[jobs::Job]) -> Outcomes {
    let read = taken
        .iter()
        .map(|row| serde_json::from_str(&row.payload).map_err(Error::internal));
    let read: Vec<Result<J>> = read.collect();
    let mut unreadable = Vec::with_capacity(read.len());
    let mut jobs = Vec::with_capacity(read.len());
    for job in read {
        match job {
            Ok(job) => {
                jobs.push(job);
                unreadable.push(None);
            }
            Err(error) => unreadable.push(Some(error)),
        }
    }
    let mut outcomes = match jobs.as_slice() {
        [] => Vec::new(),
        [job] => vec![job.run(cx).await],
        jobs => J::run_together(cx, jobs).await,
    }
    .into_iter();
    unreadable
        .into_iter()
        .map(|error| match error {
            Some(error) => Err(JobError::Fail(error)),
            None => outcomes.next().expect("each job has an outcome"),
        })
        .collect()
}

/// Adds a job in the transaction that makes it needed.
pub async fn enqueue<J: Job>(core: &Core, tx: &mut Tx, base: Option<KbId>, job: &J) -> Result<()> {
    enqueue_at(core, tx, base, job, core.clock.now()).await
}

/// The same, for a job that is not to begin before `run_at`. One that goes on with the work of
/// another takes that one's place, before what came later.
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
        queue: J::QUEUE.name(),
        kind: J::KIND,
        key: &job.key(),
        payload: &payload,
        run_at,
        created_at: now,
    };
    jobs::enqueue(tx, &new).await?;
    Ok(())
}

/// How long a job may go without a sign of life before another worker takes it.
pub const LEASE_SECONDS: i64 = 60;

/// Runs the next job that is due, if there is one, and with it those of its kind that are taken
/// together. Says whether there was.
///
/// # Errors
/// When the store refuses; the job comes back when its lease ends.
pub async fn run_next(core: &Arc<Core>, entries: &[&'static [JobEntry]]) -> Result<bool> {
    let Some((entry, taken)) = take(core, entries).await? else {
        return Ok(false);
    };
    let first = &taken[0];
    let cx = JobCx {
        core: Arc::clone(core),
        tenant: first.tenant,
        base: first.base,
        id: first.id,
    };
    let outcomes = match entry {
        Some(entry) if first.attempts > entry.attempts => {
            let sentence = format!(
                "it was begun {} times and the server ended each time before it did",
                entry.attempts
            );
            vec![Err(JobError::Fail(Error::new(Code::Internal, sentence)))]
        }
        Some(entry) => with_heartbeat(&cx, &taken, (entry.run)(&cx, &taken)).await,
        None => vec![Err(JobError::Fail(Error::internal(format!(
            "no job is called {}",
            first.kind
        ))))],
    };
    let done: Vec<&jobs::Job> = taken
        .iter()
        .zip(&outcomes)
        .filter_map(|(job, outcome)| outcome.is_ok().then_some(job))
        .collect();
    if !done.is_empty() {
        let mut tx = core.db.write(cx.tenant).await?;
        jobs::finish_all(&mut tx, &done, core.clock.now()).await?;
        tx.commit().await?;
    }
    for (job, outcome) in taken.iter().zip(outcomes) {
        if let Err(error) = outcome {
            settle(&cx, entry, job, error).await?;
        }
    }
    Ok(true)
}

/// Claims the next job, and those that are taken together with it.
async fn take(
    core: &Arc<Core>,
    entries: &[&'static [JobEntry]],
) -> Result<Option<(Option<&'static JobEntry>, Vec<jobs::Job>)>> {
    let now = core.clock.now();
    let lease = now.plus_seconds(LEASE_SECONDS);
    let mut tx = core.db.write_directory().await?;
    let mut claimed = None;
    for queue in Queue::ALL {
        claimed = jobs::claim(&mut tx, queue.name(), now, lease).await?;
        if claimed.is_some() {
            break;
        }
    }
    let Some(first) = claimed else {
        return Ok(None);
    };
    let entry = entry_of(entries, &first.kind);
    let mut taken = vec![first];
    // One that was begun before may have ended the server: it is not to take others with it.
    let more = entry.map_or(0, |entry| entry.together.saturating_sub(1));
    if more > 0 && taken[0].attempts == 1 {
        taken.extend(jobs::claim_alike(&mut tx, &taken[0], now, lease, more).await?);
    }
    tx.commit().await?;
    Ok(Some((entry, taken)))
}

/// The entry of a kind of job.
fn entry_of(entries: &[&'static [JobEntry]], kind: &str) -> Option<&'static JobEntry> {
    let mut all = entries.iter().copied().flatten();
    all.find(|entry| entry.kind == kind)
}

/// Runs jobs and renews their lease beside them.
///
/// Both go on at once: a renewal that waits for its turn to write must not keep the jobs, which
/// may have that turn, from going on.
async fn with_heartbeat(
    cx: &JobCx,
    taken: &[jobs::Job],
    running: Running<'_, Outcomes>,
) -> Outcomes {
    tokio::select! {
        outcomes = running => outcomes,
        lost = beat(cx, taken) => JobError::Retry(lost).of_all(taken.len()),
    }
}

/// Renews the jobs' lease for as long as they are these attempts'.
async fn beat(cx: &JobCx, taken: &[jobs::Job]) -> Error {
    let pause = std::time::Duration::from_secs(LEASE_SECONDS.unsigned_abs() / 3);
    loop {
        tokio::time::sleep(pause).await;
        let renewed = async {
            let lease = cx.core.clock.now().plus_seconds(LEASE_SECONDS);
            let mut tx = cx.core.db.write(cx.tenant).await?;
            let mut are_ours = true;
            for job in taken {
                are_ours &= jobs::heartbeat(&mut tx, job, lease).await?;
            }
            tx.commit().await?;
            Ok::<_, store::StoreError>(are_ours)
        };
        match renewed.await {
            Ok(true) => {}
            Ok(false) => return Error::internal("the job's lease ran out and another has it"),
            Err(error) => return error.into(),
        }
    }
}

/// Puts a job that stopped back, or gives it up.
async fn settle(
    cx: &JobCx,
    entry: Option<&JobEntry>,
    job: &jobs::Job,
    stopped: JobError,
) -> Result<()> {
    let now = cx.core.clock.now();
    let attempts_left = entry.map_or(0, |entry| entry.attempts.saturating_sub(job.attempts));
    let error = match stopped {
        JobError::Later { seconds, why } => {
            if let Some(error) = &why {
                tracing::warn!(kind = job.kind, job = %job.id, error = %describe(error), "a job waits");
            }
            let mut tx = cx.core.db.write(cx.tenant).await?;
            let run_at = now.plus_seconds(seconds);
            let why = why.as_ref().map(|error| error.message.as_str());
            jobs::put_off(&mut tx, job, run_at, why).await?;
            return Ok(tx.commit().await?);
        }
        JobError::Retry(error) if attempts_left > 0 => {
            tracing::warn!(kind = job.kind, job = %job.id, error = %describe(&error), "a job will be tried again");
            let mut tx = cx.core.db.write(cx.tenant).await?;
            let run_at = now.plus_seconds(retry_delay_seconds(job.attempts));
            jobs::retry(&mut tx, job, run_at, &error.message).await?;
            return Ok(tx.commit().await?);
        }
        JobError::Retry(error) | JobError::Fail(error) => error,
    };
    if let Some(entry) = entry {
        tracing::warn!(kind = job.kind, job = %job.id, error = %describe(&error), "a job failed");
        (entry.failed)(cx, &job.payload, &error).await?;
    }
    let mut tx = cx.core.db.write(cx.tenant).await?;
    jobs::fail(&mut tx, job, now, &error.message).await?;
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
