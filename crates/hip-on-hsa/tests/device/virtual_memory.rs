//! Virtual memory management: reserved addresses, memory without an address, mappings.

use std::ffi::c_void;
use std::ptr::null_mut;

use hip_sys::{
    hipMemAccessDesc, hipMemAccessFlags as Flags, hipMemAllocationGranularity_flags as Granularity,
    hipMemAllocationHandleType as HandleType, hipMemAllocationProp, hipMemAllocationType,
    hipMemGenericAllocationHandle_t as Handle, hipMemLocation, hipMemLocationType, hipMemcpyKind as Kind,
};
use test_skip::{Lack, skip};

use crate::support::{self, E, Kernels, NULL, OK, arguments, hip, is_virtual, launch, report, turn};

fn location() -> hipMemLocation {
    hipMemLocation { type_: hipMemLocationType::hipMemLocationTypeDevice, id: 0 }
}

fn properties(types: HandleType) -> hipMemAllocationProp {
    let mut properties = hipMemAllocationProp {
        type_: hipMemAllocationType::hipMemAllocationTypePinned,
        location: location(),
        ..Default::default()
    };
    properties.__bindgen_anon_1.requestedHandleTypes = types;
    properties
}

/// Whether the device has virtual memory management; if not, its functions must report that.
fn is_supported() -> bool {
    let mut supported = 0;
    let which = hip_sys::hipDeviceAttribute_t::hipDeviceAttributeVirtualMemoryManagementSupported;
    assert_eq!(hip!(hipDeviceGetAttribute(&mut supported, which, 0)), OK);
    supported != 0
}

fn granularity() -> usize {
    let mut size = 0;
    let properties = properties(HandleType::hipMemHandleTypeNone);
    let which = Granularity::hipMemAllocationGranularityRecommended;
    assert_eq!(hip!(hipMemGetAllocationGranularity(&mut size, &properties, which)), OK);
    assert!(size.is_power_of_two());
    size
}

fn reserve(size: usize) -> *mut c_void {
    let mut start = null_mut();
    assert_eq!(hip!(hipMemAddressReserve(&mut start, size, 0, null_mut(), 0)), OK);
    assert!(!start.is_null());
    start
}

fn create(size: usize, types: HandleType) -> Handle {
    let mut handle = null_mut();
    assert_eq!(hip!(hipMemCreate(&mut handle, size, &properties(types), 0)), OK);
    handle
}

fn set_access(start: *mut c_void, size: usize, flags: Flags) -> E {
    let access = hipMemAccessDesc { location: location(), flags };
    hip!(hipMemSetAccess(start, size, &access, 1))
}

fn free_memory() -> usize {
    let (mut free, mut total) = (0, 0);
    assert_eq!(hip!(hipMemGetInfo(&mut free, &mut total)), OK);
    free
}

fn upload(to: *mut c_void, words: &[u32]) -> E {
    hip!(hipMemcpy(to, words.as_ptr().cast(), size_of_val(words), Kind::hipMemcpyHostToDevice))
}

fn download(from: *mut c_void, count: usize) -> Vec<u32> {
    let mut words = vec![0u32; count];
    let copy = hip!(hipMemcpy(words.as_mut_ptr().cast(), from, 4 * count, Kind::hipMemcpyDeviceToHost));
    assert_eq!(copy, OK);
    words
}

#[test]
fn a_range_grows_by_mapping_more_memory_behind_it() {
    let _turn = turn();
    if !is_supported() {
        skip(Lack::Device, "no virtual memory management");
        return;
    }
    let kernels = Kernels::load();
    let saxpy = kernels.get("saxpy");
    let (size, free) = (granularity(), free_memory());
    let start = reserve(4 * size);
    let parts: Vec<_> = (0..3).map(|_| create(size, HandleType::hipMemHandleTypeNone)).collect();
    assert!(free - free_memory() >= 3 * size);
    for (index, &part) in parts.iter().enumerate() {
        let place = start.wrapping_byte_add(index * size);
        assert_eq!(hip!(hipMemMap(place, size, 0, part, 0)), OK);
        assert_eq!(set_access(place, size, Flags::hipMemAccessFlagsProtReadWrite), OK);
        // Mappings keep their memory.
        assert_eq!(hip!(hipMemRelease(part)), OK);
    }
    let mut flags = 0;
    assert_eq!(hip!(hipMemGetAccess(&mut flags, &location(), start.wrapping_byte_add(size + 5))), OK);
    assert_eq!(flags, u64::from(Flags::hipMemAccessFlagsProtReadWrite.0));

    // Copies, fills and a kernel over all three at once.
    let count = 3 * size / 4;
    let ones: Vec<f32> = (0..count).map(|index| index as f32).collect();
    let words: Vec<u32> = ones.iter().map(|value| value.to_bits()).collect();
    assert_eq!(upload(start, &words), OK);
    let x = support::Memory::of(&vec![1.0f32; count]);
    let (mut a, mut from, mut to, mut n) = (2.0f32, x.pointer, start, count as u32);
    let blocks = [(count as u32).div_ceil(256), 1, 1];
    assert_eq!(launch(saxpy, blocks, [256, 1, 1], 0, NULL, arguments![a, from, to, n]), OK);
    assert_eq!(hip!(hipDeviceSynchronize()), OK);
    let expected: Vec<u32> = ones.iter().map(|value| (value + 2.0).to_bits()).collect();
    assert!(download(start, count) == expected);
    assert_eq!(hip!(hipMemsetD32(start.wrapping_byte_add(size - 8), 7, 4)), OK);
    assert_eq!(download(start.wrapping_byte_add(size - 12), 6)[1..5], [7; 4]);
    assert_eq!(hip!(hipMemset(start, 0, 3 * size + 1)), E::hipErrorInvalidValue, "nothing is mapped there");

    assert_eq!(hip!(hipMemAddressFree(start, 4 * size)), E::hipErrorInvalidValue, "something is mapped");
    assert_eq!(hip!(hipMemUnmap(start, 3 * size - 1)), E::hipErrorInvalidValue);
    assert_eq!(hip!(hipMemUnmap(start, 3 * size)), OK);
    assert_eq!(hip!(hipMemset(start, 0, 4)), E::hipErrorInvalidValue);
    assert_eq!(hip!(hipMemAddressFree(start, 4 * size)), OK);
    drop(x);
    assert!(free_memory() >= free);
}

#[test]
fn the_same_memory_has_two_addresses_and_keeps_its_contents_without_any() {
    let _turn = turn();
    if !is_supported() {
        skip(Lack::Device, "no virtual memory management");
        return;
    }
    let size = granularity();
    let start = reserve(2 * size);
    let second = start.wrapping_byte_add(size);
    let handle = create(size, HandleType::hipMemHandleTypeNone);
    assert_eq!(hip!(hipMemMap(start, size, 0, handle, 0)), OK);
    assert_eq!(upload(start, &[1]), E::hipErrorInvalidValue, "no device has access yet");
    assert_eq!(set_access(start, size, Flags::hipMemAccessFlagsProtReadWrite), OK);
    assert_eq!(upload(start, &[5, 6, 7]), OK);
    assert_eq!(hip!(hipMemMap(second, size, 0, handle, 0)), OK);
    assert_eq!(set_access(second, size, Flags::hipMemAccessFlagsProtReadWrite), OK);
    assert_eq!(download(second, 3), [5, 6, 7]);
    assert_eq!(upload(second, &[8]), OK);
    assert_eq!(download(start, 3), [8, 6, 7]);
    assert_eq!(hip!(hipMemUnmap(start, 2 * size)), OK);
    assert_eq!(hip!(hipMemMap(second, size, 0, handle, 0)), OK);
    assert_eq!(set_access(second, size, Flags::hipMemAccessFlagsProtReadWrite), OK);
    assert_eq!(download(second, 3), [8, 6, 7]);

    let mut again: Handle = null_mut();
    assert_eq!(hip!(hipMemRetainAllocationHandle(&mut again, second.wrapping_byte_add(9))), OK);
    assert_eq!(again, handle);
    assert_eq!(hip!(hipMemRelease(handle)), OK);
    let mut found = hipMemAllocationProp::default();
    assert_eq!(hip!(hipMemGetAllocationPropertiesFromHandle(&mut found, handle)), OK);
    assert_eq!((found.type_, found.location.id), (hipMemAllocationType::hipMemAllocationTypePinned, 0));
    assert_eq!(hip!(hipMemRelease(handle)), OK);
    assert_eq!(hip!(hipMemRelease(handle)), E::hipErrorInvalidValue, "all references were released");
    assert_eq!(hip!(hipMemUnmap(second, size)), OK);
    assert_eq!(hip!(hipMemAddressFree(start, 2 * size)), OK);
}

#[test]
fn memory_travels_by_file_descriptor() {
    let _turn = turn();
    if !is_supported() {
        skip(Lack::Device, "no virtual memory management");
        return;
    }
    let size = granularity();
    let types = HandleType::hipMemHandleTypePosixFileDescriptor;
    let start = reserve(2 * size);
    let handle = create(size, types);
    let mut descriptor = -1i32;
    let place = (&raw mut descriptor).cast();
    assert_eq!(hip!(hipMemExportToShareableHandle(place, handle, types, 0)), OK);
    let mut imported: Handle = null_mut();
    let number = descriptor as usize as *mut c_void;
    assert_eq!(hip!(hipMemImportFromShareableHandle(&mut imported, number, types)), OK);
    // SAFETY: the descriptor is this test's own, and it is closed once.
    unsafe { libc_close(descriptor) };
    for (index, handle) in [handle, imported].into_iter().enumerate() {
        let place = start.wrapping_byte_add(index * size);
        assert_eq!(hip!(hipMemMap(place, size, 0, handle, 0)), OK);
        assert_eq!(hip!(hipMemRelease(handle)), OK);
    }
    assert_eq!(set_access(start, 2 * size, Flags::hipMemAccessFlagsProtReadWrite), OK);
    assert_eq!(upload(start, &[3, 1, 4]), OK);
    assert_eq!(download(start.wrapping_byte_add(size), 3), [3, 1, 4]);
    assert_eq!(hip!(hipMemUnmap(start, 2 * size)), OK);
    assert_eq!(hip!(hipMemAddressFree(start, 2 * size)), OK);

    let plain = create(size, HandleType::hipMemHandleTypeNone);
    let refused = hip!(hipMemExportToShareableHandle(place, plain, types, 0));
    assert_eq!(refused, E::hipErrorInvalidValue, "it was not created for that");
    assert_eq!(hip!(hipMemRelease(plain)), OK);
    let invalid = hip!(hipMemImportFromShareableHandle(&mut imported, usize::MAX as *mut c_void, types));
    assert_eq!(invalid, E::hipErrorInvalidValue);
}

/// # Safety
/// The descriptor is the caller's own.
unsafe fn libc_close(descriptor: i32) {
    use std::os::fd::FromRawFd;
    // SAFETY: as this function's contract.
    drop(unsafe { std::fs::File::from_raw_fd(descriptor) });
}

#[test]
fn wrong_uses_are_errors() {
    let _turn = turn();
    let (mut start, mut handle) = (null_mut(), null_mut());
    let plain = properties(HandleType::hipMemHandleTypeNone);
    if !is_supported() {
        assert_eq!(hip!(hipMemAddressReserve(&mut start, 4096, 0, null_mut(), 0)), E::hipErrorNotSupported);
        assert_eq!(hip!(hipMemCreate(&mut handle, 1 << 21, &plain, 0)), E::hipErrorNotSupported);
        return;
    }
    let (size, invalid) = (granularity(), E::hipErrorInvalidValue);
    assert_eq!(hip!(hipMemAddressReserve(&mut start, size, 3, null_mut(), 0)), invalid);
    assert_eq!(hip!(hipMemAddressReserve(&mut start, size, 0, null_mut(), 1)), invalid);
    assert_eq!(hip!(hipMemAddressReserve(&mut start, 0, 0, null_mut(), 0)), invalid);
    assert_eq!(hip!(hipMemCreate(&mut handle, size + 1, &plain, 0)), invalid);
    assert_eq!(hip!(hipMemCreate(&mut handle, size, std::ptr::null(), 0)), invalid);
    let win32 = properties(HandleType::hipMemHandleTypeWin32);
    assert_eq!(hip!(hipMemCreate(&mut handle, size, &win32, 0)), E::hipErrorNotSupported);
    let most = properties_total().next_multiple_of(size) + size;
    assert_eq!(hip!(hipMemCreate(&mut handle, most, &plain, 0)), E::hipErrorOutOfMemory);
    let aligned = {
        let mut start = null_mut();
        assert_eq!(hip!(hipMemAddressReserve(&mut start, 2 * size, 4 * size, null_mut(), 0)), OK);
        assert!((start as usize).is_multiple_of(4 * size));
        start
    };
    let handle = create(size, HandleType::hipMemHandleTypeNone);
    assert_eq!(
        hip!(hipMemMap(aligned.wrapping_byte_add(2 * size), size, 0, handle, 0)),
        invalid,
        "not reserved"
    );
    assert_eq!(hip!(hipMemMap(aligned, size, size, handle, 0)), invalid, "no offsets");
    assert_eq!(hip!(hipMemMap(aligned, 2 * size, 0, handle, 0)), invalid, "not its size");
    assert_eq!(hip!(hipMemMap(aligned, size, 0, 8 as Handle, 0)), invalid);
    assert_eq!(hip!(hipMemMap(aligned, size, 0, handle, 0)), OK);
    assert_eq!(hip!(hipMemMap(aligned, size, 0, handle, 0)), invalid, "mapped already");
    assert_eq!(set_access(aligned, 2 * size, Flags::hipMemAccessFlagsProtReadWrite), invalid);
    assert_eq!(hip!(hipFree(aligned)), invalid);
    assert_eq!(hip!(hipMemUnmap(aligned, size)), OK);
    assert_eq!(hip!(hipMemRelease(handle)), OK);
    assert_eq!(hip!(hipMemAddressFree(aligned, size)), invalid);
    assert_eq!(hip!(hipMemAddressFree(aligned, 2 * size)), OK);
    assert_eq!(hip!(hipMemAddressFree(aligned, 2 * size)), invalid);
}

fn properties_total() -> usize {
    support::properties().totalGlobalMem
}

#[test]
fn kernels_fault_where_nothing_is_mapped_and_where_they_may_only_read() {
    let _turn = turn();
    if !is_virtual() {
        skip(Lack::Device, "not a virtual device");
        return;
    }
    let kernels = Kernels::load();
    let poke = kernels.get("poke");
    let size = granularity();
    let start = reserve(2 * size);
    let handle = create(size, HandleType::hipMemHandleTypeNone);
    let attempt = |offset: usize| {
        let mut address = start.wrapping_byte_add(offset);
        assert_eq!(launch(poke, [1; 3], [1; 3], 0, NULL, arguments![address]), OK);
        hip!(hipStreamSynchronize(NULL))
    };
    assert_eq!(attempt(0), E::hipErrorIllegalAddress, "reserved only");
    assert_eq!(hip!(hipMemMap(start, size, 0, handle, 0)), OK);
    assert_eq!(attempt(0), E::hipErrorIllegalAddress, "mapped, without access");
    assert_eq!(set_access(start, size, Flags::hipMemAccessFlagsProtRead), OK);
    assert_eq!(attempt(0), E::hipErrorIllegalAddress, "read-only");
    assert!(report(NULL).contains("poke"), "{}", report(NULL));
    assert_eq!(set_access(start, size, Flags::hipMemAccessFlagsProtReadWrite), OK);
    assert_eq!(attempt(size - 4), OK);
    assert_eq!(attempt(size), E::hipErrorIllegalAddress, "behind the mapping");
    assert_eq!(download(start.wrapping_byte_add(size - 4), 1), [1]);
    assert_eq!(set_access(start, size, Flags::hipMemAccessFlagsProtNone), OK);
    assert_eq!(attempt(size - 4), E::hipErrorIllegalAddress, "without access again");
    assert_eq!(hip!(hipMemUnmap(start, size)), OK);
    assert_eq!(attempt(0), E::hipErrorIllegalAddress, "unmapped");
    assert_eq!(hip!(hipMemRelease(handle)), OK);
    assert_eq!(hip!(hipMemAddressFree(start, 2 * size)), OK);
}
