//! The store as those above it see it, on both engines.

mod as_of;
mod blobs;
mod bucket;
mod durable;
mod fake_s3;
mod faults;
mod rows;
mod search;
mod statements;
mod stores;
mod stories;
