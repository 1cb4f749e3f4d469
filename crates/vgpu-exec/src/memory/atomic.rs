//! Read-modify-write operations.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use gpu_report::AccessKind;
use half::{bf16, f16};

use super::lanes::Registers;
use super::moves::Move;
use crate::Wave;

/// The operation of a read-modify-write on the old value, for words of both 32 and 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Rmw {
    Swap,
    /// Operands: the data, then the value to compare with.
    CmpSwap,
    /// Operands: the value to compare with, then the data.
    CmpSwapSwapped,
    /// Like `CmpSwap`, with a floating-point comparison.
    CmpSwapFloat,
    /// Like `CmpSwapSwapped`, with a floating-point comparison.
    CmpSwapFloatSwapped,
    Add,
    Sub,
    /// Data minus memory.
    Rsub,
    /// Subtracts; a borrow gives zero.
    SubClamp,
    /// Subtracts, unless there would be a borrow.
    SubIf,
    MinI,
    MinU,
    MaxI,
    MaxU,
    And,
    Or,
    Xor,
    /// Counts up to the data, then restarts at zero.
    Inc,
    /// Counts down to zero, then restarts at the data.
    Dec,
    /// Clears the bits of the first operand, and sets those of the second.
    MaskOr,
    /// Subtracts the data if the value is large enough, otherwise adds the second operand.
    Wrap,
    AddFloat,
    /// The lesser number, like `MinNumber`, but a signalling NaN wins and is made quiet.
    MinFloat,
    MaxFloat,
    /// The lesser number; NaN only if neither operand is a number. -0 is less than +0.
    MinNumber,
    MaxNumber,
    AddHalves,
    AddBrainHalves,
}

impl Rmw {
    const ALL: &[Rmw] = &[
        Rmw::Swap,
        Rmw::CmpSwap,
        Rmw::CmpSwapSwapped,
        Rmw::CmpSwapFloat,
        Rmw::CmpSwapFloatSwapped,
        Rmw::Add,
        Rmw::Sub,
        Rmw::Rsub,
        Rmw::SubClamp,
        Rmw::SubIf,
        Rmw::MinI,
        Rmw::MinU,
        Rmw::MaxI,
        Rmw::MaxU,
        Rmw::And,
        Rmw::Or,
        Rmw::Xor,
        Rmw::Inc,
        Rmw::Dec,
        Rmw::MaskOr,
        Rmw::Wrap,
        Rmw::AddFloat,
        Rmw::MinFloat,
        Rmw::MaxFloat,
        Rmw::MinNumber,
        Rmw::MaxNumber,
        Rmw::AddHalves,
        Rmw::AddBrainHalves,
    ];

    /// The operation with that number.
    pub(super) fn from_number(number: u8) -> Rmw {
        Rmw::ALL.get(usize::from(number)).copied().unwrap_or(Rmw::Swap)
    }
}

/// Which subnormal floats count as zero.
#[derive(Clone, Copy, Default)]
pub(super) struct Flush {
    /// Sources: an operation or a comparison treats them as zero.
    sources: bool,
    /// Sums.
    sums: bool,
}

/// How the [`Flush`] of a read-modify-write is determined.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Subnormals {
    /// In LDS: by MODE.
    pub lds: bool,
    /// In other memory: the sources by MODE.
    pub memory: bool,
    /// In other memory: both are always flushed.
    pub never_in_memory: bool,
}

impl Subnormals {
    const SHIFT: u32 = 43;

    /// As bits of [`Code::imm`](crate::Code::imm).
    pub(super) fn bits(self) -> i64 {
        (i64::from(self.lds) | i64::from(self.memory) << 1 | i64::from(self.never_in_memory) << 2)
            << Self::SHIFT
    }

    #[inline(always)]
    pub(super) fn from_bits(imm: i64) -> Self {
        let bit = |i| imm >> (Self::SHIFT + i) & 1 != 0;
        Subnormals { lds: bit(0), memory: bit(1), never_in_memory: bit(2) }
    }

    /// The lowest bits of `mode` say which subnormal numbers are allowed, sources first.
    #[inline(always)]
    fn flush(self, mode: u32, in_memory: bool) -> Flush {
        let (sources, sums) = (mode & 1 == 0, mode & 2 == 0);
        match in_memory {
            false => Flush { sources: self.lds && sources, sums: self.lds && sums },
            true => {
                Flush { sources: self.memory && sources || self.never_in_memory, sums: self.never_in_memory }
            }
        }
    }
}

/// A word of memory.
pub(super) trait Word: Copy + Eq {
    const BYTES: usize;
    /// Reads lane `lane` of the register (pair) that starts at `at`.
    unsafe fn get<const L: usize>(at: *const u32) -> Self;
    unsafe fn put<const L: usize>(at: *mut u32, value: Self);
    fn apply(op: Rmw, old: Self, data: Self, second: Self, flush: Flush) -> Self;
    /// Atomically replaces the word by the result of `op`, and returns the old word.
    unsafe fn shared(memory: *mut u8, op: Rmw, data: Self, second: Self, flush: Flush) -> Self;
}

macro_rules! word {
    ($type:ty, $signed:ty, $float:ty, $atomic:ty, $get:expr, $put:expr, $packed:expr) => {
        impl Word for $type {
            const BYTES: usize = size_of::<$type>();

            #[inline(always)]
            unsafe fn get<const L: usize>(at: *const u32) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $get(at, L) }
            }

            #[inline(always)]
            unsafe fn put<const L: usize>(at: *mut u32, value: Self) {
                // SAFETY: the caller's promise.
                unsafe { $put(at, L, value) }
            }

            #[inline(always)]
            fn apply(op: Rmw, old: Self, data: Self, second: Self, flush: Flush) -> Self {
                let float = <$float>::from_bits;
                let zero = |a: $float| if a.is_subnormal() { (0.0 as $float).copysign(a) } else { a };
                // The value that an operation or a comparison uses.
                let source = |bits: Self| if flush.sources { zero(float(bits)) } else { float(bits) };
                let quiet =
                    |nan: $float| <$float>::from_bits(nan.to_bits() | 1 << (<$float>::MANTISSA_DIGITS - 2));
                // The first NaN, made quiet, or the default NaN, which is negative.
                let add = |a: $float, b: $float| {
                    let sum = a + b;
                    match (a.is_nan(), b.is_nan()) {
                        (true, _) => quiet(a),
                        (_, true) => quiet(b),
                        _ if sum.is_nan() => quiet(<$float>::NEG_INFINITY),
                        _ => sum,
                    }
                };
                let signalling = |a: $float| a.is_nan() && quiet(a).to_bits() != a.to_bits();
                // Whether the data replace the old value. Neither is NaN.
                let takes = |low: bool| {
                    let (a, b) = (source(old), source(data));
                    if a == 0.0 && b == 0.0 {
                        a.is_sign_negative() != b.is_sign_negative() && b.is_sign_negative() == low
                    } else {
                        a != b && (b < a) == low
                    }
                };
                let number = |low: bool| match (float(old).is_nan(), float(data).is_nan()) {
                    (true, true) => quiet(float(data)).to_bits(),
                    (false, true) => source(old).to_bits(),
                    (false, false) if !takes(low) => source(old).to_bits(),
                    _ => source(data).to_bits(),
                };
                let select = |low: bool| match (float(old), float(data)) {
                    (a, _) if signalling(a) => quiet(a).to_bits(),
                    (_, b) if signalling(b) => quiet(b).to_bits(),
                    (_, b) if b.is_nan() => old,
                    (a, _) if a.is_nan() || takes(low) => data,
                    _ => old,
                };
                // A comparison that treats subnormal numbers as zero stores none.
                let if_equal = |compared: Self, new: Self| {
                    let equal = source(old) == source(compared);
                    source(if equal { new } else { old }).to_bits()
                };
                match op {
                    Rmw::Swap => data,
                    Rmw::CmpSwap => {
                        if old == second {
                            data
                        } else {
                            old
                        }
                    }
                    Rmw::CmpSwapSwapped => {
                        if old == data {
                            second
                        } else {
                            old
                        }
                    }
                    Rmw::CmpSwapFloat => if_equal(second, data),
                    Rmw::CmpSwapFloatSwapped => if_equal(data, second),
                    Rmw::Add => old.wrapping_add(data),
                    Rmw::Sub => old.wrapping_sub(data),
                    Rmw::Rsub => data.wrapping_sub(old),
                    Rmw::SubClamp => old.saturating_sub(data),
                    Rmw::SubIf => old.checked_sub(data).unwrap_or(old),
                    Rmw::MinI => (old as $signed).min(data as $signed) as $type,
                    Rmw::MinU => old.min(data),
                    Rmw::MaxI => (old as $signed).max(data as $signed) as $type,
                    Rmw::MaxU => old.max(data),
                    Rmw::And => old & data,
                    Rmw::Or => old | data,
                    Rmw::Xor => old ^ data,
                    Rmw::Inc => {
                        if old >= data {
                            0
                        } else {
                            old + 1
                        }
                    }
                    Rmw::Dec => {
                        if old == 0 || old > data {
                            data
                        } else {
                            old - 1
                        }
                    }
                    Rmw::MaskOr => old & !data | second,
                    Rmw::Wrap => {
                        if old >= data {
                            old - data
                        } else {
                            old.wrapping_add(second)
                        }
                    }
                    Rmw::AddFloat => {
                        let sum = add(source(old), source(data));
                        if flush.sums { zero(sum).to_bits() } else { sum.to_bits() }
                    }
                    Rmw::MinFloat => select(true),
                    Rmw::MaxFloat => select(false),
                    Rmw::MinNumber => number(true),
                    Rmw::MaxNumber => number(false),
                    Rmw::AddHalves | Rmw::AddBrainHalves => $packed(op, old, data, flush),
                }
            }

            unsafe fn shared(memory: *mut u8, op: Rmw, data: Self, second: Self, flush: Flush) -> Self {
                // SAFETY: the caller found the word to be aligned and in a live allocation, whose other users
                // also use atomic or machine accesses.
                let word = unsafe { <$atomic>::from_ptr(memory.cast()) };
                let order = Ordering::SeqCst;
                match op {
                    Rmw::Swap => word.swap(data, order),
                    Rmw::Add => word.fetch_add(data, order),
                    Rmw::Sub => word.fetch_sub(data, order),
                    Rmw::And => word.fetch_and(data, order),
                    Rmw::Or => word.fetch_or(data, order),
                    Rmw::Xor => word.fetch_xor(data, order),
                    _ => {
                        let mut old = word.load(Ordering::Relaxed);
                        loop {
                            match word.compare_exchange_weak(
                                old,
                                Self::apply(op, old, data, second, flush),
                                order,
                                order,
                            ) {
                                Ok(old) => return old,
                                Err(now) => old = now,
                            }
                        }
                    }
                }
            }
        }
    };
}

/// Adds two halves of 32 bits, each a 16-bit float. The NaN rules are those of all additions.
fn packed(op: Rmw, old: u32, data: u32, flush: Flush) -> u32 {
    let (infinity, quiet) = if op == Rmw::AddHalves { (0x7c00, 0x200) } else { (0x7f80, 0x40) };
    let kept = |flushes: bool, bits: u16| if flushes && bits & infinity == 0 { bits & 0x8000 } else { bits };
    let add = |old: u16, data: u16| -> u16 {
        let (old, data) = (kept(flush.sources, old), kept(flush.sources, data));
        let is_nan = |bits: u16| bits & 0x7fff > infinity;
        match (is_nan(old), is_nan(data)) {
            (true, _) => return old | quiet,
            (_, true) => return data | quiet,
            _ if old & data & 0x7fff == infinity && old != data => return 0x8000 | infinity | quiet,
            _ => {}
        }
        let sum = if op == Rmw::AddHalves {
            f16::from_f64(f16::from_bits(old).to_f64() + f16::from_bits(data).to_f64()).to_bits()
        } else {
            // Double rounding is harmless: if the sum does not fit in f64, the smaller operand is too small
            // to matter.
            bf16::from_f64(bf16::from_bits(old).to_f64() + bf16::from_bits(data).to_f64()).to_bits()
        };
        kept(flush.sums, sum)
    };
    u32::from(add(old as u16, data as u16)) | u32::from(add((old >> 16) as u16, (data >> 16) as u16)) << 16
}

word!(
    u32,
    i32,
    f32,
    AtomicU32,
    |at: *const u32, _| at.read(),
    |at: *mut u32, _, value| at.write(value),
    packed
);
word!(
    u64,
    i64,
    f64,
    AtomicU64,
    |at: *const u32, lanes| u64::from(at.read()) | u64::from(at.add(lanes).read()) << 32,
    |at: *mut u32, lanes, value: u64| {
        at.write(value as u32);
        at.add(lanes).write((value >> 32) as u32);
    },
    |_, old, _, _| old
);

/// A read-modify-write of words of type `W`. [`Registers::rmw`] is the operation.
pub(super) struct Atomic<W>(std::marker::PhantomData<W>);

impl<W: Word> Move for Atomic<W> {
    const ACCESS: AccessKind = AccessKind::Atomic;
    const BYTES: usize = W::BYTES;
    const DWORDS: usize = 0;
    const ALIGN: u64 = W::BYTES as u64;

    #[inline(always)]
    unsafe fn one<const L: usize>(
        wave: &mut Wave,
        registers: Registers,
        memory: *mut u8,
        lane: usize,
        shared: bool,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let data = W::get::<L>(wave.vgpr.add(registers.data as usize + lane));
            let second = W::get::<L>(wave.vgpr.add(registers.data2 as usize + lane));
            let rmw = registers.rmw;
            // MODE has the f32 settings first, then those of f64 and f16.
            let is_f32 = W::BYTES == 4 && !matches!(rmw, Rmw::AddHalves | Rmw::AddBrainHalves);
            let flush = registers.subnormals.flush(wave.mode >> if is_f32 { 4 } else { 6 }, shared);
            let old = if shared {
                W::shared(memory, rmw, data, second, flush)
            } else {
                let word = memory.cast::<W>();
                let old = word.read_unaligned();
                word.write_unaligned(W::apply(rmw, old, data, second, flush));
                old
            };
            if registers.returns {
                W::put::<L>(wave.vgpr.add(registers.dst as usize + lane), old);
            }
        }
    }
}
