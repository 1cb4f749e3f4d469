//! Memory imported from a file descriptor, here one exported by the runtime itself.

use std::ffi::c_void;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::ptr::null_mut;

use hip_sys::{
    hipExternalMemory_t, hipExternalMemoryBufferDesc, hipExternalMemoryHandleDesc,
    hipExternalMemoryHandleType, hipMemcpyKind,
};
use test_skip::{Lack, skip};

use crate::support::{E, Memory, OK, hip, is_virtual, turn};

const INVALID: E = E::hipErrorInvalidValue;

fn description(descriptor: i32, size: usize) -> hipExternalMemoryHandleDesc {
    let mut description = hipExternalMemoryHandleDesc {
        type_: hipExternalMemoryHandleType::hipExternalMemoryHandleTypeOpaqueFd,
        size: size as u64,
        ..Default::default()
    };
    description.handle.fd = descriptor;
    description
}

fn import(description: &hipExternalMemoryHandleDesc) -> Result<hipExternalMemory_t, E> {
    let mut memory = null_mut();
    match hip!(hipImportExternalMemory(&mut memory, description)) {
        OK => Ok(memory),
        code => Err(code),
    }
}

fn map(memory: hipExternalMemory_t, offset: usize, size: usize) -> Result<*mut c_void, E> {
    let mut pointer = null_mut();
    let part = hipExternalMemoryBufferDesc { offset: offset as u64, size: size as u64, ..Default::default() };
    match hip!(hipExternalMemoryGetMappedBuffer(&mut pointer, memory, &part)) {
        OK => Ok(pointer),
        code => Err(code),
    }
}

/// A descriptor of device memory.
fn export(memory: &Memory) -> Option<i32> {
    let mut descriptor = -1_i32;
    let kind = hip_sys::hipMemRangeHandleType::hipMemRangeHandleTypeDmaBufFd;
    let place = (&raw mut descriptor).cast();
    let code = hip!(hipMemGetHandleForAddressRange(place, memory.pointer, memory.size, kind, 0));
    if code != OK {
        skip(Lack::Device, format_args!("this device's memory is not exported: {code:?}"));
        return None;
    }
    Some(descriptor)
}

/// The file behind a descriptor.
fn file(descriptor: i32) -> Option<u64> {
    std::fs::metadata(format!("/proc/self/fd/{descriptor}")).ok().map(|file| file.ino())
}

#[test]
fn imported_memory_stays_until_its_handle_and_all_its_buffers_are_gone() {
    let _turn = turn();
    let numbers: Vec<u32> = (0..5000).map(|index| index * 77 + 5).collect();
    let own = Memory::of(&numbers);
    let Some(descriptor) = export(&own) else { return };
    let before = file(descriptor);
    let memory = import(&description(descriptor, own.size)).unwrap();
    assert!(
        before.is_some() && file(descriptor) != before,
        "the descriptor is the runtime's, which has closed it"
    );

    let (first, second) = (map(memory, 0, own.size).unwrap(), map(memory, 400, 800).unwrap());
    assert_eq!(second as usize - first as usize, 400);
    assert_eq!(map(memory, 0, 4).unwrap(), first, "mapped twice");
    let read = |pointer: *mut c_void, count: usize| {
        let mut values = vec![0_u32; count];
        let kind = hipMemcpyKind::hipMemcpyDeviceToHost;
        assert_eq!(hip!(hipMemcpy(values.as_mut_ptr().cast(), pointer, 4 * count, kind)), OK);
        values
    };
    assert_eq!(read(second, 200), numbers[100..300]);
    assert_eq!(hip!(hipMemsetD32(second, 9, 200)), OK);
    assert_eq!(own.read::<u32>(5000)[100..300], [9; 200]);
    // A copy beyond the memory is refused, one beyond a buffer is not: all of it is one allocation.
    let mut values = [0_u32; 2];
    let last = first.wrapping_byte_add(own.size - 4);
    let kind = hipMemcpyKind::hipMemcpyDeviceToHost;
    assert_eq!(hip!(hipMemcpy(values.as_mut_ptr().cast(), last, 8, kind)), INVALID);
    let (mut base, mut size) = (null_mut(), 0);
    assert_eq!(hip!(hipMemGetAddressRange(&mut base, &mut size, second)), OK);
    assert_eq!((base, size), (first, own.size));

    assert_eq!(hip!(hipDestroyExternalMemory(memory)), OK);
    assert_eq!(hip!(hipDestroyExternalMemory(memory)), INVALID);
    assert_eq!(map(memory, 0, 4), Err(INVALID));
    assert_eq!(hip!(hipFree(first.wrapping_byte_add(4))), INVALID, "no buffer begins there");
    assert_eq!(hip!(hipFree(first)), OK);
    assert_eq!(hip!(hipFree(second)), OK);
    assert_eq!(hip!(hipFree(second)), INVALID);
    drop(own);
    assert_eq!(read(first, 100), numbers[..100], "it was mapped twice, and the memory is shared");
    assert_eq!(hip!(hipFree(first)), OK);
    let code = hip!(hipMemcpy(values.as_mut_ptr().cast(), first, 8, kind));
    assert!(code == INVALID || !is_virtual(), "{code:?}");
}

#[test]
fn what_cannot_be_imported_or_mapped_is_an_error_and_the_descriptor_stays() {
    let _turn = turn();
    let own = Memory::new(10_000);
    let Some(descriptor) = export(&own) else { return };
    // SAFETY: the descriptor is the test's until it is imported.
    let kept = unsafe { OwnedFd::from_raw_fd(descriptor) };
    let before = file(descriptor);
    let refused = |change: &dyn Fn(&mut hipExternalMemoryHandleDesc)| {
        let mut wrong = description(descriptor, own.size);
        change(&mut wrong);
        import(&wrong).unwrap_err()
    };
    type Handle = hipExternalMemoryHandleType;
    assert_eq!(refused(&|wrong| wrong.size = 0), INVALID);
    assert_eq!(refused(&|wrong| wrong.size = 1 << 40), INVALID);
    assert_eq!(refused(&|wrong| wrong.flags = 2), INVALID);
    assert_eq!(refused(&|wrong| wrong.handle.fd = -1), INVALID);
    assert_eq!(refused(&|wrong| wrong.handle.fd = 0), INVALID, "standard input is not memory");
    assert_eq!(refused(&|wrong| wrong.type_ = hipExternalMemoryHandleType(77)), INVALID);
    for kind in [Handle::hipExternalMemoryHandleTypeOpaqueWin32, Handle::hipExternalMemoryHandleTypeNvSciBuf]
    {
        assert_eq!(refused(&|wrong| wrong.type_ = kind), E::hipErrorNotSupported);
    }
    assert_eq!(hip!(hipImportExternalMemory(null_mut(), &description(descriptor, 4))), INVALID);
    let mut memory = null_mut();
    assert_eq!(hip!(hipImportExternalMemory(&mut memory, std::ptr::null())), INVALID);
    assert_eq!(file(descriptor), before);

    std::mem::forget(kept);
    let memory = import(&description(descriptor, 6000)).unwrap();
    for (offset, size) in [(0, 6001), (6000, 1), (0, 0), (usize::MAX, 2), (1, usize::MAX)] {
        assert_eq!(map(memory, offset, size), Err(INVALID), "{offset} {size}");
    }
    assert_eq!(map(null_mut(), 0, 4), Err(INVALID));
    let mut pointer = null_mut();
    let flagged = hipExternalMemoryBufferDesc { size: 4, flags: 1, ..Default::default() };
    assert_eq!(hip!(hipExternalMemoryGetMappedBuffer(&mut pointer, memory, &flagged)), INVALID);
    assert_eq!(hip!(hipDestroyExternalMemory(null_mut())), INVALID);
    assert_eq!(hip!(hipDestroyExternalMemory(memory)), OK);
}
