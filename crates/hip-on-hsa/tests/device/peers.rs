//! Several devices: virtual ones, because a process can have any number of them.

use hip_sys::hipMemcpyKind as Kind;
use test_skip::{Lack, skip};

use crate::support::{self, E, Memory, OK, Stream, hip, is_virtual, turn};

fn count() -> i32 {
    let mut count = 0;
    assert_eq!(hip!(hipGetDeviceCount(&mut count)), OK);
    count
}

/// Makes a device the thread's current one; on drop, the first one again.
struct Current;

impl Current {
    fn set(ordinal: i32) -> Self {
        assert_eq!(hip!(hipSetDevice(ordinal)), OK);
        Self
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        assert_eq!(hip!(hipSetDevice(0)), OK);
    }
}

/// Ordinal of a device of a different kind from the first, attached after the runtime has started.
fn second() -> i32 {
    let before = count();
    let config: vgpu::DeviceConfig = "gfx90a?cus=2&memory=64MiB".parse().unwrap();
    vgpu::attach(&config).unwrap();
    let after = count();
    assert!(after >= before && after >= 2);
    after - 1
}

#[test]
fn a_device_that_appears_later_gets_the_next_ordinal_and_keeps_it() {
    let _turn = turn();
    if !is_virtual() {
        skip(Lack::Device, "not a virtual device");
        return;
    }
    let ordinal = second();
    assert_eq!(second(), ordinal, "the same configuration is the same device");
    let mut bytes = 0;
    assert_eq!(hip!(hipDeviceTotalMem(&mut bytes, ordinal)), OK);
    assert_eq!(bytes, 64 << 20);
    let mut value = 0;
    let wave = hip_sys::hipDeviceAttribute_t::hipDeviceAttributeWarpSize;
    assert_eq!(hip!(hipDeviceGetAttribute(&mut value, wave, ordinal)), OK);
    assert_eq!(value, 64);
    let _current = Current::set(ordinal);
    let mut current = -1;
    assert_eq!(hip!(hipGetDevice(&mut current)), OK);
    assert_eq!(current, ordinal);
    std::thread::spawn(|| {
        let mut current = -1;
        assert_eq!(hip!(hipGetDevice(&mut current)), OK);
        assert_eq!(current, 0, "each thread has its own current device");
    })
    .join()
    .unwrap();
}

#[test]
fn memory_goes_between_devices_with_and_without_peer_access() {
    let _turn = turn();
    if !is_virtual() {
        skip(Lack::Device, "not a virtual device");
        return;
    }
    let ordinal = second();
    let size = (1 << 20) + 12_345;
    let bytes: Vec<u8> = (0..size).map(|index| (index * 13 + index / 257) as u8).collect();
    let here = Memory::of(&bytes);
    let there = {
        let _current = Current::set(ordinal);
        Memory::new(size)
    };
    assert_eq!(hip!(hipMemcpyPeer(there.pointer, ordinal, here.pointer, 0, size)), OK);
    assert!(there.read::<u8>(size) == bytes);

    let mut can = -1;
    assert_eq!(hip!(hipDeviceCanAccessPeer(&mut can, 0, ordinal)), OK);
    assert_eq!(can, 1);
    assert_eq!(hip!(hipDeviceCanAccessPeer(&mut can, 0, 0)), OK);
    assert_eq!(can, 0);
    assert_eq!(hip!(hipDeviceEnablePeerAccess(0, 0)), E::hipErrorInvalidDevice);
    assert_eq!(hip!(hipDeviceDisablePeerAccess(ordinal)), E::hipErrorPeerAccessNotEnabled);
    assert_eq!(hip!(hipDeviceEnablePeerAccess(ordinal, 1)), E::hipErrorInvalidValue);
    assert_eq!(hip!(hipDeviceEnablePeerAccess(ordinal, 0)), OK);
    assert_eq!(hip!(hipDeviceEnablePeerAccess(ordinal, 0)), E::hipErrorPeerAccessAlreadyEnabled);

    let stream = Stream::new(0);
    assert_eq!(hip!(hipMemset(here.pointer, 0, size)), OK);
    assert_eq!(hip!(hipDeviceSynchronize()), OK);
    let (to, from) = (here.pointer, there.pointer);
    assert_eq!(hip!(hipMemcpyAsync(to, from, size, Kind::hipMemcpyDefault, stream.0)), OK);
    assert_eq!(stream.wait(), OK);
    assert!(here.read::<u8>(size) == bytes);
    assert_eq!(hip!(hipDeviceDisablePeerAccess(ordinal)), OK);
    assert_eq!(hip!(hipMemcpyPeerAsync(to, 0, from, 99, size, stream.0)), E::hipErrorInvalidDevice);
}

#[test]
fn a_graph_can_have_nodes_of_several_devices_and_run_on_a_stream_of_any() {
    let _turn = turn();
    if !is_virtual() {
        skip(Lack::Device, "not a virtual device");
        return;
    }
    const COUNT: usize = 1000;
    let ordinal = second();
    let on = |device: i32, work: &mut dyn FnMut()| {
        let _current = Current::set(device);
        work();
    };
    let (mut streams, mut kernels, mut events) = (Vec::new(), Vec::new(), Vec::new());
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for device in [0, ordinal] {
        on(device, &mut || {
            streams.push(Stream::new(hip_sys::hipStreamNonBlocking));
            kernels.push(support::Kernels::load());
            events.push([support::Event::new(), support::Event::new()]);
            x.push(Memory::of(&[1f32; COUNT]));
            y.push(Memory::of(&[0f32; COUNT]));
        });
    }
    let saxpy = |device: usize, a: f32| {
        let (mut a, mut x, mut y, mut n) = (a, x[device].pointer, y[device].pointer, COUNT as u32);
        let function = kernels[device].get("saxpy");
        let arguments: &mut [*mut std::ffi::c_void] = support::arguments![a, x, y, n];
        assert_eq!(support::launch(function, [8, 1, 1], [128, 1, 1], 0, streams[device].0, arguments), OK);
    };
    // y0 += 1 here; there y1 += 2 and a copy of y1 to x0; then y0 += 3 x0 here.
    let mode = hip_sys::hipStreamCaptureMode::hipStreamCaptureModeRelaxed;
    assert_eq!(hip!(hipStreamBeginCapture(streams[0].0, mode)), OK);
    saxpy(0, 1.0);
    events[0][0].record(&streams[0]);
    assert_eq!(hip!(hipStreamWaitEvent(streams[1].0, events[0][0].0, 0)), OK);
    on(ordinal, &mut || {
        saxpy(1, 2.0);
        let (to, from) = (x[0].pointer, y[1].pointer);
        assert_eq!(hip!(hipMemcpyAsync(to, from, 4 * COUNT, Kind::hipMemcpyDefault, streams[1].0)), OK);
        events[1][0].record(&streams[1]);
    });
    assert_eq!(hip!(hipStreamWaitEvent(streams[0].0, events[1][0].0, 0)), OK);
    saxpy(0, 3.0);
    let (mut graph, mut exec) = (std::ptr::null_mut(), std::ptr::null_mut());
    assert_eq!(hip!(hipStreamEndCapture(streams[0].0, &mut graph)), OK);
    let null = std::ptr::null_mut();
    assert_eq!(hip!(hipGraphInstantiate(&mut exec, graph, null, std::ptr::null_mut(), 0)), OK);
    let (mut hx, mut hy) = ([1f32; 2], [0f32; 2]);
    for round in 0..6 {
        assert_eq!(hip!(hipGraphLaunch(exec, streams[round % 2].0)), OK);
        hy[0] += hx[0];
        hy[1] += 2.0 * hx[1];
        hx[0] = hy[1];
        hy[0] += 3.0 * hx[0];
    }
    assert_eq!((streams[0].wait(), streams[1].wait()), (OK, OK));
    assert_eq!(y[0].read::<f32>(COUNT), [hy[0]; COUNT]);
    assert_eq!(y[1].read::<f32>(COUNT), [hy[1]; COUNT]);
    assert_eq!(hip!(hipGraphExecDestroy(exec)), OK);
    assert_eq!(hip!(hipGraphDestroy(graph)), OK);
}

#[test]
fn objects_of_one_device_are_not_those_of_another() {
    let _turn = turn();
    if !is_virtual() {
        skip(Lack::Device, "not a virtual device");
        return;
    }
    let ordinal = second();
    let event = support::Event::new();
    let stream = {
        let _current = Current::set(ordinal);
        Stream::new(0)
    };
    assert_eq!(hip!(hipEventRecord(event.0, stream.0)), E::hipErrorInvalidHandle);
    let mut device = -1;
    assert_eq!(hip!(hipStreamGetDevice(stream.0, &mut device)), OK);
    assert_eq!(device, ordinal);
    let kernels = support::Kernels::load();
    let empty = kernels.get("empty");
    let foreign = support::launch(empty, [1; 3], [1; 3], 0, stream.0, &mut []);
    assert_eq!(foreign, E::hipErrorInvalidHandle);
}
