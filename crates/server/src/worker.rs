//! What goes on beside the requests: jobs, the activity log's batches, its seals.

use std::sync::Arc;
use std::time::Duration;

use kernel::{Core, JobEntry, job};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::http::listen::ended;

/// Jobs done at the same time: one per core of a small machine.
const WORKERS: usize = 2;
/// How long a worker sleeps when there is nothing to do and nobody rings.
const IDLE: Duration = Duration::from_secs(1);
/// How long rows of the activity log may wait.
const FLUSH_WITHIN: Duration = Duration::from_millis(900);
/// How often new rows are sealed.
const SEAL_EVERY: Duration = Duration::from_secs(5);

/// Starts all of it; it stops by itself at the end.
pub fn start(
    core: &Arc<Core>,
    jobs: &'static [&'static [JobEntry]],
    end: &watch::Receiver<bool>,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for _ in 0..WORKERS {
        tasks.spawn(work(Arc::clone(core), jobs, end.clone()));
    }
    tasks.spawn(embed_what_lacks(Arc::clone(core)));
    tasks.spawn(flush(Arc::clone(core), end.clone()));
    tasks.spawn(seal(Arc::clone(core), end.clone()));
    tasks
}

async fn work(core: Arc<Core>, jobs: &'static [&'static [JobEntry]], end: watch::Receiver<bool>) {
    while !*end.borrow() {
        match job::run_next(&core, jobs).await {
            Ok(true) => {}
            Ok(false) => wait(&core, &end).await,
            Err(error) => {
                tracing::error!(cause = %job::describe(&error), "a worker stumbled");
                wait(&core, &end).await;
            }
        }
    }
}

/// A model may have been put in, or changed, while nothing ran.
async fn embed_what_lacks(core: Arc<Core>) {
    if let Err(error) = knowledge::documents::enqueue_missing_vectors(&core).await {
        tracing::error!(cause = %job::describe(&error), "not all passages will have a vector");
    }
}

async fn wait(core: &Core, end: &watch::Receiver<bool>) {
    tokio::select! {
        () = core.job_bell.notified() => {}
        () = tokio::time::sleep(IDLE) => {}
        () = ended(end.clone()) => {}
    }
}

async fn flush(core: Arc<Core>, end: watch::Receiver<bool>) {
    loop {
        let is_end = tokio::select! {
            () = tokio::time::sleep(FLUSH_WITHIN) => false,
            () = core.activity.many() => false,
            () = ended(end.clone()) => true,
        };
        if let Err(error) = core.activity.flush(&core).await {
            tracing::error!(cause = %job::describe(&error), "rows of the activity log wait");
        }
        if is_end {
            return;
        }
    }
}

async fn seal(core: Arc<Core>, end: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(SEAL_EVERY) => {}
            () = ended(end.clone()) => return,
        }
        if let Err(error) = core.activity.seal(&core).await {
            tracing::error!(cause = %job::describe(&error), "the activity log is not sealed");
        }
    }
}
