//! Abstracts, questions and judgements in TREC's form.
//!
//! The numbers in the question file are not those of the judgements: the n-th question is number
//! n. Judged above 0 is relevant. Odd questions are for tuning, even ones are reported.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use model::rank::Weights;

use crate::Failure;
use crate::base::{Base, plain};
use crate::embed::Vectors;
use crate::measure::{Way, average_precision, mean, ndcg};
use crate::report::Report;

pub async fn measure(
    folder: &Path,
    vectors: &mut Vectors,
    weights: Weights,
    report: &mut Report,
) -> Result<(), Failure> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(());
    };
    let (mut texts, mut topics, mut judged) = (String::new(), String::new(), String::new());
    for entry in entries.flatten() {
        let content = String::from_utf8_lossy(&fs::read(entry.path())?).into_owned();
        if content.contains("<docno>") {
            texts = content;
        } else if content.contains("<top>") {
            topics = content;
        } else {
            judged = content;
        }
    }
    let mut numbers = Vec::new();
    let mut documents = Vec::new();
    for document in texts.split("<doc>").skip(1) {
        let part = |name| element(document, name).unwrap_or_default();
        numbers.push(part("docno").trim().to_owned());
        let title = part("title")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        documents.push(plain(Some(title), part("text")));
    }
    let questions: Vec<String> = topics
        .split("<top>")
        .skip(1)
        .map(|topic| {
            element(topic, "title")
                .unwrap_or_default()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    let mut relevant: HashMap<usize, HashMap<usize, f64>> = HashMap::new();
    for line in judged.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [question, _, document, grade] = words[..]
            && let (Ok(question), Some(document)) = (
                question.parse(),
                numbers.iter().position(|number| number == document),
            )
            && grade.parse::<i32>().is_ok_and(|grade| 0 < grade)
        {
            relevant.entry(question).or_default().insert(document, 1.0);
        }
    }
    if relevant.is_empty() {
        return Ok(());
    }
    let base = Base::new(&documents, vectors).await?;
    let any = vectors.any();
    for way in Way::ALL
        .into_iter()
        .filter(|&way| way == Way::Lexical || any)
    {
        let (mut precision, mut gain) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        for (n, text) in questions.iter().enumerate() {
            let Some(wanted) = relevant.get(&(n + 1)) else {
                continue;
            };
            let vector = vectors.question(text).await?;
            let found = base.ask_documents(text, vector.as_deref(), way, (weights, 1_000))?;
            precision[n % 2].push(average_precision(&found, wanted));
            gain[n % 2].push(ndcg(&found, wanted, 10));
        }
        for (half, n) in [("odd, tuned", 0), ("even", 1)] {
            report.add(
                &format!("cranfield ({half})"),
                "MAP",
                way.name(),
                mean(&precision[n]),
            );
            report.add(
                &format!("cranfield ({half})"),
                "nDCG@10",
                way.name(),
                mean(&gain[n]),
            );
        }
        report.add(
            "cranfield (all)",
            "MAP",
            way.name(),
            mean(&precision.concat()),
        );
    }
    Ok(())
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
