//! Numbers of any length, and their rounding to formats. This code is slow and simple, and shares nothing
//! with the executor.

use std::cmp::Ordering;

/// A binary format: bits of fraction and of exponent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Format {
    pub fraction: u32,
    pub exponent: u32,
}

pub(super) const F16: Format = Format { fraction: 10, exponent: 5 };
pub(super) const BF16: Format = Format { fraction: 7, exponent: 8 };
pub(super) const F32: Format = Format { fraction: 23, exponent: 8 };
pub(super) const F64: Format = Format { fraction: 52, exponent: 11 };

/// A flag in a rounding mode: subnormal results become zero.
pub(super) const FLUSH: u32 = 8;

/// A flag in a rounding mode: signalling NaNs stay signalling.
pub(super) const LOUD: u32 = 16;

/// A non-negative integer, lowest word first, without zeros at the end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Natural(Vec<u32>);

impl Natural {
    fn trimmed(mut words: Vec<u32>) -> Self {
        while words.last() == Some(&0) {
            words.pop();
        }
        Natural(words)
    }

    fn new(value: u128) -> Self {
        Natural::trimmed((0..4).map(|i| (value >> (32 * i)) as u32).collect())
    }

    fn bits(&self) -> i32 {
        self.0.last().map_or(0, |top| 32 * self.0.len() as i32 - top.leading_zeros() as i32)
    }

    fn bit(&self, i: i32) -> bool {
        i >= 0 && self.0.get(i as usize / 32).is_some_and(|word| word >> (i % 32) & 1 != 0)
    }

    fn shifted(&self, left: u32) -> Self {
        let mut words = vec![0; left as usize / 32];
        let mut carry = 0u64;
        for word in &self.0 {
            let wide = u64::from(*word) << (left % 32) | carry;
            words.push(wide as u32);
            carry = wide >> 32;
        }
        words.push(carry as u32);
        Natural::trimmed(words)
    }

    fn plus(&self, other: &Self) -> Self {
        let mut words = Vec::new();
        let mut carry = 0u64;
        for i in 0..self.0.len().max(other.0.len()) + 1 {
            let at = |n: &Self| u64::from(n.0.get(i).copied().unwrap_or(0));
            let sum = at(self) + at(other) + carry;
            words.push(sum as u32);
            carry = sum >> 32;
        }
        Natural::trimmed(words)
    }

    /// The difference; the other number must not be larger.
    fn minus(&self, other: &Self) -> Self {
        let mut words = Vec::new();
        let mut borrow = 0i64;
        for i in 0..self.0.len() {
            let at = |n: &Self| i64::from(n.0.get(i).copied().unwrap_or(0));
            let rest = at(self) - at(other) - borrow;
            borrow = i64::from(rest < 0);
            words.push(rest as u32);
        }
        Natural::trimmed(words)
    }

    fn times(&self, other: &Self) -> Self {
        let mut sum = Natural::default();
        for (i, word) in other.0.iter().enumerate() {
            let mut words = vec![0; i];
            let mut carry = 0u64;
            for mine in &self.0 {
                let wide = u64::from(*mine) * u64::from(*word) + carry;
                words.push(wide as u32);
                carry = wide >> 32;
            }
            words.push(carry as u32);
            sum = sum.plus(&Natural::trimmed(words));
        }
        sum
    }

    fn compare(&self, other: &Self) -> Ordering {
        (self.0.len().cmp(&other.0.len())).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

/// `digits * 2^exponent`, with a sign, even for zero.
#[derive(Clone, Debug)]
pub(super) struct Exact {
    pub negative: bool,
    digits: Natural,
    exponent: i32,
}

impl Exact {
    pub(super) fn integer(value: i128) -> Self {
        Exact { negative: value < 0, digits: Natural::new(value.unsigned_abs()), exponent: 0 }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.0.is_empty()
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        Exact {
            negative: self.negative != other.negative,
            digits: self.digits.times(&other.digits),
            exponent: self.exponent + other.exponent,
        }
    }

    pub(super) fn scaled(&self, power: i32) -> Self {
        Exact { exponent: self.exponent + power, ..self.clone() }
    }

    /// The sum. Zero as a sum of opposite signs is negative if `down`.
    pub(super) fn plus(&self, other: &Self, down: bool) -> Self {
        let exponent = self.exponent.min(other.exponent);
        let at = |n: &Self| n.digits.shifted((n.exponent - exponent) as u32);
        let (a, b) = (at(self), at(other));
        if self.negative == other.negative {
            return Exact { negative: self.negative, digits: a.plus(&b), exponent };
        }
        match a.compare(&b) {
            Ordering::Equal => Exact { negative: down, digits: Natural::default(), exponent },
            Ordering::Greater => Exact { negative: self.negative, digits: a.minus(&b), exponent },
            Ordering::Less => Exact { negative: other.negative, digits: b.minus(&a), exponent },
        }
    }

    /// Rounds to an integer: 0 nearest even, 1 up, 2 down, 3 toward zero, 4 nearest with halves up.
    pub(super) fn to_integer(&self, mode: u32) -> i128 {
        let size = match self.kept(0, mode) {
            (digits, _) if digits.bits() > 100 => i128::MAX,
            (digits, _) => digits.0.iter().rev().fold(0i128, |all, word| all << 32 | i128::from(*word)),
        };
        if self.negative { -size } else { size }
    }

    /// The digits from `2^unit` on, rounded, and whether anything was lost.
    fn kept(&self, unit: i32, mode: u32) -> (Natural, bool) {
        let shift = unit - self.exponent;
        if shift <= 0 {
            return (self.digits.shifted((-shift) as u32), false);
        }
        let half = self.digits.bit(shift - 1);
        let below = (0..shift - 1).any(|i| self.digits.bit(i));
        let kept: Vec<u32> = (0..(self.digits.bits() - shift).max(0) as usize / 32 + 1)
            .map(|word| {
                (0..32).fold(0, |all, i| all | u32::from(self.digits.bit(shift + 32 * word as i32 + i)) << i)
            })
            .collect();
        let kept = Natural::trimmed(kept);
        let up = match mode {
            0 => half && (below || kept.bit(0)),
            1 => (half || below) && !self.negative,
            2 => (half || below) && self.negative,
            4 => half && (below || !self.negative),
            _ => false,
        };
        (if up { kept.plus(&Natural::new(1)) } else { kept }, half || below)
    }
}

/// The meaning of a bit pattern.
pub(super) enum Class {
    Nan,
    Infinite(bool),
    Number(Exact),
}

impl Format {
    pub(super) fn sign(self) -> u64 {
        1 << (self.fraction + self.exponent)
    }

    pub(super) fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    pub(super) fn quiet(self) -> u64 {
        1 << (self.fraction - 1)
    }

    /// The result of invalid operations.
    pub(super) fn default_nan(self) -> u64 {
        self.sign() | self.infinity() | self.quiet()
    }

    pub(super) fn is_nan(self, bits: u64) -> bool {
        bits & !self.sign() > self.infinity()
    }

    pub(super) fn is_infinite(self, bits: u64) -> bool {
        bits & !self.sign() == self.infinity()
    }

    pub(super) fn is_zero(self, bits: u64) -> bool {
        bits & !self.sign() == 0
    }

    pub(super) fn is_subnormal(self, bits: u64) -> bool {
        !self.is_zero(bits) && bits & self.infinity() == 0
    }

    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    pub(super) fn class(self, bits: u64) -> Class {
        let negative = bits & self.sign() != 0;
        if self.is_nan(bits) {
            return Class::Nan;
        }
        if self.is_infinite(bits) {
            return Class::Infinite(negative);
        }
        let field = ((bits & self.infinity()) >> self.fraction) as i32;
        let fraction = bits & ((1 << self.fraction) - 1);
        let digits = if field == 0 { fraction } else { fraction | 1 << self.fraction };
        let exponent = field.max(1) - self.bias() - self.fraction as i32;
        Class::Number(Exact { negative, digits: Natural::new(u128::from(digits)), exponent })
    }

    /// A finite number's value.
    pub(super) fn value(self, bits: u64) -> Exact {
        match self.class(bits) {
            Class::Number(exact) => exact,
            _ => panic!("{bits:#x} is not a number"),
        }
    }

    /// Rounds in a mode: 0 nearest even, 1 up, 2 down, 3 toward zero. With [`FLUSH`], the result is rounded
    /// as if there were no least exponent, and becomes zero if it is then below the least normal number.
    pub(super) fn round(self, exact: &Exact, mode: u32) -> u64 {
        let sign = if exact.negative { self.sign() } else { 0 };
        if exact.is_zero() {
            return sign;
        }
        if mode & FLUSH != 0 {
            let (digits, unit) = self.significand(exact, mode & 3);
            let top = unit + digits.bits() - 1;
            if top < 1 - self.bias() {
                return sign;
            }
        }
        let mode = mode & 3;
        let least = 1 - self.bias() - self.fraction as i32;
        let unit = (exact.exponent + exact.digits.bits() - 1 - self.fraction as i32).max(least);
        let (kept, _) = exact.kept(unit, mode);
        let kept = kept.0.iter().rev().fold(0u64, |all, word| all << 32 | u64::from(*word));
        // A carry clears the fraction and increments the exponent by itself.
        let bits = ((unit - least) as u64).wrapping_shl(self.fraction).wrapping_add(kept);
        let overflows = unit - least + 1 >= (1 << self.exponent) - 1 || bits >= self.infinity();
        if !overflows {
            return sign | bits;
        }
        let infinite = mode == 0 || mode == 1 && !exact.negative || mode == 2 && exact.negative;
        sign | if infinite { self.infinity() } else { self.infinity() - 1 }
    }

    /// A number's digits, rounded to the precision of the format, and the weight of the last one as a power
    /// of two.
    fn significand(self, exact: &Exact, mode: u32) -> (Natural, i32) {
        let unit = exact.exponent + exact.digits.bits() - 1 - self.fraction as i32;
        (exact.kept(unit, mode).0, unit)
    }

    /// The first NaN among the sources, made quiet.
    pub(super) fn first_nan(self, sources: &[u64]) -> Option<u64> {
        self.nan_of(sources, 0)
    }

    /// The first NaN among the sources, made quiet unless the mode has [`LOUD`].
    pub(super) fn nan_of(self, sources: &[u64], mode: u32) -> Option<u64> {
        let quiet = if mode & LOUD == 0 { self.quiet() } else { 0 };
        sources.iter().find(|bits| self.is_nan(**bits)).map(|bits| bits | quiet)
    }

    /// Negates; NaNs are unchanged, because their bits show which of them wins.
    pub(super) fn negated(self, bits: u64) -> u64 {
        if self.is_nan(bits) { bits } else { bits ^ self.sign() }
    }

    /// `a + b`
    pub(super) fn add(self, a: u64, b: u64, mode: u32) -> u64 {
        if let Some(nan) = self.nan_of(&[a, b], mode) {
            return nan;
        }
        match (self.class(a), self.class(b)) {
            (Class::Infinite(x), Class::Infinite(y)) if x != y => self.default_nan(),
            (Class::Infinite(_), _) => a,
            (_, Class::Infinite(_)) => b,
            _ => self.round(&self.value(a).plus(&self.value(b), mode & 3 == 2), mode),
        }
    }

    /// `a * b`
    pub(super) fn mul(self, a: u64, b: u64, mode: u32) -> u64 {
        if let Some(nan) = self.nan_of(&[a, b], mode) {
            return nan;
        }
        let sign = (a ^ b) & self.sign();
        if self.is_infinite(a) || self.is_infinite(b) {
            let undefined = self.is_zero(a) || self.is_zero(b);
            return if undefined { self.default_nan() } else { sign | self.infinity() };
        }
        self.round(&self.value(a).times(&self.value(b)), mode)
    }

    /// `(a * b + c) * 2^power`, rounded once.
    pub(super) fn fma(self, a: u64, b: u64, c: u64, power: i32, mode: u32) -> u64 {
        self.fma_to(self, [a, b, c], power, mode)
    }

    /// The same in another format.
    pub(super) fn fma_to(self, to: Format, [a, b, c]: [u64; 3], power: i32, mode: u32) -> u64 {
        let moved = |nan| if to == self { nan } else { self.convert(nan, to, mode) };
        if let Some(nan) = self.nan_of(&[a, b], mode) {
            return moved(nan);
        }
        let product_infinite = self.is_infinite(a) || self.is_infinite(b);
        if product_infinite && (self.is_zero(a) || self.is_zero(b)) {
            return to.default_nan();
        }
        if let Some(nan) = self.nan_of(&[c], mode) {
            return moved(nan);
        }
        let sign = (a ^ b) & self.sign();
        match (product_infinite, self.is_infinite(c)) {
            (true, true) if sign != c & self.sign() => to.default_nan(),
            (true, _) if sign != 0 => to.sign() | to.infinity(),
            (true, _) => to.infinity(),
            (false, true) => self.convert(c, to, mode),
            _ => {
                let sum = self.value(a).times(&self.value(b)).plus(&self.value(c), mode & 3 == 2);
                to.round(&sum.scaled(power), mode)
            }
        }
    }

    /// The same number in another format. With [`LOUD`], a signalling NaN stays signalling if any of its
    /// payload is kept.
    pub(super) fn convert(self, bits: u64, to: Format, mode: u32) -> u64 {
        let sign = if bits & self.sign() != 0 { to.sign() } else { 0 };
        match self.class(bits) {
            Class::Infinite(_) => sign | to.infinity(),
            Class::Number(exact) => to.round(&exact, mode),
            Class::Nan => {
                let payload = bits & ((1 << self.fraction) - 1);
                let payload = if to.fraction > self.fraction {
                    payload << (to.fraction - self.fraction)
                } else {
                    payload >> (self.fraction - to.fraction)
                };
                let quiet = if mode & LOUD == 0 || payload == 0 { to.quiet() } else { 0 };
                sign | to.infinity() | quiet | payload
            }
        }
    }

    /// As f64; exact for all other formats.
    pub(super) fn to_f64(self, bits: u64) -> f64 {
        f64::from_bits(self.convert(bits, F64, 0))
    }

    /// Compares numbers; none if one is NaN.
    pub(super) fn compare(self, a: u64, b: u64) -> Option<Ordering> {
        self.to_f64(a).partial_cmp(&self.to_f64(b))
    }

    /// A key that orders numbers, -0 before +0.
    pub(super) fn order(self, bits: u64) -> i64 {
        let size = (bits & !self.sign()) as i64;
        if bits & self.sign() != 0 { -size - 1 } else { size }
    }
}
