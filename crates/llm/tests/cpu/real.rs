//! Real models.

use llm::gguf::GgufFile;
use llm::models;
use llm::tokenizer::{SpecialText, Tokenizer};
use test_skip::{Lack, skip};

use crate::on_cpu;
use crate::support::{Drift, argmax, difference, reference, tokens};

/// The models, by their names here, and the references.
const MODELS: [(&str, &str); 2] = [("smollm2", "smollm2.json"), ("gemma3-270m", "gemma3.json")];

#[test]
fn texts_become_the_tokens_that_llama_cpp_makes_of_them() {
    for (name, reference_name) in MODELS {
        let Some(path) = models::cached(name) else {
            skip(Lack::Data, format_args!("the model {name} is not in the cache"));
            continue;
        };
        let file = GgufFile::open(&path).expect("a file");
        let tokenizer = Tokenizer::from_metadata(file.metadata(), &path).expect("a tokenizer");
        let reference = reference(reference_name);
        for text in reference["texts"].as_array().expect("texts") {
            let (words, special) = (text["text"].as_str().expect("a text"), tokens(&text["with_special"]));
            let got = tokenizer.encode(words, SpecialText::Tokens).expect("encodable");
            assert_eq!(got, special, "{name}: {words:?} with special tokens");
            let got = tokenizer.encode_part(words, SpecialText::Text).expect("encodable");
            assert_eq!(got, tokens(&text["plain"]), "{name}: {words:?} as text");
            // SentencePiece's spaces are spaces.
            let words = words.replace('▁', if name == "smollm2" { "▁" } else { " " });
            assert_eq!(tokenizer.decode(&got), words, "{name}: back again");
            let mut stream = tokenizer.stream();
            let streamed: String = got.iter().map(|&token| stream.push(token)).collect();
            assert_eq!(streamed + &stream.finish(), words, "{name}: token by token");
        }
    }
}

#[test]
fn logits_and_greedy_tokens_are_those_of_llama_cpp_in_f32() {
    for (name, reference_name) in MODELS {
        let Some(path) = models::cached(name) else {
            skip(Lack::Data, format_args!("the model {name} is not in the cache"));
            continue;
        };
        let reference = reference(reference_name);
        let mut running = on_cpu(&path, 160);
        let prompt = tokens(&reference["tokens"]);
        // In parts, of which the later ones see the earlier ones in the cache.
        let mut rows = running.add(&prompt[..40]);
        rows.extend(running.add(&prompt[40..]));
        let expected = reference["prompt"].as_array().expect("positions");
        let worst =
            rows.iter().zip(expected).map(|(row, expected)| difference(row, expected)).fold(0.0, f64::max);
        println!("{name}: the largest difference is {worst:.5} deviations");
        assert!(worst < TOLERANCE, "{name}: {worst}");
        let mut row = rows.pop().expect("the last token's");
        let leads = reference["leads"].as_array().expect("leads");
        for (at, (&expected, lead)) in tokens(&reference["greedy"]).iter().zip(leads).enumerate() {
            let got = argmax(&row);
            if got != expected {
                assert!(lead.as_f64().expect("a lead") < 0.05, "{name}: token {at} is {got}, not {expected}");
            }
            row = running.add(&[expected]).pop().expect("logits");
        }
    }
}

/// A second judge of the same file.
#[test]
fn logits_are_those_of_candle() {
    let Some(path) = models::cached("smollm2") else {
        skip(Lack::Data, format_args!("the model smollm2 is not in the cache"));
        return;
    };
    let reference = reference("candle.json");
    let prompt = tokens(&reference["tokens"]);
    let rows = on_cpu(&path, 96).add(&prompt);
    let expected = reference["prompt"].as_array().expect("positions");
    assert_eq!(rows.len(), expected.len());
    let worst =
        rows.iter().zip(expected).map(|(row, expected)| difference(row, expected)).fold(0.0, f64::max);
    println!("the largest difference is {worst:.5} deviations");
    assert!(worst < TOLERANCE, "{worst}");
}

/// Weights are quantised in both programs, and activations are rounded to 8 bits only in llama.cpp, and here
/// for a few tokens at a time. So the copy of the file in f32, where nothing is rounded, says whether the
/// formulas are the same; and it is the truth from which rounding leads away, in either program.
#[test]
fn perplexity_is_that_of_llama_cpp() {
    let reference = reference("perplexity.json");
    for (name, _) in MODELS {
        let Some(path) = models::cached(name) else {
            skip(Lack::Data, format_args!("the model {name} is not in the cache"));
            continue;
        };
        let reference = &reference["models"][name];
        let number = |which: &str| reference[which].as_f64().expect("a number");
        let prompt = tokens(&reference["tokens"]);
        let (mut exact, mut rounded) = (on_cpu(&path, prompt.len()), on_cpu(&path, prompt.len()));
        let (mut drift, mut at) = (Drift::default(), 0);
        for part in prompt.chunks(12 * FEW) {
            let in_f32 = exact.add(part);
            let in_8_bits = part.chunks(FEW).flat_map(|part| rounded.add(part));
            for (truth, row) in in_f32.iter().zip(in_8_bits) {
                at += 1;
                drift.add(truth, &row, prompt.get(at).copied());
            }
        }
        let [in_f32, change] = drift.perplexities().map(|found| found / number("in_f32") - 1.0);
        let far = drift.divergence();
        println!(
            "{name}: {:.4} % from f32; in 8 bits {:.3} %, divergence {far:.5}; llama.cpp's {:.3} %, {:.5}",
            in_f32 * 100.0,
            change * 100.0,
            (number("as_is") / number("in_f32") - 1.0) * 100.0,
            number("divergence"),
        );
        assert!(in_f32.abs() < 0.0001, "{name}: {in_f32}");
        assert!(far < 1.25 * number("divergence"), "{name}: {far}");
    }
}

/// Tokens at a time for which the CPU rounds activations to 8 bits, where the processor can.
const FEW: usize = 8;

/// In deviations of all logits at a position.
const TOLERANCE: f64 = 0.02;
