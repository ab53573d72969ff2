//! Vectors that no model made: embedding a million passages takes a model hours on two cores, and
//! a search does not care where they came from.

use std::path::Path;

use model::{ChunkId, KbId, RecordTime};
use providers::{Embedder, quantise};
use serde_json::{Value, json};
use store::vectors::Vector;
use store::{Db, Options, bases, chunks, vectors};

use crate::Failure;
use eval::chance::Chance;

/// Passages given a vector in one transaction.
const BATCH: u32 = 10_000;
/// Meanings that the passages are about.
const CLUSTERS: u64 = 1_000;

pub async fn run(database: &str, kb: KbId, models: Option<&Path>) -> Result<Value, Failure> {
    let db = Db::open(database, Options::default()).await?;
    let mut directory = db.read_directory().await?;
    let tenant = bases::tenant_of(&mut directory, kb).await?;
    let tenant = tenant.ok_or("there is no such base")?;
    drop(directory);
    let embedder = match models {
        Some(models) => Some(Embedder::load(models)?.ok_or("there is no model in that folder")?),
        None => None,
    };
    let (mut passages, mut made, mut after) = (0, 0, -1);
    loop {
        let mut tx = db.read(tenant).await?;
        let page = chunks::spans_since(&mut tx, kb, after, BATCH).await?;
        let Some(last) = page.last() else { break };
        after = last.ordinal;
        passages += page.len();
        let Some(embedder) = &embedder else { continue };
        let (tag, width) = (embedder.model_tag(), embedder.width());
        let ids: Vec<ChunkId> = page.iter().map(|span| span.id).collect();
        let known = vectors::of_chunks(&mut tx, kb, tag, &ids).await?;
        drop(tx);
        let lacks = |id: &ChunkId| known.iter().all(|vector| vector.chunk != *id);
        let fresh: Vec<Vector> = if known.is_empty() {
            ids.iter().map(|&id| vector(id, width)).collect()
        } else {
            ids.iter()
                .filter(|id| lacks(id))
                .map(|&id| vector(id, width))
                .collect()
        };
        made += fresh.len();
        let mut tx = db.write(tenant).await?;
        let at = bases::advance_clock(&mut tx, kb, RecordTime::from_micros(0)).await?;
        vectors::insert(&mut tx, kb, tag, &fresh, at).await?;
        tx.commit().await?;
    }
    db.close().await;
    Ok(json!({ "passages": passages, "vectors": made }))
}

/// Near the middle of one of the clusters, always the same for a passage.
fn vector(chunk: ChunkId, width: usize) -> Vector {
    let (high, low) = chunk.uuid().as_u64_pair();
    let mut middle = Chance::new(high % CLUSTERS);
    let mut own = Chance::new(high ^ low);
    let mut numbers: Vec<f32> = (0..width)
        .map(|_| middle.normal() + 0.8 * own.normal())
        .collect();
    let length = numbers
        .iter()
        .map(|number| number * number)
        .sum::<f32>()
        .sqrt();
    for number in &mut numbers {
        *number /= length;
    }
    let (scale, code) = quantise(&numbers);
    Vector { chunk, scale, code }
}
