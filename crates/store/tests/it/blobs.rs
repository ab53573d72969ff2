//! The bytes of documents: staged, kept, read, swept.

use bytes::Bytes;
use futures::{TryStreamExt, stream};
use model::{Code, KbId, RecordTime, TenantId};
use store::blobs::{BlobError, BlobKey, Blobs};

use crate::stores::{at, uuid};

const FUTURE: RecordTime = RecordTime::from_micros(i64::MAX);

async fn blobs() -> (tempfile::TempDir, Blobs) {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::open(folder.path().to_str().unwrap()).await.unwrap();
    (folder, blobs)
}

fn parts(parts: &[&'static str]) -> impl futures::Stream<Item = Result<Bytes, String>> {
    stream::iter(
        parts
            .iter()
            .map(|part| Ok(Bytes::from(*part)))
            .collect::<Vec<_>>(),
    )
}

async fn kept(blobs: &Blobs, text: &'static str) -> BlobKey {
    let staged = blobs.put_staged(parts(&[text]), 1000).await.unwrap();
    blobs
        .keep(staged, TenantId::new(uuid(1)), KbId::new(uuid(2)))
        .await
        .unwrap()
}

#[tokio::test]
async fn kept_bytes_are_read_back_whole_and_in_part() {
    let (folder, blobs) = blobs().await;

    let staged = blobs
        .put_staged(parts(&["to be ", "or not"]), 12)
        .await
        .unwrap();
    assert_eq!(staged.size, 12);
    let key = blobs
        .keep(staged, TenantId::new(uuid(1)), KbId::new(uuid(2)))
        .await
        .unwrap();

    assert_eq!(blobs.get(&key).await.unwrap().unwrap(), "to be or not");
    assert_eq!(blobs.get_range(&key, 3..5).await.unwrap().unwrap(), "be");
    assert_eq!(blobs.get_range(&key, 9..500).await.unwrap().unwrap(), "not");
    assert_eq!(blobs.get_range(&key, 500..900).await.unwrap().unwrap(), "");
    let again = Blobs::open(folder.path().to_str().unwrap()).await.unwrap();
    assert_eq!(again.size(&key).await.unwrap(), Some(12));
}

#[tokio::test]
async fn a_blob_that_is_not_there_is_none() {
    let (_folder, blobs) = blobs().await;
    let key = BlobKey {
        tenant: TenantId::new(uuid(1)),
        kb: KbId::new(uuid(2)),
        hash: [7; 32],
    };

    assert_eq!(blobs.get(&key).await.unwrap(), None);
    assert_eq!(blobs.get_range(&key, 0..1).await.unwrap(), None);
    assert!(!blobs.exists(&key).await.unwrap());
    blobs.delete(&key).await.unwrap();
}

#[tokio::test]
async fn a_byte_too_many_is_refused_and_leaves_nothing() {
    let (folder, blobs) = blobs().await;

    let refused = blobs
        .put_staged(parts(&["to be ", "or not"]), 11)
        .await
        .unwrap_err();

    assert!(matches!(refused, BlobError::TooLarge(11)), "{refused}");
    assert_eq!(model::Error::from(refused).code, Code::TooLarge);
    assert_eq!(
        std::fs::read_dir(folder.path().join("staging"))
            .unwrap()
            .count(),
        0
    );
}

#[tokio::test]
async fn an_upload_that_breaks_off_leaves_nothing() {
    let (folder, blobs) = blobs().await;
    let broken = stream::iter([Ok(Bytes::from("to be ")), Err("connection reset")]);

    let refused = blobs.put_staged(broken, 1000).await.unwrap_err();

    assert!(matches!(refused, BlobError::BrokenOff(_)), "{refused}");
    assert_eq!(
        std::fs::read_dir(folder.path().join("staging"))
            .unwrap()
            .count(),
        0
    );
}

#[tokio::test]
async fn only_blobs_that_were_not_kept_again_count_as_old() {
    let (folder, blobs) = blobs().await;
    let key = kept(&blobs, "again").await;
    assert_eq!(old(&blobs, at(0)).await, [], "it is younger than that");
    let file = walk(&folder.path().join("kept"));
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000);
    std::fs::File::open(&file)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    let cutoff = at(2_000_000_000);
    assert_eq!(old(&blobs, cutoff).await, [key]);

    // An upload of the same bytes comes between the look and the deletion.
    kept(&blobs, "again").await;
    assert!(!blobs.delete_kept_before(&key, cutoff).await.unwrap());
    assert!(blobs.exists(&key).await.unwrap());

    assert!(blobs.delete_kept_before(&key, FUTURE).await.unwrap());
    assert!(!blobs.exists(&key).await.unwrap());
}

async fn old(blobs: &Blobs, cutoff: RecordTime) -> Vec<BlobKey> {
    blobs.kept_before(cutoff).try_collect().await.unwrap()
}

/// The one file below a folder.
fn walk(folder: &std::path::Path) -> std::path::PathBuf {
    let mut place = folder.to_owned();
    while place.is_dir() {
        place = std::fs::read_dir(&place)
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
    }
    place
}

#[tokio::test]
async fn the_same_bytes_are_kept_apart_for_each_base() {
    let (_folder, blobs) = blobs().await;
    let here = kept(&blobs, "same").await;
    let staged = blobs.put_staged(parts(&["same"]), 10).await.unwrap();
    let there = blobs
        .keep(staged, TenantId::new(uuid(1)), KbId::new(uuid(9)))
        .await
        .unwrap();

    blobs.delete(&here).await.unwrap();

    assert_eq!(blobs.get(&there).await.unwrap().unwrap(), "same");
}

#[tokio::test]
async fn a_store_that_is_not_built_in_is_refused_by_its_scheme() {
    let refused = Blobs::open("s3://bucket").await.err().unwrap().to_string();
    assert!(refused.ends_with("must be a folder, not `s3`"), "{refused}");
}
