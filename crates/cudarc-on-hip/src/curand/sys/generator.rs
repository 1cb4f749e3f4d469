//! Generators: a place in a sequence, on a stream.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hip::Device;

use super::{Outcome, cudaStream_t, curandRngType, curandStatus};
use crate::backend;
use crate::driver::sys::{CUresult, CUstream};
use crate::kernels::{RANDOM, launch};

/// What a `curandGenerator_t` points to.
pub(super) struct Generator {
    device: &'static Device,
    state: Mutex<State>,
}

struct State {
    seed: u64,
    /// The next word of the sequence.
    position: u64,
    stream: CUstream,
}

// SAFETY: CUDA handles may be used on any thread.
unsafe impl Send for State {}

impl Generator {
    /// A generator for the calling thread's device.
    pub(super) fn new(kind: curandRngType) -> Outcome<Self> {
        match kind {
            curandRngType::CURAND_RNG_PSEUDO_DEFAULT
            | curandRngType::CURAND_RNG_PSEUDO_XORWOW
            | curandRngType::CURAND_RNG_PSEUDO_MRG32K3A
            | curandRngType::CURAND_RNG_PSEUDO_MTGP32
            | curandRngType::CURAND_RNG_PSEUDO_MT19937
            | curandRngType::CURAND_RNG_PSEUDO_PHILOX4_32_10 => {}
            _ => return Err(curandStatus::CURAND_STATUS_TYPE_ERROR),
        }
        let (device, _) =
            backend::current().map_err(|_| curandStatus::CURAND_STATUS_INITIALIZATION_FAILED)?;
        let state = State { seed: 0, position: 0, stream: std::ptr::null_mut() };
        Ok(Self { device, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_stream(&self, stream: cudaStream_t) {
        self.state().stream = stream;
    }

    /// Starts another sequence.
    pub(super) fn set_seed(&self, seed: u64) {
        let mut state = self.state();
        (state.seed, state.position) = (seed, 0);
    }

    pub(super) fn set_offset(&self, offset: u64) {
        self.state().position = offset;
    }

    /// Writes numbers of the sequence, and moves on past them.
    ///
    /// # Safety
    /// There must be room for this many numbers on the device, of the type that the kernel writes.
    pub(super) unsafe fn fill<T>(
        &self,
        kernel: &str,
        out: *mut T,
        count: usize,
        mean: f64,
        deviation: f64,
    ) -> Outcome {
        if count == 0 {
            return Ok(());
        }
        let mut state = self.state();
        let words = (size_of::<T>() / size_of::<u32>()) as u64;
        let count = count as u64;
        // Numbers of two words begin at even places.
        let start = state.position.div_ceil(words);
        let end = start.checked_add(count).and_then(|end| end.checked_mul(words));
        let end = end.ok_or(curandStatus::CURAND_STATUS_OUT_OF_RANGE)?;
        let (seed, stream) = (state.seed, state.stream);
        let mut arguments = [
            (&raw const out).cast_mut().cast(),
            (&raw const count).cast_mut().cast(),
            (&raw const seed).cast_mut().cast(),
            (&raw const start).cast_mut().cast(),
            (&raw const mean).cast_mut().cast(),
            (&raw const deviation).cast_mut().cast(),
        ];
        // SAFETY: these are the kernels' arguments, and the caller vouches for the memory.
        unsafe { launch(self.device, &RANDOM, kernel, count, stream, &mut arguments) }.map_err(failure)?;
        state.position = end;
        Ok(())
    }
}

fn failure(code: CUresult) -> curandStatus {
    match code {
        CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU => curandStatus::CURAND_STATUS_ARCH_MISMATCH,
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => curandStatus::CURAND_STATUS_ALLOCATION_FAILED,
        CUresult::CUDA_ERROR_LAUNCH_FAILED | CUresult::CUDA_ERROR_ILLEGAL_ADDRESS => {
            curandStatus::CURAND_STATUS_PREEXISTING_FAILURE
        }
        _ => curandStatus::CURAND_STATUS_LAUNCH_FAILURE,
    }
}
