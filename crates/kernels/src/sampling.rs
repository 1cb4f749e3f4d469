//! Drawing tokens from logits.

use hip::{DeviceCopy, DeviceSlice, DeviceSliceMut, Stream};

use crate::error::{Error, Result, check_length, check_u32};
use crate::launch::launch_1d;
use crate::library::{Kernels, names};
use crate::reduce::rows;
use crate::topk::row_block;
use crate::{Float, modules};

/// How the logits of tokens that have occurred change.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Penalties {
    /// A logit above zero is divided by it, any other is multiplied by it; 1 changes nothing.
    pub repetition: f32,
    /// Subtracted once for each occurrence of the token.
    pub frequency: f32,
    /// Subtracted once.
    pub presence: f32,
}

impl Default for Penalties {
    /// None.
    fn default() -> Self {
        Self { repetition: 1.0, frequency: 0.0, presence: 0.0 }
    }
}

/// How a token is drawn: each rule keeps some of the tokens that the previous one kept.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Sampling {
    /// Logits are divided by it. At zero or below, the first of the largest logits is chosen, whatever the
    /// other rules are.
    pub temperature: f32,
    /// Keeps the most probable tokens that together reach this probability; 1 keeps all.
    pub top_p: f32,
    /// Keeps tokens with at least this fraction of the largest probability; 0 keeps all.
    pub min_p: f32,
    /// Keeps this many of the most probable tokens, before the other rules; 0 keeps all.
    pub top_k: u32,
}

impl Default for Sampling {
    /// Draws by the unchanged probabilities.
    fn default() -> Self {
        Self { temperature: 1.0, top_p: 1.0, min_p: 0.0, top_k: 0 }
    }
}

impl Sampling {
    /// The first of the largest logits.
    pub const GREEDY: Self = Self { temperature: 0.0, top_p: 1.0, min_p: 0.0, top_k: 0 };
}

impl Kernels {
    /// Counts tokens: for each token of row r of `tokens`, adds 1 to column `token` of row r of `counts`,
    /// whose rows have `columns` elements. Tokens without a column are not counted.
    ///
    /// # Errors
    /// [`Error::Size`] if `columns` is zero or does not divide `counts`, or the number of tokens is not a
    /// multiple of the rows; [`Error::Hip`].
    pub fn count_tokens<'a>(
        &'a self,
        stream: &'a Stream,
        tokens: impl Into<DeviceSlice<'a, u32>>,
        columns: usize,
        counts: impl Into<DeviceSliceMut<'a, u32>>,
    ) -> Result<()> {
        let (tokens, counts) = (tokens.into(), counts.into());
        let operation = "count_tokens";
        let rows = rows(operation, counts.len(), columns)? as usize;
        if tokens.is_empty() {
            return Ok(());
        }
        if rows == 0 || !tokens.len().is_multiple_of(rows) {
            let problem = "must be a multiple of the rows of the counts";
            return Err(Error::Size { operation, parameter: "tokens", got: tokens.len(), problem });
        }
        let length = tokens.len() / rows;
        let launch = launch_1d(self.function(&modules::SAMPLING, "count_tokens")?, stream, tokens.len());
        let launch = launch.arg(tokens).arg(rows).arg(length).arg(columns).arg(counts);
        // SAFETY: the kernel reads rows*length tokens, and counts those below columns in rows*columns
        // elements.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// Changes the logits of tokens that have occurred; each row of `columns` elements has its own penalties.
    ///
    /// # Errors
    /// [`Error::Size`] if `columns` is zero or does not divide `logits`, [`Error::Length`] unless `counts`
    /// has as many elements as `logits`, and `penalties` one for each row; [`Error::Hip`].
    pub fn penalize<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        counts: impl Into<DeviceSlice<'a, u32>>,
        penalties: impl Into<DeviceSlice<'a, Penalties>>,
        columns: usize,
        logits: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (counts, penalties, logits) = (counts.into(), penalties.into(), logits.into());
        let operation = "penalize";
        let rows = rows(operation, logits.len(), columns)? as usize;
        check_length(operation, "counts", counts.len(), logits.len())?;
        check_length(operation, "penalties", penalties.len(), rows)?;
        if rows == 0 {
            return Ok(());
        }
        let function = self.of::<T>(&modules::SAMPLING, &names!("penalize"))?;
        let launch = launch_1d(function, stream, logits.len());
        let launch = launch.arg(logits).arg(counts).arg(rows).arg(columns).arg(penalties);
        // SAFETY: logits and counts have rows*columns elements, penalties has rows.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// Draws a token for each row of `columns` logits: the first whose probability, added to those of all
    /// before it, exceeds the row's number in `uniforms`, which lies in [0, 1). Equal arguments give equal
    /// tokens, on any device whose `expf` is the same.
    ///
    /// Of equal logits, the first are the more probable ones. A row with a NaN or +∞, or without a number
    /// above -∞, gives [`u32::MAX`]. Tokens of less than 2⁻⁴⁰ times the largest probability are not drawn.
    ///
    /// # Errors
    /// [`Error::Size`] if `columns` is zero or does not divide `logits`, [`Error::Length`] unless `settings`,
    /// `uniforms` and `tokens` have an element for each row; [`Error::Hip`].
    pub fn sample<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        logits: impl Into<DeviceSlice<'a, T>>,
        columns: usize,
        settings: impl Into<DeviceSlice<'a, Sampling>>,
        uniforms: impl Into<DeviceSlice<'a, f32>>,
        tokens: impl Into<DeviceSliceMut<'a, u32>>,
    ) -> Result<()> {
        let (logits, settings, uniforms, tokens) =
            (logits.into(), settings.into(), uniforms.into(), tokens.into());
        let operation = "sample";
        let rows = rows(operation, logits.len(), columns)?;
        check_u32(operation, "columns", columns)?;
        check_length(operation, "settings", settings.len(), rows as usize)?;
        check_length(operation, "uniforms", uniforms.len(), rows as usize)?;
        check_length(operation, "tokens", tokens.len(), rows as usize)?;
        if rows == 0 {
            return Ok(());
        }
        let function = self.of::<T>(&modules::SAMPLING, &names!("sample"))?;
        let launch = function.launch(stream).grid(rows).block(row_block(columns));
        let launch = launch.arg(logits).arg(columns).arg(settings).arg(uniforms).arg(tokens);
        // SAFETY: workgroup r reads row r of the logits and element r of the others, and writes tokens[r].
        unsafe { launch.enqueue()? };
        Ok(())
    }
}
