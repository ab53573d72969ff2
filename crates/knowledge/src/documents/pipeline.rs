//! Two stages side by side: readers in front, one writer behind, and little between them.
//!
//! What is under way has a weight, and its sum a bound: an item is not begun before there is room
//! for it, and gives its room back when it is written. So a slow writer holds the readers up, and
//! memory does not grow with the number of items. An item heavier than the bound goes alone.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

/// How much is under way at once.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Items read at the same time.
    pub readers: usize,
    /// The weight of all that is being read, was read or is being written.
    pub weight: u32,
    /// Items that are written together, at most.
    pub group: usize,
    /// Their weight, beyond which no other is added.
    pub group_weight: u32,
    /// How long the first of a group waits for others.
    pub group_within: Duration,
}

/// Reads every item and writes what was read, in groups and in the order in which it was ready.
///
/// `weigh` is asked before an item is read. Dropping the future stops all of it; a reader's panic
/// goes on in the caller.
pub async fn flow<In, Out, Reading, Writing>(
    items: Vec<In>,
    bounds: Bounds,
    weigh: impl Fn(&In) -> u32 + Send + 'static,
    read: impl Fn(In) -> Reading + Send + 'static,
    mut write: impl FnMut(Vec<Out>) -> Writing,
) where
    In: Send + 'static,
    Out: Send + 'static,
    Reading: Future<Output = Out> + Send + 'static,
    Writing: Future<Output = ()>,
{
    let room = Arc::new(Semaphore::new(bounds.weight as usize));
    let (sender, mut ready) = mpsc::channel::<Ready<Out>>(bounds.readers);
    // A task of its own: the writer works on its thread for milliseconds at a time.
    let mut readers = JoinSet::new();
    readers.spawn(async move {
        let read = stream::iter(items)
            .map(move |item| {
                let weight = weigh(&item).clamp(1, bounds.weight);
                let (room, reading) = (room.clone(), read(item));
                async move {
                    let room = room.acquire_many_owned(weight).await;
                    let room = room.expect("the semaphore is never closed");
                    Ready {
                        out: reading.await,
                        weight,
                        room,
                    }
                }
            })
            .buffer_unordered(bounds.readers);
        let mut read = std::pin::pin!(read);
        while let Some(done) = read.next().await {
            // The writer is gone only with the whole.
            if sender.send(done).await.is_err() {
                return;
            }
        }
    });
    while let Some(first) = ready.recv().await {
        let until = Instant::now() + bounds.group_within;
        let mut weight = first.weight;
        let mut group = vec![first];
        while weight < bounds.group_weight && group.len() < bounds.group {
            match timeout_at(until, ready.recv()).await {
                Ok(Some(next)) => {
                    weight += next.weight;
                    group.push(next);
                }
                Ok(None) | Err(_) => break,
            }
        }
        let (outs, held): (Vec<Out>, Vec<_>) = group
            .into_iter()
            .map(|ready| (ready.out, ready.room))
            .unzip();
        write(outs).await;
        drop(held);
    }
    // Else items that nobody read would pass for done.
    if let Some(Err(stopped)) = readers.join_next().await
        && let Ok(panic) = stopped.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}

/// What was read, and the room it takes until it is written.
struct Ready<Out> {
    out: Out,
    weight: u32,
    room: OwnedSemaphorePermit,
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    const BOUNDS: Bounds = Bounds {
        readers: 4,
        weight: 10,
        group: 8,
        group_weight: 5,
        group_within: Duration::from_hours(1),
    };

    #[tokio::test]
    async fn what_is_under_way_never_weighs_more_than_the_bound() {
        let (under_way, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let written = Mutex::new(Vec::new());

        let (begun, seen, done) = (under_way.clone(), most.clone(), under_way.clone());
        let items: Vec<u32> = (0..200).map(|n| n % 4 + 1).collect();
        flow(
            items.clone(),
            BOUNDS,
            |&item| item,
            move |item| {
                let (begun, seen) = (begun.clone(), seen.clone());
                async move {
                    let now = begun.fetch_add(item, Ordering::SeqCst) + item;
                    seen.fetch_max(now, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    item
                }
            },
            |group| {
                done.fetch_sub(group.iter().sum(), Ordering::SeqCst);
                assert!(group.len() <= BOUNDS.group);
                written.lock().unwrap().extend(group);
                async {}
            },
        )
        .await;

        assert!(most.load(Ordering::SeqCst) <= BOUNDS.weight, "{most:?}");
        let (mut items, mut written) = (items, written.into_inner().unwrap());
        items.sort_unstable();
        written.sort_unstable();
        assert_eq!(written, items);
    }

    #[tokio::test]
    async fn readers_wait_while_the_writer_does() {
        let read = Arc::new(AtomicU32::new(0));
        let counted = read.clone();
        let mut most_ahead = 0;
        let mut written = 0;
        flow(
            vec![1_u32; 100],
            BOUNDS,
            |&item| item,
            move |item| {
                counted.fetch_add(1, Ordering::SeqCst);
                async move { item }
            },
            |group: Vec<u32>| {
                most_ahead = most_ahead.max(read.load(Ordering::SeqCst) - written);
                written += group.len() as u32;
                async {
                    for _ in 0..50 {
                        tokio::task::yield_now().await;
                    }
                }
            },
        )
        .await;

        // Those that hold room, and those that wait for it.
        assert!(
            most_ahead <= BOUNDS.weight + BOUNDS.readers as u32,
            "{most_ahead}"
        );
        assert_eq!(written, 100);
    }

    #[tokio::test]
    async fn one_that_is_heavier_than_the_bound_goes_alone() {
        let mut groups = Vec::new();
        flow(
            vec![1_000_u32, 1, 1],
            BOUNDS,
            |&item| item,
            |item| async move { item },
            |group| {
                groups.push(group);
                async {}
            },
        )
        .await;

        assert_eq!(groups, [vec![1_000], vec![1, 1]]);
    }

    #[tokio::test]
    #[should_panic = "a torn page"]
    async fn a_readers_panic_does_not_pass_for_the_end() {
        flow(
            vec![1_u32, 2, 3],
            BOUNDS,
            |&item| item,
            |item| async move {
                assert!(item != 2, "a torn page");
                item
            },
            |_| async {},
        )
        .await;
    }
}
