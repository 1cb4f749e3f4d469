//! Functions of vectors whose types are arguments, and those whose names have two types.

use half::{bf16, f16};
use rocblas_sys::{rocblas_datatype, rocblas_status};

use crate::common::{Blas, Form, Random, SUCCESS, call, form};
use crate::level1::{Numbers, Results, SIZES, STEPS, compare};
use crate::model::{Element, ONE, Sum, Z, ZERO, check, z};

const F32: rocblas_datatype = rocblas_datatype::rocblas_datatype_f32_r;
const F64: rocblas_datatype = rocblas_datatype::rocblas_datatype_f64_r;
const F16: rocblas_datatype = rocblas_datatype::rocblas_datatype_f16_r;
const BF16: rocblas_datatype = rocblas_datatype::rocblas_datatype_bf16_r;
const C32: rocblas_datatype = rocblas_datatype::rocblas_datatype_f32_c;
const C64: rocblas_datatype = rocblas_datatype::rocblas_datatype_f64_c;

// The type of vectors, the type of factors and of the computation, and the type of norms.
macro_rules! extended {
    ($($test:ident: $type:ty, $kind:ident, $factor:ty, $compute:ident, $real:ty, $norm:ident;)+) => {$(
        #[test]
        fn $test() {
            let blas = Blas::new();
            let mut random = Random::new(40);
            for number in 0..36 {
                let (form, on_device) = form(number / 6);
                blas.on_device(on_device);
                let (n, batch) = (random.one_of(&SIZES), form.batch());
                let (step_x, step_y) = (random.one_of(&STEPS), random.one_of(&STEPS));
                // For norms and products with a factor, negative increments mean empty vectors.
                let step_x = if matches!(number % 6, 1 | 5) { step_x.abs() } else { step_x };
                let x = random.vectors::<$type>(batch, n, step_x);
                let y = random.vectors::<$type>(batch, n, step_y);
                let [on_x, on_y] = [&x, &y].map(|vectors| blas.vectors(form, vectors));
                let alpha = <$factor>::of(random.factor()).z();
                let [c, s] = [random.z(), random.z()].map(|value| <$factor>::of(value).z());
                let [on_alpha, on_c, on_s] = [alpha, c, s].map(|value| blas.scalar::<$factor>(value, on_device));
                let mut dots = Results::new(&blas, batch, <$type>::of(ZERO), on_device);
                let mut norms = Results::new(&blas, batch, <$real>::of(ZERO), on_device);
                let (kind, compute) = ($kind, $compute);
                let what = (number % 6, form, on_device, n, step_x, step_y, alpha);
                let status = match number % 6 {
                    0 => call!(blas, form, [rocblas_axpy_ex rocblas_axpy_ex_64 rocblas_axpy_batched_ex rocblas_axpy_batched_ex_64 rocblas_axpy_strided_batched_ex rocblas_axpy_strided_batched_ex_64]; s n, p on_alpha, v compute, e on_x, kind, step_x, e on_y, kind, step_y, b batch, v compute,),
                    1 => call!(blas, form, [rocblas_scal_ex rocblas_scal_ex_64 rocblas_scal_batched_ex rocblas_scal_batched_ex_64 rocblas_scal_strided_batched_ex rocblas_scal_strided_batched_ex_64]; s n, p on_alpha, v compute, e on_x, kind, step_x, b batch, v compute,),
                    2 => call!(blas, form, [rocblas_rot_ex rocblas_rot_ex_64 rocblas_rot_batched_ex rocblas_rot_batched_ex_64 rocblas_rot_strided_batched_ex rocblas_rot_strided_batched_ex_64]; s n, e on_x, kind, step_x, e on_y, kind, step_y, p on_c, p on_s, v compute, b batch, v compute,),
                    3 => call!(blas, form, [rocblas_dot_ex rocblas_dot_ex_64 rocblas_dot_batched_ex rocblas_dot_batched_ex_64 rocblas_dot_strided_batched_ex rocblas_dot_strided_batched_ex_64]; s n, e on_x, kind, step_x, e on_y, kind, step_y, b batch, v dots.pointer(), v kind, v compute,),
                    4 => call!(blas, form, [rocblas_dotc_ex rocblas_dotc_ex_64 rocblas_dotc_batched_ex rocblas_dotc_batched_ex_64 rocblas_dotc_strided_batched_ex rocblas_dotc_strided_batched_ex_64]; s n, e on_x, kind, step_x, e on_y, kind, step_y, b batch, v dots.pointer(), v kind, v compute,),
                    _ => call!(blas, form, [rocblas_nrm2_ex rocblas_nrm2_ex_64 rocblas_nrm2_batched_ex rocblas_nrm2_batched_ex_64 rocblas_nrm2_strided_batched_ex rocblas_nrm2_strided_batched_ex_64]; s n, e on_x, kind, step_x, b batch, v norms.pointer(), v $norm, v compute,),
                };
                assert_eq!(status, SUCCESS, "{what:?}");
                let (got, dots, norms) = ([on_x.read(&blas), on_y.read(&blas)], dots.get(&blas), norms.get(&blas));
                // A cosine has no imaginary part, whatever its type.
                let c = z(c.re);
                for index in 0..batch {
                    let (x, y) = (&x[index], &y[index]);
                    compare(x, &got[0][index], &what, |i| match number % 6 {
                        1 => Sum::NONE.plus(alpha, x.at(i)),
                        2 => Sum::NONE.plus(c, x.at(i)).plus(s, y.at(i)),
                        _ => Sum::NONE.plus(ONE, x.at(i)),
                    });
                    compare(y, &got[1][index], &what, |i| match number % 6 {
                        0 => Sum::NONE.plus(ONE, y.at(i)).plus(alpha, x.at(i)),
                        2 => Sum::NONE.plus(c, y.at(i)).plus(ZERO - s.conj(), x.at(i)),
                        _ => Sum::NONE.plus(ONE, y.at(i)),
                    });
                    let left = |i| if number % 6 == 4 { x.at(i).conj() } else { x.at(i) };
                    let dot = Sum::of((0..n).map(|i| (left(i), y.at(i))));
                    if matches!(number % 6, 3 | 4) {
                        // Added in the compute type, and rounded once.
                        let bound = Sum { size: dot.size * (<$factor>::ROUNDING / <$type>::ROUNDING).min(1.0), ..dot };
                        check(dots[index], bound, &what);
                    }
                    if number % 6 == 5 {
                        let squares: f64 = (0..n).map(|i| x.at(i).size().powi(2)).sum();
                        let want = squares.sqrt();
                        let bound = (<$real>::ROUNDING + <$factor>::ROUNDING * (4 + n) as f64) * want;
                        assert!((norms[index].z().re - want).abs() <= bound, "{what:?}: {:?}, not {want}", norms[index]);
                    }
                }
            }
        }
    )+};
}
extended! {
    vectors_of_f32_by_type: f32, F32, f32, F32, f32, F32;
    vectors_of_f64_by_type: f64, F64, f64, F64, f64, F64;
    vectors_of_f16_by_type: f16, F16, f32, F32, f16, F16;
    vectors_of_bf16_by_type: bf16, BF16, f32, F32, bf16, BF16;
    vectors_of_complex_f32_by_type: [f32; 2], C32, [f32; 2], C32, f32, F32;
    vectors_of_complex_f64_by_type: [f64; 2], C64, [f64; 2], C64, f64, F64;
}

/// Vectors of f32 whose products are added in f64.
#[test]
fn dot_products_of_f32_are_computed_in_f64() {
    let blas = Blas::new();
    let mut random = Random::new(44);
    for number in 0..16 {
        let (form, on_device) = form(number / 2);
        blas.on_device(on_device);
        // Long enough for several workgroups.
        let n = if number > 13 { 9001 } else { random.one_of(&SIZES) };
        let (batch, step_x, step_y) = (form.batch(), random.one_of(&STEPS), random.one_of(&STEPS));
        let mut vectors = |step| {
            let mut vectors = random.vectors::<f32>(batch, n, step);
            // All digits of f32, so that f32 could not represent the products.
            vectors.iter_mut().for_each(|x| (0..n).for_each(|i| x.set(i, z(x.at(i).re / 3.0))));
            vectors
        };
        let (x, y) = (vectors(step_x), vectors(step_y));
        let [on_x, on_y] = [&x, &y].map(|vectors| blas.vectors(form, vectors));
        let mut dots = Results::new(&blas, batch, f64::NAN, on_device);
        let status = if number % 2 == 0 {
            call!(blas, form, [rocblas_dot_ex rocblas_dot_ex_64 rocblas_dot_batched_ex rocblas_dot_batched_ex_64 rocblas_dot_strided_batched_ex rocblas_dot_strided_batched_ex_64]; s n, e on_x, F32, step_x, e on_y, F32, step_y, b batch, v dots.pointer(), v F64, v F64,)
        } else {
            call!(blas, form, [rocblas_dotc_ex rocblas_dotc_ex_64 rocblas_dotc_batched_ex rocblas_dotc_batched_ex_64 rocblas_dotc_strided_batched_ex rocblas_dotc_strided_batched_ex_64]; s n, e on_x, F32, step_x, e on_y, F32, step_y, b batch, v dots.pointer(), v F64, v F64,)
        };
        let what = (form, on_device, n, step_x, step_y);
        assert_eq!(status, SUCCESS, "{what:?}");
        for (index, got) in dots.get(&blas).into_iter().enumerate() {
            check(got, Sum::of((0..n).map(|i| (x[index].at(i), y[index].at(i)))), &what);
        }
    }
    // The result has the same type, and so have the vectors.
    let x = blas.operand(Form::Plain, &[vec![1.0_f64; 2]]);
    let result = blas.operand(Form::Plain, &[vec![0.0_f64; 1]]);
    blas.on_device(true);
    for [kind, to, compute] in [[F32, F32, F64], [F16, F64, F64], [F32, F64, F32], [C32, F64, F64]] {
        let status = call!(blas, Form::Plain, [rocblas_dot_ex rocblas_dot_batched_ex rocblas_dot_strided_batched_ex];
            s 2, e x, kind, 1, e x, kind, 1, b 1, v result.pointer(), v to, v compute,);
        assert_eq!(status, rocblas_status::rocblas_status_not_implemented, "{kind:?} {to:?} {compute:?}");
    }
}

macro_rules! real_factors {
    ($($test:ident: $type:ty, $real:ty, scal [$($scal:ident)+] rot [$($rot:ident)+];)+) => {$(
        #[test]
        fn $test() {
            let blas = Blas::new();
            let mut random = Random::new(41);
            for number in 0..12 {
                let (form, on_device) = form(number);
                blas.on_device(on_device);
                let (n, batch) = (random.one_of(&SIZES), form.batch());
                let (step_x, step_y) = (random.one_of(&STEPS).abs(), random.one_of(&STEPS));
                let x = random.vectors::<$type>(batch, n, step_x);
                let y = random.vectors::<$type>(batch, n, step_y);
                let [c, s] = [random.factor().real(), random.z().real()];
                let [on_c, on_s] = [c, s].map(|value| blas.scalar::<$real>(value, on_device));
                let what = (form, on_device, n, step_x, step_y, c, s);

                let on_x = blas.vectors(form, &x);
                let status = call!(blas, form, [$($scal)+]; s n, p on_c, o on_x, step_x, b batch,);
                assert_eq!(status, SUCCESS, "{what:?}");
                for (x, got) in x.iter().zip(on_x.read(&blas)) {
                    compare(x, &got, &what, |i| Sum::NONE.plus(c, x.at(i)));
                }

                let [on_x, on_y] = [&x, &y].map(|vectors| blas.vectors(form, vectors));
                let status = call!(blas, form, [$($rot)+]; s n, o on_x, step_x, o on_y, step_y, p on_c, p on_s, b batch,);
                assert_eq!(status, SUCCESS, "{what:?}");
                let got = [on_x.read(&blas), on_y.read(&blas)];
                for (index, (x, y)) in x.iter().zip(&y).enumerate() {
                    compare(x, &got[0][index], &what, |i| Sum::NONE.plus(c, x.at(i)).plus(s, y.at(i)));
                    compare(y, &got[1][index], &what, |i| Sum::NONE.plus(c, y.at(i)).plus(ZERO - s, x.at(i)));
                }
            }
        }
    )+};
}
real_factors! {
    complex_f32_with_real_factors: [f32; 2], f32,
        scal [rocblas_csscal rocblas_csscal_64 rocblas_csscal_batched rocblas_csscal_batched_64 rocblas_csscal_strided_batched rocblas_csscal_strided_batched_64]
        rot [rocblas_csrot rocblas_csrot_64 rocblas_csrot_batched rocblas_csrot_batched_64 rocblas_csrot_strided_batched rocblas_csrot_strided_batched_64];
    complex_f64_with_real_factors: [f64; 2], f64,
        scal [rocblas_zdscal rocblas_zdscal_64 rocblas_zdscal_batched rocblas_zdscal_batched_64 rocblas_zdscal_strided_batched rocblas_zdscal_strided_batched_64]
        rot [rocblas_zdrot rocblas_zdrot_64 rocblas_zdrot_batched rocblas_zdrot_batched_64 rocblas_zdrot_strided_batched rocblas_zdrot_strided_batched_64];
}

/// The factor is f16, too.
#[test]
fn sums_of_vectors_of_f16_are_right() {
    let blas = Blas::new();
    let mut random = Random::new(42);
    for number in 0..8 {
        let (form, on_device) = form(number);
        blas.on_device(on_device);
        let (n, batch) = (random.one_of(&SIZES), form.batch());
        let (step_x, step_y) = (random.one_of(&STEPS), random.one_of(&STEPS));
        let x = random.vectors::<f16>(batch, n, step_x);
        let y = random.vectors::<f16>(batch, n, step_y);
        let [on_x, on_y] = [&x, &y].map(|vectors| blas.vectors(form, vectors));
        let alpha = f16::of(random.factor()).z();
        let on_alpha = blas.scalar::<f16>(alpha, on_device);
        let status = call!(blas, form, [rocblas_haxpy rocblas_haxpy_64 rocblas_haxpy_batched rocblas_haxpy_batched_64 rocblas_haxpy_strided_batched rocblas_haxpy_strided_batched_64];
            s n, p on_alpha, o on_x, step_x, o on_y, step_y, b batch,);
        assert_eq!(status, SUCCESS);
        for (index, got) in on_y.read(&blas).iter().enumerate() {
            let (x, y) = (&x[index], &y[index]);
            compare(y, got, &(form, n, alpha), |i| Sum::NONE.plus(ONE, y.at(i)).plus(alpha, x.at(i)));
        }
    }
}

macro_rules! rotations {
    ($($test:ident: $type:ty, $real:ty, [$($name:ident)+];)+) => {$(
        /// The rotation takes (a, b) to (r, 0).
        #[test]
        fn $test() {
            let blas = Blas::new();
            let mut random = Random::new(43);
            for number in 0..12 {
                let (form, on_device) = form(number);
                blas.on_device(on_device);
                let batch = form.batch();
                let [x, y]: [Vec<Z>; 2] = std::array::from_fn(|_| (0..batch).map(|_| <$type>::of(random.z()).z()).collect());
                let numbers = |values: &[Z]| values.iter().map(|x| vec![<$type>::of(*x)]).collect::<Vec<_>>();
                let (mut a, mut b, mut s) = (numbers(&x), numbers(&y), numbers(&x));
                let mut c = vec![vec![<$real>::of(ONE)]; batch];
                {
                    let [on_a, on_b, on_s] = [&mut a, &mut b, &mut s].map(|x| Numbers::new(&blas, form, on_device, x));
                    let on_c = Numbers::new(&blas, form, on_device, &mut c);
                    let status = call!(blas, form, [$($name)+]; a on_a, a on_b, a on_c, a on_s, b batch,);
                    assert_eq!(status, SUCCESS);
                    on_a.get(&blas);
                    on_b.get(&blas);
                    on_s.get(&blas);
                    on_c.get(&blas);
                }
                for i in 0..batch {
                    let (r, c, s) = (a[i][0].z(), c[i][0].z(), s[i][0].z());
                    let what = (number, x[i], y[i], r, c, s);
                    assert!((c * x[i] + s * y[i] - r).size() < 2e-6, "{what:?}");
                    assert!((c * y[i] - s.conj() * x[i]).size() < 2e-6, "{what:?}");
                    assert!((c.re * c.re + s.size() * s.size() - 1.0).abs() < 2e-6, "{what:?}");
                }
            }
        }
    )+};
}
rotations! {
    rotations_of_f32_turn_the_second_number_to_zero: f32, f32, [rocblas_srotg rocblas_srotg_64 rocblas_srotg_batched rocblas_srotg_batched_64 rocblas_srotg_strided_batched rocblas_srotg_strided_batched_64];
    rotations_of_complex_f32_turn_the_second_number_to_zero: [f32; 2], f32, [rocblas_crotg rocblas_crotg_64 rocblas_crotg_batched rocblas_crotg_batched_64 rocblas_crotg_strided_batched rocblas_crotg_strided_batched_64];
}

/// H of the parameters takes (√d1 x1, √d2 y1) to a vector whose second part is zero, and rotm applies it.
#[test]
fn modified_rotations_of_f32_turn_the_second_number_to_zero() {
    let blas = Blas::new();
    let mut random = Random::new(44);
    for (number, first) in
        [[0.5_f32, 0.25, 2.0, 1.0], [0.5, 0.25, 1.0, 4.0], [1.0, 2.0, 3.0, -1.5]].into_iter().enumerate()
    {
        let (form, on_device) = form(number);
        blas.on_device(on_device);
        let batch = form.batch();
        let mut numbers = first.map(|x| vec![vec![x]; batch]);
        let mut param = vec![vec![7.0_f32; 5]; batch];
        {
            let [on_d1, on_d2, on_x1, on_y1] =
                numbers.each_mut().map(|x| Numbers::new(&blas, form, on_device, x));
            let on_param = Numbers::new(&blas, form, on_device, &mut param);
            let status = call!(blas, form, [rocblas_srotmg rocblas_srotmg_64 rocblas_srotmg_batched rocblas_srotmg_batched_64 rocblas_srotmg_strided_batched rocblas_srotmg_strided_batched_64];
                a on_d1, a on_d2, a on_x1, a on_y1, a on_param, b batch,);
            assert_eq!(status, SUCCESS);
            [on_d1, on_d2, on_x1, on_y1].into_iter().for_each(|numbers| numbers.get(&blas));
            on_param.get(&blas);
        }
        let matrix = |p: &[f32]| match p[0] as i32 {
            -2 => [[1.0, 0.0], [0.0, 1.0]],
            -1 => [[p[1], p[3]], [p[2], p[4]]],
            0 => [[1.0, p[3]], [p[2], 1.0]],
            _ => [[p[1], 1.0], [-1.0, p[4]]],
        };
        for (index, param) in param.iter().enumerate() {
            let [[h11, h12], [h21, h22]] = matrix(param);
            let [_, _, x1, y1] = first;
            assert!((h21 * x1 + h22 * y1).abs() <= 1e-6 * ((h21 * x1).abs() + (h22 * y1).abs()), "{param:?}");
            assert!(
                (h11 * x1 + h12 * y1 - numbers[2][index][0]).abs() <= 1e-6 * numbers[2][index][0].abs(),
                "{param:?}"
            );
        }
        let (n, step_x, step_y) = (random.one_of(&SIZES), random.one_of(&STEPS), random.one_of(&STEPS));
        let (x, y) = (random.vectors::<f32>(batch, n, step_x), random.vectors::<f32>(batch, n, step_y));
        let [on_x, on_y] = [&x, &y].map(|vectors| blas.vectors(form, vectors));
        let before = param.clone();
        // For a batch, parameters are on the device.
        let on_param = Numbers::new(&blas, form, on_device || batch > 1, &mut param);
        let status = call!(blas, form, [rocblas_srotm rocblas_srotm_64 rocblas_srotm_batched rocblas_srotm_batched_64 rocblas_srotm_strided_batched rocblas_srotm_strided_batched_64];
            s n, o on_x, step_x, o on_y, step_y, a on_param, b batch,);
        assert_eq!(status, SUCCESS);
        let got = [on_x.read(&blas), on_y.read(&blas)];
        for index in 0..batch {
            let [[h11, h12], [h21, h22]] = matrix(&before[index]).map(|row| row.map(|x| z(x.into())));
            let (x, y) = (&x[index], &y[index]);
            compare(x, &got[0][index], &number, |i| Sum::NONE.plus(h11, x.at(i)).plus(h12, y.at(i)));
            compare(y, &got[1][index], &number, |i| Sum::NONE.plus(h21, x.at(i)).plus(h22, y.at(i)));
        }
    }
}
