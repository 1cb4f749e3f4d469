//! The matrix instructions.

use vgpu_isa::Op::{self, *};
use vgpu_isa::{Fact, Inst};

/// The layout rules of elements in lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// MFMA and SMFMAC: waves of 64, several independent products (blocks).
    Mfma,
    /// WMMA of gfx11: A and B in sixteen lanes, repeated in the others.
    Gfx11,
    /// WMMA and SWMMAC of gfx12: A and B distributed over all lanes.
    Gfx12,
}

/// The type of elements of A or B.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    F64,
    F32,
    /// f32, of which ten digits after the point are used.
    Xf32,
    F16,
    Bf16,
    /// e4m3 with one zero and one NaN (gfx942).
    Fp8Fnuz,
    /// e5m2 with one zero and one NaN (gfx942).
    Bf8Fnuz,
    /// e4m3 of the Open Compute Project.
    Fp8,
    /// e5m2 of the Open Compute Project.
    Bf8,
    /// e2m3 of the Open Compute Project.
    Fp6,
    /// e3m2 of the Open Compute Project.
    Bf6,
    /// e2m1 of the Open Compute Project.
    Fp4,
    I8,
    /// Bytes, signed or not by `neg_lo`.
    Iu8,
    /// Nibbles, signed or not by `neg_lo`.
    Iu4,
}

impl Format {
    /// Bits of an element.
    pub const fn bits(self) -> usize {
        match self {
            Format::F64 => 64,
            Format::F32 | Format::Xf32 => 32,
            Format::F16 | Format::Bf16 => 16,
            Format::Iu4 | Format::Fp4 => 4,
            Format::Fp6 | Format::Bf6 => 6,
            _ => 8,
        }
    }
}

/// The type of elements of C and D.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sum {
    F64,
    F32,
    F16,
    Bf16,
    I32,
}

/// A matrix instruction: `D = A * B + C`, with `n` rows and columns.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    pub op: Op,
    pub family: Family,
    /// Rows of A, and columns of B.
    pub n: usize,
    /// Columns of A, and rows of B. If A is sparse, this is before half of its columns are omitted.
    pub k: usize,
    /// Independent products.
    pub blocks: usize,
    pub a: Format,
    pub b: Format,
    pub sum: Sum,
    /// Whether A is sparse: an index register selects two of each four columns, and only these are present.
    pub sparse: bool,
}

const fn dense(op: Op, family: Family, shape: [usize; 3], a: Format, b: Format, sum: Sum) -> Instruction {
    let [n, k, blocks] = shape;
    Instruction { op, family, n, k, blocks, a, b, sum, sparse: false }
}

const fn mfma(op: Op, shape: [usize; 3], a: Format, b: Format, sum: Sum) -> Instruction {
    dense(op, Family::Mfma, shape, a, b, sum)
}

const fn smfmac(op: Op, n: usize, k: usize, a: Format, b: Format, sum: Sum) -> Instruction {
    Instruction { sparse: true, ..dense(op, Family::Mfma, [n, k, 1], a, b, sum) }
}

const fn wmma11(op: Op, format: Format, sum: Sum) -> Instruction {
    dense(op, Family::Gfx11, [16, 16, 1], format, format, sum)
}

const fn wmma12(op: Op, k: usize, a: Format, b: Format, sum: Sum) -> Instruction {
    dense(op, Family::Gfx12, [16, k, 1], a, b, sum)
}

const fn swmmac(op: Op, k: usize, a: Format, b: Format, sum: Sum) -> Instruction {
    Instruction { sparse: true, ..wmma12(op, k, a, b, sum) }
}

use Format::{Bf6, Bf8, Bf8Fnuz, Bf16, F16, F32, F64, Fp4, Fp6, Fp8, Fp8Fnuz, I8, Iu4, Iu8, Xf32};

/// The formats that an instruction can select, by number.
const CHOICES: [Format; 5] = [Fp8, Bf8, Fp6, Bf6, Fp4];
/// Instructions that select the formats of A and B.
const CHOOSING: [(Op, [usize; 3]); 2] =
    [(VMfmaF32_16x16x128F8f6f4, [16, 128, 1]), (VMfmaF32_32x32x64F8f6f4, [32, 64, 1])];

// NEW-OP: matrix operations.
/// All instructions.
pub const INSTRUCTIONS: &[Instruction] = &with_chosen();

/// Instructions with fixed formats of A and B.
#[rustfmt::skip]
const FIXED: &[Instruction] = &[
    // Shapes: rows and columns, K, blocks.
    mfma(VMfmaF32_32x32x1_2bF32, [32, 1, 2], F32, F32, Sum::F32),
    mfma(VMfmaF32_16x16x1_4bF32, [16, 1, 4], F32, F32, Sum::F32),
    mfma(VMfmaF32_4x4x1_16bF32, [4, 1, 16], F32, F32, Sum::F32),
    mfma(VMfmaF32_32x32x2F32, [32, 2, 1], F32, F32, Sum::F32),
    mfma(VMfmaF32_16x16x4F32, [16, 4, 1], F32, F32, Sum::F32),
    mfma(VMfmaF32_32x32x4_2bF16, [32, 4, 2], F16, F16, Sum::F32),
    mfma(VMfmaF32_16x16x4_4bF16, [16, 4, 4], F16, F16, Sum::F32),
    mfma(VMfmaF32_4x4x4_16bF16, [4, 4, 16], F16, F16, Sum::F32),
    mfma(VMfmaF32_32x32x8F16, [32, 8, 1], F16, F16, Sum::F32),
    mfma(VMfmaF32_16x16x16F16, [16, 16, 1], F16, F16, Sum::F32),
    mfma(VMfmaF32_32x32x2bf16, [32, 2, 2], Bf16, Bf16, Sum::F32),
    mfma(VMfmaF32_16x16x2bf16, [16, 2, 4], Bf16, Bf16, Sum::F32),
    mfma(VMfmaF32_4x4x2bf16, [4, 2, 16], Bf16, Bf16, Sum::F32),
    mfma(VMfmaF32_32x32x4bf16, [32, 4, 1], Bf16, Bf16, Sum::F32),
    mfma(VMfmaF32_16x16x8bf16, [16, 8, 1], Bf16, Bf16, Sum::F32),
    mfma(VMfmaF32_32x32x4_2bBf16, [32, 4, 2], Bf16, Bf16, Sum::F32),
    mfma(VMfmaF32_16x16x4_4bBf16, [16, 4, 4], Bf16, Bf16, Sum::F32),
    mfma(VMfmaF32_4x4x4_16bBf16, [4, 4, 16], Bf16, Bf16, Sum::F32),
    mfma(VMfmaF32_32x32x8Bf16, [32, 8, 1], Bf16, Bf16, Sum::F32),
    mfma(VMfmaF32_16x16x16Bf16, [16, 16, 1], Bf16, Bf16, Sum::F32),
    mfma(VMfmaI32_32x32x4_2bI8, [32, 4, 2], I8, I8, Sum::I32),
    mfma(VMfmaI32_16x16x4_4bI8, [16, 4, 4], I8, I8, Sum::I32),
    mfma(VMfmaI32_4x4x4_16bI8, [4, 4, 16], I8, I8, Sum::I32),
    mfma(VMfmaI32_32x32x8i8, [32, 8, 1], I8, I8, Sum::I32),
    mfma(VMfmaI32_16x16x16i8, [16, 16, 1], I8, I8, Sum::I32),
    mfma(VMfmaF64_16x16x4F64, [16, 4, 1], F64, F64, Sum::F64),
    mfma(VMfmaF64_4x4x4_4bF64, [4, 4, 4], F64, F64, Sum::F64),
    mfma(VMfmaI32_32x32x16I8, [32, 16, 1], I8, I8, Sum::I32),
    mfma(VMfmaI32_16x16x32I8, [16, 32, 1], I8, I8, Sum::I32),
    mfma(VMfmaF32_32x32x4Xf32, [32, 4, 1], Xf32, Xf32, Sum::F32),
    mfma(VMfmaF32_16x16x8Xf32, [16, 8, 1], Xf32, Xf32, Sum::F32),
    mfma(VMfmaF32_32x32x16Bf8Bf8, [32, 16, 1], Bf8Fnuz, Bf8Fnuz, Sum::F32),
    mfma(VMfmaF32_32x32x16Bf8Fp8, [32, 16, 1], Bf8Fnuz, Fp8Fnuz, Sum::F32),
    mfma(VMfmaF32_32x32x16Fp8Bf8, [32, 16, 1], Fp8Fnuz, Bf8Fnuz, Sum::F32),
    mfma(VMfmaF32_32x32x16Fp8Fp8, [32, 16, 1], Fp8Fnuz, Fp8Fnuz, Sum::F32),
    mfma(VMfmaF32_16x16x32Bf8Bf8, [16, 32, 1], Bf8Fnuz, Bf8Fnuz, Sum::F32),
    mfma(VMfmaF32_16x16x32Bf8Fp8, [16, 32, 1], Bf8Fnuz, Fp8Fnuz, Sum::F32),
    mfma(VMfmaF32_16x16x32Fp8Bf8, [16, 32, 1], Fp8Fnuz, Bf8Fnuz, Sum::F32),
    mfma(VMfmaF32_16x16x32Fp8Fp8, [16, 32, 1], Fp8Fnuz, Fp8Fnuz, Sum::F32),
    smfmac(VSmfmacF32_16x16x32F16, 16, 32, F16, F16, Sum::F32),
    smfmac(VSmfmacF32_32x32x16F16, 32, 16, F16, F16, Sum::F32),
    smfmac(VSmfmacF32_16x16x32Bf16, 16, 32, Bf16, Bf16, Sum::F32),
    smfmac(VSmfmacF32_32x32x16Bf16, 32, 16, Bf16, Bf16, Sum::F32),
    smfmac(VSmfmacI32_16x16x64I8, 16, 64, I8, I8, Sum::I32),
    smfmac(VSmfmacI32_32x32x32I8, 32, 32, I8, I8, Sum::I32),
    smfmac(VSmfmacF32_16x16x64Bf8Bf8, 16, 64, Bf8Fnuz, Bf8Fnuz, Sum::F32),
    smfmac(VSmfmacF32_16x16x64Bf8Fp8, 16, 64, Bf8Fnuz, Fp8Fnuz, Sum::F32),
    smfmac(VSmfmacF32_16x16x64Fp8Bf8, 16, 64, Fp8Fnuz, Bf8Fnuz, Sum::F32),
    smfmac(VSmfmacF32_16x16x64Fp8Fp8, 16, 64, Fp8Fnuz, Fp8Fnuz, Sum::F32),
    smfmac(VSmfmacF32_32x32x32Bf8Bf8, 32, 32, Bf8Fnuz, Bf8Fnuz, Sum::F32),
    smfmac(VSmfmacF32_32x32x32Bf8Fp8, 32, 32, Bf8Fnuz, Fp8Fnuz, Sum::F32),
    smfmac(VSmfmacF32_32x32x32Fp8Bf8, 32, 32, Fp8Fnuz, Bf8Fnuz, Sum::F32),
    smfmac(VSmfmacF32_32x32x32Fp8Fp8, 32, 32, Fp8Fnuz, Fp8Fnuz, Sum::F32),
    wmma11(VWmmaF32_16x16x16F16, F16, Sum::F32),
    wmma11(VWmmaF32_16x16x16Bf16, Bf16, Sum::F32),
    wmma11(VWmmaF16_16x16x16F16, F16, Sum::F16),
    wmma11(VWmmaBf16_16x16x16Bf16, Bf16, Sum::Bf16),
    wmma11(VWmmaI32_16x16x16Iu8, Iu8, Sum::I32),
    wmma11(VWmmaI32_16x16x16Iu4, Iu4, Sum::I32),
    wmma12(VWmmaF32_16x16x16F16Gfx12, 16, F16, F16, Sum::F32),
    wmma12(VWmmaF32_16x16x16Bf16Gfx12, 16, Bf16, Bf16, Sum::F32),
    wmma12(VWmmaF16_16x16x16F16Gfx12, 16, F16, F16, Sum::F16),
    wmma12(VWmmaBf16_16x16x16Bf16Gfx12, 16, Bf16, Bf16, Sum::Bf16),
    wmma12(VWmmaI32_16x16x16Iu8Gfx12, 16, Iu8, Iu8, Sum::I32),
    wmma12(VWmmaI32_16x16x16Iu4Gfx12, 16, Iu4, Iu4, Sum::I32),
    wmma12(VWmmaI32_16x16x32Iu4, 32, Iu4, Iu4, Sum::I32),
    wmma12(VWmmaF32_16x16x16Fp8Fp8, 16, Fp8, Fp8, Sum::F32),
    wmma12(VWmmaF32_16x16x16Fp8Bf8, 16, Fp8, Bf8, Sum::F32),
    wmma12(VWmmaF32_16x16x16Bf8Fp8, 16, Bf8, Fp8, Sum::F32),
    wmma12(VWmmaF32_16x16x16Bf8Bf8, 16, Bf8, Bf8, Sum::F32),
    swmmac(VSwmmacF32_16x16x32F16, 32, F16, F16, Sum::F32),
    swmmac(VSwmmacF32_16x16x32Bf16, 32, Bf16, Bf16, Sum::F32),
    swmmac(VSwmmacF16_16x16x32F16, 32, F16, F16, Sum::F16),
    swmmac(VSwmmacBf16_16x16x32Bf16, 32, Bf16, Bf16, Sum::Bf16),
    swmmac(VSwmmacI32_16x16x32Iu8, 32, Iu8, Iu8, Sum::I32),
    swmmac(VSwmmacI32_16x16x32Iu4, 32, Iu4, Iu4, Sum::I32),
    swmmac(VSwmmacI32_16x16x64Iu4, 64, Iu4, Iu4, Sum::I32),
    swmmac(VSwmmacF32_16x16x32Fp8Fp8, 32, Fp8, Fp8, Sum::F32),
    swmmac(VSwmmacF32_16x16x32Fp8Bf8, 32, Fp8, Bf8, Sum::F32),
    swmmac(VSwmmacF32_16x16x32Bf8Fp8, 32, Bf8, Fp8, Sum::F32),
    swmmac(VSwmmacF32_16x16x32Bf8Bf8, 32, Bf8, Bf8, Sum::F32),
    // gfx950.
    mfma(VMfmaF32_32x32x16Bf8Bf8Gfx950, [32, 16, 1], Bf8, Bf8, Sum::F32),
    smfmac(VSmfmacF32_32x32x32Bf8Bf8Gfx950, 32, 32, Bf8, Bf8, Sum::F32),
    smfmac(VSmfmacF32_32x32x64Bf8Bf8, 32, 64, Bf8, Bf8, Sum::F32),
    mfma(VMfmaF32_32x32x16Bf8Fp8Gfx950, [32, 16, 1], Bf8, Fp8, Sum::F32),
    smfmac(VSmfmacF32_32x32x32Bf8Fp8Gfx950, 32, 32, Bf8, Fp8, Sum::F32),
    smfmac(VSmfmacF32_32x32x64Bf8Fp8, 32, 64, Bf8, Fp8, Sum::F32),
    mfma(VMfmaF32_32x32x16Fp8Bf8Gfx950, [32, 16, 1], Fp8, Bf8, Sum::F32),
    smfmac(VSmfmacF32_32x32x32Fp8Bf8Gfx950, 32, 32, Fp8, Bf8, Sum::F32),
    smfmac(VSmfmacF32_32x32x64Fp8Bf8, 32, 64, Fp8, Bf8, Sum::F32),
    mfma(VMfmaF32_32x32x16Fp8Fp8Gfx950, [32, 16, 1], Fp8, Fp8, Sum::F32),
    smfmac(VSmfmacF32_32x32x32Fp8Fp8Gfx950, 32, 32, Fp8, Fp8, Sum::F32),
    smfmac(VSmfmacF32_32x32x64Fp8Fp8, 32, 64, Fp8, Fp8, Sum::F32),
    mfma(VMfmaF32_16x16x32Bf8Bf8Gfx950, [16, 32, 1], Bf8, Bf8, Sum::F32),
    smfmac(VSmfmacF32_16x16x64Bf8Bf8Gfx950, 16, 64, Bf8, Bf8, Sum::F32),
    smfmac(VSmfmacF32_16x16x128Bf8Bf8, 16, 128, Bf8, Bf8, Sum::F32),
    mfma(VMfmaF32_16x16x32Bf8Fp8Gfx950, [16, 32, 1], Bf8, Fp8, Sum::F32),
    smfmac(VSmfmacF32_16x16x64Bf8Fp8Gfx950, 16, 64, Bf8, Fp8, Sum::F32),
    smfmac(VSmfmacF32_16x16x128Bf8Fp8, 16, 128, Bf8, Fp8, Sum::F32),
    mfma(VMfmaF32_16x16x32Fp8Bf8Gfx950, [16, 32, 1], Fp8, Bf8, Sum::F32),
    smfmac(VSmfmacF32_16x16x64Fp8Bf8Gfx950, 16, 64, Fp8, Bf8, Sum::F32),
    smfmac(VSmfmacF32_16x16x128Fp8Bf8, 16, 128, Fp8, Bf8, Sum::F32),
    mfma(VMfmaF32_16x16x32Fp8Fp8Gfx950, [16, 32, 1], Fp8, Fp8, Sum::F32),
    smfmac(VSmfmacF32_16x16x64Fp8Fp8Gfx950, 16, 64, Fp8, Fp8, Sum::F32),
    smfmac(VSmfmacF32_16x16x128Fp8Fp8, 16, 128, Fp8, Fp8, Sum::F32),
    mfma(VMfmaF32_16x16x32F16, [16, 32, 1], F16, F16, Sum::F32),
    smfmac(VSmfmacF32_16x16x64F16, 16, 64, F16, F16, Sum::F32),
    mfma(VMfmaF32_16x16x32Bf16, [16, 32, 1], Bf16, Bf16, Sum::F32),
    smfmac(VSmfmacF32_16x16x64Bf16, 16, 64, Bf16, Bf16, Sum::F32),
    mfma(VMfmaI32_16x16x64I8, [16, 64, 1], I8, I8, Sum::I32),
    smfmac(VSmfmacI32_16x16x128I8, 16, 128, I8, I8, Sum::I32),
    mfma(VMfmaF32_32x32x16F16, [32, 16, 1], F16, F16, Sum::F32),
    smfmac(VSmfmacF32_32x32x32F16, 32, 32, F16, F16, Sum::F32),
    mfma(VMfmaF32_32x32x16Bf16, [32, 16, 1], Bf16, Bf16, Sum::F32),
    smfmac(VSmfmacF32_32x32x32Bf16, 32, 32, Bf16, Bf16, Sum::F32),
    mfma(VMfmaI32_32x32x32I8, [32, 32, 1], I8, I8, Sum::I32),
    smfmac(VSmfmacI32_32x32x64I8, 32, 64, I8, I8, Sum::I32),
];

const CHOSEN: usize = CHOOSING.len() * CHOICES.len() * CHOICES.len();

/// [`FIXED`], and a row for each selection of formats.
const fn with_chosen() -> [Instruction; FIXED.len() + CHOSEN] {
    let mut all = [FIXED[0]; FIXED.len() + CHOSEN];
    let mut i = 0;
    while i < all.len() {
        all[i] = if i < FIXED.len() {
            FIXED[i]
        } else {
            let (choice, count) = (i - FIXED.len(), CHOICES.len());
            let (op, shape) = CHOOSING[choice / (count * count)];
            mfma(op, shape, CHOICES[choice / count % count], CHOICES[choice % count], Sum::F32)
        };
        i += 1;
    }
    all
}

/// The number of an instruction's row. The instruction after a load of scales has the same row as without
/// scales.
pub fn find(inst: &Inst) -> Option<usize> {
    let op = match inst.op {
        VMfmaScaleF32_16x16x128F8f6f4 => VMfmaF32_16x16x128F8f6f4,
        VMfmaScaleF32_32x32x64F8f6f4 => VMfmaF32_32x32x64F8f6f4,
        op => op,
    };
    let (a, b) = (inst.mods.cbsz, inst.mods.blgp);
    let has = |format: Format, number: u8| CHOICES.get(usize::from(number)) == Some(&format);
    let chooses = op.has(Fact::FORMATS);
    INSTRUCTIONS.iter().position(|row| row.op == op && (!chooses || has(row.a, a) && has(row.b, b)))
}
