//! Settings of handles, copies of all kinds, texts, and the remaining functions that are called by type.

use std::ptr::null_mut;

use rocblas_sys::*;

use crate::common::{Blas, Form, LEFT, N, NON_UNIT, SUCCESS, UPPER, pointer};

#[test]
fn a_handle_keeps_what_it_is_set_to() {
    let blas = Blas::new();
    let (t, h) = (blas.table, blas.handle);
    // SAFETY: there is room for each answer.
    unsafe {
        (t.rocblas_initialize)();
        let modes = [
            rocblas_atomics_mode::rocblas_atomics_allowed,
            rocblas_atomics_mode::rocblas_atomics_not_allowed,
        ];
        for mode in modes {
            let mut got = modes[0];
            assert_eq!((t.rocblas_set_atomics_mode)(h, mode), SUCCESS);
            assert_eq!(((t.rocblas_get_atomics_mode)(h, &mut got), got), (SUCCESS, mode));
        }
        let mode = rocblas_math_mode::rocblas_default_math;
        let mut got = mode;
        assert_eq!((t.rocblas_set_math_mode)(h, mode), SUCCESS);
        assert_eq!(((t.rocblas_get_math_mode)(h, &mut got), got), (SUCCESS, mode));
        for mode in [
            rocblas_pointer_mode::rocblas_pointer_mode_device,
            rocblas_pointer_mode::rocblas_pointer_mode_host,
        ] {
            let mut got = rocblas_pointer_mode::rocblas_pointer_mode_host;
            assert_eq!((t.rocblas_set_pointer_mode)(h, mode), SUCCESS);
            assert_eq!(((t.rocblas_get_pointer_mode)(h, &mut got), got), (SUCCESS, mode));
        }
        let metrics = [
            rocblas_performance_metric::rocblas_cu_efficiency_performance_metric,
            rocblas_performance_metric::rocblas_default_performance_metric,
        ];
        for metric in metrics {
            let mut got = metrics[1];
            assert_eq!((t.rocblas_set_performance_metric)(h, metric), SUCCESS);
            assert_eq!(((t.rocblas_get_performance_metric)(h, &mut got), got), (SUCCESS, metric));
        }
        let mut size = 0;
        assert_eq!((t.rocblas_set_device_memory_size)(h, 1 << 20), SUCCESS);
        assert_eq!((t.rocblas_get_device_memory_size)(h, &mut size), SUCCESS);
        assert!(size >= 1 << 20, "{size}");
        let mut length = 0;
        assert_eq!((t.rocblas_get_commit_hash_string_size)(&mut length), SUCCESS);
        let mut text = vec![1; length];
        assert_eq!((t.rocblas_get_commit_hash_string)(text.as_mut_ptr(), length), SUCCESS);
        assert_eq!(text.iter().position(|byte| *byte == 0), Some(length - 1), "{text:?}");
    }
}

/// There and back, with different distances on each side: narrow and wide, and on a stream.
#[test]
fn vectors_and_matrices_are_copied() {
    let blas = Blas::new();
    let (t, stream) = (blas.table, blas.stream.as_raw());
    let from: Vec<f32> = (0..20).map(|x| x as f32).collect();
    let memory = blas.upload(&[-1.0_f32; 40]);
    let at = pointer(&memory);
    for turn in 0..4 {
        let mut back = vec![-1.0_f32; 40];
        let (host, to) = (from.as_ptr().cast(), back.as_mut_ptr().cast());
        // SAFETY: 10 elements, at most 2 apart; the test waits for the stream.
        let statuses = unsafe {
            match turn {
                0 => [
                    (t.rocblas_set_vector)(10, 4, host, 2, at, 3),
                    (t.rocblas_get_vector)(10, 4, at, 3, to, 1),
                ],
                1 => [
                    (t.rocblas_set_vector_64)(10, 4, host, 2, at, 3),
                    (t.rocblas_get_vector_64)(10, 4, at, 3, to, 1),
                ],
                2 => [
                    (t.rocblas_set_vector_async)(10, 4, host, 2, at, 3, stream),
                    (t.rocblas_get_vector_async)(10, 4, at, 3, to, 1, stream),
                ],
                _ => [
                    (t.rocblas_set_vector_async_64)(10, 4, host, 2, at, 3, stream),
                    (t.rocblas_get_vector_async_64)(10, 4, at, 3, to, 1, stream),
                ],
            }
        };
        blas.stream.synchronize().unwrap();
        assert_eq!(statuses, [SUCCESS; 2], "{turn}");
        let want: Vec<f32> = (0..10).map(|i| from[2 * i]).collect();
        assert_eq!((&back[..10], back[10]), (&want[..], -1.0), "{turn}");

        let mut back = vec![-1.0_f32; 40];
        let to = back.as_mut_ptr().cast();
        // SAFETY: 3 by 4 elements, columns 5, 7 and 4 apart.
        let statuses = unsafe {
            match turn {
                0 => [
                    (t.rocblas_set_matrix)(3, 4, 4, host, 5, at, 7),
                    (t.rocblas_get_matrix)(3, 4, 4, at, 7, to, 4),
                ],
                1 => [
                    (t.rocblas_set_matrix_64)(3, 4, 4, host, 5, at, 7),
                    (t.rocblas_get_matrix_64)(3, 4, 4, at, 7, to, 4),
                ],
                2 => [
                    (t.rocblas_set_matrix_async)(3, 4, 4, host, 5, at, 7, stream),
                    (t.rocblas_get_matrix_async)(3, 4, 4, at, 7, to, 4, stream),
                ],
                _ => [
                    (t.rocblas_set_matrix_async_64)(3, 4, 4, host, 5, at, 7, stream),
                    (t.rocblas_get_matrix_async_64)(3, 4, 4, at, 7, to, 4, stream),
                ],
            }
        };
        blas.stream.synchronize().unwrap();
        assert_eq!(statuses, [SUCCESS; 2], "{turn}");
        for (place, x) in back.iter().enumerate() {
            let (row, column) = (place % 4, place / 4);
            let want = if row < 3 && column < 4 { from[row + 5 * column] } else { -1.0 };
            assert_eq!(*x, want, "{turn} at {row}, {column}");
        }
    }
}

/// [2 1; 0 4] X = B, with and without a batch.
#[test]
fn triangular_systems_are_solved_by_type() {
    let blas = Blas::new();
    let (t, h) = (blas.table, blas.handle);
    let f32_r = rocblas_datatype::rocblas_datatype_f32_r;
    let one = 1.0_f32;
    let alpha = (&raw const one).cast();
    for form in [Form::Plain, Form::Batched, Form::Strided] {
        let batch = form.batch();
        let on_a = blas.operand(form, &vec![vec![2.0_f32, f32::NAN, 1.0, 4.0]; batch]);
        let on_b = blas.operand(form, &vec![vec![5.0_f32, 8.0, 1.0, -4.0]; batch]);
        let (a, b, none) = (on_a.pointer(), on_b.pointer(), null_mut());
        // SAFETY: the matrices are 2 by 2.
        let status = unsafe {
            match form {
                Form::Plain => {
                    (t.rocblas_trsm_ex)(h, LEFT, UPPER, N, NON_UNIT, 2, 2, alpha, a, 2, b, 2, none, 0, f32_r)
                }
                Form::Batched => {
                    let batch = batch as i32;
                    (t.rocblas_trsm_batched_ex)(
                        h, LEFT, UPPER, N, NON_UNIT, 2, 2, alpha, a, 2, b, 2, batch, none, 0, f32_r,
                    )
                }
                Form::Strided => (t.rocblas_trsm_strided_batched_ex)(
                    h,
                    LEFT,
                    UPPER,
                    N,
                    NON_UNIT,
                    2,
                    2,
                    alpha,
                    a,
                    2,
                    on_a.stride,
                    b,
                    2,
                    on_b.stride,
                    batch as i32,
                    none,
                    0,
                    0,
                    f32_r,
                ),
            }
        };
        assert_eq!(status, SUCCESS, "{form:?}");
        for got in on_b.read(&blas) {
            assert_eq!(got, [1.5, 2.0, 1.0, -1.0], "{form:?}");
        }
    }
}

#[test]
fn there_is_one_solution_of_each_problem() {
    let blas = Blas::new();
    let (t, h, null) = (blas.table, blas.handle, null_mut());
    let f16_r = rocblas_datatype::rocblas_datatype_f16_r;
    let f32_r = rocblas_datatype::rocblas_datatype_f32_r;
    let any = rocblas_gemm_algo::rocblas_gemm_algo_standard;
    for (to, want) in [
        (f32_r, SUCCESS),
        (rocblas_datatype::rocblas_datatype_f64_r, rocblas_status::rocblas_status_not_implemented),
    ] {
        let mut counts = [0; 4];
        let [plain, batched, strided, by_type] = &mut counts;
        // SAFETY: only the types are looked at, and there is room for the numbers.
        let statuses = unsafe {
            [
                (t.rocblas_gemm_ex_get_solutions)(
                    h,
                    N,
                    N,
                    2,
                    2,
                    2,
                    null,
                    null,
                    f16_r,
                    2,
                    null,
                    f16_r,
                    2,
                    null,
                    null,
                    to,
                    2,
                    null,
                    to,
                    2,
                    f32_r,
                    any,
                    0,
                    null_mut(),
                    plain,
                ),
                (t.rocblas_gemm_batched_ex_get_solutions)(
                    h,
                    N,
                    N,
                    2,
                    2,
                    2,
                    null,
                    null,
                    f16_r,
                    2,
                    null,
                    f16_r,
                    2,
                    null,
                    null,
                    to,
                    2,
                    null,
                    to,
                    2,
                    3,
                    f32_r,
                    any,
                    0,
                    null_mut(),
                    batched,
                ),
                (t.rocblas_gemm_strided_batched_ex_get_solutions)(
                    h,
                    N,
                    N,
                    2,
                    2,
                    2,
                    null,
                    null,
                    f16_r,
                    2,
                    4,
                    null,
                    f16_r,
                    2,
                    4,
                    null,
                    null,
                    to,
                    2,
                    4,
                    null,
                    to,
                    2,
                    4,
                    3,
                    f32_r,
                    any,
                    0,
                    null_mut(),
                    strided,
                ),
                (t.rocblas_gemm_batched_ex_get_solutions_by_type)(
                    h,
                    f16_r,
                    to,
                    f32_r,
                    0,
                    null_mut(),
                    by_type,
                ),
            ]
        };
        assert_eq!(statuses, [want; 4]);
        assert_eq!(counts, [i32::from(want == SUCCESS); 4]);
    }
}
