//! Vector instructions: what each operation computes from its sources.

use vgpu_exec::native::{Source, Step};
use vgpu_isa::{Op, scalar};

use crate::host::{Host, V};
use crate::region::{Id, Region, slots};

/// What an operation gives. Masks go to scalar registers.
#[derive(Clone, Copy)]
enum Form {
    /// A number.
    One(fn(&mut Build<'_>) -> Id),
    /// Two numbers, for two registers.
    Two(fn(&mut Build<'_>) -> [Id; 2]),
    /// A number, and a mask for the second destination.
    Carry(fn(&mut Build<'_>) -> (Id, Id)),
    /// Two numbers and a mask.
    WideCarry(fn(&mut Build<'_>) -> ([Id; 2], Id)),
    /// A mask.
    Mask(fn(&mut Build<'_>) -> Id),
}

/// What the sources are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// 32-bit numbers, or pairs.
    Numbers,
    /// Pairs of f32, with modifiers for each half.
    Packed,
    /// Each an f32 or half of a register as f16, by the modifiers.
    Mixed,
    /// All lanes of a mask, and a number.
    AllLanes,
}

#[derive(Clone, Copy)]
struct Entry {
    form: Form,
    operands: Operands,
    /// How many of the sources are numbers.
    sources: u8,
    /// The source that is a lane mask.
    mask: Option<u8>,
}

/// Whether an operation has a native form with these operands.
pub(crate) fn is_native(op: Op, step: &Step) -> bool {
    find(op).is_some_and(|entry| accepts(&entry, step))
}

/// Whether an operation with a native form writes EXEC.
pub(crate) fn writes_exec(op: Op, step: &Step) -> bool {
    find(op).is_some_and(|entry| written(&entry, step).into_iter().any(|slot| slot == scalar::EXEC))
}

/// The scalar registers to which an operation writes a mask, or none.
fn written(entry: &Entry, step: &Step) -> [u8; 2] {
    match entry.form {
        Form::Mask(_) => [step.scalar, step.second],
        Form::Carry(_) | Form::WideCarry(_) => [step.second, scalar::NULL],
        Form::One(_) | Form::Two(_) => [scalar::NULL; 2],
    }
}

fn accepts(entry: &Entry, step: &Step) -> bool {
    let mods = &step.mods;
    if mods.omod != 0 || mods.clamp || entry.operands == Operands::Numbers && mods.op_sel & 7 != 0 {
        return false;
    }
    let all = |source| matches!(source, Source::Constant(mask) if mask as u32 == u32::MAX);
    if entry.operands == Operands::AllLanes && !all(step.src[0]) {
        return false;
    }
    let reads = |i: usize| match step.src[i] {
        Source::Other => false,
        Source::Scalar(slot) if entry.mask == Some(i as u8) => is_mask(slot),
        // Which halves of constants are read differs between generations.
        Source::Constant(_) if entry.operands == Operands::Packed => false,
        _ => entry.mask != Some(i as u8),
    };
    let count = usize::from(entry.sources) + usize::from(entry.mask.is_some());
    let has_register = matches!(entry.form, Form::Mask(_)) || step.dst.is_some();
    has_register && (0..count).all(reads) && written(entry, step).into_iter().all(is_mask)
}

/// Whether a lane mask of any size can be in these scalar registers.
fn is_mask(slot: u8) -> bool {
    slot < scalar::M0 || slot == scalar::NULL || slot == scalar::EXEC
}

/// Whether a region can have an operation with a native form as its next.
pub(crate) fn fits(region: &Region, op: Op, step: &Step) -> bool {
    let Some(entry) = find(op) else { return false };
    let mut numbers = 0;
    let mut masks: Vec<u8> = written(&entry, step).into_iter().filter(|slot| *slot != scalar::NULL).collect();
    for (i, source) in step.src.iter().enumerate() {
        match source {
            Source::Scalar(slot) if entry.mask == Some(i as u8) => masks.push(*slot),
            Source::Scalar(slot) => numbers |= slots(*slot, true),
            _ => {}
        }
    }
    let count = match entry.form {
        Form::One(_) | Form::Carry(_) => 1,
        Form::Two(_) | Form::WideCarry(_) => 2,
        Form::Mask(_) => 0,
    };
    let first = step.dst.unwrap_or(0);
    region.admits(numbers, &masks) && region.has_room(first..first + count)
}

/// Adds an operation with a native form to a region.
pub(crate) fn build(region: &mut Region, op: Op, step: &Step) {
    let Some(entry) = find(op) else { return };
    let mut build = Build { region, step };
    let (low, high, mask) = match entry.form {
        Form::One(form) => (Some(form(&mut build)), None, None),
        Form::Two(form) => {
            let [low, high] = form(&mut build);
            (Some(low), Some(high), None)
        }
        Form::Carry(form) => {
            let (low, mask) = form(&mut build);
            (Some(low), None, Some(mask))
        }
        Form::WideCarry(form) => {
            let ([low, high], mask) = form(&mut build);
            (Some(low), Some(high), Some(mask))
        }
        Form::Mask(form) => (None, None, Some(form(&mut build))),
    };
    for (offset, value) in [low, high].into_iter().enumerate() {
        if let (Some(register), Some(value)) = (step.dst, value) {
            region.set_register(register + offset as u16, value);
        }
    }
    if let Some(mask) = mask {
        let inverted = matches!(entry.form, Form::Mask(_)) && step.inverted;
        for slot in written(&entry, step) {
            if slot != scalar::NULL {
                region.set_mask(slot, mask, inverted);
            }
        }
    }
}

/// Builds the values of an instruction.
struct Build<'r> {
    region: &'r mut Region,
    step: &'r Step,
}

const SIGN: u32 = 1 << 31;

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
    fn get(&mut self, i: usize) -> Id {
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

    fn op(&mut self, v: V, a: Id, b: Id) -> Id {
        self.region.op(v, [a, b, 0], 0)
    }

    fn op_imm(&mut self, v: V, a: Id, immediate: u8) -> Id {
        self.region.op(v, [a, 0, 0], immediate)
    }

    /// An operation with a constant.
    fn with(&mut self, v: V, a: Id, b: u32) -> Id {
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
    fn float(&mut self, i: usize) -> Id {
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
    fn widened(&mut self, i: usize) -> Id {
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

    /// The sum of source 2 and the products of four bytes. `None` for signs: the modifiers say.
    fn dot_bytes(&mut self, signs: Option<[bool; 2]>) -> Id {
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

    /// A number whose subnormal values are zero.
    fn flushed(&mut self, a: Id) -> Id {
        let size = self.with(V::And, a, 0x7f80_0000);
        let zero = self.literal(0);
        let tiny = self.op(V::Equal, size, zero);
        let sign = self.with(V::And, a, SIGN);
        self.select(tiny, sign, a)
    }

    fn reciprocal(&mut self) -> Id {
        let a = self.float(0);
        let (one, a) = (self.literal(1f32.to_bits()), self.flushed(a));
        let result = self.region.float(V::DivF32, [one, a, 0], 0);
        self.flushed(result)
    }

    fn root(&mut self) -> Id {
        let a = self.float(0);
        let a = self.flushed(a);
        self.region.float(V::SqrtF32, [a, 0, 0], 0)
    }

    /// How many of 32 lanes from a first one on are before each lane, added to source 1.
    fn lanes_before(&mut self, first: u32) -> Id {
        let (lanes, number) = (self.region.lane_numbers(), self.get(1));
        let (zero, most) = (self.literal(0), self.literal(32));
        let from = self.with(V::Sub, lanes, first);
        let from = self.op(V::MaxSigned, from, zero);
        let count = self.op(V::MinSigned, from, most);
        self.op(V::Add, count, number)
    }

    /// The low five bits of a source, for shifts.
    fn count(&mut self, i: usize) -> Id {
        let count = self.get(i);
        match self.region.constant(count) {
            Some(count) => self.literal(count & 31),
            None => self.with(V::And, count, 31),
        }
    }

    fn binary(&mut self, v: V) -> Id {
        let (a, b) = (self.get(0), self.get(1));
        self.op(v, a, b)
    }

    fn reversed(&mut self, v: V) -> Id {
        let (a, b) = (self.get(0), self.get(1));
        self.op(v, b, a)
    }

    /// Source `value` shifted by source `by`.
    fn shift(&mut self, v: V, value: usize, by: usize) -> Id {
        let (value, by) = (self.get(value), self.count(by));
        self.shifted(v, value, by)
    }

    fn shifted(&mut self, v: V, value: Id, by: Id) -> Id {
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
    fn chain(&mut self, first: V, second: V) -> Id {
        let (a, c) = (self.binary(first), self.get(2));
        self.op(second, a, c)
    }

    fn float_binary(&mut self, v: V, a: usize, b: usize) -> Id {
        let (a, b) = (self.float(a), self.float(b));
        self.region.float(v, [a, b, 0], 0)
    }

    fn fma(&mut self) -> Id {
        let sources = [self.float(0), self.float(1), self.float(2)];
        self.region.float(V::Fma, sources, 0)
    }

    fn round(&mut self, how: u8) -> Id {
        let a = self.float(0);
        self.region.float(V::Round, [a, 0, 0], how)
    }

    fn packed_binary(&mut self, v: V) -> [Id; 2] {
        [false, true].map(|high| {
            let (a, b) = (self.packed(0, high), self.packed(1, high));
            self.region.float(v, [a, b, 0], 0)
        })
    }

    fn packed_fma(&mut self) -> [Id; 2] {
        [false, true].map(|high| {
            let sources = [0, 1, 2].map(|i| self.packed(i, high));
            self.region.float(V::Fma, sources, 0)
        })
    }

    /// `zeros` makes the result of two zeros from both.
    fn minmax(&mut self, v: V, zeros: V) -> Id {
        let (a, b) = (self.float(0), self.float(1));
        self.region.check(a, b);
        let result = self.region.compares(v, [a, b, 0], 0);
        let equal = self.compare_f32(a, b, 0);
        let both = self.region.compares(zeros, [a, b, 0], 0);
        self.region.compares(V::Select, [equal, both, result], 0)
    }

    /// A function of three bits, by its truth table.
    fn bitwise(&mut self, table: u8) -> Id {
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

    fn product24(&mut self, signed: bool) -> Id {
        let [a, b] = [0, 1].map(|i| if signed { self.sign24(i) } else { self.unsigned24(i) });
        self.op(V::Mul, a, b)
    }

    /// The high halves of products.
    fn mul_high(&mut self, a: Id, b: Id, even: V) -> Id {
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

    fn shift_left(&mut self) -> [Id; 2] {
        let [low, high] = self.wide(1);
        let by = self.count(0);
        let up = self.shifted(V::Shl, low, by);
        let high = self.shifted(V::Shl, high, by);
        let across = self.across(low, by, V::Shr);
        let near = self.op(V::Or, high, across);
        let zero = self.literal(0);
        [self.if_far(zero, up), self.if_far(up, near)]
    }

    fn shift_right(&mut self, v: V) -> [Id; 2] {
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

    fn add_carry(&mut self) -> (Id, Id) {
        let (a, b) = (self.get(0), self.get(1));
        let sum = self.op(V::Add, a, b);
        (sum, self.above(a, sum))
    }

    fn sub_borrow(&mut self, first: usize, second: usize) -> (Id, Id) {
        let (a, b) = (self.get(first), self.get(second));
        (self.op(V::Sub, a, b), self.above(b, a))
    }

    fn add_with_carry(&mut self) -> (Id, Id) {
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

    fn sub_with_borrow(&mut self, first: usize, second: usize) -> (Id, Id) {
        let (difference, borrow) = self.sub_borrow(first, second);
        let mask = self.mask(2);
        let one = self.ones(mask);
        let result = self.op(V::Sub, difference, one);
        let again = self.above(result, difference);
        (result, self.op(V::EitherMask, borrow, again))
    }

    fn mad_wide(&mut self) -> ([Id; 2], Id) {
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

    fn signed_of_float(&mut self) -> Id {
        let a = self.float(0);
        let raw = self.region.compares(V::SignedOfF32, [a, 0, 0], 0);
        let (zero, most) = (self.literal(0), self.literal(0x7fff_ffff));
        let nan = self.compare_f32(a, a, UNORDERED);
        let number = self.select(nan, zero, raw);
        let limit = self.literal(TWO_31);
        let large = self.compare_f32(a, limit, GREATER_OR_EQUAL);
        self.select(large, most, number)
    }

    fn unsigned_of_float(&mut self) -> Id {
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

    fn float_of_unsigned(&mut self) -> Id {
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
    fn float_of_byte(&mut self, number: u8) -> Id {
        let a = self.get(0);
        let a = if number == 0 { a } else { self.op_imm(V::ShrImm, a, 8 * number) };
        let byte = if number == 3 { a } else { self.with(V::And, a, 0xff) };
        self.op(V::F32OfSigned, byte, 0)
    }

    fn bfe(&mut self, v: V) -> Id {
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

    fn align_bit(&mut self) -> Id {
        let (high, low) = (self.get(0), self.get(1));
        let by = self.count(2);
        let low = self.shifted(V::Shr, low, by);
        let across = self.across(high, by, V::Shl);
        self.op(V::Or, low, across)
    }

    /// Source 1 where the mask is set, otherwise source 0.
    fn conditional(&mut self) -> Id {
        let (no, yes) = (self.float(0), self.float(1));
        let mask = self.mask(2);
        self.select(mask, yes, no)
    }

    fn compare_f32(&mut self, a: Id, b: Id, predicate: u8) -> Id {
        self.region.compares(V::CompareF32, [a, b, 0], predicate)
    }

    fn compare_floats(&mut self, predicate: u8) -> Id {
        let (a, b) = (self.float(0), self.float(1));
        self.compare_f32(a, b, predicate)
    }

    /// Whether source `a` is greater than source `b`.
    fn greater(&mut self, a: usize, b: usize, signed: bool) -> Id {
        let (a, b) = (self.get(a), self.get(b));
        if signed { self.op(V::GreaterSigned, a, b) } else { self.above(a, b) }
    }

    /// Whether 64-bit source `a` is greater than source `b`.
    fn greater_wide(&mut self, a: usize, b: usize, signed: bool) -> Id {
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
    fn equal_wide(&mut self) -> Id {
        let ([low_a, high_a], [low_b, high_b]) = (self.wide(0), self.wide(1));
        let (low, high) = (self.op(V::Equal, low_a, low_b), self.op(V::Equal, high_a, high_b));
        self.op(V::BothMasks, low, high)
    }

    fn median(&mut self, min: V, max: V) -> Id {
        let [a, b, c] = [0, 1, 2].map(|i| self.get(i));
        let low = self.op(min, a, b);
        let high = self.op(max, a, b);
        let high = self.op(min, high, c);
        self.op(max, low, high)
    }
}

/// Truth tables of [`Build::bitwise`].
const OR3: u8 = 0xfe;
const XOR3: u8 = 0x96;
const CHOOSE: u8 = 0xca;
/// Predicates of comparisons of f32.
const UNORDERED: u8 = 3;
const GREATER_OR_EQUAL: u8 = 0x1d;
/// Powers of two as f32.
const TWO_31: u32 = 0x4f00_0000;
const TWO_32: u32 = 0x4f80_0000;

/// Rows: operations, form, sources, and the source that is a mask.
macro_rules! table {
    ($($($op:ident)|+ => $form:ident |$b:ident| $body:expr, $operands:ident $sources:literal $(, mask $mask:literal)?;)*) => {
        fn find(op: Op) -> Option<Entry> {
            Some(match op {
                $($(Op::$op)|+ => Entry {
                    form: Form::$form(|$b| $body),
                    operands: Operands::$operands,
                    sources: $sources,
                    mask: { let mask: Option<u8> = None; $(let mask = { let _ = mask; Some($mask) };)? mask },
                },)*
                _ => return None,
            })
        }
    };
}

#[rustfmt::skip]
table! {
    VMovB32 | VAccvgprReadB32 | VAccvgprWriteB32 | VAccvgprMovB32 => One |b| b.float(0), Numbers 1;
    VCndmaskB32 => One |b| b.conditional(), Numbers 2, mask 2;
    VNotB32 => One |b| { let a = b.get(0); b.with(V::Xor, a, u32::MAX) }, Numbers 1;
    VAndB32 => One |b| b.binary(V::And), Numbers 2;
    VOrB32 => One |b| b.binary(V::Or), Numbers 2;
    VXorB32 => One |b| b.binary(V::Xor), Numbers 2;
    VXnorB32 => One |b| { let a = b.binary(V::Xor); b.with(V::Xor, a, u32::MAX) }, Numbers 2;
    VLshlrevB32 => One |b| b.shift(V::Shl, 1, 0), Numbers 2;
    VLshrrevB32 => One |b| b.shift(V::Shr, 1, 0), Numbers 2;
    VAshrrevI32 => One |b| b.shift(V::Sar, 1, 0), Numbers 2;
    VLshlrevB64 => Two |b| b.shift_left(), Numbers 2;
    VLshrrevB64 => Two |b| b.shift_right(V::Shr), Numbers 2;
    VAshrrevI64 => Two |b| b.shift_right(V::Sar), Numbers 2;
    VAddNcU32 | VAddNcI32 => One |b| b.binary(V::Add), Numbers 2;
    VSubNcU32 | VSubNcI32 => One |b| b.binary(V::Sub), Numbers 2;
    VSubrevNcU32 => One |b| b.reversed(V::Sub), Numbers 2;
    VAddCoU32 => Carry |b| b.add_carry(), Numbers 2;
    VSubCoU32 => Carry |b| b.sub_borrow(0, 1), Numbers 2;
    VSubrevCoU32 => Carry |b| b.sub_borrow(1, 0), Numbers 2;
    VAddCoCiU32 => Carry |b| b.add_with_carry(), Numbers 2, mask 2;
    VSubCoCiU32 => Carry |b| b.sub_with_borrow(0, 1), Numbers 2, mask 2;
    VSubrevCoCiU32 => Carry |b| b.sub_with_borrow(1, 0), Numbers 2, mask 2;
    VMinU32 => One |b| b.binary(V::MinUnsigned), Numbers 2;
    VMaxU32 => One |b| b.binary(V::MaxUnsigned), Numbers 2;
    VMinI32 => One |b| b.binary(V::MinSigned), Numbers 2;
    VMaxI32 => One |b| b.binary(V::MaxSigned), Numbers 2;
    VMin3U32 => One |b| b.chain(V::MinUnsigned, V::MinUnsigned), Numbers 3;
    VMax3U32 => One |b| b.chain(V::MaxUnsigned, V::MaxUnsigned), Numbers 3;
    VMin3I32 => One |b| b.chain(V::MinSigned, V::MinSigned), Numbers 3;
    VMax3I32 => One |b| b.chain(V::MaxSigned, V::MaxSigned), Numbers 3;
    VMed3U32 => One |b| b.median(V::MinUnsigned, V::MaxUnsigned), Numbers 3;
    VMed3I32 => One |b| b.median(V::MinSigned, V::MaxSigned), Numbers 3;
    VMulLoU32 => One |b| b.binary(V::Mul), Numbers 2;
    VMulHiU32 => One |b| { let (x, y) = (b.get(0), b.get(1)); b.mul_high(x, y, V::MulEven) }, Numbers 2;
    VMulHiI32 => One |b| { let (x, y) = (b.get(0), b.get(1)); b.mul_high(x, y, V::MulEvenSigned) }, Numbers 2;
    VMulU32U24 => One |b| b.product24(false), Numbers 2;
    VMulI32I24 => One |b| b.product24(true), Numbers 2;
    VMadU32U24 => One |b| { let (product, c) = (b.product24(false), b.get(2)); b.op(V::Add, product, c) }, Numbers 3;
    VMadI32I24 => One |b| { let (product, c) = (b.product24(true), b.get(2)); b.op(V::Add, product, c) }, Numbers 3;
    VMadU64U32 => WideCarry |b| b.mad_wide(), Numbers 3;
    VAdd3U32 => One |b| b.chain(V::Add, V::Add), Numbers 3;
    VAddLshlU32 => One |b| { let (a, by) = (b.binary(V::Add), b.count(2)); b.shifted(V::Shl, a, by) }, Numbers 3;
    VLshlAddU32 => One |b| { let (a, c) = (b.shift(V::Shl, 0, 1), b.get(2)); b.op(V::Add, a, c) }, Numbers 3;
    VLshlOrB32 => One |b| { let (a, c) = (b.shift(V::Shl, 0, 1), b.get(2)); b.op(V::Or, a, c) }, Numbers 3;
    VAndOrB32 => One |b| b.chain(V::And, V::Or), Numbers 3;
    VOr3B32 => One |b| b.bitwise(OR3), Numbers 3;
    VXor3B32 => One |b| b.bitwise(XOR3), Numbers 3;
    VBfiB32 => One |b| b.bitwise(CHOOSE), Numbers 3;
    VXadU32 => One |b| b.chain(V::Xor, V::Add), Numbers 3;
    VBfeU32 => One |b| b.bfe(V::Shr), Numbers 3;
    VBfeI32 => One |b| b.bfe(V::Sar), Numbers 3;
    VAlignbitB32 => One |b| b.align_bit(), Numbers 3;
    VAddF32 => One |b| b.float_binary(V::AddF32, 0, 1), Numbers 2;
    VSubF32 => One |b| b.float_binary(V::SubF32, 0, 1), Numbers 2;
    VSubrevF32 => One |b| b.float_binary(V::SubF32, 1, 0), Numbers 2;
    VMulF32 => One |b| b.float_binary(V::MulF32, 0, 1), Numbers 2;
    VFmaF32 | VFmacF32 | VFmamkF32 | VFmaakF32 => One |b| b.fma(), Numbers 3;
    VRcpF32 | VRcpIflagF32 => One |b| b.reciprocal(), Numbers 1;
    VSqrtF32 => One |b| b.root(), Numbers 1;
    VMbcntLoU32B32 => One |b| b.lanes_before(0), AllLanes 2;
    VMbcntHiU32B32 => One |b| b.lanes_before(32), AllLanes 2;
    VCvtF32F16 => One |b| b.widened(0), Numbers 1;
    VFmaMixF32 => One |b| { let sources = [0, 1, 2].map(|i| b.mixed(i)); b.region.float(V::Fma, sources, 0) }, Mixed 3;
    VDot4I32I8 | VDot4cI32I8 => One |b| b.dot_bytes(Some([true; 2])), Numbers 3;
    VDot4U32U8 => One |b| b.dot_bytes(Some([false; 2])), Numbers 3;
    VDot4I32Iu8 => One |b| b.dot_bytes(None), Numbers 3;
    VPkAddF32 => Two |b| b.packed_binary(V::AddF32), Packed 2;
    VPkMulF32 => Two |b| b.packed_binary(V::MulF32), Packed 2;
    VPkFmaF32 => Two |b| b.packed_fma(), Packed 3;
    VMinF32 => One |b| b.minmax(V::MinF32, V::Or), Numbers 2;
    VMaxF32 => One |b| b.minmax(V::MaxF32, V::And), Numbers 2;
    VFloorF32 => One |b| b.round(9), Numbers 1;
    VCeilF32 => One |b| b.round(10), Numbers 1;
    VTruncF32 => One |b| b.round(11), Numbers 1;
    VRndneF32 => One |b| b.round(8), Numbers 1;
    VCvtF32I32 => One |b| { let a = b.get(0); b.op(V::F32OfSigned, a, 0) }, Numbers 1;
    VCvtF32U32 => One |b| b.float_of_unsigned(), Numbers 1;
    VCvtF32Ubyte0 => One |b| b.float_of_byte(0), Numbers 1;
    VCvtF32Ubyte1 => One |b| b.float_of_byte(1), Numbers 1;
    VCvtF32Ubyte2 => One |b| b.float_of_byte(2), Numbers 1;
    VCvtF32Ubyte3 => One |b| b.float_of_byte(3), Numbers 1;
    VCvtI32F32 => One |b| b.signed_of_float(), Numbers 1;
    VCvtU32F32 => One |b| b.unsigned_of_float(), Numbers 1;
    VCmpLtF32 | VCmpxLtF32 | VCmpNltF32 | VCmpxNltF32 => Mask |b| b.compare_floats(0x11), Numbers 2;
    VCmpEqF32 | VCmpxEqF32 | VCmpNeqF32 | VCmpxNeqF32 => Mask |b| b.compare_floats(0x00), Numbers 2;
    VCmpLeF32 | VCmpxLeF32 | VCmpNleF32 | VCmpxNleF32 => Mask |b| b.compare_floats(0x12), Numbers 2;
    VCmpGtF32 | VCmpxGtF32 | VCmpNgtF32 | VCmpxNgtF32 => Mask |b| b.compare_floats(0x1e), Numbers 2;
    VCmpLgF32 | VCmpxLgF32 | VCmpNlgF32 | VCmpxNlgF32 => Mask |b| b.compare_floats(0x0c), Numbers 2;
    VCmpGeF32 | VCmpxGeF32 | VCmpNgeF32 | VCmpxNgeF32 => Mask |b| b.compare_floats(0x1d), Numbers 2;
    VCmpUF32 | VCmpxUF32 | VCmpOF32 | VCmpxOF32 => Mask |b| b.compare_floats(UNORDERED), Numbers 2;
    VCmpLtI32 | VCmpxLtI32 | VCmpGeI32 | VCmpxGeI32 => Mask |b| b.greater(1, 0, true), Numbers 2;
    VCmpGtI32 | VCmpxGtI32 | VCmpLeI32 | VCmpxLeI32 => Mask |b| b.greater(0, 1, true), Numbers 2;
    VCmpLtU32 | VCmpxLtU32 | VCmpGeU32 | VCmpxGeU32 => Mask |b| b.greater(1, 0, false), Numbers 2;
    VCmpGtU32 | VCmpxGtU32 | VCmpLeU32 | VCmpxLeU32 => Mask |b| b.greater(0, 1, false), Numbers 2;
    VCmpEqI32 | VCmpxEqI32 | VCmpEqU32 | VCmpxEqU32 | VCmpNeI32 | VCmpxNeI32 | VCmpNeU32 | VCmpxNeU32
        => Mask |b| b.binary(V::Equal), Numbers 2;
    VCmpLtI64 | VCmpxLtI64 | VCmpGeI64 | VCmpxGeI64 => Mask |b| b.greater_wide(1, 0, true), Numbers 2;
    VCmpGtI64 | VCmpxGtI64 | VCmpLeI64 | VCmpxLeI64 => Mask |b| b.greater_wide(0, 1, true), Numbers 2;
    VCmpLtU64 | VCmpxLtU64 | VCmpGeU64 | VCmpxGeU64 => Mask |b| b.greater_wide(1, 0, false), Numbers 2;
    VCmpGtU64 | VCmpxGtU64 | VCmpLeU64 | VCmpxLeU64 => Mask |b| b.greater_wide(0, 1, false), Numbers 2;
    VCmpEqI64 | VCmpxEqI64 | VCmpEqU64 | VCmpxEqU64 | VCmpNeI64 | VCmpxNeI64 | VCmpNeU64 | VCmpxNeU64
        => Mask |b| b.equal_wide(), Numbers 2;
}
