//! Moves between memory and vector registers: sizes, extensions and halves.

use gpu_report::AccessKind;

use super::lanes::{Bits, Registers, Survey};
use super::single;
use crate::{Wave, all};

/// The data of one load or store instruction.
pub(super) trait Data {
    /// Bytes in memory, per lane.
    const BYTES: usize;
    /// The number of whole registers that are moved; 0 for parts of one register.
    const DWORDS: usize;

    /// Loads one lane: `at` is the lane's position in the first register, and further registers follow every
    /// `L` dwords.
    ///
    /// # Safety
    /// `from` must be readable for `BYTES`, `at` writable for every register.
    unsafe fn load<const L: usize>(from: *const u8, at: *mut u32);

    /// Stores one lane.
    ///
    /// # Safety
    /// `to` must be writable for `BYTES`, `at` readable for every register.
    unsafe fn store<const L: usize>(to: *mut u8, at: *const u32);

    /// Loads one lane from memory that only this thread uses, so the compiler is free to split or merge the
    /// accesses.
    ///
    /// # Safety
    /// As for [`Data::load`].
    #[inline(always)]
    unsafe fn take<const L: usize>(from: *const u8, at: *mut u32) {
        // SAFETY: the caller's promise.
        unsafe { Self::load::<L>(from, at) }
    }

    /// Stores one lane to memory that only this thread uses.
    ///
    /// # Safety
    /// As for [`Data::store`].
    #[inline(always)]
    unsafe fn put<const L: usize>(to: *mut u8, at: *const u32) {
        // SAFETY: the caller's promise.
        unsafe { Self::store::<L>(to, at) }
    }
}

/// `N` whole registers.
pub(super) struct Dwords<const N: usize>;

impl<const N: usize> Data for Dwords<N> {
    const BYTES: usize = 4 * N;
    const DWORDS: usize = N;

    #[inline(always)]
    unsafe fn load<const L: usize>(from: *const u8, at: *mut u32) {
        // SAFETY: the caller's promise.
        unsafe {
            for (i, &dword) in single::load::<N, false>(from).iter().enumerate() {
                at.add(i * L).write(dword);
            }
        }
    }

    #[inline(always)]
    unsafe fn store<const L: usize>(to: *mut u8, at: *const u32) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut value = [0; N];
            for (i, dword) in value.iter_mut().enumerate() {
                *dword = at.add(i * L).read();
            }
            single::store::<N, false>(to, value);
        }
    }

    #[inline(always)]
    unsafe fn take<const L: usize>(from: *const u8, at: *mut u32) {
        // SAFETY: the caller's promise.
        unsafe {
            for (i, &dword) in from.cast::<[u32; N]>().read_unaligned().iter().enumerate() {
                at.add(i * L).write(dword);
            }
        }
    }

    #[inline(always)]
    unsafe fn put<const L: usize>(to: *mut u8, at: *const u32) {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[u32; N]>().write_unaligned(crate::rows::from_fn(|i| at.add(i * L).read())) }
    }
}

/// Values smaller than a register in memory, which fill a whole register.
macro_rules! narrow {
    ($($(#[$doc:meta])* $name:ident: $type:ty, |$value:ident| $extended:expr;)*) => {$(
        $(#[$doc])*
        pub(super) struct $name;

        impl Data for $name {
            const BYTES: usize = size_of::<$type>();
            const DWORDS: usize = 0;

            #[inline(always)]
            unsafe fn load<const L: usize>(from: *const u8, at: *mut u32) {
                // SAFETY: the caller's promise.
                unsafe {
                    let $value = from.cast::<$type>().read_unaligned();
                    at.write($extended);
                }
            }

            #[inline(always)]
            unsafe fn store<const L: usize>(to: *mut u8, at: *const u32) {
                // SAFETY: the caller's promise.
                unsafe { to.cast::<$type>().write_unaligned(at.read() as $type) }
            }
        }
    )*};
}

narrow! {
    /// A byte, zero-extended.
    U8: u8, |value| u32::from(value);
    /// A byte, sign-extended.
    I8: i8, |value| i32::from(value) as u32;
    /// A word, zero-extended.
    U16: u16, |value| u32::from(value);
    /// A word, sign-extended.
    I16: i16, |value| i32::from(value) as u32;
}

/// Half a register, loaded as `$bits`. The other half is kept, or becomes zero if registers have ECC.
macro_rules! half {
    ($($(#[$doc:meta])* $name:ident: $type:ty, |$value:ident| $bits:expr, $shift:literal;)*) => {$(
        $(#[$doc])*
        pub(super) struct $name<const CLEARS: bool>;

        impl<const CLEARS: bool> Data for $name<CLEARS> {
            const BYTES: usize = size_of::<$type>();
            const DWORDS: usize = 0;

            #[inline(always)]
            unsafe fn load<const L: usize>(from: *const u8, at: *mut u32) {
                // SAFETY: the caller's promise.
                unsafe {
                    let other = if CLEARS { 0 } else { at.read() & !(0xffff << $shift) };
                    let $value = from.cast::<$type>().read_unaligned();
                    at.write(other | u32::from($bits) << $shift);
                }
            }

            #[inline(always)]
            unsafe fn store<const L: usize>(to: *mut u8, at: *const u32) {
                // SAFETY: the caller's promise.
                unsafe { to.cast::<$type>().write_unaligned((at.read() >> $shift) as $type) }
            }
        }
    )*};
}

half! {
    /// A byte, zero-extended into the low half.
    U8Low: u8, |value| value, 0;
    /// A byte, zero-extended into the high half. Stores bits 16..24.
    U8High: u8, |value| value, 16;
    /// A byte, sign-extended into the low half.
    I8Low: i8, |value| i16::from(value) as u16, 0;
    /// A byte, sign-extended into the high half.
    I8High: i8, |value| i16::from(value) as u16, 16;
    /// A word into the low half.
    U16Low: u16, |value| value, 0;
    /// A word into the high half. Stores the high half.
    U16High: u16, |value| value, 16;
}

/// The operation of a memory instruction, once its addresses have been checked.
pub(super) trait Move {
    /// The kind of access, for checks and faults.
    const ACCESS: AccessKind;
    /// Bytes in memory, per lane.
    const BYTES: usize;
    /// Whole registers moved, or 0.
    const DWORDS: usize;
    /// The required alignment; 1 for none.
    const ALIGN: u64;

    /// One lane.
    ///
    /// # Safety
    /// `memory` must be valid for the access, and `registers` must be in the wave's file.
    unsafe fn one<const L: usize>(
        wave: &mut Wave,
        registers: Registers,
        memory: *mut u8,
        lane: usize,
        shared: bool,
    );

    /// All enabled lanes; lane `l` is at `memory + row[l]`. `shared` is false for LDS, which only this thread
    /// uses.
    ///
    /// # Safety
    /// As for [`Move::one`], for every enabled lane and everything between the lowest and the highest
    /// address.
    #[inline(always)]
    unsafe fn many<const L: usize>(
        wave: &mut Wave,
        registers: Registers,
        memory: *mut u8,
        row: &[u32; L],
        survey: &Survey,
        shared: bool,
    ) {
        for lane in Bits(survey.mask) {
            // SAFETY: the caller's promise.
            unsafe { Self::one::<L>(wave, registers, memory.wrapping_add(row[lane] as usize), lane, shared) };
        }
    }

    /// All enabled lanes of whole registers: lane `l` of register `r` is at `memory + (r * L + l) * 4`.
    ///
    /// # Safety
    /// All `DWORDS * L` dwords must be memory that only this wave uses.
    #[inline(always)]
    unsafe fn rows<const L: usize>(_wave: &mut Wave, _registers: Registers, _memory: *mut u32, _mask: u64) {}
}

/// A load of `D`.
pub(super) struct Load<D>(std::marker::PhantomData<D>);

impl<D: Data> Move for Load<D> {
    const ACCESS: AccessKind = AccessKind::Read;
    const BYTES: usize = D::BYTES;
    const DWORDS: usize = D::DWORDS;
    const ALIGN: u64 = 1;

    #[inline(always)]
    unsafe fn one<const L: usize>(
        wave: &mut Wave,
        registers: Registers,
        memory: *mut u8,
        lane: usize,
        _: bool,
    ) {
        // SAFETY: the caller's promise.
        unsafe { D::load::<L>(memory, wave.vgpr.add(registers.dst as usize + lane)) };
    }

    #[inline(always)]
    unsafe fn many<const L: usize>(
        wave: &mut Wave,
        registers: Registers,
        memory: *mut u8,
        row: &[u32; L],
        survey: &Survey,
        _: bool,
    ) {
        // SAFETY: the caller's promise covers all bytes between the lowest and highest offset; the copies
        // below stay there.
        unsafe {
            let at = wave.vgpr.add(registers.dst as usize);
            let origin = memory.wrapping_add(row[survey.first] as usize);
            if survey.uniform {
                // Loaded once, so that all lanes see the same value.
                let mut value = [[0u32; 1]; 4];
                if D::DWORDS == 0 {
                    for lane in Bits(survey.mask) {
                        D::load::<L>(origin, at.add(lane));
                    }
                    return;
                }
                D::load::<1>(origin, value.as_mut_ptr().cast());
                for (i, value) in value.iter().take(D::DWORDS).enumerate() {
                    splat::<L>(at.add(i * L), value[0], survey.mask);
                }
                return;
            }
            if survey.contiguous && survey.mask == all::<L>() {
                if D::DWORDS == 1 {
                    at.cast::<[u32; L]>().write(origin.cast::<[u32; L]>().read_unaligned());
                    return;
                }
                // A local copy tells the compiler that source and destination do not overlap.
                let mut local = [0u64; 2 * 64];
                let local = local.as_mut_ptr().cast::<u8>();
                single::copy_in::<false>(origin, local, D::BYTES * L);
                for lane in 0..L {
                    D::take::<L>(local.add(lane * D::BYTES), at.add(lane));
                }
                return;
            }
            if survey.mask == all::<L>() {
                for (lane, &offset) in row.iter().enumerate() {
                    D::load::<L>(memory.wrapping_add(offset as usize), at.add(lane));
                }
                return;
            }
            for lane in Bits(survey.mask) {
                D::load::<L>(memory.wrapping_add(row[lane] as usize), at.add(lane));
            }
        }
    }

    #[inline(always)]
    unsafe fn rows<const L: usize>(wave: &mut Wave, registers: Registers, memory: *mut u32, mask: u64) {
        for i in 0..D::DWORDS {
            // SAFETY: the caller's promise; register files and scratch memory do not overlap.
            unsafe {
                let value = memory.add(i * L).cast::<[u32; L]>().read();
                let at = wave.vgpr.add(registers.dst as usize + i * L).cast::<[u32; L]>();
                if mask == all::<L>() {
                    at.write(value);
                } else {
                    at.write(blend(value, at.read(), mask));
                }
            }
        }
    }
}

/// A store of `D`.
pub(super) struct Store<D>(std::marker::PhantomData<D>);

impl<D: Data> Move for Store<D> {
    const ACCESS: AccessKind = AccessKind::Write;
    const BYTES: usize = D::BYTES;
    const DWORDS: usize = D::DWORDS;
    const ALIGN: u64 = 1;

    #[inline(always)]
    unsafe fn one<const L: usize>(
        wave: &mut Wave,
        registers: Registers,
        memory: *mut u8,
        lane: usize,
        _: bool,
    ) {
        // SAFETY: the caller's promise.
        unsafe { D::store::<L>(memory, wave.vgpr.add(registers.data as usize + lane)) };
    }

    #[inline(always)]
    unsafe fn many<const L: usize>(
        wave: &mut Wave,
        registers: Registers,
        memory: *mut u8,
        row: &[u32; L],
        survey: &Survey,
        _: bool,
    ) {
        // SAFETY: as for loads; nothing is written for disabled lanes.
        unsafe {
            let at = wave.vgpr.add(registers.data as usize);
            if survey.contiguous {
                let first = survey.first;
                let run = survey.mask >> first;
                let length = run.trailing_ones() as usize;
                if length == run.count_ones() as usize {
                    let origin = memory.wrapping_add(row[first] as usize);
                    if D::DWORDS == 1 {
                        if length == L {
                            origin.cast::<[u32; L]>().write_unaligned(at.cast::<[u32; L]>().read());
                        } else {
                            single::copy_out::<false>(at.add(first).cast(), origin, 4 * length);
                        }
                        return;
                    }
                    if length == L {
                        let mut local = [0u64; 2 * 64];
                        let local = local.as_mut_ptr().cast::<u8>();
                        for lane in 0..L {
                            D::put::<L>(local.add(lane * D::BYTES), at.add(lane));
                        }
                        single::copy_out::<false>(local, origin, D::BYTES * L);
                        return;
                    }
                }
            }
            for lane in Bits(survey.mask) {
                D::store::<L>(memory.wrapping_add(row[lane] as usize), at.add(lane));
            }
        }
    }

    #[inline(always)]
    unsafe fn rows<const L: usize>(wave: &mut Wave, registers: Registers, memory: *mut u32, mask: u64) {
        for i in 0..D::DWORDS {
            // SAFETY: the caller's promise: disabled lanes are overwritten with their own values, and nobody
            // else accesses them.
            unsafe {
                let value = wave.vgpr.add(registers.data as usize + i * L).cast::<[u32; L]>().read();
                let at = memory.add(i * L).cast::<[u32; L]>();
                if mask == all::<L>() {
                    at.write(value);
                } else {
                    at.write(blend(value, at.read(), mask));
                }
            }
        }
    }
}

/// `value` in the lanes of the mask, `other` elsewhere.
#[inline(always)]
fn blend<const L: usize>(value: [u32; L], other: [u32; L], mask: u64) -> [u32; L] {
    let halves = [mask as u32, (mask >> 32) as u32];
    let mut result = other;
    for lane in 0..L {
        let on = (halves[lane / 32] >> (lane % 32) & 1).wrapping_neg();
        result[lane] = value[lane] & on | other[lane] & !on;
    }
    result
}

/// Writes one value to the lanes of a register that the mask enables.
///
/// # Safety
/// `at` must be a register of a wave's file.
#[inline(always)]
pub(super) unsafe fn splat<const L: usize>(at: *mut u32, value: u32, mask: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        let at = at.cast::<[u32; L]>();
        if mask == all::<L>() {
            at.write([value; L]);
        } else {
            at.write(blend([value; L], at.read(), mask));
        }
    }
}
