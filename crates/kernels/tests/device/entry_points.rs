//! Kernels by name that can do more than the typed functions.

use hip::DeviceBuffer;
use kernels::{Element, launch_1d, modules};

use crate::common::Bench;
use crate::record::{difference, exact};

const NONE: Option<&DeviceBuffer<f32>> = None;

#[test]
fn no_input_means_in_place() {
    let bench = Bench::open();
    let values: Vec<f32> = (0..37).map(|i| i as f32 - 10.0).collect();
    // The layout is that of an input and must be ignored: these strides lead far outside.
    let info = bench.upload(&[37_u64, 1 << 40]);
    let check = |module, name: &str, expected: &dyn Fn(f32) -> f32| {
        let mut x = bench.upload(&values);
        let kernel = bench.kernels.function(module, name).unwrap();
        let launch = launch_1d(kernel, &bench.stream, 37).arg(37_u64).arg(1_u64).arg(&info);
        let launch = if name == "uelu_f32" { launch.arg(0.5_f32) } else { launch };
        let launch = launch.arg(NONE).arg(&mut x);
        let launch = if name == "affine_f32" { launch.arg(2.0_f32).arg(1.0_f32) } else { launch };
        // SAFETY: the kernels read and write the 37 elements of x.
        unsafe { launch.enqueue().unwrap() };
        for (x, got) in values.iter().zip(bench.download(&x)) {
            let expected = expected(*x);
            difference(f64::from(got), f64::from(expected));
            assert!((got - expected).abs() <= 1e-6 * expected.abs(), "{name} of {x}: {got}, not {expected}");
        }
    };
    check(&modules::UNARY, "uneg_f32", &|x| -x);
    check(&modules::UNARY, "ucopy_f32", &|x| x);
    check(&modules::UNARY, "uelu_f32", &|x| if x > 0.0 { x } else { (0.5 * f64::from(x).exp_m1()) as f32 });
    check(&modules::AFFINE, "affine_f32", &|x| 2.0 * x + 1.0);
}

fn matrices_are_copied<T: Element>(bench: &Bench) {
    // Rows of 32 and of 30 in rows of 48 and 64 or of 33 and 41, from the beginning or not: multiples of 16
    // bytes or not.
    let memory: Vec<T> = (0..1000).map(|i| T::from_f64(f64::from(i % 97))).collect();
    let source = bench.upload(&memory);
    let kernel = bench.kernels.function(&modules::FILL, &format!("copy2d_{}", T::NAME)).unwrap();
    for (columns, from, to, start) in
        [(32, 48, 64, 0), (32, 48, 64, 3), (30, 33, 41, 0), (32, 33, 64, 16), (32, 48, 41, 0)]
    {
        let rows = 11;
        let mut out = bench.zeroed::<T>(1000);
        let launch = launch_1d(kernel, &bench.stream, rows * columns);
        let launch = launch.arg(source.slice(start..).unwrap()).arg(&mut out);
        let launch = launch.arg(rows as u32).arg(columns as u32).arg(from as u32).arg(to as u32);
        // SAFETY: 11 rows of at most 64 are in both.
        unsafe { launch.enqueue().unwrap() };
        let mut expected = vec![T::default(); 1000];
        for row in 0..rows {
            expected[row * to..][..columns].copy_from_slice(&memory[start + row * from..][..columns]);
        }
        assert!(exact(bench.download(&out) == expected), "{} {columns} {from} {to} {start}", T::NAME);
    }
}

#[test]
fn matrices_between_pitches() {
    let bench = Bench::open();
    matrices_are_copied::<u8>(&bench);
    matrices_are_copied::<half::f16>(&bench);
    matrices_are_copied::<f32>(&bench);
    matrices_are_copied::<f64>(&bench);
}

#[test]
fn one_workgroup_sorts_more_columns_than_it_has_work_items() {
    // As candle launches it, up to the capacity of LDS.
    let bench = Bench::open();
    let kernel = bench.kernels.function(&modules::SORT, "asort_desc_u32").unwrap();
    let (rows, columns, padded) = (2, 9000, 16_384);
    let values: Vec<u32> = (0..rows * columns as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 22).collect();
    let (x, mut order) = (bench.upload(&values), bench.zeroed::<u32>(values.len()));
    let launch = kernel.launch(&bench.stream).grid(rows).block(1024_u32).dynamic_lds(4 * padded as u32);
    let launch = launch.arg(&x).arg(&mut order).arg(columns as i32).arg(padded);
    // SAFETY: x and the order have two rows of 9000.
    unsafe { launch.enqueue().unwrap() };
    for (row, found) in values.chunks(columns).zip(bench.download(&order).chunks(columns)) {
        let mut expected: Vec<u32> = (0..columns as u32).collect();
        expected.sort_by_key(|&i| std::cmp::Reverse(row[i as usize]));
        assert!(exact(found == expected));
    }
}
