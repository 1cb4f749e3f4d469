//! The arithmetic of matrix instructions: computes rows of D from rows of panels, sixteen columns at a time.

use std::mem::MaybeUninit;
use std::ptr::{addr_of, addr_of_mut};

use crate::float::dot;
use crate::float::grid::{Factor, Watch};
use crate::simd::{D, F, G, LANES, Mask, Simd, U};

/// Sixteen numbers of a type.
pub(super) trait Value<S: Simd>: Copy {
    /// A single number.
    type Scalar: Copy;

    fn zero() -> Self;

    fn splat(value: Self::Scalar) -> Self;

    /// # Safety
    /// There must be sixteen numbers.
    unsafe fn load(from: *const Self::Scalar) -> Self;

    /// # Safety
    /// There must be room for sixteen numbers.
    unsafe fn store(self, to: *mut Self::Scalar);

    /// From each four numbers, number `i`, repeated four times.
    ///
    /// # Safety
    /// There must be sixteen numbers.
    unsafe fn spread(from: *const Self::Scalar, i: usize) -> Self;

    /// `self * b + c`, rounded once.
    fn fused(self, b: Self, c: Self) -> Self;
}

impl<S: Simd> Value<S> for F<S> {
    type Scalar = f32;

    #[inline(always)]
    fn zero() -> Self {
        F::splat(0.0)
    }

    #[inline(always)]
    fn splat(value: f32) -> Self {
        F::splat(value)
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller's promise.
        F(unsafe { S::load(from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller's promise.
        unsafe { S::store(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn spread(from: *const f32, i: usize) -> Self {
        static FOURS: [u32; LANES] = [0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12];
        // SAFETY: the caller's promise.
        let (index, values) = unsafe { (U::<S>(S::load(FOURS.as_ptr())), U::<S>(S::load(from.cast()))) };
        values.permute(index + i as u32).as_f32()
    }

    #[inline(always)]
    fn fused(self, b: Self, c: Self) -> Self {
        self.fma(b, c)
    }
}

impl<S: Simd> Value<S> for G<S> {
    type Scalar = f64;

    #[inline(always)]
    fn zero() -> Self {
        G::splat(0.0)
    }

    #[inline(always)]
    fn splat(value: f64) -> Self {
        G::splat(value)
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller's promise.
        D::<S>::from_array(unsafe { from.cast::<[u64; LANES]>().read() }).as_f64()
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[u64; LANES]>().write(self.bits().array()) }
    }

    #[inline(always)]
    unsafe fn spread(from: *const f64, i: usize) -> Self {
        let mut lanes = [0; LANES];
        for (lane, value) in lanes.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *value = unsafe { from.add(lane & !3 | i).read() }.to_bits();
        }
        D::<S>::from_array(lanes).as_f64()
    }

    #[inline(always)]
    fn fused(self, b: Self, c: Self) -> Self {
        self.fma(b, c)
    }
}

/// Panels and their shape. A and B have `depth` rows (B has more if A is sparse) and the sum has `n`, all of
/// `width` numbers.
#[derive(Clone, Copy)]
pub(super) struct Product<'a, T> {
    pub a: *const T,
    pub b: *const T,
    pub n: usize,
    pub width: usize,
    pub depth: usize,
    /// The initial sum and its destination: the same numbers, or ones that do not overlap.
    pub from: *const T,
    pub to: *mut T,
    /// The position of each sixteen columns of each row there.
    pub places: &'a [u16; ROWS],
    /// The bits of the initial sum to keep, and those to invert then (f32 only).
    pub keep: u32,
    pub negate: u32,
}

/// The number of rows of sixteen in the largest result.
pub(super) const ROWS: usize = 128;

/// The positions in a panel: one row after another.
pub(super) static LINEAR: [u16; ROWS] = {
    let mut places = [0; ROWS];
    let mut i = 0;
    while i < ROWS {
        places[i] = (i * LANES) as u16;
        i += 1;
    }
    places
};

impl<T> Product<'_, T> {
    /// The positions of columns in rows of the sum, for `R` rows starting at row `i`.
    #[inline(always)]
    fn places<const R: usize>(&self, i: usize, column: usize) -> [usize; R] {
        let (first, step) = ((i * self.width + column) / LANES, self.width / LANES);
        crate::rows::from_fn(|r| usize::from(self.places[(first + r * step) % ROWS]))
    }
}

impl Product<'_, f32> {
    /// Sixteen numbers of the initial sum.
    ///
    /// # Safety
    /// See [`chain`].
    #[inline(always)]
    unsafe fn begin<S: Simd>(&self, place: usize) -> F<S> {
        // SAFETY: the caller's promise.
        let value: F<S> = unsafe { F::load(self.from.add(place)) };
        if self.keep == u32::MAX && self.negate == 0 {
            return value;
        }
        (value.bits() & self.keep ^ U::splat(self.negate)).as_f32()
    }

    /// Writes sixteen numbers of the result. NaNs become the default NaN.
    ///
    /// # Safety
    /// See [`chain`].
    #[inline(always)]
    unsafe fn end<S: Simd>(&self, place: usize, sum: F<S>) {
        let bits = sum.is_nan().select(U::splat(0x7fc0_0000), sum.bits());
        // SAFETY: the caller's promise.
        unsafe { S::store(self.to.add(place).cast(), bits.0) }
    }

    /// Adds sixteen integers, given as f32, to integers.
    ///
    /// # Safety
    /// See [`chain`].
    #[inline(always)]
    unsafe fn end_integers<S: Simd>(&self, place: usize, sum: F<S>, saturate: bool) {
        // SAFETY: the caller's promise.
        let old = U::<S>(unsafe { S::load(self.from.add(place).cast()) });
        let sum = sum.to_i32();
        let new = if saturate {
            old.map2(sum, |a, b| (a as i32).saturating_add(b as i32) as u32)
        } else {
            old + sum
        };
        // SAFETY: the caller's promise.
        unsafe { S::store(self.to.add(place).cast(), new.0) }
    }
}

/// Integers are summed as f32, starting at zero, and then added to the sum.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Integers {
    No,
    Wrap,
    Saturate,
}

/// A chain of fused multiply-adds in the order of K, in tiles of `R` rows and `C` times sixteen columns.
///
/// # Safety
/// The panels must have the shape in `p`. `n` must be 4 if `SPREAD`, otherwise 16 or 32 and a multiple of `R`
/// and of `C` times sixteen.
#[inline(always)]
pub(super) unsafe fn chain<S: Simd, const R: usize, const C: usize, const SPREAD: bool>(
    p: &Product<'_, f32>,
) {
    for column in (0..p.width).step_by(C * LANES) {
        for i in (0..p.n).step_by(R) {
            // SAFETY: `i + R` is at most `n`. The caller promises the rest.
            unsafe {
                let mut places = [[0; R]; C];
                let mut sums = [[F::<S>::zero(); R]; C];
                for (c, (places, sums)) in places.iter_mut().zip(&mut sums).enumerate() {
                    *places = p.places(i, column + c * LANES);
                    for (&place, sum) in places.iter().zip(sums) {
                        *sum = p.begin(place);
                    }
                }
                accumulate::<S, F<S>, R, C, SPREAD>(p, i, column, &mut sums);
                for (places, sums) in places.iter().zip(&sums) {
                    for (&place, &sum) in places.iter().zip(sums) {
                        p.end(place, sum);
                    }
                }
            }
        }
    }
}

/// A chain of f64, whose sums are in a panel.
///
/// # Safety
/// See [`chain`].
#[inline(always)]
pub(super) unsafe fn chain_wide<S: Simd, const R: usize, const SPREAD: bool>(p: &Product<'_, f64>) {
    for column in (0..p.width).step_by(LANES) {
        for i in (0..p.n).step_by(R) {
            // SAFETY: see `chain`.
            unsafe {
                let places = p.places::<R>(i, column);
                let mut sums = [[G::<S>::zero(); R]];
                for (&place, sum) in places.iter().zip(&mut sums[0]) {
                    *sum = Value::load(p.from.add(place));
                }
                accumulate::<S, G<S>, R, 1, SPREAD>(p, i, column, &mut sums);
                for (&place, &sum) in places.iter().zip(&sums[0]) {
                    sum.store(p.to.add(place));
                }
            }
        }
    }
}

/// Adds all products to `C` times sixteen columns of `R` rows.
///
/// # Safety
/// See [`chain`].
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "the row is the inner index of the sums")]
unsafe fn accumulate<S: Simd, V: Value<S>, const R: usize, const C: usize, const SPREAD: bool>(
    p: &Product<'_, V::Scalar>,
    i: usize,
    column: usize,
    sums: &mut [[V; R]; C],
) {
    let block = column / p.n * p.n;
    for k in 0..p.depth {
        // SAFETY: the caller's promise.
        unsafe {
            let mut b = [V::zero(); C];
            for (c, b) in b.iter_mut().enumerate() {
                *b = V::load(p.b.add(k * p.width + column + c * LANES));
            }
            for r in 0..R {
                let a = fetch::<S, V, SPREAD>(p, k, block, column, i + r);
                for c in 0..C {
                    sums[c][r] = a.fused(b[c], sums[c][r]);
                }
            }
        }
    }
}

/// The element of A in row `i` and column `k`, for each column of D.
///
/// # Safety
/// See [`chain`].
#[inline(always)]
unsafe fn fetch<S: Simd, V: Value<S>, const SPREAD: bool>(
    p: &Product<'_, V::Scalar>,
    k: usize,
    block: usize,
    column: usize,
    i: usize,
) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        let row = p.a.add(k * p.width);
        if SPREAD { V::spread(row.add(column), i) } else { V::splat(*row.add(block + i)) }
    }
}

/// Adds the result of [`chain`], started at zero, to the sum, whose elements are integers.
///
/// # Safety
/// See [`chain`].
#[inline(always)]
pub(super) unsafe fn integers<S: Simd, const R: usize, const SPREAD: bool>(
    p: &Product<'_, f32>,
    saturate: bool,
) {
    for column in (0..p.width).step_by(LANES) {
        for i in (0..p.n).step_by(R) {
            let mut sums = [[F::<S>::zero(); R]];
            // SAFETY: see `chain`.
            unsafe {
                accumulate::<S, F<S>, R, 1, SPREAD>(p, i, column, &mut sums);
                for (&place, &sum) in p.places::<R>(i, column).iter().zip(&sums[0]) {
                    p.end_integers(place, sum, saturate);
                }
            }
        }
    }
}

/// Multiplies each row of A with the rows of B whose starts are in `rows`, one for each element of A.
///
/// # Safety
/// See [`chain`]. `rows` must have as many elements as A, each of them the start of a row of B. `n` must be
/// 16 or 32, and `width` the same.
#[inline(always)]
pub(super) unsafe fn sparse<S: Simd, const R: usize>(
    p: &Product<'_, f32>,
    rows: *const u32,
    integers: Integers,
) {
    for column in (0..p.width).step_by(LANES) {
        for i in (0..p.n).step_by(R) {
            // SAFETY: see `chain`.
            unsafe {
                let places = p.places::<R>(i, column);
                let mut sums = [F::<S>::zero(); R];
                if integers == Integers::No {
                    for (&place, sum) in places.iter().zip(&mut sums) {
                        *sum = p.begin(place);
                    }
                }
                for k in 0..p.depth {
                    for (r, sum) in sums.iter_mut().enumerate() {
                        let at = k * p.width + i + r;
                        let b = F::<S>::load(p.b.add(*rows.add(at) as usize + column));
                        *sum = F::splat(*p.a.add(at)).fma(b, *sum);
                    }
                }
                for (&place, &sum) in places.iter().zip(&sums) {
                    match integers {
                        Integers::No => p.end(place, sum),
                        _ => p.end_integers(place, sum, integers == Integers::Saturate),
                    }
                }
            }
        }
    }
}

/// Products of `P` neighbours in K are added pairwise, then to the sum. `FLUSH`: every subnormal number is
/// zero.
///
/// # Safety
/// See [`chain`]; `P` is 2 or 4 and divides the depth.
#[inline(always)]
pub(super) unsafe fn pairwise<
    S: Simd,
    const R: usize,
    const P: usize,
    const SPREAD: bool,
    const FLUSH: bool,
>(
    p: &Product<'_, f32>,
) {
    for column in (0..p.width).step_by(LANES) {
        let block = column / p.n * p.n;
        for i in (0..p.n).step_by(R) {
            // SAFETY: see `chain`.
            unsafe {
                let places = p.places::<R>(i, column);
                let mut sums = [F::<S>::zero(); R];
                for (&place, sum) in places.iter().zip(&mut sums) {
                    // Subnormal numbers are zero.
                    let begin: F<S> = p.begin(place);
                    let tiny = (begin.bits() & 0x7f80_0000).equal(U::splat(0));
                    *sum = tiny.select(U::splat(0), begin.bits()).as_f32();
                }
                for first in (0..p.depth).step_by(P) {
                    let mut b = [F::<S>::zero(); P];
                    for (k, b) in b.iter_mut().enumerate() {
                        *b = F::load(p.b.add((first + k) * p.width + column));
                    }
                    for (r, sum) in sums.iter_mut().enumerate() {
                        let mut a = [F::<S>::zero(); P];
                        for (k, a) in a.iter_mut().enumerate() {
                            *a = fetch::<S, F<S>, SPREAD>(p, first + k, block, column, i + r);
                        }
                        let mut group = pair::<S, FLUSH>([a[0], a[1]], [b[0], b[1]]);
                        if P == 4 {
                            let other = pair::<S, FLUSH>([a[P - 2], a[P - 1]], [b[P - 2], b[P - 1]]);
                            group = flushed::<S, FLUSH>(group + other);
                        }
                        *sum = flushed::<S, FLUSH>(*sum + group);
                    }
                }
                for (&place, &sum) in places.iter().zip(&sums) {
                    p.end(place, sum);
                }
            }
        }
    }
}

#[inline(always)]
fn flushed<S: Simd, const FLUSH: bool>(value: F<S>) -> F<S> {
    if FLUSH { value.flush() } else { value }
}

/// The sum of two products.
#[inline(always)]
fn pair<S: Simd, const FLUSH: bool>(a: [F<S>; 2], b: [F<S>; 2]) -> F<S> {
    if FLUSH {
        flushed::<S, true>(flushed::<S, true>(a[0] * b[0]) + flushed::<S, true>(a[1] * b[1]))
    } else {
        // Products of normal size are exact, so the fused sum is the rounded sum.
        a[1].fma(b[1], a[0] * b[0])
    }
}

/// The largest panel of [`dots`]. A test compares it with the table.
pub(super) const DOTS: usize = 256;

/// A panel of factors of dot products.
#[repr(C, align(64))]
struct Side {
    values: [f32; DOTS],
    exponents: [u32; DOTS],
}

impl Side {
    /// Prepares a panel; whether all of its numbers have a common size.
    ///
    /// # Safety
    /// There must be `count` numbers, a multiple of sixteen.
    #[inline(always)]
    unsafe fn prepare<S: Simd>(
        to: *mut Side,
        rules: dot::Rules,
        side: usize,
        panel: *const f32,
        count: usize,
    ) -> bool {
        let mut uncommon = Mask::<S>::from_bits(0);
        for at in (0..count.min(DOTS)).step_by(LANES) {
            // SAFETY: the caller's promise; there is room for as many.
            unsafe {
                let factor = rules.factors::<S>(side, F::load(panel.add(at)));
                factor.value.store(addr_of_mut!((*to).values).cast::<f32>().add(at));
                S::store(addr_of_mut!((*to).exponents).cast::<u32>().add(at), factor.exponent.0);
                uncommon = uncommon | dot::Rules::uncommon(factor);
            }
        }
        !uncommon.any()
    }

    /// Sixteen factors.
    ///
    /// # Safety
    /// They must have been prepared.
    #[inline(always)]
    unsafe fn factors<S: Simd>(from: *const Side, at: usize) -> Factor<S> {
        // SAFETY: the caller's promise.
        unsafe {
            let exponents = addr_of!((*from).exponents).cast::<u32>();
            let value = F::load(addr_of!((*from).values).cast::<f32>().add(at));
            Factor { value, exponent: U(S::load(exponents.add(at))) }
        }
    }

    /// One factor in all lanes.
    ///
    /// # Safety
    /// It must have been prepared.
    #[inline(always)]
    unsafe fn splat<S: Simd>(from: *const Side, at: usize) -> Factor<S> {
        // SAFETY: the caller's promise.
        unsafe {
            let exponent = *addr_of!((*from).exponents).cast::<u32>().add(at);
            let value = *addr_of!((*from).values).cast::<f32>().add(at);
            Factor { value: F::splat(value), exponent: U::splat(exponent) }
        }
    }
}

/// Dot products of `N` neighbours in K, as RDNA computes them. NaNs are kept as they are.
///
/// # Safety
/// See [`chain`]. There must be one block, no panel larger than [`DOTS`], and `N` must divide the depth.
#[inline(always)]
pub(super) unsafe fn dots<S: Simd, const N: usize>(p: &Product<'_, f32>, rules: dot::Rules) {
    // Two rows at a time, because each sum waits for the one before it.
    const R: usize = 2;
    let count = p.depth * p.width;
    let (mut side_a, mut side_b) = (MaybeUninit::<Side>::uninit(), MaybeUninit::<Side>::uninit());
    let (side_a, side_b) = (side_a.as_mut_ptr(), side_b.as_mut_ptr());
    // SAFETY: see `chain`.
    unsafe {
        // Without vector registers there is nothing to gain.
        let is_common = S::VEX
            && Side::prepare::<S>(side_a, rules, 0, p.a, count)
            && Side::prepare::<S>(side_b, rules, 1, p.b, count);
        for column in (0..p.width).step_by(LANES) {
            for i in (0..p.n).step_by(R) {
                let places = p.places::<R>(i, column);
                if is_common {
                    let mut watch = Watch::<S>::new();
                    let mut sums: [F<S>; R] = crate::rows::map(places, |place| p.begin(place));
                    for first in (0..p.depth).step_by(N) {
                        let at = |k: usize| (first + k) * p.width;
                        let b: [_; N] = crate::rows::from_fn(|k| Side::factors::<S>(side_b, at(k) + column));
                        for (r, sum) in sums.iter_mut().enumerate() {
                            let a = crate::rows::from_fn(|k| Side::splat::<S>(side_a, at(k) + i + r));
                            *sum = rules.common::<S, N, 2>(a, b, *sum, &mut watch);
                        }
                    }
                    if watch.is_fine() {
                        for (place, sum) in places.into_iter().zip(sums) {
                            sum.store(p.to.add(place));
                        }
                        continue;
                    }
                }
                for (r, place) in places.into_iter().enumerate() {
                    slow_dots::<S, N>(p, rules, i + r, column, place);
                }
            }
        }
    }
}

/// Sixteen columns of a row of [`dots`], for numbers of any size.
///
/// # Safety
/// See [`dots`].
#[inline(always)]
unsafe fn slow_dots<S: Simd, const N: usize>(
    p: &Product<'_, f32>,
    rules: dot::Rules,
    i: usize,
    column: usize,
    place: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sum = p.begin::<S>(place).bits().array();
        for first in (0..p.depth).step_by(N) {
            let row = |k: usize| (first + k) * p.width;
            let a = crate::rows::from_fn(|k| [(*p.a.add(row(k) + i)).to_bits(); LANES]);
            let b: [_; N] =
                crate::rows::from_fn(|k| U::<S>(S::load(p.b.add(row(k) + column).cast())).array());
            sum = rules.sum::<N, 2, LANES>(a, b, sum);
        }
        S::store(p.to.add(place).cast(), U::<S>::from_array(sum).0);
    }
}

/// Whether products of these numbers, or their sums, could be subnormal or infinite: some number is nonzero
/// and below 2^-31, or is 2^63 or more.
///
/// # Safety
/// There must be `count` numbers, a multiple of sixteen.
#[inline(always)]
pub(super) unsafe fn extreme<S: Simd>(numbers: *const f32, count: usize) -> bool {
    let mut bad = U::<S>::splat(0);
    for at in (0..count).step_by(LANES) {
        // SAFETY: the caller's promise.
        let bits = U::<S>(unsafe { S::load(numbers.add(at).cast()) }) & 0x7fff_ffff;
        let fine = (bits - 0x3000_0000).less(U::splat(0x2f00_0000));
        let zero = bits.equal(U::splat(0));
        bad = bad | (fine | zero).select(U::splat(0), U::splat(1));
    }
    (!bad.equal(U::splat(0))).any()
}
