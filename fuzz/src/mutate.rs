//! Fuzzing without any tool: seeds of the corpus, changed at random but the same at each run.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::{Target, corpus, watch};

/// Cases of a target where nobody says how long.
const CASES: u32 = 300;
/// Longest case, in bytes.
const BYTES_MAX: usize = 64 * 1024;
/// Changes made to a seed at most.
const CHANGES_MAX: u32 = 8;

/// The files of a target's corpus by name.
///
/// # Panics
/// If the folder cannot be read.
pub fn seeds(target: &Target) -> Vec<(String, Vec<u8>)> {
    let folder = corpus(target);
    let entries = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("no corpus in {}: {error}", folder.display()));
    let mut seeds: Vec<(String, Vec<u8>)> = entries
        .map(|entry| {
            let entry = entry.expect("the folder can be listed");
            let bytes = std::fs::read(entry.path()).expect("a seed can be read");
            (entry.file_name().to_string_lossy().into_owned(), bytes)
        })
        .collect();
    seeds.sort();
    assert!(!seeds.is_empty(), "no seed in {}", folder.display());
    seeds
}

/// Runs every file of the corpus.
///
/// # Errors
/// The name of the first that breaks, and how.
pub fn replay(target: &Target) -> Result<(), String> {
    for (name, bytes) in seeds(target) {
        watch::run(target, &bytes).map_err(|fault| format!("{}/{name}: {fault}", target.name))?;
    }
    Ok(())
}

/// Runs mutated seeds: a bounded number, or for as long as is said. Each case is written to
/// `folder` before it runs, so that one that ends the process is not lost.
///
/// # Errors
/// The first case that breaks and where it was written.
pub fn explore(target: &Target, folder: &Path, time: Option<Duration>) -> Result<u32, String> {
    let seeds = seeds(target);
    let words = words(&seeds);
    let mut chance = Chance::of(target.name);
    let begun = Instant::now();
    let mut cases = 0;
    let path = folder.join(target.name);
    while time.map_or(cases < CASES, |time| begun.elapsed() < time) {
        let case = mutated(&seeds, &words, &mut chance);
        std::fs::write(&path, &case)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        watch::run(target, &case)
            .map_err(|fault| format!("{}: {fault}; the case is {}", target.name, path.display()))?;
        cases += 1;
    }
    Ok(cases)
}

/// Pieces that mean something to a format: tags, names, numbers as the seeds have them.
fn words(seeds: &[(String, Vec<u8>)]) -> Vec<Vec<u8>> {
    let ends = |byte: &u8| b" \n\t>\"',;={}[]()/\\".contains(byte);
    let pieces = seeds.iter().flat_map(|(_, seed)| seed.split(ends));
    let words: BTreeSet<Vec<u8>> = pieces
        .filter(|piece| (1..40).contains(&piece.len()))
        .map(<[u8]>::to_vec)
        .collect();
    let more = [
        "0",
        "-1",
        "65536",
        "99999999999999999999",
        "\u{0}",
        "\u{feff}",
        "\u{202e}",
        "é",
        "𝄞",
    ];
    let more = more.iter().map(|word| word.as_bytes().to_vec());
    words.into_iter().chain(more).collect()
}

fn mutated(seeds: &[(String, Vec<u8>)], words: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut case = chance.pick(seeds).1.clone();
    for _ in 0..=chance.below(CHANGES_MAX as usize) {
        let at = chance.below(case.len() + 1);
        let end = (at + chance.below(64)).min(case.len());
        match chance.below(8) {
            0 if at < case.len() => case[at] ^= 1 << chance.below(8),
            1 if at < case.len() => case[at] = chance.byte(),
            2 => drop(case.drain(at..end)),
            3 => drop(case.splice(at..at, chance.pick(words).clone())),
            4 => drop(case.splice(at..end, chance.pick(words).clone())),
            5 => {
                let again = case[at..end].repeat(1 + chance.below(20));
                case.splice(at..at, again);
            }
            6 => {
                let other = &chance.pick(seeds).1;
                let from = chance.below(other.len() + 1);
                let to = (from + chance.below(400)).min(other.len());
                case.splice(at..at, other[from..to].iter().copied());
            }
            _ => case.truncate(at),
        }
        case.truncate(BYTES_MAX);
    }
    case
}

/// The same numbers at each run (xorshift64*, Vigna 2016).
struct Chance(u64);

impl Chance {
    fn of(name: &str) -> Self {
        let seed = name.bytes().fold(0x9E37_79B9_7F4A_7C15_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        });
        Self(seed | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 11) as usize % bound.max(1)
    }

    fn byte(&mut self) -> u8 {
        (self.next() >> 32) as u8
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
