//! Pulling a source: its lists, its pages, what became of them, and when it is due again.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use engine::library::{self, ExternalKey};
use futures::{StreamExt, stream};
use kernel::{Job, JobCx, JobError, job};
use model::{Error, KbId, Result, SourceId};
use providers::fetch::{Answered, FetchError, FetchLimits, Fetched, Known};
use providers::parser::LINKS;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use store::jobs;
use store::sources::{self, Page, Source};

use super::pages::{self, Listed, Wanted};
use super::show_source::Fault;
use super::take::{self, Content, Here, Said};
use super::{PushAction, Settings, settings_of};

/// Fetches what a source was told to pull.
///
/// Each page is a step of its own: a pull that is cut off goes on with the pages that it has not
/// asked for.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct PullSource {
    source: SourceId,
    run: u32,
}

/// What became of a pull.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Outcome {
    /// Pages that were not known.
    pub created: u64,
    /// Pages with another content.
    pub updated: u64,
    /// Pages that are what they were.
    pub unchanged: u64,
    /// Pages that are gone, for the second time in a row, and were deleted here.
    pub marked_missing: u64,
    /// Pages that could not be taken; `faults` says why.
    pub failed: u64,
    /// Pages that were not asked for, since a pull asks for `pages_max`.
    pub left_out: u64,
    /// Lists that could not be read.
    pub lists: Vec<Fault>,
    /// Why the pull was given up, if it was.
    pub error: Option<String>,
}

impl Outcome {
    pub(super) fn line(&self) -> String {
        let mut line = format!(
            "{} new, {} changed, {} as before, {} gone, {} failed",
            self.created, self.updated, self.unchanged, self.marked_missing, self.failed
        );
        if 0 < self.left_out {
            line.push_str(&format!(", {} left out", self.left_out));
        }
        if let Some(error) = &self.error {
            line.push_str(&format!("; given up: {error}"));
        }
        line
    }

    fn count(&mut self, action: PushAction) {
        *match action {
            PushAction::Created => &mut self.created,
            PushAction::Updated | PushAction::Moved => &mut self.updated,
            PushAction::Unchanged => &mut self.unchanged,
            PushAction::MarkedMissing => &mut self.marked_missing,
        } += 1;
    }
}

/// Pages asked for at the same time: it is somebody else's server.
const AT_ONCE: usize = 2;
/// Lists that lists name and that are read; one step far.
const NESTED_LISTS_MAX: usize = 50;
/// How often in a row a page must be gone before its document is: servers blunder.
const GONE_TIMES: u32 = 2;
/// Longest `ETag` that is kept, in bytes.
const ETAG_BYTES_MAX: usize = 500;

/// What one list may take.
const LIST: FetchLimits = FetchLimits {
    bytes: 16 * 1024 * 1024,
    time: Duration::from_secs(30),
    redirects: 3,
    accept: "application/xml, application/rss+xml, application/atom+xml, text/html, */*;q=0.5",
};

/// What one page may take.
fn page_limits(upload_bytes: u64) -> FetchLimits {
    FetchLimits {
        bytes: upload_bytes.min(64 * 1024 * 1024),
        time: Duration::from_mins(1),
        redirects: 5,
        accept: "text/html, text/markdown, text/plain, application/pdf, */*;q=0.5",
    }
}

/// What is known of a source when its pull begins.
struct Begun {
    source: Source,
    settings: Settings,
    known: Vec<Page>,
}

/// Whether the pull goes on after a page.
enum Going {
    On,
    /// The source is gone.
    No,
}

impl Job for PullSource {
    const KIND: &'static str = "pull_source";
    const ATTEMPTS: u32 = 3;

    fn key(&self) -> String {
        format!("{}/{}", self.source, self.run)
    }

    async fn run(&self, cx: &JobCx) -> Result<(), JobError> {
        let kb = base(cx)?;
        let Some(begun) = self.begin(cx, kb).await? else {
            return Ok(());
        };
        let mut outcome = Outcome::default();
        let listed = read_lists(cx, &begun.settings, &mut outcome).await;
        let (wanted, left_out) = pages::plan(&begun.settings, listed, &begun.known);
        outcome.left_out = left_out as u64;
        let known: HashMap<&str, &Page> = begun
            .known
            .iter()
            .map(|page| (page.url.as_str(), page))
            .collect();
        // After a crash, those that this pull asked for already are done.
        let is_done = |page: &Wanted| {
            let known = known.get(page.url.as_str());
            known.is_some_and(|known| known.run == self.run)
        };
        let of = wanted.len();
        let todo: Vec<Wanted> = wanted.into_iter().filter(|page| !is_done(page)).collect();
        let mut done = of - todo.len();
        let limits = page_limits(cx.core.limits.upload_bytes);
        let mut answers = stream::iter(todo)
            .map(|page| {
                let before = known.get(page.url.as_str()).copied().cloned();
                let limits = &limits;
                async move {
                    let validators = before.as_ref().map(validators).unwrap_or_default();
                    let fetcher = &cx.core.fetcher;
                    let answer = fetcher.ask(&page.url, &validators, limits).await;
                    (page, before, answer)
                }
            })
            .buffered(AT_ONCE);
        while let Some((page, before, answer)) = answers.next().await {
            done += 1;
            let step = self.take(cx, kb, &begun.source, (page, before, answer), &mut outcome);
            if let Going::No = step.await? {
                return Ok(());
            }
            self.tell(cx, done, of).await?;
        }
        self.end(cx, kb, &outcome).await?;
        Ok(())
    }

    async fn failed(&self, cx: &JobCx, error: &Error) -> Result<()> {
        let Some(kb) = cx.base else { return Ok(()) };
        let outcome = Outcome {
            error: Some(error.message.clone()),
            ..Outcome::default()
        };
        self.end(cx, kb, &outcome).await
    }
}

impl PullSource {
    /// The first pull of a source.
    pub(super) const fn first(source: SourceId) -> Self {
        Self { source, run: 1 }
    }

    /// The pull of a source that is under way or comes next.
    pub(super) const fn of(source: &Source) -> Self {
        Self {
            source: source.id,
            run: source.run,
        }
    }

    /// The source, if this is its pull.
    async fn begin(&self, cx: &JobCx, kb: KbId) -> Result<Option<Begun>> {
        let mut tx = cx.core.db.read(cx.tenant).await?;
        let source = sources::find(&mut tx, kb, self.source).await?;
        let Some(source) = source.filter(|source| source.run == self.run) else {
            return Ok(None);
        };
        Ok(Some(Begun {
            settings: settings_of(&source)?,
            known: sources::pages(&mut tx, kb, self.source).await?,
            source,
        }))
    }

    /// Takes in what a page answered.
    async fn take(
        &self,
        cx: &JobCx,
        kb: KbId,
        source: &Source,
        (wanted, before, answer): (Wanted, Option<Page>, Result<Answered, FetchError>),
        outcome: &mut Outcome,
    ) -> Result<Going> {
        let mut page = Page {
            asked_at: cx.core.clock.now(),
            run: self.run,
            fault: None,
            ..before.unwrap_or_else(|| unknown(&wanted.url))
        };
        let key = ExternalKey::new(&wanted.url).map_err(Error::internal)?;
        let said = match answer {
            Ok(Answered::NotModified) => {
                page.gone = 0;
                outcome.count(PushAction::Unchanged);
                None
            }
            Ok(Answered::Fetched(fetched)) => match refusal(&fetched) {
                Some(fault) => {
                    page.fault = Some(fault);
                    outcome.failed += 1;
                    None
                }
                None if is_set_aside(cx, kb, source, &key, &fetched.bytes).await? => {
                    remember(&mut page, &fetched);
                    outcome.count(PushAction::Unchanged);
                    None
                }
                None => {
                    remember(&mut page, &fetched);
                    Some(Some(here(&wanted, fetched)))
                }
            },
            Err(error) => {
                page.fault = Some(error.to_string());
                let is_gone = matches!(
                    error,
                    FetchError::Status {
                        status: 404 | 410,
                        ..
                    }
                );
                page.gone = if is_gone { page.gone + 1 } else { page.gone };
                if !is_gone || page.gone < GONE_TIMES {
                    outcome.failed += 1;
                    None
                } else {
                    // When it is there again, it is to be sent whole.
                    (page.etag, page.last_modified) = (None, None);
                    Some(None)
                }
            }
        };
        let said = said.map(|here| Said { key, here }).into_iter().collect();
        let steps = take::prepare(&cx.core, (cx.tenant, kb), source, said).await?;
        let mut tx = cx.core.db.write(cx.tenant).await?;
        if sources::find(&mut tx, kb, self.source).await?.is_none() {
            return Ok(Going::No);
        }
        for pushed in take::settle(&cx.core, &mut tx, kb, source, &steps).await? {
            let action = pushed.map_or(library::PushAction::Unchanged, |pushed| pushed.action);
            outcome.count(action.into());
        }
        sources::put_page(&mut tx, kb, self.source, &page).await?;
        tx.commit().await?;
        cx.core.job_bell.notify_one();
        Ok(Going::On)
    }

    async fn tell(&self, cx: &JobCx, done: usize, of: usize) -> Result<()> {
        let mut tx = cx.core.db.write(cx.tenant).await?;
        let progress = serde_json::json!({ "done": done, "of": of });
        jobs::progress(&mut tx, cx.id, &progress.to_string()).await?;
        Ok(tx.commit().await?)
    }

    /// Keeps what became of the pull, and makes the next one due.
    async fn end(&self, cx: &JobCx, kb: KbId, outcome: &Outcome) -> Result<()> {
        let now = cx.core.clock.now();
        let outcome = serde_json::to_string(outcome).map_err(Error::internal)?;
        let mut tx = cx.core.db.write(cx.tenant).await?;
        let source = sources::find(&mut tx, kb, self.source).await?;
        let Some(source) = source.filter(|source| source.run == self.run) else {
            return Ok(());
        };
        let next = Self {
            run: self.run + 1,
            ..*self
        };
        sources::put_outcome(&mut tx, kb, self.source, (next.run, now), &outcome).await?;
        let minutes = settings_of(&source)?.interval_minutes();
        let due = now.plus_seconds(i64::from(minutes) * 60);
        job::enqueue_at(&cx.core, &mut tx, Some(kb), &next, due).await?;
        Ok(tx.commit().await?)
    }
}

/// The job's base.
fn base(cx: &JobCx) -> Result<KbId, JobError> {
    cx.base
        .ok_or_else(|| JobError::Fail(Error::internal("the job names no base")))
}

fn unknown(url: &str) -> Page {
    Page {
        url: url.to_owned(),
        etag: None,
        last_modified: None,
        asked_at: model::RecordTime::from_micros(0),
        run: 0,
        gone: 0,
        fault: None,
    }
}

fn validators(page: &Page) -> Known {
    Known {
        etag: page.etag.clone(),
        last_modified: page.last_modified.clone(),
    }
}

/// Keeps what the server said to tell its content by.
fn remember(page: &mut Page, fetched: &Fetched) {
    let Known {
        etag,
        last_modified,
    } = fetched.known();
    let short = |text: &String| text.len() <= ETAG_BYTES_MAX;
    page.etag = etag.filter(short);
    page.last_modified = last_modified.filter(short);
    page.gone = 0;
}

/// Why an answer is no document.
fn refusal(fetched: &Fetched) -> Option<String> {
    let content_type = fetched.header("content-type");
    if fetched.bytes.is_empty() {
        return Some("the page is empty".to_owned());
    }
    pages::is_no_document(content_type)
        .then(|| "it is a picture, sound or program of a page, and no document".to_owned())
}

fn here(wanted: &Wanted, fetched: Fetched) -> Here {
    Here {
        filename: pages::name_of(&wanted.url, fetched.header("content-type")),
        date: wanted.date.as_ref().and_then(|date| date.parse().ok()),
        content: Content::Bytes(fetched.bytes),
    }
}

/// Whether a person deleted the page's document, and the page is the same.
async fn is_set_aside(
    cx: &JobCx,
    kb: KbId,
    source: &Source,
    key: &ExternalKey,
    bytes: &Bytes,
) -> Result<bool> {
    let mut tx = cx.core.db.read(cx.tenant).await?;
    library::is_set_aside(&mut tx, kb, (source.id, key), Sha256::digest(bytes).into()).await
}

/// What the source's lists name now. A list that cannot be read is told in the outcome; pages
/// known from it are asked for all the same.
async fn read_lists(cx: &JobCx, settings: &Settings, outcome: &mut Outcome) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    let mut nested = Vec::new();
    for url in &settings.lists {
        match read_list(cx, url).await {
            Ok(Listed::Pages(pages)) => wanted.extend(pages),
            Ok(Listed::Lists(lists)) => nested.extend(lists),
            Err(error) => outcome.lists.push(Fault {
                url: url.clone(),
                error,
            }),
        }
    }
    if NESTED_LISTS_MAX < nested.len() {
        let (found, url) = (nested.len(), nested[NESTED_LISTS_MAX].clone());
        let error = format!("{found} lists are named, and {NESTED_LISTS_MAX} are read");
        outcome.lists.push(Fault { url, error });
        nested.truncate(NESTED_LISTS_MAX);
    }
    for url in nested {
        match read_list(cx, &url).await {
            Ok(Listed::Pages(pages)) => wanted.extend(pages),
            Ok(Listed::Lists(_)) => outcome.lists.push(Fault {
                url,
                error: "it is a list of lists within another one".to_owned(),
            }),
            Err(error) => outcome.lists.push(Fault { url, error }),
        }
    }
    wanted
}

/// Fetches a list, and has it read where all strangers' files are.
async fn read_list(cx: &JobCx, url: &str) -> Result<Listed, String> {
    let fetched = cx.core.fetcher.get(url, &LIST).await;
    let fetched = fetched.map_err(|error| error.to_string())?;
    let parsed = cx.core.parser.parse(LINKS, url, fetched.bytes).await;
    let parsed = parsed.map_err(|failure| failure.to_string())?;
    Ok(pages::listed(&fetched.url, parsed))
}
