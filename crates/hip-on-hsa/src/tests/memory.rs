//! Allocations, copies and fills.

use std::ffi::c_void;
use std::ptr::null_mut;

use hip_sys::hipMemcpyKind as Kind;

use super::*;

pub(super) fn pattern(size: usize) -> Vec<u8> {
    (0..size).map(|index| (index * 7 + index / 251) as u8).collect()
}

impl Hip {
    pub(super) fn upload(&self, to: *mut c_void, from: &[u8]) {
        assert_eq!(
            hip!(self, hipMemcpy(to, from.as_ptr().cast(), from.len(), Kind::hipMemcpyHostToDevice)),
            OK
        );
    }

    pub(super) fn download(&self, from: *mut c_void, size: usize) -> Vec<u8> {
        let mut bytes = vec![0xee; size];
        assert_eq!(
            hip!(self, hipMemcpy(bytes.as_mut_ptr().cast(), from, size, Kind::hipMemcpyDeviceToHost)),
            OK
        );
        bytes
    }
}

#[test]
fn sizes_that_cannot_be_are_out_of_memory_and_nothing_is_lost() {
    let hip = start();
    let before = fake::live().0;
    let mut pointer = std::ptr::dangling_mut::<c_void>();
    for size in [fake::DEVICE_BYTES + 1, usize::MAX, isize::MAX as usize] {
        assert_eq!(hip!(hip, hipMalloc(&mut pointer, size)), E::hipErrorOutOfMemory);
        assert!(pointer.is_null());
        assert_eq!(hip!(hip, hipHostMalloc(&mut pointer, size, 0)), E::hipErrorOutOfMemory);
    }
    assert_eq!(hip!(hip, hipMalloc(&mut pointer, 0)), OK);
    assert!(pointer.is_null());
    let mut pitch = 0;
    assert_eq!(hip!(hip, hipMallocPitch(&mut pointer, &mut pitch, usize::MAX, 2)), E::hipErrorInvalidValue);
    assert_eq!(hip!(hip, hipMallocManaged(&mut pointer, 64, 77)), E::hipErrorInvalidValue);
    assert_eq!(hip!(hip, hipHostAlloc(&mut pointer, 64, 0x8)), E::hipErrorInvalidValue);
    assert_eq!(fake::live().0, before);
}

#[test]
fn only_the_start_of_live_memory_can_be_freed() {
    let hip = start();
    let invalid = E::hipErrorInvalidValue;
    let device = hip.malloc(4096);
    let mut host = null_mut();
    assert_eq!(hip!(hip, hipHostMalloc(&mut host, 4096, 0)), OK);
    assert_eq!(hip!(hip, hipFree(device.wrapping_byte_add(64))), invalid);
    assert_eq!(hip!(hip, hipHostUnregister(host)), E::hipErrorHostMemoryNotRegistered);
    hip.free(device);
    assert_eq!(hip!(hip, hipFree(device)), invalid);
    assert_eq!(hip!(hip, hipHostFree(host)), OK);
    assert_eq!(hip!(hip, hipHostFree(host)), invalid);
    // As in AMD's library, either function frees memory of the other side.
    assert_eq!(hip!(hip, hipHostMalloc(&mut host, 4096, 0)), OK);
    assert_eq!(hip!(hip, hipFree(host)), OK);
    assert_eq!(hip!(hip, hipHostFree(host)), invalid);
    for flags in [
        hip_sys::hipDeviceMallocDefault,
        hip_sys::hipDeviceMallocFinegrained,
        hip_sys::hipDeviceMallocUncached,
    ] {
        let mut device = null_mut();
        assert_eq!(hip!(hip, hipExtMallocWithFlags(&mut device, 4096, flags)), OK);
        assert_eq!(hip!(hip, hipHostFree(device)), OK);
        assert_eq!(hip!(hip, hipFree(device)), invalid);
    }
    assert_eq!(hip!(hip, hipFree(null_mut())), OK);
    let mut local = 0u64;
    assert_eq!(hip!(hip, hipFree((&raw mut local).cast())), invalid);
}

#[test]
fn pageable_memory_comes_back_as_it_went_at_every_size() {
    let hip = start();
    // Up to several staging buffers, and around their edges.
    for size in [1, 3, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (9 << 20) + 5] {
        let device = hip.malloc(size);
        let bytes = pattern(size);
        hip.upload(device, &bytes);
        assert!(hip.download(device, size) == bytes, "{size}");
        hip.free(device);
    }
}

#[test]
fn copies_that_leave_an_allocation_are_refused() {
    let hip = start();
    let device = hip.malloc(100);
    let mut bytes = [0u8; 200];
    let host = bytes.as_mut_ptr().cast::<c_void>();
    let invalid = E::hipErrorInvalidValue;
    assert_eq!(hip!(hip, hipMemcpy(device, host, 101, Kind::hipMemcpyHostToDevice)), invalid);
    assert_eq!(hip!(hip, hipMemcpy(host, device.wrapping_byte_add(50), 51, Kind::hipMemcpyDefault)), invalid);
    assert_eq!(hip!(hip, hipMemcpy(device, host, usize::MAX, Kind::hipMemcpyDefault)), invalid);
    assert_eq!(hip!(hip, hipMemset(device, 0, 101)), invalid);
    assert_eq!(hip!(hip, hipMemset(device.wrapping_byte_add(100), 0, 1)), invalid);
    assert_eq!(hip!(hip, hipMemset(host, 0, 1)), invalid);
    hip.free(device);
    // Former device memory is unknown now, which the kind does not allow.
    assert_eq!(hip!(hip, hipMemcpy(device, host, 1, Kind::hipMemcpyHostToDevice)), invalid);
}

#[test]
fn kinds_and_null_are_checked_and_nothing_to_copy_is_success() {
    let hip = start();
    let device = hip.malloc(16);
    let mut byte = 0u8;
    let host = (&raw mut byte).cast::<c_void>();
    assert_eq!(hip!(hip, hipMemcpy(device, host, 1, Kind(9))), E::hipErrorInvalidMemcpyDirection);
    // AMD's Python examples copy results to the host but name the opposite direction.
    for (dst, src) in [(device, host), (host, device)] {
        for kind in [Kind::hipMemcpyHostToDevice, Kind::hipMemcpyDeviceToHost] {
            assert_eq!(hip!(hip, hipMemcpy(dst, src, 1, kind)), E::hipSuccess);
        }
        let (both, no) = (Kind::hipMemcpyDeviceToDevice, E::hipErrorInvalidValue);
        assert_eq!(hip!(hip, hipMemcpy(dst, src, 1, both)), no);
    }
    assert_eq!(hip!(hip, hipMemcpy(null_mut(), host, 1, Kind::hipMemcpyDefault)), E::hipErrorInvalidValue);
    assert_eq!(hip!(hip, hipMemcpy(device, null_mut(), 1, Kind::hipMemcpyDefault)), E::hipErrorInvalidValue);
    assert_eq!(hip!(hip, hipMemcpy(null_mut(), null_mut(), 0, Kind::hipMemcpyDefault)), OK);
    assert_eq!(
        hip!(hip, hipMemcpy2D(device, 4, host, 8, 8, 2, Kind::hipMemcpyHostToDevice)),
        E::hipErrorInvalidPitchValue
    );
    hip.free(device);
}

#[test]
fn device_memory_is_copied_within_the_device_and_to_pinned_memory() {
    let hip = start();
    let size = 70_000;
    let (first, second) = (hip.malloc(size), hip.malloc(size));
    let mut pinned = null_mut();
    assert_eq!(hip!(hip, hipHostMalloc(&mut pinned, size, 0)), OK);
    let bytes = pattern(size);
    hip.upload(first, &bytes);
    let stream = hip.stream(0);
    assert_eq!(hip!(hip, hipMemcpyDtoDAsync(second, first, size, stream)), OK);
    assert_eq!(hip!(hip, hipMemcpyDtoHAsync(pinned, second, size, stream)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    // SAFETY: the memory is the host's and nothing else uses it.
    assert!(unsafe { std::slice::from_raw_parts(pinned.cast::<u8>(), size) } == bytes);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    assert_eq!(hip!(hip, hipHostFree(pinned)), OK);
    hip.free(first);
    hip.free(second);
}

#[test]
fn rectangles_go_row_by_row_through_every_kind_of_memory() {
    let hip = start();
    let (width, height) = (33, 17);
    let mut pitch = 0;
    let mut device = null_mut();
    assert_eq!(hip!(hip, hipMallocPitch(&mut device, &mut pitch, width, height)), OK);
    assert_eq!(pitch, 256);
    let rows = pattern(40 * height);
    let copy = hip!(
        hip,
        hipMemcpy2D(device, pitch, rows.as_ptr().cast(), 40, width, height, Kind::hipMemcpyHostToDevice)
    );
    assert_eq!(copy, OK);
    let mut back = vec![0u8; 50 * height];
    let copy = hip!(
        hip,
        hipMemcpy2D(back.as_mut_ptr().cast(), 50, device, pitch, width, height, Kind::hipMemcpyDeviceToHost)
    );
    assert_eq!(copy, OK);
    for row in 0..height {
        assert_eq!(back[row * 50..row * 50 + width], rows[row * 40..row * 40 + width], "row {row}");
        assert_eq!(back[row * 50 + width..(row + 1) * 50], [0; 17], "row {row}");
    }
    assert_eq!(hip!(hip, hipMemset2D(device, pitch, 0x5a, 5, height)), OK);
    let copy = hip!(
        hip,
        hipMemcpy2D(back.as_mut_ptr().cast(), 50, device, pitch, width, height, Kind::hipMemcpyDeviceToHost)
    );
    assert_eq!(copy, OK);
    for row in 0..height {
        assert_eq!(back[row * 50..row * 50 + 5], [0x5a; 5]);
        assert_eq!(back[row * 50 + 5..row * 50 + width], rows[row * 40 + 5..row * 40 + width]);
    }
    hip.free(device);
}

#[test]
fn fills_write_exactly_their_elements_at_every_alignment() {
    let hip = start();
    let device = hip.malloc(64);
    for offset in 0..8usize {
        for size in [0, 1, 2, 3, 4, 5, 7, 8, 9, 31] {
            assert_eq!(hip!(hip, hipMemset(device, 0, 64)), OK);
            let start = device.wrapping_byte_add(offset);
            assert_eq!(hip!(hip, hipMemset(start, 0x1a5, size)), OK);
            let bytes = hip.download(device, 64);
            let expected: Vec<u8> =
                (0..64).map(|at| if (offset..offset + size).contains(&at) { 0xa5 } else { 0 }).collect();
            assert_eq!(bytes, expected, "{offset} {size}");
        }
    }
    assert_eq!(hip!(hip, hipMemset(device, 0, 64)), OK);
    assert_eq!(hip!(hip, hipMemsetD16(device.wrapping_byte_add(2), 0x1234, 5)), OK);
    assert_eq!(
        hip.download(device, 14),
        [0, 0, 0x34, 0x12, 0x34, 0x12, 0x34, 0x12, 0x34, 0x12, 0x34, 0x12, 0, 0]
    );
    assert_eq!(hip!(hip, hipMemsetD32(device.wrapping_byte_add(4), 0x0102_0304, 2)), OK);
    assert_eq!(hip.download(device, 12)[4..], [4, 3, 2, 1, 4, 3, 2, 1]);
    assert_eq!(hip!(hip, hipMemsetD32(device.wrapping_byte_add(2), 0, 1)), E::hipErrorInvalidValue);
    hip.free(device);
}

#[test]
fn asynchronous_fills_take_their_turn_at_every_size() {
    let hip = start();
    let stream = hip.stream(0);
    for size in [5usize, 4096, (1 << 20) + 3, 5 << 20] {
        let device = hip.malloc(size);
        assert_eq!(hip!(hip, hipMemsetAsync(device, 1, size, stream)), OK);
        assert_eq!(hip!(hip, hipMemsetAsync(device, 2, size, stream)), OK);
        assert_eq!(hip!(hip, hipMemsetAsync(device, 3, size / 2, stream)), OK);
        assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
        let bytes = hip.download(device, size);
        assert!(bytes[..size / 2].iter().all(|&byte| byte == 3), "{size}");
        assert!(bytes[size / 2..].iter().all(|&byte| byte == 2), "{size}");
        hip.free(device);
    }
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
}

#[test]
fn registered_memory_is_pinned_until_it_is_unregistered() {
    let hip = start();
    let mut memory = pattern(8192);
    let host = memory.as_mut_ptr().cast::<c_void>();
    assert_eq!(hip!(hip, hipHostRegister(host, 0, 0)), E::hipErrorInvalidValue);
    assert_eq!(hip!(hip, hipHostRegister(host, 8192, 0)), OK);
    let again = E::hipErrorHostMemoryAlreadyRegistered;
    assert_eq!(hip!(hip, hipHostRegister(host, 8191, 0)), again);
    assert_eq!(hip!(hip, hipHostRegister(host, 8192, 0)), OK, "nothing has changed");
    assert_eq!(hip!(hip, hipHostRegister(host.wrapping_byte_add(8191), 8192, 0)), again);
    let mut mapped = null_mut();
    assert_eq!(hip!(hip, hipHostGetDevicePointer(&mut mapped, host.wrapping_byte_add(5), 0)), OK);
    assert_eq!(mapped, host.wrapping_byte_add(5));
    // SAFETY: all numbers and pointers of the structure may be zero.
    let mut attributes = unsafe { std::mem::zeroed::<hip_sys::hipPointerAttribute_t>() };
    assert_eq!(hip!(hip, hipPointerGetAttributes(&mut attributes, host)), OK);
    assert_eq!(attributes.type_, hip_sys::hipMemoryType::hipMemoryTypeHost);
    assert_eq!(hip!(hip, hipHostUnregister(host)), OK);
    assert_eq!(hip!(hip, hipHostUnregister(host)), E::hipErrorHostMemoryNotRegistered);
    assert_eq!(hip!(hip, hipPointerGetAttributes(&mut attributes, host)), OK);
    assert_eq!(attributes.type_, hip_sys::hipMemoryType::hipMemoryTypeUnregistered);
    assert_eq!(hip!(hip, hipHostGetDevicePointer(&mut mapped, host, 0)), E::hipErrorInvalidValue);
}

#[test]
fn pointers_say_where_their_memory_is() {
    let hip = start();
    let device = hip.malloc(4096);
    // SAFETY: all numbers and pointers of the structure may be zero.
    let mut attributes = unsafe { std::mem::zeroed::<hip_sys::hipPointerAttribute_t>() };
    assert_eq!(hip!(hip, hipPointerGetAttributes(&mut attributes, device.wrapping_byte_add(4095))), OK);
    assert_eq!(attributes.type_, hip_sys::hipMemoryType::hipMemoryTypeDevice);
    assert_eq!(attributes.devicePointer, device.wrapping_byte_add(4095));
    let (mut base, mut size) = (null_mut(), 0);
    assert_eq!(hip!(hip, hipMemGetAddressRange(&mut base, &mut size, device.wrapping_byte_add(7))), OK);
    assert_eq!((base, size), (device, 4096));
    let mut managed = null_mut();
    assert_eq!(hip!(hip, hipMallocManaged(&mut managed, 64, hip_sys::hipMemAttachGlobal)), OK);
    assert_eq!(hip!(hip, hipPointerGetAttributes(&mut attributes, managed)), OK);
    assert_eq!((attributes.type_, attributes.isManaged), (hip_sys::hipMemoryType::hipMemoryTypeManaged, 1));
    hip.free(managed);
    hip.free(device);
    // As far as HIP knows, any other address is memory of the program.
    for unknown in [device, null_mut(), (&raw mut size).cast()] {
        assert_eq!(hip!(hip, hipPointerGetAttributes(&mut attributes, unknown)), OK);
        let expected = (hip_sys::hipMemoryType::hipMemoryTypeUnregistered, -2, 0, 0);
        let hip_sys::hipPointerAttribute_t { type_, device, isManaged, allocationFlags, .. } = attributes;
        assert_eq!((type_, device, isManaged, allocationFlags), expected);
        assert!(attributes.devicePointer.is_null() && attributes.hostPointer.is_null());
    }
}

#[test]
fn free_memory_is_what_is_not_allocated() {
    let hip = start();
    let (mut before, mut after, mut total) = (0, 0, 0);
    assert_eq!(hip!(hip, hipMemGetInfo(&mut before, &mut total)), OK);
    let device = hip.malloc(1 << 20);
    assert_eq!(hip!(hip, hipMemGetInfo(&mut after, &mut total)), OK);
    assert_eq!((before - after, total), (1 << 20, fake::DEVICE_BYTES));
    hip.free(device);
    assert_eq!(hip!(hip, hipMemGetInfo(&mut after, &mut total)), OK);
    assert_eq!(before, after);
}

/// A box of 3D memory: `depth` rectangles of `height` rows.
fn pitched(memory: *mut c_void, pitch: usize, width: usize, height: usize) -> hip_sys::hipPitchedPtr {
    hip_sys::hipPitchedPtr { ptr: memory, pitch, xsize: width, ysize: height }
}

#[test]
fn boxes_go_between_positions_of_every_kind_of_memory() {
    let hip = start();
    let (width, height, depth) = (33, 5, 4);
    let extent = hip_sys::hipExtent { width, height, depth };
    let mut device = pitched(null_mut(), 0, 0, 0);
    assert_eq!(hip!(hip, hipMalloc3D(&mut device, extent)), OK);
    assert_eq!((device.pitch, device.xsize, device.ysize), (256, width, height));
    let (mut base, mut size) = (null_mut(), 0);
    assert_eq!(hip!(hip, hipMemGetAddressRange(&mut base, &mut size, device.ptr)), OK);
    assert_eq!(size, 256 * height * depth);

    let source = pattern(40 * 7 * 6);
    let mut parameters = hip_sys::hipMemcpy3DParms {
        srcPtr: pitched(source.as_ptr().cast_mut().cast(), 40, 40, 7),
        srcPos: hip_sys::hipPos { x: 3, y: 2, z: 1 },
        dstPtr: device,
        extent,
        kind: Kind::hipMemcpyHostToDevice,
        ..Default::default()
    };
    assert_eq!(hip!(hip, hipMemcpy3D(&parameters)), OK);
    let mut back = vec![0u8; 50 * 8 * 5];
    parameters = hip_sys::hipMemcpy3DParms {
        srcPtr: device,
        dstPtr: pitched(back.as_mut_ptr().cast(), 50, 50, 8),
        dstPos: hip_sys::hipPos { x: 1, y: 3, z: 0 },
        extent,
        kind: Kind::hipMemcpyDeviceToHost,
        ..Default::default()
    };
    let stream = hip.stream(0);
    assert_eq!(hip!(hip, hipMemcpy3DAsync(&parameters, stream)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    let mut expected = vec![0u8; back.len()];
    for (z, y, x) in
        (0..depth).flat_map(|z| (0..height).flat_map(move |y| (0..width).map(move |x| (z, y, x))))
    {
        expected[z * 400 + (y + 3) * 50 + x + 1] = source[(z + 1) * 280 + (y + 2) * 40 + x + 3];
    }
    assert!(back == expected);

    // The driver's form, and a fill of a box within the box.
    let corner = pitched(device.ptr.wrapping_byte_add(256 + 2), 256, 8, height);
    let inner = hip_sys::hipExtent { width: 8, height: 2, depth: 3 };
    assert_eq!(hip!(hip, hipMemset3DAsync(corner, 0x1a5, inner, stream)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    let driver = hip_sys::HIP_MEMCPY3D {
        srcMemoryType: hip_sys::hipMemoryType::hipMemoryTypeDevice,
        srcDevice: device.ptr,
        srcPitch: 256,
        srcHeight: height,
        dstMemoryType: hip_sys::hipMemoryType::hipMemoryTypeHost,
        dstHost: back.as_mut_ptr().cast(),
        WidthInBytes: width,
        Height: height,
        Depth: depth,
        ..Default::default()
    };
    assert_eq!(hip!(hip, hipDrvMemcpy3D(&driver)), OK);
    for (z, y, x) in
        (0..depth).flat_map(|z| (0..height).flat_map(move |y| (0..width).map(move |x| (z, y, x))))
    {
        let filled = z < 3 && (1..3).contains(&y) && (2..10).contains(&x);
        let wanted = if filled { 0xa5 } else { source[(z + 1) * 280 + (y + 2) * 40 + x + 3] };
        assert_eq!(back[(z * height + y) * width + x], wanted, "{z} {y} {x}");
    }
    hip.free(device.ptr);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
}

#[test]
fn wrong_boxes_are_errors() {
    let hip = start();
    let mut bytes = [0u8; 64];
    let device = hip.malloc(64);
    let extent = hip_sys::hipExtent { width: 4, height: 4, depth: 4 };
    let good = hip_sys::hipMemcpy3DParms {
        srcPtr: pitched(bytes.as_mut_ptr().cast(), 4, 4, 4),
        dstPtr: pitched(device, 4, 4, 4),
        extent,
        kind: Kind::hipMemcpyHostToDevice,
        ..Default::default()
    };
    assert_eq!(hip!(hip, hipMemcpy3D(&good)), OK);
    let (invalid, pitch) = (E::hipErrorInvalidValue, E::hipErrorInvalidPitchValue);
    let array = std::ptr::dangling_mut::<hip_sys::hipArray>();
    type P = hip_sys::hipMemcpy3DParms;
    let position = |x, y, z| hip_sys::hipPos { x, y, z };
    let wrong: [(P, E); 9] = [
        (P { srcArray: array, ..good }, invalid),
        (P { srcArray: array, srcPtr: pitched(null_mut(), 0, 0, 0), ..good }, invalid),
        (P { dstPtr: pitched(null_mut(), 4, 4, 4), ..good }, invalid),
        (P { dstPos: position(1, 0, 0), ..good }, invalid),
        (P { dstPos: position(0, 1, 0), ..good }, invalid),
        (P { dstPtr: pitched(device, 3, 4, 4), ..good }, pitch),
        (P { dstPos: position(0, 0, 1), ..good }, invalid),
        (P { dstPos: position(0, 0, usize::MAX), ..good }, invalid),
        (P { kind: Kind(9), ..good }, E::hipErrorInvalidMemcpyDirection),
    ];
    for (index, (parameters, code)) in wrong.iter().enumerate() {
        assert_eq!(hip!(hip, hipMemcpy3D(parameters)), *code, "{index}");
    }
    assert_eq!(hip!(hip, hipMemcpy3D(std::ptr::null())), invalid);
    let nothing = P { extent: hip_sys::hipExtent { depth: 0, ..extent }, ..good };
    assert_eq!(hip!(hip, hipMemcpy3D(&nothing)), OK);
    assert_eq!(hip!(hip, hipMemset3D(pitched(device, 4, 4, 5), 0, extent)), invalid);
    hip.free(device);
}

#[test]
fn rectangles_of_every_element_are_filled() {
    let hip = start();
    let device = hip.malloc(96);
    assert_eq!(hip!(hip, hipMemset(device, 0, 96)), OK);
    assert_eq!(hip!(hip, hipMemsetD2D16(device, 32, 0x1234, 3, 2)), OK);
    assert_eq!(hip!(hip, hipMemsetD2D32Async(device.wrapping_byte_add(64), 12, 0x0a0b_0c0d, 2, 2, NULL)), OK);
    assert_eq!(hip!(hip, hipMemsetD2D8(device.wrapping_byte_add(10), 32, 7, 1, 3)), OK);
    let mut expected = vec![0u8; 96];
    for start in [0, 32] {
        expected[start..start + 6].copy_from_slice(&[0x34, 0x12, 0x34, 0x12, 0x34, 0x12]);
    }
    for start in [64, 68, 76, 80] {
        expected[start..start + 4].copy_from_slice(&[0x0d, 0x0c, 0x0b, 0x0a]);
    }
    for start in [10, 42, 74] {
        expected[start] = 7;
    }
    assert_eq!(hip.download(device, 96), expected);
    assert_eq!(
        hip!(hip, hipMemsetD2D32(device, 10, 0, 2, 2)),
        E::hipErrorInvalidValue,
        "rows are misaligned"
    );
    hip.free(device);
}

#[test]
fn what_needs_more_of_hsa_than_there_is_is_not_supported() {
    let hip = start();
    let unsupported = E::hipErrorNotSupported;
    // SAFETY: only functions that need nothing are called.
    let bare = unsafe { crate::error::Hsa::new(hsa_sys::Table::unsupported()) };
    assert_eq!(bare.reserve_addresses(1 << 21, 0, 0), Err(unsupported));
    let pool = hsa_sys::hsa_amd_memory_pool_t { handle: 1 };
    assert!(bare.create_physical(pool, 1 << 21).is_err_and(|code| code == unsupported));
    let memory = hip.malloc(64);
    assert!(bare.share(memory, 64).is_err_and(|code| code == unsupported));
    let (mut descriptor, kind) = (-1, hip_sys::hipMemRangeHandleType::hipMemRangeHandleTypeDmaBufFd);
    let place = (&raw mut descriptor).cast();
    assert_eq!(hip!(hip, hipMemGetHandleForAddressRange(place, memory, 64, kind, 0)), unsupported);
    assert_eq!(descriptor, -1);
    hip.free(memory);
}
