//! Taking in what a source says, in two steps: files are kept before the transaction that names
//! them is open.

use std::collections::HashMap;

use bytes::Bytes;
use engine::library::{self, ExternalKey, KeptFile, Push, Pushed, Work};
use kernel::{Core, job};
use model::{DocumentId, KbId, Result, TenantId, WorldTime};
use sha2::{Digest, Sha256};
use store::Tx;
use store::blobs::Staged;
use store::sources::Source;

use crate::documents::{IndexDocument, ParseDocument, files};

/// What a source says of one of its documents.
pub(super) struct Said {
    /// Which document it is.
    pub(super) key: ExternalKey,
    /// The document; none if it is no longer there.
    pub(super) here: Option<Here>,
}

/// A document as the source has it.
pub(super) struct Here {
    pub(super) filename: String,
    pub(super) date: Option<WorldTime>,
    pub(super) content: Content,
}

/// The bytes of a document.
pub(super) enum Content {
    /// In memory.
    Bytes(Bytes),
    /// Waiting in the blob store.
    Staged(Staged),
}

impl Content {
    fn hash(&self) -> [u8; 32] {
        match self {
            Content::Bytes(bytes) => Sha256::digest(bytes).into(),
            Content::Staged(staged) => staged.hash,
        }
    }

    fn size(&self) -> u64 {
        match self {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::Staged(staged) => staged.size,
        }
    }

    async fn keep(self, core: &Core, tenant: TenantId, kb: KbId) -> Result<KeptFile> {
        let staged = match self {
            Content::Bytes(bytes) => {
                let mut staging = core.blobs.stage(core.limits.upload_bytes).await?;
                staging.write(&bytes).await?;
                staging.finish().await?
            }
            Content::Staged(staged) => staged,
        };
        files(core).keep(staged, (tenant, kb)).await
    }
}

/// What is to be done about one thing that was said.
pub(super) enum Step {
    /// Nothing: the base has it so.
    None(Pushed),
    /// The source no longer has it.
    Missing(ExternalKey),
    /// Its bytes are kept, and it is to be taken in.
    Take {
        key: ExternalKey,
        filename: String,
        date: Option<WorldTime>,
        file: KeptFile,
    },
}

/// Finds out what is to be done, and keeps the files that are news.
pub(super) async fn prepare(
    core: &Core,
    (tenant, kb): (TenantId, KbId),
    source: &Source,
    said: Vec<Said>,
) -> Result<Vec<Step>> {
    let mut often: HashMap<&str, usize> = HashMap::new();
    for one in &said {
        *often.entry(one.key.as_str()).or_default() += 1;
    }
    let mut standing = Vec::with_capacity(said.len());
    let mut tx = core.db.read(tenant).await?;
    for one in &said {
        // What is said twice at once is decided in its order, within the transaction.
        let once = often[one.key.as_str()] == 1;
        standing.push(match &one.here {
            Some(here) if once => {
                let sent = push_of(core, source, &one.key, here);
                library::standing(&mut tx, kb, &sent).await?
            }
            _ => None,
        });
    }
    drop(tx);
    let mut steps = Vec::with_capacity(said.len());
    for (one, standing) in said.into_iter().zip(standing) {
        steps.push(match (one.here, standing) {
            (_, Some(pushed)) => Step::None(pushed),
            (None, None) => Step::Missing(one.key),
            (Some(here), None) => Step::Take {
                key: one.key,
                filename: here.filename,
                date: here.date,
                file: here.content.keep(core, tenant, kb).await?,
            },
        });
    }
    Ok(steps)
}

/// What was said, for a look at what the base has.
fn push_of<'a>(core: &Core, source: &Source, key: &'a ExternalKey, here: &'a Here) -> Push<'a> {
    Push {
        source: source.id,
        least_role: source.least_role,
        key,
        filename: &here.filename,
        date: here.date,
        blob_hash: here.content.hash(),
        size: here.content.size(),
        fresh_id: DocumentId::new(core.ids.next()),
    }
}

/// Does the steps in their order, with the jobs they make needed. None for a document that the
/// source never had.
pub(super) async fn settle(
    core: &Core,
    tx: &mut Tx,
    kb: KbId,
    source: &Source,
    steps: &[Step],
) -> Result<Vec<Option<Pushed>>> {
    let mut done = Vec::with_capacity(steps.len());
    for step in steps {
        done.push(settle_one(core, tx, kb, source, step).await?);
    }
    Ok(done)
}

async fn settle_one(
    core: &Core,
    tx: &mut Tx,
    kb: KbId,
    source: &Source,
    step: &Step,
) -> Result<Option<Pushed>> {
    let now = core.clock.now();
    let (key, filename, date, file) = match step {
        Step::None(pushed) => return Ok(Some(*pushed)),
        Step::Missing(key) => {
            return library::mark_missing(tx, kb, (source.id, key), now).await;
        }
        Step::Take {
            key,
            filename,
            date,
            file,
        } => (key, filename, date, file),
    };
    let sent = Push {
        source: source.id,
        least_role: source.least_role,
        key,
        filename,
        date: *date,
        blob_hash: file.hash,
        size: file.size,
        fresh_id: DocumentId::new(core.ids.next()),
    };
    let pushed = library::push(tx, kb, &sent, now).await?;
    library::still_kept(tx, kb, file).await?;
    let (document, version) = (pushed.document, pushed.version);
    match pushed.work {
        Work::Nothing => {}
        Work::Parse => {
            job::enqueue(core, tx, Some(kb), &ParseDocument { document, version }).await?;
        }
        Work::Index => {
            job::enqueue(core, tx, Some(kb), &IndexDocument { document, version }).await?;
        }
    }
    Ok(Some(pushed))
}
