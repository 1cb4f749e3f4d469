//! Memory that host and device share, and copies of borrowed host memory.

use hip::{
    Advice, DeviceBuffer, Error, HostBuffer, HostOptions, Location, ManagedBuffer, MappedBuffer,
    RegisteredBuffer,
};
use test_skip::{Lack, skip};

use crate::common;

/// `data[i] += 1` for each of `len` elements.
fn add_one(stream: &hip::Stream, data: hip::DeviceSliceMut<'_, u32>) {
    let add_one = common::module(stream.device()).function("add_one").unwrap();
    let len = data.len();
    // SAFETY: `add_one` reads and writes data[0..len].
    unsafe { add_one.launch(stream).elements(len, 256).arg(len as u32).arg(data).enqueue().unwrap() };
}

#[test]
fn kernels_change_mapped_memory_in_place() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let mut buffer = MappedBuffer::<u32>::zeroed(&device, 1000, HostOptions::default()).unwrap();
    assert_eq!(*buffer.host().unwrap(), [0; 1000]);
    buffer.host_mut().unwrap()[500] = 40;
    add_one(&stream, buffer.as_mut_slice());
    // The host automatically waits for the kernel.
    let host = buffer.host().unwrap();
    assert_eq!((host[0], host[500], host[999]), (1, 41, 1));
    add_one(&stream, buffer.as_mut_slice());
    // Dropped while the kernel may run.
}

#[test]
fn a_vector_is_registered_and_comes_back() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let values: Vec<u32> = (0..10_000).collect();
    let mut buffer = RegisteredBuffer::new(&device, values.clone()).unwrap();
    add_one(&stream, buffer.as_mut_slice());
    let mut copy = DeviceBuffer::<u32>::uninit(&device, values.len()).unwrap();
    copy.copy_from(&stream, &buffer).unwrap();
    let expected: Vec<u32> = (1..=10_000).collect();
    assert_eq!(copy.to_vec(&stream).unwrap(), expected);
    assert_eq!(buffer.into_vec().unwrap(), expected);
    drop(RegisteredBuffer::new(&device, values).unwrap());
    assert!(RegisteredBuffer::<u32>::new(&device, Vec::new()).unwrap().into_vec().unwrap().is_empty());
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn managed_memory_is_the_hosts_and_the_devices_in_turn() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let mut buffer = ManagedBuffer::from_slice(&device, &[5_u32; 3000]).unwrap();
    for round in 1..5 {
        add_one(&stream, buffer.as_mut_slice());
        assert!(buffer.host().unwrap().iter().all(|value| *value == 5 + round));
    }
    buffer.host_mut().unwrap().fill(1);
    let other = device.stream().unwrap();
    add_one(&other, buffer.as_mut_slice().slice_mut(..10).unwrap());
    let host = buffer.host().unwrap();
    assert_eq!((host[9], host[10]), (2, 1));
    assert!(ManagedBuffer::<f32>::zeroed(&device, 0).unwrap().host().unwrap().is_empty());
}

#[test]
fn managed_memory_takes_advice_and_is_moved() {
    let device = common::device();
    if !device.table().has("hipMemAdvise") || !device.table().has("hipMemPrefetchAsync") {
        skip(Lack::Device, format_args!("the library behind {device} takes no advice"));
        return;
    }
    let stream = device.stream().unwrap();
    let buffer = ManagedBuffer::from_slice(&device, &[5_u32; 3000]).unwrap();
    let here = Location::Device(&device);
    buffer.advise(Advice::ReadMostly(true)).unwrap();
    buffer.advise(Advice::ReadMostly(false)).unwrap();
    buffer.advise(Advice::PreferredLocation(Some(here))).unwrap();
    buffer.advise(Advice::PreferredLocation(None)).unwrap();
    buffer.advise(Advice::AccessedBy(Location::Host)).unwrap();
    buffer.prefetch(&stream, here).unwrap();
    buffer.prefetch(&stream, Location::Host).unwrap();
    assert_eq!(*buffer.host().unwrap(), [5; 3000]);
}

#[test]
fn pinned_memory_is_of_every_kind() {
    let device = common::device();
    let stream = device.stream().unwrap();
    for portable in [false, true] {
        for write_combined in [false, true] {
            let options = HostOptions { portable, write_combined };
            let mut host = HostBuffer::<u32>::with_options(&device, 5000, options).unwrap();
            host.fill(9);
            let mut buffer = DeviceBuffer::uninit(&device, 5000).unwrap();
            buffer.upload(&stream, host).unwrap().wait().unwrap();
            assert_eq!(buffer.to_vec(&stream).unwrap(), [9; 5000]);
        }
    }
}

#[test]
fn copies_of_borrowed_memory_end_with_their_scope() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let input: Vec<u32> = (0..100_000).collect();
    let mut output = vec![0; input.len()];
    let mut buffer = DeviceBuffer::<u32>::uninit(&device, input.len()).unwrap();
    let module = common::module(&device);
    let add_one = module.function("add_one").unwrap();
    let (low, high) = output.split_at_mut(50_000);
    let sum = stream.scope(|scope| {
        scope.copy_from_host(&mut buffer, &input)?;
        let launch = add_one.launch(scope.stream()).elements(100_000, 256).arg(100_000_u32).arg(&mut buffer);
        // SAFETY: `add_one` reads and writes buffer[0..100_000].
        unsafe { launch.enqueue()? };
        scope.copy_to_host(buffer.slice(..50_000)?, low)?;
        scope.copy_to_host(buffer.slice(50_000..)?, high)?;
        Ok(input.iter().map(|value| u64::from(*value)).sum::<u64>())
    });
    assert_eq!(sum.unwrap(), 99_999 * 50_000);
    assert!(output.iter().zip(&input).all(|(output, input)| *output == input + 1));
    let error = stream.scope(|scope| scope.copy_from_host(&mut buffer, &input[1..])).unwrap_err();
    assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        stream.scope(|scope| -> hip::Result<()> {
            scope.copy_to_host(&buffer, &mut output)?;
            panic!("on purpose")
        })
    }));
    assert!(panicked.is_err());
}
