//! Any bytes as a folder in Hugging Face's layout: the first two are the length of the settings, which come
//! next, and the rest is the file of tensors. It is a model, and then an adapter of one.
#![no_main]

use std::fs;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use llm::adapter::{Adapter, AdapterOption};
use llm::config::{Config, architectures};
use llm::safetensors::SafetensorsFiles;
use llm::weights::Source as _;

/// A text is a configuration of a model that is as small as any.
const CONFIG: &str = r#"{"architectures": ["LlamaForCausalLM"], "hidden_size": 8, "num_attention_heads": 2,
    "intermediate_size": 8, "num_hidden_layers": 1, "vocab_size": 8, "max_position_embeddings": 8,
    "rms_norm_eps": 1e-5}"#;

fuzz_target!(|bytes: &[u8]| {
    let [low, high, rest @ ..] = bytes else { return };
    let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
    let (settings, tensors) = rest.split_at(length);
    let folder = std::env::temp_dir().join(format!("fuzz-safetensors-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).expect("write");
    write("config.json", settings);
    write("model.safetensors", tensors);
    if let Ok(config) = Config::of_folder(&folder) {
        assert!(config.heads % config.kv_heads == 0 && config.layers > 0);
    }
    for architecture in architectures() {
        let Ok(files) = SafetensorsFiles::open(&folder, architecture) else { continue };
        for tensor in files.tensors() {
            let mut read = vec![0; tensor.bytes.unwrap_or(0)];
            let _ = files.read_at(&tensor.name, 0, &mut read);
            // Beyond the end there is nothing.
            assert!(files.read_at(&tensor.name, read.len(), &mut [0]).is_err());
        }
    }
    write("config.json", CONFIG.as_bytes());
    let config = Config::of_folder(&folder).expect("a configuration");
    write("adapter_config.json", settings);
    write("adapter_model.safetensors", tensors);
    let _ = Adapter::open(&AdapterOption { path: folder.clone(), scale: 1.0 }, &config);
    let _ = Adapter::open(
        &AdapterOption { path: Path::new(&folder).join("model.safetensors"), scale: 1.0 },
        &config,
    );
});
