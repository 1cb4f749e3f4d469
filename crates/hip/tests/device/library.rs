//! A program built without the virtual GPU: the HIP library that it loads has one, so URIs of virtual GPUs
//! work.
#![cfg(not(feature = "virtual"))]

use hip::{Allocator, Backend, Device, DeviceBuffer};
use test_skip::{Lack, skip};

use crate::common;

#[test]
fn virtual_gpus_of_the_library_are_opened_by_name() {
    let device = common::device();
    if device.backend() != Backend::Virtual {
        return skip(Lack::Device, "not a virtual device");
    }
    let wanted = std::env::var(hip::uri::DEVICE_VARIABLE).unwrap();
    assert_eq!(Device::open(&wanted).unwrap(), device);
    assert_eq!(Device::open_default().unwrap(), device);
    assert_eq!(Device::open_uri(device.uri()).unwrap(), device, "{device}");
    assert!(device.table().path().is_some() && device.has_exact_bounds());
    assert_eq!(device.allocator(), Allocator::Direct);

    let pair = Device::open_all(&"vgpu:gfx90a?cus=3&memory=64MiB&count=2".parse().unwrap()).unwrap();
    assert!(pair.len() == 2 && pair[0] != pair[1] && !pair.contains(&device));
    for device in &pair {
        assert_eq!(device.target().processor, "gfx90a");
        assert_eq!(device.uri().to_string(), "vgpu:gfx90a?cus=3&memory=64MiB");
        let stream = device.stream().unwrap();
        assert_eq!(DeviceBuffer::from_slice(&stream, &[1, 2]).unwrap().to_vec(&stream).unwrap(), [1, 2]);
    }
    let error = Device::open("vgpu:gfx803").unwrap_err().to_string();
    assert!(error.contains("no virtual GPU for target `gfx803`"), "{error}");
}
