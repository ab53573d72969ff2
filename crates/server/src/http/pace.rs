//! How slowly a body may come: who trickles bytes to hold a connection is cut off, who has a slow
//! line and a large file is not.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http::HeaderValue;
use http::header::CONNECTION;
use hyper::body::{Body as _, Frame, SizeHint};
use model::{Code, Error};
use tokio::time::{Instant, Sleep};

use super::{reply, request_id};
use crate::app::App;

/// Bytes of which each must have come within the time, or the body have ended.
pub const STRETCH_BYTES: u64 = 32 * 1024;

/// The body came too slowly.
#[derive(Debug, thiserror::Error)]
#[error("the body came too slowly")]
struct TooSlow;

/// Ends requests whose bodies come too slowly, whatever reads them.
pub async fn check(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let (id, within) = (request_id(&request), app.settings.body_stretch_within);
    let slow = Arc::new(AtomicBool::new(false));
    let request = request.map(|body| Body::new(Paced::new(body, within, slow.clone())));
    let response = next.run(request).await;
    if !slow.load(Ordering::Acquire) {
        return response;
    }
    let sentence = format!(
        "the body came too slowly: each {} KiB of it must arrive within {} s",
        STRETCH_BYTES / 1024,
        within.as_secs()
    );
    let mut refusal = reply::refusal(&Error::new(Code::TooSlow, sentence), id);
    let close = HeaderValue::from_static("close");
    refusal.headers_mut().insert(CONNECTION, close);
    refusal
}

/// A body that ends in an error when a stretch of it takes too long to come.
///
/// Only waiting for the sender counts, not the time in which nobody reads.
struct Paced {
    body: Body,
    within: Duration,
    /// What is left of the time for this stretch.
    left: Duration,
    /// Bytes of this stretch so far.
    bytes: u64,
    waiting_since: Option<Instant>,
    alarm: Pin<Box<Sleep>>,
    slow: Arc<AtomicBool>,
}

impl Paced {
    fn new(body: Body, within: Duration, slow: Arc<AtomicBool>) -> Self {
        Self {
            body,
            within,
            left: within,
            bytes: 0,
            waiting_since: None,
            alarm: Box::pin(tokio::time::sleep(within)),
            slow,
        }
    }

    fn begin_to_wait(&mut self) {
        if self.waiting_since.is_none() {
            let now = Instant::now();
            self.waiting_since = Some(now);
            self.alarm.as_mut().reset(now + self.left);
        }
    }

    fn take_in(&mut self, bytes: usize) {
        if let Some(since) = self.waiting_since.take() {
            self.left = self.left.saturating_sub(since.elapsed());
        }
        self.bytes += bytes as u64;
        if STRETCH_BYTES <= self.bytes {
            (self.bytes, self.left) = (0, self.within);
        }
    }
}

impl hyper::body::Body for Paced {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let this = self.get_mut();
        this.begin_to_wait();
        match Pin::new(&mut this.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                this.take_in(frame.data_ref().map_or(0, Bytes::len));
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(ended) => Poll::Ready(ended.map(|frame| frame.map_err(Into::into))),
            Poll::Pending => {
                ready!(this.alarm.as_mut().poll(cx));
                this.slow.store(true, Ordering::Release);
                Poll::Ready(Some(Err(TooSlow.into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures::stream::{self, StreamExt};
    use http_body_util::BodyExt;

    use super::*;

    const WITHIN: Duration = Duration::from_secs(30);

    /// A body of `count` parts of `bytes` each, `pause` before each; whether it ended too slowly,
    /// and how many bytes came.
    async fn read(count: usize, bytes: usize, pause: Duration) -> (bool, usize) {
        let parts = stream::iter(0..count).then(move |_| async move {
            tokio::time::sleep(pause).await;
            Ok::<_, std::io::Error>(Bytes::from(vec![b'x'; bytes]))
        });
        let slow = Arc::new(AtomicBool::new(false));
        let mut body = Paced::new(Body::from_stream(parts), WITHIN, slow.clone());
        let mut came = 0;
        while let Some(Ok(frame)) = body.frame().await {
            came += frame.data_ref().map_or(0, Bytes::len);
        }
        (slow.load(Ordering::Acquire), came)
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_but_steady_file_arrives_however_long_it_takes() {
        // 2 KiB each second: over two hours for 16 MiB.
        assert_eq!(
            read(8192, 2048, Duration::from_secs(1)).await,
            (false, 16 * 1024 * 1024)
        );
        // Large parts with long pauses between.
        assert_eq!(
            read(20, 64 * 1024, Duration::from_secs(29)).await,
            (false, 20 * 64 * 1024)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_trickle_is_ended_within_the_time_of_one_stretch() {
        assert_eq!(read(1_000_000, 1, Duration::from_secs(1)).await, (true, 30));
        // A flood first buys no time for the trickle after it.
        let flood = stream::iter([Ok::<_, std::io::Error>(Bytes::from(vec![0; 1 << 20]))]);
        let slow = Arc::new(AtomicBool::new(false));
        let body = Body::from_stream(flood.chain(stream::pending()));
        let mut body = Paced::new(body, WITHIN, slow.clone());
        let begun = Instant::now();
        while let Some(Ok(_)) = body.frame().await {}
        assert!(slow.load(Ordering::Acquire));
        assert_eq!(begun.elapsed().as_secs(), 30);
    }

    #[tokio::test(start_paused = true)]
    async fn time_in_which_nobody_reads_does_not_count() {
        let parts = stream::iter(0..3).map(|_| Ok::<_, std::io::Error>(Bytes::from_static(b"x")));
        let slow = Arc::new(AtomicBool::new(false));
        let mut body = Paced::new(Body::from_stream(parts), WITHIN, slow.clone());
        let mut came = 0;
        while let Some(Ok(_)) = body.frame().await {
            came += 1;
            tokio::time::sleep(WITHIN * 2).await;
        }
        assert_eq!((slow.load(Ordering::Acquire), came), (false, 3));
    }
}
