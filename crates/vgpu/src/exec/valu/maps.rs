//! The shapes of vector instructions: a function of lanes becomes a handler.

use std::marker::PhantomData;

use super::super::{Body, Code, Flow, Handler, Src, Wave};
use super::lane::Lane;
use super::{Engine, conjure};
use crate::isa::scalar;

/// A closure without captures.
pub(super) trait Pure: Copy + 'static {}
impl<F: Copy + 'static> Pure for F {}

/// Whether source `index` is the high half of its register.
#[inline(always)]
fn high(code: &Code, index: u32) -> bool {
    code.mods.op_sel >> index & 1 != 0
}

/// Reads source `index`.
///
/// # Safety
/// As for handlers.
#[inline(always)]
unsafe fn source<T: Lane, const W: usize>(wave: &Wave, code: &Code, index: u32) -> [T; W] {
    // SAFETY: the caller's promise.
    unsafe { T::read::<W>(wave, code.src[index as usize], high(code, index)) }
}

/// Writes the destination.
///
/// # Safety
/// As for handlers.
#[inline(always)]
unsafe fn result<T: Lane, const W: usize>(wave: &mut Wave, code: &Code, value: [T; W]) {
    let mask = wave.exec::<W>();
    // SAFETY: the caller's promise.
    unsafe { T::write::<W>(wave, code.dst, &value, mask, code) };
}

macro_rules! map {
    ($name:ident, $make:ident, $($index:literal $arg:ident: $type:ident),*) => {
        struct $name<$($type,)* R, F>(PhantomData<($($type,)* R, F)>);

        impl<$($type: Lane,)* R: Lane, F: Fn($($type),*) -> R + Pure> Body for $name<$($type,)* R, F> {
            #[inline(always)]
            unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
                let f = conjure::<F>();
                // SAFETY: the caller's promise.
                unsafe {
                    $(let $arg = source::<$type, W>(wave, code, $index);)*
                    let mut value = [R::default(); W];
                    for l in 0..W {
                        value[l] = f($($arg[l]),*);
                    }
                    result::<R, W>(wave, code, value);
                }
                Flow::Next
            }
        }

        /// The handler that applies a function to every lane.
        pub(super) fn $make<$($type: Lane + 'static,)* R: Lane + 'static, F: Fn($($type),*) -> R + Pure>(
            engine: Engine,
            _: F,
        ) -> Handler {
            engine.handler::<$name<$($type,)* R, F>>()
        }
    };
}
map!(Map1, map1, 0 a: A);
map!(Map2, map2, 0 a: A, 1 b: B);
map!(Map3, map3, 0 a: A, 1 b: B, 2 c: C);

struct Compare<T, F>(PhantomData<(T, F)>);

impl<T: Lane, F: Fn(T, T) -> bool + Pure> Body for Compare<T, F> {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        let f = conjure::<F>();
        // SAFETY: the caller's promise.
        let (a, b) = unsafe { (source::<T, W>(wave, code, 0), source::<T, W>(wave, code, 1)) };
        let mut mask = 0;
        for l in 0..W {
            mask |= u64::from(f(a[l], b[l])) << l;
        }
        let mask = mask & wave.exec::<W>();
        wave.set_mask::<W>(code.dst as u8, mask);
        // gfx9's v_cmpx writes EXEC besides its destination
        if code.sdst != scalar::NULL {
            wave.set_mask::<W>(code.sdst, mask);
        }
        Flow::Next
    }
}

/// The handler of a comparison: writes a mask to `dst`, and to `sdst` unless that is NULL.
pub(super) fn compare<T: Lane + 'static, F: Fn(T, T) -> bool + Pure>(engine: Engine, _: F) -> Handler {
    engine.handler::<Compare<T, F>>()
}

struct Carry<F>(PhantomData<F>);

impl<F: Fn(u32, u32, bool) -> (u32, bool) + Pure> Body for Carry<F> {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        let f = conjure::<F>();
        // SAFETY: the caller's promise.
        let (a, b) = unsafe { (source::<u32, W>(wave, code, 0), source::<u32, W>(wave, code, 1)) };
        let carry_in = match code.src[2] {
            Src::Scalar(slot) => wave.mask::<W>(slot),
            _ => 0,
        };
        let mut value = [0; W];
        let mut carry = 0;
        for l in 0..W {
            let (sum, out) = f(a[l], b[l], carry_in >> l & 1 != 0);
            value[l] = sum;
            carry |= u64::from(out) << l;
        }
        let mask = wave.exec::<W>();
        // SAFETY: the caller's promise.
        unsafe { u32::write::<W>(wave, code.dst, &value, mask, code) };
        wave.set_mask::<W>(code.sdst, carry & mask);
        Flow::Next
    }
}

/// The handler of an addition or subtraction with carry-out to `sdst`, and carry-in from `src[2]` where it is a mask.
pub(super) fn carry<F: Fn(u32, u32, bool) -> (u32, bool) + Pure>(engine: Engine, _: F) -> Handler {
    engine.handler::<Carry<F>>()
}

struct Select<T>(PhantomData<T>);

impl<T: Lane> Body for Select<T> {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe {
            let (a, b) = (source::<T, W>(wave, code, 0), source::<T, W>(wave, code, 1));
            let Src::Scalar(slot) = code.src[2] else { return Flow::Next };
            let choose = wave.mask::<W>(slot);
            let mut value = [T::default(); W];
            for l in 0..W {
                value[l] = if choose >> l & 1 != 0 { b[l] } else { a[l] };
            }
            result::<T, W>(wave, code, value);
        }
        Flow::Next
    }
}

/// The handler of `v_cndmask`: source 1 where the mask in `src[2]` is set, else source 0.
pub(super) fn select<T: Lane + 'static>(engine: Engine) -> Handler {
    engine.handler::<Select<T>>()
}
