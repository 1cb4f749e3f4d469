//! Vectors.

use half::{bf16, f16};

use crate::common::{BETWEEN, Blas, Form, Random, SUCCESS, call, form, pointer};
use crate::model::{Element, ONE, Sum, Vector, Z, ZERO, check, z};

pub(crate) const SIZES: [usize; 7] = [0, 1, 2, 63, 64, 257, 300];
pub(crate) const STEPS: [i64; 4] = [1, 2, -1, -3];

/// Checks each element of a vector against the model, and that nothing between elements has changed.
pub(crate) fn compare<E: Element>(
    before: &Vector<E>,
    got: &[E],
    what: &dyn std::fmt::Debug,
    want: impl Fn(usize) -> Sum,
) {
    let places: Vec<usize> = (0..before.n).map(|i| before.place(i)).collect();
    for (i, place) in places.iter().enumerate() {
        check(got[*place], want(i), &(what, i));
    }
    for (place, x) in got.iter().enumerate() {
        assert!(places.contains(&place) || *x == E::of(BETWEEN), "{what:?}: between elements");
    }
}

macro_rules! changes {
    ($($test:ident: $type:ty, axpy [$($axpy:ident)+] scal [$($scal:ident)+] copy [$($copy:ident)+] swap [$($swap:ident)+] rot [$($rot:ident)+];)+) => {$(
        #[test]
        fn $test() {
            let blas = Blas::new();
            let mut random = Random::new(4);
            for number in 0..40 {
                let (form, on_device) = form(number / 5);
                blas.on_device(on_device);
                let (n, batch) = (random.one_of(&SIZES), form.batch());
                let (step_x, step_y) = (random.one_of(&STEPS), random.one_of(&STEPS));
                let step_x = if number % 5 == 1 { step_x.abs() } else { step_x };
                let x = random.vectors::<$type>(batch, n, step_x);
                let y = random.vectors::<$type>(batch, n, step_y);
                let [on_x, on_y] = [&x, &y].map(|vectors| blas.vectors(form, vectors));
                let alpha = <$type>::of(random.factor()).z();
                let beta = <$type>::of(random.z()).z();
                // The cosine is real, and the first part of a complex number is read.
                let (c, s) = (z(0.75), beta);
                let [on_alpha, on_c, on_s] = [alpha, c, s].map(|value| blas.scalar::<$type>(value, on_device));
                let what = (number % 5, form, n, step_x, step_y, alpha);
                let status = match number % 5 {
                    0 => call!(blas, form, [$($axpy)+]; s n, p on_alpha, o on_x, step_x, o on_y, step_y, b batch,),
                    1 => call!(blas, form, [$($scal)+]; s n, p on_alpha, o on_x, step_x, b batch,),
                    2 => call!(blas, form, [$($copy)+]; s n, o on_x, step_x, o on_y, step_y, b batch,),
                    3 => call!(blas, form, [$($swap)+]; s n, o on_x, step_x, o on_y, step_y, b batch,),
                    _ => call!(blas, form, [$($rot)+]; s n, o on_x, step_x, o on_y, step_y, p on_c, p on_s, b batch,),
                };
                assert_eq!(status, SUCCESS, "{what:?}");
                let got = [on_x.read(&blas), on_y.read(&blas)];
                for index in 0..batch {
                    let (x, y) = (&x[index], &y[index]);
                    compare(x, &got[0][index], &what, |i| match number % 5 {
                        1 => Sum::NONE.plus(alpha, x.at(i)),
                        3 => Sum::NONE.plus(ONE, y.at(i)),
                        4 => Sum::NONE.plus(c, x.at(i)).plus(s, y.at(i)),
                        _ => Sum::NONE.plus(ONE, x.at(i)),
                    });
                    compare(y, &got[1][index], &what, |i| match number % 5 {
                        0 => Sum::NONE.plus(ONE, y.at(i)).plus(alpha, x.at(i)),
                        2 | 3 => Sum::NONE.plus(ONE, x.at(i)),
                        4 => Sum::NONE.plus(c, y.at(i)).plus(ZERO - s.conj(), x.at(i)),
                        _ => Sum::NONE.plus(ONE, y.at(i)),
                    });
                }
            }
        }
    )+};
}

changes! {
    changes_of_f32_are_right: f32,
        axpy [rocblas_saxpy rocblas_saxpy_64 rocblas_saxpy_batched rocblas_saxpy_batched_64 rocblas_saxpy_strided_batched rocblas_saxpy_strided_batched_64]
        scal [rocblas_sscal rocblas_sscal_64 rocblas_sscal_batched rocblas_sscal_batched_64 rocblas_sscal_strided_batched rocblas_sscal_strided_batched_64]
        copy [rocblas_scopy rocblas_scopy_64 rocblas_scopy_batched rocblas_scopy_batched_64 rocblas_scopy_strided_batched rocblas_scopy_strided_batched_64]
        swap [rocblas_sswap rocblas_sswap_64 rocblas_sswap_batched rocblas_sswap_batched_64 rocblas_sswap_strided_batched rocblas_sswap_strided_batched_64]
        rot [rocblas_srot rocblas_srot_64 rocblas_srot_batched rocblas_srot_batched_64 rocblas_srot_strided_batched rocblas_srot_strided_batched_64];
    changes_of_f64_are_right: f64,
        axpy [rocblas_daxpy rocblas_daxpy_64 rocblas_daxpy_batched rocblas_daxpy_batched_64 rocblas_daxpy_strided_batched rocblas_daxpy_strided_batched_64]
        scal [rocblas_dscal rocblas_dscal_64 rocblas_dscal_batched rocblas_dscal_batched_64 rocblas_dscal_strided_batched rocblas_dscal_strided_batched_64]
        copy [rocblas_dcopy rocblas_dcopy_64 rocblas_dcopy_batched rocblas_dcopy_batched_64 rocblas_dcopy_strided_batched rocblas_dcopy_strided_batched_64]
        swap [rocblas_dswap rocblas_dswap_64 rocblas_dswap_batched rocblas_dswap_batched_64 rocblas_dswap_strided_batched rocblas_dswap_strided_batched_64]
        rot [rocblas_drot rocblas_drot_64 rocblas_drot_batched rocblas_drot_batched_64 rocblas_drot_strided_batched rocblas_drot_strided_batched_64];
    changes_of_complex_f32_are_right: [f32; 2],
        axpy [rocblas_caxpy rocblas_caxpy_64 rocblas_caxpy_batched rocblas_caxpy_batched_64 rocblas_caxpy_strided_batched rocblas_caxpy_strided_batched_64]
        scal [rocblas_cscal rocblas_cscal_64 rocblas_cscal_batched rocblas_cscal_batched_64 rocblas_cscal_strided_batched rocblas_cscal_strided_batched_64]
        copy [rocblas_ccopy rocblas_ccopy_64 rocblas_ccopy_batched rocblas_ccopy_batched_64 rocblas_ccopy_strided_batched rocblas_ccopy_strided_batched_64]
        swap [rocblas_cswap rocblas_cswap_64 rocblas_cswap_batched rocblas_cswap_batched_64 rocblas_cswap_strided_batched rocblas_cswap_strided_batched_64]
        rot [rocblas_crot rocblas_crot_64 rocblas_crot_batched rocblas_crot_batched_64 rocblas_crot_strided_batched rocblas_crot_strided_batched_64];
    changes_of_complex_f64_are_right: [f64; 2],
        axpy [rocblas_zaxpy rocblas_zaxpy_64 rocblas_zaxpy_batched rocblas_zaxpy_batched_64 rocblas_zaxpy_strided_batched rocblas_zaxpy_strided_batched_64]
        scal [rocblas_zscal rocblas_zscal_64 rocblas_zscal_batched rocblas_zscal_batched_64 rocblas_zscal_strided_batched rocblas_zscal_strided_batched_64]
        copy [rocblas_zcopy rocblas_zcopy_64 rocblas_zcopy_batched rocblas_zcopy_batched_64 rocblas_zcopy_strided_batched rocblas_zcopy_strided_batched_64]
        swap [rocblas_zswap rocblas_zswap_64 rocblas_zswap_batched rocblas_zswap_batched_64 rocblas_zswap_strided_batched rocblas_zswap_strided_batched_64]
        rot [rocblas_zrot rocblas_zrot_64 rocblas_zrot_batched rocblas_zrot_batched_64 rocblas_zrot_strided_batched rocblas_zrot_strided_batched_64];
}

/// Where results are, depending on the pointer mode.
pub(crate) struct Results<R: hip::DeviceCopy> {
    host: Vec<R>,
    device: Option<hip::DeviceBuffer<R>>,
}

impl<R: hip::DeviceCopy> Results<R> {
    pub(crate) fn new(blas: &Blas, count: usize, fill: R, on_device: bool) -> Self {
        let host = vec![fill; count];
        Self { device: on_device.then(|| blas.upload(&host)), host }
    }

    pub(crate) fn pointer(&mut self) -> *mut std::ffi::c_void {
        self.device.as_ref().map_or(self.host.as_mut_ptr().cast(), pointer)
    }

    pub(crate) fn get(self, blas: &Blas) -> Vec<R> {
        self.device.as_ref().map_or(self.host, |device| blas.download(device))
    }
}

/// A call whose results come after the batch.
macro_rules! reduce {
    ($blas:expr, $form:expr, $result:expr, [$($name:ident)+]; $($items:tt)*) => {
        call!($blas, $form, [$($name)+]; $($items)* v $result.pointer().cast(),)
    };
}

fn sizes_of_reductions(number: usize, random: &mut Random) -> usize {
    // Long enough for several workgroups.
    if number == 5 { 9000 } else { random.one_of(&SIZES) }
}

macro_rules! dots {
    ($($test:ident: $type:ty, $conjugate:literal, [$($name:ident)+];)+) => {$(
        #[test]
        fn $test() {
            let blas = Blas::new();
            let mut random = Random::new(5);
            for number in 0..12 {
                let (form, on_device) = form(number);
                blas.on_device(on_device);
                let (n, batch) = (sizes_of_reductions(number, &mut random), form.batch());
                let (step_x, step_y) = (random.one_of(&STEPS), random.one_of(&STEPS));
                let x = random.vectors::<$type>(batch, n, step_x);
                let y = random.vectors::<$type>(batch, n, step_y);
                let [on_x, on_y] = [&x, &y].map(|vectors| blas.vectors(form, vectors));
                let mut results = Results::new(&blas, batch, <$type>::of(BETWEEN), on_device);
                let status = reduce!(blas, form, results, [$($name)+]; s n, o on_x, step_x, o on_y, step_y, b batch,);
                assert_eq!(status, SUCCESS);
                for (index, got) in results.get(&blas).into_iter().enumerate() {
                    let left = |i| if $conjugate { x[index].at(i).conj() } else { x[index].at(i) };
                    let want = Sum::of((0..n).map(|i| (left(i), y[index].at(i))));
                    // Added in f32 at least.
                    let bound = Sum { size: want.size * (6e-8 / <$type>::ROUNDING).min(1.0), ..want };
                    check(got, bound, &(number, form, n, step_x, step_y));
                }
            }
        }
    )+};
}
dots! {
    dot_products_of_f32_are_right: f32, false, [rocblas_sdot rocblas_sdot_64 rocblas_sdot_batched rocblas_sdot_batched_64 rocblas_sdot_strided_batched rocblas_sdot_strided_batched_64];
    dot_products_of_f64_are_right: f64, false, [rocblas_ddot rocblas_ddot_64 rocblas_ddot_batched rocblas_ddot_batched_64 rocblas_ddot_strided_batched rocblas_ddot_strided_batched_64];
    dot_products_of_f16_are_right: f16, false, [rocblas_hdot rocblas_hdot_64 rocblas_hdot_batched rocblas_hdot_batched_64 rocblas_hdot_strided_batched rocblas_hdot_strided_batched_64];
    dot_products_of_bf16_are_right: bf16, false, [rocblas_bfdot rocblas_bfdot_64 rocblas_bfdot_batched rocblas_bfdot_batched_64 rocblas_bfdot_strided_batched rocblas_bfdot_strided_batched_64];
    dot_products_of_complex_f32_are_right: [f32; 2], false, [rocblas_cdotu rocblas_cdotu_64 rocblas_cdotu_batched rocblas_cdotu_batched_64 rocblas_cdotu_strided_batched rocblas_cdotu_strided_batched_64];
    dot_products_of_complex_f64_are_right: [f64; 2], false, [rocblas_zdotu rocblas_zdotu_64 rocblas_zdotu_batched rocblas_zdotu_batched_64 rocblas_zdotu_strided_batched rocblas_zdotu_strided_batched_64];
    conjugated_dot_products_of_complex_f32_are_right: [f32; 2], true, [rocblas_cdotc rocblas_cdotc_64 rocblas_cdotc_batched rocblas_cdotc_batched_64 rocblas_cdotc_strided_batched rocblas_cdotc_strided_batched_64];
    conjugated_dot_products_of_complex_f64_are_right: [f64; 2], true, [rocblas_zdotc rocblas_zdotc_64 rocblas_zdotc_batched rocblas_zdotc_batched_64 rocblas_zdotc_strided_batched rocblas_zdotc_strided_batched_64];
}

macro_rules! norms {
    ($($test:ident: $type:ty, $real:ty, nrm2 [$($nrm2:ident)+] asum [$($asum:ident)+] amax [$($amax:ident)+] amin [$($amin:ident)+];)+) => {$(
        #[test]
        fn $test() {
            let blas = Blas::new();
            let mut random = Random::new(6);
            for number in 0..12 {
                let (form, on_device) = form(number);
                blas.on_device(on_device);
                let (n, batch) = (sizes_of_reductions(number, &mut random), form.batch());
                // With a negative increment, the vector is empty: the result is zero.
                let step = random.one_of(&[1, 2, 3, -1]);
                let x = random.vectors::<$type>(batch, n, step);
                let on_x = blas.vectors(form, &x);
                let counted = if step < 0 { 0 } else { n };
                let mut norm = Results::new(&blas, batch, 9.0 as $real, on_device);
                let mut sum = Results::new(&blas, batch, 9.0 as $real, on_device);
                // Wide enough for the indices of functions with 64-bit sizes.
                let mut most = Results::new(&blas, batch, 0_i64, on_device);
                let mut least = Results::new(&blas, batch, 0_i64, on_device);
                assert_eq!(reduce!(blas, form, norm, [$($nrm2)+]; s n, o on_x, step, b batch,), SUCCESS);
                assert_eq!(reduce!(blas, form, sum, [$($asum)+]; s n, o on_x, step, b batch,), SUCCESS);
                assert_eq!(reduce!(blas, form, most, [$($amax)+]; s n, o on_x, step, b batch,), SUCCESS);
                let most_is_wide = blas.was_wide();
                assert_eq!(reduce!(blas, form, least, [$($amin)+]; s n, o on_x, step, b batch,), SUCCESS);
                let least_is_wide = blas.was_wide();
                let indices = |results: Results<i64>, is_wide: bool| -> Vec<i64> {
                    let results = results.get(&blas);
                    if is_wide {
                        return results;
                    }
                    let halves = results.iter().flat_map(|x| [*x as i32, (*x >> 32) as i32]);
                    halves.take(batch).map(i64::from).collect()
                };
                let (norm, sum, most, least) = (norm.get(&blas), sum.get(&blas), indices(most, most_is_wide), indices(least, least_is_wide));
                for index in 0..batch {
                    let what = (number, form, n, step);
                    let x: Vec<Z> = (0..counted).map(|i| x[index].at(i)).collect();
                    let squares: f64 = x.iter().map(|x| x.re * x.re + x.im * x.im).sum();
                    let sizes: Vec<f64> = x.iter().map(|x| x.re.abs() + x.im.abs()).collect();
                    let total: f64 = sizes.iter().sum();
                    let close = |got: $real, want: f64| (f64::from(got) - want).abs() <= <$type>::ROUNDING * want * (4 + counted) as f64;
                    assert!(close(norm[index], squares.sqrt()), "{what:?}: {}, not {}", norm[index], squares.sqrt());
                    assert!(close(sum[index], total), "{what:?}: {}, not {total}", sum[index]);
                    let first = |better: fn(&f64, &f64) -> bool| {
                        (0..counted).fold(0, |best, i| {
                            if best == 0 || better(&sizes[i], &sizes[best - 1]) { i + 1 } else { best }
                        })
                    };
                    assert_eq!(most[index], first(f64::gt) as i64, "{what:?}");
                    assert_eq!(least[index], first(f64::lt) as i64, "{what:?}");
                }
            }
        }
    )+};
}
norms! {
    norms_and_searches_of_f32_are_right: f32, f32,
        nrm2 [rocblas_snrm2 rocblas_snrm2_64 rocblas_snrm2_batched rocblas_snrm2_batched_64 rocblas_snrm2_strided_batched rocblas_snrm2_strided_batched_64]
        asum [rocblas_sasum rocblas_sasum_64 rocblas_sasum_batched rocblas_sasum_batched_64 rocblas_sasum_strided_batched rocblas_sasum_strided_batched_64]
        amax [rocblas_isamax rocblas_isamax_64 rocblas_isamax_batched rocblas_isamax_batched_64 rocblas_isamax_strided_batched rocblas_isamax_strided_batched_64]
        amin [rocblas_isamin rocblas_isamin_64 rocblas_isamin_batched rocblas_isamin_batched_64 rocblas_isamin_strided_batched rocblas_isamin_strided_batched_64];
    norms_and_searches_of_f64_are_right: f64, f64,
        nrm2 [rocblas_dnrm2 rocblas_dnrm2_64 rocblas_dnrm2_batched rocblas_dnrm2_batched_64 rocblas_dnrm2_strided_batched rocblas_dnrm2_strided_batched_64]
        asum [rocblas_dasum rocblas_dasum_64 rocblas_dasum_batched rocblas_dasum_batched_64 rocblas_dasum_strided_batched rocblas_dasum_strided_batched_64]
        amax [rocblas_idamax rocblas_idamax_64 rocblas_idamax_batched rocblas_idamax_batched_64 rocblas_idamax_strided_batched rocblas_idamax_strided_batched_64]
        amin [rocblas_idamin rocblas_idamin_64 rocblas_idamin_batched rocblas_idamin_batched_64 rocblas_idamin_strided_batched rocblas_idamin_strided_batched_64];
    norms_and_searches_of_complex_f32_are_right: [f32; 2], f32,
        nrm2 [rocblas_scnrm2 rocblas_scnrm2_64 rocblas_scnrm2_batched rocblas_scnrm2_batched_64 rocblas_scnrm2_strided_batched rocblas_scnrm2_strided_batched_64]
        asum [rocblas_scasum rocblas_scasum_64 rocblas_scasum_batched rocblas_scasum_batched_64 rocblas_scasum_strided_batched rocblas_scasum_strided_batched_64]
        amax [rocblas_icamax rocblas_icamax_64 rocblas_icamax_batched rocblas_icamax_batched_64 rocblas_icamax_strided_batched rocblas_icamax_strided_batched_64]
        amin [rocblas_icamin rocblas_icamin_64 rocblas_icamin_batched rocblas_icamin_batched_64 rocblas_icamin_strided_batched rocblas_icamin_strided_batched_64];
    norms_and_searches_of_complex_f64_are_right: [f64; 2], f64,
        nrm2 [rocblas_dznrm2 rocblas_dznrm2_64 rocblas_dznrm2_batched rocblas_dznrm2_batched_64 rocblas_dznrm2_strided_batched rocblas_dznrm2_strided_batched_64]
        asum [rocblas_dzasum rocblas_dzasum_64 rocblas_dzasum_batched rocblas_dzasum_batched_64 rocblas_dzasum_strided_batched rocblas_dzasum_strided_batched_64]
        amax [rocblas_izamax rocblas_izamax_64 rocblas_izamax_batched rocblas_izamax_batched_64 rocblas_izamax_strided_batched rocblas_izamax_strided_batched_64]
        amin [rocblas_izamin rocblas_izamin_64 rocblas_izamin_batched rocblas_izamin_batched_64 rocblas_izamin_strided_batched rocblas_izamin_strided_batched_64];
}

/// Squares beyond the type's range do not matter, and NaN gives NaN.
#[test]
fn norms_are_right_at_the_ends_of_the_range() {
    let blas = Blas::new();
    for (values, want) in [
        (vec![3e300, 4e300], 5e300),
        (vec![3e-300, 4e-300], 5e-300),
        (vec![3e-310, 4e-310], 5e-310),
        (vec![1e300, 1e-300], 1e300),
        (vec![1.0, 1e-200], 1.0),
        (vec![f64::INFINITY, 1.0], f64::INFINITY),
        (vec![f64::NAN, 1e300], f64::NAN),
        (vec![0.0, 0.0], 0.0),
    ] {
        let on_x = blas.operand(Form::Plain, std::slice::from_ref(&values));
        let mut got = Results::new(&blas, 1, 9.0_f64, false);
        let names = reduce!(blas, Form::Plain, got, [rocblas_dnrm2 rocblas_dnrm2_64 rocblas_dnrm2_batched rocblas_dnrm2_batched_64 rocblas_dnrm2_strided_batched rocblas_dnrm2_strided_batched_64];
            s values.len(), o on_x, 1, b 1,);
        assert_eq!(names, SUCCESS);
        let got = got.get(&blas)[0];
        let close = got == want || (got - want).abs() <= want * 1e-14 || got.is_nan() && want.is_nan();
        assert!(close, "{values:?}: {got}, not {want}");
    }
}

/// As in the reference: a NaN is neither greater nor less than anything.
#[test]
fn searches_find_nan_only_where_it_comes_first() {
    let blas = Blas::new();
    let nan = f32::NAN;
    for (values, most, least) in [
        (vec![1.0, nan, -3.0, 3.0, 0.5], 3, 5),
        (vec![nan, 1.0, 2.0], 1, 1),
        (vec![0.0, nan], 1, 1),
        (vec![f32::INFINITY, nan, 1.0], 1, 3),
    ] {
        let on_x = blas.operand(Form::Plain, std::slice::from_ref(&values));
        let mut found = [Results::new(&blas, 1, 0_i32, false), Results::new(&blas, 1, 0_i32, false)];
        let statuses = [
            reduce!(blas, Form::Plain, found[0], [rocblas_isamax rocblas_isamax_batched rocblas_isamax_strided_batched];
                s values.len(), o on_x, 1, b 1,),
            reduce!(blas, Form::Plain, found[1], [rocblas_isamin rocblas_isamin_batched rocblas_isamin_strided_batched];
                s values.len(), o on_x, 1, b 1,),
        ];
        assert_eq!(statuses, [SUCCESS; 2]);
        assert_eq!(found.map(|found| found.get(&blas)[0]), [most, least], "{values:?}");
    }
}

/// The rotation takes (a, b) to (r, 0).
#[test]
fn rotations_turn_the_second_number_to_zero() {
    let blas = Blas::new();
    let mut random = Random::new(7);
    for number in 0..16 {
        let (form, on_device) = form(number);
        blas.on_device(on_device);
        let batch = form.batch();
        let mut pairs = random.vectors::<[f64; 2]>(2, batch, 1);
        if number % 5 == 3 {
            pairs[number % 2].set(0, ZERO);
        }
        // Real numbers and complex ones.
        let real = |x: Z| vec![x.re];
        let complex = |x: Z| vec![[x.re, x.im]];
        for is_complex in [false, true] {
            let (mut c, mut s) = (vec![vec![9.0]; batch], vec![vec![[9.0, 9.0]]; batch]);
            let mut a: Vec<Vec<[f64; 2]>> = (0..batch).map(|i| complex(pairs[0].at(i))).collect();
            let mut b: Vec<Vec<[f64; 2]>> = (0..batch).map(|i| complex(pairs[1].at(i))).collect();
            let mut a_real: Vec<Vec<f64>> = (0..batch).map(|i| real(pairs[0].at(i))).collect();
            let mut b_real: Vec<Vec<f64>> = (0..batch).map(|i| real(pairs[1].at(i))).collect();
            let mut s_real = vec![vec![9.0]; batch];
            let status = if is_complex {
                let [on_a, on_b, on_s] =
                    [&mut a, &mut b, &mut s].map(|x| Numbers::new(&blas, form, on_device, x));
                let on_c = Numbers::new(&blas, form, on_device, &mut c);
                let status = call!(blas, form, [rocblas_zrotg rocblas_zrotg_64 rocblas_zrotg_batched rocblas_zrotg_batched_64 rocblas_zrotg_strided_batched rocblas_zrotg_strided_batched_64];
                    a on_a, a on_b, a on_c, a on_s, b batch,);
                on_a.get(&blas);
                on_b.get(&blas);
                on_s.get(&blas);
                on_c.get(&blas);
                status
            } else {
                let [on_a, on_b, on_c, on_s] = [&mut a_real, &mut b_real, &mut c, &mut s_real]
                    .map(|x| Numbers::new(&blas, form, on_device, x));
                let status = call!(blas, form, [rocblas_drotg rocblas_drotg_64 rocblas_drotg_batched rocblas_drotg_batched_64 rocblas_drotg_strided_batched rocblas_drotg_strided_batched_64];
                    a on_a, a on_b, a on_c, a on_s, b batch,);
                on_a.get(&blas);
                on_b.get(&blas);
                on_c.get(&blas);
                on_s.get(&blas);
                status
            };
            assert_eq!(status, SUCCESS);
            for i in 0..batch {
                let part = |x: Z| if is_complex { x } else { x.real() };
                let (x, y) = (part(pairs[0].at(i)), part(pairs[1].at(i)));
                let (r, s) =
                    if is_complex { (a[i][0].z(), s[i][0].z()) } else { (z(a_real[i][0]), z(s_real[i][0])) };
                let c = z(c[i][0]);
                let what = (number, is_complex, x, y, r, c, s);
                assert!((c * x + s * y - r).size() < 1e-14, "{what:?}");
                assert!((c * y - s.conj() * x).size() < 1e-14, "{what:?}");
                assert!((c.re * c.re + s.size() * s.size() - 1.0).abs() < 1e-14, "{what:?}");
                if !is_complex {
                    // The rotation can be recovered from b.
                    let z = b_real[i][0];
                    let (c_again, s_again) = if z == 1.0 {
                        (0.0, 1.0)
                    } else if z.abs() < 1.0 {
                        ((1.0 - z * z).sqrt(), z)
                    } else {
                        (1.0 / z, (1.0 - 1.0 / (z * z)).sqrt())
                    };
                    assert!((c.re - c_again).abs() < 1e-13 && (s.re - s_again).abs() < 1e-13, "{what:?} {z}");
                }
            }
        }
    }
}

/// Numbers of each product of a batch, on the host or on the device.
pub(crate) struct Numbers<'a, E: hip::DeviceCopy> {
    values: &'a mut Vec<Vec<E>>,
    /// The numbers one after the other, and the place of each.
    host: Vec<E>,
    pointers: Vec<*mut E>,
    device: Option<crate::common::Operand<E>>,
    pub(crate) stride: i64,
    form: Form,
}

impl<'a, E: Element> Numbers<'a, E> {
    pub(crate) fn new(blas: &Blas, form: Form, on_device: bool, values: &'a mut Vec<Vec<E>>) -> Self {
        let device = on_device.then(|| blas.operand(form, values));
        let stride = device.as_ref().map_or(values[0].len() as i64 + 1, |device| device.stride);
        let mut host: Vec<E> = Vec::new();
        for run in values.iter() {
            host.extend_from_slice(run);
            host.push(E::of(BETWEEN));
        }
        let step = values[0].len() + 1;
        let first = host.as_mut_ptr();
        let pointers = (0..values.len()).map(|index| first.wrapping_add(index * step)).collect();
        Self { values, host, pointers, device, stride, form }
    }

    pub(crate) fn pointer(&self) -> *mut std::ffi::c_void {
        match &self.device {
            Some(device) => device.pointer(),
            None if self.form == Form::Batched => self.pointers.as_ptr().cast_mut().cast(),
            // The memory that the pointers lead to.
            None => self.pointers[0].cast(),
        }
    }

    pub(crate) fn get(self, blas: &Blas) {
        match &self.device {
            Some(device) => *self.values = device.read(blas),
            None => {
                let step = self.values[0].len() + 1;
                for (values, run) in self.values.iter_mut().zip(self.host.chunks(step)) {
                    *values = run[..step - 1].to_vec();
                }
            }
        }
    }
}

/// H of the parameters takes (√d1 x1, √d2 y1) to a vector whose second part is zero, and rotm applies it.
#[test]
fn modified_rotations_turn_the_second_number_to_zero() {
    let blas = Blas::new();
    let matrix = |p: &[f64]| match p[0] as i32 {
        -2 => [[1.0, 0.0], [0.0, 1.0]],
        -1 => [[p[1], p[3]], [p[2], p[4]]],
        0 => [[1.0, p[3]], [p[2], 1.0]],
        _ => [[p[1], 1.0], [-1.0, p[4]]],
    };
    let mut flags = Vec::new();
    for (number, &[d1, d2, x1, y1]) in [
        [0.5_f64, 0.25, 2.0, 1.0],
        [0.5, 0.25, 1.0, 4.0],
        [1.0, 1.0, 1.0, 0.0],
        [-1.0, 1.0, 1.0, 1.0],
        [1e9, 0.5, 0.5, 1.0],
        [1e-10, 1e-9, 2.0, 3.0],
        [0.5, 1e10, 1.0, 2.0],
        [2.0, -0.25, 2.0, 1.0],
        [1.0, -4.0, 1.0, 1.0],
    ]
    .iter()
    .enumerate()
    {
        let (form, on_device) = form(number);
        blas.on_device(on_device);
        let batch = form.batch();
        let mut numbers = [d1, d2, x1, y1].map(|x| vec![vec![x]; batch]);
        let mut param = vec![vec![7.0; 5]; batch];
        {
            let [on_d1, on_d2, on_x1, on_y1] =
                numbers.each_mut().map(|x| Numbers::new(&blas, form, on_device, x));
            let on_param = Numbers::new(&blas, form, on_device, &mut param);
            let status = call!(blas, form, [rocblas_drotmg rocblas_drotmg_64 rocblas_drotmg_batched rocblas_drotmg_batched_64 rocblas_drotmg_strided_batched rocblas_drotmg_strided_batched_64];
                a on_d1, a on_d2, a on_x1, a on_y1, a on_param, b batch,);
            assert_eq!(status, SUCCESS);
            for numbers in [on_d1, on_d2, on_x1, on_y1] {
                numbers.get(&blas);
            }
            on_param.get(&blas);
        }
        for index in 0..batch {
            let [new_d1, new_d2, new_x1, new_y1] = [0, 1, 2, 3].map(|i| numbers[i][index][0]);
            let (p, what) = (&param[index], (d1, d2, x1, y1, &param[index]));
            flags.push(p[0] as i32);
            assert_eq!(new_y1, y1);
            let invalid = d1 < 0.0
                || d1 * x1 * x1 + d2 * y1 * y1 < 0.0
                || (d2 < 0.0 && (d1 * x1 * x1).abs() <= (d2 * y1 * y1).abs());
            let [[h11, h12], [h21, h22]] = matrix(p);
            if invalid {
                assert_eq!(([new_d1, new_d2, new_x1], h11, h22), ([0.0; 3], 0.0, 0.0), "{what:?}");
                continue;
            }
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-13 * (a.abs() + b.abs()).max(1e-300);
            assert!(close(h11 * x1 + h12 * y1, new_x1), "{what:?} {new_x1}");
            assert!((h21 * x1 + h22 * y1).abs() <= 1e-13 * ((h21 * x1).abs() + (h22 * y1).abs()), "{what:?}");
            // The length measured with d1 and d2 is unchanged.
            assert!(close(new_d1 * new_x1 * new_x1, d1 * x1 * x1 + d2 * y1 * y1), "{what:?} {new_d1}");
            for d in [new_d1, new_d2] {
                assert!(
                    d == 0.0 || p[0] == -2.0 || (2f64.powi(-24)..=2f64.powi(24)).contains(&d.abs()),
                    "{what:?} {d}"
                );
            }
        }

        // Applies the parameters; for a batch, they are on the device.
        let mut random = Random::new(8);
        let (n, step_x, step_y) = (random.one_of(&SIZES), random.one_of(&STEPS), random.one_of(&STEPS));
        let (x, y) = (random.vectors::<f64>(batch, n, step_x), random.vectors::<f64>(batch, n, step_y));
        let [on_x, on_y] = [&x, &y].map(|vectors| blas.vectors(form, vectors));
        let before = param.clone();
        let on_param = Numbers::new(&blas, form, on_device || form != Form::Plain, &mut param);
        let status = call!(blas, form, [rocblas_drotm rocblas_drotm_64 rocblas_drotm_batched rocblas_drotm_batched_64 rocblas_drotm_strided_batched rocblas_drotm_strided_batched_64];
            s n, o on_x, step_x, o on_y, step_y, a on_param, b batch,);
        assert_eq!(status, SUCCESS);
        let got = [on_x.read(&blas), on_y.read(&blas)];
        for index in 0..batch {
            let [[h11, h12], [h21, h22]] = matrix(&before[index]).map(|row| row.map(z));
            let (x, y) = (&x[index], &y[index]);
            compare(x, &got[0][index], &number, |i| Sum::NONE.plus(h11, x.at(i)).plus(h12, y.at(i)));
            compare(y, &got[1][index], &number, |i| Sum::NONE.plus(h21, x.at(i)).plus(h22, y.at(i)));
        }
    }
    flags.sort_unstable();
    flags.dedup();
    assert_eq!(flags, [-2, -1, 0, 1], "every kind of matrix");
}
