//! Sixteen lanes as values with operators.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use super::{LANES, Simd, lanewise, lanewise2, lanewise3};

// SAFETY (all blocks of this file): values of a level exist only in handlers compiled for that level, which
// are chosen only on CPUs that have it; that is the promise [`Simd`] asks for.

/// 32-bit integers.
#[derive(Clone, Copy)]
pub(crate) struct U<S: Simd>(pub S::V);

/// f32.
#[derive(Clone, Copy)]
pub(crate) struct F<S: Simd>(pub S::V);

/// 64-bit integers.
#[derive(Clone, Copy)]
pub(crate) struct D<S: Simd>(pub S::D);

/// f64.
#[derive(Clone, Copy)]
pub(crate) struct G<S: Simd>(pub S::D);

/// One bit per lane.
#[derive(Clone, Copy)]
pub(crate) struct Mask<S: Simd>(pub S::M);

/// Methods that are one operation of [`Simd`].
macro_rules! methods {
    ($type:ident: $($(#[$doc:meta])* $name:ident($($arg:ident: $arg_type:ident),*) -> $result:ident = $operation:ident;)*) => {
        impl<S: Simd> $type<S> {
            $(
                $(#[$doc])*
                #[inline(always)]
                pub(crate) fn $name(self $(, $arg: $arg_type<S>)*) -> $result<S> {
                    // SAFETY: see the head of this file.
                    $result(unsafe { S::$operation(self.0 $(, $arg.0)*) })
                }
            )*
        }
    };
}

/// Operators on two of a type, and on one and a number for all lanes.
macro_rules! operators {
    ($($type:ident<$number:ty>: $($trait:ident $method:ident $operation:ident),*;)*) => {$($(
        impl<S: Simd> $trait for $type<S> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: see the head of this file.
                $type(unsafe { S::$operation(self.0, other.0) })
            }
        }

        impl<S: Simd> $trait<$number> for $type<S> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: $number) -> Self {
                self.$method(Self::splat(other))
            }
        }
    )*)*};
}

operators! {
    U<u32>: Add add add, Sub sub sub, Mul mul mul, BitAnd bitand and, BitOr bitor or, BitXor bitxor xor, Shl shl shl, Shr shr shr;
    F<f32>: Add add fadd, Sub sub fsub, Mul mul fmul, Div div fdiv;
    D<u64>: Add add dadd, Sub sub dsub, Mul mul dmul, Shl shl dshl, Shr shr dshr;
    G<f64>: Add add gadd, Mul mul gmul, Div div gdiv;
}

methods! { U:
    /// Arithmetic shift right.
    sar(count: U) -> U = sar;
    /// Unsigned minimum.
    umin(other: U) -> U = umin;
    /// Unsigned maximum.
    umax(other: U) -> U = umax;
    /// Signed minimum.
    imin(other: U) -> U = imin;
    /// Signed maximum.
    imax(other: U) -> U = imax;
    /// High half of the unsigned product.
    mul_high(other: U) -> U = mul_high;
    /// High half of the signed product.
    mul_high_signed(other: U) -> U = mul_high_signed;
    /// Unsigned product.
    mul_wide(other: U) -> D = mul_wide;
    /// Signed product.
    mul_wide_signed(other: U) -> D = mul_wide_signed;
    /// Leading zeros, 32 for zero.
    leading_zeros() -> U = leading_zeros;
    /// Number of ones.
    count_ones() -> U = count_ones;
    /// Equal.
    equal(other: U) -> Mask = eq;
    /// Unsigned less.
    less(other: U) -> Mask = ult;
    /// Signed less.
    less_signed(other: U) -> Mask = ilt;
    /// Signed integer to f32.
    to_f32_signed() -> F = f_from_i32;
    /// Unsigned integer to f32.
    to_f32() -> F = f_from_u32;
    /// The low halves, f16, to f32.
    half_to_f32() -> F = from_half;
    /// Signed integer to f64.
    to_f64_signed() -> G = g_from_i32;
    /// Unsigned integer to f64.
    to_f64() -> G = g_from_u32;
    /// Zero-extension.
    extend() -> D = extend;
    /// The lanes in another order.
    permute(index: U) -> U = permute;
    /// The bits as f32.
    as_f32() -> F = identity;
    /// With the other as the high halves.
    join(high: U) -> D = join;
}

methods! { F:
    /// Multiply and add, rounded once.
    fma(factor: F, addend: F) -> F = ffma;
    /// Square root.
    sqrt() -> F = fsqrt;
    /// Toward minus infinity.
    floor() -> F = ffloor;
    /// Toward plus infinity.
    ceil() -> F = fceil;
    /// Toward zero.
    trunc() -> F = ftrunc;
    /// To nearest even.
    rint() -> F = frint;
    /// Equal.
    equal(other: F) -> Mask = feq;
    /// Less.
    less(other: F) -> Mask = flt;
    /// Less or equal.
    less_equal(other: F) -> Mask = fle;
    /// One is a NaN.
    unordered(other: F) -> Mask = funordered;
    /// To a signed integer, saturating.
    to_i32() -> U = f_to_i32;
    /// To a signed integer, which must be one.
    small_to_i32() -> U = f_to_small_i32;
    /// To an unsigned integer, saturating.
    to_u32() -> U = f_to_u32;
    /// To f16 in the low halves.
    to_half() -> U = to_half;
    /// To f64.
    to_f64() -> G = g_from_f32;
    /// The bits.
    bits() -> U = identity;
}

methods! { D:
    /// Arithmetic shift right.
    sar(count: D) -> D = dsar;
    /// Equal.
    equal(other: D) -> Mask = deq;
    /// Unsigned less.
    less(other: D) -> Mask = dult;
    /// Signed less.
    less_signed(other: D) -> Mask = dilt;
    /// The bits as f64.
    as_f64() -> G = identity64;
}

methods! { G:
    /// Multiply and add, rounded once.
    fma(factor: G, addend: G) -> G = gfma;
    /// Square root.
    sqrt() -> G = gsqrt;
    /// Toward minus infinity.
    floor() -> G = gfloor;
    /// Toward plus infinity.
    ceil() -> G = gceil;
    /// Toward zero.
    trunc() -> G = gtrunc;
    /// To nearest even.
    rint() -> G = grint;
    /// Equal.
    equal(other: G) -> Mask = geq;
    /// Less.
    less(other: G) -> Mask = glt;
    /// Less or equal.
    less_equal(other: G) -> Mask = gle;
    /// One is a NaN.
    unordered(other: G) -> Mask = gunordered;
    /// To f32.
    to_f32() -> F = g_to_f32;
    /// To a signed integer, saturating.
    to_i32() -> U = g_to_i32;
    /// To an unsigned integer, saturating.
    to_u32() -> U = g_to_u32;
    /// The bits.
    bits() -> D = identity64;
}

impl<S: Simd> U<S> {
    /// A number in all lanes.
    #[inline(always)]
    pub(crate) fn splat(value: u32) -> Self {
        // SAFETY: see the head of this file.
        U(unsafe { S::splat(value) })
    }

    /// Lane numbers 0..16.
    #[inline(always)]
    pub(crate) fn lanes() -> Self {
        Self::from_array(const { [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] })
    }

    /// The lanes.
    #[inline(always)]
    pub(crate) fn array(self) -> [u32; LANES] {
        // SAFETY: see the head of this file.
        unsafe { S::array(self.0) }
    }

    /// From lanes.
    #[inline(always)]
    pub(crate) fn from_array(lanes: [u32; LANES]) -> Self {
        // SAFETY: see the head of this file.
        U(unsafe { S::from_array(lanes) })
    }

    /// The 64-bit lanes formed by these followed by `other` in memory.
    #[inline(always)]
    pub(crate) fn before(self, other: Self) -> D<S> {
        // SAFETY: see the head of this file.
        D(unsafe { S::before(self.0, other.0) })
    }

    /// Lane by lane.
    #[inline(always)]
    pub(crate) fn map(self, f: impl Fn(u32) -> u32) -> Self {
        Self::from_array(lanewise::<S, _, _>(&self.array(), f))
    }

    /// Lane by lane.
    #[inline(always)]
    pub(crate) fn map2(self, b: Self, f: impl Fn(u32, u32) -> u32) -> Self {
        Self::from_array(lanewise2::<S, _, _, _>(&self.array(), &b.array(), f))
    }

    /// Lane by lane.
    #[inline(always)]
    pub(crate) fn map3(self, b: Self, c: Self, f: impl Fn(u32, u32, u32) -> u32) -> Self {
        Self::from_array(lanewise3::<S, _, _, _, _>(&self.array(), &b.array(), &c.array(), f))
    }

    /// The low 16 bits, sign-extended.
    #[inline(always)]
    pub(crate) fn sign16(self) -> Self {
        (self << 16).sar(Self::splat(16))
    }

    /// The low 24 bits, sign-extended.
    #[inline(always)]
    pub(crate) fn sign24(self) -> Self {
        (self << 8).sar(Self::splat(8))
    }
}

impl<S: Simd> F<S> {
    /// A number in all lanes.
    #[inline(always)]
    pub(crate) fn splat(value: f32) -> Self {
        F(U::<S>::splat(value.to_bits()).0)
    }

    /// The absolute value.
    #[inline(always)]
    pub(crate) fn abs(self) -> Self {
        (self.bits() & 0x7fff_ffff).as_f32()
    }

    /// Which lanes are NaN.
    #[inline(always)]
    pub(crate) fn is_nan(self) -> Mask<S> {
        self.unordered(self)
    }

    /// Turns subnormal numbers into zeros of the same sign.
    #[inline(always)]
    pub(crate) fn flush(self) -> Self {
        let bits = self.bits();
        let tiny = (bits & 0x7f80_0000).equal(U::splat(0));
        tiny.select(bits & 0x8000_0000, bits).as_f32()
    }
}

impl<S: Simd> D<S> {
    /// A number in all lanes.
    #[inline(always)]
    pub(crate) fn splat(value: u64) -> Self {
        // SAFETY: see the head of this file.
        D(unsafe { S::splat64(value) })
    }

    /// The lanes.
    #[inline(always)]
    pub(crate) fn array(self) -> [u64; LANES] {
        // SAFETY: see the head of this file.
        unsafe { S::array64(self.0) }
    }

    /// From lanes.
    #[inline(always)]
    pub(crate) fn from_array(lanes: [u64; LANES]) -> Self {
        // SAFETY: see the head of this file.
        D(unsafe { S::from_array64(lanes) })
    }

    /// The 32-bit lanes that these occupy in memory: the first sixteen and the rest.
    #[inline(always)]
    pub(crate) fn halves(self) -> (U<S>, U<S>) {
        // SAFETY: see the head of this file.
        let (first, second) = unsafe { S::halves(self.0) };
        (U(first), U(second))
    }

    /// Low and high halves.
    #[inline(always)]
    pub(crate) fn split(self) -> (U<S>, U<S>) {
        // SAFETY: see the head of this file.
        let (low, high) = unsafe { S::split(self.0) };
        (U(low), U(high))
    }

    /// Lane by lane.
    #[inline(always)]
    pub(crate) fn map(self, f: impl Fn(u64) -> u64) -> Self {
        Self::from_array(lanewise::<S, _, _>(&self.array(), f))
    }
}

impl<S: Simd> G<S> {
    /// A number in all lanes.
    #[inline(always)]
    pub(crate) fn splat(value: f64) -> Self {
        G(D::<S>::splat(value.to_bits()).0)
    }

    /// Which lanes are NaN.
    #[inline(always)]
    pub(crate) fn is_nan(self) -> Mask<S> {
        self.unordered(self)
    }

    /// Lane by lane.
    #[inline(always)]
    pub(crate) fn map(self, f: impl Fn(f64) -> f64) -> Self {
        self.bits().map(|a| f(f64::from_bits(a)).to_bits()).as_f64()
    }
}

impl<S: Simd> Mask<S> {
    /// From bits, lane 0 lowest.
    #[inline(always)]
    pub(crate) fn from_bits(bits: u16) -> Self {
        // SAFETY: see the head of this file.
        Mask(unsafe { S::from_bits(bits) })
    }

    /// The bits, lane 0 lowest.
    #[inline(always)]
    pub(crate) fn bits(self) -> u16 {
        // SAFETY: see the head of this file.
        unsafe { S::bits(self.0) }
    }

    /// Whether any lane is set.
    #[inline(always)]
    pub(crate) fn any(self) -> bool {
        // SAFETY: see the head of this file.
        unsafe { S::any(self.0) }
    }

    /// `a` where set, otherwise `b`.
    #[inline(always)]
    pub(crate) fn select(self, a: U<S>, b: U<S>) -> U<S> {
        // SAFETY: see the head of this file.
        U(unsafe { S::select(self.0, a.0, b.0) })
    }

    /// `a` where set, otherwise `b`.
    #[inline(always)]
    pub(crate) fn select_f32(self, a: F<S>, b: F<S>) -> F<S> {
        // SAFETY: see the head of this file.
        F(unsafe { S::select(self.0, a.0, b.0) })
    }

    /// `a` where set, otherwise `b`.
    #[inline(always)]
    pub(crate) fn select_u64(self, a: D<S>, b: D<S>) -> D<S> {
        // SAFETY: see the head of this file.
        D(unsafe { S::select64(self.0, a.0, b.0) })
    }

    /// See [`Mask::select`].
    #[inline(always)]
    pub(crate) fn select_f64(self, a: G<S>, b: G<S>) -> G<S> {
        // SAFETY: see the head of this file.
        G(unsafe { S::select64(self.0, a.0, b.0) })
    }
}

impl<S: Simd> BitAnd for Mask<S> {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        // SAFETY: see the head of this file.
        Mask(unsafe { S::mand(self.0, other.0) })
    }
}

impl<S: Simd> BitOr for Mask<S> {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        // SAFETY: see the head of this file.
        Mask(unsafe { S::mor(self.0, other.0) })
    }
}

impl<S: Simd> Not for Mask<S> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        // SAFETY: see the head of this file.
        Mask(unsafe { S::mnot(self.0) })
    }
}

impl<S: Simd> Not for U<S> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        // SAFETY: see the head of this file.
        U(unsafe { S::not(self.0) })
    }
}

impl<S: Simd> Neg for F<S> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        (self.bits() ^ 0x8000_0000).as_f32()
    }
}
