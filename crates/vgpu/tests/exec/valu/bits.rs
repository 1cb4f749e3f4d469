//! Integers of 16 and 64 bits, packed integers, and sums of parts.

use super::*;

fn half_of(value: u64, high: bool) -> u16 {
    (value >> if high { 16 } else { 0 }) as u16
}

#[test]
fn integers_of_64_bits_match_their_models() {
    let check = |op, model: &dyn Fn([u64; 3]) -> u64| {
        Case::new(op, Format::Vop3).check(PLAIN, numbers(op as u64), |s, _| model(s));
    };
    check(Op::VLshlrevB64, &|[a, b, _]| b << (a & 63));
    check(Op::VLshrrevB64, &|[a, b, _]| b >> (a & 63));
    check(Op::VAshrrevI64, &|[a, b, _]| (b as i64 >> (a & 63)) as u64);
    check(Op::VLshlAddU64, &|[a, b, c]| (a << (b & 7)).wrapping_add(c));
    check(Op::VMovB64, &|[a, ..]| a);
    check(Op::VMadU64U32, &|[a, b, c]| (a * b).wrapping_add(c));
    check(Op::VMadI64I32, &|[a, b, c]| {
        (i64::from(a as i32) * i64::from(b as i32)).wrapping_add(c as i64) as u64
    });
}

#[test]
fn carries_of_wide_sums_are_masks() {
    let fill = numbers(5);
    for &level in Level::available() {
        let unsigned = Case::new(Op::VMadU64U32, Format::Vop3Sd).run(level, 64, u64::MAX, PLAIN, &fill);
        let signed = Case::new(Op::VMadI64I32, Format::Vop3Sd).run(level, 64, u64::MAX, PLAIN, &fill);
        let borrow = Case::new(Op::VSubrevCoCiU32, Format::Vop3Sd).run(level, 64, u64::MAX, PLAIN, &fill);
        for lane in 0..64 {
            let [a, b] = [4, 6].map(|register| fill(register, lane));
            let c = u64::from(fill(8, lane)) | u64::from(fill(9, lane)) << 32;
            let bit = |bench: &Bench| bench.wave.scalar64(20) >> lane & 1 != 0;
            assert_eq!(bit(&unsigned), (u128::from(a) * u128::from(b) + u128::from(c)) >> 64 != 0);
            let sum = i128::from(a as i32) * i128::from(b as i32) + i128::from(c as i64);
            assert_eq!(bit(&signed), sum >> 64 & 1 != 0);
            let taken = u64::from(a) + (0x0f1e_2d3c_4b5a_6978u64 >> lane & 1);
            assert_eq!(bit(&borrow), taken > u64::from(b));
            assert_eq!(borrow.get(0, lane), u64::from(b).wrapping_sub(taken) as u32);
        }
    }
}

#[test]
fn halves_of_registers_are_read_and_written() {
    for op_sel in 0..16u8 {
        let check = |op, model: &dyn Fn([u16; 3]) -> u16| {
            let mods = Modifiers { op_sel, ..Modifiers::default() };
            let case = Case::new(op, Format::Vop3).mods(mods);
            case.check(PLAIN, numbers(op as u64), |s, old| {
                let s = std::array::from_fn(|i| half_of(s[i], op_sel >> i & 1 != 0));
                let result = u64::from(model(s));
                if op_sel & 8 != 0 { old & 0xffff | result << 16 } else { old & 0xffff_0000 | result }
            });
        };
        check(Op::VAddNcU16, &|[a, b, _]| a.wrapping_add(b));
        check(Op::VSubNcI16, &|[a, b, _]| a.wrapping_sub(b));
        check(Op::VMulLoU16, &|[a, b, _]| a.wrapping_mul(b));
        check(Op::VMadI16, &|[a, b, c]| a.wrapping_mul(b).wrapping_add(c));
        check(Op::VLshlrevB16, &|[a, b, _]| b << (a & 15));
        check(Op::VAshrrevI16, &|[a, b, _]| (b as i16 >> (a & 15)) as u16);
        check(Op::VMinI16, &|[a, b, _]| (a as i16).min(b as i16) as u16);
        check(Op::VMax3U16, &|[a, b, c]| a.max(b).max(c));
        check(Op::VMed3I16, &|s| {
            let mut s = s.map(|x| x as i16);
            s.sort_unstable();
            s[1] as u16
        });
        check(Op::VXorB16, &|[a, b, _]| a ^ b);
        check(Op::VMovB16, &|[a, ..]| a);
    }
}

#[test]
fn gfx9_clears_the_high_half_but_where_operations_are_new() {
    let mut case = Case::new(Op::VAddNcU16, Format::Vop2);
    case.generation = Generation::Gfx9;
    case.check(PLAIN, numbers(1), |[a, b, _], _| u64::from((a as u16).wrapping_add(b as u16)));
    let mut case = Case::new(Op::VMadU16, Format::Vop3);
    case.generation = Generation::Gfx9;
    case.check(PLAIN, numbers(2), |[a, b, c], old| {
        old & 0xffff_0000 | u64::from((a as u16).wrapping_mul(b as u16).wrapping_add(c as u16))
    });
}

#[test]
fn packed_integers_choose_their_halves() {
    for (op_sel, op_sel_hi) in [(0, 7), (1, 6), (6, 0), (5, 2)] {
        let mods = Modifiers { op_sel, op_sel_hi, ..Modifiers::default() };
        let check = |op, model: &dyn Fn([u16; 3]) -> u16| {
            Case::new(op, Format::Vop3p).mods(mods).check(PLAIN, numbers(op as u64), |s, _| {
                let pick = |select: u8| std::array::from_fn(|i| half_of(s[i], select >> i & 1 != 0));
                u64::from(model(pick(op_sel))) | u64::from(model(pick(op_sel_hi))) << 16
            });
        };
        check(Op::VPkAddU16, &|[a, b, _]| a.wrapping_add(b));
        check(Op::VPkSubI16, &|[a, b, _]| a.wrapping_sub(b));
        check(Op::VPkMadU16, &|[a, b, c]| a.wrapping_mul(b).wrapping_add(c));
        check(Op::VPkLshrrevB16, &|[a, b, _]| b >> (a & 15));
        check(Op::VPkMaxI16, &|[a, b, _]| (a as i16).max(b as i16) as u16);
    }
}

#[test]
fn sums_of_parts_match_their_models() {
    let packed = Modifiers { op_sel_hi: 7, ..Modifiers::default() };
    let bytes = |v: u64| (v as u32).to_le_bytes();
    let signed = |v: u64| bytes(v).map(|b| i64::from(b as i8));
    let unsigned = |v: u64| bytes(v).map(i64::from);
    let dot = |a: [i64; 4], b: [i64; 4], c: i64| (0..4).map(|i| a[i] * b[i]).sum::<i64>() + c;
    let check = |op, mods, model: &dyn Fn([u64; 3]) -> u64| {
        Case::new(op, Format::Vop3p).mods(mods).check(PLAIN, numbers(op as u64), |s, _| model(s));
    };
    check(Op::VDot4I32I8, packed, &|[a, b, c]| u64::from(dot(signed(a), signed(b), c as i64) as u32));
    check(Op::VDot4U32U8, packed, &|[a, b, c]| u64::from(dot(unsigned(a), unsigned(b), c as i64) as u32));
    for neg in 0..4 {
        check(Op::VDot4I32Iu8, Modifiers { neg, ..packed }, &|[a, b, c]| {
            let a = if neg & 1 != 0 { signed(a) } else { unsigned(a) };
            let b = if neg & 2 != 0 { signed(b) } else { unsigned(b) };
            u64::from(dot(a, b, c as i64) as u32)
        });
    }
    check(Op::VDot8U32U4, packed, &|[a, b, c]| {
        let sum: u64 = (0..8).map(|i| (a >> (4 * i) & 15) * (b >> (4 * i) & 15)).sum();
        u64::from((sum + c) as u32)
    });
    check(Op::VDot2I32I16, packed, &|[a, b, c]| {
        let word = |v: u64, high| i64::from(half_of(v, high) as i16);
        let sum = word(a, false) * word(b, false) + word(a, true) * word(b, true) + i64::from(c as i32);
        u64::from(sum as u32)
    });
    let sad = |a, b| {
        let (a, b) = (unsigned(a), unsigned(b));
        (0..4).map(|i| a[i].abs_diff(b[i])).sum::<u64>()
    };
    let plain = Modifiers::default();
    check(Op::VSadU8, plain, &|[a, b, c]| u64::from((sad(a, b) + c) as u32));
    check(Op::VSadHiU8, plain, &|[a, b, c]| u64::from(((sad(a, b) << 16) + c) as u32));
    check(Op::VMsadU8, plain, &|[a, b, c]| {
        let (x, y) = (unsigned(a), unsigned(b));
        let sum: u64 = (0..4).filter(|&i| y[i] != 0).map(|i| x[i].abs_diff(y[i])).sum();
        u64::from((sum + c) as u32)
    });
    check(Op::VQsadPkU16U8, plain, &|[a, b, c]| {
        (0..4).fold(0, |all, i| {
            let sum = sad(a >> (8 * i), b) + (c >> (16 * i) & 0xffff);
            all | (sum & 0xffff) << (16 * i)
        })
    });
    check(Op::VLerpU8, plain, &|[a, b, c]| {
        let (a, b, c) = (unsigned(a), unsigned(b), unsigned(c));
        (0..4).fold(0, |all, i| all | ((a[i] + b[i] + (c[i] & 1)) as u64 >> 1) << (8 * i))
    });
}

#[test]
fn clamped_integers_saturate() {
    let clamp = Modifiers { clamp: true, op_sel_hi: 7, ..Modifiers::default() };
    let check = |op, model: &dyn Fn([u64; 3]) -> u64| {
        Case::new(op, Format::Vop3).mods(Modifiers { op_sel_hi: 0, ..clamp }).check(
            PLAIN,
            numbers(op as u64),
            |s, _| model(s),
        );
    };
    let (x, y) = (|v: u64| v as u32, |v: u64| v as u32 as i32);
    check(Op::VAddNcU32, &|[a, b, _]| u64::from(x(a).saturating_add(x(b))));
    check(Op::VSubNcU32, &|[a, b, _]| u64::from(x(a).saturating_sub(x(b))));
    check(Op::VAddNcI32, &|[a, b, _]| u64::from(y(a).saturating_add(y(b)) as u32));
    check(Op::VSubNcI32, &|[a, b, _]| u64::from(y(a).saturating_sub(y(b)) as u32));
    Case::new(Op::VPkAddI16, Format::Vop3p).mods(clamp).check(PLAIN, numbers(3), |[a, b, _], _| {
        let add = |high| {
            let sum = (half_of(a, high) as i16).saturating_add(half_of(b, high) as i16);
            u64::from(sum as u16)
        };
        add(false) | add(true) << 16
    });
}
