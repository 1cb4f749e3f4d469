//! Floating-point operations of training a model, from its shape.
//!
//! Only matrix products count, as in all published rules; norms, activations, the softmax and the optimizer
//! do not. A multiplication and an addition are two operations. Let `h` be the width of the model, `a` the
//! heads of queries and `k` those of keys and values, each `d` wide, `f` the width of the feed-forward
//! network, `e` the experts that a token visits, `E` all experts, `V` the tokens of the vocabulary, `L` the
//! layers and `s` the tokens of a sequence. In the forward pass, one token takes
//!
//! | part | operations |
//! |---|---|
//! | queries, keys, values, output, in each layer | `2·h·d·(2a + 2k)` |
//! | scores and weighted values, in each layer | `4·a·d·c`, where `c` is the number of tokens it looks at on average |
//! | feed-forward, in each layer | `2·h·f·m·e`, where `m` is 3 with a gate (SwiGLU) and 2 without |
//! | choice of experts, in each layer | `2·h·E` |
//! | logits | `2·h·V` |
//!
//! and twice that again in the backward pass, which multiplies each gradient by weights and by inputs.
//! Looking up a token in the embedding is not a product. Recomputation to save memory is not counted: it is
//! work of the implementation, not of the model, so these are the operations of MFU, not of HFU.
//!
//! `c` depends on the convention ([`Mask`]):
//!
//! - [`Mask::Causal`]: a token looks at itself and those before it, `c = (s + 1)/2`. This is the necessary
//!   work.
//! - [`Mask::Full`]: `c = s`, as if attention had no mask. PaLM's appendix B (Chowdhery et al. 2022, `6N +
//!   12·L·H·Q·T` per token) and Megatron-LM's `num_floating_point_operations` up to 2024 (Narayanan et al.
//!   2021, equation 3) count this way, and so do the TFLOP/s in logs of Megatron and Primus.
//!
//! The two differ little at short sequences and much at long ones, so figures are only comparable with the
//! same convention. Attention in a window of `w` tokens looks at no more than `w`.

use serde::Serialize;

use crate::record::{ModelInfo, Other};

/// How many tokens a token counts as looking at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mask {
    /// Itself and those before it.
    Causal,
    /// All of the sequence, as PaLM and Megatron-LM count.
    Full,
}

/// Experts of a feed-forward network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Experts {
    /// All experts of a layer.
    pub total: u64,
    /// Experts that a token visits.
    pub active: u64,
}

/// The shape of a Llama-like model: grouped-query attention, gated feed-forward networks, one product for the
/// logits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shape {
    /// The model's name.
    pub name: String,
    /// Transformer blocks.
    pub layers: u64,
    /// Width of the residual stream.
    pub hidden: u64,
    /// Width between the products of the feed-forward network, of one expert if there are experts.
    pub intermediate: u64,
    /// Heads of queries.
    pub heads: u64,
    /// Heads of keys and values.
    pub kv_heads: u64,
    /// Width of a head.
    pub head_dim: u64,
    /// Tokens of the vocabulary.
    pub vocab: u64,
    /// Experts, if the feed-forward network has any.
    pub experts: Option<Experts>,
    /// Whether the feed-forward network has a gate.
    pub gated: bool,
    /// Whether embedding and logits share their weights.
    pub tied: bool,
    /// Whether queries, keys and values have a bias.
    pub qkv_bias: bool,
    /// The maximum number of tokens that attention looks at.
    pub window: Option<u64>,
}

/// Operations of one token.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Flops {
    /// Operations of the forward pass.
    pub forward: f64,
    /// Operations of the backward pass.
    pub backward: f64,
    /// The part of both passes for attention's scores and weighted values.
    pub attention: f64,
}

impl Flops {
    /// Operations of both passes.
    pub fn training(&self) -> f64 {
        self.forward + self.backward
    }
}

impl Shape {
    /// Operations of one token of a sequence of `length` tokens.
    pub fn per_token(&self, length: u64, mask: Mask) -> Flops {
        let [h, f, d] = [self.hidden, self.intermediate, self.head_dim].map(|width| width as f64);
        let [a, k] = [self.heads, self.kv_heads].map(|heads| heads as f64);
        let projections = 2.0 * h * d * (2.0 * a + 2.0 * k);
        let attention = 4.0 * a * d * self.looks_at(length, mask);
        let products = if self.gated { 3.0 } else { 2.0 };
        let (active, total) =
            self.experts.map_or((1.0, 0.0), |experts| (experts.active as f64, experts.total as f64));
        let feed_forward = 2.0 * h * f * products * active + 2.0 * h * total;
        let layers = self.layers as f64;
        let forward = layers * (projections + attention + feed_forward) + 2.0 * h * self.vocab as f64;
        Flops { forward, backward: 2.0 * forward, attention: 3.0 * layers * attention }
    }

    /// Operations of a step with `sequences` sequences of `length` tokens.
    pub fn per_step(&self, sequences: u64, length: u64, mask: Mask) -> f64 {
        self.per_token(length, mask).training() * sequences as f64 * length as f64
    }

    /// Tokens that a token looks at, on average over the sequence.
    fn looks_at(&self, length: u64, mask: Mask) -> f64 {
        let s = length as f64;
        let w = self.window.map_or(s, |window| (window as f64).min(s));
        match mask {
            // The first `w` tokens look at 1, 2, … `w`; the others at `w`.
            Mask::Causal if length > 0 => (w * (w + 1.0) / 2.0 + (s - w) * w) / s,
            Mask::Causal => 0.0,
            Mask::Full => w,
        }
    }

    /// Parameters: weights, biases and norms. A shape with absurd sizes gives `u64::MAX`.
    pub fn parameters(&self) -> u64 {
        let product = |factors: &[u64]| {
            factors.iter().fold(1_u128, |product, factor| product.saturating_mul((*factor).into()))
        };
        let sum = |terms: &[u128]| terms.iter().fold(0_u128, |sum, term| sum.saturating_add(*term));
        let Self { layers, hidden, intermediate, heads, kv_heads, head_dim, vocab, .. } = *self;
        let experts = self.experts.map_or(1, |experts| experts.total);
        let layer = sum(&[
            product(&[hidden, heads, head_dim, 2]),
            product(&[hidden, kv_heads, head_dim, 2]),
            product(&[hidden, intermediate, experts, if self.gated { 3 } else { 2 }]),
            product(&[hidden, self.experts.map_or(0, |experts| experts.total)]),
            product(&[hidden, 2]),
            sum(&[product(&[heads, head_dim]), product(&[kv_heads, head_dim, 2])])
                * u128::from(self.qkv_bias),
        ]);
        let embeddings = product(&[vocab, hidden, if self.tied { 1 } else { 2 }]);
        let all = sum(&[u128::from(layers).saturating_mul(layer), u128::from(hidden), embeddings]);
        all.try_into().unwrap_or(u64::MAX)
    }

    /// The shape stated in a record; `None` if it lacks a width or a count.
    ///
    /// If a record has no heads of keys and values, there are as many as of queries; if it has no head width,
    /// the model's width is divided by the heads.
    pub fn of_record(model: &ModelInfo) -> Option<Self> {
        let (hidden, heads) = (model.hidden_size?, model.num_attention_heads.filter(|heads| *heads > 0)?);
        let other = |names: &[&str]| number(&model.other, names);
        Some(Self {
            name: model.name.clone().unwrap_or_else(|| "the record's model".to_owned()),
            layers: model.num_layers?,
            hidden,
            intermediate: model.intermediate_size?,
            heads,
            kv_heads: model.num_key_value_heads.unwrap_or(heads),
            head_dim: model.head_dim.unwrap_or(hidden / heads),
            vocab: model.vocab_size?,
            experts: match (
                other(&["num_experts", "num_local_experts"]),
                other(&["moe_router_topk", "num_experts_per_tok"]),
            ) {
                (Some(total), Some(active)) => Some(Experts { total, active }),
                _ => None,
            },
            gated: true,
            tied: false,
            qkv_bias: false,
            window: None,
        })
    }
}

fn number(other: &Other, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| other.get(*name)).and_then(serde_json::Value::as_u64)
}

/// A model with a published shape.
#[derive(Debug, Clone, Copy)]
struct Known {
    name: &'static str,
    also: &'static [&'static str],
    /// Layers, hidden, intermediate, heads, heads of keys and values, width of a head, vocabulary.
    sizes: [u64; 7],
    /// Experts and experts that a token visits, or zero.
    experts: [u64; 2],
    tied: bool,
    qkv_bias: bool,
    window: Option<u64>,
}

const fn dense(name: &'static str, also: &'static [&'static str], sizes: [u64; 7]) -> Known {
    Known { name, also, sizes, experts: [0, 0], tied: false, qkv_bias: false, window: None }
}

/// The shapes in the `config.json` of the published weights.
#[rustfmt::skip]
static KNOWN: &[Known] = &[
    dense("llama-2-7b", &[], [32, 4096, 11008, 32, 32, 128, 32000]),
    dense("llama-2-13b", &[], [40, 5120, 13824, 40, 40, 128, 32000]),
    dense("llama-2-70b", &[], [80, 8192, 28672, 64, 8, 128, 32000]),
    dense("llama-3-8b", &["meta-llama-3-8b", "llama"], [32, 4096, 14336, 32, 8, 128, 128256]),
    dense("llama-3-70b", &["meta-llama-3-70b"], [80, 8192, 28672, 64, 8, 128, 128256]),
    dense("llama-3.1-8b", &["meta-llama-3.1-8b"], [32, 4096, 14336, 32, 8, 128, 128256]),
    dense("llama-3.1-70b", &["meta-llama-3.1-70b"], [80, 8192, 28672, 64, 8, 128, 128256]),
    dense("llama-3.1-405b", &["meta-llama-3.1-405b"], [126, 16384, 53248, 128, 8, 128, 128256]),
    Known { tied: true, ..dense("llama-3.2-1b", &[], [16, 2048, 8192, 32, 8, 64, 128256]) },
    Known { tied: true, ..dense("llama-3.2-3b", &[], [28, 3072, 8192, 24, 8, 128, 128256]) },
    dense("llama-3.3-70b", &[], [80, 8192, 28672, 64, 8, 128, 128256]),
    Known { window: Some(4096), ..dense("mistral-7b-v0.1", &["mistral-7b", "mistral"], [32, 4096, 14336, 32, 8, 128, 32000]) },
    dense("mistral-7b-v0.3", &[], [32, 4096, 14336, 32, 8, 128, 32768]),
    Known { experts: [8, 2], ..dense("mixtral-8x7b", &["mixtral"], [32, 4096, 14336, 32, 8, 128, 32000]) },
    Known { experts: [8, 2], ..dense("mixtral-8x22b", &[], [56, 6144, 16384, 48, 8, 128, 32768]) },
    Known { qkv_bias: true, ..dense("qwen-2.5-7b", &["qwen"], [28, 3584, 18944, 28, 4, 128, 152064]) },
    Known { qkv_bias: true, ..dense("qwen-2.5-14b", &[], [48, 5120, 13824, 40, 8, 128, 152064]) },
    Known { qkv_bias: true, ..dense("qwen-2.5-32b", &[], [64, 5120, 27648, 40, 8, 128, 152064]) },
    Known { qkv_bias: true, ..dense("qwen-2.5-72b", &[], [80, 8192, 29568, 64, 8, 128, 152064]) },
    Known { qkv_bias: true, tied: true, ..dense("qwen-2.5-0.5b", &[], [24, 896, 4864, 14, 2, 64, 151936]) },
];

/// The names of the models with known shapes, as for `--model`.
pub fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|known| known.name)
}

/// The shape of a published model by its name: `llama-3-8b`, `Llama3_8B`, `mixtral`.
///
/// `llama` is llama-3-8b, `mistral` mistral-7b-v0.1, `qwen` qwen-2.5-7b.
pub fn known(name: &str) -> Option<Shape> {
    let plain = plain(name);
    let known = KNOWN.iter().find(|known| {
        std::iter::once(&known.name).chain(known.also).any(|name| self::plain(name) == plain)
    })?;
    let [layers, hidden, intermediate, heads, kv_heads, head_dim, vocab] = known.sizes;
    let [total, active] = known.experts;
    Some(Shape {
        name: known.name.to_owned(),
        layers,
        hidden,
        intermediate,
        heads,
        kv_heads,
        head_dim,
        vocab,
        experts: (total > 0).then_some(Experts { total, active }),
        gated: true,
        tied: known.tied,
        qkv_bias: known.qkv_bias,
        window: known.window,
    })
}

/// A name in normal form, without the differences between programs: capitals, hyphens, underscores, an
/// organisation before a slash.
fn plain(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or(name);
    name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '.').map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(name: &str) -> Shape {
        known(name).unwrap_or_else(|| panic!("{name}"))
    }

    /// Parameters as counted by the index files of the published weights.
    #[test]
    fn parameters_are_those_of_the_published_weights() {
        for (name, parameters) in [
            ("llama-2-7b", 6_738_415_616),
            ("llama-2-13b", 13_015_864_320),
            ("llama-2-70b", 68_976_648_192),
            ("llama-3-8b", 8_030_261_248),
            ("llama-3.1-8b", 8_030_261_248),
            ("llama-3-70b", 70_553_706_496),
            ("llama-3.1-405b", 405_853_388_800),
            ("llama-3.2-1b", 1_235_814_400),
            ("llama-3.2-3b", 3_212_749_824),
            ("mistral-7b-v0.1", 7_241_732_096),
            ("mistral-7b-v0.3", 7_248_023_552),
            ("mixtral-8x7b", 46_702_792_704),
            ("mixtral-8x22b", 140_630_071_296),
            ("qwen-2.5-0.5b", 494_032_768),
            ("qwen-2.5-7b", 7_615_616_512),
            ("qwen-2.5-14b", 14_770_033_664),
            ("qwen-2.5-32b", 32_763_876_352),
            ("qwen-2.5-72b", 72_706_203_648),
        ] {
            assert_eq!(shape(name).parameters(), parameters, "{name}");
        }
    }

    /// A line that Primus (Megatron) logged for Llama 3.1 8B, sequences of 8192 tokens: `throughput per GPU
    /// (TFLOP/s/GPU): 567.6`, `tokens per GPU (tokens/s/GPU): 9801.4`. It counts attention in full.
    #[test]
    fn a_token_takes_what_primus_logs() {
        let logged = 567.6e12 / 9801.4;
        let counted = shape("llama-3.1-8b").per_token(8192, Mask::Full).training();
        assert!((counted / logged - 1.0).abs() < 2e-4, "{counted:e} {logged:e}");
    }

    /// Megatron-LM's formula, which groups the terms differently.
    fn megatron(shape: &Shape, length: f64) -> f64 {
        let (h, l) = (shape.hidden as f64, shape.layers as f64);
        let query_ratio = (shape.heads * shape.head_dim) as f64 / h;
        let groups = shape.kv_heads as f64 / shape.heads as f64;
        let active = shape.experts.map_or(1.0, |experts| experts.active as f64);
        let attention = (1.0 + groups + length / h) * query_ratio;
        let feed_forward = shape.intermediate as f64 / h * active * 1.5;
        12.0 * l * h * h * (attention + feed_forward + shape.vocab as f64 / (2.0 * l * h))
    }

    #[test]
    fn operations_are_those_of_megatrons_formula() {
        for name in names() {
            let shape = Shape { window: None, ..shape(name) };
            for length in [1, 2048, 8192, 131_072] {
                let router = 6.0
                    * (shape.layers * shape.hidden * shape.experts.map_or(0, |experts| experts.total)) as f64;
                let ours = shape.per_token(length, Mask::Full).training() - router;
                let theirs = megatron(&shape, length as f64);
                assert!((ours / theirs - 1.0).abs() < 1e-12, "{name} {length}: {ours:e} {theirs:e}");
            }
        }
    }

    /// PaLM, appendix B: 6N + 12·L·H·Q·T, where N is the number of parameters that a token is multiplied
    /// with.
    #[test]
    fn operations_are_those_of_palms_formula() {
        for name in ["llama-2-7b", "llama-3-70b", "mistral-7b-v0.3", "qwen-2.5-7b"] {
            let shape = shape(name);
            let norms = (2 * shape.layers + 1) * shape.hidden;
            let biases = if shape.qkv_bias {
                shape.layers * shape.head_dim * (shape.heads + 2 * shape.kv_heads)
            } else {
                0
            };
            let multiplied = (shape.parameters() - norms - biases - shape.vocab * shape.hidden) as f64;
            let palm = 6.0 * multiplied + 12.0 * (shape.layers * shape.heads * shape.head_dim * 4096) as f64;
            let ours = shape.per_token(4096, Mask::Full).training();
            assert!((ours / palm - 1.0).abs() < 1e-12, "{name}: {ours:e} {palm:e}");
        }
    }

    #[test]
    fn a_causal_mask_counts_the_pairs_that_are_looked_at() {
        let count = |length: u64, window: Option<u64>| {
            let shape = Shape { window, ..shape("llama-3-8b") };
            let pairs: u64 = (1..=length).map(|i| i.min(window.unwrap_or(length))).sum();
            let expected =
                12.0 * (shape.layers * shape.heads * shape.head_dim) as f64 * pairs as f64 / length as f64;
            let attention = shape.per_token(length, Mask::Causal).attention;
            assert!((attention / expected - 1.0).abs() < 1e-12, "{length} {window:?}");
        };
        for (length, window) in
            [(1, None), (7, None), (4096, None), (4096, Some(512)), (100, Some(4096)), (5, Some(1))]
        {
            count(length, window);
        }
        let shape = shape("llama-3-8b");
        assert_eq!(shape.per_token(0, Mask::Causal).attention, 0.0);
        assert_eq!(
            shape.per_step(64, 2048, Mask::Full),
            shape.per_token(2048, Mask::Full).training() * 131_072.0
        );
    }

    #[test]
    fn names_are_found_however_they_are_written() {
        for (name, expected) in [
            ("Llama3_8B", "llama-3-8b"),
            ("meta-llama/Meta-Llama-3.1-8B", "llama-3.1-8b"),
            ("meta-llama/Llama-2-7b", "llama-2-7b"),
            ("llama", "llama-3-8b"),
            ("Qwen/Qwen2.5-7B", "qwen-2.5-7b"),
            ("mixtral_8x7b", "mixtral-8x7b"),
            ("mistral", "mistral-7b-v0.1"),
        ] {
            assert_eq!(known(name).map(|shape| shape.name).as_deref(), Some(expected), "{name}");
        }
        assert_eq!(known("llama-31-8b"), None);
        let mut names: Vec<String> = KNOWN
            .iter()
            .flat_map(|known| std::iter::once(&known.name).chain(known.also))
            .map(|name| plain(name))
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "no name is that of two models");
    }

    #[test]
    fn a_record_that_states_its_shape_needs_no_name() {
        let model: ModelInfo = serde_json::from_value(serde_json::json!({
            "num_hidden_layers": 32, "hidden_size": 4096, "ffn_hidden_size": 14336, "num_attention_heads": 32,
            "num_query_groups": 8, "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2,
        }))
        .expect("a model");
        let (stated, published) = (Shape::of_record(&model).expect("complete"), shape("mixtral-8x7b"));
        assert_eq!(stated.per_token(2048, Mask::Causal), published.per_token(2048, Mask::Causal));
        assert_eq!(Shape::of_record(&ModelInfo { vocab_size: None, ..model }), None);
    }
}
