//! Long conversations with questions and the turns that hold the evidence (LoCoMo's JSON).
//!
//! Each conversation is a base, each of its sessions a document titled by its moment, each turn
//! a section. Categories 1 to 4 (the fifth asks for what was never said). Known wrong evidence is
//! corrected from a file beside, which names a question by its words and its place.

use std::collections::HashMap;

use model::document::ParsedDocument;
use serde_json::Value;

use super::{File, Kind, Part, Question, Set, section};

/// The conversations that constants were tuned on; all others are reported.
const TUNED: [&str; 3] = ["conv-26", "conv-30", "conv-41"];

/// The turns that hold the evidence, by a question's words and the end of its id.
type Corrections = HashMap<(String, String), Vec<Value>>;

pub(super) fn read(name: &str, files: &[(&File, Value)]) -> Vec<Set> {
    let rows = || {
        files
            .iter()
            .filter_map(|(_, content)| content.as_array())
            .flatten()
    };
    let corrections: Corrections = rows()
        .filter_map(|row| {
            let (_, place) = row["question_id"].as_str()?.rsplit_once('_')?;
            let key = (row["question"].as_str()?.to_owned(), place.to_owned());
            Some((key, row["correct_evidence"].as_array()?.clone()))
        })
        .collect();
    let conversations = rows().filter(|row| row["conversation"].is_object());
    conversations
        .map(|row| {
            let (documents, turns) = sessions(&row["conversation"]);
            Set {
                name: name.to_owned(),
                kind: Kind::Conversations,
                questions: questions(row, &turns, &corrections),
                documents,
            }
        })
        .collect()
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
            sections.push(section(&body));
        }
        documents.push(ParsedDocument {
            title: Some(format!("Session {n}, {when}")),
            sections,
            ..ParsedDocument::default()
        });
    }
    (documents, places)
}

fn questions(
    row: &Value,
    turns: &HashMap<String, (usize, usize)>,
    corrections: &Corrections,
) -> Vec<Question> {
    let is_tuned = row["sample_id"]
        .as_str()
        .is_some_and(|id| TUNED.contains(&id));
    let part = if is_tuned { Part::Tuned } else { Part::Held };
    let all = row["qa"].as_array().into_iter().flatten().enumerate();
    let asked = all.filter(|(_, question)| question["category"].as_i64().is_some_and(|c| c < 5));
    asked
        .filter_map(|(place, question)| {
            let text = question["question"].as_str()?.to_owned();
            let known = corrections.get(&(text.clone(), format!("qa{place}")));
            let evidence = known.or(question["evidence"].as_array())?;
            let wanted: HashMap<_, _> = evidence
                .iter()
                .filter_map(Value::as_str)
                // Some entries name several turns.
                .flat_map(|ids| ids.split([';', ',', ' ']))
                .filter_map(|id| turns.get(id.trim()))
                .map(|&place| (place, 1.0))
                .collect();
            (!wanted.is_empty()).then_some(Question { text, wanted, part })
        })
        .collect()
}
