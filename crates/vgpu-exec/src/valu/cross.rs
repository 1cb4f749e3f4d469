//! Operations across lanes, and on registers selected at run time.

use gpu_report::FaultKind;
use vgpu_isa::{Op, scalar};

use crate::level::scalar_handler;
use crate::lower::Context;
use crate::{Body, Code, Flow, Handler, Src, TEMPS, Wave, all, handler};

/// Reads a 32-bit source for a wave of `W` lanes; a scalar is the same in all lanes.
///
/// # Safety
/// The source must have been lowered for this wave.
#[inline(always)]
pub(super) unsafe fn read<const W: usize>(wave: &Wave, src: Src) -> [u32; W] {
    match src {
        // SAFETY: the caller's promise.
        Src::Vector(first) => unsafe { wave.vgpr.add(first as usize).cast::<[u32; W]>().read() },
        Src::Scalar(slot) => [wave.sgpr[usize::from(slot & 127)]; W],
        Src::Const(value) => [value as u32; W],
        Src::Temp(row) => {
            let row = &wave.temp[usize::from(row) % TEMPS];
            crate::rows::from_fn(|lane| row[lane])
        }
    }
}

/// One lane of register `register` of a source with one or more 32-bit registers.
///
/// # Safety
/// As for [`read`]; the source must have the register.
#[inline(always)]
pub(super) unsafe fn word<const W: usize>(wave: &Wave, src: Src, register: u32, lane: usize) -> u32 {
    match src {
        // SAFETY: the caller's promise.
        Src::Vector(first) => unsafe { wave.vgpr.add(first as usize + register as usize * W + lane).read() },
        Src::Scalar(slot) => wave.sgpr[usize::from(slot + register as u8) & 127],
        Src::Const(value) => (value >> (32 * (register & 1))) as u32,
        Src::Temp(row) => wave.temp[(usize::from(row) + register as usize) % TEMPS][lane],
    }
}

/// Writes the lanes that `mask` enables.
///
/// # Safety
/// The register must lie in the wave's file.
#[inline(always)]
pub(super) unsafe fn write<const W: usize>(wave: &mut Wave, first: u32, value: &[u32; W], mask: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        let at = wave.vgpr.add(first as usize).cast::<[u32; W]>();
        if mask == all::<W>() {
            at.write(*value);
            return;
        }
        let mut merged = at.read();
        for lane in 0..W {
            if mask >> lane & 1 != 0 {
                merged[lane] = value[lane];
            }
        }
        at.write(merged);
    }
}

/// Defines handler bodies.
macro_rules! bodies {
    ($($(#[$doc:meta])* $name:ident |$wave:ident, $code:ident| $body:block)*) => {$(
        $(#[$doc])*
        struct $name;

        impl Body for $name {
            #[inline(always)]
            unsafe fn run<const W: usize>($wave: &mut Wave, $code: &Code) -> Flow {
                // SAFETY: operands were lowered for this wave, and the functions called here require nothing
                // else.
                unsafe { $body }
                #[allow(unreachable_code, reason = "some bodies return themselves")]
                Flow::Next
            }
        }
    )*};
}

bodies! {
    ReadFirstLane |wave, code| {
        // If no lane is enabled, lane 0 is read.
        let lane = (wave.exec::<W>().trailing_zeros() & 63) as usize % W;
        let value = read::<W>(wave, code.src[0])[if wave.exec::<W>() == 0 { 0 } else { lane }];
        wave.set_scalar(code.dst as u8, value);
    }
    ReadLane |wave, code| {
        let lane = read::<W>(wave, code.src[1])[0] as usize % W;
        let value = read::<W>(wave, code.src[0])[lane];
        wave.set_scalar(code.dst as u8, value);
    }
    /// The lane is written whether EXEC enables it or not.
    WriteLane |wave, code| {
        let value = read::<W>(wave, code.src[0])[0];
        let lane = read::<W>(wave, code.src[1])[0] as usize % W;
        wave.vgpr.add(code.dst as usize + lane).write(value);
    }
    Swap |wave, code| {
        let Src::Vector(other) = code.src[0] else { return Flow::Next };
        let (a, b) = (read::<W>(wave, code.src[0]), read::<W>(wave, Src::Vector(code.dst)));
        let mask = wave.exec::<W>();
        write(wave, code.dst, &a, mask);
        write(wave, other, &b, mask);
    }
    SwapRows |wave, code| {
        swap_rows::<W>(wave, code, 16);
    }
    SwapWaveHalves |wave, code| {
        swap_rows::<W>(wave, code, 32);
    }
    SwapHalves |wave, code| {
        let Src::Vector(other) = code.src[0] else { return Flow::Next };
        let (from, to) = (u32::from(code.mods.op_sel & 1) * 16, u32::from(code.mods.op_sel >> 3 & 1) * 16);
        let mask = wave.exec::<W>();
        for lane in 0..W {
            if mask >> lane & 1 != 0 {
                let a = wave.vgpr.add(other as usize + lane);
                let b = wave.vgpr.add(code.dst as usize + lane);
                let (x, y) = (a.read() >> from & 0xffff, b.read() >> to & 0xffff);
                a.write(a.read() & !(0xffff << from) | y << from);
                b.write(b.read() & !(0xffff << to) | x << to);
            }
        }
    }
    /// Exchanges the halves of a wave of 64; does nothing in a wave of 32.
    Permlane64 |wave, code| {
        if W == 64 {
            let data = read::<W>(wave, code.src[0]);
            let mask = wave.exec::<W>();
            write(wave, code.dst, &crate::rows::from_fn::<u32, W>(|lane| data[lane ^ 32]), mask);
        }
    }
    Permlane16 |wave, code| {
        permlane::<W>(wave, code, 0);
    }
    PermlaneX16 |wave, code| {
        permlane::<W>(wave, code, 16);
    }
    Permlane16Var |wave, code| {
        permlane_var::<W>(wave, code, 0);
    }
    PermlaneX16Var |wave, code| {
        permlane_var::<W>(wave, code, 16);
    }
    /// `dst = v[src + M0]`
    MoveRelativeSource |wave, code| {
        let m0 = wave.sgpr[usize::from(scalar::M0)];
        return relative::<W>(wave, code, m0, 0);
    }
    /// `v[dst + M0] = src`
    MoveRelativeTarget |wave, code| {
        let m0 = wave.sgpr[usize::from(scalar::M0)];
        return relative::<W>(wave, code, 0, m0);
    }
    MoveRelativeBoth |wave, code| {
        let m0 = wave.sgpr[usize::from(scalar::M0)];
        return relative::<W>(wave, code, m0, m0);
    }
    MoveRelativeTwo |wave, code| {
        let m0 = wave.sgpr[usize::from(scalar::M0)];
        return relative::<W>(wave, code, m0 & 0x3ff, m0 >> 16 & 0x3ff);
    }
    SwapRelative |wave, code| {
        let m0 = wave.sgpr[usize::from(scalar::M0)];
        let Src::Vector(other) = code.src[0] else { return Flow::Next };
        let (a, b) = match (register::<W>(other, m0 & 0x3ff), register::<W>(code.dst, m0 >> 16 & 0x3ff)) {
            (Some(a), Some(b)) => (a, b),
            _ => return no_register(wave, m0),
        };
        let (x, y) = (read::<W>(wave, Src::Vector(a)), read::<W>(wave, Src::Vector(b)));
        let mask = wave.exec::<W>();
        write(wave, b, &x, mask);
        write(wave, a, &y, mask);
    }
    /// The low result register comes from source 0, the high one from source 1; `op_sel` selects one of each
    /// pair.
    PackedMove |wave, code| {
        let pick = |i: usize| {
            let high = code.mods.op_sel >> i & 1 != 0;
            match code.src[i] {
                Src::Vector(first) if high => Src::Vector(first + W as u32),
                Src::Scalar(slot) if high => Src::Scalar(slot + 1),
                Src::Const(value) if high => Src::Const(value >> 32),
                Src::Temp(row) if high => Src::Temp(row + 1),
                src => src,
            }
        };
        let (low, high) = (read::<W>(wave, pick(0)), read::<W>(wave, pick(1)));
        let mask = wave.exec::<W>();
        write(wave, code.dst, &low, mask);
        write(wave, code.dst + W as u32, &high, mask);
    }
}

/// Reads any lane of the lane's row of 16, or of the other row of the pair. `op_sel` holds "fetch inactive"
/// and "bound control".
///
/// # Safety
/// Operands must have been lowered for this wave.
#[inline(always)]
unsafe fn permlane<const W: usize>(wave: &mut Wave, code: &Code, other_row: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let (low, high) = (read::<W>(wave, code.src[1])[0], read::<W>(wave, code.src[2])[0]);
        let selectors = u64::from(low) | u64::from(high) << 32;
        permute_rows::<W>(wave, code, other_row, |lane| (selectors >> (4 * (lane % 16))) as u32);
    }
}

/// The same, but each lane selects its source by the low bits of source 1.
///
/// # Safety
/// Operands must have been lowered for this wave.
#[inline(always)]
unsafe fn permlane_var<const W: usize>(wave: &mut Wave, code: &Code, other_row: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let selectors = read::<W>(wave, code.src[1]);
        permute_rows::<W>(wave, code, other_row, |lane| selectors[lane]);
    }
}

/// Lane `l` takes the value of source 0 in a lane of its row of sixteen; the low four bits of `selector(l)`
/// select the lane.
///
/// # Safety
/// Operands must have been lowered for this wave.
#[inline(always)]
unsafe fn permute_rows<const W: usize>(
    wave: &mut Wave,
    code: &Code,
    other_row: usize,
    selector: impl Fn(usize) -> u32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let data = read::<W>(wave, code.src[0]);
        let enabled = wave.exec::<W>();
        let (fetch_inactive, bound_control) = (code.mods.op_sel & 1 != 0, code.mods.op_sel & 2 != 0);
        let mut value = read::<W>(wave, Src::Vector(code.dst));
        for (lane, value) in value.iter_mut().enumerate() {
            let from = ((lane ^ other_row) & !15) + (selector(lane) & 15) as usize;
            if enabled >> from & 1 != 0 || fetch_inactive {
                *value = data[from];
            } else if bound_control {
                *value = 0;
            }
        }
        write(wave, code.dst, &value, enabled);
    }
}

/// Exchanges every second group of `rows` lanes of the destination with the preceding group of source 0.
/// `op_sel` holds "fetch inactive" and "bound control".
///
/// # Safety
/// Operands must have been lowered for this wave.
#[inline(always)]
unsafe fn swap_rows<const W: usize>(wave: &mut Wave, code: &Code, rows: usize) {
    let Src::Vector(other) = code.src[0] else { return };
    let (fetch_inactive, bound_control) = (code.mods.op_sel & 1 != 0, code.mods.op_sel & 2 != 0);
    let enabled = wave.exec::<W>();
    // SAFETY: the caller's promise.
    unsafe {
        let (a, b) = (read::<W>(wave, code.src[0]), read::<W>(wave, Src::Vector(code.dst)));
        let (mut new_a, mut new_b) = (a, b);
        let taken = |old: u32, value: u32, from: usize| match enabled >> from & 1 != 0 || fetch_inactive {
            true => value,
            false if bound_control => 0,
            false => old,
        };
        for lane in 0..W {
            if lane & rows != 0 && lane < W {
                let partner = lane ^ rows;
                new_b[lane] = taken(b[lane], a[partner], partner);
                new_a[partner] = taken(a[partner], b[lane], lane);
            }
        }
        // If both are the same register, it keeps what it receives as the destination.
        write(wave, other, &new_a, enabled);
        if other == code.dst {
            new_b = crate::rows::from_fn(|lane| if lane & rows != 0 { new_b[lane] } else { new_a[lane] });
        }
        write(wave, code.dst, &new_b, enabled);
    }
}

/// The register `offset` after the one that starts at `first`, if it is in the file.
fn register<const W: usize>(first: u32, offset: u32) -> Option<u32> {
    let number = (first / W as u32).checked_add(offset)?;
    (number < 256).then(|| number * W as u32)
}

#[cold]
fn no_register(wave: &mut Wave, offset: u32) -> Flow {
    wave.fail(FaultKind::Unsupported {
        what: format!("vector register at offset {offset}, which does not exist"),
    })
}

/// A move between registers relative to the named ones.
///
/// # Safety
/// Operands must have been lowered for this wave.
#[inline(always)]
unsafe fn relative<const W: usize>(wave: &mut Wave, code: &Code, from: u32, to: u32) -> Flow {
    let source = match code.src[0] {
        Src::Vector(first) => match register::<W>(first, from) {
            Some(first) => Src::Vector(first),
            None => return no_register(wave, from),
        },
        src => src,
    };
    let Some(target) = register::<W>(code.dst, to) else { return no_register(wave, to) };
    // SAFETY: both registers are in the file.
    unsafe {
        let value = read::<W>(wave, source);
        let mask = wave.exec::<W>();
        write(wave, target, &value, mask);
    }
    Flow::Next
}

/// The handler of an operation of this file.
pub(super) fn find(op: Op, context: &Context) -> Option<Handler> {
    let (lanes, level) = (context.lanes, context.level);
    Some(match op {
        Op::VReadfirstlaneB32 => handler::<ReadFirstLane>(lanes, level),
        Op::VReadlaneB32 => handler::<ReadLane>(lanes, level),
        Op::VWritelaneB32 => handler::<WriteLane>(lanes, level),
        Op::VSwapB32 => handler::<Swap>(lanes, level),
        Op::VSwapB16 => handler::<SwapHalves>(lanes, level),
        Op::VPermlane16SwapB32 => scalar_handler::<SwapRows>(lanes),
        Op::VPermlane32SwapB32 => scalar_handler::<SwapWaveHalves>(lanes),
        Op::VPermlane64B32 => handler::<Permlane64>(lanes, level),
        Op::VPermlane16B32 => handler::<Permlane16>(lanes, level),
        Op::VPermlanex16B32 => handler::<PermlaneX16>(lanes, level),
        Op::VPermlane16VarB32 => handler::<Permlane16Var>(lanes, level),
        Op::VPermlanex16VarB32 => handler::<PermlaneX16Var>(lanes, level),
        Op::VMovrelsB32 => handler::<MoveRelativeSource>(lanes, level),
        Op::VMovreldB32 => handler::<MoveRelativeTarget>(lanes, level),
        Op::VMovrelsdB32 => handler::<MoveRelativeBoth>(lanes, level),
        Op::VMovrelsd2B32 => handler::<MoveRelativeTwo>(lanes, level),
        Op::VSwaprelB32 => handler::<SwapRelative>(lanes, level),
        Op::VPkMovB32 => handler::<PackedMove>(lanes, level),
        _ => return None,
    })
}
