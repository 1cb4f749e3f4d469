//! Kernels.

use std::ffi::c_int;
use std::sync::Arc;

use super::super::result::{self, DriverError};
use super::super::sys::{self, CUfunc_cache_enum, CUfunction_attribute_enum, CUoccupancy_flags_enum};
use super::{CudaModule, CudaStream, LaunchConfig};

/// A kernel of a module; keeps the module loaded.
#[derive(Debug, Clone)]
pub struct CudaFunction {
    handle: sys::CUfunction,
    module: Arc<CudaModule>,
}

// SAFETY: CUDA handles may be used on any thread.
unsafe impl Send for CudaFunction {}
// SAFETY: as above.
unsafe impl Sync for CudaFunction {}

/// A number as C functions take it; one that is too large exceeds every device anyway.
fn count(number: u32) -> Result<c_int, DriverError> {
    c_int::try_from(number).map_err(|_| DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE))
}

impl CudaFunction {
    pub(super) fn of_parts(handle: sys::CUfunction, module: Arc<CudaModule>) -> Self {
        Self { handle, module }
    }

    /// CUDA's handle, which is valid as long as the module.
    pub fn cu_function(&self) -> sys::CUfunction {
        self.handle
    }

    /// Bytes of shared memory available to each of this many blocks on a multiprocessor.
    pub fn occupancy_available_dynamic_smem_per_block(
        &self,
        num_blocks: u32,
        block_size: u32,
    ) -> Result<usize, DriverError> {
        self.module.context().bind_to_thread()?;
        let (blocks, block) = (count(num_blocks)?, count(block_size)?);
        // SAFETY: the function is loaded.
        unsafe { result::occupancy::available_dynamic_shared_mem_per_block(self.handle, blocks, block) }
    }

    /// The number of blocks that run on a multiprocessor at once.
    pub fn occupancy_max_active_blocks_per_multiprocessor(
        &self,
        block_size: u32,
        dynamic_smem_size: usize,
        flags: Option<CUoccupancy_flags_enum>,
    ) -> Result<u32, DriverError> {
        self.module.context().bind_to_thread()?;
        let flags = flags.unwrap_or(CUoccupancy_flags_enum::CU_OCCUPANCY_DEFAULT) as u32;
        let block = count(block_size)?;
        // SAFETY: the function is loaded.
        let blocks = unsafe {
            result::occupancy::max_active_block_per_multiprocessor_with_flags(
                self.handle,
                block,
                dynamic_smem_size,
                flags,
            )
        }?;
        Ok(blocks.unsigned_abs())
    }

    /// AMD's GPUs have no clusters of blocks, so this returns `CUDA_ERROR_NOT_SUPPORTED`.
    pub fn occupancy_max_active_clusters(
        &self,
        config: LaunchConfig,
        stream: &CudaStream,
    ) -> Result<u32, DriverError> {
        let (config, mut clusters) = (launch_config(config, stream), 0);
        // SAFETY: the function is loaded; the configuration and the result are local variables.
        unsafe {
            sys::cuOccupancyMaxActiveClusters(&raw mut clusters, self.handle, &raw const config).result()?;
        }
        Ok(clusters.unsigned_abs())
    }

    /// The smallest grid that fills the device, and the best block size for it.
    pub fn occupancy_max_potential_block_size(
        &self,
        block_size_to_dynamic_smem_size: extern "C" fn(block_size: c_int) -> usize,
        dynamic_smem_size: usize,
        block_size_limit: u32,
        flags: Option<CUoccupancy_flags_enum>,
    ) -> Result<(u32, u32), DriverError> {
        self.module.context().bind_to_thread()?;
        let flags = flags.unwrap_or(CUoccupancy_flags_enum::CU_OCCUPANCY_DEFAULT) as u32;
        let limit = count(block_size_limit)?;
        // SAFETY: the function is loaded, and the callback may be called with any number.
        let (grid, block) = unsafe {
            result::occupancy::max_potential_block_size_with_flags(
                self.handle,
                Some(block_size_to_dynamic_smem_size),
                dynamic_smem_size,
                limit,
                flags,
            )
        }?;
        Ok((grid.unsigned_abs(), block.unsigned_abs()))
    }

    /// AMD's GPUs have no clusters of blocks, so this returns `CUDA_ERROR_NOT_SUPPORTED`.
    pub fn occupancy_max_potential_cluster_size(
        &self,
        config: LaunchConfig,
        stream: &CudaStream,
    ) -> Result<u32, DriverError> {
        let (config, mut size) = (launch_config(config, stream), 0);
        // SAFETY: the function is loaded; the configuration and the result are local variables.
        unsafe {
            sys::cuOccupancyMaxPotentialClusterSize(&raw mut size, self.handle, &raw const config)
                .result()?;
        }
        Ok(size.unsigned_abs())
    }

    /// An attribute of the kernel.
    pub fn get_attribute(&self, attribute: CUfunction_attribute_enum) -> Result<i32, DriverError> {
        self.module.context().bind_to_thread()?;
        // SAFETY: the function is loaded.
        unsafe { result::function::get_function_attribute(self.handle, attribute) }
    }

    /// Registers of a thread.
    pub fn num_regs(&self) -> Result<i32, DriverError> {
        self.get_attribute(CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_NUM_REGS)
    }

    /// Bytes of shared memory that the code declares.
    pub fn shared_size_bytes(&self) -> Result<i32, DriverError> {
        self.get_attribute(CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
    }

    /// Bytes of constant memory that the code declares.
    pub fn const_size_bytes(&self) -> Result<i32, DriverError> {
        self.get_attribute(CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)
    }

    /// Bytes of local memory of a thread.
    pub fn local_size_bytes(&self) -> Result<i32, DriverError> {
        self.get_attribute(CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
    }

    /// The maximum number of threads of a block.
    pub fn max_threads_per_block(&self) -> Result<i32, DriverError> {
        self.get_attribute(CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
    }

    /// HIP's value for CUDA's version of PTX.
    pub fn ptx_version(&self) -> Result<i32, DriverError> {
        self.get_attribute(CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_PTX_VERSION)
    }

    /// HIP's value for CUDA's version of the machine code.
    pub fn binary_version(&self) -> Result<i32, DriverError> {
        self.get_attribute(CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_BINARY_VERSION)
    }

    /// Sets an attribute of the kernel.
    pub fn set_attribute(&self, attribute: CUfunction_attribute_enum, value: i32) -> Result<(), DriverError> {
        self.module.context().bind_to_thread()?;
        // SAFETY: the function is loaded.
        unsafe { result::function::set_function_attribute(self.handle, attribute, value) }
    }

    /// Divides memory between caches and blocks, if the hardware allows it.
    pub fn set_function_cache_config(&self, attribute: CUfunc_cache_enum) -> Result<(), DriverError> {
        self.module.context().bind_to_thread()?;
        // SAFETY: the function is loaded.
        unsafe { result::function::set_function_cache_config(self.handle, attribute) }
    }
}

fn launch_config(config: LaunchConfig, stream: &CudaStream) -> sys::CUlaunchConfig {
    sys::CUlaunchConfig {
        gridDimX: config.grid_dim.0,
        gridDimY: config.grid_dim.1,
        gridDimZ: config.grid_dim.2,
        blockDimX: config.block_dim.0,
        blockDimY: config.block_dim.1,
        blockDimZ: config.block_dim.2,
        sharedMemBytes: config.shared_mem_bytes,
        hStream: stream.cu_stream(),
        attrs: std::ptr::null_mut(),
        numAttrs: 0,
    }
}
