//! Functions that build arrays of lanes and are always inlined.
//!
//! `std::array::from_fn` and the arrays' `map` do the same, but they are generic code of another crate. The
//! compiler places their instances with the standard library's types, apart from the handlers. There, the
//! call for each lane is neither inlined nor vectorised.

use std::mem::MaybeUninit;

/// The array of `f(0)`, `f(1)`, …
#[inline(always)]
pub(crate) fn from_fn<T: Copy, const N: usize>(mut f: impl FnMut(usize) -> T) -> [T; N] {
    let mut row = MaybeUninit::<[T; N]>::uninit();
    let first = row.as_mut_ptr().cast::<T>();
    for i in 0..N {
        // SAFETY: `i` is within the array.
        unsafe { first.add(i).write(f(i)) };
    }
    // SAFETY: each element has been written.
    unsafe { row.assume_init() }
}

/// The array of `f` applied to each element.
#[inline(always)]
pub(crate) fn map<T: Copy, U: Copy, const N: usize>(row: [T; N], mut f: impl FnMut(T) -> U) -> [U; N] {
    from_fn(|i| f(row[i]))
}
