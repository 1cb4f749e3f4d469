//! Dot products of 16-bit floats as RDNA 3 and RDNA 4 compute them, and those of 8-bit floats on RDNA 4. The
//! products and the addend are truncated to multiples of one power of two, the *grid*, and summed as
//! integers. AMD's instruction set documents do not describe this. AMD's emulator rocjitsu (`gfx11_dot2.h`,
//! `gfx12_dot.h`) implements it, based on measurements of gfx1100 and gfx1201.
//!
//! This module computes them one at a time; [`grid`](super::grid) is for the common sizes of numbers.
//!
//! Factors are f32 that hold numbers of a shorter format. So is a 16-bit addend: it is exact in f32.

use crate::simd::opaque;

/// The format of the factors on one side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Factors {
    F16,
    Bf16,
    /// e4m3 and e5m2 of the Open Compute Project.
    Fp8,
    Bf8,
}

impl Factors {
    /// Digits after the point.
    #[inline(always)]
    fn fraction(self) -> i32 {
        match self {
            Factors::F16 => 10,
            Factors::Bf16 => 7,
            Factors::Fp8 => 3,
            Factors::Bf8 => 2,
        }
    }

    /// The exponent of the smallest normal number.
    #[inline(always)]
    pub(super) fn least(self) -> i32 {
        match self {
            Factors::F16 | Factors::Bf8 => -14,
            Factors::Bf16 => -126,
            Factors::Fp8 => -6,
        }
    }
}

/// The format that a sum is rounded to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rounded {
    F32,
    /// Overflows become the largest number if set.
    F16(bool),
    /// The sum is first rounded to f32, and then its lower half is dropped.
    Bf16,
}

/// The properties of a dot product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// The formats of A and of B.
    pub factors: [Factors; 2],
    pub rounded: Rounded,
    /// Whether the rules are those of RDNA 4, or else of RDNA 3.
    pub fourth: bool,
}

/// The result for a NaN among the factors, and for an undefined sum.
const FACTOR_NAN: u32 = 0xffc0_0a3d;
const INVALID: u32 = 0xffc0_0000;
/// The exponent of zero, below all others.
const NOTHING: i32 = -1024;

/// `digits * 2^exponent`.
#[derive(Clone, Copy)]
struct Term {
    digits: u32,
    exponent: i32,
    negative: bool,
}

impl Term {
    /// The exponent of the highest digit.
    #[inline(always)]
    fn leading(self) -> i32 {
        let highest = self.exponent + 31 - self.digits.leading_zeros() as i32;
        if self.digits == 0 { NOTHING } else { highest }
    }

    /// As a multiple of 2^grid, with the digits below it dropped, and whether any of these were set.
    #[inline(always)]
    fn cut(self, grid: i32) -> (i32, bool) {
        let shift = self.exponent - grid;
        let (left, right) = (shift.clamp(0, 31) as u32, (-shift).clamp(0, 31) as u32);
        // No digits are lost on the left: no number is that far above the grid.
        let cut = (self.digits << left) >> right;
        let lost = self.digits & ((1 << right) - 1) != 0;
        (cut as i32, lost)
    }

    /// The greatest multiple of 2^grid that is not above it. An addend of which nothing remains is zero.
    #[inline(always)]
    fn floor(self, grid: i32, addend: bool) -> i32 {
        let (cut, lost) = self.cut(grid);
        if self.negative { -cut - i32::from(lost && (!addend || cut != 0)) } else { cut }
    }
}

impl Rules {
    /// The digits of a finite factor of a side, and the exponent of the first digit, or that of the smallest
    /// normal number.
    #[inline(always)]
    fn factor(self, side: usize, bits: u32) -> (u32, i32) {
        let format = self.factors[side];
        let field = (bits >> 23 & 255) as i32;
        let exponent = (field.max(1) - 127).max(format.least());
        let implicit = if field == 0 { 0 } else { 1 << 23 };
        let below = exponent - (field.max(1) - 127) + 23 - format.fraction();
        let digits = (bits & 0x7f_ffff | implicit) >> below.clamp(0, 31);
        // RDNA 3 treats subnormal bf16 as zero.
        let gone = format == Factors::Bf16 && !self.fourth && field == 0;
        (if gone { 0 } else { digits }, exponent)
    }

    /// A product, and the grid that it requires.
    #[inline(always)]
    fn product(self, a: u32, b: u32) -> (Term, i32) {
        let ((x, ex), (y, ey)) = (self.factor(0, a), self.factor(1, b));
        let negative = (a ^ b) >> 31 != 0;
        let below = self.factors[0].fraction() + self.factors[1].fraction();
        let product = Term { digits: x * y, exponent: ex + ey - below, negative };
        (product, if product.digits == 0 { NOTHING } else { ex + ey - 24 })
    }

    /// The addend. RDNA 3 treats subnormal f32 as zero.
    #[inline(always)]
    fn addend(self, bits: u32) -> Term {
        let field = (bits >> 23 & 255) as i32;
        let digits = if field == 0 { bits & 0x7f_ffff } else { bits & 0x7f_ffff | 1 << 23 };
        let digits = if field == 0 && !self.fourth { 0 } else { digits };
        Term { digits, exponent: field.max(1) - 150, negative: bits >> 31 != 0 }
    }

    /// The sum of finite numbers. RDNA 4 first adds each `GROUP` of products.
    #[inline(always)]
    fn finite<const N: usize, const GROUP: usize>(self, a: [u32; N], b: [u32; N], c: u32) -> u32 {
        let c = self.addend(c);
        let half = matches!(self.rounded, Rounded::F16(_));
        let mut products = [(c, NOTHING); N];
        let mut grid = NOTHING;
        let mut leading = NOTHING;
        for i in 0..N {
            products[i] = self.product(a[i], b[i]);
            grid = grid.max(products[i].1);
            leading = leading.max(products[i].0.leading());
        }
        if self.fourth {
            let least = if half { -14 } else { -126 };
            let grid = grid.max(c.leading().max(least) - 26);
            let mut total = c.floor(grid, grid > least);
            for group in products.chunks_exact(GROUP) {
                let (mut own, mut sum) = (NOTHING, 0i32);
                for product in group {
                    own = own.max(product.1);
                }
                for product in group {
                    sum += product.0.floor(own, false);
                }
                let sum = Term { digits: sum.unsigned_abs(), exponent: own, negative: sum < 0 };
                total += sum.floor(grid, false);
            }
            return self.round(total, grid, false);
        }
        let own = if half { c.leading().max(-14) } else { c.leading() };
        let grid = grid.max(own.max(leading) - 26);
        let mut total = 0;
        let mut digits = 0;
        let mut add = |term: Term| {
            let (cut, _) = term.cut(grid);
            // A term whose sign differs from the addend's is complemented, not negated, so it counts one
            // more.
            total += if term.negative == c.negative { cut } else { !cut };
            digits |= term.digits;
        };
        for product in products {
            add(product.0);
        }
        add(c);
        self.round(if digits == 0 { 0 } else { total }, grid, c.negative)
    }

    /// `total * 2^grid`, negated if `flip`, rounded to nearest even; zero is positive.
    #[inline(always)]
    fn round(self, total: i32, grid: i32, flip: bool) -> u32 {
        let sign = u32::from((total < 0) != flip) << 31;
        let size = total.unsigned_abs();
        let rounded = match self.rounded {
            Rounded::F16(saturate) => half(size, grid, saturate),
            _ if self.fourth => {
                // Exact in f64.
                let unit = f64::from_bits(((grid + 1023) as u64) << 52);
                ((f64::from(size) * unit) as f32).to_bits()
            }
            // Rounded as if the exponent were unbounded; a subnormal result then becomes zero.
            _ => {
                let bits = (size as i32 as f32).to_bits();
                let field = (bits >> 23) as i32 + grid;
                let normal = (field as u32) << 23 | bits & 0x7f_ffff;
                match size {
                    0 => 0,
                    _ if field <= 0 => 0,
                    _ if field >= 255 => 0x7f80_0000,
                    _ => normal,
                }
            }
        };
        // A bf16 that is truncated to zero keeps its sign.
        let kept = if self.rounded == Rounded::Bf16 { 0xffff_0000 } else { u32::MAX };
        if rounded == 0 { 0 } else { rounded & kept | sign }
    }

    /// The result if there are NaNs or infinities.
    #[cold]
    #[inline(never)]
    fn special<const N: usize, const GROUP: usize>(self, a: [u32; N], b: [u32; N], c: u32) -> u32 {
        const INFINITY: u32 = 0x7f80_0000;
        let size = |bits: u32| bits & 0x7fff_ffff;
        let narrow = |bits: u32| match self.rounded {
            Rounded::F32 => bits,
            // If a factor is NaN, the payload is that of the format.
            Rounded::F16(_) if bits == FACTOR_NAN => 0xffc7_a000,
            Rounded::Bf16 if bits == FACTOR_NAN => 0xfffd_0000,
            Rounded::F16(_) => bits & 0xffff_e000,
            Rounded::Bf16 => bits & 0xffff_0000,
        };
        // For 8-bit floats, an undefined result is the same as that of a NaN.
        let bytes = matches!(self.factors[0], Factors::Fp8 | Factors::Bf8);
        let invalid = narrow(if bytes { FACTOR_NAN } else { INVALID });
        let factors = || a.iter().copied().zip(b.iter().copied());
        if factors().any(|(x, y)| size(x) > INFINITY || size(y) > INFINITY) {
            return narrow(FACTOR_NAN);
        }
        let zero = |side: usize, x: u32| size(x) != INFINITY && self.factor(side, x).0 == 0;
        let infinite = |x: u32, y: u32| size(x) == INFINITY || size(y) == INFINITY;
        let infinities = |sign: u32| factors().any(|(x, y)| infinite(x, y) && (x ^ y) >> 31 == sign);
        let (mut positive, mut negative) = (infinities(0), infinities(1));
        if positive && negative || factors().any(|(x, y)| infinite(x, y) && (zero(0, x) || zero(1, y))) {
            return invalid;
        }
        if size(c) > INFINITY {
            return narrow(c | 1 << 22);
        }
        positive |= c == INFINITY;
        negative |= c == INFINITY | 1 << 31;
        match (positive, negative) {
            (true, true) => invalid,
            (true, false) => INFINITY,
            (false, true) => INFINITY | 1 << 31,
            (false, false) => self.finite::<N, GROUP>(a, b, c),
        }
    }

    /// The sum of `c` and the products of `a` and `b`, lane by lane, for numbers of any size. RDNA 3 has two
    /// products. RDNA 4 has two or four: it first adds 16-bit floats in a `GROUP` of two, and 8-bit floats
    /// all at once.
    #[inline(never)]
    pub(crate) fn sum<const N: usize, const GROUP: usize, const LANES: usize>(
        self,
        a: [[u32; LANES]; N],
        b: [[u32; LANES]; N],
        c: [u32; LANES],
    ) -> [u32; LANES] {
        let mut sums = [0; LANES];
        // Not unrolled.
        for lane in 0..opaque(LANES).min(LANES) {
            let (x, y) = (column(&a, lane), column(&b, lane));
            let mut largest = c[lane] & 0x7f80_0000;
            for i in 0..N {
                largest = largest.max(x[i] & 0x7f80_0000).max(y[i] & 0x7f80_0000);
            }
            sums[lane] = if largest == 0x7f80_0000 {
                self.special::<N, GROUP>(x, y, c[lane])
            } else {
                self.finite::<N, GROUP>(x, y, c[lane])
            };
        }
        sums
    }
}

/// One lane of several rows.
#[inline(always)]
fn column<const N: usize, const LANES: usize>(rows: &[[u32; LANES]; N], lane: usize) -> [u32; N] {
    crate::rows::from_fn(|i| rows[i][lane])
}

/// `size * 2^grid` rounded to f16, as f32.
#[inline(always)]
fn half(size: u32, grid: i32, saturate: bool) -> u32 {
    let top = 31 - (size | 1).leading_zeros() as i32;
    let subnormal = top + grid < -14;
    let shift = if subnormal { -24 - grid } else { top - 10 };
    let right = shift.clamp(0, 31) as u32;
    let (kept, tail) = (size >> right, size & ((1 << right) - 1));
    let middle = (1u32 << right) >> 1;
    let up = right != 0 && (tail > middle || tail == middle && kept & 1 != 0);
    // A larger shift leaves less than half of the smallest number.
    let digits = if shift > 31 { 0 } else { (kept + u32::from(up)) << (-shift).clamp(0, 31) };
    let unit = f32::from_bits(((grid + shift + 127).clamp(1, 254) as u32) << 23);
    let value = (digits as i32 as f32 * unit).to_bits();
    let largest = if saturate { 0x477f_e000 } else { 0x7f80_0000 };
    if value > 0x477f_e000 { largest } else { value }
}
