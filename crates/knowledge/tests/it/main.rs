//! The library as its callers see it, on both engines.

mod app;
mod documents;
mod facts;
mod failures;
mod ledger;
mod reading;
mod rights;
