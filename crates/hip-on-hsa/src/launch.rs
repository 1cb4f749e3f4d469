//! Kernel launches.

use std::ffi::c_void;

use hip_sys::{hipError_t, hipFunction_t, hipStream_t};

use crate::error::{Result, entry};
use crate::kernarg::{Explicit, Geometry};
use crate::module::{Function, function};
use crate::queue::Dispatch;
use crate::runtime::active;
use crate::stream::resolve;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const INVALID_CONFIGURATION: hipError_t = hipError_t::hipErrorInvalidConfiguration;

/// `HIP_LAUNCH_PARAM_…`, the keys of the `extra` list.
const PARAM_BUFFER: usize = 1;
const PARAM_SIZE: usize = 2;
const PARAM_END: usize = 3;

/// Checks a launch's shape against the kernel and the device; gives what the packet says.
fn shape(function: &Function, blocks: [u32; 3], block: [u32; 3], dynamic_lds: u32) -> Result<Dispatch> {
    let info = &function.code.device.info;
    let mut grid = [0; 3];
    for axis in 0..3 {
        if blocks[axis] == 0 || block[axis] == 0 || block[axis] > info.max_block_dim[axis] {
            return Err(INVALID_CONFIGURATION);
        }
        // A packet counts the grid in work-items, in 32 bits.
        grid[axis] = blocks[axis].checked_mul(block[axis]).ok_or(INVALID_CONFIGURATION)?;
    }
    let items = block.iter().map(|&size| u64::from(size)).product::<u64>();
    if items > function.block_limit().into()
        || function.required_block.is_some_and(|required| required != block)
    {
        return Err(INVALID_CONFIGURATION);
    }
    let group = function.group_bytes.checked_add(dynamic_lds).filter(|&size| size <= info.lds_bytes);
    Ok(Dispatch {
        grid,
        block,
        private: function.private_bytes,
        group: group.ok_or(INVALID_VALUE)?,
        kernel: function.object,
    })
}

/// Reads the `extra` list: a buffer with all arguments and its size.
///
/// # Safety
/// The list ends with `HIP_LAUNCH_PARAM_END`, and the values behind its keys are valid.
unsafe fn packed(extra: *const *mut c_void) -> Result<Explicit> {
    let (mut buffer, mut size) = (None, None);
    // Two keys with a value each, and the end.
    for pair in 0..3 {
        // SAFETY: the list goes on until its end has been seen.
        unsafe {
            match *extra.add(2 * pair) as usize {
                PARAM_BUFFER => buffer = Some(*extra.add(2 * pair + 1)),
                PARAM_SIZE => size = (*extra.add(2 * pair + 1)).cast::<usize>().as_ref(),
                PARAM_END => break,
                _ => return Err(INVALID_VALUE),
            }
        }
    }
    match (buffer, size) {
        (Some(buffer), Some(&size)) if !buffer.is_null() || size == 0 => {
            Ok(Explicit::Packed(buffer.cast(), size))
        }
        _ => Err(INVALID_VALUE),
    }
}

/// `hipModuleLaunchKernel`.
///
/// `hipErrorInvalidConfiguration` for a grid or workgroup that is empty, too large for packet, device or kernel, or not
/// the one that the kernel requires; `hipErrorInvalidValue` for too much LDS and for arguments in both forms, in neither
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
        let runtime = active()?;
        let function = function(runtime, handle)?;
        let stream = resolve(runtime, stream)?;
        if !std::ptr::eq(stream.device, function.code.device) {
            return Err(hipError_t::hipErrorInvalidHandle);
        }
        let dispatch = shape(&function, [grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared_bytes)?;
        let arguments = match (parameters.is_null(), extra.is_null()) {
            (false, true) => Explicit::Pointers(parameters),
            // SAFETY: the caller passes a list in the form that HIP documents.
            (true, false) => unsafe { packed(extra) }?,
            (true, true) => Explicit::None,
            (false, false) => return Err(INVALID_VALUE),
        };
        let layout = &function.layout;
        layout.accepts(arguments)?;
        stream.submit(runtime, |engine| {
            let (queue, shared_base, private_base) = engine.geometry();
            let geometry = Geometry {
                grid: dispatch.grid,
                block: dispatch.block,
                dynamic_lds: shared_bytes,
                queue,
                shared_base,
                private_base,
            };
            engine.dispatch(&dispatch, layout.size, layout.align, |segment| {
                // SAFETY: the caller vouches for the arguments; the layout has agreed to their form.
                unsafe { layout.write(segment, arguments, &geometry) }
            })
        })
    })
}
