//! The store as those above it see it, on both engines.

mod smoke;
