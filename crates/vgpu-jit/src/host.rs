//! The vector instructions of the host.

use iced_x86::Code::{self, *};

/// The extensions of the host that code is made for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Host {
    /// AVX2 and FMA: sixteen registers of eight lanes. Masks are vectors.
    Avx2,
    /// AVX-512 with F, BW, CD, DQ and VL: 32 registers of sixteen lanes, and registers for masks.
    Avx512,
}

impl Host {
    /// The lanes of a register.
    pub(crate) fn lanes(self) -> usize {
        match self {
            Host::Avx2 => 8,
            Host::Avx512 => 16,
        }
    }

    /// The instruction of an operation.
    pub(crate) fn code(self, v: V) -> Code {
        let row = v.row();
        match self {
            Host::Avx2 => row.avx2,
            Host::Avx512 => row.avx512,
        }
    }

    /// The registers that hold values. There are two more.
    pub(crate) fn registers(self) -> u8 {
        match self {
            Host::Avx2 => 14,
            Host::Avx512 => 30,
        }
    }

    /// The two registers for intermediate results.
    pub(crate) fn scratch(self) -> [u8; 2] {
        [self.registers(), self.registers() + 1]
    }

    /// The mask registers that hold values, from [`FIRST_MASK`] on, if masks have registers of their own.
    pub(crate) fn masks(self) -> u8 {
        match self {
            Host::Avx2 => 0,
            Host::Avx512 => 4,
        }
    }
}

/// The first mask register of AVX-512 that holds a value.
pub(crate) const FIRST_MASK: u8 = 1;
/// The mask registers of AVX-512 for intermediate results.
pub(crate) const SCRATCH_MASKS: [u8; 3] = [5, 6, 7];

/// Operations on the 32-bit lanes of values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum V {
    Copy,
    Add,
    Sub,
    And,
    Or,
    Xor,
    /// Shifts by the lanes of the second source, which are below 32.
    Shl,
    Shr,
    Sar,
    /// Shifts by the immediate.
    ShlImm,
    ShrImm,
    SarImm,
    /// A shift of 64-bit lanes.
    ShrWide,
    /// Shifts of 16-bit lanes.
    ShlWords,
    ShrWords,
    SarWords,
    /// The sum of the products of both signed 16-bit halves.
    MulAddWords,
    Mul,
    /// 64-bit products of the even lanes.
    MulEven,
    MulEvenSigned,
    MinSigned,
    MaxSigned,
    MinUnsigned,
    MaxUnsigned,
    AddF32,
    SubF32,
    MulF32,
    DivF32,
    SqrtF32,
    /// The second source if one is a NaN or both are zero.
    MinF32,
    MaxF32,
    /// `a * b + c`.
    Fma,
    /// Rounding to integers; the immediate says how.
    Round,
    /// Functions that are called.
    Exp2,
    ReciprocalRoot,
    F32OfSigned,
    /// The f32 that is the f16 in the low bits; the others are zero.
    F32OfF16,
    /// The f16 nearest to a number, with zeros above.
    F16OfF32,
    /// AVX-512 only.
    F32OfUnsigned,
    /// 0x80000000 if there is no such integer.
    SignedOfF32,
    /// All ones if there is no such integer. AVX-512 only.
    UnsignedOfF32,
    /// Any function of three bits: the immediate. AVX-512 only.
    Ternary,
    /// A mask: a comparison, by the immediate.
    CompareF32,
    Equal,
    GreaterSigned,
    /// AVX-512 only.
    GreaterUnsigned,
    /// Masks.
    EitherMask,
    BothMasks,
    NotMask,
    /// The second source where the first, a mask, is set; otherwise the third.
    Select,
}

/// The instructions of an operation.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) avx512: Code,
    pub(crate) avx2: Code,
    /// How many sources it has.
    pub(crate) sources: usize,
    /// Whether it has an immediate.
    pub(crate) immediate: bool,
    /// Whether its first two sources can change places.
    pub(crate) commutes: bool,
    /// Whether the last source can be in memory: one number for all lanes on AVX-512, and all lanes.
    pub(crate) memory: [bool; 2],
}

impl V {
    /// Whether the result is a mask.
    pub(crate) fn is_mask(self) -> bool {
        matches!(
            self,
            V::CompareF32
                | V::Equal
                | V::GreaterSigned
                | V::GreaterUnsigned
                | V::EitherMask
                | V::BothMasks
                | V::NotMask
        )
    }

    /// The instructions.
    pub(crate) fn row(self) -> Row {
        let row = |avx512, avx2, sources| Row {
            avx512,
            avx2,
            sources,
            immediate: false,
            commutes: false,
            memory: [true, true],
        };
        let two = |avx512, avx2| row(avx512, avx2, 2);
        let commutative = |avx512, avx2| Row { commutes: true, ..row(avx512, avx2, 2) };
        let shift = |avx512, avx2| Row { immediate: true, memory: [false; 2], ..row(avx512, avx2, 1) };
        let only = |avx512, sources| row(avx512, INVALID, sources);
        match self {
            V::Copy => Row {
                memory: [false, true],
                ..row(EVEX_Vmovdqa32_zmm_k1z_zmmm512, VEX_Vmovdqa_ymm_ymmm256, 1)
            },
            V::Add => commutative(EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, VEX_Vpaddd_ymm_ymm_ymmm256),
            V::Sub => two(EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, VEX_Vpsubd_ymm_ymm_ymmm256),
            V::And => commutative(EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, VEX_Vpand_ymm_ymm_ymmm256),
            V::Or => commutative(EVEX_Vpord_zmm_k1z_zmm_zmmm512b32, VEX_Vpor_ymm_ymm_ymmm256),
            V::Xor => commutative(EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, VEX_Vpxor_ymm_ymm_ymmm256),
            V::Shl => two(EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32, VEX_Vpsllvd_ymm_ymm_ymmm256),
            V::Shr => two(EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32, VEX_Vpsrlvd_ymm_ymm_ymmm256),
            V::Sar => two(EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32, VEX_Vpsravd_ymm_ymm_ymmm256),
            V::ShlImm => shift(EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, VEX_Vpslld_ymm_ymm_imm8),
            V::ShrImm => shift(EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8, VEX_Vpsrld_ymm_ymm_imm8),
            V::SarImm => shift(EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8, VEX_Vpsrad_ymm_ymm_imm8),
            V::ShrWide => Row {
                memory: [false; 2],
                ..shift(EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8, VEX_Vpsrlq_ymm_ymm_imm8)
            },
            V::ShlWords => shift(EVEX_Vpsllw_zmm_k1z_zmmm512_imm8, VEX_Vpsllw_ymm_ymm_imm8),
            V::ShrWords => shift(EVEX_Vpsrlw_zmm_k1z_zmmm512_imm8, VEX_Vpsrlw_ymm_ymm_imm8),
            V::SarWords => shift(EVEX_Vpsraw_zmm_k1z_zmmm512_imm8, VEX_Vpsraw_ymm_ymm_imm8),
            V::MulAddWords => Row {
                memory: [false, true],
                ..commutative(EVEX_Vpmaddwd_zmm_k1z_zmm_zmmm512, VEX_Vpmaddwd_ymm_ymm_ymmm256)
            },
            V::Mul => commutative(EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32, VEX_Vpmulld_ymm_ymm_ymmm256),
            V::MulEven => Row {
                memory: [false; 2],
                ..commutative(EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64, VEX_Vpmuludq_ymm_ymm_ymmm256)
            },
            V::MulEvenSigned => Row {
                memory: [false; 2],
                ..commutative(EVEX_Vpmuldq_zmm_k1z_zmm_zmmm512b64, VEX_Vpmuldq_ymm_ymm_ymmm256)
            },
            V::MinSigned => commutative(EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32, VEX_Vpminsd_ymm_ymm_ymmm256),
            V::MaxSigned => commutative(EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32, VEX_Vpmaxsd_ymm_ymm_ymmm256),
            V::MinUnsigned => commutative(EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32, VEX_Vpminud_ymm_ymm_ymmm256),
            V::MaxUnsigned => commutative(EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32, VEX_Vpmaxud_ymm_ymm_ymmm256),
            V::AddF32 => commutative(EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er, VEX_Vaddps_ymm_ymm_ymmm256),
            V::SubF32 => two(EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er, VEX_Vsubps_ymm_ymm_ymmm256),
            V::MulF32 => commutative(EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er, VEX_Vmulps_ymm_ymm_ymmm256),
            V::DivF32 => two(EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er, VEX_Vdivps_ymm_ymm_ymmm256),
            V::SqrtF32 => row(EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er, VEX_Vsqrtps_ymm_ymmm256, 1),
            V::MinF32 => two(EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae, VEX_Vminps_ymm_ymm_ymmm256),
            V::MaxF32 => two(EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae, VEX_Vmaxps_ymm_ymm_ymmm256),
            V::Fma => row(EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er, VEX_Vfmadd231ps_ymm_ymm_ymmm256, 3),
            V::Round => Row {
                immediate: true,
                ..row(EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae, VEX_Vroundps_ymm_ymmm256_imm8, 1)
            },
            V::Exp2 | V::ReciprocalRoot => Row { memory: [false; 2], ..row(INVALID, INVALID, 1) },
            V::F32OfSigned => row(EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er, VEX_Vcvtdq2ps_ymm_ymmm256, 1),
            V::F32OfF16 => Row {
                memory: [false; 2],
                ..row(EVEX_Vcvtph2ps_zmm_k1z_ymmm256_sae, VEX_Vcvtph2ps_ymm_xmmm128, 1)
            },
            V::F16OfF32 => Row {
                memory: [false; 2],
                ..row(EVEX_Vcvtps2ph_ymmm256_k1z_zmm_imm8_sae, VEX_Vcvtps2ph_xmmm128_ymm_imm8, 1)
            },
            V::F32OfUnsigned => only(EVEX_Vcvtudq2ps_zmm_k1z_zmmm512b32_er, 1),
            V::SignedOfF32 => row(EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae, VEX_Vcvttps2dq_ymm_ymmm256, 1),
            V::UnsignedOfF32 => only(EVEX_Vcvttps2udq_zmm_k1z_zmmm512b32_sae, 1),
            V::Ternary => Row { immediate: true, ..only(EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8, 3) },
            V::CompareF32 => Row {
                immediate: true,
                ..row(EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae, VEX_Vcmpps_ymm_ymm_ymmm256_imm8, 2)
            },
            V::Equal => commutative(EVEX_Vpcmpeqd_kr_k1_zmm_zmmm512b32, VEX_Vpcmpeqd_ymm_ymm_ymmm256),
            V::GreaterSigned => two(EVEX_Vpcmpgtd_kr_k1_zmm_zmmm512b32, VEX_Vpcmpgtd_ymm_ymm_ymmm256),
            V::GreaterUnsigned => only(EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8, 2),
            V::EitherMask => Row { memory: [false; 2], ..two(VEX_Korw_kr_kr_kr, VEX_Vpor_ymm_ymm_ymmm256) },
            V::BothMasks => Row { memory: [false; 2], ..two(VEX_Kandw_kr_kr_kr, VEX_Vpand_ymm_ymm_ymmm256) },
            V::NotMask => Row { memory: [false; 2], ..row(VEX_Knotw_kr_kr, VEX_Vpxor_ymm_ymm_ymmm256, 1) },
            V::Select => Row {
                memory: [false; 2],
                ..row(EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32, VEX_Vblendvps_ymm_ymm_ymmm256_ymm, 3)
            },
        }
    }
}
