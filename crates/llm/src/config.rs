//! What a model is made of: read from a file's values by one table of architectures.

mod architecture;
mod json;
mod metadata;

use std::ops::Range;

use backend::{KvShape, Rope, RopeStyle, Shard};

pub use architecture::{
    Architecture, Family, FeedForward, NormOf, all as architectures, named as architecture,
};

/// A model's sizes and settings.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// The architecture.
    pub architecture: &'static Architecture,
    /// Whether it was read from a GGUF file: some matrices have their rows in another order than elsewhere.
    pub is_of_gguf: bool,
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
    /// Gated delta nets, in models that have them.
    pub delta: Option<Delta>,
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
    /// The same of an expert that every token has, if there is one.
    pub shared: Option<usize>,
}

/// Gated delta nets, which most layers have instead of attention.
#[derive(Clone, Debug, PartialEq)]
pub struct Delta {
    /// Whether each layer has attention.
    pub attention: Vec<bool>,
    /// Heads of queries and keys.
    pub key_heads: usize,
    /// Heads of values.
    pub heads: usize,
    /// Elements of a head of queries and keys.
    pub key_size: usize,
    /// Elements of a head of values.
    pub value_size: usize,
    /// Tokens that the convolution before them sees.
    pub width: usize,
    /// How the file orders heads of values.
    pub order: HeadOrder,
}

impl Delta {
    /// Channels of the convolution: those of queries, keys and values.
    #[must_use]
    pub fn channels(&self) -> usize {
        2 * self.key_width() + self.value_width()
    }

    /// Elements of all heads of keys.
    #[must_use]
    pub fn key_width(&self) -> usize {
        self.key_heads * self.key_size
    }

    /// Elements of all heads of values.
    #[must_use]
    pub fn value_width(&self) -> usize {
        self.heads * self.value_size
    }

    /// The heads of values of one rank, of so many ranks that have as many heads as this: those that share
    /// its heads of keys. They are among the heads of all ranks.
    #[must_use]
    pub fn heads_of(&self, Shard { rank, size }: Shard) -> Vec<Range<usize>> {
        match self.order {
            HeadOrder::Grouped => std::iter::once(rank * self.heads..(rank + 1) * self.heads).collect(),
            HeadOrder::Tiled => {
                let first = |tile: usize| (tile * size + rank) * self.key_heads;
                (0..self.group()).map(first).map(|first| first..first + self.key_heads).collect()
            }
        }
    }

    /// Heads of values that share a head of keys.
    #[must_use]
    pub fn group(&self) -> usize {
        self.heads / self.key_heads
    }

    /// Bytes of the states of one sequence.
    #[must_use]
    pub fn state_bytes(&self) -> u64 {
        let layers = self.attention.iter().filter(|has| !**has).count() as u64;
        let product = |factors: [usize; 3]| {
            factors.iter().fold(1_u64, |all, factor| all.saturating_mul(*factor as u64))
        };
        let matrix = product([self.heads, self.key_size, self.value_size]);
        let conv = product([self.channels(), self.width - 1, 1]);
        matrix.saturating_add(conv).saturating_mul(4 * layers)
    }

    /// Which layers have attention, from the interval of such layers, a `full_attention_interval`.
    fn attention_every(interval: Option<usize>, layers: usize) -> Result<Vec<bool>, String> {
        match interval.unwrap_or(USUAL_INTERVAL) {
            0 => Err("has a `full_attention_interval` of 0".to_owned()),
            interval => Ok((1..=layers).map(|number| number.is_multiple_of(interval)).collect()),
        }
    }

    /// Names what makes no sense, if anything does.
    fn check(&self) -> Result<(), String> {
        if self.key_heads == 0 || !self.heads.is_multiple_of(self.key_heads) {
            return Err(format!("has {} heads of values and {} of keys", self.heads, self.key_heads));
        }
        if !(2..=MOST_WIDTH).contains(&self.width) {
            return Err(format!("has convolutions of {} tokens, not of 2 to {MOST_WIDTH}", self.width));
        }
        Ok(())
    }
}

/// Tokens that a convolution sees at most.
const MOST_WIDTH: usize = 4;
/// One layer in four has attention, unless the configuration says otherwise.
const USUAL_INTERVAL: usize = 4;

/// The order of heads of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadOrder {
    /// Those that share a head of keys are neighbours.
    Grouped,
    /// The first one of each head of keys, then the second one of each, and so on.
    Tiled,
}

impl Config {
    /// The model's name, or that of its architecture.
    #[must_use]
    pub fn known_as(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.architecture.name.to_owned())
    }

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

    /// Whether a layer has attention, and keys and values in the cache.
    #[must_use]
    pub fn has_attention(&self, layer: usize) -> bool {
        self.delta.as_ref().is_none_or(|delta| delta.attention.get(layer).copied().unwrap_or(true))
    }

    /// The shapes of keys and values, of each layer that has them.
    #[must_use]
    pub fn kv_shapes(&self) -> Vec<KvShape> {
        let layers = (0..self.layers).filter(|&layer| self.has_attention(layer)).count();
        vec![KvShape { heads: self.kv_heads, dimensions: self.head_size }; layers]
    }

    /// One rank's part: some of the heads, and of the elements inside of feed-forward layers.
    ///
    /// # Errors
    /// What the ranks cannot share equally.
    pub fn share(&self, shard: Shard) -> Result<Self, String> {
        let mut part = self.clone();
        if shard.size == 1 {
            return Ok(part);
        }
        let mut counts = vec![
            ("heads of queries", &mut part.heads),
            ("heads of keys", &mut part.kv_heads),
            ("elements inside of feed-forward layers", &mut part.feed_forward),
        ];
        if let Some(experts) = &mut part.experts {
            counts.push(("elements inside of experts", &mut experts.feed_forward));
            counts.extend(experts.shared.as_mut().map(|size| ("elements inside of the shared expert", size)));
        }
        if let Some(delta) = &mut part.delta {
            counts.push(("heads of keys of gated delta nets", &mut delta.key_heads));
            counts.push(("heads of values of gated delta nets", &mut delta.heads));
        }
        for (what, count) in counts {
            if !count.is_multiple_of(shard.size) {
                return Err(format!("has {count} {what}, which {} devices cannot share equally", shard.size));
            }
            *count /= shard.size;
        }
        Ok(part)
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
