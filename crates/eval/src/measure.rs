//! The measures, and the three ways to search that are compared.

use std::collections::HashMap;
use std::hash::Hash;

use model::rank::Weights;

use crate::Failure;

/// Which lists take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Lexical,
    Vectors,
    Fused,
}

impl Way {
    pub const ALL: [Way; 3] = [Way::Lexical, Way::Vectors, Way::Fused];

    pub fn name(self) -> &'static str {
        match self {
            Way::Lexical => "lexical",
            Way::Vectors => "vectors",
            Way::Fused => "fused",
        }
    }
}

/// The weights that can be tried, by name.
pub const WEIGHTS: [(&str, Access); 4] = [
    ("neighbour", |weights| &mut weights.neighbour),
    ("second", |weights| &mut weights.second),
    ("parent", |weights| &mut weights.parent),
    ("cosine", |weights| &mut weights.cosine),
];

/// Where a weight stands.
pub type Access = fn(&mut Weights) -> &mut f32;

/// The product's weights, but for those named in `text`.
pub fn weights(text: &str) -> Result<Weights, Failure> {
    let mut weights = Weights::default();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').ok_or("a weight is `name=number`")?;
        let Some((_, access)) = WEIGHTS.iter().find(|known| known.0 == name) else {
            let known = WEIGHTS.map(|known| known.0).join("`, `");
            return Err(format!("a weight is one of `{known}`, not `{name}`").into());
        };
        *access(&mut weights) = value.parse()?;
    }
    Ok(weights)
}

/// Normalised discounted cumulative gain of the first `depth`.
pub fn ndcg<K: Eq + Hash>(ranked: &[K], gains: &HashMap<K, f64>, depth: usize) -> f64 {
    let discount = |place: usize| 1.0 / ((place + 2) as f64).log2();
    let got: f64 = ranked
        .iter()
        .take(depth)
        .enumerate()
        .filter_map(|(place, key)| gains.get(key).map(|gain| gain * discount(place)))
        .sum();
    let mut ideal: Vec<f64> = gains.values().copied().collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    let best: f64 = ideal
        .iter()
        .take(depth)
        .enumerate()
        .map(|(place, gain)| gain * discount(place))
        .sum();
    if best > 0.0 { got / best } else { 0.0 }
}

/// The share of what is wanted among the first `depth`.
pub fn recall<K: Eq + Hash>(ranked: &[K], gains: &HashMap<K, f64>, depth: usize) -> f64 {
    let found = ranked
        .iter()
        .take(depth)
        .filter(|key| gains.contains_key(key))
        .count();
    found as f64 / gains.len().max(1) as f64
}

/// Average precision over the whole list.
pub fn average_precision<K: Eq + Hash>(ranked: &[K], gains: &HashMap<K, f64>) -> f64 {
    let (mut found, mut sum) = (0, 0.0);
    for (place, key) in ranked.iter().enumerate() {
        if gains.contains_key(key) {
            found += 1;
            sum += f64::from(found) / (place + 1) as f64;
        }
    }
    sum / gains.len().max(1) as f64
}

/// The mean; 0 of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_are_one_when_what_is_wanted_comes_first() {
        let gains = HashMap::from([("a", 1.0), ("b", 1.0)]);
        let ranked = ["a", "b", "c"];

        assert!((ndcg(&ranked, &gains, 10) - 1.0).abs() < 1e-9);
        assert!((recall(&ranked, &gains, 2) - 1.0).abs() < 1e-9);
        assert!((average_precision(&ranked, &gains) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn average_precision_counts_what_was_not_found() {
        let gains = HashMap::from([("a", 1.0), ("b", 1.0)]);
        assert!((average_precision(&["c", "a"], &gains) - 0.25).abs() < 1e-9);
    }
}
