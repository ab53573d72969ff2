//! Bytes to model values and back. Nothing here reads a file, a clock or the network.

#![warn(missing_docs)]

pub mod document;
pub mod graph;
pub mod owl;
