//! Rotary embeddings against f64.

use kernels::reference::Expected;
use kernels::{Element, Error, Float, Heads, Rope, RopeScaling, RopeStyle};

use crate::common::{Bench, for_every_type, random};
use crate::record::{assert_exact, compare, difference};

const U32: f64 = f32::UNIT_ROUNDOFF;

/// Late positions are as exact as early ones; those of the two types are the same.
#[test]
fn tables() {
    let bench = Bench::open();
    let yarn = RopeScaling::Yarn {
        factor: 8.0,
        original_context: 512.0,
        beta_fast: 32.0,
        beta_slow: 1.0,
        attention_factor: None,
        truncate: true,
    };
    for scaling in [RopeScaling::None, RopeScaling::Linear { factor: 2.0 }, yarn] {
        let rope = Rope { scaling, ..Rope::new(20) };
        let frequencies = bench.kernels.rope_frequencies(&bench.stream, &rope).unwrap();
        let positions = [0_u32, 1, 7, 1000, 131_071, 1_000_003];
        let count = positions.len() * 10;
        let device = bench.upload(&positions);
        let (mut cos, mut sin) = (bench.zeroed::<f32>(count), bench.zeroed::<f32>(count));
        bench.kernels.rope_table(&bench.stream, &frequencies, &device, &mut cos, &mut sin).unwrap();
        let scale = rope.attention_factor();
        let angles: Vec<f64> = positions
            .iter()
            .flat_map(|&at| rope.frequencies().unwrap().into_iter().map(move |f| f * f64::from(at)))
            .collect();
        let expected = |f: fn(f64) -> f64| {
            // rounding the reduced angle, up to π, causes an error of the result; so do a few last places of
            // the function
            angles.iter().map(move |&angle| Expected { value: f(angle) * scale, slack: scale * 8.0 * U32 })
        };
        let result = compare(&bench.download(&cos), expected(f64::cos));
        assert!(result.passed(), "cos {scaling:?}: {result:?}");
        let result = compare(&bench.download(&sin), expected(f64::sin));
        assert!(result.passed(), "sin {scaling:?}: {result:?}");

        let device = bench.upload(&positions.map(i64::from));
        let mut wide = bench.zeroed::<f32>(count);
        bench.kernels.rope_table(&bench.stream, &frequencies, &device, &mut wide, &mut sin).unwrap();
        assert_exact!(bench.download(&wide), bench.download(&cos));
    }
    let frequencies = bench.kernels.rope_frequencies(&bench.stream, &Rope::new(4)).unwrap();
    let negative = bench.upload(&[-3_i64]);
    let (mut cos, mut sin) = (bench.zeroed::<f32>(2), bench.zeroed::<f32>(2));
    bench.kernels.rope_table(&bench.stream, &frequencies, &negative, &mut cos, &mut sin).unwrap();
    let sine = bench.download(&sin)[0];
    difference(sine.into(), (-3.0_f64).sin());
    assert!((sine - (-3.0_f32).sin()).abs() < 1e-6);
}

fn rotations<T: Float<Compute = f32>>(bench: &Bench) {
    let (tokens, heads, size) = (5, 3, 24);
    for (style, rotary) in [
        (RopeStyle::HalfSplit, 24),
        (RopeStyle::HalfSplit, 16),
        (RopeStyle::Interleaved, 24),
        (RopeStyle::Interleaved, 10),
    ] {
        let half = rotary / 2;
        let angles = random::<f32>(tokens * half, 61, 3.0);
        let cos: Vec<f32> = angles.iter().map(|a| a.cos()).collect();
        let sin: Vec<f32> = angles.iter().map(|a| a.sin()).collect();
        // a slice of a wider tensor, as with queries in a joint product of queries, keys and values; the
        // result is heads first
        let from = Heads { heads, size, token_stride: 100, head_stride: 30 };
        let to = Heads { heads, size, token_stride: size, head_stride: tokens * size };
        let x = random::<T>(tokens * 100, 62, 2.0);
        let mut expected = vec![Expected { value: 0.0, slack: 0.0 }; tokens * heads * size];
        for (t, h, i) in (0..tokens * heads * size).map(|i| (i / size / heads, i / size % heads, i % size)) {
            let at = |i: usize| x[t * 100 + h * 30 + i].to_f64();
            let (pair, first, second) = match style {
                _ if i >= rotary => (usize::MAX, i, i),
                RopeStyle::HalfSplit => (i % half, i % half, i % half + half),
                RopeStyle::Interleaved => (i / 2, i / 2 * 2, i / 2 * 2 + 1),
            };
            let (value, sum) = if pair == usize::MAX {
                (at(i), 0.0)
            } else {
                let (c, s) = (f64::from(cos[t * half + pair]), f64::from(sin[t * half + pair]));
                let (x, y) = (at(first), at(second));
                let value = if i == first { x * c - y * s } else { x * s + y * c };
                (value, x.abs() + y.abs())
            };
            expected[h * tokens * size + t * size + i] = Expected { value, slack: 2.0 * U32 * sum };
        }
        let (device_x, device_cos, device_sin) = (bench.upload(&x), bench.upload(&cos), bench.upload(&sin));
        let mut y = bench.zeroed::<T>(tokens * heads * size);
        bench
            .kernels
            .rope(&bench.stream, style, tokens, (&device_cos, &device_sin), &device_x, &from, &mut y, &to)
            .unwrap();
        let result = compare(&bench.download(&y), expected.iter().copied());
        assert!(result.passed(), "{style:?} {rotary} {}: {result:?}", T::NAME);

        let mut in_place = bench.upload(&x);
        bench
            .kernels
            .rope_in_place(&bench.stream, style, tokens, (&device_cos, &device_sin), &mut in_place, &from)
            .unwrap();
        let (rotated, y) = (bench.download(&in_place), bench.download(&y));
        for (i, (found, x)) in rotated.iter().zip(&x).enumerate() {
            let (t, h, e) = (i / 100, i % 100 / 30, i % 100 % 30);
            let want = if h < heads && e < size { y[h * tokens * size + t * size + e] } else { *x };
            assert_exact!(found.to_f64(), want.to_f64(), "{style:?} {rotary} {}: {i}", T::NAME);
        }
    }
}

#[test]
fn rotated_heads() {
    for_every_type!(rotations);
}

#[test]
fn bad_shapes_are_refused() {
    let bench = Bench::open();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let (tables, x, mut y) = (bench.zeroed::<f32>(8), bench.zeroed::<f32>(32), bench.zeroed::<f32>(32));
    let both = || (&tables, &tables);
    let heads = Heads::contiguous(2, 4);
    let style = RopeStyle::HalfSplit;
    kernels.rope(stream, style, 4, both(), &x, &heads, &mut y, &heads).unwrap();
    let error = kernels.rope(stream, style, 5, both(), &x, &heads, &mut y, &heads).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "x", expected: 40, got: 32, .. }), "{error}");
    let error = kernels.rope_in_place(stream, style, 3, both(), &mut y, &heads).unwrap_err();
    assert!(matches!(error, Error::Size { parameter: "tokens", got: 3, .. }), "{error}");
    let error = kernels.rope_in_place(stream, style, 1, both(), &mut y, &heads).unwrap_err();
    assert!(matches!(error, Error::Size { parameter: "size of heads", got: 4, .. }), "{error}");
    let overlapping = Heads { head_stride: 2, ..heads };
    let error = kernels.rope_in_place(stream, style, 4, both(), &mut y, &overlapping).unwrap_err();
    assert!(matches!(error, Error::Layout(_)), "{error}");
    let other = Heads::contiguous(1, 4);
    let error = kernels.rope(stream, style, 4, both(), &x, &heads, &mut y, &other).unwrap_err();
    assert!(matches!(error, Error::Size { parameter: "heads of y", got: 1, .. }), "{error}");
    let short = bench.zeroed::<f32>(7);
    let error = kernels.rope_in_place(stream, style, 4, (&tables, &short), &mut y, &heads).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "sin", .. }), "{error}");
    let frequencies = kernels.rope_frequencies(stream, &Rope::new(8)).unwrap();
    let positions = bench.zeroed::<u32>(3);
    let (mut cos, mut sin) = (bench.zeroed::<f32>(12), bench.zeroed::<f32>(11));
    let error = kernels.rope_table(stream, &frequencies, &positions, &mut cos, &mut sin).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "sin", expected: 12, got: 11, .. }), "{error}");
}
