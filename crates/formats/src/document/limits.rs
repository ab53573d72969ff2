//! How much a file may ask of its reader.

/// Bounds on one document; what passes them is refused by name, never cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes really inflated from an archive or a page, all parts together.
    pub output_bytes: u64,
    /// Entries of an archive.
    pub entries: u32,
    /// Inflated bytes for each byte of the file, once more than [`Limits::RATIO_FLOOR`] came out.
    pub ratio: u32,
    /// Pages of a PDF.
    pub pages: u32,
}

impl Limits {
    /// Inflated bytes below which the ratio does not matter: an almost empty file packs well.
    pub const RATIO_FLOOR: u64 = 16 << 20;
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            output_bytes: 200 << 20,
            entries: 10_000,
            ratio: 100,
            pages: 5_000,
        }
    }
}
