//! The library as its callers see it, on both engines.

mod app;
mod calls;
mod documents;
mod export;
mod facts;
mod failures;
mod files;
mod growth;
mod hubs;
mod ledger;
mod orphans;
mod reading;
mod replay;
mod rights;
mod sources;
