//! Products of rocBLAS 6's 8-bit floats.

use half::f16;
use rocblas_sys::{
    rocblas_computetype, rocblas_datatype, rocblas_gemm_algo, rocblas_gemm_flags_, rocblas_status,
};

use crate::common::{BETWEEN, Blas, C, Form, N, NAN, Random, SUCCESS, T, call, op, pointer};
use crate::gemm::{Case, random_case};
use crate::model::{Bf8, Element, F8, Matrix, ONE, Sum, Z, ZERO, z};

const NOT_IMPLEMENTED: rocblas_status = rocblas_status::rocblas_status_not_implemented;
const AS_THEY_ARE: rocblas_computetype = rocblas_computetype::rocblas_compute_type_f32;
const AS_F8_F8: rocblas_computetype = rocblas_computetype::rocblas_compute_type_f8_f8_f32;
const AS_F8_BF8: rocblas_computetype = rocblas_computetype::rocblas_compute_type_f8_bf8_f32;
const AS_BF8_F8: rocblas_computetype = rocblas_computetype::rocblas_compute_type_bf8_f8_f32;
const AS_BF8_BF8: rocblas_computetype = rocblas_computetype::rocblas_compute_type_bf8_bf8_f32;

/// An element type of operands of these products.
trait Stored: Element {
    const KIND: rocblas_datatype;
}
macro_rules! stored {
    ($($type:ty: $kind:ident;)+) => {$(
        impl Stored for $type {
            const KIND: rocblas_datatype = rocblas_datatype::$kind;
        }
    )+};
}
stored! {
    F8: rocblas_datatype_f8_r;
    Bf8: rocblas_datatype_bf8_r;
    f16: rocblas_datatype_f16_r;
    f32: rocblas_datatype_f32_r;
}

fn f8(x: Z) -> Z {
    F8::of(x).z()
}

fn bf8(x: Z) -> Z {
    Bf8::of(x).z()
}

/// The types that elements of A and of B are multiplied as.
fn roundings(compute: rocblas_computetype) -> [fn(Z) -> Z; 2] {
    match compute {
        AS_F8_F8 => [f8, f8],
        AS_F8_BF8 => [f8, bf8],
        AS_BF8_F8 => [bf8, f8],
        AS_BF8_BF8 => [bf8, bf8],
        _ => [|x| x, |x| x],
    }
}

/// Computes D and returns it.
fn product<A: Stored, B: Stored, D: Stored>(
    blas: &Blas,
    case: &Case,
    compute: rocblas_computetype,
    (a, b): (&[Matrix<A>], &[Matrix<B>]),
    c: &[Matrix<D>],
) -> Vec<Matrix<D>> {
    let [m, n, k] = case.size;
    let d: Vec<_> = c.iter().map(|_| Matrix::<D>::new(m, n, m + 2, BETWEEN)).collect();
    let [alpha, beta] = [case.alpha, case.beta].map(|factor| blas.scalar::<f32>(factor, case.on_device));
    let (on_a, on_b) = (blas.matrices(case.form, a), blas.matrices(case.form, b));
    let [on_c, on_d] = [c, &d].map(|matrices| blas.matrices(case.form, matrices));
    blas.on_device(case.on_device);
    let [trans_a, trans_b] = case.operations;
    let standard = rocblas_gemm_algo::rocblas_gemm_algo_standard;
    let status = call!(blas, case.form, [rocblas_gemm_ex3 rocblas_gemm_batched_ex3 rocblas_gemm_strided_batched_ex3];
        v trans_a, v trans_b, s m, s n, s k, p alpha, e on_a, A::KIND, a[0].leading, e on_b, B::KIND, b[0].leading,
        p beta, e on_c, D::KIND, c[0].leading, e on_d, D::KIND, m + 2, b case.form.batch(), v compute, v standard, v 0, v 0,);
    assert_eq!(status, SUCCESS, "{case:?}");
    on_d.read(blas).into_iter().zip(d).map(|(data, d)| Matrix { data, ..d }).collect()
}

fn try_case<A: Stored, B: Stored, D: Stored>(
    blas: &Blas,
    random: &mut Random,
    case: &Case,
    compute: rocblas_computetype,
) {
    let [m, n, k] = case.size;
    let batch = case.form.batch();
    let stored = |operation, rows, columns| if operation == N { (rows, columns) } else { (columns, rows) };
    let ((a_rows, a_columns), (b_rows, b_columns)) =
        (stored(case.operations[0], m, k), stored(case.operations[1], k, n));
    let a = random.matrices::<A>(batch, a_rows, a_columns);
    let b = random.matrices::<B>(batch, b_rows, b_columns);
    let mut c = random.matrices::<D>(batch, m, n);
    if case.beta == ZERO {
        // Then C is not read.
        c.iter_mut().for_each(|c| (0..m * n).for_each(|at| c.set(at % m, at / m, NAN)));
    }
    let (alpha, beta) = (case.alpha.real(), case.beta.real());
    let [round_a, round_b] = roundings(compute);
    for (index, got) in product::<A, B, D>(blas, case, compute, (&a, &b), &c).into_iter().enumerate() {
        let (a, b, c) = (&a[index], &b[index], &c[index]);
        for j in 0..n {
            for i in 0..m {
                let left = |depth| round_a(op(a, case.operations[0], i, depth));
                let right = |depth| round_b(op(b, case.operations[1], depth, j));
                let mut want = Sum::NONE;
                if alpha != ZERO {
                    want = Sum::of((0..k).map(|depth| (left(depth), right(depth)))).times(alpha);
                }
                if beta != ZERO {
                    want = want.plus(beta, c.at(i, j));
                }
                // The nearest f32.
                let error = 6e-8 * want.size * (4 + 2 * want.terms) as f64;
                let [least, most] = [-error, error].map(|error| D::of(want.value + z(error)).z().re);
                let result = got.data[i + j * got.leading].z().re;
                assert!(
                    (least..=most).contains(&result),
                    "{case:?} {compute:?} at {i}, {j}: {result}, not {want:?}"
                );
            }
            for i in m..got.leading {
                assert_eq!(got.data[i + j * got.leading], D::of(BETWEEN), "{case:?}: between columns");
            }
        }
    }
}

/// Every form, all operations, sizes that are not multiples of anything; whole tiles, and a depth that waves
/// share.
fn try_types<A: Stored, B: Stored, D: Stored>(computes: &[rocblas_computetype]) {
    let blas = Blas::new();
    let mut random = Random::new(50);
    // With several ways to compute, a plain run has each form and each way, but not each with each.
    let forms = computes.iter().cycle().take(8 * computes.len()).enumerate();
    for (number, compute) in test_skip::cases(forms, if computes.len() > 2 { 3 } else { 1 }) {
        let case = random_case(&mut random, number);
        try_case::<A, B, D>(&blas, &mut random, &case, *compute);
    }
    for (number, size) in [[64, 64, 128], [70, 35, 100], [9, 3, 1300]].into_iter().enumerate() {
        for operations in [[T, N], [N, C]] {
            let (form, on_device) = (Form::Plain, number == 1);
            let case = Case { form, on_device, operations, size, alpha: z(0.5), beta: z(-1.0) };
            try_case::<A, B, D>(&blas, &mut random, &case, computes[number % computes.len()]);
        }
    }
}

#[test]
fn products_of_f8_are_right() {
    try_types::<F8, F8, F8>(&[AS_THEY_ARE]);
    try_types::<F8, F8, f16>(&[AS_THEY_ARE, AS_F8_F8]);
}

#[test]
fn products_of_f8_and_bf8_are_right() {
    try_types::<F8, Bf8, f32>(&[AS_THEY_ARE]);
    try_types::<Bf8, F8, Bf8>(&[AS_THEY_ARE]);
    try_types::<Bf8, Bf8, f16>(&[AS_THEY_ARE]);
}

#[test]
fn products_of_what_is_rounded_to_8_bits_are_right() {
    try_types::<f16, f16, f16>(&[AS_F8_F8, AS_F8_BF8, AS_BF8_F8, AS_BF8_BF8]);
    try_types::<f32, F8, f16>(&[AS_F8_F8]);
    try_types::<f32, Bf8, Bf8>(&[AS_F8_BF8]);
    try_types::<Bf8, f32, f32>(&[AS_BF8_F8]);
}

/// A product of a column by a row, both of numbers of any size.
fn outer<A: Stored, B: Stored, D: Stored>(
    blas: &Blas,
    compute: rocblas_computetype,
    [a, b]: [Vec<f64>; 2],
    alpha: f64,
) -> Vec<D> {
    fn column<E: Element>(values: &[f64]) -> Matrix<E> {
        let data = values.iter().map(|x| E::of(z(*x))).collect();
        Matrix { rows: values.len(), columns: 1, leading: values.len(), data }
    }
    let size = [a.len(), b.len(), 1];
    let case =
        Case { form: Form::Plain, on_device: false, operations: [N, T], size, alpha: z(alpha), beta: ZERO };
    let c = Matrix::<D>::new(a.len(), b.len(), a.len(), NAN);
    let got = product::<A, B, D>(blas, &case, compute, (&[column(&a)], &[column(&b)]), &[c]).remove(0);
    (0..a.len() * b.len()).map(|at| got.data[at % a.len() + at / a.len() * got.leading]).collect()
}

/// All numbers by all numbers, NaN among them. Their products are exact in f32.
fn all_by_all<A: Stored, B: Stored>(blas: &Blas, a: fn(u8) -> A, b: fn(u8) -> B) {
    let [a, b] = [
        (0..=u8::MAX).map(|code| a(code).z().re).collect::<Vec<_>>(),
        (0..=u8::MAX).map(|code| b(code).z().re).collect(),
    ];
    let got = outer::<A, B, f32>(blas, AS_THEY_ARE, [a.clone(), b.clone()], 1.0);
    for (at, got) in got.iter().enumerate() {
        let (a, b) = (a[at % a.len()], b[at / a.len()]);
        let want = a * b;
        assert!(f64::from(*got) == want || got.is_nan() && want.is_nan(), "{a} times {b} is {got}");
    }
}

#[test]
fn every_number_of_8_bits_is_multiplied_as_what_it_is() {
    let blas = Blas::new();
    all_by_all(&blas, F8, F8);
    all_by_all(&blas, F8, Bf8);
    all_by_all(&blas, Bf8, F8);
    all_by_all(&blas, Bf8, Bf8);
}

/// The numbers of a format, the middles between them, the neighbours of both, and numbers out of range.
fn numbers(of: fn(u8) -> Z) -> Vec<f64> {
    let mut values = vec![0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30, -1e30, 1e-30, -1e-30];
    for code in 0..0x7f {
        let [low, high] = [of(code), of(code + 1)].map(|x| x.re as f32);
        let middle = (low + high) / 2.0;
        for x in [low, middle.next_down(), middle, middle.next_up()] {
            values.extend([f64::from(x), f64::from(-x)]);
        }
    }
    let largest = of(0x7f).re;
    values.extend([largest, largest * 1.03, largest * 1.5, -largest, -largest * 1.5]);
    values
}

/// The numbers that operands are rounded to, shown by a product with 1; the result is wider.
#[test]
fn operands_are_rounded_to_the_nearest_number_of_8_bits() {
    let blas = Blas::new();
    let check = |got: Vec<f64>, values: &[f64], round: fn(Z) -> Z| {
        for (got, value) in got.into_iter().zip(values) {
            let want = round(z(f64::from(*value as f32))).re;
            assert!(got == want || got.is_nan() && want.is_nan(), "{value} is rounded to {got}, not {want}");
        }
    };
    let wide = |got: Vec<f16>| got.iter().map(|x| x.z().re).collect::<Vec<_>>();
    let (values, one) = (numbers(|code| F8(code).z()), vec![1.0]);
    check(wide(outer::<f32, F8, f16>(&blas, AS_F8_F8, [values.clone(), one.clone()], 1.0)), &values, f8);
    check(wide(outer::<F8, f32, f16>(&blas, AS_F8_F8, [one.clone(), values.clone()], 1.0)), &values, f8);
    let values = numbers(|code| Bf8(code).z());
    let got = outer::<Bf8, f32, f32>(&blas, AS_BF8_F8, [one.clone(), values.clone()], 1.0);
    check(got.iter().map(|x| f64::from(*x)).collect(), &values, f8);
    // For bf8, only f16 is rounded.
    let values: Vec<f64> = values.iter().map(|x| f16::from_f64(*x).into()).collect();
    check(wide(outer::<f16, f16, f16>(&blas, AS_BF8_BF8, [values.clone(), one], 1.0)), &values, bf8);
}

/// The same for results. A negative zero becomes zero, not NaN.
#[test]
fn results_are_rounded_to_the_nearest_number_of_8_bits() {
    let blas = Blas::new();
    let scales = [1.0, -1.0, 0.75, 1.0 / 64.0, 1000.0];
    let codes = || (0..=u8::MAX).collect::<Vec<_>>();
    for alpha in scales {
        let f8: Vec<f64> = codes().iter().map(|code| F8(*code).z().re).collect();
        let bf8: Vec<f64> = codes().iter().map(|code| Bf8(*code).z().re).collect();
        let some: Vec<f64> = [0.0, 1.0, -1.0, 1.125, 240.0, f64::NAN].to_vec();
        // Products of an alpha of few digits are exact, too.
        let got = outer::<F8, F8, F8>(&blas, AS_THEY_ARE, [f8.clone(), some.clone()], alpha);
        for (at, got) in got.into_iter().enumerate() {
            let (a, b) = (f8[at % f8.len()], some[at / f8.len()]);
            assert_eq!(got, F8::of(z(alpha * a * b)), "{alpha} times {a} times {b}");
        }
        let some: Vec<f64> = [0.0, 1.0, -1.0, 1.25, 57344.0, f64::NAN].to_vec();
        let got = outer::<Bf8, Bf8, Bf8>(&blas, AS_THEY_ARE, [bf8.clone(), some.clone()], alpha);
        for (at, got) in got.into_iter().enumerate() {
            let (a, b) = (bf8[at % bf8.len()], some[at / bf8.len()]);
            assert_eq!(got, Bf8::of(z(alpha * a * b)), "{alpha} times {a} times {b}");
        }
    }
}

/// The table in rocBLAS' documentation: A, B, C and D, and the compute type; and with each type of C and D.
#[test]
fn all_types_that_rocblas_documents_go_together() {
    let documented = "
        f8 f8 f32 f32    f8 bf8 f32 f32    bf8 f8 f32 f32    bf8 bf8 f32 f32
        f8 f8 f8 f32
        f8 f8 bf8 f32    f8 bf8 bf8 f32    bf8 f8 bf8 f32    bf8 bf8 bf8 f32
        f8 f8 f16 f32    f8 bf8 f16 f32    bf8 f8 f16 f32    bf8 bf8 f16 f32
        f16 f16 f16 f8_f8    f16 f16 f16 f8_bf8    f16 f16 f16 bf8_f8    f16 f16 f16 bf8_bf8
        f8 f8 f16 f8_f8    f8 f32 f16 f8_f8    f32 f8 f16 f8_f8    f32 f32 f16 f8_f8
        f32 bf8 bf8 f8_bf8    f32 bf8 f32 f8_bf8
        bf8 f32 f32 bf8_f8";
    let words: Vec<_> = documented.split_whitespace().collect();
    let documented: Vec<_> = words.chunks(4).collect();
    let kinds = [
        ("f8", F8::KIND),
        ("bf8", Bf8::KIND),
        ("f16", f16::KIND),
        ("f32", f32::KIND),
        ("bf16", rocblas_datatype::rocblas_datatype_bf16_r),
        ("i8", rocblas_datatype::rocblas_datatype_i8_r),
    ];
    let computes = [
        ("f32", AS_THEY_ARE),
        ("f8_f8", AS_F8_F8),
        ("f8_bf8", AS_F8_BF8),
        ("bf8_f8", AS_BF8_F8),
        ("bf8_bf8", AS_BF8_BF8),
    ];
    let blas = Blas::new();
    let (alpha, beta) = (blas.scalar::<f32>(ONE, false), blas.scalar::<f32>(ONE, false));
    let [a, b, c] = [(); 3].map(|()| blas.operand(Form::Plain, &[vec![0.0_f32]]));
    let standard = rocblas_gemm_algo::rocblas_gemm_algo_standard;
    let call = |[a_kind, b_kind, c_kind, d_kind]: [rocblas_datatype; 4], compute, flags: u32| {
        call!(blas, Form::Plain, [rocblas_gemm_ex3 rocblas_gemm_batched_ex3 rocblas_gemm_strided_batched_ex3];
            v N, v N, s 1, s 1, s 1, p alpha, e a, a_kind, 1, e b, b_kind, 1, p beta, e c, c_kind, 1, e c, d_kind, 1, b 1,
            v compute, v standard, v 0, v flags,)
    };
    for (a_name, a_kind) in kinds {
        for (b_name, b_kind) in kinds {
            for (c_name, c_kind) in kinds {
                for (compute_name, compute) in computes {
                    let row = [a_name, b_name, c_name, compute_name];
                    // The types that operands are rounded to.
                    let (to_a, to_b) = compute_name.split_once('_').unwrap_or((a_name, b_name));
                    let fits =
                        |name, to: &str| to.ends_with("f8") && (name == to || ["f16", "f32"].contains(&name));
                    let known = fits(a_name, to_a) && fits(b_name, to_b) && !["bf16", "i8"].contains(&c_name);
                    assert!(known || !documented.contains(&&row[..]), "{row:?} is documented");
                    let want = if known { SUCCESS } else { NOT_IMPLEMENTED };
                    assert_eq!(call([a_kind, b_kind, c_kind, c_kind], compute, 0), want, "{row:?}");
                }
            }
        }
    }
    let f8 = F8::KIND;
    assert_eq!(call([f8, f8, f32::KIND, f16::KIND], AS_THEY_ARE, 0), NOT_IMPLEMENTED, "C and D differ");
    let random = rocblas_gemm_flags_::rocblas_gemm_flags_stochastic_rounding.0;
    assert_eq!(call([f8; 4], AS_THEY_ARE, random), NOT_IMPLEMENTED, "rounding at random");
    let invalid = rocblas_status::rocblas_status_invalid_value;
    assert_eq!(call([f8; 4], rocblas_computetype::rocblas_compute_type_invalid, 0), invalid);
    // No other product has these types.
    let status = call!(blas, Form::Plain, [rocblas_gemm_ex rocblas_gemm_batched_ex rocblas_gemm_strided_batched_ex];
        v N, v N, s 1, s 1, s 1, p alpha, e a, f8, 1, e b, f8, 1, p beta, e c, f32::KIND, 1, e c, f32::KIND, 1, b 1,
        v f32::KIND, v standard, v 0, v 0,);
    assert_eq!(status, NOT_IMPLEMENTED);
}

#[test]
fn products_need_as_much_memory_as_a_query_says() {
    let blas = Blas::new();
    let (t, h) = (blas.table, blas.handle);
    let mut random = Random::new(51);
    let case = Case {
        form: Form::Plain,
        on_device: false,
        operations: [N, N],
        size: [65, 33, 40],
        alpha: z(1.0),
        beta: ZERO,
    };
    let [m, n, k] = case.size;
    let (a, b) = (random.matrices::<f16>(1, m, k), random.matrices::<f16>(1, k, n));
    let c = Matrix::<f16>::new(m, n, m, NAN);
    let (alpha, beta) = (blas.scalar::<f32>(ONE, false), blas.scalar::<f32>(ZERO, false));
    let (on_a, on_b) = (blas.matrices(case.form, &a), blas.matrices(case.form, &b));
    let on_c = blas.matrices(case.form, std::slice::from_ref(&c));
    let standard = rocblas_gemm_algo::rocblas_gemm_algo_standard;
    let run = || {
        call!(blas, Form::Plain, [rocblas_gemm_ex3 rocblas_gemm_batched_ex3 rocblas_gemm_strided_batched_ex3];
            v N, v N, s m, s n, s k, p alpha, e on_a, f16::KIND, a[0].leading, e on_b, f16::KIND, b[0].leading, p beta,
            e on_c, f16::KIND, m, e on_c, f16::KIND, m, b 1, v AS_F8_F8, v standard, v 0, v 0,)
    };
    let mut bytes = 0;
    // SAFETY: the handle is live, and the memory outlives its uses.
    unsafe {
        assert_eq!((t.rocblas_start_device_memory_size_query)(h), SUCCESS);
        assert_eq!(run(), rocblas_status::rocblas_status_size_increased);
        assert_eq!((t.rocblas_stop_device_memory_size_query)(h, &mut bytes), SUCCESS);
    }
    let memory = blas.upload(&vec![0_u8; bytes]);
    // SAFETY: as above.
    unsafe {
        assert_eq!((t.rocblas_set_workspace)(h, pointer(&memory), bytes / 2), SUCCESS);
        assert_eq!(run(), rocblas_status::rocblas_status_memory_error);
        assert_eq!((t.rocblas_set_workspace)(h, pointer(&memory), bytes), SUCCESS);
        assert_eq!(run(), SUCCESS);
    }
    let got = on_c.read(&blas).remove(0);
    let want = Sum::of((0..k).map(|depth| (f8(a[0].at(3, depth)), f8(b[0].at(depth, 5)))));
    assert!((got[3 + 5 * m].z().re - want.value.re).abs() <= 1e-3 * want.size, "{:?}", got[3 + 5 * m]);
}
