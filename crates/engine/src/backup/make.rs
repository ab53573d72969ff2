//! Making a backup while writes go on.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use model::{RecordTime, Result};
use store::blobs::{BlobKey, Blobs};
use store::rows::{self, NamedBlobs};
use store::{Db, Tx, bases, known_schema, tenants};
use tokio::sync::mpsc::{self, Receiver};
use uuid::Uuid;

use super::archive::{Archive, PutBlob, RowFiles};
use super::manifest::{ABOUT, About, BLOBS, FORMAT, FORMAT_VERSION, Head, Manifest, Tally};
use super::{BackupError, Hold};

/// What time it is.
pub type Now = Arc<dyn Fn() -> RecordTime + Send + Sync>;

/// Parts that may wait for a receiver.
const WAITING: usize = 8;

/// Begins a backup and gives its bytes. It holds what was committed before this returns and
/// nothing of what is committed after.
///
/// Dropping the answer gives the backup up. A failure is its last part, and no manifest comes
/// after it.
///
/// # Errors
/// If the store cannot be read.
pub async fn make(
    db: &Db,
    blobs: &Blobs,
    product_version: &'static str,
    id: Uuid,
    now: Now,
) -> Result<Receiver<Result<Bytes>>> {
    let hold = Hold::take(db, id, now.clone()).await?;
    // The snapshot begins with the first statement, so one runs before this returns.
    let mut tx = db.read_directory().await?;
    let heads = heads(&mut tx).await?;
    let made_at = now();
    let (out, parts) = mpsc::channel(WAITING);
    let making = Making {
        archive: Archive::new(out.clone(), (made_at.micros() / 1_000_000).unsigned_abs()),
        blobs: blobs.clone(),
        manifest: Manifest {
            format: FORMAT.to_owned(),
            format_version: FORMAT_VERSION,
            product_version: product_version.to_owned(),
            engine: db.engine_name().to_owned(),
            made_at,
            schema: known_schema(),
            heads,
            tables: BTreeMap::new(),
            blobs: Tally::default(),
            missing: Vec::new(),
            damaged: Vec::new(),
            files: Vec::new(),
        },
    };
    tokio::spawn(async move {
        let made = making.run(tx).await;
        // Before the last part: whoever has it may end the process.
        if let Err(error) = hold.release().await {
            tracing::warn!(%error, "files stay held for two minutes after a backup");
        }
        let ended = match made {
            Ok(archive) => archive.finish().await,
            Err(error) => Err(error),
        };
        match ended {
            Ok(()) | Err(BackupError::GoneAway) => {}
            // The receiver may have gone; then nobody is there to be told.
            Err(error) => drop(out.send(Err(error.into())).await),
        }
    });
    Ok(parts)
}

async fn heads(tx: &mut Tx) -> Result<Vec<Head>, BackupError> {
    let mut heads = Vec::new();
    for tenant in tenants::list(tx).await? {
        tx.visit(tenant.id);
        heads.extend(bases::list(tx).await?.into_iter().map(|base| Head {
            tenant: tenant.id,
            base: base.id,
            slug: base.slug,
            head: base.clock,
        }));
    }
    Ok(heads)
}

struct Making {
    archive: Archive,
    blobs: Blobs,
    manifest: Manifest,
}

impl Making {
    /// Everything but the mark of the archive's end.
    async fn run(mut self, mut tx: Tx) -> Result<Archive, BackupError> {
        let named = self.begin(&mut tx).await?;
        for table in rows::tables() {
            self.rows(&mut tx, table).await?;
        }
        // From here on the hold alone keeps the files: a snapshot that stays open for long keeps
        // SQLite's log from being emptied, and PostgreSQL's dead rows from being taken away.
        drop(tx);
        for of_base in &named {
            self.blobs(of_base).await?;
        }
        self.end().await
    }

    /// Says how much will follow; the files that the rows name.
    async fn begin(&mut self, tx: &mut Tx) -> Result<Vec<NamedBlobs>, BackupError> {
        let mut about = About::default();
        for table in rows::tables() {
            about.rows += rows::count(tx, table).await?;
        }
        let mut named = Vec::new();
        for head in &self.manifest.heads {
            tx.visit(head.tenant);
            let of_base = rows::named_blobs(tx, head.base).await?;
            about.blob_bytes += of_base.blobs.iter().map(|blob| blob.1).sum::<u64>();
            named.push(of_base);
        }
        self.archive.put_json(ABOUT, &about).await?;
        Ok(named)
    }

    async fn rows(&mut self, tx: &mut Tx, table: &'static rows::Table) -> Result<(), BackupError> {
        let (mut count, mut cursor) = (0, None);
        let mut files = RowFiles::of(table.name());
        loop {
            let page = rows::read(tx, table, cursor, &mut files.lines).await?;
            count += page.rows;
            files.put(&mut self.archive, page.next.is_none()).await?;
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        self.manifest.tables.insert(table.name().to_owned(), count);
        Ok(())
    }

    async fn blobs(&mut self, named: &NamedBlobs) -> Result<(), BackupError> {
        for (hash, _) in &named.blobs {
            let key = BlobKey {
                tenant: named.tenant,
                kb: named.kb,
                hash: *hash,
            };
            let path = format!("{BLOBS}{}", key.path());
            let put = self.archive.put_blob(&self.blobs, &key, &path).await?;
            self.manifest.blobs.add(put);
            match put {
                PutBlob::Whole(_) => {}
                PutBlob::Damaged(_) => self.manifest.damaged.push(path),
                PutBlob::Missing => self.manifest.missing.push(path),
            }
        }
        Ok(())
    }

    async fn end(mut self) -> Result<Archive, BackupError> {
        self.manifest.files = self.archive.take_files();
        self.archive.put_manifest(&self.manifest).await?;
        Ok(self.archive)
    }
}
