use cudarc::driver::sys::{
    CUdevice_attribute, CUfunc_cache, CUfunction_attribute, CUoccupancy_flags_enum, CUresult,
};
use cudarc::driver::{DeviceRepr, DriverError, LaunchConfig, PushKernelArg};
use test_skip::{Lack, skip};

use crate::{device, kernel};

#[test]
fn arguments_are_what_the_kernel_gets() {
    let (context, stream) = device();
    let all = kernel(&context, "all");
    let mut out = stream.alloc_zeros::<f64>(9).unwrap();
    let input = stream.clone_htod(&[0.0_f32, 2.5, -3.5]).unwrap();
    let view = input.slice(1..);
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (9, 1, 1), shared_mem_bytes: 0 };
    let mut launch = stream.launch_builder(&all);
    launch.arg(&mut out).arg(&true).arg(&-3_i8).arg(&65535_u16).arg(&i32::MIN).arg(&(1_u64 << 40));
    launch.arg(&0.5_f32).arg(&-0.25_f64).arg(&view);
    // SAFETY: these are the kernel's arguments, and there are nine places.
    unsafe { launch.launch(config) }.unwrap();
    let expected = [1.0, -3.0, 65535.0, f64::from(i32::MIN), (1_u64 << 40) as f64, 0.5, -0.25, 2.5, -3.5];
    assert_eq!(stream.clone_dtoh(&out).unwrap(), expected);
}

#[test]
fn structures_are_passed_by_value() {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Shape {
        dims: usize,
        strides: [usize; 64],
        scale: f32,
    }
    // SAFETY: the kernel's structure is the same.
    unsafe impl DeviceRepr for Shape {}
    let (context, stream) = device();
    let sum = kernel(&context, "sum");
    let mut out = stream.alloc_zeros::<f32>(1).unwrap();
    let shape = Shape { dims: 64, strides: std::array::from_fn(|index| index), scale: 0.5 };
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: these are the kernel's arguments.
    unsafe { stream.launch_builder(&sum).arg(&mut out).arg(&shape).launch(config) }.unwrap();
    assert_eq!(stream.clone_dtoh(&out).unwrap(), [f64::from(63 * 64 / 2) as f32 * 0.5]);
}

#[test]
fn threads_are_where_the_configuration_says() {
    let (context, stream) = device();
    let place = kernel(&context, "where");
    let mut out = stream.alloc_zeros::<u32>(24 * 30).unwrap();
    let config = LaunchConfig { grid_dim: (2, 3, 4), block_dim: (5, 3, 2), shared_mem_bytes: 0 };
    // SAFETY: there are as many places as threads.
    unsafe { stream.launch_builder(&place).arg(&mut out).launch(config) }.unwrap();
    let expected: Vec<u32> =
        (0..24).flat_map(|block| (0..30).map(move |thread| block * 1000 + thread)).collect();
    assert_eq!(stream.clone_dtoh(&out).unwrap(), expected);
    let default = LaunchConfig::for_num_elems(1025);
    assert_eq!((default.grid_dim, default.block_dim, default.shared_mem_bytes), ((2, 1, 1), (1024, 1, 1), 0));
}

#[test]
fn launches_that_cannot_be_are_errors() {
    let (context, stream) = device();
    let nothing = kernel(&context, "nothing");
    let config = |grid, block, shared| LaunchConfig {
        grid_dim: (grid, 1, 1),
        block_dim: (block, 1, 1),
        shared_mem_bytes: shared,
    };
    for bad in [config(0, 1, 0), config(1, 0, 0), config(1, 4096, 0), config(1, 32, 1 << 24)] {
        // SAFETY: the kernel does nothing.
        let error = unsafe { stream.launch_builder(&nothing).launch(bad) }.unwrap_err();
        let expected = [CUresult::CUDA_ERROR_INVALID_VALUE, CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES];
        assert!(expected.contains(&error.0), "{bad:?}: {error}");
    }
    // SAFETY: the kernel does nothing.
    unsafe { stream.launch_builder(&nothing).launch(config(1, 64, 0)) }.unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn blocks_of_a_cooperative_launch_wait_for_each_other() {
    let (context, stream) = device();
    let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH;
    if context.attribute(attribute).unwrap() == 0 {
        return skip(Lack::Device, "the device has no cooperative launches");
    }
    let both = kernel(&context, "both");
    let mut x = stream.alloc_zeros::<u32>(4).unwrap();
    let config = LaunchConfig { grid_dim: (2, 1, 1), block_dim: (64, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: there are two places for each block.
    unsafe { stream.launch_builder(&both).arg(&mut x).launch_cooperative(config) }.unwrap();
    assert_eq!(stream.clone_dtoh(&x).unwrap(), [1, 2, 2, 1]);
}

#[test]
fn functions_say_what_they_need() {
    let (context, stream) = device();
    let reverse = kernel(&context, "reverse");
    assert_eq!(reverse.shared_size_bytes().unwrap(), 1024);
    assert_eq!(reverse.max_threads_per_block().unwrap(), 256);
    assert!(reverse.num_regs().unwrap() > 0);
    assert_eq!(reverse.local_size_bytes().unwrap(), 0);
    let blocks = |flags| reverse.occupancy_max_active_blocks_per_multiprocessor(256, 0, flags).unwrap();
    assert!(blocks(None) >= 1);
    assert_eq!(blocks(None), blocks(Some(CUoccupancy_flags_enum::CU_OCCUPANCY_DEFAULT)));
    // With half of the memory each, exactly two blocks fit. NVIDIA's driver stops at what a block may have
    // without asking for more.
    let free = reverse.occupancy_available_dynamic_smem_per_block(2, 256).unwrap();
    assert!(free > 0);
    let fit = reverse.occupancy_max_active_blocks_per_multiprocessor(256, free, None).unwrap();
    let is_limited = std::env::var("FERROCM_DEVICE").is_ok_and(|uri| uri.starts_with("cuda"));
    assert!(fit == 2 || is_limited && fit > 2, "{fit}");
    extern "C" fn four_bytes(block: std::ffi::c_int) -> usize {
        block as usize * 4
    }
    let (grid, block) = reverse.occupancy_max_potential_block_size(four_bytes, 0, 0, None).unwrap();
    assert!(grid >= 1 && (1..=256).contains(&block));
    let limited = reverse.occupancy_max_potential_block_size(four_bytes, 0, 64, None).unwrap();
    assert!(limited.1 <= 64);
    reverse
        .set_attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 2048)
        .unwrap();
    reverse.set_function_cache_config(CUfunc_cache::CU_FUNC_CACHE_PREFER_SHARED).unwrap();
    let too_much =
        reverse.set_attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 24);
    assert_eq!(too_much, Err(DriverError(CUresult::CUDA_ERROR_INVALID_VALUE)));
    let unsupported = Err(DriverError(CUresult::CUDA_ERROR_NOT_SUPPORTED));
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 1024 };
    assert_eq!(reverse.occupancy_max_active_clusters(config, &stream), unsupported);
    let numbers: Vec<f32> = (0..256_u16).map(f32::from).collect();
    let mut x = stream.clone_htod(&numbers).unwrap();
    // SAFETY: there are 256 numbers, and as much shared memory.
    unsafe { stream.launch_builder(&reverse).arg(&mut x).launch(config) }.unwrap();
    let expected: Vec<f32> = numbers.iter().rev().map(|number| number + 1.0).collect();
    assert_eq!(stream.clone_dtoh(&x).unwrap(), expected);
}
