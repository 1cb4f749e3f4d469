//! The solutions of a matrix product, and products with steps in both directions.

use std::ffi::c_void;

use rocblas_sys::{
    rocblas_datatype, rocblas_gemm_algo, rocblas_handle, rocblas_int, rocblas_operation, rocblas_status,
    rocblas_stride,
};

use crate::args::{Args, Form, Operand, Scalar, Type};
use crate::call::{entry, with};
use crate::gemm::{gemm_ext2, is_known, solutions};

macro_rules! by_problem {
    ($($name:ident $stride:tt $($batch:ident)?;)+) => {$(
        by_problem!(@ $name $stride $($batch)?);
    )+};
    (@ $name:ident { $($stride:ident)? } $($batch:ident)?) => {
        pub(super) unsafe extern "C" fn $name(
            handle: rocblas_handle,
            _: rocblas_operation,
            _: rocblas_operation,
            _: rocblas_int,
            _: rocblas_int,
            _: rocblas_int,
            _: *const c_void,
            _: *const c_void,
            a_type: rocblas_datatype,
            _: rocblas_int,
            $(_: $stride,)?
            _: *const c_void,
            b_type: rocblas_datatype,
            _: rocblas_int,
            $(_: $stride,)?
            _: *const c_void,
            _: *const c_void,
            c_type: rocblas_datatype,
            _: rocblas_int,
            $(_: $stride,)?
            _: *mut c_void,
            d_type: rocblas_datatype,
            _: rocblas_int,
            $(_: $stride,)?
            $(_: $batch,)?
            compute_type: rocblas_datatype,
            _: rocblas_gemm_algo,
            _: u32,
            list: *mut rocblas_int,
            size: *mut rocblas_int,
        ) -> rocblas_status {
            entry(|| {
                with(handle, |_| {
                    if a_type != b_type || c_type != d_type {
                        return Err(rocblas_status::rocblas_status_not_implemented);
                    }
                    is_known(Type::from(a_type), Type::from(c_type), Type::from(compute_type))?;
                    // SAFETY: the caller passes a place for the size, and a list of as many numbers as it
                    // says.
                    unsafe { solutions(list, size) }
                })
            })
        }
    };
}
by_problem! {
    rocblas_gemm_ex_get_solutions {};
    rocblas_gemm_batched_ex_get_solutions {} rocblas_int;
    rocblas_gemm_strided_batched_ex_get_solutions { rocblas_stride } rocblas_int;
}

macro_rules! by_type {
    ($($name:ident)+) => {$(
        pub(super) unsafe extern "C" fn $name(
            handle: rocblas_handle,
            input_type: rocblas_datatype,
            output_type: rocblas_datatype,
            compute_type: rocblas_datatype,
            _: u32,
            list: *mut rocblas_int,
            size: *mut rocblas_int,
        ) -> rocblas_status {
            entry(|| {
                with(handle, |_| {
                    is_known(Type::from(input_type), Type::from(output_type), Type::from(compute_type))?;
                    // SAFETY: the caller passes a place for the size, and a list of as many numbers as it
                    // says.
                    unsafe { solutions(list, size) }
                })
            })
        }
    )+};
}
by_type! { rocblas_gemm_ex_get_solutions_by_type rocblas_gemm_batched_ex_get_solutions_by_type }

pub(super) unsafe extern "C" fn rocblas_gemm_ext2(
    handle: rocblas_handle,
    m: rocblas_int,
    n: rocblas_int,
    k: rocblas_int,
    alpha: *const c_void,
    a: *const c_void,
    a_type: rocblas_datatype,
    row_stride_a: rocblas_stride,
    col_stride_a: rocblas_stride,
    b: *const c_void,
    b_type: rocblas_datatype,
    row_stride_b: rocblas_stride,
    col_stride_b: rocblas_stride,
    beta: *const c_void,
    c: *const c_void,
    c_type: rocblas_datatype,
    row_stride_c: rocblas_stride,
    col_stride_c: rocblas_stride,
    d: *mut c_void,
    d_type: rocblas_datatype,
    row_stride_d: rocblas_stride,
    col_stride_d: rocblas_stride,
    compute_type: rocblas_datatype,
    _: rocblas_gemm_algo,
    _: i32,
    _: u32,
) -> rocblas_status {
    let operand = |at: *const c_void, kind| Operand::new(at, 0, 0, Type::from(kind));
    let compute = Type::from(compute_type);
    let args = Args {
        m: m.into(),
        n: n.into(),
        k: k.into(),
        alpha: Scalar::new(alpha, compute),
        beta: Scalar::new(beta, compute),
        a: operand(a, a_type),
        b: operand(b, b_type),
        c: operand(c, c_type),
        d: operand(d, d_type),
        compute,
        ..Args::new(compute, Form::Plain)
    };
    let steps = [
        [row_stride_a, col_stride_a],
        [row_stride_b, col_stride_b],
        [row_stride_c, col_stride_c],
        [row_stride_d, col_stride_d],
    ];
    entry(|| with(handle, |call| call.finish(|call| gemm_ext2(call, &args, steps))))
}
