//! Appending to caches of keys and values.

use kernels::{CacheLayout, Error, F8E4M3, Float, Heads};

use crate::common::{Bench, for_every_type, random};
use crate::record::{assert_exact, difference, exact};

const HEADS: usize = 3;
const SIZE: usize = 40;
/// 7 tokens for 4 pages of 5 positions; three are dropped.
const SLOTS: [i64; 7] = [19, 0, -1, 7, 20, 4, i64::MIN];

fn places(layout: &CacheLayout) -> impl Fn(usize, usize, usize) -> usize {
    let layout = *layout;
    move |slot, head, i| {
        slot / layout.page * layout.page_stride
            + slot % layout.page * layout.position_stride
            + head * layout.head_stride
            + i
    }
}

/// Token, slot, head and element of everything kept.
fn kept() -> impl Iterator<Item = (usize, usize, usize, usize)> {
    let kept = SLOTS
        .iter()
        .enumerate()
        .filter_map(|(t, &slot)| (0..20).contains(&slot).then_some((t, slot as usize)));
    kept.flat_map(|(t, slot)| (0..HEADS * SIZE).map(move |i| (t, slot, i / SIZE, i % SIZE)))
}

fn layouts() -> [CacheLayout; 3] {
    let padded = CacheLayout {
        position_stride: 200,
        page_stride: 1100,
        ..CacheLayout::positions_first(4, 5, HEADS, SIZE)
    };
    [CacheLayout::positions_first(4, 5, HEADS, SIZE), CacheLayout::heads_first(4, HEADS, 5, SIZE), padded]
}

fn appended<T: Float<Compute = f32>>(bench: &Bench) {
    // keys as part of a tensor of queries, keys and values
    let heads = Heads { heads: HEADS, size: SIZE, token_stride: 300, head_stride: SIZE };
    let x = random::<T>(7 * 300, 81, 9.0);
    let (device_x, slots) = (bench.upload(&x), bench.upload(&SLOTS));
    let from = |t: usize, head: usize, i: usize| x[t * 300 + head * SIZE + i].to_f64();
    for layout in layouts() {
        let (place, len) = (places(&layout), 4 * layout.page_stride);
        let mut cache = bench.upload(&vec![T::from_f64(0.5); len]);
        bench.kernels.kv_append(&bench.stream, &device_x, &heads, &slots, &mut cache, &layout).unwrap();
        let mut expected = vec![0.5; len];
        for (t, slot, head, i) in kept() {
            expected[place(slot, head, i)] = from(t, head, i);
        }
        let found: Vec<f64> = bench.download(&cache).iter().map(|x| x.to_f64()).collect();
        assert!(exact(found == expected), "{layout:?} {}", T::NAME);

        let mut cache = bench.upload(&vec![F8E4M3::from_bits(0x55); len]);
        bench
            .kernels
            .kv_append_f8(&bench.stream, &device_x, &heads, &slots, 0.015625, &mut cache, &layout)
            .unwrap();
        let mut expected = vec![0x55_u8; len];
        for (t, slot, head, i) in kept() {
            expected[place(slot, head, i)] = nearest_e4m3(from(t, head, i) * 64.0);
        }
        assert!(exact(bits(&bench.download(&cache)) == expected), "f8 {layout:?} {}", T::NAME);

        let (mut cache, mut scales) =
            (bench.upload(&vec![77_i8; len]), bench.upload(&[-1.0_f32; 20 * HEADS]));
        bench
            .kernels
            .kv_append_i8(&bench.stream, &device_x, &heads, &slots, &mut cache, &mut scales, &layout)
            .unwrap();
        let (cache, scales) = (bench.download(&cache), bench.download(&scales));
        let mut touched = vec![false; len];
        for (t, slot, head, i) in kept() {
            let largest = (0..SIZE).map(|i| from(t, head, i).abs()).fold(0.0, f64::max);
            let scale = f64::from(scales[slot * HEADS + head]);
            difference(scale, largest / 127.0);
            assert!((scale * 127.0 / largest - 1.0).abs() < 1e-6, "{scale} {largest}");
            let place = place(slot, head, i);
            let stored = f64::from(cache[place]);
            difference(stored, (from(t, head, i) / scale).round_ties_even());
            let error = stored * scale - from(t, head, i);
            assert!(error.abs() <= scale * 0.50001, "{error} {scale}");
            touched[place] = true;
        }
        assert!(cache.iter().zip(&touched).all(|(&x, &touched)| touched || x == 77));
        let written = scales.iter().filter(|&&scale| scale != -1.0).count();
        assert_eq!(written, 4 * HEADS);
    }
}

fn bits(cache: &[F8E4M3]) -> Vec<u8> {
    cache.iter().map(|x| x.to_bits()).collect()
}

/// By search over all numbers of the format; of two equally near, the even one. Larger ones become the
/// largest.
fn nearest_e4m3(x: f64) -> u8 {
    let value = |bits: u8| {
        let (exponent, fraction) = (i32::from(bits >> 3), f64::from(bits & 7));
        if exponent == 0 { fraction / 512.0 } else { (1.0 + fraction / 8.0) * 2.0_f64.powi(exponent - 7) }
    };
    let distance = |bits: u8| (value(bits) - x.abs()).abs();
    let best = (0..0x7f_u8).min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1))));
    best.unwrap() | if x.is_sign_negative() { 0x80 } else { 0 }
}

#[test]
fn slots_receive_heads() {
    for_every_type!(appended);
}

/// The smallest scale, and elements that are NaN or infinite.
#[test]
fn quantised_zeros_and_infinities() {
    let bench = Bench::open();
    let (heads, layout) = (Heads::contiguous(1, 4), CacheLayout::positions_first(1, 3, 1, 4));
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let x = bench.upload(&[0.0, -0.0, 0.0, 0.0, 1.0, -2.0, 1.5, 0.0, 1e9, -inf, nan, -1e-9]);
    let slots = bench.upload(&[0_i64, 1, 2]);
    let (mut cache, mut scales) = (bench.zeroed::<i8>(12), bench.upload(&[9.0_f32; 3]));
    bench.kernels.kv_append_i8(&bench.stream, &x, &heads, &slots, &mut cache, &mut scales, &layout).unwrap();
    assert_exact!(bench.download(&cache)[..8], [0, 0, 0, 0, 64, -127, 95, 0]);
    let scales = bench.download(&scales);
    assert_exact!(scales[..2], [0.0, 2.0 / 127.0]);
    assert!(scales[2].is_nan(), "of a NaN: {}", scales[2]);
    let mut cache = bench.zeroed::<F8E4M3>(12);
    bench.kernels.kv_append_f8(&bench.stream, &x, &heads, &slots, 1.0, &mut cache, &layout).unwrap();
    assert_exact!(
        bits(&bench.download(&cache)),
        [0, 0x80, 0, 0, 0x38, 0xc0, 0x3c, 0, 0x7e, 0xfe, 0x7f, 0x80]
    );
}

#[test]
fn bad_shapes_are_refused() {
    let bench = Bench::open();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let (heads, layout) = (Heads::contiguous(2, 4), CacheLayout::positions_first(2, 3, 2, 4));
    let (x, slots, mut cache) = (bench.zeroed::<f32>(16), bench.zeroed::<i64>(2), bench.zeroed::<f32>(48));
    kernels.kv_append(stream, &x, &heads, &slots, &mut cache, &layout).unwrap();
    let more = bench.zeroed::<i64>(3);
    let error = kernels.kv_append(stream, &x, &heads, &more, &mut cache, &layout).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "x", expected: 24, got: 16, .. }), "{error}");
    let mut short = bench.zeroed::<f32>(47);
    let error = kernels.kv_append(stream, &x, &heads, &slots, &mut short, &layout).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "cache", expected: 48, got: 47, .. }), "{error}");
    let error =
        kernels.kv_append(stream, &x, &Heads::contiguous(1, 8), &slots, &mut cache, &layout).unwrap_err();
    assert!(matches!(error, Error::Size { parameter: "heads", got: 1, .. }), "{error}");
    let overlapping = CacheLayout { page_stride: 8, ..layout };
    let error = kernels.kv_append(stream, &x, &heads, &slots, &mut cache, &overlapping).unwrap_err();
    assert!(matches!(error, Error::Layout(_)), "{error}");
    let (mut bytes, mut scales) = (bench.zeroed::<i8>(48), bench.zeroed::<f32>(11));
    let error =
        kernels.kv_append_i8(stream, &x, &heads, &slots, &mut bytes, &mut scales, &layout).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "scales", expected: 12, got: 11, .. }), "{error}");
    let mut floats = bench.zeroed::<F8E4M3>(48);
    for scale in [0.0, -1.0, f32::INFINITY, f32::NAN, 1e-40] {
        let error =
            kernels.kv_append_f8(stream, &x, &heads, &slots, scale, &mut floats, &layout).unwrap_err();
        assert!(matches!(error, Error::Value { parameter: "scale", .. }), "{error}");
    }
    let none = bench.zeroed::<i64>(0);
    kernels.kv_append(stream, &x, &heads, &none, &mut cache, &layout).unwrap();
}
