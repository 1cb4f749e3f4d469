//! The table entries that replace an older library's own functions.
//!
//! A caller's pointers need not be aligned, so memory is read and written without alignment. Null is passed
//! on to the library, which decides about it.
#![allow(non_snake_case, reason = "the C names")]

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::ptr::{null, null_mut};

use super::convert::{self, Converted};
use super::{Generation, Originals, held};
use crate::bindings::*;
use crate::legacy::{v5_2, v5_7};

/// Defines each function once per slot. It finds the library's own functions in the slot and works with them.
macro_rules! calls {
    ($(
        $(#[$doc:meta])*
        fn $name:ident($own:ident $(, $argument:ident: $type:ty)* $(,)?) $work:block
    )*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As for the C function of that name.
            pub(super) unsafe extern "C" fn $name<const SLOT: usize>($($argument: $type),*) -> hipError_t {
                unsafe fn work($own: &Originals $(, $argument: $type)*) -> hipError_t $work
                match held(SLOT) {
                    // SAFETY: the caller keeps the C function's contract.
                    Some(own) => unsafe { work(own $(, $argument)*) },
                    None => hipError_t::hipErrorNotSupported,
                }
            }
        )*
    };
}

/// Returns the library's own function, or returns early from the caller without it.
macro_rules! own {
    ($own:ident.$name:ident) => {
        match $own.$name {
            Some(function) => function,
            None => return hipError_t::hipErrorNotSupported,
        }
    };
}

/// Calls with the older form of the value at `given`; null is passed on.
///
/// # Safety
/// `given` must be null or point to a `New`.
unsafe fn with<New: Copy, Old>(
    given: *const New,
    convert: impl FnOnce(&New) -> Converted<Old>,
    call: impl FnOnce(*const Old) -> hipError_t,
) -> hipError_t {
    if given.is_null() {
        return call(null());
    }
    // SAFETY: the caller vouches for it, but not for alignment.
    let new = unsafe { given.read_unaligned() };
    match convert(&new) {
        Ok(old) => call(&old),
        Err(error) => error,
    }
}

/// Like `with`, for an array. The older elements are smaller than the caller's, so the heap use for a long
/// array is in proportion.
///
/// # Safety
/// `given` must be null or point to `count` times `New`.
unsafe fn with_array<New: Copy, Old: Copy + Default>(
    given: *const New,
    count: c_uint,
    convert: impl Fn(&New) -> Old,
    call: impl FnOnce(*const Old) -> hipError_t,
) -> hipError_t {
    const { assert!(size_of::<Old>() <= size_of::<New>()) };
    if given.is_null() {
        return call(null());
    }
    let count = count as usize;
    // SAFETY: the caller vouches for the elements, but not for alignment.
    let element = |index: usize| convert(&unsafe { given.add(index).read_unaligned() });
    let mut few = [Old::default(); 8];
    if let Some(few) = few.get_mut(..count) {
        for (index, old) in few.iter_mut().enumerate() {
            *old = element(index);
        }
        return call(few.as_ptr());
    }
    let mut many = Vec::new();
    if many.try_reserve_exact(count).is_err() {
        return hipError_t::hipErrorOutOfMemory;
    }
    many.extend((0..count).map(element));
    call(many.as_ptr())
}

/// Calls with a place for the older form, and writes the result in the newest form to `place`; null is passed
/// on.
///
/// # Safety
/// `place` must be null or have room for a `New`.
unsafe fn receive<New, Old: Default>(
    place: *mut New,
    call: impl FnOnce(*mut Old) -> hipError_t,
    convert: impl FnOnce(&Old) -> New,
) -> hipError_t {
    if place.is_null() {
        return call(null_mut());
    }
    let mut old = Old::default();
    let status = call(&mut old);
    if status == hipError_t::hipSuccess {
        // SAFETY: the caller vouches for the place, but not for alignment.
        unsafe { place.write_unaligned(convert(&old)) };
    }
    status
}

/// Replaces HIP 5's number of a memory type.
///
/// # Safety
/// `place` must be null or hold the number.
unsafe fn renumber_memory_type(place: *mut c_void) {
    let place = place.cast::<u32>();
    if !place.is_null() {
        // SAFETY: the caller vouches for it, but not for alignment.
        unsafe {
            let old = v5_7::hipMemoryType(place.read_unaligned());
            place.write_unaligned(convert::memory_type_of_5(old).0);
        }
    }
}

calls! {
    /// From HIP 5's properties; fields that it lacks are zero.
    fn hipGetDevicePropertiesR0600(own, properties: *mut hipDeviceProp_tR0600, device: c_int) {
        let get = own!(own.hipGetDeviceProperties);
        // SAFETY: the place is the caller's, or null, or for the older form.
        unsafe { receive(properties, |old| get(old, device), hipDeviceProp_tR0600::of_5) }
    }

    /// With HIP 5's properties.
    fn hipChooseDeviceR0600(own, device: *mut c_int, properties: *const hipDeviceProp_tR0600) {
        let choose = own!(own.hipChooseDevice);
        // SAFETY: both are the caller's; the properties are converted.
        unsafe { with(properties, |new| Ok(hipDeviceProp_tR0000::of_6(new)), |old| choose(device, old)) }
    }

    /// With the attribute's number in the library.
    fn hipDeviceGetAttribute(own, value: *mut c_int, attribute: hipDeviceAttribute_t, device: c_int) {
        let get = own!(own.hipDeviceGetAttribute);
        let attribute = match own.generation {
            Generation::V7_0 => convert::device_attribute_to_7_0(attribute),
            _ => convert::device_attribute_to_5(attribute),
        };
        match attribute {
            // SAFETY: the place is the caller's; the attribute is one that is written as an integer.
            Some(attribute) => unsafe { get(value, attribute, device) },
            None => hipError_t::hipErrorInvalidValue,
        }
    }

    /// From the device's properties, as in HIP 7.
    fn hipDeviceGetTexture1DLinearMaxWidth(
        own,
        width: *mut usize,
        format: *const hipChannelFormatDesc,
        device: c_int,
    ) {
        if width.is_null() || format.is_null() {
            return hipError_t::hipErrorInvalidValue;
        }
        let (status, bytes) = if let Some(get) = own.hipGetDevicePropertiesR0600 {
            let mut properties = hipDeviceProp_tR0600::default();
            // SAFETY: the place has the form that this function writes.
            (unsafe { get(&mut properties, device) }, properties.maxTexture1DLinear)
        } else {
            let get = own!(own.hipGetDeviceProperties);
            let mut properties = hipDeviceProp_tR0000::default();
            // SAFETY: the place has the form that this function writes.
            (unsafe { get(&mut properties, device) }, properties.maxTexture1DLinear)
        };
        if status != hipError_t::hipSuccess {
            return status;
        }
        // SAFETY: neither is null; the caller vouches for both, but not for their alignment.
        unsafe {
            match convert::texture_width(bytes, &format.read_unaligned()) {
                Ok(elements) => width.write_unaligned(elements),
                Err(error) => return error,
            }
        }
        hipError_t::hipSuccess
    }

    /// With the flag's value in HIP 5.
    fn hipIpcOpenMemHandle(own, pointer: *mut *mut c_void, handle: hipIpcMemHandle_t, flags: c_uint) {
        let open = own!(own.hipIpcOpenMemHandle);
        // SAFETY: the place is the caller's.
        unsafe { open(pointer, handle, convert::ipc_flags_to_5(flags)) }
    }

    /// With a pointer to the file descriptor instead of its number.
    fn hipMemImportFromShareableHandle(
        own,
        handle: *mut hipMemGenericAllocationHandle_t,
        shared: *mut c_void,
        kind: hipMemAllocationHandleType,
    ) {
        let import = own!(own.hipMemImportFromShareableHandle);
        let mut descriptor = shared.addr() as c_int;
        let shared = match kind {
            hipMemAllocationHandleType::hipMemHandleTypePosixFileDescriptor => (&raw mut descriptor).cast(),
            _ => shared,
        };
        // SAFETY: the place is the caller's, and the descriptor is read during the call.
        unsafe { import(handle, shared, kind) }
    }

    /// With HIP 6's memory types.
    fn hipPointerGetAttributes(own, attributes: *mut hipPointerAttribute_t, pointer: *const c_void) {
        let get = own!(own.hipPointerGetAttributes);
        // SAFETY: the place is the caller's, or null, or for the older form.
        unsafe { receive(attributes, |old| get(old, pointer), convert::pointer_attributes_of_5) }
    }

    /// With HIP 6's memory types.
    fn hipPointerGetAttribute(
        own,
        data: *mut c_void,
        attribute: hipPointer_attribute,
        pointer: hipDeviceptr_t,
    ) {
        let get = own!(own.hipPointerGetAttribute);
        // SAFETY: the place is the caller's.
        let status = unsafe { get(data, attribute, pointer) };
        if status == hipError_t::hipSuccess
            && attribute == hipPointer_attribute::HIP_POINTER_ATTRIBUTE_MEMORY_TYPE
        {
            // SAFETY: the library has written the number there.
            unsafe { renumber_memory_type(data) };
        }
        status
    }

    /// With HIP 6's memory types.
    fn hipDrvPointerGetAttributes(
        own,
        count: c_uint,
        attributes: *mut hipPointer_attribute,
        data: *mut *mut c_void,
        pointer: hipDeviceptr_t,
    ) {
        let get = own!(own.hipDrvPointerGetAttributes);
        // SAFETY: both arrays are the caller's.
        let status = unsafe { get(count, attributes, data, pointer) };
        if status != hipError_t::hipSuccess || attributes.is_null() || data.is_null() {
            return status;
        }
        for index in 0..count as usize {
            // SAFETY: the caller vouches for this many elements, but not for their alignment; where the
            // attribute is the memory type, the library has written its number.
            unsafe {
                if attributes.add(index).read_unaligned() == hipPointer_attribute::HIP_POINTER_ATTRIBUTE_MEMORY_TYPE {
                    renumber_memory_type(data.add(index).read_unaligned());
                }
            }
        }
        status
    }

    /// With HIP 5's memory types.
    fn hipMemcpyParam2D(own, copy: *const hip_Memcpy2D) {
        let run = own!(own.hipMemcpyParam2D);
        // SAFETY: the description is the caller's, converted.
        unsafe { with(copy, convert::copy_2d_to_5, |old| run(old)) }
    }

    /// With HIP 5's memory types.
    fn hipMemcpyParam2DAsync(own, copy: *const hip_Memcpy2D, stream: hipStream_t) {
        let run = own!(own.hipMemcpyParam2DAsync);
        // SAFETY: the description is the caller's, converted; the library keeps no pointer to it.
        unsafe { with(copy, convert::copy_2d_to_5, |old| run(old, stream)) }
    }

    /// With HIP 5's memory types.
    fn hipDrvMemcpy2DUnaligned(own, copy: *const hip_Memcpy2D) {
        let run = own!(own.hipDrvMemcpy2DUnaligned);
        // SAFETY: the description is the caller's, converted.
        unsafe { with(copy, convert::copy_2d_to_5, |old| run(old)) }
    }

    /// With HIP 5's memory types and 32-bit sizes.
    fn hipDrvMemcpy3D(own, copy: *const HIP_MEMCPY3D) {
        let run = own!(own.hipDrvMemcpy3D);
        // SAFETY: the description is the caller's, converted.
        unsafe { with(copy, convert::copy_3d_to_5, |old| run(old)) }
    }

    /// With HIP 5's memory types and 32-bit sizes.
    fn hipDrvMemcpy3DAsync(own, copy: *const HIP_MEMCPY3D, stream: hipStream_t) {
        let run = own!(own.hipDrvMemcpy3DAsync);
        // SAFETY: the description is the caller's, converted; the library keeps no pointer to it.
        unsafe { with(copy, convert::copy_3d_to_5, |old| run(old, stream)) }
    }

    /// Without a maximum size.
    fn hipMemPoolCreate(own, pool: *mut hipMemPool_t, properties: *const hipMemPoolProps) {
        let create = own!(own.hipMemPoolCreate);
        // SAFETY: both are the caller's; the properties are converted.
        unsafe { with(properties, convert::pool_to_5, |old| create(pool, old)) }
    }

    /// With HIP 5.2's properties.
    fn hipMemCreate(
        own,
        handle: *mut hipMemGenericAllocationHandle_t,
        size: usize,
        properties: *const hipMemAllocationProp,
        flags: c_ulonglong,
    ) {
        let create = own!(own.hipMemCreate);
        // SAFETY: both are the caller's; the properties are converted.
        unsafe { with(properties, convert::allocation_to_5_2, |old| create(handle, size, old, flags)) }
    }

    /// With HIP 5.2's properties.
    fn hipMemGetAllocationGranularity(
        own,
        granularity: *mut usize,
        properties: *const hipMemAllocationProp,
        option: hipMemAllocationGranularity_flags,
    ) {
        let get = own!(own.hipMemGetAllocationGranularity);
        // SAFETY: both are the caller's; the properties are converted.
        unsafe { with(properties, convert::allocation_to_5_2, |old| get(granularity, old, option)) }
    }

    /// From HIP 5.2's properties.
    fn hipMemGetAllocationPropertiesFromHandle(
        own,
        properties: *mut hipMemAllocationProp,
        handle: hipMemGenericAllocationHandle_t,
    ) {
        let get = own!(own.hipMemGetAllocationPropertiesFromHandle);
        // SAFETY: the place is the caller's, or null, or for the older form.
        unsafe { receive(properties, |old| get(old, handle), convert::allocation_of_5_2) }
    }

    /// With HIP 5's description.
    fn hipImportExternalMemory(
        own,
        memory: *mut hipExternalMemory_t,
        description: *const hipExternalMemoryHandleDesc,
    ) {
        let import = own!(own.hipImportExternalMemory);
        // SAFETY: both are the caller's; the description is converted.
        unsafe { with(description, convert::external_memory_to_5, |old| import(memory, old)) }
    }

    /// With HIP 5's description.
    fn hipExternalMemoryGetMappedBuffer(
        own,
        pointer: *mut *mut c_void,
        memory: hipExternalMemory_t,
        description: *const hipExternalMemoryBufferDesc,
    ) {
        let map = own!(own.hipExternalMemoryGetMappedBuffer);
        // SAFETY: all are the caller's; the description is converted.
        unsafe { with(description, convert::external_buffer_to_5, |old| map(pointer, memory, old)) }
    }

    /// With HIP 5's description.
    fn hipImportExternalSemaphore(
        own,
        semaphore: *mut hipExternalSemaphore_t,
        description: *const hipExternalSemaphoreHandleDesc,
    ) {
        let import = own!(own.hipImportExternalSemaphore);
        // SAFETY: both are the caller's; the description is converted.
        unsafe { with(description, convert::external_semaphore_to_5, |old| import(semaphore, old)) }
    }

    /// With HIP 5's parameters.
    fn hipSignalExternalSemaphoresAsync(
        own,
        semaphores: *const hipExternalSemaphore_t,
        parameters: *const hipExternalSemaphoreSignalParams,
        count: c_uint,
        stream: hipStream_t,
    ) {
        let signal = own!(own.hipSignalExternalSemaphoresAsync);
        // SAFETY: both arrays are the caller's; the parameters are converted, and the library keeps no
        // pointer to them.
        unsafe { with_array(parameters, count, convert::signal_to_5, |old| signal(semaphores, old, count, stream)) }
    }

    /// With HIP 5's parameters.
    fn hipWaitExternalSemaphoresAsync(
        own,
        semaphores: *const hipExternalSemaphore_t,
        parameters: *const hipExternalSemaphoreWaitParams,
        count: c_uint,
        stream: hipStream_t,
    ) {
        let wait = own!(own.hipWaitExternalSemaphoresAsync);
        // SAFETY: both arrays are the caller's; the parameters are converted, and the library keeps no
        // pointer to them.
        unsafe { with_array(parameters, count, convert::wait_to_5, |old| wait(semaphores, old, count, stream)) }
    }

    /// With HIP 5.5's numbers.
    fn hipGraphNodeGetType(own, node: hipGraphNode_t, kind: *mut hipGraphNodeType) {
        let get = own!(own.hipGraphNodeGetType);
        let newest = match own.generation {
            Generation::V5_2 => convert::node_type_of_5_2,
            _ => convert::node_type_of_5_3,
        };
        // SAFETY: the place is the caller's, or null, or for the older number.
        unsafe {
            receive(kind, |old: *mut u32| get(node, old.cast()), |old| newest(v5_2::hipGraphNodeType(*old)))
        }
    }

    /// Without a maximum size of the pool.
    fn hipGraphAddMemAllocNode(
        own,
        node: *mut hipGraphNode_t,
        graph: hipGraph_t,
        dependencies: *const hipGraphNode_t,
        count: usize,
        parameters: *mut hipMemAllocNodeParams,
    ) {
        let add = own!(own.hipGraphAddMemAllocNode);
        if parameters.is_null() {
            // SAFETY: everything else is the caller's; the library sees that there are no parameters.
            return unsafe { add(node, graph, dependencies, count, null_mut()) };
        }
        // SAFETY: the caller vouches for the parameters, but not for their alignment, nor that the address,
        // which the library writes, is initialised.
        let (pool, mut old) = unsafe {
            (
                (&raw const (*parameters).poolProps).read_unaligned(),
                v5_7::hipMemAllocNodeParams {
                    accessDescs: (&raw const (*parameters).accessDescs).read_unaligned(),
                    accessDescCount: (&raw const (*parameters).accessDescCount).read_unaligned(),
                    bytesize: (&raw const (*parameters).bytesize).read_unaligned(),
                    ..Default::default()
                },
            )
        };
        match convert::pool_to_5(&pool) {
            Ok(pool) => old.poolProps = pool,
            Err(error) => return error,
        }
        // SAFETY: everything else is the caller's; the parameters are converted.
        let status = unsafe { add(node, graph, dependencies, count, &mut old) };
        if status == hipError_t::hipSuccess {
            // SAFETY: as above.
            unsafe { (&raw mut (*parameters).dptr).write_unaligned(old.dptr) };
        }
        status
    }

    /// From HIP 5's parameters.
    fn hipGraphMemAllocNodeGetParams(own, node: hipGraphNode_t, parameters: *mut hipMemAllocNodeParams) {
        let get = own!(own.hipGraphMemAllocNodeGetParams);
        // SAFETY: the place is the caller's, or null, or for the older form.
        unsafe { receive(parameters, |old| get(node, old), convert::allocation_node_of_5) }
    }

    /// With a value of 32 bytes.
    fn hipGraphKernelNodeSetAttribute(
        own,
        node: hipGraphNode_t,
        attribute: hipLaunchAttributeID,
        value: *const hipLaunchAttributeValue,
    ) {
        let set = own!(own.hipGraphKernelNodeSetAttribute);
        if !convert::has_launch_attribute(own.generation < Generation::V6_0, attribute) {
            return hipError_t::hipErrorNotSupported;
        }
        // SAFETY: the value is the caller's, converted.
        unsafe {
            with(value, |new| convert::launch_value_to_6(attribute, new), |old| set(node, attribute, old))
        }
    }

    /// From a value of 32 bytes.
    fn hipGraphKernelNodeGetAttribute(
        own,
        node: hipGraphNode_t,
        attribute: hipLaunchAttributeID,
        value: *mut hipLaunchAttributeValue,
    ) {
        let get = own!(own.hipGraphKernelNodeGetAttribute);
        if !convert::has_launch_attribute(own.generation < Generation::V6_0, attribute) {
            return hipError_t::hipErrorNotSupported;
        }
        // SAFETY: the place is the caller's, or null, or for the older form.
        unsafe {
            receive(value, |old| get(node, attribute, old), |old| convert::launch_value_of_6(attribute, old))
        }
    }

    /// With HIP 6's order of parameters.
    fn hipDrvGraphAddMemsetNode(
        own,
        node: *mut hipGraphNode_t,
        graph: hipGraph_t,
        dependencies: *const hipGraphNode_t,
        count: usize,
        parameters: *const hipMemsetParams,
        context: hipCtx_t,
    ) {
        let add = own!(own.hipDrvGraphAddMemsetNode);
        // SAFETY: everything is the caller's; the parameters are converted.
        unsafe {
            with(parameters, convert::memset_to_6, |old| add(node, graph, dependencies, count, old, context))
        }
    }

    /// With HIP 6's order of parameters.
    fn hipDrvGraphExecMemsetNodeSetParams(
        own,
        executable: hipGraphExec_t,
        node: hipGraphNode_t,
        parameters: *const hipMemsetParams,
        context: hipCtx_t,
    ) {
        let set = own!(own.hipDrvGraphExecMemsetNodeSetParams);
        // SAFETY: everything is the caller's; the parameters are converted.
        unsafe { with(parameters, convert::memset_to_6, |old| set(executable, node, old, context)) }
    }
}
