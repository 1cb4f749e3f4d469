//! Training: gradients, the loss, the optimiser's step.

use hip::{DeviceSlice, DeviceSliceMut, Stream};

use crate::embedding::TokenId;
use crate::error::{Error, Result, check_length, check_u32};
use crate::launch::launch_1d;
use crate::library::{Kernels, names};
use crate::reduce::{block, row_block, rows};
use crate::{Float, modules};

/// Columns of a workgroup of `rmsnorm_weight_backward`: `WEIGHT_COLUMNS` of `kernels/training.cu`.
const WEIGHT_COLUMNS: usize = 32;
/// Its work-items for each column: `WEIGHT_PARTS` of `kernels/training.cu`.
const WEIGHT_PARTS: usize = 8;

/// The names of a kernel by the type of token ids, then by the element type.
macro_rules! by_index {
    ($prefix:literal) => {
        [
            [concat!($prefix, "_f32_u32"), concat!($prefix, "_f16_u32"), concat!($prefix, "_bf16_u32")],
            [concat!($prefix, "_f32_i64"), concat!($prefix, "_f16_i64"), concat!($prefix, "_bf16_i64")],
        ]
    };
}

/// AdamW: Adam with decoupled weight decay, as PyTorch's `torch.optim.AdamW` computes it.
///
/// ```
/// let adam = kernels::AdamW { rate: 3e-4, ..kernels::AdamW::default() };
/// assert_eq!((adam.beta1, adam.beta2, adam.decay), (0.9, 0.999, 0.01));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    /// The learning rate.
    pub rate: f64,
    /// How much of the mean of gradients is kept from step to step.
    pub beta1: f64,
    /// The same for the mean of their squares.
    pub beta2: f64,
    /// Added to the square root.
    pub eps: f64,
    /// Weights shrink by the factor `1 - rate · decay` in each step.
    pub decay: f64,
    /// Gradients are multiplied by this first: to clip their norm, or to undo the scale of a loss.
    pub grad_factor: f64,
}

impl Default for AdamW {
    /// PyTorch's defaults: a rate of 0.001, betas of 0.9 and 0.999, an epsilon of 10⁻⁸, a decay of 0.01.
    fn default() -> Self {
        Self { rate: 1e-3, beta1: 0.9, beta2: 0.999, eps: 1e-8, decay: 0.01, grad_factor: 1.0 }
    }
}

/// The state of parameters that [`Kernels::adamw`] keeps from step to step.
#[derive(Debug)]
pub struct AdamWState<'a> {
    /// The parameters in f32, if they are kept in addition to those used for multiplications.
    pub master: Option<DeviceSliceMut<'a, f32>>,
    /// The mean of gradients; zeros before the first step.
    pub mean: DeviceSliceMut<'a, f32>,
    /// The mean of their squares; zeros before the first step.
    pub square: DeviceSliceMut<'a, f32>,
}

impl Kernels {
    /// The gradient of [`rms_norm`](Self::rms_norm) with respect to `x`, from the gradient of its result:
    /// `x_grad = add + …` for each row of `columns` elements, in f32 and rounded once. `add` is the gradient
    /// of a residual connection around the norm. `scales` receives `1 / √(mean(x²) + eps)` of each row, which
    /// [`rms_norm_weight_backward`](Self::rms_norm_weight_backward) needs.
    ///
    /// # Errors
    /// [`Error::Length`] unless the buffers fit `x`, `alpha` has `columns` elements and `scales` one for each
    /// row, [`Error::Size`] if `columns` is zero or does not divide `x`; [`Error::Hip`].
    #[expect(clippy::too_many_arguments, reason = "the arguments of a norm, and gradients")]
    pub fn rms_norm_backward<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<DeviceSlice<'a, T>>,
        columns: usize,
        alpha: Option<DeviceSlice<'a, T>>,
        eps: f32,
        grad: impl Into<DeviceSlice<'a, T>>,
        add: Option<DeviceSlice<'a, T>>,
        x_grad: impl Into<DeviceSliceMut<'a, T>>,
        scales: Option<DeviceSliceMut<'a, f32>>,
    ) -> Result<()> {
        let (x, grad, x_grad) = (x.into(), grad.into(), x_grad.into());
        let operation = "rms_norm_backward";
        let rows = rows(operation, x.len(), columns)?;
        check_length(operation, "grad", grad.len(), x.len())?;
        check_length(operation, "x_grad", x_grad.len(), x.len())?;
        let lengths = [
            ("alpha", alpha.map(|alpha| alpha.len()), columns),
            ("add", add.map(|add| add.len()), x.len()),
            ("scales", scales.as_ref().map(DeviceSliceMut::len), rows as usize),
        ];
        for (buffer, got, expected) in lengths {
            got.map_or(Ok(()), |got| check_length(operation, buffer, got, expected))?;
        }
        if rows == 0 {
            return Ok(());
        }
        let kernel = self.of::<T>(&modules::TRAINING, &names!("rmsnorm_backward"))?;
        let launch = kernel.launch(stream).grid(rows).block(row_block::<T>(stream.device(), columns));
        let launch =
            launch.arg(x).arg(alpha).arg(grad).arg(add).arg(x_grad).arg(scales).arg(columns).arg(eps);
        // SAFETY: workgroup r reads and writes elements r*columns..(r+1)*columns of all, `columns` of alpha
        // and element r of `scales`.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// The gradient of [`rms_norm`](Self::rms_norm) with respect to its weights: for each column the sum over
    /// all rows, in f32 and rounded once. `scales` come from [`rms_norm_backward`](Self::rms_norm_backward).
    ///
    /// # Errors
    /// [`Error::Length`] unless `grad` fits `x`, `scales` has one element for each row and `alpha_grad` has
    /// `columns`, [`Error::Size`] if `columns` is zero or does not divide `x`; [`Error::Hip`].
    pub fn rms_norm_weight_backward<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<DeviceSlice<'a, T>>,
        columns: usize,
        scales: impl Into<DeviceSlice<'a, f32>>,
        grad: impl Into<DeviceSlice<'a, T>>,
        alpha_grad: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (x, scales, grad, alpha_grad) = (x.into(), scales.into(), grad.into(), alpha_grad.into());
        let operation = "rms_norm_weight_backward";
        let rows = rows(operation, x.len(), columns)?;
        check_length(operation, "grad", grad.len(), x.len())?;
        check_length(operation, "scales", scales.len(), rows as usize)?;
        check_length(operation, "alpha_grad", alpha_grad.len(), columns)?;
        let workgroups = check_u32(operation, "columns", columns.div_ceil(WEIGHT_COLUMNS))?;
        let kernel = self.of::<T>(&modules::TRAINING, &names!("rmsnorm_weight_backward"))?;
        let launch = kernel.launch(stream).grid(workgroups).block((WEIGHT_COLUMNS * WEIGHT_PARTS) as u32);
        let launch = launch.arg(x).arg(scales).arg(grad).arg(alpha_grad).arg(rows as usize).arg(columns);
        // SAFETY: the kernel reads rows*columns elements of both matrices and `rows` scales, and writes
        // `columns` elements; the workgroup has the size that the kernel expects.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// The gradients of SwiGLU, `silu(gate) · up` ([`gated`](Self::gated) with
    /// [`Activation::Silu`](crate::Activation::Silu)), from the gradient of its result; in f32 and rounded
    /// once.
    ///
    /// # Errors
    /// [`Error::Length`] if the buffers differ in length; [`Error::Hip`].
    pub fn silu_gated_backward<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        gate: impl Into<DeviceSlice<'a, T>>,
        up: impl Into<DeviceSlice<'a, T>>,
        grad: impl Into<DeviceSlice<'a, T>>,
        gate_grad: impl Into<DeviceSliceMut<'a, T>>,
        up_grad: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (gate, up, grad, gate_grad, up_grad) =
            (gate.into(), up.into(), grad.into(), gate_grad.into(), up_grad.into());
        let operation = "silu_gated_backward";
        let elements = gate.len();
        for (buffer, got) in [
            ("up", up.len()),
            ("grad", grad.len()),
            ("gate_grad", gate_grad.len()),
            ("up_grad", up_grad.len()),
        ] {
            check_length(operation, buffer, got, elements)?;
        }
        if elements == 0 {
            return Ok(());
        }
        let kernel = self.of::<T>(&modules::TRAINING, &names!("silu_mul_backward"))?;
        let launch = launch_1d(kernel, stream, elements);
        let launch = launch.arg(elements).arg(gate).arg(up).arg(grad).arg(gate_grad).arg(up_grad);
        // SAFETY: all five have that many elements.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// The weights of causal attention: `y = softmax(scale · x)` of each row of `columns` scores. Query `q`
    /// of `queries` sees the first `columns - queries + q + 1`; the rest become zeros. The queries are the
    /// last positions, and the rows of each head follow those of the previous one.
    ///
    /// # Errors
    /// [`Error::Length`] if `x` and `y` differ in length, [`Error::Size`] if `columns` is zero or does not
    /// divide that length, or `queries` is zero, more than `columns` or does not divide the rows;
    /// [`Error::Hip`].
    pub fn causal_softmax<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<DeviceSlice<'a, T>>,
        queries: usize,
        columns: usize,
        scale: f32,
        y: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let operation = "causal_softmax";
        check_length(operation, "y", y.len(), x.len())?;
        let rows = rows(operation, x.len(), columns)?;
        if queries == 0 || queries > columns || !(rows as usize).is_multiple_of(queries) {
            let problem = "must be at least 1, at most `columns`, and divide the number of rows";
            return Err(Error::Size { operation, parameter: "queries", got: queries, problem });
        }
        if rows == 0 {
            return Ok(());
        }
        let kernel = self.of::<T>(&modules::TRAINING, &names!("softmax_causal"))?;
        let launch = kernel.launch(stream).grid(rows).block(row_block::<T>(stream.device(), columns));
        let launch = launch.arg(x).arg(y).arg(queries).arg(columns).arg(scale);
        // SAFETY: workgroup r reads and writes elements r*columns..(r+1)*columns; a query sees at least one
        // column and at most all.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// The gradient of softmax from the gradient of its result `probabilities`: `x_grad = scale · p · (grad −
    /// Σ p · grad)` for each row of `columns` elements. `scale` is the factor that the scores were multiplied
    /// by.
    ///
    /// # Errors
    /// [`Error::Length`] if the buffers differ in length, [`Error::Size`] if `columns` is zero or does not
    /// divide it; [`Error::Hip`].
    pub fn softmax_backward<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        probabilities: impl Into<DeviceSlice<'a, T>>,
        grad: impl Into<DeviceSlice<'a, T>>,
        columns: usize,
        scale: f32,
        x_grad: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (probabilities, grad, x_grad) = (probabilities.into(), grad.into(), x_grad.into());
        let operation = "softmax_backward";
        check_length(operation, "grad", grad.len(), probabilities.len())?;
        check_length(operation, "x_grad", x_grad.len(), probabilities.len())?;
        let rows = rows(operation, probabilities.len(), columns)?;
        if rows == 0 {
            return Ok(());
        }
        let kernel = self.of::<T>(&modules::TRAINING, &names!("softmax_backward"))?;
        let launch = kernel.launch(stream).grid(rows).block(row_block::<T>(stream.device(), columns));
        let launch = launch.arg(probabilities).arg(grad).arg(x_grad).arg(columns).arg(scale);
        // SAFETY: workgroup r reads and writes elements r*columns..(r+1)*columns.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// The loss of a classifier, `losses = −log softmax(logits)[target]` for each row of `columns` logits,
    /// and `factor` times its gradient. A row whose target is not a column, such as a negative one, is
    /// ignored: its loss and gradient are 0.
    ///
    /// For the mean over rows, `factor` is the reciprocal of their number.
    ///
    /// # Errors
    /// [`Error::Size`] if `columns` is zero or does not divide `logits`, [`Error::Length`] unless there is a
    /// target and a loss for each row and `logits_grad` fits `logits`; [`Error::Hip`].
    #[expect(clippy::too_many_arguments, reason = "the loss and its gradient")]
    pub fn cross_entropy<'a, T: Float<Compute = f32>, I: TokenId>(
        &'a self,
        stream: &'a Stream,
        logits: impl Into<DeviceSlice<'a, T>>,
        columns: usize,
        targets: impl Into<DeviceSlice<'a, I>>,
        losses: impl Into<DeviceSliceMut<'a, f32>>,
        factor: f32,
        logits_grad: Option<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (logits, targets, losses) = (logits.into(), targets.into(), losses.into());
        let operation = "cross_entropy";
        let rows = rows(operation, logits.len(), columns)?;
        check_length(operation, "targets", targets.len(), rows as usize)?;
        check_length(operation, "losses", losses.len(), rows as usize)?;
        if let Some(grad) = &logits_grad {
            check_length(operation, "logits_grad", grad.len(), logits.len())?;
        }
        if rows == 0 {
            return Ok(());
        }
        let name = by_index!("cross_entropy")[I::SUFFIX][T::INDEX];
        let launch = self
            .function(&modules::TRAINING, name)?
            .launch(stream)
            .grid(rows)
            .block(row_block::<T>(stream.device(), columns));
        let launch = launch.arg(logits).arg(targets).arg(losses).arg(logits_grad).arg(columns).arg(factor);
        // SAFETY: workgroup r reads target r and elements r*columns..(r+1)*columns, the target only if it is
        // one of these, and writes the same elements and loss r.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// The gradient of [`embedding`](Self::embedding): adds row `t` of `grad`, of `width` elements, to row
    /// `ids[t]` of `table_grad`. Rows with the same id are added in f32 and in order. An id that is not in
    /// the table is ignored.
    ///
    /// # Errors
    /// [`Error::Size`] if `width` is zero or does not divide the table, or there are 2³² tokens or more,
    /// [`Error::Length`] unless `grad` has a row for each id; [`Error::Hip`].
    pub fn embedding_backward<'a, T: Float<Compute = f32>, I: TokenId>(
        &'a self,
        stream: &'a Stream,
        grad: impl Into<DeviceSlice<'a, T>>,
        width: usize,
        ids: impl Into<DeviceSlice<'a, I>>,
        table_grad: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (grad, ids, table_grad) = (grad.into(), ids.into(), table_grad.into());
        let operation = "embedding_backward";
        if width == 0 || table_grad.len() % width != 0 {
            let problem = "must be at least 1 and divide the number of elements of the table";
            return Err(Error::Size { operation, parameter: "width", got: width, problem });
        }
        check_length(operation, "grad", grad.len(), ids.len().saturating_mul(width))?;
        let tokens = check_u32(operation, "tokens", ids.len())?;
        if tokens == 0 {
            return Ok(());
        }
        let (count, table_rows) = (ids.len(), table_grad.len() / width);
        let name = by_index!("embedding_backward")[I::SUFFIX][T::INDEX];
        let launch = self.function(&modules::TRAINING, name)?.launch(stream).grid(tokens).block(block(width));
        let launch = launch.arg(grad).arg(ids).arg(table_grad).arg(count).arg(width).arg(table_rows);
        // SAFETY: the kernel reads a row for each token, and reads and writes only rows of the table, each in
        // the workgroup of its first token.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// Step number `step` of [`AdamW`], counted from 1: the moments are corrected for starting as zeros.
    /// Arithmetic is in f32. Without f32 parameters in the state, 16-bit parameters are rounded in each step.
    ///
    /// # Errors
    /// [`Error::Length`] if the buffers differ in length, [`Error::Size`] if `step` is zero, [`Error::Value`]
    /// if a beta is negative or not below 1, or another setting is not finite; [`Error::Hip`].
    pub fn adamw<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        adam: &AdamW,
        step: usize,
        params: impl Into<DeviceSliceMut<'a, T>>,
        grad: impl Into<DeviceSlice<'a, T>>,
        state: AdamWState<'a>,
    ) -> Result<()> {
        let (params, grad) = (params.into(), grad.into());
        let operation = "adamw";
        let elements = params.len();
        check_length(operation, "grad", grad.len(), elements)?;
        check_length(operation, "mean", state.mean.len(), elements)?;
        check_length(operation, "square", state.square.len(), elements)?;
        if let Some(master) = &state.master {
            check_length(operation, "master", master.len(), elements)?;
        }
        let (corrections, steps) = adam.corrections(step)?;
        if elements == 0 {
            return Ok(());
        }
        let kernel = self.of::<T>(&modules::TRAINING, &names!("adamw"))?;
        let launch =
            launch_1d(kernel, stream, elements).arg(elements).arg(params).arg(state.master).arg(grad);
        let launch = launch.arg(state.mean).arg(state.square);
        let launch = steps.into_iter().chain(corrections).fold(launch, |launch, number| launch.arg(number));
        // SAFETY: all buffers have that many elements.
        unsafe { launch.enqueue()? };
        Ok(())
    }
}

impl AdamW {
    /// The settings and the corrections of both moments, as the kernel takes them.
    fn corrections(&self, step: usize) -> Result<([f32; 2], [f32; 6])> {
        let operation = "adamw";
        if step == 0 {
            return Err(Error::Size {
                operation,
                parameter: "step",
                got: step,
                problem: "must be at least 1",
            });
        }
        for (parameter, got) in [("beta1", self.beta1), ("beta2", self.beta2)] {
            if !(0.0..1.0).contains(&got) {
                return Err(Error::Value {
                    operation,
                    parameter,
                    got,
                    problem: "must be at least 0 and below 1",
                });
            }
        }
        for (parameter, got) in
            [("rate", self.rate), ("eps", self.eps), ("decay", self.decay), ("grad_factor", self.grad_factor)]
        {
            if !got.is_finite() {
                return Err(Error::Value { operation, parameter, got, problem: "must be finite" });
            }
        }
        // Beyond this, the correction is 1. Computed from the f32 betas that the kernel uses: 1 - 0.999
        // differs from theirs by 0.001 %.
        let step = i32::try_from(step).unwrap_or(i32::MAX);
        let correction = |beta: f64| (1.0 - f64::from(beta as f32).powi(step)) as f32;
        let steps = [self.grad_factor, self.rate, self.beta1, self.beta2, self.eps, self.decay];
        Ok(([correction(self.beta1), correction(self.beta2)], steps.map(|number| number as f32)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrections_are_what_zeros_at_the_beginning_cost() {
        let adam = AdamW { beta1: 0.5, beta2: 0.75, ..AdamW::default() };
        assert_eq!(adam.corrections(1).unwrap().0, [0.5, 0.25]);
        assert_eq!(adam.corrections(2).unwrap().0, [0.75, 0.4375]);
        assert_eq!(adam.corrections(usize::MAX).unwrap().0, [1.0, 1.0]);
    }

    #[test]
    fn numbers_that_cannot_be_are_refused() {
        let adam = AdamW::default();
        assert!(matches!(adam.corrections(0).unwrap_err(), Error::Size { parameter: "step", .. }));
        for wrong in [-0.1, 1.0, f64::NAN] {
            let error = AdamW { beta2: wrong, ..adam }.corrections(1).unwrap_err();
            assert!(matches!(error, Error::Value { parameter: "beta2", .. }), "{error}");
        }
        let error = AdamW { rate: f64::INFINITY, ..adam }.corrections(1).unwrap_err();
        assert_eq!(error.to_string(), "adamw: `rate` is inf, must be finite");
    }
}
