//! The local model against vectors that the published float weights give.
//!
//! `data/minilm.json` was computed from the 32-bit weights by a plain forward pass; the int8
//! weights must come as near as 0.999. Runs where `QUIPU_TEST_MODELS` names a folder that
//! `quipu models install` has filled.

use std::path::PathBuf;

use providers::{Embedder, quantise};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    text: String,
    vector: Vec<f32>,
}

#[expect(
    clippy::disallowed_methods,
    reason = "tests have no configuration to ask"
)]
fn models() -> Option<PathBuf> {
    let dir = std::env::var_os("QUIPU_TEST_MODELS").map(PathBuf::from);
    if dir.is_none() {
        println!("skipped: QUIPU_TEST_MODELS names no folder with a model");
    }
    dir
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    product(a, b) / (product(a, a) * product(b, b)).sqrt()
}

#[tokio::test]
async fn the_local_model_gives_the_vectors_of_the_float_weights() {
    let Some(dir) = models() else { return };
    let golden: Vec<Golden> = serde_json::from_str(include_str!("../data/minilm.json")).unwrap();
    let embedder = Embedder::load(&dir)
        .unwrap()
        .expect("the folder holds a model");
    let texts = golden
        .iter()
        .map(|golden| golden.text.as_str())
        .collect::<Vec<_>>();

    let vectors = embedder.embed_passages(&texts).await.unwrap();

    for (golden, vector) in golden.iter().zip(&vectors) {
        assert_eq!(vector.len(), embedder.width());
        let near = cosine(&golden.vector, vector);
        assert!(0.999 <= near, "{near} for {:?}", golden.text);
        let (scale, codes) = quantise(vector);
        let coded = codes
            .iter()
            .map(|&code| scale * f32::from(code))
            .collect::<Vec<_>>();
        assert!(0.999 <= cosine(vector, &coded));
    }
}

#[tokio::test]
async fn a_passage_has_the_same_vector_alone_in_company_and_as_a_query() {
    let Some(dir) = models() else { return };
    let embedder = Embedder::load(&dir)
        .unwrap()
        .expect("the folder holds a model");
    let long = "the cord and the knot ".repeat(200);
    let texts = ["knots in cords", long.as_str(), "", "who tied them?"];

    let together = embedder.embed_passages(&texts).await.unwrap();

    for (text, vector) in texts.iter().zip(&together) {
        let alone = embedder.embed_passages(&[text]).await.unwrap();
        assert_eq!(&alone[0], vector);
        assert_eq!(&embedder.embed_query(text).await.unwrap(), vector);
    }
}
