//! Whether a deployment is as it should be: rows among one another, files, caches, the log.
//!
//! Everything is looked at as of one moment while writes go on; only search caches, which follow
//! the rows, are compared more than once.

use std::sync::Arc;

use futures::StreamExt;
use model::{KbId, Result, TenantId};
use serde::Serialize;
use sha2::{Digest, Sha256};
use store::blobs::{BlobKey, Blobs};
use store::faults::{self, Broken};
use store::index::Indexes;
use store::rows::{self, NamedBlobs};
use store::{Db, Tx, audit, bases, tenants};
use tokio::sync::mpsc::Sender;
use uuid::Uuid;

use crate::backup::{Hold, Now};

/// What is looked at.
pub struct Place<'a> {
    /// The rows.
    pub db: &'a Db,
    /// The documents' bytes.
    pub blobs: &'a Blobs,
    /// The search caches.
    pub indexes: &'a Indexes,
    /// What time it is.
    pub now: Now,
}

/// How files are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// Whether they are there, and as large as they should be.
    Sizes,
    /// Every byte of them, against the hash that is their name.
    Bytes,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What is wrong.
    pub what: String,
    /// Where: the base and the things in it.
    pub place: String,
    /// How it is mended.
    pub mend: String,
}

/// What a check tells on its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// How far it is: bytes of files, or bases.
    Progress {
        /// What is being looked at.
        looking_at: String,
        /// How much is done.
        done: u64,
        /// How much there is.
        of: u64,
    },
    /// Something is wrong.
    Finding(Finding),
    /// It is through.
    Done(Looked),
}

/// What a check looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Looked {
    /// Bases.
    pub bases: u64,
    /// Files of documents.
    pub files: u64,
    /// Bytes of them that were read.
    pub bytes: u64,
    /// Sealed lines of the activity log.
    pub sealed: u64,
    /// Findings.
    pub findings: u64,
}

/// Comparisons of a search cache with rows that go on changing, at most.
const COMPARED: u32 = 5;
/// How long after the end of its lease a job counts as left alone, in seconds.
const LEFT_ALONE_SECONDS: i64 = 300;

/// Looks at everything and tells what is wrong; ends early if nobody listens.
///
/// # Errors
/// If the rows or the files cannot be read at all.
pub async fn look(place: &Place<'_>, id: Uuid, files: Files, out: &Sender<Told>) -> Result<()> {
    let hold = Hold::take(place.db, id, Arc::clone(&place.now)).await?;
    let looked = Look::new(place, out).run(files).await;
    hold.release().await?;
    let looked = looked?;
    // A listener that has gone does not hear the end either.
    let _ = out.send(Told::Done(looked)).await;
    Ok(())
}

struct Look<'a> {
    place: &'a Place<'a>,
    out: &'a Sender<Told>,
    looked: Looked,
}

impl<'a> Look<'a> {
    fn new(place: &'a Place<'a>, out: &'a Sender<Told>) -> Self {
        Self {
            place,
            out,
            looked: Looked::default(),
        }
    }

    async fn run(mut self, files: Files) -> Result<Looked> {
        let mut tx = self.place.db.read_directory().await?;
        let tenants = tenants::list(&mut tx).await?;
        for fault in self.place.db.check().await? {
            let mend = "restore the last good backup into an empty place";
            self.find(
                format!("the database is damaged: {fault}"),
                "the database",
                mend,
            )
            .await;
        }
        let (mut named, mut all) = (Vec::new(), Vec::new());
        for tenant in &tenants {
            tx.visit(tenant.id);
            self.log(&mut tx, &tenant.slug).await?;
            self.queue(&mut tx, &tenant.slug).await?;
            for base in bases::list(&mut tx).await? {
                self.rows(&mut tx, base.id, &base.slug).await?;
                named.push((
                    base.slug.clone(),
                    rows::named_blobs(&mut tx, base.id).await?,
                ));
                all.push((tenant.id, base.id, base.slug));
            }
        }
        drop(tx);
        let total = named
            .iter()
            .flat_map(|(_, named)| &named.blobs)
            .map(|blob| blob.1)
            .sum();
        for (slug, named) in &named {
            self.files(slug, named, files, total).await?;
        }
        let bases = all.len() as u64;
        for (tenant, kb, slug) in all {
            self.cache(tenant, kb, &slug).await?;
            self.looked.bases += 1;
            self.tell("search caches", self.looked.bases, bases).await;
        }
        Ok(self.looked)
    }

    async fn log(&mut self, tx: &mut Tx, tenant: &str) -> Result<()> {
        let chain = audit::verify(tx).await?;
        self.looked.sealed += chain.sealed;
        if let Some((number, why)) = chain.broken {
            let mend = "somebody changed the database behind quipu's back: compare its table `audit` with that of the last backup";
            let what = format!("the chain of the activity log breaks at row {number}: {why}");
            self.find(what, tenant, mend).await;
        }
        Ok(())
    }

    async fn queue(&mut self, tx: &mut Tx, tenant: &str) -> Result<()> {
        let since = (self.place.now)().plus_seconds(-LEFT_ALONE_SECONDS);
        let mend = "start `quipu serve`, or restart it: its workers take them up";
        let lapsed = faults::lapsed_jobs(tx, since).await?;
        self.report(lapsed, tenant, mend).await;
        let lost = faults::lost_bases(tx).await?;
        self.report(lost, tenant, RESTORE).await;
        Ok(())
    }

    async fn rows(&mut self, tx: &mut Tx, kb: KbId, slug: &str) -> Result<()> {
        for broken in rows_of(tx, kb).await? {
            self.report(Some(broken), slug, RESTORE).await;
        }
        let orders = faults::broken_orders(tx, kb).await?;
        let mend = format!("`quipu reindex --parse --base {slug}` reads the documents again");
        self.report(orders, slug, &mend).await;
        let stuck = faults::stuck_documents(tx, kb).await?;
        let mend = format!("`quipu reindex --parse --base {slug}` takes them up again");
        self.report(stuck, slug, &mend).await;
        Ok(())
    }

    async fn files(
        &mut self,
        slug: &str,
        named: &NamedBlobs,
        how: Files,
        total: u64,
    ) -> Result<()> {
        for &(hash, size) in &named.blobs {
            let key = BlobKey {
                tenant: named.tenant,
                kb: named.kb,
                hash,
            };
            self.looked.files += 1;
            let wrong = match how {
                Files::Sizes => self
                    .place
                    .blobs
                    .size(&key)
                    .await?
                    .map(|found| found != size),
                Files::Bytes => self.is_damaged(&key).await?,
            };
            let path = key.path();
            let at = format!("{slug}: blobs/{path}");
            let mend = format!(
                "bring `blobs/{path}` back from a backup (`tar --extract`) to where blobs are kept, or send the document again"
            );
            match wrong {
                Some(false) => {}
                Some(true) => {
                    self.find("the bytes of a document are not what was sent", &at, &mend)
                        .await;
                }
                None => {
                    self.find("the bytes of a document are missing", &at, &mend)
                        .await;
                }
            }
            if how == Files::Sizes {
                self.looked.bytes += size;
            }
            self.tell("files of documents", self.looked.bytes, total)
                .await;
        }
        Ok(())
    }

    /// Whether the bytes are others than their name says; none if they are not there.
    async fn is_damaged(&mut self, key: &BlobKey) -> Result<Option<bool>> {
        let Some((_, mut parts)) = self.place.blobs.open_stream(key).await? else {
            return Ok(None);
        };
        let mut hash = Sha256::new();
        while let Some(part) = parts.next().await {
            let Ok(part) = part else {
                return Ok(Some(true));
            };
            self.looked.bytes += part.len() as u64;
            hash.update(&part);
        }
        let found: [u8; 32] = hash.finalize().into();
        Ok(Some(found != key.hash))
    }

    /// Rows may be added and purged between two counts, so the cache must lie between them once.
    async fn cache(&mut self, tenant: TenantId, kb: KbId, slug: &str) -> Result<()> {
        let (mut cached, mut rows) = (0, 0);
        for _ in 0..COMPARED {
            let mut tx = self.place.db.read(tenant).await?;
            let before = faults::count_to_index(&mut tx, kb).await?;
            drop(tx);
            let index = self.place.indexes.synced(tenant, kb, None).await?;
            cached = index.stats().rows;
            rows = faults::count_to_index(&mut self.place.db.read(tenant).await?, kb).await?;
            if before.min(rows) <= cached && cached <= before.max(rows) {
                return Ok(());
            }
        }
        let mend = format!("`quipu reindex --base {slug}` builds it anew");
        let what = format!("the search cache holds {cached} passages, where there are {rows}");
        self.find(what, slug, &mend).await;
        Ok(())
    }

    async fn report(&mut self, broken: Option<Broken>, place: &str, mend: &str) {
        if let Some(broken) = broken {
            let at = format!("{place}: {}", broken.places.join("; "));
            self.find(broken.says, &at, mend).await;
        }
    }

    async fn find(&mut self, what: impl Into<String>, place: &str, mend: &str) {
        self.looked.findings += 1;
        let finding = Finding {
            what: what.into(),
            place: place.to_owned(),
            mend: mend.to_owned(),
        };
        let _ = self.out.send(Told::Finding(finding)).await;
    }

    async fn tell(&self, looking_at: &str, done: u64, of: u64) {
        let progress = Told::Progress {
            looking_at: looking_at.to_owned(),
            done,
            of,
        };
        // Progress is left out while the listener has enough to read.
        if self.out.is_closed() || self.out.capacity() > 1 {
            let _ = self.out.send(progress).await;
        }
    }
}

/// The rows of a base for which some rule does not hold.
pub async fn rows_of(tx: &mut Tx, kb: KbId) -> Result<Vec<Broken>> {
    let mut found = Vec::new();
    for rule in faults::rules() {
        found.extend(faults::broken(tx, kb, rule).await?);
    }
    Ok(found)
}

/// For rows that no version of quipu writes.
const RESTORE: &str = "quipu writes no such rows: restore the last backup that `quipu verify` finds nothing in, and report it";

/// Everything that is wrong, for who does not care how far it is.
pub async fn findings(place: &Place<'_>, id: Uuid, files: Files) -> Result<Vec<Finding>> {
    let (out, mut told) = tokio::sync::mpsc::channel(64);
    let looking = async move { look(place, id, files, &out).await };
    let listening = async {
        let mut findings = Vec::new();
        while let Some(told) = told.recv().await {
            if let Told::Finding(finding) = told {
                findings.push(finding);
            }
        }
        findings
    };
    let (looked, findings) = tokio::join!(looking, listening);
    looked?;
    Ok(findings)
}
