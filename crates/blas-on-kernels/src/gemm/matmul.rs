//! Products of real matrices by the kernels with matrix instructions.

use std::ffi::c_void;
use std::ptr::null;

use code_object::embedded;

use super::tuning::{Choice, Problem};
use super::{Matrix, Product, Structure};
use crate::args::Type;
use crate::call::{Call, DeviceOperand, Factor, NOT_IMPLEMENTED, Result};
use crate::gpu::{Class, Instructions};
use crate::modules;
use crate::vector::THREADS;

/// What a workgroup computes, by name: the tile of a wave, or a block of several waves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Tile {
    /// For a few columns.
    Tall,
    Small,
    Large,
    SmallBlock,
    Block,
}

impl Tile {
    pub(crate) const ALL: [Self; 5] = [Self::Tall, Self::Small, Self::Large, Self::SmallBlock, Self::Block];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tall => "tall",
            Self::Small => "small",
            Self::Large => "large",
            Self::SmallBlock => "small-block",
            Self::Block => "block",
        }
    }

    /// Whether several waves compute it, by the kernels of `kernels/blas/blocks.cu`.
    pub(crate) fn is_block(self) -> bool {
        matches!(self, Self::SmallBlock | Self::Block)
    }

    /// Rows and columns: those that `kernels/blas/matmul.cu` and `blocks.cu` request, or what the target's
    /// instructions turn them into.
    pub(crate) fn sides(self, way: Way, class: Class, kind: Type) -> [u32; 2] {
        match self {
            Self::Tall if class == Class::Mfma && kind != Type::F64 => [64, 32],
            Self::Tall => [64, 16],
            Self::Small => [32, 32],
            Self::Large if way == Way::Staged => [64, 32],
            Self::Large | Self::SmallBlock => [64, 64],
            Self::Block => [128, 128],
        }
    }
}

/// How the kernels read their operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    /// Both lie along the depth, and are loaded into registers unchanged.
    Direct,
    /// So does B.
    Mixed,
    /// Both pass through LDS.
    Staged,
}

impl Way {
    pub(crate) const ALL: [Self; 3] = [Self::Direct, Self::Mixed, Self::Staged];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Mixed => "mixed",
            Self::Staged => "staged",
        }
    }

    /// How operands are read, depending on which of them lie across the depth.
    fn of(class: Class, kind: Type, [a_across, b_across]: [bool; 2]) -> Self {
        if !class.has_instructions(kind) {
            return Self::Staged;
        }
        match (a_across, b_across) {
            (false, false) => Self::Direct,
            (true, false) => Self::Mixed,
            (_, true) => Self::Staged,
        }
    }

    /// The tiles that have kernels. Blocks take operands in any way; there is none of 128 by 128 of f64.
    pub(crate) fn tiles(self, class: Class, kind: Type) -> &'static [Tile] {
        match (self, kind) {
            (Self::Staged, Type::F64) => &[Tile::Small, Tile::SmallBlock],
            (Self::Staged, _) if class.has_instructions(kind) => {
                &[Tile::Small, Tile::SmallBlock, Tile::Block]
            }
            (_, Type::F64) => &[Tile::Tall, Tile::Small, Tile::Large, Tile::SmallBlock],
            (_, Type::F8 | Type::BF8) => &[Tile::Tall, Tile::Small, Tile::Large],
            _ => &Tile::ALL,
        }
    }
}

/// The operations on each element of D before it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epilogue {
    /// The bias, with as many elements as D has rows, or null.
    pub(crate) bias: *const c_void,
    pub(crate) kind: Type,
    pub(crate) activation: Activation,
}

impl Epilogue {
    pub(crate) const NONE: Self = Self { bias: null(), kind: Type::F32, activation: Activation::None };

    pub(crate) fn is_none(&self) -> bool {
        self.bias.is_null() && self.activation == Activation::None
    }
}

/// `Activation` of `kernels/blas/matmul.cuh`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Activation {
    /// Nothing is applied.
    #[default]
    None,
    /// max(x, 0).
    Relu,
    /// GELU, approximated with tanh.
    Gelu,
    /// x times the logistic function of x.
    Silu,
    /// The logistic function.
    Sigmoid,
}

/// The types whose matrices these kernels multiply.
pub(crate) const TYPES: [Type; 5] = [Type::F64, Type::F32, Type::F16, Type::BF16, Type::I8];

/// The 8-bit types of A and of B, for devices that have instructions for them; their kernels read operands in
/// only one way.
const FLOATS8: [Type; 2] = [Type::F8, Type::BF8];

/// A kernel's name.
pub(crate) fn kernel(kind: Type, tile: Tile, way: Way) -> Option<&'static str> {
    macro_rules! names {
        ($($variant:ident $name:literal),+) => {
            match (kind, tile, way) {
                $(
                    (Type::$variant, Tile::Tall, Way::Direct) => concat!("blas_matmul_", $name, "_tall_direct"),
                    (Type::$variant, Tile::Small, Way::Direct) => concat!("blas_matmul_", $name, "_small_direct"),
                    (Type::$variant, Tile::Large, Way::Direct) => concat!("blas_matmul_", $name, "_large_direct"),
                    (Type::$variant, Tile::Tall, Way::Mixed) => concat!("blas_matmul_", $name, "_tall_mixed"),
                    (Type::$variant, Tile::Small, Way::Mixed) => concat!("blas_matmul_", $name, "_small_mixed"),
                    (Type::$variant, Tile::Large, Way::Mixed) => concat!("blas_matmul_", $name, "_large_mixed"),
                    (Type::$variant, Tile::Tall, Way::Staged) => concat!("blas_matmul_", $name, "_tall_staged"),
                    (Type::$variant, Tile::Small, Way::Staged) => concat!("blas_matmul_", $name, "_small_staged"),
                    (Type::$variant, Tile::Large, Way::Staged) => concat!("blas_matmul_", $name, "_large_staged"),
                    (Type::$variant, Tile::SmallBlock, _) => concat!("blas_blocks_", $name, "_64"),
                    (Type::$variant, Tile::Block, _) => concat!("blas_blocks_", $name, "_128"),
                )+
                _ => return None,
            }
        };
    }
    Some(names!(F64 "f64", F32 "f32", F16 "f16", BF16 "bf16", I8 "i8"))
}

/// The kernel for 8-bit floats of A and of B. Both operands lie along the depth.
pub(crate) fn kernel_of_f8([a, b]: [Type; 2], tile: Tile) -> Option<&'static str> {
    macro_rules! names {
        ($($a:ident $b:ident $name:literal),+) => {
            match (a, b, tile) {
                $(
                    (Type::$a, Type::$b, Tile::Tall) => concat!("blas_matmul_", $name, "_tall_direct"),
                    (Type::$a, Type::$b, Tile::Small) => concat!("blas_matmul_", $name, "_small_direct"),
                    (Type::$a, Type::$b, Tile::Large) => concat!("blas_matmul_", $name, "_large_direct"),
                )+
                _ => return None,
            }
        };
    }
    Some(names!(F8 F8 "f8_f8", F8 BF8 "f8_bf8", BF8 F8 "bf8_f8", BF8 BF8 "bf8_bf8"))
}

/// Rows and maximum columns that a wave computes without matrix instructions: `THIN` of
/// `kernels/blas/matmul.cuh`.
const THIN: u32 = 4;

/// The kernel for a few columns without matrix instructions.
pub(crate) fn thin_kernel(kind: Type) -> Option<&'static str> {
    Some(match kind {
        Type::F32 => "blas_matmul_f32_thin",
        Type::F16 => "blas_matmul_f16_thin",
        Type::BF16 => "blas_matmul_bf16_thin",
        Type::I8 => "blas_matmul_i8_thin",
        _ => return None,
    })
}

/// `Shape` of `kernels/blas/matmul.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Shape {
    sizes: [u32; 3],
    batches: u32,
    parts: u32,
    part: u32,
    operands: [DeviceOperand; 4],
    strides: [u64; 4],
    across: [u32; 2],
    alpha: Factor,
    beta: Factor,
    partial: *const c_void,
    bias: *const c_void,
    bias_kind: u32,
    activation: u32,
}

/// The limit of sizes and distances, which the kernels count in 32 bits.
const MOST: i64 = 1 << 31;
/// `LARGEST_NEAR_STRIDE` of `kernels/staging.cuh`.
pub(super) const MOST_NEAR: i64 = 1 << 22;
/// The maximum number of workgroups in the second and third dimension of a grid.
const MOST_GRID: u32 = 65_535;
/// Workgroups share the depth in multiples of this, the largest depth of any kernel's blocks.
const PART: u32 = 128;
/// Rows of a work-item that adds their sums: `ADDED` of `kernels/blas/matmul.cuh`.
const ADDED: u32 = 4;
/// Work-items of a block: `THREADS` of `kernels/gemm.cuh`.
const BLOCK_THREADS: u32 = 256;
/// Waves for each compute unit with thin tiles.
const WAVES_EACH: u64 = 8;
/// The maximum memory for the sums of waves that share the depth.
const MOST_PARTIAL: usize = 64 << 20;

/// The kernel of a product.
struct How {
    module: &'static embedded::Module,
    kernel: &'static str,
    /// Its work-items.
    block: u32,
    /// Rows and columns of a workgroup.
    sides: [u32; 2],
    /// The preferred number of workgroups that share the depth.
    parts: u32,
}

/// A product that these kernels compute.
pub(super) struct Matmul {
    shape: Shape,
    /// The types of A and B.
    kinds: [Type; 2],
    way: Way,
    class: Class,
}

impl Matmul {
    /// `None` if they do not support it: they support real matrices without structure, with D by columns.
    pub(super) fn of(
        product: &Product,
        epilogue: &Epilogue,
        instructions: Option<Instructions>,
    ) -> Option<Self> {
        let Instructions { class, f8 } = instructions?;
        let Product { m, n, k, a, b, c, d, batches, .. } = *product;
        if product.triangle != 0 || product.hermitian != 0 || batches > MOST_GRID {
            return None;
        }
        if [m, n].iter().any(|size| !(1..MOST).contains(size)) || !(0..MOST).contains(&k) {
            return None;
        }
        let is = |matrix: &Matrix, kind: Type| matrix.operand.kind == kind as u32;
        let floats: &[Type] = if f8 { &FLOATS8 } else { &[] };
        let kind_of = |matrix: &Matrix| TYPES.iter().chain(floats).copied().find(|kind| is(matrix, *kind));
        let kinds @ [kind, other] = [kind_of(&a)?, kind_of(&b)?];
        let results: &[Type] = match kind {
            Type::I8 => &[Type::I32],
            Type::F64 => &[Type::F64],
            _ => &[Type::F32, Type::F16, Type::BF16, Type::F8, Type::BF8],
        };
        let go_together = kind == other || kinds.iter().all(|kind| FLOATS8.contains(kind));
        let same = c.operand.at.is_null() || c.operand.kind == d.operand.kind;
        if !class.multiplies(kind) || !go_together || !same || !results.iter().any(|kind| is(&d, *kind)) {
            return None;
        }
        if [&a, &b].iter().any(|matrix| matrix.structure != Structure::General) || d.steps[0] != 1 {
            return None;
        }
        if !product.beta.is(0.0) && c.steps[0] != 1 {
            return None;
        }
        let across = |row: i64, along: i64| match (row, along) {
            (stride, 1) if (0..MOST_NEAR).contains(&stride) => Some((false, stride as u64)),
            (1, stride) if (0..MOST_NEAR).contains(&stride) => Some((true, stride as u64)),
            _ => None,
        };
        let (a_across, a_stride) = across(a.steps[0], a.steps[1])?;
        let (b_across, b_stride) = across(b.steps[1], b.steps[0])?;
        let stride = |matrix: &Matrix| u64::try_from(matrix.steps[1]).ok();
        let shape = Shape {
            sizes: [m, n, k].map(|size| size as u32),
            batches,
            parts: 1,
            part: k as u32,
            operands: [a, b, c, d].map(|matrix| matrix.operand),
            strides: [a_stride, b_stride, stride(&c).unwrap_or_default(), stride(&d)?],
            across: [a_across, b_across].map(u32::from),
            alpha: product.alpha,
            beta: product.beta,
            partial: null(),
            bias: epilogue.bias,
            bias_kind: epilogue.kind as u32,
            activation: epilogue.activation as u32,
        };
        let way = Way::of(class, kind, [a_across, b_across]);
        if FLOATS8.contains(&kind) && way != Way::Direct {
            return None;
        }
        let matmul = Self { shape, kinds, way, class };
        // The grid of every tile is within the limits of a device.
        let fewest = way.tiles(class, kind).iter().map(|tile| tile.sides(way, class, kind)[1]).min()?;
        (matmul.shape.sizes[1].div_ceil(fewest) <= MOST_GRID).then_some(matmul)
    }

    fn problem(&self) -> Problem {
        Problem {
            class: self.class,
            kind: self.kinds[0],
            way: self.way,
            sizes: self.shape.sizes,
            batches: self.shape.batches,
        }
    }

    /// For a few columns, there is no choice of kernels.
    fn is_thin(&self) -> bool {
        !self.class.has_instructions(self.kinds[0])
            && self.shape.sizes[1] <= THIN
            && self.shape.across == [0, 0]
    }

    fn how(&self, compute_units: u32) -> Option<How> {
        let (module, block) = (&modules::BLAS_MATMUL, self.class.wave());
        if self.is_thin() {
            let waves = u64::from(self.shape.sizes[0].div_ceil(THIN)) * u64::from(self.shape.batches);
            let parts = WAVES_EACH * u64::from(compute_units) / waves;
            let parts = parts.min(u64::from(self.shape.sizes[2] / 1024)) as u32;
            return Some(How { module, kernel: thin_kernel(self.kinds[0])?, block, sides: [THIN; 2], parts });
        }
        let Choice { tile, parts } = self.problem().choice(compute_units);
        let kernel = match self.kinds {
            [Type::F8 | Type::BF8, _] => kernel_of_f8(self.kinds, tile),
            [kind, _] => kernel(kind, tile, self.way),
        };
        let (module, block) =
            if tile.is_block() { (&modules::BLAS_BLOCKS, BLOCK_THREADS) } else { (module, block) };
        let sides = tile.sides(self.way, self.class, self.kinds[0]);
        Some(How { module, kernel: kernel?, block, sides, parts })
    }

    pub(super) fn enqueue(mut self, call: &mut Call<'_>) -> Result {
        let How { module, kernel, block, sides: [rows, columns], parts } =
            self.how(call.gpu.compute_units).ok_or(NOT_IMPLEMENTED)?;
        let taken = call.taken;
        if let Some((parts, bytes)) = self.parts(call, parts) {
            let [partial] = call.workspace([bytes])?;
            self.shape.partial = partial;
            self.shape.part = self.shape.sizes[2].div_ceil(parts).next_multiple_of(PART);
            self.shape.parts = self.shape.sizes[2].div_ceil(self.shape.part);
        }
        let [m, n, _] = self.shape.sizes;
        let grid = [m.div_ceil(rows), n.div_ceil(columns), self.shape.batches * self.shape.parts];
        call.launch(module, kernel, grid, block, &self.shape)?;
        if self.shape.partial.is_null() {
            return Ok(());
        }
        let add = match self.kinds[0] {
            Type::I8 => "blas_matmul_add_i32",
            Type::F64 => "blas_matmul_add_f64",
            _ => "blas_matmul_add_f32",
        };
        let grid = [m.div_ceil(THREADS * ADDED), n, self.shape.batches];
        call.launch(&modules::BLAS_MATMUL, add, grid, THREADS, &self.shape)?;
        // Work enqueued from now on may use the same memory.
        call.taken = taken;
        Ok(())
    }

    /// The number of waves that share the depth, and the memory needed for that.
    fn parts(&self, call: &Call<'_>, wanted: u32) -> Option<(u32, usize)> {
        let [m, n, k] = self.shape.sizes;
        let parts = wanted.min(k.div_ceil(PART)).min(MOST_GRID / self.shape.batches);
        // The kernel that adds has a row of workgroups for each column.
        if parts < 2 || n > MOST_GRID {
            return None;
        }
        let sum = if self.kinds[0] == Type::F64 { 8 } else { 4 };
        let elements = (m as usize).checked_mul(n as usize)?.checked_mul(self.shape.batches as usize)?;
        let bytes = elements.checked_mul(parts as usize)?.checked_mul(sum)?;
        let workspace = &call.state.workspace;
        let fits = !workspace.foreign || workspace.bytes().saturating_sub(call.taken) >= bytes;
        (bytes <= MOST_PARTIAL && fits).then_some((parts, bytes))
    }
}
