//! Small models of every architecture: GGUF files against llama.cpp, safetensors against `transformers`.

use std::path::Path;
use std::sync::Arc;

use backend::{CpuBackend, DType, KernelBackend};
use serde_json::Value;

use crate::on_cpu;
use crate::support::{Running, argmax, difference, distance, reference, tokens};
use crate::tiny;

/// In deviations of all logits at a position.
const TOLERANCE: f64 = 0.002;

fn compare(model: &Value, prompt: &[u32], path: &Path) {
    let name = model["name"].as_str().expect("a name");
    let mut running = on_cpu(path, 96);
    // In parts, of which the later ones see the earlier ones in the cache.
    let mut rows = running.add(&prompt[..30]);
    rows.extend(running.add(&prompt[30..]));
    let expected = model["prompt"].as_array().expect("positions");
    for (at, (row, expected)) in rows.iter().zip(expected).enumerate() {
        let found = difference(row, expected);
        assert!(found < TOLERANCE, "{name}: the logits of token {at} differ by {found:.5} deviations");
    }
    let mut row = rows.pop().expect("the last token's");
    let leads = model["leads"].as_array().expect("leads");
    for (at, (&expected, lead)) in tokens(&model["greedy"]).iter().zip(leads).enumerate() {
        let got = argmax(&row);
        assert!(
            got == expected || lead.as_f64().expect("a lead") < 0.01,
            "{name}: token {at} is {got}, not {expected}"
        );
        row = running.add(&[expected]).pop().expect("logits");
    }
}

#[test]
fn every_architecture_computes_what_llama_cpp_does() {
    let reference = reference("tiny.json");
    let prompt = tokens(&reference["tokens"]);
    let folder = tempfile::tempdir().expect("a folder");
    for model in reference["models"].as_array().expect("models") {
        let path = tiny::write(&folder, model["name"].as_str().expect("a name"));
        compare(model, &prompt, &path);
    }
}

#[test]
fn every_architecture_of_safetensors_computes_what_transformers_does() {
    let reference = reference("hugging_face.json");
    let prompt = tokens(&reference["tokens"]);
    let folder = tempfile::tempdir().expect("a folder");
    let backend: Arc<dyn KernelBackend> = Arc::new(CpuBackend::new().expect("the CPU"));
    for model in reference["models"].as_array().expect("models") {
        let name = model["name"].as_str().expect("a name");
        let path = tiny::write_folder(&folder, model);
        let mut running = Running::on(Arc::clone(&backend), DType::F32, &path, 96);
        // In parts, of which the later ones see the earlier ones in the cache.
        let mut rows = running.add(&prompt[..30]);
        rows.extend(running.add(&prompt[30..47]));
        rows.extend(running.add(&prompt[47..]));
        let expected = model["prompt"].as_array().expect("positions");
        let found = rows.iter().zip(expected).map(|(row, expected)| difference(row, expected));
        let worst = found.fold(0.0, f64::max);
        println!("{name}: the largest difference is {worst:.6} deviations");
        assert!(worst < TOLERANCE, "{name}: {worst}");
    }
}

/// The same weights, with a choice of two experts and without a choice. Where there is none, bf16 rounds as
/// it does in other models. Where there is one, some token's experts are about as likely, rounding chooses
/// others, and the logits of that token are other ones; those of most tokens are not.
#[test]
fn rounding_changes_mixtures_only_by_the_choice_of_experts() {
    let prompt = tokens(&reference("tiny.json")["tokens"]);
    let folder = tempfile::tempdir().expect("a folder");
    let backend: Arc<dyn KernelBackend> = Arc::new(CpuBackend::new().expect("the CPU"));
    for name in tiny::MIXTURES {
        let distances = |used| {
            let path = tiny::write_mixture(&folder, name, used);
            let rows = |dtype| Running::on(Arc::clone(&backend), dtype, &path, 64).add(&prompt);
            let (exact, rounded) = (rows(DType::F32), rows(DType::BF16));
            let mut all: Vec<f64> = exact.iter().zip(&rounded).map(|(a, b)| distance(a, b)).collect();
            all.sort_by(f64::total_cmp);
            (all[all.len() / 2], all[all.len() - 1])
        };
        let ((_, without), (median, worst)) = (distances(8), distances(2));
        println!("{name}: {without:.3} without a choice, {median:.3} (median) to {worst:.3} with one");
        assert!(without < 0.3 && median < 0.15, "{name}: {without}, {median}");
    }
}
