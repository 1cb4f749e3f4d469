//! Casts between all types, against conversions in Rust.

use half::{bf16, f16};
use kernels::{Element, F8E4M3};

use crate::common::{Bench, random, special};
use crate::record::exact;

/// A number as it is.
#[derive(Clone, Copy)]
enum Exact {
    Int(i128),
    Float(f64),
}

/// What `as` does in Rust, extended to types that Rust has no `as` for.
trait Convert: Element {
    fn exact(self) -> Exact;
    fn convert(exact: Exact) -> Self;
    fn samples() -> Vec<Self>;
}

/// An f64 that rounds as the integer does: the integer itself, or a neighbour with an odd last digit.
fn for_rounding(value: i128) -> f64 {
    let magnitude = value.unsigned_abs();
    let excess = (128 - magnitude.leading_zeros()).saturating_sub(53);
    let kept = magnitude >> excess;
    let sticky = u128::from(kept << excess != magnitude);
    let rounded = (kept | sticky) as f64 * 2.0_f64.powi(excess as i32);
    if value < 0 { -rounded } else { rounded }
}

macro_rules! floats {
    ($($type:ty),*) => {$(
        impl Convert for $type {
            fn exact(self) -> Exact {
                Exact::Float(self.to_f64())
            }
            fn convert(exact: Exact) -> Self {
                match exact {
                    // not the function of this name in `half`
                    Exact::Float(value) => Element::from_f64(value),
                    Exact::Int(value) if size_of::<Self>() == 8 => Element::from_f64(value as f64),
                    Exact::Int(value) => Element::from_f64(for_rounding(value)),
                }
            }
            fn samples() -> Vec<Self> {
                // around the ends of the integer types, and in the middle between two numbers of narrower
                // types
                let ends = [127.5, 255.0, 255.5, 256.0, 32767.5, 32768.0, 32769.0, 65504.0, 65519.0, 65520.0, 2147483647.0, 2147483648.0, 4294967295.0,
                    4294967296.0, 9.2e18, 9223372036854775808.0, 1e19, 3e38, 1e-8, 447.9, 464.0, 465.0, 1.0625, 1.000244140625, 1.00390625, 0.0009765625];
                let ends = ends.iter().flat_map(|&x: &f64| [x, -x, x.next_up(), -x.next_down()]).map(<Self as Element>::from_f64);
                special().into_iter().chain(ends).chain(random(100, 31, 300.0)).chain(random(50, 32, 5e9)).collect()
            }
        }
    )*};
}
floats!(f64, f32, f16, bf16, F8E4M3);

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Convert for $type {
            fn exact(self) -> Exact {
                Exact::Int(i128::from(self))
            }
            fn convert(exact: Exact) -> Self {
                match exact {
                    Exact::Float(value) => value as $type,
                    Exact::Int(value) => value as $type,
                }
            }
            fn samples() -> Vec<Self> {
                // ends, powers of two and their neighbours, and numbers in the middle between two floats
                let mut samples = vec![<$type>::MIN, <$type>::MAX, <$type>::MIN + 1, <$type>::MAX - 1, 0];
                for shift in 0..<$type>::BITS {
                    let power = (1 as $type) << shift;
                    for odd in [0, 1, 3, 257, 2049, 65537, 16777217] {
                        let odd = odd as $type;
                        samples.extend([power.wrapping_mul(odd), power.wrapping_mul(odd).wrapping_neg()]);
                        samples.extend([power.wrapping_mul(odd).wrapping_add(1), power.wrapping_add(odd), power.wrapping_sub(odd)]);
                    }
                }
                samples
            }
        }
    )*};
}
integers!(u8, u32, i16, i32, i64);

fn same<T: Element>(a: T, b: T) -> bool {
    let (a, b) = (a, b);
    a == b && a.to_f64().is_sign_negative() == b.to_f64().is_sign_negative()
        || a.to_f64().is_nan() && b.to_f64().is_nan()
}

fn cast<From: Convert, To: Convert>(bench: &Bench) {
    let values = From::samples();
    let x = bench.upload(&values);
    let mut y = bench.zeroed::<To>(values.len());
    bench.kernels.cast(&bench.stream, &x, &mut y).unwrap();
    for (&from, got) in values.iter().zip(bench.download(&y)) {
        let expected = To::convert(from.exact());
        assert!(
            exact(same(got, expected)),
            "{from:?} from {} to {}: {got:?}, not {expected:?}",
            From::NAME,
            To::NAME
        );
    }
}

fn casts_from<From: Convert>() {
    let bench = Bench::open();
    cast::<From, f64>(&bench);
    cast::<From, f32>(&bench);
    cast::<From, f16>(&bench);
    cast::<From, bf16>(&bench);
    cast::<From, F8E4M3>(&bench);
    cast::<From, u8>(&bench);
    cast::<From, u32>(&bench);
    cast::<From, i16>(&bench);
    cast::<From, i32>(&bench);
    cast::<From, i64>(&bench);
}

#[test]
fn casts_from_wide_floats() {
    casts_from::<f64>();
    casts_from::<f32>();
}

#[test]
fn casts_from_narrow_floats() {
    casts_from::<f16>();
    casts_from::<bf16>();
    casts_from::<F8E4M3>();
}

#[test]
fn casts_from_integers() {
    casts_from::<u8>();
    casts_from::<u32>();
    casts_from::<i16>();
    casts_from::<i32>();
    casts_from::<i64>();
}

#[test]
fn doubles_are_rounded_once() {
    // next to the middle between two numbers, closer than f32 can resolve
    fn near_ties<T: Element>(bench: &Bench, numbers: impl Iterator<Item = T>) {
        let numbers: Vec<f64> = numbers.map(T::to_f64).collect();
        let mut values = Vec::new();
        for pair in numbers.windows(2) {
            let middle = (pair[0] + pair[1]) / 2.0;
            values.extend([
                middle.next_down(),
                middle,
                middle.next_up(),
                -middle.next_down(),
                -middle,
                -middle.next_up(),
            ]);
        }
        let x = bench.upload(&values);
        let mut y = bench.zeroed::<T>(values.len());
        bench.kernels.cast(&bench.stream, &x, &mut y).unwrap();
        for (&value, got) in values.iter().zip(bench.download(&y)) {
            assert!(exact(same(got, T::from_f64(value))), "{value:e} to {}: {got:?}", T::NAME);
        }
    }
    let bench = Bench::open();
    near_ties(&bench, (0..0x7e).map(F8E4M3::from_bits));
    near_ties(&bench, (0..f16::MAX.to_bits()).filter(|bits| bits % 50 < 2).map(f16::from_bits));
    near_ties(&bench, (0..bf16::MAX.to_bits()).filter(|bits| bits % 50 < 2).map(bf16::from_bits));
    near_ties(
        &bench,
        (0..f32::MAX.to_bits())
            .step_by(3_000_017)
            .flat_map(|bits| [f32::from_bits(bits), f32::from_bits(bits + 1)]),
    );
}

#[test]
fn every_narrow_number_is_cast() {
    let bench = Bench::open();
    let bytes: Vec<F8E4M3> = (0..=u8::MAX).map(F8E4M3::from_bits).collect();
    let mut wide = bench.zeroed::<f32>(256);
    bench.kernels.cast(&bench.stream, &bench.upload(&bytes), &mut wide).unwrap();
    for (byte, got) in bytes.iter().zip(bench.download(&wide)) {
        assert!(exact(same(f64::from(got), byte.to_f64())), "{:#x}: {got}", byte.to_bits());
    }
    let halves: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    let mut narrow = bench.zeroed::<F8E4M3>(halves.len());
    bench.kernels.cast(&bench.stream, &bench.upload(&halves), &mut narrow).unwrap();
    for (half, got) in halves.iter().zip(bench.download(&narrow)) {
        assert!(exact(same(got, F8E4M3::from_f64(half.to_f64()))), "{half}: {got}");
    }
}
