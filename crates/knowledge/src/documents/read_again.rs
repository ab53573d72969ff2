//! Reading a held version's file again, after the reading of files was bettered.

use std::collections::HashSet;
use std::sync::Arc;

use engine::library::{self, Prepared};
use kernel::{Core, Job, JobCx, JobError, job};
use model::{DocumentId, Error, KbId, Result, TenantId};
use serde::{Deserialize, Serialize};
use store::documents::{self, Document, DocumentState, Listing};
use store::{Tx, jobs};
use uuid::Uuid;

use super::parse_document::{base, read_file};
use super::{IndexDocument, ParseDocument, version_key};

/// Reads the file of a version that is held, and holds what it says now if that is something else.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadAgain {
    /// The document.
    pub document: DocumentId,
    /// The version that was held when this was asked for.
    pub version: u32,
}

impl Job for ReadAgain {
    const KIND: &'static str = "read_again";
    const ATTEMPTS: u32 = 3;

    fn key(&self) -> String {
        version_key(self.document, self.version)
    }

    async fn run(&self, cx: &JobCx) -> Result<(), JobError> {
        let (core, kb) = (&cx.core, base(cx)?);
        let this = (self.document, self.version);
        let mut tx = core.db.read(cx.tenant).await?;
        let held = documents::version(&mut tx, kb, this).await?;
        drop(tx);
        let is_held = |version: &documents::Version| {
            version.recorded_at.is_some() && version.invalidated_at.is_none()
        };
        // Another version is held by now, which was read as files are read now.
        let Some(held) = held.filter(is_held) else {
            return Ok(());
        };
        let Some(parsed) = read_file(core, (cx.tenant, kb), &held).await? else {
            return Ok(());
        };
        let (document, filename) = (self.document, held.filename);
        let prepared =
            tokio::task::spawn_blocking(move || Prepared::new(document, &filename, parsed))
                .await
                .map_err(Error::internal)?;

        let mut tx = core.db.write(cx.tenant).await?;
        let now = core.clock.now();
        if let Some(version) = library::read_anew(&mut tx, kb, this, &prepared, now).await? {
            let next = IndexDocument { document, version };
            job::enqueue(core, &mut tx, Some(kb), &next).await?;
        }
        tx.commit().await?;
        core.job_bell.notify_one();
        Ok(())
    }
}

/// Documents that are to be read again, each with its latest version then.
pub type Readings = Vec<(DocumentId, u32)>;

/// Documents looked at in one transaction.
const PAGE: u32 = 200;

/// Queues the reading of every document of a base that holds something, and of those that failed
/// or were left on their way.
pub async fn enqueue_readings(
    core: &Arc<Core>,
    (tenant, kb): (TenantId, KbId),
) -> Result<Readings> {
    let listing = Listing {
        role: model::Role::Owner,
        state: None,
        deleted: false,
    };
    let (mut asked, mut after) = (Vec::new(), None);
    loop {
        let mut tx = core.db.write(tenant).await?;
        let page = documents::page(&mut tx, kb, &listing, after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some((last.created_at, last.id));
        for document in &page {
            let id = document.id;
            if let Some(version) = document.held_version {
                let again = ReadAgain {
                    document: id,
                    version,
                };
                job::enqueue(core, &mut tx, Some(kb), &again).await?;
            }
            take_up(core, &mut tx, kb, document).await?;
            asked.push((id, document.version));
        }
        tx.commit().await?;
        core.job_bell.notify_one();
    }
    Ok(asked)
}

/// Queues what brings a document further that failed or was left on its way.
async fn take_up(core: &Arc<Core>, tx: &mut Tx, kb: KbId, document: &Document) -> Result<()> {
    let (id, version) = (document.id, document.version);
    if document.held_version != Some(version) {
        let (pending, now) = (DocumentState::Pending, core.clock.now());
        documents::set_state(tx, kb, (id, version), pending, None, now).await?;
        let parse = ParseDocument {
            document: id,
            version,
        };
        job::enqueue(core, tx, Some(kb), &parse).await?;
    } else if document.state != DocumentState::Ready {
        let next = IndexDocument {
            document: id,
            version,
        };
        job::enqueue(core, tx, Some(kb), &next).await?;
    }
    Ok(())
}

/// Queues what brings the documents of a base further that came from elsewhere on their way; those
/// that had failed there stay as they are.
pub async fn take_up_unfinished(core: &Arc<Core>, tx: &mut Tx, kb: KbId) -> Result<()> {
    let mut after = DocumentId::new(Uuid::nil());
    loop {
        let page = documents::after(tx, kb, after, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = last.id;
        for document in &page {
            let is_there = document.deleted_at.is_none() && document.purged_at.is_none();
            let is_done = [DocumentState::Ready, DocumentState::Failed].contains(&document.state);
            if is_there && !is_done {
                take_up(core, tx, kb, document).await?;
            }
        }
    }
}

/// How many of the documents still wait to be read.
pub async fn readings_left(
    core: &Core,
    (tenant, kb): (TenantId, KbId),
    asked: &Readings,
) -> Result<u64> {
    let mut tx = core.db.read(tenant).await?;
    let unfinished = jobs::unfinished(&mut tx, kb).await?;
    let reads = |kind: &str| [ReadAgain::KIND, ParseDocument::KIND].contains(&kind);
    let waiting: HashSet<&str> = unfinished
        .iter()
        .filter(|(kind, _)| reads(kind))
        .filter_map(|(_, key)| key.split('/').next())
        .collect();
    let waits = |document: &DocumentId| waiting.contains(document.to_string().as_str());
    Ok(asked.iter().filter(|(document, _)| waits(document)).count() as u64)
}

/// How many of the documents read otherwise than before: those that have got a version.
pub async fn readings_changed(
    core: &Core,
    (tenant, kb): (TenantId, KbId),
    asked: &Readings,
) -> Result<u64> {
    let mut tx = core.db.read(tenant).await?;
    let mut changed = 0;
    for page in asked.chunks(PAGE as usize) {
        let ids: Vec<DocumentId> = page.iter().map(|(id, _)| *id).collect();
        let now = documents::find_many(&mut tx, kb, &ids).await?;
        changed += page
            .iter()
            .filter(|(id, version)| {
                now.iter()
                    .any(|one| one.id == *id && one.version != *version)
            })
            .count() as u64;
    }
    Ok(changed)
}
