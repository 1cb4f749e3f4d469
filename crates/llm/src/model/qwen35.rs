//! Qwen3-Next and Qwen3.5, and their mixtures of experts.
//!
//! Most layers have a gated delta net: a linear attention whose state each token changes, behind a short
//! convolution of queries, keys and values. Every fourth layer has attention, whose result goes through a
//! gate. Both are Llama's layers otherwise.

use std::ops::Range;

use backend::{Activation, DType, Factor, Gate, GatedDelta, KernelBackend, Shard, Tensor};

use super::Model;
use super::cache::{Cache, State};
use super::parts::{Embedding, FeedForward, Linear, Output, Residual, Rotation, SelfAttention, linears};
use super::step::Step;
use crate::config::{Config, Delta, HeadOrder};
use crate::error::{Error, Result};
use crate::weights::{Cut, MatrixRows, Weights, joined};

/// Added to the sum of squares of queries and keys.
const EPS: f32 = 1e-6;

#[derive(Debug)]
pub(super) struct Qwen35 {
    config: Config,
    embedding: Embedding,
    layers: Vec<Layer>,
    rotation: Rotation,
    output: Output,
}

#[derive(Debug)]
struct Layer {
    norm: Tensor,
    mixer: Mixer,
    feed_forward_norm: Tensor,
    feed_forward: FeedForward,
}

/// What mixes tokens; each counts the layers of its kind.
#[derive(Debug)]
enum Mixer {
    Attention(usize, Box<SelfAttention>),
    Delta(usize, Box<DeltaNet>),
}

impl Qwen35 {
    pub(super) fn load(config: &Config, weights: &mut Weights<'_>) -> Result<Self> {
        let embedding = Embedding::load(weights, config)?;
        let rotation = Rotation::load(weights, config, &config.rope)?;
        let mut layers = Vec::with_capacity(config.layers);
        let (mut attentions, mut deltas) = (0..config.layers, 0..config.layers);
        for layer in 0..config.layers {
            let name = |part: &str| format!("blk.{layer}.{part}.weight");
            let mixer = match &config.delta {
                Some(delta) if !config.has_attention(layer) => {
                    let net = DeltaNet::load(weights, config, delta, layer)?;
                    Mixer::Delta(deltas.next().unwrap_or_default(), Box::new(net))
                }
                _ => {
                    let attention = SelfAttention::load(weights, config, layer)?;
                    Mixer::Attention(attentions.next().unwrap_or_default(), Box::new(attention))
                }
            };
            layers.push(Layer {
                norm: weights.vector(&name("attn_norm"), &[config.width])?,
                mixer,
                feed_forward_norm: weights.vector(&name("post_attention_norm"), &[config.width])?,
                feed_forward: FeedForward::load(weights, config, layer)?,
            });
        }
        let output = Output::load(weights, config, &embedding)?;
        Ok(Self { config: config.clone(), embedding, layers, rotation, output })
    }
}

impl Model for Qwen35 {
    fn config(&self) -> &Config {
        &self.config
    }

    fn hidden(&self, backend: &dyn KernelBackend, step: &Step, cache: &Cache) -> Result<Tensor> {
        let config = &self.config;
        let embedded = self.embedding.forward(backend, &step.ids)?;
        let turns = self.rotation.turns(backend, &step.positions)?;
        let is_quantised = |layer: &Layer| {
            let mixer = match &layer.mixer {
                Mixer::Attention(_, attention) => attention.is_quantised(),
                Mixer::Delta(_, net) => net.is_quantised(),
            };
            mixer || layer.feed_forward.is_quantised()
        };
        let quantised = self.layers.iter().any(is_quantised);
        let residual = Residual::new(backend, embedded, config.norm_eps, quantised)?;
        let x = &residual.normed;
        let mut branch: Option<Tensor> = None;
        for layer in &self.layers {
            residual.norm(branch.as_ref(), &layer.norm)?;
            let mixed = match &layer.mixer {
                Mixer::Attention(at, attention) => {
                    attention.forward(backend, config, &turns, step, &cache.kv.layers[*at], x)?
                }
                Mixer::Delta(at, net) => {
                    let state = cache.states.as_ref().and_then(|states| states.layers.get(*at));
                    net.forward(backend, config, step, state.ok_or_else(no_states)?, x)?
                }
            };
            residual.norm(Some(&mixed), &layer.feed_forward_norm)?;
            branch = Some(layer.feed_forward.forward(backend, Gate::Silu, x)?);
        }
        residual.norm(branch.as_ref(), &self.output.norm)?;
        Ok(residual.hidden())
    }

    fn logits(&self, backend: &dyn KernelBackend, hidden: &Tensor) -> Result<Tensor> {
        self.output.logits(backend, hidden)
    }
}

fn no_states() -> Error {
    Error::Device { reason: "a step of a model with states has no places of them".into() }
}

/// A gated delta net.
#[derive(Debug)]
struct DeltaNet {
    delta: Delta,
    /// Queries, keys and values.
    mixed: Linear,
    /// The gate of the result.
    z: Linear,
    /// How much of the state is kept.
    alpha: Linear,
    /// How much of a token enters the state.
    beta: Linear,
    conv: Tensor,
    /// f32 `[heads]`: factor of what is lost of a state.
    loss: Tensor,
    /// f32 `[heads]`, added to `alpha`.
    bias: Tensor,
    /// 1 / √size for each element of a head of keys.
    unit: Tensor,
    norm: Tensor,
    out: Linear,
}

impl DeltaNet {
    fn load(weights: &mut Weights<'_>, config: &Config, delta: &Delta, layer: usize) -> Result<Self> {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let (width, shard) = (config.width, weights.shard());
        // Of all ranks.
        let (values, channels, heads) =
            (delta.value_width() * shard.size, delta.channels() * shard.size, delta.heads * shard.size);
        let own_heads = delta.heads_of(shard);
        let own_values = rows_of(&own_heads, 0, delta.value_size);
        let part = |weights: &mut Weights<'_>, part: &str, of: usize, rows: &[Range<usize>]| {
            let rows = joined(rows.to_vec());
            Linear::load_rows(weights, MatrixRows { name: name(part), of: [of, width], rows })
        };
        // Rows of queries, of keys, then of values.
        let own_keys = shard.rank * delta.key_heads..(shard.rank + 1) * delta.key_heads;
        let keys = delta.key_width() * shard.size;
        let own_keys = |first: usize| rows_of(std::slice::from_ref(&own_keys), first, delta.key_size);
        let own_channels =
            [own_keys(0), own_keys(keys), rows_of(&own_heads, 2 * keys, delta.value_size)].concat();
        // Older files have some matrices in one, head of keys by head of keys.
        let (mixed, z) = if weights.has(&name("ssm_in.weight")) {
            let [q, k, v, z] = in_blocks(delta, shard, [1, 1, delta.group(), delta.group()], |at| match at {
                0 | 1 => delta.key_size,
                _ => delta.value_size,
            });
            let of = channels + values;
            (part(weights, "ssm_in", of, &[q, k, v].concat())?, part(weights, "ssm_in", of, &z)?)
        } else {
            (
                part(weights, "attn_qkv", channels, &own_channels)?,
                part(weights, "attn_gate", values, &own_values)?,
            )
        };
        let (beta, alpha) = if weights.has(&name("ssm_ba.weight")) {
            let [beta, alpha] = in_blocks(delta, shard, [delta.group(); 2], |_| 1);
            (part(weights, "ssm_ba", 2 * heads, &beta)?, part(weights, "ssm_ba", 2 * heads, &alpha)?)
        } else {
            (part(weights, "ssm_beta", heads, &own_heads)?, part(weights, "ssm_alpha", heads, &own_heads)?)
        };
        let conv = Cut::of_rows(joined(own_channels));
        let (of, of_part) = ([channels, delta.width], [delta.channels(), delta.width]);
        let conv = weights.vector_part(&name("ssm_conv1d.weight"), &of, &conv, &of_part)?;
        let of_heads = Cut::of_columns(own_heads, heads);
        let mut of_heads = |part: &str| weights.part_in_f32(&name(part), &[heads], &of_heads, &[delta.heads]);
        let (loss, bias) = (of_heads("ssm_a")?, of_heads("ssm_dt.bias")?);
        let unit = vec![(delta.key_size as f32).sqrt().recip(); delta.key_size];
        Ok(Self {
            delta: delta.clone(),
            mixed,
            z,
            alpha,
            beta,
            conv,
            loss,
            bias,
            unit: weights.backend().tensor(weights.dtype(), &[delta.key_size], &unit)?,
            norm: weights.vector(&name("ssm_norm.weight"), &[delta.value_size])?,
            out: Linear::load_columns(weights, &name("ssm_out"), [width, values], own_values)?,
        })
    }

    /// Whether matrices that are multiplied with `x` are quantised.
    fn is_quantised(&self) -> bool {
        [&self.mixed, &self.z, &self.alpha, &self.beta].into_iter().any(Linear::is_quantised)
    }

    /// `x` and the result are `[tokens, width]`.
    fn forward(
        &self,
        backend: &dyn KernelBackend,
        config: &Config,
        step: &Step,
        state: &State,
        x: &Factor,
    ) -> Result<Tensor> {
        let Delta { key_heads, heads, key_size, value_size, .. } = self.delta;
        let (tokens, keys) = (x.numbers().rows(), 2 * self.delta.key_width());
        let [raw, z, alpha, beta] = linears(backend, x, [&self.mixed, &self.z, &self.alpha, &self.beta])?;
        let x = x.numbers();

        let mixed = backend.empty(x.dtype(), raw.shape())?;
        step.for_groups(|group, first, count| {
            let part = |x: &Tensor| x.narrow(0, first, count)?.split(0, group.queries);
            let slots = group.states.as_ref().ok_or_else(no_states)?;
            Ok(backend.causal_conv(&part(&raw)?, &self.conv, &state.conv, slots, &part(&mixed)?)?)
        })?;
        backend.silu(&mixed, &mixed)?;

        // Queries and keys of length 1.
        let qk = backend.empty(x.dtype(), &[tokens, keys])?;
        backend.copy(&mixed.narrow(1, 0, keys)?, &qk)?;
        let qk = qk.reshape(&[tokens, 2 * key_heads, key_size])?;
        backend.rmsnorm(&qk, Some(&self.unit), EPS / key_size as f32, &qk)?;
        let v = mixed.narrow(1, keys, self.delta.value_width())?;

        let in_f32 = |x: &Tensor| -> Result<Tensor> {
            let out = backend.empty(DType::F32, &[tokens, heads])?;
            backend.cast(x, &out)?;
            Ok(out)
        };
        let (gates, betas) = (in_f32(&alpha)?, in_f32(&beta)?);
        backend.add(&gates, &self.bias, &gates)?;
        backend.activate(Activation::Softplus, &gates, &gates)?;
        backend.mul(&gates, &self.loss, &gates)?;
        backend.activate(Activation::Sigmoid, &betas, &betas)?;

        let (q, k) = (self.heads_of(backend, &qk, 0)?, self.heads_of(backend, &qk, 1)?);
        let out = backend.empty(x.dtype(), &[tokens, heads, value_size])?;
        step.for_groups(|group, first, count| {
            let part = |x: &Tensor| x.narrow(0, first, count)?.split(0, group.queries);
            let by = GatedDelta {
                q: &part(&q)?,
                k: &part(&k)?,
                v: &part(&v)?.split(2, value_size)?,
                gates: &part(&gates)?,
                betas: &part(&betas)?,
                states: &state.delta,
                slots: group.states.as_ref().ok_or_else(no_states)?,
                scale: (key_size as f32).sqrt().recip(),
            };
            Ok(backend.gated_delta(&by, &part(&out)?)?)
        })?;
        backend.rmsnorm(&out, Some(&self.norm), config.norm_eps, &out)?;
        let out = out.reshape(&[tokens, self.delta.value_width()])?;
        backend.gated(Gate::Silu, &z, &out, &out)?;
        let out = self.out.forward(backend, &out)?;
        backend.all_reduce(&out)?;
        Ok(out)
    }

    /// The heads of queries, or of keys, of `[tokens, 2 · heads, size]`. If neighbouring heads of values do
    /// not share one, they are repeated, so that each head of values has its own.
    fn heads_of(&self, backend: &dyn KernelBackend, qk: &Tensor, at: usize) -> Result<Tensor> {
        let Delta { key_heads, heads, key_size, order, .. } = self.delta;
        let (tokens, group) = (qk.size(0), self.delta.group());
        let part = qk.narrow(1, at * key_heads, key_heads)?;
        if order == HeadOrder::Grouped || group == 1 {
            return Ok(part);
        }
        let repeated = backend.empty(qk.dtype(), &[tokens, group, key_heads, key_size])?;
        for number in 0..group {
            // Rows of one length at equal distances, which a graph can copy.
            backend.copy(&part, &repeated.select(1, number)?)?;
        }
        Ok(repeated.reshape(&[tokens, heads, key_size])?)
    }
}

/// The rows of these heads, of a size each, from a row on.
fn rows_of(heads: &[Range<usize>], first: usize, size: usize) -> Vec<Range<usize>> {
    heads.iter().map(|heads| first + heads.start * size..first + heads.end * size).collect()
}

/// A rank's rows of a matrix that has a block for each head of keys, in which each kind has so many heads of
/// a size.
fn in_blocks<const N: usize>(
    delta: &Delta,
    shard: Shard,
    counts: [usize; N],
    size: impl Fn(usize) -> usize,
) -> [Vec<Range<usize>>; N] {
    let rows = |at: usize| counts[at] * size(at);
    let mut kinds = [const { Vec::new() }; N];
    let mut row = shard.rank * delta.key_heads * (0..N).map(rows).sum::<usize>();
    for _ in 0..delta.key_heads {
        for (at, kind) in kinds.iter_mut().enumerate() {
            kind.push(row..row + rows(at));
            row += rows(at);
        }
    }
    kinds
}
