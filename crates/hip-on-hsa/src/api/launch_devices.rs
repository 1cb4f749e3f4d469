//! Launches of a kernel on several devices with one call; the grids may synchronise with each other.

use std::collections::HashSet;
use std::ffi::c_void;
use std::sync::Arc;

use hip_sys::{hipError_t, hipFunction_t, hipFunctionLaunchParams, hipLaunchParams, hipStream_t};

use crate::caller;
use crate::devices;
use crate::devices::stream::{Role, Stream, resolve};
use crate::error::{Result, entry};
use crate::graph::Capturing;
use crate::object::launch::{Grid, Launch, axes};
use crate::object::module::function;
use crate::object::symbols::kernel;
use crate::queue::arguments::{Explicit, Grids, KernargBlock};
use crate::runtime::{Runtime, active};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// The arrival counters of all devices' grids: two words of the device libraries.
const SHARED_BYTES: usize = 64;

/// The part of a launch that one device runs.
struct Part {
    stream: Arc<Stream>,
    function: hipFunction_t,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    arguments: *mut *mut c_void,
}

impl Part {
    fn is_alike(&self, other: &Part) -> bool {
        (self.grid, self.block, self.shared_bytes) == (other.grid, other.block, other.shared_bytes)
    }
}

/// The stream of a part. It must be created by the program, and not be captured.
fn stream_of(runtime: &'static Runtime, handle: hipStream_t) -> Result<Arc<Stream>> {
    let stream = resolve(runtime, handle).map_err(|_| INVALID_VALUE)?;
    if stream.role == Role::Null {
        return Err(hipError_t::hipErrorInvalidResourceHandle);
    }
    match Capturing::of(&stream)? {
        Some(capture) => capture.fail(hipError_t::hipErrorStreamCaptureUnsupported).map(|()| stream),
        None => Ok(stream),
    }
}

/// Launches the parts, each on a different device. Waits for the streams before and after, unless the flags
/// say otherwise.
///
/// # Safety
/// The arguments are those of the kernels.
unsafe fn launch(runtime: &'static Runtime, parts: &[Part], flags: u32, cooperative: bool) -> Result {
    let known = hip_sys::hipCooperativeLaunchMultiDeviceNoPreSync
        | hip_sys::hipCooperativeLaunchMultiDeviceNoPostSync;
    if parts.is_empty() || flags & !known != 0 {
        return Err(INVALID_VALUE);
    }
    if parts.iter().any(|part| part.block.contains(&0)) {
        return Err(hipError_t::hipErrorInvalidConfiguration);
    }
    let mut devices = HashSet::new();
    if !parts.iter().all(|part| devices.insert(part.stream.device.ordinal)) {
        return Err(hipError_t::hipErrorInvalidDevice);
    }
    let wait = |without: u32| match flags & without {
        0 => parts.iter().try_for_each(|part| part.stream.synchronize(runtime)),
        _ => Ok(()),
    };
    wait(hip_sys::hipCooperativeLaunchMultiDeviceNoPreSync)?;
    if parts.windows(2).any(|pair| !pair[0].is_alike(&pair[1])) {
        return Err(INVALID_VALUE);
    }
    // All are checked before the first runs, because a grid would wait for a missing one for ever.
    let launches = parts
        .iter()
        .map(|part| {
            let function = function(runtime, part.function)?;
            let launch =
                Launch::new(function, Grid::Blocks(part.grid), part.block, part.shared_bytes, cooperative)?;
            launch.suits(&part.stream)?;
            let arguments = Explicit::listed(part.arguments);
            launch.function.layout.accepts(arguments)?;
            match part.stream.failure() {
                Some(code) => Err(code),
                None => Ok((launch, arguments)),
            }
        })
        .collect::<Result<Vec<_>>>()?;
    let shared = match cooperative {
        true => {
            let agents: Vec<_> = parts.iter().map(|part| part.stream.device.agent).collect();
            let mut block = KernargBlock::new(runtime, &agents, SHARED_BYTES)?;
            block.bytes().fill(0);
            Some(Arc::new(block))
        }
        false => None,
    };
    let all = launches.iter().fold(0u64, |all, (launch, _)| all.saturating_add(launch.items()));
    let mut before = 0u64;
    for (index, ((launch, arguments), part)) in launches.iter().zip(parts).enumerate() {
        let grids = Grids { index: index as u32, count: parts.len() as u32, before, all };
        // SAFETY: as this function's contract; the layout has agreed to the form of the arguments.
        unsafe { launch.run_among(runtime, &part.stream, *arguments, grids, shared.clone()) }?;
        before = before.saturating_add(launch.items());
    }
    wait(hip_sys::hipCooperativeLaunchMultiDeviceNoPostSync)
}

/// `hipModuleLaunchCooperativeKernelMultiDevice`: a function of each device, all with the same grid.
pub(crate) unsafe extern "C" fn hipModuleLaunchCooperativeKernelMultiDevice(
    list: *mut hipFunctionLaunchParams,
    count: u32,
    flags: u32,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        if count as usize > devices::count(runtime) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller passes null or a list of so many.
        let list = unsafe { caller::list(list.cast_const(), count as usize) }?;
        if list.iter().any(|one| [one.blockDimX, one.blockDimY, one.blockDimZ].contains(&0)) {
            return Err(hipError_t::hipErrorInvalidConfiguration);
        }
        let part = |one: &hipFunctionLaunchParams| -> Result<Part> {
            Ok(Part {
                stream: stream_of(runtime, one.hStream)?,
                function: one.function,
                grid: [one.gridDimX, one.gridDimY, one.gridDimZ],
                block: [one.blockDimX, one.blockDimY, one.blockDimZ],
                shared_bytes: one.sharedMemBytes,
                arguments: one.kernelParams,
            })
        };
        let parts = list.iter().map(part).collect::<Result<Vec<_>>>()?;
        // SAFETY: the caller is responsible for the arguments.
        unsafe { launch(runtime, &parts, flags, true) }
    })
}

/// Implements the functions below: host stubs, which identify a function on each device.
///
/// # Safety
/// `list` is null or a list of so many; the arguments are those of the kernels.
unsafe fn launch_stubs(list: *mut hipLaunchParams, count: i32, flags: u32, cooperative: bool) -> Result {
    let runtime = active()?;
    if list.is_null() {
        return Err(INVALID_VALUE);
    }
    let count = usize::try_from(count).ok().filter(|&count| count <= devices::count(runtime));
    let count = count.ok_or(hipError_t::hipErrorInvalidDevice)?;
    // SAFETY: as this function's contract.
    let list = unsafe { caller::list(list.cast_const(), count) }?;
    let mut parts = Vec::new();
    for one in list {
        let stream = stream_of(runtime, one.stream)?;
        let function = kernel(runtime, one.func, stream.device)?;
        if one.func != list[0].func {
            return Err(INVALID_VALUE);
        }
        parts.push(Part {
            stream,
            function,
            grid: axes(one.gridDim),
            block: axes(one.blockDim),
            shared_bytes: u32::try_from(one.sharedMem).map_err(|_| INVALID_VALUE)?,
            arguments: one.args,
        });
    }
    // SAFETY: as this function's contract.
    unsafe { launch(runtime, &parts, flags, cooperative) }
}

/// `hipLaunchCooperativeKernelMultiDevice`: one kernel on several devices, with the same grid, on streams
/// created by the program.
pub(crate) unsafe extern "C" fn hipLaunchCooperativeKernelMultiDevice(
    list: *mut hipLaunchParams,
    count: i32,
    flags: u32,
) -> hipError_t {
    // SAFETY: the caller is responsible for the list and the arguments.
    entry(|| unsafe { launch_stubs(list, count, flags, true) })
}

/// `hipExtLaunchMultiKernelMultiDevice`: as [`hipLaunchCooperativeKernelMultiDevice`], without
/// synchronisation between grids.
pub(crate) unsafe extern "C" fn hipExtLaunchMultiKernelMultiDevice(
    list: *mut hipLaunchParams,
    count: i32,
    flags: u32,
) -> hipError_t {
    // SAFETY: the caller is responsible for the list and the arguments.
    entry(|| unsafe { launch_stubs(list, count, flags, false) })
}
