//! Sixteen lanes at a time, for each CPU level.
//!
//! [`Simd`] has the building blocks of instructions. Each operation has a lane-by-lane default, which defines
//! its meaning; levels override those for which they have instructions. Results are bit-identical on every
//! level, except for which NaN an arithmetic operation returns; instructions settle that themselves.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(not(target_arch = "x86_64"))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod sse2;
mod vector;

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(super) use avx512::Avx512;
#[cfg(not(target_arch = "x86_64"))]
pub(super) use portable::Baseline;
#[cfg(target_arch = "x86_64")]
pub(super) use sse2::Baseline;
pub(super) use vector::{D, F, G, Mask, U};

use super::float::convert;
use super::level::Call;

/// Lanes of a chunk.
pub(super) const LANES: usize = 16;

/// Returns `n` and hides its value from the compiler, so that loops over lanes are vectorised instead of
/// unrolled.
#[inline(always)]
pub(super) fn opaque(n: usize) -> usize {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let mut n = n;
        // SAFETY: the assembly is empty.
        unsafe { std::arch::asm!("/* {0} */", inout(reg) n, options(pure, nomem, nostack, preserves_flags)) };
        n
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    std::hint::black_box(n)
}

/// Returns `value`, evaluated at this point, so that what few cases need is not prepared for all.
#[inline(always)]
pub(super) fn here(value: u32) -> u32 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let mut value = u64::from(value);
        // SAFETY: the assembly is empty. It is not declared pure, so the compiler does not move it out of
        // branches and loops.
        unsafe { std::arch::asm!("/* {0} */", inout(reg) value, options(nomem, nostack, preserves_flags)) };
        value as u32
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    value
}

/// Applies a function lane by lane. On a level with [`Simd::OUTLINE`], this is a call of a separate function.
#[inline(always)]
pub(super) fn lanewise<S: Simd, A: Copy, R: Copy + Default>(
    a: &[A; LANES],
    f: impl Fn(A) -> R,
) -> [R; LANES] {
    let mut result = [R::default(); LANES];
    if S::OUTLINE {
        outlined::one(a, &mut result, f);
    } else {
        for i in 0..opaque(LANES).min(LANES) {
            result[i] = f(a[i]);
        }
    }
    result
}

/// See [`lanewise`].
#[inline(always)]
pub(super) fn lanewise2<S: Simd, A: Copy, B: Copy, R: Copy + Default>(
    a: &[A; LANES],
    b: &[B; LANES],
    f: impl Fn(A, B) -> R,
) -> [R; LANES] {
    let mut result = [R::default(); LANES];
    if S::OUTLINE {
        outlined::two(a, b, &mut result, f);
    } else {
        for i in 0..opaque(LANES).min(LANES) {
            result[i] = f(a[i], b[i]);
        }
    }
    result
}

/// See [`lanewise`].
#[inline(always)]
pub(super) fn lanewise3<S: Simd, A: Copy, B: Copy, C: Copy, R: Copy + Default>(
    a: &[A; LANES],
    b: &[B; LANES],
    c: &[C; LANES],
    f: impl Fn(A, B, C) -> R,
) -> [R; LANES] {
    let mut result = [R::default(); LANES];
    if S::OUTLINE {
        outlined::three(a, b, c, &mut result, f);
    } else {
        for i in 0..opaque(LANES).min(LANES) {
            result[i] = f(a[i], b[i], c[i]);
        }
    }
    result
}

/// Loops over lanes that are not inlined. Otherwise, a level without vector registers would have one per
/// operation.
mod outlined {
    use super::LANES;

    #[inline(never)]
    pub(super) fn one<A: Copy, R>(a: &[A; LANES], result: &mut [R; LANES], f: impl Fn(A) -> R) {
        for i in 0..LANES {
            result[i] = f(a[i]);
        }
    }

    #[inline(never)]
    pub(super) fn two<A: Copy, B: Copy, R>(
        a: &[A; LANES],
        b: &[B; LANES],
        result: &mut [R; LANES],
        f: impl Fn(A, B) -> R,
    ) {
        for i in 0..LANES {
            result[i] = f(a[i], b[i]);
        }
    }

    #[inline(never)]
    pub(super) fn three<A: Copy, B: Copy, C: Copy, R>(
        a: &[A; LANES],
        b: &[B; LANES],
        c: &[C; LANES],
        result: &mut [R; LANES],
        f: impl Fn(A, B, C) -> R,
    ) {
        for i in 0..LANES {
            result[i] = f(a[i], b[i], c[i]);
        }
    }
}

/// Declares operations with their lane-by-lane defaults.
macro_rules! defaults {
    (v1 $($(#[$doc:meta])* $name:ident |$a:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        unsafe fn $name(a: Self::V) -> Self::V {
            // SAFETY: the caller's promise.
            unsafe { Self::from_array(lanewise::<Self, _, _>(&Self::array(a), |$a: u32| -> u32 { $body })) }
        }
    )*};
    (v2 $($(#[$doc:meta])* $name:ident |$a:ident, $b:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        unsafe fn $name(a: Self::V, b: Self::V) -> Self::V {
            // SAFETY: the caller's promise.
            unsafe {
                Self::from_array(lanewise2::<Self, _, _, _>(&Self::array(a), &Self::array(b), |$a: u32, $b: u32| -> u32 { $body }))
            }
        }
    )*};
    (test $($(#[$doc:meta])* $name:ident |$a:ident, $b:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        unsafe fn $name(a: Self::V, b: Self::V) -> Self::M {
            // SAFETY: the caller's promise.
            unsafe {
                Self::mask_from_lanes(lanewise2::<Self, _, _, _>(&Self::array(a), &Self::array(b), |$a: u32, $b: u32| -> u32 {
                    u32::from($body).wrapping_neg()
                }))
            }
        }
    )*};
    (d1 $($(#[$doc:meta])* $name:ident |$a:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        unsafe fn $name(a: Self::D) -> Self::D {
            // SAFETY: the caller's promise.
            unsafe { Self::from_array64(lanewise::<Self, _, _>(&Self::array64(a), |$a: u64| -> u64 { $body })) }
        }
    )*};
    (d2 $($(#[$doc:meta])* $name:ident |$a:ident, $b:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        unsafe fn $name(a: Self::D, b: Self::D) -> Self::D {
            // SAFETY: the caller's promise.
            unsafe {
                Self::from_array64(lanewise2::<Self, _, _, _>(&Self::array64(a), &Self::array64(b), |$a: u64, $b: u64| -> u64 { $body }))
            }
        }
    )*};
    (dtest $($(#[$doc:meta])* $name:ident |$a:ident, $b:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        unsafe fn $name(a: Self::D, b: Self::D) -> Self::M {
            // SAFETY: the caller's promise.
            unsafe {
                Self::mask_from_lanes(lanewise2::<Self, _, _, _>(&Self::array64(a), &Self::array64(b), |$a: u64, $b: u64| -> u32 {
                    u32::from($body).wrapping_neg()
                }))
            }
        }
    )*};
    (widen $($(#[$doc:meta])* $name:ident |$a:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        unsafe fn $name(a: Self::V) -> Self::D {
            // SAFETY: the caller's promise.
            unsafe { Self::from_array64(lanewise::<Self, _, _>(&Self::array(a), |$a: u32| -> u64 { $body })) }
        }
    )*};
    (narrow $($(#[$doc:meta])* $name:ident |$a:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        unsafe fn $name(a: Self::D) -> Self::V {
            // SAFETY: the caller's promise.
            unsafe { Self::from_array(lanewise::<Self, _, _>(&Self::array64(a), |$a: u64| -> u32 { $body })) }
        }
    )*};
}

fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

fn g(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// Operations on sixteen lanes of 32 bits (`V`), of 64 bits (`D`) and of one bit (`M`).
///
/// # Safety
/// All functions: the CPU must have the level's extensions. Pointers must be valid for sixteen lanes.
pub(super) trait Simd: Call + Copy + 'static {
    /// Sixteen lanes of 32 bits.
    type V: Copy;
    /// Sixteen lanes of 64 bits.
    type D: Copy;
    /// Sixteen lanes of one bit.
    type M: Copy;

    /// The number of values of sixteen 32-bit lanes that fit in the CPU's vector registers.
    const REGISTERS: usize = 8;

    /// Whether operations on lanes are called functions, to keep handlers small.
    const OUTLINE: bool = false;

    /// Whether its code has VEX encodings, as with AVX.
    const VEX: bool = false;

    /// Whether handlers support rounding modes other than to nearest even; otherwise the lowest level handles
    /// them.
    const ROUNDS: bool = false;

    /// Lanes as an array.
    unsafe fn array(a: Self::V) -> [u32; LANES];
    /// An array as lanes.
    unsafe fn from_array(a: [u32; LANES]) -> Self::V;
    /// 64-bit lanes as an array.
    unsafe fn array64(a: Self::D) -> [u64; LANES];
    /// An array as 64-bit lanes.
    unsafe fn from_array64(a: [u64; LANES]) -> Self::D;
    /// A mask from lanes that are all ones or zero.
    unsafe fn mask_from_lanes(a: [u32; LANES]) -> Self::M;
    /// A mask's bits, lane 0 lowest.
    unsafe fn bits(m: Self::M) -> u16;
    /// A mask from its bits.
    unsafe fn from_bits(bits: u16) -> Self::M;
    /// Both.
    unsafe fn mand(a: Self::M, b: Self::M) -> Self::M;
    /// Either.
    unsafe fn mor(a: Self::M, b: Self::M) -> Self::M;
    /// Not.
    unsafe fn mnot(a: Self::M) -> Self::M;

    /// `a` where the mask is set, otherwise `b`.
    unsafe fn select(m: Self::M, a: Self::V, b: Self::V) -> Self::V;
    /// `a` where the mask is set, otherwise `b`.
    unsafe fn select64(m: Self::M, a: Self::D, b: Self::D) -> Self::D;

    /// The same bits.
    #[inline(always)]
    unsafe fn identity(a: Self::V) -> Self::V {
        a
    }

    /// The same bits.
    #[inline(always)]
    unsafe fn identity64(a: Self::D) -> Self::D {
        a
    }

    /// Whether any lane is set.
    #[inline(always)]
    unsafe fn any(m: Self::M) -> bool {
        // SAFETY: the caller's promise.
        unsafe { Self::bits(m) != 0 }
    }

    /// The same value in all lanes.
    #[inline(always)]
    unsafe fn splat(a: u32) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { Self::from_array([a; LANES]) }
    }

    /// The same value in all lanes.
    #[inline(always)]
    unsafe fn splat64(a: u64) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe { Self::from_array64([a; LANES]) }
    }

    /// Reads lanes from memory.
    #[inline(always)]
    unsafe fn load(from: *const u32) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { Self::from_array(from.cast::<[u32; LANES]>().read_unaligned()) }
    }

    /// Writes lanes to memory.
    #[inline(always)]
    unsafe fn store(to: *mut u32, a: Self::V) {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[u32; LANES]>().write_unaligned(Self::array(a)) }
    }

    /// Reads 64-bit lanes from memory.
    #[inline(always)]
    unsafe fn load64(from: *const u64) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe { Self::from_array64(from.cast::<[u64; LANES]>().read_unaligned()) }
    }

    /// Writes 64-bit lanes to memory.
    #[inline(always)]
    unsafe fn store64(to: *mut u64, a: Self::D) {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[u64; LANES]>().write_unaligned(Self::array64(a)) }
    }

    /// Writes the lanes whose bit is set.
    #[inline(always)]
    unsafe fn store_masked(to: *mut u32, bits: u16, a: Self::V) {
        // SAFETY: the caller's promise.
        unsafe { Self::store(to, Self::select(Self::from_bits(bits), a, Self::load(to))) }
    }

    /// Joins low and high halves.
    #[inline(always)]
    unsafe fn join(low: Self::V, high: Self::V) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            Self::from_array64(lanewise2::<Self, _, _, _>(&Self::array(low), &Self::array(high), |l, h| {
                u64::from(l) | u64::from(h) << 32
            }))
        }
    }

    /// Splits 64-bit lanes into low and high halves.
    #[inline(always)]
    unsafe fn split(a: Self::D) -> (Self::V, Self::V) {
        // SAFETY: the caller's promise.
        unsafe {
            let a = Self::array64(a);
            (
                Self::from_array(lanewise::<Self, _, _>(&a, |x| x as u32)),
                Self::from_array(lanewise::<Self, _, _>(&a, |x| (x >> 32) as u32)),
            )
        }
    }

    /// The 64-bit lanes formed by `a` followed by `b` in memory.
    #[inline(always)]
    unsafe fn before(a: Self::V, b: Self::V) -> Self::D {
        let pair = |of: &[u32; LANES], i: usize| {
            u64::from(of[2 * i % LANES]) | u64::from(of[(2 * i + 1) % LANES]) << 32
        };
        // SAFETY: the caller's promise.
        unsafe {
            let (a, b) = (Self::array(a), Self::array(b));
            Self::from_array64(crate::rows::from_fn(|i| pair(if i < LANES / 2 { &a } else { &b }, i)))
        }
    }

    /// The inverse of [`Simd::before`].
    #[inline(always)]
    unsafe fn halves(a: Self::D) -> (Self::V, Self::V) {
        // SAFETY: the caller's promise.
        unsafe {
            let a = Self::array64(a);
            let half = |first: usize| crate::rows::from_fn(|i| (a[first + i / 2] >> (32 * (i % 2))) as u32);
            (Self::from_array(half(0)), Self::from_array(half(LANES / 2)))
        }
    }

    /// Reads each lane at its own unsigned byte offset from `memory`.
    #[inline(always)]
    unsafe fn gather(memory: *const u8, offsets: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe {
            let offsets = Self::array(offsets);
            Self::from_array(crate::rows::from_fn(|i| {
                memory.wrapping_add(offsets[i] as usize).cast::<u32>().read_unaligned()
            }))
        }
    }

    /// The sixteen lanes in the order given by `index`, taken modulo 16.
    #[inline(always)]
    unsafe fn permute(a: Self::V, index: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe {
            let (a, index) = (Self::array(a), Self::array(index));
            Self::from_array(crate::rows::from_fn(|i| a[index[i] as usize & 15]))
        }
    }

    /// `a * b + c`, rounded once.
    #[inline(always)]
    unsafe fn ffma(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe {
            Self::from_array(lanewise3::<Self, _, _, _, _>(
                &Self::array(a),
                &Self::array(b),
                &Self::array(c),
                |a, b, c| f(a).mul_add(f(b), f(c)).to_bits(),
            ))
        }
    }

    /// `a * b + c`, rounded once.
    #[inline(always)]
    unsafe fn gfma(a: Self::D, b: Self::D, c: Self::D) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            Self::from_array64(lanewise3::<Self, _, _, _, _>(
                &Self::array64(a),
                &Self::array64(b),
                &Self::array64(c),
                |a, b, c| g(a).mul_add(g(b), g(c)).to_bits(),
            ))
        }
    }

    /// The products of the lanes as unsigned numbers.
    #[inline(always)]
    unsafe fn mul_wide(a: Self::V, b: Self::V) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            Self::from_array64(lanewise2::<Self, _, _, _>(&Self::array(a), &Self::array(b), |a, b| {
                u64::from(a) * u64::from(b)
            }))
        }
    }

    /// The products of the lanes as signed numbers.
    #[inline(always)]
    unsafe fn mul_wide_signed(a: Self::V, b: Self::V) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            Self::from_array64(lanewise2::<Self, _, _, _>(&Self::array(a), &Self::array(b), |a, b| {
                (i64::from(a as i32) * i64::from(b as i32)) as u64
            }))
        }
    }

    defaults! { v1
        /// Bitwise not.
        not |a| !a;
        /// Number of leading zeros, 32 for zero.
        leading_zeros |a| a.leading_zeros();
        /// Number of ones.
        count_ones |a| a.count_ones();
        /// Square root.
        fsqrt |a| f(a).sqrt().to_bits();
        /// Toward minus infinity.
        ffloor |a| f(a).floor().to_bits();
        /// Toward plus infinity.
        fceil |a| f(a).ceil().to_bits();
        /// Toward zero.
        ftrunc |a| f(a).trunc().to_bits();
        /// To nearest, ties to even.
        frint |a| f(a).round_ties_even().to_bits();
        /// From a signed integer, to nearest even.
        f_from_i32 |a| (a as i32 as f32).to_bits();
        /// From an unsigned integer, to nearest even.
        f_from_u32 |a| (a as f32).to_bits();
        /// To a signed integer toward zero, saturating; NaN gives 0.
        f_to_i32 |a| f(a) as i32 as u32;
        /// To a signed integer toward zero; it is one.
        f_to_small_i32 |a| f(a) as i32 as u32;
        /// To an unsigned integer toward zero, saturating; NaN gives 0.
        f_to_u32 |a| f(a) as u32;
        /// The low halves as f16 to f32. NaNs become quiet.
        from_half |a| convert::f16_to_f32(a as u16);
        /// f32 to f16 to nearest even; high halves are zero. NaNs become quiet.
        to_half |a| u32::from(convert::f32_to_f16(a));
    }

    defaults! { v2
        /// Wrapping sum.
        add |a, b| a.wrapping_add(b);
        /// Wrapping difference.
        sub |a, b| a.wrapping_sub(b);
        /// Wrapping product.
        mul |a, b| a.wrapping_mul(b);
        /// The high half of the unsigned product.
        mul_high |a, b| (u64::from(a) * u64::from(b) >> 32) as u32;
        /// The high half of the signed product.
        mul_high_signed |a, b| (i64::from(a as i32) * i64::from(b as i32) >> 32) as u32;
        /// Bitwise and.
        and |a, b| a & b;
        /// Bitwise or.
        or |a, b| a | b;
        /// Bitwise exclusive or.
        xor |a, b| a ^ b;
        /// Shift left; counts are below 32.
        shl |a, b| a << (b & 31);
        /// Logical shift right; counts are below 32.
        shr |a, b| a >> (b & 31);
        /// Arithmetic shift right; counts are below 32.
        sar |a, b| (a as i32 >> (b & 31)) as u32;
        /// Unsigned minimum.
        umin |a, b| a.min(b);
        /// Unsigned maximum.
        umax |a, b| a.max(b);
        /// Signed minimum.
        imin |a, b| (a as i32).min(b as i32) as u32;
        /// Signed maximum.
        imax |a, b| (a as i32).max(b as i32) as u32;
        /// Sum.
        fadd |a, b| (f(a) + f(b)).to_bits();
        /// Difference.
        fsub |a, b| (f(a) - f(b)).to_bits();
        /// Product.
        fmul |a, b| (f(a) * f(b)).to_bits();
        /// Quotient.
        fdiv |a, b| (f(a) / f(b)).to_bits();
    }

    defaults! { test
        /// Equal.
        eq |a, b| a == b;
        /// Unsigned less.
        ult |a, b| a < b;
        /// Signed less.
        ilt |a, b| (a as i32) < b as i32;
        /// Equal as floats.
        feq |a, b| f(a) == f(b);
        /// Less; false for NaN.
        flt |a, b| f(a) < f(b);
        /// Less or equal; false for NaN.
        fle |a, b| f(a) <= f(b);
        /// One is a NaN.
        funordered |a, b| f(a).is_nan() || f(b).is_nan();
    }

    defaults! { d1
        /// Square root.
        gsqrt |a| g(a).sqrt().to_bits();
        /// Toward minus infinity.
        gfloor |a| g(a).floor().to_bits();
        /// Toward plus infinity.
        gceil |a| g(a).ceil().to_bits();
        /// Toward zero.
        gtrunc |a| g(a).trunc().to_bits();
        /// To nearest, ties to even.
        grint |a| g(a).round_ties_even().to_bits();
    }

    defaults! { d2
        /// Wrapping sum.
        dadd |a, b| a.wrapping_add(b);
        /// Wrapping difference.
        dsub |a, b| a.wrapping_sub(b);
        /// Wrapping product.
        dmul |a, b| a.wrapping_mul(b);
        /// Shift left; counts are below 64.
        dshl |a, b| a << (b & 63);
        /// Logical shift right; counts are below 64.
        dshr |a, b| a >> (b & 63);
        /// Arithmetic shift right; counts are below 64.
        dsar |a, b| (a as i64 >> (b & 63)) as u64;
        /// Sum.
        gadd |a, b| (g(a) + g(b)).to_bits();
        /// Product.
        gmul |a, b| (g(a) * g(b)).to_bits();
        /// Quotient.
        gdiv |a, b| (g(a) / g(b)).to_bits();
    }

    defaults! { dtest
        /// Equal.
        deq |a, b| a == b;
        /// Unsigned less.
        dult |a, b| a < b;
        /// Signed less.
        dilt |a, b| (a as i64) < b as i64;
        /// Equal as floats.
        geq |a, b| g(a) == g(b);
        /// Less; false for NaN.
        glt |a, b| g(a) < g(b);
        /// Less or equal; false for NaN.
        gle |a, b| g(a) <= g(b);
        /// One is a NaN.
        gunordered |a, b| g(a).is_nan() || g(b).is_nan();
    }

    defaults! { widen
        /// Zero-extension.
        extend |a| u64::from(a);
        /// Sign-extension.
        extend_signed |a| a as i32 as i64 as u64;
        /// f32 to f64.
        g_from_f32 |a| f64::from(f(a)).to_bits();
        /// Signed integer to f64.
        g_from_i32 |a| f64::from(a as i32).to_bits();
        /// Unsigned integer to f64.
        g_from_u32 |a| f64::from(a).to_bits();
    }

    defaults! { narrow
        /// f64 to f32, to nearest even.
        g_to_f32 |a| (g(a) as f32).to_bits();
        /// f64 to a signed integer toward zero, saturating; NaN gives 0.
        g_to_i32 |a| g(a) as i32 as u32;
        /// f64 to an unsigned integer toward zero, saturating; NaN gives 0.
        g_to_u32 |a| g(a) as u32;
    }
}
