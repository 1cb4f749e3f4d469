//! Tokens in the order of experts, and back.

use hip::{DeviceSlice, DeviceSliceMut, Stream};

use crate::elementwise::info::check_devices;
use crate::elementwise::run;
use crate::error::{Error, Result, check_length, check_u32};
use crate::library::{Kernels, names};
use crate::{Float, modules};

/// The number of rows of `width` elements, and of pairs for each.
fn choices(operation: &'static str, elements: usize, width: usize, pairs: usize) -> Result<(usize, u32)> {
    let wrong = |parameter, got, problem| Err(Error::Size { operation, parameter, got, problem });
    if width == 0 || !elements.is_multiple_of(width) {
        return wrong("width", width, "must be at least 1 and divide the elements of all tokens");
    }
    // 2³² - 1 means no pair.
    check_u32(operation, "pairs", pairs.saturating_add(1))?;
    let tokens = elements / width;
    if tokens == 0 && pairs == 0 {
        return Ok((0, 1));
    }
    if tokens == 0 || pairs == 0 || !pairs.is_multiple_of(tokens) {
        return wrong("pairs", pairs, "must be a multiple of the number of tokens, at least one each");
    }
    Ok((tokens, (pairs / tokens) as u32))
}

impl Kernels {
    /// The rows of tokens in the order of experts: row i of `out` is the row of the token of pair
    /// `permutation[i]`, as [`moe_sort`](Self::moe_sort) orders them, or zeros if that is not a pair. `x` has
    /// a row of `width` elements for each token, `out` one for each pair. A token's pairs follow each other,
    /// and each token has equally many.
    ///
    /// # Errors
    /// [`Error::Size`] if `width` is zero or does not divide `x`, the tokens do not divide the pairs, or
    /// there are more than 2³² - 2 of these; [`Error::Length`] unless `out` has a row for each pair;
    /// [`Error::Hip`].
    pub fn moe_gather<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<DeviceSlice<'a, T>>,
        width: usize,
        permutation: impl Into<DeviceSlice<'a, u32>>,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (x, permutation, out) = (x.into(), permutation.into(), out.into());
        let operation = "moe_gather";
        let pairs = permutation.len();
        let (tokens, k) = choices(operation, x.len(), width, pairs)?;
        check_length(operation, "out", out.len(), pairs.saturating_mul(width))?;
        let memory = [("x", x.device()), ("permutation", permutation.device()), ("out", out.device())];
        check_devices(operation, self.device(), stream, &memory)?;
        let row_bytes = width * size_of::<T>();
        let launch = self.function(&modules::MOE, "moe_gather")?.launch(stream);
        let launch = launch.arg(x.as_bytes()).arg(permutation).arg(out.cast_mut::<u8>()?);
        let launch = launch.arg(pairs).arg(k).arg(row_bytes).arg(tokens);
        // A work-item copies at most 16 bytes.
        // SAFETY: the kernel reads a permutation of this many pairs and rows of x below `tokens`, and
        // writes a row for each pair; the size of an element is a multiple of two bytes.
        unsafe { run(pairs * row_bytes.div_ceil(16), launch) }
    }

    /// Adds up the experts' results of each token: row t of `out` is the sum of `weights[p]` times the row of
    /// pair p, over the pairs of token t in the order of its choices, in f32, and rounded once. The row of
    /// pair p in `y` is `places[p]`, the inverse permutation of
    /// [`moe_sort_with_inverse`](Self::moe_sort_with_inverse), or, without `places`, p itself, as in
    /// [`quant_experts`](Self::quant_experts). A pair without a place adds nothing, whatever its weight.
    ///
    /// # Errors
    /// [`Error::Size`] if `width` is zero or does not divide `out`, the tokens do not divide the pairs, or
    /// there are more than 2³² - 2 of these; [`Error::Length`] unless `y` has a row, and `places` an element,
    /// for each weight; [`Error::Hip`].
    #[doc(alias = "scatter_add")]
    pub fn moe_combine<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        y: impl Into<DeviceSlice<'a, T>>,
        width: usize,
        weights: impl Into<DeviceSlice<'a, f32>>,
        places: Option<DeviceSlice<'a, u32>>,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (y, weights, out) = (y.into(), weights.into(), out.into());
        let operation = "moe_combine";
        let pairs = weights.len();
        let (tokens, k) = choices(operation, out.len(), width, pairs)?;
        check_length(operation, "y", y.len(), pairs.saturating_mul(width))?;
        let memory = [("y", y.device()), ("weights", weights.device()), ("out", out.device())];
        check_devices(operation, self.device(), stream, &memory)?;
        if let Some(places) = &places {
            check_length(operation, "places", places.len(), pairs)?;
            check_devices(operation, self.device(), stream, &[("places", places.device())])?;
        }
        let launch = self.of::<T>(&modules::MOE, &names!("moe_combine"))?.launch(stream);
        let launch = launch.arg(y).arg(weights).arg(places).arg(out).arg(tokens).arg(k).arg(width).arg(pairs);
        // A work-item adds at most 16 bytes. SAFETY: the kernel reads a weight and a place for each pair, and
        // rows of y below `pairs`; it writes a row for each token.
        unsafe { run((tokens * width).div_ceil(16 / size_of::<T>()), launch) }
    }
}
