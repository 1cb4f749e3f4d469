//! Raw calls with checks of their status, as in a careful C program.

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

use anyhow::{Result, anyhow, bail};
use hip::hip_sys::{
    self, Table, hipError_t, hipEvent_t, hipFunction_t, hipMemcpyKind, hipModule_t, hipStream_t,
};
use hip::{Device, DeviceBuffer, GraphExec, HostBuffer, Module, Stream};

use crate::modules;

/// An error unless the status is success.
#[inline]
fn check(status: hipError_t) -> Result<()> {
    if status == hipError_t::hipSuccess { Ok(()) } else { failed(status) }
}

#[cold]
fn failed(status: hipError_t) -> Result<()> {
    bail!("a raw call failed: {status:?}")
}

/// An operation, done the given number of times.
pub(crate) struct Operation<'a> {
    pub(crate) name: String,
    /// It takes about as long as this many others, so a batch has fewer of them.
    pub(crate) size: usize,
    pub(crate) run: Box<dyn FnMut(usize) -> Result<()> + 'a>,
}

impl<'a> Operation<'a> {
    pub(crate) fn new(
        name: impl Into<String>,
        size: usize,
        mut once: impl FnMut() -> Result<()> + 'a,
    ) -> Self {
        let run = Box::new(move |count| (0..count).try_for_each(|_| once()));
        Self { name: name.into(), size, run }
    }
}

/// Sizes of copies, and [`Operation::size`].
pub(crate) const COPIES: [(usize, &str, usize); 2] = [(4 << 10, "4 KiB", 1), (1 << 20, "1 MiB", 10)];
/// Sizes of allocations.
pub(crate) const ALLOCATIONS: [(usize, &str); 2] = [(4 << 10, "4 KiB"), (16 << 20, "16 MiB")];
/// Elements of each array.
pub(crate) const N: usize = 256;
/// Kernels of one graph.
pub(crate) const NODES: usize = 20;

/// A HIP library on a device, and a stream of that device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw<'a> {
    pub(crate) device: &'a Device,
    pub(crate) stream: &'a Stream,
    table: &'static Table,
    handle: hipStream_t,
}

impl<'a> Raw<'a> {
    pub(crate) fn new(device: &'a Device, stream: &'a Stream) -> Self {
        Self { device, stream, table: device.table(), handle: stream.as_raw() }
    }

    /// Every operation.
    pub(crate) fn operations(self) -> Result<Vec<Operation<'a>>> {
        let mut all = vec![self.launch_nothing()?, self.launch_saxpy()?, self.launch_and_wait()?];
        for (size, label, part) in COPIES {
            all.push(self.copy_to_device(size, label, part)?);
            all.push(self.copy_to_host(size, label, part)?);
            all.push(self.copy_pinned(size, label, part)?);
        }
        for (size, label) in ALLOCATIONS {
            all.push(self.allocate(size, label));
        }
        all.extend([self.record()?, self.record_and_wait()?, self.launch_graph()?]);
        Ok(all)
    }

    pub(crate) fn launch_nothing(self) -> Result<Operation<'a>> {
        let kernel = Kernel::load(self, c"nothing")?;
        Ok(Operation::new("launch, no arguments", 1, move || {
            // SAFETY: the kernel takes no arguments.
            unsafe { kernel.launch(64, null_mut()) }
        }))
    }

    pub(crate) fn launch_saxpy(self) -> Result<Operation<'a>> {
        let kernel = Kernel::load(self, c"saxpy")?;
        let (x, y) = (Memory::new(self.table, 4 * N)?, Memory::new(self.table, 4 * N)?);
        Ok(Operation::new("launch, four arguments", 1, move || {
            let (mut n, mut a, mut x, mut y) = (N as u32, 2.0_f32, x.pointer(), y.pointer());
            let mut arguments: [*mut c_void; 4] =
                [(&raw mut n).cast(), (&raw mut a).cast(), (&raw mut x).cast(), (&raw mut y).cast()];
            // SAFETY: there is a pointer for each argument, and both arrays have N elements.
            unsafe { kernel.launch(N as u32, arguments.as_mut_ptr()) }
        }))
    }

    pub(crate) fn launch_and_wait(self) -> Result<Operation<'a>> {
        let kernel = Kernel::load(self, c"nothing")?;
        Ok(Operation::new("launch, no arguments, and wait", 10, move || {
            // SAFETY: the kernel takes no arguments.
            unsafe { kernel.launch(64, null_mut())? };
            self.wait()
        }))
    }

    pub(crate) fn copy_to_device(self, size: usize, label: &str, part: usize) -> Result<Operation<'a>> {
        let (to, from) = (Memory::new(self.table, size)?, vec![1_u8; size]);
        Ok(Operation::new(format!("copy to device, {label}, blocking"), part, move || {
            // SAFETY: both sides have that many bytes, and the wait follows.
            unsafe {
                self.copy(to.pointer(), from.as_ptr().cast(), size, hipMemcpyKind::hipMemcpyHostToDevice)?;
            }
            self.wait()
        }))
    }

    pub(crate) fn copy_to_host(self, size: usize, label: &str, part: usize) -> Result<Operation<'a>> {
        let (from, mut to) = (Memory::new(self.table, size)?, vec![1_u8; size]);
        Ok(Operation::new(format!("copy to host, {label}, blocking"), part, move || {
            // SAFETY: both sides have that many bytes, and the wait follows.
            unsafe {
                self.copy(
                    to.as_mut_ptr().cast(),
                    from.pointer(),
                    size,
                    hipMemcpyKind::hipMemcpyDeviceToHost,
                )?;
            }
            self.wait()
        }))
    }

    pub(crate) fn copy_pinned(self, size: usize, label: &str, part: usize) -> Result<Operation<'a>> {
        let to = Memory::new(self.table, size)?;
        let from = HostBuffer::<u8>::zeroed(self.device, size)?;
        Ok(Operation::new(format!("copy to device, {label}, pinned, owned"), part, move || {
            // SAFETY: both sides have that many bytes; the event marks when the memory is free again.
            unsafe {
                self.copy(to.pointer(), from.as_ptr().cast(), size, hipMemcpyKind::hipMemcpyHostToDevice)?;
            }
            let event = RawEvent::new(self.table, hip_sys::hipEventDisableTiming)?;
            event.record(self.handle)?;
            event.wait()
        }))
    }

    pub(crate) fn allocate(self, size: usize, label: &str) -> Operation<'a> {
        Operation::new(format!("allocate and free, {label}"), 1, move || {
            Memory::new(self.table, size).map(drop)
        })
    }

    pub(crate) fn record(self) -> Result<Operation<'a>> {
        let event = RawEvent::new(self.table, hip_sys::hipEventDefault)?;
        Ok(Operation::new("record an event", 1, move || event.record(self.handle)))
    }

    pub(crate) fn record_and_wait(self) -> Result<Operation<'a>> {
        let event = RawEvent::new(self.table, hip_sys::hipEventDefault)?;
        Ok(Operation::new("record an event and wait for it", 1, move || {
            event.record(self.handle)?;
            event.wait()
        }))
    }

    pub(crate) fn launch_graph(self) -> Result<Operation<'a>> {
        let graph = Kernels::new(self.device, self.stream)?.graph(self.device)?;
        Ok(Operation::new(format!("launch a graph of {NODES} kernels"), NODES, move || {
            // SAFETY: both handles are valid, and everything that the graph uses is still alive.
            check(unsafe { (self.table.hipGraphLaunch)(graph.as_raw(), self.handle) })
        }))
    }

    /// # Safety
    /// Both sides must have that many bytes until the copy is done.
    unsafe fn copy(
        self,
        to: *mut c_void,
        from: *const c_void,
        size: usize,
        kind: hipMemcpyKind,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        check(unsafe { (self.table.hipMemcpyAsync)(to, from, size, kind, self.handle) })
    }

    fn wait(self) -> Result<()> {
        // SAFETY: the stream is valid.
        check(unsafe { (self.table.hipStreamSynchronize)(self.handle) })
    }
}

/// Kernels one after the other, which `hip` enqueues.
pub(crate) struct Kernels {
    saxpy: hip::Function,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
}

impl Kernels {
    pub(crate) fn new(device: &Device, stream: &Stream) -> Result<Self> {
        let saxpy = Module::load_embedded(device, &modules::CALLS)?.function("saxpy")?;
        let (x, y) = (DeviceBuffer::zeroed(stream, N)?, DeviceBuffer::zeroed(stream, N)?);
        Ok(Self { saxpy, x, y })
    }

    /// Enqueues [`NODES`] kernels.
    pub(crate) fn enqueue(&mut self, stream: &Stream) -> hip::Result<()> {
        for _ in 0..NODES {
            let launch = self.saxpy.launch(stream).elements(N, N as u32);
            let launch = launch.arg(N as u32).arg(2.0_f32).arg(&self.x).arg(&mut self.y);
            // SAFETY: both arrays have N elements.
            unsafe { launch.enqueue()? };
        }
        Ok(())
    }

    /// The same as a graph, which keeps everything that it uses alive.
    pub(crate) fn graph(mut self, device: &Device) -> Result<GraphExec> {
        Ok(device.capture(|stream| self.enqueue(stream))?.instantiate()?)
    }
}

/// A kernel as a C program obtains it.
struct Kernel<'a> {
    raw: Raw<'a>,
    module: hipModule_t,
    function: hipFunction_t,
    /// HIP may refer to the image while the module is loaded.
    _image: Vec<u8>,
}

impl<'a> Kernel<'a> {
    fn load(raw: Raw<'a>, name: &CStr) -> Result<Self> {
        let object = modules::CALLS.for_device(raw.device.target());
        let object = object.ok_or_else(|| anyhow!("no code for {}; set FERROCM_TARGETS", raw.device))?;
        let image = object.code()?.into_owned();
        raw.device.make_current()?;
        let (mut module, mut function) = (null_mut(), null_mut());
        // SAFETY: the image is a code object and does not move, and the results are writable.
        unsafe {
            check((raw.table.hipModuleLoadData)(&raw mut module, image.as_ptr().cast()))?;
            check((raw.table.hipModuleGetFunction)(&raw mut function, module, name.as_ptr()))?;
        }
        Ok(Self { raw, module, function, _image: image })
    }

    /// # Safety
    /// The pointers must lead to all of the kernel's arguments.
    #[inline]
    unsafe fn launch(&self, workgroup: u32, arguments: *mut *mut c_void) -> Result<()> {
        // SAFETY: the function is loaded; the rest is the caller's promise.
        check(unsafe {
            (self.raw.table.hipModuleLaunchKernel)(
                self.function,
                1,
                1,
                1,
                workgroup,
                1,
                1,
                0,
                self.raw.handle,
                arguments,
                null_mut(),
            )
        })
    }
}

impl Drop for Kernel<'_> {
    fn drop(&mut self) {
        // SAFETY: the module was loaded, and the stream is idle after each batch.
        report(check(unsafe { (self.raw.table.hipModuleUnload)(self.module) }));
    }
}

/// Device memory of a C program.
struct Memory {
    table: &'static Table,
    pointer: *mut c_void,
}

impl Memory {
    /// `hipMalloc`, on the current device.
    fn new(table: &'static Table, bytes: usize) -> Result<Self> {
        let mut pointer = null_mut();
        // SAFETY: the result is writable.
        check(unsafe { (table.hipMalloc)(&raw mut pointer, bytes) })?;
        Ok(Self { table, pointer })
    }

    /// A method, so that closures capture the memory and not a copy of its address.
    fn pointer(&self) -> *mut c_void {
        self.pointer
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the memory is from `hipMalloc` and is freed once; all users of it have waited.
        report(check(unsafe { (self.table.hipFree)(self.pointer) }));
    }
}

/// An event of a C program.
struct RawEvent {
    table: &'static Table,
    event: hipEvent_t,
}

impl RawEvent {
    fn new(table: &'static Table, flags: u32) -> Result<Self> {
        let mut event = null_mut();
        // SAFETY: the result is writable.
        check(unsafe { (table.hipEventCreateWithFlags)(&raw mut event, flags) })?;
        Ok(Self { table, event })
    }

    fn record(&self, stream: hipStream_t) -> Result<()> {
        // SAFETY: both handles are valid.
        check(unsafe { (self.table.hipEventRecord)(self.event, stream) })
    }

    fn wait(&self) -> Result<()> {
        // SAFETY: the event is valid.
        check(unsafe { (self.table.hipEventSynchronize)(self.event) })
    }
}

impl Drop for RawEvent {
    fn drop(&mut self) {
        // SAFETY: the event is destroyed once.
        report(check(unsafe { (self.table.hipEventDestroy)(self.event) }));
    }
}

fn report(result: Result<()>) {
    if let Err(error) = result {
        eprintln!("{error}");
    }
}
