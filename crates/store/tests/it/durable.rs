//! What was acknowledged is there: with many writers, a full disk, a failed flush, a killed process.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use model::{Code, KbId, TenantId};
use store::{Db, Options, StoreError, audit, bases, tenants};

use crate::stores::{World, at, base, on_both_engines, setting, uuid};

fn url(folder: &Path) -> String {
    format!("sqlite:{}", folder.join("store.db").display())
}

async fn open(folder: &Path) -> Db {
    Db::open(&url(folder), Options::default()).await.unwrap()
}

async fn add_base(db: &Db, tenant: TenantId, number: u128) -> Result<(), StoreError> {
    let mut tx = db.write(tenant).await?;
    bases::insert(
        &mut tx,
        &base(KbId::new(uuid(number)), &format!("base-{number}")),
    )
    .await?;
    tx.commit().await
}

on_both_engines! {
    async fn every_acknowledged_write_of_many_writers_is_there(world: &World) {
        let writers: Vec<_> = (0..16_u128)
            .map(|writer| {
                let (db, tenant) = (world.db.clone(), world.tenant);
                tokio::spawn(async move {
                    for n in 0..25 {
                        add_base(&db, tenant, 1000 + 100 * writer + n).await.unwrap();
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }

        let mut tx = world.db.read(world.tenant).await.unwrap();
        assert_eq!(bases::list(&mut tx).await.unwrap().len(), 1 + 16 * 25);
    }

    async fn a_member_that_fails_harms_no_other(world: &World) {
        let writers: Vec<_> = (0..60_u128)
            .map(|n| {
                let (db, tenant) = (world.db.clone(), world.tenant);
                tokio::spawn(async move {
                    let mut tx = db.write(tenant).await.unwrap();
                    let row = base(KbId::new(uuid(1000 + n)), &format!("base-{n}"));
                    bases::insert(&mut tx, &row).await.unwrap();
                    match n % 3 {
                        0 => tx.commit().await.unwrap(),
                        1 => drop(tx),
                        _ => {
                            let twin = base(KbId::new(uuid(5000 + n)), "papers");
                            assert!(bases::insert(&mut tx, &twin).await.is_err());
                            assert!(tx.commit().await.is_err());
                        }
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }

        let mut tx = world.db.read(world.tenant).await.unwrap();
        let slugs: Vec<_> =
            bases::list(&mut tx).await.unwrap().into_iter().map(|base| base.slug).collect();
        assert_eq!(slugs.len(), 1 + 20, "{slugs:?}");
        for n in (0..60).step_by(3) {
            assert!(slugs.contains(&format!("base-{n}")));
        }
    }

    async fn a_writer_that_gives_up_while_it_waits_leaves_nothing_and_blocks_no_one(world: &World) {
        let first = world.db.write(world.tenant).await.unwrap();
        let waiting = tokio::spawn({
            let (db, tenant) = (world.db.clone(), world.tenant);
            async move { add_base(&db, tenant, 1000).await }
        });
        tokio::task::yield_now().await;
        waiting.abort();
        let _ = waiting.await;
        first.commit().await.unwrap();

        add_base(&world.db, world.tenant, 1001).await.unwrap();
        let mut tx = world.db.read(world.tenant).await.unwrap();
        let names: Vec<_> = bases::list(&mut tx).await.unwrap();
        assert!(names.iter().any(|base| base.slug == "base-1001"));
    }

    async fn a_commit_that_its_caller_gives_up_on_is_flushed_all_the_same(world: &World) {
        let mut tx = world.db.write(world.tenant).await.unwrap();
        bases::insert(&mut tx, &base(KbId::new(uuid(1000)), "base-1000")).await.unwrap();
        {
            let mut commit = std::pin::pin!(tx.commit());
            let once = std::future::poll_fn(|cx| std::task::Poll::Ready(commit.as_mut().poll(cx)));
            let _ = once.await;
        }
        add_base(&world.db, world.tenant, 1001).await.unwrap();

        let mut tx = world.db.read(world.tenant).await.unwrap();
        assert!(bases::find(&mut tx, KbId::new(uuid(1001))).await.unwrap().is_some());
        if world.db.engine_name() == "sqlite" {
            assert!(bases::find(&mut tx, KbId::new(uuid(1000))).await.unwrap().is_some());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_is_found_again_as_it_was_closed() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::on(open(folder.path()).await).await;
    world.db.close().await;
    assert!(
        !folder.path().join("store.db-wal").exists(),
        "the log is moved and removed"
    );

    let db = open(folder.path()).await;
    let mut tx = db.read_directory().await.unwrap();
    assert_eq!(tenants::list(&mut tx).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_store_refuses() {
    let world = World::sqlite().await;
    world.db.clone().close().await;
    let refused = world
        .db
        .write(world.tenant)
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(refused.contains("the store is closed"), "{refused}");
    assert!(world.db.read(world.tenant).await.is_err());
}

on_both_engines! {
    async fn migrations_are_applied_once(world: &World) {
        let mut tx = world.db.read_directory().await.unwrap();
        assert_eq!(tenants::list(&mut tx).await.unwrap().len(), 1);
        assert_eq!(world.db.check().await.unwrap(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_store_of_a_newer_version_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path()).await.close().await;
    alter(
        folder.path(),
        "INSERT INTO migration VALUES (9999, 'telepathy', 'x', 0)",
    );

    let refused = Db::open(&url(folder.path()), Options::default())
        .await
        .err()
        .unwrap()
        .to_string();

    assert!(
        refused.contains("a newer version of quipu made it"),
        "{refused}"
    );
    assert!(refused.contains("9999 `telepathy`"), "{refused}");
}

#[tokio::test]
async fn a_store_with_another_history_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path()).await.close().await;
    alter(
        folder.path(),
        "UPDATE migration SET checksum = 'x' WHERE number = 1",
    );

    let refused = Db::open(&url(folder.path()), Options::default())
        .await
        .err()
        .unwrap()
        .to_string();

    assert!(
        refused.contains("migration 1 `library` was applied from another text"),
        "{refused}"
    );
}

#[tokio::test]
async fn postgres_refuses_a_newer_store_and_migrates_once() {
    let Some(url) = crate::stores::postgres_database().await else {
        return;
    };
    // Two nodes that start at once: one migrates, the other finds it done.
    let (one, two) = tokio::join!(
        Db::open(&url, Options::default()),
        Db::open(&url, Options::default())
    );
    drop((one.unwrap(), two.unwrap()));
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    let newer = "INSERT INTO migration VALUES (9999, 'telepathy', 'x', 0)";
    client.batch_execute(newer).await.unwrap();

    let refused = Db::open(&url, Options::default())
        .await
        .err()
        .unwrap()
        .to_string();

    assert!(refused.contains("9999 `telepathy`"), "{refused}");
}

#[tokio::test]
async fn a_url_of_no_engine_is_refused_without_its_secrets() {
    let url = "mysql://root:hunter2@localhost/x";
    let refused = Db::open(url, Options::default())
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(
        refused.contains("`sqlite:` or `postgres://`, not `mysql:`"),
        "{refused}"
    );
    assert!(!refused.contains("hunter2"));
}

#[tokio::test]
async fn a_line_of_the_log_that_was_changed_or_removed_breaks_the_chain() {
    for (behind_its_back, broken) in [
        (
            "UPDATE audit SET verdict = 'not_found' WHERE at = 11",
            Some((2, "its line was changed")),
        ),
        (
            "UPDATE audit SET client = '' WHERE at = 11",
            Some((2, "its line was changed")),
        ),
        (
            "DELETE FROM audit WHERE at = 12",
            Some((3, "its line is gone")),
        ),
        (
            "DELETE FROM audit_seal WHERE n = 1",
            Some((2, "a seal before it is gone")),
        ),
        (
            "UPDATE audit_seal SET hash = zeroblob(32) WHERE n = 1",
            Some((1, "its line was changed")),
        ),
        (
            "DELETE FROM audit_seal WHERE n = 3",
            Some((3, "seals after it are gone: 1")),
        ),
        ("UPDATE audit SET sealed = TRUE", None),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let world = World::on(open(folder.path()).await).await;
        let mut tx = world.db.write(world.tenant).await.unwrap();
        for number in 10..13 {
            audit::insert(&mut tx, &crate::stories::entry(number, "search_chunks"))
                .await
                .unwrap();
        }
        assert_eq!(audit::seal(&mut tx, 100).await.unwrap(), 3);
        tx.commit().await.unwrap();
        world.db.close().await;
        alter(folder.path(), behind_its_back);

        let db = open(folder.path()).await;
        let mut tx = db.read(world.tenant).await.unwrap();
        let chain = audit::verify(&mut tx).await.unwrap();
        let broken = broken.map(|(n, why)| (n, why.to_owned()));
        assert_eq!(chain.broken, broken, "{behind_its_back}");
    }
}

/// Changes a closed store behind its back.
fn alter(folder: &Path, text: &str) {
    let connection = rusqlite::Connection::open(folder.join("store.db")).unwrap();
    connection.execute_batch(text).unwrap();
}

/// A folder with a few megabytes of its own, if this process may mount one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=3m", "tmpfs"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then_some(SmallDisk(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_clearly_and_is_written_again_once_there_is_room() {
    let Some(disk) = SmallDisk::mount() else {
        println!("skipped: this process may not mount a small disk");
        return;
    };
    let folder = disk.0.path();
    let world = World::on(open(folder).await).await;
    let ballast = folder.join("ballast");
    std::fs::write(&ballast, vec![0; 1 << 20]).unwrap();

    let mut acknowledged = Vec::new();
    let refused = loop {
        let n = 1000 + acknowledged.len() as u128;
        let writers: Vec<_> = (0..8)
            .map(|writer| {
                let (db, tenant) = (world.db.clone(), world.tenant);
                let number = n + 10_000 * (1 + writer);
                tokio::spawn(async move { (number, add_large_base(&db, tenant, number).await) })
            })
            .collect();
        let mut refused = None;
        for writer in writers {
            match writer.await.unwrap() {
                (number, Ok(())) => acknowledged.push(number),
                (_, Err(error)) => refused = Some(error),
            }
        }
        if let Some(error) = refused {
            break error;
        }
    };
    assert!(matches!(refused, StoreError::Full(_)), "{refused:?}");
    let told = model::Error::from(refused);
    assert_eq!(told.code, Code::StorageFull);
    assert!(told.retry_after.is_some());

    let mut tx = world.db.read(world.tenant).await.unwrap();
    assert_eq!(
        bases::list(&mut tx).await.unwrap().len(),
        1 + acknowledged.len(),
        "reads go on"
    );
    drop(tx);

    std::fs::remove_file(&ballast).unwrap();
    add_base(&world.db, world.tenant, 999)
        .await
        .expect("there is room again");
    let mut tx = world.db.read(world.tenant).await.unwrap();
    assert_eq!(
        bases::list(&mut tx).await.unwrap().len(),
        2 + acknowledged.len()
    );
    drop(tx);
    assert_eq!(world.db.check().await.unwrap(), Vec::<String>::new());

    world.db.close().await;
    let db = open(folder).await;
    let mut tx = db.read(world.tenant).await.unwrap();
    assert_eq!(
        bases::list(&mut tx).await.unwrap().len(),
        2 + acknowledged.len()
    );
}

async fn add_large_base(db: &Db, tenant: TenantId, number: u128) -> Result<(), StoreError> {
    let mut tx = db.write(tenant).await?;
    let mut row = base(KbId::new(uuid(number)), &format!("base-{number}"));
    row.name = "x".repeat(20_000);
    bases::insert(&mut tx, &row).await?;
    tx.commit().await
}

/// Runs one test of this binary as a process of its own, with a role to play.
fn child(test: &str, role: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env("QUIPU_TEST_ROLE", role)
        .env("QUIPU_TEST_FOLDER", folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// The folder to work in, if this process is to play the role.
fn playing(role: &str) -> Option<String> {
    (setting("QUIPU_TEST_ROLE").as_deref() == Some(role))
        .then(|| setting("QUIPU_TEST_FOLDER").unwrap())
}

#[test]
fn what_was_acknowledged_before_a_kill_is_there_after_it_once() {
    const TENANT: TenantId = TenantId::new(uuid::Uuid::from_u128(1));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if let Some(folder) = playing("writer") {
        runtime.block_on(write_until_killed(folder.as_ref(), TENANT));
    }
    let folder = tempfile::tempdir().unwrap();
    let cycles = setting("QUIPU_SOAK_CYCLES")
        .and_then(|cycles| cycles.parse().ok())
        .unwrap_or(5);
    let mut acknowledged = Vec::<u128>::new();
    for cycle in 0..cycles {
        let name = "durable::what_was_acknowledged_before_a_kill_is_there_after_it_once";
        let mut writer = child(name, "writer", folder.path())
            .env("QUIPU_TEST_FIRST", (1_000_000 * (cycle + 1)).to_string())
            .spawn()
            .unwrap();
        // After another number of lines each time, so that the kill falls at any point of a write.
        let lines = 1 + (cycle * 7919) % 307;
        let mut out = BufReader::new(writer.stdout.take().unwrap()).lines();
        let mut heard = 0;
        for line in out.by_ref() {
            let Some(number) = acknowledgement(&line.unwrap()) else {
                continue;
            };
            acknowledged.push(number);
            heard += 1;
            if heard == lines {
                writer.kill().unwrap();
            }
        }
        assert!(
            heard >= lines,
            "the writer ended by itself after {heard} writes"
        );
        writer.wait().unwrap();

        runtime.block_on(async {
            let db = open(folder.path()).await;
            assert_eq!(db.check().await.unwrap(), Vec::<String>::new());
            let mut tx = db.read(TENANT).await.unwrap();
            let stored = bases::list(&mut tx).await.unwrap();
            for number in &acknowledged {
                let id = KbId::new(uuid(*number));
                let times = stored.iter().filter(|base| base.id == id).count();
                assert_eq!(times, 1, "write {number} of cycle {cycle}");
            }
        });
    }
}

#[test]
fn writes_of_several_processes_are_not_lost_when_one_of_them_is_killed() {
    const TENANT: TenantId = TenantId::new(uuid::Uuid::from_u128(1));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if playing("one of several writers").is_some() {
        let url = setting("QUIPU_TEST_URL").unwrap();
        let db = runtime
            .block_on(Db::open(&url, Options::default()))
            .unwrap();
        runtime.block_on(write_all(&db, TENANT));
        return;
    }
    let Some(url) = runtime.block_on(crate::stores::postgres_database()) else {
        return;
    };
    let name = "durable::writes_of_several_processes_are_not_lost_when_one_of_them_is_killed";
    let mut writers: Vec<_> = (1..=3_u128)
        .map(|number| {
            child(name, "one of several writers", Path::new("/"))
                .env("QUIPU_TEST_URL", &url)
                .env("QUIPU_TEST_FIRST", (1_000_000 * number).to_string())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut acknowledged = Vec::<u128>::new();
    for writer in &mut writers {
        let out = BufReader::new(writer.stdout.take().unwrap()).lines();
        // One after the other; the pipes of the others hold what they say until then.
        for line in out.map_while(Result::ok) {
            acknowledged.extend(acknowledgement(&line));
            if acknowledged.len() % 400 == 150 {
                let _ = writer.kill();
            }
        }
        writer.wait().unwrap();
    }

    assert!(
        acknowledged.len() >= 150,
        "{} were acknowledged",
        acknowledged.len()
    );
    runtime.block_on(async {
        let db = Db::open(&url, Options::default()).await.unwrap();
        let mut tx = db.read(TENANT).await.unwrap();
        let stored = bases::list(&mut tx).await.unwrap();
        for number in &acknowledged {
            let id = KbId::new(uuid(*number));
            assert_eq!(
                stored.iter().filter(|base| base.id == id).count(),
                1,
                "write {number}"
            );
        }
    });
}

fn acknowledgement(line: &str) -> Option<u128> {
    line.rsplit_once("acknowledged ")?.1.parse().ok()
}

/// 16 writers; a line on standard output for each write that was acknowledged.
async fn write_until_killed(folder: &Path, tenant: TenantId) {
    let db = open(folder).await;
    write(&db, tenant, 10_000).await;
}

/// The same until each writer has written its share.
async fn write_all(db: &Db, tenant: TenantId) {
    write(db, tenant, 20).await;
}

async fn write(db: &Db, tenant: TenantId, each: u128) {
    let first: u128 = setting("QUIPU_TEST_FIRST").unwrap().parse().unwrap();
    let writers: Vec<_> = (0..16)
        .map(|writer| {
            let db = db.clone();
            tokio::spawn(async move {
                for n in 0..each {
                    let number = first + 10_000 * writer + n;
                    add_base(&db, tenant, number).await.unwrap();
                    println!("\nacknowledged {number}");
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
}

/// A library that makes `fsync` fail while a file named `broken` stands beside the store.
const FAILING_FSYNC: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static int refused(void) {
    const char *flag = getenv("QUIPU_TEST_BROKEN");
    return flag && access(flag, F_OK) == 0;
}
int fsync(int fd) {
    if (refused()) { errno = EIO; return -1; }
    return syscall(SYS_fsync, fd);
}
int fdatasync(int fd) {
    if (refused()) { errno = EIO; return -1; }
    return syscall(SYS_fdatasync, fd);
}
"#;

#[test]
fn after_a_failed_flush_writes_are_refused_until_a_restart() {
    const TENANT: TenantId = TenantId::new(uuid::Uuid::from_u128(1));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if let Some(folder) = playing("broken disk") {
        runtime.block_on(write_through_a_failed_flush(folder.as_ref(), TENANT));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (source, library) = (
        folder.path().join("fsync.c"),
        folder.path().join("fsync.so"),
    );
    std::fs::write(&source, FAILING_FSYNC).unwrap();
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source)
        .status();
    if !compiled.is_ok_and(|status| status.success()) {
        println!("skipped: there is no C compiler to make a failing disk with");
        return;
    }
    let name = "durable::after_a_failed_flush_writes_are_refused_until_a_restart";
    let done = child(name, "broken disk", folder.path())
        .env("LD_PRELOAD", &library)
        .env("QUIPU_TEST_BROKEN", folder.path().join("broken"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        done.status.success() && said.contains("played to the end"),
        "{said}"
    );

    runtime.block_on(async {
        let db = open(folder.path()).await;
        assert_eq!(db.check().await.unwrap(), Vec::<String>::new());
        add_base(&db, TENANT, 2000).await.unwrap();
        let mut tx = db.read(TENANT).await.unwrap();
        assert!(
            bases::find(&mut tx, KbId::new(uuid(1000)))
                .await
                .unwrap()
                .is_some()
        );
    });
}

async fn write_through_a_failed_flush(folder: &Path, tenant: TenantId) {
    let db = open(folder).await;
    add_base(&db, tenant, 1000).await.unwrap();
    std::fs::write(folder.join("broken"), "").unwrap();

    let failed = add_base(&db, tenant, 1001).await.unwrap_err();
    assert!(matches!(failed, StoreError::Failed { .. }), "{failed:?}");

    std::fs::remove_file(folder.join("broken")).unwrap();
    let refused = add_base(&db, tenant, 1002).await.unwrap_err().to_string();
    assert!(refused.contains("check the disk and restart"), "{refused}");
    let mut tx = db.read(tenant).await.unwrap();
    assert!(
        bases::find(&mut tx, KbId::new(uuid(1000)))
            .await
            .unwrap()
            .is_some(),
        "reads go on"
    );
    assert!(
        bases::find(&mut tx, KbId::new(uuid(1001)))
            .await
            .unwrap()
            .is_none()
    );
    println!("played to the end at {}", at(0));
}
