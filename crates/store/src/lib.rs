//! The only room that speaks SQL: two engines behind one `Db`, the files' bytes, and the search
//! index.
//!
//! Typed functions stand in a file per noun: values in, values out, `&mut Tx` first. Nothing
//! above this room knows which engine it runs on.

pub mod audit;
pub mod base_rows;
pub mod bases;
pub mod blobs;
pub mod chunks;
pub mod credentials;
pub mod documents;
mod engine;
pub mod entities;
pub mod erasures;
mod error;
pub mod events;
pub mod evidence;
pub mod fact_holds;
pub mod facts;
pub mod faults;
pub mod holds;
pub mod idempotency;
pub mod identity;
pub mod index;
pub mod jobs;
mod migrations;
pub mod models;
pub mod names;
pub mod ontology;
pub mod rows;
pub mod sources;
mod sql;
mod statement;
pub mod tenants;
pub mod users;
mod value;
pub mod vectors;

pub use error::StoreError;
pub use migrations::{SchemaStep, check_schema, known_schema};
pub use sql::{Db, Found, Options, Recording, Tx};
pub use statement::Statement;

/// Every statement of this room.
pub fn statements() -> impl Iterator<Item = &'static Statement> {
    [
        audit::STATEMENTS,
        base_rows::STATEMENTS,
        bases::STATEMENTS,
        chunks::STATEMENTS,
        credentials::STATEMENTS,
        documents::STATEMENTS,
        entities::STATEMENTS,
        erasures::STATEMENTS,
        events::STATEMENTS,
        evidence::STATEMENTS,
        facts::STATEMENTS,
        fact_holds::STATEMENTS,
        faults::STATEMENTS,
        faults::ledger::STATEMENTS,
        faults::sources::STATEMENTS,
        holds::STATEMENTS,
        idempotency::STATEMENTS,
        identity::STATEMENTS,
        jobs::STATEMENTS,
        models::STATEMENTS,
        names::STATEMENTS,
        ontology::STATEMENTS,
        rows::STATEMENTS,
        sources::STATEMENTS,
        tenants::STATEMENTS,
        users::STATEMENTS,
        vectors::STATEMENTS,
    ]
    .into_iter()
    .flatten()
    .copied()
    .chain(rows::of_tables())
    .chain(base_rows::of_tables())
}
