//! Making an archive of a base while writes go on.

use std::collections::BTreeMap;

use bytes::Bytes;
use model::{Error, KbId, Result, TenantId};
use store::base_rows::{self, BaseTable};
use store::blobs::{BlobKey, Blobs};
use store::rows::{self, NamedBlobs};
use store::{Db, Tx, known_schema};
use tokio::sync::mpsc::{self, Receiver};
use uuid::Uuid;

use super::{FORMAT, FORMAT_VERSION, Manifest};
use crate::backup::archive::{Archive, PutBlob, RowFiles};
use crate::backup::manifest::{ABOUT, BLOBS, hex};
use crate::backup::{About, BackupError, Hold, Now, Tally};

/// Parts that may wait for a receiver.
const WAITING: usize = 8;

/// Begins an archive of a base and gives its bytes. It holds what was committed before this
/// returns and nothing of what is committed after.
///
/// Dropping the answer gives the archive up. A failure is its last part, and no manifest comes
/// after it. `id` is a fresh one, for the hold on the documents' files.
///
/// # Errors
/// `not_found` if there is no such base; if the store cannot be read.
pub async fn make(
    (db, blobs): (&Db, &Blobs),
    product_version: &'static str,
    (tenant, kb): (TenantId, KbId),
    id: Uuid,
    now: Now,
) -> Result<Receiver<Result<Bytes>>> {
    let hold = Hold::take(db, id, now).await?;
    // The snapshot begins with the first statement, so one runs before this returns.
    let mut tx = db.read(tenant).await?;
    let Some(base) = base_rows::find(&mut tx, kb).await? else {
        return Err(Error::not_found("no base with that id"));
    };
    let (out, parts) = mpsc::channel(WAITING);
    let modified = (base.clock.micros() / 1_000_000).unsigned_abs();
    let making = Making {
        archive: Archive::new(out.clone(), modified),
        blobs: blobs.clone(),
        manifest: Manifest {
            format: FORMAT.to_owned(),
            format_version: FORMAT_VERSION,
            product_version: product_version.to_owned(),
            schema: known_schema(),
            base,
            tables: BTreeMap::new(),
            blobs: Tally::default(),
            missing: Vec::new(),
            damaged: Vec::new(),
            files: Vec::new(),
        },
    };
    tokio::spawn(async move {
        let made = making.run(tx).await;
        let released = hold.release().await.map_err(BackupError::from);
        let ended = match made.and_then(|archive| released.map(|()| archive)) {
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

struct Making {
    archive: Archive,
    blobs: Blobs,
    manifest: Manifest,
}

impl Making {
    /// Everything but the mark of the archive's end.
    async fn run(mut self, mut tx: Tx) -> Result<Archive, BackupError> {
        let named = self.begin(&mut tx).await?;
        for table in base_rows::tables() {
            self.rows(&mut tx, table).await?;
        }
        // From here on the hold alone keeps the files; see `backup::make`.
        drop(tx);
        self.blobs(&named).await?;
        self.manifest.files = self.archive.take_files();
        self.archive.put_manifest(&self.manifest).await?;
        Ok(self.archive)
    }

    /// Says how much will follow; the files that the rows name.
    async fn begin(&mut self, tx: &mut Tx) -> Result<NamedBlobs, BackupError> {
        let kb = self.manifest.base.id;
        let named = rows::named_blobs(tx, kb).await?;
        let mut about = About {
            rows: 0,
            blob_bytes: named.blobs.iter().map(|blob| blob.1).sum(),
        };
        for table in base_rows::tables() {
            about.rows += base_rows::count(tx, kb, table).await?;
        }
        self.archive.put_json(ABOUT, &about).await?;
        Ok(named)
    }

    async fn rows(&mut self, tx: &mut Tx, table: &'static BaseTable) -> Result<(), BackupError> {
        let kb = self.manifest.base.id;
        let (mut count, mut cursor) = (0, None);
        let mut files = RowFiles::of(table.name());
        loop {
            let page = base_rows::read(tx, kb, table, cursor, &mut files.lines).await?;
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
        for &(hash, _) in &named.blobs {
            let key = BlobKey {
                tenant: named.tenant,
                kb: named.kb,
                hash,
            };
            let path = format!("{BLOBS}{}", hex(&hash));
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
}
