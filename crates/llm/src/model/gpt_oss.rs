//! GPT-OSS.
//!
//! Every layer has experts, whose matrices are MXFP4, and biases everywhere. Every second layer sees a window
//! of positions, and each head has a sink: a score that takes part in the softmax and has no value.

use backend::{Gate, KernelBackend, KvCache, Tensor};

use super::Model;
use super::parts::{Embedding, FeedForward, Output, Rotation, SelfAttention};
use super::step::Step;
use crate::config::Config;
use crate::error::Result;
use crate::weights::Weights;

/// The gate of its experts.
const GATE: Gate = Gate::SwigluOai { alpha: 1.702, limit: 7.0 };

#[derive(Debug)]
pub(super) struct GptOss {
    config: Config,
    embedding: Embedding,
    layers: Vec<Layer>,
    rotation: Rotation,
    output: Output,
}

#[derive(Debug)]
struct Layer {
    attention_norm: Tensor,
    attention: SelfAttention,
    experts_norm: Tensor,
    experts: FeedForward,
}

impl GptOss {
    pub(super) fn load(config: &Config, weights: &mut Weights<'_>) -> Result<Self> {
        let embedding = Embedding::load(weights, config)?;
        let rotation = Rotation::load(weights, config, &config.rope)?;
        let mut layers = Vec::with_capacity(config.layers);
        for layer in 0..config.layers {
            let name = |part: &str| format!("blk.{layer}.{part}.weight");
            layers.push(Layer {
                attention_norm: weights.vector(&name("attn_norm"), &[config.width])?,
                attention: SelfAttention::load(weights, config, layer)?,
                experts_norm: weights.vector(&name("post_attention_norm"), &[config.width])?,
                experts: FeedForward::load(weights, config, layer)?,
            });
        }
        let output = Output::load(weights, config, &embedding)?;
        Ok(Self { config: config.clone(), embedding, layers, rotation, output })
    }
}

impl Model for GptOss {
    fn config(&self) -> &Config {
        &self.config
    }

    fn hidden(&self, backend: &dyn KernelBackend, step: &Step, cache: &KvCache) -> Result<Tensor> {
        let (config, eps) = (&self.config, self.config.norm_eps);
        let residual = self.embedding.forward(backend, &step.ids)?;
        let turns = self.rotation.turns(backend, &step.positions)?;
        let x = backend.empty(residual.dtype(), residual.shape())?;
        backend.rmsnorm(&residual, self.layers.first().map(|layer| &layer.attention_norm), eps, &x)?;
        for (at, (layer, cache)) in self.layers.iter().zip(&cache.layers).enumerate() {
            let branch = layer.attention.forward(backend, config, &turns, step, cache, &x)?;
            backend.add_rmsnorm(&branch, &residual, Some(&layer.experts_norm), eps, &x)?;
            let branch = layer.experts.forward(backend, GATE, &x)?;
            let next = self.layers.get(at + 1).map_or(&self.output.norm, |layer| &layer.attention_norm);
            backend.add_rmsnorm(&branch, &residual, Some(next), eps, &x)?;
        }
        Ok(x)
    }

    fn logits(&self, backend: &dyn KernelBackend, hidden: &Tensor) -> Result<Tensor> {
        self.output.logits(backend, hidden)
    }
}
