//! Questions and the paragraph that answers them (SQuAD's JSON), one file per language.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use model::rank::Weights;
use serde_json::Value;

use crate::Failure;
use crate::base::{Base, plain};
use crate::embed::Vectors;
use crate::measure::{Way, mean, ndcg};
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
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    let mut means: Vec<(Way, f64)> = Vec::new();
    for file in files {
        let set = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let content: Value = serde_json::from_slice(&fs::read(&file)?)?;
        let (mut documents, mut questions) = (Vec::new(), Vec::new());
        let articles = content["data"].as_array().into_iter().flatten();
        for paragraph in articles
            .filter_map(|article| article["paragraphs"].as_array())
            .flatten()
        {
            for question in paragraph["qas"].as_array().into_iter().flatten() {
                if let Some(text) = question["question"].as_str() {
                    questions.push((text.to_owned(), documents.len()));
                }
            }
            documents.push(plain(
                None,
                paragraph["context"].as_str().unwrap_or_default(),
            ));
        }
        let base = Base::new(&documents, vectors).await?;
        let known = vectors.any() && questions.first().is_some_and(|q| vectors.know(&q.0));
        for way in Way::ALL
            .into_iter()
            .filter(|&way| way == Way::Lexical || known)
        {
            let mut values = Vec::new();
            for (text, answer) in &questions {
                let vector = vectors.question(text).await?;
                let found = base.ask_documents(text, vector.as_deref(), way, (weights, 20))?;
                values.push(ndcg(&found, &HashMap::from([(*answer, 1.0)]), 10));
            }
            report.add(&set, "nDCG@10", way.name(), mean(&values));
            means.push((way, mean(&values)));
            if way == Way::Lexical && !known {
                means.push((Way::Fused, mean(&values)));
            }
        }
    }
    for way in [Way::Lexical, Way::Fused] {
        let of: Vec<f64> = means
            .iter()
            .filter(|row| row.0 == way)
            .map(|row| row.1)
            .collect();
        if !of.is_empty() {
            report.add(
                "xquad (all languages)",
                "mean nDCG@10",
                way.name(),
                mean(&of),
            );
        }
    }
    Ok(())
}
