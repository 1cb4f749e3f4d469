//! How many kernels, copies and fills a decode step has.

use std::collections::HashMap;
use std::path::Path;

use backend::{DType, QuantType};
use llm::gguf::{GgufFile, TensorInfo, TensorType};
use llm::weights::Source;

use crate::support::{Running, reference};
use crate::{backend, tiny};

/// A file of f32 numbers, whose matrices are blocks.
struct Quantised {
    file: GgufFile,
    infos: HashMap<String, TensorInfo>,
}

/// All of 8 bits.
fn of_8_bits(_: &str) -> QuantType {
    QuantType::Q8_0
}

/// Values have more bits than queries and keys, as in many files.
fn of_4_and_5_bits(name: &str) -> QuantType {
    if name.contains("attn_v.") { QuantType::Q5_1 } else { QuantType::Q4_1 }
}

impl Quantised {
    fn open(path: &Path, blocks_of: fn(&str) -> QuantType) -> Self {
        let file = GgufFile::open(path).expect("a file");
        let mut infos = HashMap::new();
        for info in file.tensors() {
            let mut info = info.clone();
            let blocks = blocks_of(&info.name);
            if info.shape.len() == 2 && info.shape[1].is_multiple_of(blocks.block_values()) {
                info.kind = TensorType::Quant(blocks);
                info.bytes = Some(info.elements() / blocks.block_values() * blocks.block_bytes());
            }
            infos.insert(info.name.clone(), info);
        }
        Self { file, infos }
    }
}

impl Source for Quantised {
    fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.infos.get(name)
    }

    fn tensors(&self) -> Vec<&TensorInfo> {
        self.infos.values().collect()
    }

    fn read_at(&self, name: &str, at: usize, out: &mut [u8]) -> llm::Result<()> {
        let Some(TensorType::Quant(quant)) = self.infos.get(name).map(|info| info.kind) else {
            return self.file.read_at(name, at, out);
        };
        let elements = self.infos[name].elements();
        let mut bytes = vec![0; elements * 4];
        self.file.read_at(name, 0, &mut bytes)?;
        let numbers: Vec<f32> = bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        let blocks = quant.quantize(&numbers).expect("whole blocks");
        out.copy_from_slice(&blocks[at..at + out.len()]);
        Ok(())
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}

/// Of each model: the nodes of a layer, with matrices of numbers and of blocks, and the other nodes.
///
/// A layer of Llama has the norm (and with blocks, its result's), one product for queries, keys and values,
/// rotation with the append to the cache, attention, the product behind it (and with blocks, one node for its
/// factor's), the norm, one product for the gate and the other factor, the gate, and the last product. Gemma
/// has a norm behind each branch. The other nodes are those of the tokens' vectors, of cosines and sines, of
/// the last norm, and of the last product.
const MODELS: [(&str, usize, usize, usize); 4] =
    [("llama", 9, 10, 4), ("qwen2", 10, 11, 4), ("qwen3", 9, 10, 4), ("gemma3", 11, 12, 6)];

#[test]
fn a_layer_of_a_decode_step_has_few_nodes() {
    let folder = tempfile::tempdir().expect("a folder");
    let reference = reference("tiny.json");
    for (name, of_numbers, of_blocks, others) in MODELS {
        let all = reference["models"].as_array().expect("models");
        assert!(all.iter().any(|model| model["name"] == name), "{name}");
        let path = tiny::write(&folder, name);
        let file = GgufFile::open(&path).expect("a file");
        let nodes = |source: &dyn Source| {
            let mut running = Running::of(backend(), DType::F32, &file, source, 64);
            // The first run may allocate what later ones use.
            running.add(&[1, 2, 3]);
            running.add(&[4]);
            (running.nodes(), running.model.config().layers)
        };
        let (found, layers) = nodes(&file);
        assert_eq!(found, others + layers * of_numbers, "{name}, {layers} layers");
        let (found, layers) = nodes(&Quantised::open(&path, of_8_bits));
        // The last product's factor becomes blocks in a node of its own.
        assert_eq!(found, others + 1 + layers * of_blocks, "{name} of blocks, {layers} layers");
        let (found, layers) = nodes(&Quantised::open(&path, of_4_and_5_bits));
        // Queries and keys still have one product, and values another; Qwen2's have a bias each.
        let more = if name == "qwen2" { 2 } else { 1 };
        assert_eq!(found, others + 1 + layers * (of_blocks + more), "{name} of two kinds of blocks");
    }
}
