//! Read-modify-write operations.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use half::{bf16, f16};

use super::lanes::Registers;
use super::moves::Move;
use crate::exec::Wave;
use crate::machine::AccessKind;

/// What a read-modify-write does with the old value, for words of 32 and 64 bits alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Rmw {
    Swap,
    /// Data, then what to compare with.
    CmpSwap,
    /// What to compare with, then data.
    CmpSwapSwapped,
    /// As `CmpSwap` with a floating-point comparison.
    CmpSwapFloat,
    /// As `CmpSwapSwapped` with a floating-point comparison.
    CmpSwapFloatSwapped,
    Add,
    Sub,
    /// Data minus memory.
    Rsub,
    /// Subtracts; zero instead of a borrow.
    SubClamp,
    /// Subtracts, unless that would borrow.
    SubIf,
    MinI,
    MinU,
    MaxI,
    MaxU,
    And,
    Or,
    Xor,
    /// Counts up to data, then starts at zero.
    Inc,
    /// Counts down to zero, then starts at data.
    Dec,
    /// Clears the bits of the first operand, sets those of the second.
    MaskOr,
    /// Subtracts data where there is enough, else adds the second operand.
    Wrap,
    AddFloat,
    MinFloat,
    MaxFloat,
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
        Rmw::AddHalves,
        Rmw::AddBrainHalves,
    ];

    /// The operation with that number.
    pub(super) fn from_number(number: u8) -> Rmw {
        Rmw::ALL.get(usize::from(number)).copied().unwrap_or(Rmw::Swap)
    }
}

/// A word of memory.
pub(super) trait Word: Copy + Eq {
    const BYTES: usize;
    /// Reads lane `lane` of the register (pair) that begins at `at`.
    unsafe fn get<const L: usize>(at: *const u32) -> Self;
    unsafe fn put<const L: usize>(at: *mut u32, value: Self);
    fn apply(op: Rmw, old: Self, data: Self, second: Self) -> Self;
    /// Atomically replaces the word by what `op` makes of it and returns what it was.
    unsafe fn shared(memory: *mut u8, op: Rmw, data: Self, second: Self) -> Self;
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
            fn apply(op: Rmw, old: Self, data: Self, second: Self) -> Self {
                let float = <$float>::from_bits;
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
                    Rmw::CmpSwapFloat => {
                        if float(old) == float(second) {
                            data
                        } else {
                            old
                        }
                    }
                    Rmw::CmpSwapFloatSwapped => {
                        if float(old) == float(data) {
                            second
                        } else {
                            old
                        }
                    }
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
                    Rmw::AddFloat => (float(old) + float(data)).to_bits(),
                    Rmw::MinFloat => {
                        if float(data) < float(old) {
                            data
                        } else {
                            old
                        }
                    }
                    Rmw::MaxFloat => {
                        if float(data) > float(old) {
                            data
                        } else {
                            old
                        }
                    }
                    Rmw::AddHalves | Rmw::AddBrainHalves => $packed(op, old, data),
                }
            }

            unsafe fn shared(memory: *mut u8, op: Rmw, data: Self, second: Self) -> Self {
                // SAFETY: the caller found the word to be aligned and in a live allocation, whose other users also use atomic
                // or machine accesses.
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
                                Self::apply(op, old, data, second),
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

/// Adds two halves of 32 bits, each a 16-bit float.
fn packed(op: Rmw, old: u32, data: u32) -> u32 {
    let add = |old: u16, data: u16| -> u16 {
        if op == Rmw::AddHalves {
            f16::from_f64(f16::from_bits(old).to_f64() + f16::from_bits(data).to_f64()).to_bits()
        } else {
            // Rounding twice does no harm: where the sum does not fit f64, the smaller operand is too small to matter.
            bf16::from_f64(bf16::from_bits(old).to_f64() + bf16::from_bits(data).to_f64()).to_bits()
        }
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
    |_, old, _| old
);

/// A read-modify-write of words of type `W`; which one is said by [`Registers::rmw`].
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
            let old = if shared {
                W::shared(memory, registers.rmw, data, second)
            } else {
                let word = memory.cast::<W>();
                let old = word.read_unaligned();
                word.write_unaligned(W::apply(registers.rmw, old, data, second));
                old
            };
            if registers.returns {
                W::put::<L>(wave.vgpr.add(registers.dst as usize + lane), old);
            }
        }
    }
}
