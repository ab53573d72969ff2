//! Reading a version's text and making it the one that is held.

use engine::library::{self, Prepared, Published};
use kernel::{Job, JobCx, JobError, job};
use model::document::ParsedDocument;
use model::{Code, DocumentId, Error, KbId, Result};
use providers::ParseFailure;
use serde::{Deserialize, Serialize};
use store::blobs::BlobKey;
use store::documents::{self, DocumentState, Version};

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

impl Job for ParseDocument {
    const KIND: &'static str = "parse_document";
    const ATTEMPTS: u32 = 3;

    fn key(&self) -> String {
        version_key(self.document, self.version)
    }

    async fn run(&self, cx: &JobCx) -> Result<(), JobError> {
        let (core, kb) = (&cx.core, base(cx)?);
        let this = (self.document, self.version);
        let Some(accepted) = self.begin(cx, kb).await? else {
            return Ok(());
        };

        let before =
            library::read_before(&mut core.db.read(cx.tenant).await?, kb, &accepted).await?;
        let (document, filename, hash) = (self.document, &accepted.filename, accepted.blob_hash);
        let parsed = match before {
            Some(parsed) => parsed,
            None => match read_file(cx, kb, document, hash, filename).await? {
                Some(parsed) => parsed,
                None => return Ok(()),
            },
        };
        // Cutting a long text is arithmetic: on a thread of its own, so that calls go on.
        let (document, filename) = (self.document, accepted.filename);
        let prepared =
            tokio::task::spawn_blocking(move || Prepared::new(document, &filename, parsed))
                .await
                .map_err(Error::internal)?;

        let mut tx = core.db.write(cx.tenant).await?;
        let published = library::publish(&mut tx, kb, this, &prepared, core.clock.now()).await?;
        if let Published::Held(_) = published {
            job::enqueue(core, &mut tx, Some(kb), &self.next()).await?;
        }
        tx.commit().await?;
        core.job_bell.notify_one();
        Ok(())
    }

    async fn failed(&self, cx: &JobCx, error: &Error) -> Result<()> {
        give_up(cx, (self.document, self.version), error).await
    }
}

impl ParseDocument {
    const fn next(&self) -> IndexDocument {
        IndexDocument {
            document: self.document,
            version: self.version,
        }
    }

    /// The version, if it is still to be read; after a crash it may be held already.
    async fn begin(&self, cx: &JobCx, kb: KbId) -> Result<Option<Version>> {
        let (core, this) = (&cx.core, (self.document, self.version));
        let mut tx = core.db.write(cx.tenant).await?;
        let accepted = documents::version(&mut tx, kb, this).await?;
        let is_held = accepted
            .as_ref()
            .is_some_and(|version| version.recorded_at.is_some());
        if is_held {
            job::enqueue(core, &mut tx, Some(kb), &self.next()).await?;
        } else {
            let parsing = DocumentState::Parsing;
            documents::set_state(&mut tx, kb, this, parsing, None, core.clock.now()).await?;
        }
        tx.commit().await?;
        Ok(accepted.filter(|_| !is_held))
    }
}

/// What the file of a document says; none if a purge has erased it.
pub(super) async fn read_file(
    cx: &JobCx,
    kb: KbId,
    document: DocumentId,
    hash: [u8; 32],
    filename: &str,
) -> Result<Option<ParsedDocument>, JobError> {
    let blob = BlobKey {
        tenant: cx.tenant,
        kb,
        hash,
    };
    let Some(bytes) = cx.core.blobs.get(&blob).await? else {
        gone(cx, kb, document).await?;
        return Ok(None);
    };
    let parsed = cx.core.parser.parse(FORMAT, filename, bytes).await;
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
async fn gone(cx: &JobCx, kb: KbId, id: DocumentId) -> Result<(), JobError> {
    let mut tx = cx.core.db.read(cx.tenant).await?;
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
