//! Finding the weights of `model::rank`: one at a time, up or down, as long as it gains.
//!
//! Only the parts of the sets that are for tuning are asked. What is made better is the mean of
//! what the product is held to on them: sessions and turns of conversations, and the precision
//! over documents.

use model::rank::Weights;

use crate::Failure;
use crate::base::Base;
use crate::embed::Vectors;
use crate::measure::{WEIGHTS, Way};
use crate::sets::{Kind, Part, Set};
use crate::tally::Tally;

/// By how much a weight is tried greater and smaller.
const STEPS: [f32; 4] = [0.5, 0.75, 1.33, 2.0];

/// A gain below this is noise.
const GAIN: f64 = 0.001;

pub async fn best(sets: &[Set], vectors: &mut Vectors, start: Weights) -> Result<Weights, Failure> {
    let mut bases = Vec::new();
    for set in sets.iter().filter(|set| set.kind != Kind::Paragraphs) {
        bases.push((set, Base::new(&set.documents, vectors).await?));
    }
    let mut best = start;
    let mut reached = reached(&bases, vectors, best).await?;
    println!("{reached:.4} as it stands");
    loop {
        let before = reached;
        for (name, access) in WEIGHTS {
            for step in STEPS {
                let mut other = best;
                *access(&mut other) *= step;
                let value = self::reached(&bases, vectors, other).await?;
                println!("{value:.4} {name} {:.3}", access(&mut other));
                if reached + GAIN < value {
                    (best, reached) = (other, value);
                }
            }
        }
        if reached <= before {
            return Ok(best);
        }
    }
}

async fn reached(
    bases: &[(&Set, Base)],
    vectors: &mut Vectors,
    weights: Weights,
) -> Result<f64, Failure> {
    let mut tally = Tally::default();
    for (set, base) in bases {
        let tuned = [Part::Tuned];
        tally.ask((set, base), &tuned, vectors, weights).await?;
    }
    let way = if vectors.any() {
        Way::Fused
    } else {
        Way::Lexical
    };
    let means: Vec<f64> = ["session R@5", "turn R@10", "MAP"]
        .into_iter()
        .filter_map(|metric| tally.mean(metric, way, Part::Tuned))
        .collect();
    Ok(means.iter().sum::<f64>() / means.len().max(1) as f64)
}
