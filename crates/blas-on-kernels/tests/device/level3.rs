//! Products with symmetric and Hermitian matrices, products whose results are such, and element-wise
//! operations on matrices.

use rocblas_sys::{rocblas_datatype, rocblas_fill, rocblas_operation};

use crate::common::{
    BETWEEN, Blas, C, Form, LEFT, LOWER, N, NAN, RIGHT, Random, SUCCESS, T, UPPER, call, form, op,
};
use crate::model::{Element, Matrix, ONE, Sum, Z, ZERO, is_close};

const SIZES: [usize; 9] = [0, 1, 2, 17, 33, 63, 64, 65, 70];

fn in_triangle(uplo: rocblas_fill, i: usize, j: usize) -> bool {
    if uplo == UPPER { i <= j } else { i >= j }
}

/// Compares each element of a matrix with the model; elements with `None` must be unchanged.
pub(crate) fn compare<E: Element>(
    before: &Matrix<E>,
    got: &[E],
    what: &dyn std::fmt::Debug,
    want: impl Fn(usize, usize) -> Option<Sum>,
) {
    for (place, got) in got.iter().enumerate() {
        let (i, j) = (place % before.leading, place / before.leading);
        let stayed = Sum::NONE.plus(ONE, before.data[place].z());
        let want = if i < before.rows { want(i, j).unwrap_or(stayed) } else { Sum::NONE.plus(ONE, BETWEEN) };
        assert!(is_close(*got, want, E::ROUNDING), "{what:?} at {i}, {j}: {got:?}, not {want:?}");
    }
}

/// Leaves only one triangle of a matrix.
fn halved<E: Element>(full: &Matrix<E>, uplo: rocblas_fill) -> Matrix<E> {
    let mut half = full.clone();
    for j in 0..full.columns {
        for i in (0..full.rows).filter(|&i| !in_triangle(uplo, i, j)) {
            half.set(i, j, NAN);
        }
    }
    half
}

/// The old C, alpha and beta of a product: NaN where C must not be read.
fn old<E: Element>(random: &mut Random, form: Form, m: usize, n: usize, beta: Z) -> Vec<Matrix<E>> {
    let mut c = random.matrices::<E>(form.batch(), m, n);
    if beta == ZERO {
        c.iter_mut().for_each(|c| (0..m * n).for_each(|at| c.set(at % m, at / m, NAN)));
    }
    c
}

fn finish(sum: Sum, alpha: Z, beta: Z, old: Z) -> Sum {
    let sum = if alpha == ZERO { Sum::NONE } else { sum.times(alpha) };
    if beta == ZERO { sum } else { sum.plus(beta, old) }
}

macro_rules! halves {
    ($($test:ident: $type:ty, $hermitian:literal, $cases:literal, [$($name:ident)+];)+) => {$(
        #[test]
        fn $test() {
            let blas = Blas::new();
            let mut random = Random::new(20);
            for number in 0..$cases {
                let (form, on_device) = form(number);
                blas.on_device(on_device);
                let (side, uplo) = (random.one_of(&[LEFT, RIGHT]), random.one_of(&[UPPER, LOWER]));
                let [m, n] = [random.one_of(&SIZES), random.one_of(&SIZES)];
                let order = if side == LEFT { m } else { n };
                let [alpha, beta] = [random.factor(), random.factor()].map(|x| <$type>::of(x).z());
                let full = random.matrices::<$type>(form.batch(), order, order);
                let half: Vec<_> = full.iter().map(|full| halved(full, uplo)).collect();
                let b = random.matrices::<$type>(form.batch(), m, n);
                let c = old::<$type>(&mut random, form, m, n, beta);
                let [on_a, on_b, on_c] = [&half, &b, &c].map(|matrices| blas.matrices(form, matrices));
                let [on_alpha, on_beta] = [alpha, beta].map(|x| blas.scalar::<$type>(x, on_device));
                let what = (form, on_device, side, uplo, m, n, alpha, beta);
                let status = call!(blas, form, [$($name)+]; v side, v uplo, s m, s n, p on_alpha, o on_a, half[0].leading,
                    o on_b, b[0].leading, p on_beta, o on_c, c[0].leading, b form.batch(),);
                assert_eq!(status, SUCCESS, "{what:?}");
                for (index, got) in on_c.read(&blas).iter().enumerate() {
                    let (full, b, c) = (&full[index], &b[index], &c[index]);
                    let a = |i: usize, j: usize| {
                        let x = if in_triangle(uplo, i, j) { full.at(i, j) } else if $hermitian { full.at(j, i).conj() } else { full.at(j, i) };
                        if $hermitian && i == j { x.real() } else { x }
                    };
                    compare(c, got, &what, |i, j| {
                        let sum = if side == LEFT {
                            Sum::of((0..m).map(|d| (a(i, d), b.at(d, j))))
                        } else {
                            Sum::of((0..n).map(|d| (b.at(i, d), a(d, j))))
                        };
                        Some(finish(sum, alpha, beta, c.at(i, j)))
                    });
                }
            }
        }
    )+};
}
halves! {
    symmetric_matrices_of_f32_are_multiplied: f32, false, 16, [rocblas_ssymm rocblas_ssymm_64 rocblas_ssymm_batched rocblas_ssymm_batched_64 rocblas_ssymm_strided_batched rocblas_ssymm_strided_batched_64];
    symmetric_matrices_of_f64_are_multiplied: f64, false, 8, [rocblas_dsymm rocblas_dsymm_64 rocblas_dsymm_batched rocblas_dsymm_batched_64 rocblas_dsymm_strided_batched rocblas_dsymm_strided_batched_64];
    symmetric_matrices_of_complex_f32_are_multiplied: [f32; 2], false, 12, [rocblas_csymm rocblas_csymm_64 rocblas_csymm_batched rocblas_csymm_batched_64 rocblas_csymm_strided_batched rocblas_csymm_strided_batched_64];
    symmetric_matrices_of_complex_f64_are_multiplied: [f64; 2], false, 6, [rocblas_zsymm rocblas_zsymm_64 rocblas_zsymm_batched rocblas_zsymm_batched_64 rocblas_zsymm_strided_batched rocblas_zsymm_strided_batched_64];
    hermitian_matrices_of_complex_f32_are_multiplied: [f32; 2], true, 16, [rocblas_chemm rocblas_chemm_64 rocblas_chemm_batched rocblas_chemm_batched_64 rocblas_chemm_strided_batched rocblas_chemm_strided_batched_64];
    hermitian_matrices_of_complex_f64_are_multiplied: [f64; 2], true, 8, [rocblas_zhemm rocblas_zhemm_64 rocblas_zhemm_batched rocblas_zhemm_batched_64 rocblas_zhemm_strided_batched rocblas_zhemm_strided_batched_64];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    One,
    Two,
    Both,
}

/// Tries an update of a triangle.
fn update<E: Element>(
    blas: &Blas,
    random: &mut Random,
    number: usize,
    of: Of,
    hermitian: bool,
    call: impl FnOnce(Update<'_, E>) -> rocblas_sys::rocblas_status,
) {
    let (form, on_device) = form(number);
    blas.on_device(on_device);
    let uplo = random.one_of(&[UPPER, LOWER]);
    let trans = random.one_of(if hermitian { &[N, C] } else { &[N, T] });
    let [n, k] = [random.one_of(&SIZES), random.one_of(&SIZES)];
    let (alpha, beta) = (random.factor(), random.factor());
    // herk has a real alpha, and all Hermitian updates have a real beta.
    let alpha = E::of(if hermitian && of == Of::One { alpha.real() } else { alpha }).z();
    let beta = E::of(if hermitian { beta.real() } else { beta }).z();
    let (rows, columns) = if trans == N { (n, k) } else { (k, n) };
    let a = random.matrices::<E>(form.batch(), rows, columns);
    let b = random.matrices::<E>(form.batch(), rows, columns);
    let c = old::<E>(random, form, n, n, beta);
    let [on_a, on_b, on_c] = [&a, &b, &c].map(|matrices| blas.matrices(form, matrices));
    let [on_alpha, on_beta] = [alpha, beta].map(|x| blas.scalar::<E>(x, on_device));
    let what = (of, form, on_device, uplo, trans, n, k, alpha, beta);
    let (a_operand, b_operand) = ((&on_a, a[0].leading), (&on_b, b[0].leading));
    let c_operand = (&on_c, c[0].leading);
    let update = Update {
        form,
        uplo,
        trans,
        n,
        k,
        alpha: &on_alpha,
        a: a_operand,
        b: b_operand,
        beta: &on_beta,
        c: c_operand,
    };
    assert_eq!(call(update), SUCCESS, "{what:?}");
    // Then nothing is done, and the diagonal is unchanged.
    let nothing = (alpha == ZERO || k == 0) && beta == ONE && !on_device;
    for (index, got) in on_c.read(blas).iter().enumerate() {
        let (a, b, c) = (&a[index], if of == Of::One { &a[index] } else { &b[index] }, &c[index]);
        let across = |x: Z| if hermitian { x.conj() } else { x };
        compare(c, got, &what, |i, j| {
            if !in_triangle(uplo, i, j) || nothing {
                return None;
            }
            let mut sum =
                Sum::of((0..k).map(|d| (op(a, trans, i, d), across(op(b, trans, j, d))))).times(alpha);
            if of == Of::Both {
                let other = Sum::of((0..k).map(|d| (op(b, trans, i, d), across(op(a, trans, j, d)))))
                    .times(across(alpha));
                sum = Sum { value: sum.value + other.value, size: sum.size + other.size, terms: 2 * k + 4 };
            }
            let is_diagonal = hermitian && i == j;
            let old = if is_diagonal { c.at(i, j).real() } else { c.at(i, j) };
            let sum = if alpha == ZERO { Sum::NONE } else { sum };
            let sum = if beta == ZERO { sum } else { sum.plus(beta, old) };
            Some(if is_diagonal { sum.real() } else { sum })
        });
    }
}

/// The arguments of an update.
struct Update<'a, E: hip::DeviceCopy> {
    form: Form,
    uplo: rocblas_fill,
    trans: rocblas_operation,
    n: usize,
    k: usize,
    alpha: &'a crate::common::Scalar<E>,
    a: (&'a crate::common::Operand<E>, usize),
    b: (&'a crate::common::Operand<E>, usize),
    beta: &'a crate::common::Scalar<E>,
    c: (&'a crate::common::Operand<E>, usize),
}

macro_rules! updates {
    ($($test:ident: $type:ty, $hermitian:literal, $cases:literal, one [$($one:ident)+] both [$($both:ident)+] two [$($two:ident)+];)+) => {$(
        #[test]
        fn $test() {
            let blas = Blas::new();
            let mut random = Random::new(21);
            for number in 0..$cases {
                update::<$type>(&blas, &mut random, number, Of::One, $hermitian, |Update { form, uplo, trans, n, k, alpha, a, beta, c, .. }| {
                    call!(blas, form, [$($one)+]; v uplo, v trans, s n, s k, p alpha, o a.0, a.1, p beta, o c.0, c.1, b form.batch(),)
                });
                update::<$type>(&blas, &mut random, number, Of::Both, $hermitian, |Update { form, uplo, trans, n, k, alpha, a, b, beta, c }| {
                    call!(blas, form, [$($both)+]; v uplo, v trans, s n, s k, p alpha, o a.0, a.1, o b.0, b.1, p beta, o c.0, c.1, b form.batch(),)
                });
                update::<$type>(&blas, &mut random, number, Of::Two, $hermitian, |Update { form, uplo, trans, n, k, alpha, a, b, beta, c }| {
                    call!(blas, form, [$($two)+]; v uplo, v trans, s n, s k, p alpha, o a.0, a.1, o b.0, b.1, p beta, o c.0, c.1, b form.batch(),)
                });
            }
        }
    )+};
}
updates! {
    symmetric_updates_of_f32_are_right: f32, false, 12,
        one [rocblas_ssyrk rocblas_ssyrk_64 rocblas_ssyrk_batched rocblas_ssyrk_batched_64 rocblas_ssyrk_strided_batched rocblas_ssyrk_strided_batched_64]
        both [rocblas_ssyr2k rocblas_ssyr2k_64 rocblas_ssyr2k_batched rocblas_ssyr2k_batched_64 rocblas_ssyr2k_strided_batched rocblas_ssyr2k_strided_batched_64]
        two [rocblas_ssyrkx rocblas_ssyrkx_64 rocblas_ssyrkx_batched rocblas_ssyrkx_batched_64 rocblas_ssyrkx_strided_batched rocblas_ssyrkx_strided_batched_64];
    symmetric_updates_of_f64_are_right: f64, false, 8,
        one [rocblas_dsyrk rocblas_dsyrk_64 rocblas_dsyrk_batched rocblas_dsyrk_batched_64 rocblas_dsyrk_strided_batched rocblas_dsyrk_strided_batched_64]
        both [rocblas_dsyr2k rocblas_dsyr2k_64 rocblas_dsyr2k_batched rocblas_dsyr2k_batched_64 rocblas_dsyr2k_strided_batched rocblas_dsyr2k_strided_batched_64]
        two [rocblas_dsyrkx rocblas_dsyrkx_64 rocblas_dsyrkx_batched rocblas_dsyrkx_batched_64 rocblas_dsyrkx_strided_batched rocblas_dsyrkx_strided_batched_64];
    symmetric_updates_of_complex_f32_are_right: [f32; 2], false, 8,
        one [rocblas_csyrk rocblas_csyrk_64 rocblas_csyrk_batched rocblas_csyrk_batched_64 rocblas_csyrk_strided_batched rocblas_csyrk_strided_batched_64]
        both [rocblas_csyr2k rocblas_csyr2k_64 rocblas_csyr2k_batched rocblas_csyr2k_batched_64 rocblas_csyr2k_strided_batched rocblas_csyr2k_strided_batched_64]
        two [rocblas_csyrkx rocblas_csyrkx_64 rocblas_csyrkx_batched rocblas_csyrkx_batched_64 rocblas_csyrkx_strided_batched rocblas_csyrkx_strided_batched_64];
    symmetric_updates_of_complex_f64_are_right: [f64; 2], false, 6,
        one [rocblas_zsyrk rocblas_zsyrk_64 rocblas_zsyrk_batched rocblas_zsyrk_batched_64 rocblas_zsyrk_strided_batched rocblas_zsyrk_strided_batched_64]
        both [rocblas_zsyr2k rocblas_zsyr2k_64 rocblas_zsyr2k_batched rocblas_zsyr2k_batched_64 rocblas_zsyr2k_strided_batched rocblas_zsyr2k_strided_batched_64]
        two [rocblas_zsyrkx rocblas_zsyrkx_64 rocblas_zsyrkx_batched rocblas_zsyrkx_batched_64 rocblas_zsyrkx_strided_batched rocblas_zsyrkx_strided_batched_64];
    hermitian_updates_of_complex_f32_are_right: [f32; 2], true, 12,
        one [rocblas_cherk rocblas_cherk_64 rocblas_cherk_batched rocblas_cherk_batched_64 rocblas_cherk_strided_batched rocblas_cherk_strided_batched_64]
        both [rocblas_cher2k rocblas_cher2k_64 rocblas_cher2k_batched rocblas_cher2k_batched_64 rocblas_cher2k_strided_batched rocblas_cher2k_strided_batched_64]
        two [rocblas_cherkx rocblas_cherkx_64 rocblas_cherkx_batched rocblas_cherkx_batched_64 rocblas_cherkx_strided_batched rocblas_cherkx_strided_batched_64];
    hermitian_updates_of_complex_f64_are_right: [f64; 2], true, 8,
        one [rocblas_zherk rocblas_zherk_64 rocblas_zherk_batched rocblas_zherk_batched_64 rocblas_zherk_strided_batched rocblas_zherk_strided_batched_64]
        both [rocblas_zher2k rocblas_zher2k_64 rocblas_zher2k_batched rocblas_zher2k_batched_64 rocblas_zher2k_strided_batched rocblas_zher2k_strided_batched_64]
        two [rocblas_zherkx rocblas_zherkx_64 rocblas_zherkx_batched rocblas_zherkx_batched_64 rocblas_zherkx_strided_batched rocblas_zherkx_strided_batched_64];
}

macro_rules! others {
    ($($test:ident: $type:ty, $cases:literal, gemmt [$($gemmt:ident)+] geam [$($geam:ident)+] dgmm [$($dgmm:ident)+];)+) => {$(
        #[test]
        fn $test() {
            let blas = Blas::new();
            let mut random = Random::new(22);
            for number in 0..$cases {
                let (form, on_device) = form(number);
                blas.on_device(on_device);
                let batch = form.batch();
                let [m, n, k] = [random.one_of(&SIZES), random.one_of(&SIZES), random.one_of(&SIZES)];
                let [trans_a, trans_b] = [random.one_of(&[N, T, C]), random.one_of(&[N, T, C])];
                let uplo = random.one_of(&[UPPER, LOWER]);
                let [alpha, beta] = [random.factor(), random.factor()].map(|x| <$type>::of(x).z());
                let [on_alpha, on_beta] = [alpha, beta].map(|x| blas.scalar::<$type>(x, on_device));
                let what = (form, on_device, trans_a, trans_b, uplo, [m, n, k], alpha, beta);
                let sides = |random: &mut Random, trans, rows, columns| {
                    let (rows, columns) = if trans == N { (rows, columns) } else { (columns, rows) };
                    random.matrices::<$type>(batch, rows, columns)
                };

                let (a, b) = (sides(&mut random, trans_a, n, k), sides(&mut random, trans_b, k, n));
                let c = old::<$type>(&mut random, form, n, n, beta);
                let [on_a, on_b, on_c] = [&a, &b, &c].map(|matrices| blas.matrices(form, matrices));
                let status = call!(blas, form, [$($gemmt)+]; v uplo, v trans_a, v trans_b, s n, s k, p on_alpha, o on_a, a[0].leading,
                    o on_b, b[0].leading, p on_beta, o on_c, c[0].leading, b batch,);
                assert_eq!(status, SUCCESS, "{what:?}");
                for (index, got) in on_c.read(&blas).iter().enumerate() {
                    let (a, b, c) = (&a[index], &b[index], &c[index]);
                    compare(c, got, &("gemmt", what), |i, j| {
                        let sum = || Sum::of((0..k).map(|d| (op(a, trans_a, i, d), op(b, trans_b, d, j))));
                        in_triangle(uplo, i, j).then(|| finish(sum(), alpha, beta, c.at(i, j)))
                    });
                }

                // Operands without a factor are not read.
                let (mut a, mut b) = (sides(&mut random, trans_a, m, n), sides(&mut random, trans_b, m, n));
                for (factor, matrices) in [(alpha, &mut a), (beta, &mut b)] {
                    if factor == ZERO {
                        matrices.iter_mut().for_each(|matrix| matrix.data.fill(<$type>::of(NAN)));
                    }
                }
                let c = random.matrices::<$type>(batch, m, n);
                let [on_a, on_b, on_c] = [&a, &b, &c].map(|matrices| blas.matrices(form, matrices));
                let status = call!(blas, form, [$($geam)+]; v trans_a, v trans_b, s m, s n, p on_alpha, o on_a, a[0].leading,
                    p on_beta, o on_b, b[0].leading, o on_c, c[0].leading, b batch,);
                assert_eq!(status, SUCCESS, "{what:?}");
                for (index, got) in on_c.read(&blas).iter().enumerate() {
                    compare(&c[index], got, &("geam", what), |i, j| {
                        let mut sum = Sum::NONE;
                        if alpha != ZERO {
                            sum.add(alpha, op(&a[index], trans_a, i, j));
                        }
                        if beta != ZERO {
                            sum.add(beta, op(&b[index], trans_b, i, j));
                        }
                        Some(sum)
                    });
                }

                let (side, step) = (random.one_of(&[LEFT, RIGHT]), random.one_of(&[1, 2, -1, -3, 0]));
                let a = random.matrices::<$type>(batch, m, n);
                let x = random.vectors::<$type>(batch, if side == LEFT { m } else { n }, step);
                let (on_a, on_x, on_c) = (blas.matrices(form, &a), blas.vectors(form, &x), blas.matrices(form, &c));
                let status = call!(blas, form, [$($dgmm)+]; v side, s m, s n, o on_a, a[0].leading, o on_x, step, o on_c, c[0].leading, b batch,);
                assert_eq!(status, SUCCESS, "{what:?}");
                for (index, got) in on_c.read(&blas).iter().enumerate() {
                    compare(&c[index], got, &("dgmm", side, step, what), |i, j| {
                        Some(Sum::NONE.plus(a[index].at(i, j), x[index].at(if side == LEFT { i } else { j })))
                    });
                }
            }
        }
    )+};
}
others! {
    other_products_of_f32_are_right: f32, 12,
        gemmt [rocblas_sgemmt rocblas_sgemmt_64 rocblas_sgemmt_batched rocblas_sgemmt_batched_64 rocblas_sgemmt_strided_batched rocblas_sgemmt_strided_batched_64]
        geam [rocblas_sgeam rocblas_sgeam_64 rocblas_sgeam_batched rocblas_sgeam_batched_64 rocblas_sgeam_strided_batched rocblas_sgeam_strided_batched_64]
        dgmm [rocblas_sdgmm rocblas_sdgmm_64 rocblas_sdgmm_batched rocblas_sdgmm_batched_64 rocblas_sdgmm_strided_batched rocblas_sdgmm_strided_batched_64];
    other_products_of_f64_are_right: f64, 8,
        gemmt [rocblas_dgemmt rocblas_dgemmt_64 rocblas_dgemmt_batched rocblas_dgemmt_batched_64 rocblas_dgemmt_strided_batched rocblas_dgemmt_strided_batched_64]
        geam [rocblas_dgeam rocblas_dgeam_64 rocblas_dgeam_batched rocblas_dgeam_batched_64 rocblas_dgeam_strided_batched rocblas_dgeam_strided_batched_64]
        dgmm [rocblas_ddgmm rocblas_ddgmm_64 rocblas_ddgmm_batched rocblas_ddgmm_batched_64 rocblas_ddgmm_strided_batched rocblas_ddgmm_strided_batched_64];
    other_products_of_complex_f32_are_right: [f32; 2], 12,
        gemmt [rocblas_cgemmt rocblas_cgemmt_64 rocblas_cgemmt_batched rocblas_cgemmt_batched_64 rocblas_cgemmt_strided_batched rocblas_cgemmt_strided_batched_64]
        geam [rocblas_cgeam rocblas_cgeam_64 rocblas_cgeam_batched rocblas_cgeam_batched_64 rocblas_cgeam_strided_batched rocblas_cgeam_strided_batched_64]
        dgmm [rocblas_cdgmm rocblas_cdgmm_64 rocblas_cdgmm_batched rocblas_cdgmm_batched_64 rocblas_cdgmm_strided_batched rocblas_cdgmm_strided_batched_64];
    other_products_of_complex_f64_are_right: [f64; 2], 8,
        gemmt [rocblas_zgemmt rocblas_zgemmt_64 rocblas_zgemmt_batched rocblas_zgemmt_batched_64 rocblas_zgemmt_strided_batched rocblas_zgemmt_strided_batched_64]
        geam [rocblas_zgeam rocblas_zgeam_64 rocblas_zgeam_batched rocblas_zgeam_batched_64 rocblas_zgeam_strided_batched rocblas_zgeam_strided_batched_64]
        dgmm [rocblas_zdgmm rocblas_zdgmm_64 rocblas_zdgmm_batched rocblas_zdgmm_batched_64 rocblas_zdgmm_strided_batched rocblas_zdgmm_strided_batched_64];
}

/// C = alpha op(A) op(A)ᵀ + beta C for matrices of these types, with factors of the compute type.
fn update_by_type<A: Element, C: Element, F: Element>(kinds: [rocblas_datatype; 3], seed: u64) {
    let blas = Blas::new();
    let mut random = Random::new(seed);
    for number in 0..8 {
        let on_device = number % 2 == 1;
        blas.on_device(on_device);
        let (uplo, trans) = (random.one_of(&[UPPER, LOWER]), random.one_of(&[N, T]));
        let (n, k) = (random.one_of(&SIZES), random.one_of(&[0, 1, 17, 65, 600]));
        let (alpha, beta) = (F::of(random.factor()).z(), F::of(random.factor()).z());
        let (rows, columns) = if trans == N { (n, k) } else { (k, n) };
        let a = random.matrices::<A>(1, rows, columns);
        let c = old::<C>(&mut random, Form::Plain, n, n, beta);
        let (on_a, on_c) = (blas.matrices(Form::Plain, &a), blas.matrices(Form::Plain, &c));
        let [on_alpha, on_beta] = [alpha, beta].map(|x| blas.scalar::<F>(x, on_device));
        let (a, c) = (&a[0], &c[0]);
        let [size, depth, lda, ldc] = [n, k, a.leading, c.leading].map(|size| size as i32);
        let what = (kinds, on_device, uplo, trans, n, k, alpha, beta);
        // SAFETY: the operands have as many elements as the sizes say.
        let status = unsafe {
            (blas.table.rocblas_syrk_ex)(
                blas.handle,
                uplo,
                trans,
                size,
                depth,
                on_alpha.pointer(),
                on_a.pointer(),
                kinds[0],
                lda,
                on_beta.pointer(),
                on_c.pointer(),
                kinds[1],
                ldc,
                kinds[2],
            )
        };
        assert_eq!(status, SUCCESS, "{what:?}");
        for (place, got) in on_c.read(&blas)[0].iter().enumerate() {
            let (i, j) = (place % c.leading, place / c.leading);
            if i >= n || !in_triangle(uplo, i, j) {
                let before = c.data[place];
                assert!(
                    *got == before || got.z().is_nan() && before.z().is_nan(),
                    "{what:?} at {i}, {j}: {got:?}"
                );
                continue;
            }
            let sum = Sum::of((0..k).map(|d| (op(a, trans, i, d), op(a, trans, j, d))));
            let want = finish(sum, alpha, beta, c.at(i, j));
            // In the compute type, and rounded once.
            let bound =
                F::ROUNDING * want.size * (4 + 2 * want.terms) as f64 + C::ROUNDING * want.value.size();
            let is_right = want.value.is_nan() && got.z().is_nan() || (got.z() - want.value).size() <= bound;
            assert!(is_right, "{what:?} at {i}, {j}: {got:?}, not {want:?}");
        }
    }
}

#[test]
fn symmetric_updates_by_type_are_right() {
    use half::{bf16, f16};
    use rocblas_datatype as kind;
    let [f32_r, f64_r] = [kind::rocblas_datatype_f32_r, kind::rocblas_datatype_f64_r];
    let [f16_r, bf16_r] = [kind::rocblas_datatype_f16_r, kind::rocblas_datatype_bf16_r];
    let [f32_c, f64_c] = [kind::rocblas_datatype_f32_c, kind::rocblas_datatype_f64_c];
    update_by_type::<f16, f16, f32>([f16_r, f16_r, f32_r], 50);
    update_by_type::<f16, f32, f32>([f16_r, f32_r, f32_r], 51);
    update_by_type::<bf16, bf16, f32>([bf16_r, bf16_r, f32_r], 52);
    update_by_type::<bf16, f32, f32>([bf16_r, f32_r, f32_r], 53);
    update_by_type::<f32, f32, f32>([f32_r, f32_r, f32_r], 54);
    update_by_type::<f32, f32, f64>([f32_r, f32_r, f64_r], 55);
    update_by_type::<f32, f64, f64>([f32_r, f64_r, f64_r], 56);
    update_by_type::<f64, f64, f64>([f64_r, f64_r, f64_r], 57);
    update_by_type::<[f32; 2], [f32; 2], [f32; 2]>([f32_c, f32_c, f32_c], 58);
    update_by_type::<[f64; 2], [f64; 2], [f64; 2]>([f64_c, f64_c, f64_c], 59);
}
