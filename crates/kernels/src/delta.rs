//! Gated delta nets: linear attention with a state of fixed size for each sequence.

use hip::{DeviceSlice, DeviceSliceMut, Stream};

use crate::error::{Error, Result, check_length, check_u32};
use crate::launch::launch_1d;
use crate::library::{Kernels, names};
use crate::rope::Heads;
use crate::{Float, modules};

/// The maximum width of a [causal convolution](Kernels::causal_conv).
pub const MOST_CONV_WIDTH: usize = 4;
/// Work-items of a workgroup of `gated_delta`, at most.
const MOST_COLUMNS: usize = 256;

/// The shape of a causal convolution of each channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CausalConv {
    /// Sequences.
    pub sequences: usize,
    /// Tokens of each.
    pub tokens: usize,
    /// Channels.
    pub channels: usize,
    /// Tokens that a result depends on, its own included: from 2 to 4.
    pub width: usize,
    /// From a token's row to the next, in elements.
    pub row_stride: usize,
}

/// The shape of a gated delta rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GatedDelta {
    /// Sequences.
    pub sequences: usize,
    /// Tokens of each.
    pub tokens: usize,
    /// Where queries are.
    pub q: Heads,
    /// Where keys are: heads and sizes as those of the queries.
    pub k: Heads,
    /// Where values are. Neighbouring heads share one of the keys.
    pub v: Heads,
    /// Factor of the results.
    pub scale: f32,
}

#[repr(C)]
#[derive(Clone, Copy, hip::DeviceCopy)]
struct Strides([u64; 6]);

#[repr(C)]
#[derive(Clone, Copy, hip::DeviceCopy)]
struct Sizes([u32; 5]);

impl Kernels {
    /// A convolution of each channel over the tokens before: `out[s, t, c] = Σ weight[c, i] · x[s, t - width +
    /// 1 + i, c]`. What comes before the first token is in state `slots[s]` of `states`, which has `width -
    /// 1` numbers for each channel, and which then gets the last ones of `x`. Without such a state, what
    /// comes before is 0, and nothing is kept. Sequences must not share a state.
    ///
    /// # Errors
    /// [`Error::Size`] for other widths than 2 to 4 or a row stride below `channels`, [`Error::Length`]
    /// unless `out` has the elements of the shape without gaps, `x` reaches as far, `weight` has `channels ·
    /// width` elements and `slots` one for each sequence; [`Error::Hip`].
    #[expect(clippy::too_many_arguments, reason = "the kernel's")]
    pub fn causal_conv<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        conv: &CausalConv,
        x: impl Into<DeviceSlice<'a, T>>,
        weight: impl Into<DeviceSlice<'a, T>>,
        states: impl Into<DeviceSliceMut<'a, f32>>,
        slots: impl Into<DeviceSlice<'a, u32>>,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let operation = "causal_conv";
        let (x, weight, states, slots, out) =
            (x.into(), weight.into(), states.into(), slots.into(), out.into());
        let &CausalConv { sequences, tokens, channels, width, row_stride } = conv;
        let wrong = |parameter, got, problem| Err(Error::Size { operation, parameter, got, problem });
        if !(2..=MOST_CONV_WIDTH).contains(&width) {
            return wrong("width", width, "must be from 2 to 4");
        }
        if row_stride < channels {
            return wrong("row_stride", row_stride, "less than the channels");
        }
        let rows = sequences.saturating_mul(tokens);
        check_length(operation, "out", out.len(), rows.saturating_mul(channels))?;
        check_length(operation, "weight", weight.len(), channels.saturating_mul(width))?;
        check_length(operation, "slots", slots.len(), sequences)?;
        let reach = rows.saturating_sub(1).saturating_mul(row_stride).saturating_add(channels);
        if rows > 0 && x.len() < reach {
            return Err(Error::Length { operation, buffer: "x", expected: reach, got: x.len() });
        }
        if out.is_empty() {
            return Ok(());
        }
        let there_are = check_u32(operation, "states", states.len() / (channels * (width - 1)))?;
        let function = self.of::<T>(&modules::DELTA, &names!("causal_conv"))?;
        let launch = launch_1d(function, stream, sequences * channels);
        let launch = launch.arg(x).arg(row_stride).arg(weight).arg(states).arg(slots).arg(there_are);
        let launch = launch.arg(sequences).arg(tokens).arg(channels).arg(width as u32).arg(out);
        // SAFETY: `x` has that many rows, `weight` and `out` have been checked, and only states that exist
        // are read and written.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// The gated delta rule. For each token of a sequence in turn, and each head with its state S: `S *=
    /// exp(gate)`; `d = (v - Sᵀ k) · beta`; `S += k dᵀ`; `out = scale · Sᵀ q`. `states` has heads × key size
    /// × value size numbers for each state, and sequence s has number `slots[s]`; without such a state,
    /// results are 0. Sequences must not share a state.
    ///
    /// # Errors
    /// [`Error::Size`] if the heads of the keys do not divide those of the values, or heads or sizes of
    /// queries and keys differ; [`Error::Length`] unless `gates` and `betas` have a number for each head of a
    /// token, `slots` one for each sequence and `out` has as many elements as there are values, or a buffer
    /// is too short for its heads; [`Error::Hip`].
    #[expect(clippy::too_many_arguments, reason = "the kernel's")]
    pub fn gated_delta<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        delta: &GatedDelta,
        q: impl Into<DeviceSlice<'a, T>>,
        k: impl Into<DeviceSlice<'a, T>>,
        v: impl Into<DeviceSlice<'a, T>>,
        gates: impl Into<DeviceSlice<'a, f32>>,
        betas: impl Into<DeviceSlice<'a, f32>>,
        states: impl Into<DeviceSliceMut<'a, f32>>,
        slots: impl Into<DeviceSlice<'a, u32>>,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let operation = "gated_delta";
        let (q, k, v, gates, betas) = (q.into(), k.into(), v.into(), gates.into(), betas.into());
        let (states, slots, out) = (states.into(), slots.into(), out.into());
        let wrong = |parameter, got, problem| Err(Error::Size { operation, parameter, got, problem });
        let (heads, value, key) = (delta.v.heads, delta.v.size, delta.k.size);
        if delta.k.heads == 0 || heads % delta.k.heads != 0 {
            return wrong("heads of k", delta.k.heads, "must be at least 1 and divide those of v");
        }
        if (delta.q.heads, delta.q.size) != (delta.k.heads, key) {
            return wrong("heads of q", delta.q.heads, "must be those of k, of the same size");
        }
        let tokens = delta.sequences.saturating_mul(delta.tokens);
        let places = tokens.saturating_mul(heads);
        delta.q.check(operation, "q", q.len(), tokens, false)?;
        delta.k.check(operation, "k", k.len(), tokens, false)?;
        delta.v.check(operation, "v", v.len(), tokens, false)?;
        check_length(operation, "gates", gates.len(), places)?;
        check_length(operation, "betas", betas.len(), places)?;
        check_length(operation, "slots", slots.len(), delta.sequences)?;
        check_length(operation, "out", out.len(), places.saturating_mul(value))?;
        if out.is_empty() || key == 0 {
            return Ok(());
        }
        let there_are = check_u32(operation, "states", states.len() / (heads * key * value))?;
        let small = |parameter, got| check_u32(operation, parameter, got);
        let workgroups = small("sequences times heads", delta.sequences.saturating_mul(heads))?;
        let sizes = Sizes([
            small("tokens", delta.tokens)?,
            small("heads", heads)?,
            small("group", heads / delta.k.heads)?,
            small("key", key)?,
            small("value", value)?,
        ]);
        let strides = [delta.q, delta.k, delta.v].map(|at| [at.token_stride as u64, at.head_stride as u64]);
        let [[a, b], [c, d], [e, f]] = strides;
        let function = self.of::<T>(&modules::DELTA, &names!("gated_delta"))?;
        let block = value.min(MOST_COLUMNS).next_multiple_of(64) as u32;
        let launch = function.launch(stream).grid(workgroups).block(block);
        let launch = launch.arg(q).arg(k).arg(v).arg(Strides([a, b, c, d, e, f])).arg(gates).arg(betas);
        let launch = launch.arg(states).arg(slots).arg(there_are).arg(sizes).arg(delta.scale).arg(out);
        // SAFETY: all buffers have been compared with the shape, and only states that exist are read and
        // written.
        unsafe { launch.enqueue()? };
        Ok(())
    }
}
