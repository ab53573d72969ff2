//! Answers that come line by line, each a JSON object: how far something is, and what came of it.

use bytes::Bytes;
use kernel::{Flow, Flowing};
use model::Result;
use serde::Serialize;
use tokio::sync::mpsc::{self, Receiver, Sender};

/// Media type of such an answer.
pub const MEDIA_TYPE: &str = "application/x-ndjson";

/// Lines that may wait for a reader.
const WAITING: usize = 64;

/// Runs work that tells as it goes, and answers with what it tells. A failure ends the answer.
pub fn told<T, Work, Running>(work: Work) -> Flowing
where
    T: Serialize + Send + 'static,
    Work: FnOnce(Sender<T>) -> Running + Send + 'static,
    Running: Future<Output = Result<()>> + Send + 'static,
{
    let (out, parts) = mpsc::channel(WAITING);
    let (telling, told) = mpsc::channel(WAITING);
    tokio::spawn(write(told, out.clone()));
    tokio::spawn(async move {
        if let Err(error) = work(telling).await {
            let _ = out.send(Err(error)).await;
        }
    });
    Flowing(Flow {
        filename: None,
        media_type: None,
        parts,
    })
}

async fn write<T: Serialize>(mut told: Receiver<T>, out: Sender<Result<Bytes>>) {
    while let Some(one) = told.recv().await {
        let mut line = serde_json::to_vec(&one).expect("what is told is JSON");
        line.push(b'\n');
        if out.send(Ok(line.into())).await.is_err() {
            return;
        }
    }
}
