//! Readers that each ask the next question when they have the answer to the last, and one writer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::door::Caller;
use crate::words::Words;
use crate::{Door, Failure};
use eval::chance::Chance;

/// Questions that a reader goes through, in turn.
const QUESTIONS: usize = 250;
/// What the writer leaves between its documents: ten of them a second at most.
const THINK: Duration = Duration::from_millis(100);

pub struct Load {
    /// Documents that the base was made of, whose words are asked for.
    pub documents: u64,
    pub readers: usize,
    /// The number of the first document that the writer adds, if one writes.
    pub writer: Option<u64>,
    pub warm_up: Duration,
    pub measured: Duration,
    pub seed: u64,
}

/// What one reader saw.
#[derive(Default)]
struct Seen {
    in_server: Vec<Duration>,
    at_client: Vec<Duration>,
    hits: usize,
    /// Answers that said to try again in a moment.
    behind: usize,
}

pub async fn run(door: &Door, load: &Load) -> Result<Value, Failure> {
    let words = Arc::new(Words::new());
    let over = Arc::new(AtomicBool::new(false));
    let mut asked: Vec<Vec<String>> = Vec::new();
    for reader in 0..load.readers as u64 {
        let mut chance = Chance::new(load.seed.wrapping_mul(1000).wrapping_add(reader));
        let questions = (0..QUESTIONS).map(|_| words.question(&mut chance, load.documents));
        asked.push(questions.collect());
    }

    // The first answer of a server just started opens the base's cache.
    let first = Caller::new(door)?;
    let begun = Instant::now();
    while first.search(&asked[0][0]).await?.status == 503 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let first_answer = begun.elapsed();

    let measure_from = Instant::now() + load.warm_up;
    let end = measure_from + load.measured;
    let mut readers: JoinSet<Result<Seen, Failure>> = JoinSet::new();
    for questions in asked {
        let caller = Caller::new(door)?;
        readers.spawn(async move { read(&caller, &questions, measure_from, end).await });
    }
    let writer = match load.writer {
        Some(first) => {
            let (caller, words, over) = (Caller::new(door)?, words.clone(), over.clone());
            Some(tokio::spawn(async move {
                write(&caller, &words, first, &over).await
            }))
        }
        None => None,
    };
    let mut all = Seen::default();
    while let Some(seen) = readers.join_next().await {
        let seen = seen??;
        all.in_server.extend(seen.in_server);
        all.at_client.extend(seen.at_client);
        all.hits += seen.hits;
        all.behind += seen.behind;
    }
    over.store(true, Ordering::Relaxed);
    let written = match writer {
        Some(writer) => writer.await??,
        None => Vec::new(),
    };
    let searches = all.in_server.len();
    Ok(json!({
        "searches": searches,
        "per_second": searches as f64 / load.measured.as_secs_f64(),
        "hits_mean": all.hits as f64 / searches.max(1) as f64,
        "behind": all.behind,
        "first_answer_ms": first_answer.as_secs_f64() * 1000.0,
        "server_ms": quantiles(all.in_server),
        "client_ms": quantiles(all.at_client),
        "documents_written": written.len(),
        "write_ms": quantiles(written),
    }))
}

async fn read(
    caller: &Caller,
    questions: &[String],
    measure_from: Instant,
    end: Instant,
) -> Result<Seen, Failure> {
    let mut seen = Seen::default();
    for question in questions.iter().cycle() {
        let now = Instant::now();
        if end <= now {
            break;
        }
        let answer = caller.search(question).await?;
        if now < measure_from {
            continue;
        }
        seen.in_server.push(answer.in_server);
        seen.at_client.push(answer.at_client);
        if answer.status == 503 {
            seen.behind += 1;
        } else {
            seen.hits += answer.accepted()?["chunks"].as_array().map_or(0, Vec::len);
        }
    }
    Ok(seen)
}

/// Adds documents until it is over; how long each took to be safely kept.
async fn write(
    caller: &Caller,
    words: &Words,
    first: u64,
    over: &AtomicBool,
) -> Result<Vec<Duration>, Failure> {
    let mut taken = Vec::new();
    for number in first.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let (filename, text) = words.document(number);
        let answer = caller.add(&filename, text).await?;
        taken.push(answer.at_client);
        answer.accepted()?;
        tokio::time::sleep(THINK).await;
    }
    Ok(taken)
}

/// The usual quantiles, in milliseconds.
fn quantiles(mut times: Vec<Duration>) -> Value {
    times.sort_unstable();
    let at = |share: f64| {
        let place = (share * times.len() as f64) as usize;
        let time = times.get(place.min(times.len().saturating_sub(1)));
        time.map_or(0.0, |time| time.as_secs_f64() * 1000.0)
    };
    json!({ "p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "max": at(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_times_that_were_taken() {
        let times = (1..=100).map(Duration::from_millis).collect();
        let found = quantiles(times);
        assert_eq!(found["p50"], json!(51.0));
        assert_eq!(found["p95"], json!(96.0));
        assert_eq!(found["max"], json!(100.0));
    }
}
