//! The launchers on buffers and streams of `hip`, on the device in `FERROCM_DEVICE`, else on virtual ones
//! with both sizes of waves.

use std::ffi::c_int;

use hip::hip_sys::hipError_t;
use hip::{Device, DeviceBuffer, DeviceCopy, Stream};
use host_code_test as code;
use test_skip::{Lack, skip};

const SUCCESS: c_int = hipError_t::hipSuccess.0 as c_int;

/// A buffer as a C pointer, ordered as for a kernel launched by `hip`.
fn pointer<T: DeviceCopy>(buffer: &mut DeviceBuffer<T>, stream: &Stream) -> *mut T {
    let address = buffer.as_mut_slice().address_on(stream).unwrap();
    std::ptr::with_exposed_provenance_mut(address.0 as usize)
}

/// Runs a test on each device in turn, because devices share the library's counters.
fn each(test: impl Fn(&Device)) {
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let named = std::env::var("FERROCM_DEVICE").ok().filter(|uri| !uri.is_empty());
    let uris = named.map_or_else(|| vec!["vgpu:gfx1100".into(), "vgpu:gfx90a".into()], |uri| vec![uri]);
    let devices: Vec<Device> = uris.iter().map(|uri| Device::open(uri).unwrap()).collect();
    // The second time, the kernels are already loaded, and another device was current.
    for device in devices.iter().chain(&devices) {
        device.make_current().unwrap();
        test(device);
    }
}

#[test]
fn kernels_and_variables_are_those_of_the_current_device() {
    each(|device| {
        let stream = device.stream().unwrap();
        let n = 1000;
        let values: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let mut x = DeviceBuffer::from_slice(&stream, &values).unwrap();
        let mut y = DeviceBuffer::from_slice(&stream, &vec![1.0_f32; n]).unwrap();
        let (from, to) = (pointer(&mut x, &stream), pointer(&mut y, &stream));
        // SAFETY: both have n elements, and the stream is that of their copies.
        unsafe {
            code::take_written(stream.as_raw());
            assert_eq!(code::set_factor(0.5, stream.as_raw()), SUCCESS);
            assert_eq!(code::launch_saxpy(n as c_int, 4.0, from, to, stream.as_raw()), SUCCESS);
            assert_eq!(code::take_written(stream.as_raw()), n as c_int);
        }
        let expected: Vec<f32> = values.iter().map(|x| 1.0 + 2.0 * x).collect();
        assert_eq!(y.to_vec(&stream).unwrap(), expected, "{device}");
    });
}

#[test]
fn dynamic_shared_memory_and_a_managed_variable() {
    each(|device| {
        let stream = device.stream().unwrap();
        // 48 KiB
        let n = 6 * 1024;
        let values: Vec<f64> = (0..n).map(f64::from).collect();
        let mut data = DeviceBuffer::from_slice(&stream, &values).unwrap();
        let calls = code::count_calls();
        assert!(calls >= 40);
        let address = pointer(&mut data, &stream);
        // SAFETY: there are n elements, and the stream is that of their copies.
        let code = unsafe { code::launch_reverse(n, address, 256, stream.as_raw()) };
        assert_eq!(code, SUCCESS, "{device}");
        let expected: Vec<f64> = values.iter().rev().copied().collect();
        assert_eq!(data.to_vec(&stream).unwrap(), expected, "{device}");
        assert_eq!(code::count_calls(), calls + 1, "{device}");
        assert!(code::threads_of_reverse() >= 256, "{device}");
    });
}

#[test]
fn a_launch_that_cannot_be_is_the_last_error_once() {
    each(|device| {
        let stream = device.stream().unwrap();
        let mut data = DeviceBuffer::<f64>::zeroed(&stream, 16).unwrap();
        let address = pointer(&mut data, &stream);
        // SAFETY: the kernel has as many elements as it is told of, where it runs.
        let launch = |threads| unsafe { code::launch_reverse(16, address, threads, stream.as_raw()) };
        assert_ne!(launch(4096), SUCCESS, "{device}");
        assert_eq!(launch(16), SUCCESS, "{device}");
        assert_eq!(data.to_vec(&stream).unwrap(), [0.0; 16], "{device}");
    });
}

#[test]
fn many_threads_may_launch() {
    each(|device| {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    device.make_current().unwrap();
                    let stream = device.stream().unwrap();
                    for round in 1..5 {
                        let data = [0.0, f64::from(round), 2.0, 3.0];
                        let mut buffer = DeviceBuffer::from_slice(&stream, &data).unwrap();
                        let address = pointer(&mut buffer, &stream);
                        // SAFETY: there are four elements, and the stream is that of their copies.
                        assert_eq!(unsafe { code::launch_reverse(4, address, 4, stream.as_raw()) }, SUCCESS);
                        let [a, b, c, d] = data;
                        assert_eq!(buffer.to_vec(&stream).unwrap(), [d, c, b, a], "{device}");
                    }
                });
            }
        });
    });
}

#[test]
fn host_code_allocates_by_itself() {
    each(|device| assert_eq!(code::sum_to(100), 5050, "{device}"));
}

/// The final answer of polling whether something is done.
fn asked(is_done: impl Fn() -> hip::Result<bool>) -> hip::Result<()> {
    loop {
        match is_done() {
            Ok(false) => std::thread::yield_now(),
            other => return other.map(drop),
        }
    }
}

/// Whether the library keeps launch failures until they are queried.
fn keeps_launches(device: &Device) -> bool {
    let keeps = device.table().ext.launch_failure.is_some();
    if !keeps {
        skip(Lack::Device, "AMD's HIP forgets a launch whose failure nobody asks for");
    }
    keeps
}

/// The result of a wait, as text.
fn told<T: std::fmt::Debug>(result: hip::Result<T>, code: hipError_t, kernel: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.code(), Some(code), "{error}");
    // AMD's libraries report only the code.
    if let hip::Error::HostLaunch(launch) = &error {
        assert!(launch.text().contains(kernel), "{error}");
    }
}

#[test]
fn a_kernel_without_code_for_the_device_is_an_error_of_the_stream() {
    each(|device| {
        // AMD's HIP 7.2 dereferences a null pointer when it launches such a kernel.
        if !keeps_launches(device) {
            return;
        }
        let stream = device.stream().unwrap();
        let mut data = DeviceBuffer::<c_int>::zeroed(&stream, 1).unwrap();
        let to = pointer(&mut data, &stream);
        code::last_error();
        // SAFETY: there is an element, and the stream is that of its copies.
        unsafe { code::set_left_out(to, stream.as_raw()) };
        told(data.to_vec(&stream), hipError_t::hipErrorNoBinaryForGpu, "left_out");
        // The error is reported once, and the stream continues.
        assert_eq!(data.to_vec(&stream).unwrap(), [0], "{device}");
        // SAFETY: as above.
        unsafe { code::set_unchecked(to, 1, 0, stream.as_raw()) };
        assert_eq!(data.to_vec(&stream).unwrap(), [1], "{device}");
    });
}

#[test]
fn launches_that_nobody_looked_at_are_told_by_every_kind_of_wait() {
    each(|device| {
        if !keeps_launches(device) {
            return;
        }
        let stream = device.stream().unwrap();
        let mut data = DeviceBuffer::<c_int>::zeroed(&stream, 1).unwrap();
        let to = pointer(&mut data, &stream);
        stream.synchronize().unwrap();
        code::last_error();
        // SAFETY: there is an element, and the stream is that of its copies.
        let launch = |threads, shared| unsafe { code::set_unchecked(to, threads, shared, stream.as_raw()) };
        for (threads, shared) in [(0, 0), (4096, 0), (1, 1 << 30), (1, 1 << 40)] {
            let code = if shared == 0 {
                hipError_t::hipErrorInvalidConfiguration
            } else {
                hipError_t::hipErrorInvalidValue
            };
            let told = |result: hip::Result<()>| told(result, code, "set");
            launch(threads, shared);
            told(stream.synchronize());
            stream.synchronize().unwrap();
            launch(threads, shared);
            told(device.synchronize());
            device.synchronize().unwrap();
            launch(threads, shared);
            let event = stream.record().unwrap();
            told(asked(|| event.is_done()));
            told(asked(|| stream.is_done()));
            told(event.synchronize());
            assert!(stream.is_done().unwrap() && event.is_done().unwrap());
            // A failure that was queried is not reported again by any call.
            launch(threads, shared);
            assert_eq!(code::last_error(), code.0 as c_int);
            stream.synchronize().unwrap();
            device.synchronize().unwrap();
        }
    });
}

#[test]
fn who_waits_for_a_buffer_leaves_the_error_to_who_waits_for_the_stream() {
    each(|device| {
        if !keeps_launches(device) {
            return;
        }
        let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        let mut data = DeviceBuffer::<c_int>::zeroed(&stream, 1).unwrap();
        let to = pointer(&mut data, &stream);
        code::last_error();
        // SAFETY: there is an element, and the stream is that of its copies.
        unsafe { code::set_unchecked(to, 4096, 0, stream.as_raw()) };
        let wrong = hipError_t::hipErrorInvalidConfiguration;
        // The kernel's output is read on another stream.
        told(data.to_vec(&other), wrong, "set");
        drop(data);
        told(stream.synchronize(), wrong, "set");
        stream.synchronize().unwrap();
        other.synchronize().unwrap();
    });
}

#[test]
fn a_graph_that_lacks_a_launch_is_not_made() {
    each(|device| {
        if !keeps_launches(device) {
            return;
        }
        let mut graph = std::ptr::null_mut();
        let stream = device.stream().unwrap();
        let mut data = DeviceBuffer::<c_int>::zeroed(&stream, 1).unwrap();
        let to = pointer(&mut data, &stream);
        stream.synchronize().unwrap();
        code::last_error();
        let hip = device.table();
        let mode = hip::hip_sys::hipStreamCaptureMode::hipStreamCaptureModeThreadLocal;
        // SAFETY: the stream is there, the place is one to write to, and the kernel's element as well.
        unsafe {
            assert_eq!((hip.hipStreamBeginCapture)(stream.as_raw(), mode), hipError_t::hipSuccess);
            code::set_unchecked(to, 4096, 0, stream.as_raw());
            let ended = (hip.hipStreamEndCapture)(stream.as_raw(), &raw mut graph);
            assert_eq!(ended, hipError_t::hipErrorInvalidConfiguration, "{device}");
        }
        assert!(graph.is_null());
        stream.synchronize().unwrap();
    });
}
