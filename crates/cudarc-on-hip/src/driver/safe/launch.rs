//! Launching kernels.

use std::ffi::c_void;

use super::super::result::{self, DriverError};
use super::super::sys;
use super::{CudaEvent, CudaFunction, CudaSlice, CudaStream, CudaView, CudaViewMut, DeviceRepr};

/// The number of threads that a kernel runs on.
#[derive(Clone, Copy, Debug)]
pub struct LaunchConfig {
    /// Blocks in x, y and z.
    pub grid_dim: (u32, u32, u32),
    /// Threads of a block in x, y and z.
    pub block_dim: (u32, u32, u32),
    /// Bytes of shared memory of a block, in addition to those that the code declares.
    pub shared_mem_bytes: u32,
}

impl LaunchConfig {
    /// At least this many threads, in blocks of 1024.
    pub fn for_num_elems(n: u32) -> Self {
        const BLOCK: u32 = 1024;
        Self { grid_dim: (n.div_ceil(BLOCK), 1, 1), block_dim: (BLOCK, 1, 1), shared_mem_bytes: 0 }
    }
}

/// A launch: [`arg`](PushKernelArg::arg) adds the kernel's arguments one by one, [`launch`](Self::launch)
/// submits it.
#[derive(Debug)]
pub struct LaunchArgs<'a> {
    pub(super) stream: &'a CudaStream,
    function: &'a CudaFunction,
    /// What must be done before the kernel begins.
    pub(super) waits: Vec<&'a CudaEvent>,
    /// What signals that the kernel is done.
    pub(super) records: Vec<&'a CudaEvent>,
    pub(super) args: Vec<*mut c_void>,
    timed: Option<sys::CUevent_flags>,
}

impl CudaStream {
    /// Starts to build a launch of a kernel on this stream.
    pub fn launch_builder<'a>(&'a self, func: &'a CudaFunction) -> LaunchArgs<'a> {
        let (waits, records, args) = (Vec::new(), Vec::new(), Vec::new());
        LaunchArgs { stream: self, function: func, waits, records, args, timed: None }
    }
}

/// Types that can be arguments of a kernel.
///
/// # Safety
/// The argument must be passed as the kernel expects it, and must live until the launch has been submitted.
pub unsafe trait PushKernelArg<T> {
    /// Adds the kernel's next argument.
    fn arg(&mut self, arg: T) -> &mut Self;
}

impl<'a> LaunchArgs<'a> {
    /// Adds an argument by its address, which is read when the launch is submitted.
    pub(super) fn push<T>(&mut self, place: &'a T) -> &mut Self {
        self.args.push(std::ptr::from_ref(place).cast_mut().cast());
        self
    }
}

// SAFETY: the value is laid out as the kernel's type, and is borrowed until the launch.
unsafe impl<'a, 'b: 'a, T: DeviceRepr> PushKernelArg<&'b T> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, arg: &'b T) -> &mut Self {
        self.push(arg)
    }
}

// SAFETY: the address is a pointer for the kernel, and the memory is borrowed until the launch; its events
// tell when it is used.
unsafe impl<'a, 'b: 'a, T> PushKernelArg<&'b CudaSlice<T>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, arg: &'b CudaSlice<T>) -> &mut Self {
        self.reads(&arg.uses);
        self.push(&arg.address)
    }
}

// SAFETY: as above.
unsafe impl<'a, 'b: 'a, T> PushKernelArg<&'b mut CudaSlice<T>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, arg: &'b mut CudaSlice<T>) -> &mut Self {
        self.writes(&arg.uses);
        self.push(&arg.address)
    }
}

// SAFETY: as above.
unsafe impl<'a, 'b: 'a, 'c: 'b, T> PushKernelArg<&'b CudaView<'c, T>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, arg: &'b CudaView<'c, T>) -> &mut Self {
        self.reads(arg.span.uses);
        self.push(&arg.span.address)
    }
}

// SAFETY: as above.
unsafe impl<'a, 'b: 'a, 'c: 'b, T> PushKernelArg<&'b mut CudaViewMut<'c, T>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, arg: &'b mut CudaViewMut<'c, T>) -> &mut Self {
        self.writes(arg.span.uses);
        self.push(&arg.span.address)
    }
}

impl<'a> LaunchArgs<'a> {
    fn reads(&mut self, uses: &'a super::uses::Uses) {
        let context = self.stream.context();
        self.waits.extend(uses.before_read(context));
        if context.is_managing_stream_synchronization() {
            self.records.extend(&uses.read);
        }
    }

    fn writes(&mut self, uses: &'a super::uses::Uses) {
        let context = self.stream.context();
        self.waits.extend(uses.before_write(context));
        if context.is_managing_stream_synchronization() {
            self.records.extend(&uses.write);
        }
    }
}

/// The functions of `result` that launch.
type Submit = unsafe fn(
    sys::CUfunction,
    (u32, u32, u32),
    (u32, u32, u32),
    u32,
    sys::CUstream,
    &mut [*mut c_void],
) -> Result<(), DriverError>;

impl LaunchArgs<'_> {
    /// Makes the launch return two events, before and after the kernel.
    pub fn record_kernel_launch(&mut self, flags: sys::CUevent_flags) -> &mut Self {
        self.timed = Some(flags);
        self
    }

    /// Submits the launch.
    ///
    /// The stream waits for earlier uses of the memory among the arguments, and later uses wait for the
    /// kernel.
    ///
    /// # Safety
    /// The arguments must match the kernel's in number and type. The kernel must stay within the memory
    /// passed to it, must not write memory passed by `&`, and must not use other memory that is in use at the
    /// same time.
    #[inline(always)]
    pub unsafe fn launch(
        &mut self,
        cfg: LaunchConfig,
    ) -> Result<Option<(CudaEvent, CudaEvent)>, DriverError> {
        // SAFETY: the caller vouches for it.
        unsafe { self.submit(cfg, result::launch_kernel) }
    }

    /// Submits a launch whose blocks may wait for each other.
    ///
    /// # Safety
    /// As [`launch`](Self::launch).
    #[inline(always)]
    pub unsafe fn launch_cooperative(
        &mut self,
        cfg: LaunchConfig,
    ) -> Result<Option<(CudaEvent, CudaEvent)>, DriverError> {
        // SAFETY: the caller vouches for it.
        unsafe { self.submit(cfg, result::launch_cooperative_kernel) }
    }

    /// # Safety
    /// As [`launch`](Self::launch).
    unsafe fn submit(
        &mut self,
        config: LaunchConfig,
        submit: Submit,
    ) -> Result<Option<(CudaEvent, CudaEvent)>, DriverError> {
        let stream = self.stream;
        stream.context().bind_to_thread()?;
        for event in &self.waits {
            stream.wait(event)?;
        }
        let record = || self.timed.map(|flags| stream.record_event(Some(flags))).transpose();
        let before = record()?;
        let LaunchConfig { grid_dim, block_dim, shared_mem_bytes } = config;
        let function = self.function.cu_function();
        // SAFETY: the function is loaded, the arguments are borrowed, and the caller vouches for them.
        unsafe {
            submit(function, grid_dim, block_dim, shared_mem_bytes, stream.cu_stream(), &mut self.args)?;
        }
        let after = self.timed.map(|flags| stream.record_event(Some(flags))).transpose()?;
        for event in &self.records {
            event.record(stream)?;
        }
        Ok(before.zip(after))
    }
}
