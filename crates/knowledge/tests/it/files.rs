//! Files that documents come to refer to while others erase them.

use engine::library::{self, Accept, ExternalKey, KeptFile};
use knowledge::documents::files;
use model::{Code, DocumentId, Error, RecordTime, Result, Role};
use store::blobs::{BlobKey, Staged};
use store::{bases, documents, erasures};

use crate::app::{App, on_both_engines};

async fn staged(app: &App, text: &str) -> Staged {
    let mut staging = app.core.blobs.stage(1 << 10).await.unwrap();
    staging.write(text.as_bytes()).await.unwrap();
    staging.finish().await.unwrap()
}

async fn keep(app: &App, text: &str) -> Result<KeptFile> {
    let staged = staged(app, text).await;
    files(&app.core).keep(staged, (app.tenant, app.kb)).await
}

/// Takes a document in that has a kept file.
async fn take_in(app: &App, name: &str, file: &KeptFile) -> Result<DocumentId> {
    let mut tx = app.core.db.write(app.tenant).await.unwrap();
    let sent = Accept {
        key: ExternalKey::new(name).unwrap(),
        filename: name,
        least_role: None,
        role: Role::Owner,
        date: None,
        blob_hash: file.hash,
        size: file.size,
        fresh_id: DocumentId::new(app.core.ids.next()),
    };
    let accepted = library::accept(&mut tx, app.kb, &sent, app.core.clock.now()).await?;
    library::still_kept(&mut tx, app.kb, file).await?;
    tx.commit().await.unwrap();
    Ok(accepted.document)
}

async fn purge(app: &App, document: DocumentId) -> Vec<[u8; 32]> {
    let mut tx = app.core.db.write(app.tenant).await.unwrap();
    let now = app.core.clock.now();
    let purged = library::purge(&mut tx, app.kb, document, &[], now).await;
    tx.commit().await.unwrap();
    purged.unwrap().unwrap().blobs
}

async fn erase(app: &App, hash: [u8; 32]) -> Result<()> {
    files(&app.core).erase((app.tenant, app.kb), &[hash]).await
}

/// Begins an erasing at a moment, as another process does; returns when the base's clock has it.
async fn another_begins(app: &App, hash: &[u8; 32], now: RecordTime) -> RecordTime {
    let mut tx = app.core.db.write(app.tenant).await.unwrap();
    let at = bases::advance_clock(&mut tx, app.kb, now).await.unwrap();
    erasures::begin(&mut tx, app.kb, hash, at).await.unwrap();
    tx.commit().await.unwrap();
    at
}

async fn is_there(app: &App, hash: [u8; 32]) -> bool {
    let key = BlobKey {
        tenant: app.tenant,
        kb: app.kb,
        hash,
    };
    app.core.blobs.exists(&key).await.unwrap()
}

#[track_caller]
fn is_to_be_sent_again(refused: &Error) {
    assert_eq!(refused.code, Code::Unavailable, "{refused}");
    assert!(refused.message.ends_with("send it again"), "{refused}");
}

on_both_engines! {
    async fn a_document_is_refused_if_its_file_was_erased_after_it_was_kept(app: &App) {
        let file = keep(app, "short-lived").await.unwrap();
        erase(app, file.hash).await.unwrap();
        is_to_be_sent_again(&take_in(app, "a", &file).await.unwrap_err());

        let file = keep(app, "short-lived").await.unwrap();
        take_in(app, "a", &file).await.unwrap();
        assert!(is_there(app, file.hash).await);
    }

    async fn what_a_document_refers_to_is_not_erased(app: &App) {
        let file = keep(app, "shared").await.unwrap();
        let one = take_in(app, "one", &file).await.unwrap();
        take_in(app, "two", &file).await.unwrap();

        for hash in purge(app, one).await {
            erase(app, hash).await.unwrap();
        }
        erase(app, file.hash).await.unwrap();
        assert!(is_there(app, file.hash).await);
    }

    async fn bytes_that_are_being_erased_are_neither_kept_nor_erased_by_another(app: &App) {
        let file = keep(app, "on its way out").await.unwrap();
        let now = app.core.clock.now();
        let begun_at = another_begins(app, &file.hash, now).await;

        is_to_be_sent_again(&keep(app, "on its way out").await.unwrap_err());
        is_to_be_sent_again(&take_in(app, "a", &file).await.unwrap_err());
        let second = erase(app, file.hash).await.unwrap_err();
        assert_eq!(second.code, Code::Unavailable, "{second}");

        let mut tx = app.core.db.write(app.tenant).await.unwrap();
        erasures::end(&mut tx, app.kb, &file.hash, (begun_at, now)).await.unwrap();
        tx.commit().await.unwrap();
        let file = keep(app, "on its way out").await.unwrap();
        take_in(app, "a", &file).await.unwrap();
    }

    async fn an_erasing_that_was_given_up_stands_in_nobodys_way(app: &App) {
        let file = keep(app, "half erased").await.unwrap();
        let long_ago = app.core.clock.now().plus_seconds(-11 * 60);
        let mut tx = app.core.db.write(app.tenant).await.unwrap();
        erasures::begin(&mut tx, app.kb, &file.hash, long_ago).await.unwrap();
        tx.commit().await.unwrap();

        is_to_be_sent_again(&take_in(app, "a", &file).await.unwrap_err());
        let file = keep(app, "half erased").await.unwrap();
        take_in(app, "a", &file).await.unwrap();
    }

    async fn the_sweep_takes_old_files_that_nothing_refers_to(app: &App) {
        let used = keep(app, "used").await.unwrap();
        take_in(app, "used", &used).await.unwrap();
        let unused = keep(app, "unused").await.unwrap();
        let (past, future) = (RecordTime::from_micros(0), RecordTime::from_micros(i64::MAX));

        assert_eq!(files(&app.core).sweep(past).await.unwrap(), 0);
        assert_eq!(files(&app.core).sweep(future).await.unwrap(), 1);
        assert!(is_there(app, used.hash).await);
        assert!(!is_there(app, unused.hash).await);
    }

    async fn whoever_sends_and_purges_the_same_bytes_at_once_loses_no_file(app: &App) {
        for round in 0..8 {
            let senders = (0..4).map(|sender| send_and_purge(app, round, sender));
            let kept = futures::future::join_all(senders).await;
            assert!(kept.contains(&true), "some documents stay");
            assert!(is_there(app, hash_of("the same")).await, "round {round}");
            let mut tx = app.core.db.read(app.tenant).await.unwrap();
            let named = documents::refers_to_blob(&mut tx, app.kb, &hash_of("the same")).await;
            assert!(named.unwrap());
        }
    }
}

/// Sends three documents with the same bytes and purges those that are not to stay; whether one
/// stays.
async fn send_and_purge(app: &App, round: u32, sender: u32) -> bool {
    let mut stays = false;
    for number in 0..3 {
        let name = format!("{round}-{sender}-{number}");
        let document = loop {
            let taken = async { take_in(app, &name, &keep(app, "the same").await?).await };
            match taken.await {
                Ok(document) => break document,
                Err(refused) => is_to_be_sent_again(&refused),
            }
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        };
        if sender == 0 && number == round % 3 {
            stays = true;
            continue;
        }
        for hash in purge(app, document).await {
            if let Err(refused) = erase(app, hash).await {
                assert_eq!(refused.code, Code::Unavailable, "{refused}");
            }
        }
    }
    stays
}

fn hash_of(text: &str) -> [u8; 32] {
    use sha2::Digest as _;
    sha2::Sha256::digest(text).into()
}
