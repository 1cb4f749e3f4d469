//! Exact arithmetic in any rounding mode, with integers, for rare cases. It is called, not inlined, so that
//! handlers do not each have a copy.

/// The arithmetic settings of a wave: one half of the MODE register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Env {
    /// 0 to nearest even, 1 toward plus infinity, 2 toward minus infinity, 3 toward zero.
    pub round: u8,
    /// Subnormal sources count as zero.
    pub flush_in: bool,
    /// Subnormal results become zero.
    pub flush_out: bool,
    /// Signalling NaNs become quiet.
    pub quiet: bool,
}

impl Env {
    /// To nearest even, with subnormal numbers.
    pub const IEEE: Env = Env { round: 0, flush_in: false, flush_out: false, quiet: true };

    /// The f32 settings of MODE.
    #[inline(always)]
    pub fn single(mode: u32) -> Env {
        Env { round: (mode & 3) as u8, flush_in: mode & 0x10 == 0, flush_out: mode & 0x20 == 0, ..Env::IEEE }
    }

    /// The f64 and f16 settings of MODE.
    #[inline(always)]
    pub fn double(mode: u32) -> Env {
        Env {
            round: (mode >> 2 & 3) as u8,
            flush_in: mode & 0x40 == 0,
            flush_out: mode & 0x80 == 0,
            ..Env::IEEE
        }
    }

    /// The same, without subnormal numbers.
    pub fn flushing(self) -> Env {
        Env { flush_in: true, flush_out: true, ..self }
    }
}

/// A binary floating-point format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// Significant digits, including the implicit one.
    digits: u32,
    /// The exponent of the smallest normal number.
    least: i32,
}

pub const F16: Format = Format { digits: 11, least: -14 };
pub const F32: Format = Format { digits: 24, least: -126 };
pub const F64: Format = Format { digits: 53, least: -1022 };

/// The parts of a number; finite numbers are `digits * 2^exponent`.
#[derive(Clone, Copy)]
enum Parts {
    Nan,
    Infinite,
    Finite { digits: u64, exponent: i32 },
}

impl Format {
    const fn fraction(self) -> u64 {
        (1 << (self.digits - 1)) - 1
    }

    /// All bits of the exponent field.
    const fn infinity(self) -> u64 {
        ((3 - 2 * self.least) as u64) << (self.digits - 1)
    }

    const fn sign(self) -> u64 {
        (self.infinity() | self.fraction()) + 1
    }

    /// The NaN that undefined operations return; in the hardware, its sign is set.
    pub const fn default_nan(self) -> u64 {
        self.sign() | self.infinity() | self.quiet_bit()
    }

    const fn quiet_bit(self) -> u64 {
        1 << (self.digits - 2)
    }

    pub const fn is_nan(self, bits: u64) -> bool {
        bits & !self.sign() > self.infinity()
    }

    /// The first NaN among the sources.
    fn first_nan(self, sources: &[u64], env: Env) -> Option<u64> {
        let quiet = if env.quiet { self.quiet_bit() } else { 0 };
        sources.iter().find(|bits| self.is_nan(**bits)).map(|bits| bits | quiet)
    }

    fn parts(self, bits: u64, flush: bool) -> (bool, Parts) {
        let negative = bits & self.sign() != 0;
        let rest = bits & !self.sign();
        let exponent = (rest >> (self.digits - 1)) as i32;
        let fraction = rest & self.fraction();
        let unit = self.least - (self.digits as i32 - 1);
        let parts = if rest > self.infinity() {
            Parts::Nan
        } else if rest == self.infinity() {
            Parts::Infinite
        } else if exponent == 0 {
            Parts::Finite { digits: if flush { 0 } else { fraction }, exponent: unit }
        } else {
            Parts::Finite { digits: fraction | self.fraction() + 1, exponent: unit + exponent - 1 }
        };
        (negative, parts)
    }

    fn signed(self, negative: bool, bits: u64) -> u64 {
        bits | if negative { self.sign() } else { 0 }
    }

    /// `digits * 2^exponent`, rounded. The lowest digit is sticky: it is set if any digit below it is.
    #[inline(never)]
    fn round(self, negative: bool, digits: u128, exponent: i32, env: Env) -> u64 {
        if digits == 0 {
            return self.signed(negative, 0);
        }
        let top = 127 - digits.leading_zeros() as i32;
        let last = self.digits as i32 - 1;
        // Underflow is detected before the digits that subnormal numbers lack are dropped.
        let mut unit = (exponent + top - last).max(if env.flush_out { i32::MIN } else { self.least - last });
        let shift = unit - exponent;
        let (mut kept, up) = if shift <= 0 {
            // At most `self.digits` digits remain, so they fit.
            ((digits << -shift) as u64, false)
        } else {
            let (kept, lost, half) = if shift >= 128 {
                (0, 1, 2)
            } else {
                ((digits >> shift) as u64, digits & ((1 << shift) - 1), 1u128 << (shift - 1))
            };
            let up = match env.round {
                0 => lost > half || lost == half && kept & 1 == 1,
                1 => lost != 0 && !negative,
                2 => lost != 0 && negative,
                _ => false,
            };
            (kept, up)
        };
        kept += u64::from(up);
        if kept == 1 << self.digits {
            kept >>= 1;
            unit += 1;
        }
        if unit + last < self.least {
            return self.signed(negative, 0);
        }
        if kept >> last == 0 {
            return self.signed(negative, kept);
        }
        let field = (unit + last - self.least + 1) as u64;
        if field < self.infinity() >> last {
            return self.signed(negative, (field << last) | kept & self.fraction());
        }
        let to_infinity = match env.round {
            0 => true,
            1 => !negative,
            2 => negative,
            _ => false,
        };
        self.signed(negative, if to_infinity { self.infinity() } else { self.infinity() - 1 })
    }

    /// `a * b + c`, rounded once.
    pub fn fma(self, a: u64, b: u64, c: u64, env: Env) -> u64 {
        self.fma_scaled(a, b, c, 0, env)
    }

    /// `(a * b + c) * 2^power`, rounded once.
    pub fn fma_scaled(self, a: u64, b: u64, c: u64, power: i32, env: Env) -> u64 {
        self.fma_to(self, [a, b, c], power, env)
    }

    /// `(a * b + c) * 2^power` in a format, rounded once.
    #[inline(never)]
    pub fn fma_to(self, to: Format, [a, b, c]: [u64; 3], power: i32, env: Env) -> u64 {
        let moved = |nan| if to == self { nan } else { self.convert(nan, to, env) };
        if let Some(nan) = self.first_nan(&[a, b], env) {
            return moved(nan);
        }
        let nan_c = self.first_nan(&[c], env);
        let (sign_a, a) = self.parts(a, env.flush_in);
        let (sign_b, b) = self.parts(b, env.flush_in);
        let zero = |parts| matches!(parts, Parts::Finite { digits: 0, .. });
        let infinite = |parts| matches!(parts, Parts::Infinite);
        // An undefined product takes precedence over a NaN addend.
        if zero(a) && infinite(b) || infinite(a) && zero(b) {
            return to.default_nan();
        }
        if let Some(nan) = nan_c {
            return moved(nan);
        }
        let (sign_c, c) = self.parts(c, env.flush_in);
        let sign = sign_a != sign_b;
        let (Parts::Finite { digits: da, exponent: ea }, Parts::Finite { digits: db, exponent: eb }) = (a, b)
        else {
            let undefined = infinite(c) && sign_c != sign;
            return if undefined { to.default_nan() } else { to.signed(sign, to.infinity()) };
        };
        let Parts::Finite { digits: dc, exponent: ec } = c else {
            return to.signed(sign_c, to.infinity());
        };
        let product = u128::from(da) * u128::from(db);
        let opposite_zero = env.round == 2;
        match (product == 0, dc == 0) {
            (true, true) => {
                return to.signed(if sign == sign_c { sign } else { opposite_zero }, 0);
            }
            (true, false) => return to.round(sign_c, u128::from(dc), ec + power, env),
            (false, true) => return to.round(sign, product, ea + eb + power, env),
            (false, false) => {}
        }
        // Both have their highest digit at bit 124, which leaves room for sums above and for differences
        // below.
        let place = |digits: u128, exponent: i32| {
            let shift = digits.leading_zeros() as i32 - 3;
            (digits << shift, exponent - shift)
        };
        let (product, ep) = place(product, ea + eb);
        let (addend, ec) = place(u128::from(dc), ec);
        let exponent = ep.max(ec);
        let align = |digits: u128, distance: i32| match distance {
            0..=126 => digits >> distance | u128::from(digits & ((1 << distance) - 1) != 0),
            _ => 1,
        };
        let (distance_p, distance_c) = (exponent - ep, exponent - ec);
        let (product, addend) = (align(product, distance_p), align(addend, distance_c));
        let exponent = exponent + power;
        if sign == sign_c {
            to.round(sign, product + addend, exponent, env)
        } else if product == addend {
            to.signed(opposite_zero, 0)
        } else if product > addend {
            to.round(sign, product - addend, exponent, env)
        } else {
            to.round(sign_c, addend - product, exponent, env)
        }
    }

    /// `a + b`
    #[inline(never)]
    pub fn add(self, a: u64, b: u64, env: Env) -> u64 {
        if let Some(nan) = self.first_nan(&[a, b], env) {
            return nan;
        }
        self.fma(a, self.one(), b, env)
    }

    /// `a * b`
    #[inline(never)]
    pub fn mul(self, a: u64, b: u64, env: Env) -> u64 {
        if let Some(nan) = self.first_nan(&[a, b], env) {
            return nan;
        }
        self.fma(a, b, (a ^ b) & self.sign(), env)
    }

    const fn one(self) -> u64 {
        ((-self.least + 1) as u64) << (self.digits - 1)
    }

    /// A number minus its floor; at most the largest number below 1.
    #[inline(never)]
    pub fn fract(self, a: u64, env: Env) -> u64 {
        let (negative, parts) = self.parts(a, env.flush_in);
        let Parts::Finite { digits, exponent } = parts else {
            return self.first_nan(&[a], env).unwrap_or(self.default_nan());
        };
        // Below 2^-60, only the sign of negative numbers matters, and positive ones are their own fraction.
        let point = if negative { (-exponent).min(120) } else { -exponent };
        if point <= 0 || digits == 0 {
            return 0;
        }
        let part = if point < 64 { digits & ((1 << point) - 1) } else { digits };
        let part = match (negative, part) {
            (false, _) => u128::from(part),
            (true, 0) => 0,
            (true, _) if point < -exponent => (1 << point) - 1,
            (true, _) => (1 << point) - u128::from(part),
        };
        let rest = self.round(false, part, -point, env);
        if rest == self.one() { rest - 1 } else { rest }
    }

    /// Converts a number of this format to another one.
    #[inline(never)]
    pub fn convert(self, bits: u64, to: Format, env: Env) -> u64 {
        let (negative, parts) = self.parts(bits, env.flush_in);
        match parts {
            Parts::Infinite => to.signed(negative, to.infinity()),
            Parts::Finite { digits, exponent } => to.round(negative, u128::from(digits), exponent, env),
            Parts::Nan => {
                let fraction = bits & self.fraction();
                let fraction = if to.digits > self.digits {
                    fraction << (to.digits - self.digits)
                } else {
                    fraction >> (self.digits - to.digits)
                };
                to.signed(negative, to.infinity() | to.quiet_bit() | fraction)
            }
        }
    }

    /// An integer in this format.
    pub fn integer(self, value: i128, env: Env) -> u64 {
        self.round(value < 0, value.unsigned_abs(), 0, env)
    }

    /// `a * 2^power`
    #[inline(never)]
    pub fn scale(self, a: u64, power: i32, env: Env) -> u64 {
        if let Some(nan) = self.first_nan(&[a], env) {
            return nan;
        }
        let (negative, parts) = self.parts(a, env.flush_in);
        match parts {
            Parts::Finite { digits, exponent } => {
                // Powers beyond this range underflow or overflow in any case.
                let power = power.clamp(-8192, 8192);
                self.round(negative, u128::from(digits), exponent + power, env)
            }
            _ => a,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers() -> impl Iterator<Item = u64> {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        std::iter::repeat_with(move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        })
    }

    /// Random bits, often with exponents near each other, and special numbers.
    fn single(random: u64) -> u32 {
        const SPECIAL: [u32; 12] = [
            0,
            0x8000_0000,
            1,
            0x8000_0001,
            0x7f_ffff,
            0x80_0000,
            0x7f7f_ffff,
            0x7f80_0000,
            0xff80_0000,
            0x3f80_0000,
            0x7fc0_0001,
            0x3f7f_ffff,
        ];
        match random >> 60 {
            0..4 => SPECIAL[(random >> 32) as usize % SPECIAL.len()],
            4..10 => (random as u32 & 0x83ff_ffff) + 0x3e00_0000,
            _ => random as u32,
        }
    }

    fn same(got: u32, expected: f32) -> bool {
        f32::from_bits(got).is_nan() && expected.is_nan() || got == expected.to_bits()
    }

    #[test]
    fn nearest_even_agrees_with_the_host() {
        let mut random = numbers();
        for _ in 0..20_000 {
            let [a, b, c] = std::array::from_fn(|_| single(random.next().unwrap_or(0)));
            let [x, y, z] = [a, b, c].map(f32::from_bits);
            let [p, q, r] = [a, b, c].map(u64::from);
            assert!(same(F32.fma(p, q, r, Env::IEEE) as u32, x.mul_add(y, z)), "{a:#x} * {b:#x} + {c:#x}");
            assert!(same(F32.add(p, q, Env::IEEE) as u32, x + y), "{a:#x} + {b:#x}");
            assert!(same(F32.mul(p, q, Env::IEEE) as u32, x * y), "{a:#x} * {b:#x}");
            let [x, y, z] = [x, y, z].map(|v| f64::from(v) * 1.000_000_000_1);
            let [p, q, r] = [x, y, z].map(f64::to_bits);
            let (got, expected) = (F64.fma(p, q, r, Env::IEEE), x.mul_add(y, z));
            assert!(F64.is_nan(got) && expected.is_nan() || got == expected.to_bits());
            let (got, expected) = (F64.convert(p, F32, Env::IEEE) as u32, x as f32);
            assert!(same(got, expected));
            let integer = random.next().unwrap_or(0) as i64;
            assert_eq!(F32.integer(i128::from(integer), Env::IEEE) as u32, (integer as f32).to_bits());
        }
    }

    #[test]
    fn directed_rounding_brackets_the_exact_result() {
        let mut random = numbers();
        for _ in 0..20_000 {
            let [a, b, c] = std::array::from_fn(|_| u64::from(single(random.next().unwrap_or(0))));
            let in_mode = |round| F32.fma(a, b, c, Env { round, ..Env::IEEE }) as u32;
            let [nearest, up, down, zero] = std::array::from_fn(|round| f32::from_bits(in_mode(round as u8)));
            if nearest.is_nan() {
                continue;
            }
            assert!(down <= nearest && nearest <= up, "{a:#x} {b:#x} {c:#x}");
            assert!(up == down || down.next_up() == up);
            assert_eq!(zero, if nearest.is_sign_positive() { down } else { up });
        }
    }

    #[test]
    fn a_sum_of_opposites_is_minus_zero_only_when_rounding_down() {
        let (one, minus) = (u64::from(1f32.to_bits()), u64::from((-1f32).to_bits()));
        for round in 0..4 {
            let sum = F32.add(one, minus, Env { round, ..Env::IEEE });
            assert_eq!(sum as u32, if round == 2 { 0x8000_0000 } else { 0 });
        }
    }

    #[test]
    fn fractions_are_below_one() {
        let fract = |value: f32, round| {
            f32::from_bits(F32.fract(value.to_bits().into(), Env { round, ..Env::IEEE }) as u32)
        };
        for round in 0..4 {
            assert_eq!(fract(2.75, round), 0.75);
            assert_eq!(fract(-2.75, round), 0.25);
            assert_eq!(fract(-1e-40, round), 1.0f32.next_down());
            assert_eq!(fract(1e-40, round), 1e-40);
            for whole in [0.0, -0.0, 3.0, -3.0, -1e30] {
                assert_eq!(fract(whole, round).to_bits(), 0);
            }
        }
        assert_eq!(F64.fract((-1e-300f64).to_bits(), Env::IEEE), 1.0f64.next_down().to_bits());
        assert_eq!(F64.fract(1, Env::IEEE), 1);
    }

    #[test]
    fn flushing_takes_subnormals_for_zero() {
        let env = Env::IEEE.flushing();
        assert_eq!(F32.add(0x8000_0001, 0x8000_0001, env) as u32, 0x8000_0000);
        assert_eq!(F32.mul(0x0080_0000, 0x3f00_0000, env) as u32, 0);
        assert_eq!(F16.add(0x0001, 0x3c00, env) as u32, 0x3c00);
    }

    #[test]
    fn what_is_too_small_with_all_digits_is_flushed() {
        for round in 0..4 {
            let kept = Env { round, ..Env::IEEE };
            let least = if round < 2 { 0x80_0000 } else { 0x7f_ffff };
            assert_eq!(F32.mul(0x80_0000, 0x3f7f_ffff, kept), least);
            assert_eq!(F32.mul(0x80_0000, 0x3f7f_ffff, kept.flushing()), 0);
            assert_eq!(F16.mul(0x3bff, 0x400, kept.flushing()), 0);
            assert_eq!(F16.mul(0x3bfe, 0x401, kept.flushing()), if round < 2 { 0x400 } else { 0 });
        }
    }
}
