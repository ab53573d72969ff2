//! Searching a base's documents, and the manual.

mod search_chunks;
mod search_docs;

pub use search_chunks::{ChunkHit, ChunkHits, SearchChunks};
pub use search_docs::{ManualHits, ManualSection, SearchDocs};

/// The first `chars_max` characters, with `…` where that is not all; and whether it is not.
fn cut(text: &str, chars_max: usize) -> (String, bool) {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => (format!("{}…", &text[..end]), true),
        None => (text.to_owned(), false),
    }
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn only_text_beyond_the_bound_is_cut_and_never_within_a_character() {
        assert_eq!(cut("äöü", 3), ("äöü".to_owned(), false));
        assert_eq!(cut("𝔘𐍈ü", 2), ("𝔘𐍈…".to_owned(), true));
    }
}
