//! Quipu's own manual, as agents search it. Never the user's documents.

use std::collections::HashMap;

use model::text::{self, Kind, Language, Languages};

/// A part of the manual under a heading of its own.
#[derive(Debug, Clone)]
pub struct ManualSection {
    /// Its headings, outermost first, with ` › ` between.
    pub title: String,
    /// Its Markdown text.
    pub text: String,
}

/// The manual with the words of its sections.
pub struct Manual {
    sections: Vec<ManualSection>,
    words: Vec<HashMap<String, f32>>,
    holders: HashMap<String, f32>,
    length_mean: f32,
}

/// Weight of a word in the title against one in the text.
const TITLE_WEIGHT: f32 = 3.0;
/// BM25 saturation and length weight (Robertson and Zaragoza, The Probabilistic Relevance
/// Framework, 2009).
const SATURATION: f32 = 1.2;
const LENGTH_WEIGHT: f32 = 0.75;

impl Manual {
    /// The manual of these sections, in reading order.
    pub fn new(sections: Vec<ManualSection>) -> Self {
        let words: Vec<HashMap<String, f32>> = sections.iter().map(words_of).collect();
        let mut holders = HashMap::new();
        for section in &words {
            for word in section.keys() {
                *holders.entry(word.clone()).or_insert(0.0) += 1.0;
            }
        }
        let total: f32 = words.iter().flat_map(HashMap::values).sum();
        let length_mean = (total / words.len().max(1) as f32).max(1.0);
        Self {
            sections,
            words,
            holders,
            length_mean,
        }
    }

    /// The sections that answer best, at most `limit`, best first.
    pub fn search(&self, query: &str, limit: usize) -> Vec<&ManualSection> {
        let asked = asked_in(query);
        let mut scored: Vec<(f32, usize)> = (0..self.sections.len())
            .map(|place| (self.score(place, &asked), place))
            .filter(|(score, _)| *score > 0.0)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        scored
            .into_iter()
            .take(limit)
            .map(|(_, place)| &self.sections[place])
            .collect()
    }

    fn score(&self, place: usize, asked: &[(String, f32)]) -> f32 {
        let words = &self.words[place];
        let length: f32 = words.values().sum::<f32>() / self.length_mean;
        let scores = asked.iter().map(|(word, weight)| {
            let Some(count) = words.get(word) else {
                return 0.0;
            };
            let holders = self.holders[word];
            let rarity = (1.0 + (self.words.len() as f32 - holders + 0.5) / (holders + 0.5)).ln();
            let norm = SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * length);
            weight * rarity * count * (SATURATION + 1.0) / (count + norm)
        });
        scores.sum()
    }
}

/// Stems of the manual's language, each with its weight.
fn asked_in(query: &str) -> Vec<(String, f32)> {
    let english = Languages::default().with(Language::English);
    let asked = text::of_query(query, english).into_iter();
    asked
        .filter(|one| one.kind == Kind::Stem)
        .map(|one| (one.text, one.weight))
        .collect()
}

fn words_of(section: &ManualSection) -> HashMap<String, f32> {
    let mut words = HashMap::new();
    for (text, weight) in [(&section.title, TITLE_WEIGHT), (&section.text, 1.0)] {
        for word in text::of_document(text).stems {
            *words.entry(word).or_insert(0.0) += weight;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_that_answers_comes_first() {
        let section = |title: &str, text: &str| ManualSection {
            title: title.into(),
            text: text.into(),
        };
        let manual = Manual::new(vec![
            section("Install", "How to install the model."),
            section(
                "Tokens",
                "A token expires after ninety days. Revoking it takes effect at once.",
            ),
            section("Search", "Search finds passages; a token is needed."),
        ]);

        let found = manual.search("when do tokens expire", 2);

        assert_eq!(found[0].title, "Tokens");
        assert!(manual.search("zebra", 4).is_empty());
    }
}
