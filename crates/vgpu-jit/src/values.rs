//! What vector instructions compute: methods that build values from an instruction's sources.

use vgpu_exec::native::{Source, Step};
use vgpu_isa::scalar;

use crate::host::{Host, V};
use crate::region::{Id, Region};

/// Builds the values of an instruction.
pub(crate) struct Build<'r> {
    region: &'r mut Region,
    step: &'r Step,
    /// Of operations on halves of registers: which halves of sources are read, and how their signs change.
    op_sel: u8,
    neg: u8,
    abs: u8,
}

const SIGN: u32 = 1 << 31;

impl<'r> Build<'r> {
    pub(crate) fn new(region: &'r mut Region, step: &'r Step) -> Build<'r> {
        Build { region, step, op_sel: step.mods.op_sel, neg: step.mods.neg, abs: step.mods.abs }
    }
}

impl Build<'_> {
    /// The number that is a source, or the second half of a pair.
    fn half(&mut self, i: usize, high: bool) -> Id {
        match self.step.src[i] {
            Source::Vector(register) => self.region.register(register + u16::from(high)),
            Source::Scalar(scalar::NULL) | Source::Other => self.region.literal(0),
            Source::Scalar(slot) => self.region.scalar(slot + u8::from(high)),
            Source::Constant(value) => self.region.literal((value >> if high { 32 } else { 0 }) as u32),
        }
    }

    /// The number that is a source.
    pub(crate) fn get(&mut self, i: usize) -> Id {
        self.half(i, false)
    }

    /// Both halves of a pair.
    fn wide(&mut self, i: usize) -> [Id; 2] {
        [self.half(i, false), self.half(i, true)]
    }

    /// The lane mask that is a source.
    fn mask(&mut self, i: usize) -> Id {
        match self.step.src[i] {
            Source::Scalar(slot) if slot != scalar::NULL => self.region.lanes(slot),
            _ => {
                let zero = self.literal(0);
                self.op(V::GreaterSigned, zero, zero)
            }
        }
    }

    fn literal(&mut self, value: u32) -> Id {
        self.region.literal(value)
    }

    pub(crate) fn op(&mut self, v: V, a: Id, b: Id) -> Id {
        self.region.op(v, [a, b, 0], 0)
    }

    fn op_imm(&mut self, v: V, a: Id, immediate: u8) -> Id {
        self.region.op(v, [a, 0, 0], immediate)
    }

    /// An operation with a constant.
    pub(crate) fn with(&mut self, v: V, a: Id, b: u32) -> Id {
        let b = self.literal(b);
        self.op(v, a, b)
    }

    fn select(&mut self, mask: Id, yes: Id, no: Id) -> Id {
        self.region.moves(V::Select, [mask, yes, no], 0)
    }

    fn is_avx512(&self) -> bool {
        self.region.host == Host::Avx512
    }

    /// A number with modifiers of its sign.
    fn signed(&mut self, value: Id, abs: bool, neg: bool) -> Id {
        if let Some(constant) = self.region.constant(value) {
            let constant = if abs { constant & !SIGN } else { constant };
            return self.literal(if neg { constant ^ SIGN } else { constant });
        }
        let (v, bits) = match (abs, neg) {
            (false, false) => return value,
            (true, false) => (V::And, !SIGN),
            (true, true) => (V::Or, SIGN),
            (false, true) => (V::Xor, SIGN),
        };
        let bits = self.literal(bits);
        self.region.moves(v, [value, bits, 0], 0)
    }

    /// The f32 that is a source.
    pub(crate) fn float(&mut self, i: usize) -> Id {
        let mods = &self.step.mods;
        let (abs, neg) = (mods.abs >> i & 1 != 0, mods.neg >> i & 1 != 0);
        let value = self.get(i);
        self.signed(value, abs, neg)
    }

    /// The f32 of a packed source that the low or the high result is computed from.
    fn packed(&mut self, i: usize, high: bool) -> Id {
        let mods = &self.step.mods;
        let (sel, neg) = if high { (mods.op_sel_hi, mods.neg_hi) } else { (mods.op_sel, mods.neg) };
        let value = self.half(i, sel >> i & 1 != 0);
        self.signed(value, false, neg >> i & 1 != 0)
    }

    /// The f16 in the low or the high half of a source, as f32.
    fn float16(&mut self, i: usize, high: bool) -> Id {
        let bits = self.get(i);
        let bits = if high { self.op_imm(V::ShrImm, bits, 16) } else { self.with(V::And, bits, 0xffff) };
        self.region.float(V::F32OfF16, [bits, 0, 0], 0)
    }

    /// The f16 that is a source, as f32.
    pub(crate) fn widened(&mut self, i: usize) -> Id {
        let mods = &self.step.mods;
        let (abs, neg) = (mods.abs >> i & 1 != 0, mods.neg >> i & 1 != 0);
        let value = self.float16(i, false);
        self.signed(value, abs, neg)
    }

    /// The f32 that is a mixed source.
    fn mixed(&mut self, i: usize) -> Id {
        let mods = &self.step.mods;
        let is_set = |bits: u8| bits >> i & 1 != 0;
        // In this encoding, negation of high halves means the absolute value.
        let (abs, neg) = (is_set(mods.neg_hi), is_set(mods.neg));
        let value = if is_set(mods.op_sel_hi) { self.float16(i, is_set(mods.op_sel)) } else { self.get(i) };
        self.signed(value, abs, neg)
    }

    pub(crate) fn mixed_fma(&mut self) -> Id {
        let sources = [0, 1, 2].map(|i| self.mixed(i));
        self.region.float(V::Fma, sources, 0)
    }

    /// The sum of source 2 and the products of four bytes. `None` for signs: the modifiers say.
    pub(crate) fn dot_bytes(&mut self, signs: Option<[bool; 2]>) -> Id {
        let neg = self.step.mods.neg;
        let signs = signs.unwrap_or([neg & 1 != 0, neg & 2 != 0]);
        let parts: [[Id; 2]; 2] = std::array::from_fn(|i| {
            let bytes = self.get(i);
            if signs[i] {
                let even = self.op_imm(V::ShlWords, bytes, 8);
                [even, bytes].map(|words| self.op_imm(V::SarWords, words, 8))
            } else {
                [self.with(V::And, bytes, 0x00ff_00ff), self.op_imm(V::ShrWords, bytes, 8)]
            }
        });
        let [even, odd] = [0, 1].map(|half| self.op(V::MulAddWords, parts[0][half], parts[1][half]));
        let (products, c) = (self.op(V::Add, even, odd), self.get(2));
        self.op(V::Add, products, c)
    }

    /// A 16-bit number that is a source, with zeros above.
    pub(crate) fn word(&mut self, i: usize) -> Id {
        let bits = self.get(i);
        match self.op_sel >> i & 1 {
            0 => self.with(V::And, bits, 0xffff),
            _ => self.op_imm(V::ShrImm, bits, 16),
        }
    }

    /// The low 16 bits of a result.
    pub(crate) fn low_word(&mut self, v: V, a: Id, b: Id) -> Id {
        let result = self.op(v, a, b);
        self.with(V::And, result, 0xffff)
    }

    pub(crate) fn words(&mut self, v: V) -> Id {
        let (a, b) = (self.word(0), self.word(1));
        self.low_word(v, a, b)
    }

    /// A 16-bit number, sign-extended.
    fn signed_word(&mut self, i: usize) -> Id {
        let word = self.word(i);
        let high = self.op_imm(V::ShlImm, word, 16);
        self.op_imm(V::SarImm, high, 16)
    }

    pub(crate) fn signed_words(&mut self, v: V) -> Id {
        let (a, b) = (self.signed_word(0), self.signed_word(1));
        self.low_word(v, a, b)
    }

    /// Source 1 shifted by the low bits of source 0.
    pub(crate) fn shift_word(&mut self, v: V) -> Id {
        let by = self.word(0);
        let by = self.with(V::And, by, 15);
        let value = if v == V::Sar { self.signed_word(1) } else { self.word(1) };
        let result = self.shifted(v, value, by);
        self.with(V::And, result, 0xffff)
    }

    /// The f16 that is a source, as f32.
    fn half_float(&mut self, i: usize) -> Id {
        let bits = self.word(i);
        let value = self.region.float(V::F32OfF16, [bits, 0, 0], 0);
        self.signed(value, self.abs >> i & 1 != 0, self.neg >> i & 1 != 0)
    }

    /// The f16 nearest to an f32.
    fn rounded(&mut self, value: Id) -> Id {
        self.region.check(value, value);
        self.op(V::F16OfF32, value, 0)
    }

    pub(crate) fn half_of_float(&mut self) -> Id {
        let value = self.float(0);
        self.rounded(value)
    }

    pub(crate) fn half_binary(&mut self, v: V, a: usize, b: usize) -> Id {
        let (a, b) = (self.half_float(a), self.half_float(b));
        // f32 has enough digits for the second rounding to give the result of one.
        let result = self.region.float(v, [a, b, 0], 0);
        self.rounded(result)
    }

    pub(crate) fn half_fma(&mut self) -> Id {
        let [a, b, c] = [0, 1, 2].map(|i| self.half_float(i));
        let float = |this: &mut Self, v, a, b| this.region.float(v, [a, b, 0], 0);
        // The product is exact. What the sum loses says on which side of it the exact result is. With an odd
        // last digit, it is not the middle between two f16.
        let product = float(self, V::MulF32, a, b);
        let sum = float(self, V::AddF32, product, c);
        let part = float(self, V::SubF32, sum, product);
        let rest = float(self, V::SubF32, sum, part);
        let of_product = float(self, V::SubF32, product, rest);
        let of_addend = float(self, V::SubF32, c, part);
        let lost = float(self, V::AddF32, of_product, of_addend);
        let zero = self.literal(0);
        let inexact = self.compare_f32(lost, zero, NOT_EQUAL);
        let odd = self.with(V::And, sum, 1);
        let even = self.op(V::Equal, odd, zero);
        let signs = self.op(V::Xor, sum, lost);
        let away = self.op_imm(V::SarImm, signs, 31);
        let away = self.with(V::Or, away, 1);
        let moved = self.op(V::Add, sum, away);
        let moves = self.op(V::BothMasks, inexact, even);
        let result = self.select(moves, moved, sum);
        self.rounded(result)
    }

    /// An operation on both halves of registers.
    pub(crate) fn both(&mut self, each: impl Fn(&mut Self) -> Id) -> Id {
        self.abs = 0;
        let low = each(self);
        (self.op_sel, self.neg) = (self.step.mods.op_sel_hi, self.step.mods.neg_hi);
        let high = each(self);
        let high = self.op_imm(V::ShlImm, high, 16);
        self.op(V::Or, low, high)
    }

    /// The destination with a 16-bit result in the part of it that is written.
    pub(crate) fn in_half(&mut self, value: Id) -> Id {
        // As the reference engine lowers it.
        let part = self.step.offset & 3;
        let Some(register) = self.step.dst.filter(|_| part != 0) else { return value };
        let old = self.region.register(register);
        let (value, others) = match part {
            1 => (value, 0xffff_0000),
            _ => (self.op_imm(V::ShlImm, value, 16), 0xffff),
        };
        let old = self.with(V::And, old, others);
        self.op(V::Or, value, old)
    }

    /// A number whose subnormal values are zero.
    fn flushed(&mut self, a: Id) -> Id {
        let size = self.with(V::And, a, 0x7f80_0000);
        let zero = self.literal(0);
        let tiny = self.op(V::Equal, size, zero);
        let sign = self.with(V::And, a, SIGN);
        self.select(tiny, sign, a)
    }

    pub(crate) fn reciprocal(&mut self) -> Id {
        let a = self.float(0);
        let (one, a) = (self.literal(1f32.to_bits()), self.flushed(a));
        let result = self.region.float(V::DivF32, [one, a, 0], 0);
        self.flushed(result)
    }

    /// A function of an f32, without subnormal numbers.
    pub(crate) fn function(&mut self, v: V) -> Id {
        let a = self.float(0);
        self.region.check(a, a);
        let a = self.flushed(a);
        let result = self.region.float(v, [a, 0, 0], 0);
        self.flushed(result)
    }

    pub(crate) fn root(&mut self) -> Id {
        let a = self.float(0);
        let a = self.flushed(a);
        self.region.float(V::SqrtF32, [a, 0, 0], 0)
    }

    /// How many of 32 lanes from a first one on are before each lane, added to source 1.
    pub(crate) fn lanes_before(&mut self, first: u32) -> Id {
        let (lanes, number) = (self.region.lane_numbers(), self.get(1));
        let (zero, most) = (self.literal(0), self.literal(32));
        let from = self.with(V::Sub, lanes, first);
        let from = self.op(V::MaxSigned, from, zero);
        let count = self.op(V::MinSigned, from, most);
        self.op(V::Add, count, number)
    }

    /// The low five bits of a source, for shifts.
    pub(crate) fn count(&mut self, i: usize) -> Id {
        let count = self.get(i);
        match self.region.constant(count) {
            Some(count) => self.literal(count & 31),
            None => self.with(V::And, count, 31),
        }
    }

    pub(crate) fn binary(&mut self, v: V) -> Id {
        let (a, b) = (self.get(0), self.get(1));
        self.op(v, a, b)
    }

    pub(crate) fn reversed(&mut self, v: V) -> Id {
        let (a, b) = (self.get(0), self.get(1));
        self.op(v, b, a)
    }

    /// Source `value` shifted by source `by`.
    pub(crate) fn shift(&mut self, v: V, value: usize, by: usize) -> Id {
        let (value, by) = (self.get(value), self.count(by));
        self.shifted(v, value, by)
    }

    pub(crate) fn shifted(&mut self, v: V, value: Id, by: Id) -> Id {
        let imm = match v {
            V::Shl => V::ShlImm,
            V::Shr => V::ShrImm,
            _ => V::SarImm,
        };
        match self.region.constant(by) {
            Some(by) => self.op_imm(imm, value, by as u8),
            None => self.op(v, value, by),
        }
    }

    /// A first operation on sources 0 and 1, and a second one with source 2.
    pub(crate) fn chain(&mut self, first: V, second: V) -> Id {
        let (a, c) = (self.binary(first), self.get(2));
        self.op(second, a, c)
    }

    pub(crate) fn float_binary(&mut self, v: V, a: usize, b: usize) -> Id {
        let (a, b) = (self.float(a), self.float(b));
        self.region.float(v, [a, b, 0], 0)
    }

    pub(crate) fn fma(&mut self) -> Id {
        let sources = [self.float(0), self.float(1), self.float(2)];
        self.region.float(V::Fma, sources, 0)
    }

    pub(crate) fn round(&mut self, how: u8) -> Id {
        let a = self.float(0);
        self.region.float(V::Round, [a, 0, 0], how)
    }

    pub(crate) fn packed_binary(&mut self, v: V) -> [Id; 2] {
        [false, true].map(|high| {
            let (a, b) = (self.packed(0, high), self.packed(1, high));
            self.region.float(v, [a, b, 0], 0)
        })
    }

    pub(crate) fn packed_fma(&mut self) -> [Id; 2] {
        [false, true].map(|high| {
            let sources = [0, 1, 2].map(|i| self.packed(i, high));
            self.region.float(V::Fma, sources, 0)
        })
    }

    /// `zeros` makes the result of two zeros from both.
    pub(crate) fn minmax(&mut self, v: V, zeros: V) -> Id {
        let (a, b) = (self.float(0), self.float(1));
        self.region.check(a, b);
        let result = self.region.compares(v, [a, b, 0], 0);
        let equal = self.compare_f32(a, b, 0);
        let both = self.region.compares(zeros, [a, b, 0], 0);
        self.region.compares(V::Select, [equal, both, result], 0)
    }

    /// A function of three bits, by its truth table.
    pub(crate) fn bitwise(&mut self, table: u8) -> Id {
        let [a, b, c] = [0, 1, 2].map(|i| self.get(i));
        if self.is_avx512() {
            return self.region.op(V::Ternary, [a, b, c], table);
        }
        match table {
            OR3 => {
                let ab = self.op(V::Or, a, b);
                self.op(V::Or, ab, c)
            }
            XOR3 => {
                let ab = self.op(V::Xor, a, b);
                self.op(V::Xor, ab, c)
            }
            _ => {
                // Bits of `b` where `a` is set, otherwise of `c`.
                let differs = self.op(V::Xor, b, c);
                let chosen = self.op(V::And, differs, a);
                self.op(V::Xor, chosen, c)
            }
        }
    }

    fn sign24(&mut self, i: usize) -> Id {
        let a = self.get(i);
        let up = self.op_imm(V::ShlImm, a, 8);
        self.op_imm(V::SarImm, up, 8)
    }

    fn unsigned24(&mut self, i: usize) -> Id {
        let a = self.get(i);
        self.with(V::And, a, 0xff_ffff)
    }

    pub(crate) fn product24(&mut self, signed: bool) -> Id {
        let [a, b] = [0, 1].map(|i| if signed { self.sign24(i) } else { self.unsigned24(i) });
        self.op(V::Mul, a, b)
    }

    /// The high halves of products.
    pub(crate) fn mul_high(&mut self, a: Id, b: Id, even: V) -> Id {
        let low = self.op(even, a, b);
        let low = self.op_imm(V::ShrWide, low, 32);
        let [a, b] = [a, b].map(|odd| self.op_imm(V::ShrWide, odd, 32));
        let high = self.op(even, a, b);
        let odd = self.region.odd_lanes();
        let high = self.op(V::And, high, odd);
        self.op(V::Or, low, high)
    }

    /// Bits that moved from one half of a 64-bit shift to the other: `value`, moved the other way by 32 minus
    /// the count, which may be 0.
    fn across(&mut self, value: Id, by: Id, other: V) -> Id {
        let one = self.literal(1);
        let moved = self.shifted(other, value, one);
        let rest = match self.region.constant(by) {
            Some(by) => self.literal(by ^ 31),
            None => self.with(V::Xor, by, 31),
        };
        self.shifted(other, moved, rest)
    }

    /// One of two values, by whether a 64-bit shift by source 0 is by 32 or more.
    fn if_far(&mut self, far: Id, near: Id) -> Id {
        let by = self.get(0);
        if let Some(by) = self.region.constant(by) {
            return if by & 32 != 0 { far } else { near };
        }
        let bit = self.with(V::And, by, 32);
        let is_far = self.with(V::GreaterSigned, bit, 0);
        self.select(is_far, far, near)
    }

    pub(crate) fn shift_left(&mut self) -> [Id; 2] {
        let [low, high] = self.wide(1);
        let by = self.count(0);
        let up = self.shifted(V::Shl, low, by);
        let high = self.shifted(V::Shl, high, by);
        let across = self.across(low, by, V::Shr);
        let near = self.op(V::Or, high, across);
        let zero = self.literal(0);
        [self.if_far(zero, up), self.if_far(up, near)]
    }

    pub(crate) fn shift_right(&mut self, v: V) -> [Id; 2] {
        let [low, high] = self.wide(1);
        let by = self.count(0);
        let down = self.shifted(v, high, by);
        let low = self.shifted(V::Shr, low, by);
        let across = self.across(high, by, V::Shl);
        let near = self.op(V::Or, low, across);
        let sign = if v == V::Sar { self.op_imm(V::SarImm, high, 31) } else { self.literal(0) };
        [self.if_far(down, near), self.if_far(sign, down)]
    }

    /// Unsigned comparison.
    fn above(&mut self, a: Id, b: Id) -> Id {
        if self.is_avx512() {
            return self.op(V::GreaterUnsigned, a, b);
        }
        let [a, b] = [a, b].map(|value| match self.region.constant(value) {
            Some(value) => self.literal(value ^ SIGN),
            None => self.with(V::Xor, value, SIGN),
        });
        self.op(V::GreaterSigned, a, b)
    }

    /// 1 where a mask is set.
    fn ones(&mut self, mask: Id) -> Id {
        let (one, zero) = (self.literal(1), self.literal(0));
        self.select(mask, one, zero)
    }

    pub(crate) fn add_carry(&mut self) -> (Id, Id) {
        let (a, b) = (self.get(0), self.get(1));
        let sum = self.op(V::Add, a, b);
        (sum, self.above(a, sum))
    }

    pub(crate) fn sub_borrow(&mut self, first: usize, second: usize) -> (Id, Id) {
        let (a, b) = (self.get(first), self.get(second));
        (self.op(V::Sub, a, b), self.above(b, a))
    }

    pub(crate) fn add_with_carry(&mut self) -> (Id, Id) {
        let (first, carry) = self.add_carry();
        let mask = self.mask(2);
        self.plus(first, carry, mask)
    }

    /// A number plus a carry, and whether that or what led to it overflowed.
    fn plus(&mut self, first: Id, carried: Id, mask: Id) -> (Id, Id) {
        let one = self.ones(mask);
        let sum = self.op(V::Add, first, one);
        let again = self.above(first, sum);
        (sum, self.op(V::EitherMask, carried, again))
    }

    pub(crate) fn sub_with_borrow(&mut self, first: usize, second: usize) -> (Id, Id) {
        let (difference, borrow) = self.sub_borrow(first, second);
        let mask = self.mask(2);
        let one = self.ones(mask);
        let result = self.op(V::Sub, difference, one);
        let again = self.above(result, difference);
        (result, self.op(V::EitherMask, borrow, again))
    }

    pub(crate) fn mad_wide(&mut self) -> ([Id; 2], Id) {
        let (a, b) = (self.get(0), self.get(1));
        let low = self.op(V::Mul, a, b);
        let high = self.mul_high(a, b, V::MulEven);
        let [c, d] = self.wide(2);
        let low = self.op(V::Add, low, c);
        let carry = self.above(c, low);
        let first = self.op(V::Add, high, d);
        let over = self.above(d, first);
        let (high, over) = self.plus(first, over, carry);
        ([low, high], over)
    }

    pub(crate) fn signed_of_float(&mut self) -> Id {
        let a = self.float(0);
        let raw = self.region.compares(V::SignedOfF32, [a, 0, 0], 0);
        let (zero, most) = (self.literal(0), self.literal(0x7fff_ffff));
        let nan = self.compare_f32(a, a, UNORDERED);
        let number = self.select(nan, zero, raw);
        let limit = self.literal(TWO_31);
        let large = self.compare_f32(a, limit, GREATER_OR_EQUAL);
        self.select(large, most, number)
    }

    pub(crate) fn unsigned_of_float(&mut self) -> Id {
        let (a, zero) = (self.float(0), self.literal(0));
        // The second source if the first is a NaN.
        let a = self.region.compares(V::MaxF32, [a, zero, 0], 0);
        if self.is_avx512() {
            return self.region.compares(V::UnsignedOfF32, [a, 0, 0], 0);
        }
        let (limit, end) = (self.literal(TWO_31), self.literal(TWO_32));
        let large = self.compare_f32(a, limit, GREATER_OR_EQUAL);
        let minus = self.select(large, limit, zero);
        let rest = self.region.compares(V::SubF32, [a, minus, 0], 0);
        let rest = self.region.compares(V::SignedOfF32, [rest, 0, 0], 0);
        let sign = self.literal(SIGN);
        let plus = self.select(large, sign, zero);
        let number = self.op(V::Xor, rest, plus);
        let too_large = self.compare_f32(a, end, GREATER_OR_EQUAL);
        let most = self.literal(u32::MAX);
        self.select(too_large, most, number)
    }

    pub(crate) fn float_of_unsigned(&mut self) -> Id {
        let a = self.get(0);
        if self.is_avx512() {
            return self.op(V::F32OfUnsigned, a, 0);
        }
        // Both halves are exact, so their sum is rounded once.
        let high = self.op_imm(V::ShrImm, a, 16);
        let low = self.with(V::And, a, 0xffff);
        let [high, low] = [high, low].map(|half| self.op(V::F32OfSigned, half, 0));
        let unit = self.literal(65536f32.to_bits());
        self.region.compares(V::Fma, [high, unit, low], 0)
    }

    /// A byte of a source, as a float.
    pub(crate) fn float_of_byte(&mut self, number: u8) -> Id {
        let a = self.get(0);
        let a = if number == 0 { a } else { self.op_imm(V::ShrImm, a, 8 * number) };
        let byte = if number == 3 { a } else { self.with(V::And, a, 0xff) };
        self.op(V::F32OfSigned, byte, 0)
    }

    pub(crate) fn bfe(&mut self, v: V) -> Id {
        let field = self.shift(v, 0, 1);
        let width = self.count(2);
        let ones = match self.region.constant(width) {
            Some(width) => self.literal((1 << width) - 1),
            None => {
                let one = self.literal(1);
                let end = self.op(V::Shl, one, width);
                self.with(V::Add, end, u32::MAX)
            }
        };
        let field = self.op(V::And, field, ones);
        if v == V::Shr {
            return field;
        }
        // The sign bit is half of the field's size; it is 0 if the width is 0.
        let end = self.with(V::Add, ones, 1);
        let sign = self.op_imm(V::ShrImm, end, 1);
        let flipped = self.op(V::Xor, field, sign);
        self.op(V::Sub, flipped, sign)
    }

    pub(crate) fn align_bit(&mut self) -> Id {
        let (high, low) = (self.get(0), self.get(1));
        let by = self.count(2);
        let low = self.shifted(V::Shr, low, by);
        let across = self.across(high, by, V::Shl);
        self.op(V::Or, low, across)
    }

    /// Source 1 where the mask is set, otherwise source 0.
    pub(crate) fn conditional(&mut self) -> Id {
        let (no, yes) = (self.float(0), self.float(1));
        let mask = self.mask(2);
        self.select(mask, yes, no)
    }

    fn compare_f32(&mut self, a: Id, b: Id, predicate: u8) -> Id {
        self.region.compares(V::CompareF32, [a, b, 0], predicate)
    }

    pub(crate) fn compare_floats(&mut self, predicate: u8) -> Id {
        let (a, b) = (self.float(0), self.float(1));
        self.compare_f32(a, b, predicate)
    }

    /// Whether source `a` is greater than source `b`.
    pub(crate) fn greater(&mut self, a: usize, b: usize, signed: bool) -> Id {
        let (a, b) = (self.get(a), self.get(b));
        if signed { self.op(V::GreaterSigned, a, b) } else { self.above(a, b) }
    }

    /// Whether 64-bit source `a` is greater than source `b`.
    pub(crate) fn greater_wide(&mut self, a: usize, b: usize, signed: bool) -> Id {
        let ([low_a, high_a], [low_b, high_b]) = (self.wide(a), self.wide(b));
        let high = match signed {
            true => self.op(V::GreaterSigned, high_a, high_b),
            false => self.above(high_a, high_b),
        };
        let low = self.above(low_a, low_b);
        let same = self.op(V::Equal, high_a, high_b);
        let low = self.op(V::BothMasks, same, low);
        self.op(V::EitherMask, high, low)
    }

    /// Whether the 64-bit sources are equal.
    pub(crate) fn equal_wide(&mut self) -> Id {
        let ([low_a, high_a], [low_b, high_b]) = (self.wide(0), self.wide(1));
        let (low, high) = (self.op(V::Equal, low_a, low_b), self.op(V::Equal, high_a, high_b));
        self.op(V::BothMasks, low, high)
    }

    pub(crate) fn median(&mut self, min: V, max: V) -> Id {
        let [a, b, c] = [0, 1, 2].map(|i| self.get(i));
        let low = self.op(min, a, b);
        let high = self.op(max, a, b);
        let high = self.op(min, high, c);
        self.op(max, low, high)
    }
}

/// Truth tables of [`Build::bitwise`].
pub(crate) const OR3: u8 = 0xfe;
pub(crate) const XOR3: u8 = 0x96;
pub(crate) const CHOOSE: u8 = 0xca;
/// Predicates of comparisons of f32.
pub(crate) const UNORDERED: u8 = 3;
const GREATER_OR_EQUAL: u8 = 0x1d;
const NOT_EQUAL: u8 = 0x0c;
/// Powers of two as f32.
const TWO_31: u32 = 0x4f00_0000;
const TWO_32: u32 = 0x4f80_0000;
