//! Tokens in the order of experts, and the sums of the experts' results.

use hip::{Device, DeviceBuffer};
use kernels::reference::Expected;
use kernels::{Error, Float};

use crate::common::{Bench, for_every_type, random};
use crate::record::{assert_exact, compare};

const TOKENS: usize = 13;
const EXPERTS: usize = 5;
/// Choices of a token.
const K: usize = 3;

/// Experts of all pairs; two pairs have none.
fn ids() -> Vec<u32> {
    let mut ids: Vec<u32> = (0..TOKENS * K).map(|p| (p * p + p / 3) as u32 % EXPERTS as u32).collect();
    (ids[4], ids[20]) = (EXPERTS as u32, u32::MAX);
    ids
}

/// The numbers of pairs by experts, and the places of pairs.
fn order(ids: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut permutation: Vec<u32> =
        (0..ids.len() as u32).filter(|&p| (ids[p as usize] as usize) < EXPERTS).collect();
    permutation.sort_by_key(|&p| ids[p as usize]);
    let place = |p| permutation.iter().position(|&q| q == p).map_or(u32::MAX, |place| place as u32);
    let inverse = (0..ids.len() as u32).map(place).collect();
    permutation.resize(ids.len(), u32::MAX);
    (permutation, inverse)
}

#[test]
fn the_inverse_says_where_each_pair_is() {
    let bench = Bench::open();
    let ids = ids();
    let (permutation, inverse) = order(&ids);
    let nines = |count: usize| bench.upload(&vec![9_u32; count]);
    let (mut counts, mut offsets) = (nines(EXPERTS), nines(EXPERTS + 1));
    let (mut found, mut found_inverse) = (nines(ids.len()), nines(ids.len()));
    let ids = bench.upload(&ids);
    bench
        .kernels
        .moe_sort_with_inverse(&bench.stream, &ids, &mut counts, &mut offsets, &mut found, &mut found_inverse)
        .unwrap();
    assert_exact!(bench.download(&found), permutation);
    assert_exact!(bench.download(&found_inverse), inverse);
    assert_exact!(bench.download(&offsets)[EXPERTS], 37);
    let mut short = nines(38);
    let error = bench
        .kernels
        .moe_sort_with_inverse(&bench.stream, &ids, &mut counts, &mut offsets, &mut found, &mut short)
        .unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "inverse", expected: 39, got: 38, .. }), "{error}");
}

fn tokens_go_to_experts_and_back<T: Float<Compute = f32>>(bench: &Bench) {
    let (permutation, inverse) = order(&ids());
    let (device_permutation, device_inverse) = (bench.upload(&permutation), bench.upload(&inverse));
    // rows of whole accesses of 16 bytes and not
    for width in [1, 7, 8, 64, 100] {
        let what = format!("{width} wide, {}", T::NAME);
        let x = random::<T>(TOKENS * width, 121, 5.0);
        let device_x = bench.upload(&x);
        let mut sorted = bench.upload(&vec![T::from_f64(9.0); permutation.len() * width]);
        bench.kernels.moe_gather(&bench.stream, &device_x, width, &device_permutation, &mut sorted).unwrap();
        let row = |p: &u32| match *p as usize / K {
            token if *p != u32::MAX => x[token * width..][..width].to_vec(),
            _ => vec![T::default(); width],
        };
        let expected: Vec<T> = permutation.iter().flat_map(row).collect();
        assert_exact!(bench.download(&sorted), expected, "{what}");

        // The experts' results; unreferenced rows are not read.
        let mut y = random::<T>(permutation.len() * width, 122, 5.0);
        for (row, p) in y.chunks_mut(width).zip(&permutation) {
            if *p == u32::MAX {
                row.fill(T::from_f64(f64::NAN));
            }
        }
        let weights = random::<f32>(permutation.len(), 123, 1.0);
        let device_weights = bench.upload(&weights);
        for places in [Some(&inverse), None] {
            let y = if places.is_some() { y.clone() } else { random(permutation.len() * width, 124, 5.0) };
            let from = bench.upload(&y);
            let device_places = places.map(|_| (&device_inverse).into());
            let mut out = bench.upload(&vec![T::from_f64(9.0); TOKENS * width]);
            bench
                .kernels
                .moe_combine(&bench.stream, &from, width, &device_weights, device_places, &mut out)
                .unwrap();
            let expected = (0..TOKENS * width).map(|i| {
                let pairs = (0..K).map(|j| i / width * K + j);
                let products = pairs.filter_map(|p| {
                    let place = places.map_or(p, |places| places[p] as usize);
                    let element = y.get(place.saturating_mul(width).saturating_add(i % width))?;
                    Some(f64::from(weights[p]) * element.to_f64())
                });
                let products: Vec<f64> = products.collect();
                let magnitude: f64 = products.iter().map(|x| x.abs()).sum();
                let slack = (K + 1) as f64 * f64::from(f32::EPSILON) * magnitude;
                Expected { value: products.iter().sum(), slack }
            });
            let result = compare(&bench.download(&out), expected);
            assert!(result.passed(), "{what}, places {}: {result:?}", places.is_some());
        }
    }
}

#[test]
fn rows_of_tokens() {
    for_every_type!(tokens_go_to_experts_and_back);
}

#[test]
fn sums_are_in_the_order_of_choices_whatever_the_places() {
    let bench = Bench::open();
    // (1e8 + 1) - 1e8 is 0 in f32, and 1 in another order.
    let (weights, values) = (bench.upload(&[1.0_f32; 3]), [1e8_f32, 1.0, -1e8]);
    for places in [[0_u32, 1, 2], [2, 0, 1], [1, 2, 0]] {
        let mut y = [0.0_f32; 3];
        for (place, value) in places.iter().zip(values) {
            y[*place as usize] = value;
        }
        let (y, places) = (bench.upload(&y), bench.upload(&places));
        let mut out = bench.zeroed::<f32>(1);
        bench.kernels.moe_combine(&bench.stream, &y, 1, &weights, Some((&places).into()), &mut out).unwrap();
        assert_exact!(bench.download(&out), [0.0]);
    }
    // Halves are rounded once: 2048 + 1 + 1 is 2050.
    let y = bench.upload(&[2048.0, 1.0, 1.0].map(half::f16::from_f32));
    let mut out = bench.zeroed::<half::f16>(1);
    bench.kernels.moe_combine(&bench.stream, &y, 1, &weights, None, &mut out).unwrap();
    assert_exact!(bench.download(&out), [half::f16::from_f32(2050.0)]);
}

#[test]
fn bad_shapes_are_refused() {
    let bench = Bench::open();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let (x, pairs) = (bench.zeroed::<f32>(12), bench.zeroed::<u32>(6));
    let mut sorted = bench.upload(&[9.0_f32; 24]);
    let mut gather = |width, pairs: &DeviceBuffer<u32>| {
        kernels.moe_gather(stream, &x, width, pairs, &mut sorted).unwrap_err().to_string()
    };
    for width in [0, 5] {
        let text = format!("moe_gather: `width` is {width}, must be at least 1 and divide");
        assert!(gather(width, &pairs).starts_with(&text));
    }
    assert_eq!(gather(2, &pairs), "moe_gather: `out` has 24 elements, but needs 12");
    for count in [0, 5] {
        let some = bench.zeroed::<u32>(count);
        assert!(gather(4, &some).starts_with(&format!(
            "moe_gather: `pairs` is {count}, must be a multiple of the number of tokens"
        )));
    }
    kernels.moe_gather(stream, &x, 4, &pairs, &mut sorted).unwrap();

    let (y, weights) = (bench.zeroed::<f32>(24), bench.zeroed::<f32>(6));
    let mut out = bench.upload(&[9.0_f32; 12]);
    let mut combine =
        |y: &DeviceBuffer<f32>, width, weights: &DeviceBuffer<f32>, places: &DeviceBuffer<u32>| {
            let places = Some(places.into());
            kernels.moe_combine(stream, y, width, weights, places, &mut out).unwrap_err().to_string()
        };
    assert!(combine(&y, 5, &weights, &pairs).starts_with("moe_combine: `width` is 5"));
    assert_eq!(combine(&x, 4, &weights, &pairs), "moe_combine: `y` has 12 elements, but needs 24");
    let seven = bench.zeroed::<f32>(7);
    assert!(
        combine(&y, 4, &seven, &pairs)
            .starts_with("moe_combine: `pairs` is 7, must be a multiple of the number of tokens")
    );
    let five = bench.zeroed::<u32>(5);
    assert_eq!(combine(&y, 4, &weights, &five), "moe_combine: `places` has 5 elements, but needs 6");

    let others = ["vgpu:gfx1100", "vgpu:gfx90a"].map(|uri| Device::open(uri).unwrap());
    let other = others.iter().find(|other| *other != kernels.device()).unwrap().stream().unwrap();
    let far = DeviceBuffer::<f32>::zeroed(&other, 24).unwrap();
    let far_pairs = DeviceBuffer::<u32>::zeroed(&other, 6).unwrap();
    assert!(combine(&far, 4, &weights, &pairs).contains("belongs to"));
    assert!(combine(&y, 4, &weights, &far_pairs).contains("belongs to"));
    let error = kernels.moe_gather(stream, &x, 4, &far_pairs, &mut sorted).unwrap_err();
    assert!(error.to_string().contains("belongs to"), "{error}");
    // Nothing was written.
    assert_exact!(bench.download(&out), [9.0; 12]);

    let (none, no_pairs, no_weights) =
        (bench.zeroed::<f32>(0), bench.zeroed::<u32>(0), bench.zeroed::<f32>(0));
    let mut nothing = bench.zeroed::<f32>(0);
    kernels.moe_gather(stream, &none, 4, &no_pairs, &mut nothing).unwrap();
    kernels.moe_combine(stream, &none, 4, &no_weights, None, &mut nothing).unwrap();
}
