//! What is done to the house's contents, whoever asks: the ledger of claims and the library of
//! documents.
//!
//! Functions here take an open transaction and the moment as arguments. Who may call them, and
//! what the caller is told, is decided above.

#![warn(missing_docs)]

pub mod ledger;
pub mod library;
