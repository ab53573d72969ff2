//! What goes on beside the requests: jobs, the activity log's batches, its seals.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use kernel::{Core, JobEntry, job};
use model::Error;
use store::{erasures, jobs, tenants, users};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::app::App;
use crate::http::listen::ended;

/// Jobs done at the same time: one per core of a small machine.
const WORKERS: usize = 2;
/// How long a worker sleeps when there is nothing to do and nobody rings.
const IDLE: Duration = Duration::from_secs(1);
/// How long rows of the activity log may wait.
const FLUSH_WITHIN: Duration = Duration::from_millis(900);
/// How often new rows are sealed.
const SEAL_EVERY: Duration = Duration::from_secs(5);

/// How often what has served is forgotten.
const TIDY_EVERY: Duration = Duration::from_hours(1);
/// How long an ended job can be looked at, in seconds.
const JOBS_KEPT_SECONDS: i64 = 7 * 24 * 60 * 60;
/// How long a file that nothing refers to is kept, in seconds.
const BLOBS_KEPT_SECONDS: i64 = 24 * 60 * 60;

/// Starts all of it; it stops by itself at the end. A server that is no worker only writes its
/// rows of the activity log.
pub fn start(
    app: &App,
    entries: &'static [&'static [JobEntry]],
    end: &watch::Receiver<bool>,
) -> JoinSet<()> {
    let core = &app.core;
    let mut tasks = JoinSet::new();
    if app.settings.worker {
        for _ in 0..WORKERS {
            tasks.spawn(work(Arc::clone(core), entries, end.clone()));
        }
        tasks.spawn(embed_what_lacks(Arc::clone(core)));
        tasks.spawn(tidy(Arc::clone(core), end.clone()));
    }
    tasks.spawn(flush(Arc::clone(core), end.clone()));
    tasks.spawn(seal(Arc::clone(core), end.clone()));
    tasks
}

async fn work(
    core: Arc<Core>,
    entries: &'static [&'static [JobEntry]],
    end: watch::Receiver<bool>,
) {
    while !*end.borrow() {
        // A panic of one job ends its attempt, not its worker.
        let next = AssertUnwindSafe(job::run_next(&core, entries))
            .catch_unwind()
            .await;
        match next.unwrap_or_else(|_| Err(Error::internal("a job panicked"))) {
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
            tokio::time::sleep(FLUSH_WITHIN).await;
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

/// Forgets, each hour, what has served: jobs that ended, links that cannot be used, and files
/// that nothing came to refer to.
async fn tidy(core: Arc<Core>, end: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(TIDY_EVERY) => {}
            () = ended(end.clone()) => return,
        }
        if let Err(error) = forget(&core).await {
            tracing::error!(cause = %job::describe(&error), "what has served is not forgotten");
        }
    }
}

async fn forget(core: &Arc<Core>) -> model::Result<()> {
    let now = core.clock.now();
    let mut directory = core.db.write_directory().await?;
    users::prune_setup_links(&mut directory, now).await?;
    directory.commit().await?;
    let tenants = tenants::list(&mut core.db.read_directory().await?).await?;
    for tenant in tenants {
        let mut tx = core.db.write(tenant.id).await?;
        jobs::prune(&mut tx, now.plus_seconds(-JOBS_KEPT_SECONDS)).await?;
        erasures::prune(&mut tx, now.plus_seconds(-BLOBS_KEPT_SECONDS)).await?;
        tx.commit().await?;
    }
    let cutoff = now.plus_seconds(-BLOBS_KEPT_SECONDS);
    knowledge::documents::files(core).sweep(cutoff).await?;
    Ok(())
}
