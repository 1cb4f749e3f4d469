//! Launches by compiler-generated code, and launches with events or attributes.
//!
//! `kernel<<<grid, block>>>(arguments)` becomes a call that pushes the configuration, and a call of the host
//! stub, which pops the configuration and launches the kernel of the stub's address.

use std::cell::RefCell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hip_sys::{
    HIP_LAUNCH_CONFIG, dim3, hipError_t, hipEvent_t, hipFunction_t, hipLaunchAttribute, hipLaunchAttributeID,
    hipLaunchConfig_t, hipStream_t,
};

use crate::api::copy::DEFAULT_STREAM;
use crate::api::event::hipEventRecord;
use crate::api::launch::{Named, launch, packed};
use crate::caller;
use crate::devices::stream::resolve;
use crate::error::{Result, describe, entry, succeed};
use crate::graph;
use crate::object::launch::{Grid, axes, check_sizes};
use crate::object::symbols::{kernel, symbol};
use crate::queue::arguments::Explicit;
use crate::runtime::active;
use crate::unseen;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const INVALID_CONFIGURATION: hipError_t = hipError_t::hipErrorInvalidConfiguration;

/// Larger than the arguments of any kernel.
const MAX_ARGUMENTS: usize = 64 << 10;

/// The configuration of a launch that the thread has announced.
struct Configuration {
    shape: Shape,
    /// Set by `hipSetupArgument`.
    arguments: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Shape {
    grid: dim3,
    block: dim3,
    shared_bytes: usize,
    stream: hipStream_t,
}

thread_local! {
    static ANNOUNCED: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

fn announce(shape: Shape) -> Result {
    ANNOUNCED
        .try_with(|announced| announced.borrow_mut().push(Configuration { shape, arguments: Vec::new() }))
        .map_err(|_| hipError_t::hipErrorContextIsDestroyed)
}

fn announced() -> Result<Configuration> {
    let last = ANNOUNCED.try_with(|announced| announced.borrow_mut().pop());
    last.ok().flatten().ok_or(hipError_t::hipErrorMissingConfiguration)
}

impl Shape {
    /// Launches the kernel of a pointer on the stream's device.
    ///
    /// # Safety
    /// The arguments are those of the kernel.
    unsafe fn launch(self, pointer: *const c_void, arguments: Explicit, cooperative: bool) -> Result {
        let runtime = active()?;
        let shared_bytes = u32::try_from(self.shared_bytes).map_err(|_| INVALID_VALUE)?;
        let handle = kernel(runtime, pointer, resolve(runtime, self.stream)?.device)?;
        let function = Named { handle, by: pointer };
        let (grid, block) = (axes(self.grid), axes(self.block));
        // SAFETY: as this function's contract.
        unsafe {
            launch(function, Grid::Blocks(grid), block, shared_bytes, self.stream, arguments, cooperative)
        }
    }

    /// Records the failure of a launch without a result. If it had no stream, the current device's default
    /// stream reports it.
    fn note_unseen(self, stub: *const c_void, code: hipError_t) -> Result {
        let runtime = active()?;
        let stream = resolve(runtime, self.stream).or_else(|_| resolve(runtime, DEFAULT_STREAM))?;
        let kernel = match symbol(stub) {
            Some(symbol) => format!("kernel `{}`", symbol.name()),
            None => "a kernel that is in no fat binary".to_owned(),
        };
        let (name, words) = describe(code).unwrap_or((c"an unknown error", c"no text"));
        let (dim3 { x, y, z }, block) = (self.grid, self.block);
        let text = format!(
            "{kernel} was not launched on {}: {} ({}); grid {x} × {y} × {z}, block {} × {} × {}, {} bytes of dynamic LDS",
            stream.device.info.arch,
            name.to_string_lossy(),
            words.to_string_lossy(),
            block.x,
            block.y,
            block.z,
            self.shared_bytes
        );
        graph::note_unseen(&stream, code, text);
        Ok(())
    }
}

/// The arguments, in either form.
///
/// # Safety
/// `extra` is null or a list in the form that HIP documents.
unsafe fn either(arguments: *mut *mut c_void, extra: *mut *mut c_void) -> Result<Explicit> {
    match (arguments.is_null(), extra.is_null()) {
        // SAFETY: as this function's contract.
        (true, false) => unsafe { packed(extra) },
        (_, true) => Ok(Explicit::listed(arguments)),
        (false, false) => Err(INVALID_VALUE),
    }
}

/// Makes a launch between the records of two optional events.
fn between(
    start: hipEvent_t,
    stop: hipEvent_t,
    stream: hipStream_t,
    launch: impl FnOnce() -> Result,
) -> Result {
    // SAFETY: handles are checked.
    let record = |event: hipEvent_t| match event.is_null() {
        true => Ok(()),
        // SAFETY: handles are checked.
        false => succeed(unsafe { hipEventRecord(event, stream) }),
    };
    record(start)?;
    launch()?;
    record(stop)
}

/// `__hipPushCallConfiguration`: pushes the configuration of the thread's next launch.
pub(crate) unsafe extern "C" fn __hipPushCallConfiguration(
    grid: dim3,
    block: dim3,
    shared_bytes: usize,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| announce(Shape { grid, block, shared_bytes, stream }))
}

/// `__hipPopCallConfiguration`: pops the last configuration; `hipErrorMissingConfiguration` if there is none.
pub(crate) unsafe extern "C" fn __hipPopCallConfiguration(
    grid: *mut dim3,
    block: *mut dim3,
    shared_bytes: *mut usize,
    stream: *mut hipStream_t,
) -> hipError_t {
    entry(|| {
        let shape = announced()?.shape;
        // SAFETY: the caller passes null or valid places.
        unsafe {
            *caller::place(grid)? = shape.grid;
            *caller::place(block)? = shape.block;
            *caller::place(shared_bytes)? = shape.shared_bytes;
            *caller::place(stream)? = shape.stream;
        }
        unseen::enter_stub();
        Ok(())
    })
}

/// `hipConfigureCall`: as [`__hipPushCallConfiguration`], for `hipSetupArgument` and `hipLaunchByPtr`.
pub(crate) unsafe extern "C" fn hipConfigureCall(
    grid: dim3,
    block: dim3,
    shared_bytes: usize,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| announce(Shape { grid, block, shared_bytes, stream }))
}

/// `hipSetupArgument`: copies an argument to its place for the last announced launch.
pub(crate) unsafe extern "C" fn hipSetupArgument(
    argument: *const c_void,
    size: usize,
    offset: usize,
) -> hipError_t {
    entry(|| {
        let end = offset.checked_add(size).filter(|&end| end <= MAX_ARGUMENTS).ok_or(INVALID_VALUE)?;
        // SAFETY: the caller is responsible for the argument.
        let argument = unsafe { caller::bytes(argument as usize, size) }?;
        let mut configuration = announced()?;
        let bytes = &mut configuration.arguments;
        bytes.resize(bytes.len().max(end), 0);
        bytes[offset..end].copy_from_slice(argument);
        ANNOUNCED
            .try_with(|announced| announced.borrow_mut().push(configuration))
            .map_err(|_| hipError_t::hipErrorContextIsDestroyed)
    })
}

/// `hipLaunchByPtr`: launches the kernel of a host stub as it was announced.
pub(crate) unsafe extern "C" fn hipLaunchByPtr(stub: *const c_void) -> hipError_t {
    entry(|| {
        let Configuration { shape, arguments } = announced()?;
        let arguments = Explicit::Packed(arguments.as_ptr(), arguments.len());
        // SAFETY: the bytes live until the call is done; the layout checks how many there are.
        unsafe { shape.launch(stub, arguments, false) }
    })
}

/// `hipLaunchKernel`: accepts a host stub's address or the handle of a function;
/// `hipErrorInvalidDeviceFunction` for others. A host stub discards a failure, so it is kept for calls that
/// wait for the stream ([`unseen`](crate::unseen)).
pub(crate) unsafe extern "C" fn hipLaunchKernel(
    stub: *const c_void,
    grid: dim3,
    block: dim3,
    arguments: *mut *mut c_void,
    shared_bytes: usize,
    stream: hipStream_t,
) -> hipError_t {
    let in_stub = unseen::is_in_stub();
    let shape = Shape { grid, block, shared_bytes, stream };
    // SAFETY: the caller is responsible for the arguments.
    let code = entry(|| unsafe { shape.launch(stub, Explicit::listed(arguments), false) });
    // For an empty grid no work is missing, and programs launch one when they have no elements.
    if in_stub && code != hipError_t::hipSuccess && !axes(grid).contains(&0) {
        // If nothing can be recorded, no stream works.
        let _ = catch_unwind(AssertUnwindSafe(|| shape.note_unseen(stub, code)));
    }
    code
}

/// `hipLaunchCooperativeKernel`.
pub(crate) unsafe extern "C" fn hipLaunchCooperativeKernel(
    stub: *const c_void,
    grid: dim3,
    block: dim3,
    arguments: *mut *mut c_void,
    shared_bytes: u32,
    stream: hipStream_t,
) -> hipError_t {
    let shape = Shape { grid, block, shared_bytes: shared_bytes as usize, stream };
    entry(|| {
        // AMD's codes for only this function.
        if shared_bytes > resolve(active()?, stream)?.device.info.lds_bytes {
            return Err(hipError_t::hipErrorCooperativeLaunchTooLarge);
        }
        // SAFETY: the caller is responsible for the arguments.
        let launched = unsafe { shape.launch(stub, Explicit::listed(arguments), true) };
        launched.map_err(|code| match code {
            hipError_t::hipErrorInvalidDeviceFunction if !stub.is_null() => hipError_t::hipErrorInvalidSymbol,
            code => code,
        })
    })
}

/// `hipExtLaunchKernel`: the events are recorded before and behind the kernel. The flag that permits
/// reordering of kernels also permits this order.
pub(crate) unsafe extern "C" fn hipExtLaunchKernel(
    stub: *const c_void,
    grid: dim3,
    block: dim3,
    arguments: *mut *mut c_void,
    shared_bytes: usize,
    stream: hipStream_t,
    start: hipEvent_t,
    stop: hipEvent_t,
    _flags: i32,
) -> hipError_t {
    let shape = Shape { grid, block, shared_bytes, stream };
    entry(|| {
        between(start, stop, stream, || {
            // SAFETY: the caller is responsible for the arguments.
            unsafe { shape.launch(stub, Explicit::listed(arguments), false) }
        })
    })
}

/// A launch whose grid is counted in work-items, with events before and behind it.
///
/// # Safety
/// The arguments are those of the function, in one of the two forms.
unsafe fn launch_items(
    function: hipFunction_t,
    (items, block): ([u32; 3], [u32; 3]),
    shared_bytes: usize,
    stream: hipStream_t,
    arguments: Explicit,
    events: (hipEvent_t, hipEvent_t),
) -> Result {
    let shared_bytes = u32::try_from(shared_bytes).map_err(|_| INVALID_VALUE)?;
    between(events.0, events.1, stream, || {
        // SAFETY: as this function's contract.
        unsafe { launch(function, Grid::Items(items), block, shared_bytes, stream, arguments, false) }
    })
}

/// `hipExtModuleLaunchKernel`: the grid is counted in work-items; for kernels compiled for it, the last
/// workgroup may have fewer than the others (clang's `-fno-offload-uniform-block`).
pub(crate) unsafe extern "C" fn hipExtModuleLaunchKernel(
    function: hipFunction_t,
    items_x: u32,
    items_y: u32,
    items_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared_bytes: usize,
    stream: hipStream_t,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
    start: hipEvent_t,
    stop: hipEvent_t,
    _flags: u32,
) -> hipError_t {
    let shape = ([items_x, items_y, items_z], [block_x, block_y, block_z]);
    // SAFETY: the caller is responsible for the arguments.
    entry(|| unsafe {
        launch_items(function, shape, shared_bytes, stream, either(arguments, extra)?, (start, stop))
    })
}

/// `hipHccModuleLaunchKernel`: the older name of [`hipExtModuleLaunchKernel`].
pub(crate) unsafe extern "C" fn hipHccModuleLaunchKernel(
    function: hipFunction_t,
    items_x: u32,
    items_y: u32,
    items_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared_bytes: usize,
    stream: hipStream_t,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
    start: hipEvent_t,
    stop: hipEvent_t,
) -> hipError_t {
    // SAFETY: the caller is responsible for the arguments, which are the same.
    unsafe {
        hipExtModuleLaunchKernel(
            function,
            items_x,
            items_y,
            items_z,
            block_x,
            block_y,
            block_z,
            shared_bytes,
            stream,
            arguments,
            extra,
            start,
            stop,
            0,
        )
    }
}

/// Whether attributes of a launch request a cooperative one. Priorities belong to streams, so a launch's
/// priority is only a hint; other attributes are not supported.
///
/// # Safety
/// There are this many attributes at the address.
unsafe fn is_cooperative(attributes: *const hipLaunchAttribute, count: u32) -> Result<bool> {
    // SAFETY: as this function's contract.
    let attributes = unsafe { caller::list(attributes, count as usize) }?;
    let mut cooperative = false;
    for attribute in attributes {
        match attribute.id {
            hipLaunchAttributeID::hipLaunchAttributeCooperative => {
                // SAFETY: the attribute's number says that this member was set.
                cooperative = unsafe { attribute.__bindgen_anon_1.val.cooperative } != 0;
            }
            hipLaunchAttributeID::hipLaunchAttributePriority => {}
            _ => return Err(hipError_t::hipErrorNotSupported),
        }
    }
    Ok(cooperative)
}

/// `hipLaunchKernelExC`: a launch with attributes.
pub(crate) unsafe extern "C" fn hipLaunchKernelExC(
    config: *const hipLaunchConfig_t,
    stub: *const c_void,
    arguments: *mut *mut c_void,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or a valid configuration.
        let config = unsafe { caller::value(config) }.map_err(|_| INVALID_CONFIGURATION)?;
        if stub.is_null() {
            return Err(hipError_t::hipErrorInvalidDeviceFunction);
        }
        check_sizes(axes(config.gridDim), axes(config.blockDim))?;
        // SAFETY: the configuration says how many attributes there are.
        let cooperative = unsafe { is_cooperative(config.attrs, config.numAttrs) }?;
        let shape = Shape {
            grid: config.gridDim,
            block: config.blockDim,
            shared_bytes: config.dynamicSmemBytes,
            stream: config.stream,
        };
        // SAFETY: the caller is responsible for the arguments.
        unsafe { shape.launch(stub, Explicit::listed(arguments), cooperative) }
    })
}

/// `hipDrvLaunchKernelEx`: as [`hipLaunchKernelExC`], with the arguments in either form.
pub(crate) unsafe extern "C" fn hipDrvLaunchKernelEx(
    config: *const HIP_LAUNCH_CONFIG,
    function: hipFunction_t,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or a valid configuration.
        let config = unsafe { caller::value(config) }?;
        if function.is_null() {
            return Err(hipError_t::hipErrorInvalidHandle);
        }
        let grid = [config.gridDimX, config.gridDimY, config.gridDimZ];
        let block = [config.blockDimX, config.blockDimY, config.blockDimZ];
        check_sizes(grid, block)?;
        // SAFETY: the configuration says how many attributes there are.
        let cooperative = unsafe { is_cooperative(config.attrs, config.numAttrs) }?;
        // SAFETY: the caller is responsible for the arguments.
        let arguments = unsafe { either(arguments, extra) }?;
        let shared_bytes = config.sharedMemBytes;
        // SAFETY: the caller is responsible for the arguments.
        unsafe {
            launch(function, Grid::Blocks(grid), block, shared_bytes, config.hStream, arguments, cooperative)
        }
    })
}
