use std::sync::Arc;

use cudarc::curand::sys::{curandRngType_t, curandStatus_t};
use cudarc::curand::{CudaRng, result};
use cudarc::driver::{CudaStream, DevicePtrMut, DeviceRepr, ValidAsZeroBits};

use crate::device;

/// Philox4x32-10 as in its paper.
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let [c0, c1, c2, c3] = counter;
        let (first, second) = (u64::from(c0) * 0xD251_1F53, u64::from(c2) * 0xCD9E_8D57);
        let high = |product: u64| (product >> 32) as u32;
        counter = [high(second) ^ c1 ^ key[0], second as u32, high(first) ^ c3 ^ key[1], first as u32];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    counter
}

fn words(seed: u64, blocks: std::ops::Range<u64>) -> Vec<u32> {
    let key = [seed as u32, (seed >> 32) as u32];
    blocks.flat_map(|block| philox([block as u32, (block >> 32) as u32, 0, 0], key)).collect()
}

#[test]
fn the_model_has_the_known_answers() {
    // From the authors' library Random123, file kat_vectors.
    assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    assert_eq!(philox([!0; 4], [!0; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    let pi = ([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]);
    assert_eq!(philox(pi.0, pi.1), [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
}

fn uniform<T: DeviceRepr + ValidAsZeroBits>(rng: &CudaRng, stream: &Arc<CudaStream>, count: usize) -> Vec<T>
where
    cudarc::curand::sys::curandGenerator_t: result::UniformFill<T>,
{
    let mut memory = stream.alloc_zeros::<T>(count).unwrap();
    rng.fill_with_uniform(&mut memory).unwrap();
    stream.clone_dtoh(&memory).unwrap()
}

#[test]
fn words_are_philoxs_in_order() {
    let (_, stream) = device();
    for seed in [0, 1, 299_792_458, u64::MAX - 5] {
        let mut rng = CudaRng::new(seed, stream.clone()).unwrap();
        let expected = words(seed, 0..300);
        // Several calls continue where the last one ended, wherever that was.
        let mut got = Vec::new();
        for count in [1, 2, 5, 0, 64, 333, 795] {
            got.extend(uniform::<u32>(&rng, &stream, count));
        }
        assert_eq!(got, expected[..1200]);
        rng.set_offset(17).unwrap();
        assert_eq!(uniform::<u32>(&rng, &stream, 100), expected[17..117]);
        // Pairs begin at even places.
        let pairs = uniform::<u64>(&rng, &stream, 50);
        let expected = expected[118..218].chunks(2).map(|pair| u64::from(pair[1]) << 32 | u64::from(pair[0]));
        assert_eq!(pairs, expected.collect::<Vec<_>>());
        rng.set_offset(1 << 36).unwrap();
        assert_eq!(uniform::<u32>(&rng, &stream, 8), words(seed, (1 << 34)..(1 << 34) + 2));
        rng.set_seed(seed).unwrap();
        assert_eq!(uniform::<u32>(&rng, &stream, 4), words(seed, 0..1));
    }
}

#[test]
fn uniform_numbers_are_the_words_over_their_range() {
    let (_, stream) = device();
    let rng = CudaRng::new(7, stream.clone()).unwrap();
    let single = uniform::<f32>(&rng, &stream, 4000);
    for (got, word) in single.iter().zip(words(7, 0..1000)) {
        let expected = (f64::from(word) + 0.5) / f64::from(u32::MAX);
        assert!(
            0.0 < *got && *got <= 1.0 && (f64::from(*got) - expected).abs() < 2e-7,
            "{got} for {expected}"
        );
    }
    let double = uniform::<f64>(&rng, &stream, 4000);
    let mean = double.iter().sum::<f64>() / 4000.0;
    // Six standard deviations of the mean.
    assert!((mean - 0.5).abs() < 6.0 * (1.0_f64 / 12.0 / 4000.0).sqrt(), "{mean}");
    assert!(double.iter().all(|number| 0.0 < *number && *number <= 1.0));
}

/// Mean, variance, and the share beyond two standard deviations on each side.
fn moments(numbers: &[f64], mean: f64, deviation: f64) -> (f64, f64, f64, f64) {
    let count = numbers.len() as f64;
    let average = numbers.iter().sum::<f64>() / count;
    let variance = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / count;
    let beyond =
        |far: &dyn Fn(f64) -> bool| numbers.iter().filter(|number| far(**number)).count() as f64 / count;
    let below = beyond(&|number| number < mean - 2.0 * deviation);
    (average, variance, below, beyond(&|number| number > mean + 2.0 * deviation))
}

fn assert_normal(numbers: &[f64], mean: f64, deviation: f64) {
    let count = numbers.len() as f64;
    let (average, variance, below, above) = moments(numbers, mean, deviation);
    assert!((average - mean).abs() < 6.0 * deviation / count.sqrt(), "{average} for {mean}");
    let spread = (variance / deviation.powi(2) - 1.0).abs();
    assert!(spread < 6.0 * (2.0 / count).sqrt(), "{variance} for {}", deviation.powi(2));
    // 2.275 % on each side.
    for share in [below, above] {
        assert!((share - 0.02275).abs() < 6.0 * (0.02275_f64 / count).sqrt(), "{share}");
    }
}

#[test]
fn normal_numbers_have_mean_deviation_and_tails() {
    let (_, stream) = device();
    let rng = CudaRng::new(3, stream.clone()).unwrap();
    let mut single = stream.alloc_zeros::<f32>(20_001).unwrap();
    rng.fill_with_normal(&mut single, 2.0, 0.5).unwrap();
    let single: Vec<f64> = stream.clone_dtoh(&single).unwrap().into_iter().map(f64::from).collect();
    assert_normal(&single, 2.0, 0.5);
    let mut double = stream.alloc_zeros::<f64>(20_001).unwrap();
    rng.fill_with_normal(&mut double, -1.0, 3.0).unwrap();
    let double = stream.clone_dtoh(&double).unwrap();
    assert_normal(&double, -1.0, 3.0);
    // Neighbours, which come from the same words, are independent.
    let products = double.windows(2).map(|pair| (pair[0] + 1.0) * (pair[1] + 1.0) / 9.0);
    let correlation = products.sum::<f64>() / 20_000.0;
    assert!(correlation.abs() < 6.0 / 20_000_f64.sqrt(), "{correlation}");
    let mut logarithms = stream.alloc_zeros::<f64>(20_000).unwrap();
    rng.fill_with_log_normal(&mut logarithms, 0.25, 0.5).unwrap();
    let logarithms: Vec<f64> = stream.clone_dtoh(&logarithms).unwrap().into_iter().map(f64::ln).collect();
    assert_normal(&logarithms, 0.25, 0.5);
    let mut single = stream.alloc_zeros::<f32>(20_000).unwrap();
    rng.fill_with_log_normal(&mut single, 0.0, 1.0).unwrap();
    let single: Vec<f64> =
        stream.clone_dtoh(&single).unwrap().into_iter().map(|n| f64::from(n).ln()).collect();
    assert_normal(&single, 0.0, 1.0);
}

#[test]
fn poisson_numbers_have_its_distribution() {
    let (_, stream) = device();
    let generator = result::create_generator().unwrap();
    let count = 20_000;
    let mut memory = stream.alloc_zeros::<u32>(count).unwrap();
    for lambda in [0.0, 0.5, 4.0, 9.9, 10.0, 30.0, 1000.0, 400_000.0_f64] {
        let (address, written) = memory.device_ptr_mut(&stream);
        // SAFETY: there is room for this many numbers, and the generator lives.
        unsafe { result::generate::poisson_u32(generator, address as *mut u32, count, lambda) }.unwrap();
        drop(written);
        let numbers: Vec<f64> = stream.clone_dtoh(&memory).unwrap().into_iter().map(f64::from).collect();
        let (average, variance, ..) = moments(&numbers, lambda, lambda.sqrt());
        let bound = 6.0 * (lambda / count as f64).sqrt();
        assert!((average - lambda).abs() <= bound, "{average} for {lambda}");
        // The variance of the squares is lambda + 2 lambda^2.
        let bound = 6.0 * ((lambda + 2.0 * lambda * lambda) / count as f64).sqrt();
        assert!((variance - lambda).abs() <= bound, "{variance} for {lambda}");
        // The probability of zero: e^-lambda.
        let none = numbers.iter().filter(|number| **number == 0.0).count() as f64 / count as f64;
        let expected = (-lambda).exp();
        let bound = 6.0 * (expected * (1.0 - expected) / count as f64).sqrt();
        assert!((none - expected).abs() <= bound, "{none} for {expected}");
    }
    // SAFETY: nothing is written, and the generator is ended once.
    unsafe {
        let error = result::generate::poisson_u32(generator, std::ptr::null_mut(), 1, -1.0).unwrap_err();
        assert_eq!(error.0, curandStatus_t::CURAND_STATUS_OUT_OF_RANGE);
        result::destroy_generator(generator).unwrap();
    }
}

#[test]
fn kinds_that_are_not_there_are_errors() {
    device();
    let error = result::create_generator_kind(curandRngType_t::CURAND_RNG_QUASI_SOBOL32).unwrap_err();
    assert_eq!(error.0, curandStatus_t::CURAND_STATUS_TYPE_ERROR);
    let philox = result::create_generator_kind(curandRngType_t::CURAND_RNG_PSEUDO_PHILOX4_32_10).unwrap();
    // SAFETY: the generator was made just now, and is ended once; the other one is none.
    unsafe {
        result::destroy_generator(philox).unwrap();
        let error = result::set_seed(std::ptr::null_mut(), 1).unwrap_err();
        assert_eq!(error.0, curandStatus_t::CURAND_STATUS_NOT_INITIALIZED);
    }
}
