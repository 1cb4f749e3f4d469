//! What compiled host code calls: registration of its kernels and variables, its launches, and functions that
//! take such addresses.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use cuda_sys::{CUfunction, CUfunction_attribute, CUresult, Table};
use hip_sys::{HostCode, dim3, hipError_t, hipFuncAttributes, hipFunction_t, hipMemcpyKind, hipStream_t};

use super::convert::place;
use super::copy::{hipMemcpy, hipMemcpyAsync};
use super::kernel::{hipModuleLaunchCooperativeKernel, hipModuleLaunchKernel};
use super::occupancy::{
    hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
    hipModuleOccupancyMaxPotentialBlockSizeWithFlags,
};
use crate::call::{failed, steps};
use crate::runtime::{self, check, cuda};
use crate::symbols;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// The registration functions, as called by compiled host code.
pub(crate) const HOST_CODE: HostCode = HostCode {
    register_fat_binary,
    unregister_fat_binary,
    register_function,
    register_variable,
    register_managed_variable,
};

unsafe extern "C" fn register_fat_binary(header: *const c_void) -> *mut *mut c_void {
    if header.is_null() {
        return std::ptr::null_mut();
    }
    std::ptr::without_provenance_mut(symbols::add(header.expose_provenance()))
}

unsafe extern "C" fn unregister_fat_binary(binary: *mut *mut c_void) {
    symbols::forget(cuda(), binary.addr());
}

/// # Safety
/// The name is null or ends in a NUL.
unsafe fn register(binary: *mut *mut c_void, address: *const c_void, name: *const c_char) {
    if !name.is_null() {
        // SAFETY: the caller's promise.
        symbols::add_symbol(binary.addr(), address.addr(), unsafe { CStr::from_ptr(name) });
    }
}

unsafe extern "C" fn register_function(
    binary: *mut *mut c_void,
    stub: *const c_void,
    _device_function: *mut c_char,
    name: *const c_char,
    _thread_limit: c_uint,
    _thread: *mut c_void,
    _block: *mut c_void,
    _block_size: *mut c_void,
    _grid_size: *mut c_void,
    _wave_size: *mut c_int,
) {
    // SAFETY: the caller passes a name that ends in a NUL.
    unsafe { register(binary, stub, name) };
}

unsafe extern "C" fn register_variable(
    binary: *mut *mut c_void,
    variable: *mut c_void,
    _host_name: *mut c_char,
    name: *mut c_char,
    _external: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    // SAFETY: the caller passes a name that ends in a NUL.
    unsafe { register(binary, variable, name) };
}

/// nvcc's code has a managed variable of its own, which the host's pointer cannot be made to name.
unsafe extern "C" fn register_managed_variable(
    _binary: *mut c_void,
    _pointer: *mut *mut c_void,
    _first: *mut c_void,
    name: *const c_char,
    _size: usize,
    _align: c_uint,
) {
    // SAFETY: the caller passes null or a name that ends in a NUL.
    let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
    tracing::error!(?name, "managed variables of host code do not work on NVIDIA's GPUs");
}

/// The configuration of a launch.
#[derive(Clone, Copy)]
struct Shape {
    grid: dim3,
    block: dim3,
    lds: usize,
    stream: hipStream_t,
}

thread_local! {
    static ANNOUNCED: RefCell<Vec<Shape>> = const { RefCell::new(Vec::new()) };
}

/// `__hipPushCallConfiguration`: the configuration of the thread's next launch.
pub(crate) unsafe extern "C" fn __hipPushCallConfiguration(
    grid: dim3,
    block: dim3,
    lds: usize,
    stream: hipStream_t,
) -> hipError_t {
    ANNOUNCED.with_borrow_mut(|announced| announced.push(Shape { grid, block, lds, stream }));
    hipError_t::hipSuccess
}

/// `__hipPopCallConfiguration`: the last configuration.
pub(crate) unsafe extern "C" fn __hipPopCallConfiguration(
    grid: *mut dim3,
    block: *mut dim3,
    lds: *mut usize,
    stream: *mut hipStream_t,
) -> hipError_t {
    let Some(shape) = ANNOUNCED.with_borrow_mut(Vec::pop) else {
        return failed(hipError_t::hipErrorMissingConfiguration);
    };
    // SAFETY: the compiler's code passes places.
    unsafe {
        grid.write(shape.grid);
        block.write(shape.block);
        lds.write(shape.lds);
        stream.write(shape.stream);
    }
    hipError_t::hipSuccess
}

/// The function of a stub on the thread's device; none if nothing is registered there.
fn registered(cuda: &'static Table, stub: *const c_void) -> Option<Result<CUfunction, CUresult>> {
    symbols::function(cuda, runtime::current(cuda), stub)
}

/// The function that a pointer means: of a stub, or itself.
pub(super) fn function_of(cuda: &'static Table, pointer: *const c_void) -> Result<CUfunction, CUresult> {
    registered(cuda, pointer).unwrap_or(Ok(pointer.cast_mut().cast()))
}

/// Calls something with the function of a stub.
fn with_function(stub: *const c_void, run: impl FnOnce(hipFunction_t) -> hipError_t) -> hipError_t {
    let found = Cell::new(std::ptr::null_mut());
    let status = steps(|cuda| {
        found.set(registered(cuda, stub).unwrap_or(Err(CUresult::CUDA_ERROR_INVALID_HANDLE))?);
        Ok(())
    });
    if status == hipError_t::hipSuccess { run(found.get().cast()) } else { status }
}

/// `hipLaunchKernel`: the kernel of a stub.
pub(crate) unsafe extern "C" fn hipLaunchKernel(
    stub: *const c_void,
    grid: dim3,
    block: dim3,
    arguments: *mut *mut c_void,
    lds: usize,
    stream: hipStream_t,
) -> hipError_t {
    let Ok(lds) = c_uint::try_from(lds) else { return failed(hipError_t::hipErrorInvalidValue) };
    // SAFETY: the caller passes the kernel's arguments.
    with_function(stub, |function| unsafe {
        hipModuleLaunchKernel(
            function,
            grid.x,
            grid.y,
            grid.z,
            block.x,
            block.y,
            block.z,
            lds,
            stream,
            arguments,
            std::ptr::null_mut(),
        )
    })
}

/// `hipLaunchCooperativeKernel`: the kernel of a stub.
pub(crate) unsafe extern "C" fn hipLaunchCooperativeKernel(
    stub: *const c_void,
    grid: dim3,
    block: dim3,
    arguments: *mut *mut c_void,
    lds: c_uint,
    stream: hipStream_t,
) -> hipError_t {
    // SAFETY: the caller passes the kernel's arguments.
    with_function(stub, |function| unsafe {
        hipModuleLaunchCooperativeKernel(
            function, grid.x, grid.y, grid.z, block.x, block.y, block.z, lds, stream, arguments,
        )
    })
}

/// `hipGetFuncBySymbol`: the function of a stub.
pub(crate) unsafe extern "C" fn hipGetFuncBySymbol(
    out: *mut hipFunction_t,
    stub: *const c_void,
) -> hipError_t {
    with_function(stub, |function| {
        // SAFETY: the caller passes null or a place.
        let Some(out) = (unsafe { out.as_mut() }) else { return failed(hipError_t::hipErrorInvalidValue) };
        *out = function;
        hipError_t::hipSuccess
    })
}

/// `hipFuncGetAttributes`: of a stub's kernel.
pub(crate) unsafe extern "C" fn hipFuncGetAttributes(
    out: *mut hipFuncAttributes,
    stub: *const c_void,
) -> hipError_t {
    use CUfunction_attribute as A;
    steps(|cuda| {
        let function = function_of(cuda, stub)?;
        let number = |attribute| {
            let mut value = 0;
            // SAFETY: the function is loaded, and the result is a place to write to.
            check(unsafe { (cuda.cuFuncGetAttribute)(&raw mut value, attribute, function) }).map(|()| value)
        };
        let bytes = |attribute| number(attribute).map(|value| value.unsigned_abs() as usize);
        // SAFETY: the caller passes null or a place.
        *unsafe { out.as_mut() }.ok_or(INVALID)? = hipFuncAttributes {
            binaryVersion: number(A::CU_FUNC_ATTRIBUTE_BINARY_VERSION)?,
            cacheModeCA: number(A::CU_FUNC_ATTRIBUTE_CACHE_MODE_CA)?,
            constSizeBytes: bytes(A::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)?,
            localSizeBytes: bytes(A::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            maxDynamicSharedSizeBytes: number(A::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)?,
            maxThreadsPerBlock: number(A::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            numRegs: number(A::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            preferredShmemCarveout: number(A::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)?,
            ptxVersion: number(A::CU_FUNC_ATTRIBUTE_PTX_VERSION)?,
            sharedSizeBytes: bytes(A::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
        };
        Ok(())
    })
}

/// `hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags`: of a stub's kernel.
pub(crate) unsafe extern "C" fn hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks: *mut c_int,
    stub: *const c_void,
    block: c_int,
    lds: usize,
    flags: c_uint,
) -> hipError_t {
    // SAFETY: the caller passes a place.
    with_function(stub, |function| unsafe {
        hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block, lds, flags)
    })
}

/// `hipOccupancyMaxActiveBlocksPerMultiprocessor`: of a stub's kernel.
pub(crate) unsafe extern "C" fn hipOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    stub: *const c_void,
    block: c_int,
    lds: usize,
) -> hipError_t {
    // SAFETY: as there.
    unsafe { hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, stub, block, lds, 0) }
}

/// `hipOccupancyMaxPotentialBlockSize`: of a stub's kernel.
pub(crate) unsafe extern "C" fn hipOccupancyMaxPotentialBlockSize(
    grid: *mut c_int,
    block: *mut c_int,
    stub: *const c_void,
    lds: usize,
    limit: c_int,
) -> hipError_t {
    // SAFETY: the caller passes places.
    with_function(stub, |function| unsafe {
        hipModuleOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, lds, limit, 0)
    })
}

/// `hipGetSymbolAddress`: of a variable on the thread's device.
pub(crate) unsafe extern "C" fn hipGetSymbolAddress(
    out: *mut *mut c_void,
    symbol: *const c_void,
) -> hipError_t {
    steps(|cuda| {
        let (address, _) = symbols::variable(cuda, runtime::current(cuda), symbol)?;
        if out.is_null() {
            return Err(INVALID);
        }
        // SAFETY: the caller passes a place.
        unsafe { place(out).write(address) };
        Ok(())
    })
}

/// `hipGetSymbolSize`.
pub(crate) unsafe extern "C" fn hipGetSymbolSize(out: *mut usize, symbol: *const c_void) -> hipError_t {
    steps(|cuda| {
        let (_, size) = symbols::variable(cuda, runtime::current(cuda), symbol)?;
        // SAFETY: the caller passes null or a place.
        *unsafe { out.as_mut() }.ok_or(INVALID)? = size;
        Ok(())
    })
}

/// Calls something with a part of a variable.
fn with_part(
    symbol: *const c_void,
    offset: usize,
    size: usize,
    run: impl FnOnce(*mut c_void) -> hipError_t,
) -> hipError_t {
    let found = Cell::new(0);
    let status = steps(|cuda| {
        let (address, whole) = symbols::variable(cuda, runtime::current(cuda), symbol)?;
        if offset.checked_add(size).is_none_or(|end| end > whole) {
            return Err(INVALID);
        }
        found.set(address + offset as u64);
        Ok(())
    });
    match status {
        hipError_t::hipSuccess => run(std::ptr::without_provenance_mut(found.get() as usize)),
        status => status,
    }
}

/// `hipMemcpyToSymbol`: to a variable of the thread's device.
pub(crate) unsafe extern "C" fn hipMemcpyToSymbol(
    symbol: *const c_void,
    source: *const c_void,
    size: usize,
    offset: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    // SAFETY: the part is the variable's, and the caller vouches for the source.
    with_part(symbol, offset, size, |part| unsafe { hipMemcpy(part, source, size, kind) })
}

/// `hipMemcpyFromSymbol`: from a variable of the thread's device.
pub(crate) unsafe extern "C" fn hipMemcpyFromSymbol(
    target: *mut c_void,
    symbol: *const c_void,
    size: usize,
    offset: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    // SAFETY: the part is the variable's, and the caller vouches for the target.
    with_part(symbol, offset, size, |part| unsafe { hipMemcpy(target, part, size, kind) })
}

/// `hipMemcpyToSymbolAsync`.
pub(crate) unsafe extern "C" fn hipMemcpyToSymbolAsync(
    symbol: *const c_void,
    source: *const c_void,
    size: usize,
    offset: usize,
    kind: hipMemcpyKind,
    stream: hipStream_t,
) -> hipError_t {
    // SAFETY: as `hipMemcpyToSymbol`.
    with_part(symbol, offset, size, |part| unsafe { hipMemcpyAsync(part, source, size, kind, stream) })
}

/// `hipMemcpyFromSymbolAsync`.
pub(crate) unsafe extern "C" fn hipMemcpyFromSymbolAsync(
    target: *mut c_void,
    symbol: *const c_void,
    size: usize,
    offset: usize,
    kind: hipMemcpyKind,
    stream: hipStream_t,
) -> hipError_t {
    // SAFETY: as `hipMemcpyFromSymbol`.
    with_part(symbol, offset, size, |part| unsafe { hipMemcpyAsync(target, part, size, kind, stream) })
}
