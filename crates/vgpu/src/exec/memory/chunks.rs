//! Loads and stores of whole registers in global memory and LDS, sixteen lanes at a time.
//!
//! Most sixteen lanes read one place or consecutive ones, so their data are moved by vectors. Addresses are checked first, all
//! lanes of the wave against one range; what is not in it is left to the general handler, which finds out why.

use std::marker::PhantomData;

use super::lanes::{Bits, EXTRA_SHIFT, offset};
use super::moves::{Data, Dwords, Load, Move, Store};
use super::table::{Global, Lds, LdsPair};
use crate::exec::level::{Body, SimdBody, scalar_handler};
use crate::exec::simd::{D, LANES, Mask, Simd, U};
use crate::exec::{Code, Flow, Src, Wave};

/// Sixteen lanes' offsets.
#[derive(Clone, Copy)]
pub(super) struct Chunk<S: Simd> {
    offsets: U<S>,
    first: u32,
    enabled: u16,
    pattern: Pattern,
}

/// What the offsets have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern {
    /// All lanes are enabled, and all offsets are the same.
    Same,
    /// All lanes are enabled, and each lane's data follow those of the lane before it.
    Consecutive,
    /// Neither.
    Other,
}

#[inline(always)]
fn all<S: Simd>(mask: Mask<S>) -> bool {
    mask.bits() == u16::MAX
}

impl<S: Simd> Chunk<S> {
    /// # Safety
    /// `row` must be sixteen lanes of a register.
    #[inline(always)]
    unsafe fn new(row: *const u32, enabled: u16, bytes: u32) -> Chunk<S> {
        // SAFETY: the caller's promise.
        let (offsets, first) = unsafe { (U::<S>(S::load(row)), row.read()) };
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
    /// Moves the data of sixteen lanes, which are at `memory` and their offsets. `at` is the first of them in the first
    /// register, `lanes` how far it is to the next one.
    ///
    /// # Safety
    /// The registers must be in the wave's file, enabled lanes' memory must be good for the access.
    unsafe fn chunk<S: Simd>(chunk: &Chunk<S>, memory: *mut u8, at: *mut u32, lanes: usize);

    /// The register of a code's data, or of its second data.
    fn register(code: &Code, second: bool, lanes: usize) -> u32;
}

impl<const N: usize> Whole for Load<Dwords<N>> {
    #[inline(always)]
    unsafe fn chunk<S: Simd>(chunk: &Chunk<S>, memory: *mut u8, at: *mut u32, lanes: usize) {
        let origin = memory.wrapping_add(chunk.first as usize);
        // SAFETY: the caller's promise.
        unsafe {
            match chunk.pattern {
                Pattern::Same => {
                    // Loaded once, so that all lanes see the same value.
                    let mut value = [0; N];
                    Dwords::<N>::load::<1>(origin, value.as_mut_ptr());
                    for (i, value) in value.into_iter().enumerate() {
                        S::store(at.add(i * lanes), S::splat(value));
                    }
                }
                Pattern::Consecutive if N == 1 => S::store(at, S::load(origin.cast())),
                Pattern::Consecutive if N == 2 => {
                    let (low, high) = wide::<S>(origin).split();
                    S::store(at, low.0);
                    S::store(at.add(lanes), high.0);
                }
                Pattern::Consecutive if N == 4 => {
                    let (even, odd) = wide::<S>(origin).split();
                    let (even_rest, odd_rest) = wide::<S>(origin.add(8 * LANES)).split();
                    let (first, third) = even.before(even_rest).split();
                    let (second, fourth) = odd.before(odd_rest).split();
                    for (i, value) in [first, second, third, fourth].into_iter().enumerate() {
                        S::store(at.add(i * lanes), value.0);
                    }
                }
                _ if N == 1 && chunk.enabled == u16::MAX => S::store(at, S::gather(memory, chunk.offsets.0)),
                _ => {
                    let offsets = chunk.offsets.array();
                    for lane in Bits(chunk.enabled.into()) {
                        let mut value = [0; N];
                        Dwords::<N>::load::<1>(
                            memory.wrapping_add(offsets[lane % LANES] as usize),
                            value.as_mut_ptr(),
                        );
                        for (i, value) in value.into_iter().enumerate() {
                            at.add(i * lanes + lane).write(value);
                        }
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn register(code: &Code, second: bool, lanes: usize) -> u32 {
        code.dst + if second { (N * lanes) as u32 } else { 0 }
    }
}

impl<const N: usize> Whole for Store<Dwords<N>> {
    #[inline(always)]
    unsafe fn chunk<S: Simd>(chunk: &Chunk<S>, memory: *mut u8, at: *mut u32, lanes: usize) {
        let origin = memory.wrapping_add(chunk.first as usize);
        // SAFETY: the caller's promise.
        unsafe {
            match chunk.pattern {
                Pattern::Consecutive if N == 1 => S::store(origin.cast(), S::load(at)),
                Pattern::Consecutive if N == 2 => {
                    store_wide(origin, load::<S>(at, 0).join(load::<S>(at, lanes)))
                }
                Pattern::Consecutive if N == 4 => {
                    let (even, even_rest) = load::<S>(at, 0).join(load::<S>(at, 2 * lanes)).halves();
                    let (odd, odd_rest) = load::<S>(at, lanes).join(load::<S>(at, 3 * lanes)).halves();
                    store_wide(origin, even.join(odd));
                    store_wide(origin.add(8 * LANES), even_rest.join(odd_rest));
                }
                _ => {
                    let offsets = chunk.offsets.array();
                    for lane in Bits(chunk.enabled.into()) {
                        let mut value = [0; N];
                        for (i, dword) in value.iter_mut().enumerate() {
                            *dword = at.add(i * lanes + lane).read();
                        }
                        Dwords::<N>::store::<1>(
                            memory.wrapping_add(offsets[lane % LANES] as usize),
                            value.as_ptr(),
                        );
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
    D::from_array(unsafe { from.cast::<[u64; LANES]>().read_unaligned() })
}

/// # Safety
/// There must be room for sixteen times eight bytes.
#[inline(always)]
unsafe fn store_wide<S: Simd>(to: *mut u8, value: D<S>) {
    // SAFETY: the caller's promise.
    unsafe { to.cast::<[u64; LANES]>().write_unaligned(value.array()) }
}

/// Leaves an instruction to its general handler.
///
/// # Safety
/// As for handlers.
#[cold]
#[inline(never)]
unsafe fn general<B: Body>(wave: &mut Wave, code: &Code) -> Flow {
    // SAFETY: the caller's promise.
    unsafe { scalar_handler::<B>(usize::from(wave.lanes))(wave, code) }
}

/// Whether enabled lanes' offsets are `least..=least + span`.
///
/// # Safety
/// `row` must be a register of the wave's file.
#[inline(always)]
unsafe fn within<S: Simd>(row: *const u32, exec: u64, lanes: usize, least: u32, span: u32) -> bool {
    let mut outside = 0;
    for first in (0..lanes).step_by(LANES) {
        // SAFETY: the caller's promise.
        let offsets = U::<S>(unsafe { S::load(row.add(first)) });
        outside |= U::splat(span).less(offsets - least).bits() & (exec >> first) as u16;
    }
    outside == 0
}

/// Moves the data of all lanes.
///
/// # Safety
/// Registers must be in the wave's file, enabled lanes' memory must be good for the access.
#[inline(always)]
unsafe fn each<M: Whole, S: Simd>(row: *const u32, exec: u64, lanes: usize, memory: *mut u8, at: *mut u32) {
    for first in (0..lanes).step_by(LANES) {
        let enabled = (exec >> first) as u16;
        if enabled != 0 {
            // SAFETY: the caller's promise.
            unsafe {
                let chunk = Chunk::<S>::new(row.add(first), enabled, M::BYTES as u32);
                M::chunk(&chunk, memory, at.add(first), lanes);
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
        // SAFETY: operands were lowered for this wave's file. The range that is checked is a live allocation.
        unsafe {
            let Src::Vector(first) = code.src[0] else { return general::<Global<M>>(wave, code) };
            let row: *const u32 = wave.vgpr.add(first as usize);
            let lane = exec.trailing_zeros() as usize;
            let base = if let Src::Scalar(slot) = code.src[2] {
                wave.scalar64(slot)
            } else {
                let high = row.add(lanes);
                let value = high.add(lane).read();
                if !within::<S>(high, exec, lanes, value, 0) {
                    return general::<Global<M>>(wave, code);
                }
                u64::from(value) << 32
            };
            let base = base.wrapping_add_signed(offset(code));
            let size = M::BYTES as u64;
            let address = base.wrapping_add(row.add(lane).read().into());
            let Some((start, end)) = wave.access.range(M::ACCESS, address, size) else {
                return general::<Global<M>>(wave, code);
            };
            let least = u32::try_from(start.saturating_sub(base)).unwrap_or(u32::MAX);
            let most =
                (end - size).checked_sub(base).map_or(0, |most| u32::try_from(most).unwrap_or(u32::MAX));
            if most < least || !within::<S>(row, exec, lanes, least, most - least) {
                return general::<Global<M>>(wave, code);
            }
            let at = wave.vgpr.add(M::register(code, false, lanes) as usize);
            each::<M, S>(row, exec, lanes, base as *mut u8, at);
        }
        Flow::Next
    }
}

/// Whether `offset` more than what enabled lanes hold lies in LDS, with all of the data.
///
/// # Safety
/// `row` must be a register of the wave's file.
#[inline(always)]
unsafe fn in_lds<S: Simd>(wave: &Wave, row: *const u32, exec: u64, offset: u64, bytes: usize) -> bool {
    let limit = u64::from(wave.access.lds_size).checked_sub(offset + bytes as u64);
    // SAFETY: the caller's promise.
    limit.is_some_and(|limit| unsafe { within::<S>(row, exec, usize::from(wave.lanes), 0, limit as u32) })
}

/// DS instructions with one access per lane.
pub(super) struct LdsChunks<M>(PhantomData<M>);

impl<M: Whole> SimdBody for LdsChunks<M> {
    #[inline(always)]
    unsafe fn run<S: Simd>(wave: &mut Wave, code: &Code) -> Flow {
        let (exec, lanes) = (wave.active(), usize::from(wave.lanes));
        let Src::Vector(first) = code.src[0] else { return Flow::Next };
        let offset = offset(code) as u64;
        // SAFETY: operands were lowered for this wave's file. LDS is checked for all enabled lanes.
        unsafe {
            let row: *const u32 = wave.vgpr.add(first as usize);
            if !in_lds::<S>(wave, row, exec, offset, M::BYTES) {
                return general::<Lds<M>>(wave, code);
            }
            let memory = wave.access.lds.wrapping_add(offset as usize);
            let at = wave.vgpr.add(M::register(code, false, lanes) as usize);
            each::<M, S>(row, exec, lanes, memory, at);
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
        let unit = M::BYTES << if code.imm >> EXTRA_SHIFT & 1 != 0 { 6 } else { 0 };
        let offsets = offset(code) as usize;
        let offsets = [(offsets & 0xff) * unit, (offsets >> 8 & 0xff) * unit];
        // SAFETY: operands were lowered for this wave's file. LDS is checked for all enabled lanes. All of a chunk's lanes
        // have given their addresses before its first data are written.
        unsafe {
            let row: *const u32 = wave.vgpr.add(first as usize);
            let furthest = offsets[0].max(offsets[1]) as u64;
            if !in_lds::<S>(wave, row, exec, furthest, M::BYTES) {
                return general::<LdsPair<M>>(wave, code);
            }
            let one = wave.vgpr.add(M::register(code, false, lanes) as usize);
            let two = wave.vgpr.add(M::register(code, true, lanes) as usize);
            for first in (0..lanes).step_by(LANES) {
                let enabled = (exec >> first) as u16;
                if enabled != 0 {
                    let chunk = Chunk::<S>::new(row.add(first), enabled, M::BYTES as u32);
                    M::chunk(&chunk, wave.access.lds.wrapping_add(offsets[0]), one.add(first), lanes);
                    M::chunk(&chunk, wave.access.lds.wrapping_add(offsets[1]), two.add(first), lanes);
                }
            }
        }
        Flow::Next
    }
}
