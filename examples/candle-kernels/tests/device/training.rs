//! The gradients of a step of training on the device, and those of the reference that it is checked against,
//! by candle's autograd.

use measure::model::{Shape, reference};
use measure::training;
use candle_core::{D, DType, Result, Tensor, Var};

use crate::common::{CPU, gpu};

/// Two blocks, heads in groups, sizes that are no powers of two.
const SHAPE: Shape = Shape {
    hidden: 48,
    heads: 4,
    kv_heads: 2,
    head_dim: 16,
    intermediate: 40,
    vocab: 29,
    layers: 2,
    rope_base: 10_000.0,
    eps: 1e-5,
};
const SEQUENCE: usize = 7;
const TOKENS: usize = 2 * SEQUENCE;

/// `x / √(mean(x²) + eps) · alpha`.
fn norm(x: &Tensor, alpha: &Tensor) -> Result<Tensor> {
    let scale = (x.sqr()?.mean_keepdim(D::Minus1)? + SHAPE.eps)?.sqrt()?;
    x.broadcast_div(&scale)?.broadcast_mul(alpha)
}

/// Tokens × (heads · size) as sequences × heads × positions × size.
fn by_heads(x: &Tensor, heads: usize) -> Result<Tensor> {
    x.reshape((TOKENS / SEQUENCE, SEQUENCE, heads, SHAPE.head_dim))?.transpose(1, 2)?.contiguous()
}

/// Element i of each head with element i + size / 2.
fn rotate(x: &Tensor) -> Result<Tensor> {
    let half = SHAPE.head_dim / 2;
    let angle = |position: usize, i: usize| position as f64 * SHAPE.rope_base.powf(-2.0 * i as f64 / SHAPE.head_dim as f64);
    let table = |f: fn(f64) -> f64| {
        let all: Vec<f64> = (0..SEQUENCE * half).map(|at| f(angle(at / half, at % half))).collect();
        Tensor::from_vec(all, (SEQUENCE, half), &CPU)
    };
    candle_nn::rotary_emb::rope_slow(x, &table(f64::cos)?, &table(f64::sin)?)
}

/// Keys and values for each head of queries.
fn shared(x: &Tensor) -> Result<Tensor> {
    let group = SHAPE.heads / SHAPE.kv_heads;
    let (batch, heads, positions, size) = x.dims4()?;
    x.unsqueeze(2)?.expand((batch, heads, group, positions, size))?.reshape((batch, SHAPE.heads, positions, size))
}

fn block(x: &Tensor, weights: &[Var]) -> Result<Tensor> {
    let [attention_norm, query, key, value, output, feed_norm, gate, up, down] = weights else { panic!("nine weights") };
    let normed = norm(x, attention_norm)?;
    let project = |x: &Tensor, weight: &Var| x.matmul(&weight.t()?);
    let queries = rotate(&by_heads(&project(&normed, query)?, SHAPE.heads)?)?;
    let keys = shared(&rotate(&by_heads(&project(&normed, key)?, SHAPE.kv_heads)?)?)?;
    let values = shared(&by_heads(&project(&normed, value)?, SHAPE.kv_heads)?)?;
    let scores = (queries.matmul(&keys.transpose(2, 3)?)? / (SHAPE.head_dim as f64).sqrt())?;
    let behind = |at: usize| if at % SEQUENCE > at / SEQUENCE { f64::NEG_INFINITY } else { 0.0 };
    let mask: Vec<f64> = (0..SEQUENCE * SEQUENCE).map(behind).collect();
    let scores = scores.broadcast_add(&Tensor::from_vec(mask, (SEQUENCE, SEQUENCE), &CPU)?)?;
    let attended = candle_nn::ops::softmax(&scores, D::Minus1)?.matmul(&values)?;
    let attended = attended.transpose(1, 2)?.reshape((TOKENS, SHAPE.heads * SHAPE.head_dim))?;
    let middle = (x + project(&attended, output)?)?;
    let normed = norm(&middle, feed_norm)?;
    let product = (candle_nn::ops::silu(&project(&normed, gate)?)? * project(&normed, up)?)?;
    &middle + project(&product, down)?
}

/// The loss and the gradients of all weights by candle, in f64.
fn by_candle(weights: &[Vec<f32>], ids: &[u32], targets: &[u32]) -> Result<(f64, Vec<Vec<f64>>)> {
    let var = |(values, (rows, columns)): (&Vec<f32>, (usize, usize))| {
        let values: Vec<f64> = values.iter().map(|x| f64::from(*x)).collect();
        let tensor = match rows {
            1 => Tensor::from_vec(values, columns, &CPU)?,
            _ => Tensor::from_vec(values, (rows, columns), &CPU)?,
        };
        Var::from_tensor(&tensor)
    };
    let vars: Vec<Var> = weights.iter().zip(SHAPE.weights()).map(var).collect::<Result<_>>()?;
    let mut x = vars[0].index_select(&Tensor::new(ids, &CPU)?, 0)?;
    for weights in vars[3..].chunks(9) {
        x = block(&x, weights)?;
    }
    let logits = norm(&x, &vars[1])?.matmul(&vars[2].t()?)?;
    let loss = candle_nn::loss::cross_entropy(&logits, &Tensor::new(targets, &CPU)?)?;
    let store = loss.backward()?;
    let gradient = |var: &Var| {
        let gradient = store.get(var).unwrap_or_else(|| panic!("no gradient of {:?}", var.shape()));
        gradient.to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>()
    };
    Ok((loss.to_scalar::<f64>()?, vars.iter().map(gradient).collect::<Result<_>>()?))
}

/// The length of the difference by that of the expected vector.
fn difference(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let square = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>();
    let length = square(&mut expected.iter().copied());
    assert!(length > 0.0);
    (square(&mut found.iter().zip(expected).map(|(a, b)| a - b)) / length).sqrt()
}

#[test]
fn gradients_are_those_of_candles_autograd() {
    let weights = SHAPE.random_weights::<f32>(5);
    let (ids, targets) = (SHAPE.random_ids(TOKENS, 6), SHAPE.random_ids(TOKENS, 7));
    let (loss, expected) = by_candle(&weights, &ids, &targets).unwrap();

    let tape = reference::forward(&SHAPE, &weights, &ids, SEQUENCE);
    assert!((tape.loss(&targets) / loss - 1.0).abs() < 1e-12, "{} and {loss}", tape.loss(&targets));
    let by_reference = reference::backward(&SHAPE, &weights, &tape, &ids, &targets, SEQUENCE);
    for (place, (found, expected)) in by_reference.iter().zip(&expected).enumerate() {
        let difference = difference(found, expected);
        assert!(difference < 1e-10, "weight {place} of the reference: {difference:e}");
    }

    let gpu = gpu();
    let (found_loss, found) = training::gradients(&gpu.stream, &SHAPE, &weights, &ids, &targets, SEQUENCE).unwrap();
    assert!((found_loss / loss - 1.0).abs() < 1e-5, "{found_loss} and {loss}");
    for (place, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let difference = difference(found, expected);
        assert!(difference < 1e-5, "weight {place} on the device: {difference:e}");
    }
}
