//! Appending keys or values to a cache: contiguous or paged, in their own type or quantised.

use hip::{DeviceCopy, DeviceSlice, DeviceSliceMut, Launch, Stream};

use crate::error::{Error, Result, check_length};
use crate::launch::MAX_GRID;
use crate::library::Kernels;
use crate::rope::Heads;
use crate::{F8E4M3, Float, Layout, LayoutError, modules};

/// Work-items of a workgroup: one warp for each head.
const BLOCK: u32 = 128;
const WARPS: usize = 4;

/// Where the heads of a cache are. A token's place is its slot: its page times the positions of a page, plus
/// its position in the page. In a contiguous cache, each sequence has one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheLayout {
    /// Pages.
    pub pages: usize,
    /// Positions of a page.
    pub page: usize,
    /// Heads of a position.
    pub heads: usize,
    /// Elements of a head, contiguous.
    pub size: usize,
    /// From a page to the next, in elements.
    pub page_stride: usize,
    /// From a position to the next.
    pub position_stride: usize,
    /// From a head to the next.
    pub head_stride: usize,
}

impl CacheLayout {
    /// Pages × positions × heads × size, without gaps.
    #[must_use]
    pub fn positions_first(pages: usize, page: usize, heads: usize, size: usize) -> Self {
        let position_stride = heads.saturating_mul(size);
        let page_stride = page.saturating_mul(position_stride);
        Self { pages, page, heads, size, page_stride, position_stride, head_stride: size }
    }

    /// Pages × heads × positions × size, without gaps.
    #[must_use]
    pub fn heads_first(pages: usize, heads: usize, page: usize, size: usize) -> Self {
        let head_stride = page.saturating_mul(size);
        let page_stride = heads.saturating_mul(head_stride);
        Self { pages, page, heads, size, page_stride, position_stride: size, head_stride }
    }

    /// The number of tokens that fit.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.pages.saturating_mul(self.page)
    }

    pub(crate) fn check(&self, operation: &'static str, len: usize) -> Result<()> {
        let shape = [self.pages, self.page, self.heads, self.size];
        let layout =
            Layout::with_strides(&shape, &[self.page_stride, self.position_stride, self.head_stride, 1], 0)?;
        if layout.end() > len {
            return Err(Error::Length { operation, buffer: "cache", expected: layout.end(), got: len });
        }
        if !layout.is_injective() {
            return Err(LayoutError::Overlap { shape: shape.into(), strides: layout.strides().into() }.into());
        }
        Ok(())
    }
}

/// What numbers are multiplied with before they become 8-bit floats.
pub(crate) fn inverse_of(operation: &'static str, scale: f32) -> Result<f32> {
    let inverse = scale.recip();
    if inverse > 0.0 && inverse.is_finite() {
        return Ok(inverse);
    }
    let problem = "must be positive, with a finite reciprocal other than 0";
    Err(Error::Value { operation, parameter: "scale", got: scale.into(), problem })
}

impl Kernels {
    /// Copies the heads of each token to its slot. A token whose slot is negative or beyond the cache is
    /// dropped. Of two tokens with the same slot, either may be kept.
    ///
    /// # Errors
    /// [`Error::Length`] if `x` or `cache` is shorter than its layout says, [`Error::Size`] if heads or their
    /// sizes differ, [`Error::Layout`] if places of the cache overlap; [`Error::Hip`].
    pub fn kv_append<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<DeviceSlice<'a, T>>,
        heads: &Heads,
        slots: impl Into<DeviceSlice<'a, i64>>,
        cache: impl Into<DeviceSliceMut<'a, T>>,
        layout: &CacheLayout,
    ) -> Result<()> {
        let names = ["kv_append_f32", "kv_append_f16", "kv_append_bf16"];
        let launch =
            self.append("kv_append", &names, stream, x.into(), heads, slots.into(), cache.into(), layout)?;
        // SAFETY: `append` has checked all that the kernel accesses.
        launch.map_or(Ok(()), |launch| unsafe { launch.enqueue() })?;
        Ok(())
    }

    /// The same to a cache of 8-bit floats: each element times the reciprocal of `scale`, rounded to nearest,
    /// ties to even. Results larger than 448 become 448.
    /// [`AttentionInputs::with_f8_cache`](crate::AttentionInputs::with_f8_cache) reads such a cache, with
    /// `scale` among its scales.
    ///
    /// # Errors
    /// As [`kv_append`](Self::kv_append), and [`Error::Value`] if `scale` is not positive, or its reciprocal
    /// is not finite or is 0.
    #[expect(clippy::too_many_arguments, reason = "two tensors with their layouts")]
    pub fn kv_append_f8<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<DeviceSlice<'a, T>>,
        heads: &Heads,
        slots: impl Into<DeviceSlice<'a, i64>>,
        scale: f32,
        cache: impl Into<DeviceSliceMut<'a, F8E4M3>>,
        layout: &CacheLayout,
    ) -> Result<()> {
        let operation = "kv_append_f8";
        let inverse = inverse_of(operation, scale)?;
        let names = ["kv_append_f32_f8", "kv_append_f16_f8", "kv_append_bf16_f8"];
        let launch =
            self.append(operation, &names, stream, x.into(), heads, slots.into(), cache.into(), layout)?;
        // SAFETY: as above.
        launch.map_or(Ok(()), |launch| unsafe { launch.arg(inverse).enqueue() })?;
        Ok(())
    }

    /// The same to a cache of 8-bit integers. Each head of a token has its own scale: its largest element by
    /// magnitude over 127, stored as element slot × heads + head of `scales`. Elements are divided by it and
    /// rounded to nearest, ties to even.
    ///
    /// # Errors
    /// As [`kv_append`](Self::kv_append), and [`Error::Length`] if `scales` does not have an element for each
    /// head of each slot.
    #[expect(clippy::too_many_arguments, reason = "two tensors with their layouts")]
    pub fn kv_append_i8<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<DeviceSlice<'a, T>>,
        heads: &Heads,
        slots: impl Into<DeviceSlice<'a, i64>>,
        cache: impl Into<DeviceSliceMut<'a, i8>>,
        scales: impl Into<DeviceSliceMut<'a, f32>>,
        layout: &CacheLayout,
    ) -> Result<()> {
        let (operation, scales) = ("kv_append_i8", scales.into());
        check_length(operation, "scales", scales.len(), layout.slots().saturating_mul(layout.heads))?;
        let names = ["kv_append_f32_i8", "kv_append_f16_i8", "kv_append_bf16_i8"];
        let launch =
            self.append(operation, &names, stream, x.into(), heads, slots.into(), cache.into(), layout)?;
        // SAFETY: as above; scales are written at slot*heads + head.
        launch.map_or(Ok(()), |launch| unsafe { launch.arg(scales).enqueue() })?;
        Ok(())
    }

    /// The common part of the three; does nothing if there is nothing to copy.
    #[expect(clippy::too_many_arguments, reason = "the kernel's")]
    fn append<'a, T: Float<Compute = f32>, C: DeviceCopy>(
        &'a self,
        operation: &'static str,
        // By `Element::INDEX`, for the three floats that compute in f32.
        names: &[&'static str; 3],
        stream: &'a Stream,
        x: DeviceSlice<'a, T>,
        heads: &Heads,
        slots: DeviceSlice<'a, i64>,
        cache: DeviceSliceMut<'a, C>,
        layout: &CacheLayout,
    ) -> Result<Option<Launch<'a>>> {
        for (parameter, got, expected) in
            [("heads", heads.heads, layout.heads), ("size of heads", heads.size, layout.size)]
        {
            if got != expected {
                return Err(Error::Size { operation, parameter, got, problem: "must be that of the cache" });
            }
        }
        let tokens = slots.len();
        heads.check(operation, "x", x.len(), tokens, false)?;
        layout.check(operation, cache.len())?;
        if tokens == 0 || heads.heads == 0 || heads.size == 0 || layout.slots() == 0 {
            return Ok(None);
        }
        let grid = (tokens * heads.heads).div_ceil(WARPS).min(MAX_GRID as usize) as u32;
        let launch =
            self.function(&modules::KV_CACHE, names[T::INDEX])?.launch(stream).grid(grid).block(BLOCK);
        let launch = launch.arg(x).arg(slots).arg(cache).arg(tokens).arg(heads.heads).arg(heads.size);
        let launch = launch.arg(heads.token_stride).arg(heads.head_stride).arg(layout.page).arg(layout.pages);
        Ok(Some(launch.arg(layout.page_stride).arg(layout.position_stride).arg(layout.head_stride)))
    }
}
