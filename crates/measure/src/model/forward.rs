//! A forward pass with a cache of keys and values, used by prefill and decode.

use hip::DeviceBuffer;
use kernels::{Activation, Attention, AttentionInputs, CacheLayout, HeadStrides, Heads, RopeStyle};

use super::ops::{Add, Number, Operand, Tools};
use super::{EMBEDDING, FINAL_NORM, HEAD, Shape, Weight};
use crate::error::Result;

/// A model on a device, with the memory that a forward pass of one sequence needs.
pub(crate) struct Network<T: Number> {
    pub(crate) shape: Shape,
    weights: Vec<DeviceBuffer<T>>,
    /// One row for each position up to the capacity.
    cos: DeviceBuffer<f32>,
    sin: DeviceBuffer<f32>,
    slots: DeviceBuffer<i64>,
    /// For each block: heads × positions × size.
    keys: Vec<DeviceBuffer<T>>,
    values: Vec<DeviceBuffer<T>>,
    capacity: usize,
    scratch: Scratch<T>,
}

/// Intermediate results, for as many tokens as are computed at once.
struct Scratch<T: Number> {
    residual: DeviceBuffer<T>,
    middle: DeviceBuffer<T>,
    normed: DeviceBuffer<T>,
    queries: DeviceBuffer<T>,
    rotated: DeviceBuffer<T>,
    keys: DeviceBuffer<T>,
    values: DeviceBuffer<T>,
    attended: DeviceBuffer<T>,
    gate: DeviceBuffer<T>,
    up: DeviceBuffer<T>,
    product: DeviceBuffer<T>,
}

impl<T: Number> Network<T> {
    /// A model with room for this many positions; at most `tokens` are computed at once.
    pub(crate) fn new(
        tools: Tools<'_>,
        shape: Shape,
        weights: &[Vec<T>],
        capacity: usize,
        tokens: usize,
    ) -> Result<Self> {
        shape.check()?;
        let cached = shape.key_width() * capacity;
        let (cos, sin) = tools.rope_table(&shape, capacity)?;
        let slots: Vec<i64> = (0..capacity as i64).collect();
        let caches = || (0..shape.layers).map(|_| tools.zeroed(cached)).collect::<Result<Vec<_>>>();
        let (queries, keys) = (tokens * shape.query_width(), tokens * shape.key_width());
        let (hidden, wide) = (tokens * shape.hidden, tokens * shape.intermediate);
        Ok(Self {
            weights: weights.iter().map(|weight| tools.upload(weight)).collect::<Result<_>>()?,
            cos,
            sin,
            slots: tools.upload(&slots)?,
            keys: caches()?,
            values: caches()?,
            capacity,
            scratch: Scratch {
                residual: tools.zeroed(hidden)?,
                middle: tools.zeroed(hidden)?,
                normed: tools.zeroed(hidden)?,
                queries: tools.zeroed(queries)?,
                rotated: tools.zeroed(queries)?,
                keys: tools.zeroed(keys)?,
                values: tools.zeroed(keys)?,
                attended: tools.zeroed(queries)?,
                gate: tools.zeroed(wide)?,
                up: tools.zeroed(wide)?,
                product: tools.zeroed(wide)?,
            },
            shape,
        })
    }

    /// Looks up tokens in the embedding: the residual stream begins with them.
    pub(crate) fn embed(&mut self, tools: Tools<'_>, ids: hip::DeviceSlice<'_, u32>) -> Result<()> {
        let width = self.shape.hidden;
        let out = self.scratch.residual.slice_mut(..ids.len() * width)?;
        Ok(tools.kernels.embedding(tools.stream, &self.weights[EMBEDDING], width, ids, out)?)
    }

    /// Replaces the residual stream, for a block without an embedding.
    pub(crate) fn set_residual(&mut self, tools: Tools<'_>, values: &DeviceBuffer<T>) -> Result<()> {
        Ok(self.scratch.residual.slice_mut(..values.len())?.copy_from(tools.stream, values)?)
    }

    /// The residual stream of this many tokens.
    pub(crate) fn residual(&self, tools: Tools<'_>, tokens: usize) -> Result<Vec<T>> {
        Ok(self.scratch.residual.slice(..tokens * self.shape.hidden)?.to_vec(tools.stream)?)
    }

    /// Computes a block for `tokens` of the residual stream, at `position` and after it.
    pub(crate) fn block(
        &mut self,
        tools: Tools<'_>,
        layer: usize,
        position: usize,
        tokens: usize,
    ) -> Result<()> {
        let Self { shape, weights, cos, sin, slots, capacity, scratch: s, .. } = self;
        let Tools { kernels, stream, .. } = tools;
        let &mut Shape { hidden, heads, kv_heads, head_dim: size, intermediate, .. } = shape;
        let (queries, keys) = (shape.query_width(), shape.key_width());
        let weight = |weight: Weight| &weights[weight.of(layer)];
        let eps = shape.eps as f32;

        let alpha = Some(weight(Weight::AttentionNorm).as_slice());
        let x = s.residual.slice(..tokens * hidden)?;
        kernels.rms_norm(stream, x, hidden, alpha, eps, s.normed.slice_mut(..tokens * hidden)?)?;
        let normed = Operand::new(s.normed.slice(..tokens * hidden)?, tokens, hidden);
        for (weight, rows, out) in [
            (weight(Weight::Query), queries, &mut s.queries),
            (weight(Weight::Key), keys, &mut s.keys),
            (weight(Weight::Value), keys, &mut s.values),
        ] {
            let out = out.slice_mut(..tokens * rows)?;
            tools.multiply_into(normed, Operand::new(weight, rows, hidden).t(), out, Add::Nothing)?;
        }
        // Heads are rotated while they are copied to where attention reads them: queries to their own buffer,
        // keys to the cache.
        let table = position * size / 2..(position + tokens) * size / 2;
        let turns = || Ok::<_, hip::Error>((cos.slice(table.clone())?, sin.slice(table.clone())?));
        let of_queries = Heads::contiguous(heads, size);
        let x = s.queries.slice(..tokens * queries)?;
        let rotated = s.rotated.slice_mut(..tokens * queries)?;
        kernels.rope(stream, RopeStyle::HalfSplit, tokens, turns()?, x, &of_queries, rotated, &of_queries)?;
        let of_keys = Heads::contiguous(kv_heads, size);
        let in_cache = Heads { heads: kv_heads, size, token_stride: size, head_stride: *capacity * size };
        let x = s.keys.slice(..tokens * keys)?;
        let cached = self.keys[layer].slice_mut(position * size..)?;
        kernels.rope(stream, RopeStyle::HalfSplit, tokens, turns()?, x, &of_keys, cached, &in_cache)?;
        let layout = CacheLayout::heads_first(1, kv_heads, *capacity, size);
        let x = s.values.slice(..tokens * keys)?;
        let slots = slots.slice(position..position + tokens)?;
        kernels.kv_append(stream, x, &of_keys, slots, &mut self.values[layer], &layout)?;

        let seen = position + tokens;
        let mut attention = Attention::new(1, heads, kv_heads, tokens, seen, size).causal();
        attention.q = HeadStrides::rows_first(heads, tokens, size);
        attention.out = attention.q;
        attention.k = HeadStrides::heads_first(kv_heads, *capacity, size);
        attention.v = attention.k;
        let rotated = s.rotated.slice(..tokens * queries)?;
        let inputs = AttentionInputs::new(rotated, &self.keys[layer], &self.values[layer]);
        kernels.attention(stream, &attention, inputs, s.attended.slice_mut(..tokens * queries)?)?;
        let attended = Operand::new(s.attended.slice(..tokens * queries)?, tokens, queries);
        let output = Operand::new(weight(Weight::Output), hidden, queries).t();
        let residual = s.residual.slice(..tokens * hidden)?;
        tools.multiply_into(
            attended,
            output,
            s.middle.slice_mut(..tokens * hidden)?,
            Add::Other(residual),
        )?;

        let alpha = Some(weight(Weight::FeedNorm).as_slice());
        let middle = s.middle.slice(..tokens * hidden)?;
        kernels.rms_norm(stream, middle, hidden, alpha, eps, s.normed.slice_mut(..tokens * hidden)?)?;
        let normed = Operand::new(s.normed.slice(..tokens * hidden)?, tokens, hidden);
        for (weight, out) in [(weight(Weight::Gate), &mut s.gate), (weight(Weight::Up), &mut s.up)] {
            let out = out.slice_mut(..tokens * intermediate)?;
            tools.multiply_into(normed, Operand::new(weight, intermediate, hidden).t(), out, Add::Nothing)?;
        }
        let (gate, up) = (s.gate.slice(..tokens * intermediate)?, s.up.slice(..tokens * intermediate)?);
        let product = s.product.slice_mut(..tokens * intermediate)?;
        kernels.gated(stream, Activation::Silu, gate, up, product)?;
        let product = Operand::new(s.product.slice(..tokens * intermediate)?, tokens, intermediate);
        let down = Operand::new(weight(Weight::Down), hidden, intermediate).t();
        let out = s.residual.slice_mut(..tokens * hidden)?;
        tools.multiply_into(product, down, out, Add::Other(s.middle.slice(..tokens * hidden)?))
    }

    /// Computes all blocks, and the logits of the last token.
    pub(crate) fn forward(
        &mut self,
        tools: Tools<'_>,
        ids: hip::DeviceSlice<'_, u32>,
        position: usize,
        logits: hip::DeviceSliceMut<'_, T>,
    ) -> Result<()> {
        let (tokens, hidden) = (ids.len(), self.shape.hidden);
        self.embed(tools, ids)?;
        for layer in 0..self.shape.layers {
            self.block(tools, layer, position, tokens)?;
        }
        let Self { shape, weights, scratch: s, .. } = self;
        let last = s.residual.slice((tokens - 1) * hidden..tokens * hidden)?;
        let alpha = Some(weights[FINAL_NORM].as_slice());
        tools.kernels.rms_norm(
            tools.stream,
            last,
            hidden,
            alpha,
            shape.eps as f32,
            s.normed.slice_mut(..hidden)?,
        )?;
        let head = Operand::new(&weights[HEAD], shape.vocab, hidden).t();
        tools.multiply_into(Operand::new(s.normed.slice(..hidden)?, 1, hidden), head, logits, Add::Nothing)
    }
}
