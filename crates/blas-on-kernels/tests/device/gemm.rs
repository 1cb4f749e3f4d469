//! Products of general matrices.

use half::{bf16, f16};
use rocblas_sys::{rocblas_datatype, rocblas_gemm_algo, rocblas_operation, rocblas_status};

use crate::common::{BETWEEN, Blas, C, Form, N, NAN, Random, SUCCESS, T, call, form, op};
use crate::model::{Element, Matrix, ONE, Sum, Z, ZERO, is_close, z};

/// A product to try.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) form: Form,
    pub(crate) on_device: bool,
    pub(crate) operations: [rocblas_operation; 2],
    pub(crate) size: [usize; 3],
    pub(crate) alpha: Z,
    pub(crate) beta: Z,
}

pub(crate) fn random_case(random: &mut Random, number: usize) -> Case {
    let (form, on_device) = form(number);
    let sizes = [0, 1, 2, 5, 17, 31, 32, 33, 63, 64, 65, 70];
    Case {
        form,
        on_device,
        operations: [random.one_of(&[N, T, C]), random.one_of(&[N, T, C])],
        size: [random.one_of(&sizes), random.one_of(&sizes), random.one_of(&sizes)],
        alpha: random.factor(),
        beta: random.factor(),
    }
}

pub(crate) fn sides<A: Element>(random: &mut Random, case: &Case) -> [Vec<Matrix<A>>; 2] {
    let [m, n, k] = case.size;
    let mut matrices = |operation, rows, columns| {
        let (rows, columns) = if operation == N { (rows, columns) } else { (columns, rows) };
        random.matrices(case.form.batch(), rows, columns)
    };
    [matrices(case.operations[0], m, k), matrices(case.operations[1], k, n)]
}

/// Compares D with the model; `epsilon` is that of the compute type.
fn compare<A: Element, D: Element>(
    case: &Case,
    [a, b]: [&Matrix<A>; 2],
    c: &Matrix<D>,
    got: &[D],
    epsilon: f64,
) {
    let [m, n, k] = case.size;
    let (alpha, beta) = (A::of(case.alpha).z(), A::of(case.beta).z());
    let got = Matrix { data: got.to_vec(), ..c.clone() };
    for j in 0..n {
        for i in 0..m {
            let mut want = if alpha == ZERO {
                Sum::NONE
            } else {
                Sum::of((0..k).map(|d| (op(a, case.operations[0], i, d), op(b, case.operations[1], d, j))))
            };
            want = want.times(alpha);
            if beta != ZERO {
                want = want.plus(beta, c.at(i, j));
            }
            let result = got.data[i + j * got.leading];
            assert!(is_close(result, want, epsilon), "{case:?} at {i}, {j}: {result:?}, not {want:?}");
        }
        for i in m..got.leading {
            assert_eq!(got.data[i + j * got.leading], D::of(BETWEEN), "{case:?}: between columns");
        }
    }
}

macro_rules! products {
    ($($test:ident $type:ty, $cases:literal, [$($name:ident)+];)+) => {$(
        #[test]
        fn $test() {
            let blas = Blas::new();
            let mut random = Random::new(1);
            for number in 0..$cases {
                let case = random_case(&mut random, number);
                let [m, n, k] = case.size;
                let [a, b] = sides::<$type>(&mut random, &case);
                let mut c = random.matrices::<$type>(case.form.batch(), m, n);
                if case.beta == ZERO {
                    // Then C is not read.
                    c.iter_mut().for_each(|c| (0..m * n).for_each(|at| c.set(at % m, at / m, NAN)));
                }
                let (alpha, beta) = (blas.scalar::<$type>(case.alpha, case.on_device), blas.scalar::<$type>(case.beta, case.on_device));
                let [on_a, on_b, on_c] = [&a, &b, &c].map(|matrices| blas.matrices(case.form, matrices));
                blas.on_device(case.on_device);
                let status = call!(blas, case.form, [$($name)+]; v case.operations[0], v case.operations[1], s m, s n, s k,
                    p alpha, o on_a, a[0].leading, o on_b, b[0].leading, p beta, o on_c, c[0].leading, b case.form.batch(),);
                assert_eq!(status, SUCCESS, "{case:?}");
                for (index, got) in on_c.read(&blas).iter().enumerate() {
                    // 16-bit floats are computed in f32, and rounded once.
                    let epsilon = <$type>::ROUNDING.min(6e-8);
                    compare(&case, [&a[index], &b[index]], &c[index], got, epsilon);
                }
            }
        }
    )+};
}
products! {
    products_of_f32_are_right f32, 48, [rocblas_sgemm rocblas_sgemm_64 rocblas_sgemm_batched rocblas_sgemm_batched_64 rocblas_sgemm_strided_batched rocblas_sgemm_strided_batched_64];
    products_of_f64_are_right f64, 32, [rocblas_dgemm rocblas_dgemm_64 rocblas_dgemm_batched rocblas_dgemm_batched_64 rocblas_dgemm_strided_batched rocblas_dgemm_strided_batched_64];
    products_of_f16_are_right f16, 32, [rocblas_hgemm rocblas_hgemm_64 rocblas_hgemm_batched rocblas_hgemm_batched_64 rocblas_hgemm_strided_batched rocblas_hgemm_strided_batched_64];
    products_of_complex_f32_are_right [f32; 2], 40, [rocblas_cgemm rocblas_cgemm_64 rocblas_cgemm_batched rocblas_cgemm_batched_64 rocblas_cgemm_strided_batched rocblas_cgemm_strided_batched_64];
    products_of_complex_f64_are_right [f64; 2], 24, [rocblas_zgemm rocblas_zgemm_64 rocblas_zgemm_batched rocblas_zgemm_batched_64 rocblas_zgemm_strided_batched rocblas_zgemm_strided_batched_64];
}

const F32: rocblas_datatype = rocblas_datatype::rocblas_datatype_f32_r;
const F16: rocblas_datatype = rocblas_datatype::rocblas_datatype_f16_r;
const BF16: rocblas_datatype = rocblas_datatype::rocblas_datatype_bf16_r;
const F64: rocblas_datatype = rocblas_datatype::rocblas_datatype_f64_r;
const I8: rocblas_datatype = rocblas_datatype::rocblas_datatype_i8_r;
const I32: rocblas_datatype = rocblas_datatype::rocblas_datatype_i32_r;
const C32: rocblas_datatype = rocblas_datatype::rocblas_datatype_f32_c;

/// Types of A and B, of C and D, and the compute type.
type Types = [rocblas_datatype; 3];

fn mixed<A: Element, D: Element, S: Element>(cases: usize, types: Types, scale: f64) {
    let blas = Blas::new();
    let mut random = Random::new(2);
    for number in 0..cases {
        let case = random_case(&mut random, number);
        mixed_case::<A, D, S>(&blas, &mut random, case, types, scale);
    }
}

fn mixed_case<A: Element, D: Element, S: Element>(
    blas: &Blas,
    random: &mut Random,
    mut case: Case,
    [from, to, compute]: Types,
    scale: f64,
) {
    if compute == I32 {
        (case.alpha, case.beta) = (z(case.alpha.re.round()), z(case.beta.re.round()));
    }
    let [m, n, k] = case.size;
    let scaled = |Matrix { rows, columns, leading, data }: Matrix<[f64; 2]>| {
        let data = data.iter().map(|[re, im]| A::of(Z { re: re * scale, im: im * scale })).collect();
        Matrix::<A> { rows, columns, leading, data }
    };
    let [a, b] = sides(random, &case).map(|side| side.into_iter().map(scaled).collect::<Vec<_>>());
    let mut c = random.matrices::<D>(case.form.batch(), m, n);
    if case.beta == ZERO && compute != I32 {
        // Then C is not read.
        c.iter_mut().for_each(|c| (0..m * n).for_each(|at| c.set(at % m, at / m, NAN)));
    }
    let d: Vec<_> = c.iter().map(|c| Matrix::<D>::new(m, n, c.leading, BETWEEN)).collect();
    let (alpha, beta) =
        (blas.scalar::<S>(case.alpha, case.on_device), blas.scalar::<S>(case.beta, case.on_device));
    let [on_a, on_b] = [&a, &b].map(|matrices| blas.matrices(case.form, matrices));
    let [on_c, on_d] = [&c, &d].map(|matrices| blas.matrices(case.form, matrices));
    blas.on_device(case.on_device);
    let [trans_a, trans_b] = case.operations;
    let (lda, ldb, ldc) = (a[0].leading, b[0].leading, c[0].leading);
    let standard = rocblas_gemm_algo::rocblas_gemm_algo_standard;
    let status = call!(blas, case.form, [rocblas_gemm_ex rocblas_gemm_ex_64 rocblas_gemm_batched_ex rocblas_gemm_batched_ex_64
        rocblas_gemm_strided_batched_ex rocblas_gemm_strided_batched_ex_64];
        v trans_a, v trans_b, s m, s n, s k, p alpha, e on_a, from, lda, e on_b, from, ldb, p beta, e on_c, to, ldc, e on_d, to, ldc,
        b case.form.batch(), v compute, v standard, v 0, v 0,);
    assert_eq!(status, SUCCESS, "{case:?}");
    for (index, got) in on_d.read(blas).iter().enumerate() {
        compare(&case, [&a[index], &b[index]], &c[index], got, S::ROUNDING.min(6e-8));
    }
}

/// Whole tiles and parts of them, few columns, a depth that ends anywhere, and one that waves share; every
/// way in which operands lie.
fn tiles<A: Element, D: Element, S: Element>(types: Types, scale: f64) {
    let blas = Blas::new();
    let mut random = Random::new(9);
    let sizes = [
        [64, 64, 32],
        [70, 66, 40],
        [3, 70, 70],
        [130, 2, 65],
        [65, 33, 1],
        [64, 16, 128],
        [65, 1, 333],
        [20, 4, 1300],
    ];
    for (number, size) in sizes.into_iter().enumerate() {
        for (turn, operations) in [[N, N], [T, N], [N, T], [T, T]].into_iter().enumerate() {
            let (form, on_device) = form(number + turn);
            let case = Case {
                form,
                on_device,
                operations,
                size,
                alpha: z(0.5),
                beta: z(if turn % 2 == 0 { 0.0 } else { -1.0 }),
            };
            mixed_case::<A, D, S>(&blas, &mut random, case, types, scale);
        }
    }
}

#[test]
fn tiles_of_f32_are_right() {
    tiles::<f32, f32, f32>([F32, F32, F32], 1.0);
}

#[test]
fn tiles_of_f64_are_right() {
    tiles::<f64, f64, f64>([F64, F64, F64], 1.0);
}

#[test]
fn tiles_of_f16_are_right() {
    tiles::<f16, f16, f32>([F16, F16, F32], 1.0);
}

#[test]
fn tiles_of_f16_to_f32_are_right() {
    tiles::<f16, f32, f32>([F16, F32, F32], 1.0);
}

#[test]
fn tiles_of_bf16_are_right() {
    tiles::<bf16, bf16, f32>([BF16, BF16, F32], 1.0);
}

#[test]
fn tiles_of_integers_are_exact() {
    tiles::<i8, i32, i32>([I8, I32, I32], 127.0);
}

#[test]
fn products_of_mixed_types_are_right() {
    mixed::<f16, f16, f32>(8, [F16, F16, F32], 1.0);
    mixed::<f16, f32, f32>(8, [F16, F32, F32], 1.0);
    mixed::<bf16, bf16, f32>(8, [BF16, BF16, F32], 1.0);
    mixed::<bf16, f32, f32>(8, [BF16, F32, F32], 1.0);
    mixed::<f16, f16, f16>(4, [F16, F16, F16], 1.0);
    mixed::<f64, f64, f64>(4, [F64, F64, F64], 1.0);
    mixed::<[f32; 2], [f32; 2], [f32; 2]>(4, [C32, C32, C32], 1.0);
}

#[test]
fn products_of_integers_are_exact() {
    mixed::<i8, i32, i32>(12, [I8, I32, I32], 127.0);
}

/// Few elements with a large depth: workgroups share it.
#[test]
fn deep_products_are_right_and_the_same_every_time() {
    let blas = Blas::new();
    let mut random = Random::new(3);
    let case = Case {
        form: Form::Plain,
        on_device: false,
        operations: [T, N],
        size: [9, 6, 5000],
        alpha: z(0.5),
        beta: ONE,
    };
    let [a, b] = sides::<f32>(&mut random, &case);
    let c = random.matrices::<f32>(1, 9, 6);
    let mut first = None;
    for _ in 0..2 {
        let (alpha, beta) = (blas.scalar::<f32>(case.alpha, false), blas.scalar::<f32>(case.beta, false));
        let [on_a, on_b, on_c] = [&a, &b, &c].map(|matrices| blas.matrices(case.form, matrices));
        let status = call!(blas, case.form, [rocblas_sgemm rocblas_sgemm_64 rocblas_sgemm_batched rocblas_sgemm_batched_64 rocblas_sgemm_strided_batched rocblas_sgemm_strided_batched_64];
            v T, v N, s 9, s 6, s 5000, p alpha, o on_a, a[0].leading, o on_b, b[0].leading, p beta, o on_c, c[0].leading, b 1,);
        assert_eq!(status, SUCCESS);
        let got = on_c.read(&blas).remove(0);
        compare(&case, [&a[0], &b[0]], &c[0], &got, f32::ROUNDING);
        assert!(first.get_or_insert(got.clone()) == &got, "not the same twice");
    }
}

#[test]
fn nan_goes_where_blas_has_it() {
    let blas = Blas::new();
    for on_device in [false, true] {
        blas.on_device(on_device);
        // alpha, beta, content of A, content of C, expected result
        let nan = f64::NAN;
        for (alpha, beta, a, c, want) in [
            (0.0, 1.0, nan, 3.0, 3.0),
            (0.0, 0.0, nan, nan, 0.0),
            (1.0, 0.0, 2.0, nan, 2.0),
            (1.0, 0.0, nan, 1.0, nan),
            (1.0, 1.0, 2.0, nan, nan),
            (nan, 0.0, 2.0, 1.0, nan),
            (1.0, nan, 2.0, 1.0, nan),
            (0.0, nan, 2.0, 1.0, nan),
        ] {
            let (alpha, beta) =
                (blas.scalar::<f32>(z(alpha), on_device), blas.scalar::<f32>(z(beta), on_device));
            let [on_a, on_b, on_c] =
                [a, 1.0, c].map(|value| blas.operand(Form::Plain, &[vec![value as f32]]));
            let status = call!(blas, Form::Plain, [rocblas_sgemm rocblas_sgemm_64 rocblas_sgemm_batched rocblas_sgemm_batched_64 rocblas_sgemm_strided_batched rocblas_sgemm_strided_batched_64];
                v N, v N, s 1, s 1, s 1, p alpha, o on_a, 1, o on_b, 1, p beta, o on_c, 1, b 1,);
            assert_eq!(status, SUCCESS);
            let got = on_c.read(&blas)[0][0];
            assert!(f64::from(got) == want || got.is_nan() && want.is_nan(), "{got}, not {want}");
        }
    }
}

/// Elements have steps in both directions.
#[test]
fn products_with_steps_between_rows_are_right() {
    let blas = Blas::new();
    let (a, b) = (vec![1.0_f32, 9.0, 2.0, 9.0, 3.0, 9.0, 4.0], vec![5.0_f32, 6.0, 7.0, 8.0]);
    let [on_a, on_b] = [a, b].map(|values| blas.operand(Form::Plain, &[values]));
    let on_c = blas.operand(Form::Plain, &[vec![1.0_f32, 2.0, 3.0, 4.0]]);
    let on_d = blas.operand(Form::Plain, &[vec![0.0_f32; 8]]);
    let (alpha, beta) = (blas.scalar::<f32>(ONE, false), blas.scalar::<f32>(z(10.0), false));
    let standard = rocblas_gemm_algo::rocblas_gemm_algo_standard;
    // SAFETY: the matrices have all elements at these steps.
    let status = unsafe {
        (blas.table.rocblas_gemm_ext2)(
            blas.handle,
            2,
            2,
            2,
            alpha.pointer(),
            on_a.pointer(),
            F32,
            4,
            2,
            on_b.pointer(),
            F32,
            2,
            1,
            beta.pointer(),
            on_c.pointer(),
            F32,
            1,
            2,
            on_d.pointer(),
            F32,
            1,
            4,
            F32,
            standard,
            0,
            0,
        )
    };
    assert_eq!(status, SUCCESS);
    // [1 2; 3 4] [5 6; 7 8] + 10 [1 3; 2 4]
    assert_eq!(on_d.read(&blas), [vec![29.0, 63.0, 0.0, 0.0, 52.0, 90.0, 0.0, 0.0]]);
}

#[test]
fn there_is_one_solution_of_what_is_computed() {
    let blas = Blas::new();
    let (t, h) = (blas.table, blas.handle);
    let (mut list, mut size) = ([0; 4], 0);
    // SAFETY: the list has as many places as the size says.
    unsafe {
        let none = std::ptr::null_mut();
        assert_eq!((t.rocblas_gemm_ex_get_solutions_by_type)(h, F16, F32, F32, 0, none, &mut size), SUCCESS);
        assert_eq!(size, 1);
        assert_eq!(
            (t.rocblas_gemm_ex_get_solutions_by_type)(h, F16, F32, F32, 0, list.as_mut_ptr(), &mut size),
            SUCCESS
        );
        let unknown = (t.rocblas_gemm_ex_get_solutions_by_type)(h, F64, F32, F32, 0, none, &mut size);
        assert_eq!(unknown, rocblas_status::rocblas_status_not_implemented);
    }
    assert_eq!(list, [1, 0, 0, 0]);
}
