//! A base made of one judged set, and questions put to it.

use std::collections::HashSet;

use model::document::ParsedDocument;
use model::rank::Weights;
use model::{DocumentId, RecordTime, Role, passages};
use store::index::{BaseIndex, ChunkRow, ChunkSpan, Nameless, Query};
use tempfile::TempDir;
use uuid::Uuid;

use crate::Failure;
use crate::embed::Vectors;
use crate::measure::Way;

/// Documents cut, indexed and embedded as the product does it.
pub struct Base {
    index: BaseIndex,
    /// Document and section of each passage, by ordinal.
    places: Vec<(usize, usize)>,
    _folder: TempDir,
}

impl Base {
    pub async fn new(documents: &[ParsedDocument], vectors: &mut Vectors) -> Result<Self, Failure> {
        let (mut rows, mut places, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for (n, document) in documents.iter().enumerate() {
            let title = document.title.clone().unwrap_or_default();
            for passage in passages::split(document) {
                // What the product gives its model: the text below its headings.
                let above = passage.heading_path.join(" > ");
                let read = [above.as_str(), &passage.text];
                texts.push(
                    read.into_iter()
                        .filter(|part| !part.is_empty())
                        .collect::<Vec<_>>()
                        .join("\n"),
                );
                places.push((n, passage.section));
                rows.push(ChunkRow {
                    span: ChunkSpan {
                        ordinal: rows.len() as i64,
                        document: DocumentId::new(Uuid::from_u128(n as u128 + 1)),
                        recorded_at: RecordTime::from_micros(1),
                        invalidated_at: None,
                        purged_at: None,
                        least_role: Role::Viewer,
                    },
                    title: title.clone(),
                    heading_path: passage.heading_path,
                    text: passage.text,
                });
            }
        }
        // Where the model does not know the language, its vectors are never asked.
        let known = texts.first().is_some_and(|text| vectors.know(text));
        let codes = if known {
            vectors.codes(&texts).await?
        } else {
            Vec::new()
        };
        let codes: Vec<(u32, Vec<i8>)> = (0..).zip(codes).collect();
        let folder = TempDir::new()?;
        let index = BaseIndex::of_rows(folder.path(), &rows, &codes)?;
        Ok(Self {
            index,
            places,
            _folder: folder,
        })
    }

    /// Document and section of the passages found, best first.
    pub fn ask(
        &self,
        text: &str,
        (vector, nameless): (Option<&[f32]>, Option<&Nameless>),
        way: Way,
        (weights, limit): (Weights, usize),
    ) -> Result<Vec<(usize, usize)>, Failure> {
        let mut query = Query::new(text, Role::Viewer, limit);
        query.weights = weights;
        match way {
            Way::Lexical => query.weights.cosine = 0.0,
            Way::Vectors => {
                query.text = "";
                (query.vector, query.nameless) = (vector, nameless);
            }
            Way::Fused => (query.vector, query.nameless) = (vector, nameless),
        }
        let hits = self.index.search(&query)?;
        Ok(hits
            .into_iter()
            .map(|hit| self.places[hit.ordinal as usize])
            .collect())
    }
}

/// Each document once, where it first stands: what a reader of the hits sees of documents.
pub fn documents(found: &[(usize, usize)]) -> Vec<usize> {
    let mut seen = HashSet::new();
    let all = found.iter().map(|place| place.0);
    all.filter(|&n| seen.insert(n)).collect()
}
