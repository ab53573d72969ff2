//! Bytes to model values. Nothing here reads a file, a clock or the network.

#![warn(missing_docs)]

pub mod document;
pub mod owl;
