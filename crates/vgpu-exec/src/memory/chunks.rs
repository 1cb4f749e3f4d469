//! Loads and stores of whole registers in global memory and LDS, sixteen lanes at a time.
//!
//! In most cases, sixteen lanes access the same place or consecutive ones, and vectors move their data.
//! First, the addresses of all lanes of the wave are checked against one range. Accesses outside it are left
//! to the general handler, which determines the reason.

use std::marker::PhantomData;

use gpu_report::AccessKind;

use super::address;
use super::lanes::Bits;
use super::moves::{Dwords, Load, Move, Store};
use super::single;
use super::table::{Global, Lds, LdsPair};
use crate::level::{Body, SimdBody, scalar_handler};
use crate::simd::{D, LANES, Mask, Simd, U};
use crate::{Code, Flow, Src, Wave};

/// Sixteen lanes' offsets.
#[derive(Clone, Copy)]
pub(super) struct Chunk<S: Simd> {
    offsets: U<S>,
    first: u32,
    enabled: u16,
    pattern: Pattern,
}

/// The pattern of the offsets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern {
    /// All lanes are enabled, and all offsets are the same.
    Same,
    /// All lanes are enabled, and the data of the lanes are consecutive.
    Consecutive,
    /// Neither of these.
    Other,
}

#[inline(always)]
fn all<S: Simd>(mask: Mask<S>) -> bool {
    mask.bits() == u16::MAX
}

impl<S: Simd> Chunk<S> {
    /// The offsets in `row`, plus `shift`.
    ///
    /// # Safety
    /// `row` must be sixteen lanes of a register.
    #[inline(always)]
    unsafe fn new(row: *const u32, shift: u32, enabled: u16, bytes: u32) -> Chunk<S> {
        // SAFETY: the caller's promise.
        let (offsets, first) = unsafe { (U::<S>(S::load(row)) + shift, row.read().wrapping_add(shift)) };
        let steps = offsets - first;
        let pattern = if enabled != u16::MAX {
            Pattern::Other
        } else if all(steps.equal(U::splat(0))) {
            Pattern::Same
        } else if all(steps.equal(U::lanes() * bytes)) && first <= u32::MAX - bytes * LANES as u32 {
            Pattern::Consecutive
        } else {
            Pattern::Other
        };
        Chunk { offsets, first, enabled, pattern }
    }
}

/// A move of whole registers.
pub(super) trait Whole: Move {
    /// Moves the data of sixteen lanes, once for each of `N` places. A place is the memory that the offsets
    /// are relative to, and the first lane's position in the first register. `lanes` is the distance between
    /// registers.
    ///
    /// # Safety
    /// The registers must be in the wave's file, and the enabled lanes' memory must be valid for the access.
    unsafe fn chunk<S: Simd, const N: usize>(
        chunk: &Chunk<S>,
        places: [(*mut u8, *mut u32); N],
        lanes: usize,
    );

    /// The register of a code's data, or of its second data operand.
    fn register(code: &Code, second: bool, lanes: usize) -> u32;
}

impl<const DWORDS: usize> Whole for Load<Dwords<DWORDS>> {
    #[inline(always)]
    unsafe fn chunk<S: Simd, const N: usize>(
        chunk: &Chunk<S>,
        places: [(*mut u8, *mut u32); N],
        lanes: usize,
    ) {
        let first = chunk.first as usize;
        // SAFETY: the caller's promise.
        unsafe {
            match chunk.pattern {
                Pattern::Same => {
                    for &(memory, at) in &places {
                        // Loaded once, so that all lanes see the same value.
                        let value = lane::<S, DWORDS>(memory.wrapping_add(first));
                        for (i, &value) in value.iter().enumerate() {
                            S::store(at.add(i * lanes), S::splat(value));
                        }
                    }
                }
                Pattern::Consecutive if DWORDS == 1 => {
                    for &(memory, at) in &places {
                        S::store(at, S::load(memory.wrapping_add(first).cast()));
                    }
                }
                Pattern::Consecutive if DWORDS == 2 => {
                    for &(memory, at) in &places {
                        let (low, high) = wide::<S>(memory.wrapping_add(first)).split();
                        S::store(at, low.0);
                        S::store(at.add(lanes), high.0);
                    }
                }
                Pattern::Consecutive if DWORDS == 4 => {
                    for &(memory, at) in &places {
                        let origin = memory.wrapping_add(first);
                        let (even, odd) = wide::<S>(origin).split();
                        let (even_rest, odd_rest) = wide::<S>(origin.add(8 * LANES)).split();
                        let (first, third) = even.before(even_rest).split();
                        let (second, fourth) = odd.before(odd_rest).split();
                        for (i, value) in [first, second, third, fourth].iter().enumerate() {
                            S::store(at.add(i * lanes), value.0);
                        }
                    }
                }
                _ if DWORDS == 1 && chunk.enabled == u16::MAX => {
                    for &(memory, at) in &places {
                        S::store(at, S::gather(memory, chunk.offsets.0));
                    }
                }
                _ => {
                    let offsets = chunk.offsets.array();
                    for &(memory, at) in &places {
                        for lane in Bits(chunk.enabled.into()) {
                            let value =
                                self::lane::<S, DWORDS>(memory.wrapping_add(offsets[lane % LANES] as usize));
                            for (i, &value) in value.iter().enumerate() {
                                at.add(i * lanes + lane).write(value);
                            }
                        }
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn register(code: &Code, second: bool, lanes: usize) -> u32 {
        code.dst + if second { (DWORDS * lanes) as u32 } else { 0 }
    }
}

impl<const DWORDS: usize> Whole for Store<Dwords<DWORDS>> {
    #[inline(always)]
    unsafe fn chunk<S: Simd, const N: usize>(
        chunk: &Chunk<S>,
        places: [(*mut u8, *mut u32); N],
        lanes: usize,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            for &(memory, at) in &places {
                let origin = memory.wrapping_add(chunk.first as usize);
                match chunk.pattern {
                    Pattern::Consecutive if DWORDS == 1 => S::store(origin.cast(), S::load(at)),
                    Pattern::Consecutive if DWORDS == 2 => {
                        store_wide(origin, load::<S>(at, 0).join(load::<S>(at, lanes)))
                    }
                    Pattern::Consecutive if DWORDS == 4 => {
                        let (even, even_rest) = load::<S>(at, 0).join(load::<S>(at, 2 * lanes)).halves();
                        let (odd, odd_rest) = load::<S>(at, lanes).join(load::<S>(at, 3 * lanes)).halves();
                        store_wide(origin, even.join(odd));
                        store_wide(origin.add(8 * LANES), even_rest.join(odd_rest));
                    }
                    _ => {
                        let offsets = chunk.offsets.array();
                        for lane in Bits(chunk.enabled.into()) {
                            let mut value = [0; DWORDS];
                            for (i, dword) in value.iter_mut().enumerate() {
                                *dword = at.add(i * lanes + lane).read();
                            }
                            let to = memory.wrapping_add(offsets[lane % LANES] as usize);
                            match S::VEX {
                                true => single::store::<DWORDS, true>(to, value),
                                false => single::store::<DWORDS, false>(to, value),
                            }
                        }
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn register(code: &Code, second: bool, _: usize) -> u32 {
        if let Src::Vector(first) = code.src[if second { 3 } else { 1 }] { first } else { 0 }
    }
}

/// One lane's dwords, in a single access.
///
/// # Safety
/// There must be this many dwords.
#[inline(always)]
unsafe fn lane<S: Simd, const DWORDS: usize>(from: *const u8) -> [u32; DWORDS] {
    // SAFETY: the caller's promise; the processor has the level's extensions.
    unsafe {
        match S::VEX {
            true => single::load::<DWORDS, true>(from),
            false => single::load::<DWORDS, false>(from),
        }
    }
}

/// # Safety
/// There must be sixteen lanes `offset` after `at`.
#[inline(always)]
unsafe fn load<S: Simd>(at: *const u32, offset: usize) -> U<S> {
    // SAFETY: the caller's promise.
    U(unsafe { S::load(at.add(offset)) })
}

/// # Safety
/// There must be sixteen times eight bytes.
#[inline(always)]
unsafe fn wide<S: Simd>(from: *const u8) -> D<S> {
    // SAFETY: the caller's promise.
    D(unsafe { S::load64(from.cast()) })
}

/// # Safety
/// There must be room for sixteen times eight bytes.
#[inline(always)]
unsafe fn store_wide<S: Simd>(to: *mut u8, value: D<S>) {
    // SAFETY: the caller's promise.
    unsafe { S::store64(to.cast(), value.0) }
}

/// Delegates an instruction to its general handler.
///
/// # Safety
/// As for handlers.
#[cold]
#[inline(never)]
unsafe fn general<B: Body>(wave: &mut Wave, code: &Code) -> Flow {
    // SAFETY: the caller's promise.
    unsafe { scalar_handler::<B>(usize::from(wave.lanes))(wave, code) }
}

/// Whether all enabled lanes of a register are in `least..=least + span`.
///
/// # Safety
/// `row` must be a register of a wave with this many lanes, 32 or 64.
#[inline(always)]
unsafe fn within<S: Simd>(row: *const u32, exec: u64, lanes: usize, [least, span]: [u32; 2]) -> bool {
    let mut outside = 0;
    for &first in &[0, 2 * LANES] {
        if first < lanes {
            // SAFETY: the caller's promise.
            let (low, high) = unsafe { (load::<S>(row, first), load::<S>(row, first + LANES)) };
            // No closures: the compiler would not inline them into code for the level.
            let low = U::splat(span).less(low - least).bits();
            let high = U::splat(span).less(high - least).bits();
            outside |= (u64::from(low) | u64::from(high) << LANES) << first;
        }
    }
    outside & exec == 0
}

/// Moves the data of all enabled lanes, once for each of the places. Lane `l` accesses `row[l] + shift` (a
/// 32-bit sum) relative to a place's pointer; the place's second part is its first register. If some of `row`
/// are outside the range, which is as for [`within`], does nothing and returns false.
///
/// # Safety
/// Registers must be in the file of a wave with this many lanes; memory at these offsets must be valid for
/// the access.
#[inline(always)]
unsafe fn each<M: Whole, S: Simd, const N: usize>(
    row: *const u32,
    shift: u32,
    exec: u64,
    lanes: usize,
    range: [u32; 2],
    places: [(*mut u8, *mut u32); N],
) -> bool {
    // SAFETY: the caller's promise. All addresses have been checked, and each chunk's addresses are read
    // before its data are written.
    unsafe {
        if !within::<S>(row, exec, lanes, range) {
            return false;
        }
        let mut first = 0;
        loop {
            let enabled = (exec >> first) as u16;
            if enabled != 0 {
                let chunk = Chunk::<S>::new(row.add(first), shift, enabled, M::BYTES as u32);
                M::chunk(&chunk, crate::rows::map(places, |(memory, at)| (memory, at.add(first))), lanes);
            }
            first += LANES;
            if first >= lanes {
                return true;
            }
        }
    }
}

/// GLOBAL instructions.
pub(super) struct GlobalChunks<M>(PhantomData<M>);

impl<M: Whole> SimdBody for GlobalChunks<M> {
    #[inline(always)]
    unsafe fn run<S: Simd>(wave: &mut Wave, code: &Code) -> Flow {
        let (exec, lanes) = (wave.active(), usize::from(wave.lanes));
        if exec == 0 {
            return Flow::Next;
        }
        // SAFETY: operands were lowered for this wave's file. The checked range is a live allocation.
        unsafe {
            // Asked here, so that the compiler does not ask again in `of`.
            let Src::Vector(first) = code.src[0] else { return general::<Global<M>>(wave, code) };
            let row: *const u32 = wave.vgpr.add(first as usize);
            let lane = exec.trailing_zeros() as usize;
            let address::Global { mut base, high, .. } = address::Global::of(wave, code, lanes);
            if let Some(high) = high {
                let high: *const u32 = wave.vgpr.add(high as usize);
                let value = high.add(lane).read();
                if !within::<S>(high, exec, lanes, [value, 0]) {
                    return general::<Global<M>>(wave, code);
                }
                base = address::wide(base, 0, value);
            }
            let size = M::BYTES as u64;
            let address = address::wide(base, row.add(lane).read(), 0);
            let Some((start, end)) = wave.access.range(M::ACCESS, address, size) else {
                return general::<Global<M>>(wave, code);
            };
            let least = u32::try_from(start.saturating_sub(base)).unwrap_or(u32::MAX);
            let most =
                (end - size).checked_sub(base).map_or(0, |most| u32::try_from(most).unwrap_or(u32::MAX));
            let at = wave.vgpr.add(M::register(code, false, lanes) as usize);
            if most < least
                || !each::<M, S, 1>(row, 0, exec, lanes, [least, most - least], [(base as *mut u8, at)])
            {
                return general::<Global<M>>(wave, code);
            }
            wave.stored |= M::ACCESS == AccessKind::Write;
            if M::ACCESS == AccessKind::Read {
                fetch_ahead(address.wrapping_add(lanes as u64 * size), lanes as u64 * size);
            }
        }
        Flow::Next
    }
}

/// Prefetches memory into the host's cache. Most often the next wave will need it, because its lanes continue
/// where this wave's end, and two or four cache lines suffice. The host's own prefetcher sees only one load
/// instruction, the handler's, for all loads of a program.
#[inline(always)]
fn fetch_ahead(address: u64, bytes: u64) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which never faults.
        let line = |line: u64| unsafe { _mm_prefetch::<_MM_HINT_T0>((address + 64 * line) as *const i8) };
        line(0);
        line(1);
        if bytes > 128 {
            line(2);
            line(3);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (address, bytes);
}

/// The lane addresses for which this many bytes, `shift` after the address, are in LDS. The sum has 32 bits,
/// so an address "below zero" plus an offset may be in range.
#[inline(always)]
fn in_lds(wave: &Wave, shift: u32, bytes: usize) -> Option<[u32; 2]> {
    let span = (wave.access.lds_size as usize).checked_sub(bytes)?;
    Some([shift.wrapping_neg(), span as u32])
}

/// DS instructions with one access per lane.
pub(super) struct LdsChunks<M>(PhantomData<M>);

impl<M: Whole> SimdBody for LdsChunks<M> {
    #[inline(always)]
    unsafe fn run<S: Simd>(wave: &mut Wave, code: &Code) -> Flow {
        let (exec, lanes) = (wave.active(), usize::from(wave.lanes));
        let Src::Vector(first) = code.src[0] else { return Flow::Next };
        let shift = address::shift(code);
        // SAFETY: operands were lowered for this wave's file. LDS is checked for all enabled lanes.
        unsafe {
            let row: *const u32 = wave.vgpr.add(first as usize);
            let at = wave.vgpr.add(M::register(code, false, lanes) as usize);
            let places = [(wave.access.lds, at)];
            let Some(range) = in_lds(wave, shift, M::BYTES) else {
                return general::<Lds<M>>(wave, code);
            };
            if !each::<M, S, 1>(row, shift, exec, lanes, range, places) {
                return general::<Lds<M>>(wave, code);
            }
        }
        Flow::Next
    }
}

/// DS instructions with two accesses per lane.
pub(super) struct LdsPairChunks<M>(PhantomData<M>);

impl<M: Whole> SimdBody for LdsPairChunks<M> {
    #[inline(always)]
    unsafe fn run<S: Simd>(wave: &mut Wave, code: &Code) -> Flow {
        let (exec, lanes) = (wave.active(), usize::from(wave.lanes));
        let Src::Vector(first) = code.src[0] else { return Flow::Next };
        let shifts = address::shifts(code, M::BYTES);
        let shifts = [shifts[0] as usize, shifts[1] as usize];
        let (least, most) = (shifts[0].min(shifts[1]), shifts[0].max(shifts[1]));
        // SAFETY: operands were lowered for this wave's file. LDS is checked for all enabled lanes.
        unsafe {
            let row: *const u32 = wave.vgpr.add(first as usize);
            let one = wave.vgpr.add(M::register(code, false, lanes) as usize);
            let two = wave.vgpr.add(M::register(code, true, lanes) as usize);
            let lds = wave.access.lds;
            let places =
                [(lds.wrapping_add(shifts[0] - least), one), (lds.wrapping_add(shifts[1] - least), two)];
            let Some(range) = in_lds(wave, least as u32, most - least + M::BYTES) else {
                return general::<LdsPair<M>>(wave, code);
            };
            if !each::<M, S, 2>(row, least as u32, exec, lanes, range, places) {
                return general::<LdsPair<M>>(wave, code);
            }
        }
        Flow::Next
    }
}
