use cudarc::driver::sys::{CUdevice_attribute, CUmemAttach_flags, CUresult};
use cudarc::driver::{DriverError, LaunchConfig, PushKernelArg, UnifiedSlice};
use test_skip::{Lack, skip};

use crate::{device, kernel};

/// Managed memory of 64 numbers, if the device has such.
fn numbers(attach_global: bool) -> Option<UnifiedSlice<u32>> {
    let (context, _) = device();
    let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY;
    // SAFETY: it is filled at once.
    let memory = unsafe { context.alloc_unified::<u32>(64, attach_global) };
    if context.attribute(attribute).unwrap() == 0 {
        assert_eq!(memory.unwrap_err(), DriverError(CUresult::CUDA_ERROR_NOT_PERMITTED));
        skip(Lack::Device, "the device has no managed memory");
        return None;
    }
    let mut memory = memory.unwrap();
    memory.as_mut_slice().unwrap().iter_mut().zip(0..).for_each(|(place, number)| *place = number);
    Some(memory)
}

#[test]
fn the_host_and_the_device_see_the_same() {
    let Some(mut memory) = numbers(true) else { return };
    let (context, stream) = device();
    let add = kernel(&context, "add_number");
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (16, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: the parts have as many numbers as there are threads, or more.
    unsafe {
        stream.launch_builder(&add).arg(&mut memory).arg(&100_u32).launch(config).unwrap();
        let mut view = memory.slice_mut(32..48);
        stream.launch_builder(&add).arg(&mut view).arg(&1000_u32).launch(config).unwrap();
    }
    let expected: Vec<u32> = (0..64)
        .map(|number| match number {
            0..16 => number + 100,
            32..48 => number + 1000,
            _ => number,
        })
        .collect();
    assert_eq!(memory.as_slice().unwrap(), expected);
    assert_eq!(stream.clone_dtoh(&memory.slice(30..34)).unwrap(), [30, 31, 1032, 1033]);
    let copy = stream.clone_htod(&memory).unwrap();
    assert_eq!(stream.clone_dtoh(&copy).unwrap(), expected);
    stream.memset_zeros(&mut memory.split_at_mut(60).1).unwrap();
    assert_eq!(memory.as_slice().unwrap()[58..], [58, 59, 0, 0, 0, 0]);
    assert!(memory.try_slice(60..65).is_none() && memory.try_split_at(65).is_none());
    context.check_err().unwrap();
}

#[test]
fn memory_of_one_stream_is_kept_from_others() {
    let Some(mut memory) = numbers(true) else { return };
    let (context, default) = device();
    let stream = context.new_stream().unwrap();
    memory.attach(&stream, CUmemAttach_flags::CU_MEM_ATTACH_SINGLE).unwrap();
    assert_eq!(memory.attach_mode(), CUmemAttach_flags::CU_MEM_ATTACH_SINGLE);
    memory.check_device_access(&stream).unwrap();
    let kept = DriverError(CUresult::CUDA_ERROR_NOT_PERMITTED);
    assert_eq!(memory.check_device_access(&default), Err(kept));
    let copy = stream.clone_dtod(&memory).unwrap();
    assert_eq!(stream.clone_dtoh(&copy).unwrap()[63], 63);
    memory.check_host_access().unwrap();
    assert_eq!(memory.as_slice().unwrap()[5], 5);
}

#[test]
fn memory_goes_where_it_is_used() {
    for attach_global in [true, false] {
        let Some(memory) = numbers(attach_global) else { return };
        let (context, stream) = device();
        let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS;
        let concurrent = context.attribute(attribute).unwrap() != 0;
        match memory.prefetch() {
            Ok(()) => stream.synchronize().unwrap(),
            Err(error) => {
                assert!(!concurrent && attach_global, "{error}");
                assert_eq!(error, DriverError(CUresult::CUDA_ERROR_NOT_PERMITTED));
            }
        }
        assert_eq!(memory.check_device_access(&stream).is_ok(), attach_global || concurrent);
        assert_eq!(memory.as_slice().unwrap()[9], 9);
    }
}
