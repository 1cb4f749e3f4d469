//! Floating-point formats, and exact arithmetic rounded once.

/// How a result is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    Nearest,
    /// To the nearest, ties away from zero.
    Away,
    Zero,
    Down,
    Up,
}

impl Rounding {
    pub(crate) fn of(part: &str) -> Option<Self> {
        Some(match part {
            "rn" | "rni" => Self::Nearest,
            "rna" => Self::Away,
            "rz" | "rzi" => Self::Zero,
            "rm" | "rmi" => Self::Down,
            "rp" | "rpi" => Self::Up,
            _ => return None,
        })
    }

    pub(crate) fn whole(self, x: f64) -> f64 {
        match self {
            Self::Nearest => x.round_ties_even(),
            Self::Away => x.round(),
            Self::Zero => x.trunc(),
            Self::Down => x.floor(),
            Self::Up => x.ceil(),
        }
    }
}

/// A format of at most 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) exponent: u32,
    pub(crate) mantissa: u32,
    /// The code of the largest number.
    pub(crate) largest: u64,
    /// There are infinities, above the largest number.
    pub(crate) infinite: bool,
    /// The code of a NaN without its sign.
    pub(crate) nan: u64,
}

pub(crate) const F32: Format =
    Format { exponent: 8, mantissa: 23, largest: 0x7f7f_ffff, infinite: true, nan: 0x7fff_ffff };
pub(crate) const F16: Format =
    Format { exponent: 5, mantissa: 10, largest: 0x7bff, infinite: true, nan: 0x7fff };
pub(crate) const BF16: Format =
    Format { exponent: 8, mantissa: 7, largest: 0x7f7f, infinite: true, nan: 0x7fff };
pub(crate) const E4M3: Format =
    Format { exponent: 4, mantissa: 3, largest: 0x7e, infinite: false, nan: 0x7f };
pub(crate) const E5M2: Format =
    Format { exponent: 5, mantissa: 2, largest: 0x7b, infinite: false, nan: 0x7f };
pub(crate) const E2M3: Format =
    Format { exponent: 2, mantissa: 3, largest: 0x1f, infinite: false, nan: 0x1f };
pub(crate) const E3M2: Format =
    Format { exponent: 3, mantissa: 2, largest: 0x1f, infinite: false, nan: 0x1f };
pub(crate) const E2M1: Format = Format { exponent: 2, mantissa: 1, largest: 0x7, infinite: false, nan: 0x7 };

impl Format {
    pub(crate) fn bits(self) -> u32 {
        1 + self.exponent + self.mantissa
    }

    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    pub(crate) fn sign(self) -> u64 {
        1 << (self.bits() - 1)
    }

    pub(crate) fn value(self, code: u64) -> f64 {
        let size = code & (self.sign() - 1);
        let fraction = (size & ((1 << self.mantissa) - 1)) as f64;
        let exponent = (size >> self.mantissa) as i32;
        let one = f64::from(1_u32 << self.mantissa);
        let value = if size > self.largest {
            let is_infinite = (self.infinite && size == self.largest + 1) || (self == E5M2 && size == 0x7c);
            if is_infinite { f64::INFINITY } else { f64::NAN }
        } else if exponent == 0 {
            fraction / one * exp2(1 - self.bias())
        } else {
            (1.0 + fraction / one) * exp2(exponent - self.bias())
        };
        if code & self.sign() != 0 { -value } else { value }
    }

    /// The code of a number, which may be the odd one of two neighbours of a number that f64 does not have.
    pub(crate) fn code(self, x: f64, rounding: Rounding) -> u64 {
        let sign = if x.is_sign_negative() { self.sign() } else { 0 };
        if x.is_nan() {
            return self.nan;
        }
        let size = x.abs();
        let infinity = if self.infinite { self.largest + 1 } else { self.largest };
        if size.is_infinite() {
            return sign | infinity;
        }
        let least = 1 - self.bias();
        let exponent = if size == 0.0 { least } else { exponent_of(size).max(least) };
        let quantum = exp2(exponent - self.mantissa as i32);
        let steps = rounding.whole(x / quantum).abs();
        // The steps carry into the exponent by themselves.
        let code = steps as u64 + (((exponent - least) as u64) << self.mantissa);
        if code > self.largest {
            let up = match rounding {
                Rounding::Nearest | Rounding::Away => true,
                Rounding::Zero => false,
                Rounding::Down => sign != 0,
                Rounding::Up => sign == 0,
            };
            return sign | if up { infinity } else { self.largest };
        }
        sign | code
    }

    /// A subnormal number's code as a zero's.
    pub(crate) fn flushed(self, code: u64) -> u64 {
        if code & (self.sign() - 1) < 1 << self.mantissa { code & self.sign() } else { code }
    }

    pub(crate) fn is_nan(self, code: u64) -> bool {
        self.value(code).is_nan()
    }
}

pub(crate) fn exp2(by: i32) -> f64 {
    2.0_f64.powi(by)
}

fn exponent_of(x: f64) -> i32 {
    ((x.to_bits() >> 52 & 0x7ff) as i32) - 1023
}

/// A result with what f64 lacks of it: if anything, the neighbour of the exact one that is odd.
fn odd(near: f64, rest: f64) -> f64 {
    if rest == 0.0 || near.is_nan() || rest.is_nan() || near.is_infinite() || near.to_bits() & 1 == 1 {
        return near;
    }
    if near == 0.0 {
        return f64::from_bits(1).copysign(rest);
    }
    f64::from_bits(if (rest > 0.0) == (near > 0.0) { near.to_bits() + 1 } else { near.to_bits() - 1 })
}

pub(crate) fn add(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let back = sum - a;
    odd(sum, (a - (sum - back)) + (b - back))
}

pub(crate) fn div(a: f64, b: f64) -> f64 {
    let q = a / b;
    let rest = (-q).mul_add(b, a);
    if b == 0.0 || b.is_infinite() || !q.is_finite() { q } else { odd(q, if b < 0.0 { -rest } else { rest }) }
}

pub(crate) fn sqrt(a: f64) -> f64 {
    let root = a.sqrt();
    if root > 0.0 && root.is_finite() { odd(root, (-root).mul_add(root, a)) } else { root }
}

/// The sign of an exact zero sum: negative if rounded down.
pub(crate) fn sum(a: f64, b: f64, rounding: Rounding) -> f64 {
    let sum = add(a, b);
    if sum == 0.0
        && rounding == Rounding::Down
        && (a.is_sign_negative() || b.is_sign_negative())
        && !(a == 0.0 && b == 0.0 && !(a.is_sign_negative() || b.is_sign_negative()))
    {
        return -0.0;
    }
    sum
}
