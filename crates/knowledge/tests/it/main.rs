//! The library as its callers see it, on both engines.

mod app;
mod documents;
mod failures;
mod reading;
mod rights;
mod sources;
