//! Host memory through which copies of pageable memory go.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use super::Gpu;
use crate::error::Result;
use crate::runtime::{Runtime, runtime};

/// Bytes of a staging buffer.
pub(crate) const STAGING_BYTES: usize = 1 << 20;
/// Staging buffers that a device keeps for the next copies.
const STAGING_KEEP: usize = 8;

/// Host memory through which a device's copies of pageable memory go.
#[derive(Default)]
pub(crate) struct StagingBuffers {
    free: Mutex<Vec<usize>>,
}

/// One staging buffer, returned on drop. Code that drops it must have waited for the copies that use it.
pub(crate) struct Staging {
    gpu: &'static Gpu,
    address: usize,
}

impl Staging {
    pub(crate) fn new(runtime: &Runtime, gpu: &'static Gpu) -> Result<Self> {
        let free = gpu.staging.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let address = match free {
            Some(address) => address,
            None => {
                let pointer = runtime.hsa.allocate(runtime.host_pool, STAGING_BYTES)?;
                if let Err(code) = runtime.hsa.allow_access(&[gpu.agent], pointer) {
                    // SAFETY: the memory was just allocated.
                    let _ = unsafe { runtime.hsa.free(pointer) };
                    return Err(code);
                }
                pointer as usize
            }
        };
        Ok(Self { gpu, address })
    }

    pub(crate) fn pointer(&self) -> *mut u8 {
        self.address as *mut u8
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let mut free = self.gpu.staging.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < STAGING_KEEP {
            free.push(self.address);
        } else if let Some(runtime) = runtime() {
            drop(free);
            // SAFETY: the buffer came from the host pool and no copy uses it any more.
            let _ = unsafe { runtime.hsa.free(self.address as *mut c_void) };
        }
    }
}
