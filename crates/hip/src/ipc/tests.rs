use super::*;
use crate::{EventOptions, fake};

/// The handle as if another process had made it.
fn foreign(handle: &IpcMemory, device: &Device) -> IpcMemory {
    IpcMemory { sender: Sender::another_process(device), ..handle.clone() }
}

#[test]
fn handles_come_back_from_their_bytes_as_they_were() {
    let device = fake::device(0);
    let buffer = DeviceBuffer::<[u16; 3]>::uninit(&device, 100).unwrap();
    let view = buffer.slice(7..90).unwrap();
    let handle = view.ipc_handle().unwrap();
    assert_eq!((handle.len(), handle.element().as_str()), (83, "[u16; 3]"));
    assert_eq!((handle.offset, handle.size), (7 * 6, 6));
    assert_eq!(IpcMemory::from_bytes(&handle.to_bytes()).unwrap(), handle);
    let event = Event::with(&device, EventOptions::new().interprocess(true)).unwrap();
    let handle = event.ipc_handle().unwrap();
    assert_eq!(IpcEvent::from_bytes(&handle.to_bytes()).unwrap(), handle);
}

#[test]
fn other_bytes_are_refused_and_the_reason_is_told() {
    let device = fake::device(0);
    let bytes = DeviceBuffer::<u32>::uninit(&device, 4).unwrap().ipc_handle().unwrap().to_bytes();
    let reason = |bytes: &[u8]| match IpcMemory::from_bytes(bytes) {
        Err(Error::Ipc(error)) => error,
        other => panic!("{other:?}"),
    };
    for length in [0, 1, bytes.len() - 1] {
        let expected = IpcError::Length { what: "memory", expected: bytes.len(), got: length };
        assert_eq!(reason(&bytes[..length]), expected);
    }
    let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
    assert!(matches!(reason(&longer), IpcError::Length { .. }));
    // Each takes seconds under Miri.
    for index in (0..bytes.len()).step_by(if cfg!(miri) { 60 } else { 1 }) {
        for bit in [1, 0x80] {
            let mut changed = bytes;
            changed[index] ^= bit;
            let expected = if index < 8 { IpcError::Kind { what: "memory" } } else { IpcError::Damaged };
            assert_eq!(reason(&changed), expected, "byte {index}");
        }
    }
    let event = Event::with(&device, EventOptions::new().interprocess(true)).unwrap();
    let bytes = event.ipc_handle().unwrap().to_bytes();
    assert!(matches!(reason(&bytes), IpcError::Length { .. }));
    let mut padded = [0; IpcMemory::SIZE];
    padded[..bytes.len()].copy_from_slice(&bytes);
    assert_eq!(reason(&padded), IpcError::Kind { what: "memory" });
    // Impossible numbers with a valid checksum.
    let made = |offset, len, size| IpcMemory {
        offset,
        len,
        size,
        ..IpcMemory::from_bytes(
            &DeviceBuffer::<u32>::uninit(&device, 4).unwrap().ipc_handle().unwrap().to_bytes(),
        )
        .unwrap()
    };
    for wrong in [made(u64::MAX, 1, 1), made(0, u64::MAX, 4), made(0, 1 << 62, 4), made(1 << 62, 1 << 62, 1)]
    {
        assert_eq!(reason(&wrong.to_bytes()), IpcError::Damaged, "{wrong:?}");
    }
}

#[test]
fn memory_is_opened_as_what_it_is_and_by_others_only() {
    let device = fake::device(0);
    let stream = device.stream().unwrap();
    let buffer = DeviceBuffer::from_slice(&stream, &[1_u32, 2, 3, 4, 5]).unwrap();
    let own = buffer.slice(1..4).unwrap().ipc_handle().unwrap();
    let handle = foreign(&own, &device);
    // SAFETY: the buffer is kept, and what is opened is only read.
    let open = |handle: &IpcMemory, device: &Device| unsafe { handle.open::<u32>(device) };
    let reason = |result: Result<DeviceBuffer<u32>>| match result {
        Err(Error::Ipc(error)) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(open(&own, &device)), IpcError::SameProcess);
    assert!(matches!(reason(open(&handle, &fake::device(1))), IpcError::OtherDevice { .. }));
    // SAFETY: as above.
    let as_float = unsafe { handle.open::<f32>(&device) }.unwrap_err().to_string();
    assert_eq!(as_float, "the handle is of `u32`, 4 bytes each, not of `f32`, 4 bytes each");
    let opened = open(&handle, &device).unwrap();
    assert_eq!(opened.to_vec(&stream).unwrap(), [2, 3, 4]);
    let unknown = IpcMemory { handle: [0; HANDLE], ..handle };
    let error = open(&unknown, &device).unwrap_err();
    assert_eq!(error.code(), Some(hip_sys::hipError_t::hipErrorInvalidHandle), "{error}");
}

#[test]
fn opened_memory_is_closed_once_when_its_streams_are_done() {
    let device = fake::device(0);
    let stream = device.stream().unwrap();
    let buffer = DeviceBuffer::<u32>::uninit(&device, 4).unwrap();
    let start = buffer.address();
    let handle = foreign(&buffer.slice(2..).unwrap().ipc_handle().unwrap(), &device);
    // SAFETY: the buffer is kept, and only what is opened here uses its memory.
    let open = || unsafe { handle.open::<u32>(&device).unwrap() };
    let (mut first, second) = (open(), open());
    assert_eq!((fake::opened(start), first.address()), (2, DeviceAddress(start.0 + 8)));
    first.fill(&stream, 1).unwrap();
    fake::calls(&stream);
    drop(first);
    assert_eq!((fake::opened(start), fake::calls(&stream)), (1, vec!["synchronize"]));
    drop(second);
    assert_eq!(fake::opened(start), 0);
}

#[test]
fn blocks_of_the_cache_are_parts_of_their_segment() {
    let device = fake::caching_device();
    let stream = device.stream().unwrap();
    let first = DeviceBuffer::from_slice(&stream, &[7_u8; 1000]).unwrap();
    let second = DeviceBuffer::from_slice(&stream, &[9_u8; 1000]).unwrap();
    let (one, two) = (first.ipc_handle().unwrap(), second.ipc_handle().unwrap());
    assert_eq!(one.handle, two.handle, "one segment holds both");
    assert_eq!(two.offset.wrapping_sub(one.offset), second.address().0.wrapping_sub(first.address().0));
    // SAFETY: the buffers are kept, and what is opened is only read.
    let opened = unsafe { foreign(&two, &device).open::<u8>(&device).unwrap() };
    assert_eq!(opened.to_vec(&stream).unwrap(), [9; 1000]);
}

#[test]
fn nothing_needs_no_memory_to_be_shared() {
    let device = fake::device(0);
    for len in [0, 5] {
        let empty = DeviceBuffer::<[u8; 0]>::uninit(&device, len).unwrap();
        let handle = foreign(&empty.ipc_handle().unwrap(), &device);
        let handle = IpcMemory::from_bytes(&handle.to_bytes()).unwrap();
        // SAFETY: there is no memory.
        assert_eq!(unsafe { handle.open::<[u8; 0]>(&device) }.unwrap().len(), len);
    }
}

#[test]
fn names_of_types_have_no_paths() {
    struct Here<T>(std::marker::PhantomData<T>);
    assert_eq!(name::<u8>(), "u8");
    assert_eq!(name::<[half::f16; 2]>(), "[f16; 2]");
    assert_eq!(name::<Here<(u8, Vec<half::bf16>)>>(), "Here<(u8, Vec<bf16>)>");
}
