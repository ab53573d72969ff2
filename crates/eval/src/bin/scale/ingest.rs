//! Documents sent as fast as the server takes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use model::document::{ParsedDocument, Section};
use model::passages;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::door::Caller;
use crate::words::Words;
use crate::{Door, Failure};

/// Documents by which the number of passages in one is estimated.
const SAMPLE: u64 = 200;
/// Pause between two looks at how far the server is.
const PAUSE: Duration = Duration::from_millis(50);

pub async fn run(door: &Door, wanted: usize, senders: usize, first: u64) -> Result<Value, Failure> {
    let words = Arc::new(Words::new());
    let (passages, bytes) = (first..first + SAMPLE).fold((0, 0), |sum, number| {
        let (_, text) = words.document(number);
        (sum.0 + count(&text), sum.1 + text.len())
    });
    let documents = (wanted as u64 * SAMPLE).div_ceil(passages as u64);
    let end = first + documents;

    let begun = Instant::now();
    let next = Arc::new(AtomicU64::new(first));
    let mut tasks: JoinSet<Result<(), Failure>> = JoinSet::new();
    for _ in 0..senders {
        let (words, next, caller) = (words.clone(), next.clone(), Caller::new(door)?);
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if end <= number {
                    return Ok(());
                }
                let (filename, text) = words.document(number);
                caller.add(&filename, text).await?.accepted()?;
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    let sent = begun.elapsed();
    let caller = Caller::new(door)?;
    let found = wait_until(&caller, &["pending", "parsing", "indexing"]).await?;
    let searchable = begun.elapsed();
    let failed = of(&found, &["failed"]);
    Ok(json!({
        "documents": documents,
        "passages_about": documents * passages as u64 / SAMPLE,
        "bytes_about": documents * bytes as u64 / SAMPLE,
        "failed": failed,
        "sent_seconds": sent.as_secs_f64(),
        "searchable_seconds": searchable.as_secs_f64(),
    }))
}

/// Waits until no document stands in one of the states; how many stand in the others.
pub async fn wait_until(caller: &Caller, states: &[&str]) -> Result<Value, Failure> {
    loop {
        let found = caller.get("/documents?limit=1").await?.accepted()?;
        if of(&found, states) == 0 {
            return Ok(found);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Documents of a listing in one of the states.
fn of(listing: &Value, states: &[&str]) -> u64 {
    let counts = listing["states"].as_array().into_iter().flatten();
    counts
        .filter(|count| {
            count["state"]
                .as_str()
                .is_some_and(|state| states.contains(&state))
        })
        .filter_map(|count| count["documents"].as_u64())
        .sum()
}

/// Passages of a document as the server will cut it: its sections stand between headings.
fn count(text: &str) -> usize {
    let sections = text.split("\n#").map(|part| Section {
        heading_path: Vec::new(),
        body: part
            .split_once('\n')
            .map_or("", |part| part.1)
            .trim()
            .to_owned(),
    });
    let document = ParsedDocument {
        sections: sections.collect(),
        ..ParsedDocument::default()
    };
    passages::split(&document).len()
}
