//! A real encoder, against its formulas in f64 with NumPy.

use llm::engine::Pooling;
use llm::tokenizer::SpecialText;
use llm::{EngineOptions, models};
use test_skip::{Lack, skip};

use crate::support::{reference, tokens};

#[test]
fn sentences_have_the_vectors_that_numpy_computes() {
    let Some(path) = models::cached("all-minilm-l6-v2") else {
        return skip(Lack::Data, "the model all-minilm-l6-v2 is not in the cache");
    };
    let engine =
        llm::open(path, EngineOptions { device: "cpu:2".into(), ..Default::default() }).expect("an engine");
    let reference = reference("minilm.json");
    let texts = reference["texts"].as_array().expect("texts");
    let mut inputs = Vec::new();
    for text in texts {
        let words = text["text"].as_str().expect("a text");
        let got = engine.tokenizer().encode(words, SpecialText::Text).expect("tokens");
        assert_eq!(got, tokens(&text["tokens"]), "{words}");
        inputs.push(got);
    }
    let vectors = engine.embed(&inputs, Pooling::Model).expect("vectors");
    for (text, vector) in texts.iter().zip(vectors) {
        let expected = text["vector"].as_array().expect("a vector");
        assert_eq!(vector.len(), expected.len());
        for (got, expected) in vector.iter().zip(expected) {
            assert!((f64::from(*got) - expected.as_f64().expect("a number")).abs() < 5e-6, "{text}");
        }
    }
    let description = engine.description();
    assert_eq!((description.generates, description.width, description.context), (false, 384, 512));
    assert!(engine.submit(llm::engine::Request::new(vec![1])).is_err());
}
