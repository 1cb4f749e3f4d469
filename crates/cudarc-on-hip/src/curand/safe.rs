//! Random numbers on a stream.

use std::sync::Arc;

use super::result::{self, CurandError, LogNormalFill, NormalFill, UniformFill};
use super::sys;
use crate::driver::{CudaStream, DevicePtrMut};

/// Random numbers that a stream writes.
pub struct CudaRng {
    generator: sys::curandGenerator_t,
    stream: Arc<CudaStream>,
}

impl CudaRng {
    /// The sequence of a seed, for a stream and its device.
    pub fn new(seed: u64, stream: Arc<CudaStream>) -> Result<Self, CurandError> {
        let context = stream.context();
        context.record_err(context.bind_to_thread());
        let mut rng = Self { generator: result::create_generator()?, stream };
        // SAFETY: both live, and are of one device.
        unsafe { result::set_stream(rng.generator, rng.stream.cu_stream())? };
        rng.set_seed(seed)?;
        Ok(rng)
    }

    /// From now on, submits to another stream of the same device.
    ///
    /// # Safety
    /// It must belong to the same device.
    pub unsafe fn set_stream(&mut self, stream: Arc<CudaStream>) -> Result<(), CurandError> {
        // SAFETY: both live, and the caller vouches for the device.
        unsafe { result::set_stream(self.generator, stream.cu_stream())? };
        self.stream = stream;
        Ok(())
    }

    /// Starts another sequence.
    pub fn set_seed(&mut self, seed: u64) -> Result<(), CurandError> {
        // SAFETY: the generator lives.
        unsafe { result::set_seed(self.generator, seed) }
    }

    /// Moves to a place of the sequence.
    pub fn set_offset(&mut self, offset: u64) -> Result<(), CurandError> {
        // SAFETY: the generator lives.
        unsafe { result::set_offset(self.generator, offset) }
    }

    /// Writes numbers above 0 and up to 1; for integers, random bits.
    pub fn fill_with_uniform<T, Dst: DevicePtrMut<T>>(&self, dst: &mut Dst) -> Result<(), CurandError>
    where
        sys::curandGenerator_t: UniformFill<T>,
    {
        let count = dst.len();
        let (place, _written) = dst.device_ptr_mut(&self.stream);
        // SAFETY: the generator lives, there is room for this many numbers, and the stream waits for other
        // uses of the memory.
        unsafe { UniformFill::fill(self.generator, place as *mut T, count) }
    }

    /// Writes normally distributed numbers.
    pub fn fill_with_normal<T, Dst: DevicePtrMut<T>>(
        &self,
        dst: &mut Dst,
        mean: T,
        std: T,
    ) -> Result<(), CurandError>
    where
        sys::curandGenerator_t: NormalFill<T>,
    {
        let count = dst.len();
        let (place, _written) = dst.device_ptr_mut(&self.stream);
        // SAFETY: the generator lives, there is room for this many numbers, and the stream waits for other
        // uses of the memory.
        unsafe { NormalFill::fill(self.generator, place as *mut T, count, mean, std) }
    }

    /// Writes numbers with normally distributed logarithms.
    pub fn fill_with_log_normal<T, Dst: DevicePtrMut<T>>(
        &self,
        dst: &mut Dst,
        mean: T,
        std: T,
    ) -> Result<(), CurandError>
    where
        sys::curandGenerator_t: LogNormalFill<T>,
    {
        let count = dst.len();
        let (place, _written) = dst.device_ptr_mut(&self.stream);
        // SAFETY: the generator lives, there is room for this many numbers, and the stream waits for other
        // uses of the memory.
        unsafe { LogNormalFill::fill(self.generator, place as *mut T, count, mean, std) }
    }
}

impl Drop for CudaRng {
    fn drop(&mut self) {
        // SAFETY: the generator was created for this object, and is destroyed once.
        if let Err(error) = unsafe { result::destroy_generator(self.generator) } {
            tracing::error!(%error, "a generator of cuRAND did not end");
        }
    }
}
