//! Launchers in CUDA's dialect, compiled by `kernel_build::Builder::build_lib`. Those of `kernels/nested` have their code objects
//! compressed.

use std::ffi::{c_char, c_int};

use hip::hip_sys::hipStream_t;
// What the library calls.
use hip_host as _;

unsafe extern "C" {
    /// Sets what `launch_saxpy` multiplies with on the current device; returns a status.
    pub fn set_factor(value: f32, stream: hipStream_t) -> c_int;
    /// y += a factor x; returns a status.
    pub fn launch_saxpy(n: c_int, a: f32, x: *const f32, y: *mut f32, stream: hipStream_t) -> c_int;
    /// How many elements `launch_saxpy` has written on the current device since the last call.
    pub fn take_written(stream: hipStream_t) -> c_int;
    /// 1 + … + n, or a negative status.
    pub safe fn sum_to(n: c_int) -> c_int;
    /// What `cudaGetDeviceCount` says.
    pub safe fn count_devices() -> c_int;
    /// What `cudaGetErrorString` says.
    pub safe fn describe(code: c_int) -> *const c_char;
    /// Reverses n elements with one block of so many threads; returns a status.
    pub fn launch_reverse(n: c_int, data: *mut f64, threads: c_int, stream: hipStream_t) -> c_int;
    /// Sets an element to 1, and does not look whether that could be launched, with a block of so many threads and so much dynamic
    /// shared memory.
    pub fn set_unchecked(to: *mut c_int, threads: c_int, shared: usize, stream: hipStream_t);
    /// The same by a kernel without code for any device.
    pub fn set_left_out(to: *mut c_int, stream: hipStream_t);
    /// What `cudaGetLastError` says.
    pub safe fn last_error() -> c_int;
    /// The most threads of its kernel on the current device, or -1.
    pub safe fn threads_of_reverse() -> c_int;
    /// 40 and one more for each reversal that the device has done.
    pub safe fn count_calls() -> c_int;
}
