//! Integer operations.

use super::{In, Model, Out};
use vgpu::isa::Op;

fn bytes(value: u64) -> [i128; 4] {
    (value as u32).to_le_bytes().map(i128::from)
}

fn signed_bytes(value: u64) -> [i128; 4] {
    (value as u32).to_le_bytes().map(|byte| i128::from(byte as i8))
}

fn sad(a: u64, b: u64) -> i128 {
    let (a, b) = (bytes(a), bytes(b));
    (0..4).map(|i| (a[i] - b[i]).abs()).sum()
}

fn masked_sad(a: u64, b: u64) -> i128 {
    let (a, b) = (bytes(a), bytes(b));
    (0..4).filter(|i| b[*i] != 0).map(|i| (a[i] - b[i]).abs()).sum()
}

fn quads(i: &In, sum: fn(u64, u64) -> i128) -> Out {
    Out::Bits((0..4).fold(0, |all, k| {
        let word = i128::from(i.s[2] >> (16 * k) & 0xffff) + sum(i.s[0] >> (8 * k), i.s[1]);
        let word = if i.clamp { word.min(0xffff) } else { word };
        all | (word as u64 & 0xffff) << (16 * k)
    }))
}

fn middle<T: Ord + Copy>(a: T, b: T, c: T) -> T {
    let mut all = [a, b, c];
    all.sort_unstable();
    all[1]
}

fn sign24(value: u32) -> i128 {
    i128::from((value << 8) as i32 >> 8)
}

fn low24(value: u32) -> i128 {
    i128::from(value & 0xff_ffff)
}

fn word(value: u64, k: u32) -> i128 {
    i128::from((value >> (16 * k)) as i16)
}

fn nibbles(value: u64, signed: bool) -> [i128; 8] {
    std::array::from_fn(|k| {
        let nibble = (value >> (4 * k) & 15) as i128;
        if signed && nibble > 7 { nibble - 16 } else { nibble }
    })
}

fn dot<const N: usize>(a: [i128; N], b: [i128; N], c: i128) -> i128 {
    (0..N).map(|k| a[k] * b[k]).sum::<i128>() + c
}

fn b(value: u32) -> Out {
    Out::Bits(u64::from(value))
}

/// The model of an integer operation.
pub(super) fn model(op: Op) -> Option<Model> {
    use Out::{Bits, Sat, SatFlag};
    Some(match op {
        Op::VMovB32 | Op::VMovB16 | Op::VMovB64 => |i: &In| Bits(i.s[0]),
        Op::VAccvgprReadB32 | Op::VAccvgprWriteB32 | Op::VAccvgprMovB32 => |i: &In| Bits(i.s[0]),
        Op::VCndmaskB32 | Op::VCndmaskB16 => |i: &In| Bits(i.s[usize::from(i.mask)]),
        Op::VNotB32 => |i: &In| b(!i.u(0)),
        Op::VNotB16 => |i: &In| Bits(!i.s[0] & 0xffff),
        Op::VAndB32 | Op::VAndB16 => |i: &In| Bits(i.s[0] & i.s[1]),
        Op::VOrB32 | Op::VOrB16 => |i: &In| Bits(i.s[0] | i.s[1]),
        Op::VXorB32 | Op::VXorB16 => |i: &In| Bits(i.s[0] ^ i.s[1]),
        Op::VXnorB32 => |i: &In| b(!(i.u(0) ^ i.u(1))),
        Op::VBfrevB32 => |i: &In| b((0..32).fold(0, |all, k| all | (i.u(0) >> k & 1) << (31 - k))),
        Op::VClzI32U32 => |i: &In| b((0..32).find(|k| i.u(0) >> (31 - k) & 1 != 0).unwrap_or(u32::MAX)),
        Op::VCtzI32B32 => |i: &In| b((0..32).find(|k| i.u(0) >> k & 1 != 0).unwrap_or(u32::MAX)),
        Op::VClsI32 => |i: &In| {
            let top = i.u(0) >> 31;
            b((1..32).find(|k| i.u(0) >> (31 - k) & 1 != top).unwrap_or(u32::MAX))
        },
        Op::VBcntU32B32 => |i: &In| b((0..32).filter(|k| i.u(0) >> k & 1 != 0).count() as u32).plus(i.s[1]),
        Op::VBfmB32 => |i: &In| b((((1u64 << (i.s[0] & 31)) - 1) << (i.s[1] & 31)) as u32),
        Op::VMbcntLoU32B32 => |i: &In| {
            let below = (0..i.lane.min(32)).filter(|k| i.u(0) >> k & 1 != 0).count();
            b(below as u32).plus(i.s[1])
        },
        Op::VMbcntHiU32B32 => |i: &In| {
            let below = (32..i.lane.max(32)).filter(|k| i.u(0) >> (k - 32) & 1 != 0).count();
            b(below as u32).plus(i.s[1])
        },
        Op::VAddNcU32 => |i: &In| Sat(i.n(0) + i.n(1), false),
        Op::VSubNcU32 => |i: &In| Sat(i.n(0) - i.n(1), false),
        Op::VSubrevNcU32 => |i: &In| Sat(i.n(1) - i.n(0), false),
        Op::VAddNcI32 => |i: &In| Sat(i.z(0) + i.z(1), true),
        Op::VSubNcI32 => |i: &In| Sat(i.z(0) - i.z(1), true),
        Op::VAddNcU16 => |i: &In| Sat(i.n(0) + i.n(1), false),
        Op::VSubNcU16 => |i: &In| Sat(i.n(0) - i.n(1), false),
        Op::VSubrevNcU16 => |i: &In| Sat(i.n(1) - i.n(0), false),
        Op::VAddNcI16 => |i: &In| Sat(i.h(0) + i.h(1), true),
        Op::VSubNcI16 => |i: &In| Sat(i.h(0) - i.h(1), true),
        Op::VAddCoU32 => |i: &In| SatFlag(i.n(0) + i.n(1), false, i.n(0) + i.n(1) >> 32 != 0),
        Op::VSubCoU32 => |i: &In| SatFlag(i.n(0) - i.n(1), false, i.n(0) < i.n(1)),
        Op::VSubrevCoU32 => |i: &In| SatFlag(i.n(1) - i.n(0), false, i.n(1) < i.n(0)),
        Op::VAddCoCiU32 => |i: &In| {
            let sum = i.n(0) + i.n(1) + i128::from(i.mask);
            SatFlag(sum, false, sum >> 32 != 0)
        },
        Op::VSubCoCiU32 => |i: &In| {
            let rest = i.n(0) - i.n(1) - i128::from(i.mask);
            SatFlag(rest, false, rest < 0)
        },
        Op::VSubrevCoCiU32 => |i: &In| {
            let rest = i.n(1) - i.n(0) - i128::from(i.mask);
            SatFlag(rest, false, rest < 0)
        },
        Op::VLshlrevB32 => |i: &In| b(i.u(1) << (i.u(0) & 31)),
        Op::VLshrrevB32 => |i: &In| b(i.u(1) >> (i.u(0) & 31)),
        Op::VAshrrevI32 => |i: &In| b((i.u(1) as i32 >> (i.u(0) & 31)) as u32),
        Op::VLshlrevB64 => |i: &In| Bits(i.s[1] << (i.s[0] & 63)),
        Op::VLshrrevB64 => |i: &In| Bits(i.s[1] >> (i.s[0] & 63)),
        Op::VAshrrevI64 => |i: &In| Bits((i.s[1] as i64 >> (i.s[0] & 63)) as u64),
        Op::VLshlrevB16 => |i: &In| Bits(i.s[1] << (i.s[0] & 15) & 0xffff),
        Op::VLshrrevB16 => |i: &In| Bits(i.s[1] >> (i.s[0] & 15)),
        Op::VAshrrevI16 => |i: &In| Bits((i.h(1) >> (i.s[0] & 15)) as u64 & 0xffff),
        Op::VLshlAddU64 => |i: &In| Bits((i.s[0] << (i.s[1] & 7)).wrapping_add(i.s[2])),
        Op::VMinU32 | Op::VMinU16 => |i: &In| Bits(i.s[0].min(i.s[1])),
        Op::VMaxU32 | Op::VMaxU16 => |i: &In| Bits(i.s[0].max(i.s[1])),
        Op::VMinI32 => |i: &In| Sat(i.z(0).min(i.z(1)), true),
        Op::VMaxI32 => |i: &In| Sat(i.z(0).max(i.z(1)), true),
        Op::VMinI16 => |i: &In| Sat(i.h(0).min(i.h(1)), true),
        Op::VMaxI16 => |i: &In| Sat(i.h(0).max(i.h(1)), true),
        Op::VMin3U32 | Op::VMin3U16 => |i: &In| Bits(i.s[0].min(i.s[1]).min(i.s[2])),
        Op::VMax3U32 | Op::VMax3U16 => |i: &In| Bits(i.s[0].max(i.s[1]).max(i.s[2])),
        Op::VMed3U32 | Op::VMed3U16 => |i: &In| Bits(middle(i.s[0], i.s[1], i.s[2])),
        Op::VMin3I32 => |i: &In| Sat(i.z(0).min(i.z(1)).min(i.z(2)), true),
        Op::VMax3I32 => |i: &In| Sat(i.z(0).max(i.z(1)).max(i.z(2)), true),
        Op::VMed3I32 => |i: &In| Sat(middle(i.z(0), i.z(1), i.z(2)), true),
        Op::VMin3I16 => |i: &In| Sat(i.h(0).min(i.h(1)).min(i.h(2)), true),
        Op::VMax3I16 => |i: &In| Sat(i.h(0).max(i.h(1)).max(i.h(2)), true),
        Op::VMed3I16 => |i: &In| Sat(middle(i.h(0), i.h(1), i.h(2)), true),
        Op::VMaxminU32 => |i: &In| Bits(i.s[0].max(i.s[1]).min(i.s[2])),
        Op::VMinmaxU32 => |i: &In| Bits(i.s[0].min(i.s[1]).max(i.s[2])),
        Op::VMaxminI32 => |i: &In| Sat(i.z(0).max(i.z(1)).min(i.z(2)), true),
        Op::VMinmaxI32 => |i: &In| Sat(i.z(0).min(i.z(1)).max(i.z(2)), true),
        Op::VMulLoU32 => |i: &In| b(i.u(0).wrapping_mul(i.u(1))),
        Op::VMulLoU16 => |i: &In| Bits(i.s[0] * i.s[1] & 0xffff),
        Op::VMulHiU32 => |i: &In| b((i.n(0) * i.n(1) >> 32) as u32),
        Op::VMulHiI32 => |i: &In| b((i.z(0) * i.z(1) >> 32) as u32),
        Op::VMulU32U24 => |i: &In| Sat(low24(i.u(0)) * low24(i.u(1)), false),
        Op::VMulI32I24 => |i: &In| Sat(sign24(i.u(0)) * sign24(i.u(1)), true),
        Op::VMulHiU32U24 => |i: &In| b((low24(i.u(0)) * low24(i.u(1)) >> 32) as u32),
        Op::VMulHiI32I24 => |i: &In| b((sign24(i.u(0)) * sign24(i.u(1)) >> 32) as u32),
        Op::VMadU32U24 => |i: &In| Sat(low24(i.u(0)) * low24(i.u(1)) + i.n(2), false),
        Op::VMadI32I24 => |i: &In| Sat(sign24(i.u(0)) * sign24(i.u(1)) + i.z(2), true),
        Op::VMadU32U16 => |i: &In| Sat(i.n(0) * i.n(1) + i.n(2), false),
        Op::VMadI32I16 => |i: &In| Sat(i.h(0) * i.h(1) + i.z(2), true),
        Op::VMadU16 | Op::VMadLegacyU16 => |i: &In| Sat(i.n(0) * i.n(1) + i.n(2), false),
        Op::VMadI16 | Op::VMadLegacyI16 => |i: &In| Sat(i.h(0) * i.h(1) + i.h(2), true),
        Op::VMadU64U32 => |i: &In| {
            let sum = i.n(0) * i.n(1) + i.n(2);
            SatFlag(sum, false, sum >> 64 != 0)
        },
        Op::VMadI64I32 => |i: &In| {
            let sum = i.z(0) * i.z(1) + i128::from(i.s[2] as i64);
            SatFlag(sum, true, sum < 0)
        },
        Op::VAdd3U32 => |i: &In| b((i.n(0) + i.n(1) + i.n(2)) as u32),
        Op::VAddLshlU32 => |i: &In| b(i.u(0).wrapping_add(i.u(1)) << (i.u(2) & 31)),
        Op::VLshlAddU32 => |i: &In| b((i.u(0) << (i.u(1) & 31)).wrapping_add(i.u(2))),
        Op::VLshlOrB32 => |i: &In| b(i.u(0) << (i.u(1) & 31) | i.u(2)),
        Op::VAndOrB32 => |i: &In| b(i.u(0) & i.u(1) | i.u(2)),
        Op::VOr3B32 => |i: &In| b(i.u(0) | i.u(1) | i.u(2)),
        Op::VPrngB32 => |i: &In| b(i.u(0) << 1 ^ if i.u(0) >> 31 != 0 { 197 } else { 0 }),
        Op::VXor3B32 => |i: &In| b(i.u(0) ^ i.u(1) ^ i.u(2)),
        Op::VXadU32 => |i: &In| b((i.u(0) ^ i.u(1)).wrapping_add(i.u(2))),
        Op::VBfeU32 => |i: &In| Bits(i.s[0] >> (i.s[1] & 31) & ((1 << (i.s[2] & 31)) - 1)),
        Op::VBfeI32 => |i: &In| {
            let (offset, width) = (i.u(1) & 31, i.u(2) & 31);
            let field = (i.z(0) >> offset) & ((1 << width) - 1);
            Sat(if width > 0 && field >> (width - 1) & 1 != 0 { field - (1 << width) } else { field }, true)
        },
        Op::VBfiB32 => |i: &In| b(i.u(0) & i.u(1) | !i.u(0) & i.u(2)),
        Op::VAlignbitB32 => |i: &In| b(((i.s[0] << 32 | i.s[1]) >> (i.s[2] & 31)) as u32),
        Op::VAlignbyteB32 => |i: &In| b(((i.s[0] << 32 | i.s[1]) >> (8 * (i.s[2] & 3))) as u32),
        Op::VPermB32 => |i: &In| {
            let data = i.s[0] << 32 | i.s[1];
            Bits((0..4).fold(0, |all, k| {
                let byte = |n: u64| data >> (8 * n) & 0xff;
                let selector = i.s[2] >> (8 * k) & 0xff;
                let value = match selector {
                    0..8 => byte(selector),
                    8..12 => {
                        if byte(2 * (selector - 8) + 1) & 0x80 != 0 {
                            0xff
                        } else {
                            0
                        }
                    }
                    12 => 0,
                    _ => 0xff,
                };
                all | value << (8 * k)
            }))
        },
        Op::VLerpU8 => |i: &In| {
            let [x, y, round] = [0, 1, 2].map(|k| bytes(i.s[k]));
            Bits((0..4).fold(0, |all, k| all | ((x[k] + y[k] + (round[k] & 1) >> 1) as u64) << (8 * k)))
        },
        Op::VSadU8 => |i: &In| Sat(sad(i.s[0], i.s[1]) + i.n(2), false),
        Op::VSadHiU8 => |i: &In| Sat((sad(i.s[0], i.s[1]) << 16) + i.n(2), false),
        Op::VSadU16 => |i: &In| {
            let part = |k: u32| {
                ((i.s[0] >> (16 * k) & 0xffff) as i128 - (i.s[1] >> (16 * k) & 0xffff) as i128).abs()
            };
            Sat(part(0) + part(1) + i.n(2), false)
        },
        Op::VSadU32 => |i: &In| Sat((i.n(0) - i.n(1)).abs() + i.n(2), false),
        Op::VMsadU8 => |i: &In| Sat(masked_sad(i.s[0], i.s[1]) + i.n(2), false),
        Op::VQsadPkU16U8 => |i: &In| quads(i, sad),
        Op::VMqsadPkU16U8 => |i: &In| quads(i, masked_sad),
        Op::VCvtPkI16I32 => |i: &In| {
            let part = |k: usize| i.z(k).clamp(-0x8000, 0x7fff) as u64 & 0xffff;
            Bits(part(0) | part(1) << 16)
        },
        Op::VCvtPkU16U32 => |i: &In| Bits(i.s[0].min(0xffff) | i.s[1].min(0xffff) << 16),
        Op::VCvtI32I16 => |i: &In| b(i.h(0) as u32),
        Op::VCvtU32U16 => |i: &In| Bits(i.s[0]),
        Op::VSatPkU8I16 => |i: &In| {
            let part = |k: u32| word(i.s[0], k).clamp(0, 255) as u64;
            Bits(part(0) | part(1) << 8)
        },
        Op::VDot2I32I16 | Op::VDot2cI32I16 => {
            |i: &In| Sat(word(i.s[0], 0) * word(i.s[1], 0) + word(i.s[0], 1) * word(i.s[1], 1) + i.z(2), true)
        }
        Op::VDot2U32U16 => |i: &In| {
            let part =
                |k: u32| i128::from(i.s[0] >> (16 * k) & 0xffff) * i128::from(i.s[1] >> (16 * k) & 0xffff);
            Sat(part(0) + part(1) + i.n(2), false)
        },
        Op::VDot4I32I8 | Op::VDot4cI32I8 => {
            |i: &In| Sat(dot(signed_bytes(i.s[0]), signed_bytes(i.s[1]), i.z(2)), true)
        }
        Op::VDot4U32U8 => |i: &In| Sat(dot(bytes(i.s[0]), bytes(i.s[1]), i.n(2)), false),
        Op::VDot4I32Iu8 => |i: &In| {
            let part = |k: usize| if i.neg >> k & 1 != 0 { signed_bytes(i.s[k]) } else { bytes(i.s[k]) };
            Sat(dot(part(0), part(1), i.z(2)), true)
        },
        Op::VDot8I32I4 | Op::VDot8cI32I4 => {
            |i: &In| Sat(dot(nibbles(i.s[0], true), nibbles(i.s[1], true), i.z(2)), true)
        }
        Op::VDot8U32U4 => |i: &In| Sat(dot(nibbles(i.s[0], false), nibbles(i.s[1], false), i.n(2)), false),
        Op::VDot8I32Iu4 => |i: &In| {
            let part = |k: usize| nibbles(i.s[k], i.neg >> k & 1 != 0);
            Sat(dot(part(0), part(1), i.z(2)), true)
        },
        _ => return None,
    })
}
