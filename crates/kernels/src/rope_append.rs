//! What is between the product that makes queries, keys and values, and attention, in one kernel.

use hip::{DeviceSlice, DeviceSliceMut, Launch, Stream};

use crate::error::{Error, Result, check_length};
use crate::kv_cache::inverse_of;
use crate::launch::MAX_GRID;
use crate::library::Kernels;
use crate::rope::{Heads, RopeStyle};
use crate::{CacheLayout, F8E4M3, Float, modules, nvidia};

const OPERATION: &str = "rope_append";
/// Work-items of a workgroup.
const BLOCK: u32 = 128;
/// Its warps, each of which has a head.
const WARPS: usize = 4;
/// Bytes of a pack.
const PACK: usize = 16;
/// Heads of a token that a lane with packs of them has at a time: the kernel's `AHEAD`.
const AHEAD: usize = 2;
/// Up to so many workgroups, a lane has packs of one head only: large GPUs have a multiprocessor for each.
const FEW: usize = 128;
/// The most workgroups that NVIDIA's GPUs take in a grid's second dimension.
const MAX_GRID_Y: usize = 65_535;

/// Norms of heads, rotation and append: where the heads are, and what is done to them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RopeAppend {
    /// Queries of each token.
    pub q: Heads,
    /// Keys of each token.
    pub k: Heads,
    /// Values of each token, as many as keys.
    pub v: Heads,
    /// Where keys are stored.
    pub keys: CacheLayout,
    /// Where values are stored.
    pub values: CacheLayout,
    /// Which elements are rotated together.
    pub style: RopeStyle,
    /// Of the norms: added to the mean of squares.
    pub eps: f32,
}

/// What [`Kernels::rope_append`] reads, and the queries.
#[derive(Debug)]
pub struct RopeAppendInputs<'a, T: Float<Compute = f32>> {
    /// Queries, which are changed in place.
    pub q: DeviceSliceMut<'a, T>,
    /// Keys.
    pub k: DeviceSlice<'a, T>,
    /// Values.
    pub v: DeviceSlice<'a, T>,
    /// Weights of norms of each head of queries and of keys, if there are norms.
    pub weights: Option<(DeviceSlice<'a, T>, DeviceSlice<'a, T>)>,
    /// Cosines and sines: a row of [`Kernels::rope_table`] for each token.
    pub tables: (DeviceSlice<'a, f32>, DeviceSlice<'a, f32>),
    /// Each token's slot, as for [`Kernels::kv_append`].
    pub slots: DeviceSlice<'a, i64>,
}

/// Caches of keys and of values.
#[derive(Debug)]
pub enum Caches<'a, T: Float<Compute = f32>> {
    /// In their own type.
    Same(DeviceSliceMut<'a, T>, DeviceSliceMut<'a, T>),
    /// As [`Kernels::kv_append_f8`] fills them, with this scale.
    F8(f32, DeviceSliceMut<'a, F8E4M3>, DeviceSliceMut<'a, F8E4M3>),
    /// As [`Kernels::kv_append_i8`] fills them: a cache and its scales each.
    I8([DeviceSliceMut<'a, i8>; 2], [DeviceSliceMut<'a, f32>; 2]),
}

#[repr(C)]
#[derive(Clone, Copy, hip::DeviceCopy)]
struct Strides {
    token: u64,
    head: u64,
}

impl Strides {
    fn of(heads: &Heads) -> Self {
        Self { token: heads.token_stride as u64, head: heads.head_stride as u64 }
    }
}

#[repr(C)]
#[derive(Clone, Copy, hip::DeviceCopy)]
struct Pages {
    size: u64,
    count: u64,
    stride: u64,
    position_stride: u64,
    head_stride: u64,
}

impl Pages {
    fn of(layout: &CacheLayout) -> Self {
        let [size, count, stride, position_stride, head_stride] =
            [layout.page, layout.pages, layout.page_stride, layout.position_stride, layout.head_stride]
                .map(|number| number as u64);
        Self { size, count, stride, position_stride, head_stride }
    }
}

/// The kernel's `RopeShape`.
#[repr(C)]
#[derive(Clone, Copy, hip::DeviceCopy)]
struct Shape {
    tokens: u64,
    size: u64,
    rotary: u64,
    heads: u64,
    kv_heads: u64,
    q: Strides,
    k: Strides,
    v: Strides,
    keys: Pages,
    values: Pages,
    eps: f32,
    interleaved: u32,
    lanes: u32,
    at_once: u32,
}

impl Shape {
    /// Lets lanes have whole packs of heads if these are multiples of two packs, and all else of one.
    fn in_packs(&mut self, element: usize, scaled: bool) {
        let pack = (PACK / element) as u64;
        let pages = |pages: &Pages| pages.stride | pages.position_stride | pages.head_stride;
        let strides = [self.q, self.k, self.v].iter().fold(0, |all, of| all | of.token | of.head);
        let all = strides | pages(&self.keys) | pages(&self.values) | (self.rotary / 2);
        let lanes = self.size / (2 * pack);
        // Lanes that look for a head's largest element are a part of a warp.
        let fits = if scaled { lanes.is_power_of_two() && lanes <= 32 } else { lanes <= u64::from(BLOCK) };
        let counted = self.heads.saturating_add(self.kv_heads) < 1 << 24;
        if all.is_multiple_of(pack) && self.size.is_multiple_of(2 * pack) && fits && counted {
            self.lanes = lanes as u32;
            self.at_once = BLOCK / self.lanes;
        }
    }
    fn grid(&self) -> (u32, u32) {
        let (tokens, heads) = (self.tokens as usize, (self.heads + 2 * self.kv_heads) as usize);
        if self.lanes == 0 {
            return ((tokens * heads).div_ceil(WARPS).min(MAX_GRID as usize) as u32, 1);
        }
        let rounds = heads.div_ceil(self.at_once as usize);
        let across = if rounds.saturating_mul(tokens) <= FEW { rounds } else { rounds.div_ceil(AHEAD) };
        (across as u32, tokens.min(MAX_GRID_Y) as u32)
    }
}

impl Kernels {
    /// Norms each head of queries and keys if there are weights, rotates both by their tokens' rows of the
    /// tables, and stores keys and values in their slots: what [`rms_norm`](Self::rms_norm),
    /// [`rope_in_place`](Self::rope_in_place) and [`kv_append`](Self::kv_append) do one after the other, each
    /// rounding to `T`. Keys stay as they are where they come from.
    ///
    /// # Errors
    /// As these.
    pub fn rope_append<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        by: &RopeAppend,
        inputs: RopeAppendInputs<'a, T>,
        caches: Caches<'a, T>,
    ) -> Result<()> {
        let lens = match &caches {
            Caches::Same(k, v) => [k.len(), v.len()],
            Caches::F8(_, k, v) => [k.len(), v.len()],
            Caches::I8([k, v], _) => [k.len(), v.len()],
        };
        let Some(mut shape) = by.check(&inputs, lens)? else { return Ok(()) };
        let kind = match &caches {
            Caches::Same(..) => 0,
            Caches::F8(..) => 1,
            Caches::I8(..) => 2,
        };
        const NAMES: [[&str; 3]; 3] = [
            ["rope_append_f32", "rope_append_f16", "rope_append_bf16"],
            ["rope_append_f32_f8", "rope_append_f16_f8", "rope_append_bf16_f8"],
            ["rope_append_f32_i8", "rope_append_f16_i8", "rope_append_bf16_i8"],
        ];
        if inputs.weights.is_none() && nvidia::is_nvidia(self.device()) {
            shape.in_packs(size_of::<T>(), matches!(caches, Caches::I8(..)));
        }
        let launch = self.function(&modules::KV_CACHE, NAMES[kind][T::INDEX])?.launch(stream);
        let (q_weight, k_weight) = inputs.weights.unzip();
        let launch =
            launch.grid(shape.grid()).block(BLOCK).arg(shape).arg(inputs.q).arg(inputs.k).arg(inputs.v);
        let launch = launch.arg(q_weight).arg(k_weight).arg(inputs.tables.0).arg(inputs.tables.1);
        let launch: Launch<'a> = launch.arg(inputs.slots);
        let launch = match caches {
            Caches::Same(k, v) => launch.arg(k).arg(v),
            Caches::F8(scale, k, v) => launch.arg(k).arg(v).arg(inverse_of(OPERATION, scale)?),
            Caches::I8([k, v], [k_scales, v_scales]) => {
                let scales = by.keys.slots().saturating_mul(by.keys.heads);
                check_length(OPERATION, "k_scales", k_scales.len(), scales)?;
                check_length(OPERATION, "v_scales", v_scales.len(), scales)?;
                launch.arg(k).arg(v).arg(k_scales).arg(v_scales)
            }
        };
        // SAFETY: queries, keys and values have the heads of `tokens` tokens, the tables have tokens*rotary/2
        // elements, and weights have `size`; slots beyond the caches are skipped, and those in them exist. A
        // warp reads both elements of a pair before it writes them, and all of a head before that if there is
        // a norm. A lane with packs has whole pairs, too.
        unsafe { launch.enqueue()? };
        Ok(())
    }
}

impl RopeAppend {
    /// Checks everything but 8-bit caches' scales; `None` if there is nothing to do.
    fn check<T: Float<Compute = f32>>(
        &self,
        inputs: &RopeAppendInputs<'_, T>,
        caches: [usize; 2],
    ) -> Result<Option<Shape>> {
        let wrong =
            |parameter, got, problem| Err(Error::Size { operation: OPERATION, parameter, got, problem });
        let tokens = inputs.slots.len();
        let size = self.q.size;
        for (parameter, got, expected) in [
            ("heads of v", self.v.heads, self.k.heads),
            ("heads of the cache of keys", self.keys.heads, self.k.heads),
            ("heads of the cache of values", self.values.heads, self.k.heads),
        ] {
            if got != expected {
                return wrong(parameter, got, "must be that of k");
            }
        }
        for (parameter, got) in [
            ("size of k's heads", self.k.size),
            ("size of v's heads", self.v.size),
            ("size of cached keys", self.keys.size),
            ("size of cached values", self.values.size),
        ] {
            if got != size {
                return wrong(parameter, got, "must be that of q");
            }
        }
        if self.values.slots() != self.keys.slots() {
            return wrong("slots of the cache of values", self.values.slots(), "must be those of keys");
        }
        self.q.check(OPERATION, "q", inputs.q.len(), tokens, true)?;
        self.k.check(OPERATION, "k", inputs.k.len(), tokens, false)?;
        self.v.check(OPERATION, "v", inputs.v.len(), tokens, false)?;
        self.keys.check(OPERATION, caches[0])?;
        self.values.check(OPERATION, caches[1])?;
        let (cos, sin) = &inputs.tables;
        check_length(OPERATION, "sin", sin.len(), cos.len())?;
        if let Some((q, k)) = &inputs.weights {
            check_length(OPERATION, "weight of q", q.len(), size)?;
            check_length(OPERATION, "weight of k", k.len(), size)?;
        }
        if tokens == 0 || size == 0 || self.q.heads + self.k.heads == 0 {
            return Ok(None);
        }
        if !cos.len().is_multiple_of(tokens) {
            return wrong("tokens", tokens, "must divide the number of cosines");
        }
        let rotary = cos.len() / tokens * 2;
        if rotary > size {
            return wrong("size of heads", size, "fewer elements than are rotated");
        }
        Ok(Some(Shape {
            tokens: tokens as u64,
            size: size as u64,
            rotary: rotary as u64,
            heads: self.q.heads as u64,
            kv_heads: self.k.heads as u64,
            q: Strides::of(&self.q),
            k: Strides::of(&self.k),
            v: Strides::of(&self.v),
            keys: Pages::of(&self.keys),
            values: Pages::of(&self.values),
            eps: self.eps,
            interleaved: u32::from(self.style == RopeStyle::Interleaved),
            lanes: 0,
            at_once: 0,
        }))
    }
}
