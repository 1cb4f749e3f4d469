//! Products with triangular matrices, triangular systems, and inverses.

use rocblas_sys::rocblas_diagonal;

use crate::common::{
    Blas, C, LEFT, LOWER, N, NAN, NON_UNIT, RIGHT, Random, SUCCESS, T, UNIT, UPPER, call, form,
};
use crate::level3::compare;
use crate::model::{Element, Matrix, ONE, Sum, Z, ZERO, z};

const SIZES: [usize; 10] = [0, 1, 2, 17, 31, 32, 33, 64, 65, 100];

/// A triangular matrix in memory; everything outside the triangle is NaN. Its diagonal is greater than the
/// rest of a row or column.
struct Triangle<E> {
    stored: Matrix<E>,
    upper: bool,
    diag: rocblas_diagonal,
}

impl<E: Element> Triangle<E> {
    fn new(random: &mut Random, n: usize, upper: bool, diag: rocblas_diagonal) -> Self {
        let mut stored = random.matrices::<E>(1, n, n).remove(0);
        for j in 0..n {
            for i in 0..n {
                let x = stored.at(i, j);
                let scale = 1.0 / n as f64;
                let x = if i == j { x + z(2.0) } else { Z { re: x.re * scale, im: x.im * scale } };
                let there = (if upper { i <= j } else { i >= j }) && !(i == j && diag == UNIT);
                stored.set(i, j, if there { x } else { NAN });
            }
        }
        Self { stored, upper, diag }
    }

    fn at(&self, i: usize, j: usize) -> Z {
        if i == j && self.diag == UNIT {
            ONE
        } else if if self.upper { i <= j } else { i >= j } {
            self.stored.at(i, j)
        } else {
            ZERO
        }
    }
}

macro_rules! triangles {
    ($($test:ident: $type:ty, $cases:literal, trmm [$($trmm:ident)+] trsm [$($trsm:ident)+];)+) => {$(
        #[test]
        fn $test() {
            let blas = Blas::new();
            let mut random = Random::new(30);
            for number in 0..$cases {
                let (form, on_device) = form(number);
                blas.on_device(on_device);
                let batch = form.batch();
                let [m, n] = [random.one_of(&SIZES), random.one_of(&SIZES)];
                let (side, uplo, trans) = (random.one_of(&[LEFT, RIGHT]), random.one_of(&[UPPER, LOWER]), random.one_of(&[N, T, C]));
                let diag = random.one_of(&[UNIT, NON_UNIT]);
                let alpha = <$type>::of(random.factor()).z();
                let order = if side == LEFT { m } else { n };
                let triangles: Vec<_> = (0..batch).map(|_| Triangle::<$type>::new(&mut random, order, uplo == UPPER, diag)).collect();
                // Batches have one leading dimension.
                let leading = triangles.iter().map(|a| a.stored.leading).max().unwrap();
                let mut stored: Vec<_> = triangles.iter().map(|a| {
                    let mut stored = Matrix::new(order, order, leading, NAN);
                    (0..order * order).for_each(|at| stored.set(at % order, at / order, a.stored.at(at % order, at / order)));
                    stored
                }).collect();
                if alpha == ZERO {
                    // Then it is not read.
                    stored.iter_mut().for_each(|a| a.data.fill(<$type>::of(NAN)));
                }
                let a = |index: usize, i: usize, j: usize| match trans {
                    N => triangles[index].at(i, j),
                    T => triangles[index].at(j, i),
                    _ => triangles[index].at(j, i).conj(),
                };
                let b = random.matrices::<$type>(batch, m, n);
                let on_alpha = blas.scalar::<$type>(alpha, on_device);
                let on_a = blas.matrices(form, &stored);
                let product = |index: usize, b: &Matrix<$type>, i: usize, j: usize| {
                    if side == LEFT {
                        Sum::of((0..m).map(|d| (a(index, i, d), b.at(d, j))))
                    } else {
                        Sum::of((0..n).map(|d| (b.at(i, d), a(index, d, j))))
                    }
                };

                // In place, or not.
                let in_place = number % 3 == 0;
                let c = if in_place { b.clone() } else { random.matrices::<$type>(batch, m, n) };
                let (on_b, on_c) = (blas.matrices(form, &b), blas.matrices(form, &c));
                let target = if in_place { &on_b } else { &on_c };
                let what = (form, on_device, side, uplo, trans, diag, m, n, alpha, in_place);
                let status = call!(blas, form, [$($trmm)+]; v side, v uplo, v trans, v diag, s m, s n, p on_alpha, o on_a, leading,
                    o on_b, b[0].leading, o target, c[0].leading, b batch,);
                assert_eq!(status, SUCCESS, "{what:?}");
                for (index, got) in target.read(&blas).iter().enumerate() {
                    compare(&c[index], got, &("trmm", what), |i, j| {
                        Some(if alpha == ZERO { Sum::NONE } else { product(index, &b[index], i, j).times(alpha) })
                    });
                }

                let on_b = blas.matrices(form, &b);
                let status = call!(blas, form, [$($trsm)+]; v side, v uplo, v trans, v diag, s m, s n, p on_alpha, o on_a, leading,
                    o on_b, b[0].leading, b batch,);
                assert_eq!(status, SUCCESS, "{what:?}");
                for (index, got) in on_b.read(&blas).into_iter().enumerate() {
                    let x = Matrix { data: got.clone(), ..b[index].clone() };
                    // Memory between columns is unchanged.
                    compare(&b[index], &got, &("trsm", what), |i, j| Some(Sum::NONE.plus(ONE, x.at(i, j))));
                    for j in 0..n {
                        for i in 0..m {
                            if alpha == ZERO {
                                assert_eq!(x.at(i, j), ZERO, "{what:?}");
                                continue;
                            }
                            // The matrix times the solution gives the right side.
                            let (sum, want) = (product(index, &x, i, j), alpha * b[index].at(i, j));
                            let bound = <$type>::ROUNDING * (sum.size + want.size()) * (8 + 4 * order) as f64;
                            assert!((sum.value - want).size() <= bound, "{what:?} at {i}, {j}: {sum:?}, not {want:?}");
                        }
                    }
                }
            }
        }
    )+};
}
triangles! {
    triangular_matrices_of_f32_are_multiplied_and_solved: f32, 20,
        trmm [rocblas_strmm rocblas_strmm_64 rocblas_strmm_batched rocblas_strmm_batched_64 rocblas_strmm_strided_batched rocblas_strmm_strided_batched_64]
        trsm [rocblas_strsm rocblas_strsm_64 rocblas_strsm_batched rocblas_strsm_batched_64 rocblas_strsm_strided_batched rocblas_strsm_strided_batched_64];
    triangular_matrices_of_f64_are_multiplied_and_solved: f64, 10,
        trmm [rocblas_dtrmm rocblas_dtrmm_64 rocblas_dtrmm_batched rocblas_dtrmm_batched_64 rocblas_dtrmm_strided_batched rocblas_dtrmm_strided_batched_64]
        trsm [rocblas_dtrsm rocblas_dtrsm_64 rocblas_dtrsm_batched rocblas_dtrsm_batched_64 rocblas_dtrsm_strided_batched rocblas_dtrsm_strided_batched_64];
    triangular_matrices_of_complex_f32_are_multiplied_and_solved: [f32; 2], 20,
        trmm [rocblas_ctrmm rocblas_ctrmm_64 rocblas_ctrmm_batched rocblas_ctrmm_batched_64 rocblas_ctrmm_strided_batched rocblas_ctrmm_strided_batched_64]
        trsm [rocblas_ctrsm rocblas_ctrsm_64 rocblas_ctrsm_batched rocblas_ctrsm_batched_64 rocblas_ctrsm_strided_batched rocblas_ctrsm_strided_batched_64];
    triangular_matrices_of_complex_f64_are_multiplied_and_solved: [f64; 2], 10,
        trmm [rocblas_ztrmm rocblas_ztrmm_64 rocblas_ztrmm_batched rocblas_ztrmm_batched_64 rocblas_ztrmm_strided_batched rocblas_ztrmm_strided_batched_64]
        trsm [rocblas_ztrsm rocblas_ztrsm_64 rocblas_ztrsm_batched rocblas_ztrsm_batched_64 rocblas_ztrsm_strided_batched rocblas_ztrsm_strided_batched_64];
    products_out_of_place_of_f32_are_right: f32, 6,
        trmm [rocblas_strmm_outofplace rocblas_strmm_outofplace_batched rocblas_strmm_outofplace_strided_batched]
        trsm [rocblas_strsm rocblas_strsm_64 rocblas_strsm_batched rocblas_strsm_batched_64 rocblas_strsm_strided_batched rocblas_strsm_strided_batched_64];
    products_out_of_place_of_f64_are_right: f64, 6,
        trmm [rocblas_dtrmm_outofplace rocblas_dtrmm_outofplace_batched rocblas_dtrmm_outofplace_strided_batched]
        trsm [rocblas_dtrsm rocblas_dtrsm_64 rocblas_dtrsm_batched rocblas_dtrsm_batched_64 rocblas_dtrsm_strided_batched rocblas_dtrsm_strided_batched_64];
    products_out_of_place_of_complex_f32_are_right: [f32; 2], 6,
        trmm [rocblas_ctrmm_outofplace rocblas_ctrmm_outofplace_batched rocblas_ctrmm_outofplace_strided_batched]
        trsm [rocblas_ctrsm rocblas_ctrsm_64 rocblas_ctrsm_batched rocblas_ctrsm_batched_64 rocblas_ctrsm_strided_batched rocblas_ctrsm_strided_batched_64];
    products_out_of_place_of_complex_f64_are_right: [f64; 2], 6,
        trmm [rocblas_ztrmm_outofplace rocblas_ztrmm_outofplace_batched rocblas_ztrmm_outofplace_strided_batched]
        trsm [rocblas_ztrsm rocblas_ztrsm_64 rocblas_ztrsm_batched rocblas_ztrsm_batched_64 rocblas_ztrsm_strided_batched rocblas_ztrsm_strided_batched_64];
}

macro_rules! inverses {
    ($($test:ident: $type:ty, [$($name:ident)+];)+) => {$(
        #[test]
        fn $test() {
            let blas = Blas::new();
            let mut random = Random::new(31);
            for (number, n) in [1, 5, 33, 70, 0].into_iter().enumerate() {
                let (form, _) = form(number);
                let batch = form.batch();
                let (uplo, diag) = (random.one_of(&[UPPER, LOWER]), random.one_of(&[UNIT, NON_UNIT]));
                let triangle = Triangle::<$type>::new(&mut random, n, uplo == UPPER, diag);
                let stored = vec![triangle.stored.clone(); batch];
                let inverses = random.matrices::<$type>(batch, n, n);
                let (on_a, on_c) = (blas.matrices(form, &stored), blas.matrices(form, &inverses));
                let status = call!(blas, form, [$($name)+]; v uplo, v diag, s n, o on_a, stored[0].leading,
                    o on_c, inverses[0].leading, b batch,);
                let what = (form, uplo, diag, n);
                assert_eq!(status, SUCCESS, "{what:?}");
                for (index, got) in on_c.read(&blas).into_iter().enumerate() {
                    let inverse = Triangle { stored: Matrix { data: got, ..inverses[index].clone() }, upper: uplo == UPPER, diag: NON_UNIT };
                    for j in 0..n {
                        for i in 0..n {
                            let sum = Sum::of((0..n).map(|d| (triangle.at(i, d), inverse.at(d, j))));
                            let want = if i == j { ONE } else { ZERO };
                            let bound = <$type>::ROUNDING * (sum.size + 1.0) * (8 + 4 * n) as f64;
                            assert!((sum.value - want).size() <= bound, "{what:?} at {i}, {j}: {sum:?}, not {want:?}");
                        }
                    }
                }
            }
        }
    )+};
}
inverses! {
    inverses_of_f32_are_right: f32, [rocblas_strtri rocblas_strtri_batched rocblas_strtri_strided_batched];
    inverses_of_f64_are_right: f64, [rocblas_dtrtri rocblas_dtrtri_batched rocblas_dtrtri_strided_batched];
    inverses_of_complex_f32_are_right: [f32; 2], [rocblas_ctrtri rocblas_ctrtri_batched rocblas_ctrtri_strided_batched];
    inverses_of_complex_f64_are_right: [f64; 2], [rocblas_ztrtri rocblas_ztrtri_batched rocblas_ztrtri_strided_batched];
}
