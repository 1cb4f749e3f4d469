use cudarc::driver::sys::{self, CUdevice_attribute, CUlimit, CUresult};
use cudarc::driver::{CudaContext, DriverError, LaunchConfig, PushKernelArg, result};

use crate::{device, kernel};

#[test]
fn a_device_says_what_it_is() {
    let (context, _) = device();
    assert!(context.is_primary() && context.ordinal() == 0);
    assert!(CudaContext::device_count().unwrap() >= 1);
    assert!(!context.name().unwrap().is_empty());
    assert_eq!(context.uuid().unwrap(), context.uuid().unwrap());
    let (free, total) = context.mem_get_info().unwrap();
    assert!(0 < free && free <= total && total <= context.total_mem().unwrap());
    let attribute = |attribute| context.attribute(attribute).unwrap();
    assert_eq!(attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32);
    assert!(attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) >= 1024);
    assert!(attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) >= 1);
}

#[test]
fn memory_is_allocated_in_stream_order() {
    let (context, stream) = device();
    // Some versions of AMD's library corrupt such memory.
    let is_amds = std::env::var("FERROCM_DEVICE").is_ok_and(|uri| uri.starts_with("amdgpu"));
    assert!(context.has_async_alloc() || is_amds);
    let memory = stream.clone_htod(&[7_u32; 100]).unwrap();
    let copy = stream.clone_dtod(&memory).unwrap();
    // The stream has the memory until the copy is done.
    drop(memory);
    assert_eq!(stream.clone_dtoh(&copy).unwrap(), [7; 100]);
}

#[test]
fn the_compute_capability_is_that_of_compiled_code() {
    let (context, stream) = device();
    let mut out = stream.alloc_zeros::<i32>(1).unwrap();
    let architecture = kernel(&context, "architecture");
    // SAFETY: the kernel writes one number.
    unsafe { stream.launch_builder(&architecture).arg(&mut out).launch(LaunchConfig::for_num_elems(1)) }
        .unwrap();
    let (major, minor) = context.compute_capability().unwrap();
    assert_eq!(stream.clone_dtoh(&out).unwrap(), [major * 100 + minor * 10]);
    let (mut numbers, device) = ((0, 0), context.cu_device());
    // SAFETY: both numbers are writable.
    let status = unsafe { sys::cuDeviceComputeCapability(&raw mut numbers.0, &raw mut numbers.1, device) };
    assert_eq!((status, numbers), (CUresult::CUDA_SUCCESS, (major, minor)));
}

#[test]
fn devices_that_are_not_there_are_errors() {
    let count = usize::try_from(CudaContext::device_count().unwrap()).unwrap();
    for ordinal in [count, usize::MAX] {
        let error = CudaContext::new(ordinal).unwrap_err();
        assert_eq!(error, DriverError(CUresult::CUDA_ERROR_INVALID_DEVICE));
        assert_eq!(error.error_name().unwrap(), c"CUDA_ERROR_INVALID_DEVICE");
        assert_eq!(error.to_string(), "DriverError(CUDA_ERROR_INVALID_DEVICE, \"invalid device\")");
    }
}

#[test]
fn errors_of_calls_that_return_none_are_kept_once() {
    let (context, _) = device();
    context.record_err::<()>(Err(DriverError(CUresult::CUDA_ERROR_ASSERT)));
    assert_eq!(context.bind_to_thread(), Err(DriverError(CUresult::CUDA_ERROR_ASSERT)));
    assert_eq!(context.check_err(), Ok(()));
    context.record_err(Ok(3));
    assert_eq!(context.bind_to_thread(), Ok(()));
}

#[test]
fn contexts_are_equal_by_device_and_others_are_made_beside() {
    let (context, _) = device();
    assert_eq!(context, CudaContext::new(0).unwrap());
    let other = CudaContext::new_non_primary(0, 0).unwrap();
    assert!(!other.is_primary() && other != context);
    assert_eq!(result::ctx::get_current().unwrap(), Some(other.cu_ctx()));
    let memory = other.default_stream().clone_htod(&[1_u8, 2]).unwrap();
    assert_eq!(other.default_stream().clone_dtoh(&memory).unwrap(), [1, 2]);
    drop(memory);
    drop(other);
    assert_eq!(result::ctx::get_current().unwrap(), None, "it ended");
    context.bind_to_thread().unwrap();
    let mut graphics = sys::CUctxCigParam {
        sharedDataType: sys::CUcigDataType::CIG_DATA_TYPE_D3D12_COMMAND_QUEUE,
        sharedData: std::ptr::null_mut(),
    };
    let error = CudaContext::new_cig(0, 0, &mut graphics).unwrap_err();
    assert_eq!(error, DriverError(CUresult::CUDA_ERROR_NOT_SUPPORTED));
}

#[test]
fn a_thread_without_a_context_has_none() {
    let (context, _) = device();
    let none = DriverError(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(result::ctx::get_current().unwrap(), None);
            assert_eq!(result::mem_get_info(), Err(none));
            assert_eq!(result::ctx::synchronize(), Err(none));
            context.bind_to_thread().unwrap();
            assert_eq!(result::ctx::get_current().unwrap(), Some(context.cu_ctx()));
            result::ctx::synchronize().unwrap();
        });
    });
}

#[test]
fn handles_that_are_none_are_refused() {
    device();
    let unknown = std::ptr::without_provenance_mut(8);
    // SAFETY: the call compares the address.
    let outcome = unsafe { result::ctx::set_current(unknown) };
    assert_eq!(outcome, Err(DriverError(CUresult::CUDA_ERROR_INVALID_CONTEXT)));
}

#[test]
fn limits_and_caches_are_read_and_set() {
    let (context, _) = device();
    let stack = context.get_limit(CUlimit::CU_LIMIT_STACK_SIZE).unwrap();
    context.set_limit(CUlimit::CU_LIMIT_STACK_SIZE, stack * 2).unwrap();
    assert_eq!(context.get_limit(CUlimit::CU_LIMIT_STACK_SIZE).unwrap(), stack * 2);
    context.set_limit(CUlimit::CU_LIMIT_STACK_SIZE, stack).unwrap();
    assert!(context.get_limit(CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE).unwrap() > 0);
    let unsupported = Err(DriverError(CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT));
    assert_eq!(context.get_limit(CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE), unsupported);
    let before = context.get_cache_config().unwrap();
    context.set_cache_config(sys::CUfunc_cache::CU_FUNC_CACHE_PREFER_L1).unwrap();
    context.set_cache_config(before).unwrap();
    context.set_blocking_synchronize().unwrap();
    context.synchronize().unwrap();
}

#[test]
fn pools_give_memory_and_say_what_they_have() {
    let (context, stream) = device();
    // SAFETY: the device was found, the pool lives until it is destroyed, its memory is freed first, and the
    // results are of the attributes' types.
    unsafe {
        let default = result::device::get_default_mem_pool(context.cu_device()).unwrap();
        assert_eq!(result::device::get_mem_pool(context.cu_device()).unwrap(), default);
        let props = sys::CUmemPoolProps {
            allocType: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: sys::CUmemLocation {
                type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
                id: context.cu_device(),
            },
            win32SecurityAttributes: std::ptr::null_mut(),
            maxSize: 0,
            usage: 0,
            reserved: [0; 54],
        };
        let pool = result::mem_pool::create(&raw const props).unwrap();
        let place = result::mem_pool::alloc_async(pool, 4096, stream.cu_stream()).unwrap();
        result::memset_d8_async(place, 7, 4096, stream.cu_stream()).unwrap();
        let mut bytes = [0_u8; 4096];
        result::memcpy_dtoh_async(&mut bytes, place, stream.cu_stream()).unwrap();
        assert_eq!(bytes, [7; 4096]);
        let mut used = 0_u64;
        let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT;
        result::mem_pool::get_attribute(pool, attribute, (&raw mut used).cast()).unwrap();
        assert!(used >= 4096);
        result::free_async(place, stream.cu_stream()).unwrap();
        stream.synchronize().unwrap();
        result::mem_pool::trim_to(pool, 0).unwrap();
        result::mem_pool::destroy(pool).unwrap();
    }
}
