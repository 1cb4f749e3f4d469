//! `cuda::std` and `cuda`.

use cuda_trees_test::headers;

use crate::common::{assert_close, bits, gpu, launch, noise};

#[test]
fn values_containers_and_algorithms() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::STANDARD);
    let input: Vec<f32> = noise(2 * 64, 110);
    let numbers = gpu.upload(&input);
    let mut output = gpu.zeroed::<f64>(64 * 24);
    launch!(gpu, module, "values", 1, 64; &numbers, &mut output);
    for (pair, found) in input.chunks(2).zip(gpu.download(&output).chunks(24)) {
        let (single, y) = (pair[0], f64::from(pair[1]));
        let (x, bits) = (f64::from(single), single.to_bits());
        let expected = [
            2.0 * x + y,
            34.0,
            x.min(y),
            x.max(y),
            if x > 0.0 { x } else { -1.0 },
            f64::from(u8::from(x > 0.0)),
            x * x - y * y,
            2.0 * x * y,
            x * x + y * y,
            f64::from(bits.count_ones()),
            f64::from((bits >> 3).leading_zeros()),
            f64::from((bits | 64).trailing_zeros()),
            f64::from(bits.rotate_left(7)),
            x.clamp(-0.5, 0.5),
            1.0 + 3.0 * x + y,
            3.0 * (x - y),
            [-1.0, -0.5, 0.0, 0.5, 1.0].iter().filter(|bound| **bound < x).count() as f64,
            2.0 * x.abs() + y.floor() + 1.0,
            3.0,
            10.0 + y,
            f64::from(((single * 100.0) as i32 + 200 + 6) / 7 + 16000),
            x.max(y) + x + y,
            1.0,
            7.0,
        ];
        assert_close(found, &expected, 1e-6, &format!("{pair:?}"));
    }
}

#[test]
fn built_in_atomics_of_every_scope_and_order() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::STANDARD);
    let values: Vec<i32> = bits(256, 117).into_iter().map(|x| (x as i32) >> 16).collect();
    let input = gpu.upload(&values);
    let mut output = gpu.upload(&[0, 0, 0, 0, 0, 0, -1, 0, 0]);
    let (mut sums, mut wide) = (gpu.zeroed::<f64>(1), gpu.zeroed::<u64>(1));
    launch!(gpu, module, "built_in_atomics", 2, 128; &input, &mut output, &mut sums, &mut wide);
    let sum: i32 = values.iter().sum();
    let expected = [
        sum,
        *values.iter().max().unwrap(),
        *values.iter().min().unwrap(),
        values.iter().fold(0, |or, v| or | 1 << (v & 31)),
        values.iter().fold(0, |xor, v| xor ^ v),
        -sum,
        values.iter().fold(-1, |and, v| and & !v),
        sum,
        1,
    ];
    assert_eq!(gpu.download(&output), expected);
    assert_eq!(gpu.download(&sums), [f64::from(sum) * 0.5]);
    let square = |v: &i32| (i64::from(*v) * i64::from(*v)) as u64;
    assert_eq!(gpu.download(&wide), [values.iter().map(square).max().unwrap() << 20]);
}

#[test]
fn atomics_of_every_scope_and_order() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::STANDARD);
    let values: Vec<i32> = bits(256, 111).into_iter().map(|x| (x as i32) >> 16).collect();
    let input = gpu.upload(&values);
    let mut output = gpu.zeroed::<i32>(8);
    let (mut sums, mut wide) = (gpu.zeroed::<f64>(1), gpu.zeroed::<u64>(1));
    launch!(gpu, module, "atomics", 2, 128; &input, &mut output, &mut sums, &mut wide);
    let sum: i32 = values.iter().sum();
    let expected = [
        sum,
        *values.iter().max().unwrap(),
        *values.iter().min().unwrap(),
        values.iter().fold(0, |or, v| or | 1 << (v & 31)),
        values.iter().fold(0, |xor, v| xor ^ v),
        -sum,
        256,
        sum,
    ];
    assert_eq!(gpu.download(&output), expected);
    assert_eq!(gpu.download(&sums), [f64::from(sum) * 0.5]);
    let square = |v: &i32| (i64::from(*v) * i64::from(*v)) as u64;
    assert_eq!(gpu.download(&wide), [values.iter().map(square).max().unwrap() << 20]);
}

#[test]
fn latches_and_semaphores_order_waves() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::STANDARD);
    let (mut output, mut sums) = (gpu.zeroed::<i32>(257), gpu.zeroed::<i32>(256));
    launch!(gpu, module, "waits", 1, 256; &mut output, &mut sums);
    assert_eq!(gpu.download(&sums), [256 * 257 / 2; 256]);
    // The semaphore was held once for each 64 threads, never twice at a time.
    assert_eq!(gpu.download(&output)[256], 4);
}
