//! The Model Context Protocol, server side: what a POST asks, and how its answer is spelled.
//!
//! One handler serves both eras. *Legacy* revisions open with `initialize` and may name their
//! revision in a header afterwards; the *modern* one carries everything with each request, in
//! `_meta`, and repeats some of it in headers. Which of them a message speaks is decided per
//! message, from its headers and body alone: no session exists.

mod post;
mod reply;
mod version;

pub use post::{
    Call, ClientInfo, Incoming, Kind, Message, PostHeaders, Request, header_text, is_json,
    read_post,
};
pub use reply::{
    Reply, TTL_MS, discover_result, initialize_result, tool_answer, tool_failure, tool_refusal,
};
pub use version::{Era, Version, negotiate, supported};

/// Headers of a modern request do not say what its body says.
pub const HEADER_MISMATCH: i32 = -32020;
/// A modern client lacks a capability that the request needs.
pub const MISSING_CAPABILITY: i32 = -32021;
/// The protocol revision is none of ours.
pub const UNSUPPORTED_VERSION: i32 = -32022;

/// Messages of a batch at most.
pub const BATCH_MAX: usize = 20;

/// `_meta` key of a modern request's revision.
pub const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// `_meta` key of a modern client's capabilities.
pub const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// `_meta` key of a modern client's name.
pub const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// `_meta` key of the server's name, in results of the modern era.
pub const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";
