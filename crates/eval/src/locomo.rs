//! Long conversations with questions and the turns that hold the evidence.
//!
//! Each conversation is a base, each of its sessions a document titled by its moment, each turn
//! a section. Categories 1 to 4 (the fifth asks for what was never said); known wrong evidence is
//! corrected from the file beside. The first three fifths of the conversations are for tuning,
//! the rest is reported.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use model::document::{ParsedDocument, Section};
use model::rank::Weights;
use serde_json::Value;

use crate::Failure;
use crate::base::Base;
use crate::embed::Vectors;
use crate::measure::{Way, mean, ndcg, recall};
use crate::report::Report;

struct Question {
    text: String,
    /// Session and turn.
    evidence: HashMap<(usize, usize), f64>,
}

#[derive(Default)]
struct Values {
    session: Vec<f64>,
    turn_5: Vec<f64>,
    turn_10: Vec<f64>,
    capped_10: Vec<f64>,
    gain: Vec<f64>,
}

pub async fn measure(
    folder: &Path,
    vectors: &mut Vectors,
    weights: Weights,
    report: &mut Report,
) -> Result<(), Failure> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(());
    };
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let (mut conversations, mut corrected) = (Vec::new(), HashMap::new());
    for file in files {
        let Ok(Value::Array(rows)) = serde_json::from_slice(&fs::read(file)?) else {
            continue;
        };
        for row in rows {
            if row["conversation"].is_object() {
                conversations.push(row);
            } else if let (Some(id), Some(turns)) = (
                row["question_id"].as_str(),
                row["correct_evidence"].as_array(),
            ) {
                corrected.insert(id.to_owned(), turns.clone());
            }
        }
    }
    let tuned = conversations.len().div_ceil(5) * 3;
    let mut values: Vec<[Values; 2]> = (0..3).map(|_| Default::default()).collect();
    for (n, conversation) in conversations.iter().enumerate() {
        let (documents, turns) = sessions(&conversation["conversation"]);
        let questions = questions(n, conversation, &turns, &corrected);
        let base = Base::new(&documents, vectors).await?;
        for (row, way) in Way::ALL.into_iter().enumerate() {
            if way != Way::Lexical && !vectors.any() {
                continue;
            }
            let values = &mut values[row][usize::from(tuned <= n)];
            for question in &questions {
                let vector = vectors.question(&question.text).await?;
                let whole = Weights {
                    per_document: usize::MAX,
                    ..weights
                };
                let ask = |weights, limit| {
                    base.ask(&question.text, vector.as_deref(), way, (weights, limit))
                };
                let found = ask(whole, 10)?;
                values.turn_5.push(recall(&found, &question.evidence, 5));
                values.turn_10.push(recall(&found, &question.evidence, 10));
                values.gain.push(ndcg(&found, &question.evidence, 10));
                values
                    .capped_10
                    .push(recall(&ask(weights, 10)?, &question.evidence, 10));
                let documents =
                    base.ask_documents(&question.text, vector.as_deref(), way, (whole, 400))?;
                let wanted = question.evidence.keys().map(|turn| (turn.0, 1.0)).collect();
                values.session.push(recall(&documents, &wanted, 5));
            }
        }
    }
    for (row, way) in Way::ALL.into_iter().enumerate() {
        for (half, values) in ["1-3, tuned", "4-5"].into_iter().zip(&values[row]) {
            if values.session.is_empty() {
                continue;
            }
            let set = format!("locomo ({half})");
            report.add(&set, "session R@5", way.name(), mean(&values.session));
            report.add(&set, "turn R@5", way.name(), mean(&values.turn_5));
            report.add(&set, "turn R@10", way.name(), mean(&values.turn_10));
            report.add(&set, "capped R@10", way.name(), mean(&values.capped_10));
            report.add(&set, "turn nDCG@10", way.name(), mean(&values.gain));
        }
    }
    Ok(())
}

/// The sessions as documents, and the place of each turn by its id.
fn sessions(conversation: &Value) -> (Vec<ParsedDocument>, HashMap<String, (usize, usize)>) {
    let (mut documents, mut places) = (Vec::new(), HashMap::new());
    for n in 1.. {
        let Some(turns) = conversation[format!("session_{n}")].as_array() else {
            break;
        };
        let when = conversation[format!("session_{n}_date_time")]
            .as_str()
            .unwrap_or_default();
        let mut sections = Vec::new();
        for turn in turns {
            if let Some(id) = turn["dia_id"].as_str() {
                places.insert(id.to_owned(), (documents.len(), sections.len()));
            }
            let said = |key: &str| turn[key].as_str().unwrap_or_default().to_owned();
            let mut body = format!("{}: {}", said("speaker"), said("text"));
            if turn["blip_caption"].is_string() {
                body = format!("{body} [shares {}]", said("blip_caption"));
            }
            sections.push(Section {
                heading_path: Vec::new(),
                body: body.trim().to_owned(),
            });
        }
        let title = Some(format!("Session {n}, {when}"));
        documents.push(ParsedDocument {
            title,
            sections,
            ..ParsedDocument::default()
        });
    }
    (documents, places)
}

fn questions(
    n: usize,
    conversation: &Value,
    turns: &HashMap<String, (usize, usize)>,
    corrected: &HashMap<String, Vec<Value>>,
) -> Vec<Question> {
    let all = conversation["qa"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate();
    let asked = all.filter(|(_, question)| question["category"].as_i64().is_some_and(|c| c < 5));
    asked
        .filter_map(|(place, question)| {
            let known = corrected.get(&format!("locomo_{n}_qa{place}"));
            let evidence = known.or(question["evidence"].as_array())?;
            let evidence: HashMap<_, _> = evidence
                .iter()
                .filter_map(Value::as_str)
                // Some entries name several turns.
                .flat_map(|ids| ids.split([';', ',', ' ']))
                .filter_map(|id| turns.get(id.trim()))
                .map(|&place| (place, 1.0))
                .collect();
            let text = question["question"].as_str()?.to_owned();
            (!evidence.is_empty()).then_some(Question { text, evidence })
        })
        .collect()
}
