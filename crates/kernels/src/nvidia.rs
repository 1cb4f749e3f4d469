//! What some kernels are launched with on NVIDIA's GPUs, where it differs from AMD's: grids, work-items, and
//! shared memory besides what a kernel declares. The numbers are those of `kernels/attention_nvidia.cuh`;
//! those of `kernels/gemm_nvidia.cuh` are in `tilings.rs`.
//!
//! `wgmma` is in code for sm_90a, which is what a device of sm_90 has to be given. On other devices
//! from sm_80 on, products of matrices use `mma`, and attention of many rows is what AMD's devices without
//! matrix instructions run.

use hip::Device;

/// Bytes of a line of a tile: `LINE` of `kernels/nvidia.cuh`.
pub(crate) const LINE: usize = 128;
/// At which multiples tiles begin: `TILE_ALIGN` of `kernels/nvidia.cuh`.
pub(crate) const TILE_ALIGN: usize = 1024;

/// Whether a device is one of NVIDIA's.
pub(crate) fn is_nvidia(device: &Device) -> bool {
    device.target().processor.starts_with("sm_")
}

/// Whether a device multiplies by `mma`, for which code for sm_80 and later is compiled.
pub(crate) fn has_mma(device: &Device) -> bool {
    is_from(&device.target().processor, 80)
}

/// Whether a device has copies of any size, for which code for sm_90 and later is compiled.
pub(crate) fn has_bulk_copies(device: &Device) -> bool {
    is_from(&device.target().processor, 90)
}

/// Whether a processor is one of NVIDIA's of at least this compute capability, times ten.
fn is_from(processor: &str, capability: u32) -> bool {
    let number =
        processor.strip_prefix("sm_").map(|name| name.trim_end_matches(|c: char| c.is_ascii_lowercase()));
    number.and_then(|number| number.parse().ok()).is_some_and(|number: u32| number >= capability)
}

/// Whether a device multiplies by `wgmma`.
pub(crate) fn has_wgmma(device: &Device) -> bool {
    device.target().processor == "sm_90"
}

/// Bytes of shared memory of a multiprocessor.
pub(crate) fn shared_memory(device: &Device) -> usize {
    device.properties().lds_per_compute_unit
}

/// Workgroups of `kernels/gemv.cu` for so many rows.
pub(crate) fn vector_workgroups(rows: u32, multiprocessors: u32) -> u32 {
    /// Rows of a workgroup whose warps have rows of their own: 4 for each of 8.
    const APART: u32 = 32;
    /// From so many rows on, warps have rows of their own: `MANY` of `kernels/gemv.cu`.
    const MANY: u32 = 8192;
    /// Rows that a workgroup shares otherwise: `TOGETHER` of `kernels/gemv.cu`.
    const TOGETHER: u32 = 2;
    /// More workgroups wait for others to end.
    const RESIDENT: u32 = 8;
    match rows {
        MANY.. => rows.div_ceil(APART).min(65_535),
        _ => rows.div_ceil(TOGETHER).clamp(1, multiprocessors.saturating_mul(RESIDENT).max(1)),
    }
}

/// Work-items of `kernels/gemv_stream.cuh`: those that multiply, and a warp that copies.
pub(crate) const STREAM_THREADS: u32 = 288;
/// Bytes of shared memory that it gives to rows: with it, a multiprocessor holds two workgroups.
pub(crate) const STREAM_SHARED: u32 = 96 << 10;

/// A product of a matrix by rows without gaps with one vector, as `kernels/gemv_stream.cuh` divides it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamedProduct {
    pub(crate) rows: u32,
    pub(crate) depth: u32,
    /// Bytes of an element.
    pub(crate) element: u32,
    pub(crate) multiprocessors: u32,
}

impl StreamedProduct {
    /// Its workgroups, which have as many rows each; `None` if the kernel is not made for such rows.
    pub(crate) fn workgroups(self) -> Option<u32> {
        /// Bytes of a step: `STEP` of `kernels/gemv_stream.cuh`.
        const STEP: u32 = 32 << 10;
        /// Bytes of the shortest row: `LEAST_ROW` of `kernels/gemv_stream.cuh`.
        const LEAST_ROW: u32 = 2048;
        /// Numbers of the longest row: `MOST_VALUES` of `kernels/gemv_stream.cuh`.
        const MOST_VALUES: u32 = 16 << 10;
        /// Bytes of a copy.
        const CHUNK: u32 = 16;
        const RESIDENT: u32 = 2;
        let &Self { rows, depth, element, multiprocessors } = &self;
        if depth > MOST_VALUES || rows == 0 {
            return None;
        }
        let row = depth * element;
        if row < LEAST_ROW || 2 * row > STREAM_SHARED || !row.is_multiple_of(CHUNK) {
            return None;
        }
        let of_workgroup = rows.div_ceil(multiprocessors.saturating_mul(RESIDENT).max(1));
        let steps = of_workgroup.div_ceil((STEP / row).max(1));
        Some(rows.div_ceil(of_workgroup.div_ceil(steps) * steps))
    }
}

/// A product of a quantised matrix with one vector, as `kernels/quant_stream.cuh` divides it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuantProduct {
    pub(crate) rows: u32,
    pub(crate) columns: u32,
    /// Values and bytes of a block.
    pub(crate) block: (usize, usize),
    /// Whether the device has the copies that rows are streamed by.
    pub(crate) can_stream: bool,
    /// Whether a step is multiplied so quickly that one workgroup had better have two.
    pub(crate) is_quick: bool,
}

impl QuantProduct {
    /// Steps that multiply whole rows; none if rows are longer than a step, or cannot be streamed.
    fn steps(self) -> Option<u32> {
        /// Warps of a workgroup: `ONE_WARPS` of `kernels/quant_one.cuh`.
        const WARPS: u32 = 8;
        const THREADS: u32 = 32;
        /// Values of a group: `GROUP` of `kernels/quant.cuh`.
        const GROUP: usize = 16;
        /// Values that a thread has of a row.
        const VALUES: usize = 2 * GROUP;
        /// The most bytes of them with which a warp has four rows: `SHORT_UNIT` of
        /// `kernels/quant_stream.cuh`.
        const SHORT: usize = 20;
        let (values, bytes) = self.block;
        let row_bytes = self.columns as usize / values * bytes;
        let rows_of_warp = if (bytes * VALUES).div_ceil(values) <= SHORT { 4 } else { 2 };
        let is_aligned = row_bytes.is_multiple_of(4)
            && (rows_of_warp * row_bytes).is_multiple_of(16)
            && (self.rows as usize).checked_mul(row_bytes)?.is_multiple_of(16);
        let threads = self.columns / VALUES as u32;
        let warps_of_row = threads.div_ceil(THREADS).next_power_of_two();
        if !self.can_stream || !is_aligned || warps_of_row > WARPS {
            return None;
        }
        Some(self.rows.div_ceil(rows_of_warp as u32 * (WARPS / warps_of_row)))
    }

    /// Workgroups of `quant_gemv`, which share all rows: as many as run at once, or fewer, each with the two
    /// rows that a warp has at a time. Of few steps, each workgroup has one, or half of them two, so that the
    /// other half is left to the next kernel.
    pub(crate) fn workgroups(self, multiprocessors: u32) -> u32 {
        /// `ONE_ROWS` of `kernels/quant_one.cuh`.
        const ROWS: u32 = 2;
        /// Workgroups of a multiprocessor: `ONE_BUSY` of `kernels/quant_one.cuh`.
        const RESIDENT: u32 = 4;
        let resident = multiprocessors.saturating_mul(RESIDENT).max(1);
        let half = resident.div_ceil(2);
        let most = self.rows.div_ceil(ROWS).min(resident);
        match self.steps() {
            Some(steps) if steps <= half => most.min(steps),
            Some(steps) if steps <= resident && self.is_quick => most.min(half),
            _ => most,
        }
    }
}

/// Products of a quantised matrix with a few vectors, as `kernels/quant_few.cuh` divides them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FewVectors {
    pub(crate) rows: u32,
    pub(crate) columns: u32,
    /// [`shared_memory`] of the device.
    pub(crate) shared_memory: usize,
}

impl FewVectors {
    /// All warps of a workgroup: `ALL_WARPS` of `kernels/quant_few.cuh`.
    pub(crate) const WARPS: u32 = 18;
    /// The most vectors of a launch: `VECTORS` of `kernels/quant_piece.cuh`.
    const VECTORS: usize = 8;
    /// What the driver takes of a multiprocessor's shared memory for a workgroup, and what the kernel
    /// declares.
    const TAKEN: usize = (1 << 10) + 256;
    /// Room for three steps of one piece of a row of any type.
    const LEAST_RING: usize = 20 << 10;
    /// A ring that keeps memory busy.
    const RING: usize = 96 << 10;
    /// What is left to workgroups of other kernels, if the ring has room enough. Without it, the next kernel
    /// cannot begin, and products with two vectors took up to 13 % longer on an H200.
    const LEFT: usize = 16 << 10;

    /// At most so many bytes of shared memory have what is not the ring, for any type.
    fn kept(self, vectors: usize) -> usize {
        /// Values of a block of a vector.
        const BLOCK: usize = 32;
        /// Bytes of each: numbers, a scale, and what a matrix's offsets are multiplied with.
        const BLOCK_BYTES: usize = 32 + 4 + 8;
        /// Gaps behind a vector, and other gaps and zeros.
        const GAPS: usize = 544;
        const OTHERS: usize = 384;
        /// Bytes of a warp's sums: `WARP_SUMS` of `kernels/quant_few.cuh`.
        const WARP_SUMS: usize = 512;
        /// Warps that have sums: `WARPS` of `kernels/quant_few.cuh`.
        const WARPS: usize = 16;
        /// Tiles whose sums are kept: `KEPT_TILES` of `kernels/quant_few.cuh`.
        const KEPT_TILES: usize = 2;
        let of_vector = self.columns as usize / BLOCK * BLOCK_BYTES + GAPS;
        KEPT_TILES * WARPS * WARP_SUMS + vectors.next_multiple_of(2) * of_vector + OTHERS
    }

    fn room(self) -> usize {
        self.shared_memory.saturating_sub(Self::TAKEN)
    }

    /// The most vectors that there is room for.
    pub(crate) fn most(self) -> Option<usize> {
        (1..=Self::VECTORS).rev().find(|&vectors| self.kept(vectors) + Self::LEAST_RING <= self.room())
    }

    /// The vectors of a launch of several that multiply `count`: as many in each.
    pub(crate) fn at_once(self, count: usize) -> usize {
        let launches = count.div_ceil(self.most().unwrap_or(1)).max(1);
        count.div_ceil(launches).max(1)
    }

    /// Workgroups: one for each multiprocessor, if there are tiles for all.
    pub(crate) fn workgroups(self, multiprocessors: u32) -> u32 {
        /// Rows of a tile: `ROWS` of `kernels/quant_piece.cuh`.
        const ROWS: u32 = 16;
        self.rows.div_ceil(ROWS).clamp(1, multiprocessors.max(1))
    }

    /// Bytes of shared memory of a launch.
    pub(crate) fn shared(self, vectors: usize) -> u32 {
        let room = self.room();
        let enough = self.kept(vectors) + Self::RING + Self::LEFT <= room;
        (if enough { room - Self::LEFT } else { room }) as u32
    }
}

/// What a launch of attention depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttentionWork {
    /// Rows that share keys: of all heads of a group and all positions.
    pub(crate) rows: usize,
    /// Heads of keys and values of all sequences.
    pub(crate) groups: usize,
    pub(crate) kv_len: usize,
    pub(crate) dim: usize,
    /// Bytes of an element of the queries, and of keys and values.
    pub(crate) query_size: usize,
    pub(crate) cache_size: usize,
    /// Whether all addresses and strides are multiples of 8 elements.
    pub(crate) in_chunks: bool,
    pub(crate) multiprocessors: usize,
    /// [`has_wgmma`] and [`shared_memory`] of the device.
    pub(crate) wgmma: bool,
    pub(crate) shared_memory: usize,
    /// Whether splits can be added within a cluster: [`has_bulk_copies`] of the device, and no sinks.
    pub(crate) clusters: bool,
}

/// Which kernel computes attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttentionKernel {
    /// `attention_*`.
    Many,
    /// `attention_few_*`, whose grid has all groups in its first dimension.
    Few,
    /// `attention_few_by_8_*`: the same, and a cluster's workgroups add what their splits have.
    FewByCluster,
}

/// How attention is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AttentionLaunch {
    pub(crate) kernel: AttentionKernel,
    pub(crate) block: u32,
    /// Bytes of shared memory.
    pub(crate) shared: u32,
    pub(crate) splits: usize,
    /// Keys of a split.
    pub(crate) split_keys: usize,
    /// Parts of the dimensions, which have workgroups of their own.
    pub(crate) parts: usize,
}

/// The most rows that `attention_few_*` computes: `FEW_ROWS` of `kernels/attention_nvidia.cuh`.
const FEW_ROWS: usize = 8;
/// Its work-items: `FEW_THREADS` of `kernels/attention_nvidia.cuh`.
const FEW_THREADS: u32 = 128;
/// Workgroups that share keys in a cluster: `FEW_CLUSTER` of `kernels/attention_nvidia.cuh`.
const FEW_CLUSTER: usize = 8;
/// The most keys that they share. More splits, and another launch that adds them, are quicker then.
const FEW_CLUSTER_KEYS: usize = 2048;
/// The shared memory of a multiprocessor that it needs: those of sm_80, sm_90 and sm_100 have it, those of
/// sm_86 and sm_89 do not.
const FEW_ROOM: usize = 128 << 10;
/// The most workgroups of `attention_few_*` that a multiprocessor shall hold. With more, so much is read at
/// once that memory gives less.
const FEW_RESIDENT: usize = 2;
/// Rows of a workgroup otherwise: `ROWS` of `kernels/attention_arguments.cuh`.
const MANY_ROWS: usize = 128;
/// Its work-items: `THREADS` of `kernels/attention_arguments.cuh`.
const MANY_THREADS: u32 = 256;
/// The dimensions that it computes: `DIM` of `kernels/attention_arguments.cuh`.
const DIM: usize = 128;
/// Splits are multiples of this.
const KEYS: usize = 64;
/// So few keys are not split: what adds the parts is a launch of its own in every layer, and a step of one
/// token waits for it.
const WHOLE: usize = 256;

impl AttentionWork {
    pub(crate) fn launch(&self) -> AttentionLaunch {
        let parts = self.dim.div_ceil(DIM);
        let few =
            self.rows <= FEW_ROWS && self.query_size == 2 && self.in_chunks && self.shared_memory >= FEW_ROOM;
        if few {
            let (kernel, block) = (AttentionKernel::Few, FEW_THREADS);
            let workgroups = |splits| self.groups.saturating_mul(parts).saturating_mul(splits);
            let places = self.multiprocessors.saturating_mul(FEW_RESIDENT);
            if self.clusters && self.kv_len <= FEW_CLUSTER_KEYS && workgroups(FEW_CLUSTER) <= places {
                // The kernel shares the keys that a sequence has.
                let (kernel, splits, split_keys) = (AttentionKernel::FewByCluster, FEW_CLUSTER, self.kv_len);
                let shared = self.few_ring() as u32;
                return AttentionLaunch { kernel, block, shared, splits, split_keys, parts };
            }
            let (splits, split_keys) = self.splits(self.groups * parts, 128);
            let shared = self.few_shared(workgroups(splits));
            return AttentionLaunch { kernel, block, shared, splits, split_keys, parts };
        }
        let tiled = self.query_size == 2 && self.in_chunks && self.wgmma;
        let (parts, shared) = if tiled { (1, self.many_shared()) } else { (parts, 0) };
        let tiles = self.rows.div_ceil(MANY_ROWS).saturating_mul(self.groups).saturating_mul(parts);
        let (splits, split_keys) = self.splits(tiles, 512);
        AttentionLaunch {
            kernel: AttentionKernel::Many,
            block: MANY_THREADS,
            shared,
            splits,
            split_keys,
            parts,
        }
    }

    /// `FewRowsRing::SIZE`: for each warp, steps of 16 keys.
    fn few_ring(&self) -> usize {
        let bytes = self.cache_size == 1;
        let dims = if self.dim > 128 {
            256
        } else if self.dim > 64 || bytes {
            128
        } else {
            64
        };
        let steps = if dims * self.cache_size <= 128 { 4 } else { 2 };
        // 16 keys and values, and in a cache of bytes the lanes' scales.
        let step = 16 * (dims + dims.min(DIM)) * self.cache_size + if bytes { 32 * 6 * 4 } else { 0 };
        steps * step * (FEW_THREADS as usize / 32)
    }

    /// Besides the ring so much that a multiprocessor holds no more workgroups than there are for each, and
    /// at most [`FEW_RESIDENT`]: those of the next launch, which may overlap with this one, do not crowd some
    /// of them.
    fn few_shared(&self, workgroups: usize) -> u32 {
        let resident = workgroups.div_ceil(self.multiprocessors.max(1)).clamp(1, FEW_RESIDENT);
        self.few_ring().max(self.shared_memory / (resident + 1)) as u32
    }

    /// `ManyRows::SIZE`: the queries, and two tiles of keys and values, of 256 dimensions one of values.
    fn many_shared(&self) -> u32 {
        let dims = if self.dim > 128 {
            256
        } else if self.dim > 64 {
            128
        } else {
            64
        };
        let keys = if dims > DIM { 64 } else { 128 };
        let elements = MANY_ROWS * dims + 2 * keys * (dims + dims.min(DIM));
        (elements * self.query_size + TILE_ALIGN) as u32
    }

    /// Into how many parts the keys are split, and how many keys each has: the fewest with which a workgroup
    /// for each multiprocessor fills nine tenths of them, or else those that fill them best. More workgroups
    /// that read at once are slower. A part has `least` keys.
    fn splits(&self, workgroups: usize, least: usize) -> (usize, usize) {
        let places = self.multiprocessors.max(1);
        let keys_of = |wanted: usize| self.kv_len.div_ceil(wanted).next_multiple_of(KEYS).max(KEYS);
        let filled = |wanted: usize| {
            let all = workgroups.saturating_mul(self.kv_len.div_ceil(keys_of(wanted)).max(1));
            all as f64 / all.div_ceil(places).saturating_mul(places).max(1) as f64
        };
        let most = if self.kv_len <= WHOLE { 1 } else { self.kv_len / least };
        let most = most.clamp(1, places.div_ceil(workgroups.max(1)));
        let enough = (1..=most).find(|&splits| filled(splits) >= 0.9);
        let best = || (1..=most).max_by(|a, b| filled(*a).total_cmp(&filled(*b)).then(b.cmp(a)));
        let wanted = enough.or_else(best).unwrap_or(1);
        let keys = keys_of(wanted);
        (self.kv_len.div_ceil(keys).max(1), keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_compared_as_numbers() {
        assert!(is_from("sm_80", 80) && is_from("sm_90a", 80) && is_from("sm_100", 80));
        assert!(!is_from("sm_75", 80) && !is_from("gfx90a", 80) && !is_from("sm_", 80));
    }

    #[test]
    fn a_product_with_a_vector_has_as_many_workgroups_as_run_at_once() {
        let workgroups = [1, 1024, 4096, 14_336, u32::MAX].map(|rows| vector_workgroups(rows, 132));
        assert_eq!(workgroups, [1, 512, 1056, 448, 65_535]);
        let quantised = |rows, columns, block, multiprocessors| {
            let product = QuantProduct { rows, columns, block, can_stream: true, is_quick: true };
            product.workgroups(multiprocessors)
        };
        let (q4_k, q6_k, q4_0) = ((256, 144), (256, 210), (32, 18));
        assert_eq!([1, 64, 4096, 14_336].map(|rows| quantised(rows, 4096, q4_k, 132)), [1, 8, 264, 528]);
        assert_eq!([4096, 14_336].map(|columns| quantised(4096, columns, q6_k, 132)), [528, 528]);
        // Rows of 2322 bytes are not streamed, and not those of 14,336 numbers at once.
        assert_eq!([4096, 4128, 14_336].map(|columns| quantised(4096, columns, q4_0, 132)), [264, 528, 528]);
        assert_eq!((quantised(9, 0, q4_k, 132), quantised(9, 256, q4_k, 0)), (1, 1));
        let product =
            QuantProduct { rows: 4096, columns: 4096, block: q4_k, can_stream: true, is_quick: false };
        assert_eq!(product.workgroups(132), 528);
        assert_eq!(QuantProduct { rows: 1024, ..product }.workgroups(132), 128);
        assert_eq!(QuantProduct { can_stream: false, is_quick: true, ..product }.workgroups(108), 432);
    }

    #[test]
    fn few_vectors_have_room_beside_the_ring() {
        let of = |columns| FewVectors { rows: 4096, columns, shared_memory: 228 << 10 };
        assert_eq!(
            [32, 4096, 14_336, 28_672, 65_536].map(|columns| of(columns).most()),
            [8, 8, 8, 4, 2].map(Some)
        );
        assert_eq!((of(1 << 20).most(), FewVectors { shared_memory: 0, ..of(32) }.most()), (None, None));
        assert_eq!([2, 8, 9, 64].map(|count| of(4096).at_once(count)), [2, 8, 5, 8]);
        assert_eq!([5, 8].map(|count| of(28_672).at_once(count)), [3, 4]);
        assert_eq!((of(4096).shared(8), of(14_336).shared(8)), (215_808, 232_192));
        let small = FewVectors { shared_memory: 100 << 10, ..of(4096) };
        assert_eq!((small.most(), small.shared(8)), (Some(8), 101_120));
        let workgroups = |rows| FewVectors { rows, ..of(4096) }.workgroups(132);
        assert_eq!([1, 16, 17, 2048, 128_256].map(workgroups), [1, 1, 2, 128, 132]);
    }

    #[test]
    fn streamed_rows_are_shared_by_two_workgroups_of_each_multiprocessor() {
        let workgroups =
            |rows, depth| StreamedProduct { rows, depth, element: 2, multiprocessors: 132 }.workgroups();
        // Eight rows for each workgroup, and so on.
        assert_eq!(
            [2048, 3072, 16_384, 128_256].map(|rows| workgroups(rows, 2048)),
            [256, 256, 256, 263].map(Some)
        );
        assert_eq!([1, 4096].map(|rows| workgroups(rows, 14_336)), [1, 256].map(Some));
        for (rows, depth) in [(0, 2048), (2048, 1016), (2048, 1025), (2048, 16_392), (2048, u32::MAX)] {
            assert_eq!(workgroups(rows, depth), None, "{rows} {depth}");
        }
        let wide = StreamedProduct { rows: u32::MAX, depth: 16_384, element: 4, multiprocessors: 0 };
        assert_eq!(wide.workgroups(), None);
        assert!(
            StreamedProduct { depth: 8192, ..wide }.workgroups().is_some_and(|workgroups| workgroups >= 1)
        );
    }

    const DECODE: AttentionWork = AttentionWork {
        rows: 4,
        groups: 64,
        kv_len: 8192,
        dim: 128,
        query_size: 2,
        cache_size: 2,
        in_chunks: true,
        multiprocessors: 132,
        wgmma: true,
        shared_memory: 228 << 10,
        clusters: false,
    };

    #[test]
    fn few_rows_fill_all_multiprocessors() {
        let launch = DECODE.launch();
        assert!(launch.kernel == AttentionKernel::Few && launch.splits == 2, "{launch:?}");
        assert_eq!((launch.block, launch.shared), (128, 116_736));
        let of_one = |kv_len| AttentionWork { kv_len, groups: 8, ..DECODE }.launch().splits;
        assert_eq!([100, 256, 512].map(of_one), [1, 1, 4]);
        // 15 parts of whole steps would be 11.
        assert_eq!(AttentionWork { groups: 8, kv_len: 2048, ..DECODE }.launch().splits, 16);
        for kv_len in [0, 1, 63, 64, 1000, 100_000] {
            let launch = AttentionWork { kv_len, ..DECODE }.launch();
            assert!(launch.splits >= 1 && launch.splits * launch.split_keys >= kv_len, "{launch:?}");
            assert!((launch.splits - 1) * launch.split_keys <= kv_len, "{launch:?}");
        }
    }

    #[test]
    fn a_cluster_shares_the_keys_of_few_groups() {
        let alone = AttentionWork { groups: 8, kv_len: 160, clusters: true, ..DECODE };
        let launch = alone.launch();
        assert_eq!((launch.kernel, launch.splits, launch.shared), (AttentionKernel::FewByCluster, 8, 65_536));
        for other in [
            AttentionWork { clusters: false, ..alone },
            AttentionWork { kv_len: 2049, ..alone },
            AttentionWork { groups: 34, ..alone },
            AttentionWork { rows: 9, ..alone },
        ] {
            assert_ne!(other.launch().kernel, AttentionKernel::FewByCluster, "{other:?}");
        }
    }

    #[test]
    fn shared_memory_is_that_of_the_kernels() {
        let shared = |rows, dim, cache_size| {
            let least = 128 << 10;
            AttentionWork { rows, dim, cache_size, groups: 512, shared_memory: least, ..DECODE }
                .launch()
                .shared
        };
        for (dim, cache_size, expected) in [
            (64, 2, 65_536),
            (96, 2, 65_536),
            (256, 2, 98_304),
            (64, 1, 77_824),
            (128, 1, 77_824),
            (256, 1, 55_296),
        ] {
            assert_eq!(shared(8, dim, cache_size), expected, "{dim} {cache_size}");
        }
        let many = AttentionWork { groups: 512, ..DECODE };
        assert_eq!(many.launch().shared, 77_824);
        assert_eq!(AttentionWork { shared_memory: 164 << 10, ..many }.launch().shared, 65_536);
        assert_eq!(shared(9, 128, 2), 164_864);
        assert_eq!(shared(9, 256, 1), 164_864);
        assert_eq!(shared(9, 64, 2), 82_944);
        assert_eq!(AttentionWork { in_chunks: false, ..DECODE }.launch().shared, 0);
        assert_eq!(AttentionWork { rows: 9, wgmma: false, ..DECODE }.launch().shared, 0);
        let small = AttentionWork { shared_memory: 100 << 10, wgmma: false, ..DECODE }.launch();
        assert_eq!((small.kernel, small.shared, small.block), (AttentionKernel::Many, 0, 256));
    }
}
