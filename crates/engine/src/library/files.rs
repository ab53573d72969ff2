//! The files of documents: kept before anything refers to them, erased when nothing does any more.
//!
//! Files are never touched within a transaction. Who keeps one and who erases one meet in
//! `store::erasures`: an erasing is committed first, in the base's one place for a writer and only
//! if nothing refers to the file; and a document that refers to a file is committed there only if
//! no erasing of it began since the file was seen.

use std::time::Duration;

use futures::StreamExt;
use model::{Code, Error, KbId, RecordTime, Result, TenantId};
use store::blobs::{BlobKey, Blobs, Staged};
use store::erasures::{self, Erasure};
use store::{Db, Tx, bases, documents, holds};

use crate::backup::Now;

/// Where files and the rows about them are.
pub struct Files<'a> {
    /// The rows.
    pub db: &'a Db,
    /// The files.
    pub blobs: &'a Blobs,
    /// What time it is.
    pub now: Now,
}

/// A file that was kept for a base, for a document that is about to refer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptFile {
    /// SHA-256 of its bytes.
    pub hash: [u8; 32],
    /// How many they are.
    pub size: u64,
    /// The latest erasing of such bytes that had begun when the file was seen.
    erasure: Option<RecordTime>,
}

/// An erasing takes at most this long, or it is given up.
const ERASING_AT_MOST: Duration = Duration::from_mins(5);

/// An erasing that has not ended after so long has been given up.
const ERASING_SECONDS: i64 = 10 * 60;

/// Files whose erasing begins and ends together.
const ERASED_TOGETHER: usize = 64;

impl Files<'_> {
    /// Keeps bytes for a base. They are safe when this returns.
    ///
    /// # Errors
    /// `unavailable` if the same bytes are being erased.
    pub async fn keep(&self, staged: Staged, (tenant, kb): (TenantId, KbId)) -> Result<KeptFile> {
        let (hash, size) = (staged.hash, staged.size);
        let key = self.blobs.keep(staged, tenant, kb).await?;
        let mut tx = self.db.read(tenant).await?;
        let erasure = erasures::find(&mut tx, kb, &hash).await?;
        drop(tx);
        let is_going = erasure.is_some_and(|erasure| is_going(&erasure, (self.now)()));
        if is_going || !self.blobs.exists(&key).await? {
            return Err(erased_meanwhile());
        }
        Ok(KeptFile {
            hash,
            size,
            erasure: erasure.map(|erasure| erasure.begun_at),
        })
    }

    /// Erases files that nothing in the base refers to. Safe to call again.
    ///
    /// # Errors
    /// `unavailable` while a backup reads files, or another call erases one of them.
    pub async fn erase(&self, (tenant, kb): (TenantId, KbId), hashes: &[[u8; 32]]) -> Result<()> {
        for hashes in hashes.chunks(ERASED_TOGETHER) {
            let (begun_at, free) = self.begin((tenant, kb), hashes).await?;
            let erased = async {
                for &hash in &free {
                    self.blobs.delete(&BlobKey { tenant, kb, hash }).await?;
                }
                Ok(())
            };
            self.within_its_time(erased).await?;
            self.end((tenant, kb), &free, begun_at).await?;
        }
        Ok(())
    }

    /// Erases files last kept before `cutoff` that nothing refers to, of documents that never came
    /// to be; how many. None while a backup reads files.
    pub async fn sweep(&self, cutoff: RecordTime) -> Result<u64> {
        let mut swept = 0;
        let mut old = self.blobs.kept_before(cutoff);
        while let Some(key) = old.next().await {
            let key = key?;
            let mut tx = self.db.read(key.tenant).await?;
            let stays = documents::refers_to_blob(&mut tx, key.kb, &key.hash).await?
                || holds::is_held(&mut tx, (self.now)()).await?;
            drop(tx);
            if stays {
                continue;
            }
            let place = (key.tenant, key.kb);
            let (begun_at, free) = self.begin(place, &[key.hash]).await?;
            if !free.is_empty() {
                let erased = async { Ok(self.blobs.delete_kept_before(&key, cutoff).await?) };
                swept += u64::from(self.within_its_time(erased).await?);
                self.end(place, &free, begun_at).await?;
            }
        }
        Ok(swept)
    }

    /// Begins to erase those of the files that nothing refers to, and says since when and which.
    ///
    /// A file is erased by one at a time: whoever comes second could erase it after the first has
    /// said that it is gone, and another document has it again.
    async fn begin(
        &self,
        (tenant, kb): (TenantId, KbId),
        hashes: &[[u8; 32]],
    ) -> Result<(RecordTime, Vec<[u8; 32]>)> {
        let now = (self.now)();
        let mut tx = self.db.write(tenant).await?;
        // Of a base that is gone, files may be left.
        let begun_at = match bases::find(&mut tx, kb).await? {
            Some(_) => bases::advance_clock(&mut tx, kb, now).await?,
            None => now,
        };
        let mut free = Vec::new();
        for hash in hashes {
            if documents::refers_to_blob(&mut tx, kb, hash).await? {
                continue;
            }
            let before = erasures::find(&mut tx, kb, hash).await?;
            if before.is_some_and(|erasure| is_going(&erasure, now)) {
                let sentence = "the file is being erased by another call; it is tried again";
                return Err(Error::new(Code::Unavailable, sentence).retry_after(1));
            }
            erasures::begin(&mut tx, kb, hash, begun_at).await?;
            free.push(*hash);
        }
        // After the look at what refers to them; see `store::holds`.
        if !free.is_empty() && holds::is_held(&mut tx, now).await? {
            let sentence = "a backup is being made, and files are erased only after it";
            return Err(Error::new(Code::Unavailable, sentence).retry_after(60));
        }
        tx.commit().await?;
        Ok((begun_at, free))
    }

    async fn end(
        &self,
        (tenant, kb): (TenantId, KbId),
        hashes: &[[u8; 32]],
        begun_at: RecordTime,
    ) -> Result<()> {
        let mut tx = self.db.write(tenant).await?;
        for hash in hashes {
            erasures::end(&mut tx, kb, hash, (begun_at, (self.now)())).await?;
        }
        Ok(tx.commit().await?)
    }

    /// What erases files, given up well before others take it for given up.
    async fn within_its_time<T>(&self, erased: impl Future<Output = Result<T>>) -> Result<T> {
        match tokio::time::timeout(ERASING_AT_MOST, erased).await {
            Ok(erased) => erased,
            Err(_) => Err(Error::new(
                Code::Unavailable,
                "files take too long to erase; it is tried again",
            )),
        }
    }
}

/// Refuses if an erasing of the file began since it was kept; called where the base's one place
/// for a writer is taken.
///
/// # Errors
/// `unavailable`: the bytes are to be sent again.
pub async fn still_kept(tx: &mut Tx, kb: KbId, file: &KeptFile) -> Result<()> {
    let erasure = erasures::find(tx, kb, &file.hash).await?;
    if erasure.map(|erasure| erasure.begun_at) == file.erasure {
        return Ok(());
    }
    Err(erased_meanwhile())
}

fn is_going(erasure: &Erasure, now: RecordTime) -> bool {
    erasure.ended_at.is_none() && now < erasure.begun_at.plus_seconds(ERASING_SECONDS)
}

fn erased_meanwhile() -> Error {
    let sentence = "the file was erased with another document while it came in; send it again";
    Error::new(Code::Unavailable, sentence).retry_after(1)
}
