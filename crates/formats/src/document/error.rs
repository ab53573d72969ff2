//! What can be wrong with a document.

/// Why a document could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// The bytes do not follow the format.
    #[error("the file is broken: {0}")]
    Broken(String),
    /// The file, or a part of it, needs a password.
    #[error("the file is protected by a password; send it without one")]
    Encrypted,
    /// An archive holds a symbolic link.
    #[error("an entry of the archive is a symbolic link; only plain files are read")]
    Link,
    /// An archive has too many entries.
    #[error("the archive has {found} entries; at most {limit} are read")]
    Entries {
        /// Entries found.
        found: u64,
        /// Entries allowed.
        limit: u32,
    },
    /// More came out of the file than is read.
    #[error("the file unpacks to more than {limit} bytes")]
    Output {
        /// Bytes allowed.
        limit: u64,
    },
    /// The file is packed far more densely than documents are.
    #[error("the file unpacks to more than {limit} times its size")]
    Ratio {
        /// Ratio allowed.
        limit: u32,
    },
    /// Entries of an archive share bytes.
    #[error("entries of the archive overlap")]
    Overlap,
    /// XML with a document type, the door to entity bombs and outside files.
    #[error("`{part}` declares a document type (DTD), which is not read")]
    Doctype {
        /// The part of the document.
        part: String,
    },
    /// XML nested without end.
    #[error("`{part}` nests more than {limit} levels deep")]
    Depth {
        /// The part of the document.
        part: String,
        /// Levels allowed.
        limit: u32,
    },
    /// One block is larger than the memory for it.
    #[error("a single block of `{part}` is larger than {limit} bytes")]
    Block {
        /// The part of the document.
        part: String,
        /// Bytes allowed.
        limit: usize,
    },
    /// A PDF has too many pages.
    #[error("the file has {found} pages; at most {limit} are read")]
    Pages {
        /// Pages found.
        found: u64,
        /// Pages allowed.
        limit: u32,
    },
    /// The bytes are no text in any encoding read here.
    #[error("the file is not text: it holds binary data at byte {at}")]
    NotText {
        /// Offset of the first byte that no text holds.
        at: usize,
    },
}

impl DocumentError {
    /// The bytes do not follow the format, for this reason.
    pub(super) fn broken(reason: impl Into<String>) -> DocumentError {
        DocumentError::Broken(reason.into())
    }
}
