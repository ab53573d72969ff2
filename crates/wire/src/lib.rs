//! What goes over the line: JSON-RPC, the Model Context Protocol in both its eras, line framing.
//!
//! Pure: bytes and header values in, decisions and bytes out. No socket, no HTTP library, no clock.

#![warn(missing_docs)]

pub mod framing;
#[cfg(feature = "golden")]
pub mod golden;
mod json;
pub mod mcp;
pub mod rpc;
