//! What the two engines do each in their own way: opening, locking, loading in bulk.

pub(crate) mod postgres;
pub(crate) mod sqlite;
