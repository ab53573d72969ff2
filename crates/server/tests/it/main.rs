//! The house from outside: whole calls through the doors, on both engines.

mod access;
mod accounts;
mod backup;
mod doors;
mod examples;
mod facts;
mod generated;
mod house;
mod mcp;
mod models;
mod openai;
mod process;
mod refusals;
mod sources;
mod upkeep;
mod watch;
