//! `indexing`: selecting, gathering, adding and scattering.

use candle_core::Tensor;
use half::{bf16, f16};

use crate::common::*;

/// Sizes before, in and behind a dimension.
fn sizes(dims: &[usize], dim: usize) -> (usize, usize, usize) {
    (dims[..dim].iter().product(), dims[dim], dims[dim + 1..].iter().product())
}

/// Indices below `limit`, some more than once.
fn indices<I: Element>(shape: &[usize], limit: usize, seed: u32) -> Tensor {
    random::<f32>(shape.to_vec(), 0.0, limit as f32 - 0.01, seed).floor().unwrap().to_dtype(I::DTYPE).unwrap()
}

/// Does it for the types of indices and of elements.
macro_rules! for_types {
    ($gpu:expr, $function:ident) => {{
        for_types!($gpu, $function, u32: f32, f64, f16, bf16, u8, u32, i64);
        for_types!($gpu, $function, i64: f32, f64, f16, bf16, u8, u32, i64);
        for_types!($gpu, $function, u8: f32, f64, f16, bf16, u8, u32);
    }};
    ($gpu:expr, $function:ident, $ids:ty: $($type:ty),*) => { $($function::<$ids, $type>($gpu);)* };
}

const SHAPE: [usize; 3] = [6, 19, 10];

#[test]
fn index_select() {
    fn of<I: Element, T: Element>(gpu: &Gpu) {
        let input = random::<T>(SHAPE.to_vec(), 0.0, 100.0, 30);
        for (dim, limit) in SHAPE.into_iter().enumerate() {
            let ids = indices::<I>(&[31], limit, 31 + dim as u32);
            let (left, source_size, right) = sizes(&SHAPE, dim);
            let count = 31 * left * right;
            let (grid, block) = for_elements(count);
            let info = gpu.dims_and_strides(&ids);
            let (i, source, mut out) =
                (gpu.tensor::<I>(&ids), gpu.tensor::<T>(&input), gpu.zeroed::<T>(count));
            let name = format!("is_{}_{}", I::name(), T::name());
            launch!(gpu, INDEXING, &name, grid, block;
                count, 1_usize, &info, &i, &source, &mut out, left, source_size, 31_usize, right);
            let expected = input.index_select(&ids, dim).unwrap();
            compare(&format!("{name} of {dim}"), &gpu.download(&out), &expected, EXACT);
        }
    }
    let gpu = gpu();
    for_types!(&gpu, of);
}

#[test]
fn gather() {
    fn of<I: Element, T: Element>(gpu: &Gpu) {
        let input = random::<T>(SHAPE.to_vec(), 0.0, 100.0, 32);
        for dim in 0..3 {
            let mut shape = SHAPE;
            shape[dim] = 23;
            let ids = indices::<I>(&shape, SHAPE[dim], 33 + dim as u32);
            let (left, source_size, right) = sizes(&SHAPE, dim);
            let count = ids.elem_count();
            let (grid, block) = for_elements(count);
            let (i, source, mut out) =
                (gpu.tensor::<I>(&ids), gpu.tensor::<T>(&input), gpu.zeroed::<T>(count));
            let name = format!("gather_{}_{}", I::name(), T::name());
            launch!(gpu, INDEXING, &name, grid, block;
                count, &i, &source, &mut out, left, source_size, 23_usize, right);
            let expected = input.gather(&ids, dim).unwrap();
            compare(&format!("{name} of {dim}"), &gpu.download(&out), &expected, EXACT);
        }
    }
    let gpu = gpu();
    for_types!(&gpu, of);
}

#[test]
fn index_add() {
    fn of<I: Element, T: Element>(gpu: &Gpu) {
        // Small whole numbers: sums are exact in all types, in any order.
        let input = random::<f32>(SHAPE.to_vec(), 0.0, 7.9, 34).floor().unwrap().to_dtype(T::DTYPE).unwrap();
        for dim in 0..3 {
            let ids = indices::<I>(&[SHAPE[dim]], 8, 35 + dim as u32);
            let mut shape = SHAPE;
            shape[dim] = 9;
            let target =
                random::<f32>(shape.to_vec(), 0.0, 7.9, 36).floor().unwrap().to_dtype(T::DTYPE).unwrap();
            let (left, source_size, right) = sizes(&SHAPE, dim);
            let (grid, block) = for_elements(left * right);
            let (i, source, mut out) =
                (gpu.tensor::<I>(&ids), gpu.tensor::<T>(&input), gpu.tensor::<T>(&target));
            let name = format!("ia_{}_{}", I::name(), T::name());
            launch!(gpu, INDEXING, &name, grid, block;
                &i, source_size, &source, &mut out, left, source_size, 9_usize, right);
            let expected = target.index_add(&ids, &input, dim).unwrap();
            compare(&format!("{name} of {dim}"), &gpu.download(&out), &expected, EXACT);
        }
    }
    let gpu = gpu();
    for_types!(&gpu, of);
}

#[test]
fn scatter_and_scatter_add() {
    fn of<I: Element, T: Element>(gpu: &Gpu) {
        let input = random::<f32>(SHAPE.to_vec(), 0.0, 7.9, 37).floor().unwrap().to_dtype(T::DTYPE).unwrap();
        for dim in 0..3 {
            let mut shape = SHAPE;
            shape[dim] = 12;
            let ids = indices::<I>(&SHAPE, 12, 38 + dim as u32);
            let target =
                random::<f32>(shape.to_vec(), 0.0, 7.9, 39).floor().unwrap().to_dtype(T::DTYPE).unwrap();
            let (left, source_size, right) = sizes(&SHAPE, dim);
            let (grid, block) = for_elements(left * right);
            let (i, source) = (gpu.tensor::<I>(&ids), gpu.tensor::<T>(&input));
            for (root, expected) in [
                ("s", target.scatter(&ids, &input, dim).unwrap()),
                ("sa", target.scatter_add(&ids, &input, dim).unwrap()),
            ] {
                let mut out = gpu.tensor::<T>(&target);
                let name = format!("{root}_{}_{}", I::name(), T::name());
                launch!(gpu, INDEXING, &name, grid, block;
                    &i, &source, &mut out, left, source_size, 12_usize, right);
                compare(&format!("{name} of {dim}"), &gpu.download(&out), &expected, EXACT);
            }
        }
    }
    let gpu = gpu();
    for_types!(&gpu, of);
}

#[test]
fn the_greatest_index_gives_zero() {
    let gpu = gpu();
    let input = random::<f32>((4, 5), 1.0, 2.0, 40);
    let ids = Tensor::new(vec![2_u32, u32::MAX, 0], &CPU).unwrap();
    let (grid, block) = for_elements(15);
    let (i, source, mut out) = (gpu.tensor::<u32>(&ids), gpu.tensor::<f32>(&input), gpu.zeroed::<f32>(15));
    let info = gpu.dims_and_strides(&ids);
    launch!(gpu, INDEXING, "is_u32_f32", grid, block;
        15_usize, 1_usize, &info, &i, &source, &mut out, 1_usize, 4_usize, 3_usize, 5_usize);
    compare("is_u32_f32", &gpu.download(&out), &input.index_select(&ids, 0).unwrap(), EXACT);
}
