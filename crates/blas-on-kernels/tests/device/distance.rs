//! Distances: products with other operations instead of multiplication and addition. All compared results are
//! exact in the compute type.

use half::f16;
use rocblas_sys::{rocblas_datatype, rocblas_geam_ex_operation, rocblas_operation, rocblas_status};

use crate::common::{BETWEEN, Blas, C, Form, N, NAN, Random, SUCCESS, T, op};
use crate::model::{Element, Matrix, z};

const MIN_PLUS: rocblas_geam_ex_operation = rocblas_geam_ex_operation::rocblas_geam_ex_operation_min_plus;
const PLUS_MIN: rocblas_geam_ex_operation = rocblas_geam_ex_operation::rocblas_geam_ex_operation_plus_min;
const F16: rocblas_datatype = rocblas_datatype::rocblas_datatype_f16_r;
const F32: rocblas_datatype = rocblas_datatype::rocblas_datatype_f32_r;
const F64: rocblas_datatype = rocblas_datatype::rocblas_datatype_f64_r;

#[derive(Clone, Copy, Debug)]
struct Case {
    distance: rocblas_geam_ex_operation,
    on_device: bool,
    operations: [rocblas_operation; 2],
    size: [usize; 3],
    alpha: f64,
    beta: f64,
    in_place: bool,
}

/// Computes D, including the memory between columns.
fn computed<E: Element>(
    blas: &Blas,
    kind: rocblas_datatype,
    case: &Case,
    [a, b, c, d]: [&Matrix<E>; 4],
) -> Vec<E> {
    let [m, n, k] = case.size;
    let [on_a, on_b, on_c, on_d] =
        [a, b, c, d].map(|matrix| blas.matrices(Form::Plain, std::slice::from_ref(matrix)));
    let [alpha, beta] = [case.alpha, case.beta].map(|factor| blas.scalar::<E>(z(factor), case.on_device));
    let to = if case.in_place { (&on_c, c.leading) } else { (&on_d, d.leading) };
    blas.on_device(case.on_device);
    // SAFETY: the matrices have the elements that the sizes say.
    let status = unsafe {
        (blas.table.rocblas_geam_ex)(
            blas.handle,
            case.operations[0],
            case.operations[1],
            m as i32,
            n as i32,
            k as i32,
            alpha.pointer(),
            on_a.pointer(),
            kind,
            a.leading as i32,
            on_b.pointer(),
            kind,
            b.leading as i32,
            beta.pointer(),
            on_c.pointer(),
            kind,
            c.leading as i32,
            to.0.pointer(),
            kind,
            to.1 as i32,
            kind,
            case.distance,
        )
    };
    assert_eq!(status, SUCCESS, "{case:?}");
    to.0.read(blas).remove(0)
}

fn try_case<E: Element>(blas: &Blas, random: &mut Random, kind: rocblas_datatype, case: &Case) {
    let [m, n, k] = case.size;
    let stored = |operation, rows, columns| if operation == N { (rows, columns) } else { (columns, rows) };
    let (rows, columns) = stored(case.operations[0], m, k);
    let mut a = random.matrices::<E>(1, rows, columns).remove(0);
    let (rows, columns) = stored(case.operations[1], k, n);
    let b = random.matrices::<E>(1, rows, columns).remove(0);
    let mut c = random.matrices::<E>(1, m, n).remove(0);
    let d = Matrix::<E>::new(m, n, m + 2, BETWEEN);
    // Operands that are not read may contain anything.
    let fill = |matrix: &mut Matrix<E>| {
        (0..matrix.rows * matrix.columns).for_each(|at| matrix.set(at % matrix.rows, at / matrix.rows, NAN));
    };
    if case.beta == 0.0 {
        fill(&mut c);
    }
    if case.alpha == 0.0 {
        fill(&mut a);
    }
    let got = computed(blas, kind, case, [&a, &b, &c, &d]);
    let leading = if case.in_place { c.leading } else { d.leading };
    for j in 0..n {
        for i in 0..m {
            let old = if case.beta == 0.0 { 0.0 } else { case.beta * c.at(i, j).re };
            let pairs = (0..k).map(|depth| {
                let (a, b) =
                    (op(&a, case.operations[0], i, depth).re, op(&b, case.operations[1], depth, j).re);
                if case.alpha == 0.0 { (0.0, 0.0) } else { (case.alpha * a, case.alpha * b) }
            });
            let want = match case.distance {
                MIN_PLUS => pairs.fold(old, |least, (a, b)| least.min(a + b)),
                _ => pairs.fold(old, |sum, (a, b)| sum + a.min(b)),
            };
            let (result, want) = (got[i + j * leading], E::of(z(want)));
            assert!(result == want, "{case:?} at {i}, {j}: {result:?}, not {want:?}");
        }
        for i in m..leading {
            assert_eq!(got[i + j * leading], E::of(BETWEEN), "{case:?}: between columns");
        }
    }
}

fn distances<E: Element>(kind: rocblas_datatype) {
    let blas = Blas::new();
    let mut random = Random::new(60);
    let sizes = [0, 1, 2, 5, 17, 31, 33, 63, 64, 65, 70];
    for number in 0..32 {
        let case = Case {
            distance: if number % 2 == 0 { MIN_PLUS } else { PLUS_MIN },
            on_device: number / 4 % 2 == 1,
            operations: [random.one_of(&[N, T, C]), random.one_of(&[N, T, C])],
            size: [random.one_of(&sizes), random.one_of(&sizes), random.one_of(&sizes)],
            alpha: random.one_of(&[1.0, 1.0, 0.5, -1.5, 0.0]),
            beta: random.one_of(&[1.0, 1.0, -0.5, 2.0, 0.0]),
            in_place: number / 2 % 2 == 1,
        };
        try_case::<E>(&blas, &mut random, kind, &case);
    }
    // No depth, and one that workgroups share.
    for distance in [MIN_PLUS, PLUS_MIN] {
        for (size, alpha, beta) in [
            ([5, 7, 0], 0.0, 2.0),
            ([5, 7, 0], 1.0, 0.0),
            ([9, 6, 2000], -0.5, 1.0),
            ([6, 9, 1500], 1.0, 0.0),
        ] {
            let operations = [N, T];
            let case = Case { distance, on_device: false, operations, size, alpha, beta, in_place: false };
            try_case::<E>(&blas, &mut random, kind, &case);
        }
    }
}

#[test]
fn distances_of_f32_are_right() {
    distances::<f32>(F32);
}

#[test]
fn distances_of_f64_are_right() {
    distances::<f64>(F64);
}

#[test]
fn distances_of_f16_are_right() {
    distances::<f16>(F16);
}

/// As for the minimum of C.
#[test]
fn of_a_number_and_nan_the_number_is_the_lesser() {
    let blas = Blas::new();
    let matrix = |data: &[f32]| Matrix { rows: 1, columns: 1, leading: 1, data: data.to_vec() };
    let row = Matrix { rows: 1, columns: 2, leading: 1, data: vec![f32::NAN, 3.0] };
    let column = Matrix { rows: 2, columns: 1, leading: 2, data: vec![1.0_f32, 2.0] };
    let (c, d) = (matrix(&[9.0]), matrix(&[0.0]));
    for (distance, want) in [(MIN_PLUS, 5.0), (PLUS_MIN, 9.0 + 1.0 + 2.0)] {
        let (operations, size) = ([N, N], [1, 1, 2]);
        let case =
            Case { distance, on_device: false, operations, size, alpha: 1.0, beta: 1.0, in_place: false };
        assert_eq!(computed(&blas, F32, &case, [&row, &column, &c, &d]), [want], "{distance:?}");
    }
}

#[test]
fn bad_arguments_of_distances_are_told() {
    let blas = Blas::new();
    let x = blas.operand(Form::Plain, &[vec![1.0_f32; 4]]);
    let (alpha, beta) = (blas.scalar::<f32>(z(1.0), false), blas.scalar::<f32>(z(1.0), false));
    let call = |n: i32, leading: i32, a, [kind, compute]: [rocblas_datatype; 2], distance| {
        let (p, null) = (x.pointer(), std::ptr::null());
        let a = if a { p.cast_const() } else { null };
        // SAFETY: the matrices have four elements.
        unsafe {
            (blas.table.rocblas_geam_ex)(
                blas.handle,
                N,
                N,
                2,
                n,
                2,
                alpha.pointer(),
                a,
                kind,
                2,
                p,
                kind,
                2,
                beta.pointer(),
                p,
                kind,
                2,
                p,
                kind,
                leading,
                compute,
                distance,
            )
        }
    };
    assert_eq!(call(2, 2, true, [F32, F32], MIN_PLUS), SUCCESS);
    assert_eq!(call(2, 2, true, [F32, F64], MIN_PLUS), rocblas_status::rocblas_status_not_implemented);
    let c32 = rocblas_datatype::rocblas_datatype_f32_c;
    assert_eq!(call(2, 2, true, [c32, c32], PLUS_MIN), rocblas_status::rocblas_status_not_implemented);
    let unknown = rocblas_geam_ex_operation(7);
    assert_eq!(call(2, 2, true, [F32, F32], unknown), rocblas_status::rocblas_status_invalid_value);
    assert_eq!(call(-1, 2, true, [F32, F32], MIN_PLUS), rocblas_status::rocblas_status_invalid_size);
    assert_eq!(call(2, 3, true, [F32, F32], MIN_PLUS), rocblas_status::rocblas_status_invalid_size);
    assert_eq!(call(2, 2, false, [F32, F32], MIN_PLUS), rocblas_status::rocblas_status_invalid_pointer);
}
