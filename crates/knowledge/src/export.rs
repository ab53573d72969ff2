//! A whole base: as a graph for other programs to read, as an archive for another Quipu.

mod export_base;
mod export_graph;
mod import_base;
mod walk;

pub use export_base::ExportBase;
pub use export_graph::{ExportGraph, GraphFormat};
pub use import_base::{ImportBase, ImportedBase};
