//! Logits and vectors that are not finite are errors, whatever is asked for.

use std::path::Path;
use std::sync::Arc;

use backend::DType;
use llm::engine::{Dry, Engine, Event, Events, Pooling, Request, Sampling};
use llm::{EngineOptions, Error, Speculation};

use crate::engine::{answer, options, prompt, request};
use crate::tiny;

/// The last event, which is an error, and the number of tokens before.
pub(crate) fn failure(mut events: Events) -> (Error, usize) {
    let mut tokens = 0;
    while let Some(event) = events.blocking_next() {
        match event {
            Event::Token { .. } => tokens += 1,
            Event::Failed(error) => {
                assert!(events.blocking_next().is_none(), "the last event");
                return (error, tokens);
            }
            Event::Finished { .. } => panic!("a result"),
            _ => {}
        }
    }
    panic!("no last event");
}

/// Ways to choose a token: the most likely one, drawn, and what is only done on the host.
fn requests() -> Vec<Request> {
    let greedy = request(&prompt()[..20], 4);
    let with = |sampling| {
        let mut request = greedy.clone();
        request.sampling = sampling;
        request
    };
    let mut all = vec![
        greedy.clone(),
        with(Sampling::default()),
        with(Sampling { repeat_penalty: 1.3, ..Sampling::greedy() }),
        with(Sampling { typical_p: 0.9, dry: Some(Dry::default()), ..Sampling::default() }),
        with(Sampling::greedy()),
    ];
    all[4].logprobs = Some(2);
    all
}

fn open(path: &Path, options: EngineOptions<'_>) -> Arc<dyn Engine> {
    llm::open(path, options).expect("an engine")
}

#[test]
fn no_architecture_makes_a_token_of_nan() {
    let folder = tempfile::tempdir().expect("a folder");
    let reference = crate::support::reference("tiny.json");
    for model in reference["models"].as_array().expect("models") {
        let name = model["name"].as_str().expect("a name");
        let path = tiny::write_numbers(&folder, name, |name, numbers| {
            if name == "output_norm.weight" {
                numbers[3] = f32::NAN;
            }
        });
        let engine = open(&path, options());
        for request in requests() {
            let (error, tokens) = failure(engine.submit(request).expect("a place"));
            assert!(matches!(error, Error::NotFinite { .. }) && tokens == 0, "{name}: {error}");
            let model = &engine.description().name;
            let expected = format!("the model {model} computed f32 numbers that are infinite or NaN: its");
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
        let error = engine.embed(&[prompt()], Pooling::Mean).expect_err("no vector");
        assert!(matches!(error, Error::NotFinite { .. }), "{name}: {error}");
    }
}

/// One bad number among the logits is enough, at the beginning and at the end.
#[test]
fn one_logit_that_is_not_finite_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, last) in [(f32::NAN, true), (f32::NAN, false), (f32::MAX, true)] {
        let path = tiny::write_numbers(&folder, "llama", |name, numbers| {
            if name == "output.weight" {
                let (width, rows) = (64, tiny::VOCABULARY);
                // Both signs, so that one of the two is +∞ for any vector.
                for (row, sign) in [(if last { rows - 1 } else { 0 }, 1.0), (rows / 2, -1.0)] {
                    numbers[row * width..][..width].fill(number * sign);
                }
            }
        });
        let engine = open(&path, options());
        for request in requests() {
            let (error, tokens) = failure(engine.submit(request).expect("a place"));
            assert!(matches!(error, Error::NotFinite { .. }) && tokens == 0, "{number}: {error}");
        }
    }
}

#[test]
fn others_go_on_when_a_request_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(&tiny::write_with_a_bad_token(&folder, "qwen2", 9), options());
    let good = prompt()[..20].to_vec();
    let bad = [&good[..], &[9]].concat();
    let sound = open(&tiny::write(&folder, "qwen2"), options());
    let expected = answer(sound.submit(request(&good, 12)).expect("a place")).tokens;
    assert!(!expected.contains(&9));
    for _ in 0..2 {
        let submit = |prompt: &[u32], count| engine.submit(request(prompt, count)).expect("a place");
        let (first, second, third) = (submit(&good, 12), submit(&bad, 12), submit(&good, 12));
        let (error, _) = failure(second);
        assert!(matches!(error, Error::NotFinite { .. }), "{error}");
        for events in [first, third] {
            assert_eq!(answer(events).tokens, expected);
        }
    }
    assert_eq!(engine.load().running, 0);
}

#[test]
fn a_model_that_guesses_nan_is_named() {
    let (folder, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let path = tiny::write_numbers(&other, "qwen2", |name, numbers| {
        if name == "output_norm.weight" {
            numbers[3] = f32::NAN;
        }
    });
    let speculation = Speculation::Draft { path, tokens: 3 };
    let engine = open(&tiny::write(&folder, "llama"), EngineOptions { speculation, ..options() });
    for request in requests() {
        let (error, _) = failure(engine.submit(request).expect("a place"));
        assert!(error.to_string().contains("the model tiny qwen2 computed"), "{error}");
    }
}

#[test]
fn activations_beyond_f16_are_an_error_that_names_other_types() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = tiny::write_large(&folder);
    let open = |activations| open(&path, EngineOptions { activations: Some(activations), ..options() });
    for request in requests() {
        let (error, tokens) = failure(open(DType::F16).submit(request).expect("a place"));
        assert_eq!(
            error.to_string(),
            "the model tiny llama computed f16 numbers that are infinite or NaN: they may be beyond 65504, the \
             largest of f16, so activations of bf16 or f32 may help"
        );
        assert_eq!(tokens, 0);
    }
    for activations in [DType::BF16, DType::F32] {
        assert_eq!(answer(open(activations).submit(requests().remove(0)).expect("a place")).tokens.len(), 4);
    }
}

/// Those whose numbers are known to go beyond it are refused before they are loaded.
#[test]
fn models_that_need_more_range_than_that_of_f16_refuse_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let opened = |name: &str, activations, speculation| {
        let options = EngineOptions { activations: Some(activations), speculation, ..options() };
        llm::open(tiny::write(&folder, name), options)
    };
    for name in ["gemma2", "gemma3", "gpt-oss", "qwen3next", "qwen35", "qwen35moe"] {
        let error = opened(name, DType::F16, Speculation::Off).err().expect("refused").to_string();
        let expected = format!(
            "the model tiny {name} computes numbers beyond 65504, the largest of f16: its activations can be \
             bf16 or f32"
        );
        assert_eq!(error, expected);
        assert!(opened(name, DType::BF16, Speculation::Off).is_ok(), "{name}");
    }
    assert!(opened("llama", DType::F16, Speculation::Off).is_ok());
    let draft = Speculation::Draft { path: tiny::write(&folder, "gemma2"), tokens: 3 };
    let error = opened("llama", DType::F16, draft).err().expect("refused").to_string();
    assert!(error.starts_with("the model tiny gemma2 computes numbers beyond"), "{error}");
}
