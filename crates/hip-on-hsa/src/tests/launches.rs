//! Modules, functions, and what a launch writes.

use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};

use code_object::{CodeObject, HiddenArg};

use super::*;

/// The value of an argument in a segment.
fn value(segment: &[u8], offset: u32, size: u32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..size as usize].copy_from_slice(&segment[offset as usize..(offset + size) as usize]);
    u64::from_le_bytes(bytes)
}

#[repr(C)]
struct Mixed {
    a: i8,
    b: f64,
}

#[test]
fn arguments_lie_where_each_version_of_the_metadata_says() {
    let hip = start();
    for version in [4, 5, 6] {
        let bytes = kernels(version, "gfx1100");
        let object = CodeObject::parse(&bytes).unwrap();
        assert_eq!(object.version(), version);
        let kernel = object.kernel("mixed").unwrap();
        let module = hip.load(version);
        let function = hip.function(module, "mixed");
        let (mut a, mut b, mut c, mut d) = (-3i8, -300i16, 70_000i32, -5_000_000_000i64);
        let mut e = Mixed { a: 9, b: 2.5 };
        let mut out = 0x1234_5678_9abc_def0u64;
        let mut list: [*mut c_void; 6] = [
            (&raw mut a).cast(),
            (&raw mut b).cast(),
            (&raw mut c).cast(),
            (&raw mut d).cast(),
            (&raw mut e).cast(),
            (&raw mut out).cast(),
        ];
        let launched = hip!(
            hip,
            hipModuleLaunchKernel(function, 5, 6, 7, 8, 4, 2, 100, NULL, list.as_mut_ptr(), null_mut())
        );
        assert_eq!(launched, OK);
        assert_eq!(hip!(hip, hipStreamSynchronize(NULL)), OK);
        let seen = fake::take_dispatched().pop().unwrap();
        assert_eq!(seen.packet.workgroup, [8, 4, 2]);
        assert_eq!(seen.packet.grid, [40, 24, 14]);
        assert_eq!(seen.packet.group, 100);
        assert_eq!(seen.packet.private, kernel.private_segment_size);
        assert_eq!(seen.packet.completion, 0, "kernels carry no completion signal");
        assert_eq!(seen.packet.kernarg % 64, 0);
        let explicit: Vec<_> = kernel.explicit_args().collect();
        let at = |index: usize| value(&seen.arguments, explicit[index].offset, explicit[index].size.min(8));
        assert_eq!(at(0) as i8, a);
        assert_eq!(at(1) as i16, b);
        assert_eq!(at(2) as i32, c);
        assert_eq!(at(3) as i64, d);
        assert_eq!(at(4) as i8, e.a);
        assert_eq!(f64::from_bits(value(&seen.arguments, explicit[4].offset + 8, 8)), e.b);
        assert_eq!(at(5), out);
        assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
    }
}

#[test]
fn hidden_arguments_describe_the_launch_in_each_version() {
    let hip = start();
    for version in [4, 5, 6] {
        let bytes = kernels(version, "gfx1100");
        let object = CodeObject::parse(&bytes).unwrap();
        let kernel = object.kernel("geometry").unwrap();
        let module = hip.load(version);
        let function = hip.function(module, "geometry");
        let mut out = 0xaaaau64;
        let mut list: [*mut c_void; 1] = [(&raw mut out).cast()];
        let launched = hip!(
            hip,
            hipModuleLaunchKernel(function, 3, 4, 5, 16, 2, 1, 64, NULL, list.as_mut_ptr(), null_mut())
        );
        assert_eq!(launched, OK);
        assert_eq!(hip!(hip, hipStreamSynchronize(NULL)), OK);
        let seen = fake::take_dispatched().pop().unwrap();
        let mut known = 0;
        for (hidden, arg) in kernel.hidden_args() {
            let found = value(&seen.arguments, arg.offset, arg.size);
            let expected = match hidden {
                HiddenArg::BlockCountX => 3,
                HiddenArg::BlockCountY => 4,
                HiddenArg::BlockCountZ => 5,
                HiddenArg::GroupSizeX => 16,
                HiddenArg::GroupSizeY => 2,
                HiddenArg::GroupSizeZ => 1,
                HiddenArg::GridDims => 3,
                HiddenArg::DynamicLdsSize => 64,
                HiddenArg::SharedBase => 0x1111,
                HiddenArg::PrivateBase => 0x2222,
                HiddenArg::QueuePtr => {
                    assert_ne!(found, 0);
                    found
                }
                _ => 0,
            };
            assert_eq!(found, expected, "{hidden:?} of version {version}");
            known += 1;
        }
        // Version 4 has only offsets and buffers, which are all 0; a kernel that does not need them has none.
        assert!(known > 0 || version == 4, "version {version}");
        assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
    }
}

/// As Tensile passes arguments: without the padding at the end, with it, and with hidden arguments behind.
#[test]
fn a_buffer_of_packed_arguments_may_have_any_size_and_what_it_lacks_is_zero() {
    let hip = start();
    for version in [4, 5] {
        let module = hip.load(version);
        let function = hip.function(module, "saxpy");
        #[repr(C)]
        #[derive(Clone, Copy)]
        struct Arguments {
            a: f32,
            x: u64,
            y: u64,
            n: u32,
        }
        let arguments = Arguments { a: 1.5, x: 0x10, y: 0x20, n: 99 };
        // Bytes behind the arguments must not reach hidden ones.
        let mut buffer = [0xee_u8; 1 << 12];
        // SAFETY: the buffer has room, at any alignment.
        unsafe { buffer.as_mut_ptr().cast::<Arguments>().write_unaligned(arguments) };
        let bytes = kernels(version, "gfx1100");
        let object = CodeObject::parse(&bytes).unwrap();
        let kernel = object.kernel("saxpy").unwrap();
        let is_padding = |at: usize| {
            !kernel
                .args
                .iter()
                .any(|arg| (arg.offset as usize..(arg.offset + arg.size) as usize).contains(&at))
        };
        let mut reference: Option<Vec<u8>> = None;
        for size in [28, 32, 27, 24, 8, 1, 0, 29, 36, 64, 128, 255, 256, 257, 1 << 12] {
            let mut stated = size;
            let mut extra: [*mut c_void; 5] = [
                without_provenance_mut(1),
                buffer.as_mut_ptr().cast(),
                without_provenance_mut(2),
                (&raw mut stated).cast(),
                without_provenance_mut(3),
            ];
            let list = extra.as_mut_ptr();
            let plain =
                hip!(hip, hipModuleLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, null_mut(), list));
            let none = null_mut();
            let extended = hip!(
                hip,
                hipExtModuleLaunchKernel(
                    function,
                    32,
                    1,
                    1,
                    32,
                    1,
                    1,
                    0,
                    NULL,
                    null_mut(),
                    list,
                    none,
                    null_mut(),
                    0
                )
            );
            assert_eq!((plain, extended), (OK, OK), "{size} bytes, version {version}");
            assert_eq!(hip!(hip, hipStreamSynchronize(NULL)), OK);
            let all = fake::take_dispatched();
            assert_eq!(all.len(), 2);
            for seen in all {
                // The first size is that of the arguments: the others differ only in missing bytes.
                let whole = reference.get_or_insert_with(|| seen.arguments.clone());
                for (at, (&found, &given)) in seen.arguments.iter().zip(whole.iter()).enumerate() {
                    let expected = if at >= size && at < 28 { 0 } else { given };
                    assert!(found == expected || is_padding(at), "byte {at} of {size}, version {version}");
                }
            }
        }
        let whole = reference.unwrap();
        assert_eq!(value(&whole, 0, 4) as u32, 1.5f32.to_bits());
        assert_eq!((value(&whole, 8, 8), value(&whole, 16, 8), value(&whole, 24, 4)), (0x10, 0x20, 99));
        let mut unknown: [*mut c_void; 2] = [9 as *mut c_void, null_mut()];
        let launched = hip!(
            hip,
            hipModuleLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, null_mut(), unknown.as_mut_ptr())
        );
        assert_eq!(launched, E::hipErrorInvalidValue);
        assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
    }
}

#[test]
fn shapes_that_cannot_be_launched_are_refused() {
    let hip = start();
    let module = hip.load(5);
    let function = hip.function(module, "work");
    let narrow = hip.function(module, "narrow");
    let shape = |function, grid: [u32; 3], block: [u32; 3], lds: u32| {
        let mut zero = 0u64;
        let mut list = [(&raw mut zero).cast::<c_void>(); 2];
        hip!(
            hip,
            hipModuleLaunchKernel(
                function,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                lds,
                NULL,
                list.as_mut_ptr(),
                null_mut()
            )
        )
    };
    let one = [1, 1, 1];
    let invalid = E::hipErrorInvalidValue;
    for axis in 0..3 {
        let mut none = one;
        none[axis] = 0;
        assert_eq!(shape(function, none, one, 0), invalid);
        assert_eq!(shape(function, one, none, 0), invalid);
        let mut wide = one;
        wide[axis] = 1025;
        assert_eq!(shape(function, one, wide, 0), invalid);
    }
    assert_eq!(shape(function, one, [32, 32, 2], 0), invalid);
    assert_eq!(shape(function, [1 << 31, 1, 1], [2, 1, 1], 0), invalid);
    assert_eq!(shape(function, one, one, 65537), E::hipErrorInvalidValue);
    assert_eq!(shape(function, one, one, u32::MAX), E::hipErrorInvalidValue);
    assert_eq!(shape(narrow, one, [65, 1, 1], 0), invalid);
    assert_eq!(shape(narrow, one, [64, 1, 1], 0), OK);
    assert_eq!(shape(function, one, [1024, 1, 1], 65536), OK);
    // Arguments in both forms, and in neither.
    let mut list = [null_mut::<c_void>(); 5];
    let both = hip!(
        hip,
        hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, list.as_mut_ptr(), list.as_mut_ptr())
    );
    assert_eq!(both, E::hipErrorInvalidValue);
    let neither =
        hip!(hip, hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, null_mut(), null_mut()));
    assert_eq!(neither, E::hipErrorInvalidValue);
    let empty = hip.function(module, "empty");
    let none = hip!(hip, hipModuleLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, NULL, null_mut(), null_mut()));
    assert_eq!(none, OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn many_launches_reuse_packets_and_argument_memory() {
    let hip = start();
    let module = hip.load(5);
    let function = hip.function(module, "saxpy");
    let before = fake::live();
    // More than the queue has packets and the ring of arguments has room for, several times over.
    let count = 5000u32;
    for index in 0..count {
        let (mut a, mut x, mut y, mut n) = (0f32, 0u64, 0u64, index);
        let mut list: [*mut c_void; 4] =
            [(&raw mut a).cast(), (&raw mut x).cast(), (&raw mut y).cast(), (&raw mut n).cast()];
        let launched = hip!(
            hip,
            hipModuleLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, list.as_mut_ptr(), null_mut())
        );
        assert_eq!(launched, OK);
    }
    assert_eq!(hip!(hip, hipDeviceSynchronize()), OK);
    let seen = fake::take_dispatched();
    assert_eq!(seen.len(), count as usize);
    for (index, dispatched) in seen.iter().enumerate() {
        assert_eq!(value(&dispatched.arguments, 24, 4), index as u64, "arguments of launch {index}");
    }
    let after = fake::live();
    assert!(after.0 <= before.0 + 3 && after.1 <= before.1 + 4, "{before:?} {after:?}");
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn images_that_are_none_are_refused_and_nothing_is_lost() {
    let hip = start();
    let before = fake::live();
    let mut module = null_mut();
    let mut load = |bytes: &[u8]| hip!(hip, hipModuleLoadData(&mut module, bytes.as_ptr().cast()));
    assert_eq!(load(&[0; 64]), E::hipErrorInvalidImage);
    assert_eq!(load(&kernels(5, "gfx90a")), E::hipErrorNoBinaryForGpu);
    // The header is intact and states the length of the rest, so that damage behind it can be tested.
    let mut damaged = kernels(5, "gfx1100");
    let middle = damaged.len() / 2;
    damaged[64..middle].fill(0);
    assert_eq!(load(&damaged), E::hipErrorInvalidImage);
    let mut module = null_mut();
    let missing = c"/no/such/file.hsaco";
    assert_eq!(hip!(hip, hipModuleLoad(&mut module, missing.as_ptr())), E::hipErrorFileNotFound);
    assert_eq!(fake::live(), before);
}

#[test]
fn handles_end_with_their_module() {
    let hip = start();
    let before = fake::live().0;
    let module = hip.load(5);
    let function = hip.function(module, "empty");
    assert_eq!(hip.function(module, "empty"), function, "the same name gives the same handle");
    let mut other = null_mut();
    assert_eq!(hip!(hip, hipModuleGetFunction(&mut other, module, c"missing".as_ptr())), E::hipErrorNotFound);
    let (mut address, mut size) = (null_mut(), 0);
    assert_eq!(hip!(hip, hipModuleGetGlobal(&mut address, &mut size, module, c"counter".as_ptr())), OK);
    assert_eq!(size, 4);
    // A variable is device memory that copies know.
    assert_eq!(hip!(hip, hipMemsetD32(address, 11, 1)), OK);
    assert_eq!(hip!(hip, hipMemset(address, 0, 5)), E::hipErrorInvalidValue);
    assert_eq!(hip!(hip, hipFree(address)), E::hipErrorInvalidValue);
    let missing = hip!(hip, hipModuleGetGlobal(&mut address, &mut size, module, c"missing".as_ptr()));
    assert_eq!(missing, E::hipErrorNotFound);
    assert_eq!(hip.launch(function, NULL), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
    assert_eq!(hip.launch(function, NULL), E::hipErrorInvalidHandle);
    assert_eq!(hip!(hip, hipModuleUnload(module)), E::hipErrorNotFound);
    assert_eq!(hip!(hip, hipModuleGetFunction(&mut other, module, c"empty".as_ptr())), E::hipErrorNotFound);
    let _ = before;
}

#[test]
fn attributes_and_occupancy_come_from_the_code_object() {
    use hip_sys::hipFunction_attribute as A;
    let hip = start();
    let module = hip.load(5);
    let function = hip.function(module, "narrow");
    let mut value = 0;
    assert_eq!(
        hip!(hip, hipFuncGetAttribute(&mut value, A::HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function)),
        OK
    );
    assert_eq!(value, 64);
    assert_eq!(hip!(hip, hipFuncGetAttribute(&mut value, A(99), function)), E::hipErrorInvalidValue);
    let mut attributes = hip_sys::hipFuncAttributes::default();
    assert_eq!(hip!(hip, hipFuncGetAttributes(&mut attributes, function.cast())), OK);
    assert_eq!((attributes.maxThreadsPerBlock, attributes.binaryVersion), (64, 110));
    let work = hip.function(module, "work");
    let mut blocks = 0;
    let active = |blocks: &mut i32, block, lds| {
        hip!(hip, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks, work, block, lds))
    };
    // 16 waves fit each of the four SIMDs of a pair of compute units.
    assert_eq!(active(&mut blocks, 32, 0), OK);
    assert_eq!(blocks, 64);
    assert_eq!(active(&mut blocks, 1024, 0), OK);
    assert_eq!(blocks, 2);
    assert_eq!(active(&mut blocks, 32, 65536), OK);
    assert_eq!(blocks, 2);
    assert_eq!(active(&mut blocks, 32, 65537), OK);
    assert_eq!(blocks, 0);
    assert_eq!(active(&mut blocks, 0, 0), E::hipErrorInvalidValue);
    assert_eq!(active(&mut blocks, -1, 0), E::hipErrorInvalidValue);
    let (mut grid, mut block) = (0, 0);
    assert_eq!(hip!(hip, hipModuleOccupancyMaxPotentialBlockSize(&mut grid, &mut block, work, 0, 0)), OK);
    let (mut no_grid, mut no_block) = (0, 0);
    let no_limit =
        hip!(hip, hipModuleOccupancyMaxPotentialBlockSize(&mut no_grid, &mut no_block, work, 0, -1));
    assert_eq!((no_limit, no_grid, no_block), (OK, grid, block));
    assert_eq!((grid, block), (4, 1024));
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}
