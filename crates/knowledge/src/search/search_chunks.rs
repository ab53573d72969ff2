use std::fmt::Write as _;

use engine::library::{self, Found, Search};
use kernel::{Base, Cx, Door, Method, Operation, Reply, Spec};
use model::{ChunkId, DocumentId, Error, KbId, RecordTime, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cut;

/// Search the base's documents by words and by meaning.
///
/// Answers with the six passages that match best, each cut at 800 characters and with the
/// `document_id` that `get_document` reads. Write the question as you would ask it; no sign in it
/// is an operator. With `as_of` the base is searched as it stood at that moment: earlier versions,
/// and documents deleted since.
#[derive(Deserialize, JsonSchema)]
pub struct SearchChunks {
    /// What to look for.
    query: String,
    /// Record time: search what the base held at this moment, a date (`2026-03-20`, its start) or
    /// an RFC 3339 moment. What it holds now if absent.
    as_of: Option<RecordTime>,
}

/// The passages that match best.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChunkHits {
    /// The base.
    pub kb_id: KbId,
    /// The moment that was asked for; null for now.
    pub as_of: Option<RecordTime>,
    /// Passages at most.
    pub limit: u32,
    /// Whether there are as many passages as the limit allows; there may be more.
    pub limit_reached: bool,
    /// The passages, best first.
    pub chunks: Vec<ChunkHit>,
    /// What the answer lacks: a sentence where words alone decided although the base has vectors.
    pub notes: Vec<String>,
}

/// A passage that was found.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ChunkHit {
    /// The passage's id: the same in every version that leaves it as it is.
    pub chunk_id: ChunkId,
    /// Its document's id.
    pub document_id: DocumentId,
    /// Its place in the document, from 0.
    pub seq: u32,
    /// The name of its document's file.
    pub filename: String,
    /// Its text, cut at 800 characters.
    pub text: String,
    /// Whether its text was cut.
    pub truncated: bool,
    /// How many more passages say the same, in the same or nearly the same words; they are not
    /// shown.
    pub folded: u32,
}

/// Passages in an answer.
const HITS_MAX: u32 = 6;
/// Characters of a passage in an answer.
const HIT_CHARS_MAX: usize = 800;
/// Longest question, in characters.
const QUERY_CHARS_MAX: usize = 4000;

impl From<Found> for ChunkHit {
    fn from(found: Found) -> Self {
        let (text, truncated) = cut(&found.chunk.text, HIT_CHARS_MAX);
        Self {
            chunk_id: found.chunk.id,
            document_id: found.chunk.document,
            seq: found.seq,
            filename: found.filename,
            text,
            truncated,
            folded: found.folded,
        }
    }
}

impl Reply for ChunkHits {
    fn text(&self) -> String {
        let mut text = String::new();
        if self.chunks.is_empty() {
            text.push_str("No results.");
        }
        for (n, hit) in (1..).zip(&self.chunks) {
            let gap = if n == 1 { "" } else { "\n\n" };
            let (file, seq, document) = (&hit.filename, hit.seq, hit.document_id);
            let _ = write!(
                text,
                "{gap}[{n}] \"{file}\" section {seq} (document_id: {document}):\n{}",
                hit.text
            );
        }
        for note in &self.notes {
            let _ = write!(text, "\n\n({note})");
        }
        text
    }
}

impl Operation for SearchChunks {
    type Target = Base;
    type Output = ChunkHits;
    const SPEC: Spec = Spec::read("search_chunks", "Search documents")
        .route(Method::Get, "/kbs/{kb_id}/search")
        .tool(&[Door::Base])
        .structured()
        .cli("search", &["query"]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<ChunkHits> {
        let kb = cx.target.id();
        let length = self.query.chars().count();
        if QUERY_CHARS_MAX < length {
            let sentence =
                format!("`query` must have at most {QUERY_CHARS_MAX} characters, not {length}");
            return Err(Error::invalid(sentence));
        }
        let search = Search {
            text: &self.query,
            role: cx.target.role(),
            as_of: self.as_of,
            limit: HITS_MAX as usize,
        };
        let tools = (&cx.indexes, &cx.embedders);
        let place = (cx.target.tenant(), kb);
        let library::Answer { found, without } =
            library::search(&cx.db, tools, place, &search).await?;
        Ok(ChunkHits {
            kb_id: kb,
            as_of: self.as_of,
            limit: HITS_MAX,
            limit_reached: HITS_MAX as usize <= found.len(),
            chunks: found.into_iter().map(ChunkHit::from).collect(),
            notes: without
                .map(|without| without.sentence().to_owned())
                .into_iter()
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn hits(chunks: Vec<ChunkHit>) -> ChunkHits {
        let kb_id = KbId::new(Uuid::nil());
        ChunkHits {
            kb_id,
            as_of: None,
            limit: HITS_MAX,
            limit_reached: false,
            chunks,
            notes: Vec::new(),
        }
    }

    #[test]
    fn hits_are_numbered_and_name_their_document() {
        let hit = |seq| ChunkHit {
            chunk_id: ChunkId::new(Uuid::nil()),
            document_id: DocumentId::new(Uuid::nil()),
            seq,
            filename: "plan.md".to_owned(),
            text: "Series C".to_owned(),
            truncated: false,
            folded: 0,
        };

        assert_eq!(
            hits(vec![hit(0), hit(3)]).text(),
            "[1] \"plan.md\" section 0 (document_id: 00000000-0000-0000-0000-000000000000):\nSeries C\n\n\
             [2] \"plan.md\" section 3 (document_id: 00000000-0000-0000-0000-000000000000):\nSeries C"
        );
        assert_eq!(hits(Vec::new()).text(), "No results.");
        let mut noted = hits(Vec::new());
        noted.notes.push("Searched by words only.".to_owned());
        assert_eq!(noted.text(), "No results.\n\n(Searched by words only.)");
    }
}
