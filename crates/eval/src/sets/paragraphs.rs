//! Questions and the paragraph that answers them (SQuAD's JSON), one file per language.

use std::collections::HashMap;

use serde_json::Value;

use super::{File, Kind, Part, Question, Set, plain};

pub(super) fn read(files: &[(&File, Value)]) -> Vec<Set> {
    let squad = files
        .iter()
        .filter(|(_, content)| content["data"].is_array());
    squad
        .map(|(file, content)| set(file.stem(), content))
        .collect()
}

fn set(name: String, content: &Value) -> Set {
    let (mut documents, mut questions) = (Vec::new(), Vec::new());
    let articles = content["data"].as_array().into_iter().flatten();
    for paragraph in articles
        .filter_map(|article| article["paragraphs"].as_array())
        .flatten()
    {
        for question in paragraph["qas"].as_array().into_iter().flatten() {
            let impossible = question["is_impossible"].as_bool().unwrap_or(false);
            if let (Some(text), false) = (question["question"].as_str(), impossible) {
                questions.push(Question {
                    text: text.to_owned(),
                    wanted: HashMap::from([((documents.len(), 0), 1.0)]),
                    part: Part::Held,
                });
            }
        }
        documents.push(plain(
            None,
            paragraph["context"].as_str().unwrap_or_default(),
        ));
    }
    Set {
        name,
        kind: Kind::Paragraphs,
        documents,
        questions,
    }
}
