//! What is done to the house's contents, whoever asks: the ledger of claims, the library of
//! documents, backups and archives of bases, whether all is sound.
//!
//! Functions here take an open transaction and the moment as arguments. Who may call them, and
//! what the caller is told, is decided above.

#![warn(missing_docs)]

pub mod backup;
pub mod base_archive;
pub mod ledger;
pub mod library;
pub mod soundness;
