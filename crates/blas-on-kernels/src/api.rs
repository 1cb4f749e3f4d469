//! The functions that are not operations: handles and their settings, memory, texts.

mod copy;
mod handle;
mod solutions;
mod text;

use rocblas_sys::Builder;

macro_rules! functions {
    ($($module:ident: $($name:ident)+;)+ @ $($slotted:ident in $of:ident)+;) => {
        /// Passes the functions to the builder. Those without a handle use the HIP table of this slot.
        pub(crate) fn provide<const SLOT: usize>(builder: &mut Builder) {
            $($(builder.$name($module::$name);)+)+
            $(builder.$slotted($of::$slotted::<SLOT>);)+
        }

        pub(crate) const NAMES: &[&str] = &[$($(stringify!($name),)+)+ $(stringify!($slotted),)+];
    };
}

functions! {
    handle:
        rocblas_destroy_handle rocblas_get_atomics_mode rocblas_get_device_memory_size rocblas_get_math_mode
        rocblas_get_performance_metric rocblas_get_pointer_mode rocblas_get_stream rocblas_is_device_memory_size_query
        rocblas_is_managing_device_memory rocblas_is_user_managing_device_memory rocblas_set_atomics_mode
        rocblas_set_device_memory_size rocblas_set_math_mode rocblas_set_performance_metric rocblas_set_pointer_mode
        rocblas_set_stream rocblas_set_workspace rocblas_start_device_memory_size_query
        rocblas_stop_device_memory_size_query;
    solutions:
        rocblas_gemm_batched_ex_get_solutions rocblas_gemm_batched_ex_get_solutions_by_type
        rocblas_gemm_ex_get_solutions rocblas_gemm_ex_get_solutions_by_type rocblas_gemm_ext2
        rocblas_gemm_strided_batched_ex_get_solutions;
    text:
        rocblas_get_commit_hash_string rocblas_get_commit_hash_string_size rocblas_get_version_string
        rocblas_get_version_string_size rocblas_status_to_string;
    // These use the table's HIP.
    @
        rocblas_create_handle in handle
        rocblas_get_matrix in copy
        rocblas_get_matrix_64 in copy
        rocblas_get_matrix_async in copy
        rocblas_get_matrix_async_64 in copy
        rocblas_get_vector in copy
        rocblas_get_vector_64 in copy
        rocblas_get_vector_async in copy
        rocblas_get_vector_async_64 in copy
        rocblas_initialize in handle
        rocblas_pointer_to_mode in handle
        rocblas_set_matrix in copy
        rocblas_set_matrix_64 in copy
        rocblas_set_matrix_async in copy
        rocblas_set_matrix_async_64 in copy
        rocblas_set_vector in copy
        rocblas_set_vector_64 in copy
        rocblas_set_vector_async in copy
        rocblas_set_vector_async_64 in copy;
}

/// The HIP table of a slot for which a function table has been created.
fn hip<const SLOT: usize>() -> crate::call::Result<&'static hip_sys::Table> {
    crate::HIP[SLOT].get().copied().ok_or(crate::gpu::INTERNAL)
}
