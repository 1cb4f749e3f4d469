//! What the device tests share: a handle on the device under test, and numbers to try.
#![allow(dead_code, reason = "not every test file needs all of it")]

use std::ffi::c_void;

use hip::{Device, DeviceBuffer, DeviceCopy, Stream};
use rocblas_sys::{Table, rocblas_handle, rocblas_status};

pub(crate) const SUCCESS: rocblas_status = rocblas_status::rocblas_status_success;

/// A handle on the device under test: `FERROCM_DEVICE`, else a virtual gfx1100.
pub(crate) struct Blas {
    pub(crate) table: &'static Table,
    pub(crate) handle: rocblas_handle,
    pub(crate) device: Device,
    pub(crate) stream: Stream,
}

impl Blas {
    pub(crate) fn new() -> Self {
        let uri = std::env::var("FERROCM_DEVICE").unwrap_or_else(|_| "vgpu:gfx1100".to_owned());
        let device = Device::open(&uri).unwrap();
        let stream = device.stream().unwrap();
        device.make_current().unwrap();
        let table = blas_on_kernels::table(device.table()).unwrap();
        let mut handle = std::ptr::null_mut();
        // SAFETY: the pointers are valid, and the stream outlives the handle.
        unsafe {
            assert_eq!((table.rocblas_create_handle)(&mut handle), SUCCESS);
            assert_eq!((table.rocblas_set_stream)(handle, stream.as_raw()), SUCCESS);
        }
        Self { table, handle, device, stream }
    }

    pub(crate) fn upload<T: DeviceCopy>(&self, values: &[T]) -> Memory<'_, T> {
        Memory { blas: self, buffer: DeviceBuffer::from_slice(&self.stream, values).unwrap() }
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: the handle is live.
        let status = unsafe { (self.table.rocblas_destroy_handle)(self.handle) };
        if !std::thread::panicking() {
            assert_eq!(status, SUCCESS);
        }
    }
}

/// Device memory.
pub(crate) struct Memory<'a, T: DeviceCopy> {
    blas: &'a Blas,
    buffer: DeviceBuffer<T>,
}

impl<T: DeviceCopy> Memory<'_, T> {
    pub(crate) fn pointer<P>(&self) -> *mut P {
        let address: usize = self.buffer.address().0.try_into().unwrap();
        std::ptr::with_exposed_provenance_mut::<c_void>(address).cast()
    }

    pub(crate) fn read(&self) -> Vec<T> {
        self.buffer.to_vec(&self.blas.stream).unwrap()
    }
}

/// Pseudo-random numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// One of `0..count`.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        (self.next() >> 16) as usize % count
    }

    /// In `-1..1`, a multiple of 2⁻⁸, which every float type here but f16 and bf16 holds, and these after rounding.
    pub(crate) fn number(&mut self) -> f64 {
        (self.below(511) as f64 - 255.0) / 256.0
    }

    pub(crate) fn numbers(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.number()).collect()
    }
}
