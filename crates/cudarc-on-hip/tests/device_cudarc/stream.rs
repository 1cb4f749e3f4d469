use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use cudarc::driver::sys::{self, CUevent_flags, CUresult};
use cudarc::driver::{DriverError, LaunchConfig, PushKernelArg, result};

use crate::{KERNELS, device, kernel};

#[test]
fn streams_wait_for_who_used_memory_before() {
    let (context, _) = device();
    let module = context.load_module(cudarc::nvrtc::compile_ptx(KERNELS).unwrap()).unwrap();
    let (slow, add) = (module.load_function("slow").unwrap(), module.load_function("add").unwrap());
    let streams = [context.new_stream().unwrap(), context.new_stream().unwrap(), context.default_stream()];
    assert!(context.is_managing_stream_synchronization());
    let n = 4096;
    let (count, config) = (n as i32, LaunchConfig::for_num_elems(n as u32));
    let mut x = streams[0].clone_htod(&vec![0_u32; n]).unwrap();
    let mut sum = streams[1].alloc_zeros::<u32>(n).unwrap();
    for round in 0..6 {
        let stream = &streams[round % 3];
        // SAFETY: the kernels take these arguments, and stay within the memory.
        unsafe {
            stream.launch_builder(&slow).arg(&mut x).arg(&count).arg(&300_i32).launch(config).unwrap();
            let other = &streams[(round + 1) % 3];
            other.launch_builder(&add).arg(&mut sum).arg(&x.slice(..)).arg(&count).launch(config).unwrap();
        }
    }
    // 1 + 2 + … + 6.
    assert_eq!(streams[2].clone_dtoh(&sum).unwrap(), vec![21; n]);
    assert_eq!(streams[1].clone_dtoh(&x).unwrap(), vec![6; n]);
    context.check_err().unwrap();
}

#[test]
fn memory_that_is_dropped_is_freed_when_it_is_used_no_more() {
    let (context, _) = device();
    let slow = kernel(&context, "slow");
    let (one, two) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let n = 4096;
    for _ in 0..4 {
        let mut x = one.alloc_zeros::<u32>(n).unwrap();
        let (count, config) = (n as i32, LaunchConfig::for_num_elems(n as u32));
        // SAFETY: the kernel takes these arguments, and stays within the memory.
        unsafe { two.launch_builder(&slow).arg(&mut x).arg(&count).arg(&300_i32).launch(config).unwrap() };
        drop(x);
        // It may get the same address, which the kernel must no longer write.
        let y = one.alloc_zeros::<u32>(n).unwrap();
        two.synchronize().unwrap();
        assert_eq!(one.clone_dtoh(&y).unwrap(), vec![0; n]);
    }
    context.check_err().unwrap();
}

#[test]
fn streams_are_counted() {
    let (context, stream) = device();
    assert!(!context.is_in_multi_stream_mode() && context.is_event_tracking());
    let one = context.new_stream().unwrap();
    assert!(context.is_in_multi_stream_mode());
    let forked = one.fork().unwrap();
    drop(one);
    assert!(context.is_in_multi_stream_mode());
    drop(forked);
    assert!(!context.is_in_multi_stream_mode());
    assert!(stream.cu_stream().is_null() && *stream == *context.default_stream());
    context.check_err().unwrap();
}

#[test]
fn priorities_are_within_a_range() {
    let (context, _) = device();
    let (least, greatest) = result::stream::get_priority_range().unwrap();
    assert!(greatest <= least);
    for priority in [least, greatest] {
        let stream = context.new_stream_with_priority(priority).unwrap();
        let memory = stream.clone_htod(&[priority]).unwrap();
        assert_eq!(stream.clone_dtoh(&memory).unwrap(), [priority]);
    }
}

#[test]
fn a_threads_own_stream_works_on_any_thread() {
    let (context, _) = device();
    let stream = context.per_thread_stream();
    std::thread::scope(|scope| {
        for number in 0..3_u8 {
            let stream = &stream;
            scope.spawn(move || {
                let memory = stream.clone_htod(&[number; 100]).unwrap();
                assert_eq!(stream.clone_dtoh(&memory).unwrap(), [number; 100]);
            });
        }
    });
    context.check_err().unwrap();
}

#[test]
fn borrowed_streams_stay() {
    let (context, _) = device();
    let raw = result::stream::create(result::stream::StreamKind::NonBlocking).unwrap();
    // SAFETY: the stream was made on this device, and outlives the object.
    let stream = unsafe { context.wrap_borrowed_stream(raw) };
    assert_eq!(stream.cu_stream(), raw);
    drop(stream.clone_htod(&[1_u32, 2, 3]).unwrap());
    drop(stream);
    // SAFETY: the stream lives, and is ended once.
    unsafe {
        result::stream::synchronize(raw).unwrap();
        result::stream::destroy(raw).unwrap();
    }
}

#[test]
fn events_tell_when_work_is_done_and_how_long_it_took() {
    let (context, stream) = device();
    let slow = kernel(&context, "slow");
    let untouched = context.new_event(None).unwrap();
    assert_eq!(untouched.try_is_complete(), Ok(true));
    let flags = Some(CUevent_flags::CU_EVENT_DEFAULT);
    let start = stream.record_event(flags).unwrap();
    let mut x = stream.alloc_zeros::<u32>(1024).unwrap();
    let mut launch = stream.launch_builder(&slow);
    launch.arg(&mut x).arg(&1024_i32).arg(&1000_i32).record_kernel_launch(CUevent_flags::CU_EVENT_DEFAULT);
    // SAFETY: the kernel takes these arguments, and stays within the memory.
    let (before, after) = unsafe { launch.launch(LaunchConfig::for_num_elems(1024)) }.unwrap().unwrap();
    let end = stream.record_event(flags).unwrap();
    let whole = start.elapsed_ms(&end).unwrap();
    let kernel = before.elapsed_ms(&after).unwrap();
    assert!(0.0 < kernel && kernel <= whole, "{kernel} of {whole}");
    assert!(end.is_complete() && end.try_is_complete() == Ok(true));
    // Those that measure no time cannot tell it.
    let error = untouched.elapsed_ms(&end).unwrap_err();
    assert!(
        matches!(error.0, CUresult::CUDA_ERROR_INVALID_HANDLE | CUresult::CUDA_ERROR_INVALID_VALUE),
        "{error}"
    );
}

#[test]
fn functions_of_the_host_run_in_turn() {
    unsafe extern "C" fn add(place: *mut c_void) {
        // SAFETY: the test passes such a number, which lives until the stream is waited for.
        unsafe { &*place.cast::<AtomicU32>() }.fetch_add(5, Ordering::SeqCst);
    }
    let (_, stream) = device();
    let number = AtomicU32::new(1);
    let place = (&raw const number).cast_mut().cast();
    // SAFETY: the function takes that number, which lives until the stream is waited for.
    unsafe { result::stream::launch_host_function(stream.cu_stream(), add, place) }.unwrap();
    stream.synchronize().unwrap();
    assert_eq!(number.load(Ordering::SeqCst), 6);
}

#[test]
fn a_kernel_that_leaves_its_memory_is_an_error_of_its_stream() {
    let (context, stream) = device();
    let wild = kernel(&context, "wild");
    let mut x = stream.alloc_zeros::<u32>(4).unwrap();
    let broken = context.new_stream().unwrap();
    // SAFETY: a virtual GPU reports the access, which this test checks.
    let launched = unsafe { broken.launch_builder(&wild).arg(&mut x).launch(LaunchConfig::for_num_elems(1)) };
    let error = launched.map(drop).and_then(|()| broken.synchronize()).unwrap_err();
    let expected = [CUresult::CUDA_ERROR_ILLEGAL_ADDRESS, CUresult::CUDA_ERROR_LAUNCH_FAILED];
    assert!(expected.contains(&error.0), "{error}");
    assert_ne!(error, DriverError(CUresult::CUDA_ERROR_UNKNOWN));
}

/// As with CUDA, where an event and a stream are of a context, whatever the calling thread's is.
#[test]
fn a_thread_without_a_context_waits_for_events_and_streams_and_ends_them() {
    let (context, _) = device();
    context.bind_to_thread().unwrap();
    let (mut event, mut stream) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: both handles are written before they are used.
    unsafe {
        sys::cuEventCreate(&raw mut event, 0).result().unwrap();
        sys::cuStreamCreate(&raw mut stream, 1).result().unwrap();
        sys::cuEventRecord(event, stream).result().unwrap();
    }
    let (event, stream) = (event.expose_provenance(), stream.expose_provenance());
    std::thread::spawn(move || {
        let event: sys::CUevent = std::ptr::with_exposed_provenance_mut(event);
        let stream: sys::CUstream = std::ptr::with_exposed_provenance_mut(stream);
        let mut flags = 0;
        // SAFETY: the handles are those from above, which nothing else uses, and each is ended once.
        unsafe {
            assert_eq!(sys::cuStreamSynchronize(std::ptr::null_mut()), CUresult::CUDA_ERROR_INVALID_CONTEXT);
            sys::cuStreamWaitEvent(stream, event, 0).result().unwrap();
            sys::cuStreamSynchronize(stream).result().unwrap();
            sys::cuStreamQuery(stream).result().unwrap();
            sys::cuStreamGetFlags(stream, &raw mut flags).result().unwrap();
            sys::cuEventSynchronize(event).result().unwrap();
            sys::cuEventDestroy_v2(event).result().unwrap();
            sys::cuStreamDestroy_v2(stream).result().unwrap();
        }
        assert_eq!(flags, 1);
    })
    .join()
    .unwrap();
}
