//! `reduce`: sums and extremes, normalisations and rotary embeddings.

use candle_core::{DType, Result, Tensor};
use half::{bf16, f16};

use crate::common::*;

/// Reduces the dimensions `over` as `FastReduce` does: they go to the end, and a block reduces what becomes
/// one element.
fn reduce<T: Element, O: Element>(gpu: &Gpu, name: &str, input: &Tensor, over: &[usize]) -> Vec<O> {
    let kept = (0..input.rank()).filter(|dim| !over.contains(dim));
    let order: Vec<usize> = kept.chain(over.iter().copied()).collect();
    let dims: Vec<usize> = order.iter().map(|&dim| input.dims()[dim]).collect();
    let strides: Vec<usize> = order.iter().map(|&dim| input.stride()[dim]).collect();
    let elements = input.elem_count();
    let each: usize = over.iter().map(|&dim| input.dims()[dim]).product();
    let results = elements / each;
    let small = each <= 32 && name == "fast_sum";
    let (kernel, grid, block, count) = if small {
        (format!("fast_sum_small_{}", T::name()), results.div_ceil(256), 256, results)
    } else {
        (format!("{name}_{}", T::name()), results, each.min(1024).next_power_of_two(), elements)
    };
    let info = gpu.upload(&[dims, strides].concat());
    let (source, mut out) = (gpu.tensor::<T>(input), gpu.zeroed::<O>(results));
    launch!(gpu, REDUCE, &kernel, grid as u32, block as u32;
        count, each, input.rank(), &info, &source, &mut out);
    gpu.download(&out)
}

/// Tensors and what is reduced of them: fewer than 32 elements, a warp, some of one, more than a block; the
/// end, and what is between.
fn cases<T: Element>(low: f32, high: f32) -> Vec<(String, Tensor, Vec<usize>)> {
    let shape = |dims: &[usize], seed| random::<T>(dims.to_vec(), low, high, seed);
    let mut cases = Vec::new();
    for (dims, over) in [
        (vec![70, 8], vec![1]),
        (vec![9, 32], vec![1]),
        (vec![6, 33], vec![1]),
        (vec![3, 64], vec![1]),
        (vec![5, 1000], vec![1]),
        (vec![2, 3001], vec![1]),
        (vec![7, 50, 9], vec![1]),
        (vec![40, 6, 11], vec![0]),
        (vec![4, 20, 30], vec![1, 2]),
    ] {
        let name = format!("{dims:?} over {over:?}");
        cases.push((name, shape(&dims, cases.len() as u32), over));
    }
    let transposed = shape(&[100, 45], 90).t().unwrap();
    cases.push(("transposed".to_owned(), transposed, vec![1]));
    cases
}

fn sums<T: Element>(low: f32, high: f32, tolerance: impl Fn(usize) -> Tolerance) {
    let gpu = gpu();
    for (case, input, over) in cases::<T>(low, high) {
        let each: usize = over.iter().map(|&dim| input.dims()[dim]).product();
        let expected = if T::DTYPE == DType::F16 || T::DTYPE == DType::BF16 {
            // The CPU backend adds in halves.
            input.to_dtype(DType::F32).unwrap().sum(over.clone()).unwrap().to_dtype(T::DTYPE).unwrap()
        } else {
            input.sum(over.clone()).unwrap()
        };
        let what = format!("fast_sum_{} {case}", T::name());
        compare(&what, &reduce::<T, T>(&gpu, "fast_sum", &input, &over), &expected, tolerance(each));
    }
}

#[test]
fn sums_of_floats() {
    // One rounding for each addition at most, of sums up to the number of elements.
    sums::<f32>(-1.0, 1.0, |each| within(1e-6, each as f64 * 1e-7));
    sums::<f64>(-1.0, 1.0, |each| within(1e-14, each as f64 * 1e-15));
    // `fast_sum_f16` adds in halves, some numbers in each thread and those of the threads in pairs.
    sums::<f16>(0.0, 1.0, |_| within(1e-2, 1e-2));
    sums::<bf16>(0.0, 1.0, |_| within(1e-2, 1e-2));
}

#[test]
fn sums_of_integers() {
    sums::<u32>(0.0, 1000.0, |_| EXACT);
    sums::<i64>(-1000.0, 1000.0, |_| EXACT);
}

fn extremes<T: Element>(low: f32, high: f32) {
    let gpu = gpu();
    for (case, input, over) in cases::<T>(low, high) {
        // The CPU backend takes one dimension at a time.
        if over.len() > 1 {
            continue;
        }
        let dim = over[0];
        let what = |name: &str| format!("{name}_{} {case}", T::name());
        let found = reduce::<T, T>(&gpu, "fast_max", &input, &over);
        compare(&what("fast_max"), &found, &input.max(dim).unwrap(), EXACT);
        let found = reduce::<T, T>(&gpu, "fast_min", &input, &over);
        compare(&what("fast_min"), &found, &input.min(dim).unwrap(), EXACT);

        if cfg!(own_kernels) {
            let found = reduce::<T, u32>(&gpu, "fast_argmax", &input, &over);
            compare(&what("fast_argmax"), &found, &input.argmax(dim).unwrap(), EXACT);
            let found = reduce::<T, u32>(&gpu, "fast_argmin", &input, &over);
            compare(&what("fast_argmin"), &found, &input.argmin(dim).unwrap(), EXACT);
            continue;
        }
        // Where several are equal, candle's kernels take any of them. So the elements at the indices are
        // compared.
        let at = |indices: Vec<u32>, dims: &[usize]| {
            let indices = to_tensor(indices, dims.to_vec()).unsqueeze(dim).unwrap();
            input.contiguous().unwrap().gather(&indices, dim).unwrap().squeeze(dim).unwrap()
        };
        let (largest, smallest) = (input.max(dim).unwrap(), input.min(dim).unwrap());
        let found = reduce::<T, u32>(&gpu, "fast_argmax", &input, &over);
        let there = at(found, largest.dims()).flatten_all().unwrap().to_vec1::<T>().unwrap();
        compare(&what("fast_argmax"), &there, &largest, EXACT);
        let found = reduce::<T, u32>(&gpu, "fast_argmin", &input, &over);
        let there = at(found, smallest.dims()).flatten_all().unwrap().to_vec1::<T>().unwrap();
        compare(&what("fast_argmin"), &there, &smallest, EXACT);
    }
}

#[test]
fn extremes_of_floats() {
    extremes::<f32>(-9.0, 9.0);
    extremes::<f64>(-9.0, 9.0);
    extremes::<f16>(-9.0, 9.0);
    extremes::<bf16>(-9.0, 9.0);
}

#[test]
fn extremes_of_integers() {
    extremes::<u8>(0.0, 255.0);
    extremes::<u32>(0.0, 1e6);
    extremes::<i64>(-1e6, 1e6);
}

#[test]
fn indices_of_extremes_are_those_of_the_cpu_where_all_differ() {
    let gpu = gpu();
    let values: Vec<f32> =
        (0..6).flat_map(|row| shuffled(700, row)).map(|value| value as f32 - 350.0).collect();
    let input = to_tensor(values, (6, 700));
    let found = reduce::<f32, u32>(&gpu, "fast_argmax", &input, &[1]);
    compare("fast_argmax_f32", &found, &input.argmax(1).unwrap(), EXACT);
    let found = reduce::<f32, u32>(&gpu, "fast_argmin", &input, &[1]);
    compare("fast_argmin_f32", &found, &input.argmin(1).unwrap(), EXACT);
}

/// With candle's kernels, what comes of a NaN depends on which threads meet.
#[cfg(own_kernels)]
#[test]
fn searches_pass_over_nan_as_those_of_the_cpu() {
    let gpu = gpu();
    let mut values = noise(4 * 300, 91);
    for at in [0, 305, 599, 700, 701] {
        values[at] = f32::NAN;
    }
    values[900..].fill(f32::NAN);
    let input = to_tensor(values, (4, 300));
    for (name, expected) in [("fast_max", input.max(1)), ("fast_min", input.min(1))] {
        compare(name, &reduce::<f32, f32>(&gpu, name, &input, &[1]), &expected.unwrap(), EXACT);
    }
    for (name, expected) in [("fast_argmax", input.argmax(1)), ("fast_argmin", input.argmin(1))] {
        compare(name, &reduce::<f32, u32>(&gpu, name, &input, &[1]), &expected.unwrap(), EXACT);
    }
}

/// Rows of fewer columns than a warp has lanes, of as many, of more, and from 1024 on, where blocks have 1024
/// threads.
const ROWS: [(usize, usize); 6] = [(5, 7), (6, 32), (4, 100), (3, 1023), (2, 1024), (3, 2500)];

#[test]
fn softmax() {
    fn of<T: Element>(gpu: &Gpu, tolerance: Tolerance) {
        for (rows, columns) in ROWS {
            let input = random::<T>((rows, columns), -5.0, 5.0, 20);
            let (source, mut out) = (gpu.tensor::<T>(&input), gpu.zeroed::<T>(rows * columns));
            let name = format!("softmax_{}", T::name());
            launch!(gpu, REDUCE, &name, rows as u32, (1, 32); &source, &mut out, columns as i32);
            // The CPU backend adds in halves.
            let wide = if T::DTYPE == DType::F64 { DType::F64 } else { DType::F32 };
            let expected = candle_nn::ops::softmax_last_dim(&input.to_dtype(wide).unwrap()).unwrap();
            let expected = expected.to_dtype(T::DTYPE).unwrap();
            compare(&format!("{name} {rows} × {columns}"), &gpu.download(&out), &expected, tolerance);
        }
    }
    let gpu = gpu();
    of::<f32>(&gpu, within(1e-5, 1e-9));
    of::<f64>(&gpu, within(1e-12, 1e-15));
    // Halves: exponentials and quotients are rounded to the type, and the difference that is exponentiated.
    of::<f16>(&gpu, within(1e-2, 1e-6));
    of::<bf16>(&gpu, within(6e-2, 1e-6));
}

#[test]
fn rms_norm() {
    fn of<T: Element>(gpu: &Gpu, tolerance: Tolerance) {
        for (rows, columns) in ROWS {
            let input = random::<T>((rows, columns), -2.0, 3.0, 21);
            let alpha = random::<T>(columns, 0.5, 1.5, 22);
            let block = if columns < 1024 { 32 } else { 1024 };
            let (source, weight) = (gpu.tensor::<T>(&input), gpu.tensor::<T>(&alpha));
            let mut out = gpu.zeroed::<T>(rows * columns);
            let name = format!("rmsnorm_{}", T::name());
            launch!(gpu, REDUCE, &name, rows as u32, block;
                &source, &mut out, &weight, columns as i32, block as i32, 1e-5_f32);
            let expected = candle_nn::ops::rms_norm(&input, &alpha, 1e-5).unwrap();
            compare(&format!("{name} {rows} × {columns}"), &gpu.download(&out), &expected, tolerance);
        }
    }
    let gpu = gpu();
    of::<f32>(&gpu, within(1e-5, 1e-6));
    of::<f16>(&gpu, within(4e-3, 1e-3));
    of::<bf16>(&gpu, within(3e-2, 1e-2));
}

#[test]
fn layer_norm() {
    fn of<T: Element>(gpu: &Gpu, tolerance: Tolerance) {
        for (rows, columns) in ROWS {
            let input = random::<T>((rows, columns), -2.0, 3.0, 23);
            let (alpha, beta) = (random::<T>(columns, 0.5, 1.5, 24), random::<T>(columns, -1.0, 1.0, 25));
            let block = if columns < 1024 { 32 } else { 1024 };
            let source = gpu.tensor::<T>(&input);
            let (scale, shift) = (gpu.tensor::<T>(&alpha), gpu.tensor::<T>(&beta));
            let mut out = gpu.zeroed::<T>(rows * columns);
            let name = format!("layernorm_{}", T::name());
            launch!(gpu, REDUCE, &name, rows as u32, block;
                &source, &mut out, &scale, &shift, columns as i32, block as i32, 1e-5_f32);
            let expected = candle_nn::ops::layer_norm(&input, &alpha, &beta, 1e-5).unwrap();
            compare(&format!("{name} {rows} × {columns}"), &gpu.download(&out), &expected, tolerance);
        }
    }
    let gpu = gpu();
    // The mean is subtracted: what cancels leaves roundings of the sums.
    of::<f32>(&gpu, within(2e-5, 1e-5));
    of::<f16>(&gpu, within(5e-3, 5e-3));
    of::<bf16>(&gpu, within(3e-2, 3e-2));
}

type Rope = fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>;

#[test]
fn rotary_embeddings() {
    fn of<T: Element>(gpu: &Gpu) {
        let (b, h, t, d) = (2_usize, 3_usize, 17_usize, 20_usize);
        let ropes: [(&str, Rope); 3] = [
            ("rope", candle_nn::rotary_emb::rope),
            ("rope_i", candle_nn::rotary_emb::rope_i),
            ("rope_thd", candle_nn::rotary_emb::rope_thd),
        ];
        for (root, on_cpu) in ropes {
            // The angles are those of all sequences, or each has its own.
            for batched in [false, true] {
                let shape = if root == "rope_thd" { (b, t, h, d) } else { (b, h, t, d) };
                let input = random::<T>(shape, -2.0, 2.0, 26);
                let angles =
                    random::<f32>(if batched { vec![b, t, d / 2] } else { vec![t, d / 2] }, -3.0, 3.0, 27);
                let cos = angles.cos().unwrap().to_dtype(T::DTYPE).unwrap();
                let sin = angles.sin().unwrap().to_dtype(T::DTYPE).unwrap();
                let stride = if batched { (h * t * d) as u32 } else { 0 };
                let count = b * h * t * d;
                let (grid, block) = for_elements(count / 2);
                let source = gpu.tensor::<T>(&input);
                let (c, s) = (gpu.tensor::<T>(&cos), gpu.tensor::<T>(&sin));
                let mut out = gpu.zeroed::<T>(count);
                let name = format!("{root}_{}", T::name());
                let (bh, td, d) = ((b * h) as u32, (t * d) as u32, d as u32);
                match root {
                    "rope" => launch!(gpu, REDUCE, &name, grid, block;
                        &source, &c, &s, &mut out, bh, td, d, stride),
                    "rope_i" => launch!(gpu, REDUCE, &name, grid, block;
                        &source, &c, &s, &mut out, bh, td, stride),
                    _ => launch!(gpu, REDUCE, &name, grid, block;
                        &source, &c, &s, &mut out, b as u32, t as u32, h as u32, d, stride),
                }
                let expected = on_cpu(&input, &cos, &sin).unwrap();
                let what = format!("{name}, {}", if batched { "batched" } else { "not batched" });
                compare(&what, &gpu.download(&out), &expected, T::STEPS);
            }
        }
    }
    let gpu = gpu();
    of::<f32>(&gpu);
    of::<f64>(&gpu);
    of::<f16>(&gpu);
    of::<bf16>(&gpu);
}
