//! The library as its callers see it, on both engines.

mod app;
mod documents;
mod failures;
mod growth;
mod reading;
mod rights;
