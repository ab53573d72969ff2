//! What the ledger asks of the outside: vectors, parsers in a cage, pages of the network.
//!
//! Each provider is a struct over a closed set of kinds, one of them deterministic. Timeouts,
//! limits and counts stand in the struct once; prompts and domain rules stand elsewhere.

pub mod embed;
pub mod fetch;
pub mod models;
pub mod parser;

pub use embed::{EmbedError, Embedder, EndpointOptions, quantise};
pub use fetch::{Answered, FetchError, FetchLimits, FetchOptions, Fetched, Fetcher, Network};
pub use parser::{Content, ParseFailure, ParserLimits, ParserOptions, ParserPool, serve_parser};
