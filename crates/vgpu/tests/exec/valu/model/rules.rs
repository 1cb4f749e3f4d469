//! Properties of operations other than their result: what they flush, round, keep and select.

use super::Setting;
use super::exact::{BF16, F16, F32, F64, Format as Float};
use vgpu::isa::{Elem, Op, Type};
use vgpu::machine::Generation;

pub(super) fn float_of(ty: Type) -> Option<Float> {
    match ty.elem {
        Elem::F16 => Some(F16),
        Elem::Bf16 => Some(BF16),
        Elem::F32 => Some(F32),
        Elem::F64 => Some(F64),
        _ => None,
    }
}

/// Whether MODE flushes a format's subnormal sources and results.
pub(super) fn flushes(format: Float, mode: u32) -> [bool; 2] {
    let bits = if format == F32 { mode >> 4 } else { mode >> 6 };
    [bits & 1 == 0, bits & 2 == 0]
}

/// Dot products of RDNA 3 and 4 treat subnormal numbers differently; their models implement that.
pub(super) fn is_on_grid(op: Op, generation: Generation) -> bool {
    (op.name().starts_with("v_dot2") || op.name().starts_with("v_dot4_f32"))
        && generation >= Generation::Gfx11
}

/// Operations on f32 that always flush subnormal numbers.
pub(super) fn always_flushes(op: Op, generation: Generation) -> bool {
    let name = op.name();
    if matches!(op, Op::VDot2F32F16 | Op::VDot2accF32F16) {
        return generation.is_cdna();
    }
    let bases =
        ["v_rcp_", "v_rsq_", "v_sqrt_", "v_exp_", "v_log_", "v_mad_", "v_mac_", "v_madmk_", "v_madak_"];
    let zero_wins = generation >= Generation::Gfx11
        && (name.starts_with("v_fma_dx9_zero") || name.starts_with("v_fmac_dx9_zero"));
    zero_wins || name.ends_with("_f32") && bases.iter().any(|base| name.starts_with(base))
}

/// Whether subnormal results become zero: because of MODE, the operation, or, since gfx12, the output
/// multiplier.
pub(super) fn flushes_results(op: Op, setting: &Setting) -> bool {
    let by_mode = float_of(op.signature().dst).is_some_and(|format| flushes(format, setting.mode)[1]);
    let multiplied = setting.mods.omod != 0 && setting.generation == Generation::Gfx12;
    by_mode || multiplied || always_flushes(op, setting.generation)
}

/// Whether signalling NaNs stay signalling: before gfx12, without IEEE's rules.
pub(super) fn loud(generation: Generation, mode: u32) -> bool {
    generation < Generation::Gfx12 && mode & 0x200 == 0
}

/// The operations to which this applies.
pub(super) fn is_loud(op: Op) -> bool {
    let name = op.name().trim_start_matches("v_");
    let Some(base) = ["_f16", "_f32", "_f64"].iter().find_map(|end| name.strip_suffix(end)) else {
        return false;
    };
    let base =
        ["_legacy", "_iflag", "_dx9_zero"].iter().find_map(|end| base.strip_suffix(end)).unwrap_or(base);
    let all =
        "add sub subrev mul fma fmac fmamk fmaak mad mac madmk madak rcp rsq sqrt exp log sin cos div_scale";
    all.split(' ').any(|one| one == base)
}

/// Operations whose output multiplier applies even if MODE keeps subnormal results.
pub(super) fn always_multiplies(op: Op, generation: Generation) -> bool {
    always_flushes(op, generation) || is_cube(op) || op == Op::VCosF32
}

pub(super) fn is_cube(op: Op) -> bool {
    op.name().starts_with("v_cube")
}

pub(super) fn is_fixup(op: Op) -> bool {
    op.name().starts_with("v_div_fixup")
}

/// Operations of the transcendental unit.
pub(super) fn is_transcendental(op: Op) -> bool {
    let bases = ["v_rcp_", "v_rsq_", "v_sqrt_", "v_exp_", "v_log_", "v_sin_", "v_cos_"];
    !op.name().ends_with("_f64") && bases.iter().any(|base| op.name().starts_with(base))
}

/// Whether a source keeps its subnormal numbers, whatever MODE is.
pub(super) fn keeps_source(op: Op, k: usize) -> bool {
    is_cube(op) || op.name().starts_with("v_div_fmas") || is_fixup(op) && k == 0
}

/// Whether a result is kept unchanged, neither flushed nor saturated.
pub(super) fn keeps_result(op: Op) -> bool {
    is_extreme(op) || is_cube(op) || is_fixup(op)
}

/// The operations that the rounding mode of MODE affects.
pub(super) fn rounds(op: Op) -> bool {
    let name = op.name().trim_start_matches("v_");
    let bases = [
        "add_f",
        "sub_f",
        "subrev_f",
        "mul_f",
        "fma_f",
        "fmac_f",
        "fmamk_f",
        "fmaak_f",
        "mul_dx9",
        "fma_dx9",
        "fmac_dx9",
        "mad_f",
        "mac_f",
        "cvt_f32_i32",
        "cvt_f32_u32",
        "cvt_f16_",
        "cvt_f32_f64",
        "cvt_pk_u8_f32",
        "cvt_pkaccum",
        "ldexp_",
        "div_fixup_",
        "div_fmas_",
        "fract_",
        "cubema_",
        "rcp_f32",
        "rcp_f16",
        "exp_f",
    ];
    bases.iter().any(|base| name.starts_with(base))
}

/// Whether a 16-bit result leaves the rest of its register unchanged.
pub(super) fn keeps_rest(op: Op, generation: Generation) -> bool {
    let name = op.name().trim_start_matches("v_");
    let new = [
        "mad_f16",
        "madak_f16",
        "madmk_f16",
        "mac_f16",
        "fmamk_f16",
        "fmaak_f16",
        "fmac_f16",
        "fma_f16",
        "mad_u16",
        "mad_i16",
        "div_fixup_f16",
    ];
    !generation.is_cdna() || new.contains(&name)
}

/// Dot products whose halves are selected and negated separately.
pub(super) fn has_modified_pairs(op: Op) -> bool {
    matches!(op, Op::VDot2F32F16 | Op::VDot2F32Bf16)
}

/// Dot products whose sign modifiers apply to both halves.
pub(super) fn has_paired_signs(op: Op) -> bool {
    matches!(op, Op::VDot2F16F16 | Op::VDot2Bf16Bf16 | Op::VDot2accF32F16 | Op::VDot2accF32Bf16)
}

pub(super) fn mask_of(bits: u32) -> u64 {
    u64::MAX >> (64 - bits.clamp(1, 64))
}

/// Minimum, maximum and similar operations only select a source.
pub(super) fn is_extreme(op: Op) -> bool {
    op.name().starts_with("v_m")
        && (op.name().contains("min") || op.name().contains("max") || op.name().contains("med3"))
}
