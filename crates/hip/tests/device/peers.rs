//! Several devices: access to each other's memory, logical devices, limits.

use hip::uri::VirtualGpu;
use hip::{Device, DeviceBuffer, DeviceUri, Error, LaunchError, Limit, PeerMatrix};
use test_skip::{Lack, skip};

use crate::common;

/// Two devices of one library that no other test uses, identified by `mark`; `None` if there are fewer than
/// two.
fn pair(mark: u32) -> Option<[Device; 2]> {
    let devices = match common::device().uri() {
        DeviceUri::Virtual(gpu) => {
            let gpu = VirtualGpu { count: Some(2), compute_units: Some(mark), ..gpu.clone() };
            Device::open_all(&DeviceUri::Virtual(gpu)).unwrap()
        }
        DeviceUri::Cuda(_) => Device::open_all(&"cuda".parse().unwrap()).unwrap(),
        _ => Device::open_all(&"amdgpu".parse().unwrap()).unwrap(),
    };
    let found = <[Device; 2]>::try_from(devices.into_iter().take(2).collect::<Vec<_>>());
    if found.is_err() {
        skip(Lack::Device, "there is one device only");
    }
    found.ok()
}

#[test]
fn memory_of_a_peer_is_refused_until_access_is_enabled() {
    let Some([first, second]) = pair(3) else { return };
    let (a, b) = (first.stream().unwrap(), second.stream().unwrap());
    let mut x = DeviceBuffer::from_slice(&a, &[1_u32; 1000]).unwrap();
    let add_one = common::module(&second).function("add_one").unwrap();
    if !second.can_access_peer(&first).unwrap() {
        assert!(second.enable_peer_access(&first).is_err());
        return;
    }

    assert!(!second.has_access_to(&first));
    match add_one.launch(&b).elements(1000, 256).arg(1000_u32).arg(&mut x).prepare().map(drop) {
        // Equal devices, which the error distinguishes.
        Err(Error::Launch(error)) => match &*error {
            LaunchError::OtherDevice { expected, got, .. } => assert_ne!(expected, got),
            other => panic!("{other}"),
        },
        other => panic!("{other:?}"),
    }
    match x.fill(&b, 0) {
        Err(Error::OtherDevice { expected, got, .. }) => {
            assert_ne!(expected, got);
            assert_eq!((expected, got), second.names_beside(&first));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(first.names_beside(&first), (first.to_string(), first.to_string()));

    second.enable_peer_access(&first).unwrap();
    second.enable_peer_access(&first).unwrap();
    assert!(second.has_access_to(&first) && !first.has_access_to(&second));
    let launch = add_one.launch(&b).elements(1000, 256).arg(1000_u32).arg(&mut x);
    // SAFETY: `add_one` reads and writes x[0..1000].
    unsafe { launch.enqueue().unwrap() };
    // The first device's stream waits for the second one's.
    assert_eq!(x.to_vec(&a).unwrap(), [2; 1000]);
    x.slice_mut(..500).unwrap().fill(&b, 7).unwrap();
    assert_eq!(x.slice(499..501).unwrap().to_vec(&b).unwrap(), [7, 2]);

    second.disable_peer_access(&first).unwrap();
    second.disable_peer_access(&first).unwrap();
    assert!(matches!(x.fill(&b, 0), Err(Error::OtherDevice { .. })));
}

#[test]
fn a_logical_device_is_its_members_with_access_to_each_other() {
    let Some(devices) = pair(5) else { return };
    let logical = match Device::logical(&devices) {
        Ok(logical) => logical,
        Err(error) => return assert!(matches!(error, Error::NoPeerAccess { .. }), "{error}"),
    };
    assert_eq!(logical.members(), devices);
    assert_eq!(logical, devices[0]);
    assert_eq!(Device::logical(std::slice::from_ref(&logical)).unwrap().members(), devices);
    assert_eq!(devices[1].members(), [devices[1].clone()]);

    // Each member adds one to its half, then to the other one's, many times.
    const N: usize = 10_000;
    let streams: Vec<_> = devices.iter().map(|device| device.stream().unwrap()).collect();
    let functions: Vec<_> =
        devices.iter().map(|device| common::module(device).function("add_one").unwrap()).collect();
    let mut halves: Vec<_> =
        streams.iter().map(|stream| DeviceBuffer::<u32>::zeroed(stream, N).unwrap()).collect();
    for round in 0..20 {
        for (index, half) in halves.iter_mut().enumerate() {
            let who = (index + round) % 2;
            let launch = functions[who].launch(&streams[who]).elements(N, 256).arg(N as u32).arg(half);
            // SAFETY: `add_one` reads and writes the N elements of its argument.
            unsafe { launch.enqueue().unwrap() };
        }
    }
    logical.synchronize().unwrap();
    for half in &halves {
        assert_eq!(half.to_vec(&streams[0]).unwrap(), [20; N]);
    }

    assert!(matches!(Device::logical(&[]), Err(Error::Unsupported { .. })));
    let twice = [devices[0].clone(), devices[0].clone()];
    assert!(matches!(Device::logical(&twice), Err(Error::Unsupported { .. })));
}

#[test]
fn the_matrix_has_a_link_for_every_two_devices() {
    let Some(devices) = pair(6) else { return };
    let matrix = PeerMatrix::of(&devices).unwrap();
    for from in 0..2 {
        assert_eq!(matrix.link(from, from), None);
        let link = matrix.link(from, 1 - from).unwrap();
        assert_eq!(link.access, devices[from].can_access_peer(&devices[1 - from]).unwrap());
    }
    assert_eq!(matrix.link(0, 2), None);
    assert_eq!(matrix.to_string().lines().count(), 5);
}

#[test]
fn limits_are_what_they_are_set_to() {
    let device = common::device();
    let before = device.limit(Limit::Stack).unwrap();
    device.set_limit(Limit::Stack, 4096).unwrap();
    assert!(device.limit(Limit::Stack).unwrap() >= 4096);
    device.set_limit(Limit::Stack, before).unwrap();
    let error = device.set_limit(Limit::Stack, usize::MAX).unwrap_err();
    assert_eq!(error.operation(), Some("hipDeviceSetLimit"));
}

#[test]
fn attributes_agree_with_properties() {
    use hip::hip_sys::hipDeviceAttribute_t as Attribute;
    let device = common::device();
    let properties = device.properties();
    let attribute = |which| device.attribute(which).unwrap() as u32;
    assert_eq!(attribute(Attribute::hipDeviceAttributeWarpSize), properties.wave_size);
    assert_eq!(attribute(Attribute::hipDeviceAttributeMultiprocessorCount), properties.compute_units);
    assert_eq!(attribute(Attribute::hipDeviceAttributeMaxThreadsPerBlock), properties.max_block_threads);
    assert_eq!(attribute(Attribute::hipDeviceAttributeCooperativeLaunch) != 0, properties.cooperative_launch);
    assert!(device.attribute(Attribute(u32::MAX)).is_err());
}

#[test]
fn buffers_are_copied_between_devices_without_access() {
    let Some([first, second]) = pair(6) else { return };
    let (a, b) = (first.stream().unwrap(), second.stream().unwrap());
    let values: Vec<u32> = (0..50_000).collect();
    let here = DeviceBuffer::from_slice(&a, &values).unwrap();
    let mut there = DeviceBuffer::<u32>::uninit(&second, values.len()).unwrap();
    assert!(!second.has_access_to(&first) && !first.has_access_to(&second));
    // Enqueued on the destination's stream, which waits for the stream that wrote the source.
    there.copy_from(&b, &here).unwrap();
    assert_eq!(there.to_vec(&b).unwrap(), values);
    there.slice_mut(..10).unwrap().fill(&b, 3).unwrap();
    let mut back = DeviceBuffer::<u32>::zeroed(&a, 20).unwrap();
    back.copy_from(&a, there.slice(..20).unwrap()).unwrap();
    let expected: Vec<u32> = (0..20).map(|i| if i < 10 { 3 } else { i }).collect();
    assert_eq!(back.to_vec(&a).unwrap(), expected);
    assert!(matches!(back.copy_from(&a, there.slice(..3).unwrap()), Err(Error::LengthMismatch { .. })));
}
