//! Adapters: llama.cpp's files against weights that are merged in f64, PEFT's folders against PEFT.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use backend::{CpuBackend, DType, KernelBackend};
use llm::EngineOptions;
use llm::adapter::AdapterOption;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::engine::{answer, options, request};
use crate::on_cpu;
use crate::support::{Running, difference, distance, reference, tokens};
use crate::tiny;

type Tensors = Vec<(String, Vec<usize>, Vec<f32>)>;

/// Numbers between -1 and 1 that a seed gives.
fn noise(seed: usize, count: usize) -> Vec<f32> {
    let number = |at: usize| {
        let x = ((seed * 7919 + at) as u32).wrapping_mul(2_654_435_761);
        (f64::from(x ^ (x >> 15)) / 2_147_483_648.0 - 1.0) as f32
    };
    (0..count).map(number).collect()
}

/// Halves for all of these matrices, of a rank.
fn halves(tensors: &Tensors, rank: usize, is_adapted: impl Fn(&str) -> bool) -> Tensors {
    let mut halves = Vec::new();
    for (at, (name, shape, _)) in tensors.iter().enumerate().filter(|(_, (name, ..))| is_adapted(name)) {
        let scaled = |numbers: Vec<f32>| numbers.iter().map(|x| 0.3 * x).collect();
        halves.push((format!("{name}.lora_a"), vec![rank, shape[1]], scaled(noise(at, rank * shape[1]))));
        halves.push((
            format!("{name}.lora_b"),
            vec![shape[0], rank],
            scaled(noise(at + 1000, shape[0] * rank)),
        ));
    }
    halves
}

/// The weights with what the halves add, in f64.
fn merged(tensors: &Tensors, halves: &Tensors, factor: f64) -> Tensors {
    let half = |name: &str| halves.iter().find(|(half, ..)| half == name);
    let merge = |(name, shape, numbers): &(String, Vec<usize>, Vec<f32>)| {
        let mut numbers = numbers.clone();
        if let (Some((_, a_shape, a)), Some((_, _, b))) =
            (half(&format!("{name}.lora_a")), half(&format!("{name}.lora_b")))
        {
            let (rank, columns) = (a_shape[0], a_shape[1]);
            for (at, number) in numbers.iter_mut().enumerate() {
                let (row, column) = (at / columns, at % columns);
                let product: f64 = (0..rank)
                    .map(|r| f64::from(b[row * rank + r]) * f64::from(a[r * columns + column]))
                    .sum();
                *number = (f64::from(*number) + factor * product) as f32;
            }
        }
        (name.clone(), shape.clone(), numbers)
    };
    tensors.iter().map(merge).collect()
}

fn write_adapter(folder: &TempDir, architecture: &str, alpha: f64, halves: &Tensors) -> PathBuf {
    let path = folder.path().join("adapter.gguf");
    let values = [
        json!(["general.type", "string", "adapter"]),
        json!(["general.architecture", "string", architecture]),
        json!(["adapter.type", "string", "lora"]),
        json!(["adapter.lora.alpha", "f32", alpha]),
    ];
    let bytes = tiny::gguf(&values, (0, |_: &mut tiny::Writer| {}), halves);
    std::fs::write(&path, bytes).expect("write");
    path
}

fn cpu() -> Arc<dyn KernelBackend> {
    Arc::new(CpuBackend::new().expect("the CPU"))
}

fn adapted(path: &Path, adapters: &[(&Path, f32)]) -> Running {
    let adapters: Vec<AdapterOption> =
        adapters.iter().map(|&(path, scale)| AdapterOption { path: path.to_owned(), scale }).collect();
    Running::adapted(cpu(), DType::F32, path, &adapters, 64)
}

#[test]
fn an_adapter_adds_what_merged_weights_have() {
    let prompt = tokens(&reference("tiny.json")["tokens"]);
    for name in ["llama", "qwen2", "gemma3", "qwen3moe", "qwen35", "gpt-oss"] {
        let (folder, other) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let model = tiny::model(name);
        let tensors = tiny::tensors(&model);
        let architecture = model["values"][0][2].as_str().expect("an architecture");
        // Every matrix but the table of tokens and those of experts.
        let is_adapted = |name: &str| {
            let is_matrix = tensors.iter().any(|(tensor, shape, _)| tensor == name && shape.len() == 2);
            let is_matrix = is_matrix && name.ends_with(".weight");
            is_matrix && !name.contains("token_embd") && !name.contains("conv1d")
        };
        let halves = halves(&tensors, 5, is_adapted);
        let adapter = write_adapter(&folder, architecture, 8.0, &halves);
        let path = tiny::write(&folder, name);
        let merged = tiny::write_tensors(&other, &model, &merged(&tensors, &halves, 8.0 / 5.0 * 0.75));
        let expected = on_cpu(&merged, 64).add(&prompt);
        let got = adapted(&path, &[(&adapter, 0.75)]).add(&prompt);
        let plain = on_cpu(&path, 64).add(&prompt);
        let worst = |rows: &[Vec<f32>]| {
            rows.iter().zip(&expected).map(|(row, expected)| distance(expected, row)).fold(0.0, f64::max)
        };
        let (with, without) = (worst(&got), worst(&plain));
        println!("{name}: {with:.6} deviations, and {without:.2} without the adapter");
        assert!(with < 0.001 && without > 0.3, "{name}: {with}, {without}");
        // Half of it twice is the same.
        let twice = worst(&adapted(&path, &[(&adapter, 0.25), (&adapter, 0.5)]).add(&prompt));
        assert!(twice < 0.001, "{name}: {twice}");
    }
}

#[test]
fn adapters_of_peft_add_what_peft_adds() {
    let (adapters, models) = (reference("adapters.json"), reference("hugging_face.json"));
    let prompt = tokens(&models["tokens"]);
    for adapter in adapters["adapters"].as_array().expect("adapters") {
        let folder = tempfile::tempdir().expect("a folder");
        let models = models["models"].as_array().expect("models");
        let model = models.iter().find(|model| model["name"] == adapter["model"]).expect("its model");
        let path = tiny::write_folder(&folder, model);
        let place = folder.path().join("adapter");
        tiny::write_parts(&place, adapter, ["adapter_config.json", "adapter_model.safetensors"]);
        let rows = adapted(&path, &[(&place, 1.0)]).add(&prompt);
        let expected = adapter["prompt"].as_array().expect("positions");
        let found = rows.iter().zip(expected).map(|(row, expected)| difference(row, expected));
        let worst = found.fold(0.0, f64::max);
        println!("{}: the largest difference is {worst:.6} deviations", adapter["model"]);
        assert!(worst < 0.002, "{}: {worst}", adapter["model"]);
    }
}

/// A GGUF file of Llama has rows of queries and keys in another order than the adapter was trained with.
#[test]
fn an_adapter_of_peft_fits_a_gguf_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = tiny::model("llama");
    let tensors = tiny::tensors(&model);
    let halves = halves(&tensors, 4, |name| name.contains("attn_q") || name.contains("attn_k"));
    let gguf = write_adapter(&folder, "llama", 4.0, &halves);
    // The same rows in Hugging Face's order: row 2i of a head is row i there, and row 2i + 1 is row 16 + i.
    let turned: Vec<Value> = Vec::new();
    let place = folder.path().join("peft");
    let config = json!({ "peft_type": "LORA", "lora_alpha": 4, "r": 4, "bias": "none" });
    tiny::write_parts(
        &place,
        &json!({ "config": config, "tensors": turned }),
        ["adapter_config.json", "unused"],
    );
    let renamed: Tensors = halves
        .iter()
        .map(|(name, shape, numbers)| {
            let parts: Vec<&str> = name.split('.').collect();
            let (half, layer) = (if name.ends_with("a") { "lora_A" } else { "lora_B" }, parts[1]);
            let part = if parts[2] == "attn_q" { "q_proj" } else { "k_proj" };
            let name = format!("base_model.model.model.layers.{layer}.self_attn.{part}.{half}.weight");
            let columns = shape[1];
            let numbers = match half {
                "lora_A" => numbers.clone(),
                _ => (0..shape[0])
                    .flat_map(|row| {
                        let (head, row) = (row / 32 * 32, row % 32);
                        let from = head + if row < 16 { 2 * row } else { 2 * (row - 16) + 1 };
                        numbers[from * columns..][..columns].to_vec()
                    })
                    .collect(),
            };
            (name, shape.clone(), numbers)
        })
        .collect();
    std::fs::write(place.join("adapter_model.safetensors"), tiny::safetensors(&renamed)).expect("write");
    let path = tiny::write(&folder, "llama");
    let prompt = tokens(&reference("tiny.json")["tokens"]);
    let expected = adapted(&path, &[(&gguf, 1.0)]).add(&prompt);
    assert_eq!(adapted(&path, &[(&place, 1.0)]).add(&prompt), expected);
}

#[test]
fn an_engine_runs_an_adapted_model_and_names_what_does_not_fit() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, tensors) = (tiny::write(&folder, "qwen3"), tiny::tensors(&tiny::model("qwen3")));
    let open = |path: &Path, adapter: PathBuf| {
        let adapters = vec![AdapterOption { path: adapter, scale: 1.0 }];
        llm::open(path, EngineOptions { adapters, ..options() })
    };
    let prompt = tokens(&reference("tiny.json")["tokens"]);
    let good = write_adapter(&folder, "qwen3", 8.0, &halves(&tensors, 4, |name| name.contains("ffn_up")));
    let engine = open(&path, good).expect("an engine");
    let changed = answer(engine.submit(request(&prompt, 12)).expect("a place"));
    let plain = llm::open(&path, options()).expect("an engine");
    let plain = answer(plain.submit(request(&prompt, 12)).expect("a place"));
    assert_ne!(changed.tokens, plain.tokens);

    let refused = |architecture: &str, halves: Tensors| {
        let adapter = write_adapter(&folder, architecture, 8.0, &halves);
        open(&path, adapter).err().expect("refused").to_string()
    };
    let pair = |name: &str, rows: usize, columns: usize| -> Tensors {
        vec![
            (format!("{name}.lora_a"), vec![2, columns], vec![0.0; 2 * columns]),
            (format!("{name}.lora_b"), vec![rows, 2], vec![0.0; 2 * rows]),
        ]
    };
    let fits = pair("blk.0.ffn_up.weight", 96, 64);
    assert!(refused("llama", fits.clone()).contains("is for `llama`, and the model is of `qwen3`"));
    assert!(
        refused("qwen3", pair("blk.0.ffn_up.weight", 95, 64))
            .contains("has not the size of its 96 rows of 64")
    );
    assert!(
        refused("qwen3", pair("blk.9.ffn_up.weight", 96, 64))
            .contains("`blk.9.ffn_up`, which the model lacks")
    );
    assert!(refused("qwen3", pair("token_embd.weight", 264, 64)).contains("the vectors of tokens"));
    assert!(refused("qwen3", fits[..1].to_vec()).contains("has one half of a pair (`blk.0.ffn_up`)"));
    assert!(refused("qwen3", Vec::new()).contains("changes no matrix"));
    assert!(open(&path, path.clone()).err().expect("refused").to_string().contains("is no LoRA adapter"));
    let place = folder.path().join("peft");
    for (change, expected) in [
        (json!({ "peft_type": "IA3" }), "is no LoRA adapter"),
        (json!({ "use_dora": true }), "DoRA"),
        (json!({ "bias": "all" }), "changes biases"),
        (json!({ "lora_alpha": null }), "has no `lora_alpha`"),
        (json!({ "alpha_pattern": { "q_proj": 2 } }), "`alpha_pattern`"),
    ] {
        let mut config = json!({ "peft_type": "LORA", "lora_alpha": 4, "bias": "none" });
        config.as_object_mut().expect("an object").extend(change.as_object().expect("an object").clone());
        let adapter = json!({ "config": config, "tensors": [] });
        tiny::write_parts(&place, &adapter, ["adapter_config.json", "adapter_model.safetensors"]);
        let error = open(&path, place.clone()).err().expect("refused").to_string();
        assert!(error.contains("adapter_config.json") && error.contains(expected), "{error}");
    }
}
