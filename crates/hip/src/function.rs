//! Kernels of loaded modules: parameters, resources, occupancy and launches.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hip_sys::{LaunchOverlapping, hipFuncAttribute, hipFunction_attribute, hipFunction_t};

use crate::call::{call, check, shown};
use crate::device::{Device, Properties};
use crate::error::Result;
use crate::kernel_info::{FunctionAttributes, KernelInfo};
use crate::launch::{Check, Launch, LaunchConfig, LaunchError, Layout, Limits, Parameter};
use crate::memory::Allocation;
use crate::module::Module;
use crate::stream::Stream;

/// A kernel in a module, which this handle keeps loaded.
///
/// Cheap to clone.
#[doc(alias = "hipFunction_t")]
#[doc(alias = "CudaFunction")]
#[derive(Clone)]
pub struct Function {
    module: Module,
    kernel: Arc<Kernel>,
}

/// A kernel's properties. Valid as long as its module is loaded.
pub(crate) struct Kernel {
    handle: hipFunction_t,
    /// How it is launched, if it waits itself for the kernel in front of it.
    overlapping: Option<LaunchOverlapping>,
    name: String,
    parameters: Vec<Parameter>,
    layout: Layout,
    attributes: FunctionAttributes,
    limits: Limits,
    /// The limit of dynamic LDS that the program has set, bytes.
    max_dynamic_lds: AtomicU32,
}

// SAFETY: HIP's function handles may be used by any thread.
unsafe impl Send for Kernel {}
// SAFETY: several threads may launch a function at once, on any streams.
unsafe impl Sync for Kernel {}

impl Kernel {
    pub(crate) fn new(
        info: KernelInfo,
        handle: hipFunction_t,
        overlapping: Option<LaunchOverlapping>,
        properties: &Properties,
    ) -> Self {
        let KernelInfo { name, parameters, attributes } = info;
        let limits = Limits {
            kernel_threads: attributes.max_block_threads,
            required_block: attributes.required_block,
            kernel_lds: attributes.lds,
            kernel_wave: attributes.wave_size,
            device_threads: properties.max_block_threads,
            device_block: properties.max_block,
            device_grid: properties.max_grid,
            device_lds: properties.lds_per_block,
            device_wave: properties.wave_size,
        };
        Self {
            handle,
            overlapping,
            name,
            layout: Layout::of(&parameters),
            parameters,
            attributes,
            limits,
            max_dynamic_lds: AtomicU32::new(u32::MAX),
        }
    }

    pub(crate) fn handle(&self) -> hipFunction_t {
        self.handle
    }
}

/// A block size that keeps a device as full as the kernel allows; see [`Function::suggest_block`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuggestedBlock {
    /// Work-items of a block.
    pub block: u32,
    /// How many such blocks the whole device holds at once.
    pub grid: u32,
}

impl Function {
    pub(crate) fn new(module: Module, kernel: Arc<Kernel>) -> Self {
        Self { module, kernel }
    }

    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.kernel.name
    }

    /// The module that it belongs to.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// The device that it is loaded on.
    pub fn device(&self) -> &Device {
        self.module.device()
    }

    /// The parameters, in order. Names, types and access are `None` if the code object does not record them.
    pub fn parameters(&self) -> &[Parameter] {
        &self.kernel.parameters
    }

    #[inline]
    pub(crate) fn layout(&self) -> &Layout {
        &self.kernel.layout
    }

    /// The resources that it needs: registers, LDS, scratch, wave size, block limits.
    pub fn attributes(&self) -> FunctionAttributes {
        self.kernel.attributes
    }

    /// A property of the kernel from HIP (`hipFuncGetAttribute`), for those that
    /// [`attributes`](Self::attributes) lacks.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip), with `hipErrorInvalidValue` for an attribute that the library does
    /// not know.
    #[doc(alias = "hipFuncGetAttribute")]
    #[doc(alias = "cuFuncGetAttribute")]
    pub fn attribute(&self, attribute: hipFunction_attribute) -> Result<i32> {
        self.device().make_current()?;
        let mut value = 0;
        // SAFETY: the function is loaded, and the value is a place to write to.
        unsafe {
            call!(self.device().table(), hipFuncGetAttribute(&raw mut value, attribute, self.kernel.handle))?;
        }
        Ok(value)
    }

    /// How many bytes of dynamic LDS a launch may request: the device's limit less the kernel's own LDS, or
    /// the lower limit set with [`set_max_dynamic_lds`](Self::set_max_dynamic_lds).
    pub fn max_dynamic_lds(&self) -> u32 {
        let room = self.kernel.limits.device_lds.saturating_sub(self.kernel.limits.kernel_lds);
        room.min(self.kernel.max_dynamic_lds.load(Ordering::Relaxed))
    }

    /// Limits the dynamic LDS of launches, in bytes (`hipFuncSetAttribute`). All handles of the kernel share
    /// the limit.
    ///
    /// On NVIDIA's devices, a kernel gets more than 48 KiB only after this call. AMD's devices do not need
    /// it.
    ///
    /// # Errors
    /// [`LaunchError::LdsTooLarge`] if the device has less, else [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "hipFuncSetAttribute")]
    #[doc(alias = "cuFuncSetAttribute")]
    #[doc(alias = "cudaFuncSetAttribute")]
    pub fn set_max_dynamic_lds(&self, bytes: u32) -> Result<()> {
        self.kernel.limits.check_lds(&self.kernel.name, bytes)?;
        let value = i32::try_from(bytes).unwrap_or(i32::MAX);
        self.set_attribute(hipFuncAttribute::hipFuncAttributeMaxDynamicSharedMemorySize, value)?;
        self.kernel.max_dynamic_lds.store(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Advises how many percent of a compute unit's cache and LDS should be LDS; `None` leaves it to the
    /// library (`hipFuncSetAttribute`). AMD's devices ignore it, because their LDS is separate from their
    /// caches.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip), also for more than 100 percent where the library checks that.
    pub fn set_lds_carveout(&self, percent: Option<u8>) -> Result<()> {
        let value = percent.map_or(-1, i32::from);
        self.set_attribute(hipFuncAttribute::hipFuncAttributePreferredSharedMemoryCarveout, value)
    }

    fn set_attribute(&self, attribute: hipFuncAttribute, value: i32) -> Result<()> {
        self.device().make_current()?;
        // SAFETY: the function is loaded; HIP accepts its handle in place of the address.
        unsafe {
            call!(
                self.device().table(),
                hipFuncSetAttribute(self.kernel.handle.cast_const().cast(), attribute, value)
            )
        }
    }

    /// How many blocks of `block` work-items with `dynamic_lds` bytes of dynamic LDS a compute unit holds at
    /// once; 0 if none fits (`hipModuleOccupancyMaxActiveBlocksPerMultiprocessor`).
    ///
    /// A compute unit is one of [`Properties::compute_units`](crate::Properties::compute_units).
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip), with `hipErrorInvalidValue` for a block of 0 work-items.
    #[doc(alias = "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor")]
    #[doc(alias = "cuOccupancyMaxActiveBlocksPerMultiprocessor")]
    pub fn max_active_blocks(&self, block: u32, dynamic_lds: u32) -> Result<u32> {
        self.device().make_current()?;
        let mut blocks = 0;
        let block = i32::try_from(block).unwrap_or(i32::MAX);
        // SAFETY: the function is loaded, and the result is a place to write to.
        unsafe {
            call!(
                self.device().table(),
                hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
                    &raw mut blocks,
                    self.kernel.handle,
                    block,
                    dynamic_lds as usize,
                )
            )?;
        }
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    /// The block size, at most `limit` work-items, that puts the most work-items on the device at once, if
    /// each block has `dynamic_lds` bytes of dynamic LDS (`hipModuleOccupancyMaxPotentialBlockSize`).
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "hipModuleOccupancyMaxPotentialBlockSize")]
    #[doc(alias = "cuOccupancyMaxPotentialBlockSize")]
    pub fn suggest_block(&self, dynamic_lds: u32, limit: Option<u32>) -> Result<SuggestedBlock> {
        self.device().make_current()?;
        let (mut grid, mut block) = (0, 0);
        // AMD's library does not know the kernel's own limit, so pass it. In HIP, 0 means no limit; here, a
        // limit of 0 means the smallest block.
        let own = Some(self.kernel.limits.kernel_threads).filter(|own| *own != 0);
        let limit = limit.into_iter().chain(own).min();
        let limit = limit.map_or(0, |limit| i32::try_from(limit.max(1)).unwrap_or(i32::MAX));
        // SAFETY: the function is loaded, and both results are places to write to.
        unsafe {
            call!(
                self.device().table(),
                hipModuleOccupancyMaxPotentialBlockSize(
                    &raw mut grid,
                    &raw mut block,
                    self.kernel.handle,
                    dynamic_lds as usize,
                    limit,
                )
            )?;
        }
        let number = |value| u32::try_from(value).unwrap_or(0);
        Ok(SuggestedBlock { block: number(block), grid: number(grid) })
    }

    /// Starts a launch on `stream`; [`Launch`] completes it.
    #[inline]
    pub fn launch<'a>(&'a self, stream: &'a Stream) -> Launch<'a> {
        Launch::new(self, stream)
    }

    /// Enqueues the kernel without checks (`hipModuleLaunchKernel`, `hipModuleLaunchCooperativeKernel`).
    ///
    /// For callers that have already checked and count nanoseconds. It does not know the buffers, so it
    /// neither orders streams nor keeps memory alive.
    ///
    /// # Errors
    /// [`Error::Fault`](crate::Error::Fault) if the stream has faulted, else
    /// [`Error::Hip`](crate::Error::Hip).
    ///
    /// # Safety
    /// The stream belongs to the function's device. `arguments` holds one pointer for each of the kernel's
    /// [`parameters`](Self::parameters), to a readable value of that parameter's size. All conditions of
    /// [`Launch::enqueue`] hold, for all memory that the kernel reaches. The sizes are within the limits of
    /// kernel and device.
    #[inline]
    pub unsafe fn launch_unchecked(
        &self,
        stream: &Stream,
        config: &LaunchConfig,
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        // SAFETY: the caller vouches for it.
        unsafe { self.submit(stream, config, arguments) }
    }

    /// The last step of every launch.
    ///
    /// # Safety
    /// As for [`launch_unchecked`](Self::launch_unchecked).
    #[inline(always)]
    unsafe fn submit(
        &self,
        stream: &Stream,
        config: &LaunchConfig,
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        stream.make_current_or_capture()?;
        self.module.used_on(stream)?;
        let ([gx, gy, gz], [bx, by, bz]) = (config.grid.0, config.block.0);
        let (table, lds, queue) = (stream.table(), config.dynamic_lds, stream.handle());
        let (function, arguments) = (self.kernel.handle, arguments.as_mut_ptr());
        // SAFETY: the function is loaded, the stream valid, and the caller vouches for the rest.
        stream.check(unsafe {
            if config.cooperative {
                call!(
                    table,
                    hipModuleLaunchCooperativeKernel(function, gx, gy, gz, bx, by, bz, lds, queue, arguments)
                )
            } else if let Some(launch) = self.kernel.overlapping {
                let operation = "hipModuleLaunchKernel";
                let _slice = shown(table.ext.records_calls, operation);
                check(operation, launch(function, gx, gy, gz, bx, by, bz, lds, queue, arguments))
            } else {
                let none = std::ptr::null_mut();
                call!(
                    table,
                    hipModuleLaunchKernel(function, gx, gy, gz, bx, by, bz, lds, queue, arguments, none)
                )
            }
        })
    }

    /// Orders the stream after earlier work on the used memory, and enqueues the kernel.
    ///
    /// # Safety
    /// As for [`launch_unchecked`](Self::launch_unchecked).
    #[inline]
    pub(crate) unsafe fn enqueue<'m>(
        &self,
        stream: &Stream,
        config: &LaunchConfig,
        used: impl Iterator<Item = (&'m Arc<Allocation>, bool)> + Clone,
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        if stream.capture().is_some() {
            // Check first: work that the capture refuses must not count as a use by the graph.
            stream.make_current_or_capture()?;
            used.clone().try_for_each(|(allocation, _)| allocation.lasts_beyond_graphs())?;
        }
        for (allocation, written) in used {
            if written { allocation.update_on(stream)? } else { allocation.read_on(stream)? }
        }
        // SAFETY: the caller vouches for it.
        unsafe { self.submit(stream, config, arguments) }
    }

    /// The raw handle, for calls that this crate does not wrap; valid as long as this function.
    pub fn as_raw(&self) -> hipFunction_t {
        self.kernel.handle
    }

    /// Whether the stream belongs to the kernel's device.
    #[inline]
    pub(crate) fn check_stream(&self, stream: &Stream) -> Result<(), LaunchError> {
        if stream.device() == self.device() { Ok(()) } else { Err(self.other_stream(stream)) }
    }

    #[cold]
    fn other_stream(&self, stream: &Stream) -> LaunchError {
        let (expected, got) = self.device().names_beside(stream.device());
        LaunchError::OtherStream { kernel: self.kernel.name.clone(), expected, got }
    }

    #[inline]
    pub(crate) fn check(&self) -> Check<'_> {
        let Kernel { name, parameters, layout, .. } = &*self.kernel;
        Check { kernel: name, device: self.device(), parameters, layout }
    }

    /// Whether the sizes are within the limits of kernel and device.
    #[inline]
    pub(crate) fn check_config(&self, config: &LaunchConfig) -> Result<()> {
        let limit = self.kernel.max_dynamic_lds.load(Ordering::Relaxed);
        if self.kernel.limits.fit(config) && config.dynamic_lds <= limit && !config.cooperative {
            return Ok(());
        }
        self.explain_config(config, limit)
    }

    #[cold]
    fn explain_config(&self, config: &LaunchConfig, limit: u32) -> Result<()> {
        let Kernel { name, limits, .. } = &*self.kernel;
        limits.check(name, config)?;
        if config.dynamic_lds > limit {
            let (kernel, dynamic) = (name.clone(), config.dynamic_lds);
            return Err(LaunchError::DynamicLdsTooLarge { kernel, dynamic, limit }.into());
        }
        if config.cooperative { self.check_cooperative(config) } else { Ok(()) }
    }

    /// Whether all blocks fit on the device at once. The sizes are within the other limits.
    #[cold]
    fn check_cooperative(&self, config: &LaunchConfig) -> Result<()> {
        let (grid, block) = (config.grid.0, config.block.0);
        let count =
            |size: [u32; 3]| size.iter().fold(1_u64, |product, n| product.saturating_mul(u64::from(*n)));
        let work_items = u32::try_from(count(block)).unwrap_or(u32::MAX);
        let per_unit = self.max_active_blocks(work_items, config.dynamic_lds)?;
        let fit = u64::from(per_unit) * u64::from(self.device().properties().compute_units);
        let blocks = count(grid);
        if blocks <= fit {
            return Ok(());
        }
        let (kernel, dynamic_lds) = (self.kernel.name.clone(), config.dynamic_lds);
        Err(LaunchError::CooperativeTooLarge { kernel, blocks, fit, block, dynamic_lds }.into())
    }
}

/// The kernel's name and parameters.
impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), crate::launch::signature(self.parameters()))
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function")
            .field("name", &self.kernel.name)
            .field("parameters", &self.kernel.parameters)
            .field("attributes", &self.kernel.attributes)
            .field("module", &self.module)
            .finish()
    }
}
