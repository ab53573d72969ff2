//! Vectors from hashed words: no model, no meaning, the same on every machine.

use super::normalise;

/// Places that one word adds to. More makes two words' chance overlap smoother.
const PLACES: u64 = 4;

/// Its own places for every word, and which words mean the same.
#[derive(Debug)]
pub struct Hash {
    salt: u64,
    same: Vec<(String, String)>,
}

impl Hash {
    pub fn new(name: &str, same: &[(&str, &str)]) -> Hash {
        let owned = |&(word, meaning): &(&str, &str)| (word.to_owned(), meaning.to_owned());
        Hash {
            salt: fnv(name),
            same: same.iter().map(owned).collect(),
        }
    }

    /// The words of `text`, each hashed to a few signed places, summed and scaled to unit length.
    pub fn vector(&self, text: &str, width: usize) -> Vec<f32> {
        let mut vector = vec![0.0; width];
        for word in text
            .split(|letter: char| !letter.is_alphanumeric())
            .filter(|word| !word.is_empty())
        {
            let word = word.to_lowercase();
            let meaning = self.same.iter().find(|(known, _)| *known == word);
            let seed = self.salt ^ fnv(meaning.map_or(&word, |(_, meaning)| meaning));
            for place in 0..PLACES {
                let hash = mix(seed.wrapping_add(place));
                let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
                vector[(hash % width as u64) as usize] += sign;
            }
        }
        normalise(&mut vector);
        vector
    }
}

/// FNV-1a, 64 bits.
fn fnv(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The finaliser of SplitMix64: spreads neighbouring seeds over all bits.
fn mix(seed: u64) -> u64 {
    let seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let seed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let seed = (seed ^ (seed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    seed ^ (seed >> 31)
}
