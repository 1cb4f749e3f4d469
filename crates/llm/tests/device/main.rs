//! Models on the device that `FERROCM_DEVICE` names, or on a virtual gfx1100, against llama.cpp.

#[path = "../cpu/support.rs"]
mod support;
#[path = "../cpu/tiny.rs"]
mod tiny;

use std::path::Path;
use std::sync::Arc;

use backend::{CpuBackend, DType, KernelBackend, select_backend};
use llm::engine::{Event, Request, Sampling};
use llm::{EngineOptions, models};
use support::{Running, argmax, difference, distance, reference, tokens};
use test_skip::{Lack, skip};

fn device() -> String {
    std::env::var("FERROCM_DEVICE").unwrap_or_else(|_| "vgpu:gfx1100".to_owned())
}

fn backend() -> Arc<dyn KernelBackend> {
    select_backend(&device()).expect("the device").backend
}

#[test]
fn every_architecture_computes_what_llama_cpp_does() {
    let (backend, reference) = (backend(), reference("tiny.json"));
    let prompt = tokens(&reference["tokens"]);
    let folder = tempfile::tempdir().expect("a folder");
    for model in reference["models"].as_array().expect("models") {
        let name = model["name"].as_str().expect("a name");
        let path = tiny::write(&folder, name);
        for (dtype, tolerance) in [(DType::F32, 0.004), (DType::BF16, 0.4)] {
            // Rounding chooses other experts where some are about as likely, so these have a test of their own.
            if tiny::MIXTURES.contains(&name) && dtype == DType::BF16 {
                continue;
            }
            let mut running = Running::on(Arc::clone(&backend), dtype, &path, 64);
            // In parts, of which the later ones see the earlier ones in the cache.
            let mut rows = running.add(&prompt[..30]);
            rows.extend(running.add(&prompt[30..47]));
            rows.extend(running.add(&prompt[47..]));
            let expected = model["prompt"].as_array().expect("positions");
            let worst = rows
                .iter()
                .zip(expected)
                .map(|(row, expected)| difference(row, expected))
                .fold(0.0, f64::max);
            assert!(worst < tolerance, "{name} in {dtype}: logits differ by {worst:.5} deviations");
        }
    }
}

#[test]
fn every_architecture_of_safetensors_computes_what_transformers_does() {
    let (backend, reference) = (backend(), reference("hugging_face.json"));
    let prompt = tokens(&reference["tokens"]);
    let folder = tempfile::tempdir().expect("a folder");
    for model in reference["models"].as_array().expect("models") {
        let name = model["name"].as_str().expect("a name");
        let path = tiny::write_folder(&folder, model);
        let mut running = Running::on(Arc::clone(&backend), DType::F32, &path, 64);
        let mut rows = running.add(&prompt[..47]);
        rows.extend(running.add(&prompt[47..]));
        let expected = model["prompt"].as_array().expect("positions");
        let found = rows.iter().zip(expected).map(|(row, expected)| difference(row, expected));
        let worst = found.fold(0.0, f64::max);
        assert!(worst < 0.004, "{name}: logits differ by {worst:.5} deviations");
    }
}

/// Without a choice of experts, which rounding could change.
#[test]
fn mixtures_round_as_other_models_do() {
    let prompt = tokens(&reference("tiny.json")["tokens"]);
    let folder = tempfile::tempdir().expect("a folder");
    let cpu: Arc<dyn KernelBackend> = Arc::new(CpuBackend::new().expect("the CPU"));
    let device = backend();
    for name in tiny::MIXTURES {
        let path = tiny::write_mixture(&folder, name, 8);
        let exact = Running::on(Arc::clone(&cpu), DType::F32, &path, 64).add(&prompt);
        let rounded = Running::on(Arc::clone(&device), DType::BF16, &path, 64).add(&prompt);
        let worst = exact.iter().zip(&rounded).map(|(a, b)| distance(a, b)).fold(0.0, f64::max);
        assert!(worst < 0.4, "{name}: {worst}");
    }
}

#[test]
fn steps_that_are_recorded_yield_the_same_tokens() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["qwen3", "qwen35"] {
        compare_recorded_steps(&tiny::write(&folder, name));
    }
}

fn compare_recorded_steps(path: &Path) {
    let prompt = tokens(&reference("tiny.json")["tokens"]);
    let options = EngineOptions {
        device: device(),
        context: Some(128),
        places: 3,
        chunk: Some(32),
        activations: Some(DType::F32),
        ..EngineOptions::default()
    };
    let engine = llm::open(path, options).expect("an engine");
    let prompts = [&prompt[..20], &prompt[..33], &prompt[5..40]];
    let submitted: Vec<_> = prompts
        .iter()
        .map(|prompt| {
            let mut request = Request::new(prompt.to_vec());
            (request.sampling, request.max_tokens, request.ignore_end) = (Sampling::greedy(), 12, true);
            engine.submit(request).expect("a place")
        })
        .collect();
    let backend = backend();
    for (prompt, mut events) in prompts.iter().zip(submitted) {
        let mut got = Vec::new();
        while let Some(event) = events.blocking_next() {
            match event {
                Event::Token { id, .. } => got.push(id),
                Event::Failed(error) => panic!("{error}"),
                _ => {}
            }
        }
        let mut running = Running::on(Arc::clone(&backend), DType::F32, path, 128);
        let mut row = running.add(prompt).pop().expect("logits");
        for token in &got {
            assert_eq!(*token, argmax(&row));
            row = running.add(&[*token]).pop().expect("logits");
        }
        assert_eq!(got.len(), 12);
    }
}

#[test]
fn tokens_are_drawn_on_the_device() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = tiny::write(&folder, "llama");
    let options = EngineOptions { device: device(), context: Some(128), ..EngineOptions::default() };
    let engine = llm::open(&path, options).expect("an engine");
    let drawn = |seed| {
        let mut request = Request::new(vec![1, 2, 3]);
        (request.max_tokens, request.ignore_end) = (10, true);
        request.sampling = Sampling { seed, temperature: 1.0, ..Sampling::default() };
        let mut events = engine.submit(request).expect("a place");
        let mut tokens = Vec::new();
        while let Some(event) = events.blocking_next() {
            match event {
                Event::Token { id, .. } => tokens.push(id),
                Event::Failed(error) => panic!("{error}"),
                _ => {}
            }
        }
        tokens
    };
    let (first, again, other) = (drawn(1), drawn(1), drawn(2));
    assert_eq!((first.len(), &first), (10, &again), "the same seed");
    assert_ne!(first, other);
}

#[test]
fn a_real_model_computes_what_llama_cpp_does() {
    for (name, reference_name) in [("smollm2", "smollm2.json"), ("gemma3-270m", "gemma3.json")] {
        let Some(path) = models::cached(name) else {
            skip(Lack::Data, format_args!("the model {name} is not in the cache"));
            continue;
        };
        let reference = reference(reference_name);
        let prompt = tokens(&reference["tokens"]);
        let mut running = Running::on(backend(), DType::BF16, &path, 32);
        let mut rows = running.add(&prompt[..7]);
        rows.extend(running.add(&prompt[7..8]));
        let expected = reference["prompt"].as_array().expect("positions");
        let worst =
            rows.iter().zip(expected).map(|(row, expected)| difference(row, expected)).fold(0.0, f64::max);
        println!("{name}: the largest difference is {worst:.5} deviations");
        assert!(worst < 0.4, "{name}: {worst}");
    }
}
