//! The golden HTTP table.
