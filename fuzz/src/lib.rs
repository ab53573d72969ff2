//! What strangers' bytes reach: one function per target, which holds it to what its doc comments
//! promise.
//!
//! The tests replay the corpora and mutate them for a bounded while, on stable Rust; `make fuzz`
//! gives the same functions to libFuzzer where cargo-fuzz and a nightly toolchain are there. A
//! finding is made small and kept in `corpus/<target>/`.

mod bundle;
mod documents;
pub mod mutate;
mod ontologies;
mod questions;
mod texts;
pub mod watch;

use formats::document::Format;

/// Something that is fuzzed.
pub struct Target {
    /// Its name, which is also the folder of its corpus.
    pub name: &'static str,
    /// Panics if a promise is broken.
    pub run: fn(&[u8]),
    /// Whether panics of libraries are foreseen: the PDF reader's are caught where it is called,
    /// in a process of its own.
    pub lenient: bool,
}

macro_rules! targets {
    ($($name:literal => $run:expr;)*) => {
        /// Every target.
        pub const TARGETS: &[Target] = &[
            $(Target { name: $name, run: $run, lenient: matches!($name.as_bytes(), b"pdf") },)*
        ];
    };
}

targets! {
    "md" => |bytes| documents::read(Format::Markdown, bytes);
    "txt" => |bytes| documents::read(Format::Text, bytes);
    "html" => |bytes| documents::read(Format::Html, bytes);
    "docx" => |bytes| documents::read(Format::Docx, bytes);
    "pdf" => |bytes| documents::read(Format::Pdf, bytes);
    "csv" => |bytes| documents::read(Format::Csv, bytes);
    "xlsx" => |bytes| documents::read(Format::Xlsx, bytes);
    "pptx" => |bytes| documents::read(Format::Pptx, bytes);
    "odt" => |bytes| documents::read(Format::Odt, bytes);
    "ods" => |bytes| documents::read(Format::Ods, bytes);
    "odp" => |bytes| documents::read(Format::Odp, bytes);
    "eml" => |bytes| documents::read(Format::Eml, bytes);
    "epub" => |bytes| documents::read(Format::Epub, bytes);
    "rtf" => |bytes| documents::read(Format::Rtf, bytes);
    "detect" => documents::detect;
    "analyser" => texts::analyse;
    "passages" => texts::cut;
    "query" => questions::search;
    "arguments" => questions::read_arguments;
    "wire" => questions::read_post;
    "lines" => questions::read_lines;
    "owl" => ontologies::read;
}

/// The target of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Folder of a target's corpus.
pub fn corpus(target: &Target) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target.name)
}
