//! The store as those above it see it, on both engines.

mod blobs;
mod statements;
mod stores;
mod stories;
