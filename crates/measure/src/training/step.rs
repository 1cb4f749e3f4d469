//! The step on the device: products by rocBLAS, the rest by kernels. Activations are kept from forward to
//! backward, except the weights of attention, which are recomputed.

use hip::{DeviceBuffer, DeviceSlice, DeviceSliceMut};
use kernels::{
    Activation, AdamW, AdamWState, Attention, AttentionInputs, HeadStrides, Heads, Layout, ReduceOp,
    RopeStyle, View, ViewMut,
};

use crate::error::{Error, Result};
use crate::model::ops::{Add, Number, Operand, Tools};
use crate::model::{EMBEDDING, FINAL_NORM, HEAD, Shape, Weight};

/// A model with all state of its training.
pub(super) struct Trainer<T: Number> {
    shape: Shape,
    batch: usize,
    sequence: usize,
    /// Completed steps.
    steps: usize,
    weights: Vec<DeviceBuffer<T>>,
    grads: Vec<DeviceBuffer<T>>,
    states: Vec<State>,
    turns: Turns,
    ids: DeviceBuffer<u32>,
    targets: DeviceBuffer<u32>,
    losses: DeviceBuffer<f32>,
    loss: DeviceBuffer<f32>,
    blocks: Vec<Block<T>>,
    last: DeviceBuffer<T>,
    normed: DeviceBuffer<T>,
    logits: DeviceBuffer<T>,
    scratch: Scratch<T>,
}

/// The optimiser's state for a weight.
struct State {
    /// The weight in f32, if the weight itself has 16 bits.
    master: Option<DeviceBuffer<f32>>,
    mean: DeviceBuffer<f32>,
    square: DeviceBuffer<f32>,
}

/// Cosines and sines of the positions of a sequence, and the sines for rotating back.
struct Turns {
    cos: DeviceBuffer<f32>,
    sin: DeviceBuffer<f32>,
    back: DeviceBuffer<f32>,
}

/// What a block keeps for its gradients, one row for each token; the positions of a head are contiguous.
struct Block<T: Number> {
    input: DeviceBuffer<T>,
    normed: DeviceBuffer<T>,
    /// Sequences × heads × positions × size, rotated.
    queries: DeviceBuffer<T>,
    keys: DeviceBuffer<T>,
    values: DeviceBuffer<T>,
    attended: DeviceBuffer<T>,
    middle: DeviceBuffer<T>,
    feed_normed: DeviceBuffer<T>,
    gate: DeviceBuffer<T>,
    up: DeviceBuffer<T>,
    product: DeviceBuffer<T>,
}

/// Memory that the blocks use in turn.
struct Scratch<T: Number> {
    /// Tokens × the width of queries, and of keys: the layout of products.
    queries: DeviceBuffer<T>,
    keys: DeviceBuffer<T>,
    values: DeviceBuffer<T>,
    /// The same, by heads.
    head_queries: DeviceBuffer<T>,
    head_keys: DeviceBuffer<T>,
    head_values: DeviceBuffer<T>,
    head_attended: DeviceBuffer<T>,
    /// Heads × positions × positions of one sequence.
    weights: DeviceBuffer<T>,
    weights_grad: DeviceBuffer<T>,
    /// Tokens × hidden.
    grad: DeviceBuffer<T>,
    middle_grad: DeviceBuffer<T>,
    normed_grad: DeviceBuffer<T>,
    attended: DeviceBuffer<T>,
    /// Tokens × intermediate.
    product: DeviceBuffer<T>,
    gate: DeviceBuffer<T>,
    up: DeviceBuffer<T>,
    /// Of each token's norm.
    scales: DeviceBuffer<f32>,
}

impl<T: Number> Trainer<T> {
    /// A model with these weights, for batches of this many sequences of this many tokens.
    pub(super) fn new(
        tools: Tools<'_>,
        shape: Shape,
        weights: &[Vec<T>],
        batch: usize,
        sequence: usize,
    ) -> Result<Self> {
        shape.check()?;
        let wrong = |option, problem: &str| Err(Error::Option { option, problem: problem.to_owned() });
        if batch == 0 || sequence == 0 {
            return wrong("tokens", "must be at least 1");
        }
        if !weights.iter().map(Vec::len).eq(shape.weights().iter().map(|(rows, columns)| rows * columns)) {
            return wrong("weights", "do not match the shape");
        }
        let tokens = batch * sequence;
        let (hidden, wide) = (tokens * shape.hidden, tokens * shape.intermediate);
        let (queries, keys) = (tokens * shape.query_width(), tokens * shape.key_width());
        let scores = shape.heads * sequence * sequence;
        let zeroed = |len| tools.zeroed::<T>(len);
        let block = |_| -> Result<Block<T>> {
            Ok(Block {
                input: zeroed(hidden)?,
                normed: zeroed(hidden)?,
                queries: zeroed(queries)?,
                keys: zeroed(keys)?,
                values: zeroed(keys)?,
                attended: zeroed(queries)?,
                middle: zeroed(hidden)?,
                feed_normed: zeroed(hidden)?,
                gate: zeroed(wide)?,
                up: zeroed(wide)?,
                product: zeroed(wide)?,
            })
        };
        let state = |weight: &Vec<T>| -> Result<State> {
            let exact = || weight.iter().map(|x| x.to_f64() as f32).collect::<Vec<f32>>();
            let master = if size_of::<T>() < 4 { Some(tools.upload(&exact())?) } else { None };
            Ok(State { master, mean: tools.zeroed(weight.len())?, square: tools.zeroed(weight.len())? })
        };
        Ok(Self {
            turns: Turns::new(tools, &shape, sequence)?,
            weights: weights.iter().map(|weight| tools.upload(weight)).collect::<Result<_>>()?,
            grads: weights.iter().map(|weight| zeroed(weight.len())).collect::<Result<_>>()?,
            states: weights.iter().map(state).collect::<Result<_>>()?,
            ids: tools.zeroed(tokens)?,
            targets: tools.zeroed(tokens)?,
            losses: tools.zeroed(tokens)?,
            loss: tools.zeroed(1)?,
            blocks: (0..shape.layers).map(block).collect::<Result<_>>()?,
            last: zeroed(hidden)?,
            normed: zeroed(hidden)?,
            logits: zeroed(tokens * shape.vocab)?,
            scratch: Scratch {
                queries: zeroed(queries)?,
                keys: zeroed(keys)?,
                values: zeroed(keys)?,
                head_queries: zeroed(queries)?,
                head_keys: zeroed(keys)?,
                head_values: zeroed(keys)?,
                head_attended: zeroed(queries)?,
                weights: zeroed(scores)?,
                weights_grad: zeroed(scores)?,
                grad: zeroed(hidden)?,
                middle_grad: zeroed(hidden)?,
                normed_grad: zeroed(hidden)?,
                attended: zeroed(queries)?,
                product: zeroed(wide)?,
                gate: zeroed(wide)?,
                up: zeroed(wide)?,
                scales: tools.zeroed(tokens)?,
            },
            steps: 0,
            shape,
            batch,
            sequence,
        })
    }

    /// Sets the tokens and their targets.
    pub(super) fn set_batch(&mut self, tools: Tools<'_>, ids: &[u32], targets: &[u32]) -> Result<()> {
        self.ids.copy_from_host(tools.stream, ids)?;
        Ok(self.targets.copy_from_host(tools.stream, targets)?)
    }

    /// The mean loss of the last step's tokens, before its parameters were changed.
    pub(super) fn loss(&self, tools: Tools<'_>) -> Result<f64> {
        let tokens = (self.batch * self.sequence) as f64;
        Ok(self.loss.to_vec(tools.stream)?.iter().map(|loss| f64::from(*loss)).sum::<f64>() / tokens)
    }

    /// The gradient of a weight in the last step.
    pub(super) fn gradient(&self, tools: Tools<'_>, place: usize) -> Result<Vec<T>> {
        Ok(self.grads[place].to_vec(tools.stream)?)
    }

    /// The current value of a weight.
    pub(super) fn parameters(&self, tools: Tools<'_>, place: usize) -> Result<Vec<T>> {
        Ok(self.weights[place].to_vec(tools.stream)?)
    }

    /// One step: forward, loss, backward, and the optimiser.
    pub(super) fn step(&mut self, tools: Tools<'_>, adam: &AdamW) -> Result<()> {
        self.forward(tools)?;
        self.backward(tools)?;
        self.steps += 1;
        for ((weight, grad), state) in self.weights.iter_mut().zip(&self.grads).zip(&mut self.states) {
            let state = AdamWState {
                master: state.master.as_mut().map(DeviceBuffer::as_mut_slice),
                mean: state.mean.as_mut_slice(),
                square: state.square.as_mut_slice(),
            };
            tools.kernels.adamw(tools.stream, adam, self.steps, weight, grad, state)?;
        }
        Ok(())
    }

    fn forward(&mut self, tools: Tools<'_>) -> Result<()> {
        let (shape, tokens) = (self.shape, self.batch * self.sequence);
        let Tools { kernels, stream, .. } = tools;
        let (hidden, eps) = (shape.hidden, shape.eps as f32);
        for layer in 0..shape.layers {
            let (done, rest) = self.blocks.split_at_mut(layer);
            let Some((block, rest)) = rest.split_first_mut() else { break };
            if done.is_empty() {
                kernels.embedding(stream, &self.weights[EMBEDDING], hidden, &self.ids, &mut block.input)?;
            }
            // The output of a block is the input of the next one.
            let out = rest.first_mut().map_or(&mut self.last, |next| &mut next.input);
            let sizes = Sizes { shape, layer, batch: self.batch, sequence: self.sequence };
            sizes.forward(tools, &self.weights, &self.turns, block, &mut self.scratch, out)?;
        }
        let alpha = Some(self.weights[FINAL_NORM].as_slice());
        kernels.rms_norm(stream, &self.last, hidden, alpha, eps, &mut self.normed)?;
        let head = Operand::new(&self.weights[HEAD], shape.vocab, hidden).t();
        tools.multiply(Operand::new(&self.normed, tokens, hidden), head, &mut self.logits, Add::Nothing)
    }

    fn backward(&mut self, tools: Tools<'_>) -> Result<()> {
        let (shape, tokens) = (self.shape, self.batch * self.sequence);
        let Tools { kernels, stream, .. } = tools;
        let (hidden, vocab, eps) = (shape.hidden, shape.vocab, shape.eps as f32);
        let s = &mut self.scratch;
        // The gradient needs its own buffer: input and output of a kernel must differ.
        let mut logits_grad = DeviceBuffer::<T>::uninit_on(stream, tokens * vocab)?;
        let factor = (tokens as f32).recip();
        let (logits, targets) = (&self.logits, &self.targets);
        let grad = Some(logits_grad.as_mut_slice());
        kernels.cross_entropy(stream, logits, vocab, targets, &mut self.losses, factor, grad)?;
        kernels.reduce(stream, ReduceOp::Sum, &self.losses, tokens, &mut self.loss)?;
        let logits_grad = Operand::new(&logits_grad, tokens, vocab);
        let normed = Operand::new(&self.normed, tokens, hidden);
        tools.multiply(logits_grad.t(), normed, &mut self.grads[HEAD], Add::Nothing)?;
        let head = Operand::new(&self.weights[HEAD], vocab, hidden);
        tools.multiply(logits_grad, head, &mut s.normed_grad, Add::Nothing)?;
        let alpha = Some(self.weights[FINAL_NORM].as_slice());
        let scales = Some(s.scales.as_mut_slice());
        kernels.rms_norm_backward(
            stream,
            &self.last,
            hidden,
            alpha,
            eps,
            &s.normed_grad,
            None,
            &mut s.grad,
            scales,
        )?;
        let out = &mut self.grads[FINAL_NORM];
        kernels.rms_norm_weight_backward(stream, &self.last, hidden, &s.scales, &s.normed_grad, out)?;
        for layer in (0..shape.layers).rev() {
            let sizes = Sizes { shape, layer, batch: self.batch, sequence: self.sequence };
            let (weights, grads) = (&self.weights, &mut self.grads);
            sizes.backward(tools, weights, grads, &self.turns, &self.blocks[layer], &mut self.scratch)?;
        }
        let table = &mut self.grads[EMBEDDING];
        kernels.fill(stream, T::default(), &mut *table)?;
        Ok(kernels.embedding_backward(stream, &self.scratch.grad, hidden, &self.ids, table)?)
    }
}

impl Turns {
    fn new(tools: Tools<'_>, shape: &Shape, sequence: usize) -> Result<Self> {
        let (cos, sin) = tools.rope_table(shape, sequence)?;
        let mut back = tools.zeroed(sin.len())?;
        tools.kernels.affine(tools.stream, &sin, &mut back, -1.0, 0.0)?;
        Ok(Self { cos, sin, back })
    }
}

/// A block, and the data that it works on.
#[derive(Clone, Copy)]
struct Sizes {
    shape: Shape,
    layer: usize,
    batch: usize,
    sequence: usize,
}

impl Sizes {
    fn tokens(&self) -> usize {
        self.batch * self.sequence
    }

    fn weight<'w, T: Number>(&self, weights: &'w [DeviceBuffer<T>], weight: Weight) -> &'w DeviceBuffer<T> {
        &weights[weight.of(self.layer)]
    }

    fn forward<T: Number>(
        &self,
        tools: Tools<'_>,
        weights: &[DeviceBuffer<T>],
        turns: &Turns,
        block: &mut Block<T>,
        s: &mut Scratch<T>,
        out: &mut DeviceBuffer<T>,
    ) -> Result<()> {
        let (shape, tokens) = (self.shape, self.tokens());
        let Tools { kernels, stream, .. } = tools;
        let Shape { hidden, heads, kv_heads, head_dim: size, intermediate, .. } = shape;
        let (queries, keys, eps) = (shape.query_width(), shape.key_width(), shape.eps as f32);
        let weight = |weight: Weight| self.weight(weights, weight);
        let b = block;

        let alpha = Some(weight(Weight::AttentionNorm).as_slice());
        kernels.rms_norm(stream, &b.input, hidden, alpha, eps, &mut b.normed)?;
        let normed = Operand::new(&b.normed, tokens, hidden);
        for (weight, rows, out) in [
            (weight(Weight::Query), queries, &mut s.queries),
            (weight(Weight::Key), keys, &mut s.keys),
            (weight(Weight::Value), keys, &mut s.values),
        ] {
            tools.multiply(normed, Operand::new(weight, rows, hidden).t(), out, Add::Nothing)?;
        }
        self.rotate(tools, heads, (&turns.cos, &turns.sin), &s.queries, &mut b.queries, Way::ToHeads)?;
        self.rotate(tools, kv_heads, (&turns.cos, &turns.sin), &s.keys, &mut b.keys, Way::ToHeads)?;
        self.move_heads(tools, kv_heads, &s.values, &mut b.values, Way::ToHeads)?;
        let mut attention =
            Attention::new(self.batch, heads, kv_heads, self.sequence, self.sequence, size).causal();
        attention.out = HeadStrides::rows_first(heads, self.sequence, size);
        let inputs = AttentionInputs::new(&b.queries, &b.keys, &b.values);
        kernels.attention(stream, &attention, inputs, &mut b.attended)?;
        let attended = Operand::new(&b.attended, tokens, queries);
        let output = Operand::new(weight(Weight::Output), hidden, queries).t();
        tools.multiply(attended, output, &mut b.middle, Add::Other(b.input.as_slice()))?;

        let alpha = Some(weight(Weight::FeedNorm).as_slice());
        kernels.rms_norm(stream, &b.middle, hidden, alpha, eps, &mut b.feed_normed)?;
        let normed = Operand::new(&b.feed_normed, tokens, hidden);
        for (weight, out) in [(weight(Weight::Gate), &mut b.gate), (weight(Weight::Up), &mut b.up)] {
            tools.multiply(normed, Operand::new(weight, intermediate, hidden).t(), out, Add::Nothing)?;
        }
        kernels.gated(stream, Activation::Silu, &b.gate, &b.up, &mut b.product)?;
        let product = Operand::new(&b.product, tokens, intermediate);
        let down = Operand::new(weight(Weight::Down), hidden, intermediate).t();
        tools.multiply(product, down, out, Add::Other(b.middle.as_slice()))
    }

    /// `s.grad` is the gradient of the block's output, and becomes that of its input.
    fn backward<T: Number>(
        &self,
        tools: Tools<'_>,
        weights: &[DeviceBuffer<T>],
        grads: &mut [DeviceBuffer<T>],
        turns: &Turns,
        block: &Block<T>,
        s: &mut Scratch<T>,
    ) -> Result<()> {
        let (shape, tokens, layer) = (self.shape, self.tokens(), self.layer);
        let Tools { kernels, stream, .. } = tools;
        let Shape { hidden, heads, kv_heads, intermediate, .. } = shape;
        let (queries, keys, eps) = (shape.query_width(), shape.key_width(), shape.eps as f32);
        let weight = |weight: Weight| self.weight(weights, weight);
        let b = block;

        // The feed-forward network.
        let grad = Operand::new(&s.grad, tokens, hidden);
        let product = Operand::new(&b.product, tokens, intermediate);
        tools.multiply(grad.t(), product, &mut grads[Weight::Down.of(layer)], Add::Nothing)?;
        let down = Operand::new(weight(Weight::Down), hidden, intermediate);
        tools.multiply(grad, down, &mut s.product, Add::Nothing)?;
        kernels.silu_gated_backward(stream, &b.gate, &b.up, &s.product, &mut s.gate, &mut s.up)?;
        let normed = Operand::new(&b.feed_normed, tokens, hidden);
        let mut add = Add::Nothing;
        for (place, grad) in [(Weight::Gate, &s.gate), (Weight::Up, &s.up)] {
            let grad = Operand::new(grad, tokens, intermediate);
            tools.multiply(grad.t(), normed, &mut grads[place.of(layer)], Add::Nothing)?;
            let weight = Operand::new(weight(place), intermediate, hidden);
            tools.multiply(grad, weight, &mut s.normed_grad, add)?;
            add = Add::Old;
        }
        let alpha = Some(weight(Weight::FeedNorm).as_slice());
        let (past, scales) = (Some(s.grad.as_slice()), Some(s.scales.as_mut_slice()));
        let (grad, out) = (&s.normed_grad, &mut s.middle_grad);
        kernels.rms_norm_backward(stream, &b.middle, hidden, alpha, eps, grad, past, out, scales)?;
        let out = &mut grads[Weight::FeedNorm.of(layer)];
        kernels.rms_norm_weight_backward(stream, &b.middle, hidden, &s.scales, &s.normed_grad, out)?;

        // Attention.
        let grad = Operand::new(&s.middle_grad, tokens, hidden);
        let attended = Operand::new(&b.attended, tokens, queries);
        tools.multiply(grad.t(), attended, &mut grads[Weight::Output.of(layer)], Add::Nothing)?;
        let output = Operand::new(weight(Weight::Output), hidden, queries);
        tools.multiply(grad, output, &mut s.attended, Add::Nothing)?;
        self.move_heads(tools, heads, &s.attended, &mut s.head_attended, Way::ToHeads)?;
        for sequence in 0..self.batch {
            self.attention_backward(tools, sequence, block, s)?;
        }
        self.rotate(tools, heads, (&turns.cos, &turns.back), &s.head_queries, &mut s.queries, Way::ToTokens)?;
        self.rotate(tools, kv_heads, (&turns.cos, &turns.back), &s.head_keys, &mut s.keys, Way::ToTokens)?;
        self.move_heads(tools, kv_heads, &s.head_values, &mut s.values, Way::ToTokens)?;
        let normed = Operand::new(&b.normed, tokens, hidden);
        let mut add = Add::Nothing;
        for (place, rows, grad) in [
            (Weight::Query, queries, &s.queries),
            (Weight::Key, keys, &s.keys),
            (Weight::Value, keys, &s.values),
        ] {
            let grad = Operand::new(grad, tokens, rows);
            tools.multiply(grad.t(), normed, &mut grads[place.of(layer)], Add::Nothing)?;
            tools.multiply(grad, Operand::new(weight(place), rows, hidden), &mut s.normed_grad, add)?;
            add = Add::Old;
        }
        let alpha = Some(weight(Weight::AttentionNorm).as_slice());
        let (past, scales) = (Some(s.middle_grad.as_slice()), Some(s.scales.as_mut_slice()));
        let (grad, out) = (&s.normed_grad, &mut s.grad);
        kernels.rms_norm_backward(stream, &b.input, hidden, alpha, eps, grad, past, out, scales)?;
        let out = &mut grads[Weight::AttentionNorm.of(layer)];
        Ok(kernels.rms_norm_weight_backward(stream, &b.input, hidden, &s.scales, &s.normed_grad, out)?)
    }

    /// The gradients of a sequence's queries, keys and values. Heads of queries that share keys follow each
    /// other: they form one matrix, and its product with the keys' gradient adds them up.
    fn attention_backward<T: Number>(
        &self,
        tools: Tools<'_>,
        sequence: usize,
        b: &Block<T>,
        s: &mut Scratch<T>,
    ) -> Result<()> {
        let Shape { heads, kv_heads, head_dim: size, .. } = self.shape;
        let (count, positions) = (kv_heads, self.sequence);
        let rows = heads / kv_heads * positions;
        let scale = (size as f32).sqrt().recip();
        let of_queries = sequence * heads * positions * size..(sequence + 1) * heads * positions * size;
        let of_keys = sequence * kv_heads * positions * size..(sequence + 1) * kv_heads * positions * size;
        let queries = Operand::batch(b.queries.slice(of_queries.clone())?, count, rows, size);
        let keys = Operand::batch(b.keys.slice(of_keys.clone())?, count, positions, size);
        let values = Operand::batch(b.values.slice(of_keys.clone())?, count, positions, size);
        let grad = Operand::batch(s.head_attended.slice(of_queries.clone())?, count, rows, size);
        // Scores, weights.
        tools.multiply(queries, keys.t(), &mut s.weights_grad, Add::Nothing)?;
        let Tools { kernels, stream, .. } = tools;
        kernels.causal_softmax(stream, &s.weights_grad, positions, positions, scale, &mut s.weights)?;
        let weights = Operand::batch(&s.weights, count, rows, positions);
        let out = s.head_values.slice_mut(of_keys.clone())?;
        tools.multiply_into(weights.t(), grad, out, Add::Nothing)?;
        tools.multiply(grad, values.t(), &mut s.weights_grad, Add::Nothing)?;
        // The gradient of the scores replaces that of the weights, which needs separate memory for a moment.
        let mut scores = DeviceBuffer::<T>::uninit_on(stream, s.weights.len())?;
        kernels.softmax_backward(stream, &s.weights, &s.weights_grad, positions, scale, &mut scores)?;
        let scores = Operand::batch(&scores, count, rows, positions);
        tools.multiply_into(scores, keys, s.head_queries.slice_mut(of_queries)?, Add::Nothing)?;
        tools.multiply_into(scores.t(), queries, s.head_keys.slice_mut(of_keys)?, Add::Nothing)
    }

    /// Rotates heads while it moves them between both orders.
    fn rotate<T: Number>(
        &self,
        tools: Tools<'_>,
        heads: usize,
        (cos, sin): (&DeviceBuffer<f32>, &DeviceBuffer<f32>),
        x: &DeviceBuffer<T>,
        y: &mut DeviceBuffer<T>,
        way: Way,
    ) -> Result<()> {
        let size = self.shape.head_dim;
        let each = self.sequence * heads * size;
        let by_tokens = Heads::contiguous(heads, size);
        let by_heads = Heads { heads, size, token_stride: size, head_stride: self.sequence * size };
        let (from, to) = if way == Way::ToHeads { (by_tokens, by_heads) } else { (by_heads, by_tokens) };
        for sequence in 0..self.batch {
            let range = sequence * each..(sequence + 1) * each;
            let (x, y): (DeviceSlice<'_, T>, DeviceSliceMut<'_, T>) =
                (x.slice(range.clone())?, y.slice_mut(range)?);
            tools.kernels.rope(
                tools.stream,
                RopeStyle::HalfSplit,
                self.sequence,
                (cos, sin),
                x,
                &from,
                y,
                &to,
            )?;
        }
        Ok(())
    }

    /// Moves heads between both orders.
    fn move_heads<T: Number>(
        &self,
        tools: Tools<'_>,
        heads: usize,
        x: &DeviceBuffer<T>,
        y: &mut DeviceBuffer<T>,
        way: Way,
    ) -> Result<()> {
        let size = self.shape.head_dim;
        let by_tokens = Layout::contiguous(&[self.batch, self.sequence, heads, size])?;
        let by_heads = Layout::contiguous(&[self.batch, heads, self.sequence, size])?;
        // Both in the order of the output.
        let (from, to) = match way {
            Way::ToHeads => (by_tokens.transpose(1, 2)?, by_heads),
            Way::ToTokens => (by_heads.transpose(1, 2)?, by_tokens),
        };
        Ok(tools.kernels.copy_strided(tools.stream, View::new(x, from)?, ViewMut::new(y, to)?)?)
    }
}

/// From tokens × heads to heads × tokens, or back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    ToHeads,
    ToTokens,
}
