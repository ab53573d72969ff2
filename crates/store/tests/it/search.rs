//! Search as of a moment: the index and a plain scorer over what was held then must agree.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};

use model::near::Print;
use model::rank::{Candidate, Weights, fuse};
use model::text::{self, Kind, Languages, Terms};
use model::{ChunkId, DocumentId, RecordTime, Role};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use store::chunks::{self, NewChunk};
use store::index::{
    GRAM_WEIGHT, HEAD_WEIGHT, Habits, Hit, Indexes, LENGTH_EASE, Nameless, Query, STEM_WEIGHT,
    WORD_WEIGHT,
};
use store::vectors::{self, Vector};
use store::{Db, Options, bases};
use tantivy::fieldnorm::FieldNormReader;

use crate::stores::{World, at, cases, on_both_engines, setting, uuid};

const TITLE: &str = "Annual report";

/// One write to a base.
#[derive(Debug, Clone)]
enum Write {
    Add {
        document: u8,
        least_role: Role,
        texts: Vec<String>,
    },
    Close {
        places: Vec<u8>,
    },
    CloseDocument {
        document: u8,
    },
    Reopen {
        document: u8,
    },
    Purge {
        document: u8,
    },
}

#[derive(Debug, Clone)]
struct Ask {
    text: String,
    role: Role,
    /// Half a write's step each; past the last write: now.
    moment: u8,
}

/// The plain version of a row.
#[derive(Debug, Clone)]
struct Row {
    ordinal: i64,
    id: ChunkId,
    document: u8,
    least_role: Role,
    recorded_at: RecordTime,
    invalidated_at: Option<RecordTime>,
    purged: bool,
    text: String,
}

fn role() -> impl Strategy<Value = Role> {
    prop::sample::select(Role::ALL.to_vec())
}

fn words(most: usize) -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "harvest",
        "harvests",
        "valley",
        "the",
        "who",
        "is",
        "Ernte",
        "die",
        "und",
        "Häuser",
        "INV-2024-7831",
        "北京大学",
        "猫",
        "урожай",
        "урожая",
        "report",
        "annual",
    ]);
    prop::collection::vec(word, 1..most).prop_map(|words| words.join(" "))
}

fn write() -> impl Strategy<Value = Write> {
    let document = 0_u8..4;
    let texts = prop::collection::vec(words(12), 1..5);
    prop_oneof![
        5 => (document.clone(), role(), texts)
            .prop_map(|(document, least_role, texts)| Write::Add { document, least_role, texts }),
        3 => prop::collection::vec(any::<u8>(), 1..4).prop_map(|places| Write::Close { places }),
        1 => document.clone().prop_map(|document| Write::CloseDocument { document }),
        1 => document.clone().prop_map(|document| Write::Reopen { document }),
        1 => document.prop_map(|document| Write::Purge { document }),
    ]
}

/// Words, words among signs that other engines take for operators, or anything at all.
fn question() -> impl Strategy<Value = String> {
    let sign = prop::sample::select(vec![
        " AND ", " OR ", " NOT ", " NEAR/2 ", "title:", "stem:", " +", " -", "\"", "'", "(", ")",
        "[", "]", "{", "}", "^2", "~", "*", "?", "\\", "/", ":", " TO ", "%", ";--", "\0",
    ]);
    let mixed = prop::collection::vec((words(3), sign), 1..4).prop_map(|parts| {
        parts
            .into_iter()
            .map(|(words, sign)| words + sign)
            .collect::<String>()
    });
    prop_oneof![3 => words(5), 2 => mixed, 1 => any::<String>()]
}

fn ask() -> impl Strategy<Value = Ask> {
    (question(), role(), 0_u8..30).prop_map(|(text, role, moment)| Ask { text, role, moment })
}

fn document_id(document: u8) -> DocumentId {
    DocumentId::new(uuid(100 + u128::from(document)))
}

/// When the rows of a document were last closed, if none is held.
fn last_closed(rows: &[Row], document: u8) -> Option<RecordTime> {
    let of_document = || rows.iter().filter(|row| row.document == document);
    if of_document().any(|row| row.invalidated_at.is_none()) {
        return None;
    }
    of_document().filter_map(|row| row.invalidated_at).max()
}

/// One write, to the plain list and to the store.
async fn apply(world: &World, rows: &mut Vec<Row>, write: &Write, now: RecordTime) {
    let mut tx = world.db.write(world.tenant).await.unwrap();
    bases::advance_clock(&mut tx, world.kb, now).await.unwrap();
    let kb = world.kb;
    match write {
        Write::Add {
            document,
            least_role,
            texts,
        } => {
            let ids: Vec<ChunkId> = (rows.len()..)
                .take(texts.len())
                .map(|n| ChunkId::new(uuid(1000 + n as u128)))
                .collect();
            let new: Vec<NewChunk<'_>> = texts
                .iter()
                .zip(&ids)
                .map(|(text, id)| NewChunk {
                    id: *id,
                    heading_path: &[],
                    title: TITLE,
                    text,
                })
                .collect();
            let of = (document_id(*document), *least_role);
            let ordinals = chunks::insert(&mut tx, kb, of, &new, now).await.unwrap();
            for ((text, id), ordinal) in texts.iter().zip(ids).zip(ordinals) {
                rows.push(Row {
                    ordinal,
                    id,
                    document: *document,
                    least_role: *least_role,
                    recorded_at: now,
                    invalidated_at: None,
                    purged: false,
                    text: text.clone(),
                });
            }
        }
        Write::Close { places } => {
            let count = rows.len().max(1);
            let mut ordinals = Vec::new();
            for place in places {
                if let Some(row) = rows.get_mut(usize::from(*place) % count) {
                    row.invalidated_at = row.invalidated_at.or(Some(now));
                    ordinals.push(row.ordinal);
                }
            }
            chunks::close(&mut tx, kb, &ordinals, now).await.unwrap();
        }
        Write::CloseDocument { document } => {
            for row in rows.iter_mut().filter(|row| row.document == *document) {
                row.invalidated_at = row.invalidated_at.or(Some(now));
            }
            chunks::close_document(&mut tx, kb, document_id(*document), now)
                .await
                .unwrap();
        }
        Write::Reopen { document } => {
            if let Some(closed_at) = last_closed(rows, *document) {
                let of = document_id(*document);
                let pairs = chunks::reopen_document(&mut tx, kb, of, closed_at, now)
                    .await
                    .unwrap();
                for (old, new) in pairs {
                    let row = rows.iter().find(|row| row.ordinal == old).unwrap().clone();
                    let fresh = Row {
                        ordinal: new,
                        recorded_at: now,
                        invalidated_at: None,
                        ..row
                    };
                    rows.push(fresh);
                }
            }
        }
        Write::Purge { document } => {
            for row in rows.iter_mut().filter(|row| row.document == *document) {
                row.invalidated_at = row.invalidated_at.or(Some(now));
                row.purged = true;
            }
            chunks::purge_document(&mut tx, kb, document_id(*document), now)
                .await
                .unwrap();
        }
    }
    tx.commit().await.unwrap();
}

/// BM25 as tantivy counts it (k1 1.2, b 0.75, lengths in its 256 steps), row by row.
fn plain(rows: &[Row], ask: &Ask, as_of: RecordTime) -> HashMap<i64, f32> {
    const K1: f32 = 1.2;
    const B: f32 = 0.75;
    let counted: Vec<(&Row, Terms)> = rows
        .iter()
        .filter(|row| !row.purged && row.least_role <= ask.role)
        .map(|row| (row, text::of_document(&row.text)))
        .collect();
    let languages = counted
        .iter()
        .fold(Languages::default(), |set, (_, terms)| {
            set.with(terms.language)
        });
    let heads: Vec<Vec<String>> = counted
        .iter()
        .map(|(_, terms)| text::of_heading(TITLE, terms.language).stems)
        .collect();
    let total = counted.len() as f32;
    let fields: Vec<(Kind, f32, Vec<&Vec<String>>)> = vec![
        (
            Kind::Word,
            WORD_WEIGHT,
            counted.iter().map(|row| &row.1.words).collect(),
        ),
        (
            Kind::Stem,
            STEM_WEIGHT,
            counted.iter().map(|row| &row.1.stems).collect(),
        ),
        (
            Kind::Gram,
            GRAM_WEIGHT,
            counted.iter().map(|row| &row.1.grams).collect(),
        ),
        (Kind::Stem, HEAD_WEIGHT, heads.iter().collect()),
    ];
    let mut scores = HashMap::new();
    for term in text::of_query(&ask.text, languages) {
        for (_, weight, texts) in fields.iter().filter(|field| field.0 == term.kind) {
            let length = |text: &[String]| {
                let step = FieldNormReader::fieldnorm_to_id(text.len() as u32);
                FieldNormReader::id_to_fieldnorm(step) as f32
            };
            let tokens: usize = texts.iter().map(|text| text.len()).sum();
            let average = (tokens as u64 * LENGTH_EASE) as f32 / total;
            let with = |text: &[String]| text.iter().filter(|word| **word == term.text).count();
            let found = texts.iter().filter(|text| with(text) > 0).count() as f32;
            let rarity = (1.0 + (total - found + 0.5) / (found + 0.5)).ln();
            for ((row, _), text) in counted.iter().zip(texts) {
                let count = with(text) as f32;
                let held = row.recorded_at <= as_of
                    && row.invalidated_at.is_none_or(|until| as_of < until);
                if held && count > 0.0 {
                    let norm = K1 * (1.0 - B + B * length(text) / average);
                    *scores.entry(row.ordinal).or_insert(0.0) +=
                        term.weight * weight * rarity * (1.0 + K1) * count / (count + norm);
                }
            }
        }
    }
    scores
}

/// The plain scores through the product's fusion.
fn expected(rows: &[Row], ask: &Ask, as_of: RecordTime) -> Vec<(i64, f32)> {
    let scores = plain(rows, ask, as_of);
    let row = |ordinal: i64| {
        rows.iter()
            .find(|row| row.ordinal == ordinal && !row.purged)
    };
    let mut candidates: Vec<Candidate> = scores
        .iter()
        .map(|(&ordinal, &lexical)| {
            let own = row(ordinal).unwrap();
            let beside = |other: i64| {
                row(other)
                    .filter(|row| row.document == own.document)
                    .map(|row| row.ordinal as u32)
            };
            let [before, after] = [beside(ordinal - 1), beside(ordinal + 1)];
            let second = |first: Option<u32>, step: i64| beside(i64::from(first?) + step);
            Candidate {
                ordinal: ordinal as u32,
                document: document_id(own.document),
                neighbours: [before, after, second(before, -1), second(after, 1)],
                lexical,
                cosine: None,
                print: Print::of(&own.text, &text::of_document(&own.text)),
            }
        })
        .collect();
    candidates.sort_by_key(|candidate| candidate.ordinal);
    fuse(&candidates, Weights::default(), LIMIT)
        .into_iter()
        .map(|hit| (i64::from(hit.candidate.ordinal), hit.score))
        .collect()
}

const LIMIT: usize = 60;

async fn found(world: &World, indexes: &Indexes, ask: &Ask, as_of: Option<RecordTime>) -> Vec<Hit> {
    let index = indexes.synced(world.tenant, world.kb, None).await.unwrap();
    let mut query = Query::new(&ask.text, ask.role, LIMIT);
    query.as_of = as_of;
    index.search(&query).unwrap()
}

/// Equal but for rounding: the same rows, each with about the same score.
fn same(found: &[Hit], expected: &[(i64, f32)]) -> bool {
    let found: HashMap<i64, f32> = found.iter().map(|hit| (hit.ordinal, hit.score)).collect();
    found.len() == expected.len()
        && expected.iter().all(|(ordinal, score)| {
            found
                .get(ordinal)
                .is_some_and(|other| (score - other).abs() < 1e-3)
        })
}

async fn agree(
    world: &World,
    writes: &[Write],
    asks: &[Ask],
    followed: &[bool],
) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    let indexes = Indexes::open(world.db.clone(), folder.path().to_owned()).unwrap();
    let mut rows = Vec::new();
    let step = |n: usize| at(100 + 10 * n as i64);
    for (n, write) in writes.iter().enumerate() {
        apply(world, &mut rows, write, step(n)).await;
        if followed[n % followed.len()] {
            found(world, &indexes, &asks[0], None).await;
        }
    }
    let reopened = |name: &str| Indexes::open(world.db.clone(), folder.path().join(name)).unwrap();
    for ask in asks {
        let moment = at(95 + 5 * i64::from(ask.moment));
        let now = step(writes.len() - 1);
        let (as_of, asked) = if moment < now {
            (moment, Some(moment))
        } else {
            (now, None)
        };
        let plain = expected(&rows, ask, as_of);
        let hits = found(world, &indexes, ask, asked).await;
        prop_assert!(
            same(&hits, &plain),
            "{ask:?} as of {as_of}: {hits:?}, not {plain:?}"
        );
        let anew = found(world, &reopened("anew"), ask, asked).await;
        prop_assert!(
            same(&anew, &plain),
            "anew: {ask:?}: {anew:?}, not {plain:?}"
        );
    }
    indexes.forget(world.kb);
    let again = Indexes::open(world.db.clone(), folder.path().to_owned()).unwrap();
    let hits = found(world, &again, &asks[0], None).await;
    let plain = expected(&rows, &asks[0], step(writes.len() - 1));
    prop_assert!(same(&hits, &plain), "reopened: {hits:?}, not {plain:?}");
    Ok(())
}

#[test]
fn searching_as_of_a_moment_equals_a_plain_scorer_over_what_was_held_then() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut runner = TestRunner::new(Config {
        cases: cases() / 4,
        ..Config::default()
    });
    let story = (
        prop::collection::vec(write(), 1..12),
        prop::collection::vec(ask(), 1..5),
        prop::collection::vec(any::<bool>(), 4),
    );
    runner
        .run(&story, |(writes, asks, followed)| {
            runtime.block_on(async {
                let db = Db::open("sqlite::memory:", Options::default())
                    .await
                    .unwrap();
                agree(&World::on(db).await, &writes, &asks, &followed).await?;
                if setting("QUIPU_TEST_POSTGRES").is_some()
                    && let Some(world) = World::postgres().await
                {
                    agree(&world, &writes, &asks, &followed).await?;
                }
                Ok(())
            })
        })
        .unwrap();
}

fn ask_now(text: &str) -> Ask {
    Ask {
        text: text.into(),
        role: Role::Owner,
        moment: 255,
    }
}

fn add(document: u8, text: &str) -> Write {
    Write::Add {
        document,
        least_role: Role::Viewer,
        texts: vec![text.into()],
    }
}

on_both_engines! {
    async fn a_search_does_not_see_what_was_written_after_it_began(world: &World) {
        let folder = tempfile::tempdir().unwrap();
        let indexes = Indexes::open(world.db.clone(), folder.path().to_owned()).unwrap();
        let mut rows = Vec::new();
        apply(world, &mut rows, &add(0, "harvest in the valley"), at(100)).await;
        let early = indexes.synced(world.tenant, world.kb, None).await.unwrap();

        apply(world, &mut rows, &add(1, "harvest on the hill"), at(110)).await;
        let late = found(world, &indexes, &ask_now("harvest"), None).await;

        let hits = early.search(&Query::new("harvest", Role::Owner, 6)).unwrap();
        assert_eq!((hits.len(), late.len()), (1, 2));
    }

    /// Case 27: words of two characters, single ones, and Latin glued to them.
    async fn chinese_japanese_korean_and_thai_find_nothing_no_more(world: &World) {
        let folder = tempfile::tempdir().unwrap();
        let indexes = Indexes::open(world.db.clone(), folder.path().to_owned()).unwrap();
        let mut rows = Vec::new();
        let texts = [
            "我在北京大学学习中文",
            "新しいiPhone手机壳と黒猫の写真",
            "서울에서 회의를 했습니다",
            "โรงเรียนของฉันอยู่ในกรุงเทพ",
            "ຂ້ອຍຢູ່ນະຄອນຫຼວງວຽງຈັນ",
            "ខ្ញុំរស់នៅភ្នំពេញ",
            "ကျွန်တော်ရန်ကုန်မှာနေတယ်",
        ];
        for (n, text) in (0..).zip(texts) {
            apply(world, &mut rows, &add(n, text), at(100 + 10 * i64::from(n))).await;
        }

        for (asked, text) in [
            ("北京", 0), ("大学", 0), ("中文", 0), ("学", 0),
            ("手机", 1), ("iPhone", 1), ("iphone手机", 1), ("猫", 1), ("写真", 1),
            ("서울", 2), ("회의", 2),
            ("กรุงเทพ", 3), ("โรงเรียน", 3),
            ("ວຽງຈັນ", 4), ("ភ្នំពេញ", 5), ("ရန်ကုန်", 6),
        ] {
            let hits = found(world, &indexes, &ask_now(asked), None).await;
            let first = hits.first().map(|hit| hit.ordinal);
            assert_eq!(first, Some(rows[text].ordinal), "{asked}");
        }
    }

    async fn passages_of_nearly_the_same_words_are_one_hit_unless_a_number_differs(world: &World) {
        let folder = tempfile::tempdir().unwrap();
        let indexes = Indexes::open(world.db.clone(), folder.path().to_owned()).unwrap();
        let mut rows = Vec::new();
        let notice = "The harvest of the valley was brought in by the Miller family before the storm, \
            and the barn by the river holds 40 sacks of barley for the winter market in Lucerne. \
            Whoever wants to buy some of it should write to the family or ask at the mill, where \
            a list of prices hangs beside the door and a clerk takes orders in the morning.";
        let texts = [notice.to_owned(), notice.replace("brought in by", "also brought in by"), notice.replace("40", "90")];
        for (n, text) in (0..).zip(&texts) {
            apply(world, &mut rows, &add(n, text), at(100 + 10 * i64::from(n))).await;
        }

        // As fed, and as read again from the files.
        for indexes in [indexes, Indexes::open(world.db.clone(), folder.path().to_owned()).unwrap()] {
            let hits = found(world, &indexes, &ask_now("harvest valley barley"), None).await;
            indexes.forget(world.kb);
            let mut shown: Vec<(i64, u32)> = hits.iter().map(|hit| (hit.ordinal, hit.folded)).collect();
            shown.sort_unstable();
            let first = shown[0].0;
            assert!(first == rows[0].ordinal || first == rows[1].ordinal);
            assert_eq!((shown.len(), shown[0].1, shown[1]), (2, 1, (rows[2].ordinal, 0)));
        }
    }

    async fn a_cache_that_is_damaged_or_gone_is_made_anew(world: &World) {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join(world.kb.to_string());
        let indexes = Indexes::open(world.db.clone(), folder.path().to_owned()).unwrap();
        let mut rows = Vec::new();
        apply(world, &mut rows, &add(0, "harvest in the valley"), at(100)).await;
        assert_eq!(found(world, &indexes, &ask_now("harvest"), None).await.len(), 1);

        // Deleted under a running node, then more is written.
        std::fs::remove_dir_all(&home).unwrap();
        apply(world, &mut rows, &add(1, "harvest on the hill"), at(110)).await;
        assert_eq!(found(world, &indexes, &ask_now("harvest"), None).await.len(), 2);

        // Torn by a crash of the machine, of which the next start knows by the boot's mark.
        drop(indexes);
        std::fs::write(home.join("boot"), "another").unwrap();
        for class in std::fs::read_dir(&home).unwrap().flatten().filter(|e| e.path().is_dir()) {
            for file in std::fs::read_dir(class.path()).unwrap().flatten() {
                if file.path().extension().is_some_and(|end| end == "idx" || end == "term") {
                    let size = file.metadata().unwrap().len();
                    let torn = std::fs::OpenOptions::new().write(true).open(file.path()).unwrap();
                    torn.set_len(size / 2).unwrap();
                }
            }
        }
        let indexes = Indexes::open(world.db.clone(), folder.path().to_owned()).unwrap();
        assert_eq!(found(world, &indexes, &ask_now("harvest"), None).await.len(), 2);
    }

    async fn a_purged_word_is_nowhere_in_the_cache(world: &World) {
        let folder = tempfile::tempdir().unwrap();
        let indexes = Indexes::open(world.db.clone(), folder.path().to_owned()).unwrap();
        let mut rows = Vec::new();
        apply(world, &mut rows, &add(0, "the harvest of zyzzogeton"), at(100)).await;
        apply(world, &mut rows, &add(1, "another harvest"), at(110)).await;
        assert_eq!(found(world, &indexes, &ask_now("zyzzogeton"), None).await.len(), 1);
        assert!(has_term(folder.path(), "zyzzogeton"));

        apply(world, &mut rows, &Write::Purge { document: 0 }, at(120)).await;
        assert!(found(world, &indexes, &ask_now("zyzzogeton"), None).await.is_empty());

        assert!(!has_term(folder.path(), "zyzzogeton") && has_term(folder.path(), "harvest"));
        assert_eq!(strays(folder.path()), [] as [PathBuf; 0]);
    }

    async fn a_name_that_most_passages_have_does_not_decide_on_meaning(world: &World) {
        let folder = tempfile::tempdir().unwrap();
        let indexes = Indexes::open(world.db.clone(), folder.path().to_owned()).unwrap();
        let mut rows = Vec::new();
        let texts = (0..40).map(|n| format!("Ann: word{n}")).collect();
        let all = Write::Add { document: 0, least_role: Role::Viewer, texts };
        apply(world, &mut rows, &all, at(100)).await;
        // The first is near to the whole question, the second to what is asked of Ann.
        let code = |place: usize| match place {
            0 => vec![127, 0, 0, 0],
            1 => vec![0, 127, 0, 0],
            _ => vec![0, 0, 127, 0],
        };
        let codes = rows.iter().enumerate();
        let codes = codes.map(|(n, row)| Vector { chunk: row.id, scale: 0.01, code: code(n) });
        let codes: Vec<Vector> = codes.collect();
        let mut tx = world.db.write(world.tenant).await.unwrap();
        bases::advance_clock(&mut tx, world.kb, at(120)).await.unwrap();
        vectors::insert(&mut tx, world.kb, "m", &codes, at(120)).await.unwrap();
        tx.commit().await.unwrap();
        let index = indexes.synced(world.tenant, world.kb, Some("m")).await.unwrap();
        let first = |name: &str| {
            let nameless = Nameless { vector: vec![0.0, 1.0, 0.0, 0.0], names: vec![name.to_owned()] };
            let mut query = Query::new("", Role::Viewer, 1);
            query.vector = Some(&[1.0, 0.0, 0.0, 0.0]);
            query.nameless = Some(&nameless);
            index.search(&query).unwrap()[0].ordinal
        };

        assert_eq!(first("Ann"), rows[1].ordinal);
        assert_eq!(first("word7"), rows[0].ordinal);
    }

    async fn vectors_find_what_words_do_not_and_come_back_with_a_restored_document(world: &World) {
        let folder = tempfile::tempdir().unwrap();
        let indexes = Indexes::open(world.db.clone(), folder.path().to_owned()).unwrap();
        let mut rows = Vec::new();
        apply(world, &mut rows, &add(0, "harvest"), at(100)).await;
        apply(world, &mut rows, &add(1, "the moon"), at(110)).await;
        let code = |first: i8| vec![first, 127 - first.abs(), 0, 0];
        let of = |row: &Row, first| Vector { chunk: row.id, scale: 0.01, code: code(first) };
        let all = [of(&rows[0], 120), of(&rows[1], -120)];
        let mut tx = world.db.write(world.tenant).await.unwrap();
        bases::advance_clock(&mut tx, world.kb, at(120)).await.unwrap();
        vectors::insert(&mut tx, world.kb, "m", &all, at(120)).await.unwrap();
        tx.commit().await.unwrap();
        let ask = async || {
            let index = indexes.synced(world.tenant, world.kb, Some("m")).await.unwrap();
            let mut query = Query::new("crop", Role::Viewer, 1);
            query.vector = Some(&[0.9, 0.1, 0.0, 0.0]);
            index.search(&query).unwrap()
        };
        assert_eq!(ask().await[0].ordinal, rows[0].ordinal);

        apply(world, &mut rows, &Write::CloseDocument { document: 0 }, at(130)).await;
        assert_eq!(ask().await[0].ordinal, rows[1].ordinal);
        apply(world, &mut rows, &Write::Reopen { document: 0 }, at(140)).await;
        assert_eq!(ask().await[0].ordinal, rows[2].ordinal);
    }
}

/// Holds merges where they are until it is opened.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<GateState>, Condvar)>);

#[derive(Default)]
struct GateState {
    open: bool,
    held: u32,
}

impl Gate {
    fn pass(&self) {
        let (state, bell) = &*self.0;
        let mut state = state.lock().unwrap();
        state.held += 1;
        bell.notify_all();
        while !state.open {
            state = bell.wait(state).unwrap();
        }
    }

    /// Waits until a merge is held.
    async fn holds(&self) {
        let gate = self.clone();
        let waited = tokio::task::spawn_blocking(move || {
            let (state, bell) = &*gate.0;
            let mut state = state.lock().unwrap();
            while state.held == 0 {
                state = bell.wait(state).unwrap();
            }
        });
        waited.await.unwrap();
    }

    fn open(&self) {
        let (state, bell) = &*self.0;
        state.lock().unwrap().open = true;
        bell.notify_all();
    }
}

/// Folders below one that hold an index.
fn index_folders(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(place) = open.pop() {
        if place.join("meta.json").exists() {
            found.push(place);
        } else if place.is_dir() {
            open.extend(
                std::fs::read_dir(&place)
                    .unwrap()
                    .flatten()
                    .map(|e| e.path()),
            );
        }
    }
    found
}

/// Whether a word is in a dictionary of an index below the folder. The dictionaries pack their
/// words, so looking at the bytes of the files would find nothing.
fn has_term(folder: &Path, word: &str) -> bool {
    index_folders(folder).into_iter().any(|home| {
        let index = tantivy::Index::open_in_dir(&home).unwrap();
        let reader: tantivy::IndexReader = index.reader().unwrap();
        let searcher = reader.searcher();
        index.schema().fields().any(|(field, _)| {
            let term = tantivy::Term::from_field_text(field, word);
            index.schema().get_field_entry(field).field_type().is_str()
                && searcher.doc_freq(&term).unwrap() > 0
        })
    })
}

/// Files below the folder that belong to no segment in use: what was merged away.
fn strays(folder: &Path) -> Vec<PathBuf> {
    let mut strays = Vec::new();
    for home in index_folders(folder) {
        let index = tantivy::Index::open_in_dir(&home).unwrap();
        let used: Vec<String> = index
            .searchable_segment_ids()
            .unwrap()
            .iter()
            .map(|segment| segment.uuid_string())
            .collect();
        for file in std::fs::read_dir(&home).unwrap().flatten() {
            let name = file.file_name().into_string().unwrap();
            let of_segment = name.split('.').next().is_some_and(|stem| stem.len() == 32);
            if of_segment && !used.iter().any(|segment| name.starts_with(segment)) {
                strays.push(file.path());
            }
        }
    }
    strays
}

on_both_engines! {
    async fn searches_go_on_over_what_is_indexed_while_segments_are_merged(world: &World) {
        let folder = tempfile::tempdir().unwrap();
        let gate = Gate::default();
        let held = gate.clone();
        let habits = Habits {
            purged_at_once: 0,
            while_merging: Arc::new(move || held.pass()),
        };
        let indexes = Indexes::with(world.db.clone(), folder.path().to_owned(), habits).unwrap();
        let mut rows = Vec::new();
        // A segment for each batch, until they are worth a merge.
        for n in 0..10 {
            let text = format!("harvest number {n} of zyzzogeton");
            apply(world, &mut rows, &add(n % 4, &text), at(100 + i64::from(n))).await;
            found(world, &indexes, &ask_now("harvest"), None).await;
        }
        gate.holds().await;

        // Nothing below may wait for the merge: it does not end before the gate is opened.
        assert_eq!(found(world, &indexes, &ask_now("harvest"), None).await.len(), 10);
        apply(world, &mut rows, &add(5, "harvest on the hill"), at(200)).await;
        assert_eq!(found(world, &indexes, &ask_now("harvest"), None).await.len(), 11);
        let before = indexes.synced(world.tenant, world.kb, None).await.unwrap();
        apply(world, &mut rows, &Write::CloseDocument { document: 5 }, at(210)).await;
        apply(world, &mut rows, &Write::Purge { document: 0 }, at(220)).await;
        let now = found(world, &indexes, &ask_now("zyzzogeton"), None).await;
        assert_eq!(now.len(), 7, "a purged row is found no more, whatever is in the files");
        let then = before.search(&Query::new("hill", Role::Owner, 6)).unwrap();
        assert_eq!(then.len(), 1, "a search sees the moment that it began at");

        gate.open();
        indexes.settled(world.kb).await.unwrap();
        let stats = indexes.synced(world.tenant, world.kb, None).await.unwrap().stats();
        assert!(stats.segments < 10 && stats.rows == 8, "{stats:?}");
        let as_of = at(220);
        for text in ["harvest of zyzzogeton", "number 3", "hill"] {
            let ask = ask_now(text);
            let plain = expected(&rows, &ask, as_of);
            let hits = found(world, &indexes, &ask, None).await;
            assert!(same(&hits, &plain), "{text}: {hits:?}, not {plain:?}");
        }
    }

    async fn purged_words_leave_large_segments_with_the_merge_that_follows(world: &World) {
        let folder = tempfile::tempdir().unwrap();
        let habits = Habits {
            purged_at_once: 0,
            ..Habits::default()
        };
        let indexes = Indexes::with(world.db.clone(), folder.path().to_owned(), habits).unwrap();
        let mut rows = Vec::new();
        apply(world, &mut rows, &add(0, "the harvest of zyzzogeton"), at(100)).await;
        apply(world, &mut rows, &add(1, "another harvest"), at(110)).await;
        found(world, &indexes, &ask_now("harvest"), None).await;
        assert!(has_term(folder.path(), "zyzzogeton"));

        apply(world, &mut rows, &Write::Purge { document: 0 }, at(120)).await;
        assert!(found(world, &indexes, &ask_now("zyzzogeton"), None).await.is_empty());
        indexes.settled(world.kb).await.unwrap();

        assert!(!has_term(folder.path(), "zyzzogeton") && has_term(folder.path(), "harvest"));
        assert_eq!(strays(folder.path()), [] as [PathBuf; 0]);
    }

    async fn two_nodes_give_the_same_scores_whatever_their_segments_are(world: &World) {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let often = Indexes::open(world.db.clone(), one.path().to_owned()).unwrap();
        let once = Indexes::open(world.db.clone(), two.path().to_owned()).unwrap();
        let mut rows = Vec::new();
        for n in 0..24_u8 {
            let text = format!("note {n}: the harvest of the valley in {} was good", 1900 + u32::from(n) % 7);
            let now = 100 + 10 * i64::from(n);
            apply(world, &mut rows, &add(n % 5, &text), at(now)).await;
            if n % 6 == 5 {
                let write = Write::Close { places: vec![n / 2] };
                apply(world, &mut rows, &write, at(now + 5)).await;
            }
            found(world, &often, &ask_now("harvest"), None).await;
        }
        apply(world, &mut rows, &Write::Purge { document: 3 }, at(2_000)).await;

        for text in ["the harvest of the valley", "note 7 in 1903", "was it good in 1904", "harvests"] {
            for as_of in [None, Some(at(222)), Some(at(1_500))] {
                let ask = ask_now(text);
                let told = |hits: Vec<Hit>| -> Vec<(i64, f32)> {
                    hits.iter().map(|hit| (hit.ordinal, hit.score)).collect()
                };
                let a = told(found(world, &often, &ask, as_of).await);
                let b = told(found(world, &once, &ask, as_of).await);
                assert_eq!(a, b, "{text} as of {as_of:?}");
                assert!(a.len() > 3);
            }
        }
    }
}
