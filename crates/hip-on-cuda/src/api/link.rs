//! The driver's linker, which also compiles PTX to a cubin.

use std::ffi::{c_char, c_uint, c_void};

use cuda_sys::{CUjit_option, CUjitInputType};
use hip_sys::{hipError_t, hipJitInputType, hipJitOption, hipLinkState_t};

use crate::call::{call, failed, same};

/// The options of both compilers: CUDA has them under the same numbers, with the same values. HIP's others
/// are for AMD's.
unsafe fn are_cudas(count: c_uint, options: *const hipJitOption) -> bool {
    if options.is_null() {
        return count == 0;
    }
    let last = hipJitOption::hipJitOptionFastCompile.0;
    // SAFETY: the caller passes as many options.
    (0..count as usize).all(|at| unsafe { *options.add(at) }.0 <= last)
}

/// An input that CUDA has, under the same number.
fn input(kind: hipJitInputType) -> Option<CUjitInputType> {
    (kind.0 <= hipJitInputType::hipJitInputNvvm.0).then_some(CUjitInputType(kind.0))
}

/// `hipLinkCreate`: AMD's options are invalid values.
pub(crate) unsafe extern "C" fn hipLinkCreate(
    count: c_uint,
    options: *mut hipJitOption,
    values: *mut *mut c_void,
    state: *mut hipLinkState_t,
) -> hipError_t {
    // SAFETY: the caller passes as many options.
    if !unsafe { are_cudas(count, options) } {
        return failed(hipError_t::hipErrorInvalidValue);
    }
    let options = options.cast::<CUjit_option>();
    // SAFETY: the caller passes as many options and values, which live as long as the state, and a place.
    call(|cuda| unsafe { (cuda.cuLinkCreate_v2)(count, options, values, state.cast()) })
}

/// `hipLinkAddData`: cubins, PTX, fatbins, objects and libraries; not LLVM's bitcode.
pub(crate) unsafe extern "C" fn hipLinkAddData(
    state: hipLinkState_t,
    kind: hipJitInputType,
    data: *mut c_void,
    size: usize,
    name: *const c_char,
    count: c_uint,
    options: *mut hipJitOption,
    values: *mut *mut c_void,
) -> hipError_t {
    let Some(kind) = input(kind) else { return failed(hipError_t::hipErrorInvalidValue) };
    // SAFETY: the caller passes as many options.
    if !unsafe { are_cudas(count, options) } {
        return failed(hipError_t::hipErrorInvalidValue);
    }
    let options = options.cast::<CUjit_option>();
    // SAFETY: the caller vouches for the state, for the data of so many bytes, and for the options.
    call(|cuda| unsafe {
        (cuda.cuLinkAddData_v2)(state.cast(), kind, data, size, name, count, options, values)
    })
}

/// `hipLinkAddFile`, as [`hipLinkAddData`].
pub(crate) unsafe extern "C" fn hipLinkAddFile(
    state: hipLinkState_t,
    kind: hipJitInputType,
    path: *const c_char,
    count: c_uint,
    options: *mut hipJitOption,
    values: *mut *mut c_void,
) -> hipError_t {
    let Some(kind) = input(kind) else { return failed(hipError_t::hipErrorInvalidValue) };
    // SAFETY: the caller passes as many options.
    if !unsafe { are_cudas(count, options) } {
        return failed(hipError_t::hipErrorInvalidValue);
    }
    let options = options.cast::<CUjit_option>();
    // SAFETY: the caller vouches for the state, the path and the options.
    call(|cuda| unsafe { (cuda.cuLinkAddFile_v2)(state.cast(), kind, path, count, options, values) })
}

same! {
    hipLinkComplete(state: hipLinkState_t, code: *mut *mut c_void, size: *mut usize)
        => cuLinkComplete(state.cast(), code, size);
    hipLinkDestroy(state: hipLinkState_t) => cuLinkDestroy(state.cast());
}
