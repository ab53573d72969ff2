//! What each question of each set came to, and the means that are reported.

use model::rank::Weights;
use store::index::Nameless;

use crate::Failure;
use crate::base::{Base, documents};
use crate::embed::Vectors;
use crate::measure::{Way, average_precision, mean, ndcg, recall};
use crate::report::Report;
use crate::sets::{Kind, Part, Question, Set};

/// The values of one measure, in the order in which the measures were first taken.
struct Row {
    set: String,
    kind: Kind,
    part: Part,
    metric: &'static str,
    way: Way,
    values: Vec<f64>,
}

#[derive(Default)]
pub struct Tally {
    rows: Vec<Row>,
}

impl Tally {
    /// Puts the set's questions of these parts to its base.
    pub async fn ask(
        &mut self,
        (set, base): (&Set, &Base),
        parts: &[Part],
        vectors: &mut Vectors,
        weights: Weights,
    ) -> Result<(), Failure> {
        let known = set
            .questions
            .first()
            .is_some_and(|question| vectors.know(&question.text));
        for way in Way::ALL {
            if way != Way::Lexical && !known {
                continue;
            }
            let asked = set.questions.iter().filter(|q| parts.contains(&q.part));
            for question in asked {
                let vector = vectors.question(&question.text).await?;
                let nameless = vectors.nameless(&question.text).await?;
                let values = of_question(
                    set.kind,
                    question,
                    base,
                    (vector.as_deref(), nameless.as_ref()),
                    (way, weights),
                )?;
                for (metric, value) in values {
                    self.row(set, question.part, metric, way).push(value);
                }
            }
        }
        Ok(())
    }

    /// The mean of the measure over what was counted so far.
    pub fn mean(&self, metric: &str, way: Way, part: Part) -> Option<f64> {
        let of = |row: &&Row| row.metric == metric && row.way == way && row.part == part;
        let values: Vec<f64> = self
            .rows
            .iter()
            .filter(of)
            .flat_map(|row| row.values.clone())
            .collect();
        (!values.is_empty()).then(|| mean(&values))
    }

    /// Adds the means to a report, and over the languages that paragraphs are in.
    pub fn report(&self, report: &mut Report) {
        for row in &self.rows {
            let set = match row.kind {
                Kind::Paragraphs => row.set.clone(),
                _ => format!("{} ({})", row.set, row.part.name()),
            };
            report.add(&set, row.metric, row.way.name(), mean(&row.values));
        }
        for row in self.rows.iter().filter(|row| {
            row.kind == Kind::Documents && row.part == Part::Held && row.metric == "MAP"
        }) {
            let both = |other: &&Row| {
                other.set == row.set && other.metric == row.metric && other.way == row.way
            };
            let all: Vec<f64> = self
                .rows
                .iter()
                .filter(both)
                .flat_map(|row| row.values.clone())
                .collect();
            report.add(
                &format!("{} (all)", row.set),
                row.metric,
                row.way.name(),
                mean(&all),
            );
        }
        for way in [Way::Lexical, Way::Fused] {
            // Where the model does not know the language, words are what a user gets.
            let of = |set: &str, way: Way| {
                let mut rows = self.rows.iter();
                rows.find(|row| row.set == set && row.way == way && row.kind == Kind::Paragraphs)
            };
            let values: Vec<f64> = self
                .rows
                .iter()
                .filter(|row| row.kind == Kind::Paragraphs && row.way == Way::Lexical)
                .map(|row| mean(&of(&row.set, way).unwrap_or(row).values))
                .collect();
            if !values.is_empty() {
                let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                let name = "paragraphs (all languages)";
                report.add(name, "mean nDCG@10", way.name(), mean(&values));
                report.add(name, "least nDCG@10", way.name(), least);
            }
        }
    }

    fn row(&mut self, set: &Set, part: Part, metric: &'static str, way: Way) -> &mut Vec<f64> {
        let known = self.rows.iter().position(|row| {
            (row.set.as_str(), row.kind, row.part, row.metric, row.way)
                == (set.name.as_str(), set.kind, part, metric, way)
        });
        let place = known.unwrap_or_else(|| {
            self.rows.push(Row {
                set: set.name.clone(),
                kind: set.kind,
                part,
                metric,
                way,
                values: Vec::new(),
            });
            self.rows.len() - 1
        });
        &mut self.rows[place].values
    }
}

fn of_question(
    kind: Kind,
    question: &Question,
    base: &Base,
    vectors: (Option<&[f32]>, Option<&Nameless>),
    (way, weights): (Way, Weights),
) -> Result<Vec<(&'static str, f64)>, Failure> {
    let ask = |weights, limit| base.ask(&question.text, vectors, way, (weights, limit));
    let documents_wanted = question.wanted.keys().map(|place| (place.0, 1.0)).collect();
    Ok(match kind {
        Kind::Paragraphs => {
            let found = documents(&ask(weights, 20)?);
            vec![("nDCG@10", ndcg(&found, &documents_wanted, 10))]
        }
        Kind::Documents => {
            let found = documents(&ask(weights, 1_000)?);
            vec![
                ("MAP", average_precision(&found, &documents_wanted)),
                ("nDCG@10", ndcg(&found, &documents_wanted, 10)),
            ]
        }
        Kind::Conversations => {
            let whole = Weights {
                per_document: usize::MAX,
                ..weights
            };
            let turns = ask(whole, 10)?;
            // What `search_chunks` answers when asked for ten: two hits a document.
            let limited = ask(weights, 10)?;
            vec![
                (
                    "session R@5",
                    recall(&documents(&limited), &documents_wanted, 5),
                ),
                ("turn R@5", recall(&turns, &question.wanted, 5)),
                ("turn R@10", recall(&turns, &question.wanted, 10)),
                (
                    "turn R@10, two a session",
                    recall(&limited, &question.wanted, 10),
                ),
                ("turn nDCG@10", ndcg(&turns, &question.wanted, 10)),
            ]
        }
    })
}
