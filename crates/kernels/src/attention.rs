//! Fused attention.

use hip::{DeviceAddress, DeviceBuffer, DeviceSlice, DeviceSliceMut, Stream};

use crate::error::{Error, Result};
use crate::library::{Kernels, names};
use crate::nvidia::AttentionKernel;
use crate::{F8E4M3, Float, modules, nvidia};

const OPERATION: &str = "attention";
/// Work-items of a workgroup: `THREADS` of `kernels/attention_arguments.cuh`.
const THREADS: u32 = 256;
/// Rows of a workgroup: `ROWS` of `kernels/attention_arguments.cuh`.
const ROWS: usize = 128;
/// Dimensions that a workgroup computes: `DIM` of `kernels/attention_arguments.cuh`.
const DIM: usize = 128;
/// The maximum number of dimensions of a head.
const MOST_DIMS: usize = 256;
/// Splits and dimensions are multiples of these.
const KEYS: usize = 64;
const DIM_STEP: usize = 16;
/// Blocks of a paged cache hold a multiple of this many keys.
const BLOCK_STEP: usize = 16;
/// The maximum number of workgroups in the second dimension of a grid. Each goes on by the grid's size.
const MOST_BLOCKS: usize = 4096;
/// In the kernel, positions and sums of two positions are signed 32-bit numbers.
const MOST_POSITIONS: usize = 1 << 30;
/// Elements from one key to the next: a tile of keys is within 2³² bytes.
const MOST_ROW_STRIDE: usize = 1 << 22;

type Condition = fn(&Work) -> bool;
type Splits = fn(&Work) -> usize;

/// The number of parts that the keys are split into; each part has its own workgroups. The first row whose
/// condition holds applies.
const SPLITS: &[(Condition, Splits)] = &[
    // There are enough workgroups for all compute units, or too few keys to share.
    (|w| w.blocks >= w.compute_units || w.kv_len < 8 * KEYS, |_| 1),
    // Twice as many workgroups as compute units, each with some tiles of keys.
    (|_| true, |w| (2 * w.compute_units).div_ceil(w.blocks).min(w.kv_len / (4 * KEYS))),
];

/// What the number of splits depends on.
struct Work {
    /// Workgroups without splits.
    blocks: usize,
    kv_len: usize,
    compute_units: usize,
}

impl Work {
    /// The number of splits, and of keys in each.
    fn splits(&self) -> (usize, usize) {
        let row = SPLITS.iter().find(|(condition, _)| condition(self));
        // The last condition always holds.
        let wanted = row.map_or(1, |(_, splits)| splits(self)).max(1);
        let keys = self.kv_len.div_ceil(wanted).next_multiple_of(KEYS).max(KEYS);
        (self.kv_len.div_ceil(keys).max(1), keys)
    }
}

/// The distances, in elements, from one sequence, head and position of a tensor to the next. The dimensions
/// of a position are contiguous.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeadStrides {
    /// From a sequence to the next; in a paged cache, from a block to the next.
    pub batch: usize,
    /// From a head to the next.
    pub head: usize,
    /// From a position to the next.
    pub row: usize,
}

impl HeadStrides {
    /// A dense tensor of `[batch, heads, rows, dim]`.
    #[must_use]
    pub fn heads_first(heads: usize, rows: usize, dim: usize) -> Self {
        let head = rows.saturating_mul(dim);
        Self { batch: head.saturating_mul(heads), head, row: dim }
    }

    /// A dense tensor of `[batch, rows, heads, dim]`.
    #[must_use]
    pub fn rows_first(heads: usize, rows: usize, dim: usize) -> Self {
        let row = heads.saturating_mul(dim);
        Self { batch: row.saturating_mul(rows), head: dim, row }
    }

    /// The number of elements from the first to the last one of a tensor, inclusive.
    fn span(&self, batch: usize, heads: usize, rows: usize, dim: usize) -> usize {
        if batch == 0 || heads == 0 || rows == 0 {
            return 0;
        }
        let steps = [(batch, self.batch), (heads, self.head), (rows, self.row)];
        steps
            .iter()
            .fold(dim, |span, (count, stride)| span.saturating_add((count - 1).saturating_mul(*stride)))
    }

    /// Whether all elements are in different places.
    fn is_apart(&self, batch: usize, heads: usize, rows: usize, dim: usize) -> bool {
        let mut steps = [(self.batch, batch), (self.head, heads), (self.row, rows)];
        steps.sort_unstable();
        let mut span = dim;
        steps.iter().filter(|(_, count)| *count > 1).all(|(stride, count)| {
            let apart = *stride >= span;
            span = span.saturating_add((count - 1).saturating_mul(*stride));
            apart
        })
    }
}

/// `softmax(scale * Q Kᵀ + bias) V` for each head.
///
/// ```
/// use kernels::Attention;
///
/// // 32 heads that share 8 heads of keys and values, 128 dimensions each: the last 16 of 1000 positions
/// let attention = Attention::new(1, 32, 8, 16, 1000, 128).causal();
/// assert_eq!(attention.q_position, 984);
/// assert_eq!(attention.k.row, 128);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attention {
    /// Sequences.
    pub batch: usize,
    /// Heads of the queries.
    pub heads: usize,
    /// Heads of keys and values: a divisor of the heads of the queries. Neighbouring heads of the queries
    /// share one.
    pub kv_heads: usize,
    /// Queries of a sequence.
    pub q_len: usize,
    /// Keys of a sequence. If each sequence has its own length, the maximum length.
    pub kv_len: usize,
    /// Dimensions of a head: a multiple of 16, at most 256. For heads of more than 128, scores are computed
    /// twice.
    pub dim: usize,
    /// Factor of the scores; by default `dim` to the power of −½.
    pub scale: f32,
    /// A query does not see keys after its own position.
    pub causal: bool,
    /// The position of the first query among the keys, for `causal`, `window` and slopes. If each sequence
    /// has its own length, the queries are its last positions instead.
    pub q_position: isize,
    /// A query sees the key at its own position and those before it, this many in all. Without `causal`, it
    /// also sees those after it.
    pub window: Option<usize>,
    /// Scores are limited to this: `cap * tanh(score / cap)`.
    pub soft_cap: Option<f32>,
    /// Where queries are.
    pub q: HeadStrides,
    /// Where keys are.
    pub k: HeadStrides,
    /// Where values are.
    pub v: HeadStrides,
    /// Where results are written.
    pub out: HeadStrides,
    /// Where the scales of keys are, if any; zeros for a single scale.
    pub k_scales: HeadStrides,
    /// Where the scales of values are, if any; zeros for a single scale.
    pub v_scales: HeadStrides,
}

impl Attention {
    /// All tensors are dense `[batch, heads, positions, dim]`; every query sees every key. The queries are
    /// the last positions.
    #[must_use]
    pub fn new(batch: usize, heads: usize, kv_heads: usize, q_len: usize, kv_len: usize, dim: usize) -> Self {
        let queries = HeadStrides::heads_first(heads, q_len, dim);
        let keys = HeadStrides::heads_first(kv_heads, kv_len, dim);
        Self {
            batch,
            heads,
            kv_heads,
            q_len,
            kv_len,
            dim,
            scale: (dim as f32).sqrt().recip(),
            causal: false,
            q_position: (kv_len as isize).saturating_sub(q_len as isize),
            window: None,
            soft_cap: None,
            q: queries,
            k: keys,
            v: keys,
            out: queries,
            k_scales: HeadStrides::default(),
            v_scales: HeadStrides::default(),
        }
    }

    /// A query does not see keys after its own position.
    #[must_use]
    pub fn causal(self) -> Self {
        Self { causal: true, ..self }
    }

    /// A query sees the key at its own position and those before it, `keys` in all.
    #[must_use]
    pub fn window(self, keys: usize) -> Self {
        Self { window: Some(keys), ..self }
    }

    /// Scores are limited to `cap`.
    #[must_use]
    pub fn soft_cap(self, cap: f32) -> Self {
        Self { soft_cap: Some(cap), ..self }
    }

    /// Whether all strides of queries, keys, values and results are multiples of 8 elements.
    fn in_chunks(&self) -> bool {
        [self.q, self.k, self.v, self.out]
            .iter()
            .all(|strides| (strides.batch | strides.head | strides.row).is_multiple_of(8))
    }

    /// Checks sizes and options.
    fn check(&self) -> Result<()> {
        let size =
            |parameter, got, problem| Err(Error::Size { operation: OPERATION, parameter, got, problem });
        let value = |parameter, got: f64, problem| {
            Err(Error::Value { operation: OPERATION, parameter, got, problem })
        };
        if self.kv_heads == 0 || !self.heads.is_multiple_of(self.kv_heads) {
            return size("kv_heads", self.kv_heads, "must be at least 1 and divide `heads`");
        }
        if self.dim == 0 || !self.dim.is_multiple_of(DIM_STEP) || self.dim > MOST_DIMS {
            return size("dim", self.dim, "must be a multiple of 16, and at most 256");
        }
        let rows = (self.heads / self.kv_heads).saturating_mul(self.q_len);
        for (parameter, got) in
            [("q_len", rows), ("kv_len", self.kv_len), ("window", self.window.unwrap_or(1))]
        {
            if got > MOST_POSITIONS {
                return size(parameter, got, "more than 2^30 (queries: of all heads that share keys)");
            }
        }
        for (parameter, got) in [("batch", self.batch), ("heads", self.heads)] {
            if got > MOST_POSITIONS {
                return size(parameter, got, "more than 2^30");
            }
        }
        for (parameter, got) in [("k.row", self.k.row), ("v.row", self.v.row)] {
            if got > MOST_ROW_STRIDE {
                return size(parameter, got, "more than 4194304");
            }
        }
        if self.window == Some(0) {
            return size("window", 0, "must be at least 1");
        }
        if self.q_position.unsigned_abs() > MOST_POSITIONS {
            return value("q_position", self.q_position as f64, "beyond 2^30");
        }
        if self.soft_cap.is_some_and(|cap| !(cap > 0.0 && cap.is_finite())) {
            return value("soft_cap", self.soft_cap.unwrap_or(0.0).into(), "must be positive and finite");
        }
        if !self.out.is_apart(self.batch, self.heads, self.q_len, self.dim) {
            return size("out.row", self.out.row, "which makes results overlap");
        }
        Ok(())
    }
}

/// Whether an address is a multiple of so many bytes.
fn in_chunks(address: DeviceAddress, bytes: u64) -> bool {
    address.0.is_multiple_of(bytes)
}

/// Keys and values.
#[derive(Debug)]
enum Cache<'a, T> {
    Elements(DeviceSlice<'a, T>, DeviceSlice<'a, T>),
    F8(DeviceSlice<'a, F8E4M3>, DeviceSlice<'a, F8E4M3>),
    I8(DeviceSlice<'a, i8>, DeviceSlice<'a, i8>),
}

/// Where the blocks of each sequence's keys are.
#[derive(Debug)]
struct Pages<'a> {
    table: DeviceSlice<'a, u32>,
    block_size: usize,
    blocks: usize,
}

/// What attention reads.
#[derive(Debug)]
pub struct AttentionInputs<'a, T> {
    queries: DeviceSlice<'a, T>,
    cache: Cache<'a, T>,
    k_scales: Option<DeviceSlice<'a, f32>>,
    v_scales: Option<DeviceSlice<'a, f32>>,
    lengths: Option<DeviceSlice<'a, u32>>,
    slopes: Option<DeviceSlice<'a, f32>>,
    sinks: Option<DeviceSlice<'a, f32>>,
    pages: Option<Pages<'a>>,
}

impl<'a, T: Float<Compute = f32>> AttentionInputs<'a, T> {
    fn with_cache(queries: DeviceSlice<'a, T>, cache: Cache<'a, T>) -> Self {
        let (k_scales, v_scales, lengths, slopes, sinks, pages) = (None, None, None, None, None, None);
        Self { queries, cache, k_scales, v_scales, lengths, slopes, sinks, pages }
    }

    /// Queries, keys and values of one type.
    pub fn new(
        queries: impl Into<DeviceSlice<'a, T>>,
        keys: impl Into<DeviceSlice<'a, T>>,
        values: impl Into<DeviceSlice<'a, T>>,
    ) -> Self {
        Self::with_cache(queries.into(), Cache::Elements(keys.into(), values.into()))
    }

    /// Keys and values are 8-bit floats, as [`Kernels::kv_append_f8`] writes them. Queries have 16 bits.
    pub fn with_f8_cache(
        queries: impl Into<DeviceSlice<'a, T>>,
        keys: impl Into<DeviceSlice<'a, F8E4M3>>,
        values: impl Into<DeviceSlice<'a, F8E4M3>>,
    ) -> Self {
        Self::with_cache(queries.into(), Cache::F8(keys.into(), values.into()))
    }

    /// Keys and values are 8-bit integers. Queries have 16 bits.
    pub fn with_i8_cache(
        queries: impl Into<DeviceSlice<'a, T>>,
        keys: impl Into<DeviceSlice<'a, i8>>,
        values: impl Into<DeviceSlice<'a, i8>>,
    ) -> Self {
        Self::with_cache(queries.into(), Cache::I8(keys.into(), values.into()))
    }

    /// The scales by which 8-bit keys and values are multiplied, at the places given by
    /// [`Attention::k_scales`] and [`Attention::v_scales`]. The products are rounded to the queries' type.
    #[must_use]
    pub fn scales(
        self,
        keys: impl Into<DeviceSlice<'a, f32>>,
        values: impl Into<DeviceSlice<'a, f32>>,
    ) -> Self {
        Self { k_scales: Some(keys.into()), v_scales: Some(values.into()), ..self }
    }

    /// The number of keys of each sequence, limited to [`Attention::kv_len`]. The queries are a sequence's
    /// last positions.
    #[must_use]
    pub fn lengths(self, lengths: impl Into<DeviceSlice<'a, u32>>) -> Self {
        Self { lengths: Some(lengths.into()), ..self }
    }

    /// ALiBi: a score is changed by its head's slope times the key's position minus the query's.
    #[must_use]
    pub fn slopes(self, slopes: impl Into<DeviceSlice<'a, f32>>) -> Self {
        Self { slopes: Some(slopes.into()), ..self }
    }

    /// Attention sinks: for each head, a further score that takes part in the softmax and has no value. It is
    /// neither scaled nor limited.
    #[must_use]
    pub fn sinks(self, sinks: impl Into<DeviceSlice<'a, f32>>) -> Self {
        Self { sinks: Some(sinks.into()), ..self }
    }

    /// Keys and values are in `blocks` blocks of `block_size` keys, a multiple of 16. The table has a row for
    /// each sequence, with the numbers of the blocks that hold its keys. An invalid block number stands for
    /// the last block.
    #[must_use]
    pub fn pages(self, table: impl Into<DeviceSlice<'a, u32>>, blocks: usize, block_size: usize) -> Self {
        Self { pages: Some(Pages { table: table.into(), block_size, blocks }), ..self }
    }

    /// Bytes of an element of keys and values.
    fn cache_size(&self) -> usize {
        if matches!(self.cache, Cache::Elements(..)) { size_of::<T>() } else { 1 }
    }

    /// Whether queries, keys and values begin at multiples of 8 elements.
    fn in_chunks(&self, stream: &Stream) -> Result<bool> {
        let (keys, values) = match &self.cache {
            Cache::Elements(keys, values) => (keys.address_on(stream)?, values.address_on(stream)?),
            Cache::F8(keys, values) => (keys.address_on(stream)?, values.address_on(stream)?),
            Cache::I8(keys, values) => (keys.address_on(stream)?, values.address_on(stream)?),
        };
        let chunk = 8 * self.cache_size() as u64;
        let queries = self.queries.address_on(stream)?;
        Ok(in_chunks(queries, 16) && in_chunks(keys, chunk) && in_chunks(values, chunk))
    }

    /// Checks the buffers against the shape.
    fn check(&self, attention: &Attention) -> Result<()> {
        let operation = OPERATION;
        let length = |buffer, got, expected| {
            if got < expected { Err(Error::Length { operation, buffer, expected, got }) } else { Ok(()) }
        };
        let size = |parameter, got, problem| Err(Error::Size { operation, parameter, got, problem });
        let &Attention { batch, heads, kv_heads, q_len, kv_len, dim, .. } = attention;
        length("queries", self.queries.len(), attention.q.span(batch, heads, q_len, dim))?;
        let (sequences, rows) = match &self.pages {
            None => (batch, kv_len),
            Some(pages) => {
                if pages.block_size == 0
                    || pages.block_size % BLOCK_STEP != 0
                    || pages.block_size > MOST_POSITIONS
                {
                    return size("block_size", pages.block_size, "must be a multiple of 16 from 16 to 2^30");
                }
                if pages.blocks == 0 || pages.blocks > MOST_POSITIONS {
                    return size("blocks", pages.blocks, "must be from 1 to 2^30");
                }
                let table = batch.saturating_mul(kv_len.div_ceil(pages.block_size));
                length("table", pages.table.len(), table)?;
                if batch > 0 && pages.table.len() % batch != 0 {
                    return size("table", pages.table.len(), "must be a multiple of the number of sequences");
                }
                (pages.blocks, pages.block_size)
            }
        };
        let (keys, values) = match &self.cache {
            Cache::Elements(keys, values) => (keys.len(), values.len()),
            Cache::F8(keys, values) => (keys.len(), values.len()),
            Cache::I8(keys, values) => (keys.len(), values.len()),
        };
        if !matches!(self.cache, Cache::Elements(..)) && size_of::<T>() != 2 {
            return size(
                "queries",
                size_of::<T>(),
                "bytes an element; a cache of 8 bits is read for queries of 16 bits",
            );
        }
        length("keys", keys, attention.k.span(sequences, kv_heads, rows, dim))?;
        length("values", values, attention.v.span(sequences, kv_heads, rows, dim))?;
        for (buffer, scales, strides) in [
            ("k_scales", &self.k_scales, attention.k_scales),
            ("v_scales", &self.v_scales, attention.v_scales),
        ] {
            if let Some(scales) = scales {
                if matches!(self.cache, Cache::Elements(..)) {
                    return size(buffer, scales.len(), "and only a cache of 8 bits has scales");
                }
                length(buffer, scales.len(), strides.span(sequences, kv_heads, rows, 1))?;
            }
        }
        if let Some(lengths) = &self.lengths {
            length("lengths", lengths.len(), batch)?;
        }
        if let Some(slopes) = &self.slopes {
            length("slopes", slopes.len(), heads)?;
        }
        if let Some(sinks) = &self.sinks {
            length("sinks", sinks.len(), heads)?;
        }
        Ok(())
    }
}

/// `Strides` of `kernels/attention.cu`.
#[repr(C)]
#[derive(Clone, Copy, hip::DeviceCopy)]
struct Strides {
    batch: u64,
    head: u64,
    row: u64,
}

impl From<HeadStrides> for Strides {
    fn from(from: HeadStrides) -> Self {
        Self { batch: from.batch as u64, head: from.head as u64, row: from.row as u64 }
    }
}

/// `Shape` of `kernels/attention.cu`.
#[repr(C)]
#[derive(Clone, Copy, hip::DeviceCopy)]
struct Shape {
    batches: u32,
    kv_heads: u32,
    group: u32,
    q_len: u32,
    kv_len: u32,
    dim: u32,
    splits: u32,
    split_keys: u32,
    flags: u32,
    q_position: i32,
    window: u32,
    stored: u32,
    block_size: u32,
    blocks: u32,
    table_length: u32,
    scale: f32,
    soft_cap: f32,
    unused: u32,
    strides: [Strides; 6],
}

impl Kernels {
    /// Attention of all heads, without storing the scores. Scores and sums are computed in f32; weights are
    /// rounded to the elements' type. A query that sees no key gives 0.
    ///
    /// # Errors
    /// [`Error::Length`] if a buffer is too short, [`Error::Size`] and [`Error::Value`] for invalid sizes,
    /// strides and options, and [`Error::Hip`].
    #[doc(alias = "flash_attention")]
    #[doc(alias = "scaled_dot_product_attention")]
    pub fn attention<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        attention: &Attention,
        inputs: AttentionInputs<'a, T>,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let mut out = out.into();
        attention.check()?;
        inputs.check(attention)?;
        let &Attention { batch, heads, kv_heads, q_len, kv_len, dim, .. } = attention;
        let expected = attention.out.span(batch, heads, q_len, dim);
        if out.len() < expected {
            return Err(Error::Length { operation: OPERATION, buffer: "out", expected, got: out.len() });
        }
        if batch == 0 || heads == 0 || q_len == 0 {
            return Ok(());
        }
        let rows = heads / kv_heads * q_len;
        let groups = batch.saturating_mul(kv_heads);
        let parts = dim.div_ceil(DIM);
        let compute_units = self.device().properties().compute_units as usize;
        let work = Work {
            blocks: rows.div_ceil(ROWS).saturating_mul(groups).saturating_mul(parts),
            kv_len,
            compute_units,
        };
        let nvidia = if nvidia::is_nvidia(self.device()) {
            let work = nvidia::AttentionWork {
                rows,
                groups,
                kv_len,
                dim,
                query_size: size_of::<T>(),
                cache_size: inputs.cache_size(),
                in_chunks: attention.in_chunks()
                    && inputs.in_chunks(stream)?
                    && in_chunks(out.address_on(stream)?, 16),
                multiprocessors: compute_units,
                wgmma: nvidia::has_wgmma(self.device()),
                shared_memory: nvidia::shared_memory(self.device()),
                clusters: nvidia::has_bulk_copies(self.device()) && inputs.sinks.is_none(),
            };
            Some(work.launch())
        } else {
            None
        };
        let (splits, split_keys) =
            nvidia.map_or_else(|| work.splits(), |launch| (launch.splits, launch.split_keys));
        // What adds the splits also adds the sinks. A second split may have no keys.
        let splits = if inputs.sinks.is_some() { splits.max(2) } else { splits };
        let parts = nvidia.map_or(parts, |launch| launch.parts);
        let (block_size, blocks, table_length) = inputs
            .pages
            .as_ref()
            .map_or((1, 1, 0), |pages| (pages.block_size, pages.blocks, pages.table.len() / batch));
        let shape = Shape {
            batches: batch as u32,
            kv_heads: kv_heads as u32,
            group: (heads / kv_heads) as u32,
            q_len: q_len as u32,
            kv_len: kv_len as u32,
            dim: dim as u32,
            splits: splits as u32,
            split_keys: split_keys as u32,
            flags: u32::from(attention.causal) | u32::from(inputs.lengths.is_some()) << 1,
            q_position: attention.q_position as i32,
            window: attention.window.unwrap_or(0) as u32,
            stored: match inputs.cache {
                Cache::Elements(..) => 0,
                Cache::F8(..) => 1,
                Cache::I8(..) => 2,
            },
            block_size: block_size as u32,
            blocks: blocks as u32,
            table_length: u32::try_from(table_length).map_err(|_| Error::Size {
                operation: OPERATION,
                parameter: "table",
                got: table_length,
                problem: "entries for a sequence, more than 4294967295",
            })?,
            scale: attention.scale,
            soft_cap: attention.soft_cap.unwrap_or(0.0),
            unused: 0,
            strides: [
                attention.q,
                attention.k,
                attention.v,
                attention.out,
                attention.k_scales,
                attention.v_scales,
            ]
            .map(Strides::from),
        };
        let all_rows = groups.saturating_mul(rows);
        let kernel = nvidia.map_or(AttentionKernel::Many, |launch| launch.kernel);
        let mut partial = match splits {
            _ if kernel == AttentionKernel::FewByCluster => None,
            1 => None,
            _ => Some(DeviceBuffer::<f32>::uninit_on(
                stream,
                all_rows.saturating_mul(splits).saturating_mul(dim + 1),
            )?),
        };

        let (across, down) = match kernel {
            AttentionKernel::Many => (rows.div_ceil(ROWS), groups.min(MOST_BLOCKS)),
            AttentionKernel::Few | AttentionKernel::FewByCluster => (groups, 1),
        };
        let grid = (across as u32, down as u32, (splits * parts) as u32);
        let names = match kernel {
            AttentionKernel::Many => &names!("attention"),
            AttentionKernel::Few => &names!("attention_few"),
            AttentionKernel::FewByCluster => &names!("attention_few_by_8"),
        };
        let function = self.of::<T>(&modules::ATTENTION, names)?;
        let (block, dynamic_lds) = nvidia.map_or((THREADS, 0), |launch| (launch.block, launch.shared));
        let launch = function.launch(stream).grid(grid).block(block).dynamic_lds(dynamic_lds);
        let launch = launch.arg(shape).arg(inputs.queries);
        let launch = match inputs.cache {
            Cache::Elements(keys, values) => launch.arg(keys).arg(values),
            Cache::F8(keys, values) => launch.arg(keys).arg(values),
            Cache::I8(keys, values) => launch.arg(keys).arg(values),
        };
        let launch = launch
            .arg(inputs.k_scales)
            .arg(inputs.v_scales)
            .arg(inputs.lengths)
            .arg(inputs.pages.map(|pages| pages.table))
            .arg(inputs.slopes)
            .arg(out.reborrow())
            .arg(partial.as_mut().map(DeviceBuffer::as_mut_slice));
        // SAFETY: the kernel reads queries, keys, values, scales, lengths, tables and slopes, and writes
        // results or their parts. All of them have been compared with their buffers, and the kernel limits
        // what tables and lengths say. Results do not overlap.
        unsafe { launch.enqueue()? };
        if let Some(partial) = &partial {
            let function = self.of::<T>(&modules::ATTENTION, &names!("attention_combine"))?;
            let launch = function.launch(stream).grid(all_rows.min(1 << 20) as u32).block(THREADS);
            // SAFETY: the kernel reads what the previous one has written and a sink of each head, and writes
            // the same results.
            unsafe { launch.arg(shape).arg(partial).arg(inputs.sinks).arg(out).enqueue()? };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_split_where_there_are_few_rows() {
        let splits = |blocks, kv_len, compute_units| Work { blocks, kv_len, compute_units }.splits();
        assert_eq!(splits(1000, 4096, 100), (1, 4096));
        assert_eq!(splits(8, 100, 100), (1, 128));
        assert_eq!(splits(8, 0, 100), (1, 64));
        let (count, keys) = splits(8, 4096, 100);
        assert!(
            count > 4 && keys % KEYS == 0 && count * keys >= 4096 && (count - 1) * keys < 4096,
            "{count} of {keys}"
        );
    }

    #[test]
    fn strides_say_whether_rows_overlap() {
        let dense = HeadStrides::heads_first(3, 5, 16);
        assert!(dense.is_apart(2, 3, 5, 16));
        assert_eq!(dense.span(2, 3, 5, 16), 2 * 3 * 5 * 16);
        let rows_first = HeadStrides::rows_first(3, 5, 16);
        assert_eq!(rows_first, HeadStrides { batch: 240, head: 16, row: 48 });
        assert!(rows_first.is_apart(2, 3, 5, 16));
        assert!(!HeadStrides { row: 15, ..dense }.is_apart(2, 3, 5, 16));
        assert!(HeadStrides { row: 0, ..dense }.is_apart(2, 3, 1, 16), "a stride that is never taken");
        assert!(!HeadStrides { batch: 0, ..dense }.is_apart(2, 3, 5, 16));
        assert_eq!(HeadStrides { batch: usize::MAX, ..dense }.span(3, 3, 5, 16), usize::MAX);
    }
}
