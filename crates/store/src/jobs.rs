//! The queue: work that outlives the call that asked for it.

use std::str::FromStr;

use model::{JobId, KbId, RecordTime, TenantId};

use crate::statement::statements;
use crate::value::{Param, Row, params};
use crate::{StoreError, Tx};

/// Work to be queued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob<'a> {
    pub id: JobId,
    pub base: Option<KbId>,
    /// Which workers take it.
    pub queue: &'a str,
    /// What is to be done.
    pub kind: &'a str,
    /// With the kind: what it is about. One unfinished job of a kind and key at a time.
    pub key: &'a str,
    /// What the worker needs to know, as JSON.
    pub payload: &'a str,
    /// Not before then.
    pub run_at: RecordTime,
    pub created_at: RecordTime,
}

/// A job as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub tenant: TenantId,
    pub id: JobId,
    pub base: Option<KbId>,
    pub queue: String,
    pub kind: String,
    pub key: String,
    pub payload: String,
    pub state: JobState,
    /// How often it was begun.
    pub attempts: u32,
    pub run_at: RecordTime,
    /// Until when its worker is held to be alive.
    pub lease_until: Option<RecordTime>,
    /// How far it is, as JSON.
    pub progress: Option<String>,
    /// Why the last attempt failed.
    pub error: Option<String>,
    pub created_at: RecordTime,
    pub finished_at: Option<RecordTime>,
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobState {
    /// To be done, at `run_at` or later.
    Waiting,
    /// With a worker.
    Running,
    /// Done.
    Done,
    /// Given up.
    Failed,
}

impl JobState {
    /// Its name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            JobState::Waiting => "waiting",
            JobState::Running => "running",
            JobState::Done => "done",
            JobState::Failed => "failed",
        }
    }
}

/// The text names no state of a job.
#[derive(Debug, thiserror::Error)]
#[error("a job is `waiting`, `running`, `done` or `failed`, not `{0}`")]
pub struct NotAJobState(String);

impl FromStr for JobState {
    type Err = NotAJobState;

    fn from_str(text: &str) -> Result<Self, NotAJobState> {
        [
            JobState::Waiting,
            JobState::Running,
            JobState::Done,
            JobState::Failed,
        ]
        .into_iter()
        .find(|state| state.name() == text)
        .ok_or_else(|| NotAJobState(text.to_owned()))
    }
}

/// How many jobs of a queue are in a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCount {
    pub queue: String,
    pub state: JobState,
    pub jobs: u64,
    /// The earliest `run_at` among them.
    pub oldest: RecordTime,
}

statements! {
    tenant {
        ENQUEUE: "INSERT INTO job (tenant_id, id, base_id, queue, kind, key, payload, state, attempts, run_at, created_at) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, 'waiting', 0, $8, $9) \
            ON CONFLICT (tenant_id, kind, key) WHERE state IN ('waiting', 'running') DO NOTHING",
        HEARTBEAT: "UPDATE job SET lease_until = $4 WHERE tenant_id = $1 AND id = $2 AND state = 'running' AND attempts = $3",
        PROGRESS: "UPDATE job SET progress = $3 WHERE tenant_id = $1 AND id = $2",
        HASTEN: "UPDATE job SET run_at = $4 WHERE tenant_id = $1 AND kind = $2 AND key = $3 AND state IN ('waiting', 'running') AND state = 'waiting' AND run_at > $4",
        FINISH: "UPDATE job SET state = 'done', finished_at = $4, lease_until = NULL, error = NULL \
            WHERE tenant_id = $1 AND id = $2 AND state = 'running' AND attempts = $3",
        RETRY: "UPDATE job SET state = 'waiting', run_at = $4, lease_until = NULL, error = $5 \
            WHERE tenant_id = $1 AND id = $2 AND state = 'running' AND attempts = $3",
        PUT_OFF: "UPDATE job SET state = 'waiting', run_at = $4, lease_until = NULL, error = $5, attempts = attempts - 1 \
            WHERE tenant_id = $1 AND id = $2 AND state = 'running' AND attempts = $3",
        FAIL: "UPDATE job SET state = 'failed', finished_at = $4, lease_until = NULL, error = $5 \
            WHERE tenant_id = $1 AND id = $2 AND state = 'running' AND attempts = $3",
        FIND: "SELECT tenant_id, id, base_id, queue, kind, key, payload, state, attempts, run_at, lease_until, progress, error, created_at, finished_at \
            FROM job WHERE tenant_id = $1 AND id = $2",
        BY_KEY: "SELECT tenant_id, id, base_id, queue, kind, key, payload, state, attempts, run_at, lease_until, progress, error, created_at, finished_at \
            FROM job WHERE tenant_id = $1 AND base_id = $2 AND key = $3 ORDER BY created_at DESC, id DESC LIMIT $4",
        UNFINISHED: "SELECT kind, key FROM job WHERE tenant_id = $1 AND base_id = $2 AND state IN ('waiting', 'running') ORDER BY kind, key",
        REMOVE_BY_KEY: "DELETE FROM job WHERE tenant_id = $1 AND base_id = $2 AND key = $3",
        PRUNE: "DELETE FROM job WHERE tenant_id = $1 AND state IN ('done', 'failed') AND finished_at < $2",
    }
    directory {
        CLAIM: "UPDATE job SET state = 'running', attempts = attempts + 1, lease_until = $3 WHERE (tenant_id, id) = ( \
                SELECT tenant_id, id FROM job WHERE queue = $1 AND state IN ('waiting', 'running') AND run_at <= $2 \
                AND (state = 'waiting' OR lease_until <= $2) ORDER BY run_at, id LIMIT 1 /* skip locked */) \
            RETURNING tenant_id, id, base_id, queue, kind, key, payload, state, attempts, run_at, lease_until, progress, error, created_at, finished_at"
            because "a worker serves all tenants",
        CLAIM_ALIKE: "UPDATE job SET state = 'running', attempts = attempts + 1, lease_until = $3 WHERE (tenant_id, id) IN ( \
                SELECT tenant_id, id FROM job WHERE queue = $1 AND state IN ('waiting', 'running') AND run_at <= $2 \
                AND state = 'waiting' AND attempts = 0 AND tenant_id = $4 AND base_id = $5 AND kind = $6 ORDER BY run_at, id LIMIT $7 /* skip locked */) \
            RETURNING tenant_id, id, base_id, queue, kind, key, payload, state, attempts, run_at, lease_until, progress, error, created_at, finished_at"
            because "goes on in the transaction that claimed a job for a worker of all tenants",
        RELEASE_ALL: "UPDATE job SET state = 'waiting', lease_until = NULL WHERE state = 'running'"
            because "the one owner of a data folder starts anew for all tenants",
        HAND_BACK_ALL: "UPDATE job SET state = 'waiting', lease_until = NULL, attempts = attempts - 1 WHERE state = 'running'"
            because "the one owner of a data folder ends in order, for all tenants",
        COUNTS: "SELECT queue, state, COUNT(*), MIN(run_at) FROM job GROUP BY queue, state ORDER BY queue, state"
            because "metrics of the deployment",
        NEXT: "SELECT run_at FROM job WHERE queue = $1 AND state IN ('waiting', 'running') AND state = 'waiting' ORDER BY run_at, id LIMIT 1"
            because "a worker serves all tenants",
    }
}

fn read(mut row: Row) -> Result<Job, StoreError> {
    Ok(Job {
        tenant: row.take()?,
        id: row.take()?,
        base: row.take()?,
        queue: row.take()?,
        kind: row.take()?,
        key: row.take()?,
        payload: row.take()?,
        state: row.named()?,
        attempts: row.take()?,
        run_at: row.take()?,
        lease_until: row.take()?,
        progress: row.take()?,
        error: row.take()?,
        created_at: row.take()?,
        finished_at: row.take()?,
    })
}

/// Queues a job, unless one of its kind and key is unfinished; whether it was queued.
pub async fn enqueue(tx: &mut Tx, job: &NewJob<'_>) -> Result<bool, StoreError> {
    let row = params![
        job.id,
        job.base,
        job.queue,
        job.kind,
        job.key,
        job.payload,
        job.run_at,
        job.created_at,
    ];
    Ok(tx.execute(&ENQUEUE, row).await? == 1)
}

/// Makes a waiting job due at `run_at`, if it was due later; whether it was.
pub async fn hasten(
    tx: &mut Tx,
    kind: &str,
    key: &str,
    run_at: RecordTime,
) -> Result<bool, StoreError> {
    Ok(tx.execute(&HASTEN, params![kind, key, run_at]).await? == 1)
}

/// Begins the job that has been due longest: one that waits, or one whose worker let its lease
/// run out. In the directory, in a transaction that holds nothing else.
pub async fn claim(
    tx: &mut Tx,
    queue: &str,
    now: RecordTime,
    lease_until: RecordTime,
) -> Result<Option<Job>, StoreError> {
    tx.row(&CLAIM, params![queue, now, lease_until])
        .await?
        .map(read)
        .transpose()
}

/// Begins further jobs of a claimed one's kind, base and queue that were never begun before, those
/// due longest first. In the directory, in the transaction that claimed it.
pub async fn claim_alike(
    tx: &mut Tx,
    claimed: &Job,
    now: RecordTime,
    lease_until: RecordTime,
    limit: u32,
) -> Result<Vec<Job>, StoreError> {
    let row = params![
        claimed.queue.as_str(),
        now,
        lease_until,
        claimed.tenant,
        claimed.base,
        claimed.kind.as_str(),
        limit,
    ];
    let rows = tx.rows(&CLAIM_ALIKE, row).await?;
    let mut jobs = rows.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    jobs.sort_unstable_by_key(|job| (job.run_at, job.id));
    Ok(jobs)
}

/// When the queue's next waiting job is due. In the directory.
pub async fn next_due(tx: &mut Tx, queue: &str) -> Result<Option<RecordTime>, StoreError> {
    tx.row(&NEXT, params![queue])
        .await?
        .map(|mut row| row.take())
        .transpose()
}

/// Says that the job's worker is alive; false if the job is no longer this attempt's.
pub async fn heartbeat(
    tx: &mut Tx,
    job: &Job,
    lease_until: RecordTime,
) -> Result<bool, StoreError> {
    Ok(tx
        .execute(&HEARTBEAT, params![job.id, job.attempts, lease_until])
        .await?
        == 1)
}

/// Says how far the job is.
pub async fn progress(tx: &mut Tx, id: JobId, progress: &str) -> Result<(), StoreError> {
    tx.execute(&PROGRESS, params![id, progress]).await.map(drop)
}

/// The job is done; false if it is no longer this attempt's.
pub async fn finish(tx: &mut Tx, job: &Job, at: RecordTime) -> Result<bool, StoreError> {
    Ok(tx
        .execute(&FINISH, params![job.id, job.attempts, at])
        .await?
        == 1)
}

/// These jobs are done, as far as they are still these attempts'.
pub async fn finish_all(tx: &mut Tx, jobs: &[&Job], at: RecordTime) -> Result<(), StoreError> {
    let rows: Vec<Vec<Param<'_>>> = jobs
        .iter()
        .map(|job| params![job.id, job.attempts, at].to_vec())
        .collect();
    tx.bulk(&FINISH, &rows).await.map(drop)
}

/// The attempt failed and another is to begin at `run_at`; false if the job is no longer this
/// attempt's.
pub async fn retry(
    tx: &mut Tx,
    job: &Job,
    run_at: RecordTime,
    error: &str,
) -> Result<bool, StoreError> {
    Ok(tx
        .execute(&RETRY, params![job.id, job.attempts, run_at, error])
        .await?
        == 1)
}

/// The attempt stopped in good order and does not count; another is to begin at `run_at`. False
/// if the job is no longer this attempt's.
pub async fn put_off(
    tx: &mut Tx,
    job: &Job,
    run_at: RecordTime,
    why: Option<&str>,
) -> Result<bool, StoreError> {
    Ok(tx
        .execute(&PUT_OFF, params![job.id, job.attempts, run_at, why])
        .await?
        == 1)
}

/// The job is given up; false if it is no longer this attempt's.
pub async fn fail(tx: &mut Tx, job: &Job, at: RecordTime, error: &str) -> Result<bool, StoreError> {
    Ok(tx
        .execute(&FAIL, params![job.id, job.attempts, at, error])
        .await?
        == 1)
}

/// Puts every running job back, for the start of a store's only process; how many. In the
/// directory.
pub async fn release_all(tx: &mut Tx) -> Result<u64, StoreError> {
    tx.execute(&RELEASE_ALL, &[]).await
}

/// Puts every running job back as if it had not been begun, for the orderly end of a store's only
/// process; how many. In the directory.
pub async fn hand_back_all(tx: &mut Tx) -> Result<u64, StoreError> {
    tx.execute(&HAND_BACK_ALL, &[]).await
}

/// How many jobs of each queue are in each state. In the directory.
pub async fn counts(tx: &mut Tx) -> Result<Vec<JobCount>, StoreError> {
    let rows = tx.rows(&COUNTS, &[]).await?;
    rows.into_iter()
        .map(|mut row| {
            Ok(JobCount {
                queue: row.take()?,
                state: row.named()?,
                jobs: row.take()?,
                oldest: row.take()?,
            })
        })
        .collect()
}

/// The job with this id.
pub async fn find(tx: &mut Tx, id: JobId) -> Result<Option<Job>, StoreError> {
    tx.row(&FIND, params![id]).await?.map(read).transpose()
}

/// Jobs of a base about one thing, newest first.
pub async fn by_key(tx: &mut Tx, kb: KbId, key: &str, limit: u32) -> Result<Vec<Job>, StoreError> {
    tx.rows(&BY_KEY, params![kb, key, limit])
        .await?
        .into_iter()
        .map(read)
        .collect()
}

/// Kind and key of every job of a base that is not done and not given up.
pub async fn unfinished(tx: &mut Tx, kb: KbId) -> Result<Vec<(String, String)>, StoreError> {
    let rows = tx.rows(&UNFINISHED, params![kb]).await?;
    rows.into_iter()
        .map(|mut row| Ok((row.take()?, row.take()?)))
        .collect()
}

/// Removes every job of a base about one thing, for a purge; how many.
pub async fn remove_by_key(tx: &mut Tx, kb: KbId, key: &str) -> Result<u64, StoreError> {
    tx.execute(&REMOVE_BY_KEY, params![kb, key]).await
}

/// Forgets the tenant's jobs that ended before a moment; how many.
pub async fn prune(tx: &mut Tx, before: RecordTime) -> Result<u64, StoreError> {
    tx.execute(&PRUNE, params![before]).await
}
