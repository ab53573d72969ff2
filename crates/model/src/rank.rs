//! From two lists of scores to one order of hits.
//!
//! Scores are fused, not ranks: the lexical score divided by the best one, plus a weighed cosine.
//! Where one list is much stronger than the other, equal reciprocal ranks made most sets worse
//! than the stronger list alone (docs/quality.md). A cosine counts by how far it stands out among
//! those of the passages found by words: models differ in what unrelated texts have. A passage
//! also gains from its neighbours and from the document around it.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use crate::DocumentId;
use crate::near::Print;

/// What the lexical score of each neighbouring passage adds.
///
/// This and the six below: tuned with `make eval` on LoCoMo conversations 1-3 and the odd
/// Cranfield questions, on the scale where the best lexical score is 1; docs/quality.md.
pub const NEIGHBOUR: f32 = 0.3;

/// What the lexical score of each passage two places away adds.
pub const SECOND: f32 = 0.1;

/// What the document's own score adds.
pub const PARENT: f32 = 1.0;

/// What the cosine adds, for a model used in its languages.
pub const COSINE: f32 = 1.6;

/// A cosine that stands out by the usual spread of cosines counts this much.
const SPREAD: f32 = 0.12;

/// What is taken for the cosine of unrelated texts until passages say otherwise; counts like
/// [`USUAL_COUNT`] passages.
const USUAL: f32 = 0.1;

/// See [`USUAL`].
const USUAL_COUNT: f32 = 20.0;

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
    /// The passages before and after it in the document, then those two places away.
    pub neighbours: [Option<u32>; 4],
    /// BM25; 0 if no word was found.
    pub lexical: f32,
    /// Cosine to the question, if the passage has a vector.
    pub cosine: Option<f32>,
    /// To tell passages that say the same.
    pub print: Print,
}

/// A passage with its place earned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// The passage.
    pub candidate: Candidate,
    /// The fused score; the best possible is about 4.
    pub score: f32,
    /// Passages that say the same and stand behind this one.
    pub folded: u32,
}

/// How to rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// See [`NEIGHBOUR`].
    pub neighbour: f32,
    /// See [`SECOND`].
    pub second: f32,
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
            second: SECOND,
            parent: PARENT,
            cosine: COSINE,
            per_document: HITS_PER_DOCUMENT,
        }
    }
}

/// The best `limit` candidates, best first.
///
/// Passages that say the same count once. A document has at most `weights.per_document` hits
/// unless there is nothing else. Equal scores are ordered by document, then by ordinal.
pub fn fuse(candidates: &[Candidate], weights: Weights, limit: usize) -> Vec<Ranked> {
    let best = candidates.iter().map(|c| c.lexical).fold(0.0_f32, f32::max);
    let lexical: HashMap<u32, f32> = candidates
        .iter()
        .map(|c| (c.ordinal, if best > 0.0 { c.lexical / best } else { 0.0 }))
        .collect();
    let standing = Standing::of(candidates);
    let near: HashMap<u32, f32> = candidates
        .iter()
        .map(|c| {
            (
                c.ordinal,
                c.cosine.map_or(0.0, |cosine| standing.out(cosine)),
            )
        })
        .collect();
    let documents = by_document(candidates, &lexical, &near, weights.cosine * PARENT_COSINE);
    let mut ranked: Vec<Ranked> = candidates
        .iter()
        .map(|&candidate| {
            let share = |beside: &[Option<u32>]| -> f32 {
                let beside = beside.iter().flatten();
                beside.filter_map(|n| lexical.get(n)).sum()
            };
            let (first, second) = candidate.neighbours.split_at(2);
            let score = lexical[&candidate.ordinal]
                + weights.neighbour * share(first)
                + weights.second * share(second)
                + weights.parent * documents[&candidate.document]
                + weights.cosine * near[&candidate.ordinal];
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

/// What cosines to this question are usual: mean and spread over the passages found by words.
struct Standing {
    mean: f32,
    spread: f32,
}

impl Standing {
    fn of(candidates: &[Candidate]) -> Self {
        let mut usual: Vec<f32> = candidates
            .iter()
            .filter(|c| 0.0 < c.lexical)
            .filter_map(|c| c.cosine)
            .collect();
        // In order, so that the sum does not depend on who found what first.
        usual.sort_by(f32::total_cmp);
        let count = usual.len() as f32 + USUAL_COUNT;
        let mean = (usual.iter().sum::<f32>() + USUAL_COUNT * USUAL) / count;
        let squares: f32 = usual.iter().map(|cosine| (cosine - mean).powi(2)).sum();
        Self {
            mean,
            spread: ((squares + USUAL_COUNT * SPREAD * SPREAD) / count).sqrt(),
        }
    }

    /// How far the cosine stands out; 0 if it does not.
    fn out(&self, cosine: f32) -> f32 {
        ((cosine - self.mean) / self.spread * SPREAD).max(0.0)
    }
}

/// Each document's score, divided by the best one's: the norm of order [`PARENT_NORM`] of its
/// passages' scores.
fn by_document(
    candidates: &[Candidate],
    lexical: &HashMap<u32, f32>,
    near: &HashMap<u32, f32>,
    cosine: f32,
) -> HashMap<DocumentId, f32> {
    let mut scores: HashMap<DocumentId, Vec<f32>> = HashMap::new();
    for candidate in candidates {
        let score = lexical[&candidate.ordinal] + cosine * near[&candidate.ordinal];
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

/// Keeps the first of the passages that say the same.
fn fold(ranked: Vec<Ranked>) -> Vec<Ranked> {
    let mut kept: Vec<Ranked> = Vec::with_capacity(ranked.len());
    // Only prints that share one of these can be near.
    let mut words: HashMap<u64, usize> = HashMap::new();
    let mut telling: HashMap<u64, Vec<usize>> = HashMap::new();
    for hit in ranked {
        let print = hit.candidate.print;
        let alike = telling.entry(print.telling).or_default();
        let first = words.get(&print.words).copied().or_else(|| {
            let near = |&&place: &&usize| kept[place].candidate.print.is_near(print);
            alike.iter().find(near).copied()
        });
        if let Some(first) = first {
            kept[first].folded += 1;
            continue;
        }
        words.insert(print.words, kept.len());
        if print.telling != 0 {
            alike.push(kept.len());
        }
        kept.push(hit);
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
            neighbours: [None; 4],
            lexical,
            cosine: None,
            print: Print {
                words: u64::from(ordinal),
                ..Print::default()
            },
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
    fn passages_of_nearly_the_same_words_count_once_unless_what_tells_differs() {
        let mut found = [
            candidate(1, 1, 9.0),
            candidate(2, 2, 8.0),
            candidate(3, 3, 7.0),
        ];
        for (place, (sketch, telling)) in [(0b1111, 5), (0b0111, 5), (0b1111, 7)]
            .into_iter()
            .enumerate()
        {
            found[place].print = Print {
                sketch,
                telling,
                ..found[place].print
            };
        }

        let ranked = fuse(&found, Weights::default(), 6);

        assert_eq!(ordinals(&ranked), [1, 3]);
        assert_eq!(ranked[0].folded, 1);
    }

    #[test]
    fn what_a_cosine_counts_does_not_depend_on_what_the_model_gives_unrelated_texts() {
        let with = |off: f32| {
            let mut found: Vec<Candidate> = (0..400)
                .map(|n| candidate(n, n.into(), 1.0 + (n % 7) as f32))
                .collect();
            for (n, one) in found.iter_mut().enumerate() {
                one.cosine = Some(off + (n % 11) as f32 / 100.0);
            }
            ordinals(&fuse(&found, Weights::default(), 20))
        };

        assert_eq!(with(0.05), with(0.8));
    }

    #[test]
    fn a_passage_between_two_good_ones_beats_an_equal_one_alone() {
        let mut found = [
            candidate(1, 1, 9.0),
            candidate(2, 1, 2.0),
            candidate(3, 1, 9.0),
            candidate(4, 2, 2.0),
        ];
        found[1].neighbours = [Some(1), Some(3), None, None];
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
