//! Parameters of operations.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::error::Result;
use crate::{KvLayer, Tensor};

pub use kernels::{ExpertGroups, GateScores, GroupScore, Penalties, Rope, RopeScaling, RopeStyle, Sampling};

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `x / (1 + exp(-x))`.
    Silu,
    /// The tanh approximation of the Gaussian error linear unit.
    Gelu,
    /// The exact Gaussian error linear unit.
    GeluErf,
    /// `max(x, 0)²`.
    Relu2,
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// `tanh(x)`.
    Tanh,
    /// `exp(x)`.
    Exp,
    /// `log(1 + exp(x))`.
    Softplus,
}

/// What combines the gate with the other factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gate {
    /// `silu(gate) · up`: SwiGLU.
    Silu,
    /// `gelu(gate) · up` by the tanh approximation: GeGLU.
    Gelu,
    /// The same with the exact function.
    GeluErf,
    /// `max(gate, 0)² · up`.
    Relu2,
    /// GPT-OSS: with `g = min(gate, limit)` and `u = clamp(up, -limit, limit)`, `g / (1 + exp(-alpha · g)) ·
    /// (u + 1)`.
    SwigluOai {
        /// 1.702 in GPT-OSS.
        alpha: f32,
        /// 7 in GPT-OSS.
        limit: f32,
    },
}

/// A rotary embedding's frequencies in a backend's memory; made by
/// [`KernelBackend::rope_frequencies`](crate::KernelBackend::rope_frequencies).
#[derive(Clone)]
pub struct RopeFrequencies {
    half: usize,
    inner: Arc<dyn Any + Send + Sync>,
}

impl RopeFrequencies {
    /// Wraps a backend's own type.
    #[must_use]
    pub fn new(half: usize, inner: Arc<dyn Any + Send + Sync>) -> Self {
        Self { half, inner }
    }

    /// The number of frequencies: half the rotated elements.
    #[must_use]
    pub fn half(&self) -> usize {
        self.half
    }

    /// The backend's own type.
    #[must_use]
    pub fn inner(&self) -> &(dyn Any + Send + Sync) {
        &*self.inner
    }
}

impl fmt::Debug for RopeFrequencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RopeFrequencies").field("half", &self.half).finish_non_exhaustive()
    }
}

/// The frequencies of a [`Rope`], each divided by its factor if there are factors (`rope_freqs.weight` of
/// GGUF files).
///
/// # Errors
/// As [`Rope::frequencies`]; [`Error::Value`](crate::Error::Value) unless there is a factor for each
/// frequency.
pub fn rope_frequencies(rope: &Rope, factors: Option<&[f32]>) -> Result<Vec<f64>> {
    let mut frequencies = rope.frequencies()?;
    if let Some(factors) = factors {
        if factors.len() != frequencies.len() {
            return Err(crate::Error::Value {
                operation: "rope_frequencies",
                parameter: "factors",
                got: factors.len().to_string(),
                problem: "numbers, and must be one for each frequency",
            });
        }
        frequencies.iter_mut().zip(factors).for_each(|(frequency, factor)| *frequency /= f64::from(*factor));
    }
    Ok(frequencies)
}

/// Activations that are multiplied with matrices: numbers, and the 8-bit blocks that a backend multiplies
/// quantised matrices with, if what makes the numbers makes these, too; from
/// [`KernelBackend::factor`](crate::KernelBackend::factor).
#[derive(Clone)]
pub struct Factor {
    numbers: Tensor,
    blocks: Option<Arc<dyn Any + Send + Sync>>,
}

impl Factor {
    /// Numbers alone. Blocks, where needed, are made for each product.
    #[must_use]
    pub fn of(numbers: Tensor) -> Self {
        Self { numbers, blocks: None }
    }

    /// Numbers with a backend's memory for their blocks.
    #[must_use]
    pub fn with_blocks(numbers: Tensor, blocks: Arc<dyn Any + Send + Sync>) -> Self {
        Self { numbers, blocks: Some(blocks) }
    }

    /// The numbers.
    #[must_use]
    pub fn numbers(&self) -> &Tensor {
        &self.numbers
    }

    /// The backend's own type.
    #[must_use]
    pub fn blocks(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.blocks.as_deref()
    }
}

impl fmt::Debug for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blocks = self.blocks.is_some();
        f.debug_struct("Factor").field("numbers", &self.numbers).field("blocks", &blocks).finish()
    }
}

/// Queries, keys and values between products and attention.
#[derive(Clone, Copy, Debug)]
pub struct RopeAppend<'a> {
    /// `[tokens, heads, dimensions]`, whose dimensions are contiguous; changed in place.
    pub q: &'a Tensor,
    /// `[tokens, key heads, dimensions]`, likewise. Unspecified afterwards.
    pub k: &'a Tensor,
    /// As many values.
    pub v: &'a Tensor,
    /// Weights of norms of each head of queries and of keys.
    pub norms: Option<(&'a Tensor, &'a Tensor)>,
    /// Of the norms: added to the mean of squares.
    pub eps: f32,
    /// Which elements are rotated together.
    pub style: RopeStyle,
    /// Cosines and sines, f32 `[tokens, half]`.
    pub tables: (&'a Tensor, &'a Tensor),
    /// i64: each token's slot in the cache.
    pub slots: &'a Tensor,
}

/// Keys and values of attention.
#[derive(Clone, Copy, Debug)]
pub enum Keys<'a> {
    /// Tensors of `[sequences, positions, heads, dimensions]`, whose dimensions are contiguous.
    Dense {
        /// Keys.
        k: &'a Tensor,
        /// Values.
        v: &'a Tensor,
    },
    /// A cache.
    Cache {
        /// The layer's part of it.
        layer: &'a KvLayer,
        /// u32 `[sequences, pages]`: the pages of each sequence, in order. Without it, sequence i has page i.
        table: Option<&'a Tensor>,
    },
}

/// `softmax(scale · Q Kᵀ) V` of each head.
#[derive(Clone, Copy, Debug)]
pub struct Attention<'a> {
    /// `[sequences, queries, heads, dimensions]`, whose dimensions are contiguous.
    pub q: &'a Tensor,
    /// Keys and values. Neighbouring heads of the queries share one head of them.
    pub keys: Keys<'a>,
    /// u32 `[sequences]`: the number of keys of each sequence, which include the queries' own. Without it,
    /// all sequences have `most_keys`. The queries are a sequence's last positions.
    pub lengths: Option<&'a Tensor>,
    /// The maximum number of keys. A graph is captured for it, so a graph of a decode step needs that of its
    /// last step.
    pub most_keys: usize,
    /// Factor of the scores.
    pub scale: f32,
    /// A query does not see keys after its own position.
    pub causal: bool,
    /// A query sees the key at its own position and those before it, this many in all.
    pub window: Option<usize>,
    /// Scores are limited: `cap · tanh(score / cap)`.
    pub soft_cap: Option<f32>,
    /// f32 `[heads]`: a further score of each head that takes part in the softmax and has no value.
    pub sinks: Option<&'a Tensor>,
}

impl<'a> Attention<'a> {
    /// Causal attention of queries on a cache, with the usual scale.
    #[must_use]
    pub fn causal(q: &'a Tensor, keys: Keys<'a>, lengths: Option<&'a Tensor>, most_keys: usize) -> Self {
        Self { causal: true, ..Self::bidirectional(q, keys, lengths, most_keys) }
    }

    /// Every query sees every key, as in encoders.
    #[must_use]
    pub fn bidirectional(
        q: &'a Tensor,
        keys: Keys<'a>,
        lengths: Option<&'a Tensor>,
        most_keys: usize,
    ) -> Self {
        let scale = (q.columns() as f32).sqrt().recip();
        let (causal, window, soft_cap, sinks) = (false, None, None, None);
        Self { q, keys, lengths, most_keys, scale, causal, window, soft_cap, sinks }
    }
}

/// The gated delta rule: for each token of a sequence in turn, and each head with its state S, `S *=
/// exp(gate)`; `d = (v - Sᵀ k) · beta`; `S += k dᵀ`; `out = scale · Sᵀ q`.
#[derive(Clone, Copy, Debug)]
pub struct GatedDelta<'a> {
    /// `[sequences, tokens, key heads, key size]`, whose sizes are contiguous.
    pub q: &'a Tensor,
    /// Keys, likewise.
    pub k: &'a Tensor,
    /// `[sequences, tokens, heads, value size]`. Neighbouring heads share one of the keys.
    pub v: &'a Tensor,
    /// f32 `[sequences, tokens, heads]`: logarithms of what is kept of a state.
    pub gates: &'a Tensor,
    /// f32 `[sequences, tokens, heads]`.
    pub betas: &'a Tensor,
    /// f32 `[number, heads, key size, value size]`.
    pub states: &'a Tensor,
    /// u32 `[sequences]`: the state of each sequence, all different. Without such a state, results are 0.
    pub slots: &'a Tensor,
    /// Factor of the results.
    pub scale: f32,
}

/// How a router's logits become experts and weights: see [`kernels::MoeGate`].
#[derive(Clone, Copy, Debug)]
pub struct MoeGate<'a> {
    /// Experts that are chosen for a token.
    pub k: usize,
    /// What experts are chosen and weighed by.
    pub scores: GateScores,
    /// f32 `[experts]`: added to each expert's score for the choice.
    pub bias: Option<&'a Tensor>,
    /// Groups of experts, some of which are chosen first.
    pub groups: Option<ExpertGroups>,
    /// Weights are divided by their sum.
    pub renormalise: bool,
    /// Factor of the final weights.
    pub scale: f32,
}

impl MoeGate<'_> {
    /// The experts with the largest softmax.
    #[must_use]
    pub fn new(k: usize) -> Self {
        Self { k, scores: GateScores::Softmax, bias: None, groups: None, renormalise: false, scale: 1.0 }
    }
}

/// The words of a table for [`KernelBackend::sample`](crate::KernelBackend::sample), u32 `[rows, 4]`.
#[must_use]
pub fn sampling_words(rows: &[Sampling]) -> Vec<u32> {
    rows.iter()
        .flat_map(|row| [row.temperature.to_bits(), row.top_p.to_bits(), row.min_p.to_bits(), row.top_k])
        .collect()
}

/// The words of a table for [`KernelBackend::penalize`](crate::KernelBackend::penalize), u32 `[rows, 3]`.
#[must_use]
pub fn penalty_words(rows: &[Penalties]) -> Vec<u32> {
    rows.iter().flat_map(|row| [row.repetition, row.frequency, row.presence]).map(f32::to_bits).collect()
}
