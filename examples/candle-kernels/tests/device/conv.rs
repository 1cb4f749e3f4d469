//! `conv`: convolutions, what turns them into products of matrices, pools and resizing.

use candle_core::{DType, Tensor};
use half::{bf16, f16};

use crate::common::*;

/// Of sums of some dozens of products, which the kernels of halves add as floats and the CPU backend as
/// halves.
fn tolerance<T: Element>() -> Tolerance {
    within(T::STEPS.relative, T::STEPS.absolute * 10.0)
}

/// Dimensions and strides of an input and of a convolution's kernel.
fn both_layouts(gpu: &Gpu, input: &Tensor, kernel: &Tensor) -> hip::DeviceBuffer<usize> {
    gpu.upload(&[input.dims(), input.stride(), kernel.dims(), kernel.stride()].concat())
}

/// As it is, and with the last two dimensions swapped in memory.
fn strided(tensor: &Tensor) -> [Tensor; 2] {
    let last = tensor.rank() - 1;
    let swap = |t: &Tensor| t.transpose(last - 1, last).unwrap();
    [tensor.clone(), swap(&swap(tensor).contiguous().unwrap())]
}

/// A product of matrices, which the CPU backend does not have for bfloat16.
fn product(left: &Tensor, right: &Tensor) -> Tensor {
    let wide = |t: &Tensor| t.to_dtype(DType::F64).unwrap();
    wide(left).broadcast_matmul(&wide(right)).unwrap().to_dtype(left.dtype()).unwrap()
}

/// A transposed convolution without padding, by the one of two dimensions: without padding, that of one
/// dimension in candle 0.11.1's CPU backend gives something else for all inputs but the first of a batch.
fn transposed(input: &Tensor, kernel: &Tensor, stride: usize, dilation: usize) -> Tensor {
    let flat = |t: &Tensor| t.unsqueeze(3).unwrap();
    flat(input).conv_transpose2d(&flat(kernel), 0, 0, stride, dilation).unwrap().squeeze(3).unwrap()
}

/// Padding, stride and dilation. Candle's kernel of one dimension multiplies the position by the dilation,
/// too.
const WAYS: [(usize, usize, usize); 6] = [(0, 1, 1), (1, 1, 1), (2, 2, 1), (0, 3, 1), (3, 1, 2), (1, 2, 3)];

#[test]
fn convolutions_1d() {
    fn of<T: Element>(gpu: &Gpu) {
        let (b, c_in, l_in, c_out, k) = (2, 5, 41, 7, 3);
        let kernel = random::<T>((c_out, c_in, k), -1.0, 1.0, 60);
        for input in strided(&random::<T>((b, c_in, l_in), -1.0, 1.0, 61)) {
            for (padding, stride, dilation) in WAYS {
                let l_out = (l_in + 2 * padding - dilation * (k - 1) - 1) / stride + 1;
                let expected = input.conv1d(&kernel, padding, stride, dilation, 1).unwrap();
                let (source, weights) = (gpu.tensor::<T>(&input), gpu.tensor::<T>(&kernel));

                let count = b * c_out * l_out;
                let (grid, block) = for_elements(count);
                let (info, mut out) = (both_layouts(gpu, &input, &kernel), gpu.zeroed::<T>(count));
                let name = format!("conv1d_{}", T::name());
                launch!(gpu, CONV, &name, grid, block;
                    input.elem_count(), l_out, stride, padding, dilation, &info, &source, &weights, &mut out);
                let what = format!("{name}, padding {padding}, stride {stride}, dilation {dilation}");
                if dilation == 1 || cfg!(own_kernels) {
                    compare(&what, &gpu.download(&out), &expected, tolerance::<T>());
                }

                // The same as a product.
                let threads = b * l_out * c_in;
                let (grid, block) = for_elements(threads);
                let (info, mut columns) = (gpu.dims_and_strides(&input), gpu.zeroed::<T>(threads * k));
                let name = format!("im2col1d_{}", T::name());
                launch!(gpu, CONV, &name, grid, block;
                    threads, l_out, k, stride, padding, dilation, &info, &source, &mut columns);
                let columns = to_tensor(gpu.download(&columns), (b, l_out, c_in * k));
                let weights = kernel.reshape((c_out, c_in * k)).unwrap().t().unwrap();
                let product = product(&columns, &weights).transpose(1, 2).unwrap();
                let what = format!("{name}, padding {padding}, stride {stride}, dilation {dilation}");
                let found = product.flatten_all().unwrap().to_vec1::<T>().unwrap();
                compare(&what, &found, &expected, tolerance::<T>());
            }
        }
    }
    let gpu = gpu();
    of::<f32>(&gpu);
    of::<f64>(&gpu);
    of::<f16>(&gpu);
    of::<bf16>(&gpu);
}

#[test]
fn convolutions_2d() {
    fn of<T: Element>(gpu: &Gpu) {
        let (b, c_in, h_in, w_in, c_out, h_k, w_k) = (2, 3, 17, 14, 5, 3, 2);
        let kernel = random::<T>((c_out, c_in, h_k, w_k), -1.0, 1.0, 62);
        for input in strided(&random::<T>((b, c_in, h_in, w_in), -1.0, 1.0, 63)) {
            for (padding, stride, dilation) in [(0, 1, 1), (1, 1, 1), (2, 2, 1), (1, 1, 2)] {
                let size =
                    |length: usize, k: usize| (length + 2 * padding - dilation * (k - 1) - 1) / stride + 1;
                let (h_out, w_out) = (size(h_in, h_k), size(w_in, w_k));
                // The CPU backend has none of bfloat16.
                let wide = |t: &Tensor| t.to_dtype(DType::F64).unwrap();
                let expected = wide(&input).conv2d(&wide(&kernel), padding, stride, dilation, 1).unwrap();
                let expected = expected.to_dtype(T::DTYPE).unwrap();
                let (source, weights) = (gpu.tensor::<T>(&input), gpu.tensor::<T>(&kernel));

                let count = b * c_out * h_out * w_out;
                let (grid, block) = for_elements(count);
                let (info, mut out) = (both_layouts(gpu, &input, &kernel), gpu.zeroed::<T>(count));
                let name = format!("conv2d_{}", T::name());
                launch!(gpu, CONV, &name, grid, block;
                    input.elem_count(), w_out, h_out, stride, padding, dilation, &info, &source, &weights, &mut out);
                let what = format!("{name}, padding {padding}, stride {stride}, dilation {dilation}");
                compare(&what, &gpu.download(&out), &expected, tolerance::<T>());

                // The same as a product.
                let elements = b * h_out * w_out * c_in * h_k * w_k;
                let (grid, block) = for_elements(elements);
                let (info, mut columns) = (gpu.dims_and_strides(&input), gpu.zeroed::<T>(elements));
                let name = format!("im2col_{}", T::name());
                launch!(gpu, CONV, &name, grid, block;
                    elements, h_out, w_out, h_k, w_k, stride, padding, dilation, &info, &source, &mut columns);
                let columns = to_tensor(gpu.download(&columns), (b, h_out * w_out, c_in * h_k * w_k));
                let weights = kernel.reshape((c_out, c_in * h_k * w_k)).unwrap().t().unwrap();
                let product = product(&columns, &weights).transpose(1, 2).unwrap();
                let what = format!("{name}, padding {padding}, stride {stride}, dilation {dilation}");
                let found = product.flatten_all().unwrap().to_vec1::<T>().unwrap();
                compare(&what, &found, &expected, tolerance::<T>());
            }
        }
    }
    let gpu = gpu();
    of::<f32>(&gpu);
    of::<f64>(&gpu);
    of::<f16>(&gpu);
    of::<bf16>(&gpu);
}

#[test]
fn transposed_convolutions_1d() {
    fn of<T: Element>(gpu: &Gpu) {
        let (b, c_in, l_in, c_out, k) = (2, 5, 23, 4, 4);
        let input = random::<T>((b, c_in, l_in), -1.0, 1.0, 64);
        let kernel = random::<T>((c_in, c_out, k), -1.0, 1.0, 65);
        for (padding, out_padding, stride, dilation) in
            [(0, 0, 1, 1), (1, 0, 1, 1), (1, 1, 2, 1), (0, 0, 1, 2)]
        {
            let expected = if padding == 0 {
                transposed(&input, &kernel, stride, dilation)
            } else {
                input.conv_transpose1d(&kernel, padding, out_padding, stride, dilation, 1).unwrap()
            };
            let l_out = expected.dims()[2];
            let count = expected.elem_count();
            let (grid, block) = for_elements(count);
            let (source, weights) = (gpu.tensor::<T>(&input), gpu.tensor::<T>(&kernel));
            let (info, mut out) = (both_layouts(gpu, &input, &kernel), gpu.zeroed::<T>(count));
            let name = format!("conv_transpose1d_{}", T::name());
            launch!(gpu, CONV, &name, grid, block;
                input.elem_count(), l_out, stride, padding, out_padding, dilation, &info, &source, &weights, &mut out);
            let what = format!("{name}, padding {padding}, stride {stride}, dilation {dilation}");
            compare(&what, &gpu.download(&out), &expected, tolerance::<T>());
        }
        // The same from a product, which is how candle computes it without padding.
        for stride in [1, 2, 4, 5] {
            let expected = transposed(&input, &kernel, stride, 1);
            let matrix = kernel.reshape((c_in, c_out * k)).unwrap();
            let columns = product(&input.transpose(1, 2).unwrap().contiguous().unwrap(), &matrix);
            let l_out = expected.dims()[2];
            let count = expected.elem_count();
            let (grid, block) = for_elements(count);
            let (source, mut out) = (gpu.tensor::<T>(&columns), gpu.zeroed::<T>(count));
            let name = format!("col2im1d_{}", T::name());
            launch!(gpu, CONV, &name, grid, block; count, l_out, l_in, c_out, k, stride, &source, &mut out);
            compare(&format!("{name}, stride {stride}"), &gpu.download(&out), &expected, tolerance::<T>());
        }
    }
    let gpu = gpu();
    of::<f32>(&gpu);
    of::<f64>(&gpu);
    of::<f16>(&gpu);
    of::<bf16>(&gpu);
}

#[test]
fn transposed_convolutions_2d() {
    fn of<T: Element>(gpu: &Gpu) {
        let input = random::<T>((2, 3, 9, 7), -1.0, 1.0, 66);
        let kernel = random::<T>((3, 4, 3, 2), -1.0, 1.0, 67);
        for (padding, out_padding, stride, dilation) in
            [(0, 0, 1, 1), (1, 0, 1, 1), (1, 1, 2, 1), (0, 0, 1, 2)]
        {
            let expected = input.conv_transpose2d(&kernel, padding, out_padding, stride, dilation).unwrap();
            let (h_out, w_out) = (expected.dims()[2], expected.dims()[3]);
            let count = expected.elem_count();
            let (grid, block) = for_elements(count);
            let (source, weights) = (gpu.tensor::<T>(&input), gpu.tensor::<T>(&kernel));
            let (info, mut out) = (both_layouts(gpu, &input, &kernel), gpu.zeroed::<T>(count));
            let name = format!("conv_transpose2d_{}", T::name());
            launch!(gpu, CONV, &name, grid, block;
                input.elem_count(), w_out, h_out, stride, padding, out_padding, dilation,
                &info, &source, &weights, &mut out);
            let what = format!("{name}, padding {padding}, stride {stride}, dilation {dilation}");
            compare(&what, &gpu.download(&out), &expected, tolerance::<T>());
        }
    }
    let gpu = gpu();
    of::<f32>(&gpu);
    of::<f64>(&gpu);
    of::<f16>(&gpu);
    of::<bf16>(&gpu);
}

#[test]
fn pools() {
    fn of<T: Element>(gpu: &Gpu) {
        for input in strided(&random::<T>((2, 3, 19, 16), 0.0, 100.0, 68)) {
            for (size, stride) in [((2, 2), (2, 2)), ((3, 2), (1, 2)), ((4, 5), (3, 1))] {
                for (root, expected) in [
                    ("max_pool2d", input.max_pool2d_with_stride(size, stride).unwrap()),
                    ("avg_pool2d", input.avg_pool2d_with_stride(size, stride).unwrap()),
                ] {
                    let count = expected.elem_count();
                    let (grid, block) = for_elements(count);
                    let (info, source) = (gpu.dims_and_strides(&input), gpu.tensor::<T>(&input));
                    let mut out = gpu.zeroed::<T>(count);
                    let name = format!("{root}_{}", T::name());
                    // The first size is that of the first dimension, which the kernels call width.
                    launch!(gpu, CONV, &name, grid, block;
                        input.elem_count(), size.0, size.1, stride.0, stride.1, &info, &source, &mut out);
                    // The kernels have a float for the size's reciprocal, for doubles, too.
                    let average = within(T::STEPS.relative.max(1e-6), T::STEPS.absolute);
                    let tolerance = if root == "max_pool2d" { EXACT } else { average };
                    compare(
                        &format!("{name} {size:?} {stride:?}"),
                        &gpu.download(&out),
                        &expected,
                        tolerance,
                    );
                }
            }
        }
    }
    let gpu = gpu();
    of::<f32>(&gpu);
    of::<f64>(&gpu);
    of::<f16>(&gpu);
    of::<bf16>(&gpu);
}

#[test]
fn resizing() {
    fn of<T: Element>(gpu: &Gpu) {
        for input in strided(&random::<T>((2, 3, 9, 7), 0.0, 100.0, 69)) {
            for (h, w) in [(18, 14), (20, 11), (5, 4)] {
                let count = 6 * h * w;
                let (grid, block) = for_elements(count);
                let (info, source) = (gpu.dims_and_strides(&input), gpu.tensor::<T>(&input));
                let mut out = gpu.zeroed::<T>(count);
                let name = format!("upsample_nearest2d_{}", T::name());
                let scales = (9.0 / h as f64, 7.0 / w as f64);
                launch!(gpu, CONV, &name, grid, block; h, w, scales.0, scales.1, &info, &source, &mut out);
                let expected = input.upsample_nearest2d(h, w).unwrap();
                compare(&format!("{name} {h} × {w}"), &gpu.download(&out), &expected, EXACT);

                for align in [false, true] {
                    let mut out = gpu.zeroed::<T>(count);
                    let name = format!("upsample_bilinear2d_{}", T::name());
                    launch!(gpu, CONV, &name, grid, block;
                        w, h, align, false, 0.0_f64, false, 0.0_f64, &info, &source, &mut out);
                    let expected = input.upsample_bilinear2d(h, w, align).unwrap();
                    let what = format!("{name} {h} × {w}, corners aligned: {align}");
                    compare(&what, &gpu.download(&out), &expected, T::STEPS);
                }
            }
        }
    }
    let gpu = gpu();
    of::<f32>(&gpu);
    of::<f64>(&gpu);
    of::<f16>(&gpu);
    of::<bf16>(&gpu);
}
