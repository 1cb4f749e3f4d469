//! What a model is made of: read from a file's values by one table of architectures.

mod architecture;
mod json;
mod metadata;

use backend::{Rope, RopeStyle};

pub use architecture::{
    Architecture, Family, FeedForward, NormOf, all as architectures, named as architecture,
};

/// A model's sizes and settings.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// The architecture.
    pub architecture: &'static Architecture,
    /// The model's name, if its file has one.
    pub name: Option<String>,
    /// Layers.
    pub layers: usize,
    /// Elements of a token's vector.
    pub width: usize,
    /// The number of tokens.
    pub vocabulary: usize,
    /// Positions that the model was trained with.
    pub context: usize,
    /// Elements of the vector inside of a feed-forward layer.
    pub feed_forward: usize,
    /// Heads of queries.
    pub heads: usize,
    /// Heads of keys and values.
    pub kv_heads: usize,
    /// Elements of a head of queries and keys.
    pub head_size: usize,
    /// Added to variances and mean squares.
    pub norm_eps: f32,
    /// Rotation of queries and keys.
    pub rope: Rope,
    /// The elements of a head that are rotated together.
    pub rope_style: RopeStyle,
    /// Rotation in layers with a window, if it differs.
    pub window_rope: Option<Rope>,
    /// Layers with a window see this number of positions.
    pub window: Option<usize>,
    /// Factor of attention's scores.
    pub attention_scale: f32,
    /// Attention's scores are limited.
    pub attention_cap: Option<f32>,
    /// Logits are limited.
    pub logit_cap: Option<f32>,
    /// Experts, in models that have them.
    pub experts: Option<Experts>,
    /// How an encoder's vectors become one, if the file says so.
    pub pooling: Option<crate::engine::Pooling>,
}

/// Experts of a feed-forward layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Experts {
    /// Experts of a layer.
    pub count: usize,
    /// Experts of a token.
    pub used: usize,
    /// Elements of the vector inside of an expert.
    pub feed_forward: usize,
}

impl Config {
    /// Whether a layer sees only a window of positions.
    #[must_use]
    pub fn has_window(&self, layer: usize) -> bool {
        self.window.is_some()
            && self.architecture.window_period.is_none_or(|(period, global)| layer % period != global)
    }

    /// The number of positions that a layer sees; `None` for all.
    #[must_use]
    pub fn window_of(&self, layer: usize) -> Option<usize> {
        self.window.filter(|_| self.has_window(layer))
    }

    /// Elements of all heads of queries.
    #[must_use]
    pub fn query_width(&self) -> usize {
        self.heads * self.head_size
    }

    /// Elements of all heads of keys.
    #[must_use]
    pub fn key_width(&self) -> usize {
        self.kv_heads * self.head_size
    }
}
