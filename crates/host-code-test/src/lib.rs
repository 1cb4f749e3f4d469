//! Launchers in CUDA's dialect, compiled by `kernel_build::Builder::build_lib`. Those of `kernels/nested`
//! have compressed code objects.

use std::ffi::{c_char, c_int};

use hip::hip_sys::hipStream_t;
// The library calls functions of this crate.
use hip_host as _;

unsafe extern "C" {
    /// Sets the factor of `launch_saxpy` on the current device; returns a status.
    pub fn set_factor(value: f32, stream: hipStream_t) -> c_int;
    /// y += a factor x; returns a status.
    pub fn launch_saxpy(n: c_int, a: f32, x: *const f32, y: *mut f32, stream: hipStream_t) -> c_int;
    /// The number of elements that `launch_saxpy` has written on the current device since the last call.
    pub fn take_written(stream: hipStream_t) -> c_int;
    /// 1 + … + n, or a negative status.
    pub safe fn sum_to(n: c_int) -> c_int;
    /// The result of `cudaGetDeviceCount`.
    pub safe fn count_devices() -> c_int;
    /// The result of `cudaGetErrorString`.
    pub safe fn describe(code: c_int) -> *const c_char;
    /// Reverses n elements with one block of this many threads; returns a status.
    pub fn launch_reverse(n: c_int, data: *mut f64, threads: c_int, stream: hipStream_t) -> c_int;
    /// Sets an element to 1, with a block of this many threads and this much dynamic shared memory. Does not
    /// check whether the launch succeeded.
    pub fn set_unchecked(to: *mut c_int, threads: c_int, shared: usize, stream: hipStream_t);
    /// The same with a kernel without code for any device.
    pub fn set_left_out(to: *mut c_int, stream: hipStream_t);
    /// The result of `cudaGetLastError`.
    pub safe fn last_error() -> c_int;
    /// The maximum number of threads of the reversing kernel on the current device, or -1.
    pub safe fn threads_of_reverse() -> c_int;
    /// The results of `kernels/conversions.inc`, row after row, for n numbers; returns a status.
    pub fn launch_conversions(numbers: *const u64, n: c_int, to: *mut u64, stream: hipStream_t) -> c_int;
    /// The same in host code, for the rows that it has.
    pub fn convert_on_host(numbers: *const u64, n: c_int, to: *mut u64);
    /// The results of `kernels/arithmetic.inc`, row after row, for n triples of doubles; returns a status.
    pub fn launch_arithmetic(
        a: *const u64,
        b: *const u64,
        c: *const u64,
        n: c_int,
        to: *mut u64,
        stream: hipStream_t,
    ) -> c_int;
    /// The values of `kernels/values.inc`; returns a status.
    pub fn launch_values(to: *mut f64, stream: hipStream_t) -> c_int;
    /// The same in host code, for the rows that it has.
    pub fn values_on_host(to: *mut f64);
    /// The results of `kernels/functions.inc` and `kernels/mathematics.inc`, row after row, for n samples of
    /// each type and position, with n a multiple of 64; returns a status.
    pub fn launch_functions(
        samples: *const u64,
        n: c_int,
        functions: *mut u64,
        mathematics: *mut u64,
        stream: hipStream_t,
    ) -> c_int;
    /// The same in host code, for the rows that it has.
    pub fn functions_on_host(samples: *const u64, n: c_int, functions: *mut u64, mathematics: *mut u64);
    /// What programs expect of nvcc in device code: 12 values and three vectors of four; returns a status.
    pub fn launch_habits(to: *mut u64, vectors: *mut f32, stream: hipStream_t) -> c_int;
    /// The first 8 values of `launch_habits` in host code.
    pub fn habits_of_host(to: *mut u64);
    /// What host code is told of the current device: 11 values; returns a status.
    pub fn host_view(to: *mut c_int) -> c_int;
    /// 40 plus the number of reversals on the device.
    pub safe fn count_calls() -> c_int;
}
