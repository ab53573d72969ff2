//! Quipu as a client of a server: one request at a time, over TCP, TLS or a local socket.

mod server;

pub use server::{Body, CallError, Server, whole};
