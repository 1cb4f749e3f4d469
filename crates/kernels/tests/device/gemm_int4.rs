//! Products with matrices of 4-bit numbers against f64 on the CPU.

use kernels::reference::Expected;
use kernels::{Error, Int4Element, Int4Gemm, Int4Weights};

use crate::common::{Bench, random};
use crate::record::compare;

fn product_matches<T: Int4Element>(bench: &Bench, gemm: &Int4Gemm, with_zeros: bool) {
    let &Int4Gemm { m, n, k, group, alpha, beta, lda, ldc } = gemm;
    let a = random::<T>((m - 1) * lda + k, 51, 1.0);
    let numbers: Vec<u8> =
        random::<f32>(n * k / 2, 52, 128.0).into_iter().map(|x| (x + 128.0) as u8).collect();
    let scales = random::<T>(n * k / group, 53, 0.125);
    let zeros: Vec<T> = random::<f32>(n * k / group, 54, 8.0)
        .into_iter()
        .map(|x| T::from_f64((x + 8.0).floor().into()))
        .collect();
    let c = random::<T>((m - 1) * ldc + n, 55, 1.0);
    let mut expected: Vec<Expected> = c.iter().map(|x| Expected { value: x.to_f64(), slack: 0.0 }).collect();
    // in blocks, elements are rounded to the type before they are multiplied
    let in_blocks = m > 4;
    for row in 0..m {
        for column in 0..n {
            let (mut sum, mut magnitude) = (0.0, 0.0);
            for d in 0..k {
                let byte = numbers[(column * k + d) / 2];
                let number = f64::from(if d % 2 == 0 { byte & 15 } else { byte >> 4 });
                let at = (column * k + d) / group;
                let zero = if with_zeros { zeros[at].to_f64() } else { 8.0 };
                let exact = scales[at].to_f64() * (number - zero);
                let element = if in_blocks { T::from_f64(exact).to_f64() } else { exact };
                sum += a[row * lda + d].to_f64() * element;
                magnitude += (a[row * lda + d].to_f64() * element).abs();
            }
            let (product, old) = (f64::from(alpha) * sum, f64::from(beta) * c[row * ldc + column].to_f64());
            // as `reference::gemm`; where the device reads the smallest f16 as 0, they are lost
            let accumulated =
                4.0 * (k as f64).sqrt() * f32::EPSILON as f64 / 2.0 * f64::from(alpha).abs() * magnitude;
            let lost = if T::NAME == "f16" { k as f64 * 6.2e-5 * 6.2e-5 + 6.2e-5 * 0.1 } else { 0.0 };
            let slack = accumulated + lost + 2e-7 * (product.abs() + old.abs());
            expected[row * ldc + column] = Expected { value: product + old, slack };
        }
    }
    let (device_a, device_numbers, device_scales) =
        (bench.upload(&a), bench.upload(&numbers), bench.upload(&scales));
    let (device_zeros, mut device_c) = (bench.upload(&zeros), bench.upload(&c));
    let weights = Int4Weights::new(&device_numbers, &device_scales);
    let weights = if with_zeros { weights.zeros(&device_zeros) } else { weights };
    bench.kernels.gemm_int4(&bench.stream, gemm, &device_a, weights, &mut device_c).unwrap();
    let result = compare(&bench.download(&device_c), expected);
    assert!(result.passed(), "{gemm:?} {}, zeros {with_zeros}: {result:?}", T::NAME);
}

fn products_match<T: Int4Element>(bench: &Bench) {
    for (m, n, k, group) in
        [(1, 40, 64, 32), (4, 19, 2560, 128), (5, 70, 96, 32), (66, 65, 256, 64), (7, 3, 1024, 1024)]
    {
        let gemm =
            Int4Gemm { alpha: 0.5, beta: -1.0, lda: k + 3, ldc: n + 1, ..Int4Gemm::new(m, n, k, group) };
        product_matches::<T>(bench, &gemm, false);
        product_matches::<T>(bench, &Int4Gemm::new(m, n, k, group), true);
    }
}

#[test]
fn products() {
    products_match::<half::f16>(&Bench::open());
    products_match::<half::bf16>(&Bench::open());
}

#[test]
fn what_does_not_fit_is_refused() {
    let bench = Bench::open();
    let a = bench.zeroed::<half::f16>(8 * 64);
    let numbers = bench.zeroed::<u8>(8 * 32);
    let scales = bench.zeroed::<half::f16>(8 * 2);
    let mut c = bench.zeroed::<half::f16>(8 * 8);
    let mut refused = |gemm: Int4Gemm, zeros: bool| {
        let weights = Int4Weights::new(&numbers, &scales);
        let short = bench.zeroed::<half::f16>(15);
        let weights = if zeros { weights.zeros(&short) } else { weights };
        bench.kernels.gemm_int4(&bench.stream, &gemm, &a, weights, &mut c).unwrap_err()
    };
    let good = Int4Gemm::new(8, 8, 64, 32);
    for (gemm, wrong) in [
        (Int4Gemm { group: 16, ..good }, "group"),
        (Int4Gemm { group: 48, ..good }, "group"),
        (Int4Gemm { group: 128, ..good }, "k"),
        (Int4Gemm { lda: 63, ..good }, "lda"),
        (Int4Gemm { ldc: 7, ..good }, "ldc"),
    ] {
        let error = refused(gemm, false);
        assert!(matches!(error, Error::Size { parameter, .. } if parameter == wrong), "{error}");
    }
    for (gemm, zeros, wrong) in [
        (Int4Gemm::new(9, 7, 64, 32), false, "a"),
        (Int4Gemm::new(1, 9, 64, 32), false, "numbers"),
        (Int4Gemm { lda: 64, ..Int4Gemm::new(1, 17, 32, 32) }, false, "numbers"),
        (Int4Gemm { ldc: 9, ..good }, false, "c"),
        (good, true, "zeros"),
    ] {
        let error = refused(gemm, zeros);
        assert!(matches!(error, Error::Length { buffer, .. } if buffer == wrong), "{error}");
    }
}
