//! Llama, Mistral, Qwen2 and Qwen3, and their mixtures of experts: Mixtral and Qwen3-MoE.
//!
//! A layer adds attention to the residual stream, then a feed-forward layer with a SiLU gate, each behind an
//! RMS norm. Qwen2 has biases of queries, keys and values; Qwen3 has norms of each head's queries and keys.

use backend::{Gate, KernelBackend, Tensor};

use super::Model;
use super::cache::Cache;
use super::parts::{Embedding, FeedForward, Output, Residual, Rotation, SelfAttention};
use super::step::Step;
use crate::config::Config;
use crate::error::Result;
use crate::weights::Weights;

#[derive(Debug)]
pub(super) struct Llama {
    config: Config,
    embedding: Embedding,
    layers: Vec<Layer>,
    rotation: Rotation,
    output: Output,
    gate: Gate,
}

#[derive(Debug)]
struct Layer {
    attention_norm: Tensor,
    attention: SelfAttention,
    feed_forward_norm: Tensor,
    feed_forward: FeedForward,
}

impl Llama {
    pub(super) fn load(config: &Config, weights: &mut Weights<'_>) -> Result<Self> {
        Self::with(config, weights, "ffn_norm", Gate::Silu)
    }

    /// One whose feed-forward layers have another gate, and another name of the norm before them.
    pub(super) fn with(
        config: &Config,
        weights: &mut Weights<'_>,
        feed_forward_norm: &str,
        gate: Gate,
    ) -> Result<Self> {
        let embedding = Embedding::load(weights, config)?;
        let rotation = Rotation::load(weights, config, &config.rope)?;
        let mut layers = Vec::with_capacity(config.layers);
        for layer in 0..config.layers {
            let name = |part: &str| format!("blk.{layer}.{part}.weight");
            layers.push(Layer {
                attention_norm: weights.vector(&name("attn_norm"), &[config.width])?,
                attention: SelfAttention::load(weights, config, layer)?,
                feed_forward_norm: weights.vector(&name(feed_forward_norm), &[config.width])?,
                feed_forward: FeedForward::load(weights, config, layer)?,
            });
        }
        let output = Output::load(weights, config, &embedding)?;
        Ok(Self { config: config.clone(), embedding, layers, rotation, output, gate })
    }
}

impl Model for Llama {
    fn config(&self) -> &Config {
        &self.config
    }

    fn hidden(&self, backend: &dyn KernelBackend, step: &Step, cache: &Cache) -> Result<Tensor> {
        let config = &self.config;
        let embedded = self.embedding.forward(backend, &step.ids)?;
        let turns = self.rotation.turns(backend, &step.positions)?;
        let is_quantised =
            |layer: &Layer| layer.attention.is_quantised() || layer.feed_forward.is_quantised();
        let quantised = self.layers.iter().any(is_quantised);
        let residual = Residual::new(backend, embedded, config.norm_eps, quantised)?;
        let x = &residual.normed;
        let mut branch: Option<Tensor> = None;
        for (layer, cache) in self.layers.iter().zip(&cache.kv.layers) {
            residual.norm(branch.as_ref(), &layer.attention_norm)?;
            let attention = layer.attention.forward(backend, config, &turns, step, cache, x)?;
            residual.norm(Some(&attention), &layer.feed_forward_norm)?;
            branch = Some(layer.feed_forward.forward(backend, self.gate, x)?);
        }
        residual.norm(branch.as_ref(), &self.output.norm)?;
        Ok(residual.hidden())
    }

    fn logits(&self, backend: &dyn KernelBackend, hidden: &Tensor) -> Result<Tensor> {
        self.output.logits(backend, hidden)
    }
}
