//! Models on the device that `FERROCM_DEVICE` names, or on a virtual gfx1100, against llama.cpp.

mod ahead;
mod nodes;
mod recorded;
#[path = "../cpu/support.rs"]
mod support;
#[path = "../cpu/tiny.rs"]
mod tiny;

use std::path::Path;
use std::sync::Arc;

use backend::{BackendKind, CpuBackend, DType, KernelBackend, select_backend};
use llm::adapter::AdapterOption;
use llm::engine::{Engine, Event, Request, Sampling, Usage};
use llm::{EngineOptions, Speculation, models};
use support::{Drift, Running, argmax, difference, distance, reference, tokens};
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
            // Rounding chooses other experts where some are about as likely, so these have a test of their
            // own.
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

#[test]
fn adapters_of_peft_add_what_peft_adds() {
    let (backend, adapters, models) = (backend(), reference("adapters.json"), reference("hugging_face.json"));
    let prompt = tokens(&models["tokens"]);
    for adapter in adapters["adapters"].as_array().expect("adapters") {
        let folder = tempfile::tempdir().expect("a folder");
        let models = models["models"].as_array().expect("models");
        let model = models.iter().find(|model| model["name"] == adapter["model"]).expect("its model");
        let path = tiny::write_folder(&folder, model);
        let place = folder.path().join("adapter");
        tiny::write_parts(&place, adapter, ["adapter_config.json", "adapter_model.safetensors"]);
        let adapted = [AdapterOption { path: place, scale: 1.0 }];
        let mut running = Running::adapted(Arc::clone(&backend), DType::F32, &path, &adapted, 64);
        let rows = running.add(&prompt);
        let expected = adapter["prompt"].as_array().expect("positions");
        let found = rows.iter().zip(expected).map(|(row, expected)| difference(row, expected));
        let worst = found.fold(0.0, f64::max);
        assert!(worst < 0.004, "{}: {worst}", adapter["model"]);
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

/// The tokens of a request.
fn tokens_of(engine: &dyn Engine, request: Request) -> (Vec<u32>, Usage) {
    let mut events = engine.submit(request).expect("a place");
    let mut tokens = Vec::new();
    while let Some(event) = events.blocking_next() {
        match event {
            Event::Token { id, .. } => tokens.push(id),
            Event::Finished { usage, .. } => return (tokens, usage),
            Event::Failed(error) => panic!("{error}"),
            _ => {}
        }
    }
    panic!("no end");
}

fn greedy(prompt: &[u32], count: usize) -> Request {
    let mut request = Request::new(prompt.to_vec());
    (request.sampling, request.max_tokens, request.ignore_end) = (Sampling::greedy(), count, true);
    request
}

#[test]
fn guesses_change_no_token() {
    let folder = tempfile::tempdir().expect("a folder");
    // The second one has states.
    for name in ["llama", "qwen35"] {
        guesses_of_one_change_no_token(&tiny::write(&folder, name), 1);
    }
}

#[test]
fn guesses_change_no_token_where_devices_share_a_model() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["llama", "qwen35"] {
        guesses_of_one_change_no_token(&tiny::write(&folder, name), 2);
    }
}

fn guesses_of_one_change_no_token(path: &Path, ranks: usize) {
    let prompt = tokens(&reference("tiny.json")["tokens"]);
    let draft = Speculation::Draft { path: path.to_owned(), tokens: 3 };
    let open = |speculation| {
        let (device, activations) = (device(), Some(DType::F32));
        let context = Some(256);
        let options =
            EngineOptions { device, ranks, context, activations, speculation, ..EngineOptions::default() };
        match llm::open(path, options) {
            Ok(engine) => Some(engine),
            Err(error) if ranks > 1 && !self::device().starts_with("vgpu") => {
                skip(Lack::Device, format_args!("{error}"));
                None
            }
            Err(error) => panic!("{error}"),
        }
    };
    let drawn = |seed| {
        let mut request = greedy(&prompt, 30);
        request.sampling = Sampling { seed, temperature: 0.8, ..Sampling::default() };
        request
    };
    let Some(plain) = open(Speculation::Off) else { return };
    let expected = [greedy(&prompt, 60), drawn(1), drawn(2)].map(|request| tokens_of(&*plain, request).0);
    for speculation in [Speculation::Lookup { tokens: 4 }, draft] {
        let Some(engine) = open(speculation.clone()) else { return };
        for (request, expected) in [greedy(&prompt, 60), drawn(1), drawn(2)].into_iter().zip(&expected) {
            let (got, usage) = tokens_of(&*engine, request);
            assert_eq!(got, *expected, "{speculation:?}");
            if matches!(speculation, Speculation::Draft { .. }) {
                assert!(usage.accepted_tokens > 20, "{usage:?}");
            }
        }
    }
}

#[test]
fn devices_that_share_a_model_yield_the_tokens_that_one_yields() {
    let folder = tempfile::tempdir().expect("a folder");
    let prompt = tokens(&reference("tiny.json")["tokens"]);
    let two = ["qwen3", "gemma3", "gpt-oss", "qwen3next"].map(|name| (2, tiny::write(&folder, name)));
    let delta = tiny::write_wide_delta(&folder, "qwen35");
    let wide = [(4, tiny::write_wide(&folder)), (2, delta.clone()), (4, delta)];
    for (ranks, path) in two.into_iter().chain(wide) {
        let open = |ranks| {
            let (device, activations) = (device(), Some(DType::F32));
            let context = Some(128);
            llm::open(
                &path,
                EngineOptions { device, ranks, context, activations, ..EngineOptions::default() },
            )
        };
        let engine = match open(ranks) {
            Ok(engine) => engine,
            Err(error) if !device().starts_with("vgpu") && error.to_string().contains("devices") => {
                skip(Lack::Device, format_args!("{error}"));
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let (got, _) = tokens_of(&*engine, greedy(&prompt, 16));
        let (expected, _) = tokens_of(&*open(1).expect("an engine"), greedy(&prompt, 16));
        assert_eq!(got, expected, "{ranks} ranks, {}", path.display());
    }
}

/// The CPU's perplexity is held against llama.cpp's by a test of its own. Devices round activations to 8 bits
/// beside quantised weights, which moves a short text's perplexity by a percent or two in either direction;
/// the divergence averages over all of the vocabulary, so that it tells rounding (0.004) from an error.
#[test]
fn real_models_predict_what_they_do_on_the_cpu() {
    let reference = reference("perplexity.json");
    for name in ["smollm2", "gemma3-270m"] {
        let Some(path) = models::cached(name) else {
            skip(Lack::Data, format_args!("the model {name} is not in the cache"));
            continue;
        };
        // A part of the text, as virtual GPUs are slow.
        let text = &tokens(&reference["models"][name]["tokens"])[..64];
        let cpu: Arc<dyn KernelBackend> = Arc::new(CpuBackend::new().expect("the CPU"));
        let expected = Running::on(cpu, DType::F32, &path, 64).add(text);
        let rows = Running::on(backend(), DType::BF16, &path, 64).add(text);
        let mut drift = Drift::default();
        for (at, (expected, row)) in expected.iter().zip(&rows).enumerate() {
            drift.add(expected, row, text.get(at + 1).copied());
        }
        let (divergence, [of_cpu, of_device]) = (drift.divergence(), drift.perplexities());
        let change = of_device / of_cpu - 1.0;
        println!("{name}: divergence {divergence:.5}, perplexity {:+.3} %", change * 100.0);
        assert!(divergence < 0.008 && change.abs() < 0.05, "{name}: {divergence}, {change}");
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

/// A device says so in the number of the token that it draws.
#[test]
fn logits_that_are_not_finite_are_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = |path: &Path, activations| {
        let (device, context) = (device(), Some(128));
        llm::open(path, EngineOptions { device, context, activations, ..EngineOptions::default() })
            .expect("an engine")
    };
    let failure = |engine: &dyn Engine, request| {
        let mut events = engine.submit(request).expect("a place");
        while let Some(event) = events.blocking_next() {
            match event {
                Event::Failed(error) => return error.to_string(),
                Event::Token { .. } | Event::Finished { .. } => panic!("{event:?}"),
                _ => {}
            }
        }
        panic!("no end");
    };
    let drawn = |mut request: Request| {
        request.sampling = Sampling::default();
        request
    };
    let good: Vec<u32> = tokens(&reference("tiny.json")["tokens"])[..12].to_vec();
    let bad = [&good[..], &[9]].concat();
    let engine = open(&tiny::write_with_a_bad_token(&folder, "llama", 9), Some(DType::F32));
    for _ in 0..2 {
        for request in [greedy(&bad, 5), drawn(greedy(&bad, 5))] {
            let error = failure(&*engine, request);
            assert!(error.starts_with("the model tiny llama computed f32 numbers"), "{error}");
        }
        assert_eq!(tokens_of(&*engine, greedy(&good, 5)).0.len(), 5, "the engine goes on");
    }
    // Without a wish, Llama has activations of f16.
    let engine = open(&tiny::write_large(&folder), None);
    for request in [greedy(&good, 5), drawn(greedy(&good, 5))] {
        let error = failure(&*engine, request);
        assert!(error.contains("so activations of bf16 or f32 may help"), "{error}");
    }
    // Gemma has others.
    let engine = open(&tiny::write(&folder, "gemma3"), None);
    assert_eq!(tokens_of(&*engine, greedy(&good, 5)).0.len(), 5);
}

/// A virtual GPU computes the first logits alone, as it is slow. The tokens are those of llama.cpp in f32,
/// unless another one is about as likely: devices round the activations that they multiply with quantised
/// matrices to 8 bits.
#[test]
fn a_real_model_computes_what_llama_cpp_does() {
    let backend = backend();
    let is_slow = backend.info().kind == BackendKind::Virtual;
    for (name, reference_name) in [("smollm2", "smollm2.json"), ("gemma3-270m", "gemma3.json")] {
        let Some(path) = models::cached(name) else {
            skip(Lack::Data, format_args!("the model {name} is not in the cache"));
            continue;
        };
        let reference = reference(reference_name);
        let prompt = tokens(&reference["tokens"]);
        let most = if is_slow { 8 } else { prompt.len() };
        let mut running = Running::on(Arc::clone(&backend), DType::BF16, &path, 160);
        let mut rows = running.add(&prompt[..most - 1]);
        rows.extend(running.add(&prompt[most - 1..most]));
        let expected = reference["prompt"].as_array().expect("positions");
        let worst =
            rows.iter().zip(expected).map(|(row, expected)| difference(row, expected)).fold(0.0, f64::max);
        println!("{name}: the largest difference of {most} tokens is {worst:.5} deviations");
        assert!(worst < 0.4, "{name}: {worst}");
        if is_slow {
            continue;
        }
        let mut row = rows.pop().expect("the last token's");
        let leads = reference["leads"].as_array().expect("leads");
        let mut others = Vec::new();
        for (at, (&expected, lead)) in tokens(&reference["greedy"]).iter().zip(leads).enumerate() {
            if argmax(&row) != expected {
                others.push((at, lead.as_f64().expect("a lead")));
            }
            row = running.add(&[expected]).pop().expect("logits");
        }
        println!(
            "{name}: of {} greedy tokens, others at (with the lead of the right one): {others:?}",
            leads.len()
        );
        assert!(others.iter().all(|(_, lead)| *lead < 0.5), "{name}: {others:?}");
    }
}
