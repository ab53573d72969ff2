//! Blobs in a bucket: of a store in this process that can be told to fail, and of the one that
//! the test script starts.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::{TryStreamExt, stream};
use model::{Code, KbId, RecordTime, TenantId};
use store::blobs::{Access, BlobKey, Blobs, Bucket, Patience};

use crate::fake_s3::{BUCKET, FakeS3, Fault};
use crate::stores::{at, setting, uuid};

const FUTURE: RecordTime = RecordTime::from_micros(i64::MAX);

fn bucket(endpoint: &str) -> Bucket {
    Bucket {
        name: BUCKET.to_owned(),
        prefix: "quipu/blobs".to_owned(),
        endpoint: Some(endpoint.to_owned()),
        region: None,
        path_style: true,
        access: Some(Access {
            id: "test".to_owned(),
            secret: "hush".to_owned().into(),
            session: None,
        }),
        patience: Patience {
            silence: Duration::from_millis(500),
            pause: Duration::from_millis(5),
            ..Patience::default()
        },
    }
}

async fn open(bucket: Bucket) -> (tempfile::TempDir, Blobs) {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::open_bucket(bucket, folder.path()).await.unwrap();
    (folder, blobs)
}

async fn fake() -> (FakeS3, tempfile::TempDir, Blobs) {
    let fake = FakeS3::start().await;
    let (folder, blobs) = open(bucket(&fake.endpoint)).await;
    (fake, folder, blobs)
}

/// The store that the test script starts, in a part of the bucket that nobody else uses.
async fn real() -> Option<(tempfile::TempDir, Blobs)> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let Some(endpoint) = setting("QUIPU_TEST_S3") else {
        println!("skipped on a real store: QUIPU_TEST_S3 is not set");
        return None;
    };
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let bucket = Bucket {
        prefix: format!("store/{}-{number}", std::process::id()),
        patience: Patience::default(),
        ..bucket(&endpoint)
    };
    Some(open(bucket).await)
}

fn parts(bytes: Bytes) -> impl futures::Stream<Item = Result<Bytes, String>> {
    let mut parts = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        parts.push(Ok(rest.split_to(rest.len().min(64 * 1024))));
    }
    stream::iter(parts)
}

async fn keep(
    blobs: &Blobs,
    kb: u128,
    bytes: impl Into<Bytes>,
) -> Result<BlobKey, store::StoreError> {
    let staged = blobs
        .put_staged(parts(bytes.into()), 1 << 30)
        .await
        .unwrap();
    blobs
        .keep(staged, TenantId::new(uuid(1)), KbId::new(uuid(kb)))
        .await
}

/// Bytes that differ everywhere, of more than two parts of an upload.
fn large() -> Bytes {
    (0..5_000_000_u32).flat_map(u32::to_le_bytes).collect()
}

async fn is_read_back_whole_and_in_part_and_apart_for_each_base(blobs: &Blobs) {
    let key = keep(blobs, 2, "to be or not").await.unwrap();
    let other = keep(blobs, 3, "to be or not").await.unwrap();
    let again = keep(blobs, 2, "to be or not").await.unwrap();

    assert_eq!(again, key);
    assert_eq!(blobs.get(&key).await.unwrap().unwrap(), "to be or not");
    assert_eq!(blobs.get_range(&key, 3..5).await.unwrap().unwrap(), "be");
    assert_eq!(blobs.get_range(&key, 9..500).await.unwrap().unwrap(), "not");
    assert_eq!(blobs.get_range(&key, 500..900).await.unwrap().unwrap(), "");
    assert_eq!(blobs.size(&key).await.unwrap(), Some(12));

    blobs.delete(&key).await.unwrap();
    blobs.delete(&key).await.unwrap();
    assert_eq!(blobs.get(&key).await.unwrap(), None);
    assert!(!blobs.exists(&key).await.unwrap());
    assert_eq!(blobs.get(&other).await.unwrap().unwrap(), "to be or not");
}

async fn keeps_a_large_file_part_by_part(blobs: &Blobs) {
    let bytes = large();

    let key = keep(blobs, 2, bytes.clone()).await.unwrap();

    assert_eq!(blobs.size(&key).await.unwrap(), Some(20_000_000));
    assert!(blobs.get(&key).await.unwrap().unwrap() == bytes);
    let middle = 9_000_000..9_000_100;
    let part = blobs.get_range(&key, middle).await.unwrap().unwrap();
    assert!(part == bytes[9_000_000..9_000_100]);
}

async fn deletes_what_is_old(blobs: &Blobs) {
    let (one, other) = (
        keep(blobs, 2, "one").await.unwrap(),
        keep(blobs, 2, "other").await.unwrap(),
    );
    assert!(!old(blobs, at(0)).await.contains(&other));
    assert!(old(blobs, FUTURE).await.contains(&other));

    assert!(!blobs.delete_kept_before(&other, at(0)).await.unwrap());
    assert!(blobs.delete_kept_before(&other, FUTURE).await.unwrap());
    assert!(!blobs.delete_kept_before(&other, FUTURE).await.unwrap());

    assert!(blobs.exists(&one).await.unwrap());
    assert!(!blobs.exists(&other).await.unwrap());
}

async fn old(blobs: &Blobs, cutoff: RecordTime) -> Vec<BlobKey> {
    blobs.kept_before(cutoff).try_collect().await.unwrap()
}

#[tokio::test]
async fn a_bucket_does_what_a_folder_does() {
    let (fake, _folder, blobs) = fake().await;
    is_read_back_whole_and_in_part_and_apart_for_each_base(&blobs).await;
    deletes_what_is_old(&blobs).await;
    assert_eq!(blobs.probe("one").await, Ok(()));
    assert!(
        fake.keys()
            .iter()
            .all(|key| key.starts_with("quipu/blobs/")),
        "{:?}",
        fake.keys()
    );

    if let Some((_folder, blobs)) = real().await {
        is_read_back_whole_and_in_part_and_apart_for_each_base(&blobs).await;
        deletes_what_is_old(&blobs).await;
        assert_eq!(blobs.probe("one").await, Ok(()));
    }
}

#[tokio::test]
async fn a_large_file_is_sent_in_parts_of_which_two_at_most_are_in_memory() {
    let (fake, _folder, blobs) = fake().await;
    keeps_a_large_file_part_by_part(&blobs).await;
    assert!(
        (1..=2).contains(&fake.parts_most()),
        "{}",
        fake.parts_most()
    );
    assert_eq!(fake.open_uploads(), 0);

    if let Some((_folder, blobs)) = real().await {
        keeps_a_large_file_part_by_part(&blobs).await;
    }
}

#[tokio::test]
async fn what_fails_on_the_way_is_sent_again() {
    let (fake, _folder, blobs) = fake().await;
    let overcharged = Fault::Status(503, "SlowDown");

    fake.fail([
        overcharged,
        Fault::Dropped,
        Fault::Silence,
        Fault::Status(500, "InternalError"),
    ]);
    let key = keep(&blobs, 2, "to be").await.unwrap();
    fake.fail([overcharged, Fault::Dropped, Fault::Silence]);
    let read = blobs.get(&key).await.unwrap();

    assert_eq!(read.unwrap(), "to be");
    assert_eq!(fake.requests().len(), 5 + 4);
}

#[tokio::test]
async fn a_part_that_fails_on_the_way_is_sent_again() {
    let (fake, _folder, blobs) = fake().await;
    // The first one begins the upload.
    fake.fail([
        Fault::Status(503, "SlowDown"),
        Fault::Dropped,
        Fault::Status(500, "InternalError"),
    ]);

    keeps_a_large_file_part_by_part(&blobs).await;

    assert_eq!(fake.open_uploads(), 0);
}

#[tokio::test]
async fn a_store_that_stays_away_is_told_as_something_that_passes() {
    let (fake, folder, _) = fake().await;
    let impatient = Patience {
        retries: 2,
        pause: Duration::from_millis(1),
        ..bucket(&fake.endpoint).patience
    };
    let blobs = Blobs::open_bucket(
        Bucket {
            patience: impatient,
            ..bucket(&fake.endpoint)
        },
        folder.path(),
    )
    .await
    .unwrap();
    let key = keep(&blobs, 2, "to be").await.unwrap();

    for fault in [
        Fault::Status(503, "SlowDown"),
        Fault::Dropped,
        Fault::Silence,
    ] {
        fake.set_down(Some(fault));
        for error in [
            keep(&blobs, 2, "or not").await.unwrap_err(),
            blobs.get(&key).await.unwrap_err(),
            blobs.size(&key).await.unwrap_err(),
        ] {
            let told = model::Error::from(error);
            assert_eq!(told.code, Code::Unavailable, "{fault:?}: {told:?}");
            assert!(told.retry_after.is_some() && told.code.retryable());
        }
    }

    fake.set_down(None);
    assert_eq!(blobs.get(&key).await.unwrap().unwrap(), "to be");
    let waiting = std::fs::read_dir(folder.path().join("staging")).unwrap();
    assert_eq!(
        waiting.count(),
        0,
        "an upload that failed leaves nothing here"
    );
}

#[tokio::test]
async fn an_upload_that_cannot_be_ended_is_aborted() {
    let (fake, _folder, blobs) = fake().await;
    fake.refuse_parts(Fault::Status(403, "AccessDenied"));

    let error = keep(&blobs, 2, large()).await.unwrap_err().to_string();

    assert!(error.contains("the access key may not do that"), "{error}");
    assert_eq!((fake.open_uploads(), fake.keys().len()), (0, 0));
}

#[tokio::test]
async fn what_is_wrong_with_a_bucket_is_said_in_a_sentence() {
    let (fake, folder, blobs) = fake().await;
    let told = async |fault: Fault| {
        fake.set_down(Some(fault));
        let told = blobs.probe("one").await.unwrap_err();
        fake.set_down(None);
        told
    };

    let denied = told(Fault::Status(403, "AccessDenied")).await;
    let key = told(Fault::Status(403, "InvalidAccessKeyId")).await;
    let secret = told(Fault::Status(403, "SignatureDoesNotMatch")).await;
    let region = told(Fault::Status(400, "AuthorizationHeaderMalformed")).await;
    let named = Bucket {
        name: "others".to_owned(),
        ..bucket(&fake.endpoint)
    };
    let other = Blobs::open_bucket(named, folder.path()).await.unwrap();
    let missing = other.probe("one").await.unwrap_err();
    let nobody = Bucket {
        patience: Patience {
            retries: 1,
            ..bucket("").patience
        },
        ..bucket("http://127.0.0.1:9")
    };
    let away = Blobs::open_bucket(nobody, folder.path()).await.unwrap();
    let away = away.probe("one").await.unwrap_err();

    let place = format!(
        "cannot write to s3://papers/quipu/blobs at {}: ",
        fake.endpoint
    );
    assert_eq!(
        denied,
        format!("{place}the access key may not do that (`AccessDenied`)")
    );
    assert_eq!(
        key,
        format!("{place}it does not know the access key (`InvalidAccessKeyId`)")
    );
    assert_eq!(
        secret,
        format!("{place}the secret access key is wrong (`SignatureDoesNotMatch`)")
    );
    assert!(region.contains("say which with `blobs.region`"), "{region}");
    assert!(
        missing.contains("there is no bucket of that name"),
        "{missing}"
    );
    assert!(away.contains("at http://127.0.0.1:9: "), "{away}");
    for told in [denied, key, secret, region, missing, away] {
        assert!(!told.contains("hush"), "{told}");
    }
}
