//! Every table, row by row: out of one store and into another, on either engine.

use model::{ChunkId, DocumentId, RecordTime, Role};
use store::chunks::{self, NewChunk};
use store::vectors::{self, Vector};
use store::{Db, Options, audit, bases, holds, known_schema, rows, tenants};

use crate::stores::{World, at, on_both_engines, postgres_database, uuid};

/// Every row of a store, as lines, by table.
async fn lines(db: &Db) -> Vec<(&'static str, String)> {
    let mut tx = db.read_directory().await.unwrap();
    let mut all = Vec::new();
    for table in rows::tables() {
        let (mut out, mut cursor) = (Vec::new(), None);
        loop {
            let page = rows::read(&mut tx, table, cursor, &mut out).await.unwrap();
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        let text = String::from_utf8(out).unwrap();
        let count = rows::count(&mut tx, table).await.unwrap();
        assert_eq!(text.lines().count() as u64, count, "{}", table.name());
        all.push((table.name(), text));
    }
    all
}

async fn fill(world: &World) {
    let mut tx = world.db.write(world.tenant).await.unwrap();
    let now = bases::advance_clock(&mut tx, world.kb, at(50))
        .await
        .unwrap();
    let document = (DocumentId::new(uuid(70)), Role::Editor);
    let heading = ["A \"quoted\" one".to_owned()];
    // More than one page of them.
    let new: Vec<NewChunk<'_>> = (0..450)
        .map(|number| NewChunk {
            id: ChunkId::new(uuid(1000 + number)),
            heading_path: &heading,
            title: "Straße\n",
            text: "カワウソ\t🦦",
        })
        .collect();
    chunks::insert(&mut tx, world.kb, document, &new, now)
        .await
        .unwrap();
    let vector = Vector {
        chunk: ChunkId::new(uuid(1000)),
        scale: 0.1,
        code: vec![-128, 0, 127],
    };
    vectors::insert(&mut tx, world.kb, "m", &[vector], now)
        .await
        .unwrap();
    for number in 10..13 {
        audit::insert(&mut tx, &crate::stories::entry(number, "search_chunks"))
            .await
            .unwrap();
    }
    audit::seal(&mut tx, 2).await.unwrap();
    tx.commit().await.unwrap();
}

on_both_engines! {
    async fn every_row_is_the_same_after_it_went_through_lines(world: &World) {
        fill(world).await;
        let before = lines(&world.db).await;
        let mut stores = vec![Db::open("sqlite::memory:", Options::default()).await.unwrap()];
        if let Some(url) = postgres_database().await {
            stores.push(Db::open(&url, Options::default()).await.unwrap());
        }

        for db in stores {
            let mut tx = db.write_directory().await.unwrap();
            for (table, (_, text)) in rows::tables().iter().zip(&before) {
                rows::load(&mut tx, table, text).await.unwrap();
            }
            tx.commit().await.unwrap();

            assert_eq!(lines(&db).await, before, "into {}", db.engine_name());
            let mut tx = db.read(world.tenant).await.unwrap();
            let chain = audit::verify(&mut tx).await.unwrap();
            assert_eq!((chain.broken, chain.sealed, chain.unsealed), (None, 2, 1));
        }
    }

    async fn a_hold_stands_until_it_is_given_up_or_lapses(world: &World) {
        let held = async |now: RecordTime| {
            let mut tx = world.db.read(world.tenant).await.unwrap();
            holds::is_held(&mut tx, now).await.unwrap()
        };
        let mut tx = world.db.write_directory().await.unwrap();
        holds::set(&mut tx, uuid(1), at(100)).await.unwrap();
        holds::set(&mut tx, uuid(2), at(200)).await.unwrap();
        tx.commit().await.unwrap();
        assert!(held(at(199)).await);
        assert!(!held(at(200)).await, "nobody renewed it");

        let mut tx = world.db.write_directory().await.unwrap();
        holds::release(&mut tx, uuid(2)).await.unwrap();
        tx.commit().await.unwrap();
        assert!(held(at(99)).await);
        assert!(!held(at(100)).await);
    }
}

#[tokio::test]
async fn rows_of_each_older_schema_are_loaded_and_brought_up_to_the_present_one() {
    for steps in 1..=known_schema().len() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("store.db").display());
        let older = Options {
            schema: Some(known_schema()[steps - 1].number),
            ..Options::default()
        };
        let db = Db::open(&url, older).await.unwrap();
        let tables: &'static [rows::Table] = Box::leak(rows::tables_at(steps).into());
        let tenant = tables
            .iter()
            .find(|table| table.name() == "tenant")
            .unwrap();
        let cells: Vec<&str> = tenant.columns().collect();
        assert_eq!(&cells[..4], ["id", "name", "slug", "created_at"]);
        let mut tx = db.write_directory().await.unwrap();
        let line = format!(
            r#"["{}","Acme","acme",7{}]"#,
            uuid(1),
            ",null".repeat(cells.len() - 4)
        );
        rows::load(&mut tx, tenant, &line).await.unwrap();
        tx.commit().await.unwrap();
        db.close().await;
        let found = Db::inspect(&url).await.unwrap().unwrap();
        assert_eq!((found.schema.len(), found.has_tenants), (steps, true));

        let db = Db::open(&url, Options::default()).await.unwrap();

        let mut tx = db.read_directory().await.unwrap();
        assert_eq!(tenants::list(&mut tx).await.unwrap()[0].name, "Acme");
        drop(tx);
        db.close().await;
        assert_eq!(
            Db::inspect(&url).await.unwrap().unwrap().schema,
            known_schema()
        );
    }
}

#[tokio::test]
async fn a_line_that_is_no_row_is_refused_by_its_number() {
    let db = Db::open("sqlite::memory:", Options::default())
        .await
        .unwrap();
    let tenant = rows::tables()
        .iter()
        .find(|table| table.name() == "tenant")
        .unwrap();
    let mut tx = db.write_directory().await.unwrap();
    let good = format!(r#"["{}","Acme","acme",7]"#, uuid(1));

    let refused = rows::load(&mut tx, tenant, &format!("{good}\n[1,2,3,4]"))
        .await
        .unwrap_err();

    assert!(
        refused
            .to_string()
            .starts_with("line 2 is no row of `tenant`: `id`"),
        "{refused}"
    );
}
