//! Memory that both can access: shared by file descriptor, or the host's.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use hip::{Backend, DeviceBuffer, Error, ExternalMemory, ExternalMemoryError, HostOptions, MappedBuffer};
use test_skip::{Lack, skip};
use vulkan_test::{Buffer, Compute, Drawing};

use crate::support::{SHADER, affine, both, numbers, refusal};

#[test]
fn vulkan_computes_on_what_hip_wrote_and_hip_on_the_result() {
    let Some(both) = both() else { return };
    // Neither a multiple of a workgroup nor of a page.
    let len = 10_001;
    let (mut from, to) = (both.shared(len), both.shared(len));
    let compute = Compute::new(&both.vulkan, &from.vulkan, &to.vulkan, len as u32).unwrap();
    let stream = both.hip.stream().unwrap();
    let mut result = DeviceBuffer::<u32>::uninit(&both.hip, len).unwrap();
    for round in 0..3_u32 {
        let (values, before, after) = (numbers(len), (7 + round, 11), (5, 2 + round));
        let source = DeviceBuffer::from_slice(&stream, &values).unwrap();
        both.affine(&stream, before, &source, &mut from.hip);
        stream.synchronize().unwrap();
        compute.run().unwrap();
        both.affine(&stream, after, &to.hip, &mut result);
        let found = result.to_vec(&stream).unwrap();
        for (index, (&value, &found)) in values.iter().zip(&found).enumerate() {
            let expected = affine(affine(affine(value, before), SHADER), after);
            assert_eq!(found, expected, "element {index} of round {round}");
        }
    }
}

#[test]
fn a_triangle_has_the_colours_that_hip_wrote() {
    let Some(both) = both() else { return };
    let (width, height) = (100_u32, 37_u32);
    let len = (width * height) as usize;
    let (mut from, to) = (both.shared(len), both.shared(len));
    let drawing = Drawing::new(&both.vulkan, &from.vulkan, &to.vulkan, (width, height)).unwrap();
    let stream = both.hip.stream().unwrap();
    let values = numbers(len);
    from.hip.copy_from_host(&stream, &values).unwrap();
    stream.synchronize().unwrap();
    drawing.run().unwrap();
    let mut result = DeviceBuffer::<u32>::uninit(&both.hip, len).unwrap();
    both.affine(&stream, (9, 4), &to.hip, &mut result);
    let found = result.to_vec(&stream).unwrap();
    for (index, (&value, &found)) in values.iter().zip(&found).enumerate() {
        assert_eq!(found, affine(affine(value, SHADER), (9, 4)), "pixel {index}");
    }
}

/// The other direction: memory pinned by HIP and imported by Vulkan (`VK_EXT_external_memory_host`).
#[test]
fn vulkan_computes_in_the_host_s_memory_that_hip_has_pinned() {
    let Some(both) = both() else { return };
    let Some(alignment) = both.vulkan.host_alignment() else {
        skip(Lack::Device, format_args!("{} cannot import host memory", both.vulkan.name()));
        return;
    };
    let bytes = (3 * 4096_usize).next_multiple_of(alignment);
    let len = bytes / 4;
    let stream = both.hip.stream().unwrap();
    let pinned = || MappedBuffer::<u32>::zeroed(&both.hip, len, HostOptions::default()).unwrap();
    let (mut from, mut to) = (pinned(), pinned());
    from.host_mut().unwrap().copy_from_slice(&numbers(len));
    let import = |buffer: &mut MappedBuffer<u32>| {
        let address = buffer.host_mut().unwrap().as_mut_ptr();
        assert!(address.addr().is_multiple_of(alignment));
        // SAFETY: the buffer has this many bytes and outlives Vulkan's; the two use it in turn.
        Arc::new(unsafe { Buffer::on_host(&both.vulkan, address.cast(), bytes) }.unwrap())
    };
    let compute = Compute::new(&both.vulkan, &import(&mut from), &import(&mut to), len as u32).unwrap();
    // HIP's kernel runs before and after Vulkan's.
    let function = both.function("add");
    let source = DeviceBuffer::from_slice(&stream, &vec![5_u32; len]).unwrap();
    let add = |buffer: &mut MappedBuffer<u32>| {
        let launch = function.launch(&stream).elements(len, 128).arg(len as u32).arg(&source);
        // SAFETY: the kernel reads as many elements of one buffer as it changes of the other.
        unsafe { launch.arg(buffer.as_mut_slice()).enqueue().unwrap() };
        stream.synchronize().unwrap();
    };
    add(&mut from);
    compute.run().unwrap();
    add(&mut to);
    for (index, (value, &found)) in numbers(len).into_iter().zip(to.host().unwrap()).enumerate() {
        assert_eq!(found, affine(value.wrapping_add(5), SHADER).wrapping_add(5), "element {index}");
    }
}

#[test]
fn a_kernel_that_leaves_the_imported_bytes_is_a_fault() {
    let Some(both) = both() else { return };
    if both.hip.backend() != Backend::Virtual {
        skip(Lack::Device, format_args!("{} does not report every out-of-bounds access", both.hip));
        return;
    }
    let vulkan = Buffer::exportable(&both.vulkan, 10_000).unwrap();
    // Less than the actual size: the program chooses how much to import.
    let bytes = 5_000;
    // SAFETY: the memory has more bytes than that, and Vulkan does not use it.
    let memory = unsafe { ExternalMemory::import(&both.hip, vulkan.export().unwrap(), bytes) }.unwrap();
    let buffer = memory.buffer::<u32>(0, bytes / 4).unwrap();
    let write_at = both.function("write_at");
    let attempt = |index: i64| {
        let stream = both.hip.stream().unwrap();
        // SAFETY: an out-of-bounds access is a harmless error here.
        unsafe {
            write_at.launch(&stream).grid(1).block(64).arg(buffer.address()).arg(index).enqueue().unwrap()
        };
        stream.synchronize()
    };
    attempt(bytes as i64 / 4 - 1).unwrap();
    for index in [bytes as i64 / 4, -1] {
        let Err(Error::Fault(report)) = attempt(index) else { panic!("no fault at {index}") };
        let text = report.text();
        assert!(text.contains("write_at") && text.contains("5000 bytes"), "{text}");
    }
}

#[test]
fn what_is_no_memory_or_too_little_is_refused() {
    let Some(both) = both() else { return };
    // SAFETY: refused memory is not used.
    let import = |descriptor: OwnedFd, bytes| unsafe { ExternalMemory::import(&both.hip, descriptor, bytes) };
    let null = || OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
    assert!(
        matches!(import(null(), 0), Err(Error::ExternalMemory(error)) if *error == ExternalMemoryError::Empty)
    );
    let operation = "hipImportExternalMemory";
    if both.hip.backend() == Backend::Virtual {
        assert_eq!(refusal(import(null(), 4096)), Some((operation, "hipErrorInvalidValue")));
        let (reader, _writer) = std::io::pipe().unwrap();
        assert_eq!(refusal(import(reader.into(), 4096)), Some((operation, "hipErrorInvalidValue")));
        let vulkan = Buffer::exportable(&both.vulkan, 4096).unwrap();
        let more = vulkan.allocated() + 4096;
        assert_eq!(
            refusal(import(vulkan.export().unwrap(), more)),
            Some((operation, "hipErrorInvalidValue"))
        );
    } else {
        assert!(import(null(), 4096).is_err());
    }
}

#[test]
fn buffers_of_imported_memory_have_their_bytes_for_themselves() {
    let Some(both) = both() else { return };
    let shared = both.shared(1024);
    let memory = &shared.memory;
    let refused = |result: hip::Result<DeviceBuffer<u32>>| match result {
        Err(Error::ExternalMemory(error)) => *error,
        other => panic!("{other:?}"),
    };
    let occupied = ExternalMemoryError::Occupied { start: 0, end: 4096 };
    assert_eq!(refused(memory.buffer(4092, 1)), occupied);
    let size = memory.size();
    let outside = ExternalMemoryError::OutOfRange { offset: size, bytes: 4, size };
    assert_eq!(refused(memory.buffer(size, 1)), outside);
    assert!(matches!(refused(memory.buffer(usize::MAX, 1)), ExternalMemoryError::OutOfRange { .. }));
    assert!(memory.buffer::<u32>(0, 0).unwrap().is_empty());
    let memory = shared.memory.clone();
    drop(shared);
    assert!(matches!(refused(memory.buffer(2, 1)), ExternalMemoryError::Misaligned { align: 4, .. }));
    // Two halves, freed in any order after the whole.
    let stream = both.hip.stream().unwrap();
    let mut second = memory.buffer::<u32>(2048, 512).unwrap();
    let mut first = memory.buffer::<u32>(0, 512).unwrap();
    second.fill(&stream, 2).unwrap();
    first.fill(&stream, 1).unwrap();
    assert_eq!(second.address().0 - first.address().0, 2048);
    drop((first, second));
    let whole = memory.buffer::<u32>(0, 1024).unwrap().to_vec(&stream).unwrap();
    assert!(whole[..512] == [1; 512] && whole[512..] == [2; 512]);
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn the_memory_outlives_vulkan_s_and_the_descriptor_is_hip_s() {
    let Some(both) = both() else { return };
    let vulkan = Buffer::exportable(&both.vulkan, 4096).unwrap();
    let (descriptor, bytes) = (vulkan.export().unwrap(), vulkan.allocated());
    let number = descriptor.as_raw_fd();
    let file = |number| std::fs::metadata(format!("/proc/self/fd/{number}")).ok().map(|file| file.ino());
    let before = file(number);
    assert!(before.is_some());
    // SAFETY: the descriptor refers to this much memory, which Vulkan does not use.
    let memory = unsafe { ExternalMemory::import(&both.hip, descriptor, bytes) }.unwrap();
    if both.hip.backend() == Backend::Virtual {
        assert_ne!(file(number), before, "it is closed, or a different file by now");
    }
    drop(vulkan);
    let stream = both.hip.stream().unwrap();
    let mut buffer = memory.buffer::<u32>(0, 1024).unwrap();
    drop(memory);
    buffer.copy_from_host(&stream, &numbers(1024)).unwrap();
    assert_eq!(buffer.to_vec(&stream).unwrap(), numbers(1024));
    drop(buffer);
    assert_eq!((hip::drop_failures(), hip::live().external_memory), (0, 0));
}
