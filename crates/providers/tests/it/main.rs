//! The providers from outside: with a model where one is installed, with real processes,
//! and with servers on this machine.

mod endpoint;
mod fetch;
mod minilm;
mod parsers;
