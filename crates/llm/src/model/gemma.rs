//! Gemma 2 and 3.
//!
//! Each branch has a norm behind it as well as before it, and gates are GELUs. Most layers see a window of
//! positions; in Gemma 3 these rotate by a base of their own. Gemma 2 limits attention's scores and logits.

use backend::{Gate, KernelBackend, Tensor};

use super::Model;
use super::cache::Cache;
use super::parts::{Embedding, FeedForward, Output, Rotation, SelfAttention};
use super::step::Step;
use crate::config::Config;
use crate::error::Result;
use crate::weights::Weights;

#[derive(Debug)]
pub(super) struct Gemma {
    config: Config,
    embedding: Embedding,
    layers: Vec<Layer>,
    rotation: Rotation,
    window_rotation: Option<Rotation>,
    output: Output,
}

#[derive(Debug)]
struct Layer {
    attention_norm: Tensor,
    attention: SelfAttention,
    after_attention_norm: Tensor,
    feed_forward_norm: Tensor,
    feed_forward: FeedForward,
    after_feed_forward_norm: Tensor,
}

impl Gemma {
    pub(super) fn load(config: &Config, weights: &mut Weights<'_>) -> Result<Self> {
        let embedding = Embedding::load(weights, config)?;
        let rotation = Rotation::load(weights, config, &config.rope)?;
        let window_rotation =
            config.window_rope.as_ref().map(|rope| Rotation::load(weights, config, rope)).transpose()?;
        let mut layers = Vec::with_capacity(config.layers);
        for layer in 0..config.layers {
            let norm = |weights: &mut Weights<'_>, part: &str| {
                weights.vector(&format!("blk.{layer}.{part}.weight"), &[config.width])
            };
            layers.push(Layer {
                attention_norm: norm(weights, "attn_norm")?,
                attention: SelfAttention::load(weights, config, layer)?,
                after_attention_norm: norm(weights, "post_attention_norm")?,
                feed_forward_norm: norm(weights, "ffn_norm")?,
                feed_forward: FeedForward::load(weights, config, layer)?,
                after_feed_forward_norm: norm(weights, "post_ffw_norm")?,
            });
        }
        let output = Output::load(weights, config, &embedding)?;
        Ok(Self { config: config.clone(), embedding, layers, rotation, window_rotation, output })
    }
}

impl Model for Gemma {
    fn config(&self) -> &Config {
        &self.config
    }

    fn hidden(&self, backend: &dyn KernelBackend, step: &Step, cache: &Cache) -> Result<Tensor> {
        let (config, eps) = (&self.config, self.config.norm_eps);
        let residual = self.embedding.forward(backend, &step.ids)?;
        backend.affine(&residual, (config.width as f32).sqrt(), 0.0, &residual)?;
        let turns = self.rotation.turns(backend, &step.positions)?;
        let window = self.window_rotation.as_ref();
        let window_turns = window.map(|rotation| rotation.turns(backend, &step.positions)).transpose()?;
        let is_quantised =
            |layer: &Layer| layer.attention.is_quantised() || layer.feed_forward.is_quantised();
        let quantised = self.layers.iter().any(is_quantised);
        let x = backend.factor(residual.dtype(), residual.shape(), quantised)?;
        let first = self.layers.first().map_or(&self.output.norm, |layer| &layer.attention_norm);
        backend.norm_factor(None, &residual, Some(first), eps, &x)?;
        for (at, (layer, cache)) in self.layers.iter().zip(&cache.kv.layers).enumerate() {
            let turns = window_turns.as_ref().filter(|_| config.has_window(at)).unwrap_or(&turns);
            let branch = layer.attention.forward(backend, config, turns, step, cache, &x)?;
            backend.rmsnorm(&branch, Some(&layer.after_attention_norm), eps, &branch)?;
            backend.norm_factor(Some(&branch), &residual, Some(&layer.feed_forward_norm), eps, &x)?;
            let branch = layer.feed_forward.forward(backend, Gate::Gelu, &x)?;
            backend.rmsnorm(&branch, Some(&layer.after_feed_forward_norm), eps, &branch)?;
            let next = self.layers.get(at + 1).map_or(&self.output.norm, |layer| &layer.attention_norm);
            backend.norm_factor(Some(&branch), &residual, Some(next), eps, &x)?;
        }
        Ok(x.numbers().clone())
    }

    fn logits(&self, backend: &dyn KernelBackend, hidden: &Tensor) -> Result<Tensor> {
        let logits = self.output.logits(backend, hidden)?;
        if let Some(cap) = self.config.logit_cap {
            backend.softcap(&logits, cap, &logits)?;
        }
        Ok(logits)
    }
}
