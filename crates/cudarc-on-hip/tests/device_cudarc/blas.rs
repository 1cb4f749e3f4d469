use cudarc::cublas::sys::{
    cublasComputeType_t, cublasGemmAlgo_t, cublasOperation_t, cublasPointerMode_t, cublasStatus_t,
    cudaDataType,
};
use cudarc::cublas::{
    Asum, AsumConfig, CudaBlas, Gemm, GemmConfig, Gemv, GemvConfig, GroupedGemm, GroupedGemmConfig,
    StridedBatchedConfig, result, sys,
};
use cudarc::driver::{DevicePtr, DevicePtrMut, DeviceRepr};
use half::{bf16, f16};

use crate::device;

const N: cublasOperation_t = cublasOperation_t::CUBLAS_OP_N;
const T: cublasOperation_t = cublasOperation_t::CUBLAS_OP_T;

/// Numbers with few bits, so that products of small types are exact or nearly so.
pub(crate) fn numbers(count: usize, salt: usize) -> Vec<f64> {
    (0..count).map(|index| ((index * 37 + salt * 101) % 17) as f64 / 4.0 - 2.0).collect()
}

/// The place of an element of a matrix by columns, transposed or not.
pub(crate) fn place(row: usize, column: usize, leading: usize, transposed: bool) -> usize {
    if transposed { row * leading + column } else { column * leading + row }
}

struct Shape {
    m: usize,
    n: usize,
    k: usize,
    transposed: (bool, bool),
    leading: (usize, usize, usize),
}

impl Shape {
    fn new(m: usize, n: usize, k: usize, transposed: (bool, bool)) -> Self {
        let leading = (if transposed.0 { k } else { m } + 1, if transposed.1 { n } else { k } + 2, m + 3);
        Self { m, n, k, transposed, leading }
    }

    fn sizes(&self) -> (usize, usize, usize) {
        let a = self.leading.0 * if self.transposed.0 { self.m } else { self.k };
        let b = self.leading.1 * if self.transposed.1 { self.k } else { self.n };
        (a, b, self.leading.2 * self.n)
    }

    fn config<F>(&self, alpha: F, beta: F) -> GemmConfig<F> {
        let operation = |transposed| if transposed { T } else { N };
        GemmConfig {
            transa: operation(self.transposed.0),
            transb: operation(self.transposed.1),
            m: self.m as i32,
            n: self.n as i32,
            k: self.k as i32,
            alpha,
            lda: self.leading.0 as i32,
            ldb: self.leading.1 as i32,
            beta,
            ldc: self.leading.2 as i32,
        }
    }

    /// In f64, one element after the other.
    fn model(&self, (alpha, beta): (f64, f64), a: &[f64], b: &[f64], c: &mut [f64]) {
        for row in 0..self.m {
            for column in 0..self.n {
                let product = |depth| {
                    a[place(row, depth, self.leading.0, self.transposed.0)]
                        * b[place(depth, column, self.leading.1, self.transposed.1)]
                };
                let sum: f64 = (0..self.k).map(product).sum();
                let to = &mut c[place(row, column, self.leading.2, false)];
                *to = alpha * sum + beta * *to;
            }
        }
    }
}

fn products<E>(from: fn(f64) -> E, to: fn(E) -> f64, precision: f64)
where
    E: DeviceRepr + Copy + std::fmt::Debug,
    CudaBlas: Gemm<E>,
{
    let (_, stream) = device();
    let blas = CudaBlas::new(stream.clone()).unwrap();
    let (alpha, beta) = (0.5, -2.0);
    let upload =
        |values: &[f64]| stream.clone_htod(&values.iter().copied().map(from).collect::<Vec<E>>()).unwrap();
    let compare = |got: Vec<E>, expected: &[f64], what: &str| {
        for (index, (got, expected)) in got.into_iter().map(to).zip(expected).enumerate() {
            let close = (got - expected).abs() <= precision * expected.abs().max(1.0);
            assert!(close, "{what}: {got} for {expected} at {index}");
        }
    };
    for (m, n, k) in [(1, 1, 1), (5, 7, 3), (33, 17, 40)] {
        for transposed in [(false, false), (true, false), (false, true), (true, true)] {
            let shape = Shape::new(m, n, k, transposed);
            let (of_a, of_b, of_c) = shape.sizes();
            let (a, b, c) = (numbers(of_a, 1), numbers(of_b, 2), numbers(of_c, 3));
            let mut expected = c.clone();
            shape.model((alpha, beta), &a, &b, &mut expected);
            let (a, b, mut c) = (upload(&a), upload(&b), upload(&c));
            // SAFETY: the matrices are as large as the shape says.
            unsafe { blas.gemm(shape.config(from(alpha), from(beta)), &a, &b, &mut c) }.unwrap();
            compare(stream.clone_dtoh(&c).unwrap(), &expected, &format!("{m}x{n}x{k} {transposed:?}"));
        }
    }
    let shape = Shape::new(6, 5, 9, (false, true));
    let (of_a, of_b, of_c) = shape.sizes();
    let (a, b, c) = (numbers(of_a * 4, 4), numbers(of_b, 5), numbers((of_c + 2) * 4, 6));
    let mut expected = c.clone();
    for batch in 0..4 {
        shape.model((alpha, beta), &a[batch * of_a..], &b, &mut expected[batch * (of_c + 2)..]);
    }
    let batched = StridedBatchedConfig {
        gemm: shape.config(from(alpha), from(beta)),
        batch_size: 4,
        stride_a: of_a as i64,
        stride_b: 0,
        stride_c: of_c as i64 + 2,
    };
    let (a, b, mut c) = (upload(&a), upload(&b), upload(&c));
    // SAFETY: the matrices are as large as the shape says.
    unsafe { blas.gemm_strided_batched(batched, &a, &b, &mut c) }.unwrap();
    compare(stream.clone_dtoh(&c).unwrap(), &expected, "batch");
}

#[test]
fn products_of_matrices_are_those_of_a_model() {
    products::<f64>(|number| number, |number| number, 1e-14);
    products::<f32>(|number| number as f32, f64::from, 1e-6);
    products::<f16>(f16::from_f64, f16::to_f64, 1e-3);
    products::<bf16>(bf16::from_f64, bf16::to_f64, 8e-3);
}

fn vectors<E>(from: fn(f64) -> E, to: fn(E) -> f64, precision: f64)
where
    E: DeviceRepr + Copy + Default + std::fmt::Debug,
    CudaBlas: Gemv<E> + Asum<E>,
{
    let (_, stream) = device();
    let blas = CudaBlas::new(stream.clone()).unwrap();
    let (m, n, lda) = (13, 9, 15);
    for transposed in [false, true] {
        let (rows, columns) = if transposed { (n, m) } else { (m, n) };
        let (a, x, y) = (numbers(lda * n, 7), numbers(columns * 2, 8), numbers(rows * 3, 9));
        let mut expected = y.clone();
        for row in 0..rows {
            let sum: f64 =
                (0..columns).map(|column| a[place(row, column, lda, transposed)] * x[column * 2]).sum();
            expected[row * 3] = 1.5 * sum + 0.25 * expected[row * 3];
        }
        let upload = |values: &[f64]| {
            stream.clone_htod(&values.iter().copied().map(from).collect::<Vec<E>>()).unwrap()
        };
        let (a, x, mut y) = (upload(&a), upload(&x), upload(&y));
        let config = GemvConfig {
            trans: if transposed { T } else { N },
            m: m as i32,
            n: n as i32,
            alpha: from(1.5),
            lda: lda as i32,
            incx: 2,
            beta: from(0.25),
            incy: 3,
        };
        // SAFETY: matrix and vectors are as large as the arguments say.
        unsafe { blas.gemv(config, &a, &x, &mut y) }.unwrap();
        for (got, expected) in stream.clone_dtoh(&y).unwrap().into_iter().map(to).zip(&expected) {
            assert!((got - expected).abs() <= precision * expected.abs().max(1.0), "{got} for {expected}");
        }
        let sum: f64 = numbers(columns * 2, 8).iter().step_by(2).map(|number| number.abs()).sum();
        let mut got = E::default();
        // SAFETY: the vector is as large as the arguments say.
        unsafe { blas.asum(AsumConfig { n: columns as i32, incx: 2 }, &x, &mut got) }.unwrap();
        assert!((to(got) - sum).abs() <= precision * sum, "{got:?} for {sum}");
    }
}

#[test]
fn products_with_vectors_and_sums_are_those_of_a_model() {
    vectors::<f64>(|number| number, |number| number, 1e-14);
    vectors::<f32>(|number| number as f32, f64::from, 1e-6);
}

#[test]
fn products_of_several_shapes_are_computed_together() {
    let (_, stream) = device();
    let blas = CudaBlas::new(stream.clone()).unwrap();
    let shapes = [Shape::new(2, 3, 4, (false, true)), Shape::new(8, 1, 5, (false, true))];
    let problems = [&shapes[0], &shapes[0], &shapes[1]];
    let (mut a, mut b, mut c, mut expected) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (index, shape) in problems.iter().enumerate() {
        let (of_a, of_b, of_c) = shape.sizes();
        let (x, y, mut z) = (numbers(of_a, index), numbers(of_b, index + 1), vec![0.0; of_c]);
        let upload = |values: &[f64]| {
            let values: Vec<f16> = values.iter().copied().map(f16::from_f64).collect();
            stream.clone_htod(&values).unwrap()
        };
        a.push(upload(&x));
        b.push(upload(&y));
        c.push(upload(&z));
        shape.model((1.0, 0.0), &x, &y, &mut z);
        expected.push(z);
    }
    let each = |value: fn(&Shape) -> usize| shapes.iter().map(value).collect::<Vec<_>>();
    let config = GroupedGemmConfig::<f16> {
        transbs: vec![T; 2],
        transas: vec![N; 2],
        ms: each(|shape| shape.m),
        ns: each(|shape| shape.n),
        ks: each(|shape| shape.k),
        alphas: vec![1.0; 2],
        betas: vec![0.0; 2],
        ldas: each(|shape| shape.leading.0),
        ldbs: each(|shape| shape.leading.1),
        ldcs: each(|shape| shape.leading.2),
        problem_sizes: vec![2, 1],
    };
    assert_eq!((config.problem_count(), config.group_count()), (3, 2));
    let (a, b): (Vec<_>, Vec<_>) = (a.iter().collect(), b.iter().collect());
    let mut outputs: Vec<_> = c.iter_mut().collect();
    // SAFETY: the matrices are as large as the shapes say.
    unsafe { blas.grouped_gemm(config, &a, &b, &mut outputs) }.unwrap();
    for (c, expected) in c.iter().zip(expected) {
        for (got, expected) in stream.clone_dtoh(c).unwrap().into_iter().zip(expected) {
            assert!(
                (got.to_f64() - expected).abs() <= 1e-3 * expected.abs().max(1.0),
                "{got} for {expected}"
            );
        }
    }
}

#[test]
fn types_that_are_named_are_multiplied() {
    let (_, stream) = device();
    let blas = CudaBlas::new(stream.clone()).unwrap();
    let (m, n, k) = (12, 8, 16);
    let integers = |count: usize, salt: usize| -> Vec<i8> {
        (0..count).map(|index| ((index * 31 + salt * 7) % 255) as i64 as i8).collect()
    };
    let (a, b) = (integers(m * k, 1), integers(k * n, 2));
    let mut expected = vec![0_i32; m * n];
    for row in 0..m {
        for column in 0..n {
            let product = |depth| i32::from(a[depth * m + row]) * i32::from(b[column * k + depth]);
            expected[column * m + row] = (0..k).map(product).sum();
        }
    }
    let (a, b) = (stream.clone_htod(&a).unwrap(), stream.clone_htod(&b).unwrap());
    let mut c = stream.alloc_zeros::<i32>(m * n).unwrap();
    let (one, zero) = (1_i32, 0_i32);
    let call = |c: u64, compute| {
        let ((a, _a), (b, _b)) = (a.device_ptr(&stream), b.device_ptr(&stream));
        // SAFETY: the matrices are as large as the arguments say, and factors have the type of the sums.
        unsafe {
            result::gemm_ex(
                *blas.handle(),
                N,
                N,
                m as i32,
                n as i32,
                k as i32,
                (&raw const one).cast(),
                a as *const _,
                cudaDataType::CUDA_R_8I,
                m as i32,
                b as *const _,
                cudaDataType::CUDA_R_8I,
                k as i32,
                (&raw const zero).cast(),
                c as *mut _,
                cudaDataType::CUDA_R_32I,
                m as i32,
                compute,
                cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )
        }
    };
    let (address, written) = c.device_ptr_mut(&stream);
    call(address, cublasComputeType_t::CUBLAS_COMPUTE_32I).unwrap();
    drop(written);
    assert_eq!(stream.clone_dtoh(&c).unwrap(), expected);
    let (address, _written) = c.device_ptr_mut(&stream);
    let error = call(address, cublasComputeType_t::CUBLAS_COMPUTE_64F).unwrap_err();
    assert_eq!(error.0, cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED);
}

#[test]
fn handles_keep_modes_and_streams_and_refuse_what_cannot_be() {
    let (context, stream) = device();
    let mut blas = CudaBlas::new(stream.clone()).unwrap();
    assert_eq!(blas.get_pointer_mode().unwrap(), cublasPointerMode_t::CUBLAS_POINTER_MODE_HOST);
    blas.set_pointer_mode(cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE).unwrap();
    assert_eq!(blas.get_pointer_mode().unwrap(), cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE);
    let x = stream.clone_htod(&[1.0_f32, -2.0, 3.5]).unwrap();
    let mut sum = stream.alloc_zeros::<f32>(1).unwrap();
    let ((from, _read), (to, written)) = (x.device_ptr(&stream), sum.device_ptr_mut(&stream));
    // SAFETY: the vector has three elements, and the result is on the device, as the mode says.
    unsafe { result::sasum(*blas.handle(), 3, from as *const f32, 1, to as *mut f32) }.unwrap();
    drop(written);
    assert_eq!(stream.clone_dtoh(&sum).unwrap(), [6.5]);
    blas.set_pointer_mode(cublasPointerMode_t::CUBLAS_POINTER_MODE_HOST).unwrap();
    let other = context.new_stream().unwrap();
    // SAFETY: all submitted work is done.
    unsafe { blas.set_stream(other.clone()) }.unwrap();
    let (mut current, mut version) = (std::ptr::null_mut(), 0);
    // SAFETY: the handle lives, and the results are writable.
    unsafe {
        sys::cublasGetStream_v2(*blas.handle(), &raw mut current).result().unwrap();
        sys::cublasGetVersion_v2(*blas.handle(), &raw mut version).result().unwrap();
    }
    assert!(current == other.cu_stream() && version >= 12_000);
    let config = Shape::new(4, 4, 4, (false, false)).config(1.0_f32, 0.0);
    let small = other.alloc_zeros::<f32>(64).unwrap();
    let mut to = other.alloc_zeros::<f32>(64).unwrap();
    for bad in
        [GemmConfig { m: -1, ..config }, GemmConfig { lda: 3, ..config }, GemmConfig { ldc: 0, ..config }]
    {
        // SAFETY: nothing is read or written.
        let error = unsafe { blas.gemm(bad, &small, &small, &mut to) }.unwrap_err();
        assert_eq!(error.0, cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE, "{bad:?}");
    }
    // SAFETY: the handle is null.
    let error = unsafe { result::set_stream(std::ptr::null_mut(), std::ptr::null_mut()) }.unwrap_err();
    assert_eq!(error.0, cublasStatus_t::CUBLAS_STATUS_NOT_INITIALIZED);
}
