//! The doors: REST and MCP over HTTP, the command line, and what goes on beside them.

pub mod app;
pub mod cli;
pub mod config;
pub mod demo;
mod folder;
pub mod http;
pub mod manual;
pub mod mcp;
pub mod openapi;
pub mod packs;
mod parse;
mod system;
mod telemetry;
pub mod warm;
pub mod worker;

pub use parse::read_documents;
