//! Launches of functions of modules.

use std::ffi::c_void;

use hip_sys::{hipError_t, hipFunction_t, hipStream_t};

use crate::caller;
use crate::devices::stream::resolve;
use crate::error::{Result, entry};
use crate::graph::Capturing;
use crate::graph::op::{KernelOp, Op};
use crate::object::launch::{Grid, Launch};
use crate::object::module::function;
use crate::queue::arguments::Explicit;
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const INVALID_CONFIGURATION: hipError_t = hipError_t::hipErrorInvalidConfiguration;

/// `HIP_LAUNCH_PARAM_…`, the keys of the `extra` list.
const PARAM_BUFFER: usize = 1;
const PARAM_SIZE: usize = 2;
const PARAM_END: usize = 3;

/// Reads the `extra` list: a buffer with all arguments and its size.
///
/// # Safety
/// The list ends with `HIP_LAUNCH_PARAM_END`, and the values behind its keys are valid.
pub(crate) unsafe fn packed(extra: *const *mut c_void) -> Result<Explicit> {
    let (mut buffer, mut size) = (None, None);
    // Two keys with a value each, and the end.
    for pair in 0..3 {
        let at = extra.wrapping_add(2 * pair);
        // SAFETY: the list continues until its end has been seen.
        unsafe {
            match *caller::value(at)? as usize {
                PARAM_BUFFER => buffer = Some(*caller::value(at.wrapping_add(1))?),
                PARAM_SIZE => {
                    size = Some(*caller::value(caller::value(at.wrapping_add(1))?.cast::<usize>())?)
                }
                PARAM_END => break,
                _ => return Err(INVALID_VALUE),
            }
        }
    }
    match (buffer, size) {
        (Some(buffer), Some(size)) if !buffer.is_null() || size == 0 => {
            Ok(Explicit::Packed(buffer.cast(), size))
        }
        _ => Err(INVALID_VALUE),
    }
}

/// The maximum number of workgroups in y and z, as in the properties of devices.
const MOST_BLOCKS: u32 = 65536;

/// AMD's code for a bad shape when a function of a module is launched: a bad value like any other.
fn of_module(code: hipError_t) -> hipError_t {
    if code == INVALID_CONFIGURATION { INVALID_VALUE } else { code }
}

/// `hipModuleLaunchKernel`.
///
/// `hipErrorInvalidValue` for a grid or workgroup that is empty, too large for packet, device or kernel, or
/// not the one that the kernel requires, for too much LDS, and for arguments in both forms, in neither
/// although the kernel has some, or in a buffer of the wrong size.
pub(crate) unsafe extern "C" fn hipModuleLaunchKernel(
    handle: hipFunction_t,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared_bytes: u32,
    stream: hipStream_t,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> hipError_t {
    entry(|| {
        let arguments = match (parameters.is_null(), extra.is_null()) {
            (false, true) => Explicit::Pointers(parameters),
            // SAFETY: the caller passes a list in the form that HIP documents.
            (true, false) => unsafe { packed(extra) }?,
            (true, true) => Explicit::None,
            (false, false) => return Err(INVALID_VALUE),
        };
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        if grid[1..].iter().any(|&count| count > MOST_BLOCKS) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller is responsible for the arguments.
        let launched =
            unsafe { launch(handle, Grid::Blocks(grid), block, shared_bytes, stream, arguments, false) };
        launched.map_err(of_module)
    })
}

/// `hipModuleLaunchCooperativeKernel`: as `hipModuleLaunchKernel`, for kernels whose workgroups wait for each
/// other.
///
/// `hipErrorCooperativeLaunchTooLarge` for more workgroups than the device holds at once,
/// `hipErrorNotSupported` on devices where they cannot wait.
pub(crate) unsafe extern "C" fn hipModuleLaunchCooperativeKernel(
    handle: hipFunction_t,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared_bytes: u32,
    stream: hipStream_t,
    parameters: *mut *mut c_void,
) -> hipError_t {
    entry(|| {
        let arguments = Explicit::listed(parameters);
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        if grid.iter().zip(block).any(|(&count, size)| count.checked_mul(size).is_none()) {
            return Err(hipError_t::hipErrorCooperativeLaunchTooLarge);
        }
        // SAFETY: the caller is responsible for the arguments.
        let launched =
            unsafe { launch(handle, Grid::Blocks(grid), block, shared_bytes, stream, arguments, true) };
        launched.map_err(of_module)
    })
}

/// A function, and what graphs tell the program of it.
#[derive(Clone, Copy)]
pub(crate) struct Named {
    pub(crate) handle: hipFunction_t,
    /// The handle, or the address of the host stub with which the program named it.
    pub(crate) by: *const c_void,
}

impl From<hipFunction_t> for Named {
    fn from(handle: hipFunction_t) -> Self {
        Self { handle, by: handle.cast_const().cast() }
    }
}

/// # Safety
/// The arguments are as [`Layout::write`](crate::queue::arguments::Layout::write) needs them for the function
/// that the handle names.
pub(crate) unsafe fn launch(
    named: impl Into<Named>,
    grid: Grid,
    block: [u32; 3],
    shared_bytes: u32,
    stream: hipStream_t,
    arguments: Explicit,
    cooperative: bool,
) -> Result {
    let runtime = active()?;
    let Named { handle, by } = named.into();
    let function = function(runtime, handle)?;
    let stream = resolve(runtime, stream)?;
    let launch = Launch::new(function, grid, block, shared_bytes, cooperative)?;
    launch.function.layout.accepts(arguments)?;
    launch.suits(&stream)?;
    if let Some(capture) = Capturing::of(&stream)? {
        // SAFETY: the caller is responsible for the arguments.
        return capture.add(Op::Kernel(unsafe { KernelOp::new(launch, by as usize, arguments) }));
    }
    // SAFETY: the caller is responsible for the arguments.
    unsafe { launch.run(runtime, &stream, arguments) }
}
