//! Documents, questions and judgements in TREC's form.
//!
//! The n-th question is number n in the judgements, whatever number the question file gives it.
//! Judged above 0 is relevant. Odd questions are for tuning.

use std::collections::HashMap;

use super::{File, Kind, Part, Question, Set, plain};

pub(super) fn read(name: &str, files: &[File]) -> Option<Set> {
    let of = |mark: &'static str| files.iter().filter(move |file| file.content.contains(mark));
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut documents = Vec::new();
    for document in of("<docno>").flat_map(|file| file.content.split("<doc>").skip(1)) {
        let part = |name| element(document, name).unwrap_or_default();
        numbers.insert(part("docno").trim().to_owned(), documents.len());
        documents.push(plain(Some(words(part("title"))), part("text")));
    }
    if documents.is_empty() {
        return None;
    }
    let mut relevant: HashMap<usize, HashMap<(usize, usize), f64>> = HashMap::new();
    for line in files.iter().flat_map(|file| file.content.lines()) {
        let mut words = line.split_whitespace();
        let four = [words.next(), words.next(), words.next(), words.next()];
        if let [Some(question), Some(_), Some(document), Some(grade)] = four
            && let (Ok(question), Some(&document)) = (question.parse(), numbers.get(document))
            && grade.parse::<i32>().is_ok_and(|grade| 0 < grade)
            && words.next().is_none()
        {
            let wanted = relevant.entry(question).or_default();
            wanted.insert((document, 0), 1.0);
        }
    }
    let topics = of("<top>").flat_map(|file| file.content.split("<top>").skip(1));
    let questions = (1..).zip(topics).filter_map(|(number, topic)| {
        Some(Question {
            text: words(element(topic, "title")?),
            wanted: relevant.remove(&number)?,
            part: if number % 2 == 1 {
                Part::Tuned
            } else {
                Part::Held
            },
        })
    });
    Some(Set {
        name: name.to_owned(),
        kind: Kind::Documents,
        questions: questions.collect(),
        documents,
    })
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What stands inside the first element of the name, or after its opening tag if it is not
/// closed.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let start = text.find(&format!("<{name}>"))? + name.len() + 2;
    let rest = &text[start..];
    let end = rest
        .find(&format!("</{name}>"))
        .or_else(|| rest.find('<'))
        .unwrap_or(rest.len());
    Some(&rest[..end])
}
