//! Whatever is added, deleted, restored and purged, and in whatever order: no row, vector or file
//! is left without what it belongs to.

use std::collections::BTreeSet;

use engine::library::{self, Accept, ExternalKey, Prepared};
use engine::soundness;
use knowledge::documents::files;
use model::document::{ParsedDocument, Section};
use model::{ChunkId, DocumentId, KbId, Role, Visibility};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use store::bases::{self, Base};
use store::blobs::BlobKey;
use store::vectors::{self, Vector};
use store::{chunks, documents, faults, rows};
use uuid::Uuid;

use crate::app::App;

/// Something that is done to one of a few documents.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Sends it with one of a few contents, which documents may share.
    Send {
        document: u8,
        content: u8,
    },
    /// Makes its latest version the one that is held.
    Publish {
        document: u8,
    },
    /// Makes the vectors it lacks.
    Embed {
        document: u8,
    },
    Delete {
        document: u8,
    },
    Restore {
        document: u8,
    },
    /// Erases it, and its files if nothing refers to them.
    Purge {
        document: u8,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let document = 0_u8..5;
    prop_oneof![
        5 => (document.clone(), 0_u8..6).prop_map(|(document, content)| Step::Send { document, content }),
        5 => document.clone().prop_map(|document| Step::Publish { document }),
        2 => document.clone().prop_map(|document| Step::Embed { document }),
        4 => document.clone().prop_map(|document| Step::Delete { document }),
        2 => document.clone().prop_map(|document| Step::Restore { document }),
        3 => document.prop_map(|document| Step::Purge { document }),
    ]
}

/// Content shares passages with the content before it.
fn parsed(content: u8) -> ParsedDocument {
    let section = |number: u8| Section {
        heading_path: vec![format!("Part {number}")],
        body: format!("What part {number} says."),
    };
    ParsedDocument {
        title: content
            .is_multiple_of(3)
            .then(|| format!("Title {content}")),
        sections: (content..content + 3).map(section).collect(),
        ..ParsedDocument::default()
    }
}

/// A base of its own, and the documents in it by their number; purged ones get a new id.
struct Storm<'a> {
    app: &'a App,
    kb: KbId,
    ids: [Option<DocumentId>; 5],
    content: [u8; 5],
}

impl<'a> Storm<'a> {
    async fn begin(app: &'a App, case: u128) -> Self {
        let kb = KbId::new(Uuid::from_u128(10_000 + case));
        let mut tx = app.core.db.write(app.tenant).await.unwrap();
        let base = Base {
            id: kb,
            name: format!("Storm {case}"),
            slug: format!("storm-{case}"),
            visibility: Visibility::Restricted,
            created_at: app.core.clock.now(),
            clock: app.core.clock.now(),
        };
        bases::insert(&mut tx, &base).await.unwrap();
        tx.commit().await.unwrap();
        Self {
            app,
            kb,
            ids: [None; 5],
            content: [0; 5],
        }
    }

    async fn take(&mut self, step: Step) {
        let (core, kb) = (&self.app.core, self.kb);
        let now = core.clock.now();
        let id = |document: u8| self.ids[usize::from(document)];
        match step {
            Step::Send { document, content } => {
                let place = usize::from(document);
                let bytes = format!("bytes {content}").into_bytes();
                let mut staging = core.blobs.stage(1 << 10).await.unwrap();
                staging.write(&bytes).await.unwrap();
                let staged = staging.finish().await.unwrap();
                let place_of_base = (self.app.tenant, kb);
                let file = files(core).keep(staged, place_of_base).await.unwrap();
                let mut tx = core.db.write(self.app.tenant).await.unwrap();
                let sent = Accept {
                    key: ExternalKey::new(&format!("document {document}")).unwrap(),
                    filename: "a.md",
                    least_role: None,
                    role: Role::Owner,
                    date: None,
                    blob_hash: file.hash,
                    size: file.size,
                    fresh_id: DocumentId::new(core.ids.next()),
                };
                let accepted = library::accept(&mut tx, kb, &sent, now).await.unwrap();
                tx.commit().await.unwrap();
                self.ids[place] = Some(accepted.document);
                self.content[place] = content;
            }
            Step::Publish { document } => {
                let Some(id) = id(document) else { return };
                let mut tx = core.db.write(self.app.tenant).await.unwrap();
                let row = documents::find(&mut tx, kb, id).await.unwrap().unwrap();
                let content = self.content[usize::from(document)];
                let prepared = Prepared::new(id, "a.md", parsed(content));
                library::publish(&mut tx, kb, (id, row.version), &prepared, now)
                    .await
                    .unwrap();
                tx.commit().await.unwrap();
            }
            Step::Embed { document } => {
                let Some(id) = id(document) else { return };
                let mut tx = core.db.write(self.app.tenant).await.unwrap();
                let at = bases::advance_clock(&mut tx, kb, now).await.unwrap();
                let live = chunks::live(&mut tx, kb, id).await.unwrap();
                let made: Vec<Vector> = live.iter().map(|(_, id)| vector(*id)).collect();
                vectors::insert(&mut tx, kb, "m", &made, at).await.unwrap();
                tx.commit().await.unwrap();
            }
            Step::Delete { document } => {
                let Some(id) = id(document) else { return };
                let mut tx = core.db.write(self.app.tenant).await.unwrap();
                library::delete(&mut tx, kb, id, now).await.unwrap();
                tx.commit().await.unwrap();
            }
            Step::Restore { document } => {
                let Some(id) = id(document) else { return };
                let mut tx = core.db.write(self.app.tenant).await.unwrap();
                library::restore(&mut tx, kb, id, now).await.unwrap();
                tx.commit().await.unwrap();
            }
            Step::Purge { document } => {
                let Some(id) = self.ids[usize::from(document)].take() else {
                    return;
                };
                let mut tx = core.db.write(self.app.tenant).await.unwrap();
                let purged = library::purge(&mut tx, kb, id, &[], now).await.unwrap();
                tx.commit().await.unwrap();
                let free = purged.map(|purged| purged.blobs).unwrap_or_default();
                let place = (self.app.tenant, kb);
                files(core).erase(place, &free).await.unwrap();
            }
        }
    }

    /// Files on disk that no document of the base names, and named ones that are not there.
    async fn stray_files(&self) -> (Vec<String>, Vec<String>) {
        let mut tx = self.app.core.db.read(self.app.tenant).await.unwrap();
        let named = rows::named_blobs(&mut tx, self.kb).await.unwrap();
        let path = |hash| {
            BlobKey {
                tenant: named.tenant,
                kb: named.kb,
                hash,
            }
            .path()
        };
        let named: BTreeSet<String> = named.blobs.iter().map(|blob| path(blob.0)).collect();
        let folder = format!("blobs/kept/{}/{}", self.app.tenant, self.kb);
        let entries = std::fs::read_dir(self.app.data.path().join(folder));
        let kept: BTreeSet<String> = entries
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .map(|name| format!("{}/{}/{name}", self.app.tenant, self.kb))
            .collect();
        let without = |one: &BTreeSet<String>, other| one.difference(other).cloned().collect();
        (without(&kept, &named), without(&named, &kept))
    }
}

fn vector(chunk: ChunkId) -> Vector {
    Vector {
        chunk,
        scale: 0.5,
        code: vec![1, -2, 3],
    }
}

/// Many random storms on one engine.
fn no_storm_leaves_orphans(app: &App, runtime: &tokio::runtime::Runtime, cases: u32) {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let number = std::cell::Cell::new(0_u128);
    let steps = prop::collection::vec(step(), 1..40);
    let tried = TestRunner::new(config).run(&steps, |steps| {
        number.set(number.get() + 1);
        runtime.block_on(async {
            let mut storm = Storm::begin(app, number.get()).await;
            for step in steps {
                storm.take(step).await;
            }
            let mut tx = app.core.db.read(app.tenant).await.unwrap();
            let broken = soundness::rows_of(&mut tx, storm.kb).await.unwrap();
            prop_assert!(broken.is_empty(), "{broken:#?}");
            let orders = faults::broken_orders(&mut tx, storm.kb).await.unwrap();
            prop_assert_eq!(orders, None);
            prop_assert_eq!(storm.stray_files().await, (Vec::new(), Vec::new()));
            Ok(())
        })
    });
    if let Err(failed) = tried {
        panic!("{failed}");
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn a_storm_of_deletions_leaves_no_orphans_on_sqlite() {
    let runtime = runtime();
    let app = runtime.block_on(App::sqlite());
    no_storm_leaves_orphans(&app, &runtime, 256);
}

#[test]
fn a_storm_of_deletions_leaves_no_orphans_on_postgres() {
    let runtime = runtime();
    if let Some(app) = runtime.block_on(App::postgres()) {
        no_storm_leaves_orphans(&app, &runtime, 64);
    }
}
