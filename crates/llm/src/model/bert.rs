//! BERT's encoders.
//!
//! Every token sees every other. Norms are layer norms, behind each branch and its sum with the residual
//! stream; positions have vectors of their own.

use std::ops::Range;

use backend::{Activation, Attention, Factor, KernelBackend, Keys, Tensor};

use super::parts::{Embedding, Joined, Linear};
use crate::config::Config;
use crate::error::Result;
use crate::weights::{MatrixRows, Weights};

/// An encoder.
#[derive(Debug)]
pub struct Bert {
    config: Config,
    embedding: Embedding,
    positions: Tensor,
    /// The vector of the first kind of segment, which all tokens are of.
    segment: Option<Tensor>,
    norm: Norm,
    layers: Vec<Layer>,
}

#[derive(Debug)]
struct Layer {
    qkv: Joined<3>,
    out: Linear,
    attention_norm: Norm,
    up: Linear,
    down: Linear,
    norm: Norm,
}

#[derive(Debug)]
struct Norm {
    weight: Tensor,
    bias: Tensor,
}

impl Norm {
    fn load(weights: &mut Weights<'_>, name: &str, width: usize) -> Result<Self> {
        Ok(Self {
            weight: weights.vector(&format!("{name}.weight"), &[width])?,
            bias: weights.vector(&format!("{name}.bias"), &[width])?,
        })
    }

    fn apply(&self, backend: &dyn KernelBackend, x: &Tensor, eps: f32) -> Result<()> {
        Ok(backend.layer_norm(x, Some(&self.weight), Some(&self.bias), eps, x)?)
    }
}

impl Bert {
    /// Loads an encoder.
    ///
    /// # Errors
    /// For tensors that are missing or have other shapes; of reading and of the backend.
    pub fn load(config: &Config, weights: &mut Weights<'_>) -> Result<Self> {
        let (width, inner) = (config.width, config.feed_forward);
        let embedding = Embedding::load(weights, config)?;
        let positions = weights.vector("position_embd.weight", &[config.context, width])?;
        let segment = match weights.has("token_types.weight") {
            true => {
                let kinds = weights.rows("token_types.weight")?;
                Some(weights.vector("token_types.weight", &[kinds, width])?.select(0, 0)?)
            }
            false => None,
        };
        let norm = Norm::load(weights, "token_embd_norm", width)?;
        let mut layers = Vec::with_capacity(config.layers);
        for layer in 0..config.layers {
            let name = |part: &str| format!("blk.{layer}.{part}");
            let of_all = |part| MatrixRows {
                name: name(part),
                of: [width, width],
                rows: vec![Range { start: 0, end: width }],
            };
            layers.push(Layer {
                qkv: Joined::load(weights, ["attn_q", "attn_k", "attn_v"].map(of_all))?,
                out: Linear::load(weights, &name("attn_output"), width, width)?,
                attention_norm: Norm::load(weights, &name("attn_output_norm"), width)?,
                up: Linear::load(weights, &name("ffn_up"), inner, width)?,
                down: Linear::load(weights, &name("ffn_down"), width, inner)?,
                norm: Norm::load(weights, &name("layer_output_norm"), width)?,
            });
        }
        Ok(Self { config: config.clone(), embedding, positions, segment, norm, layers })
    }

    /// Its configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The vectors of one text's tokens, `[tokens, width]`. `ids` is u32, of at most the context's length.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn hidden(&self, backend: &dyn KernelBackend, ids: &Tensor) -> Result<Tensor> {
        let (config, tokens) = (&self.config, ids.elements());
        let x = self.embedding.forward(backend, ids)?;
        backend.add(&x, &self.positions.narrow(0, 0, tokens)?, &x)?;
        if let Some(segment) = &self.segment {
            backend.add(&x, segment, &x)?;
        }
        self.norm.apply(backend, &x, config.norm_eps)?;
        for layer in &self.layers {
            let [q, k, v] = layer.qkv.forward(backend, &Factor::of(x.clone()))?;
            // One text, whose heads are parts of a row.
            let heads = |x: &Tensor| x.split(1, config.head_size)?.split(0, tokens);
            let (q, k, v) = (heads(&q)?, heads(&k)?, heads(&v)?);
            let mixed = backend.empty(x.dtype(), q.shape())?;
            let keys = Keys::Dense { k: &k, v: &v };
            backend.attention(&Attention::bidirectional(&q, keys, None, tokens), &mixed)?;
            let branch = layer.out.forward(backend, &mixed.reshape(&[tokens, config.width])?)?;
            backend.add(&x, &branch, &x)?;
            layer.attention_norm.apply(backend, &x, config.norm_eps)?;
            let inner = layer.up.forward(backend, &x)?;
            backend.activate(Activation::GeluErf, &inner, &inner)?;
            let branch = layer.down.forward(backend, &inner)?;
            backend.add(&x, &branch, &x)?;
            layer.norm.apply(backend, &x, config.norm_eps)?;
        }
        Ok(x)
    }
}
