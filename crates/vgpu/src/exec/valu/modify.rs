//! Modifiers: negation and absolute value of sources, multiplier and clamp of results. An instruction that has some becomes
//! several codes: copies of the modified sources in rows, the plain operation on them, and a pass over its result. So one
//! handler per operation is enough.

use super::super::{Body, Code, Flow, Src, TEMPS, Wave};
use super::Engine;
use super::lane::Lane;
use super::numbers::{f32_to_half, half_to_f32};
use crate::isa::{Elem, Format, Inst};

/// How wide a float is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Width {
    Half,
    Single,
    Double,
}

fn width(elem: Elem) -> Option<Width> {
    match elem {
        Elem::F16 | Elem::Bf16 | Elem::B16 => Some(Width::Half),
        Elem::F32 | Elem::B32 => Some(Width::Single),
        Elem::F64 => Some(Width::Double),
        _ => None,
    }
}

/// Pushes an instruction's code with what its modifiers ask for around it; none if they cannot be applied.
pub(super) fn wrap(inst: &Inst, mut code: Code, e: Engine, codes: &mut Vec<Code>) -> Option<()> {
    // the handlers of packed instructions apply modifiers themselves, to halves
    if inst.format == Format::Vop3p {
        codes.push(code);
        return Some(());
    }
    let mods = inst.mods;
    let signature = inst.op.signature();
    for i in 0..3 {
        let (negate, absolute) = (mods.neg >> i & 1 != 0, mods.abs >> i & 1 != 0);
        let Some(width) = width(signature.src[i].elem).filter(|_| negate || absolute) else { continue };
        let row = 2 * i as u8;
        let copy = match width {
            Width::Half => e.handler::<Sign<1>>(),
            Width::Single => e.handler::<Sign<2>>(),
            Width::Double => e.handler::<Sign<4>>(),
        };
        codes.push(Code {
            run: copy,
            src: [code.src[i], Src::Const(0), Src::Const(0), Src::Const(0)],
            dst: u32::from(row),
            imm: i64::from(negate) | i64::from(absolute) << 1 | i64::from(mods.op_sel >> i & 1) << 2,
            ..code
        });
        code.src[i] = Src::Temp(row);
        code.mods.op_sel &= !(1 << i);
    }
    codes.push(code);
    if mods.omod == 0 && !mods.clamp {
        return Some(());
    }
    let run = match signature.dst.elem {
        Elem::F16 => e.handler::<Finish<1>>(),
        Elem::F32 => e.handler::<Finish<2>>(),
        Elem::F64 => e.handler::<Finish<4>>(),
        _ => return None,
    };
    codes.push(Code { run, ..code });
    Some(())
}

/// Copies a float of that many halves to a row, with its sign cleared or flipped.
struct Sign<const HALVES: usize>;

impl<const HALVES: usize> Body for Sign<HALVES> {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        let (negate, absolute, high) = (code.imm & 1, code.imm >> 1 & 1, code.imm >> 2 & 1 != 0);
        let row = code.dst as usize;
        let signed = |value: u32, bit: u32| value & !((absolute as u32) << bit) ^ (negate as u32) << bit;
        // SAFETY: the caller's promise.
        unsafe {
            if HALVES == 4 {
                let value = u64::read::<W>(wave, code.src[0], false);
                for l in 0..W {
                    wave.temp[row % TEMPS][l] = value[l] as u32;
                    wave.temp[(row + 1) % TEMPS][l] = signed((value[l] >> 32) as u32, 31);
                }
                return Flow::Next;
            }
            let value = u32::read::<W>(wave, code.src[0], false);
            let shift = if HALVES == 1 && high { 16 } else { 0 };
            for l in 0..W {
                wave.temp[row % TEMPS][l] = signed(value[l] >> shift, if HALVES == 1 { 15 } else { 31 });
            }
        }
        Flow::Next
    }
}

/// Multiplies and clamps a float of that many halves in place.
struct Finish<const HALVES: usize>;

/// The multiplier of an `omod` code.
#[inline(always)]
fn factor(omod: u8) -> f32 {
    match omod {
        1 => 2.0,
        2 => 4.0,
        3 => 0.5,
        _ => 1.0,
    }
}

impl<const HALVES: usize> Body for Finish<HALVES> {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        let factor = factor(code.mods.omod);
        let clamp = code.mods.clamp;
        let dst = Src::Vector(code.dst);
        let mask = wave.exec::<W>();
        // a NaN clamps to zero
        let finish = |value: f32| {
            let value = value * factor;
            if !clamp {
                value
            } else if value > 0.0 {
                if value < 1.0 { value } else { 1.0 }
            } else {
                0.0
            }
        };
        // SAFETY: the caller's promise.
        unsafe {
            match HALVES {
                1 => {
                    let mut value = u16::read::<W>(wave, dst, code.mods.op_sel & 8 != 0);
                    for l in 0..W {
                        value[l] = f32_to_half(finish(half_to_f32(value[l])));
                    }
                    u16::write::<W>(wave, code.dst, &value, mask, code);
                }
                2 => {
                    let mut value = f32::read::<W>(wave, dst, false);
                    for l in 0..W {
                        value[l] = finish(value[l]);
                    }
                    f32::write::<W>(wave, code.dst, &value, mask, code);
                }
                _ => {
                    let mut value = f64::read::<W>(wave, dst, false);
                    for l in 0..W {
                        let x = value[l] * f64::from(factor);
                        value[l] = if !clamp {
                            x
                        } else if x > 0.0 {
                            x.min(1.0)
                        } else {
                            0.0
                        };
                    }
                    f64::write::<W>(wave, code.dst, &value, mask, code);
                }
            }
        }
        Flow::Next
    }
}
