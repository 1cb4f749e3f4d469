//! Models that several ranks share: the CPU's threads in groups.

use std::ops::Range;
use std::path::Path;

use backend::{CpuBackend, DType, KernelBackend, QuantType};
use llm::engine::{Events, Pooling};
use llm::gguf::{TensorInfo, TensorType};
use llm::weights::{Cut, Source, Weights};
use llm::{EngineOptions, Speculation};

use crate::engine::{answer, greedy, open, options, prompt, request};
use crate::support::{Running, argmax, difference, reference, tokens};
use crate::tiny;

#[test]
fn ranks_yield_the_tokens_that_one_yields() {
    let folder = tempfile::tempdir().expect("a folder");
    // All of these have two heads of keys.
    for name in [
        "llama",
        "qwen2",
        "qwen3",
        "qwen3moe",
        "gemma2",
        "gemma3",
        "gpt-oss",
        "mixtral",
        "qwen35",
        "qwen35moe",
        "qwen3next",
    ] {
        let engine = open(&folder, name, EngineOptions { ranks: 2, ..options() });
        assert!(engine.description().device.starts_with("2 × cpu"), "{}", engine.description().device);
        let prompts: Vec<Vec<u32>> = (0..2).map(|at| prompt()[at..20 + 9 * at].to_vec()).collect();
        let events: Vec<Events> =
            prompts.iter().map(|prompt| engine.submit(request(prompt, 12)).expect("a place")).collect();
        for (prompt, events) in prompts.iter().zip(events) {
            assert_eq!(answer(events).tokens, greedy(&folder, name, prompt, 12), "{name}");
        }
    }
    let wide_delta = ["qwen35", "qwen35moe", "qwen3next"].map(|name| tiny::write_wide_delta(&folder, name));
    for path in [tiny::write_wide(&folder)].into_iter().chain(wide_delta) {
        let (mut vectors, width): (Vec<Vec<f32>>, usize) = (Vec::new(), 64);
        for ranks in [1, 2, 4] {
            let engine = llm::open(&path, EngineOptions { ranks, ..options() }).expect("an engine");
            let got = answer(engine.submit(request(&prompt(), 12)).expect("a place"));
            assert_eq!(got.tokens, greedy_of(&path, &prompt(), 12), "{ranks} ranks, {}", path.display());
            vectors.extend(engine.embed(&[prompt()], Pooling::Mean).expect("a vector"));
        }
        for vector in &vectors {
            assert_eq!(vector.len(), width);
            let differences = vector.iter().zip(&vectors[0]).map(|(a, b)| (a - b).abs());
            let most = differences.fold(0.0, f32::max);
            assert!(most < 1e-4, "{most}, {}", path.display());
        }
    }
}

/// The most likely tokens, by a model that runs without an engine.
fn greedy_of(path: &Path, prompt: &[u32], count: usize) -> Vec<u32> {
    let mut running = crate::on_cpu(path, 256);
    let mut row = running.add(prompt).pop().expect("logits");
    let next = |_| {
        let token = argmax(&row);
        row = running.add(&[token]).pop().expect("logits");
        token
    };
    (0..count).map(next).collect()
}

#[test]
fn ranks_yield_the_same_tokens_with_guesses() {
    let folder = tempfile::tempdir().expect("a folder");
    let draft = |path| Speculation::Draft { path, tokens: 3 };
    for name in ["llama", "gemma3", "qwen3moe", "qwen35", "qwen3next"] {
        for (speculation, is_itself) in [
            (Speculation::Lookup { tokens: 4 }, false),
            (draft(tiny::write(&folder, name)), true),
            (draft(tiny::write(&folder, "qwen2")), false),
            (draft(tiny::write(&folder, "qwen35moe")), false),
        ] {
            let engine = open(&folder, name, EngineOptions { ranks: 2, speculation, ..options() });
            let prompts: Vec<Vec<u32>> = (0..3).map(|at| prompt()[at..20 + 9 * at].to_vec()).collect();
            let events: Vec<Events> =
                prompts.iter().map(|prompt| engine.submit(request(prompt, 24)).expect("a place")).collect();
            for (prompt, events) in prompts.iter().zip(events) {
                let answer = answer(events);
                assert_eq!(answer.tokens, greedy(&folder, name, prompt, 24), "{name}");
                if is_itself {
                    assert_eq!(answer.usage.accepted_tokens, answer.usage.drafted_tokens, "{name}");
                    assert!(answer.usage.accepted_tokens > 12, "{name}: {:?}", answer.usage);
                }
            }
        }
    }
}

#[test]
fn what_ranks_cannot_share_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |name: &str, ranks: usize| {
        let options = EngineOptions { ranks, ..options() };
        llm::open(tiny::write(&folder, name), options).err().expect("refused").to_string()
    };
    let error = refused("llama", 4);
    assert!(error.contains("has 2 heads of keys, which 4 devices cannot share equally"), "{error}");
    assert!(refused("llama", 3).contains("has 4 heads of queries, which 3 devices"));
    // The same of heads of gated delta nets, and of a model that guesses.
    let path = tiny::write_changed(&folder, "qwen35", |model| {
        for value in model["values"].as_array_mut().expect("values") {
            if value[0] == "qwen35.attention.head_count_kv" {
                value[2] = 4.into();
            }
        }
    });
    let speculation = Speculation::Draft { path, tokens: 3 };
    let options = EngineOptions { ranks: 4, speculation, ..options() };
    let error = llm::open(tiny::write_wide(&folder), options).err().expect("refused").to_string();
    assert!(
        error.contains("tiny qwen35 has 2 heads of keys of gated delta nets, which 4 devices"),
        "{error}"
    );
}

/// Some files have queries, keys, values and gates of all heads in one matrix.
#[test]
fn ranks_compute_what_one_does_from_safetensors() {
    let reference = reference("hugging_face.json");
    let prompt = tokens(&reference["tokens"]);
    let folder = tempfile::tempdir().expect("a folder");
    for model in reference["models"].as_array().expect("models") {
        let path = tiny::write_folder(&folder, model);
        let ranks = backend::select_ranks("cpu:2", 2).expect("ranks");
        let rows: Vec<Vec<Vec<f32>>> = std::thread::scope(|scope| {
            let run = |rank| {
                let (path, prompt) = (&path, &prompt);
                scope.spawn(move || Running::on(rank, DType::F32, path, 96).add(prompt))
            };
            let threads: Vec<_> = ranks.into_iter().map(run).collect();
            threads.into_iter().map(|thread| thread.join().expect("logits")).collect()
        });
        assert_eq!(rows[0], rows[1], "{}: all ranks have all logits", model["name"]);
        let expected = model["prompt"].as_array().expect("positions");
        let found = rows[0].iter().zip(expected).map(|(row, expected)| difference(row, expected));
        let worst = found.fold(0.0, f64::max);
        assert!(worst < 0.002, "{}: {worst}", model["name"]);
    }
}

/// A matrix in memory.
struct OneMatrix {
    info: TensorInfo,
    bytes: Vec<u8>,
}

impl Source for OneMatrix {
    fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        (name == self.info.name).then_some(&self.info)
    }

    fn tensors(&self) -> Vec<&TensorInfo> {
        vec![&self.info]
    }

    fn read_at(&self, _name: &str, at: usize, out: &mut [u8]) -> llm::Result<()> {
        out.copy_from_slice(&self.bytes[at..at + out.len()]);
        Ok(())
    }

    fn path(&self) -> &Path {
        Path::new("memory")
    }
}

/// Heads that share a head of keys may be far from each other in a file, so that a rank's columns are several
/// ranges.
#[test]
fn several_ranges_of_columns_are_taken_from_quantised_matrices() {
    let (rows, columns) = (3, 128);
    let numbers: Vec<f32> = (0..rows * columns).map(|at| (at as f32 * 0.37).sin()).collect();
    let bytes = QuantType::Q8_0.quantize(&numbers).expect("blocks");
    let info = TensorInfo {
        name: "matrix".into(),
        shape: vec![rows, columns],
        kind: TensorType::from_number(8),
        offset: 0,
        bytes: Some(bytes.len()),
    };
    let all = QuantType::Q8_0.dequantize(&bytes);
    let source = OneMatrix { info, bytes };
    let backend: Box<dyn KernelBackend> = Box::new(CpuBackend::new().expect("the CPU"));
    let mut progress = |_| {};
    let mut weights = Weights::new(&source, &*backend, DType::F32, &mut progress);
    let mut part = |ranges: &[Range<usize>]| {
        let cut = Cut::of_columns(ranges.to_vec(), columns);
        let count = ranges.iter().map(ExactSizeIterator::len).sum();
        weights.matrix_part("matrix", &[rows, columns], &cut, &[rows, count])
    };
    let taken = part(&[96..128, 0..32]).expect("whole blocks");
    let identity: Vec<f32> = (0..64 * 64).map(|at| if at % 65 == 0 { 1.0 } else { 0.0 }).collect();
    let identity = backend.tensor(DType::F32, &[64, 64], &identity).expect("a tensor");
    let product = backend.empty(DType::F32, &[64, rows]).expect("a tensor");
    backend.matmul(&identity, &taken, &product).expect("a product");
    let product = backend.to_f32(&product).expect("numbers");
    for row in 0..rows {
        for (at, column) in (96..128).chain(0..32).enumerate() {
            assert_eq!(product[at * rows + row], all[row * columns + column], "row {row}, column {column}");
        }
    }
    let error = part(&[0..32, 48..80]).expect_err("half a block").to_string();
    assert!(error.contains("blocks of 32 the columns 48..80 cut"), "{error}");
}
