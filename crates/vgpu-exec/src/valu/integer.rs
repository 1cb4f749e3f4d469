//! Integer operations of 32 and 64 bits.

use super::lanewise::{Cx, MaskTo, Op, ops};
use super::operand::{B, Four, I16, W16, Wide};
use super::select::table;
use crate::simd::{D, Mask, Simd, U};

/// All ones in the lanes of the mask, zero elsewhere.
#[inline(always)]
fn ones<S: Simd>(mask: Mask<S>) -> U<S> {
    mask.select(U::splat(u32::MAX), U::splat(0))
}

/// One in the lanes of the mask, zero elsewhere.
#[inline(always)]
fn one<S: Simd>(mask: Mask<S>) -> U<S> {
    mask.select(U::splat(1), U::splat(0))
}

/// `a + b`, saturating on request.
#[inline(always)]
fn add_unsigned<S: Simd>(cx: &Cx, a: U<S>, b: U<S>) -> U<S> {
    let sum = a + b;
    if cx.clamp { sum | ones(sum.less(a)) } else { sum }
}

#[inline(always)]
fn sub_unsigned<S: Simd>(cx: &Cx, a: U<S>, b: U<S>) -> U<S> {
    let difference = a - b;
    if cx.clamp { a.less(b).select(U::splat(0), difference) } else { difference }
}

#[inline(always)]
fn add_signed<S: Simd>(cx: &Cx, a: U<S>, b: U<S>) -> U<S> {
    if cx.clamp { a.map2(b, |a, b| (a as i32).saturating_add(b as i32) as u32) } else { a + b }
}

#[inline(always)]
fn sub_signed<S: Simd>(cx: &Cx, a: U<S>, b: U<S>) -> U<S> {
    if cx.clamp { a.map2(b, |a, b| (a as i32).saturating_sub(b as i32) as u32) } else { a - b }
}

/// Shifts 64 bits, in 32-bit lanes, by the last six bits of a count.
#[inline(always)]
fn shift_left<S: Simd>(count: U<S>, Wide(low, high): Wide<S>) -> Wide<S> {
    let by = count & 31;
    let up = low << by;
    // Shifts by 32 - `by`, which may be 32.
    let across = low >> 1 >> (by ^ 31);
    let far = (count & 32).equal(U::splat(32));
    Wide(far.select(U::splat(0), up), far.select(up, high << by | across))
}

/// The median of three.
#[inline(always)]
fn median<S: Simd>(
    a: U<S>,
    b: U<S>,
    c: U<S>,
    min: fn(U<S>, U<S>) -> U<S>,
    max: fn(U<S>, U<S>) -> U<S>,
) -> U<S> {
    max(min(a, b), min(max(a, b), c))
}

fn bytes(value: u32) -> [u32; 4] {
    crate::rows::map(value.to_le_bytes(), u32::from)
}

fn sad(a: u32, b: u32) -> u32 {
    let (a, b) = (bytes(a), bytes(b));
    a[0].abs_diff(b[0]) + a[1].abs_diff(b[1]) + a[2].abs_diff(b[2]) + a[3].abs_diff(b[3])
}

/// The sum of absolute differences over bytes with a nonzero reference byte.
fn masked_sad(a: u32, reference: u32) -> u32 {
    let (a, b) = (bytes(a), bytes(reference));
    let mut sum = 0;
    for i in 0..4 {
        sum += if b[i] == 0 { 0 } else { a[i].abs_diff(b[i]) };
    }
    sum
}

/// Four sums over bytes `i..i + 4` of `a`, added to the words of `c`.
fn quad(clamp: bool, a: u64, b: u32, c: u64, sum: fn(u32, u32) -> u32) -> u64 {
    (0..4).fold(0, |all, i| {
        let word = (c >> (16 * i)) as u16;
        let part = sum((a >> (8 * i)) as u32, b) as u16;
        let total = if clamp { word.saturating_add(part) } else { word.wrapping_add(part) };
        all | u64::from(total) << (16 * i)
    })
}

/// Bytes of `a` (4..=7) and `b` (0..=3), signs and constants, as selected by the bytes of `selectors`.
#[inline(always)]
fn permute_bytes(a: u32, b: u32, selectors: u32) -> u32 {
    let data = u64::from(a) << 32 | u64::from(b);
    let mut result = 0;
    for i in 0..4 {
        let selector = selectors >> (8 * i) & 0xff;
        let byte = (data >> (8 * (selector & 7))) as u32 & 0xff;
        let sign = ((data >> (16 * (selector & 3) + 15)) as u32 & 1) * 0xff;
        let value = if selector < 8 {
            byte
        } else if selector < 12 {
            sign
        } else if selector == 12 {
            0
        } else {
            0xff
        };
        result |= value << (8 * i);
    }
    result
}

/// The mean of each pair of bytes, rounded up if the byte of `round` is odd.
fn lerp(a: u32, b: u32, round: u32) -> u32 {
    let (a, b, round) = (bytes(a), bytes(b), bytes(round));
    (0..4).fold(0, |all, i| all | ((a[i] + b[i] + (round[i] & 1)) >> 1) << (8 * i))
}

fn clamp_to(value: i64, least: i64, most: i64) -> u32 {
    value.clamp(least, most) as u32
}

/// The number of set bits in `a` below each lane, counting lanes from `first` on.
#[inline(always)]
fn count_below<S: Simd>(cx: &Cx, a: U<S>, b: U<S>, first: u32) -> U<S> {
    if cx.lane < first {
        return b;
    }
    if cx.lane >= first + 32 {
        return a.count_ones() + b;
    }
    let lanes = U::lanes() + (cx.lane - first);
    let below = (U::splat(1) << lanes) - 1;
    (a & below).count_ones() + b
}

/// The truth table applied to each bit: the result is its bit `4 a + 2 b + c`.
#[inline(always)]
fn by_table<S: Simd>(cx: &Cx, a: U<S>, b: U<S>, c: U<S>) -> U<S> {
    let mut result = U::splat(0);
    for i in 0..8 {
        let on = |place: u32, value: U<S>| if i >> place & 1 != 0 { value } else { !value };
        if cx.table >> i & 1 != 0 {
            result = result | (on(2, a) & on(1, b) & on(0, c));
        }
    }
    result
}

/// Both numbers shifted right, as bytes.
#[inline(always)]
fn shifted_bytes<S: Simd>(a: U<S>, b: U<S>, count: U<S>, least: i32, most: i32) -> U<S> {
    let byte =
        |value: U<S>| value.sar(count & 31).imax(U::splat(least as u32)).imin(U::splat(most as u32)) & 0xff;
    byte(a) | byte(b) << 8
}

ops! {
    MovB32 [MODS] (_cx; a: B) -> U<S> { a.0 }
    MovB64 (_cx; a: D) -> D<S> { a }
    CndmaskB32 [MODS] (_cx; a: B, b: B, m: Mask) -> U<S> { m.select(b.0, a.0) }
    NotB32 (_cx; a: U) -> U<S> { !a }
    BfrevB32 (_cx; a: U) -> U<S> { a.map(u32::reverse_bits) }
    ClzI32U32 (_cx; a: U) -> U<S> {{
        let n = a.leading_zeros();
        n | ones(n.equal(U::splat(32)))
    }}
    CtzI32B32 (_cx; a: U) -> U<S> { U::splat(31) - (a & (U::splat(0) - a)).leading_zeros() }
    ClsI32 (_cx; a: U) -> U<S> {{
        let n = (a ^ a.sar(U::splat(31))).leading_zeros();
        n | ones(n.equal(U::splat(32)))
    }}
    BcntU32B32 (_cx; a: U, b: U) -> U<S> { a.count_ones() + b }
    BfmB32 (_cx; a: U, b: U) -> U<S> { ((U::splat(1) << (a & 31)) - 1) << (b & 31) }
    MbcntLoU32B32 (cx; a: U, b: U) -> U<S> { count_below(cx, a, b, 0) }
    MbcntHiU32B32 (cx; a: U, b: U) -> U<S> { count_below(cx, a, b, 32) }
    AddNcU32 [MODS] (cx; a: U, b: U) -> U<S> { add_unsigned(cx, a, b) }
    SubNcU32 [MODS] (cx; a: U, b: U) -> U<S> { sub_unsigned(cx, a, b) }
    SubrevNcU32 [MODS] (cx; a: U, b: U) -> U<S> { sub_unsigned(cx, b, a) }
    AddNcI32 [MODS] (cx; a: U, b: U) -> U<S> { add_signed(cx, a, b) }
    SubNcI32 [MODS] (cx; a: U, b: U) -> U<S> { sub_signed(cx, a, b) }
    AddCoU32 [MODS, MASK = MaskTo::Second] (cx; a: U, b: U) -> (U<S>, Mask<S>) {{
        let carry = (a + b).less(a);
        (add_unsigned(cx, a, b), carry)
    }}
    SubCoU32 [MODS, MASK = MaskTo::Second] (cx; a: U, b: U) -> (U<S>, Mask<S>) { (sub_unsigned(cx, a, b), a.less(b)) }
    SubrevCoU32 [MODS, MASK = MaskTo::Second] (cx; a: U, b: U) -> (U<S>, Mask<S>) { (sub_unsigned(cx, b, a), b.less(a)) }
    AddCoCiU32 [MODS, MASK = MaskTo::Second] (cx; a: U, b: U, m: Mask) -> (U<S>, Mask<S>) {{
        let first = a + b;
        let sum = first + one(m);
        let carry = first.less(a) | sum.less(first);
        (if cx.clamp { sum | ones(carry) } else { sum }, carry)
    }}
    SubCoCiU32 [MODS, MASK = MaskTo::Second] (cx; a: U, b: U, m: Mask) -> (U<S>, Mask<S>) { borrow(cx, a, b, m) }
    SubrevCoCiU32 [MODS, MASK = MaskTo::Second] (cx; a: U, b: U, m: Mask) -> (U<S>, Mask<S>) { borrow(cx, b, a, m) }
    AndB32 (_cx; a: U, b: U) -> U<S> { a & b }
    OrB32 (_cx; a: U, b: U) -> U<S> { a | b }
    XorB32 (_cx; a: U, b: U) -> U<S> { a ^ b }
    XnorB32 (_cx; a: U, b: U) -> U<S> { !(a ^ b) }
    LshlrevB32 (_cx; a: U, b: U) -> U<S> { b << (a & 31) }
    LshrrevB32 (_cx; a: U, b: U) -> U<S> { b >> (a & 31) }
    AshrrevI32 (_cx; a: U, b: U) -> U<S> { b.sar(a & 31) }
    LshlrevB64 (_cx; a: U, b: Wide) -> Wide<S> { shift_left(a, b) }
    LshrrevB64 (_cx; a: U, b: D) -> D<S> { b >> (a & 63).extend() }
    AshrrevI64 (_cx; a: U, b: D) -> D<S> { b.sar((a & 63).extend()) }
    LshlAddU64 (_cx; a: D, b: U, c: D) -> D<S> { (a << (b & 7).extend()) + c }
    MinU32 (_cx; a: U, b: U) -> U<S> { a.umin(b) }
    MaxU32 (_cx; a: U, b: U) -> U<S> { a.umax(b) }
    MinI32 (_cx; a: U, b: U) -> U<S> { a.imin(b) }
    MaxI32 (_cx; a: U, b: U) -> U<S> { a.imax(b) }
    Min3U32 (_cx; a: U, b: U, c: U) -> U<S> { a.umin(b).umin(c) }
    Max3U32 (_cx; a: U, b: U, c: U) -> U<S> { a.umax(b).umax(c) }
    Min3I32 (_cx; a: U, b: U, c: U) -> U<S> { a.imin(b).imin(c) }
    Max3I32 (_cx; a: U, b: U, c: U) -> U<S> { a.imax(b).imax(c) }
    Med3U32 (_cx; a: U, b: U, c: U) -> U<S> { median(a, b, c, U::umin, U::umax) }
    Med3I32 (_cx; a: U, b: U, c: U) -> U<S> { median(a, b, c, U::imin, U::imax) }
    MaxminU32 (_cx; a: U, b: U, c: U) -> U<S> { a.umax(b).umin(c) }
    MinmaxU32 (_cx; a: U, b: U, c: U) -> U<S> { a.umin(b).umax(c) }
    MaxminI32 (_cx; a: U, b: U, c: U) -> U<S> { a.imax(b).imin(c) }
    MinmaxI32 (_cx; a: U, b: U, c: U) -> U<S> { a.imin(b).imax(c) }
    MulLoU32 (_cx; a: U, b: U) -> U<S> { a * b }
    MulHiU32 (_cx; a: U, b: U) -> U<S> { a.mul_high(b) }
    MulHiI32 (_cx; a: U, b: U) -> U<S> { a.mul_high_signed(b) }
    MulU32U24 [MODS] (cx; a: U, b: U) -> U<S> {{
        let (a, b) = (a & 0xff_ffff, b & 0xff_ffff);
        if cx.clamp { a.map2(b, |a, b| clamp_to(i64::from(a) * i64::from(b), 0, 0xffff_ffff)) } else { a * b }
    }}
    MulHiU32U24 (_cx; a: U, b: U) -> U<S> { (a & 0xff_ffff).mul_high(b & 0xff_ffff) }
    MulI32I24 [MODS] (cx; a: U, b: U) -> U<S> {{
        let (a, b) = (a.sign24(), b.sign24());
        if cx.clamp { a.map2(b, |a, b| (a as i32).saturating_mul(b as i32) as u32) } else { a * b }
    }}
    MulHiI32I24 (_cx; a: U, b: U) -> U<S> { a.sign24().mul_high_signed(b.sign24()) }
    MadU32U24 [MODS] (cx; a: U, b: U, c: U) -> U<S> {{
        let (a, b) = (a & 0xff_ffff, b & 0xff_ffff);
        if cx.clamp {
            a.map3(b, c, |a, b, c| clamp_to(i64::from(a) * i64::from(b) + i64::from(c), 0, 0xffff_ffff))
        } else {
            a * b + c
        }
    }}
    MadI32I24 [MODS] (cx; a: U, b: U, c: U) -> U<S> {{
        let (a, b) = (a.sign24(), b.sign24());
        if cx.clamp {
            a.map3(b, c, |a, b, c| {
                let sum = i64::from(a as i32) * i64::from(b as i32) + i64::from(c as i32);
                clamp_to(sum, i64::from(i32::MIN), i64::from(i32::MAX))
            })
        } else {
            a * b + c
        }
    }}
    MadU32U16 [MODS] (cx; a: W16, b: W16, c: U) -> U<S> { add_unsigned(cx, a.0 * b.0, c) }
    MadI32I16 [MODS] (cx; a: I16, b: I16, c: U) -> U<S> { add_signed(cx, a.0 * b.0, c) }
    MadU64U32 [MODS, MASK = MaskTo::Second] (cx; a: U, b: U, c: D) -> (D<S>, Mask<S>) {{
        let sum = a.mul_wide(b) + c;
        let over = sum.less(c);
        (if cx.clamp { over.select_u64(D::splat(u64::MAX), sum) } else { sum }, over)
    }}
    MadI64I32 [MODS, MASK = MaskTo::Second] (cx; a: U, b: U, c: D) -> (D<S>, Mask<S>) {{
        let product = a.mul_wide_signed(b);
        let sum = product + c;
        // The sign of the exact sum. It equals the sign of the wrapped sum unless both addends have the
        // opposite sign.
        let zero = D::splat(0);
        let (p, q, r) = (product.less_signed(zero), c.less_signed(zero), sum.less_signed(zero));
        let negative = (p & q) | ((p | q) & r);
        let limit = negative.select_u64(D::splat(1 << 63), D::splat(u64::MAX >> 1));
        let wrapped = (negative & !r) | (!negative & r);
        (if cx.clamp { wrapped.select_u64(limit, sum) } else { sum }, negative)
    }}
    Add3U32 (_cx; a: U, b: U, c: U) -> U<S> { a + b + c }
    AddLshlU32 (_cx; a: U, b: U, c: U) -> U<S> { (a + b) << (c & 31) }
    LshlAddU32 (_cx; a: U, b: U, c: U) -> U<S> { (a << (b & 31)) + c }
    LshlOrB32 (_cx; a: U, b: U, c: U) -> U<S> { (a << (b & 31)) | c }
    AndOrB32 (_cx; a: U, b: U, c: U) -> U<S> { (a & b) | c }
    Or3B32 (_cx; a: U, b: U, c: U) -> U<S> { a | b | c }
    Xor3B32 (_cx; a: U, b: U, c: U) -> U<S> { a ^ b ^ c }
    Bitop3B32 [LONG] (cx; a: U, b: U, c: U) -> U<S> { by_table(cx, a, b, c) }
    Bitop3B16 [LONG, MODS] (cx; a: W16, b: W16, c: W16) -> W16<S> { W16(by_table(cx, a.0, b.0, c.0) & 0xffff) }
    PrngB32 (_cx; a: U) -> U<S> { a << 1 ^ (a.sar(U::splat(31)) & 0xc5) }
    AshrPkI8 [MODS] (_cx; a: U, b: U, c: U) -> W16<S> { W16(shifted_bytes(a, b, c, -128, 127)) }
    AshrPkU8 [MODS] (_cx; a: U, b: U, c: U) -> W16<S> { W16(shifted_bytes(a, b, c, 0, 255)) }
    XadU32 (_cx; a: U, b: U, c: U) -> U<S> { (a ^ b) + c }
    BfeU32 (_cx; a: U, b: U, c: U) -> U<S> { (a >> (b & 31)) & ((U::splat(1) << (c & 31)) - 1) }
    BfeI32 (_cx; a: U, b: U, c: U) -> U<S> {{
        let width = c & 31;
        let field = a.sar(b & 31) & ((U::splat(1) << width) - 1);
        // The sign bit; for width 0 it is above the field, which is zero.
        let sign = U::splat(1) << ((width - 1) & 31);
        let value = (field ^ sign) - sign;
        width.equal(U::splat(0)).select(U::splat(0), value)
    }}
    BfiB32 (_cx; a: U, b: U, c: U) -> U<S> { (a & b) | (!a & c) }
    AlignbitB32 [MODS] (_cx; a: U, b: U, c: W16) -> U<S> {{
        let count = c.0 & 31;
        // The upper word moves left by 32 - count in two steps, because a shift by 32 does not exist.
        (b >> count) | (a << 1) << (count ^ 31)
    }}
    AlignbyteB32 [MODS] (_cx; a: U, b: U, c: W16) -> U<S> {{
        let count = (c.0 & 3) << 3;
        (b >> count) | (a << 1) << (count ^ 31)
    }}
    PermB32 [LONG] (_cx; a: U, b: U, c: U) -> U<S> { a.map3(b, c, permute_bytes) }
    LerpU8 (_cx; a: U, b: U, c: U) -> U<S> { a.map3(b, c, lerp) }
    SadU8 [MODS] (cx; a: U, b: U, c: U) -> U<S> { add_unsigned(cx, a.map2(b, sad), c) }
    SadHiU8 [MODS] (cx; a: U, b: U, c: U) -> U<S> { add_unsigned(cx, a.map2(b, sad) << 16, c) }
    SadU16 [LONG, MODS] (cx; a: U, b: U, c: U) -> U<S> {{
        let sum = a.map2(b, |a, b| (a & 0xffff).abs_diff(b & 0xffff) + (a >> 16).abs_diff(b >> 16));
        add_unsigned(cx, sum, c)
    }}
    SadU32 [MODS] (cx; a: U, b: U, c: U) -> U<S> { add_unsigned(cx, a.umax(b) - a.umin(b), c) }
    MsadU8 [MODS] (cx; a: U, b: U, c: U) -> U<S> { add_unsigned(cx, a.map2(b, masked_sad), c) }
    QsadPkU16U8 [LONG, MODS] (cx; a: D, b: U, c: D) -> D<S> { quads(cx, a, b, c, sad) }
    MqsadPkU16U8 [LONG, MODS] (cx; a: D, b: U, c: D) -> D<S> { quads(cx, a, b, c, masked_sad) }
    MqsadU32U8 [MODS] (cx; a: D, b: U, c: Four) -> [U<S>; 4] {{
        let a = a.array();
        let mut sums = c.0;
        for (i, sum) in sums.iter_mut().enumerate() {
            let part = U::from_array(crate::rows::map(a, |a| (a >> (8 * i)) as u32));
            *sum = add_unsigned(cx, part.map2(b, masked_sad), *sum);
        }
        sums
    }}
    CvtPkI16I32 (_cx; a: U, b: U) -> U<S> {{
        signed_word(a) | signed_word(b) << 16
    }}
    CvtPkU16U32 (_cx; a: U, b: U) -> U<S> { a.umin(U::splat(0xffff)) | b.umin(U::splat(0xffff)) << 16 }
    CvtI32I16 [MODS] (_cx; a: I16) -> U<S> { a.0 }
    CvtU32U16 [MODS] (_cx; a: W16) -> U<S> { a.0 }
    SatPkU8I16 [MODS] (_cx; a: U) -> W16<S> {{
        W16(unsigned_byte(a) | unsigned_byte(a >> 16) << 8)
    }}
}

/// Clamps to the range of a signed word.
#[inline(always)]
fn signed_word<S: Simd>(a: U<S>) -> U<S> {
    a.imax(U::splat(-0x8000i32 as u32)).imin(U::splat(0x7fff)) & 0xffff
}

/// Clamps a signed word to the range of an unsigned byte.
#[inline(always)]
fn unsigned_byte<S: Simd>(a: U<S>) -> U<S> {
    a.sign16().imax(U::splat(0)).imin(U::splat(255))
}

/// Subtraction with borrow.
#[inline(always)]
fn borrow<S: Simd>(cx: &Cx, a: U<S>, b: U<S>, m: Mask<S>) -> (U<S>, Mask<S>) {
    let first = a - b;
    let taken = one(m);
    let difference = first - taken;
    let borrowed = a.less(b) | first.less(taken);
    (if cx.clamp { borrowed.select(U::splat(0), difference) } else { difference }, borrowed)
}

#[inline(always)]
fn quads<S: Simd>(cx: &Cx, a: D<S>, b: U<S>, c: D<S>, sum: fn(u32, u32) -> u32) -> D<S> {
    let (a, b, c) = (a.array(), b.array(), c.array());
    D::from_array(crate::rows::from_fn(|i| quad(cx.clamp, a[i], b[i], c[i], sum)))
}

table! {
    VMovB32 | VAccvgprReadB32 | VAccvgprWriteB32 | VAccvgprMovB32 => MovB32,
    VMovB64 => MovB64,
    VCndmaskB32 => CndmaskB32,
    VNotB32 => NotB32,
    VBfrevB32 => BfrevB32,
    VClzI32U32 => ClzI32U32,
    VCtzI32B32 => CtzI32B32,
    VClsI32 => ClsI32,
    VBcntU32B32 => BcntU32B32,
    VBfmB32 => BfmB32,
    VMbcntLoU32B32 => MbcntLoU32B32,
    VMbcntHiU32B32 => MbcntHiU32B32,
    VAddNcU32 => AddNcU32,
    VSubNcU32 => SubNcU32,
    VSubrevNcU32 => SubrevNcU32,
    VAddNcI32 => AddNcI32,
    VSubNcI32 => SubNcI32,
    VAddCoU32 => AddCoU32,
    VSubCoU32 => SubCoU32,
    VSubrevCoU32 => SubrevCoU32,
    VAddCoCiU32 => AddCoCiU32,
    VSubCoCiU32 => SubCoCiU32,
    VSubrevCoCiU32 => SubrevCoCiU32,
    VAndB32 => AndB32,
    VOrB32 => OrB32,
    VXorB32 => XorB32,
    VXnorB32 => XnorB32,
    VLshlrevB32 => LshlrevB32,
    VLshrrevB32 => LshrrevB32,
    VAshrrevI32 => AshrrevI32,
    VLshlrevB64 => LshlrevB64,
    VLshrrevB64 => LshrrevB64,
    VAshrrevI64 => AshrrevI64,
    VLshlAddU64 => LshlAddU64,
    VMinU32 => MinU32,
    VMaxU32 => MaxU32,
    VMinI32 => MinI32,
    VMaxI32 => MaxI32,
    VMin3U32 => Min3U32,
    VMax3U32 => Max3U32,
    VMin3I32 => Min3I32,
    VMax3I32 => Max3I32,
    VMed3U32 => Med3U32,
    VMed3I32 => Med3I32,
    VMaxminU32 => MaxminU32,
    VMinmaxU32 => MinmaxU32,
    VMaxminI32 => MaxminI32,
    VMinmaxI32 => MinmaxI32,
    VMulLoU32 => MulLoU32,
    VMulHiU32 => MulHiU32,
    VMulHiI32 => MulHiI32,
    VMulU32U24 => MulU32U24,
    VMulHiU32U24 => MulHiU32U24,
    VMulI32I24 => MulI32I24,
    VMulHiI32I24 => MulHiI32I24,
    VMadU32U24 => MadU32U24,
    VMadI32I24 => MadI32I24,
    VMadU32U16 => MadU32U16,
    VMadI32I16 => MadI32I16,
    VMadU64U32 => MadU64U32,
    VMadI64I32 => MadI64I32,
    VAdd3U32 => Add3U32,
    VAddLshlU32 => AddLshlU32,
    VLshlAddU32 => LshlAddU32,
    VLshlOrB32 => LshlOrB32,
    VAndOrB32 => AndOrB32,
    VOr3B32 => Or3B32,
    VXor3B32 => Xor3B32,
    VBitop3B32 => Bitop3B32,
    VBitop3B16 => Bitop3B16,
    VPrngB32 => PrngB32,
    VAshrPkI8I32 => AshrPkI8,
    VAshrPkU8I32 => AshrPkU8,
    VXadU32 => XadU32,
    VBfeU32 => BfeU32,
    VBfeI32 => BfeI32,
    VBfiB32 => BfiB32,
    VAlignbitB32 => AlignbitB32,
    VAlignbyteB32 => AlignbyteB32,
    VPermB32 => PermB32,
    VLerpU8 => LerpU8,
    VSadU8 => SadU8,
    VSadHiU8 => SadHiU8,
    VSadU16 => SadU16,
    VSadU32 => SadU32,
    VMsadU8 => MsadU8,
    VQsadPkU16U8 => QsadPkU16U8,
    VMqsadPkU16U8 => MqsadPkU16U8,
    VMqsadU32U8 => MqsadU32U8,
    VCvtPkI16I32 => CvtPkI16I32,
    VCvtPkU16U32 => CvtPkU16U32,
    VCvtI32I16 => CvtI32I16,
    VCvtU32U16 => CvtU32U16,
    VSatPkU8I16 => SatPkU8I16,
}
