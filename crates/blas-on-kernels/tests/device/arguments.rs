//! Bad arguments, quick returns, handles, and their settings.

use std::ptr::{from_ref, null_mut};

use rocblas_sys::*;

use crate::common::{Blas, C, Form, LEFT, N, NON_UNIT, Random, SUCCESS, T, UPPER, call};
use crate::model::{ONE, z};

const INVALID_HANDLE: rocblas_status = rocblas_status::rocblas_status_invalid_handle;
const INVALID_SIZE: rocblas_status = rocblas_status::rocblas_status_invalid_size;
const INVALID_VALUE: rocblas_status = rocblas_status::rocblas_status_invalid_value;
const INVALID_POINTER: rocblas_status = rocblas_status::rocblas_status_invalid_pointer;

#[test]
fn bad_arguments_of_gemm_are_refused() {
    let blas = Blas::new();
    let memory = blas.upload(&[1.0_f32; 64]);
    let p = crate::common::pointer(&memory).cast::<f32>();
    let (t, h) = (blas.table, blas.handle);
    let bad = rocblas_operation_(7);
    let (null, one) = (null_mut::<f32>(), &raw const *Box::leak(Box::new(1.0_f32)));
    let zero = &raw const *Box::leak(Box::new(0.0_f32));
    // SAFETY: sizes are at most 8 by 8.
    let gemm = |ta, tb, m, n, k, alpha, a: *mut f32, lda, b: *mut f32, ldb, beta, c: *mut f32, ldc| unsafe {
        (t.rocblas_sgemm)(h, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
    };
    assert_eq!(gemm(bad, N, 1, 1, 1, one, p, 1, p, 1, one, p, 1), INVALID_VALUE);
    assert_eq!(gemm(N, bad, 1, 1, 1, one, p, 1, p, 1, one, p, 1), INVALID_VALUE);
    for [m, n, k] in [[-1, 1, 1], [1, -1, 1], [1, 1, -1]] {
        assert_eq!(gemm(N, N, m, n, k, one, p, 8, p, 8, one, p, 8), INVALID_SIZE);
    }
    assert_eq!(gemm(N, N, 4, 3, 2, one, p, 3, p, 2, one, p, 4), INVALID_SIZE);
    assert_eq!(gemm(T, N, 4, 3, 2, one, p, 1, p, 2, one, p, 4), INVALID_SIZE);
    assert_eq!(gemm(N, N, 4, 3, 2, one, p, 4, p, 1, one, p, 4), INVALID_SIZE);
    assert_eq!(gemm(N, C, 4, 3, 2, one, p, 4, p, 2, one, p, 4), INVALID_SIZE);
    assert_eq!(gemm(N, N, 4, 3, 2, one, p, 4, p, 2, one, p, 3), INVALID_SIZE);
    assert_eq!(gemm(N, N, 2, 2, 2, null, p, 2, p, 2, one, p, 2), INVALID_POINTER);
    assert_eq!(gemm(N, N, 2, 2, 2, one, p, 2, p, 2, null, p, 2), INVALID_POINTER);
    for [a, b, c] in [[null, p, p], [p, null, p], [p, p, null]] {
        assert_eq!(gemm(N, N, 2, 2, 2, one, a, 2, b, 2, one, c, 2), INVALID_POINTER);
    }
    // With nothing to do, pointers are not needed.
    for [m, n] in [[0, 2], [2, 0]] {
        assert_eq!(gemm(N, N, m, n, 2, null, null, 2, null, 2, null, null, 2), SUCCESS);
    }
    assert_eq!(gemm(N, N, 2, 2, 0, null, null, 2, null, 2, one, null, 2), SUCCESS);
    assert_eq!(gemm(N, N, 2, 2, 2, zero, null, 2, null, 2, one, null, 2), SUCCESS);
    // alpha = 0 needs no A and B, and beta = 0 then makes C zero.
    assert_eq!(gemm(N, N, 2, 2, 2, zero, null, 2, null, 2, zero, p, 2), SUCCESS);
    assert_eq!(blas.download(&memory)[..5], [0.0, 0.0, 0.0, 0.0, 1.0]);
    // SAFETY: as above.
    let batched = unsafe {
        (t.rocblas_sgemm_strided_batched)(h, N, N, 1, 1, 1, one, p, 1, 0, p, 1, 0, one, p, 1, 1, -1)
    };
    assert_eq!(batched, INVALID_SIZE);
    let f64_r = rocblas_datatype::rocblas_datatype_f64_r;
    let f32_r = rocblas_datatype::rocblas_datatype_f32_r;
    let standard = rocblas_gemm_algo::rocblas_gemm_algo_standard;
    let ex = |a_type, compute, algo, solution| {
        let (p, one) = (p.cast(), one.cast());
        // SAFETY: as above.
        unsafe {
            (t.rocblas_gemm_ex)(
                h, N, N, 1, 1, 1, one, p, a_type, 1, p, f32_r, 1, one, p, f32_r, 1, p, f32_r, 1, compute,
                algo, solution, 0,
            )
        }
    };
    assert_eq!(ex(f32_r, f32_r, standard, 0), SUCCESS);
    assert_eq!(ex(f64_r, f32_r, standard, 0), rocblas_status::rocblas_status_not_implemented);
    assert_eq!(ex(rocblas_datatype_(9999), f32_r, standard, 0), INVALID_VALUE);
    // D in place of C has the columns of C.
    let (p_d, one_d) = (p.cast(), one.cast());
    // SAFETY: as above.
    let status = unsafe {
        (t.rocblas_gemm_ex)(
            h, N, N, 1, 1, 1, one_d, p_d, f32_r, 1, p_d, f32_r, 1, one_d, p_d, f32_r, 1, p_d, f32_r, 2,
            f32_r, standard, 0, 0,
        )
    };
    assert_eq!(status, INVALID_SIZE);
    let by_index = rocblas_gemm_algo::rocblas_gemm_algo_solution_index;
    assert_eq!(ex(f32_r, f32_r, by_index, 1), SUCCESS);
    assert_eq!(ex(f32_r, f32_r, by_index, 77), INVALID_VALUE);
}

#[test]
fn bad_arguments_of_vectors_and_triangles_are_refused() {
    let blas = Blas::new();
    let memory = blas.upload(&[1.0_f32; 64]);
    let p = crate::common::pointer(&memory).cast::<f32>();
    let (t, h) = (blas.table, blas.handle);
    let (null, one) = (null_mut::<f32>(), 1.0_f32);
    let mut result = 5.0_f32;
    // SAFETY: sizes are at most 8 by 8.
    unsafe {
        // Empty vectors are not an error.
        for n in [0, -3] {
            assert_eq!((t.rocblas_saxpy)(h, n, null, null, 1, null, 1), SUCCESS);
            assert_eq!((t.rocblas_sdot)(h, n, null, 1, null, 1, &mut result), SUCCESS);
            assert_eq!(std::mem::replace(&mut result, 5.0), 0.0);
        }
        assert_eq!((t.rocblas_saxpy)(h, 2, null, p, 1, p, 1), INVALID_POINTER);
        assert_eq!((t.rocblas_saxpy)(h, 2, &one, null, 1, p, 1), INVALID_POINTER);
        assert_eq!((t.rocblas_saxpy)(h, 2, &0.0, null, 1, null, 1), SUCCESS);
        assert_eq!((t.rocblas_sdot)(h, 2, p, 1, p, 1, null_mut()), INVALID_POINTER);
        assert_eq!((t.rocblas_sdot)(h, 2, null, 1, p, 1, &mut result), INVALID_POINTER);
        assert_eq!((t.rocblas_sgemv)(h, N, 2, 2, &one, p, 2, p, 0, &one, p, 1), INVALID_SIZE);
        assert_eq!((t.rocblas_sgemv)(h, N, 2, 2, &one, p, 1, p, 1, &one, p, 1), INVALID_SIZE);
        assert_eq!((t.rocblas_sgemv)(h, N, 2, 2, &one, null, 2, p, 1, &one, p, 1), INVALID_POINTER);
        assert_eq!((t.rocblas_sgbmv)(h, N, 2, 2, 1, 1, &one, p, 2, p, 1, &one, p, 1), INVALID_SIZE);
        assert_eq!((t.rocblas_sgbmv)(h, N, 2, 2, -1, 1, &one, p, 4, p, 1, &one, p, 1), INVALID_SIZE);
        let full = rocblas_fill::rocblas_fill_full;
        assert_eq!((t.rocblas_ssymv)(h, full, 2, &one, p, 2, p, 1, &one, p, 1), INVALID_VALUE);
        assert_eq!((t.rocblas_ssyr)(h, UPPER, 2, &one, p, 0, p, 2), INVALID_SIZE);
        assert_eq!((t.rocblas_strsv)(h, UPPER, N, rocblas_diagonal_(0), 2, p, 2, p, 1), INVALID_VALUE);
        assert_eq!((t.rocblas_stbsv)(h, UPPER, N, NON_UNIT, 2, 1, p, 1, p, 1), INVALID_SIZE);
        assert_eq!(
            (t.rocblas_strsm)(h, rocblas_side::rocblas_side_both, UPPER, N, NON_UNIT, 2, 2, &one, p, 2, p, 2),
            INVALID_VALUE
        );
        assert_eq!((t.rocblas_strsm)(h, LEFT, UPPER, N, NON_UNIT, 3, 2, &one, p, 2, p, 3), INVALID_SIZE);
        assert_eq!(
            (t.rocblas_strsm)(h, LEFT, UPPER, N, NON_UNIT, 2, 2, &one, null, 2, p, 2),
            INVALID_POINTER
        );
        assert_eq!(
            (t.rocblas_strmm)(h, LEFT, UPPER, N, NON_UNIT, 2, 2, &one, p, 2, p, 2, p, 3),
            INVALID_VALUE
        );
        let complex = rocblas_float_complex { x: 1.0, y: 0.0 };
        let c = p.cast::<rocblas_float_complex>();
        assert_eq!((t.rocblas_csyrk)(h, UPPER, C, 2, 2, &complex, c, 2, &complex, c, 2), INVALID_VALUE);
        assert_eq!((t.rocblas_cherk)(h, UPPER, T, 2, 2, &one, c, 2, &one, c, 2), INVALID_VALUE);
        assert_eq!((t.rocblas_sgeam)(h, T, N, 2, 2, &one, p, 2, &one, p.add(8), 2, p, 2), INVALID_SIZE);
        assert_eq!((t.rocblas_sdgmm)(h, LEFT, 2, 2, p, 1, p, 1, p, 2), INVALID_SIZE);
        // bf16 has products, with which solving begins, but no solving.
        let (two, any) = (half::bf16::from_f32(2.0), p.cast());
        let (alpha, bf16_r) = (from_ref(&two).cast(), rocblas_datatype::rocblas_datatype_bf16_r);
        for a in [any, null_mut()] {
            assert_eq!(
                (t.rocblas_trsm_ex)(h, LEFT, UPPER, N, NON_UNIT, 2, 2, alpha, a, 2, any, 2, any, 0, bf16_r),
                rocblas_status::rocblas_status_not_implemented
            );
        }
    }
    assert_eq!(blas.download(&memory), [1.0; 64], "nothing was written");
}

/// Whether null pointers are errors depends on factors, which may be in device memory.
#[test]
fn factors_in_device_memory_need_no_pointers_where_they_are_zero() {
    let blas = Blas::new();
    let memory = blas.upload(&[0.0_f32, 1.0, 5.0, 6.0]);
    let zero = crate::common::pointer(&memory).cast::<f32>();
    // SAFETY: the memory has four elements.
    let (one, y) = unsafe { (zero.add(1), zero.add(2)) };
    let (t, h) = (blas.table, blas.handle);
    let null = null_mut::<f32>();
    let pointers = null_mut::<*mut f32>();
    let set = |mode| {
        // SAFETY: the handle is live.
        assert_eq!(unsafe { (t.rocblas_set_pointer_mode)(h, mode) }, SUCCESS);
    };
    set(rocblas_pointer_mode::rocblas_pointer_mode_device);
    // SAFETY: with these factors, only existing memory is read and written.
    unsafe {
        assert_eq!((t.rocblas_saxpy)(h, 2, zero, null, 1, null, 1), SUCCESS);
        assert_eq!((t.rocblas_saxpy_batched)(h, 2, zero, pointers.cast(), 1, pointers.cast(), 1, 3), SUCCESS);
        assert_eq!((t.rocblas_sgemv)(h, N, 2, 2, zero, null, 2, null, 1, one, null, 1), SUCCESS);
        assert_eq!((t.rocblas_ssymv)(h, UPPER, 2, zero, null, 2, null, 1, one, null, 1), SUCCESS);
        assert_eq!((t.rocblas_sger)(h, 2, 2, zero, null, 1, null, 1, null, 2), SUCCESS);
        assert_eq!((t.rocblas_sspr)(h, UPPER, 2, zero, null, 1, null), SUCCESS);
        assert_eq!((t.rocblas_sgemm)(h, N, N, 2, 2, 2, zero, null, 2, null, 2, one, null, 2), SUCCESS);
        assert_eq!((t.rocblas_ssyrk)(h, UPPER, N, 2, 2, zero, null, 2, one, null, 2), SUCCESS);
        assert_eq!((t.rocblas_sgeam)(h, N, N, 2, 1, zero, null, 2, zero, null, 2, y, 2), SUCCESS);
        let trmm = t.rocblas_strmm;
        assert_eq!(trmm(h, LEFT, UPPER, N, NON_UNIT, 2, 1, zero, null, 2, null, 2, y, 2), SUCCESS);
        assert_eq!((t.rocblas_strsm)(h, LEFT, UPPER, N, NON_UNIT, 2, 1, zero, null, 2, y, 2), SUCCESS);
        assert_eq!((t.rocblas_strsm)(h, LEFT, UPPER, N, NON_UNIT, 2, 1, one, null, 2, y, 2), INVALID_POINTER);
        // Otherwise the operands and the factor itself must exist.
        assert_eq!((t.rocblas_saxpy)(h, 2, one, null, 1, y, 1), INVALID_POINTER);
        assert_eq!((t.rocblas_sgemv)(h, N, 2, 2, zero, null, 2, null, 1, zero, null, 1), INVALID_POINTER);
        assert_eq!((t.rocblas_sger)(h, 2, 2, one, null, 1, y, 1, y, 2), INVALID_POINTER);
        assert_eq!((t.rocblas_sgemm)(h, N, N, 2, 2, 2, one, null, 2, y, 2, one, y, 2), INVALID_POINTER);
        assert_eq!(
            (t.rocblas_sgemm)(h, N, N, 2, 2, 2, zero, null, 2, null, 2, zero, null, 2),
            INVALID_POINTER
        );
        assert_eq!((t.rocblas_saxpy)(h, 2, null, null, 1, null, 1), INVALID_POINTER);
        // y = 0 * y, from existing memory.
        assert_eq!((t.rocblas_sgemv)(h, N, 2, 2, zero, null, 2, null, 1, zero, y, 1), SUCCESS);
    }
    assert_eq!(blas.download(&memory), [0.0, 1.0, 0.0, 0.0]);
    set(rocblas_pointer_mode::rocblas_pointer_mode_host);
    let (host, p) = (1.0_f32, y);
    // SAFETY: these are refused.
    unsafe {
        assert_eq!((t.rocblas_sger)(h, 2, 2, &host, null, 1, p, 1, p, 2), INVALID_POINTER);
        // A factor of one leaves x unchanged, but x must exist.
        assert_eq!((t.rocblas_sscal)(h, 2, &host, null, 1), INVALID_POINTER);
        // No memory holds such a matrix.
        let beyond = i64::from(i32::MAX) + 1;
        assert_eq!((t.rocblas_sspr_64)(h, UPPER, beyond, &host, p, 1, p), INVALID_SIZE);
        // Nothing is copied, whatever the other arguments are.
        assert_eq!((t.rocblas_set_vector)(0, 0, null_mut(), 0, null_mut(), 0), SUCCESS);
    }
}

#[test]
fn lengths_of_complex_vectors_may_be_computed_in_real_numbers() {
    let blas = Blas::new();
    let memory = blas.upload(&[3.0_f32, 4.0, 0.0, 12.0]);
    let x = crate::common::pointer(&memory);
    let (c, r) = (rocblas_datatype::rocblas_datatype_f32_c, rocblas_datatype::rocblas_datatype_f32_r);
    let mut length = 0.0_f32;
    // SAFETY: there are two complex numbers, and room for the result.
    let status = unsafe {
        (blas.table.rocblas_nrm2_ex)(blas.handle, 2, x.cast(), c, 1, (&raw mut length).cast(), r, r)
    };
    assert_eq!((status, length), (SUCCESS, 13.0));
}

#[test]
fn handles_are_checked() {
    let blas = Blas::new();
    let t = blas.table;
    let mut second = null_mut();
    let invented: rocblas_handle = std::ptr::without_provenance_mut(0x7777);
    // SAFETY: the pointers are valid; an invalid handle is looked up, not dereferenced.
    unsafe {
        assert_eq!((t.rocblas_create_handle)(null_mut()), INVALID_HANDLE);
        assert_eq!((t.rocblas_create_handle)(&mut second), SUCCESS);
        assert_ne!(second, blas.handle);
        assert_eq!((t.rocblas_destroy_handle)(second), SUCCESS);
        for bad in [null_mut(), second, invented] {
            assert_eq!((t.rocblas_destroy_handle)(bad), INVALID_HANDLE);
            assert_eq!((t.rocblas_set_stream)(bad, null_mut()), INVALID_HANDLE);
            assert_eq!((t.rocblas_saxpy)(bad, 0, null_mut(), null_mut(), 1, null_mut(), 1), INVALID_HANDLE);
            assert!(!(t.rocblas_is_device_memory_size_query)(bad));
        }
        let mut stream = null_mut();
        assert_eq!((t.rocblas_get_stream)(blas.handle, &mut stream), SUCCESS);
        assert_eq!(stream, blas.stream.as_raw());
        assert_eq!((t.rocblas_get_stream)(blas.handle, null_mut()), INVALID_POINTER);
        assert_eq!((t.rocblas_set_pointer_mode)(blas.handle, rocblas_pointer_mode_(9)), INVALID_VALUE);
        let mut mode = rocblas_atomics_mode_(9);
        assert_eq!((t.rocblas_get_atomics_mode)(blas.handle, &mut mode), SUCCESS);
        assert_eq!(mode, rocblas_atomics_mode::rocblas_atomics_not_allowed);
    }
}

#[test]
fn memory_is_asked_for_before_it_is_used() {
    let blas = Blas::new();
    let (t, h) = (blas.table, blas.handle);
    let (a, x) = (blas.upload(&[1.0_f32; 100]), blas.upload(&[1.0_f32; 10]));
    let (a, on_x) = (crate::common::pointer(&a).cast(), crate::common::pointer(&x).cast());
    let mut bytes = 0;
    // SAFETY: the matrix has 10 by 10 elements.
    let multiply = || unsafe { (t.rocblas_strmv)(h, UPPER, N, NON_UNIT, 10, a, 10, on_x, 1) };
    // SAFETY: the handle is live, and the number has a place.
    unsafe {
        assert_eq!(
            (t.rocblas_stop_device_memory_size_query)(h, &mut bytes),
            rocblas_status::rocblas_status_size_query_mismatch
        );
        assert_eq!((t.rocblas_start_device_memory_size_query)(h), SUCCESS);
        assert!((t.rocblas_is_device_memory_size_query)(h));
        assert_eq!(multiply(), rocblas_status::rocblas_status_size_increased);
        assert_eq!(multiply(), rocblas_status::rocblas_status_size_unchanged);
        assert_eq!((t.rocblas_stop_device_memory_size_query)(h, &mut bytes), SUCCESS);
    }
    assert!(bytes >= 40, "{bytes}");
    assert_eq!(blas.download(&x), [1.0; 10], "nothing was enqueued");
    let own = blas.upload(&vec![0_u8; bytes]);
    // SAFETY: the memory has as many bytes, and outlives its use.
    unsafe {
        assert_eq!((t.rocblas_set_workspace)(h, crate::common::pointer(&own), 8), SUCCESS);
        assert!((t.rocblas_is_user_managing_device_memory)(h));
        assert_eq!(multiply(), rocblas_status::rocblas_status_memory_error);
        assert_eq!((t.rocblas_set_workspace)(h, crate::common::pointer(&own), bytes), SUCCESS);
        assert_eq!(multiply(), SUCCESS);
    }
    let want: Vec<f32> = (0..10).map(|i| (10 - i) as f32).collect();
    assert_eq!(blas.download(&x), want);
    assert!(blas.download(&own).iter().any(|byte| *byte != 0), "the workspace was used");
    // SAFETY: the handle is live.
    unsafe {
        assert_eq!((t.rocblas_set_workspace)(h, null_mut(), 0), SUCCESS);
        assert!((t.rocblas_is_managing_device_memory)(h));
    }
}

#[test]
fn the_workspace_passes_from_stream_to_stream() {
    let blas = Blas::new();
    let (t, h) = (blas.table, blas.handle);
    let mut random = Random::new(40);
    let x = random.vectors::<f32>(1, 9000, 1).remove(0);
    let on_x = blas.vectors(Form::Plain, std::slice::from_ref(&x));
    let want: f32 = x.data.iter().map(|x| x.abs()).sum();
    // SAFETY: the streams are live while they are set, and the results have places.
    unsafe {
        for _ in 0..3 {
            let other = blas.device.stream().unwrap();
            for stream in [other.as_raw(), blas.stream.as_raw()] {
                let mut sum = 0.0;
                assert_eq!((t.rocblas_set_stream)(h, stream), SUCCESS);
                assert_eq!((t.rocblas_sasum)(h, 9000, on_x.pointer().cast(), 1, &mut sum), SUCCESS);
                assert!((sum - want).abs() < 0.1, "{sum}, not {want}");
            }
        }
    }
}

#[test]
fn copies_between_host_and_device_take_steps() {
    let blas = Blas::new();
    let t = blas.table;
    let memory = blas.upload(&[0.0_f32; 40]);
    let on_device = crate::common::pointer(&memory);
    let host: Vec<f32> = (0..20).map(|x| x as f32).collect();
    let mut back = vec![-1.0_f32; 20];
    // SAFETY: both sides have as many elements.
    unsafe {
        assert_eq!((t.rocblas_set_vector)(5, 4, host.as_ptr().cast(), 2, on_device, 3), SUCCESS);
        assert_eq!((t.rocblas_get_vector)(5, 4, on_device, 3, back.as_mut_ptr().cast(), 1), SUCCESS);
        assert_eq!(back[..6], [0.0, 2.0, 4.0, 6.0, 8.0, -1.0]);
        assert_eq!((t.rocblas_set_matrix_64)(3, 4, 4, host.as_ptr().cast(), 5, on_device, 7), SUCCESS);
        assert_eq!((t.rocblas_get_matrix_64)(3, 4, 4, on_device, 7, back.as_mut_ptr().cast(), 4), SUCCESS);
        assert_eq!(back[..12], [0.0, 1.0, 2.0, 6.0, 5.0, 6.0, 7.0, -1.0, 10.0, 11.0, 12.0, -1.0]);
        assert_eq!((t.rocblas_set_vector)(5, 4, host.as_ptr().cast(), 0, on_device, 3), INVALID_SIZE);
        assert_eq!((t.rocblas_set_vector)(5, 4, null_mut(), 1, on_device, 3), INVALID_POINTER);
        assert_eq!((t.rocblas_set_matrix)(3, 4, 4, host.as_ptr().cast(), 2, on_device, 3), INVALID_SIZE);
        assert_eq!((t.rocblas_pointer_to_mode)(on_device), rocblas_pointer_mode::rocblas_pointer_mode_device);
        let on_host = host.as_ptr().cast_mut().cast();
        assert_eq!((t.rocblas_pointer_to_mode)(on_host), rocblas_pointer_mode::rocblas_pointer_mode_host);
    }
}

/// Factors whose type is an argument, and complex vectors with real ones.
#[test]
fn factors_may_have_other_types_than_vectors() {
    let blas = Blas::new();
    let (t, h) = (blas.table, blas.handle);
    let f32_c = rocblas_datatype::rocblas_datatype_f32_c;
    let f32_r = rocblas_datatype::rocblas_datatype_f32_r;
    let f16_r = rocblas_datatype::rocblas_datatype_f16_r;
    let inf = f32::INFINITY;
    let complex = blas.operand(Form::Plain, &[vec![[1.0_f32, inf], [3.0, -2.0]]]);
    // SAFETY: the vectors have two elements.
    unsafe {
        // Not a complex product, in which an infinity times zero would be NaN.
        assert_eq!((t.rocblas_csscal)(h, 2, &2.0, complex.pointer().cast(), 1), SUCCESS);
        assert_eq!(complex.read(&blas), [vec![[2.0, inf], [6.0, -4.0]]]);
        let half = 0.5_f32;
        let alpha = (&raw const half).cast();
        assert_eq!((t.rocblas_scal_ex)(h, 2, alpha, f32_r, complex.pointer(), f32_c, 1, f32_c), SUCCESS);
        assert_eq!(complex.read(&blas), [vec![[1.0, inf], [3.0, -2.0]]]);
        let halves = [2.0, 3.0].map(half::f16::from_f32).to_vec();
        let (x, y) = (
            blas.operand(Form::Plain, std::slice::from_ref(&halves)),
            blas.operand(Form::Plain, std::slice::from_ref(&halves)),
        );
        assert_eq!(
            (t.rocblas_axpy_ex)(h, 2, alpha, f32_r, x.pointer(), f16_r, 1, y.pointer(), f16_r, 1, f32_r),
            SUCCESS
        );
        assert_eq!(y.read(&blas), [[3.0, 4.5].map(half::f16::from_f32).to_vec()]);
        let mut sum = half::f16::ZERO;
        let result = (&raw mut sum).cast();
        assert_eq!(
            (t.rocblas_dot_ex)(h, 2, x.pointer(), f16_r, 1, y.pointer(), f16_r, 1, result, f16_r, f32_r),
            SUCCESS
        );
        assert_eq!(sum.to_f32(), 19.5);
        assert_eq!(
            (t.rocblas_dot_ex)(h, 2, x.pointer(), f16_r, 1, y.pointer(), f32_c, 1, result, f16_r, f32_r),
            rocblas_status::rocblas_status_not_implemented
        );
    }
    let (alpha, beta) = (blas.scalar::<f32>(z(2.0), false), blas.scalar::<f32>(ONE, false));
    let (a, c) = (blas.operand(Form::Plain, &[vec![3.0_f32]]), blas.operand(Form::Plain, &[vec![1.0_f32]]));
    // SAFETY: the matrices have an element.
    let status = unsafe {
        (t.rocblas_syrk_ex)(
            h,
            UPPER,
            N,
            1,
            1,
            alpha.pointer(),
            a.pointer(),
            f32_r,
            1,
            beta.pointer(),
            c.pointer(),
            f32_r,
            1,
            f32_r,
        )
    };
    assert_eq!(status, SUCCESS);
    assert_eq!(c.read(&blas), [vec![19.0]]);
    let names = call!(blas, Form::Plain, [rocblas_strmm_outofplace rocblas_strmm_outofplace_batched rocblas_strmm_outofplace_strided_batched];
        v LEFT, v UPPER, v N, v NON_UNIT, s 1, s 1, p alpha, o a, 1, o a, 1, o c, 1, b 1,);
    assert_eq!(names, SUCCESS);
    assert_eq!(c.read(&blas), [vec![18.0]]);
}

#[test]
fn texts_are_there() {
    let blas = Blas::new();
    let t = blas.table;
    let mut size = 0;
    let mut text = [1_u8; 64];
    // SAFETY: there is room for as many bytes as the arguments say.
    unsafe {
        assert_eq!((t.rocblas_get_version_string_size)(&mut size), SUCCESS);
        assert_eq!((t.rocblas_get_version_string)(text.as_mut_ptr().cast(), size - 1), INVALID_SIZE);
        assert_eq!((t.rocblas_get_version_string)(text.as_mut_ptr().cast(), size), SUCCESS);
        let text = std::ffi::CStr::from_bytes_until_nul(&text).unwrap();
        assert!(text.to_str().unwrap().starts_with("5.2.0."), "{text:?}");
        assert_eq!(text.count_bytes() + 1, size);
        let name = std::ffi::CStr::from_ptr((t.rocblas_status_to_string)(INVALID_SIZE));
        assert_eq!(name.to_str(), Ok("rocblas_status_invalid_size"));
    }
}
