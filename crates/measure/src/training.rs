//! A step of training: forward, loss, backward and AdamW of a transformer of Llama's shape.

mod step;

use half::bf16;
use kernels::AdamW;

use crate::block::{BLOCK_ROUNDINGS, bound};
use crate::check::Check;
use crate::context::{Case, Clock, Context};
use crate::error::Result;
use crate::model::ops::Number;
use crate::model::{ModelName, Shape, reference, seen};
use crate::options::Size;

use step::Trainer;

const GROUP: &str = "training";
/// The maximum number of tokens of the one checked sequence: forward and backward in f64.
const CHECKED: usize = 16;
/// The optimiser of the step.
const ADAM: AdamW = AdamW { rate: 3e-4, beta1: 0.9, beta2: 0.95, eps: 1e-8, decay: 0.1, grad_factor: 1.0 };

/// Sequences, and tokens of each.
fn lengths(size: Size) -> (usize, usize) {
    match size {
        Size::Tiny => (2, 16),
        Size::Small => (2, 512),
        Size::Full => (2, 4096),
    }
}

/// Llama's shape with a vocabulary of 32,768 tokens, so that the head does not dominate a single block.
fn shape(size: Size, layers: Option<usize>) -> Shape {
    let full = Shape { vocab: 32_768, ..ModelName::Llama.shape() };
    full.scaled(size, Some(layers.unwrap_or(1)))
}

/// In f32, and in bf16 with additional f32 parameters.
pub(crate) fn measure(context: &mut Context<'_>) -> Result<()> {
    of::<f32>(context)?;
    of::<bf16>(context)
}

fn of<T: Number>(context: &mut Context<'_>) -> Result<()> {
    let shape = shape(context.size, context.options.layers);
    let (batch, sequence) = lengths(context.size);
    let tokens = batch * sequence;
    // Backward is twice forward: each product has two gradients. Recomputation is not counted.
    let forward = 2.0 * (tokens * (shape.multiplied() + shape.vocab * shape.hidden)) as f64
        + shape.attention_flops(batch * seen(sequence, sequence));
    let checked = (batch.min(if tokens > CHECKED * 4 { 1 } else { batch }), sequence.min(CHECKED));
    let case = Case {
        group: GROUP,
        name: format!(
            "step {batch}x{sequence} tokens of llama {} wide, {} layers, {}",
            shape.hidden,
            shape.layers,
            T::NAME
        ),
        flops: Some(3.0 * forward),
        tokens: Some(tokens as f64),
        other: vec![
            ("layers", shape.layers.into()),
            ("parameters", shape.parameters().into()),
            ("checked_tokens", (checked.0 * checked.1).into()),
        ],
        ..Case::default()
    };
    context.attempt(&format!("{GROUP} {}", case.name.clone()), |context| {
        let weights = shape.random_weights::<T>(71);
        // The checked step has its own memory, which it releases.
        let check = check::<T>(context, &shape, &weights, checked)?;
        let (ids, targets) = (shape.random_ids(tokens, 72), shape.random_ids(tokens, 73));
        let mut trainer = Trainer::new(context.tools(), shape, &weights, batch, sequence)?;
        trainer.set_batch(context.tools(), &ids, &targets)?;
        context.measure(
            case,
            Clock::Device,
            &mut trainer,
            |context, trainer| trainer.step(context.tools(), &ADAM),
            |context, trainer| {
                // The long step must only give finite numbers; the short one is compared.
                let loss = trainer.loss(context.tools())?;
                let expected = (shape.vocab as f64).ln();
                let plausible = Check { error: (loss - expected).abs(), bound: expected };
                Ok(if plausible.passed() { check } else { plausible })
            },
        )
    })
}

/// Compares one step of few tokens with f64: the loss and every gradient, each as a whole, and the parameters
/// that the optimiser computes from the device's gradients.
fn check<T: Number>(
    context: &Context<'_>,
    shape: &Shape,
    weights: &[Vec<T>],
    (batch, sequence): (usize, usize),
) -> Result<Check> {
    let tools = context.tools();
    let tokens = batch * sequence;
    let (ids, targets) = (shape.random_ids(tokens, 74), shape.random_ids(tokens, 75));
    let mut trainer = Trainer::new(tools, *shape, weights, batch, sequence)?;
    trainer.set_batch(tools, &ids, &targets)?;
    trainer.step(tools, &ADAM)?;
    let tape = reference::forward(shape, weights, &ids, sequence);
    let expected = reference::backward(shape, weights, &tape, &ids, &targets, sequence);
    // A gradient passes through the forward pass and back.
    let bound = bound::<T>(2 * (BLOCK_ROUNDINGS * shape.layers + 4), shape.vocab.max(shape.intermediate));
    let loss = trainer.loss(tools)?;
    let mut worst = Check { error: (loss / tape.loss(&targets) - 1.0).abs(), bound };
    for (place, expected) in expected.iter().enumerate() {
        let got = trainer.gradient(tools, place)?;
        worst = worst.worse(Check::whole(got.iter().map(|x| x.to_f64()), expected, bound));
        let updated = trainer.parameters(tools, place)?;
        worst = worst.worse(updates(&weights[place], &got, &updated));
    }
    Ok(worst)
}

/// Compares parameters with the first step of the optimiser, computed in f64 from gradients. f32 loses a few
/// units of the parameter and of the step.
fn updates<T: Number>(before: &[T], gradients: &[T], after: &[T]) -> Check {
    let expected = before.iter().zip(gradients).map(|(before, gradient)| {
        let (before, g) = (before.to_f64(), gradient.to_f64());
        let (mean, square) = ((1.0 - ADAM.beta1) * g, (1.0 - ADAM.beta2) * g * g);
        let step = (mean / (1.0 - ADAM.beta1)) / ((square / (1.0 - ADAM.beta2)).sqrt() + ADAM.eps);
        let half = f64::from(f32::EPSILON) / 2.0;
        // Squares of small gradients are subnormal or zero in f32: the step may then be off by as much as
        // itself.
        let tiny = if g.abs() < 1e-17 { ADAM.rate * step.abs() * 2.0 + ADAM.rate * 1e-6 } else { 0.0 };
        let value = before - ADAM.rate * ADAM.decay * before - ADAM.rate * step;
        (value, 4.0 * half * before.abs() + 16.0 * half * ADAM.rate + tiny)
    });
    Check::elements(after.iter().copied(), expected)
}

/// One step on a device, for comparisons with other implementations: the loss and the gradients of all
/// weights, converted to f64, for sequences of `sequence` tokens, one after the other in `ids`.
///
/// # Errors
/// [`Error::Option`](crate::Error::Option) for a shape that the kernels do not support, and errors of the
/// device.
pub fn gradients(
    stream: &hip::Stream,
    shape: &Shape,
    weights: &[Vec<f32>],
    ids: &[u32],
    targets: &[u32],
    sequence: usize,
) -> Result<(f64, Vec<Vec<f64>>)> {
    let (kernels, blas) = (kernels::Kernels::new(stream.device()), rocblas::Blas::new(stream)?);
    let tools = crate::model::ops::Tools { kernels: &kernels, blas: &blas, stream };
    let batch = ids.len() / sequence.max(1);
    let mut trainer = Trainer::new(tools, *shape, weights, batch, sequence)?;
    trainer.set_batch(tools, ids, targets)?;
    trainer.step(tools, &ADAM)?;
    let of = |place| Ok(trainer.gradient(tools, place)?.into_iter().map(f64::from).collect());
    Ok((trainer.loss(tools)?, (0..weights.len()).map(of).collect::<Result<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::numbers;

    /// The check of the optimiser's step is tested with numbers that must fail.
    #[test]
    fn another_step_is_found() {
        let (before, gradients) = (numbers::<f32>(50, 1, 1.0), numbers::<f32>(50, 2, 0.1));
        let step = |rate: f64, decay: f64| -> Vec<f32> {
            let of = |(w, g): (&f32, &f32)| {
                let (w, g) = (f64::from(*w), f64::from(*g));
                (w - rate * decay * w - rate * g / (g.abs() + ADAM.eps)) as f32
            };
            before.iter().zip(&gradients).map(of).collect()
        };
        assert!(updates(&before, &gradients, &step(ADAM.rate, ADAM.decay)).passed());
        assert!(!updates(&before, &gradients, &step(ADAM.rate, 0.0)).passed(), "without decay");
        assert!(!updates(&before, &gradients, &step(ADAM.rate * 1.01, ADAM.decay)).passed(), "another rate");
        assert!(!updates(&before, &gradients, &before).passed(), "no step");
    }
}
