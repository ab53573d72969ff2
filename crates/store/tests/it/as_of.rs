//! What was held at a moment: SQLite, PostgreSQL and a plain list must agree.

use model::{ChunkId, DocumentId, RecordTime, Role};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use store::chunks::{self, NewChunk};
use store::{Db, Options, bases};

use crate::stores::{World, at, cases, uuid};

/// One write to a base.
#[derive(Debug, Clone)]
enum Write {
    /// Adds passages of a document, seen from a role on.
    Add {
        document: u8,
        least_role: Role,
        passages: u8,
    },
    /// Closes some of what is held, by place in the list.
    Close { places: Vec<u8> },
    /// Closes all of a document.
    CloseDocument { document: u8 },
    /// Holds a closed document again.
    Reopen { document: u8 },
    /// Erases a document.
    Purge { document: u8 },
    /// Lets another role see a document.
    Reclass { document: u8, least_role: Role },
}

/// The plain version of a row.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    ordinal: i64,
    id: ChunkId,
    document: u8,
    least_role: Role,
    recorded_at: RecordTime,
    invalidated_at: Option<RecordTime>,
    purged: bool,
}

fn role() -> impl Strategy<Value = Role> {
    prop::sample::select(Role::ALL.to_vec())
}

fn write() -> impl Strategy<Value = Write> {
    let document = 0_u8..4;
    prop_oneof![
        4 => (document.clone(), role(), 1_u8..5)
            .prop_map(|(document, least_role, passages)| Write::Add { document, least_role, passages }),
        3 => prop::collection::vec(any::<u8>(), 1..4).prop_map(|places| Write::Close { places }),
        1 => document.clone().prop_map(|document| Write::CloseDocument { document }),
        1 => document.clone().prop_map(|document| Write::Reopen { document }),
        1 => document.clone().prop_map(|document| Write::Purge { document }),
        2 => (document, role()).prop_map(|(document, least_role)| Write::Reclass { document, least_role }),
    ]
}

fn document_id(document: u8) -> DocumentId {
    DocumentId::new(uuid(100 + u128::from(document)))
}

/// What happens to the plain list.
fn apply(rows: &mut Vec<Row>, write: &Write, now: RecordTime, fresh: &mut u128) {
    let next = rows.len() as i64 + 1;
    match write {
        Write::Add {
            document,
            least_role,
            passages,
        } => {
            for n in 0..i64::from(*passages) {
                *fresh += 1;
                rows.push(Row {
                    ordinal: next + n,
                    id: ChunkId::new(uuid(1000 + *fresh)),
                    document: *document,
                    least_role: *least_role,
                    recorded_at: now,
                    invalidated_at: None,
                    purged: false,
                });
            }
        }
        Write::Close { places } => {
            for ordinal in ordinals(rows, places) {
                let row = &mut rows[ordinal as usize - 1];
                row.invalidated_at = row.invalidated_at.or(Some(now));
            }
        }
        Write::CloseDocument { document } => {
            for row in rows.iter_mut().filter(|row| row.document == *document) {
                row.invalidated_at = row.invalidated_at.or(Some(now));
            }
        }
        Write::Reopen { document } => {
            let closed_at = last_closed(rows, *document);
            let again: Vec<Row> = rows
                .iter()
                .filter(|row| row.document == *document && !row.purged)
                .filter(|row| row.invalidated_at.is_some() && row.invalidated_at == closed_at)
                .cloned()
                .collect();
            for (n, row) in again.into_iter().enumerate() {
                rows.push(Row {
                    ordinal: next + n as i64,
                    recorded_at: now,
                    invalidated_at: None,
                    ..row
                });
            }
        }
        Write::Purge { document } => {
            for row in rows.iter_mut().filter(|row| row.document == *document) {
                row.invalidated_at = row.invalidated_at.or(Some(now));
                row.purged = true;
            }
        }
        Write::Reclass {
            document,
            least_role,
        } => {
            let moved: Vec<usize> = (0..rows.len())
                .filter(|&place| rows[place].document == *document && !rows[place].purged)
                .collect();
            for (n, place) in moved.into_iter().enumerate() {
                let row = rows[place].clone();
                rows[place].document = LEFT_BEHIND;
                rows[place].recorded_at = at(0);
                rows[place].invalidated_at = Some(at(0));
                rows[place].purged = true;
                rows.push(Row {
                    ordinal: next + n as i64,
                    least_role: *least_role,
                    ..row
                });
            }
        }
    }
}

/// The document of rows that are left where others were before they got new ordinals.
const LEFT_BEHIND: u8 = 99;

fn ordinals(rows: &[Row], places: &[u8]) -> Vec<i64> {
    let place = |place: &u8| (usize::from(*place) % rows.len().max(1)) as i64 + 1;
    if rows.is_empty() {
        Vec::new()
    } else {
        places.iter().map(place).collect()
    }
}

/// When a document's rows were last closed, if none is held: what deleting it would have left.
fn last_closed(rows: &[Row], document: u8) -> Option<RecordTime> {
    let of_document = || rows.iter().filter(|row| row.document == document);
    if of_document().any(|row| row.invalidated_at.is_none()) {
        return None;
    }
    of_document().filter_map(|row| row.invalidated_at).max()
}

/// The same to a store.
async fn apply_stored(
    world: &World,
    before: &[Row],
    after: &[Row],
    write: &Write,
    now: RecordTime,
) {
    let mut tx = world.db.write(world.tenant).await.unwrap();
    assert_eq!(
        bases::advance_clock(&mut tx, world.kb, now).await.unwrap(),
        now
    );
    let kb = world.kb;
    match write {
        Write::Add {
            document,
            least_role,
            ..
        } => {
            let new: Vec<NewChunk<'_>> = after[before.len()..]
                .iter()
                .map(|row| NewChunk {
                    id: row.id,
                    heading_path: &[],
                    title: "t",
                    text: "x",
                })
                .collect();
            let document = (document_id(*document), *least_role);
            chunks::insert(&mut tx, kb, document, &new, now)
                .await
                .unwrap();
        }
        Write::Close { places } => {
            chunks::close(&mut tx, kb, &ordinals(before, places), now)
                .await
                .unwrap();
        }
        Write::CloseDocument { document } => {
            chunks::close_document(&mut tx, kb, document_id(*document), now)
                .await
                .unwrap();
        }
        Write::Reopen { document } => {
            if let Some(closed_at) = last_closed(before, *document) {
                let document = document_id(*document);
                chunks::reopen_document(&mut tx, kb, document, closed_at, now)
                    .await
                    .unwrap();
            }
        }
        Write::Purge { document } => {
            chunks::purge_document(&mut tx, kb, document_id(*document), now)
                .await
                .unwrap();
        }
        Write::Reclass {
            document,
            least_role,
        } => {
            let document = document_id(*document);
            // The role before only says where a cache looks for what it has to forget.
            let roles = (Role::Viewer, *least_role);
            chunks::set_least_role(&mut tx, kb, document, roles, now)
                .await
                .unwrap();
        }
    }
    tx.commit().await.unwrap();
}

async fn stored(world: &World, role: Role, as_of: RecordTime) -> Vec<Row> {
    let mut tx = world.db.read(world.tenant).await.unwrap();
    let mut rows: Vec<Row> = Vec::new();
    // In small pages, so that the cursor is tried as well.
    loop {
        let after = rows.last().map_or(0, |row| row.ordinal);
        let page = chunks::held_at(&mut tx, world.kb, (role, as_of), after, 3)
            .await
            .unwrap();
        if page.is_empty() {
            return rows;
        }
        rows.extend(page.into_iter().map(|span| Row {
            ordinal: span.ordinal,
            id: span.id,
            document: (span.document.uuid().as_u128() - 100) as u8,
            least_role: span.least_role,
            recorded_at: span.recorded_at,
            invalidated_at: span.invalidated_at,
            purged: span.purged_at.is_some(),
        }));
    }
}

async fn agree(
    worlds: &[World],
    writes: &[Write],
    asks: &[(Role, u8)],
) -> Result<(), TestCaseError> {
    let (mut rows, mut fresh) = (Vec::new(), 0);
    for (n, write) in writes.iter().enumerate() {
        let now = at(100 + 10 * n as i64);
        let before = rows.clone();
        apply(&mut rows, write, now, &mut fresh);
        for world in worlds {
            apply_stored(world, &before, &rows, write, now).await;
        }
    }
    for (role, moment) in asks {
        // Before the first write, at writes and between them, and after the last.
        let as_of = at(95 + 5 * i64::from(*moment));
        let plain: Vec<Row> = rows
            .iter()
            .filter(|row| row.recorded_at <= as_of && row.least_role <= *role)
            .filter(|row| row.invalidated_at.is_none_or(|until| until > as_of))
            .cloned()
            .collect();
        for world in worlds {
            let held = stored(world, *role, as_of).await;
            prop_assert_eq!(
                &held,
                &plain,
                "{} at {}",
                world.db.engine_name(),
                as_of.micros()
            );
        }
    }
    Ok(())
}

#[test]
fn what_was_held_at_a_moment_is_the_same_in_every_engine_and_in_a_plain_list() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let sqlite = runtime
        .block_on(Db::open("sqlite::memory:", Options::default()))
        .unwrap();
    let postgres = runtime.block_on(async {
        let url = crate::stores::postgres_database().await?;
        Some(Db::open(&url, Options::default()).await.unwrap())
    });
    let stores: Vec<Db> = [Some(sqlite), postgres].into_iter().flatten().collect();
    let history = (
        prop::collection::vec(write(), 1..16),
        prop::collection::vec((role(), 0_u8..36), 1..8),
    );
    let config = Config {
        cases: cases(),
        failure_persistence: None,
        ..Config::default()
    };
    let mut number = 0;
    let number = std::cell::RefCell::new(&mut number);

    let tried = TestRunner::new(config).run(&history, |(writes, asks)| {
        // A base of its own for each case.
        let case: u128 = {
            let mut number = number.borrow_mut();
            **number += 1;
            **number
        };
        runtime.block_on(async {
            let mut worlds = Vec::new();
            for db in &stores {
                worlds.push(World::numbered(db.clone(), case).await);
            }
            agree(&worlds, &writes, &asks).await
        })
    });

    if let Err(failed) = tried {
        panic!("{failed}");
    }
}
