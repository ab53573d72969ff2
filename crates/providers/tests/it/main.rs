//! The providers from outside: with a model where one is installed, and with real processes.

mod minilm;
mod parsers;
