//! The handlers of matrix instructions.

use std::mem::MaybeUninit;
use std::ptr::addr_of_mut;

use vgpu_isa::Modifiers;

use super::layout::{self, Plan};
use super::multiply::{self, Integers, Product};
use super::operand::{self, Addend, Reading, Tuple};
use super::table::{Family, Format, INSTRUCTIONS, Instruction, Sum};
use crate::float::dot;
use crate::level::{SimdBody, widest_handler};
use crate::simd::{D, G, LANES, Simd};
use crate::{Code, Flow, Handler, Level, Src, TEMPS, Wave};

/// `Code::imm`: the number of the instruction, with this flag if products are added pairwise.
pub(super) const PAIRWISE: i64 = 1 << 16;
/// In `Code::imm`: C and D are registers of 32-bit elements, and are either the same or do not overlap.
pub(super) const DIRECT: i64 = 1 << 17;

/// In `Code::imm`: elements of A and B are scaled.
pub(super) const SCALED: i64 = 1 << 18;
/// In `Code::imm`, from these bits on: the vector registers with the scales.
pub(super) const SCALE_A: u32 = 32;
pub(super) const SCALE_B: u32 = 40;

/// The handler for sums of a type.
pub(super) fn handler(sum: Sum, level: Level) -> Handler {
    if sum == Sum::F64 { widest_handler::<Double>(level) } else { widest_handler::<Single>(level) }
}

/// Panels of f32, large enough for the largest instruction.
#[repr(C, align(64))]
struct Panels {
    a: [f32; 2048],
    b: [f32; 2048],
    sum: [f32; 2048],
    rows: [u32; 1024],
}

/// The decoded fields of a code.
struct Parts {
    row: &'static Instruction,
    plan: &'static Plan,
    a: Tuple,
    b: Tuple,
    d: Tuple,
    lanes: usize,
}

impl Parts {
    /// # Safety
    /// The code must have been lowered for this wave.
    #[inline(always)]
    unsafe fn new(wave: &Wave, code: &Code) -> Parts {
        let index = (code.imm & (PAIRWISE - 1)) as usize;
        let lanes = usize::from(wave.lanes);
        // SAFETY: the caller's promise.
        let [a, b, d] = unsafe { [tuple(wave, code.src[0]), tuple(wave, code.src[1]), at(wave, code.dst)] };
        Parts { row: &INSTRUCTIONS[index], plan: layout::plan(index, lanes), a, b, d, lanes }
    }
}

/// # Safety
/// The index must be in the register file.
#[inline(always)]
unsafe fn at(wave: &Wave, first: u32) -> Tuple {
    // SAFETY: the caller's promise.
    Tuple { first: unsafe { wave.vgpr.add(first as usize) }, lanes: usize::from(wave.lanes) }
}

/// The registers of a source. Sources that are not registers are not read.
///
/// # Safety
/// The source must have been lowered for this wave.
#[inline(always)]
unsafe fn tuple(wave: &Wave, source: Src) -> Tuple {
    let first = if let Src::Vector(first) = source { first } else { 0 };
    // SAFETY: the caller's promise.
    unsafe { at(wave, first) }
}

/// The bits of all elements of C, if it is not in registers.
#[inline(always)]
fn constant(wave: &Wave, source: Src) -> Option<u64> {
    match source {
        Src::Const(bits) => Some(bits),
        Src::Temp(row) => {
            let [low, high] =
                crate::rows::map([0, 1], |i: usize| wave.temp[(usize::from(row) + i) % TEMPS][0]);
            Some(u64::from(low) | u64::from(high) << 32)
        }
        _ => None,
    }
}

/// Sums of f32, and of types that are computed as f32.
struct Single;

impl SimdBody for Single {
    #[inline(always)]
    unsafe fn run<S: Simd>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the code was lowered for this wave, tuples have as many registers as the plan counts, and
        // panels are large enough for every instruction; a test checks that.
        unsafe {
            let Parts { row, plan, a, b, d, lanes } = Parts::new(wave, code);
            let pairwise = code.imm & PAIRWISE != 0;
            let mut mods = code.mods;
            if row.sparse {
                mods.blgp = 0;
            }
            if matches!(row.b, Format::Fp8 | Format::Bf8) {
                // Only C can be negated.
                mods.neg &= 4;
                mods.neg_hi &= 4;
            }
            let mut panels = MaybeUninit::<Panels>::uninit();
            let panels = panels.as_mut_ptr();
            let (panel_a, panel_b, sum, rows) = (
                addr_of_mut!((*panels).a).cast::<f32>(),
                addr_of_mut!((*panels).b).cast::<f32>(),
                addr_of_mut!((*panels).sum).cast::<f32>(),
                addr_of_mut!((*panels).rows).cast::<u32>(),
            );
            let width = plan.width;
            // MODE's setting for subnormal sources applies to f32 operands of MFMA.
            let flush = pairwise || row.a == Format::F32 && wave.mode & 0x10 == 0;
            let mut how = [Reading::new(&mods, 0, flush), Reading::new(&mods, 1, flush)];
            if code.imm & SCALED != 0 {
                for (i, shift) in [SCALE_A, SCALE_B].into_iter().enumerate() {
                    let register = (code.imm >> shift) as u32 & 255;
                    let byte = mods.op_sel >> i & 1 | (mods.op_sel_hi >> i & 1) << 1;
                    how[i].scale = Some((at(wave, register * lanes as u32), 8 * u32::from(byte)));
                }
            }

            operand::gather::<S>(row.a, a, plan.a_count, &plan.a, width, &how[0], panel_a);
            operand::gather::<S>(row.b, b, plan.b_count, &plan.b, width, &how[1], panel_b);

            // The modifiers of a sparse instruction's third source would be those of the index.
            let c_bits =
                if row.sparse || row.sum == Sum::I32 { [0; 2] } else { [mods.neg & 4, mods.neg_hi & 4] };
            let mut product = Product {
                a: panel_a,
                b: panel_b,
                n: row.n,
                width,
                depth: plan.depth,
                from: sum,
                to: sum,
                places: &multiply::LINEAR,
                keep: if c_bits[1] != 0 { 0x7fff_ffff } else { u32::MAX },
                negate: u32::from(c_bits[0]) << 29,
            };
            let packed = row.family == Family::Gfx12;
            let half = u32::from(mods.op_sel >> 2 & 1);
            let direct = code.imm & DIRECT != 0;
            let addend = match constant(wave, code.src[2]) {
                Some(bits) => Addend::Constant(bits as u32),
                None => Addend::Registers(tuple(wave, code.src[2])),
            };
            match addend {
                Addend::Registers(c) if direct => {
                    product.from = c.first.cast();
                    product.to = d.first.cast();
                    product.places = &plan.lanes;
                }
                _ => operand::gather_sum::<S>(row.sum, packed, plan, addend, lanes, half, sum),
            }
            if row.family == Family::Mfma && mods.cbsz != 0 && row.blocks > 1 {
                broadcast_blocks(panel_a, row, plan, &mods);
            }
            if row.sparse {
                let index = tuple(wave, code.src[3]);
                operand::choose_rows::<S>(plan, row.a, index, index_set(row, &mods), rows);
            }
            if let Some(rules) = dot_rules(row, wave.mode) {
                match row.family {
                    Family::Gfx12 => multiply::dots::<S, 4>(&product, rules),
                    _ => multiply::dots::<S, 2>(&product, rules),
                }
            } else if S::REGISTERS >= 32 {
                multiply::<S, 8>(row, &product, rows, pairwise, mods.clamp);
            } else {
                multiply::<S, 4>(row, &product, rows, pairwise, mods.clamp);
            }
            if !direct {
                operand::scatter::<S>(row.sum, packed, plan, sum, d, half, saturates(wave.mode));
            }
        }
        Flow::Next
    }
}

/// Whether f16 results that overflow become the largest number: FP16_OVFL of MODE.
#[inline(always)]
fn saturates(mode: u32) -> bool {
    mode >> 23 & 1 != 0
}

/// The summation of a dense RDNA instruction on 16-bit floats, as dot products of two (gfx11) or four
/// (gfx12).
#[inline(always)]
fn dot_rules(row: &Instruction, mode: u32) -> Option<dot::Rules> {
    let factors = match row.a {
        Format::F16 => dot::Factors::F16,
        Format::Bf16 => dot::Factors::Bf16,
        _ => return None,
    };
    let rounded = match row.sum {
        Sum::F16 => dot::Rounded::F16(saturates(mode)),
        Sum::Bf16 => dot::Rounded::Bf16,
        _ => dot::Rounded::F32,
    };
    let rules = dot::Rules { factors: [factors; 2], rounded, fourth: row.family == Family::Gfx12 };
    (row.family != Family::Mfma && !row.sparse).then_some(rules)
}

/// The set of indices in the register that a sparse instruction uses.
#[inline(always)]
fn index_set(row: &Instruction, mods: &Modifiers) -> u32 {
    match row.family {
        Family::Mfma if mods.cbsz == 0 => u32::from(mods.abid),
        Family::Mfma => 0,
        _ => u32::from(mods.op_sel & 3),
    }
}

/// `cbsz` and `abid`: every 2^cbsz blocks of A are replaced by the one among them with number `abid`.
///
/// # Safety
/// The panel must belong to the instruction.
#[inline(always)]
unsafe fn broadcast_blocks(panel: *mut f32, row: &Instruction, plan: &Plan, mods: &Modifiers) {
    let share = (1usize << mods.cbsz).min(row.blocks);
    let from = usize::from(mods.abid) % share;
    for k in 0..plan.depth {
        for block in 0..row.blocks {
            let source = block / share * share + from;
            if source == block {
                continue;
            }
            // SAFETY: the caller's promise; the blocks are distinct.
            unsafe {
                let row_k = panel.add(k * plan.width);
                row_k.add(block * row.n).copy_from_nonoverlapping(row_k.add(source * row.n), row.n);
            }
        }
    }
}

/// Multiplies in tiles of `R` rows, or of sixteen sums if the CPU has enough registers.
///
/// # Safety
/// See the functions of `multiply`.
#[inline(always)]
unsafe fn multiply<S: Simd, const R: usize>(
    row: &Instruction,
    product: &Product<'_, f32>,
    rows: *const u32,
    pairs: bool,
    clamp: bool,
) {
    // SAFETY: the caller's promise. `pairwise` only requires whole groups of products.
    unsafe {
        let small = row.n == 4;
        if row.sparse {
            let integers = match (row.sum, clamp) {
                (Sum::I32, true) => Integers::Saturate,
                (Sum::I32, false) => Integers::Wrap,
                _ => Integers::No,
            };
            multiply::sparse::<S, R>(product, rows, integers);
        } else if row.sum == Sum::I32 {
            if small {
                multiply::integers::<S, 4, true>(product, clamp);
            } else {
                multiply::integers::<S, R, false>(product, clamp);
            }
        } else if pairs {
            pairwise::<S, R>(row, product);
        } else if small {
            multiply::chain::<S, 4, 1, true>(product);
        } else if S::REGISTERS < 32 {
            multiply::chain::<S, R, 1, false>(product);
        } else if row.n == 32 {
            multiply::chain::<S, 8, 2, false>(product);
        } else {
            multiply::chain::<S, 16, 1, false>(product);
        }
    }
}

/// # Safety
/// See [`multiply`].
#[inline(always)]
unsafe fn pairwise<S: Simd, const R: usize>(row: &Instruction, product: &Product<'_, f32>) {
    let numbers = product.depth * product.width;
    // As many products are summed first as a lane has elements.
    let twos = product.depth * row.n * row.blocks / 64 == 2;
    // SAFETY: the caller's promise.
    unsafe {
        // f16 products cannot have subnormal sums.
        let extreme = row.a == Format::Bf16
            && (multiply::extreme::<S>(product.a, numbers) || multiply::extreme::<S>(product.b, numbers));
        match (row.n == 4, twos, extreme) {
            (false, false, false) => multiply::pairwise::<S, R, 4, false, false>(product),
            (false, false, true) => multiply::pairwise::<S, R, 4, false, true>(product),
            (false, true, false) => multiply::pairwise::<S, R, 2, false, false>(product),
            (false, true, true) => multiply::pairwise::<S, R, 2, false, true>(product),
            (true, false, false) => multiply::pairwise::<S, 4, 4, true, false>(product),
            (true, false, true) => multiply::pairwise::<S, 4, 4, true, true>(product),
            (true, true, false) => multiply::pairwise::<S, 4, 2, true, false>(product),
            (true, true, true) => multiply::pairwise::<S, 4, 2, true, true>(product),
        }
    }
}

/// Panels of f64.
#[repr(C, align(64))]
struct WidePanels {
    a: [f64; 64],
    b: [f64; 64],
    sum: [f64; 256],
}

/// Sums of f64.
struct Double;

impl SimdBody for Double {
    #[inline(always)]
    unsafe fn run<S: Simd>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: see `Single`.
        unsafe {
            let Parts { row, plan, a, b, d, lanes } = Parts::new(wave, code);
            let mut panels = MaybeUninit::<WidePanels>::uninit();
            let panels = panels.as_mut_ptr();
            let (panel_a, panel_b, sum) = (
                addr_of_mut!((*panels).a).cast::<f64>(),
                addr_of_mut!((*panels).b).cast::<f64>(),
                addr_of_mut!((*panels).sum).cast::<f64>(),
            );
            let negate = |i: u8| u32::from(code.mods.neg >> i & 1) << 31;

            gather_wide::<S>(a, plan.a_count, &plan.a, negate(0), panel_a);
            gather_wide::<S>(b, plan.b_count, &plan.b, negate(1), panel_b);
            match constant(wave, code.src[2]) {
                Some(bits) => {
                    let bits = bits ^ u64::from(negate(2)) << 32;
                    for i in 0..row.n * plan.width {
                        sum.add(i).write(f64::from_bits(bits));
                    }
                }
                None => gather_wide::<S>(tuple(wave, code.src[2]), plan.d_count, &plan.d, negate(2), sum),
            }
            let product = Product {
                a: panel_a,
                b: panel_b,
                n: row.n,
                width: plan.width,
                depth: plan.depth,
                from: sum,
                to: sum,
                places: &multiply::LINEAR,
                keep: u32::MAX,
                negate: 0,
            };
            if row.n == 4 {
                multiply::chain_wide::<S, 4, true>(&product);
            } else {
                multiply::chain_wide::<S, 4, false>(&product);
            }
            for pair in 0..usize::from(plan.d_count) {
                for chunk in 0..lanes / LANES {
                    let place = usize::from(plan.d[pair * 4 + chunk]);
                    let value: G<S> = multiply::Value::load(sum.add(place));
                    let nan = value.is_nan();
                    let (low, high) = nan.select_f64(G::splat(f64::NAN), value).bits().split();
                    d.write(2 * pair, chunk, low);
                    d.write(2 * pair + 1, chunk, high);
                }
            }
        }
        Flow::Next
    }
}

/// Reads pairs of registers into a panel.
///
/// # Safety
/// See [`operand::gather`].
#[inline(always)]
unsafe fn gather_wide<S: Simd>(tuple: Tuple, count: u8, places: &[u16], negate: u32, panel: *mut f64) {
    for pair in 0..usize::from(count) {
        for chunk in 0..tuple.lanes / LANES {
            let Some(&place) = places.get(pair * 4 + chunk) else { continue };
            // SAFETY: the caller's promise.
            unsafe {
                let high = tuple.read::<S>(2 * pair + 1, chunk) ^ negate;
                let value: D<S> = tuple.read::<S>(2 * pair, chunk).join(high);
                multiply::Value::store(value.as_f64(), panel.add(usize::from(place)));
            }
        }
    }
}
