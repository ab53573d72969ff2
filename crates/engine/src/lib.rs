//! What is done to the house's contents, whoever asks: the library of documents, its backups, whether it is sound.
//!
//! Functions here take an open transaction and the moment as arguments. Who may call them, and
//! what the caller is told, is decided above.

#![warn(missing_docs)]

pub mod backup;
pub mod library;
pub mod soundness;
