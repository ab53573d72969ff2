//! From two lists of scores to one order of hits.
//!
//! Scores are fused, not ranks: the lexical score divided by the best one, plus a weighed cosine.
//! Where one list is much stronger than the other, equal reciprocal ranks made most sets worse
//! than the stronger list alone (docs/quality.md). A passage also gains from its neighbours and
//! from the document around it.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use crate::DocumentId;

/// What the lexical score of each neighbouring passage adds.
///
/// This and the three below: tuned with `make eval` on LoCoMo conversations 1-3 and the odd
/// Cranfield questions, on the scale where the best lexical score is 1; docs/quality.md.
pub const NEIGHBOUR: f32 = 0.3;

/// What the document's own score adds.
pub const PARENT: f32 = 1.0;

/// What the cosine adds, for a model used in its languages.
pub const COSINE: f32 = 1.6;

/// How much of the cosine's weight counts in a document's score.
const PARENT_COSINE: f32 = 0.7;

/// How much the best passages of a document count before its others, in its score: a norm of
/// this order. A plain sum let long documents win; the best passage alone left conversations,
/// where several turns together answer, behind.
const PARENT_NORM: i32 = 3;

/// Hits of one document before those of all others have had their turn.
pub const HITS_PER_DOCUMENT: usize = 2;

/// A passage that some list found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The passage, by its number in the base.
    pub ordinal: u32,
    /// Its document.
    pub document: DocumentId,
    /// The passages before and after it in the document.
    pub neighbours: [Option<u32>; 2],
    /// BM25; 0 if no word was found.
    pub lexical: f32,
    /// Cosine to the question, if the passage has a vector.
    pub cosine: Option<f32>,
    /// Equal for passages of the same words.
    pub print: u64,
}

/// A passage with its place earned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// The passage.
    pub candidate: Candidate,
    /// The fused score; the best possible is about 4.
    pub score: f32,
    /// Passages of the same words that stand behind this one.
    pub folded: u32,
}

/// How to rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// See [`NEIGHBOUR`].
    pub neighbour: f32,
    /// See [`PARENT`].
    pub parent: f32,
    /// See [`COSINE`]; 0 where the model does not know the question's language.
    pub cosine: f32,
    /// See [`HITS_PER_DOCUMENT`].
    pub per_document: usize,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            neighbour: NEIGHBOUR,
            parent: PARENT,
            cosine: COSINE,
            per_document: HITS_PER_DOCUMENT,
        }
    }
}

/// The best `limit` candidates, best first.
///
/// Passages of the same words count once. A document has at most `weights.per_document` hits
/// unless there is nothing else. Equal scores are ordered by document, then by ordinal.
pub fn fuse(candidates: &[Candidate], weights: Weights, limit: usize) -> Vec<Ranked> {
    let best = candidates.iter().map(|c| c.lexical).fold(0.0_f32, f32::max);
    let lexical: HashMap<u32, f32> = candidates
        .iter()
        .map(|c| (c.ordinal, if best > 0.0 { c.lexical / best } else { 0.0 }))
        .collect();
    let documents = by_document(candidates, &lexical, weights.cosine * PARENT_COSINE);
    let mut ranked: Vec<Ranked> = candidates
        .iter()
        .map(|&candidate| {
            let around: f32 = candidate
                .neighbours
                .iter()
                .flatten()
                .filter_map(|n| lexical.get(n))
                .sum();
            let score = lexical[&candidate.ordinal]
                + weights.neighbour * around
                + weights.parent * documents[&candidate.document]
                + weights.cosine * candidate.cosine.unwrap_or(0.0).max(0.0);
            Ranked {
                candidate,
                score: rounded(score),
                folded: 0,
            }
        })
        .collect();
    ranked.sort_by(order);
    spread(fold(ranked), weights.per_document, limit)
}

/// Each document's score, divided by the best one's: the norm of order [`PARENT_NORM`] of its
/// passages' scores.
fn by_document(
    candidates: &[Candidate],
    lexical: &HashMap<u32, f32>,
    cosine: f32,
) -> HashMap<DocumentId, f32> {
    let mut scores: HashMap<DocumentId, Vec<f32>> = HashMap::new();
    for candidate in candidates {
        let near = candidate.cosine.unwrap_or(0.0).max(0.0);
        let score = lexical[&candidate.ordinal] + cosine * near;
        scores.entry(candidate.document).or_default().push(score);
    }
    let mut norms: HashMap<DocumentId, f32> = scores
        .into_iter()
        .map(|(document, mut scores)| {
            // In order, so that the sum does not depend on who found what first.
            scores.sort_by(f32::total_cmp);
            let sum: f32 = scores.iter().map(|score| score.powi(PARENT_NORM)).sum();
            (document, sum.powf(1.0 / PARENT_NORM as f32))
        })
        .collect();
    let best = norms.values().copied().fold(0.0_f32, f32::max);
    if best > 0.0 {
        for norm in norms.values_mut() {
            *norm /= best;
        }
    }
    norms
}

fn order(a: &Ranked, b: &Ranked) -> Ordering {
    b.score
        .total_cmp(&a.score)
        .then_with(|| a.candidate.document.cmp(&b.candidate.document))
        .then_with(|| a.candidate.ordinal.cmp(&b.candidate.ordinal))
}

/// To five decimals: sums in another order differ in the last bits, and hits must not.
fn rounded(score: f32) -> f32 {
    (score * 100_000.0).round() / 100_000.0
}

/// Keeps the first of the passages with the same words.
fn fold(ranked: Vec<Ranked>) -> Vec<Ranked> {
    let mut kept: Vec<Ranked> = Vec::with_capacity(ranked.len());
    let mut seen: HashMap<u64, usize> = HashMap::new();
    for hit in ranked {
        if let Some(&first) = seen.get(&hit.candidate.print) {
            kept[first].folded += 1;
        } else {
            seen.insert(hit.candidate.print, kept.len());
            kept.push(hit);
        }
    }
    kept
}

/// The first `limit`, those beyond a document's share only after all others.
fn spread(ranked: Vec<Ranked>, per_document: usize, limit: usize) -> Vec<Ranked> {
    let mut share: HashMap<DocumentId, usize> = HashMap::new();
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for hit in ranked {
        let taken = share.entry(hit.candidate.document).or_default();
        *taken += 1;
        if *taken <= per_document {
            first.push(hit);
        } else {
            rest.push(hit);
        }
    }
    first.truncate(limit);
    let missing = limit - first.len();
    let filled: HashSet<u32> = rest
        .iter()
        .take(missing)
        .map(|hit| hit.candidate.ordinal)
        .collect();
    first.extend(
        rest.into_iter()
            .filter(|hit| filled.contains(&hit.candidate.ordinal)),
    );
    first.sort_by(order);
    first
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn candidate(ordinal: u32, document: u128, lexical: f32) -> Candidate {
        Candidate {
            ordinal,
            document: DocumentId::new(Uuid::from_u128(document)),
            neighbours: [None, None],
            lexical,
            cosine: None,
            print: u64::from(ordinal),
        }
    }

    fn ordinals(ranked: &[Ranked]) -> Vec<u32> {
        ranked.iter().map(|hit| hit.candidate.ordinal).collect()
    }

    #[test]
    fn a_document_has_two_hits_unless_there_is_nothing_else() {
        let found = [
            candidate(1, 1, 9.0),
            candidate(2, 1, 8.0),
            candidate(3, 1, 7.0),
            candidate(4, 2, 1.0),
        ];

        assert_eq!(ordinals(&fuse(&found, Weights::default(), 3)), [1, 2, 4]);
        assert_eq!(ordinals(&fuse(&found, Weights::default(), 4)), [1, 2, 3, 4]);
    }

    #[test]
    fn passages_of_the_same_words_count_once() {
        let mut found = [
            candidate(1, 1, 9.0),
            candidate(2, 2, 9.0),
            candidate(3, 3, 1.0),
        ];
        found[1].print = found[0].print;

        let ranked = fuse(&found, Weights::default(), 6);

        assert_eq!(ordinals(&ranked), [1, 3]);
        assert_eq!(ranked[0].folded, 1);
    }

    #[test]
    fn a_passage_between_two_good_ones_beats_an_equal_one_alone() {
        let mut found = [
            candidate(1, 1, 9.0),
            candidate(2, 1, 2.0),
            candidate(3, 1, 9.0),
            candidate(4, 2, 2.0),
        ];
        found[1].neighbours = [Some(1), Some(3)];
        let weights = Weights {
            parent: 0.0,
            ..Weights::default()
        };

        let ranked = fuse(&found, weights, 4);

        let place = |ordinal| ordinals(&ranked).iter().position(|&found| found == ordinal);
        assert!(place(2) < place(4));
    }

    #[test]
    fn equal_scores_are_ordered_by_document_then_ordinal() {
        let found = [
            candidate(7, 2, 1.0),
            candidate(9, 1, 1.0),
            candidate(8, 1, 1.0),
        ];
        let weights = Weights {
            parent: 0.0,
            ..Weights::default()
        };

        assert_eq!(ordinals(&fuse(&found, weights, 6)), [8, 9, 7]);
    }
}
