//! Models with random weights, so that a device can be measured without a file: `random:8b:q4_k`.
//!
//! Their shapes are those of Llama's models. Their weights are a pattern that repeats, which makes loading as
//! quick as the device takes them; what they generate means nothing.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use backend::QuantType;
use serde_json::json;

use crate::config::Config;
use crate::error::{Error, Result};
use crate::gguf::{TensorInfo, TensorType};
use crate::tokenizer::Tokenizer;
use crate::weights::Source;

/// What names of such models begin with.
const PREFIX: &str = "random:";

/// The sizes of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    name: &'static str,
    layers: usize,
    width: usize,
    /// Elements of the vector inside of a feed-forward layer.
    inner: usize,
    heads: usize,
    kv_heads: usize,
    vocabulary: usize,
    /// Whether the token table is the last matrix, too.
    is_shared: bool,
}

const SHAPES: [Shape; 3] = [
    Shape {
        name: "8b",
        layers: 32,
        width: 4096,
        inner: 14_336,
        heads: 32,
        kv_heads: 8,
        vocabulary: 128_256,
        is_shared: false,
    },
    Shape {
        name: "1b",
        layers: 16,
        width: 2048,
        inner: 8192,
        heads: 32,
        kv_heads: 8,
        vocabulary: 128_256,
        is_shared: true,
    },
    Shape {
        name: "tiny",
        layers: 2,
        width: 256,
        inner: 512,
        heads: 4,
        kv_heads: 2,
        vocabulary: 512,
        is_shared: true,
    },
];

/// The types of matrices: name, type, and that of the last matrix.
const WEIGHTS: [(&str, TensorType, TensorType); 3] = [
    ("f16", TensorType::F16, TensorType::F16),
    ("q8_0", TensorType::Quant(QuantType::Q8_0), TensorType::Quant(QuantType::Q8_0)),
    ("q4_k", TensorType::Quant(QuantType::Q4K), TensorType::Quant(QuantType::Q6K)),
];

/// Whether this is a name of a model with random weights.
#[must_use]
pub fn is_random(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// The tensors of a model with random weights.
#[derive(Debug)]
pub struct RandomModel {
    name: PathBuf,
    shape: Shape,
    tensors: HashMap<String, TensorInfo>,
    patterns: HashMap<TensorType, Vec<u8>>,
}

impl RandomModel {
    /// The model of a name such as `random:8b:q4_k`.
    ///
    /// # Errors
    /// [`Error::Model`] for a shape or a type that is not known; it names those that are.
    pub fn named(name: &str) -> Result<Self> {
        let parts = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once(':'));
        let (shape, weights) = parts.unwrap_or_default();
        let shape = SHAPES.iter().find(|known| known.name == shape);
        let weights = WEIGHTS.iter().find(|known| known.0 == weights);
        match (shape, weights) {
            (Some(shape), Some(&(_, kind, last))) => Ok(Self::new(name, *shape, kind, last)),
            _ => {
                let problem = format!(
                    "is no model with random weights: these are {PREFIX}SHAPE:WEIGHTS; shapes are {}; weights are {}",
                    SHAPES.map(|known| known.name).join(", "),
                    WEIGHTS.map(|known| known.0).join(", ")
                );
                Err(Error::Model { path: name.into(), problem })
            }
        }
    }

    fn new(name: &str, shape: Shape, kind: TensorType, last: TensorType) -> Self {
        let Shape { layers, width, inner, heads, kv_heads, vocabulary, is_shared, .. } = shape;
        let kv = width / heads * kv_heads;
        let vector = if matches!(kind, TensorType::Quant(_)) { TensorType::F32 } else { kind };
        let table = if is_shared { last } else { kind };
        let mut all = vec![
            ("token_embd.weight".to_owned(), vec![vocabulary, width], table),
            ("output_norm.weight".to_owned(), vec![width], vector),
        ];
        if !is_shared {
            all.push(("output.weight".to_owned(), vec![vocabulary, width], last));
        }
        for layer in 0..layers {
            for (name, rows, columns) in [
                ("attn_q", width, width),
                ("attn_k", kv, width),
                ("attn_v", kv, width),
                ("attn_output", width, width),
                ("ffn_gate", inner, width),
                ("ffn_up", inner, width),
                ("ffn_down", width, inner),
            ] {
                all.push((format!("blk.{layer}.{name}.weight"), vec![rows, columns], kind));
            }
            for name in ["attn_norm", "ffn_norm"] {
                all.push((format!("blk.{layer}.{name}.weight"), vec![width], vector));
            }
        }
        let (mut tensors, mut patterns) = (HashMap::new(), HashMap::new());
        for (name, shape, kind) in all {
            let (values, bytes) = kind.block().unwrap_or((1, 1));
            let bytes = Some(shape.iter().product::<usize>() / values * bytes);
            patterns.entry(kind).or_insert_with(|| pattern(kind));
            tensors.insert(name.clone(), TensorInfo { name, shape, kind, offset: 0, bytes });
        }
        Self { name: name.into(), shape, tensors, patterns }
    }

    /// Its configuration.
    ///
    /// # Errors
    /// None that is known of.
    pub fn config(&self) -> Result<Config> {
        let shape = self.shape;
        let values = json!({
            "architectures": ["LlamaForCausalLM"],
            "_name_or_path": self.name,
            "hidden_size": shape.width,
            "num_attention_heads": shape.heads,
            "num_key_value_heads": shape.kv_heads,
            "num_hidden_layers": shape.layers,
            "intermediate_size": shape.inner,
            "vocab_size": shape.vocabulary,
            "max_position_embeddings": 8192,
            "rms_norm_eps": 1e-5,
            "rope_theta": 500_000.0,
            "tie_word_embeddings": shape.is_shared,
        });
        Config::of_json(&values).map_err(|problem| Error::Model { path: self.name.clone(), problem })
    }

    /// Its tokenizer: each token is a number.
    pub(crate) fn tokenizer(&self) -> Result<Tokenizer> {
        let word = |token: usize| (format!("\u{120}{token}"), json!(token));
        let vocabulary: serde_json::Map<String, serde_json::Value> =
            (0..self.shape.vocabulary).map(word).collect();
        let values = json!({
            "version": "1.0",
            "added_tokens": [],
            "normalizer": null,
            "pre_tokenizer": { "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true },
            "post_processor": null,
            "decoder": { "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true },
            "model": { "type": "WordLevel", "vocab": vocabulary, "unk_token": "\u{120}0" },
        });
        Tokenizer::of_json(values.to_string().as_bytes(), &self.name)
    }

    /// Bytes of all tensors.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tensors.values().filter_map(|info| info.bytes).map(|bytes| bytes as u64).sum()
    }

    /// Bytes of the matrices that each step reads as a whole: all but a token table of its own.
    #[must_use]
    pub fn bytes_of_a_step(&self) -> u64 {
        let matrices = self.tensors.values().filter(|info| info.shape.len() == 2);
        let read = matrices.filter(|info| self.shape.is_shared || info.name != "token_embd.weight");
        read.filter_map(|info| info.bytes).map(|bytes| bytes as u64).sum()
    }
}

impl Source for RandomModel {
    fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.get(name)
    }

    fn tensors(&self) -> Vec<&TensorInfo> {
        self.tensors.values().collect()
    }

    fn read_at(&self, name: &str, at: usize, out: &mut [u8]) -> Result<()> {
        let pattern = self.tensors.get(name).and_then(|info| self.patterns.get(&info.kind));
        let pattern = pattern.map_or(&[0][..], Vec::as_slice);
        let (mut from, mut rest) = (at % pattern.len(), out);
        while !rest.is_empty() {
            let count = rest.len().min(pattern.len() - from);
            let (part, others) = rest.split_at_mut(count);
            part.copy_from_slice(&pattern[from..from + count]);
            (from, rest) = (0, others);
        }
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.name
    }
}

/// Bytes of a pattern, about.
const PATTERN: usize = 1 << 20;

/// Whole blocks of small numbers, whose mean is about 0.
fn pattern(kind: TensorType) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    };
    let small = |bits: u32| (f32::from(bits as u16) / 65_536.0 - 0.5) * 0.05;
    let half_of = |x: f32| half::f16::from_f32(x).to_le_bytes();
    let (_, size) = kind.block().unwrap_or((1, 1));
    let mut bytes = Vec::with_capacity(PATTERN + size);
    while bytes.len() < PATTERN {
        match kind {
            TensorType::F32 => bytes.extend(small(next()).to_le_bytes()),
            TensorType::F16 => bytes.extend(half_of(small(next()))),
            TensorType::Quant(quant) => {
                let start = bytes.len();
                bytes.extend((0..size).map(|_| next() as u8));
                // Where a block has its factor, and what makes its numbers as small.
                let (at, factor) = match quant {
                    QuantType::Q8_0 => (0, 2e-4),
                    QuantType::Q6K => (size - 2, 2e-5),
                    _ => (0, 4e-5),
                };
                bytes[start + at..][..2].copy_from_slice(&half_of(factor));
                if quant == QuantType::Q4K {
                    // Numbers of 4 bits are 7.5 on average.
                    bytes[start + 2..][..2].copy_from_slice(&half_of(7.5 * factor));
                }
            }
            _ => bytes.push(0),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_shape_and_a_type_of_weights() {
        let model = RandomModel::named("random:tiny:q4_k").unwrap();
        let (config, tokenizer) = (model.config().unwrap(), model.tokenizer().unwrap());
        assert_eq!((config.layers, config.vocabulary, tokenizer.len()), (2, 512, 512));
        assert_eq!(tokenizer.decode(&[7, 511]), " 7 511");
        assert_eq!(tokenizer.encode("7 511", crate::tokenizer::SpecialText::Text).unwrap(), [7, 511]);
        assert_eq!(model.bytes(), model.bytes_of_a_step() + 4 * 256 * 5);
        let error = RandomModel::named("random:9b:q4_k").unwrap_err().to_string();
        assert!(error.contains("8b, 1b, tiny") && error.contains("f16, q8_0, q4_k"), "{error}");
    }

    #[test]
    fn numbers_of_patterns_are_small_and_their_mean_is_about_zero() {
        for (name, kind, last) in WEIGHTS {
            for kind in [kind, last] {
                let numbers: Vec<f32> = match kind {
                    TensorType::Quant(quant) => quant.dequantize(&pattern(kind)),
                    _ => {
                        let halves = pattern(kind);
                        let (halves, _) = halves.as_chunks::<2>();
                        halves.iter().map(|half| half::f16::from_le_bytes(*half).to_f32()).collect()
                    }
                };
                let count = numbers.len() as f32;
                let mean = numbers.iter().sum::<f32>() / count;
                let spread = (numbers.iter().map(|x| x * x).sum::<f32>() / count).sqrt();
                assert!((0.002..0.03).contains(&spread), "{name}: {spread}");
                assert!(mean.abs() < spread / 20.0, "{name}: {mean} of {spread}");
            }
        }
    }

    #[test]
    fn a_tensor_is_read_from_any_position() {
        let model = RandomModel::named("random:1b:f16").unwrap();
        let mut whole = vec![0; 3 << 20];
        model.read_at("token_embd.weight", 0, &mut whole).unwrap();
        let mut part = vec![0; 1 << 20];
        model.read_at("token_embd.weight", 1_500_000, &mut part).unwrap();
        assert_eq!(part, whole[1_500_000..][..1 << 20]);
    }
}
