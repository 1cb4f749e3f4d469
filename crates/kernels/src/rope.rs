//! Rotary embeddings, and how models stretch them for long contexts.

use std::f64::consts::{PI, TAU};

use hip::{DeviceBuffer, DeviceSlice, DeviceSliceMut, Stream};

use crate::embedding::TokenId;
use crate::error::{Error, Result, check_length};
use crate::launch::launch_1d;
use crate::library::{Kernels, names};
use crate::{Float, modules};

/// Which elements of a head are rotated together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RopeStyle {
    /// Element `i` with element `i + rotary / 2`, as GPT-NeoX and Llama's weights in most formats have it.
    HalfSplit,
    /// Element `2i` with element `2i + 1`, as GPT-J and Llama's original weights have it.
    Interleaved,
}

/// How frequencies change for contexts longer than those used in training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RopeScaling {
    /// Not at all.
    None,
    /// All are divided by a factor: position interpolation.
    Linear {
        /// The factor.
        factor: f64,
    },
    /// The base becomes `base · factor^(n / (n - 2))` for n rotated elements: the highest frequency stays,
    /// the lowest is divided by the factor.
    Ntk {
        /// The factor.
        factor: f64,
    },
    /// YaRN: frequencies with many turns in the training context stay, those with few are divided by the
    /// factor, with a ramp over the pairs in between. Cosines and sines are multiplied by `attention_factor`.
    Yarn {
        /// The factor.
        factor: f64,
        /// Positions of the training's context.
        original_context: f64,
        /// Turns from which on a frequency stays; 32 in the paper.
        beta_fast: f64,
        /// Turns up to which a frequency is divided; 1 in the paper.
        beta_slow: f64,
        /// `None` means `0.1 · ln(factor) + 1`, and 1 for factors up to 1.
        attention_factor: Option<f64>,
        /// Whether the ramp's ends are whole pairs, as usual.
        truncate: bool,
    },
    /// Llama 3.1's: wavelengths up to `original_context / high_frequency_factor` stay, those from
    /// `original_context / low_frequency_factor` are divided by the factor, and frequencies in between are
    /// interpolated.
    Llama3 {
        /// The factor.
        factor: f64,
        /// Positions of the training's context.
        original_context: f64,
        /// Usually 1.
        low_frequency_factor: f64,
        /// Usually 4.
        high_frequency_factor: f64,
    },
}

/// A rotary embedding.
///
/// ```
/// use kernels::{Rope, RopeScaling};
///
/// let rope = Rope { scaling: RopeScaling::Linear { factor: 4.0 }, ..Rope::new(64) };
/// let frequencies = rope.frequencies().unwrap();
/// assert_eq!((frequencies.len(), frequencies[0]), (32, 0.25));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rope {
    /// The number of elements rotated, at the beginning of each head: an even number.
    pub rotary: usize,
    /// The base of frequencies: pair `i` turns by `base^(-2i / rotary)` radians from one position to the
    /// next.
    pub base: f64,
    /// How frequencies change.
    pub scaling: RopeScaling,
}

impl Rope {
    /// A base of 10,000, without scaling.
    #[must_use]
    pub fn new(rotary: usize) -> Self {
        Self { rotary, base: 10_000.0, scaling: RopeScaling::None }
    }

    /// For each pair, the radians from one position to the next.
    ///
    /// # Errors
    /// [`Error::Size`] if `rotary` is odd.
    pub fn frequencies(&self) -> Result<Vec<f64>> {
        let rotary = self.rotary;
        if !rotary.is_multiple_of(2) {
            let problem = "must be an even number";
            return Err(Error::Size { operation: "rope", parameter: "rotary", got: rotary, problem });
        }
        let n = rotary as f64;
        let plain = |base: f64, i: usize| base.powf(-2.0 * i as f64 / n);
        let frequency = |i: usize| match self.scaling {
            RopeScaling::None => plain(self.base, i),
            RopeScaling::Linear { factor } => plain(self.base, i) / factor,
            RopeScaling::Ntk { factor } if rotary > 2 => plain(self.base * factor.powf(n / (n - 2.0)), i),
            // the only frequency is the highest
            RopeScaling::Ntk { .. } => plain(self.base, i),
            RopeScaling::Yarn { factor, original_context, beta_fast, beta_slow, truncate, .. } => {
                // the pair, possibly a fraction, whose frequency makes this many turns in the context
                let pair = |turns: f64| n * (original_context / (turns * TAU)).ln() / (2.0 * self.base.ln());
                let (first, last) = (pair(beta_fast), pair(beta_slow));
                let (first, last) = if truncate { (first.floor(), last.ceil()) } else { (first, last) };
                let (first, last) = (first.max(0.0), last.min(n - 1.0));
                let ramp = ((i as f64 - first) / (last - first).max(0.001)).clamp(0.0, 1.0);
                let plain = plain(self.base, i);
                plain / factor * ramp + plain * (1.0 - ramp)
            }
            RopeScaling::Llama3 { factor, original_context, low_frequency_factor, high_frequency_factor } => {
                let plain = plain(self.base, i);
                let turns = original_context * plain / (2.0 * PI);
                let stays = (turns - low_frequency_factor) / (high_frequency_factor - low_frequency_factor);
                let stays = stays.clamp(0.0, 1.0);
                plain / factor * (1.0 - stays) + plain * stays
            }
        };
        Ok((0..rotary / 2).map(frequency).collect())
    }

    /// The factor of cosines and sines.
    #[must_use]
    pub fn attention_factor(&self) -> f64 {
        match self.scaling {
            RopeScaling::Yarn { attention_factor: Some(given), .. } => given,
            RopeScaling::Yarn { factor, .. } if factor > 1.0 => 0.1 * factor.ln() + 1.0,
            _ => 1.0,
        }
    }
}

/// A [`Rope`]'s frequencies on a device.
#[derive(Debug)]
pub struct RopeFrequencies {
    frequencies: DeviceBuffer<f64>,
    scale: f32,
}

impl RopeFrequencies {
    /// Cosines, and as many sines, for each position.
    #[must_use]
    pub fn half(&self) -> usize {
        self.frequencies.len()
    }
}

/// Where heads are: their size, the number for each token, and distances in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    /// Heads of a token.
    pub heads: usize,
    /// Elements of a head, contiguous.
    pub size: usize,
    /// From a token to the next.
    pub token_stride: usize,
    /// From a head to the next.
    pub head_stride: usize,
}

impl Heads {
    /// Tokens × heads × size, without gaps.
    #[must_use]
    pub fn contiguous(heads: usize, size: usize) -> Self {
        Self { heads, size, token_stride: heads.saturating_mul(size), head_stride: size }
    }

    /// One past the last element of this many tokens; `None` on overflow.
    pub(crate) fn end(&self, tokens: usize) -> Option<usize> {
        if tokens == 0 || self.heads == 0 || self.size == 0 {
            return Some(0);
        }
        let tokens = (tokens - 1).checked_mul(self.token_stride)?;
        (self.heads - 1).checked_mul(self.head_stride)?.checked_add(tokens)?.checked_add(self.size)
    }

    /// Refuses a buffer too short for the heads of this many tokens, and heads that overlap.
    pub(crate) fn check(
        &self,
        operation: &'static str,
        buffer: &'static str,
        len: usize,
        tokens: usize,
        written: bool,
    ) -> Result<()> {
        let end = self.end(tokens).unwrap_or(usize::MAX);
        if end > len {
            return Err(Error::Length { operation, buffer, expected: end, got: len });
        }
        let shape = [tokens, self.heads, self.size];
        let layout = crate::Layout::with_strides(&shape, &[self.token_stride, self.head_stride, 1], 0)?;
        if written && !layout.is_injective() {
            let strides = layout.strides().into();
            return Err(crate::LayoutError::Overlap { shape: shape.into(), strides }.into());
        }
        Ok(())
    }
}

impl Kernels {
    /// Computes a rotary embedding's frequencies and copies them to the device.
    ///
    /// # Errors
    /// As [`Rope::frequencies`]; [`Error::Hip`].
    pub fn rope_frequencies(&self, stream: &Stream, rope: &Rope) -> Result<RopeFrequencies> {
        self.given_rope_frequencies(stream, &rope.frequencies()?, rope.attention_factor() as f32)
    }

    /// Copies frequencies to the device, for models that give them themselves: for each pair of rotated
    /// elements, the radians from one position to the next. Cosines and sines are multiplied by `scale`.
    ///
    /// # Errors
    /// [`Error::Hip`].
    pub fn given_rope_frequencies(
        &self,
        stream: &Stream,
        frequencies: &[f64],
        scale: f32,
    ) -> Result<RopeFrequencies> {
        Ok(RopeFrequencies { frequencies: DeviceBuffer::from_slice(stream, frequencies)?, scale })
    }

    /// Cosines and sines for each position: `positions.len()` rows of [`RopeFrequencies::half`] elements.
    /// Angles are computed in f64.
    ///
    /// # Errors
    /// [`Error::Length`] if `cos` or `sin` has another length; [`Error::Hip`].
    pub fn rope_table<'a, I: TokenId>(
        &'a self,
        stream: &'a Stream,
        frequencies: &'a RopeFrequencies,
        positions: impl Into<DeviceSlice<'a, I>>,
        cos: impl Into<DeviceSliceMut<'a, f32>>,
        sin: impl Into<DeviceSliceMut<'a, f32>>,
    ) -> Result<()> {
        let (positions, cos, sin) = (positions.into(), cos.into(), sin.into());
        let (tokens, half) = (positions.len(), frequencies.half());
        let elements = tokens.saturating_mul(half);
        check_length("rope_table", "cos", cos.len(), elements)?;
        check_length("rope_table", "sin", sin.len(), elements)?;
        if elements == 0 {
            return Ok(());
        }
        let name = ["rope_table_u32", "rope_table_i64"][I::SUFFIX];
        let launch = launch_1d(self.function(&modules::ROPE, name)?, stream, elements);
        let launch = launch
            .arg(positions)
            .arg(&frequencies.frequencies)
            .arg(tokens)
            .arg(half)
            .arg(frequencies.scale)
            .arg(cos)
            .arg(sin);
        // SAFETY: the kernel reads `tokens` positions and `half` frequencies, and writes tokens*half elements
        // of both results.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// Rotates the heads of each token by its row of [`rope_table`](Self::rope_table): `y` receives `x`, with
    /// the first `2 · cos.len() / tokens` elements of each head rotated.
    ///
    /// # Errors
    /// [`Error::Length`] if `sin` is not as long as `cos` or a buffer is too short for the heads of this many
    /// tokens, [`Error::Size`] if `tokens` does not divide the tables or a head has less than the number of
    /// rotated elements, [`Error::Layout`] if heads of `y` overlap; [`Error::Hip`].
    #[expect(clippy::too_many_arguments, reason = "two tensors with their layouts")]
    pub fn rope<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        style: RopeStyle,
        tokens: usize,
        (cos, sin): (impl Into<DeviceSlice<'a, f32>>, impl Into<DeviceSlice<'a, f32>>),
        x: impl Into<DeviceSlice<'a, T>>,
        x_heads: &Heads,
        y: impl Into<DeviceSliceMut<'a, T>>,
        y_heads: &Heads,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let operation = "rope";
        x_heads.check(operation, "x", x.len(), tokens, false)?;
        for (parameter, got, expected) in
            [("heads of y", y_heads.heads, x_heads.heads), ("size of y's heads", y_heads.size, x_heads.size)]
        {
            if got != expected {
                return Err(Error::Size { operation, parameter, got, problem: "must be that of x" });
            }
        }
        let x = Some(x);
        self.rotate(operation, stream, style, tokens, (cos.into(), sin.into()), x, x_heads, y, y_heads)
    }

    /// [`rope`](Self::rope) in place.
    ///
    /// # Errors
    /// As [`rope`](Self::rope).
    pub fn rope_in_place<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        style: RopeStyle,
        tokens: usize,
        (cos, sin): (impl Into<DeviceSlice<'a, f32>>, impl Into<DeviceSlice<'a, f32>>),
        x: impl Into<DeviceSliceMut<'a, T>>,
        heads: &Heads,
    ) -> Result<()> {
        let operation = "rope_in_place";
        self.rotate(operation, stream, style, tokens, (cos.into(), sin.into()), None, heads, x.into(), heads)
    }

    /// In place if there is no `x`.
    #[expect(clippy::too_many_arguments, reason = "the kernel's")]
    fn rotate<'a, T: Float<Compute = f32>>(
        &'a self,
        operation: &'static str,
        stream: &'a Stream,
        style: RopeStyle,
        tokens: usize,
        (cos, sin): (DeviceSlice<'a, f32>, DeviceSlice<'a, f32>),
        x: Option<DeviceSlice<'a, T>>,
        from: &Heads,
        y: DeviceSliceMut<'a, T>,
        to: &Heads,
    ) -> Result<()> {
        check_length(operation, "sin", sin.len(), cos.len())?;
        to.check(operation, "y", y.len(), tokens, true)?;
        if tokens == 0 || to.heads == 0 || to.size == 0 {
            return Ok(());
        }
        if cos.len() % tokens != 0 {
            let problem = "must divide the number of cosines";
            return Err(Error::Size { operation, parameter: "tokens", got: tokens, problem });
        }
        let rotary = cos.len() / tokens * 2;
        if rotary > to.size {
            let problem = "fewer elements than are rotated";
            return Err(Error::Size { operation, parameter: "size of heads", got: to.size, problem });
        }
        let items = tokens * to.heads * (to.size - rotary / 2);
        let launch = launch_1d(self.of::<T>(&modules::ROPE, &names!("rope_rotate"))?, stream, items);
        let launch =
            launch.arg(x).arg(y).arg(cos).arg(sin).arg(tokens).arg(to.heads).arg(to.size).arg(rotary);
        let launch =
            launch.arg(from.token_stride).arg(from.head_stride).arg(to.token_stride).arg(to.head_stride);
        let launch = launch.arg(u32::from(style == RopeStyle::Interleaved));
        // SAFETY: both tensors have the heads, each work-item reads its elements before it writes them, and
        // no two elements of `y` overlap; the tables have tokens*rotary/2 elements.
        unsafe { launch.enqueue()? };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Meta's rule in its published form, by wavelengths, with Llama 3.1's configuration.
    #[test]
    fn llama3_keeps_high_frequencies_and_divides_low_ones() {
        let scaling = RopeScaling::Llama3 {
            factor: 8.0,
            original_context: 8192.0,
            low_frequency_factor: 1.0,
            high_frequency_factor: 4.0,
        };
        let rope = Rope { base: 500_000.0, scaling, ..Rope::new(128) };
        let (scaled, plain) =
            (rope.frequencies().unwrap(), Rope { scaling: RopeScaling::None, ..rope }.frequencies().unwrap());
        for (i, (scaled, plain)) in scaled.iter().zip(&plain).enumerate() {
            let wavelength = TAU / plain;
            if wavelength < 8192.0 / 4.0 {
                assert_eq!(scaled, plain, "{i}");
            } else if wavelength > 8192.0 {
                assert_eq!(*scaled, plain / 8.0, "{i}");
            } else {
                let smooth = (8192.0 / wavelength - 1.0) / 3.0;
                let expected = (1.0 - smooth) * plain / 8.0 + smooth * plain;
                assert!((scaled - expected).abs() <= 1e-15, "{i}");
            }
        }
    }

    #[test]
    fn ntk_keeps_the_highest_and_divides_the_lowest() {
        let rope = Rope { scaling: RopeScaling::Ntk { factor: 4.0 }, ..Rope::new(64) };
        let (scaled, plain) = (rope.frequencies().unwrap(), Rope::new(64).frequencies().unwrap());
        assert_eq!(scaled[0], plain[0]);
        assert!((scaled[31] - plain[31] / 4.0).abs() < 1e-15);
        assert!(scaled.iter().zip(&plain).all(|(scaled, plain)| scaled <= plain));
    }

    /// The ends of the ramp by the paper's formula for DeepSeek's configuration: 64 rotated elements, base
    /// 10,000, a context of 4096.
    #[test]
    fn yarn_ramps_between_the_two() {
        let scaling = RopeScaling::Yarn {
            factor: 40.0,
            original_context: 4096.0,
            beta_fast: 32.0,
            beta_slow: 1.0,
            attention_factor: None,
            truncate: true,
        };
        let rope = Rope { scaling, ..Rope::new(64) };
        let (scaled, plain) = (rope.frequencies().unwrap(), Rope::new(64).frequencies().unwrap());
        // 64 ln(4096 / 64π) / (2 ln 10000) = 10.47, and of one turn 22.5
        assert!(scaled[..=10].iter().zip(&plain).all(|(scaled, plain)| scaled == plain));
        assert!(
            scaled[23..]
                .iter()
                .zip(&plain[23..])
                .all(|(scaled, plain)| (scaled * 40.0 / plain - 1.0).abs() < 1e-12)
        );
        let ramp = (16.0 - 10.0) / (23.0 - 10.0);
        assert!((scaled[16] - plain[16] * (ramp / 40.0 + 1.0 - ramp)).abs() < 1e-15);
        assert!((rope.attention_factor() - (0.1 * 40.0_f64.ln() + 1.0)).abs() < 1e-15);
        let RopeScaling::Yarn { factor, original_context, beta_fast, beta_slow, attention_factor, .. } =
            scaling
        else {
            unreachable!()
        };
        let scaling = RopeScaling::Yarn {
            factor,
            original_context,
            beta_fast,
            beta_slow,
            attention_factor,
            truncate: false,
        };
        let exact = Rope { scaling, ..rope }.frequencies().unwrap();
        let pair = |turns: f64| 32.0 * (4096.0 / (turns * TAU)).ln() / 10_000_f64.ln();
        let ramp = (16.0 - pair(32.0)) / (pair(1.0) - pair(32.0));
        assert!((exact[16] - plain[16] * (ramp / 40.0 + 1.0 - ramp)).abs() < 1e-15);
    }

    #[test]
    fn an_odd_number_of_elements_is_refused() {
        assert!(matches!(
            Rope::new(7).frequencies().unwrap_err(),
            Error::Size { parameter: "rotary", got: 7, .. }
        ));
    }

    #[test]
    fn the_end_of_heads_is_counted() {
        let heads = Heads { heads: 2, size: 4, token_stride: 20, head_stride: 6 };
        assert_eq!((heads.end(3), heads.end(0)), (Some(50), Some(0)));
        assert_eq!(Heads { token_stride: usize::MAX, ..heads }.end(3), None);
        assert!(heads.check("f", "x", 50, 3, true).is_ok());
        assert!(matches!(
            heads.check("f", "x", 49, 3, true).unwrap_err(),
            Error::Length { expected: 50, got: 49, .. }
        ));
        let overlapping = Heads { head_stride: 3, ..heads };
        assert!(overlapping.check("f", "x", 50, 3, false).is_ok());
        assert!(matches!(overlapping.check("f", "x", 50, 3, true).unwrap_err(), Error::Layout(_)));
    }
}
