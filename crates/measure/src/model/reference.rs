//! The same transformers in f64 on the CPU: forward, the loss, and all gradients by the chain rule.
//!
//! This code shares nothing with the code for devices. A test compares the gradients with finite differences,
//! and `examples/candle-kernels` compares them with candle's autograd.

use kernels::Element;

use super::{EMBEDDING, FINAL_NORM, HEAD, Shape, Weight};

/// Everything computed by a forward pass that the gradients need.
#[derive(Debug, Clone)]
pub struct Tape {
    blocks: Vec<Block>,
    /// The input of the last norm.
    last: Vec<f64>,
    normed: Vec<f64>,
    /// Tokens × vocabulary.
    pub logits: Vec<f64>,
}

/// Results of a block, one row for each token.
#[derive(Debug, Clone)]
struct Block {
    input: Vec<f64>,
    normed: Vec<f64>,
    /// Rotated.
    queries: Vec<f64>,
    keys: Vec<f64>,
    values: Vec<f64>,
    /// Sequences × heads × positions × positions.
    weights: Vec<f64>,
    attended: Vec<f64>,
    middle: Vec<f64>,
    feed_normed: Vec<f64>,
    gate: Vec<f64>,
    up: Vec<f64>,
    product: Vec<f64>,
}

/// Calls `f` with each row of a matrix and its number, on all processors.
fn for_each_row(matrix: &mut [f64], width: usize, f: impl Fn(usize, &mut [f64]) + Sync) {
    let rows = matrix.len() / width.max(1);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(rows.max(1));
    let each = rows.div_ceil(threads).max(1);
    // A thread costs more than small matrices.
    if threads == 1 || matrix.len() < 1 << 14 {
        matrix.chunks_mut(width.max(1)).enumerate().for_each(|(row, out)| f(row, out));
        return;
    }
    std::thread::scope(|scope| {
        for (part, rows) in matrix.chunks_mut(each * width).enumerate() {
            let f = &f;
            scope.spawn(move || {
                for (row, out) in rows.chunks_mut(width).enumerate() {
                    f(part * each + row, out);
                }
            });
        }
    });
}

fn values<W: Element>(row: &[W]) -> Vec<f64> {
    row.iter().map(|x| x.to_f64()).collect()
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn add_scaled(out: &mut [f64], factor: f64, x: &[f64]) {
    out.iter_mut().zip(x).for_each(|(out, x)| *out += factor * x);
}

/// `x wᵀ`: rows of `inner` elements by rows of weights.
fn project<W: Element>(x: &[f64], inner: usize, w: &[W]) -> Vec<f64> {
    let (tokens, outputs) = (x.len() / inner, w.len() / inner);
    let mut transposed = vec![0.0; outputs * tokens];
    for_each_row(&mut transposed, tokens, |output, out| {
        let row = values(&w[output * inner..][..inner]);
        for (token, out) in out.iter_mut().enumerate() {
            *out = dot(&x[token * inner..][..inner], &row);
        }
    });
    let mut y = vec![0.0; tokens * outputs];
    for (token, row) in y.chunks_mut(outputs).enumerate() {
        row.iter_mut().enumerate().for_each(|(output, y)| *y = transposed[output * tokens + token]);
    }
    y
}

/// Adds `grad w` to `out`: the gradient of the projection's input.
fn back_to_input<W: Element>(grad: &[f64], w: &[W], inner: usize, out: &mut [f64]) {
    let outputs = w.len() / inner;
    let tokens = grad.len() / outputs;
    // Tokens are processed in parts, so that each row of weights is converted once for a whole part.
    let part = tokens.div_ceil(std::thread::available_parallelism().map_or(1, usize::from)).max(1);
    let one = |first: usize, out: &mut [f64]| {
        for output in 0..outputs {
            let row = values(&w[output * inner..][..inner]);
            for (token, out) in out.chunks_mut(inner).enumerate() {
                add_scaled(out, grad[(first + token) * outputs + output], &row);
            }
        }
    };
    std::thread::scope(|scope| {
        for (index, out) in out.chunks_mut(part * inner).enumerate() {
            let one = &one;
            scope.spawn(move || one(index * part, out));
        }
    });
}

/// `gradᵀ x`: the gradient of the projection's weights.
fn back_to_weights(grad: &[f64], x: &[f64], inner: usize) -> Vec<f64> {
    let tokens = x.len() / inner;
    let outputs = grad.len() / tokens;
    let mut out = vec![0.0; outputs * inner];
    for_each_row(&mut out, inner, |output, out| {
        for token in 0..tokens {
            add_scaled(out, grad[token * outputs + output], &x[token * inner..][..inner]);
        }
    });
    out
}

fn norm<W: Element>(x: &[f64], alpha: &[W], eps: f64) -> Vec<f64> {
    let alpha = values(alpha);
    let row = |row: &[f64]| {
        let scale = 1.0 / (dot(row, row) / row.len() as f64 + eps).sqrt();
        row.iter().zip(&alpha).map(move |(x, a)| x * scale * a).collect::<Vec<_>>()
    };
    x.chunks(alpha.len()).flat_map(row).collect()
}

/// Adds the gradient of a norm's input to `out`, and returns that of its weights.
fn norm_back<W: Element>(x: &[f64], alpha: &[W], eps: f64, grad: &[f64], out: &mut [f64]) -> Vec<f64> {
    let alpha = values(alpha);
    let width = alpha.len();
    let mut weights = vec![0.0; width];
    for ((x, grad), out) in x.chunks(width).zip(grad.chunks(width)).zip(out.chunks_mut(width)) {
        let scale = 1.0 / (dot(x, x) / width as f64 + eps).sqrt();
        let weighted: Vec<f64> = grad.iter().zip(&alpha).map(|(g, a)| g * a).collect();
        let along = dot(&weighted, x) * scale.powi(3) / width as f64;
        for i in 0..width {
            weights[i] += grad[i] * x[i] * scale;
            out[i] += weighted[i] * scale - x[i] * along;
        }
    }
    weights
}

/// Rotates the heads of each token by its position in its sequence; back if `direction` is -1.
fn rotate(shape: &Shape, heads: usize, sequence: usize, x: &mut [f64], direction: f64) {
    let size = shape.head_dim;
    let half = size / 2;
    for (at, head) in x.chunks_mut(size).enumerate() {
        let position = (at / heads) % sequence;
        for i in 0..half {
            let angle = position as f64 * shape.rope_base.powf(-2.0 * i as f64 / size as f64);
            let (sin, cos) = (direction * angle).sin_cos();
            let (a, b) = (head[i], head[i + half]);
            head[i] = a * cos - b * sin;
            head[i + half] = a * sin + b * cos;
        }
    }
}

/// The part of a row that belongs to a head.
fn head(x: &[f64], token: usize, heads: usize, head: usize, size: usize) -> &[f64] {
    &x[(token * heads + head) * size..][..size]
}

/// The weights of causal attention: sequences × heads × positions × positions.
fn attention_weights(shape: &Shape, sequence: usize, queries: &[f64], keys: &[f64]) -> Vec<f64> {
    let &Shape { heads, kv_heads, head_dim: size, .. } = shape;
    let tokens = queries.len() / shape.query_width();
    let scale = (size as f64).sqrt().recip();
    let mut weights = vec![0.0; tokens * heads * sequence];
    for_each_row(&mut weights, sequence, |row, out| {
        let (first, of, query) =
            (row / (heads * sequence) * sequence, row / sequence % heads, row % sequence);
        let q = head(queries, first + query, heads, of, size);
        let key = |position: usize| head(keys, first + position, kv_heads, of * kv_heads / heads, size);
        for (position, out) in out[..=query].iter_mut().enumerate() {
            *out = scale * dot(q, key(position));
        }
        let largest = out[..=query].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        out[..=query].iter_mut().for_each(|x| *x = (*x - largest).exp());
        let sum: f64 = out[..=query].iter().sum();
        out[..=query].iter_mut().for_each(|x| *x /= sum);
    });
    weights
}

/// The weighted sums of values, one row for each token.
fn attend(shape: &Shape, sequence: usize, weights: &[f64], values: &[f64]) -> Vec<f64> {
    let &Shape { heads, kv_heads, head_dim: size, .. } = shape;
    let tokens = weights.len() / heads / sequence;
    let mut out = vec![0.0; tokens * heads * size];
    for_each_row(&mut out, size, |row, out| {
        let (token, of) = (row / heads, row % heads);
        let (first, query) = (token / sequence * sequence, token % sequence);
        let row = &weights[((first / sequence * heads + of) * sequence + query) * sequence..][..=query];
        for (position, weight) in row.iter().enumerate() {
            add_scaled(out, *weight, head(values, first + position, kv_heads, of * kv_heads / heads, size));
        }
    });
    out
}

/// The gradients of queries, keys and values; the first two are still rotated.
fn attention_back(shape: &Shape, sequence: usize, block: &Block, grad: &[f64]) -> [Vec<f64>; 3] {
    let &Shape { heads, kv_heads, head_dim: size, .. } = shape;
    let tokens = grad.len() / shape.query_width();
    let scale = (size as f64).sqrt().recip();
    let mut queries = vec![0.0; block.queries.len()];
    let (mut keys, mut values) = (vec![0.0; block.keys.len()], vec![0.0; block.values.len()]);
    for token in 0..tokens {
        let (first, query) = (token / sequence * sequence, token % sequence);
        for of in 0..heads {
            let shared = of * kv_heads / heads;
            let weights =
                &block.weights[((first / sequence * heads + of) * sequence + query) * sequence..][..=query];
            let grad = head(grad, token, heads, of, size);
            let by_weight: Vec<f64> = (0..=query)
                .map(|position| dot(grad, head(&block.values, first + position, kv_heads, shared, size)))
                .collect();
            let sum = dot(weights, &by_weight);
            for position in 0..=query {
                let place = ((first + position) * kv_heads + shared) * size;
                add_scaled(&mut values[place..][..size], weights[position], grad);
                let score = scale * weights[position] * (by_weight[position] - sum);
                add_scaled(
                    &mut queries[(token * heads + of) * size..][..size],
                    score,
                    &block.keys[place..][..size],
                );
                add_scaled(&mut keys[place..][..size], score, head(&block.queries, token, heads, of, size));
            }
        }
    }
    [queries, keys, values]
}

fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

/// Runs the model on sequences of `sequence` tokens each, one after the other in `ids`.
///
/// # Panics
/// If the weights do not match the shape, or an id is not in the vocabulary.
#[must_use]
pub fn forward<W: Element>(shape: &Shape, weights: &[Vec<W>], ids: &[u32], sequence: usize) -> Tape {
    let hidden = shape.hidden;
    let row = |id: &u32| values(&weights[EMBEDDING][*id as usize * hidden..][..hidden]);
    let mut x: Vec<f64> = ids.iter().flat_map(row).collect();
    let mut blocks = Vec::new();
    for layer in 0..shape.layers {
        let weight = |weight: Weight| &weights[weight.of(layer)][..];
        let normed = norm(&x, weight(Weight::AttentionNorm), shape.eps);
        let mut queries = project(&normed, hidden, weight(Weight::Query));
        let mut keys = project(&normed, hidden, weight(Weight::Key));
        let values = project(&normed, hidden, weight(Weight::Value));
        rotate(shape, shape.heads, sequence, &mut queries, 1.0);
        rotate(shape, shape.kv_heads, sequence, &mut keys, 1.0);
        let attention = attention_weights(shape, sequence, &queries, &keys);
        let attended = attend(shape, sequence, &attention, &values);
        let mut middle = project(&attended, shape.query_width(), weight(Weight::Output));
        add_scaled(&mut middle, 1.0, &x);
        let feed_normed = norm(&middle, weight(Weight::FeedNorm), shape.eps);
        let gate = project(&feed_normed, hidden, weight(Weight::Gate));
        let up = project(&feed_normed, hidden, weight(Weight::Up));
        let product: Vec<f64> = gate.iter().zip(&up).map(|(gate, up)| silu(*gate) * up).collect();
        let mut output = project(&product, shape.intermediate, weight(Weight::Down));
        add_scaled(&mut output, 1.0, &middle);
        let input = std::mem::replace(&mut x, output);
        blocks.push(Block {
            input,
            normed,
            queries,
            keys,
            values,
            weights: attention,
            attended,
            middle,
            feed_normed,
            gate,
            up,
            product,
        });
    }
    let normed = norm(&x, &weights[FINAL_NORM], shape.eps);
    let logits = project(&normed, hidden, &weights[HEAD]);
    Tape { blocks, last: x, normed, logits }
}

impl Tape {
    /// The input of the last norm: the residual stream after all blocks, tokens × hidden.
    #[must_use]
    pub fn residual(&self) -> &[f64] {
        &self.last
    }

    /// The mean loss of all tokens.
    ///
    /// # Panics
    /// If there is not a target for each token.
    #[must_use]
    pub fn loss(&self, targets: &[u32]) -> f64 {
        let columns = self.logits.len() / targets.len();
        let of = |(row, target): (&[f64], &u32)| {
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            row.iter().map(|x| (x - largest).exp()).sum::<f64>().ln() + largest - row[*target as usize]
        };
        self.logits.chunks(columns).zip(targets).map(of).sum::<f64>() / targets.len() as f64
    }
}

/// The gradients of the mean loss with respect to all weights, in their order.
///
/// # Panics
/// If the tape does not match these weights, ids and targets.
#[must_use]
pub fn backward<W: Element>(
    shape: &Shape,
    weights: &[Vec<W>],
    tape: &Tape,
    ids: &[u32],
    targets: &[u32],
    sequence: usize,
) -> Vec<Vec<f64>> {
    let (hidden, tokens) = (shape.hidden, ids.len());
    let mut grads = vec![Vec::new(); weights.len()];
    let mut logits = tape.logits.clone();
    for (row, target) in logits.chunks_mut(shape.vocab).zip(targets) {
        let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|x| (x - largest).exp()).sum();
        row.iter_mut().for_each(|x| *x = (*x - largest).exp() / sum / tokens as f64);
        row[*target as usize] -= 1.0 / tokens as f64;
    }
    grads[HEAD] = back_to_weights(&logits, &tape.normed, hidden);
    let mut normed = vec![0.0; tokens * hidden];
    back_to_input(&logits, &weights[HEAD], hidden, &mut normed);
    let mut grad = vec![0.0; tokens * hidden];
    grads[FINAL_NORM] = norm_back(&tape.last, &weights[FINAL_NORM], shape.eps, &normed, &mut grad);
    for (layer, block) in tape.blocks.iter().enumerate().rev() {
        let weight = |weight: Weight| &weights[weight.of(layer)][..];
        // The feed-forward network.
        grads[Weight::Down.of(layer)] = back_to_weights(&grad, &block.product, shape.intermediate);
        let mut product = vec![0.0; block.product.len()];
        back_to_input(&grad, weight(Weight::Down), shape.intermediate, &mut product);
        let (mut gate, mut up) = (vec![0.0; product.len()], vec![0.0; product.len()]);
        for i in 0..product.len() {
            let (x, sigmoid) = (block.gate[i], 1.0 / (1.0 + (-block.gate[i]).exp()));
            gate[i] = product[i] * block.up[i] * (sigmoid + x * sigmoid * (1.0 - sigmoid));
            up[i] = product[i] * x * sigmoid;
        }
        grads[Weight::Gate.of(layer)] = back_to_weights(&gate, &block.feed_normed, hidden);
        grads[Weight::Up.of(layer)] = back_to_weights(&up, &block.feed_normed, hidden);
        let mut normed = vec![0.0; tokens * hidden];
        back_to_input(&gate, weight(Weight::Gate), hidden, &mut normed);
        back_to_input(&up, weight(Weight::Up), hidden, &mut normed);
        grads[Weight::FeedNorm.of(layer)] =
            norm_back(&block.middle, weight(Weight::FeedNorm), shape.eps, &normed, &mut grad);
        // Attention.
        grads[Weight::Output.of(layer)] = back_to_weights(&grad, &block.attended, shape.query_width());
        let mut attended = vec![0.0; block.attended.len()];
        back_to_input(&grad, weight(Weight::Output), shape.query_width(), &mut attended);
        let [mut queries, mut keys, values] = attention_back(shape, sequence, block, &attended);
        rotate(shape, shape.heads, sequence, &mut queries, -1.0);
        rotate(shape, shape.kv_heads, sequence, &mut keys, -1.0);
        let mut normed = vec![0.0; tokens * hidden];
        for (weight, projected) in [(Weight::Query, queries), (Weight::Key, keys), (Weight::Value, values)] {
            grads[weight.of(layer)] = back_to_weights(&projected, &block.normed, hidden);
            back_to_input(&projected, &weights[weight.of(layer)], hidden, &mut normed);
        }
        grads[Weight::AttentionNorm.of(layer)] =
            norm_back(&block.input, weight(Weight::AttentionNorm), shape.eps, &normed, &mut grad);
    }
    let mut embedding = vec![0.0; shape.vocab * hidden];
    for (id, grad) in ids.iter().zip(grad.chunks(hidden)) {
        add_scaled(&mut embedding[*id as usize * hidden..][..hidden], 1.0, grad);
    }
    grads[EMBEDDING] = embedding;
    grads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelName;
    use crate::random::sample;

    fn small() -> Shape {
        Shape {
            hidden: 24,
            heads: 4,
            kv_heads: 2,
            head_dim: 16,
            intermediate: 20,
            vocab: 13,
            layers: 2,
            ..ModelName::Llama.shape()
        }
    }

    /// Central differences: the error of the difference is of the order of the square of the step, that of
    /// the arithmetic of its reciprocal.
    #[test]
    fn gradients_are_those_of_finite_differences() {
        let (shape, sequence) = (small(), 5);
        let mut weights = shape.random_weights::<f64>(3);
        let (ids, targets) = (shape.random_ids(2 * sequence, 4), shape.random_ids(2 * sequence, 5));
        let tape = forward(&shape, &weights, &ids, sequence);
        let grads = backward(&shape, &weights, &tape, &ids, &targets, sequence);
        const STEP: f64 = 1e-5;
        for place in 0..weights.len() {
            assert_eq!(grads[place].len(), weights[place].len());
            let largest = grads[place].iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            assert!(largest > 1e-4, "{place}: {largest}");
            for at in sample(weights[place].len(), 12, place as u64) {
                let mut loss = |step: f64| {
                    let kept = weights[place][at];
                    weights[place][at] = kept + step;
                    let loss = forward(&shape, &weights, &ids, sequence).loss(&targets);
                    weights[place][at] = kept;
                    loss
                };
                let expected = (loss(STEP) - loss(-STEP)) / (2.0 * STEP);
                let error = (grads[place][at] - expected).abs();
                assert!(
                    error < 1e-8 + 1e-6 * expected.abs(),
                    "{place} {at}: {} and {expected}",
                    grads[place][at]
                );
            }
        }
    }

    /// Sequences do not see each other, and positions do not see later ones.
    #[test]
    fn attention_is_causal_and_within_a_sequence() {
        let (shape, sequence) = (small(), 4);
        let weights = shape.random_weights::<f64>(6);
        let ids = shape.random_ids(2 * sequence, 7);
        let logits = forward(&shape, &weights, &ids, sequence).logits;
        let alone = forward(&shape, &weights, &ids[sequence..], sequence).logits;
        assert_eq!(logits[sequence * shape.vocab..], alone);
        let start = forward(&shape, &weights, &ids[..2], 2).logits;
        let same = logits[..2 * shape.vocab].iter().zip(&start).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(same);
    }

    #[test]
    fn the_loss_of_equal_logits_is_the_logarithm_of_their_number() {
        let tape =
            Tape { blocks: Vec::new(), last: Vec::new(), normed: Vec::new(), logits: vec![2.0; 3 * 7] };
        assert!((tape.loss(&[0, 6, 3]) - 7.0_f64.ln()).abs() < 1e-12);
    }
}
