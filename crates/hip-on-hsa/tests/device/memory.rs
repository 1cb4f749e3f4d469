//! Memory of a device: allocations, copies, fills.

use std::ffi::c_void;

use hip_sys::hipMemcpyKind as Kind;

use crate::support::{E, Memory, NULL, OK, Stream, hip, properties, turn};

fn pattern(size: usize) -> Vec<u8> {
    (0..size).map(|index| (index * 7 + index / 251) as u8).collect()
}

#[test]
fn the_device_describes_itself() {
    let _turn = turn();
    let properties = properties();
    assert!(properties.warpSize == 32 || properties.warpSize == 64);
    assert!(properties.totalGlobalMem > 0 && properties.multiProcessorCount > 0);
    assert_eq!(properties.sharedMemPerBlock, 65536);
    assert_eq!(properties.maxThreadsPerBlock, 1024);
    let (mut free, mut total) = (0, 0);
    assert_eq!(hip!(hipMemGetInfo(&mut free, &mut total)), OK);
    assert!(free <= total && total == properties.totalGlobalMem);
    let memory = Memory::new(8 << 20);
    let mut less = 0;
    assert_eq!(hip!(hipMemGetInfo(&mut less, &mut total)), OK);
    assert!(less + memory.size <= free);
}

#[test]
fn memory_comes_back_as_it_went_at_every_size() {
    let _turn = turn();
    for size in [1, 3, 4096, 20_000, (1 << 20) + 1, (5 << 20) + 5] {
        let bytes = pattern(size);
        let memory = Memory::of(&bytes);
        assert!(memory.read::<u8>(size) == bytes, "{size}");
    }
}

#[test]
fn copies_run_in_stream_order_between_all_places() {
    let _turn = turn();
    let stream = Stream::new(0);
    let size = 300_000;
    let bytes = pattern(size);
    let (first, second) = (Memory::new(size), Memory::new(size));
    let mut pinned = std::ptr::null_mut();
    assert_eq!(hip!(hipHostMalloc(&mut pinned, size, 0)), OK);
    assert_eq!(hip!(hipMemcpyHtoDAsync(first.pointer, bytes.as_ptr().cast(), size, stream.0)), OK);
    assert_eq!(hip!(hipMemcpyDtoDAsync(second.pointer, first.pointer, size, stream.0)), OK);
    assert_eq!(hip!(hipMemsetAsync(first.pointer, 0, size, stream.0)), OK);
    assert_eq!(hip!(hipMemcpyDtoHAsync(pinned, second.pointer, size, stream.0)), OK);
    assert_eq!(stream.wait(), OK);
    // SAFETY: the memory is the host's and nothing else uses it.
    assert!(unsafe { std::slice::from_raw_parts(pinned.cast::<u8>(), size) } == bytes);
    assert!(first.read::<u8>(size).iter().all(|&byte| byte == 0));
    assert_eq!(hip!(hipHostFree(pinned)), OK);
}

#[test]
fn registered_memory_takes_part_in_asynchronous_copies() {
    let _turn = turn();
    let mut host = pattern(65536);
    let pointer = host.as_mut_ptr().cast::<c_void>();
    assert_eq!(hip!(hipHostRegister(pointer, host.len(), 0)), OK);
    let (memory, stream) = (Memory::new(host.len()), Stream::new(0));
    let size = host.len();
    let copy = hip!(hipMemcpyAsync(memory.pointer, pointer, size, Kind::hipMemcpyDefault, stream.0));
    assert_eq!(copy, OK);
    assert_eq!(stream.wait(), OK);
    assert_eq!(hip!(hipHostUnregister(pointer)), OK);
    assert!(memory.read::<u8>(size) == host);
}

#[test]
fn fills_of_every_element_size_and_length() {
    let _turn = turn();
    let memory = Memory::new(3 << 20);
    assert_eq!(hip!(hipMemset(memory.pointer, 0x11, 3 << 20)), OK);
    assert_eq!(hip!(hipMemsetD16(memory.pointer, 0x2233, 5)), OK);
    assert_eq!(hip!(hipMemsetD32(memory.pointer.wrapping_byte_add(16), 0x4455_6677, 2)), OK);
    let bytes = memory.read::<u8>(32);
    let word = [0x33, 0x22];
    assert_eq!(bytes[..10], word.repeat(5));
    assert_eq!(bytes[10..16], [0x11; 6]);
    assert_eq!(bytes[16..24], [0x77, 0x66, 0x55, 0x44, 0x77, 0x66, 0x55, 0x44]);
    let stream = Stream::new(0);
    assert_eq!(hip!(hipMemsetAsync(memory.pointer.wrapping_byte_add(3), 0xab, (2 << 20) + 2, stream.0)), OK);
    assert_eq!(stream.wait(), OK);
    let bytes = memory.read::<u8>(3 << 20);
    assert_eq!(bytes[..3], [0x33, 0x22, 0x33]);
    let end = (2 << 20) + 5;
    assert!(bytes[3..end].iter().all(|&byte| byte == 0xab));
    assert!(bytes[end..].iter().all(|&byte| byte == 0x11));
}

#[test]
fn rectangles_keep_what_is_between_their_rows() {
    let _turn = turn();
    let (width, height) = (100, 40);
    let (mut device, mut pitch) = (std::ptr::null_mut(), 0);
    assert_eq!(hip!(hipMallocPitch(&mut device, &mut pitch, width, height)), OK);
    let source = pattern(128 * height);
    let upload = hip!(hipMemcpy2D(
        device,
        pitch,
        source.as_ptr().cast(),
        128,
        width,
        height,
        Kind::hipMemcpyHostToDevice
    ));
    assert_eq!(upload, OK);
    let mut back = vec![0xffu8; 110 * height];
    let download = hip!(hipMemcpy2D(
        back.as_mut_ptr().cast(),
        110,
        device,
        pitch,
        width,
        height,
        Kind::hipMemcpyDeviceToHost
    ));
    assert_eq!(download, OK);
    for row in 0..height {
        assert_eq!(back[row * 110..row * 110 + width], source[row * 128..row * 128 + width]);
        assert_eq!(back[row * 110 + width..(row + 1) * 110], [0xff; 10]);
    }
    assert_eq!(hip!(hipFree(device)), OK);
}

#[test]
fn more_memory_than_there_is_is_out_of_memory() {
    let _turn = turn();
    let mut pointer = std::ptr::null_mut();
    let total = properties().totalGlobalMem;
    assert_eq!(hip!(hipMalloc(&mut pointer, total + 1)), E::hipErrorOutOfMemory);
    assert!(pointer.is_null());
}

#[test]
fn nothing_is_left_behind() {
    let _turn = turn();
    let run = || {
        let stream = Stream::new(0);
        let bytes = pattern(3 << 20);
        let memory = Memory::of(&bytes);
        assert_eq!(hip!(hipMemsetAsync(memory.pointer, 1, memory.size, stream.0)), OK);
        assert_eq!(stream.wait(), OK);
        let mut late = std::ptr::null_mut();
        assert_eq!(hip!(hipMallocAsync(&mut late, 1 << 20, stream.0)), OK);
        assert_eq!(hip!(hipFreeAsync(late, stream.0)), OK);
        memory.read::<u8>(bytes.len());
    };
    let free = || {
        let (mut free, mut total) = (0, 0);
        assert_eq!(hip!(hipMemGetInfo(&mut free, &mut total)), OK);
        free
    };
    run();
    assert_eq!(hip!(hipStreamSynchronize(NULL)), OK);
    let before = free();
    for _ in 0..3 {
        run();
    }
    // The last ordered free is on its own thread.
    for _ in 0..200 {
        if free() >= before {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(free() >= before);
}

#[test]
fn boxes_are_copied_and_filled_at_their_positions() {
    let _turn = turn();
    let (width, height, depth) = (200, 6, 5);
    let extent = hip_sys::hipExtent { width, height, depth };
    let mut device = hip_sys::hipPitchedPtr::default();
    assert_eq!(hip!(hipMalloc3D(&mut device, extent)), OK);
    let stream = Stream::new(0);
    assert_eq!(hip!(hipMemset3DAsync(device, 0x33, extent, stream.0)), OK);
    let source = pattern(64 * 4 * 3);
    let inner = hip_sys::hipExtent { width: 64, height: 4, depth: 3 };
    let upload = hip_sys::hipMemcpy3DParms {
        srcPtr: hip_sys::hipPitchedPtr {
            ptr: source.as_ptr().cast_mut().cast(),
            pitch: 64,
            xsize: 64,
            ysize: 4,
        },
        dstPtr: device,
        dstPos: hip_sys::hipPos { x: 100, y: 1, z: 2 },
        extent: inner,
        kind: Kind::hipMemcpyHostToDevice,
        ..Default::default()
    };
    assert_eq!(hip!(hipMemcpy3DAsync(&upload, stream.0)), OK);
    let mut back = vec![0u8; width * height * depth];
    let download = hip_sys::hipMemcpy3DParms {
        srcPtr: device,
        dstPtr: hip_sys::hipPitchedPtr {
            ptr: back.as_mut_ptr().cast(),
            pitch: width,
            xsize: width,
            ysize: height,
        },
        extent,
        kind: Kind::hipMemcpyDeviceToHost,
        ..Default::default()
    };
    assert_eq!(hip!(hipMemcpy3DAsync(&download, stream.0)), OK);
    assert_eq!(stream.wait(), OK);
    for (at, &byte) in back.iter().enumerate() {
        let (z, y, x) = (at / (width * height), at / width % height, at % width);
        let copied = z >= 2 && (1..5).contains(&y) && (100..164).contains(&x);
        let expected = if copied { source[((z - 2) * 4 + y - 1) * 64 + x - 100] } else { 0x33 };
        assert_eq!(byte, expected, "{z} {y} {x}");
    }
    assert_eq!(hip!(hipFree(device.ptr)), OK);
}

#[test]
fn pooled_memory_is_used_again_in_stream_order() {
    let _turn = turn();
    let mut supported = 0;
    let which = hip_sys::hipDeviceAttribute_t::hipDeviceAttributeMemoryPoolsSupported;
    assert_eq!(hip!(hipDeviceGetAttribute(&mut supported, which, 0)), OK);
    assert_eq!(supported, 1);
    let stream = Stream::new(hip_sys::hipStreamNonBlocking);
    let size = 100_000;
    let mut bytes = vec![0u8; size];
    for round in 0..20u8 {
        let mut memory = std::ptr::null_mut();
        assert_eq!(hip!(hipMallocAsync(&mut memory, size, stream.0)), OK);
        assert_eq!(hip!(hipMemsetAsync(memory, round.into(), size, stream.0)), OK);
        let mut other = std::ptr::null_mut();
        assert_eq!(hip!(hipMallocAsync(&mut other, size, stream.0)), OK);
        assert_eq!(hip!(hipMemcpyDtoDAsync(other, memory, size, stream.0)), OK);
        assert_eq!(hip!(hipFreeAsync(memory, stream.0)), OK);
        // This is the block just freed, which the copy still reads.
        let mut again = std::ptr::null_mut();
        assert_eq!(hip!(hipMallocAsync(&mut again, size, stream.0)), OK);
        assert_eq!(again, memory);
        assert_eq!(hip!(hipMemsetAsync(again, 0xff, size, stream.0)), OK);
        assert_eq!(hip!(hipMemcpyDtoHAsync(bytes.as_mut_ptr().cast(), other, size, stream.0)), OK);
        assert_eq!(stream.wait(), OK);
        assert!(bytes.iter().all(|&byte| byte == round), "{round}");
        assert_eq!(hip!(hipFreeAsync(other, stream.0)), OK);
        assert_eq!(hip!(hipFreeAsync(again, stream.0)), OK);
    }
}
