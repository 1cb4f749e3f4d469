//! Products of rows with the matrices of their experts, against f64 on the CPU.

use half::{bf16, f16};
use hip::DeviceBuffer;
use kernels::reference::Expected;
use kernels::{Element, Error, ExpertGemm, F8E4M3, GemmElement, SortedPairs};

use crate::common::{Bench, random};
use crate::record::{compare, exact};

/// The number of experts, and the expert of each pair; numbers from `experts` mean no expert.
struct Routing {
    experts: usize,
    ids: Vec<u32>,
}

impl Routing {
    /// `counts[e]` pairs of expert e, spread over all pairs.
    fn spread(counts: &[usize], foreign: usize) -> Self {
        let experts = counts.len();
        let mut ids: Vec<u32> =
            counts.iter().enumerate().flat_map(|(e, &count)| std::iter::repeat_n(e as u32, count)).collect();
        ids.extend((0..foreign as u32).map(|i| if i % 2 == 0 { experts as u32 } else { u32::MAX }));
        let keys = random::<f32>(ids.len(), 61, 1.0);
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_by(|&a, &b| keys[a].total_cmp(&keys[b]));
        Self { experts, ids: order.into_iter().map(|at| ids[at]).collect() }
    }

    /// Pairs that have an expert, sorted by expert, in order for each.
    fn sorted(&self) -> Vec<usize> {
        let has = |&pair: &usize| (self.ids[pair] as usize) < self.experts;
        let mut order: Vec<usize> = (0..self.ids.len()).filter(has).collect();
        order.sort_by_key(|&pair| self.ids[pair]);
        order
    }

    /// The same on the device.
    fn sort(&self, bench: &Bench) -> (DeviceBuffer<u32>, DeviceBuffer<u32>) {
        let mut counts = bench.zeroed::<u32>(self.experts);
        let (mut offsets, mut permutation) =
            (bench.zeroed::<u32>(self.experts + 1), bench.zeroed::<u32>(self.ids.len()));
        let ids = bench.upload(&self.ids);
        bench.kernels.moe_sort(&bench.stream, &ids, &mut counts, &mut offsets, &mut permutation).unwrap();
        (offsets, permutation)
    }
}

/// A sum of products and the sum of their magnitudes.
type Sum = (f64, f64);

/// Multiplies in all orders of rows. `matches` compares the results with the sums of products, if there are
/// any.
fn products_match<T: GemmElement>(
    bench: &Bench,
    routing: &Routing,
    (n, k, alpha): (usize, usize, f32),
    pairs_per_row: usize,
    (some, to_f64): (impl Fn(usize, u64) -> Vec<T>, impl Fn(T) -> f64),
    (untouched, matches): (T::Product, impl Fn(&str, Vec<T::Product>, Vec<Option<Sum>>)),
) {
    let (pairs, order) = (routing.ids.len(), routing.sorted());
    let rows = pairs / pairs_per_row;
    let (a, b) = (some(rows * k, 62), some(routing.experts * n * k, 63));
    let wide = |from: &[T]| -> Vec<f64> { from.iter().map(|&x| to_f64(x)).collect() };
    let (wide_a, wide_b) = (wide(&a), wide(&b));
    let products: Vec<Vec<Sum>> = order
        .iter()
        .map(|&pair| {
            let row = &wide_a[pair / pairs_per_row * k..][..k];
            let matrix = &wide_b[routing.ids[pair] as usize * n * k..][..n * k];
            let sum = |column: usize| {
                let products = row.iter().zip(&matrix[column * k..][..k]).map(|(x, y)| x * y);
                products.fold((0.0, 0.0), |(sum, magnitude), x: f64| (sum + x, magnitude + x.abs()))
            };
            (0..n).map(sum).collect()
        })
        .collect();
    let (offsets, permutation) = routing.sort(bench);
    // Pairs without an expert are at the end, and are not read.
    let mut in_order: Vec<T> =
        order.iter().flat_map(|&pair| a[pair / pairs_per_row * k..][..k].iter().copied()).collect();
    in_order.resize(pairs * k, some(1, 64)[0]);
    let (tokens, in_order, matrices) = (bench.upload(&a), bench.upload(&in_order), bench.upload(&b));
    for (gathered, scattered) in [(false, false), (true, false), (false, true), (true, true)] {
        let rows = if gathered { rows } else { pairs };
        let gemm = ExpertGemm { alpha, gathered, scattered, ..ExpertGemm::new(rows, n, k) };
        let mut c = bench.upload(&vec![untouched; pairs * n]);
        let sorted = SortedPairs::new(&offsets, &permutation).unwrap();
        let a = if gathered { &tokens } else { &in_order };
        bench.kernels.gemm_experts(&bench.stream, &gemm, sorted, a, &matrices, &mut c).unwrap();
        let mut expected = vec![None; pairs * n];
        for (at, (pair, products)) in order.iter().zip(&products).enumerate() {
            let row = if scattered { *pair } else { at };
            (0..n).for_each(|column| expected[row * n + column] = Some(products[column]));
        }
        matches(&format!("{gemm:?}"), bench.download(&c), expected);
    }
}

fn floats_match<T: Element + GemmElement<Product: Element>>(
    bench: &Bench,
    routing: &Routing,
    shape: (usize, usize, f32),
    pairs_per_row: usize,
) {
    let untouched = T::Product::from_f64(77.0);
    // gfx90a reads subnormal f16 as 0.
    let normal = |x: T| if x.to_f64().abs() < 6.2e-5 { T::default() } else { x };
    let some = |count, seed| random::<T>(count, seed, 1.0).into_iter().map(normal).collect();
    let (k, alpha) = (shape.1 as f64, f64::from(shape.2));
    let matches = |what: &str, got: Vec<T::Product>, sums: Vec<Option<Sum>>| {
        let expected = sums.into_iter().map(|sum| match sum {
            // as `reference::gemm`
            Some((sum, magnitude)) => {
                let roundoff = f64::from(f32::EPSILON) / 2.0;
                let slack = roundoff * alpha.abs() * (4.0 * k.sqrt() * magnitude + 3.0 * sum.abs());
                Expected { value: alpha * sum, slack }
            }
            None => Expected { value: 77.0, slack: 0.0 },
        });
        let result = compare(&got, expected);
        assert!(result.passed(), "{what} {}: {result:?}", T::NAME);
    };
    products_match::<T>(bench, routing, shape, pairs_per_row, (some, T::to_f64), (untouched, matches));
}

fn integers_match(bench: &Bench, routing: &Routing, (n, k): (usize, usize), pairs_per_row: usize) {
    let some = |count, seed| -> Vec<i8> {
        random::<f32>(count, seed, 128.0).into_iter().map(|x| x.floor() as i8).collect()
    };
    let matches = |what: &str, got: Vec<i32>, sums: Vec<Option<Sum>>| {
        let expected: Vec<i32> =
            sums.into_iter().map(|sum| sum.map_or(77, |(sum, _)| -3 * sum as i32)).collect();
        assert!(exact(got == expected), "{what}");
    };
    products_match::<i8>(bench, routing, (n, k, -3.0), pairs_per_row, (some, f64::from), (77, matches));
}

fn all_match(routing: &Routing, (n, k): (usize, usize), pairs_per_row: usize) {
    let bench = &Bench::open();
    floats_match::<f32>(bench, routing, (n, k, 0.5), pairs_per_row);
    floats_match::<f16>(bench, routing, (n, k, 1.0), pairs_per_row);
    floats_match::<bf16>(bench, routing, (n, k, -2.0), pairs_per_row);
    floats_match::<F8E4M3>(bench, routing, (n, k, 0.25), pairs_per_row);
    integers_match(bench, routing, (n, k), pairs_per_row);
}

#[test]
fn experts_have_any_number_of_pairs() {
    // no rows, one, and around the rows of a block
    all_match(&Routing::spread(&[0, 1, 63, 0, 0, 64, 65, 5, 0], 0), (67, 70), 2);
    all_match(&Routing::spread(&[2, 0, 130], 6), (33, 40), 3);
}

#[test]
fn one_expert_has_all_pairs_or_none() {
    for counts in [&[0, 0, 0, 90][..], &[90, 0, 0, 0], &[0, 90, 0], &[90]] {
        let routing = Routing::spread(counts, 0);
        let bench = &Bench::open();
        floats_match::<f16>(bench, &routing, (20, 264, 1.0), 1);
        integers_match(bench, &routing, (20, 264), 2);
    }
    let bench = &Bench::open();
    floats_match::<f32>(bench, &Routing::spread(&[0, 0], 5), (3, 4, 1.0), 1);
    floats_match::<f32>(bench, &Routing::spread(&[], 5), (3, 4, 1.0), 1);
    floats_match::<f32>(bench, &Routing::spread(&[0, 0], 0), (3, 4, 1.0), 1);
}

#[test]
fn depths_that_pass_through_registers_or_not() {
    let routing = Routing::spread(&[7, 0, 3, 20], 2);
    for (n, k) in [(70, 256), (64, 515), (5, 1), (3, 0), (1, 130)] {
        all_match(&routing, (n, k), 4);
    }
}

#[test]
fn many_experts_with_few_pairs() {
    // More blocks than are launched.
    let counts: Vec<usize> = (0..4200).map(|e| usize::from(e % 60 == 7)).collect();
    let bench = &Bench::open();
    floats_match::<f32>(bench, &Routing::spread(&counts, 0), (3, 5, 1.0), 1);
}

/// A NaN stays in its row, or in the column of its expert.
#[test]
fn special_values_reach_no_other_expert() {
    let bench = Bench::open();
    let (n, k) = (3, 8);
    let routing = Routing { experts: 2, ids: vec![1, 0, 1, 0] };
    let (offsets, permutation) = routing.sort(&bench);
    let (mut a, mut b) = (vec![1.0_f32; 4 * k], vec![1.0_f32; 2 * n * k]);
    a[2 * k + 7] = f32::INFINITY;
    b[n * k + k] = f32::NAN; // expert 1, column 1
    let mut c = bench.upload(&[f32::NAN; 12]);
    let pairs = SortedPairs::new(&offsets, &permutation).unwrap();
    let gemm = ExpertGemm::new(4, n, k).gathered().scattered();
    bench
        .kernels
        .gemm_experts(&bench.stream, &gemm, pairs, &bench.upload(&a), &bench.upload(&b), &mut c)
        .unwrap();
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let expected = [[8.0, nan, 8.0], [8.0; 3], [inf, nan, inf], [8.0; 3]].concat();
    let expected = expected.into_iter().map(|value| Expected { value, slack: 0.0 });
    let result = compare(&bench.download(&c), expected);
    assert!(result.passed(), "{result:?}");
}

#[test]
fn offsets_and_pairs_that_lead_outside_are_faults() {
    for (offsets, permutation, gathered, scattered) in [
        ([0_u32, 2, 5], [0_u32, 1, 2, 3], false, false),
        ([0, 3, 2], [0, 1, 2, 3], false, false),
        ([0, u32::MAX, 4], [0, 1, 2, 3], false, false),
        ([0, 2, 4], [0, 1, 2, 4], true, false),
        ([0, 2, 4], [u32::MAX, 1, 2, 3], false, true),
    ] {
        let bench = Bench::open();
        let (offsets, permutation) = (bench.upload(&offsets), bench.upload(&permutation));
        let (a, b) = (bench.upload(&[1.0_f32; 4 * 2]), bench.upload(&[1.0_f32; 2 * 3 * 2]));
        let mut c = bench.zeroed::<f32>(4 * 3);
        let gemm = ExpertGemm { gathered, scattered, ..ExpertGemm::new(4, 3, 2) };
        let pairs = SortedPairs::new(&offsets, &permutation).unwrap();
        bench.kernels.gemm_experts(&bench.stream, &gemm, pairs, &a, &b, &mut c).unwrap();
        let error = bench.stream.synchronize().unwrap_err();
        assert!(matches!(error, hip::Error::Fault(_)), "{error}");
        if error.is_sticky() {
            // The process has lost its GPU.
            return;
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let bench = Bench::open();
    let (offsets, permutation) = (bench.zeroed::<u32>(3), bench.zeroed::<u32>(6));
    let error = SortedPairs::new(offsets.slice(0..0).unwrap(), &permutation).unwrap_err();
    assert_eq!(error.to_string(), "gemm_experts: `offsets` has 0 elements, but needs 1");
    let pairs = SortedPairs::new(&offsets, &permutation).unwrap();
    assert_eq!((pairs.pairs(), pairs.experts()), (6, 2));
    let (a, b) = (bench.zeroed::<i8>(24), bench.zeroed::<i8>(24));
    let mut c = bench.zeroed::<i32>(18);
    let mut refused = |gemm: ExpertGemm| {
        bench.kernels.gemm_experts(&bench.stream, &gemm, pairs, &a, &b, &mut c).unwrap_err().to_string()
    };
    assert_eq!(refused(ExpertGemm::new(6, 3, 5)), "gemm_experts: `a` has 24 elements, but needs 30");
    assert_eq!(refused(ExpertGemm::new(6, 4, 4)), "gemm_experts: `b` has 24 elements, but needs 32");
    assert_eq!(refused(ExpertGemm::new(6, 4, 3)), "gemm_experts: `c` has 18 elements, but needs 24");
    assert_eq!(refused(ExpertGemm::new(3, 3, 4)), "gemm_experts: `rows` is 3, must be the number of pairs");
    let gathered = ExpertGemm::new(4, 3, 4).gathered();
    assert_eq!(refused(gathered), "gemm_experts: `rows` is 4, must divide the number of pairs");
    let half = ExpertGemm { alpha: 0.5, ..ExpertGemm::new(6, 3, 4) };
    let error = bench.kernels.gemm_experts(&bench.stream, &half, pairs, &a, &b, &mut c).unwrap_err();
    assert!(matches!(error, Error::Value { operation: "gemm_experts", parameter: "alpha", .. }), "{error}");
}
