use std::sync::Arc;

use cudarc::driver::sys::{self, CUresult};
use cudarc::driver::{CudaContext, CudaSlice, DevicePtr, DevicePtrMut, DeviceSlice, DriverError, HostSlice};
use test_skip::{Lack, skip};

use crate::device;

#[test]
fn memory_holds_what_is_copied_to_it() {
    let (_, stream) = device();
    let numbers: Vec<f64> = (0..1000).map(f64::from).collect();
    let memory = stream.clone_htod(&numbers).unwrap();
    assert_eq!(
        (memory.len(), memory.num_bytes(), memory.is_empty(), memory.ordinal()),
        (1000, 8000, false, 0)
    );
    assert_eq!(stream.clone_dtoh(&memory).unwrap(), numbers);
    let copy = memory.try_clone().unwrap();
    let mut third = stream.alloc_zeros::<f64>(1000).unwrap();
    assert_eq!(stream.clone_dtoh(&third).unwrap(), [0.0; 1000]);
    stream.memcpy_dtod(&copy, &mut third).unwrap();
    stream.memset_zeros(&mut third.slice_mut(10..20)).unwrap();
    let mut expected = numbers.clone();
    expected[10..20].fill(0.0);
    let mut host = [1.0; 1000];
    stream.memcpy_dtoh(&third, &mut host).unwrap();
    assert_eq!(host.as_slice(), expected);
    stream.memcpy_htod(&[5.0, 6.0], &mut third).unwrap();
    let last: Vec<f64> = third.clone().try_into().unwrap();
    assert_eq!(last[..3], [5.0, 6.0, 2.0]);
}

#[test]
fn types_of_all_kinds_are_memory() {
    fn survives<T: cudarc::driver::DeviceRepr + PartialEq + std::fmt::Debug + Copy>(values: &[T]) {
        let (_, stream) = device();
        let memory = stream.clone_htod(values).unwrap();
        assert_eq!(stream.clone_dtoh(&memory).unwrap(), values);
    }
    survives(&[true, false]);
    survives(&[i8::MIN, 3]);
    survives(&[u128::MAX, 1]);
    survives(&[[1.5_f32, 2.5], [3.5, 4.5]]);
    survives(&[usize::MAX]);
}

#[test]
fn rows_are_copied_with_their_pitches() {
    let (context, stream) = device();
    context.bind_to_thread().unwrap();
    // 3 rows of 5 bytes out of rows of 8, to rows of 16 from the second one on, and back to rows of 5.
    let from: Vec<u8> = (0..24).collect();
    let mut memory = stream.alloc_zeros::<u8>(16 * 4).unwrap();
    let to_device = |memory: sys::CUdeviceptr| sys::CUDA_MEMCPY2D {
        srcXInBytes: 2,
        srcY: 0,
        srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
        srcHost: from.as_ptr().cast(),
        srcDevice: 0,
        srcArray: std::ptr::null_mut(),
        srcPitch: 8,
        dstXInBytes: 1,
        dstY: 1,
        dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstHost: std::ptr::null_mut(),
        dstDevice: memory,
        dstArray: std::ptr::null_mut(),
        dstPitch: 16,
        WidthInBytes: 5,
        Height: 3,
    };
    let mut back = [0_u8; 15];
    {
        let (place, _guard) = memory.device_ptr_mut(&stream);
        let there = to_device(place);
        let home = sys::CUDA_MEMCPY2D {
            srcXInBytes: 1,
            srcY: 1,
            srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcDevice: place,
            srcPitch: 16,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
            dstHost: back.as_mut_ptr().cast(),
            dstPitch: 5,
            ..there
        };
        let array = sys::CUDA_MEMCPY2D { srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_ARRAY, ..there };
        let nothing = sys::CUDA_MEMCPY2D { Height: 0, ..home };
        // SAFETY: the rows are within the memory that the copies name, which stays until the stream is done.
        unsafe {
            sys::cuMemcpy2DAsync_v2(&raw const there, stream.cu_stream()).result().unwrap();
            sys::cuMemcpy2DAsync_v2(&raw const nothing, stream.cu_stream()).result().unwrap();
            stream.synchronize().unwrap();
            sys::cuMemcpy2D_v2(&raw const home).result().unwrap();
            assert_eq!(sys::cuMemcpy2D_v2(&raw const array), CUresult::CUDA_ERROR_NOT_SUPPORTED);
            assert_eq!(sys::cuMemcpy2D_v2(std::ptr::null()), CUresult::CUDA_ERROR_INVALID_VALUE);
        }
    }
    assert_eq!(back, [2, 3, 4, 5, 6, 10, 11, 12, 13, 14, 18, 19, 20, 21, 22]);
    let mut expected = [0; 64];
    for (row, bytes) in back.chunks(5).enumerate() {
        expected[16 * (row + 1) + 1..][..5].copy_from_slice(bytes);
    }
    assert_eq!(stream.clone_dtoh(&memory).unwrap(), expected);
}

#[test]
fn memory_of_nothing_is_memory() {
    let (_, stream) = device();
    let none: CudaSlice<u32> = stream.null().unwrap();
    assert!(none.is_empty());
    let mut empty = stream.alloc_zeros::<u32>(0).unwrap();
    stream.memcpy_htod(&[], &mut empty).unwrap();
    assert_eq!(stream.clone_dtoh(&empty).unwrap(), [0_u32; 0]);
    assert_eq!(stream.clone_dtoh(&empty.clone()).unwrap(), [0_u32; 0]);
    stream.synchronize().unwrap();
}

#[test]
fn views_are_parts() {
    let (_, stream) = device();
    let numbers: Vec<u32> = (0..12).collect();
    let mut memory = stream.clone_htod(&numbers).unwrap();
    let read = |view: &dyn Fn() -> Vec<u32>| view();
    let view = memory.as_view();
    assert_eq!(read(&|| stream.clone_dtoh(&view.slice(2..5)).unwrap()), [2, 3, 4]);
    assert_eq!(read(&|| stream.clone_dtoh(&view.slice(..=1)).unwrap()), [0, 1]);
    assert_eq!(read(&|| stream.clone_dtoh(&view.slice(3..).slice(1..3)).unwrap()), [4, 5]);
    assert_eq!(read(&|| stream.clone_dtoh(&view.split_at(10).1).unwrap()), [10, 11]);
    let chunks: Vec<Vec<u32>> =
        view.chunks_exact(4).map(|chunk| stream.clone_dtoh(&chunk).unwrap()).collect();
    assert_eq!(chunks, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]);
    for (start, end) in [(0, 13), (13, 13), (5, 4)] {
        assert!(memory.try_slice(start..end).is_none() && memory.try_slice_mut(start..end).is_none());
    }
    assert!(memory.try_slice(0..=usize::MAX).is_none());
    assert!(memory.try_split_at(13).is_none() && memory.try_split_at_mut(12).is_some());
    // SAFETY: bytes are valid as any of these types.
    unsafe {
        assert_eq!(stream.clone_dtoh(&memory.transmute::<u8>(5).unwrap()).unwrap(), [0, 0, 0, 0, 1]);
        assert!(memory.transmute::<u64>(7).is_none() && memory.transmute::<u64>(usize::MAX).is_none());
        let mut halves = memory.transmute_mut::<u16>(24).unwrap();
        stream.memcpy_htod(&[9, 1], &mut halves.slice_mut(4..6)).unwrap();
    }
    assert_eq!(stream.clone_dtoh(&memory.slice(2..3)).unwrap(), [1 << 16 | 9]);
    let (mut before, mut rest) = memory.split_at_mut(6);
    stream.memcpy_dtod(&rest, &mut before).unwrap();
    stream.memset_zeros(&mut rest.slice_mut(..1)).unwrap();
    for mut chunk in rest.slice_mut(2..).chunks_exact_mut(2) {
        stream.memset_zeros(&mut chunk.slice_mut(1..)).unwrap();
    }
    assert_eq!(stream.clone_dtoh(&memory).unwrap(), [6, 7, 8, 9, 10, 11, 0, 7, 8, 0, 10, 0]);
}

#[test]
#[should_panic(expected = "do not make up")]
fn chunks_that_do_not_fit_panic_as_in_cudarc() {
    let (_, stream) = device();
    let memory = stream.alloc_zeros::<u8>(10).unwrap();
    let _ = memory.as_view().chunks_exact(3).count();
}

#[test]
#[should_panic(expected = "3 elements do not fit into 2")]
fn copies_that_do_not_fit_panic_as_in_cudarc() {
    let (_, stream) = device();
    let mut memory = stream.alloc_zeros::<u8>(2).unwrap();
    let _ = stream.memcpy_htod(&[1, 2, 3], &mut memory);
}

#[test]
fn memory_that_there_is_not_is_an_error() {
    let (context, stream) = device();
    let too_much = context.total_mem().unwrap() * 4;
    for len in [too_much, usize::MAX / 4, usize::MAX] {
        // SAFETY: nothing is read.
        let error = unsafe { stream.alloc::<u64>(len) }.unwrap_err();
        assert_eq!(error, DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY), "{len}");
    }
    stream.alloc_zeros::<u64>(16).unwrap();
}

#[test]
fn memory_keeps_its_stream_and_that_its_device() {
    let context = CudaContext::new(0).unwrap();
    let stream = context.default_stream();
    let memory = stream.alloc_zeros::<f32>(1).unwrap();
    let counts = (Arc::strong_count(&context), Arc::strong_count(&stream));
    assert_eq!(counts, (4, 2), "the stream, and two events of the memory");
    drop(memory);
    assert_eq!((Arc::strong_count(&context), Arc::strong_count(&stream)), (2, 1));
    let memory = stream.clone_htod(&[3.0_f32]).unwrap();
    drop((context, stream));
    assert_eq!(memory.stream().clone_dtoh(&memory).unwrap(), [3.0]);
}

#[test]
fn memory_is_given_away_and_taken_back() {
    let (context, stream) = device();
    let memory = stream.clone_htod(&[1_u16, 2, 3, 4]).unwrap();
    let (address, record) = memory.device_ptr(&stream);
    drop(record);
    let count = Arc::strong_count(&stream);
    assert_eq!(memory.leak(), address);
    assert_eq!(Arc::strong_count(&stream), count - 1);
    // SAFETY: the memory was given away by the line before.
    let memory = unsafe { stream.upgrade_device_ptr::<u16>(address, 3) };
    assert_eq!(stream.clone_dtoh(&memory).unwrap(), [1, 2, 3]);
    drop(memory);
    context.synchronize().unwrap();
    context.check_err().unwrap();
}

#[test]
fn freed_memory_is_free() {
    let (context, stream) = device();
    let bytes = 64 << 20;
    // SAFETY: nothing is read.
    let round = || drop(unsafe { stream.alloc::<u8>(bytes) }.unwrap());
    let rounds = context.total_mem().unwrap() / bytes + 4;
    for _ in 0..rounds.min(2000) {
        round();
    }
    stream.synchronize().unwrap();
    context.check_err().unwrap();
}

#[test]
fn pinned_memory_is_copied_from_and_to() {
    let (context, stream) = device();
    for flags in [0, sys::CU_MEMHOSTALLOC_WRITECOMBINED, sys::CU_MEMHOSTALLOC_PORTABLE] {
        // SAFETY: it is filled at once.
        let mut pinned = unsafe { context.alloc_pinned_with_flags::<u32>(1 << 16, flags) }.unwrap();
        pinned.as_mut_slice().unwrap().iter_mut().zip(0..).for_each(|(place, number)| *place = number);
        let mut memory = stream.clone_htod(&pinned).unwrap();
        stream.memset_zeros(&mut memory.slice_mut(..100)).unwrap();
        // The copy continues while the host waits only for it.
        stream.memcpy_dtoh(&memory, &mut pinned).unwrap();
        let numbers = pinned.as_slice().unwrap();
        assert!(numbers[..100].iter().all(|number| *number == 0));
        assert!(numbers.iter().zip(0..).skip(100).all(|(number, index)| *number == index));
        assert_eq!((pinned.len(), HostSlice::is_empty(&pinned)), (1 << 16, false));
    }
    // SAFETY: nothing is allocated.
    let error = unsafe { context.alloc_pinned_with_flags::<u8>(1, 8) }.unwrap_err();
    assert_eq!(error, DriverError(CUresult::CUDA_ERROR_INVALID_VALUE));
}

#[test]
#[should_panic(expected = "Pinned host allocation size overflow")]
fn more_pinned_memory_than_addresses_panics_as_in_cudarc() {
    let (context, _) = device();
    // SAFETY: nothing is allocated.
    let _ = unsafe { context.alloc_pinned::<u32>(usize::MAX) };
}

#[test]
fn memory_is_copied_between_devices() {
    crate::with_two_devices();
    if CudaContext::device_count().unwrap() < 2 {
        return skip(Lack::Device, "one device only");
    }
    let (one, two) = (CudaContext::new(0).unwrap(), CudaContext::new(1).unwrap());
    assert_ne!(one, two);
    let (here, there) = (one.new_stream().unwrap(), two.new_stream().unwrap());
    let numbers: Vec<u32> = (0..1 << 18).collect();
    let memory = here.clone_htod(&numbers).unwrap();
    let copy = there.clone_dtod(&memory).unwrap();
    drop(memory);
    assert_eq!(there.clone_dtoh(&copy).unwrap(), numbers);
    let mut back = here.alloc_zeros::<u32>(1 << 18).unwrap();
    here.memcpy_dtod(&copy, &mut back).unwrap();
    assert_eq!(here.clone_dtoh(&back).unwrap(), numbers);
    let event = here.record_event(None).unwrap();
    let other = Err(DriverError(CUresult::CUDA_ERROR_INVALID_CONTEXT));
    assert_eq!(event.record(&there), other);
    there.wait(&event).unwrap();
    one.check_err().unwrap();
    two.check_err().unwrap();
}

#[test]
fn slices_say_where_they_are() {
    let (_, stream) = device();
    let memory = stream.alloc_zeros::<u64>(4).unwrap();
    let (first, second) = memory.split_at(1);
    let address = |view: &cudarc::driver::CudaView<'_, u64>| view.device_ptr(&stream).0;
    assert_eq!(address(&second) - address(&first), 8);
    assert_eq!(DeviceSlice::num_bytes(&second), 24);
}
