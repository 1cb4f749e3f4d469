//! The dot products of [`dot`](super::dot) for sixteen lanes at a time.
//!
//! Numbers of common size need no integers for the digits of factors: a product is exact in f32, and a power
//! of two moves the grid to the integers, where a conversion truncates. Lanes with a NaN, an infinity or a
//! number near the ends of f32's range are for [`Rules::sum`].

use super::dot::{Factors, Rounded, Rules};
use crate::simd::{F, Simd, U};

/// The sign of an f32.
const SIGN: u32 = 0x8000_0000;
/// Positive infinity.
const INFINITY: u32 = 0x7f80_0000;
/// What is added to the exponent of a grid: 26 digits below the first digit of a number is then its exponent
/// field.
const GRID: u32 = 127 + 26;
/// Parts of it that the exponents of factors contain, less the 24 digits of a product below its grid.
const BIAS: [u32; 2] = [GRID / 2 - 12, GRID - GRID / 2 - 12];
/// The exponent of zero, below all others and their sums.
const NOTHING: u32 = -4096i32 as u32;
/// The exponent fields of the numbers of common size. Their products, and sums of these, are normal numbers,
/// and so are both units of their grids.
const LEAST: u32 = 27;
const FACTORS: std::ops::Range<u32> = 77..178;

/// Sixteen factors of one side.
#[derive(Clone, Copy)]
pub(crate) struct Factor<S: Simd> {
    /// Subnormal numbers that count as zero are zero.
    pub(crate) value: F<S>,
    /// The exponent of the first digit, or of the smallest normal number of the format.
    pub(crate) exponent: U<S>,
}

/// Remembers whether all numbers had a common size.
#[derive(Clone, Copy)]
pub(crate) struct Watch<S: Simd> {
    most: U<S>,
    /// One less than the smallest number but zero.
    least: U<S>,
}

impl<S: Simd> Watch<S> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Watch { most: U::splat(0), least: U::splat(u32::MAX) }
    }

    /// Notes the bits of absolute values.
    #[inline(always)]
    fn note(&mut self, size: U<S>) {
        self.most = self.most.umax(size);
        self.least = self.least.umin(size - 1);
    }

    /// Whether the sums are right.
    #[inline(always)]
    pub(crate) fn is_fine(self) -> bool {
        let small = self.least.less(U::splat((LEAST << 23) - 1));
        let fine = self.most.less(U::splat(INFINITY));
        !(small | !fine).any()
    }
}

impl Rules {
    /// Sixteen factors of side 0 or 1.
    #[inline(always)]
    pub(crate) fn factors<S: Simd>(self, side: usize, value: F<S>) -> Factor<S> {
        let format = self.factors[side];
        let mut bits = value.bits();
        let mut field = bits >> 23 & 255;
        if format == Factors::Bf16 && !self.fourth {
            // RDNA 3 treats subnormal bf16 as zero.
            bits = field.equal(U::splat(0)).select(bits & SIGN, bits);
        }
        field = field.imax(U::splat((format.least() + 127) as u32));
        let zero = (bits << 1).equal(U::splat(0));
        let exponent = zero.select(U::splat(NOTHING), field - 127 + BIAS[side]);
        Factor { value: bits.as_f32(), exponent }
    }

    /// Which factors have no common size.
    #[inline(always)]
    pub(crate) fn uncommon<S: Simd>(factor: Factor<S>) -> crate::simd::Mask<S> {
        let size = factor.value.bits() & !SIGN;
        let common = (size - (FACTORS.start << 23)).less(U::splat(FACTORS.end - FACTORS.start << 23));
        !(common | size.equal(U::splat(0)))
    }

    /// The sum of `c` and the products of `a` and `b`, if all numbers have a common size; `watch` notes that
    /// of `c` and of the products. RDNA 4 first adds each `GROUP` of products.
    #[inline(always)]
    pub(crate) fn common<S: Simd, const N: usize, const GROUP: usize>(
        self,
        a: [Factor<S>; N],
        b: [Factor<S>; N],
        c: F<S>,
        watch: &mut Watch<S>,
    ) -> F<S> {
        let half = matches!(self.rounded, Rounded::F16(_));
        let products: [F<S>; N] = crate::rows::from_fn(|i| a[i].value * b[i].value);
        let own: [U<S>; N] = crate::rows::from_fn(|i| a[i].exponent + b[i].exponent);
        let size = c.bits() & !SIGN;
        let mut most = size;
        let mut grid = U::splat(if half { GRID - 26 - 14 } else { LEAST });
        for i in 0..N {
            most = most.umax(products[i].bits() & !SIGN);
            grid = grid.imax(own[i]);
        }
        watch.note(most);
        let leading = if self.fourth { size } else { most };
        grid = grid.imax(leading >> 23);
        let total = if self.fourth {
            let least = if half { -14 } else { -126 };
            let scaled = c * units::<S>(grid).0;
            let vanishes =
                scaled.abs().less(F::splat(1.0)) & U::splat((GRID as i32 + least) as u32).less_signed(grid);
            let mut total = vanishes.select(U::splat(0), scaled.floor().small_to_i32());
            for first in (0..N).step_by(GROUP) {
                let mut group = U::splat(LEAST);
                for own in &own[first..first + GROUP] {
                    group = group.imax(*own);
                }
                let scale = units::<S>(group).0;
                let mut sum = U::splat(0);
                for product in &products[first..first + GROUP] {
                    sum = sum + (*product * scale).floor().small_to_i32();
                }
                total = total + sum.sar((grid - group).imax(U::splat(0)).umin(U::splat(31)));
            }
            total
        } else {
            let scale = units::<S>(grid).0;
            let mut total = (size.as_f32() * scale).small_to_i32();
            for product in products {
                let cut = (product.abs() * scale).small_to_i32();
                // A term whose sign differs from the addend's is complemented, not negated.
                total = total + (cut ^ (product.bits() ^ c.bits()).sar(U::splat(31)));
            }
            most.equal(U::splat(0)).select(U::splat(0), total)
        };
        let unit = units::<S>(grid).1;
        let sum = match self.rounded {
            Rounded::F16(saturate) => {
                // Of a sum with more digits than f32 has, the last five become one that says whether any of
                // them was set, so that the sum is rounded once.
                let lost = (total & 31).equal(U::splat(0)).select(U::splat(0), U::splat(32));
                let long = F::splat(16_777_215.0).less(total.to_f32_signed().abs());
                let short = long.select(total & !31 | lost, total).to_f32_signed() * unit;
                let rounded = short.to_half().half_to_f32();
                let most = F::splat(65504.0);
                match saturate {
                    true => {
                        let large = most.less(rounded.abs());
                        large.select(most.bits() | rounded.bits() & SIGN, rounded.bits()).as_f32()
                    }
                    false => rounded,
                }
            }
            Rounded::F32 | Rounded::Bf16 => total.to_f32_signed() * unit,
        };
        let sum = if self.fourth { sum } else { (sum.bits() ^ (c.bits() & SIGN)).as_f32() };
        // Zero is positive.
        let sum = sum + 0.0;
        if self.rounded == Rounded::Bf16 { (sum.bits() & 0xffff_0000).as_f32() } else { sum }
    }
}

/// What moves a grid to the integers, and back.
#[inline(always)]
fn units<S: Simd>(grid: U<S>) -> (F<S>, F<S>) {
    let to = U::splat(GRID + 127) - grid << 23;
    let from = grid - (GRID - 127) << 23;
    (to.as_f32(), from.as_f32())
}
