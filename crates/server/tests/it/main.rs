//! The house from outside: whole calls through the doors, on both engines.

mod access;
mod accounts;
mod backup;
mod doors;
mod examples;
mod export;
mod facts;
#[path = "../../../store/tests/it/fake_s3.rs"]
#[expect(dead_code, reason = "the tests of the store use the rest of it")]
mod fake_s3;
mod generated;
mod house;
mod mcp;
mod models;
mod nodes;
mod ontology;
mod openai;
mod process;
mod refusals;
mod sources;
mod upkeep;
mod watch;
