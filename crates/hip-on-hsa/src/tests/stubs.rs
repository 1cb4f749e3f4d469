//! Kernels and variables by host address.

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

use hip_sys::{dim3, hipMemcpyKind, hipStream_t};

use super::{E, Hip, NULL, OK, fake, hip, kernels, start};
use crate::stub;

/// A fat binary with the test kernels, as a program registers it.
struct Registered {
    handle: *mut *mut c_void,
    _image: Box<[u8]>,
    _header: Box<[u64; 3]>,
}

impl Registered {
    fn new(target: &'static str) -> Self {
        let image = kernels(5, target).into_boxed_slice();
        let header = Box::new([0x1_4849_5046, image.as_ptr() as u64, 0]);
        // SAFETY: header and image live in the object, which unregisters them before they go.
        let handle = unsafe { stub::register_fat_binary(header.as_ptr().cast()) };
        assert!(!handle.is_null());
        Self { handle, _image: image, _header: header }
    }

    fn kernel<T>(&self, stub: &'static T, name: &CStr) -> *const c_void {
        // SAFETY: the name ends in a NUL.
        unsafe { stub::register_function(self.handle, (&raw const *stub).cast(), name.as_ptr()) };
        (&raw const *stub).cast()
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        stub::unregister_fat_binary(self.handle);
    }
}

static EMPTY: u8 = 1;
static SAXPY: u8 = 2;
static COUNTER: u8 = 3;

fn one(x: u32) -> dim3 {
    dim3 { x, y: 1, z: 1 }
}

fn launch(hip: &Hip, stub: *const c_void, stream: hipStream_t) -> E {
    hip!(hip, hipLaunchKernel(stub, one(1), one(32), null_mut(), 0, stream))
}

#[test]
fn a_stub_launches_its_kernel_until_the_fat_binary_is_unregistered() {
    let hip = start();
    let before = fake::live();
    let binary = Registered::new("gfx1100");
    let empty = binary.kernel(&EMPTY, c"empty");
    assert_eq!(fake::live(), before, "nothing is loaded before it is used");
    assert_eq!(launch(&hip, empty, NULL), OK);
    let stream = hip.stream(hip_sys::hipStreamNonBlocking);
    assert_eq!(launch(&hip, empty, stream), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(NULL)), OK);
    let names: Vec<_> = fake::take_dispatched().into_iter().map(|seen| seen.kernel).collect();
    assert_eq!(names.len(), 2);
    assert!(names.iter().all(|name| name.starts_with("empty")), "{names:?}");

    let mut function = null_mut();
    assert_eq!(hip!(hip, hipGetFuncBySymbol(&mut function, empty)), OK);
    assert_eq!(hip.launch(function, NULL), OK);
    // A handle is accepted in place of a stub's address.
    assert_eq!(launch(&hip, function.cast(), NULL), OK);
    let name = hip!(hip, hipKernelNameRefByPtr(empty, NULL));
    // SAFETY: the function is there, and so is its name.
    let name = unsafe { CStr::from_ptr(name) };
    assert_eq!(name, c"empty");
    let mut blocks = 0;
    assert_eq!(hip!(hip, hipOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, empty, 64, 0)), OK);
    assert!(blocks > 0);

    drop(binary);
    assert_eq!(launch(&hip, empty, NULL), E::hipErrorInvalidDeviceFunction);
    assert_eq!(hip.launch(function, NULL), E::hipErrorInvalidHandle);
    assert!(hip!(hip, hipKernelNameRefByPtr(empty, NULL)).is_null());
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
}

#[test]
fn what_stands_for_nothing_is_an_error() {
    let hip = start();
    let binary = Registered::new("gfx1100");
    let missing = binary.kernel(&EMPTY, c"no_such_kernel");
    for stub in [missing, null(), (&raw const SAXPY).cast()] {
        assert_eq!(launch(&hip, stub, NULL), E::hipErrorInvalidDeviceFunction);
    }
    let mut size = 0;
    assert_eq!(hip!(hip, hipGetSymbolSize(&mut size, missing)), E::hipErrorInvalidSymbol);
    // Registering with an invalid handle, or without a name, must not crash.
    // SAFETY: the name ends in a NUL.
    unsafe {
        stub::register_function(null_mut(), (&raw const SAXPY).cast(), c"saxpy".as_ptr());
        stub::register_function(binary.handle, (&raw const SAXPY).cast(), null());
        assert!(stub::register_fat_binary(null()).is_null());
    }
    stub::unregister_fat_binary(std::ptr::without_provenance_mut(0xdead));
    assert_eq!(launch(&hip, (&raw const SAXPY).cast(), NULL), E::hipErrorInvalidDeviceFunction);
}

#[test]
fn code_for_other_devices_alone_is_told_at_each_use() {
    let hip = start();
    let binary = Registered::new("gfx90a");
    let empty = binary.kernel(&EMPTY, c"empty");
    for _ in 0..2 {
        assert_eq!(launch(&hip, empty, NULL), E::hipErrorNoBinaryForGpu);
    }
}

#[test]
fn announced_launches_are_taken_back_in_turn() {
    let hip = start();
    let binary = Registered::new("gfx1100");
    let saxpy = binary.kernel(&SAXPY, c"saxpy");
    let (mut grid, mut block, mut shared, mut stream) = (one(0), one(0), 0, NULL);
    let mut take = || {
        let code = hip!(hip, __hipPopCallConfiguration(&mut grid, &mut block, &mut shared, &mut stream));
        (code, grid.x, block.y, shared)
    };
    assert_eq!(take().0, E::hipErrorMissingConfiguration);
    let flat = |y: u32| dim3 { x: 1, y, z: 1 };
    assert_eq!(hip!(hip, __hipPushCallConfiguration(one(3), flat(4), 5, NULL)), OK);
    assert_eq!(hip!(hip, __hipPushCallConfiguration(one(6), flat(7), 8, NULL)), OK);
    assert_eq!(take(), (OK, 6, 7, 8));
    assert_eq!(take(), (OK, 3, 4, 5));
    assert_eq!(take().0, E::hipErrorMissingConfiguration);

    // The arguments one by one, out of order.
    assert_eq!(hip!(hip, hipConfigureCall(one(2), one(32), 0, NULL)), OK);
    let (a, x, y, n) = (1.5f32, 0x10u64, 0x20u64, 99u32);
    let argument = |place: *const c_void, size, offset| hip!(hip, hipSetupArgument(place, size, offset));
    assert_eq!(argument((&raw const n).cast(), 4, 24), OK);
    assert_eq!(argument((&raw const a).cast(), 4, 0), OK);
    assert_eq!(argument((&raw const y).cast(), 8, 16), OK);
    assert_eq!(argument((&raw const x).cast(), 8, 8), OK);
    assert_eq!(argument((&raw const x).cast(), 8, usize::MAX), E::hipErrorInvalidValue);
    assert_eq!(argument((&raw const x).cast(), 8, 1 << 30), E::hipErrorInvalidValue);
    assert_eq!(hip!(hip, hipLaunchByPtr(saxpy)), OK);
    assert_eq!(hip!(hip, hipLaunchByPtr(saxpy)), E::hipErrorMissingConfiguration);
    assert_eq!(argument((&raw const x).cast(), 8, 8), E::hipErrorMissingConfiguration);
    assert_eq!(hip!(hip, hipStreamSynchronize(NULL)), OK);
    let seen = fake::take_dispatched().pop().unwrap();
    assert_eq!(seen.packet.grid, [64, 1, 1]);
    assert_eq!(seen.arguments[..4], 1.5f32.to_le_bytes());
    assert_eq!(seen.arguments[8..24], [[0x10, 0, 0, 0, 0, 0, 0, 0], [0x20, 0, 0, 0, 0, 0, 0, 0]].concat());
    assert_eq!(seen.arguments[24..28], 99u32.to_le_bytes());
}

#[test]
fn variables_are_copied_within_their_bounds() {
    let hip = start();
    let binary = Registered::new("gfx1100");
    let counter = (&raw const COUNTER).cast::<c_void>();
    // SAFETY: the name ends in a NUL.
    unsafe { stub::register_variable(binary.handle, counter, c"counter".as_ptr()) };
    let (mut address, mut size) = (null_mut(), 0);
    assert_eq!(hip!(hip, hipGetSymbolAddress(&mut address, counter)), OK);
    assert_eq!(hip!(hip, hipGetSymbolSize(&mut size, counter)), OK);
    assert!(!address.is_null() && size == 4);
    let (to, from) = (hipMemcpyKind::hipMemcpyHostToDevice, hipMemcpyKind::hipMemcpyDeviceToHost);
    let (value, mut back) = (0x1234_5678u32, 0u32);
    assert_eq!(hip!(hip, hipMemcpyToSymbol(counter, (&raw const value).cast(), 4, 0, to)), OK);
    assert_eq!(hip!(hip, hipMemcpyFromSymbol((&raw mut back).cast(), counter, 2, 2, from)), OK);
    assert_eq!(back, 0x1234);
    for (size, offset) in [(4, 1), (5, 0), (1, usize::MAX)] {
        let code = hip!(hip, hipMemcpyToSymbol(counter, (&raw const value).cast(), size, offset, to));
        assert_eq!(code, E::hipErrorInvalidValue, "{size} at {offset}");
    }
    assert_eq!(launch(&hip, counter, NULL), E::hipErrorInvalidDeviceFunction);
    drop(binary);
    assert_eq!(hip!(hip, hipGetSymbolSize(&mut size, counter)), E::hipErrorInvalidSymbol);
    assert_eq!(hip!(hip, hipMemset(address, 0, 1)), E::hipErrorInvalidValue);
}

/// `kernel<<<1, block, shared, stream>>>()`, as generated by compilers: nothing checks the last result.
fn launch_unchecked(hip: &Hip, stub: *const c_void, block: u32, shared: usize, stream: hipStream_t) {
    assert_eq!(hip!(hip, __hipPushCallConfiguration(one(1), one(block), shared, stream)), OK);
    let (mut grid, mut block, mut shared, mut stream) = (one(0), one(0), 0, NULL);
    let popped = hip!(hip, __hipPopCallConfiguration(&mut grid, &mut block, &mut shared, &mut stream));
    assert_eq!(popped, OK);
    let _ = hip!(hip, hipLaunchKernel(stub, grid, block, null_mut(), shared, stream));
}

/// The extension's text for the thread's last call.
fn launch_failure(hip: &Hip) -> String {
    let mut text = [0u8; 1024];
    let read = hip.table.ext.launch_failure.unwrap();
    // SAFETY: the buffer has so many bytes.
    let length = unsafe { read(text.as_mut_ptr().cast(), text.len()) };
    String::from_utf8(text[..length].to_vec()).unwrap()
}

#[test]
fn a_launch_that_fails_without_a_result_is_an_error_of_whoever_waits_next() {
    let hip = start();
    let (binary, foreign) = (Registered::new("gfx1100"), Registered::new("gfx90a"));
    let empty = binary.kernel(&EMPTY, c"empty");
    let no_code = foreign.kernel(&SAXPY, c"empty");
    let missing = binary.kernel(&COUNTER, c"no_such_kernel");
    let stream = hip.stream(hip_sys::hipStreamNonBlocking);
    let foreign_stream: hipStream_t = std::ptr::without_provenance_mut(0xdead0);
    let memory = hip.malloc(16);
    for (stub, block, shared, stream, code, what) in [
        (empty, 0, 0, stream, E::hipErrorInvalidConfiguration, "`empty`"),
        (empty, 1 << 20, 0, stream, E::hipErrorInvalidConfiguration, "1048576"),
        (empty, 32, 1 << 30, stream, E::hipErrorInvalidValue, "1073741824 bytes"),
        (empty, 32, usize::MAX, stream, E::hipErrorInvalidValue, "LDS"),
        (no_code, 32, 0, stream, E::hipErrorNoBinaryForGpu, "gfx1100"),
        (missing, 32, 0, stream, E::hipErrorInvalidDeviceFunction, "`no_such_kernel`"),
        (null(), 32, 0, stream, E::hipErrorInvalidDeviceFunction, "no fat binary"),
        (empty, 0, 0, NULL, E::hipErrorInvalidConfiguration, "`empty`"),
        // If there is no such stream, the default stream reports it.
        (empty, 32, 0, foreign_stream, E::hipErrorContextIsDestroyed, "`empty`"),
    ] {
        let waits = if std::ptr::eq(stream, foreign_stream) { NULL } else { stream };
        let _ = hip!(hip, hipGetLastError());
        launch_unchecked(&hip, stub, block, shared, stream);
        assert_eq!(launch_failure(&hip), "", "the launch itself has reported it");
        assert_eq!(hip!(hip, hipStreamQuery(waits)), code, "{what}");
        assert_eq!(hip!(hip, hipStreamSynchronize(waits)), code, "{what}");
        assert!(launch_failure(&hip).contains(what), "{}", launch_failure(&hip));
        assert_eq!(hip!(hip, hipGetLastError()), code);
        assert_eq!(hip!(hip, hipStreamSynchronize(waits)), OK);
        assert_eq!(launch_failure(&hip), "");
        launch_unchecked(&hip, stub, block, shared, stream);
        assert_eq!((hip!(hip, hipDeviceSynchronize()), hip!(hip, hipDeviceSynchronize())), (code, OK));
        // Pageable memory has been written on return, even by asynchronous calls.
        let mut read = [0_u32; 4];
        launch_unchecked(&hip, stub, block, shared, stream);
        let to = read.as_mut_ptr().cast();
        assert_eq!(
            hip!(hip, hipMemcpyAsync(to, memory, 16, hipMemcpyKind::hipMemcpyDeviceToHost, waits)),
            code
        );
        assert_eq!(
            hip!(hip, hipMemcpyAsync(to, memory, 16, hipMemcpyKind::hipMemcpyDeviceToHost, waits)),
            OK
        );
        // Programs that check have been told, by whichever call.
        for look in [hip.table.hipGetLastError, hip.table.hipPeekAtLastError, hip.table.hipExtGetLastError] {
            launch_unchecked(&hip, stub, block, shared, stream);
            // SAFETY: the functions take nothing.
            assert_eq!(unsafe { look() }, code);
            assert_eq!((hip!(hip, hipStreamSynchronize(waits)), hip!(hip, hipDeviceSynchronize())), (OK, OK));
        }
        // So have programs that launch without the compiler's stubs.
        assert_ne!(launch(&hip, missing, stream), OK);
        assert_eq!(hip!(hip, hipStreamSynchronize(waits)), OK);
    }
    // A program's own launch, some time after another call, does not count as a stub's.
    assert_eq!(hip!(hip, __hipPushCallConfiguration(one(1), one(32), 0, stream)), OK);
    let (mut grid, mut block, mut shared, mut on) = (one(1), one(0), 0, NULL);
    assert_eq!(hip!(hip, __hipPopCallConfiguration(&mut grid, &mut block, &mut shared, &mut on)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert_ne!(launch(&hip, missing, stream), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    // For an empty grid, no work is missing.
    assert_eq!(hip!(hip, __hipPushCallConfiguration(one(0), one(32), 0, stream)), OK);
    let (mut grid, mut block, mut shared, mut on) = (one(1), one(0), 0, NULL);
    assert_eq!(hip!(hip, __hipPopCallConfiguration(&mut grid, &mut block, &mut shared, &mut on)), OK);
    let launched = hip!(hip, hipLaunchKernel(empty, grid, block, null_mut(), shared, on));
    assert_eq!(launched, E::hipErrorInvalidConfiguration);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert_eq!(hip!(hip, hipGetLastError()), E::hipErrorInvalidConfiguration);
    hip.free(memory);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
}

#[test]
fn events_copies_callbacks_and_captures_tell_of_launches_before_them() {
    let hip = start();
    let binary = Registered::new("gfx1100");
    let empty = binary.kernel(&EMPTY, c"empty");
    let (stream, blocking) = (hip.stream(hip_sys::hipStreamNonBlocking), hip.stream(0));
    let wrong = E::hipErrorInvalidConfiguration;
    let fail = |stream| launch_unchecked(&hip, empty, 0, 0, stream);

    let (mut before, mut after) = (null_mut(), null_mut());
    assert_eq!(hip!(hip, hipEventCreate(&mut before)), OK);
    assert_eq!(hip!(hip, hipEventCreate(&mut after)), OK);
    assert_eq!(hip!(hip, hipEventRecord(before, stream)), OK);
    fail(stream);
    assert_eq!(hip!(hip, hipEventRecord(after, stream)), OK);
    assert_eq!(hip!(hip, hipEventSynchronize(before)), OK);
    let asked = loop {
        match hip!(hip, hipEventQuery(after)) {
            E::hipErrorNotReady => std::thread::yield_now(),
            code => break code,
        }
    };
    assert_eq!(asked, wrong);
    assert_eq!((hip!(hip, hipEventSynchronize(after)), hip!(hip, hipEventSynchronize(after))), (wrong, OK));
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);

    // The null stream waits for blocking streams, and a copy without a stream belongs to it.
    let (from, mut to) = (5u32, 0u32);
    let kind = hipMemcpyKind::hipMemcpyHostToHost;
    let mut copy = || hip!(hip, hipMemcpy((&raw mut to).cast(), (&raw const from).cast(), 4, kind));
    fail(stream);
    assert_eq!(copy(), OK);
    fail(blocking);
    assert_eq!((copy(), copy()), (wrong, OK));
    assert_eq!(to, 5);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), wrong);

    static TOLD: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    unsafe extern "C" fn called(_: hipStream_t, status: E, _: *mut c_void) {
        TOLD.store(status.0, std::sync::atomic::Ordering::SeqCst);
    }
    fail(stream);
    assert_eq!(hip!(hip, hipStreamAddCallback(stream, Some(called), null_mut(), 0)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), wrong);
    assert_eq!(TOLD.load(std::sync::atomic::Ordering::SeqCst), wrong.0);

    let mode = hip_sys::hipStreamCaptureMode::hipStreamCaptureModeThreadLocal;
    let mut graph = null_mut();
    for look in [false, true] {
        assert_eq!(hip!(hip, hipStreamBeginCapture(stream, mode)), OK);
        fail(stream);
        let expected = if look { hip!(hip, hipGetLastError()) } else { wrong };
        assert_eq!(expected, wrong);
        let ended = hip!(hip, hipStreamEndCapture(stream, &mut graph));
        assert_eq!((ended, graph.is_null()), if look { (OK, false) } else { (wrong, true) });
        assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    }
    assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
    assert_eq!(hip!(hip, hipEventDestroy(before)), OK);
    assert_eq!(hip!(hip, hipEventDestroy(after)), OK);
    for stream in [stream, blocking] {
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    }
}
