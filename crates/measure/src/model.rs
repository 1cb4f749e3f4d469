//! Transformers of Llama's shape, on the device and in f64 on the CPU.

pub(crate) mod forward;
pub(crate) mod ops;
pub mod reference;

use kernels::{Element, Rope};

use crate::error::Result;
use crate::options::{Size, names};
use crate::random::Random;

/// A published model whose shape is measured. Its weights are random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelName {
    /// Llama 3.1 8B.
    Llama,
    /// Mistral 7B v0.3.
    Mistral,
    /// Qwen2.5 7B, without the biases of its queries, keys and values.
    Qwen,
}

names!(ModelName, "--model": Llama "llama", Mistral "mistral", Qwen "qwen");

/// The sizes of a transformer: RMS norms, grouped heads with rotary embeddings, SwiGLU, no biases, separate
/// embedding and head.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// Width of the residual stream.
    pub hidden: usize,
    /// Heads of queries.
    pub heads: usize,
    /// Heads of keys and values; a divisor of the heads of queries.
    pub kv_heads: usize,
    /// Width of a head: a multiple of 16.
    pub head_dim: usize,
    /// Width between the products of the feed-forward network.
    pub intermediate: usize,
    /// Tokens of the vocabulary.
    pub vocab: usize,
    /// Blocks.
    pub layers: usize,
    /// The base of the rotary embedding.
    pub rope_base: f64,
    /// Added to means of squares.
    pub eps: f64,
}

impl ModelName {
    /// The shape as published.
    #[must_use]
    pub fn shape(self) -> Shape {
        let llama = Shape {
            hidden: 4096,
            heads: 32,
            kv_heads: 8,
            head_dim: 128,
            intermediate: 14_336,
            vocab: 128_256,
            layers: 32,
            rope_base: 500_000.0,
            eps: 1e-5,
        };
        match self {
            Self::Llama => llama,
            Self::Mistral => Shape { vocab: 32_768, rope_base: 1e6, ..llama },
            Self::Qwen => Shape {
                hidden: 3584,
                heads: 28,
                kv_heads: 4,
                intermediate: 18_944,
                vocab: 152_064,
                layers: 28,
                rope_base: 1e6,
                eps: 1e-6,
                ..llama
            },
        }
    }
}

/// Weights by their places among all of a model: first these, then the weights of each block.
pub(crate) const EMBEDDING: usize = 0;
pub(crate) const FINAL_NORM: usize = 1;
pub(crate) const HEAD: usize = 2;
const FIRST_LAYER: usize = 3;

/// The weights of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    AttentionNorm,
    Query,
    Key,
    Value,
    Output,
    FeedNorm,
    Gate,
    Up,
    Down,
}

impl Weight {
    const COUNT: usize = 9;

    /// The place of a block's weight.
    pub(crate) fn of(self, layer: usize) -> usize {
        FIRST_LAYER + layer * Self::COUNT + self as usize
    }
}

impl Shape {
    /// The shape for a size of cases, with this many blocks, or as many as the size has. All sizes except
    /// full are narrower.
    #[must_use]
    pub fn scaled(self, size: Size, layers: Option<usize>) -> Self {
        let (scaled, most) = match size {
            Size::Tiny => {
                // Two heads of keys with two heads of queries each; and many heads of queries that share one.
                let (group, head_dim) = (self.heads / self.kv_heads, 16);
                let (group, kv_heads) = if group > 4 { (group, 1) } else { (2, 2) };
                let heads = group * kv_heads;
                let (hidden, intermediate, vocab) =
                    (heads * head_dim, self.intermediate / 64, self.vocab / 256);
                (Self { hidden, heads, kv_heads, head_dim, intermediate, vocab, ..self }, 1)
            }
            Size::Small => {
                let (heads, kv_heads) = (self.heads / 2, self.kv_heads / 2);
                let (hidden, intermediate, vocab) = (self.hidden / 2, self.intermediate / 2, self.vocab / 4);
                (Self { hidden, heads, kv_heads, intermediate, vocab, ..self }, 2)
            }
            Size::Full => (self, 4),
        };
        Self { layers: layers.unwrap_or(most), ..scaled }
    }

    /// Width of all heads of queries.
    #[must_use]
    pub fn query_width(&self) -> usize {
        self.heads * self.head_dim
    }

    /// Width of all heads of keys.
    #[must_use]
    pub fn key_width(&self) -> usize {
        self.kv_heads * self.head_dim
    }

    /// Rows and columns of all weights: a vector has one row.
    #[must_use]
    pub fn weights(&self) -> Vec<(usize, usize)> {
        let (hidden, wide) = (self.hidden, self.intermediate);
        let (queries, keys) = (self.query_width(), self.key_width());
        let block = [
            (1, hidden),
            (queries, hidden),
            (keys, hidden),
            (keys, hidden),
            (hidden, queries),
            (1, hidden),
            (wide, hidden),
            (wide, hidden),
            (hidden, wide),
        ];
        let mut all = vec![(self.vocab, hidden), (1, hidden), (self.vocab, hidden)];
        for _ in 0..self.layers {
            all.extend(block);
        }
        all
    }

    /// All parameters.
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.weights().iter().map(|(rows, columns)| rows * columns).sum()
    }

    /// Parameters that each token is multiplied with: those of all blocks, without the norms.
    #[must_use]
    pub fn multiplied(&self) -> usize {
        let of_blocks = self.weights().into_iter().skip(FIRST_LAYER);
        of_blocks.filter(|(rows, _)| *rows > 1).map(|(rows, columns)| rows * columns).sum()
    }

    /// Floating-point operations of attention, with a product of queries with keys and one of weights with
    /// values, for queries that together see this many keys, in all blocks.
    #[must_use]
    pub fn attention_flops(&self, seen: usize) -> f64 {
        4.0 * (self.layers * self.query_width()) as f64 * seen as f64
    }

    /// The rotary embedding.
    pub(crate) fn rope(&self) -> Rope {
        Rope { base: self.rope_base, ..Rope::new(self.head_dim) }
    }

    /// Weights of a type, of a magnitude that preserves the size of signals.
    #[must_use]
    pub fn random_weights<T: Element>(&self, seed: u64) -> Vec<Vec<T>> {
        let of = |(place, (rows, columns)): (usize, (usize, usize))| {
            let mut random = Random::new(seed.wrapping_add(place as u64));
            let range = (3.0 / columns as f64).sqrt();
            let number = move |_| match (rows, place) {
                (1, _) => 1.0 + random.number(0.25),
                (_, EMBEDDING) => random.number(1.0),
                _ => random.number(range),
            };
            (0..rows * columns).map(number).map(T::from_f64).collect()
        };
        self.weights().into_iter().enumerate().map(of).collect()
    }

    /// Random token ids.
    #[must_use]
    pub fn random_ids(&self, count: usize, seed: u64) -> Vec<u32> {
        let mut random = Random::new(seed);
        (0..count).map(|_| random.below(self.vocab) as u32).collect()
    }

    /// Refuses shapes that the kernels do not support.
    pub(crate) fn check(&self) -> Result<()> {
        let wrong = self.kv_heads == 0
            || !self.heads.is_multiple_of(self.kv_heads)
            || !self.head_dim.is_multiple_of(16);
        match wrong {
            true => Err(crate::Error::Option {
                option: "--model",
                problem: format!("{self:?} has no such heads"),
            }),
            false => Ok(()),
        }
    }
}

/// The number of keys that queries see. The `queries` are the last of `keys` positions; each sees its own and
/// all earlier ones.
pub(crate) fn seen(queries: usize, keys: usize) -> usize {
    queries * (2 * keys + 1 - queries) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parameters as in the model cards: 8.03, 7.25 and 7.62 billion, for Qwen without 129,024 biases.
    #[test]
    fn parameters_are_those_of_the_models() {
        let of = |model: ModelName| model.shape().parameters();
        assert_eq!(of(ModelName::Llama), 8_030_261_248);
        assert_eq!(of(ModelName::Mistral), 7_248_023_552);
        assert_eq!(of(ModelName::Qwen), 7_615_616_512 - 28 * (3584 + 512 + 512));
    }

    #[test]
    fn scaled_shapes_have_heads_that_fit() {
        for model in ModelName::ALL {
            let full = model.shape();
            for size in Size::ALL {
                let shape = full.scaled(*size, Some(3));
                assert!(shape.check().is_ok() && shape.layers == 3);
                let group = |shape: Shape| shape.heads / shape.kv_heads;
                assert!(*size == Size::Tiny || group(shape) == group(full), "{size}");
                assert_eq!(shape.query_width(), shape.hidden);
                assert_eq!(shape.weights().len(), Weight::Down.of(2) + 1);
            }
            assert_eq!(full.scaled(Size::Full, Some(full.layers)), full);
        }
    }

    #[test]
    fn causal_queries_see_a_triangle() {
        assert_eq!(seen(4, 4), 1 + 2 + 3 + 4);
        assert_eq!(seen(1, 10), 10);
        assert_eq!(seen(2, 5), 4 + 5);
        // 2 products of 2 operations, 2 heads of 16.
        let shape = Shape { heads: 2, head_dim: 16, layers: 1, ..ModelName::Llama.shape() };
        assert_eq!(shape.attention_flops(10), 4.0 * 32.0 * 10.0);
    }
}
